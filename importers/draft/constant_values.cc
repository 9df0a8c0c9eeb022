#include "importers/draft/constant_values.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "importers/draft/geometry.h"
#include "importers/draft/quantized_tables.h"
#include "kernels/arithmetic/blocked_sum.h"

namespace intaglio::importers {
namespace {

// Arithmetic on single constants. What a type or a size does not allow is thrown.

constexpr int64_t kMaxNumber = int64_t{1} << 31;  // of arithmetic on integers: no product overflows

template <typename T>
int64_t compared_numbers(Arithmetic operation, T a, T b) {
  switch (operation) {
    case Arithmetic::kEqual:
      return a == b;
    case Arithmetic::kLess:
      return a < b;
    case Arithmetic::kLessEqual:
      return a <= b;
    case Arithmetic::kGreater:
      return a > b;
    case Arithmetic::kGreaterEqual:
      return a >= b;
    case Arithmetic::kAnd:
      return a != T{} && b != T{};
    default:
      return a != T{} || b != T{};
  }
}

int64_t floor_divided(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

// In two's complement; to the right the sign stays.
int64_t of_bits(Arithmetic operation, int64_t a, int64_t b) {
  if (operation == Arithmetic::kBitAnd) return a & b;
  if (operation == Arithmetic::kBitOr) return a | b;
  if (operation == Arithmetic::kBitXor) return a ^ b;
  if (b < 0 || b > 63) fail("it shifts by ", b, " bits; 0 to 63 are supported");
  return operation == Arithmetic::kShiftRight ? a >> b : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
}

int64_t compared(Arithmetic operation, int64_t a, int64_t b) { return compared_numbers(operation, a, b); }
int64_t compared(Arithmetic operation, float a, float b) { return compared_numbers(operation, a, b); }

int64_t of_integers(Arithmetic operation, int64_t a, int64_t b) {
  if (operation == Arithmetic::kMax) return std::max(a, b);
  if (operation == Arithmetic::kMin) return std::min(a, b);
  if (operation >= Arithmetic::kEqual) return compared(operation, a, b);
  if (operation >= Arithmetic::kBitAnd) return of_bits(operation, a, b);
  int64_t sum = 0;
  if (operation == Arithmetic::kAdd && !__builtin_add_overflow(a, b, &sum)) return sum;
  if (operation == Arithmetic::kSub && !__builtin_sub_overflow(a, b, &sum)) return sum;
  if (std::max(a, b) > kMaxNumber || std::min(a, b) < -kMaxNumber)
    fail("its numbers ", a, " and ", b, " are too large");
  switch (operation) {
    case Arithmetic::kMul:
      return a * b;
    case Arithmetic::kPow: {
      const double power = std::pow(static_cast<double>(a), static_cast<double>(b));
      if (!(std::fabs(power) <= static_cast<double>(kMaxNumber)))
        fail("its power ", a, " to ", b, " is too large");
      return static_cast<int64_t>(power);
    }
    default:
      break;
  }
  if (b == 0) fail("it divides by 0");
  if (operation == Arithmetic::kDiv) return a / b;
  const int64_t quotient = floor_divided(a, b);
  return operation == Arithmetic::kFloorDiv ? quotient : a - quotient * b;
}

// By the operator's rule, which has no power of a number below 0 but for small exponents: of whole ones the sign is known.
float power(float a, float b) {
  NodeOptions exponent(Op::kPow);
  exponent.as<UnaryOptions>().alpha = b;
  const bool is_whole = b == std::floor(b), is_odd = std::fabs(b) < 0x1p24f && std::fmod(b, 2.0f) != 0.0f;
  const double size = quant_rule(Op::kPow).unary(exponent, is_whole ? std::fabs(a) : a);
  return static_cast<float>(is_whole && is_odd && a < 0.0f ? -size : size);
}

float of_reals(Arithmetic operation, float a, float b) {
  switch (operation) {
    case Arithmetic::kAdd:
      return a + b;
    case Arithmetic::kSub:
      return a - b;
    case Arithmetic::kMul:
      return a * b;
    case Arithmetic::kMax:
      return std::max(a, b);
    case Arithmetic::kMin:
      return std::min(a, b);
    case Arithmetic::kPow:
      return power(a, b);
    default:
      break;
  }
  if (operation >= Arithmetic::kBitAnd) fail("it takes bits of reals, which is not supported");
  if (operation == Arithmetic::kDiv) return a / b;
  const float quotient = std::floor(a / b);
  return operation == Arithmetic::kFloorDiv ? quotient : a - quotient * b;
}

int64_t mapped_integer(Op function, int64_t v) {
  if (v < -kMaxNumber || v > kMaxNumber) fail("its number ", v, " is too large");
  if (function == Op::kAbs) return v < 0 ? -v : v;
  if (function == Op::kFloor || function == Op::kCeil) return v;
  fail("it takes integers, which is not supported");
}

constexpr int64_t kMaxFolded = int64_t{1} << 24;  // elements of a result
constexpr size_t kMaxFoldedRank = 32;             // each element is found by all its coordinates

size_t count_of(const Shape& shape) { return static_cast<size_t>(elements(shape)); }

// Calls body(coordinates) for each element of the shape, in order.
template <typename Body>
void for_each(const Shape& shape, Body body) {
  const int64_t count = elements(shape);
  Shape at(shape.size(), 0);
  for (int64_t n = 0; n < count; ++n) {
    body(at);
    for (size_t i = shape.size(); i-- > 0;) {
      if (++at[i] < shape[i]) break;
      at[i] = 0;
    }
  }
}

// The elements `from` of x, as another shape.
Values taken(const Values& x, const Shape& shape, const std::vector<size_t>& from) {
  Values y;
  y.shape = shape;
  y.is_real = x.is_real;
  for (const size_t i : from) x.is_real ? y.reals.push_back(x.reals[i]) : y.integers.push_back(x.integers[i]);
  return y;
}

// The element at each place of the shape: the sum of place(axis, coordinate), in steps of that axis.
template <typename Place>
Values picked(const Values& x, const Shape& shape, const std::vector<size_t>& steps, Place place) {
  std::vector<size_t> from;
  for_each(shape, [&](const Shape& at) {
    size_t i = 0;
    for (size_t d = 0; d < at.size(); ++d) i += static_cast<size_t>(place(d, at[d])) * steps[d];
    from.push_back(i);
  });
  return taken(x, shape, from);
}

// As the runtime adds up.
float blocked_sum(const std::vector<float>& terms) {
  return sum_in_blocks(static_cast<int32_t>(terms.size()), kSumBlock, [&](int32_t first, int32_t end) {
    return std::accumulate(terms.begin() + first, terms.begin() + end, 0.0f);
  });
}

}  // namespace

void check_folded_size(const Shape& shape) {
  if (shape.size() > kMaxFoldedRank) fail("its constant result has ", shape.size(), " dimensions");
  int64_t count = 1;  // without dimensions of 0: what is made of the shape may lack them
  for (const int32_t dim : shape) {
    if (dim < 0 || (dim > 0 && count > kMaxFolded / dim)) fail("its constant result is too large");
    count *= std::max(dim, 1);
  }
}

std::vector<size_t> row_major_strides(const Shape& shape) {
  std::vector<size_t> steps(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) steps[i - 1] = steps[i] * static_cast<size_t>(shape[i]);
  return steps;
}

Values expanded(const Values& x, const Shape& shape) {
  const Shape to = broadcast_shape(x.shape, shape), from = with_rank(x.shape, to.size());
  check_folded_size(to);
  return picked(x, to, row_major_strides(from), [&](size_t d, int32_t at) { return from[d] == 1 ? 0 : at; });
}

Values combined(Arithmetic operation, const Values& a, const Values& b) {
  if (a.is_real != b.is_real) fail("its inputs have different element types");
  const Shape shape = broadcast_shape(a.shape, b.shape);
  const Values p = expanded(a, shape), q = expanded(b, shape);
  const bool compares = operation >= Arithmetic::kEqual;
  Values y{shape, a.is_real && !compares, {}, {}};
  for (size_t i = 0; i < count_of(shape); ++i) {
    if (!a.is_real)
      y.integers.push_back(of_integers(operation, p.integers[i], q.integers[i]));
    else if (compares)
      y.integers.push_back(compared(operation, p.reals[i], q.reals[i]));
    else
      y.reals.push_back(of_reals(operation, p.reals[i], q.reals[i]));
  }
  return y;
}

Values combined(Arithmetic operation, const Values& a, int8_t number) {
  const Values other =
      a.is_real ? Values{{}, true, {}, {static_cast<float>(number)}} : Values{{}, false, {number}, {}};
  return combined(operation, a, other);
}

Values mapped(Op function, Values x) {
  const auto real = quant_rule(function).unary;
  for (float& v : x.reals) v = static_cast<float>(real(NodeOptions(function), v));
  for (int64_t& v : x.integers) v = mapped_integer(function, v);
  return x;
}

Values reduced(Reduction reduction, const Values& x, const std::vector<int32_t>& axes, bool keep) {
  std::vector<int32_t> all(x.shape.size());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int32_t>& own = axes.empty() ? all : axes;
  const Shape with_ones = reduced_shape(x.shape, own, true), out = reduced_shape(x.shape, own, keep);
  const size_t results = count_of(with_ones), elements_each = results == 0 ? 0 : count_of(x.shape) / results;
  if (elements_each == 0) fail("it reduces an empty constant");
  const auto steps = row_major_strides(with_ones);
  Values y{out, x.is_real, {}, {}};
  std::vector<bool> started(results, false);
  y.integers.resize(x.is_real ? 0 : results);
  y.reals.resize(x.is_real ? results : 0);
  const Arithmetic operations[] = {Arithmetic::kAdd, Arithmetic::kAdd, Arithmetic::kMul, Arithmetic::kMax,
                                   Arithmetic::kMin};
  const Arithmetic operation = operations[static_cast<size_t>(reduction)];
  const bool adds_reals = x.is_real && operation == Arithmetic::kAdd;
  std::vector<std::vector<float>> terms(adds_reals ? results : 0);
  size_t n = 0;
  for_each(x.shape, [&](const Shape& at) {
    size_t i = 0;
    for (size_t d = 0; d < at.size(); ++d)
      if (with_ones[d] != 1) i += static_cast<size_t>(at[d]) * steps[d];
    if (adds_reals)
      terms[i].push_back(x.reals[n]);
    else if (x.is_real)
      y.reals[i] = started[i] ? of_reals(operation, y.reals[i], x.reals[n]) : x.reals[n];
    else
      y.integers[i] = started[i] ? of_integers(operation, y.integers[i], x.integers[n]) : x.integers[n];
    started[i] = true;
    ++n;
  });
  for (size_t i = 0; i < terms.size(); ++i) y.reals[i] = blocked_sum(terms[i]);
  if (reduction != Reduction::kMean) return y;
  for (float& v : y.reals) v /= static_cast<float>(elements_each);
  for (int64_t& v : y.integers) v /= static_cast<int64_t>(elements_each);
  return y;
}

Values gathered(const Values& x, size_t axis, const Values& indices) {
  const auto cut = static_cast<int32_t>(axis);
  const Shape shape = gathered_shape(x.shape, cut, indices.shape);
  check_folded_size(shape);
  const size_t outer = count_of({x.shape.begin(), x.shape.begin() + cut}),
               piece = elements_behind(x.shape, cut);
  const int32_t dim = x.shape[axis];
  std::vector<size_t> from;
  for (size_t o = 0; o < outer; ++o) {
    for (const int64_t index : indices.integers) {
      if (index < -dim || index >= dim) fail("its index ", index, " does not exist in an axis of ", dim);
      const auto row = o * static_cast<size_t>(dim) + static_cast<size_t>(index < 0 ? index + dim : index);
      for (size_t i = 0; i < piece; ++i) from.push_back(row * piece + i);
    }
  }
  return taken(x, shape, from);
}

Values sliced(const Values& x, const std::vector<int32_t>& begin, const std::vector<int32_t>& strides,
              const Shape& shape) {
  return picked(x, shape, row_major_strides(x.shape),
                [&](size_t d, int32_t at) { return begin[d] + at * strides[d]; });
}

Values concatenated(const std::vector<Values>& parts, size_t axis) {
  const Values& first = parts[0];
  const Shape front(first.shape.begin(), first.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  const size_t outer = count_of(front);
  Values y{first.shape, first.is_real, {}, {}};
  y.shape[axis] = 0;
  for (const Values& part : parts) {
    Shape other = part.shape;
    if (other.size() != y.shape.size() || part.is_real != y.is_real) fail("its inputs do not fit");
    y.shape[axis] = narrow(int64_t{y.shape[axis]} + other[axis], "dimension");
    other[axis] = y.shape[axis];
    if (other != y.shape) fail("its inputs do not fit along axis ", axis);
  }
  check_folded_size(y.shape);
  if (outer == 0) return y;
  const auto append = [&](auto& to, const auto& part, size_t o) {
    const auto piece = static_cast<std::ptrdiff_t>(part.size() / outer);
    const auto begin = part.begin() + static_cast<std::ptrdiff_t>(o) * piece;
    to.insert(to.end(), begin, begin + piece);
  };
  for (size_t o = 0; o < outer; ++o)
    for (const Values& part : parts)
      y.is_real ? append(y.reals, part.reals, o) : append(y.integers, part.integers, o);
  return y;
}

Values transposed(const Values& x, const Permutation& permutation) {
  check_permutation(permutation, x.shape.size());
  const Shape shape = permuted(x.shape, permutation);
  std::vector<size_t> steps;
  for (const int32_t axis : permutation)
    steps.push_back(row_major_strides(x.shape)[static_cast<size_t>(axis)]);
  return picked(x, shape, steps, [](size_t, int32_t at) { return at; });
}

Values tiled(const Values& x, const std::vector<int64_t>& repeats) {
  if (repeats.size() != x.shape.size()) fail("it has ", repeats.size(), " repeats for rank ", x.shape.size());
  Shape shape;
  for (size_t d = 0; d < repeats.size(); ++d) {
    if (repeats[d] < 0 || repeats[d] > kMaxFolded) fail("it repeats an axis ", repeats[d], " times");
    shape.push_back(narrow(x.shape[d] * repeats[d], "dimension"));
  }
  check_folded_size(shape);
  return picked(x, shape, row_major_strides(x.shape), [&](size_t d, int32_t at) { return at % x.shape[d]; });
}

Values chosen(const Values& condition, const Values& yes, const Values& no) {
  if (yes.is_real != no.is_real) fail("its inputs have different element types");
  const Shape shape = broadcast_shape(broadcast_shape(condition.shape, yes.shape), no.shape);
  const Values c = as_integers(expanded(condition, shape));
  Values y = expanded(yes, shape);
  const Values other = expanded(no, shape);
  for (size_t i = 0; i < c.integers.size(); ++i) {
    if (c.integers[i] != 0) continue;
    if (y.is_real)
      y.reals[i] = other.reals[i];
    else
      y.integers[i] = other.integers[i];
  }
  return y;
}

Values progression(const Values& start, const Values& limit, const Values& step) {
  const auto number = [&](const Values& end) {
    if (elements(end.shape) != 1 || end.is_real != start.is_real)
      fail("its ends are no single numbers of one type");
    return end.is_real ? double{end.reals[0]} : static_cast<double>(end.integers[0]);
  };
  const double first = number(start), by = number(step);
  const double count = std::max(std::ceil((number(limit) - first) / by), 0.0),
               last = first + (count - 1) * by;
  if (!(count <= static_cast<double>(kMaxFolded)) || !(std::max(std::fabs(first), std::fabs(last)) <= 9e15))
    fail("its range has too many numbers");
  Values y{{static_cast<int32_t>(count)}, start.is_real, {}, {}};
  for (int32_t i = 0; i < y.shape[0]; ++i) {
    if (y.is_real)
      y.reals.push_back(static_cast<float>(first + i * by));
    else
      y.integers.push_back(static_cast<int64_t>(first + i * by));
  }
  return y;
}

Values places_of_nonzero(const Values& x) {
  std::vector<size_t> found;
  const size_t count = x.is_real ? x.reals.size() : x.integers.size();
  for (size_t i = 0; i < count; ++i)
    if (x.is_real ? x.reals[i] != 0.0f : x.integers[i] != 0) found.push_back(i);
  Values y{{static_cast<int32_t>(x.shape.size()), static_cast<int32_t>(found.size())}, false, {}, {}};
  check_folded_size(y.shape);
  const std::vector<size_t> strides = row_major_strides(x.shape);
  for (size_t d = 0; d < x.shape.size(); ++d)
    for (const size_t i : found)
      y.integers.push_back(static_cast<int64_t>(i / strides[d] % static_cast<size_t>(x.shape[d])));
  return y;
}

Values as_real(Values x) {
  if (x.is_real) return x;
  x.reals.assign(x.integers.begin(), x.integers.end());
  x.integers.clear();
  x.is_real = true;
  return x;
}

Values as_integers(Values x) {
  if (!x.is_real) return x;
  for (const float v : x.reals) {  // as x86 has it, and so the runtimes that such files were made with
    x.integers.push_back(std::fabs(v) <= 9.0e18f ? static_cast<int64_t>(v) : INT64_MIN);
  }
  x.reals.clear();
  x.is_real = false;
  return x;
}

}  // namespace intaglio::importers
