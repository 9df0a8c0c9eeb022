#include "importers/draft/index_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "importers/draft/geometry.h"
#include "importers/draft/matrix_product.h"

namespace intaglio::importers {
namespace {

// For each row of x one of `first`, which are so many, or of the updates behind them: the whole list taken anew.
int32_t taken_rows(const Origin& at, const ReplacedRows& r, int32_t first, int32_t count,
                   const std::vector<int32_t>& from) {
  const auto updates = static_cast<int32_t>(r.numbers.size());
  const Shape of_both{narrow(int64_t{count} + updates, "number of rows"), r.width};
  check_shape(of_both, at.draft.tensor(r.x).dtype);
  const int32_t both = add_activation_like(at.draft, at.name + "/both", r.x, of_both);
  const int32_t behind = add_reshape(at.part("/updates"), r.updates, {updates, r.width});
  add_node(at, Op::kConcat, {first, behind}, both).options.as<ConcatOptions>().axis = 0;
  const int32_t taken = add_gather(at, both, 0, from);
  return add_reshape(at, taken, at.draft.tensor(r.x).shape);
}

}  // namespace

float neutral_of(Op join) {
  if (join == Op::kAdd) return 0.0f;
  if (join == Op::kMul) return 1.0f;
  return join == Op::kMaximum ? -INFINITY : INFINITY;
}

int32_t IndexRows::width() const { return static_cast<int32_t>(std::max<int64_t>(elements(rest), 1)); }

Shape IndexRows::whole() const {
  Shape shape = of_indices;
  shape.insert(shape.end(), rest.begin(), rest.end());
  if (shape.empty()) shape.push_back(1);
  return shape;
}

IndexRows index_rows(const Shape& indices, const Shape& from) {
  if (indices.empty()) fail("its indices are one number; tuples of numbers are expected");
  const auto tuple = static_cast<size_t>(indices.back());
  if (tuple < 1 || tuple > from.size())
    fail("its tuples of ", tuple, " indices do not fit ", shape_text(from));
  IndexRows rows;
  rows.of_indices.assign(indices.begin(), indices.end() - 1);
  rows.rest.assign(from.begin() + static_cast<std::ptrdiff_t>(tuple), from.end());
  for (size_t d = 0; d < tuple; ++d) rows.count *= from[d];
  return rows;
}

int32_t normal_index(int64_t index, size_t axis, const Shape& from) {
  const int32_t dim = from[axis];
  if (index < -dim || index >= dim)
    fail("its index ", index, " does not exist in axis ", axis, " of ", shape_text(from));
  return static_cast<int32_t>(index < 0 ? index + dim : index);
}

std::vector<int32_t> row_numbers(const IndexRows& rows, const std::vector<int64_t>& indices,
                                 const Shape& from) {
  const size_t tuple = from.size() - rows.rest.size();
  std::vector<int32_t> numbers;
  for (size_t i = 0; i + tuple <= indices.size(); i += tuple) {
    int32_t number = 0;
    for (size_t d = 0; d < tuple; ++d) number = number * from[d] + normal_index(indices[i + d], d, from);
    numbers.push_back(number);
  }
  if (numbers.empty()) fail("it takes nothing of its input");
  return numbers;
}

int32_t add_row_numbers(const Origin& at, int32_t indices, const IndexRows& rows, const Shape& from) {
  constexpr int32_t kMostExact = 1 << 24;
  if (rows.count > kMostExact)
    fail("its indices are computed in FP32, which is exact up to ", kMostExact, "; its input has ",
         rows.count, " rows");
  const auto tuple = static_cast<int32_t>(from.size() - rows.rest.size());
  std::vector<float> steps(static_cast<size_t>(tuple), 1.0f);  // rows that one more of an index goes on
  for (size_t d = steps.size(); d-- > 1;) steps[d - 1] = steps[d] * static_cast<float>(from[d]);
  const auto count = static_cast<int32_t>(elements(rows.of_indices));
  const int32_t tuples = add_reshape(at.part("/tuples"), indices, {count, tuple});
  const int32_t weights = add_constant(at.draft, at.name + "/steps", DType::kF32, {tuple, 1}, steps);
  const int32_t numbers = add_matrix_product(at.part("/numbers"), tuples, weights, false);
  return add_reshape(at.part("/numbers"), numbers, {count});
}

int32_t add_replaced_rows(const Origin& at, const ReplacedRows& r) {
  at.draft.budget->check_numbers(r.count);
  std::vector<int32_t> from(static_cast<size_t>(r.count));
  std::iota(from.begin(), from.end(), 0);
  for (size_t i = 0; i < r.numbers.size(); ++i)
    from[static_cast<size_t>(r.numbers[i])] = r.count + static_cast<int32_t>(i);
  const int32_t rows = add_reshape(at.part("/rows"), r.x, {r.count, r.width});
  return taken_rows(at, r, rows, r.count, from);
}

// One update of each row at a time; a row that changes nothing where there is none.
int32_t add_joined_rows(const Origin& at, const ReplacedRows& r, Op join) {
  constexpr size_t kMostTimes = 64;
  std::vector<std::vector<int32_t>> times;
  at.draft.budget->check_numbers(int64_t{r.count} + r.width);
  std::vector<size_t> named(static_cast<size_t>(r.count), 0);
  for (size_t i = 0; i < r.numbers.size(); ++i) {
    const auto row = static_cast<size_t>(r.numbers[i]);
    if (named[row] == kMostTimes) fail("its indices name a place more than ", kMostTimes, " times");
    if (named[row] == times.size()) {
      at.draft.budget->check_numbers(static_cast<int64_t>(times.size() + 1) * r.count + r.width);
      times.emplace_back(static_cast<size_t>(r.count), 0);
    }
    times[named[row]++][row] = 1 + static_cast<int32_t>(i);
  }
  const int32_t neutral = add_constant(at.draft, at.name + "/rest", DType::kF32, {1, r.width},
                                       std::vector<float>(static_cast<size_t>(r.width), neutral_of(join)));
  int32_t y = r.x;
  for (const std::vector<int32_t>& from : times) {
    const int32_t rows = taken_rows(at, r, neutral, 1, from);
    const int32_t joined = add_activation(at.draft, at.name, DType::kF32, at.draft.tensor(r.x).shape);
    add_node(at, join, {y, rows}, joined);
    y = joined;
  }
  return y;
}

}  // namespace intaglio::importers
