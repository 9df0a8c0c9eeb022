#include "tools/model_contents.h"

#include <algorithm>
#include <map>

#include "calibrator/host/system/real_text.h"
#include "intaglio/describe.h"
#include "tools/answer_kind.h"

namespace intaglio::tools {
namespace {

// One number where all channels have the same.
std::string numbers(const float* values, int32_t channels) {
  const bool same = std::all_of(values, values + channels, [&](float x) { return x == values[0]; });
  std::string text;
  for (int32_t c = 0; c < (same ? 1 : channels); ++c) {
    text += (c == 0 ? "" : ", ") + general_text(static_cast<double>(values[c]), 6);
  }
  return same ? text : "(" + text + ")";
}

// Whether an int8 input has for each pixel the code 128 below it.
bool takes_codes(const ImageInput& image) {
  for (size_t i = 0; i < image.table.size; ++i)
    if (image.table[i] != static_cast<int32_t>(i % 256) - 128) return false;
  return image.table.size > 0;
}

std::string formula(const ImageInput& image) {
  if (takes_codes(image)) return "pixels are its 8-bit codes";
  return "(pixel - " + numbers(image.mean, image.channels) + ") * " + numbers(image.norm, image.channels);
}

}  // namespace

const char* color_name(ColorOrder color) {
  constexpr const char* kNames[] = {"rgb", "bgr", "gray"};
  return kNames[static_cast<size_t>(color)];
}

const char* resize_name(ResizeMode resize) {
  constexpr const char* kNames[] = {"stretch", "crop", "letterbox"};
  return kNames[static_cast<size_t>(resize)];
}

std::string recipe_text(const ImageInput& image) { return formula(image) + ", " + color_name(image.color); }

std::string input_text(const Model& model, int32_t input) {
  const TensorInfo info = model.tensor(model.inputs()[static_cast<size_t>(input)]);
  const Shape& shape = info.shape;
  std::string text;
  for (int32_t i = 0; i < model.image_count(); ++i) {
    const ImageInput image = model.image(i);
    if (image.input != input) continue;
    text = std::string("picture ") + color_name(image.color) + " " + std::to_string(shape[1]) + " x " +
           std::to_string(shape[2]) + ", " + formula(image) + ", " + resize_name(image.resize);
    if (image.resize == ResizeMode::kLetterbox) text += " with borders of " + std::to_string(image.border);
  }
  if (text.empty()) {
    text = "values ";
    for (int32_t d = 0; d < shape.rank; ++d) text += (d == 0 ? "" : " x ") + std::to_string(shape[d]);
    text += ", no picture";
  }
  return "'" + std::string(info.name) + "': " + text + "; " + dtype_name(info.dtype);
}

std::vector<int32_t> dims_of(const Shape& shape) { return {shape.dims, shape.dims + shape.rank}; }

namespace {

Json json_of_tensor(const TensorInfo& info) {
  Json json{{"name", info.name}, {"dtype", dtype_name(info.dtype)}, {"shape", dims_of(info.shape)}};
  if (info.quantization.scales.size == 1) {
    json["scale"] = info.quantization.scales[0];
    json["zero_point"] = info.quantization.zero_point;
  }
  return json;
}

}  // namespace

size_t weight_bytes(const Model& model) {
  std::map<const uint8_t*, size_t> constants;
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    const Span<const uint8_t> constant = model.tensor(t).constant;
    if (constant.data != nullptr)
      constants[constant.data] = std::max(constants[constant.data], constant.size);
  }
  size_t bytes = 0;
  for (const auto& constant : constants) bytes += constant.second;
  return bytes;
}

Json json_of_tensors(const Model& model, Span<const int32_t> tensors) {
  Json list = Json::array();
  for (const int32_t t : tensors) list.push_back(json_of_tensor(model.tensor(t)));
  return list;
}

Json json_of_outputs(const Model& model) {
  Json list = json_of_tensors(model, model.outputs());
  for (size_t i = 0; i < list.size(); ++i) {
    const AnswerKind kind = answer_of(model, i).kind;
    list[i]["answer"] = kind == AnswerKind::kUnknown ? Json(nullptr) : Json(answer_name(kind));
  }
  return list;
}

Json json_of_images(const Model& model) {
  Json list = Json::array();
  for (int32_t i = 0; i < model.image_count(); ++i) {
    const ImageInput image = model.image(i);
    list.push_back({{"input", image.input},
                    {"color", color_name(image.color)},
                    {"resize", resize_name(image.resize)},
                    {"border", image.border},
                    {"mean", std::vector<float>(image.mean, image.mean + image.channels)},
                    {"norm", std::vector<float>(image.norm, image.norm + image.channels)}});
  }
  return list;
}

int64_t channels_left_out(const Model& model) {
  int64_t gone = 0;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    const KeptChannels kept = model.kept_channels(node.outputs[0]);
    if (node.options.get<Requantization>() != nullptr && kept.channels > 0)
      gone += kept.channels - model.tensor(node.outputs[0]).shape.back(0);
  }
  return gone;
}

}  // namespace intaglio::tools
