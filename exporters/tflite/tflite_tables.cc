#include "exporters/table_function.h"
#include "exporters/tflite/tflite_operands.h"

namespace intaglio::exporters {
namespace {

using tflite::Builtin;

// The operator that makes this table.
struct Found {
  bool is_known = false;
  Builtin code{};
  int32_t version = 2;
};
Found find_operator(Span<const uint8_t> table, const TensorInfo& in, const TensorInfo& out) {
  const TableFunction made = function_of_table(table, in, out);
  if (made.op == Op::kQuantize) return {true, Builtin::QUANTIZE, 1};
  if (made.op == Op::kClamp) {
    const auto& clamp = made.options.as<Clamp>();
    if (clamp.min == 0.0f && clamp.max != 1.0f)
      return {true, clamp.max == 6.0f ? Builtin::RELU6 : Builtin::RELU};
    return {};
  }
  struct Function {
    Op op;
    Builtin code;
    int32_t version;
    float scale;  // of the only grid that TFLite allows its result; 0: any
    int32_t zero_point;
  };
  constexpr Function kFunctions[] = {{Op::kSigmoid, Builtin::LOGISTIC, 2, 0x1p-8f, -128},
                                     {Op::kTanh, Builtin::TANH, 2, 0x1p-7f, 0},
                                     {Op::kHardSwish, Builtin::HARD_SWISH, 1, 0.0f, 0}};
  for (const Function& function : kFunctions) {
    const bool allows = function.scale == 0.0f || (out.quantization.scales[0] == function.scale &&
                                                   out.quantization.zero_point == function.zero_point);
    if (allows && made.op == function.op) return {true, function.code, function.version};
  }
  return {};
}

}  // namespace

void write_lookup(const Model& model, TfliteFile& file, TfliteOperands& operands, const NodeInfo& node) {
  const TensorInfo in = model.tensor(node.inputs[0]), out = model.tensor(node.outputs[0]),
                   constant = model.tensor(node.inputs[1]);
  const int32_t x = operands.tensor(node.inputs[0]), y = operands.tensor(node.outputs[0]);
  const auto count = static_cast<int32_t>(constant.constant.size);
  if (node.op == Op::kLookup) {
    const Found found = find_operator(constant.constant, in, out);
    if (found.is_known) return file.add_operator(found.code, found.version, {x}, y);
  }
  // The code + 128, and 256 more for each table before the channel's own, as an index into the tables.
  const std::string name = out.name;
  TfliteTensor values{name + "/table",
                      DType::kS8,
                      {count},
                      {out.quantization.scales[0]},
                      out.quantization.zero_point,
                      0,
                      {constant.constant.begin(), constant.constant.end()},
                      true};
  TfliteTensor codes{name + "/codes", DType::kS32, file.tensor(x).shape, {}, 0, 0, {}, false};
  TfliteTensor indices = codes;
  indices.name = name + "/indices";
  const int32_t from = file.add_tensor(std::move(codes)), at = file.add_tensor(std::move(indices));
  std::vector<int32_t> starts;
  if (node.op == Op::kGroupedLookup)
    for (const uint8_t group : model.tensor(node.inputs[2]).constant) starts.push_back(256 * group + 128);
  else
    for (int32_t first = 0; first < count; first += 256) starts.push_back(first + 128);
  file.add_operator(Builtin::CAST, 1, {x}, from);
  file.add_operator(Builtin::ADD, 1, {from, file.add_numbers(name + "/starts", starts)}, at,
                    tflite::Options::AddOptions, tflite::CreateAddOptions(file.builder()).Union());
  file.add_operator(Builtin::GATHER, 2, {file.add_tensor(std::move(values)), at}, y,
                    tflite::Options::GatherOptions, tflite::CreateGatherOptions(file.builder()).Union());
}

}  // namespace intaglio::exporters
