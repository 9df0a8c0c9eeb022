// Any bytes are an array of exactly the length that its header gives, or are refused. What is accepted and
// written again is the same array.
#include <cstring>

#include "calibrator/host/system/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto header = intaglio::parse_npy_header({data, size}, size);
  if (!header) return 0;
  if (header->data_offset + header->data_bytes != size) __builtin_trap();
  const auto bytes = static_cast<size_t>(header->data_bytes);
  const auto file = intaglio::npy_file(header->type, header->shape, {data + header->data_offset, bytes});
  const auto again = intaglio::parse_npy_header({file.data(), file.size()}, file.size());
  if (!again || again->type != header->type || again->shape != header->shape) __builtin_trap();
  if (bytes != 0 && std::memcmp(file.data() + again->data_offset, data + header->data_offset, bytes) != 0) {
    __builtin_trap();
  }
  return 0;
}
