// The errors of a model's outputs over some samples, and part by part: what is large does not hide what is small beside it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrator/judge/evaluate.h"

namespace intaglio {

// Of one channel of an output, in one sample.
struct ChannelError {
  NetworkError error;
  double largest = 0.0;  // of the absolute FP32 values
};

// A part of the outputs: a tensor (observe/output_tensors.h), or channels of one, from whose largest values those of the others are a factor of eight apart.
struct PartError {
  std::string tensor;
  std::vector<int32_t> channels;  // ascending; empty: all
  int32_t all_channels = 0;
  NetworkError error;  // expected() of it
};

class SampleErrors {
 public:
  // The outputs' tensors, in the order of add().
  void name(std::vector<std::string> outputs) { names_ = std::move(outputs); }
  // One sample's: sums of squares of the FP32 values and of the differences, an output each; and of an output's channels, or
  // none.
  void add(const std::vector<NetworkError>& outputs, std::vector<std::vector<ChannelError>> channels = {});
  size_t samples() const { return samples_.size(); }
  // As in CalibrationReport, of what is to be expected of other samples: few samples seldom show the rare ones
  // that lose most, so noise is at least the mean of a log-normal distribution with the logarithms' own mean and their
  // spread, drawn to a usual one. Where the mean of each sample's own noise over signal is worse, it is half way (in
  // logarithms) to that. All this adds 6 dB at most, and less so with more than 16 samples.
  NetworkError expected() const;
  // The noise over signal that nine of ten sets of kFurther other samples do not exceed, if the logarithms of the samples' noise are
  // normal: by draws from their predictive distribution, with the usual spread of expected() as what was known before. Never less than
  // expected(). None with fewer than kFewestForSets samples: not even their own worst one holds for nine of ten others.
  static constexpr size_t kFurther = 16, kFewestForSets = 9;
  std::optional<double> most_of_sets() const;
  // Likewise of each part; or of these samples alone.
  std::vector<PartError> parts(bool is_expected = true) const;

 private:
  void add_channel_groups(size_t output, bool is_expected, std::vector<PartError>& parts) const;

  std::vector<std::string> names_;
  std::vector<std::vector<NetworkError>> samples_;
  std::vector<std::vector<std::vector<ChannelError>>> channels_;  // [sample][output]
};

// The part that loses most; nullptr without one.
const PartError* worst_of(const std::vector<PartError>& parts);

// Groups of numbers between which a factor of eight and more is empty, the largest first; indices ascend. Numbers that are
// nothing beside the largest one are in none.
std::vector<std::vector<int32_t>> groups_of_like_size(const std::vector<double>& sizes);

// The axis of a tensor along which its channels lie. Of four axes and more the last one, or where a Transpose has put it; of two and
// three the shortest, the last of equal ones, without a first one of length 1. -1: it has one channel, or too many.
int32_t part_axis(const Model& model, int32_t tensor);

// Two models on samples, by the outputs of the FP32 one.
class OutputComparison {
 public:
  // All that is referred to outlives it.
  OutputComparison(const Model& fp32, const Model& test, Span<const OutputTensor> outputs, bool by_channels);

  // The errors for the sample in the inputs of the FP32 session, which runs where its outputs are not `known`. Sessions that
  // ran hold the models' outputs.
  std::vector<NetworkError> run(Session& fp32, Session& test, const float* known = nullptr);
  // Of their channels, as means over so many runs since the last call; none where they are not asked for.
  std::vector<std::vector<ChannelError>> take_channels(int runs = 1);
  // The outputs, in the order of run().
  std::vector<std::string> names() const;

 private:
  struct Layout {
    int64_t outer = 1, channels = 1, inner = 1;
  };
  void add_channels(size_t pair, const float* exact, const TensorView& found);

  const Model &fp32_, &test_;
  Span<const OutputTensor> outputs_;
  std::vector<OutputPair> pairs_;
  bool by_channels_;
  std::vector<Layout> layouts_;
  std::vector<std::vector<ChannelError>> channels_;
  std::vector<float> exact_, found_;
};

}  // namespace intaglio
