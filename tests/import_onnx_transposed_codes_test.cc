// ConvTranspose between QuantizeLinear and DequantizeLinear, compared with its definition. Scales are powers of two, so that
// the definition's sums are exact.
#include <cmath>

#include "tests/support/imported.h"
#include "tests/support/quantized_onnx.h"

namespace intaglio::test::import_onnx_transposed_codes_test {
namespace {

struct Form {
  const char* name;
  int64_t rank;  // axes of the window
  int64_t channels, each, groups;
  int64_t kernel, stride, pad, extra;
  int64_t axis;  // of the weights' scales; -1: one
  bool has_bias, is_relu;
};

constexpr Form kForms[] = {
    {"stride 2, kernel 2", 2, 4, 6, 1, 2, 2, 0, 0, -1, true, false},
    {"a scale a channel", 2, 4, 6, 1, 2, 2, 0, 0, 1, false, false},
    {"kernel 4 with pads and a Relu", 2, 4, 6, 1, 4, 2, 1, 0, 1, true, true},
    {"output padding", 2, 3, 5, 1, 3, 2, 1, 1, 1, true, false},
    {"stride 1", 2, 4, 6, 1, 3, 1, 1, 0, 1, true, false},
    {"groups", 2, 4, 3, 2, 3, 2, 1, 0, 1, true, false},
    {"depthwise", 2, 4, 1, 4, 3, 2, 1, 1, 0, true, false},
    {"depthwise of stride 1", 2, 4, 1, 4, 3, 1, 0, 0, -1, false, false},
    {"depthwise, two of each", 2, 4, 2, 4, 2, 2, 0, 0, 0, true, false},
    {"a line", 1, 4, 6, 1, 4, 2, 1, 0, 1, true, false},
    {"a line of groups", 1, 4, 2, 2, 3, 3, 0, 2, -1, false, false},
};

constexpr int64_t kSize = 5;
constexpr float kIn = 0.5f, kOut = 4.0f;

int64_t power(int64_t base, int64_t exponent) { return exponent == 0 ? 1 : base * power(base, exponent - 1); }

float scale_of(const Form& form, int64_t c, int64_t o) {
  const int64_t channel = form.axis == 0 ? c : o;
  return std::ldexp(1.0f, form.axis < 0 ? -4 : -3 - static_cast<int>(channel % 3));
}

struct Data {
  std::vector<float> x, bias;
  std::vector<int32_t> codes;
};

int64_t out_size(const Form& f) { return (kSize - 1) * f.stride + f.kernel - 2 * f.pad + f.extra; }

// The file's result [oc, out, out], rounded to its codes.
std::vector<float> expected(const Form& f, const Data& data) {
  const int64_t out = out_size(f), rows = f.rank == 2 ? kSize : 1, taps = f.rank == 2 ? f.kernel : 1;
  const int64_t out_rows = f.rank == 2 ? out : 1, depth = f.channels / f.groups;
  std::vector<double> sums(static_cast<size_t>(f.each * f.groups * out_rows * out), 0.0);
  for (int64_t c = 0; c < f.channels; ++c)
    for (int64_t o = 0; o < f.each; ++o)
      for (int64_t i = 0; i < rows * kSize; ++i)
        for (int64_t k = 0; k < taps * f.kernel; ++k) {
          const int64_t row = f.rank == 2 ? i / kSize * f.stride + k / f.kernel - f.pad : 0;
          const int64_t column = i % kSize * f.stride + k % f.kernel - f.pad;
          if (row < 0 || row >= out_rows || column < 0 || column >= out) continue;
          const int64_t oc = c / depth * f.each + o;
          const auto weight = static_cast<size_t>((c * f.each + o) * taps * f.kernel + k);
          sums[static_cast<size_t>((oc * out_rows + row) * out + column)] +=
              static_cast<double>(data.x[static_cast<size_t>(c * rows * kSize + i)]) * data.codes[weight] *
              static_cast<double>(scale_of(f, c, o));
        }
  std::vector<float> y;
  for (size_t i = 0; i < sums.size(); ++i) {
    const auto oc = static_cast<int64_t>(i) / (out_rows * out);
    double sum = sums[i] + (f.has_bias ? static_cast<double>(data.bias[static_cast<size_t>(oc)]) : 0.0);
    if (f.is_relu) sum = std::max(sum, 0.0);
    const double code = std::clamp(std::nearbyint(sum / static_cast<double>(kOut)) + 120, 0.0, 255.0);
    y.push_back(static_cast<float>((code - 120) * static_cast<double>(kOut)));
  }
  return y;
}

std::string network(const Form& f, const Data& data) {
  OnnxBuilder file(17);
  std::vector<int64_t> dims{1, f.channels}, kernel{f.channels, f.each};
  for (int64_t i = 0; i < f.rank; ++i) {
    dims.push_back(kSize);
    kernel.push_back(f.kernel);
  }
  file.input("x", dims);
  scale(file, "s", kIn, Type::UINT8, 128);
  scale(file, "t", kOut, Type::UINT8, 120);
  const int64_t count = f.axis < 0 ? 1 : kernel[static_cast<size_t>(f.axis)];
  std::vector<float> scales;
  for (int64_t c = 0; c < count; ++c) scales.push_back(scale_of(f, c, c));
  file.floats("w_s", f.axis < 0 ? std::vector<int64_t>{} : std::vector<int64_t>{count}, scales);
  codes(file, "w_codes", kernel, Type::INT8, data.codes);
  set(file.node("DequantizeLinear", {"w_codes", "w_s"}, "w"), "axis", std::max<int64_t>(f.axis, 0));
  quantize(file, "x", "s", "xd");
  std::vector<std::string> inputs{"xd", "w"};
  if (f.has_bias) {
    file.floats("b", {f.each * f.groups}, data.bias);
    inputs.emplace_back("b");
  }
  auto& node = file.node("ConvTranspose", inputs, "c");
  const auto list = [&](int64_t value, int64_t times) {
    return std::vector<int64_t>(static_cast<size_t>(f.rank * times), value);
  };
  set(node, "group", f.groups);
  set(node, "strides", list(f.stride, 1));
  set(node, "pads", list(f.pad, 2));
  set(node, "output_padding", list(f.extra, 1));
  if (f.is_relu) file.node("Relu", {"c"}, "r");
  quantize(file, f.is_relu ? "r" : "c", "t", "y");
  file.output("y");
  return file.bytes();
}

}  // namespace

TEST_CASE("every form of a quantized transposed convolution computes on codes, to the file's own") {
  Random random(11);
  for (const Form& form : kForms) {
    CAPTURE(form.name);
    Data data;
    for (int64_t i = 0; i < form.channels * power(kSize, form.rank); ++i)
      data.x.push_back(kIn * static_cast<float>(random.between(-100, 100)));
    for (int64_t i = 0; i < form.channels * form.each * power(form.kernel, form.rank); ++i)
      data.codes.push_back(random.between(-127, 127));
    for (int64_t i = 0; i < form.each * form.groups; ++i)
      data.bias.push_back(static_cast<float>(random.between(-20, 20)));
    Import import(network(form, data));
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK_FALSE(import.notes("stay in FP32"));
    int32_t in_codes = 0;
    for (const GraphNode& node : import.graph().nodes) {
      const bool is_layer = node.op == Op::kConv2d || node.op == Op::kDepthwiseConv2d;
      in_codes += is_layer && import.tensor(node.outputs[0]).dtype == DType::kS8;
    }
    CHECK(in_codes == 1);
    std::vector<float> x = data.x;
    if (form.rank == 2)  // pictures come in as NHWC
      for (int64_t i = 0; i < kSize * kSize; ++i)
        for (int64_t c = 0; c < form.channels; ++c)
          x[static_cast<size_t>(i * form.channels + c)] = data.x[static_cast<size_t>(c * kSize * kSize + i)];
    CHECK(run_import<float>(import, x) == expected(form, data));
  }
}

TEST_CASE("a scale for each input channel: the nearest codes of one an output channel, and a note") {
  Random random(12);
  Form form = kForms[0];
  form.axis = 0;
  Data data;
  for (int64_t i = 0; i < form.channels * power(kSize, form.rank); ++i)
    data.x.push_back(kIn * static_cast<float>(random.between(-100, 100)));
  for (int64_t i = 0; i < form.channels * form.each * power(form.kernel, form.rank); ++i)
    data.codes.push_back(random.between(-127, 127));
  data.bias.assign(static_cast<size_t>(form.each), 0.0f);
  Import import(network(form, data));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK_FALSE(import.notes("FP32"));
  CHECK(import.notes("channels hold weights between the codes of one scale a channel"));
  std::vector<float> x = data.x;
  for (int64_t i = 0; i < kSize * kSize; ++i)
    for (int64_t c = 0; c < form.channels; ++c)
      x[static_cast<size_t>(i * form.channels + c)] = data.x[static_cast<size_t>(c * kSize * kSize + i)];
  const std::vector<float> found = run_import<float>(import, x), wanted = expected(form, data);
  REQUIRE(found.size() == wanted.size());
  double signal = 0.0, noise = 0.0;
  for (size_t i = 0; i < found.size(); ++i) {
    signal += static_cast<double>(wanted[i]) * wanted[i];
    noise += static_cast<double>(wanted[i] - found[i]) * (wanted[i] - found[i]);
  }
  CHECK(noise < signal * 1e-3);  // 30 dB
}

}  // namespace intaglio::test::import_onnx_transposed_codes_test
