// Sessions that run by rows: the same bytes as layer by layer, in exactly the memory that was measured.
#include "intaglio/streaming.h"
#include "intaglio/frame.h"

#include <doctest/doctest.h>

#include "calibrator/host/stream_plan.h"
#include "kernels/compiled_isa.h"
#include "runtime/op.h"
#include "runtime/streaming/streamed_model.h"
#include "tests/support/model_object.h"
#include "tests/support/planned_session.h"
#include "tests/support/random_picture_network.h"
#include "tests/support/run_widths.h"

namespace intaglio::test::streaming_test {
namespace {

using test::AlignedBytes;
using test::ModelBuilder;
using test::PlannedSession;
using test::Random;
using test::RandomPictureNetwork;
using test::RunningModel;

using Bytes = std::vector<uint8_t>;

// Writes the inputs that stand as a whole; what comes back is the first one.
std::vector<int8_t> write_inputs(Session& session, uint32_t seed) {
  Random random(seed);
  std::vector<int8_t> picture;
  for (int32_t i = 0; i < static_cast<int32_t>(session.model().inputs().size); ++i) {
    const TensorView input = session.input(i);
    const std::vector<int8_t> codes = random.codes(input.info.bytes());
    if (input.data != nullptr) memcpy(input.data, codes.data(), codes.size());
    if (i == 0) picture = codes;
  }
  return picture;
}

Bytes outputs_of(const Session& session) {
  Bytes all;
  for (int32_t i = 0; i < static_cast<int32_t>(session.model().outputs().size); ++i) {
    const TensorView output = session.output(i);
    const auto* const data = static_cast<const uint8_t*>(output.data);
    all.insert(all.end(), data, data + output.info.bytes());
  }
  return all;
}

Bytes run_session(Session& session, uint32_t seed) {
  write_inputs(session, seed);
  session.run();
  return outputs_of(session);
}

// The same picture by rows, a few at a time; rows behind the last one are not even read.
Bytes feed_session(Session& session, uint32_t seed) {
  const std::vector<int8_t> picture = write_inputs(session, seed);
  const int32_t height = session.model().tensor(session.model().inputs()[0]).shape[1];
  const size_t row_bytes = picture.size() / static_cast<size_t>(height);
  Random random(seed);
  session.begin_picture();
  for (int32_t row = 0; row < height;) {
    const int32_t count = random.between(1, 4), left = height - row;
    const auto* const rows =
        reinterpret_cast<const uint8_t*>(picture.data()) + static_cast<size_t>(row) * row_bytes;
    const Bytes given(rows, rows + static_cast<size_t>(count < left ? count : left) * row_bytes);
    REQUIRE(session.feed_rows(given.data(), count) == (count >= left));
    row += count;
  }
  REQUIRE(session.feed_rows(nullptr, 2));
  return outputs_of(session);
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
  bool is_fed() const { return StreamedModel::feeding_segment(session_.model()).count != 0; }

 private:
  AlignedBytes bytes_, persistent_, activations_, scratch_;
  Session session_;
};

// By rows: with each of these kernels and widths, planned beforehand, and twice in the same memory.
void check_streamed(Span<const uint8_t> file, const Bytes& expected, uint32_t seed) {
  for (const IsaMask isa : {isa::kScalar, isa::kAll})
    for (const int32_t width : {1, 3}) {
      StreamedSession model(file, isa, width);
      const auto result = model.is_fed() ? feed_session : run_session;
      result(model.session(), seed + 1);
      REQUIRE(result(model.session(), seed) == expected);
      REQUIRE(feed_session(model.session(), seed) == expected);
    }
  PlannedSession planned(file, {cpu_isa() & kCompiledIsa, false});
  REQUIRE_MESSAGE(planned.error().ok(), test::text_of(planned.error()));
  REQUIRE(feed_session(planned.session(), seed) == expected);
}

// By its streamed plan.
Model open_streamed(Span<const uint8_t> file) {
  const Result<Model> model = stream_rows(*Model::open(file));
  REQUIRE_MESSAGE(model.error().ok(), test::text_of(model.error()));
  return *model;
}

// Neighbouring nodes that can run by rows, cut at random.
std::vector<StreamedNodes> random_segments(const Model& model, bool feeds_rows, Random& random) {
  std::vector<StreamedNodes> segments;
  HostArena arena;
  for (int32_t n = 0; n < model.node_count();) {
    int32_t past = n + random.between(1, 8);
    past = past < model.node_count() ? past : model.node_count();
    const int32_t band = random.one_in(2) ? 1 : random.between(2, 7);
    for (; past > n; --past) {
      const StreamedNodes nodes{n, past, band};
      if (stream_segments(model, all_ops(), {&nodes, 1}, feeds_rows, arena.arena())) break;
    }
    if (past > n) segments.push_back({n, past, band});
    n = past > n ? past : n + 1;
  }
  return segments;
}

TEST_CASE(
    "random networks give the same bytes by rows, in segments cut at random and in bands of any height") {
  int32_t streamed = 0, fed = 0;
  for (int32_t i = 0; i < test::shape_count(300); ++i) {
    CAPTURE(i);
    const auto seed = static_cast<uint32_t>(i);
    const AlignedBytes file = RandomPictureNetwork(seed).finish();
    const Model model = *Model::open(file.view());
    const Bytes expected = run_flat(file.view(), seed);
    Random random(seed + 77);
    HostArena arena;
    const bool feeds_rows = i % 2 == 1;
    const std::vector<StreamedNodes> segments = random_segments(model, feeds_rows, random);
    if (segments.empty()) continue;
    const auto cut =
        stream_segments(model, all_ops(), {segments.data(), segments.size()}, feeds_rows, arena.arena());
    REQUIRE(cut.error().ok());
    streamed += StreamedModel::segment_count(open_streamed(*cut));
    check_streamed(*cut, expected, seed);
    REQUIRE(run_flat(*cut, seed) == expected);
    if (StreamedModel::feeding_segment(open_streamed(*cut)).count == 0) continue;
    ++fed;
    const auto unfed = unfed_model(*Model::open(*cut), all_ops(), arena.arena());
    REQUIRE(unfed.error().ok());
    REQUIRE(run_session(StreamedSession(*unfed, isa::kAll, 1).session(), seed) == expected);
  }
  CHECK(streamed > 100);
  CHECK(fed > 40);
}

Window2d same_3x3() {
  Window2d window;
  window.kernel_h = window.kernel_w = 3;
  window.pad_top = window.pad_left = window.pad_bottom = window.pad_right = 1;
  return window;
}

// x [1, 6, 5, 3], 1 x 1 -> a, resized -> b [1, height, 10, 3], 3 x 3 -> c.
AlignedBytes resized_network(int32_t height, ResizeOptions how) {
  ModelBuilder b;
  Random random(11);
  const auto map = [&](const char* name, int32_t h, int32_t w) {
    return b.tensor(name, DType::kS8, {1, h, w, 3}, 0.05f, -7);
  };
  const auto weights = [&](const char* name, int32_t side) {
    return b.constant(name, DType::kS8, {3, side, side, 3},
                      random.codes(static_cast<size_t>(9 * side * side)), std::vector<float>(3, 0.01f), 0);
  };
  const int32_t x = map("x", 6, 5), a = map("a", 6, 5), resized = map("b", height, 10),
                c = map("c", height, 10);
  b.input(x);
  b.output(c);
  b.node(Op::kConv2d, {x, weights("wa", 1)}, {a});
  b.node(Op::kResize, {a}, {resized}).options.as<ResizeOptions>() = how;
  b.node(Op::kConv2d, {resized, weights("wb", 3)}, {c}).options.as<Window2d>() = same_3x3();
  return b.finish();
}

TEST_CASE("a segment goes on through a Resize, whose rows keep step with its input's") {
  struct Case {
    int32_t height;
    ResizeOptions how;
    std::vector<int32_t> strides,
        rows;  // of the convolution, the Resize and the last convolution, which leaves
  };
  const auto nearest = Interpolation::kNearest, bilinear = Interpolation::kBilinear;
  const auto half = Coordinates::kHalfPixel, asymmetric = Coordinates::kAsymmetric,
             corners = Coordinates::kAlignCorners;
  const Case cases[] = {
      {12, {nearest, asymmetric}, {2, 1, 1}, {1, 3, 0}},
      {12, {bilinear, half}, {2, 1, 1}, {3, 3, 0}},
      {18, {nearest, half, NearestRounding::kHalfDown}, {3, 1, 1}, {1, 3, 0}},
      {9, {bilinear, half}, {3, 2, 2}, {3, 3, 0}},
      {2, {nearest, asymmetric}, {1, 3, 3}, {1, 2, 0}},
      {3, {bilinear, asymmetric}, {1, 2, 2}, {2, 3, 0}},
      {12, {bilinear, corners}, {2, 1, 1}, {3, 3, 0}},
      {3, {nearest, corners, NearestRounding::kHalfUp}, {1, 2, 2}, {2, 3, 0}},
  };
  for (const Case& one : cases) {
    CAPTURE(one.height);
    const AlignedBytes file = resized_network(one.height, one.how);
    HostArena arena;
    const StreamedNodes nodes{0, 3, 1};
    const auto cut = stream_segments(*Model::open(file.view()), all_ops(), {&nodes, 1}, false, arena.arena());
    REQUIRE(cut.error().ok());
    const Model model = open_streamed(*cut);
    const SegmentInfo s = StreamedModel::segment(model, 0);
    CHECK(std::vector<int32_t>(s.strides.begin(), s.strides.end()) == one.strides);
    CHECK(std::vector<int32_t>(s.rows.begin(), s.rows.end()) == one.rows);
    check_streamed(*cut, run_flat(file.view(), 4), 4);
    // A step later, or a row fewer, is refused.
    const auto status_of = [&](const auto& change) {
      const auto made = test::unpack(AlignedBytes(*cut));
      change(*made->streamed->segments[0]);
      const AlignedBytes bytes = test::pack(*made);
      return stream_rows(*Model::open(bytes.view())).error().status;
    };
    CHECK(status_of([](schema::SegmentT& segment) { --segment.leads[0]; }) == Status::kRowsTooLate);
    CHECK(status_of([](schema::SegmentT& segment) { --segment.rows[1]; }) == Status::kBadLineBuffer);
    CHECK(status_of([](schema::SegmentT& segment) { ++segment.strides[1]; }) == Status::kBadRowStep);
    if (one.rows[0] == 1) continue;
    CHECK(status_of([](schema::SegmentT& segment) { --segment.rows[0]; }) == Status::kBadLineBuffer);
  }
}

TEST_CASE("slices of a run give the bytes of the whole: layer by layer, by rows, and planned beforehand") {
  for (uint32_t seed = 1; seed < 6; ++seed) {
    CAPTURE(seed);
    const AlignedBytes file = RandomPictureNetwork(seed).finish();
    const Bytes expected = run_flat(file.view(), seed);
    HostArena arena;
    const auto by_rows = stream_model(*Model::open(file.view()), all_ops(), {}, arena.arena());
    REQUIRE(by_rows.error().ok());
    RunningModel flat{AlignedBytes(file.view())};
    PlannedSession planned(file.view(), {cpu_isa() & kCompiledIsa, false});
    StreamedSession streamed(*by_rows, isa::kAll, 1);
    for (Session* const session : {&flat.session(), &planned.session(), &streamed.session()})
      for (const int32_t count : {1, 2, 5, 1000}) {
        write_inputs(*session, seed);
        int32_t next = 0;
        do {
          const int32_t last = next;
          next = session->run_slice(next, count);
          CHECK((next == 0 || next == last + count));
        } while (next != 0);
        CHECK(outputs_of(*session) == expected);
      }
  }
}

TEST_CASE("a session layer by layer takes rows, too") {
  const AlignedBytes file = RandomPictureNetwork(5).finish();
  RunningModel model{AlignedBytes(file.view())};
  REQUIRE(model.error().ok());
  const Bytes expected = run_flat(file.view(), 9);
  CHECK(feed_session(model.session(), 9) == expected);
  CHECK(run_session(model.session(), 10) != expected);
  CHECK(feed_session(model.session(), 9) == expected);
}

TEST_CASE("bands run with the kernels of the whole map, on every machine") {
  std::vector<int32_t> map{1, 64, 1, 16}, taps{16, 3, 3, 16};  // a band of one row: one pixel, not many
  // Channels times width are too many for the DSP extension's kernel of maps, but not for a wide band's.
  SUBCASE("depthwise") {
    map = {1, 6, 4, 8192};
    taps = {3, 3, 8192};
  }
  const bool depthwise = taps.size() == 3;
  ModelBuilder b;
  const auto channels = static_cast<size_t>(map[3]);
  const auto codes = Random(3).codes(9 * channels * (depthwise ? 1 : channels));
  int32_t x = b.tensor("x", DType::kS8, map, 0.05f, -7);
  b.input(x);
  for (const std::string name : {"a", "b", "c", "d"}) {
    const int32_t y = b.tensor(name, DType::kS8, map, 0.05f, -7);
    const int32_t w = b.constant("w" + name, DType::kS8, taps, codes, std::vector<float>(channels, 0.01f),
                                 depthwise ? 2 : 0);
    b.node(depthwise ? Op::kDepthwiseConv2d : Op::kConv2d, {x, w}, {y}).options.as<Window2d>() = same_3x3();
    x = y;
  }
  b.output(x);
  const AlignedBytes file = b.finish();
  HostArena arena;
  const StreamedNodes nodes{0, 4, 1};
  const auto cut = stream_segments(*Model::open(file.view()), all_ops(), {&nodes, 1}, false, arena.arena());
  REQUIRE(cut.error().ok());
  const Model model = open_streamed(*cut);
  IsaMask every = 0;
  for (const IsaName& name : kIsaNames) every |= name.bit;
  SessionOptions options;
  for (options.isa = every;; options.isa = (options.isa - 1) & every) {
    CAPTURE(options.isa);
    const auto needs = Session::measure(model, all_ops(), options, false);
    REQUIRE_MESSAGE(needs.error().ok(), test::text_of(needs.error()));
    if (options.isa == 0) break;
  }
  check_streamed(*cut, run_flat(file.view(), 4), 4);
}

// x [1, 12, 10, 3 or 1] with a recipe, and two 3 x 3 convolutions, the second of stride 2.
AlignedBytes picture_network(bool rgb, ResizeMode resize = ResizeMode::kStretch) {
  ModelBuilder b;
  Random random(3);
  const int32_t channels = rgb ? 3 : 1;
  const int32_t x = b.tensor("x", DType::kS8, {1, 12, 10, channels}, 0.02f, -5);
  const int32_t a = b.tensor("a", DType::kS8, {1, 12, 10, 8}, 0.05f, -7),
                y = b.tensor("y", DType::kS8, {1, 6, 5, 4}, 0.05f, 3);
  b.input(x);
  b.output(y);
  const auto weights = [&](int32_t oc, int32_t ic) {
    return b.constant("w" + std::to_string(oc), DType::kS8, {oc, 3, 3, ic},
                      random.codes(static_cast<size_t>(oc * 9 * ic)),
                      std::vector<float>(static_cast<size_t>(oc), 0.01f), 0);
  };
  Window2d window = same_3x3();
  b.node(Op::kConv2d, {x, weights(8, channels)}, {a}).options.as<Window2d>() = window;
  window.stride_h = window.stride_w = 2;
  b.node(Op::kConv2d, {a, weights(4, 8)}, {y}).options.as<Window2d>() = window;
  ImageInput recipe;
  recipe.color = rgb ? ColorOrder::kBgr : ColorOrder::kGray;
  recipe.resize = resize;
  recipe.channels = channels;
  for (int32_t c = 0; c < channels; ++c) recipe.mean[c] = 120.0f, recipe.norm[c] = 1.0f;
  const std::vector<int8_t> table = random.codes(static_cast<size_t>(channels) * 256);
  recipe.table = b.arena().copy(Span<const int8_t>(table.data(), table.size()));
  b.graph().images.push(b.arena(), recipe);
  return b.finish();
}

TEST_CASE("rows are pixels where the model has a recipe, as write_image takes them") {
  for (const bool rgb : {true, false}) {
    const AlignedBytes file = picture_network(rgb);
    const Model model = *Model::open(file.view());
    const PixelOrder order = rgb ? PixelOrder::kBgr : PixelOrder::kGray;
    const size_t row_bytes = rgb ? 30 : 10;
    Bytes pixels(12 * row_bytes);
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 89 + 7);
    RunningModel flat{AlignedBytes(file.view())};
    REQUIRE(write_image(model.image(0), flat.session().input(), {10, 12, order},
                        {pixels.data(), pixels.size()}, row_bytes, {})
                .ok());
    flat.session().run();
    const Bytes expected = outputs_of(flat.session());
    HostArena arena;
    const auto least = stream_model(model, all_ops(), {{}, true}, arena.arena());
    REQUIRE(least.error().ok());
    StreamedSession fed(*least, isa::kAll, 1);
    REQUIRE(fed.is_fed());
    CHECK(fed.session().input().data == nullptr);
    CHECK(!fed.session().feed_rows(pixels.data(), 11));
    CHECK(fed.session().feed_rows(pixels.data() + 11 * row_bytes, 1));
    CHECK(outputs_of(fed.session()) == expected);
    // A picture that was given up leaves nothing behind.
    fed.session().begin_picture();
    CHECK(!fed.session().feed_rows(pixels.data() + row_bytes, 5));
    fed.session().begin_picture();
    CHECK(fed.session().feed_rows(pixels.data(), 100));
    CHECK(outputs_of(fed.session()) == expected);
    CHECK(flat.session().feed_rows(pixels.data(), 12));
    CHECK(outputs_of(flat.session()) == expected);
  }
}

TEST_CASE("a camera's frames are fed as write_frame writes them, resized and with their borders") {
  const PixelOrder orders[] = {PixelOrder::kRgb565, PixelOrder::kNv12, PixelOrder::kBayerGrbg};
  for (const bool rgb : {true, false})
    for (const ResizeMode resize : {ResizeMode::kStretch, ResizeMode::kCrop, ResizeMode::kLetterbox}) {
      const AlignedBytes file = picture_network(rgb, resize);
      const Model model = *Model::open(file.view());
      HostArena arena;
      const auto least = stream_model(model, all_ops(), {{}, true}, arena.arena());
      REQUIRE(least.error().ok());
      StreamedSession fed(*least, isa::kAll, 1);
      RunningModel flat{AlignedBytes(file.view())}, whole{AlignedBytes(file.view())};
      for (const PixelOrder order : orders)
        for (const FrameInfo& info :
             {FrameInfo{33, 17, order}, {7, 19, order}, {10, 12, order}, {6, 6, order}}) {
          CAPTURE(info.width);
          const auto pixels = Random(static_cast<uint32_t>(info.width)).codes(frame_bytes(info));
          Frame frame;
          frame.info = info;
          frame.pixels = {reinterpret_cast<const uint8_t*>(pixels.data()), pixels.size()};
          const TensorView input = whole.session().input();
          Bytes scratch(*FrameWriter::measure(model.image(0), input.info, info) + 4);
          const Span<uint8_t> rows{scratch.data(), scratch.size()};
          REQUIRE(write_frame(model.image(0), input, frame, rows).ok());
          whole.session().run();
          const Bytes expected = outputs_of(whole.session());
          for (Session* const session : {&fed.session(), &flat.session()}) {
            REQUIRE(feed_frame(*session, frame, rows).ok());
            CHECK(outputs_of(*session) == expected);
            Frame small = frame;
            --small.pixels.size;
            const bool luma = order == PixelOrder::kNv12 && !rgb;  // whose chroma is not read
            CHECK((feed_frame(*session, small, rows).status == Status::kPictureBytes) != luma);
            CHECK(outputs_of(*session) == expected);
            FrameWriter writer;
            CHECK(writer.begin_feed(*session, info, {rows.data, 3}).status == Status::kScratchTooSmall);
            CHECK(outputs_of(*session) == expected);
          }
        }
    }
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
    const auto by_rows = stream_model(model, all_ops(), {{}, true}, arena.arena());
    REQUIRE(by_rows.error().ok());
    REQUIRE(open_streamed(*by_rows).activation_bytes() <= fewest);
    check_streamed(*by_rows, expected, seed);
    const uint64_t between = (fewest + flat) / 2;
    const auto some = stream_model(model, all_ops(), {between}, arena.arena());
    REQUIRE(some.error().ok());
    REQUIRE(open_streamed(*some).activation_bytes() <= between);
    check_streamed(*some, expected, seed);
    const Error error = stream_model(model, all_ops(), {uint64_t{1}}, arena.arena()).error();
    CHECK(error.status == Status::kActivationsTooSmall);
    CHECK(error.value == 1);
    CHECK(error.limit == static_cast<int64_t>(fewest));
  }
  CHECK(smaller > 20);
}

}  // namespace
}  // namespace intaglio::test::streaming_test
