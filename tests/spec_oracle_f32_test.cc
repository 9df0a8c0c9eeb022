// Results in FP32 against the arithmetic's own program (tests/spec/arithmetic.py), bit for bit: convolutions as chains of
// fused multiply-adds, products, and what leaves an int8 model. INTAGLIO_VECTORS names the folder of
// make_vectors.py's cases.
#include "kernels/gemm/gemm_f32.h"
#include "kernels/gemm/gemm_s8_f32.h"
#include "kernels/pool/pool.h"
#include "tests/support/float_bits.h"
#include "tests/support/spec_cases.h"

namespace intaglio::test::spec_oracle_f32_test {
namespace {

// Runs the builder's model on each of these instruction sets; each gives the expected bits.
template <typename In>
void check_on_each(ModelBuilder& b, const std::vector<IsaMask>& masks, const std::vector<In>& x,
                   const std::vector<float>& expected, const std::vector<In>& second = {}) {
  const AlignedBytes bytes = b.finish();
  for (const IsaMask isa : masks) {
    CAPTURE(isa);
    SessionOptions options;
    options.isa = isa;
    RunningModel model(AlignedBytes(bytes.view()), all_ops(), options);
    REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
    if (!second.empty()) model.set_input(second, 1);
    REQUIRE(bits_of(model.run<float>(x)) == bits_of(expected));
  }
}

TEST_CASE("convolution in FP32") {
  for_each_case("conv_f32", 5, [](VectorFile& file) {
    Numbers p(file.s32());
    const int32_t n = p.next(), h = p.next(), w = p.next(), ic = p.next(), oc = p.next();
    const Window2d window = p.window();
    const int32_t oh = p.next(), ow = p.next();
    const std::vector<float> x = file.f32(), weights = file.f32(), bias = file.f32(), expected = file.f32();
    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kF32, {n, h, w, ic});
    const int32_t tw = b.constant("w", DType::kF32, {oc, window.kernel_h, window.kernel_w, ic}, weights);
    const int32_t tb = b.constant("b", DType::kF32, {oc}, bias);
    const int32_t ty = b.tensor("y", DType::kF32, {n, oh, ow, oc});
    b.node(Op::kConv2d, {tx, tw, tb}, {ty}).options.as<Window2d>() = window;
    b.input(tx);
    b.output(ty);
    check_on_each(b, runnable(gemm_f32_count(), gemm_f32_kernel), x, expected);
  });
}

TEST_CASE("products of two activations in FP32") {
  for_each_case("batch_mat_mul_f32", 8, [](VectorFile& file) {
    const bool transpose_b = file.s32()[0] != 0;
    const std::vector<int32_t> a_shape = file.s32(), b_shape = file.s32(), y_shape = file.s32();
    const float scale = file.f32()[0];
    const std::vector<float> x = file.f32(), second = file.f32(), expected = file.f32();
    ModelBuilder b;
    const int32_t ta = b.tensor("a", DType::kF32, a_shape), tb = b.tensor("b", DType::kF32, b_shape),
                  ty = b.tensor("y", DType::kF32, y_shape);
    auto& options = b.node(Op::kBatchMatMul, {ta, tb}, {ty}).options.as<BatchMatMulOptions>();
    options.transpose_b = transpose_b;
    options.scale = scale;
    b.input(ta);
    b.input(tb);
    b.output(ty);
    check_on_each(b, runnable(gemm_f32_count(), gemm_f32_kernel), x, expected, second);
  });
}

TEST_CASE("a matrix product that leaves int8") {
  for_each_case("product_f32", 7, [](VectorFile& file) {
    Numbers p(file.s32());
    const int32_t k = p.next(), n = p.next(), z_in = p.next();
    const float s_in = file.f32()[0];
    const std::vector<float> s_w = file.f32();
    const std::vector<int8_t> x = file.s8(), weights = file.s8();
    const std::vector<int32_t> bias = file.s32();
    const std::vector<float> expected = file.f32();
    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kS8, {1, k}, s_in, z_in);
    const int32_t tw = b.constant("w", DType::kS8, {n, k}, weights, s_w, 0);
    const int32_t tb = b.constant("b", DType::kS32, {n}, bias);
    const int32_t ty = b.tensor("y", DType::kF32, {1, n});
    b.node(Op::kFullyConnected, {tx, tw, tb}, {ty});
    b.input(tx);
    b.output(ty);
    check_on_each(b, runnable(gemv_s8_f32_count(), gemv_s8_f32_kernel), x, expected);
  });
}

TEST_CASE("a mean of reals") {
  for_each_case("mean_of_reals", 4, [](VectorFile& file) {
    Numbers p(file.s32());
    const int32_t n = p.next(), c = p.next();
    const std::vector<float> ends = file.f32(), x = file.f32(), expected = file.f32();
    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kF32, {n, c}), ty = b.tensor("y", DType::kF32, {c});
    auto& options = b.node(Op::kMean, {tx}, {ty}).options.as<ReduceOptions>();
    options.axes = b.keep({0});
    options.clamp.min = ends[0];
    options.clamp.max = ends[1];
    b.input(tx);
    b.output(ty);
    check_on_each(b, runnable(pool_f32_count(), pool_f32_kernel), x, expected);
  });
}

TEST_CASE("L2 normalization of reals") {
  for_each_case("l2_normalize_f32", 4, [](VectorFile& file) {
    const std::vector<int32_t> shape = file.s32();
    const float min_norm = file.f32()[0];
    const std::vector<float> x = file.f32(), expected = file.f32();
    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kF32, shape), ty = b.tensor("y", DType::kF32, shape);
    b.node(Op::kL2Normalize, {tx}, {ty}).options.as<L2NormalizeOptions>().min_norm = min_norm;
    b.input(tx);
    b.output(ty);
    check_on_each(b, {cpu_isa()}, x, expected);
  });
}

TEST_CASE("a mean that leaves int8") {
  for_each_case("mean_f32", 4, [](VectorFile& file) {
    Numbers p(file.s32());
    const int32_t h = p.next(), w = p.next(), c = p.next(), z_in = p.next();
    const float s_in = file.f32()[0];
    const std::vector<int8_t> x = file.s8();
    const std::vector<float> expected = file.f32();
    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kS8, {1, h, w, c}, s_in, z_in);
    const int32_t ty = b.tensor("y", DType::kF32, {1, 1, 1, c});
    b.node(Op::kMean, {tx}, {ty}).options.as<ReduceOptions>().axes = b.keep({1, 2});
    b.input(tx);
    b.output(ty);
    check_on_each(b, runnable(mean_s8_f32_count(), mean_s8_f32_kernel), x, expected);
  });
}

}  // namespace
}  // namespace intaglio::test::spec_oracle_f32_test
