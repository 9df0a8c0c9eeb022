// Streamed plans as no planner of ours would write them: other bands, leads and line buffers than a network needs. What the
// loader takes gives the bytes of layer by layer, within memory that ends at a guard page.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "calibrator/host/stream_plan.h"
#include "intaglio/streaming.h"
#include "runtime/streaming/streamed_model.h"
#include "tests/support/model_object.h"
#include "tests/support/random_picture_network.h"

namespace intaglio::test::streamed_mutants_test {
namespace {

using test::AlignedBytes;
using test::Random;
using Bytes = std::vector<uint8_t>;

// Numbers of a plan, some of them others.
void change(schema::PlanT& plan, Random& random) {
  for (const auto& segment : plan.segments) {
    if (random.one_in(2)) segment->band = random.one_in(4) ? random.between(1, 4096) : random.between(1, 24);
    const int32_t all_rows = random.one_in(2) ? random.between(0, 24) : 0;
    for (size_t i = 0; i < segment->rows.size(); ++i) {
      if (random.one_in(8)) segment->leads[i] += random.between(-3, 3);
      if (segment->rows[i] > 0) segment->rows[i] += all_rows + (random.one_in(8) ? random.between(-2, 3) : 0);
      if (segment->rows[i] >= 0 && random.one_in(12)) segment->rows[i] = 0;
    }
    if (segment->picture_rows == 0) continue;
    segment->picture_rows += all_rows;
    if (random.one_in(4)) segment->picture_lead += random.between(-3, 3);
  }
}

// Every line buffer apart from every other one, as many of its rows as there are.
void place_apart(test::ModelT& model) {
  schema::PlanT& plan = *model.streamed;
  std::vector<int32_t> rows(model.tensors.size(), 0);
  for (const auto& segment : plan.segments) {
    for (size_t i = 0; i < segment->rows.size(); ++i)
      rows[static_cast<size_t>(model.nodes[static_cast<size_t>(segment->first) + i]->outputs[0])] =
          segment->rows[i];
    if (segment->picture_rows != 0) rows[static_cast<size_t>(model.inputs[0])] = segment->picture_rows;
  }
  plan.activation_bytes = 0;
  for (size_t t = 0; t < model.tensors.size(); ++t) {
    if (model.tensors[t]->buffer >= 0) continue;
    const auto bytes = static_cast<uint32_t>(test::value_bytes(*model.tensors[t]));
    const auto height = static_cast<uint32_t>(rows[t] > 0 ? model.tensors[t]->shape[1] : 1);
    const uint32_t place = rows[t] < 0   ? 4 * bytes
                           : rows[t] > 0 ? bytes / height * static_cast<uint32_t>(rows[t])
                                         : bytes;
    plan.offsets[t] = plan.activation_bytes;
    plan.activation_bytes += (place + 15) / 16 * 16;
  }
}

Bytes outputs_of(const Session& session) {
  Bytes all;
  for (size_t i = 0; i < session.model().outputs().size; ++i) {
    const TensorView y = session.output(static_cast<int32_t>(i));
    const auto* const bytes = static_cast<const uint8_t*>(y.data);
    all.insert(all.end(), bytes, bytes + y.info.bytes());
  }
  return all;
}

// Empty: the session is refused.
Bytes run(const Model& model, const std::vector<int8_t>& picture, Random& random) {
  const Result<SessionNeeds> needs = Session::measure(model, all_ops());
  if (!needs) return {};
  AlignedBytes persistent(needs->persistent_bytes);
  test::GuardedScratch activations, scratch;
  activations.allocate(needs->activation_bytes);
  scratch.allocate(needs->scratch_bytes);
  Result<Session> session =
      Session::create(model, all_ops(), {persistent.span(), activations.span(), scratch.span()});
  if (!session) return {};
  const int32_t height = session->input().info.shape[1];
  const size_t row_bytes = picture.size() / static_cast<size_t>(height);
  const bool is_fed = StreamedModel::feeding_segment(model).count != 0;
  for (int32_t row = 0; is_fed && row < height;) {
    const int32_t count = random.between(1, 3);
    session->feed_rows(
        reinterpret_cast<const uint8_t*>(picture.data()) + static_cast<size_t>(row) * row_bytes,
        std::min(count, height - row));
    row += count;
  }
  if (!is_fed) {
    memcpy(session->input().data, picture.data(), picture.size());
    session->run();
  }
  return outputs_of(*session);
}

TEST_CASE("a plan that the loader takes gives what layer by layer gives, whoever wrote it") {
  int32_t taken = 0, refused = 0;
  for (uint32_t seed = 3000; seed < 3150; ++seed) {
    const AlignedBytes file = test::RandomPictureNetwork(seed).finish();
    const Model model = *Model::open(file.view());
    Random random(seed);
    const std::vector<int8_t> picture = random.codes(model.tensor(model.inputs()[0]).bytes());
    const Bytes expected = run(model, picture, random);
    for (const bool feeds_rows : {false, true}) {
      HostArena arena;
      StreamGoal goal;
      goal.feeds_rows = feeds_rows;
      const auto planned = stream_model(model, all_ops(), goal, arena.arena());
      if (!planned || !Model::open(*planned)->has_streamed_plan()) continue;
      for (int32_t round = 0; round < 20; ++round) {
        CAPTURE(seed);
        CAPTURE(feeds_rows);
        CAPTURE(round);
        const auto made = test::unpack(AlignedBytes(*planned));
        change(*made->streamed, random);
        place_apart(*made);
        const AlignedBytes bytes = test::pack(*made);
        const Result<Model> opened = Model::open(bytes.view());
        REQUIRE_MESSAGE(opened.error().ok(), test::text_of(opened.error()));
        const Result<Model> by_rows = stream_rows(*opened);
        const Bytes found = by_rows ? run(*by_rows, picture, random) : Bytes();
        ++(found.empty() ? refused : taken);
        if (!found.empty()) REQUIRE(found == expected);
      }
    }
  }
  CHECK(taken > 500);
  CHECK(refused > 500);
}

}  // namespace
}  // namespace intaglio::test::streamed_mutants_test
