// Options of operators: whose they are, their defaults, and that the file holds each of them. What is written is read by
// flatc's own code, too.
#include "intaglio/node_options.h"

#include <doctest/doctest.h>

#include <cstring>

#include "intaglio/describe.h"
#include "runtime/option_fields.h"
#include "tests/support/model_object.h"

namespace intaglio::test::node_options_test {
namespace {

// Two structs of options with the same values; lists of the same elements.
bool same(uint32_t number, const uint8_t* a, const uint8_t* b) {
  for (uint32_t i = kFirstOptionField[number]; i < kFirstOptionField[number + 1]; ++i) {
    const OptionField& field = kOptionFields[i];
    const uint8_t *const p = a + field.place, *const q = b + field.place;
    if (field.kind == kOptionPart) {
      if (!same(field.what, p, q)) return false;
    } else if (field.kind == kOptionList) {
      Span<const uint32_t> left, right;
      memcpy(&left, p, sizeof left);
      memcpy(&right, q, sizeof right);
      if (left.size != right.size) return false;
      if (!left.empty() && memcmp(left.data, right.data, 4 * left.size) != 0) return false;
    } else if (memcmp(p, q, is_8_bits(field) ? 1 : 4) != 0) {
      return false;
    }
  }
  return true;
}

bool same(const NodeOptions& a, const NodeOptions& b) {
  if (a.kind() != b.kind()) return false;
  return a.kind() == OptionsKind::kNone ||
         same(OptionBytes::number(a), OptionBytes::of(a), OptionBytes::of(b));
}

// Any value in every field that the file may hold.
void fill(uint32_t number, uint8_t* options, Random& random, ModelBuilder& b) {
  for (uint32_t i = kFirstOptionField[number]; i < kFirstOptionField[number + 1]; ++i) {
    const OptionField& field = kOptionFields[i];
    uint8_t* const place = options + field.place;
    if (field.kind == kOptionPart) {
      fill(field.what, place, random, b);
    } else if (field.kind == kOptionList) {
      std::vector<int32_t> values(static_cast<size_t>(random.between(0, 5)));
      for (int32_t& value : values) value = static_cast<int32_t>(random.bits());
      const Span<const int32_t> list = b.keep(values);
      memcpy(place, &list, sizeof list);
    } else if (field.kind == kOption32) {
      const int32_t word = random.one_in(4) ? 0 : static_cast<int32_t>(random.bits());
      memcpy(place, &word, sizeof word);
    } else {
      const int32_t most = field.kind == kOptionEnum ? field.what : field.kind == kOptionBool ? 1 : 255;
      *place = static_cast<uint8_t>(random.between(0, most));
    }
  }
}

NodeOptions any_options(Op op, Random& random, ModelBuilder& b) {
  NodeOptions options(op);
  if (options.kind() != OptionsKind::kNone)
    fill(OptionBytes::number(options), OptionBytes::of(options), random, b);
  return options;
}

AlignedBytes file_with(ModelBuilder& b, Op op, const NodeOptions& options) {
  const int32_t x = b.tensor("x", DType::kF32, {2}), y = b.tensor("y", DType::kF32, {2});
  b.input(x);
  b.output(y);
  b.node(op, {x}, {y}).options = options;
  return b.finish();
}

int32_t owners = 0;

// T is the options of these operators, and of no other.
template <typename T>
void check_owners(const std::vector<Op>& ops) {
  const T defaults;
  for (int32_t i = 0; i < kOpCount; ++i) {
    const auto op = static_cast<Op>(i);
    CAPTURE(i);
    bool owns = false;
    for (const Op owner : ops) owns = owns || owner == op;
    const NodeOptions options(op);
    CHECK((options.get<T>() != nullptr) == owns);
    if (!owns) continue;
    ++owners;
    CHECK(&options.as<T>() == options.get<T>());
    CHECK(same(OptionBytes::number(options), OptionBytes::of(options),
               reinterpret_cast<const uint8_t*>(&defaults)));
  }
}

// Op's options have a Part at this place in its own struct.
template <typename Part, typename T>
void check_part(Op op, Part T::*member) {
  NodeOptions options(op);
  CHECK(options.get<Part>() == &(options.as<T>().*member));
}

}  // namespace

TEST_CASE("every operator has its own options, which begin with their defaults") {
  owners = 0;
  check_owners<Conv2dOptions>({Op::kConv2d});
  check_owners<DepthwiseConv2dOptions>({Op::kDepthwiseConv2d});
  check_owners<FullyConnectedOptions>({Op::kFullyConnected});
  check_owners<Pool2dOptions>({Op::kAvgPool2d, Op::kMaxPool2d});
  check_owners<AddOptions>({Op::kAdd, Op::kSub});
  check_owners<ElementwiseOptions>(
      {Op::kMul, Op::kDiv, Op::kMaximum, Op::kMinimum, Op::kClamp, Op::kQuantize});
  check_owners<ReduceOptions>({Op::kMean});
  check_owners<TransposeOptions>({Op::kTranspose});
  check_owners<ConcatOptions>({Op::kConcat});
  check_owners<GatherOptions>({Op::kGather, Op::kGatherElements});
  check_owners<PadOptions>({Op::kPad});
  check_owners<StridedSliceOptions>({Op::kStridedSlice});
  check_owners<ResizeOptions>({Op::kResize});
  check_owners<UnaryOptions>({Op::kLeakyRelu, Op::kHardSigmoid, Op::kElu, Op::kPow, Op::kSelu, Op::kCelu,
                              Op::kThresholdedRelu, Op::kShrink});
  check_owners<L2NormalizeOptions>({Op::kL2Normalize});
  check_owners<BatchMatMulOptions>({Op::kBatchMatMul});
  check_owners<TopKOptions>({Op::kTopK});
  check_owners<OneHotOptions>({Op::kOneHot});
  check_owners<NormalizeOptions>({Op::kNormalize});
  int32_t with_options = 0;
  for (int32_t i = 0; i < kOpCount; ++i)
    with_options += NodeOptions(static_cast<Op>(i)).kind() != OptionsKind::kNone ? 1 : 0;
  CHECK(owners == with_options);
  CHECK(NodeOptions().kind() == OptionsKind::kNone);
  CHECK(options_kind(static_cast<Op>(0x8000)) == OptionsKind::kNone);
}

TEST_CASE("what several operators have is found in each of them") {
  check_part(Op::kConv2d, &Conv2dOptions::clamp);
  check_part(Op::kConv2d, &Conv2dOptions::window);
  check_part(Op::kConv2d, &Conv2dOptions::requantization);
  check_part(Op::kConv2d, &Conv2dOptions::intermediate);
  check_part(Op::kDepthwiseConv2d, &DepthwiseConv2dOptions::clamp);
  check_part(Op::kDepthwiseConv2d, &DepthwiseConv2dOptions::window);
  check_part(Op::kDepthwiseConv2d, &DepthwiseConv2dOptions::requantization);
  check_part(Op::kFullyConnected, &FullyConnectedOptions::clamp);
  check_part(Op::kFullyConnected, &FullyConnectedOptions::requantization);
  check_part(Op::kMaxPool2d, &Pool2dOptions::clamp);
  check_part(Op::kMaxPool2d, &Pool2dOptions::window);
  check_part(Op::kSub, &AddOptions::clamp);
  check_part(Op::kClamp, &ElementwiseOptions::clamp);
  check_part(Op::kMean, &ReduceOptions::clamp);
  const NodeOptions none(Op::kConcat);
  CHECK(none.get<Clamp>() == nullptr);
  CHECK(none.get<Window2d>() == nullptr);
  CHECK(none.value<Clamp>().hi == 127);
  CHECK(none.value<Window2d>().kernel_h == 1);
  CHECK(none.value<Conv2dOptions>().groups == 1);
}

TEST_CASE("all options are written and read again") {
  Random random(5);
  for (int32_t i = 1; i < kOpCount; ++i) {
    const auto op = static_cast<Op>(i);
    CAPTURE(op_name(op));
    for (int32_t trial = 0; trial < 50; ++trial) {
      ModelBuilder b;
      const NodeOptions options = trial == 0 ? NodeOptions(op) : any_options(op, random, b);
      const AlignedBytes file = file_with(b, op, options);
      const Result<Model> model = Model::open(file.view());
      REQUIRE_MESSAGE(static_cast<bool>(model), text_of(model.error()));
      REQUIRE(same(model->node(0).options, options));
      // Nothing stands in the file for defaults.
      if (trial == 0) REQUIRE(unpack(file)->nodes[0]->options.type == schema::Options::NONE);
    }
  }
}

TEST_CASE("flatc's reader finds what was written, and ours what flatc's writer wrote") {
  ModelBuilder b;
  NodeOptions options(Op::kConv2d);
  auto& conv = options.as<Conv2dOptions>();
  conv.clamp = {-1.5f, 6.0f, -7, 100};
  conv.window = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, true};
  const std::vector<float> multiplier = {0.5f, 0.25f};
  conv.requantization.multiplier = {multiplier.data(), multiplier.size()};
  conv.requantization.folded_bias = b.keep({3, -4, 5});
  conv.groups = 11;
  conv.intermediate = {0.125f, -12};
  conv.add_bits = 20;
  const auto found = unpack(file_with(b, Op::kConv2d, options));
  const schema::Conv2DOptionsT* const o = found->nodes[0]->options.AsConv2DOptions();
  REQUIRE(o != nullptr);
  CHECK((o->clamp->min == -1.5f && o->clamp->max == 6.0f && o->clamp->lo == -7 && o->clamp->hi == 100));
  const schema::Window2DT& w = *o->window;
  CHECK((w.kernel_h == 1 && w.kernel_w == 2 && w.stride_h == 3 && w.stride_w == 4 && w.dilation_h == 5));
  CHECK((w.dilation_w == 6 && w.pad_top == 7 && w.pad_left == 8 && w.pad_bottom == 9 && w.pad_right == 10));
  CHECK(w.count_include_pad);
  CHECK(o->requantization->multiplier == multiplier);
  CHECK(o->requantization->folded_bias == std::vector<int32_t>{3, -4, 5});
  CHECK(o->groups == 11);
  CHECK((o->intermediate->scale == 0.125f && o->intermediate->zero_point == -12));
  CHECK(o->add_bits == 20);

  found->nodes[0]->op = schema::OpCode::Resize;
  schema::ResizeOptionsT resize;
  resize.interpolation = schema::Interpolation::Bilinear;
  resize.rounding = schema::NearestRounding::HalfUp;
  found->nodes[0]->options.Set(std::move(resize));
  const AlignedBytes packed = pack(*found);
  const NodeOptions read = Model::open(packed.view())->node(0).options;
  CHECK(read.as<ResizeOptions>().interpolation == Interpolation::kBilinear);
  CHECK(read.as<ResizeOptions>().coordinates == Coordinates::kHalfPixel);
  CHECK(read.as<ResizeOptions>().rounding == NearestRounding::kHalfUp);
}

TEST_CASE("copies have lists of their own") {
  ModelBuilder b, other;
  NodeOptions options(Op::kStridedSlice);
  options.as<StridedSliceOptions>() = {b.keep({1, 2}), b.keep({3, 4, 5})};
  CHECK(listed_options(options) == 5);
  const NodeOptions copy = copy_options(options, other.arena());
  CHECK(same(copy, options));
  CHECK(copy.as<StridedSliceOptions>().begin.data != options.as<StridedSliceOptions>().begin.data);
  CHECK(copy.as<StridedSliceOptions>().strides.data != options.as<StridedSliceOptions>().strides.data);
}

}  // namespace intaglio::test::node_options_test
