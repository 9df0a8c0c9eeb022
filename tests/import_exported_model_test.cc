// A model's own nodes as ONNX, without the network that it was imported from: what comes back gives the same bytes.
#include <set>

#include "exporters/onnx/onnx_export.h"
#include "tests/support/calibrated_network.h"
#include "tests/support/decibels.h"
#include "tests/support/fuzz_models.h"
#include "tests/support/masked_attention.h"
#include "tests/support/small_onnx_network.h"

namespace intaglio::test::import_exported_model_test {
namespace {

constexpr OnnxForm kForms[] = {OnnxForm::kQdq, OnnxForm::kQOperator, OnnxForm::kFakeQuantize};

int count(const onnx_file::ModelProto& file, const std::string& op) {
  int found = 0;
  for (const auto& node : file.graph->node) found += node.op_type == op;
  return found;
}

Outcome<OnnxExport> exported(const AlignedBytes& model, OnnxForm form = OnnxForm::kQdq) {
  return export_onnx(*Model::open(model.view()), "net.itg", form);
}

// The dB between outputs of the model and of what comes back from the file; infinity: they are the same.
double sqnr_back(const AlignedBytes& model, const Samples& samples, const OnnxExport& made) {
  Import back(made.bytes);
  REQUIRE_MESSAGE(back.good(), back.message());
  RunningModel a(AlignedBytes(model.view())), b(back.write());
  REQUIRE_MESSAGE(a.error().ok(), text_of(a.error(), &a.model()));
  REQUIRE_MESSAGE(b.error().ok(), text_of(b.error(), &b.model()));
  CHECK(a.session().input().info.shape == b.session().input().info.shape);
  SignalAndNoise compared;
  bool are_same = true;
  for (const std::vector<float>& sample : samples) {
    const auto x = run_reals(a, sample), y = run_reals(b, sample);
    are_same &= x == y;
    compared.add(x, y);
  }
  return are_same ? INFINITY : compared.sqnr_db();
}

// The step of an int8 model's tensor.
float step_of(const AlignedBytes& bytes, const std::string& name) {
  const Result<Model> model = Model::open(bytes.view());
  for (int32_t t = 0; t < model->tensor_count(); ++t)
    if (model->tensor(t).name == name) return model->tensor(t).quantization.scales[0];
  FAIL(name);
  return 0.0f;
}

// To the bit, but for FakeQuantize, whose ends of ranges are rounded.
void check_forms(const CalibratedNetwork& net) {
  for (const OnnxForm form : kForms) {
    CAPTURE(static_cast<int>(form));
    const auto made = exported(net.int8, form);
    REQUIRE_MESSAGE(made, made.message());
    CHECK(made->layers > 0);
    const double db = sqnr_back(net.int8, net.samples, *made);
    CHECK(db > (form == OnnxForm::kFakeQuantize ? 30.0 : 1000.0));
  }
}

CalibratorOptions in_codes() {
  CalibratorOptions options;
  options.int8_answers = true;
  return options;
}

// A convolution and what `add` puts behind its result "c", which it gives as "y".
template <typename Add>
OnnxBuilder behind_convolution(const Add& add, int64_t opset = 20) {
  OnnxBuilder file(opset);
  Random random(3);
  file.input("x", {1, 3, 6, 5});
  file.floats("w", {8, 3, 3, 3}, random.reals(216, -0.4f, 0.4f));
  file.floats("b", {8}, random.reals(8, -0.5f, 0.5f));
  set(file.node("Conv", {"x", "w", "b"}, "c"), "pads", std::vector<int64_t>(4, 1));
  add(file);
  file.output("y");
  return file;
}

}  // namespace

TEST_CASE("convolutions, a residual, pools and a flattened map; answers in codes and in FP32") {
  check_forms(CalibratedNetwork(small_network()));
  check_forms(CalibratedNetwork(small_network(), in_codes()));
}

TEST_CASE("pictures come in as in the model, and one Transpose takes them to the first layer") {
  const CalibratedNetwork net(small_network());
  const auto made = exported(net.int8);
  REQUIRE_MESSAGE(made, made.message());
  CHECK(made->notes.empty());
  const onnx_file::ModelProto file = parsed_onnx(made->bytes);
  REQUIRE(file.graph->input.count() == 1);
  const auto& dims = file.graph->input[0].type->tensor_type->shape->dim;
  REQUIRE(dims.count() == 4);
  CHECK(dims[3].dim_value == 3);
  CHECK(count(file, "Transpose") == 2);  // the other one in front of the flattening
}

TEST_CASE("a table is the function that made it, and a Gather where none is known") {
  for (const std::string op : {"Sigmoid", "Tanh", "HardSwish", "Softplus", "Elu", "LeakyRelu", "Erf", "Exp",
                               "Abs", "Gelu", "Mish", "HardSigmoid", "Softsign", "Selu", "Swish"}) {
    CAPTURE(op);
    const CalibratedNetwork net(behind_convolution([&](OnnxBuilder& file) {
                                  if (op != "Swish") {
                                    file.node(op, {"c"}, "y");
                                  } else {
                                    file.node("Sigmoid", {"c"}, "gate");
                                    file.node("Mul", {"c", "gate"}, "y");
                                  }
                                }),
                                in_codes());
    const auto made = exported(net.int8);
    REQUIRE_MESSAGE(made, made.message());
    CHECK(std::isinf(sqnr_back(net.int8, net.samples, *made)));
    CHECK(count(parsed_onnx(made->bytes), "Gather") == 0);
  }
  const CalibratedNetwork net(behind_convolution([](OnnxBuilder& file) {
                                file.node("Sin", {"c"}, "s");
                                file.node("Exp", {"s"}, "y");
                              }),
                              in_codes());
  const auto made = exported(net.int8);
  REQUIRE_MESSAGE(made, made.message());
  CHECK(std::isinf(sqnr_back(net.int8, net.samples, *made)));
  CHECK(count(parsed_onnx(made->bytes), "Gather") == 1);
}

TEST_CASE("tables for groups of channels") { check_forms(CalibratedNetwork(uneven_network())); }

TEST_CASE("codes in another scale have a function that changes nothing in front of their quantizer") {
  const CalibratedNetwork net(behind_convolution([](OnnxBuilder& file) {
                                file.floats("w2", {8, 8, 1, 1}, Random(4).reals(64, -4.0f, 4.0f));
                                file.node("Conv", {"c", "w2"}, "d");
                                auto& pool = file.node("MaxPool", {"c"}, "p");
                                set(pool, "kernel_shape", std::vector<int64_t>{1, 1});
                                set(file.node("Concat", {"p", "d"}, "y"), "axis", int64_t{1});
                              }),
                              in_codes());
  check_forms(net);
  const auto made = exported(net.int8);
  REQUIRE_MESSAGE(made, made.message());
  const onnx_file::ModelProto file = parsed_onnx(made->bytes);
  std::set<std::string> dequantized;
  for (const auto& node : file.graph->node)
    if (node.op_type == "DequantizeLinear") dequantized.insert(node.output[0]);
  for (const auto& node : file.graph->node)
    if (node.op_type == "QuantizeLinear") CHECK(dequantized.count(node.input[0]) == 0);
  CHECK(count(file, "LeakyRelu") > 0);
}

TEST_CASE("what reads and moves maps has its axes where they stand in the file") {
  const CalibratedNetwork net(behind_convolution(
      [](OnnxBuilder& file) {
        file.floats("row", {1, 8, 1, 5}, Random(5).reals(40, -1.0f, 1.0f));
        file.node("Mul", {"c", "row"}, "m");
        file.integers("pads", {0, 1, 0, 2, 0, 0, 1, 1});
        file.node("Pad", {"m", "pads"}, "p");
        file.integers("begin", {1, -1});
        file.integers("end", {9, -99});
        file.integers("axes", {1, 3});
        file.integers("steps", {2, -1});
        file.node("Slice", {"p", "begin", "end", "axes", "steps"}, "s");
        file.integers("sizes", {1, 4, 14, 16});
        set(file.node("Resize", {"s", "", "", "sizes"}, "r"), "mode", "nearest");
        set(file.node("Softmax", {"r"}, "t"), "axis", int64_t{1});
        set(file.node("Transpose", {"t"}, "u"), "perm", std::vector<int64_t>{0, 2, 1, 3});
        auto& mean = file.node("ReduceMean", {"u"}, "y");
        set(mean, "axes", std::vector<int64_t>{3});
        set(mean, "keepdims", int64_t{0});
      },
      17));
  for (const OnnxForm form : {OnnxForm::kQdq, OnnxForm::kQOperator}) {
    const auto made = exported(net.int8, form);
    REQUIRE_MESSAGE(made, made.message());
    CHECK(std::isinf(sqnr_back(net.int8, net.samples, *made)));
  }
}

TEST_CASE("numbers put back to a pool's places") {
  check_forms(CalibratedNetwork(behind_convolution([](OnnxBuilder& file) {
                                  auto& pool = file.node("MaxPool", {"c"}, "p");
                                  pool.output.push_back("places");
                                  auto& back = file.node("MaxUnpool", {"p", "places"}, "y");
                                  for (auto* node : {&pool, &back}) {
                                    set(*node, "kernel_shape", std::vector<int64_t>{3, 1});
                                    set(*node, "strides", std::vector<int64_t>{3, 1});
                                  }
                                }),
                                in_codes()));
}

TEST_CASE("a Pad with another number than 0, and rows of zeros, as other runtimes compute them rightly") {
  const CalibratedNetwork net(behind_convolution([](OnnxBuilder& file) {
                                file.integers("around", {0, 0, 1, 1, 0, 0, 1, 1});
                                file.floats("fill", {}, {-1.0f});
                                file.node("Relu", {"c"}, "r");
                                set(file.node("LpNormalization", {"r"}, "n"), "axis", int64_t{1});
                                file.node("Pad", {"n", "around", "fill"}, "y");
                              }),
                              in_codes());
  for (const OnnxForm form : kForms) {
    const auto made = exported(net.int8, form);
    REQUIRE_MESSAGE(made, made.message());
    CHECK(sqnr_back(net.int8, net.samples, *made) > (form == OnnxForm::kFakeQuantize ? 30.0 : 1000.0));
    const onnx_file::ModelProto file = parsed_onnx(made->bytes);
    std::set<std::string> before_pad, bounds;
    for (const onnx_file::NodeProto& node : file.graph->node) {
      if (node.op_type == "Max") before_pad.insert(node.output[0]);
      if (node.op_type == "Clip") bounds.insert(node.input[1]);
    }
    // OpenVINO takes codes through moves to the Pad.
    for (const onnx_file::NodeProto& node : file.graph->node)
      if (node.op_type == "Pad")
        CHECK(before_pad.count(node.input[0]) == (form == OnnxForm::kFakeQuantize ? 1 : 0));
    // Half a step: less than any norm but that of zeros.
    const float step = step_of(net.int8, "r");
    bool is_half = false;
    for (const onnx_file::TensorProto& tensor : file.graph->initializer)
      if (bounds.count(tensor.name) == 1 && tensor.raw_data.size() == sizeof(float)) {
        float least;
        memcpy(&least, tensor.raw_data.data(), sizeof least);
        is_half |= least == step / 2;
      }
    CHECK(is_half);
  }
}

TEST_CASE("FP32 models") {
  Import fp32(small_network().bytes());
  REQUIRE_MESSAGE(fp32.good(), fp32.message());
  const AlignedBytes model = fp32.write();
  const auto made = exported(model);
  REQUIRE_MESSAGE(made, made.message());
  CHECK(made->activations == 0);
  CHECK(made->layers == 0);
  CHECK(sqnr_back(model, {Random(1).reals(192, -1.0f, 1.0f)}, *made) > 100.0);
}

TEST_CASE("an attention with a mask, in codes of 8 bits and in 16") {
  CalibratorOptions options = in_codes();
  const auto add = [](OnnxBuilder& file, const auto&) { file.node("Add", {"scores", "causal"}, "masked"); };
  const CalibratedNetwork net(masked_attention(-1e9f, add), options);
  for (const OnnxForm form : kForms) {
    const auto made = exported(net.int8, form);
    REQUIRE_MESSAGE(made, made.message());
    CHECK(sqnr_back(net.int8, net.samples, *made) > (form == OnnxForm::kFakeQuantize ? 25.0 : 1000.0));
    if (form == OnnxForm::kFakeQuantize) continue;
    const onnx_file::ModelProto file = parsed_onnx(made->bytes);
    CHECK(file.opset_import[0].version == 21);  // int16
    bool has_16_bits = false;
    for (const auto& tensor : file.graph->initializer)
      has_16_bits |= tensor.data_type == onnx_file::TensorProto::INT16;
    CHECK(has_16_bits);
  }
}

TEST_CASE("layers, sums, pools and tables of 16 bits") {
  const SlotSetting wide{-1, SlotRole::kActivations, -1, 16};
  CalibratorOptions options = in_codes();
  options.slots = {&wide, 1};
  const CalibratedNetwork net(behind_convolution([](OnnxBuilder& file) {
                                file.node("Sigmoid", {"c"}, "s");
                                file.node("Add", {"s", "c"}, "a");
                                auto& pool = file.node("MaxPool", {"a"}, "y");
                                set(pool, "kernel_shape", std::vector<int64_t>{2, 2});
                              }),
                              options);
  const Result<Model> model = Model::open(net.int8.view());
  int tables = 0;
  for (int32_t n = 0; n < model->node_count(); ++n)
    tables +=
        model->node(n).op == Op::kLookup && model->tensor(model->node_outputs(n)[0]).dtype == DType::kS16;
  CHECK(tables == 1);
  for (const OnnxForm form : {OnnxForm::kQdq, OnnxForm::kQOperator}) {
    const auto made = exported(net.int8, form);
    REQUIRE_MESSAGE(made, made.message());
    CHECK(made->notes.empty());
    CHECK(std::isinf(sqnr_back(net.int8, net.samples, *made)));
    CHECK(count(parsed_onnx(made->bytes), "Sigmoid") == 1);
  }
}

TEST_CASE("states are inputs and outputs") {
  OnnxBuilder network(13);
  Random random(9);
  network.input("x", {1, 4});
  network.input("h", {1, 4});
  for (const char* const name : {"wx", "wh"}) network.floats(name, {4, 4}, random.reals(16, -0.6f, 0.6f));
  network.node("MatMul", {"x", "wx"}, "a");
  network.node("MatMul", {"h", "wh"}, "b");
  network.node("Add", {"a", "b"}, "s");
  network.node("Tanh", {"s"}, "next");
  network.output("next");
  network.node("Relu", {"next"}, "y");
  network.output("y");
  ImportOptions options;
  options.states = {"h=next"};
  options.starts = {{"h", {0.5f}}};
  Import fp32(network.bytes(), options);
  REQUIRE_MESSAGE(fp32.good(), fp32.message());
  const AlignedBytes model = fp32.write();
  REQUIRE(Model::open(model.view())->state_count() == 1);
  const auto made = exported(model);
  REQUIRE_MESSAGE(made, made.message());
  REQUIRE(made->notes.size() == 1);
  CHECK(
      made->notes[0] ==
      "the input 'h' is a state: it takes what the output 'next' gave in the run before, and does not begin with zeros");
  Import again(made->bytes, options);
  REQUIRE_MESSAGE(again.good(), again.message());
  RunningModel a(AlignedBytes(model.view())), b(again.write());
  for (int i = 0; i < 3; ++i) {
    const std::vector<float> sample = random.reals(4, -1.0f, 1.0f);
    CHECK(run_reals(a, sample) == run_reals(b, sample));
  }
}

TEST_CASE("every operator, in FP32, in codes of 8 bits and of 16") {
  for (const AlignedBytes& model : fuzz_models())
    for (const OnnxForm form : kForms) {
      const auto made = exported(model, form);
      CHECK_MESSAGE(made, made.message());
    }
}

TEST_CASE("what ONNX has no form for is named") {
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kF32, {2}), index = b.tensor("index", DType::kS32, {2}),
                y = b.tensor("y", DType::kF32, {2, 3});
  b.input(x);
  b.node(Op::kCast, {x}, {index});
  b.node(Op::kOneHot, {index}, {y}).options.as<OneHotOptions>() = {1, 1.0f, 0.0f, false};
  b.output(y);
  const auto made = exported(b.finish());
  REQUIRE(!made);
  CHECK(made.message() ==
        "net.itg: node 'node1' (OneHot): ONNX's OneHot counts indices below 0 from the end");
}

}  // namespace intaglio::test::import_exported_model_test
