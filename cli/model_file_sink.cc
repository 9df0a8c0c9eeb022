#include "cli/model_file_sink.h"

#include "cli/calibration_figures.h"
#include "cli/loaded_model.h"

namespace intaglio::cli {

bool ModelFileSink::write(void* context, Span<const uint8_t> given) {
  auto& self = *static_cast<ModelFileSink*>(context);
  Result<Span<const uint8_t>> bytes_or_error = given;
  if (!self.goal.flat) {
    const Result<Model> model = Model::open(given);
    bytes_or_error = model ? plan_for_goal(*model, self.goal, self.planned->arena()) : model.error();
    const Result<StreamedNeeds> streamed =
        bytes_or_error ? streamed_needs(*bytes_or_error) : bytes_or_error.error();
    if (!streamed) {
      self.problem = "--memory: " + error_text(streamed.error(), model ? &*model : nullptr);
      return false;
    }
  }
  const Span<const uint8_t> bytes = *bytes_or_error;
  const auto launch = self.at_once ? std::launch::async | std::launch::deferred : std::launch::deferred;
  self.sha256 = std::async(launch, [bytes] { return sha256_text(bytes); });
  const auto written = self.file.write(bytes);
  if (!written) self.problem = written.message();
  return static_cast<bool>(written);
}

}  // namespace intaglio::cli
