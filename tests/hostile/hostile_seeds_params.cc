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
           "\"scale\": 0.25}]}}")})
    seeds.emplace_back(text.begin(), text.end());
  return seeds;
}
