// Sums of scores have 16 bits in an int8 model, which a TFLite file has in FP32.
#include "exporters/tflite/tflite_export.h"
#include "importers/tflite/tflite_generated.h"
#include "tests/support/calibrated_network.h"
#include "tests/support/decibels.h"
#include "tests/support/masked_attention.h"

namespace intaglio::test::import_exported_scores_test {
namespace {

constexpr const char* kNote =
    "2 nodes (sums, Softmax) compute in 16 bits in the model, and in FP32 in the file";

CalibratedNetwork calibrated() {
  CalibratorOptions options;
  options.int8_answers = true;
  const auto added = [](OnnxBuilder& file, const auto&) { file.node("Add", {"scores", "causal"}, "masked"); };
  return CalibratedNetwork(masked_attention(-1e9f, added), options);
}

// How near what comes back from a file is to the model that was written.
double sqnr_of_file(const CalibratedNetwork& net, Span<const uint8_t> file) {
  Import back(file);
  REQUIRE_MESSAGE(back.good(), back.message());
  RunningModel a(AlignedBytes(net.int8.view())), b(back.write());
  REQUIRE_MESSAGE(a.error().ok(), text_of(a.error(), &a.model()));
  REQUIRE_MESSAGE(b.error().ok(), text_of(b.error(), &b.model()));
  SignalAndNoise compared;
  for (const std::vector<float>& sample : net.samples)
    compared.add(run_reals(a, sample), run_reals(b, sample));
  return compared.sqnr_db();
}

}  // namespace

TEST_CASE("TFLite: an ADD and a SOFTMAX in FP32, and a note") {
  const CalibratedNetwork net = calibrated();
  const auto made = export_tflite(*Model::open(net.int8.view()), "net.int8.itg");
  REQUIRE_MESSAGE(made, made.message());
  CHECK(made->notes == std::vector<std::string>{kNote});
  const auto* const file = tflite::GetModel(made->bytes.data());
  const auto* const graph = file->subgraphs()->Get(0);
  int found = 0;
  for (const auto* const node : *graph->operators()) {
    const int32_t code = file->opcodes()->Get(node->opcode())->builtin_code();
    if (code != static_cast<int32_t>(tflite::Builtin::ADD) &&
        code != static_cast<int32_t>(tflite::Builtin::SOFTMAX))
      continue;
    ++found;
    const auto* const read = graph->tensors()->Get(static_cast<uint32_t>(node->inputs()->Get(0)));
    CHECK(read->type() == 0);  // FLOAT32
  }
  CHECK(found == 2);
  CHECK(sqnr_of_file(net, {made->bytes.data(), made->bytes.size()}) > 30.0);
}

}  // namespace intaglio::test::import_exported_scores_test
