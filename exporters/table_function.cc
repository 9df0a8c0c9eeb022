#include "exporters/table_function.h"

#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <vector>

#include "calibrator/bake/lookup_tables.h"
#include "intaglio/ops.h"
#include "runtime/op_search.h"
#include "runtime/quantization_range.h"

namespace intaglio::exporters {
namespace {

constexpr size_t kTableS8 = 256;

double same_real(const NodeOptions&, double x) { return x; }

UnaryFunction function_of(Op op) {
  if (op == Op::kQuantize) return same_real;
  const int32_t index = find_op_index(all_ops(), {op, DType::kF32, DType::kF32});
  return index == kNoOp ? nullptr : all_ops()[static_cast<size_t>(index)]->quant.unary;
}

// Those of no options, and of bounds, are what most networks have.
constexpr Op kPlain[] = {Op::kQuantize, Op::kSigmoid,    Op::kTanh, Op::kHardSwish, Op::kSwish,   Op::kGelu,
                         Op::kGeluTanh, Op::kMish,       Op::kExp,  Op::kAbs,       Op::kSqrt,    Op::kRsqrt,
                         Op::kLog,      Op::kReciprocal, Op::kErf,  Op::kSoftplus,  Op::kFloor,   Op::kCeil,
                         Op::kRound,    Op::kSign,       Op::kSin,  Op::kCos,       Op::kSoftsign};
constexpr float kBounds[][2] = {{0.0f, INFINITY}, {0.0f, 6.0f}, {-1.0f, 1.0f}, {0.0f, 1.0f}};
struct Numbers {
  Op op;
  float alpha, beta;
};
constexpr Numbers kNumbers[] = {{Op::kHardSigmoid, 1.0f / 6.0f, 0.5f},
                                {Op::kHardSigmoid, 0.2f, 0.5f},
                                {Op::kElu, 1.0f, 0.0f},
                                {Op::kCelu, 1.0f, 0.0f},
                                {Op::kSelu, 1.67326319f, 1.05070102f},
                                {Op::kThresholdedRelu, 1.0f, 0.0f},
                                {Op::kPow, 2.0f, 0.0f},
                                {Op::kLeakyRelu, 0.01f, 0.0f},
                                {Op::kLeakyRelu, 0.1f, 0.0f},
                                {Op::kLeakyRelu, 0.2f, 0.0f},
                                {Op::kLeakyRelu, 0.3f, 0.0f}};

}  // namespace

TableFunction function_of_table(Span<const uint8_t> table, const TensorInfo& in, const TensorInfo& out) {
  const bool is_wide = in.dtype == DType::kS16;
  const QuantParams from{in.quantization.scales[0], in.quantization.zero_point};
  QuantParams to{out.quantization.scales[0], out.quantization.zero_point};
  if (is_wide) to.lo = -32768, to.hi = 32767;
  const auto makes = [&](Op op, const NodeOptions& options) {
    const UnaryFunction function = function_of(op);
    if (function == nullptr) return false;
    if (!is_wide) {
      std::array<int8_t, kTableS8> made;
      make_unary_table(function, options, from, to, {made.data(), made.size()});
      return std::memcmp(made.data(), table.data, table.size) == 0;
    }
    std::array<int16_t, kTableS16> made;
    make_unary_table_s16(function, options, from.scale, to, {made.data(), made.size()});
    return std::memcmp(made.data(), table.data, table.size) == 0;
  };
  if (table.size != (is_wide ? kTableS16 * sizeof(int16_t) : kTableS8)) return {};
  if (makes(Op::kQuantize, NodeOptions(Op::kQuantize))) return {Op::kQuantize, NodeOptions(Op::kQuantize)};
  for (const auto& [least, most] : kBounds) {
    NodeOptions options(Op::kClamp);
    options.as<Clamp>() = {least, most};
    if (makes(Op::kClamp, options)) return {Op::kClamp, options};
  }
  for (const Op op : kPlain)
    if (makes(op, NodeOptions(op))) return {op, NodeOptions(op)};
  std::vector<Numbers> numbers(std::begin(kNumbers), std::end(kNumbers));
  // The slope at the least code, which is the farthest from zero.
  const float x = from.scale * static_cast<float>(-128 - from.zero_point),
              y = to.scale * static_cast<float>(static_cast<int8_t>(table[0]) - to.zero_point);
  if (x < 0.0f && !is_wide) numbers.push_back({Op::kLeakyRelu, y / x, 0.0f});
  for (const Numbers& known : numbers) {
    NodeOptions options(known.op);
    options.as<UnaryOptions>() = {known.alpha, known.beta};
    if (makes(known.op, options)) return {known.op, options};
  }
  return {};
}

}  // namespace intaglio::exporters
