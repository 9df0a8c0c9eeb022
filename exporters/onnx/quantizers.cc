#include "exporters/onnx/quantizers.h"

#include <algorithm>

namespace intaglio::exporters {
namespace {

// Of one scale a scalar.
std::vector<int64_t> list_dims(size_t count) {
  return count == 1 ? std::vector<int64_t>{} : std::vector<int64_t>{static_cast<int64_t>(count)};
}

constexpr const char* kFakeQuantizeDomain = "org.openvinotoolkit";

}  // namespace

std::string Quantizers::constant_name(OnnxNode& node, int input, const std::string& wanted) {
  graph_.set_input(node, input, "");
  graph_.release_constant(wanted);
  return graph_.unused_name(wanted);
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

void Quantizers::set_codes(OnnxNode& node, int input, const std::string& wanted,
                           const std::vector<int64_t>& dims, const std::vector<int8_t>& codes,
                           Span<const float> scales, int32_t axis, int32_t zero_point) {
  const std::string name = constant_name(node, input, wanted);
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
  graph_.set_input(node, input, name);
}

void Quantizers::set_bias(OnnxNode& node, int input, const std::string& wanted, Span<const int32_t> codes,
                          const std::vector<float>& scales) {
  if (form_ == OnnxForm::kFakeQuantize) {
    std::vector<float> values(codes.size);
    for (size_t c = 0; c < codes.size; ++c)
      values[c] = static_cast<float>(static_cast<double>(codes[c]) * scales[scales.size() == 1 ? 0 : c]);
    return set_floats(node, input, wanted, {static_cast<int64_t>(codes.size)}, values);
  }
  const std::string name = constant_name(node, input, wanted);
  const std::string stored = graph_.unused_name(name + "/s32"), scale = graph_.unused_name(name + "/scale");
  graph_.add_constant(stored, OnnxTensor::INT32, {static_cast<int64_t>(codes.size)}, codes.data,
                      codes.size * sizeof(int32_t));
  graph_.add_constant(scale, OnnxTensor::FLOAT, list_dims(scales.size()), scales.data(),
                      scales.size() * sizeof(float));
  OnnxNode& made = graph_.add_node("DequantizeLinear", name + "/dequantize", {stored, scale}, name);
  if (scales.size() > 1) set_attribute(made, "axis", 0);
  graph_.set_input(node, input, name);
}

void Quantizers::set_floats(OnnxNode& node, int input, const std::string& wanted,
                            const std::vector<int64_t>& dims, const std::vector<float>& values) {
  const std::string name = constant_name(node, input, wanted);
  graph_.add_constant(name, OnnxTensor::FLOAT, dims, values.data(), values.size() * sizeof(float));
  graph_.set_input(node, input, name);
}

std::string Quantizers::add_rounding(const std::string& value, const std::string& name,
                                     const ActivationGrid& grid) {
  std::string rounded = graph_.unused_name(name);
  if (form_ == OnnxForm::kFakeQuantize) {
    add_fake_quantize(rounded, value, rounded, 256, {},
                      {grid.scale * static_cast<float>(-128 - grid.zero_point)},
                      {grid.scale * static_cast<float>(127 - grid.zero_point)});
    return rounded;
  }
  const std::string scale = graph_.unused_name(value + "/scale"),
                    zero = graph_.unused_name(value + "/zero_point"),
                    codes = graph_.unused_name(value + "/s8");
  const auto zero_point = static_cast<int8_t>(grid.zero_point);
  add_float(scale, grid.scale);
  graph_.add_constant(zero, OnnxTensor::INT8, {}, &zero_point, 1);
  graph_.add_node("QuantizeLinear", codes + "/quantize", {value, scale, zero}, codes);
  graph_.add_node("DequantizeLinear", rounded + "/dequantize", {codes, scale, zero}, rounded);
  return rounded;
}

std::string Quantizers::round(const std::string& value, const ActivationGrid& grid,
                              const std::function<bool(const OnnxUse&)>& takes, bool rounds_output) {
  OnnxNode* const writer =
      graph_.writer(value);  // none: an input, which keeps its values also where it is an output
  if (rounds_output && writer != nullptr && graph_.is_output(value)) {
    // The network's output keeps its name, and its readers.
    const std::string real = graph_.unused_name(value + "/real");
    graph_.rename_output(*writer, value, real);
    return add_rounding(real, value, grid);
  }
  const std::vector<OnnxUse> uses = graph_.uses(value);
  std::string rounded = add_rounding(value, value + "/rounded", grid);
  for (const OnnxUse& use : uses)
    if (takes(use)) graph_.set_input(*use.node, use.input, rounded);
  return rounded;
}

}  // namespace intaglio::exporters
