// Makes what the example calibrates, on the build machine: a small FP32 network, frames, and the int8 models
// that this machine writes for them, one a method, as C++ arrays. Every device must write the same bytes.
//
//   make_calibration OUT.h
#include <cstdio>
#include <cstring>
#include <vector>

#include "calibrator/bake/model_writer.h"
#include "calibrator/host/system/host_arena.h"
#include "examples/on_device_calibration/calibrate_frames.h"
#include "examples/on_device_calibration/objects.h"

using namespace intaglio;

namespace {

constexpr int32_t kSide = 24, kChannels = 8, kWide = 16, kClasses = 4, kFrames = 5;
constexpr int32_t kFrameWidth = 40, kFrameHeight = 30;  // of the camera

uint32_t state = 1;
float real(float scale) {
  state = state * 1664525u + 1013904223u;
  return scale * (static_cast<float>(state >> 8) / 8388608.0f - 1.0f);
}

class Maker {
 public:
  explicit Maker(Arena& arena) : arena_(arena) {}

  int32_t tensor(const char* name, const std::vector<int32_t>& dims) {
    return add_tensor(graph, arena_, name, DType::kF32, {dims.data(), dims.size()});
  }
  int32_t weights(const char* name, const std::vector<int32_t>& dims, float scale) {
    size_t count = 1;
    for (const int32_t dim : dims) count *= static_cast<size_t>(dim);
    std::vector<float> values(count);
    for (float& v : values) v = real(scale);
    return add_constant(graph, arena_, name, DType::kF32, {dims.data(), dims.size()},
                        {reinterpret_cast<const uint8_t*>(values.data()), count * sizeof(float)});
  }
  NodeOptions& node(Op op, const char* name, const std::vector<int32_t>& inputs, int32_t output) {
    return add_node(graph, arena_, op, name, {inputs.data(), inputs.size()}, {&output, 1}).options;
  }

  Graph graph;

 private:
  Arena& arena_;
};

Result<Span<const uint8_t>> make_model(Arena& arena) {
  Maker m(arena);
  const int32_t half = kSide / 2;
  const int32_t x = m.tensor("frame", {1, kSide, kSide, 1}), a = m.tensor("a", {1, half, half, kChannels}),
                b = m.tensor("b", {1, half, half, kChannels}), c = m.tensor("c", {1, half, half, kChannels}),
                d = m.tensor("d", {1, half, half, kChannels}), e = m.tensor("e", {1, half, half, kWide}),
                f = m.tensor("f", {1, kWide}), g = m.tensor("g", {1, kClasses}),
                y = m.tensor("scores", {1, kClasses});
  Window2d same;
  same.kernel_h = same.kernel_w = 3;
  same.pad_top = same.pad_left = same.pad_bottom = same.pad_right = 1;
  Window2d reduce = same;
  reduce.stride_h = reduce.stride_w = 2;
  reduce.pad_top = reduce.pad_left = 0;
  auto& stem =
      m.node(Op::kConv2d, "stem",
             {x, m.weights("stem/w", {kChannels, 3, 3, 1}, 0.4f), m.weights("stem/b", {kChannels}, 0.1f)}, a)
          .as<Conv2dOptions>();
  stem.window = reduce;
  stem.clamp.min = 0.0f;
  auto& depthwise =
      m.node(Op::kDepthwiseConv2d, "depthwise",
             {a, m.weights("dw/w", {3, 3, kChannels}, 0.5f), m.weights("dw/b", {kChannels}, 0.1f)}, b)
          .as<DepthwiseConv2dOptions>();
  depthwise.window = same;
  depthwise.clamp.min = 0.0f;
  depthwise.clamp.max = 6.0f;
  m.node(Op::kConv2d, "project",
         {b, m.weights("project/w", {kChannels, 1, 1, kChannels}, 0.5f),
          m.weights("project/b", {kChannels}, 0.1f)},
         c);
  m.node(Op::kAdd, "add", {c, a}, d).as<Clamp>().min = 0.0f;
  m.node(Op::kConv2d, "expand",
         {d, m.weights("expand/w", {kWide, 1, 1, kChannels}, 0.5f), m.weights("expand/b", {kWide}, 0.1f)}, e)
      .as<Clamp>()
      .min = 0.0f;
  const int32_t axes[] = {1, 2};
  m.node(Op::kMean, "mean", {e}, f).as<ReduceOptions>().axes = arena.copy(Span<const int32_t>(axes));
  m.node(Op::kFullyConnected, "classifier",
         {f, m.weights("fc/w", {kClasses, kWide}, 0.8f), m.weights("fc/b", {kClasses}, 0.2f)}, g);
  m.node(Op::kSoftmax, "softmax", {g}, y);
  m.graph.inputs.push(arena, x);
  m.graph.outputs.push(arena, y);
  ImageInput recipe;
  recipe.color = ColorOrder::kGray;
  recipe.resize = ResizeMode::kLetterbox;
  recipe.channels = 1;
  recipe.mean[0] = 128.0f;
  recipe.norm[0] = 1.0f / 64.0f;
  m.graph.images.push(arena, recipe);
  return finish_model(m.graph, float_ops(), arena);
}

// Discs of reddish light, one a frame, somewhere else each time: words r5 g6 b5, the high byte first, as small camera modules send them.
std::vector<uint8_t> make_frames() {
  std::vector<uint8_t> pixels;
  for (int32_t i = 0; i < kFrames; ++i)
    for (int32_t y = 0; y < kFrameHeight; ++y)
      for (int32_t x = 0; x < kFrameWidth; ++x) {
        const int32_t dx = x - 7 - 7 * i, dy = y - 22 + 4 * i, distance = dx * dx + dy * dy;
        const int32_t light = distance < 255 ? 255 - distance : (x * 7 + y * 3) % 32;
        const int32_t word = light >> 3 << 11 | light * 3 / 4 >> 2 << 5 | light / 2 >> 3;
        pixels.push_back(static_cast<uint8_t>(word >> 8));
        pixels.push_back(static_cast<uint8_t>(word));
      }
  return pixels;
}

template <typename Bytes>
void print(FILE* file, const char* name, const Bytes& bytes) {
  std::fprintf(file, "alignas(64) inline constexpr uint8_t %s[%zu] = {", name, bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) std::fprintf(file, "%s%d,", i % 24 == 0 ? "\n  " : "", bytes[i]);
  std::fprintf(file, "\n};\n");
}

// The layer that learn_objects() makes with this model.
bool print_learnt(FILE* file, const std::vector<uint8_t>& bytes, const FrameInfo& info, size_t scratch_bytes,
                  Arena& arena) {
  const auto memory = [&arena](size_t size) -> Span<uint8_t> {
    return {static_cast<uint8_t*>(arena.allocate(size, kMemoryAlignment)), size};
  };
  const Span<uint8_t> aligned = memory(bytes.size());
  std::memcpy(aligned.data, bytes.data(), bytes.size());
  const Result<Model> model = Model::open(aligned);
  const Result<LearnNeeds> needs = LastLayerLearner::measure(*model, kObjects, kObjects * kShown);
  const Result<SessionNeeds> session_needs = Session::measure(*model, int8_ops());
  if (!needs || !session_needs) return false;
  Result<Session> session =
      Session::create(*model, int8_ops(), Session::split(memory(session_needs->total()), *session_needs));
  std::vector<uint8_t> patch(needs->patch_bytes);
  if (!session || !learn_objects(*session, info, memory(frame_bytes(info)), memory(scratch_bytes),
                                 memory(needs->memory_bytes), {patch.data(), patch.size()}))
    return false;
  print(file, "kLearnt", patch);
  std::fprintf(file, "inline constexpr size_t kLearnBytes = %zu, kPatchBytes = %zu;\n", needs->memory_bytes,
               needs->patch_bytes);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  HostArena memory;
  Arena& arena = memory.arena();
  const Result<Span<const uint8_t>> bytes = make_model(arena);
  if (argc < 2 || !bytes) return 1;
  const Result<Model> model = Model::open(*bytes);
  if (!model) return 1;
  const std::vector<uint8_t> pixels = make_frames();
  const Frames frames{pixels.data(), kFrames, {kFrameWidth, kFrameHeight, PixelOrder::kRgb565Swapped}};
  const Result<size_t> scratch_bytes =
      FrameWriter::measure(model->image(0), model->tensor(model->inputs()[0]), frames.info);
  if (!scratch_bytes) return 1;
  FILE* const file = std::fopen(argv[1], "w");
  if (file == nullptr) return 1;
  std::fprintf(file,
               "// Written by make_calibration.\n#pragma once\n\n#include <cstddef>\n#include <cstdint>\n\n");
  print(file, "kFloatModel", std::vector<uint8_t>(bytes->begin(), bytes->end()));
  print(file, "kPixels", pixels);
  std::fprintf(file, "inline constexpr int kFrameCount = %d, kFrameWidth = %d, kFrameHeight = %d;\n", kFrames,
               kFrameWidth, kFrameHeight);
  std::fprintf(file, "inline constexpr size_t kScratchBytes = %zu;\n", *scratch_bytes);
  size_t most = 0;
  const char* const names[] = {"kAuto", "kMinMax", "kPercentile", "kMse", "kDevice"};
  for (int32_t method = 0; method < 5; ++method) {
    CalibratorOptions options = options_of(method == 4, static_cast<RangeMethod>(method % 4));
    options.isa = isa::kScalar;  // a board has no FP32 kernels of its own: its need, then
    const Result<CalibratorNeeds> needs = Calibrator::measure(*model, options);
    if (!needs) return 1;
    most = needs->total() > most ? needs->total() : most;
    options.isa = isa::kAll;
    const Result<CalibratorNeeds> here = Calibrator::measure(*model, options);
    const size_t total = here->total();
    const Span<uint64_t> block = arena.make<uint64_t>(total / 8 + kMemoryAlignment);
    auto* const at = reinterpret_cast<uint8_t*>(block.data);
    uint8_t* const start = at + (kMemoryAlignment - reinterpret_cast<uintptr_t>(at) % kMemoryAlignment);
    std::vector<uint32_t> scratch(*scratch_bytes / 4 + 1);
    std::vector<uint8_t> written;
    const ModelSink sink{[](void* context, Span<const uint8_t> b) {
                           static_cast<std::vector<uint8_t>*>(context)->assign(b.begin(), b.end());
                           return true;
                         },
                         &written};
    const Error error = calibrate_frames(*model, frames, options, {start, total},
                                         {reinterpret_cast<uint8_t*>(scratch.data()), *scratch_bytes}, sink);
    if (!error.ok())
      return std::fprintf(stderr, "make_calibration: status %d\n", static_cast<int>(error.status)), 1;
    print(file, names[method], written);
    if (method == 4 && !print_learnt(file, written, frames.info, *scratch_bytes, arena))
      return std::fprintf(stderr, "make_calibration: nothing is learnt\n"), 1;
  }
  std::fprintf(file, "inline constexpr size_t kCalibratorBytes = %zu;\n", most);
  return std::fclose(file) == 0 ? 0 : 1;
}
