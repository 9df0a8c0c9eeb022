// Channels that hold one code whatever the inputs are: what goes, what stays, and that no output changes.
#include "calibrator/bake/dead_channels.h"

#include <doctest/doctest.h>

#include "calibrator/bake/bake.h"

#include "tests/support/model_builder.h"
#include "tests/support/random.h"

namespace intaglio::test::dead_channels_test {
namespace {

using Dims = std::vector<int32_t>;

// An int8 network of layers and of what carries channels on. Drawn from the same numbers it is the same.
class Network : public ModelBuilder {
 public:
  explicit Network(uint32_t seed) : random_(seed) {}

  int32_t image(const Dims& dims) {
    const int32_t made = codes("input", dims);
    input(made);
    return made;
  }
  // Many of its channels saturate whatever the input is; others have weights of zeros.
  int32_t convolution(int32_t x, int32_t out, int32_t size, bool pads, bool depthwise = false) {
    const Dims in = dims(x);
    out = depthwise ? in[3] : out;
    const int32_t pad = pads ? size / 2 : 0;
    const Dims shape{1, in[1] + 2 * pad - size + 1, in[2] + 2 * pad - size + 1, out};
    const Dims weight_dims = depthwise ? Dims{size, size, out} : Dims{out, size, size, in[3]};
    const auto count = static_cast<size_t>(out) * static_cast<size_t>(size * size * (depthwise ? 1 : in[3]));
    std::vector<int8_t> weights = random_.codes(count);
    for (size_t i = 0; i < count; ++i) {
      const size_t channel =
          depthwise ? i % static_cast<size_t>(out) : i / (count / static_cast<size_t>(out));
      if (channel % 5 == 3) weights[i] = 0;
    }
    const int32_t y = codes("y" + std::to_string(number_), shape);
    const int32_t w = constant("w" + std::to_string(number_), DType::kS8, weight_dims, weights,
                               std::vector<float>(static_cast<size_t>(out), 0.01f), depthwise ? 2 : 0);
    const int32_t b = constant("b" + std::to_string(number_), DType::kS32, {out}, biases(out));
    auto& node = this->node(depthwise ? Op::kDepthwiseConv2d : Op::kConv2d, {x, w, b}, {y});
    auto& window = node.options.as<Window2d>();
    window.kernel_h = window.kernel_w = size;
    window.pad_top = window.pad_left = window.pad_bottom = window.pad_right = pad;
    clamp(node, y);
    ++number_;
    return y;
  }
  int32_t product(int32_t x, int32_t out) {
    const auto depth = dims(x)[1];
    const int32_t y = codes("y" + std::to_string(number_), {1, out});
    const int32_t w = constant("w" + std::to_string(number_), DType::kS8, {out, depth},
                               random_.codes(static_cast<size_t>(out * depth)),
                               std::vector<float>(static_cast<size_t>(out), 0.01f), 0);
    std::vector<int32_t> inputs{x, w};
    if (random_.one_in(2))
      inputs.push_back(constant("b" + std::to_string(number_), DType::kS32, {out}, biases(out)));
    node(Op::kFullyConnected, inputs, {y});
    ++number_;
    return y;
  }
  // By one table, or by one of each channel.
  int32_t lookup(int32_t x) {
    const Dims shape = dims(x);
    const int32_t y = codes("y" + std::to_string(number_), shape), c = shape.back();
    const bool one = random_.one_in(2);
    const int32_t table =
        constant("t" + std::to_string(number_++), DType::kS8, one ? Dims{256} : Dims{c, 256},
                 random_.codes(static_cast<size_t>(256 * (one ? 1 : c))));
    node(Op::kLookup, {x, table}, {y});
    return y;
  }
  int32_t sum(int32_t a, int32_t b) {
    const int32_t y = codes("y" + std::to_string(number_++), dims(a));
    clamp(node(Op::kAdd, {a, b}, {y}), y);
    return y;
  }
  int32_t joined(int32_t a, int32_t b) {
    Dims shape = dims(a);
    shape[3] += dims(b)[3];
    const int32_t y = codes("y" + std::to_string(number_++), shape, &tensor_of(a).quantization);
    node(Op::kConcat, {a, b}, {y}).options.as<ConcatOptions>().axis = 3;
    return y;
  }
  int32_t pool(int32_t x, Op op) {
    Dims shape = dims(x);
    const int32_t y = codes("y" + std::to_string(number_++), shape,
                            op == Op::kMaxPool2d ? &tensor_of(x).quantization : nullptr);
    auto& node = this->node(op, {x}, {y});
    auto& window = node.options.as<Window2d>();
    window.kernel_h = window.kernel_w = 3;
    window.pad_top = window.pad_left = window.pad_bottom = window.pad_right = 1;
    window.count_include_pad = op == Op::kAvgPool2d && random_.one_in(2);
    return y;
  }
  int32_t mean(int32_t x, bool keeps_rank = false) {
    const int32_t c = dims(x)[3];
    const int32_t y = codes("y" + std::to_string(number_++), keeps_rank ? Dims{1, 1, 1, c} : Dims{1, c});
    node(Op::kMean, {x}, {y}).options.as<ReduceOptions>().axes = keep({1, 2});
    return y;
  }
  // An operator that the pass does not know, or a reshape that parts the channels.
  int32_t turned(int32_t x) {
    const Dims in = dims(x);
    const bool parts = random_.one_in(2);
    const Dims shape = parts ? Dims{1, in[1], in[2] * in[3], 1} : Dims{1, in[2], in[1], in[3]};
    const int32_t y = codes("y" + std::to_string(number_++), shape, &tensor_of(x).quantization);
    GraphNode& made = node(parts ? Op::kReshape : Op::kTranspose, {x}, {y});
    if (!parts) made.options.as<TransposeOptions>().permutation = keep({0, 2, 1, 3});
    return y;
  }
  int32_t flat(int32_t x) {
    const Dims in = dims(x);
    const int32_t y =
        codes("y" + std::to_string(number_++), {1, in[1] * in[2] * in[3]}, &tensor_of(x).quantization);
    node(Op::kReshape, {x}, {y});
    return y;
  }

  Random& random() { return random_; }
  const TensorInfo& tensor_of(int32_t t) { return graph().tensors[static_cast<size_t>(t)]; }
  Dims dims(int32_t t) {
    const Shape shape = tensor_of(t).shape;
    return {shape.dims, shape.dims + shape.rank};
  }

 private:
  int32_t codes(const std::string& name, const Dims& dims, const Quantization* same = nullptr) {
    const float scale = random_.real(0.02f, 0.2f);
    const int32_t zero_point = random_.one_in(2) ? -128 : random_.between(-128, 127);
    return tensor(name, DType::kS8, dims, same != nullptr ? same->scales[0] : scale,
                  same != nullptr ? same->zero_point : zero_point);
  }
  std::vector<int32_t> biases(int32_t count) {
    std::vector<int32_t> values(static_cast<size_t>(count));
    for (int32_t& bias : values)
      bias = random_.one_in(2) ? random_.between(-2000, 2000) : (random_.one_in(3) ? 9000000 : -9000000);
    return values;
  }
  void clamp(GraphNode& node, int32_t y) {
    if (!random_.one_in(3)) node.options.as<Clamp>().lo = tensor_of(y).quantization.zero_point;
  }

  Random random_;
  int32_t number_ = 0;
};

void draw(Network& net) {
  Random& random = net.random();
  int32_t x = net.image({1, 5, 6, random.between(1, 5)});
  const int32_t layers = random.between(2, 7);
  for (int32_t i = 0; i < layers; ++i) {
    const int32_t out = random.between(1, 19);
    switch (random.between(0, 7)) {
      case 0:
        x = net.convolution(x, out, 3, true);
        break;
      case 1:
        x = net.convolution(x, out, 1, false);
        break;
      case 2:
        x = net.convolution(net.convolution(x, out, 1, false), 0, 3, true, true);
        break;
      case 3:
        x = net.lookup(net.convolution(x, out, 1, false));
        break;
      case 4: {
        const int32_t a = net.convolution(x, out, 3, true);
        x = net.sum(a, random.one_in(2) ? net.convolution(a, out, 1, false) : net.mean(a, true));
        break;
      }
      case 5: {
        const int32_t a = net.convolution(x, out, 1, false);
        x = net.joined(a, net.pool(a, Op::kMaxPool2d));
        break;
      }
      case 6:
        x = net.pool(x, Op::kAvgPool2d);
        break;
      default:
        x = net.pool(net.convolution(x, out, 1, false), Op::kMaxPool2d);
    }
  }
  if (random.one_in(3)) x = net.turned(x);
  x = random.one_in(2) ? net.flat(x) : net.mean(x);
  net.output(net.product(x, random.between(1, 9)));
}

std::vector<int8_t> picture(Random& random, size_t count, int32_t kind) {
  if (kind == 0) return std::vector<int8_t>(count, -128);
  if (kind == 1) return std::vector<int8_t>(count, 127);
  std::vector<int8_t> codes = random.codes(count);
  if (kind == 2)
    for (int8_t& code : codes) code = code < 0 ? -128 : 127;
  return codes;
}

}  // namespace

TEST_CASE("outputs keep their bytes for every input") {
  const int32_t networks = shape_count(150);
  int64_t removed = 0, of = 0;
  for (int32_t seed = 0; seed < networks; ++seed) {
    CAPTURE(seed);
    Network whole(static_cast<uint32_t>(seed)), less(static_cast<uint32_t>(seed));
    draw(whole);
    draw(less);
    const RemovedChannels report = remove_constant_channels(less.graph(), less.arena());
    removed += report.channels;
    of += report.of_channels;
    fuse_residual(whole.graph(), whole.arena());
    fuse_residual(less.graph(), less.arena());
    RunningModel exact(whole.finish()), shown(less.finish());
    REQUIRE_MESSAGE(exact.error().ok(), text_of(exact.error()));
    REQUIRE_MESSAGE(shown.error().ok(), text_of(shown.error()));
    const auto count = static_cast<size_t>(exact.session().input(0).info.shape.elements());
    Random random(static_cast<uint32_t>(seed) + 77);
    for (int32_t kind = 0; kind < 6; ++kind) {
      CAPTURE(kind);
      const std::vector<int8_t> codes = picture(random, count, kind);
      CHECK(exact.run<int8_t>(codes) == shown.run<int8_t>(codes));
    }
  }
  // So many go in these draws that a rule which is lost shows here.
  CHECK(removed * 4 > of);
}

namespace {

// A layer of `biases.size()` channels before one of `size` x `size`, whose kept input channels it gives.
struct Pair {
  std::vector<int32_t> biases;
  int32_t size = 1;
  bool pads = false, gives_first = false;
};

std::vector<int32_t> kept(const Pair& pair) {
  ModelBuilder net;
  const auto count = static_cast<int32_t>(pair.biases.size());
  const int32_t x = net.tensor("x", DType::kS8, {1, 4, 4, 2}, 0.1f, 3);
  const int32_t y = net.tensor("y", DType::kS8, {1, 4, 4, count}, 0.1f, -128);
  const int32_t side = pair.pads ? 4 : 5 - pair.size;
  const int32_t z = net.tensor("z", DType::kS8, {1, side, side, 4}, 0.1f, 0);
  const auto weights = [&](const std::string& name, int32_t out, int32_t size, int32_t in) {
    return net.constant(name, DType::kS8, {out, size, size, in},
                        std::vector<int8_t>(static_cast<size_t>(out * size * size * in), 1), {0.1f});
  };
  net.node(Op::kConv2d, {x, weights("w", count, 1, 2), net.constant("b", DType::kS32, {count}, pair.biases)},
           {y});
  auto& window = net.node(Op::kConv2d, {y, weights("v", 4, pair.size, count)}, {z}).options.as<Window2d>();
  window.kernel_h = window.kernel_w = pair.size;
  if (pair.pads) window.pad_top = window.pad_left = window.pad_bottom = window.pad_right = pair.size / 2;
  net.input(x);
  net.output(z);
  if (pair.gives_first) net.output(y);
  remove_constant_channels(net.graph(), net.arena());
  const AlignedBytes file = net.finish();
  const Result<Model> model = Model::open(file.view());
  REQUIRE(static_cast<bool>(model));
  const int32_t between = model->node(0).outputs[0];
  const KeptChannels channels = model->kept_channels(between);
  std::vector<int32_t> list;
  for (int32_t c = 0; c < channels.channels; ++c)
    if (channels.has(c)) list.push_back(c);
  if (channels.channels == 0)
    for (int32_t c = 0; c < count; ++c) list.push_back(c);
  CHECK(static_cast<int32_t>(list.size()) == model->tensor(between).shape.back(0));
  return list;
}

constexpr int32_t kLow = -1000000, kHigh = 1000000, kAny = 1000;
using List = std::vector<int32_t>;

}  // namespace

TEST_CASE("which channels go") {
  // Codes at the zero point add nothing, not at a border either.
  CHECK(kept({{kAny, kLow, kAny, kLow, kAny, kAny, kLow, kLow}, 3, true}) == List{0, 2, 4, 5});
  // Another code is worth the same everywhere where nothing is padded.
  CHECK(kept({{kAny, kHigh, kAny, kHigh, kAny, kAny, kLow, kLow}, 1, false}) == List{0, 2, 4, 5});
  CHECK(kept({{kAny, kHigh, kAny, kHigh, kAny, kAny, kLow, kLow}, 3, false}) == List{0, 2, 4, 5});
  CHECK(kept({{kAny, kHigh, kAny, kHigh, kAny, kAny, kHigh, kHigh}, 3, true}) ==
        List{0, 1, 2, 3, 4, 5, 6, 7});
  // As many as four divides: the first of those that could go stay.
  CHECK(kept({{kLow, kAny, kLow, kAny, kLow, kAny, kLow, kAny, kLow, kAny}, 1, false}) ==
        List{0, 1, 2, 3, 4, 5, 7, 9});
  CHECK(kept({{kLow, kLow, kLow, kLow, kLow, kLow}, 1, false}) == List{0, 1, 2, 3});
  // Outputs of the model stay whole.
  CHECK(kept({{kAny, kLow, kAny, kLow, kAny, kAny, kLow, kLow}, 1, false, true}) ==
        List{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("a file may say anything of kept channels") {
  Network net(1);
  const int32_t x = net.image({1, 4, 4, 3});
  const int32_t y = net.convolution(x, 8, 1, false);
  net.output(y);
  const uint8_t bits[] = {0xff, 0x01};
  const auto claims = [&](int32_t channels, size_t bytes) {
    net.graph().kept_channels.resize_down(0);
    net.graph().kept_channels.push(net.arena(), {y, {channels, {bits, bytes}}});
    AlignedBytes file = net.finish();
    const Result<Model> model = Model::open(file.view());
    REQUIRE(static_cast<bool>(model));
    return model->kept_channels(model->outputs()[0]).channels;
  };
  CHECK(claims(8, 1) == 8);
  CHECK(claims(9, 2) == 0);   // nine are left by the bits, eight by the shape
  CHECK(claims(17, 2) == 0);  // too few bytes
  CHECK(claims(8, 2) == 0);
  CHECK(claims(-8, 1) == 0);
}

}  // namespace intaglio::test::dead_channels_test
