// Which tensors are proved non-negative: the search's traps, and what it says against what is seen.
#include "calibrator/ranges/slot_facts.h"

#include <doctest/doctest.h>

#include "calibrator/host/system/host_arena.h"
#include "tests/support/model_builder.h"
#include "tests/support/random.h"
#include "tests/support/small_models.h"

namespace intaglio::test::signs_test {
namespace {

using Dims = std::vector<int32_t>;
const Dims kMap = {1, 4, 4, 2};

class Net {
 public:
  Net() {
    x = b.tensor("x", DType::kF32, kMap);
    b.input(x);
    conv =
        node(Op::kConv2d, {x, b.constant<float>("w", DType::kF32, {2, 1, 1, 2}, {1.0f, -1.0f, 0.5f, 2.0f})});
    relu = node(Op::kClamp, {conv});
    last().as<Clamp>().min = 0.0f;
  }
  int32_t node(Op op, const std::vector<int32_t>& inputs, const Dims& dims = kMap) {
    const int32_t y = b.tensor("t" + std::to_string(b.graph().tensors.size()), DType::kF32, dims);
    b.node(op, inputs, {y});
    return y;
  }
  NodeOptions& last() { return b.graph().nodes[b.graph().nodes.size() - 1].options; }
  // Whether the last node's output is proved non-negative; also runs random data and looks.
  bool proved() {
    const int32_t y = b.graph().nodes[b.graph().nodes.size() - 1].outputs[0];
    for (const GraphNode& each : b.graph().nodes) b.output(each.outputs[0]);
    RunningModel running(b.finish());
    REQUIRE_MESSAGE(running.error().ok(), text_of(running.error(), &running.model()));
    HostArena memory;
    const Span<const bool> known = non_negative_tensors(running.model(), memory.arena());
    Random random(7);
    for (int round = 0; round < 30; ++round) {
      running.set_input(random.reals(32, -3.0f, 3.0f));
      running.session().run();
      for (size_t i = 0; i < running.model().outputs().size; ++i) {
        float least = 0.0f;
        for (const float v : running.output<float>(static_cast<int32_t>(i))) least = v < least ? v : least;
        if (known[static_cast<size_t>(running.model().outputs()[i])]) CHECK(least >= 0.0f);
      }
    }
    return known[static_cast<size_t>(y)];
  }

  ModelBuilder b;
  int32_t x, conv, relu;
};

}  // namespace

TEST_CASE("operators that give no negative value") {
  for (const Op op : {Op::kSigmoid, Op::kSoftmax, Op::kAbs, Op::kHardSigmoid, Op::kExp}) {
    CAPTURE(static_cast<int>(op));
    Net net;
    net.node(op, {net.conv});
    if (op == Op::kHardSigmoid) net.last().as<UnaryOptions>() = {0.2f, 0.5f};
    CHECK(net.proved());
  }
  Net relu6;
  relu6.node(Op::kClamp, {relu6.conv});
  relu6.last().as<Clamp>().min = 0.0f;
  relu6.last().as<Clamp>().max = 6.0f;
  CHECK(relu6.proved());
}

TEST_CASE("operators that keep the sign") {
  for (const Op op :
       {Op::kMaxPool2d, Op::kAvgPool2d, Op::kHardSwish, Op::kTanh, Op::kLeakyRelu, Op::kSwish, Op::kGelu}) {
    CAPTURE(static_cast<int>(op));
    Net after_relu, after_conv;
    after_relu.node(op, {after_relu.relu});
    if (op == Op::kLeakyRelu) after_relu.last().as<UnaryOptions>().alpha = 0.1f;
    CHECK(after_relu.proved());
    after_conv.node(op, {after_conv.conv});
    if (op == Op::kLeakyRelu) after_conv.last().as<UnaryOptions>().alpha = 0.1f;
    CHECK_FALSE(after_conv.proved());
  }
  for (const Interpolation interpolation : {Interpolation::kNearest, Interpolation::kBilinear}) {
    Net net;  // both are convex; a cubic, which is not, is no interpolation of ours
    net.node(Op::kResize, {net.relu}, {1, 8, 8, 2});
    net.last().as<ResizeOptions>().interpolation = interpolation;
    CHECK(net.proved());
  }
}

TEST_CASE("all operands decide, and a difference is never proved") {
  Net both, one, difference, product, joined;
  both.node(Op::kAdd, {both.relu, both.relu});
  CHECK(both.proved());
  one.node(Op::kAdd, {one.relu, one.conv});
  CHECK_FALSE(one.proved());
  difference.node(Op::kSub, {difference.relu, difference.relu});
  CHECK_FALSE(difference.proved());
  product.node(Op::kMul, {product.relu, product.conv});
  CHECK_FALSE(product.proved());
  const int32_t pooled = joined.node(Op::kMaxPool2d, {joined.relu});
  joined.node(Op::kConcat, {joined.relu, pooled}, {1, 4, 4, 4});
  joined.last().as<ConcatOptions>().axis = 3;
  CHECK(joined.proved());
}

TEST_CASE("constants by their values, pads by what they write, caps below zero") {
  for (const float least : {0.0f, -0.5f}) {
    Net net;
    net.node(Op::kMul, {net.relu, net.b.constant<float>("c", DType::kF32, {2}, {least, 1.0f})});
    CHECK(net.proved() == (least >= 0.0f));
    Net padded;
    padded.node(Op::kPad, {padded.relu}, {1, 5, 4, 2});
    padded.last().as<PadOptions>().before = padded.b.keep({0, 1, 0, 0});
    padded.last().as<PadOptions>().value = least;
    CHECK(padded.proved() == (least >= 0.0f));
  }
  Net capped;
  capped.node(Op::kClamp, {capped.relu});
  capped.last().as<Clamp>().min = -2.0f;
  capped.last().as<Clamp>().max = -1.0f;
  CHECK_FALSE(capped.proved());
}

TEST_CASE("a model's input may hold anything, unless it is pixels that cannot be negative") {
  HostArena memory;
  Net net;
  net.b.output(net.relu);
  const AlignedBytes plain = net.b.finish(), pixels = small_cnn();
  CHECK_FALSE(non_negative_tensors(*Model::open(plain.view()), memory.arena())[static_cast<size_t>(net.x)]);
  const Model model = *Model::open(pixels.view());
  CHECK(non_negative_tensors(model, memory.arena())[static_cast<size_t>(model.inputs()[0])]);
}

}  // namespace intaglio::test::signs_test
