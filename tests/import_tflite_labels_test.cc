// The names of classes that a TFLite file carries behind the network.
#include "importers/tflite/tflite_labels.h"
#include "importers/tflite/tflite_metadata_generated.h"
#include "tests/support/imported.h"
#include "tests/support/picture_files.h"
#include "tests/support/tflite_builder.h"

using namespace intaglio;
using namespace intaglio::test;
namespace metadata = intaglio::tflite_metadata;

namespace {

const std::string kLabels = "cat\ndog\n";

// Metadata whose first output names `file` as its labels; none where it is empty.
std::vector<uint8_t> metadata_naming(const std::string& file) {
  flatbuffers::FlatBufferBuilder fbb;
  std::vector<flatbuffers::Offset<metadata::AssociatedFile>> files;
  files.push_back(
      metadata::CreateAssociatedFileDirect(fbb, "words.txt", metadata::AssociatedFileType::DESCRIPTIONS));
  if (!file.empty())
    files.push_back(metadata::CreateAssociatedFileDirect(fbb, file.c_str(),
                                                         metadata::AssociatedFileType::TENSOR_AXIS_LABELS));
  const std::vector<flatbuffers::Offset<metadata::TensorMetadata>> outputs{
      metadata::CreateTensorMetadataDirect(fbb, 0, nullptr, &files)};
  const std::vector<flatbuffers::Offset<metadata::SubGraphMetadata>> graphs{
      metadata::CreateSubGraphMetadataDirect(fbb, nullptr, &outputs)};
  metadata::FinishModelMetadataBuffer(fbb, metadata::CreateModelMetadataDirect(fbb, &graphs));
  return {fbb.GetBufferPointer(), fbb.GetBufferPointer() + fbb.GetSize()};
}

std::vector<uint8_t> network(const std::string& label_file) {
  TfliteBuilder builder;
  const int32_t x = builder.tensor("x", kTfliteFloat, {1, 2}), y = builder.tensor("y", kTfliteFloat, {1, 2});
  builder.op(kTfliteRelu, {x}, {y});
  builder.metadata("TFLITE_METADATA", metadata_naming(label_file));
  const std::string file = builder.finish({x}, {y});
  return {file.begin(), file.end()};
}

// Two files behind the network, the second one the labels.
std::vector<uint8_t> with_archive(std::vector<uint8_t> file, uint32_t method = 0) {
  std::vector<uint8_t> directory;
  for (const auto& [name, text] :
       {std::pair<std::string, std::string>{"words.txt", "a"}, {"names.txt", kLabels}}) {
    const auto here = static_cast<uint32_t>(file.size()), bytes = static_cast<uint32_t>(text.size()),
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
    put_number(directory, 0, 2, false);
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
  const auto at = static_cast<uint32_t>(file.size()), bytes = static_cast<uint32_t>(directory.size());
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

auto labels_of(const std::vector<uint8_t>& file) {
  return importers::tflite_labels({file.data(), file.size()});
}

bool says(const std::vector<uint8_t>& file, const std::string& part) {
  const auto labels = labels_of(file);
  return !labels && labels.message().find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the file that the metadata names is found behind the network") {
  const auto labels = labels_of(with_archive(network("names.txt")));
  REQUIRE_MESSAGE(labels, labels.message());
  REQUIRE(*labels);
  CHECK(std::string((*labels)->begin(), (*labels)->end()) == kLabels);
  const auto none = labels_of(network(""));
  REQUIRE(none);
  CHECK_FALSE(*none);
}

TEST_CASE("archives without it, packed, or cut are refused by a message") {
  CHECK(says(with_archive(network("other.txt")),
             "names the label file other.txt, and the file does not hold it"));
  CHECK(says(with_archive(network("names.txt"), 8), "its label file names.txt is compressed"));
  const std::vector<uint8_t> plain = network("names.txt"), whole = with_archive(plain);
  for (size_t size = plain.size(); size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(says({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)},
               "archive behind the network is damaged"));
  }
  CHECK(says({1, 2, 3}, "no whole TFLite file"));
  // Any one byte of the archive changed: an answer or a message, never a read past the end.
  for (size_t at = plain.size(); at < whole.size(); ++at) {
    std::vector<uint8_t> changed = whole;
    changed[at] = 0xff;
    (void)labels_of(changed);
  }
}
