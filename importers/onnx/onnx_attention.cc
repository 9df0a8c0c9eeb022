// ONNX Attention of opset 23 on: products of queries and keys, a Softmax, and a product with values, in many heads.
#include <algorithm>
#include <cmath>

#include "importers/draft/draft.h"
#include "importers/onnx/onnx_decomposer.h"
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
  const Shape shape = op.shape(x);
  if (shape.size() == 4) return x;
  if (shape.size() != 3)
    fail("input ", input, " has the shape ", shape_text(shape), "; rank 3 or 4 is expected");
  const int32_t heads = heads_of(op, attribute);
  if (shape[2] % heads != 0) fail("its ", shape[2], " columns do not divide into ", heads, " heads");
  const std::string name = op.name() + "/heads";
  const int32_t apart = add_reshape(op.named(name), x, {shape[0], shape[1], heads, shape[2] / heads});
  return add_transpose(op.named(name), apart, {0, 2, 1, 3});
}

// The past steps in front of those of this run, as the node's output `output`.
int32_t with_past(OnnxOp& op, int32_t x, int input, int output) {
  if (op.has_input(input)) {
    const int32_t past = op.activation_or_numbers(input);
    Shape shape = op.shape(x), before = op.shape(past);
    if (before.size() != 4)
      fail("input ", input, " has the shape ", shape_text(before), "; rank 4 is expected");
    const int32_t steps = before[2];
    before[2] = shape[2];
    if (before != shape)
      fail("input ", input, " has the shape ", shape_text(op.shape(past)), ", which does not fit ",
           shape_text(shape));
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
  const int32_t own = op.shape(x)[1];
  if (own == heads) return x;
  if (heads % own != 0) fail("its ", heads, " heads of queries do not divide among ", own, " of keys");
  std::vector<int32_t> from(static_cast<size_t>(heads));
  for (int32_t i = 0; i < heads; ++i) from[static_cast<size_t>(i)] = i / (heads / own);
  return add_gather(op.part("/repeated"), x, 1, from);
}

// Numbers that are added to the scores.
int32_t add_mask(OnnxOp& op, int32_t scores, int32_t mask) {
  if (op.draft().tensor(mask).constant) {
    std::vector<float> values = values_of<float>(op.draft().tensor(mask));
    for (float& value : values) value = std::clamp(value, -kMasked, kMasked);
    mask = add_constant(op.draft(), op.input_name(3), DType::kF32, op.shape(mask), values);
  }
  return add_binary(op, Op::kAdd, scores, mask);
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
    scores = add_choice(op, inputs);
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
  const bool joined = op.shape(op.activation_or_numbers(0)).size() == 3;
  const int32_t q = in_heads(op, 0, "q_num_heads");
  int32_t k = in_heads(op, 1, "kv_num_heads"), v = in_heads(op, 2, "kv_num_heads");
  op.ignore("q_num_heads");
  op.ignore("kv_num_heads");
  const Shape queries = op.shape(q);
  const int32_t own_steps = op.shape(k)[2];
  k = with_past(op, k, 4, 1);
  v = with_past(op, v, 5, 2);
  const int32_t past = op.shape(k)[2] - own_steps;
  k = for_each_head(op, k, queries[1]);
  v = for_each_head(op, v, queries[1]);
  const float scale = op.real("scale", 1.0f / std::sqrt(static_cast<float>(queries[3])));
  if (!std::isfinite(scale)) fail("its scale is ", scale);
  int32_t scores = add_scaled(op, add_matrix_product(op.part("/scores"), q, k, true), scale);
  if (softcap > 0.0f)
    scores = add_scaled(op, add_unary(op, Op::kTanh, add_scaled(op, scores, 1.0f / softcap)), softcap);
  const Shape of_scores = op.shape(scores);
  int32_t condition = op.integer("is_causal", 0) != 0 ? causal_condition(op, of_scores, past) : -1;
  bool is_choice = false;
  if (op.has_input(3)) {
    const int32_t mask = op.activation_or_numbers(3);
    is_choice = op.is_truth(3);
    if (!is_choice) scores = add_mask(op, scores, mask);
    if (is_choice) condition = condition < 0 ? mask : add_binary(op, Op::kMinimum, condition, mask);
  }
  const int32_t weights = add_weights(op, scores, condition, is_choice);
  int32_t y = add_matrix_product(op.result(), weights, v, false);
  if (joined) {
    y = add_transpose(op.result(), y, {0, 2, 1, 3});
    const Shape shape = op.shape(y);
    y = add_reshape(op.result(), y,
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

// onnxruntime's operators of attention, as ONNX's own Attention with products, biases and masks around it.

namespace {

// Queries, keys and values [batch, steps, heads * size], or of keys and values in heads.
struct Projected {
  std::string q, k, v;
};

// The places that the mask in input i allows, as truth values that scores [batch, heads, queries, keys] take; "": all. Masks are
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
      {"q_num_heads", heads}, {"kv_num_heads", heads}, {"is_causal", s.integer("unidirectional", 0)}};
  if (const float scale = s.real("scale", 0.0f); scale != 0.0f) attributes.push_back({"scale", scale});
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

// In Attention, past and present hold keys and values in one tensor [2, batch, heads, steps, size].
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
  s.add("Concat", {k, v}, {{"axis", 0}}, s.output(1));
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

// onnxruntime's attention of language models: rotated queries and keys, fewer heads of keys than of queries, and a cache.

std::string joined_steps(OnnxDecomposer& s, const std::vector<std::string>& parts, int64_t axis) {
  return s.add("Concat", parts, {{"axis", axis}});
}

// Pairs of numbers of a head, turned by angles: (a, b) becomes (a cos - b sin, a sin + b cos). A pair is the numbers i and
// i + half, or 2 i and 2 i + 1 where it is interleaved. What is behind the pairs stays.
struct Rotation {
  std::string cosines, sines;  // of shapes that products with a and b take
  int64_t half;                // pairs
  bool interleaved;

  // x of shape `dims`, whose last axis is a head.
  std::string of(OnnxDecomposer& s, const std::string& x, const std::vector<int64_t>& dims) const {
    const int64_t axis = static_cast<int64_t>(dims.size()) - 1, size = dims.back();
    std::vector<int64_t> each = dims;
    std::string turned = x, rest, a, b;
    if (2 * half < size) {
      const std::vector<std::string> parts = s.split(x, axis, {2 * half, size - 2 * half});
      turned = parts[0];
      rest = parts[1];
    }
    each.back() = half;
    if (interleaved) {
      std::vector<int64_t> pairs = each;
      pairs.push_back(2);
      const std::vector<std::string> parts = s.split(s.reshaped(turned, pairs), axis + 1, {1, 1});
      a = s.reshaped(parts[0], each);
      b = s.reshaped(parts[1], each);
    } else {
      const std::vector<std::string> parts = s.split(turned, axis, {half, half});
      a = parts[0];
      b = parts[1];
    }
    const auto product = [&](const std::string& value, const std::string& by) {
      return s.add("Mul", {value, by});
    };
    std::string first = s.add("Sub", {product(a, cosines), product(b, sines)});
    std::string second = s.add("Add", {product(a, sines), product(b, cosines)});
    if (interleaved) {
      std::vector<int64_t> apart = each, whole = each;
      apart.push_back(1);
      whole.back() = 2 * half;
      turned =
          s.reshaped(joined_steps(s, {s.reshaped(first, apart), s.reshaped(second, apart)}, axis + 1), whole);
    } else {
      turned = joined_steps(s, {first, second}, axis);
    }
    return rest.empty() ? turned : joined_steps(s, {turned, rest}, axis);
  }
};

// How many pairs of numbers a row of a table turns.
int64_t row_of(const Shape& table) {
  if (table.empty()) fail("its table of angles is a single number");
  return table.back();
}

// The angles of each step, from tables [positions, half] and places, or a row for each step already.
struct Angles {
  int cosines, sines;  // inputs
  std::string places;  // integers, as many as batch * steps or as steps; "": rows
};

Rotation rotation(OnnxDecomposer& s, const Angles& angles, const std::vector<int64_t>& shape,
                  bool interleaved) {
  const auto rows = [&](int input) {
    const std::string& table = s.input(input);
    return s.reshaped(angles.places.empty() ? table : s.add("Gather", {table, angles.places}), shape);
  };
  return {rows(angles.cosines), rows(angles.sines), shape.back(), interleaved};
}

// com.microsoft's operator has places before the tables, ONNX's has them behind.
void decompose_rotary(OnnxDecomposer& s, bool is_standard) {
  s.check_inputs(is_standard ? 3 : 4, 4);
  s.check_one_output();
  if (s.integer("is_packed_batching", 0) != 0) fail("packed batches are not supported");
  s.ignore("scale");  // onnxruntime reads it and does nothing with it
  const int cosines = is_standard ? 1 : 2, places = is_standard ? 3 : 1;
  const Shape x = s.shape(0), table = s.shape(cosines);
  if (x.size() != 3 && x.size() != 4)
    fail("its input has the shape ", shape_text(x), "; rank 3 or 4 is expected");
  const bool in_heads = x.size() == 4;
  const int64_t batch = x[0], steps = x[in_heads ? 2 : 1], half = row_of(table);
  int64_t heads = s.integer("num_heads", 0);
  const int64_t turned = s.integer("rotary_embedding_dim", 0);
  if (turned != 0 && turned != 2 * half) fail("it turns ", turned, " numbers by a table for ", 2 * half);
  if (in_heads)
    heads = x[1];
  else if (heads == 0 && half > 0)
    heads = x[2] / (2 * half);
  if (heads < 1 || (!in_heads && x[2] % heads != 0))
    fail("its ", x.back(), " columns do not divide into ", heads, " heads");
  const int64_t size = in_heads ? x[3] : x[2] / heads;
  if (half < 1 || 2 * half > size) fail("its table turns ", 2 * half, " numbers of heads of ", size);
  Angles angles{cosines, cosines + 1, {}};
  int64_t rows = batch;
  if (s.has(places)) {
    const Shape of_places = s.shape(places);
    angles.places = s.input(places);
    if (of_places.size() <= 1) {  // where the first step is
      angles.places =
          s.add("Add", {s.cast(s.input(places), onnx_file::TensorProto::INT64), s.counted(steps)});
      rows = 1;
    }
  }
  const std::vector<int64_t> dims = in_heads ? std::vector<int64_t>{batch, heads, steps, size}
                                             : std::vector<int64_t>{batch, steps, heads, size};
  const std::vector<int64_t> shape =
      in_heads ? std::vector<int64_t>{rows, 1, steps, half} : std::vector<int64_t>{rows, steps, 1, half};
  const Rotation turn = rotation(s, angles, shape, s.integer("interleaved", 0) != 0);
  if (in_heads) return s.end(turn.of(s, s.input(0), dims));
  s.reshaped(turn.of(s, s.reshaped(s.input(0), dims), dims), {batch, steps, heads * size}, s.output(0));
}
void decompose_rotary_embedding(OnnxDecomposer& s) { decompose_rotary(s, s.is_standard()); }

enum GroupInput { kQuery, kKey, kValue, kPastKey, kPastValue, kLengths, kTotal, kCos, kSin, kPlaces, kBias };

class GroupAttention {
 public:
  explicit GroupAttention(OnnxDecomposer& s) : s_(s) {}

  void decompose() {
    read();
    std::string q = s_.input(kQuery), k, v;
    if (s_.has(kKey)) {
      k = s_.input(kKey);
      v = s_.input(kValue);
    } else {
      const std::vector<std::string> parts =
          s_.split(q, 2, {heads_ * size_, key_heads_ * size_, key_heads_ * size_});
      q = parts[0];
      k = parts[1];
      v = parts[2];
    }
    if (s_.integer("do_rotary", 0) != 0) turn(q, k);
    s_.ignore("rotary_interleaved");
    OnnxAttributes attributes{{"q_num_heads", heads_}, {"kv_num_heads", key_heads_}};
    if (const float scale = s_.real("scale", 0.0f); scale != 0.0f) attributes.push_back({"scale", scale});
    if (const float cap = s_.real("softcap", 0.0f); cap != 0.0f) attributes.push_back({"softcap", cap});
    const bool wants = s_.has_output(1) || s_.has_output(2);
    const std::string present_k = s_.has_output(1) ? s_.output(1) : s_.unique(s_.output(0) + "/keys"),
                      present_v = s_.has_output(2) ? s_.output(2) : s_.unique(s_.output(0) + "/values");
    const bool appends = place_ >= 0 && place_ + steps_ == kept_;
    if (appends && place_ == 0 && !wants) {
      s_.add("Attention", {q, k, v, mask()}, attributes, s_.output(0));
      return;
    }
    if (appends && place_ == past_ && past_ > 0) {
      s_.add("Attention", {q, k, v, mask(), s_.input(kPastKey), s_.input(kPastValue)}, attributes,
             s_.output(0));
      s_.add_outputs({present_k, present_v});
      return;
    }
    const std::string keys = kept(k, kPastKey, present_k), values = kept(v, kPastValue, present_v);
    s_.add("Attention", {q, keys, values, mask()}, attributes, s_.output(0));
  }

 private:
  void read() {
    s_.check_inputs(7, 14);
    for (int i = kBias + 1; i < s_.input_count(); ++i)
      if (s_.has(i))
        fail("its input ", quoted(s_.input(i)), " is not supported: sinks and caches of codes are not");
    if (s_.has_output(3)) fail("its output of scores is not supported");
    if (s_.integer("smooth_softmax", 0) > 0) fail("smooth_softmax is not supported");
    if (s_.integer("qk_output", 0) != 0) fail("its output of scores is not supported");
    for (const char* name : {"k_quant_type", "v_quant_type"})
      if (s_.string(name, "NONE") != "NONE") fail(name, " is not supported: a cache is of floats");
    s_.ignore("kv_cache_bit_width");
    heads_ = s_.integer("num_heads", 0);
    key_heads_ = s_.integer("kv_num_heads", 0);
    if (heads_ < 1 || heads_ > 65536 || key_heads_ < 1 || heads_ % key_heads_ != 0)
      fail("its ", heads_, " heads of queries do not divide among ", key_heads_, " of keys");
    const Shape q = s_.shape(kQuery);
    if (q.size() != 3) fail("its queries have the shape ", shape_text(q), "; rank 3 is expected");
    if (s_.has(kKey) != s_.has(kValue)) fail("it has keys or values without the other");
    const int64_t heads = s_.has(kKey) ? heads_ : heads_ + 2 * key_heads_;
    if (q[2] % heads != 0) fail("its ", q[2], " columns do not divide into ", heads, " heads");
    batch_ = q[0];
    steps_ = q[1];
    size_ = q[2] / heads;
    if (s_.has(kPastKey) != s_.has(kPastValue)) fail("it has keys or values of the past without the other");
    if (s_.has(kPastKey)) {
      const Shape past = s_.shape(kPastKey);
      if (past.size() != 4) fail("its past has the shape ", shape_text(past), "; rank 4 is expected");
      past_ = past[2];
    }
    const std::vector<int64_t> total = s_.constant(kTotal);
    if (total.size() != 1)
      fail(
          "input ", quoted(s_.input(kTotal)),
          " (the number of steps in all) is computed by a run; only one that the file and its shapes decide is "
          "supported");
    if (total[0] < steps_) fail("it has ", total[0], " steps in all, of which ", steps_, " are new");
    kept_ = std::max(total[0], past_);
    window_ = s_.integer("local_window_size", -1);
    if (total[0] == steps_) {  // nothing came before
      place_ = 0;
      return;
    }
    const std::vector<int64_t> lengths = s_.constant(kLengths);
    for (const int64_t length : lengths) {
      if (length != lengths[0]) fail("its rows have lengths of their own; one length is supported");
      const int64_t all = std::clamp<int64_t>(length, -1, INT32_MAX) + 1;
      place_ = all - steps_;
      if (place_ < 0 || place_ > past_ || all > kept_)
        fail("it has ", all, " steps, of which ", steps_, " are new and ", past_, " are kept at most");
    }
    if (place_ >= 0) return;
    if (batch_ != 1) fail("its lengths are computed by a run, and its batch is ", batch_, "; 1 is supported");
    const std::string length = s_.reshaped(s_.as_real(s_.input(kLengths)), {1});
    place_of_run_ = s_.add("Add", {length, s_.number(static_cast<float>(1 - steps_))});
  }

  // The number of steps before, as a real of one element.
  std::string place() { return place_ >= 0 ? s_.number(static_cast<float>(place_)) : place_of_run_; }

  void turn(std::string& q, std::string& k) {
    if (!s_.has(kCos) || !s_.has(kSin)) fail("it turns queries and keys, and has no tables of angles");
    const int64_t half = row_of(s_.shape(kCos));
    if (half < 1 || 2 * half > size_) fail("its table turns ", 2 * half, " numbers of heads of ", size_);
    Angles angles{kCos, kSin, {}};
    int64_t rows = 1;
    if (s_.has(kPlaces)) {
      angles.places = s_.input(kPlaces);
      rows = batch_;
    } else {
      const std::string numbers = s_.as_real(s_.counted(steps_));
      angles.places = s_.cast(s_.add("Add", {numbers, place()}), onnx_file::TensorProto::INT64);
    }
    const Rotation by =
        rotation(s_, angles, {rows, steps_, 1, half}, s_.integer("rotary_interleaved", 0) != 0);
    const auto turned = [&](const std::string& x, int64_t heads) {
      const std::vector<int64_t> dims{batch_, steps_, heads, size_};
      return s_.reshaped(by.of(s_, s_.reshaped(x, dims), dims), {batch_, steps_, heads * size_});
    };
    q = turned(q, heads_);
    k = turned(k, key_heads_);
  }

  // The kept steps [batch, heads, steps, size]: the past in front of the new ones, zeros behind them.
  std::string kept(const std::string& x, int past, const std::string& output) {
    const std::string apart = s_.reshaped(x, {batch_, steps_, key_heads_, size_});
    if (past_ == 0 && kept_ == steps_) return s_.transposed(apart, {0, 2, 1, 3}, output);
    const std::string heads = s_.transposed(apart, {0, 2, 1, 3});
    std::string before = past_ > 0 ? s_.input(past) : std::string();
    if (kept_ > past_) {
      const std::string zeros =
          s_.add("Expand", {s_.number(0.0f), s_.integers({batch_, key_heads_, kept_ - past_, size_})});
      before = past_ > 0 ? joined_steps(s_, {before, zeros}, 2) : zeros;
    }
    const auto along = [&](const std::string& steps) { return s_.reshaped(steps, {1, 1, kept_, 1}); };
    const std::string numbers = s_.add("Sub", {s_.as_real(s_.counted(kept_)), place()});
    const std::string from = s_.clip(numbers, 0.0f, static_cast<float>(steps_ - 1));
    const std::string moved =
        s_.add("Gather", {heads, s_.cast(from, onnx_file::TensorProto::INT64)}, {{"axis", 2}});
    const std::string is_old = s_.add("Less", {numbers, s_.number(0.0f)}),
                      is_new = s_.add("Equal", {from, numbers});
    const std::string behind = s_.add("Where", {along(is_old), before, s_.number(0.0f)});
    return s_.add("Where", {along(is_new), moved, behind}, {}, output);
  }

  // The steps that a query may see: no later one, and of the steps before those of its window.
  std::string mask() {
    const std::string queries = s_.reshaped(s_.as_real(s_.counted(steps_)), {1, 1, steps_, 1}),
                      keys = s_.reshaped(s_.as_real(s_.counted(kept_)), {1, 1, 1, kept_});
    const std::string own = s_.add("Add", {queries, place()});
    std::string allowed = s_.add("LessOrEqual", {keys, own});
    if (window_ >= 0) {
      const std::string first = s_.add("Sub", {own, s_.number(static_cast<float>(window_ - 1))});
      allowed = s_.add("And", {allowed, s_.add("GreaterOrEqual", {keys, first})});
    }
    if (!s_.has(kBias)) return allowed;
    return s_.add("Where", {allowed, s_.input(kBias), s_.number(-3.402823466e38f)});
  }

  OnnxDecomposer& s_;
  int64_t heads_ = 0, key_heads_ = 0, batch_ = 0, steps_ = 0, size_ = 0, past_ = 0, kept_ = 0, window_ = -1;
  int64_t place_ = -1;  // of the first new step; -1: a run computes it
  std::string place_of_run_;
};

void decompose_grouped(OnnxDecomposer& s) { GroupAttention(s).decompose(); }

constexpr OnnxDecomposition kOnnxAttentionDecompositions[] = {
    {"Attention",
     decompose_attention,
     {Op::kFullyConnected, Op::kBatchMatMul, Op::kSoftmax, Op::kWhere},
     "Without rotation; the mask is [batch], [batch, keys] or [batch, queries, keys]. A row that it leaves nothing of is 0."},
    {"GroupQueryAttention",
     decompose_grouped,
     {Op::kBatchMatMul, Op::kSoftmax, Op::kWhere, Op::kGather},
     "The number of all steps is a constant; lengths of a run are one row's. No sinks, no caches of codes."},
    {"MultiHeadAttention",
     decompose_multi_head_attention,
     {Op::kBatchMatMul, Op::kSoftmax, Op::kWhere},
     "Queries, keys and values apart; masks as of Attention."},
    {"QAttention",
     decompose_quantized_attention,
     {Op::kFullyConnected, Op::kBatchMatMul, Op::kSoftmax, Op::kWhere},
     "As Attention. It is computed in FP32, or calibrated."},
    {"RotaryEmbedding",
     decompose_rotary_embedding,
     {Op::kMul, Op::kAdd, Op::kSub, Op::kGather},
     "",
     kStandard},
};

}  // namespace

Span<const OnnxDecomposition> onnx_attention_decompositions() { return kOnnxAttentionDecompositions; }

}  // namespace intaglio::importers
