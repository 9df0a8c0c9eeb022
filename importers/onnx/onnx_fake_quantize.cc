// FakeQuantize of OpenVINO: reals rounded to the values of a range. Activations become int8 between Quantize and Dequantize,
// constants FP32 that remembers its grid.
#include <algorithm>
#include <cmath>

#include "importers/draft/quantized_tables.h"
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

// A FakeQuantize's range, with one value or one for each index of an axis.
struct Range {
  std::vector<float> values;
  int32_t axis = -1;
};
constexpr int32_t kEachElement = -2;  // the axis of a constant's range that has one for each element

// The axis of a range that has more than one index; of several axes those along which its values differ.
std::vector<size_t> axes_of_range(const OnnxConstant<float>& range, const Shape& shape) {
  if (range.shape.size() > shape.size()) fail("its ranges do not fit ", shape_text(shape));
  const size_t missing = shape.size() - range.shape.size();
  const auto is_long = [](int32_t dim) { return dim != 1; };
  const bool one_axis = std::count_if(range.shape.begin(), range.shape.end(), is_long) == 1;
  std::vector<size_t> axes;
  for (size_t d = 0; d < range.shape.size(); ++d) {
    if (range.shape[d] == 1) continue;
    if (range.shape[d] != shape[missing + d]) fail("its ranges do not fit ", shape_text(shape));
    const size_t behind = elements_behind(range.shape, static_cast<int32_t>(d)),
                 count = static_cast<size_t>(range.shape[d]);
    for (size_t i = 0; i < range.values.size(); ++i) {
      if (!one_axis && range.values[i] == range.values[i - i / behind % count * behind]) continue;
      axes.push_back(missing + d);
      break;
    }
  }
  return axes;
}

Range read_range(OnnxOp& op, int input, const Shape& shape) {
  const OnnxConstant<float> constant = op.floats(input);
  Range range{constant.values, -1};
  if (range.values.size() == 1) return range;
  if (range.values.empty()) fail("its ranges are empty");
  const std::vector<size_t> axes = axes_of_range(constant, shape);
  const size_t missing = shape.size() - constant.shape.size();
  if (axes.size() > 1) {
    if (!op.is_constant(0)) fail("its ranges do not fit ", shape_text(shape));
    range.axis = kEachElement;
    const auto all = static_cast<size_t>(elements(shape));
    op.draft().budget->spend_constant(all, sizeof(float));
    range.values.clear();
    for (size_t i = 0; i < all; ++i) {
      size_t at = 0;
      for (size_t d = 0; d < constant.shape.size(); ++d) {
        const auto axis = static_cast<int32_t>(d), own = static_cast<int32_t>(missing + d);
        const size_t index = i / elements_behind(shape, own) % static_cast<size_t>(shape[missing + d]);
        if (constant.shape[d] != 1) at += index * elements_behind(constant.shape, axis);
      }
      range.values.push_back(constant.values[at]);
    }
    return range;
  }
  // Equal numbers, as read_model() writes them for each column of a kernel, are one.
  const size_t behind =
      axes.empty() ? 1 : elements_behind(constant.shape, static_cast<int32_t>(axes[0] - missing));
  range.values.resize(axes.empty() ? 1 : static_cast<size_t>(shape[axes[0]]));
  for (size_t c = 0; c < range.values.size(); ++c) range.values[c] = constant.values[c * behind];
  range.axis = axes.empty() ? -1 : static_cast<int32_t>(axes[0]);
  return range;
}

void fake_quantize_constant(OnnxOp& op, int64_t levels) {
  OnnxConstant<float> x = op.floats(0);
  const Range ranges[4] = {read_range(op, 1, x.shape), read_range(op, 2, x.shape), read_range(op, 3, x.shape),
                           read_range(op, 4, x.shape)};
  OnnxGrid grid;
  grid.axis = ranges[3].axis;
  const auto of = [&](int i, size_t element) {
    const Range& range = ranges[i];
    if (range.axis == kEachElement) return range.values[element];
    const size_t channel = element / elements_behind(x.shape, range.axis) % range.values.size();
    return range.values[channel];
  };
  const auto steps = static_cast<float>(levels - 1);
  const bool is_per_channel = grid.axis != -1;
  for (size_t i = 0; i < x.values.size(); ++i) {
    const float low = of(0, i), high = of(1, i), to_low = of(2, i), to_high = of(3, i);
    if (is_per_channel && low == 0 && high == 0 && to_low == 0 &&
        to_high == 0) {  // a dead channel among others
      x.values[i] = 0;
      continue;
    }
    if (!(high > low)) fail("its range ", low, " to ", high, " is empty");
    const float step = std::nearbyint((std::clamp(x.values[i], low, high) - low) / (high - low) * steps);
    x.values[i] = step / steps * (to_high - to_low) + to_low;
  }
  // Whether 0 is one of its values.
  bool on_grid = ranges[2].axis == ranges[3].axis && grid.axis != kEachElement;
  for (size_t c = 0; on_grid && c < ranges[3].values.size(); ++c) {
    const float low = ranges[2].values[c], high = ranges[3].values[c];
    const bool is_dead = is_per_channel && low == 0 && high == 0;
    const float scale = is_dead ? std::ldexp(1.0f, kLeastScale) : (high - low) / steps;
    check_scale(scale);
    grid.scales.push_back(scale);
    on_grid = on_grid && std::fabs(low / scale - std::nearbyint(low / scale)) < 0.02f;
  }
  op.set_floats(x);
  if (on_grid) return op.set_grid(grid);
  if (levels <= 256) op.set_grid({{}, -1, true});
}

// `distance` of 0 from the range's values, in steps.
void count_range(OnnxRangeCounts& counts, double distance, bool is_odd) {
  constexpr double kRounding = 0.01;
  ++counts.all;
  counts.odd += is_odd;
  counts.moved += distance > kRounding;
  counts.furthest = std::max(counts.furthest, distance);
}

// The int8 grid of an activation's range, or of one range a channel. 0 becomes a code wherever it stood.
ChannelGrids grids_of(OnnxOp& op, const Range& low, const Range& high, int64_t levels) {
  if (low.axis >= 0 && high.axis >= 0 && low.axis != high.axis) fail("its ranges have different axes");
  const int32_t axis = std::max(low.axis, high.axis);
  const size_t channels = std::max(low.values.size(), high.values.size());
  const auto steps = static_cast<float>(levels - 1);
  std::vector<float> scales;
  std::vector<int64_t> zero_points;
  for (size_t c = 0; c < channels; ++c) {
    const float lowest = low.values[low.values.size() == 1 ? 0 : c],
                highest = high.values[high.values.size() == 1 ? 0 : c];
    if (axis >= 0 && lowest == 0.0f && highest == 0.0f) {  // a dead channel among others
      scales.push_back(0.0f);
      zero_points.push_back(INT64_MAX);
      continue;
    }
    scales.push_back((highest - lowest) / steps);
    check_scale(scales.back());
    const double start = -double{lowest} / scales.back(), zero = std::nearbyint(start);
    if (!(zero >= 0 && zero <= static_cast<double>(levels - 1))) fail("its range does not hold 0");
    zero_points.push_back(static_cast<int64_t>(zero) - (levels == 255 ? 127 : 128));
    count_range(op.ranges(), std::fabs(start - zero), std::fmod(zero, 2.0) != 0.0);
  }
  const auto live = std::find_if(scales.begin(), scales.end(), [](float scale) { return scale > 0.0f; });
  if (live == scales.end()) fail("its range 0 to 0 is empty in each channel");
  for (size_t c = 0; c < channels; ++c)
    if (scales[c] == 0.0f) zero_points[c] = zero_points[static_cast<size_t>(live - scales.begin())];
  return {scales, zero_points, axis};
}

// A number for each index of an axis, or one for all, as an operand of x.
int32_t along(OnnxOp& op, const std::vector<float>& values, int32_t axis, size_t rank) {
  Shape shape(rank, 1);
  if (values.size() > 1) shape[static_cast<size_t>(axis)] = static_cast<int32_t>(values.size());
  return add_constant(op.draft(), op.output_name() + "/range", DType::kF32, shape, values);
}

// Rounds x in FP32 to the nearest step of its input range, as a number of its output range: codes here have no such form.
int32_t rounded(OnnxOp& op, int32_t x, const Range (&ranges)[4], int64_t levels) {
  int32_t axis = -1;
  size_t channels = 1;
  for (const Range& range : ranges) {
    if (range.axis < 0) continue;
    if (axis >= 0 && range.axis != axis) fail("its ranges have different axes");
    axis = range.axis;
    channels = range.values.size();
  }
  const auto steps = static_cast<double>(levels - 1);
  std::vector<float> starts, factors, sizes, moves, zeros;
  bool has_zeros = true;
  for (size_t c = 0; c < channels; ++c) {
    double limits[4];
    for (size_t i = 0; i < 4; ++i) {
      limits[i] = ranges[i].values[ranges[i].values.size() == 1 ? 0 : c];
      if (!std::isfinite(limits[i])) fail("its range holds ", limits[i]);
    }
    const double size = limits[1] - limits[0];
    // A dead channel gives one number. One that gives two, on both sides of 0, has no step to round to.
    const bool is_dead = axis >= 0 && limits[0] == 0.0 && size == 0.0 && limits[2] == limits[3];
    if (!is_dead && !(size > 0.0)) fail("its range ", limits[0], " to ", limits[1], " is empty");
    factors.push_back(is_dead ? 0.0f : static_cast<float>(steps / size));
    starts.push_back(is_dead ? 0.0f : static_cast<float>(-limits[0] / size * steps));
    sizes.push_back(static_cast<float>((limits[3] - limits[2]) / steps));
    moves.push_back(static_cast<float>(limits[2]));
    // 0 is to stay 0, whatever the range: its step is taken off before the rest is scaled.
    const double zero = limits[3] > limits[2] ? -limits[2] / (limits[3] - limits[2]) * steps
                        : limits[2] == 0.0 && limits[3] == limits[2] ? 0.0
                                                                     : 0.5;
    zeros.push_back(static_cast<float>(-std::nearbyint(zero)));
    has_zeros = has_zeros && std::fabs(zero - std::nearbyint(zero)) < 1e-3;
    if (!std::isfinite(factors.back()) || !std::isfinite(sizes.back()))
      fail("its range ", limits[0], " to ", limits[1], " is too small, or too large");
  }
  const size_t rank = op.shape(x).size();
  const auto by = [&](Op kind, int32_t of, const std::vector<float>& values) {
    return add_binary(op, kind, of, along(op, values, axis, rank));
  };
  const int32_t place = by(Op::kAdd, by(Op::kMul, x, factors), starts);
  const int32_t within = add_bounded(op, place, 0.0f, static_cast<float>(levels - 1));
  const int32_t step = add_unary(op, Op::kRound, within);
  if (has_zeros) return by(Op::kMul, by(Op::kAdd, step, zeros), sizes);
  return by(Op::kAdd, by(Op::kMul, step, sizes), moves);
}

bool is_scale(double scale) {
  return scale >= std::ldexp(1.0, kLeastScale) && scale <= std::ldexp(1.0, kMostScale);
}

// Whether each range has 0 within it, or is empty at it, and a step that a model can hold.
bool have_codes(const Range& low, const Range& high, int64_t levels) {
  const size_t channels = std::max(low.values.size(), high.values.size());
  for (size_t c = 0; c < channels; ++c) {
    const double lowest = low.values[low.values.size() == 1 ? 0 : c],
                 highest = high.values[high.values.size() == 1 ? 0 : c];
    if (channels > 1 && lowest == 0.0 && highest == 0.0) continue;
    if (!(highest > lowest)) return true;  // which is an error of its own
    const double scale = (highest - lowest) / static_cast<double>(levels - 1);
    if (!is_scale(scale) || std::nearbyint(-lowest / scale) < 0.0 || std::nearbyint(highest / scale) < 0.0)
      return false;
  }
  return true;
}

// Codes of 16 bits, which have the zero point 0; false where one range does not give such.
bool set_wide_output(OnnxOp& op, int32_t x, const Range& low, const Range& high, int64_t levels) {
  if (low.axis >= 0 || high.axis >= 0 || !have_codes(low, high, levels)) return false;
  const double lowest = low.values[0], highest = high.values[0];
  if (!(highest > lowest)) return false;
  const double scale = (highest - lowest) / static_cast<double>(levels - 1);
  const double least = std::nearbyint(lowest / scale), most = least + static_cast<double>(levels - 1);
  if (!(least >= -32768.0 && most <= 32767.0)) return false;
  count_range(op.ranges(), std::fabs(lowest / scale - least), std::fmod(least, 2.0) != 0.0);
  int32_t bounded = x;
  if (least > -32768.0 || most < 32767.0) {
    bounded = add_bounded(op, x, static_cast<float>(least * scale), static_cast<float>(most * scale));
  }
  op.set_output(add_rounding_s16(op.result(), bounded, static_cast<float>(scale)));
  return true;
}

void import_fake_quantize(OnnxOp& op) {
  op.check_inputs(5, 5);
  const int64_t levels = op.integer("levels", 0);
  op.ignore("auto_broadcast");
  if (levels < 2 || levels > 65536) fail(levels, " levels are not supported; 2 to 65536 are");
  if (op.is_constant(0)) return fake_quantize_constant(op, levels);
  const int32_t x = op.activation(0);
  const Shape shape = op.shape(x);
  const Range ranges[4] = {read_range(op, 1, shape), read_range(op, 2, shape), read_range(op, 3, shape),
                           read_range(op, 4, shape)};
  const auto& [low, high, out_low, out_high] = ranges;
  const bool changes = out_low.values != low.values || out_high.values != high.values ||
                       out_low.axis != low.axis || out_high.axis != high.axis;
  const bool has_channels = low.axis >= 0 || high.axis >= 0 || out_low.axis >= 0 || out_high.axis >= 0;
  if (levels > 256 && !changes && set_wide_output(op, x, low, high, levels)) return;
  const char* const why = levels > 256              ? "more than 256 levels beside int16's codes"
                          : changes && has_channels ? "ranges for each channel that become others"
                          : have_codes(low, high, levels) && have_codes(out_low, out_high, levels)
                              ? nullptr
                              : "a range without 0, or with steps that no scale has";
  if (why != nullptr) {
    op.set_output(rounded(op, x, ranges, levels));
    op.draft().notes.push_back(
        text("tensor ", quoted(op.output_name()), " (FakeQuantize) has ", why, "; it is computed in FP32"));
    return;
  }
  const ChannelGrids grids = grids_of(op, low, high, levels);
  const float scale = grids.scale();
  const double zero = static_cast<double>(grids.zero_point()) + (levels == 255 ? 127 : 128);
  const int32_t codes = add_codes(op, op.output_name() + "/codes", shape, scale, grids.zero_point());
  int32_t bounded = grids.is_per_channel() ? grids.to_common(op, x) : x;
  if (levels < 256) {  // codes saturate at the range's end, which the layer before will do
    bounded = add_bounded(op, bounded, -scale * static_cast<float>(zero),
                          scale * static_cast<float>(static_cast<double>(levels - 1) - zero), "/bounded");
  }
  op.add(Op::kQuantize, {bounded}, codes);
  const int32_t y = op.new_tensor(shape);
  int32_t given = codes;
  if (changes) {  // the same codes stand for other numbers
    const ChannelGrids others = grids_of(op, out_low, out_high, levels);
    given = add_codes(op, op.output_name() + "/other_codes", shape, others.scale(), others.zero_point());
    add_same_codes(op.origin(), codes, given);
  }
  op.add(Op::kDequantize, {given}, y);
  op.set_output(grids.is_per_channel() ? grids.to_own(op, y) : y);
}

}  // namespace

// Features of FakeQuantize that codes do not have.
void note_onnx_ranges(const OnnxRangeCounts& counts, Draft& draft) {
  if (counts.moved > 0)
    draft.notes.push_back(text(counts.moved, " of ", counts.all,
                               " ranges of FakeQuantize do not have 0 among their values; they are moved by ",
                               std::round(counts.furthest * 100) / 100, " of a step at most"));
  if (counts.odd > 0)
    draft.notes.push_back(text(counts.odd, " of ", counts.all,
                               " ranges of FakeQuantize begin an odd number of steps below 0: there a number "
                               "in the middle of two codes becomes the other one"));
}

// Quant of Brevitas and QONNX: y = (clip(round(x / scale + zero point)) - zero point) * scale, of any number of bits.

namespace {

struct Codes {
  std::vector<float> scales;
  Shape of_scales;
  float zero_point = 0.0f;
  int32_t bits = 8;
  float least = 0.0f, most = 0.0f;
};

float single(OnnxOp& op, int input, const char* what) {
  const std::vector<float> values = op.numbers(input).values;
  if (values.size() != 1) fail("it has ", values.size(), " ", what, "; one is supported");
  return values[0];
}

Codes read_codes(OnnxOp& op) {
  op.check_inputs(4, 4);
  Codes codes;
  OnnxConstant<float> scale = op.floats(1);
  codes.scales = scale.values;
  codes.of_scales = scale.shape;
  codes.zero_point = single(op, 2, "zero points");
  const float bits = single(op, 3, "bit widths");
  if (!(bits >= 2.0f && bits <= 16.0f) || bits != std::floor(bits))
    fail("its bit width is ", bits, "; 2 to 16 are supported");
  codes.bits = static_cast<int32_t>(bits);
  for (const float s : codes.scales)
    if (!(s >= std::ldexp(1.0f, -40) && s <= std::ldexp(1.0f, 40)))
      fail("the scale ", s, " is not within 2^-40 to 2^40");
  if (codes.scales.empty()) fail("it has no scale");
  const bool is_signed = op.integer("signed", 1) != 0, is_narrow = op.integer("narrow", 0) != 0;
  if (const std::string mode = op.string("rounding_mode", "ROUND"); mode != "ROUND")
    fail("rounding_mode ", quoted(mode), " is not supported; ROUND is");
  const float half = std::ldexp(1.0f, codes.bits - 1);
  codes.least = is_signed ? -half + (is_narrow ? 1.0f : 0.0f) : 0.0f;
  codes.most = is_signed ? half - 1.0f : 2.0f * half - (is_narrow ? 2.0f : 1.0f);
  if (codes.zero_point != std::floor(codes.zero_point) || codes.zero_point < codes.least ||
      codes.zero_point > codes.most)
    fail("the zero point ", codes.zero_point, " is not one of its codes");
  return codes;
}

// The axis of the scales, of constants with one scale a channel; -1: one for all.
int32_t axis_of(const Codes& codes, const Shape& shape) {
  if (codes.scales.size() == 1) return -1;
  int32_t axis = -1;
  const size_t missing = shape.size() - std::min(shape.size(), codes.of_scales.size());
  for (size_t d = 0; d < codes.of_scales.size(); ++d) {
    if (codes.of_scales[d] == 1) continue;
    if (axis >= 0 || missing + d >= shape.size() || codes.of_scales[d] != shape[missing + d])
      fail("its scales ", shape_text(codes.of_scales), " do not fit ", shape_text(shape));
    axis = static_cast<int32_t>(missing + d);
  }
  return axis;
}

void quantize_constant(OnnxOp& op, const Codes& codes) {
  OnnxConstant<float> x = op.floats(0);
  const int32_t axis = axis_of(codes, x.shape);
  const size_t behind = elements_behind(x.shape, axis);
  for (size_t i = 0; i < x.values.size(); ++i) {
    const float scale = codes.scales[i / behind % codes.scales.size()];
    if (!std::isfinite(x.values[i])) fail("its constant holds ", x.values[i]);
    const float code = std::nearbyint(x.values[i] / scale + codes.zero_point);
    x.values[i] = (std::clamp(code, codes.least, codes.most) - codes.zero_point) * scale;
  }
  op.set_floats(x);
  if (codes.bits <= 8) op.set_grid({codes.scales, axis});
}

void import_quant(OnnxOp& op) {
  const Codes codes = read_codes(op);
  if (op.is_constant(0)) return quantize_constant(op, codes);
  if (codes.scales.size() != 1) fail("an activation with ", codes.scales.size(), " scales is not supported");
  const int32_t x = op.activation(0);
  const Shape shape = op.shape(x);
  const float scale = codes.scales[0];
  const int32_t bounded =
      add_bounded(op, x, (codes.least - codes.zero_point) * scale, (codes.most - codes.zero_point) * scale);
  if (codes.bits > 8) {  // codes of 16 bits, which have the zero point 0; FP32 where they reach further
    const bool fits =
        codes.least - codes.zero_point >= -32768.0f && codes.most - codes.zero_point <= 32767.0f;
    return op.set_output(fits ? add_rounding_s16(op.result(), bounded, scale) : bounded);
  }
  const int32_t y8 = add_activation(op.draft(), op.output_name() + "/codes", DType::kS8, shape);
  op.draft().tensor(y8).scales = {scale};
  op.draft().tensor(y8).zero_point = static_cast<int32_t>(codes.zero_point) - (codes.most > 127.0f ? 128 : 0);
  op.add(Op::kQuantize, {bounded}, y8);
  op.set_output(op.make(Op::kDequantize, {y8}, shape));
}

// y = scale where x is 0 or more, and -scale below.
void import_bipolar_quant(OnnxOp& op) {
  op.check_inputs(2, 2);
  const float scale = single(op, 1, "scales");
  if (!(scale >= std::ldexp(1.0f, -40) && scale <= std::ldexp(1.0f, 40)))
    fail("the scale ", scale, " is not within 2^-40 to 2^40");
  if (op.is_constant(0)) {
    OnnxConstant<float> x = op.floats(0);
    for (float& value : x.values) value = value >= 0.0f ? scale : -scale;
    op.set_floats(x);
    return op.set_grid({{scale}, -1});
  }
  const int32_t x = op.activation(0);
  const Shape shape = op.shape(x), one(shape.size(), 1);
  const auto number = [&](float value) {
    return add_constant(op.draft(), op.name() + "/number", DType::kF32, one, std::vector<float>{value});
  };
  const int32_t is_below = op.new_tensor(shape), y = op.new_tensor(shape);
  op.add(Op::kLess, {x, number(0.0f)}, is_below);
  op.add(Op::kWhere, {is_below, number(-scale), number(scale)}, y);
  op.set_output(y);
}

constexpr char kBipolarLimits[] = "One scale.";

constexpr char kLimits[] =
    "2 to 16 bits; FP32 where more than 8 do not fit int16 without their zero point. Weights may have a scale a channel.";

constexpr OnnxOperator kOnnxFakeQuantizeOperators[] = {
    {"BipolarQuant", import_bipolar_quant, {Op::kLess, Op::kWhere}, kBipolarLimits, "onnx.brevitas"},
    {"BipolarQuant",
     import_bipolar_quant,
     {Op::kLess, Op::kWhere},
     kBipolarLimits,
     "qonnx.custom_op.general"},
    {"BipolarQuant", import_bipolar_quant, {Op::kLess, Op::kWhere}, kBipolarLimits, "finn.custom_op.general"},
    {"FakeQuantize",
     import_fake_quantize,
     {Op::kClamp, Op::kQuantize, Op::kLookup, Op::kRound},
     "2 to 65536 levels. Codes where one range, or one a channel, holds 0, and where int16 has more than 256; else FP32.",
     "org.openvinotoolkit"},
    {"Quant", import_quant, {Op::kClamp, Op::kQuantize, Op::kDequantize}, kLimits, "finn.custom_op.general"},
    {"Quant", import_quant, {Op::kClamp, Op::kQuantize, Op::kDequantize}, kLimits, "onnx.brevitas"},
    {"Quant", import_quant, {Op::kClamp, Op::kQuantize, Op::kDequantize}, kLimits, "qonnx.custom_op.general"},
};

}  // namespace

Span<const OnnxOperator> onnx_fake_quantize_operators() { return kOnnxFakeQuantizeOperators; }

}  // namespace intaglio::importers
