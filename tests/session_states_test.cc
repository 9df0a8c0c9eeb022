// States of a session: where they start, what reset() brings back, and that each has bytes of its own.
#include <doctest/doctest.h>

#include <cstring>

#include "tests/support/small_models.h"

namespace intaglio::test::session_states_test {
namespace {

constexpr float kInitial[] = {10.0f, 20.0f, 30.0f};

// y = x + a, of which `a` starts at zero and `b` at kInitial: a' = x + a, b' = x + b.
AlignedBytes two_states() {
  ModelBuilder b;
  const auto tensor = [&](const char* name) { return b.tensor(name, DType::kF32, {1, 3}); };
  const int32_t x = tensor("x"), first = tensor("first"), second = tensor("second"),
                first_sum = tensor("first_sum"), second_sum = tensor("second_sum");
  b.input(x);
  b.node(Op::kAdd, {x, first}, {first_sum});
  b.node(Op::kAdd, {x, second}, {second_sum});
  b.output(first_sum);
  b.output(second_sum);
  b.graph().states.push(b.arena(), {first, first_sum, {}});
  b.graph().states.push(b.arena(),
                        {second, second_sum, {reinterpret_cast<const uint8_t*>(kInitial), sizeof kInitial}});
  return b.finish();
}

}  // namespace

TEST_CASE("states start at zero or at their value, whatever the memory held, and so does reset()") {
  const AlignedBytes bytes = two_states();
  const Model model = *Model::open(bytes.view());
  const SessionNeeds needs = *Session::measure(model, float_ops());
  for (const int fill : {0x00, 0x3f, 0xff}) {
    CAPTURE(fill);
    AlignedBytes persistent(needs.persistent_bytes), activations(needs.activation_bytes),
        scratch(needs.scratch_bytes);
    for (AlignedBytes* memory : {&persistent, &activations, &scratch})
      if (memory->size() > 0) memset(memory->data(), fill, memory->size());
    Session session =
        *Session::create(model, float_ops(), {persistent.span(), activations.span(), scratch.span()});
    const float ones[] = {1.0f, 2.0f, 3.0f};
    const auto run = [&] {
      memcpy(session.input().data, ones, sizeof ones);
      session.run();
      std::vector<float> both;
      for (const int32_t i : {0, 1})
        for (const float y : session.output(i).as<float>()) both.push_back(y);
      return both;
    };
    for (int round = 0; round < 2; ++round) {
      CHECK(run() == std::vector<float>{1, 2, 3, 11, 22, 33});
      CHECK(run() == std::vector<float>{2, 4, 6, 12, 24, 36});
      CHECK(run() == std::vector<float>{3, 6, 9, 13, 26, 39});
      memset(activations.data(), 0xa5, activations.size());  // what another session may leave there
      session.reset();
    }
  }
}

TEST_CASE("a run in slices moves the states once, at its ends") {
  const AlignedBytes bytes = two_states();
  RunningModel whole{AlignedBytes(bytes.view())}, slices{AlignedBytes(bytes.view())};
  const float ones[] = {1.0f, 2.0f, 3.0f};
  for (const int32_t count : {1, 2, 7, 1}) {
    for (RunningModel* const model : {&whole, &slices})
      memcpy(model->session().input().data, ones, sizeof ones);
    whole.session().run();
    int32_t next = 0, calls = 0;
    do {
      next = slices.session().run_slice(next, count);
      ++calls;
    } while (next != 0);
    CHECK(calls == (count == 1 ? 2 : 1));
    for (const int32_t i : {0, 1})
      CHECK(memcmp(slices.session().output(i).data, whole.session().output(i).data, sizeof ones) == 0);
  }
}

}  // namespace intaglio::test::session_states_test
