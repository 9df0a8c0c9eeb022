// Functions of one value, tables of codes and normalizations of a model as nodes of an ONNX graph.
#include <cmath>
#include <utility>

#include "exporters/onnx/model_values.h"
#include "importers/draft/import_error.h"

namespace intaglio::exporters {
namespace {

// ONNX's own, and the attributes that take `alpha` and `beta`.
struct Function {
  Op op;
  const char* name;
  const char* alpha = nullptr;
  const char* beta = nullptr;
};
constexpr Function kFunctions[] = {{Op::kSigmoid, "Sigmoid"},
                                   {Op::kTanh, "Tanh"},
                                   {Op::kHardSwish, "HardSwish"},
                                   {Op::kExp, "Exp"},
                                   {Op::kAbs, "Abs"},
                                   {Op::kSqrt, "Sqrt"},
                                   {Op::kReciprocal, "Reciprocal"},
                                   {Op::kLog, "Log"},
                                   {Op::kErf, "Erf"},
                                   {Op::kSoftplus, "Softplus"},
                                   {Op::kFloor, "Floor"},
                                   {Op::kCeil, "Ceil"},
                                   {Op::kRound, "Round"},
                                   {Op::kSign, "Sign"},
                                   {Op::kSin, "Sin"},
                                   {Op::kCos, "Cos"},
                                   {Op::kSoftsign, "Softsign"},
                                   {Op::kLeakyRelu, "LeakyRelu", "alpha"},
                                   {Op::kElu, "Elu", "alpha"},
                                   {Op::kCelu, "Celu", "alpha"},
                                   {Op::kThresholdedRelu, "ThresholdedRelu", "alpha"},
                                   {Op::kSelu, "Selu", "alpha", "gamma"},
                                   {Op::kHardSigmoid, "HardSigmoid", "alpha", "beta"},
                                   {Op::kShrink, "Shrink", "lambd", "bias"}};

}  // namespace

std::string write_function(ModelValues& values, const NodeInfo& node, Op op, const NodeOptions& options,
                           const std::string& x) {
  const auto numbers = options.value<UnaryOptions>();
  for (const Function& function : kFunctions) {
    if (function.op != op) continue;
    OnnxNode& made = values.add(node, function.name, {x});
    if (function.alpha != nullptr) set_real(made, function.alpha, numbers.alpha);
    if (function.beta != nullptr) set_real(made, function.beta, numbers.beta);
    return made.output[0];
  }
  const auto step = [&](const char* name, const char* suffix, const std::vector<std::string>& inputs) {
    return std::string(values.add(node, name, inputs, suffix).output[0]);
  };
  const auto number = [&](const char* suffix, float value) { return values.reals(node, suffix, {value}); };
  switch (op) {
    case Op::kQuantize: {
      // Codes in another scale. A quantizer behind a dequantizer would be joined with the one before by onnxruntime, which gives both a
      // third scale: a function that changes nothing stands between.
      OnnxNode& made = values.add(node, "LeakyRelu", {x});
      set_real(made, "alpha", 1.0f);
      return made.output[0];
    }
    case Op::kClamp: {
      const auto& clamp = options.as<Clamp>();
      if (clamp.min == 0.0f && clamp.max == INFINITY) return step("Relu", "", {x});
      return step("Clip", "", {x, number("/least", clamp.min), number("/most", clamp.max)});
    }
    case Op::kRsqrt:
      return step("Reciprocal", "", {step("Sqrt", "/root", {x})});
    case Op::kPow:
      return step("Pow", "", {x, number("/exponent", numbers.alpha)});
    case Op::kSwish:
      return step("Mul", "", {x, step("Sigmoid", "/sigmoid", {x})});
    case Op::kMish:
      return step("Mul", "", {x, step("Tanh", "/tanh", {step("Softplus", "/softplus", {x})})});
    case Op::kGelu: {
      const std::string erf =
          step("Erf", "/erf", {step("Div", "/scaled", {x, number("/divisor", std::sqrt(2.0f))})});
      const std::string sum = step("Add", "/sum", {erf, number("/one", 1.0f)});
      return step("Mul", "", {step("Mul", "/product", {x, sum}), number("/half", 0.5f)});
    }
    case Op::kGeluTanh: {
      const std::string cube = step("Pow", "/cube", {x, number("/three", 3.0f)});
      const std::string inner =
          step("Add", "/inner", {x, step("Mul", "/part", {cube, number("/factor", 0.044715f)})});
      const std::string root = number("/root", std::sqrt(2.0f / 3.14159265358979f));
      const std::string tanh = step("Tanh", "/tanh", {step("Mul", "/scaled", {inner, root})});
      const std::string sum = step("Add", "/sum", {tanh, number("/one", 1.0f)});
      return step("Mul", "", {step("Mul", "/product", {x, sum}), number("/half", 0.5f)});
    }
    default:
      importers::fail("ONNX has no such operator, or none that is written here");
  }
}

std::string write_table(ModelValues& values, const Model& model, const NodeInfo& node) {
  const TensorInfo in = model.tensor(node.inputs[0]), out = model.tensor(node.outputs[0]),
                   table = model.tensor(node.inputs[1]);
  const std::string x = values.value(node.inputs[0]);
  // The code + 128, and 256 more for each table before the channel's own, as an index into the tables.
  std::vector<float> starts, reals;
  const auto add_start = [&](int32_t first) {
    starts.push_back(static_cast<float>(first + 128 + in.quantization.zero_point) +
                     0.5f);  // Cast rounds down
  };
  if (node.op == Op::kGroupedLookup)
    for (const uint8_t group : model.tensor(node.inputs[2]).constant) add_start(256 * group);
  else
    for (size_t first = 0; first < table.constant.size; first += 256) add_start(static_cast<int32_t>(first));
  for (const uint8_t code : table.constant)
    reals.push_back(out.quantization.scales[0] *
                    static_cast<float>(static_cast<int8_t>(code) - out.quantization.zero_point));
  const std::string steps =
      values.add(node, "Div", {x, values.reals(node, "/step", {in.quantization.scales[0]})}, "/steps")
          .output[0];
  const std::string places =
      values.add(node, "Add", {steps, values.reals(node, "/starts", starts)}, "/places").output[0];
  OnnxNode& indices = values.add(node, "Cast", {places}, "/indices");
  set_attribute(indices, "to", OnnxTensor::INT32);
  return values.add(node, "Gather", {values.reals(node, "/table", reals), indices.output[0]}).output[0];
}

std::string write_normalize(ModelValues& values, const Model& model, const NodeInfo& node) {
  const auto& options = node.options.as<NormalizeOptions>();
  const Shape shape = model.tensor(node.inputs[0]).shape;
  const std::string scale = values.value(node.inputs[1]), shift = values.value(node.inputs[2]);
  const std::string x = values.value(node.inputs[0]);
  const int64_t channels = shape.back(0);
  if (!options.over_map && options.groups == 1 && !options.keeps_mean && options.root_epsilon == 0.0f) {
    OnnxNode& made = values.add(node, "LayerNormalization", {x, scale, shift});
    set_attribute(made, "axis", -1);
    set_real(made, "epsilon", options.epsilon);
    return made.output[0];
  }
  const auto step = [&](const char* name, const char* suffix, const std::vector<std::string>& inputs) {
    return std::string(values.add(node, name, inputs, suffix).output[0]);
  };
  // [batches, places, groups, depth], of which places and depth share a mean.
  const int32_t first_place = options.over_map ? 1 : shape.rank - 1;
  const std::vector<int64_t> grouped{shape.elements(0, first_place),
                                     shape.elements(first_place, shape.rank - 1), options.groups,
                                     channels / options.groups};
  const auto mean = [&](const char* suffix, const std::string& of) {
    return values.add_reduction(node, "ReduceMean", of, {1, 3}, true, suffix);
  };
  const std::string groups = step("Reshape", "/groups", {x, values.integers(node, "/groups/shape", grouped)});
  const std::string centred =
      options.keeps_mean ? groups : step("Sub", "/centred", {groups, mean("/mean", groups)});
  const std::string variance = mean("/variance", step("Mul", "/squares", {centred, centred}));
  const auto more = [&](const char* suffix, const std::string& of, const char* constant, float epsilon) {
    return epsilon == 0.0f ? of : step("Add", suffix, {of, values.reals(node, constant, {epsilon})});
  };
  const std::string root = step("Sqrt", "/deviation", {more("/kept", variance, "/epsilon", options.epsilon)});
  const std::string deviation = more("/divisor", root, "/root_epsilon", options.root_epsilon);
  const std::string normal = step("Div", "/normal", {centred, deviation});
  const std::string elements =
      step("Reshape", "/elements", {normal, values.integers(node, "/elements/shape", dims_of(shape))});
  return step("Add", "", {step("Mul", "/scaled", {elements, scale}), shift});
}

}  // namespace intaglio::exporters
