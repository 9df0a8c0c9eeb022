// The boxes that pictures are labelled with: YOLO's text, a file a picture, or COCO's JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "calibrator/host/system/outcome.h"
#include "intaglio/span.h"
#include "tools/decoders.h"

namespace intaglio::tools {

struct LabelledBox {
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;  // of YOLO in parts of the picture, of COCO in pixels
  int32_t label = 0;                      // of COCO the place of its category by the order of the ids
  bool is_crowd = false;                  // many objects as one, which nothing need find
  size_t place = 0;                       // its line, or its annotation
};

// Lines "class x y width height", the centre and size in parts of the picture. No lines: no boxes.
Outcome<std::vector<LabelledBox>> parse_yolo_boxes(const std::string& path, Span<const uint8_t> text);

struct CocoFile {
  struct Image {
    std::string name;
    int32_t width = 0, height = 0;  // 0: not said
    std::vector<LabelledBox> boxes;
  };
  std::vector<Image> images;
  std::vector<std::string> categories;  // their names, by the order of the ids
};
// What it needs of {"images": [], "annotations": [], "categories": []}; the rest is passed over.
Outcome<CocoFile> parse_coco_boxes(const std::string& path, std::string_view text);

// Of one picture, in its pixels.
struct WantedBoxes {
  std::vector<Box> boxes, crowds;
};

// The labels of samples, in their order.
class BoxLabels {
 public:
  // Whether a path is a JSON file, or a folder with texts of the samples' names: else it labels classes.
  static bool are_at(const std::string& path, const std::vector<std::string>& samples);
  // `names`: the model's classes, by which COCO's categories are found; empty: categories are classes by the order of their ids.
  static Outcome<BoxLabels> read(const std::string& path, const std::vector<std::string>& samples,
                                 const std::vector<std::string>& names);
  // Refuses labels of other classes than so many; 0: it is not known how many the model has.
  Outcome<Done> check_classes(int32_t classes) const;
  // Of a picture of this size.
  Outcome<WantedBoxes> of(size_t sample, int32_t width, int32_t height) const;
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Sample {
    std::string path;  // what messages call it: a file, or an image of COCO's file
    int32_t width = 0, height = 0;
    std::vector<LabelledBox> boxes;
  };
  static Outcome<BoxLabels> read_yolo(const std::string& folder, const std::vector<std::string>& samples);
  static Outcome<BoxLabels> read_coco(const std::string& path, const std::vector<std::string>& samples,
                                      const std::vector<std::string>& names);
  std::string where(const Sample& sample, const LabelledBox& box) const;

  std::string path_;
  bool is_coco_ = false, by_names_ = false;
  size_t categories_ = 0;
  std::vector<Sample> samples_;
  std::vector<std::string> notes_;
};

}  // namespace intaglio::tools
