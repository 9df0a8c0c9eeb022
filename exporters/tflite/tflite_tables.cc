#include "exporters/tflite/tflite_operands.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "calibrator/bake/lookup_tables.h"
#include "intaglio/ops.h"
#include "runtime/op_search.h"

namespace intaglio::exporters {
namespace {

using tflite::Builtin;
using Table = std::array<int8_t, 256>;

QuantParams params(const TensorInfo& info) {
  return {info.quantization.scales[0], info.quantization.zero_point};
}

Table table_of(UnaryFunction function, const TensorInfo& in, const TensorInfo& out) {
  Table table;
  make_unary_table(function, {}, params(in), params(out), {table.data(), table.size()});
  return table;
}

double same_real(const NodeOptions&, double x) { return x; }

// The operator that makes this table.
struct Found {
  bool is_known = false;
  Builtin code{};
  int32_t version = 2;
};
Found find_operator(const Table& table, const TensorInfo& in, const TensorInfo& out) {
  const Table same = table_of(same_real, in, out);
  if (table == same) return {true, Builtin::QUANTIZE, 1};
  const auto bounded = [&](float most) {
    Table clamped = same;
    const int8_t lo = static_cast<int8_t>(quantize_value(0.0f, params(out))),
                 hi = static_cast<int8_t>(quantize_value(most, params(out)));
    for (int8_t& code : clamped) code = std::clamp(code, lo, hi);
    return clamped;
  };
  if (table == bounded(3.0e38f)) return {true, Builtin::RELU};
  if (table == bounded(6.0f)) return {true, Builtin::RELU6};
  struct Function {
    Op op;
    Builtin code;
    int32_t version;
    QuantParams fixed;  // the only grid that TFLite allows its result; a scale of 0: any
  };
  constexpr Function kFunctions[] = {{Op::kSigmoid, Builtin::LOGISTIC, 2, {0x1p-8f, -128}},
                                     {Op::kTanh, Builtin::TANH, 2, {0x1p-7f, 0}},
                                     {Op::kHardSwish, Builtin::HARD_SWISH, 1, {0.0f, 0}}};
  for (const Function& function : kFunctions) {
    const bool allows = function.fixed.scale == 0.0f || (params(out).scale == function.fixed.scale &&
                                                         params(out).zero_point == function.fixed.zero_point);
    if (!allows) continue;
    const int32_t index = find_op_index(all_ops(), {function.op, DType::kF32, DType::kF32});
    if (index == kNoOp) continue;
    const UnaryFunction real = all_ops()[static_cast<size_t>(index)]->quant.unary;
    if (real != nullptr && table == table_of(real, in, out)) return {true, function.code, function.version};
  }
  return {};
}

}  // namespace

void write_lookup(const Model& model, TfliteFile& file, TfliteOperands& operands, const NodeInfo& node) {
  const TensorInfo in = model.tensor(node.inputs[0]), out = model.tensor(node.outputs[0]),
                   constant = model.tensor(node.inputs[1]);
  const int32_t x = operands.tensor(node.inputs[0]), y = operands.tensor(node.outputs[0]);
  const auto count = static_cast<int32_t>(constant.constant.size);
  if (count == 256 && node.op == Op::kLookup) {
    Table table;
    std::memcpy(table.data(), constant.constant.data, table.size());
    const Found found = find_operator(table, in, out);
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
