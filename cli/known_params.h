// Parameters from a file, for an FP32 model: what 'calibrate --params' and 'params import' share.
#pragma once

#include "cli/loaded_model.h"
#include "cli/quantization_options.h"
#include "importers/params/params_table.h"

namespace intaglio::cli {

std::string params_format_names(bool written = false);
// By its name, or by the end of the file's; a failure says which formats there are.
Outcome<ParamsFormat> params_format(const std::string& name, const std::string& path);

struct ParamsArguments {
  std::string file, format;
  std::string map;  // a file of names
};
// Of a file that is read: it has to be there.
Outcome<ParamsFormat> params_format_of_file(const ParamsArguments& arguments);
// `of`: which file it is about, for the help. `written`: it is one to write; models are only read.
void add_params_format_option(CLI::App& app, const std::string& name, const std::string& of,
                              std::string& format, bool written = false);

void add_params_map_option(CLI::App& app, const std::string& name, std::string& map);

// The file, with the names that the map gives; `names`: where the map goes, for messages.
Outcome<ParamsTable> read_named_params(const ParamsArguments& arguments, ParamsNameMap* names = nullptr);

// What a file says of a model; owns what CalibratorOptions::known points to.
class KnownParamsFile {
 public:
  // Notes are printed. Nothing where no file is named.
  Outcome<Done> read(const ParamsArguments& arguments, const LoadedModel& file);
  void set(CalibratorOptions& options) const {
    options.known = {resolved_.known.data(), resolved_.known.size()};
  }

  // Bakes from the file alone and writes `output`. Fails with the list of what is missing.
  Outcome<Done> bake(const LoadedModel& file, CalibratorOptions options, const OutputFile& output, bool json,
                     const MemoryGoal& goal = MemoryGoal::layer_by_layer()) const;

 private:
  Outcome<Done> check_complete(const LoadedModel& file, const CalibratorOptions& options) const;

  std::string path_;
  ParamsTable table_;
  ResolvedParams resolved_;
};

}  // namespace intaglio::cli
