#include <algorithm>

#include "importers/draft/composites.h"
#include "importers/draft/conv_forms.h"

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

DraftNode& add_transposed_conv(const Origin& at, int32_t x, DraftTensor weights, DraftTensor bias, int32_t y,
                               const TransposedConv& conv) {
  const Shape from = at.draft.tensor(x).shape;
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
                                               : add_activation_like(at.draft, at.name + "/phases", y,
                                                                     {from[0], h.places, w.places, all});
  const int32_t w_index = at.draft.put(std::move(plain)), b_index = at.draft.put(std::move(bias));
  DraftNode& node =
      add_node(at, depthwise ? Op::kDepthwiseConv2d : Op::kConv2d, {x, w_index, b_index}, phases);
  if (!depthwise) node.options.as<Conv2dOptions>().groups = conv.groups;
  node.options.as<Window2d>() = {h.taps, w.taps, 1, 1, 1, 1, h.before, w.before, h.after, w.after, false};
  if (phases == y) return node;

  int32_t whole = phases;
  if (!one_phase) {
    const int32_t each = channels / conv.groups;
    const int32_t rows = add_reshape(at.part("/blocks"), phases,
                                     {from[0] * h.places, w.places, conv.groups, h.count, w.count, each});
    const int32_t moved = add_transpose(at.part("/moved"), rows, {0, 3, 1, 4, 2, 5});
    whole =
        add_reshape(at.part("/whole"), moved, {from[0], h.places * h.count, w.places * w.count, channels});
  }
  if (is_whole) {
    add_node(at, Op::kReshape, {whole}, y);
    return node;
  }
  add_slice_into(at, whole, {0, h.cut, w.cut, 0}, {1, 1, 1, 1}, y);
  return node;
}

namespace {

// Which index of the input place k of a window reads for output o; below 0: none.
template <typename Place>
std::vector<int32_t> places_of(int32_t out, int32_t kernel, int32_t in, Place place) {
  std::vector<int32_t> places;
  places.reserve(static_cast<size_t>(out) * static_cast<size_t>(kernel));
  for (int32_t o = 0; o < out; ++o)
    for (int32_t k = 0; k < kernel; ++k) {
      const int64_t at = place(int64_t{o}, int64_t{k});
      places.push_back(at >= 0 && at < in ? static_cast<int32_t>(at) : -1);
    }
  return places;
}

struct Windows {
  std::vector<int32_t> h, w;  // places of each output's window, one after another
  int32_t out_h, out_w, kernel_h, kernel_w;

  int64_t count() const { return int64_t{out_h} * out_w; }
  int64_t taps() const { return int64_t{kernel_h} * kernel_w; }
};

class Parts {
 public:
  explicit Parts(const Origin& at) : draft_(at.draft), at_(at) {}

  int32_t reshaped(int32_t x, const Shape& shape) {
    if (!draft_.tensor(x).constant) return add_reshape(at_.part("/shaped"), x, shape);
    return add_constant_bytes(draft_, draft_.tensor(x).name, DType::kF32, shape, draft_.tensor(x).data);
  }
  int32_t turned(int32_t x, const Permutation& order) {
    return draft_.tensor(x).constant ? add_permuted_constant(draft_, x, order)
                                     : add_transpose(at_.part("/turned"), x, order);
  }

  // [n * out_h * out_w, taps, c]: what each window reads, zeros where that is nothing.
  int32_t windows(int32_t x, const Windows& of) {
    const Shape shape = draft_.tensor(x).shape;
    const int32_t pixels = narrow(int64_t{shape[1]} * shape[2], "number of pixels");
    std::vector<int32_t> indices;
    indices.reserve(static_cast<size_t>(of.count() * of.taps()));
    bool reads_nothing = false;
    for (int32_t oh = 0; oh < of.out_h; ++oh)
      for (int32_t ow = 0; ow < of.out_w; ++ow)
        for (int32_t kh = 0; kh < of.kernel_h; ++kh)
          for (int32_t kw = 0; kw < of.kernel_w; ++kw) {
            const int32_t row = of.h[static_cast<size_t>(oh * of.kernel_h + kh)],
                          column = of.w[static_cast<size_t>(ow * of.kernel_w + kw)];
            const bool is_there = row >= 0 && column >= 0;
            reads_nothing |= !is_there;
            indices.push_back(is_there ? row * shape[2] + column : pixels);
          }
    int32_t rows = reshaped(x, {shape[0], pixels, shape[3]});
    if (reads_nothing) {
      const Shape one{shape[0], 1, shape[3]};
      check_shape({shape[0], pixels + 1, shape[3]}, DType::kF32);
      const int32_t zeros = add_constant(draft_, at_.name + "/zeros", DType::kF32, one,
                                         std::vector<float>(static_cast<size_t>(elements(one)), 0.0f));
      const int32_t joined =
          add_activation(draft_, at_.name + "/joined", DType::kF32, {shape[0], pixels + 1, shape[3]});
      add_node(at_, Op::kConcat, {rows, zeros}, joined).options.as<ConcatOptions>().axis = 1;
      rows = joined;
    }
    const int32_t gathered = add_gather(at_.part("/windows"), rows, 1, indices);
    return reshaped(gathered, {narrow(shape[0] * of.count(), "number of windows"),
                               narrow(of.taps(), "size of a window"), shape[3]});
  }

  // Each window by the weights of its group: [windows, oc].
  int32_t product(int32_t read, int32_t weights, int32_t groups) {
    const Shape from = draft_.tensor(read).shape, w = draft_.tensor(weights).shape;
    const int32_t rows = from[0], taps = from[1], each = from[2] / groups, channels = w[0] / groups;
    const int32_t depth = narrow(int64_t{taps} * each, "size of a window");
    if (groups == 1)
      return add_matrix_product(at_.part("/product"), reshaped(read, {rows, depth}),
                                reshaped(weights, {w[0], depth}), true);
    const int32_t parted = turned(reshaped(read, {rows, taps, groups, each}), {2, 0, 1, 3});
    const int32_t y = add_matrix_product(at_.part("/product"), reshaped(parted, {groups, rows, depth}),
                                         reshaped(weights, {groups, channels, depth}), true);
    return reshaped(turned(y, {1, 0, 2}), {rows, w[0]});
  }

 private:
  Draft& draft_;
  const Origin& at_;
};

int32_t add(const Origin& at, int32_t x, int32_t weights, int32_t groups, const Windows& windows) {
  const Shape from = at.draft.tensor(x).shape, w = at.draft.tensor(weights).shape;
  if (at.draft.tensor(x).constant) fail("its input is a constant, and its weights are computed by a run");
  if (groups < 1 || int64_t{groups} * w[3] != from[3] || w[0] % groups != 0)
    fail(groups, " groups and weights ", shape_text(w), " do not fit an input of ", from[3], " channels");
  const Shape out{from[0], windows.out_h, windows.out_w, w[0]};
  check_shape(out, DType::kF32);
  Parts parts(at);
  return parts.reshaped(parts.product(parts.windows(x, windows), weights, groups), out);
}

// Throws where its lists would be larger than constants may be.
Windows sized(const Draft& draft, int32_t out_h, int32_t out_w, const Shape& weights) {
  Windows windows{{}, {}, out_h, out_w, weights[1], weights[2]};
  check_shape({out_h, windows.kernel_h, out_w, windows.kernel_w}, DType::kS32);
  draft.budget->check_numbers(windows.count() * windows.taps());
  return windows;
}

}  // namespace

int32_t add_computed_conv(const Origin& at, int32_t x, int32_t weights, int32_t groups, const WindowAxis& h,
                          const WindowAxis& w) {
  const Shape from = at.draft.tensor(x).shape;
  Windows windows =
      sized(at.draft, window_output(h, from[1]), window_output(w, from[2]), at.draft.tensor(weights).shape);
  const auto along = [](const WindowAxis& axis, int32_t out, int32_t in) {
    return places_of(out, axis.kernel, in,
                     [&](int64_t o, int64_t k) { return o * axis.stride + k * axis.dilation - axis.before; });
  };
  windows.h = along(h, windows.out_h, from[1]);
  windows.w = along(w, windows.out_w, from[2]);
  return add(at, x, weights, groups, windows);
}

int32_t add_computed_transposed_conv(const Origin& at, int32_t x, int32_t weights,
                                     const TransposedConv& conv) {
  const Shape from = at.draft.tensor(x).shape;
  Windows windows = sized(at.draft, conv.out_h, conv.out_w, at.draft.tensor(weights).shape);
  const auto along = [](const WindowAxis& axis, int32_t out, int32_t in) {
    return places_of(out, axis.kernel, in, [&](int64_t o, int64_t k) -> int64_t {
      const int64_t place = o + axis.before - k * axis.dilation;
      return place >= 0 && place % axis.stride == 0 ? place / axis.stride : -1;
    });
  };
  windows.h = along(conv.h, conv.out_h, from[1]);
  windows.w = along(conv.w, conv.out_w, from[2]);
  return add(at, x, weights, conv.groups, windows);
}

namespace {

constexpr int64_t kFewSlices = 4096;  // which every node of a file may have

template <typename Place>
std::vector<int32_t> slices_of(const Draft& draft, int32_t out, int32_t kernel, int32_t in, Place place) {
  check_shape({out, kernel}, DType::kS32);
  if (int64_t{out} * kernel > kFewSlices) draft.budget->check_numbers(int64_t{out} * kernel);
  std::vector<int32_t> slices;
  for (int32_t o = 0; o < out; ++o)
    for (int32_t k = 0; k < kernel; ++k) {
      const int64_t slice = place(int64_t{o}, int64_t{k});
      slices.push_back(slice >= 0 && slice < in ? static_cast<int32_t>(slice) : -1);
    }
  return slices;
}

}  // namespace

std::vector<int32_t> window_slices(const Draft& draft, const WindowAxis& depth, int32_t in, int32_t out) {
  return slices_of(draft, out, depth.kernel, in, [&](int64_t o, int64_t k) {
    return o * depth.stride + k * depth.dilation - depth.before;
  });
}

std::vector<int32_t> transposed_window_slices(const Draft& draft, const WindowAxis& depth, int32_t in,
                                              int32_t out) {
  return slices_of(draft, out, depth.kernel, in, [&](int64_t o, int64_t k) -> int64_t {
    const int64_t place = o + depth.before - k * depth.dilation;
    return place >= 0 && place % depth.stride == 0 ? place / depth.stride : -1;
  });
}

int32_t add_stacked_slices(const Origin& at, int32_t x, int32_t groups, int32_t kernel,
                           std::vector<int32_t> slices) {
  Shape shape = at.draft.tensor(x).shape;
  const int32_t n = shape[0], d = shape[1], h = shape[2], w = shape[3], c = shape[4];
  const auto count = static_cast<int32_t>(slices.size()), out = count / kernel;
  if (groups < 1 || c % groups != 0) fail(groups, " groups do not fit ", c, " channels");
  const std::string part = at.name + "/slices";
  if (std::find(slices.begin(), slices.end(), -1) != slices.end()) {
    shape[1] = narrow(int64_t{d} + 1, "depth");
    const int32_t padded = add_activation_like(at.draft, part, x, shape);
    add_pad(at, x, {0, 0, 0, 0, 0}, {0, 1, 0, 0, 0}, padded);
    x = padded;
    std::replace(slices.begin(), slices.end(), -1, d);
  }
  bool is_whole = count == d;
  for (int32_t i = 0; i < count && is_whole; ++i) is_whole = slices[static_cast<size_t>(i)] == i;
  if (!is_whole) x = add_gather(at.named(part), x, 1, slices);
  const int32_t planes = narrow(int64_t{n} * out, "number of slices"),
                pixels = narrow(int64_t{h} * w, "area");
  const Shape apart{planes, kernel, pixels, groups, c / groups},
      together{planes, h, w, narrow(int64_t{c} * kernel, "number of channels")};
  check_shape(together, DType::kF32);
  x = add_reshape(at.named(part), x, apart);
  x = add_transpose(at.named(part), x, {0, 2, 3, 1, 4});
  return add_reshape(at.named(part), x, together);
}

}  // namespace intaglio::importers
