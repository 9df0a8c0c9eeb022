// An OpenVINO IR to a draft.
#pragma once

#include "importers/draft/read_options.h"

namespace intaglio::importers {

// Whether the bytes look like such a file: XML, or its beginning.
bool is_openvino(Span<const uint8_t> bytes);

// `bytes` are the .xml file, options.weights the .bin file. Problems are collected; the draft counts only if there are none.
Draft read_openvino(Span<const uint8_t> bytes, const ReadOptions& options,
                    const std::shared_ptr<ImportBudget>& budget, Problems& problems);

}  // namespace intaglio::importers
