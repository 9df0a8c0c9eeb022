// What a TFLite file's metadata says of its inputs: which are pictures, and how pixels become values.
#include <cmath>

#include "importers/tflite/tflite_generated.h"
#include "importers/tflite/tflite_metadata_generated.h"
#include "importers/tflite/tflite_reader.h"

namespace intaglio::importers {
namespace {

using Bytes = std::vector<uint64_t>;  // tables are read where they stand, which needs an aligned start

constexpr const char* kEntry = "TFLITE_METADATA";
constexpr flatbuffers::uoffset_t kMaxDepth = 16;

// An aligned copy of the buffer, and its size; 0 without one.
size_t metadata_bytes(const tflite::Model& model, Bytes& copy) {
  if (model.metadata() == nullptr || model.buffers() == nullptr) return 0;
  for (const tflite::Metadata* const entry : *model.metadata()) {
    if (entry->name() == nullptr || entry->name()->str() != kEntry) continue;
    if (entry->buffer() >= model.buffers()->size()) return 0;
    const auto* const data = model.buffers()->Get(entry->buffer())->data();
    if (data == nullptr || data->size() == 0) return 0;
    copy.resize(data->size() / sizeof(uint64_t) + 1);
    std::memcpy(copy.data(), data->data(), data->size());
    return data->size();
  }
  return 0;
}

std::vector<float> values_of(const flatbuffers::Vector<float>* values) {
  if (values == nullptr) return {};
  return {values->begin(), values->end()};
}

bool are_usable(const FilePicture& picture, const Shape& shape) {
  const auto fits = [&](const std::vector<float>& values) {
    for (const float x : values)
      if (!std::isfinite(x)) return false;
    return values.size() == 1 || (!shape.empty() && values.size() == static_cast<size_t>(shape.back()));
  };
  for (const float x : picture.deviation)
    if (!(x > 0.0f && std::isfinite(1.0f / x))) return false;
  return fits(picture.mean) && fits(picture.deviation);
}

void read_input(const tflite_metadata::TensorMetadata& input, int32_t index, Draft& draft) {
  FilePicture picture;
  picture.input = index;
  const auto* const content = input.content();
  if (content != nullptr && content->properties_type() != tflite_metadata::ContentProperties::NONE) {
    const auto* const image = content->properties_as_ImageProperties();
    if (image == nullptr) return;  // features or sound
    picture.is_named = true;
  }
  const DraftTensor& tensor = draft.tensor(draft.inputs[static_cast<size_t>(index)]);
  if (input.process_units() != nullptr)
    for (const auto* const unit : *input.process_units()) {
      const auto* const options = unit->options_as_NormalizationOptions();
      if (options == nullptr) continue;
      picture.mean = values_of(options->mean());
      picture.deviation = values_of(options->std());
      if (are_usable(picture, tensor.shape)) continue;
      draft.notes.push_back(
          text("input ", quoted(tensor.name),
               ": the mean and std in the file's metadata are not one finite number, or one "
               "for each channel, with std above 0, and are passed over"));
      picture.mean.clear();
      picture.deviation.clear();
    }
  if (picture.is_named || !picture.mean.empty()) draft.pictures.push_back(picture);
}

}  // namespace

void read_tflite_metadata(const tflite::Model& model, Draft& draft) {
  Bytes copy;
  const size_t size = metadata_bytes(model, copy);
  if (size == 0) return;
  const auto* const bytes = reinterpret_cast<const uint8_t*>(copy.data());
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(size / 4);
  flatbuffers::Verifier verifier(bytes, size, kMaxDepth, max_tables);
  if (!tflite_metadata::VerifyModelMetadataBuffer(verifier)) {
    draft.notes.push_back("the file's metadata is damaged and passed over");
    return;
  }
  const auto* const graphs = tflite_metadata::GetModelMetadata(bytes)->subgraphs();
  if (graphs == nullptr || graphs->size() == 0 || graphs->Get(0)->inputs() == nullptr) return;
  const auto& inputs = *graphs->Get(0)->inputs();
  for (uint32_t i = 0; i < inputs.size() && i < draft.inputs.size(); ++i)
    read_input(*inputs.Get(i), static_cast<int32_t>(i), draft);
}

}  // namespace intaglio::importers
