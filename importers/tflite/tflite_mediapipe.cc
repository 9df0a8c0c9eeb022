// Custom operators of MediaPipe's models, by mediapipe/util/tflite/operations. Those on landmarks are version 2, as MediaPipe's
// processor has them.
#include <flatbuffers/flexbuffers.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "importers/tflite/tflite_operators.h"
#include "importers/tflite/tflite_steps.h"

namespace intaglio::importers {
namespace {

constexpr int32_t kMostLandmarks = 4096;  // of one box

// A window as MediaPipe stores it: TfLitePoolParams without what is computed of it.
struct PoolParams {
  int32_t padding, stride_w, stride_h, filter_w, filter_h, activation;
};

PoolParams read_pool(const TfliteOp& op) {
  const Span<const uint8_t> bytes = op.custom_options();
  PoolParams params;
  if (bytes.size < sizeof params) fail("its options are missing");
  std::memcpy(&params, bytes.data, sizeof params);
  if (params.padding != 1 && params.padding != 2) fail("its padding ", params.padding, " is not known");
  return params;
}

// Its second output is no tensor here: MaxUnpooling2D finds the places anew in what this one reads.
void import_max_pool_places(TfliteOp& op) {
  op.check_inputs(1, 1);
  op.allow_outputs();
  const int32_t x = op.activation(0);
  const Shape shape = op.shape(x);
  check_rank(shape, 4);
  const PoolParams params = read_pool(op);
  WindowAxis h{params.filter_h, params.stride_h}, w{params.filter_w, params.stride_w};
  check_window_axis(h);
  check_window_axis(w);
  if (params.padding == 1) {
    pad_same(h, shape[1], false);
    pad_same(w, shape[2], false);
  }
  const int32_t y = op.output_same(x, window_shape(shape, h, w, shape[3]));
  DraftNode& node = op.add(Op::kMaxPool2d, {x}, y);
  node.options.as<Window2d>() = window_of(h, w);
  set_activation(node, static_cast<tflite::Activation>(params.activation), op.draft().tensor(y));
  op.finish_same();
  if (op.output_count() > 1 && params.stride_h == params.filter_h && params.stride_w == params.filter_w)
    op.file().maps_of_places[{op.file().graph, op.output_index(1)}] = x;
}

void import_max_unpool(TfliteOp& op) {
  op.check_inputs(2, 2);
  const auto known = op.file().maps_of_places.find({op.file().graph, op.input_index(1)});
  if (known == op.file().maps_of_places.end())
    fail("its indices are not those of a MaxPoolingWithArgmax2D whose windows touch and do not overlap");
  const int32_t x = op.activation(0), map = known->second;
  const Shape shape = op.shape(x), whole = op.shape(map);
  const PoolParams params = read_pool(op);
  const auto fills = [&](size_t axis, int32_t filter, int32_t stride) {
    return filter == stride && int64_t{shape[axis]} * filter == whole[axis];
  };
  if (shape.size() != 4 || whole[0] != shape[0] || whole[3] != shape[3] ||
      !fills(1, params.filter_h, params.stride_h) || !fills(2, params.filter_w, params.stride_w))
    fail("its windows of ", params.filter_h, " x ", params.filter_w, " in ", shape_text(shape),
         " do not fill ", shape_text(whole), ", which the places are of");
  const int32_t y = op.output_same(x, whole);
  if (op.draft().tensor(x).dtype != op.draft().tensor(map).dtype)
    fail("its input has another element type than what the places are of");
  op.add(Op::kMaxUnpool2d, {x, map}, y);
  op.finish_same();
}

// Options of the newer operators: a FlexBuffer's map.
flexbuffers::Map read_map(const TfliteOp& op) {
  const Span<const uint8_t> bytes = op.custom_options();
  if (bytes.size < 3 || !flexbuffers::VerifyBuffer(bytes.data, bytes.size))
    fail("its options are damaged, or missing");
  const flexbuffers::Reference root = flexbuffers::GetRoot(bytes.data, bytes.size);
  if (!root.IsMap()) fail("its options are no map");
  return root.AsMap();
}

flexbuffers::Reference option(const flexbuffers::Map& map, const char* name) {
  const flexbuffers::Reference found = map[name];
  if (found.IsNull()) fail("its option ", quoted(name), " is missing");
  return found;
}

// FP32 nodes on matrices, whose operands are repeated along sides of 1.
class Reals : public Steps {
 public:
  using Steps::Steps;

  int32_t add(int32_t a, int32_t b) { return add_binary(op(), Op::kAdd, a, b); }
  int32_t sub(int32_t a, int32_t b) { return add_binary(op(), Op::kSub, a, b); }
  int32_t mul(int32_t a, int32_t b) { return add_binary(op(), Op::kMul, a, b); }
  int32_t div(int32_t a, int32_t b) { return add_binary(op(), Op::kDiv, a, b); }
  int32_t number(float value) { return constant({1, 1}, {value}); }
  int32_t column(int32_t x, int32_t i) { return columns(x, i, 1); }
  int32_t joined(const std::vector<int32_t>& parts) {
    Shape shape{info(parts[0]).shape[0], 0};
    for (const int32_t part : parts) shape[1] += info(part).shape[1];
    const int32_t y = real(shape);
    op().add(Op::kConcat, parts, y).options.as<ConcatOptions>().axis = 1;
    return y;
  }
};

// The 4 x 4 matrix of input i as [1, 16].
int32_t read_matrix(TfliteOp& op, Reals& r, size_t i) {
  const int32_t matrix = read_real(op, i);
  const Shape shape = op.shape(matrix);
  if (elements(shape) != 16)
    fail("its matrix has the shape ", shape_text(shape), "; 16 elements are expected");
  return r.reshape(matrix, {1, 16});
}

// Landmarks [1, n, 2 or 3] as [n, 2 or 3].
int32_t read_landmarks(TfliteOp& op, Reals& r, bool has_depth) {
  const int32_t x = read_real(op, 0);
  const Shape shape = op.shape(x);
  if (shape.size() != 3 || shape[0] != 1 || (shape[2] != 3 && (shape[2] != 2 || has_depth)))
    fail("its landmarks have the shape ", shape_text(shape), "; [1, n, 3] is expected");
  return r.reshape(x, {shape[1], shape[2]});
}

// Row `row` of the matrix times (x, y, 0, 1).
int32_t transformed(Reals& r, int32_t matrix, int32_t row, int32_t x, int32_t y, int32_t shift) {
  return r.add(r.add(r.mul(x, r.column(matrix, 4 * row)), r.mul(y, r.column(matrix, 4 * row + 1))), shift);
}

void import_transform_landmarks(TfliteOp& op) {
  op.check_inputs(2, 2);
  Reals r(op);
  const int32_t landmarks = read_landmarks(op, r, false), matrix = read_matrix(op, r, 1);
  const Shape shape = op.shape(landmarks);
  const int32_t x = r.column(landmarks, 0), y = r.column(landmarks, 1);
  std::vector<int32_t> columns;
  for (const int32_t row : {0, 1})
    columns.push_back(transformed(r, matrix, row, x, y, r.column(matrix, 4 * row + 3)));
  if (shape[1] == 3) columns.push_back(r.column(landmarks, 2));
  finish_real(op, r.reshape(r.joined(columns), {1, shape[0], shape[1]}));
}

// The matrix of a square around some landmarks, turned as two of them stand, to pixels of the result. The cosine and sine of the
// turn come from the two landmarks' distances; MediaPipe takes the angle's.
void import_landmarks_to_matrix(TfliteOp& op) {
  op.check_inputs(1, 1);
  Reals r(op);
  const int32_t landmarks = read_landmarks(op, r, true);
  const int32_t count = op.shape(landmarks)[0];
  const flexbuffers::Map map = read_map(op);
  if (map["subset_idxs"].IsNull()) fail("it is of version 1; version 2 is supported");
  const auto checked = [&](double index) {
    if (!(index >= 0.0) || index >= count || index != std::floor(index))
      fail("its landmark ", index, " does not exist; there are ", count);
    return static_cast<int32_t>(index);
  };
  const auto size = [&](const char* name) {
    const float value = option(map, name).AsFloat();
    if (!(value > 0.0f) || !std::isfinite(value)) fail("its option ", quoted(name), " is ", value);
    return value;
  };
  const float width = size("output_width"), height = size("output_height"), scale_x = size("scale_x"),
              scale_y = size("scale_y");
  const float target = map["target_rotation_radians"].AsFloat();
  if (!std::isfinite(target)) fail("its target_rotation_radians is not finite");
  const flexbuffers::TypedVector listed = option(map, "subset_idxs").AsTypedVector();
  if (listed.size() < 1 || listed.size() > size_t{kMostLandmarks})
    fail("it takes ", listed.size(), " landmarks; 1 to ", kMostLandmarks, " are supported");
  std::vector<int32_t> subset;
  for (size_t i = 0; i < listed.size(); ++i) subset.push_back(checked(listed[i].AsDouble()));

  const auto rows = [&](const std::vector<int32_t>& indices) {
    return add_gather(op.origin(), landmarks, 0, indices);
  };
  const int32_t from = rows({checked(option(map, "left_rotation_idx").AsDouble())}),
                to = rows({checked(option(map, "right_rotation_idx").AsDouble())});
  const int32_t across = r.sub(to, from), dx = r.column(across, 0), dy = r.column(across, 1);
  constexpr float kLeast = 1e-30f;  // landmarks that lie upon each other
  const int32_t distance = r.clamp(r.unary(Op::kSqrt, r.add(r.mul(dx, dx), r.mul(dy, dy))), kLeast, INFINITY);
  const int32_t cosine = r.div(dx, distance), sine = r.div(dy, distance);
  const auto turned = [&](double of_cosine, double of_sine) {
    return r.add(r.mul(cosine, r.number(static_cast<float>(of_cosine))),
                 r.mul(sine, r.number(static_cast<float>(of_sine))));
  };
  const int32_t c = turned(std::cos(target), std::sin(target)),
                s = turned(std::sin(target), -std::cos(target));

  const int32_t chosen = rows(subset), x = r.column(chosen, 0), y = r.column(chosen, 1);
  const int32_t upright[] = {r.sub(r.mul(x, c), r.mul(y, s)), r.add(r.mul(x, s), r.mul(y, c))};
  int32_t sides[2], centres[2];
  for (size_t i = 0; i < 2; ++i) {
    const auto most = [&](int32_t values) { return add_maximum_over(op.origin(), values, {0}, {1, 1}); };
    const int32_t greatest = most(upright[i]), negated = most(r.mul(upright[i], r.number(-1.0f)));
    sides[i] = r.add(greatest, negated);
    centres[i] = r.mul(r.sub(greatest, negated), r.number(0.5f));
  }
  const int32_t sx = r.mul(sides[0], r.number(scale_x / width)),
                sy = r.mul(sides[1], r.number(scale_y / height));
  const int32_t centre_x = r.add(r.mul(centres[0], c), r.mul(centres[1], s)),
                centre_y = r.sub(r.mul(centres[1], c), r.mul(centres[0], s));
  const int32_t m00 = r.mul(c, sx), m01 = r.mul(s, sy), m10 = r.mul(r.mul(s, sx), r.number(-1.0f)),
                m11 = r.mul(c, sy);
  const auto shift = [&](int32_t centre, int32_t of_x, int32_t of_y) {
    return r.sub(centre, r.add(r.mul(of_x, r.number(0.5f * width)), r.mul(of_y, r.number(0.5f * height))));
  };
  const int32_t zero = r.number(0.0f);
  const int32_t rest = r.constant({1, 8}, {0, 0, 1, 0, 0, 0, 0, 1});
  finish_real(op, r.reshape(r.joined({m00, m01, zero, shift(centre_x, m00, m01), m10, m11, zero,
                                      shift(centre_y, m10, m11), rest}),
                            {1, 4, 4}));
}

// A picture [1, h, w, c] at the places where the matrix takes the result's pixels; 0 outside.
void import_transform_bilinear(TfliteOp& op) {
  op.check_inputs(2, 2);
  Reals r(op);
  const int32_t picture = read_real(op, 0), matrix = read_matrix(op, r, 1);
  const Shape from = op.shape(picture);
  if (from.size() != 4 || from[0] != 1)
    fail("its input has the shape ", shape_text(from), "; [1, h, w, c] is expected");
  constexpr int64_t kMostPixels = int64_t{1} << 24;  // whose numbers FP32 holds exactly
  if (int64_t{from[1]} * from[2] > kMostPixels) fail("its input has more than ", kMostPixels, " pixels");
  const flexbuffers::Map map = read_map(op);
  if (map["output_height"].IsNull()) fail("it is of version 1; version 2 is supported");
  const auto size = [&](const char* name) {
    const double side = option(map, name).AsDouble();
    if (!(side >= 1.0) || side > kMostPixels || side != std::floor(side))
      fail("its option ", quoted(name), " is ", side);
    return static_cast<int64_t>(side);
  };
  const int64_t height = size("output_height"), width = size("output_width");
  if (height > kMostPixels / width) fail("its result has more than ", kMostPixels, " pixels");
  op.draft().budget->check_numbers(2 * height * width);
  const Shape out{1, static_cast<int32_t>(height), static_cast<int32_t>(width), from[3]};
  const auto pixels = static_cast<int32_t>(height * width);
  std::vector<float> columns, lines;
  for (int32_t line = 0; line < out[1]; ++line)
    for (int32_t column = 0; column < out[2]; ++column) {
      columns.push_back(static_cast<float>(column) + 0.5f);
      lines.push_back(static_cast<float>(line) + 0.5f);
    }
  const int32_t across = r.constant({pixels, 1}, columns), down = r.constant({pixels, 1}, lines);

  struct Side {
    int32_t first, second, share, inside;  // two pixels, the second one's share, and 1 within the picture
  };
  const auto side = [&](int32_t row, int32_t count) {
    const auto last = static_cast<float>(count - 1);
    const int32_t place =
        transformed(r, matrix, row, across, down, r.sub(r.column(matrix, 4 * row + 3), r.number(0.5f)));
    const int32_t inside = r.mul(add_binary(op, Op::kLessOrEqual, r.number(0.0f), place),
                                 add_binary(op, Op::kLessOrEqual, place, r.number(last)));
    const int32_t first = r.unary(Op::kFloor, r.clamp(place, 0.0f, last));
    return Side{first, r.clamp(r.add(first, r.number(1.0f)), 0.0f, last),
                r.sub(r.clamp(place, 0.0f, last), first), inside};
  };
  const Side h = side(0, from[2]), v = side(1, from[1]);
  const int32_t list = r.reshape(picture, {from[1] * from[2], from[3]});
  const auto pixel = [&](int32_t line, int32_t column) {
    const int32_t number = r.add(r.mul(line, r.number(static_cast<float>(from[2]))), column);
    return add_gather_by(op.origin(), list, 0, r.reshape(op.as_index(number), {pixels}));
  };
  const auto between = [&](int32_t a, int32_t b, int32_t share) {
    return r.add(a, r.mul(r.sub(b, a), share));
  };
  const int32_t upper = between(pixel(v.first, h.first), pixel(v.first, h.second), h.share),
                lower = between(pixel(v.second, h.first), pixel(v.second, h.second), h.share);
  finish_real(op, r.reshape(r.mul(between(upper, lower, v.share), r.mul(h.inside, v.inside)), out));
}

constexpr TfliteCustomOperator kOperators[] = {
    {"Convolution2DTransposeBias",
     import_transpose_conv_bias,
     {Op::kConv2d, Op::kTranspose, Op::kStridedSlice},
     "Weights and bias are constants."},
    {"Landmarks2TransformMatrix",
     import_landmarks_to_matrix,
     {Op::kGather, Op::kMaxPool2d, Op::kMul, Op::kAdd},
     "Version 2. FP32."},
    {"MaxPoolingWithArgmax2D",
     import_max_pool_places,
     {Op::kMaxPool2d},
     "A MaxUnpooling2D alone reads its indices."},
    {"MaxUnpooling2D",
     import_max_unpool,
     {Op::kMaxUnpool2d},
     "Its indices are a MaxPoolingWithArgmax2D's, and its windows touch and do not overlap."},
    {"TransformLandmarks", import_transform_landmarks, {Op::kMul, Op::kAdd, Op::kConcat}, "Version 2. FP32."},
    {"TransformTensorBilinear",
     import_transform_bilinear,
     {Op::kFloor, Op::kGather, Op::kMul, Op::kLessOrEqual},
     "Version 2. FP32."},
};

}  // namespace

Span<const TfliteCustomOperator> tflite_custom_operators() { return kOperators; }

}  // namespace intaglio::importers
