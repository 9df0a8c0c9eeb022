// Writes what the README's example runs on: a model that gives a 2x2 RGB picture back as 12 scores in FP32,
// and a frame of 320 x 240 whose lower left quarter alone is red. The highest score is (row 1, column 0,
// red): 6.
#include <cstdio>
#include <fstream>
#include <vector>

#include "calibrator/host/host_arena.h"
#include "calibrator/model_writer.h"

using namespace intaglio;

namespace {

bool write_file(const char* path, const void* bytes, size_t size) {
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  return static_cast<bool>(file.flush());
}

Result<Span<const uint8_t>> make_model(Arena& arena) {
  constexpr int32_t kScores = 12;
  Graph graph;
  const int32_t picture_dims[] = {1, 2, 2, 3}, score_dims[] = {1, kScores},
                weight_dims[] = {kScores, kScores};
  const float pixel = 1.0f / 255.0f, weight = 1.0f / 127.0f;
  const int32_t picture = add_tensor(graph, arena, "picture", DType::kS8, picture_dims);
  graph.tensors[static_cast<size_t>(picture)].quantization = {arena.copy(Span<const float>(&pixel, 1)), -128,
                                                              -1};
  const Span<uint8_t> codes = arena.make<uint8_t>(kScores * kScores);
  for (size_t i = 0; i < codes.size; i += kScores + 1)
    codes[i] = 127;  // each score is one value of the picture
  const int32_t weights = add_constant(graph, arena, "weights", DType::kS8, weight_dims, codes);
  graph.tensors[static_cast<size_t>(weights)].quantization = {arena.copy(Span<const float>(&weight, 1)), 0,
                                                              -1};
  const int32_t scores = add_tensor(graph, arena, "scores", DType::kF32, score_dims);
  const int32_t inputs[] = {picture, weights};
  add_node(graph, arena, Op::kFullyConnected, "scores", inputs, {&scores, 1});
  graph.inputs.push(arena, picture);
  graph.outputs.push(arena, scores);

  ImageInput image;
  image.channels = 3;
  const Span<int8_t> table = arena.make<int8_t>(3 * 256);
  for (size_t i = 0; i < table.size; ++i) table[i] = static_cast<int8_t>(static_cast<int32_t>(i % 256) - 128);
  image.table = table;
  for (int32_t c = 0; c < 3; ++c) image.norm[c] = pixel;
  graph.images.push(arena, image);
  return finish_model(graph, int8_ops(), arena);
}

}  // namespace

int main(int, char** arguments) {
  HostArena memory;
  const Result<Span<const uint8_t>> model = make_model(memory.arena());
  if (!model || !write_file(arguments[1], model->data, model->size)) {
    std::printf("the model was not written: status %d\n", static_cast<int>(model.error().status));
    return 1;
  }
  std::vector<uint8_t> frame(320 * 240 * 3, 40);
  for (size_t y = 120; y < 240; ++y)
    for (size_t x = 0; x < 160; ++x) frame[(y * 320 + x) * 3] = 220;
  return write_file(arguments[2], frame.data(), frame.size()) ? 0 : 1;
}
