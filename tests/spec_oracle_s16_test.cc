// Whole models of one node of int16 codes against the arithmetic's own program (tests/spec/arithmetic.py).
#include "tests/support/spec_cases.h"

namespace intaglio {
namespace {

using namespace test;

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

}  // namespace
}  // namespace intaglio
