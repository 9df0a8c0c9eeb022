// Attributes of an ONNX node that an importer writes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "importers/onnx/intaglio_onnx.pb.h"

namespace intaglio::importers {

struct OnnxAttributes {
  std::vector<std::pair<const char*, int64_t>> integers;
  std::vector<std::pair<const char*, std::vector<int64_t>>> lists;
  std::vector<std::pair<const char*, float>> reals;
  std::vector<std::pair<const char*, std::string>> words;
};

void add_attributes(onnx_file::NodeProto& node, const OnnxAttributes& attributes);

}  // namespace intaglio::importers
