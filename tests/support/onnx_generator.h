// ONNX networks from bytes, of all operators that the importer knows: most nodes fit what they read, some have an
// operand of another type or shape, none, or an attribute that makes no sense.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "calibrator/host/system/host_arena.h"
#include "importers/import.h"
#include "importers/onnx/onnx_operators.h"
#include "tests/support/choices.h"
#include "tests/support/known_answers.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/onnx_composites.h"
#include "tests/support/onnx_node_attributes.h"
#include "tests/support/onnx_patterns.h"

namespace intaglio::test {

class OnnxGenerator {
 public:
  using Tensor = onnx_file::TensorProto;
  using Dims = std::vector<int64_t>;

  explicit OnnxGenerator(Choices& choices) : c_(choices), file_(c_.one_in(4) ? c_.between(7, 21) : 13) {}

  // `most` nodes at most.
  std::string network(int most) {
    const auto inputs = c_.between(1, 2);
    for (int64_t i = 0; i < inputs; ++i) add_input();
    for (int n = 0; n < most && !c_.at_end(); ++n) add_node();
    const Value last = values_.back();
    file_.output(last.name);
    if (c_.one_in(4)) file_.output(c_.of(values_).name);
    if (c_.one_in(3)) move_into_function(last.name);
    return file_.bytes();
  }

  // One node, 'n1', with the operand `letter` in place of its usual one at `position`, or behind them.
  std::string one_node(const importers::ImportedOperator& op, size_t position, char letter) {
    add_input();
    std::string letters = onnx_pattern(op.name).inputs;
    if (position < letters.size()) letters[position] = letter;
    if (position >= letters.size()) letters += letter;
    add_node(op, letters);
    file_.output("n1");
    return file_.bytes();
  }

 private:
  // The last nodes, up to the one that writes `output`, become a function's, and a call of it stands in their place. Few
  // functions call themselves, and few are called again and again.
  void move_into_function(const std::string& output) {
    auto& graph = file_.graph();
    if (graph.node.empty()) return;
    const size_t first = c_.below(graph.node.size());
    auto& opset = file_.model().opset_import.add();
    opset.domain = "own";
    opset.version = 1;
    auto& function = file_.model().functions.add();
    function.name = "F";
    function.domain = c_.one_in(16) ? "other" : "own";
    std::set<std::string> written, read;
    for (size_t i = first; i < graph.node.size(); ++i) {
      const OnnxBuilder::Node& node = graph.node[i];
      for (const std::string& name : node.input)
        if (!name.empty() && written.count(name) == 0 && read.insert(name).second)
          function.input.push_back(name);
      written.insert(node.output.begin(), node.output.end());
      OnnxBuilder::Node& inner = function.node.add(node);
      if (!inner.attribute.empty() && c_.one_in(4)) {
        inner.attribute[0].ref_attr_name = "given";
        function.attribute.push_back("given");
      }
    }
    function.output.push_back(output);
    OnnxBuilder::Node call;
    call.op_type = "F";
    call.domain = "own";
    call.input = function.input;
    call.output.push_back(output);
    if (!function.attribute.empty() && !c_.one_in(4)) {
      call.attribute
          .add(graph.node[first].attribute.empty() ? onnx_file::AttributeProto()
                                                   : graph.node[first].attribute[0])
          .name = "given";
    }
    if (c_.one_in(8)) function.node.add(call).output[0] = "itself";
    graph.node.cut(first);
    for (uint32_t more = c_.one_in(4) ? c_.below(4) : 0; more > 0; --more)
      graph.node.add(call).output[0] = output + "/" + std::to_string(more);
    graph.node.add(std::move(call));
  }

  // Made once: a generator is made for each input.
  static const std::vector<importers::ImportedOperator>& all_operators() {
    static const std::vector<importers::ImportedOperator> list = importers::onnx_operators();
    return list;
  }

  struct Value {
    std::string name;
    Dims dims;
  };

  void add_input() { values_.push_back(new_input(c_.one_in(3) ? c_.below(6) : 3)); }
  Value new_input(uint32_t rank) {
    Dims dims{c_.between(1, 2)};
    for (uint32_t i = 0; i < rank; ++i) dims.push_back(c_.number(1, 5));
    return new_input(dims);
  }
  Value new_input(const Dims& dims) {
    const std::string name = "x" + std::to_string(++inputs_);
    file_.input(name, dims);
    auto& made = file_.graph().input.back().type.make();
    if (c_.one_in(8)) made.tensor_type.make().elem_type = static_cast<int32_t>(c_.below(17));
    return {name, dims};
  }

  // A node; one that the importer refuses is taken back, but for some.
  void add_node() {
    const auto& graph = file_.graph();
    const size_t inputs = graph.input.size(), nodes = graph.node.size(), stored = graph.initializer.size();
    const auto& op = operators_[c_.below(operators_.size())];
    std::string letters = onnx_pattern(op.name).inputs;
    if (c_.one_in(8)) letters.resize(c_.below(letters.size() + 1));
    if (c_.one_in(16)) letters += "afi1"[c_.below(4)];
    const bool constants = c_.one_in(8);  // of constants alone
    for (char& letter : letters) {
      if (c_.one_in(24)) letter = "a f1iSvwmnszWMBxqeEtu234TRHbhpr<>IF80co"[c_.below(39)];
      if (constants && (letter == 'a' || letter == 'A')) letter = "fi"[c_.below(2)];
    }
    const std::vector<std::string> outputs = add_node(op, letters);
    Dims dims;
    if (accepted(outputs[0], dims)) {
      for (const std::string& output : outputs) values_.push_back({output, dims});
    } else if (c_.one_in(4)) {
      values_.push_back({outputs[0], dims.empty() ? Dims{1, 2, 3, 4} : dims});
    } else {
      file_.graph().input.cut(inputs);
      file_.graph().node.cut(nodes);
      file_.graph().initializer.cut(stored);
    }
  }
  std::vector<std::string> add_node(const importers::ImportedOperator& op, const std::string& letters) {
    const std::string name = "n" + std::to_string(++nodes_);
    first_ = Value();
    kernel_ = outputs_ = 0;
    scale_ = zero_ = "";
    hidden_ = c_.between(1, 2);
    directions_ = c_.one_in(4) ? 2 : 1;
    gates_ = op.name.find("LSTM") != std::string::npos ? 4 : op.name == "GRU" ? 3 : 1;
    std::vector<std::string> inputs, outputs{name};
    for (const char letter : letters) inputs.push_back(operand(letter));
    OnnxBuilder::Node& node = file_.node(op.name, inputs, name);
    node.domain = op.domain;
    int64_t count = op.name == "TopK" || c_.one_in(32) || gates_ > 1 ? 2 : 1;
    if (op.name == "Split" || op.name == "DynamicQuantizeLinear")
      count = op.name == "Split" ? c_.between(1, 3) : 3;
    for (int64_t i = 1; i < count; ++i) {
      outputs.push_back(name + "_" + std::to_string(i));
      node.output.push_back(outputs.back());
    }
    add_attributes(node, onnx_pattern(op.name).attributes);
    return outputs;
  }

  // Whether what has been made so far is imported with this output, and its shape.
  bool accepted(const std::string& output, Dims& dims) {
    static KnownAnswers<std::optional<Dims>> probes;
    file_.output(output);
    const std::string bytes = file_.bytes();
    file_.graph().output.pop_back();
    const std::optional<Dims>& made = probes.of(bytes, [&]() -> std::optional<Dims> {
      HostArena memory;
      const auto model =
          import_model({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "probe", {}, memory);
      if (!model) return std::nullopt;
      const auto& outputs = model->graph.outputs;
      const Shape& shape = model->graph.tensors[static_cast<size_t>(outputs[outputs.size() - 1])].shape;
      return Dims(shape.dims, shape.dims + shape.rank);
    });
    if (made) dims = *made;
    return made.has_value();
  }

  int64_t first(size_t axis, int64_t otherwise) const {
    return axis < first_.dims.size() ? first_.dims[axis] : otherwise;
  }
  int64_t last(int64_t otherwise) const { return first_.dims.empty() ? otherwise : first_.dims.back(); }

  // The first activation that the node reads says what the rest of it looks like.
  std::string first_of(const Value& value) {
    if (first_.name.empty()) first_ = value;
    return value.name;
  }
  std::string operand(char letter) {
    switch (letter) {
      case 'a': {
        const Value value = c_.one_in(3) ? c_.of(values_) : values_.back();
        return first_of(value);
      }
      case '2':
        return first_of(c_.one_in(4) ? values_.back() : new_input({c_.between(1, 3), c_.number(1, 4)}));
      case '3':
        return first_of(c_.one_in(4) ? values_.back()
                                     : new_input({c_.between(1, 3), c_.between(1, 2), c_.number(1, 4)}));
      case '4':
        return first_of(c_.one_in(4) ? values_.back()
                                     : new_input({1, c_.between(1, 4), c_.number(3, 5), c_.number(3, 5)}));
      case 'A': {
        for (const Value& value : values_)
          if (value.dims == first_.dims && c_.one_in(2)) return value.name;
        return first_.name.empty() ? values_[0].name : first_.name;
      }
      case 'f': {
        Dims dims = first_.dims;
        for (int64_t& dim : dims)
          if (c_.one_in(2)) dim = 1;
        if (c_.one_in(4) && !dims.empty()) dims.erase(dims.begin());
        return reals(dims);
      }
      case '1':
        return reals(c_.one_in(2) ? Dims{} : Dims{1});
      case 'v':
        return reals({outputs_ > 0 && !c_.one_in(8) ? outputs_ : first(c_.one_in(4) ? 0 : 1, 3)});
      case 'T': {  // of a transposed convolution
        kernel_ = c_.between(1, 3);
        outputs_ = c_.between(1, 3);
        Dims dims{first(1, 3), outputs_};
        dims.resize(2 + static_cast<size_t>(window_axes()), kernel_);
        return c_.one_in(12) ? computed(dims) : reals(dims);
      }
      case 'o':  // offsets of a deformed one, and a mask
      case 'O': {
        const auto side = [this](size_t axis) { return std::max(first(axis, 3), int64_t{0}) - kernel_ + 1; };
        const int64_t taps = kernel_ * kernel_, h = side(2), w = side(3);
        return new_input({first(0, 1), letter == 'o' ? 2 * taps : taps, h, w}).name;
      }
      case 'w':
      case 'W': {
        const int64_t channels = first(1, 3);
        const bool depthwise = c_.one_in(4);
        kernel_ = c_.between(1, 3);
        outputs_ = depthwise ? channels : c_.between(1, 4);
        Dims dims{outputs_, depthwise ? 1 : channels};
        dims.resize(2 + static_cast<size_t>(window_axes()), kernel_);
        if (c_.one_in(12)) return computed(dims);
        return letter == 'w' ? reals(dims) : codes(dims, Tensor::INT8);
      }
      case 'm':
      case 'M': {
        outputs_ = c_.one_in(3) ? last(3) : c_.between(1, 4);
        const Dims dims{last(3), outputs_};
        if (letter == 'm' && c_.one_in(12)) return computed(dims);
        return letter == 'm' ? reals(dims) : codes(dims, Tensor::INT8);
      }
      case 'R':
      case 'H':
      case 'b': {
        Dims dims{directions_, gates_ * hidden_ * (letter == 'b' ? 2 : 1)};
        if (letter != 'b') dims.push_back(letter == 'R' ? last(3) : hidden_);
        return c_.one_in(8) ? computed(dims) : reals(dims);
      }
      case 'h':
        return c_.one_in(4) ? new_input({directions_, first(1, 1), hidden_}).name : "";
      case 'B':
        return codes({outputs_ > 0 && !c_.one_in(8) ? outputs_ : first(1, 3)}, Tensor::INT32);
      case 's':
        return scale_.empty() || c_.one_in(12) ? scale() : std::exchange(scale_, "");
      case 'z':
        if (!zero_.empty() && !c_.one_in(12)) return std::exchange(zero_, "");
        return codes({}, c_.one_in(4) ? Tensor::INT16 : c_.one_in(2) ? Tensor::UINT8 : Tensor::INT8);
      case 'i':
        return integers(c_.numbers(1 + c_.below(c_.one_in(3) ? 2 * first_.dims.size() + 1 : 4), -2, 4));
      case 'n':
        return integers({c_.number(0, 5)});
      case 'c': {  // whether: a constant, or what a run gives
        if (c_.one_in(2)) return integers({c_.number(0, 1)});
        const std::string most = new_name();
        set(file_.node("ReduceMax", {values_.back().name}, most), "keepdims", int64_t{0});
        return most;
      }
      case 'p':
        return integers(c_.numbers(2 * first_.dims.size(), 0, 2));
      case 'r':
        return integers(c_.numbers(first_.dims.size(), 1, 2));
      case '<':
      case '>':
        return integers(c_.numbers(first_.dims.size(), letter == '<' ? 0 : 1, letter == '<' ? 1 : 4));
      case 'I':
      case 'F': {
        Dims at = first_.dims;
        if (!at.empty()) at.back() = 1;
        if (letter == 'F') return reals(at);
        const std::string places = new_name();
        Tensor& tensor = initializer(places, at, Tensor::INT64);
        for (size_t k = 0; k < count(at); ++k)
          tensor.int64_data.push_back(c_.one_in(16) ? c_.number(0, 3) : 0);
        return places;
      }
      case '8':
      case '0': {
        const std::string name = new_name();
        const float zero = c_.one_in(12) ? c_.real() : 0.0f;
        initializer(name, {}, Tensor::FLOAT)
            .float_data.push_back(letter == '8' ? static_cast<float>(c_.number(2, 8)) : zero);
        return name;
      }
      case 'S': {
        Dims dims = first_.dims;
        std::reverse(dims.begin(), dims.end());
        if (c_.one_in(2) && dims.size() > 1) {
          dims[1] = wrapping_product(dims[0], dims[1]);
          dims.erase(dims.begin());
        }
        if (c_.one_in(2) && !dims.empty()) dims[c_.below(dims.size())] = c_.number(-1, 0);
        return integers(dims);
      }
      case 'x':
        return new_input(c_.below(6)).name;
      case 'q': {
        const std::string codes_name = new_name(), real = first_of(values_.back());
        scale_ = scale();
        zero_ = codes({}, c_.one_in(2) ? Tensor::UINT8 : Tensor::INT8);
        file_.node("QuantizeLinear", {real, scale_, zero_}, codes_name);
        return codes_name;
      }
      case 'e':
      case 'E':
        return letter == 'e' ? reals({0}) : integers({});
      case 't': {
        const std::string name = new_name();
        initializer(name, {1}, Tensor::STRING).string_data.push_back("one");
        return name;
      }
      default:
        return letter == 'u' ? "nothing" : "";
    }
  }

  // Axes of the pictures that the node reads.
  int64_t window_axes() {
    const auto rank = static_cast<int64_t>(first_.dims.size());
    return rank < 3 || rank > 5 || c_.one_in(16) ? 2 : rank - 2;
  }
  // An input that is usually a constant, but a run gives it.
  std::string computed(const Dims& dims) {
    const std::string input = new_input(dims).name;
    if (c_.one_in(2)) return input;
    const std::string name = new_name();
    file_.node(c_.one_in(2) ? "Tanh" : "Neg", {input}, name);
    return name;
  }

  std::string new_name() { return "c" + std::to_string(++constants_); }
  Tensor& initializer(const std::string& name, Dims dims, Tensor::DataType type) {
    Tensor& tensor = file_.graph().initializer.add();
    if (c_.one_in(64)) dims.push_back(c_.number(0, 3));
    tensor.name = name;
    tensor.data_type = type;
    for (const int64_t dim : dims) tensor.dims.push_back(dim);
    return tensor;
  }
  static size_t count(const Dims& dims) {
    int64_t product = 1;
    for (const int64_t dim : dims)
      product = std::min<int64_t>(product * std::clamp<int64_t>(dim, 0, 64), 4096);
    return static_cast<size_t>(product);
  }
  std::string reals(const Dims& dims) {
    if (c_.one_in(48)) return codes(dims, static_cast<Tensor::DataType>(c_.between(1, 16)));
    const std::string name = new_name();
    const std::vector<float> values = c_.reals(count(dims));
    initializer(name, dims, Tensor::FLOAT).raw_data.set(values.data(), values.size() * sizeof(float));
    return name;
  }
  std::string scale() {
    const std::string name = new_name();
    const int64_t channels = c_.one_in(4) ? first(c_.below(4), 1) : 1;
    Tensor& tensor = initializer(name, channels == 1 ? Dims{} : Dims{channels}, Tensor::FLOAT);
    for (size_t i = 0; i < count({channels}); ++i)
      tensor.float_data.push_back(c_.one_in(24) ? c_.real() : static_cast<float>(c_.between(1, 64)) / 64.0f);
    return name;
  }
  std::string codes(const Dims& dims, Tensor::DataType type) {
    const std::string name = new_name();
    Tensor& tensor = initializer(name, dims, type);
    const auto start = type == Tensor::INT16 ? 0 : c_.between(0, 127), step = c_.between(0, 5);
    const bool is_signed = type == Tensor::INT8 || type == Tensor::INT32;
    for (size_t i = 0; i < count(dims); ++i) {
      const int64_t code = (start + step * static_cast<int64_t>(i)) % 200;
      tensor.int32_data.push_back(static_cast<int32_t>(is_signed && code > 127 ? code - 200 : code));
    }
    return name;
  }
  std::string integers(const Dims& values) {
    const std::string name = new_name();
    if (c_.one_in(48)) return reals({static_cast<int64_t>(values.size())});
    const bool is_scalar = values.size() == 1 && c_.one_in(2);
    Tensor& tensor = initializer(name, is_scalar ? Dims{} : Dims{static_cast<int64_t>(values.size())},
                                 c_.one_in(8) ? Tensor::INT32 : Tensor::INT64);
    for (const int64_t value : values)
      if (tensor.data_type == Tensor::INT32)
        tensor.int32_data.push_back(static_cast<int32_t>(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX)));
      else
        tensor.int64_data.push_back(value);
    return name;
  }

  void add_attributes(OnnxBuilder::Node& node, const char* names) {
    std::string list = names;
    if (c_.one_in(32)) list += " axis";
    for (size_t at = 0; at < list.size();) {
      const size_t end = std::min(list.find(' ', at), list.size());
      const std::string name = list.substr(at, end - at);
      const OnnxNodeAttributes maker(c_, facts());
      if (!name.empty() && name[0] == '*')
        OnnxComposites(c_, node, last(3)).add(name);
      else if (!name.empty() && maker.is_wanted(name))
        maker.add(node, name);
      at = end + 1;
    }
  }
  OnnxNodeFacts facts() { return {first_.dims, window_axes(), kernel_, hidden_, directions_}; }

  Choices& c_;
  OnnxBuilder file_;
  const std::vector<importers::ImportedOperator>& operators_ = all_operators();
  std::vector<Value> values_;
  Value first_;  // the node's first activation
  // Sizes of the node that is made: a side of its weights' window, what its weights give, and what recurrent ones have.
  int64_t kernel_ = 0, outputs_ = 0, hidden_ = 1, directions_ = 1, gates_ = 1;
  std::string scale_, zero_;  // of the codes that it reads
  int inputs_ = 0, nodes_ = 0, constants_ = 0;
};

}  // namespace intaglio::test
