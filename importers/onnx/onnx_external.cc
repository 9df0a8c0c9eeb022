// Weights that an ONNX file keeps in files beside itself. Its paths are not trusted: a name leads to a plain
// file within the model's own folder, by way of no link that leaves it, or nothing is read.
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>

#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

namespace fs = std::filesystem;
using onnx_file::TensorProto;

uint64_t number_of(const std::string& text, const char* what) {
  uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size())
    fail("the ", what, " of its external data is ", quoted(text), ", which is not a number");
  return value;
}

struct Place {
  std::string location;
  uint64_t offset = 0, length = 0;
  bool has_length = false;
};

Place read_place(const TensorProto& tensor) {
  Place place;
  for (const auto& entry : tensor.external_data) {
    if (entry.key == "location") place.location = entry.value;
    if (entry.key == "offset") place.offset = number_of(entry.value, "offset");
    if (entry.key == "length") place.length = number_of(entry.value, "length");
    place.has_length |= entry.key == "length";
  }
  return place;
}

// The file that a location names, all links followed.
fs::path resolve(const ExternalData& from, const std::string& location) {
  const fs::path path = location;
  const auto outside = [&](const char* why) {
    fail("its external data is in the file ", quoted(location), ", ", why,
         ": only files within the model's folder are read");
  };
  if (location.empty() || location.find('\0') != std::string::npos) outside("which is not a file name");
  if (path.is_absolute() || location[0] == '\\') outside("an absolute path");
  for (const fs::path& part : path)
    if (part == "..") outside("which leads out of a folder");
  // A file that nobody looked into should not choose among all that lies somewhere below.
  if (!from.below && path.lexically_normal().has_parent_path())
    fail("its external data is in the file ", quoted(location),
         ", in a folder of its own; read it with --external-data, or put it beside the network");
  std::error_code error;
  const fs::path root = fs::canonical(from.folder, error);
  if (error) fail("the model's folder ", quoted(from.folder), " cannot be opened: ", error.message());
  fs::path file = fs::canonical(root / path, error);
  if (error)
    fail("its external data ", quoted(location), " cannot be opened: ", error.message(),
         "; it belongs beside the network's file, as the exporter wrote it");
  const fs::path within = file.lexically_relative(root);
  if (within.empty() || *within.begin() == ".." || within.is_absolute())
    outside("a link that leads out of the model's folder");
  if (!fs::is_regular_file(file, error)) outside("which is not a regular file");
  return file;
}

class Loader {
 public:
  Loader(const ExternalData& from, ImportBudget& budget) : from_(from), budget_(budget) {}

  void load(onnx_file::GraphProto& graph) {
    for (TensorProto& tensor : graph.initializer) load(tensor);
    for (auto& node : graph.node) load(node);
  }
  // The constants of a node, and of the graphs that it runs.
  void load(onnx_file::NodeProto& node) {
    for (auto& attribute : node.attribute) {
      if (attribute.t.has()) load(attribute.t.make());
      if (attribute.g.has()) load(attribute.g.make());
    }
  }

 private:
  void load(TensorProto& tensor) {
    if (tensor.data_location != TensorProto::EXTERNAL) return;
    try {
      read(tensor);
    } catch (const ImportError& error) {
      fail("constant ", importers::quoted(tensor.name), ": ", error.what());
    }
  }

  void read(TensorProto& tensor) {
    const Place place = read_place(tensor);
    const fs::path path = resolve(from_, place.location);
    std::error_code error;
    const uint64_t size = fs::file_size(path, error);
    if (error) fail("its external data ", quoted(place.location), " cannot be opened: ", error.message());
    if (place.offset > size || place.length > size - place.offset)
      fail("its external data begins at byte ", place.offset, " and has ", place.length,
           " bytes, but the file ", quoted(place.location), " has ", size, " bytes");
    const uint64_t length = place.has_length ? place.length : size - place.offset;
    if (files_.insert(path.string()).second) budget_.add_file(size);
    budget_.spend_memory(length, "its external data");
    std::string bytes(static_cast<size_t>(length), '\0');
    // No stream: beside one in the same program, fuzzers cannot run under the memory sanitizer.
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
    const auto offset = static_cast<off_t>(place.offset);  // of 32 bits on some machines
    if (!file || static_cast<uint64_t>(offset) != place.offset || fseeko(file.get(), offset, SEEK_SET) != 0 ||
        std::fread(bytes.data(), 1, bytes.size(), file.get()) != bytes.size())
      fail("its external data ", quoted(place.location), " cannot be read");
    tensor.raw_data.set(std::move(bytes));
    tensor.external_data.clear();
    tensor.data_location = TensorProto::DEFAULT;
  }

  const ExternalData& from_;
  ImportBudget& budget_;
  std::set<std::string> files_;  // that were read
};

}  // namespace

void load_external_data(onnx_file::ModelProto& model, const ExternalData& place, ImportBudget& budget) {
  Loader loader(place, budget);
  loader.load(model.graph.make());
  for (auto& function : model.functions)
    for (auto& node : function.node) loader.load(node);
}

}  // namespace intaglio::importers
