// Parameter files of tools that call layers by their PyTorch modules, and AMCT's fields of today.
#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

#include "importers/params/params_layers.h"
#include "importers/params/params_table.h"
#include "tests/support/calibrate.h"
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_params_names_test {
namespace {

// As torch.onnx.export writes it: nodes have scopes, weights the names of their modules or, folded, numbers.
struct TorchModel {
  TorchModel() {
    Random random(3);
    OnnxBuilder file;
    file.input("x", {1, 3, 4, 4});
    file.floats("conv1.weight", {2, 3, 1, 1}, {0.5f, -1.27f, 0.25f, 1.27f, 0.5f, 0.25f});
    file.floats("onnx::Conv_7", {2, 2, 1, 1}, random.reals(4, -1, 1));
    file.floats("onnx::Conv_9", {2, 2, 1, 1}, random.reals(4, -1, 1));
    file.node("Conv", {"x", "conv1.weight"}, "/conv1/Conv_output_0").name = "/conv1/Conv";
    file.node("Conv", {"/conv1/Conv_output_0", "onnx::Conv_7"}, "/layer1/layer1.0/conv2/Conv_output_0").name =
        "/layer1/layer1.0/conv2/Conv";
    file.node("Conv", {"/layer1/layer1.0/conv2/Conv_output_0", "onnx::Conv_9"}, "y").name =
        "/layer1/layer1.1/conv2/Conv";
    file.output("y");
    Import import(file.bytes());
    bytes = import.write();
    model = *Model::open(bytes.view());
  }
  Outcome<ResolvedParams> resolve(const std::string& record) {
    auto read = read_amct("f", record);
    REQUIRE_MESSAGE(read, read.message());
    table = std::move(*read);
    return resolve_params(table, model, "f");
  }
  AlignedBytes bytes{0};
  Model model;
  ParamsTable table;
};

std::string record(const std::string& name, const std::string& fields) {
  return "record { key: '" + name + "' value { " + fields + " } }\n";
}

}  // namespace

TEST_CASE("modules of nodes and of weights") {
  CHECK(module_of_node("/conv1/Conv") == "conv1");
  CHECK(module_of_node("/layer1/layer1.0/conv1/Conv") == "layer1.0.conv1");
  CHECK(module_of_node("/features/features.0/features.0.0/Conv") == "features.0.0");
  CHECK(module_of_node("/a/b/Conv") == "a.b");
  CHECK(module_of_node("/Conv") == "");
  CHECK(module_of_node("conv1") == "");
  CHECK(module_of_weights("layer1.0.conv1.weight") == "layer1.0.conv1");
  CHECK(module_of_weights(".weight") == "");
  CHECK(module_of_weights("onnx::Conv_7") == "");
}

TEST_CASE("a name is one thing's, or nobody's") {
  NameIndex index;
  index.add("layer1.0.conv2", 1);
  index.add("layer1.1.conv2", 2);
  index.add("head", 3);
  index.add("twice", 4);
  index.add("twice", 5);
  CHECK(index.find("layer1.0.conv2") == 1);
  CHECK(index.find("0.conv2") == 1);
  CHECK(index.find("conv2") == -1);  // of two
  CHECK(index.find("module.head") == 3);
  CHECK(index.find("ahead") == -1);  // not behind a dot
  CHECK(index.find("twice") == -1);
  CHECK(index.find("") == -1);
  CHECK(nearest_names("conv3", {"conv1", "head", "convs"}, 2) == std::vector<std::string>{"conv1", "convs"});
  CHECK(nearest_names("", {}, 2).empty());
}

TEST_CASE("modules find their layers") {
  TorchModel net;
  const auto found =
      net.resolve(record("conv1", "scale_d: 1 scale_w: 0.01") + record("layer1.0.conv2", "scale_d: 2") +
                  record("module.layer1.1.conv2", "scale_d: 3"));
  REQUIRE_MESSAGE(found, found.message());
  CHECK(found->unknown.empty());
  CHECK(found->activations == 3);
  CHECK(found->weight_layers == 1);
  // Its subject: the input of each of the three.
  CHECK(std::string(net.model.tensor(found->known[0].tensor).name) == "x");
  CHECK(std::string(net.model.tensor(found->known[2].tensor).name) == "/conv1/Conv_output_0");
  CHECK(found->known[2].scale == 2.0f);
  CHECK(found->known[3].scale == 3.0f);

  const auto lost = net.resolve(record("conv1", "scale_d: 1") + record("conv2", "scale_d: 2 scale_w: 0.1") +
                                record("layer1.0.conv3", "scale_d: 2"));
  REQUIRE_MESSAGE(lost, lost.message());
  CHECK(lost->unknown == std::vector<std::string>{"conv2", "layer1.0.conv3"});
  CHECK(lost->nearest[0].find("conv1") == 0);
  CHECK(lost->nearest[1].find("layer1.0.conv2") == 0);
}

TEST_CASE("weights with a zero point keep their scales, and the codes beyond int8 are known") {
  TorchModel net;
  auto read = read_aimet("f", R"({"param_encodings": {"conv1.weight": [
      {"bitwidth": 8, "offset": -137, "scale": 0.01}, {"bitwidth": 8, "offset": -100, "scale": 0.005}]}})");
  REQUIRE_MESSAGE(read, read.message());
  const auto found = resolve_params(*read, net.model, "f");
  REQUIRE_MESSAGE(found, found.message());
  REQUIRE(found->known.size() == 1);
  const KnownParams& known = found->known[0];
  CHECK(known.zero_point == 0);
  REQUIRE(known.channel_scales.size == 2);
  CHECK(known.channel_scales[0] == 0.01f);
  CHECK(known.channel_scales[1] == 0.005f);
  REQUIRE(found->other.size() == 1);
  const OtherWeights& other = found->other[0];
  CHECK(other.layer == 0);
  CHECK(other.entry == 0);
  CHECK(other.numbers.empty());
  int32_t beyond = 0;
  for (const int32_t code : other.codes) beyond += code < -128 || code > 127;
  CHECK(beyond == 1);  // 254 codes of 0.005
  CHECK(found->notes.empty());
}

// PPQ's files name what a convolution gives before the ReLU that the model has fused with it.
TEST_CASE("PPQ's files: results before a fused function follow what it gives, or stand for it") {
  OnnxBuilder file;
  file.input("x", {1, 2, 4, 4});
  file.floats("w", {2, 2, 1, 1}, {0.5f, -1.27f, 0.25f, 1.27f});
  file.node("Conv", {"x", "w"}, "before").name = "conv";
  file.node("Relu", {"before"}, "after").name = "relu";
  file.node("MaxPool", {"after"}, "y").name = "pool";
  set(*file.graph().node.begin(), "kernel_shape", std::vector<int64_t>{1, 1});
  set(file.graph().node.back(), "kernel_shape", std::vector<int64_t>{2, 2});
  file.output("y");
  Import import(file.bytes());
  const AlignedBytes bytes = import.write();
  const Model model = *Model::open(bytes.view());
  const auto resolved = [&](const std::string& before, const std::string& after) {
    const auto slot = [](const std::string& tensor, const std::string& value) {
      return "\"" + tensor +
             R"(": {"bit_width": 8, "quant_min": -128, "quant_max": 127, "state": "ACTIVATED", "dominator": )" +
             value + "}";
    };
    std::string text = R"({"configs": {"conv": {)" + slot("x", "1");
    if (!before.empty()) text += ", " + slot("before", before);
    text += "}";
    if (!before.empty() || !after.empty()) {
      text += R"(, "relu": {)" + slot("before", before.empty() ? after : before);
      if (!after.empty()) text += ", " + slot("after", after);
      text += "}";
    }
    text += R"(}, "values": {"1": {"scale": 0.5, "zero_point": 0}, "2": {"scale": 0.25, "zero_point": -128},
                            "3": {"scale": 0.125, "zero_point": 3}}})";
    const auto table = read_ppq("F", text);
    REQUIRE_MESSAGE(table, table.message());
    const auto found = resolve_params(*table, model, "F");
    REQUIRE_MESSAGE(found, found.message());
    std::map<std::string, float> scales;
    for (const KnownParams& known : found->known) scales[model.tensor(known.tensor).name] = known.scale;
    return std::make_tuple(scales, found->unknown, found->notes);
  };
  using Scales = std::map<std::string, float>;
  using Names = std::vector<std::string>;
  CHECK(resolved("2", "2") == std::make_tuple(Scales{{"x", 0.5f}, {"after", 0.25f}}, Names(), Names()));
  CHECK(resolved("2", "") == std::make_tuple(Scales{{"x", 0.5f}, {"after", 0.25f}}, Names(), Names()));
  CHECK(
      resolved("3", "2") ==
      std::make_tuple(
          Scales{{"x", 0.5f}, {"after", 0.25f}}, Names(),
          Names{
              "F: 1 of its slots are of results before a function that is fused with its layer here, and are "
              "left out: what the function gives has parameters of its own (the first: "
              "configs/conv/before)"}));
  // Read alone, it is nobody's.
  CHECK(std::get<1>(resolved("", "2")) == Names{"before"});
}

TEST_CASE("PPQ's files: weights of another name by their slot, and a matrix with a scale for each input") {
  OnnxBuilder file;
  file.input("x", {1, 3});
  file.floats("w", {3, 2}, {0.5f, -1.27f, 0.25f, 0.635f, 0.1f, 0.2f});  // [in, out]
  file.node("MatMul", {"x", "w"}, "y").name = "fc";
  file.output("y");
  Import import(file.bytes());
  const AlignedBytes bytes = import.write();
  const Model model = *Model::open(bytes.view());
  std::deque<ParamsTable> tables;  // to which the results point
  const auto resolved = [&](const std::string& weights, const std::string& scales) {
    const std::string slot =
        R"({"bit_width": 8, "quant_min": -127, "quant_max": 127, "state": "ACTIVATED", "dominator": )";
    const auto table =
        read_ppq("F", R"({"configs": {"fc": {"x": )" + slot + R"(1}, ")" + weights + R"(": )" + slot +
                          R"(2}, "y": )" + slot + R"(1}}}, "values": {"1": {"scale": 0.5, "zero_point": 0},
                                         "2": {"scale": )" +
                          scales + R"(, "zero_point": 0}}})");
    REQUIRE_MESSAGE(table, table.message());
    return resolve_params(tables.emplace_back(std::move(*table)), model, "F");
  };
  for (const char* const name : {"w", "fc_weight"}) {
    CAPTURE(std::string(name));
    const auto found = resolved(name, "[0.25, 0.125]");
    REQUIRE_MESSAGE(found, found.message());
    CHECK(found->unknown.empty());
    REQUIRE(found->weight_layers == 1);
    CHECK(std::vector<float>(found->known[1].channel_scales.begin(), found->known[1].channel_scales.end()) ==
          std::vector<float>{0.25f, 0.125f});
    const auto of_inputs = resolved(name, "[0.5, 0.25, 0.125]");
    REQUIRE_MESSAGE(of_inputs, of_inputs.message());
    // The file has 0.5, -1.5; 0.25, 0.75; 0.125, 0.25.
    CHECK(of_inputs->known[1].channel_scales[0] == 0.5f / 127);
    CHECK(of_inputs->known[1].channel_scales[1] == 1.5f / 127);
    REQUIRE(of_inputs->other.size() == 1);
    CHECK(of_inputs->other[0].numbers == std::vector<float>{0.5f, 0.25f, 0.125f, -1.5f, 0.75f, 0.25f});
    CHECK_FALSE(resolved(name, "[1, 2, 3, 4]"));
  }
}

// As AMCT and ncnn compute a layer whose result has no scale: codes in, integers, and FP32 out. Written out in double.
TEST_CASE("a layer with parameters of its input and weights alone computes in int8 and writes FP32") {
  Random random(6);
  constexpr int kChannels = 3, kSide = 4;
  for (const std::string op : {"conv", "depthwise"}) {
    CAPTURE(op);
    const int depth = op == "conv" ? kChannels : 1;
    const std::vector<float> w = random.reals(kChannels * depth, -1, 1), b = random.reals(kChannels, -1, 1);
    OnnxBuilder file;
    file.input("x", {1, kChannels, kSide, kSide});
    file.floats("w", {kChannels, depth, 1, 1}, w);
    file.floats("b", {kChannels}, b);
    auto& node = file.node("Conv", {"x", "w", "b"}, "c");
    if (depth == 1) set(node, "group", int64_t{kChannels});
    file.node("Relu", {"c"}, "y");
    file.output("y");
    Import import(file.bytes());
    const AlignedBytes bytes = import.write();
    const Model model = *Model::open(bytes.view());
    const std::vector<float> scales{0.011f, 0.009f, 0.02f};
    const KnownParams known[] = {
        {model.inputs()[0], 0.05f, -3, {}, -1, -1, 0, 0},
        {model.node_inputs(0)[1], 0, 0, {scales.data(), scales.size()}, -1, -1, 0, 0}};
    const int32_t layer = 0, transpose = 1;  // to the order of the file
    CalibratorOptions options;
    options.recover = recovery::kNone;
    options.known = {known, 2};
    options.float_results = {&layer, 1};
    options.float_nodes = {&transpose, 1};
    std::vector<uint8_t> made = calibrate(model, {}, options);
    RunningModel int8{AlignedBytes({made.data(), made.size()})};
    REQUIRE_MESSAGE(int8.error().ok(), text_of(int8.error(), &int8.model()));
    const NodeInfo node_made = int8.model().node(0);
    CHECK(int8.model().tensor(node_made.inputs[1]).dtype == DType::kS8);
    CHECK(int8.model().tensor(node_made.outputs[0]).dtype == DType::kF32);
    std::vector<int8_t> x(kChannels * kSide * kSide);  // [h, w, c]; the model takes codes
    for (int8_t& code : x) code = static_cast<int8_t>(random.between(-128, 127));
    const std::vector<float> found = int8.run<float>(x);
    for (size_t place = 0; place < kSide * kSide; ++place)
      for (size_t o = 0; o < kChannels; ++o) {
        double sum = std::nearbyint(b[o] / (double{0.05f} * scales[o]));
        for (size_t k = 0; k < static_cast<size_t>(depth); ++k) {
          const size_t i = depth == 1 ? o : k;
          sum +=
              (x[place * kChannels + i] + 3) *
              std::clamp(std::nearbyint(w[o * static_cast<size_t>(depth) + k] / scales[o]), -127.0f, 127.0f);
        }
        const double expected = std::max(0.0, sum * double{0.05f} * scales[o]);
        CHECK(found[o * kSide * kSide + place] == doctest::Approx(expected).epsilon(1e-6));
      }
  }
}

TEST_CASE("a map of names") {
  const auto map =
      read_name_map("m", "# words\n\nstem  conv1\r\n tail\t/layer1/layer1.1/conv2/Conv \nunused x\n");
  REQUIRE_MESSAGE(map, map.message());
  CHECK(map->size() == 3);
  CHECK(map->at("stem") == "conv1");
  CHECK(read_name_map("m", "a\tb c\n")->at("a") == "b c");
  CHECK(read_name_map("m", "a\n").message().find("m line 1: write two names") == 0);
  CHECK(read_name_map("m", "a b c\n").message().find("m line 1: write two names") == 0);
  CHECK(read_name_map("m", "a b\na c\n").message() == "m line 2: a stands there already; delete one of them");
  TorchModel net;
  auto table = read_amct("f", record("stem", "scale_d: 1") + record("tail", "scale_d: 2"));
  REQUIRE(static_cast<bool>(table));
  rename_entries(*table, *map, "m");
  CHECK(table->notes == std::vector<std::string>{"m: unused is not among the parameters"});
  const auto found = resolve_params(*table, net.model, "f");
  REQUIRE_MESSAGE(found, found.message());
  CHECK(found->unknown.empty());
  CHECK(found->activations == 2);
}

TEST_CASE("AMCT's fields of today") {
  const auto table = read_amct(
      "f",
      record("conv1",
             "scale_d: 0.1 offset_d: -3 act_type: 'INT8' wts_type: 'INT8' dst_type: 'INT8' "
             "fakequant_precision_mode: 'DEFAULT' op_data_type: 'FLOAT' channels: 3 height: 4 width: 4") +
          record("x", "scale_d: 0.5 is_tensor_quantize: true") +
          record("lstm", "scale_d: 1 scale_h: 0.5 offset_h: 0 scale_r: 0.1 offset_r: 0") +
          "record { key: 'attention' kv_cache_value { scale: 1 offset: 0 } }\n");
  REQUIRE_MESSAGE(table, table.message());
  CHECK(table->find(ParamsOf::kLayerInput, "conv1")->zero_point == -3);
  CHECK(table->find(ParamsOf::kTensor, "x")->scales == std::vector<float>{0.5f});
  CHECK(table->notes.size() == 2);
  CHECK_FALSE(table->names_all);
  const auto wide = read_amct("f", record("c", "scale_d: 1 act_type: 'INT16' scale_w: 1 wts_type: 'INT6'"));
  REQUIRE_MESSAGE(wide, wide.message());
  CHECK(wide->find(ParamsOf::kLayerInput, "c")->hi == 32767);
  CHECK(wide->find(ParamsOf::kLayerInput, "c")->lo == -32767);
  for (const auto& [type, greatest] :
       {std::pair("INT4", 7), std::pair("INT6", 31), std::pair("INT7", 63), std::pair("INT8", 127)}) {
    const auto narrow = read_amct("f", record("c", std::string("scale_w: 1 wts_type: '") + type + "'"));
    REQUIRE_MESSAGE(narrow, narrow.message());
    CHECK(narrow->find(ParamsOf::kLayerWeights, "c")->hi == greatest);
  }
  CHECK(read_amct("f", record("c", "scale_d: 1 act_type: 'INT4'")).message() ==
        "f, c: act_type INT4 is neither INT8 nor INT16");
  CHECK(read_amct("f", record("c", "scale_d: 1 offset_d: 3 act_type: 'INT16'")).message() ==
        "f, c: offset_d 3 of INT16, whose codes have the zero point 0");
  CHECK(read_amct("f", record("c", "scale_d: 1 wts_type: 'INT3'")).message() ==
        "f, c: wts_type INT3 is none of INT4, INT6, INT7 and INT8");
  const auto twice = read_amct("f", "record { key: 'c' value { scale_d: 1 scale_d: 2 } }");
  REQUIRE(static_cast<bool>(twice));
  CHECK(twice->find(ParamsOf::kLayerInput, "c")->scales == std::vector<float>{2.0f});
  REQUIRE(twice->notes.size() == 1);
  CHECK(twice->notes[0].find("f line 1 column") == 0);
  CHECK(twice->notes[0].find("The last one counts.") != std::string::npos);
}

TEST_CASE("scales of weights that were not fused are taken where they fit, and refused elsewhere") {
  TorchModel net;
  CHECK(net.resolve(record("conv1", "scale_d: 1 scale_w: 0.01 scale_w: 0.01 skip_fusion: true")));
  CHECK(net.resolve(record("conv1", "scale_d: 1 scale_w: 0.0025 scale_w: 0.01 skip_fusion: false")));
  const auto refused =
      net.resolve(record("conv1", "scale_d: 1 scale_w: 0.01 scale_w: 0.0025 skip_fusion: true"));
  CHECK(!refused);
  CHECK(refused.message().find("f, conv1: skip_fusion is true") == 0);
  CHECK(refused.message().find("channel 1 would have 508 codes instead of 127") != std::string::npos);
  CHECK(!net.resolve(record("conv1", "scale_d: 1 scale_w: 0.04 scale_w: 0.01 skip_fusion: true")));
  CHECK(!net.resolve(record("conv1", "scale_d: 1 scale_w: 0.0025 skip_fusion: true")));
  CHECK(net.resolve(record("conv1", "scale_d: 1 scale_w: 0.02 skip_fusion: true")));
}

}  // namespace intaglio::test::import_params_names_test
