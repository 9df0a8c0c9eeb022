// A network of another format as a model in memory: what 'intaglio import' writes.
#pragma once

#include <string>
#include <vector>

#include "cli/import_options.h"
#include "cli/loaded_model.h"
#include "importers/network_file.h"

namespace intaglio::cli {

struct ImportedNetwork {
  FileBytes bytes;  // of the model's file
  std::vector<std::string> notes;
  ImportCost cost;
};
// It runs: every node has its operator, and a session of it has been measured.
Outcome<ImportedNetwork> import_network(const NetworkFile& network, const ImportOptions& options);

// An FP32 model by its file, or by that of a network, which is imported first. Options of an import are refused where there
// is none. `notes` gets what the import says.
Outcome<LoadedModel> open_or_import(const std::string& path, const ImportChoices& choices,
                                    std::vector<std::string>& notes);

}  // namespace intaglio::cli
