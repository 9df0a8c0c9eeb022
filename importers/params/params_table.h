// Quantization parameters as other tools keep them in a file: scales and zero points by names. One reader and
// one writer a format; what a format means, and what it cannot hold, stands at its name below.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "calibrator/host/system/outcome.h"
#include "intaglio/calibrator.h"

namespace intaglio {

enum class ParamsFormat : uint8_t {
  kTengine,       // "name scale zero_point" a line, of activations: int8, zero points 0
  kTengineUint8,  // the same with codes of 0 to 255
  kNcnn,   // "layer_param_0 multipliers" and "layer multiplier": weights and inputs of layers, no zero points
  kAmct,   // protobuf text: scale_d, offset_d, scale_w of each layer
  kPpq,    // JSON: everything
  kAimet,  // JSON: activations and weights, by names of tensors
  kModel,  // an int8 model: everything; is read alone
};
inline constexpr int32_t kParamsFormatCount = 7;
const char* params_format_name(ParamsFormat format);
// By the end of a file's name; nothing where that says nothing.
std::optional<ParamsFormat> params_format_of(const std::string& path);

// The subject of an entry. A layer is a node with weights: the name is the node's, that of its weights, or of
// its output. kLayerInput may be of any node, and of a later input: "NODE:1".
// kReader is a tensor as one operator alone reads it, quantized a second time: `node` names that operator.
enum class ParamsOf : uint8_t { kTensor, kLayerInput, kLayerWeights, kReader };

// The greatest code of 16 bits; the least is its opposite.
inline constexpr int32_t kMostWideCode = 32767;

struct ParamsEntry {
  ParamsOf of = ParamsOf::kTensor;
  std::string name;           // of the tensor, or of the layer
  std::vector<float> scales;  // one; of weights one for all output channels, or one each
  int32_t zero_point = 0;     // int8: [-128, 127]
  std::string node;   // kTensor of a model: the operator that writes or reads it; kLayerWeights: the weights
  std::string place;  // "line 3" and the like, for messages
  bool is_unfused = false;      // kLayerWeights: of weights before batch normalization went into them
  int32_t lo = -128, hi = 127;  // least and greatest code; of weights -hi is the least
  // kTensor of a file that lists operators: `node` writes it; the tensor whose codes it has, if that is another one.
  bool is_result = false;
  std::string follows = {};
  int32_t input = -1;  // the place of its slot among `node`'s

  int32_t bits() const;                      // the fewest that have codes from lo to hi
  bool is_wide() const { return hi > 127; }  // 9 to 16 bits: zero point 0, and lo at least -hi
  bool has_limits() const {
    return is_wide() || lo > (of == ParamsOf::kLayerWeights ? -127 : -128) || hi < 127;
  }
};

// The readers of a tensor in its own codes, and the scales of a layer's bias.
struct ParamsReader {
  std::string node, tensor;
  std::vector<float> bias_scales;  // empty: it is no bias
};

// CalibrationInfo that owns its texts.
struct ParamsProvenance {
  std::string library_version, method, options;
  uint32_t samples = 0;
  std::array<uint8_t, 32> digest{};

  CalibrationInfo info() const {
    return {
        library_version.c_str(), method.c_str(), options.c_str(), samples, {digest.data(), digest.size()}};
  }
};

// The channels that a record takes out of a layer: outputs of a producer, inputs of a consumer.
struct PrunedLayer {
  std::string name;
  bool is_producer = false;
  std::vector<int32_t> channels;  // ascending, each once; at least one
};

struct ParamsTable {
  std::vector<ParamsEntry> entries;
  std::vector<PrunedLayer> pruned;             // AMCT's prune_record
  std::vector<ParamsReader> readers;           // of a model's
  std::optional<ParamsProvenance> provenance;  // where the file has it and has not been changed since
  std::vector<std::string> notes;              // what was passed over, a sentence each
  // For files that list operators: those that they leave in FP32, and those that they quantize.
  std::vector<std::string> float_operators, quantized_operators;
  bool names_all = true;  // false: what it does not name stays FP32 in its own tool

  // Entries may be added between calls; their names stay. Of kReader: with the operator's name.
  const ParamsEntry* find(ParamsOf of, const std::string& name, const std::string& reader = {}) const;
  // Takes out what is about a tensor, and about those that have its codes.
  void remove(const std::string& tensor);
  // The entry that is about the same.
  const ParamsEntry* find_same(const ParamsEntry& entry) const {
    return find(entry.of, entry.name, entry.of == ParamsOf::kReader ? entry.node : std::string());
  }

 private:
  mutable std::map<std::tuple<ParamsOf, std::string, std::string>, size_t> places_;
  mutable size_t indexed_ = 0;
};

// The end of a layer's own result before an Add that is fused with it, whose tensor the int8 model no longer
// has.
inline constexpr char kSumSuffix[] = "/sum";

// Untrusted text. A failure says which line, name and value, and what to do. `path` is for messages.
Outcome<ParamsTable> read_tengine(const std::string& path, std::string_view text, bool is_uint8);
Outcome<ParamsTable> read_ncnn(const std::string& path, std::string_view text);
Outcome<ParamsTable> read_amct(const std::string& path, std::string_view text);
Outcome<ParamsTable> read_ppq(const std::string& path, std::string_view text);
Outcome<ParamsTable> read_aimet(const std::string& path, std::string_view text);
// Refused: what the format cannot hold, naming the tensor.
Outcome<std::string> write_tengine(const ParamsTable& table, bool is_uint8);
Outcome<std::string> write_ncnn(const ParamsTable& table);
Outcome<std::string> write_amct(const ParamsTable& table);
Outcome<std::string> write_ppq(const ParamsTable& table);
Outcome<std::string> write_aimet(const ParamsTable& table);

Outcome<ParamsTable> read_params(const std::string& path, ParamsFormat format);
Outcome<std::string> write_params(const ParamsTable& table, ParamsFormat format);

// Every int8 activation, and the inputs and weights of every layer, in the order of the nodes. Fails where
// the model has none.
Outcome<ParamsTable> params_of_model(const Model& model, const std::string& path);

// Weights that are not those of the network, rounded by a scale for each output channel.
struct OtherWeights {
  int32_t layer = -1;
  size_t entry = 0;            // of the table
  std::vector<int32_t> codes;  // less a zero point, as the weights lie, where some are beyond int8 so
  std::vector<float> numbers;  // where the file has a scale for each input: theirs
};

// A table's entries in the terms of an FP32 model.
struct ResolvedParams {
  std::vector<KnownParams> known;  // points into the table, or at made_scales
  std::vector<std::vector<float>> made_scales;
  std::vector<std::string> unknown;  // names that the model does not have, each once
  std::vector<std::string> nearest;  // of each of them, the names of the model that are most like it
  std::vector<int32_t> float_nodes;  // that the file leaves in FP32, ascending
  std::vector<std::string> notes;    // what was passed over, a sentence each
  std::vector<OtherWeights> other;   // which take a network made for them
  int32_t weight_layers = 0, activations = 0;
};
// Fails where two entries contradict each other or do not fit the tensor. A layer is also found by the name of its
// PyTorch module (params_layers.h).
Outcome<ResolvedParams> resolve_params(const ParamsTable& table, const Model& model, const std::string& path);

// Names of a file and what they are called in the model: "conv1 /conv1/Conv" a line, with a tab between them where a
// name has blanks; # begins a comment.
using ParamsNameMap = std::map<std::string, std::string>;
Outcome<ParamsNameMap> read_name_map(const std::string& path, std::string_view text);
// Gives the table's entries the model's names; names that no entry has are added to the notes.
void rename_entries(ParamsTable& table, const ParamsNameMap& names, const std::string& path);

// Shared by the readers. Fails unless 2^-40 <= scale <= 2^40; `what` names it.
Outcome<float> checked_scale(double scale, const std::string& what);
// The whole of a text as a number; nothing where it is none, or is not finite.
std::optional<double> number_of(std::string_view text);
// Fails for a name that is there already.
Outcome<Done> add_entry(ParamsTable& table, ParamsEntry entry, const std::string& path);

}  // namespace intaglio
