#include "tools/export_network.h"

#include "calibrator/host/system/wording.h"

namespace intaglio::tools {

std::vector<std::string> onnx_form_names() {
  std::vector<std::string> names;
  for (const OnnxFormName& known : kOnnxForms) names.emplace_back(known.name);
  return names;
}

Outcome<OnnxForm> onnx_form_of(const std::string& name) {
  std::string names;
  for (const OnnxFormName& known : kOnnxForms) {
    if (name == known.name) return known.form;
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  return Failure{option_word("form", name) + ": is none of " + names};
}

Outcome<OnnxExport> export_onnx(const LoadedModel& file, const NetworkFile& network,
                                const ExportOnnxChoice& choice) {
  return intaglio::export_onnx(network.bytes(), network.path(), {network.folder(), choice.external_data},
                               file.model(), file.path(), choice.form, choice.limits);
}

Outcome<TfliteExport> export_tflite(const LoadedModel& file) {
  return intaglio::export_tflite(file.model(), file.path());
}

Outcome<Done> check_onnx_output(const std::string& output) {
  // Such a file begins with the number of its version; no text does, no picture and no array.
  return check_replaceable(output, 0, "\x08", "ONNX file");
}

Outcome<Done> check_tflite_output(const std::string& output) {
  return check_replaceable(output, 4, "TFL3", "TFLite file");
}

Json json_of(const OnnxExport& made, const ExportOnnxChoice& choice) {
  std::string form;
  for (const OnnxFormName& known : kOnnxForms)
    if (choice.form == known.form) form = known.name;
  return {{"bytes", made.bytes.size()},
          {"form", form},
          {"layers", made.layers},
          {"activations", made.activations},
          {"notes", json_lines(made.notes)}};
}

Json json_of(const TfliteExport& made) {
  return {{"bytes", made.bytes.size()}, {"layers", made.layers}, {"notes", json_lines(made.notes)}};
}

}  // namespace intaglio::tools
