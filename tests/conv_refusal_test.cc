// Refusals of plan() of the operators with weights, each with its own status and place.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/support/model_builder.h"

namespace intaglio::test::conv_refusal_test {
namespace {

// A small convolution that is right; a test spoils one thing.
struct Parts {
  Op op = Op::kConv2d;
  DType dtype = DType::kS8;
  std::vector<int32_t> x_dims = {1, 4, 4, 4}, w_dims = {6, 3, 3, 4}, y_dims = {1, 4, 4, 6},
                       r_dims = {1, 4, 4, 6};
  DType x_dtype = DType::kS8, bias_dtype = DType::kS32;
  float x_scale = 0.05f, y_scale = 0.1f, r_scale = 0.1f;
  int32_t x_zero_point = 3;
  std::vector<int8_t> w = std::vector<int8_t>(216, 1);
  std::vector<float> w_f32 = std::vector<float>(216, 1.0f);
  std::vector<float> w_scales = std::vector<float>(6, 0.01f);
  int32_t w_axis = 0, w_zero_point = 0;
  std::vector<int32_t> bias = std::vector<int32_t>(6, 100);
  std::vector<float> bias_f32 = std::vector<float>(6, 1.0f);
  bool constant_weights = true, residual = false;
  bool real_output = false;  // an int8 layer whose sums leave in FP32
  std::function<void(NodeOptions&)> options = [](NodeOptions&) {};

  Parts() = default;
  explicit Parts(DType type) : dtype(type) {
    if (type == DType::kF32) x_dtype = DType::kF32, bias_dtype = DType::kF32;
  }
};

Error error_of(const Parts& p) {
  ModelBuilder b;
  const bool s8 = p.dtype == DType::kS8;
  const int32_t x =
      b.tensor("x", p.x_dtype, p.x_dims, p.x_dtype == DType::kS8 ? p.x_scale : 0.0f, p.x_zero_point);
  int32_t w, bias;
  if (!p.constant_weights) {
    w = b.tensor("w", p.dtype, p.w_dims, s8 ? 0.01f : 0.0f);
    b.input(w);
  } else if (s8) {
    w = b.constant("w", DType::kS8, p.w_dims, p.w, p.w_scales, p.w_axis);
    b.graph().tensors[static_cast<size_t>(w)].quantization.zero_point = p.w_zero_point;
  } else {
    w = b.constant("w", DType::kF32, p.w_dims, p.w_f32);
  }
  const auto length = static_cast<int32_t>(p.bias.size());
  if (p.bias_dtype == DType::kS32)
    bias = b.constant("b", DType::kS32, {length}, p.bias);
  else
    bias = b.constant("b", DType::kF32, {length}, p.bias_f32);
  const int32_t y = p.real_output ? b.tensor("y", DType::kF32, p.y_dims)
                                  : b.tensor("y", p.dtype, p.y_dims, s8 ? p.y_scale : 0.0f);
  std::vector<int32_t> inputs = {x, w, bias};
  if (p.residual) {
    inputs.push_back(b.tensor("r", p.dtype, p.r_dims, s8 ? p.r_scale : 0.0f));
    b.input(inputs.back());
  }
  GraphNode& node = b.node(p.op, inputs, {y});
  if (auto* const window = node.options.get<Window2d>()) *window = {3, 3, 1, 1, 1, 1, 1, 1, 1, 1, false};
  auto* const intermediate = node.options.get<Intermediate>();
  if (p.residual && intermediate != nullptr) intermediate->scale = 0.1f;
  p.options(node.options);
  b.input(x);
  b.output(y);
  RunningModel model(b.finish());
  return model.error();
}

Status status_with(const std::function<void(Parts&)>& spoil, DType dtype = DType::kS8) {
  Parts p(dtype);
  spoil(p);
  return error_of(p).status;
}

Status status_with_option(const std::function<void(NodeOptions&)>& spoil, bool residual = false,
                          DType dtype = DType::kS8) {
  Parts p(dtype);
  p.residual = residual;
  p.options = spoil;
  return error_of(p).status;
}

}  // namespace

TEST_CASE("what is right passes") {
  CHECK(status_with([](Parts&) {}) == Status::kOk);
  CHECK(status_with([](Parts&) {}, DType::kF32) == Status::kOk);
  CHECK(status_with([](Parts& p) { p.residual = true; }) == Status::kOk);
  CHECK(status_with([](Parts& p) { p.residual = true; }, DType::kF32) == Status::kOk);
  CHECK(status_with([](Parts& p) { p.w_scales = {0.01f}, p.w_axis = -1; }) == Status::kOk);
}

TEST_CASE("shapes") {
  CHECK(status_with([](Parts& p) { p.x_dims = {1, 16, 4}; }) == Status::kBadRank);
  CHECK(status_with([](Parts& p) { p.w_dims = {6, 36}; }) == Status::kBadRank);
  CHECK(status_with([](Parts& p) { p.y_dims = {1, 16, 6}; }) == Status::kBadRank);
  CHECK(status_with([](Parts& p) { p.x_dims = {1, 4, 4, 5}; }) == Status::kShapeMismatch);
  CHECK(status_with([](Parts& p) { p.y_dims = {2, 4, 4, 6}; }) == Status::kShapeMismatch);
  CHECK(status_with([](Parts& p) { p.y_dims = {1, 4, 3, 6}; }) == Status::kShapeMismatch);
  CHECK(status_with([](Parts& p) { p.y_dims = {1, 4, 4, 5}; }) == Status::kShapeMismatch);
  CHECK(status_with([](Parts& p) { p.bias.resize(5); }) == Status::kShapeMismatch);
  CHECK(status_with([](Parts& p) { p.residual = true, p.r_dims = {1, 4, 4, 5}; }) == Status::kShapeMismatch);
}

TEST_CASE("types and constants") {
  CHECK(status_with([](Parts& p) { p.x_dtype = DType::kF32; }) == Status::kBadDType);
  CHECK(status_with([](Parts& p) { p.bias_dtype = DType::kF32; }) == Status::kBadDType);
  CHECK(status_with([](Parts& p) { p.bias_dtype = DType::kS32; }, DType::kF32) == Status::kBadDType);
  CHECK(status_with([](Parts& p) { p.constant_weights = false; }) == Status::kConstantExpected);
  CHECK(status_with([](Parts& p) { p.constant_weights = false; }, DType::kF32) == Status::kConstantExpected);
}

TEST_CASE("attributes") {
  CHECK(status_with_option([](NodeOptions& o) { o.as<Window2d>().stride_h = 0; }) == Status::kBadStride);
  CHECK(status_with_option([](NodeOptions& o) { o.as<Window2d>().dilation_w = 0; }) == Status::kBadDilation);
  CHECK(status_with_option([](NodeOptions& o) { o.as<Window2d>().pad_top = 3; }) == Status::kBadPadding);
  CHECK(status_with_option([](NodeOptions& o) { o.as<Window2d>().kernel_h = 2; }) == Status::kShapeMismatch);
  for (const int32_t groups : {0, -1, 3, 4}) {
    CAPTURE(groups);
    CHECK(status_with_option([&](NodeOptions& o) { o.as<Conv2dOptions>().groups = groups; }) ==
          Status::kBadGroups);
  }
  CHECK(status_with_option([](NodeOptions& o) { o.as<Conv2dOptions>().groups = 2; }) ==
        Status::kShapeMismatch);
  CHECK(status_with_option([](NodeOptions& o) { o.as<Clamp>().lo = 5, o.as<Clamp>().hi = 4; }) ==
        Status::kBadClamp);
  CHECK(status_with_option([](NodeOptions& o) { o.as<Clamp>().hi = 128; }) == Status::kBadClamp);
  CHECK(
      status_with_option([](NodeOptions& o) { o.as<Clamp>().min = std::numeric_limits<float>::quiet_NaN(); },
                         false, DType::kF32) == Status::kBadClamp);
  CHECK(status_with_option([](NodeOptions& o) { o.as<Clamp>().min = 2.0f, o.as<Clamp>().max = 1.0f; }, false,
                           DType::kF32) == Status::kBadClamp);
}

TEST_CASE("quantization") {
  CHECK(status_with([](Parts& p) { p.w_scales.resize(5); }) != Status::kOk);
  CHECK(status_with([](Parts& p) { p.w_axis = 1, p.w_scales.resize(3); }) == Status::kBadQuantizationAxis);
  CHECK(status_with([](Parts& p) { p.w_scales.clear(); }) == Status::kQuantizationMissing);
  CHECK(status_with([](Parts& p) { p.w_zero_point = 1; }) == Status::kBadZeroPoint);
  CHECK(status_with([](Parts& p) { p.residual = true, p.r_scale = 0x1p20f; }) == Status::kScaleRatio);
  CHECK(status_with_option([](NodeOptions& o) { o.as<Intermediate>().scale = 0.0f; }, true) ==
        Status::kBadScale);
  CHECK(status_with_option([](NodeOptions& o) { o.as<Intermediate>().zero_point = 128; }, true) ==
        Status::kBadZeroPoint);
}

TEST_CASE("accumulators are proved, channel by channel") {
  // 36 weights of 1 leave 255 * 36 of room below 2^31 - 1.
  const int32_t most = INT32_MAX - 255 * 36;
  CHECK(status_with([&](Parts& p) { p.bias[4] = most; }) == Status::kOk);
  Parts p;
  p.bias[4] = most + 1;
  const Error over = error_of(p);
  CHECK(over.status == Status::kAccumulatorOverflow);
  CHECK(over.value == 4);
  p.bias[4] = INT32_MIN;
  CHECK(error_of(p).status == Status::kAccumulatorOverflow);
}

TEST_CASE("a stored multiplier or folded bias that is not the one") {
  // Channel 2 of each; the rest is what the writer would store. In float, as the contract says.
  const std::vector<float> multiplier(6, 0.05f * 0.01f / 0.1f);
  const std::vector<int32_t> folded(6, 100 - 3 * 36);
  const auto status = [&](std::vector<float> m, std::vector<int32_t> f) {
    return status_with_option([&](NodeOptions& o) {
      o.as<Requantization>().multiplier = {m.data(), m.size()};
      o.as<Requantization>().folded_bias = {f.data(), f.size()};
    });
  };
  CHECK(status(multiplier, folded) == Status::kOk);
  std::vector<float> other = multiplier;
  other[2] = std::nextafter(other[2], 1.0f);
  CHECK(status(other, folded) == Status::kBadMultiplier);
  std::vector<int32_t> wrong = folded;
  wrong[2] += 1;
  CHECK(status(multiplier, wrong) == Status::kBadFoldedBias);
  wrong.pop_back();
  CHECK(status(multiplier, wrong) == Status::kShapeMismatch);
  CHECK(status(multiplier, {}) == Status::kMissingField);
}

TEST_CASE("FP32 weights and bias are finite") {
  for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()}) {
    Parts p(DType::kF32);
    p.w_f32[36 * 5] = bad;
    Error error = error_of(p);
    CHECK(error.status == Status::kNonFinite);
    CHECK(error.value == 5);
    p = Parts(DType::kF32);
    p.bias_f32[3] = bad;
    error = error_of(p);
    CHECK(error.status == Status::kNonFinite);
    CHECK(error.value == 3);
  }
}

TEST_CASE("depthwise and fully connected shapes") {
  const auto depthwise = [](Parts& p) {
    p.op = Op::kDepthwiseConv2d;
    p.w_dims = {3, 3, 8};
    p.w.resize(72);
    p.y_dims = {1, 4, 4, 8};
    p.w_axis = 2;
    p.w_scales.resize(8, 0.01f);
    p.bias.resize(8);
  };
  CHECK(status_with(depthwise) == Status::kOk);
  CHECK(status_with([&](Parts& p) { depthwise(p), p.x_dims[3] = 3; }) == Status::kShapeMismatch);
  CHECK(status_with([&](Parts& p) { depthwise(p), p.x_dims[3] = 16; }) == Status::kShapeMismatch);
  CHECK(status_with([&](Parts& p) { depthwise(p), p.w_dims = {9, 8}, p.w_axis = 1; }) == Status::kBadRank);
  CHECK(status_with([&](Parts& p) { depthwise(p), p.residual = true; }) == Status::kInputCount);
  const auto connected = [](Parts& p) {
    p.op = Op::kFullyConnected;
    p.x_dims = {2, 3, 12};
    p.w_dims = {6, 36};
    p.y_dims = {2, 6};
  };
  CHECK(status_with(connected) == Status::kOk);
  CHECK(status_with([&](Parts& p) { connected(p), p.x_dims = {2, 35}; }) == Status::kShapeMismatch);
  CHECK(status_with([&](Parts& p) { connected(p), p.x_dims = {72}; }) == Status::kBadRank);
  CHECK(status_with([&](Parts& p) { connected(p), p.y_dims = {3, 6}; }) == Status::kShapeMismatch);
  CHECK(status_with([&](Parts& p) { connected(p), p.y_dims = {2, 7}; }) == Status::kShapeMismatch);
  CHECK(status_with([&](Parts& p) { connected(p), p.y_dims = {12}; }) == Status::kBadRank);
}

TEST_CASE("a fully connected layer from int8 to FP32") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto status = [](const std::function<void(Parts&)>& spoil) {
    return status_with([&](Parts& p) {
      p.op = Op::kFullyConnected;
      p.x_dims = {2, 36};
      p.w_dims = {6, 36};
      p.y_dims = {2, 6};
      p.real_output = true;
      spoil(p);
    });
  };
  const auto with_option = [&](const std::function<void(NodeOptions&)>& spoil) {
    return status([&](Parts& p) { p.options = spoil; });
  };
  CHECK(status([](Parts&) {}) == Status::kOk);
  CHECK(status([](Parts& p) { p.w_scales = {0.01f}, p.w_axis = -1; }) == Status::kOk);
  CHECK(with_option([](NodeOptions& o) { o.as<Clamp>().min = 0.0f; }) == Status::kBadClamp);
  CHECK(with_option([](NodeOptions& o) { o.as<Clamp>().max = 6.0f; }) == Status::kBadClamp);
  CHECK(with_option([](NodeOptions& o) { o.as<Clamp>().max = -kInfinity; }) == Status::kBadClamp);
  CHECK(with_option([](NodeOptions& o) { o.as<Clamp>().min = std::nanf(""); }) == Status::kBadClamp);
  CHECK(with_option([](NodeOptions& o) {
          static const std::vector<float> doubled(6, 0.05f * 0.01f * 2);
          static const std::vector<int32_t> folded(6, 100 - 3 * 36);
          o.as<Requantization>().multiplier = {doubled.data(), doubled.size()};
          o.as<Requantization>().folded_bias = {folded.data(), folded.size()};
        }) == Status::kBadMultiplier);
  CHECK(status([](Parts& p) { p.x_dtype = DType::kF32; }) == Status::kBadDType);
  CHECK(status([](Parts& p) { p.x_scale = 0.0f; }) == Status::kQuantizationMissing);
  CHECK(status([](Parts& p) { p.w_scales.pop_back(); }) == Status::kScaleCount);
  CHECK(status([](Parts& p) { p.bias_dtype = DType::kF32; }) == Status::kBadDType);
  CHECK(status([](Parts& p) { p.constant_weights = false; }) == Status::kConstantExpected);
  CHECK(status([](Parts& p) { p.bias[4] = INT32_MAX; }) == Status::kAccumulatorOverflow);
  CHECK(status([](Parts& p) { p.residual = true; }) == Status::kInputCount);
  CHECK(status([](Parts& p) { p.x_dims = {2, 35}; }) == Status::kShapeMismatch);
  CHECK(status([](Parts& p) { p.y_dims = {3, 6}; }) == Status::kShapeMismatch);
}

TEST_CASE("a convolution from int8 to FP32") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto status = [](const std::function<void(Parts&)>& spoil) {
    return status_with([&](Parts& p) {
      p.real_output = true;
      spoil(p);
    });
  };
  const auto with_clamp = [&](float least, float most) {
    return status([&](Parts& p) {
      p.options = [=](NodeOptions& o) {
        o.as<Clamp>().min = least;
        o.as<Clamp>().max = most;
      };
    });
  };
  CHECK(status([](Parts&) {}) == Status::kOk);
  CHECK(with_clamp(0.0f, 6.0f) == Status::kOk);
  CHECK(with_clamp(0.0f, kInfinity) == Status::kOk);
  CHECK(with_clamp(6.0f, 0.0f) == Status::kBadClamp);
  CHECK(with_clamp(std::nanf(""), 6.0f) == Status::kBadClamp);
  CHECK(status([](Parts& p) { p.residual = true; }) == Status::kInputCount);
  CHECK(status([](Parts& p) { p.x_dtype = DType::kF32; }) == Status::kBadDType);
  CHECK(status([](Parts& p) { p.x_scale = 0.0f; }) == Status::kQuantizationMissing);
  CHECK(status([](Parts& p) { p.w_scales.pop_back(); }) == Status::kScaleCount);
  CHECK(status([](Parts& p) { p.bias_dtype = DType::kF32; }) == Status::kBadDType);
  CHECK(status([](Parts& p) { p.constant_weights = false; }) == Status::kConstantExpected);
  CHECK(status([](Parts& p) { p.bias[4] = INT32_MAX; }) == Status::kAccumulatorOverflow);
}

}  // namespace intaglio::test::conv_refusal_test
