// Sessions planned beforehand: the same bytes as ordinary ones, memory to the byte, and what start() refuses.
// run_widths.h runs every operator's models in this way, too.
#include <doctest/doctest.h>

#include <limits>

#include "intaglio/describe.h"
#include "tests/support/planned_session.h"
#include "tests/support/small_models.h"

namespace intaglio::test::planned_session_test {
namespace {

const PlanTarget kThisMachine = {cpu_isa() & kCompiledIsa, false};

// Adds its input to a state of [1, 3] that starts at 5, 6, 7.
AlignedBytes counter() {
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kF32, {1, 3}), state = b.tensor("state", DType::kF32, {1, 3}),
                sum = b.tensor("sum", DType::kF32, {1, 3});
  b.input(x);
  b.output(sum);
  b.node(Op::kAdd, {x, state}, {sum});
  static const float kInitial[] = {5, 6, 7};
  b.graph().states.push(b.arena(),
                        {state, sum, {reinterpret_cast<const uint8_t*>(kInitial), sizeof kInitial}});
  return b.finish();
}

// [1, 2, 3, 1] to [1, 4, 6, 1]: an operator that keeps a table.
AlignedBytes enlarging() {
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kS8, {1, 2, 3, 1}, 0.5f),
                y = b.tensor("y", DType::kS8, {1, 4, 6, 1}, 0.5f);
  b.input(x);
  b.output(y);
  b.node(Op::kResize, {x}, {y}).options.as<ResizeOptions>().interpolation = Interpolation::kBilinear;
  return b.finish();
}

}  // namespace

TEST_CASE("a network gives the bytes of an ordinary session, run after run") {
  const AlignedBytes file = small_cnn();
  for (const PlanTarget& target : {PlanTarget{}, kThisMachine}) {
    RunningModel ordinary(AlignedBytes(file.view()));
    PlannedSession planned(file.view(), target);
    REQUIRE_MESSAGE(planned.error().ok(), text_of(planned.error()));
    CHECK(planned.planned().check().ok());
    for (const auto& sample : small_cnn_samples(3)) {
      memcpy(planned.session().input().data, sample.data(), sample.size() * sizeof(float));
      planned.session().run();
      const std::vector<float> expected = ordinary.run<float>(sample);
      CHECK(memcmp(planned.session().output().data, expected.data(), expected.size() * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("bookkeeping and packed weights are constants: the persistent memory is that of states alone") {
  const AlignedBytes file = small_cnn();
  PlannedSession planned(file.view(), kThisMachine);
  REQUIRE(planned.error().ok());
  CHECK(planned.planned().needs.persistent_bytes == 0);
  const Model model = planned.session().model();
  SessionOptions options;
  const SessionNeeds ordinary = *Session::measure(model, all_ops(), options);
  CHECK(ordinary.persistent_bytes > 0);
  CHECK(planned.planned().needs.activation_bytes == ordinary.activation_bytes);
  CHECK(planned.planned().needs.scratch_bytes == ordinary.scratch_bytes);
  CHECK(measure_planned(model, kThisMachine)->total() == planned.planned().needs.total());
}

TEST_CASE("one byte less of each kind of memory is refused, and so is a misaligned start") {
  const AlignedBytes file = counter();
  PlannedSession planned(file.view());
  REQUIRE_MESSAGE(planned.error().ok(), text_of(planned.error()));
  CHECK(planned.planned().needs.persistent_bytes == 16);
  SessionMemory less = planned.memory();
  --less.persistent.size;
  Error error = Session::start(planned.planned(), less).error();
  CHECK(error.status == Status::kPersistentTooSmall);
  CHECK(error.value == 15);
  CHECK(error.limit == 16);
  less = planned.memory();
  --less.activations.size;
  CHECK(Session::start(planned.planned(), less).error().status == Status::kActivationsTooSmall);
  less = planned.memory();
  less.activations.data += 16;
  CHECK(Session::start(planned.planned(), less).error().status == Status::kMemoryMisaligned);

  const AlignedBytes network = small_cnn();
  PlannedSession other(network.view());
  REQUIRE(other.planned().needs.scratch_bytes > 0);
  less = other.memory();
  --less.scratch.size;
  CHECK(Session::start(other.planned(), less).error().status == Status::kScratchTooSmall);
}

TEST_CASE("states live from run to run, reset() brings the start back") {
  const AlignedBytes file = counter();
  PlannedSession planned(file.view());
  REQUIRE(planned.error().ok());
  const auto run = [&] {
    for (float& v : planned.session().input(0).as<float>()) v = 1.0f;
    planned.session().run();
    return planned.session().output().as<float>()[2];
  };
  CHECK(run() == 8.0f);
  CHECK(run() == 9.0f);
  planned.session().reset();
  CHECK(run() == 8.0f);
}

TEST_CASE("what an operator prepares stands in the plan") {
  const AlignedBytes file = enlarging();
  PlannedSession planned(file.view(), kThisMachine);
  REQUIRE_MESSAGE(planned.error().ok(), text_of(planned.error()));
  CHECK(planned.planned().prepared != nullptr);
  CHECK(planned.planned().needs.persistent_bytes == 0);
  RunningModel ordinary(AlignedBytes(file.view()));
  const std::vector<int8_t> codes = {-128, 127, 3, 50, -7, 99};
  const std::vector<int8_t> expected = ordinary.run<int8_t>(codes);
  memcpy(planned.session().input().data, codes.data(), codes.size());
  planned.session().run();
  CHECK(memcmp(planned.session().output().data, expected.data(), expected.size()) == 0);
}

TEST_CASE("a session for another machine is refused with the targets of both") {
  const auto text_of = [](IsaMask planned, IsaMask own) {
    char text[256];
    describe({Status::kOtherKernels, -1, -1, planned, own}, nullptr, text, sizeof text);
    return std::string(text);
  };
  const auto expected = [](const char* planned, const char* own) {
    return "the session was planned for another machine (" + std::string(planned) +
           "), the library here is for " + own + ": export the model again with the --target of this machine";
  };
  CHECK(text_of(isa::kDsp, isa::kAvx2 | isa::kAvxVnni) == expected("cortex-m-dsp", "x86-avxvnni"));
  CHECK(text_of(isa::kNeon | isa::kNeonDot, isa::kScalar) == expected("arm-neondot", "scalar"));
}

TEST_CASE("other kernels and threads are refused") {
  const AlignedBytes file = small_cnn();
  PlannedSession planned(file.view());
  REQUIRE(planned.error().ok());
  PlannedModel other = planned.planned();
  other.isa = ~(cpu_isa() & kCompiledIsa);
  CHECK(Session::start(other, planned.memory()).error().status == Status::kOtherKernels);
  other = planned.planned();
  other.listed = isa::kDsp;  // a Cortex-M's numbers
  CHECK(Session::start(other, planned.memory()).error().status == Status::kOtherKernels);
  SessionOptions options;
  options.executor.width = 2;
  options.executor.parallel_for = [](void*, int32_t, void (*)(void*, int32_t), void*) {};
  const Error error = Session::start(planned.planned(), planned.memory(), options).error();
  CHECK(error.status == Status::kBadExecutor);
  CHECK(error.limit == 1);
}

TEST_CASE("a session that was planned has no operators to plan a node with, and names no kernel") {
  const AlignedBytes file = small_cnn();
  PlannedSession planned(file.view());
  REQUIRE(planned.error().ok());
  CHECK(planned.session().prepare_node(0).status == Status::kOperatorMissing);
  CHECK(std::string(planned.session().kernel_name(0)).empty());
}

TEST_CASE("check() sees any changed byte") {
  AlignedBytes file = small_cnn();
  PlannedSession planned(file.view());
  REQUIRE(planned.error().ok());
  for (const size_t at : {size_t{0}, file.size() / 2, file.size() - 1}) {
    file.data()[at] ^= 1;
    CHECK(planned.planned().check().status == Status::kBadChecksum);
    file.data()[at] ^= 1;
  }
  CHECK(planned.planned().check().ok());
}

TEST_CASE("nothing is planned for a model that a session would refuse") {
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kF32, {4}), y = b.tensor("y", DType::kF32, {4});
  b.input(x);
  b.output(y);
  b.node(Op::kElu, {x}, {y}).options.as<UnaryOptions>().alpha = std::numeric_limits<float>::infinity();
  const AlignedBytes file = b.finish();
  const Error error = plan_model(*Model::open(file.view()), {}).error();
  CHECK(error.status == Status::kBadAttribute);
  CHECK(error.node == 0);
}

// Kernels are numbered by their lists, and a Cortex-M lists its own alone: the last two here.
TEST_CASE("a plan for a Cortex-M numbers kernels as its build does") {
  const AlignedBytes file = small_cnn();
  const Model model = *Model::open(file.view());
  for (const IsaMask isa : {isa::kScalar, isa::kDsp, isa::kDsp | isa::kHelium}) {
    const auto plan = plan_model(model, {isa, true});
    REQUIRE(static_cast<bool>(plan));
    CHECK(plan->isa == (isa == (isa::kDsp | isa::kHelium) ? isa::kHelium : isa));
    CHECK(plan->listed == plan->isa);
    for (const PlannedNode& node : plan->nodes) CHECK(node.kernel == 0);  // FP32 has scalar kernels there
  }
}

}  // namespace intaglio::test::planned_session_test
