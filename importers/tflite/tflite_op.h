// One operator of a TFLite file, as its handler sees it. Every access is checked; what is wrong is thrown.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "importers/draft/constant_values.h"
#include "importers/draft/file_operator.h"
#include "importers/draft/geometry.h"
#include "importers/tflite/tflite_generated.h"

namespace intaglio::importers {

inline constexpr size_t kMaxFileTensors = 65536;

// TFLite's resource variables: what a graph reads and assigns from run to run. They become the model's states.

struct TfliteVariable {
  DraftTensor initial;   // a constant, from the graph that CALL_ONCE names; without data: zero
  int32_t input = -1;    // draft tensor that the first read gives; -1: it is not read
  int32_t current = -1;  // draft tensor of its value at this place of the graph; -1: as the run began
};

struct TfliteVariables {
  std::map<std::string, TfliteVariable> by_name;
  std::map<int32_t, std::string> handles;  // tensors of VAR_HANDLE
  std::set<int32_t> called;                // graphs of CALL_ONCE
};

// After the last operator: each variable that is read becomes a state of the draft.
void add_tflite_states(const TfliteVariables& variables, Draft& draft);

// The file and what has been made of it so far.
struct TfliteFile {
  Span<const uint8_t> bytes;
  const tflite::Model* model = nullptr;
  const tflite::SubGraph* graph = nullptr;
  Draft* draft = nullptr;
  std::vector<int32_t> made;    // draft tensor of each of the file's activations
  bool shapes_changed = false;  // an input has another shape than in the file
  bool has_codes = false;       // activations of 8 bits with a scale
  size_t calls = 0;             // graphs that are being read in one another, in place of operators
  size_t called_operators = 0;  // of all calls so far
  // MediaPipe's indices of greatest elements, a graph's tensor: the draft tensor that they are places in.
  std::map<std::pair<const tflite::SubGraph*, int32_t>, int32_t> maps_of_places;
  IntegerCasts casts;
  TfliteVariables variables;
  Evaluation* evaluation = nullptr;                // of an operator whose inputs are constants
  std::unordered_map<int32_t, int32_t> evaluated;  // its inputs that the handler has asked for

  static constexpr int32_t kNotMade = -1;
  static constexpr int32_t kFailed = -2;  // its node had a problem, which has been reported

  // Tensor i of the file's graph; the draft's tensor of it.
  const tflite::Tensor& tensor(int32_t i) const { return *graph->tensors()->Get(static_cast<uint32_t>(i)); }
  int32_t& made_of(int32_t i) { return made[static_cast<size_t>(i)]; }
  int32_t made_of(int32_t i) const { return made[static_cast<size_t>(i)]; }
};

std::string tflite_tensor_name(const TfliteFile& file, int32_t tensor);

class TfliteOp : public FileOperator {
 public:
  TfliteOp(TfliteFile& file, const tflite::Operator& op, std::string source, const std::string& name,
           bool has_output = true);  // few operators have none

  size_t input_count() const { return inputs_.size(); }
  void check_inputs(size_t least, size_t most) const;
  bool has_input(size_t i) const { return i < inputs_.size() && inputs_[i] >= 0; }
  bool is_constant(size_t i) const;
  int32_t activation(size_t i);        // draft tensor, F32 or quantized S8; integers as F32
  int32_t any_activation(size_t i);    // s32 too
  int32_t index_activation(size_t i);  // s32, of a tensor of integers
  int32_t activation_or_constant(size_t i);
  DraftTensor constant(size_t i) const;           // bytes checked against type and shape
  std::vector<int64_t> integers(size_t i) const;  // of a constant
  int32_t integer(size_t i) const;                // of a constant that is one
  bool holds_numbers() const;  // inputs are constants, and all are FP32, float16, int32 or int64
  bool output_is_real() const;
  Values values(size_t i) const;          // of such a constant
  void set_values(const Values& values);  // the output is such a constant
  Shape shape_in_file(size_t i) const;
  int8_t type_in_file(size_t i) const { return tensor(i).type(); }

  // An output, the only one where no more were allowed, of the file's type and quantization; `shape` must be
  // the file's, unless input shapes were changed.
  int32_t output(const Shape& shape, size_t i = 0);
  int32_t output_of_type(int32_t x, const Shape& shape, size_t i = 0);  // which must be that of x
  size_t output_count() const { return outputs_.size(); }
  int32_t input_index(size_t i) const { return has_input(i) ? inputs_[i] : -1; }  // of the file's tensors
  int32_t output_index(size_t i) const { return outputs_.at(i); }
  void alias_output(int32_t made);                    // the output is this draft tensor
  void set_index_output(int32_t made, size_t i = 0);  // likewise, of s32, of the file's shape
  void set_number_output(int32_t made,
                         size_t i = 0);  // likewise, of numbers in FP32 that the file has as integers
  bool holds_integers(size_t i) const;   // the file's input i: int32, int64, bool, or 8 bits without a scale
  bool is_unsigned(size_t i) const;      // the file's input i: uint8, whose codes are shifted by -128 here
  bool output_holds_integers(size_t i = 0) const;
  bool output_holds_plain_codes() const;  // 8 bits without a scale
  bool output_is_unsigned() const;        // uint8
  TfliteFile& file() { return file_; }
  TfliteVariables& variables() { return file_.variables; }
  void allow_outputs() { many_outputs_ = true; }  // more than one
  Shape output_shape_in_file() const;
  void check_output(const Shape& shape, size_t i = 0) const;  // that the file has it; output() does so, too
  // For operators whose int8 output has the input's scale: where the file has another, the returned tensor
  // has the input's, and a requantization to the output is added by finish_same().
  int32_t output_same(int32_t x, const Shape& shape, size_t i = 0);
  void finish_same();
  // The output is `moved`, which has elements of x, in this shape.
  void set_moved(int32_t x, int32_t moved, const Shape& shape);
  // Outputs that have 16 bits in the file are rounded to their codes, but where elements of one scale are chosen.
  void round_outputs();
  void set_constant(DraftTensor constant);   // the output is one
  int32_t constant_of_graph(int32_t index);  // of the current graph, with its own rank: a tensor of the draft
  bool is_empty(size_t i) const;             // a constant without elements
  bool all_constant() const;                 // each input that is there, and there is one
  // Results of constants become constants: `import` is the operator's handler.
  void evaluate(void (*import)(TfliteOp& op));

  // The table of the options; throws where it is missing or another.
  template <typename T>
  const T& options() const {
    const T* table = op_.options_as<T>();
    if (table == nullptr) fail("its options are missing");
    return *table;
  }
  template <typename T>
  const T& newer_options() const {  // of operators whose options stand in the newer union
    const T* table = op_.newer_options_as<T>();
    if (table == nullptr) fail("its options are missing");
    return *table;
  }
  template <typename T>
  const T* options_or_null() const {
    return op_.options_as<T>();
  }
  Span<const uint8_t> custom_options() const {
    const auto* const bytes = op_.custom_options();
    return bytes == nullptr ? Span<const uint8_t>() : Span<const uint8_t>(bytes->data(), bytes->size());
  }
  bool shapes_changed() const { return file_.shapes_changed; }

 private:
  const tflite::Tensor& tensor(size_t input) const;
  DraftTensor real_constant(size_t i) const;
  void take_plain_numbers(DraftTensor& output) const;
  int32_t evaluated_input(size_t i);
  void set_made(size_t i, int32_t tensor);  // output i is this tensor of the draft

  TfliteFile& file_;
  const tflite::Operator& op_;
  std::vector<int32_t> inputs_, outputs_;
  std::ptrdiff_t first_node_;  // of those that it has added to the draft
  int32_t same_from_ = -1, same_to_ = -1;
  bool many_outputs_ = false;
};

// Whether the file gives its tensor this shape, or leaves the sizes open in which the two differ.
bool tflite_allows(const tflite::Tensor& tensor, const Shape& shape);
// A tensor's type, shape and quantization, checked.
DraftTensor tflite_tensor(const TfliteFile& file, int32_t index);
// `made`, FP32, rounded to the codes of 16 bits that the file's tensor has. It is `made` itself where that has no scale, and
// only bounded where the codes have a zero point.
int32_t as_tflite_s16(TfliteFile& file, int32_t index, int32_t made, const std::string& source);
bool has_tflite_data(const TfliteFile& file, int32_t index);  // whether the file's tensor is a constant
DraftTensor tflite_constant(TfliteFile& file,
                            int32_t index);  // likewise, with bytes checked against type and shape

// Numbers that a TFLite file stores in another form than the draft has them.

// Element types as the file numbers them.
inline constexpr int8_t kTfliteFloat32 = 0, kTfliteFloat16 = 1, kTfliteInt32 = 2, kTfliteUint8 = 3,
                        kTfliteInt64 = 4, kTfliteBool = 6, kTfliteInt16 = 7, kTfliteComplex = 8,
                        kTfliteInt8 = 9, kTfliteInt4 = 17;

// Bytes of so many elements in the file.
uint64_t tflite_stored_bytes(int8_t type, int64_t elements);
// `data` holds the file's bytes, as many as that; they become those of the draft's type. Integers of 16 bits, and those
// of 64 bits with a scale, become the reals that they stand for; other integers of 64 bits must fit 32.
void convert_stored(int8_t type, DraftTensor& constant);

// TFLite's sparse tensors.

// All elements of a constant, of which the file has `stored`. Of a sparse one those are a part; the others are bytes of 0. Its
// sparsity is a tree, which has a level an axis, in the file's order, and one for the inside of each axis that has blocks. A level
// has all indices, or lists those that are there: branch p of the level before it has indices[segments[p]] up to
// indices[segments[p + 1]]. Throws where the lists do not fit the shape, or do not tell of as many elements as are stored.
std::vector<uint8_t> tflite_bytes(const tflite::Tensor& tensor, const Shape& shape,
                                  Span<const uint8_t> stored);

}  // namespace intaglio::importers
