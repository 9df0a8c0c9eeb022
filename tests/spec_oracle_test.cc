// Whole models of one node against the arithmetic's own program (tests/spec/arithmetic.py), on every instruction set of
// this machine: sums of products and means. INTAGLIO_VECTORS names the folder of make_vectors.py's cases.
#include "kernels/arithmetic/requant.h"
#include "kernels/dwconv/dwconv_s8.h"
#include "kernels/gemm/gemm_s8.h"
#include "kernels/gemm/gemm_s8_f32.h"
#include "tests/support/float_bits.h"
#include "tests/support/spec_cases.h"

namespace intaglio::test::spec_oracle_test {
namespace {

TEST_CASE("requantize") {
  for_each_case("requantize", 4, [](VectorFile& file) {
    Numbers p(file.s32());
    const int32_t z = p.next(), lo = p.next(), hi = p.next();
    const std::vector<int32_t> acc = file.s32();
    const std::vector<float> multiplier = file.f32();
    const OutputS8 output = make_output_s8(z, lo, hi);
    std::vector<int8_t> y;
    for (size_t i = 0; i < acc.size(); ++i) y.push_back(requantize_s8(acc[i], multiplier[i], output));
    REQUIRE(y == file.s8());
  });
}

// The builder's model, whose output is FP32, on each instruction set.
void check_leaving(ModelBuilder& b, const std::vector<IsaMask>& masks, const std::vector<int8_t>& x,
                   const std::vector<float>& expected, std::vector<std::string>* names) {
  const AlignedBytes bytes = b.finish();
  for (const IsaMask isa : masks) {
    CAPTURE(isa);
    SessionOptions options;
    options.isa = isa;
    RunningModel model(AlignedBytes(bytes.view()), all_ops(), options);
    REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
    REQUIRE(bits_of(model.run<float>(x)) == bits_of(expected));
    names->push_back(model.session().kernel_name(0));
  }
}

// conv and fully_connected share their cases' arrays.
void check_conv(VectorFile& file, bool fully_connected, std::vector<std::string>* names,
                std::vector<std::string>* leaving) {
  Numbers p(file.s32());
  const int32_t n = p.next(), h = p.next(), w = p.next(), ic = p.next(), oc = p.next();
  const Window2d window = p.window();
  const int32_t groups = p.next(), z_in = p.next(), z_out = p.next(), lo = p.next(), hi = p.next();
  const int32_t oh = p.next(), ow = p.next();
  const bool has_residual = p.next() != 0;
  const int32_t z_mid = p.next(), z_residual = p.next();
  const std::vector<float> s = file.f32(), s_w = file.f32();
  const std::vector<int8_t> x = file.s8(), weights = file.s8();
  const std::vector<int32_t> bias = file.s32();
  const std::vector<int8_t> residual = file.s8();
  const std::vector<float> multiplier = file.f32();
  const std::vector<int8_t> expected = file.s8();
  const std::vector<float> limits = file.f32(), reals = file.f32();

  using Dims = std::vector<int32_t>;
  ModelBuilder b;
  const int32_t tx = b.tensor("x", DType::kS8, fully_connected ? Dims{n, ic} : Dims{n, h, w, ic}, s[0], z_in);
  const Dims weight_dims =
      fully_connected ? Dims{oc, ic} : Dims{oc, window.kernel_h, window.kernel_w, ic / groups};
  const int32_t tw = b.constant("w", DType::kS8, weight_dims, weights, s_w, 0);
  const int32_t tb = b.constant("b", DType::kS32, {oc}, bias);
  const Dims out_dims = fully_connected ? Dims{n, oc} : Dims{n, oh, ow, oc};
  const int32_t tr = has_residual ? b.tensor("r", DType::kS8, out_dims, s[3], z_residual) : -1;
  const int32_t ty = b.tensor("y", DType::kS8, out_dims, s[1], z_out);
  std::vector<int32_t> inputs = {tx, tw, tb};
  if (has_residual) inputs.push_back(tr);
  GraphNode& node = b.node(fully_connected ? Op::kFullyConnected : Op::kConv2d, inputs, {ty});
  if (!fully_connected) {
    node.options.as<Window2d>() = window;
    node.options.as<Conv2dOptions>().groups = groups;
  }
  clamp_codes(node, lo, hi);
  if (has_residual) {
    node.options.as<Intermediate>().scale = s[2];
    node.options.as<Intermediate>().zero_point = z_mid;
  }
  b.input(tx);
  if (has_residual) b.input(tr);
  b.output(ty);
  const AlignedBytes bytes = b.finish();
  for (const IsaMask isa : runnable(gemm_s8_count(), gemm_s8_kernel)) {
    CAPTURE(isa);
    SessionOptions options;
    options.isa = isa;
    RunningModel model(AlignedBytes(bytes.view()), all_ops(), options);
    REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
    const Span<const float> found = model.model().node(0).options.as<Requantization>().multiplier;
    REQUIRE(bits_of({found.begin(), found.end()}) == bits_of(multiplier));
    if (has_residual) model.set_input(residual, 1);
    REQUIRE(model.run<int8_t>(x) == expected);
    names->push_back(model.session().kernel_name(0));
  }

  if (fully_connected) return;
  ModelBuilder l;
  const int32_t lx = l.tensor("x", DType::kS8, {n, h, w, ic}, s[0], z_in);
  const int32_t lw = l.constant("w", DType::kS8, weight_dims, weights, s_w, 0);
  const int32_t lb = l.constant("b", DType::kS32, {oc}, bias);
  const int32_t ly = l.tensor("y", DType::kF32, out_dims);
  GraphNode& leaves = l.node(Op::kConv2d, {lx, lw, lb}, {ly});
  leaves.options.as<Window2d>() = window;
  leaves.options.as<Conv2dOptions>().groups = groups;
  leaves.options.as<Clamp>().min = limits[0];
  leaves.options.as<Clamp>().max = limits[1];
  l.input(lx);
  l.output(ly);
  check_leaving(l, runnable(gemm_s8_f32_count(), gemm_s8_f32_kernel), x, reals, leaving);
}

// The instruction set that a test meant is the one that ran.
void check_names(const std::vector<std::string>& names, std::vector<std::string> expected) {
  for (const std::string& name : expected) {
    size_t runs = 0;
    for (const std::string& ran : names) runs += ran == name;
    if (!names.empty()) CHECK_MESSAGE(runs > 0, name << " never ran");
  }
}

template <typename Kernel>
std::vector<std::string> runnable_names(int32_t count, const Kernel& (*kernel)(int32_t)) {
  std::vector<std::string> names;
  for (int32_t i = 0; i < count; ++i)
    if ((kernel(i).isa & ~(cpu_isa() & kCompiledIsa)) == 0) names.push_back(kernel(i).name);
  return names;
}

TEST_CASE("convolution") {
  std::vector<std::string> names, leaving;
  for_each_case("conv", 11, [&](VectorFile& file) { check_conv(file, false, &names, &leaving); });
  check_names(names, runnable_names(gemm_s8_count(), gemm_s8_kernel));
  check_names(leaving, runnable_names(gemm_s8_f32_count(), gemm_s8_f32_kernel));
}

TEST_CASE("fully connected") {
  std::vector<std::string> names;
  for_each_case("fully_connected", 11, [&](VectorFile& file) { check_conv(file, true, &names, nullptr); });
  check_names(names, runnable_names(gemm_s8_count(), gemm_s8_kernel));
}

TEST_CASE("depthwise convolution") {
  std::vector<std::string> names, leaving;
  for_each_case("depthwise", 10, [&](VectorFile& file) {
    Numbers p(file.s32());
    const int32_t n = p.next(), h = p.next(), w = p.next(), c = p.next(), oc = p.next();
    const Window2d window = p.window();
    const int32_t z_in = p.next(), z_out = p.next(), lo = p.next(), hi = p.next();
    const int32_t oh = p.next(), ow = p.next();
    const std::vector<float> s = file.f32(), s_w = file.f32();
    const std::vector<int8_t> x = file.s8(), weights = file.s8();
    const std::vector<int32_t> bias = file.s32();
    const std::vector<float> multiplier = file.f32();
    const std::vector<int8_t> expected = file.s8();
    const std::vector<float> limits = file.f32(), reals = file.f32();

    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kS8, {n, h, w, c}, s[0], z_in);
    const int32_t tw = b.constant("w", DType::kS8, {window.kernel_h, window.kernel_w, oc}, weights, s_w, 2);
    const int32_t tb = b.constant("b", DType::kS32, {oc}, bias);
    const int32_t ty = b.tensor("y", DType::kS8, {n, oh, ow, oc}, s[1], z_out);
    GraphNode& node = b.node(Op::kDepthwiseConv2d, {tx, tw, tb}, {ty});
    node.options.as<Window2d>() = window;
    clamp_codes(node, lo, hi);
    b.input(tx);
    b.output(ty);
    const AlignedBytes bytes = b.finish();
    for (const IsaMask isa : runnable(dwconv_s8_count(), dwconv_s8_kernel)) {
      CAPTURE(isa);
      SessionOptions options;
      options.isa = isa;
      RunningModel model(AlignedBytes(bytes.view()), all_ops(), options);
      REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
      const Span<const float> found = model.model().node(0).options.as<Requantization>().multiplier;
      REQUIRE(bits_of({found.begin(), found.end()}) == bits_of(multiplier));
      REQUIRE(model.run<int8_t>(x) == expected);
      names.push_back(model.session().kernel_name(0));
    }

    ModelBuilder l;
    const int32_t lx = l.tensor("x", DType::kS8, {n, h, w, c}, s[0], z_in);
    const int32_t lw = l.constant("w", DType::kS8, {window.kernel_h, window.kernel_w, oc}, weights, s_w, 2);
    const int32_t lb = l.constant("b", DType::kS32, {oc}, bias);
    const int32_t ly = l.tensor("y", DType::kF32, {n, oh, ow, oc});
    GraphNode& leaves = l.node(Op::kDepthwiseConv2d, {lx, lw, lb}, {ly});
    leaves.options.as<Window2d>() = window;
    leaves.options.as<Clamp>().min = limits[0];
    leaves.options.as<Clamp>().max = limits[1];
    l.input(lx);
    l.output(ly);
    check_leaving(l, runnable(dwconv_s8_f32_count(), dwconv_s8_f32_kernel), x, reals, &leaving);
  });
  check_names(names, runnable_names(dwconv_s8_count(), dwconv_s8_kernel));
  check_names(leaving, runnable_names(dwconv_s8_f32_count(), dwconv_s8_f32_kernel));
}

TEST_CASE("average pool") {
  for_each_case("avg_pool", 4, [](VectorFile& file) {
    Numbers p(file.s32());
    const int32_t n = p.next(), h = p.next(), w = p.next(), c = p.next();
    Window2d window = p.window();
    window.count_include_pad = p.next() != 0;
    const int32_t z_in = p.next(), z_out = p.next(), lo = p.next(), hi = p.next();
    const int32_t oh = p.next(), ow = p.next();
    const std::vector<float> s = file.f32();
    const std::vector<int8_t> x = file.s8();
    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kS8, {n, h, w, c}, s[0], z_in);
    const int32_t ty = b.tensor("y", DType::kS8, {n, oh, ow, c}, s[1], z_out);
    GraphNode& node = b.node(Op::kAvgPool2d, {tx}, {ty});
    node.options.as<Window2d>() = window;
    clamp_codes(node, lo, hi);
    b.input(tx);
    b.output(ty);
    REQUIRE(run_model<int8_t>(b, x) == file.s8());
  });
}

TEST_CASE("mean") {
  for_each_case("mean", 6, [](VectorFile& file) {
    Numbers p(file.s32());
    const int32_t z_in = p.next(), z_out = p.next(), lo = p.next(), hi = p.next();
    const std::vector<int32_t> shape = file.s32(), axes = file.s32();
    const std::vector<float> s = file.f32();
    const std::vector<int8_t> x = file.s8(), expected = file.s8();
    std::vector<int32_t> kept = shape;
    for (const int32_t axis : axes) kept[static_cast<size_t>(axis)] = 1;
    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kS8, shape, s[0], z_in);
    const int32_t ty = b.tensor("y", DType::kS8, kept, s[1], z_out);
    GraphNode& node = b.node(Op::kMean, {tx}, {ty});
    node.options.as<ReduceOptions>().axes = b.keep(axes);
    clamp_codes(node, lo, hi);
    b.input(tx);
    b.output(ty);
    REQUIRE(run_model<int8_t>(b, x) == expected);
  });
}

}  // namespace
}  // namespace intaglio::test::spec_oracle_test
