// One node of an ONNX file, as its handler sees it. Every access is checked; what is wrong is thrown.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "importers/draft/file_operator.h"
#include "importers/draft/geometry.h"
#include "importers/onnx/onnx_attributes.h"

namespace intaglio::importers {

// The file's quantization of a tensor of codes. The result of any node on codes, but for s32, has the same; only what moves them
// still holds some.
struct OnnxCodes {
  int64_t type = 0;  // their element type; 0: it is computed of no codes
  // Scale of codes that are reals in FP32 here: code = real / scale + zero_point. 0: no such codes; NaN: made of codes of several
  // scales, so that no reader has the right one.
  float scale = 0.0f;
  int64_t zero_point = 0;
};

// The value behind a name: a tensor of the draft, or a constant of the file, decoded where it is used.
struct OnnxValue {
  int32_t tensor = -1;
  const onnx_file::TensorProto* constant = nullptr;
  bool failed = false;  // its node had a problem, which has been reported
  // True of a tensor that the file has as integers or bools. It is s32 here, or FP32 where something was computed of it.
  bool is_integer = false;
  bool is_truth = false;  // of a tensor that the file has as bools: its numbers are 0 and 1
  OnnxCodes codes;
  bool is_whole = false;  // of reals that the file casts integers or bools to
};

// The values that a dequantized constant can have: multiples of the scale.
struct OnnxGrid {
  std::vector<float> scales;
  int32_t axis = -1;  // of the scales; -1: one for all
  // Codes of 8 bits whose scales differ along other axes than a layer's channels, or that have 0 between two of them. An int8
  // layer takes the nearest numbers of a grid of its own, whose scales are not known yet.
  bool is_near = false;
};

// Ranges of FakeQuantize, by what becomes of them.
struct OnnxRangeCounts {
  int32_t all = 0;
  int32_t moved = 0;      // 0 lay between two of their values
  int32_t odd = 0;        // 0 is an odd number of steps above their lowest value
  double furthest = 0.0;  // that one was moved, in steps
};
void note_onnx_ranges(const OnnxRangeCounts& counts, Draft& draft);

struct OnnxFile {
  int64_t opset = 0;
  Draft* draft = nullptr;
  std::unordered_map<std::string, OnnxValue> values;
  std::unordered_set<std::string>
      taken;  // names that the file's nodes write, and those made of decomposed ones
  std::unordered_map<std::string, int64_t> last_numbers;  // of names that unique_name() had to number
  std::vector<std::unique_ptr<onnx_file::TensorProto>> own_constants;  // of Constant nodes without a tensor
  std::unordered_map<std::string, OnnxGrid> grids;                     // of constants
  std::unordered_map<std::string, std::string> maps_of_places;         // MaxPool's indices: what it reads
  IntegerCasts casts;
  Evaluation* evaluation = nullptr;                    // of a node whose inputs are constants
  std::unordered_map<std::string, int32_t> evaluated;  // its inputs that the handler has asked for
  bool shapes_changed = false;                         // an input has another shape than in the file
  OnnxRangeCounts ranges;
  size_t made_nodes = 0;  // that others of the file became so far

  // A name that nothing in the file has: this one, or with a number behind it.
  std::string unique_name(const std::string& name);
};

template <typename T>
struct OnnxConstant {
  Shape shape;  // empty: one value
  std::vector<T> values;
};

// Whether an element type of ONNX is one of reals; its name.
bool is_onnx_real(int64_t type);
bool is_onnx_small_real(int64_t type);  // of 4 or 8 bits, which constants alone have
std::string onnx_type_name(int64_t type);
// Types that newer files have than the definition which this is compiled with.
inline constexpr int64_t kOnnxUint4 = 21, kOnnxInt4 = 22;
// Whether it is one of codes: 4, 8 or 16 bits, with a sign or without.
bool is_onnx_code(int64_t type);
// The codes that a node reads, with the type of its first input which holds some.
OnnxCodes onnx_codes_read(const OnnxFile& file, const onnx_file::NodeProto& node);

class OnnxOp : public FileOperator, public OnnxNodeAttributes {
 public:
  OnnxOp(OnnxFile& file, const onnx_file::NodeProto& node);

  int64_t opset() const { return file_.opset; }
  int output_count() const { return node_.output.count(); }
  const std::string& output_name(int i = 0) const { return node_.output[i]; }
  bool shapes_changed() const { return file_.shapes_changed; }
  OnnxRangeCounts& ranges() { return file_.ranges; }

  void check_inputs(int least, int most) const;
  void check_outputs(int most) const;  // those beyond may stand there without a name
  bool has_input(int i) const { return i < node_.input.count() && !node_.input[i].empty(); }
  bool is_constant(int i) const;
  bool is_constant_of(int i, onnx_file::TensorProto::DataType type) const;
  int64_t type_of_constant(int i) const { return value(i).constant->data_type; }
  int64_t type_of_codes(int i) const;  // of a constant's codes or an activation's; 0: it is not known
  const OnnxCodes& codes_of(int i) const { return value(i).codes; }  // of an activation
  // Whether input i is an activation of codes that are int8 here. They are the file's less middle_code().
  bool is_int8_codes(int i) const;
  int32_t middle_code(int i) const;           // 128 of codes without a sign, else 0
  const DraftTensor& tensor_of(int i) const;  // of an activation
  bool is_constant_of_reals(int i) const { return is_constant(i) && is_real(*value(i).constant); }
  bool all_constant() const;  // each input that is there
  int input_count() const { return node_.input.count(); }
  int32_t activation(int i);           // draft tensor, FP32, in the file's own layout; of codes their numbers
  int32_t activation_or_codes(int i);  // int8 too: for what only moves elements
  int32_t activation_or_numbers(
      int i);                       // or a constant as one of the draft, which is of numbers or truth values
  int32_t any_activation(int i);    // s32 too
  int32_t index_activation(int i);  // s32, of a tensor of integers
  bool is_integer(int i) const;
  bool computes_integers() const;  // of integers, bools and constants of them alone
  bool is_truth(int i) const;      // an activation or a constant of bools
  OnnxConstant<float> floats(int i);
  OnnxConstant<float> numbers(int i);  // of integers and truth values, too, which float must hold
  using OnnxNodeAttributes::integers;
  OnnxConstant<int64_t> integers(int i);
  OnnxConstant<float> floats_of(const onnx_file::TensorProto& tensor);  // of an attribute
  OnnxConstant<int64_t> integers_of(const onnx_file::TensorProto& tensor);
  static bool is_real(const onnx_file::TensorProto& tensor);
  // Notes on the draft's constant the grid of input i, whose channels' axis is `axis` there and `draft_axis`
  // here.
  void take_grid(int i, int32_t axis, int32_t constant, int32_t draft_axis);
  const std::string& input_name(int i) const { return node_.input[i]; }

  // Building. The draft works in NHWC: operators on pictures take their input through nhwc() and give their
  // result through set_nhwc_output(). What also takes one dimension takes it through nhwc_or_line(), as a picture
  // of one row; its window attributes then have one value an axis (spatial()).
  int32_t nhwc(int32_t tensor);
  int32_t nhwc_or_line(int32_t tensor);
  // Three dimensions: [n, c, d, h, w] as [n, d, h, w, c]. Window attributes then have three values.
  int32_t ndhwc(int32_t tensor);
  bool is_volume(int i) { return draft().tensor(activation_or_codes(i)).shape.size() == 5; }
  // The values of a window's attribute for height and width, or for all three axes: `count` for each (pads have two);
  // empty where it is absent.
  std::vector<int64_t> spatial(const char* name, size_t count, int64_t of_line) const;
  void set_output(int32_t tensor, int i = 0);
  void set_output(int32_t tensor, int i, bool is_integer);
  void set_truth_output(int32_t tensor);  // of an operator that gives bools, whatever it reads
  void note_truth(int i = 0);             // says that of an output which has been set
  bool is_whole(int i) const;             // reals that integers or bools were cast to
  void note_whole();                      // says that of the output
  void set_codes_output(int32_t tensor, const OnnxCodes& codes);  // codes that the node makes
  void set_nhwc_output(int32_t tensor);
  void set_constant(const onnx_file::TensorProto* constant, int i = 0);
  // The output is what `name` stands for, which an If's branch has written.
  void set_alias(const std::string& name, int i);
  void set_own_constant(std::unique_ptr<onnx_file::TensorProto> constant, int i = 0);
  void set_floats(const OnnxConstant<float>& constant, int i = 0);
  const OnnxGrid* grid(int i) const;  // of a constant input; nullptr: none is known
  void set_grid(const OnnxGrid& grid) { file_.grids[output_name()] = grid; }
  void set_integers(const OnnxConstant<int64_t>& constant, int i = 0);
  void set_codes(const OnnxConstant<int64_t>& constant, onnx_file::TensorProto::DataType type, int i = 0);
  Origin result(int i = 0) { return named(output_name(i)); }
  int32_t new_tensor_like(int32_t x, const Shape& shape);
  // Calls make(rows), which gives a tensor of the rows' shape, with `axis` behind all others.
  template <typename Make>
  int32_t along_last_axis(int32_t x, int64_t axis, Make make) {
    const Shape shape = draft().tensor(x).shape;
    const int32_t last = normal_axis(axis, shape.size());
    Permutation to_last;
    for (int32_t i = 0; i < static_cast<int32_t>(shape.size()); ++i)
      if (i != last) to_last.push_back(i);
    to_last.push_back(last);
    const int32_t rows = add_transpose(part("/last"), x, to_last);
    return add_transpose(result(), make(rows), inverse(to_last));
  }

  // An int8 input whose codes are the file's own numbers, and which nothing has read yet, gets another scale.
  bool take_plain_codes(int i, float scale, int32_t zero_point);

  // Results of constants become constants: `import` is the node's handler.
  void evaluate(void (*import)(OnnxOp& op));

 private:
  bool hands_on_truth() const;
  int32_t numbers_of_codes(int i);
  int32_t codes_of_numbers(int32_t numbers, int64_t type);
  int32_t evaluated_input(int i);
  void set_evaluated(const DraftTensor& result, const OnnxValue& value, int i);
  const OnnxValue& value(int i) const;
  void set_value(OnnxValue value, int i = 0);

  OnnxFile& file_;
  const onnx_file::NodeProto& node_;
  bool computes_on_codes_ = false;  // it reads codes as numbers
  size_t axes_ = 2;  // of its windows: 1 where the input of nhwc_or_line() is a line, 3 behind ndhwc()
};

// The numbers that a tensor of a file stores, whatever type and field they stand in.

// Throws where the data stands elsewhere, or where the shape is larger than a tensor may be.
Shape stored_onnx_shape(const onnx_file::TensorProto& tensor);
// Its `count` numbers, which are those of `shape`. Throw where the tensor holds another number of them, or another kind.
OnnxConstant<float> stored_onnx_floats(const onnx_file::TensorProto& tensor, const Shape& shape,
                                       uint64_t count);
OnnxConstant<int64_t> stored_onnx_integers(const onnx_file::TensorProto& tensor, const Shape& shape,
                                           uint64_t count);

// Codes of 4 bits, two a byte, the lower half first: code i without a sign, and the bytes of such codes, of either sign.
inline int64_t code_of_4_bits(uint8_t half_pair, size_t i) {
  return i % 2 == 0 ? half_pair & 15 : half_pair >> 4;
}
std::vector<uint8_t> packed_codes_of_4_bits(const std::vector<int64_t>& codes);

}  // namespace intaglio::importers
