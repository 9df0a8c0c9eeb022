// A layer of an OpenVINO IR as a handler sees it, and the ONNX nodes that it becomes.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "importers/draft/op_traits.h"
#include "importers/onnx/onnx_attributes.h"
#include "importers/openvino/ir_file.h"

namespace intaglio::importers {

// A variable of the file: the ends that stand for it, and what it begins with.
struct IrState {
  std::string input, output;
  std::vector<float> first;  // empty: zero
};

// State that the graphs of a file share, a network's and those of bodies.
struct IrShared {
  std::set<std::string> taken;
  std::map<std::string, int64_t> last_numbers;  // of names that unique() had to number
  size_t nodes = 0;                             // that went into the graphs so far
  ImportBudget* budget = nullptr;
  std::vector<std::string> notes;  // what the user should know of the import
};

// The file, or a layer's body, and the ONNX graph that is made of it.
struct IrGraph {
  std::vector<IrLayer> layers;
  Span<const uint8_t> weights;  // the .bin file
  onnx_file::GraphProto* graph = nullptr;
  std::map<std::pair<int32_t, int32_t>, std::string>
      names;  // of outputs (layer, port) that have a name by now
  std::shared_ptr<IrShared> shared = std::make_shared<IrShared>();
  std::set<int32_t> failed;                                      // layers with a problem
  std::map<std::pair<int32_t, IrShape>, std::string> constants;  // of Const layers, in a shape
  std::map<std::string, IrState> states;                         // by the variable's name

  std::string unique(std::string name);
  // Throws where so many numbers more than those of the graph's constants would be more than a model may have.
  void check_room(uint64_t count, size_t bytes_each) const;
  void count_constant(uint64_t count, size_t bytes_each);  // they go into the graph
};

// Numbers of a constant, as far as a handler looks at them.
struct IrConstant {
  IrShape shape;
  std::vector<double> values;
};

class IrOp {
 public:
  IrOp(IrGraph& file, int32_t layer);

  const IrLayer& layer() const { return layer_; }
  bool has_input(size_t i) const { return i < layer_.inputs.size() && layer_.inputs[i].layer >= 0; }
  size_t input_count() const { return layer_.inputs.size(); }
  void check_inputs(size_t least, size_t most) const;
  const IrShape& input_shape(size_t i) const;
  const IrShape& output_shape(size_t i = 0) const;
  bool is_read(size_t i) const;  // whether a layer reads output i
  IrSource source(size_t i) const { return layer_.inputs.at(i); }
  const IrLayer& writer(size_t i) const {
    return file_.layers[static_cast<size_t>(layer_.inputs.at(i).layer)];
  }

  // ONNX's name of an input; a constant gets into the graph by that. Throws ReadsFailed where its layer has a problem.
  std::string input(size_t i);
  std::string output(size_t i = 0);
  std::string name_of(const IrSource& source);
  // Numbers of an input that is a constant, also behind layers that keep them in their order (Convert, Reshape, Squeeze,
  // Unsqueeze); throws where it is none.
  IrConstant constant(size_t i) const;
  std::optional<IrConstant> find_constant(const IrSource& source) const;
  // Whether it is one; its numbers are not looked at.
  bool is_constant(const IrSource& source) const { return constant_layer(source) >= 0; }
  std::vector<int64_t> whole_numbers(size_t i) const;
  int64_t whole_number(size_t i) const;  // of a constant with one element, as real_number()
  float real_number(size_t i) const;

  // Attributes; each must be asked for.
  std::string word(const char* name, const char* otherwise) const;
  int64_t integer(const char* name, int64_t otherwise) const;
  double real(const char* name, double otherwise) const;
  bool flag(const char* name, bool otherwise) const;
  std::vector<int64_t> integers(const char* name) const;
  void ignore(const char* name) const { read_.insert(name); }
  // Throws unless the attribute is absent or has one of these values.
  void expect(const char* name, std::initializer_list<const char*> values) const;
  void check_all_read() const;

  // Building. Without a name the result is the layer's output.
  using Attributes = OnnxAttributes;
  std::string add(const char* op_type, const std::vector<std::string>& inputs,
                  const Attributes& attributes = {}, const std::string& output = {}, const char* domain = "");
  // The result goes to another node of this layer.
  std::string add_inner(const char* op_type, const std::vector<std::string>& inputs,
                        const Attributes& attributes = {});
  std::string reshaped(const std::string& x, const IrShape& shape);
  std::string transposed(const std::string& x, const std::vector<int64_t>& order);
  std::string with_axis(const std::string& x, int64_t axis);  // of one element, at this place
  onnx_file::NodeProto& last_node();                          // what add() made last; for further outputs
  void alias(const std::string& name, size_t i = 0);          // the output is what this name stands for
  std::string floats(const std::vector<float>& values, const IrShape& shape);
  std::string number(float value) { return floats({value}, {}); }
  std::string integers_constant(const std::vector<int64_t>& list);
  // A constant's bytes with another shape.
  std::string reshaped_constant(const IrSource& source, const IrShape& shape);

  IrGraph& file() { return file_; }

 private:
  int32_t constant_layer(const IrSource& source) const;  // the Const that constant() reads; -1: none
  std::optional<IrConstant> find_constant(const IrSource& source, int steps) const;
  std::optional<IrConstant> numbers_of_shapes(const IrSource& source, int steps) const;

  IrGraph& file_;
  int32_t index_;
  const IrLayer& layer_;
  mutable std::set<std::string> read_;
};

struct IrOperator {
  const char* type;
  void (*import)(IrOp& op);
  const char* onnx = nullptr;  // ONNX's name of it, where that is another
};
Span<const IrOperator> ir_composed_operators();
Span<const IrOperator> ir_elementwise_operators();
Span<const IrOperator> ir_indexed_operators();
Span<const IrOperator> ir_layer_operators();
Span<const IrOperator> ir_loop_operators();
Span<const IrOperator> ir_quantized_operators();
Span<const IrOperator> ir_shape_operators();
Span<const IrOperator> ir_state_operators();
const IrOperator* find_ir_operator(const std::string& type);  // nullptr: not supported

// A layer by its handler to ONNX nodes of the graph.
void import_ir_layer(IrGraph& file, int32_t index);

// Weights as a layer wants them: their numbers, in codes where the file has them so, with another shape of as many elements.
// `steps`: layers that have been looked through so far.
std::string ir_weights(IrOp& op, const IrSource& source, const IrShape& shape, int steps = 0);

// Element types of an OpenVINO IR that no ONNX tensor here has, as weights are stored in: of 2, 3, 4 and 6 bits, and floats of
// 4 and 8.

// How many values of the type stand together in how many bytes, and whether they are reals; each becomes a float then, else
// a byte, with a sign where the type has one.
struct IrNarrowType {
  const char* name;
  int32_t values, bytes;
  bool is_real, is_signed;
};

const IrNarrowType* find_ir_narrow_type(const std::string& name);  // nullptr: it is none of them
inline uint64_t ir_narrow_bytes(const IrNarrowType& type, uint64_t count) {
  const auto values = static_cast<uint64_t>(type.values);
  return (count + values - 1) / values * static_cast<uint64_t>(type.bytes);
}
// Decodes `count` values, floats or bytes, from ir_narrow_bytes() of the file.
std::vector<uint8_t> decoded_ir_values(const IrNarrowType& type, const uint8_t* data, uint64_t count);

}  // namespace intaglio::importers
