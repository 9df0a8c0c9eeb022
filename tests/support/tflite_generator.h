// TFLite networks from bytes, float or quantized, of all operators that the importer knows: most nodes fit what
// they read, some have an operand of another type or shape, none, or options that make no sense.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "calibrator/host/system/host_arena.h"
#include "importers/import.h"
#include "importers/tflite/tflite_operators.h"
#include "tests/support/choices.h"
#include "tests/support/known_answers.h"
#include "tests/support/tflite_builder.h"
#include "tests/support/tflite_patterns.h"

namespace intaglio::test {

class TfliteGenerator {
 public:
  using Dims = std::vector<int32_t>;
  static constexpr int8_t kInt16 = 7;

  explicit TfliteGenerator(Choices& choices) : c_(choices), quantized_(c_.one_in(2)) {
    const std::vector<int8_t> types{kTfliteInt8, kTfliteUint8, kInt16};
    type_ = quantized_ ? c_.of(types) : static_cast<int8_t>(kTfliteFloat);
  }

  // `most` nodes at most. Shapes behind inputs are right only where these have a batch of `batch()`.
  std::string network(int most) {
    const auto inputs = c_.between(1, 2);
    for (int64_t i = 0; i < inputs; ++i) add_input();
    for (int n = 0; n < most && !c_.at_end(); ++n) add_node();
    if (c_.one_in(2)) {
      batch_ = 1;
      for (const int32_t input : inputs_) tensors_[static_cast<size_t>(input)].dims[0] = kBatch;
    }
    std::vector<int32_t> outputs{values_.back()};
    if (c_.one_in(8)) outputs.push_back(c_.of(values_));
    return bytes(outputs);
  }
  int32_t batch() const { return batch_; }

  // One node with the operand `letter` in place of its usual one at `position`, or behind them.
  std::string one_node(int32_t code, size_t position, char letter) {
    add_input();
    std::string letters = tflite_pattern(code).inputs;
    if (position < letters.size()) letters[position] = letter;
    if (position >= letters.size()) letters += letter;
    return bytes({add_node(code, letters).outputs[0]});
  }
  // One node with its usual operands and so many outputs; the network's is the last of them.
  std::string one_node_of_outputs(int32_t code, size_t outputs) {
    add_input();
    add_node(code, tflite_pattern(code).inputs);
    Node& node = nodes_.back();
    while (node.outputs.size() > outputs) node.outputs.pop_back();
    while (node.outputs.size() < outputs) {
      const Dims dims =
          tensors_[static_cast<size_t>(node.inputs.empty() ? 0 : std::max(node.inputs[0], 0))].dims;
      node.outputs.push_back(add_tensor(type_, dims));
    }
    return bytes(node.outputs.empty() ? inputs_ : std::vector<int32_t>{node.outputs.back()});
  }

 private:
  // Made once: a generator is made for each input.
  static const std::vector<importers::ImportedOperator>& all_operators() {
    static const std::vector<importers::ImportedOperator> list = importers::tflite_operators();
    return list;
  }

  // In the file 1: with another one the importer does not ask for the file's shapes.
  static constexpr int32_t kBatch = 2;

  struct Tensor {
    int8_t type = kTfliteFloat;
    Dims dims;
    TfliteScales scales;
    bool constant = false, variable = false;
    std::vector<uint8_t> data;
  };
  struct Node {
    int32_t code = 0;
    std::vector<int32_t> inputs, outputs;
    tflite::Options kind = tflite::Options::NONE;
    std::vector<int32_t> options;
  };

  std::string bytes(const std::vector<int32_t>& outputs) const {
    TfliteBuilder file;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const Tensor& tensor = tensors_[i];
      const std::string name = "t" + std::to_string(i);
      if (tensor.constant)
        file.constant(name, tensor.type, tensor.dims, tensor.data, tensor.scales);
      else if (tensor.variable)
        file.variable_tensor(name, tensor.type, tensor.dims);
      else
        file.tensor(name, tensor.type, tensor.dims, tensor.scales);
    }
    for (const Node& node : nodes_)
      file.op(node.code, node.inputs, node.outputs, node.kind,
              tflite_options(file.fbb(), node.kind, node.options));
    return file.finish(inputs_, outputs);
  }

  int32_t add_tensor(int8_t type, const Dims& dims) {
    Tensor tensor;
    tensor.type = type;
    tensor.dims = dims;
    if (c_.one_in(64)) tensor.type = static_cast<int8_t>(c_.below(12));
    if (tensor.type != kTfliteFloat && tensor.type != kTfliteInt64 && !c_.one_in(32)) {
      tensor.scales.scale = {scale()};
      const bool is_centred = tensor.type == kInt16 && !c_.one_in(16);
      if (tensor.type != kTfliteInt32 && !is_centred) tensor.scales.zero_point = c_.number(0, 127);
    }
    tensors_.push_back(tensor);
    return static_cast<int32_t>(tensors_.size()) - 1;
  }
  float scale() { return c_.one_in(32) ? c_.real() : static_cast<float>(c_.between(1, 64)) / 256.0f; }

  void add_input() {
    const int8_t type = c_.one_in(8) ? static_cast<int8_t>(kTfliteInt32) : type_;
    const int32_t input = new_input(type, c_.one_in(3) ? c_.below(6) : 3);
    values_.push_back(input);
    made_.resize(tensors_.size());
    made_[static_cast<size_t>(input)] = tensors_[static_cast<size_t>(input)].dims;
    made_[static_cast<size_t>(input)][0] = kBatch;
  }
  int32_t new_input(int8_t type, uint32_t rank) {
    Dims dims{1};
    for (uint32_t i = 0; i < rank; ++i) dims.push_back(static_cast<int32_t>(c_.number(1, 5)));
    inputs_.push_back(add_tensor(type, dims));
    return inputs_.back();
  }

  void add_node() {
    const auto [tensors, inputs] = std::pair(tensors_, inputs_);
    const int32_t code = c_.of(operators_).code;
    std::string letters = tflite_pattern(code).inputs;
    if (c_.one_in(12)) letters.resize(c_.below(letters.size() + 1));
    if (c_.one_in(16)) letters += "afin"[c_.below(4)];
    constants_ = c_.one_in(8);  // of constants alone
    for (char& letter : letters) {
      if (c_.one_in(24)) letter = "a fiwdmbvnpAxeEuMRBTV23tzor"[c_.below(27)];
      if (constants_ && (letter == 'a' || letter == 'A')) letter = "fi"[c_.below(2)];
    }
    const Node node = add_node(code, letters);
    if (accepted(node)) {
      for (const int32_t output : node.outputs) values_.push_back(output);
    } else if (c_.one_in(4)) {
      values_.push_back(node.outputs[0]);
    } else {
      nodes_.pop_back();
      tensors_ = tensors;
      inputs_ = inputs;
      made_.resize(tensors_.size());
    }
  }
  const Node& add_node(int32_t code, const std::string& letters) {
    Node node;
    node.code = code;
    first_ = letters == "na" ? values_.back() : -1;
    units_ = letters.find('M') == std::string::npos ? 0 : static_cast<int32_t>(c_.between(1, 4));
    for (const char letter : letters) node.inputs.push_back(operand(letter, node));
    node.kind = c_.one_in(32) ? tflite::Options::NONE : tflite_pattern(code).options;
    node.options = {static_cast<int32_t>(c_.number(0, 1)),
                    c_.one_in(3) ? static_cast<int32_t>(c_.number(0, 3)) : 0};
    for (int i = 0; i < 4; ++i) node.options.push_back(static_cast<int32_t>(c_.number(1, 3)));
    node.options.push_back(static_cast<int32_t>(c_.number(0, 3)));
    node.options.push_back(static_cast<int32_t>(c_.number(-4, 4)));
    const bool parts = code == 49 || code == 102 || code == 88;
    const auto outputs = parts ? c_.between(1, 3) : code == 48 || c_.one_in(48) ? 2 : 1;
    const bool finds = code == 56 || code == 79;  // indices
    for (int64_t i = 0; i < outputs; ++i)
      node.outputs.push_back(
          add_output(constants_ ? c_.one_in(2) : finds || (code == 48 && i == 1) || c_.one_in(24)));
    nodes_.push_back(node);
    made_.resize(tensors_.size());
    return nodes_.back();
  }

  int32_t add_output(bool is_integer) {
    const Dims from = first_ < 0 ? Dims{2} : dims(first_);
    Dims to = from;
    const bool fits = units_ > 0 && !to.empty() && !c_.one_in(8);
    if (fits) to.back() = units_;
    if (!fits && c_.one_in(2)) std::reverse(to.begin(), to.end());
    if (!fits && c_.one_in(2) && to.size() > 1) {
      to[1] = wrapping_product(to[0], to[1]);
      to.erase(to.begin());
    }
    const int32_t output = add_tensor(is_integer ? static_cast<int8_t>(kTfliteInt32) : type_, to);
    const size_t first = static_cast<size_t>(std::max(first_, 0));
    if (quantized_ && c_.one_in(2)) tensors_.back().scales = tensors_[first].scales;
    return output;
  }

  // Whether what has been made so far is imported with this node's first output; its shape is noted.
  bool accepted(const Node& node) {
    using Answer = std::pair<bool, std::optional<Dims>>;  // accepted; a constant has no dimensions
    static KnownAnswers<Answer> probes;
    const std::string file = bytes({node.outputs[0]});
    const Answer& answer = probes.of(file, [&]() -> Answer {
      ImportOptions options;
      options.batch = kBatch;
      HostArena memory;
      const auto model = import_model({reinterpret_cast<const uint8_t*>(file.data()), file.size()}, "probe",
                                      options, memory);
      if (!model) return {model.message().find("output 't") != std::string::npos, std::nullopt};
      const Shape& shape = model->graph.tensors[static_cast<size_t>(model->graph.outputs[0])].shape;
      return {true, Dims(shape.dims, shape.dims + shape.rank)};
    });
    for (size_t i = 0; answer.second && i < node.outputs.size(); ++i) {
      made_[static_cast<size_t>(node.outputs[i])] = *answer.second;
      tensors_[static_cast<size_t>(node.outputs[i])].dims = *answer.second;
    }
    return answer.first;
  }

  const Dims& dims(int32_t tensor) const {
    const auto i = static_cast<size_t>(tensor);
    return i < made_.size() && !made_[i].empty() ? made_[i] : tensors_[i].dims;
  }
  int32_t last() const { return first_ < 0 || dims(first_).empty() ? 3 : dims(first_).back(); }
  size_t rank() const { return first_ < 0 ? 2 : dims(first_).size(); }

  int32_t operand(char letter, const Node& node) {
    switch (letter) {
      case 'a': {
        const int32_t value = c_.one_in(3) ? c_.of(values_) : values_.back();
        if (first_ < 0) first_ = value;
        return value;
      }
      case 'A': {
        for (const int32_t value : values_)
          if (first_ >= 0 && dims(value) == dims(first_) && c_.one_in(2)) return value;
        return first_ < 0 ? values_[0] : first_;
      }
      case 'f': {
        Dims shape = first_ < 0 ? Dims{2, 3} : dims(first_);
        for (int32_t& dim : shape)
          if (c_.one_in(2)) dim = 1;
        if (c_.one_in(4) && !shape.empty()) shape.erase(shape.begin());
        return numbers(shape, -1);
      }
      case 'w': {
        const auto kernel = static_cast<int32_t>(c_.between(1, 3));
        return numbers({static_cast<int32_t>(c_.between(1, 4)), kernel, kernel, last()}, 0);
      }
      case 'h': {
        const auto kernel = static_cast<int32_t>(c_.between(1, 3)),
                   made = static_cast<int32_t>(c_.between(1, 4));
        return numbers({kernel, kernel, 1, last(), made}, 4);
      }
      case 'd': {
        const auto kernel = static_cast<int32_t>(c_.between(1, 3));
        return numbers({1, kernel, kernel, wrapping_product(last(), static_cast<int32_t>(c_.between(1, 2)))},
                       3);
      }
      case 'm':
        return numbers({static_cast<int32_t>(c_.between(1, 4)), last()}, 0);
      case 'b':
        return bias(node);
      case 'M':
        return numbers({units_, last()}, 0);
      case 'R':
        return numbers({units_, units_}, 0);
      case 'T':
        return numbers({units_, static_cast<int32_t>(c_.between(1, 3))}, -1);
      case 'B':
        return c_.one_in(8) ? -1 : bias(node);
      case 'V': {
        const int32_t made =
            add_tensor(type_, {first_ < 0 || dims(first_).empty() ? 1 : dims(first_)[0], units_});
        tensors_.back().variable = true;
        return made;
      }
      case 'v':
        return numbers({c_.one_in(3) ? 1 : last()}, -1);
      case '2':
      case '3': {
        const auto rows = static_cast<int32_t>(c_.between(1, 3)),
                   columns = static_cast<int32_t>(c_.number(1, 4));
        inputs_.push_back(add_tensor(type_, letter == '3' ? Dims{2, rows, columns} : Dims{2, columns}));
        if (first_ < 0) first_ = inputs_.back();
        return inputs_.back();
      }
      case 't': {
        std::vector<int64_t> order(rank());
        std::iota(order.begin(), order.end(), 0);
        for (int64_t& axis : order) std::swap(axis, order[c_.below(order.size())]);
        return integers(order);
      }
      case 'z':
      case 'o':
      case 'r':
        return integers(c_.numbers(rank(), letter != 'z', letter == 'r' ? 2 : letter == 'o'));
      case 'i':
        return integers(c_.numbers(c_.one_in(2) ? rank() : 1 + c_.below(4), -2, 4));
      case 'n':
        return integers({c_.number(-2, 3)});
      case 'p':
        return integers(c_.numbers(2 * rank(), 0, 2));
      case 'x':
        return new_input(c_.one_in(2) ? type_ : static_cast<int8_t>(c_.below(12)), c_.below(6));
      case 'e':
      case 'E':
        return letter == 'e' ? numbers({0}, -1) : integers({});
      default:
        return letter == 'u' ? add_tensor(type_, {1, 2}) : -1;
    }
  }

  static size_t count(const Dims& dims) {
    int64_t product = 1;
    for (const int32_t dim : dims) product = std::min<int64_t>(product * std::clamp(dim, 0, 64), 4096);
    return static_cast<size_t>(product);
  }
  template <typename T>
  void hold(Tensor& tensor, const std::vector<T>& values) {
    tensor.constant = true;
    tensor.data.resize(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  }

  // Reals, or codes with a scale each index of `axis` (-1: one for all).
  int32_t numbers(const Dims& shape, int32_t axis) {
    const bool hybrid = !quantized_ && c_.one_in(8);
    const bool weights_of_16_bits = type_ == kInt16 && axis >= 0;
    const int8_t type = hybrid || weights_of_16_bits ? static_cast<int8_t>(kTfliteInt8) : type_;
    const int32_t made = add_tensor(type, shape);
    Tensor& tensor = tensors_.back();
    if (tensor.type == kTfliteFloat) {
      hold(tensor, c_.reals(count(shape)));
      return made;
    }
    std::vector<int8_t> codes;
    const int64_t start = c_.between(-127, 127), step = c_.between(0, 5);
    for (size_t i = 0; i < count(shape); ++i)
      codes.push_back(static_cast<int8_t>(start + step * static_cast<int64_t>(i)));
    if (tensor.type == kInt16)
      hold(tensor, std::vector<int16_t>(codes.begin(), codes.end()));
    else
      hold(tensor, codes);
    if (!c_.one_in(8)) tensor.scales.zero_point = tensor.type == kTfliteUint8 ? 128 : 0;
    if (axis < 0 || type_ == kTfliteUint8 || c_.one_in(3)) return made;
    tensor.scales.scale.clear();
    tensor.scales.axis = axis;
    for (int32_t i = 0; i < std::min(shape[static_cast<size_t>(axis)], 64); ++i)
      tensor.scales.scale.push_back(scale());
    return made;
  }

  int32_t bias(const Node& node) {
    if (c_.one_in(4)) return -1;
    const Tensor* weights = node.inputs.size() > 1 && node.inputs[1] >= 0
                                ? &tensors_[static_cast<size_t>(node.inputs[1])]
                                : nullptr;
    const Tensor copy = weights == nullptr ? Tensor() : *weights;
    const bool depthwise = node.code == 4;
    const int32_t channels = copy.dims.empty() ? 1 : depthwise ? copy.dims.back() : copy.dims[0];
    if (!quantized_) return numbers({channels}, -1);
    const bool is_long = type_ == kInt16 && c_.one_in(2);
    const int32_t made = add_tensor(is_long ? kTfliteInt64 : kTfliteInt32, {channels});
    Tensor& tensor = tensors_.back();
    const int64_t value = c_.number(-1000, 1000);
    if (is_long)
      hold(tensor, std::vector<int64_t>(
                       count({channels}),
                       c_.one_in(8) ? static_cast<int64_t>(static_cast<uint64_t>(value) << 40) : value));
    else
      hold(tensor, std::vector<int32_t>(count({channels}), static_cast<int32_t>(value)));
    const std::vector<float> in =
        first_ < 0 ? std::vector<float>() : tensors_[static_cast<size_t>(first_)].scales.scale;
    tensor.scales = {};
    if (in.size() == 1 && !c_.one_in(16))
      for (const float s : copy.scales.scale) tensor.scales.scale.push_back(in[0] * s);
    return made;
  }

  int32_t integers(const std::vector<int64_t>& values) {
    const bool wide = c_.one_in(6), scalar = values.size() == 1 && c_.one_in(2);
    const int32_t made = add_tensor(wide ? kTfliteInt64 : kTfliteInt32,
                                    scalar ? Dims{} : Dims{static_cast<int32_t>(values.size())});
    Tensor& tensor = tensors_.back();
    tensor.scales = {};
    std::vector<int32_t> narrow;
    for (const int64_t value : values)
      narrow.push_back(static_cast<int32_t>(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX)));
    wide ? hold(tensor, values) : hold(tensor, narrow);
    return made;
  }

  Choices& c_;
  bool quantized_;
  int8_t type_;
  const std::vector<importers::ImportedOperator>& operators_ = all_operators();
  std::vector<Tensor> tensors_;
  std::vector<Node> nodes_;
  std::vector<int32_t> inputs_, values_;
  std::vector<Dims> made_;  // shapes that the importer gave activations
  int32_t first_ = -1;      // the node's first activation
  int32_t units_ = 0;       // of a recurrent node
  bool constants_ = false;  // the node has no activation
  int32_t batch_ = kBatch;
};

}  // namespace intaglio::test
