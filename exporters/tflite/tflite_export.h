// An int8 model as a TFLite file.
#pragma once

#include <string>
#include <vector>

#include "calibrator/host/system/outcome.h"
#include "intaglio/model.h"

namespace intaglio {

struct TfliteExport {
  std::vector<uint8_t> bytes;
  int32_t layers = 0;              // with int8 weights
  int32_t in_float = 0;            // layers whose int8 weights the model has and the file has in FP32
  int32_t functions_in_float = 0;  // nodes on codes, without weights, that the file has in FP32
  std::vector<std::string> notes;
};

// The network is the model's own: both formats have pictures as NHWC, weights as [oc, kh, kw, ic], int8 codes with zero
// points and int32 biases. What the model fuses and TFLite does not (a residual, a bound that is no activation, padding of
// its own) becomes operators of their own; a table becomes the function that it is of, or a Gather.
//
// The file is imported again before it is given, each layer compared: codes of weights, scales, biases and grids, and both run. A
// failure names the node that TFLite has no form for, or the first layer that would not come back. `path` is for messages.
Outcome<TfliteExport> export_tflite(const Model& model, const std::string& path);

}  // namespace intaglio
