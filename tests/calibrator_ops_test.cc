// Each operator between two convolutions of an FP32 model: calibrated, all of it runs in int8, near the FP32
// results.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "intaglio/calibrator.h"
#include "intaglio/describe.h"
#include "tests/support/decibels.h"
#include "tests/support/random.h"
#include "tests/support/real_values.h"
#include "tests/support/run_widths.h"

namespace intaglio::test::calibrator_ops_test {
namespace {

using test::AlignedBytes;
using test::Dims;
using test::elements;
using test::ModelBuilder;
using test::Random;
using test::RunningModel;
using Samples = std::vector<std::vector<float>>;

const Dims kIn = {1, 8, 6, 4}, kStem = {1, 8, 6, 12};

// Adds operators behind the tensor `x` of shape kStem; returns the last one's output, of shape `dims`.
using Middle = std::function<int32_t(ModelBuilder& b, int32_t x, const Dims& dims)>;

int32_t constant(ModelBuilder& b, const std::string& name, const Dims& dims, float lo, float hi,
                 uint32_t seed) {
  return b.constant<float>(name, DType::kF32, dims, Random(seed).reals(elements(dims), lo, hi));
}

AlignedBytes make_model(const Dims& dims, const Middle& middle) {
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kF32, kIn), stem = b.tensor("stem", DType::kF32, kStem);
  GraphNode& conv = b.node(Op::kConv2d, {x, constant(b, "stem/w", {12, 3, 3, 4}, -0.4f, 0.4f, 1)}, {stem});
  conv.options.as<Window2d>().kernel_h = conv.options.as<Window2d>().kernel_w = 3;
  conv.options.as<Window2d>().pad_top = conv.options.as<Window2d>().pad_left = 1;
  conv.options.as<Window2d>().pad_bottom = conv.options.as<Window2d>().pad_right = 1;
  const int32_t bent = middle(b, stem, dims);
  const int32_t y = b.tensor("y", DType::kF32, {dims[0], dims[1], dims[2], 5});
  b.node(Op::kConv2d, {bent, constant(b, "head/w", {5, 1, 1, dims[3]}, -1.0f, 1.0f, 2)}, {y});
  b.input(x);
  b.output(y);
  return b.finish();
}

Samples make_samples(size_t count) {
  Random random(3);
  Samples samples;
  for (size_t i = 0; i < count; ++i) samples.push_back(random.reals(elements(kIn), -1.0f, 2.0f));
  return samples;
}

std::vector<uint8_t> calibrate(const AlignedBytes& bytes, const Samples& samples,
                               const CalibratorOptions& options = {}) {
  const Result<Model> model = Model::open(bytes.view());
  REQUIRE(static_cast<bool>(model));
  const Result<CalibratorNeeds> needs = Calibrator::measure(*model, options);
  REQUIRE_MESSAGE(static_cast<bool>(needs), test::text_of(needs.error(), &*model));
  AlignedBytes memory(needs->total());
  Result<Calibrator> calibrator = Calibrator::create(*model, memory.span(), options);
  REQUIRE_MESSAGE(static_cast<bool>(calibrator), test::text_of(calibrator.error(), &*model));
  for (const std::vector<float>& sample : samples) {
    const Span<const uint8_t> inputs[] = {
        {reinterpret_cast<const uint8_t*>(sample.data()), sample.size() * sizeof(float)}};
    REQUIRE(calibrator->add(inputs).ok());
  }
  std::vector<uint8_t> written;
  ModelSink sink;
  sink.context = &written;
  sink.write = [](void* context, Span<const uint8_t> out) {
    static_cast<std::vector<uint8_t>*>(context)->assign(out.begin(), out.end());
    return true;
  };
  const Error error = calibrator->finish(sink);
  REQUIRE_MESSAGE(error.ok(), test::text_of(error));
  return written;
}

struct Outcome {
  double decibels = 0.0;
  std::vector<Op> ops;  // of the int8 model
};

// Calibrated with some samples, compared on others.
Outcome round_trip(const Dims& dims, const Middle& middle, OpList ops = int8_ops()) {
  const AlignedBytes bytes = make_model(dims, middle);
  const Samples all = make_samples(24);
  const std::vector<uint8_t> written = calibrate(bytes, {all.begin(), all.begin() + 16});
  RunningModel fp32(AlignedBytes(bytes.view()));
  RunningModel int8(AlignedBytes(Span<const uint8_t>(written.data(), written.size())), ops);
  REQUIRE_MESSAGE(fp32.error().ok(), test::text_of(fp32.error()));
  REQUIRE_MESSAGE(int8.error().ok(), test::text_of(int8.error()));
  test::SignalAndNoise compared;
  for (size_t s = 16; s < all.size(); ++s)
    compared.add(fp32.run<float>(all[s]), test::run_reals(int8, all[s]));
  Outcome outcome;
  outcome.decibels = compared.sqnr_db();
  for (int32_t n = 0; n < int8.model().node_count(); ++n) outcome.ops.push_back(int8.model().node(n).op);
  return outcome;
}

// One node from x to a tensor of `dims`.
Middle one(Op op, const std::function<void(ModelBuilder&, NodeOptions&)>& set = {}) {
  return [op, set](ModelBuilder& b, int32_t x, const Dims& dims) {
    const int32_t y = b.tensor("middle", DType::kF32, dims);
    NodeOptions& options = b.node(op, {x}, {y}).options;
    if (set) set(b, options);
    return y;
  };
}

void check(const Dims& dims, const Middle& middle, const std::vector<Op>& expected, double decibels) {
  const Outcome outcome = round_trip(dims, middle);
  CAPTURE(outcome.decibels);
  CHECK(outcome.decibels > decibels);
  std::vector<Op> ops = {Op::kConv2d};
  ops.insert(ops.end(), expected.begin(), expected.end());
  ops.push_back(Op::kConv2d);
  CHECK(outcome.ops == ops);
}

TEST_CASE("names of 255 bytes, which the format just takes, leave no room for what baking adds") {
  const AlignedBytes bytes = make_model(kStem, [](ModelBuilder& b, int32_t x, const Dims& dims) {
    int32_t last = x;
    for (const char* const end : {"1", "\xc3\xa9"}) {  // the second is one character
      const std::string name = std::string(255 - strlen(end), 'n') + end;
      const int32_t y = b.tensor(name, DType::kF32, dims);
      b.node(Op::kTanh, {last}, {y});
      last = y;
    }
    return last;
  });
  const std::vector<uint8_t> written = calibrate(bytes, make_samples(4));
  RunningModel int8(AlignedBytes(Span<const uint8_t>(written.data(), written.size())));
  CHECK_MESSAGE(int8.error().ok(), test::text_of(int8.error()));
}

TEST_CASE("functions of one variable become lookups") {
  for (const Op op :
       {Op::kLeakyRelu, Op::kSigmoid, Op::kTanh,  Op::kHardSwish, Op::kHardSigmoid, Op::kSwish,    Op::kGelu,
        Op::kExp,       Op::kAbs,     Op::kClamp, Op::kErf,       Op::kElu,         Op::kSoftplus, Op::kMish,
        Op::kGeluTanh,  Op::kSin,     Op::kCos,   Op::kSelu,      Op::kCelu,        Op::kSoftsign}) {
    CAPTURE(static_cast<int>(op));
    const auto set = [](ModelBuilder&, NodeOptions& o) {
      if (auto* const unary = o.get<UnaryOptions>()) *unary = {0.2f, 0.5f};
      if (auto* const clamp = o.get<Clamp>()) clamp->min = -1.0f;
    };
    check(kStem, one(op, set), {Op::kLookup}, op == Op::kExp ? 25.0 : 30.0);
  }
}

TEST_CASE("functions of positive numbers become lookups") {
  for (const Op op : {Op::kSqrt, Op::kRsqrt, Op::kReciprocal, Op::kLog}) {
    CAPTURE(static_cast<int>(op));
    const auto softly = [op](ModelBuilder& b, int32_t x, const Dims& dims) {
      const int32_t s = b.tensor("positive", DType::kF32, dims), y = b.tensor("middle", DType::kF32, dims);
      b.node(Op::kSigmoid, {x}, {s});
      b.node(op, {s}, {y});
      return y;
    };
    check(kStem, softly, {Op::kLookup}, 25.0);
  }
}

TEST_CASE("what is computed of one tensor, element by element, is one table") {
  // sqrt or log of x * x + 0.01, where the reader of what stands between may be another node, too.
  const auto row = [](Op last, const char* read_twice) {
    return [=](ModelBuilder& b, int32_t x, const Dims& dims) {
      const int32_t square = b.tensor("square", DType::kF32, dims), sum = b.tensor("sum", DType::kF32, dims),
                    bent = b.tensor("bent", DType::kF32, dims);
      b.node(Op::kMul, {x, x}, {square});
      b.node(Op::kAdd, {square, constant(b, "least", {1}, 0.01f, 0.01f, 4)}, {sum});
      b.node(last, {sum}, {bent});
      if (*read_twice == 0) return bent;
      const int32_t y = b.tensor("middle", DType::kF32, dims);
      b.node(Op::kMaximum, {bent, *read_twice == 's' ? sum : square}, {y});
      return y;
    };
  };
  check(kStem, row(Op::kLog, ""), {Op::kLookup}, 28.0);
  check(kStem, row(Op::kSqrt, ""), {Op::kLookup}, 30.0);
  check(kStem, row(Op::kLog, "sum"), {Op::kLookup}, 25.0);
  check(kStem, row(Op::kLog, "q"), {Op::kLookup}, 25.0);
  // A setting for the codes between two steps needs them.
  for (const SlotRole role : {SlotRole::kOutput, SlotRole::kInput}) {
    SlotSetting setting;
    setting.node = role == SlotRole::kOutput ? 1 : 2;  // the square, and who reads it
    setting.role = role;
    setting.bits = 4;
    CalibratorOptions options;
    options.slots = {&setting, 1};
    const std::vector<uint8_t> written =
        calibrate(make_model(kStem, row(Op::kLog, "")), make_samples(4), options);
    RunningModel int8(AlignedBytes(Span<const uint8_t>(written.data(), written.size())));
    REQUIRE(int8.error().ok());
    int32_t squares = 0;
    for (int32_t n = 0; n < int8.model().node_count(); ++n) squares += int8.model().node(n).op == Op::kMul;
    CHECK(squares == 1);
  }
  const auto ends_with_sum = [](ModelBuilder& b, int32_t x, const Dims& dims) {
    const int32_t bent = b.tensor("bent", DType::kF32, dims), y = b.tensor("middle", DType::kF32, dims);
    b.node(Op::kTanh, {x}, {bent});
    b.node(Op::kSub, {constant(b, "one", {1}, 1.0f, 1.0f, 4), bent}, {y});
    return y;
  };
  check(kStem, ends_with_sum, {Op::kLookup}, 25.0);
  // ELU by a choice, of which one branch reaches far where the other one is taken.
  const auto choice = [](ModelBuilder& b, int32_t x, const Dims& dims) {
    const int32_t grown = b.tensor("grown", DType::kF32, dims), less = b.tensor("less", DType::kF32, dims),
                  above = b.tensor("above", DType::kF32, dims), y = b.tensor("middle", DType::kF32, dims);
    b.node(Op::kExp, {x}, {grown});
    b.node(Op::kSub, {grown, constant(b, "one", {1}, 1.0f, 1.0f, 4)}, {less});
    b.node(Op::kLess, {constant(b, "zero", {1}, 0.0f, 0.0f, 4), x}, {above});
    b.node(Op::kWhere, {above, x, less}, {y});
    return y;
  };
  check(kStem, choice, {Op::kLookup}, 30.0);
  // A layer between the two, in the order of the nodes, reads what the first one writes.
  const auto read_by_layer = [](ModelBuilder& b, int32_t x, const Dims& dims) {
    const int32_t bent = b.tensor("bent", DType::kF32, dims), layer = b.tensor("layer", DType::kF32, dims),
                  more = b.tensor("more", DType::kF32, dims), y = b.tensor("middle", DType::kF32, dims);
    b.node(Op::kTanh, {x}, {bent});
    auto& window = b.node(Op::kMaxPool2d, {bent}, {layer}).options.as<Window2d>();
    window.kernel_h = window.kernel_w = 1;
    b.node(Op::kAdd, {bent, x}, {more});
    b.node(Op::kMul, {layer, more}, {y});
    return y;
  };
  check(kStem, read_by_layer, {Op::kLookup, Op::kMaxPool2d, Op::kAdd, Op::kMul}, 25.0);
  // Two tensors are computed from, one of them by a function of its own.
  const auto of_two = [](ModelBuilder& b, int32_t x, const Dims& dims) {
    const int32_t moved = b.tensor("moved", DType::kF32, dims), bent = b.tensor("bent", DType::kF32, dims),
                  more = b.tensor("more", DType::kF32, dims), y = b.tensor("middle", DType::kF32, dims);
    auto& window = b.node(Op::kMaxPool2d, {x}, {moved}).options.as<Window2d>();
    window.kernel_h = window.kernel_w = 1;
    b.node(Op::kTanh, {moved}, {bent});
    b.node(Op::kAdd, {bent, constant(b, "one", {1}, 1.0f, 1.0f, 4)}, {more});
    b.node(Op::kMul, {x, more}, {y});
    return y;
  };
  check(kStem, of_two, {Op::kMaxPool2d, Op::kLookup, Op::kMul}, 25.0);
  const auto quotient = [](ModelBuilder& b, int32_t x, const Dims& dims) {
    const int32_t bent = b.tensor("bent", DType::kF32, dims),
                  inverse = b.tensor("inverse", DType::kF32, dims), y = b.tensor("middle", DType::kF32, dims);
    b.node(Op::kSigmoid, {x}, {bent});
    b.node(Op::kDiv, {constant(b, "two", {1}, 2.0f, 2.0f, 4), bent}, {inverse});
    b.node(Op::kLog, {inverse}, {y});
    return y;
  };
  check(kStem, quotient, {Op::kLookup}, 30.0);
}

TEST_CASE("rows of unit length; quotients, and the larger and smaller of two") {
  check(kStem, one(Op::kL2Normalize), {Op::kL2Normalize}, 28.0);
  for (const Op op : {Op::kDiv, Op::kMaximum, Op::kMinimum}) {
    CAPTURE(static_cast<int>(op));
    const auto with = [op](ModelBuilder& b, int32_t x, const Dims& dims) {
      const int32_t s = b.tensor("second", DType::kF32, dims), y = b.tensor("middle", DType::kF32, dims);
      UnaryOptions& line = b.node(Op::kHardSigmoid, {x}, {s}).options.as<UnaryOptions>();  // some way from 0
      line.alpha = 0.03f;
      line.beta = 0.5f;
      b.node(op, {x, s}, {y});
      return y;
    };
    CHECK(round_trip(kStem, with).decibels > 22.0);
    const auto by_constant = [op](ModelBuilder& b, int32_t x, const Dims& dims) {
      const int32_t y = b.tensor("middle", DType::kF32, dims), c = constant(b, "c", {12}, 0.5f, 2.0f, 5);
      b.node(op, {x, c}, {y});
      return y;
    };
    CHECK(round_trip(kStem, by_constant).decibels > 25.0);
  }
}

TEST_CASE(
    "a scale that an operator has follows values far below its bound, but not as accelerators have it") {
  for (const Op op : {Op::kTanh, Op::kErf, Op::kSoftmax}) {
    CAPTURE(op_name(op));
    const auto of_small = [op](ModelBuilder& b, int32_t x, const Dims& dims) {
      const int32_t small = b.tensor("small", DType::kF32, dims), y = b.tensor("middle", DType::kF32, dims);
      b.node(Op::kMul, {x, constant(b, "factor", {1}, 0.01f, 0.01f, 4)}, {small});
      b.node(op, {small}, {y});
      return y;
    };
    // With the operator's own scale a tanh of at most 0.04 has five codes.
    CHECK(round_trip(kStem, of_small).decibels > 28.0);
    CalibratorOptions as_accelerators;
    as_accelerators.int8_answers = true;
    const float fixed = op == Op::kSoftmax ? 0x1p-8f : 0x1p-7f;
    for (const bool follows : {true, false}) {
      const std::vector<uint8_t> written = calibrate(make_model(kStem, of_small), make_samples(4),
                                                     follows ? CalibratorOptions() : as_accelerators);
      RunningModel int8(AlignedBytes(Span<const uint8_t>(written.data(), written.size())));
      REQUIRE(int8.error().ok());
      const Model& model = int8.model();
      const float scale = model.tensor(model.node_outputs(model.node_count() - 2)[0]).quantization.scales[0];
      CHECK((follows ? scale < fixed / 2 : scale == fixed));
    }
  }
}

TEST_CASE("a mean of what cancels has a scale near its input's") {
  const auto cancels = [](ModelBuilder& b, int32_t x, const Dims& dims) {
    const int32_t even = b.tensor("even", DType::kF32, kStem), y = b.tensor("middle", DType::kF32, dims);
    b.node(Op::kNormalize,
           {x, constant(b, "factors", {12}, 1.0f, 1.0f, 4), constant(b, "summands", {12}, 0.0f, 0.0f, 5)},
           {even})
        .options.as<NormalizeOptions>()
        .over_map = true;
    auto& normalize = b.graph().nodes[b.graph().nodes.size() - 1].options.as<NormalizeOptions>();
    normalize.groups = 12;
    normalize.epsilon = 1e-5f;
    b.node(Op::kMean, {even}, {y}).options.as<ReduceOptions>().axes = b.keep({1, 2});
    return y;
  };
  const std::vector<uint8_t> written = calibrate(make_model({1, 1, 1, 12}, cancels), make_samples(4));
  RunningModel int8(AlignedBytes(Span<const uint8_t>(written.data(), written.size())));
  REQUIRE(int8.error().ok());
  const Model& model = int8.model();
  bool found = false;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    if (node.op != Op::kMean) continue;
    found = true;
    CHECK(model.tensor(node.outputs[0]).quantization.scales[0] ==
          model.tensor(node.inputs[0]).quantization.scales[0] / 256);
  }
  CHECK(found);
}

TEST_CASE("a slope a channel becomes a table a channel") {
  const auto prelu = [](ModelBuilder& b, int32_t x, const Dims& dims) {
    const int32_t y = b.tensor("middle", DType::kF32, dims);
    b.node(Op::kPRelu, {x, constant(b, "slope", {12}, -0.5f, 1.5f, 4)}, {y});
    return y;
  };
  check(kStem, prelu, {Op::kLookup}, 30.0);
  const std::vector<uint8_t> written = calibrate(make_model(kStem, prelu), make_samples(4));
  RunningModel int8(AlignedBytes(Span<const uint8_t>(written.data(), written.size())));
  REQUIRE(int8.error().ok());
  const Shape tables = int8.model().tensor(int8.model().node(1).inputs[1]).shape;
  CHECK(tables.rank == 2);
  CHECK(tables[0] == 12);
}

TEST_CASE("a gate of the tensor's own, and constants, in every role") {
  for (const Op op : {Op::kMul, Op::kSub, Op::kAdd}) {
    CAPTURE(static_cast<int>(op));
    const auto gate = [op](ModelBuilder& b, int32_t x, const Dims& dims) {
      const int32_t mean = b.tensor("mean", DType::kF32, {1, 1, 1, 12}),
                    y = b.tensor("middle", DType::kF32, dims);
      const int32_t gates = b.tensor("gates", DType::kF32, {1, 1, 1, 12});
      b.node(Op::kMean, {x}, {mean}).options.as<ReduceOptions>().axes = b.keep({1, 2});
      b.node(Op::kSigmoid, {mean}, {gates});
      b.node(op, {gates, x}, {y});
      return y;
    };
    // An Add of a convolution's result and another tensor of its shape alone is fused.
    check(kStem, gate, {Op::kMean, Op::kLookup, op}, 27.0);
    const auto by_constant = [op](ModelBuilder& b, int32_t x, const Dims& dims) {
      const int32_t y = b.tensor("middle", DType::kF32, dims), c = constant(b, "c", {12}, -2.0f, 2.0f, 5);
      b.node(op, {x, c}, {y});
      return y;
    };
    check(kStem, by_constant, {op}, 30.0);
  }
}

TEST_CASE("what moves elements keeps the scale") {
  const auto pad = [](ModelBuilder& b, NodeOptions& o) { o.as<PadOptions>().before = b.keep({0, 1, 2, 0}); };
  check({1, 10, 9, 12}, one(Op::kPad, pad), {Op::kPad}, 30.0);
  // Other values that it writes have codes, as far as they reach; a number that masks takes no codes from the others.
  for (const float value : {-7.0f, 7.0f, 30.0f, -1e9f}) {
    CAPTURE(value);
    const auto filled = [value](ModelBuilder& b, NodeOptions& o) {
      o.as<PadOptions>().before = b.keep({0, 1, 2, 0});
      o.as<PadOptions>().value = value;
    };
    if (value > -1e9f) check({1, 10, 9, 12}, one(Op::kPad, filled), {Op::kPad}, 30.0);
    for (const Op before : {Op::kClamp, Op::kTanh, Op::kSigmoid, Op::kSoftmax, Op::kL2Normalize}) {
      CAPTURE(static_cast<int>(before));
      const auto behind = [&](ModelBuilder& b, int32_t x, const Dims& dims) {
        const int32_t y = b.tensor("middle", DType::kF32, dims), f = b.tensor("function", DType::kF32, kStem);
        NodeOptions& options = b.node(before, {x}, {f}).options;
        if (auto* const clamp = options.get<Clamp>()) clamp->min = 0.0f;
        filled(b, b.node(Op::kPad, {f}, {y}).options);
        if (value > -1e9f) return y;
        const int32_t most = b.tensor("most", DType::kF32, dims);
        b.node(Op::kClamp, {y}, {most}).options.as<Clamp>().min = 0.0f;
        return most;
      };
      const double decibels = round_trip({1, 10, 9, 12}, behind).decibels;
      CAPTURE(decibels);
      CHECK(decibels > 28.0);
    }
  }
  const auto slice = [](ModelBuilder& b, NodeOptions& o) {
    o.as<StridedSliceOptions>().begin = b.keep({0, 1, 5, 2});
    o.as<StridedSliceOptions>().strides = b.keep({1, 2, -1, 1});
  };
  check({1, 3, 6, 10}, one(Op::kStridedSlice, slice), {Op::kStridedSlice}, 30.0);
  for (const Interpolation interpolation : {Interpolation::kNearest, Interpolation::kBilinear}) {
    const auto resize = [=](ModelBuilder&, NodeOptions& o) {
      o.as<ResizeOptions>().interpolation = interpolation;
    };
    check({1, 16, 12, 12}, one(Op::kResize, resize), {Op::kResize}, 28.0);
  }
  const auto gather = [](ModelBuilder& b, int32_t x, const Dims& dims) {
    const int32_t y = b.tensor("middle", DType::kF32, dims);
    const std::vector<int32_t> indices = {11, 0, 3, 3, 7};
    b.node(Op::kGather, {x, b.constant("indices", DType::kS32, {5}, indices)}, {y})
        .options.as<GatherOptions>()
        .axis = 3;
    return y;
  };
  check({1, 8, 6, 5}, gather, {Op::kGather}, 30.0);
}

TEST_CASE("concatenation: inputs of one scale as they are, others requantized") {
  const auto concat = [](ModelBuilder& b, int32_t x, const Dims& dims) {
    const int32_t bent = b.tensor("bent", DType::kF32, kStem), y = b.tensor("middle", DType::kF32, dims);
    b.node(Op::kSigmoid, {x}, {bent});
    b.node(Op::kConcat, {x, bent, constant(b, "c", kStem, -1.0f, 1.0f, 6)}, {y})
        .options.as<ConcatOptions>()
        .axis = 3;
    return y;
  };
  const Outcome outcome = round_trip({1, 8, 6, 36}, concat);
  CAPTURE(outcome.decibels);
  CHECK(outcome.decibels > 30.0);
  CHECK(std::count(outcome.ops.begin(), outcome.ops.end(), Op::kConcat) == 1);
  CHECK(std::count(outcome.ops.begin(), outcome.ops.end(), Op::kDequantize) == 0);
}

TEST_CASE("memory for many tables, indices and requantized inputs is measured in full") {
  const auto many = [](ModelBuilder& b, int32_t x, const Dims& dims) {
    std::vector<int32_t> parts;
    for (int32_t i = 0; i < 30; ++i) {
      const std::string n = std::to_string(i);
      const int32_t bent = b.tensor("bent" + n, DType::kF32, kStem),
                    chosen = b.tensor("chosen" + n, DType::kF32, kStem);
      b.node(Op::kPRelu, {x, constant(b, "slope" + n, {12}, -1.0f, 1.0f, 10)}, {bent});
      const std::vector<int32_t> indices = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0};
      b.node(Op::kGather, {bent, b.constant("indices" + n, DType::kS32, {12}, indices)}, {chosen})
          .options.as<GatherOptions>()
          .axis = 3;
      parts.push_back(chosen);
    }
    const int32_t y = b.tensor("middle", DType::kF32, dims);
    b.node(Op::kConcat, parts, {y}).options.as<ConcatOptions>().axis = 3;
    return y;
  };
  CHECK(round_trip({1, 8, 6, 360}, many).decibels > 25.0);
}

TEST_CASE(
    "one tensor concatenated many times is requantized each time, within the memory that was measured") {
  const auto same = [](ModelBuilder& b, int32_t x, const Dims& dims) {
    std::vector<int32_t> parts(60, x);
    parts.push_back(constant(b, "wide", kStem, -90.0f, 90.0f, 6));
    const int32_t y = b.tensor("middle", DType::kF32, dims);
    b.node(Op::kConcat, parts, {y}).options.as<ConcatOptions>().axis = 3;
    return y;
  };
  const Outcome outcome = round_trip({1, 8, 6, 12 * 61}, same);
  CHECK(std::count(outcome.ops.begin(), outcome.ops.end(), Op::kLookup) >= 1);
}

// Two products of activations with a factor, perhaps a mask, and a Softmax between them.
Outcome attention(bool has_mask) {
  return round_trip(
      kStem,
      [=](ModelBuilder& b, int32_t x, const Dims& dims) {
        const Dims scores{dims[0], dims[1], dims[2], dims[2]};
        const auto tensor = [&](const char* name, const Dims& shape) {
          return b.tensor(name, DType::kF32, shape);
        };
        const int32_t s = tensor("scores", scores), scaled = tensor("scaled", scores),
                      masked = tensor("masked", scores), p = tensor("probabilities", scores),
                      y = tensor("middle", dims);
        b.node(Op::kBatchMatMul, {x, x}, {s}).options.as<BatchMatMulOptions>().transpose_b = true;
        b.node(Op::kMul, {s, constant(b, "factor", {1}, 0.1f, 0.3f, 5)}, {scaled});
        std::vector<float> mask(static_cast<size_t>(dims[2] * dims[2]), 0.0f);
        for (size_t i = 0; i < static_cast<size_t>(dims[2]); ++i)
          for (size_t j = i + 1; j < static_cast<size_t>(dims[2]); ++j)
            mask[i * static_cast<size_t>(dims[2]) + j] = -1e9f;
        if (has_mask)
          b.node(Op::kAdd, {scaled, b.constant("mask", DType::kF32, {dims[2], dims[2]}, mask)}, {masked});
        b.node(Op::kSoftmax, {has_mask ? masked : scaled}, {p});
        b.node(Op::kBatchMatMul, {p, x}, {y});
        return y;
      },
      all_ops());
}

TEST_CASE("normalizations are int8, and keep their parameters") {
  for (const bool over_map : {false, true}) {
    const Outcome outcome = round_trip(
        kStem,
        [=](ModelBuilder& b, int32_t x, const Dims& dims) {
          const int32_t y = b.tensor("middle", DType::kF32, dims);
          const Dims channels{dims.back()};
          NormalizeOptions& options = b.node(Op::kNormalize,
                                             {x, constant(b, "scale", channels, 0.5f, 1.5f, 5),
                                              constant(b, "shift", channels, -0.2f, 0.2f, 6)},
                                             {y})
                                          .options.as<NormalizeOptions>();
          options.epsilon = 1e-5f;
          options.over_map = over_map;
          return y;
        },
        all_ops());
    CHECK(outcome.ops == std::vector<Op>{Op::kConv2d, Op::kNormalize, Op::kConv2d});
    CAPTURE(outcome.decibels);
    CHECK(outcome.decibels > 25.0);
  }
}

TEST_CASE("attention is int8") {
  const Outcome outcome = attention(false);
  CHECK(outcome.ops == std::vector<Op>{Op::kConv2d, Op::kBatchMatMul, Op::kMul, Op::kSoftmax,
                                       Op::kBatchMatMul, Op::kConv2d});
  CAPTURE(outcome.decibels);
  CHECK(outcome.decibels > 25.0);
}

TEST_CASE("attention with a mask: its sum and its Softmax have 16 bits") {
  const Outcome outcome = attention(true);
  CHECK(outcome.ops == std::vector<Op>{Op::kConv2d, Op::kBatchMatMul, Op::kMul, Op::kQuantize, Op::kAdd,
                                       Op::kSoftmax, Op::kQuantize, Op::kBatchMatMul, Op::kConv2d});
  CAPTURE(outcome.decibels);
  CHECK(outcome.decibels > 25.0);
}

TEST_CASE("elements that go back to where a pool took them keep their scale, and the map has its own") {
  const Outcome outcome = round_trip(kStem, [](ModelBuilder& b, int32_t x, const Dims& dims) {
    const Dims half{dims[0], dims[1] / 2, dims[2] / 2, dims[3]};
    const int32_t pooled = b.tensor("pooled", DType::kF32, half), bent = b.tensor("bent", DType::kF32, half),
                  y = b.tensor("middle", DType::kF32, dims);
    auto& window = b.node(Op::kMaxPool2d, {x}, {pooled}).options.as<Window2d>();
    window.kernel_h = window.kernel_w = window.stride_h = window.stride_w = 2;
    b.node(Op::kTanh, {pooled}, {bent});
    b.node(Op::kMaxUnpool2d, {bent, x}, {y});
    return y;
  });
  CHECK(outcome.ops ==
        std::vector<Op>{Op::kConv2d, Op::kMaxPool2d, Op::kLookup, Op::kMaxUnpool2d, Op::kConv2d});
  CAPTURE(outcome.decibels);
  CHECK(outcome.decibels > 15.0);  // two elements of one code may change places
}

TEST_CASE("what becomes an index stays in FP32 from the last layer with weights on") {
  const Outcome outcome = round_trip(
      kStem,
      [](ModelBuilder& b, int32_t x, const Dims& dims) {
        const int32_t scaled = b.tensor("scaled", DType::kF32, dims),
                      bounded = b.tensor("bounded", DType::kF32, dims),
                      indices = b.tensor("indices", DType::kS32, dims),
                      y = b.tensor("middle", DType::kF32, dims);
        b.node(Op::kMul, {x, constant(b, "factor", {1, 1, 1, 1}, 40.0f, 40.0f, 5)}, {scaled});
        auto& clamp = b.node(Op::kClamp, {scaled}, {bounded}).options.as<Clamp>();
        clamp.min = 0.0f;
        clamp.max = 11.0f;
        b.node(Op::kCast, {bounded}, {indices});
        b.node(Op::kGatherElements, {x, indices}, {y}).options.as<GatherOptions>().axis = 3;
        return y;
      },
      all_ops());
  CHECK(outcome.ops == std::vector<Op>{Op::kConv2d, Op::kDequantize, Op::kMul, Op::kClamp, Op::kCast,
                                       Op::kGatherElements, Op::kConv2d});
}

}  // namespace
}  // namespace intaglio::test::calibrator_ops_test
