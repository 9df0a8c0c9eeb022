#include "tools/box_labels.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>

#include "calibrator/host/system/files.h"
#include "calibrator/host/system/real_text.h"
#include "calibrator/host/system/text_lines.h"
#include "calibrator/host/system/wording.h"

namespace intaglio::tools {
namespace {

namespace fs = std::filesystem;
using CocoJson = nlohmann::json;

constexpr uint64_t kMostTextBytes = uint64_t{16} << 20, kMostJsonBytes = uint64_t{512} << 20;
constexpr double kMostPart = 1.001;  // rounded text may pass 1
constexpr double kMostClass = 1e6, kMostPixels = 1e6;
constexpr int kMostDepth = 16;

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  for (size_t start = 0; (start = line.find_first_not_of(" \t", start)) != std::string::npos;) {
    const size_t end = std::min(line.find_first_of(" \t", start), line.size());
    words.push_back(line.substr(start, end - start));
    start = end;
  }
  return words;
}

std::optional<int64_t> whole(double number, double most) {
  if (!(number >= -most && number <= most) || number != std::floor(number)) return std::nullopt;
  return static_cast<int64_t>(number);
}

// Very small sizes are lost beside large places.
bool has_area(const LabelledBox& box) { return box.x1 > box.x0 && box.y1 > box.y0; }

}  // namespace

Outcome<std::vector<LabelledBox>> parse_yolo_boxes(const std::string& path, Span<const uint8_t> text) {
  constexpr size_t kWords = 5;
  static const char* const kNames[kWords] = {"class", "x", "y", "width", "height"};
  std::vector<LabelledBox> boxes;
  for (const TextLine& line : lines_of(text)) {
    const std::vector<std::string> words = words_of(line.text);
    if (words.size() != kWords)
      return Failure{
          line_name(path, line) + ": has " + std::to_string(words.size()) +
          " words; a box is 'class x y width height', the centre and size in parts of the picture" +
          (words.size() > kWords ? ". Outlines and points are no boxes" : "")};
    double numbers[kWords] = {};
    for (size_t i = 0; i < kWords; ++i) {
      const std::optional<double> number = read_real(words[i]);
      const std::string what = line_name(path, line) + ": the " + kNames[i] + " '" + words[i] + "' ";
      if (i == 0 && (!number || !whole(*number, kMostClass) || *number < 0))
        return Failure{what + "is no class; write its number, from 0"};
      if (i > 0 && (!number || !(*number >= 0 && *number <= kMostPart)))
        return Failure{what + "is not in 0 to 1; YOLO's text has parts of the picture, not pixels"};
      numbers[i] = *number;
    }
    const LabelledBox box{numbers[1] - numbers[3] / 2,
                          numbers[2] - numbers[4] / 2,
                          numbers[1] + numbers[3] / 2,
                          numbers[2] + numbers[4] / 2,
                          static_cast<int32_t>(numbers[0]),
                          false,
                          line.number};
    if (!has_area(box))
      return Failure{line_name(path, line) + ": a box without width or height; remove the line"};
    boxes.push_back(box);
  }
  return boxes;
}

namespace {

// Only these keys are kept: outlines take most of a file.
bool is_needed(const CocoJson& key) {
  static const std::set<std::string> kNeeded = {"images",    "annotations", "categories", "id",
                                                "file_name", "width",       "height",     "image_id",
                                                "bbox",      "name",        "iscrowd",    "category_id"};
  return key.is_string() && kNeeded.count(key.get<std::string>()) != 0;
}

Outcome<CocoJson> parse_json(const std::string& path, std::string_view text) {
  bool too_deep = false;
  std::string problem;
  CocoJson file;
  try {
    file = CocoJson::parse(text, [&](int depth, CocoJson::parse_event_t event, CocoJson& value) {
      too_deep = too_deep || depth > kMostDepth;
      return !too_deep && (event != CocoJson::parse_event_t::key || is_needed(value));
    });
  } catch (const CocoJson::exception& error) {
    problem = error.what();
  }
  if (!problem.empty()) return Failure{path + ": is no JSON: " + problem};
  if (too_deep) return Failure{path + ": is nested deeper than COCO's"};
  return file;
}

// Reads members of one object of a list: "labels.json: annotations[12].bbox".
class Member {
 public:
  Member(const std::string& path, const char* list, size_t i, const CocoJson& object)
      : where_(path + ": " + list + "[" + std::to_string(i) + "]"), object_(object) {}

  Failure wrong(const std::string& key, const std::string& wanted) const {
    const CocoJson* const value = find(key);
    const std::string name = where_ + (object_.is_object() ? "." + key : "");
    if (value == nullptr) return {name + (object_.is_object() ? " is missing" : " is no object") + wanted};
    std::string text = value->dump(-1, ' ', false, CocoJson::error_handler_t::replace);
    if (text.size() > 40) text = text.substr(0, 40) + "...";
    return {name + " is " + text + wanted};
  }
  const CocoJson* find(const std::string& key) const {
    if (!object_.is_object()) return nullptr;
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  std::optional<int64_t> number(const std::string& key, double most = 1e15) const {
    const CocoJson* const value = find(key);
    return value != nullptr && value->is_number() ? whole(value->get<double>(), most) : std::nullopt;
  }
  std::optional<std::string> text(const std::string& key) const {
    const CocoJson* const value = find(key);
    return value != nullptr && value->is_string() ? std::optional(value->get<std::string>()) : std::nullopt;
  }
  const std::string& where() const { return where_; }

 private:
  std::string where_;
  const CocoJson& object_;
};

constexpr const char* kWantsNumber = "; it is a whole number";

Outcome<Done> read_images(const std::string& path, const CocoJson& list, CocoFile& file,
                          std::map<int64_t, size_t>& by_id) {
  for (size_t i = 0; i < list.size(); ++i) {
    const Member image(path, "images", i, list[i]);
    const auto id = image.number("id");
    if (!id) return image.wrong("id", kWantsNumber);
    const auto name = image.text("file_name");
    if (!name || name->empty()) return image.wrong("file_name", "; it is the name of the picture's file");
    if (!by_id.emplace(*id, i).second) return image.wrong("id", ", as of an image before it");
    CocoFile::Image read{*name, 0, 0, {}};
    for (const auto& [key, side] :
         {std::pair<const char*, int32_t*>{"width", &read.width}, {"height", &read.height}}) {
      if (image.find(key) == nullptr) continue;
      const auto pixels = image.number(key, kMostPixels);
      if (!pixels || *pixels < 1) return image.wrong(key, "; it is a number of pixels");
      *side = static_cast<int32_t>(*pixels);
    }
    file.images.push_back(std::move(read));
  }
  return Done{};
}

// The place of each category by the order of the ids.
Outcome<std::map<int64_t, int32_t>> read_categories(const std::string& path, const CocoJson& list,
                                                    CocoFile& file) {
  std::map<int64_t, std::string> names;
  for (size_t i = 0; i < list.size(); ++i) {
    const Member category(path, "categories", i, list[i]);
    const auto id = category.number("id");
    if (!id) return category.wrong("id", kWantsNumber);
    const auto name = category.text("name");
    if (!name) return category.wrong("name", "; it is the name of the class");
    if (!names.emplace(*id, *name).second) return category.wrong("id", ", as of a category before it");
  }
  std::map<int64_t, int32_t> places;
  for (const auto& [id, name] : names) {
    places.emplace(id, static_cast<int32_t>(file.categories.size()));
    file.categories.push_back(name);
  }
  return places;
}

Outcome<Done> read_annotations(const std::string& path, const CocoJson& list,
                               const std::map<int64_t, size_t>& images,
                               const std::map<int64_t, int32_t>& categories, CocoFile& file) {
  for (size_t i = 0; i < list.size(); ++i) {
    const Member annotation(path, "annotations", i, list[i]);
    const auto image = annotation.number("image_id"), category = annotation.number("category_id");
    if (!image || images.count(*image) == 0)
      return annotation.wrong("image_id", "; it is the id of an image");
    if (!category || categories.count(*category) == 0)
      return annotation.wrong("category_id", "; it is the id of a category");
    const CocoJson* const box = annotation.find("bbox");
    constexpr const char* kBox = "; it is [x, y, width, height] in pixels";
    if (box == nullptr || !box->is_array() || box->size() != 4) return annotation.wrong("bbox", kBox);
    double numbers[4];
    for (size_t k = 0; k < 4; ++k) {
      const CocoJson& number = (*box)[k];
      if (!number.is_number() || !(std::abs(number.get<double>()) <= kMostPixels))
        return annotation.wrong("bbox", kBox);
      numbers[k] = number.get<double>();
      if (k > 1 && numbers[k] < 0) return annotation.wrong("bbox", kBox);
    }
    const auto crowd = annotation.find("iscrowd") == nullptr ? 0 : annotation.number("iscrowd");
    if (!crowd || (*crowd != 0 && *crowd != 1)) return annotation.wrong("iscrowd", "; it is 0 or 1");
    const LabelledBox read{
        numbers[0],  numbers[1], numbers[0] + numbers[2], numbers[1] + numbers[3], categories.at(*category),
        *crowd == 1, i};
    if (has_area(read)) file.images[images.at(*image)].boxes.push_back(read);  // COCO has some without
  }
  return Done{};
}

}  // namespace

Outcome<CocoFile> parse_coco_boxes(const std::string& path, std::string_view text) {
  const auto json = parse_json(path, text);
  if (!json) return json.failure();
  if (!json->is_object())
    return Failure{path +
                   ": is no object with images, annotations and categories, as COCO's instances_*.json"};
  const char* const kLists[] = {"images", "annotations", "categories"};
  for (const char* const list : kLists)
    if (!json->contains(list) || !(*json)[list].is_array())
      return Failure{path + ": has no list '" + list + "'; COCO's instances_*.json have one"};
  CocoFile file;
  std::map<int64_t, size_t> images;
  if (auto step = read_images(path, (*json)["images"], file, images); !step) return step.failure();
  const auto categories = read_categories(path, (*json)["categories"], file);
  if (!categories) return categories.failure();
  if (auto step = read_annotations(path, (*json)["annotations"], images, *categories, file); !step)
    return step.failure();
  return file;
}

namespace {

std::string file_of(const std::string& name) { return fs::path(name).filename().string(); }

// "labels/cat/1.txt" of "cat/1.png".
std::string text_file_of(const std::string& folder, const std::string& sample) {
  return (fs::path(folder) / fs::path(sample).replace_extension(".txt")).string();
}

bool has_texts_alone(const std::string& folder) {
  bool found = false;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    std::error_code type_error;
    if (entries->is_directory(type_error)) return false;
    found = found || entries->path().extension() == ".txt";
  }
  return found;
}

}  // namespace

bool BoxLabels::are_at(const std::string& path, const std::vector<std::string>& samples) {
  std::error_code error;
  if (fs::is_directory(path, error))
    return has_texts_alone(path) ||
           std::any_of(samples.begin(), samples.end(), [&](const std::string& sample) {
             std::error_code none;
             return fs::exists(text_file_of(path, sample), none);
           });
  std::string ending = fs::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return ending == ".json";
}

Outcome<BoxLabels> BoxLabels::read(const std::string& path, const std::vector<std::string>& samples,
                                   const std::vector<std::string>& names) {
  std::error_code error;
  return fs::is_directory(path, error) ? read_yolo(path, samples) : read_coco(path, samples, names);
}

Outcome<BoxLabels> BoxLabels::read_yolo(const std::string& folder, const std::vector<std::string>& samples) {
  BoxLabels labels;
  labels.path_ = folder;
  size_t without = 0;
  std::string first;
  for (const std::string& sample : samples) {
    Sample read;
    read.path = text_file_of(folder, sample);
    std::error_code error;
    const auto bytes = fs::file_size(read.path, error);
    if (error) {
      if (without++ == 0) first = read.path;
    } else if (bytes > 0) {
      const auto file = read_file(read.path, kMostTextBytes);
      if (!file) return file.failure();
      auto boxes = parse_yolo_boxes(read.path, file->span());
      if (!boxes) return boxes.failure();
      read.boxes = std::move(*boxes);
    }
    labels.samples_.push_back(std::move(read));
  }
  if (without == samples.size())
    return Failure{first +
                   ": is no file, nor has any other picture one; a picture's labels are the text file "
                   "of its name"};
  if (without > 0)
    labels.notes_.push_back(folder + ": has no text file for " + std::to_string(without) + " of " +
                            std::to_string(samples.size()) +
                            " pictures, which are taken as without objects (" + first +
                            (without > 1 ? ", ...)" : ")"));
  return labels;
}

Outcome<BoxLabels> BoxLabels::read_coco(const std::string& path, const std::vector<std::string>& samples,
                                        const std::vector<std::string>& names) {
  const auto bytes = read_file(path, kMostJsonBytes);
  if (!bytes) return bytes.failure();
  auto file =
      parse_coco_boxes(path, std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()));
  if (!file) return file.failure();
  BoxLabels labels;
  labels.path_ = path;
  labels.is_coco_ = true;
  labels.by_names_ = !names.empty();
  labels.categories_ = file->categories.size();
  std::vector<int32_t> classes;  // of each category; -1: the names have none
  for (size_t i = 0; i < file->categories.size(); ++i) {
    const auto found = std::find(names.begin(), names.end(), file->categories[i]);
    classes.push_back(names.empty()          ? static_cast<int32_t>(i)
                      : found == names.end() ? -1
                                             : static_cast<int32_t>(found - names.begin()));
  }
  // By the whole name, or by its file's, where that is one image's alone.
  std::map<std::string, size_t> by_name, by_file;
  for (size_t i = 0; i < file->images.size(); ++i) {
    const std::string& name = file->images[i].name;
    if (!by_name.emplace(name, i).second)
      return Failure{path + ": images[" + std::to_string(i) + "].file_name is '" + name +
                     "', as of an image before it"};
    const auto [place, is_new] = by_file.emplace(file_of(name), i);
    if (!is_new) place->second = file->images.size();
  }
  const auto place_of = [&](const std::string& sample) {
    const auto named = by_name.find(sample), filed = by_file.find(file_of(sample));
    return named != by_name.end()   ? named->second
           : filed != by_file.end() ? filed->second
                                    : file->images.size();
  };
  for (const std::string& sample : samples) {
    const size_t place = place_of(sample);
    if (place == file->images.size())
      return Failure{path + ": no image has the file_name '" + sample +
                     "'; add it, or take only the pictures that are there, with " + option_word("only")};
    const CocoFile::Image& image = file->images[place];
    Sample read{path + ": images[" + std::to_string(place) + "]", image.width, image.height, {}};
    for (LabelledBox box : image.boxes) {
      const int32_t label = classes[static_cast<size_t>(box.label)];
      if (label < 0)
        return Failure{labels.where(read, box) + ": its category '" +
                       file->categories[static_cast<size_t>(box.label)] + "' is none of the " +
                       std::to_string(names.size()) + " names of classes; " + option_word("names") +
                       " has a name a class, as the file spells it"};
      box.label = label;
      read.boxes.push_back(box);
    }
    labels.samples_.push_back(std::move(read));
  }
  return labels;
}

std::string BoxLabels::where(const Sample& sample, const LabelledBox& box) const {
  return is_coco_ ? path_ + ": annotations[" + std::to_string(box.place) + "]"
                  : sample.path + " line " + std::to_string(box.place);
}

Outcome<Done> BoxLabels::check_classes(int32_t classes) const {
  if (classes == 0) return Done{};
  const auto count = static_cast<size_t>(classes);
  if (is_coco_ && !by_names_ && categories_ != count)
    return Failure{path_ + ": has " + std::to_string(categories_) + " categories, the model has " +
                   std::to_string(classes) + (classes == 1 ? " class" : " classes") +
                   "; say which is which with " + option_word("names")};
  for (const Sample& sample : samples_)
    for (const LabelledBox& box : sample.boxes)
      if (box.label >= classes)
        return Failure{where(sample, box) + ": class " + std::to_string(box.label) + ", and the model has " +
                       (classes == 1 ? "class 0 alone" : "the classes 0 to " + std::to_string(classes - 1)) +
                       "; are these labels of its classes?"};
  return Done{};
}

Outcome<WantedBoxes> BoxLabels::of(size_t i, int32_t width, int32_t height) const {
  const Sample& sample = samples_[i];
  const bool fits =
      (sample.width == 0 || sample.width == width) && (sample.height == 0 || sample.height == height);
  if (!fits)
    return Failure{sample.path + ": is " + std::to_string(sample.width) + " x " +
                   std::to_string(sample.height) + " pixels, and the picture has " + std::to_string(width) +
                   " x " + std::to_string(height) +
                   "; its boxes would lie elsewhere: give the pictures that were labelled"};
  const double x = is_coco_ ? 1 : width, y = is_coco_ ? 1 : height;
  WantedBoxes wanted;
  for (const LabelledBox& box : sample.boxes)
    (box.is_crowd ? wanted.crowds : wanted.boxes)
        .push_back({static_cast<float>(box.x0 * x), static_cast<float>(box.y0 * y),
                    static_cast<float>(box.x1 * x), static_cast<float>(box.y1 * y), 0, box.label});
  return wanted;
}

}  // namespace intaglio::tools
