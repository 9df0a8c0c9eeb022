// The planner of activations beside the definition: its places are valid, its lower bound is exact, it is the
// best of its greedy orders, and on small graphs close to the best of all plans.
#include <doctest/doctest.h>

#include <functional>
#include <numeric>

#include "calibrator/bake/memory_plan.h"
#include "tests/support/plan_graph.h"

namespace intaglio::test::plan_optimum_test {
namespace {

// Tensors in one place, in the order in which they are made.
struct Block {
  Life life;
  uint64_t bytes = 0, crowd = 0;
};

struct Blocks {
  std::vector<Block> list;
  std::map<int32_t, size_t> of_tensor;
  uint64_t lower_bound = 0;
};

Blocks blocks_of(const Graph& graph) {
  Blocks blocks;
  const auto lives = lives_of(graph);
  const auto add = [&](int32_t tensor) {
    const uint64_t bytes = graph.tensors[static_cast<size_t>(tensor)].bytes();
    blocks.of_tensor[tensor] = blocks.list.size();
    blocks.list.push_back({lives.at(tensor), (bytes + 15) / 16 * 16, 0});
  };
  for (const int32_t input : graph.inputs) add(input);
  for (const StateInfo& state : graph.states) add(state.input);
  const auto nodes = static_cast<int32_t>(graph.nodes.size());
  for (int32_t n = 0; n < nodes; ++n)
    for (const int32_t output : graph.nodes[static_cast<size_t>(n)].outputs) {
      bool stands = false;
      for (const int32_t input : graph.nodes[static_cast<size_t>(n)].inputs)
        if (!stands && input >= 0 && may_stand(graph, lives, n, output, input)) {
          stands = true;
          blocks.of_tensor[output] = blocks.of_tensor.at(input);
          blocks.list[blocks.of_tensor[output]].life.last = lives.at(output).last;
        }
      if (!stands) add(output);
    }
  for (int32_t n = -1; n <= nodes; ++n) {
    uint64_t alive = 0;
    for (const Block& block : blocks.list)
      if (block.life.first <= n && n <= block.life.last) alive += block.bytes;
    for (Block& block : blocks.list)
      if (block.life.first <= n && n <= block.life.last) block.crowd = std::max(block.crowd, alive);
    blocks.lower_bound = std::max(blocks.lower_bound, alive);
  }
  return blocks;
}

// Bytes where each block in turn takes the lowest place that is free all its life; `offsets` are the places.
uint64_t bytes_in_order(const std::vector<Block>& blocks, const std::vector<size_t>& order,
                        std::vector<uint64_t>& offsets) {
  offsets.assign(blocks.size(), 0);
  uint64_t end = 0;
  for (size_t k = 0; k < order.size(); ++k) {
    const Block& block = blocks[order[k]];
    std::vector<std::pair<uint64_t, uint64_t>> taken;
    for (size_t j = 0; j < k; ++j) {
      const Block& other = blocks[order[j]];
      if (other.life.first <= block.life.last && block.life.first <= other.life.last)
        taken.push_back({offsets[order[j]], offsets[order[j]] + other.bytes});
    }
    std::sort(taken.begin(), taken.end());
    uint64_t offset = 0;
    for (const auto& [from, to] : taken) {
      if (offset + block.bytes <= from) break;
      offset = std::max(offset, to);
    }
    offsets[order[k]] = offset;
    end = std::max(end, offset + block.bytes);
  }
  return end;
}

// The first of equal orders.
uint64_t best_of_orders(const std::vector<Block>& blocks, std::vector<uint64_t>& places) {
  using Key = std::pair<int64_t, int64_t>;  // least first
  const std::vector<std::function<Key(const Block&)>> keys = {
      [](const Block& b) {
        return Key{-static_cast<int64_t>(b.bytes), 0};
      },
      [](const Block& b) {
        return Key{-static_cast<int64_t>(b.crowd), -static_cast<int64_t>(b.bytes)};
      },
      [](const Block& b) {
        return Key{b.life.first, 0};
      },
      [](const Block& b) {
        return Key{-b.life.last, 0};
      },
      [](const Block& b) {
        return Key{-static_cast<int64_t>(b.bytes) * (b.life.last - b.life.first + 1), 0};
      },
  };
  uint64_t best = UINT64_MAX;
  for (const auto& key : keys) {
    std::vector<size_t> order(blocks.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return key(blocks[a]) < key(blocks[b]); });
    std::vector<uint64_t> offsets;
    const uint64_t bytes = bytes_in_order(blocks, order, offsets);
    if (bytes < best) places = offsets;
    best = std::min(best, bytes);
  }
  return best;
}

// Some order gives the best of all plans: that of its offsets.
uint64_t best_of_all(const std::vector<Block>& blocks, uint64_t lower_bound) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  uint64_t best = UINT64_MAX;
  std::vector<uint64_t> offsets;
  do {
    best = std::min(best, bytes_in_order(blocks, order, offsets));
  } while (best > lower_bound && std::next_permutation(order.begin(), order.end()));
  return best;
}

void check_places(const Graph& graph, const Blocks& blocks) {
  uint64_t end = 0;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const auto tensor = static_cast<int32_t>(t);
    if (blocks.of_tensor.count(tensor) == 0) {
      CHECK(graph.offsets[t] == Model::kNoOffset);
      continue;
    }
    const Block& block = blocks.list[blocks.of_tensor.at(tensor)];
    CHECK(graph.offsets[t] % kTensorAlignment == 0);
    end = std::max(end, graph.offsets[t] + block.bytes);
    for (size_t u = 0; u < t; ++u) {
      if (blocks.of_tensor.count(static_cast<int32_t>(u)) == 0) continue;
      const size_t a = blocks.of_tensor.at(tensor), b = blocks.of_tensor.at(static_cast<int32_t>(u));
      if (a == b) {
        CHECK(graph.offsets[t] == graph.offsets[u]);
        continue;
      }
      const Block& other = blocks.list[b];
      const bool together = block.life.first <= other.life.last && other.life.first <= block.life.last;
      CHECK((!together || graph.offsets[t] + block.bytes <= graph.offsets[u] ||
             graph.offsets[u] + other.bytes <= graph.offsets[t]));
    }
  }
  CHECK(graph.activation_bytes == end);
}

}  // namespace

TEST_CASE("random plans: valid, of the best greedy order, and close to the best of all on small graphs") {
  Random random(5);
  double planned = 0.0, best = 0.0, worst = 1.0;
  int32_t small = 0, above_bound = 0;
  for (int32_t i = 0; i < 1500; ++i) {
    CAPTURE(i);
    ModelBuilder b;
    fill_plan_graph(b, random, random.between(1, i % 3 == 0 ? 16 : 5));
    Graph& graph = b.graph();
    REQUIRE(plan_memory(graph, plan_ops(), b.arena()).ok());
    const Blocks blocks = blocks_of(graph);
    check_places(graph, blocks);
    CHECK(graph.activation_lower_bound == blocks.lower_bound);
    std::vector<uint64_t> places;
    CHECK(graph.activation_bytes == best_of_orders(blocks.list, places));
    for (const auto& [tensor, block] : blocks.of_tensor)
      CHECK(graph.offsets[static_cast<size_t>(tensor)] == places[block]);
    above_bound += graph.activation_bytes > blocks.lower_bound ? 1 : 0;
    if (blocks.list.size() > 7) continue;
    ++small;
    const uint64_t optimum = best_of_all(blocks.list, blocks.lower_bound);
    planned += static_cast<double>(graph.activation_bytes);
    best += static_cast<double>(optimum);
    worst = std::max(worst, static_cast<double>(graph.activation_bytes) / static_cast<double>(optimum));
  }
  CHECK(small > 400);
  CHECK(above_bound > 20);
  CHECK(planned < 1.002 * best);  // 1.001 of it
  CHECK(worst < 1.31);
}

TEST_CASE("tensors take whole steps of 16 bytes") {
  for (const int32_t bytes : {1, 15, 16, 17, 31, 32, 33}) {
    CAPTURE(bytes);
    ModelBuilder b;
    const int32_t x = b.tensor("x", DType::kS8, {bytes}), y = b.tensor("y", DType::kS8, {bytes});
    b.input(x);
    b.node(Op::kSoftmax, {x}, {y});
    b.output(y);
    REQUIRE(plan_memory(b.graph(), plan_ops(), b.arena()).ok());
    const size_t step = static_cast<size_t>((bytes + 15) / 16) * 16;
    CHECK(b.graph().activation_bytes == 2 * step);
    CHECK(b.graph().activation_lower_bound == 2 * step);
    CHECK(std::max(b.graph().offsets[0], b.graph().offsets[1]) == step);
  }
}

TEST_CASE("a plan ends below 2^32, and the last multiple of 16 is a plan") {
  const auto plan = [](int32_t less) {
    ModelBuilder b;
    std::vector<int32_t> inputs;
    for (int32_t i = 0; i < 3; ++i) {
      inputs.push_back(b.tensor("x" + std::to_string(i), DType::kS8, {1 << 30}));
      b.input(inputs.back());
    }
    const int32_t y = b.tensor("y", DType::kS8, {(1 << 30) - less});
    b.node(Op::kSoftmax, inputs, {y});
    b.output(y);
    const Error error = plan_memory(b.graph(), plan_ops(), b.arena());
    if (error.ok()) CHECK(b.graph().activation_bytes == (uint64_t{1} << 32) - static_cast<uint64_t>(less));
    return error;
  };
  CHECK(plan(16).ok());
  const Error error = plan(0);
  CHECK(error.status == Status::kTensorTooLarge);
  CHECK(error.node == -1);
  CHECK(error.tensor == -1);
  CHECK(error.value == int64_t{1} << 32);
  CHECK(error.limit == Model::kNoOffset);
}

TEST_CASE("too little memory for planning is said, wherever it ends") {
  Random random(8);
  ModelBuilder b;
  fill_plan_graph(b, random, 12);
  size_t refused = 0;
  for (size_t size = 0;; size += 8) {
    AlignedBytes bytes(size);
    Arena arena(bytes.span());
    const Error error = plan_memory(b.graph(), plan_ops(), arena);
    if (error.ok()) break;
    CHECK(error.status == Status::kOutOfMemory);
    ++refused;
    REQUIRE(size < 100000);
  }
  CHECK(refused > 50);
  CHECK(b.graph().activation_bytes >= b.graph().activation_lower_bound);
}

}  // namespace intaglio::test::plan_optimum_test
