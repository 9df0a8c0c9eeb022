#include "importers/image_recipe.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <new>

#include "calibrator/bake/lookup_tables.h"
#include "calibrator/host/system/real_text.h"
#include "importers/draft/import_error.h"

namespace intaglio::importers {
namespace {

// value = (pixel - mean) * norm, pixels 0 to 255, numbers for red, green and blue.
struct NamedRecipe {
  const char* name;
  std::array<double, 3> mean, norm;
  ColorOrder color;  // of a model with three channels, unless another is asked for
  bool needs_color;  // its numbers are of three colours
};

constexpr double kUnit = 1.0 / 255;
constexpr NamedRecipe kRecipes[] = {
    {"0..255", {0, 0, 0}, {1, 1, 1}, ColorOrder::kRgb, false},
    {"0..1", {0, 0, 0}, {kUnit, kUnit, kUnit}, ColorOrder::kRgb, false},
    {"-1..1", {127.5, 127.5, 127.5}, {1 / 127.5, 1 / 127.5, 1 / 127.5}, ColorOrder::kRgb, false},
    // (pixel / 255 - mean) / deviation: torchvision, timm and most models of PyTorch
    {"imagenet",
     {255 * 0.485, 255 * 0.456, 255 * 0.406},
     {kUnit / 0.229, kUnit / 0.224, kUnit / 0.225},
     ColorOrder::kRgb,
     true},
    {"caffe", {123.68, 116.779, 103.939}, {1, 1, 1}, ColorOrder::kBgr, true},
};

bool takes_picture(const TensorInfo& info) {
  return info.shape.rank == 4 && (info.shape[3] == 1 || info.shape[3] == 3) &&
         (info.dtype == DType::kF32 || (info.dtype == DType::kS8 && info.quantization.scales.size == 1));
}

std::string listed(const std::vector<float>& values) {
  std::string list;
  for (const float x : values) {
    if (!list.empty()) list += ',';
    list += shortest_text(x);
  }
  return list;
}

// Numbers of pixels between 0 and 1, as torchvision states them, where those of pixels up to 255 belong: a
// mean of less than one pixel step has no use. 0 alone is right in any unit. A norm above 1 is one over the deviation.
void check_unit(const ImagePreprocessing& wanted) {
  constexpr float kLeastDeviation = 0.05f;  // what stands below is 1 / (255 * deviation) already
  const auto all_below = [](const std::vector<float>& values) {
    return std::all_of(values.begin(), values.end(), [](float x) { return std::fabs(x) <= 1.0f; });
  };
  const bool has_mean =
      std::any_of(wanted.mean.begin(), wanted.mean.end(), [](float x) { return x != 0.0f; });
  if (!has_mean || !all_below(wanted.mean)) return;
  std::vector<float> mean, norm;
  for (const float x : wanted.mean) mean.push_back(static_cast<float>(255.0 * static_cast<double>(x)));
  for (const float x : wanted.norm)
    norm.push_back(std::fabs(x) < kLeastDeviation ? x
                   : std::fabs(x) <= 1.0f         ? static_cast<float>(kUnit / static_cast<double>(x))
                                                  : static_cast<float>(kUnit * static_cast<double>(x)));
  if (norm.empty()) norm.push_back(static_cast<float>(kUnit));
  fail(
      "--mean ", listed(wanted.mean), wanted.norm.empty() ? std::string() : " --norm " + listed(wanted.norm),
      " are numbers for pixels between 0 and 1, divided by the deviation; here pixels are 0 to 255 and value "
      "= (pixel - mean) * norm: give --mean ",
      listed(mean), " --norm ", listed(norm));
}

// A norm is a factor. One of 10 or more makes thousands of the pixels, so it is what pixels should be divided by.
void check_factor(const ImagePreprocessing& wanted) {
  constexpr float kLeastDivisor = 10.0f;
  std::vector<float> norm;
  for (const float x : wanted.norm) {
    if (x < kLeastDivisor) return;
    norm.push_back(1.0f / x);
  }
  if (norm.empty()) return;
  fail("--norm ", listed(wanted.norm),
       " is what pixels are divided by; here value = (pixel - mean) * norm: give --norm ", listed(norm));
}

class ImageInputs {
 public:
  ImageInputs(Graph& graph, Arena& arena, std::vector<std::string>& notes)
      : graph_(graph), arena_(arena), notes_(notes) {}

  void add(const std::optional<ImagePreprocessing>& wanted, const std::vector<FilePicture>& from_file) {
    int32_t asked = -1;
    if (wanted && wanted->has_values()) {
      asked = find_input(*wanted);
      add_wanted(*wanted, asked);
    }
    for (int32_t i = 0; i < static_cast<int32_t>(graph_.inputs.size()); ++i) {
      if (i == asked) continue;
      const FilePicture* said = nullptr;
      for (const FilePicture& picture : from_file)
        if (picture.input == i) said = &picture;
      if (asked < 0 && wanted) {
        if (wanted->input.empty() || wanted->input == input(i).name) add_found(i, said, *wanted);
      } else {
        add_found(i, said, {});
      }
    }
    if (wanted && graph_.images.empty())
      fail(
          "a color order or a way of resizing does not say which values the pixels become: also give --pixels ",
          pixel_choices(), ", or --mean and --norm");
  }

 private:
  const TensorInfo& input(int32_t i) const {
    return graph_.tensors[static_cast<size_t>(graph_.inputs[static_cast<size_t>(i)])];
  }

  int32_t find_input(const ImagePreprocessing& wanted) const {
    std::string names;
    for (int32_t i = 0; i < static_cast<int32_t>(graph_.inputs.size()); ++i) {
      const TensorInfo& info = input(i);
      names += text(i == 0 ? "" : ", ", quoted(info.name));
      if (!wanted.input.empty() && wanted.input != info.name) continue;
      if (takes_picture(info)) return i;
      if (!wanted.input.empty())
        fail("input ", quoted(info.name),
             " cannot take a picture: it must be [batch, height, width, 1 or 3]");
    }
    if (!wanted.input.empty()) fail("there is no input ", quoted(wanted.input), "; the inputs are ", names);
    fail("image preprocessing was given, but no input can take a picture ([batch, height, width, 1 or 3]): ",
         names);
  }

  // The recipe of an input that takes pictures, without its numbers.
  ImageInput started(int32_t i, const ImagePreprocessing& wanted, ColorOrder usual) const {
    ImageInput image;
    image.input = i;
    image.channels = input(i).shape[3];
    image.color = wanted.color.value_or(image.channels == 1 ? ColorOrder::kGray : usual);
    if ((image.color == ColorOrder::kGray) != (image.channels == 1))
      fail("input ", quoted(input(i).name), " has ", image.channels,
           " channels, which the color order does not fit: use ",
           image.channels == 1 ? "gray" : "rgb or bgr");
    image.resize = wanted.resize;
    image.border = wanted.border;
    return image;
  }

  static void set_values(const char* what, const std::vector<float>& given, float otherwise, int32_t channels,
                         float* values) {
    const auto count = static_cast<int32_t>(given.size());
    if (count > 1 && count != channels)
      fail(what, " has ", count, " values where the input has ", channels,
           " channels; give one, or one for each");
    for (int32_t c = 0; c < channels; ++c) {
      values[c] = count == 0 ? otherwise : given[static_cast<size_t>(count == 1 ? 0 : c)];
      if (!std::isfinite(values[c])) fail(what, " must be finite, it is ", values[c]);
    }
  }

  void add_wanted(const ImagePreprocessing& wanted, int32_t i) {
    if (!wanted.pixels.empty()) return add_named(wanted, i);
    ImageInput image = started(i, wanted, ColorOrder::kRgb);
    set_values("mean", wanted.mean, 0.0f, image.channels, image.mean);
    set_values("norm", wanted.norm, 1.0f, image.channels, image.norm);
    check_unit(wanted);
    check_factor(wanted);
    for (int32_t c = 0; c < image.channels; ++c)
      if ((0.0f - image.mean[c]) * image.norm[c] == (255.0f - image.mean[c]) * image.norm[c])
        fail("mean ", shortest_text(image.mean[c]), " and norm ", shortest_text(image.norm[c]),
             " make every pixel the same; give other ones");
    push(image);
  }

  void add_named(const ImagePreprocessing& wanted, int32_t i) {
    if (!wanted.mean.empty() || !wanted.norm.empty())
      fail("--pixels ", wanted.pixels, " holds a mean and a norm of its own: leave out --mean and --norm");
    const auto* const recipe = std::find_if(std::begin(kRecipes), std::end(kRecipes),
                                            [&](const NamedRecipe& r) { return wanted.pixels == r.name; });
    if (recipe == std::end(kRecipes))
      fail("there is no recipe ", quoted(wanted.pixels), " for pixels; there are ", pixel_choices());
    ImageInput image = started(i, wanted, recipe->color);
    if (recipe->needs_color && image.channels != 3)
      fail("--pixels ", recipe->name, " is for three colours, and input ", quoted(input(i).name),
           " has one channel; its numbers can be given with --mean and --norm");
    for (int32_t c = 0; c < image.channels; ++c) {
      const auto color = static_cast<size_t>(image.color == ColorOrder::kBgr ? 2 - c : c);
      image.mean[c] = static_cast<float>(recipe->mean[color]);
      image.norm[c] = static_cast<float>(recipe->norm[color]);
    }
    push(image);
  }

  // The recipe in the file, or that of its input's codes; else nothing.
  void add_found(int32_t i, const FilePicture* said, const ImagePreprocessing& wanted) {
    const TensorInfo& info = input(i);
    if (!takes_picture(info)) return;
    if (info.dtype == DType::kS8) {
      if (info.shape[3] == 3 || (said != nullptr && said->is_named) || has_pixel_range(info))
        add_codes(i, wanted);
      return;
    }
    if (said == nullptr || said->mean.empty()) return;
    ImageInput image = started(i, wanted, ColorOrder::kRgb);
    set_values("the metadata's mean", said->mean, 0.0f, image.channels, image.mean);
    set_values("the metadata's std", said->deviation, 1.0f, image.channels, image.norm);
    for (int32_t c = 0; c < image.channels; ++c) image.norm[c] = 1.0f / image.norm[c];
    push(image);
    notes_.push_back(said->is_uint8
                         ? text("input ", quoted(info.name),
                                " takes pictures: its numbers are the pixels, 0 to 255; "
                                "--pixels or --mean and --norm say otherwise")
                         : text("input ", quoted(info.name), " takes pictures by the file's metadata: mean ",
                                listed(said->mean), ", std ", listed(said->deviation)));
  }

  // code = pixel - 128, which a file of uint8 has as the pixel itself: what programs give such a model.
  void add_codes(int32_t i, const ImagePreprocessing& wanted) {
    const Quantization& quantization = input(i).quantization;
    ImageInput image = started(i, wanted, ColorOrder::kRgb);
    for (int32_t c = 0; c < image.channels; ++c) {
      image.mean[c] = static_cast<float>(128 + quantization.zero_point);
      image.norm[c] = quantization.scales[0];
    }
    push(image);
    notes_.push_back(text("input ", quoted(input(i).name),
                          " is quantized to 8 bits: pixels are taken as its codes, 0 to 255 as -128 to 127; "
                          "--pixels or --mean and --norm say otherwise"));
  }

  // Whether a quantized input's codes span what pixels are usually brought to. Features of sound have a range
  // of their own.
  static bool has_pixel_range(const TensorInfo& info) {
    constexpr double kNear = 0.02;
    const double scale = static_cast<double>(info.quantization.scales[0]);
    const double span = 255 * scale, low = scale * (-128 - info.quantization.zero_point);
    for (const NamedRecipe& recipe : kRecipes) {
      if (recipe.needs_color) continue;
      const double least = -recipe.mean[0] * recipe.norm[0], range = 255 * recipe.norm[0];
      if (std::fabs(span / range - 1) < kNear && std::fabs(low - least) < kNear * range) return true;
    }
    return false;
  }

  void push(ImageInput& image) {
    const TensorInfo& info = input(image.input);
    if (info.dtype == DType::kS8) {
      const Span<int8_t> table = arena_.make<int8_t>(static_cast<size_t>(image.channels) * 256);
      if (table.empty()) throw std::bad_alloc();
      make_image_table(image, {info.quantization.scales[0], info.quantization.zero_point}, table);
      image.table = table;
    }
    graph_.images.push(arena_, image);
  }

  Graph& graph_;
  Arena& arena_;
  std::vector<std::string>& notes_;
};

}  // namespace

void add_image_inputs(const std::optional<ImagePreprocessing>& wanted,
                      const std::vector<FilePicture>& from_file, Graph& graph, Arena& arena,
                      std::vector<std::string>& notes) {
  ImageInputs(graph, arena, notes).add(wanted, from_file);
}

}  // namespace intaglio::importers

namespace intaglio {

std::vector<std::string> pixel_recipes() {
  std::vector<std::string> names;
  for (const importers::NamedRecipe& recipe : importers::kRecipes) names.emplace_back(recipe.name);
  return names;
}

std::string pixel_choices() {
  std::string choices;
  for (const std::string& name : pixel_recipes()) choices += (choices.empty() ? "" : "|") + name;
  return choices;
}

}  // namespace intaglio

namespace intaglio::importers {

namespace {

constexpr int32_t kColors = 3, kParts = 4;

size_t find_input(const Draft& draft, const std::string& name) {
  for (size_t i = 0; i < draft.inputs.size(); ++i) {
    const DraftTensor& info = draft.tensor(draft.inputs[i]);
    const bool fits = info.shape.size() == 4 && info.shape[0] == 1 && info.shape[3] == kColors * kParts;
    if (fits && (name.empty() || name == info.name)) return i;
  }
  fail(
      "--focus: ", name.empty() ? std::string("no input") : "input " + quoted(name) + " is not there, or not",
      name.empty() ? " is" : "", " [1, height, width, 12], as networks behind YOLOv5's focus have it");
}

}  // namespace

void add_focus(Draft& draft, const std::string& input) {
  const size_t place = find_input(draft, input);
  const int32_t behind = draft.inputs[place];
  const std::string name = draft.tensor(behind).name;
  const Shape shape = draft.tensor(behind).shape;
  const int32_t picture = add_activation_like(draft, name, behind, {1, 2 * shape[1], 2 * shape[2], kColors});
  draft.tensor(behind).name = name + "/focus";
  draft.inputs[place] = picture;
  const size_t before = draft.nodes.size();
  std::vector<int32_t> parts;
  parts.reserve(kParts);
  for (int32_t part = 0; part < kParts; ++part)
    parts.push_back(add_slice({draft, text(name, "/focus/", part), "Focus"}, picture,
                              {0, part % 2, part / 2, 0}, {1, 2, 2, 1}, {1, shape[1], shape[2], kColors}));
  add_node({draft, name + "/focus", "Focus"}, Op::kConcat, parts, behind).options.as<ConcatOptions>().axis =
      3;
  std::rotate(draft.nodes.begin(), draft.nodes.begin() + static_cast<std::ptrdiff_t>(before),
              draft.nodes.end());
}

}  // namespace intaglio::importers
