// Every kernel of Winograd's tiles that this CPU can run against the direct sum, tolerance 0; which layers take it; and whole
// models on it, beside the scalar kernels.
#include "kernels/winograd/winograd_s8.h"

#include <doctest/doctest.h>

#include "calibrator/bake/pack_model.h"
#include "calibrator/host/stream_plan.h"
#include "intaglio/platform.h"
#include "intaglio/streaming.h"
#include "kernels/compiled_isa.h"
#include "tests/support/random.h"
#include "tests/support/run_widths.h"

namespace intaglio::test::winograd_s8_test {
namespace {

constexpr IsaMask kHere = kCompiledIsa;

// Codes and weights as extreme as the proof of exactness allows for, or any.
std::vector<int8_t> codes(Random& random, size_t count, bool extreme) {
  if (!extreme) return random.codes(count);
  std::vector<int8_t> values(count);
  const int32_t kind = random.between(0, 3);
  for (int8_t& value : values) value = kind == 0 || (kind == 1 && random.one_in(2)) ? 127 : -128;
  return values;
}

void run_case(const WinogradS8Kernel& kernel, Random& random) {
  WinogradS8Args args{};
  args.pad_top = random.between(0, 2);
  args.pad_left = random.between(0, 2);
  args.h = random.one_in(4) ? random.between(1, 33) : random.between(1, 12);
  args.w = random.one_in(4) ? random.between(1, 33) : random.between(1, 12);
  // Outputs whose windows may pass every end.
  args.oh = random.between(1, args.h + args.pad_top + 1);
  args.ow = random.between(1, args.w + args.pad_left + 1);
  const bool deep = random.one_in(12);
  args.ic = kernel.channels * (deep ? kWinogradMaxDepth / kernel.channels : random.between(1, 4));
  args.oc = kernel.nr * random.between(1, deep ? 2 : 4);
  const int32_t tiles = (args.oh + 3) / 4 * ((args.ow + 3) / 4), panels = args.oc / kernel.nr;
  args.first_tile = random.one_in(2) ? 0 : random.between(0, tiles - 1);
  args.past_tile = random.one_in(2) ? tiles : random.between(args.first_tile + 1, tiles);
  args.first_column = random.between(0, panels - 1) * kernel.nr;
  args.past_column = random.between(args.first_column / kernel.nr + 1, panels) * kernel.nr;
  CAPTURE(kernel.name);
  CAPTURE(args.h);
  CAPTURE(args.w);
  CAPTURE(args.oh);
  CAPTURE(args.ow);
  CAPTURE(args.ic);
  CAPTURE(args.oc);
  CAPTURE(args.pad_top);
  CAPTURE(args.pad_left);
  CAPTURE(args.first_tile);
  CAPTURE(args.past_tile);
  const auto ic = static_cast<size_t>(args.ic), oc = static_cast<size_t>(args.oc);
  const bool extreme = random.one_in(4);
  const Exact<int8_t> input(codes(random, static_cast<size_t>(args.h * args.w) * ic, extreme)),
      weights(codes(random, oc * 9 * ic, extreme));
  Exact<int32_t> bias(oc);
  Exact<float> multiplier(oc);
  for (size_t c = 0; c < oc; ++c) {
    bias[c] = random.one_in(8) ? static_cast<int32_t>(random.bits()) : random.between(-20000, 20000);
    multiplier[c] = random.one_in(8) ? random.real(0.0f, 0.9999f) : random.real(1e-6f, 1e-3f);
  }
  const Exact<uint8_t> packed(static_cast<size_t>(winograd_s8_packed_bytes(kernel, args.ic, args.oc)));
  winograd_s8_pack(kernel, weights.data(), bias.data(), multiplier.data(), args.ic, args.oc,
                   const_cast<uint8_t*>(packed.data()));
  const size_t outputs = static_cast<size_t>(args.oh * args.ow) * oc;
  const bool adds = random.one_in(3), in_place = adds && random.one_in(2);
  const Exact<int8_t> residual(random.codes(outputs));
  Exact<int8_t> output(outputs);
  if (in_place)
    memcpy(output.data(), residual.data(), outputs);
  else
    memset(output.data(), 0x5a, outputs);
  const std::vector<int8_t> before(output.data(), output.data() + outputs);
  Exact<uint8_t> scratch(static_cast<size_t>(winograd_s8_scratch_bytes(kernel, args.ic)));
  const int32_t zero_point = random.between(-128, 127);
  args.requant = random.one_in(2)
                     ? make_output_s8(zero_point, -128, 127)
                     : make_output_s8(zero_point, random.between(-128, 0), random.between(0, 127));
  const int32_t bits = random.one_in(2) ? 15 : 20;
  const AddS8 add = {random.between(-128, 127),
                     random.between(-128, 127),
                     random.between(1, (1 << bits) - 1),
                     random.between(1, (1 << bits) - 1),
                     bits,
                     random.between(-128, 127),
                     random.between(-128, 0),
                     random.between(0, 127)};
  args.zero_point = random.one_in(4) ? -128 : random.between(-128, 127);
  args.input = input.data();
  args.packed = packed.data();
  args.output = output.data();
  args.residual = !adds ? nullptr : in_place ? output.data() : residual.data();
  args.add = &add;
  args.scratch = scratch.data();
  kernel.function(args);

  const int32_t across = (args.ow + 3) / 4;
  size_t at = 0;
  for (int32_t y = 0; y < args.oh; ++y)
    for (int32_t x = 0; x < args.ow; ++x)
      for (int32_t c = 0; c < args.oc; ++c, ++at) {
        const int32_t tile = y / 4 * across + x / 4;
        if (c < args.first_column || c >= args.past_column || tile < args.first_tile ||
            tile >= args.past_tile) {
          REQUIRE(output[at] == before[at]);
          continue;
        }
        const auto column = static_cast<size_t>(c);
        auto acc = static_cast<uint32_t>(bias[column]);
        for (int32_t t = 0; t < 9; ++t) {
          const int32_t line = y - args.pad_top + t / 3, place = x - args.pad_left + t % 3;
          const bool inside = line >= 0 && line < args.h && place >= 0 && place < args.w;
          const int8_t* const w = weights.data() + (column * 9 + static_cast<size_t>(t)) * ic;
          const int8_t* const from =
              inside ? input.data() + static_cast<size_t>(line * args.w + place) * ic : nullptr;
          for (size_t i = 0; i < ic; ++i)
            acc += static_cast<uint32_t>((inside ? from[i] : args.zero_point) * w[i]);
        }
        int8_t expected = requantize_s8(static_cast<int32_t>(acc), multiplier[column], args.requant);
        if (adds) expected = add_s8(expected, residual[at], add);
        CAPTURE(x);
        CAPTURE(y);
        CAPTURE(c);
        REQUIRE(output[at] == expected);
      }
}

// A network of one 3 x 3 convolution, and a residual where wished.
struct Layer {
  int32_t images = 1, side = 8, ic = 16, oc = 16, stride = 1;
  bool residual = false;
  float scale = 0.01f;
};

void add_network(const Layer& layer, Random& random, ModelBuilder& b) {
  const int32_t out = (layer.side - 1) / layer.stride + 1;
  const int32_t x = b.tensor("x", DType::kS8, {layer.images, layer.side, layer.side, layer.ic}, 0.02f, 3);
  const int32_t w = b.constant("w", DType::kS8, {layer.oc, 3, 3, layer.ic},
                               random.codes(static_cast<size_t>(layer.oc * 9 * layer.ic)), {layer.scale});
  const int32_t y = b.tensor("y", DType::kS8, {layer.images, out, out, layer.oc}, 0.5f, -4);
  std::vector<int32_t> inputs = {x, w};
  if (layer.residual) {
    const int32_t r = b.tensor("r", DType::kS8, {layer.images, out, out, layer.oc}, 0.3f, 9);
    inputs.insert(inputs.end(), {-1, r});
    b.input(r);
  }
  auto& options = b.node(Op::kConv2d, inputs, {y}).options.as<Conv2dOptions>();
  options.window.kernel_h = options.window.kernel_w = 3;
  options.window.stride_h = options.window.stride_w = layer.stride;
  options.window.pad_top = options.window.pad_left = 1;
  options.window.pad_bottom = options.window.pad_right = layer.stride == 1 ? 1 : 0;
  if (layer.stride == 2 && layer.side % 2 == 1) options.window.pad_bottom = options.window.pad_right = 1;
  if (layer.residual) options.intermediate = {0.4f, 7};
  b.input(x);
  b.output(y);
}

std::string kernel_of(const Layer& layer, IsaMask isa, bool compact = false) {
  Random random(1);
  ModelBuilder b;
  add_network(layer, random, b);
  const AlignedBytes file = b.finish();
  SessionOptions options;
  options.isa = isa;
  RunningModel running(AlignedBytes(file.view()), compact ? compact_ops() : all_ops(), options);
  REQUIRE_MESSAGE(running.error().ok(), text_of(running.error()));
  return running.session().kernel_name(0);
}

// The instruction set of this machine whose kernels are Winograd's; scalar where there is none.
IsaMask winograd_isa() {
  for (int32_t i = 0; i < winograd_s8_count(); ++i)
    if ((winograd_s8_kernel(i).isa & ~(cpu_isa() & kHere)) == 0) return winograd_s8_kernel(i).isa;
  return isa::kScalar;
}

}  // namespace

TEST_CASE("every kernel, random shapes") {
  for (int32_t index = 0; index < winograd_s8_count(); ++index) {
    const WinogradS8Kernel& kernel = winograd_s8_kernel(index);
    if ((kernel.isa & ~(cpu_isa() & kHere)) != 0) continue;
    REQUIRE((kernel.function != nullptr));
    Random random(static_cast<uint32_t>(index) + 1);
    const int32_t cases = test::shape_count(400);
    for (int32_t i = 0; i < cases; ++i) run_case(kernel, random);
  }
}

TEST_CASE("selection by mask and shape") {
  const auto chosen = [](IsaMask mask, const WinogradS8Shape& shape) -> std::string {
    const int32_t index = winograd_s8_select(mask, shape);
    return index < 0 ? "none" : winograd_s8_kernel(index).name;
  };
  CHECK(chosen(isa::kScalar, {8, 8, 64, 64}) == "none");
  if (!kListsWinogradS8) return;
  CHECK(chosen(isa::kAvx2, {8, 8, 64, 64}) == "winograd_s8_avx2");
  CHECK(chosen(isa::kNeon, {8, 8, 64, 64}) == "winograd_s8_neon");
  // Dot products of int8 multiply more at once than int16 by tiles.
  CHECK(chosen(isa::kAvx2 | isa::kAvxVnni, {8, 8, 64, 64}) == "none");
  CHECK(chosen(isa::kAvx2 | isa::kAvx512Vnni, {8, 8, 64, 64}) == "none");
  CHECK(chosen(isa::kNeon | isa::kNeonDot, {8, 8, 64, 64}) == "none");
  // Whole vectors of channels.
  CHECK(chosen(isa::kAvx2, {8, 8, 24, 64}) == "none");
  CHECK(chosen(isa::kAvx2, {8, 8, 64, 24}) == "none");
  CHECK(chosen(isa::kNeon, {8, 8, 24, 40}) == "winograd_s8_neon");
  CHECK(chosen(isa::kNeon, {8, 8, 12, 40}) == "none");
  // The proof of exactness, and what packed weights may take.
  CHECK(chosen(isa::kNeon, {8, 8, 224, 64}) == "winograd_s8_neon");
  CHECK(chosen(isa::kNeon, {8, 8, 232, 64}) == "none");
  CHECK(chosen(isa::kNeon, {8, 8, 128, 128}) == "winograd_s8_neon");
  CHECK(chosen(isa::kNeon, {8, 8, 128, 136}) == "none");
  // Outputs that fill tiles.
  CHECK(chosen(isa::kNeon, {7, 7, 64, 64}) == "winograd_s8_neon");
  CHECK(chosen(isa::kNeon, {5, 8, 64, 64}) == "winograd_s8_neon");
  CHECK(chosen(isa::kNeon, {6, 6, 64, 64}) == "none");
  CHECK(chosen(isa::kNeon, {4, 12, 64, 64}) == "none");
  CHECK(chosen(isa::kNeon, {1, 400, 64, 64}) == "none");
}

TEST_CASE("memory is what tiles and weights need") {
  for (int32_t i = 0; i < winograd_s8_count(); ++i) {
    const WinogradS8Kernel& kernel = winograd_s8_kernel(i);
    CHECK(winograd_s8_packed_bytes(kernel, 64, 2 * kernel.nr) == 2 * kernel.nr * (8 + 36 * 64 * 2));
    CHECK(winograd_s8_scratch_bytes(kernel, 64) ==
          36 * (kernel.tiles * 64 * 2 + kernel.tiles * kernel.nr * 4 + 64));
  }
}

TEST_CASE("layers that take it, and layers that do not") {
  const IsaMask mask = winograd_isa();
  if (mask == isa::kScalar) return;
  Layer layer;
  const std::string found = kernel_of(layer, mask);
  CHECK(found.substr(0, 12) == "winograd_s8_");
  CHECK(kernel_of(layer, mask, true).substr(0, 8) == "gemm_s8_");
  layer.residual = true;
  CHECK(kernel_of(layer, mask) == found);
  layer = {};
  layer.stride = 2;
  layer.side = 16;
  CHECK(kernel_of(layer, mask).substr(0, 8) == "gemm_s8_");
  layer = {};
  layer.scale = 30.0f;  // a multiplier of 1.2
  CHECK(kernel_of(layer, mask).substr(0, 8) == "gemm_s8_");
}

TEST_CASE("less memory without it, by what the weights take") {
  const IsaMask mask = winograd_isa();
  if (mask == isa::kScalar) return;
  Random random(5);
  Layer layer;
  layer.ic = layer.oc = 64;
  ModelBuilder b;
  add_network(layer, random, b);
  const AlignedBytes file = b.finish();
  const auto model = Model::open(file.view());
  SessionOptions options;
  options.isa = mask;
  const auto needs = Session::measure(*model, all_ops(), options);
  const auto compact = Session::measure(*model, compact_ops(), options);
  REQUIRE((needs && compact));
  CHECK(needs->packed_bytes == 64 * (8 + 36 * 64 * 2));
  CHECK(compact->packed_bytes < 64 * (32 + 9 * 64 * 2));
  CHECK(needs->activation_bytes == compact->activation_bytes);
}

TEST_CASE("whole models: instruction sets, widths, images and residuals change nothing") {
  Random random(9);
  for (int32_t i = 0; i < test::shape_count(24); ++i) {
    Layer layer;
    layer.images = random.between(1, 3);
    layer.side = random.between(6, 21);
    layer.ic = 8 * random.between(1, 6);
    layer.oc = 8 * random.between(1, 6);
    layer.residual = random.one_in(2);
    ModelBuilder b;
    add_network(layer, random, b);
    std::vector<std::vector<int8_t>> inputs;
    const auto pixels = static_cast<size_t>(layer.images * layer.side * layer.side);
    if (layer.residual) inputs.push_back(random.codes(pixels * static_cast<size_t>(layer.oc)));
    inputs.push_back(random.codes(pixels * static_cast<size_t>(layer.ic)));
    CAPTURE(i);
    run_widths<int8_t>(b, inputs);
  }
}

TEST_CASE("weights packed in the file are used in place, and wrong ones refused") {
  const IsaMask mask = winograd_isa();
  if (mask == isa::kScalar) return;
  Random random(3);
  ModelBuilder b;
  add_network({}, random, b);
  const AlignedBytes file = b.finish();
  HostArena memory;
  const auto model = Model::open(file.view());
  REQUIRE(static_cast<bool>(model));
  const auto packed = pack_model(*model, all_ops(), mask, memory.arena());
  REQUIRE_MESSAGE(static_cast<bool>(packed), text_of(packed.error()));
  SessionOptions options;
  options.isa = mask;
  const auto of_packed = Model::open(*packed);
  const auto needs = Session::measure(*of_packed, all_ops(), options);
  REQUIRE(static_cast<bool>(needs));
  CHECK(needs->packed_bytes == 0);
  CHECK(needs->in_place_bytes == 16 * (8 + 36 * 16 * 2));
  // A pack for another kernel's use: passed over.
  const auto compact = Session::measure(*of_packed, compact_ops(), options);
  CHECK(compact->in_place_bytes == 0);
  const std::vector<int8_t> input = random.codes(8 * 8 * 16);
  RunningModel plain(AlignedBytes(file.view()), all_ops(), options),
      in_place(AlignedBytes(*packed), all_ops(), options);
  REQUIRE_MESSAGE(in_place.error().ok(), text_of(in_place.error()));
  CHECK(plain.run<int8_t>(input) == in_place.run<int8_t>(input));
}

TEST_CASE("layers that run by rows take the direct sum, to the same bytes") {
  const IsaMask mask = winograd_isa();
  if (mask == isa::kScalar) return;
  Random random(4);
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kS8, {1, 24, 16, 16}, 0.02f, 3),
                a = b.tensor("a", DType::kS8, {1, 24, 16, 16}, 0.5f, -4),
                y = b.tensor("y", DType::kS8, {1, 24, 16, 16}, 0.5f, 0);
  for (const auto& [from, to] : {std::pair(x, a), std::pair(a, y)}) {
    const int32_t w = b.constant("w", DType::kS8, {16, 3, 3, 16}, random.codes(16 * 9 * 16), {0.01f});
    Window2d& window = b.node(Op::kConv2d, {from, w}, {to}).options.as<Window2d>();
    window.kernel_h = window.kernel_w = 3;
    window.pad_top = window.pad_left = window.pad_bottom = window.pad_right = 1;
  }
  b.input(x);
  b.output(y);
  const AlignedBytes file = b.finish();
  HostArena arena;
  const StreamedNodes nodes = {0, 2, 4};
  const auto cut = stream_segments(*Model::open(file.view()), all_ops(), {&nodes, 1}, false, arena.arena());
  REQUIRE_MESSAGE(static_cast<bool>(cut), text_of(cut.error()));
  SessionOptions options;
  options.isa = mask;
  RunningModel flat(AlignedBytes(*cut), all_ops(), options),
      by_rows(AlignedBytes(*cut), all_ops(), options, true);
  REQUIRE_MESSAGE(flat.error().ok(), text_of(flat.error()));
  REQUIRE_MESSAGE(by_rows.error().ok(), text_of(by_rows.error()));
  CHECK(std::string(flat.session().kernel_name(1)).substr(0, 12) == "winograd_s8_");
  CHECK(std::string(by_rows.session().kernel_name(1)).substr(0, 8) == "gemm_s8_");
  const std::vector<int8_t> input = random.codes(24 * 16 * 16);
  CHECK(flat.run<int8_t>(input) == by_rows.run<int8_t>(input));
  // Packed for the runs by rows.
  const auto packed = pack_model(*Model::open(*cut), all_ops(), mask, arena.arena());
  REQUIRE_MESSAGE(static_cast<bool>(packed), text_of(packed.error()));
  const auto of_packed = stream_rows(*Model::open(*packed));
  REQUIRE_MESSAGE(static_cast<bool>(of_packed), text_of(of_packed.error()));
  const auto needs = Session::measure(*of_packed, all_ops(), options);
  REQUIRE(static_cast<bool>(needs));
  CHECK(needs->packed_bytes == 0);
  CHECK(needs->in_place_bytes > 0);
  RunningModel in_place(AlignedBytes(*packed), all_ops(), options, true);
  REQUIRE_MESSAGE(in_place.error().ok(), text_of(in_place.error()));
  CHECK(by_rows.run<int8_t>(input) == in_place.run<int8_t>(input));
}

}  // namespace intaglio::test::winograd_s8_test
