#include "calibrator/host/system/error_text.h"

#include "intaglio/describe.h"

namespace intaglio {

std::string error_text(const Error& error, const Model* model) {
  std::string text(describe(error, model, nullptr, 0) + 1, '\0');
  describe(error, model, text.data(), text.size());
  text.pop_back();
  return text;
}

Failure failure_in(const std::string& file, const Error& error, const Model* model) {
  Failure failure{file + ": " + error_text(error, model), error};
  if (model == nullptr) return failure;
  if (error.node >= 0 && error.node < model->node_count()) failure.node = model->node(error.node).name;
  if (error.tensor >= 0 && error.tensor < model->tensor_count())
    failure.tensor = model->tensor(error.tensor).name;
  return failure;
}

}  // namespace intaglio
