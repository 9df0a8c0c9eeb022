#include "examples/detect/decoders.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace {

size_t size_of(int32_t dim) { return static_cast<size_t>(dim); }

[[noreturn]] void refuse(const std::string& expected, const Network& network) {
  std::string found;
  for (const Output& output : network.outputs) {
    found += (found.empty() ? "" : ", ") + output.name + " ";
    for (size_t i = 0; i < output.shape.size(); ++i)
      found += (i == 0 ? "" : "x") + std::to_string(output.shape[i]);
  }
  throw std::runtime_error("this decoder takes " + expected + "; the network has " + found);
}

float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

Box around(float x, float y, float width, float height, float score, size_t label) {
  return {x - width / 2, y - height / 2, x + width / 2, y + height / 2, score, static_cast<int32_t>(label)};
}

// A table of `rows` times `columns` values, of which either may be the last axis.
struct Table {
  const Output* output = nullptr;
  size_t rows = 0, columns = 0;
  bool by_column = false;

  float at(size_t row, size_t column) const {
    return output->values[by_column ? column * rows + row : row * columns + column];
  }
  // The first largest of the columns from `first` on.
  size_t best(size_t row, size_t first) const {
    size_t found = first;
    for (size_t column = first + 1; column < columns; ++column)
      if (at(row, column) > at(row, found)) found = column;
    return found;
  }
};

// [1, rows, columns].
bool is_table(const Output& output) {
  return output.shape.size() == 3 && output.shape[0] == 1 && output.shape[1] > 0 && output.shape[2] > 0;
}

Table table(const Output& output) {
  return {&output, size_of(output.shape[1]), size_of(output.shape[2]), false};
}

// The cells of a pyramid of feature maps, one behind the other, each by rows.
struct Cell {
  float x = 0, y = 0;  // column and row of its map
  float stride = 0;    // pixels of the input that it stands for
};

std::vector<Cell> cells_of(const Network& network, std::initializer_list<int32_t> strides) {
  std::vector<Cell> cells;
  for (const int32_t stride : strides)
    for (int32_t y = 0; y < (network.height + stride - 1) / stride; ++y)
      for (int32_t x = 0; x < (network.width + stride - 1) / stride; ++x)
        cells.push_back({static_cast<float>(x), static_cast<float>(y), static_cast<float>(stride)});
  return cells;
}

// The only output.
Table only_table(const Network& network, size_t least_columns, const char* expected) {
  if (network.outputs.size() != 1 || !is_table(network.outputs[0])) refuse(expected, network);
  const Table all = table(network.outputs[0]);
  if (all.columns < least_columns) refuse(expected, network);
  return all;
}

struct Faces {
  Table scores, boxes;
};

// Scores of background and face, and four numbers a box.
Faces faces_of(const Network& network) {
  const Output *scores = nullptr, *boxes = nullptr;
  for (const Output& output : network.outputs) {
    if (is_table(output) && output.shape[2] == 2) scores = &output;
    if (is_table(output) && output.shape[2] == 4) boxes = &output;
  }
  if (scores == nullptr || boxes == nullptr || scores->shape[1] != boxes->shape[1])
    refuse("two outputs, scores 1xNx2 and boxes 1xNx4", network);
  return {table(*scores), table(*boxes)};
}

// A box that the network's own boxes are relative to, in parts of the picture.
struct Anchor {
  float x = 0, y = 0, width = 0, height = 0;
};

// Centre and size relative to anchors: squares of 10 to 256 pixels, two or three a cell.
std::vector<Box> ultraface(const Network& network, float least) {
  const Faces faces = faces_of(network);
  const auto w = static_cast<float>(network.width), h = static_cast<float>(network.height);
  std::vector<Anchor> anchors;
  const std::pair<int32_t, std::vector<float>> maps[] = {
      {8, {10, 16, 24}}, {16, {32, 48}}, {32, {64, 96}}, {64, {128, 192, 256}}};
  for (const auto& [stride, sides] : maps)
    for (const Cell& cell : cells_of(network, {stride}))
      for (const float side : sides)
        anchors.push_back({std::min((cell.x + 0.5f) * cell.stride / w, 1.0f),
                           std::min((cell.y + 0.5f) * cell.stride / h, 1.0f), std::min(side / w, 1.0f),
                           std::min(side / h, 1.0f)});
  if (anchors.size() != faces.boxes.rows)
    refuse("a box for each of its " + std::to_string(anchors.size()) + " anchors", network);
  std::vector<Box> found;
  for (size_t i = 0; i < anchors.size(); ++i) {
    if (!(faces.scores.at(i, 1) >= least)) continue;
    const Anchor& anchor = anchors[i];
    found.push_back(around((anchor.x + 0.1f * faces.boxes.at(i, 0) * anchor.width) * w,
                           (anchor.y + 0.1f * faces.boxes.at(i, 1) * anchor.height) * h,
                           std::exp(0.2f * faces.boxes.at(i, 2)) * anchor.width * w,
                           std::exp(0.2f * faces.boxes.at(i, 3)) * anchor.height * h, faces.scores.at(i, 1),
                           0));
  }
  return found;
}

// Corners in parts of the picture: a network that was exported with the arithmetic above.
std::vector<Box> ultraface_corners(const Network& network, float least) {
  const Faces faces = faces_of(network);
  const auto w = static_cast<float>(network.width), h = static_cast<float>(network.height);
  std::vector<Box> found;
  for (size_t i = 0; i < faces.scores.rows; ++i)
    if (faces.scores.at(i, 1) >= least)
      found.push_back({faces.boxes.at(i, 0) * w, faces.boxes.at(i, 1) * h, faces.boxes.at(i, 2) * w,
                       faces.boxes.at(i, 3) * h, faces.scores.at(i, 1), 0});
  return found;
}

// For each stride the outputs cls_S, obj_S and bbox_S.
std::vector<Box> yunet(const Network& network, float least) {
  std::vector<Box> found;
  for (const int32_t stride : {8, 16, 32}) {
    const std::vector<Cell> cells = cells_of(network, {stride});
    const auto part = [&](const char* name, int32_t columns) {
      for (const Output& output : network.outputs)
        if (output.name == name + std::to_string(stride) && is_table(output) &&
            size_of(output.shape[1]) == cells.size() && output.shape[2] == columns)
          return table(output);
      refuse("outputs cls_S 1xNx1, obj_S 1xNx1 and bbox_S 1xNx4 for the strides S of 8, 16 and 32", network);
    };
    const Table face = part("cls_", 1), object = part("obj_", 1), box = part("bbox_", 4);
    for (size_t i = 0; i < cells.size(); ++i) {
      const float score =
          std::sqrt(std::clamp(face.at(i, 0), 0.0f, 1.0f) * std::clamp(object.at(i, 0), 0.0f, 1.0f));
      if (score < least) continue;
      const Cell& cell = cells[i];
      found.push_back(around((cell.x + box.at(i, 0)) * cell.stride, (cell.y + box.at(i, 1)) * cell.stride,
                             std::exp(box.at(i, 2)) * cell.stride, std::exp(box.at(i, 3)) * cell.stride,
                             score, 0));
    }
  }
  return found;
}

// One map: objectness, four numbers of the box, the classes. A cell answers for itself and its neighbours.
std::vector<Box> fastestdet(const Network& network, float least) {
  const char* const expected = "one output, 1x(5 + classes)xHxW";
  if (network.outputs.size() != 1) refuse(expected, network);
  const Output& map = network.outputs[0];
  if (map.shape.size() != 4 || map.shape[0] != 1 || map.shape[1] < 6) refuse(expected, network);
  const size_t channels = size_of(map.shape[1]), rows = size_of(map.shape[2]),
               columns = size_of(map.shape[3]);
  const Table all = {&map, rows * columns, channels, true};
  const auto w = static_cast<float>(network.width), h = static_cast<float>(network.height);
  std::vector<Box> found;
  for (size_t i = 0; i < all.rows; ++i) {
    const size_t label = all.best(i, 5);
    const float score =
        std::pow(std::max(all.at(i, 0), 0.0f), 0.6f) * std::pow(std::max(all.at(i, label), 0.0f), 0.4f);
    if (score < least) continue;
    found.push_back(
        around((static_cast<float>(i % columns) + std::tanh(all.at(i, 1))) * w / static_cast<float>(columns),
               (static_cast<float>(i / columns) + std::tanh(all.at(i, 2))) * h / static_cast<float>(rows),
               sigmoid(all.at(i, 3)) * w, sigmoid(all.at(i, 4)) * h, score, label - 5));
  }
  return found;
}

// Centre and size in pixels, objectness, classes; a row each.
std::vector<Box> yolov5(const Network& network, float least) {
  const Table all = only_table(network, 6, "one output, 1xNx(5 + classes)");
  std::vector<Box> found;
  for (size_t i = 0; i < all.rows; ++i) {
    const size_t label = all.best(i, 5);
    const float score = all.at(i, 4) * all.at(i, label);
    if (score >= least)
      found.push_back(around(all.at(i, 0), all.at(i, 1), all.at(i, 2), all.at(i, 3), score, label - 5));
  }
  return found;
}

// Centre and size in pixels, classes; a column each.
std::vector<Box> yolov8(const Network& network, float least) {
  const char* const expected = "one output, 1x(4 + classes)xN with more boxes than classes";
  if (network.outputs.size() != 1 || !is_table(network.outputs[0])) refuse(expected, network);
  const Output& output = network.outputs[0];
  if (output.shape[1] < 5 || output.shape[2] <= output.shape[1]) refuse(expected, network);
  const Table all = {&output, size_of(output.shape[2]), size_of(output.shape[1]), true};
  std::vector<Box> found;
  for (size_t i = 0; i < all.rows; ++i) {
    const size_t label = all.best(i, 4);
    if (all.at(i, label) >= least)
      found.push_back(
          around(all.at(i, 0), all.at(i, 1), all.at(i, 2), all.at(i, 3), all.at(i, label), label - 4));
  }
  return found;
}

// Offsets and logarithms by the cells of strides 8, 16 and 32; objectness, classes.
std::vector<Box> yolox(const Network& network, float least) {
  const char* const expected = "one output, 1xNx(5 + classes) of the cells of strides 8, 16 and 32";
  const Table all = only_table(network, 6, expected);
  const std::vector<Cell> cells = cells_of(network, {8, 16, 32});
  if (cells.size() != all.rows) refuse(expected, network);
  std::vector<Box> found;
  for (size_t i = 0; i < all.rows; ++i) {
    const size_t label = all.best(i, 5);
    const float score = all.at(i, 4) * all.at(i, label), stride = cells[i].stride;
    if (score >= least)
      found.push_back(around((cells[i].x + all.at(i, 0)) * stride, (cells[i].y + all.at(i, 1)) * stride,
                             std::exp(all.at(i, 2)) * stride, std::exp(all.at(i, 3)) * stride, score,
                             label - 5));
  }
  return found;
}

// Classes, then for each side of the box eight weights of the distances 0 to 7, in strides from the cell's corner
// (NanoDet-Plus: strides 8, 16, 32 and 64).
std::vector<Box> nanodet(const Network& network, float least) {
  constexpr size_t kSteps = 8;
  const char* const expected = "one output, 1xNx(classes + 32) of the cells of strides 8, 16, 32 and 64";
  const Table all = only_table(network, 4 * kSteps + 1, expected);
  const std::vector<Cell> cells = cells_of(network, {8, 16, 32, 64});
  if (cells.size() != all.rows) refuse(expected, network);
  const size_t classes = all.columns - 4 * kSteps;
  std::vector<Box> found;
  for (size_t i = 0; i < all.rows; ++i) {
    size_t label = 0;
    for (size_t c = 1; c < classes; ++c)
      if (all.at(i, c) > all.at(i, label)) label = c;
    if (all.at(i, label) < least) continue;
    float distance[4];
    for (size_t side = 0; side < 4; ++side) {
      const size_t first = classes + side * kSteps;
      float most = all.at(i, first), sum = 0, mean = 0;
      for (size_t step = 1; step < kSteps; ++step) most = std::max(most, all.at(i, first + step));
      for (size_t step = 0; step < kSteps; ++step) {
        const float weight = std::exp(all.at(i, first + step) - most);
        sum += weight;
        mean += weight * static_cast<float>(step);
      }
      distance[side] = mean / sum * cells[i].stride;
    }
    const float x = cells[i].x * cells[i].stride, y = cells[i].y * cells[i].stride;
    found.push_back({x - distance[0], y - distance[1], x + distance[2], y + distance[3], all.at(i, label),
                     static_cast<int32_t>(label)});
  }
  return found;
}

// The anchors of TensorFlow's object detection with its defaults: six maps, scales 0.2 to 0.95, the ratios 1, 2, 1/2, 3
// and 1/3; three boxes a cell in the first map (1 at 0.1, 2 and 1/2 at 0.2), six in the others, the last of them at
// the geometric mean of this scale and the next.
std::vector<Anchor> ssd_anchors(const Network& network) {
  constexpr int32_t kMaps = 6;
  const auto scale_of = [](int32_t map) { return 0.2f + 0.75f * static_cast<float>(map) / (kMaps - 1); };
  std::vector<Anchor> anchors;
  int32_t rows = (network.height + 15) / 16, columns = (network.width + 15) / 16;
  for (int32_t map = 0; map < kMaps; ++map, rows = (rows + 1) / 2, columns = (columns + 1) / 2) {
    const float scale = scale_of(map), next = map + 1 < kMaps ? scale_of(map + 1) : 1.0f;
    std::vector<std::pair<float, float>> boxes;  // scale, ratio
    if (map == 0)
      boxes = {{0.1f, 1.0f}, {scale, 2.0f}, {scale, 0.5f}};
    else
      boxes = {{scale, 1.0f}, {scale, 2.0f},        {scale, 0.5f},
               {scale, 3.0f}, {scale, 1.0f / 3.0f}, {std::sqrt(scale * next), 1.0f}};
    for (int32_t y = 0; y < rows; ++y)
      for (int32_t x = 0; x < columns; ++x)
        for (const auto& [size, ratio] : boxes)
          anchors.push_back({(static_cast<float>(x) + 0.5f) / static_cast<float>(columns),
                             (static_cast<float>(y) + 0.5f) / static_cast<float>(rows),
                             size * std::sqrt(ratio), size / std::sqrt(ratio)});
  }
  return anchors;
}

// Boxes relative to anchors (y, x, height, width; divided by 10, 10, 5, 5) and scores, the first of which is the
// background's.
std::vector<Box> ssd(const Network& network, float least) {
  const char* const expected = "two outputs, boxes 1xNx4 and scores 1xNx(1 + classes), of N default anchors";
  if (network.outputs.size() != 2 || !is_table(network.outputs[0]) || !is_table(network.outputs[1]))
    refuse(expected, network);
  const size_t of_boxes = network.outputs[0].shape[2] == 4 ? 0 : 1;
  const Table box = table(network.outputs[of_boxes]), score = table(network.outputs[1 - of_boxes]);
  const std::vector<Anchor> anchors = ssd_anchors(network);
  if (box.columns != 4 || score.columns < 2 || box.rows != score.rows || anchors.size() != box.rows)
    refuse(expected, network);
  const auto w = static_cast<float>(network.width), h = static_cast<float>(network.height);
  std::vector<Box> found;
  for (size_t i = 0; i < box.rows; ++i) {
    const size_t label = score.best(i, 1);
    if (score.at(i, label) < least) continue;
    const Anchor& anchor = anchors[i];
    found.push_back(around((box.at(i, 1) / 10 * anchor.width + anchor.x) * w,
                           (box.at(i, 0) / 10 * anchor.height + anchor.y) * h,
                           std::exp(box.at(i, 3) / 5) * anchor.width * w,
                           std::exp(box.at(i, 2) / 5) * anchor.height * h, score.at(i, label), label - 1));
  }
  return found;
}

}  // namespace

const std::vector<Decoder>& decoders() {
  static const std::vector<Decoder> list = {
      {"ultraface", "UltraFace slim and RFB", ultraface},
      {"ultraface-corners", "the same, exported with its boxes' arithmetic", ultraface_corners},
      {"yunet", "YuNet", yunet},
      {"fastestdet", "FastestDet", fastestdet},
      {"yolov5", "YOLOv5 and v7", yolov5},
      {"yolov8", "YOLOv8, v9 and 11", yolov8},
      {"yolox", "YOLOX", yolox},
      {"nanodet", "NanoDet-Plus", nanodet},
      {"ssd", "SSD of TensorFlow's object detection, cut before its post-processing", ssd},
  };
  return list;
}

float overlap(const Box& a, const Box& b) {
  const float width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  const float height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  if (!(width > 0 && height > 0)) return 0;
  const float both = width * height;
  return both / ((a.x1 - a.x0) * (a.y1 - a.y0) + (b.x1 - b.x0) * (b.y1 - b.y0) - both);
}

std::vector<Box> suppress(std::vector<Box> boxes, float most) {
  std::stable_sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return a.score > b.score; });
  std::vector<Box> left;
  for (const Box& box : boxes) {
    const bool hidden = std::any_of(left.begin(), left.end(), [&](const Box& better) {
      return better.label == box.label && overlap(better, box) > most;
    });
    if (!hidden) left.push_back(box);
  }
  return left;
}
