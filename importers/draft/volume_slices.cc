#include "importers/draft/volume_slices.h"

#include <algorithm>

namespace intaglio::importers {
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

int32_t add_stacked_slices(Draft& draft, const std::string& name, const std::string& source, int32_t x,
                           int32_t groups, int32_t kernel, std::vector<int32_t> slices) {
  Shape shape = draft.tensor(x).shape;
  const int32_t n = shape[0], d = shape[1], h = shape[2], w = shape[3], c = shape[4];
  const auto count = static_cast<int32_t>(slices.size()), out = count / kernel;
  if (groups < 1 || c % groups != 0) fail(groups, " groups do not fit ", c, " channels");
  const std::string part = name + "/slices";
  if (std::find(slices.begin(), slices.end(), -1) != slices.end()) {
    shape[1] = narrow(int64_t{d} + 1, "depth");
    const int32_t padded = add_activation_like(draft, part, x, shape);
    DraftNode& pad = add_node(draft, Op::kPad, name, source, {x}, padded);
    pad.options.as<PadOptions>().before = draft.list({0, 0, 0, 0, 0});
    pad.pads_after = {0, 1, 0, 0, 0};
    x = padded;
    std::replace(slices.begin(), slices.end(), -1, d);
  }
  bool is_whole = count == d;
  for (int32_t i = 0; i < count && is_whole; ++i) is_whole = slices[static_cast<size_t>(i)] == i;
  if (!is_whole) x = add_gather(draft, part, source, x, 1, slices);
  const int32_t planes = narrow(int64_t{n} * out, "number of slices"),
                pixels = narrow(int64_t{h} * w, "area");
  const Shape apart{planes, kernel, pixels, groups, c / groups},
      together{planes, h, w, narrow(int64_t{c} * kernel, "number of channels")};
  check_shape(together, DType::kF32);
  x = add_reshape(draft, part, source, x, apart);
  x = add_transpose(draft, part, source, x, {0, 2, 3, 1, 4});
  return add_reshape(draft, part, source, x, together);
}

}  // namespace intaglio::importers
