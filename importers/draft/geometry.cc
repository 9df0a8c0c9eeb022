#include "importers/draft/geometry.h"

#include <algorithm>

namespace intaglio::importers {
namespace {

int64_t extent(const WindowAxis& axis) { return int64_t{axis.kernel - 1} * axis.dilation + 1; }

}  // namespace

void check_window_axis(const WindowAxis& axis) {
  const auto check = [](int32_t value, const char* what) {
    if (value < 1 || value > kMaxWindow) fail(what, " ", value, " is not allowed (1 to ", kMaxWindow, ")");
  };
  check(axis.kernel, "window size");
  check(axis.stride, "stride");
  check(axis.dilation, "dilation");
  for (const int32_t pad : {axis.before, axis.after})
    if (pad < 0 || pad >= extent(axis))
      fail("padding ", pad, " is not allowed: it must be at least 0 and less than the window (", extent(axis),
           ")");
}

int32_t window_output(const WindowAxis& axis, int32_t in) {
  check_window_axis(axis);
  const int64_t room = int64_t{in} + axis.before + axis.after - extent(axis);
  if (room < 0)
    fail("the window of ", extent(axis), " does not fit the input of ", in, " with padding ", axis.before,
         " and ", axis.after);
  return static_cast<int32_t>(room / axis.stride + 1);
}

void pad_same(WindowAxis& axis, int32_t in, bool lower) {
  check_window_axis(axis);
  const int64_t out = (int64_t{in} + axis.stride - 1) / axis.stride;
  const int64_t total = std::max<int64_t>((out - 1) * axis.stride + extent(axis) - in, 0);
  axis.before = static_cast<int32_t>(lower ? total - total / 2 : total / 2);
  axis.after = static_cast<int32_t>(total - axis.before);
}

void pad_ceil(WindowAxis& axis, int32_t in) {
  check_window_axis(axis);
  const int64_t room = int64_t{in} + axis.before + axis.after - extent(axis);
  if (room < 0 || room % axis.stride == 0) return;
  const int64_t start = (room / axis.stride + 1) * axis.stride;  // of the window that would be one more
  if (start >= int64_t{in} + axis.before) return;                // in the padding alone: it does not count
  axis.after = static_cast<int32_t>(axis.after + axis.stride - room % axis.stride);
}

Shape window_shape(const Shape& picture, const WindowAxis& h, const WindowAxis& w, int32_t channels) {
  return {picture[0], window_output(h, picture[1]), window_output(w, picture[2]), channels};
}

Window2d window_of(const WindowAxis& h, const WindowAxis& w, bool count_include_pad) {
  return {h.kernel, w.kernel, h.stride, w.stride, h.dilation,       w.dilation,
          h.before, w.before, h.after,  w.after,  count_include_pad};
}

int32_t narrow(int64_t value, const char* what) {
  if (value < INT32_MIN || value > INT32_MAX) fail(what, " ", value, " is outside the range of 32 bits");
  return static_cast<int32_t>(value);
}

int32_t normal_axis(int64_t axis, size_t rank) {
  const auto count = static_cast<int64_t>(rank);
  if (axis < -count || axis >= count) fail("axis ", axis, " does not exist in a tensor of rank ", rank);
  return static_cast<int32_t>(axis < 0 ? axis + count : axis);
}

std::vector<int32_t> normal_axes(const std::vector<int64_t>& axes, size_t rank) {
  std::vector<int32_t> normal;
  normal.reserve(axes.size());
  for (const int64_t axis : axes) normal.push_back(normal_axis(axis, rank));
  std::sort(normal.begin(), normal.end());
  normal.erase(std::unique(normal.begin(), normal.end()), normal.end());
  return normal;
}

void check_rank(const Shape& shape, size_t rank) {
  if (shape.size() != rank)
    fail("its input has the shape ", shape_text(shape), "; rank ", rank, " is expected");
}

void check_permutation(const Permutation& permutation, size_t rank) {
  std::vector<bool> seen(rank, false);
  bool good = permutation.size() == rank;
  for (size_t i = 0; good && i < rank; ++i) {
    const int32_t axis = permutation[i];
    good = axis >= 0 && static_cast<size_t>(axis) < rank && !seen[static_cast<size_t>(axis)];
    if (good) seen[static_cast<size_t>(axis)] = true;
  }
  if (!good) fail("the permutation ", shape_text(permutation), " does not have each of ", rank, " axes once");
}

Shape with_rank(Shape shape, size_t rank) {
  shape.insert(shape.begin(), rank - shape.size(), 1);
  return shape;
}

Shape broadcast_shape(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape shape = with_rank(a, rank);
  const Shape other = with_rank(b, rank);
  for (size_t d = 0; d < rank; ++d) {
    if (shape[d] != other[d] && shape[d] != 1 && other[d] != 1)
      fail("its inputs have the shapes ", shape_text(a), " and ", shape_text(b),
           ", which do not fit each other");
    if (shape[d] == 1) shape[d] = other[d];
  }
  return shape;
}

Shape reduced_shape(const Shape& from, const std::vector<int32_t>& axes, bool keep) {
  Shape shape;
  for (size_t d = 0; d < from.size(); ++d) {
    const bool is_reduced = std::binary_search(axes.begin(), axes.end(), static_cast<int32_t>(d));
    if (!is_reduced || keep) shape.push_back(is_reduced ? 1 : from[d]);
  }
  return shape;
}

Shape gathered_shape(const Shape& from, int32_t axis, const Shape& indices) {
  Shape shape(from.begin(), from.begin() + axis);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), from.begin() + axis + 1, from.end());
  return shape;
}

Shape joined_shape(const std::vector<Shape>& parts, int32_t axis) {
  const auto at = static_cast<size_t>(axis);
  Shape shape = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    Shape other = parts[i];
    const bool fits = other.size() == shape.size();
    const int64_t sum = fits ? int64_t{shape[at]} + other[at] : 0;
    if (fits) other[at] = shape[at];
    if (other != shape)
      fail("its inputs have the shapes ", shape_text(shape), " and ", shape_text(parts[i]),
           ", which do not fit along axis ", axis);
    shape[at] = narrow(sum, "dimension");
  }
  return shape;
}

Shape padded_shape(Shape shape, const std::vector<int32_t>& before, const std::vector<int32_t>& after) {
  for (size_t d = 0; d < shape.size(); ++d)
    shape[d] = narrow(int64_t{shape[d]} + before[d] + after[d], "dimension");
  return shape;
}

}  // namespace intaglio::importers
