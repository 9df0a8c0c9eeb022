// Any text is labelled boxes of YOLO's or COCO's form, or is refused by its place. What is accepted has an area and a class.
#include <cmath>

#include "tools/box_labels.h"

namespace {

void check(const std::vector<intaglio::tools::LabelledBox>& boxes, int32_t classes) {
  for (const intaglio::tools::LabelledBox& box : boxes)
    if (!(box.x1 > box.x0) || !(box.y1 > box.y0) || !std::isfinite(box.x0 + box.y0 + box.x1 + box.y1) ||
        box.label < 0 || box.label >= classes)
      __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace intaglio::tools;
  const auto yolo = parse_yolo_boxes("f", {data, size});
  if (!yolo && yolo.message().compare(0, 7, "f line ") != 0) __builtin_trap();
  if (yolo) check(*yolo, 1000001);
  const auto coco = parse_coco_boxes("f", std::string_view(reinterpret_cast<const char*>(data), size));
  if (!coco && coco.message().compare(0, 2, "f:") != 0) __builtin_trap();
  if (coco)
    for (const CocoFile::Image& image : coco->images)
      check(image.boxes, static_cast<int32_t>(coco->categories.size()));
  return 0;
}
