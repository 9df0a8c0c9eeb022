// Sessions in two memories: the same bytes as in one, whichever lies first, and what is refused.
#include "intaglio/two_memories.h"

#include <doctest/doctest.h>

#include "calibrator/bake/model_writer.h"
#include "calibrator/host/place_in_two.h"
#include "calibrator/host/stream_plan.h"
#include "calibrator/host/system/host_arena.h"
#include "intaglio/streaming.h"
#include "kernels/compiled_isa.h"
#include "runtime/streaming/streamed_model.h"
#include "tests/support/model_checks.h"
#include "tests/support/model_object.h"
#include "tests/support/planned_session.h"
#include "tests/support/random_picture_network.h"

namespace intaglio::test::two_memories_test {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes run_all(Session& session, uint32_t seed) {
  Random random(seed);
  const Model& model = session.model();
  std::vector<int8_t> picture;
  for (int32_t i = 0; i < static_cast<int32_t>(model.inputs().size); ++i) {
    const TensorView input = session.input(i);
    const std::vector<int8_t> codes = random.codes(input.info.bytes());
    if (input.data != nullptr) memcpy(input.data, codes.data(), codes.size());
    if (i == 0) picture = codes;
  }
  session.begin_picture();
  if (StreamedModel::feeding_segment(model).count != 0)
    REQUIRE(session.feed_rows(reinterpret_cast<const uint8_t*>(picture.data()), INT32_MAX));
  else
    session.run();
  Bytes all;
  for (int32_t i = 0; i < static_cast<int32_t>(model.outputs().size); ++i) {
    const TensorView output = session.output(i);
    const auto* const data = static_cast<const uint8_t*>(output.data);
    all.insert(all.end(), data, data + output.info.bytes());
  }
  return all;
}

// The model's file as if the first `fast` bytes of its flat plan were in a fast memory.
AlignedBytes with_fast(Span<const uint8_t> file, size_t fast) {
  HostArena arena;
  const Model model = *Model::open(file);
  Graph graph = graph_of(model, arena.arena());
  REQUIRE(copy_plans(model, graph, arena.arena()).ok());
  graph.fast_bytes = fast;
  return AlignedBytes(*write_model(graph, arena.arena()));
}

// Every span of the bytes that were measured, one behind the other with a gap: the fast one first, or last.
struct InTwo {
  AlignedBytes block;
  SessionMemory memory;
  Span<uint8_t> fast;

  InTwo(const SessionNeeds& needs, size_t fast_bytes, bool fast_first) {
    constexpr size_t kGap = 2 * kMemoryAlignment;
    const auto whole = [](size_t bytes) {
      return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
    };
    const size_t large = whole(needs.total()) + kGap;
    block = AlignedBytes(large + whole(fast_bytes) + kGap);
    memset(block.data(), 0xa5, block.size());
    uint8_t* const begin = block.data();
    fast = {fast_first ? begin : begin + large, fast_bytes};
    memory =
        Session::split({fast_first ? begin + whole(fast_bytes) + kGap : begin, whole(needs.total())}, needs);
    memory.persistent.size = needs.persistent_bytes;
    memory.activations.size = needs.activation_bytes;
    memory.scratch.size = needs.scratch_bytes;
  }
  // Whether nobody has written beside the spans.
  bool is_clean() {
    const Span<uint8_t> spans[] = {memory.persistent, memory.activations, memory.scratch, fast};
    for (size_t i = 0; i < block.size(); ++i) {
      const uint8_t* const at = block.data() + i;
      bool inside = false;
      for (const Span<uint8_t>& span : spans)
        inside = inside || (at >= span.data && at < span.data + span.size);
      if (!inside && *at != 0xa5) return false;
    }
    return true;
  }
};

void check_in_two(const Model& model, const Bytes& expected, uint32_t seed) {
  for (const IsaMask isa : {isa::kScalar, isa::kAll})
    for (const bool fast_first : {true, false}) {
      SessionOptions options;
      options.isa = isa;
      const auto needs = TwoMemories::measure(model, all_ops(), options);
      REQUIRE_MESSAGE(needs.error().ok(), text_of(needs.error(), &model));
      InTwo in_two(*needs, model.fast_bytes(), fast_first);
      auto session = TwoMemories::create(model, all_ops(), in_two.memory, in_two.fast, options);
      REQUIRE_MESSAGE(session.error().ok(), text_of(session.error(), &model));
      run_all(*session, seed + 1);
      REQUIRE(run_all(*session, seed) == expected);
      REQUIRE(in_two.is_clean());
      // Beside it: one memory.
      AlignedBytes activations(model.activation_bytes()), scratch(needs->scratch_bytes);
      auto beside = session->beside(activations.span(), scratch.span());
      REQUIRE(beside.error().ok());
      REQUIRE(run_all(*beside, seed) == expected);
    }
}

}  // namespace

TEST_CASE("random networks give the same bytes in two memories, layer by layer, by rows, fed and planned") {
  int32_t flat = 0, by_rows = 0, fed = 0, both = 0;
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    const AlignedBytes file = RandomPictureNetwork(seed).finish();
    const Model whole = *Model::open(file.view());
    RunningModel ordinary{AlignedBytes(file.view())};
    REQUIRE(ordinary.error().ok());
    const Bytes expected = run_all(ordinary.session(), seed);
    Random random(seed);
    HostArena arena;
    const auto all = static_cast<int32_t>(whole.activation_bytes());
    StreamGoal goal;
    goal.fast_bytes = static_cast<uint64_t>(random.between(64, all));
    goal.most_bytes = goal.fast_bytes + static_cast<uint64_t>(random.between(all / 4, all));
    goal.feeds_rows = seed % 4 == 0;
    const auto planned = stream_model(whole, all_ops(), goal, arena.arena());
    if (!planned) {
      REQUIRE(planned.error().status == Status::kActivationsTooSmall);
      CHECK(planned.error().limit > planned.error().value);
      continue;
    }
    const auto model = stream_rows(*Model::open(*planned));
    REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
    CHECK(model->fast_bytes() <= goal.fast_bytes);
    CHECK(model->activation_bytes() - model->fast_bytes() <= *goal.most_bytes - goal.fast_bytes);
    if (model->fast_bytes() == 0) continue;
    check_in_two(*model, expected, seed);
    (Model::open(*planned)->has_streamed_plan() ? by_rows : flat) += 1;
    fed += StreamedModel::feeding_segment(*model).count != 0 ? 1 : 0;
    both += model->activation_bytes() > model->fast_bytes() ? 1 : 0;
    // Who has one memory runs the same plan.
    if (StreamedModel::feeding_segment(*model).count == 0) {
      RunningModel in_one{AlignedBytes(*planned)};
      REQUIRE(in_one.error().ok());
      CHECK(run_all(in_one.session(), seed) == expected);
    }
    // Planned beforehand.
    const auto plan = plan_model(*Model::open(*planned), {cpu_isa() & kCompiledIsa, false});
    REQUIRE(plan.error().ok());
    std::vector<const OpRun*> runs;
    const PlannedModel constants = plan->planned(*Model::open(*planned), runs);
    const SessionNeeds needs = TwoMemories::measure(constants);
    InTwo in_two(needs, model->fast_bytes(), seed % 2 == 0);
    auto session = TwoMemories::start(constants, in_two.memory, in_two.fast);
    REQUIRE(session.error().ok());
    CHECK(run_all(*session, seed) == expected);
    CHECK(in_two.is_clean());
    in_two.fast.size -= 1;
    CHECK(TwoMemories::start(constants, in_two.memory, in_two.fast).error().status ==
          Status::kActivationsTooSmall);
  }
  CHECK(flat > 8);
  CHECK(by_rows > 3);
  CHECK(fed > 1);
  CHECK(both > 12);
}

TEST_CASE(
    "a border that a tensor crosses, and one that is none, are refused; in one memory they are nobody's") {
  const AlignedBytes file = RandomPictureNetwork(3).finish();
  const Model model = *Model::open(file.view());
  const size_t all = model.activation_bytes();
  int32_t crossed = 0, good = 0;
  for (size_t fast = 0; fast <= all + 64; fast += 8) {
    CAPTURE(fast);
    const AlignedBytes changed = with_fast(file.view(), fast);
    const Result<Model> opened = Model::open(changed.view());
    REQUIRE(opened.error().ok());
    CHECK(Session::measure(*opened, all_ops()).error().ok());
    Error expected;
    if (fast % kTensorAlignment != 0)
      expected = {Status::kPlanAlignment, -1, -1, static_cast<int64_t>(fast), kTensorAlignment};
    else if (fast > all)
      expected = {Status::kPlanOffset, -1, -1, static_cast<int64_t>(fast), static_cast<int64_t>(all)};
    for (int32_t t = 0; expected.ok() && t < model.tensor_count(); ++t) {
      const size_t begin = model.activation_offset(t), end = begin + model.tensor(t).bytes();
      if (!model.tensor(t).is_constant() && begin < fast && end > fast)
        expected = {Status::kPlanCrosses, -1, t, static_cast<int64_t>(end), static_cast<int64_t>(fast)};
    }
    check_error(TwoMemories::measure(*opened, all_ops()).error(), expected);
    if (!expected.ok()) check_error(TwoMemories::create(*opened, all_ops(), {}, {}).error(), expected);
    crossed += expected.status == Status::kPlanCrosses ? 1 : 0;
    good += expected.ok() && fast > 0 ? 1 : 0;
  }
  CHECK(crossed > 3);
  CHECK(good > 0);
}

TEST_CASE("one byte less of each memory, memory that is misaligned and memory that overlaps is refused") {
  const AlignedBytes flat = RandomPictureNetwork(8).finish();
  HostArena arena;
  StreamGoal goal;
  goal.fast_bytes = Model::open(flat.view())->activation_bytes() / 2;
  goal.most_bytes = uint64_t{1} << 20;
  const auto planned = stream_model(*Model::open(flat.view()), all_ops(), goal, arena.arena());
  REQUIRE(planned.error().ok());
  const Model model = *stream_rows(*Model::open(*planned));
  const size_t fast = model.fast_bytes();
  REQUIRE(fast > 0);
  const SessionNeeds needs = *TwoMemories::measure(model, all_ops());
  REQUIRE(needs.activation_bytes > 0);
  CHECK(needs.activation_bytes + fast == model.activation_bytes());
  const auto error_of = [&](const SessionMemory& memory, Span<uint8_t> given) {
    return TwoMemories::create(model, all_ops(), memory, given).error();
  };
  InTwo in_two(needs, fast, true);
  CHECK(error_of(in_two.memory, in_two.fast).ok());
  const auto size_of = [](size_t size) { return static_cast<int64_t>(size); };
  Span<uint8_t> given = in_two.fast;
  given.size -= 1;
  check_error(error_of(in_two.memory, given),
              {Status::kActivationsTooSmall, -1, -1, size_of(fast) - 1, size_of(fast)});
  check_error(error_of(in_two.memory, {nullptr, fast}),
              {Status::kActivationsTooSmall, -1, -1, 0, size_of(fast)});
  check_error(error_of(in_two.memory, {in_two.fast.data + 16, fast}),
              {Status::kMemoryMisaligned, -1, -1, 16, kMemoryAlignment});
  for (Span<uint8_t> SessionMemory::*const span :
       {&SessionMemory::persistent, &SessionMemory::activations, &SessionMemory::scratch}) {
    SessionMemory memory = in_two.memory;
    if ((memory.*span).size == 0) continue;
    (memory.*span).size -= 1;
    CHECK(error_of(memory, in_two.fast).limit == size_of((memory.*span).size + 1));
    memory = in_two.memory;
    CHECK(error_of(memory, {(memory.*span).data, fast}).status == Status::kMemoryOverlap);
  }
  // A ceiling counts both.
  const auto both = static_cast<uint32_t>(needs.total() + fast);
  for (const bool holds : {true, false}) {
    const auto bounded = with_ceiling(*Model::open(*planned), holds ? both + 63 : both - 64, arena.arena());
    REQUIRE(bounded.error().ok());
    const auto measured = TwoMemories::measure(*stream_rows(*Model::open(*bounded)), all_ops());
    CHECK(measured.error().status == (holds ? Status::kOk : Status::kAboveCeiling));
    CHECK(TwoMemories::measure_anywhere(*stream_rows(*Model::open(*bounded)), all_ops())->total() ==
          needs.total());
  }
}

TEST_CASE("memories that an offset of 32 bits does not join are refused") {
  if constexpr (sizeof(size_t) > 4) {
    const AlignedBytes file = with_fast(RandomPictureNetwork(8).finish().view(), 0);
    HostArena arena;
    StreamGoal goal;
    goal.fast_bytes = 256;
    goal.most_bytes = uint64_t{1} << 20;
    const auto planned = stream_model(*Model::open(file.view()), all_ops(), goal, arena.arena());
    REQUIRE(planned.error().ok());
    const Model model = *stream_rows(*Model::open(*planned));
    REQUIRE(model.fast_bytes() > 0);
    const SessionNeeds needs = *TwoMemories::measure(model, all_ops());
    InTwo in_two(needs, model.fast_bytes(), true);
    // Nothing there is touched.
    const auto far = reinterpret_cast<uintptr_t>(in_two.block.data()) + (uint64_t{5} << 30);
    const Error error = TwoMemories::create(model, all_ops(), in_two.memory,
                                            {reinterpret_cast<uint8_t*>(far), model.fast_bytes()})
                            .error();
    CHECK(error.status == Status::kMemoryApart);
    CHECK(error.value > error.limit);
  }
}

TEST_CASE("what is used most stands in the fast memory, and nothing that is needed at once overlaps") {
  Random random(5);
  for (int32_t round = 0; round < 200; ++round) {
    const int32_t nodes = random.between(1, 20), count = random.between(1, 30);
    std::vector<MemoryBlock> blocks;
    std::vector<uint64_t> traffic;
    for (int32_t i = 0; i < count; ++i) {
      const int32_t first = random.between(-1, nodes - 1);
      blocks.push_back(
          {first, random.between(first, nodes), 16u * static_cast<uint64_t>(random.between(1, 64)), 0, 0});
      traffic.push_back(blocks.back().bytes * static_cast<uint64_t>(random.between(1, 9)));
    }
    HostArena arena;
    const TwoSizes most{64u * static_cast<uint64_t>(random.between(1, 40)) + 5, UINT32_MAX};
    const TwoSizes sizes = place_in_two(blocks, traffic, {}, nodes, most, arena.arena());
    CHECK(sizes.fast <= most.fast);
    CHECK(sizes.fast % kTensorAlignment == 0);
    uint64_t in_fast = 0, all = 0, best_single = 0;
    for (size_t i = 0; i < blocks.size(); ++i) {
      const uint64_t end = blocks[i].offset + blocks[i].bytes;
      const bool is_fast = blocks[i].offset < sizes.fast;
      CHECK((is_fast ? end <= sizes.fast : end <= sizes.fast + sizes.slow));
      in_fast += is_fast ? traffic[i] : 0;
      all += traffic[i];
      if (blocks[i].bytes <= most.fast && traffic[i] > best_single) best_single = traffic[i];
      for (size_t k = 0; k < i; ++k)
        if (blocks[i].first <= blocks[k].last && blocks[k].first <= blocks[i].last)
          CHECK((end <= blocks[k].offset || blocks[k].offset + blocks[k].bytes <= blocks[i].offset));
    }
    CHECK(in_fast >= best_single);
    if (most.fast > 64 * 1024) CHECK(in_fast == all);
  }
}

}  // namespace intaglio::test::two_memories_test
