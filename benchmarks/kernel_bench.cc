// Every gemm, gemv, Winograd and 3 x 3 depthwise kernel that runs here, on layers of real networks. 'peak' is the share
// of the multiply-accumulates a second of the instruction that the kernel is built on, measured in the same
// run.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "benchmarks/peak.h"
#include "intaglio/platform.h"
#include "kernels/compiled_isa.h"
#include "kernels/dwconv/dwconv_3x3_s8.h"
#include "kernels/gemm/gemm_f32.h"
#include "kernels/gemm/gemm_s8.h"
#include "kernels/gemm/gemm_s8_f32.h"
#include "kernels/winograd/winograd_s8.h"

using namespace intaglio;

namespace {

// Starts at a multiple of 64, as a session's memory does.
template <typename T>
class Aligned {
 public:
  explicit Aligned(size_t count) : bytes_(count * sizeof(T) + 64) {
    const auto start = reinterpret_cast<uintptr_t>(bytes_.data());
    data_ = reinterpret_cast<T*>((start + 63) / 64 * 64);
    for (size_t i = 0; i < count; ++i)
      data_[i] = static_cast<T>(static_cast<int32_t>(i * 2654435761u >> 24) - 128);
  }
  T* data() { return data_; }

 private:
  std::vector<uint8_t> bytes_;
  T* data_;
};

template <typename Kernel>
bool runs_here(const Kernel& kernel) {
  return (kernel.isa & ~(cpu_isa() & kCompiledIsa)) == 0;
}

void report(benchmark::State& state, double macs, double peak) {
  using benchmark::Counter;
  state.counters["GMAC/s"] = Counter(macs * 1e-9, Counter::kIsIterationInvariantRate);
  if (peak > 0) state.counters["peak"] = Counter(macs / peak, Counter::kIsIterationInvariantRate);
}

struct Product {
  int32_t m, n, taps, k;
};

// Like a trained layer's: a bell, whose largest in three deviations or so is the largest code.
void fill_weights(int8_t* w, size_t count, float largest) {
  std::mt19937 generator(1);
  std::normal_distribution<float> bell(0.0f, largest / 3.2f);
  for (size_t i = 0; i < count; ++i)
    w[i] = static_cast<int8_t>(std::clamp(std::nearbyint(bell(generator)), -largest, largest));
}

void gemm_s8(benchmark::State& state, const GemmS8Kernel& kernel, const Product& p, float largest) {
  const auto m = static_cast<size_t>(p.m), n = static_cast<size_t>(p.n), k = static_cast<size_t>(p.k),
             taps = static_cast<size_t>(p.taps), mr = static_cast<size_t>(kernel.mr);
  Aligned<int8_t> x((m + taps) * k), w(n * taps * k), y(m * n);
  Aligned<int32_t> bias(n);
  Aligned<float> multiplier(n);
  fill_weights(w.data(), n * taps * k, largest);
  for (size_t i = 0; i < n; ++i) multiplier.data()[i] = 1e-4f;
  Aligned<uint8_t> packed(static_cast<size_t>(gemm_s8_packed_bytes(kernel, p.n, p.taps, p.k)));
  gemm_s8_pack(kernel, {w.data(), bias.data(), multiplier.data(), p.n, p.taps, p.k}, packed.data());
  Aligned<uint8_t> scratch(static_cast<size_t>(gemm_s8_scratch_bytes(kernel, kernel.mr, p.taps, p.k)));
  std::vector<const int8_t*> rows((m + mr - 1) / mr * taps * mr);  // made once: not the kernel's work
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t row = i / (taps * mr) * mr + i % mr;
    rows[i] = x.data() + (row < m ? row : m - 1) * k;
  }
  GemmS8Args args{};
  args.row_distance = static_cast<ptrdiff_t>(k);
  args.weights = kernel.packs ? static_cast<const void*>(packed.data()) : w.data();
  args.folded_bias = bias.data();
  args.multiplier = multiplier.data();
  args.output_stride = n;
  args.scratch = scratch.data();
  args.requant = make_output_s8(3, -128, 127);
  args.n = p.n;
  args.taps = p.taps;
  args.k = p.k;
  for (auto _ : state) {
    for (size_t first = 0; first < m; first += mr) {
      const size_t count = m - first < mr ? m - first : mr;
      args.rows = rows.data() + first * taps;
      args.first_row = x.data() + first * k;
      args.m = static_cast<int32_t>(count);
      args.output = y.data() + first * n;
      kernel.function(args);
    }
  }
  report(state, static_cast<double>(m * n * taps * k), peak_s8(kernel.isa));
}

void gemv_s8_f32(benchmark::State& state, const GemvS8F32Kernel& kernel, const Product& p) {
  const auto n = static_cast<size_t>(p.n), k = static_cast<size_t>(p.k);
  Aligned<int8_t> x(k), w(n * k);
  Aligned<int32_t> bias(n);
  Aligned<float> multiplier(n), y(n);
  fill_weights(w.data(), n * k, 127.0f);
  for (auto _ : state)
    kernel.function(x.data(), w.data(), bias.data(), multiplier.data(), y.data(), p.n, p.k);
  report(state, static_cast<double>(n * k), peak_s8(kernel.isa));
}

void gemm_f32(benchmark::State& state, const GemmF32Kernel& kernel, const Product& p) {
  const auto m = static_cast<size_t>(p.m), n = static_cast<size_t>(p.n), k = static_cast<size_t>(p.k),
             taps = static_cast<size_t>(p.taps), mr = static_cast<size_t>(kernel.mr);
  Aligned<float> x(m * k), w(n * taps * k), y(m * n);
  Aligned<float> packed(static_cast<size_t>(gemm_f32_packed_bytes(kernel, p.n, p.taps, p.k)) / sizeof(float));
  gemm_f32_pack(kernel, w.data(), p.n, p.taps, p.k, packed.data());
  std::vector<const float*> rows(taps * mr);
  GemmF32Args args{};
  args.rows = rows.data();
  args.weights = kernel.packs ? packed.data() : w.data();
  args.output_stride = n;
  args.clamp = {0.0f, 6.0f};
  args.n = p.n;
  args.taps = p.taps;
  args.k = p.k;
  for (auto _ : state) {
    for (size_t first = 0; first < m; first += mr) {
      const size_t count = m - first < mr ? m - first : mr;
      for (size_t t = 0; t < taps; ++t)
        for (size_t r = 0; r < count; ++r) rows[t * mr + r] = x.data() + (first + r) * k;
      args.m = static_cast<int32_t>(count);
      args.output = y.data() + first * n;
      kernel.function(args);
    }
  }
  report(state, static_cast<double>(m * n * taps * k), peak_f32(kernel.isa));
}

struct Plane {
  int32_t size, channels, stride;
};

void dwconv_3x3_s8(benchmark::State& state, const Dwconv3x3S8Kernel& kernel, const Plane& p) {
  const auto channels = static_cast<size_t>(p.channels), size = static_cast<size_t>(p.size);
  const int32_t out = (p.size + p.stride - 1) / p.stride, before = p.stride == 1 ? 1 : 0;
  Aligned<int8_t> x(size * size * channels), y(size * size * channels), w(9 * channels), padding(channels);
  Aligned<int32_t> bias(channels);
  Aligned<float> multiplier(channels);
  for (size_t i = 0; i < channels; ++i) multiplier.data()[i] = 1e-3f;
  Aligned<uint8_t> packed(static_cast<size_t>(dwconv_3x3_s8_packed_bytes(kernel, p.channels)));
  dwconv_3x3_s8_pack(kernel, w.data(), bias.data(), multiplier.data(), p.channels, packed.data());
  Dwconv3x3S8Args args{};
  args.padding = padding.data();
  args.packed = packed.data();
  args.requant = make_output_s8(-128, -128, 127);
  args.w = p.size;
  args.ow = out;
  args.channels = p.channels;
  args.pad_left = before;
  args.stride = p.stride;
  const ptrdiff_t line = static_cast<ptrdiff_t>(size * channels),
                  out_line = static_cast<ptrdiff_t>(out) * p.channels;
  const int32_t lines = p.stride == 1 ? 2 : 1;
  for (auto _ : state) {
    for (int32_t row = 0; row < out; row += lines) {
      for (int32_t j = 0; j < 4; ++j) {
        const int32_t in = row * p.stride - before + (j == 3 && lines == 1 ? 2 : j);
        const bool inside = in >= 0 && in < p.size;
        args.lines[j] = inside ? x.data() + in * line : padding.data();
        args.steps[j] = inside ? p.channels : 0;
      }
      args.output[0] = y.data() + row * out_line;
      args.output[1] = lines == 2 && row + 1 < out ? args.output[0] + out_line : nullptr;
      kernel.function(args);
    }
  }
  report(state, 9.0 * out * out * p.channels, peak_s8(kernel.isa));
}

struct Map {
  int32_t size, ic, oc;
};

// Rates are those of the direct sum.
void winograd_s8(benchmark::State& state, const WinogradS8Kernel& kernel, const Map& p) {
  const auto ic = static_cast<size_t>(p.ic), oc = static_cast<size_t>(p.oc),
             size = static_cast<size_t>(p.size);
  Aligned<int8_t> x(size * size * ic), w(oc * 9 * ic), y(size * size * oc);
  Aligned<int32_t> bias(oc);
  Aligned<float> multiplier(oc);
  fill_weights(w.data(), oc * 9 * ic, 127.0f);
  for (size_t i = 0; i < oc; ++i) multiplier.data()[i] = 1e-4f;
  Aligned<uint8_t> packed(static_cast<size_t>(winograd_s8_packed_bytes(kernel, p.ic, p.oc)));
  winograd_s8_pack(kernel, w.data(), bias.data(), multiplier.data(), p.ic, p.oc, packed.data());
  Aligned<uint8_t> scratch(static_cast<size_t>(winograd_s8_scratch_bytes(kernel, p.ic)));
  WinogradS8Args args{};
  args.input = x.data();
  args.packed = packed.data();
  args.output = y.data();
  args.scratch = scratch.data();
  args.requant = make_output_s8(3, -128, 127);
  args.h = args.w = args.oh = args.ow = p.size;
  args.ic = p.ic;
  args.oc = args.past_column = p.oc;
  args.pad_top = args.pad_left = 1;
  const int32_t across = (p.size + kWinogradTile - 1) / kWinogradTile;
  args.past_tile = across * across;
  for (auto _ : state) kernel.function(args);
  report(state, 9.0 * p.size * p.size * p.ic * p.oc, peak_s8(kernel.isa));
}

constexpr Map kMaps[] = {{32, 16, 16},   {16, 32, 32}, {8, 64, 64},   {56, 64, 64},
                         {28, 128, 128}, {55, 16, 64}, {27, 32, 128}, {13, 64, 256}};
constexpr Product kProducts[] = {
    {3136, 64, 9, 64}, {3136, 64, 1, 64}, {784, 192, 1, 32},  {784, 512, 1, 128}, {196, 96, 1, 576},
    {196, 576, 1, 96}, {49, 512, 9, 512}, {49, 1280, 1, 320}, {784, 128, 1, 512}, {12544, 16, 1, 32},
    {1024, 16, 3, 48}, {256, 32, 9, 32},  {1, 1000, 1, 1280}, {1, 10, 1, 64}};
constexpr Plane kPlanes[] = {{112, 32, 1}, {112, 64, 2}, {28, 64, 2},  {112, 96, 2}, {56, 144, 2},
                             {56, 128, 1}, {56, 144, 1}, {28, 256, 1}, {14, 512, 1}, {7, 960, 1}};

void add_all() {
  const auto product = [](const char* kernel, const Product& p) {
    return std::string(kernel) + "/" + std::to_string(p.m) + "x" + std::to_string(p.n) + "x" +
           (p.taps > 1 ? std::to_string(p.taps) + "*" : "") + std::to_string(p.k);
  };
  for (int32_t i = 0; i < gemm_s8_count(); ++i) {
    const GemmS8Kernel& kernel = gemm_s8_kernel(i);
    if (!runs_here(kernel) || kernel.isa == isa::kScalar) continue;
    for (const Product& p : kProducts) {
      benchmark::RegisterBenchmark(product(kernel.name, p).c_str(), [&kernel, p](benchmark::State& state) {
        gemm_s8(state, kernel, p, 127.0f);
      });
      if (!kernel.pair_safe_panels) continue;  // with 7 bits every pair of weights is safe
      benchmark::RegisterBenchmark(
          (product(kernel.name, p) + "/7_bits").c_str(),
          [&kernel, p](benchmark::State& state) { gemm_s8(state, kernel, p, 63.0f); });
    }
  }
  for (int32_t i = 0; i < winograd_s8_count(); ++i) {
    const WinogradS8Kernel& kernel = winograd_s8_kernel(i);
    if (!runs_here(kernel)) continue;
    for (const Map& p : kMaps)
      benchmark::RegisterBenchmark((std::string(kernel.name) + "/" + std::to_string(p.size) + "x" +
                                    std::to_string(p.ic) + "x" + std::to_string(p.oc))
                                       .c_str(),
                                   [&kernel, p](benchmark::State& state) { winograd_s8(state, kernel, p); });
  }
  for (int32_t i = 0; i < gemv_s8_f32_count(); ++i) {
    const GemvS8F32Kernel& kernel = gemv_s8_f32_kernel(i);
    if (!runs_here(kernel) || kernel.isa == isa::kScalar) continue;
    for (const Product& p : kProducts)
      if (p.m == 1)
        benchmark::RegisterBenchmark(product(kernel.name, p).c_str(), [&kernel, p](benchmark::State& state) {
          gemv_s8_f32(state, kernel, p);
        });
  }
  for (int32_t i = 0; i < gemm_f32_count(); ++i) {
    const GemmF32Kernel& kernel = gemm_f32_kernel(i);
    if (!runs_here(kernel) || kernel.isa == isa::kScalar) continue;
    for (const Product& p : kProducts)
      benchmark::RegisterBenchmark(product(kernel.name, p).c_str(),
                                   [&kernel, p](benchmark::State& state) { gemm_f32(state, kernel, p); });
  }
  for (int32_t i = 0; i < dwconv_3x3_s8_count(); ++i) {
    const Dwconv3x3S8Kernel& kernel = dwconv_3x3_s8_kernel(i);
    if (!runs_here(kernel)) continue;
    for (const Plane& p : kPlanes)
      benchmark::RegisterBenchmark(
          (std::string(kernel.name) + "/" + std::to_string(p.size) + "x" + std::to_string(p.channels) + "/" +
           std::to_string(p.stride))
              .c_str(),
          [&kernel, p](benchmark::State& state) { dwconv_3x3_s8(state, kernel, p); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  add_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
