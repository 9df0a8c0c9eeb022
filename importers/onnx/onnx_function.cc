// Functions that a file defines itself: a node that calls one stands for the function's own nodes.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <map>

#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

using onnx_file::AttributeProto;
using onnx_file::FunctionProto;
using onnx_file::GraphProto;
using onnx_file::NodeProto;

constexpr int kMostDepth = 16;  // of graphs in attributes

// Names and attributes of one call in place of the function's.
class Call {
 public:
  Call(const FunctionProto& function, const NodeProto& node, const std::string& prefix)
      : node_(node), defaults_(defaults_of(function)), prefix_(prefix) {
    if (node.input_size() > function.input_size() || node.output_size() > function.output_size())
      fail("it has ", node.input_size(), " inputs and ", node.output_size(), " outputs; its function ",
           quoted(function.name()), " has ", function.input_size(), " and ", function.output_size());
    for (int i = 0; i < function.input_size(); ++i)
      names_[function.input(i)] = i < node.input_size() ? node.input(i) : std::string();
    for (int i = 0; i < node.output_size(); ++i)
      if (!node.output(i).empty()) names_[function.output(i)] = node.output(i);
  }

  NodeProto renamed(const NodeProto& from, int depth = 0) const {
    if (depth > kMostDepth) fail("its function's graphs are nested more than ", kMostDepth, " deep");
    NodeProto made = from;
    made.set_name(prefix_ + from.name());
    for (std::string& name : *made.mutable_input()) name = name_of(name);
    for (std::string& name : *made.mutable_output()) name = name_of(name);
    made.clear_attribute();
    for (const AttributeProto& attribute : from.attribute()) {
      if (!attribute.ref_attr_name().empty()) {
        add_given(attribute, made);
        continue;
      }
      AttributeProto& copy = *made.add_attribute();
      copy = attribute;
      if (copy.has_g()) rename(*copy.mutable_g(), depth);
    }
    return made;
  }

  // What the node takes of the call's attributes: a large one may be referred to often.
  uint64_t given_bytes(const NodeProto& from, int depth = 0) const {
    uint64_t bytes = 0;
    for (const AttributeProto& attribute : from.attribute()) {
      const bool is_given = !attribute.ref_attr_name().empty();
      if (const AttributeProto* const own = is_given ? given(attribute) : nullptr)
        bytes += own->ByteSizeLong();
      if (is_given || depth == kMostDepth) continue;
      for (const NodeProto& inner : attribute.g().node()) bytes += given_bytes(inner, depth + 1);
    }
    return bytes;
  }

 private:
  // Field 11, which the format has since its eighth version; the definition that this is compiled with may be older.
  static std::vector<AttributeProto> defaults_of(const FunctionProto& function) {
    constexpr uint32_t kAttributesWithValues = 11 << 3 | 2;  // its tag
    using google::protobuf::internal::WireFormatLite;
    const std::string& unknown = function.unknown_fields();
    google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(unknown.data()),
                                                  static_cast<int>(unknown.size()));
    std::vector<AttributeProto> defaults;
    while (const uint32_t tag = stream.ReadTag()) {
      if (tag == kAttributesWithValues) defaults.emplace_back();
      const bool is_read = tag == kAttributesWithValues
                               ? WireFormatLite::ReadMessage(&stream, &defaults.back())
                               : WireFormatLite::SkipField(&stream, tag);
      if (!is_read) fail("its function ", quoted(function.name()), " has a damaged attribute");
    }
    return defaults;
  }

  std::string name_of(const std::string& name) const {
    const auto known = names_.find(name);
    return name.empty() ? name : known != names_.end() ? known->second : prefix_ + name;
  }

  // What the call says for the attribute that the function's node refers to; else the function's own value, or none.
  const AttributeProto* given(const AttributeProto& reference) const {
    const auto find_in = [&](const auto& attributes) -> const AttributeProto* {
      for (const AttributeProto& attribute : attributes)
        if (attribute.name() == reference.ref_attr_name()) return &attribute;
      return nullptr;
    };
    const AttributeProto* const own = find_in(node_.attribute());
    return own != nullptr ? own : find_in(defaults_);
  }

  void add_given(const AttributeProto& reference, NodeProto& made) const {
    const AttributeProto* const attribute = given(reference);
    if (attribute == nullptr) return;
    AttributeProto& copy = *made.add_attribute();
    copy = *attribute;
    copy.set_name(reference.name());
  }

  void rename(GraphProto& graph, int depth) const {
    for (NodeProto& node : *graph.mutable_node()) node = renamed(node, depth + 1);
    for (auto& constant : *graph.mutable_initializer()) constant.set_name(name_of(constant.name()));
    for (auto& input : *graph.mutable_input()) input.set_name(name_of(input.name()));
    for (auto& output : *graph.mutable_output()) output.set_name(name_of(output.name()));
  }

  const NodeProto& node_;
  std::vector<AttributeProto> defaults_;
  std::string prefix_;
  std::map<std::string, std::string> names_;
};

}  // namespace

const FunctionProto* find_onnx_function(const onnx_file::ModelProto& model, const NodeProto& node) {
  for (const FunctionProto& function : model.functions())
    if (function.name() == node.op_type() && function.domain() == node.domain()) return &function;
  return nullptr;
}

std::unique_ptr<GraphProto> called_onnx_function(const FunctionProto& function, const NodeProto& node,
                                                 const std::string& prefix) {
  const Call call(function, node, prefix);
  uint64_t bytes = 0;
  for (const NodeProto& inner : function.node()) bytes += call.given_bytes(inner);
  if (bytes > kMaxModelBytes)
    fail("its function ", quoted(function.name()), " refers to its attributes so often that they have ",
         bytes, " bytes, more than the limit of ", kMaxModelBytes);
  auto graph = std::make_unique<GraphProto>();
  for (const NodeProto& inner : function.node()) *graph->add_node() = call.renamed(inner);
  return graph;
}

}  // namespace intaglio::importers
