// A model and a picture, or the input's own values, to a class.
//
//   classify NET.itg PICTURE.rgb WIDTH HEIGHT      rows of RGB bytes, as a camera gives them
//   classify NET.itg VALUES                        the input tensor's bytes
//
// Runs any model with one input: int8, FP32 or mixed. Only this program's own parts take heap: on a board the model
// stands in flash and the memory is a static array of needs->total() bytes.
#include <cstring>
#include <new>

#include "examples/example_session.h"

using namespace intaglio;
using example::check;
using example::fail;
using example::Memory;

void check_size(const std::string& path, size_t size, size_t expected) {
  if (size == expected) return;
  fail(path + ": holds " + std::to_string(size) + " bytes, needed are " + std::to_string(expected));
}

// Scores are FP32, or codes of one scale.
float real(const TensorView& scores, size_t i) {
  if (scores.info.dtype == DType::kF32) return scores.as<float>()[i];
  if (scores.info.dtype != DType::kS8)
    fail(std::string(scores.info.name) + ": holds neither FP32 values nor int8 codes");
  const Quantization& q = scores.info.quantization;
  return q.scales[0] * static_cast<float>(scores.as<int8_t>()[i] - q.zero_point);
}

int main(int argc, char** argv) {
  std::set_new_handler([] { fail("classify: this machine has too little memory"); });
  if (argc != 3 && argc != 5) fail("classify: give NET.itg PICTURE.rgb WIDTH HEIGHT, or NET.itg VALUES");
  const std::string net = argv[1], values = argv[2];
  Memory file = example::read_file(net), given = example::read_file(values);
  const Result<Model> model = Model::open(file.span());
  check(net, model.error());
  const Result<SessionNeeds> needs = Session::measure(*model, all_ops());
  check(net, needs.error(), &*model);
  Memory memory(needs->total());
  Result<Session> session = Session::create(*model, all_ops(), Session::split(memory.span(), *needs));
  check(net, session.error(), &*model);
  if (model->inputs().size != 1) fail(net + ": has several inputs, this program feeds one");

  const Span<uint8_t> bytes = given.span();
  const TensorView input = session->input();
  if (argc == 5) {
    if (model->image_count() == 0) fail(net + ": takes no picture: give the input's values, and no size");
    const PictureInfo frame{std::atoi(argv[3]), std::atoi(argv[4]), PixelOrder::kRgb};
    const Result<size_t> row_memory = ImageWriter::measure(model->image(0), input.info, frame);
    check(values, row_memory.error());
    const size_t row_bytes = static_cast<size_t>(frame.width) * 3;
    check_size(values, bytes.size, row_bytes * static_cast<size_t>(frame.height));
    Memory rows(*row_memory);
    check(values, write_image(model->image(0), input, frame, bytes, row_bytes, rows.span()));
  } else {
    check_size(values, bytes.size, input.info.bytes());
    std::memcpy(input.data, bytes.data, bytes.size);
  }
  session->run();

  const TensorView scores = session->output();
  size_t best = 0;
  for (size_t i = 1; i < static_cast<size_t>(scores.info.shape.elements()); ++i)
    if (real(scores, i) > real(scores, best)) best = i;
  std::printf("class %zu, %g\n", best, static_cast<double>(real(scores, best)));
}
