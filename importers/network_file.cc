#include "importers/network_file.h"

#include <filesystem>

#include "calibrator/host/system/wording.h"

namespace intaglio {

namespace fs = std::filesystem;

Outcome<NetworkFile> NetworkFile::open(const std::string& path) {
  NetworkFile network;
  network.path_ = path;
  auto bytes = read_file(path, kMaxModelBytes);
  if (!bytes) return bytes.failure();
  network.bytes_ = std::move(*bytes);
  if (!is_openvino_file(network.bytes())) return network;
  const std::string beside = fs::path(path).replace_extension(".bin").string();
  std::error_code error;
  if (fs::file_size(beside, error) == 0 && !error) return network;  // it has no constants
  auto weights = read_file(beside, kMaxModelBytes);
  if (!weights)
    return Failure{weights.message() + "; the weights of an OpenVINO IR lie in a .bin file beside its .xml"};
  network.weights_ = std::move(*weights);
  return network;
}

Outcome<NetworkFile> NetworkFile::of_bytes(const std::string& name, FileBytes bytes,
                                           std::optional<FileBytes> weights) {
  NetworkFile network;
  network.path_ = name;
  network.bytes_ = std::move(bytes);
  if (is_openvino_file(network.bytes()) && !weights)
    return Failure{name + ": the weights of an OpenVINO IR lie in a .bin file; give it with " +
                   option_word("weights")};
  if (weights) network.weights_ = std::move(*weights);
  return network;
}

Outcome<ImportedModel> NetworkFile::import(ImportOptions options, HostArena& memory) const {
  options.external_data.folder = folder();
  options.weights = weights_.span();
  return import_model(bytes(), path_, options, memory);
}

std::string NetworkFile::folder() const {
  const fs::path parent = fs::path(path_).parent_path();
  return parent.empty() ? "." : parent.string();
}

}  // namespace intaglio
