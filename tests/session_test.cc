// Sessions: memory to the byte, no heap, the same bytes every time, states, executors, plan checks.
#include "intaglio/session.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/support/small_models.h"

using namespace intaglio;
using namespace intaglio::test;

// Counts heap calls while it is on: run() must make none.
static std::atomic<int> heap_calls{0};
static std::atomic<bool> counting{false};

// Not inlined: the compiler would see malloc and delete side by side and warn.
[[gnu::noinline]] void* operator new(size_t size) {
  if (counting) ++heap_calls;
  void* const place = std::malloc(size == 0 ? 1 : size);
  if (place == nullptr) std::abort();
  return place;
}
[[gnu::noinline]] void operator delete(void* place) noexcept {
  if (counting) ++heap_calls;
  std::free(place);
}
void operator delete(void* place, size_t) noexcept { operator delete(place); }

namespace {

std::vector<float> sample() { return small_cnn_samples(1)[0]; }

struct Opened {
  explicit Opened(AlignedBytes model_bytes)
      : bytes(std::move(model_bytes)), model(*Model::open(bytes.view())) {}
  AlignedBytes bytes;
  Model model;
};

}  // namespace

TEST_CASE("create takes exactly what measure says and refuses one byte less of each kind") {
  const Opened opened(small_cnn());
  for (const IsaMask mask : {isa::kScalar, isa::kAll}) {
    SessionOptions options;
    options.isa = mask;
    const Result<SessionNeeds> needs = Session::measure(opened.model, float_ops(), options);
    REQUIRE(static_cast<bool>(needs));
    AlignedBytes persistent(needs->persistent_bytes), activations(needs->activation_bytes),
        scratch(needs->scratch_bytes);
    const SessionMemory memory{persistent.span(), activations.span(), scratch.span()};
    CHECK(static_cast<bool>(Session::create(opened.model, float_ops(), memory, options)));

    SessionMemory less = memory;
    --less.persistent.size;
    Error error = Session::create(opened.model, float_ops(), less, options).error();
    CHECK(error.status == Status::kPersistentTooSmall);
    CHECK(error.limit == static_cast<int64_t>(needs->persistent_bytes));
    less = memory;
    --less.activations.size;
    CHECK(Session::create(opened.model, float_ops(), less, options).error().status ==
          Status::kActivationsTooSmall);
    if (needs->scratch_bytes > 0) {
      less = memory;
      --less.scratch.size;
      CHECK(Session::create(opened.model, float_ops(), less, options).error().status ==
            Status::kScratchTooSmall);
    }
    less = memory;
    less.activations.data += 4;
    CHECK(Session::create(opened.model, float_ops(), less, options).error().status ==
          Status::kMemoryMisaligned);
  }
}

TEST_CASE("one block of total() bytes holds a session, one byte less does not") {
  const Opened opened(small_cnn());
  const SessionNeeds needs = *Session::measure(opened.model, float_ops());
  AlignedBytes block(needs.total());
  CHECK(static_cast<bool>(Session::create(opened.model, float_ops(), Session::split(block.span(), needs))));
  const Span<uint8_t> smaller{block.data(), block.size() - 1};
  CHECK(!Session::create(opened.model, float_ops(), Session::split(smaller, needs)));
}

TEST_CASE("create names the span that a block too small for all cuts short, and by how much") {
  const Opened opened(small_cnn());
  const SessionNeeds needs = *Session::measure(opened.model, float_ops());
  AlignedBytes block(needs.total());
  const auto refusal = [&](size_t bytes) {
    return Session::create(opened.model, float_ops(), Session::split({block.data(), bytes}, needs)).error();
  };
  const Error none = refusal(0), first = refusal(needs.persistent_bytes - 1);
  CHECK(none.status == Status::kPersistentTooSmall);
  CHECK(none.value == 0);
  CHECK(first.status == Status::kPersistentTooSmall);
  CHECK(first.value == static_cast<int64_t>(needs.persistent_bytes) - 1);
  const size_t activations =
      (needs.persistent_bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
  const Error second = refusal(activations + needs.activation_bytes - 1);
  CHECK(second.status == Status::kActivationsTooSmall);
  CHECK(second.value == static_cast<int64_t>(needs.activation_bytes) - 1);
  CHECK(second.limit == static_cast<int64_t>(needs.activation_bytes));
  CHECK(refusal(needs.persistent_bytes).value == 0);
}

TEST_CASE("no heap call after create, and the same bytes from every run") {
  RunningModel running(small_cnn(), float_ops());
  REQUIRE_MESSAGE(running.error().ok(), text_of(running.error()));
  const auto input = sample();
  std::vector<float> first(5), second(5);
  const TensorView output = running.session().output();
  heap_calls = 0;
  counting = true;
  for (int i = 0; i < 100; ++i) {
    memcpy(running.session().input().data, input.data(), input.size() * sizeof(float));
    running.session().run();
    memcpy((i == 0 ? first : second).data(), output.data, 5 * sizeof(float));
  }
  counting = false;
  CHECK(heap_calls == 0);
  CHECK(memcmp(first.data(), second.data(), 5 * sizeof(float)) == 0);
}

TEST_CASE("any executor and any instruction set give the same bytes") {
  const auto input = sample();
  SessionOptions scalar;
  scalar.isa = isa::kScalar;
  RunningModel reference(small_cnn(), float_ops(), scalar);
  const auto expected = reference.run<float>(input);
  for (const IsaMask mask : {isa::kScalar, isa::kAll})
    for (const int32_t width : {1, 2, 3, 7}) {
      SessionOptions options;
      options.isa = mask;
      options.executor.width = width;
      // Forwards, and from another thread's point of view as good as any order.
      options.executor.parallel_for = [](void*, int32_t count, void (*task)(void*, int32_t), void* argument) {
        for (int32_t i = 0; i < count; ++i) task(argument, i);
      };
      RunningModel running(small_cnn(), float_ops(), options);
      REQUIRE(running.error().ok());
      CHECK(running.run<float>(input) == expected);
    }
}

TEST_CASE("executors of no or too many threads are refused") {
  const Opened opened(small_cnn());
  for (const int32_t width : {0, -1, Executor::kMaxWidth + 1}) {
    SessionOptions options;
    options.executor.width = width;
    CHECK(Session::measure(opened.model, float_ops(), options).error().status == Status::kBadExecutor);
  }
}

TEST_CASE("an operator that is not in the list is named") {
  const Opened opened(small_cnn());
  const Error error = Session::measure(opened.model, {}).error();
  CHECK(error.status == Status::kOperatorMissing);
  CHECK(error.node == 0);
  CHECK(text_of(error, &opened.model).find("Conv2D") != std::string::npos);
}

TEST_CASE("the observer sees inputs and every output, in order") {
  std::vector<std::pair<int32_t, int32_t>> seen;
  SessionOptions options;
  options.observer.context = &seen;
  options.observer.on_tensor = [](void* context, int32_t node, int32_t tensor, const TensorView& view) {
    CHECK(view.data != nullptr);
    static_cast<std::vector<std::pair<int32_t, int32_t>>*>(context)->push_back({node, tensor});
  };
  RunningModel running(small_cnn(), float_ops(), options);
  running.run<float>(sample());
  REQUIRE(seen.size() == static_cast<size_t>(running.model().node_count()) + 1);
  for (size_t i = 0; i < seen.size(); ++i) CHECK(seen[i].first == static_cast<int32_t>(i) - 1);
}

TEST_CASE("states live from run to run, reset() brings the start back") {
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kF32, {1, 4});
  const int32_t memory = b.tensor("memory", DType::kF32, {1, 4});
  const int32_t sum = b.tensor("sum", DType::kF32, {1, 4});
  b.input(x);
  b.output(sum);
  b.node(Op::kAdd, {x, memory}, {sum});
  static const float kInitial[] = {10.0f, 20.0f, 30.0f, 40.0f};
  b.graph().states.push(b.arena(),
                        {memory, sum, {reinterpret_cast<const uint8_t*>(kInitial), sizeof kInitial}});
  RunningModel running(b.finish(), float_ops());
  REQUIRE_MESSAGE(running.error().ok(), text_of(running.error()));
  const std::vector<float> ones(4, 1.0f);
  CHECK(running.run<float>(ones) == std::vector<float>{11, 21, 31, 41});
  CHECK(running.run<float>(ones) == std::vector<float>{12, 22, 32, 42});
  running.session().reset();
  CHECK(running.run<float>(ones) == std::vector<float>{11, 21, 31, 41});
}

TEST_CASE("a plan that puts living tensors over each other is refused") {
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kF32, {1, 64});
  const int32_t y = b.tensor("y", DType::kF32, {1, 64});
  const int32_t z = b.tensor("z", DType::kF32, {1, 64});
  b.input(x);
  b.output(z);
  b.node(Op::kSoftmax, {x}, {y});
  b.node(Op::kAdd, {y, x}, {z});
  (void)b.finish();  // plans
  for (uint32_t& offset : b.graph().offsets) offset = 0;
  const AlignedBytes bytes(*write_model(b.graph(), b.arena()));
  RunningModel running(AlignedBytes(bytes.view()), float_ops());
  CHECK(running.error().status == Status::kPlanOverlap);
}

TEST_CASE("sessions share activation and scratch memory when they never run at once") {
  const Opened opened(small_cnn());
  const SessionNeeds needs = *Session::measure(opened.model, float_ops());
  AlignedBytes first(needs.persistent_bytes), second(needs.persistent_bytes),
      activations(needs.activation_bytes), scratch(needs.scratch_bytes);
  Session a = *Session::create(opened.model, float_ops(), {first.span(), activations.span(), scratch.span()});
  Session b =
      *Session::create(opened.model, float_ops(), {second.span(), activations.span(), scratch.span()});
  const auto input = sample();
  std::vector<float> outputs[2];
  for (Session* session : {&a, &b}) {
    memcpy(session->input().data, input.data(), input.size() * sizeof(float));
    session->run();
    const Span<float> classes = session->output().as<float>();
    outputs[session == &b].assign(classes.begin(), classes.end());
  }
  CHECK(outputs[0] == outputs[1]);
}
