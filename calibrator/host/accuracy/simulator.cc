#include "calibrator/host/accuracy/simulator.h"

#include "calibrator/bake/bake.h"
#include "calibrator/bake/model_writer.h"
#include "calibrator/judge/evaluate.h"
#include "calibrator/quantization/deploy.h"
#include "calibrator/quantization/int8_nodes.h"
#include "calibrator/ranges/slot_params.h"
#include "intaglio/describe.h"
#include "runtime/op.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

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
  Result<Graph> graph = bake({&fp32_, &*map, &options, &weights}, arena_.arena());
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
  const Result<SessionNeeds> needs = Session::measure(model_, all_ops(), options);
  if (!needs) return needs.error();
  session_memory_ = FileBytes(needs->total());
  const Result<Session> session = Session::create(
      model_, all_ops(), Session::split({session_memory_.data(), session_memory_.size()}, *needs), options);
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
    layers_[at] = std::make_unique<ExactLayer>(fp32_, n, input_config(n, 0), input_config(n, weight));
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
    on_grid = model_.tensor(t).dtype == DType::kS8 &&
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
  // What only moves codes has them already.
  const bool moves = rule.output == OutputRule::kSameAsInput;
  for (size_t i = 0; i < reals.size(); ++i) {
    codes_[output][i] = moves ? code_of_real(reals[i], config, params_of(config))
                              : quantize_real(reals[i], config, params_of(config));
    values[i] = static_cast<float>(real_of_code(codes_[output][i], config, params_of(config)));
  }
}

}  // namespace intaglio
