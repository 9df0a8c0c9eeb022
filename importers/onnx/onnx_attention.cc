// ONNX Attention of opset 23 on: products of queries and keys, a Softmax, and a product with values, in many heads.
#include <algorithm>
#include <cmath>

#include "importers/draft/choice.h"
#include "importers/draft/masked.h"
#include "importers/draft/matrix_product.h"
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

int32_t heads_of(OnnxOp& op, const char* name) {
  const int64_t heads = op.integer(name, 0);
  if (heads < 1 || heads > 65536) fail("attribute ", name, " is ", heads, "; inputs of rank 3 need it");
  return static_cast<int32_t>(heads);
}

// [batch, heads, steps, size], of that or of [batch, steps, heads * size].
int32_t in_heads(OnnxOp& op, int input, const char* attribute) {
  const int32_t x = op.activation_or_numbers(input);
  const Shape shape = op.draft().tensor(x).shape;
  if (shape.size() == 4) return x;
  if (shape.size() != 3)
    fail("input ", input, " has the shape ", shape_text(shape), "; rank 3 or 4 is expected");
  const int32_t heads = heads_of(op, attribute);
  if (shape[2] % heads != 0) fail("its ", shape[2], " columns do not divide into ", heads, " heads");
  const std::string name = op.name() + "/heads";
  const int32_t apart =
      add_reshape(op.draft(), name, op.source(), x, {shape[0], shape[1], heads, shape[2] / heads});
  return add_transpose(op.draft(), name, op.source(), apart, {0, 2, 1, 3});
}

// What was kept of the steps before, in front of those of this run, as the node's output `output`.
int32_t with_past(OnnxOp& op, int32_t x, int input, int output) {
  if (op.has_input(input)) {
    const int32_t past = op.activation_or_numbers(input);
    Shape shape = op.draft().tensor(x).shape, before = op.draft().tensor(past).shape;
    if (before.size() != 4)
      fail("input ", input, " has the shape ", shape_text(before), "; rank 4 is expected");
    const int32_t steps = before[2];
    before[2] = shape[2];
    if (before != shape)
      fail("input ", input, " has the shape ", shape_text(op.draft().tensor(past).shape),
           ", which does not fit ", shape_text(shape));
    shape[2] = narrow(int64_t{shape[2]} + steps, "number of steps");
    const int32_t both = op.new_tensor(shape);
    op.add(Op::kConcat, {past, x}, both).options.as<ConcatOptions>().axis = 2;
    x = both;
  }
  if (op.output_count() > output && !op.output_name(output).empty()) op.set_output(x, output);
  return x;
}

// One key or value for several queries' heads.
int32_t for_each_head(OnnxOp& op, int32_t x, int32_t heads) {
  const int32_t own = op.draft().tensor(x).shape[1];
  if (own == heads) return x;
  if (heads % own != 0) fail("its ", heads, " heads of queries do not divide among ", own, " of keys");
  std::vector<int32_t> from(static_cast<size_t>(heads));
  for (int32_t i = 0; i < heads; ++i) from[static_cast<size_t>(i)] = i / (heads / own);
  return add_gather(op.draft(), op.name() + "/repeated", op.source(), x, 1, from);
}

int32_t add_aligned(OnnxOp& op, Op kind, int32_t a, int32_t b) {
  std::vector<int32_t> inputs{a, b};
  align_operands(op.draft(), op.name(), op.source(), inputs);
  return add_binary(op, kind, inputs[0], inputs[1]);
}

// Numbers that are added to the scores.
int32_t add_mask(OnnxOp& op, int32_t scores, int32_t mask) {
  if (op.draft().tensor(mask).constant) {
    std::vector<float> values = values_of<float>(op.draft().tensor(mask));
    for (float& value : values) value = std::clamp(value, -kMasked, kMasked);
    mask = add_constant(op.draft(), op.input_name(3), DType::kF32, op.draft().tensor(mask).shape, values);
  }
  return add_aligned(op, Op::kAdd, scores, mask);
}

// 1 where the key does not come later than the query, else 0.
int32_t causal_condition(OnnxOp& op, const Shape& scores, int32_t past) {
  const int32_t queries = scores[2], keys = scores[3];
  op.draft().budget->check_numbers(int64_t{queries} * keys);
  std::vector<float> triangle;
  for (int32_t q = 0; q < queries; ++q)
    for (int32_t k = 0; k < keys; ++k) triangle.push_back(k <= q + past ? 1.0f : 0.0f);
  return add_constant(op.draft(), op.name() + "/causal", DType::kF32, {1, 1, queries, keys}, triangle);
}

// Softmax over what the condition allows; a row that it leaves nothing of becomes 0.
int32_t add_weights(OnnxOp& op, int32_t scores, int32_t condition, bool may_be_empty) {
  if (condition >= 0) {
    const int32_t low =
        add_constant(op.draft(), op.name() + "/low", DType::kF32, {1, 1, 1, 1}, std::vector<float>{-kMasked});
    std::vector<int32_t> inputs{condition, scores, low};
    scores = op.new_tensor(align_operands(op.draft(), op.name(), op.source(), inputs));
    add_where(op.draft(), op.name(), op.source(), inputs, scores);
    condition = inputs[0];
  }
  const int32_t weights = add_unary(op, Op::kSoftmax, scores);
  return may_be_empty ? add_binary(op, Op::kMul, weights, condition) : weights;
}

void import_attention(OnnxOp& op) {
  op.check_inputs(3, 6);
  op.ignore("softmax_precision");
  if (op.integer("qk_matmul_output_mode", 0) != 0 && op.output_count() > 3)
    fail("its output of scores is not supported");
  for (int i = 3; i < op.output_count(); ++i)
    if (!op.output_name(i).empty()) fail("its output of scores is not supported");
  const float softcap = op.real("softcap", 0.0f);
  if (!(softcap >= 0.0f && std::isfinite(softcap))) fail("its softcap is ", softcap);
  const bool joined = op.draft().tensor(op.activation_or_numbers(0)).shape.size() == 3;
  const int32_t q = in_heads(op, 0, "q_num_heads");
  int32_t k = in_heads(op, 1, "kv_num_heads"), v = in_heads(op, 2, "kv_num_heads");
  op.ignore("q_num_heads");
  op.ignore("kv_num_heads");
  const Shape queries = op.draft().tensor(q).shape;
  const int32_t own_steps = op.draft().tensor(k).shape[2];
  k = with_past(op, k, 4, 1);
  v = with_past(op, v, 5, 2);
  const int32_t past = op.draft().tensor(k).shape[2] - own_steps;
  k = for_each_head(op, k, queries[1]);
  v = for_each_head(op, v, queries[1]);
  const float scale = op.real("scale", 1.0f / std::sqrt(static_cast<float>(queries[3])));
  if (!std::isfinite(scale)) fail("its scale is ", scale);
  int32_t scores =
      add_scaled(op, add_matrix_product(op.draft(), op.name() + "/scores", op.source(), q, k, true), scale);
  if (softcap > 0.0f)
    scores = add_scaled(op, add_unary(op, Op::kTanh, add_scaled(op, scores, 1.0f / softcap)), softcap);
  const Shape of_scores = op.draft().tensor(scores).shape;
  int32_t condition = op.integer("is_causal", 0) != 0 ? causal_condition(op, of_scores, past) : -1;
  bool is_choice = false;
  if (op.has_input(3)) {
    const int32_t mask = op.activation_or_numbers(3);
    is_choice = op.is_truth(3);
    if (!is_choice) scores = add_mask(op, scores, mask);
    if (is_choice) condition = condition < 0 ? mask : add_aligned(op, Op::kMinimum, condition, mask);
  }
  const int32_t weights = add_weights(op, scores, condition, is_choice);
  int32_t y = add_matrix_product(op.draft(), op.output_name(), op.source(), weights, v, false);
  if (joined) {
    y = add_transpose(op.draft(), op.output_name(), op.source(), y, {0, 2, 1, 3});
    const Shape shape = op.draft().tensor(y).shape;
    y = add_reshape(op.draft(), op.output_name(), op.source(), y,
                    {shape[0], shape[1], narrow(int64_t{shape[2]} * shape[3], "number of columns")});
  }
  op.set_output(y);
}

constexpr OnnxOperator kOnnxAttentionOperators[] = {
    {"Attention",
     import_attention,
     {Op::kBatchMatMul, Op::kSoftmax, Op::kWhere, Op::kMul},
     "Without an output of scores, and lengths of its own for each row of the batch."},
};

}  // namespace

Span<const OnnxOperator> onnx_attention_operators() { return kOnnxAttentionOperators; }

}  // namespace intaglio::importers
