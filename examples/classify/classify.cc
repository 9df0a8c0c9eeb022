// A model and a picture, or the input's own values, to a class.
//
//   classify NET.itg PICTURE.rgb WIDTH HEIGHT      rows of RGB bytes, as a camera gives them
//   classify NET.itg VALUES                        the input tensor's bytes
//
// Runs any model with one input: int8, FP32 or mixed. Only this program's own parts take heap: on a board the model
// stands in flash and the memory is a static array of needs->total() bytes.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include "intaglio/describe.h"
#include "intaglio/session.h"

using namespace intaglio;

// Bytes that start where a model or a session may.
class Memory {
 public:
  explicit Memory(size_t size) : lines_(size / kMemoryAlignment + 1), size_(size) {}
  Span<uint8_t> span() { return {lines_[0].bytes, size_}; }

 private:
  struct alignas(kMemoryAlignment) Line {
    uint8_t bytes[kMemoryAlignment];
  };
  std::vector<Line> lines_;
  size_t size_;
};

[[noreturn]] void fail(const char* what, const char* why) {
  std::fprintf(stderr, "%s: %s\n", what, why);
  std::exit(1);
}

void check(const char* what, const Error& error, const Model* model = nullptr) {
  if (error.ok()) return;
  char text[256];
  describe(error, model, text, sizeof text);
  fail(what, text);
}

Memory read_file(const char* path) {
  std::error_code error;
  const size_t size = std::filesystem::file_size(path, error);
  if (error) fail(path, error.message().c_str());
  Memory memory(size);
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(memory.span().data), static_cast<std::streamsize>(size)))
    fail(path, "cannot be read");
  return memory;
}

void check_size(const char* path, size_t size, size_t expected) {
  if (size == expected) return;
  fail(path, ("holds " + std::to_string(size) + " bytes, needed are " + std::to_string(expected)).c_str());
}

// Scores are FP32, or codes of one scale.
float real(const TensorView& scores, size_t i) {
  if (scores.info.dtype == DType::kF32) return scores.as<float>()[i];
  if (scores.info.dtype != DType::kS8) fail(scores.info.name, "holds neither FP32 values nor int8 codes");
  const Quantization& q = scores.info.quantization;
  return q.scales[0] * static_cast<float>(scores.as<int8_t>()[i] - q.zero_point);
}

int main(int argc, char** argv) {
  std::set_new_handler([] { fail("classify", "this machine has too little memory"); });
  if (argc != 3 && argc != 5) fail("classify", "give NET.itg PICTURE.rgb WIDTH HEIGHT, or NET.itg VALUES");
  Memory file = read_file(argv[1]), given = read_file(argv[2]);
  const Result<Model> model = Model::open(file.span());
  check(argv[1], model.error());
  const Result<SessionNeeds> needs = Session::measure(*model, all_ops());
  check(argv[1], needs.error(), &*model);
  Memory memory(needs->total());
  Result<Session> session = Session::create(*model, all_ops(), Session::split(memory.span(), *needs));
  check(argv[1], session.error(), &*model);
  if (model->inputs().size != 1) fail(argv[1], "has several inputs, this program feeds one");

  const Span<uint8_t> bytes = given.span();
  const TensorView input = session->input();
  if (argc == 5) {
    if (model->image_count() == 0) fail(argv[1], "takes no picture: give the input's values, and no size");
    const PictureInfo frame{std::atoi(argv[3]), std::atoi(argv[4]), PixelOrder::kRgb};
    const Result<size_t> row_memory = ImageWriter::measure(model->image(0), input.info, frame);
    check(argv[2], row_memory.error());
    const size_t row_bytes = static_cast<size_t>(frame.width) * 3;
    check_size(argv[2], bytes.size, row_bytes * static_cast<size_t>(frame.height));
    Memory rows(*row_memory);
    check(argv[2], write_image(model->image(0), input, frame, bytes, row_bytes, rows.span()));
  } else {
    check_size(argv[2], bytes.size, input.info.bytes());
    std::memcpy(input.data, bytes.data, bytes.size);
  }
  session->run();

  const TensorView scores = session->output();
  size_t best = 0;
  for (size_t i = 1; i < static_cast<size_t>(scores.info.shape.elements()); ++i)
    if (real(scores, i) > real(scores, best)) best = i;
  std::printf("class %zu, %g\n", best, static_cast<double>(real(scores, best)));
}
