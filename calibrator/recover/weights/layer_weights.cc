#include "calibrator/recover/weights/layer_weights.h"

#include "runtime/real_functions.h"

namespace intaglio {

namespace {

bool is_windowed(const Model& model, const NodeInfo& node) {
  return model.tensor(node.inputs[1]).shape.rank > 2;
}

}  // namespace

LayerMatrix layer_matrix(const Model& model, const NodeInfo& node) {
  const Shape weights = model.tensor(node.inputs[1]).shape;
  LayerMatrix m;
  if (weights.rank == 2) {  // fully connected [outputs, k]
    m.groups = m.taps = 1;
    m.rows = weights[0];
    m.channels = weights[1];
  } else if (weights.rank == 3) {  // depthwise [kh, kw, outputs]
    m.groups = model.tensor(node.inputs[0]).shape[3];
    m.rows = weights[2] / m.groups;
    m.taps = weights[0] * weights[1];
    m.channels = 1;
    m.stride = static_cast<size_t>(weights[2]);
  } else {  // convolution [outputs, kh, kw, channels of a group]
    const int32_t groups = node.options.value<Conv2dOptions>().groups;
    m.groups = groups < 1 ? 1 : groups;
    m.rows = weights[0] / m.groups;
    m.taps = weights[1] * weights[2];
    m.channels = weights[3];
  }
  return m;
}

int64_t layer_positions(const Model& model, const NodeInfo& node) {
  if (is_windowed(model, node)) {
    const Shape out = model.tensor(node.outputs[0]).shape;
    return out.elements() / out.back(0);
  }
  return model.tensor(node.inputs[0]).shape.elements() / model.tensor(node.inputs[1]).shape[1];
}

void copy_patches(const Session& session, const NodeInfo& node, const LayerMatrix& matrix, int32_t group,
                  int64_t first, int32_t count, int16_t* columns) {
  const TensorView in = session.tensor(node.inputs[0]);
  const auto* const data = static_cast<const int8_t*>(in.data);
  const int32_t zero_point = in.info.quantization.zero_point;
  for_each_input(session.model(), node, matrix, group, first, count,
                 [&](int32_t k, int32_t p, int64_t element) {
                   columns[int64_t{k} * count + p] =
                       element < 0 ? int16_t{0} : static_cast<int16_t>(data[element] - zero_point);
                 });
}

namespace {

// Positions that are taken together: int32 holds the sum of as many products of inputs within +-255.
constexpr int32_t kPositions = 256;
static_assert(int64_t{kPositions} * 255 * 255 <= INT32_MAX);

int32_t dot(const int16_t* a, const int16_t* b, int32_t count) {
  int32_t sum = 0;
  for (int32_t i = 0; i < count; ++i) sum += int32_t{a[i]} * b[i];
  return sum;
}

size_t column_elements(const LayerMatrix& matrix) { return static_cast<size_t>(matrix.depth()) * kPositions; }

int32_t block_of(int32_t depth) {
  const int32_t blocks = (depth + kMomentBlock - 1) / kMomentBlock;
  return (depth + blocks - 1) / blocks;
}

void add_sums(LayerMoments& moments, int32_t group, const int16_t* columns, int32_t count) {
  const int32_t depth = moments.matrix.depth();
  double* const sums = moments.sums.data + int64_t{group} * depth;
  for (int32_t i = 0; i < depth; ++i) {
    int32_t sum = 0;
    for (int32_t p = 0; p < count; ++p) sum += columns[int64_t{i} * count + p];
    sums[i] += sum;
  }
}

// Row `i` of a block's upper triangle.
void add_row(LayerMoments& moments, int32_t group, int32_t b, int32_t i, const int16_t* columns,
             int32_t count) {
  const int32_t size = moments.size(b);
  const int16_t* const first = columns + int64_t{moments.start(b)} * count;
  double* const row = moments.products_of(group, b) + int64_t{i} * moments.block;
  for (int32_t j = i; j < size; ++j)
    row[j] += dot(first + int64_t{i} * count, first + int64_t{j} * count, count);
}

}  // namespace

uint64_t moment_bytes(const LayerMatrix& matrix, int32_t width) {
  const auto depth = static_cast<uint64_t>(matrix.depth()), groups = static_cast<uint64_t>(matrix.groups);
  const auto block = static_cast<uint64_t>(block_of(matrix.depth()));
  const uint64_t blocks = (depth + block - 1) / block;
  const uint64_t columns = uint64_t{column_elements(matrix)} * sizeof(int16_t) * static_cast<uint64_t>(width);
  return (depth + blocks * block * block) * groups * sizeof(double) + columns + 3 * alignof(double);
}

LayerMoments make_moments(const LayerMatrix& matrix, Arena& arena) {
  LayerMoments m;
  m.matrix = matrix;
  m.block = block_of(matrix.depth());
  m.blocks = (matrix.depth() + m.block - 1) / m.block;
  const auto groups = static_cast<size_t>(matrix.groups), block = static_cast<size_t>(m.block);
  m.sums = arena.make<double>(groups * static_cast<size_t>(matrix.depth()));
  m.products = arena.make<double>(groups * static_cast<size_t>(m.blocks) * block * block);
  return m;
}

Span<int16_t> make_moment_scratch(const LayerMatrix& matrix, int32_t width, Arena& arena) {
  return arena.make<int16_t>(column_elements(matrix) * static_cast<size_t>(width));
}

void add_moments(LayerMoments& moments, const Session& session, int32_t node_index, const Executor& executor,
                 Span<int16_t> scratch) {
  const NodeInfo node = session.model().node(node_index);
  const LayerMatrix& matrix = moments.matrix;
  const int64_t positions = layer_positions(session.model(), node);
  moments.positions += static_cast<double>(positions);
  const auto add_group = [&](int32_t group, int16_t* columns, const Executor& within) {
    for (int64_t first = 0; first < positions; first += kPositions) {
      const auto count =
          static_cast<int32_t>(positions - first < kPositions ? positions - first : kPositions);
      copy_patches(session, node, matrix, group, first, count, columns);
      add_sums(moments, group, columns, count);
      for (int32_t b = 0; b < moments.blocks; ++b)
        parallel_for(within, moments.size(b),
                     [&](int32_t i) { add_row(moments, group, b, i, columns, count); });
    }
  };
  // One group: its rows are shared out; many: the groups are.
  if (matrix.groups == 1) return add_group(0, scratch.data, executor);
  const auto workers = static_cast<int32_t>(scratch.size / column_elements(matrix));
  parallel_for(executor, workers, [&](int32_t worker) {
    int16_t* const columns = scratch.data + static_cast<size_t>(worker) * column_elements(matrix);
    for (int32_t g = worker; g < matrix.groups; g += workers) add_group(g, columns, Executor());
  });
}

void finish_moments(LayerMoments& moments, double damping) {
  const double n = moments.positions > 0.0 ? moments.positions : 1.0;
  for (double& sum : moments.sums) sum /= n;
  for (int32_t g = 0; g < moments.matrix.groups; ++g)
    for (int32_t b = 0; b < moments.blocks; ++b) {
      const int32_t size = moments.size(b);
      const double* const means = moments.sums.data + int64_t{g} * moments.matrix.depth() + moments.start(b);
      double* const rows = moments.products_of(g, b);
      double trace = 0.0;
      for (int32_t i = 0; i < size; ++i)
        for (int32_t j = i; j < size; ++j) {
          const double raw = rows[int64_t{i} * moments.block + j] / n, product = means[i] * means[j];
          const double covariance = raw - product;
          rows[int64_t{i} * moments.block + j] = rows[int64_t{j} * moments.block + i] = covariance;
          if (i == j) trace += covariance;
        }
      const double extra = damping * trace / size;
      for (int32_t i = 0; i < size; ++i) rows[int64_t{i} * moments.block + i] += extra;
    }
}

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
  // The error of the row's products, in units of the input step.
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
