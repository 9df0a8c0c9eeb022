#include "cli/named_values.h"

#include "calibrator/host/system/npy.h"

namespace intaglio::cli {

Outcome<NamedText> parse_named_text(const std::string& option, const std::string& text, const char* what,
                                    const char* example) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    const std::string start = option + " " + example + "=";
    return Failure{option + " " + text + ": write " + what + " and a number or an array, e.g. " + start +
                   "0 or " + start + example + "0.npy"};
  }
  NamedText made{text.substr(0, equals), {}, {}};
  const std::string value = text.substr(equals + 1);
  if (value.size() > 4 && value.compare(value.size() - 4, 4, ".npy") == 0) {
    made.file = value;
    return made;
  }
  auto numbers = parse_list<float>(option + " " + text, value);
  if (!numbers) return numbers.failure();
  made.values = std::move(*numbers);
  return made;
}

Outcome<NamedValues> parse_named_values(const std::string& option, const std::string& text, const char* what,
                                        const char* example) {
  auto words = parse_named_text(option, text, what, example);
  if (!words) return words.failure();
  NamedValues made{std::move(words->name), {}, std::move(words->values)};
  if (words->file.empty()) return made;
  const auto array = read_npy(words->file);
  if (!array) return array.failure();
  made.values.resize(array->header.elements());
  if (auto step =
          npy_values(array->header.type, array->data.span(), {made.values.data(), made.values.size()});
      !step)
    return Failure{words->file + ": " + step.message()};
  for (const int64_t dim : array->header.shape) made.dims.push_back(static_cast<int32_t>(dim));
  return made;
}

}  // namespace intaglio::cli
