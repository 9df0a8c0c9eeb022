// What small operators compute of one tensor x and of its statistics over some axes, as a polynomial: each way to write a
// normalization has the same one.
//
//   sum of coefficient * x^a * m^b * q^c * r^d * s^e      m = mean(x), q = mean(x * x), r = 1 / sqrt(v) with a v of m and q,
//                                                         s = 1 / (1 / r + k) with the first k that is met
#pragma once

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "importers/draft/draft.h"

namespace intaglio::importers {

// A constant factor: of x's rank, with a size of 1 along axes that it is repeated along.
struct Coefficient {
  Shape shape;
  std::vector<double> values;

  bool is_one_number() const { return values.size() == 1; }
};

enum Variable : uint8_t { kOfX, kOfMean, kOfSquares, kOfRoot, kOfSum, kVariables };

using Exponents = std::array<int8_t, kVariables>;
using Polynomial = std::map<Exponents, Coefficient>;

// k * (q - m^2) + epsilon, or k * q + epsilon.
struct Variance {
  double factor, epsilon;
  bool is_centred;
};
std::optional<Variance> variance_in(const Polynomial& polynomial);

class Moments {
 public:
  Moments(const Draft& draft, const Links& links, int32_t x, std::vector<int32_t> axes);

  // Lets r be 1 / sqrt(`variance`), a tensor. False where that is no variance of x.
  bool set_variance(int32_t variance);
  const Variance& variance() const { return *variance_; }
  double root_epsilon() const { return root_epsilon_; }  // k; 0: none was met
  int32_t x() const { return x_; }
  const std::vector<int32_t>& axes() const { return axes_; }

  // None: it is computed of something else, or in a way that is no polynomial.
  std::optional<Polynomial> of(int32_t tensor);

 private:
  std::optional<Polynomial> compute(int32_t tensor);
  std::optional<Polynomial> of_constant(const DraftTensor& constant) const;
  std::optional<Polynomial> of_node(const DraftNode& node);
  std::optional<Polynomial> mean_of(const DraftNode& node);
  std::optional<Polynomial> inverse_of(const std::optional<Polynomial>& p);
  bool is_aligned(const Shape& shape) const;
  bool is_statistic(const Shape& shape) const;
  bool may_be(const Polynomial& polynomial, const Shape& shape) const;
  bool lie_together(const DraftNode& node) const;

  const Draft& draft_;
  const Links& links_;
  int32_t x_;
  std::vector<int32_t> axes_;
  int32_t depth_ = 0;
  std::optional<Variance> variance_;
  Polynomial under_root_;
  double root_epsilon_ = 0.0;
  std::map<int32_t, std::optional<Polynomial>> known_;
};

}  // namespace intaglio::importers
