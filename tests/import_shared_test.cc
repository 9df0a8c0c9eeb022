// Real models, from both formats, against outputs of independent interpreters.
#include <filesystem>

#include "runtime/crc32.h"
#include "tests/support/imported.h"

namespace intaglio::test::import_shared_test {
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
      {"squeezenet1.1_fp32.onnx", "squeezenet1.1_fp32_nchw", true, 1e-3},
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

// Its outputs come from LiteRT 2.3 (XNNPACK, one thread), since golden/ has additions with multipliers of 20 bits.
TEST_CASE("a uint8 model gives LiteRT's codes, minus 128") {
  const std::string folder = shared_folder();
  if (folder.empty()) return;
  const std::string name = "mobilenet_v2_1.0_224_tf2_int8";
  const auto file = read_file(folder + "/models/" + name + ".tflite", kMaxModelBytes);
  REQUIRE_MESSAGE(file, file.message());
  Import import(file->span(), ImportOptions(), name);
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel running(import.write());
  REQUIRE_MESSAGE(running.error().ok(), text_of(running.error(), &running.model()));
  const auto input = read_npy(folder + "/golden/" + name + "/input.npy");
  REQUIRE_MESSAGE(input, input.message());
  const Span<int8_t> to = running.session().input().as<int8_t>();
  std::vector<uint8_t> codes;
  for (size_t s = 0; s < input->as<uint8_t>().size / to.size; ++s) {
    for (size_t i = 0; i < to.size; ++i)
      to[i] = static_cast<int8_t>(input->as<uint8_t>()[s * to.size + i] - 128);
    running.session().run();
    for (const int8_t code : running.session().output().as<int8_t>())
      codes.push_back(static_cast<uint8_t>(code + 128));
  }
  CHECK(codes.size() == 2002);
  CHECK(crc32(0, codes.data(), codes.size()) == 0x0c296efd);
}

TEST_CASE("uint8 weights beyond int8 are counted and named") {
  const std::string folder = shared_folder();
  if (folder.empty()) return;
  const auto file = read_file(folder + "/models/mobilenet_v1_0.25_128_uint8.tflite", kMaxModelBytes);
  REQUIRE_MESSAGE(file, file.message());
  Import import(file->span(), ImportOptions(), "mobilenet_v1_0.25_128_uint8.tflite");
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.notes("weights less their zero point are beyond int8 in 28 layers: "));
}

TEST_CASE("no Transpose is left between the nodes of any model; a detector may have one for its output") {
  const std::string folder = shared_folder();
  if (folder.empty()) return;
  size_t models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/models")) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    const auto file = read_file(entry.path().string(), kMaxModelBytes);
    REQUIRE_MESSAGE(file, file.message());
    Import import(file->span(), ImportOptions(), name);
    REQUIRE_MESSAGE(import.good(), import.message());
    for (const GraphNode& node : import.graph().nodes) {
      if (node.op != Op::kTranspose) continue;
      // Its result is read by no convolution, however far behind.
      std::vector<bool> reached(import.graph().tensors.size(), false);
      reached[static_cast<size_t>(node.outputs[0])] = true;
      for (const GraphNode& reader : import.graph().nodes) {
        bool reads = false;
        for (const int32_t input : reader.inputs) reads |= input >= 0 && reached[static_cast<size_t>(input)];
        if (!reads) continue;
        CHECK(reader.op != Op::kConv2d);
        CHECK(reader.op != Op::kDepthwiseConv2d);
        reached[static_cast<size_t>(reader.outputs[0])] = true;
      }
    }
    ++models;
  }
  CHECK(models >= 23);
}

TEST_CASE("detectors: no picture is transposed but for an output") {
  const std::string folder = shared_folder();
  if (folder.empty()) return;
  for (const std::string name : {"fastestdet_352_fp32.onnx", "ultraface_rfb_320_fp32.onnx"}) {
    CAPTURE(name);
    const std::vector<Op> ops = ops_of(folder, name);
    CHECK(std::count(ops.begin(), ops.end(), Op::kTranspose) <= 1);
  }
}

TEST_CASE("quantized ONNX models become int8: Quantize in front, Dequantize and Softmax behind") {
  const std::string folder = shared_folder();
  if (folder.empty()) return;
  for (const std::string name :
       {"resnet8_qdq.onnx", "vww_96_qdq.onnx", "kws_qdq.onnx", "resnet8_fakequantize.onnx"}) {
    CAPTURE(name);
    const auto file = read_file(folder + "/models/" + name, kMaxModelBytes);
    REQUIRE_MESSAGE(file, file.message());
    Import import(file->span(), ImportOptions(), name);
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.count(Op::kQuantize) == 1);
    CHECK(import.count(Op::kDequantize) == 1);
    CHECK(import.count(Op::kTranspose) == 0);
    for (const GraphNode& node : import.graph().nodes)
      if (node.op == Op::kConv2d || node.op == Op::kAdd || node.op == Op::kFullyConnected)
        CHECK(import.tensor(node.outputs[0]).dtype == DType::kS8);
  }
}

TEST_CASE("quantized networks without their channels of one code give the same bytes") {
  const std::string folder = shared_folder();
  if (folder.empty()) return;
  const struct {
    const char* model;
    size_t most;  // bytes of the model file
  } cases[] = {{"vww_96_int8.tflite", 88000},
               {"vww_96_qdq.onnx", 75000},
               {"mobilenet_v2_1.0_224_tf2_int8.tflite", 3824000}};
  for (const auto& row : cases) {
    const char* const model = row.model;
    INFO(model);
    const auto file = read_file(folder + "/models/" + model, kMaxModelBytes);
    REQUIRE_MESSAGE(file, file.message());
    ImportOptions all;
    all.keep_dead = true;
    Import whole(file->span(), all), less(file->span());
    CHECK(less.notes("hold one code whatever the input is"));
    CHECK_FALSE(whole.notes("hold one code"));
    const AlignedBytes small = less.write();
    CHECK(small.size() < row.most);
    RunningModel exact(whole.write()), shown(AlignedBytes(small.view()));
    Random random(5);
    const TensorInfo input = exact.session().input(0).info;
    const auto count = static_cast<size_t>(input.shape.elements());
    for (int32_t picture = 0; picture < 3; ++picture) {
      for (RunningModel* const running : {&exact, &shown}) {
        random = Random(static_cast<uint32_t>(picture));
        if (input.dtype == DType::kS8)
          running->set_input(picture == 0 ? std::vector<int8_t>(count, -128) : random.codes(count));
        else
          running->set_input(
              random.reals(count, picture == 0 ? -1000.0f : -1.0f, picture == 0 ? 1000.0f : 1.0f));
        running->session().run();
      }
      const TensorView a = exact.session().output(0), b = shown.session().output(0);
      REQUIRE(a.info.bytes() == b.info.bytes());
      CHECK(std::memcmp(a.data, b.data, a.info.bytes()) == 0);
    }
  }
}

}  // namespace intaglio::test::import_shared_test
