// onnxruntime's attention of language models: rotated queries and keys, fewer heads of keys than of queries, and a cache.
#include <algorithm>

#include "importers/onnx/onnx_decomposer.h"

namespace intaglio::importers {
namespace {

std::string joined_steps(OnnxDecomposer& s, const std::vector<std::string>& parts, int64_t axis) {
  return s.add("Concat", parts, {{{"axis", axis}}, {}, {}, {}});
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

// Of com.microsoft with places before the tables, and of ONNX with places behind them.
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
    OnnxAttributes attributes{{{"q_num_heads", heads_}, {"kv_num_heads", key_heads_}}, {}, {}, {}};
    if (const float scale = s_.real("scale", 0.0f); scale != 0.0f)
      attributes.reals.push_back({"scale", scale});
    if (const float cap = s_.real("softcap", 0.0f); cap != 0.0f) attributes.reals.push_back({"softcap", cap});
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

  // What is kept of all steps [batch, heads, steps, size]: the past in front of the new ones, zeros behind them.
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
        s_.add("Gather", {heads, s_.cast(from, onnx_file::TensorProto::INT64)}, {{{"axis", 2}}, {}, {}, {}});
    const std::string is_old = s_.add("Less", {numbers, s_.number(0.0f)}),
                      is_new = s_.add("Equal", {from, numbers});
    const std::string behind = s_.add("Where", {along(is_old), before, s_.number(0.0f)});
    return s_.add("Where", {along(is_new), moved, behind}, {}, output);
  }

  // What a query may see: no later step, and of the steps before those of its window.
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

constexpr OnnxDecomposition kOnnxGroupedAttentionDecompositions[] = {
    {"GroupQueryAttention",
     decompose_grouped,
     {Op::kBatchMatMul, Op::kSoftmax, Op::kWhere, Op::kGather},
     "The number of all steps is a constant; lengths of a run are one row's. No sinks, no caches of codes."},
    {"RotaryEmbedding", decompose_rotary_embedding, {Op::kMul, Op::kAdd, Op::kSub, Op::kGather}, "", true},
};

}  // namespace

Span<const OnnxDecomposition> onnx_grouped_attention_decompositions() {
  return kOnnxGroupedAttentionDecompositions;
}

}  // namespace intaglio::importers
