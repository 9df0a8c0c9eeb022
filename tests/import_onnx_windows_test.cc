// ONNX convolutions, pools and batch norms: what each attribute becomes, and the exact words for what does not
// fit.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_onnx_windows_test {
namespace {

using Ints = std::vector<int64_t>;
using Change = std::function<void(OnnxBuilder&, OnnxBuilder::Node&)>;

// x [1, 4, 9, 8] and weights [6, 4 / groups, 3, 2].
Import conv(const Change& change, int64_t groups = 1, const Ints& weights = {}) {
  OnnxBuilder file;
  file.input("x", {1, 4, 9, 8});
  const Ints dims = weights.empty() ? Ints{6, 4 / groups, 3, 2} : weights;
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  file.floats("w", dims, std::vector<float>(static_cast<size_t>(count), 0.5f));
  auto& node = file.node("Conv", {"x", "w"}, "y");
  change(file, node);
  file.output("y");
  return Import(file.bytes());
}

Import pool(const char* op, const Change& change, const Ints& kernel = {3, 2}) {
  OnnxBuilder file;
  file.input("x", {1, 4, 9, 8});
  auto& node = file.node(op, {"x"}, "y");
  if (!kernel.empty()) set(node, "kernel_shape", kernel);
  change(file, node);
  file.output("y");
  return Import(file.bytes());
}

void check_message(const Import& import, const std::string& node, const std::string& problem) {
  CHECK(!import.good());
  CHECK(import.message() == "model cannot be imported: " + node + ": " + problem);
}

void check_window(const Window2d& found, const Window2d& expected) {
  CHECK(found.kernel_h == expected.kernel_h);
  CHECK(found.kernel_w == expected.kernel_w);
  CHECK(found.stride_h == expected.stride_h);
  CHECK(found.stride_w == expected.stride_w);
  CHECK(found.dilation_h == expected.dilation_h);
  CHECK(found.dilation_w == expected.dilation_w);
  CHECK(found.pad_top == expected.pad_top);
  CHECK(found.pad_left == expected.pad_left);
  CHECK(found.pad_bottom == expected.pad_bottom);
  CHECK(found.pad_right == expected.pad_right);
  CHECK(found.count_include_pad == expected.count_include_pad);
}

const Change kNone = [](OnnxBuilder&, OnnxBuilder::Node&) {};

template <typename Value>
Change with(const char* name, Value value) {
  return [=](OnnxBuilder&, OnnxBuilder::Node& node) { set(node, name, value); };
}

}  // namespace

TEST_CASE("convolutions: attributes become the window") {
  Import plain = conv(kNone);
  check_window(plain.node(Op::kConv2d).options.as<Window2d>(), {3, 2, 1, 1, 1, 1, 0, 0, 0, 0, false});
  Import all = conv([](OnnxBuilder&, OnnxBuilder::Node& node) {
    set(node, "kernel_shape", Ints{3, 2});
    set(node, "strides", Ints{2, 3});
    set(node, "dilations", Ints{3, 2});
    set(node, "pads", Ints{1, 2, 4, 1});
    set(node, "group", int64_t{1});
  });
  check_window(all.node(Op::kConv2d).options.as<Window2d>(), {3, 2, 2, 3, 3, 2, 1, 2, 4, 1, false});
  CHECK(all.dims(all.output()) == std::vector<int32_t>{1, 6, 4, 3});
  Import upper = conv(with("auto_pad", "SAME_UPPER")), lower = conv(with("auto_pad", "SAME_LOWER"));
  check_window(upper.node(Op::kConv2d).options.as<Window2d>(), {3, 2, 1, 1, 1, 1, 1, 0, 1, 1, false});
  check_window(lower.node(Op::kConv2d).options.as<Window2d>(), {3, 2, 1, 1, 1, 1, 1, 1, 1, 0, false});
  Import valid = conv(with("auto_pad", "VALID"));
  check_window(valid.node(Op::kConv2d).options.as<Window2d>(), {3, 2, 1, 1, 1, 1, 0, 0, 0, 0, false});
  // With a mode, pads count for nothing.
  Import both = conv([](OnnxBuilder&, OnnxBuilder::Node& node) {
    set(node, "auto_pad", "SAME_UPPER");
    set(node, "pads", Ints{2, 0, 2, 0});
  });
  check_window(both.node(Op::kConv2d).options.as<Window2d>(), {3, 2, 1, 1, 1, 1, 1, 0, 1, 1, false});
}

TEST_CASE("convolutions: groups and the bias") {
  Import grouped = conv(with("group", int64_t{2}), 2);
  CHECK(grouped.node(Op::kConv2d).options.as<Conv2dOptions>().groups == 2);
  Import depthwise = conv(with("group", int64_t{4}), 4, {8, 1, 3, 2});
  Import bias = conv([](OnnxBuilder& file, OnnxBuilder::Node& node) {
    file.floats("b", {6}, {1, 2, 3, 4, 5, 6});
    node.input.push_back("b");
  });
  CHECK(bias.floats(bias.node(Op::kConv2d).inputs[2]) == std::vector<float>{1, 2, 3, 4, 5, 6});
  Import none = conv(kNone);
  CHECK(none.floats(none.node(Op::kConv2d).inputs[2]) == std::vector<float>(6, 0.0f));
}

TEST_CASE("convolutions: what does not fit") {
  const auto says = [](const Import& import, const std::string& problem) {
    check_message(import, "node 'y_node' (Conv)", problem);
  };
  const std::string kernel = "its kernel_shape is not that of its weights [6, 4, 3, 2]";
  says(conv(with("kernel_shape", Ints{3, 3})), kernel);
  says(conv(with("kernel_shape", Ints{2, 2})), kernel);
  says(conv(with("kernel_shape", Ints{3})), "attribute kernel_shape has 1 values; 2 are expected");
  says(conv(with("kernel_shape", Ints{3, 2, 1})), "attribute kernel_shape has 3 values; 2 are expected");
  says(conv(kNone, 1, {6, 4, 3}),
       "its weights have the shape [6, 4, 3]; rank 4 is expected, as of its input");
  says(conv(kNone, 1, {6, 3, 1, 1}), "1 groups and weights [6, 3, 1, 1] do not fit an input of 4 channels");
  says(conv(with("group", int64_t{2}), 1),
       "2 groups and weights [6, 4, 3, 2] do not fit an input of 4 channels");
  says(conv(with("group", int64_t{4}), 4),
       "4 groups and weights [6, 1, 3, 2] do not fit an input of 4 channels");
  says(conv(with("group", int64_t{0}), 1),
       "0 groups and weights [6, 4, 3, 2] do not fit an input of 4 channels");
  says(conv(with("group", int64_t{-1}), 1),
       "-1 groups and weights [6, 4, 3, 2] do not fit an input of 4 channels");
  says(conv(with("group", int64_t{1} << 32), 1), "group 4294967296 is outside the range of 32 bits");
  says(conv(with("strides", Ints{1})), "attribute strides has 1 values; 2 are expected");
  says(conv(with("dilations", Ints{1, 1, 1})), "attribute dilations has 3 values; 2 are expected");
  says(conv(with("pads", Ints{1, 1})), "attribute pads has 2 values; 4 are expected");
  says(conv(with("pads", Ints{1, 1, 1, 1, 0})), "attribute pads has 5 values; 4 are expected");
  says(conv(with("auto_pad", "SAME")), "auto_pad 'SAME' is not known");
  says(conv(with("strides", Ints{1, int64_t{1} << 40})),
       "strides 1099511627776 is outside the range of 32 bits");
  says(conv(with("pads", Ints{0, 0, int64_t{1} << 40, 0})),
       "padding 1099511627776 is outside the range of 32 bits");
  says(conv(with("strides", Ints{0, 1})), "stride 0 is not allowed (1 to 4096)");
  says(conv(with("pads", Ints{0, 0, 0, -1})),
       "padding -1 is not allowed: it must be at least 0 and less than the window (2)");
  says(conv(kNone, 1, {6, 4, 10, 2}), "the window of 10 does not fit the input of 9 with padding 0 and 0");
  says(conv(kNone, 1, {6, 4, 9, 9}), "the window of 9 does not fit the input of 8 with padding 0 and 0");
  says(conv(with("bogus", int64_t{1})), "attribute 'bogus' is not supported");
  says(conv([](OnnxBuilder& file, OnnxBuilder::Node& node) {
         file.floats("b", {5}, {1, 2, 3, 4, 5});
         node.input.push_back("b");
       }),
       "constant 'b' has 5 values for 6 channels");
  says(conv([](OnnxBuilder&, OnnxBuilder::Node& node) { node.input.pop_back(); }),
       "it has 1 inputs where 2 to 3 are expected");
  says(conv([](OnnxBuilder&, OnnxBuilder::Node& node) {
         node.input.push_back("");
         node.input.push_back("x");
       }),
       "it has 4 inputs where 2 to 3 are expected");
}

TEST_CASE("pools: attributes become the window") {
  for (const char* op : {"MaxPool", "AveragePool"}) {
    CAPTURE(op);
    const bool average = std::string(op) == "AveragePool";
    const Op kind = average ? Op::kAvgPool2d : Op::kMaxPool2d;
    Import plain = pool(op, kNone);
    check_window(plain.node(kind).options.as<Window2d>(), {3, 2, 1, 1, 1, 1, 0, 0, 0, 0, false});
    Import all = pool(op, [&](OnnxBuilder&, OnnxBuilder::Node& node) {
      set(node, "strides", Ints{2, 3});
      set(node, "pads", Ints{1, 0, 2, 1});
      set(node, "dilations", average ? Ints{1, 1} : Ints{2, 1});
      if (average) set(node, "count_include_pad", int64_t{1});
      if (!average) set(node, "storage_order", int64_t{1});
    });
    check_window(all.node(kind).options.as<Window2d>(),
                 {3, 2, 2, 3, average ? 1 : 2, 1, 1, 0, 2, 1, average});
    // 9 rows by 3 in steps of 4: two places and, rounded up, a third; 8 columns by 2 in steps of 2: exact.
    Import ceil = pool(op, [](OnnxBuilder&, OnnxBuilder::Node& node) {
      set(node, "strides", Ints{4, 2});
      set(node, "ceil_mode", int64_t{1});
    });
    check_window(ceil.node(kind).options.as<Window2d>(), {3, 2, 4, 2, 1, 1, 0, 0, 2, 0, false});
    CHECK(ceil.dims(ceil.output()) == std::vector<int32_t>{1, 4, 3, 4});
    Import floor = pool(op, [](OnnxBuilder&, OnnxBuilder::Node& node) {
      set(node, "strides", Ints{4, 2});
      set(node, "ceil_mode", int64_t{0});
    });
    CHECK(floor.dims(floor.output()) == std::vector<int32_t>{1, 4, 2, 4});
  }
}

TEST_CASE("pools: what does not fit") {
  for (const char* op : {"MaxPool", "AveragePool"}) {
    CAPTURE(op);
    const bool average = std::string(op) == "AveragePool";
    const auto says = [&](const Import& import, const std::string& problem) {
      check_message(import, std::string("node 'y_node' (") + op + ")", problem);
    };
    says(pool(op, kNone, {}), "its kernel_shape is missing");
    says(pool(op, kNone, {3}), "attribute kernel_shape has 1 values; 2 are expected");
    says(pool(op, kNone, {3, 2, 2}), "attribute kernel_shape has 3 values; 2 are expected");
    says(pool(op, kNone, {int64_t{1} << 33, 2}), "window size 8589934592 is outside the range of 32 bits");
    says(pool(op, kNone, {3, 0}), "window size 0 is not allowed (1 to 4096)");
    if (average) {
      says(pool(op, with("dilations", Ints{2, 1})), "dilation is not supported");
      says(pool(op, with("dilations", Ints{1, 2})), "dilation is not supported");
      says(pool(op, with("storage_order", int64_t{0})), "attribute 'storage_order' is not supported");
    } else {
      says(pool(op, with("count_include_pad", int64_t{0})), "attribute 'count_include_pad' is not supported");
    }
  }
  const auto include = [](const Ints& strides) {
    const Change change = [=](OnnxBuilder&, OnnxBuilder::Node& node) {
      set(node, "count_include_pad", int64_t{1});
      set(node, "ceil_mode", int64_t{1});
      set(node, "strides", strides);
    };
    return pool("AveragePool", change, {3, 3});
  };
  for (const Ints& strides : {Ints{4, 5}, Ints{2, 3}, Ints{2, 5}}) {
    Import import = include(strides);
    CHECK(import.count(Op::kPad) == 0);  // what ceil_mode adds does not count
  }
}

TEST_CASE("LpPool rounds its size up: what ceil_mode adds is zeros, as all padding") {
  const auto sums = [](int64_t p, int64_t width, const Ints& pads) {
    OnnxBuilder file(18);
    file.input("x", {1, 1, 1, 3});
    auto& node = file.node("LpPool", {"x"}, "y");
    set(node, "kernel_shape", Ints{1, width});
    set(node, "strides", Ints{1, width});
    set(node, "pads", pads);
    set(node, "p", p);
    set(node, "ceil_mode", int64_t{1});
    file.output("y");
    Import import(file.bytes());
    CHECK(import.count(Op::kPad) == 0);
    std::vector<double> y;
    for (const float value : run_import<float>(import, std::vector<float>{3, 4, 5})) y.push_back(value);
    return y;
  };
  const auto near = [](double value) { return doctest::Approx(value).epsilon(1e-6); };
  const auto plain = sums(1, 2, {0, 0, 0, 0}), squares = sums(2, 2, {0, 0, 0, 0}),
             padded = sums(1, 3, {0, 1, 0, 0});
  REQUIRE(plain.size() == 2);
  CHECK(plain[0] == near(7));
  CHECK(plain[1] == near(5));
  REQUIRE(squares.size() == 2);
  CHECK(squares[1] == near(5));
  REQUIRE(padded.size() == 2);  // [0 3 4] [5 0 0]
  CHECK(padded[0] == near(7));
  CHECK(padded[1] == near(5));
}

TEST_CASE("batch norms") {
  const auto norm = [](const Change& change, const Ints& shape = {1, 2, 3, 3}, size_t channels = 2,
                       std::vector<float> variance = {0.5f, 2.0f}) {
    OnnxBuilder file;
    file.input("x", shape);
    const auto dims = Ints{static_cast<int64_t>(channels)};
    file.floats("gamma", dims, std::vector<float>(channels, 2.0f));
    file.floats("beta", dims, std::vector<float>(channels, 1.0f));
    file.floats("mean", dims, std::vector<float>(channels, 0.25f));
    variance.resize(channels, 1.0f);
    file.floats("variance", dims, variance);
    auto& node = file.node("BatchNormalization", {"x", "gamma", "beta", "mean", "variance"}, "y");
    change(file, node);
    file.output("y");
    return Import(file.bytes());
  };
  const auto says = [](const Import& import, const std::string& problem) {
    check_message(import, "node 'y_node' (BatchNormalization)", problem);
  };
  const Change all = [](OnnxBuilder&, OnnxBuilder::Node& node) {
    set(node, "epsilon", 0.5f);
    set(node, "momentum", 0.9f);
    set(node, "is_test", int64_t{1});
    set(node, "spatial", int64_t{1});
    set(node, "training_mode", int64_t{0});
  };
  // 2 * (x - 1/4) / sqrt(variance + epsilon) + 1 of x = 1
  const auto expected = [](float variance, float epsilon) {
    return 1.5 / std::sqrt(static_cast<double>(variance) + static_cast<double>(epsilon)) + 1.0;
  };
  Import whole = norm(all), usual = norm(kNone, {1, 2, 1, 1}, 2, {1e-4f, 3e-5f});
  const auto y = run_import<float>(whole, std::vector<float>(18, 1.0f));
  CHECK(static_cast<double>(y[0]) == doctest::Approx(expected(0.5f, 0.5f)).epsilon(1e-6));
  CHECK(static_cast<double>(y[17]) == doctest::Approx(expected(2.0f, 0.5f)).epsilon(1e-6));
  const auto z = run_import<float>(usual, std::vector<float>(2, 1.0f));
  CHECK(static_cast<double>(z[0]) == doctest::Approx(expected(1e-4f, 1e-5f)).epsilon(1e-6));
  CHECK(static_cast<double>(z[1]) == doctest::Approx(expected(3e-5f, 1e-5f)).epsilon(1e-6));

  // By its own mean and variance where the batch is 1: each channel holds 1 to 4.
  Import own = norm(with("training_mode", int64_t{1}), {1, 2, 2, 2});
  REQUIRE_MESSAGE(own.good(), own.message());
  const auto normalized = run_import<float>(own, std::vector<float>{1, 1, 2, 2, 3, 3, 4, 4});
  CHECK(static_cast<double>(normalized[0]) ==
        doctest::Approx(2 * -1.5 / std::sqrt(1.25 + 1e-5) + 1).epsilon(1e-6));
  says(norm(with("training_mode", int64_t{1}), {2, 2, 3, 3}),
       "it is in training mode over a batch; export the model for inference");
  says(norm(with("spatial", int64_t{0})), "spatial=0 is not supported");
  says(norm(kNone, {1, 2, 3, 3, 3, 3}), "its input has rank 6; 2 to 5 are supported");
  CHECK(norm(kNone, {1, 2, 3}).good());
  says(norm(kNone, {1, 2, 3, 3}, 3), "constant 'gamma' has 3 values for 2 channels");
  says(norm(with("epsilon", 0.25f), {1, 2}, 2, {1.0f, -0.25f}),
       "variance -0.25 with epsilon 0.25 in channel 1 has no square root above 0");
  CHECK(norm(with("epsilon", 0.5f), {1, 2, 1, 1}, 2, {1.0f, -0.25f}).good());
  says(norm([](OnnxBuilder&, OnnxBuilder::Node& node) { node.input.pop_back(); }),
       "it has 4 inputs where 5 to 5 are expected");
}

}  // namespace intaglio::test::import_onnx_windows_test
