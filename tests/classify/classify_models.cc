// Writes what examples/classify runs on, into a folder: models that give a 2x2 RGB picture back as scores,
// a frame of 320 x 240 whose lower left quarter alone is red, and the same picture as the inputs' own values.
// The highest score is (row 1, column 0, red): 6.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "calibrator/bake/model_writer.h"
#include "calibrator/host/system/host_arena.h"

using namespace intaglio;

namespace {

constexpr int32_t kValues = 12;
constexpr float kPixel = 1.0f / 255.0f, kWeight = 1.0f / 127.0f;

struct Form {
  const char* name;
  DType input, output;
  int32_t scores;  // 12, or more with weights of zero
  bool picture;    // the input takes pictures
};
constexpr Form kForms[] = {
    {"example", DType::kS8, DType::kF32, kValues, true},
    {"int8_answers", DType::kS8, DType::kS8, kValues, true},
    {"codes", DType::kS8, DType::kS8, kValues, false},
    {"float", DType::kF32, DType::kF32, kValues, true},
    {"values", DType::kF32, DType::kF32, kValues, false},
    {"large", DType::kS8, DType::kF32, 100000, true},  // of more than a megabyte, and so is its memory
};

bool write_file(const std::string& path, const void* bytes, size_t size) {
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  return static_cast<bool>(file.flush());
}

void quantize(Graph& graph, Arena& arena, int32_t tensor, float scale, int32_t zero_point) {
  graph.tensors[static_cast<size_t>(tensor)].quantization = {arena.copy(Span<const float>(&scale, 1)),
                                                             zero_point, -1};
}

void take_pictures(Graph& graph, Arena& arena, DType input) {
  ImageInput image;
  image.channels = 3;
  const Span<int8_t> table = arena.make<int8_t>(3 * 256);
  for (size_t i = 0; i < table.size; ++i) table[i] = static_cast<int8_t>(static_cast<int32_t>(i % 256) - 128);
  if (input == DType::kS8) image.table = table;
  for (int32_t c = 0; c < 3; ++c) image.norm[c] = kPixel;
  graph.images.push(arena, image);
}

Result<Span<const uint8_t>> make_model(const Form& form, Arena& arena) {
  Graph graph;
  const int32_t picture_dims[] = {1, 2, 2, 3}, score_dims[] = {1, form.scores},
                weight_dims[] = {form.scores, kValues};
  const int32_t picture = add_tensor(graph, arena, "picture", form.input, picture_dims);
  // Each of the first scores is one value of the picture.
  const size_t count = static_cast<size_t>(form.scores) * kValues;
  int32_t weights;
  if (form.input == DType::kS8) {
    quantize(graph, arena, picture, kPixel, -128);
    const Span<uint8_t> codes = arena.make<uint8_t>(count);
    for (size_t i = 0; i < kValues; ++i) codes[i * (kValues + 1)] = 127;
    weights = add_constant(graph, arena, "weights", DType::kS8, weight_dims, codes);
    quantize(graph, arena, weights, kWeight, 0);
  } else {
    const Span<float> values = arena.make<float>(count);
    for (size_t i = 0; i < kValues; ++i) values[i * (kValues + 1)] = 1.0f;
    weights = add_constant(graph, arena, "weights", DType::kF32, weight_dims,
                           {reinterpret_cast<const uint8_t*>(values.data), values.size * sizeof(float)});
  }
  const int32_t scores = add_tensor(graph, arena, "scores", form.output, score_dims);
  if (form.output == DType::kS8) quantize(graph, arena, scores, kPixel, -128);
  const int32_t inputs[] = {picture, weights};
  add_node(graph, arena, Op::kFullyConnected, "scores", inputs, {&scores, 1});
  graph.inputs.push(arena, picture);
  graph.outputs.push(arena, scores);
  if (form.picture) take_pictures(graph, arena, form.input);
  return finish_model(graph, all_ops(), arena);
}

int fail(const char* what, const Error& error) {
  std::printf("%s was not written: status %d\n", what, static_cast<int>(error.status));
  return 1;
}

}  // namespace

int main(int, char** arguments) {
  const std::string folder = arguments[1];
  for (const Form& form : kForms) {
    HostArena memory;
    const Result<Span<const uint8_t>> model = make_model(form, memory.arena());
    if (!model || !write_file(folder + "/" + form.name + ".itg", model->data, model->size))
      return fail(form.name, model.error());
    if (std::string(form.name) == "example" &&
        !write_file(folder + "/cut_off.itg", model->data, model->size - 100))
      return fail("cut_off", {});
  }
  std::vector<uint8_t> frame(320 * 240 * 3, 40);
  for (size_t y = 120; y < 240; ++y)
    for (size_t x = 0; x < 160; ++x) frame[(y * 320 + x) * 3] = 220;
  int8_t codes[kValues];
  float values[kValues];
  for (size_t i = 0; i < kValues; ++i) {
    codes[i] = i == 6 ? 92 : -88;
    values[i] = i == 6 ? 220 * kPixel : 40 * kPixel;
  }
  const bool written = write_file(folder + "/frame.rgb", frame.data(), frame.size()) &&
                       write_file(folder + "/short.rgb", frame.data(), frame.size() - 1) &&
                       write_file(folder + "/codes.bin", codes, sizeof codes) &&
                       write_file(folder + "/values.bin", values, sizeof values);
  return written ? 0 : fail("an input", {});
}
