// Every int8 gemm kernel that this CPU can run against a plain loop, tolerance 0. Where gemm_s8_f32 has a kernel for the same
// instruction set, it gets the same rows and panels.
#include "kernels/gemm/gemm_s8.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

#include "kernels/arithmetic/output_f32.h"
#include "kernels/gemm/gemm_s8_f32.h"
#include "kernels/gemm/gemm_s8_pairs.h"
#include "tests/support/random_windows.h"
#include "tests/support/runnable_isa.h"

namespace intaglio::test::gemm_s8_test {

using intaglio::test::Exact;
using intaglio::test::Random;
using intaglio::test::random_windows;
using intaglio::test::runnable_isa;
using intaglio::test::window_tap;

namespace {

// A kernel that uses its weights in place takes any number of rows.
int32_t most_rows(const GemmS8Kernel& kernel) { return kernel.packs ? kernel.mr : 19; }

bool runs_here(const GemmS8Kernel& kernel) { return (kernel.isa & ~runnable_isa()) == 0; }

const GemmS8F32Kernel* kernel_to_reals(const GemmS8Kernel& kernel) {
  for (int32_t i = 0; i < gemm_s8_f32_count(); ++i)
    if (gemm_s8_f32_kernel(i).isa == kernel.isa) return &gemm_s8_f32_kernel(i);
  return nullptr;
}

struct Case {
  int32_t m, n, taps, k;
  bool residual;
  int32_t codes;  // 0: random; 1: all -128; 2: -128 times 127
  bool extreme_bias;
  bool steep = false;        // multipliers that take sums past int32
  bool rows_padded = false;  // to whole sixteens
  bool zero_row = false;     // some rows of some taps are the zero row
  bool tap_offsets = false;  // where the kernel takes them
};

void run_case(const GemmS8Kernel& kernel, const Case& c, Random& random) {
  CAPTURE(kernel.name);
  CAPTURE(c.m);
  CAPTURE(c.n);
  CAPTURE(c.taps);
  CAPTURE(c.k);
  CAPTURE(c.residual);
  const auto k = static_cast<size_t>(c.k), n = static_cast<size_t>(c.n), taps = static_cast<size_t>(c.taps);
  const auto filled = [&](size_t count, int8_t extreme) {
    return c.codes == 0 ? random.codes(count) : std::vector<int8_t>(count, extreme);
  };

  // Rows stand in buffers of their own exact size; several taps may share one.
  std::vector<std::unique_ptr<Exact<int8_t>>> pool;
  const size_t row_bytes = c.rows_padded ? (k + 15) / 16 * 16 : k;
  for (int32_t i = 0; i < 8; ++i) pool.push_back(std::make_unique<Exact<int8_t>>(filled(row_bytes, -128)));
  const int32_t first_window = kernel.packs ? 0 : random.between(0, 5);
  const GemmS8Windows windows = random_windows(first_window + c.m, c.taps, c.k, random);
  const int32_t images = (first_window + c.m + windows.oh * windows.ow - 1) / (windows.oh * windows.ow);
  const Exact<int8_t> picture(filled(
      kernel.packs ? 0 : static_cast<size_t>(images * windows.h * windows.w * windows.channels), -128));
  const Exact<int8_t> padding(std::vector<int8_t>(k, static_cast<int8_t>(windows.zero_point)));
  const int8_t* const input = picture.data() + (windows.channels == 2 * c.k && random.one_in(2) ? c.k : 0);

  // Those read rows past m also where m is 1.
  const GemmS8F32Kernel* const to_reals = c.residual ? nullptr : kernel_to_reals(kernel);
  const bool row_alone = c.m == 1 && kernel.lhs_offset == 0 && (to_reals == nullptr || random.one_in(2));
  const auto mr = static_cast<size_t>(kernel.packs ? kernel.mr : c.m),
             step = static_cast<size_t>(row_alone ? 1 : kernel.row_multiple);
  Exact<const int8_t*> rows(taps * mr);
  const size_t given = (static_cast<size_t>(c.m) + step - 1) / step * step;
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = i % mr < given ? pool[random.bits() % 8]->data() : nullptr;
  const bool stepped = c.tap_offsets && c.n <= kernel.tap_offsets_max_n;
  constexpr size_t kSpread = 100;
  const Exact<int8_t> whole(filled(stepped ? row_bytes + 2 * kSpread : 0, -128));
  std::vector<ptrdiff_t> tap_offsets(taps);
  for (size_t t = 1; stepped && t < taps; ++t)
    tap_offsets[t] = static_cast<ptrdiff_t>(random.bits() % kSpread);
  for (size_t i = 0; stepped && i < rows.size(); ++i)
    rows[i] = i % mr >= given ? nullptr
              : i < mr        ? whole.data() + random.bits() % kSpread
                              : rows[i % mr] + tap_offsets[i / mr];
  for (size_t i = 0; !kernel.packs && i < rows.size(); ++i)
    rows[i] = window_tap(windows, input, first_window + static_cast<int32_t>(i % mr),
                         static_cast<int32_t>(i / mr), padding.data());
  const Exact<int8_t> zero_row(std::vector<int8_t>(row_bytes, static_cast<int8_t>(-kernel.lhs_offset)));
  for (size_t t = 0; c.zero_row && kernel.packs && !stepped && t < taps; ++t) {
    const auto first = static_cast<size_t>(random.between(0, c.m)) / 2;
    const auto past = static_cast<size_t>(random.between(0, c.m)) * 2;
    for (size_t r = first; r < std::min(past, given); ++r) rows[t * mr + r] = zero_row.data();
  }
  const Exact<const int8_t*> first_rows(std::vector<const int8_t*>(rows.data(), rows.data() + mr));

  const Exact<int8_t> weights(filled(n * taps * k, c.codes == 2 ? 127 : -128));
  std::vector<int32_t> bias(n);
  std::vector<float> multiplier(n);
  const float scale = 100.0f / (1.0f + 5000.0f * static_cast<float>(c.taps) * static_cast<float>(c.k));
  for (size_t i = 0; i < n; ++i) {
    bias[i] = random.between(-20000, 20000);
    if (c.extreme_bias)
      bias[i] = random.one_in(2) ? INT32_MAX - random.between(0, 9) : INT32_MIN + random.between(0, 9);
    multiplier[i] = random.real(0.1f, 2.0f) * (c.extreme_bias ? 5e-8f : scale);
    if (c.steep && random.one_in(2)) multiplier[i] *= random.one_in(2) ? 1e12f : 1e4f;
  }
  const Exact<int32_t> exact_bias(bias);
  const Exact<float> exact_multiplier(multiplier);

  const size_t stride = n + static_cast<size_t>(random.between(0, 3));
  const size_t used = (static_cast<size_t>(c.m) - 1) * stride + n;
  Exact<int8_t> residual(random.codes(used)), output(used);
  memset(output.data(), 0x5a, used);
  AddS8 add;
  add.a_zero_point = random.between(-128, 127);
  add.b_zero_point = random.between(-128, 127);
  add.a_multiplier = random.between(1, random.one_in(2) ? 32767 : (1 << 21) - 1);
  add.b_multiplier = random.between(1, random.one_in(2) ? 32767 : (1 << 21) - 1);
  add.right_shift = random.between(10, 18);
  add.zero_point = random.between(-128, 127);
  add.lo = random.between(-128, 0);
  add.hi = random.between(0, 127);

  const int64_t packed_bytes = gemm_s8_packed_bytes(kernel, c.n, c.taps, c.k);
  Exact<uint8_t> packed(static_cast<size_t>(packed_bytes));
  gemm_s8_pack(kernel, {weights.data(), exact_bias.data(), exact_multiplier.data(), c.n, c.taps, c.k},
               packed.data());
  Exact<uint8_t> scratch(static_cast<size_t>(gemm_s8_scratch_bytes(kernel, c.m, c.taps, c.k, true)));
  memset(scratch.data(), 0xa5, scratch.size());

  GemmS8Args args;
  args.rows = !kernel.packs ? nullptr : stepped ? first_rows.data() : rows.data();
  args.windows = kernel.packs ? nullptr : &windows;
  args.first_window = first_window;
  if (stepped) args.tap_offsets = tap_offsets.data();
  args.weights = kernel.packs ? static_cast<const void*>(packed.data()) : weights.data();
  args.folded_bias = exact_bias.data();
  args.multiplier = exact_multiplier.data();
  const bool in_place = c.residual && random.one_in(2);
  if (in_place) memcpy(output.data(), residual.data(), used);
  args.output = output.data();
  args.output_stride = stride;
  args.residual = !c.residual ? nullptr : (in_place ? output.data() : residual.data());
  args.residual_stride = stride;
  args.add = &add;
  args.scratch = scratch.data();
  const int32_t lo = random.between(-128, 0), hi = random.between(0, 127);
  args.requant = c.residual ? make_output_s8(random.between(-128, 127), -128, 127)
                            : make_output_s8(random.between(-128, 127), lo, hi);
  args.m = c.m;
  args.n = c.n;
  args.taps = c.taps;
  args.k = c.k;
  args.rows_padded = c.rows_padded;
  args.zero_row = c.zero_row && kernel.lhs_offset != 0 ? zero_row.data() : nullptr;
  const bool even = windows.oh == 1 && windows.h == 1 && windows.ow == first_window + c.m &&
                    windows.w == windows.ow && windows.stride_w == 1 && windows.pad_top == 0 &&
                    windows.pad_left == 0;
  args.row_distance = windows.channels;
  const bool as_windows = !kernel.packs && !(even && c.taps == 1 && random.one_in(2));
  if (!as_windows) {
    args.first_row = input + first_window * windows.channels;
    kernel.function(args);
  } else {
    GemmS8Args own = args;
    own.first_row = input;
    gemm_s8_windows(kernel.isa)(own);
  }

  const bool leaves = to_reals != nullptr && !(kernel.packs && row_alone && kernel.row_multiple > 1);
  Exact<float> reals(leaves ? used : 0);
  memset(static_cast<void*>(reals.data()), 0x5a, reals.size() * sizeof(float));
  GemmS8F32Args real_args;
  static_cast<GemmS8Args&>(real_args) = args;
  real_args.y = reals.data();
  real_args.y_stride = stride;
  if (random.one_in(2)) real_args.clamp = {random.real(-3.0f, 0.0f), random.real(0.0f, 6.0f)};
  if (as_windows) {
    real_args.first_row = input;
  } else {
    real_args.windows = nullptr;
  }
  if (leaves) {
    if (kernel.packs) memset(scratch.data(), 0xa5, scratch.size());
    to_reals->f32_function(real_args);
  }

  for (size_t r = 0; r < static_cast<size_t>(c.m); ++r) {
    for (size_t j = 0; j < n; ++j) {
      int64_t acc = bias[j];
      for (size_t t = 0; t < taps; ++t)
        for (size_t i = 0; i < k; ++i) acc += int64_t{rows[t * mr + r][i]} * weights[(j * taps + t) * k + i];
      int8_t expected = requantize_s8(static_cast<int32_t>(acc), multiplier[j], args.requant);
      if (c.residual) expected = add_s8(expected, residual[r * stride + j], add);
      CAPTURE(r);
      CAPTURE(j);
      REQUIRE(output[r * stride + j] == expected);
      if (!leaves) continue;
      const float real =
          finish_f32(static_cast<float>(static_cast<int32_t>(acc)) * multiplier[j], real_args.clamp);
      REQUIRE(memcmp(&reals[r * stride + j], &real, sizeof real) == 0);
    }
    for (size_t j = n; leaves && j < stride && r + 1 < static_cast<size_t>(c.m); ++j)
      REQUIRE(reinterpret_cast<const uint8_t*>(&reals[r * stride + j])[0] == 0x5a);
    for (size_t j = n; j < stride && r + 1 < static_cast<size_t>(c.m); ++j)
      REQUIRE(output[r * stride + j] == (in_place ? residual[r * stride + j] : 0x5a));
  }
}

}  // namespace

TEST_CASE("every kernel, random shapes") {
  for (int32_t index = 0; index < gemm_s8_count(); ++index) {
    const GemmS8Kernel& kernel = gemm_s8_kernel(index);
    if (!runs_here(kernel)) continue;
    Random random(static_cast<uint32_t>(index) + 1);
    const int32_t cases = test::shape_count(8000);
    for (int32_t i = 0; i < cases; ++i) {
      Case c;
      c.m = random.between(1, random.one_in(4) ? most_rows(kernel) : std::min(most_rows(kernel), 17));
      c.n = random.one_in(4) ? random.between(1, 70) : random.between(1, 20);
      c.taps = random.one_in(3) ? random.between(1, 10) : 1;
      c.k = random.one_in(4) ? random.between(1, 300) : random.between(1, 36);
      c.residual = random.one_in(3);
      c.codes = random.one_in(6) ? random.between(1, 2) : 0;
      c.extreme_bias = random.one_in(8);
      c.steep = random.one_in(16);
      c.rows_padded = random.one_in(8);
      c.zero_row = random.one_in(4);
      c.tap_offsets = random.one_in(3);
      run_case(kernel, c, random);
    }
  }
}

TEST_CASE("every row count, column count and depth up to past two vectors") {
  for (int32_t index = 0; index < gemm_s8_count(); ++index) {
    const GemmS8Kernel& kernel = gemm_s8_kernel(index);
    if (!runs_here(kernel)) continue;
    Random random(7);
    constexpr int32_t kMany = 20, kRowStep = test::kIsSanitized ? 9 : 3,
                      kColumnStep = test::kIsSanitized ? 5 : 1;
    for (int32_t m = 1; m <= most_rows(kernel); m += m < kMany ? 1 : kRowStep)
      for (int32_t n = 1; n <= 2 * kernel.nr + 1; n += n < kMany ? 1 : kColumnStep)
        for (const int32_t k : {1, 2, 7, 8, 9, 15, 16, 17, 33})
          run_case(kernel, {m, n, 2, k, false, 0, false}, random);
  }
}

TEST_CASE("whole vectors of depths and columns, a row alone among them") {
  for (int32_t index = 0; index < gemm_s8_count(); ++index) {
    const GemmS8Kernel& kernel = gemm_s8_kernel(index);
    if (!runs_here(kernel)) continue;
    Random random(11);
    for (const int32_t m : {1, 5, 9, 12, 17})
      for (const int32_t n : {16, 32, 48, 64})
        for (const int32_t k : {16, 32, 48, 80, 160})
          for (const int32_t codes : {0, 1, 2}) {
            if (m > most_rows(kernel)) continue;
            Case c{m, n, random.one_in(3) ? 3 : 1, k, false, codes, false};
            c.tap_offsets = random.one_in(2);
            run_case(kernel, c, random);
          }
  }
}

TEST_CASE("taps outside the picture may be left out") {
  for (int32_t index = 0; index < gemm_s8_count(); ++index) {
    const GemmS8Kernel& kernel = gemm_s8_kernel(index);
    if (!runs_here(kernel)) continue;
    Random random(10);
    for (int32_t i = 0; i < 300; ++i) {
      Case c{random.between(1, most_rows(kernel)),
             0,
             random.between(1, 9),
             4 * random.between(1, 20),
             false,
             0,
             false};
      c.n = kernel.nr / 4 * random.between(1, 9) + random.between(1, 3);
      c.residual = random.one_in(3);
      c.zero_row = true;
      run_case(kernel, c, random);
    }
  }
}

TEST_CASE("sums may wrap on the way") {
  // 127 * -128 five thousand times over, started at the other end of int32.
  for (int32_t index = 0; index < gemm_s8_count(); ++index) {
    const GemmS8Kernel& kernel = gemm_s8_kernel(index);
    if (!runs_here(kernel)) continue;
    Random random(8);
    for (const int32_t codes : {1, 2}) run_case(kernel, {1, 3, 10, 5000, false, codes, true}, random);
  }
}

TEST_CASE("selection by mask") {
  CHECK(std::string(gemm_s8_kernel(gemm_s8_select(isa::kScalar)).name) == "gemm_s8_scalar");
  CHECK(std::string(gemm_s8_kernel(gemm_s8_select(isa::kAvx2)).name) == "gemm_s8_avx2");
  // Whatever this build has compiled: sizes for another target need no function.
  CHECK(gemm_s8_kernel(gemm_s8_select(isa::kAvx2)).mr == 56);
  for (int32_t i = 0; i < gemm_s8_count(); ++i) {
    const GemmS8Kernel& kernel = gemm_s8_kernel(i);
    CHECK(gemm_s8_select(kernel.isa) <= i);
    if ((kernel.isa & ~kCompiledIsa) == 0) CHECK((kernel.function != nullptr));
  }
  CHECK(gemm_s8_kernel(gemm_s8_count() - 1).isa == isa::kScalar);
}

TEST_CASE("kernels to FP32 read the panels of the kernels to int8") {
  for (int32_t i = 0; i < gemm_s8_f32_count(); ++i) {
    const GemmS8F32Kernel& real = gemm_s8_f32_kernel(i);
    CAPTURE(real.name);
    CHECK(gemm_s8_f32_select(real.isa) <= i);
    if ((real.isa & ~kCompiledIsa) == 0) CHECK((real.f32_function != nullptr));
    const GemmS8Kernel& kernel = gemm_s8_kernel(gemm_s8_select(real.isa, INT32_MAX));
    CHECK(kernel.isa == real.isa);
    for (const int32_t n : {1, 17, 33, 70})
      for (const int32_t k : {1, 5, 16, 40}) {
        CHECK(gemm_s8_packed_bytes(real, n, 3, k) == gemm_s8_packed_bytes(kernel, n, 3, k));
        CHECK(gemm_s8_scratch_bytes(real, 9, 3, k) == gemm_s8_scratch_bytes(kernel, 9, 3, k));
      }
    CHECK(real.mr == kernel.mr);
    CHECK(real.lanes == kernel.lanes);
    CHECK(real.row_multiple == kernel.row_multiple);
  }
  CHECK(gemm_s8_f32_kernel(gemm_s8_f32_count() - 1).isa == isa::kScalar);
}

TEST_CASE("one packer serves every layout") {
  // A kernel of another machine: quads, eight columns, rows read as x + 128.
  const GemmS8Kernel kernel = {"trial", isa::kScalar, 4, 8, 4, 128, true, 0, nullptr};
  Random random(9);
  for (int32_t i = 0; i < 200; ++i) {
    const int32_t n = random.between(1, 20), taps = random.between(1, 4), k = random.between(1, 11);
    const std::vector<int8_t> w = random.codes(static_cast<size_t>(n * taps * k));
    Exact<int8_t> packed(static_cast<size_t>(gemm_s8_packed_bytes(kernel, n, taps, k)));
    const std::vector<int32_t> bias(static_cast<size_t>(n), 1000 + i);
    const std::vector<float> multiplier(static_cast<size_t>(n), 0.25f);
    gemm_s8_pack(kernel, {w.data(), bias.data(), multiplier.data(), n, taps, k}, packed.data());
    const int32_t blocks = (k + 3) / 4, head = 2 * 8 * 4, panel = head + taps * blocks * 8 * 4;
    REQUIRE(packed.size() == static_cast<size_t>((n + 7) / 8 * panel));
    for (int32_t c = 0; c < (n + 7) / 8 * 8; ++c) {
      const int8_t* const start = packed.data() + c / 8 * panel;
      int32_t sum = 0;
      for (int32_t t = 0; t < taps; ++t)
        for (int32_t j = 0; j < blocks * 4; ++j) {
          const int8_t expected = c < n && j < k ? w[static_cast<size_t>((c * taps + t) * k + j)] : int8_t{0};
          sum += expected;
          REQUIRE(start[head + ((t * blocks + j / 4) * 8 + c % 8) * 4 + j % 4] == expected);
        }
      int32_t packed_bias;
      float packed_multiplier;
      memcpy(&packed_bias, start + c % 8 * 4, 4);
      memcpy(&packed_multiplier, start + 32 + c % 8 * 4, 4);
      REQUIRE(packed_bias == (c < n ? 1000 + i : 0) - 128 * sum);
      REQUIRE(packed_multiplier == (c < n ? 0.25f : 0.0f));
    }
  }
}

TEST_CASE("full panels in the order in which packs leave them") {
  const GemmS8Kernel kernel = {"trial", isa::kScalar, 1, 16, 1, 0, true, 0, nullptr, false, 0, 8};
  std::vector<int8_t> w(16), packed(16);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<int8_t>(i);
  gemm_s8_pack(kernel, {w.data(), nullptr, nullptr, 16, 1, 1}, packed.data());
  // Two vectors of eight: the packs take 0-3 and 4-7 from the lower halves, 8-11 and 12-15 from the upper.
  const int32_t expected[16] = {0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15};
  for (size_t i = 0; i < 16; ++i) CHECK(packed[i] == expected[i]);
}

TEST_CASE("what is left of the columns in panels of a half and a quarter") {
  const GemmS8Kernel kernel = {"trial", isa::kScalar, 1, 16, 1, 0, true, 0, nullptr, true, 0, 4};
  const int32_t counts[][2] = {{3, 4}, {4, 4}, {5, 8}, {9, 12}, {12, 12}, {13, 16}, {20, 20}, {28, 28}};
  for (const auto& [n, columns] : counts) {
    std::vector<int8_t> w(static_cast<size_t>(n)), packed(static_cast<size_t>(columns), int8_t{-1});
    for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<int8_t>(i);
    REQUIRE(gemm_s8_packed_bytes(kernel, n, 1, 1) == columns);
    gemm_s8_pack(kernel, {w.data(), nullptr, nullptr, n, 1, 1}, packed.data());
    for (int32_t i = 0; i < columns; ++i) CHECK(packed[static_cast<size_t>(i)] == (i < n ? i : 0));
  }
}

TEST_CASE("pairs of 7-bit weights are all safe, of 8-bit ones nearly all once matched") {
  const GemmS8Kernel& kernel = gemm_s8_kernel(gemm_s8_select(isa::kAvx2));
  REQUIRE(kernel.pair_safe_panels);
  constexpr int32_t kColumns = 48, kTaps = 2, kDepth = 100;
  std::mt19937 generator(1);
  std::normal_distribution<float> bell(0.0f, 1.0f);
  for (const int32_t largest : {63, 127}) {
    std::vector<int8_t> w(kColumns * kTaps * kDepth);
    for (int8_t& code : w) {
      const float v = bell(generator) * static_cast<float>(largest) / 3.2f;
      code = static_cast<int8_t>(std::clamp(static_cast<int32_t>(v), -largest, largest));
    }
    const std::vector<int32_t> bias(kColumns);
    const std::vector<float> multiplier(kColumns, 0.5f);
    Exact<uint8_t> packed(static_cast<size_t>(gemm_s8_packed_bytes(kernel, kColumns, kTaps, kDepth)));
    gemm_s8_pack(kernel, {w.data(), bias.data(), multiplier.data(), kColumns, kTaps, kDepth}, packed.data());
    const PairsProof proof = count_safe_pairs(kernel, packed.data(), kColumns, kTaps, kDepth);
    CHECK(proof.quads == kColumns / 16 * kTaps * kDepth / 4);
    CHECK(10 * proof.safe > 9 * proof.quads);
    if (largest == 63) CHECK(proof.safe == proof.quads);
    CHECK((largest == 63 ? 95 : 40) * proof.quads < 100 * proof.by_fours);
  }
}

TEST_CASE("complements of codes make pairs safe that no order makes so") {
  const GemmS8Kernel& kernel = gemm_s8_kernel(gemm_s8_select(isa::kAvx2));
  constexpr int32_t kColumns = 16, kDepth = 32;
  const std::vector<int32_t> bias(kColumns);
  const std::vector<float> multiplier(kColumns, 0.5f);
  Exact<uint8_t> packed(static_cast<size_t>(gemm_s8_packed_bytes(kernel, kColumns, 1, kDepth)));
  const auto proof_of = [&](int8_t weight) {
    const std::vector<int8_t> w(kColumns * kDepth, weight);
    gemm_s8_pack(kernel, {w.data(), bias.data(), multiplier.data(), kColumns, 1, kDepth}, packed.data());
    return count_safe_pairs(kernel, packed.data(), kColumns, 1, kDepth);
  };
  CHECK(proof_of(127).safe == kDepth / 4);
  CHECK(proof_of(127).by_fours == 0);
  CHECK(proof_of(-128).safe == 0);  // 128 is no weight
  CHECK(proof_of(64).by_fours == kDepth / 4);
}

}  // namespace intaglio::test::gemm_s8_test
