// write_frozen FOLDER: writes small files of every kind as this version makes them, and what they give. A file that is there stays
// as it is. scripts/freeze runs it.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "calibrator/bake/pack_model.h"
#include "calibrator/host/stream_plan.h"
#include "intaglio/describe.h"
#include "tests/frozen/frozen_run.h"
#include "tests/support/calibrate.h"
#include "tests/support/fuzz_models.h"

namespace intaglio::test {
namespace {

using Bytes = std::vector<uint8_t>;

Span<const uint8_t> view(const Bytes& bytes) { return {bytes.data(), bytes.size()}; }

// FP32, x [1, 3, 4]: every function of one value, whose sum is the answer. Values stay where all of them are defined.
AlignedBytes every_function() {
  ModelBuilder b;
  const std::vector<int32_t> dims = {1, 3, 4};
  const int32_t x = b.tensor("x", DType::kF32, dims), positive = b.tensor("positive", DType::kF32, dims);
  b.input(x);
  b.node(Op::kSigmoid, {x}, {positive});
  int32_t sum = positive;
  for (const Op op : {Op::kLeakyRelu,   Op::kTanh,    Op::kHardSwish,
                      Op::kHardSigmoid, Op::kSwish,   Op::kGelu,
                      Op::kGeluTanh,    Op::kExp,     Op::kAbs,
                      Op::kSqrt,        Op::kRsqrt,   Op::kReciprocal,
                      Op::kLog,         Op::kErf,     Op::kElu,
                      Op::kSoftplus,    Op::kMish,    Op::kFloor,
                      Op::kCeil,        Op::kRound,   Op::kSign,
                      Op::kSin,         Op::kCos,     Op::kPow,
                      Op::kSelu,        Op::kCelu,    Op::kThresholdedRelu,
                      Op::kShrink,      Op::kSoftsign}) {
    const std::string name = op_name(op);
    const int32_t value = b.tensor(name, DType::kF32, dims), next = b.tensor("to_" + name, DType::kF32, dims);
    GraphNode& node = b.node(op, {positive}, {value});
    if (auto* const options = node.options.get<UnaryOptions>()) *options = {0.5f, 0.25f};
    b.node(Op::kAdd, {sum, value}, {next});
    sum = next;
  }
  for (const Op op : {Op::kDiv, Op::kEqual, Op::kLessOrEqual}) {
    const std::string name = op_name(op);
    const int32_t value = b.tensor(name, DType::kF32, dims), next = b.tensor("to_" + name, DType::kF32, dims);
    b.node(op, {sum, positive}, {value});
    b.node(Op::kMul, {sum, value}, {next});
    const int32_t both = b.tensor("with_" + name, DType::kF32, dims);
    b.node(Op::kAdd, {next, sum}, {both});
    sum = both;
  }
  b.output(sum);
  return b.finish();
}

// FP32, y = x + a, of which `a` starts at zero and `b` at values: a' = x + a, b' = tanh(x + b).
AlignedBytes with_states() {
  static constexpr float kInitial[] = {0.5f, -0.25f, 0.125f};
  ModelBuilder b;
  const auto tensor = [&](const char* name) { return b.tensor(name, DType::kF32, {1, 3}); };
  const int32_t x = tensor("x"), first = tensor("a"), second = tensor("b"), first_next = tensor("next_a"),
                sum = tensor("sum"), second_next = tensor("next_b");
  b.input(x);
  b.node(Op::kAdd, {x, first}, {first_next});
  b.node(Op::kAdd, {x, second}, {sum});
  b.node(Op::kTanh, {sum}, {second_next});
  b.output(first_next);
  b.output(second_next);
  b.graph().states.push(b.arena(), {first, first_next, {}});
  b.graph().states.push(b.arena(),
                        {second, second_next, {reinterpret_cast<const uint8_t*>(kInitial), sizeof kInitial}});
  return b.finish();
}

// FP32, x [1, 6, 8]: a normalization, and one head of attention whose queries, keys and values are all that.
AlignedBytes attention() {
  Random random(9);
  ModelBuilder b;
  const auto tensor = [&](const char* name, const std::vector<int32_t>& dims) {
    return b.tensor(name, DType::kF32, dims);
  };
  const auto factors = [&](const char* name, float lo, float hi) {
    return b.constant<float>(name, DType::kF32, {8}, random.reals(8, lo, hi));
  };
  const int32_t x = tensor("x", {1, 6, 8}), normal = tensor("normal", {1, 6, 8}),
                scores = tensor("scores", {1, 6, 6}), shares = tensor("shares", {1, 6, 6}),
                y = tensor("y", {1, 6, 8});
  b.input(x);
  NodeOptions& layer =
      b.node(Op::kNormalize, {x, factors("gamma", 0.5f, 1.5f), factors("beta", -0.1f, 0.1f)}, {normal})
          .options;
  layer.as<NormalizeOptions>().epsilon = 1e-5f;
  b.node(Op::kBatchMatMul, {normal, normal}, {scores}).options.as<BatchMatMulOptions>().transpose_b = true;
  b.node(Op::kSoftmax, {scores}, {shares});
  b.node(Op::kBatchMatMul, {shares, normal}, {y});
  b.output(y);
  return b.finish();
}

// FP32, one convolution of a picture in a letterbox.
AlignedBytes letterbox(uint8_t border) {
  Random random(6);
  ModelBuilder b;
  const int32_t x = b.tensor("picture", DType::kF32, {1, 8, 8, 3}),
                y = b.tensor("map", DType::kF32, {1, 7, 7, 2});
  b.input(x);
  auto& window =
      b.node(Op::kConv2d,
             {x, b.constant<float>("w", DType::kF32, {2, 2, 2, 3}, random.reals(24, -1.0f, 1.0f))}, {y})
          .options.as<Window2d>();
  window.kernel_h = window.kernel_w = 2;
  b.output(y);
  ImageInput recipe;
  recipe.resize = ResizeMode::kLetterbox;
  recipe.border = border;
  recipe.channels = 3;
  for (int32_t c = 0; c < 3; ++c) recipe.mean[c] = 100.0f, recipe.norm[c] = 1.0f / 64.0f;
  b.graph().images.push(b.arena(), recipe);
  return b.finish();
}

// FP32, x [1, 9, 9, 14]: every sum that goes by blocks, of more terms than one.
AlignedBytes long_sums() {
  Random random(10);
  ModelBuilder b;
  const auto tensor = [&](const char* name, const std::vector<int32_t>& dims) {
    return b.tensor(name, DType::kF32, dims);
  };
  const auto normalize = [&](int32_t x, int32_t y, int32_t channels) -> NormalizeOptions& {
    const auto factors = [&](const char* name, float lo, float hi) {
      return b.constant<float>(name, DType::kF32, {channels},
                               random.reals(static_cast<size_t>(channels), lo, hi));
    };
    auto& options =
        b.node(Op::kNormalize, {x, factors("gamma", 0.5f, 1.5f), factors("beta", -0.1f, 0.1f)}, {y})
            .options.as<NormalizeOptions>();
    options.epsilon = 1e-5f;
    return options;
  };
  const int32_t x = tensor("x", {1, 9, 9, 14}), map = tensor("map", {1, 9, 9, 14}),
                mean = tensor("mean", {1, 14}), pool = tensor("pool", {1, 1, 1, 14}),
                row = tensor("row", {1, 1134}), normal = tensor("normal", {1, 1134}),
                shares = tensor("shares", {1, 1134}), unit = tensor("unit", {1, 1134});
  b.input(x);
  normalize(x, map, 14).over_map = true;
  b.node(Op::kMean, {map}, {mean}).options.as<ReduceOptions>().axes = b.keep({1, 2});
  auto& window = b.node(Op::kAvgPool2d, {x}, {pool}).options.as<Pool2dOptions>().window;
  window.kernel_h = window.kernel_w = 9;
  b.node(Op::kReshape, {x}, {row});
  normalize(row, normal, 1134);
  b.node(Op::kSoftmax, {row}, {shares});
  b.node(Op::kL2Normalize, {row}, {unit});
  for (const int32_t y : {mean, pool, normal, shares, unit}) b.output(y);
  return b.finish();
}

class Writer {
 public:
  explicit Writer(std::string folder) : folder_(std::move(folder)) {}

  void model(const std::string& name, Span<const uint8_t> bytes) {
    const Result<uint32_t> outputs = frozen_outputs(bytes);
    if (!outputs) throw std::runtime_error(name + ": " + text_of(outputs.error()));
    file(name + ".itg", bytes, *outputs);
    const Model model = *Model::open(bytes);
    for (int32_t i = 0; i < model.node_count(); ++i) operators_.insert(model.node(i).op);
  }
  void file(const std::string& name, Span<const uint8_t> bytes, uint32_t gives) {
    const std::string path = folder_ + "/" + name;
    if (std::filesystem::exists(path)) return;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data), static_cast<std::streamsize>(bytes.size));
    char line[200];
    std::snprintf(line, sizeof line, "%s %08x %08x\n", name.c_str(), crc32(0, bytes.data, bytes.size), gives);
    std::ofstream(folder_ + "/outputs.txt", std::ios::app) << line;
    std::printf("%s: %zu bytes\n", name.c_str(), bytes.size);
  }
  // Operators without an old file: a model with them is to be added above.
  void name_absent() const {
    for (int32_t op = 1; *op_name(static_cast<Op>(op)) != 'u'; ++op)
      if (operators_.count(static_cast<Op>(op)) == 0)
        std::printf("no file has %s\n", op_name(static_cast<Op>(op)));
  }

 private:
  std::string folder_;
  std::set<Op> operators_;
};

void write_all(const std::string& folder, const std::string& tag) {
  Writer writer(folder);
  HostArena arena;
  Random random(11);
  const AlignedBytes cnn = small_cnn(), ops = every_op(), functions = every_function();
  const Samples cnn_samples = small_cnn_samples(4),
                ops_samples = {random.reals(6 * 6 * 4, -1.0f, 1.0f), random.reals(6 * 6 * 4, -2.0f, 2.0f)},
                function_samples = {random.reals(12, -3.0f, 3.0f), random.reals(12, -3.0f, 3.0f)};
  const auto int8 = [](const AlignedBytes& network, const Samples& samples, CalibratorOptions options = {}) {
    return calibrate(*Model::open(network.view()), samples, options);
  };
  writer.model("cnn_f32" + tag, cnn.view());
  writer.model("operators_f32" + tag, ops.view());
  writer.model("functions_f32" + tag, functions.view());
  writer.model("states_f32" + tag, with_states().view());
  const Bytes cnn_s8 = int8(cnn, cnn_samples), ops_s8 = int8(ops, ops_samples);
  writer.model("cnn_s8" + tag, view(cnn_s8));
  writer.model("operators_s8" + tag, view(ops_s8));
  writer.model("functions_s8" + tag, view(int8(functions, function_samples)));
  CalibratorOptions options;
  options.int8_answers = true;
  writer.model("answers_s8" + tag, view(int8(cnn, cnn_samples, options)));
  const int32_t in_float[] = {1, 3};
  options = {};
  options.float_nodes = in_float;
  writer.model("mixed_s8" + tag, view(int8(cnn, cnn_samples, options)));
  const SlotSetting wide{-1, SlotRole::kActivations, -1, 16};
  options = {};
  options.slots = {&wide, 1};
  writer.model("operators_s16" + tag, view(int8(ops, ops_samples, options)));
  const AlignedBytes head = attention();
  const Samples head_samples = {random.reals(48, -1.0f, 1.0f), random.reals(48, -2.0f, 2.0f)};
  writer.model("attention_s8" + tag, view(int8(head, head_samples)));
  writer.model("attention_s16" + tag, view(int8(head, head_samples, options)));
  writer.model("packed_s8" + tag, *pack_model(*Model::open(AlignedBytes(view(cnn_s8)).view()), all_ops(),
                                              isa::kAvx2, arena.arena()));
  for (const bool feeds_rows : {false, true}) {
    const std::string name = feeds_rows ? "fed_" : "rows_";
    const AlignedBytes small(view(cnn_s8)), network(RandomPictureNetwork(8).finish().view());
    writer.model(name + "s8" + tag,
                 *stream_model(*Model::open(small.view()), all_ops(), {{}, feeds_rows}, arena.arena()));
    writer.model(name + "picture_s8" + tag,
                 *stream_model(*Model::open(network.view()), all_ops(), {{}, feeds_rows}, arena.arena()));
  }
  writer.model("letterbox_f32" + tag, letterbox(kUsualBorder).view());
  writer.model("border_f32" + tag, letterbox(114).view());
  writer.model("sums_f32" + tag, long_sums().view());

  // A calibration's state, of the network with the same name.
  const AlignedBytes network = letterbox(kUsualBorder);
  const Model model = *Model::open(network.view());
  AlignedBytes memory(Calibrator::measure(model)->total());
  Result<Calibrator> calibrator = Calibrator::create(model, memory.span());
  const Samples pictures = {random.reals(8 * 8 * 3, -1.5f, 2.4f), random.reals(8 * 8 * 3, -1.5f, 2.4f)};
  for (const std::vector<float>& picture : pictures) {
    const Span<const uint8_t> input = bytes_of(picture);
    if (const Error error = calibrator->add({&input, 1}); !error.ok())
      throw std::runtime_error(text_of(error));
  }
  Bytes state(calibrator->state_bytes());
  (void)calibrator->save({state.data(), state.size()});
  writer.file("letterbox_f32" + tag + ".state", view(state), static_cast<uint32_t>(pictures.size()));
  writer.name_absent();
}

}  // namespace
}  // namespace intaglio::test

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: write_frozen FOLDER\n"), 2;
  try {
    intaglio::test::write_all(argv[1], "_" + std::to_string(intaglio::kFormatVersion));
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "write_frozen: %s\n", error.what()), 1;
  }
  return 0;
}
