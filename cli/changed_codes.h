// How many codes two sets of parameters make different: what a difference of scales comes to.
#pragma once

#include <optional>

#include "importers/params/params_table.h"
#include "tools/loaded_model.h"

namespace intaglio::cli {

struct ChangedCodes {
  int64_t changed = 0, of = 0;
};

// The codes among an activation's 256 by `a` whose number has another code by `b`, or none.
ChangedCodes changed_activation_codes(const ParamsEntry& a, const ParamsEntry& b);

// Where the codes of weights come from: an int8 model's own, or an FP32 model's weights rounded by a table's scales.
struct WeightSource {
  const Model* int8 = nullptr;
  const Model* fp32 = nullptr;

  // The name of the layer that an entry is about; empty where neither model has it.
  std::vector<int8_t> codes(const ParamsEntry& entry) const;
};

// Nothing where a side has no weights, or other ones than the other side.
std::optional<ChangedCodes> changed_weight_codes(const ParamsEntry& a, const WeightSource& of_a,
                                                 const ParamsEntry& b, const WeightSource& of_b);

}  // namespace intaglio::cli
