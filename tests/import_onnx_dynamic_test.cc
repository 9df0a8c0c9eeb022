// Products of integers as dynamic quantization writes them: activations stay FP32, weights keep their codes.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_onnx_dynamic_test {
namespace {

using Reals = std::vector<float>;

onnx_file::TensorProto& codes(OnnxBuilder& file, const std::string& name, const std::vector<int64_t>& dims,
                              const std::string& bytes, onnx_file::TensorProto::DataType type) {
  onnx_file::TensorProto& tensor = file.graph().initializer.add();
  tensor.name = name;
  tensor.data_type = type;
  for (const int64_t dim : dims) tensor.dims.push_back(dim);
  tensor.raw_data.set(bytes);
  return tensor;
}

void add_dynamic_quantize(OnnxBuilder& file) {
  auto& node = file.node("DynamicQuantizeLinear", {"x"}, "xq");
  node.output.push_back("x_scale");
  node.output.push_back("x_zero");
}

// The product times both scales, as reals.
void add_scales(OnnxBuilder& file) {
  set(file.node("Cast", {"product"}, "real"), "to", int64_t{onnx_file::TensorProto::FLOAT});
  file.node("Mul", {"x_scale", "w_scale"}, "scale");
  file.node("Mul", {"real", "scale"}, "y");
  file.output("y");
}

using Type = onnx_file::TensorProto;

}  // namespace

TEST_CASE("a dynamically quantized layer is the product of x and the weights' codes") {
  for (const bool is_unsigned : {true, false}) {
    OnnxBuilder file;
    file.input("x", {2, 2});
    const std::string bytes = is_unsigned ? std::string("\x80\x82\x7f\xff\x00\x81", 6)  // 0 2 -1 127 -128 1
                                          : std::string("\x00\x02\xff\x7f\x80\x01", 6);
    const Type::DataType type = is_unsigned ? Type::UINT8 : Type::INT8;
    codes(file, "w", {2, 3}, bytes, type);
    codes(file, "w_zero", {}, is_unsigned ? "\x80" : std::string(1, '\0'), type);
    file.floats("w_scale", {1}, {0.5f});
    add_dynamic_quantize(file);
    file.node("MatMulInteger", {"xq", "w", "x_zero", "w_zero"}, "product");
    add_scales(file);
    CHECK(run_file(file.bytes(), {1, 0, 0.25f, 2}) == Reals{0, 1, -0.5f, 127, -127.75f, 0.875f});
    Import import(file.bytes());
    CHECK(import.count(Op::kFullyConnected) == 1);
  }
}

TEST_CASE("weights with a zero point for each column") {
  OnnxBuilder file;
  file.input("x", {1, 2});
  codes(file, "w", {2, 2}, std::string("\x01\x02\x03\x04", 4), Type::INT8);
  codes(file, "w_zero", {2}, std::string("\x01\xff", 2), Type::INT8);  // 1, -1
  file.floats("w_scale", {1}, {1});
  add_dynamic_quantize(file);
  file.node("MatMulInteger", {"xq", "w", "x_zero", "w_zero"}, "product");
  add_scales(file);
  CHECK(run_file(file.bytes(), {10, 100}) == Reals{200, 530});
}

TEST_CASE("a dynamically quantized convolution") {
  OnnxBuilder file;
  file.input("x", {1, 1, 1, 3});
  codes(file, "w", {1, 1, 1, 2}, std::string("\x83\x7e", 2), Type::UINT8);
  codes(file, "w_zero", {}, "\x80", Type::UINT8);
  file.floats("w_scale", {1}, {0.5f});
  add_dynamic_quantize(file);
  auto& node = file.node("ConvInteger", {"xq", "w", "x_zero", "w_zero"}, "product");
  set(node, "pads", std::vector<int64_t>{0, 1, 0, 0});
  add_scales(file);
  CHECK(run_file(file.bytes(), {1, 2, 4}) == Reals{-1, -0.5f, -1});
}

TEST_CASE("integers of their own: the zero point is taken off") {
  OnnxBuilder file;
  file.input("x", {1, 2});
  file.graph().input[0].type.make().tensor_type.make().elem_type = Type::UINT8;
  codes(file, "w", {2, 1}, std::string("\x02\x03", 2), Type::UINT8);
  codes(file, "x_zero", {}, "\x0a", Type::UINT8);
  file.node("MatMulInteger", {"x", "w", "x_zero"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<int32_t>(import, Reals{12, 9}) == std::vector<int32_t>{1});
}

TEST_CASE("dynamic quantization that does not fit is refused") {
  const auto message = [](const std::vector<int64_t>& w, const std::vector<int64_t>& zero) {
    OnnxBuilder file;
    file.input("x", {1, 2});
    int64_t count = 1, zeros = 1;
    for (const int64_t dim : w) count *= dim;
    for (const int64_t dim : zero) zeros *= dim;
    codes(file, "w", w, std::string(static_cast<size_t>(count), '\1'), Type::INT8);
    codes(file, "w_zero", zero, std::string(static_cast<size_t>(zeros), '\1'), Type::INT8);
    file.floats("w_scale", {1}, {1});
    add_dynamic_quantize(file);
    file.node("MatMulInteger", {"xq", "w", "x_zero", "w_zero"}, "product");
    add_scales(file);
    return Import(file.bytes()).message();
  };
  CHECK(message({2, 3}, {3}).empty());
  CHECK(message({2, 3}, {2}).find("it has 2 zero points for 3 channels") != std::string::npos);
  CHECK(message({2}, {}).find("its weights have rank 1; 2 or more is expected") != std::string::npos);
  CHECK(message({3, 2}, {}).find("MatMulInteger") != std::string::npos);
  CHECK(message({2, 3}, {0}).find("it has 0 zero points for 3 channels") != std::string::npos);
}

TEST_CASE("a convolution of integers that does not fit is refused") {
  const auto message = [](const std::vector<int64_t>& w, const std::vector<int64_t>& zero) {
    OnnxBuilder file;
    file.input("x", {1, 1, 1, 3});
    codes(file, "w", w, "\1", Type::INT8);
    codes(file, "w_zero", zero, std::string(zero.empty() ? 1 : 0, '\1'), Type::INT8);
    file.node("ConvInteger", {"x", "w", "", "w_zero"}, "y");
    file.output("y");
    return Import(file.bytes()).message();
  };
  CHECK(message({1, 1, 1, 1}, {}).empty());
  CHECK(message({}, {0}).find("'y_node' (ConvInteger): its weights have no axis 0: their shape is []") !=
        std::string::npos);
  CHECK(message({1, 1, 1, 1}, {0}).find("it has 0 zero points for 1 channels") != std::string::npos);
}

TEST_CASE("codes and zero points of a product have 8 bits") {
  const auto message = [](int64_t code, int64_t zero, int64_t x_zero) {
    OnnxBuilder file;
    file.input("x", {1, 1});
    const auto one = [&](const std::string& name, const std::vector<int64_t>& dims, int64_t value) {
      codes(file, name, dims, std::string(reinterpret_cast<const char*>(&value), sizeof value), Type::INT64);
    };
    one("w", {1, 1}, code);
    one("w_zero", {}, zero);
    one("x_zero", {}, x_zero);
    file.node("MatMulInteger", {"x", "w", "x_zero", "w_zero"}, "y");
    file.output("y");
    return Import(file.bytes()).message();
  };
  CHECK(message(255, -128, 255).empty());
  const auto says = [](const std::string& found, const char* input, int64_t value) {
    return found == "model cannot be imported: node 'y_node' (MatMulInteger): input '" + std::string(input) +
                        "' holds " + std::to_string(value) + "; codes of 8 bits are -128 to 255";
  };
  CHECK(says(message(INT64_MIN, 1, 0), "w", INT64_MIN));
  CHECK(says(message(256, 0, 0), "w", 256));
  CHECK(says(message(0, INT64_MIN, 0), "w_zero", INT64_MIN));
  CHECK(says(message(0, -129, 0), "w_zero", -129));
  CHECK(says(message(0, 0, 256), "x_zero", 256));
}

}  // namespace intaglio::test::import_onnx_dynamic_test
