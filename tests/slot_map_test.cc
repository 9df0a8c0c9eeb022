// Joint quantization: who follows whom, and that the dominator alone can be written.
#include "calibrator/quantization/slot_map.h"

#include <doctest/doctest.h>

#include "calibrator/bake/bake.h"
#include "calibrator/host/system/host_arena.h"
#include "tests/support/model_builder.h"
#include "tests/support/random.h"

namespace intaglio::test::slot_map_test {
namespace {

using Dims = std::vector<int32_t>;
const Dims kMap = {1, 4, 4, 2};

// An FP32 graph, and its slots.
class Net {
 public:
  int32_t input(const std::string& name) {
    const int32_t t = b.tensor(name, DType::kF32, kMap);
    b.input(t);
    return t;
  }
  int32_t conv(const std::string& name, int32_t x) {
    const int32_t w = b.constant<float>(name + "/w", DType::kF32, {2, 1, 1, 2}, {0.5f, -0.5f, 0.25f, 1.0f}),
                  bias = b.constant<float>(name + "/b", DType::kF32, {2}, {0.1f, -0.1f});
    return node(Op::kConv2d, name, {x, w, bias});
  }
  int32_t node(Op op, const std::string& name, const std::vector<int32_t>& inputs, const Dims& dims = kMap) {
    const int32_t y = b.tensor(name, DType::kF32, dims);
    GraphNode& made = b.node(op, inputs, {y});
    if (op == Op::kConcat) made.options.as<ConcatOptions>().axis = 3;
    if (op == Op::kClamp) made.options.as<Clamp>().min = 0.0f;
    return y;
  }
  void open(const CalibratorOptions& options = {}) {
    bytes = b.finish();
    model = *Model::open(bytes.view());
    const Result<SlotMap> made = make_slots(model, options, options.method, memory.arena());
    REQUIRE_MESSAGE(static_cast<bool>(made), text_of(made.error(), &model));
    map = *made;
  }
  // The slot where node `n` reads its i-th input.
  const QuantConfig& read(int32_t n, size_t i = 0) const { return map.slots.own(map.input_slot(n, i)); }
  int32_t read_root(int32_t n, size_t i = 0) const { return map.slots.root(map.input_slot(n, i)); }
  int32_t root(int32_t tensor) const { return map.slots.root(tensor); }

  ModelBuilder b;
  AlignedBytes bytes;
  Model model;
  HostArena memory;
  SlotMap map;
};

}  // namespace

TEST_CASE("random unions equal a naive partition; the master's root rules and alone can be written") {
  Random random(21);
  for (int round = 0; round < 300; ++round) {
    HostArena memory;
    const int32_t count = random.between(1, 40);
    JointSlots slots(count, memory.arena());
    std::vector<int32_t> naive(static_cast<size_t>(count));
    for (int32_t i = 0; i < count; ++i) naive[static_cast<size_t>(i)] = i;
    for (int32_t i = random.between(0, count); i > 0; --i) {
      const int32_t child = random.between(0, count - 1), master = random.between(0, count - 1);
      REQUIRE(slots.dominate(child, master).ok());
      const int32_t from = naive[static_cast<size_t>(child)], to = naive[static_cast<size_t>(master)];
      for (int32_t& set : naive) set = set == from ? to : set;
    }
    int32_t roots = 0, sets = 0;
    for (int32_t i = 0; i < count; ++i) {
      const int32_t root = naive[static_cast<size_t>(i)];
      CHECK(slots.root(i) == root);
      CHECK(slots.own(i).state == (root == i ? QuantState::kInitial : QuantState::kOverlapped));
      const Error error = slots.set_params(i, {1.0f, i});
      CHECK(error.ok() == (root == i));
      if (root != i) {
        CHECK(error.status == Status::kDominatedSlot);
        CHECK(error.value == i);
        CHECK(error.limit == root);
      }
      roots += slots.is_root(i) ? 1 : 0;
      sets += root == i ? 1 : 0;
    }
    for (int32_t i = 0; i < count; ++i) CHECK(slots.params(i).zero_point == naive[static_cast<size_t>(i)]);
    CHECK(roots == sets);
  }
}

TEST_CASE("what is baked, in float or an index is not written; what is of another kind is not joined") {
  HostArena memory;
  JointSlots slots(5, memory.arena());
  REQUIRE(slots.set_state(0, QuantState::kFp32).ok());
  REQUIRE(slots.set_state(1, QuantState::kSoi).ok());
  REQUIRE(slots.set_params(2, {0.5f, 0}).ok());
  REQUIRE(slots.set_state(2, QuantState::kBaked).ok());
  QuantConfig per_channel;
  per_channel.policy = policy::kPerChannel | policy::kLinear | policy::kSymmetric;
  REQUIRE(slots.configure(3, per_channel).ok());
  for (const int32_t slot : {0, 1, 2})
    CHECK(slots.set_params(slot, {1.0f, 0}).status == Status::kFixedConfig);
  CHECK(slots.own(2).scale == 0.5f);
  for (const int32_t slot : {0, 1, 3}) {
    CHECK(slots.dominate(4, slot).status == Status::kNotJoinable);
    CHECK(slots.dominate(slot, 4).status == Status::kNotJoinable);
  }
  CHECK(slots.dominate(2, 4).status == Status::kStateTransition);  // baked cannot be overlapped
  CHECK(slots.dominate(4, 4).ok());
  CHECK(slots.set_params(4, {0.0f, 0}).status == Status::kConfigWithoutScale);
  CHECK(slots.set_params(4, {1.0f, 128}).status == Status::kConfigWithoutScale);
  QuantConfig wrong;
  wrong.policy = 0;
  CHECK(slots.configure(4, wrong).status == Status::kBadPolicy);
}

TEST_CASE("a slot can leave its set") {
  HostArena memory;
  JointSlots slots(2, memory.arena());
  REQUIRE(slots.dominate(1, 0).ok());
  REQUIRE(slots.set_state(1, QuantState::kInitial).ok());
  CHECK(slots.root(1) == 1);
  CHECK(slots.set_params(1, {1.0f, 0}).ok());
}

TEST_CASE("roles: weights alone, biases passive, indices and float never quantized") {
  Net net;
  const int32_t x = net.input("x"), y = net.conv("conv", x);
  const int32_t indices = net.b.constant<int32_t>("indices", DType::kS32, {2}, {1, 0});
  const int32_t gathered = net.node(Op::kGather, "gathered", {y, indices});
  net.b.graph().nodes[1].options.as<GatherOptions>().axis = 3;
  const int32_t z = net.conv("float", gathered);
  net.b.output(z);
  const int32_t kept[] = {2};
  CalibratorOptions options;
  options.float_nodes = kept;
  net.open(options);
  CHECK(net.read(0, 0).state == QuantState::kOverlapped);
  CHECK(net.read(0, 1).state == QuantState::kInitial);
  CHECK(net.read(0, 1).parameter);
  CHECK(net.read(0, 1).has(policy::kPerChannel | policy::kSymmetric));
  CHECK(net.read(0, 1).lo == -127);
  CHECK(net.read(0, 2).state == QuantState::kPassiveInit);
  CHECK(net.read(0, 2).bits == 32);
  CHECK(net.read(1, 1).state == QuantState::kSoi);
  CHECK(net.map.slots.own(indices).state == QuantState::kSoi);
  CHECK(net.root(gathered) == y);  // moves elements
  for (size_t i = 0; i < 3; ++i) CHECK(net.read(2, i).state == QuantState::kFp32);
  CHECK(net.map.slots.own(z).state == QuantState::kFp32);
  CHECK(net.root(x) == x);
}

TEST_CASE("redundant quantizations are masked by bits and readers") {
  // writer bits, reader bits, readers; whether reader and writer are one, and who rules
  const struct {
    int32_t written, read;
    bool two_readers;
    bool joined, reader_rules;
  } cases[] = {{8, 8, false, true, false}, {4, 8, false, true, false}, {8, 4, false, true, true},
               {8, 4, true, false, false}, {8, 8, true, true, false},  {4, 8, true, true, false}};
  for (const auto& c : cases) {
    CAPTURE(c.written);
    CAPTURE(c.read);
    CAPTURE(c.two_readers);
    Net net;
    const int32_t a = net.conv("a", net.input("x")), y = net.conv("y", a);
    net.b.output(y);
    if (c.two_readers) net.b.output(net.conv("z", a));
    SlotSetting written, read;
    written.node = 0;
    written.role = SlotRole::kOutput;
    written.bits = c.written;
    read.node = 1;
    read.role = SlotRole::kInput;
    read.bits = c.read;
    const SlotSetting settings[] = {written, read};
    CalibratorOptions options;
    options.slots = settings;
    net.open(options);
    CHECK((net.read_root(1) == net.root(a)) == c.joined);
    CHECK(net.root(a) == (c.reader_rules ? net.map.input_slot(1, 0) : a));
    CHECK(net.map.slots.config(a).bits == (c.reader_rules ? c.read : c.written));
    CHECK(net.map.slots.config(net.map.input_slot(1, 0)).bits ==
          (c.joined && !c.reader_rules ? c.written : c.read));
    if (c.two_readers) CHECK(net.read_root(2) == a);  // the other reader takes the codes as they are
  }
}

TEST_CASE("a layer follows the clamp that alone reads it") {
  for (const bool another_reader : {false, true}) {
    Net net;
    const int32_t a = net.conv("a", net.input("x")), c = net.node(Op::kClamp, "c", {a});
    const int32_t y = another_reader ? net.node(Op::kAdd, "y", {c, a}) : net.conv("y", c);
    net.b.output(y);
    net.open();
    CHECK(net.root(a) == (another_reader ? a : c));
    CHECK(net.root(c) == c);
  }
}

TEST_CASE("Add and average pooling never share, max pooling and reshape do") {
  Net net;
  const int32_t a = net.conv("a", net.input("x")), b = net.conv("b", a);
  const int32_t sum = net.node(Op::kAdd, "sum", {a, b}), max = net.node(Op::kMaxPool2d, "max", {sum});
  const int32_t flat = net.node(Op::kReshape, "flat", {max}, {1, 32}),
                mean = net.node(Op::kAvgPool2d, "mean", {max});
  net.b.output(flat);
  net.b.output(mean);
  net.open();
  CHECK(net.root(sum) == sum);
  CHECK(net.root(a) == a);
  CHECK(net.root(b) == b);
  CHECK(net.root(max) == sum);
  CHECK(net.root(flat) == sum);
  CHECK(net.root(mean) == mean);
}

TEST_CASE("PPQ: Concats of Concats are one set, through pools and readers") {
  Net net;
  const int32_t x = net.input("x"), a = net.conv("a", x), b = net.conv("b", x), c = net.conv("c", x);
  const int32_t pooled = net.node(Op::kMaxPool2d, "pooled", {a});
  const int32_t inner = net.node(Op::kConcat, "inner", {pooled, b}, {1, 4, 4, 4});
  const int32_t outer = net.node(Op::kConcat, "outer", {inner, c}, {1, 4, 4, 6});
  const int32_t second = net.node(Op::kConcat, "second", {c, x}, {1, 4, 4, 4});  // c feeds two: all are one
  net.b.output(outer);
  net.b.output(second);
  CalibratorOptions options;
  options.compat = Compat::kPpq;
  net.open(options);
  for (const int32_t t : {a, b, c, pooled, inner, outer, second, x}) CHECK(net.root(t) == net.root(outer));
  Net plain;
  const int32_t p = plain.conv("p", plain.input("x")), q = plain.node(Op::kConcat, "q", {p, p}, {1, 4, 4, 4});
  plain.b.output(q);
  plain.open();
  CHECK(plain.root(p) == p);  // without it the ranges decide, later
}

TEST_CASE("Tengine: outputs of what moves or clips elements rule their inputs, up to a branch") {
  Net net;
  const int32_t a = net.conv("a", net.input("x")), relu = net.node(Op::kClamp, "relu", {a});
  const int32_t pooled = net.node(Op::kMaxPool2d, "pooled", {relu}),
                flat = net.node(Op::kReshape, "flat", {pooled});
  const int32_t y = net.conv("y", flat);
  const int32_t left = net.node(Op::kMaxPool2d, "left", {y}), right = net.node(Op::kAdd, "right", {y, y});
  net.b.output(left);
  net.b.output(right);
  CalibratorOptions options;
  options.compat = Compat::kTengine;
  net.open(options);
  for (const int32_t t : {a, relu, pooled, flat}) CHECK(net.root(t) == flat);
  CHECK(net.root(y) == y);  // two readers: the pool, whose codes are its input's, follows it
  CHECK(net.root(left) == y);
  CHECK(net.map.slots.config(y).lo == -127);
  CHECK(net.map.slots.config(y).has(policy::kSymmetric));
  CHECK(net.map.slots.own(net.map.input_slot(0, 1)).rounding == Rounding::kHalfFarFromZero);
}

TEST_CASE("a pair of slots of different granularity is refused with node and tensor") {
  Net net;
  const int32_t a = net.conv("a", net.input("x")), y = net.node(Op::kMaxPool2d, "y", {a});
  net.b.output(y);
  net.bytes = net.b.finish();
  net.model = *Model::open(net.bytes.view());
  SlotSetting setting;
  setting.node = 1;
  setting.role = SlotRole::kOutput;
  setting.policy = policy::kPerChannel | policy::kLinear | policy::kSymmetric;
  CalibratorOptions options;
  options.slots = {&setting, 1};
  const Result<SlotMap> refused = make_slots(net.model, options, options.method, net.memory.arena());
  CHECK(refused.error().status == Status::kNotJoinable);
  CHECK(refused.error().node == 1);
  CHECK(refused.error().tensor == y);
}

}  // namespace intaglio::test::slot_map_test
