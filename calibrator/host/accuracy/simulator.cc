#include "calibrator/host/accuracy/simulator.h"

#include "calibrator/bake/bake.h"
#include "calibrator/bake/model_writer.h"
#include "calibrator/host/system/open_session.h"
#include "calibrator/judge/evaluate.h"
#include "calibrator/quantization/deploy.h"
#include "calibrator/quantization/int8_nodes.h"
#include "calibrator/quantization/quantizer.h"
#include "calibrator/ranges/slot_params.h"
#include "calibrator/recover/weights/layer_weights.h"
#include "intaglio/describe.h"
#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {

// A layer with weights in exact products: integers where its codes are linear, whatever their bits.
//
//   y[o] = s_in s_w[o] (sum (x - z_in) (w - z_w[o]) + R(b[o] / (s_in s_w[o])))
//
// with the fused activation's ends. Padded taps count as zero.
class ExactLayer {
 public:
  // Quantizes the weights of node `n` by `weights`, its bias by their rounding.
  ExactLayer(const Model& model, int32_t n, const QuantConfig& input, const QuantConfig& weights);

  // Real outputs, from the input's codes.
  std::vector<double> run(const std::vector<int64_t>& codes) const;
  const std::vector<int64_t>& weight_codes() const { return codes_; }
  const QuantParams& weight_params(int32_t output) const { return params_[static_cast<size_t>(output)]; }

 private:
  struct Row {  // of one output at one position: taps that lie inside, as indices of input and weight
    std::vector<size_t> inputs, weights;
  };
  void quantize_weights(Span<const float> reals);
  void take_patch(int64_t position, int32_t group, Row& row) const;
  double product(const std::vector<int64_t>& codes, const Row& row, int32_t output) const;

  const Model& model_;
  NodeInfo node_;
  LayerMatrix matrix_;
  QuantConfig input_, weights_;
  QuantParams in_params_;
  std::vector<int64_t> codes_;       // of the weights, in their layout
  std::vector<QuantParams> params_;  // of each output's weights
  std::vector<double> bias_;         // as its code gives it
};

namespace {

Span<const float> reals_of(const TensorInfo& info) {
  return {reinterpret_cast<const float*>(info.constant.data), info.constant.size / sizeof(float)};
}

// Products of up to 64 bits each, summed without overflow for any layer that fits in memory.
class WideSum {
 public:
  void add(int64_t a, int64_t b) {  // |a|, |b| < 2^33
    add((a >> 16) * b, high_, high_before_);
    add((a & 0xffff) * b, low_, low_before_);
  }
  double value() const {
    return (high_before_ + static_cast<double>(high_)) * 65536.0 + (low_before_ + static_cast<double>(low_));
  }

 private:
  // Below 2^62 a sum is whole; what is above goes to a double, which has no room for its last bits anyway.
  static void add(int64_t term, int64_t& sum, double& before) {  // |term| < 2^51
    sum += term;
    if (sum < kMost && sum > -kMost) return;
    before += static_cast<double>(sum);
    sum = 0;
  }

  static constexpr int64_t kMost = int64_t{1} << 62;
  int64_t high_ = 0, low_ = 0;
  double high_before_ = 0.0, low_before_ = 0.0;
};

QuantParams params_of(const QuantConfig& config) {
  return {config.scale, config.offset, config.lo, config.hi};
}

const QuantRule& rule_of(const Model& model, int32_t node) {
  return find_op(float_ops(), model, model.node(node))->quant;
}

std::vector<double> tensor_reals(const TensorView& view) {
  const Span<float> values = view.as<float>();
  return {values.begin(), values.end()};
}

bool is_operand(const QuantRule& rule, const NodeInfo& node, size_t input) {
  return node.inputs[input] >= 0 && rule.is_operand(input);
}

}  // namespace

ExactLayer::ExactLayer(const Model& model, int32_t n, const QuantConfig& input, const QuantConfig& weights)
    : model_(model),
      node_(model.node(n)),
      matrix_(layer_matrix(model, node_)),
      input_(input),
      weights_(weights),
      in_params_{input.scale, input.offset, input.lo, input.hi} {
  const QuantRule& rule = find_op(float_ops(), model, node_)->quant;
  const auto bias = static_cast<size_t>(rule.bias_input);
  quantize_weights(reals_of(model.tensor(node_.inputs[static_cast<size_t>(rule.weight_input)])));
  bias_.assign(static_cast<size_t>(matrix_.outputs()), 0.0);
  if (bias >= node_.inputs.size || node_.inputs[bias] < 0) return;
  const Span<const float> biases = reals_of(model.tensor(node_.inputs[bias]));
  for (size_t o = 0; o < bias_.size(); ++o) {
    const double step = static_cast<double>(input.scale) * static_cast<double>(params_[o].scale);
    bias_[o] = round_by(weights.rounding, static_cast<double>(biases[o]) / step) * step;
  }
}

void ExactLayer::quantize_weights(Span<const float> reals) {
  const auto depth = static_cast<size_t>(matrix_.depth());
  std::vector<Range> ranges(static_cast<size_t>(matrix_.outputs()));
  Range all;
  for (size_t o = 0; o < ranges.size(); ++o) {
    for (size_t k = 0; k < depth; ++k) {
      const auto w = static_cast<double>(reals[matrix_.first(static_cast<int32_t>(o)) + k * matrix_.stride]);
      ranges[o] = {w < ranges[o].lo ? w : ranges[o].lo, w > ranges[o].hi ? w : ranges[o].hi};
    }
    all = {ranges[o].lo < all.lo ? ranges[o].lo : all.lo, ranges[o].hi > all.hi ? ranges[o].hi : all.hi};
  }
  codes_.resize(reals.size);
  const Span<const float> known = weights_.channel_scales;
  for (size_t o = 0; o < ranges.size(); ++o) {
    params_.push_back(params_of(weights_.has(policy::kPerTensor) ? all : ranges[o], weights_));
    if (!known.empty()) params_[o] = {known[known.size == 1 ? 0 : o], 0, weights_.lo, weights_.hi};
    for (size_t k = 0; k < depth; ++k) {
      const size_t at = matrix_.first(static_cast<int32_t>(o)) + k * matrix_.stride;
      codes_[at] = quantize_real(static_cast<double>(reals[at]), weights_, params_[o]);
    }
  }
}

void ExactLayer::take_patch(int64_t position, int32_t group, Row& row) const {
  row.inputs.clear();
  row.weights.clear();
  for_each_input(model_, node_, matrix_, group, position, 1, [&](int32_t k, int32_t, int64_t element) {
    if (element < 0) return;
    row.inputs.push_back(static_cast<size_t>(element));
    row.weights.push_back(static_cast<size_t>(k) * matrix_.stride);
  });
}

double ExactLayer::product(const std::vector<int64_t>& codes, const Row& row, int32_t output) const {
  const QuantParams& params = params_[static_cast<size_t>(output)];
  const size_t first = matrix_.first(output);
  if (input_.has(policy::kExponential) || weights_.has(policy::kExponential)) {
    double sum = 0.0;
    for (size_t i = 0; i < row.inputs.size(); ++i)
      sum += real_of_code(codes[row.inputs[i]], input_, in_params_) *
             real_of_code(codes_[first + row.weights[i]], weights_, params);
    return sum;
  }
  WideSum sum;
  for (size_t i = 0; i < row.inputs.size(); ++i)
    sum.add(codes[row.inputs[i]] - in_params_.zero_point, codes_[first + row.weights[i]] - params.zero_point);
  return sum.value() * (static_cast<double>(in_params_.scale) * static_cast<double>(params.scale));
}

std::vector<double> ExactLayer::run(const std::vector<int64_t>& codes) const {
  const int64_t positions = layer_positions(model_, node_);
  const auto outputs = static_cast<size_t>(matrix_.outputs());
  const auto clamp = node_.options.value<Clamp>();
  const auto lo = static_cast<double>(clamp.min), hi = static_cast<double>(clamp.max);
  std::vector<double> values(static_cast<size_t>(positions) * outputs);
  Row row;
  for (int64_t p = 0; p < positions; ++p)
    for (int32_t g = 0; g < matrix_.groups; ++g) {
      take_patch(p, g, row);
      for (int32_t r = 0; r < matrix_.rows; ++r) {
        const int32_t o = g * matrix_.rows + r;
        const double y = product(codes, row, o) + bias_[static_cast<size_t>(o)];
        values[static_cast<size_t>(p) * outputs + static_cast<size_t>(o)] = y < lo ? lo : (y > hi ? hi : y);
      }
    }
  return values;
}

Simulator::Simulator(Calibration& calibration) : calibration_(calibration), fp32_(calibration.fp32.model) {}
Simulator::~Simulator() = default;

Outcome<std::unique_ptr<Simulator>> Simulator::create(Calibrator& calibrator, bool exact) {
  Calibration& calibration = Calibration::of(calibrator);
  std::unique_ptr<Simulator> made(new Simulator(calibration));
  if (const Error error = made->prepare(exact); !error.ok()) {
    char text[256];
    describe(error, &calibration.fp32.model, text, sizeof text);
    return Failure{text};
  }
  return made;
}

Error Simulator::prepare(bool exact) {
  if (calibration_.seen.sample_count == 0) return {Status::kNoSamples};
  const RangeMethod method = calibration_.options.method;
  ITG_TRY(choose_params(calibration_.param_source(), method, kBothHalves, calibration_.memory.slots));
  ITG_TRY(check_finished(fp32_, calibration_.memory.slots.map, false));
  ITG_TRY(find_simulated(exact));
  ITG_TRY(bake_rest());
  make_layers();
  codes_.resize(static_cast<size_t>(fp32_.tensor_count()));
  return kNoError;
}

Error Simulator::find_simulated(bool exact) {
  is_simulated_node_.assign(static_cast<size_t>(fp32_.node_count()), false);
  for (int32_t n = 0; n < fp32_.node_count(); ++n) {
    const bool is_int8 = becomes_int8(fp32_, n, calibration_.options);
    if (!is_int8) {
      float_nodes_.push_back(n);
      continue;
    }
    const Error error = check_node_deployable(fp32_, calibration_.memory.slots.map, n);
    if (error.status == Status::kChannelsNotDeployable) return error;  // seen by tensor, not by channel
    const bool has_weights = rule_of(fp32_, n).weight_input >= 0;
    if (error.ok() && !(exact && has_weights)) continue;
    is_simulated_node_[static_cast<size_t>(n)] = true;
    float_nodes_.push_back(n);
  }
  return kNoError;
}

// The int8 model of the other nodes, with the parameters that every slot has in the whole.
Error Simulator::bake_rest() {
  CalibratorOptions options = calibration_.options;
  options.float_nodes = {float_nodes_.data(), float_nodes_.size()};
  Result<SlotMap> map = make_slots(fp32_, options, options.method, arena_.arena());
  if (!map) return map.error();
  for (int32_t slot = 0; slot < map->slots.count(); ++slot) {
    const QuantConfig& own = map->slots.own(slot);
    if (own.state != QuantState::kInitial || own.parameter) continue;
    const QuantConfig& holds = calibration_.memory.slots.map.slots.config(slot);
    ITG_TRY(map->slots.configure(slot, holds));
    ITG_TRY(map->slots.set_params(slot, params_of(holds)));
  }
  BakedWeights weights;
  Result<Graph> graph = bake({&fp32_, &*map, &options, &weights, {}}, arena_.arena());
  if (!graph) return graph.error();
  fuse_residual(*graph, arena_.arena());
  return open(*graph);
}

Error Simulator::open(const Graph& graph) {
  Graph written = graph;
  const Result<Span<const uint8_t>> bytes = finish_model(written, all_ops(), arena_.arena());
  if (!bytes) return bytes.error();
  const Result<Model> model = Model::open(*bytes);
  if (!model) return model.error();
  model_ = *model;
  SessionOptions options;
  options.isa = calibration_.fp32.isa;
  options.executor = calibration_.fp32.executor;
  const Result<Session> session = open_session(model_, options, session_memory_);
  if (!session) return session.error();
  session_ = *session;
  for (const GraphNode& node : written.nodes) {
    const bool simulated = node.source >= 0 && is_simulated_node_[static_cast<size_t>(node.source)];
    sources_.push_back(node.source);
    simulated_.push_back(simulated ? node.source : -1);
  }
  return kNoError;
}

void Simulator::make_layers() {
  layers_.resize(static_cast<size_t>(fp32_.node_count()));
  for (int32_t n = 0; n < fp32_.node_count(); ++n) {
    const auto at = static_cast<size_t>(n);
    if (!is_simulated_node_[at] || rule_of(fp32_, n).weight_input < 0) continue;
    const auto weight = static_cast<size_t>(rule_of(fp32_, n).weight_input);
    QuantConfig of_weights = input_config(n, weight);
    for (const KnownParams& known : calibration_.options.known)
      if (known.tensor == fp32_.node(n).inputs[weight]) of_weights.channel_scales = known.channel_scales;
    layers_[at] = std::make_unique<ExactLayer>(fp32_, n, input_config(n, 0), of_weights);
  }
}

void Simulator::start(const Session& fp32) {
  for (std::vector<int64_t>& codes : codes_) codes.clear();
  session_.reset();
  copy_inputs(fp32, session_);
}

// The codes that the node reads: those that were written, or these quantized once more.
std::vector<int64_t> Simulator::read(int32_t n, int32_t source, size_t input) const {
  const SlotMap& map = calibration_.memory.slots.map;
  const int32_t tensor = fp32_.node(source).inputs[input], slot = map.input_slot(source, input);
  const QuantConfig& config = map.slots.config(slot);
  const QuantConfig& written = map.slots.config(tensor);
  const std::vector<int64_t>& codes = codes_[static_cast<size_t>(tensor)];
  const TensorView view = session_.tensor(model_.node_inputs(n)[input]);
  const std::vector<double> reals = tensor_reals(view);
  // Dequantized, or one code's value after another: not rounded again where this is the same quantization.
  bool on_grid = !codes.empty();
  for (int32_t t = 0; !on_grid && t < model_.tensor_count(); ++t)
    on_grid = (model_.tensor(t).dtype == DType::kS8 || model_.tensor(t).dtype == DType::kS16) &&
              std::string(model_.tensor(t).name) == fp32_.tensor(tensor).name;
  const bool same = map.slots.root(slot) == map.slots.root(tensor);
  if (same && !codes.empty()) return codes;
  std::vector<int64_t> result(reals.size());
  for (size_t i = 0; i < result.size(); ++i) {
    if (!on_grid) {
      result[i] = quantize_real(reals[i], config, params_of(config));
      continue;
    }
    const int64_t code = codes.empty() ? code_of_real(reals[i], written, params_of(written)) : codes[i];
    result[i] =
        same ? code
             : quantize_real(real_of_code(code, written, params_of(written)), config, params_of(config));
  }
  return result;
}

// The FP32 operator on what the codes stand for.
std::vector<double> Simulator::run_float(int32_t n, int32_t source,
                                         const std::vector<std::vector<int64_t>>& inputs) {
  const NodeInfo node = model_.node(n);
  std::vector<std::vector<float>> kept(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].empty()) continue;
    const TensorView view = session_.tensor(node.inputs[i]);
    if (view.info.is_constant()) continue;
    const Span<float> values = view.as<float>();
    kept[i].assign(values.begin(), values.end());
    const QuantConfig& config = input_config(source, i);
    for (size_t k = 0; k < values.size; ++k)
      values[k] = static_cast<float>(real_of_code(inputs[i][k], config, params_of(config)));
  }
  session_.run_nodes(n, n + 1);
  std::vector<double> outputs = tensor_reals(session_.tensor(node.outputs[0]));
  for (size_t i = 0; i < kept.size(); ++i)
    if (!kept[i].empty())
      std::copy(kept[i].begin(), kept[i].end(), session_.tensor(node.inputs[i]).as<float>().begin());
  return outputs;
}

std::vector<double> Simulator::compute(int32_t n, int32_t source,
                                       const std::vector<std::vector<int64_t>>& inputs) {
  if (const auto& layer = layers_[static_cast<size_t>(source)]) return layer->run(inputs[0]);
  const QuantRule& rule = rule_of(fp32_, source);
  if (rule.table != TableRule::kUnary) return run_float(n, source, inputs);
  const QuantConfig& config = input_config(source, 0);
  const NodeOptions options = fp32_.node(source).options;
  std::vector<double> outputs;
  outputs.reserve(inputs[0].size());
  for (const int64_t code : inputs[0])
    outputs.push_back(rule.unary(options, real_of_code(code, config, params_of(config))));
  return outputs;
}

void Simulator::run_node(int32_t n) {
  const int32_t source = simulated_[static_cast<size_t>(n)];
  if (source < 0) {
    session_.run_nodes(n, n + 1);
    return;
  }
  const NodeInfo node = fp32_.node(source);
  const QuantRule& rule = rule_of(fp32_, source);
  std::vector<std::vector<int64_t>> inputs(node.inputs.size);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (is_operand(rule, node, i)) inputs[i] = read(n, source, i);
  const std::vector<double> reals = compute(n, source, inputs);
  const auto output = static_cast<size_t>(node.outputs[0]);
  const QuantConfig& config = calibration_.memory.slots.map.slots.config(node.outputs[0]);
  const Span<float> values = session_.tensor(model_.node_outputs(n)[0]).as<float>();
  if (config.state == QuantState::kFp32) {  // an answer
    for (size_t i = 0; i < reals.size(); ++i) values[i] = static_cast<float>(reals[i]);
    return;
  }
  codes_[output].resize(reals.size());
  // An operator that only moves codes has them already.
  const bool moves = rule.output == OutputRule::kSameAsInput;
  for (size_t i = 0; i < reals.size(); ++i) {
    codes_[output][i] = moves ? code_of_real(reals[i], config, params_of(config))
                              : quantize_real(reals[i], config, params_of(config));
    values[i] = static_cast<float>(real_of_code(codes_[output][i], config, params_of(config)));
  }
}

}  // namespace intaglio
