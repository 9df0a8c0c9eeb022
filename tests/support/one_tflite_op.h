// One operator of a TFLite file in memory, as its handler sees it.
#pragma once

#include <functional>

#include "importers/tflite/tflite_op.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test {

// A file of one operator.
struct OneTfliteOp {
  // Fills a builder and gives the operator's inputs and outputs.
  using Fill = std::function<std::pair<std::vector<int32_t>, std::vector<int32_t>>(TfliteBuilder&)>;

  explicit OneTfliteOp(const Fill& fill) {
    TfliteBuilder builder;
    const auto [inputs, outputs] = fill(builder);
    builder.op(kTfliteAdd, inputs, outputs);
    bytes = builder.finish({}, {});
    file.model = tflite::GetModel(bytes.data());
    file.graph = file.model->subgraphs()->Get(0);
    file.draft = &draft;
    file.made.assign(file.graph->tensors()->size(), importers::TfliteFile::kNotMade);
  }
  importers::TfliteOp op() { return {file, *file.graph->operators()->Get(0), "ADD", "y"}; }

  std::string bytes;
  importers::Draft draft;
  importers::TfliteFile file;
};

// A file of one tensor, which is also the output.
inline OneTfliteOp tensor_of(const std::function<int32_t(TfliteBuilder&)>& fill) {
  return OneTfliteOp([&](TfliteBuilder& builder) {
    const int32_t t = fill(builder);
    return std::pair<std::vector<int32_t>, std::vector<int32_t>>{{t}, {t}};
  });
}

inline OneTfliteOp constant_of(int8_t type, const std::vector<int32_t>& dims,
                               const std::vector<uint8_t>& data, const TfliteScales& scales = {}) {
  return tensor_of([&](TfliteBuilder& builder) { return builder.constant("k", type, dims, data, scales); });
}

}  // namespace intaglio::test
