// Parameters from a file, for an FP32 model: what 'calibrate --params' and 'params import' share.
#pragma once

#include "importers/params/params_table.h"
#include "tools/json.h"
#include "tools/loaded_model.h"
#include "tools/slot_choices.h"
#include "tools/work.h"

namespace intaglio::tools {

std::string params_format_names(bool written = false);
// By its name, or by the end of the file's; a failure says which formats there are.
Outcome<ParamsFormat> params_format(const std::string& name, const std::string& path);

struct ParamsChoice {
  std::string file, format;
  std::string map;  // a file of names
};
// The format of a file that is read: it has to be there.
Outcome<ParamsFormat> params_format_of_file(const ParamsChoice& choice);
// The file, with the names that the map gives; `names`: where the map goes, for messages.
Outcome<ParamsTable> read_named_params(const ParamsChoice& choice, ParamsNameMap* names = nullptr);

// The result of a file of parameters.
struct BakedParams {
  FileBytes bytes;  // the int8 model
  int32_t activations = 0, weight_layers = 0;
  size_t unknown = 0;  // names that the model does not have
  std::string sha256;
};

// {activations, weight_layers, unknown, sha256}
Json json_of(const BakedParams& baked);

// A file's parameters of a model; owns the lists that CalibratorOptions::known points to.
class KnownParamsFile {
 public:
  // Nothing where no file is named. Gives a network in the place of `file` where the file's weights are beyond int8 without a zero
  // point (importers/wide_weights.h), or have a scale for each input. Sums of PPQ's file are as exact as in a quantized network.
  Outcome<std::optional<LoadedModel>> open(const ParamsChoice& choice, const LoadedModel& file,
                                           const Work& work);
  // Finds the tensors of this network, or of one step of it.
  Outcome<Done> resolve(const LoadedModel& file, const Work& work);
  // The nodes that the file leaves in FP32 go to those of `lists`, which `options` points to.
  void set(QuantizationLists& lists, CalibratorOptions& options) const;
  // Says what the file does not have, where samples give it.
  Outcome<Done> note_observed(const LoadedModel& file, const CalibratorOptions& options,
                              const Work& work) const;

  // An int8 model from the file alone. What the file lacks stays FP32 where it does so in the tool that wrote it, which a note
  // says; else it fails with the list of what is missing.
  Outcome<BakedParams> bake(const LoadedModel& file, CalibratorOptions options, const Work& work,
                            const MemoryGoal& goal, const WriteModel& write) const;

 private:
  Outcome<Done> complete(const LoadedModel& file, QuantizationLists& lists, CalibratorOptions& options,
                         const Work& work) const;
  bool keeps_layers(const Model& model, const CalibratorOptions& options) const;

  std::string path_, map_;
  ParamsNameMap names_;
  ParamsTable table_;
  ResolvedParams resolved_;
};

}  // namespace intaglio::tools
