// Recurrent operators whose weights are inputs of the network: the same as with these numbers as constants.
#include <map>

#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_onnx_recurrent_weights_test {
namespace {

using Reals = std::vector<float>;
using Dims = std::vector<int64_t>;

constexpr int64_t kSteps = 3, kBatch = 2, kInputs = 3, kSize = 4;

struct Operand {
  const char* name;
  Dims dims;
};

// All inputs of the operator in their order; "": the sequences' lengths, which are absent.
std::vector<Operand> operands_of(const std::string& op, int64_t directions) {
  const int64_t gates = op == "LSTM" ? 4 : op == "GRU" ? 3 : 1;
  std::vector<Operand> list{{"w", {directions, gates * kSize, kInputs}},
                            {"r", {directions, gates * kSize, kSize}},
                            {"b", {directions, 2 * gates * kSize}},
                            {"", {}},
                            {"h0", {directions, kBatch, kSize}}};
  if (op == "LSTM") {
    list.push_back({"c0", {directions, kBatch, kSize}});
    list.push_back({"p", {directions, 3 * kSize}});
  }
  return list;
}

struct Case {
  std::string op, direction, absent;
  bool linear_before_reset;
};

// Runs the operator, the operands named in `given` being inputs, the others constants.
Reals run_case(const Case& c, const std::string& given) {
  OnnxBuilder file(14);
  Random random(31);
  file.input("x", {kSteps, kBatch, kInputs});
  std::map<std::string, Reals> inputs{{"x", random.reals(kSteps * kBatch * kInputs, -1.0f, 1.0f)}};
  auto& node = file.node(c.op, {"x"}, "y");
  for (const Operand& operand : operands_of(c.op, c.direction == "bidirectional" ? 2 : 1)) {
    const std::string name = operand.name;
    const bool is_absent = name.empty() || c.absent.find(name) != std::string::npos;
    node.input.push_back(is_absent ? "" : name);
    if (is_absent) continue;
    size_t count = 1;
    for (const int64_t dim : operand.dims) count *= static_cast<size_t>(dim);
    const Reals values = random.reals(count, -0.7f, 0.7f);
    if (given.find(name) == std::string::npos) {
      file.floats(name, operand.dims, values);
    } else {
      file.input(name, operand.dims);
      inputs[name] = values;
    }
  }
  node.output.push_back("h");
  set(node, "hidden_size", kSize);
  set(node, "direction", c.direction.c_str());
  if (c.op == "GRU") set(node, "linear_before_reset", int64_t{c.linear_before_reset});
  Import import(file.output("y").output("h").bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.notes("are inputs of the model, and stay FP32") == (given.find_first_of("wr") < 9));
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
  REQUIRE(model.model().inputs().size == inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Reals& values = inputs.at(std::string(import.input(static_cast<int32_t>(i)).name));
    const Span<float> to = model.session().input(static_cast<int32_t>(i)).as<float>();
    REQUIRE(to.size == values.size());
    std::copy(values.begin(), values.end(), to.begin());
  }
  model.session().run();
  Reals found;
  for (const int32_t i : {0, 1}) {
    const Span<float> output = model.session().output(i).as<float>();
    found.insert(found.end(), output.begin(), output.end());
  }
  return found;
}

}  // namespace

TEST_CASE("weights, biases, peepholes and first states, each as an input or as a constant") {
  const Case cases[] = {
      {"LSTM", "forward", "", false},          {"LSTM", "bidirectional", "", false},
      {"LSTM", "reverse", "b,h0,c0,p", false}, {"LSTM", "forward", "c0", false},
      {"GRU", "forward", "", false},           {"GRU", "bidirectional", "", true},
      {"GRU", "forward", "h0", true},          {"GRU", "reverse", "h0", false},
      {"RNN", "bidirectional", "", false},     {"RNN", "forward", "b,h0", false},
  };
  for (const Case& c : cases) {
    CAPTURE(c.op);
    CAPTURE(c.direction);
    CAPTURE(c.absent);
    const Reals expected = run_case(c, "");
    for (const char* given : {"w", "r", "b", "w,r", "w,r,b", "h0", "w,r,b,h0,c0,p"}) {
      CAPTURE(given);
      const Reals found = run_case(c, given);
      REQUIRE(found.size() == expected.size());
      for (size_t i = 0; i < found.size(); ++i) CHECK(std::fabs(found[i] - expected[i]) < 2e-6f);
    }
  }
}

TEST_CASE(
    "weights that are inputs and do not fit are refused, and the note names the line that makes them constants") {
  const auto import = [](const Dims& w, const Dims& b) {
    OnnxBuilder file(14);
    file.input("x", {kSteps, kBatch, kInputs});
    file.input("the w", w);
    file.input("r", {1, 4 * kSize, kSize});
    file.input("b", b);
    set(file.node("LSTM", {"x", "the w", "r", "b"}, "y"), "hidden_size", kSize);
    return Import(file.output("y").bytes());
  };
  const Dims w{1, 4 * kSize, kInputs}, b{1, 8 * kSize};
  CHECK(import({1, 4 * kSize, kSize}, b).says("input 1 has the shape [1, 16, 4]; [1, 16, 3] is expected"));
  CHECK(import({4 * kSize, kInputs}, b).says("input 1 has the shape [16, 3]; [1, 16, 3] is expected"));
  CHECK(import(w, {1, 4 * kSize}).says("input 3 has the shape [1, 16]; [1, 32] is expected"));
  CHECK(import(w, b).notes(
      "the weights the w, r of LSTM 'y_node' are inputs of the model, and stay FP32; if they are "
      "the same in each run, --constant 'the w=FILE.npy' --constant r=FILE.npy makes them a part "
      "of it"));
}

TEST_CASE("more steps than one Concat takes, in both directions, are their definition") {
  constexpr int64_t kMany = 130;
  Random random(7);
  const Reals x = random.reals(kMany, -1.0f, 1.0f);
  OnnxBuilder file(14);
  file.input("x", {kMany, 1, 1});
  file.floats("w", {2, 1, 1}, {0.75f, -0.5f});
  file.floats("r", {2, 1, 1}, {0.5f, 0.25f});
  auto& node = file.node("RNN", {"x", "w", "r"}, "y");
  set(node, "hidden_size", int64_t{1});
  set(node, "direction", "bidirectional");
  const Reals found = run_file(file.output("y").bytes(), x);
  REQUIRE(found.size() == 2 * kMany);
  float ahead = 0.0f, back = 0.0f;
  for (size_t t = 0; t < kMany; ++t) {
    ahead = std::tanh(0.75f * x[t] + 0.5f * ahead);
    back = std::tanh(-0.5f * x[kMany - 1 - t] + 0.25f * back);
    CHECK(std::fabs(found[2 * t] - ahead) < 2e-6f);
    CHECK(std::fabs(found[2 * (kMany - 1 - t) + 1] - back) < 2e-6f);
  }
}

}  // namespace intaglio::test::import_onnx_recurrent_weights_test
