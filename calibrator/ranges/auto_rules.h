// Every constant of RangeMethod::kAuto, with its reason.
//
// docs/calibration_law.md says what the rules do. Figures are output SQNR in dB on pictures that did not calibrate: means over
// draws of n samples, or the worst draw. benchmarks/tried.md has them all, with what was tried beside them.
#pragma once

#include <cstdint>

namespace intaglio {

struct AutoRules {
  // Codes of 16 bits leave nothing out, and the range seen is taken so many times: it costs 3.5 dB of 98.
  double wide_room = 1.5;  // not measured by itself

  // Weights: a sample whose root mean square is an octave lower counts so many times two times more. Without them a few samples
  // that reach far outweigh all others. n = 16, 32, 64: MobileNetV2 19.4, 18.4, 19.1 to 21.2, 21.1, 21.2; KWS 32.7, 33.9, 32.8
  // to 35.1, 34.9, 35.0; means of eight networks +0.4, +0.3, +0.2; n = 4, 8: -0.1. With 1: half of it. Up to 4 octaves, or by halves
  // and quarters of one: within 0.3 of it. By the largest value instead of the mean square: VWW, n = 64, 28.3 to 24.9.
  struct Weights {
    int32_t doublings = 2;
  } weights;

  // Room: the range of least squared error of n samples, its ends 2^(octaves / sqrt(n + 1)) times as far. It took the place
  // of a factor by halves and of ends drawn to the halves' mean: the means of 13 networks gained 0.2, 0.4, 0.5 and 0.2 dB
  // with n = 1, 4, 16 and 64. sqrt(n) instead: ResNet-8, n = 1, 33.3 to 32.6, a network of digits 34.4 to 31.6.
  struct Room {
    double octaves = 1.0;
  } room;

  // Head: vectors behind which there is nothing but vectors. What is clipped there is an error of the answer, so they get
  // what more samples are expected to show. n = 4: ResNet-8 30.0 to 33.2 (worst 19.2 to 31.8), VWW 19.6 to 21.1. Of all
  // vectors, not of the head alone: a MobileNetV3 43.8 to 38.9. Other values of these four: within 0.1 with n = 16.
  struct Head {
    uint32_t shown_samples = 256;  // a power of two, see observed_range.cc
    double spread = 0.6;           // of log2 of the samples' peaks, before any is measured
    double spread_samples = 4.0;   // so many samples that guess is worth
    // Of the longer end, at least, where values have both signs; of n samples spread_samples / (spread_samples + n - 1) of it.
    double shorter_end = 0.5;
  } head;

  // Probes: how far pictures reach that are made of the samples (probes.h). n = 4: VWW 20.5 to 24.1 (worst 6.7 to 20.0),
  // ResNet-8 33.2 to 32.2; mean of six networks 26.2 to 26.7.
  struct Probes {
    uint32_t samples = 65;         // with as many there are none: each costs two runs a sample
    int64_t most_positions = 200;  // of a tensor; with 64, SqueezeNet gains nothing
    double room = 1.3;             // times what they reach; 1.15 and 1.0: VWW's worst draw 17.9 and 15.7
    // From here on full / n of the way there, and at least half of it. n = 16: VWW 24.0 to 26.4. n = 32, 64: VWW 19.4, 24.4 to 28.0, 26.9;
    // ResNet-8 34.5, 34.1 to 35.4, 35.7; ResNet-20 30.0, 30.0 to 30.7, 30.7; SqueezeNet 33.7, 34.7 to 35.1, 35.2; four others +-0.3.
    uint32_t full_samples = 8;
    double least_share = 0.5;
    // Probes count in full for the head up to the first, and ever less up to the second: its own law is enough then. In the head to the end,
    // n = 8: ResNet-8 34.4 to 33.5, VWW 27.9 to 27.1.
    uint32_t head_full_samples = 4, head_no_samples = 8;
  } probes;

  // Another method takes the place of kAuto where it brings the outputs' noise below kAuto's.
  struct OtherMethod {
    uint32_t least_samples = 4;  // with fewer nothing is tried
    // Times the best one's noise in the half where that is at its worst. A method that has more there is not tried with the other
    // half, which saves a fifth of a calibration. 93 draws of 8, 16 and 32 samples of seven networks: none changed. From the first
    // half on, whichever is the worse: one did, with 1.12 two.
    double most_in_first = 1.25;
    // ACIQ is tried where it takes a range below so much of kAuto's: a value far from all others, whose worth only the outputs
    // tell. Everywhere, in 17 networks: 0.2 dB of one, for a tenth of a calibration. Nowhere: a value that nothing reads costs 11 dB.
    double aciq_share = 0.15;
    // Min-max is tried from so many samples on, and must leave so much of the best one's noise at most. It keeps rare samples that reach
    // far: VWW, n = 64, 18.8 to 25.6; KWS, n = 16, 33.1 to 34.0; with less asked for ResNet-20 loses 0.6, with 4 samples SqueezeNet 1.5.
    uint32_t minmax_least_samples = 8;
    double minmax_most = 0.9;
  } other_method;
};

inline constexpr AutoRules kAutoRules;

}  // namespace intaglio
