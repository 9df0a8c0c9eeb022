// The kernels of this build against the scalar one, on a board as on the build machine: tolerance 0,
// and one checksum of all results, which is the same on every machine. Ends with 0 where both hold.
#include "intaglio/platform.h"
#include "kernels/arithmetic/requant_soft.h"
#include "kernels/compiled_isa.h"
#include "kernels/dwconv/dwconv_map_s8.h"
#include "kernels/dwconv/dwconv_s8.h"
#include "kernels/eltwise/eltwise_s8.h"
#include "kernels/gemm/gemm_s8_windows.h"
#include "kernels/normalize/normalize_groups.h"
#include "runtime/crc32.h"
#include "tests/firmware/board_print.h"

using namespace intaglio;

namespace {

// The scalar kernels' results, as one number: the definition's, therefore any machine's.
constexpr uint32_t kExpected = 2359311000u;

constexpr int32_t kMaxDepth = 640, kMaxColumns = 24, kMaxRows = 16, kMaxTaps = 10, kGuard = 16;
constexpr int8_t kUntouched = 0x5a;

uint32_t state = 1;
uint32_t checksum = 0;
const char* failed = nullptr;

int32_t random_below(int32_t limit) {
  state = state * 1664525u + 1013904223u;
  return static_cast<int32_t>((state >> 8) % static_cast<uint32_t>(limit));
}
int32_t between(int32_t lo, int32_t hi) { return lo + random_below(hi - lo + 1); }

void fill(int8_t* codes, int32_t count) {
  const bool extreme = random_below(8) == 0;
  for (int32_t i = 0; i < count; ++i)
    codes[i] = static_cast<int8_t>(extreme ? (random_below(2) == 0 ? -128 : 127) : random_below(256) - 128);
}

alignas(64) int8_t x[kMaxRows * kMaxTaps * 64 + kMaxDepth * 8], w[kMaxColumns * kMaxDepth];
alignas(64) uint8_t scratch[kMaxDepth * 16 + 64];
alignas(2) int8_t y[2][kMaxRows * 40 + kGuard];
int8_t residual[kMaxRows * 40];
int32_t bias[kMaxColumns * 4];
float multiplier[kMaxColumns * 4];

void fill_channels(int32_t count) {
  for (int32_t c = 0; c < count; ++c) {
    bias[c] = between(-30000, 30000) * (random_below(9) == 0 ? 60000 : 1);
    multiplier[c] = static_cast<float>(between(1, 4000)) * (random_below(9) == 0 ? 1.0f : 1e-6f);
  }
}

OutputS8 random_output() {
  const int32_t zero_point = between(-128, 127), lo = random_below(2) == 0 ? -128 : between(-128, 0);
  const int32_t hi = random_below(2) == 0 ? 127 : between(lo, 127);
  return make_output_s8(zero_point, lo, hi);
}

AddS8 random_add() {
  const int32_t bits = between(15, 20);
  return {between(-128, 127), between(-128, 127), between(0, 1 << bits), between(0, 1 << bits),
          between(1, 21),     between(-128, 127), between(-128, 0),      between(1, 127)};
}

// The results of the scalar kernel are in y[0], those of another one in y[1].
void compare(const char* name, int32_t count) {
  for (int32_t i = 0; i < count + kGuard && failed == nullptr; ++i)
    if (y[0][i] != y[1][i]) failed = name;
}

void prepare_outputs() { memset(y, kUntouched, sizeof y); }

// Sums of any size by multipliers of any, some near a half.
void check_requantizing() {
  const uint32_t common = state;
  const int32_t count = between(1, 40);
  uint32_t sums[40];
  const OutputS8 output = random_output();
  prepare_outputs();
  for (int32_t i = 0; i < count; ++i) {
    sums[i] = static_cast<uint32_t>(between(-65536, 65535) * 32768 + random_below(32768)) >> random_below(32);
    if (random_below(2) == 0) sums[i] = 0 - sums[i];
    constexpr int32_t kMantissas[] = {0, 1, 0x400000, 0x7fff7f, 0x7fff80, 0x7fffff};
    const int32_t mantissa = random_below(2) == 0 ? random_below(1 << 23) : kMantissas[random_below(6)],
                  bits = (random_below(8) == 0 ? between(1, 254) : between(100, 127)) * (1 << 23) + mantissa;
    memcpy(multiplier + i, &bits, sizeof bits);
    y[0][i] = requantize_s8(static_cast<int32_t>(sums[i]), multiplier[i], output);
  }
  requantize_run(sums, multiplier, count, output, make_output_soft(output), y[1]);
  compare("requantize_run", count);
  state = common;
}

// Windows of a picture in `x`, perhaps far outside it, or rows at one distance; at least `rows` of them from `first` on.
GemmS8Windows random_windows(int32_t taps, int32_t k, int32_t first, int32_t rows) {
  if (taps == 1 && random_below(2) == 0)
    return {1, first + rows, k + random_below(2) * 3, 1, first + rows, 1, 1, 1, 1, 1, 1, 0, 0, 0};
  const int32_t kernel_w = taps % 3 == 0 ? 3 : taps % 2 == 0 && random_below(2) == 0 ? 2 : 1;
  const int32_t ow = between(1, 5), oh = between(1, 4), images = (first + rows + ow * oh - 1) / (ow * oh);
  const int32_t channels = k * (random_below(4) == 0 ? 2 : 1);
  const int32_t most = static_cast<int32_t>(sizeof x) / channels / images;  // pixels
  const int32_t height = between(1, most < 6 ? most : 6);
  const int32_t width = between(1, most / height < 7 ? most / height : 7);
  return {height,
          width,
          channels,
          oh,
          ow,
          taps / kernel_w,
          kernel_w,
          between(1, 2),
          between(1, 2),
          random_below(4) == 0 ? 2 : 1,
          random_below(4) == 0 ? 2 : 1,
          random_below(3),
          random_below(3),
          between(-128, 127)};
}

void check_gemm() {
  // Often what kernels have loops of their own for: whole blocks of columns and depths, one row or many.
  const int32_t n = random_below(2) == 0 ? 8 * between(1, kMaxColumns / 8) : between(1, kMaxColumns);
  const int32_t taps = random_below(2) == 0 ? between(1, kMaxTaps) : 1;
  int32_t k = random_below(3) == 0 ? between(1, kMaxDepth / taps)
                                   : between(1, 33 < kMaxDepth / taps ? 33 : kMaxDepth / taps);
  if (random_below(2) == 0 && k > 4) k -= k % 4;
  const int32_t some = random_below(4), m = some == 0   ? 1
                                            : some == 1 ? between(kMaxRows - 4, kMaxRows)
                                                        : between(1, kMaxRows);
  const int32_t stride = n + random_below(3), first = random_below(5);
  fill(x, static_cast<int32_t>(sizeof x));
  fill(w, n * taps * k);
  fill(residual, static_cast<int32_t>(sizeof residual));
  fill_channels(n);
  const AddS8 add = random_add();
  const GemmS8Windows windows = random_windows(taps, k, first, m);
  GemmS8Args args{};
  args.windows = &windows;
  args.first_window = first;
  args.weights = w;
  args.folded_bias = bias;
  args.multiplier = multiplier;
  args.output_stride = static_cast<size_t>(stride);
  args.residual_stride = static_cast<size_t>(stride);
  args.residual = random_below(3) == 0 ? residual : nullptr;
  args.add = &add;
  args.scratch = scratch;
  args.requant = random_output();
  args.m = m;
  args.n = n;
  args.taps = taps;
  args.k = k;
  prepare_outputs();
  args.output = y[0];
  args.first_row = x;
  GemmS8Args own = args;
  gemm_s8_windows(isa::kScalar)(own);
  args.output = y[1];
  args.row_distance = windows.channels;
  const bool even = taps == 1 && windows.oh == 1 && windows.h == 1 && windows.w == windows.ow &&
                    windows.stride_w == 1 && windows.pad_top == 0 && windows.pad_left == 0;
  for (int32_t i = 0; i < gemm_s8_count() - 1; ++i) {
    const GemmS8Kernel& kernel = gemm_s8_kernel(i);
    if (kernel.function == nullptr || kernel.packs || (kernel.isa & ~cpu_isa()) != 0) continue;
    memset(y[1], kUntouched, sizeof y[1]);
    own = args;
    if (even) {
      own.first_row += first * windows.channels;
      kernel.function(own);
    } else {
      gemm_s8_windows(kernel.isa)(own);
    }
    compare(kernel.name, m * stride);
  }
  checksum = crc32(checksum, reinterpret_cast<const uint8_t*>(y[0]), static_cast<size_t>(m * stride));
}

void check_dwconv() {
  const int32_t channels = between(1, 40), taps = between(1, kMaxTaps), pixels = between(1, 9);
  const int32_t stride = channels;
  fill(x, static_cast<int32_t>(sizeof x));
  fill(w, taps * channels);
  fill_channels(channels);
  const int8_t* rows[9 * kMaxTaps];
  for (int32_t i = 0; i < pixels * taps; ++i) rows[i] = x + i * 41;
  DwconvS8Args args{};
  args.rows = rows;
  args.weights = w;
  args.folded_bias = bias;
  args.multiplier = multiplier;
  args.output = y[0];
  args.output_stride = static_cast<size_t>(stride);
  args.scratch = scratch;
  args.requant = random_output();
  args.pixels = pixels;
  args.taps = taps;
  args.channels = channels;
  args.depth_multiplier = 1;
  prepare_outputs();
  dwconv_s8_kernel(dwconv_s8_count() - 1).function(args);
  checksum = crc32(checksum, reinterpret_cast<const uint8_t*>(y[0]), static_cast<size_t>(pixels * stride));
  const uint32_t common = state;  // of machines with any number of kernels
  for (int32_t i = 0; i < dwconv_s8_count() - 1; ++i) {
    const DwconvS8Kernel& kernel = dwconv_s8_kernel(i);
    if (kernel.function == nullptr || (kernel.isa & ~cpu_isa()) != 0) continue;
    memset(y[1], kUntouched, sizeof y[1]);
    args.output = y[1];
    // The same rows, by the first pixel's alone.
    args.pixel_step = kernel.tap_bytes == 0 && random_below(2) == 0 ? taps * 41 : 0;
    kernel.function(args);
    compare(kernel.name, pixels * stride);
  }
  state = common;
}

// There is no scalar kernel of a whole map: each window is one pixel of dwconv_s8's.
void check_dwconv_map() {
  const uint32_t common = state;
  const int32_t channels = kDwconvMapChannels * between(1, 5);
  DwconvMapS8Args args{};
  args.stride = between(1, 2);
  args.pad_top = between(0, 2);
  args.pad_left = between(0, 2);
  args.h = between(1, 9);
  args.w = between(1, 9);
  args.oh = between(1, (args.h + args.pad_top + 1) / args.stride + 1);
  args.ow = between(1, (args.w + args.pad_left + 1) / args.stride + 1);
  if (args.oh * args.ow * channels > kMaxRows * 40) args.oh = args.ow = 1;
  args.channels = channels;
  args.last = channels;
  args.zero_point = between(-128, 127);
  fill(x, args.h * args.w * channels);
  fill(w, 9 * channels);
  fill_channels(channels);
  for (int32_t c = 0; c < channels; ++c) multiplier[c] = multiplier[c] < 1.0f ? multiplier[c] : 0.999f;
  args.input = x;
  args.weights = w;
  args.folded_bias = bias;
  args.multiplier = multiplier;
  args.scratch = scratch;
  args.requant = random_output();
  static int8_t padding[kDwconvMapChannels * 5];
  memset(padding, args.zero_point, sizeof padding);
  prepare_outputs();
  DwconvS8Args one{};
  one.weights = w;
  one.folded_bias = bias;
  one.multiplier = multiplier;
  one.requant = args.requant;
  one.pixels = 1;
  one.taps = 9;
  one.channels = channels;
  one.depth_multiplier = 1;
  for (int32_t p = 0; p < args.oh * args.ow; ++p) {
    const int8_t* rows[9];
    for (int32_t t = 0; t < 9; ++t) {
      const int32_t line = p / args.ow * args.stride - args.pad_top + t / 3,
                    column = p % args.ow * args.stride - args.pad_left + t % 3;
      const bool inside = line >= 0 && line < args.h && column >= 0 && column < args.w;
      rows[t] = inside ? x + (line * args.w + column) * channels : padding;
    }
    one.rows = rows;
    one.output = y[0] + p * channels;
    dwconv_s8_kernel(dwconv_s8_count() - 1).function(one);
  }
  for (int32_t i = 0; i < dwconv_map_s8_count(); ++i) {
    const DwconvMapS8Kernel& kernel = dwconv_map_s8_kernel(i);
    if (kernel.function == nullptr || (kernel.isa & ~cpu_isa()) != 0) continue;
    args.output = y[1];
    kernel.function(args);
    compare(kernel.name, args.oh * args.ow * channels);
  }
  state = common;
}

void check_eltwise() {
  const int32_t n = between(1, 90), rows = between(1, 3), count = n * rows;
  fill(x, count);
  fill(w, n);
  const AddS8 add = random_add();
  const MulS8 mul = {between(-128, 127), between(-128, 127), static_cast<float>(between(1, 4000)) * 1e-6f,
                     random_output()};
  const EltwiseS8Kernel& scalar = eltwise_s8_kernel(eltwise_s8_count() - 1);
  const auto run = [&](const EltwiseS8Kernel& kernel, int32_t which, int8_t* out) {
    if (which == 0) kernel.add_rows(x, w, out, rows, n, add);
    if (which == 1) kernel.add_code(x, w[0], out, count, add);
    if (which == 2) kernel.mul_rows(x, w, out, rows, n, mul);
    if (which == 3) kernel.mul_code(x, w[0], out, count, mul);
  };
  for (int32_t which = 0; which < 4; ++which) {
    prepare_outputs();
    run(scalar, which, y[0]);
    checksum = crc32(checksum, reinterpret_cast<const uint8_t*>(y[0]), static_cast<size_t>(count));
    for (int32_t i = 0; i < eltwise_s8_count() - 1; ++i) {
      const EltwiseS8Kernel& kernel = eltwise_s8_kernel(i);
      if (kernel.add_rows == nullptr || (kernel.isa & ~cpu_isa()) != 0) continue;
      memset(y[1], kUntouched, sizeof y[1]);
      run(kernel, which, y[1]);
      compare(kernel.name, count);
    }
  }
}

void check_normalize() {
  static float scale[40], shift[40];
  static int64_t sums[40 * 4];
  const bool wide = random_below(2) == 0;
  const int32_t groups = between(1, 3), depth = between(1, 40 / groups), channels = groups * depth;
  const int32_t stride = channels + random_below(2) * between(0, 40 - channels),
                places = between(1, wide ? 8 : 16);
  const int32_t bytes = (wide ? 2 : 1) * (stride * (places - 1) + channels);
  fill(x, bytes);
  for (int32_t c = 0; c < channels; ++c) {
    scale[c] = static_cast<float>(between(-3000, 3000)) * 1e-3f;
    shift[c] = static_cast<float>(between(-1000, 1000)) * 1e-3f;
  }
  NormalizeArgs args{};
  args.groups = {places, groups, depth, stride, random_below(3) == 0};
  args.x = x;
  args.scale = scale;
  args.shift = shift;
  args.sums = places == 1 ? nullptr : sums;
  args.epsilon = static_cast<float>(between(0, 1000));
  args.reciprocal_scale = static_cast<float>(between(5, 100)) * (wide ? 200.0f : 1.0f);
  args.zero_point = wide ? 0 : between(-128, 127);
  args.s8 = random_output();
  args.s16 = make_output_s16(-32768, random_below(2) == 0 ? 32767 : 20000);
  prepare_outputs();
  for (int32_t i = normalize_count() - 1; i >= 0; --i) {  // the scalar kernel is the last one
    const NormalizeKernel& kernel = normalize_kernel(i);
    if (kernel.s8 == nullptr || (kernel.isa & ~cpu_isa()) != 0) continue;
    int8_t* const out = i == normalize_count() - 1 ? y[0] : y[1];
    memset(y[1], kUntouched, sizeof y[1]);
    args.y = out;
    (wide ? kernel.s16 : kernel.s8)(args);
    if (out == y[1]) compare(kernel.name, bytes);
  }
  checksum = crc32(checksum, reinterpret_cast<const uint8_t*>(y[0]), static_cast<size_t>(bytes));
}

}  // namespace

extern "C" int main() {
  for (int32_t i = 0; i < 600 && failed == nullptr; ++i) {
    check_gemm();
    check_dwconv();
    check_requantizing();
    if (kListsDwconvMapS8) check_dwconv_map();
    check_eltwise();
    check_normalize();
  }
  const char* const gemm = gemm_s8_kernel(gemm_s8_select(cpu_isa() & kCompiledIsa)).name;
  print_line("kernels, best first: ", gemm);
  print_number("checksum ", checksum);
  if (failed != nullptr) return print_line("FAILED: differs from the scalar kernel: ", failed), 1;
  if (checksum != kExpected) return print_number("FAILED: the checksum should be ", kExpected), 1;
  return 0;
}
