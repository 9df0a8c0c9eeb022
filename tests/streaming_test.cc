// Sessions that run by rows: the same bytes as layer by layer, in exactly the memory that was measured.
#include "intaglio/streaming.h"

#include <doctest/doctest.h>

#include "calibrator/host/stream_plan.h"
#include "kernels/compiled_isa.h"
#include "runtime/op.h"
#include "runtime/streaming/streamed_model.h"
#include "tests/support/planned_session.h"
#include "tests/support/random_picture_network.h"
#include "tests/support/run_widths.h"

namespace intaglio {
namespace {

using test::AlignedBytes;
using test::ModelBuilder;
using test::PlannedSession;
using test::Random;
using test::RandomPictureNetwork;
using test::RunningModel;

using Bytes = std::vector<uint8_t>;

void write_inputs(Session& session, uint32_t seed) {
  Random random(seed);
  for (int32_t i = 0; i < static_cast<int32_t>(session.model().inputs().size); ++i) {
    const TensorView input = session.input(i);
    const std::vector<int8_t> codes = random.codes(input.info.bytes());
    memcpy(input.data, codes.data(), codes.size());
  }
}

Bytes run_session(Session& session, uint32_t seed) {
  write_inputs(session, seed);
  session.run();
  Bytes all;
  for (int32_t i = 0; i < static_cast<int32_t>(session.model().outputs().size); ++i) {
    const TensorView output = session.output(i);
    const auto* const data = static_cast<const uint8_t*>(output.data);
    all.insert(all.end(), data, data + output.info.bytes());
  }
  return all;
}

Bytes run_flat(Span<const uint8_t> file, uint32_t seed) {
  RunningModel model{AlignedBytes(file)};
  REQUIRE_MESSAGE(model.error().ok(), test::text_of(model.error()));
  return run_session(model.session(), seed);
}

// A session by rows, in memory of exactly the bytes that were measured.
class StreamedSession {
 public:
  StreamedSession(Span<const uint8_t> file, IsaMask isa, int32_t width) : bytes_(file) {
    const Result<Model> model = stream_rows(*Model::open(bytes_.view()));
    REQUIRE_MESSAGE(model.error().ok(), test::text_of(model.error()));
    SessionOptions options;
    options.isa = isa;
    if (width > 1) options.executor = {nullptr, width, test::run_backwards};
    const Result<SessionNeeds> needs = Session::measure(*model, all_ops(), options);
    REQUIRE_MESSAGE(needs.error().ok(), test::text_of(needs.error(), &*model));
    persistent_ = AlignedBytes(needs->persistent_bytes);
    activations_ = AlignedBytes(needs->activation_bytes);
    scratch_ = AlignedBytes(needs->scratch_bytes);
    const Result<Session> session = Session::create(
        *model, all_ops(), {persistent_.span(), activations_.span(), scratch_.span()}, options);
    REQUIRE_MESSAGE(session.error().ok(), test::text_of(session.error(), &*model));
    session_ = *session;
  }
  Session& session() { return session_; }

 private:
  AlignedBytes bytes_, persistent_, activations_, scratch_;
  Session session_;
};

// By rows: with each of these kernels and widths, planned beforehand, and twice in the same memory.
void check_streamed(Span<const uint8_t> file, const Bytes& expected, uint32_t seed) {
  for (const IsaMask isa : {isa::kScalar, isa::kAll})
    for (const int32_t width : {1, 3}) {
      StreamedSession model(file, isa, width);
      run_session(model.session(), seed + 1);
      REQUIRE(run_session(model.session(), seed) == expected);
    }
  PlannedSession planned(file, {cpu_isa() & kCompiledIsa, false});
  REQUIRE_MESSAGE(planned.error().ok(), test::text_of(planned.error()));
  REQUIRE(run_session(planned.session(), seed) == expected);
}

// By its streamed plan.
Model open_streamed(Span<const uint8_t> file) {
  const Result<Model> model = stream_rows(*Model::open(file));
  REQUIRE_MESSAGE(model.error().ok(), test::text_of(model.error()));
  return *model;
}

// Neighbouring nodes that can run by rows, cut at random.
std::vector<StreamedNodes> random_segments(const Model& model, Random& random) {
  std::vector<StreamedNodes> segments;
  HostArena arena;
  for (int32_t n = 0; n < model.node_count();) {
    int32_t past = n + random.between(1, 8);
    past = past < model.node_count() ? past : model.node_count();
    const int32_t band = random.one_in(2) ? 1 : random.between(2, 7);
    for (; past > n; --past) {
      const StreamedNodes nodes{n, past, band};
      if (stream_segments(model, all_ops(), {&nodes, 1}, arena.arena())) break;
    }
    if (past > n) segments.push_back({n, past, band});
    n = past > n ? past : n + 1;
  }
  return segments;
}

TEST_CASE(
    "random networks give the same bytes by rows, in segments cut at random and in bands of any height") {
  int32_t streamed = 0;
  for (int32_t i = 0; i < test::shape_count(300); ++i) {
    CAPTURE(i);
    const auto seed = static_cast<uint32_t>(i);
    const AlignedBytes file = RandomPictureNetwork(seed).finish();
    const Model model = *Model::open(file.view());
    const Bytes expected = run_flat(file.view(), seed);
    Random random(seed + 77);
    HostArena arena;
    const std::vector<StreamedNodes> segments = random_segments(model, random);
    if (segments.empty()) continue;
    const auto cut = stream_segments(model, all_ops(), {segments.data(), segments.size()}, arena.arena());
    REQUIRE(cut.error().ok());
    streamed += StreamedModel::segment_count(open_streamed(*cut));
    check_streamed(*cut, expected, seed);
    REQUIRE(run_flat(*cut, seed) == expected);
  }
  CHECK(streamed > 100);
}

TEST_CASE("the planner's least memory holds, and a number of bytes is kept to") {
  int32_t smaller = 0;
  for (int32_t i = 0; i < test::shape_count(100); ++i) {
    CAPTURE(i);
    const auto seed = static_cast<uint32_t>(i) + 1000;
    const AlignedBytes file = RandomPictureNetwork(seed).finish();
    const Model model = *Model::open(file.view());
    HostArena arena;
    const auto least = stream_model(model, all_ops(), {}, arena.arena());
    REQUIRE_MESSAGE(least.error().ok(), test::text_of(least.error()));
    const Model with_least = *Model::open(*least);
    if (!with_least.has_streamed_plan()) continue;
    ++smaller;
    const size_t fewest = open_streamed(*least).activation_bytes(), flat = model.activation_bytes();
    REQUIRE(fewest < flat);
    const Bytes expected = run_flat(file.view(), seed);
    check_streamed(*least, expected, seed);
    const uint64_t between = (fewest + flat) / 2;
    const auto some = stream_model(model, all_ops(), between, arena.arena());
    REQUIRE(some.error().ok());
    REQUIRE(open_streamed(*some).activation_bytes() <= between);
    check_streamed(*some, expected, seed);
    const Error error = stream_model(model, all_ops(), uint64_t{1}, arena.arena()).error();
    CHECK(error.status == Status::kActivationsTooSmall);
    CHECK(error.value == 1);
    CHECK(error.limit == static_cast<int64_t>(fewest));
  }
  CHECK(smaller > 20);
}

}  // namespace
}  // namespace intaglio
