#include "calibrator/recover/weights/layer_weights.h"

#include "runtime/op.h"
#include "runtime/real_functions.h"

namespace intaglio {
namespace {

// Doubles of one worker: reals, codes, spare, lanes.
size_t worker_doubles(const LayerMatrix& matrix) {
  return static_cast<size_t>(matrix.depth()) * (3 + kLanes);
}

struct RowErrors {
  double before, after;
};

double magnitude(double x) { return x < 0.0 ? -x : x; }

class RowChange {
 public:
  RowChange(LayerWeights& weights, const WeightWork& work, int32_t output, double* scratch)
      : weights_(weights), output_(output) {
    const auto depth = static_cast<size_t>(weights.matrix.depth());
    row_.output = output;
    row_.depth = weights.matrix.depth();
    row_.scale = static_cast<double>(weights.scales[static_cast<size_t>(output)]);
    row_.largest = weights.largest;
    row_.reals = scratch;
    row_.codes = scratch + depth;
    row_.spare = scratch + 2 * depth;
    row_.lanes = scratch + 3 * depth;
    row_.moments = work.moments;
    size_t from = weights.matrix.first(output);
    for (size_t k = 0; k < depth; ++k, from += weights.matrix.stride) {
      row_.reals[k] = static_cast<double>(weights.reals[from]);
      row_.codes[k] = weights.codes[from];
    }
  }

  RowErrors run(void (*change)(void* context, WeightRow& row), void* context) {
    const double before = row_error(row_, row_.codes, row_.scale), mean = mean_output();
    change(context, row_);
    row_.scale = static_cast<double>(static_cast<float>(row_.scale));
    const double after = row_error(row_, row_.codes, row_.scale);
    if (!(after < before) || !store(mean)) return {before, before};
    return {before, after};
  }

 private:
  // Of the row's products, in units of the input step.
  double mean_output() const {
    const double* const means =
        row_.moments->sums.data + int64_t{row_.group()} * row_.moments->matrix.depth();
    double sum = 0.0;
    for (int32_t k = 0; k < row_.depth; ++k) sum += row_.codes[k] * means[k];
    return sum * row_.scale;
  }

  bool store(double mean) {
    const auto c = static_cast<size_t>(output_);
    const double old_scale = static_cast<double>(weights_.scales[c]);
    const double real = static_cast<double>(weights_.bias[c]) * old_scale + (mean - mean_output());
    const double bias = round_even(real / row_.scale);
    double sum = magnitude(bias);
    for (int32_t k = 0; k < row_.depth; ++k) sum += 255.0 * magnitude(row_.codes[k]);
    if (!(sum <= 2147483647.0)) return false;
    weights_.bias[c] = static_cast<int32_t>(bias);
    weights_.scales[c] = static_cast<float>(row_.scale);
    size_t to = weights_.matrix.first(output_);
    for (int32_t k = 0; k < row_.depth; ++k, to += weights_.matrix.stride)
      weights_.codes[to] = static_cast<int8_t>(row_.codes[k]);
    return true;
  }

  LayerWeights& weights_;
  int32_t output_;
  WeightRow row_;
};

}  // namespace

uint64_t weight_scratch_bytes(const LayerMatrix& matrix, int32_t width) {
  const auto outputs = static_cast<uint64_t>(matrix.outputs());
  return (worker_doubles(matrix) * static_cast<uint64_t>(width) + 2 * outputs) * sizeof(double) +
         alignof(double);
}

Span<double> make_weight_scratch(const LayerMatrix& matrix, int32_t width, Arena& arena) {
  return arena.make<double>(worker_doubles(matrix) * static_cast<size_t>(width) +
                            2 * static_cast<size_t>(matrix.outputs()));
}

void lane_errors(const WeightRow& row, double errors[kLanes]) {
  for (int32_t l = 0; l < kLanes; ++l) errors[l] = 0.0;
  for (int32_t b = 0; b < row.moments->blocks; ++b) {
    const int32_t size = row.moments->size(b);
    const double* const lanes = row.lanes + int64_t{row.moments->start(b)} * kLanes;
    const double* covariance = row.moments->covariance(row.group(), b);
    for (int32_t i = 0; i < size; ++i, covariance += row.moments->block) {
      // The matrix is symmetric: what stands beside the diagonal counts twice.
      double sums[kLanes] = {};
      for (int32_t j = i + 1; j < size; ++j)
        for (int32_t l = 0; l < kLanes; ++l) sums[l] += covariance[j] * lanes[int64_t{j} * kLanes + l];
      for (int32_t l = 0; l < kLanes; ++l) {
        const double d = lanes[int64_t{i} * kLanes + l];
        errors[l] += d * (covariance[i] * d + 2.0 * sums[l]);
      }
    }
  }
}

double row_error(const WeightRow& row, const double* codes, double scale) {
  for (int32_t k = 0; k < row.depth; ++k) {
    double* const lanes = row.lanes + int64_t{k} * kLanes;
    for (int32_t l = 0; l < kLanes; ++l) lanes[l] = 0.0;
    lanes[0] = codes[k] * scale - row.reals[k];
  }
  double errors[kLanes];
  lane_errors(row, errors);
  return errors[0];
}

void nearest_codes(const WeightRow& row, double scale, double* codes) {
  for (int32_t k = 0; k < row.depth; ++k) codes[k] = row.clamp(round_even(row.reals[k] / scale));
}

LayerError change_rows(LayerWeights& weights, const WeightWork& work,
                       void (*change)(void* context, WeightRow& row), void* context) {
  const int32_t outputs = weights.matrix.outputs();
  const size_t results = 2 * static_cast<size_t>(outputs);
  const size_t per_worker = worker_doubles(weights.matrix);
  const auto workers = static_cast<int32_t>((work.scratch.size - results) / per_worker);
  double* const errors = work.scratch.data + static_cast<size_t>(workers) * per_worker;
  parallel_for(work.executor, workers, [&](int32_t worker) {
    double* const scratch = work.scratch.data + static_cast<size_t>(worker) * per_worker;
    for (int32_t c = worker; c < outputs; c += workers) {
      const RowErrors found = RowChange(weights, work, c, scratch).run(change, context);
      errors[2 * int64_t{c}] = found.before;
      errors[2 * int64_t{c} + 1] = found.after;
    }
  });
  LayerError sum;  // in the order of the outputs, whoever worked on them
  for (int32_t c = 0; c < outputs; ++c) {
    sum.before += errors[2 * int64_t{c}];
    sum.after += errors[2 * int64_t{c} + 1];
  }
  return sum;
}

}  // namespace intaglio
