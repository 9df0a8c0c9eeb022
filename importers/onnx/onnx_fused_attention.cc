// onnxruntime's operators of attention, as ONNX's own Attention with products, biases and masks around it.
#include <algorithm>

#include "importers/onnx/onnx_decomposer.h"

namespace intaglio::importers {
namespace {

// Queries, keys and values [batch, steps, heads * size], or of keys and values in heads.
struct Projected {
  std::string q, k, v;
};

// What the mask in input i allows, as truth values that scores [batch, heads, queries, keys] take; "": all. Masks are
// [batch] (lengths), [batch, keys] or [batch, queries, keys].
std::string read_mask(OnnxDecomposer& s, int i, int64_t batch, int64_t queries, int64_t keys) {
  if (!s.has(i)) return {};
  const Shape shape = s.shape(i);
  const bool fits = shape.size() == 1 ? shape[0] == batch
                    : shape.size() == 2
                        ? shape[0] == batch && shape[1] == keys
                        : shape.size() == 3 && shape[0] == batch && shape[1] == queries && shape[2] == keys;
  if (!fits)
    fail("its mask has the shape ", shape_text(shape), "; [", batch, "], [", batch, ", ", keys, "] or [",
         batch, ", ", queries, ", ", keys, "] is expected");
  constexpr int64_t kMostKeys = 65536;
  if (shape.size() == 1) {
    if (keys > kMostKeys)
      fail("a mask of lengths is supported for at most ", kMostKeys, " keys, it has ", keys);
    const std::string numbers = s.as_real(s.counted(keys)), lengths = s.as_real(s.input(i));
    return s.add("Less", {s.reshaped(numbers, {1, 1, 1, keys}), s.reshaped(lengths, {shape[0], 1, 1, 1})});
  }
  const std::string truth = s.cast(s.input(i), onnx_file::TensorProto::BOOL);
  if (shape.size() == 2) return s.reshaped(truth, {shape[0], 1, 1, shape[1]});
  return s.reshaped(truth, {shape[0], 1, shape[1], shape[2]});
}

// One mask of what `allowed` says and what input `bias` adds to the scores. What is not allowed gets mask_filter_value.
std::string joined_mask(OnnxDecomposer& s, const std::string& allowed, int bias) {
  constexpr float kNothing = -1000.0f;  // what gets such a number counts as nothing
  const float filter = s.real("mask_filter_value", -10000.0f);
  if (allowed.empty()) return s.has(bias) ? s.input(bias) : "";
  if (!s.has(bias) && filter <= kNothing) return allowed;
  const std::string added = s.add("Where", {allowed, s.number(0.0f), s.number(filter)});
  return s.has(bias) ? s.add("Add", {s.input(bias), added}) : added;
}

struct Outputs {
  std::string past_k, past_v, present_k, present_v;
};

void add_attention(OnnxDecomposer& s, const Projected& x, const std::string& mask, const Outputs& states) {
  const int64_t heads = s.integer("num_heads", 0);
  if (heads < 1 || heads > 65536) fail("attribute num_heads is ", heads, "; 1 to 65536 are supported");
  OnnxAttributes attributes{
      {{"q_num_heads", heads}, {"kv_num_heads", heads}, {"is_causal", s.integer("unidirectional", 0)}},
      {},
      {},
      {}};
  if (const float scale = s.real("scale", 0.0f); scale != 0.0f) attributes.reals.push_back({"scale", scale});
  std::vector<std::string> inputs{x.q, x.k, x.v, mask};
  if (!states.past_k.empty()) inputs.insert(inputs.end(), {states.past_k, states.past_v});
  s.add("Attention", inputs, attributes, s.output(0));
  s.add_outputs({states.present_k, states.present_v});
}

// Where Attention and QAttention have what: x and weights as reals, and inputs.
struct AttentionInputs {
  std::string x, weights;
  int mask, past, bias;
};

// Of Attention: past and present hold keys and values in one tensor [2, batch, heads, steps, size].
void decompose_self_attention(OnnxDecomposer& s, const AttentionInputs& in) {
  const Shape from = s.shape(0), of_weights = s.shape(1);
  if (from.size() != 3 || of_weights.size() != 2)
    fail("its input and weights have the shapes ", shape_text(from), " and ", shape_text(of_weights),
         "; rank 3 and 2 are expected");
  for (const char* const absent : {"do_rotary", "past_present_share_buffer"})
    if (const int64_t value = s.integer(absent, 0); value != 0)
      fail("attribute ", absent, " is ", value, "; 0 is supported");
  s.ignore("rotary_embedding_dim");  // of the rotation that it has not
  std::vector<int64_t> sizes = s.list("qkv_hidden_sizes");
  if (sizes.empty()) sizes.assign(3, of_weights[1] / 3);
  if (sizes.size() != 3) fail("qkv_hidden_sizes has ", sizes.size(), " numbers where 3 are expected");
  std::string product = s.add("MatMul", {in.x, in.weights});
  if (s.has(2)) product = s.add("Add", {product, s.input(2)});
  const std::vector<std::string> parts = s.split(product, 2, sizes);
  Outputs states;
  int64_t keys = from[1];
  if (s.has(in.past)) {
    const Shape past = s.shape(in.past);
    if (past.size() != 5) fail("its past has the shape ", shape_text(past), "; rank 5 is expected");
    keys += past[3];
    const auto of = [&](int64_t i) {
      const std::string part = s.slice(s.input(in.past), 0, i, i + 1);
      return s.reshaped(part, {past[1], past[2], past[3], past[4]});
    };
    states.past_k = of(0);
    states.past_v = of(1);
  }
  if (s.has_output(1)) {
    states.present_k = s.unique(s.output(1) + "/keys");
    states.present_v = s.unique(s.output(1) + "/values");
  }
  add_attention(s, {parts[0], parts[1], parts[2]},
                joined_mask(s, read_mask(s, in.mask, from[0], from[1], keys), in.bias), states);
  if (!s.has_output(1)) return;
  const int64_t heads = std::max<int64_t>(s.integer("num_heads", 0), 1);
  const auto stacked = [&](const std::string& x, int64_t size) {
    return s.reshaped(x, {1, from[0], heads, keys, size / heads});
  };
  const std::string k = stacked(states.present_k, sizes[1]), v = stacked(states.present_v, sizes[2]);
  s.add("Concat", {k, v}, {{{"axis", 0}}, {}, {}, {}}, s.output(1));
}

void decompose_attention(OnnxDecomposer& s) {
  s.check_inputs(2, 6);
  decompose_self_attention(s, {s.input(0), s.input(1), 3, 4, 5});
}

// Input and weights are codes; the input's are what DynamicQuantizeLinear gives: reals here, with a scale beside them.
void decompose_quantized_attention(OnnxDecomposer& s) {
  s.check_inputs(5, 9);
  std::string x = s.as_real(s.input(0));
  if (s.has(6)) x = s.add("Sub", {x, s.as_real(s.input(6))});
  x = s.add("Mul", {x, s.input(3)});
  decompose_self_attention(s, {x, s.dequantized(1, 4, 7, -1), 5, 8, 9});
}

void decompose_multi_head_attention(OnnxDecomposer& s) {
  s.check_inputs(1, 8);
  if (!s.has(1) || !s.has(2)) fail("its queries, keys and values in one tensor are not supported");
  const Shape q = s.shape(0), k = s.shape(1), v = s.shape(2);
  if (q.size() != 3 || (k.size() != 3 && k.size() != 4) || v.size() != k.size())
    fail("its inputs have the shapes ", shape_text(q), ", ", shape_text(k), " and ", shape_text(v),
         "; rank 3, or 4 of keys and values, is expected");
  Projected x{s.input(0), s.input(1), s.input(2)};
  if (s.has(3)) {
    const int64_t of_values = k.size() == 3 ? v[2] : int64_t{v[1]} * v[3];
    const std::vector<std::string> biases = s.split(s.input(3), 0, {q[2], q[2], of_values});
    x.q = s.add("Add", {x.q, biases[0]});
    if (k.size() == 3) {
      x.k = s.add("Add", {x.k, biases[1]});
      x.v = s.add("Add", {x.v, biases[2]});
    }
  }
  Outputs states;
  int64_t keys = k[k.size() - 2];
  if (s.has(6) != s.has(7)) fail("it has keys or values of the past without the other");
  if (s.has(6)) {
    states.past_k = s.input(6);
    states.past_v = s.input(7);
    const Shape past = s.shape(6);
    if (past.size() == 4) keys += past[2];
  }
  if (s.has_output(1)) states.present_k = s.output(1);
  if (s.has_output(2)) states.present_v = s.output(2);
  add_attention(s, x, joined_mask(s, read_mask(s, 4, q[0], q[1], keys), 5), states);
}

constexpr OnnxDecomposition kOnnxFusedAttentionDecompositions[] = {
    {"Attention",
     decompose_attention,
     {Op::kFullyConnected, Op::kBatchMatMul, Op::kSoftmax, Op::kWhere},
     "Without rotation; the mask is [batch], [batch, keys] or [batch, queries, keys]. A row that it leaves nothing of is 0."},
    {"MultiHeadAttention",
     decompose_multi_head_attention,
     {Op::kBatchMatMul, Op::kSoftmax, Op::kWhere},
     "Queries, keys and values apart; masks as of Attention."},
    {"QAttention",
     decompose_quantized_attention,
     {Op::kFullyConnected, Op::kBatchMatMul, Op::kSoftmax, Op::kWhere},
     "As Attention. It is computed in FP32, or calibrated."},
};

}  // namespace

Span<const OnnxDecomposition> onnx_fused_attention_decompositions() {
  return kOnnxFusedAttentionDecompositions;
}

}  // namespace intaglio::importers
