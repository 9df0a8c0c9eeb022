// Probes: pictures made out of a few samples to learn what these do not show. Samples of one kind (say,
// nobody in any picture) leave the network's last layers at a fifth of what they reach for another kind; a
// picture whose pixels stand in any order is nothing to the network, and still excites those layers as far as
// a picture of another kind does. Probes give ranges more room and are nothing else: no sample, no part of
// any mean, histogram or judgement.
#pragma once

#include "calibrator/observe/observe_sample.h"

namespace intaglio {

enum class Probe : uint8_t {
  kMirrored,  // left is right
  kShuffled,  // pixels in an order that is the same for all samples
};
inline constexpr Probe kProbes[] = {Probe::kMirrored, Probe::kShuffled};

// Whether samples that make these `samples` in all are to be probed. Only pictures are, one a sample: order
// means more in other arrays. Pictures, in whatever unit, are what the model says takes them, and three
// channels of places.
bool has_probes(const Model& model, int64_t samples);

// Makes a probe of the sample in this lane's inputs, which is lost, runs it and notes how far each tensor of
// few positions reaches. Lanes may run at once, each with the serial executor.
void observe_probe(const FloatModel& fp32, const Observing& observing, int32_t lane, const Executor& executor,
                   Probe probe);

}  // namespace intaglio
