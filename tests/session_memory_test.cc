// Sessions and memory that is short, null or overlaps, threads that it was not made for, needs that no size
// holds, and reading tensors as what they are not.
#include <doctest/doctest.h>

#include "calibrator/host/stream_plan.h"
#include "calibrator/host/system/host_arena.h"
#include "intaglio/calibrator.h"
#include "intaglio/planned_model.h"
#include "tests/support/model_checks.h"
#include "tests/support/planned_session.h"

namespace intaglio::test::session_memory_test {
namespace {

// A session with scratch of its own, and everything that it needs.
struct Needing {
  AlignedBytes bytes = small_cnn();
  Model model = *Model::open(bytes.view());
  SessionOptions options;
  SessionNeeds needs;
  AlignedBytes persistent, activations, scratch;

  explicit Needing(int32_t width = 1) {
    if (width > 1) {
      options.executor.width = width;
      options.executor.parallel_for = [](void*, int32_t count, void (*task)(void*, int32_t), void* argument) {
        for (int32_t i = 0; i < count; ++i) task(argument, i);
      };
    }
    needs = *Session::measure(model, float_ops(), options);
    persistent = AlignedBytes(needs.persistent_bytes);
    activations = AlignedBytes(needs.activation_bytes);
    scratch = AlignedBytes(needs.scratch_bytes);
    REQUIRE(needs.scratch_bytes > kMemoryAlignment);
  }
  SessionMemory memory() { return {persistent.span(), activations.span(), scratch.span()}; }
  Error error(const SessionMemory& given) const {
    return Session::create(model, float_ops(), given, options).error();
  }
};

Span<uint8_t> SessionMemory::*const kSpans[] = {&SessionMemory::persistent, &SessionMemory::activations,
                                                &SessionMemory::scratch};
constexpr Status kTooSmall[] = {Status::kPersistentTooSmall, Status::kActivationsTooSmall,
                                Status::kScratchTooSmall};

std::vector<float> classes_of(Session& session) {
  const auto sample = small_cnn_samples(1)[0];
  memcpy(session.input().data, sample.data(), sample.size() * sizeof(float));
  session.run();
  const Span<float> classes = session.output().as<float>();
  return {classes.begin(), classes.end()};
}

}  // namespace

TEST_CASE(
    "what takes more than the model's ceiling is refused with both figures, unless the machine is another one") {
  const Needing plain;
  const auto need = static_cast<uint32_t>(plain.needs.total());
  const auto with = [&](uint32_t ceiling, auto&& use) {
    HostArena arena;
    const auto bytes = with_ceiling(plain.model, ceiling, arena.arena());
    REQUIRE(static_cast<bool>(bytes));
    const Result<Model> model = Model::open(*bytes);
    REQUIRE(static_cast<bool>(model));
    CHECK(model->memory_ceiling() == ceiling);
    use(*model);
  };
  constexpr uint32_t kOverAll = 1u << 31;
  for (const uint32_t ceiling : {0u, need, need + 1, kOverAll, kOverAll + 1, 0xffffffffu})
    with(ceiling, [&](const Model& model) {
      CAPTURE(ceiling);
      const auto needs = Session::measure(model, float_ops(), plain.options);
      REQUIRE(static_cast<bool>(needs));
      CHECK(needs->total() == need);
    });
  for (const uint32_t ceiling : {1u, 64u, need / 2, need - 1})
    with(ceiling, [&](const Model& model) {
      CAPTURE(ceiling);
      const Error expected{Status::kAboveCeiling, -1, -1, need, ceiling};
      check_error(Session::measure(model, float_ops(), plain.options).error(), expected);
      check_error(Session::measure(model, float_ops(), plain.options, false).error(), expected);
      // Where somebody has found the memory, it runs.
      CHECK(Session::measure_anywhere(model, float_ops(), plain.options)->total() == need);
      AlignedBytes block(need);
      const SessionMemory memory = Session::split(block.span(), plain.needs);
      CHECK(Session::create(model, float_ops(), memory, plain.options).error().ok());
    });
  // The bytes of a model without one are what they were.
  with(0, [&](const Model& model) {
    REQUIRE(model.bytes().size == plain.bytes.size());
    CHECK(memcmp(model.bytes().data, plain.bytes.view().data, plain.bytes.size()) == 0);
  });
}

TEST_CASE("memory that is null, whatever size it claims, is too small") {
  Needing n;
  for (int32_t i = 0; i < 3; ++i) {
    SessionMemory memory = n.memory();
    const size_t needed = (memory.*kSpans[i]).size;
    (memory.*kSpans[i]).data = nullptr;
    check_error(n.error(memory), {kTooSmall[i], -1, -1, 0, static_cast<int64_t>(needed)});
    memory.*kSpans[i] = {};
    check_error(n.error(memory), {kTooSmall[i], -1, -1, 0, static_cast<int64_t>(needed)});
  }
}

TEST_CASE("spans that overlap are refused, by whichever end; those that touch are not") {
  Needing n;
  const size_t sizes[] = {n.needs.persistent_bytes, n.needs.activation_bytes, n.needs.scratch_bytes};
  const auto round_up = [](size_t bytes) {
    return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
  };
  AlignedBytes block(4 * round_up(sizes[0] + sizes[1] + sizes[2]) + 4 * kMemoryAlignment);
  for (int32_t i = 0; i < 3; ++i)
    for (int32_t j = 0; j < 3; ++j) {
      if (i == j) continue;
      CAPTURE(i);
      CAPTURE(j);
      // Span j right behind span i, and then a step of kMemoryAlignment into it; the same place; within it.
      SessionMemory memory = n.memory();
      memory.*kSpans[i] = {block.data(), sizes[i]};
      memory.*kSpans[j] = {block.data() + round_up(sizes[i]), sizes[j]};
      CHECK(n.error(memory).ok());
      for (const size_t at : {round_up(sizes[i]) - kMemoryAlignment, size_t{0}}) {
        memory.*kSpans[j] = {block.data() + at, sizes[j]};
        const Error error = n.error(memory);
        CHECK(error.status == Status::kMemoryOverlap);
      }
      // Memory beyond the need is nobody's.
      (memory.*kSpans[i]).size = block.size();
      memory.*kSpans[j] = {block.data() + round_up(sizes[i]), sizes[j]};
      CHECK(n.error(memory).ok());
    }
}

TEST_CASE("memory of which nothing is needed may be anything") {
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kS8, {1, 8}, 0.5f), y = b.tensor("y", DType::kS8, {1, 8}, 0.5f);
  b.input(x);
  b.output(y);
  b.node(Op::kReshape, {x}, {y});
  const AlignedBytes bytes = b.finish();
  const Model model = *Model::open(bytes.view());
  const SessionNeeds needs = *Session::measure(model, all_ops());
  REQUIRE(needs.scratch_bytes == 0);
  AlignedBytes persistent(needs.persistent_bytes), activations(needs.activation_bytes);
  for (const Span<uint8_t> scratch : {Span<uint8_t>(), Span<uint8_t>(nullptr, 99), persistent.span(),
                                      Span<uint8_t>(activations.data() + 1, 3)})
    CHECK(static_cast<bool>(
        Session::create(model, all_ops(), {persistent.span(), activations.span(), scratch})));
}

TEST_CASE("a planned session checks its memory in the same way") {
  const AlignedBytes bytes = small_cnn();
  PlannedSession planned(bytes.view());
  REQUIRE_MESSAGE(planned.error().ok(), text_of(planned.error()));
  const SessionNeeds& needs = planned.planned().needs;
  SessionMemory memory = planned.memory();
  memory.activations.data = nullptr;
  CHECK(Session::start(planned.planned(), memory).error().status == Status::kActivationsTooSmall);
  REQUIRE(needs.scratch_bytes > 0);
  memory.activations = {memory.scratch.data, needs.activation_bytes};
  CHECK(Session::start(planned.planned(), memory).error().status == Status::kMemoryOverlap);
}

TEST_CASE("a session beside another: memory and threads are checked") {
  Needing n(4);
  Session session = *Session::create(n.model, float_ops(), n.memory(), n.options);
  const std::vector<float> expected = classes_of(session);
  AlignedBytes activations(n.needs.activation_bytes), scratch(n.needs.scratch_bytes);
  for (const int32_t width : {0, 1, 4}) {
    Executor executor;
    if (width > 0) executor = n.options.executor;
    executor.width = width;
    Result<Session> beside = session.beside(activations.span(), scratch.span(), executor);
    REQUIRE_MESSAGE(static_cast<bool>(beside), text_of(beside.error()));
    CHECK(classes_of(*beside) == expected);
  }
  for (const int32_t width : {-1, 0, 5, 1 << 20}) {
    Executor executor = n.options.executor;
    executor.width = width;
    check_error(session.beside(activations.span(), scratch.span(), executor).error(),
                {Status::kBadExecutor, -1, -1, width, 4});
  }
  Span<uint8_t> less = activations.span();
  --less.size;
  CHECK(session.beside(less, scratch.span()).error().status == Status::kActivationsTooSmall);
  less = scratch.span();
  --less.size;
  CHECK(session.beside(activations.span(), less).error().status == Status::kScratchTooSmall);
  CHECK(session.beside({}, scratch.span()).error().status == Status::kActivationsTooSmall);
  CHECK(session.beside({nullptr, n.needs.activation_bytes}, scratch.span()).error().status ==
        Status::kActivationsTooSmall);
  CHECK(session.beside({activations.data() + 4, activations.size()}, scratch.span()).error().status ==
        Status::kMemoryMisaligned);
  AlignedBytes both(n.needs.activation_bytes + n.needs.scratch_bytes);
  CHECK(session.beside(both.span(), both.span()).error().status == Status::kMemoryOverlap);
  AlignedBytes own(n.needs.persistent_bytes + n.needs.activation_bytes);
  SessionMemory memory = n.memory();
  memory.persistent = own.span();
  const Session other = *Session::create(n.model, float_ops(), memory, n.options);
  CHECK(other.beside({own.data(), n.needs.activation_bytes}, scratch.span()).error().status ==
        Status::kMemoryOverlap);
  CHECK(classes_of(session) == expected);
}

TEST_CASE("needs past 2^31 bytes are refused, and those of 2^31 are not") {
  // Two activations side by side that are the whole of the need, but for 128 bytes of bookkeeping.
  const auto measured = [](int32_t second) {
    ModelBuilder b;
    const int32_t x = b.tensor("x", DType::kS8, {1 << 30}, 0.5f),
                  y = b.tensor("y", DType::kS8, {second}, 0.5f);
    b.input(x);
    b.input(y);
    const int32_t z = b.tensor("z", DType::kS8, {1, 1 << 30}, 0.5f);
    b.output(z);
    b.node(Op::kReshape, {x}, {z});
    const AlignedBytes bytes = b.finish();
    const Result<Model> model = Model::open(bytes.view());
    REQUIRE_MESSAGE(static_cast<bool>(model), text_of(model.error()));
    CHECK(model->activation_bytes() == (size_t{1} << 30) + static_cast<size_t>(second + 15) / 16 * 16);
    return Session::measure(*model, all_ops());
  };
  constexpr int64_t kMost = int64_t{1} << 31;
  const Result<SessionNeeds> small = measured(16);
  REQUIRE(static_cast<bool>(small));
  const auto rest = static_cast<int32_t>(small->total() - (size_t{1} << 30) - 64);  // the two but for y
  const Result<SessionNeeds> most = measured((1 << 30) - rest);
  REQUIRE_MESSAGE(static_cast<bool>(most), text_of(most.error()));
  CHECK(static_cast<int64_t>(most->total()) == kMost);
  check_error(measured((1 << 30) - rest + 1).error(), {Status::kSessionTooLarge, -1, -1, kMost + 64, kMost});
  check_error(measured(1 << 30).error(), {Status::kSessionTooLarge, -1, -1, kMost + rest, kMost});
}

TEST_CASE("what a calibration needs is counted past what 32 bits hold") {
  const AlignedBytes bytes = small_cnn();
  const Model model = *Model::open(bytes.view());
  CalibratorOptions options;
  const size_t usual = Calibrator::measure(model, options)->total();
  constexpr size_t kMost = SIZE_MAX / 2;
  for (const size_t replay : {kMost, kMost + 1, SIZE_MAX - 64, SIZE_MAX}) {
    options.replay_bytes = replay;
    const Error error = Calibrator::measure(model, options).error();
    CHECK(error.status == Status::kSessionTooLarge);
    CHECK(error.limit == static_cast<int64_t>(kMost));
    AlignedBytes memory(usual);
    CHECK(Calibrator::create(model, memory.span(), options).error().status == Status::kSessionTooLarge);
  }
  options.replay_bytes = kMost / 2;
  CHECK(Calibrator::measure(model, options)->total() == usual + kMost / 2 + 1);  // rounded up to 64
}

TEST_CASE("a recipe that is not there takes no picture") {
  const AlignedBytes bytes = small_cnn();
  const Model model = *Model::open(bytes.view());
  REQUIRE(model.image_count() == 1);
  CHECK(model.image(0).channels == 3);
  const TensorInfo input = model.tensor(model.inputs()[0]);
  for (const int32_t index : {-1, 1, 256, INT32_MAX, INT32_MIN}) {
    const ImageInput recipe = model.image(index);
    CHECK(recipe.channels == 0);
    CHECK(ImageWriter::measure(recipe, input, {4, 4}).error().status == Status::kNoImageInput);
    std::vector<float> target(12 * 10 * 3, 7.0f);
    const std::vector<uint8_t> pixels(4 * 4 * 3);
    TensorView view;
    view.info = input;
    view.data = target.data();
    CHECK(write_image(recipe, view, {4, 4}, {pixels.data(), pixels.size()}, 12, {}).status ==
          Status::kNoImageInput);
    ImageWriter writer;
    CHECK(writer.begin(recipe, view, {4, 4}, {}).status == Status::kNoImageInput);
    CHECK(target == std::vector<float>(12 * 10 * 3, 7.0f));
  }
}

TEST_CASE("a tensor's elements as another type: none") {
  RunningModel running(small_cnn(), float_ops());
  const TensorView view = running.session().output();
  CHECK(view.as<float>().size == 5);
  CHECK(view.as<const float>().size == 5);
  CHECK(view.as<int8_t>().empty());
  CHECK(view.as<int8_t>().data == nullptr);
  CHECK(view.as<uint8_t>().empty());
  CHECK(view.as<int16_t>().empty());
  CHECK(view.as<int32_t>().empty());
  for (const DType dtype : {DType::kNone, DType::kS8, DType::kU8, DType::kS32, DType::kS4, DType::kS16}) {
    TensorView other = view;
    other.info.dtype = dtype;
    CHECK(other.as<float>().empty());
    CHECK(other.as<int8_t>().size == (dtype == DType::kS8 ? 5 : 0));
    CHECK(other.as<uint8_t>().size == (dtype == DType::kU8 ? 5 : 0));
    CHECK(other.as<int32_t>().size == (dtype == DType::kS32 ? 5 : 0));
    CHECK(other.as<int16_t>().size == (dtype == DType::kS16 ? 5 : 0));
  }
}

}  // namespace intaglio::test::session_memory_test
