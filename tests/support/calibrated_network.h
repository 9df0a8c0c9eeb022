// An ONNX network and the int8 model that random samples gave: what the exporters' tests begin with.
#pragma once

#include <string>

#include "tests/support/calibrate.h"
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/random.h"
#include "tests/support/real_values.h"

namespace intaglio::test {

struct CalibratedNetwork {
  explicit CalibratedNetwork(const OnnxBuilder& file, const CalibratorOptions& options = {},
                             const ImportOptions& import_options = {})
      : network(file.bytes()) {
    Import import(network, import_options);
    REQUIRE_MESSAGE(import.good(), import.message());
    const AlignedBytes fp32 = import.write();
    const Result<Model> model = Model::open(fp32.view());
    REQUIRE(static_cast<bool>(model));
    Random random(11);
    const auto values = static_cast<size_t>(model->tensor(model->inputs()[0]).shape.elements());
    for (int i = 0; i < 6; ++i) samples.push_back(random.reals(values, -1, 1));
    const std::vector<uint8_t> bytes = calibrate(*model, samples, options);
    int8 = AlignedBytes(Span<const uint8_t>(bytes.data(), bytes.size()));
  }

  std::string network;
  Samples samples;
  AlignedBytes int8;
};

}  // namespace intaglio::test
