#include "cli/model_file_sink.h"

#include "calibrator/host/system/files.h"
#include "cli/calibration_figures.h"

namespace intaglio::cli {

bool ModelFileSink::write(void* context, Span<const uint8_t> bytes) {
  auto& self = *static_cast<ModelFileSink*>(context);
  const auto launch = self.at_once ? std::launch::async | std::launch::deferred : std::launch::deferred;
  self.sha256 = std::async(launch, [bytes] { return sha256_text(bytes); });
  const auto written = write_file_atomically(self.path, bytes);
  if (!written) self.problem = written.message();
  return static_cast<bool>(written);
}

}  // namespace intaglio::cli
