// The host component: files, read with plain errors and written all or nothing.
#include <cstdio>
#include <cstring>
#include <string>

#include "calibrator/host/system/files.h"

int main(int, char** arguments) {
  const std::string folder = arguments[1];
  const auto file = intaglio::read_file(folder + "/int8.itg", 1 << 20);
  if (!file) return std::puts(file.message().c_str()), 1;
  const std::string copy = folder + "/copy.itg";
  if (const auto written = intaglio::write_file_atomically(copy, file->span()); !written)
    return std::puts(written.message().c_str()), 1;
  const auto again = intaglio::read_file(copy, 1 << 20);
  if (!again || again->size() != file->size() || std::memcmp(again->data(), file->data(), file->size()) != 0)
    return 1;
  std::puts("host_parts: same bytes");
  return 0;
}
