// New classes from a few examples, learnt on the device: a last layer in the place of the model's own.
//
// In this order: find_features(), LastLayerLearner::measure() and create(). Then for each example write the input, run the nodes before
// the layer, and add() what it reads: session.run_nodes(0, features.node), session.tensor(features.tensor). finish() writes
// the layer. It is a patch beside the model, is stored as a model is (intaglio/model_store.h), and LastLayer::open() reads it.
//
// All sums are of integers, and what is solved is solved in one order of operations in double. So the same examples in the same
// order give the same bytes on every machine.
#pragma once

#include "intaglio/model.h"

namespace intaglio {

// An int8 vector that a layer with weights reads at the end of a model.
struct Features {
  int32_t node = -1, tensor = -1;  // the layer, and its input
  int32_t count = 0;               // elements
  float scale = 0.0f;              // the real value of one step of a code
};

// Those of the last layer with weights (kNoFeatures: it reads more than one vector, or no int8).
Result<Features> find_features(const Model& model);

// A layer that was learnt. A small handle on its bytes, which outlive it.
class LastLayer {
 public:
  LastLayer() = default;
  // Checks a patch of finish(). kOtherLayer: it is damaged, or was learnt with another model.
  static Result<LastLayer> open(Span<const uint8_t> patch, const Model& model);

  // How many classes it tells apart, and how many features it reads.
  int32_t classes() const { return classes_; }
  int32_t features() const { return count_; }
  // How much the features [features()] speak for a class: scale * (weights . features) + bias. By ridge regression about 1 for it and -1
  // against it; by means the larger, the nearer.
  float score(const int8_t* features, int32_t of_class) const;
  // The class with the largest score.
  int32_t classify(const int8_t* features) const;

 private:
  friend class LastLayerLearner;
  LastLayer(const uint8_t* patch, int32_t classes, int32_t count)
      : patch_(patch), classes_(classes), count_(count) {}

  const uint8_t* patch_ = nullptr;
  int32_t classes_ = 0, count_ = 0;
};

// How weights come from examples.
enum class LearnMethod : uint8_t {
  kMeans = 0,  // the class whose mean is nearest
  // Each class against all others, as scikit-learn's RidgeClassifier: w = (X'X + I)^-1 X'y; with fewer examples than features X'(XX' + I)^-1 y,
  // which is the same. X: features as reals less their means; y: 1 for examples of the class, -1 for others.
  kRidge = 1,
};

// The outcome of LastLayerLearner::finish().
struct LearnReport {
  LearnMethod method = LearnMethod::kRidge;
  bool kept = true;  // false: the layer in use knows more of the examples held out. There is no patch
  // How many examples judged: every third one of a class. 0: no class has three, so nothing was held out and nothing judged.
  int32_t held_out = 0;
  int32_t right = 0;          // of these, by a layer that was learnt from the others
  int32_t right_before = -1;  // by the layer in use; -1: none was given
};

// Memory and patch in bytes. Exact: one byte less is refused.
struct LearnNeeds {
  size_t memory_bytes = 0;
  size_t patch_bytes = 0;
};

// Collects examples. A small handle on the memory that the caller gives, which outlives it.
class LastLayerLearner {
 public:
  LastLayerLearner() = default;
  // For `classes`, 2 to 1024, and at most `examples` in all, 2 to 4096. Errors: those of find_features(), and kTooManyItems.
  static Result<LearnNeeds> measure(const Model& model, int32_t classes, int32_t examples);
  // `memory` starts at a multiple of 8: this is not checked. Errors: those of measure(), and kOutOfMemory.
  static Result<LastLayerLearner> create(const Model& model, int32_t classes, int32_t examples,
                                         Span<uint8_t> memory);

  // Copies the features of an example of a class. Errors: kBadLabel, and kTooManyItems where there is no room.
  Error add(const int8_t* features, int32_t of_class);
  // Learns from all examples, and writes the layer to `patch`, of patch_bytes: by ridge regression, or by means where these know
  // more of the n examples held out, by more than the square root of n. `in_use`: a layer that may not become worse for them.
  // Examples may be added afterwards.
  //
  // Errors: a class without an example (kNoExamples), and kOutOfMemory for the patch.
  Result<LearnReport> finish(Span<uint8_t> patch, const LastLayer* in_use = nullptr);

 private:
  bool is_of(int32_t row, int32_t of_class) const;
  int32_t right_of(const LastLayer& layer) const;
  int32_t centered(int32_t row, int32_t t) const;
  bool is_dual() const { return row_count_ < features_.count; }
  void take_rows(bool all);
  void factor();
  void substitute(double* values) const;
  void learn(LearnMethod method, bool all, uint8_t* patch);

  Features features_;
  uint32_t model_crc_ = 0;
  int32_t classes_ = 0, room_ = 0, count_ = 0, row_count_ = 0;  // of examples, of those that are learnt from
  double* system_ = nullptr;    // a triangle, row by row, of the lesser of examples and features
  double* targets_ = nullptr;   // [room]
  double* weights_ = nullptr;   // [features]
  int32_t* sums_ = nullptr;     // [features] of the rows
  uint16_t* labels_ = nullptr;  // [room]
  uint16_t* rows_ = nullptr;    // [room] the examples that are learnt from
  int8_t* examples_ = nullptr;  // [room, features]
};

}  // namespace intaglio
