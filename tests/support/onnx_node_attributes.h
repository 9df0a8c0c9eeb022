// Attributes of generated ONNX nodes, one by one: most fit what the node reads.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/choices.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test {

// The inputs of a node, as far as its attributes follow from it.
struct OnnxNodeFacts {
  std::vector<int64_t> first;  // dimensions of its first activation
  int64_t window_axes = 2;
  int64_t kernel = 0;                  // a side of its weights' window; 0: it has none
  int64_t hidden = 1, directions = 1;  // of recurrent weights
};

class OnnxNodeAttributes {
 public:
  using Dims = std::vector<int64_t>;

  OnnxNodeAttributes(Choices& choices, OnnxNodeFacts facts) : c_(choices), facts_(std::move(facts)) {}

  bool is_wanted(const std::string& name) const {
    static const std::vector<std::string> kNeeded{
        "kernel_shape", "blocksize", "levels",      "to",           "direction",   "equation",
        "hidden_size",  "num_heads", "q_num_heads", "kv_num_heads", "cats_int64s", "sampling_ratio"};
    const bool is_needed = std::find(kNeeded.begin(), kNeeded.end(), name) != kNeeded.end();
    return c_.one_in(6) || (is_needed && !c_.one_in(12));
  }

  void add(OnnxBuilder::Node& node, const std::string& name) const {
    static const std::vector<std::pair<std::string, std::vector<const char*>>> kStrings{
        {"auto_pad", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", "?"}},
        {"mode", {"constant", "reflect", "edge", "nearest", "linear", "DCR", "CRD", "cubic"}},
        {"approximate", {"none", "tanh", "?"}},
        {"direction", {"forward", "reverse", "bidirectional", "LEFT", "RIGHT", "?"}},
        {"equation", {"ij,ij->ij", "bij,bkj->bik", "nchw,nchw->nc", "...i,...i->...", "ij->ji", "i,->"}},
        {"padding_mode", {"zeros", "border", "reflection"}},
        {"reduction", {"none", "add", "mul", "max", "min", "?"}},
        {"nearest_mode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "?"}},
        {"activation", {"Relu", "Clip", "LeakyRelu", "HardSigmoid", "Tanh", "Sigmoid", "?"}},
        {"rounding_mode", {"ROUND", "FLOOR", "?"}},
        {"norm", {"L1", "L2", "MAX", "?"}},
        {"keep_aspect_ratio_policy", {"stretch", "not_larger"}},
        {"coordinate_transformation_mode",
         {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"}},
    };
    const auto is = [&](const char* list) {
      return (std::string(" ") + list + " ").find(" " + name + " ") != std::string::npos;
    };
    const size_t rank = std::max<size_t>(facts_.first.size(), 1);
    if (name == "direction" && node.op_type != "BitShift" && !c_.one_in(12))
      return set(node, name, facts_.directions == 2 ? "bidirectional" : c_.one_in(2) ? "forward" : "reverse");
    for (const auto& strings : kStrings)
      if (strings.first == name) return set(node, name, c_.of(strings.second));
    if (c_.one_in(48)) return set(node, name, c_.real());  // of another type
    const auto sides = static_cast<size_t>(facts_.window_axes);
    if (name == "kernel_shape" && facts_.kernel > 0 && !c_.one_in(12))  // that of its weights
      return set(node, name, Dims(sides, facts_.kernel));
    if (is("kernel_shape strides dilations")) return set(node, name, c_.numbers(sides, 1, 3));
    if (is("pads")) return set(node, name, c_.numbers(2 * (c_.one_in(2) ? sides : rank), 0, 2));
    if (is("perm")) {
      Dims axes;
      for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
      for (size_t i = 0; i < rank; ++i) std::swap(axes[i], axes[c_.below(rank)]);
      if (c_.one_in(16)) axes = c_.numbers(rank, -1, 5);
      return set(node, name, axes);
    }
    if (is("axes starts ends split value_ints cats_int64s"))
      return set(node, name, c_.numbers(1 + c_.below(3), -3, 4));
    if (is("offset activation_params") || node.op_type == "Scaler")
      return set(node, name, c_.reals(1 + c_.below(3)));
    if (is("alpha beta epsilon momentum min max value value_float ratio scale clip softcap lambd gamma activation_alpha mask_filter_value spatial_scale"))
      return set(node, name, c_.real());
    if (is("value_floats scales")) {
      auto& attribute = node.attribute.add();
      attribute.name = name;
      attribute.type = onnx_file::AttributeProto::FLOATS;
      for (size_t i = 0; i < rank; ++i) attribute.floats.push_back(i < 2 ? 1.0f : c_.real());
      return;
    }
    if (name == "hidden_size") return set(node, name, c_.one_in(16) ? c_.number(1, 2) : facts_.hidden);
    if (is("num_heads q_num_heads kv_num_heads")) return set(node, name, c_.one_in(6) ? c_.number(1, 2) : 1);
    if (name == "sampling_ratio") return set(node, name, c_.number(1, 2));
    if (is("levels")) {
      const std::vector<int64_t> levels{256, 255, 16, 2, 257, 1024, 65535, 65536, 65537};
      return set(node, name, c_.of(levels));
    }
    if (is("group"))
      return set(node, name,
                 c_.one_in(2) ? (facts_.first.size() > 1 ? facts_.first[1] : 1) : c_.number(1, 3));
    if (is("to output_dtype")) return set(node, name, c_.number(0, 16));
    set(node, name, c_.number(-2, 4));
  }

 private:
  Choices& c_;
  OnnxNodeFacts facts_;
};

}  // namespace intaglio::test
