// Whole models of one node against the arithmetic's own program (tests/spec/arithmetic.py): element by element, tables,
// softmax, resizing. INTAGLIO_VECTORS names the folder of make_vectors.py's cases.
#include <cmath>

#include "calibrator/bake/lookup_tables.h"
#include "kernels/arithmetic/requant.h"
#include "runtime/add_params.h"
#include "tests/support/float_bits.h"
#include "tests/support/spec_cases.h"

namespace intaglio::test::spec_oracle_elements_test {
namespace {

// y = op(a, b), where b is repeated over the leading dimensions of a.
void check_binary(const char* name, Op op) {
  for_each_case(name, 7, [op](VectorFile& file) {
    Numbers p(file.s32());
    const int32_t z_a = p.next(), z_b = p.next(), z_out = p.next(), lo = p.next(), hi = p.next(),
                  bits = p.next();
    const std::vector<int32_t> a_shape = file.s32(), b_shape = file.s32();
    const std::vector<float> s = file.f32();
    const std::vector<int8_t> a = file.s8(), second = file.s8();
    ModelBuilder b;
    const int32_t ta = b.tensor("a", DType::kS8, a_shape, s[0], z_a);
    const int32_t tb = b.tensor("b", DType::kS8, b_shape, s[1], z_b);
    const int32_t ty = b.tensor("y", DType::kS8, a_shape, s[2], z_out);
    GraphNode& node = b.node(op, {ta, tb}, {ty});
    if (auto* const add = node.options.get<AddOptions>()) add->add_bits = static_cast<uint8_t>(bits);
    clamp_codes(node, lo, hi);
    b.input(ta);
    b.input(tb);
    b.output(ty);
    REQUIRE(run_model<int8_t>(b, a, second) == file.s8());
  });
}

TEST_CASE("add") { check_binary("add", Op::kAdd); }
TEST_CASE("subtract") { check_binary("sub", Op::kSub); }
TEST_CASE("multiply") { check_binary("mul", Op::kMul); }

TEST_CASE("divide") { check_binary("div", Op::kDiv); }

TEST_CASE("products of two activations") {
  for_each_case("batch_mat_mul", 8, [](VectorFile& file) {
    Numbers p(file.s32());
    const int32_t z_a = p.next(), z_b = p.next(), z_out = p.next();
    const bool transpose_b = p.next() != 0;
    const std::vector<int32_t> a_shape = file.s32(), b_shape = file.s32(), y_shape = file.s32();
    const std::vector<float> s = file.f32();
    const std::vector<int8_t> a = file.s8(), second = file.s8();
    ModelBuilder b;
    const int32_t ta = b.tensor("a", DType::kS8, a_shape, s[0], z_a);
    const int32_t tb = b.tensor("b", DType::kS8, b_shape, s[1], z_b);
    const int32_t ty = b.tensor("y", DType::kS8, y_shape, s[2], z_out);
    auto& options = b.node(Op::kBatchMatMul, {ta, tb}, {ty}).options.as<BatchMatMulOptions>();
    options.transpose_b = transpose_b;
    options.scale = s[3];
    b.input(ta);
    b.input(tb);
    b.output(ty);
    REQUIRE(run_model<int8_t>(b, a, second) == file.s8());
  });
}

TEST_CASE("parameters of add") {
  for_each_case("add_params", 3, [](VectorFile& file) {
    const std::vector<float> s = file.f32();
    const int32_t bits = file.s32()[0];
    const std::vector<int32_t> expected = file.s32();
    AddS8 p{};
    const bool accepted = set_add_multipliers(s[0], s[1], s[2], &p, bits);
    REQUIRE(accepted == (expected[2] != 0));
    if (accepted) REQUIRE(std::vector<int32_t>{p.a_multiplier, p.b_multiplier, p.right_shift} == expected);
  });
}

TEST_CASE("quantize") {
  for_each_case("quantize", 4, [](VectorFile& file) {
    Numbers p(file.s32());
    const int32_t z = p.next(), lo = p.next(), hi = p.next();
    const float s = file.f32()[0];
    const std::vector<float> x = file.f32();
    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kF32, {static_cast<int32_t>(x.size())});
    const int32_t ty = b.tensor("y", DType::kS8, {static_cast<int32_t>(x.size())}, s, z);
    clamp_codes(b.node(Op::kQuantize, {tx}, {ty}), lo, hi);
    b.input(tx);
    b.output(ty);
    REQUIRE(run_model<int8_t>(b, x) == file.s8());
  });
}

TEST_CASE("dequantize") {
  for_each_case("dequantize", 4, [](VectorFile& file) {
    const int32_t z = file.s32()[0];
    const float s = file.f32()[0];
    const std::vector<int8_t> x = file.s8();
    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kS8, {256}, s, z);
    const int32_t ty = b.tensor("y", DType::kF32, {256});
    b.node(Op::kDequantize, {tx}, {ty});
    b.input(tx);
    b.output(ty);
    REQUIRE(bits_of(run_model<float>(b, x)) == bits_of(file.f32()));
  });
}

double clamp_to_max(const NodeOptions& options, double x) {
  const double hi = options.as<Clamp>().max;
  return x < 0.0 ? 0.0 : (x > hi ? hi : x);
}
double exp_of_minus_magnitude(const NodeOptions&, double x) { return std::exp(-std::fabs(x)); }

TEST_CASE("lookup, and the tables that the calibrator bakes") {
  for_each_case("lookup", 5, [](VectorFile& file) {
    Numbers p(file.s32());
    const int32_t z_in = p.next(), z_out = p.next();
    const UnaryFunction function = p.next() == 0 ? clamp_to_max : exp_of_minus_magnitude;
    const std::vector<float> s = file.f32();
    const std::vector<int8_t> table = file.s8(), x = file.s8(), expected = file.s8();
    const auto n = static_cast<int32_t>(x.size());
    NodeOptions options(Op::kClamp);
    options.as<Clamp>().max = s[2];
    std::vector<int8_t> baked(256);
    make_unary_table(function, options, {s[0], z_in}, {s[1], z_out}, {baked.data(), baked.size()});
    REQUIRE(baked == table);
    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kS8, {n}, s[0], z_in);
    const int32_t tt = b.constant("t", DType::kS8, {256}, table);
    const int32_t ty = b.tensor("y", DType::kS8, {n}, s[1], z_out);
    b.node(Op::kLookup, {tx, tt}, {ty});
    b.input(tx);
    b.output(ty);
    REQUIRE(run_model<int8_t>(b, x) == expected);
  });
}

TEST_CASE("softmax, and the table that the calibrator bakes") {
  for_each_case("softmax", 5, [](VectorFile& file) {
    Numbers p(file.s32());
    const int32_t z_in = p.next(), z_out = p.next(), rows = p.next(), n = p.next();
    const std::vector<float> s = file.f32();
    const std::vector<int32_t> table = file.s32();
    const std::vector<int8_t> x = file.s8();
    std::vector<int32_t> baked(256);
    make_softmax_table(s[0], n, {baked.data(), baked.size()});
    REQUIRE(baked == table);
    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kS8, {rows, n}, s[0], z_in);
    const int32_t tt = b.constant("t", DType::kS32, {256}, table);
    const int32_t ty = b.tensor("y", DType::kS8, {rows, n}, s[1], z_out);
    b.node(Op::kSoftmax, {tx, tt}, {ty});
    b.input(tx);
    b.output(ty);
    REQUIRE(run_model<int8_t>(b, x) == file.s8());
  });
}

TEST_CASE("L2 normalization") {
  for_each_case("l2_normalize", 4, [](VectorFile& file) {
    Numbers p(file.s32());
    const int32_t rows = p.next(), n = p.next(), z_in = p.next(), z_out = p.next();
    const std::vector<float> s = file.f32();
    const std::vector<int8_t> x = file.s8();
    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kS8, {rows, n}, s[0], z_in);
    const int32_t ty = b.tensor("y", DType::kS8, {rows, n}, s[1], z_out);
    b.node(Op::kL2Normalize, {tx}, {ty}).options.as<L2NormalizeOptions>().min_norm = s[2];
    b.input(tx);
    b.output(ty);
    REQUIRE(run_model<int8_t>(b, x) == file.s8());
  });
}

// Options, x and its two parameters are set; x and y are [shape].
template <typename T>
std::vector<T> run_normalize(const NormalizeOptions& options, const std::vector<int32_t>& shape,
                             const std::vector<float>& scale, const std::vector<float>& shift,
                             const std::vector<T>& x, const std::vector<float>& s, int32_t z_in,
                             int32_t z_out) {
  const DType dtype = sizeof(T) == 1 ? DType::kS8 : DType::kF32;
  ModelBuilder b;
  const int32_t tx = b.tensor("x", dtype, shape, s[0], z_in), ty = b.tensor("y", dtype, shape, s[1], z_out);
  const int32_t factors = b.constant("scale", DType::kF32, {shape.back()}, scale),
                summands = b.constant("shift", DType::kF32, {shape.back()}, shift);
  b.node(Op::kNormalize, {tx, factors, summands}, {ty}).options.as<NormalizeOptions>() = options;
  b.input(tx);
  b.output(ty);
  return run_model<T>(b, x);
}

TEST_CASE("normalization") {
  for_each_case("normalize", 7, [](VectorFile& file) {
    Numbers p(file.s32());
    const int32_t z_in = p.next(), z_out = p.next();
    NormalizeOptions options;
    options.groups = p.next();
    options.over_map = p.next() != 0;
    options.keeps_mean = p.next() != 0;
    const std::vector<int32_t> shape = file.s32();
    const std::vector<float> s = file.f32();
    options.epsilon = s[2];
    options.root_epsilon = s[3];
    const std::vector<float> scale = file.f32(), shift = file.f32();
    const std::vector<int8_t> x = file.s8();
    REQUIRE(run_normalize(options, shape, scale, shift, x, s, z_in, z_out) == file.s8());
  });
}

TEST_CASE("normalization, FP32") {
  for_each_case("normalize_f32", 7, [](VectorFile& file) {
    Numbers p(file.s32());
    NormalizeOptions options;
    options.groups = p.next();
    options.over_map = p.next() != 0;
    options.keeps_mean = p.next() != 0;
    const std::vector<int32_t> shape = file.s32();
    const std::vector<float> epsilons = file.f32();
    options.epsilon = epsilons[0];
    options.root_epsilon = epsilons[1];
    const std::vector<float> scale = file.f32(), shift = file.f32(), x = file.f32();
    REQUIRE(bits_of(run_normalize(options, shape, scale, shift, x, {0.0f, 0.0f}, 0, 0)) ==
            bits_of(file.f32()));
  });
}

TEST_CASE("linear resizing") {
  for_each_case("resize_linear", 3, [](VectorFile& file) {
    Numbers p(file.s32());
    const int32_t n = p.next(), h = p.next(), w = p.next(), c = p.next(), oh = p.next(), ow = p.next();
    const Coordinates coordinates = p.next() != 0 ? Coordinates::kHalfPixel : Coordinates::kAsymmetric;
    const std::vector<int8_t> x = file.s8();
    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kS8, {n, h, w, c}, 0.5f, 3);
    const int32_t ty = b.tensor("y", DType::kS8, {n, oh, ow, c}, 0.5f, 3);
    b.node(Op::kResize, {tx}, {ty}).options.as<ResizeOptions>() = {Interpolation::kBilinear, coordinates, {}};
    b.input(tx);
    b.output(ty);
    REQUIRE(run_model<int8_t>(b, x) == file.s8());
  });
}

}  // namespace
}  // namespace intaglio::test::spec_oracle_elements_test
