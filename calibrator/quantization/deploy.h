// Whether kernels of codes can compute a config: linear; activations of 8 bits at most, or symmetric of 16 at most, per tensor and
// rounded half to even; weights of 8 bits at most, symmetric, rounded in any way, since that happens here and not on the device.
#pragma once

#include "calibrator/quantization/slot_map.h"

namespace intaglio {

// kNoError, or what cannot be deployed and what to do instead; without a node and a tensor. Slots in float,
// of indices and passive ones always can.
Error check_deployable(const QuantConfig& config);

// The same for all slots of a node of the FP32 model, with node and tensor.
Error check_node_deployable(const Model& model, const SlotMap& map, int32_t node);

// kUnfinishedConfig, or kNoError where every slot can be baked. Weights and biases still wait for theirs,
// unless `baked`.
Error check_finished(const Model& model, const SlotMap& map, bool baked);

}  // namespace intaglio
