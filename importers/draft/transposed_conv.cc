#include "importers/draft/transposed_conv.h"

#include <algorithm>

namespace intaglio::importers {
namespace {

// One axis as a plain convolution of stride 1. Output q of phase r is the place q * stride + r of the whole result; its
// tap t meets kernel element r + stride * (taps - 1 - t), where the dilated kernel has one.
struct Phases {
  int32_t count = 1, taps = 1;
  int32_t before = 0, after = 0;  // padding of the plain convolution
  int32_t places = 1;             // outputs of each phase
  int32_t cut = 0;                // elements in front of the first that is wanted
};

Phases phases_of(const WindowAxis& axis, int32_t in, int32_t out) {
  const int64_t stride = axis.stride, extent = int64_t{axis.kernel - 1} * axis.dilation + 1;
  const int64_t first = axis.before / stride;                              // phases start here,
  const int64_t end = (int64_t{axis.before} + out + stride - 1) / stride;  // and end before this
  const int64_t after = std::max<int64_t>(end - in, 0);
  const int64_t taps = std::max((extent + stride - 1) / stride, after + 1);
  const int64_t before = std::max<int64_t>(taps - 1 - first, 0);
  Phases phases;
  phases.count = axis.stride;
  phases.taps = narrow(taps, "window size");
  phases.before = narrow(before, "padding");
  phases.after = narrow(after, "padding");
  phases.places = narrow(in + before + after - taps + 1, "output size");
  phases.cut = narrow(axis.before - stride * (taps - 1 - before), "padding");
  return phases;
}

// Index of the kernel's element that tap t of phase r meets; -1: none.
int32_t element_of(const WindowAxis& axis, const Phases& phases, int32_t r, int32_t t) {
  const int64_t place = r + int64_t{axis.stride} * (phases.taps - 1 - t);
  if (place % axis.dilation != 0 || place / axis.dilation >= axis.kernel) return -1;
  return static_cast<int32_t>(place / axis.dilation);
}

// Output channels of the plain convolution: group, phase of the row, phase of the column, channel of the group.
template <typename Visit>
void for_each_channel(int32_t groups, int32_t channels, const Phases& h, const Phases& w, Visit visit) {
  const int32_t each = channels / groups;
  for (int32_t g = 0; g < groups; ++g)
    for (int32_t rh = 0; rh < h.count; ++rh)
      for (int32_t rw = 0; rw < w.count; ++rw)
        for (int32_t o = 0; o < each; ++o) visit(g * each + o, rh, rw);
}

// Weights that are made for places between the kernel's, all zero, may be so many times as many as the file's, or so many.
constexpr int64_t kMostTimes = 16, kFewWeights = int64_t{1} << 22;

// Output channels of the plain convolution; throws where its weights would be too many.
int32_t phase_channels(const DraftTensor& weights, const Phases& h, const Phases& w) {
  const int64_t in_file = elements(weights.shape), each = int64_t{weights.shape[0]} * weights.shape[3];
  const int64_t places_h = int64_t{h.count} * h.taps, places_w = int64_t{w.count} * w.taps;
  const int64_t most = std::max(kMostTimes * in_file, kFewWeights);
  if (places_h * places_w > most / each)
    fail("its strides ", h.count, " and ", w.count, " make ", places_h, " x ", places_w,
         " weights of each kernel ", shape_text(weights.shape), ", more than ", kMostTimes, " times as many");
  return narrow(int64_t{weights.shape[0]} * h.count * w.count, "number of channels");
}

DraftTensor phase_weights(const DraftTensor& weights, const TransposedConv& conv, const Phases& h,
                          const Phases& w) {
  const int32_t channels = weights.shape[0], depth = weights.shape[3];
  const size_t bytes = static_cast<size_t>(depth) * element_bytes(weights.dtype);
  DraftTensor made = weights;
  made.shape = {phase_channels(weights, h, w), h.taps, w.taps, depth};
  check_shape(made.shape, made.dtype);
  made.data.clear();
  for_each_channel(conv.groups, channels, h, w, [&](int32_t channel, int32_t rh, int32_t rw) {
    for (int32_t th = 0; th < h.taps; ++th)
      for (int32_t tw = 0; tw < w.taps; ++tw) {
        const int32_t kh = element_of(conv.h, h, rh, th), kw = element_of(conv.w, w, rw, tw);
        if (kh < 0 || kw < 0) {
          made.data.insert(made.data.end(), bytes, uint8_t{0});
          continue;
        }
        const auto element =
            static_cast<size_t>((int64_t{channel} * conv.h.kernel + kh) * conv.w.kernel + kw);
        const auto* const from = weights.data.data() + element * bytes;
        made.data.insert(made.data.end(), from, from + bytes);
      }
  });
  return made;
}

// One value of each of the plain convolution's channels.
template <typename T>
std::vector<T> for_phases(const std::vector<T>& values, const TransposedConv& conv, const Phases& h,
                          const Phases& w) {
  std::vector<T> made;
  for_each_channel(
      conv.groups, static_cast<int32_t>(values.size()), h, w,
      [&](int32_t channel, int32_t, int32_t) { made.push_back(values[static_cast<size_t>(channel)]); });
  return made;
}

int32_t put(Draft& draft, DraftTensor tensor) {
  draft.tensors.push_back(std::move(tensor));
  return static_cast<int32_t>(draft.tensors.size()) - 1;
}

}  // namespace

int32_t transposed_output(const WindowAxis& axis, int32_t in, int32_t extra) {
  check_window_axis({axis.kernel, axis.stride, axis.dilation});
  if (axis.before < 0 || axis.after < 0)
    fail("padding ", std::min(axis.before, axis.after), " is not supported");
  if (extra < 0 || extra >= std::max(axis.stride, axis.dilation))
    fail("output padding ", extra,
         " is not allowed: it must be at least 0 and less than stride or dilation (",
         std::max(axis.stride, axis.dilation), ")");
  const int64_t whole = (int64_t{in} - 1) * axis.stride + int64_t{axis.kernel - 1} * axis.dilation + 1;
  const int64_t out = whole + extra - axis.before - axis.after;
  if (out < 1) fail("padding ", axis.before, " and ", axis.after, " leave nothing of ", whole, " elements");
  return narrow(out, "output size");
}

DraftNode& add_transposed_conv(Draft& draft, const std::string& name, const std::string& source, int32_t x,
                               DraftTensor weights, DraftTensor bias, int32_t y, const TransposedConv& conv) {
  const Shape from = draft.tensor(x).shape;
  const Phases h = phases_of(conv.h, from[1], conv.out_h), w = phases_of(conv.w, from[2], conv.out_w);
  const int32_t channels = weights.shape[0], all = phase_channels(weights, h, w);
  const bool depthwise = conv.groups > 1 && conv.groups == from[3];

  DraftTensor plain = phase_weights(weights, conv, h, w);
  if (weights.scales.size() > 1) plain.scales = for_phases(weights.scales, conv, h, w);
  if (depthwise) {
    plain.data = permuted_data(plain.data, element_bytes(plain.dtype), {all, h.taps, w.taps}, {1, 2, 0});
    plain.shape = {h.taps, w.taps, all};
    if (plain.axis >= 0) plain.axis = 2;
  }
  if (bias.dtype == DType::kF32)
    set_values(bias, for_phases(values_of<float>(bias), conv, h, w));
  else
    set_values(bias, for_phases(values_of<int32_t>(bias), conv, h, w));
  bias.shape = {all};

  const bool is_whole = h.cut == 0 && w.cut == 0 && int64_t{h.places} * h.count == conv.out_h &&
                        int64_t{w.places} * w.count == conv.out_w;
  const bool one_phase = h.count == 1 && w.count == 1;
  const int32_t phases = one_phase && is_whole ? y
                                               : add_activation_like(draft, name + "/phases", y,
                                                                     {from[0], h.places, w.places, all});
  const int32_t w_index = put(draft, std::move(plain)), b_index = put(draft, std::move(bias));
  DraftNode& node = add_node(draft, depthwise ? Op::kDepthwiseConv2d : Op::kConv2d, name, source,
                             {x, w_index, b_index}, phases);
  if (!depthwise) node.options.as<Conv2dOptions>().groups = conv.groups;
  node.options.as<Window2d>() = {h.taps, w.taps, 1, 1, 1, 1, h.before, w.before, h.after, w.after, false};
  if (phases == y) return node;

  int32_t whole = phases;
  if (!one_phase) {
    const int32_t each = channels / conv.groups;
    const int32_t rows = add_reshape(draft, name + "/blocks", source, phases,
                                     {from[0] * h.places, w.places, conv.groups, h.count, w.count, each});
    const int32_t moved = add_transpose(draft, name + "/moved", source, rows, {0, 3, 1, 4, 2, 5});
    whole = add_reshape(draft, name + "/whole", source, moved,
                        {from[0], h.places * h.count, w.places * w.count, channels});
  }
  if (is_whole) {
    add_node(draft, Op::kReshape, name, source, {whole}, y);
    return node;
  }
  DraftNode& slice = add_node(draft, Op::kStridedSlice, name, source, {whole}, y);
  slice.options.as<StridedSliceOptions>().begin = draft.list({0, h.cut, w.cut, 0});
  slice.options.as<StridedSliceOptions>().strides = draft.list({1, 1, 1, 1});
  return node;
}

}  // namespace intaglio::importers
