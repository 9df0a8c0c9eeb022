// Every mover and Resize beside memcpy on the same bytes: 'of_memcpy' is the share of its speed, measured in the same run. Maps lie in
// the first cache (16 KB) and in the second (256 KB).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "intaglio/platform.h"
#include "kernels/compiled_isa.h"
#include "kernels/copy/strided_copy.h"
#include "kernels/resize/resize_rows.h"

using namespace intaglio;

namespace {

constexpr size_t kSizes[] = {16 * 1024, 256 * 1024};

double bytes_per_ns_of_memcpy(size_t bytes) {
  std::vector<uint8_t> x(bytes, 1), y(bytes);
  double best = 0;
  for (int trial = 0; trial < 20; ++trial) {
    constexpr int kRuns = 50;
    const auto start = std::chrono::steady_clock::now();
    for (int run = 0; run < kRuns; ++run) {
      memcpy(y.data(), x.data(), bytes);
      benchmark::DoNotOptimize(y.data());
      benchmark::ClobberMemory();
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(bytes) * kRuns / took.count());
  }
  return best;
}

using Move = std::function<void(const uint8_t* x, uint8_t* y)>;

// `bytes` are those written, `read` those that x holds.
void add(const std::string& name, size_t bytes, size_t read, Move move) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    std::vector<uint8_t> x(read, 1), y(4 * bytes);
    static double rates[2] = {};
    double& rate = rates[bytes > 64 * 1024];
    if (rate == 0) rate = bytes_per_ns_of_memcpy(bytes);
    for (auto _ : state) {
      move(x.data(), y.data());
      benchmark::ClobberMemory();
    }
    using benchmark::Counter;
    const auto moved = static_cast<double>(bytes);
    state.counters["GB/s"] = Counter(moved * 1e-9, Counter::kIsIterationInvariantRate);
    state.counters["of_memcpy"] = Counter(moved * 1e-9 / rate, Counter::kIsIterationInvariantRate);
  });
}

template <typename T>
void permutation(const std::string& name, std::vector<int32_t> dims, const std::vector<int32_t>& order,
                 size_t bytes) {
  const int32_t size = static_cast<int32_t>(sizeof(T));
  int32_t elements = 1;
  for (const int32_t dim : dims) elements *= dim;
  dims[0] = static_cast<int32_t>(bytes) / (elements * size);
  const Permutation p = make_permutation(dims.data(), order.data(), static_cast<int32_t>(dims.size()));
  const size_t all = static_cast<size_t>(dims[0] * elements) * sizeof(T);
  add(name + "/" + std::to_string(8 * size) + "/" + std::to_string(all / 1024) + "K", all, all,
      [p](const uint8_t* x, uint8_t* y) {
        if constexpr (sizeof(T) == 1)
          permute_8(p, x, y, 0, p.dims[0]);
        else if constexpr (sizeof(T) == 2)
          permute_16(p, reinterpret_cast<const uint16_t*>(x), reinterpret_cast<uint16_t*>(y), 0, p.dims[0]);
        else
          permute_32(p, reinterpret_cast<const uint32_t*>(x), reinterpret_cast<uint32_t*>(y), 0, p.dims[0]);
      });
}

// Rows of `columns` elements, each `x_step` apart, from rows `x_pitch` apart to rows `y_pitch` apart.
template <typename T>
void rows(const std::string& name, int32_t columns, int32_t x_step, int32_t x_pitch, int32_t y_pitch,
          size_t bytes) {
  const auto size = static_cast<int32_t>(sizeof(T));
  const int32_t count = static_cast<int32_t>(bytes) / (columns * size);
  const StridedCopy c = {2, {count, columns}, {x_pitch, x_step}, {y_pitch, 1}};
  add(name + "/" + std::to_string(8 * size) + "/" + std::to_string(bytes / 1024) + "K",
      static_cast<size_t>(count * columns * size), static_cast<size_t>(count * x_pitch * size),
      [c](const uint8_t* x, uint8_t* y) {
        if constexpr (sizeof(T) == 1)
          strided_copy_8(c, x, y, 0, c.dims[0]);
        else if constexpr (sizeof(T) == 2)
          strided_copy_16(c, reinterpret_cast<const uint16_t*>(x), reinterpret_cast<uint16_t*>(y), 0,
                          c.dims[0]);
        else
          strided_copy_32(c, reinterpret_cast<const uint32_t*>(x), reinterpret_cast<uint32_t*>(y), 0,
                          c.dims[0]);
      });
}

// Rows of 80 pixels made of 40, as often as the bytes need.
template <typename T, typename Weight>
void resize(int32_t channels, bool is_nearest, size_t bytes) {
  constexpr int32_t kWidth = 80;
  const auto size = static_cast<int32_t>(sizeof(T));
  std::vector<ResizeTap<Weight>> taps;
  for (int32_t o = 0; o < kWidth; ++o) {
    const int32_t first = std::max(o - 1, 0) / 2;
    taps.push_back(
        {first, std::min(first + 1, kWidth / 2 - 1), static_cast<Weight>(sizeof(T) == 1 ? 512 : 0.25)});
  }
  const int32_t row = kWidth * channels, rows = static_cast<int32_t>(bytes) / (row * size);
  const ResizeRowsKernel& kernel = resize_rows_kernel(resize_rows_select(cpu_isa() & kCompiledIsa));
  add((is_nearest ? "nearest_2_of_" : "bilinear_2_of_") + std::to_string(channels) + "/" +
          std::to_string(8 * size) + "/" + std::to_string(bytes / 1024) + "K",
      static_cast<size_t>(rows * row * size), static_cast<size_t>((rows / 2 + 2) * row / 2 * size),
      [=, &kernel](const uint8_t* x, uint8_t* y) {
        std::vector<ResizeRow<T, Weight>> made;
        for (int32_t r = 0; r < rows; ++r, y += row * size) {
          const auto* const top = reinterpret_cast<const T*>(x) + r / 2 * row / 2;
          made.push_back(
              {top, top + row / 2, taps[2].weight, taps.data(), kWidth, channels, reinterpret_cast<T*>(y)});
          if (is_nearest)
            resize_row_nearest(reinterpret_cast<const uint8_t*>(top), taps.data(), kWidth, channels * size,
                               y);
        }
        for (int32_t r = 0; r < rows && !is_nearest; r += 4) {
          if constexpr (sizeof(T) == 1)
            kernel.rows_s8(made.data() + r, std::min(rows - r, 4));
          else
            kernel.rows_f32(made.data() + r, std::min(rows - r, 4));
        }
      });
}

template <typename T>
void all_of_type(size_t bytes) {
  for (const int32_t groups : {2, 3, 4, 8})
    permutation<T>("shuffle_" + std::to_string(groups), {1, groups, 96 / groups}, {0, 2, 1}, bytes);
  permutation<T>("shuffle_2_of_48", {1, 2, 24}, {0, 2, 1}, bytes);
  permutation<T>("to_nhwc_3", {1, 3, 1024}, {0, 2, 1}, bytes);
  permutation<T>("to_nchw_3", {1, 1024, 3}, {0, 2, 1}, bytes);
  permutation<T>("to_nchw_8", {1, 512, 8}, {0, 2, 1}, bytes);
  permutation<T>("to_nhwc_24", {1, 24, 160}, {0, 2, 1}, bytes);
  permutation<T>("to_nchw_24", {1, 160, 24}, {0, 2, 1}, bytes);
  permutation<T>("heads_of_32", {1, 8, 4, 32}, {0, 2, 1, 3}, bytes);
  permutation<T>("depth_to_space_2_of_16", {1, 16, 2, 2, 16}, {0, 2, 1, 3, 4}, bytes);
  for (const int32_t n : {3, 8, 12, 16, 24, 48, 96}) {
    rows<T>("slice_" + std::to_string(n), n, 1, 2 * n, n, bytes);
    rows<T>("concat_" + std::to_string(n), n, 1, n, 2 * n, bytes);
  }
  rows<T>("every_second_of_96", 48, 2, 96, 48, bytes);
  rows<T>("every_fourth_of_96", 24, 4, 96, 24, bytes);
}

}  // namespace

int main(int argc, char** argv) {
  for (const size_t bytes : kSizes) {
    all_of_type<uint8_t>(bytes);
    all_of_type<uint16_t>(bytes);
    all_of_type<uint32_t>(bytes);
    for (const bool is_nearest : {false, true})
      for (const int32_t channels : {1, 2, 3, 4, 6, 8, 21, 64}) {
        resize<int8_t, int32_t>(channels, is_nearest, bytes);
        resize<float, float>(channels, is_nearest, bytes);
      }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
