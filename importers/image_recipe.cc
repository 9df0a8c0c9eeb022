#include "importers/image_recipe.h"

#include <cmath>
#include <new>

#include "calibrator/lookup_tables.h"
#include "importers/import_error.h"

namespace intaglio::importers {
namespace {

bool takes_picture(const TensorInfo& info) {
  return info.shape.rank == 4 && info.shape[0] == 1 && (info.shape[3] == 1 || info.shape[3] == 3) &&
         (info.dtype == DType::kF32 || info.dtype == DType::kS8);
}

int32_t find_input(const ImagePreprocessing& wanted, const Graph& graph) {
  std::string names;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const TensorInfo& info = graph.tensors[static_cast<size_t>(graph.inputs[i])];
    names += text(i == 0 ? "" : ", ", quoted(info.name));
    if (!wanted.input.empty() && wanted.input != info.name) continue;
    if (takes_picture(info)) return static_cast<int32_t>(i);
    if (!wanted.input.empty())
      fail("input ", quoted(info.name), " cannot take a picture: it must be [1, height, width, 1 or 3]");
  }
  if (!wanted.input.empty()) fail("there is no input ", quoted(wanted.input), "; the inputs are ", names);
  fail("image preprocessing was given, but no input can take a picture ([1, height, width, 1 or 3]): ",
       names);
}

void set_values(const char* what, const std::vector<float>& given, float otherwise, int32_t channels,
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

}  // namespace

void add_image_input(const ImagePreprocessing& wanted, Graph& graph, Arena& arena) {
  ImageInput image;
  image.input = find_input(wanted, graph);
  const TensorInfo& info = graph.tensors[static_cast<size_t>(graph.inputs[static_cast<size_t>(image.input)])];
  image.channels = info.shape[3];
  const ColorOrder usual = image.channels == 1 ? ColorOrder::kGray : ColorOrder::kRgb;
  image.color = wanted.color.value_or(usual);
  if ((image.color == ColorOrder::kGray) != (image.channels == 1))
    fail("input ", quoted(info.name), " has ", image.channels,
         " channels, which the color order does not fit: use ", image.channels == 1 ? "gray" : "rgb or bgr");
  image.resize = wanted.resize;
  set_values("mean", wanted.mean, 0.0f, image.channels, image.mean);
  set_values("norm", wanted.norm, 1.0f, image.channels, image.norm);
  for (int32_t c = 0; c < image.channels; ++c)
    if (image.norm[c] == 0.0f) fail("norm must not be 0: every pixel would be the same");
  if (info.dtype == DType::kS8) {
    const Span<int8_t> table = arena.make<int8_t>(static_cast<size_t>(image.channels) * 256);
    if (table.empty()) throw std::bad_alloc();
    make_image_table(image, {info.quantization.scales[0], info.quantization.zero_point}, table);
    image.table = table;
  }
  graph.images.push(arena, image);
}

}  // namespace intaglio::importers
