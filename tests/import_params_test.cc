// Parameter files of other tools: what each reader takes and refuses, and that what a model says comes back
// to the byte.
#include "importers/params/params_table.h"

#include <doctest/doctest.h>
#include "calibrator/host/calibration_facts.h"
#include "calibrator/host/system/files.h"
#include "tests/support/random.h"
#include "tests/support/small_models.h"

namespace intaglio::test::import_params_test {
namespace {

Outcome<ParamsTable> read(ParamsFormat format, const std::string& text) {
  switch (format) {
    case ParamsFormat::kNcnn:
      return read_ncnn("FILE", text);
    case ParamsFormat::kAmct:
      return read_amct("FILE", text);
    case ParamsFormat::kPpq:
      return read_ppq("FILE", text);
    default:
      return read_tengine("FILE", text, format == ParamsFormat::kTengineUint8);
  }
}

std::string ppq(const std::string& config, const std::string& value) {
  return R"({"configs": {"conv": {"x": )" + config + R"(}}, "values": {"7": )" + value + "}}";
}
const char* const kConfig =
    R"({"bit_width": 8, "state": "ACTIVATED", "quant_min": -128, "quant_max": 127, "hash": 7, "dominator": 7})";

void same(const ParamsTable& a, const ParamsTable& b, ParamsOf of) {
  size_t count = 0;
  for (const ParamsEntry& entry : a.entries) {
    if (entry.of != of) continue;
    ++count;
    const ParamsEntry* const other = b.find(of, entry.name);
    INFO(entry.name);
    REQUIRE(other != nullptr);
    CHECK(other->scales == entry.scales);
    CHECK(other->zero_point == entry.zero_point);
  }
  CHECK(count > 0);
}

struct Made {
  AlignedBytes bytes;
  static bool write(void* context, Span<const uint8_t> bytes) {
    static_cast<Made*>(context)->bytes = AlignedBytes(bytes);
    return true;
  }
};

// The int8 model, from so many samples; with none from options.known alone.
Error calibrate(const Model& model, const CalibratorOptions& options, size_t samples, AlignedBytes& bytes) {
  const auto needs = Calibrator::measure(model, options);
  if (!needs) return needs.error();
  AlignedBytes memory(needs->total());
  auto calibrator = Calibrator::create(model, memory.span(), options);
  if (!calibrator) return calibrator.error();
  for (const std::vector<float>& sample : small_cnn_samples(samples)) {
    const Span<const uint8_t> input{reinterpret_cast<const uint8_t*>(sample.data()),
                                    sample.size() * sizeof(float)};
    if (const Error error = calibrator->add({&input, 1}); !error.ok()) return error;
  }
  Made made;
  const Error error = calibrator->finish({Made::write, &made});
  bytes = std::move(made.bytes);
  return error;
}

// A model as `options` make it, and its parameters.
struct Calibrated {
  AlignedBytes fp32, int8;
  Model model, int8_model;
  ParamsTable table;

  explicit Calibrated(CalibratorOptions options) : fp32(small_cnn()) {
    model = *Model::open(fp32.view());
    options.recover = recovery::kNone;
    REQUIRE(calibrate(model, options, 8, int8).ok());
    int8_model = *Model::open(int8.view());
    table = *params_of_model(int8_model, "int8");
  }
};

CalibratorOptions with(const ResolvedParams& params) {
  CalibratorOptions options;
  options.recover = recovery::kNone;
  options.known = {params.known.data(), params.known.size()};
  return options;
}

}  // namespace

TEST_CASE("each format says what its tool means") {
  const auto tengine = read_tengine("f", "conv1/relu 0.023622 0\r\n\n my tensor 1.5e-3 -3 \n", false);
  REQUIRE(tengine);
  REQUIRE(tengine->entries.size() == 2);
  CHECK(tengine->entries[0].name == "conv1/relu");
  CHECK(tengine->entries[0].scales == std::vector<float>{0.023622f});
  CHECK(tengine->entries[1].name == "my tensor");
  CHECK(tengine->entries[1].zero_point == -3);
  CHECK(read_tengine("f", "input 0.0156 114\n", true)->entries[0].zero_point == -14);

  const auto ncnn = read_ncnn("f", "conv1_param_0 100 50 inf\n#conv2_param_0 1\nconv1 4\nlstm_param_1 3\n");
  REQUIRE(ncnn);
  REQUIRE(ncnn->entries.size() == 2);
  CHECK(ncnn->find(ParamsOf::kLayerWeights, "conv1")->scales == std::vector<float>{0.01f, 0.02f, 1.0f});
  CHECK(ncnn->find(ParamsOf::kLayerInput, "conv1")->scales == std::vector<float>{0.25f});
  CHECK(ncnn->notes.size() == 1);

  const auto amct = read_amct(
      "f",
      "record { key: \"conv1\" value { scale_d: 0.0798481479 offset_d: 1 scale_w: 0.00297622895 offset_w: 0 "
      "shift_bit: 1 skip_fusion: true dst_type: \"INT8\" } } # a comment\n"
      "record < key: 'layer1' \".0\" value: { scale_d: 1 scale_d: 0.00392156886; offset_d: -0x80, scale_w: [1e-3, 2e-3] } >\n"
      "prune_record { producer { name: \"conv1\" attr { name: \"begin\" type: INT i: 0 } } }");
  REQUIRE_MESSAGE(amct, amct.message());
  CHECK(amct->find(ParamsOf::kLayerInput, "conv1")->scales == std::vector<float>{0.0798481479f});
  CHECK(amct->find(ParamsOf::kLayerInput, "conv1")->zero_point == 1);
  CHECK(amct->find(ParamsOf::kLayerInput, "layer1.0")->scales ==
        std::vector<float>{0.00392156886f});  // the last one
  CHECK(amct->find(ParamsOf::kLayerInput, "layer1.0")->zero_point == -128);
  CHECK(amct->find(ParamsOf::kLayerWeights, "layer1.0")->scales == std::vector<float>{1e-3f, 2e-3f});
  CHECK(amct->notes.size() == 2);  // shift_bit, scale_d twice

  const auto json = read_ppq("f", R"({"configs": {
      "conv": {"x": {"bit_width": 8, "state": "OVERLAPPED", "quant_min": 0, "quant_max": 255, "hash": 1, "dominator": 2},
               "w": {"bit_width": 8, "state": "BAKED", "quant_min": -127, "quant_max": 127, "hash": 3, "dominator": 3},
               "b": {"bit_width": 32, "state": "PASSIVE", "quant_min": -1, "quant_max": 1, "hash": 4, "dominator": 4}},
      "relu": {"x": {"bit_width": 8, "state": "ACTIVATED", "quant_min": 0, "quant_max": 255, "hash": 2, "dominator": 2}}},
      "dispatchings": {}, "values": {"2": {"scale": 0.5, "zero_point": 128.0}, "3": {"scale": [0.1, 0.2], "zero_point": [0, 0]}}})");
  REQUIRE_MESSAGE(json, json.message());
  REQUIRE(json->entries.size() == 2);
  CHECK(json->entries[0].zero_point == 0);
  CHECK(json->entries[1].scales == std::vector<float>{0.1f, 0.2f});
}

TEST_CASE("what cannot be meant is refused, with its place and a remedy") {
  struct Case {
    ParamsFormat format;
    std::string text, words;
  };
  const std::string deep = std::string(40, '[') + std::string(40, ']');
  const std::vector<Case> cases = {
      {ParamsFormat::kTengine, "\n\n", "holds no scales"},
      {ParamsFormat::kTengine, "a 1 0\nb 1\n", "line 2: 'b 1' is not 'name scale zero_point'"},
      {ParamsFormat::kTengine, "a x 0\n", "line 1, a"},
      {ParamsFormat::kTengine, "a 0 0\n", "line 1: a has the scale 0"},
      {ParamsFormat::kTengine, "a 0.000000 0\n", "2^-40 to 2^40"},
      {ParamsFormat::kTengine, "a -1 0\n", "has the scale -1"},
      {ParamsFormat::kTengine, "a nan 0\n", "line 1, a"},
      {ParamsFormat::kTengine, "a 1e99 0\n", "has the scale 1e+99"},
      {ParamsFormat::kTengine, "a 1 128\n", "--format tengine-uint8"},
      {ParamsFormat::kTengine, "a 1 1e300\n", "zero point 1e300"},
      {ParamsFormat::kTengine, "a 1 0.5\n", "zero point 0.5"},
      {ParamsFormat::kTengine, "a 1 0\na 2 0\n", "line 2: a stands there already, at line 1"},
      {ParamsFormat::kTengineUint8, "a 1 -1\n", "--format tengine"},
      {ParamsFormat::kNcnn, "conv\n", "line 1, conv: has no multiplier"},
      {ParamsFormat::kNcnn, "conv 1 2\n", "has 2 multipliers"},
      {ParamsFormat::kNcnn, "conv inf\n", "'inf' is no number above 0"},
      {ParamsFormat::kNcnn, "conv -2\n", "'-2' is no number above 0"},
      {ParamsFormat::kNcnn, "conv_param_0 1 1e-30\n", "the multiplier 1e-30"},
      {ParamsFormat::kNcnn, "conv 1\nconv 1\n", "line 2: conv stands there already"},
      {ParamsFormat::kNcnn, "# nothing\n", "holds no scales"},
      {ParamsFormat::kAmct, "record { key: \"a\" value { scale_x: 1 } }", "line 1 column"},
      {ParamsFormat::kAmct, "record { key: \"a\"", "line 1 column"},
      {ParamsFormat::kAmct, "record { value { scale_d: 1 } }", "has no key"},
      {ParamsFormat::kAmct, "record { key: \"a\" value { scale_d: 0 } }", "a: scale_d has the scale 0"},
      {ParamsFormat::kAmct, "record { key: \"a\" value { scale_d: inf } }", "a: scale_d has the scale inf"},
      {ParamsFormat::kAmct, "record { key: \"a\" value { scale_d: 1 offset_d: 128 } }",
       "offset_d 128 is outside"},
      {ParamsFormat::kAmct, "record { key: \"a\" value { offset_d: 1 } }", "offset_d without a scale_d"},
      {ParamsFormat::kAmct, "record { key: \"a\" value { scale_w: 1 offset_w: 1 } }", "offset_w 1 is not 0"},
      {ParamsFormat::kAmct, "record { key: \"a\" value { scale_w: 1 offset_w: 0 offset_w: 0 } }",
       "2 offset_w for 1"},
      {ParamsFormat::kAmct, "record { key: \"a\" value { scale_d: 1 dst_type: \"INT4\" } }", "dst_type INT4"},
      {ParamsFormat::kAmct, "record { key: \"a\" value { scale_d: 1 tensor_balance_factor: 2 } }",
       "--recover eq"},
      {ParamsFormat::kAmct,
       "record { key: \"a\" value { scale_d: 1 } } record { key: \"a\" value { scale_d: 1 } }",
       "a stands there already"},
      {ParamsFormat::kAmct, "", "holds no scales"},
      {ParamsFormat::kPpq, "{", "is no JSON"},
      {ParamsFormat::kPpq, deep, "nested deeper"},
      {ParamsFormat::kPpq, "[]", "'configs' and 'values'"},
      {ParamsFormat::kPpq, ppq("3", "{}"), "configs/conv/x: bit_width"},
      {ParamsFormat::kPpq,
       ppq(R"({"bit_width": 8, "state": "INITIAL", "quant_min": 0, "quant_max": 255, "dominator": 7})", "{}"),
       "the state INITIAL is unfinished"},
      {ParamsFormat::kPpq,
       ppq(R"({"bit_width": 8, "state": "ACTIVATED", "quant_min": 5, "quant_max": 4, "dominator": 7})", "{}"),
       "codes of 5 to 4"},
      {ParamsFormat::kPpq,
       ppq(R"({"bit_width": 8, "state": "ACTIVATED", "quant_min": 0, "quant_max": 255, "dominator": 8})",
           "{}"),
       "dominator 8 has no entry"},
      {ParamsFormat::kPpq,
       ppq(R"({"bit_width": 8, "state": "ACTIVATED", "quant_min": 0, "quant_max": 255, "dominator": 7,
                                   "policy": {"FLOATING": true}})",
           "{}"),
       "policy FLOATING"},
      {ParamsFormat::kPpq, ppq(kConfig, "{}"), "scale or zero_point is missing"},
      {ParamsFormat::kPpq, ppq(kConfig, R"({"scale": "1", "zero_point": 0})"), "a scale is no number"},
      {ParamsFormat::kPpq, ppq(kConfig, R"({"scale": -1, "zero_point": 0})"),
       "configs/conv/x has the scale -1"},
      {ParamsFormat::kPpq, ppq(kConfig, R"({"scale": 1, "zero_point": 128})"),
       "the zero point 128 is no code"},
      {ParamsFormat::kPpq, ppq(kConfig, R"({"scale": 1, "zero_point": 1.5})"),
       "the zero point 1.5 is no code"},
      {ParamsFormat::kPpq, ppq(kConfig, R"({"scale": [], "zero_point": []})"), "0 zero points for 0 scales"},
      {ParamsFormat::kPpq, R"({"configs": {}, "values": {}})", "holds no scales"},
  };
  for (const Case& c : cases) {
    const auto table = read(c.format, c.text);
    INFO(c.text << "\n" << table.message());
    CHECK(!table);
    CHECK(table.message().rfind("FILE", 0) == 0);
    CHECK(table.message().find(c.words) != std::string::npos);
  }
}

TEST_CASE("what is written is read again to the bit") {
  Random random(5);
  ParamsTable table;
  for (int i = 0; i < 200; ++i) {
    const std::string name = "layer" + std::to_string(i);
    const auto scale = [&] { return std::ldexp(random.real(1.0f, 2.0f), random.between(-30, 10)); };
    const int32_t zero = random.between(-128, 127);
    table.entries.push_back({ParamsOf::kTensor, name + "_out", {scale()}, zero, name, {}});
    table.entries.push_back({ParamsOf::kLayerInput, name, {scale()}, zero, {}, {}});
    table.entries.push_back({ParamsOf::kLayerWeights, name, {scale(), scale(), scale()}, 0, name + "_w", {}});
  }
  const auto again = [&](ParamsFormat format) {
    const auto text = write_params(table, format);
    REQUIRE_MESSAGE(text, text.message());
    auto back = read(format, *text);
    REQUIRE_MESSAGE(back, back.message());
    return *back;
  };
  same(table, again(ParamsFormat::kTengineUint8), ParamsOf::kTensor);
  same(table, again(ParamsFormat::kAmct), ParamsOf::kLayerInput);
  same(table, again(ParamsFormat::kAmct), ParamsOf::kLayerWeights);
  same(table, again(ParamsFormat::kPpq), ParamsOf::kTensor);
  CHECK(again(ParamsFormat::kPpq).find(ParamsOf::kTensor, "layer7_w")->scales ==
        table.find(ParamsOf::kLayerWeights, "layer7")->scales);
  // Neither has zero points.
  CHECK(write_params(table, ParamsFormat::kTengine).message().find("layer0_out has the zero point") == 0);
  CHECK(write_params(table, ParamsFormat::kNcnn).message().find("the input of layer0 has the zero point") ==
        0);
  for (ParamsEntry& entry : table.entries) entry.zero_point = 0;
  same(table, again(ParamsFormat::kTengine), ParamsOf::kTensor);
  same(table, again(ParamsFormat::kNcnn), ParamsOf::kLayerInput);
  same(table, again(ParamsFormat::kNcnn), ParamsOf::kLayerWeights);
  table.entries[0].name = "two words";
  CHECK(write_params(table, ParamsFormat::kTengine).message().find("'two words'") == 0);
}

TEST_CASE("a model's parameters bake the same model, without samples") {
  for (const bool symmetric : {false, true}) {
    CalibratorOptions options;
    options.symmetric = symmetric;
    const Calibrated made(options);
    // The first convolution's own result has no tensor in the int8 model: its Add is fused.
    CHECK(std::any_of(made.table.entries.begin(), made.table.entries.end(),
                      [](const ParamsEntry& e) { return e.name.find(kSumSuffix) != std::string::npos; }));
    const auto text = write_ppq(made.table);
    const auto table = read_ppq("f", *text);
    REQUIRE_MESSAGE(table, table.message());
    const auto resolved = resolve_params(*table, made.model, "f");
    REQUIRE_MESSAGE(resolved, resolved.message());
    CHECK(resolved->unknown.empty());
    options = with(*resolved);
    options.symmetric = symmetric;
    CHECK(missing_params(made.model, options)->empty());
    AlignedBytes bytes;
    REQUIRE(calibrate(made.model, options, 0, bytes).ok());
    REQUIRE(bytes.size() > 0);
    const Model baked = *Model::open(bytes.view());
    CHECK(std::string(baked.calibration().options).find("known parameters") != std::string::npos);
    CHECK(baked.calibration().samples == 0);
    const CalibrationInfo info = table->provenance->info();
    options.provenance = &info;
    REQUIRE(calibrate(made.model, options, 0, bytes).ok());
    REQUIRE(bytes.size() == made.int8.size());
    CHECK(std::memcmp(bytes.data(), made.int8.view().data, bytes.size()) == 0);
  }
}

TEST_CASE("Tengine's and ncnn's tables bake what they can hold") {
  CalibratorOptions options;
  options.compat = Compat::kTengine;
  const Calibrated made(options);
  const auto tengine = read_tengine("f", *write_tengine(made.table, false), false);
  REQUIRE_MESSAGE(tengine, tengine.message());
  const auto all = resolve_params(*tengine, made.model, "f");
  REQUIRE_MESSAGE(all, all.message());
  options = with(*all);
  options.compat = Compat::kTengine;
  const CalibrationInfo info = made.table.provenance->info();
  options.provenance = &info;
  AlignedBytes bytes;
  REQUIRE(calibrate(made.model, options, 0, bytes).ok());
  REQUIRE(bytes.size() == made.int8.size());
  CHECK(std::memcmp(bytes.data(), made.int8.view().data, bytes.size()) == 0);

  const auto ncnn = read_ncnn("f", *write_ncnn(made.table));
  const auto some = resolve_params(*ncnn, made.model, "f");
  REQUIRE(some);
  CHECK(some->weight_layers > 0);
  const auto missing = missing_params(made.model, with(*some));
  REQUIRE(missing);
  CHECK(!missing->empty());
  // The list is what baking refuses first; with samples it comes from them.
  const Error error = calibrate(made.model, with(*some), 0, bytes);
  CHECK(error.status == Status::kQuantizationMissing);
  CHECK(error.tensor == missing->front());
  CHECK(calibrate(made.model, with(*some), 8, bytes).ok());
}

TEST_CASE("parameters that do not fit the model are refused") {
  const Calibrated made({});
  const auto refused = [&](ParamsEntry entry, const std::string& words) {
    ParamsTable table;
    table.entries.push_back(std::move(entry));
    const auto resolved = resolve_params(table, made.model, "f");
    INFO(resolved.message());
    CHECK(!resolved);
    CHECK(resolved.message().find(words) != std::string::npos);
  };
  const std::string layer = made.table.entries[0].name;
  REQUIRE(made.table.entries[0].of == ParamsOf::kLayerInput);
  refused({ParamsOf::kTensor, "nothing", {1.0f}, 0, {}, {}}, "names no tensor and no layer");
  refused({ParamsOf::kLayerWeights, layer, {1.0f, 1.0f}, 0, {}, "line 3"},
          "f line 3, " + layer + ": 2 scales");
  refused({ParamsOf::kLayerInput, layer, {1.0f, 1.0f}, 0, {}, {}}, "takes one");
  ParamsTable two;
  two.entries = {{ParamsOf::kTensor, "image", {1.0f}, 0, {}, "line 1"},
                 {ParamsOf::kLayerInput, layer, {2.0f}, 0, {}, "line 2"}};
  // A layer may read its input in a quantization of its own.
  const auto resolved = resolve_params(two, made.model, "f");
  REQUIRE_MESSAGE(resolved, resolved.message());
  REQUIRE(resolved->known.size() == 2);
  CHECK(resolved->known[0].node == -1);
  CHECK(resolved->known[1].node == 0);
  CHECK(resolved->known[1].input == 0);
  CHECK(resolved->known[1].scale == 2.0f);
  std::swap(two.entries[0], two.entries[1]);
  const auto refused_again = resolve_params(two, made.model, "f");
  CHECK(!refused_again);
  CHECK(refused_again.message().find("image has another scale, zero point or limits at f line 2, " + layer) !=
        std::string::npos);
  // So it may with codes of its own.
  two.entries = {{ParamsOf::kTensor, "image", {1.0f}, 0, {}, "line 1"},
                 {ParamsOf::kLayerInput, layer, {1.0f}, 0, {}, "line 2", false, -8, 7}};
  const auto narrower = resolve_params(two, made.model, "f");
  REQUIRE_MESSAGE(narrower, narrower.message());
  REQUIRE(narrower->known.size() == 2);
  CHECK(narrower->known[1].lo == -8);
  CHECK(narrower->known[1].hi == 7);

  // Scales with which the accumulator, or a bias, does not hold.
  ParamsTable tiny = made.table;
  for (ParamsEntry& entry : tiny.entries)
    if (entry.of == ParamsOf::kLayerWeights) entry.scales.assign(entry.scales.size(), 0x1p-40f);
  const auto params = resolve_params(tiny, made.model, "f");
  REQUIRE(params);
  AlignedBytes bytes;
  CHECK(calibrate(made.model, with(*params), 0, bytes).status == Status::kAccumulatorOverflow);
  // No parameters, no samples.
  CHECK(calibrate(made.model, {}, 0, bytes).status == Status::kNoSamples);
  // Not of this model, or outside the range.
  KnownParams known{999, 1.0f, 0, {}};
  CalibratorOptions options;
  options.known = {&known, 1};
  CHECK(Calibrator::measure(made.model, options).error().status == Status::kTensorIndex);
  known = {made.model.inputs()[0], 0.0f, 0, {}};
  CHECK(Calibrator::measure(made.model, options).error().status == Status::kBadScale);
  known = {made.model.inputs()[0], 1.0f, 200, {}};
  CHECK(!calibrate(made.model, options, 8, bytes).ok());
}

TEST_CASE("a changed file loses what it says of its calibration") {
  const Calibrated made({});
  std::string text = *write_ppq(made.table);
  REQUIRE(read_ppq("f", text)->provenance);
  const size_t at = text.find("\"scale\": ");
  REQUIRE(at != std::string::npos);
  text.insert(at + 9, "1");
  const auto changed = read_ppq("f", text);
  if (changed) {
    CHECK(!changed->provenance);
    CHECK(changed->notes.size() == 1);
  }
}

}  // namespace intaglio::test::import_params_test
