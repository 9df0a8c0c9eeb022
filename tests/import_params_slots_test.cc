// Codes, observers and second quantizations of single slots: what the calibrator makes of them, and that PPQ's file says
// them and brings them back.
#include <doctest/doctest.h>

#include "importers/params/params_table.h"
#include "tests/support/calibrate.h"
#include "tests/support/small_models.h"

namespace intaglio::test::import_params_slots_test {
namespace {

constexpr int32_t kDepthwise = 1;  // its input "stem" is also read by the sum

struct Fixture {
  AlignedBytes file = small_cnn();
  Model model = *Model::open(file.span());
  CalibratorOptions options;

  Fixture() { options.recover = recovery::kNone; }
  AlignedBytes calibrate(size_t samples = 4) const {
    std::vector<uint8_t> bytes = test::calibrate(model, small_cnn_samples(samples), options);
    return AlignedBytes({bytes.data(), bytes.size()});
  }
  // From options.known alone.
  AlignedBytes bake() const { return calibrate(0); }
  std::string refusal() const {
    try {
      calibrate();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }
};

Quantization quantization(const Model& model, const std::string& name) {
  for (int32_t t = 0; t < model.tensor_count(); ++t)
    if (name == model.tensor(t).name) return model.tensor(t).quantization;
  FAIL("no tensor " << name);
  return {};
}

// The model's parameters after a way through PPQ's file.
Outcome<ParamsTable> through_ppq(const ParamsTable& table) {
  const auto text = write_ppq(table);
  if (!text) return text.failure();
  return read_ppq("F", *text);
}

}  // namespace

TEST_CASE("slots have their own codes") {
  Fixture f;
  SlotRange range;
  range.role = SlotRole::kActivations;
  range.lo = -100;
  range.hi = 90;
  f.options.ranges = {&range, 1};
  f.options.int8_answers = true;
  AlignedBytes narrow = f.calibrate();
  const Model int8 = *Model::open(narrow.span());
  int32_t clamps = 0;
  for (int32_t n = 0; n < int8.node_count(); ++n) {
    const NodeInfo node = int8.node(n);
    if (int8.tensor(node.outputs[0]).dtype != DType::kS8) continue;
    const auto* const clamp = node.options.get<Clamp>();
    if (clamp == nullptr) continue;
    ++clamps;
    CHECK(clamp->lo >= -100);
    CHECK(clamp->hi <= 90);
  }
  CHECK(clamps >= 4);

  range.lo = -8;
  range.hi = 300;
  CHECK(f.refusal().find("calibration option 300 is outside its range (limit 247)") != std::string::npos);
  range.hi = 7;
  range.lo = 7;
  CHECK(f.refusal().find("calibration option 7 is outside its range") != std::string::npos);  // a single code
  range.lo = 0;
  range.hi = 255;
  f.options.symmetric = true;
  CHECK(f.refusal().find("9 bits, signed, for") != std::string::npos);
  f.options.symmetric = false;
  range = {};
  range.observer = kRangeMethodCount;
  CHECK(!f.refusal().empty());
  range = {};
  range.node = 99;
  CHECK(!f.refusal().empty());
}

TEST_CASE("limits beyond int8's move with their zero points") {
  Fixture f;
  const auto with = [&f](int32_t lo, int32_t hi) {
    SlotRange range;
    range.role = SlotRole::kActivations;
    range.lo = lo;
    range.hi = hi;
    f.options.ranges = {&range, 1};
    AlignedBytes made = f.calibrate();
    const Model model = *Model::open(made.span());
    std::vector<float> scales;
    std::vector<int32_t> codes;
    for (int32_t t = 0; t < model.tensor_count(); ++t) {
      const Quantization quantization = model.tensor(t).quantization;
      if (quantization.scales.size != 1) continue;
      scales.push_back(quantization.scales[0]);
      codes.push_back(quantization.zero_point);
    }
    return std::make_pair(scales, codes);
  };
  CHECK(with(0, 255) == with(-128, 127));
  CHECK(with(1, 256) == with(-128, 127));
  CHECK(with(-255, 0) == with(-128, 127));
  CHECK(with(0, 200) == with(-128, 72));
  CHECK(with(-150, 20) == with(-128, 42));
  CHECK(with(0, 200) != with(-128, 127));
}

TEST_CASE("a slot has its own observer") {
  Fixture f;
  f.options.method = RangeMethod::kMinMax;
  AlignedBytes all = f.calibrate();
  f.options.method = RangeMethod::kPercentile;
  f.options.percentile = 0.9;
  AlignedBytes others = f.calibrate();
  SlotRange range;
  range.node = 0;
  range.role = SlotRole::kOutput;
  range.observer = static_cast<int32_t>(RangeMethod::kMinMax);
  f.options.ranges = {&range, 1};
  AlignedBytes mixed = f.calibrate();
  const Model a = *Model::open(all.span()), b = *Model::open(others.span()), m = *Model::open(mixed.span());
  const auto scale = [](const Model& model, const char* name) { return quantization(model, name).scales[0]; };
  CHECK(scale(m, "stem") == scale(a, "stem"));
  CHECK(scale(m, "stem") != scale(b, "stem"));
  CHECK(scale(m, "depthwise") == scale(b, "depthwise"));
}

TEST_CASE("a tensor keeps two quantizations through PPQ's file, to the byte") {
  Fixture f;
  f.options.int8_answers = true;
  SlotSetting four;
  four.node = kDepthwise;
  four.role = SlotRole::kInput;
  four.input = 0;
  four.bits = 4;
  f.options.slots = {&four, 1};
  AlignedBytes first = f.calibrate();
  const Model int8 = *Model::open(first.span());
  const auto table = params_of_model(int8, "M");
  REQUIRE_MESSAGE(table, table.message());
  const ParamsEntry* const second = table->find(ParamsOf::kReader, "stem", "node1");
  REQUIRE(second != nullptr);
  CHECK(second->lo >= -8);
  CHECK(second->hi <= 7);
  CHECK(second->scales[0] > table->find(ParamsOf::kTensor, "stem")->scales[0]);

  const auto again = through_ppq(*table);
  REQUIRE_MESSAGE(again, again.message());
  const auto resolved = resolve_params(*again, f.model, "F");
  REQUIRE_MESSAGE(resolved, resolved.message());
  CHECK(resolved->unknown.empty());
  Fixture g;
  g.options.int8_answers = true;
  g.options.known = {resolved->known.data(), resolved->known.size()};
  const CalibrationInfo info = int8.calibration();
  g.options.provenance = &info;
  AlignedBytes baked = g.bake();
  REQUIRE(baked.span().size == first.span().size);
  CHECK(memcmp(baked.span().data, first.span().data, first.span().size) == 0);
}

TEST_CASE("PPQ's file has the bits, limits, states and policies that hold") {
  Fixture f;
  f.options.int8_answers = true;
  f.options.power_of_two = true;
  f.options.weight_bits = 4;
  SlotSetting six;
  six.role = SlotRole::kActivations;
  six.bits = 6;
  f.options.slots = {&six, 1};
  AlignedBytes file = f.calibrate();
  const auto table = params_of_model(*Model::open(file.span()), "M");
  REQUIRE_MESSAGE(table, table.message());
  const std::string text = *write_ppq(*table);
  const auto count = [&text](const std::string& part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  CHECK(count("\"bit_width\": 4") == 4);  // weights
  CHECK(count("\"quant_max\": 7,") == 4);
  CHECK(count("\"bit_width\": 6") > 6);
  CHECK(count("\"quant_min\": -32") > 6);
  CHECK(count("\"bit_width\": 32") == 4);  // biases
  CHECK(count("\"state\": \"PASSIVE\"") == 4);
  CHECK(count("\"state\": \"OVERLAPPED\"") > 4);
  CHECK(count("\"POWER_OF_2\": true") > 8);
  // Read as they are.
  const auto again = through_ppq(*table);
  REQUIRE_MESSAGE(again, again.message());
  for (const ParamsEntry& entry : again->entries) {
    const bool is_weights = table->find(ParamsOf::kTensor, entry.name) == nullptr;
    if (is_weights)
      CHECK(entry.hi == 7);
    else if (entry.hi < 127)
      CHECK(entry.lo == -32);
  }
}

TEST_CASE("codes of 16 and of fewer bits come back from PPQ's and AIMET's files, to the byte") {
  Fixture f;
  f.options.int8_answers = true;
  SlotSetting settings[2];
  settings[0].role = SlotRole::kOutput;
  settings[0].node = 0;
  settings[0].bits = 16;
  settings[1].role = SlotRole::kOutput;
  settings[1].node = kDepthwise;
  settings[1].bits = 6;
  f.options.slots = {settings, 2};
  AlignedBytes first = f.calibrate();
  const Model int8 = *Model::open(first.span());
  const auto table = params_of_model(int8, "M");
  REQUIRE_MESSAGE(table, table.message());
  const ParamsEntry* const stem = table->find(ParamsOf::kTensor, "stem");
  REQUIRE(stem != nullptr);
  CHECK(stem->is_wide());
  for (const ParamsFormat format : {ParamsFormat::kPpq, ParamsFormat::kAimet}) {
    const auto text = write_params(*table, format);
    REQUIRE_MESSAGE(text, text.message());
    CHECK(text->find(format == ParamsFormat::kPpq ? "\"bit_width\": 16" : "\"bitwidth\": 16") !=
          std::string::npos);
    const auto again = format == ParamsFormat::kPpq ? read_ppq("F", *text) : read_aimet("F", *text);
    REQUIRE_MESSAGE(again, again.message());
    CHECK(again->notes.empty());
    const auto resolved = resolve_params(*again, f.model, "F");
    REQUIRE_MESSAGE(resolved, resolved.message());
    Fixture g;
    g.options.int8_answers = true;
    g.options.known = {resolved->known.data(), resolved->known.size()};
    const CalibrationInfo info = int8.calibration();
    g.options.provenance = &info;
    AlignedBytes baked = g.bake();
    REQUIRE(baked.span().size == first.span().size);
    CHECK(memcmp(baked.span().data, first.span().data, first.span().size) == 0);
  }
  for (const ParamsFormat format :
       {ParamsFormat::kTengine, ParamsFormat::kTengineUint8, ParamsFormat::kNcnn, ParamsFormat::kAmct})
    CHECK(write_params(*table, format).message().find("has codes of 16 bits, which the format") !=
          std::string::npos);
}

TEST_CASE("known codes of 8 bits stay so beside others of 16") {
  Fixture f;
  const NodeInfo layer = f.model.node(f.model.node_count() - 2);  // before the Softmax
  const int32_t stem = f.model.node(0).outputs[0], answer = layer.outputs[0], before = layer.inputs[0];
  // A reader of the tensor in its own 8 bits computes in 8 bits.
  const KnownParams own[] = {{stem, 0.001f, 0, {}, -1, -1, -32767, 32767},
                             {stem, 0.1f, 0, {}, kDepthwise, 0, 0, 0}};
  f.options.known = {own, 2};
  AlignedBytes file = f.calibrate();
  const Model mixed = *Model::open(file.span());
  const auto writer = [&](const Model& model, const std::string& name) {
    for (int32_t n = 0; n < model.node_count(); ++n)
      if (name == model.node(n).name) return model.node(n);
    FAIL("no node " << name);
    return NodeInfo{};
  };
  const NodeInfo depthwise = writer(mixed, f.model.node(kDepthwise).name);
  CHECK(mixed.tensor(depthwise.inputs[0]).dtype == DType::kS8);
  CHECK(mixed.tensor(depthwise.outputs[0]).dtype == DType::kS8);
  // An answer keeps the 8 bits of its scale.
  const KnownParams answers[] = {{before, 0.001f, 0, {}, -1, -1, -32767, 32767},
                                 {answer, 0.05f, 0, {}, -1, -1, 0, 0}};
  f.options.known = {answers, 2};
  AlignedBytes narrow = f.calibrate();
  const Model answered = *Model::open(narrow.span());
  bool found = false;
  for (int32_t t = 0; t < answered.tensor_count(); ++t) {
    const TensorInfo info = answered.tensor(t);
    if (info.dtype == DType::kS8 && !info.is_constant() && info.quantization.scales[0] == 0.05f) found = true;
    CHECK(!(info.dtype == DType::kS16 && !info.is_constant() && info.quantization.scales[0] == 0.05f));
  }
  CHECK(found);
}

TEST_CASE("known parameters of single inputs are checked") {
  Fixture f;
  const int32_t stem = f.model.node(0).outputs[0];
  KnownParams known{stem, 0.5f, 0, {}, kDepthwise, 0, 0, 0};
  f.options.known = {&known, 1};
  CHECK(f.refusal().empty());
  known.input = 1;
  CHECK(!f.refusal().empty());
  known = {stem, 0.5f, 0, {}, 99, 0, 0, 0};
  CHECK(!f.refusal().empty());
  known = {stem, 0.5f, 100, {}, -1, -1, -8, 7};  // the zero point is no code
  CHECK(!f.refusal().empty());
  known = {stem, 0.5f, -8, {}, -1, -1, -8, 7};
  CHECK(f.refusal().empty());
  known = {stem, 0.5f, 0, {}, -1, -1, -32767, 32767};
  CHECK(f.refusal().empty());
  known = {stem, 0.5f, 1, {}, -1, -1, -32767, 32767};  // codes of 16 bits are symmetric
  CHECK(!f.refusal().empty());
  known = {stem, 0.5f, 0, {}, -1, -1, -32768, 32767};
  CHECK(!f.refusal().empty());
  known = {stem, 0.5f, 0, {}, -1, -1, -30000, 127};  // 8 bits at one end alone
  CHECK(f.refusal().find("-30000 is outside its range (limit -128)") != std::string::npos);
  known = {stem, 0.5f, 0, {}, -1, -1, 0, 65535};
  CHECK(f.refusal().find("65535 is outside its range (limit 32767)") != std::string::npos);
  known = {stem, 0.5f, 0, {}, -2, -1, 0, 0};
  CHECK(!f.refusal().empty());
}

}  // namespace intaglio::test::import_params_slots_test
