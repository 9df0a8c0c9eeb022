// The steps of the export fuzzers: a model becomes files that read back, with the inputs and outputs of a network's file, too; and a model
// that a network was calibrated to.
#pragma once

#include <iterator>
#include <stdexcept>

#include "exporters/onnx/onnx_export.h"
#include "exporters/tflite/tflite_export.h"
#include "tests/fuzz/import_fuzz.h"
#include "tests/support/calibrate.h"
#include "tests/support/random.h"

namespace intaglio::fuzz {

// The int8 model of a network with one input of reals; empty where it cannot be imported or calibrated, or is large.
inline std::vector<uint8_t> int8_model_of(Span<const uint8_t> network) {
  HostArena memory;
  auto imported = import_model(network, "fuzzed", {}, memory);
  if (!imported) return {};
  int64_t total = 0;
  for (const TensorInfo& tensor : imported->graph.tensors) total += static_cast<int64_t>(tensor.bytes());
  if (total > kMostBytesRun) return {};
  const Result<Span<const uint8_t>> file = finish_model(imported->graph, all_ops(), memory.arena());
  if (!file) return {};
  const Result<Model> fp32 = Model::open(*file);
  if (!fp32 || fp32->inputs().size != 1 || !is_small(*fp32, int64_t{1} << 18)) return {};
  const TensorInfo input = fp32->tensor(fp32->inputs()[0]);
  if (input.dtype != DType::kF32) return {};
  const test::Samples samples = {test::Random(7).reals(static_cast<size_t>(input.shape.elements()), -1, 1)};
  CalibratorOptions options;
  options.method = RangeMethod::kMinMax;
  options.recover = recovery::kNone;
  options.layer_report = false;
  try {
    return test::calibrate(*fp32, samples, options);
  } catch (const std::runtime_error&) {
    return {};
  }
}

template <typename Export>
void check_export(const Outcome<Export>& made, const char* what) {
  if (!made)
    check_message(made.message());
  else if (made->bytes.empty())
    found("an export of nothing", what);
  else
    check_written(made->bytes.data(), made->bytes.size());
}

inline const OnnxFormName& form_of(Span<const uint8_t> bytes) {
  return kOnnxForms[crc32(0, bytes.data, bytes.size) % std::size(kOnnxForms)];
}

// As TFLite, and its own nodes as ONNX in one form, which the bytes choose.
inline void export_model_and_check(const test::AlignedBytes& model_file) {
  const Model model = *Model::open(model_file.view());
  check_export(export_tflite(model, "model"), "tflite");
  const OnnxFormName& form = form_of(model_file.view());
  check_export(export_onnx(model, "model", form.form), form.name);
}

// With the network's inputs and outputs, in one form, which the bytes choose. `model_file` is aligned as a model must be.
inline void export_and_check(Span<const uint8_t> network, const test::AlignedBytes& model_file) {
  const Result<Model> model = Model::open(model_file.view());
  if (!model) found("a calibrated model that does not open", "");
  const OnnxFormName& form = form_of(network);
  const auto ends = read_onnx_ends(network, "fuzzed");
  if (!ends) return check_message(ends.message());
  const auto made = export_onnx(*model, "model", form.form, &*ends);
  if (!made && made.message().find("model: the exported file") == 0)
    found("an export that cannot be read", made.message());
  check_export(made, form.name);
}

}  // namespace intaglio::fuzz
