// Bands of streamed plans: how high the planner makes them, and segments of more nodes than a run keeps decoded.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "calibrator/host/stream_plan.h"
#include "intaglio/streaming.h"
#include "runtime/streaming/streamed_model.h"
#include "tests/support/model_object.h"
#include "tests/support/random_picture_network.h"

namespace intaglio::test::stream_bands_test {
namespace {

using test::AlignedBytes;
using test::ModelBuilder;
using test::RandomPictureNetwork;

// Calls of kernels that the segments' nodes take.
int64_t calls_of(const Model& model) {
  int64_t calls = 0;
  for (int32_t s = 0; s < StreamedModel::segment_count(model); ++s) {
    const SegmentInfo segment = StreamedModel::segment(model, s);
    for (int32_t i = 0; i < segment.count; ++i) {
      const TensorInfo out = model.tensor(StreamedModel::outputs(model, segment.first + i)[0]);
      const int64_t stride = segment.strides[static_cast<size_t>(i)],
                    a_call = std::max<int64_t>(segment.band, stride);
      calls += (out.shape[1] * stride + a_call - 1) / a_call;
    }
  }
  return calls;
}

TEST_CASE("with the least memory no segment's bands could be higher in it") {
  int32_t tried = 0;
  for (uint32_t seed = 2000; seed < 2060; ++seed) {
    CAPTURE(seed);
    const AlignedBytes file = RandomPictureNetwork(seed).finish();
    const Model model = *Model::open(file.view());
    HostArena arena;
    const auto least = stream_model(model, all_ops(), {}, arena.arena());
    REQUIRE(least.error().ok());
    if (!Model::open(*least)->has_streamed_plan()) continue;
    const Model by_rows = *stream_rows(*Model::open(*least));
    std::vector<StreamedNodes> segments;
    for (int32_t s = 0; s < StreamedModel::segment_count(by_rows); ++s) {
      const SegmentInfo segment = StreamedModel::segment(by_rows, s);
      segments.push_back({segment.first, segment.first + segment.count, segment.band});
    }
    for (size_t s = 0; s < segments.size(); ++s) {
      std::vector<StreamedNodes> higher = segments;
      while (++higher[s].band <= 32) {
        const auto cut =
            stream_segments(model, all_ops(), {higher.data(), higher.size()}, false, arena.arena());
        REQUIRE(cut.error().ok());
        ++tried;
        const Model other = *stream_rows(*Model::open(*cut));
        if (other.activation_bytes() > by_rows.activation_bytes()) continue;
        REQUIRE(calls_of(other) >= calls_of(by_rows));
      }
    }
  }
  CHECK(tried > 500);
}

TEST_CASE("a segment may have more nodes than a run keeps decoded") {
  constexpr int32_t kNodes = 40;
  ModelBuilder b;
  int32_t last = b.tensor("x", DType::kS8, {1, 23, 4, 3}, 0.05f, -7);
  b.input(last);
  for (int32_t n = 0; n < kNodes; ++n) {
    const int32_t next = b.tensor("t" + std::to_string(n), DType::kS8, {1, 23, 4, 3}, 0.05f, -7);
    Window2d& window =
        b.node(n % 3 == 0 ? Op::kAvgPool2d : Op::kMaxPool2d, {last}, {next}).options.as<Window2d>();
    window.kernel_h = 3;
    window.kernel_w = 1;
    window.pad_top = window.pad_bottom = 1;
    last = next;
  }
  b.output(last);
  const AlignedBytes file = b.finish();
  const Model model = *Model::open(file.view());
  const auto run = [](const Model& of) {
    const Result<SessionNeeds> needs = Session::measure(of, all_ops());
    REQUIRE(needs.error().ok());
    AlignedBytes memory(needs->total());
    Result<Session> session = Session::create(of, all_ops(), Session::split(memory.span(), *needs));
    REQUIRE(session.error().ok());
    const std::vector<int8_t> codes = test::Random(7).codes(session->input().info.bytes());
    memcpy(session->input().data, codes.data(), codes.size());
    session->run();
    const Span<const int8_t> y = session->output().as<const int8_t>();
    return std::vector<int8_t>(y.begin(), y.end());
  };
  const std::vector<int8_t> expected = run(model);
  for (const int32_t band : {1, 3}) {
    HostArena arena;
    const StreamedNodes nodes{0, kNodes, band};
    const auto cut = stream_segments(model, all_ops(), {&nodes, 1}, false, arena.arena());
    REQUIRE(cut.error().ok());
    CHECK(run(*stream_rows(*Model::open(*cut))) == expected);
  }
}

}  // namespace
}  // namespace intaglio::test::stream_bands_test
