#include "cli/changed_codes.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace intaglio::cli {
namespace {

// The axis of a layer's output channels in its weights.
int32_t channel_axis(const Model& model, int32_t weights) {
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    if (node.op == Op::kDepthwiseConv2d && node.inputs.size > 1 && node.inputs[1] == weights)
      return model.tensor(weights).shape.rank - 1;
  }
  return 0;
}

std::vector<int8_t> rounded(const Model& model, int32_t tensor, const std::vector<float>& scales) {
  const TensorInfo info = model.tensor(tensor);
  if (info.dtype != DType::kF32 || !info.is_constant()) return {};
  const auto* const values = reinterpret_cast<const float*>(info.constant.data);
  const auto behind =
      static_cast<size_t>(info.shape.elements(channel_axis(model, tensor) + 1, info.shape.rank));
  std::vector<int8_t> codes(static_cast<size_t>(info.shape.elements()));
  for (size_t i = 0; i < codes.size(); ++i) {
    const float scale = scales[scales.size() == 1 ? 0 : i / behind % scales.size()];
    codes[i] = static_cast<int8_t>(std::clamp(std::nearbyint(values[i] / scale), -127.0f, 127.0f));
  }
  return codes;
}

}  // namespace

ChangedCodes changed_activation_codes(const ParamsEntry& a, const ParamsEntry& b) {
  const int32_t lo = a.is_wide() ? a.lo : -128, hi = a.is_wide() ? a.hi : 127;
  ChangedCodes count{0, hi - lo + 1};
  for (int32_t code = lo; code <= hi; ++code) {
    const double number = static_cast<double>(a.scales[0]) * (code - a.zero_point);
    count.changed += std::nearbyint(number / static_cast<double>(b.scales[0])) + b.zero_point != code;
  }
  return count;
}

std::vector<int8_t> WeightSource::codes(const ParamsEntry& entry) const {
  if (int8 != nullptr) {
    for (int32_t t = 0; t < int8->tensor_count(); ++t) {
      const TensorInfo info = int8->tensor(t);
      if (std::string_view(info.name) != entry.node || info.dtype != DType::kS8 || !info.is_constant())
        continue;
      const auto* const codes = reinterpret_cast<const int8_t*>(info.constant.data);
      return {codes, codes + info.constant.size};
    }
  }
  if (fp32 == nullptr) return {};
  ParamsTable one;
  one.entries.push_back(entry);
  const auto resolved = resolve_params(one, *fp32, "");
  if (!resolved || resolved->known.empty()) return {};
  return rounded(*fp32, resolved->known[0].tensor, entry.scales);
}

std::optional<ChangedCodes> changed_weight_codes(const ParamsEntry& a, const WeightSource& of_a,
                                                 const ParamsEntry& b, const WeightSource& of_b) {
  const std::vector<int8_t> p = of_a.codes(a), q = of_b.codes(b);
  if (p.empty() || p.size() != q.size()) return std::nullopt;
  ChangedCodes count{0, static_cast<int64_t>(p.size())};
  for (size_t i = 0; i < p.size(); ++i) count.changed += p[i] != q[i];
  return count;
}

}  // namespace intaglio::cli
