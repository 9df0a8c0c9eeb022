#include "exporters/tflite/tflite_operands.h"

#include <functional>
#include <numeric>
#include <utility>

namespace intaglio::exporters {
namespace {

using tflite::Builtin;
using Kind = tflite::Options;

// The steps of one normalization, in FP32.
class Steps {
 public:
  Steps(TfliteFile& file, std::string name) : file_(file), name_(std::move(name)) {}

  int32_t tensor(const char* end, std::vector<int32_t> shape) {
    return file_.add_tensor({name_ + end, DType::kF32, std::move(shape), {}});
  }
  void binary(Builtin code, Kind kind, int32_t a, int32_t b, int32_t y) {
    file_.add_operator(code, 1, {a, b}, y, kind, options(kind));
  }
  int32_t binary(Builtin code, Kind kind, const char* end, int32_t a, int32_t b) {
    const int32_t y = tensor(end, file_.tensor(a).shape);
    binary(code, kind, a, b, y);
    return y;
  }
  // Over the axes of each group, which stay as axes of one element.
  int32_t mean(const char* end, int32_t x, const std::vector<int32_t>& axes) {
    std::vector<int32_t> shape = file_.tensor(x).shape;
    for (const int32_t axis : axes) shape[static_cast<size_t>(axis)] = 1;
    const int32_t y = tensor(end, std::move(shape));
    file_.add_operator(Builtin::MEAN, 1, {x, file_.add_numbers(name_ + end + "/axes", axes)}, y,
                       Kind::ReducerOptions, tflite::CreateReducerOptions(file_.builder(), true).Union());
    return y;
  }
  int32_t reshape(const char* end, int32_t x, const std::vector<int32_t>& shape) {
    if (file_.tensor(x).shape == shape) return x;
    const int32_t y = tensor(end, shape);
    file_.add_operator(Builtin::RESHAPE, 1, {x, file_.add_numbers(name_ + end + "/shape", shape)}, y);
    return y;
  }

 private:
  flatbuffers::Offset<void> options(Kind kind) {
    if (kind == Kind::AddOptions) return tflite::CreateAddOptions(file_.builder()).Union();
    if (kind == Kind::SubOptions) return tflite::CreateSubOptions(file_.builder()).Union();
    return tflite::CreateMulOptions(file_.builder()).Union();
  }

  TfliteFile& file_;
  std::string name_;
};

}  // namespace

void write_normalize(TfliteFile& file, TfliteOperands& operands, const NodeInfo& node, int32_t result) {
  const auto& options = node.options.as<NormalizeOptions>();
  const std::string name = operands.info(node.outputs[0]).name;
  const std::vector<int32_t> whole = file.tensor(result).shape;
  Steps steps(file, name);
  // [batches, places, groups, depth], without the axes that a group does not need.
  const int32_t channels = whole.back();
  const auto last = whole.end() - 1, first_place = options.over_map ? whole.begin() + 1 : last;
  const auto product = [](auto from, auto to) { return std::accumulate(from, to, 1, std::multiplies<>()); };
  std::vector<int32_t> grouped{product(whole.begin(), first_place)}, axes;
  if (options.over_map) {
    axes.push_back(static_cast<int32_t>(grouped.size()));
    grouped.push_back(product(first_place, last));
  }
  if (options.groups > 1) grouped.push_back(options.groups);
  if (options.groups < channels || axes.empty()) {
    axes.push_back(static_cast<int32_t>(grouped.size()));
    grouped.push_back(channels / options.groups);
  }

  const int32_t x = steps.reshape("/groups", operands.real(node.inputs[0]), grouped);
  int32_t centred = x;
  if (!options.keeps_mean)
    centred = steps.binary(Builtin::SUB, Kind::SubOptions, "/centred", x, steps.mean("/mean", x, axes));
  const int32_t squares = steps.binary(Builtin::MUL, Kind::MulOptions, "/squares", centred, centred);
  const int32_t variance = steps.mean("/variance", squares, axes);
  const int32_t kept = steps.binary(Builtin::ADD, Kind::AddOptions, "/deviation", variance,
                                    operands.add_reals(name + "/epsilon", {}, {options.epsilon}));
  const bool is_plain = options.root_epsilon == 0.0f;
  const int32_t root = steps.tensor(is_plain ? "/factor" : "/root", file.tensor(kept).shape);
  file.add_operator(is_plain ? Builtin::RSQRT : Builtin::SQRT, 1, {kept}, root);
  int32_t y;
  if (is_plain) {
    y = steps.binary(Builtin::MUL, Kind::MulOptions, "/normal", centred, root);
  } else {
    const int32_t divisor =
        steps.binary(Builtin::ADD, Kind::AddOptions, "/divisor", root,
                     operands.add_reals(name + "/root_epsilon", {}, {options.root_epsilon}));
    y = steps.binary(Builtin::DIV, Kind::DivOptions, "/normal", centred, divisor);
  }
  y = steps.reshape("/elements", y, whole);
  y = steps.binary(Builtin::MUL, Kind::MulOptions, "/scaled", y, operands.tensor(node.inputs[1]));
  steps.binary(Builtin::ADD, Kind::AddOptions, y, operands.tensor(node.inputs[2]), result);
}

}  // namespace intaglio::exporters
