// Attributes of ONNX nodes: those that a handler reads, and those that an importer writes.
#pragma once

#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

#include "importers/onnx/onnx_file.h"

namespace intaglio::importers {

// The attributes of a node, as its handler reads them. One of another type than it asks for is an error, and so are those that
// it never asks for: they would be ignored.
class OnnxNodeAttributes {
 public:
  explicit OnnxNodeAttributes(const onnx_file::NodeProto& node) : node_(node) {}

  bool has(const char* name) const { return find(name) != nullptr; }
  int64_t integer(const char* name, int64_t otherwise) const;
  float real(const char* name, float otherwise) const;
  std::string string(const char* name, const char* otherwise) const;
  std::vector<int64_t> integers(const char* name) const;  // empty where it is absent
  std::vector<float> reals(const char* name) const;
  std::vector<std::string> strings(const char* name) const;
  const onnx_file::TensorProto* tensor(const char* name) const;
  const onnx_file::GraphProto& graph(const char* name) const;  // throws where it is absent
  void ignore(const std::string& name) const { read_.insert(name); }
  void check_all_read() const;

 private:
  const onnx_file::AttributeProto* find(const char* name) const;
  const onnx_file::AttributeProto* find(const char* name,
                                        onnx_file::AttributeProto::AttributeType type) const;

  const onnx_file::NodeProto& node_;
  mutable std::unordered_set<std::string> read_;
};

using OnnxList = std::vector<int64_t>;
struct OnnxAttribute {
  const char* name;
  std::variant<int64_t, float, OnnxList, std::string> value;
};
using OnnxAttributes = std::vector<OnnxAttribute>;

void add_attributes(onnx_file::NodeProto& node, const OnnxAttributes& attributes);

}  // namespace intaglio::importers
