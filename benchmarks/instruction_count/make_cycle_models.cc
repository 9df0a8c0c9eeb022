// What benchmarks/instruction_count/cycle_table.py counts on a board, made on the build machine:
//
//   make_cycle_models grid FOLDER          models of many single nodes each, 0.itg and so on, of shapes that small networks have
//   make_cycle_models work MODEL TARGET    a line for each node: its kernel, a tab, and its amounts of work (tools/node_work.h)
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/model_builder.h"
#include "tests/support/random.h"
#include "tools/node_work.h"

using namespace intaglio;
using intaglio::test::ModelBuilder;
using intaglio::test::Random;

namespace {

using Dims = std::vector<int32_t>;

int fail(const std::string& what) {
  std::fprintf(stderr, "make_cycle_models: %s\n", what.c_str());
  return 1;
}

int32_t product(const Dims& dims) {
  int32_t count = 1;
  for (const int32_t dim : dims) count *= dim;
  return count;
}

class Grid {
 public:
  explicit Grid(std::string folder) : folder_(std::move(folder)) {}

  ModelBuilder& b() { return *builder_; }
  int32_t pick(const Dims& of) { return of[random_.bits() % of.size()]; }
  bool one_in(uint32_t times) { return random_.bits() % times == 0; }

  int32_t input(const Dims& dims, DType type = DType::kS8, float scale = 0.05f, int32_t zero_point = -3) {
    int32_t& tensor = inputs_[{static_cast<int32_t>(type), dims}];
    if (tensor == 0) {
      tensor = 1 + (type == DType::kS8 ? b().tensor(name(), type, dims, scale, zero_point)
                                       : b().tensor(name(), type, dims));
      b().input(tensor - 1);
      take(dims, type);
    }
    return tensor - 1;
  }
  int32_t output(const Dims& dims, DType type = DType::kS8, float scale = 0.05f, int32_t zero_point = 4) {
    const int32_t tensor = type == DType::kS8 ? b().tensor(name(), type, dims, scale, zero_point)
                                              : b().tensor(name(), type, dims);
    b().output(tensor);
    take(dims, type);
    return tensor;
  }
  // Weights and bias of products of this depth, whose codes are spread over their range.
  std::vector<int32_t> weights(const Dims& dims, int32_t outputs, int32_t axis) {
    std::vector<int8_t> codes(static_cast<size_t>(product(dims)));
    for (int8_t& code : codes) code = static_cast<int8_t>(random_.bits() % 255 - 127);
    std::vector<int32_t> bias(static_cast<size_t>(outputs));
    for (int32_t& value : bias) value = static_cast<int32_t>(random_.bits() % 2001) - 1000;
    std::vector<float> scales(static_cast<size_t>(outputs), 0.01f), of_bias;
    if (one_in(5))  // as of channels without weights
      for (float& scale : scales)
        if (one_in(4)) scale = 1e-9f;
    for (const float scale : scales) of_bias.push_back(0.05f * scale);
    const int32_t w = b().constant<int8_t>(name(), DType::kS8, dims, codes, scales, axis);
    const int32_t c = b().constant<int32_t>(name(), DType::kS32, {outputs}, bias, of_bias, 0);
    weight_bytes_ += codes.size();
    return {w, c};
  }
  // Of sums of so many products of codes: above the sums' multiplier of 1.
  static float sum_scale(int32_t depth) {
    return 0.05f * 0.01f * std::max(40.0f * std::sqrt(static_cast<float>(depth)) * 1.3f, 2.0f);
  }

  // Ends a model that is large enough.
  void next(int32_t nodes = 1) {
    if ((nodes_ += nodes) >= 50 || activation_bytes_ > (5u << 18) || weight_bytes_ > (1u << 20)) finish();
  }
  void finish() {
    if (nodes_ == 0) return;
    auto bytes = b().finish();
    const std::string path = folder_ + "/" + std::to_string(models_++) + ".itg";
    if (FILE* const file = std::fopen(path.c_str(), "wb")) {
      std::fwrite(bytes.data(), 1, bytes.size(), file);
      std::fclose(file);
    }
    builder_ = std::make_unique<ModelBuilder>();
    inputs_.clear();
    nodes_ = 0;
    activation_bytes_ = weight_bytes_ = 0;
  }

 private:
  std::string name() { return "t" + std::to_string(b().graph().tensors.size()); }
  void take(const Dims& dims, DType type) {
    activation_bytes_ += static_cast<size_t>(product(dims)) * (type == DType::kF32 ? 4 : 1);
  }

  std::string folder_;
  std::unique_ptr<ModelBuilder> builder_ = std::make_unique<ModelBuilder>();
  std::map<std::pair<int32_t, Dims>, int32_t> inputs_;
  Random random_{7};
  size_t activation_bytes_ = 0, weight_bytes_ = 0;
  int32_t nodes_ = 0, models_ = 0;
};

struct ConvCase {
  int32_t h, w, ic, oc, kh, kw, stride, dilation = 1, groups = 1;
  bool same = true;
};

Window2d window_of(const ConvCase& c, int32_t* oh, int32_t* ow) {
  Window2d window;
  window.kernel_h = c.kh;
  window.kernel_w = c.kw;
  window.stride_h = window.stride_w = c.stride;
  window.dilation_h = window.dilation_w = c.dilation;
  const auto side = [&](int32_t in, int32_t kernel, int32_t* before, int32_t* behind) {
    const int32_t reach = (kernel - 1) * c.dilation + 1;
    if (!c.same && in >= reach) return (in - reach) / c.stride + 1;
    const int32_t out = (in + c.stride - 1) / c.stride, pad = std::max(0, (out - 1) * c.stride + reach - in);
    *before = pad / 2;
    *behind = pad - pad / 2;
    return out;
  };
  *oh = side(c.h, c.kh, &window.pad_top, &window.pad_bottom);
  *ow = side(c.w, c.kw, &window.pad_left, &window.pad_right);
  return window;
}

void convolution(Grid& g, const ConvCase& c, bool residual, bool reals = false) {
  int32_t oh = 0, ow = 0;
  const Window2d window = window_of(c, &oh, &ow);
  const int32_t depth = c.kh * c.kw * c.ic / c.groups;
  std::vector<int32_t> inputs = {g.input({1, c.h, c.w, c.ic})};
  for (const int32_t constant : g.weights({c.oc, c.kh, c.kw, c.ic / c.groups}, c.oc, 0))
    inputs.push_back(constant);
  if (residual) inputs.push_back(g.input({1, oh, ow, c.oc}));
  const float scale = Grid::sum_scale(depth);
  const int32_t y = g.output({1, oh, ow, c.oc}, reals ? DType::kF32 : DType::kS8, residual ? 0.08f : scale);
  NodeOptions& options = g.b().node(Op::kConv2d, inputs, {y}).options;
  auto& own = options.as<Conv2dOptions>();
  own.window = window;
  own.groups = c.groups;
  if (residual) own.intermediate = {scale, 2};
  if (!reals && g.one_in(3)) own.clamp.lo = -100;
  g.next();
}

void depthwise(Grid& g, const ConvCase& c) {
  int32_t oh = 0, ow = 0;
  const Window2d window = window_of(c, &oh, &ow);
  const int32_t x = g.input({1, c.h, c.w, c.ic});
  const std::vector<int32_t> w = g.weights({c.kh, c.kw, c.oc}, c.oc, 2);
  const int32_t y =
      g.output({1, oh, ow, c.oc}, DType::kS8, g.one_in(4) ? 0.0004f : Grid::sum_scale(c.kh * c.kw));
  NodeOptions& options = g.b().node(Op::kDepthwiseConv2d, {x, w[0], w[1]}, {y}).options;
  options.as<Window2d>() = window;
  if (g.one_in(3)) options.as<Clamp>().lo = -100;
  g.next();
}

void fully_connected(Grid& g, int32_t rows, int32_t k, int32_t n, bool reals) {
  const int32_t x = g.input({rows, k});
  const std::vector<int32_t> w = g.weights({n, k}, n, 0);
  const int32_t y = g.output({rows, n}, reals ? DType::kF32 : DType::kS8, Grid::sum_scale(k));
  NodeOptions& options = g.b().node(Op::kFullyConnected, {x, w[0], w[1]}, {y}).options;
  if (!reals && g.one_in(3)) options.as<Clamp>().lo = -100;
  g.next();
}

void pool(Grid& g, Op op, const ConvCase& c) {
  int32_t oh = 0, ow = 0;
  const Window2d window = window_of(c, &oh, &ow);
  const int32_t x = g.input({1, c.h, c.w, c.ic});
  const int32_t y = g.output({1, oh, ow, c.ic}, DType::kS8, 0.05f, -3);
  g.b().node(op, {x}, {y}).options.as<Window2d>() = window;
  g.next();
}

void elements(Grid& g, int32_t h, int32_t w, int32_t c) {
  const Dims map = {1, h, w, c};
  auto& b = g.b();
  const int32_t x = g.input(map), several = g.pick({3, 4, 6, 8, 12});
  b.node(Op::kConcat, std::vector<int32_t>(static_cast<size_t>(several), x),
         {g.output({1, several * h, w, c}, DType::kS8, 0.05f, -3)})
      .options.as<ConcatOptions>()
      .axis = 1;
  b.node(Op::kAdd, {x, g.input(map)}, {g.output(map, DType::kS8, 0.08f)});
  b.node(Op::kSub, {x, g.input(map)}, {g.output(map, DType::kS8, 0.08f)});
  b.node(Op::kMul, {x, g.input(map)}, {g.output(map, DType::kS8, 0.4f)});
  b.node(Op::kMul, {x, g.input({1, 1, 1, c})}, {g.output(map, DType::kS8, 0.4f)});
  b.node(Op::kMean, {x}, {g.output({1, c}, DType::kS8, 0.05f, -3)}).options.as<ReduceOptions>().axes =
      b.keep({1, 2});
  b.node(Op::kMean, {x}, {g.output({1, c}, DType::kF32)}).options.as<ReduceOptions>().axes = b.keep({1, 2});
  const int32_t flat = g.output({1, h * w * c}, DType::kS8, 0.05f, -3);
  b.node(Op::kReshape, {x}, {flat});
  b.node(Op::kReshape, {flat}, {g.output({h, w * c}, DType::kS8, 0.05f, -3)});
  b.node(Op::kTranspose, {x}, {g.output({1, c, h, w}, DType::kS8, 0.05f, -3)})
      .options.as<TransposeOptions>()
      .permutation = b.keep({0, 3, 1, 2});
  b.node(Op::kTranspose, {x}, {g.output({1, w, h, c}, DType::kS8, 0.05f, -3)})
      .options.as<TransposeOptions>()
      .permutation = b.keep({0, 2, 1, 3});
  b.node(Op::kAdd, {x, g.input({1, 1, 1, c})}, {g.output(map, DType::kS8, 0.08f)});
  b.node(Op::kMul, {x, g.input({1, h, w, 1})}, {g.output(map, DType::kS8, 0.4f)});
  b.node(Op::kAdd, {x, g.input({1, h, w, 1})}, {g.output(map, DType::kS8, 0.08f)});
  b.node(Op::kConcat, {x, g.input({1, 2 * h, w, c})}, {g.output({1, 3 * h, w, c}, DType::kS8, 0.05f, -3)})
      .options.as<ConcatOptions>()
      .axis = 1;
  b.node(Op::kConcat, {x, g.input({1, h, w, 2 * c})}, {g.output({1, h, w, 3 * c}, DType::kS8, 0.05f, -3)})
      .options.as<ConcatOptions>()
      .axis = 3;
  b.node(Op::kPad, {x}, {g.output({1, h + 2, w + 2, c}, DType::kS8, 0.05f, -3)})
      .options.as<PadOptions>()
      .before = b.keep({0, 1, 1, 0});
  auto& slice = b.node(Op::kStridedSlice, {x}, {g.output({1, h - 1, w - 1, c}, DType::kS8, 0.05f, -3)})
                    .options.as<StridedSliceOptions>();
  slice.begin = b.keep({0, 1, 1, 0});
  slice.strides = b.keep({1, 1, 1, 1});
  for (const Interpolation how : {Interpolation::kNearest, Interpolation::kBilinear}) {
    auto& resize = b.node(Op::kResize, {x}, {g.output({1, 2 * h, 2 * w, c}, DType::kS8, 0.05f, -3)})
                       .options.as<ResizeOptions>();
    resize.interpolation = how;
  }
  std::vector<int8_t> table(256);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<int8_t>(static_cast<int32_t>(i) / 2 - 64);
  b.node(
      Op::kLookup,
      {x, b.constant<int8_t>("table" + std::to_string(b.graph().tensors.size()), DType::kS8, {256}, table)},
      {g.output(map)});
  const int32_t reals = g.input(map, DType::kF32);
  b.node(Op::kQuantize, {reals}, {g.output(map)});
  b.node(Op::kDequantize, {x}, {g.output(map, DType::kF32)});
  g.next(23);
}

// What computes in FP32 within int8 models: gates of recurrent layers, and what stands behind the last sums.
void real_elements(Grid& g, int32_t rows, int32_t n) {
  const Dims row = {rows, n};
  auto& b = g.b();
  const int32_t x = g.input(row, DType::kF32), other = g.input({2 * rows, n}, DType::kF32);
  const auto y = [&](const Dims& dims) { return g.output(dims, DType::kF32); };
  for (const Op op : {Op::kAdd, Op::kSub, Op::kMul}) b.node(op, {x, g.input(row, DType::kF32)}, {y(row)});
  for (const Op op : {Op::kAdd, Op::kMul}) b.node(op, {x, g.input({1, n}, DType::kF32)}, {y(row)});
  for (const Op op : {Op::kTanh, Op::kSigmoid}) b.node(op, {x}, {y(row)});
  b.node(Op::kClamp, {x}, {y(row)}).options.as<Clamp>().min = 0.0f;
  auto& slice = b.node(Op::kStridedSlice, {other}, {y(row)}).options.as<StridedSliceOptions>();
  slice.begin = b.keep({rows, 0});
  slice.strides = b.keep({1, 1});
  b.node(Op::kConcat, {x, other}, {y({3 * rows, n})}).options.as<ConcatOptions>().axis = 0;
  b.node(Op::kTranspose, {x}, {y({n, rows})}).options.as<TransposeOptions>().permutation = b.keep({1, 0});
  const int32_t flat = y({rows * n});
  b.node(Op::kReshape, {x}, {flat});
  b.node(Op::kReshape, {flat}, {y({n, rows})});
  g.next(13);
}

void answers(Grid& g, int32_t rows, int32_t n) {
  std::vector<int32_t> table(256);
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<int32_t>(std::exp(-0.05 * static_cast<double>(i)) * 65536);
  g.b().node(
      Op::kSoftmax,
      {g.input({rows, n}), g.b().constant<int32_t>("exp" + std::to_string(g.b().graph().tensors.size()),
                                                   DType::kS32, {256}, table)},
      {g.output({rows, n}, DType::kS8, 1.0f / 256, -128)});
  g.b().node(Op::kSoftmax, {g.input({rows, n}, DType::kF32)}, {g.output({rows, n}, DType::kF32)});
  g.next(2);
}

int make_grid(const std::string& folder) {
  Grid g(folder);
  for (int32_t i = 0; i < 90; ++i) {  // 3 x 3 at stride 1
    const int32_t w = g.pick({4, 5, 7, 8, 12, 16, 24, 32, 48}),
                  ic = g.pick({4, 8, 12, 16, 24, 32, 48, 64, 96});
    convolution(
        g,
        {g.pick({4, 6, 8, 12, 16}), w, ic, g.pick({4, 8, 10, 16, 24, 32, 64}), 3, 3, 1, 1, 1, !g.one_in(5)},
        g.one_in(3));
  }
  for (int32_t i = 0; i < 90; ++i) {  // 1 x 1
    const int32_t side = g.pick({1, 2, 3, 4, 5, 6, 8, 12, 16, 24});
    convolution(g,
                {side, g.pick({side, side + 1, 2 * side}), g.pick({4, 8, 15, 16, 24, 32, 44, 64, 96, 128}),
                 g.pick({3, 8, 12, 16, 22, 32, 40, 64, 96, 128}), 1, 1, 1},
                g.one_in(4));
  }
  for (int32_t i = 0; i < 12; ++i) {  // less than a word of depths
    const int32_t side = g.pick({4, 6, 9, 16});
    convolution(g, {side, side, g.pick({1, 2, 3}), g.pick({2, 5, 8, 16}), 1, 1, 1}, false);
  }
  for (int32_t i = 0; i < 60; ++i) {  // first layers
    const int32_t kernel = g.pick({3, 3, 3, 5, 7}), side = g.pick({12, 16, 24, 32, 48, 64});
    convolution(
        g,
        {side, g.pick({side, side, side / 2 + 3}), g.pick({1, 2, 3, 3, 3, 4}), g.pick({4, 8, 12, 16, 24, 32}),
         g.pick({kernel, kernel, 10}), g.pick({kernel, kernel, 4}), g.pick({1, 2, 2})},
        false);
  }
  for (int32_t i = 0; i < 90; ++i) {  // 3 x 3 at stride 2, 1 x 1 at stride 2, 5 x 5, dilated, grouped
    const int32_t kind = g.pick({0, 0, 0, 1, 1, 2, 3, 4}), ic = g.pick({4, 8, 12, 16, 24, 32, 40, 48, 64}),
                  side = g.pick({5, 8, 9, 12, 16, 24});
    const int32_t groups = kind == 4 ? g.pick({2, 4}) : 1, kernel = kind == 1 ? 1 : kind == 2 ? 5 : 3;
    convolution(g,
                {side, g.pick({side, side + 2}), kind == 2 ? std::min(ic, 16) : ic,
                 g.pick({4, 8, 12, 16, 32, 64}), kernel, kernel, kind < 2 ? 2 : 1, kind == 3 ? 2 : 1, groups},
                g.one_in(6) && kind < 2);
  }
  for (int32_t i = 0; i < 100; ++i) {  // depthwise
    const int32_t ic = g.pick({3, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 6}),
                  kernel = g.pick({3, 3, 3, 3, 5}), side = g.pick({3, 4, 5, 6, 8, 12, 16, 24, 32});
    depthwise(g, {side, g.pick({side, side + 1, side / 2 + 1}), ic, ic * (g.one_in(12) ? 2 : 1), kernel,
                  kernel, g.pick({1, 1, 2}), 1, 1, !g.one_in(6)});
  }
  for (int32_t i = 0; i < 80; ++i)
    fully_connected(g, g.pick({1, 1, 1, 1, 1, 2, 4, 5, 12, 16, 20}),
                    g.pick({4, 6, 8, 16, 32, 64, 65, 128, 256, 400, 640}),
                    g.pick({1, 2, 4, 8, 10, 12, 20, 64, 128, 256}), false);
  for (int32_t i = 0; i < 30; ++i) {
    fully_connected(g, g.pick({1, 1, 1, 2, 5}), g.pick({8, 16, 30, 64, 128, 256}),
                    g.pick({1, 2, 3, 10, 12, 100}), true);
    const int32_t kernel = g.pick({1, 1, 3}), side = g.pick({1, 2, 4, 7, 8});
    convolution(g, {side, side, g.pick({8, 16, 32, 64}), g.pick({2, 6, 12, 24}), kernel, kernel, 1}, false,
                true);
  }
  for (int32_t i = 0; i < 60; ++i) {
    const int32_t side = g.pick({2, 4, 6, 8, 12, 16}), kernel = g.pick({2, 2, 3, side});
    pool(g, i % 2 == 0 ? Op::kAvgPool2d : Op::kMaxPool2d,
         {side, side, g.pick({3, 4, 8, 16, 32, 64, 128}), 0, kernel, kernel, g.pick({1, 2, kernel}), 1, 1,
          kernel == side || g.one_in(2)});
  }
  for (int32_t i = 0; i < 16; ++i)
    elements(g, g.pick({2, 4, 7, 8, 12}), g.pick({2, 4, 5, 8, 12}), g.pick({2, 3, 4, 8, 16, 32}));
  for (int32_t i = 0; i < 16; ++i)
    real_elements(g, g.pick({1, 1, 2, 4, 8, 28}), g.pick({1, 8, 20, 32, 64, 128}));
  for (int32_t i = 0; i < 14; ++i) answers(g, g.pick({1, 1, 1, 3, 10}), g.pick({2, 3, 10, 12, 20, 100}));
  g.finish();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "grid" && argc == 3) return make_grid(argv[2]);
  if (what == "work" && argc == 4) {
    const auto file = tools::LoadedModel::open(argv[2]);
    const auto target = tools::find_target(argv[3]);
    if (!file) return fail(file.message());
    if (!target) return fail(target.message());
    for (int32_t n = 0; n < file->model().node_count(); ++n) {
      const tools::NodeWork work = tools::work_of(file->model(), n, *target);
      std::printf("%s\t", work.kernel.c_str());
      for (const double amount : work.amounts) std::printf(" %.17g", amount);
      std::printf("\n");
    }
    return 0;
  }
  return fail("grid FOLDER, or work MODEL TARGET");
}
