// LSTM and GRU, spelled out: beside their definition in doubles, and step by step with their state handed on.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_onnx_recurrent_test {
namespace {

constexpr size_t kSteps = 5, kBatch = 2, kInputs = 3, kSize = 4;

struct Weights {
  std::vector<float> w, r, b;  // of one direction after the other
};

Weights weights_of(size_t gates, size_t directions, uint32_t seed) {
  Random random(seed);
  return {random.reals(directions * gates * kSize * kInputs, -0.7f, 0.7f),
          random.reals(directions * gates * kSize * kSize, -0.7f, 0.7f),
          random.reals(directions * 2 * gates * kSize, -0.5f, 0.5f)};
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// y [steps, directions, batch, size], then the last h, then the last c, as ONNX defines them.
struct Expected {
  std::vector<double> y, h, c;
};

Expected expected(const std::string& op, const std::vector<float>& x, const Weights& weights,
                  const std::string& direction, const std::vector<float>& h0, const std::vector<float>& c0,
                  bool linear_before_reset) {
  const size_t gates = op == "LSTM" ? 4 : 3, directions = direction == "bidirectional" ? 2 : 1;
  Expected all{std::vector<double>(kSteps * directions * kBatch * kSize), {}, {}};
  for (size_t d = 0; d < directions; ++d) {
    std::vector<double> h(kBatch * kSize, 0.0), c = h;
    for (size_t i = 0; i < h.size() && !h0.empty(); ++i) h[i] = h0[d * h.size() + i];
    for (size_t i = 0; i < c.size() && !c0.empty(); ++i) c[i] = c0[d * c.size() + i];
    for (size_t i = 0; i < kSteps; ++i) {
      const size_t t = direction == "reverse" || d == 1 ? kSteps - 1 - i : i;
      std::vector<double> next_h = h, next_c = c;
      for (size_t n = 0; n < kBatch; ++n) {
        const auto of_x = [&](size_t gate, size_t o) {
          double sum = weights.b[(d * 2 * gates + gate) * kSize + o];
          for (size_t k = 0; k < kInputs; ++k)
            sum += double{x[(t * kBatch + n) * kInputs + k]} *
                   weights.w[((d * gates + gate) * kSize + o) * kInputs + k];
          return sum;
        };
        const auto of_h = [&](size_t gate, size_t o, const std::function<double(size_t)>& state) {
          double sum = weights.b[((d * 2 + 1) * gates + gate) * kSize + o];
          for (size_t k = 0; k < kSize; ++k)
            sum += state(k) * weights.r[((d * gates + gate) * kSize + o) * kSize + k];
          return sum;
        };
        const auto plain = [&](size_t k) { return h[n * kSize + k]; };
        const auto gate = [&](size_t g, size_t o) { return sigmoid(of_x(g, o) + of_h(g, o, plain)); };
        for (size_t o = 0; o < kSize; ++o) {
          const size_t at = n * kSize + o;
          if (op == "LSTM") {
            next_c[at] = gate(2, o) * c[at] + gate(0, o) * std::tanh(of_x(3, o) + of_h(3, o, plain));
            next_h[at] = gate(1, o) * std::tanh(next_c[at]);
            continue;
          }
          const double old = linear_before_reset
                                 ? gate(1, o) * of_h(2, o, plain)
                                 : of_h(2, o, [&](size_t k) { return gate(1, k) * h[n * kSize + k]; });
          next_h[at] = (1.0 - gate(0, o)) * std::tanh(of_x(2, o) + old) + gate(0, o) * h[at];
        }
      }
      h = next_h;
      c = next_c;
      std::copy(h.begin(), h.end(),
                all.y.begin() + static_cast<std::ptrdiff_t>((t * directions + d) * h.size()));
    }
    all.h.insert(all.h.end(), h.begin(), h.end());
    all.c.insert(all.c.end(), c.begin(), c.end());
  }
  return all;
}

void check_near(const Span<float> found, const std::vector<double>& expected) {
  REQUIRE(found.size == expected.size());
  for (size_t i = 0; i < found.size; ++i) CHECK(std::fabs(double{found[i]} - expected[i]) < 2e-6);
}

OnnxBuilder::Node& cell(OnnxBuilder& file, const std::string& op, const Weights& weights, size_t directions) {
  const size_t gates = op == "LSTM" ? 4 : 3;
  const auto n = [](size_t value) { return static_cast<int64_t>(value); };
  file.input("x", {n(kSteps), n(kBatch), n(kInputs)});
  file.floats("w", {n(directions), n(gates * kSize), n(kInputs)}, weights.w);
  file.floats("r", {n(directions), n(gates * kSize), n(kSize)}, weights.r);
  file.floats("b", {n(directions), n(2 * gates * kSize)}, weights.b);
  auto& node = file.node(op, {"x", "w", "r", "b"}, "y");
  node.output.push_back("h");
  set(node, "hidden_size", n(kSize));
  return node;
}

}  // namespace

TEST_CASE("LSTM and GRU are their definition, in each direction, with and without a first state") {
  Random random(8);
  for (const std::string op : {"LSTM", "GRU"})
    for (const std::string direction : {"forward", "reverse", "bidirectional"})
      for (const bool with_state : {false, true})
        for (const bool linear_before_reset : {false, true}) {
          if (op == "LSTM" && linear_before_reset) continue;
          CAPTURE(op);
          CAPTURE(direction);
          CAPTURE(with_state);
          const size_t directions = direction == "bidirectional" ? 2 : 1,
                       states = directions * kBatch * kSize;
          const Weights weights = weights_of(op == "LSTM" ? 4 : 3, directions, 21);
          OnnxBuilder file;
          auto& node = cell(file, op, weights, directions);
          set(node, "direction", direction.c_str());
          if (op == "GRU") set(node, "linear_before_reset", int64_t{linear_before_reset});
          const std::vector<int64_t> dims{static_cast<int64_t>(directions), kBatch, kSize};
          if (with_state) {
            node.input.push_back("");
            node.input.push_back("h0");
            file.input("h0", dims);
            if (op == "LSTM") node.input.push_back("c0");
            if (op == "LSTM") file.input("c0", dims);
          }
          for (const char* output : {"y", "h"}) file.output(output);
          if (op == "LSTM") node.output.push_back("c"), file.output("c");
          Import import(file.bytes());
          REQUIRE_MESSAGE(import.good(), import.message());
          RunningModel model(import.write());
          REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
          std::vector<std::vector<float>> inputs{random.reals(kSteps * kBatch * kInputs, -1.0f, 1.0f)};
          for (size_t i = 1; i < model.model().inputs().size; ++i)
            inputs.push_back(random.reals(states, -1.0f, 1.0f));
          for (size_t i = 0; i < inputs.size(); ++i) {
            const Span<float> to = model.session().input(static_cast<int32_t>(i)).as<float>();
            REQUIRE(to.size == inputs[i].size());
            std::copy(inputs[i].begin(), inputs[i].end(), to.begin());
          }
          model.session().run();
          inputs.resize(3);
          const Expected all =
              expected(op, inputs[0], weights, direction, inputs[1], inputs[2], linear_before_reset);
          check_near(model.session().output(0).as<float>(), all.y);
          check_near(model.session().output(1).as<float>(), all.h);
          if (op == "LSTM") check_near(model.session().output(2).as<float>(), all.c);
        }
}

TEST_CASE("an LSTM whose first output nobody reads, and what is not supported") {
  const auto import = [](const std::function<void(OnnxBuilder::Node&)>& change) {
    OnnxBuilder file;
    auto& node = cell(file, "LSTM", weights_of(4, 1, 3), 1);
    change(node);
    file.output("h");
    return Import(file.bytes());
  };
  CHECK(import([](OnnxBuilder::Node& node) { node.output[0] = ""; }).good());
  const auto says = [&](const std::function<void(OnnxBuilder::Node&)>& change, const std::string& words) {
    CHECK(import(change).message() == "model cannot be imported: node 'y_node' (LSTM): " + words);
  };
  says([](OnnxBuilder::Node& node) { set(node, "layout", int64_t{1}); },
       "layout 1 is not supported; export the model with layout 0");
  says([](OnnxBuilder::Node& node) { set(node, "clip", -1.0f); }, "clip is -1; it must be above 0");
  OnnxBuilder longer;
  cell(longer, "LSTM", weights_of(4, 1, 3), 1);
  longer.output("h");
  longer.graph().input[0].type.make().tensor_type.make().shape.make().dim[0].dim_value = 1 << 20;
  CHECK(Import(longer.bytes())
            .says("it takes 1048576 steps in 1 directions; at most 1024 together are supported"));
  says([](OnnxBuilder::Node& node) { set(node, "direction", "sideways"); },
       "direction 'sideways' is not known");
  says([](OnnxBuilder::Node& node) { set(node, "direction", "bidirectional"); },
       "constant 'w' has the shape [1, 16, 3]; 2, 16 and 3 are expected");
  for (const char* const op : {"LSTM", "GRU"}) {
    OnnxBuilder more;
    auto& node = cell(more, op, weights_of(op == std::string("LSTM") ? 4 : 3, 1, 3), 1);
    while (node.output.size() < 5) node.output.push_back("more" + std::to_string(node.output.size()));
    more.output("h");
    const std::string first = op == std::string("LSTM") ? "more3" : "more2",
                      most = first == "more3" ? "3" : "2";
    CHECK(Import(more.bytes()).message() == std::string("model cannot be imported: node 'y_node' (") + op +
                                                "): its output '" + first +
                                                "' is not supported; only the first " + most + " are");
  }
}

TEST_CASE("clip bounds the sums of gates, peepholes see the cell, and activations may be others") {
  const auto size = kSize;
  for (const bool others : {false, true}) {
    Random random(14);
    const Weights weights = weights_of(4, 1, 5);
    const std::vector<float> peepholes = random.reals(3 * size, -0.8f, 0.8f);
    const float clip = 0.6f;
    OnnxBuilder file;
    auto& node = cell(file, "LSTM", weights, 1);
    for (int absent = 0; absent < 3; ++absent) node.input.push_back("");
    node.input.push_back("p");
    file.floats("p", {1, 3 * static_cast<int64_t>(size)}, peepholes);
    set(node, "clip", clip);
    if (others) {
      auto& attribute = node.attribute.add();
      attribute.name = "activations";
      attribute.type = onnx_file::AttributeProto::STRINGS;
      for (const char* name : {"Sigmoid", "Relu", "Tanh"}) attribute.strings.push_back(name);
    }
    file.output("y");
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    const std::vector<float> x = random.reals(kSteps * kBatch * kInputs, -1.5f, 1.5f);
    const std::vector<float> found = run_import<float>(import, x);
    const auto bounded = [&](double value) { return std::min(std::max(value, -double{clip}), double{clip}); };
    std::vector<double> h(kBatch * size), c = h, all;
    for (size_t t = 0; t < kSteps; ++t) {
      std::vector<double> next_h = h, next_c = c;
      for (size_t n = 0; n < kBatch; ++n)
        for (size_t o = 0; o < size; ++o) {
          const auto sum = [&](size_t gate) {
            double value = double{weights.b[gate * size + o]} + double{weights.b[(4 + gate) * size + o]};
            for (size_t k = 0; k < kInputs; ++k)
              value += double{x[(t * kBatch + n) * kInputs + k]} * weights.w[(gate * size + o) * kInputs + k];
            for (size_t k = 0; k < size; ++k)
              value += h[n * size + k] * weights.r[(gate * size + o) * size + k];
            return value;
          };
          const size_t at = n * size + o;
          const double input = sigmoid(bounded(sum(0) + c[at] * peepholes[o])),
                       forget = sigmoid(bounded(sum(2) + c[at] * peepholes[2 * size + o])),
                       fresh = others ? std::max(bounded(sum(3)), 0.0) : std::tanh(bounded(sum(3)));
          next_c[at] = forget * c[at] + input * fresh;
          next_h[at] = sigmoid(bounded(sum(1) + next_c[at] * peepholes[size + o])) * std::tanh(next_c[at]);
        }
      h = next_h;
      c = next_c;
      all.insert(all.end(), h.begin(), h.end());
    }
    check_near({const_cast<float*>(found.data()), found.size()}, all);
  }
}

}  // namespace intaglio::test::import_onnx_recurrent_test
