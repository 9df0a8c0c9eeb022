// Decoders of examples/detect against boxes worked out by hand, and the whole program on a network whose answers are known.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "calibrator/host/pictures/image_decode.h"
#include "calibrator/host/system/files.h"
#include "examples/detect/decoders.h"
#include "tests/support/model_builder.h"
#include "tests/support/picture_files.h"
#include "tests/support/run_cli.h"

namespace {

using namespace intaglio::test;

const Decoder& decoder(const std::string& name) {
  for (const Decoder& known : decoders())
    if (name == known.name) return known;
  throw std::runtime_error("no decoder " + name);
}

Output zeros(const std::string& name, const std::vector<int32_t>& shape) {
  size_t count = 1;
  for (const int32_t dim : shape) count *= static_cast<size_t>(dim);
  return {name, shape, std::vector<float>(count)};
}

void put(Output& output, size_t first, const std::vector<float>& values) {
  std::copy(values.begin(), values.end(), output.values.begin() + static_cast<ptrdiff_t>(first));
}

// One box, its corners, score and class.
void check_one(const std::vector<Box>& boxes, const Box& expected) {
  REQUIRE(boxes.size() == 1);
  CHECK(boxes[0].x0 == doctest::Approx(expected.x0).epsilon(1e-5));
  CHECK(boxes[0].y0 == doctest::Approx(expected.y0).epsilon(1e-5));
  CHECK(boxes[0].x1 == doctest::Approx(expected.x1).epsilon(1e-5));
  CHECK(boxes[0].y1 == doctest::Approx(expected.y1).epsilon(1e-5));
  CHECK(boxes[0].score == doctest::Approx(expected.score).epsilon(1e-5));
  CHECK(boxes[0].label == expected.label);
}

}  // namespace

TEST_CASE("ultraface: anchors by cells, offsets in tenths and fifths") {
  // 64 x 64: 8 x 8 cells of three anchors, 4 x 4 of two, 2 x 2 of two, 1 of three.
  Network network{64, 64, {zeros("scores", {1, 235, 2}), zeros("boxes", {1, 235, 4})}};
  // The cell (row 1, column 2) of stride 8, the second anchor: 16 pixels around (20, 12).
  const size_t at = (8 + 2) * 3 + 1;
  put(network.outputs[0], at * 2, {0.1f, 0.9f});
  put(network.outputs[1], at * 4, {5.0f, -2.5f, std::log(2.0f) * 5, 0.0f});
  check_one(decoder("ultraface").decode(network, 0.5f), {12, 0, 44, 16, 0.9f, 0});
  put(network.outputs[1], at * 4, {0.25f, 0.5f, 0.5f, 0.75f});
  check_one(decoder("ultraface-corners").decode(network, 0.5f), {16, 32, 32, 48, 0.9f, 0});
  network.outputs.pop_back();
  CHECK_THROWS_WITH(
      decoder("ultraface").decode(network, 0.5f),
      "this decoder takes two outputs, scores 1xNx2 and boxes 1xNx4; the network has scores 1x235x2");
}

TEST_CASE("yunet: the root of two scores, offsets by cells") {
  Network network{64, 32, {}};
  for (const int32_t stride : {8, 16, 32}) {
    const int32_t cells = (64 / stride) * (32 / stride);
    for (const auto& [name, columns] :
         {std::pair<const char*, int32_t>{"cls_", 1}, {"obj_", 1}, {"bbox_", 4}})
      network.outputs.push_back(zeros(name + std::to_string(stride), {1, cells, columns}));
  }
  const size_t at = 4 + 3;  // row 1, column 3 of stride 16
  put(network.outputs[3], at, {0.81f});
  put(network.outputs[4], at, {1.0f});
  put(network.outputs[5], at * 4, {0.5f, 0.25f, std::log(0.5f), std::log(0.25f)});
  check_one(decoder("yunet").decode(network, 0.5f), {52, 18, 60, 22, 0.9f, 0});
}

TEST_CASE("fastestdet: one map, channels first") {
  Network network{32, 32, {zeros("map", {1, 7, 2, 4})}};
  const size_t at = 4 + 2, plane = 8;  // row 1, column 2
  const float channels[] = {0.5f, 0.0f, 0.0f, 0.0f, 0.0f, 0.2f, 0.8f};
  for (size_t c = 0; c < 7; ++c) network.outputs[0].values[c * plane + at] = channels[c];
  const float score = std::pow(0.5f, 0.6f) * std::pow(0.8f, 0.4f);
  check_one(decoder("fastestdet").decode(network, 0.5f), {8, 8, 24, 24, score, 1});
}

TEST_CASE("yolo: rows, columns, and cells") {
  Network rows{64, 64, {zeros("y", {1, 3, 7})}};
  put(rows.outputs[0], 7, {20, 30, 8, 4, 0.9f, 0.1f, 0.8f});
  check_one(decoder("yolov5").decode(rows, 0.5f), {16, 28, 24, 32, 0.72f, 1});
  Network columns{64, 64, {zeros("y", {1, 6, 9})}};
  const float column[] = {20, 30, 8, 4, 0.7f, 0.6f};
  for (size_t c = 0; c < 6; ++c) columns.outputs[0].values[c * 9 + 4] = column[c];
  check_one(decoder("yolov8").decode(columns, 0.5f), {16, 28, 24, 32, 0.7f, 0});
  Network cells{64, 64, {zeros("y", {1, 84, 6})}};
  put(cells.outputs[0], (64 + 4 + 1) * 6,
      {0.5f, 1.5f, std::log(2.0f), 0, 0.9f, 0.8f});  // stride 16, row 1, column 1
  check_one(decoder("yolox").decode(cells, 0.5f), {8, 32, 40, 48, 0.72f, 0});
  cells.width = 32;
  CHECK_THROWS_AS(decoder("yolox").decode(cells, 0.5f), std::runtime_error);
}

TEST_CASE("nanodet: distances are means of eight steps") {
  // 64 x 64 has 64 + 16 + 4 + 1 cells.
  Network network{64, 64, {zeros("y", {1, 85, 34})}};
  const size_t at = (64 + 4 + 2) * 34;  // stride 16, row 1, column 2
  put(network.outputs[0], at, {0.2f, 0.9f});
  network.outputs[0].values[at + 2 + 1] = 100;       // left: 1 step
  network.outputs[0].values[at + 2 + 8 + 0] = 100;   // top: none
  network.outputs[0].values[at + 2 + 16 + 7] = 100;  // right: 7; bottom: all alike, 3.5
  check_one(decoder("nanodet").decode(network, 0.5f), {16, 16, 144, 72, 0.9f, 1});
}

TEST_CASE("ssd: default anchors, the background first") {
  // 300 x 300: maps of 19, 10, 5, 3, 2 and 1 cells a side.
  Network network{300, 300, {zeros("scores", {1, 1917, 3}), zeros("boxes", {1, 1917, 4})}};
  const size_t at = 0;  // the first cell's square of 0.1
  put(network.outputs[0], at * 3, {0.99f, 0.1f, 0.8f});
  put(network.outputs[1], at * 4, {10, 0, 0, 5 * std::log(2.0f)});
  const float center = 0.5f / 19 * 300, y = center + 30;
  check_one(decoder("ssd").decode(network, 0.5f), {center - 30, y - 15, center + 30, y + 15, 0.8f, 1});
}

TEST_CASE("of boxes of one class that overlap the best one stays") {
  CHECK(overlap({0, 0, 2, 2}, {1, 0, 3, 2}) == doctest::Approx(1.0 / 3));
  CHECK(overlap({0, 0, 2, 2}, {2, 0, 3, 2}) == 0);
  CHECK(overlap({0, 0, 0, 0}, {0, 0, 0, 0}) == 0);
  const std::vector<Box> left = suppress(
      {{0, 0, 2, 2, 0.6f, 0}, {0, 0, 2, 1.9f, 0.9f, 0}, {0, 0, 2, 2, 0.5f, 1}, {1, 0, 3, 2, 0.4f, 0}}, 0.45f);
  REQUIRE(left.size() == 3);
  CHECK(left[0].score == 0.9f);
  CHECK(left[1].label == 1);
  CHECK(left[2].score == 0.4f);
}

namespace {

using namespace intaglio;

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
  refused("yolov8 %/picture.png %/no.png %/net.itg", "this decoder takes one output, 1x(4 + classes)xN");
  refused("yolov5 %/picture.png %/no.png %/net.itg --score 2",
          "--score: needs a number from 0 to 1, not '2'");
  refused("yolov5 %/picture.png %/no.png %/net.itg --color red", "--color: there is no such option");
  refused("yolov5 %/picture.png %/no.png %/net.itg --names %/no.txt", "cannot be read, or holds no names");
  refused("yolov5 %/picture.png %/no/no.png %/net.itg", "no.png");
  CHECK(!std::filesystem::exists(folder / "no.png"));
}
