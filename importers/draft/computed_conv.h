// Convolutions whose weights a run computes, which no operator of the runtime takes: a Gather lays out what each place of the
// window reads, and a product of two activations sums it. FP32.
#pragma once

#include "importers/draft/geometry.h"
#include "importers/draft/transposed_conv.h"

namespace intaglio::importers {

// x: [n, h, w, c]. weights: [oc, kh, kw, c / groups]. Either may be a constant of the draft. Gives [n, oh, ow, oc].
int32_t add_computed_conv(Draft& draft, const std::string& name, const std::string& source, int32_t x,
                          int32_t weights, int32_t groups, const WindowAxis& h, const WindowAxis& w);
// The same of a transposed one, by the equation in transposed_conv.h.
int32_t add_computed_transposed_conv(Draft& draft, const std::string& name, const std::string& source,
                                     int32_t x, int32_t weights, const TransposedConv& conv);

}  // namespace intaglio::importers
