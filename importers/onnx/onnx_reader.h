// An ONNX file's bytes to a draft.
#pragma once

#include "importers/draft/input_constant.h"
#include "importers/draft/read_options.h"

namespace intaglio::importers {

inline constexpr int64_t kFirstOpset = 7, kLastOpset = 28;  // that are read

// In a file that `intaglio export-onnx` wrote, metadata of this name say how many bits the multipliers of its int8 sums
// have: the calibrator's, so that the same model comes back.
inline constexpr char kAddBitsKey[] = "intaglio.add_bits";

// Problems are collected; the draft counts only if there are none.
Draft read_onnx(Span<const uint8_t> bytes, const ReadOptions& options,
                const std::vector<InputConstant>& constants, const std::shared_ptr<ImportBudget>& budget,
                Problems& problems);

}  // namespace intaglio::importers
