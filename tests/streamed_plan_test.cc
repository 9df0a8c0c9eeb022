// Streamed plans of files that no planner of ours wrote: each fault has its exact error.
#include "calibrator/host/stream_plan.h"
#include "intaglio/streaming.h"
#include "runtime/streaming/row_access.h"
#include "runtime/streaming/streamed_model.h"
#include "tests/support/model_checks.h"

namespace intaglio::test::streamed_plan_test {
namespace {

// x [1, 8, 4, 4], 3 x 3 -> a [1, 8, 4, 4], depthwise of stride 2 -> b [1, 4, 2, 4], 1 x 1 -> c [1, 4, 2, 6],
// mean -> d [1, 1, 1, 6], Lookup -> e, Reshape -> f. Nodes 0 to 3 run by rows.
AlignedBytes streamed_file(bool fed = false) {
  ModelBuilder b;
  const auto map = [&](const char* name, const std::vector<int32_t>& dims) {
    return b.tensor(name, DType::kS8, dims, 0.05f, -7);
  };
  const auto weights = [&](const char* name, const std::vector<int32_t>& dims, int32_t axis) {
    size_t count = 1;
    for (const int32_t dim : dims) count *= static_cast<size_t>(dim);
    std::vector<int8_t> codes(count);
    for (size_t i = 0; i < count; ++i) codes[i] = static_cast<int8_t>(i * 37 % 251);
    const auto channels = static_cast<size_t>(dims[static_cast<size_t>(axis)]);
    return b.constant(name, DType::kS8, dims, codes, std::vector<float>(channels, 0.01f), axis);
  };
  const int32_t x = map("x", {1, 8, 4, 4}), a = map("a", {1, 8, 4, 4}), down = map("b", {1, 4, 2, 4}),
                c = map("c", {1, 4, 2, 6}), d = map("d", {1, 1, 1, 6}), e = map("e", {1, 1, 1, 6}),
                f = map("f", {1, 6});
  b.input(x);
  b.output(f);
  Window2d same;
  same.kernel_h = same.kernel_w = 3;
  same.pad_top = same.pad_left = same.pad_bottom = same.pad_right = 1;
  b.node(Op::kConv2d, {x, weights("wa", {4, 3, 3, 4}, 0)}, {a}).options.as<Window2d>() = same;
  Window2d half = same;
  half.stride_h = half.stride_w = 2;
  b.node(Op::kDepthwiseConv2d, {a, weights("wb", {3, 3, 4}, 2)}, {down}).options.as<Window2d>() = half;
  b.node(Op::kConv2d, {down, weights("wc", {6, 1, 1, 4}, 0)}, {c});
  b.node(Op::kMean, {c}, {d}).options.as<ReduceOptions>().axes = b.keep({1, 2});
  b.node(Op::kLookup, {d, b.constant("table", DType::kS8, {256}, std::vector<int8_t>(256, 5))}, {e});
  b.node(Op::kReshape, {e}, {f});
  const AlignedBytes flat = b.finish();
  HostArena arena;
  const StreamedNodes nodes{0, 4, 1};
  const auto file = stream_segments(*Model::open(flat.view()), all_ops(), {&nodes, 1}, fed, arena.arena());
  REQUIRE(file.error().ok());
  return AlignedBytes(*file);
}

int32_t place(const std::string& name) { return index_of(*unpack(streamed_file()), name); }

Error streamed_error(const ModelT& made) {
  const AlignedBytes bytes = pack(made);
  const Result<Model> model = Model::open(bytes.view());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
  const Result<Model> by_rows = stream_rows(*model);
  if (!by_rows) return by_rows.error();
  const Result<SessionNeeds> needs = Session::measure(*by_rows, all_ops());
  if (!needs) return needs.error();
  AlignedBytes persistent(needs->persistent_bytes), activations(needs->activation_bytes),
      scratch(needs->scratch_bytes);
  return Session::create(*by_rows, all_ops(), {persistent.span(), activations.span(), scratch.span()})
      .error();
}

Error streamed_error(const Change& change, bool fed = false) {
  const auto made = unpack(streamed_file(fed));
  change(*made);
  return streamed_error(*made);
}

schema::SegmentT& segment(ModelT& m) { return *m.streamed->segments[0]; }

void set_offset(ModelT& m, const char* name, uint32_t offset) {
  m.streamed->offsets[static_cast<size_t>(index_of(m, name))] = offset;
}

}  // namespace

TEST_CASE("the plan of the example is the one that its windows ask for") {
  const AlignedBytes bytes = streamed_file();
  const Model model = *stream_rows(*Model::open(bytes.view()));
  REQUIRE(StreamedModel::segment_count(model) == 1);
  const SegmentInfo s = StreamedModel::segment(model, 0);
  REQUIRE(s.count == 4);
  const std::vector<int32_t> strides = {1, 2, 2, 2}, leads = {0, 0, 0, 0}, rows = {3, 1, 1, -1};
  CHECK(std::vector<int32_t>(s.strides.begin(), s.strides.end()) == strides);
  CHECK(std::vector<int32_t>(s.leads.begin(), s.leads.end()) == leads);
  CHECK(std::vector<int32_t>(s.rows.begin(), s.rows.end()) == rows);
  // x is there as a whole: 128; three rows of 16, a row of 8, one of 12, six sums.
  CHECK(model.activation_bytes() == 128 + 48 + 16 + 16 + 32);
}

TEST_CASE("what a streamed plan's lists must be") {
  const auto tensors = static_cast<int64_t>(unpack(streamed_file())->tensors.size());
  const auto check = [](const Error& expected, const Change& change) {
    check_error(streamed_error(change), expected);
  };
  const Error bad_segment{Status::kBadSegment, -1, -1, 0, 0};
  check(kNoError, [](ModelT&) {});
  check({Status::kPlanSize, -1, -1, tensors - 1, tensors}, [](ModelT& m) { m.streamed->offsets.pop_back(); });
  check({Status::kPlanSize, -1, -1, 0, tensors}, [](ModelT& m) { m.streamed->offsets.clear(); });
  check(bad_segment, [](ModelT& m) { segment(m).first = -1; });
  check(bad_segment, [](ModelT& m) { segment(m).first = 6; });
  check(bad_segment, [](ModelT& m) { segment(m).first = 3; });
  check(bad_segment, [](ModelT& m) { segment(m).strides.pop_back(); });
  check(bad_segment, [](ModelT& m) { segment(m).leads.pop_back(); });
  check(bad_segment, [](ModelT& m) { segment(m).rows.push_back(1); });
  check(bad_segment, [](ModelT& m) {
    segment(m).strides.clear();
    segment(m).leads.clear();
    segment(m).rows.clear();
  });
  check({Status::kBadSegment, -1, -1, 1, 0},
        [](ModelT& m) { m.streamed->segments.push_back(std::make_unique<schema::SegmentT>(segment(m))); });
  check({Status::kBadRowStep, 0, -1, 0, kMaxRows}, [](ModelT& m) { segment(m).band = 0; });
  check({Status::kBadRowStep, 0, -1, kMaxRows + 1, kMaxRows},
        [](ModelT& m) { segment(m).band = kMaxRows + 1; });
}

TEST_CASE("rows are written before they are read, and stay until they are read") {
  const auto check = [](const Error& expected, const Change& change) {
    check_error(streamed_error(change), expected);
  };
  const int32_t a = place("a"), b = place("b"), c = place("c"), d = place("d");
  check({Status::kBadRowStep, 0, a, 0, kMaxRows}, [](ModelT& m) { segment(m).strides[0] = 0; });
  check({Status::kBadRowStep, 0, a, kMaxRows + 1, kMaxRows},
        [](ModelT& m) { segment(m).strides[0] = kMaxRows + 1; });
  check({Status::kBadRowStep, 0, a, int64_t{8} * kMaxRows, kMaxRows},
        [](ModelT& m) { segment(m).strides[0] = kMaxRows; });
  check({Status::kBadRowStep, 0, a, 1, 0}, [](ModelT& m) { segment(m).leads[0] = 1; });
  check({Status::kBadRowStep, 0, a, -kMaxRows - 1, 0},
        [](ModelT& m) { segment(m).leads[0] = -kMaxRows - 1; });
  check({Status::kBadRowStep, 1, a, 3, 2}, [](ModelT& m) { segment(m).strides[1] = 3; });
  check({Status::kBadRowStep, 2, b, 1, 2}, [](ModelT& m) { segment(m).strides[2] = 1; });
  check({Status::kRowsTooLate, 1, a, -1, 0}, [](ModelT& m) { segment(m).leads[0] = -1; });
  check({Status::kRowsTooLate, 1, a, -1, 0}, [](ModelT& m) { segment(m).leads[1] = 1; });
  check({Status::kRowsTooLate, 3, c, -1, 0}, [](ModelT& m) { segment(m).leads[2] = -1; });
  check({Status::kBadLineBuffer, 1, a, 2, 3}, [](ModelT& m) { segment(m).rows[0] = 2; });
  // A band more, and the reader a row later.
  check({Status::kBadLineBuffer, 1, a, 3, 4}, [](ModelT& m) { segment(m).band = 2; });
  check({Status::kBadLineBuffer, 1, a, 3, 4}, [](ModelT& m) {
    for (size_t i = 1; i < 4; ++i) --segment(m).leads[i];
  });
  check({Status::kBadLineBuffer, 0, a, 9, 1}, [](ModelT& m) { segment(m).rows[0] = 9; });
  check({Status::kBadLineBuffer, 0, a, -1, 1}, [](ModelT& m) { segment(m).rows[0] = -1; });
  check({Status::kBadLineBuffer, 0, a, 3, 4}, [](ModelT& m) { segment(m).band = 4; });
  check({Status::kBadLineBuffer, 3, d, 0, -1}, [](ModelT& m) { segment(m).rows[3] = 0; });
}

TEST_CASE("rows of a fed picture are there before they are read, and stay until they are read") {
  const auto check = [](const Error& expected, const Change& change) {
    check_error(streamed_error(change, true), expected);
  };
  const int32_t x = place("x");
  check(kNoError, [](ModelT&) {});
  check({Status::kBadLineBuffer, 0, x, 2, 3}, [](ModelT& m) { segment(m).picture_rows = 2; });
  check({Status::kRowsTooLate, 0, x, 0, 1}, [](ModelT& m) { segment(m).picture_lead = -1; });
  check({Status::kBadRowStep, -1, x, 1, 0}, [](ModelT& m) { segment(m).picture_lead = 1; });
  check({Status::kBadRowStep, -1, x, 0, kMaxRows}, [](ModelT& m) { segment(m).picture_stride = 0; });
  check({Status::kBadRowStep, 0, x, 1, 2}, [](ModelT& m) { segment(m).picture_stride = 2; });
  check({Status::kBadRowStep, -1, x, int64_t{8} * kMaxRows, kMaxRows},
        [](ModelT& m) { segment(m).picture_stride = kMaxRows; });
  check({Status::kBadLineBuffer, -1, x, 9, 1}, [](ModelT& m) { segment(m).picture_rows = 9; });
  check({Status::kBadLineBuffer, -1, x, -1, 1}, [](ModelT& m) { segment(m).picture_rows = -1; });
  // Only the first segment takes it.
  check({Status::kBadSegment, -1, -1, 1, 0}, [](ModelT& m) {
    auto other = std::make_unique<schema::SegmentT>(segment(m));
    other->first = 4;
    other->strides = other->leads = other->rows = {1};
    m.streamed->segments.push_back(std::move(other));
  });
}

TEST_CASE("a line buffer is read by its own segment, a mean behind it, and only some operators run by rows") {
  const auto check = [](const Error& expected, const Change& change) {
    check_error(streamed_error(change), expected);
  };
  const auto lengthen = [](schema::SegmentT& s) {
    s.strides.push_back(2);
    s.leads.push_back(0);
    s.rows.push_back(0);
  };
  check({Status::kRowsGone, 4, place("d"), 0, 0}, [&](ModelT& m) { lengthen(segment(m)); });
  check({Status::kNotByRows, 5, -1, 0, 0}, [&](ModelT& m) {
    auto more = std::make_unique<schema::SegmentT>();
    more->first = 4;
    for (int i = 0; i < 2; ++i) lengthen(*more);
    m.streamed->segments.push_back(std::move(more));
  });
  check({Status::kRowsGone, 3, place("c"), 0, 0}, [](ModelT& m) {
    segment(m).strides.pop_back();
    segment(m).leads.pop_back();
    segment(m).rows.pop_back();
  });
}

TEST_CASE("line buffers lie within the activations and apart") {
  const auto check = [](const Error& expected, const Change& change) {
    check_error(streamed_error(change), expected);
  };
  const int32_t a = place("a"), b = place("b"), table = place("table");
  const auto offset_of = [](const char* name) {
    const auto m = unpack(streamed_file());
    return m->streamed->offsets[static_cast<size_t>(index_of(*m, name))];
  };
  const uint32_t at_a = offset_of("a"), at_b = offset_of("b"), at_x = offset_of("x");
  const auto bytes = static_cast<int64_t>(unpack(streamed_file())->streamed->activation_bytes);
  check({Status::kPlanAlignment, -1, a, at_a + 8, 16}, [=](ModelT& m) { set_offset(m, "a", at_a + 8); });
  check({Status::kPlanOffset, -1, a, bytes + 48, bytes},
        [=](ModelT& m) { set_offset(m, "a", static_cast<uint32_t>(bytes)); });
  check({Status::kConstantExpected, -1, a, Model::kNoOffset, 0},
        [](ModelT& m) { set_offset(m, "a", Model::kNoOffset); });
  check({Status::kActivationExpected, -1, table, 0, 0}, [](ModelT& m) { set_offset(m, "table", 0); });
  check({Status::kPlanTooLarge, -1, -1, 100000, 128 + 48 + 16 + 16 + 32 + 16 + 16},
        [](ModelT& m) { m.streamed->activation_bytes = 100000; });
  // A segment's tensors are all needed as long as it runs.
  check({Status::kPlanOverlap, 1, b, a, 0}, [=](ModelT& m) { set_offset(m, "b", at_a); });
  check({Status::kPlanOverlap, 1, b, a, 0}, [=](ModelT& m) { set_offset(m, "b", at_a + 32); });
  check({Status::kPlanOverlap, 1, b, place("x"), 0}, [=](ModelT& m) { set_offset(m, "b", at_x); });
  check(kNoError, [=](ModelT& m) { set_offset(m, "e", at_b); });
}

TEST_CASE("a fed picture that no node reads keeps its place until all of it has come") {
  ModelBuilder b;
  const auto map = [&](const char* name) { return b.tensor(name, DType::kS8, {1, 8, 4, 4}, 0.05f, -7); };
  const int32_t x = map("x"), other = map("other"), y = map("y"), z = map("z");
  const int32_t table = b.constant("table", DType::kS8, {256}, std::vector<int8_t>(256, 5));
  b.input(x);
  b.input(other);
  b.output(y);
  b.output(z);
  b.node(Op::kLookup, {x, table}, {y});
  b.node(Op::kLookup, {other, table}, {z});
  const AlignedBytes flat = b.finish();
  HostArena arena;
  const StreamedNodes nodes{0, 2, 1};
  const auto file = stream_segments(*Model::open(flat.view()), all_ops(), {&nodes, 1}, true, arena.arena());
  REQUIRE(file.error().ok());
  const auto made = unpack(AlignedBytes(*file));
  const auto offset = [&](const char* name) -> uint32_t& {
    return made->streamed->offsets[static_cast<size_t>(index_of(*made, name))];
  };
  made->nodes[0]->inputs[0] = index_of(*made, "other");  // which was the picture
  CHECK(streamed_error(*made).ok());
  offset("x") = offset("y");
  const Error shared = streamed_error(*made);
  CHECK(shared.status == Status::kPlanOverlap);
  CHECK(shared.node == 0);
  CHECK(shared.tensor == index_of(*made, "y"));
  CHECK(shared.value == index_of(*made, "x"));
}

TEST_CASE("the sums of a mean are no larger than a tensor may be: 32 bits hold their bytes") {
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kS8, {1, 1, 1, 16}, 0.05f, 0),
                d = b.tensor("d", DType::kS8, {1, 1, 1, 16}, 0.05f, 0);
  b.input(x);
  b.output(d);
  b.node(Op::kMean, {x}, {d}).options.as<ReduceOptions>().axes = b.keep({1, 2});
  const AlignedBytes flat = b.finish();
  HostArena arena;
  const StreamedNodes nodes{0, 1, 1};
  const auto file = stream_segments(*Model::open(flat.view()), all_ops(), {&nodes, 1}, false, arena.arena());
  REQUIRE(file.error().ok());
  const auto error_with = [&](int32_t channels) {
    const auto made = unpack(AlignedBytes(*file));
    for (const auto& tensor : made->tensors) tensor->shape.back() = channels;
    place_apart(*made);
    set_offset(*made, "x", 0);
    set_offset(*made, "d", static_cast<uint32_t>(channels));
    // Four bytes for each sum, as 32 bits hold them.
    made->streamed->activation_bytes = static_cast<uint32_t>(channels) + 4 * static_cast<uint32_t>(channels);
    const AlignedBytes bytes = pack(*made);
    const Result<Model> model = Model::open(bytes.view());
    REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
    return stream_rows(*model).error();
  };
  constexpr int32_t kMost = 1 << 28;
  check_error(error_with(kMost), kNoError);
  check_error(error_with(1 << 30), {Status::kTensorTooLarge, 0, 1, int64_t{1} << 32, kMaxTensorBytes});
}

TEST_CASE("memory is exact, and without streaming the file runs layer by layer") {
  const AlignedBytes bytes = streamed_file();
  const Model model = *Model::open(bytes.view());
  const Model by_rows = *stream_rows(model);
  const SessionNeeds needs = *Session::measure(by_rows, all_ops());
  CHECK(needs.activation_bytes == by_rows.activation_bytes());
  CHECK(Session::measure(model, all_ops())->activation_bytes == model.activation_bytes());
  AlignedBytes persistent(needs.persistent_bytes), activations(needs.activation_bytes),
      scratch(needs.scratch_bytes);
  SessionMemory memory = {persistent.span(), activations.span(), scratch.span()};
  CHECK(Session::create(by_rows, all_ops(), memory).error().ok());
  const auto refused = [&](Span<uint8_t> SessionMemory::*part, Status status) {
    SessionMemory less = memory;
    if ((less.*part).size == 0) return;
    --(less.*part).size;
    const Error error = Session::create(by_rows, all_ops(), less).error();
    CHECK(error.status == status);
    CHECK(error.limit == error.value + 1);
  };
  refused(&SessionMemory::persistent, Status::kPersistentTooSmall);
  refused(&SessionMemory::activations, Status::kActivationsTooSmall);
  refused(&SessionMemory::scratch, Status::kScratchTooSmall);
  // A model that has no streamed plan comes back as it is.
  HostArena arena;
  const Result<Span<const uint8_t>> flat = unstream_model(model, all_ops(), arena.arena());
  REQUIRE(flat.error().ok());
  const Model flat_model = *Model::open(*flat);
  CHECK(!flat_model.has_streamed_plan());
  CHECK(Session::measure(*stream_rows(flat_model), all_ops())->activation_bytes == model.activation_bytes());
}

TEST_CASE("windows of any numbers are refused before a walk counts with them") {
  using Member = int32_t schema::Window2DT::*;
  for (const Member member :
       {&schema::Window2DT::kernel_h, &schema::Window2DT::stride_h, &schema::Window2DT::dilation_h,
        &schema::Window2DT::pad_top, &schema::Window2DT::pad_bottom})
    for (const int32_t value : {INT32_MIN, INT32_MIN + 1, -1, 1 << 20, INT32_MAX - 1, INT32_MAX}) {
      CAPTURE(value);
      const auto change = [&](ModelT& m) {
        (*m.nodes[0]->options.AsConv2DOptions()->window).*member = value;
      };
      CHECK(!streamed_error(change).ok());
      CHECK(!streamed_error(change, true).ok());
    }
}

}  // namespace intaglio::test::streamed_plan_test
