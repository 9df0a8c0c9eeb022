// A model between a foreign file and a Graph: owned, easy to change, with operators that passes fold away.
#pragma once

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "importers/draft/import_budget.h"
#include "importers/draft/import_error.h"
#include "intaglio/model.h"

namespace intaglio {
class Arena;
struct Graph;
}  // namespace intaglio

namespace intaglio::importers {

using Shape = std::vector<int32_t>;
using Permutation = std::vector<int32_t>;  // out[i] = in[permutation[i]], as Transpose has it

// Operators of the draft alone. A kBatchNorm that is left when the passes are through is an error.
inline constexpr Op kBatchNorm{0x8000};  // inputs: x (channels last), gamma, beta, mean, variance; `epsilon`
// SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND of pictures, [height, width] each: the options are
// StridedSlice's, whose strides are the block's sides, begin and pads_after what is padded first, or cropped last.
inline constexpr Op kSpaceToBatch{0x8001};
inline constexpr Op kBatchToSpace{0x8002};

struct DraftTensor {
  std::string name;  // as the file has it; made unique at the end
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<float> scales;  // empty: not quantized. Of an FP32 constant: the grid that its values lie on
  int32_t zero_point = 0;
  int32_t axis = -1;  // of the scales; -1: one for all
  bool constant = false;
  bool is_of_file =
      false;  // a value of the file, and no step on the way to one, which may have its name, too
  std::vector<uint8_t> data;  // of a constant

  // The same codes for the same reals; FP32 has none.
  bool same_quantization(const DraftTensor& other) const {
    return dtype == other.dtype && (dtype == DType::kF32 || (scales == other.scales && axis == other.axis &&
                                                             zero_point == other.zero_point));
  }
};

struct DraftNode {
  Op op = Op::kNone;
  std::string name;
  std::string source;           // the file's own operator, for messages
  std::vector<int32_t> inputs;  // tensor indices; -1: absent
  std::vector<int32_t> outputs;
  NodeOptions options;              // the operator's; its lists are the draft's (Draft::list)
  std::vector<int32_t> pads_after;  // kPad, kSpaceToBatch, kBatchToSpace
  float epsilon = 0.0f;             // kBatchNorm

  // Another operator, whose options have their defaults.
  void become(Op other);

  int32_t input(size_t i = 0) const { return i < inputs.size() ? inputs[i] : -1; }
  int32_t output() const { return outputs[0]; }
};

struct DraftNormStatistics {
  int32_t tensor = -1;
  std::vector<float> mean, deviation;
};

// The file's recipe of an input that takes pictures: value = (pixel - mean) / deviation.
struct FilePicture {
  int32_t input = 0;                   // index into the model's inputs
  std::vector<float> mean, deviation;  // one number, or one a channel; empty: the file does not say
  bool is_named = false;               // the file calls it a picture
  bool is_uint8 = false;               // its numbers are the pixels
};

// A state of a network. Passes see its ends among the draft's inputs and outputs, at these places.
struct DraftState {
  size_t input = 0, output = 0;
  std::vector<uint8_t> initial;  // of the input's type; empty: zero
};

struct Draft {
  Draft() = default;
  Draft(Draft&&) = default;  // not copied: options point into `lists`
  Draft& operator=(Draft&&) = default;

  // References to tensors and nodes outlive the adding of others.
  std::deque<DraftTensor> tensors;
  std::deque<DraftNode> nodes;  // every tensor is written before it is read
  std::vector<int32_t> inputs, outputs;
  std::vector<int32_t> nhwc_inputs;  // those that the pass make_inputs_nhwc has turned, each once
  std::vector<DraftState> states;
  int32_t time_axis = -1;  // of the first input, whose rows become steps; -1: it is taken as a whole
  std::vector<DraftNormStatistics> norm_statistics;
  std::vector<FilePicture> pictures;
  std::vector<std::string> notes;
  // Bits of int8 sums (AddOptions). Their scales come with the file: as exact as Add can be.
  uint8_t add_bits = 20;
  std::deque<std::vector<int32_t>> lists;  // of the nodes' options; none is changed, none goes away
  std::shared_ptr<ImportBudget> budget = std::make_shared<ImportBudget>();  // of the whole import

  // A list for a node's options, which lives as long as the draft.
  Span<const int32_t> list(std::vector<int32_t> values) {
    lists.push_back(std::move(values));
    return {lists.back().data(), lists.back().size()};
  }

  // The tensor's number.
  int32_t put(DraftTensor tensor) {
    tensors.push_back(std::move(tensor));
    return static_cast<int32_t>(tensors.size()) - 1;
  }

  // Checked: an index that does not exist ends the import with an "internal error".
  DraftTensor& tensor(int32_t i) { return tensors.at(static_cast<size_t>(i)); }
  const DraftTensor& tensor(int32_t i) const { return tensors.at(static_cast<size_t>(i)); }
  DraftNode& node(int32_t i) { return nodes.at(static_cast<size_t>(i)); }
  const DraftNode& node(int32_t i) const { return nodes.at(static_cast<size_t>(i)); }
};

// --- shapes -----------------------------------------------------------------------------------------

inline std::vector<int32_t> to_vector(Span<const int32_t> list) { return {list.begin(), list.end()}; }

// The dimensions' product; the largest int64_t where it is above that: a file's shape may say anything.
int64_t elements(const Shape& shape);
// Those of one index of the axis; 1 where the axis is -1.
size_t elements_behind(const Shape& shape, int32_t axis);
// A single number has no axis in a file, and one in a model.
inline Shape at_least_1d(const Shape& shape) { return shape.empty() ? Shape{1} : shape; }
// Throws unless the model format can hold a tensor of this shape.
void check_shape(const Shape& shape, DType dtype);
Shape permuted(const Shape& shape, const Permutation& permutation);
Permutation inverse(const Permutation& permutation);
bool is_identity(const Permutation& permutation);
// Whether a transpose leaves every element at its place: only axes of size 1 move.
bool moves_no_data(const Shape& shape, const Permutation& permutation);
inline const Permutation kToNhwc{0, 2, 3, 1};  // NCHW to NHWC
inline const Permutation kToNchw{0, 3, 1, 2};

// --- building ---------------------------------------------------------------------------------------

// What new nodes belong to: the draft that they go into, their name, and the file's own operator, for messages.
struct Origin {
  Draft& draft;
  std::string name, source;

  Origin named(const std::string& other) const { return {draft, other, source}; }
  Origin part(const std::string& suffix) const { return named(name + suffix); }
};

int32_t add_activation(Draft& draft, const std::string& name, DType dtype, const Shape& shape);
// An activation with the type and quantization of another.
int32_t add_activation_like(Draft& draft, const std::string& name, int32_t like, const Shape& shape);
int32_t add_constant_bytes(Draft& draft, const std::string& name, DType dtype, const Shape& shape,
                           std::vector<uint8_t> data);
template <typename T>
int32_t add_constant(Draft& draft, const std::string& name, DType dtype, const Shape& shape,
                     const std::vector<T>& values) {
  std::vector<uint8_t> data(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(data.data(), values.data(), data.size());
  return add_constant_bytes(draft, name, dtype, shape, std::move(data));
}
// A constant's elements; T is its element type.
template <typename T>
std::vector<T> values_of(const DraftTensor& tensor) {
  std::vector<T> values(tensor.data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), values.size() * sizeof(T));
  return values;
}
template <typename T>
void set_values(DraftTensor& tensor, const std::vector<T>& values) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(values.data());
  tensor.data.assign(bytes, bytes + values.size() * sizeof(T));
}
// The elements of a constant in the order of the permuted shape.
std::vector<uint8_t> permuted_data(const std::vector<uint8_t>& data, size_t element_bytes, const Shape& shape,
                                   const Permutation& permutation);

// The new node stands at the end.
DraftNode& add_node(const Origin& at, Op op, std::vector<int32_t> inputs, int32_t output);
// Node and output tensor at once; `input` may already have the wanted shape or order, then it is returned.
int32_t add_reshape(const Origin& at, int32_t input, const Shape& shape);
int32_t add_transpose(const Origin& at, int32_t input, const Permutation& permutation);

// The constant, or a new one, with the axes in the order of the permutation.
int32_t add_permuted_constant(Draft& draft, int32_t constant, const Permutation& permutation);
// The elements of x from `begin` on, a step apart, as many as `shape` has.
int32_t add_slice(const Origin& at, int32_t x, std::vector<int32_t> begin, std::vector<int32_t> strides,
                  const Shape& shape);
void add_slice_into(const Origin& at, int32_t x, std::vector<int32_t> begin, std::vector<int32_t> strides,
                    int32_t y);  // the result is y
// y: x with `value` around it, as often as `before` and `after` say of each axis.
void add_pad(const Origin& at, int32_t x, std::vector<int32_t> before, std::vector<int32_t> after, int32_t y,
             float value = 0.0f);

// --- changing ---------------------------------------------------------------------------------------

// Who writes and who reads each tensor; made anew after nodes were added or removed.
struct Links {
  explicit Links(const Draft& draft);

  std::vector<int32_t> producer;                // of a tensor: node, or -1
  std::vector<std::vector<int32_t>> consumers;  // of a tensor: nodes, one entry for each use
  std::vector<bool> is_output;                  // of the model

  int32_t producer_of(int32_t tensor) const {
    return tensor < 0 ? -1 : producer[static_cast<size_t>(tensor)];
  }
  // Who writes a tensor of `draft`; nullptr: nobody, or none of this operator.
  template <typename D>
  auto* writer(D& draft, int32_t tensor) const {
    const int32_t index = producer_of(tensor);
    return index < 0 ? nullptr : &draft.node(index);
  }
  const DraftNode* writer(const Draft& draft, int32_t tensor, Op op) const {
    const DraftNode* const node = writer(draft, tensor);
    return node != nullptr && node->op == op ? node : nullptr;
  }
  const std::vector<int32_t>& consumers_of(int32_t tensor) const {
    return consumers[static_cast<size_t>(tensor)];
  }
  // Read exactly once, and by a node rather than by the model's caller.
  bool single_use(int32_t tensor) const {
    return consumers_of(tensor).size() == 1 && !is_output[static_cast<size_t>(tensor)];
  }
};

// Lets everyone who reads `from` read `to`. As a model output `to` takes the name over; false, and nothing
// changed, where `to` cannot be one.
bool replace_tensor(Draft& draft, int32_t from, int32_t to);
// Removes nodes that nothing needs.
void remove_dead_nodes(Draft& draft);
bool is_model_input(const Draft& draft, int32_t tensor);
bool is_model_output(const Draft& draft, int32_t tensor);

// "node 'x' (Conv)"
std::string label(const DraftNode& node);

// The node of a choice, `inputs` being the condition and what it chooses between. Infinities in constants become the largest
// floats, with a note: what comes of them (a Softmax of masked scores) stays finite, as calibration asks for.
DraftNode& add_where(const Origin& at, const std::vector<int32_t>& inputs, int32_t output);

// The stand-in for an infinity, with which exporters mask: e to the power of its negative is 0 as well. Many of them have a finite sum, also with the largest
// float, which they do not change.
inline constexpr float kMasked = 0x1p100f;

// A draft as text, to be read by people: one line an input, a node and an output.
//
//   input %0 'image' f32 [1, 32, 32, 3]
//   %4 'relu' f32 [1, 16, 16, 8] = Conv2D(%0, %1 f32 [8, 3, 3, 3] constant, ...) window 3x3 stride 2x2  # 'conv' (Conv)
//   output %4 'relu'
std::string draft_text(const Draft& draft);

// The end of an import: a draft with runtime operators alone becomes a graph in the caller's memory. Nodes that no pass could
// turn into a runtime operator, and values that no model may hold, go to `problems`; it is complete only if there are none.
Graph draft_to_graph(Draft& draft, Arena& arena, Problems& problems);

}  // namespace intaglio::importers
