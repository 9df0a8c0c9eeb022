// A model as sources of a firmware project: what a program needs to start it, run it and test itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/c_sources.h"
#include "tools/frames.h"
#include "tools/json.h"
#include "tools/loaded_model.h"

namespace intaglio::tools {

struct ExportCChoice {
  Target target;
  std::string prefix = "net";
  std::string
      frame;  // that the sample takes (frame_of); empty: of the size and colours of the model's picture
  bool planned = false;  // the session is planned here
};

struct ExportedC {
  std::vector<TextFile> files;
  SessionNeeds needs;  // of a session on the target, without a fast memory
  size_t fast_bytes = 0;
  size_t model_bytes = 0;
  std::optional<size_t> plan_bytes;  // where it was planned
  std::optional<ModelFrame> frame;
};

// Every exported name is PREFIX_..., and in capitals for macros: none of them may be the library's or the compiler's.
Outcome<Done> check_prefix(const std::string& name);

Outcome<ExportedC> export_c(const LoadedModel& file, const ExportCChoice& choice);

struct WrittenSources {
  std::vector<std::string> written, kept;  // names; those that stay as they are, since somebody changed them
};
// Looks at all files before the first is written. Only what nobody changed is replaced. `option` names the folder in messages.
Outcome<WrittenSources> write_sources(const std::string& folder, const ExportCChoice& choice,
                                      const std::vector<TextFile>& files, const Work& work,
                                      const std::string& option = "-o");

// {target, files, kept, model_bytes, plan_bytes, memory_bytes, persistent_bytes, ...}: see `export-c --json`.
Json json_of(const ExportedC& made, const ExportCChoice& choice, const WrittenSources& sources);

}  // namespace intaglio::tools
