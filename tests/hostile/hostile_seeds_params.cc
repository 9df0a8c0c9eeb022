#include <string>

#include "tests/hostile/hostile_runs.h"

// A table of each format that is read.
std::vector<std::vector<uint8_t>> intaglio::test::hostile_seeds() {
  std::vector<std::vector<uint8_t>> seeds;
  for (
      const std::string& text :
      {std::string(
           "record {\n  key: \"conv1\"\n  value {\n    scale_d: 0.0798481479\n    offset_d: 1\n    scale_w: "
           "0.00297622895\n    offset_w: 0\n    skip_fusion: true\n    dst_type: \"INT8\"\n  }\n}\n"),
       std::string(
           "record { key: \"a\" value { scale_w: [1, 2] } } prune_record { producer { name: \"a\" attr { name: "
           "\"begin\" type: INT i: 0 } attr { name: \"end\" type: INT i: 2 } attr { name: \"prune_index\" type: "
           "INTS ints: 1 } } consumer { name: \"b\" attr { name: \"prune_index\" type: INTS ints: [1] } } }"),
       std::string("conv1_param_0 126.967895 97.11\nfc1_param_0 24.1\nconv1 1.5\nfc1 9.25\n"),
       std::string("conv1_out 0.0312 -12\ninput 0.0078 0\nfc1_out 0.25 3\n"),
       std::string(
           "{\"configs\": {\"conv1\": {\"x\": {\"bit_width\": 8, \"policy\": {\"PER_TENSOR\": true, \"LINEAR\": "
           "true, \"ASYMMETRICAL\": true}, \"quant_min\": -128, \"quant_max\": 127, \"state\": \"ACTIVATED\", "
           "\"hash\": 1, \"dominator\": 1}}}, \"values\": {\"1\": {\"scale\": 0.5, \"zero_point\": 0}}}"),
       std::string(
           "{\"version\": \"0.6.1\", \"activation_encodings\": {\"x\": [{\"bitwidth\": 8, \"dtype\": \"int\", "
           "\"offset\": -12, \"scale\": 0.5}]}, \"param_encodings\": {\"w\": [{\"bitwidth\": 8, \"offset\": -128, "
           "\"scale\": 0.25}]}}"),
       std::string(R"(record { key: "pool:1" value { scale_d: 0.5 act_type: "INT16" } }
record { key: "fc" value { scale_d: 1 scale_w: [1, 2] wts_type: "INT4" shift_bit: [3, 4] } }
record { key: "x" value { scale_d: 0.5 offset_d: -3 is_tensor_quantize: true } })"),
       // PPQ's: operators in FP32, slots that do not count, 16 bits, weights with a zero point, a platform that rounds halves up.
       std::string(R"({"configs": {
  "conv": {"x": {"bit_width": 8, "quant_min": 0, "quant_max": 255, "state": "ACTIVATED", "dominator": 1},
           "w": {"bit_width": 8, "quant_min": 0, "quant_max": 255, "state": "BAKED", "dominator": 2},
           "b": {"bit_width": 32, "quant_min": -2147483647, "quant_max": 2147483647, "state": "PASSIVE", "dominator": 3},
           "pre": {"bit_width": 8, "quant_min": 0, "quant_max": 255, "state": "OVERLAPPED", "dominator": 4}},
  "relu": {"pre": {"bit_width": 8, "quant_min": 0, "quant_max": 255, "state": "OVERLAPPED", "dominator": 4},
           "y": {"bit_width": 16, "quant_min": -32768, "quant_max": 32767, "state": "ACTIVATED", "dominator": 4}},
  "soft": {"y": {"bit_width": 8, "quant_min": -128, "quant_max": 127, "state": "FP32", "dominator": 5},
           "z": {"bit_width": 8, "quant_min": -128, "quant_max": 127, "state": "DEACTIVED", "dominator": 5}},
  "shape": {"i": {"bit_width": 8, "quant_min": 0, "quant_max": 255, "state": "SOI", "dominator": 6}}},
 "dispatchings": {"conv": "ESPDL_S3_INT8", "last": "FP32"}, "dispatching_table": {"soft": "FP32"},
 "values": {"1": {"scale": 0.5, "zero_point": 7}, "2": {"scale": [0.5, 0.25], "zero_point": [128, 131]},
            "3": {"scale": 0.1, "zero_point": 0}, "4": {"scale": 0.25, "zero_point": 0}}})"),
       // SNPE's ranges alone, PPQ's for QNN, MQBench's.
       std::string(R"({"activation_encodings": {"x": [{"bitwidth": 8, "min": -1.5, "max": 2.25}],
  "y": [{"bitwidth": 8, "min": -1, "max": 1.55, "scale": 0.01, "offset": -100}]},
 "param_encodings": {"w": [{"bitwidth": 4, "min": -0.7, "max": 0.8}, {"bitwidth": 4, "min": -0.8, "max": 0.7}]}})"),
       std::string(
           R"({"encodings": [{"name": "w", "output_dtype": "int4", "y_scale": [0.5, 0.25], "axis": 0}]})"),
       std::string(R"({"tensorrt": {"blob_range": {"x": 63.5}}, "vitis": {"v": {"scale": 0.25}},
 "ppl": {"u": {"step": 0.5, "min": -4.5, "max": 123, "bit": 8},
         "w": {"step": [0.5, 0.25], "min": [-64, -32], "max": [63.5, 31.75], "bit": 8}}})")})
    seeds.emplace_back(text.begin(), text.end());
  return seeds;
}
