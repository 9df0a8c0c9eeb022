// `import --outputs`: a network that ends at named tensors, and what only later ones need.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_outputs_test {
namespace {

using Reals = std::vector<float>;
using Names = std::vector<std::string>;

ImportOptions ending_at(const Names& names) {
  ImportOptions options;
  options.outputs = names;
  return options;
}

// Two inputs; the boxes are of one, the scores of both; then what cannot be imported.
std::string detector() {
  OnnxBuilder file(13);
  file.input("x", {1, 2});
  file.input("z", {1, 2});
  file.node("Relu", {"x"}, "boxes");
  file.node("Add", {"x", "z"}, "scores");
  file.integers("most", {3});
  file.node("NonMaxSuppression", {"boxes", "scores", "most"}, "chosen");
  file.node("Abs", {"chosen"}, "y");
  file.output("y");
  return file.bytes();
}

std::string tflite_detector() {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 2}),
                boxes = file.tensor("boxes", kTfliteFloat, {1, 2}),
                y = file.tensor("y", kTfliteFloat, {1, 2});
  file.op(kTfliteRelu, {x}, {boxes});
  constexpr int32_t kCustom = 32;
  file.op(kCustom, {boxes}, {y});
  return file.finish({x}, {y});
}

}  // namespace

TEST_CASE("a network is cut before what cannot be imported") {
  CHECK(
      Import(detector())
          .says(
              "'chosen_node' (NonMaxSuppression): this operator is not supported; cut the network before it: --outputs "
              "boxes,scores"));
  Import import(detector(), ending_at({"scores,boxes"}));
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
  model.set_input(Reals{-1, 2}, 0);
  model.set_input(Reals{10, 20}, 1);
  model.session().run();
  CHECK(model.output<float>(0) == Reals{9, 22});
  CHECK(model.output<float>(1) == Reals{0, 2});
  CHECK(std::string(import.output(0).name) == "scores");
}

TEST_CASE("an input that the chosen outputs do not read goes, and a note says so") {
  Import import(detector(), ending_at({"boxes"}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.graph().inputs.size() == 1);
  CHECK(import.outcome->report.notes ==
        Names{"input 'z' is left out: the chosen outputs do not depend on it"});
}

TEST_CASE("a wrong name: the nearest are listed") {
  CHECK(
      Import(detector(), ending_at({"scors"}))
          .says(
              "--outputs names 'scors', which no node writes; the nearest names are 'scores', 'boxes', 'chosen'"));
  CHECK(Import(detector(), ending_at({"box"})).says("the nearest names are 'boxes', "));
  CHECK(Import(detector(), ending_at({"boxes,"})).says("--outputs names ''"));
  CHECK(Import(detector(), ending_at({"boxes", "boxes"})).says("--outputs names 'boxes' twice"));
  CHECK(Import(detector(), ending_at({"x"})).says("--outputs names 'x', which no node writes"));
}

TEST_CASE("a name that holds a comma") {
  OnnxBuilder file(13);
  file.input("x", {2});
  file.node("Relu", {"x"}, "a,b");
  file.node("Abs", {"a,b"}, "y");
  file.output("y");
  Import import(file.bytes(), ending_at({"a,b"}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.ops() == std::vector<Op>{Op::kClamp});
}

TEST_CASE("TFLite: cut before a custom operator") {
  CHECK_MESSAGE(
      Import(tflite_detector())
          .says("'y' (CUSTOM): this operator is not supported; cut the network before it: --outputs boxes"),
      Import(tflite_detector()).message());
  Import import(tflite_detector(), ending_at({"boxes"}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, Reals{-3, 4}) == Reals{0, 4});
  CHECK(Import(tflite_detector(), ending_at({"boxe"})).says("the nearest names are 'boxes', 'y'"));
}

TEST_CASE("the line that cuts a network is what a shell takes") {
  OnnxBuilder file(13);
  file.input("x", {1, 2});
  file.node("Relu", {"x"}, "/model.22/boxes output;1");
  file.node("Abs", {"x"}, "the model's scores");
  file.node("NonMaxSuppression", {"/model.22/boxes output;1", "the model's scores"}, "chosen");
  file.output("chosen");
  CHECK(Import(file.bytes()).says("--outputs '/model.22/boxes output;1,the model'\\''s scores'"));
  Import import(file.bytes(), ending_at({"/model.22/boxes output;1,the model's scores"}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.graph().outputs.size() == 2);

  const auto reads = [](const std::string& one, const std::string& other) {
    OnnxBuilder two(13);
    two.input("x", {1, 2});
    two.node("Relu", {"x"}, one);
    if (other != one) two.node("Abs", {"x"}, other);
    two.node("NonMaxSuppression", {one, other}, "chosen");
    two.output("chosen");
    return Import(two.bytes()).message();
  };
  const auto ends = [](const std::string& message, const std::string& end) {
    CAPTURE(message);
    CHECK(message.substr(message.size() - std::min(message.size(), end.size())) == end);
  };
  ends(reads("a", "a"), "cut the network before it: --outputs a");
  ends(reads("a,b", "a,b"), "cut the network before it: --outputs a,b");
  ends(reads("a,b", "c"), "cut the network before it, with --outputs; it reads 'a,b', 'c'");
}

TEST_CASE("an output that is an input is a copy of it") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 2}), y = file.tensor("y", kTfliteFloat, {1, 2});
  file.op(kTfliteRelu, {x}, {y});
  Import import(file.finish({x}, {y, x}));
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
  model.set_input(Reals{-1, 2}, 0);
  model.session().run();
  CHECK(model.output<float>(0) == Reals{0, 2});
  CHECK(model.output<float>(1) == Reals{-1, 2});
}

TEST_CASE("what no output depends on is not read, whatever it is") {
  OnnxBuilder file(13);
  file.input("x", {2});
  file.node("Relu", {"x"}, "y");
  file.node("NoSuchOperator", {"y"}, "unread");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, Reals{-3, 4}) == Reals{0, 4});
}

TEST_CASE("a chosen output that is a constant has no input, and no time") {
  OnnxBuilder file(13);
  file.input("x", {2, 4});
  file.floats("c", {1, 4}, {1, 2, 3, 4});
  file.node("Relu", {"x"}, "y");
  file.node("Identity", {"c"}, "z");
  file.output("y");
  ImportOptions options;
  options.outputs = {"z"};
  const std::string words =
      "no input is left for the caller: the outputs are constants, or follow from states alone";
  CHECK(Import(file.bytes(), options).says(words));
  options.stream = 0;
  CHECK(Import(file.bytes(), options).says(words));
}

TEST_CASE("a chosen output that follows from a variable alone leaves no input") {
  constexpr int8_t kResource = 13;
  constexpr int32_t kVarHandle = 142, kReadVariable = 143, kAssignVariable = 144;
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {2}), y = file.tensor("y", kTfliteFloat, {2}),
                handle = file.tensor("handle", kResource, {}), kept = file.tensor("kept", kTfliteFloat, {2}),
                next = file.tensor("next", kTfliteFloat, {2});
  file.op(kTfliteRelu, {x}, {y});
  file.op(kVarHandle, {}, {handle}, tflite::Options::VarHandleOptions,
          tflite::CreateVarHandleOptionsDirect(file.fbb(), "", "memory").Union());
  file.op(kReadVariable, {handle}, {kept});
  file.op(kTfliteRelu, {kept}, {next});
  file.op(kAssignVariable, {handle, next}, {});
  CHECK(Import(file.finish({x}, {y}), ending_at({"next"})).says("no input is left for the caller"));
}

}  // namespace intaglio::test::import_outputs_test
