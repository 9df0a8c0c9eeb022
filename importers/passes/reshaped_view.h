// A Reshape of a transposed tensor, as a Reshape of the tensor itself.
#pragma once

#include <optional>

#include "importers/draft/draft.h"

namespace intaglio::importers {

// Axis k of what the Reshape of `base` gives is axis order[k] of the result.
struct ReshapedView {
  Permutation before;  // a Transpose of `base` in front of the Reshape; the identity: none is needed
  Permutation order;
};

// reshape(transpose(base, permutation), to), where it can be had as transpose(reshape(base), ...): axes that are split or
// joined stand together in `base`, as those of a channel shuffle do. `wanted` is an order of the result's axes that its
// readers take, or empty. If elements must move in any case, they move to that order at once. None: transpose first.
std::optional<ReshapedView> reshaped_view(const Shape& base, const Permutation& permutation, const Shape& to,
                                          const Permutation& wanted);

}  // namespace intaglio::importers
