#include <vector>

#include "kernels/gemm/gemm_s8_pairs.h"
#include "runtime/ops/conv_geometry.h"
#include "tools/measure_model.h"

namespace intaglio::tools {

std::optional<double> safe_pairs(const Model& model, const NodeInfo& node) {
  constexpr size_t kWeights = 1;
  const bool convolves = node.op == Op::kConv2d;
  if (!convolves && node.op != Op::kFullyConnected) return std::nullopt;
  if (node.inputs.size <= kWeights || node.inputs[kWeights] < 0) return std::nullopt;
  const DType output = model.tensor(node.outputs[0]).dtype;
  if (output != DType::kS8 && !(convolves && output == DType::kF32))
    return std::nullopt;  // weights are read as they stand
  const TensorInfo weights = model.tensor(node.inputs[kWeights]);
  if (weights.dtype != DType::kS8 || !weights.is_constant()) return std::nullopt;
  int32_t index = 0;
  while (index < gemm_s8_count() && !gemm_s8_kernel(index).pair_safe_panels) ++index;
  if (index == gemm_s8_count()) return std::nullopt;
  const GemmS8Kernel& kernel = gemm_s8_kernel(index);

  // As the operators lay it out; what they would refuse is none of theirs.
  const Shape shape = weights.shape;
  ConvGeometry g;
  if (shape.rank != (convolves ? 4 : 2)) return std::nullopt;
  g.oc = shape[0];
  g.ic = shape[shape.rank - 1];
  if (convolves) {
    g.groups = node.options.as<Conv2dOptions>().groups;
    g.window = node.options.as<Window2d>();
    if (g.groups < 1 || g.oc % g.groups != 0 || g.groups > INT32_MAX / g.ic) return std::nullopt;
    if (shape[1] != g.window.kernel_h || shape[2] != g.window.kernel_w) return std::nullopt;
    g.ic *= g.groups;
  }
  const int32_t n = g.oc / g.groups, taps = g.gemm_taps(), k = g.gemm_k();
  const std::vector<int32_t> bias(static_cast<size_t>(n));
  const std::vector<float> multiplier(static_cast<size_t>(n));
  std::vector<uint8_t> packed(static_cast<size_t>(gemm_s8_packed_bytes(kernel, n, taps, k)));
  const auto* const codes = reinterpret_cast<const int8_t*>(weights.constant.data);
  int64_t quads = 0, safe = 0;
  for (int32_t group = 0; group < g.groups; ++group) {
    gemm_s8_pack(kernel, {codes + int64_t{group} * n * taps * k, bias.data(), multiplier.data(), n, taps, k},
                 packed.data());
    const PairsProof proof = count_safe_pairs(kernel, packed.data(), n, taps, k);
    quads += proof.quads;
    safe += proof.safe;
  }
  return static_cast<double>(safe) / static_cast<double>(quads);
}

}  // namespace intaglio::tools
