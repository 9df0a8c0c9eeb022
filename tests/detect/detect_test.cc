// The program of examples/detect on a network whose answers are known.
#include <doctest/doctest.h>

#include <filesystem>

#include "calibrator/host/pictures/image_decode.h"
#include "calibrator/host/system/files.h"
#include "tests/support/model_builder.h"
#include "tests/support/picture_files.h"
#include "tests/support/run_cli.h"

namespace {

using namespace intaglio;
using namespace intaglio::test;

// An FP32 network of 8 x 8 RGB pictures whose answer is the same for all: one box of YOLOv5's form.
void write_network(const std::string& path) {
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kF32, {1, 8, 8, 3}), flat = b.tensor("flat", DType::kF32, {1, 7});
  const int32_t y = b.tensor("y", DType::kF32, {1, 1, 7});
  b.input(x);
  b.node(Op::kFullyConnected,
         {x, b.constant<float>("w", DType::kF32, {7, 192}, std::vector<float>(7 * 192)),
          b.constant<float>("b", DType::kF32, {7}, {4, 4, 4, 2, 0.9f, 0.1f, 0.8f})},
         {flat});
  b.node(Op::kReshape, {flat}, {y});
  b.output(y);
  ImageInput image;
  image.channels = 3;
  for (int32_t c = 0; c < 3; ++c) image.norm[c] = 1;
  b.graph().images.push(b.arena(), image);
  const AlignedBytes model = b.finish();
  REQUIRE(write_file_atomically(path, model.view()));
}

}  // namespace

TEST_CASE("the program draws what it finds, and says what is wrong") {
  const CommandFolder folder;
  write_network(folder / "net.itg");
  folder.put("picture.png", png_file(16, 32, 3, std::vector<uint8_t>(16 * 32 * 3, 200)));
  folder.put("names.txt", "cat\ndog\n");
  folder.put("broken.itg", "no model");
  // The box of 4 x 2 around (4, 4) of 8 x 8, on a picture of 16 x 32.
  const Ran good = folder.good("yolov5 %/picture.png %/out.png %/net.itg %/net.itg --names %/names.txt");
  CHECK_MESSAGE(good.out.find("dog          0.720  4,12 to 12,20") != std::string::npos, good.out);
  const Outcome<FileBytes> file = read_file(folder / "out.png", 1 << 20);
  REQUIRE(file);
  const Outcome<Picture> drawn = decode_picture(file->span());
  REQUIRE(drawn);
  CHECK(drawn->width == 32);
  CHECK(drawn->height == 32);
  const auto red = [&](int32_t x, int32_t y) { return drawn->pixels[static_cast<size_t>((y * 32 + x) * 3)]; };
  CHECK(red(3, 12) == 200);
  CHECK(red(4, 12) != 200);
  CHECK(red(16 + 4, 12) != 200);
  CHECK(red(8, 16) == 200);

  const auto refused = [&](const std::string& words, const std::string& part) {
    const Ran ran = folder.run(words);
    CHECK(ran.code == 1);
    CHECK_MESSAGE(ran.err.find(part) != std::string::npos, ran.err);
  };
  refused("", "detect DECODER PICTURE OUT.png");
  refused("yolo %/picture.png %/no.png %/net.itg", "yolo: there is no such decoder; there are ultraface,");
  refused("yolov5 absent.png %/no.png %/net.itg", "absent.png: ");
  refused("yolov5 %/net.itg %/no.png %/net.itg", "net.itg: ");
  refused("yolov5 %/picture.png %/no.png %/broken.itg", "broken.itg: 8 bytes are too few for a model file");
  refused("yolov8 %/picture.png %/no.png %/net.itg",
          "the decoder yolov8 takes one output, 1x(4 + classes)xN");
  refused("yolov5 %/picture.png %/no.png %/net.itg --score 2",
          "--score: needs a number from 0 to 1, not '2'");
  refused("yolov5 %/picture.png %/no.png %/net.itg --color red", "--color: there is no such option");
  refused("yolov5 %/picture.png %/no.png %/net.itg --names %/no.txt", "cannot be read, or holds no names");
  refused("yolov5 %/picture.png %/no/no.png %/net.itg", "no.png");
  CHECK(!std::filesystem::exists(folder / "no.png"));
}
