// Boxes that models find beside boxes that are wanted: pairs, counts and precisions worked out by hand; labels as people write
// them; eval and compare on networks whose boxes are known.
#include "tools/detections.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "intaglio/model.h"
#include "tests/support/model_builder.h"
#include "tests/support/picture_files.h"
#include "tests/support/refused.h"
#include "tests/support/run_cli.h"
#include "tools/placement.h"

namespace intaglio::test::cli_detections_test {

using namespace tools;
using intaglio::DType;
using intaglio::Op;
using intaglio::ResizeMode;
using intaglio::Span;
using intaglio::test::holds;

namespace {

// Squares of 10 pixels in a row, 20 apart; `shift` is to the right. One of 10 / 3 overlaps by one half.
Box square(int32_t place, float shift = 0, float score = 0, int32_t label = 0) {
  const float x = static_cast<float>(place) * 20 + shift;
  return {x, 0, x + 10, 10, score, label};
}

void check_counts(const DetectionCounts& counts, size_t right, size_t wrong, size_t missed) {
  CHECK(counts.right == right);
  CHECK(counts.wrong == wrong);
  CHECK(counts.missed == missed);
}

Span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

TEST_CASE("a pair has one class, overlaps by one half, and is one to one: the surest box chooses first") {
  DetectionTally tally;
  // The first takes the square at 0, which the third overlaps more; the third has none left, nor has the second.
  tally.add({square(0, 3, 0.9f), square(0, 3.5f, 0.8f, 1), square(0, 0, 0.7f), square(1, 4, 0.6f)},
            {{square(0), square(1)}, {}});
  check_counts(tally.counts(0), 1, 3, 1);
  check_counts(tally.counts(0.8f), 1, 1, 1);
  check_counts(tally.counts(0.95f), 0, 0, 2);
  DetectionTally nearest;  // of two that it overlaps it takes the one that it overlaps more
  nearest.add({square(0, 0, 0.9f), square(0, 2, 0.8f)}, {{square(0, 2), square(0)}, {}});
  check_counts(nearest.counts(0), 2, 0, 0);
  CHECK(std::isnan(DetectionTally().counts(0).f1()));
  CHECK(std::isnan(DetectionTally().mean_precision()));
}

TEST_CASE("shares of counts") {
  const DetectionCounts counts{6, 2, 4};
  CHECK(counts.precision() == 0.75);
  CHECK(counts.recall() == 0.6);
  CHECK(counts.f1() == doctest::Approx(12.0 / 18));
}

TEST_CASE("a crowd hides what lies in it, and nothing need find it") {
  const Box crowd{0, 0, 100, 100, 0, 0};
  DetectionTally tally;
  tally.add({square(0, 0, 0.9f), square(0, 0, 0.8f, 1), square(5, -4, 0.7f), square(5, -6, 0.6f)},
            {{}, {crowd}});
  check_counts(tally.counts(0), 0, 2, 0);  // of another class, and 4 of 10 pixels within
}

TEST_CASE("mean precision is COCO's over 101 recalls") {
  // Class 0: 4 wanted; right, wrong, right, wrong, right by scores. Precisions 1, 2/3, 3/5 from recalls 1/4, 2/4, 3/4 down.
  DetectionTally tally;
  tally.add({square(0, 0, 0.9f), square(8, 0, 0.8f)}, {{square(0), square(1)}, {}});
  tally.add({square(0, 0, 0.7f), square(8, 0, 0.6f), square(1, 0, 0.5f)}, {{square(0), square(1)}, {}});
  const double first = (26 * 1.0 + 25 * 2 / 3.0 + 25 * 3 / 5.0) / 101;
  CHECK(tally.mean_precision() == doctest::Approx(first));
  // Class 2 is wanted and never found; class 1 is found and never wanted.
  tally.add({square(0, 0, 0.9f, 1)}, {{square(0, 0, 0, 2)}, {}});
  CHECK(tally.mean_precision() == doctest::Approx(first / 2));
}

TEST_CASE("from the input's pixels to the picture's, by the resizing of the recipe") {
  const Box box{2, 3, 6, 5, 0, 0};
  const auto placed = [&](ResizeMode mode, int32_t width, int32_t height) {
    const Box in = Placement::of(mode, width, height, 8, 8).in_picture(box);
    return std::vector<float>{in.x0, in.y0, in.x1, in.y1};
  };
  CHECK(placed(ResizeMode::kStretch, 16, 32) == std::vector<float>{4, 12, 12, 20});
  CHECK(placed(ResizeMode::kLetterbox, 16, 32) == std::vector<float>{0, 12, 16, 20});
  CHECK(placed(ResizeMode::kLetterbox, 32, 16) == std::vector<float>{8, 4, 24, 12});
  CHECK(placed(ResizeMode::kCrop, 16, 32) == std::vector<float>{4.5f, 14.25f, 11.5f, 17.75f});
  CHECK(placed(ResizeMode::kCrop, 32, 16) == std::vector<float>{12.5f, 6.25f, 19.5f, 9.75f});
  CHECK(placed(ResizeMode::kCrop, 8, 8) == std::vector<float>{2, 3, 6, 5});  // is not resized
}

TEST_CASE("YOLO's text: lines of five numbers") {
  const auto read = [](const std::string& text) { return parse_yolo_boxes("1.txt", bytes_of(text)); };
  const auto boxes = read("3 0.5 0.5 0.5 0.25\r\n\n0\t0.25 0.25 0.5 0.5\n");
  REQUIRE(boxes);
  REQUIRE(boxes->size() == 2);
  CHECK((*boxes)[0].label == 3);
  CHECK((*boxes)[0].x0 == 0.25);
  CHECK((*boxes)[0].y1 == 0.625);
  CHECK((*boxes)[1].place == 3);
  CHECK(read("")->empty());
  CHECK(refused(read("0 0.5 0.5 0.5\n"), "1.txt line 1: has 4 words; a box is 'class x y width height'"));
  CHECK(refused(read("0 0 0 1 0 1 1\n"), "line 1: has 7 words"));
  CHECK(refused(read("0 0 0 1 0 1 1\n"), "Outlines and points are no boxes"));
  CHECK(refused(read("0 .5 .5 .5 .5\ncat 0.5 0.5 0.5 0.5\n"),
                "line 2: the class 'cat' is no class; write its number"));
  CHECK(refused(read("-1 0.5 0.5 0.5 0.5\n"), "the class '-1'"));
  CHECK(refused(read("0.5 0.5 0.5 0.5 0.5\n"), "the class '0.5'"));
  CHECK(refused(read("0 320 0.5 0.5 0.5\n"),
                "the x '320' is not in 0 to 1; YOLO's text has parts of the picture"));
  CHECK(refused(read("0 0.5 nan 0.5 0.5\n"), "the y 'nan'"));
  CHECK(refused(read("0 0.5 0.5 0.5 -0.1\n"), "the height '-0.1'"));
  CHECK(refused(read("0 0.5 0.5 0 0.1\n"), "a box without width or height"));
}

namespace {

const std::string kCoco =
    R"({"info": {"year": 2017}, "images": [{"id": 7, "file_name": "val/1.png", "width": 16, "height": 32},
        {"id": 5, "file_name": "val/2.png"}],
       "annotations": [{"id": 1, "image_id": 7, "category_id": 18, "bbox": [4, 12, 8, 8], "iscrowd": 0, "segmentation": [[1, 2]]},
        {"id": 2, "image_id": 5, "category_id": 3, "bbox": [0, 0.5, 1, 2.5], "iscrowd": 1},
        {"id": 3, "image_id": 5, "category_id": 3, "bbox": [0, 0, 0, 2]}],
       "categories": [{"id": 18, "name": "dog"}, {"id": 3, "name": "car"}]})";

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kCoco;
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("COCO's JSON: boxes of images, categories by the order of their ids") {
  const auto read = [](const std::string& text) { return parse_coco_boxes("c.json", text); };
  const auto file = read(kCoco);
  REQUIRE(file);
  CHECK(file->categories == std::vector<std::string>{"car", "dog"});
  REQUIRE(file->images.size() == 2);
  CHECK(file->images[0].name == "val/1.png");
  CHECK(file->images[0].height == 32);
  CHECK(file->images[1].width == 0);
  REQUIRE(file->images[0].boxes.size() == 1);
  CHECK(file->images[0].boxes[0].label == 1);
  CHECK(file->images[0].boxes[0].x1 == 12);
  REQUIRE(file->images[1].boxes.size() == 1);  // one has no area
  CHECK(file->images[1].boxes[0].is_crowd);
  CHECK(file->images[1].boxes[0].y1 == 3);

  const auto bad = [&](const std::string& from, const std::string& to, const std::string& message) {
    CHECK_MESSAGE(refused(read(changed(from, to)), message), read(changed(from, to)).message());
  };
  CHECK(refused(read("{"), "c.json: is no JSON: "));
  CHECK(refused(read("[]"), "is no object with images, annotations and categories"));
  CHECK(refused(read("{}"), "has no list 'images'"));
  CHECK(refused(read(R"({"images": [], "annotations": {}})"), "has no list 'annotations'"));
  CHECK(refused(read(R"({"images": [3], "annotations": [], "categories": []})"), "images[0] is no object"));
  CHECK(refused(read(std::string(30, '[') + std::string(30, ']')), "nested deeper"));
  bad(R"("id": 7)", R"("id": "7")", R"(c.json: images[0].id is "7"; it is a whole number)");
  bad(R"("id": 5)", R"("id": 7)", "images[1].id is 7, as of an image before it");
  bad(R"("file_name": "val/2.png")", R"("file": 1)", "images[1].file_name is missing");
  bad(R"("width": 16)", R"("width": 0)", "images[0].width is 0; it is a number of pixels");
  bad(R"("image_id": 5)", R"("image_id": 6)", "annotations[1].image_id is 6; it is the id of an image");
  bad(R"("category_id": 3)", R"("category_id": 4)",
      "annotations[1].category_id is 4; it is the id of a category");
  bad("[4, 12, 8, 8]", "[4, 12, 8]",
      "annotations[0].bbox is [4,12,8]; it is [x, y, width, height] in pixels");
  bad("[4, 12, 8, 8]", "[4, 12, -8, 8]", "annotations[0].bbox is [4,12,-8,8]");
  bad("[4, 12, 8, 8]", "[4, 12, 1e300, 8]", "annotations[0].bbox is [4,12,1e+300,8]");
  bad("[4, 12, 8, 8]", "{}", "annotations[0].bbox is {}");
  bad(R"("iscrowd": 1)", R"("iscrowd": 2)", "annotations[1].iscrowd is 2; it is 0 or 1");
  bad(R"("id": 3, "name")", R"("id": 18, "name")", "categories[1].id is 18, as of a category before it");
  bad(R"("name": "dog")", R"("name": 1)", "categories[0].name is 1");
}

TEST_CASE("labels of samples: by stems, by names of files, and of the model's classes") {
  const TemporaryFolder folder;
  const std::string coco = folder.put("c.json", kCoco);
  const auto read = [&](const std::vector<std::string>& samples, const std::vector<std::string>& names = {}) {
    return BoxLabels::read(coco, samples, names);
  };
  const auto labels = read({"2.png", "val/1.png"});
  REQUIRE(labels);
  const auto first = labels->of(0, 9, 9), second = labels->of(1, 16, 32);
  REQUIRE(first);
  CHECK(first->boxes.empty());
  CHECK(first->crowds.size() == 1);
  REQUIRE(second);
  REQUIRE(second->boxes.size() == 1);
  CHECK(second->boxes[0].label == 1);
  CHECK(second->boxes[0].y1 == 20);
  CHECK(refused(labels->of(1, 32, 16), "images[0]: is 16 x 32 pixels, and the picture has 32 x 16"));
  CHECK(labels->check_classes(2));
  CHECK(labels->check_classes(0));
  CHECK(refused(labels->check_classes(80),
                "has 2 categories, the model has 80 classes; say which is which with --names"));
  CHECK(refused(read({"3.png"}), "c.json: no image has the file_name '3.png'"));
  const auto named = read({"1.png"}, {"cat", "car", "person", "dog"});
  REQUIRE(named);
  CHECK(named->of(0, 16, 32)->boxes[0].label == 3);
  CHECK(named->check_classes(4));
  CHECK(refused(read({"1.png"}, {"car"}),
                "annotations[0]: its category 'dog' is none of the 1 names of classes"));

  folder.put("a.txt", "1 0.5 0.5 0.5 0.25\n");
  folder.put("b.txt", "");
  CHECK(BoxLabels::are_at(folder.path(), {"a.png"}));
  CHECK(BoxLabels::are_at(coco, {}));
  CHECK_FALSE(BoxLabels::are_at(folder / "a.txt", {}));
  const auto yolo = BoxLabels::read(folder.path(), {"a.png", "b.jpg", "c.png"}, {});
  REQUIRE(yolo);
  REQUIRE(yolo->notes().size() == 1);
  CHECK(holds(yolo->notes()[0], "has no text file for 1 of 3 pictures, which are taken as without objects"));
  REQUIRE(yolo->of(0, 16, 32)->boxes.size() == 1);
  CHECK(yolo->of(0, 16, 32)->boxes[0].x0 == 4);
  CHECK(yolo->of(0, 16, 32)->boxes[0].y1 == 20);
  CHECK(yolo->of(1, 16, 32)->boxes.empty());
  CHECK(refused(yolo->check_classes(1), "a.txt line 1: class 1, and the model has class 0 alone"));
  CHECK(refused(BoxLabels::read(folder.path(), {"c.png"}, {}),
                "c.txt: is no file, nor has any other picture one"));
}

namespace {

// An FP32 network of 8 x 8 RGB pictures that gives these numbers of any picture, in rows of so many.
void put_network(const CommandFolder& folder, const std::string& name, const std::vector<float>& numbers,
                 int32_t columns, std::vector<uint8_t> told = {}) {
  ModelBuilder b;
  const auto count = static_cast<int32_t>(numbers.size());
  const int32_t x = b.tensor("x", DType::kF32, {1, 8, 8, 3}),
                flat = b.tensor("flat", DType::kF32, {1, count});
  const int32_t y = b.tensor("y", DType::kF32, {1, count / columns, columns});
  b.input(x);
  b.node(Op::kFullyConnected,
         {x, b.constant<float>("w", DType::kF32, {count, 192}, std::vector<float>(numbers.size() * 192)),
          b.constant<float>("b", DType::kF32, {count}, numbers)},
         {flat});
  b.node(Op::kReshape, {flat}, {y});
  b.output(y);
  ImageInput image;
  image.channels = 3;
  image.resize = ResizeMode::kLetterbox;
  for (int32_t c = 0; c < 3; ++c) image.norm[c] = 1;
  b.graph().images.push(b.arena(), image);
  b.graph().answers = {told.data(), told.size()};
  const AlignedBytes model = b.finish();
  folder.put(name, std::vector<uint8_t>(model.view().begin(), model.view().end()));
}

void put_pictures(const CommandFolder& folder) {
  for (const char* const inner : {"t", "l"}) std::filesystem::create_directory(folder / inner);
  for (const char* const name : {"t/1.png", "t/2.png"})
    folder.put(name, png_file(16, 32, 3, std::vector<uint8_t>(16 * 32 * 3, name[2] == '1' ? 100 : 200)));
}

// Letterboxed, the first is 0 to 16 by 12 to 20 of the pictures.
const std::vector<float> kFound = {2, 3, 6, 5, 0.9f, 1, 2, 0, 4, 2, 0.8f, 0},
                         kOther = {2, 3, 6, 6, 0.9f, 1, 4, 6, 6, 8, 0.7f, 0};

}  // namespace

TEST_CASE("compare counts what the model finds of what FP32 finds") {
  const CommandFolder folder;
  put_pictures(folder);
  put_network(folder, "a.itg", kFound, 6);
  put_network(folder, "b.itg", kOther, 6);
  const std::string compare = "compare %/a.itg %/b.itg --images %/t";
  const auto found = folder.json(compare + " --json")["detections"];
  CHECK(found["decoder"] == "rows");
  CHECK(found["score"] == 0.25);
  CHECK(found["pictures"] == 2);
  CHECK(found["right"] == 2);
  CHECK(found["wrong"] == 2);
  CHECK(found["missed"] == 2);
  CHECK(found["f1"] == 0.5);
  CHECK(!found.contains("labels_a"));
  const auto surer = folder.json(compare + " --score 0.75 --json")["detections"];
  CHECK(surer["wrong"] == 0);
  CHECK(surer["missed"] == 2);
  const std::string text = folder.good(compare).out;
  CHECK_MESSAGE(
      holds(
          text,
          "boxes (rows): F1 0.5000 against FP32, precision 0.5000, recall 0.5000, of scores of at least 0.25"),
      text);
  CHECK(holds(text, "2 as in FP32, 2 others, 2 missed; FP32 finds something in 2 of 2 pictures"));
  CHECK(!holds(text, "agreement"));
  CHECK(holds(folder.good(compare + " --score 0.95").out, "FP32 finds none with a score of at least 0.95"));
  CHECK(folder.json(compare + " --score 0.95 --json")["detections"]["f1"].is_null());

  folder.put("l/1.txt", "1 0.5 0.5 1 0.25\n");
  folder.put("l/2.txt", "1 0.5 0.5 1 0.25\n0 0.1 0.9 0.1 0.1\n");
  const auto labelled = folder.json(compare + " --labels %/l --json")["detections"];
  CHECK(labelled["labels_a"]["right"] == 2);
  CHECK(labelled["labels_a"]["wrong"] == 2);
  CHECK(labelled["labels_a"]["missed"] == 1);
  CHECK(labelled["labels_a"]["map50"] == 0.5);  // class 1 whole, class 0 not at all
  CHECK(labelled["labels_b"]["right"] == 2);
  CHECK(holds(folder.good(compare + " --labels %/l").out, "against the labels: F1 0.5714 -> 0.5714"));
}

TEST_CASE("calibrate prints the F1 of samples that it held out") {
  const CommandFolder folder;
  std::filesystem::create_directory(folder / "t");
  for (uint8_t i = 0; i < 8; ++i)
    folder.put("t/" + std::to_string(i) + ".png",
               png_file(8, 8, 3, std::vector<uint8_t>(8 * 8 * 3, static_cast<uint8_t>(30 * i))));
  put_network(folder, "a.itg", kFound, 6);
  const std::string calibrate = "calibrate %/a.itg --images %/t -o %/int8.itg";
  const auto found = folder.json(calibrate + " --json")["detections"];
  CHECK(found["decoder"] == "rows");
  CHECK(found["pictures"] == 8);
  CHECK(found["f1"] == 1.0);
  const std::string text = folder.good(calibrate).out;
  CHECK_MESSAGE(
      holds(
          text,
          "boxes        F1 1.0000 with FP32, which finds some in 8 samples, of scores of at least 0.25 (rows)"),
      text);
}

TEST_CASE("eval counts boxes against labels") {
  const CommandFolder folder;
  put_pictures(folder);
  put_network(folder, "a.itg", kFound, 6);
  folder.put("l/1.txt", "1 0.5 0.5 1 0.25\n");
  const std::string eval = "eval %/a.itg --images %/t --labels %/";
  const Ran ran = folder.good(eval + "l");
  CHECK(holds(ran.err, "has no text file for 1 of 2 pictures"));
  CHECK_MESSAGE(
      ran.out ==
          "boxes of 2 pictures (rows), scores of at least 0.25\nF1         0.4000\nprecision  0.2500   1 right, "
          "3 wrong\nrecall     1.0000   0 missed\nmAP@0.5    1.0000\n",
      ran.out);
  const auto found = folder.json(eval + "l --score 0.85 --json");
  CHECK(found["count"] == 2);
  CHECK(found["wrong"] == 1);
  CHECK(found["score"] == 0.85);

  folder.put("c.json", kCoco);
  folder.put("two.txt", "car\ndog\n");
  folder.put("three.txt", "dog\ncat\ncar\n");
  CHECK(folder.json(eval + "c.json --json")["missed"] == 0);  // IoU of 64 / 128
  CHECK(folder.json(eval + "c.json --names %/two.txt --json")["right"] == 1);
  CHECK(folder.json(eval + "c.json --names %/three.txt --json")["right"] == 0);
  folder.put("bad.json", changed("[4, 12, 8, 8]", "[4, 12, 8]"));
  folder.bad(eval + "bad.json", "bad.json: annotations[0].bbox is [4,12,8]");
  folder.put("turned.json", changed(R"("width": 16, "height": 32)", R"("width": 32, "height": 16)"));
  folder.bad(eval + "turned.json", "turned.json: images[0]: is 32 x 16 pixels, and the picture has 16 x 32");
  folder.put("l/1.txt", "1 0.5 0.5 16 0.25\n");
  folder.bad(eval + "l", "l/1.txt line 1: the width '16' is not in 0 to 1");
  folder.bad(eval + "none.json", "none.json");
  folder.bad(eval + "c.json --decoder yolo",
             "--decoder yolo: there is no such decoder; there are ultraface, ");
}

TEST_CASE("what cannot be decoded is said with what to do") {
  const CommandFolder folder;
  put_pictures(folder);
  folder.put("l/1.txt", "0 0.5 0.5 1 0.25\n");
  folder.put("one.txt", "cat\n");
  // One box of YOLOv5's form, of no pyramid that a picture of 8 x 8 has.
  put_network(folder, "n.itg", {4, 4, 4, 2, 0.9f, 0.1f, 0.8f}, 7);
  put_network(folder, "told.itg", {4, 4, 4, 2, 0.9f, 0.1f, 0.8f}, 7,
              {static_cast<uint8_t>(AnswerKind::kBoxes)});
  const std::string compare = "compare %/n.itg %/n.itg --images %/t",
                    eval = "eval %/n.itg --images %/t --labels %/l";
  CHECK(!folder.json(compare + " --json").contains("detections"));
  CHECK(folder.json(compare + " --decoder yolov5 --json")["detections"]["f1"] == 1.0);
  CHECK(holds(
      folder.good("compare %/told.itg %/told.itg --images %/t").err,
      "told.itg: no boxes are counted, since its outputs are boxes of no form that is known; with key points or masks "
      "beside the classes give --names, else say which form it is with --decoder: ultraface, "));
  CHECK(folder.run(compare + " --names %/one.txt").code ==
        2);  // without a decoder there is nothing that it could say
  folder.bad(eval, "n.itg: its outputs are boxes of no form that is known");
  folder.bad(compare + " --score 0.5", "its outputs are boxes of no form that is known");
  folder.bad(eval + " --decoder yolov8", "the decoder yolov8 takes one output, 1x(4 + classes)xN");
  CHECK(folder.json(eval + " --decoder yolov5 --json")["wrong"] == 2);
  CHECK(folder.json(eval + " --decoder yolov5 --names %/one.txt --score 0.05 --json")["right"] == 1);
  folder.put("l/1.txt", "2 0.5 0.5 1 0.25\n");
  folder.bad(eval + " --decoder yolov5", "1.txt line 1: class 2, and the model has the classes 0 to 1");
  folder.put("many.txt", "a\nb\nc\n");
  folder.bad(eval + " --decoder yolov5 --names %/many.txt",
             "--names: holds 3 names, the model has 2 classes");
  // Classes and their labels.
  folder.put("classes.txt", "1.png 0\n2.png 1\n");
  folder.bad("eval %/n.itg --images %/t --labels %/classes.txt --score 0.5",
             "--score has no effect: --labels are classes");
  put_network(folder, "c.itg", std::vector<float>(10, 1), 10);
  folder.bad("compare %/c.itg %/c.itg --images %/t --decoder yolov8", "c.itg: is no detector of pictures");
}

}  // namespace intaglio::test::cli_detections_test
