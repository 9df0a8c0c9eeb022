#include "importers/draft/computed_conv.h"

#include <algorithm>

#include "importers/draft/matrix_product.h"

namespace intaglio::importers {
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
  Parts(Draft& draft, const std::string& name, const std::string& source)
      : draft_(draft), name_(name), source_(source) {}

  int32_t reshaped(int32_t x, const Shape& shape) {
    if (!draft_.tensor(x).constant) return add_reshape(draft_, name_ + "/shaped", source_, x, shape);
    return add_constant_bytes(draft_, draft_.tensor(x).name, DType::kF32, shape, draft_.tensor(x).data);
  }
  int32_t turned(int32_t x, const Permutation& order) {
    return draft_.tensor(x).constant ? add_permuted_constant(draft_, x, order)
                                     : add_transpose(draft_, name_ + "/turned", source_, x, order);
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
      const int32_t zeros = add_constant(draft_, name_ + "/zeros", DType::kF32, one,
                                         std::vector<float>(static_cast<size_t>(elements(one)), 0.0f));
      const int32_t joined =
          add_activation(draft_, name_ + "/joined", DType::kF32, {shape[0], pixels + 1, shape[3]});
      add_node(draft_, Op::kConcat, name_, source_, {rows, zeros}, joined).options.as<ConcatOptions>().axis =
          1;
      rows = joined;
    }
    const int32_t gathered = add_gather(draft_, name_ + "/windows", source_, rows, 1, indices);
    return reshaped(gathered, {narrow(shape[0] * of.count(), "number of windows"),
                               narrow(of.taps(), "size of a window"), shape[3]});
  }

  // Each window by the weights of its group: [windows, oc].
  int32_t product(int32_t read, int32_t weights, int32_t groups) {
    const Shape from = draft_.tensor(read).shape, w = draft_.tensor(weights).shape;
    const int32_t rows = from[0], taps = from[1], each = from[2] / groups, channels = w[0] / groups;
    const int32_t depth = narrow(int64_t{taps} * each, "size of a window");
    if (groups == 1)
      return add_matrix_product(draft_, name_ + "/product", source_, reshaped(read, {rows, depth}),
                                reshaped(weights, {w[0], depth}), true);
    const int32_t parted = turned(reshaped(read, {rows, taps, groups, each}), {2, 0, 1, 3});
    const int32_t y =
        add_matrix_product(draft_, name_ + "/product", source_, reshaped(parted, {groups, rows, depth}),
                           reshaped(weights, {groups, channels, depth}), true);
    return reshaped(turned(y, {1, 0, 2}), {rows, w[0]});
  }

 private:
  Draft& draft_;
  const std::string &name_, &source_;
};

int32_t add(Draft& draft, const std::string& name, const std::string& source, int32_t x, int32_t weights,
            int32_t groups, const Windows& windows) {
  const Shape from = draft.tensor(x).shape, w = draft.tensor(weights).shape;
  if (draft.tensor(x).constant) fail("its input is a constant, and its weights are computed by a run");
  if (groups < 1 || int64_t{groups} * w[3] != from[3] || w[0] % groups != 0)
    fail(groups, " groups and weights ", shape_text(w), " do not fit an input of ", from[3], " channels");
  const Shape out{from[0], windows.out_h, windows.out_w, w[0]};
  check_shape(out, DType::kF32);
  Parts parts(draft, name, source);
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

int32_t add_computed_conv(Draft& draft, const std::string& name, const std::string& source, int32_t x,
                          int32_t weights, int32_t groups, const WindowAxis& h, const WindowAxis& w) {
  const Shape from = draft.tensor(x).shape;
  Windows windows =
      sized(draft, window_output(h, from[1]), window_output(w, from[2]), draft.tensor(weights).shape);
  const auto along = [](const WindowAxis& axis, int32_t out, int32_t in) {
    return places_of(out, axis.kernel, in,
                     [&](int64_t o, int64_t k) { return o * axis.stride + k * axis.dilation - axis.before; });
  };
  windows.h = along(h, windows.out_h, from[1]);
  windows.w = along(w, windows.out_w, from[2]);
  return add(draft, name, source, x, weights, groups, windows);
}

int32_t add_computed_transposed_conv(Draft& draft, const std::string& name, const std::string& source,
                                     int32_t x, int32_t weights, const TransposedConv& conv) {
  const Shape from = draft.tensor(x).shape;
  Windows windows = sized(draft, conv.out_h, conv.out_w, draft.tensor(weights).shape);
  const auto along = [](const WindowAxis& axis, int32_t out, int32_t in) {
    return places_of(out, axis.kernel, in, [&](int64_t o, int64_t k) -> int64_t {
      const int64_t place = o + axis.before - k * axis.dilation;
      return place >= 0 && place % axis.stride == 0 ? place / axis.stride : -1;
    });
  };
  windows.h = along(conv.h, conv.out_h, from[1]);
  windows.w = along(conv.w, conv.out_w, from[2]);
  return add(draft, name, source, x, weights, conv.groups, windows);
}

}  // namespace intaglio::importers
