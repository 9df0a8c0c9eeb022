// Every constant of RangeMethod::kAuto, with its reason.
//
// docs/calibration.md says what the rules do. Figures are output SQNR in dB on pictures that did not calibrate: means over
// draws of n samples, or the worst draw. benchmarks/tried/accuracy_ideas.md has them all, with what was tried beside them.
#pragma once

#include <cstdint>

namespace intaglio {

struct AutoRules {
  // Codes of 16 bits leave nothing out, and the range seen is taken so many times: it costs 3.5 dB of 98.
  double wide_room = 1.5;  // not measured by itself

  // Factor: the min-max range of one half of the samples, times each of these factors, is scored on the values of the
  // other half, both ways. The ends are half and twice of what was seen.
  struct Factor {
    int32_t first = 16, last = 64;  // of 32
    double one_sample = 1.5;        // with one sample there is no other half; not measured by itself
  } factor;

  // Where the halves have seen different ends a single sample often has, and room beyond that is wasted. Each end goes
  // this share of the way, in logarithms, to the smaller one: 0.25 is half way to the geometric mean. n = 4: KWS 31.2 to
  // 32.2, VWW 21.1 to 20.6; all of the way to the mean: VWW 19.5. n = 64: SqueezeNet 33.4 to 32.6, hence with few alone.
  struct BetweenHalves {
    double share = 0.25;
    uint32_t full_samples = 4, no_samples = 8;  // in full up to the first, not at all from the second on
  } between_halves;

  // Head: vectors behind which there is nothing but vectors. What is clipped there is an error of the answer, so they get
  // what more samples are expected to show. n = 4: ResNet-8 30.0 to 33.2 (worst 19.2 to 31.8), VWW 19.6 to 21.1. Of all
  // vectors, not of the head alone: a MobileNetV3 43.8 to 38.9. Other values of these four: within 0.1 with n = 16.
  struct Head {
    uint32_t shown_samples = 256;  // a power of two, see auto_range.cc
    double spread = 0.6;           // of log2 of the samples' peaks, before any is measured
    double spread_samples = 4.0;   // so many samples that guess is worth
    double shorter_end = 0.5;      // of the longer end, at least, where values have both signs
  } head;

  // Probes: how far pictures reach that are made of the samples (probes.h). n = 4: VWW 20.5 to 24.1 (worst 6.7 to 20.0),
  // ResNet-8 33.2 to 32.2; mean of six networks 26.2 to 26.7.
  struct Probes {
    uint32_t samples = 17;  // with as many there are none; n = 64 gained nothing for three times the runs
    int64_t most_positions = 200;  // of a tensor; with 64, SqueezeNet gains nothing
    double room = 1.3;             // times what they reach; 1.15 and 1.0: VWW's worst draw 17.9 and 15.7
    // From here on full / n of the way there, and the head not at all. n = 16: VWW 24.0 to 26.4, and ResNet-8 stays at
    // 35.2, where it had lost 0.6 with the head.
    uint32_t full_samples = 8;
  } probes;

  // The percentile that is tried leaves out so many times what CalibratorOptions::percentile does by default. What lies
  // far off in sums and projections, which have both signs, is worth less than behind a ReLU. MobileNetV2, n = 16: 18.7 to
  // 19.3; 2 and 5 times: KWS, n = 64, 34.3 to 33.2.
  struct LeftOut {
    double one_sided = 1.5, two_sided = 5.0;
  } left_out;

  // Another method takes the place of kAuto where it brings the outputs' noise below this share of kAuto's: the best of
  // several is flattered by chance, so a smaller gain is none. KWS, n = 16: 30.7 to 31.4; for any gain: SqueezeNet, n = 64,
  // 33.8 to 33.5. With few samples what kAuto makes of them is chance itself, and any gain counts: MobileNetV2, n = 4, 18.1
  // to 18.5 (worst 16.0 to 17.4).
  struct OtherMethod {
    double worthwhile = 0.89;    // half a dB
    uint32_t few_samples = 8;    // with fewer any gain counts
    uint32_t least_samples = 4;  // with fewer nothing is tried
    // Times the best one's noise in the half where that is at its worst. A method that has more there is not tried with the other
    // half, which saves a fifth of a calibration. 93 draws of 8, 16 and 32 samples of seven networks: none changed. From the first
    // half on, whichever is the worse: one did, with 1.12 two.
    double most_in_first = 1.25;
  } other_method;
};

inline constexpr AutoRules kAutoRules;

}  // namespace intaglio
