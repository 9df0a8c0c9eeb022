#include "calibrator/host/accuracy/judged_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/op.h"

namespace intaglio {

namespace {

// What expected() adds: all of it up to so many samples, and 6 dB at most.
constexpr double kManySamples = 16;
const double kMostMore = std::log(4.0);
// Before any is measured: the variance of the logarithms of the samples' noise, and how many samples that guess is worth.
// The spread of few samples is a guess itself.
constexpr double kSpread = 1.5, kSpreadSamples = 4;

}  // namespace

void SampleErrors::add(const std::vector<NetworkError>& outputs) { samples_.push_back(outputs); }

NetworkError SampleErrors::expected() const {
  NetworkError whole;
  const size_t outputs = samples_.empty() ? 0 : samples_[0].size();
  const auto count = static_cast<double>(samples_.size());
  for (size_t o = 0; o < outputs; ++o) {
    // One order, any, whatever the samples' is: sums have the same last digits then.
    std::vector<NetworkError> ordered;
    for (const auto& sample : samples_) ordered.push_back(sample[o]);
    std::sort(ordered.begin(), ordered.end(),
              [](const NetworkError& a, const NetworkError& b) { return std::memcmp(&a, &b, sizeof a) < 0; });
    NetworkError sum;
    double logarithms = 0.0, squares = 0.0, noisy = 0.0, ratios = 0.0, loud = 0.0;
    for (const NetworkError& sample : ordered) {
      sum.signal += sample.signal;
      sum.noise += sample.noise;
      if (sample.signal > 0.0) {
        ratios += sample.ratio();
        ++loud;
      }
      if (!(sample.noise > 0.0)) continue;
      const double log_noise = std::log(sample.noise);
      logarithms += log_noise;
      squares += log_noise * log_noise;
      ++noisy;
    }
    if (noisy > 1) {
      const double mean = logarithms / noisy;
      const double measured = std::max(0.0, squares / noisy - mean * mean) * noisy;
      const double variance = (kSpreadSamples * kSpread + measured) / (kSpreadSamples + noisy - 1);
      double more = std::max(0.0, mean + variance / 2 - std::log(sum.noise / count));
      // A few loud samples can hide what the others lose.
      if (loud > 0 && sum.signal > 0.0)
        more += std::max(0.0, std::log(ratios / loud) - std::log(sum.ratio()) - more) / 2;
      sum.noise *= std::exp(std::min(1.0, kManySamples / count) * std::min(more, kMostMore));
    }
    whole.add(sum, outputs);
  }
  return whole;
}

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
