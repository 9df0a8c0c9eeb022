// OpenVINO's IR: each layer computes what ONNX's operator of the same meaning computes, quantized weights keep their codes,
// and what is damaged or unknown is refused by name.
#include <doctest/doctest.h>

#include "tests/support/imported.h"
#include "tests/support/ir_builder.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_openvino_test {
namespace {

std::string refusal(const Ir& ir) { return Import(ir.xml(), ir.options()).message(); }

// The same bits from both networks, for random inputs.
void check_same(const Ir& ir, const OnnxBuilder& onnx, size_t elements, float least = -3.0f) {
  Import from_ir(ir.xml(), ir.options()), from_onnx(onnx.bytes());
  REQUIRE_MESSAGE(from_ir.good(), from_ir.message());
  REQUIRE_MESSAGE(from_onnx.good(), from_onnx.message());
  Random random(5);
  const std::vector<float> x = random.reals(elements, least, 3.0f);
  const std::vector<float> a = run_import<float>(from_ir, x), b = run_import<float>(from_onnx, x);
  REQUIRE(a.size() == b.size());
  CHECK(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

void add_ints(OnnxBuilder::Node& node, const char* name, const std::vector<int64_t>& values) {
  auto& attribute = node.attribute.add();
  attribute.name = name;
  attribute.type = onnx_file::AttributeProto::INTS;
  for (const int64_t value : values) attribute.ints.push_back(value);
}
void add_int(OnnxBuilder::Node& node, const char* name, int64_t value) {
  auto& attribute = node.attribute.add();
  attribute.name = name;
  attribute.type = onnx_file::AttributeProto::INT;
  attribute.i = value;
}

const char* const kWindow =
    "strides=\"2, 1\" dilations=\"1, 1\" pads_begin=\"1, 0\" pads_end=\"0, 1\" auto_pad=\"explicit\"";

}  // namespace

TEST_CASE("convolutions, in groups too, and transposed") {
  Random random(1);
  for (const char* type : {"Convolution", "GroupConvolution", "ConvolutionBackpropData"}) {
    CAPTURE(type);
    const std::string name = type;
    const bool groups = name == "GroupConvolution", back = name == "ConvolutionBackpropData";
    const std::vector<float> weights = random.reals(groups ? 6 * 2 * 3 * 3 : 6 * 4 * 3 * 3, -1.0f, 1.0f),
                             bias = random.reals(6, -1.0f, 1.0f);
    const IrDims shape = groups ? IrDims{2, 3, 2, 3, 3} : back ? IrDims{4, 6, 3, 3} : IrDims{6, 4, 3, 3};
    const IrDims out = back ? IrDims{1, 6, 14, 6} : IrDims{1, 6, 3, 5};
    Ir ir;
    const int x = ir.input("x", {1, 4, 7, 6}), w = ir.floats(shape, weights),
              b = ir.floats({1, 6, 1, 1}, bias);
    const int conv = ir.layer(type, "conv", {x, w}, out, kWindow);
    ir.output(
        ir.layer("ReLU", "relu", {ir.layer("Add", "add", {conv, b}, out, "auto_broadcast=\"numpy\"")}, out));
    OnnxBuilder onnx;
    onnx.input("x", {1, 4, 7, 6});
    onnx.floats("w", groups ? IrDims{6, 2, 3, 3} : back ? IrDims{4, 6, 3, 3} : IrDims{6, 4, 3, 3}, weights);
    onnx.floats("b", {1, 6, 1, 1}, bias);
    auto& node = onnx.node(back ? "ConvTranspose" : "Conv", {"x", "w"}, "c");
    add_ints(node, "strides", {2, 1});
    add_ints(node, "pads", {1, 0, 0, 1});
    if (groups) add_int(node, "group", 2);
    onnx.node("Add", {"c", "b"}, "s");
    onnx.node("Relu", {"s"}, "y");
    onnx.output("y");
    check_same(ir, onnx, 4 * 7 * 6);
  }
}

// By OpenVINO 2026.4.1: same_lower takes the larger half of what is cut from the end.
TEST_CASE("a transposed convolution whose output has a size of its own") {
  struct Case {
    const char* automatic;
    std::vector<float> rows;  // the first two rows of what one 1 at the start gives
  };
  for (const Case& c : {Case{"same_lower", {1, 2, 3, 0, 0, 0, 0, 0, 4, 5, 6, 0, 0, 0, 0, 0}},
                        Case{"same_upper", {5, 6, 0, 0, 0, 0, 0, 0, 8, 9, 0, 0, 0, 0, 0, 0}},
                        Case{"explicit", {4, 5, 6, 0, 0, 0, 0, 0, 7, 8, 9, 0, 0, 0, 0, 0}}}) {
    CAPTURE(c.automatic);
    Ir ir;
    const int x = ir.input("x", {1, 1, 3, 4}), w = ir.floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}),
              size = ir.integers({6, 8});
    ir.output(ir.layer("ConvolutionBackpropData", "y", {x, w, size}, {1, 1, 6, 8},
                       "strides=\"2, 2\" dilations=\"1, 1\" pads_begin=\"1, 0\" pads_end=\"0, 1\" "
                       "output_padding=\"0, 0\" auto_pad=\"" +
                           std::string(c.automatic) + "\""));
    Import import(ir.xml(), ir.options());
    REQUIRE_MESSAGE(import.good(), import.message());
    std::vector<float> one(12, 0.0f);
    one[0] = 1.0f;
    const std::vector<float> y = run_import<float>(import, one);
    REQUIRE(y.size() == 48);
    CHECK(std::vector<float>(y.begin(), y.begin() + 16) == c.rows);
  }
  Ir huge;
  const int x = huge.input("x", {1, 1, 3, 4}), w = huge.floats({1, 1, 3, 3}, std::vector<float>(9, 1.0f)),
            size = huge.integers({6, int64_t{1} << 40});
  huge.output(huge.layer("ConvolutionBackpropData", "y", {x, w, size}, {1, 1, 6, 8}, "strides=\"2, 2\""));
  CHECK(Import(huge.xml(), huge.options()).says("a side beyond 1048576"));
  Ir odd;
  const int in = odd.input("x", {1, 1, 3, 4}), ones = odd.floats({1, 1, 3, 3}, std::vector<float>(9, 1.0f));
  odd.output(odd.layer("ConvolutionBackpropData", "y", {in, ones, odd.integers({6, 8})}, {1, 1, 6, 8},
                       "strides=\"2, 2\" auto_pad=\"sideways\""));
  CHECK(Import(odd.xml(), odd.options()).says("attribute auto_pad is 'sideways', which is not supported"));
  // Where a run computes the size, it is what the file says of the sides, whatever it says of the batch.
  for (const auto& [dims, count] : {std::pair<IrDims, size_t>{{-1, 1, 6, 8}, 48}, {{-1, 1, -1, 8}, 63}}) {
    Ir open;
    const int from = open.input("x", {-1, 1, 3, 4}),
              by = open.floats({1, 1, 3, 3}, std::vector<float>(9, 1.0f)), half = open.integers({3, 4}),
              wanted = open.layer("Add", "size", {half, half}, {2});
    open.output(open.layer("ConvolutionBackpropData", "y", {from, by, wanted}, dims, "strides=\"2, 2\""));
    Import import(open.xml(), open.options());
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(run_import<float>(import, std::vector<float>(12, 1.0f)).size() == count);
  }
}

TEST_CASE("numbers of 16 bits come and go as int32; a network is cut before NonMaxSuppression") {
  Ir ir;
  const int x = ir.input("x", {1, 2}, "i16");
  const int real = ir.layer("Convert", "real", {x}, {1, 2}, "destination_type=\"f32\"");
  const int half = ir.layer("Multiply", "twice", {real, ir.floats({1}, {20000.0f})}, {1, 2});
  ir.output(ir.layer("Convert", "y", {half}, {1, 2}, "destination_type=\"i16\""));
  Import import(ir.xml(), ir.options());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.notes("input 'x' is i16 in the file; here it is int32"));
  CHECK(run_import<int32_t>(import, std::vector<int32_t>{1, -3}) == std::vector<int32_t>{20000, -32768});

  Ir boxes;
  const int in = boxes.input("x", {1, 2, 4}), a = boxes.layer("ReLU", "boxes", {in}, {1, 2, 4}),
            b = boxes.layer("Sigmoid", "scores", {in}, {1, 2, 4});
  boxes.output(boxes.layer("NonMaxSuppression", "chosen", {a, b, boxes.integers({3})}, {3, 3}));
  CHECK(Import(boxes.xml(), boxes.options())
            .says("this layer is not supported; cut the network before it: --outputs boxes,scores"));
  ImportOptions cut = boxes.options();
  cut.outputs = {"boxes,scores"};
  Import before(boxes.xml(), cut);
  REQUIRE_MESSAGE(before.good(), before.message());
  CHECK(before.graph().outputs.size() == 2);
  cut.outputs = {"chosen"};
  Import missing(boxes.xml(), cut);
  CHECK(missing.says("--outputs names 'chosen', which no node writes"));
  CHECK(missing.says("layer 'chosen' (NonMaxSuppression): this layer is not supported"));

  Ir wrapped;
  const int whole = wrapped.input("x", {1, 2}, "i32");
  wrapped.output(wrapped.layer("Convert", "y", {whole}, {1, 2}, "destination_type=\"i16\""));
  Import around(wrapped.xml(), wrapped.options());
  REQUIRE_MESSAGE(around.good(), around.message());
  CHECK(run_import<int32_t>(around, std::vector<int32_t>{40000, -40000}) ==
        std::vector<int32_t>{-25536, 25536});
}

TEST_CASE("a chosen output whose layer has a problem is not there") {
  Ir ir;
  const int x = ir.input("x", {1, 2, 4}), a = ir.layer("ReLU", "a", {x}, {1, 2, 4});
  ir.output(ir.layer("Sigmoid", "y", {a}, {1, 2, 4}, "unknown=\"1\""));
  ImportOptions chosen = ir.options();
  chosen.outputs = {"y"};
  Import import(ir.xml(), chosen);
  CHECK(import.says("--outputs names 'y', which no node writes"));
  CHECK(import.says("layer 'y' (Sigmoid): attribute 'unknown' is not supported"));
  chosen.outputs = {"a"};
  CHECK(Import(ir.xml(), chosen).good());
}

TEST_CASE("matrix products with weights, of rows and of maps") {
  Random random(2);
  const std::vector<float> weights = random.reals(15, -1.0f, 1.0f);
  for (const bool transposed : {false, true})
    for (const bool maps : {false, true}) {
      const IrDims in = maps ? IrDims{1, 4, 5} : IrDims{4, 5}, out = maps ? IrDims{1, 4, 3} : IrDims{4, 3};
      Ir ir;
      const int x = ir.input("x", in), w = ir.floats(transposed ? IrDims{3, 5} : IrDims{5, 3}, weights);
      ir.output(ir.layer(
          "MatMul", "m", {x, w}, out,
          "transpose_a=\"false\" transpose_b=\"" + std::string(transposed ? "true" : "false") + "\""));
      OnnxBuilder onnx;
      onnx.input("x", in);
      std::vector<float> plain = weights;
      for (size_t k = 0; transposed && k < 5; ++k)
        for (size_t n = 0; n < 3; ++n) plain[k * 3 + n] = weights[n * 5 + k];
      onnx.floats("w", {5, 3}, plain);
      onnx.node("MatMul", {"x", "w"}, "y");
      onnx.output("y");
      check_same(ir, onnx, 20);
    }
}

TEST_CASE("a matrix product of maps whose inner dimension is open too") {
  Ir ir;
  const int x = ir.input("x", {-1, -1, 2}), w = ir.floats({3, 2}, {1, 0, 0, 1, 1, -1});
  ir.output(ir.layer("MatMul", "m", {x, w}, {-1, -1, 3}, "transpose_a=\"false\" transpose_b=\"true\""));
  ImportOptions options = ir.options();
  options.shapes = {{"x", {2, 2, 2}}};
  Import import(ir.xml(), options);
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.count(Op::kFullyConnected) == 1);
  CHECK(import.dims(import.output()) == std::vector<int32_t>{2, 2, 3});
  CHECK(run_import<float>(import, std::vector<float>{1, 2, 3, 5, -1, 4, 0, 7}) ==
        std::vector<float>{1, 2, -1, 3, 5, -2, -1, 4, -5, 0, 7, -7});
}

TEST_CASE("functions, one by one, by their definitions") {
  struct Function {
    const char *type, *data;
    double (*f)(double);
    std::vector<float> parameters = {};
  };
  const Function list[] = {
      {"Abs", "", [](double x) { return std::fabs(x); }},
      {"Ceiling", "", [](double x) { return std::ceil(x); }},
      {"Clamp", "min=\"-0.5\" max=\"1.25\"", [](double x) { return std::min(std::max(x, -0.5), 1.25); }},
      {"Elu", "alpha=\"0.5\"", [](double x) { return x > 0 ? x : 0.5 * std::expm1(x); }},
      {"Exp", "", [](double x) { return std::exp(x); }},
      {"Gelu", "approximation_mode=\"ERF\"",
       [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
      {"HSigmoid", "", [](double x) { return std::min(std::max(x + 3, 0.0), 6.0) / 6; }},
      {"HSwish", "", [](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; }},
      {"HardSigmoid",
       "",
       [](double x) { return std::min(std::max(0.25 * x + 0.5, 0.0), 1.0); },
       {0.25f, 0.5f}},
      {"Mish", "", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {"Negative", "", [](double x) { return -x; }},
      {"PReLU", "", [](double x) { return x > 0 ? x : 0.25 * x; }, {0.25f}},
      {"ReLU", "", [](double x) { return std::max(x, 0.0); }},
      {"Round", "mode=\"half_to_even\"", [](double x) { return std::nearbyint(x); }},
      {"Sigmoid", "", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"SoftPlus", "", [](double x) { return std::log1p(std::exp(x)); }},
      {"Swish", "", [](double x) { return x / (1 + std::exp(-2 * x)); }, {2.0f}},
      {"Tanh", "", [](double x) { return std::tanh(x); }},
  };
  for (const Function& function : list) {
    CAPTURE(function.type);
    Ir ir;
    std::vector<int> inputs{ir.input("x", {1, 40})};
    for (const float parameter : function.parameters) inputs.push_back(ir.floats({}, {parameter}));
    ir.output(ir.layer(function.type, "f", inputs, {1, 40}, function.data));
    Import import(ir.xml(), ir.options());
    REQUIRE_MESSAGE(import.good(), import.message());
    Random random(7);
    const std::vector<float> x = random.reals(40, -4.0f, 4.0f), y = run_import<float>(import, x);
    for (size_t i = 0; i < x.size(); ++i)
      CHECK(y[i] == doctest::Approx(function.f(static_cast<double>(x[i]))).epsilon(1e-4));
  }
}

TEST_CASE("layers that move elements") {
  // x [2, 6]: each element has its own number.
  const auto run = [](const Ir& ir) {
    Import import(ir.xml(), ir.options());
    REQUIRE_MESSAGE(import.good(), import.message());
    std::vector<float> x(12);
    for (size_t i = 0; i < 12; ++i) x[i] = static_cast<float>(i);
    return run_import<float>(import, x);
  };
  using Values = std::vector<float>;
  {
    Ir ir;  // [1:, ::-2], then one row of it
    const int x = ir.input("x", {2, 6});
    ir.output(ir.layer(
        "StridedSlice", "s", {x, ir.integers({1, 0}), ir.integers({2, 0}), ir.integers({1, -2})}, {3},
        "begin_mask=\"0, 1\" end_mask=\"0, 1\" new_axis_mask=\"0, 0\" shrink_axis_mask=\"1, 0\" "
        "ellipsis_mask=\"0, 0\""));
    CHECK(run(ir) == Values{11, 9, 7});
  }
  {
    Ir ir;
    const int x = ir.input("x", {2, 6});
    const int t = ir.layer("Transpose", "t", {x, ir.integers({1, 0})}, {6, 2});
    ir.output(
        ir.layer("Gather", "g", {t, ir.integers({4, 1}), ir.integers({0})}, {2, 2}, "batch_dims=\"0\""));
    CHECK(run(ir) == Values{4, 10, 1, 7});
  }
  {
    Ir ir;
    const int x = ir.input("x", {2, 6});
    const int p = ir.layer("Pad", "p", {x, ir.integers({0, 1}), ir.integers({1, 0}), ir.floats({}, {9.0f})},
                           {3, 7}, "pad_mode=\"constant\"");
    ir.output(ir.layer("Slice", "s",
                       {p, ir.integers({1}), ir.integers({3}), ir.integers({1}), ir.integers({0})}, {2, 7}));
    CHECK(run(ir) == Values{9, 6, 7, 8, 9, 10, 11, 9, 9, 9, 9, 9, 9, 9});
  }
  {
    Ir ir;
    const int x = ir.input("x", {2, 6});
    const int r = ir.layer("Reshape", "r", {x, ir.integers({0, 2, -1})}, {2, 2, 3}, "special_zero=\"true\"");
    ir.output(ir.layer("ReduceMax", "m", {r, ir.integers({2})}, {2, 2}, "keep_dims=\"false\""));
    CHECK(run(ir) == Values{2, 5, 8, 11});
  }
}

TEST_CASE("what is damaged or unknown is refused by name") {
  const auto whole = [](const std::string& xml) { return Import(xml).message(); };
  CHECK(whole("<?xml version=\"1.0\"?><net version=\"11\"><layers>").find("the OpenVINO IR is damaged: ") !=
        std::string::npos);
  CHECK(whole("<?xml version=\"1.0\"?><other/>").find("the XML file has no <net>; is it an OpenVINO IR?") !=
        std::string::npos);
  CHECK(whole("<net version=\"7\"></net>").find("OpenVINO IR version 7 is not supported (10 and 11 are)") !=
        std::string::npos);
  {
    Ir ir;
    ir.output(ir.layer("ROIAlign", "pool", {ir.input("x", {1, 4})}, {1, 4}));
    CHECK(refusal(ir).find("layer 'pool' (ROIAlign): this layer is not supported") != std::string::npos);
  }
  {
    Ir ir;
    ir.output(ir.layer("ReLU", "relu", {ir.input("x", {1, 4})}, {1, 4}, "slope=\"1\""));
    CHECK(refusal(ir).find("layer 'relu' (ReLU): attribute 'slope' is not supported") != std::string::npos);
  }
  {
    Ir ir;
    const int c = ir.floats({1, 4}, {1, 2, 3, 4});
    ir.output(ir.layer("Add", "add", {ir.input("x", {1, 4}), c}, {1, 4}, "auto_broadcast=\"numpy\""));
    ImportOptions options = ir.options();
    options.weights = {ir.weights().data(), 15};
    CHECK(Import(ir.xml(), options)
              .message()
              .find("constant 'c0' ends at byte 16 of the .bin file, which has 15; is it of "
                    "another .xml?") != std::string::npos);
    CHECK(Import(ir.xml()).message().find(
              "constant 'c0' stands in the file of weights, .bin, which has to lie beside the "
              ".xml") != std::string::npos);
  }
  {
    Ir ir;
    const int relu = ir.layer("ReLU", "a", {1}, {1, 4});
    ir.output(ir.layer("ReLU", "b", {relu}, {1, 4}));
    CHECK(refusal(ir).find("the layers read in a ring") != std::string::npos);
  }
  {
    Ir ir;
    ir.output(ir.layer("ReLU", "a", {7}, {1, 4}));
    CHECK(refusal(ir).find(
              "an edge goes from layer 7 port 9 to layer 0 port 0, which the file does not have") !=
          std::string::npos);
  }
}

TEST_CASE("any damage is refused, or gives a model that opens") {
  Ir ir;
  const int x = ir.input("x", {1, 4, 7, 6}), w = ir.floats({6, 4, 3, 3}, std::vector<float>(216, 0.5f));
  const int conv = ir.layer("Convolution", "conv", {x, w}, {1, 6, 3, 5}, kWindow);
  ir.output(ir.layer("Reshape", "r", {conv, ir.integers({1, -1})}, {1, 90}, "special_zero=\"true\""));
  check_random_damage(ir.xml(), 9, 3000, 3, ir.options());
}

}  // namespace intaglio::test::import_openvino_test
