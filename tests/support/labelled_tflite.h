// TFLite files whose metadata names a file of labels, and the archive behind them that holds it.
#pragma once

#include "importers/tflite/tflite_metadata_generated.h"
#include "tests/support/picture_files.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test {

inline const std::string kLabels = "cat\ndog\n";

// Metadata whose first output names `file` as its labels; none where it is empty.
inline std::vector<uint8_t> metadata_naming(const std::string& file) {
  flatbuffers::FlatBufferBuilder fbb;
  std::vector<flatbuffers::Offset<tflite_metadata::AssociatedFile>> files;
  files.push_back(tflite_metadata::CreateAssociatedFileDirect(
      fbb, "words.txt", tflite_metadata::AssociatedFileType::DESCRIPTIONS));
  if (!file.empty())
    files.push_back(tflite_metadata::CreateAssociatedFileDirect(
        fbb, file.c_str(), tflite_metadata::AssociatedFileType::TENSOR_AXIS_LABELS));
  const std::vector<flatbuffers::Offset<tflite_metadata::TensorMetadata>> outputs{
      tflite_metadata::CreateTensorMetadataDirect(fbb, 0, nullptr, &files)};
  const std::vector<flatbuffers::Offset<tflite_metadata::SubGraphMetadata>> graphs{
      tflite_metadata::CreateSubGraphMetadataDirect(fbb, nullptr, &outputs)};
  tflite_metadata::FinishModelMetadataBuffer(fbb, tflite_metadata::CreateModelMetadataDirect(fbb, &graphs));
  return {fbb.GetBufferPointer(), fbb.GetBufferPointer() + fbb.GetSize()};
}

// With so many scores, one for each label where it is 2.
inline std::vector<uint8_t> network(const std::string& label_file, int32_t scores = 2) {
  TfliteBuilder builder;
  const int32_t x = builder.tensor("x", kTfliteFloat, {1, scores}),
                y = builder.tensor("y", kTfliteFloat, {1, scores});
  builder.op(kTfliteRelu, {x}, {y});
  builder.metadata("TFLITE_METADATA", metadata_naming(label_file));
  const std::string file = builder.finish({x}, {y});
  return {file.begin(), file.end()};
}

// Two files behind the network, the second one the labels.
// Offsets count from `prefix` bytes into the file.
inline std::vector<uint8_t> with_archive(std::vector<uint8_t> file, uint32_t method = 0, uint32_t flags = 0,
                                         size_t prefix = 0) {
  std::vector<uint8_t> directory;
  for (const auto& [name, text] :
       {std::pair<std::string, std::string>{"words.txt", "a"}, {"names.txt", kLabels}}) {
    const auto here = static_cast<uint32_t>(file.size() - prefix), bytes = static_cast<uint32_t>(text.size()),
               name_bytes = static_cast<uint32_t>(name.size());
    put_number(file, 0x04034b50, 4, false);
    for (int i = 0; i < 7; ++i) put_number(file, 0, 2, false);
    put_number(file, bytes, 4, false);
    put_number(file, bytes, 4, false);
    put_number(file, name_bytes, 2, false);
    put_number(file, 3, 2, false);
    file.insert(file.end(), name.begin(), name.end());
    file.insert(file.end(), {1, 2, 3});
    file.insert(file.end(), text.begin(), text.end());
    put_number(directory, 0x02014b50, 4, false);
    put_number(directory, 0, 4, false);
    put_number(directory, flags, 2, false);
    put_number(directory, method, 2, false);
    put_number(directory, 0, 4, false);
    put_number(directory, 0, 4, false);
    put_number(directory, bytes, 4, false);
    put_number(directory, bytes, 4, false);
    put_number(directory, name_bytes, 2, false);
    for (int i = 0; i < 6; ++i) put_number(directory, 0, 2, false);
    put_number(directory, here, 4, false);
    directory.insert(directory.end(), name.begin(), name.end());
  }
  const auto at = static_cast<uint32_t>(file.size() - prefix),
             bytes = static_cast<uint32_t>(directory.size());
  file.insert(file.end(), directory.begin(), directory.end());
  put_number(file, 0x06054b50, 4, false);
  put_number(file, 0, 4, false);
  put_number(file, 2, 2, false);
  put_number(file, 2, 2, false);
  put_number(file, bytes, 4, false);
  put_number(file, at, 4, false);
  put_number(file, 0, 2, false);
  return file;
}

}  // namespace intaglio::test
