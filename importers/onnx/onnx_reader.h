// An ONNX file's bytes to a draft.
#pragma once

#include "importers/draft/read_options.h"

namespace intaglio::importers {

inline constexpr int64_t kFirstOpset = 7, kLastOpset = 25;  // that are read

// Problems are collected; the draft counts only if there are none.
Draft read_onnx(Span<const uint8_t> bytes, const ReadOptions& options, Problems& problems);

}  // namespace intaglio::importers
