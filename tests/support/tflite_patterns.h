// The usual form of operators of TFLite files, for files that a test or a fuzzer makes.
#pragma once

#include <algorithm>
#include <vector>

#include "importers/tflite/tflite_generated.h"

namespace intaglio::test {

// The usual inputs of an operator, a letter each:
//   a an activation; A one of the shape of the first     f a constant that fits it by broadcasting
//   w convolution weights for it   d depthwise ones   h those over three dimensions   m a matrix behind it   b a bias   v one number a channel
//   2, 3 an activation of such a rank   t an order of the axes   z, o, r zeros, ones, and ones and twos, one an axis
//   i integers: axes, sizes, shapes   n one integer   p pads, two an axis
//   of a recurrent node's own number of units: M a matrix behind it   R a square one   B a bias   T weights over time
//   V a variable tensor
// and, which none asks for: x an activation of any other rank or type, e and E empty constants of numbers and of
// integers, u a tensor that nothing writes, and a space for none.
struct TflitePattern {
  std::vector<int32_t> codes;
  const char* inputs;
  tflite::Options options = tflite::Options::NONE;
};

inline const std::vector<TflitePattern>& tflite_patterns() {
  using O = tflite::Options;
  static const std::vector<TflitePattern> kPatterns{
      {{0}, "af", O::AddOptions},
      {{1, 17}, "a", O::Pool2DOptions},
      {{2}, "aA", O::ConcatenationOptions},
      {{3}, "awb", O::Conv2DOptions},
      {{4}, "adb", O::DepthwiseConv2DOptions},
      {{132}, "ahb", O::Conv3DOptions},
      {{141}, "ihab", O::Conv3DOptions},
      {{5}, "a", O::DepthToSpaceOptions},
      {{7}, "am"},
      {{9}, "amb", O::FullyConnectedOptions},
      {{11}, "a", O::L2NormOptions},
      {{16}, "2MMMMRRRR   BBBB  VV    ", O::LSTMOptions},
      {{18}, "af", O::MulOptions},
      {{24}, "2MRBV", O::RNNOptions},
      {{22, 43}, "a"},
      {{23}, "ai", O::ResizeBilinearOptions},
      {{25}, "a", O::SoftmaxOptions},
      {{26}, "a", O::SpaceToDepthOptions},
      {{27}, "2MTBV", O::SVDFOptions},
      {{34}, "ap"},
      {{35}, "3MRBV", O::SequenceRNNOptions},
      {{36}, "ai", O::GatherOptions},
      {{37, 38}, "aii"},
      {{39}, "at"},
      {{69, 130}, "ar"},
      {{40, 74, 81, 82, 89}, "ai", O::ReducerOptions},
      {{41}, "af", O::SubOptions},
      {{42}, "af", O::DivOptions},
      {{44}, "3MMMMRRRR   BBBB  VV    ", O::UnidirectionalSequenceLSTMOptions},
      {{45}, "azro", O::StridedSliceOptions},
      {{48, 56, 79}, "an"},
      {{49}, "na"},
      {{52}, "3MMMMRRRR   BBBB  MMMMRRRR   BBBB  VVVV         ", O::BidirectionalSequenceLSTMOptions},
      {{54}, "av"},
      {{55, 57, 78, 90, 95, 99}, "af"},
      {{60}, "apv"},
      {{65}, "azr"},
      {{70}, "an"},
      {{83}, "aA", O::PackOptions},
      {{85}, "annn", O::OneHotOptions},
      {{88}, "a", O::UnpackOptions},
      {{97}, "ai", O::ResizeNearestNeighborOptions},
      {{98}, "a", O::LeakyReluOptions},
      {{100}, "ap", O::MirrorPadOptions},
      {{102}, "ain"},
      {{125}, "ai"},
      {{150}, "a", O::GeluOptions},
      {{151}, "aAi"},
      {{153, 154, 155, 157}, "ain"},
      {{58, 61, 62, 63, 71, 72, 84, 86, 163, 165, 166, 181}, "af"},
      {{64, 123}, "aaf"},
      {{67}, "iwab", O::TransposeConvOptions},
      {{91, 140}, "ai", O::ReducerOptions},
      {{94}, "in"},
      {{96}, "nnn"},
      {{105, 131}, "ai"},
      {{107}, "ai"},
      {{106}, "aAA"},
      {{122}, "iai"},
      {{126}, "aA", O::BatchMatMulOptions},
      {{128}, "an", O::CumsumOptions},
      {{145}, "ii"},
      {{190}, "aif"},
  };
  return kPatterns;
}

inline TflitePattern tflite_pattern(int32_t code) {
  for (const TflitePattern& pattern : tflite_patterns())
    if (std::find(pattern.codes.begin(), pattern.codes.end(), code) != pattern.codes.end()) return pattern;
  return {{code}, "a"};
}

// The options table of this kind with numbers in the order of its fields; those that a table does not have are
// not read.
inline flatbuffers::Offset<void> tflite_options(flatbuffers::FlatBufferBuilder& fbb, tflite::Options kind,
                                                const std::vector<int32_t>& o) {
  using O = tflite::Options;
  const auto padding = static_cast<tflite::Padding>(o[0]);
  const auto activation = static_cast<tflite::Activation>(o[1]);
  switch (kind) {
    case O::AddOptions:
      return tflite::CreateAddOptions(fbb, activation).Union();
    case O::SubOptions:
      return tflite::CreateSubOptions(fbb, activation).Union();
    case O::MulOptions:
      return tflite::CreateMulOptions(fbb, activation).Union();
    case O::DivOptions:
      return tflite::CreateDivOptions(fbb, activation).Union();
    case O::L2NormOptions:
      return tflite::CreateL2NormOptions(fbb, activation).Union();
    case O::Pool2DOptions:
      return tflite::CreatePool2DOptions(fbb, padding, o[2], o[3], o[4], o[5], activation).Union();
    case O::Conv2DOptions:
      return tflite::CreateConv2DOptions(fbb, padding, o[2], o[3], activation, o[4], o[5]).Union();
    case O::Conv3DOptions:
      return tflite::CreateConv3DOptions(fbb, padding, o[2], o[3], o[4], activation, o[5], o[6], o[6])
          .Union();
    case O::DepthwiseConv2DOptions:
      return tflite::CreateDepthwiseConv2DOptions(fbb, padding, o[2], o[3], o[6], activation, o[4], o[5])
          .Union();
    case O::FullyConnectedOptions:
      return tflite::CreateFullyConnectedOptions(fbb, activation, static_cast<int8_t>(o[6] > 2), o[7] > 1)
          .Union();
    case O::TransposeConvOptions:
      return tflite::CreateTransposeConvOptions(fbb, padding, o[2], o[3], activation).Union();
    case O::BatchMatMulOptions:
      return tflite::CreateBatchMatMulOptions(fbb, o[6] > 2, o[7] > 1).Union();
    case O::CumsumOptions:
      return tflite::CreateCumsumOptions(fbb, o[6] > 2, o[7] > 1).Union();
    case O::ConcatenationOptions:
      return tflite::CreateConcatenationOptions(fbb, o[7], activation).Union();
    case O::SoftmaxOptions:
      return tflite::CreateSoftmaxOptions(fbb, o[7] > 3 ? 2.0f : 1.0f).Union();
    case O::DepthToSpaceOptions:
      return tflite::CreateDepthToSpaceOptions(fbb, o[2]).Union();
    case O::SpaceToDepthOptions:
      return tflite::CreateSpaceToDepthOptions(fbb, o[2]).Union();
    case O::ResizeBilinearOptions:
      return tflite::CreateResizeBilinearOptions(fbb, o[2] == 1, o[3] == 1).Union();
    case O::ResizeNearestNeighborOptions:
      return tflite::CreateResizeNearestNeighborOptions(fbb, o[2] == 1, o[3] == 1).Union();
    case O::OneHotOptions:
      return tflite::CreateOneHotOptions(fbb, o[7]).Union();
    case O::GatherOptions:
      return tflite::CreateGatherOptions(fbb, o[7], o[6] > 2 ? 1 : 0).Union();
    case O::ReducerOptions:
      return tflite::CreateReducerOptions(fbb, o[2] == 1).Union();
    case O::StridedSliceOptions:
      return tflite::CreateStridedSliceOptions(fbb, o[7], o[6], o[5] > 2 ? 1 : 0, o[4] > 2 ? 1 : 0, o[3] ^ 1,
                                               o[2] > 2)
          .Union();
    case O::PackOptions:
      return tflite::CreatePackOptions(fbb, o[2], o[7]).Union();
    case O::UnpackOptions:
      return tflite::CreateUnpackOptions(fbb, o[2], o[7]).Union();
    case O::LeakyReluOptions:
      return tflite::CreateLeakyReluOptions(fbb, static_cast<float>(o[7]) / 8.0f).Union();
    case O::MirrorPadOptions:
      return tflite::CreateMirrorPadOptions(fbb, static_cast<int8_t>(o[2])).Union();
    case O::LSTMOptions:
      return tflite::CreateLSTMOptions(fbb, activation, o[4] > 2 ? 1.0f : 0.0f, 0.0f, o[5] > 2 ? 1 : 0)
          .Union();
    case O::RNNOptions:
      return tflite::CreateRNNOptions(fbb, activation).Union();
    case O::SequenceRNNOptions:
      return tflite::CreateSequenceRNNOptions(fbb, o[2] == 1, activation).Union();
    case O::SVDFOptions:
      return tflite::CreateSVDFOptions(fbb, o[2] > 1 ? 1 : o[3], activation).Union();
    case O::UnidirectionalSequenceLSTMOptions:
      return tflite::CreateUnidirectionalSequenceLSTMOptions(fbb, activation, o[4] > 2 ? 1.0f : 0.0f,
                                                             o[5] > 2 ? 1.0f : 0.0f, o[2] == 1)
          .Union();
    case O::BidirectionalSequenceLSTMOptions:
      return tflite::CreateBidirectionalSequenceLSTMOptions(fbb, activation, o[4] > 2 ? 1.0f : 0.0f, 0.0f,
                                                            o[3] > 1, o[2] == 1)
          .Union();
    case O::GeluOptions:
      return tflite::CreateGeluOptions(fbb, o[2] == 1).Union();
    default:
      return 0;
  }
}

}  // namespace intaglio::test
