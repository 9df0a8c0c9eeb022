// The check that a plan keeps those tensors apart that are needed at the same time, beside its definition.
#include "runtime/liveness.h"

#include <doctest/doctest.h>

#include <set>
#include <tuple>

#include "calibrator/bake/memory_plan.h"
#include "tests/support/plan_graph.h"

namespace intaglio::test::liveness_test {
namespace {

using Overlap = std::tuple<int32_t, int32_t, int32_t>;  // node, tensor that it writes, tensor that it hits

std::set<Overlap> overlaps_of(const Graph& graph) {
  const auto lives = lives_of(graph);
  const auto meet = [&](int32_t a, int32_t b) {
    const uint64_t begin_a = graph.offsets[static_cast<size_t>(a)],
                   begin_b = graph.offsets[static_cast<size_t>(b)];
    return std::max(begin_a, begin_b) < std::min(begin_a + graph.tensors[static_cast<size_t>(a)].bytes(),
                                                 begin_b + graph.tensors[static_cast<size_t>(b)].bytes());
  };
  std::set<Overlap> found;
  for (const auto& [tensor, life] : lives)
    for (const auto& [other, its] : lives) {
      if (tensor == other || its.first > life.first || its.last < life.first || !meet(tensor, other))
        continue;
      const int32_t n = life.first;
      const bool in_place =
          n >= 0 && may_stand(graph, lives, n, tensor, other) &&
          graph.offsets[static_cast<size_t>(tensor)] == graph.offsets[static_cast<size_t>(other)];
      if (!in_place) found.insert({n, tensor, other});
    }
  return found;
}

}  // namespace

TEST_CASE("random plans, right and wrong, are judged as the definition judges them") {
  Random random(21);
  int32_t good = 0, bad = 0, in_place = 0;
  for (int32_t i = 0; i < 3000; ++i) {
    CAPTURE(i);
    ModelBuilder b;
    fill_plan_graph(b, random, random.between(1, 7));
    Graph& graph = b.graph();
    REQUIRE(plan_memory(graph, plan_ops(), b.arena()).ok());
    // Wrong by a step, by a place, or by standing where another stands.
    const auto count = static_cast<int32_t>(graph.tensors.size());
    uint64_t all = 0;  // no plan takes more
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      if (graph.offsets[t] != Model::kNoOffset) all += (graph.tensors[t].bytes() + 15) / 16 * 16;
    for (int32_t changes = i % 4; changes > 0; --changes) {
      const auto t = static_cast<size_t>(random.between(0, count - 1));
      const auto u = static_cast<size_t>(random.between(0, count - 1));
      if (graph.offsets[t] == Model::kNoOffset || graph.offsets[u] == Model::kNoOffset) continue;
      const uint32_t moved = graph.offsets[t] + (random.one_in(2) ? 16u : static_cast<uint32_t>(-16));
      const uint32_t to = random.one_in(2) || moved > (1u << 20) ? graph.offsets[u] : moved;
      if (to + graph.tensors[t].bytes() <= all) graph.offsets[t] = to;
    }
    graph.activation_bytes = static_cast<size_t>(all);
    const Result<Span<const uint8_t>> bytes = write_model(graph, b.arena());
    REQUIRE(static_cast<bool>(bytes));
    const Result<Model> model = Model::open(*bytes);
    REQUIRE_MESSAGE(static_cast<bool>(model), text_of(model.error()));

    // As the file numbers its tensors.
    graph = graph_of(*model, b.arena());
    graph.offsets = b.arena().make<uint32_t>(graph.tensors.size());
    for (int32_t t = 0; t < model->tensor_count(); ++t)
      graph.offsets[static_cast<size_t>(t)] = model->activation_offset(t);
    std::vector<uint16_t> memory(kOverlapBytes / sizeof(uint16_t) * graph.tensors.size(), 0x5a5a);
    const Error error = check_overlaps(*model, plan_ops(), memory.data());
    const std::set<Overlap> expected = overlaps_of(graph);
    const auto lives = lives_of(graph);
    for (const auto& [tensor, life] : lives) CHECK(last_use(*model, tensor, life.first) == life.last);
    if (expected.empty()) {
      REQUIRE_MESSAGE(error.ok(), text_of(error));
      for (const auto& [tensor, life] : lives) {
        for (const auto& [other, its] : lives)
          in_place +=
              life.first >= 0 && may_stand(graph, lives, life.first, tensor, other) &&
                      graph.offsets[static_cast<size_t>(tensor)] == graph.offsets[static_cast<size_t>(other)]
                  ? 1
                  : 0;
      }
      ++good;
    } else {
      REQUIRE(error.status == Status::kPlanOverlap);
      const Overlap found{error.node, error.tensor, static_cast<int32_t>(error.value)};
      CHECK(error.limit == 0);
      CHECK(expected.count(found) == 1);
      CHECK(error.node == std::get<0>(*expected.begin() < found ? *expected.begin() : found));
      ++bad;
    }
  }
  CHECK(good > 1000);
  CHECK(bad > 500);
  CHECK(in_place > 300);
}

TEST_CASE("in place is the same bytes: neither their end nor their beginning alone") {
  // "y" stands upon the last, the first or all 16 bytes of "x", whose last reader writes it.
  const auto judged = [](int32_t x_floats, int32_t y_floats, uint32_t x_offset, uint32_t y_offset) {
    ModelBuilder b;
    const int32_t x = b.tensor("x", DType::kF32, {x_floats}), y = b.tensor("y", DType::kF32, {y_floats});
    b.input(x);
    b.output(y);
    b.node(Op::kReshape, {x}, {y});
    REQUIRE(plan_memory(b.graph(), plan_ops(), b.arena()).ok());
    b.graph().offsets[static_cast<size_t>(x)] = x_offset;
    b.graph().offsets[static_cast<size_t>(y)] = y_offset;
    b.graph().activation_bytes = 48;
    const Result<Span<const uint8_t>> bytes = write_model(b.graph(), b.arena());
    REQUIRE(static_cast<bool>(bytes));
    const Result<Model> model = Model::open(*bytes);
    REQUIRE_MESSAGE(static_cast<bool>(model), text_of(model.error()));
    uint16_t memory[2 * 2];
    return check_overlaps(*model, plan_ops(), memory).status;
  };
  CHECK(judged(8, 4, 0, 16) == Status::kPlanOverlap);
  CHECK(judged(8, 4, 0, 0) == Status::kPlanOverlap);
  CHECK(judged(4, 8, 16, 0) == Status::kPlanOverlap);
  CHECK(judged(4, 8, 0, 0) == Status::kPlanOverlap);
  CHECK(judged(8, 4, 0, 32) == Status::kOk);
  CHECK(judged(8, 4, 16, 0) == Status::kOk);
}

}  // namespace intaglio::test::liveness_test
