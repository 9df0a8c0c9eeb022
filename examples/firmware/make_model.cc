// Makes what the firmware example runs, on the build machine: an int8 network of three layers, an input, and
// the codes that this machine computes for it, as C++ arrays. The board must give the same ones.
//
//   firmware_make_model OUT.h ISA      of the board's kernels, as in `intaglio inspect --target`
#include <cstdio>
#include <cstring>
#include <vector>

#include "calibrator/bake/model_writer.h"
#include "calibrator/host/system/host_arena.h"
#include "intaglio/session.h"

using namespace intaglio;

namespace {

constexpr int32_t kSide = 8, kChannels = 16, kClasses = 10;

// Numbers that look like weights.
int8_t code(uint32_t i) {
  return static_cast<int8_t>(static_cast<int32_t>((i + 1) * 2654435761u >> 24) - 127 > 127
                                 ? 127
                                 : static_cast<int32_t>((i + 1) * 2654435761u >> 24) - 127);
}

class Maker {
 public:
  explicit Maker(Arena& arena) : arena_(arena) {}

  int32_t tensor(const char* name, Span<const int32_t> dims, float scale, int32_t zero_point) {
    const int32_t index = add_tensor(graph, arena_, name, DType::kS8, dims);
    quantize(index, {&scale, 1}, zero_point, -1);
    return index;
  }
  int32_t weights(const char* name, Span<const int32_t> dims, int32_t axis) {
    size_t count = 1;
    for (const int32_t dim : dims) count *= static_cast<size_t>(dim);
    std::vector<int8_t> codes(count);
    for (size_t i = 0; i < count; ++i) codes[i] = code(static_cast<uint32_t>(i));
    const int32_t index = add_constant(graph, arena_, name, DType::kS8, dims,
                                       {reinterpret_cast<const uint8_t*>(codes.data()), codes.size()});
    const std::vector<float> scales(static_cast<size_t>(dims[static_cast<size_t>(axis)]), 0.004f);
    quantize(index, {scales.data(), scales.size()}, 0, axis);
    return index;
  }
  GraphNode& node(Op op, const char* name, int32_t x, int32_t w, int32_t y) {
    const int32_t inputs[] = {x, w};
    return add_node(graph, arena_, op, name, inputs, {&y, 1});
  }

  Graph graph;

 private:
  void quantize(int32_t index, Span<const float> scales, int32_t zero_point, int32_t axis) {
    graph.tensors[static_cast<size_t>(index)].quantization = {arena_.copy(scales), zero_point, axis};
  }

  Arena& arena_;
};

Result<Span<const uint8_t>> make_model(Arena& arena) {
  Maker m(arena);
  const int32_t picture[] = {1, kSide, kSide, 3}, features[] = {1, kSide, kSide, kChannels},
                scores[] = {1, kClasses};
  const int32_t stem[] = {kChannels, 3, 3, 3}, depthwise[] = {3, 3, kChannels};
  const int32_t classifier[] = {kClasses, kSide * kSide * kChannels};
  const int32_t x = m.tensor("picture", picture, 1.0f / 255.0f, -128),
                a = m.tensor("a", features, 0.02f, -128);
  const int32_t b = m.tensor("b", features, 0.03f, 5), y = m.tensor("scores", scores, 0.2f, 3);
  Window2d same;
  same.kernel_h = same.kernel_w = 3;
  same.pad_top = same.pad_left = same.pad_bottom = same.pad_right = 1;
  m.node(Op::kConv2d, "stem", x, m.weights("stem/w", stem, 0), a).options.as<Window2d>() = same;
  m.node(Op::kDepthwiseConv2d, "depthwise", a, m.weights("depthwise/w", depthwise, 2), b)
      .options.as<Window2d>() = same;
  m.node(Op::kFullyConnected, "classifier", b, m.weights("classifier/w", classifier, 0), y);
  m.graph.inputs.push(arena, x);
  m.graph.outputs.push(arena, y);
  return finish_model(m.graph, int8_ops(), arena);
}

template <typename T>
void print(FILE* file, const char* type, const char* name, Span<const T> values) {
  std::fprintf(file, "alignas(64) inline constexpr %s %s[%zu] = {", type, name, values.size);
  for (size_t i = 0; i < values.size; ++i)
    std::fprintf(file, "%s%d,", i % 24 == 0 ? "\n  " : "", static_cast<int>(values[i]));
  std::fprintf(file, "\n};\n");
}

}  // namespace

int main(int argc, char** argv) {
  HostArena memory;
  const Result<Span<const uint8_t>> bytes = make_model(memory.arena());
  if (argc < 2 || !bytes) return 1;
  const Result<Model> model = Model::open(*bytes);
  if (!model) return 1;
  // The needs of the board, with its kernels; here the scalar ones compute what it must give.
  SessionOptions board, options;
  board.isa = options.isa = isa::kScalar;
  for (const IsaName& name : kIsaNames)
    if (argc > 2 && std::strcmp(argv[2], name.name) == 0) board.isa = name.bit;
  const Result<SessionNeeds> of_board = Session::measure(*model, int8_ops(), board, false);
  const Result<SessionNeeds> needs = Session::measure(*model, int8_ops(), options);
  if (!needs || !of_board) return 1;
  const Span<uint64_t> block = memory.arena().make<uint64_t>(needs->total() / 8 + kMemoryAlignment);
  const uintptr_t start =
      (reinterpret_cast<uintptr_t>(block.data) + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
  Result<Session> session =
      Session::create(*model, int8_ops(),
                      Session::split({reinterpret_cast<uint8_t*>(start), needs->total()}, *needs), options);
  if (!session) return 1;

  std::vector<int8_t> input(kSide * kSide * 3);
  for (size_t i = 0; i < input.size(); ++i) input[i] = code(static_cast<uint32_t>(i) * 7 + 3);
  const Span<int8_t> into = session->input().as<int8_t>();
  for (size_t i = 0; i < input.size(); ++i) into[i] = input[i];
  session->run();
  const Span<int8_t> scores = session->output().as<int8_t>();

  FILE* const file = std::fopen(argv[1], "w");
  if (file == nullptr) return 1;
  std::fprintf(
      file, "// Written by firmware_make_model.\n#pragma once\n\n#include <cstddef>\n#include <cstdint>\n\n");
  std::fprintf(file, "inline constexpr size_t kMemoryBytes = %zu;\n", of_board->total());
  print<uint8_t>(file, "uint8_t", "kModel", *bytes);
  print<int8_t>(file, "int8_t", "kInput", {input.data(), input.size()});
  print<int8_t>(file, "int8_t", "kExpected", {scores.data, scores.size});
  return std::fclose(file) == 0 ? 0 : 1;
}
