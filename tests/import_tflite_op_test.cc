// One operator of a TFLite file as its handler sees it: tensors, inputs and outputs, and what is refused.
#include <cmath>
#include <functional>

#include "tests/support/imported.h"
#include "tests/support/one_tflite_op.h"
#include "tests/support/thrown.h"

namespace intaglio::test::import_tflite_op_test {

using namespace importers;
using importers::Shape;
namespace tflite = intaglio::tflite;
using intaglio::DType;

namespace {

using OneOp = OneTfliteOp;
using Dims = std::vector<int32_t>;
using Integers = std::vector<int64_t>;
using Reals = std::vector<float>;

constexpr int8_t kHalf = 1, kInt16 = 7;

}  // namespace

// y = x - the constant, which `constant` adds.
std::string difference(const std::function<int32_t(TfliteBuilder& file)>& constant) {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {2, 3}), c = constant(file),
                y = file.tensor("y", kTfliteFloat, {2, 3});
  constexpr int32_t kSub = 41;
  file.op(kSub, {x, c}, {y}, tflite::Options::SubOptions, tflite::CreateSubOptions(file.fbb()).Union());
  return file.finish({x}, {y});
}

TEST_CASE("a constant with a zero point for each channel becomes reals") {
  for (const int8_t type : {kTfliteInt8, kTfliteUint8}) {
    const int64_t shift = type == kTfliteUint8 ? 128 : 0;
    const std::string bytes = difference([&](TfliteBuilder& file) {
      const std::vector<float> scale{0.5f, 2.0f};
      const std::vector<int64_t> zero_points{shift - 3, shift + 127};
      const auto quantization = tflite::CreateQuantizationDirect(file.fbb(), &scale, &zero_points, 0);
      std::vector<uint8_t> codes;
      for (const int64_t code : {-3, -1, 127, -128, 127, 0})
        codes.push_back(static_cast<uint8_t>(code + shift));
      const int32_t w = file.tensor("w", type, {2, 3}, quantization, file.buffer(codes)),
                    reals = file.tensor("reals", kTfliteFloat, {2, 3});
      file.op(kTfliteDequantize, {w}, {reals});
      return reals;
    });
    Import import(bytes);
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(run_import<float>(import, Reals(6, 0.0f)) == Reals{0, -1, -65, 510, 0, 254});
  }
}

TEST_CASE("a constant whose bytes stand behind the model's tables") {
  const Reals values{1, 2, 3, 4, 5, 6};
  const auto file_of = [&](uint64_t offset, uint64_t size) {
    std::string bytes = difference([&](TfliteBuilder& file) {
      return file.tensor("c", kTfliteFloat, {2, 3}, TfliteScales(), file.buffer_behind(offset, size));
    });
    bytes.append(reinterpret_cast<const char*>(values.data()), sizeof(float) * values.size());
    return bytes;
  };
  const uint64_t size = sizeof(float) * values.size(), offset = file_of(4096, size).size() - size;
  Import import(file_of(offset, size));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, Reals(6, 1.0f)) == Reals{0, -1, -2, -3, -4, -5});
  for (const uint64_t far : {offset + 1, uint64_t{1} << 40, UINT64_MAX})
    CHECK(Import(file_of(far, size)).says("its 24 bytes at " + std::to_string(far) + " are not in the file"));
  CHECK(Import(file_of(offset, UINT64_MAX)).says("are not in the file"));
  CHECK(!Import(file_of(offset, size - 1)).good());
}

TEST_CASE("tensors: types, names and quantization") {
  const auto read = [](int8_t type, const TfliteScales& scales = {}, const Dims& dims = {2, 3}) {
    OneOp one = tensor_of([&](TfliteBuilder& b) { return b.tensor("t", type, dims, scales); });
    return tflite_tensor(one.file, 0);
  };
  CHECK(read(kTfliteFloat).dtype == DType::kF32);
  CHECK(read(kTfliteInt32).dtype == DType::kS32);
  CHECK(read(kTfliteInt8).dtype == DType::kS8);
  CHECK(read(kTfliteUint8).dtype == DType::kS8);
  CHECK(read(kTfliteFloat).name == "t");
  CHECK(read(kTfliteFloat).shape == Shape{2, 3});
  const auto says = [&](int8_t type, const TfliteScales& scales = {}, const Dims& dims = {2, 3}) {
    return thrown([&] { (void)read(type, scales, dims); });
  };
  for (const int8_t type : {kHalf, kInt16}) CHECK(read(type, {{0.5f}}).dtype == DType::kF32);
  CHECK(read(kTfliteInt64).dtype == DType::kS32);
  CHECK(says(5) == "tensor 't': strings are not supported");
  CHECK(says(-1) == "tensor 't': element type -1 is not supported");

  const DraftTensor s8 = read(kTfliteInt8, {{0.5f}, -7}), u8 = read(kTfliteUint8, {{0.5f}, 3});
  CHECK(s8.scales == Reals{0.5f});
  CHECK(s8.axis == -1);
  CHECK(s8.zero_point == -7);
  CHECK(u8.zero_point == 3 - 128);
  CHECK(read(kTfliteFloat, {{0.5f}, 3}).scales.empty());
  const DraftTensor channels = read(kTfliteInt8, {{0.5f, 1.0f, 2.0f}, 0, 1});
  CHECK(channels.scales == Reals{0.5f, 1.0f, 2.0f});
  CHECK(channels.axis == 1);
  CHECK(read(kTfliteInt8, {{0.5f, 1.0f}, 0, -2}).axis == 0);
  CHECK(says(kTfliteInt8, {{0.5f, 1.0f}, 0, 1}) == "tensor 't': 2 scales do not fit axis 1 of [2, 3]");
  CHECK(says(kTfliteInt8, {{0.5f, 1.0f}, 0, 2}) == "tensor 't': axis 2 does not exist in a tensor of rank 2");
  for (const int64_t good : {-128, 127}) CHECK(read(kTfliteInt8, {{0.5f}, good}).zero_point == good);
  for (const int64_t good : {0, 255}) CHECK(read(kTfliteUint8, {{0.5f}, good}).zero_point == good - 128);
  for (const int64_t bad : {-129, 128})
    CHECK(says(kTfliteInt8, {{0.5f}, bad}) ==
          "tensor 't': the zero point " + std::to_string(bad) + " is not allowed");
  for (const int64_t bad : {-1, 256})
    CHECK(says(kTfliteUint8, {{0.5f}, bad}) ==
          "tensor 't': the zero point " + std::to_string(bad) + " is not allowed");
  CHECK(says(kTfliteInt8, {{0.5f, 1.0f}, 1, 0}) ==
        "tensor 't': the zero point 1 is not allowed with a scale for each channel");
  CHECK(read(kTfliteUint8, {{0.5f, 1.0f}, 128, 0}).zero_point == 0);
  const float least = std::ldexp(1.0f, -40), most = std::ldexp(1.0f, 40), least_bias = std::ldexp(1.0f, -80);
  CHECK(read(kTfliteInt8, {{least}}).scales == Reals{least});
  CHECK(read(kTfliteInt8, {{most}}).scales == Reals{most});
  CHECK(read(kTfliteInt32, {{least_bias}}).scales == Reals{least_bias});
  // As of a tensor that is always 0.
  CHECK(read(kTfliteInt8, {{std::nextafter(least, 0.0f)}}).scales == Reals{least});
  CHECK(read(kTfliteInt8, {{1e-30f}}).scales == Reals{least});
  CHECK(read(kTfliteInt32, {{std::nextafter(least_bias, 0.0f)}}).scales == Reals{least_bias});
  for (const float scale : {std::nextafter(most, INFINITY), 0.0f, -1.0f, NAN})
    CHECK(says(kTfliteInt8, {{scale}}) ==
          text("tensor 't': the scale ", scale, " is not above 0 and at most 2^40"));
}

TEST_CASE("tensors: zero points that differ, none, and what is not supported") {
  const auto of = [](const Reals& scale, const Integers& zero_points) {
    return tensor_of([&](TfliteBuilder& b) {
      return b.tensor(
          "t", kTfliteUint8, {2},
          tflite::CreateQuantizationDirect(b.fbb(), &scale, zero_points.empty() ? nullptr : &zero_points, 0));
    });
  };
  OneOp none = of({0.5f}, {}), differ = of({0.5f}, {3, 4}), same = of({0.5f}, {3, 3}), no_scale = of({}, {3});
  CHECK(tflite_tensor(none.file, 0).zero_point == -128);
  CHECK(tflite_tensor(same.file, 0).zero_point == -125);
  CHECK(tflite_tensor(no_scale.file, 0).zero_point == 0);
  CHECK(thrown([&] { (void)tflite_tensor(differ.file, 0); }) ==
        "tensor 't': the zero point 4 is not allowed");
  OneOp variable = tensor_of([](TfliteBuilder& b) { return b.variable_tensor("", kTfliteFloat, {1}); });
  CHECK(thrown([&] { (void)tflite_tensor(variable.file, 0); }) ==
        "tensor 'tensor_0': variable tensors are not supported");
  CHECK(tflite_tensor_name(variable.file, 0) == "tensor_0");
  CHECK(thrown([&] { (void)variable.op().activation(0); }) ==
        "input 0 ('tensor_0') is a variable tensor, which is not supported");
}

TEST_CASE("inputs and outputs exist") {
  const auto says = [](const Dims& inputs, const Dims& outputs) {
    return thrown([&] {
      OneOp one([&](TfliteBuilder& b) {
        b.tensor("a", kTfliteFloat, {1});
        b.tensor("b", kTfliteFloat, {1});
        return std::pair<Dims, Dims>{inputs, outputs};
      });
      (void)one.op();
    });
  };
  CHECK(says({0, 1, -1}, {1}).empty());
  CHECK(says({0}, {}) == "it has no output");
  CHECK(says({2}, {1}) == "tensor index 2 does not exist; the file has 2 tensors");
  CHECK(says({-2}, {1}) == "tensor index -2 does not exist; the file has 2 tensors");
  CHECK(says({0}, {2}) == "tensor index 2 does not exist; the file has 2 tensors");
  CHECK(says({0}, {-1}) == "tensor index -1 does not exist; the file has 2 tensors");
  OneOp one([](TfliteBuilder& b) {
    b.tensor("a", kTfliteFloat, {1});
    b.tensor("y", kTfliteFloat, {1});
    return std::pair<Dims, Dims>{{0, -1, 0}, {1}};
  });
  TfliteOp op = one.op();
  const auto count = [&](size_t least, size_t most) { return thrown([&] { op.check_inputs(least, most); }); };
  CHECK(count(3, 3).empty());
  CHECK(count(1, 2) == "it has 3 inputs where 1 to 2 are expected");
  CHECK(count(4, 9) == "it has 3 inputs where 4 to 9 are expected");
  CHECK(op.has_input(0));
  CHECK(!op.has_input(1));
  CHECK(!op.has_input(3));
  CHECK(thrown([&] { (void)op.is_constant(1); }) == "input 1 is missing");
  CHECK(thrown([&] { (void)op.activation(0); }) == "input 0 ('a') is read before anything writes it");
  one.file.made[0] = TfliteFile::kFailed;
  CHECK_THROWS_AS((void)op.activation(0), ReadsFailed);
  one.file.made[0] = add_activation(one.draft, "a", DType::kF32, {1});
  CHECK(op.activation(0) == one.file.made[0]);
  CHECK(op.activation_or_constant(2) == one.file.made[0]);
}

TEST_CASE("outputs: what the file says of them holds") {
  const auto with_output = [](const std::function<int32_t(TfliteBuilder&)>& fill) { return tensor_of(fill); };
  OneOp one = with_output([](TfliteBuilder& b) { return b.tensor("y", kTfliteFloat, {2, 3}); });
  TfliteOp op = one.op();
  CHECK(thrown([&] {
          (void)op.output({3, 2});
        }) == "its output is [2, 3] in the file, its inputs give [3, 2]");
  one.file.shapes_changed = true;
  CHECK(one.draft.tensor(op.output({4, 3})).shape == Shape{4, 3});
  CHECK(one.file.made[0] == 0);
  CHECK(thrown([&] { (void)op.output({4, 3}); }) == "tensor 'y' is written twice, or is an input");
  const auto says = [&](const std::function<int32_t(TfliteBuilder&)>& fill) {
    return thrown([&] {
      OneOp other = with_output(fill);
      (void)other.op().output({2});
    });
  };
  OneOp integers = with_output([](TfliteBuilder& b) { return b.tensor("y", kTfliteInt32, {2}); });
  CHECK(integers.draft.tensor(integers.op().output({2})).dtype == DType::kF32);  // a run computes so
  CHECK(says([](TfliteBuilder& b) { return b.tensor("y", kTfliteInt8, {2}); }) ==
        "tensor 'y' is int8 and needs one scale, it has 0");
  CHECK(says([](TfliteBuilder& b) {
          return b.tensor("y", kTfliteInt8, {2}, {{1.0f, 2.0f}, 0, 0});
        }) == "tensor 'y' is int8 and needs one scale, it has 2");
  CHECK(says([](TfliteBuilder& b) { return b.tensor("y", kTfliteInt8, {2}, {{1.0f}, 0, 0}); }).empty());
  CHECK(says([](TfliteBuilder& b) {
          return b.constant("y", kTfliteFloat, {2}, Reals{1, 2});
        }) == "tensor 'y' is a constant and must not be written");
  OneOp two([](TfliteBuilder& b) {
    b.tensor("y", kTfliteFloat, {2});
    b.tensor("z", kTfliteFloat, {2});
    return std::pair<Dims, Dims>{{}, {0, 1}};
  });
  TfliteOp both = two.op();
  CHECK(thrown([&] { (void)both.output({2}); }) == "it has 2 outputs where 1 is expected");
  CHECK(thrown([&] { both.set_constant({}); }) == "it has 2 outputs where 1 is expected");
  both.allow_outputs();
  CHECK(two.draft.tensor(both.output({2}, 1)).name == "z");
  CHECK(two.file.made[1] == 0);
  CHECK(two.file.made[0] == TfliteFile::kNotMade);
}

TEST_CASE("outputs on the scale of an input") {
  OneOp one = tensor_of([](TfliteBuilder& b) { return b.tensor("y", kTfliteInt8, {2}, {{0.5f}, 3}); });
  DraftTensor x;
  x.dtype = DType::kS8;
  x.shape = {2};
  x.scales = {0.5f};
  x.zero_point = 3;
  const auto same = [&](const DraftTensor& from) {
    one.draft.tensors = {from};
    one.draft.nodes.clear();
    one.file.made[0] = TfliteFile::kNotMade;
    TfliteOp op = one.op();
    const int32_t made = op.output_same(0, {2});
    op.finish_same();
    return made;
  };
  CHECK(same(x) == one.file.made[0]);
  CHECK(one.draft.nodes.empty());
  x.zero_point = 4;
  CHECK(same(x) != one.file.made[0]);
  REQUIRE(one.draft.nodes.size() == 1);
  CHECK(one.draft.nodes[0].outputs == std::vector<int32_t>{one.file.made[0]});
  x.dtype = DType::kF32;
  CHECK(thrown([&] { (void)same(x); }) == "its output has another element type than its input");
}

}  // namespace intaglio::test::import_tflite_op_test
