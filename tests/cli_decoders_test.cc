// Outputs of detectors to boxes that were worked out by hand, and which decoder a run fits.
#include "tools/decoders.h"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

namespace intaglio::test::cli_decoders_test {

using namespace tools;

namespace {

std::vector<Box> found(const std::string& name, const DetectorRun& run, float least = 0.5f) {
  const Decoder* const decoder = find_decoder(name);
  REQUIRE(decoder != nullptr);
  return decode(*decoder, run, least).boxes;
}

// What a run is recognized as: "yolov5 yolov8".
std::string fitting(const DetectorRun& run) {
  std::string names;
  for (const Decoder* const decoder : fitting_decoders(run))
    names += (names.empty() ? "" : " ") + std::string(decoder->name);
  return names;
}

OutputValues zeros(const std::string& name, const std::vector<int32_t>& shape) {
  size_t count = 1;
  for (const int32_t dim : shape) count *= static_cast<size_t>(dim);
  return {name, shape, std::vector<float>(count)};
}

void put(OutputValues& output, size_t first, const std::vector<float>& values) {
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

// Rows of centre, size and scores that no cell of which finds anything, all in pixels.
DetectorRun quiet_rows(int32_t rows, int32_t columns) {
  DetectorRun run{64, 64, {zeros("y", {1, rows, columns})}, 0};
  for (int32_t i = 0; i < rows; ++i)
    put(run.outputs[0], static_cast<size_t>(i * columns), {32, 32, 8, 8, 0.01f, 0.02f});
  return run;
}

constexpr int32_t kCells = 64 + 16 + 4;  // of 64 x 64 and strides 8, 16, 32

}  // namespace

TEST_CASE("ultraface: anchors by cells, offsets in tenths and fifths") {
  // 64 x 64: 8 x 8 cells of three anchors, 4 x 4 of two, 2 x 2 of two, 1 of three.
  DetectorRun run{64, 64, {zeros("scores", {1, 235, 2}), zeros("boxes", {1, 235, 4})}, 0};
  for (size_t i = 0; i < 235; ++i) put(run.outputs[0], i * 2, {1, 0});
  // The cell (row 1, column 2) of stride 8, the second anchor: 16 pixels around (20, 12).
  const size_t at = (8 + 2) * 3 + 1;
  put(run.outputs[0], at * 2, {0.1f, 0.9f});
  put(run.outputs[1], at * 4, {5.0f, -2.5f, std::log(2.0f) * 5, 0.0f});
  check_one(found("ultraface", run), {12, 0, 44, 16, 0.9f, 0});
  CHECK(fitting(run) == "corners");  // all other boxes are points
  for (size_t i = 0; i < 235; ++i)
    if (i != at) put(run.outputs[1], i * 4, {1, 1, 0, 0});
  CHECK(fitting(run) == "ultraface");
  run.outputs[1] = zeros("boxes", {1, 235, 4});
  put(run.outputs[1], at * 4, {0.25f, 0.5f, 0.5f, 0.75f});
  check_one(found("corners", run), {16, 32, 32, 48, 0.9f, 0});
  CHECK(fitting(run) == "corners");
  run.outputs.pop_back();
  CHECK_THROWS_WITH(
      found("ultraface", run),
      "the decoder ultraface takes two outputs, scores 1xNx2 and boxes 1xNx4, of the N anchors of its "
      "input; the network has scores 1x235x2");
}

TEST_CASE("retinaface: two squares a cell, not cut at the picture's sides") {
  DetectorRun run{64,
                  64,
                  {zeros("loc", {1, 2 * kCells, 4}), zeros("conf", {1, 2 * kCells, 2}),
                   zeros("points", {1, 2 * kCells, 10})},
                  0};
  for (size_t i = 0; i < 2 * kCells; ++i) {
    put(run.outputs[0], i * 4, {1, 1, 0, 0});
    put(run.outputs[1], i * 2, {1, 0});
    put(run.outputs[2], i * 10, {5});
  }
  // Stride 32, row 0, column 1, the square of 256 pixels around (48, 16).
  const size_t at = 2 * (64 + 16 + 1);
  put(run.outputs[0], at * 4, {0, 0.625f, std::log(0.5f) * 5, std::log(0.25f) * 5});
  put(run.outputs[1], at * 2, {0.2f, 0.8f});
  check_one(found("retinaface", run), {-16, 0, 112, 64, 0.8f, 0});
  CHECK(fitting(run) == "retinaface");
}

TEST_CASE("corners: in pixels or parts, scores by rows or columns, with or without a background") {
  // Scores by columns, not shares of one.
  DetectorRun run{64, 32, {zeros("boxes", {1, 9, 4}), zeros("scores", {1, 3, 9})}, 0};
  put(run.outputs[0], 4 * 4, {8, 4, 24, 20});
  run.outputs[1].values[9 + 4] = 0.7f;
  check_one(found("corners", run), {8, 4, 24, 20, 0.7f, 1});
  CHECK(fitting(run) == "corners");
  // The same as shares of one: class 0 of the file is the background.
  for (size_t i = 0; i < 9; ++i) run.outputs[1].values[i] = 1;
  run.outputs[1].values[4] = 0.3f;
  check_one(found("corners", run), {8, 4, 24, 20, 0.7f, 0});
  put(run.outputs[0], 4 * 4, {0.25f, 0.5f, 0.5f, 1});
  check_one(found("corners", run), {16, 16, 32, 32, 0.7f, 0});
}

TEST_CASE("yunet: the root of two scores, offsets by cells") {
  DetectorRun run{64, 32, {}, 0};
  for (const int32_t stride : {8, 16, 32}) {
    const int32_t cells = (64 / stride) * (32 / stride);
    for (const auto& [name, columns] :
         {std::pair<const char*, int32_t>{"cls_", 1}, {"obj_", 1}, {"bbox_", 4}})
      run.outputs.push_back(zeros(name + std::to_string(stride), {1, cells, columns}));
  }
  const size_t at = 4 + 3;  // row 1, column 3 of stride 16
  put(run.outputs[3], at, {0.81f});
  put(run.outputs[4], at, {1.0f});
  put(run.outputs[5], at * 4, {0.5f, 0.25f, std::log(0.5f), std::log(0.25f)});
  check_one(found("yunet", run), {52, 18, 60, 22, 0.9f, 0});
  CHECK(fitting(run) == "yunet");
}

TEST_CASE("scrfd: two boxes a cell, distances in strides from its corner") {
  DetectorRun run{64, 64, {}, 0};
  for (const int32_t cells : {64, 16, 4}) run.outputs.push_back(zeros("s", {1, 2 * cells, 1}));
  for (const int32_t cells : {64, 16, 4}) run.outputs.push_back(zeros("b", {2 * cells, 4}));
  const size_t at = 2 * (4 + 2) + 1;  // row 1, column 2 of stride 16, the second box
  put(run.outputs[1], at, {0.6f});
  put(run.outputs[4], at * 4, {1, 0.5f, 1.5f, 2});
  check_one(found("scrfd", run), {16, 8, 56, 48, 0.6f, 0});
  CHECK(fitting(run) == "scrfd");
}

TEST_CASE("mediapipe: pixels from the cell's centre, and a logit") {
  // 64 x 64: 2 * 64 + 6 * 16.
  DetectorRun run{64, 64, {zeros("b", {1, 224, 18}), zeros("s", {1, 224, 1})}, 0};
  std::fill(run.outputs[1].values.begin(), run.outputs[1].values.end(), -20.0f);
  const size_t at = 128 + 6 * (4 + 2) + 5;  // row 1, column 2 of stride 16, the last of six
  put(run.outputs[0], at * 18, {4, -4, 20, 10});
  put(run.outputs[1], at, {0});
  check_one(found("mediapipe", run), {34, 15, 54, 25, 0.5f, 0});
  CHECK(fitting(run) == "mediapipe");
  // An output a stride.
  DetectorRun parts{64, 64, {}, 0};
  for (const auto& [first, rows] : {std::pair<int32_t, int32_t>{0, 128}, {128, 96}})
    for (const OutputValues& whole : run.outputs) {
      const int32_t columns = whole.shape[2];
      const auto begin = whole.values.begin() + first * columns;
      parts.outputs.push_back({whole.name, {1, rows, columns}, {begin, begin + rows * columns}});
    }
  check_one(found("mediapipe", parts), {34, 15, 54, 25, 0.5f, 0});
  CHECK(fitting(parts) == "mediapipe");
}

TEST_CASE("fastestdet: one map, channels first") {
  DetectorRun run{64, 32, {zeros("map", {1, 7, 2, 4})}, 0};
  const size_t at = 4 + 2, plane = 8;  // row 1, column 2
  for (size_t i = 0; i < plane; ++i) run.outputs[0].values[5 * plane + i] = 1;
  const float channels[] = {0.5f, 0.0f, 0.0f, 0.0f, 0.0f, 0.2f, 0.8f};
  for (size_t c = 0; c < 7; ++c) run.outputs[0].values[c * plane + at] = channels[c];
  const float score = std::pow(0.5f, 0.6f) * std::pow(0.8f, 0.4f);
  check_one(found("fastestdet", run), {16, 8, 48, 24, score, 1});
  CHECK(fitting(run) == "fastestdet");
  for (float& value : run.outputs[0].values) value *= 0.5f;  // a map of something else
  CHECK(fitting(run) == "");
}

TEST_CASE("yolov5: rows with objectness, in pixels or in parts") {
  DetectorRun run{64, 64, {zeros("y", {1, 3, 7})}, 0};
  put(run.outputs[0], 7, {20, 30, 8, 4, 0.9f, 0.1f, 0.8f});
  check_one(found("yolov5", run), {16, 28, 24, 32, 0.72f, 1});
  run.classes = 1;  // the last column is something else
  CHECK(found("yolov5", run).empty());
  run.classes = 0;
  put(run.outputs[0], 7, {0.5f, 0.25f, 0.25f, 0.125f, 0.9f, 0.1f, 0.8f});
  check_one(found("yolov5", run), {24, 12, 40, 20, 0.72f, 1});
  CHECK(fitting(quiet_rows(3 * kCells, 7)) == "yolov5");
}

TEST_CASE("yolov8: columns or rows without objectness") {
  DetectorRun run{64, 64, {zeros("y", {1, 6, 9})}, 0};
  const float column[] = {20, 30, 8, 4, 0.7f, 0.6f};
  for (size_t c = 0; c < 6; ++c) run.outputs[0].values[c * 9 + 4] = column[c];
  check_one(found("yolov8", run), {16, 28, 24, 32, 0.7f, 0});
  run.outputs[0] = zeros("y", {1, 9, 6});
  put(run.outputs[0], 4 * 6, {20, 30, 8, 4, 0.6f, 0.7f});
  check_one(found("yolov8", run), {16, 28, 24, 32, 0.7f, 1});
  put(run.outputs[0], 4 * 6, {20, 30, 8, 4, 0.6f, 200});  // a key point
  CHECK_THROWS_AS(found("yolov8", run), std::runtime_error);
  run.classes = 1;
  check_one(found("yolov8", run), {16, 28, 24, 32, 0.6f, 0});
  DetectorRun columns{64, 64, {zeros("y", {1, 7, kCells})}, 0};
  std::fill_n(columns.outputs[0].values.begin(), 4 * kCells, 9.0f);
  CHECK(fitting(columns) == "yolov8");
  // The same in two outputs.
  DetectorRun two{64, 64, {zeros("scores", {1, 3, kCells}), zeros("boxes", {1, 4, kCells})}, 0};
  std::fill(two.outputs[1].values.begin(), two.outputs[1].values.end(), 9.0f);
  two.outputs[0].values[2 * kCells + 7] = 0.75f;
  check_one(found("yolov8", two), {4.5f, 4.5f, 13.5f, 13.5f, 0.75f, 2});
  CHECK(fitting(two) == "yolov8");
  // Every place is sure of a class: these are no classes.
  std::fill(columns.outputs[0].values.begin() + 4 * kCells, columns.outputs[0].values.end(), 0.9f);
  CHECK(fitting(columns) == "");
}

TEST_CASE("rows of a box a cell have objectness or not: COCO's classes or names tell, else both are named") {
  const auto rows = [](int32_t columns) {
    DetectorRun run = quiet_rows(4 * kCells, columns);
    run.width = run.height = 128;
    return run;
  };
  CHECK(fitting(rows(85)) == "yolov5");
  CHECK(fitting(rows(84)) == "yolov8");
  DetectorRun run = rows(25);
  CHECK(fitting(run) == "yolov5 yolov8");
  run.classes = 20;
  CHECK(fitting(run) == "yolov5");
  run.classes = 21;
  CHECK(fitting(run) == "yolov8");
}

TEST_CASE("yolov8-maps: means of sixteen steps by the cell's centre, channels first or last") {
  for (const bool last : {false, true}) {
    CAPTURE(last);
    DetectorRun run{64, 64, {}, 0};
    for (const int32_t side : {8, 4, 2})
      run.outputs.push_back(zeros(
          "m", last ? std::vector<int32_t>{1, side, side, 66} : std::vector<int32_t>{1, 66, side, side}));
    for (OutputValues& map : run.outputs) std::fill(map.values.begin(), map.values.end(), -9.0f);
    const size_t place = 4 + 2, cells = 16;  // row 1, column 2 of stride 16: the centre is (40, 24)
    const auto at = [&](size_t channel) -> float& {
      return run.outputs[1].values[last ? place * 66 + channel : channel * cells + place];
    };
    at(0 + 1) = at(16 + 0) = at(32 + 1) = at(48 + 15) = 100;
    at(65) = std::log(3.0f);
    check_one(found("yolov8-maps", run), {24, 24, 56, 264, 0.75f, 1});
    CHECK(fitting(run) == "yolov8-maps");
  }
}

TEST_CASE("yolox: cells, with logarithms of sizes") {
  DetectorRun run{64, 64, {zeros("y", {1, kCells, 6})}, 0};
  put(run.outputs[0], (64 + 4 + 1) * 6,
      {0.5f, 1.5f, std::log(2.0f), 0, 0.9f, 0.8f});  // stride 16, row 1, column 1
  check_one(found("yolox", run), {8, 32, 40, 48, 0.72f, 0});
  put(run.outputs[0], 2, {-1});
  CHECK(fitting(run) == "yolox");
  run.width = 32;
  CHECK_THROWS_AS(found("yolox", run), std::runtime_error);
  CHECK(fitting(run) == "");
}

TEST_CASE("rows: corners, score and class of boxes that the network has suppressed itself") {
  DetectorRun run{64, 64, {zeros("y", {1, 10, 6})}, 0};
  put(run.outputs[0], 0, {4, 8, 20, 40, 0.9f, 17});
  put(run.outputs[0], 6, {4, 8, 20, 41, 0.3f, 2});
  check_one(found("rows", run), {4, 8, 20, 40, 0.9f, 17});
  CHECK(fitting(run) == "rows");
  put(run.outputs[0], 5, {NAN});
  CHECK(found("rows", run).empty());
  put(run.outputs[0], 5, {0.5f});
  CHECK(fitting(run) == "");
}

TEST_CASE("nanodet: distances are means of eight steps") {
  // 64 x 64 has 64 + 16 + 4 + 1 cells.
  DetectorRun run{64, 64, {zeros("y", {1, 85, 34})}, 0};
  const size_t at = (64 + 4 + 2) * 34;  // stride 16, row 1, column 2
  put(run.outputs[0], at, {0.2f, 0.9f});
  run.outputs[0].values[at + 2 + 1] = 100;       // left: 1 step
  run.outputs[0].values[at + 2 + 8 + 0] = 100;   // top: none
  run.outputs[0].values[at + 2 + 16 + 7] = 100;  // right: 7; bottom: all alike, 3.5
  check_one(found("nanodet", run), {16, 16, 144, 72, 0.9f, 1});
  CHECK(fitting(run) == "nanodet");
  // Without stride 64: from the cell's centre.
  run.outputs[0].values.resize(84 * 34);
  run.outputs[0].shape[1] = 84;
  check_one(found("nanodet", run), {24, 24, 152, 80, 0.9f, 1});
  CHECK(fitting(run) == "nanodet");
}

TEST_CASE("picodet: the same in two outputs a stride, from the cell's centre") {
  DetectorRun run{64, 64, {}, 0};
  for (const int32_t cells : {64, 16, 4, 1}) run.outputs.push_back(zeros("s", {1, cells, 3}));
  for (const int32_t cells : {64, 16, 4, 1}) {
    run.outputs.push_back(zeros("d", {1, cells, 32}));
    run.outputs.back().values[0] = -4;
  }
  const size_t at = 4 + 2;  // row 1, column 2 of stride 16: the centre is (40, 24)
  put(run.outputs[1], at * 3, {0.1f, 0.2f, 0.8f});
  OutputValues& sides = run.outputs[5];
  sides.values[at * 32 + 1] = sides.values[at * 32 + 8] = 100;        // left 1, top 0
  sides.values[at * 32 + 16 + 2] = sides.values[at * 32 + 24] = 100;  // right 2, bottom 0
  check_one(found("picodet", run), {24, 24, 72, 24, 0.8f, 2});
  CHECK(fitting(run) == "picodet");
  run.outputs.erase(run.outputs.begin() + 3);  // those of stride 64
  run.outputs.pop_back();
  check_one(found("picodet", run), {24, 24, 72, 24, 0.8f, 2});
  CHECK(fitting(run) == "picodet");
}

TEST_CASE("ssd: default anchors, the background first") {
  // 300 x 300: maps of 19, 10, 5, 3, 2 and 1 cells a side.
  DetectorRun run{300, 300, {zeros("scores", {1, 1917, 3}), zeros("boxes", {1, 1917, 4})}, 0};
  for (size_t i = 0; i < 1917; ++i) put(run.outputs[1], i * 4, {1, 1, 0, 0});
  put(run.outputs[0], 0, {0.99f, 0.1f, 0.8f});  // the first cell's square of 0.1
  put(run.outputs[1], 0, {10, 0, 0, 5 * std::log(2.0f)});
  const float center = 0.5f / 19 * 300, y = center + 30;
  check_one(found("ssd", run), {center - 30, y - 15, center + 30, y + 15, 0.8f, 1});
  CHECK(fitting(run) == "ssd");
}

TEST_CASE("what is no detector fits nothing") {
  CHECK(fitting({64, 64, {zeros("logits", {1, 1000})}, 0}) == "");
  CHECK(fitting({64, 64, {zeros("map", {1, 64, 64, 21})}, 0}) == "");
  CHECK(fitting({64, 64, {zeros("points", {1, 212})}, 0}) == "");
  CHECK(fitting({64, 64, {zeros("line", {1, 40, 97})}, 0}) == "");
  CHECK(fitting({64, 64, {zeros("box", {1, 4}), zeros("face", {1, 2})}, 0}) == "");
  CHECK(fitting({64, 64, {}, 0}) == "");
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

}  // namespace intaglio::test::cli_decoders_test
