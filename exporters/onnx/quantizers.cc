#include "exporters/onnx/quantizers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <type_traits>

namespace intaglio::exporters {

namespace {

// The shape of a list of scales: a scalar for one.
std::vector<int64_t> list_dims(size_t count) {
  return count == 1 ? std::vector<int64_t>{} : std::vector<int64_t>{static_cast<int64_t>(count)};
}

constexpr const char* kFakeQuantizeDomain = "org.openvinotoolkit";

}  // namespace

ActivationGrid grid_of(const TensorInfo& info) {
  const int32_t most = info.dtype == DType::kS16 ? 32767 : 127;
  return {info.quantization.scales[0], info.quantization.zero_point, -most - 1, most, -most - 1, most};
}

void Quantizers::add_fake_quantize(const std::string& name, const std::string& from, const std::string& to,
                                   int64_t levels, const std::vector<int64_t>& dims,
                                   const std::vector<float>& low, const std::vector<float>& high) {
  const std::string ends[2] = {graph_.unused_name(name + "/low"), graph_.unused_name(name + "/high")};
  graph_.add_constant(ends[0], OnnxTensor::FLOAT, dims, low.data(), low.size() * sizeof(float));
  graph_.add_constant(ends[1], OnnxTensor::FLOAT, dims, high.data(), high.size() * sizeof(float));
  OnnxNode& node =
      graph_.add_node("FakeQuantize", name + "/quantize", {from, ends[0], ends[1], ends[0], ends[1]}, to);
  node.domain = kFakeQuantizeDomain;
  set_attribute(node, "levels", levels);
}

void Quantizers::add_codes(const std::string& name, const std::vector<int64_t>& dims,
                           const std::vector<int8_t>& codes, Span<const float> scales, int32_t axis,
                           int32_t zero_point) {
  if (form_ != OnnxForm::kFakeQuantize) {
    const std::string stored = graph_.unused_name(name + "/s8"), scale = graph_.unused_name(name + "/scale"),
                      zero = graph_.unused_name(name + "/zero_point");
    const std::vector<int8_t> zeros(scales.size, static_cast<int8_t>(zero_point));
    graph_.add_constant(stored, OnnxTensor::INT8, dims, codes.data(), codes.size());
    graph_.add_constant(scale, OnnxTensor::FLOAT, list_dims(scales.size), scales.data,
                        scales.size * sizeof(float));
    graph_.add_constant(zero, OnnxTensor::INT8, list_dims(scales.size), zeros.data(), zeros.size());
    OnnxNode& made = graph_.add_node("DequantizeLinear", name + "/dequantize", {stored, scale, zero}, name);
    if (scales.size > 1) set_attribute(made, "axis", axis);
  } else {
    size_t behind = 1;
    for (size_t d = static_cast<size_t>(std::max(axis, 0)) + 1; d < dims.size(); ++d)
      behind *= static_cast<size_t>(dims[d]);
    std::vector<float> values(codes.size()), low, high;
    for (size_t i = 0; i < codes.size(); ++i)
      values[i] =
          static_cast<float>(codes[i] - zero_point) * scales[scales.size == 1 ? 0 : i / behind % scales.size];
    const bool is_whole = zero_point != 0 || std::count(codes.begin(), codes.end(), int8_t{-128}) > 0;
    for (const float scale : scales) {
      low.push_back(static_cast<float>((is_whole ? -128 : -127) - zero_point) * scale);
      high.push_back(static_cast<float>(127 - zero_point) * scale);
    }
    std::vector<int64_t> ends(scales.size == 1 ? 0 : dims.size(), 1);
    if (scales.size > 1) ends[static_cast<size_t>(axis)] = static_cast<int64_t>(scales.size);
    const std::string stored = graph_.unused_name(name + "/values");
    graph_.add_constant(stored, OnnxTensor::FLOAT, dims, values.data(), values.size() * sizeof(float));
    add_fake_quantize(name, stored, name, is_whole ? 256 : 255, ends, low, high);
  }
}

void Quantizers::add_wide_codes(const std::string& name, const std::vector<int64_t>& dims,
                                const std::vector<int16_t>& codes, float scale) {
  if (form_ == OnnxForm::kFakeQuantize) {
    std::vector<float> values(codes.size());
    for (size_t i = 0; i < codes.size(); ++i) values[i] = scale * static_cast<float>(codes[i]);
    const std::string stored = graph_.unused_name(name + "/values");
    add_floats(stored, dims, values);
    return add_fake_quantize(name, stored, name, 65536, {}, {scale * -32768.0f}, {scale * 32767.0f});
  }
  const std::string stored = graph_.unused_name(name + "/s16"), step = graph_.unused_name(name + "/scale");
  graph_.add_constant(stored, OnnxTensor::INT16, dims, codes.data(), codes.size() * sizeof(int16_t));
  add_float(step, scale);
  graph_.add_node("DequantizeLinear", name + "/dequantize", {stored, step}, name);
}

void Quantizers::add_bias(const std::string& name, Span<const int32_t> codes,
                          const std::vector<float>& scales) {
  if (form_ == OnnxForm::kFakeQuantize) {
    std::vector<float> values(codes.size);
    for (size_t c = 0; c < codes.size; ++c)
      values[c] = static_cast<float>(static_cast<double>(codes[c]) * scales[scales.size() == 1 ? 0 : c]);
    return add_floats(name, {static_cast<int64_t>(codes.size)}, values);
  }
  const std::string stored = graph_.unused_name(name + "/s32"), scale = graph_.unused_name(name + "/scale");
  graph_.add_constant(stored, OnnxTensor::INT32, {static_cast<int64_t>(codes.size)}, codes.data,
                      codes.size * sizeof(int32_t));
  graph_.add_constant(scale, OnnxTensor::FLOAT, list_dims(scales.size()), scales.data(),
                      scales.size() * sizeof(float));
  OnnxNode& made = graph_.add_node("DequantizeLinear", name + "/dequantize", {stored, scale}, name);
  if (scales.size() > 1) set_attribute(made, "axis", 0);
}

void Quantizers::add_rounding(const std::string& value, const std::string& rounded,
                              const ActivationGrid& grid) {
  const auto real = [&](int32_t code) { return grid.scale * static_cast<float>(code - grid.zero_point); };
  std::string bounded = value;
  if (grid.lo > grid.least || grid.hi < grid.most) {
    bounded = graph_.unused_name(value + "/bounded");
    const std::string low = graph_.unused_name(bounded + "/low"),
                      high = graph_.unused_name(bounded + "/high");
    add_float(low, real(grid.lo));
    add_float(high, real(grid.hi));
    graph_.add_node("Clip", bounded + "/clip", {value, low, high}, bounded);
  }
  if (form_ == OnnxForm::kFakeQuantize) {
    return add_fake_quantize(rounded, bounded, rounded, grid.most - grid.least + 1, {}, {real(grid.least)},
                             {real(grid.most)});
  }
  const bool is_wide = grid.most > 127;
  const std::string scale = graph_.unused_name(value + "/scale"),
                    zero = graph_.unused_name(value + "/zero_point"),
                    codes = graph_.unused_name(value + (is_wide ? "/s16" : "/s8"));
  const auto narrow = static_cast<int8_t>(grid.zero_point);
  const auto wide = static_cast<int16_t>(grid.zero_point);
  add_float(scale, grid.scale);
  if (is_wide)
    graph_.add_constant(zero, OnnxTensor::INT16, {}, &wide, sizeof wide);
  else
    graph_.add_constant(zero, OnnxTensor::INT8, {}, &narrow, sizeof narrow);
  graph_.add_node("QuantizeLinear", codes + "/quantize", {bounded, scale, zero}, codes);
  graph_.add_node("DequantizeLinear", rounded + "/dequantize", {codes, scale, zero}, rounded);
}

namespace {

// A dequantized value's codes, scale and zero point, as names.
struct Codes {
  std::string codes, scale, zero;
};

class Rewriter {
 public:
  explicit Rewriter(OnnxGraph& graph) : graph_(graph) {}

  void run() {
    for (OnnxNode* const node : graph_.nodes()) {
      if (node->output.count() != 1 || node->input.count() == 0 || !node->domain.empty()) continue;
      std::vector<OnnxNode*> bounds;
      OnnxNode* const quantizer = quantizer_behind(node->output[0], bounds);
      if (quantizer != nullptr) rewrite(*node, bounds, *quantizer);
    }
  }

 private:
  // The number of a constant that holds one: a float, or a code.
  template <typename T>
  std::optional<T> number(const std::string& value) const {
    constexpr auto kType = std::is_same_v<T, float> ? OnnxTensor::FLOAT : OnnxTensor::INT8;
    const OnnxTensor* const constant = graph_.constant(value);
    if (constant == nullptr || constant->data_type != kType) return std::nullopt;
    const auto bytes = constant->raw_data.view();
    if (bytes.size() != sizeof(T)) return std::nullopt;
    T found;
    std::memcpy(&found, bytes.data(), sizeof found);
    return found;
  }

  // Operators of codes take 8 bits.
  bool is_int8(const std::string& zero) const {
    const OnnxTensor* const constant = graph_.constant(zero);
    return constant != nullptr && constant->data_type == OnnxTensor::INT8;
  }

  std::optional<Codes> codes_of(const std::string& value) const {
    const OnnxNode* const writer = graph_.writer(value);
    if (writer == nullptr || writer->op_type != "DequantizeLinear" || writer->input.count() != 3 ||
        !is_int8(writer->input[2]))
      return std::nullopt;
    return Codes{writer->input[0], writer->input[1], writer->input[2]};
  }

  // The one reader of this value, through bounds at which its codes saturate; nullptr: none.
  OnnxNode* quantizer_behind(const std::string& value, std::vector<OnnxNode*>& bounds) const {
    constexpr size_t kMostBounds = 8;
    const std::vector<OnnxUse> uses = graph_.uses(value);
    if (uses.size() != 1 || graph_.is_output(value) || uses[0].input != 0) return nullptr;
    OnnxNode* const reader = uses[0].node;
    if (reader->op_type == "QuantizeLinear" && reader->input.count() == 3)
      return is_int8(reader->input[2]) ? reader : nullptr;
    const bool is_bound = reader->op_type == "Relu" || reader->op_type == "Clip";
    if (!is_bound || reader->output.count() != 1 || bounds.size() == kMostBounds) return nullptr;
    bounds.push_back(reader);
    OnnxNode* const quantizer = quantizer_behind(reader->output[0], bounds);
    return quantizer != nullptr && saturates(*reader, *quantizer) ? quantizer : nullptr;
  }

  bool saturates(const OnnxNode& bound, const OnnxNode& quantizer) const {
    const auto scale = number<float>(quantizer.input[1]);
    const auto zero = number<int8_t>(quantizer.input[2]);
    if (!scale || !zero) return false;
    const auto code = [&](float real) { return std::nearbyint(real / *scale) + static_cast<float>(*zero); };
    if (bound.op_type == "Relu") return *zero == -128;
    const bool has_low = bound.input.count() > 1 && !bound.input[1].empty(),
               has_high = bound.input.count() > 2 && !bound.input[2].empty();
    const auto low = has_low ? number<float>(bound.input[1]) : -INFINITY;
    const auto high = has_high ? number<float>(bound.input[2]) : INFINITY;
    return bound.input.count() > 1 && low && high && code(*low) <= -128.0f && code(*high) >= 127.0f;
  }

  void rewrite(OnnxNode& node, const std::vector<OnnxNode*>& bounds, OnnxNode& quantizer) {
    const std::string& op = node.op_type;
    if (op == "Conv" || op == "Gemm") return layer(node, bounds, quantizer);
    if (op == "MatMul") return product(node, bounds, quantizer);
    if (op == "Concat") return several(node, bounds, quantizer, kCodeOperatorsDomain, true);
    for (const char* const known : {"Add", "Mul", "GlobalAveragePool", "AveragePool", "LeakyRelu", "Sigmoid"})
      if (op == known) return several(node, bounds, quantizer, kCodeOperatorsDomain, false);
    for (const char* const mover :
         {"MaxPool", "Reshape", "Transpose", "Slice"})
      if (op == mover && bounds.empty()) return move(node, quantizer);
  }

  // Whether two constants hold the same.
  bool equal(const std::string& a, const std::string& b) const {
    const OnnxTensor *const first = graph_.constant(a), *const second = graph_.constant(b);
    return first != nullptr && second != nullptr && first->data_type == second->data_type &&
           first->raw_data.view() == second->raw_data.view();
  }

  void move(OnnxNode& node, OnnxNode& quantizer) {
    const auto x = codes_of(node.input[0]);
    if (!x || !equal(x->scale, quantizer.input[1]) || !equal(x->zero, quantizer.input[2])) return;
    const std::string codes = quantizer.output[0];
    graph_.set_input(node, 0, x->codes);
    graph_.remove(quantizer);
    graph_.rename_output(node, node.output[0], codes);
  }

  void layer(OnnxNode& node, const std::vector<OnnxNode*>& bounds, OnnxNode& quantizer) {
    if (node.input.count() < 2) return;
    const auto x = codes_of(node.input[0]), w = codes_of(node.input[1]);
    if (!x || !w || graph_.constant(w->codes) == nullptr) return;
    std::string bias;
    if (node.input.count() > 2 && !node.input[2].empty()) {
      const OnnxNode* const writer = graph_.writer(node.input[2]);
      const OnnxTensor* const codes = writer == nullptr || writer->op_type != "DequantizeLinear"
                                          ? nullptr
                                          : graph_.constant(writer->input[0]);
      if (codes == nullptr || codes->data_type != OnnxTensor::INT32) return;
      bias = writer->input[0];
    }
    std::vector<std::string> inputs{x->codes, x->scale, x->zero, w->codes, w->scale, w->zero};
    const bool is_conv = node.op_type == "Conv";
    if (!is_conv) inputs.push_back(bias);
    inputs.insert(inputs.end(), {quantizer.input[1], quantizer.input[2]});
    if (is_conv && !bias.empty()) inputs.push_back(bias);
    replace(node, bounds, quantizer, is_conv ? "QLinearConv" : "QGemm", is_conv ? "" : kCodeOperatorsDomain,
            inputs);
  }

  // Several scales of the second operand are one for each column, which only a matrix has.
  void product(OnnxNode& node, const std::vector<OnnxNode*>& bounds, OnnxNode& quantizer) {
    const auto w = node.input.count() > 1 ? codes_of(node.input[1]) : std::nullopt;
    if (!w) return;
    const OnnxTensor *const codes = graph_.constant(w->codes), *const scales = graph_.constant(w->scale);
    const bool is_matrix = codes != nullptr && codes->dims.count() == 2;
    const bool has_one_scale = scales != nullptr && scales->raw_data.size() == sizeof(float);
    if (is_matrix || has_one_scale) several(node, bounds, quantizer, "", false);
  }

  // QLinear and the operator's name. Operands as codes, scale and zero point each; the output's come last, or first.
  void several(OnnxNode& node, const std::vector<OnnxNode*>& bounds, OnnxNode& quantizer, const char* domain,
               bool output_first) {
    std::vector<std::string> inputs;
    const std::vector<std::string> output{quantizer.input[1], quantizer.input[2]};
    if (output_first) inputs = output;
    for (const std::string& value : node.input) {
      const auto x = codes_of(value);
      if (!x) return;
      inputs.insert(inputs.end(), {x->codes, x->scale, x->zero});
    }
    if (!output_first) inputs.insert(inputs.end(), output.begin(), output.end());
    replace(node, bounds, quantizer, "QLinear" + node.op_type, domain, inputs);
  }

  void replace(OnnxNode& node, const std::vector<OnnxNode*>& bounds, OnnxNode& quantizer,
               const std::string& op, const char* domain, const std::vector<std::string>& inputs) {
    const std::string name = node.name, codes = quantizer.output[0];
    const auto attributes = node.attribute;
    graph_.remove(quantizer);
    for (OnnxNode* const bound : bounds) graph_.remove(*bound);
    graph_.remove(node);
    OnnxNode& made = graph_.add_node(op, name, inputs, codes);
    made.domain = domain;
    made.attribute = attributes;
  }

  OnnxGraph& graph_;
};

}  // namespace

void to_qoperators(OnnxGraph& graph) { Rewriter(graph).run(); }

}  // namespace intaglio::exporters
