#include "calibrator/host/accuracy/judged_model.h"

#include <algorithm>
#include <cstring>

#include "runtime/op.h"

namespace intaglio {
namespace {

// Of the sample that stands in its inputs.
std::vector<float> run_exact(Calibration& calibration) {
  Session& fp32 = calibration.fp32.session;
  std::vector<float> values(output_elements(calibration.observing.outputs));
  int32_t done = 0;
  for (const OutputTensor& output : calibration.observing.outputs) {
    fp32.run_nodes(done, output.node + 1);
    done = output.node + 1;
    memcpy(values.data() + output.first, fp32.tensor(output.tensor).data, output.elements * sizeof(float));
  }
  fp32.run_nodes(done, fp32.model().node_count());
  return values;
}

}  // namespace

Error JudgedModel::open(Span<const uint8_t> bytes, const CalibratorOptions& options,
                        const Calibration& calibration) {
  OpenOptions checked;
  checked.skip_checksum = true;  // finish() has opened these bytes
  const Result<Model> opened = Model::open(bytes, checked);
  if (!opened) return opened.error();
  model_ = *opened;
  SessionOptions execution;
  execution.isa = options.isa;
  execution.executor = options.executor;
  const Result<SessionNeeds> needs = Session::measure(model_, all_ops(), execution);
  if (!needs) return needs.error();
  memory_ = FileBytes(needs->total());
  const Result<Session> made =
      Session::create(model_, all_ops(), Session::split({memory_.data(), memory_.size()}, *needs), execution);
  if (!made) return made.error();
  session_ = *made;
  for (const OutputTensor& output : calibration.observing.outputs) {
    Output found{output};
    for (int32_t n = 0; n < model_.node_count(); ++n)
      for (const int32_t tensor : model_.node_outputs(n))
        if (strcmp(model_.tensor(tensor).name, calibration.fp32.model.tensor(output.tensor).name) == 0) {
          found.tensor = tensor;
          found.node = n;
        }
    outputs_.push_back(found);
  }
  std::stable_sort(outputs_.begin(), outputs_.end(),
                   [](const Output& a, const Output& b) { return a.node < b.node; });
  return kNoError;
}

std::vector<NetworkError> JudgedModel::errors(Calibration& calibration, const float* known) {
  copy_inputs(calibration.fp32.session, session_);
  std::vector<float> own;
  if (known == nullptr) {
    own = run_exact(calibration);
    known = own.data();
  }
  std::vector<NetworkError> found;
  int32_t done = 0;
  for (const Output& output : outputs_) {
    NetworkError& error = found.emplace_back();
    if (output.tensor < 0) continue;
    session_.run_nodes(done, output.node + 1);
    done = output.node + 1;
    const TensorView view = session_.tensor(output.tensor);
    if (view.info.shape.elements() != static_cast<int64_t>(output.exact.elements)) continue;
    LayerReport sums;
    compare_values(known + output.exact.first, view, sums);
    error = {sums.signal, sums.noise};
  }
  session_.run_nodes(done, model_.node_count());
  return found;
}

void shift_pictures(const Session& session) {
  const Model& model = session.model();
  for (int32_t k = 0; k < model.image_count(); ++k) {
    const TensorView view = session.tensor(model.inputs()[static_cast<size_t>(model.image(k).input)]);
    const Shape& shape = view.info.shape;
    if (view.info.dtype != DType::kF32 || shape.rank != 4) continue;
    auto* const values = static_cast<float*>(view.data);
    const auto pixel = static_cast<size_t>(shape[3]), row = pixel * static_cast<size_t>(shape[2]);
    const auto rows = static_cast<size_t>(shape[0] * shape[1]);
    for (size_t y = 0; y < rows; ++y) {
      float* const here = values + y * row;
      const bool is_last = (y + 1) % static_cast<size_t>(shape[1]) == 0;
      const float* const below = is_last ? here : here + row;
      memmove(here, below + pixel, (row - pixel) * sizeof(float));
      if (!is_last) memcpy(here + row - pixel, below + row - pixel, pixel * sizeof(float));
    }
  }
}

}  // namespace intaglio
