// Makes what the camera example runs, on the build machine: MobileNetV1 0.25 or MobileNetV2 1.0 at 224 x 224 with random
// weights, planned for a camera that gives its picture row by row; and a header with the memory that the board needs and
// the checksum of the scores that this machine computes, layer by layer. The board must give the same ones.
//
//   make_camera_network v1|v2 ISA ACTIVATION_BYTES OUT.itg OUT.h      ISA: of the board's kernels; bytes: 0 for the least
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "calibrator/bake/model_writer.h"
#include "calibrator/host/stream_plan.h"
#include "calibrator/host/system/files.h"
#include "calibrator/host/system/host_arena.h"
#include "examples/camera_rows/camera.h"
#include "intaglio/session.h"
#include "intaglio/streaming.h"
#include "runtime/crc32.h"

using namespace intaglio;

namespace {

int fail(const std::string& what) {
  std::fprintf(stderr, "make_camera_network: %s\n", what.c_str());
  return 1;
}

// A chain of convolutions. Scales are chosen for the random weights, so that codes fill their range.
class NetworkMaker {
 public:
  explicit NetworkMaker(Arena& arena) : arena_(arena) {
    const int32_t dims[] = {1, kCameraRows, kCameraColumns, kCameraChannels};
    x_ = tensor(dims, kPictureScale, 0);
    graph.inputs.push(arena_, x_);
    ImageInput recipe;
    recipe.channels = kCameraChannels;
    const Span<int8_t> table = arena_.make<int8_t>(kCameraChannels * 256);
    for (size_t i = 0; i < table.size; ++i)
      table[i] = static_cast<int8_t>(static_cast<int32_t>(i % 256) - 128);
    recipe.table = table;
    for (int32_t c = 0; c < kCameraChannels; ++c) recipe.mean[c] = 128.0f, recipe.norm[c] = kPictureScale;
    graph.images.push(arena_, recipe);
  }

  Graph graph;
  int32_t channels() const { return shape()[3]; }

  // A convolution with padding "same"; with `rectified` its output is at least 0. `residual`: -1, or a tensor that is added.
  void convolve(int32_t oc, int32_t kernel, int32_t stride, bool rectified, int32_t residual = -1) {
    const int32_t ic = channels(), dims[] = {oc, kernel, kernel, ic};
    add_layer(Op::kConv2d, dims, 0, ic * kernel * kernel, kernel, stride, oc, rectified);
    if (residual < 0) return;
    const int32_t to[] = {1, shape()[1], shape()[2], oc}, y = tensor(to, kScale, 0);
    const int32_t both[] = {x_, residual};
    add_node(graph, arena_, Op::kAdd, name().c_str(), both, {&y, 1});
    x_ = y;
  }
  void convolve_depthwise(int32_t stride) {
    const int32_t c = channels(), dims[] = {3, 3, c};
    add_layer(Op::kDepthwiseConv2d, dims, 2, 9, 3, stride, c, true);
  }
  void classify(int32_t classes) {
    const int32_t dims[] = {1, channels()}, y = tensor(dims, kScale / 2, -128);
    const int32_t axes[] = {1, 2};
    add_node(graph, arena_, Op::kMean, name().c_str(), {&x_, 1}, {&y, 1}).options.as<ReduceOptions>().axes =
        arena_.copy(Span<const int32_t>(axes));
    const int32_t out[] = {1, classes}, scores = tensor(out, kScale, 0), w[] = {classes, dims[1]};
    const int32_t both[] = {y, weights(w, 0, dims[1])};
    add_node(graph, arena_, Op::kFullyConnected, name().c_str(), both, {&scores, 1});
    graph.outputs.push(arena_, scores);
  }
  int32_t last() const { return x_; }

 private:
  static constexpr float kPictureScale = 1.0f / 64.0f, kScale = 0.04f;

  Shape shape() const { return graph.tensors[static_cast<size_t>(x_)].shape; }
  std::string name() const { return "t" + std::to_string(graph.tensors.size()); }
  int32_t tensor(Span<const int32_t> dims, float scale, int32_t zero_point) {
    const int32_t index = add_tensor(graph, arena_, name().c_str(), DType::kS8, dims);
    graph.tensors[static_cast<size_t>(index)].quantization = {arena_.copy(Span<const float>(&scale, 1)),
                                                              zero_point, -1};
    return index;
  }
  int32_t weights(Span<const int32_t> dims, int32_t axis, int32_t depth) {
    size_t count = 1;
    for (const int32_t dim : dims) count *= static_cast<size_t>(dim);
    std::vector<int8_t> codes(count);
    for (int8_t& code : codes) {
      state_ = state_ * 1664525u + 1013904223u;
      code = static_cast<int8_t>(static_cast<int32_t>((state_ >> 24) % 255) - 127);
    }
    const int32_t index = add_constant(graph, arena_, name().c_str(), DType::kS8, dims,
                                       {reinterpret_cast<const uint8_t*>(codes.data()), codes.size()});
    // Codes in [-127, 127] have the deviation 73: a sum over `depth` of them keeps the deviation of what it is made of.
    const std::vector<float> scales(static_cast<size_t>(dims[static_cast<size_t>(axis)]),
                                    1.4f / (73.0f * std::sqrt(static_cast<float>(depth))));
    graph.tensors[static_cast<size_t>(index)].quantization = {
        arena_.copy(Span<const float>(scales.data(), scales.size())), 0, axis};
    return index;
  }
  void add_layer(Op op, Span<const int32_t> dims, int32_t axis, int32_t depth, int32_t kernel, int32_t stride,
                 int32_t oc, bool rectified) {
    const int32_t h = (shape()[1] + stride - 1) / stride, w = (shape()[2] + stride - 1) / stride;
    const int32_t to[] = {1, h, w, oc}, y = tensor(to, rectified ? kScale / 2 : kScale, rectified ? -128 : 0);
    Window2d window;
    window.kernel_h = window.kernel_w = kernel;
    window.stride_h = window.stride_w = stride;
    const int32_t pad = (h - 1) * stride + kernel - shape()[1];  // the sides are equal
    window.pad_top = window.pad_left = pad > 0 ? pad / 2 : 0;
    window.pad_bottom = window.pad_right = pad > 0 ? pad - pad / 2 : 0;
    const int32_t both[] = {x_, weights(dims, axis, depth)};
    add_node(graph, arena_, op, name().c_str(), both, {&y, 1}).options.as<Window2d>() = window;
    x_ = y;
  }

  Arena& arena_;
  int32_t x_ = -1;
  uint32_t state_ = 1;
};

void make_v1(NetworkMaker& m) {
  m.convolve(8, 3, 2, true);
  struct Block {
    int32_t channels, stride;
  };
  for (const Block b : {Block{16, 1},
                        {32, 2},
                        {32, 1},
                        {64, 2},
                        {64, 1},
                        {128, 2},
                        {128, 1},
                        {128, 1},
                        {128, 1},
                        {128, 1},
                        {128, 1},
                        {256, 2},
                        {256, 1}}) {
    m.convolve_depthwise(b.stride);
    m.convolve(b.channels, 1, 1, true);
  }
  m.classify(1000);
}

void make_v2(NetworkMaker& m) {
  m.convolve(32, 3, 2, true);
  struct Blocks {
    int32_t expansion, channels, count, stride;
  };
  for (const Blocks b : {Blocks{1, 16, 1, 1},
                         {6, 24, 2, 2},
                         {6, 32, 3, 2},
                         {6, 64, 4, 2},
                         {6, 96, 3, 1},
                         {6, 160, 3, 2},
                         {6, 320, 1, 1}})
    for (int32_t i = 0; i < b.count; ++i) {
      const int32_t from = m.last(), stride = i == 0 ? b.stride : 1, ic = m.channels();
      if (b.expansion > 1) m.convolve(ic * b.expansion, 1, 1, true);
      m.convolve_depthwise(stride);
      m.convolve(b.channels, 1, 1, false, stride == 1 && ic == b.channels ? from : -1);
    }
  m.convolve(1280, 1, 1, true);
  m.classify(1000);
}

// The checksum of the scores for the camera's picture, layer by layer with the scalar kernels.
Result<uint32_t> scores_crc(const Model& model) {
  SessionOptions options;
  options.isa = isa::kScalar;
  const Result<SessionNeeds> needs = Session::measure(model, int8_ops(), options);
  if (!needs) return needs.error();
  FileBytes memory(needs->total());
  Result<Session> session =
      Session::create(model, int8_ops(), Session::split({memory.data(), memory.size()}, *needs), options);
  if (!session) return session.error();
  std::vector<uint8_t> line(kCameraLineBytes);
  for (int32_t y = 0; y < kCameraRows; ++y) {
    camera_line(y, line.data());
    session->feed_rows(line.data(), 1);
  }
  const TensorView scores = session->output();
  return crc32(0, static_cast<const uint8_t*>(scores.data), scores.info.bytes());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return fail("five arguments are needed");
  if (std::strcmp(argv[1], "v1") != 0 && std::strcmp(argv[1], "v2") != 0)
    return fail(std::string("there is no network ") + argv[1] + "; there are v1 and v2");
  const IsaName* const named =
      std::find_if(std::begin(kIsaNames), std::end(kIsaNames),
                   [argv](const IsaName& isa) { return std::strcmp(argv[2], isa.name) == 0; });
  if (named == std::end(kIsaNames)) return fail(std::string("there is no instruction set ") + argv[2]);
  HostArena memory;
  NetworkMaker maker(memory.arena());
  (std::strcmp(argv[1], "v1") == 0 ? make_v1 : make_v2)(maker);
  const Result<Span<const uint8_t>> flat = finish_model(maker.graph, int8_ops(), memory.arena());
  if (!flat) return fail("the network cannot be written");
  const Result<Model> network = Model::open(*flat);
  if (!network) return fail("the network is refused");
  StreamGoal goal;
  goal.feeds_rows = true;
  if (std::atoi(argv[3]) > 0) goal.most_bytes = static_cast<uint64_t>(std::atoi(argv[3]));
  const Result<Span<const uint8_t>> file = stream_model(*network, int8_ops(), goal, memory.arena());
  if (!file) return fail("there is no such plan; the least is " + std::to_string(file.error().limit));
  const Result<Model> by_rows = stream_rows(*Model::open(*file));
  if (!by_rows) return fail("the plan is refused");
  SessionOptions board;
  board.isa = named->bit;
  const Result<SessionNeeds> needs = Session::measure(*by_rows, int8_ops(), board, false);
  const Result<uint32_t> crc = scores_crc(*network);
  if (!needs || !crc) return fail("there is no session");
  if (!write_file_atomically(argv[4], *file)) return fail("cannot write");
  FILE* const header = std::fopen(argv[5], "w");
  if (header == nullptr) return fail("cannot write");
  std::fprintf(
      header,
      "// Written by make_camera_network.\n#pragma once\n\n#include <cstddef>\n#include <cstdint>\n\n"
      "inline constexpr size_t kModelBytes = %zu;\ninline constexpr size_t kMemoryBytes = %zu;\n"
      "inline constexpr uint32_t kScoresCrc = %uu;\n",
      file->size, needs->total(), static_cast<unsigned>(*crc));
  return std::fclose(header) == 0 ? 0 : 1;
}
