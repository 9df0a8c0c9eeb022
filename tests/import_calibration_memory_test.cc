// A calibration's memory on real networks: what Calibrator::measure() says is nearly all used, and one byte less is refused.
#include <cstring>

#include "tests/support/calibrate.h"
#include "tests/support/imported.h"
#include "tests/support/sanitized.h"

namespace intaglio::test::import_calibration_memory_test {
namespace {

constexpr uint8_t kUntouched = 0xa5;

// Bytes from the first to the last one that has been written.
size_t written_bytes(Span<const uint8_t> memory) {
  size_t end = memory.size;
  while (end > 0 && memory[end - 1] == kUntouched) --end;
  return end;
}

// The share of its block that a calibration with four samples of noise takes.
double used_share(const Model& model, const CalibratorOptions& options) {
  const CalibratorNeeds needs = *Calibrator::measure(model, options);
  AlignedBytes memory(needs.total());
  const Span<uint8_t> block = memory.span();
  CHECK(Calibrator::create(model, {block.data, block.size - 1}, options).error().status ==
        Status::kOutOfMemory);
  memset(block.data, kUntouched, block.size);
  Result<Calibrator> calibrator = Calibrator::create(model, block, options);
  REQUIRE(static_cast<bool>(calibrator));
  Samples samples(4);
  Random random(3);
  for (auto& sample : samples)
    sample = random.reals(model.tensor(model.inputs()[0]).shape.elements(), -1.0f, 1.0f);
  const SampleSource source = source_of(samples);
  REQUIRE(calibrator->add_all(source).ok());
  const Error error = calibrator->finish({}, &source);
  REQUIRE_MESSAGE(error.ok(), text_of(error, &model));
  return static_cast<double>(written_bytes(block)) / static_cast<double>(block.size);
}

}  // namespace

TEST_CASE(
    "nine tenths of what a calibration of a real network asks for are used, and one byte less is refused") {
  const std::string folder = shared_folder();
  if (folder.empty()) return;
  for (const std::string name :
       {"models/ad01_fp32.tflite", "models/kws_fp32.tflite", "models/resnet8_fp32.tflite",
        "models/vww_96_fp32.tflite", "models/mobilenet_v1_0.25_224_fp32.tflite", "models/resnet20_fp32.onnx",
        "models/yunet_n_320.onnx", "models/ultraface_rfb_320_fp32.onnx",
        "corpus2/ezkl__examples-onnx-self_attention-network.onnx",
        "corpus2/emx-onnx-cgen__tests-onnx-mixed_ops_dynamic_batch.onnx"}) {
    if (kIsSanitized && name != "models/kws_fp32.tflite") continue;
    CAPTURE(name);
    auto file = read_file(folder + "/" + name, kMaxModelBytes);
    REQUIRE_MESSAGE(file, file.message());
    Import import(file->span(), ImportOptions(), name);
    const AlignedBytes bytes = import.write();
    const Result<Model> model = Model::open(bytes.view());
    REQUIRE(static_cast<bool>(model));
    CHECK(used_share(*model, CalibratorOptions::device()) > 0.88);
    CHECK(used_share(*model, CalibratorOptions()) > 0.9);
  }
}

}  // namespace intaglio::test::import_calibration_memory_test
