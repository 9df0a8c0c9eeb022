// Whole models of one node against the specification's own program, on every instruction set of this machine.
// tests/spec/make_vectors.py writes the cases; the folder is named by INTAGLIO_VECTORS.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "calibrator/lookup_tables.h"
#include "kernels/compiled_isa.h"
#include "kernels/dwconv_s8.h"
#include "kernels/gemm_s8.h"
#include "kernels/requant.h"
#include "runtime/add_params.h"
#include "tests/support/float_bits.h"
#include "tests/support/model_builder.h"
#include "tests/support/vector_file.h"

namespace intaglio {
namespace {

using test::bits_of;
using test::ModelBuilder;
using test::RunningModel;
using test::VectorFile;

// Calls check(file) for each case of one function; says so where there are no vectors.
template <typename Check>
void for_each_case(const char* function, uint32_t arrays, Check check) {
  const char* const folder = std::getenv("INTAGLIO_VECTORS");
  if (folder == nullptr || *folder == '\0') {
    std::printf("skipped: %s (INTAGLIO_VECTORS names no folder of tests/spec/make_vectors.py)\n", function);
    return;
  }
  VectorFile file(std::string(folder) + "/" + function + ".bin");
  REQUIRE(file.arrays() == arrays);
  for (uint32_t i = 0; i < file.cases(); ++i) {
    CAPTURE(i);
    check(file);
  }
  CHECK(file.at_end());
}

// Reads the numbers of a parameter array in order.
class Numbers {
 public:
  explicit Numbers(std::vector<int32_t> values) : values_(std::move(values)) {}
  int32_t next() { return values_.at(at_++); }
  Window2d window() {  // kernel, stride, dilation, pads
    Window2d w;
    for (int32_t* const field : {&w.kernel_h, &w.kernel_w, &w.stride_h, &w.stride_w, &w.dilation_h,
                                 &w.dilation_w, &w.pad_top, &w.pad_left, &w.pad_bottom, &w.pad_right})
      *field = next();
    return w;
  }

 private:
  std::vector<int32_t> values_;
  size_t at_ = 0;
};

// The kernels of a family that this machine can run, as ISA masks: each family's list without its better
// ones.
template <typename Kernel>
std::vector<IsaMask> runnable(int32_t count, const Kernel& (*kernel)(int32_t)) {
  std::vector<IsaMask> masks;
  for (int32_t i = 0; i < count; ++i)
    if ((kernel(i).isa & ~(cpu_isa() & kCompiledIsa)) == 0) masks.push_back(kernel(i).isa);
  return masks;
}

void clamp_codes(GraphNode& node, int32_t lo, int32_t hi) {
  node.options.clamp_lo = lo;
  node.options.clamp_hi = hi;
}

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

// conv and fully_connected share their cases' arrays.
void check_conv(VectorFile& file, bool fully_connected, std::vector<std::string>* names) {
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
  node.options.window = window;
  node.options.groups = groups;
  clamp_codes(node, lo, hi);
  if (has_residual) {
    node.options.intermediate_scale = s[2];
    node.options.intermediate_zero_point = z_mid;
  }
  b.input(tx);
  if (has_residual) b.input(tr);
  b.output(ty);
  const test::AlignedBytes bytes = b.finish();
  for (const IsaMask isa : runnable(gemm_s8_count(), gemm_s8_kernel)) {
    CAPTURE(isa);
    SessionOptions options;
    options.isa = isa;
    RunningModel model(test::AlignedBytes(bytes.view()), all_ops(), options);
    REQUIRE_MESSAGE(model.error().ok(), test::text_of(model.error()));
    const Span<const float> found = model.model().node(0).options.multiplier;
    REQUIRE(bits_of({found.begin(), found.end()}) == bits_of(multiplier));
    if (has_residual) model.set_input(residual, 1);
    REQUIRE(model.run<int8_t>(x) == expected);
    names->push_back(model.session().kernel_name(0));
  }
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
  std::vector<std::string> names;
  for_each_case("conv", 9, [&](VectorFile& file) { check_conv(file, false, &names); });
  check_names(names, runnable_names(gemm_s8_count(), gemm_s8_kernel));
}

TEST_CASE("fully connected") {
  std::vector<std::string> names;
  for_each_case("fully_connected", 9, [&](VectorFile& file) { check_conv(file, true, &names); });
  check_names(names, runnable_names(gemm_s8_count(), gemm_s8_kernel));
}

TEST_CASE("depthwise convolution") {
  std::vector<std::string> names;
  for_each_case("depthwise", 8, [&](VectorFile& file) {
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

    ModelBuilder b;
    const int32_t tx = b.tensor("x", DType::kS8, {n, h, w, c}, s[0], z_in);
    const int32_t tw = b.constant("w", DType::kS8, {window.kernel_h, window.kernel_w, oc}, weights, s_w, 2);
    const int32_t tb = b.constant("b", DType::kS32, {oc}, bias);
    const int32_t ty = b.tensor("y", DType::kS8, {n, oh, ow, oc}, s[1], z_out);
    GraphNode& node = b.node(Op::kDepthwiseConv2d, {tx, tw, tb}, {ty});
    node.options.window = window;
    clamp_codes(node, lo, hi);
    b.input(tx);
    b.output(ty);
    const test::AlignedBytes bytes = b.finish();
    for (const IsaMask isa : runnable(dwconv_s8_count(), dwconv_s8_kernel)) {
      CAPTURE(isa);
      SessionOptions options;
      options.isa = isa;
      RunningModel model(test::AlignedBytes(bytes.view()), all_ops(), options);
      REQUIRE_MESSAGE(model.error().ok(), test::text_of(model.error()));
      const Span<const float> found = model.model().node(0).options.multiplier;
      REQUIRE(bits_of({found.begin(), found.end()}) == bits_of(multiplier));
      REQUIRE(model.run<int8_t>(x) == expected);
      names.push_back(model.session().kernel_name(0));
    }
  });
  check_names(names, runnable_names(dwconv_s8_count(), dwconv_s8_kernel));
}

// Runs the builder's model, which has one input or two.
template <typename Out, typename In>
std::vector<Out> run_model(ModelBuilder& b, const std::vector<In>& x, const std::vector<In>& second = {}) {
  RunningModel model(b.finish());
  REQUIRE_MESSAGE(model.error().ok(), test::text_of(model.error()));
  if (!second.empty()) model.set_input(second, 1);
  return model.run<Out>(x);
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
    node.options.window = window;
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
    node.options.axes = b.keep(axes);
    clamp_codes(node, lo, hi);
    b.input(tx);
    b.output(ty);
    REQUIRE(run_model<int8_t>(b, x) == expected);
  });
}

// y = op(a, b), where b is repeated over the leading dimensions of a.
void check_binary(const char* name, Op op) {
  for_each_case(name, 7, [op](VectorFile& file) {
    Numbers p(file.s32());
    const int32_t z_a = p.next(), z_b = p.next(), z_out = p.next(), lo = p.next(), hi = p.next();
    const std::vector<int32_t> a_shape = file.s32(), b_shape = file.s32();
    const std::vector<float> s = file.f32();
    const std::vector<int8_t> a = file.s8(), second = file.s8();
    ModelBuilder b;
    const int32_t ta = b.tensor("a", DType::kS8, a_shape, s[0], z_a);
    const int32_t tb = b.tensor("b", DType::kS8, b_shape, s[1], z_b);
    const int32_t ty = b.tensor("y", DType::kS8, a_shape, s[2], z_out);
    clamp_codes(b.node(op, {ta, tb}, {ty}), lo, hi);
    b.input(ta);
    b.input(tb);
    b.output(ty);
    REQUIRE(run_model<int8_t>(b, a, second) == file.s8());
  });
}

TEST_CASE("add") { check_binary("add", Op::kAdd); }
TEST_CASE("subtract") { check_binary("sub", Op::kSub); }
TEST_CASE("multiply") { check_binary("mul", Op::kMul); }

TEST_CASE("parameters of add") {
  for_each_case("add_params", 2, [](VectorFile& file) {
    const std::vector<float> s = file.f32();
    const std::vector<int32_t> expected = file.s32();
    AddS8 p{};
    const bool accepted = make_add_s8(s[0], 0, s[1], 0, s[2], 0, -128, 127, &p);
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
  const double hi = options.clamp_max;
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
    NodeOptions options;
    options.clamp_max = s[2];
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

}  // namespace
}  // namespace intaglio
