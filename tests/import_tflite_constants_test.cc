// Constants of a TFLite file as a handler sees them: each access by itself, with what it refuses.
#include <cmath>

#include "importers/draft/quantized_tables.h"
#include "importers/tflite/tflite_operators.h"
#include "tests/support/one_tflite_op.h"
#include "tests/support/thrown.h"

namespace intaglio::test::import_tflite_constants_test {

using namespace importers;
using importers::Shape;
namespace tflite = intaglio::tflite;
using intaglio::Clamp;
using intaglio::DType;
using intaglio::Op;

namespace {

using OneOp = OneTfliteOp;
using Dims = std::vector<int32_t>;
using Integers = std::vector<int64_t>;
using Reals = std::vector<float>;

constexpr int8_t kHalf = 1;

template <typename T>
std::vector<uint8_t> bytes_of(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T>
OneOp constants_of(int8_t type, const std::vector<T>& values) {
  return constant_of(type, {static_cast<int32_t>(values.size())}, bytes_of(values));
}

}  // namespace

TEST_CASE("constants: bytes, shapes and types") {
  OneOp reals = constants_of<float>(kTfliteFloat, {1.5f, -2.0f});
  CHECK(reals.op().is_constant(0));
  const DraftTensor made = reals.op().constant(0);
  CHECK(made.constant);
  CHECK(values_of<float>(made) == Reals{1.5f, -2.0f});
  const auto spent = [](const OneOp& one) { return one.draft.budget->spent().memory; };
  CHECK(spent(reals) == 8 + 256);
  CHECK(thrown([&] { (void)reals.op().activation(0); }) == "input 0 ('k') is a constant");
  TfliteOp op = reals.op();
  const int32_t added = op.activation_or_constant(0);
  CHECK(reals.draft.tensor(added).constant);
  CHECK(spent(reals) == 2 * (8 + 256));
  reals.draft.budget = std::make_shared<ImportBudget>(ImportLimits{0, 2 * (8 + 256) - 1});
  CHECK(thrown([&] { (void)op.constant(0); }).empty());
  CHECK_THROWS_AS((void)op.constant(0), OverBudget);

  OneOp codes = constant_of(kTfliteUint8, {2}, {0, 255}, {{0.5f}, 128});
  CHECK(values_of<int8_t>(codes.op().constant(0)) == std::vector<int8_t>{-128, 127});
  OneOp signed_codes = constant_of(kTfliteInt8, {2}, {0x80, 0x7f}, {{0.5f}, 0});
  CHECK(values_of<int8_t>(signed_codes.op().constant(0)) == std::vector<int8_t>{-128, 127});
  OneOp half = constants_of<uint16_t>(kHalf, {0x3c00, 0xc000});
  CHECK(values_of<float>(half.op().constant(0)) == Reals{1.0f, -2.0f});
  CHECK(spent(half) == 8 + 256);
  OneOp scalar = constant_of(kTfliteFloat, {}, bytes_of(Reals{3.0f}));
  CHECK(scalar.op().constant(0).shape == Shape{1});

  const auto says = [](OneOp one) { return thrown([&] { (void)one.op().constant(0); }); };
  CHECK(says(constant_of(kTfliteFloat, {2}, bytes_of(Reals{1}))) ==
        "tensor 'k': it holds 4 bytes, its shape [2] needs 8");
  CHECK(says(constant_of(kTfliteFloat, {1}, bytes_of(Reals{1, 2}))) ==
        "tensor 'k': it holds 8 bytes, its shape [1] needs 4");
  CHECK(says(constant_of(kHalf, {2}, {1, 2})) == "tensor 'k': it holds 2 bytes, its shape [2] needs 4");
  OneOp missing =
      tensor_of([](TfliteBuilder& b) { return b.tensor("k", kTfliteFloat, {1}, TfliteScales{}, 9); });
  CHECK(thrown([&] { (void)missing.op().is_constant(0); }) == "its buffer 9 does not exist; the file has 1");
  OneOp next =
      tensor_of([](TfliteBuilder& b) { return b.tensor("k", kTfliteFloat, {1}, TfliteScales{}, 1); });
  CHECK(thrown([&] { (void)next.op().is_constant(0); }) == "its buffer 1 does not exist; the file has 1");
  OneOp activation = tensor_of([](TfliteBuilder& b) { return b.tensor("k", kTfliteFloat, {1}); });
  CHECK(!activation.op().is_constant(0));
  CHECK(thrown([&] { (void)activation.op().constant(0); }) == "tensor 'k': it must be a constant");
}

TEST_CASE("integers with a scale are the reals that they stand for, of any size") {
  OneOp wide = constant_of(kTfliteInt64, {3}, bytes_of<int64_t>({int64_t{1} << 33, -(int64_t{1} << 40), 7}),
                           {{0.5f}, 0});
  const DraftTensor reals = wide.op().constant(0);
  CHECK(reals.dtype == DType::kF32);
  CHECK(reals.scales.empty());
  CHECK(values_of<float>(reals) == Reals{0x1p32f, -0x1p39f, 3.5f});
  OneOp channels =
      constant_of(kTfliteInt64, {2}, bytes_of<int64_t>({INT64_MIN, INT64_MAX}), {{0.5f, 0.25f}, 0, 0});
  CHECK(values_of<float>(channels.op().constant(0)) == Reals{-0x1p62f, 0x1p61f});
  OneOp plain = constant_of(kTfliteInt64, {1}, bytes_of<int64_t>({int64_t{1} << 33}));
  CHECK(thrown([&] { (void)plain.op().constant(0); }) ==
        "tensor 'k': number 8589934592 is outside the range of 32 bits");
  OneOp least = constant_of(kTfliteInt32, {2}, bytes_of<int32_t>({INT32_MIN, INT32_MAX}), {{0.5f}, 1});
  CHECK(values_of<float>(dequantized(least.op().constant(0))) == Reals{-0x1p30f, 0x1p30f});
}

TEST_CASE("constants that an operator before has folded") {
  OneOp one = tensor_of([](TfliteBuilder& b) { return b.tensor("k", kTfliteInt32, {2}); });
  DraftTensor folded;
  folded.name = "k";
  folded.constant = true;
  folded.dtype = DType::kS32;
  folded.shape = {};
  set_values(folded, Dims{-7});
  one.draft.tensors.push_back(folded);
  one.file.made[0] = 0;
  CHECK(one.op().is_constant(0));
  CHECK(one.op().constant(0).shape == Shape{1});
  CHECK(one.op().integers(0) == Integers{-7});
  CHECK(one.op().integer(0) == -7);
  CHECK(one.op().values(0).shape.empty());
  CHECK(one.op().values(0).integers == Integers{-7});
  one.draft.tensors[0].constant = false;
  CHECK(!one.op().is_constant(0));
}

TEST_CASE("integers of both widths") {
  OneOp wide = constants_of<int64_t>(kTfliteInt64, {INT64_MIN, 5}),
        narrow = constants_of<int32_t>(kTfliteInt32, {-6, 7});
  CHECK(wide.op().integers(0) == Integers{INT64_MIN, 5});
  CHECK(narrow.op().integers(0) == Integers{-6, 7});
  CHECK(thrown([&] { (void)narrow.op().integer(0); }) == "input 0 must be one number, it has 2");
  OneOp one = constants_of<int64_t>(kTfliteInt64, {INT32_MAX}),
        large = constants_of<int64_t>(kTfliteInt64, {int64_t{INT32_MAX} + 1});
  CHECK(one.op().integer(0) == INT32_MAX);
  CHECK(thrown([&] { (void)large.op().integer(0); }) == "input 2147483648 is outside the range of 32 bits");
  OneOp real = constants_of<float>(kTfliteFloat, {1.0f});
  CHECK(thrown([&] { (void)real.op().integers(0); }) == "tensor 'k': it must hold int32 or int64");
  OneOp odd = constant_of(kTfliteInt64, {1}, std::vector<uint8_t>(12)),
        odd32 = constant_of(kTfliteInt32, {1}, std::vector<uint8_t>(6));
  CHECK(thrown([&] { (void)odd.op().integers(0); }) == "tensor 'k': it holds 12 bytes");
  CHECK(thrown([&] { (void)odd32.op().integers(0); }) == "tensor 'k': it holds 6 bytes");
  OneOp most = constant_of(kTfliteInt32, {1 << 20}, std::vector<uint8_t>(4 << 20)),
        more = constant_of(kTfliteInt32, {1}, std::vector<uint8_t>((4 << 20) + 4));
  CHECK(most.op().integers(0).size() == 1 << 20);
  CHECK(thrown([&] { (void)more.op().integers(0); }) == "tensor 'k': it holds 4194308 bytes");
  OneOp activation = tensor_of([](TfliteBuilder& b) { return b.tensor("k", kTfliteInt32, {1}); });
  CHECK(thrown([&] { (void)activation.op().integers(0); }) == "tensor 'k': it must be a constant");
}

TEST_CASE("numbers that are folded") {
  const auto holds = [](int8_t type, bool constant, int8_t out) {
    OneOp one([&](TfliteBuilder& b) {
      const std::vector<uint8_t> data(8);
      constant ? b.constant("k", type, {1}, data) : b.tensor("k", type, {1});
      b.tensor("y", out, {1});
      return std::pair<Dims, Dims>{{0, -1}, {1}};
    });
    return one.op().holds_numbers();
  };
  for (const int8_t type : {kTfliteFloat, TfliteType(kHalf), kTfliteInt32, kTfliteInt64}) {
    CHECK(holds(type, true, kTfliteFloat));
    CHECK(!holds(type, false, kTfliteFloat));
    CHECK(holds(kTfliteFloat, true, type));
  }
  for (const int8_t type : {kTfliteInt8, kTfliteUint8}) {
    CHECK(!holds(type, true, kTfliteFloat));
    CHECK(!holds(kTfliteFloat, true, type));
  }
  OneOp wrong = constant_of(kTfliteFloat, {1, 1}, bytes_of(Reals{2.0f}));
  CHECK(wrong.op().values(0).reals == Reals{2.0f});
  CHECK(wrong.op().values(0).is_real);
  CHECK(wrong.op().output_is_real());
  OneOp integers = constant_of(kTfliteInt32, {3}, bytes_of(Dims{1, 2}));
  CHECK(!integers.op().output_is_real());
  CHECK(thrown([&] { (void)integers.op().values(0); }) ==
        "tensor 'k': its shape [3] does not fit what it holds");
  CHECK(integers.op().shape_in_file(0) == Shape{3});
  CHECK(integers.op().output_shape_in_file() == Shape{3});

  OneOp result = tensor_of([](TfliteBuilder& b) { return b.tensor("y", kTfliteFloat, {2}); });
  result.op().set_values({{2}, false, {3, -4}, {}});
  REQUIRE(result.file.made[0] == 0);
  CHECK(values_of<int32_t>(result.draft.tensor(0)) == Dims{3, -4});
  CHECK(result.draft.tensor(0).dtype == DType::kS32);
  CHECK(result.draft.budget->spent().memory == 8 + 256);
  CHECK(thrown([&] {
          result.op().set_values({{1}, true, {}, {1.0f}});
        }) == "its output is written twice, or is an input");
  result.file.made[0] = TfliteFile::kNotMade;
  CHECK(thrown([&] {
          result.op().set_values({{1}, false, {int64_t{1} << 31}, {}});
        }) == "number 2147483648 is outside the range of 32 bits");
  result.draft.budget = std::make_shared<ImportBudget>(ImportLimits{0, 2 * (4 + 256) - 1});
  CHECK(thrown([&] { result.op().set_values({{1}, true, {}, {1.0f}}); }).empty());
  result.file.made[0] = TfliteFile::kNotMade;
  CHECK_THROWS_AS(result.op().set_values({{1}, true, {}, {1.0f}}), OverBudget);
}

TEST_CASE("integers with a scale as reals") {
  Draft draft;
  DraftTensor wide =
      draft.tensor(add_constant(draft, "w", DType::kS32, {3}, std::vector<int32_t>{100000, -5, 0}));
  wide.scales = {0.5f};
  CHECK(values_of<float>(dequantized(wide)) == Reals{50000.0f, -2.5f, 0.0f});
}

TEST_CASE("codes as reals, and fused activations") {
  DraftTensor codes;
  codes.name = "w";
  codes.constant = true;
  codes.dtype = DType::kS8;
  codes.shape = {2, 2, 2};
  codes.scales = {0.5f, 2.0f};
  codes.axis = 1;
  set_values(codes, std::vector<int8_t>{1, 2, 3, 4, -1, -2, -3, -4});
  const DraftTensor reals = dequantized(codes);
  CHECK(values_of<float>(reals) == Reals{0.5f, 1.0f, 6.0f, 8.0f, -0.5f, -1.0f, -6.0f, -8.0f});
  CHECK(reals.dtype == DType::kF32);
  CHECK(reals.scales.empty());
  CHECK(reals.axis == -1);
  CHECK(reals.zero_point == 0);
  codes.scales = {0.25f};
  codes.axis = -1;
  codes.zero_point = -4;
  CHECK(values_of<float>(dequantized(codes)) == Reals{1.25f, 1.5f, 1.75f, 2.0f, 0.75f, 0.5f, 0.25f, 0.0f});
  CHECK(values_of<float>(dequantized(reals)) == values_of<float>(reals));
  codes.scales.clear();
  CHECK(thrown([&] { (void)dequantized(codes); }) == "constant 'w' has no scale");

  DraftTensor real, s8;
  real.dtype = DType::kF32;
  s8.dtype = DType::kS8;
  s8.scales = {0.5f};
  s8.zero_point = -10;
  const auto clamp = [](tflite::Activation activation, const DraftTensor& output) {
    DraftNode node;
    node.become(Op::kAdd);
    set_activation(node, activation, output);
    return node.options.as<Clamp>();
  };
  CHECK(clamp(tflite::Activation::None, real).min == -INFINITY);
  CHECK(clamp(tflite::Activation::Relu, real).min == 0.0f);
  CHECK(clamp(tflite::Activation::Relu, real).max == INFINITY);
  CHECK(clamp(tflite::Activation::ReluN1To1, real).min == -1.0f);
  CHECK(clamp(tflite::Activation::ReluN1To1, real).max == 1.0f);
  CHECK(clamp(tflite::Activation::Relu6, real).min == 0.0f);
  CHECK(clamp(tflite::Activation::Relu6, real).max == 6.0f);
  CHECK(clamp(tflite::Activation::None, s8).lo == -128);
  CHECK(clamp(tflite::Activation::Relu, s8).lo == -10);
  CHECK(clamp(tflite::Activation::Relu, s8).hi == 127);
  CHECK(clamp(tflite::Activation::ReluN1To1, s8).lo == -12);
  CHECK(clamp(tflite::Activation::ReluN1To1, s8).hi == -8);
  CHECK(clamp(tflite::Activation::Relu6, s8).hi == 2);
  CHECK(thrown([&] { (void)clamp(static_cast<tflite::Activation>(4), real); }) ==
        "fused activation 4 is not supported");
}

}  // namespace intaglio::test::import_tflite_constants_test
