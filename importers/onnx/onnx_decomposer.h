// An ONNX node that stands for several of ONNX's own operators: what a family's function sees of it, and the nodes that it
// writes in its place.
#pragma once

#include "importers/onnx/onnx_attributes.h"
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {

class OnnxDecomposer : private OnnxNodeAttributes {
 public:
  OnnxDecomposer(OnnxFile& file, const onnx_file::NodeProto& node);

  const std::string& source() const { return node_.op_type; }
  void check_inputs(int least, int most) const;
  void check_one_output() const;
  bool has(int i) const { return i < node_.input.count() && !node_.input[i].empty(); }
  const std::string& input(int i) const { return node_.input[i]; }
  int input_count() const { return node_.input.count(); }
  bool has_output(int i) const { return i < node_.output.count() && !node_.output[i].empty(); }
  std::string output(int i) const { return has_output(i) ? node_.output[i] : std::string(); }
  // The shape of an input, as the importer has it: a single number is [1] where a run computes it. Throws where nothing wrote it.
  Shape shape(int i) const;
  Shape shape_of(const std::string& name) const;
  bool all_constant() const;      // each input that is there: the operator itself computes it
  bool holds_codes(int i) const;  // whether a run computes the codes that input i is
  int64_t opset() const { return file_.opset; }
  bool is_standard() const { return is_standard_onnx(node_.domain); }
  // The integers of input i; empty where a run computes them, or nothing is there.
  std::vector<int64_t> constant(int i) const;
  std::vector<float> real_constant(int i) const;
  std::vector<std::string> string_constant(int i) const;  // empty where it is none of strings
  // Attributes. Of those that stand in what add_own() writes, the operator there asks.
  using OnnxNodeAttributes::check_all_read;
  using OnnxNodeAttributes::graph;
  using OnnxNodeAttributes::ignore;
  using OnnxNodeAttributes::integer;
  using OnnxNodeAttributes::real;
  using OnnxNodeAttributes::reals;
  using OnnxNodeAttributes::string;
  using OnnxNodeAttributes::strings;
  std::vector<int64_t> list(const char* name) const { return OnnxNodeAttributes::integers(name); }
  // The same of `count` numbers from `least` to kMaxTensorBytes; `least` each where it is absent.
  std::vector<int64_t> list(const char* name, size_t count, int64_t least) const;

  // `places` are those of the greatest elements of windows of `map`.
  void note_places(const std::string& places, const std::string& map) { file_.maps_of_places[places] = map; }
  // The map of which input i holds places; "": it is not known.
  std::string map_of_places(int i) const {
    const auto known = file_.maps_of_places.find(input(i));
    return known == file_.maps_of_places.end() ? std::string() : known->second;
  }

  // Throws where so many numbers more than those that nodes have used are more than constants may be.
  void check_room(size_t numbers) const;
  void check_memory(uint64_t bytes, const char* what) const {
    file_.draft->budget->check_memory(bytes, what);
  }

  // Writing. The result has a name of its own, or `output`, which is one of the node's.
  std::string add(const char* op_type, const std::vector<std::string>& inputs,
                  const OnnxAttributes& attributes = {}, const std::string& output = {});
  // The same with the node's own attributes but those named.
  std::string add_own(const char* op_type, const std::vector<std::string>& inputs,
                      const std::vector<std::string>& without = {}, const std::string& output = {});
  void add_outputs(const std::vector<std::string>& names);  // further ones of the last node; "": none
  std::string number(float value);
  std::string whole(int64_t value);
  std::string integers(const std::vector<int64_t>& list);
  std::string numbers(const std::vector<float>& list);
  // 0, step, 2 * step, ... as integers.
  std::string counted(int64_t count, int64_t step = 1);
  std::string reshaped(const std::string& x, const std::vector<int64_t>& dims,
                       const std::string& output = {}) {
    return add("Reshape", {x, integers(dims)}, {}, output);
  }
  std::string transposed(const std::string& x, const std::vector<int64_t>& order,
                         const std::string& output = {}) {
    return add("Transpose", {x}, {{"perm", order}}, output);
  }
  // All outputs of a Split into parts of these sizes.
  std::vector<std::string> split(const std::string& x, int64_t axis, const std::vector<int64_t>& sizes);
  // Indices `begin` up to `end` of an axis.
  std::string slice(const std::string& x, int64_t axis, int64_t begin, int64_t end);
  // One behind the other along a new axis, which single numbers that a run computes have already.
  std::string stacked(std::vector<std::string> parts, const std::string& output, int64_t axis,
                      bool are_numbers);
  // One behind the other along an axis that they have.
  std::string joined(std::vector<std::string> parts, const std::string& output, int64_t axis);
  // The first of two results of one shape where input 0, one truth value, is not 0; else the second.
  void choose(const std::string& yes, const std::string& no, const std::string& output);
  std::string clip(const std::string& x, float low, float high, const std::string& output = {});
  std::string cast(const std::string& x, onnx_file::TensorProto::DataType to);
  std::string as_real(const std::string& x) { return cast(x, onnx_file::TensorProto::FLOAT); }
  void end(const std::string& result, int i = 0) { add("Identity", {result}, {}, output(i)); }

  void note(const std::string& words) { file_.draft->notes.push_back(words); }

  // A name that nothing in the file has.
  std::string unique(const std::string& name) { return file_.unique_name(name); }

  // Codes. Input `codes` as reals; its zero point need not be there. The scales of channels are along the axis.
  std::string dequantized(int codes, int scale, int zero_point, int64_t axis);
  // The same of input i, whose scale and zero point are the next two.
  std::string real_input(int i, int64_t axis = 1) { return dequantized(i, i + 1, i + 2, axis); }
  // A bias of int32 codes, whose scale is the product of those of inputs `a` and `b`.
  std::string real_bias(int i, int a, int b);
  // The result as codes, with the scale in input i and the zero point behind it.
  void codes(const std::string& result, int i, int64_t axis = 1);

  std::vector<onnx_file::NodeProto> take() { return std::move(nodes_); }

 private:
  onnx_file::NodeProto& append(const char* op_type, const std::vector<std::string>& inputs,
                               const std::string& output);

  OnnxFile& file_;
  const onnx_file::NodeProto& node_;
  std::string first_output_;
  std::vector<onnx_file::NodeProto> nodes_;
};

enum OnnxDecompositionBit : uint8_t {
  kStandard = 1,  // not com.microsoft's alone
  kOfCodes = 2,   // and no FP32
  kOfMl = 4,      // of ai.onnx.ml alone
};

// An operator, the function that writes its nodes, and what they become. Without nodes, and without `limits`, it stands for an
// operator that another table has.
struct OnnxDecomposition {
  const char* op_type;
  void (*decompose)(OnnxDecomposer& s);
  Op becomes[4];
  const char* limits;
  uint8_t bits = 0;  // OnnxDecompositionBit

  bool is(OnnxDecompositionBit bit) const { return (bits & bit) != 0; }
};
Span<const OnnxDecomposition> onnx_attention_decompositions();
Span<const OnnxDecomposition> onnx_bits_decompositions();
Span<const OnnxDecomposition> onnx_classical_decompositions();
Span<const OnnxDecomposition> onnx_composed_decompositions();
Span<const OnnxDecomposition> onnx_fused_decompositions();
Span<const OnnxDecomposition> onnx_scan_decompositions();
Span<const OnnxDecomposition> onnx_trigonometric_decompositions();

// The attributes of a Scan about its inputs and outputs.

struct OnnxScan {
  struct Slices {
    int64_t axis;
    bool is_backwards;
  };
  int states = 0;  // before the inputs, and before the outputs, in slices
  std::vector<Slices> inputs, outputs;
  int32_t runs = 0;
};
OnnxScan read_onnx_scan(const OnnxOp& op, const OnnxDecomposer& node, const onnx_file::GraphProto& body);

}  // namespace intaglio::importers
