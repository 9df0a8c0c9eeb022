#include "calibrator/host/accuracy/layer_sensitivity.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "calibrator/host/system/open_session.h"
#include "calibrator/judge/evaluate.h"
#include "calibrator/quantization/int8_nodes.h"
#include "intaglio/describe.h"
#include "runtime/liveness.h"
#include "runtime/op_search.h"

namespace intaglio {

int64_t macs_of(const Model& model, const NodeInfo& node) {
  if (node.op == Op::kBatchMatMul)
    return model.tensor(node.outputs[0]).shape.elements() * model.tensor(node.inputs[0]).shape.back(0);
  if (node.op != Op::kConv2d && node.op != Op::kDepthwiseConv2d && node.op != Op::kFullyConnected) return 0;
  const Shape output = model.tensor(node.outputs[0]).shape, weights = model.tensor(node.inputs[1]).shape;
  return output.elements() / output.back(0) * weights.elements();
}

namespace {

bool has_codes(const TensorInfo& info) { return info.dtype == DType::kS8 || info.dtype == DType::kS16; }

// FP32 values as a tensor of the shape of `like`.
TensorView view_of(std::vector<float>& values, const TensorInfo& like) {
  TensorView view;
  view.info.dtype = DType::kF32;
  view.info.shape = like.shape;
  view.data = values.data();
  return view;
}

std::vector<float> real_values(const TensorView& view) {
  std::vector<float> values(static_cast<size_t>(view.info.shape.elements()));
  convert_values(view, view_of(values, view.info));
  return values;
}

}  // namespace

Outcome<std::unique_ptr<SensitivityMeter>> SensitivityMeter::create(const Model& fp32, const Model& int8,
                                                                    const SessionOptions& options) {
  std::unique_ptr<SensitivityMeter> made(new SensitivityMeter(fp32, int8));
  for (const auto& [model, own] : {std::pair(&fp32, &made->exact_), std::pair(&int8, &made->test_)}) {
    const Result<Session> session = open_session(*model, options, own->memory);
    if (session) {
      own->session = *session;
      continue;
    }
    char text[256];
    describe(session.error(), model, text, sizeof text);
    return Failure{text};
  }
  made->outputs_ = output_tensors(fp32, made->arena_.arena());
  made->signal_.resize(made->outputs_.size);
  made->input_noise_.resize(made->outputs_.size);
  made->find_layers();
  return made;
}

void SensitivityMeter::find_layers() {
  const auto tensors = static_cast<size_t>(fp32_.tensor_count());
  writer_.assign(tensors, -1);
  last_use_.assign(tensors, -1);
  like_.assign(tensors, -1);
  values_.resize(tensors);
  integers_.resize(tensors);
  factors_.resize(tensors);
  std::map<std::string, int32_t> by_name;
  for (int32_t t = 0; t < int8_.tensor_count(); ++t) by_name.emplace(int8_.tensor(t).name, t);
  const auto note = [&](int32_t tensor, int32_t written_at) {
    const auto t = static_cast<size_t>(tensor);
    writer_[t] = written_at;
    last_use_[t] = last_use(fp32_, tensor, written_at);
    if (const auto like = by_name.find(fp32_.tensor(tensor).name); like != by_name.end())
      like_[t] = like->second;
  };
  for (const int32_t input : fp32_.inputs()) note(input, -1);
  for (int32_t n = 0; n < fp32_.node_count(); ++n)
    for (const int32_t output : fp32_.node(n).outputs) note(output, n);

  std::vector<int32_t> layer_of(tensors, LayerSensitivity::kModelInput);
  int32_t done = 0;
  for (const LayerPair& pair : pair_layers(fp32_, int8_, arena_.arena())) {
    Layer layer;
    layer.node = pair.node;
    layer.output = pair.reference_tensor;
    layer.whole.resize(outputs_.size);
    layer.output_noise.resize(outputs_.size);
    LayerSensitivity& shape = layer.shape;
    const TensorInfo output = int8_.tensor(int8_.node(pair.node).outputs[0]);
    const TensorInfo read = int8_.tensor(int8_.node(pair.node).inputs[0]);
    shape.writes_float = !has_codes(output);
    shape.is_float = shape.writes_float && !has_codes(read);
    shape.is_wide = output.dtype == DType::kS16;
    shape.writer = pair.reference_node;
    shape.can_be_wide = !shape.is_float && !shape.writes_float && can_be_wide(pair.reference_node);
    shape.follows = follows_input(pair.reference_node);
    shape.output_elements = output.shape.elements();
    for (; done <= pair.reference_node; ++done) {
      const NodeInfo node = fp32_.node(done);
      shape.nodes.push_back(done);
      shape.macs += macs_of(fp32_, node);
      for (const int32_t input : node.inputs) {
        if (input < 0) continue;
        const TensorInfo info = fp32_.tensor(input);
        if (info.is_constant()) {
          shape.weight_bytes += info.shape.elements();
        } else {
          const int32_t source = layer_of[static_cast<size_t>(input)];
          const bool inside = source == static_cast<int32_t>(layers_.size());
          if (!inside && std::find(shape.reads.begin(), shape.reads.end(), source) == shape.reads.end())
            shape.reads.push_back(source);
        }
      }
      for (const int32_t written : node.outputs)
        layer_of[static_cast<size_t>(written)] = static_cast<int32_t>(layers_.size());
    }
    layers_.push_back(std::move(layer));
  }
  for (; !layers_.empty() && done < fp32_.node_count(); ++done) layers_.back().shape.nodes.push_back(done);
}

bool SensitivityMeter::follows_input(int32_t node) const {
  const OpDef* const def = find_op(float_ops(), fp32_, fp32_.node(node));
  return def != nullptr && def->quant.output == OutputRule::kSameAsInput;
}

// A node that follows its input's codes asks for no bits of its own, and hands those of its input on to its readers.
bool SensitivityMeter::can_be_wide(int32_t node) const {
  if (find_op(float_ops(), fp32_, fp32_.node(node)) == nullptr || follows_input(node)) return false;
  const SlotSetting wide{node, SlotRole::kOutput, -1, 16};
  CalibratorOptions narrow, options;
  options.slots = {&wide, 1};
  if (!becomes_int8(fp32_, node, options)) return false;
  std::vector<bool> holds_wide(static_cast<size_t>(fp32_.tensor_count()));
  holds_wide[static_cast<size_t>(fp32_.node(node).outputs[0])] = true;
  for (int32_t n = node + 1; n < fp32_.node_count(); ++n) {
    const NodeInfo reader = fp32_.node(n);
    const bool reads_wide = std::any_of(reader.inputs.begin(), reader.inputs.end(), [&](int32_t input) {
      return input >= 0 && holds_wide[static_cast<size_t>(input)];
    });
    if (!reads_wide) continue;
    if (becomes_int8(fp32_, n, options) != becomes_int8(fp32_, n, narrow)) return false;
    if (follows_input(n)) holds_wide[static_cast<size_t>(reader.outputs[0])] = true;
  }
  return true;
}

void SensitivityMeter::add(Span<const Span<const uint8_t>> inputs) {
  Session& exact = exact_.session;
  const auto keep = [&](int32_t tensor) {
    const auto t = static_cast<size_t>(tensor);
    const Span<const float> values = exact.tensor(tensor).as<float>();
    const Span<const int32_t> integers = exact.tensor(tensor).as<int32_t>();
    values_[t].assign(values.begin(), values.end());
    integers_[t].assign(integers.begin(), integers.end());
  };
  for (size_t i = 0; i < inputs.size; ++i) {
    memcpy(exact.input(static_cast<int32_t>(i)).data, inputs[i].data, inputs[i].size);
    keep(fp32_.inputs()[i]);
  }
  for (int32_t n = 0; n < fp32_.node_count(); ++n) {
    exact.run_nodes(n, n + 1);
    for (const int32_t output : fp32_.node(n).outputs) keep(output);
  }
  for (size_t o = 0; o < outputs_.size; ++o)
    for (const float x : values_[static_cast<size_t>(outputs_[o].tensor)])
      signal_[o] += static_cast<double>(x) * static_cast<double>(x);

  for (const int32_t input : fp32_.inputs())
    if (const Values values = rounded(input); !values.empty()) probe(0, input, values, input_noise_);
  for (Layer& layer : layers_) {
    if (layer.shape.is_float) continue;
    const int32_t behind = writer_[static_cast<size_t>(layer.output)] + 1;
    probe(behind, layer.output, int8_output(layer), layer.whole);
    if (const Values values = rounded(layer.output); !values.empty())
      probe(behind, layer.output, values, layer.output_noise);
  }
}

SensitivityMeter::Values SensitivityMeter::rounded(int32_t tensor) const {
  const int32_t like = like_[static_cast<size_t>(tensor)];
  if (like < 0 || !has_codes(int8_.tensor(like))) return {};
  TensorView codes;
  codes.info = int8_.tensor(like);
  FileBytes memory(codes.info.bytes());
  codes.data = memory.data();
  Values exact = scaled(tensor, values_[static_cast<size_t>(tensor)]);
  convert_values(view_of(exact, codes.info), codes);
  return scaled(tensor, real_values(codes), true);
}

SensitivityMeter::Values SensitivityMeter::scaled(int32_t tensor, Values values, bool back) const {
  const Values& factors = factors_[static_cast<size_t>(tensor)];
  for (size_t i = 0; !factors.empty() && i < values.size(); ++i) {
    const float factor = factors[i % factors.size()];
    values[i] = back ? values[i] / factor : values[i] * factor;
  }
  return values;
}

void SensitivityMeter::find_factors(int32_t tensor, const Values& found) {
  constexpr double kLeast = 1.25;   // and its inverse: a factor that no rounding makes
  constexpr double kShare = 0.01;   // of the squares, in such channels
  constexpr size_t kFewValues = 8;  // a channel: their roundings may look like a factor
  const auto t = static_cast<size_t>(tensor);
  const Values& exact = values_[t];
  const Shape& shape = fp32_.tensor(tensor).shape;
  const size_t channels = shape.rank > 1 ? static_cast<size_t>(shape[shape.rank - 1]) : 0;
  if (!factors_[t].empty() || channels == 0 || found.size() != exact.size()) return;
  if (exact.size() / channels < kFewValues) return;
  std::vector<double> products(channels), squares(channels);
  // What is cut at the ends of the range tells nothing.
  const auto [low, high] = std::minmax_element(found.begin(), found.end());
  for (size_t i = 0; i < exact.size(); ++i) {
    if (found[i] == *low || found[i] == *high) continue;
    products[i % channels] += static_cast<double>(exact[i]) * static_cast<double>(found[i]);
    squares[i % channels] += static_cast<double>(exact[i]) * static_cast<double>(exact[i]);
  }
  Values factors(channels, 1.0f);
  double all = 0.0, differing = 0.0;  // sums of squares
  for (size_t c = 0; c < channels; ++c) {
    if (!(products[c] > 0.0)) continue;
    const double factor = products[c] / squares[c];
    factors[c] = static_cast<float>(factor);
    all += squares[c];
    if (factor > kLeast || factor < 1 / kLeast) differing += squares[c];
  }
  if (differing > kShare * all) factors_[t] = std::move(factors);
}

SensitivityMeter::Values SensitivityMeter::int8_output(const Layer& layer) {
  Session& test = test_.session;
  std::map<std::string, int32_t> exact;
  for (int32_t t = 0; t < fp32_.tensor_count(); ++t) exact.emplace(fp32_.tensor(t).name, t);
  for (const int32_t input : int8_.node(layer.node).inputs) {
    if (input < 0 || int8_.tensor(input).is_constant()) continue;
    // A border or a change of scale has the name of the tensor that it was made from.
    std::string name = int8_.tensor(input).name;
    auto found = exact.find(name);
    while (found == exact.end() && name.find('/') != std::string::npos) {
      name.erase(name.rfind('/'));
      found = exact.find(name);
    }
    if (found == exact.end() || fp32_.tensor(found->second).is_constant()) continue;
    const auto source = static_cast<size_t>(found->second);
    const TensorView to = test.tensor(input);
    if (to.info.dtype == DType::kS32)
      memcpy(to.data, integers_[source].data(), integers_[source].size() * sizeof(int32_t));
    else {
      Values values = scaled(found->second, values_[source]);
      convert_values(view_of(values, to.info), to);
    }
  }
  test.run_nodes(layer.node, layer.node + 1);
  Values values = real_values(test.tensor(int8_.node(layer.node).outputs[0]));
  find_factors(layer.output, values);
  return scaled(layer.output, std::move(values), true);
}

void SensitivityMeter::probe(int32_t from, int32_t tensor, const Values& values, Noise& noise) {
  Session& session = exact_.session;
  for (size_t t = 0; t < values_.size(); ++t) {
    if (writer_[t] >= from || last_use_[t] < from) continue;
    if (values_[t].empty() && integers_[t].empty()) continue;
    void* const to = session.tensor(static_cast<int32_t>(t)).data;
    const Values& held = static_cast<int32_t>(t) == tensor ? values : values_[t];
    if (integers_[t].empty())
      memcpy(to, held.data(), held.size() * sizeof(float));
    else
      memcpy(to, integers_[t].data(), integers_[t].size() * sizeof(int32_t));
  }
  int32_t done = from;
  for (size_t o = 0; o < outputs_.size; ++o) {
    const OutputTensor& output = outputs_[o];
    if (output.node < from && output.tensor != tensor) continue;
    const float* found = values.data();
    if (output.tensor != tensor) {
      session.run_nodes(done, output.node + 1);
      done = output.node + 1;
      found = session.tensor(output.tensor).as<float>().data;
    }
    const Values& exact = values_[static_cast<size_t>(output.tensor)];
    for (size_t i = 0; i < exact.size(); ++i) {
      const double d = static_cast<double>(exact[i]) - static_cast<double>(found[i]);
      noise[o] += d * d;
    }
  }
}

double SensitivityMeter::ratio(const Noise& noise) const {
  double sum = 0.0;
  for (size_t o = 0; o < noise.size(); ++o) sum += signal_[o] > 0.0 ? noise[o] / signal_[o] : 0.0;
  return noise.empty() ? 0.0 : sum / static_cast<double>(noise.size());
}

std::vector<LayerSensitivity> SensitivityMeter::layers() const {
  std::vector<LayerSensitivity> result;
  for (const Layer& layer : layers_) {
    LayerSensitivity shape = layer.shape;
    // A node that only moves codes adds no rounding: it is counted where they were made.
    shape.output_error = shape.follows ? 0.0 : ratio(layer.output_noise);
    // The error without the roundings of its output and its inputs; those are independent of
    // it.
    double own = ratio(layer.whole) - shape.output_error;
    for (const int32_t source : shape.reads)
      own -= source == LayerSensitivity::kModelInput
                 ? input_error()
                 : ratio(layers_[static_cast<size_t>(source)].output_noise);
    shape.own_error = std::max(own, 0.0);
    result.push_back(shape);
  }
  return result;
}

}  // namespace intaglio
