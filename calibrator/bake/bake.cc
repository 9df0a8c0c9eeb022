#include "calibrator/bake/bake.h"

#include "calibrator/bake/baked_tensors.h"
#include "calibrator/bake/lookup_tables.h"
#include "calibrator/bake/table_functions.h"
#include "calibrator/quantization/deploy.h"
#include "calibrator/quantization/int8_nodes.h"
#include "runtime/liveness.h"
#include "runtime/op.h"
#include "runtime/op_search.h"
#include "runtime/quantization_range.h"

namespace intaglio {

namespace {

constexpr int32_t kMapAxisList[] = {1, 2};
constexpr Span<const int32_t> kMapAxes = kMapAxisList;

// Only samples that run again are asked by halves.
bool keeps_mean_outputs(const CalibratorOptions& options) { return !options.one_pass; }

class Baker : private BakedTensors {
 public:
  Baker(const BakeInput& input, Arena& arena)
      : BakedTensors(input, arena),
        weights_(*input.weights),
        weight_codes_(input.codes),
        functions_(input.functions),
        table_functions_(model_, options_, functions_) {}

  Result<Graph> bake() {
    ITG_TRY(check_finished(model_, slots_, false));
    for (int32_t n = 0; n < model_.node_count(); ++n)
      if (becomes_int8(model_, n, options_)) ITG_TRY(check_node_deployable(model_, slots_, n));
    ITG_TRY(quantize_all_weights());
    ITG_TRY(make_room());
    for (const int32_t input : model_.inputs()) graph_.inputs.push(arena_, add_source(input));
    find_functions();
    for (int32_t n = 0; n < model_.node_count() && !arena_.exhausted(); ++n) {
      const int32_t last = function_of_[static_cast<size_t>(n)];
      if (last == n) {
        ITG_TRY(bake_function(n));
      } else if (last >= 0) {
        continue;
      } else if (becomes_int8(model_, n, options_)) {
        ITG_TRY(bake_codes(n));
      } else {
        copy_f32(n);
      }
    }
    for (const int32_t output : model_.outputs()) graph_.outputs.push(arena_, add_sink(output));
    bake_images();
    graph_.answers = model_.answers();
    graph_.memory_ceiling = options_.memory_ceiling;
    graph_.blocked_sums = model_.blocked_sums();
    if (arena_.exhausted()) return Error{Status::kOutOfMemory};
    ITG_TRY(check_finished(model_, slots_, true));
    return graph_;
  }

 private:
  int32_t add_source(int32_t tensor) {
    const auto t = static_cast<size_t>(tensor);
    const DType dtype = model_.tensor(tensor).dtype;
    // Who calls the model hands over reals where its first node reads codes of 16 bits.
    const bool is_state = state_of(options_, tensor, false) >= 0;
    if (dtype == DType::kF32 && is_source_in_codes(tensor) && (is_state || !is_wide(params(tensor))))
      return codes_[t] = add_codes(model_.tensor(tensor), "", params(tensor));
    return f32_[t] = add_named(model_.tensor(tensor), "", dtype);
  }
  bool is_source_in_codes(int32_t tensor) {
    const int32_t state = state_of(options_, tensor, false);
    if (state >= 0) return is_in_codes(slots_, options_.states_of->state(state));
    for (int32_t n = 0; n < model_.node_count(); ++n)
      for (const int32_t input : model_.node_inputs(n))
        if (input == tensor) return becomes_int8(model_, n, options_);
    return true;
  }

  // An output of the model; a state's next value in the state's own form.
  int32_t add_sink(int32_t tensor) {
    const auto t = static_cast<size_t>(tensor);
    const int32_t number = state_of(options_, tensor, true);
    if (number < 0 && codes_[t] >= 0 && is_wide(params(tensor))) return as_f32(tensor);
    if (number < 0) return codes_[t] >= 0 && !f32_first(t) ? codes_[t] : f32_[t];
    const StateInfo state = options_.states_of->state(number);
    return is_in_codes(slots_, state) ? as_codes(tensor, params(state.input)) : as_f32(tensor);
  }

  // The last ones first: what is a part of a function ends none.
  void find_functions() {
    function_of_ = arena_.make<int32_t>(static_cast<size_t>(model_.node_count()));
    for (int32_t& last : function_of_) last = -1;
    for (auto n = static_cast<int32_t>(function_of_.size); n-- > 0;) {
      if (function_of_[static_cast<size_t>(n)] >= 0) continue;
      const TableFunction function = table_functions_.ending_with(n);
      for (int32_t i = 0; i < function.count; ++i) function_of_[static_cast<size_t>(function.nodes[i])] = n;
    }
  }

  // The function that ends with node `n` as one table.
  Error bake_function(int32_t n) {
    const NodeInfo node = model_.node(n);
    const TableFunction function = table_functions_.ending_with(n);  // found again: it takes memory to keep
    const QuantParams in = params(function.x), out = params(node.outputs[0]);
    const Span<int8_t> table = arena_.make<int8_t>(256);
    if (table.empty()) return {Status::kOutOfMemory};
    fill_table([&](double x) { return table_functions_.value(function, x); }, in, out, table.data);
    const int32_t codes = as_codes(function.x, in),
                  inputs[] = {codes, add_tables(node.name, DType::kS8, 0, table)},
                  written = codes_[static_cast<size_t>(node.outputs[0])] =
                      add_codes(model_.tensor(node.outputs[0]), "", out);
    add_node(graph_, arena_, Op::kLookup, node.name, inputs, {&written, 1}).source = n;
    return arena_.exhausted() ? Error{Status::kOutOfMemory} : kNoError;
  }

  Error bake_codes(int32_t n) {
    const NodeInfo node = model_.node(n);
    const OpDef& def = *find_op(float_ops(), model_, node);
    const QuantRule& rule = def.quant;
    const bool wide = computes_wide(n, rule);
    const Span<int32_t> inputs = arena_.make<int32_t>(
        node.inputs.size + (rule.table != TableRule::kNone ? 2 : 0) + (adds_bias(node, rule) ? 1 : 0));
    if (arena_.exhausted()) return {Status::kOutOfMemory};
    size_t count = node.inputs.size;
    for (size_t i = 0; i < count; ++i) {
      if (node.inputs[i] < 0 || is_parameter(rule, i)) {
        inputs[i] = -1;
      } else if (rule.copies(i)) {
        inputs[i] = as_f32(node.inputs[i]);
      } else {
        const QuantParams wanted = params(rule.inputs_as_output ? node.outputs[0] : slots_.input_slot(n, i));
        const bool looks_up = rule.table == TableRule::kUnary && !rule.clips;
        const float scale = looks_up ? wide_params(wanted).scale : wanted.scale;
        inputs[i] = wide ? as_wide_codes(node.inputs[i], wanted, scale) : as_codes(node.inputs[i], wanted);
      }
    }
    if (rule.parameter_input >= 0) --count;  // the tables stand where it stood
    if (adds_bias(node, rule)) inputs[count++] = -1;
    if (rule.weight_input >= 0) ITG_TRY(add_weights(n, rule, inputs));
    const bool has_groups = !factors_of(n).empty() && !wide;
    if (has_groups) {
      add_grouped_tables(n, rule, inputs.data + count);
      count += 2;
    } else if (rule.table != TableRule::kNone && !(wide && rule.clips)) {
      inputs[count++] = wide ? add_wide_table(n, rule) : add_table(n, rule);
    }
    if (arena_.exhausted()) return {Status::kOutOfMemory};

    const int32_t output = node.outputs[0];
    const auto o = static_cast<size_t>(output);
    if (const Op answer = answer_op(model_, n, options_); answer != Op::kNone) {
      f32_[o] = add_named(model_.tensor(output), "", DType::kF32);
      add_answer(n, answer, inputs);
      return kNoError;
    }
    if (const TensorInfo written = model_.tensor(output); written.dtype != DType::kF32) {  // indices
      f32_[o] = add_named(written, "", written.dtype);
      GraphNode& made = add_node(graph_, arena_, node.op, node.name, {inputs.data, count}, {&f32_[o], 1});
      made.options = copy_options(node.options, arena_);
      made.source = n;
      return kNoError;
    }
    const QuantParams out = params(output);
    if (wide) {
      add_wide(n, rule, {inputs.data, count}, out);
      return kNoError;
    }
    const QuantParams whole{out.scale, out.zero_point};
    const bool narrows = !keeps_limits(node, rule) && !holds(out, whole);
    const int32_t written = add_codes(model_.tensor(output), narrows ? "/8bit" : "", out);
    GraphNode& made = add_node(graph_, arena_, has_groups ? Op::kGroupedLookup : int8_op(node, rule),
                               node.name, {inputs.data, count}, {&written, 1});
    if (made.op == node.op) made.options = copy_options(node.options, arena_);
    made.source = n;
    set_clamp_codes(made.options, out);
    codes_[o] = narrows ? add_codes(model_.tensor(output), "", out) : written;
    if (narrows) add_requantization(written, whole, codes_[o], out);
    return kNoError;
  }

  // Whether no code of a node's output leaves its slot's limits: a Clamp or a table sees to that, or the codes come from
  // tensors with the same limits. Other operators take no limits: what stands behind them narrows their codes.
  static bool keeps_limits(const NodeInfo& node, const QuantRule& rule) {
    return rule.output == OutputRule::kSameAsInput || rule.inputs_as_output ||
           rule.table == TableRule::kUnary || rule.table == TableRule::kUnaryPerChannel ||
           node.options.get<Clamp>() != nullptr;
  }

  // Whether a node computes in codes of 16 bits: it reads such, or writes them.
  bool computes_wide(int32_t n, const QuantRule& rule) const {
    const NodeInfo node = model_.node(n);
    if (answer_op(model_, n, options_) == Op::kNone && is_wide(params(node.outputs[0]))) return true;
    for (size_t i = 0; i < node.inputs.size && !rule.inputs_as_output; ++i)
      if (node.inputs[i] >= 0 && rule.is_operand(i) && is_wide(params(slots_.input_slot(n, i)))) return true;
    return false;
  }

  // The parameters of what a node writes that computes in 16 bits: a tensor of int8 is a 128th of them. Of what a table reads, too:
  // it has an entry for every 128th code, and is a straight line between them.
  static QuantParams wide_params(const QuantParams& out) {
    if (is_wide(out)) return out;
    constexpr int32_t kFiner = 128;
    const float finer = out.scale / static_cast<float>(kFiner);
    const QuantParams wide{finer < kMinScale ? kMinScale : finer, 0, (out.lo - out.zero_point) * kFiner,
                           (out.hi - out.zero_point) * kFiner};
    return wide;
  }

  void add_wide(int32_t n, const QuantRule& rule, Span<const int32_t> inputs, const QuantParams& out) {
    const NodeInfo node = model_.node(n);
    const TensorInfo info = model_.tensor(node.outputs[0]);
    const auto o = static_cast<size_t>(node.outputs[0]);
    const QuantParams wide = wide_params(out);
    // Outputs of the model are reals, and have the tensor's name.
    bool is_output = false;
    for (const int32_t given : model_.outputs())
      is_output = is_output || (given == node.outputs[0] && state_of(options_, given, true) < 0);
    const char* const suffix = is_wide(out) && !is_output ? "" : "/s16";
    const QuantParams whole{wide.scale, 0, -32767, 32767};
    const bool narrows = is_wide(out) && !keeps_limits(node, rule) && !holds(wide, whole);
    const int32_t written = add_wide_codes(info, narrows ? "/16bit" : suffix, wide);
    GraphNode& made = add_node(graph_, arena_, int16_op(node, rule), node.name, inputs, {&written, 1});
    if (made.op == node.op) made.options = copy_options(node.options, arena_);
    if (rule.clips) made.options.as<Clamp>() = node.options.as<Clamp>();
    made.source = n;
    set_clamp_codes(made.options, wide);
    codes_[o] = written;
    if (narrows) codes_[o] = add_wide_codes(info, suffix, wide);
    if (!is_wide(out)) codes_[o] = add_codes(info, "", out);
    if (codes_[o] != written) add_quantize(written, codes_[o], out);
  }

  int32_t add_softmax_table(int32_t n, size_t entries) {
    const NodeInfo node = model_.node(n);
    const Span<int32_t> table = arena_.make<int32_t>(entries);
    if (!table.empty())
      make_softmax_table(params(slots_.input_slot(n, 0)).scale, model_.tensor(node.inputs[0]).shape.back(0),
                         table);
    return add_tables(node.name, DType::kS32, 0, table, static_cast<int32_t>(entries));
  }

  int32_t add_wide_table(int32_t n, const QuantRule& rule) {
    if (rule.table == TableRule::kSoftmax) return add_softmax_table(n, 512);
    const NodeInfo node = model_.node(n);
    const Span<int16_t> table = arena_.make<int16_t>(kTableS16);
    if (!table.empty())
      make_unary_table_s16(rule.unary, node.options, wide_params(params(slots_.input_slot(n, 0))).scale,
                           wide_params(params(node.outputs[0])), table);
    return add_tables(node.name, DType::kS16, 0, table, kTableS16);
  }

  void add_answer(int32_t n, Op op, Span<const int32_t> inputs) {
    const NodeInfo node = model_.node(n);
    GraphNode& made =
        add_node(graph_, arena_, op, node.name, inputs, {&f32_[static_cast<size_t>(node.outputs[0])], 1});
    made.source = n;
    if (op == node.op && made.options.get<ReduceOptions>() == nullptr)
      made.options = copy_options(node.options, arena_);
    if (auto* const mean = made.options.get<ReduceOptions>())
      mean->axes = arena_.copy(node.op == op ? node.options.as<ReduceOptions>().axes : kMapAxes);
  }

  static bool is_parameter(const QuantRule& rule, size_t input) {
    if (static_cast<int8_t>(input) == rule.parameter_input) return true;
    return rule.weight_input >= 0 &&
           (static_cast<int8_t>(input) == rule.weight_input || static_cast<int8_t>(input) == rule.bias_input);
  }
  // Every int8 layer with weights has a bias, so that it can be corrected.
  static bool adds_bias(const NodeInfo& node, const QuantRule& rule) {
    return rule.bias_input >= 0 && node.inputs.size == static_cast<size_t>(rule.bias_input);
  }

  static bool has_bias(const NodeInfo& node, const QuantRule& rule) {
    const auto bias = static_cast<size_t>(rule.bias_input);
    return bias < node.inputs.size && node.inputs[bias] >= 0;
  }

  // First of all, so that they stand where the next bake() finds them.
  Error quantize_all_weights() {
    const auto nodes = static_cast<size_t>(model_.node_count());
    const bool stand = !weights_.layers.empty();
    const Span<BakedLayer> layers = stand ? weights_.layers : arena_.make<BakedLayer>(nodes);
    Error refused;
    for (int32_t i = 0; i < model_.node_count() && !arena_.exhausted(); ++i) {
      const int32_t n = weight_codes_ == nullptr ? i : model_.node_count() - 1 - i;
      if (!becomes_int8(model_, n, options_)) continue;
      const NodeInfo node = model_.node(n);
      const QuantRule& rule = find_op(float_ops(), model_, node)->quant;
      if (rule.weight_input < 0) continue;
      BakedLayer& layer = layers[static_cast<size_t>(n)];
      const RealWeights reals = real_weights(n, node, rule);
      if (stand) {
        const bool stay = quantize_weights_again(reals, layer.weights, options_.executor);
        for (MeanOutputs& means : layer.means) means.knows_codes = means.knows_codes && stay;
      } else {
        layer.weights = quantize_weights(reals, arena_, weight_codes_ == nullptr ? arena_ : *weight_codes_,
                                         options_.executor);
        for (MeanOutputs& means : layer.means) {
          const size_t channels = keeps_mean_outputs(options_) ? layer.weights.scales.size : 0;
          means = {arena_.make<double>(channels), arena_.make<double>(channels)};
        }
      }
      const Error error{Status::kAccumulatorOverflow, n, node.inputs[static_cast<size_t>(rule.weight_input)],
                        layer.weights.refused};
      if (layer.weights.refused >= 0 && (refused.ok() || n < refused.node)) refused = error;
    }
    ITG_TRY(refused);
    if (arena_.exhausted() || (weight_codes_ != nullptr && weight_codes_->exhausted()))
      return {Status::kOutOfMemory};
    if (!stand) weights_ = {layers, arena_};
    return kNoError;
  }

  RealWeights real_weights(int32_t n, const NodeInfo& node, const QuantRule& rule) const {
    const auto weight = static_cast<size_t>(rule.weight_input), bias = static_cast<size_t>(rule.bias_input);
    const TensorInfo w = model_.tensor(node.inputs[weight]);
    const bool wide = computes_wide(n, rule);
    // Kernels that write their sums in FP32 read plain weights and add nothing in 16 bits.
    const bool safe_pairs = options_.safe_pairs && answer_op(model_, n, options_) == Op::kNone;
    return {floats(w),
            w.shape,
            rule.weight_axis,
            has_bias(node, rule) ? floats(model_.tensor(node.inputs[bias])) : Span<const float>(),
            params(slots_.input_slot(n, 0)).scale,
            slots_.slots.config(slots_.input_slot(n, weight)),
            safe_pairs && !wide,
            known_scales(node.inputs[weight]),
            wide};
  }

  Error add_weights(int32_t n, const QuantRule& rule, Span<int32_t> inputs) {
    const NodeInfo node = model_.node(n);
    const auto weight = static_cast<size_t>(rule.weight_input), bias = static_cast<size_t>(rule.bias_input);
    const TensorInfo w = model_.tensor(node.inputs[weight]);
    const QuantizedWeights& q = weights_.layers[static_cast<size_t>(n)].weights;
    ITG_TRY(settle(slots_.input_slot(n, weight), q.scales, QuantState::kActivated, QuantState::kBaked));
    if (has_bias(node, rule))
      ITG_TRY(settle(slots_.input_slot(n, bias), q.scales, QuantState::kPassive, QuantState::kPassiveBaked));
    inputs[weight] = add_weight_tensor(n, w);
    set_constant(inputs[weight], q.codes.data, q.codes.size);
    graph_.tensors[static_cast<size_t>(inputs[weight])].quantization = {q.scales, 0, rule.weight_axis};
    inputs[bias] = has_bias(node, rule) ? add_named(model_.tensor(node.inputs[bias]), "", DType::kS32)
                                        : add_bias_tensor(w, static_cast<int32_t>(q.bias.size));
    set_constant(inputs[bias], q.bias.data, q.bias.size);
    return kNoError;
  }
  Span<const float> known_scales(int32_t weights) const {
    for (const KnownParams& known : options_.known)
      if (known.tensor == weights) return known.channel_scales;
    return {};
  }
  // A parameter's scales are known and its codes made; what an earlier bake() has left is taken back. A bias
  // has no scales of its own but those of its channels' products, of which these are the weights'.
  Error settle(int32_t slot, Span<const float> scales, QuantState active, QuantState baked) {
    if (slots_.slots.own(slot).state == baked) ITG_TRY(slots_.slots.set_state(slot, active));
    ITG_TRY(slots_.slots.set_params(slot, {scales[0], 0}, scales));
    return slots_.slots.set_state(slot, baked);
  }
  // A convolution that gives the answer is a matrix product in int8: the same bytes as [outputs, inputs].
  int32_t add_weight_tensor(int32_t n, TensorInfo info) {
    const bool is_product = answer_op(model_, n, options_) == Op::kFullyConnected;
    const Span<int32_t> shape = arena_.make<int32_t>(2);
    if (is_product && !shape.empty()) {
      shape[0] = info.shape[0];
      shape[1] = info.shape.back(0);
      info.shape = {shape.data, 2};
    }
    return add_named(info, "", DType::kS8);
  }
  int32_t add_bias_tensor(const TensorInfo& weights, int32_t channels) {
    TensorInfo info;
    info.name = weights.name;
    const Span<int32_t> shape = arena_.make<int32_t>(1);
    if (shape.empty()) return -1;
    shape[0] = channels;
    info.shape = {shape.data, 1};
    return add_named(info, "/bias", DType::kS32);
  }
  static Span<const float> floats(const TensorInfo& info) {
    return {reinterpret_cast<const float*>(info.constant.data), info.constant.size / sizeof(float)};
  }

  int32_t add_table(int32_t n, const QuantRule& rule) {
    const NodeInfo node = model_.node(n);
    const QuantParams in = params(slots_.input_slot(n, 0));
    if (rule.table == TableRule::kSoftmax) return add_softmax_table(n, 256);
    const QuantParams out = params(node.outputs[0]);
    if (rule.table == TableRule::kUnaryPerChannel) {
      const Span<const float> parameters =
          floats(model_.tensor(node.inputs[static_cast<size_t>(rule.parameter_input)]));
      const Span<int8_t> tables = arena_.make<int8_t>(256 * parameters.size);
      if (!tables.empty())
        make_channel_tables(rule.unary_per_channel, node.options, parameters, in, out, tables);
      return add_tables(node.name, DType::kS8, static_cast<int32_t>(parameters.size), tables);
    }
    const Span<int8_t> table = arena_.make<int8_t>(256);
    if (!table.empty()) make_unary_table(rule.unary, node.options, in, out, table);
    return add_tables(node.name, DType::kS8, 0, table);
  }

  // A table for each pair of factors, and which of them each channel has.
  void add_grouped_tables(int32_t n, const QuantRule& rule, int32_t* inputs) {
    const NodeInfo node = model_.node(n);
    const FunctionFactors factors = factors_of(n);
    const int32_t channels = model_.tensor(node.outputs[0]).shape.back(0);
    const Span<int8_t> groups = arena_.make<int8_t>(static_cast<size_t>(channels));
    const Span<int8_t> tables = arena_.make<int8_t>(size_t{256} * FunctionFactors::kGroups);
    if (arena_.exhausted()) return;
    size_t firsts[FunctionFactors::kGroups];
    int32_t count = 0;
    for (size_t c = 0; c < groups.size; ++c) {
      int32_t group = 0;
      while (group < count && !factors.same(firsts[group], c)) ++group;
      groups[c] = static_cast<int8_t>(group);
      if (group < count) continue;
      firsts[count++] = c;
      make_scaled_table(rule.unary, node.options, factors, c, params(slots_.input_slot(n, 0)),
                        params(node.outputs[0]), {tables.data + 256 * group, 256});
    }
    inputs[0] =
        add_tables(node.name, DType::kS8, count, Span<int8_t>{tables.data, static_cast<size_t>(256 * count)});
    TensorInfo info;
    info.name = node.name;
    info.shape = {&channels, 1};
    inputs[1] = add_named(info, "/groups", DType::kS8);
    set_constant(inputs[1], groups.data, groups.size);
  }

  static void set_clamp_codes(NodeOptions& options, const QuantParams& p) {
    Clamp* const clamp = options.get<Clamp>();
    if (clamp == nullptr) return;
    clamp->lo = quantize_value(clamp->min, p);
    clamp->hi = quantize_value(clamp->max, p);
  }

  void copy_f32(int32_t n) {
    const NodeInfo node = model_.node(n);
    const Span<int32_t> inputs = arena_.make<int32_t>(node.inputs.size);
    const Span<int32_t> outputs = arena_.make<int32_t>(node.outputs.size);
    if (arena_.exhausted()) return;
    for (size_t i = 0; i < inputs.size; ++i) inputs[i] = node.inputs[i] < 0 ? -1 : as_f32(node.inputs[i]);
    for (size_t i = 0; i < outputs.size; ++i)
      outputs[i] = f32_[static_cast<size_t>(node.outputs[i])] =
          add_named(model_.tensor(node.outputs[i]), "", model_.tensor(node.outputs[i]).dtype);
    GraphNode& made = add_node(graph_, arena_, node.op, node.name, inputs, outputs);
    made.source = n;
    made.options = copy_options(node.options, arena_);
  }

  void bake_images() {
    for (int32_t i = 0; i < model_.image_count(); ++i) {
      ImageInput image = model_.image(i);
      const int32_t tensor = model_.inputs()[static_cast<size_t>(image.input)];
      if (codes_[static_cast<size_t>(tensor)] >= 0 && !f32_first(static_cast<size_t>(tensor)) &&
          !is_wide(params(tensor))) {
        const Span<int8_t> table = arena_.make<int8_t>(256 * static_cast<size_t>(image.channels));
        if (!table.empty()) make_image_table(image, params(tensor), table);
        image.table = table;
      }
      graph_.images.push(arena_, image);
    }
  }

  FunctionFactors factors_of(int32_t n) const {
    return functions_.empty() ? FunctionFactors() : functions_[static_cast<size_t>(n)];
  }

  BakedWeights& weights_;
  Arena* const weight_codes_;
  Span<const FunctionFactors> functions_;
  TableFunctions table_functions_;
  Span<int32_t>
      function_of_;  // of each node: the last node of the function that it is a part of; -1: of none
};

}  // namespace

Result<Graph> bake(const BakeInput& input, Arena& arena) { return Baker(input, arena).bake(); }

namespace {

// Counts what Baker makes, node by node.
class BakeCounter {
 public:
  BakeCounter(const Model& model, const CalibratorOptions& options) : model_(model), options_(options) {}

  BakeCount count() {
    for (const int32_t input : model_.inputs()) add_tensor(input);
    const TableFunctions functions(model_, options_, {});
    for (int32_t n = 0; n < model_.node_count(); ++n) {
      becomes_int8(model_, n, options_) ? add_codes(n) : add_float(n);
      const TableFunction function = functions.ending_with(n);
      if (function.count == 0) continue;
      add_conversion(function.x);
      add_table(n, 256);
    }
    for (const int32_t output : model_.outputs()) add_conversion(output);
    for (int32_t i = 0; i < model_.image_count(); ++i)
      graph_.constant_bytes += 256 * static_cast<uint64_t>(model_.image(i).channels);
    return {graph_, graph_.bytes() + list_bytes(), code_bytes_, requantization_bytes_};
  }

 private:
  static constexpr uint64_t kSuffix = 24;  // of a name at most, with its end

  uint64_t name_of(int32_t tensor) const { return strlen(model_.tensor(tensor).name) + kSuffix; }
  uint64_t dims_of(int32_t tensor) const { return static_cast<uint64_t>(model_.tensor(tensor).shape.rank); }
  void add_tensor(int32_t tensor) { graph_.add_tensor(name_of(tensor), dims_of(tensor)); }
  void add_constant(int32_t tensor, uint64_t bytes) {
    add_tensor(tensor);
    graph_.constant_bytes += bytes + kTensorAlignment;
  }
  // What reads a tensor in another form: a node and what it writes.
  void add_conversion(int32_t tensor) {
    add_tensor(tensor);
    graph_.add_node(name_of(tensor), 2);
  }
  void add_table(int32_t n, uint64_t bytes) {
    graph_.add_tensor(strlen(model_.node(n).name) + kSuffix, 2, 0);
    graph_.constant_bytes += bytes + kTensorAlignment;
  }
  // Whether a tensor is no codes first of all.
  bool is_real(int32_t tensor) const {
    const int32_t n = writer_of(model_, tensor);
    return n < 0 || !writes_codes(model_, n, options_);
  }
  // Those of a large constant are made once for all its readers.
  bool is_first_reader(int32_t node, int32_t tensor) const {
    constexpr size_t kLarge = 1024;
    if (model_.tensor(tensor).constant.size < kLarge) return true;
    for (int32_t n = 0; n < node; ++n)
      for (const int32_t input : model_.node_inputs(n))
        if (input == tensor && becomes_int8(model_, n, options_) == becomes_int8(model_, node, options_))
          return false;
    return true;
  }

  void add_float(int32_t n) {
    const NodeInfo node = model_.node(n);
    graph_.add_node(strlen(node.name) + 1, node.inputs.size + node.outputs.size,
                    listed_options(node.options));
    for (const int32_t output : node.outputs) add_tensor(output);
    for (const int32_t input : node.inputs) {
      if (input < 0) continue;
      const TensorInfo info = model_.tensor(input);
      if (!info.is_constant()) {
        if (!is_real(input)) add_conversion(input);
      } else if (is_first_reader(n, input))
        add_constant(input, info.constant.size);
    }
  }

  void add_codes(int32_t n) {
    const NodeInfo node = model_.node(n);
    const QuantRule& rule = find_op(float_ops(), model_, node)->quant;
    const bool wide = intaglio::is_wide(model_, n, options_);
    const bool requantizes =
        rule.inputs_as_output || wide || sets_slots(options_) || options_.compat != Compat::kNone;
    const auto channels =
        rule.weight_input < 0 ? 0 : static_cast<uint64_t>(weights_of(node, rule).shape[rule.weight_axis]);
    graph_.add_node(strlen(node.name) + 1, 2 * (node.inputs.size + 3) + node.outputs.size,
                    listed_options(node.options) + 2 * channels);
    requantization_bytes_ += channels * (sizeof(float) + sizeof(int32_t));
    for (const int32_t output : node.outputs) {
      add_tensor(output);
      for (int32_t i = 0; i < (wide ? 2 : requantizes ? 1 : 0); ++i) add_requantization(output);
    }
    for (size_t i = 0; i < node.inputs.size; ++i)
      if (node.inputs[i] >= 0) add_operand(n, rule, i, wide, requantizes);
    if (rule.bias_input >= 0 && channels > 0) {  // also of a layer without one
      graph_.add_tensor(name_of(node.inputs[static_cast<size_t>(rule.weight_input)]), 1, 0);
      graph_.constant_bytes += 4 * channels;
    }
    if (keeps_mean_outputs(options_)) of_layers_ += 4 * channels * sizeof(double);
    add_tables(n, rule, wide);
  }

  void add_operand(int32_t n, const QuantRule& rule, size_t i, bool wide, bool requantizes) {
    const int32_t input = model_.node_inputs(n)[i];
    const TensorInfo info = model_.tensor(input);
    const auto elements = static_cast<uint64_t>(info.shape.elements());
    if (static_cast<int8_t>(i) == rule.weight_input) {
      graph_.add_tensor(name_of(input), dims_of(input), static_cast<uint64_t>(info.shape[rule.weight_axis]));
      graph_.constant_bytes += elements;
      code_bytes_ += elements;
    } else if (rule.copies(i)) {
      if (is_first_reader(n, input)) add_constant(input, info.constant.size);
    } else if (rule.is_operand(i)) {
      if (info.is_constant() && is_first_reader(n, input)) add_constant(input, (wide ? 2 : 1) * elements);
      if (requantizes) add_requantization(input);
      if (wide) add_requantization(input);
      if (!info.is_constant() && is_real(input)) add_conversion(input);
    }
  }
  void add_requantization(int32_t tensor) {
    add_conversion(tensor);
    graph_.add_tensor(name_of(tensor), 1, 0);
    graph_.numbers += 1;
    graph_.constant_bytes += 256 + kTensorAlignment;
  }

  void add_tables(int32_t n, const QuantRule& rule, bool wide) {
    if (rule.table == TableRule::kNone) return;
    if (rule.parameter_input >= 0) {
      const int32_t parameters = model_.node_inputs(n)[static_cast<size_t>(rule.parameter_input)];
      return add_table(n, 256 * static_cast<uint64_t>(model_.tensor(parameters).shape.elements()));
    }
    const bool is_softmax = rule.table == TableRule::kSoftmax;
    if (wide) return add_table(n, is_softmax ? 512 * sizeof(int32_t) : kTableS16 * sizeof(int16_t));
    const bool has_groups = may_have_factors(n);
    const auto channels =
        has_groups ? static_cast<uint64_t>(model_.tensor(model_.node_outputs(n)[0]).shape.back(0)) : 0;
    add_table(n, 256 * (is_softmax ? sizeof(int32_t) : has_groups ? FunctionFactors::kGroups : 1));
    if (has_groups) add_table(n, channels);
  }
  bool may_have_factors(int32_t n) const {
    const bool asks = (options_.recover & recovery::kDepthwiseScales) != 0;
    return asks && find_op(float_ops(), model_, model_.node(n))->quant.table == TableRule::kUnary;
  }

  // As Baker and BakedTensors::make_room() make them.
  uint64_t list_bytes() const {
    const auto tensors = static_cast<uint64_t>(model_.tensor_count()),
               nodes = static_cast<uint64_t>(model_.node_count());
    return of_layers_ + nodes * (sizeof(BakedLayer) + sizeof(int32_t)) + 2 * tensors * sizeof(int32_t) +
           graph_.tensors * sizeof(TensorInfo) + graph_.nodes * sizeof(GraphNode) +
           kEnds * (model_.inputs().size + model_.outputs().size);
  }
  static constexpr uint64_t kEnds = 4 * sizeof(int32_t);  // of an input or output, in a list that grows

  TensorInfo weights_of(const NodeInfo& node, const QuantRule& rule) const {
    return model_.tensor(node.inputs[static_cast<size_t>(rule.weight_input)]);
  }

  const Model& model_;
  const CalibratorOptions& options_;
  GraphCount graph_;
  uint64_t of_layers_ = 0, code_bytes_ = 0, requantization_bytes_ = 0;
};

}  // namespace

BakeCount count_bake(const Model& model, const CalibratorOptions& options) {
  return BakeCounter(model, options).count();
}

namespace {

const QuantRule* rule_of(const Graph& graph, const GraphNode& node) {
  const int32_t index = find_op_index(all_ops(), signature_of(graph, node));
  return index == kNoOp ? nullptr : &all_ops()[static_cast<size_t>(index)]->quant;
}

bool read_once(const Graph& graph, int32_t tensor) {
  int32_t reads = 0;
  for (const GraphNode& node : graph.nodes)
    for (const int32_t input : node.inputs) reads += input == tensor ? 1 : 0;
  for (const int32_t output : graph.outputs) reads += output == tensor ? 2 : 0;
  for (const StateInfo& state : graph.states) reads += state.output == tensor ? 2 : 0;
  return reads == 1;
}

// The convolution that writes `tensor` for the Add at `add` alone; -1 where there is none that can take a
// residual.
int32_t feeding_convolution(const Graph& graph, size_t add, int32_t tensor) {
  for (size_t n = add; n-- > 0;) {
    const GraphNode& node = graph.nodes[n];
    if (node.outputs[0] != tensor) continue;
    const QuantRule* const rule = rule_of(graph, node);
    const bool free = rule != nullptr && rule->residual_input >= 0 &&
                      node.inputs.size <= static_cast<size_t>(rule->residual_input);
    const auto clamp = node.options.value<Clamp>();
    const bool whole = clamp.lo == -128 && clamp.hi == 127;
    return free && whole && read_once(graph, tensor) ? static_cast<int32_t>(n) : -1;
  }
  return -1;
}

bool fuse(Graph& graph, Arena& arena, size_t add, int32_t convolution, int32_t residual) {
  const GraphNode conv = graph.nodes[static_cast<size_t>(convolution)];
  GraphNode& node = graph.nodes[add];
  const auto slot = static_cast<size_t>(rule_of(graph, conv)->residual_input);
  const Span<int32_t> inputs = arena.make<int32_t>(slot + 1);
  if (inputs.empty()) return false;
  for (size_t i = 0; i < slot; ++i) inputs[i] = i < conv.inputs.size ? conv.inputs[i] : -1;
  inputs[slot] = residual;
  const Quantization& own = graph.tensors[static_cast<size_t>(conv.outputs[0])].quantization;
  NodeOptions options = conv.options;
  auto& fused = options.as<Conv2dOptions>();
  const auto& sum = node.options.as<AddOptions>();
  fused.intermediate = {own.scales[0], own.zero_point};
  fused.clamp.lo = sum.clamp.lo;
  fused.clamp.hi = sum.clamp.hi;
  fused.add_bits = sum.add_bits;
  // Runs where the Add ran, so that the residual is there.
  node = {conv.op, conv.name, inputs, node.outputs, options, conv.source};
  for (size_t n = static_cast<size_t>(convolution); n + 1 < graph.nodes.size(); ++n)
    graph.nodes[n] = graph.nodes[n + 1];
  graph.nodes.resize_down(graph.nodes.size() - 1);
  return true;
}

}  // namespace

void fuse_residual(Graph& graph, Arena& arena) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    const QuantRule* const rule = rule_of(graph, node);
    if (rule == nullptr || !rule->folds_residual || node.inputs.size != 2) continue;
    const auto& a = graph.tensors[static_cast<size_t>(node.inputs[0])];
    const auto& b = graph.tensors[static_cast<size_t>(node.inputs[1])];
    if (a.dtype != DType::kS8 || b.dtype != DType::kS8 || a.shape != b.shape || a.is_constant() ||
        b.is_constant())
      continue;
    // The later one of two convolutions: its result then never has to wait in memory.
    const int32_t first = feeding_convolution(graph, n, node.inputs[0]);
    const int32_t second = feeding_convolution(graph, n, node.inputs[1]);
    const int32_t chosen = first > second ? first : second;
    if (chosen < 0) continue;
    if (fuse(graph, arena, n, chosen, node.inputs[first > second ? 1 : 0])) --n;
  }
}

}  // namespace intaglio
