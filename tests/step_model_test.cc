// Models with states are calibrated step by step: which states stay in FP32, what the int8 model holds, and that
// nothing but the set of steps matters.
#include "intaglio/step_model.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "intaglio/calibrator.h"
#include "tests/support/model_builder.h"
#include "tests/support/random.h"
#include "tests/support/threads.h"

namespace intaglio::test::step_model_test {
namespace {

constexpr int32_t kInputs = 4, kSize = 6;
constexpr size_t kSequences = 6, kSteps = 20;

// A cell: s = W x + R h, f = sigmoid(s), c' = f c + tanh(s), h' = f tanh(c'), y = V h'; and the last two x as kept rows,
// which the answer adds. States h, c and the rows.
AlignedBytes cell(const std::vector<float>& first_h = {}) {
  Random random(12);
  ModelBuilder b;
  const auto weights = [&](const char* name, int32_t rows, int32_t columns) {
    return b.constant<float>(
        name, DType::kF32, {rows, columns},
        random.reals(static_cast<size_t>(rows) * static_cast<size_t>(columns), -0.8f, 0.8f));
  };
  const auto real = [&](const char* name, const std::vector<int32_t>& dims) {
    return b.tensor(name, DType::kF32, dims);
  };
  const int32_t x = real("x", {1, kInputs}), h = real("h", {1, kSize}), c = real("c", {1, kSize}),
                rows = real("rows", {2, kInputs});
  b.input(x);
  const int32_t of_x = real("of_x", {1, kSize}), of_h = real("of_h", {1, kSize}), s = real("s", {1, kSize}),
                f = real("f", {1, kSize}), g = real("g", {1, kSize}), kept = real("kept", {1, kSize}),
                c_next = real("c_next", {1, kSize}), t = real("t", {1, kSize}),
                h_next = real("h_next", {1, kSize}), all = real("all", {3, kInputs}),
                rows_next = real("rows_next", {2, kInputs}), flat = real("flat", {1, 3 * kInputs}),
                of_rows = real("of_rows", {1, 3}), of_cell = real("of_cell", {1, 3}), y = real("y", {1, 3});
  b.node(Op::kFullyConnected, {x, weights("W", kSize, kInputs)}, {of_x});
  b.node(Op::kFullyConnected, {h, weights("R", kSize, kSize)}, {of_h});
  b.node(Op::kAdd, {of_x, of_h}, {s});
  b.node(Op::kSigmoid, {s}, {f});
  b.node(Op::kTanh, {s}, {g});
  b.node(Op::kMul, {f, c}, {kept});
  b.node(Op::kAdd, {kept, g}, {c_next});
  b.node(Op::kTanh, {c_next}, {t});
  b.node(Op::kMul, {f, t}, {h_next});
  b.node(Op::kConcat, {rows, x}, {all}).options.as<ConcatOptions>().axis = 0;
  auto& slice = b.node(Op::kStridedSlice, {all}, {rows_next}).options.as<StridedSliceOptions>();
  slice.begin = b.keep({1, 0});
  slice.strides = b.keep({1, 1});
  b.node(Op::kReshape, {all}, {flat});
  b.node(Op::kFullyConnected, {flat, weights("U", 3, 3 * kInputs)}, {of_rows});
  b.node(Op::kFullyConnected, {h_next, weights("V", 3, kSize)}, {of_cell});
  b.node(Op::kAdd, {of_rows, of_cell}, {y});
  b.output(y);
  StateInfo state;
  state.input = h;
  state.output = h_next;
  if (!first_h.empty())
    state.initial = {reinterpret_cast<const uint8_t*>(
                         b.arena().copy(Span<const float>(first_h.data(), first_h.size())).data),
                     first_h.size() * sizeof(float)};
  b.graph().states.push(b.arena(), state);
  b.graph().states.push(b.arena(), {c, c_next, {}});
  b.graph().states.push(b.arena(), {rows, rows_next, {}});
  return b.finish();
}

using Step = std::vector<std::vector<float>>;  // what each input of the step model gets

std::vector<float> values_of(const TensorView& view) {
  const Span<float> values = view.as<float>();
  return {values.begin(), values.end()};
}

// The steps of sequences, with the states that the FP32 model comes to.
std::vector<Step> steps_of(const AlignedBytes& file, size_t sequences) {
  RunningModel model{AlignedBytes(file.view())};
  Random random(33);
  std::vector<Step> steps;
  for (size_t n = 0; n < sequences; ++n) {
    model.session().reset();
    std::vector<std::vector<float>> held;
    for (int32_t k = 0; k < model.model().state_count(); ++k) {
      const StateInfo state = model.model().state(k);
      held.emplace_back(static_cast<size_t>(model.model().tensor(state.input).shape.elements()), 0.0f);
      if (!state.initial.empty()) std::memcpy(held.back().data(), state.initial.data, state.initial.size);
    }
    for (size_t t = 0; t < kSteps; ++t) {
      Step step{random.reals(kInputs, -1.5f, 1.5f)};
      step.insert(step.end(), held.begin(), held.end());
      model.run<float>(step[0]);
      for (size_t k = 0; k < held.size(); ++k)
        held[k] = values_of(model.session().tensor(model.model().state(static_cast<int32_t>(k)).output));
      steps.push_back(std::move(step));
    }
  }
  return steps;
}

struct StepModel {
  explicit StepModel(const AlignedBytes& file) : whole(file.view()) {
    with_states = *Model::open(whole.view());
    memory = AlignedBytes(step_model_bytes(with_states));
    const auto bytes = make_step_model(with_states, memory.span());
    REQUIRE_MESSAGE(static_cast<bool>(bytes), text_of(bytes.error()));
    model = *Model::open(*bytes);
  }
  AlignedBytes whole, memory;
  Model with_states, model;
};

std::vector<uint8_t> calibrate(const StepModel& steps, const std::vector<Step>& samples,
                               CalibratorOptions options, bool all_at_once = false) {
  options.states_of = &steps.with_states;
  const auto needs = Calibrator::measure(steps.model, options);
  REQUIRE_MESSAGE(static_cast<bool>(needs), text_of(needs.error(), &steps.model));
  AlignedBytes memory(needs->total());
  auto calibrator = Calibrator::create(steps.model, memory.span(), options);
  REQUIRE_MESSAGE(static_cast<bool>(calibrator), text_of(calibrator.error(), &steps.model));
  SampleSource source;
  source.context = const_cast<std::vector<Step>*>(&samples);
  source.count = static_cast<int32_t>(samples.size());
  source.loads_at_once = true;
  source.load = [](void* context, int32_t i, Span<const Span<uint8_t>> inputs) {
    const Step& step = (*static_cast<std::vector<Step>*>(context))[static_cast<size_t>(i)];
    for (size_t k = 0; k < inputs.size; ++k) std::memcpy(inputs[k].data, step[k].data(), inputs[k].size);
    return true;
  };
  if (all_at_once) {
    const Error error = calibrator->add_all(source);
    REQUIRE_MESSAGE(error.ok(), text_of(error, &steps.model));
  }
  for (size_t i = 0; !all_at_once && i < samples.size(); ++i) {
    std::vector<Span<const uint8_t>> inputs;
    for (const auto& values : samples[i])
      inputs.push_back({reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)});
    const Error error = calibrator->add({inputs.data(), inputs.size()});
    REQUIRE_MESSAGE(error.ok(), text_of(error, &steps.model));
  }
  const Error error = calibrator->finish({}, &source);
  REQUIRE_MESSAGE(error.ok(), text_of(error, &steps.model));
  const Span<const uint8_t> bytes = calibrator->report().bytes;
  return {bytes.begin(), bytes.end()};
}

AlignedBytes aligned(const std::vector<uint8_t>& bytes) {
  return AlignedBytes(Span<const uint8_t>(bytes.data(), bytes.size()));
}

std::string name_of(const Model& model, int32_t tensor) { return model.tensor(tensor).name; }

// SQNR of the answer, each model with its own states.
double free_running_db(const AlignedBytes& fp32_file, const std::vector<uint8_t>& int8_file) {
  RunningModel fp32{AlignedBytes(fp32_file.view())}, int8(aligned(int8_file));
  REQUIRE_MESSAGE(int8.error().ok(), text_of(int8.error(), &int8.model()));
  Random random(77);
  double signal = 0, noise = 0;
  for (size_t t = 0; t < 200; ++t) {
    const std::vector<float> x = random.reals(kInputs, -1.5f, 1.5f);
    const std::vector<float> exact = fp32.run<float>(x);
    const TensorView input = int8.session().input(), output = int8.session().output();
    for (size_t i = 0; i < x.size(); ++i) {
      const auto& q = input.info.quantization;
      const float code = std::nearbyint(x[i] / q.scales[0]) + static_cast<float>(q.zero_point);
      input.as<int8_t>()[i] = static_cast<int8_t>(std::min(std::max(code, -128.0f), 127.0f));
    }
    int8.session().run();
    for (size_t i = 0; i < exact.size(); ++i) {
      const auto& q = output.info.quantization;
      const float found = output.info.dtype == DType::kF32
                              ? output.as<float>()[i]
                              : q.scales[0] * static_cast<float>(output.as<int8_t>()[i] - q.zero_point);
      signal += static_cast<double>(exact[i]) * static_cast<double>(exact[i]);
      noise += std::pow(static_cast<double>(found) - static_cast<double>(exact[i]), 2.0);
    }
  }
  return 10 * std::log10(signal / noise);
}

std::vector<int32_t> state_nodes(const Model& model) {
  std::vector<int32_t> room(static_cast<size_t>(model.node_count()));
  const Span<const int32_t> found = find_state_nodes(model, {room.data(), room.size()});
  return {found.begin(), found.end()};
}

}  // namespace

TEST_CASE("the step model has the states as inputs and outputs, and all else as it was") {
  const StepModel steps(cell());
  REQUIRE(steps.model.inputs().size == 4);
  REQUIRE(steps.model.outputs().size == 4);
  CHECK(steps.model.state_count() == 0);
  const char* const in[] = {"x", "h", "c", "rows"};
  const char* const out[] = {"y", "h_next", "c_next", "rows_next"};
  for (size_t i = 0; i < 4; ++i) {
    CHECK(name_of(steps.model, steps.model.inputs()[i]) == in[i]);
    CHECK(name_of(steps.model, steps.model.outputs()[i]) == out[i]);
  }
  REQUIRE(steps.model.tensor_count() == steps.with_states.tensor_count());
  for (int32_t t = 0; t < steps.model.tensor_count(); ++t)
    CHECK(name_of(steps.model, t) == name_of(steps.with_states, t));
  AlignedBytes small(step_model_bytes(steps.with_states) - 1);
  CHECK(make_step_model(steps.with_states, small.span()).error().status == Status::kOutOfMemory);
  CHECK(make_step_model(steps.model, small.span()).error().status == Status::kBadState);
}

TEST_CASE("nodes that carry a state by arithmetic are found; what goes through weights or is moved is not") {
  const StepModel steps(cell());
  const std::vector<int32_t> found = state_nodes(steps.with_states);
  REQUIRE(found.size() == 2);
  CHECK(name_of(steps.with_states, steps.with_states.node(found[0]).outputs[0]) == "kept");
  CHECK(name_of(steps.with_states, steps.with_states.node(found[1]).outputs[0]) == "c_next");
}

TEST_CASE(
    "the int8 model has its states again: one scale for a state and its next value, FP32 where it is asked for") {
  const AlignedBytes file = cell();
  const StepModel steps(file);
  const std::vector<Step> samples = steps_of(file, kSequences);
  const std::vector<int32_t> nodes = state_nodes(steps.with_states);
  for (const bool fp32 : {true, false}) {
    CalibratorOptions options;
    if (fp32) options.float_nodes = {nodes.data(), nodes.size()};
    const std::vector<uint8_t> bytes = calibrate(steps, samples, options);
    const AlignedBytes opened = aligned(bytes);
    const Result<Model> made = Model::open(opened.view());
    REQUIRE_MESSAGE(static_cast<bool>(made), text_of(made.error()));
    CHECK(made->inputs().size == 1);
    CHECK(made->outputs().size == 1);
    REQUIRE(made->state_count() == 3);
    for (int32_t k = 0; k < 3; ++k) {
      const TensorInfo in = made->tensor(made->state(k).input), out = made->tensor(made->state(k).output);
      const bool is_cell = std::string(in.name) == "c";
      CHECK(in.dtype == (fp32 && is_cell ? DType::kF32 : DType::kS8));
      CHECK(out.dtype == in.dtype);
      if (in.dtype != DType::kS8) continue;
      CHECK(in.quantization.scales[0] == out.quantization.scales[0]);
      CHECK(in.quantization.zero_point == out.quantization.zero_point);
    }
    CHECK(free_running_db(file, bytes) > (fp32 ? 24.0 : 10.0));
  }
}

TEST_CASE("the bytes depend on the set of steps alone") {
  const AlignedBytes file = cell();
  const StepModel steps(file);
  std::vector<Step> samples = steps_of(file, kSequences);
  const std::vector<int32_t> nodes = state_nodes(steps.with_states);
  CalibratorOptions options;
  options.float_nodes = {nodes.data(), nodes.size()};
  const std::vector<uint8_t> expected = calibrate(steps, samples, options);
  std::reverse(samples.begin(), samples.end());
  CHECK(calibrate(steps, samples, options) == expected);
  options.executor = thread_executor(3);
  CHECK(calibrate(steps, samples, options, true) == expected);
  options.executor = {};
  options.isa = isa::kScalar;
  CHECK(calibrate(steps, samples, options) == expected);
}

TEST_CASE("a first value is a code of the state's scale, and zero is one, too") {
  const AlignedBytes file = cell(std::vector<float>(kSize, 0.5f));
  const StepModel steps(file);
  const std::vector<uint8_t> bytes = calibrate(steps, steps_of(file, kSequences), {});
  const AlignedBytes opened = aligned(bytes);
  const Model made = *Model::open(opened.view());
  for (int32_t k = 0; k < made.state_count(); ++k) {
    const StateInfo state = made.state(k);
    const TensorInfo in = made.tensor(state.input);
    const float real = std::string(in.name) == "h" ? 0.5f : 0.0f;
    const float code =
        std::nearbyint(real / in.quantization.scales[0]) + static_cast<float>(in.quantization.zero_point);
    if (state.initial.empty()) {
      CHECK(code == 0.0f);
      continue;
    }
    for (const uint8_t byte : state.initial) CHECK(static_cast<float>(static_cast<int8_t>(byte)) == code);
  }
}

TEST_CASE("a model with states, and a step of another one, are refused") {
  const AlignedBytes file = cell();
  const StepModel steps(file);
  CHECK(Calibrator::measure(steps.with_states).error().status == Status::kStateNotCalibrated);
  CalibratorOptions options;
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kF32, {1, 2}), y = b.tensor("y", DType::kF32, {1, 2});
  b.input(x);
  b.output(y);
  b.node(Op::kTanh, {x}, {y});
  const AlignedBytes other = b.finish();
  options.states_of = &steps.with_states;
  CHECK(Calibrator::measure(*Model::open(other.view()), options).error().status == Status::kNoStepModel);
}

}  // namespace intaglio::test::step_model_test
