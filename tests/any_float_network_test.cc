// A network that runs in FP32 calibrates, whatever the sizes of its values: each operator between tensors that are zero,
// tiny, huge, equal, or of sizes far apart. Where the FP32 results are not finite, the tensor is named.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "tests/support/calibrate.h"
#include "tests/support/random.h"
#include "tests/support/run_widths.h"

namespace intaglio::test::any_float_network_test {
namespace {

const Dims kMap = {1, 4, 4, 3};

// x, and `other`: x times `factor` plus `offset`, by a convolution of one tap.
struct Network {
  explicit Network(float factor, float offset = 0.0f) {
    x = b.tensor("x", DType::kF32, kMap);
    b.input(x);
    other = scaled(x, "other", factor, offset);
  }
  int32_t scaled(int32_t from, const std::string& name, float factor, float offset) {
    const int32_t to = b.tensor(name, DType::kF32, kMap);
    std::vector<float> weights(9, 0.0f);
    for (size_t c = 0; c < 3; ++c) weights[4 * c] = factor;
    b.node(Op::kConv2d,
           {from, b.constant<float>(name + "/w", DType::kF32, {3, 1, 1, 3}, weights),
            b.constant<float>(name + "/b", DType::kF32, {3}, std::vector<float>(3, offset))},
           {to});
    return to;
  }
  int32_t binary(Op op, int32_t left, int32_t right, const std::string& name) {
    const int32_t to = b.tensor(name, DType::kF32, kMap);
    b.node(op, {left, right}, {to});
    return to;
  }
  int32_t unary(Op op, int32_t from, const std::string& name) {
    const int32_t to = b.tensor(name, DType::kF32, kMap);
    b.node(op, {from}, {to});
    return to;
  }
  AlignedBytes finish(int32_t last) {
    b.output(last);
    return b.finish();
  }

  ModelBuilder b;
  int32_t x, other;
};

Samples samples_of(float size, size_t count) {
  Random random(9);
  Samples samples;
  for (size_t i = 0; i < count; ++i) samples.push_back(random.reals(elements(kMap), -size, size));
  return samples;
}

// Every output of the FP32 model for every sample, before anything is calibrated.
bool is_finite(const AlignedBytes& file, const Samples& samples) {
  RunningModel fp32{AlignedBytes(file.view())};
  REQUIRE_MESSAGE(fp32.error().ok(), text_of(fp32.error(), &fp32.model()));
  for (const auto& sample : samples) {
    fp32.set_input(sample);
    for (int32_t n = 0; n < fp32.model().node_count(); ++n) {
      fp32.session().run_nodes(n, n + 1);
      for (const int32_t output : fp32.model().node(n).outputs)
        for (const float value : fp32.session().tensor(output).as<float>())
          if (!std::isfinite(value)) return false;
    }
  }
  return true;
}

void check(const AlignedBytes& file, float size, RecoveryMask recover = recovery::kDefault,
           CalibratorOptions options = {}) {
  CAPTURE(size);
  CAPTURE(recover);
  const Samples samples = samples_of(size, 8);
  const Result<Model> model = Model::open(file.view());
  REQUIRE(static_cast<bool>(model));
  options.recover = recover;
  std::string problem;
  try {
    const auto written = calibrate(*model, samples, options);
    CHECK(!written.empty());
  } catch (const std::runtime_error& error) {
    problem = error.what();
  }
  CAPTURE(problem);
  if (is_finite(file, samples))
    CHECK(problem.empty());
  else
    CHECK(problem.find("not finite") != std::string::npos);
}

constexpr float kSizes[] = {0.0f, 1e-38f, 1e-20f, 1e-12f, 1e-3f, 1.0f, 1e6f, 1e12f, 1e18f};

}  // namespace

TEST_CASE("two operands of any sizes") {
  for (const Op op :
       {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kMaximum, Op::kMinimum, Op::kEqual, Op::kLess}) {
    CAPTURE(static_cast<int>(op));
    for (const float factor : {0.0f, 1e-9f, 1.0f, -1.0f, 1e9f}) {
      CAPTURE(factor);
      Network net(factor, op == Op::kDiv ? 3.0f : 0.0f);
      const AlignedBytes file = net.finish(net.binary(op, net.x, net.other, "y"));
      for (const float size : kSizes) check(file, size);
    }
  }
}

TEST_CASE("sums of which nothing is left") {
  for (const Op op : {Op::kAdd, Op::kSub})
    for (const float left : {0.0f, 1e-7f}) {
      CAPTURE(left);
      const auto make = [&] {
        Network net(op == Op::kAdd ? left - 1.0f : 1.0f + left);
        const int32_t sum = net.binary(op, net.x, net.other, "sum");
        const int32_t again = net.binary(Op::kSub, net.unary(Op::kAbs, net.other, "wide"), sum, "again");
        // Nothing is left of these, either; both follow one scale.
        const int32_t both = net.binary(Op::kSub, again, again, "both");
        const int32_t joined = net.b.tensor("joined", DType::kF32, {1, 4, 4, 6});
        net.b.node(Op::kConcat, {sum, both}, {joined}).options.as<ConcatOptions>().axis = 3;
        return net.finish(joined);
      };
      for (const float size : {1e-12f, 1.0f, 1e9f}) {
        check(make(), size);
        check(make(), size, recovery::kAll | recovery::kEqualization);
        CalibratorOptions powers;
        powers.power_of_two = true;
        check(make(), size, recovery::kDefault, powers);
        for (const Compat compat : {Compat::kPpq, Compat::kTengine}) {
          CalibratorOptions like;
          like.compat = compat;
          check(make(), size, recovery::kDefault, like);
        }
      }
    }
}

TEST_CASE("a residual of another size than the convolution") {
  for (const float factor : {0.0f, 1e-9f, -1.0f, 1e9f}) {
    CAPTURE(factor);
    Network net(factor);
    const AlignedBytes file = net.finish(net.binary(Op::kAdd, net.other, net.x, "y"));
    for (const float size : kSizes) check(file, size, recovery::kAll);
  }
}

TEST_CASE("one operand of any size") {
  for (const Op op :
       {Op::kSigmoid, Op::kTanh,     Op::kHardSwish,  Op::kSwish,   Op::kGelu,        Op::kAbs,
        Op::kSqrt,    Op::kRsqrt,    Op::kReciprocal, Op::kLog,     Op::kExp,         Op::kErf,
        Op::kElu,     Op::kSoftplus, Op::kMish,       Op::kSoftmax, Op::kL2Normalize, Op::kReshape,
        Op::kFloor,   Op::kSign,     Op::kSin,        Op::kCos,     Op::kSoftsign}) {
    CAPTURE(static_cast<int>(op));
    for (const float factor : {0.0f, 1e-9f, 1.0f, 1e9f}) {
      CAPTURE(factor);
      Network net(factor);
      const int32_t y = net.unary(op, net.other, "y");
      const AlignedBytes file = net.finish(net.scaled(y, "z", 1.0f, 1.0f));
      for (const float size : kSizes) check(file, size);
    }
  }
}

TEST_CASE("a node that is refused has the name of the user's file") {
  // Scales that the caller gives stay as they are.
  Network net(1.0f);
  const int32_t middle = net.unary(Op::kTanh, net.other, "bent");
  const AlignedBytes file = net.finish(net.binary(Op::kSub, middle, middle, "difference"));
  const Result<Model> model = Model::open(file.view());
  REQUIRE(static_cast<bool>(model));
  KnownParams known[2];
  known[0].tensor = model->node(model->node_count() - 1).outputs[0];
  known[0].scale = 0x1p-30f;
  CalibratorOptions options;
  options.known = {known, 1};
  const int32_t nodes[] = {0};
  options.float_nodes = nodes;  // the int8 model has other nodes than the FP32 model
  std::string problem;
  try {
    calibrate(*model, samples_of(1.0f, 4), options);
  } catch (const std::runtime_error& error) {
    problem = error.what();
  }
  CAPTURE(problem);
  CHECK(problem.find("Sub 2 'node2'") != std::string::npos);
  CHECK(problem.find("keep the node in float") != std::string::npos);
}

}  // namespace intaglio::test::any_float_network_test
