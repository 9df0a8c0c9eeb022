// `import --state`: an input takes what an output gave in the run before.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_states_test {
namespace {

// y = 2 (x + sum), next = x + sum.
OnnxBuilder running_sum(const std::string& in = "sum", const std::string& out = "next") {
  OnnxBuilder file;
  file.input("x", {1, 2});
  file.input(in, {1, 2});
  file.floats("two", {1}, {2.0f});
  file.node("Add", {"x", in}, out);
  file.node("Mul", {out, "two"}, "y");
  file.output("y");
  file.output(out);
  return file;
}

ImportOptions with_states(const std::vector<std::string>& states) {
  ImportOptions options;
  options.states = states;
  return options;
}

std::string message_of(OnnxBuilder file, const std::vector<std::string>& states) {
  Import import(file.bytes(), with_states(states));
  CHECK(!import.good());
  return import.message();
}

constexpr size_t kSteps = 7, kInputs = 3, kSize = 5;

// An LSTM or a GRU of one step whose state comes in and goes out, or of all steps.
std::string recurrent(const std::string& op, bool one_step, bool linear_before_reset) {
  Random random(41);
  const int64_t gates = op == "LSTM" ? 4 : 3, size = kSize, inputs = kInputs;
  OnnxBuilder file;
  file.input("x", {one_step ? 1 : static_cast<int64_t>(kSteps), 1, inputs});
  const auto count = [](int64_t n) { return static_cast<size_t>(n); };
  file.floats("w", {1, gates * size, inputs}, random.reals(count(gates * size * inputs), -0.7f, 0.7f));
  file.floats("r", {1, gates * size, size}, random.reals(count(gates * size * size), -0.7f, 0.7f));
  file.floats("b", {1, 2 * gates * size}, random.reals(count(2 * gates * size), -0.5f, 0.5f));
  auto& node = file.node(op, {"x", "w", "r", "b"}, "y");
  set(node, "hidden_size", size);
  if (op == "GRU") set(node, "linear_before_reset", int64_t{linear_before_reset});
  file.output("y");
  if (!one_step) return file.bytes();
  node.input.push_back("");
  node.output.push_back("h_next");
  node.input.push_back("h");
  file.input("h", {1, 1, size});
  file.output("h_next");
  if (op == "LSTM") {
    node.output.push_back("c_next");
    node.input.push_back("c");
    file.input("c", {1, 1, size});
    file.output("c_next");
  }
  return file.bytes();
}

}  // namespace

TEST_CASE("a state leaves the inputs and outputs, goes from run to run, and begins as it is told") {
  for (const bool starts : {false, true}) {
    ImportOptions options = with_states({"sum=next"});
    if (starts) options.starts.push_back({"sum", {5.0f, 7.0f}});
    Import import(running_sum().bytes(), options);
    REQUIRE_MESSAGE(import.good(), import.message());
    RunningModel model(import.write());
    REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
    CHECK(model.model().inputs().size == 1);
    CHECK(model.model().outputs().size == 1);
    REQUIRE(model.model().state_count() == 1);
    const float a = starts ? 5.0f : 0.0f, b = starts ? 7.0f : 0.0f;
    for (int again = 0; again < 2; ++again) {
      CHECK(model.run<float>(std::vector<float>{1, 2}) == std::vector<float>{2 * (a + 1), 2 * (b + 2)});
      CHECK(model.run<float>(std::vector<float>{1, 2}) == std::vector<float>{2 * (a + 2), 2 * (b + 4)});
      model.session().reset();
    }
  }
}

TEST_CASE("names of ends may hold an equals sign") {
  Import import(running_sum("a=b", "c=d").bytes(), with_states({"a=b=c=d"}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.graph().states.size() == 1);
}

TEST_CASE("step by step an LSTM and a GRU give the bytes of the whole sequence") {
  Random random(9);
  const std::vector<float> x = random.reals(kSteps * kInputs, -2.0f, 2.0f);
  for (const std::string op : {"LSTM", "GRU"})
    for (const bool linear : {false, true}) {
      if (op == "LSTM" && linear) continue;
      Import whole(recurrent(op, false, linear));
      const std::vector<float> expected = run_import<float>(whole, x);
      std::vector<std::string> states{"h=h_next"};
      if (op == "LSTM") states.push_back("c=c_next");
      Import step(recurrent(op, true, linear), with_states(states));
      REQUIRE_MESSAGE(step.good(), step.message());
      RunningModel model(step.write());
      REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
      for (int again = 0; again < 2; ++again) {
        std::vector<float> found;
        for (size_t t = 0; t < kSteps; ++t) {
          const auto begin = x.begin() + static_cast<std::ptrdiff_t>(t * kInputs);
          const auto y = model.run<float>(std::vector<float>(begin, begin + kInputs));
          found.insert(found.end(), y.begin(), y.end());
        }
        REQUIRE(found.size() == expected.size());
        CHECK(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)) == 0);
        model.session().reset();
      }
    }
}

TEST_CASE("words that name no ends are refused, with the nearest name") {
  const std::string start = "model cannot be imported: ";
  CHECK(message_of(running_sum(), {"sun=next"}) ==
        start +
            "--state sun=next names the input 'sun', which the network does not have; the nearest is 'sum'");
  CHECK(
      message_of(running_sum(), {"sum=nest"}) ==
      start +
          "--state sum=nest names the output 'nest', which the network does not have; the nearest is 'next'");
  CHECK(
      message_of(running_sum(), {"hidden=next"}) ==
      start +
          "--state hidden=next names the input 'hidden', which the network does not have; its inputs are 'x', 'sum'");
  CHECK(
      message_of(running_sum(), {"sum"}) ==
      start +
          "--state sum: write the input that takes the state and the output that gives it, as --state IN=OUT");
  CHECK(message_of(running_sum(), {"sum=next", "sum=y"}) ==
        start + "--state sum=y: the input 'sum' takes a state already");
  CHECK(message_of(running_sum(), {"sum=next", "x=next"}) ==
        start + "--state x=next: the output 'next' gives a state already");
  CHECK(message_of(running_sum(), {"sum=next", "x=y"}) ==
        start + "every input of the network is a state; at least one must be left for the caller");
}

TEST_CASE("ends that differ are refused") {
  OnnxBuilder file;
  file.input("x", {1, 2});
  file.input("h", {1, 3});
  file.node("Relu", {"x"}, "y");
  file.node("Relu", {"h"}, "z");
  file.node("Relu", {"y"}, "next");
  for (const char* name : {"y", "z", "next"}) file.output(name);
  CHECK(
      message_of(file, {"h=next"}) ==
      "model cannot be imported: --state h=next: the input has the shape [1, 3], the output [1, 2]; a state keeps its "
      "shape");
}

TEST_CASE("a first value is one number or one for each element, finite, and of a state") {
  const auto says = [](const StateStart& start, const std::string& words) {
    ImportOptions options = with_states({"sum=next"});
    options.starts.push_back(start);
    Import import(running_sum().bytes(), options);
    CHECK(import.message() == "model cannot be imported: " + words);
  };
  says({"sum", {1, 2, 3}}, "--initial 'sum': 3 values are given; the state has [1, 2], so it takes 1 or 2");
  says({"x", {1}}, "--initial names 'x', which is no input of a --state; those are 'sum'");
  says({"sum", {INFINITY}}, "--initial 'sum': inf is no finite number");
}

TEST_CASE("a state of four axes keeps its order") {
  OnnxBuilder file;
  Random random(3);
  file.input("x", {1, 2, 4, 4});
  file.input("h", {1, 2, 4, 4});
  file.floats("w", {2, 2, 3, 3}, random.reals(36, -0.5f, 0.5f));
  file.node("Add", {"x", "h"}, "sum");
  set(file.node("Conv", {"sum", "w"}, "next"), "pads", std::vector<int64_t>{1, 1, 1, 1});
  file.node("Relu", {"next"}, "y");
  file.output("y");
  file.output("next");
  Import import(file.bytes(), with_states({"h=next"}));
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
  REQUIRE(model.model().state_count() == 1);
  // The same with the state handed on by hand.
  Import open(file.bytes());
  RunningModel by_hand(open.write());
  std::vector<float> h(32, 0.0f);
  const std::vector<int32_t> order = import.dims(import.input()), whole = open.dims(open.input(0));
  REQUIRE(order == whole);
  for (int t = 0; t < 3; ++t) {
    const std::vector<float> x = random.reals(32, -1.0f, 1.0f);
    by_hand.set_input(x, 0);
    by_hand.set_input(h, 1);
    by_hand.session().run();
    CHECK(model.run<float>(x) == by_hand.output<float>(0));
    const std::vector<float> next = by_hand.output<float>(1);
    const bool same_order = open.dims(open.input(1)) == open.dims(open.output(1));
    for (size_t i = 0; i < 32; ++i)  // the output is NCHW, where the input may have become NHWC
      h[i] = same_order ? next[i] : next[i % 2 * 16 + i / 2];
  }
}

}  // namespace intaglio::test::import_states_test
