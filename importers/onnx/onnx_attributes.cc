#include "importers/onnx/onnx_attributes.h"

namespace intaglio::importers {

void add_attributes(onnx_file::NodeProto& node, const OnnxAttributes& attributes) {
  using Proto = onnx_file::AttributeProto;
  const auto add = [&](const char* name, Proto::AttributeType type) -> Proto& {
    Proto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
  };
  for (const auto& [name, value] : attributes.integers) add(name, Proto::INT).set_i(value);
  for (const auto& [name, list] : attributes.lists) {
    Proto& attribute = add(name, Proto::INTS);
    for (const int64_t value : list) attribute.add_ints(value);
  }
  for (const auto& [name, value] : attributes.reals) add(name, Proto::FLOAT).set_f(value);
  for (const auto& [name, value] : attributes.words) add(name, Proto::STRING).set_s(value);
}

}  // namespace intaglio::importers
