// The ONNX importer on files with ends, names and faults of every kind: what is refused, and how it is said.
#include "tests/support/imported.h"
#include "tests/support/random.h"
#include "tests/support/small_onnx_network.h"

namespace intaglio::test::import_onnx_refusal_test {

TEST_CASE("an input that is also an output's only source is copied") {
  OnnxBuilder file;
  file.input("x", {1, 3});
  file.node("Identity", {"x"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, std::vector<float>{1, 2, 3}) == std::vector<float>{1, 2, 3});
}

TEST_CASE("open dimensions") {
  OnnxBuilder file;
  file.input("x", {0, 3});
  file.floats("w", {3, 2}, {1, 2, 3, 4, 5, 6});
  file.node("MatMul", {"x", "w"}, "m");
  file.integers("shape", {1, 2});
  file.node("Reshape", {"m", "shape"}, "y");
  file.output("y");
  ImportOptions options;
  options.batch = 4;
  Import batch(file.bytes(), options);
  REQUIRE_MESSAGE(batch.good(), batch.message());
  CHECK(batch.dims(batch.output()) == std::vector<int32_t>{4, 2});

  OnnxBuilder open;
  open.input("x", {1, 3, 0, 0});
  open.node("GlobalAveragePool", {"x"}, "y");
  open.output("y");
  Import refused(open.bytes());
  CHECK(refused.says("dimension 2 ('N'), 3 ('N') open"));
  CHECK(refused.says("--shape x="));
  options = {};
  options.shapes.push_back({"x", {1, 3, 4, 4}});
  Import given(open.bytes(), options);
  CHECK_MESSAGE(given.good(), given.message());
  options.shapes[0].input = "z";
  Import other(open.bytes(), options);
  CHECK(other.says("'z'"));
}

TEST_CASE("everything that is not supported is listed at once") {
  OnnxBuilder file;
  file.input("x", {1, 4});
  file.node("Det", {"x"}, "a");
  file.node("Relu", {"a"}, "b");
  file.node("Unique", {"b"}, "c");
  file.node("Foo", {"x"}, "y").domain = "com.example";
  file.output("c");
  file.output("y");
  Import import(file.bytes());
  CHECK(import.says("3 problems"));
  CHECK(import.says("'a_node' (Det)"));
  CHECK(import.says("'c_node' (Unique)"));
  CHECK(import.says("'y_node' (Foo): this operator is not supported (domain 'com.example')"));
}

TEST_CASE("faults of the file are named") {
  const auto message = [](OnnxBuilder& file) { return Import(file.bytes()).message(); };
  const auto holds = [](const std::string& text, const std::string& part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  SUBCASE("opset") {
    for (const int64_t opset : {6, 7, 28, 29}) {
      OnnxBuilder file(opset);
      file.input("x", {1, 2});
      file.node("Relu", {"x"}, "y");
      file.output("y");
      if (opset == 7 || opset == 28) CHECK(message(file).empty());
      if (opset < 7 || opset > 28)
        holds(message(file), "ONNX opset " + std::to_string(opset) + " is not supported (7 to 28 are)");
    }
  }
  SUBCASE("external data") {
    OnnxBuilder file = small_network();
    file.graph().initializer[0].data_location = onnx_file::TensorProto::EXTERNAL;
    holds(message(file), "external data");
  }
  SUBCASE("too few bytes") {
    OnnxBuilder file = small_network();
    file.graph().initializer[0].raw_data.set(std::string(100, '\0'));
    holds(message(file), "'w1': it holds 100 bytes, its dimensions need 432");
  }
  SUBCASE("huge dimensions") {
    OnnxBuilder file = small_network();
    for (int i = 0; i < 4; ++i) file.graph().initializer[0].dims[i] = int64_t{1} << 40;
    holds(message(file), "'w1': dimension 1099511627776");
  }
  SUBCASE("dimensions whose product overflows") {
    OnnxBuilder file = small_network();
    for (int i = 0; i < 4; ++i) file.graph().initializer[0].dims[i] = int64_t{1} << 16;
    holds(message(file), "'w1': dimension 65536");
  }
  SUBCASE("a huge input") {
    OnnxBuilder file;
    file.input("x", {1, 1 << 16, 1 << 16});
    file.node("Relu", {"x"}, "y");
    file.output("y");
    holds(message(file), "input 'x': a tensor of shape [1, 65536, 65536] is larger");
  }
  SUBCASE("weights that are not finite") {
    OnnxBuilder file;
    file.input("x", {1, 2});
    file.floats("w", {2, 2}, {1, 2, 3, NAN});
    set(file.node("Gemm", {"x", "w"}, "y"), "transB", int64_t{1});
    file.output("y");
    holds(message(file), "constant 'w' holds nan in channel 1");
  }
  SUBCASE("a missing tensor") {
    OnnxBuilder file;
    file.input("x", {1, 2});
    file.node("Add", {"x", "ghost"}, "y");
    file.output("y");
    holds(message(file), "input 1 ('ghost') is read before anything writes it");
  }
  SUBCASE("a missing output") {
    OnnxBuilder file;
    file.input("x", {1, 2});
    file.node("Relu", {"x"}, "y");
    file.output("z");
    holds(message(file), "output 'z'");
  }
  SUBCASE("weights that do not fit") {
    OnnxBuilder file;
    file.input("x", {1, 5, 4, 4});
    file.floats("w", {2, 3, 1, 1}, std::vector<float>(6));
    file.node("Conv", {"x", "w"}, "y");
    file.output("y");
    holds(message(file), "1 groups and weights [2, 3, 1, 1] do not fit an input of 5 channels");
  }
  SUBCASE("stride 0") {
    OnnxBuilder file;
    file.input("x", {1, 1, 4, 4});
    file.floats("w", {1, 1, 1, 1}, {1});
    set(file.node("Conv", {"x", "w"}, "y"), "strides", std::vector<int64_t>{0, 1});
    file.output("y");
    holds(message(file), "stride 0 is not allowed");
  }
  SUBCASE("an attribute that would be ignored") {
    OnnxBuilder file;
    file.input("x", {1, 2});
    set(file.node("Relu", {"x"}, "y"), "alpha", 0.1f);
    file.output("y");
    holds(message(file), "attribute 'alpha'");
  }
  SUBCASE("an output that reads its own node") {
    OnnxBuilder file;
    file.input("x", {1, 2});
    file.node("Add", {"x", "y"}, "y");
    file.output("y");
    holds(message(file), "input 1 ('y') is read before anything writes it");
  }
}

TEST_CASE("long, doubled and broken names become good ones") {
  OnnxBuilder file;
  const std::string name(400, 'n');
  file.input(name, {1, 2});
  file.node("Relu", {name}, "a").name = "same";
  file.node("Softmax", {"a"}, "b\xff\n").name = "same";
  file.output("b\xff\n");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(std::string(import.input().name) == std::string(255, 'n'));
  CHECK(std::string(import.output().name) == "b??");
  CHECK(std::string(import.graph().nodes[1].name) == "same~2");
  RunningModel model(import.write());
  CHECK_MESSAGE(model.error().ok(), text_of(model.error()));
}

TEST_CASE("messages are short, whatever the file says") {
  const std::string name(1 << 20, 'n');
  const auto check = [](const OnnxBuilder& file, const std::string& part) {
    Import import(file.bytes());
    REQUIRE(!import.good());
    CHECK(import.message().size() < 2000);
    CHECK_MESSAGE(import.says(part), import.message());
  };
  OnnxBuilder dims;
  dims.input("x", std::vector<int64_t>(100000, 1));
  dims.node("Relu", {"x"}, "y");
  dims.output("y");
  check(dims, "1, ..., of 100000]");
  OnnxBuilder constant;
  constant.input("x", {1, 2});
  constant.floats("w", std::vector<int64_t>(100000, 1), {1});
  constant.node("Gemm", {"x", "w"}, "y");
  constant.output("y");
  check(constant, "node 'y_node' (Gemm)");
  OnnxBuilder op_type;
  op_type.input("x", {1, 2});
  op_type.node(name, {"x"}, "y").domain = name;
  op_type.output("y");
  check(op_type, "this operator is not supported");
  for (const size_t bytes : {4000u, 4097u}) {
    OnnxBuilder names;
    const std::string tensor(bytes, 'n');
    names.input(tensor, {1, 2});
    auto& node = names.node("Relu", {tensor}, tensor + "o");
    set(node, name, int64_t{1});
    names.output(tensor + "o");
    check(names, bytes < 4096 ? "is not supported" : "has 4097 bytes; at most 4096 are supported");
  }
  OnnxBuilder open;  // dimensions that are open, each with a name
  open.input("x", std::vector<int64_t>(100000, 0));
  open.node("Relu", {"x"}, "y");
  open.output("y");
  check(open, "open; give the sizes, with numbers for what is open: --shape x=1,N,N,N,N,N");
}

TEST_CASE("preprocessing becomes part of the model") {
  ImportOptions options;
  options.image.emplace();
  options.image->mean = {1, 2, 3};
  options.image->norm = {0.5f};
  options.image->color = ColorOrder::kBgr;
  Import import(small_network().bytes(), options);
  REQUIRE_MESSAGE(import.good(), import.message());
  REQUIRE(import.graph().images.size() == 1);
  const ImageInput& image = import.graph().images[0];
  CHECK(image.channels == 3);
  CHECK(image.mean[2] == 3.0f);
  CHECK(image.norm[1] == 0.5f);
  CHECK(image.color == ColorOrder::kBgr);
  RunningModel model(import.write());
  CHECK_MESSAGE(model.error().ok(), text_of(model.error()));

  options.image->norm = {1, 2};
  Import refused(small_network().bytes(), options);
  CHECK(refused.says("norm has 2 values where the input has 3 channels"));
}

TEST_CASE("cut short at every length: refused, or a model that opens") {
  const std::string bytes = small_network().bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const AlignedBytes exact(Span<const uint8_t>(reinterpret_cast<const uint8_t*>(bytes.data()), size));
    Import import(exact.view());
    CHECK(!import.good());
    CHECK(!import.message().empty());
  }
}

TEST_CASE("random damage: refused with a message, or a model that opens") {
  check_random_damage(small_network().bytes(), 11, 3000, 4);
}

}  // namespace intaglio::test::import_onnx_refusal_test
