// Kernels without weights, named <function>_<isa>: pools of 3x3 over the depthwise kernels' input, and as
// many elements (rows of them for softmax: 100 elements; for resize: twice as wide) through the others. An
// element of the input is what is counted, of two operands' one, a pool's once for each tap, resize's of its
// output.
#include <cstring>
#include <string>

#include "benchmarks/instruction_count/counted_values.h"
#include "kernels/eltwise/eltwise_f32.h"
#include "kernels/eltwise/eltwise_s8.h"
#include "kernels/eltwise/unary_f32.h"
#include "kernels/normalize/normalize_groups.h"
#include "kernels/normalize/softmax.h"
#include "kernels/observe/observe_f32.h"
#include "kernels/observe/patch_sums.h"
#include "kernels/pool/pool.h"
#include "kernels/quantize/quantize_s8.h"
#include "kernels/resize/resize_rows.h"

using namespace intaglio;

namespace {

constexpr int32_t kElements = kSide * kSide * kChannels;
constexpr int32_t kPooled = kSide - 2;  // a pool's side

struct Buffers {
  std::vector<int8_t> codes = filled<int8_t>(kElements, code), codes_out = std::vector<int8_t>(2 * kElements);
  std::vector<float> reals = filled<float>(kElements, real), reals_out = std::vector<float>(2 * kElements);
};

// The name's function, where its ISA is that which ends the kernel's own name; "" for another.
std::string function_of(const std::string& name, const char* kernel) {
  const std::string isa = strrchr(kernel, '_');
  const bool is_its =
      name.size() > isa.size() && name.compare(name.size() - isa.size(), isa.size(), isa) == 0;
  return is_its ? name.substr(0, name.size() - isa.size()) : "";
}

// Calls run(kernel, function) for the kernel of the name's ISA: the elements that it reads, 0 for no function
// of the family.
template <typename Kernel, typename Run>
int64_t run_family(const char* name, int32_t count, const Kernel& (*kernel)(int32_t), Run run) {
  for (int32_t i = 0; i < count; ++i) {
    const std::string function = function_of(name, kernel(i).name);
    if (!function.empty()) return run(kernel(i), function);
  }
  return 0;
}

// The places of the taps and the result of each output pixel of a 3x3 pool.
template <typename In, typename Out, typename Pool>
int64_t run_pool(const In* x, Out* y, int32_t runs, Pool pool) {
  const Taps taps = {{1, 3, 3}, {0, kSide * kChannels, kChannels}};
  for (int32_t run = 0; run < runs; ++run)
    for (int32_t p = 0; p < kPooled * kPooled; ++p)
      pool(x + (p / kPooled * kSide + p % kPooled) * kChannels, taps, y + p * kChannels);
  return int64_t{kPooled} * kPooled * kChannels * kTaps;
}

template <typename Row>
int64_t run_whole(int32_t runs, Row row) {
  for (int32_t run = 0; run < runs; ++run) row();
  return kElements;
}

// Twice as wide.
template <typename T, typename Weight>
int64_t run_resize(void (*rows)(const ResizeRow<T, Weight>*, int32_t), const std::vector<T>& x,
                   std::vector<T>* y, Weight weight, int32_t runs) {
  std::vector<ResizeTap<Weight>> taps;
  taps.reserve(2 * kSide);
  for (int32_t o = 0; o < 2 * kSide; ++o)
    taps.push_back({o / 2, o / 2 + 1 < kSide ? o / 2 + 1 : o / 2, weight});
  constexpr int32_t kRow = kSide * kChannels;
  const ResizeRow<T, Weight> row{x.data(),  x.data() + kRow, weight,   taps.data(),
                                 2 * kSide, kChannels,       y->data()};
  for (int32_t run = 0; run < runs; ++run) rows(&row, 1);
  return int64_t{2} * kRow;
}

template <typename T>
int64_t run_patches(void (*row)(const PatchRow<T>&), const std::vector<T>& x, int32_t runs) {
  const PatchColumns columns[] = {{0, kSide - 2}, {0, kSide - 1}, {1, kSide - 1}};
  const ptrdiff_t taps[] = {0, 3 * kChannels, 6 * kChannels};
  std::vector<double> sums(9 * kChannels);
  for (int32_t run = 0; run < runs; ++run)
    for (int32_t line = 0; line < kSide; ++line)
      row({x.data() + line * kSide * kChannels, kSide, kChannels, 1, columns, 3, taps, 3, 0.5, sums.data()});
  return kElements;
}

// Each place's channels are a group.
int64_t run_normalize(NormalizeFunction* function, const void* x, void* y, int32_t runs) {
  if (function == nullptr) return 0;
  const std::vector<float> scale(kChannels, 1.5f), shift(kChannels, 0.25f);
  NormalizeArgs args = {};
  args.groups = {1, 1, kChannels, kChannels, false};
  args.scale = scale.data();
  args.shift = shift.data();
  args.block = kSumBlock;
  args.epsilon = 1e-5f;
  args.reciprocal_scale = 40.0f;
  args.zero_point = 3;
  args.s8 = make_output_s8(3, -128, 127);
  args.s16 = make_output_s16(-32768, 32767);
  args.x = x;
  args.y = y;
  for (int32_t run = 0; run < runs; ++run) function(args);
  return kChannels;
}

}  // namespace

int64_t run_rows(const char* name, int32_t runs) {
  Buffers b;
  const int8_t* const x = b.codes.data();
  int8_t* const y = b.codes_out.data();
  const float* const reals = b.reals.data();
  float* const reals_out = b.reals_out.data();
  const OutputS8 output = make_output_s8(3, -128, 127);
  const ClampF32 clamp = {0.0f, 6.0f};
  int64_t read = 0;

  read += run_family(name, pool_s8_count(), pool_s8_kernel, [&](const PoolS8Kernel& k, const std::string& f) {
    if (f == "average_s8")
      return run_pool(x, y, runs, [&](auto from, auto& taps, auto to) {
        k.average(from, taps, -7, 0.1f, output, to, kChannels);
      });
    if (f == "max_s8")
      return run_pool(x, y, runs, [&](auto from, auto& taps, auto to) {
        k.max(from, taps, -7, -128, 127, to, kChannels);
      });
    return int64_t{0};
  });
  read +=
      run_family(name, pool_f32_count(), pool_f32_kernel, [&](const PoolF32Kernel& k, const std::string& f) {
        if (f == "average_f32")
          return run_pool(reals, reals_out, runs, [&](auto from, auto& taps, auto to) {
            k.average(from, taps, kSumBlock, 9, clamp, to, kChannels);
          });
        if (f == "max_f32")
          return run_pool(reals, reals_out, runs,
                          [&](auto from, auto& taps, auto to) { k.max(from, taps, clamp, to, kChannels); });
        return int64_t{0};
      });
  read += run_family(name, mean_s8_f32_count(), mean_s8_f32_kernel,
                     [&](const MeanS8F32Kernel& k, const std::string& f) {
                       if (f != "mean_s8_f32") return int64_t{0};
                       return run_pool(x, reals_out, runs, [&](auto from, auto& taps, auto to) {
                         k.function(from, taps, -7, 0.1f, to, kChannels);
                       });
                     });

  const AddS8 add = {3, -5, 21000, 31000, 15, 2, -128, 127};
  const MulS8 mul = {3, -5, 0.003f, output};
  read += run_family(name, eltwise_s8_count(), eltwise_s8_kernel,
                     [&](const EltwiseS8Kernel& k, const std::string& f) {
                       if (f == "add_s8")
                         return run_whole(runs, [&] { k.add_rows(x, x, y, 1, kElements, add); });
                       if (f == "mul_s8")
                         return run_whole(runs, [&] { k.mul_rows(x, x, y, 1, kElements, mul); });
                       if (f == "lookup_s8") return run_whole(runs, [&] { k.lookup(x, x, y, kElements); });
                       return int64_t{0};
                     });
  read += run_family(
      name, eltwise_f32_count(), eltwise_f32_kernel, [&](const EltwiseF32Kernel& k, const std::string& f) {
        if (f == "add_f32")
          return run_whole(runs, [&] { k.add_rows(reals, reals, reals_out, 1, kElements, clamp); });
        if (f == "mul_f32")
          return run_whole(runs, [&] { k.mul_rows(reals, reals, reals_out, 1, kElements, clamp); });
        return int64_t{0};
      });
  read += run_family(
      name, unary_f32_count(), unary_f32_kernel, [&](const UnaryF32Kernel& k, const std::string& f) {
        const UnaryF32 function = f == "sigmoid_f32" ? UnaryF32::kSigmoid : UnaryF32::kHardSwish;
        if (f != "sigmoid_f32" && f != "hard_swish_f32") return int64_t{0};
        return run_whole(runs, [&] { k.function({function, 0.0f, 0.0f, reals, reals_out, kElements}); });
      });

  constexpr int32_t kSoftmax = 100;
  read += run_family(name, softmax_f32_count(), softmax_f32_kernel,
                     [&](const SoftmaxF32Kernel& k, const std::string& f) {
                       if (f != "softmax_f32") return int64_t{0};
                       for (int32_t run = 0; run < runs; ++run)
                         k.function(reals, reals_out, kSoftmax, kSumBlock);
                       return int64_t{kSoftmax};
                     });
  std::vector<int32_t> table;
  for (int32_t d = 1; d <= 256; ++d) table.push_back((1 << 20) / d);
  read += run_family(name, softmax_s8_count(), softmax_s8_kernel,
                     [&](const SoftmaxS8Kernel& k, const std::string& f) {
                       if (f != "softmax_s8") return int64_t{0};
                       for (int32_t run = 0; run < runs; ++run)
                         k.function(x, table.data(), 256.0f, output, y, kSoftmax);
                       return int64_t{kSoftmax};
                     });
  std::vector<int32_t> wide_table;
  for (int32_t d = 1; d <= 256; ++d) wide_table.push_back((1 << 20) / d);
  for (int32_t d = 1; d <= 256; ++d) wide_table.push_back((1 << 30) / d);
  const auto wide = filled<int16_t>(kElements, wide_code);
  std::vector<int16_t> wide_out(kElements);
  read += run_family(name, softmax_s16_count(), softmax_s16_kernel,
                     [&](const SoftmaxS16Kernel& k, const std::string& f) {
                       if (f != "softmax_s16" || k.function == nullptr) return int64_t{0};
                       for (int32_t run = 0; run < runs; ++run)
                         k.function(wide.data(), wide_table.data(), 32768.0f, wide_out.data(), kSoftmax);
                       return int64_t{kSoftmax};
                     });
  read += run_family(name, normalize_count(), normalize_kernel,
                     [&](const NormalizeKernel& k, const std::string& f) {
                       if (f == "normalize_groups_s8") return run_normalize(k.s8, x, y, runs);
                       if (f == "normalize_groups_s16")
                         return run_normalize(k.s16, wide.data(), wide_out.data(), runs);
                       if (f == "normalize_groups_f32") return run_normalize(k.f32, reals, reals_out, runs);
                       return int64_t{0};
                     });
  read += run_family(name, quantize_s8_count(), quantize_s8_kernel,
                     [&](const QuantizeS8Kernel& k, const std::string& f) {
                       if (f == "quantize_s8")
                         return run_whole(runs, [&] { k.quantize(reals, 0.02f, output, y, kElements); });
                       if (f == "dequantize_s8")
                         return run_whole(runs, [&] { k.dequantize(x, 0.02f, 3, reals_out, kElements); });
                       return int64_t{0};
                     });
  read += run_family(name, resize_rows_count(), resize_rows_kernel,
                     [&](const ResizeRowsKernel& k, const std::string& f) {
                       if (f == "resize_s8") return run_resize(k.rows_s8, b.codes, &b.codes_out, 700, runs);
                       if (f == "resize_f32")
                         return run_resize(k.rows_f32, b.reals, &b.reals_out, 0.3f, runs);
                       return int64_t{0};
                     });
  read += run_family(name, patch_sums_count(), patch_sums_kernel,
                     [&](const PatchSumsKernel& k, const std::string& f) {
                       if (f == "patch_sums_s8") return run_patches(k.row_s8, b.codes, runs);
                       if (f == "patch_sums_f32") return run_patches(k.row_f32, b.reals, runs);
                       return int64_t{0};
                     });
  std::vector<uint32_t> counts(512), more(512);
  ExtremesF32 seen;
  read += run_family(name, observe_f32_count(), observe_f32_kernel,
                     [&](const ObserveF32Kernel& k, const std::string& f) {
                       if (f == "extremes_f32")
                         return run_whole(runs, [&] { k.extremes(reals, kElements, &seen); });
                       if (f == "count_f32")
                         return run_whole(runs, [&] {
                           k.count(reals, kElements, 1, {64.0f, 256, counts.data(), more.data()});
                         });
                       return int64_t{0};
                     });
  return read;
}
