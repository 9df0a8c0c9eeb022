// The metadata of a TFLite file about its inputs: which are pictures, and how pixels become values.
#include <cmath>
#include <cstring>
#include <string>

#include "importers/tflite/tflite_generated.h"
#include "importers/tflite/tflite_metadata_generated.h"
#include "importers/tflite/tflite_reader.h"

namespace intaglio::importers {

namespace {

using Bytes = std::vector<uint64_t>;  // tables are read where they stand, which needs an aligned start

constexpr const char* kMetadataEntry = "TFLITE_METADATA";
constexpr flatbuffers::uoffset_t kMaxMetadataDepth = 16;

// An aligned copy of the buffer, and its size; 0 without one.
size_t metadata_bytes(const tflite::Model& model, Bytes& copy) {
  if (model.metadata() == nullptr || model.buffers() == nullptr) return 0;
  for (const tflite::Metadata* const entry : *model.metadata()) {
    if (entry->name() == nullptr || entry->name()->str() != kMetadataEntry) continue;
    if (entry->buffer() >= model.buffers()->size()) return 0;
    const auto* const data = model.buffers()->Get(entry->buffer())->data();
    if (data == nullptr || data->size() == 0) return 0;
    copy.resize(data->size() / sizeof(uint64_t) + 1);
    std::memcpy(copy.data(), data->data(), data->size());
    return data->size();
  }
  return 0;
}

std::vector<float> numbers_of(const flatbuffers::Vector<float>* values) {
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
      picture.mean = numbers_of(options->mean());
      picture.deviation = numbers_of(options->std());
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

// The metadata of the first graph; nullptr without. `copy` outlives it. `is_damaged`: there is some, and it is passed over.
const tflite_metadata::SubGraphMetadata* metadata_of(const tflite::Model& model, Bytes& copy,
                                                     bool& is_damaged) {
  const size_t size = metadata_bytes(model, copy);
  if (size == 0) return nullptr;
  const auto* const bytes = reinterpret_cast<const uint8_t*>(copy.data());
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(size / 4);
  flatbuffers::Verifier verifier(bytes, size, kMaxMetadataDepth, max_tables);
  is_damaged = !tflite_metadata::VerifyModelMetadataBuffer(verifier);
  if (is_damaged) return nullptr;
  const auto* const graphs = tflite_metadata::GetModelMetadata(bytes)->subgraphs();
  return graphs == nullptr || graphs->size() == 0 ? nullptr : graphs->Get(0);
}

}  // namespace

void read_tflite_metadata(const tflite::Model& model, Draft& draft) {
  Bytes copy;
  bool is_damaged = false;
  const auto* const graph = metadata_of(model, copy, is_damaged);
  if (is_damaged) draft.notes.push_back("the file's metadata is damaged and passed over");
  if (graph == nullptr || graph->inputs() == nullptr) return;
  const auto& inputs = *graph->inputs();
  for (uint32_t i = 0; i < inputs.size() && i < draft.inputs.size(); ++i)
    read_input(*inputs.Get(i), static_cast<int32_t>(i), draft);
}

std::string label_file_name(const tflite::Model& model) {
  Bytes copy;
  bool is_damaged = false;
  const auto* const graph = metadata_of(model, copy, is_damaged);
  if (graph == nullptr || graph->outputs() == nullptr || graph->outputs()->size() == 0) return "";
  const auto* const files = graph->outputs()->Get(0)->associated_files();
  if (files == nullptr) return "";
  for (const auto* const file : *files) {
    const auto type = file->type();
    const bool names_classes = type == tflite_metadata::AssociatedFileType::TENSOR_AXIS_LABELS ||
                               type == tflite_metadata::AssociatedFileType::TENSOR_VALUE_LABELS;
    if (names_classes && file->name() != nullptr) return file->name()->str();
  }
  return "";
}

namespace {

using Found = std::optional<Span<const uint8_t>>;

// Bytes past the end read as 0, so that no record is found there.
uint32_t little_endian(Span<const uint8_t> file, size_t at, size_t bytes) {
  if (at > file.size || bytes > file.size - at) return 0;
  uint32_t value = 0;
  for (size_t i = bytes; i-- > 0;) value = value << 8 | file[at + i];
  return value;
}

Failure damaged(const std::string& name) {
  return {"its label file " + shown(name) + " cannot be read: the archive behind the network is damaged"};
}

// PKWARE's APPNOTE 6.3: the end record (4.3.16) leads to the directory (4.3.12), and that to each file (4.3.7). The directory
// lies before the end record. Where it says another place, offsets count from the archive's own start: by the difference.
Outcome<Found> file_in_archive(Span<const uint8_t> file, const std::string& name) {
  constexpr uint32_t kEnd = 0x06054b50, kEntry = 0x02014b50, kFile = 0x04034b50;
  constexpr size_t kEndBytes = 22, kEntryBytes = 46, kFileBytes = 30, kMostComment = 65535;
  constexpr uint32_t kEncrypted = 1;  // bit 0 of the flags
  const Failure none{"its metadata names the label file " + shown(name) +
                     ", and the file does not hold it; give the text file itself"};
  if (file.size < kEndBytes) return none;
  size_t end = file.size - kEndBytes;
  const size_t first = end > kMostComment ? end - kMostComment : 0;
  while (end > first && little_endian(file, end, 4) != kEnd) --end;
  if (little_endian(file, end, 4) != kEnd) return none;
  const uint32_t count = little_endian(file, end + 10, 2);
  const size_t directory_bytes = little_endian(file, end + 12, 4), stated = little_endian(file, end + 16, 4);
  if (directory_bytes > end || stated > end - directory_bytes) return damaged(name);
  size_t at = end - directory_bytes;
  const size_t start_of_all = at - stated;
  for (uint32_t i = 0; i < count; ++i) {
    const size_t name_bytes = little_endian(file, at + 28, 2);
    if (little_endian(file, at, 4) != kEntry || at + kEntryBytes + name_bytes > file.size)
      return damaged(name);
    const bool is_it =
        name_bytes == name.size() && std::memcmp(file.data + at + kEntryBytes, name.data(), name_bytes) == 0;
    if (!is_it) {
      at += kEntryBytes + name_bytes + little_endian(file, at + 30, 2) + little_endian(file, at + 32, 2);
      continue;
    }
    const size_t bytes = little_endian(file, at + 20, 4),
                 here = start_of_all + little_endian(file, at + 42, 4);
    if ((little_endian(file, at + 8, 2) & kEncrypted) != 0)
      return Failure{"its label file " + shown(name) +
                     " is encrypted, which is not read; unpack it (unzip) and give the text file"};
    if (little_endian(file, at + 10, 2) != 0)
      return Failure{"its label file " + shown(name) +
                     " is compressed, which is not read; unpack it (unzip) and give the text file"};
    if (little_endian(file, here, 4) != kFile) return damaged(name);
    const size_t start =
        here + kFileBytes + little_endian(file, here + 26, 2) + little_endian(file, here + 28, 2);
    if (start > file.size || bytes > file.size - start) return damaged(name);
    return Found({file.data + start, bytes});
  }
  return none;
}

}  // namespace

Outcome<Found> tflite_labels(Span<const uint8_t> file) {
  flatbuffers::Verifier verifier(file.data, file.size, 64, 1u << 26);
  if (!is_tflite(file) || !tflite::VerifyModelBuffer(verifier)) return Failure{"is no whole TFLite file"};
  const std::string name = label_file_name(*tflite::GetModel(file.data));
  return name.empty() ? Outcome<Found>(Found()) : file_in_archive(file, name);
}

}  // namespace intaglio::importers
