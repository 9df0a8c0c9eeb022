// Whole models of one node of int16 codes against the arithmetic's own program (tests/spec/arithmetic.py).
#include "tests/support/spec_cases.h"

namespace intaglio::test::spec_oracle_s16_test {
namespace {

std::vector<int16_t> narrowed(const std::vector<int32_t>& codes) {
  std::vector<int16_t> all;
  for (const int32_t code : codes) all.push_back(static_cast<int16_t>(code));
  return all;
}

TEST_CASE("fully connected layers of 16 bits") {
  for_each_case("fully_connected_s16", 7, [](VectorFile& file) {
    Numbers p(file.s32());
    const int32_t m = p.next(), k = p.next(), n = p.next(), lo = p.next(), hi = p.next();
    const std::vector<float> s = file.f32(), s_w = file.f32();
    const std::vector<int16_t> x = narrowed(file.s32());
    const std::vector<int8_t> w = file.s8();
    const std::vector<int32_t> bias = file.s32();
    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kS16, {m, k}, s[0]),
                  ty = b.tensor("y", DType::kS16, {m, n}, s[1]);
    const int32_t tw = b.constant<int8_t>("w", DType::kS8, {n, k}, w, s_w, 0);
    const int32_t tb = b.constant<int32_t>("b", DType::kS32, {n}, bias);
    clamp_codes(b.node(Op::kFullyConnected, {tx, tw, tb}, {ty}), lo, hi);
    b.input(tx);
    b.output(ty);
    REQUIRE(run_model<int16_t>(b, x) == narrowed(file.s32()));
  });
}

TEST_CASE("sums and products of 16 bits") {
  for_each_case("elements_s16", 5, [](VectorFile& file) {
    Numbers p(file.s32());
    const bool product = p.next() != 0;
    const int32_t lo = p.next(), hi = p.next();
    const std::vector<float> s = file.f32();
    const std::vector<int16_t> a = narrowed(file.s32()), second = narrowed(file.s32());
    const auto n = static_cast<int32_t>(a.size());
    ModelBuilder b;
    const int32_t ta = b.tensor("a", DType::kS16, {n}, s[0]), tb = b.tensor("b", DType::kS16, {n}, s[1]);
    const int32_t ty = b.tensor("y", DType::kS16, {n}, s[2]);
    clamp_codes(b.node(product ? Op::kMul : Op::kAdd, {ta, tb}, {ty}), lo, hi);
    b.input(ta);
    b.input(tb);
    b.output(ty);
    REQUIRE(run_model<int16_t>(b, a, second) == narrowed(file.s32()));
  });
}

TEST_CASE("functions of 16 bits") {
  for_each_case("lookup_s16", 3, [](VectorFile& file) {
    const std::vector<int16_t> table = narrowed(file.s32()), x = narrowed(file.s32());
    const auto n = static_cast<int32_t>(x.size());
    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kS16, {n}, 0.5f), ty = b.tensor("y", DType::kS16, {n}, 0.25f);
    b.node(Op::kLookup, {tx, b.constant<int16_t>("table", DType::kS16, {513}, table)}, {ty});
    b.input(tx);
    b.output(ty);
    REQUIRE(run_model<int16_t>(b, x) == narrowed(file.s32()));
  });
}

TEST_CASE("softmax of 16 bits") {
  for_each_case("softmax_s16", 5, [](VectorFile& file) {
    Numbers p(file.s32());
    const int32_t rows = p.next(), n = p.next();
    const std::vector<float> s = file.f32();
    const std::vector<int32_t> table = file.s32();
    const std::vector<int16_t> x = narrowed(file.s32());
    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kS16, {rows, n}, s[0]),
                  ty = b.tensor("y", DType::kS16, {rows, n}, s[1]);
    b.node(Op::kSoftmax, {tx, b.constant<int32_t>("table", DType::kS32, {512}, table)}, {ty});
    b.input(tx);
    b.output(ty);
    REQUIRE(run_model<int16_t>(b, x) == narrowed(file.s32()));
  });
}

TEST_CASE("normalization of 16 bits") {
  for_each_case("normalize_s16", 7, [](VectorFile& file) {
    Numbers p(file.s32());
    NormalizeOptions options;
    options.groups = p.next();
    options.over_map = p.next() != 0;
    options.keeps_mean = p.next() != 0;
    const std::vector<int32_t> dims = file.s32();
    const std::vector<float> s = file.f32(), scale = file.f32(), shift = file.f32();
    options.epsilon = s[2];
    options.root_epsilon = s[3];
    const std::vector<int16_t> x = narrowed(file.s32());
    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kS16, dims, s[0]), ty = b.tensor("y", DType::kS16, dims, s[1]);
    const int32_t ts = b.constant("scale", DType::kF32, {dims.back()}, scale),
                  th = b.constant("shift", DType::kF32, {dims.back()}, shift);
    b.node(Op::kNormalize, {tx, ts, th}, {ty}).options.as<NormalizeOptions>() = options;
    b.input(tx);
    b.output(ty);
    REQUIRE(run_model<int16_t>(b, x) == narrowed(file.s32()));
  });
}

TEST_CASE("products of two activations of 16 bits") {
  for_each_case("batch_mat_mul_s16", 5, [](VectorFile& file) {
    Numbers p(file.s32());
    const bool transposed = p.next() != 0;
    const int32_t batches = p.next(), m = p.next(), k = p.next(), n = p.next();
    const std::vector<float> s = file.f32();
    const std::vector<int16_t> a = narrowed(file.s32()), second = narrowed(file.s32());
    ModelBuilder b;
    const int32_t ta = b.tensor("a", DType::kS16, {batches, m, k}, s[0]);
    const std::vector<int32_t> b_dims =
        transposed ? std::vector<int32_t>{batches, n, k} : std::vector<int32_t>{batches, k, n};
    const int32_t tb = b.tensor("b", DType::kS16, b_dims, s[1]),
                  ty = b.tensor("y", DType::kS16, {batches, m, n}, s[2]);
    auto& options = b.node(Op::kBatchMatMul, {ta, tb}, {ty}).options.as<BatchMatMulOptions>();
    options.transpose_b = transposed;
    options.scale = s[3];
    b.input(ta);
    b.input(tb);
    b.output(ty);
    REQUIRE(run_model<int16_t>(b, a, second) == narrowed(file.s32()));
  });
}

}  // namespace
}  // namespace intaglio::test::spec_oracle_s16_test
