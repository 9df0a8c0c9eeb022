// OpenVINO's IR: recurrent layers, indices, blocks, attention, spectra and states, by their definitions.
#include <doctest/doctest.h>

#include "tests/support/imported.h"
#include "tests/support/ir_builder.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_openvino_layers_test {
namespace {

using Values = std::vector<float>;

Values run(const Ir& ir, const Values& x) {
  Import import(ir.xml(), ir.options());
  REQUIRE_MESSAGE(import.good(), import.message());
  return run_import<float>(import, x);
}
std::string refusal(const Ir& ir) { return Import(ir.xml(), ir.options()).message(); }

Values counted(size_t count) {
  Values x(count);
  for (size_t i = 0; i < count; ++i) x[i] = static_cast<float>(i);
  return x;
}
double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// One layer behind x [..], with constants.
Ir one(const char* type, const IrDims& in, const IrDims& out,
       const std::vector<std::vector<int64_t>>& integers, const std::string& data = "") {
  Ir ir;
  std::vector<int> inputs{ir.input("x", in)};
  for (const auto& list : integers) inputs.push_back(ir.integers(list));
  ir.output(ir.layer(type, "y", inputs, out, data));
  return ir;
}

// The last state of one number, gate by gate as the file has them: rows of w, r and b.
Values last_state(const char* type, const Values& w, const Values& r, const Values& b, size_t states,
                  const Values& x, const std::string& more = "") {
  const auto rows = static_cast<int64_t>(w.size());
  const auto steps = static_cast<int64_t>(x.size());
  Ir ir;
  std::vector<int> inputs{ir.input("x", {1, steps, 1})};
  for (size_t i = 0; i < states; ++i) inputs.push_back(ir.floats({1, 1, 1}, {0}));
  inputs.push_back(ir.integers({steps}));
  inputs.push_back(ir.floats({1, rows, 1}, w));
  inputs.push_back(ir.floats({1, rows, 1}, r));
  inputs.push_back(ir.floats({1, static_cast<int64_t>(b.size())}, b));
  ir.output(ir.layer(type, "y", inputs, {1, 1, steps, 1}, "direction=\"forward\" hidden_size=\"1\" " + more));
  return run(ir, x);
}

}  // namespace

TEST_CASE("sequences: the gates of an LSTM are forget, input, cell, output; a GRU's update, reset, hidden") {
  const Values w{0.5f, -0.25f, 1.0f, 0.75f}, r{0.3f, 0.6f, -0.4f, 0.2f}, b{0.1f, -0.2f, 0.3f, 0.05f},
      x{1.0f, -2.0f, 0.5f};
  const Values lstm = last_state("LSTMSequence", w, r, b, 2, x);
  double h = 0, c = 0;
  for (size_t t = 0; t < x.size(); ++t) {
    const auto sum = [&](size_t gate) { return double{w[gate]} * x[t] + double{r[gate]} * h + b[gate]; };
    const double forget = sigmoid(sum(0)), input = sigmoid(sum(1)), cell = std::tanh(sum(2)),
                 output = sigmoid(sum(3));
    c = forget * c + input * cell;
    h = output * std::tanh(c);
    CHECK(lstm[t] == doctest::Approx(h).epsilon(1e-5));
  }
  for (const bool before : {false, true}) {
    CAPTURE(before);
    const Values gru = last_state("GRUSequence", {w[0], w[1], w[2]}, {r[0], r[1], r[2]},
                                  before ? Values{b[0], b[1], b[2], 0.7f} : Values{b[0], b[1], b[2]}, 1, x,
                                  std::string("linear_before_reset=\"") + (before ? "true" : "false") + "\"");
    h = 0;
    for (size_t t = 0; t < x.size(); ++t) {
      const auto sum = [&](size_t gate) { return double{w[gate]} * x[t] + double{r[gate]} * h + b[gate]; };
      const double update = sigmoid(sum(0)), reset = sigmoid(sum(1));
      const double hidden = std::tanh(before ? double{w[2]} * x[t] + b[2] + reset * (double{r[2]} * h + 0.7)
                                             : double{w[2]} * x[t] + double{r[2]} * (reset * h) + b[2]);
      h = (1 - update) * hidden + update * h;
      CHECK(gru[t] == doctest::Approx(h).epsilon(1e-5));
    }
  }
  const Values rnn = last_state("RNNSequence", {0.5f}, {0.3f}, {0.1f}, 1, x, "activations=\"relu\"");
  h = 0;
  for (size_t t = 0; t < x.size(); ++t) {
    h = std::max(0.0, 0.5 * x[t] + 0.3 * h + 0.1);
    CHECK(rnn[t] == doctest::Approx(h).epsilon(1e-5));
  }
}

TEST_CASE("a cell is a step, of several rows at once") {
  Ir ir;
  const int x = ir.input("x", {2, 1}), h = ir.floats({2, 1}, {0, 0});
  ir.output(ir.layer(
      "RNNCell", "y", {x, h, ir.floats({1, 1}, {2}), ir.floats({1, 1}, {1}), ir.floats({1}, {0.5f})}, {2, 1},
      "hidden_size=\"1\" activations=\"tanh\" activations_alpha=\"\" activations_beta=\"\" clip=\"0\""));
  const Values y = run(ir, {0.25f, -1.0f});
  CHECK(y[0] == doctest::Approx(std::tanh(1.0)));
  CHECK(y[1] == doctest::Approx(std::tanh(-1.5)));
}

TEST_CASE("indices") {
  {
    Ir ir;  // rows of the second axis are replaced
    const int x = ir.input("x", {2, 3, 2});
    ir.output(ir.layer("ScatterUpdate", "y",
                       {x, ir.integers({2, 0}),
                        ir.floats({2, 2, 2}, {100, 101, 102, 103, 104, 105, 106, 107}), ir.integers({1})},
                       {2, 3, 2}));
    CHECK(run(ir, counted(12)) == Values{102, 103, 2, 3, 100, 101, 106, 107, 8, 9, 104, 105});
  }
  {
    Ir ir;
    const int x = ir.input("x", {3, 2});
    const int places = ir.constant<int64_t>("i64", {2, 1}, {2, 0});
    ir.output(ir.layer("ScatterNDUpdate", "y", {x, places, ir.floats({2, 2}, {7, 8, 9, 10})}, {3, 2},
                       "reduction=\"sum\""));
    CHECK(run(ir, counted(6)) == Values{9, 11, 2, 3, 11, 13});
  }
  {
    Ir ir;  // an index below 0 is no class, unless the file says so
    const int x = ir.input("x", {3}), i = ir.layer("Convert", "i", {x}, {3}, "destination_type=\"i64\"");
    const int depth = ir.constant<int64_t>("i64", {}, {3});
    ir.output(
        ir.layer("OneHot", "y", {i, depth, ir.floats({}, {5}), ir.floats({}, {1})}, {3, 3}, "axis=\"-1\""));
    CHECK(run(ir, {2, -1, 0}) == Values{1, 1, 5, 1, 1, 1, 5, 1, 1});
  }
  {
    Ir ir;
    const int x = ir.input("x", {3}), i = ir.layer("Convert", "i", {x}, {3}, "destination_type=\"i64\"");
    const int depth = ir.constant<int64_t>("i64", {}, {3});
    ir.output(ir.layer("OneHot", "y", {i, depth, ir.floats({}, {5}), ir.floats({}, {1})}, {3, 3},
                       "axis=\"-1\" negative_indices_mode=\"normalize\""));
    CHECK(run(ir, {2, -1, 0}) == Values{1, 1, 5, 1, 1, 5, 5, 1, 1});
  }
  CHECK(run(one("Roll", {2, 3}, {2, 3}, {{1, -4}, {0, 1}}), counted(6)) == Values{4, 5, 3, 1, 2, 0});
  CHECK(run(one("Reverse", {2, 3}, {2, 3}, {{1}}, "mode=\"index\""), counted(6)) == Values{2, 1, 0, 5, 4, 3});
  CHECK(run(one("CumSum", {1, 4}, {1, 4}, {{1}}, "exclusive=\"true\" reverse=\"true\""), counted(4)) ==
        Values{6, 5, 3, 0});
  CHECK(refusal(one("Roll", {2, 3}, {2, 3}, {{1, 2, 3}, {0, 1}})).find("it has 3 shifts for 2 axes") !=
        std::string::npos);
  CHECK(refusal(one("Roll", {2, 3}, {2, 3}, {{1}, {2}})).find("axis 2 is not one of 2") != std::string::npos);
}

TEST_CASE("a slice to the greatest integer takes all that is left") {
  CHECK(run(one("Slice", {1, 4}, {1, 3}, {{1}, {INT64_MAX}, {1}, {1}}), counted(4)) == Values{1, 2, 3});
  CHECK(run(one("Slice", {1, 4}, {1, 3}, {{2}, {INT64_MIN}, {-1}, {1}}), counted(4)) == Values{2, 1, 0});
}

TEST_CASE("places of the greatest, where they are read") {
  Ir ir;
  const int x = ir.input("x", {1, 1, 2, 2});
  const int pool =
      ir.layer("MaxPool", "pool", {x}, {1, 1, 1, 1},
               "strides=\"2, 2\" dilations=\"1, 1\" pads_begin=\"0, 0\" pads_end=\"0, 0\" kernel=\"2, 2\" "
               "rounding_type=\"floor\" auto_pad=\"explicit\" index_element_type=\"i64\" axis=\"0\"",
               "opset8");
  ir.output(pool);
  CHECK(run(ir, {1, 4, 3, 2}) == Values{4});
}

TEST_CASE("blocks of a map go to the batch, and back") {
  const Ir there =
      one("SpaceToBatch", {1, 1, 2, 3}, {6, 1, 1, 2}, {{1, 1, 2, 3}, {0, 0, 0, 1}, {0, 0, 0, 2}});
  const Values y = run(there, counted(6));  // rows of 0 0 1 2 0 0 and so on, each third one
  CHECK(y == Values{0, 2, 0, 0, 1, 0, 0, 5, 3, 0, 4, 0});
  CHECK(run(one("BatchToSpace", {6, 1, 1, 2}, {1, 1, 2, 3}, {{1, 1, 2, 3}, {0, 0, 0, 1}, {0, 0, 0, 2}}), y) ==
        counted(6));
  CHECK(refusal(one("BatchToSpace", {5, 1, 1, 2}, {1, 1, 2, 3}, {{1, 1, 2, 3}, {0, 0, 0, 0}, {0, 0, 0, 0}}))
            .find("a batch of 5 does not divide into 6") != std::string::npos);
  CHECK(refusal(one("SpaceToBatch", {1, 1, 2, 3}, {6, 1, 1, 2}, {{1, 1, 2, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}))
            .find("an axis has a block of 0 between 0 and 0") != std::string::npos);
}

TEST_CASE("attention: by default of all keys; a causal one of those before") {
  for (const bool causal : {false, true}) {
    Ir ir;
    const int x = ir.input("x", {1, 2, 1});
    ir.output(ir.layer("ScaledDotProductAttention", "y", {x, x, x}, {1, 2, 1},
                       std::string("causal=\"") + (causal ? "true" : "false") + "\"", "opset13"));
    const double a = 0.5, b = -1.0;
    const Values y = run(ir, {0.5f, -1.0f});
    const auto mean = [&](double q) {
      const double to_a = std::exp(q * a), to_b = std::exp(q * b);
      return (to_a * a + to_b * b) / (to_a + to_b);
    };
    CHECK(y[0] == doctest::Approx(causal ? a : mean(a)).epsilon(1e-5));
    CHECK(y[1] == doctest::Approx(mean(b)).epsilon(1e-5));
  }
}

TEST_CASE("spectra") {
  // One side of reals: the sum, and the alternating one.
  const Values y = run(one("RDFT", {1, 2}, {1, 2, 2}, {{1}}), {3, 1});
  REQUIRE(y.size() == 4);
  CHECK(y[0] == doctest::Approx(4));
  CHECK(y[2] == doctest::Approx(2));
  const Values back = run(one("IDFT", {1, 2, 2}, {1, 2, 2}, {{1}}), {4, 0, 2, 0});
  CHECK(back[0] == doctest::Approx(3));
  CHECK(back[2] == doctest::Approx(1));
  Ir ir;  // a window of 2 in frames of 4 stands in their middle
  const int x = ir.input("x", {6}), length = ir.constant<int64_t>("i64", {}, {4}),
            step = ir.constant<int64_t>("i64", {}, {2});
  ir.output(ir.layer("STFT", "y", {x, ir.floats({2}, {1, 1}), length, step}, {3, 2, 2},
                     "transpose_frames=\"true\"", "opset15"));
  const Values frames = run(ir, counted(6));
  REQUIRE(frames.size() == 12);
  CHECK(frames[0] == doctest::Approx(3));  // 1 + 2
  CHECK(frames[2] == doctest::Approx(7));  // 3 + 4
}

TEST_CASE("Divide: integers go down or towards 0, as m_pythondiv says; it is true where it is not there") {
  const Values x{-7, -6, -1, 0, 1, 7}, down{-4, -3, -1, 0, 0, 3}, to_zero{-3, -3, 0, 0, 0, 3};
  for (const char* word : {"", " m_pythondiv=\"true\"", " m_pythondiv=\"false\""})
    for (const int64_t sign : {1, -1}) {
      CAPTURE(word);
      CAPTURE(sign);
      Ir ir;
      const int codes = ir.layer("Convert", "codes", {ir.input("x", {6})}, {6}, "destination_type=\"i64\"",
                                 "opset1", "I64");
      const int quotient = ir.layer("Divide", "q", {codes, ir.integers({2 * sign})}, {6},
                                    "auto_broadcast=\"numpy\"" + std::string(word), "opset1", "I64");
      ir.output(ir.layer("Convert", "y", {quotient}, {6}, "destination_type=\"f32\""));
      Values signed_x = x;
      for (float& value : signed_x) value *= static_cast<float>(sign);
      CHECK(run(ir, signed_x) == (std::string(word).find("false") == std::string::npos ? down : to_zero));
    }
  Ir reals;
  reals.output(reals.layer("Divide", "y", {reals.input("x", {2}), reals.floats({1}, {2})}, {2},
                           "auto_broadcast=\"numpy\" m_pythondiv=\"true\""));
  CHECK(run(reals, {-7, 3}) == Values{-3.5f, 1.5f});
}

TEST_CASE("pools to a size") {
  CHECK(run(one("AdaptiveAvgPool", {1, 1, 2, 4}, {1, 1, 1, 2}, {{1, 2}}), counted(8)) == Values{2.5f, 4.5f});
  CHECK(refusal(one("AdaptiveAvgPool", {1, 1, 2, 4}, {1, 1, 1, 3}, {{1, 3}}))
            .find("4 elements do not divide into 3 windows") != std::string::npos);
}

TEST_CASE("a variable is a state, which begins with its first value") {
  const auto network = [](const char* assigned, bool twice) {
    Ir ir;
    const int x = ir.input("x", {1, 2}), first = ir.floats({1, 2}, {10, 20});
    const std::string variable = "variable_id=\"v\" variable_type=\"f32\" variable_shape=\"1,2\"";
    const int before = ir.layer("ReadValue", "before", {first}, {1, 2}, variable, "opset6");
    if (twice) ir.layer("ReadValue", "again", {first}, {1, 2}, variable, "opset6");
    const int sum = ir.layer("Add", "sum", {x, before}, {1, 2}, "auto_broadcast=\"numpy\"");
    ir.layer("Assign", "after", {sum}, {1, 2}, "variable_id=\"" + std::string(assigned) + "\"", "opset6");
    ir.output(sum);
    return ir;
  };
  const Ir ir = network("v", false);
  Import import(ir.xml(), ir.options());
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
  for (const Values& sum : {Values{11, 22}, Values{12, 24}, Values{13, 26}}) {
    model.set_input(Values{1, 2});
    model.session().run();
    CHECK(model.output<float>(0) == sum);
  }
  CHECK(refusal(network("w", false)).find("variable 'v' is read and never assigned") != std::string::npos);
  CHECK(refusal(network("v", true)).find("its variable is read twice") != std::string::npos);
}

TEST_CASE("Pad that repeats the border, too") {
  Ir ir;
  ir.output(ir.layer("Pad", "y", {ir.input("x", {2, 3}), ir.integers({1, 3}), ir.integers({0, 1})}, {3, 7},
                     "pad_mode=\"symmetric\""));
  CHECK(run(ir, {1, 2, 3, 4, 5, 6}) == Values{3, 2, 1, 1, 2, 3, 3, 3, 2, 1, 1, 2, 3, 3, 6, 5, 4, 4, 5, 6, 6});
  Ir wide;
  wide.output(wide.layer("Pad", "y", {wide.input("x", {2, 3}), wide.integers({0, 4}), wide.integers({0, 0})},
                         {2, 7}, "pad_mode=\"symmetric\""));
  CHECK(refusal(wide).find("pads of 4 and 0 do not fit a side of 3") != std::string::npos);
  // An open side is what the user gives.
  Ir open;
  open.output(open.layer("Pad", "y", {open.input("x", {2, -1}), open.integers({0, 3}), open.integers({0, 1})},
                         {2, -1}, "pad_mode=\"symmetric\""));
  ImportOptions longer = open.options();
  longer.shapes = {{"x", {2, 4}}};
  Import other(open.xml(), longer);
  REQUIRE_MESSAGE(other.good(), other.message());
  CHECK(run_import<float>(other, Values{1, 2, 3, 4, 5, 6, 7, 8}) ==
        Values{3, 2, 1, 1, 2, 3, 4, 4, 7, 6, 5, 5, 6, 7, 8, 8});
  // Neither a side nor a pad of the file makes a list before it is known to fit.
  constexpr int64_t kMost = INT32_MAX;
  for (const auto& [pad, text] :
       {std::pair<int64_t, const char*>{1, "a tensor of shape [1, 2147483647] is larger than the limit"},
        {kMost, "a constant that it needs takes 17179869176 bytes of memory"}}) {
    Ir huge;
    huge.output(huge.layer("Pad", "y",
                           {huge.input("x", {1, kMost}), huge.integers({0, pad}), huge.integers({0, pad})},
                           {1, kMost}, "pad_mode=\"symmetric\""));
    CAPTURE(refusal(huge));
    CHECK(refusal(huge).find(text) != std::string::npos);
  }
}

}  // namespace intaglio::test::import_openvino_layers_test
