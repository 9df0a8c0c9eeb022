// Nodes that run alone by rows, whose output stands on rows of their input that they have read: what the loader proves, what it
// refuses, and that what it takes gives the bytes of layer by layer.
#include <algorithm>
#include <cstring>

#include "calibrator/host/stream_plan.h"
#include "intaglio/streaming.h"
#include "kernels/compiled_isa.h"
#include "runtime/streaming/row_access.h"
#include "runtime/streaming/streamed_model.h"
#include "tests/support/model_checks.h"
#include "tests/support/planned_session.h"
#include "tests/support/random_picture_network.h"
#include "tests/support/run_widths.h"

namespace intaglio::test::rows_over_input_test {
namespace {

using Bytes = std::vector<uint8_t>;

// x [1, 8, 4, 4], 1 x 1 -> y [1, 8, 4, 8], depthwise 3 x 3 -> z; with `reads_again` also x, Lookup -> a.
AlignedBytes growing_network(bool reads_again = false) {
  ModelBuilder b;
  Random random(5);
  const auto map = [&](const char* name, int32_t c) {
    return b.tensor(name, DType::kS8, {1, 8, 4, c}, 0.05f, -7);
  };
  const auto weights = [&](const char* name, const std::vector<int32_t>& dims, int32_t axis) {
    return b.constant(name, DType::kS8, dims,
                      random.codes(static_cast<size_t>(dims[0]) * static_cast<size_t>(dims[1]) * 8 *
                                   (dims.size() == 4 ? 4 : 8) / 8),
                      std::vector<float>(8, 0.01f), axis);
  };
  const int32_t x = map("x", 4), y = map("y", 8), z = map("z", 8);
  b.input(x);
  b.output(z);
  b.node(Op::kConv2d, {x, weights("wy", {8, 1, 1, 4}, 0)}, {y});
  Window2d& window =
      b.node(Op::kDepthwiseConv2d, {y, weights("wz", {3, 3, 8}, 2)}, {z}).options.as<Window2d>();
  window.kernel_h = window.kernel_w = 3;
  window.pad_top = window.pad_left = window.pad_bottom = window.pad_right = 1;
  if (reads_again) {
    const int32_t a = map("a", 4);
    b.output(a);
    b.node(Op::kLookup, {x, b.constant("table", DType::kS8, {256}, std::vector<int8_t>(256, 5))}, {a});
  }
  return b.finish();
}

AlignedBytes cut(Span<const uint8_t> file, const std::vector<StreamedNodes>& segments) {
  HostArena arena;
  const auto made = stream_segments(*Model::open(file), all_ops(), {segments.data(), segments.size()}, false,
                                    arena.arena());
  REQUIRE_MESSAGE(made.error().ok(), text_of(made.error()));
  return AlignedBytes(*made);
}

AlignedBytes overlapping_file() { return cut(growing_network().view(), {{0, 1, 2}, {1, 2, 2}}); }

Bytes run(Session& session) {
  const std::vector<int8_t> picture = Random(3).codes(session.input().info.bytes());
  Bytes all;
  for (int32_t times = 0; times < 2; ++times) {
    memcpy(session.input().data, picture.data(), picture.size());
    session.run();
    all.clear();
    for (size_t i = 0; i < session.model().outputs().size; ++i) {
      const TensorView y = session.output(static_cast<int32_t>(i));
      const auto* const bytes = static_cast<const uint8_t*>(y.data);
      all.insert(all.end(), bytes, bytes + y.info.bytes());
    }
  }
  return all;
}

// The outputs by the streamed plan, or by the flat one; empty: the session is refused.
Bytes run(const Model& flat, bool streamed, IsaMask isa, int32_t width, Error* error) {
  const Result<Model> model = streamed ? stream_rows(flat) : Result<Model>(flat);
  *error = model.error();
  if (!model) return {};
  SessionOptions options;
  options.isa = isa;
  if (width > 1) options.executor = {nullptr, width, run_backwards};
  const Result<SessionNeeds> needs = Session::measure(*model, all_ops(), options);
  *error = needs.error();
  if (!needs) return {};
  AlignedBytes persistent(needs->persistent_bytes);
  GuardedScratch activations, scratch;
  activations.allocate(needs->activation_bytes);
  scratch.allocate(needs->scratch_bytes);
  Result<Session> session =
      Session::create(*model, all_ops(), {persistent.span(), activations.span(), scratch.span()}, options);
  *error = session.error();
  if (!session) return {};
  return run(*session);
}

Error streamed_error(const ModelT& made) {
  const AlignedBytes bytes = pack(made);
  const Result<Model> model = Model::open(bytes.view());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
  Error error;
  run(*model, true, isa::kAll, 1, &error);
  return error;
}

uint32_t& offset(ModelT& m, const char* name) {
  return m.streamed->offsets[static_cast<size_t>(index_of(m, name))];
}

TEST_CASE("how far an input must stand above its output is the most over all bands") {
  Random random(9);
  for (int32_t i = 0; i < 20000; ++i) {
    RowAccess window = kRowByRow;
    window.stride = random.between(1, 4);
    window.pad = random.between(0, 12) - (random.one_in(8) ? 3 : 0);
    const int64_t rows = random.between(1, 40), band = random.between(1, 45),
                  row_bytes = random.between(1, 30), input_row_bytes = random.between(1, 30);
    int64_t most = INT64_MIN;
    for (int64_t y = 0; y < rows; y += band)
      most = std::max(most, std::min(y + band, rows) * row_bytes -
                                std::max<int64_t>(0, y * window.stride - window.pad) * input_row_bytes);
    REQUIRE(window.least_above(rows, band, row_bytes, input_row_bytes) == most);
  }
}

TEST_CASE("an output stands on rows of its input in as many bytes as its windows ask for") {
  const AlignedBytes bytes = overlapping_file();
  const auto made = unpack(bytes);
  // x: 8 rows of 16; y: 8 of 32; z likewise. Behind its last two rows y ends where the last two of x begin. When z has its rows
  // to 4, 6 and 8, the rows from 1, 3 and 5 of y are still read.
  CHECK(offset(*made, "z") == 0);
  CHECK(offset(*made, "y") == 3 * 32);
  CHECK(offset(*made, "x") == 3 * 32 + 8 * 32 - 6 * 16);
  CHECK(made->streamed->activation_bytes == 3 * 32 + 8 * 32 + 2 * 16);
  CHECK(made->min_reader == 1);  // older readers run the flat plan, and refuse this one
  const Model model = *Model::open(bytes.view());
  Error error;
  const Bytes expected = run(model, false, isa::kAll, 1, &error);
  REQUIRE(error.ok());
  for (const IsaName& isa : kIsaNames)
    for (const int32_t width : {1, 3}) {
      CAPTURE(isa.name);
      CHECK(run(model, true, isa.bit, width, &error) == expected);
      CHECK(error.ok());
    }
}

TEST_CASE("what stands on rows that are still needed is refused, by node and tensors") {
  const auto names = unpack(overlapping_file());
  const int32_t x = index_of(*names, "x"), y = index_of(*names, "y"), z = index_of(*names, "z");
  const auto check = [](const Error& expected, const Change& change) {
    const auto made = unpack(overlapping_file());
    change(*made);
    check_error(streamed_error(*made), expected);
  };
  const Error y_on_x{Status::kPlanOverlap, 0, y, x, 0}, z_on_y{Status::kPlanOverlap, 1, z, y, 0};
  const auto segment = [](ModelT& m, size_t i) -> schema::SegmentT& { return *m.streamed->segments[i]; };
  check(kNoError, [](ModelT&) {});
  check(y_on_x, [](ModelT& m) { offset(m, "x") -= 16; });
  check(y_on_x, [](ModelT& m) { offset(m, "y") += 16; });
  check(y_on_x, [&](ModelT& m) { segment(m, 0).band = 4; });
  check(y_on_x, [&](ModelT& m) { segment(m, 0).strides[0] = 2; });
  check(y_on_x, [&](ModelT& m) { segment(m, 0).leads[0] = -1; });
  check(y_on_x, [](ModelT& m) { m.streamed->segments.erase(m.streamed->segments.begin()); });
  check(z_on_y, [](ModelT& m) { m.streamed->segments.pop_back(); });
  check(z_on_y, [](ModelT& m) { offset(m, "z") += 16; });
  check(z_on_y, [&](ModelT& m) { segment(m, 1).band = 3; });
  // A picture that is fed; as one segment of two nodes; an input that leaves the model.
  check(y_on_x, [&](ModelT& m) {
    segment(m, 0).picture_stride = 1;
    segment(m, 0).picture_rows = 8;
  });
  check(y_on_x, [&](ModelT& m) {
    for (auto* const list : {&segment(m, 0).strides, &segment(m, 0).leads, &segment(m, 0).rows})
      list->push_back(list->back());
    segment(m, 0).strides[1] = 1;
    segment(m, 0).leads[1] = -1;
    m.streamed->segments.pop_back();
  });
  check(z_on_y, [](ModelT& m) {
    m.outputs.push_back(index_of(m, "y"));
    place_apart(m);
  });
  // Another node reads the input later.
  const auto again = unpack(cut(growing_network(true).view(), {{0, 1, 2}}));
  check_error(streamed_error(*again), kNoError);
  offset(*again, "x") = offset(*again, "y") + 8 * 32 - 6 * 16;
  check_error(streamed_error(*again),
              {Status::kPlanOverlap, 0, index_of(*again, "y"), index_of(*again, "x"), 0});
}

TEST_CASE("a node that keeps no whole step with its input's rows stands apart from it") {
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kS8, {1, 6, 5, 3}, 0.05f, -7),
                y = b.tensor("y", DType::kS8, {1, 12, 10, 3}, 0.05f, -7);
  b.input(x);
  b.output(y);
  b.node(Op::kResize, {x}, {y}).options.as<ResizeOptions>() = {Interpolation::kNearest,
                                                               Coordinates::kAsymmetric};
  const auto made = unpack(cut(b.finish().view(), {{0, 1, 1}}));
  CHECK(made->streamed->activation_bytes == 96 + 368);
  offset(*made, "y") = 0;
  offset(*made, "x") = made->streamed->activation_bytes - 96 - 16;
  check_error(streamed_error(*made),
              {Status::kPlanOverlap, 0, index_of(*made, "y"), index_of(*made, "x"), 0});
}

// Maps of four columns, of eight rows or as given, and what is upon them.
struct Maps : ModelBuilder {
  int32_t map(const char* name, int32_t channels = 4, int32_t rows = 8, int32_t width = 4) {
    return tensor(name, DType::kS8, {1, rows, width, channels}, 0.05f, -7);
  }
  // What a session says where the nodes are one segment, in bands of one row, and tensor `over` stands `below` bytes below `under`.
  Error error_over(int32_t nodes, const char* over, const char* under, uint32_t below) {
    const auto made = unpack(cut(finish().view(), {{0, nodes, 1}}));
    const auto out = static_cast<size_t>(index_of(*made, over)),
               in = static_cast<size_t>(index_of(*made, under));
    const auto bytes = [&](size_t t) {
      return static_cast<uint32_t>(value_bytes(*made->tensors[t]) + 15) / 16 * 16;
    };
    auto& plan = *made->streamed;
    plan.offsets[out] = 0;
    plan.offsets[in] = below;
    uint32_t end = std::max(bytes(out), below + bytes(in));
    for (size_t t = 0; t < made->tensors.size(); ++t) {
      if (made->tensors[t]->buffer >= 0 || t == out || t == in) continue;
      plan.offsets[t] = end;
      end += bytes(t);
    }
    plan.activation_bytes = end;
    const Error error = streamed_error(*made);
    if (error.ok()) return error;
    CHECK(error.status == Status::kPlanOverlap);
    CHECK(error.node == nodes - 1);
    CHECK(error.tensor == index_of(*made, over));
    CHECK(error.value == index_of(*made, under));
    return error;
  }
};

TEST_CASE("only rows that are read by rows, once, and of a node alone may be overwritten") {
  {  // A mean's sums of 32 bits take four times its output's bytes.
    Maps m;
    const int32_t x = m.map("x", 16), d = m.map("d", 16, 1, 1);
    m.input(x);
    m.output(d);
    m.node(Op::kMean, {x}, {d}).options.as<ReduceOptions>().axes = m.keep({1, 2});
    CHECK(!m.error_over(1, "d", "x", 16).ok());
  }
  for (const uint32_t below : {112u, 128u}) {  // A factor that is the same for all rows is read in each band.
    Maps m;
    const int32_t x = m.map("x"), factor = m.map("factor", 4, 1, 1), y = m.map("y");
    m.input(x);
    m.input(factor);
    m.output(y);
    m.node(Op::kMul, {x, factor}, {y});
    CHECK(m.error_over(1, "y", "factor", below).ok() == (below == 128));
  }
  for (const uint32_t below : {0u, 16u}) {  // A residual has no window: band 0 reads and writes row 0.
    Maps m;
    const int32_t x = m.map("x"), residual = m.map("residual"), y = m.map("y");
    m.input(x);
    m.input(residual);
    m.output(y);
    const int32_t w =
        m.constant("w", DType::kS8, {4, 3, 3, 4}, Random(5).codes(144), std::vector<float>(4, 0.01f), 0);
    NodeOptions& options = m.node(Op::kConv2d, {x, w, -1, residual}, {y}).options;
    Window2d& window = options.as<Window2d>();
    window.kernel_h = window.kernel_w = 3;
    window.pad_top = window.pad_left = window.pad_bottom = window.pad_right = 1;
    options.as<Intermediate>() = {0.04f, 5};
    CHECK(m.error_over(1, "y", "residual", below).ok() == (below == 16));
  }
  {  // In a segment of two nodes the second one's output stands on what the first one reads.
    Maps m;
    const int32_t x = m.map("x"), a = m.map("a"), y = m.map("y"),
                  table = m.constant("table", DType::kS8, {256}, std::vector<int8_t>(256, 5));
    m.input(x);
    m.output(y);
    m.node(Op::kLookup, {x, table}, {a});
    m.node(Op::kLookup, {a, table}, {y});
    CHECK(!m.error_over(2, "y", "x", 16).ok());
  }
}

// Each node that can run by rows alone, in bands of any height.
std::vector<StreamedNodes> every_node(const Model& model, Random& random) {
  std::vector<StreamedNodes> nodes;
  HostArena arena;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const StreamedNodes node{n, n + 1, random.one_in(2) ? 1 : random.between(2, 9)};
    if (stream_segments(model, all_ops(), {&node, 1}, false, arena.arena())) nodes.push_back(node);
  }
  return nodes;
}

TEST_CASE("random networks: what the loader takes gives the same bytes, and one step closer is refused") {
  int32_t overlapping = 0, closest = 0, taken = 0, refused = 0;
  for (uint32_t seed = 4000; seed < 4150; ++seed) {
    CAPTURE(seed);
    const AlignedBytes file = RandomPictureNetwork(seed).finish();
    Random random(seed);
    const std::vector<StreamedNodes> nodes = every_node(*Model::open(file.view()), random);
    if (nodes.empty()) continue;
    const AlignedBytes planned = cut(file.view(), nodes);
    const Model model = *Model::open(planned.view());
    Error error;
    const Bytes expected = run(model, false, isa::kScalar, 1, &error);
    REQUIRE(error.ok());
    for (const IsaMask isa : {isa::kScalar, isa::kAvx2, isa::kAll}) {
      REQUIRE(run(model, true, isa, isa == isa::kAll ? 3 : 1, &error) == expected);
      REQUIRE(error.ok());
    }
    PlannedSession ahead(planned.view(), {cpu_isa() & kCompiledIsa, false});
    REQUIRE_MESSAGE(ahead.error().ok(), text_of(ahead.error()));
    REQUIRE(run(ahead.session()) == expected);
    for (const StreamedNodes& node : nodes) {
      const auto made = unpack(planned);
      auto& offsets = made->streamed->offsets;
      const schema::NodeT& n = *made->nodes[static_cast<size_t>(node.first)];
      const auto out = static_cast<size_t>(n.outputs[0]);
      const auto bytes = [&](size_t t) { return static_cast<uint32_t>(value_bytes(*made->tensors[t])); };
      for (const int32_t input : n.inputs) {
        const auto in = static_cast<size_t>(input);
        if (input < 0 || made->tensors[in]->buffer >= 0) continue;
        const bool overlaps =
            offsets[out] < offsets[in] + bytes(in) && offsets[in] < offsets[out] + bytes(out);
        if (!overlaps) continue;  // or as close as may be
        ++overlapping;
        if (offsets[in] == 0) continue;
        offsets[in] -= 16;
        error = streamed_error(*made);
        REQUIRE(error.status == Status::kPlanOverlap);
        closest += error.node == node.first && error.tensor == n.outputs[0] && error.value == input ? 1 : 0;
      }
      // Any other place, any other band.
      for (int32_t round = 0; round < 8; ++round) {
        const auto other = unpack(planned);
        schema::PlanT& plan = *other->streamed;
        const auto moved = static_cast<size_t>(random.one_in(2) ? n.inputs[0] : n.outputs[0]);
        plan.offsets[moved] =
            static_cast<uint32_t>(random.between(0, static_cast<int32_t>(plan.activation_bytes / 16))) * 16;
        plan.segments[static_cast<size_t>(random.between(0, static_cast<int32_t>(nodes.size()) - 1))]->band =
            random.between(1, 9);
        const AlignedBytes changed = pack(*other);
        const Bytes found = run(*Model::open(changed.view()), true, isa::kAll, 1, &error);
        ++(error.ok() ? taken : refused);
        if (error.ok()) REQUIRE(found == expected);
        if (!error.ok())
          REQUIRE((error.status == Status::kPlanOverlap || error.status == Status::kPlanOffset));
      }
    }
  }
  CHECK(overlapping > 100);
  CHECK(closest > overlapping / 2);  // others meet something else before
  CHECK(taken > 300);
  CHECK(refused > 300);
}

TEST_CASE("a plan for a number of bytes takes line buffers only where overlaps do not do") {
  const AlignedBytes file = growing_network();
  HostArena arena;
  // Layer by layer: 512 bytes for y and z.
  const auto some = stream_model(*Model::open(file.view()), all_ops(), {400}, arena.arena());
  REQUIRE(some.error().ok());
  const Model model = *stream_rows(*Model::open(*some));
  CHECK(model.activation_bytes() <= 400);
  for (int32_t s = 0; s < StreamedModel::segment_count(model); ++s)
    CHECK(StreamedModel::segment(model, s).count == 1);
}

}  // namespace
}  // namespace intaglio::test::rows_over_input_test
