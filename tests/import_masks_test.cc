// Attention whose masks are huge numbers below 0, as exporters write them: calibrated, it keeps the other scores.
#include <cfloat>

#include "tests/support/calibrate.h"
#include "tests/support/decibels.h"
#include "tests/support/imported.h"
#include "tests/support/masked_attention.h"
#include "tests/support/real_values.h"

namespace intaglio::test::import_masks_test {
namespace {

std::string attention(float value, const Mask& mask) { return masked_attention(value, mask).bytes(); }

// SQNR of the int8 model beside the FP32 one.
double sqnr_of(const std::string& file) {
  Import import(file);
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel exact(import.write());
  REQUIRE_MESSAGE(exact.error().ok(), text_of(exact.error(), &exact.model()));
  Samples samples;
  for (uint32_t i = 0; i < 8; ++i) samples.push_back(Random(20 + i).reals(kPlaces * kChannels, -1, 1));
  const std::vector<uint8_t> bytes = calibrate(exact.model(), samples, {});
  RunningModel found{AlignedBytes(Span<const uint8_t>(bytes.data(), bytes.size()))};
  REQUIRE_MESSAGE(found.error().ok(), text_of(found.error()));
  SignalAndNoise of_all;
  for (const std::vector<float>& sample : samples)
    of_all.add(run_reals(exact, sample), run_reals(found, sample));
  return of_all.sqnr_db();
}

// A mask "hiding" of what a run computes: of places whose first channel is below -0.5, but for the first one.
void hide_by_run(OnnxBuilder& f, const std::vector<float>& causal) {
  f.floats("some", {}, {-0.5f});
  f.floats("value", {}, {std::max(causal[1], -FLT_MAX)});
  f.floats("others", {1, 1, kPlaces}, {0, 1, 1, 1, 1, 1});
  f.integers("from", {0});
  f.integers("to", {1});
  f.integers("axis", {2});
  f.node("Slice", {"x", "from", "to", "axis"}, "first");
  f.node("Less", {"first", "some"}, "is_low");
  set(f.node("Cast", {"is_low"}, "low"), "to", int64_t{1});
  set(f.node("Transpose", {"low"}, "lows"), "perm", std::vector<int64_t>{0, 2, 1});
  f.node("Mul", {"lows", "others"}, "hidden");
  f.node("Mul", {"hidden", "value"}, "hiding");
}

const std::pair<const char*, Mask> kMasks[] = {
    {"added",
     [](OnnxBuilder& f, const auto&) {
       f.node("Add", {"scores", "causal"}, "masked");
     }},
    {"subtracted",
     [](OnnxBuilder& f, const auto& causal) {
       std::vector<float> above = causal;
       for (float& value : above) value = -value;
       f.floats("above", {1, kPlaces, kPlaces}, above);
       f.node("Sub", {"scores", "above"}, "masked");
     }},
    {"added behind a bias",
     [](OnnxBuilder& f, const auto&) {
       f.floats("bias", {1, kPlaces, kPlaces}, Random(3).reals(kPlaces * kPlaces, -1, 1));
       f.node("Add", {"scores", "bias"}, "biased");
       f.node("Add", {"biased", "causal"}, "masked");
     }},
    {"added, and reshaped",
     [](OnnxBuilder& f, const auto&) {
       f.integers("rows", {kPlaces, kPlaces});
       f.integers("whole", {1, kPlaces, kPlaces});
       f.node("Add", {"scores", "causal"}, "sum");
       f.node("Reshape", {"sum", "rows"}, "flat");
       f.node("Reshape", {"flat", "whole"}, "masked");
     }},
    {"added, and no less than the least number",
     [](OnnxBuilder& f, const auto&) {
       f.floats("least", {}, {-FLT_MAX});
       f.node("Add", {"scores", "causal"}, "sum");
       f.node("Max", {"sum", "least"}, "masked");
     }},
    {"added, and clipped",
     [](OnnxBuilder& f, const auto&) {
       f.floats("least", {}, {-1e34f});
       f.floats("most", {}, {1e4f});
       f.node("Add", {"scores", "causal"}, "sum");
       f.node("Clip", {"sum", "least", "most"}, "masked");
     }},
    {"chosen",
     [](OnnxBuilder& f, const auto& causal) {
       f.floats("zero", {}, {0.0f});
       f.floats("value", {}, {causal[1]});
       f.node("Less", {"causal", "zero"}, "hides");
       f.node("Where", {"hides", "value", "scores"}, "masked");
     }},
    {"of reals of a run",
     [](OnnxBuilder& f, const auto& causal) {
       f.floats("value", {}, {std::max(causal[1], -FLT_MAX / 2)});
       f.floats("others", {1, 1, kPlaces}, {0, 1, 1, 1, 1, 1});
       f.integers("from", {0});
       f.integers("to", {1});
       f.integers("axis", {2});
       f.node("Slice", {"x", "from", "to", "axis"}, "first");
       f.node("Relu", {"first"}, "low");
       set(f.node("Transpose", {"low"}, "lows"), "perm", std::vector<int64_t>{0, 2, 1});
       f.node("Mul", {"lows", "others"}, "hidden");
       f.node("Mul", {"hidden", "value"}, "hiding");
       f.node("Add", {"scores", "hiding"}, "masked");
     }},
    {"chosen by a run",
     [](OnnxBuilder& f, const auto& causal) {
       f.floats("half", {}, {0.5f});
       hide_by_run(f, causal);
       f.node("Less", {"hidden", "half"}, "shows");
       f.node("Where", {"shows", "scores", "value"}, "masked");
     }},
    {"added to products with the mask",
     [](OnnxBuilder& f, const auto& causal) {
       std::vector<float> keeps;
       keeps.reserve(causal.size());
       for (const float number : causal) keeps.push_back(number == 0.0f ? 1.0f : 0.0f);
       f.floats("keeps", {1, kPlaces, kPlaces}, keeps);
       f.node("Mul", {"scores", "keeps"}, "kept");
       f.node("Add", {"kept", "causal"}, "masked");
     }},
    {"of a run",
     [](OnnxBuilder& f, const auto& causal) {
       hide_by_run(f, causal);
       f.node("Add", {"scores", "hiding"}, "masked");
     }},
    {"of a run, and a constant one",
     [](OnnxBuilder& f, const auto& causal) {
       hide_by_run(f, causal);
       f.node("Add", {"hiding", "causal"}, "both");
       f.node("Add", {"scores", "both"}, "masked");
     }},
};

}  // namespace

TEST_CASE("the scores beside a mask keep their codes, whatever number hides the others") {
  for (const auto& [name, mask] : kMasks) {
    const std::string words = name;
    const double usual = sqnr_of(attention(-20.0f, mask));  // which hides nearly as well
    CHECK(usual > 30.0);
    for (const float value : {-1e9f, -1e34f, -FLT_MAX, -INFINITY}) {
      CAPTURE(words);
      CAPTURE(value);
      CHECK(sqnr_of(attention(value, mask)) > usual - 0.3);  // sums of other steps round in other ways
    }
  }
}

TEST_CASE(
    "a choice of scores far below the others becomes a sum with a mask, and gives the same to the bit") {
  for (const auto& [name, mask] : kMasks) {
    const std::string words = name;
    if (words.find("chosen") != 0) continue;
    CAPTURE(words);
    Import chosen(attention(-9e7f, mask)), summed(attention(-1e9f, mask));  // the first is left as it is
    REQUIRE_MESSAGE(chosen.good(), chosen.message());
    REQUIRE_MESSAGE(summed.good(), summed.message());
    RunningModel a(chosen.write()), b(summed.write());
    REQUIRE_MESSAGE(a.error().ok(), text_of(a.error(), &a.model()));
    REQUIRE_MESSAGE(b.error().ok(), text_of(b.error(), &b.model()));
    const auto writer = [](const Model& model) {
      for (int32_t n = 0; n < model.node_count(); ++n)
        if (std::string(model.tensor(model.node(n).outputs[0]).name) == "masked") return model.node(n).op;
      return Op::kNone;
    };
    CHECK(writer(a.model()) == Op::kWhere);
    CHECK(writer(b.model()) == Op::kAdd);
    for (uint32_t i = 0; i < 8; ++i) {
      const std::vector<float> sample = Random(20 + i).reals(kPlaces * kChannels, -1, 1);
      CHECK(run_reals(a, sample) == run_reals(b, sample));
    }
  }
}

}  // namespace intaglio::test::import_masks_test
