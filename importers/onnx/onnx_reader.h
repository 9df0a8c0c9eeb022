// An ONNX file's bytes to a draft.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "importers/draft/read_options.h"
#include "importers/onnx/onnx_decomposer.h"
#include "importers/onnx/onnx_file.h"
#include "importers/onnx/onnx_op.h"

namespace intaglio::importers {

inline constexpr int64_t kFirstOpset = 7, kLastOpset = 28;  // that are read

// In a file that `intaglio export-onnx` wrote, metadata of this name say how many bits the multipliers of its int8 sums
// have: the calibrator's, so that the same model comes back.
inline constexpr char kAddBitsKey[] = "intaglio.add_bits";
inline constexpr uint8_t kLeastAddBits = 15, kMostAddBits = 21;  // of AddOptions

// Problems are collected; the draft counts only if there are none.
Draft read_onnx(Span<const uint8_t> bytes, const ReadOptions& options,
                const std::vector<InputConstant>& constants, const std::shared_ptr<ImportBudget>& budget,
                Problems& problems);

// The order in which a graph's nodes run, and which of them the outputs need.

// Indices of the nodes that `outputs` depend on, each behind those that write what it reads. That is the file's order where
// it has this property, as ONNX asks; some tools append nodes. Nodes of a ring stand last.
std::vector<int> needed_in_order(const onnx_file::GraphProto& graph, const std::vector<std::string>& outputs);

// ONNX operators that sample a picture at places that a run computes.

Span<const OnnxDecomposition> onnx_regions_decompositions();

// Inputs of an ONNX file that are constants, because the user says so.

// They become constants of the file. Throws where one is no input, or where its values do not fit it.
void take_onnx_constants(const onnx_file::GraphProto& graph, const std::vector<InputConstant>& given,
                         OnnxFile& file);

// The message about an If whose condition `name` a run computes: of which inputs, and that --constant takes them out of it.
std::string words_of_condition(const onnx_file::GraphProto& graph, const std::string& name);

// Shapes that Squeeze, Unsqueeze and Flatten make, of activations and of constants.

Shape squeezed_shape(OnnxOp& op, const Shape& from);
Shape unsqueezed_shape(OnnxOp& op, const Shape& from);
Shape flattened_shape(OnnxOp& op, const Shape& from);

}  // namespace intaglio::importers
