#include "tools/decoders.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <utility>

namespace intaglio::tools {
namespace {

size_t size_of(int32_t dim) { return static_cast<size_t>(dim); }

float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

Box around(float x, float y, float width, float height, float score, size_t label) {
  return {x - width / 2, y - height / 2, x + width / 2, y + height / 2, score, static_cast<int32_t>(label)};
}

// A table of `rows` times `columns` values, of which either may be the last axis.
struct Table {
  const OutputValues* output = nullptr;
  size_t rows = 0, columns = 0;
  bool by_column = false;

  float at(size_t row, size_t column) const {
    return output->values[by_column ? column * rows + row : row * columns + column];
  }
  // The first largest of so many columns from `first` on.
  size_t best(size_t row, size_t first, size_t count) const {
    size_t found = first;
    for (size_t column = first + 1; column < first + count; ++column)
      if (at(row, column) > at(row, found)) found = column;
    return found;
  }
  Table turned() const { return {output, columns, rows, !by_column}; }
};

// Two axes, whatever axes of 1 stand before and between them.
std::optional<Table> table(const OutputValues& output) {
  std::vector<int32_t> dims = output.shape;
  while (dims.size() > 2 && dims.front() == 1) dims.erase(dims.begin());
  if (dims.size() == 3 && dims[1] == 1) dims.erase(dims.begin() + 1);
  if (dims.size() != 2 || dims[0] <= 0 || dims[1] <= 0) return std::nullopt;
  return Table{&output, size_of(dims[0]), size_of(dims[1]), false};
}

// The only output that is one.
std::optional<Table> only_table(const DetectorRun& run) {
  std::optional<Table> only;
  for (const OutputValues& output : run.outputs) {
    const std::optional<Table> found = table(output);
    if (found && only) return std::nullopt;
    if (found) only = found;
  }
  return only;
}

// The cells of a pyramid of feature maps, one behind the other, each by rows.
struct Cell {
  float x = 0, y = 0;  // column and row of its map
  float stride = 0;    // pixels of the input that it stands for
};

std::vector<Cell> cells_of(const DetectorRun& run, std::initializer_list<int32_t> strides) {
  std::vector<Cell> cells;
  for (const int32_t stride : strides)
    for (int32_t y = 0; y < (run.height + stride - 1) / stride; ++y)
      for (int32_t x = 0; x < (run.width + stride - 1) / stride; ++x)
        cells.push_back({static_cast<float>(x), static_cast<float>(y), static_cast<float>(stride)});
  return cells;
}

// So many columns are classes: those that there are, or as many as the caller knows.
size_t classes_in(const DetectorRun& run, size_t columns) {
  return run.classes > 0 ? std::min(size_of(run.classes), columns) : columns;
}

// Tests of numbers, for networks that nobody has named. Scores of int8 networks pass 0 and 1 by a step.

constexpr float kBeyond = 0.05f;
constexpr float kMostInParts = 2.0f;  // coordinates in parts of the picture

bool are_shares(const Table& table, size_t first, size_t count) {
  for (size_t row = 0; row < table.rows; ++row)
    for (size_t column = first; column < first + count; ++column)
      if (!(table.at(row, column) >= -kBeyond && table.at(row, column) <= 1 + kBeyond)) return false;
  return true;
}

// Whether the columns are shares of one, row for row.
bool sum_to_one(const Table& table, size_t first, size_t count) {
  double sum = 0;
  for (size_t row = 0; row < table.rows; ++row)
    for (size_t column = first; column < first + count; ++column)
      sum += static_cast<double>(table.at(row, column));
  return std::abs(sum / static_cast<double>(table.rows) - 1) < static_cast<double>(kBeyond);
}

bool has_negative_sizes(const Table& table) {
  for (size_t row = 0; row < table.rows; ++row)
    if (table.at(row, 2) < -0.1f || table.at(row, 3) < -0.1f) return true;
  return false;
}

// Left before right and top before bottom, but for a few that rounding has turned.
bool are_corners(const Table& table) {
  size_t turned = 0;
  for (size_t row = 0; row < table.rows; ++row)
    turned += table.at(row, 2) >= table.at(row, 0) && table.at(row, 3) >= table.at(row, 1) ? 0 : 1;
  return turned * 20 <= table.rows;
}

// What brings the first four columns to pixels: they may be parts of the picture.
std::pair<float, float> to_pixels(const DetectorRun& run, const Table& table) {
  for (size_t row = 0; row < table.rows; ++row)
    for (size_t column = 0; column < 4; ++column)
      if (std::abs(table.at(row, column)) > kMostInParts) return {1.0f, 1.0f};
  return {static_cast<float>(run.width), static_cast<float>(run.height)};
}

// Whether few places find something, as in any picture. Key points and masks that are taken for classes find it everywhere.
bool seldom_sure(const DetectorRun& run, bool (*read)(const DetectorRun&, float, FoundBoxes&),
                 size_t places) {
  FoundBoxes found;
  return read(run, 0.5f, found) && found.boxes.size() * 4 <= places;
}

// A box that the network's own boxes are relative to, in parts of the picture.
struct Anchor {
  float x = 0, y = 0, width = 0, height = 0;
};

struct ScoredBoxes {
  Table scores, boxes;
};

// Scores of each box, by rows or by columns, and four numbers a box. Further outputs are points of faces and the like.
std::optional<ScoredBoxes> scored_boxes(const DetectorRun& run) {
  const auto of_boxes = std::count_if(run.outputs.begin(), run.outputs.end(), [](const OutputValues& output) {
    const std::optional<Table> all = table(output);
    return all && all->columns == 4;
  });
  if (of_boxes > 2) return std::nullopt;  // of several strides; four classes are no more than two
  for (const OutputValues& output : run.outputs) {
    const std::optional<Table> boxes = table(output);
    if (!boxes || boxes->columns != 4) continue;
    for (const OutputValues& other : run.outputs) {
      std::optional<Table> scores = &other == &output ? std::nullopt : table(other);
      if (!scores) continue;
      if (scores->rows != boxes->rows && scores->columns == boxes->rows) scores = scores->turned();
      if (scores->rows == boxes->rows && are_shares(*scores, 0, scores->columns))
        return ScoredBoxes{*scores, *boxes};
    }
  }
  return std::nullopt;
}

// Squares on the cells of a stride.
struct SquaresOfStride {
  int32_t stride;
  std::vector<float> sides;  // in pixels
};

std::vector<Anchor> squares_of(const DetectorRun& run, const std::vector<SquaresOfStride>& maps,
                               bool within) {
  const auto w = static_cast<float>(run.width), h = static_cast<float>(run.height);
  const float most = within ? 1.0f : INFINITY;
  std::vector<Anchor> anchors;
  for (const auto& [stride, sides] : maps)
    for (const Cell& cell : cells_of(run, {stride}))
      for (const float side : sides)
        anchors.push_back({std::min((cell.x + 0.5f) * cell.stride / w, most),
                           std::min((cell.y + 0.5f) * cell.stride / h, most), std::min(side / w, most),
                           std::min(side / h, most)});
  return anchors;
}

// Scores of background and face; centre and size in tenths and fifths of anchors.
bool read_faces(const DetectorRun& run, const std::vector<Anchor>& anchors, float least, FoundBoxes& found) {
  const auto faces = scored_boxes(run);
  if (!faces || faces->scores.columns != 2 || faces->boxes.rows != anchors.size()) return false;
  const auto w = static_cast<float>(run.width), h = static_cast<float>(run.height);
  found.classes = 1;
  for (size_t i = 0; i < anchors.size(); ++i) {
    const float score = faces->scores.at(i, 1);
    if (!(score >= least)) continue;
    const Anchor& anchor = anchors[i];
    found.boxes.push_back(around((anchor.x + 0.1f * faces->boxes.at(i, 0) * anchor.width) * w,
                                 (anchor.y + 0.1f * faces->boxes.at(i, 1) * anchor.height) * h,
                                 std::exp(0.2f * faces->boxes.at(i, 2)) * anchor.width * w,
                                 std::exp(0.2f * faces->boxes.at(i, 3)) * anchor.height * h, score, 0));
  }
  return true;
}

bool fits_faces(const DetectorRun& run, bool (*read)(const DetectorRun&, float, FoundBoxes&)) {
  const auto faces = scored_boxes(run);
  FoundBoxes found;
  return faces && !are_corners(faces->boxes) && read(run, 1.0f, found);
}

bool read_ultraface(const DetectorRun& run, float least, FoundBoxes& found) {
  return read_faces(
      run, squares_of(run, {{8, {10, 16, 24}}, {16, {32, 48}}, {32, {64, 96}}, {64, {128, 192, 256}}}, true),
      least, found);
}
bool fits_ultraface(const DetectorRun& run) { return fits_faces(run, read_ultraface); }

bool read_retinaface(const DetectorRun& run, float least, FoundBoxes& found) {
  return read_faces(run, squares_of(run, {{8, {16, 32}}, {16, {64, 128}}, {32, {256, 512}}}, false), least,
                    found);
}
bool fits_retinaface(const DetectorRun& run) { return fits_faces(run, read_retinaface); }

// Corners, in pixels or in parts of the picture: a network that was exported with its boxes' arithmetic. Of scores that
// are shares of one the first is the background's.
bool read_corners(const DetectorRun& run, float least, FoundBoxes& found) {
  const auto all = scored_boxes(run);
  if (!all) return false;
  const Table &scores = all->scores, &boxes = all->boxes;
  const size_t first = scores.columns > 1 && sum_to_one(scores, 0, scores.columns) ? 1 : 0;
  const auto [x, y] = to_pixels(run, boxes);
  found.classes = static_cast<int32_t>(scores.columns - first);
  for (size_t i = 0; i < boxes.rows; ++i) {
    const size_t label = scores.best(i, first, scores.columns - first);
    if (scores.at(i, label) >= least)
      found.boxes.push_back({boxes.at(i, 0) * x, boxes.at(i, 1) * y, boxes.at(i, 2) * x, boxes.at(i, 3) * y,
                             scores.at(i, label), static_cast<int32_t>(label - first)});
  }
  return true;
}
bool fits_corners(const DetectorRun& run) {
  const auto all = scored_boxes(run);
  constexpr size_t kFewest = 8;  // fewer are of a network that looks at one object
  return all && all->boxes.rows >= kFewest && are_corners(all->boxes) &&
         seldom_sure(run, read_corners, all->boxes.rows);
}

// For each stride the outputs cls_S, obj_S and bbox_S.
bool read_yunet(const DetectorRun& run, float least, FoundBoxes& found) {
  found.classes = 1;
  for (const int32_t stride : {8, 16, 32}) {
    const std::vector<Cell> cells = cells_of(run, {stride});
    const auto part = [&](const char* name, size_t columns) -> std::optional<Table> {
      for (const OutputValues& output : run.outputs) {
        const auto all = table(output);
        if (output.name == name + std::to_string(stride) && all && all->rows == cells.size() &&
            all->columns == columns)
          return all;
      }
      return std::nullopt;
    };
    const auto face = part("cls_", 1), object = part("obj_", 1), box = part("bbox_", 4);
    if (!face || !object || !box) return false;
    for (size_t i = 0; i < cells.size(); ++i) {
      const float score =
          std::sqrt(std::clamp(face->at(i, 0), 0.0f, 1.0f) * std::clamp(object->at(i, 0), 0.0f, 1.0f));
      if (!(score >= least)) continue;
      const Cell& cell = cells[i];
      found.boxes.push_back(
          around((cell.x + box->at(i, 0)) * cell.stride, (cell.y + box->at(i, 1)) * cell.stride,
                 std::exp(box->at(i, 2)) * cell.stride, std::exp(box->at(i, 3)) * cell.stride, score, 0));
    }
  }
  return true;
}
bool fits_yunet(const DetectorRun& run) {
  FoundBoxes found;
  return read_yunet(run, 1.0f, found);
}

// The distances of a box's sides from a point.
Box box_by_sides(float x, float y, const float (&sides)[4], float score, size_t label) {
  return {x - sides[0], y - sides[1], x + sides[2], y + sides[3], score, static_cast<int32_t>(label)};
}

// For each stride a score and four distances of one or two boxes a cell, in strides from the cell's corner.
bool read_scrfd(const DetectorRun& run, float least, FoundBoxes& found) {
  found.classes = 1;
  for (const int32_t stride : {8, 16, 32}) {
    const std::vector<Cell> cells = cells_of(run, {stride});
    std::optional<Table> scores, sides;
    for (const OutputValues& output : run.outputs) {
      const auto all = table(output);
      if (!all || (all->rows != cells.size() && all->rows != 2 * cells.size())) continue;
      if (all->columns != 1 && all->columns != 4) continue;
      std::optional<Table>& part = all->columns == 1 ? scores : sides;
      if (part) return false;
      part = all;
    }
    if (!scores || !sides || scores->rows != sides->rows) return false;
    for (size_t i = 0; i < scores->rows; ++i) {
      if (!(scores->at(i, 0) >= least)) continue;
      const Cell& cell = cells[i * cells.size() / scores->rows];
      float distances[4];
      for (size_t side = 0; side < 4; ++side) distances[side] = sides->at(i, side) * cell.stride;
      found.boxes.push_back(
          box_by_sides(cell.x * cell.stride, cell.y * cell.stride, distances, scores->at(i, 0), 0));
    }
  }
  return true;
}
bool fits_scrfd(const DetectorRun& run) {
  FoundBoxes found;
  return read_scrfd(run, 1.0f, found);
}

// Centre and size in pixels relative to cells, then points; scores before their sigmoid. Two boxes a cell of stride 8, six of stride
// 16, joined or an output each.
bool read_mediapipe(const DetectorRun& run, float least, FoundBoxes& found) {
  const auto repeated = [&](int32_t stride, size_t count) {
    std::vector<Cell> anchors;
    for (const Cell& cell : cells_of(run, {stride})) anchors.insert(anchors.end(), count, cell);
    return anchors;
  };
  const auto read = [&](const std::vector<Cell>& anchors) {
    std::optional<Table> scores, boxes;
    for (const OutputValues& output : run.outputs) {
      const auto all = table(output);
      if (!all || all->rows != anchors.size()) continue;
      if (all->columns == 1) scores = all;
      if (all->columns >= 8 && all->columns % 2 == 0) boxes = all;
    }
    if (!scores || !boxes) return false;
    for (size_t i = 0; i < anchors.size(); ++i) {
      const float score = sigmoid(scores->at(i, 0));
      if (!(score >= least)) continue;
      const Cell& cell = anchors[i];
      found.boxes.push_back(around((cell.x + 0.5f) * cell.stride + boxes->at(i, 0),
                                   (cell.y + 0.5f) * cell.stride + boxes->at(i, 1), boxes->at(i, 2),
                                   boxes->at(i, 3), score, 0));
    }
    return true;
  };
  const std::vector<Cell> fine = repeated(8, 2), coarse = repeated(16, 6);
  std::vector<Cell> joined = fine;
  joined.insert(joined.end(), coarse.begin(), coarse.end());
  found.classes = 1;
  return read(joined) || (read(fine) && read(coarse));
}
bool fits_mediapipe(const DetectorRun& run) {
  FoundBoxes found;
  return read_mediapipe(run, 1.0f, found);
}

// One map: objectness, four numbers of the box, the classes. A cell answers for itself and its neighbours.
bool read_fastestdet(const DetectorRun& run, float least, FoundBoxes& found) {
  if (run.outputs.size() != 1) return false;
  const OutputValues& map = run.outputs[0];
  if (map.shape.size() != 4 || map.shape[0] != 1 || map.shape[1] < 6) return false;
  const size_t channels = size_of(map.shape[1]), rows = size_of(map.shape[2]),
               columns = size_of(map.shape[3]);
  const Table all = {&map, rows * columns, channels, true};
  const auto w = static_cast<float>(run.width), h = static_cast<float>(run.height);
  found.classes = static_cast<int32_t>(channels - 5);
  for (size_t i = 0; i < all.rows; ++i) {
    const size_t label = all.best(i, 5, channels - 5);
    const float score =
        std::pow(std::max(all.at(i, 0), 0.0f), 0.6f) * std::pow(std::max(all.at(i, label), 0.0f), 0.4f);
    if (!(score >= least)) continue;
    found.boxes.push_back(
        around((static_cast<float>(i % columns) + std::tanh(all.at(i, 1))) * w / static_cast<float>(columns),
               (static_cast<float>(i / columns) + std::tanh(all.at(i, 2))) * h / static_cast<float>(rows),
               sigmoid(all.at(i, 3)) * w, sigmoid(all.at(i, 4)) * h, score, label - 5));
  }
  return true;
}
bool fits_fastestdet(const DetectorRun& run) {
  FoundBoxes found;
  if (!read_fastestdet(run, 1.0f, found)) return false;
  const OutputValues& map = run.outputs[0];
  const size_t channels = size_of(map.shape[1]);
  const Table all = {&map, map.values.size() / channels, channels, true};
  return map.shape[2] == (run.height + 15) / 16 && are_shares(all, 0, 1) && sum_to_one(all, 5, channels - 5);
}

// Centre and size in pixels or in parts of the picture, objectness, classes; a row each.
bool read_yolov5(const DetectorRun& run, float least, FoundBoxes& found) {
  const auto all = only_table(run);
  if (!all || all->columns < 6) return false;
  const size_t classes = classes_in(run, all->columns - 5);
  const auto [x, y] = to_pixels(run, *all);
  found.classes = static_cast<int32_t>(classes);
  for (size_t i = 0; i < all->rows; ++i) {
    const size_t label = all->best(i, 5, classes);
    const float score = all->at(i, 4) * all->at(i, label);
    if (score >= least)
      found.boxes.push_back(around(all->at(i, 0) * x, all->at(i, 1) * y, all->at(i, 2) * x, all->at(i, 3) * y,
                                   score, label - 5));
  }
  return true;
}

constexpr size_t kClassesOfCoco = 80;

// Whether columns behind a box and `others` columns hold the classes, of a form that another one resembles.
bool has_columns(const DetectorRun& run, const Table& all, size_t others, size_t of_the_other_form) {
  if (run.classes > 0) return all.columns == others + size_of(run.classes);
  return all.columns != of_the_other_form + kClassesOfCoco;
}

// Also YOLOX that was exported with its boxes' arithmetic: a box a cell.
bool fits_yolov5(const DetectorRun& run) {
  const auto all = only_table(run);
  if (!all || all->columns < 6 || has_negative_sizes(*all)) return false;
  const size_t classes = classes_in(run, all->columns - 5);
  const bool by_anchors = all->rows == 3 * cells_of(run, {8, 16, 32}).size() ||
                          all->rows == 3 * cells_of(run, {8, 16, 32, 64}).size();
  const bool by_cells = all->rows == cells_of(run, {8, 16, 32}).size() && has_columns(run, *all, 5, 4);
  return (by_anchors || by_cells) && are_shares(*all, 4, 1 + classes) &&
         seldom_sure(run, read_yolov5, all->rows);
}

// Centre and size in pixels or in parts of the picture, and classes; a column each, or a row.
struct BoxesAndClasses {
  Table boxes, classes;
  size_t first = 4;  // column of the classes

  size_t count(const DetectorRun& run) const { return classes_in(run, classes.columns - first); }
};

// Of one output, or of two by columns: the network was cut before it joins them.
std::optional<BoxesAndClasses> yolov8_parts(const DetectorRun& run) {
  if (std::optional<Table> all = only_table(run)) {
    if (all->columns > all->rows) all = all->turned();
    if (all->columns < 5 || all->columns >= all->rows) return std::nullopt;
    return BoxesAndClasses{*all, *all, 4};
  }
  std::vector<Table> parts;
  for (const OutputValues& output : run.outputs)
    if (const auto part = table(output)) parts.push_back(*part);
  if (parts.size() != 2 || parts[0].columns != parts[1].columns) return std::nullopt;
  const size_t of_boxes = parts[0].rows == 4 ? 0 : 1;
  if (parts[of_boxes].rows != 4 || parts[0].columns <= 4) return std::nullopt;
  return BoxesAndClasses{parts[of_boxes].turned(), parts[1 - of_boxes].turned(), 0};
}
bool read_yolov8(const DetectorRun& run, float least, FoundBoxes& found) {
  const auto all = yolov8_parts(run);
  if (!all) return false;
  const Table &boxes = all->boxes, &classes = all->classes;
  const auto [x, y] = to_pixels(run, boxes);
  found.classes = static_cast<int32_t>(all->count(run));
  for (size_t i = 0; i < boxes.rows; ++i) {
    const size_t label = classes.best(i, all->first, all->count(run));
    if (classes.at(i, label) >= least)
      found.boxes.push_back(around(boxes.at(i, 0) * x, boxes.at(i, 1) * y, boxes.at(i, 2) * x,
                                   boxes.at(i, 3) * y, classes.at(i, label), label - all->first));
  }
  return true;
}
bool fits_yolov8(const DetectorRun& run) {
  const auto all = yolov8_parts(run);
  if (!all || has_negative_sizes(all->boxes)) return false;
  const size_t rows = all->boxes.rows;
  const bool by_cells = rows == cells_of(run, {8, 16, 32}).size() ||
                        rows == cells_of(run, {8, 16, 32, 64}).size() ||
                        rows == cells_of(run, {4, 8, 16, 32}).size();
  return by_cells && (all->boxes.by_column || has_columns(run, all->boxes, 4, 5)) &&
         are_shares(all->classes, all->first, all->count(run)) && seldom_sure(run, read_yolov8, rows);
}

// The mean of a distribution over the distances 0, 1, ... for each side of a box, from so many columns a side.
void read_sides(const Table& table, size_t row, size_t first, size_t steps, float (&sides)[4]) {
  for (size_t side = 0; side < 4; ++side) {
    const size_t at = first + side * steps;
    float most = table.at(row, at), sum = 0, mean = 0;
    for (size_t step = 1; step < steps; ++step) most = std::max(most, table.at(row, at + step));
    for (size_t step = 0; step < steps; ++step) {
      const float weight = std::exp(table.at(row, at + step) - most);
      sum += weight;
      mean += weight * static_cast<float>(step);
    }
    sides[side] = mean / sum;
  }
}
void scale(float (&sides)[4], float by) {
  for (float& side : sides) side *= by;
}

// A map a stride of 8, 16 and 32: for each side of the box sixteen weights of the distances 0 to 15, in strides from the cell's
// centre, then the classes before their sigmoid. Channels are the second axis, or the last.
std::vector<Table> yolov8_maps(const DetectorRun& run) {
  for (const bool last : {false, true}) {
    std::vector<Table> maps;
    for (const int32_t stride : {8, 16, 32})
      for (const OutputValues& output : run.outputs) {
        const std::vector<int32_t>& dims = output.shape;
        if (dims.size() != 4 || dims[0] != 1 || dims[last ? 1 : 2] != (run.height + stride - 1) / stride ||
            dims[last ? 2 : 3] != (run.width + stride - 1) / stride)
          continue;
        const size_t channels = size_of(dims[last ? 3 : 1]);
        if (channels <= 64 || (!maps.empty() && maps[0].columns != channels)) continue;
        maps.push_back({&output, output.values.size() / channels, channels, !last});
        break;
      }
    if (maps.size() == 3) return maps;
  }
  return {};
}
bool read_yolov8_maps(const DetectorRun& run, float least, FoundBoxes& found) {
  constexpr size_t kSteps = 16;
  const std::vector<Table> maps = yolov8_maps(run);
  if (maps.empty()) return false;
  const size_t classes = classes_in(run, maps[0].columns - 4 * kSteps);
  found.classes = static_cast<int32_t>(classes);
  const std::vector<Cell> cells = cells_of(run, {8, 16, 32});
  size_t place = 0;
  for (const Table& map : maps)
    for (size_t i = 0; i < map.rows; ++i, ++place) {
      const size_t label = map.best(i, 4 * kSteps, classes);
      const float score = sigmoid(map.at(i, label)), stride = cells[place].stride;
      if (!(score >= least)) continue;
      float sides[4];
      read_sides(map, i, 0, kSteps, sides);
      scale(sides, stride);
      found.boxes.push_back(box_by_sides((cells[place].x + 0.5f) * stride, (cells[place].y + 0.5f) * stride,
                                         sides, score, label - 4 * kSteps));
    }
  return true;
}
bool fits_yolov8_maps(const DetectorRun& run) {
  return seldom_sure(run, read_yolov8_maps, cells_of(run, {8, 16, 32}).size());
}

constexpr float kMostLabel = 1e6f;

// Corners in pixels or in parts of the picture, score, class; a row each.
bool read_rows(const DetectorRun& run, float least, FoundBoxes& found) {
  const auto all = only_table(run);
  if (!all || all->columns != 6) return false;
  const auto [x, y] = to_pixels(run, *all);
  for (size_t i = 0; i < all->rows; ++i) {
    const float label = std::round(all->at(i, 5));
    if (all->at(i, 4) >= least && label >= 0 && label < kMostLabel)
      found.boxes.push_back({all->at(i, 0) * x, all->at(i, 1) * y, all->at(i, 2) * x, all->at(i, 3) * y,
                             all->at(i, 4), static_cast<int32_t>(label)});
  }
  return true;
}
bool fits_rows(const DetectorRun& run) {
  const auto all = only_table(run);
  if (!all || all->columns != 6 || !are_corners(*all) || !are_shares(*all, 4, 1)) return false;
  for (size_t i = 0; i < all->rows; ++i)
    if (!(all->at(i, 5) >= 0 && all->at(i, 5) < kMostLabel) || all->at(i, 5) != std::round(all->at(i, 5)))
      return false;
  return true;
}

// Offsets and logarithms by the cells of strides 8, 16 and 32; objectness, classes.
bool read_yolox(const DetectorRun& run, float least, FoundBoxes& found) {
  const auto all = only_table(run);
  const std::vector<Cell> cells = cells_of(run, {8, 16, 32});
  if (!all || all->columns < 6 || cells.size() != all->rows) return false;
  const size_t classes = classes_in(run, all->columns - 5);
  found.classes = static_cast<int32_t>(classes);
  for (size_t i = 0; i < all->rows; ++i) {
    const size_t label = all->best(i, 5, classes);
    const float score = all->at(i, 4) * all->at(i, label), stride = cells[i].stride;
    if (score >= least)
      found.boxes.push_back(around((cells[i].x + all->at(i, 0)) * stride,
                                   (cells[i].y + all->at(i, 1)) * stride, std::exp(all->at(i, 2)) * stride,
                                   std::exp(all->at(i, 3)) * stride, score, label - 5));
  }
  return true;
}
bool fits_yolox(const DetectorRun& run) {
  const auto all = only_table(run);
  return all && all->columns >= 6 && all->rows == cells_of(run, {8, 16, 32}).size() &&
         has_negative_sizes(*all) && are_shares(*all, 4, all->columns - 4);
}

// Classes, then for each side of the box eight weights of the distances 0 to 7, in strides: from the cell's corner
// (NanoDet-Plus: strides 8, 16, 32 and 64), or from its centre (NanoDet: 8, 16 and 32).
bool read_nanodet(const DetectorRun& run, float least, FoundBoxes& found) {
  constexpr size_t kSteps = 8;
  const auto all = only_table(run);
  std::vector<Cell> cells = cells_of(run, {8, 16, 32, 64});
  const bool is_plus = all && all->rows == cells.size();
  if (!is_plus) cells = cells_of(run, {8, 16, 32});
  if (!all || all->columns <= 4 * kSteps || cells.size() != all->rows) return false;
  const float inner = is_plus ? 0.0f : 0.5f;
  const size_t classes = all->columns - 4 * kSteps;
  found.classes = static_cast<int32_t>(classes);
  for (size_t i = 0; i < all->rows; ++i) {
    const size_t label = all->best(i, 0, classes);
    if (!(all->at(i, label) >= least)) continue;
    float sides[4];
    read_sides(*all, i, classes, kSteps, sides);
    scale(sides, cells[i].stride);
    found.boxes.push_back(box_by_sides((cells[i].x + inner) * cells[i].stride,
                                       (cells[i].y + inner) * cells[i].stride, sides, all->at(i, label),
                                       label));
  }
  return true;
}
bool fits_nanodet(const DetectorRun& run) {
  const auto all = only_table(run);
  return seldom_sure(run, read_nanodet, all ? all->rows : 0) && are_shares(*all, 0, all->columns - 32) &&
         !are_shares(*all, all->columns - 32, 32);
}

// For each stride of 8, 16, 32 and perhaps 64 the classes and the weights of distances as NanoDet's, from the cell's centre.
bool read_picodet(const DetectorRun& run, float least, FoundBoxes& found) {
  constexpr size_t kSteps = 8;
  for (const int32_t stride : {8, 16, 32, 64}) {
    const std::vector<Cell> cells = cells_of(run, {stride});
    std::optional<Table> scores, sides;
    for (const OutputValues& output : run.outputs) {
      const auto all = table(output);
      if (!all || all->rows != cells.size()) continue;
      std::optional<Table>& part =
          all->columns == 4 * kSteps && !are_shares(*all, 0, all->columns) ? sides : scores;
      if (part) return false;
      part = all;
    }
    if (stride == 64 && !scores && !sides) continue;
    if (!scores || !sides) return false;
    if (found.classes != 0 && found.classes != static_cast<int32_t>(scores->columns)) return false;
    found.classes = static_cast<int32_t>(scores->columns);
    for (size_t i = 0; i < cells.size(); ++i) {
      const size_t label = scores->best(i, 0, scores->columns);
      if (!(scores->at(i, label) >= least)) continue;
      float distances[4];
      read_sides(*sides, i, 0, kSteps, distances);
      scale(distances, cells[i].stride);
      found.boxes.push_back(box_by_sides((cells[i].x + 0.5f) * cells[i].stride,
                                         (cells[i].y + 0.5f) * cells[i].stride, distances,
                                         scores->at(i, label), label));
    }
  }
  return true;
}
bool fits_picodet(const DetectorRun& run) {
  return seldom_sure(run, read_picodet, cells_of(run, {8, 16, 32, 64}).size());
}

// The anchors of TensorFlow's object detection with its defaults: six maps, scales 0.2 to 0.95, the ratios 1, 2, 1/2, 3
// and 1/3; three boxes a cell in the first map (1 at 0.1, 2 and 1/2 at 0.2), six in the others, the last of them at
// the geometric mean of this scale and the next.
std::vector<Anchor> ssd_anchors(const DetectorRun& run) {
  constexpr int32_t kMaps = 6;
  const auto scale_of = [](int32_t map) { return 0.2f + 0.75f * static_cast<float>(map) / (kMaps - 1); };
  std::vector<Anchor> anchors;
  int32_t rows = (run.height + 15) / 16, columns = (run.width + 15) / 16;
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
bool read_ssd(const DetectorRun& run, float least, FoundBoxes& found) {
  if (run.outputs.size() != 2) return false;
  const auto first = table(run.outputs[0]), second = table(run.outputs[1]);
  if (!first || !second) return false;
  const Table &box = first->columns == 4 ? *first : *second, &score = first->columns == 4 ? *second : *first;
  const std::vector<Anchor> anchors = ssd_anchors(run);
  if (box.columns != 4 || score.columns < 2 || box.rows != score.rows || anchors.size() != box.rows)
    return false;
  const auto w = static_cast<float>(run.width), h = static_cast<float>(run.height);
  found.classes = static_cast<int32_t>(score.columns - 1);
  for (size_t i = 0; i < box.rows; ++i) {
    const size_t label = score.best(i, 1, score.columns - 1);
    if (!(score.at(i, label) >= least)) continue;
    const Anchor& anchor = anchors[i];
    found.boxes.push_back(around(
        (box.at(i, 1) / 10 * anchor.width + anchor.x) * w, (box.at(i, 0) / 10 * anchor.height + anchor.y) * h,
        std::exp(box.at(i, 3) / 5) * anchor.width * w, std::exp(box.at(i, 2) / 5) * anchor.height * h,
        score.at(i, label), label - 1));
  }
  return true;
}
bool fits_ssd(const DetectorRun& run) {
  FoundBoxes found;
  const auto all = scored_boxes(run);
  return all && !are_corners(all->boxes) && read_ssd(run, 1.0f, found);
}

std::string form_of(const DetectorRun& run) {
  std::string found;
  for (const OutputValues& output : run.outputs) {
    found += (found.empty() ? "" : ", ") + output.name + " ";
    for (size_t i = 0; i < output.shape.size(); ++i)
      found += (i == 0 ? "" : "x") + std::to_string(output.shape[i]);
  }
  return found;
}

}  // namespace

const std::vector<Decoder>& decoders() {
  static const std::vector<Decoder> list = {
      {"ultraface", "UltraFace slim and RFB",
       "two outputs, scores 1xNx2 and boxes 1xNx4, of the N anchors of its input", read_ultraface,
       fits_ultraface},
      {"retinaface", "RetinaFace", "scores 1xNx2 and boxes 1xNx4, two for each cell of strides 8, 16 and 32",
       read_retinaface, fits_retinaface},
      {"corners", "networks exported with their boxes' arithmetic, such as UltraFace, SSD, PicoDet",
       "two outputs, scores and boxes 1xNx4 by their corners", read_corners, fits_corners},
      {"yunet", "YuNet",
       "outputs cls_S 1xNx1, obj_S 1xNx1 and bbox_S 1xNx4 for the strides S of 8, 16 and 32", read_yunet,
       fits_yunet},
      {"scrfd", "SCRFD", "a score 1xNx1 and distances 1xNx4 for each of the strides 8, 16 and 32", read_scrfd,
       fits_scrfd},
      {"mediapipe", "MediaPipe's palms and faces",
       "scores 1xNx1 and boxes with points, 1xNx(4 + points), of the anchors of its input", read_mediapipe,
       fits_mediapipe},
      {"fastestdet", "FastestDet", "one output, 1x(5 + classes)xHxW", read_fastestdet, fits_fastestdet},
      {"yolov5", "YOLOv5 and v7, YOLOX exported with its boxes' arithmetic", "one output, 1xNx(5 + classes)",
       read_yolov5, fits_yolov5},
      {"yolov8", "YOLOv8, v9 and 11",
       "one output, 1x(4 + classes)xN or 1xNx(4 + classes), with more boxes than classes, or two, 1x4xN and 1xclassesxN",
       read_yolov8, fits_yolov8},
      {"yolov8-maps", "the same, cut before their boxes' arithmetic",
       "three outputs 1x(64 + classes)xHxW, of strides 8, 16 and 32", read_yolov8_maps, fits_yolov8_maps},
      {"rows", "YOLOv10, 26 and networks that suppress boxes themselves",
       "one output, 1xNx6: left, top, right, bottom, score, class", read_rows, fits_rows},
      {"yolox", "YOLOX", "one output, 1xNx(5 + classes) of the cells of strides 8, 16 and 32", read_yolox,
       fits_yolox},
      {"nanodet", "NanoDet and NanoDet-Plus",
       "one output, 1xNx(classes + 32) of the cells of strides 8, 16 and 32, or also 64", read_nanodet,
       fits_nanodet},
      {"picodet", "PicoDet and NanoDet, cut before their boxes' arithmetic",
       "scores 1xNxC and sides 1xNx32 for each of the strides 8, 16 and 32, or also 64", read_picodet,
       fits_picodet},
      {"ssd", "SSD of TensorFlow's object detection, cut before its post-processing",
       "two outputs, boxes 1xNx4 and scores 1xNx(1 + classes), of N default anchors", read_ssd, fits_ssd},
  };
  return list;
}

const Decoder* find_decoder(const std::string& name) {
  for (const Decoder& decoder : decoders())
    if (name == decoder.name) return &decoder;
  return nullptr;
}

std::string decoder_names() {
  std::string names;
  for (const Decoder& decoder : decoders()) names += std::string(names.empty() ? "" : ", ") + decoder.name;
  return names;
}

std::vector<const Decoder*> fitting_decoders(const DetectorRun& run) {
  std::vector<const Decoder*> fitting;
  for (const Decoder& decoder : decoders())
    if (decoder.fits(run)) fitting.push_back(&decoder);
  return fitting;
}

FoundBoxes decode(const Decoder& decoder, const DetectorRun& run, float least, float most_overlap) {
  FoundBoxes found;
  if (!decoder.read(run, least, found))
    throw std::runtime_error("the decoder " + std::string(decoder.name) + " takes " + decoder.form +
                             "; the network has " + form_of(run));
  for (const Box& box : found.boxes)
    if (box.score > 1 + kBeyond)
      throw std::runtime_error(
          "the decoder " + std::string(decoder.name) +
          " meets a score above 1: is it this network's? Of one with key points or masks "
          "say the names of its classes, too");
  found.boxes = suppress(std::move(found.boxes), most_overlap);
  return found;
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

}  // namespace intaglio::tools
