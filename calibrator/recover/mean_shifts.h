// How far a shift of mean values comes through an int8 model. Corrections of biases shift the mean outputs of their layers, and with
// them the mean inputs of all layers behind. Who knows that beforehand can correct every layer from one run of the samples.
//
// To first order, a channel at a time:
//
//   weights             the weights times the shifts of their inputs
//   a fused activation  times the share of the codes that stand between its ends
//   a table             times its mean slope at the codes that it reads
//   a product           times the mean of the other factor
//   sums, pools         as they are
//   moves               by where each channel comes from, also through several of them (a shuffle of channels)
//   all others          nothing comes through
//
// Shares, slopes and factors are means over samples, added up as those of patch_means.h, slopes and factors in codes: a network whose
// values are larger has the same.
#pragma once

#include "calibrator/recover/recovery.h"

namespace intaglio {

class MeanShifts {
 public:
  // Of the context's int8 model as it stands; takes bytes() of `arena`.
  MeanShifts(const RecoveryContext& context, Arena& arena);
  static uint64_t bytes(const Model& fp32, const CalibratorOptions& options);

  size_t slope_count() const { return slope_count_; }
  struct Most {
    uint64_t all = 0, of_node = 0;
  };
  static Most most(const Model& fp32);  // slopes
  size_t most_of_node() const { return most_of_node_; }
  // Runs node `n` on the sample in this session, and adds the node's slopes. `room` is for most_of_node() numbers.
  void run(Session& session, int32_t n, Span<double> room, int64_t* sums) const;

  // Begins at the inputs, with the sums of so many samples.
  void start(Span<const int64_t> sums, uint32_t samples);
  double of(int32_t tensor, size_t channel) const;
  // A node with weights, whose sum is shifted so far in this channel, without what its residual input brings.
  void shift_sum(int32_t n, size_t channel, double shift);
  // Any other node, when those before it have been passed. What stands in the session is gone.
  void pass(Session& session, int32_t n);

 private:
  enum class Way : uint8_t { kNone, kSame, kClamped, kTable, kProduct, kJoined, kMoved, kWeights };
  struct Node {
    Way way = Way::kNone;
    size_t first = 0;  // of its slopes
    size_t count = 0;
  };

  Way way_of(const RecoveryContext& context, int32_t n) const;
  double slope(int32_t n, size_t i, int32_t input) const;
  Span<double> shifts_of(int32_t tensor) const;
  bool is_moved(int32_t tensor) const;
  int32_t origin_of(int32_t n) const;
  void run_moves(Session& session, int32_t n) const;
  void move(Session& session, int32_t n) const;

  Model int8_;
  Span<Node> nodes_;
  Span<int32_t> first_;  // of each tensor's shifts; -1: it has none
  Span<double> shifts_;
  size_t slope_count_ = 0, most_of_node_ = 0;
  Span<const int64_t> sums_;
  uint32_t samples_ = 1;
};

}  // namespace intaglio
