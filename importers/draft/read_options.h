// The options of a reader, and its limits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "importers/draft/draft.h"

namespace intaglio {

// Dimensions of an input, in the file's own layout.
struct InputShape {
  std::string input;
  std::vector<int32_t> dims;
};

// "IN=OUT": the input IN takes what the output OUT gave in the run before.
using StateWords = std::string;

// The start of a state: one value for all of its elements, or one for each, in the network's own layout.
struct StateStart {
  std::string input;
  std::vector<float> values;
};

// Where the weights that an ONNX file names as others' may be read.
struct ExternalData {
  std::string folder;  // the network's own; empty: they are refused
  bool below = false;  // folders within that one, too
};

struct ReadOptions {
  std::vector<StateWords> states;
  std::vector<StateStart> starts;  // of those that do not begin with zero
  int32_t batch = 1;               // of inputs whose first dimension is open, and of those where it is 1
  std::vector<InputShape> shapes;
  // Tensors of the file that become the outputs, in this order; what only later tensors need is left out. A word is a
  // name, or names with commas between them. Empty: the file's own outputs.
  std::vector<std::string> outputs;
  ExternalData external_data;
  ImportLimits limits;
  // The file of weights (.bin) that stands beside an OpenVINO IR (.xml). It outlives the import.
  Span<const uint8_t> weights;
};

}  // namespace intaglio

namespace intaglio::importers {

inline constexpr size_t kMaxFileNodes = 16384;
inline constexpr size_t kMaxMadeNodes = size_t{1} << 16;  // that a file becomes, before passes
inline constexpr size_t kMaxFileNameBytes = 4096;         // much that is made of a node has its name
inline constexpr size_t kMaxFileEnds = 256;               // inputs, or outputs; the model format's own limit

// An input as the file has it: open dimensions are below 1, with the file's names for them, where it has any.
struct FileInput {
  std::string name;
  Shape dims;
  std::vector<std::string> open_names;
};
// Throws where the user gave a shape for another input, or where dimensions stay open: with the words that give them.
void check_file_inputs(const std::vector<FileInput>& inputs, const ReadOptions& options);
// The shape of one of them: the user's, or the file's with an open batch filled in from the options.
Shape input_shape(const FileInput& input, const ReadOptions& options);
// Throws where a file has none of something or more than `limit`; `what` is plural.
void check_count(size_t count, const char* what, size_t limit);
// The name of a node or a tensor. Throws where it is longer than kMaxFileNameBytes.
const std::string& checked_name(const std::string& name);
// The names in options.outputs, or the file's own where none is given. `known`: what nodes write. Throws where a name is
// none of them, with those that are nearest to it.
std::vector<std::string> chosen_outputs(const ReadOptions& options, const std::vector<std::string>& own,
                                        const std::vector<std::string>& known);
// "--constant x=FILE.npy", which makes an input of so many elements a constant; of one element "--constant x=NUMBER".
std::string as_constant(const std::string& input, int64_t count);
// "; cut the network before it: --outputs a,b", of what a node that cannot be imported reads.
std::string cut_before(const std::vector<std::string>& names);
// Inputs that nothing reads go, where the outputs were chosen.
void drop_unread_inputs(Draft& draft);

// States that the user names: an input of the network takes what one of its outputs gave in the run before.

// The user's words become states of the draft, which then no longer counts their ends among the model's. Throws where
// words name no ends, where the ends differ in shape, type or scale, where an end is named twice, or where no input or
// no output is left.
void join_states(const std::vector<StateWords>& states, const std::vector<StateStart>& starts, Draft& draft);

}  // namespace intaglio::importers

// An input of a file that is the same in each run.

namespace intaglio {

// One value for all of its elements, or one for each, in the network's own layout.
struct InputConstant {
  std::string input;
  std::vector<int32_t> dims;  // those of the values; empty: they are a list, or one number
  std::vector<float> values;
};

}  // namespace intaglio
