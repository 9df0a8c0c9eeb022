// TFLite's resource variables: they become states, which go from run to run and begin anew at reset().
#include "intaglio/calibrator.h"
#include "tests/support/imported.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_tflite_states_test {
namespace {

using tflite::Options;

constexpr int8_t kTfliteResource = 13;
constexpr int32_t kCallOnce = 129, kVarHandle = 142, kReadVariable = 143, kAssignVariable = 144;

int32_t handle(TfliteBuilder& file, const char* variable) {
  const int32_t made = file.tensor(std::string(variable) + "/handle", kTfliteResource, {});
  const auto name = file.fbb().CreateString(variable);
  file.op(kVarHandle, {}, {made}, Options::VarHandleOptions,
          tflite::CreateVarHandleOptions(file.fbb(), 0, name).Union());
  return made;
}

struct Parts {
  bool with_initial = true, assigns = true, twice = false;
  std::vector<int32_t> initial_shape = {1, 2};
};

// y = x + sum, and sum becomes y; with `twice` it is read once more after that, and what comes is added: y + y.
std::string running_sum(const Parts& parts) {
  TfliteBuilder file;
  if (parts.with_initial) {
    const int32_t once = handle(file, "sum");
    size_t count = 1;
    for (const int32_t dim : parts.initial_shape) count *= static_cast<size_t>(dim);
    const int32_t value =
        file.constant("first", kTfliteFloat, parts.initial_shape, std::vector<float>(count, 10.0f));
    file.op(kAssignVariable, {once, value}, {});
    file.end_graph();
    file.op(kCallOnce, {}, {}, Options::CallOnceOptions,
            tflite::CreateCallOnceOptions(file.fbb(), 1).Union());
  }
  const int32_t sum = handle(file, "sum");
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 2}), old = file.tensor("old", kTfliteFloat, {1, 2}),
                y = file.tensor("y", kTfliteFloat, {1, 2});
  file.op(kReadVariable, {sum}, {old});
  file.op(kTfliteAdd, {x, old}, {y});
  if (parts.assigns) file.op(kAssignVariable, {sum, y}, {});
  if (!parts.twice) return file.finish({x}, {y});
  const int32_t again = file.tensor("again", kTfliteFloat, {1, 2}),
                z = file.tensor("z", kTfliteFloat, {1, 2});
  file.op(kReadVariable, {sum}, {again});
  file.op(kTfliteAdd, {y, again}, {z});
  return file.finish({x}, {z});
}

std::string message_of(const std::string& file) {
  Import import(file);
  CHECK(!import.good());
  return import.message();
}

}  // namespace

TEST_CASE("a variable goes from run to run, from its first value on") {
  for (const bool with_initial : {true, false}) {
    Import import(running_sum({with_initial}));
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.graph().inputs.size() == 1);
    CHECK(import.graph().outputs.size() == 1);
    RunningModel model(import.write());
    REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
    REQUIRE(model.model().state_count() == 1);
    const float first = with_initial ? 10.0f : 0.0f;
    CHECK(model.run<float>(std::vector<float>{1, 2}) == std::vector<float>{first + 1, first + 2});
    CHECK(model.run<float>(std::vector<float>{1, 2}) == std::vector<float>{first + 2, first + 4});
    model.session().reset();
    CHECK(model.run<float>(std::vector<float>{5, 5}) == std::vector<float>{first + 5, first + 5});
  }
}

TEST_CASE("a variable that was assigned is read as it is now") {
  Parts parts;
  parts.twice = true;
  Import import(running_sum(parts));
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  CHECK(model.run<float>(std::vector<float>{1, 2}) == std::vector<float>{22, 24});
  CHECK(model.run<float>(std::vector<float>{1, 2}) == std::vector<float>{24, 28});
}

TEST_CASE("a network with a state is not calibrated as it is: the model of one step is") {
  Import import(running_sum({}));
  REQUIRE_MESSAGE(import.good(), import.message());
  const AlignedBytes file = import.write();
  const Result<CalibratorNeeds> needs = Calibrator::measure(*Model::open(file.view()));
  CHECK(needs.error().status == Status::kStateNotCalibrated);
}

TEST_CASE("variables that cannot be states are refused") {
  Parts parts;
  parts.assigns = false;
  CHECK(
      message_of(running_sum(parts)) ==
      "model cannot be imported: variable '/sum' is read and never assigned; export the model with a constant in its "
      "place");
  parts = {};
  parts.initial_shape = {1, 3};
  CHECK(
      message_of(running_sum(parts)) ==
      "model cannot be imported: variable '/sum' is [1, 2] where it is read, its first value [1, 3] or of another type");
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 2}), y = file.tensor("y", kTfliteFloat, {1, 2});
  file.op(kReadVariable, {x}, {y});
  CHECK(message_of(file.finish({x}, {y})) ==
        "model cannot be imported: node 'y' (READ_VARIABLE): its first input is no variable");
  TfliteBuilder twice;
  const int32_t sum = handle(twice, "sum");
  twice.op(kAssignVariable, {sum, twice.constant("first", kTfliteFloat, {1, 2}, std::vector<float>{1, 2})},
           {});
  twice.end_graph();
  for (int i = 0; i < 2; ++i)
    twice.op(kCallOnce, {}, {}, Options::CallOnceOptions,
             tflite::CreateCallOnceOptions(twice.fbb(), 1).Union());
  const int32_t in = twice.tensor("in", kTfliteFloat, {1, 2}),
                out = twice.tensor("out", kTfliteFloat, {1, 2});
  twice.op(kTfliteRelu, {in}, {out});
  CHECK(message_of(twice.finish({in}, {out})) ==
        "model cannot be imported: node 'node_1' (CALL_ONCE): graph 1 is called twice");
  TfliteBuilder named;  // each handle keeps its name
  const int32_t long_handle = handle(named, std::string(4097, 'n').c_str()),
                of_named = named.tensor("v", kTfliteFloat, {1, 2}),
                named_x = named.tensor("x", kTfliteFloat, {1, 2}),
                named_y = named.tensor("y", kTfliteFloat, {1, 2});
  named.op(kReadVariable, {long_handle}, {of_named});
  named.op(kTfliteAdd, {named_x, of_named}, {named_y});
  CHECK(message_of(named.finish({named_x}, {named_y})).find("its name has 4097 bytes; 4096 are allowed") !=
        std::string::npos);
  TfliteBuilder lost;
  const int32_t a = lost.tensor("a", kTfliteFloat, {1, 2}), b = lost.tensor("b", kTfliteFloat, {1, 2});
  lost.op(kCallOnce, {}, {}, Options::CallOnceOptions, tflite::CreateCallOnceOptions(lost.fbb(), 7).Union());
  lost.op(kTfliteRelu, {a}, {b});
  CHECK(
      message_of(lost.finish({a}, {b})) ==
      "model cannot be imported: node 'node_0' (CALL_ONCE): graph 7 does not exist, or is this one; the file has 1");
}

}  // namespace intaglio::test::import_tflite_states_test
