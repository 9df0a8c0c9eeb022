// Real models, from both formats, against outputs of independent interpreters.
#include "tests/support/imported.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

std::vector<Op> ops_of(const std::string& folder, const std::string& model) {
  const auto file = read_file(folder + "/models/" + model, kMaxModelBytes);
  REQUIRE_MESSAGE(file, file.message());
  Import import(file->span(), ImportOptions(), model);
  REQUIRE_MESSAGE(import.good(), import.message());
  return import.ops();
}

}  // namespace

TEST_CASE("FP32 models give their reference outputs") {
  const std::string folder = shared_folder();
  if (folder.empty()) return;
  const struct {
    const char* model;
    const char* golden;
    bool nchw;
    double limit;
  } cases[] = {
      {"resnet8_fp32.tflite", "resnet8_fp32", false, 1e-4},
      {"resnet8_fp32.onnx", "resnet8_fp32", false, 1e-4},
      {"vww_96_fp32.tflite", "vww_96_fp32", false, 1e-4},
      {"vww_96_fp32.onnx", "vww_96_fp32", false, 1e-4},
      {"kws_fp32.tflite", "kws_fp32", false, 1e-4},
      {"kws_fp32.onnx", "kws_fp32", false, 1e-4},
      {"ad01_fp32.tflite", "ad01_fp32", false, 1e-3},
      {"mobilenet_v1_0.25_224_fp32.tflite", "mobilenet_v1_0.25_224_fp32", false, 1e-4},
      {"mobilenet_v1_0.25_224_fp32.onnx", "mobilenet_v1_0.25_224_fp32", false, 1e-4},
      {"mobilenet_v2_1.0_224_fp32.onnx", "mobilenet_v2_1.0_224_fp32_nchw", true, 1e-3},
  };
  for (const auto& c : cases) {
    CAPTURE(std::string(c.model));
    const double difference = golden_difference<float>(folder, c.model, c.golden, c.nchw);
    MESSAGE(std::string(c.model) << ": " << difference);
    CHECK(difference <= c.limit);
  }
}

TEST_CASE("int8 models give their reference outputs to the bit") {
  const std::string folder = shared_folder();
  if (folder.empty()) return;
  for (const std::string name : {"resnet8_int8", "vww_96_int8", "kws_int8", "ad01_int8"}) {
    CAPTURE(name);
    CHECK(golden_difference<int8_t>(folder, name + ".tflite", name) == 0);
  }
}

TEST_CASE("the same network gives the same kinds of nodes from both formats") {
  const std::string folder = shared_folder();
  if (folder.empty()) return;
  for (const std::string name : {"resnet8_fp32", "vww_96_fp32"}) {
    CAPTURE(name);
    CHECK(ops_of(folder, name + ".tflite") == ops_of(folder, name + ".onnx"));
  }
}
