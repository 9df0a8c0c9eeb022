// Files of parameters, as other tools keep them: written of a model, compared with each other, and channels taken out as one says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "importers/params/params_prune.h"
#include "tools/json.h"
#include "tools/known_params.h"

namespace intaglio::tools {

struct WrittenParams {
  std::string text;  // of the file
  size_t entries = 0;
};
// A note says where biases and codes of the model are not in the file.
Outcome<WrittenParams> params_of(const LoadedModel& file, ParamsFormat format, const Work& work);

struct PrunedModel {
  FileBytes bytes;
  PruneSummary summary;
  std::vector<std::string> notes;
};
// Takes the channels out of an FP32 model that a prune_record names.
Outcome<PrunedModel> prune(const LoadedModel& file, const ParamsChoice& record);

// How many codes two sets of parameters make different: what a difference of scales comes to.
struct ChangedCodes {
  int64_t changed = 0, of = 0;
};

struct ParamsDifference {
  std::optional<ParamsEntry> a, b;         // none: not there
  size_t channel = 0, channels = 0;        // the one that differs most, and how many do
  double ratio = 1.0;                      // of b's scale there to a's
  std::optional<ChangedCodes> codes = {};  // none where they are not known

  const ParamsEntry& any() const { return a ? *a : *b; }
};
// Differences in the parts that both files can hold. `network`: the FP32 model that both are of, for its weights; may be empty.
Outcome<std::vector<ParamsDifference>> compare_params(const ParamsChoice& a, const ParamsChoice& b,
                                                      const std::string& network, const Work& work);
// "tensor", "input", "weights" or "reader"
const char* role_of(ParamsOf of);
// {differences: [{name, of, a, b, codes: {changed, of}}]}
Json json_of(const std::vector<ParamsDifference>& list);

}  // namespace intaglio::tools
