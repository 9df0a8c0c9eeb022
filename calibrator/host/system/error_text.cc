#include "calibrator/host/system/error_text.h"

#include "intaglio/describe.h"

namespace intaglio {

std::string error_text(const Error& error, const Model* model) {
  std::string text(describe(error, model, nullptr, 0) + 1, '\0');
  describe(error, model, text.data(), text.size());
  text.pop_back();
  return text;
}

}  // namespace intaglio
