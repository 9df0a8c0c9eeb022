#include "calibrator/judge/evaluate.h"

#include "calibrator/quantization/scales.h"
#include "runtime/liveness.h"
#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {

namespace {

// One tensor's elements as real numbers, whatever their type.
class RealValues {
 public:
  explicit RealValues(const TensorView& view) : view_(view) {
    if (!view.info.quantization.scales.empty()) scale_ = view.info.quantization.scales[0];
    zero_point_ = view.info.quantization.zero_point;
  }
  double operator[](int64_t i) const {
    switch (view_.info.dtype) {
      case DType::kF32:
        return static_cast<double>(static_cast<const float*>(view_.data)[i]);
      case DType::kS8:
      case DType::kS16:
        return static_cast<double>(scale_ * static_cast<float>(code(i) - zero_point_));
      default:
        return 0.0;
    }
  }
  int32_t code(int64_t i) const {
    if (view_.info.dtype == DType::kS16) return static_cast<const int16_t*>(view_.data)[i];
    return static_cast<const int8_t*>(view_.data)[i];
  }

 private:
  TensorView view_;
  float scale_ = 1.0f;
  int32_t zero_point_ = 0;
};

// Sums over exact values x and others y, in lanes that compilers make vectors of: the order is the same
// everywhere.
struct DifferenceSums {
  double signal = 0.0, noise = 0.0, dot = 0.0, norm = 0.0;
};

template <typename Real>
DifferenceSums sum_differences(const float* exact, int64_t count, Real&& real) {
  constexpr int64_t kLanes = 32;
  double signal[kLanes] = {}, noise[kLanes] = {}, dot[kLanes] = {}, norm[kLanes] = {};
  const auto look = [&](int64_t first, int64_t lanes) {
    for (int64_t l = 0; l < lanes; ++l) {
      const auto x = static_cast<double>(exact[first + l]), y = static_cast<double>(real(first + l)),
                 d = x - y;
      noise[l] += d * d;
      signal[l] += x * x;
      dot[l] += x * y;
      norm[l] += y * y;
    }
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) look(i, kLanes);
  look(i, count - i);
  DifferenceSums sums;
  for (int64_t l = 0; l < kLanes; ++l) {
    sums.signal += signal[l];
    sums.noise += noise[l];
    sums.dot += dot[l];
    sums.norm += norm[l];
  }
  return sums;
}

DifferenceSums sum_differences(const float* exact, const TensorView& view) {
  const int64_t count = view.info.shape.elements();
  if (view.info.dtype == DType::kF32) {
    const auto* const values = static_cast<const float*>(view.data);
    return sum_differences(exact, count, [values](int64_t i) { return values[i]; });
  }
  const float scale = view.info.quantization.scales[0];
  const int32_t zero_point = view.info.quantization.zero_point;
  const auto sum_of = [&](const auto* codes) {
    return sum_differences(exact, count, [codes, scale, zero_point](int64_t i) {
      return scale * static_cast<float>(codes[i] - zero_point);
    });
  };
  return view.info.dtype == DType::kS16 ? sum_of(static_cast<const int16_t*>(view.data))
                                        : sum_of(static_cast<const int8_t*>(view.data));
}

// The share of values that lie beyond an end of the range at which their codes stand.
double clipped_share(const float* exact, const TensorView& view, const NodeOptions& options) {
  if (view.info.dtype == DType::kF32) return 0.0;
  const int32_t lowest = view.info.dtype == DType::kS8 ? -128 : -32767,
                highest = view.info.dtype == DType::kS8 ? 127 : 32767;
  const RealValues values(view);
  const auto clamp = options.value<Clamp>();
  const int64_t count = view.info.shape.elements();
  int64_t clipped = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int32_t code = values.code(i);
    if (code == highest && clamp.hi == highest) clipped += static_cast<double>(exact[i]) > values[i] ? 1 : 0;
    if (code == lowest && clamp.lo == lowest) clipped += static_cast<double>(exact[i]) < values[i] ? 1 : 0;
  }
  return static_cast<double>(clipped) / static_cast<double>(count);
}

bool has_real_values(const TensorView& view) {
  return view.info.dtype == DType::kF32 ||
         ((view.info.dtype == DType::kS8 || view.info.dtype == DType::kS16) &&
          !view.info.quantization.scales.empty());
}

void add_difference(const float* exact, const TensorView& view, const NodeOptions& options, bool alone,
                    LayerReport& layer) {
  if (!has_real_values(view)) return;
  const DifferenceSums sums = sum_differences(exact, view);
  if (alone) {
    layer.noise_alone += sums.noise;
    return;
  }
  layer.signal += sums.signal;
  layer.noise += sums.noise;
  layer.dot += sums.dot;
  layer.norm += sums.norm;
  layer.clipped += clipped_share(exact, view, options);
}

}  // namespace

void convert_values(const TensorView& from, const TensorView& to) {
  if (from.info.dtype == DType::kS32 && to.info.dtype == DType::kS32) {
    memcpy(to.data, from.data, to.info.bytes());
    return;
  }
  const RealValues values(from);
  const int64_t count = to.info.shape.elements();
  if (to.info.dtype == DType::kF32) {
    for (int64_t i = 0; i < count; ++i) static_cast<float*>(to.data)[i] = static_cast<float>(values[i]);
  } else if (to.info.dtype == DType::kS16) {
    const QuantParams params{to.info.quantization.scales[0], 0, -32767, 32767};
    for (int64_t i = 0; i < count; ++i)
      static_cast<int16_t*>(to.data)[i] =
          static_cast<int16_t>(quantize_value(static_cast<float>(values[i]), params));
  } else if (to.info.dtype == DType::kS8) {
    const QuantParams params{to.info.quantization.scales[0], to.info.quantization.zero_point};
    if (from.info.dtype == DType::kF32)
      return quantize_values(from.as<float>(), params, to.as<int8_t>().data);
    for (int64_t i = 0; i < count; ++i)
      static_cast<int8_t*>(to.data)[i] =
          static_cast<int8_t>(quantize_value(static_cast<float>(values[i]), params));
  }
}

namespace {

int32_t find_tensor(const Model& model, const char* name) {
  for (int32_t t = 0; t < model.tensor_count(); ++t)
    if (strcmp(model.tensor(t).name, name) == 0) return t;
  return -1;
}

// The pair that stands for an output of the test model; -1 where there is none.
int32_t output_layer(const Model& reference, const Model& test, int32_t tensor, Span<const LayerPair> pairs) {
  int32_t found = -1;
  // A node that only changes type or shape has no pair of its own: the layer before it stands for it.
  for (int32_t steps = 0; steps < test.node_count() && found < 0; ++steps) {
    for (size_t i = pairs.size; i-- > 0;)
      if (found < 0 && test.node(pairs[i].node).outputs[0] == tensor) found = static_cast<int32_t>(i);
    const int32_t writer = writer_of(test, tensor);
    if (writer < 0) break;
    tensor = test.node(writer).inputs[0];
  }
  if (found < 0) return -1;
  const auto pair_before = [&](const NodeInfo& exact) {
    for (size_t i = 0; i < pairs.size; ++i)
      if (pairs[i].reference_tensor == exact.inputs[0]) return static_cast<int32_t>(i);
    return int32_t{-1};
  };
  // Indices have no error of their own: what they are chosen by has.
  while (found >= 0 &&
         reference.tensor(pairs[static_cast<size_t>(found)].reference_tensor).dtype == DType::kS32)
    found = pair_before(reference.node(pairs[static_cast<size_t>(found)].reference_node));
  if (found < 0) return -1;
  const NodeInfo exact = reference.node(pairs[static_cast<size_t>(found)].reference_node);
  const OpDef* const def = find_op(all_ops(), reference, exact);
  if (def == nullptr || def->quant.table != TableRule::kSoftmax) return found;
  const int32_t before = pair_before(exact);
  return before < 0 ? found : before;
}

}  // namespace

void compare_values(const float* exact, const TensorView& view, LayerReport& sums) {
  add_difference(exact, view, NodeOptions(), false, sums);
}

Span<const LayerPair> pair_layers(const Model& reference, const Model& test, Arena& arena) {
  Array<LayerPair> pairs;
  pairs.reserve(arena, static_cast<size_t>(test.node_count()));
  int32_t last = -1;
  for (int32_t n = 0; n < test.node_count(); ++n) {
    const TensorInfo output = test.tensor(test.node(n).outputs[0]);
    LayerPair pair{n, -1, find_tensor(reference, output.name)};
    if (pair.reference_tensor < 0) continue;
    // Errors are those against reals.
    const DType exact = reference.tensor(pair.reference_tensor).dtype;
    if (exact != DType::kF32 && exact != DType::kS32) continue;
    pair.reference_node = writer_of(reference, pair.reference_tensor);
    const int64_t elements = reference.tensor(pair.reference_tensor).shape.elements();
    if (pair.reference_node <= last || elements != output.shape.elements()) continue;
    last = pair.reference_node;
    pairs.push(arena, pair);
  }
  return pairs.span();
}

void compare_layers(Session& reference, Session& test, Span<const LayerPair> pairs, Span<LayerReport> layers,
                    bool alone, const FloatModel* fp32) {
  const auto run_reference = [&](int32_t first, int32_t last) {
    fp32 == nullptr ? reference.run_nodes(first, last) : fp32->run_nodes(reference, first, last);
  };
  int32_t reference_done = 0, test_done = 0;
  for (size_t i = 0; i < pairs.size; ++i) {
    const LayerPair& pair = pairs[i];
    run_reference(reference_done, pair.reference_node);
    test.run_nodes(test_done, pair.node);
    run_reference(pair.reference_node, pair.reference_node + 1);
    test.run_nodes(pair.node, pair.node + 1);
    reference_done = pair.reference_node + 1;
    test_done = pair.node + 1;
    const NodeInfo node = test.model().node(pair.node);
    layers[i].node = pair.node;
    layers[i].tensor = node.outputs[0];
    const TensorView exact = reference.tensor(pair.reference_tensor);
    const TensorView found = test.tensor(node.outputs[0]);
    add_difference(static_cast<const float*>(exact.data), found, node.options, alone, layers[i]);
    // At once: the reference may need the memory before a layer of `test` that took in several of its nodes.
    if (alone) convert_values(exact, found);
  }
  run_reference(reference_done, reference.model().node_count());
  test.run_nodes(test_done, test.model().node_count());
}

void copy_inputs(const Session& reference, Session& test) {
  for (size_t i = 0; i < test.model().inputs().size; ++i)
    convert_values(reference.input(static_cast<int32_t>(i)), test.input(static_cast<int32_t>(i)));
}

void zero_inputs(Session& test) {
  for (size_t i = 0; i < test.model().inputs().size; ++i) {
    const TensorView input = test.input(static_cast<int32_t>(i));
    const int32_t zero = input.info.dtype == DType::kS8 ? input.info.quantization.zero_point : 0;
    memset(input.data, zero, input.info.bytes());
  }
}

Span<const int32_t> output_layers(const Model& reference, const Model& test, Span<const LayerPair> pairs,
                                  Arena& arena) {
  Array<int32_t> layers;
  layers.reserve(arena, test.outputs().size);
  for (const int32_t output : test.outputs()) {
    const int32_t layer = output_layer(reference, test, output, pairs);
    bool known = layer < 0;
    for (const int32_t other : layers.span()) known = known || other == layer;
    if (!known) layers.push(arena, layer);
  }
  return layers.span();
}

void pair_outputs(const Model& fp32, const Model& int8, Span<const OutputTensor> outputs,
                  Span<OutputPair> pairs) {
  for (size_t i = 0; i < pairs.size; ++i) {
    OutputPair pair{outputs[i]};
    pair.tensor = find_tensor(int8, fp32.tensor(pair.exact.tensor).name);
    if (pair.tensor >= 0) pair.node = writer_of(int8, pair.tensor);
    size_t at = i;
    for (; at > 0 && pairs[at - 1].node > pair.node; --at) pairs[at] = pairs[at - 1];
    pairs[at] = pair;
  }
}

int32_t run_outputs(Session& fp32, Span<const OutputTensor> outputs, float* values) {
  int32_t done = 0;
  for (const OutputTensor& output : outputs) {
    fp32.run_nodes(done, output.node + 1);
    done = output.node + 1;
    memcpy(values + output.first, fp32.tensor(output.tensor).data, output.elements * sizeof(float));
  }
  return done;
}

int32_t compare_outputs(Session& int8, Span<const OutputPair> pairs, const float* exact, NetworkError* errors,
                        const OutputLook& look) {
  int32_t node = 0;
  for (size_t i = 0; i < pairs.size; ++i) {
    const OutputPair& pair = pairs[i];
    NetworkError& error = errors[i] = {};
    if (pair.tensor < 0) continue;
    int8.run_nodes(node, pair.node + 1);
    node = pair.node + 1;
    const TensorView view = int8.tensor(pair.tensor);
    if (view.info.shape.elements() != static_cast<int64_t>(pair.exact.elements)) continue;
    LayerReport sums;
    compare_values(exact + pair.exact.first, view, sums);
    error = {sums.signal, sums.noise};
    if (look.look != nullptr) look.look(look.context, i, exact + pair.exact.first, view);
  }
  return node;
}

uint64_t layer_report_bytes(uint64_t nodes, const CalibratorOptions& options) {
  if (!options.layer_report) return 0;
  const auto lanes = static_cast<uint64_t>(lane_count(options.executor));
  return nodes * (sizeof(LayerPair) + (1 + lanes) * sizeof(LayerReport)) + 3 * alignof(LayerReport);
}

Result<Span<LayerReport>> report_layers(FloatModel& fp32, Int8Model& int8, Replay& samples,
                                        const Progress& progress) {
  Arena& arena = int8.arena();
  const Span<const LayerPair> pairs = pair_layers(fp32.model, int8.session().model(), arena);
  const Span<LayerReport> layers = arena.make<LayerReport>(pairs.size);
  if (layers.size != pairs.size) return Error{Status::kOutOfMemory};
  Arena scratch = arena;
  const Span<LayerReport> of_lanes =
      scratch.make<LayerReport>(static_cast<size_t>(fp32.lane_count) * pairs.size);
  if (scratch.exhausted()) return Error{Status::kOutOfMemory};
  // of_lanes[lane * pairs.size + i] gets what differs at pairs[i].
  const auto compare = [&](Span<const int32_t> batch, bool alone) -> Error {
    ITG_TRY(samples.load_each(batch));
    const Executor inner = batch.size == 1 ? fp32.executor : Executor();
    parallel_for(fp32.executor, static_cast<int32_t>(batch.size), [&](int32_t lane) {
      Session exact = fp32.on_lane(lane, inner);
      Session test = int8.lanes().of(int8.session(), lane, inner);
      copy_inputs(exact, test);
      LayerReport* const own = of_lanes.data + static_cast<size_t>(lane) * pairs.size;
      compare_layers(exact, test, pairs, {own, pairs.size}, alone, &fp32);
    });
    return kNoError;
  };
  const Error failed = samples.for_each_batch(Part::kAll, [&](Span<const int32_t> batch) -> Error {
    for (LayerReport& layer : of_lanes) layer = LayerReport();
    for (const bool alone : {false, true}) {
      ITG_TRY(tell(progress, "report", batch[0], samples.count()));
      Error error;
      fp32.threads.hold([&] { error = compare(batch, alone); });
      ITG_TRY(error);
    }
    for (size_t i = 0; i < batch.size * pairs.size; ++i) layers[i % pairs.size].add(of_lanes[i]);
    return kNoError;
  });
  ITG_TRY(failed);
  for (LayerReport& layer : layers) layer.clipped /= samples.count();
  return layers;
}

}  // namespace intaglio
