// A picture through a detector to boxes, drawn into a PNG.
//
//   detect DECODER PICTURE OUT.png NET.itg [NET.itg...] [--score S] [--overlap M] [--names FILE]
//
// Several models of one network (FP32 and int8, say) are drawn side by side, in the order given.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "calibrator/host/pictures/image_decode.h"
#include "calibrator/host/system/files.h"
#include "intaglio/describe.h"
#include "intaglio/session.h"
#include "tools/decoders.h"
#include "tools/placement.h"
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>

using namespace intaglio;
using namespace intaglio::tools;

namespace {

[[noreturn]] void fail(const std::string& what, const std::string& why) {
  throw std::runtime_error(what + ": " + why);
}

void check(const std::string& what, const Error& error, const Model* model = nullptr) {
  if (error.ok()) return;
  char text[256];
  describe(error, model, text, sizeof text);
  fail(what, text);
}

// Bytes that start where a model or a session may.
FileBytes read(const std::string& path, uint64_t most) {
  Outcome<FileBytes> file = read_file(path, most);
  if (!file) throw std::runtime_error(file.message());
  return std::move(*file);
}

float real(const TensorView& tensor, size_t i) {
  if (tensor.info.dtype == DType::kF32) return tensor.as<float>()[i];
  if (tensor.info.dtype != DType::kS8) fail(tensor.info.name, "holds neither FP32 values nor int8 codes");
  const Quantization& q = tensor.info.quantization;
  return q.scales[0] * static_cast<float>(tensor.as<int8_t>()[i] - q.zero_point);
}

constexpr uint64_t kMostPictureBytes = uint64_t{256} << 20;

struct Wanted {
  const Decoder* decoder = nullptr;
  std::string picture, out;
  std::vector<std::string> models, names;
  float score = kLeastScore, overlap = kMostOverlap;
};

// Boxes in pixels of the picture.
std::vector<Box> detect(const Wanted& wanted, const std::string& path, const Picture& picture) {
  const FileBytes file = read(path, kMaxModelBytes);
  const Result<Model> model = Model::open(file.span());
  check(path, model.error());
  const Result<SessionNeeds> needs = Session::measure(*model, all_ops());
  check(path, needs.error(), &*model);
  FileBytes memory(needs->total());
  Result<Session> session =
      Session::create(*model, all_ops(), Session::split({memory.data(), memory.size()}, *needs));
  check(path, session.error(), &*model);
  if (model->inputs().size != 1 || model->image_count() != 1)
    fail(path, "takes no picture: import it with --pixels, or with --mean and --norm");

  const ImageInput& recipe = model->image(0);
  const TensorView input = session->input();
  const Result<size_t> row_memory = ImageWriter::measure(recipe, input.info, picture.info());
  check(wanted.picture, row_memory.error());
  FileBytes rows(*row_memory);
  const size_t row_bytes = static_cast<size_t>(picture.width * picture.channels);
  check(wanted.picture,
        write_image(recipe, input, picture.info(), {picture.pixels.data(), picture.pixels.size()}, row_bytes,
                    {rows.data(), rows.size()}));
  session->run();

  DetectorRun network;
  network.height = input.info.shape[1];
  network.width = input.info.shape[2];
  network.classes = static_cast<int32_t>(wanted.names.size());
  for (size_t o = 0; o < model->outputs().size; ++o) {
    const TensorView output = session->output(static_cast<int32_t>(o));
    OutputValues values{output.info.name, {}, {}};
    for (int32_t axis = 0; axis < output.info.shape.rank; ++axis)
      values.shape.push_back(output.info.shape[axis]);
    for (int64_t i = 0; i < output.info.shape.elements(); ++i)
      values.values.push_back(real(output, static_cast<size_t>(i)));
    network.outputs.push_back(std::move(values));
  }
  std::vector<Box> boxes;
  try {
    boxes = decode(*wanted.decoder, network, wanted.score, wanted.overlap).boxes;
  } catch (const std::runtime_error& error) {
    fail(path, error.what());
  }
  const Placement place =
      Placement::of(recipe.resize, picture.width, picture.height, network.width, network.height);
  for (Box& box : boxes) box = place.in_picture(box);
  return boxes;
}

// Pictures of one size side by side, RGB.
class Canvas {
 public:
  Canvas(const Picture& picture, size_t count)
      : width_(picture.width), height_(picture.height), stride_(picture.width * static_cast<int32_t>(count)) {
    pixels_.resize(static_cast<size_t>(stride_) * static_cast<size_t>(height_) * 3);
    for (int32_t y = 0; y < height_; ++y)
      for (int32_t x = 0; x < stride_; ++x)
        for (int32_t c = 0; c < 3; ++c) {
          const int32_t from = (y * width_ + x % width_) * picture.channels + (picture.channels == 3 ? c : 0);
          at(x, y)[c] = picture.pixels[static_cast<size_t>(from)];
        }
  }

  // Three pixels wide, in the colour of the class.
  void draw(const Box& box, int32_t number) {
    static constexpr uint8_t kColors[][3] = {
        {230, 25, 75}, {60, 180, 75}, {0, 130, 200}, {245, 130, 48}, {145, 30, 180}};
    const auto& color = kColors[box.label % 5];
    const auto clip = [](float value, int32_t side) {
      return static_cast<int32_t>(std::clamp(value, 0.0f, static_cast<float>(side - 1)));
    };
    const int32_t x0 = clip(box.x0, width_), x1 = clip(box.x1, width_), y0 = clip(box.y0, height_),
                  y1 = clip(box.y1, height_);
    for (int32_t y = y0; y <= y1; ++y)
      for (int32_t x = x0; x <= x1; ++x)
        if (x < x0 + 3 || x > x1 - 3 || y < y0 + 3 || y > y1 - 3)
          std::copy(color, color + 3, at(number * width_ + x, y));
  }

  // The old file stays where the new one cannot be written whole.
  void save(const std::string& path) const {
    std::vector<uint8_t> png;
    const auto append = [](void* to, void* bytes, int size) {
      auto* const from = static_cast<const uint8_t*>(bytes);
      static_cast<std::vector<uint8_t>*>(to)->insert(static_cast<std::vector<uint8_t>*>(to)->end(), from,
                                                     from + size);
    };
    if (stbi_write_png_to_func(append, &png, stride_, height_, 3, pixels_.data(), stride_ * 3) == 0)
      fail(path, "cannot be made");
    const Outcome<Done> written = write_file_atomically(path, {png.data(), png.size()});
    if (!written) throw std::runtime_error(written.message());
  }

 private:
  uint8_t* at(int32_t x, int32_t y) {
    return pixels_.data() +
           (static_cast<size_t>(y) * static_cast<size_t>(stride_) + static_cast<size_t>(x)) * 3;
  }

  int32_t width_, height_, stride_;
  std::vector<uint8_t> pixels_;
};

float part(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const float value = std::strtof(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 0 && value <= 1))
    fail(option, "needs a number from 0 to 1, not '" + text + "'");
  return value;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  if (lines.empty()) fail(path, "cannot be read, or holds no names");
  return lines;
}

constexpr const char* kUsage =
    "usage: detect DECODER PICTURE OUT.png NET.itg [NET.itg...] [--score S] [--overlap M] [--names FILE]\n"
    "  --score S     least score of a box, 0 to 1 (0.25)\n"
    "  --overlap M   boxes of one class that overlap by more than M are one, 0 to 1 (0.45)\n"
    "  --names FILE  the names of the classes, one a line\n"
    "decoders:\n";

Wanted read_arguments(const std::vector<std::string>& arguments) {
  Wanted wanted;
  std::vector<std::string> plain;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& option = arguments[i];
    if (option.rfind("--", 0) != 0) {
      plain.push_back(option);
      continue;
    }
    if (option != "--score" && option != "--overlap" && option != "--names")
      fail(option, "there is no such option");
    if (++i == arguments.size()) fail(option, "needs a value");
    if (option == "--score") wanted.score = part(option, arguments[i]);
    if (option == "--overlap") wanted.overlap = part(option, arguments[i]);
    if (option == "--names") wanted.names = lines_of(arguments[i]);
  }
  if (plain.size() < 4) {
    std::string usage = kUsage;
    for (const Decoder& decoder : decoders())
      usage += std::string("  ") + decoder.name + ": " + decoder.networks + "\n";
    throw std::runtime_error(usage);
  }
  wanted.decoder = find_decoder(plain[0]);
  if (wanted.decoder == nullptr) fail(plain[0], "there is no such decoder; there are " + decoder_names());
  wanted.picture = plain[1];
  wanted.out = plain[2];
  wanted.models.assign(plain.begin() + 3, plain.end());
  return wanted;
}

void run(const Wanted& wanted) {
  const Outcome<Picture> picture = decode_picture(read(wanted.picture, kMostPictureBytes).span());
  if (!picture) fail(wanted.picture, picture.message());
  Canvas canvas(*picture, wanted.models.size());
  for (size_t m = 0; m < wanted.models.size(); ++m) {
    const std::vector<Box> boxes = detect(wanted, wanted.models[m], *picture);
    std::printf("%s: %zu found\n", wanted.models[m].c_str(), boxes.size());
    for (const Box& box : boxes) {
      const auto label = static_cast<size_t>(box.label);
      const std::string name =
          label < wanted.names.size() ? wanted.names[label] : "class " + std::to_string(label);
      std::printf("  %-12s %.3f  %.0f,%.0f to %.0f,%.0f\n", name.c_str(), static_cast<double>(box.score),
                  static_cast<double>(box.x0), static_cast<double>(box.y0), static_cast<double>(box.x1),
                  static_cast<double>(box.y1));
      canvas.draw(box, static_cast<int32_t>(m));
    }
  }
  canvas.save(wanted.out);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(read_arguments({argv + 1, argv + argc}));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
