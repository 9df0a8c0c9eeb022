#include "cli/import_limits.h"

namespace intaglio::cli {

void add_import_limits(CLI::App& app, ImportLimits& limits, const std::string& group) {
  add_option(
      app, "--max-work", limits.max_work,
      "the operations that the import may take, about a multiplication each (default: 600,000,000, and 64 for each "
      "byte of the file)")
      .range(int64_t{1}, INT64_MAX)
      .type_name("N")
      .group(group);
  add_option(
      app, "--max-memory", limits.max_memory,
      "the bytes of memory that the import may take (default: 600,000,000, and 16 for each byte of the file)")
      .range(int64_t{1}, INT64_MAX)
      .type_name("BYTES")
      .group(group);
}

}  // namespace intaglio::cli
