#include "calibrator/bake/memory_plan.h"

#include <doctest/doctest.h>

#include "tests/support/random.h"
#include "tests/support/small_models.h"

namespace intaglio::test::memory_plan_test {
namespace {

// A random chain with side branches, all FP32 Add and Softmax of equal width or narrower.
AlignedBytes random_graph(Random& random) {
  ModelBuilder b;
  const int32_t width = random.between(1, 200);
  std::vector<int32_t> made = {b.tensor("in", DType::kF32, {1, width})};
  b.input(made[0]);
  const int32_t nodes = random.between(1, 25);
  for (int32_t n = 0; n < nodes; ++n) {
    const int32_t out = b.tensor("t" + std::to_string(n), DType::kF32, {1, width});
    const auto pick = [&] {
      return made[static_cast<size_t>(random.between(0, static_cast<int32_t>(made.size()) - 1))];
    };
    if (random.one_in(3)) {
      b.node(Op::kSoftmax, {made.back()}, {out});
    } else {
      b.node(Op::kAdd, {made.back(), pick()}, {out});
    }
    made.push_back(out);
  }
  b.output(made.back());
  return b.finish(float_ops());
}

}  // namespace

TEST_CASE("random plans pass the runtime's own check and stay close to the bound") {
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    RunningModel running(random_graph(random), float_ops());
    REQUIRE_MESSAGE(running.error().ok(), text_of(running.error()));
    CHECK(running.model().activation_bytes() >= running.model().activation_lower_bound());
    CHECK(running.model().activation_bytes() <= 2 * running.model().activation_lower_bound());
  }
}

TEST_CASE("what is made in place takes no room of its own") {
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kF32, {1, 64});
  const int32_t y = b.tensor("y", DType::kF32, {64, 1});
  const int32_t z = b.tensor("z", DType::kF32, {8, 8});
  b.input(x);
  b.output(z);
  b.node(Op::kReshape, {x}, {y});
  b.node(Op::kReshape, {y}, {z});
  RunningModel running(b.finish(), float_ops());
  REQUIRE(running.error().ok());
  CHECK(running.model().activation_bytes() == 256);
  std::vector<float> values(64);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  CHECK(running.run<float>(values) == values);
}

TEST_CASE("an input that is still needed is not overwritten") {
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kF32, {1, 64});
  const int32_t y = b.tensor("y", DType::kF32, {64, 1});
  const int32_t flat = b.tensor("flat", DType::kF32, {1, 64});
  const int32_t z = b.tensor("z", DType::kF32, {1, 64});
  b.input(x);
  b.output(z);
  b.node(Op::kReshape, {x}, {y});
  b.node(Op::kReshape, {y}, {flat});
  b.node(Op::kAdd, {flat, x}, {z});
  RunningModel running(b.finish(), float_ops());
  REQUIRE_MESSAGE(running.error().ok(), text_of(running.error()));
  CHECK(running.run<float>(std::vector<float>(64, 2.5f)) == std::vector<float>(64, 5.0f));
}

TEST_CASE("dead nodes and tensors are left out of the file") {
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kF32, {1, 8});
  const int32_t unused = b.tensor("unused", DType::kF32, {1, 8});
  const int32_t y = b.tensor("y", DType::kF32, {1, 8});
  b.input(x);
  b.output(y);
  b.node(Op::kSoftmax, {x}, {unused});
  b.node(Op::kAdd, {x, x}, {y});
  RunningModel running(b.finish(), float_ops());
  REQUIRE_MESSAGE(running.error().ok(), text_of(running.error()));
  CHECK(running.model().node_count() == 1);
  CHECK(running.model().tensor_count() == 2);
}

}  // namespace intaglio::test::memory_plan_test
