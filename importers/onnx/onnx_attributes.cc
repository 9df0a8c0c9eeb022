#include "importers/onnx/onnx_attributes.h"

#include "importers/draft/draft.h"

namespace intaglio::importers {

using onnx_file::AttributeProto;
using onnx_file::TensorProto;

const AttributeProto* OnnxNodeAttributes::find(const char* name) const {
  read_.insert(name);
  for (const AttributeProto& attribute : node_.attribute)
    if (attribute.name == name) return &attribute;
  return nullptr;
}

const AttributeProto* OnnxNodeAttributes::find(const char* name, AttributeProto::AttributeType type) const {
  const AttributeProto* attribute = find(name);
  // Old files leave the type out.
  if (attribute != nullptr && attribute->type != type && attribute->type != AttributeProto::UNDEFINED)
    fail("attribute ", quoted(name), " has another type than the operator asks for");
  return attribute;
}

int64_t OnnxNodeAttributes::integer(const char* name, int64_t otherwise) const {
  const AttributeProto* attribute = find(name, AttributeProto::INT);
  return attribute == nullptr ? otherwise : attribute->i.value_or(0);
}

float OnnxNodeAttributes::real(const char* name, float otherwise) const {
  const AttributeProto* attribute = find(name, AttributeProto::FLOAT);
  return attribute == nullptr ? otherwise : attribute->f.value_or(0.0f);
}

std::string OnnxNodeAttributes::string(const char* name, const char* otherwise) const {
  const AttributeProto* attribute = find(name, AttributeProto::STRING);
  return attribute == nullptr ? otherwise : attribute->s.value_or("");
}

std::vector<int64_t> OnnxNodeAttributes::integers(const char* name) const {
  const AttributeProto* attribute = find(name, AttributeProto::INTS);
  if (attribute == nullptr) return {};
  return {attribute->ints.begin(), attribute->ints.end()};
}

std::vector<float> OnnxNodeAttributes::reals(const char* name) const {
  const AttributeProto* attribute = find(name, AttributeProto::FLOATS);
  if (attribute == nullptr) return {};
  return {attribute->floats.begin(), attribute->floats.end()};
}

std::vector<std::string> OnnxNodeAttributes::strings(const char* name) const {
  const AttributeProto* attribute = find(name, AttributeProto::STRINGS);
  if (attribute == nullptr) return {};
  return {attribute->strings.begin(), attribute->strings.end()};
}

const TensorProto* OnnxNodeAttributes::tensor(const char* name) const {
  const AttributeProto* attribute = find(name, AttributeProto::TENSOR);
  return attribute == nullptr ? nullptr : &*attribute->t;
}

const onnx_file::GraphProto& OnnxNodeAttributes::graph(const char* name) const {
  const AttributeProto* attribute = find(name, AttributeProto::GRAPH);
  if (attribute == nullptr) fail("attribute ", quoted(name), " is missing");
  return *attribute->g;
}

void OnnxNodeAttributes::check_all_read() const {
  for (const AttributeProto& attribute : node_.attribute)
    if (read_.count(attribute.name) == 0) fail("attribute ", quoted(attribute.name), " is not supported");
}

void add_attributes(onnx_file::NodeProto& node, const OnnxAttributes& attributes) {
  for (const auto& [name, value] : attributes) {
    AttributeProto& made = node.attribute.add();
    made.name = name;
    const auto is = [&made = made](const auto* own, AttributeProto::AttributeType type) {
      if (own != nullptr) made.type = type;
      return own;
    };
    if (const auto* const i = is(std::get_if<int64_t>(&value), AttributeProto::INT)) made.i = *i;
    if (const auto* const f = is(std::get_if<float>(&value), AttributeProto::FLOAT)) made.f = *f;
    if (const auto* const s = is(std::get_if<std::string>(&value), AttributeProto::STRING)) made.s = *s;
    if (const auto* const list = is(std::get_if<OnnxList>(&value), AttributeProto::INTS)) made.ints = *list;
  }
}

}  // namespace intaglio::importers
