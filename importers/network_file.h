// A network of another format on disk, with what its format keeps in files beside it.
#pragma once

#include <optional>
#include <string>

#include "calibrator/host/system/files.h"
#include "importers/import.h"

namespace intaglio {

class NetworkFile {
 public:
  // The .bin beside an OpenVINO IR is read as well.
  static Outcome<NetworkFile> open(const std::string& path);
  // From bytes in memory; messages call them `name`. `weights`: of an OpenVINO IR.
  static Outcome<NetworkFile> of_bytes(const std::string& name, FileBytes bytes,
                                       std::optional<FileBytes> weights);

  // `options` need not say where external data and weights are: they are looked for beside the file.
  Outcome<ImportedModel> import(ImportOptions options, HostArena& memory) const;

  const std::string& path() const { return path_; }
  Span<const uint8_t> bytes() const { return bytes_.span(); }
  // The folder that the file is in; "." where its path names none.
  std::string folder() const;

 private:
  std::string path_;
  FileBytes bytes_, weights_;
};

}  // namespace intaglio
