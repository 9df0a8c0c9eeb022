// RangeMethod::kAuto: the range of least squared error, with room for what few samples do not show. Its constants are in
// auto_rules.h.
#pragma once

#include "calibrator/observe/observer.h"
#include "calibrator/quantization/scales.h"
#include "intaglio/model.h"

namespace intaglio {

struct Bounds;

// How many times as far as what n samples show others are expected to reach: 2^(1 / sqrt(n + 1)).
double room_of(const TensorObserver& observer);

// The range of codes of 16 bits.
Range wide_range(const TensorObserver& observer, const Bounds& bounds);

// Tensors of the network's head: vectors behind which there is nothing but vectors. A network of vectors alone has none:
// its layers are like any others. One flag a tensor.
void find_head(const Model& model, Span<bool> in_head);

// The range of a vector of the head, which has as few values in a sample as it has channels: the largest are still to come.
// What is clipped here is an error of the answer, while rounding adds the least part of it. Each end is the largest that
// 256 samples are expected to show, by the spread s of the logarithms of what each sample showed:
//
//   end(256) = end(n) * 2^(s (z(256) - z(n)))   z(n): expected largest of n normal deviates
//   s^2 = (4 * 0.6^2 + (n - 1) * measured) / (n + 3), so that it is known with one sample, too
//
// Of both signs, the shorter end is at least half the longer.
Range vector_range(const TensorObserver& observer, const Bounds& bounds);

// `range`, and at least 1.3 times what the samples' probes reach (probes.h); with more than 8 samples that counts for 8 / n
// of the way there. In the head it counts in full up to 4 samples, and ever less up to 8.
Range with_probes(const Range& range, const TensorObserver& observer, const Bounds& bounds,
                  bool in_head = false);

}  // namespace intaglio
