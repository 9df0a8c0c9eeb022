// An operator of a file, as the handlers of each reader see it, and what they build of it alike.
#pragma once

#include "importers/draft/composites.h"
#include "importers/draft/constant_evaluation.h"

namespace intaglio::importers {

class FileOperator {
 public:
  // `result`: the name of its first output.
  FileOperator(Draft& draft, IntegerCasts& casts, std::string name, std::string source, std::string result)
      : draft_(draft),
        casts_(casts),
        name_(std::move(name)),
        source_(std::move(source)),
        result_(std::move(result)) {}

  Draft& draft() { return draft_; }
  const std::string& name() const { return name_; }      // the node's, or its first output's
  const std::string& source() const { return source_; }  // "Conv", "CONV_2D"
  Shape& shape(int32_t tensor) { return draft_.tensor(tensor).shape; }

  // Of new nodes: with its own name, another, or its own and what is put behind it.
  Origin origin() { return {draft_, name_, source_}; }
  Origin named(const std::string& name) { return {draft_, name, source_}; }
  Origin part(const std::string& suffix) { return named(name_ + suffix); }
  DraftNode& add(Op op, std::vector<int32_t> inputs, int32_t output) {
    return add_node(origin(), op, std::move(inputs), output);
  }

  // FP32, with the result's name and what is put behind it.
  int32_t new_tensor(const Shape& shape, const char* suffix = "") {
    return add_activation(draft_, result_ + suffix, DType::kF32, shape);
  }
  // The result of a new node, likewise.
  int32_t make(Op op, std::vector<int32_t> inputs, const Shape& shape, const char* suffix = "");
  // A constant of one number for all of `like`, which has as many axes.
  int32_t number(int32_t like, float value, const char* suffix);

  // FP32, by a Cast of s32; s32, by a Cast of FP32.
  int32_t as_real(int32_t tensor) { return casts_.as_real(draft_, source_, tensor); }
  int32_t as_index(int32_t tensor) { return casts_.as_index(draft_, source_, tensor); }

 private:
  Draft& draft_;
  IntegerCasts& casts_;
  std::string name_, source_, result_;
};

// In FP32: a function of x; an operator of a and b, each repeated where it is smaller; x within bounds; 1 - x.
int32_t add_unary(FileOperator& op, Op kind, int32_t x, const char* suffix = "");
int32_t add_binary(FileOperator& op, Op kind, int32_t a, int32_t b);
int32_t add_bounded(FileOperator& op, int32_t x, float low, float high, const char* suffix = "");
int32_t add_not(FileOperator& op, int32_t x, const char* suffix);
// Of a condition and two others, which get as many axes as it: the second where it is not 0, else the third.
int32_t add_choice(FileOperator& op, std::vector<int32_t>& inputs);

}  // namespace intaglio::importers
