// Products of two activations in ONNX and TFLite: MatMul, Gemm, Einsum, BATCH_MATMUL, FULLY_CONNECTED with computed weights, running sums.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/random.h"
#include "tests/support/run_widths.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_products_test {
namespace {

using tflite::Options;

std::vector<int64_t> wide(const Dims& dims) { return {dims.begin(), dims.end()}; }

void check_close(const std::vector<float>& got, const std::vector<double>& expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(std::fabs(got[i] - expected[i]) <= 1e-4);
}

std::vector<float> run(Import& import, const std::vector<std::vector<float>>& inputs) {
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
  for (size_t i = 0; i < inputs.size(); ++i) model.set_input(inputs[i], static_cast<int32_t>(i));
  model.session().run();
  return model.output<float>();
}

// Sums over every letter that `y` lacks.
std::vector<double> einsum(const std::string& a_axes, const std::string& b_axes, const std::string& y_axes,
                           const std::vector<float>& a, const std::vector<float>& b,
                           const int32_t (&sizes)[128]) {
  std::string all;
  for (const char c : a_axes + b_axes)
    if (all.find(c) == std::string::npos) all += c;
  const auto count = [&](const std::string& axes) {
    size_t n = 1;
    for (const char c : axes) n *= static_cast<size_t>(sizes[static_cast<size_t>(c)]);
    return n;
  };
  std::vector<double> y(count(y_axes), 0.0);
  for (size_t i = 0; i < count(all); ++i) {
    size_t at[128] = {}, rest = i;
    for (const char c : all) {
      at[static_cast<size_t>(c)] = rest % static_cast<size_t>(sizes[static_cast<size_t>(c)]);
      rest /= static_cast<size_t>(sizes[static_cast<size_t>(c)]);
    }
    const auto index = [&](const std::string& axes) {
      size_t n = 0;
      for (const char c : axes)
        n = n * static_cast<size_t>(sizes[static_cast<size_t>(c)]) + at[static_cast<size_t>(c)];
      return n;
    };
    y[index(y_axes)] += static_cast<double>(a[index(a_axes)]) * static_cast<double>(b[index(b_axes)]);
  }
  return y;
}

struct Sizes {
  int32_t of[128];
  Sizes() {
    const char* const letters = "bhqkdmn";
    const int32_t sizes[] = {2, 3, 4, 5, 6, 7, 2};
    for (int32_t& size : of) size = 1;
    for (size_t i = 0; letters[i] != '\0'; ++i) of[static_cast<size_t>(letters[i])] = sizes[i];
  }
  Dims dims(const std::string& axes) const {
    Dims dims;
    for (const char c : axes) dims.push_back(of[static_cast<size_t>(c)]);
    return dims;
  }
};

}  // namespace

TEST_CASE("Einsum of two inputs, or of one and a constant on either side") {
  const Sizes sizes;
  const struct {
    const char *a, *b, *y;
  } cases[] = {{"bhqd", "bhkd", "bhqk"}, {"bqhd", "bkhd", "bhqk"}, {"hqk", "khd", "qhd"},
               {"bqd", "dm", "bqm"},     {"md", "bqd", "bmq"},     {"q", "k", "qk"},
               {"bqk", "bqk", "b"},      {"bd", "bd", "bd"},       {"hqd", "nd", "nhq"},
               {"qk", "k", "q"}};
  Random random(1);
  for (const auto& c : cases)
    for (const int constant : {-1, 0, 1}) {
      CAPTURE(std::string(c.a) + "," + c.b + "->" + c.y);
      CAPTURE(constant);
      const Dims da = sizes.dims(c.a), db = sizes.dims(c.b);
      const std::vector<float> a = random.reals(elements(da), -2, 2), b = random.reals(elements(db), -2, 2);
      OnnxBuilder file(13);
      std::vector<std::vector<float>> inputs;
      const auto operand = [&](const char* name, const Dims& dims, const std::vector<float>& values,
                               bool is_constant) {
        if (is_constant) {
          file.floats(name, wide(dims), values);
        } else {
          file.input(name, wide(dims));
          inputs.push_back(values);
        }
      };
      operand("p", da, a, constant == 0);
      operand("q", db, b, constant == 1);
      auto& attribute = file.node("Einsum", {"p", "q"}, "y").attribute.add();
      attribute.name = "equation";
      attribute.type = onnx_file::AttributeProto::STRING;
      attribute.s = std::string(c.a) + ", " + c.b + " -> " + c.y;
      file.output("y");
      Import import(file.bytes());
      std::vector<float> found = run(import, inputs);
      check_close(found, einsum(c.a, c.b, c.y, a, b, sizes.of));
    }
}

TEST_CASE("equations that are no product of two are refused") {
  const auto message = [](const std::string& equation) {
    OnnxBuilder file(13);
    file.input("p", {2, 2});
    file.input("q", {2, 2});
    auto& attribute = file.node("Einsum", {"p", "q"}, "y").attribute.add();
    attribute.name = "equation";
    attribute.type = onnx_file::AttributeProto::STRING;
    attribute.s = equation;
    file.output("y");
    return Import(file.bytes()).message();
  };
  const auto holds = [](const std::string& text, const std::string& part) {
    CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  };
  holds(message("ii,ij->ij"), "it takes a diagonal, i stands twice");
  holds(message("...j,jk->...k"), "letters are axes, and two operands are expected");
  holds(message("ij,jk,kl->il"), "letters are axes, and two operands are expected");
  holds(message("ij,kl->il"), "it sums one operand alone, over j");
  holds(message("ijk,kl->ijl"), "does not fit inputs of rank 2 and 2");
  holds(message("ij,jk->im"), "has an axis m that no input has");
  CHECK(message("ij,jk").empty());
}

TEST_CASE("MatMul of any ranks") {
  const struct {
    Dims a, b, y;
  } cases[] = {{{2, 3, 4, 5}, {2, 3, 5, 6}, {2, 3, 4, 6}},
               {{3, 4, 5}, {5, 6}, {3, 4, 6}},
               {{4, 5}, {3, 5, 6}, {3, 4, 6}},
               {{2, 1, 4, 5}, {3, 5, 6}, {2, 3, 4, 6}},
               {{5}, {5, 6}, {6}},
               {{4, 5}, {5}, {4}},
               {{5}, {5}, {1}},
               {{3, 4, 5}, {5}, {3, 4}},
               {{5}, {3, 5, 6}, {3, 6}}};
  Random random(2);
  for (const auto& c : cases)
    for (const int constant : {-1, 0, 1}) {
      CAPTURE(c.a.size());
      CAPTURE(c.b.size());
      CAPTURE(constant);
      const std::vector<float> a = random.reals(elements(c.a), -2, 2), b = random.reals(elements(c.b), -2, 2);
      OnnxBuilder file(13);
      std::vector<std::vector<float>> inputs;
      if (constant == 0) file.floats("p", wide(c.a), a);
      if (constant != 0) file.input("p", wide(c.a)), inputs.push_back(a);
      if (constant == 1) file.floats("q", wide(c.b), b);
      if (constant != 1) file.input("q", wide(c.b)), inputs.push_back(b);
      file.node("MatMul", {"p", "q"}, "y");
      file.output("y");
      Import import(file.bytes());
      const std::vector<float> found = run(import, inputs);
      CHECK(import.dims(import.output()) == c.y);
      // As matrices with all axes.
      Dims da = c.a, db = c.b;
      if (da.size() == 1) da.insert(da.begin(), 1);
      if (db.size() == 1) db.push_back(1);
      const auto m = static_cast<size_t>(da[da.size() - 2]), k = static_cast<size_t>(da.back()),
                 n = static_cast<size_t>(db.back());
      std::vector<double> expected(elements(c.y), 0.0);
      const Dims batch_a(da.begin(), da.end() - 2), batch_b(db.begin(), db.end() - 2);
      for (size_t i = 0; i < expected.size() / (m * n); ++i) {
        const auto matrix = [&](const Dims& own) {
          const Dims& longer = batch_a.size() > batch_b.size() ? batch_a : batch_b;
          size_t index = 0, step = 1, rest = i;
          for (size_t d = 1; d <= longer.size(); ++d) {
            const size_t pa = d <= batch_a.size() ? static_cast<size_t>(batch_a[batch_a.size() - d]) : 1;
            const size_t pb = d <= batch_b.size() ? static_cast<size_t>(batch_b[batch_b.size() - d]) : 1;
            const size_t size = d <= own.size() ? static_cast<size_t>(own[own.size() - d]) : 1;
            if (size > 1) index += rest % std::max(pa, pb) * step;
            step *= size;
            rest /= std::max(pa, pb);
          }
          return index;
        };
        for (size_t row = 0; row < m; ++row)
          for (size_t column = 0; column < n; ++column)
            for (size_t j = 0; j < k; ++j)
              expected[(i * m + row) * n + column] +=
                  static_cast<double>(a[(matrix(batch_a) * m + row) * k + j]) *
                  static_cast<double>(b[(matrix(batch_b) * k + j) * n + column]);
      }
      check_close(found, expected);
    }
}

TEST_CASE("a Transpose of the second operand's matrices goes into the product") {
  OnnxBuilder file(13);
  file.input("p", {2, 3, 4});
  file.input("q", {2, 5, 4});
  auto& perm = file.node("Transpose", {"q"}, "t").attribute.add();
  perm.name = "perm";
  perm.type = onnx_file::AttributeProto::INTS;
  for (const int64_t axis : {0, 2, 1}) perm.ints.push_back(axis);
  file.node("MatMul", {"p", "t"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.ops() == std::vector<Op>{Op::kBatchMatMul});
  CHECK(import.node(Op::kBatchMatMul).options.as<BatchMatMulOptions>().transpose_b);
}

TEST_CASE("Gemm of activations: alpha, beta and a third input that is computed, or repeated") {
  Random random(3);
  for (const bool constant_c : {false, true})
    for (const bool transposed : {false, true}) {
      const std::vector<float> a = random.reals(6, -2, 2), b = random.reals(12, -2, 2),
                               c = random.reals(2, -2, 2);
      OnnxBuilder file(13);
      file.input("a", transposed ? std::vector<int64_t>{3, 2} : std::vector<int64_t>{2, 3});
      file.input("b", transposed ? std::vector<int64_t>{4, 3} : std::vector<int64_t>{3, 4});
      std::vector<std::vector<float>> inputs{a, b};
      if (constant_c) file.floats("c", {2, 1}, c);
      if (!constant_c) file.input("c", {2, 1}), inputs.push_back(c);
      auto& node = file.node("Gemm", {"a", "b", "c"}, "y");
      const auto set = [&](const char* name, auto value) {
        auto& attribute = node.attribute.add();
        attribute.name = name;
        attribute.type =
            sizeof value == 4 ? onnx_file::AttributeProto::FLOAT : onnx_file::AttributeProto::INT;
        if (sizeof value == 4)
          attribute.f = static_cast<float>(value);
        else
          attribute.i = static_cast<int64_t>(value);
      };
      set("alpha", 0.5f);
      set("beta", 2.0f);
      set("transA", int64_t{transposed});
      set("transB", int64_t{transposed});
      file.output("y");
      Import import(file.bytes());
      std::vector<double> expected;
      for (size_t i = 0; i < 2; ++i)
        for (size_t j = 0; j < 4; ++j) {
          double sum = 0.0;
          for (size_t k = 0; k < 3; ++k)
            sum += static_cast<double>(a[transposed ? k * 2 + i : i * 3 + k]) *
                   static_cast<double>(b[transposed ? j * 3 + k : k * 4 + j]);
          expected.push_back(0.5 * sum + 2.0 * static_cast<double>(c[i]));
        }
      check_close(run(import, inputs), expected);
    }
}

TEST_CASE("BATCH_MATMUL in float and int8, and a FULLY_CONNECTED with computed weights") {
  Random random(4);
  const std::vector<float> a = random.reals(24, -2, 2), b = random.reals(40, -2, 2);
  std::vector<double> expected;
  for (size_t batch = 0; batch < 2; ++batch)
    for (size_t i = 0; i < 3; ++i)
      for (size_t j = 0; j < 5; ++j) {
        double sum = 0.0;
        for (size_t k = 0; k < 4; ++k)
          sum +=
              static_cast<double>(a[batch * 12 + k * 3 + i]) * static_cast<double>(b[batch * 20 + j * 4 + k]);
        expected.push_back(sum);
      }
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {2, 4, 3}), w = file.tensor("w", kTfliteFloat, {2, 5, 4});
  const int32_t y = file.tensor("y", kTfliteFloat, {2, 3, 5});
  file.op(126, {x, w}, {y}, Options::BatchMatMulOptions,
          tflite::CreateBatchMatMulOptions(file.fbb(), true, true).Union());
  Import product(file.finish({x, w}, {y}));
  check_close(run(product, {a, b}), expected);

  TfliteBuilder codes;
  const int32_t p = codes.tensor("p", kTfliteInt8, {2, 3}, TfliteScales{{0.5f}});
  const int32_t q = codes.tensor("q", kTfliteInt8, {2, 3}, {{0.25f}, 1});
  const int32_t r = codes.tensor("r", kTfliteInt8, {2, 2}, {{0.5f}, -2});
  codes.op(126, {p, q}, {r}, Options::BatchMatMulOptions,
           tflite::CreateBatchMatMulOptions(codes.fbb(), false, true).Union());
  Import quantized(codes.finish({p, q}, {r}));
  REQUIRE_MESSAGE(quantized.good(), quantized.message());
  CHECK(quantized.ops() == std::vector<Op>{Op::kBatchMatMul});
  RunningModel model(quantized.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
  const std::vector<int8_t> left{1, 2, 3, -4, 5, -6}, right{9, -7, 5, 3, 1, -1};
  model.set_input(left, 0);
  model.set_input(right, 1);
  model.session().run();
  const std::vector<int8_t> found = model.output<int8_t>();
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 2; ++j) {
      float sum = 0.0f;
      for (size_t k = 0; k < 3; ++k)
        sum += 0.5f * left[i * 3 + k] * 0.25f * static_cast<float>(right[j * 3 + k] - 1);
      CHECK(found[i * 2 + j] == static_cast<int>(std::nearbyint(sum / 0.5f)) - 2);
    }

  TfliteBuilder layer;
  const int32_t rows = layer.tensor("x", kTfliteFloat, {2, 3}),
                weights = layer.tensor("w", kTfliteFloat, {2, 3});
  const int32_t bias = layer.constant("b", kTfliteFloat, {2}, std::vector<float>{1, -100});
  const int32_t out = layer.tensor("y", kTfliteFloat, {2, 2});
  layer.op(kTfliteFullyConnected, {rows, weights, bias}, {out}, Options::FullyConnectedOptions,
           tflite::CreateFullyConnectedOptions(layer.fbb(), tflite::Activation::Relu).Union());
  Import computed(layer.finish({rows, weights}, {out}));
  check_close(run(computed, {{1, 2, 3, 4, 5, 6}, {1, 1, 1, 2, 2, 2}}), {7, 0, 16, 0});
}

TEST_CASE("CumSum: exclusive, backwards, along any axis") {
  for (const bool exclusive : {false, true})
    for (const bool reverse : {false, true}) {
      OnnxBuilder file(14);
      file.input("x", {2, 3});
      file.integers("axis", {0, 1}).dims.clear();
      file.graph().initializer[0].int64_data.clear();
      file.graph().initializer[0].int64_data.push_back(1);
      auto& node = file.node("CumSum", {"x", "axis"}, "y");
      for (const char* const name : {"exclusive", "reverse"}) {
        auto& attribute = node.attribute.add();
        attribute.name = name;
        attribute.type = onnx_file::AttributeProto::INT;
        attribute.i = std::string(name) == "reverse" ? reverse : exclusive;
      }
      file.output("y");
      Import import(file.bytes());
      const std::vector<double> expected =
          reverse
              ? (exclusive ? std::vector<double>{5, 3, 0, 11, 6, 0} : std::vector<double>{6, 5, 3, 15, 11, 6})
              : (exclusive ? std::vector<double>{0, 1, 3, 0, 4, 9} : std::vector<double>{1, 3, 6, 4, 9, 15});
      check_close(run(import, {{1, 2, 3, 4, 5, 6}}), expected);
    }
}

}  // namespace intaglio::test::import_products_test
