// Looks for small operators that make up one.
#pragma once

#include <optional>

#include "importers/draft/draft.h"

namespace intaglio::importers {

class Matcher {
 public:
  explicit Matcher(const Draft& draft) : draft_(draft), links_(draft) {}

  // Who writes a tensor that only one node reads; nullptr for others.
  const DraftNode* only(int32_t tensor, Op op) const;
  // Who writes a tensor, whoever reads it.
  const DraftNode* writer(int32_t tensor, Op op) const;
  // Whether it is a constant of this one number.
  bool is_value(int32_t tensor, float value) const;
  // The other operand of a node of two, one of which is this value; -1: no.
  int32_t beside(const DraftNode& node, float value) const;

  // A product taken apart: Muls that nobody else reads, whichever way they are nested.
  struct Product {
    std::vector<int32_t> factors;  // tensors
    double constant = 1.0;         // of all factors that are one number

    // Takes out one factor; false where it is none.
    bool take(int32_t tensor);
  };
  Product product(int32_t tensor) const;  // of a tensor; itself, where it is no product
  Product product_of(const DraftNode& mul) const;

 private:
  void multiply(int32_t tensor, Product& product, int depth) const;

  const Draft& draft_;
  const Links links_;
};

// Equal but for the rounding of constants in files.
bool near(double a, double b);

// Constant operands of an int8 Add, Sub, Mul or Div, without a rounding that the file does not have.

// The FP32 constant as codes of its own grid, with a zero point where they need one; none where a value is no
// multiple of its one scale, or where they span more than 8 bits.
std::optional<DraftTensor> exact_codes(const DraftTensor& constant);
// Likewise of 16 bits, with the zero point 0. One number is a code of a scale that is made for it.
std::optional<DraftTensor> exact_codes_s16(const DraftTensor& constant);

// The result of `node` for each code of its other operand, [256] or [channels, 256], where the constant is one number
// or has one for each index of the last axis, of few. `constant` is its input's place, `in` and `out` the codes'
// tensors. Empty: not so.
std::vector<int8_t> operand_tables(const Draft& draft, const DraftNode& node, size_t constant,
                                   const DraftTensor& in, const DraftTensor& out);

}  // namespace intaglio::importers
