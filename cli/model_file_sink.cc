#include "cli/model_file_sink.h"

#include "calibrator/host/files.h"

namespace intaglio::cli {

bool ModelFileSink::write(void* context, Span<const uint8_t> bytes) {
  auto& self = *static_cast<ModelFileSink*>(context);
  const auto written = write_file_atomically(self.path, bytes);
  if (!written) self.problem = written.message();
  return static_cast<bool>(written);
}

}  // namespace intaglio::cli
