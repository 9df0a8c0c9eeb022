#include <string>

#include "tests/hostile/hostile_runs.h"

// Labelled boxes: YOLO's text, COCO's JSON.
std::vector<std::vector<uint8_t>> intaglio::test::hostile_seeds() {
  std::vector<std::vector<uint8_t>> seeds;
  for (
      const std::string& text :
      {std::string("0 0.5 0.5 0.25 0.25\r\n17 0.1\t0.9 2e-1 .2\n"),
       std::string(
           R"({"images": [{"id": 7, "file_name": "1.jpg", "width": 640, "height": 480}, {"id": -1, "file_name": "a/2.jpg"}],)"
           R"("annotations": [{"image_id": 7, "category_id": 3, "bbox": [1, 2.5, 3e1, 4], "iscrowd": 0, "segmentation": [[1]]},)"
           R"({"image_id": -1, "category_id": 90, "bbox": [0, 0, 640, 480], "iscrowd": 1}],)"
           R"("categories": [{"id": 3, "name": "car"}, {"id": 90, "name": "\u00e9"}]})")})
    seeds.emplace_back(text.begin(), text.end());
  return seeds;
}
