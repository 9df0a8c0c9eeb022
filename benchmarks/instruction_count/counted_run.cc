// Runs one kernel or one model a given number of times, to be counted from outside: the instructions of n + 1
// runs less those of n are those of one. Prints its multiply-accumulates.
//
//   counted_run KERNEL RUNS       as in the kernel lists: gemm_s8_neon, dwconv_s8_scalar, gemm_f32_neon, ...
//   counted_run average_s8_neon   and the like, by the function: what counted_rows.cc runs
//   counted_run model RUNS FILE [ISA]   with all that this CPU has, or so many bits; `streamed` in place of `model`: by its
//                             streamed plan; `compact`: with compact_ops(); `marked`: a mark of instruction_plugin.c around each run
//   counted_run calibrate SAMPLES FILE [replay] [report] [bias | none | device]   one calibration; the last: what lessens errors
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "benchmarks/instruction_count/counted_values.h"
#include "intaglio/session.h"
#include "intaglio/streaming.h"
#include "kernels/dwconv/dwconv_3x3_s8.h"
#include "kernels/dwconv/dwconv_f32.h"
#include "kernels/dwconv/dwconv_s16.h"
#include "kernels/dwconv/dwconv_s8.h"
#include "kernels/gemm/gemm_f32.h"
#include "kernels/gemm/gemm_s16.h"
#include "kernels/gemm/gemm_s8.h"
#include "kernels/gemm/gemm_s8_f32.h"
#include "kernels/winograd/winograd_s8.h"

using namespace intaglio;

namespace {

constexpr int32_t kM = 48, kN = 64, kK = 256;  // of a product

// Scratch and packed weights, 64-aligned.
uint8_t* memory(int64_t bytes) {
  void* place = nullptr;
  if (posix_memalign(&place, 64, static_cast<size_t>(bytes) + 64) != 0) std::abort();
  memset(place, 0, static_cast<size_t>(bytes) + 64);
  return static_cast<uint8_t*>(place);
}

// The taps of each output pixel; rows outside the picture are `padding`.
template <typename T>
std::vector<const T*> depthwise_rows(const T* x, const T* padding) {
  std::vector<const T*> rows;
  for (int32_t y = 0; y < kSide; ++y)
    for (int32_t column = 0; column < kSide; ++column)
      for (int32_t t = 0; t < kTaps; ++t) {
        const int32_t iy = y + t / 3 - 1, ix = column + t % 3 - 1;
        const bool inside = iy >= 0 && ix >= 0 && iy < kSide && ix < kSide;
        rows.push_back(inside ? x + (iy * kSide + ix) * kChannels : padding);
      }
  return rows;
}

int64_t run_gemm_s8(const GemmS8Kernel& kernel, int32_t runs) {
  const auto x = filled<int8_t>(kM * kK, code), w = filled<int8_t>(kN * kK, code);
  const std::vector<int32_t> bias(kN, 100);
  const std::vector<float> multiplier(kN, 0.0002f);
  std::vector<int8_t> y(kM * kN);
  uint8_t* const packed = memory(gemm_s8_packed_bytes(kernel, kN, 1, kK));
  gemm_s8_pack(kernel, {w.data(), bias.data(), multiplier.data(), kN, 1, kK}, packed);
  std::vector<const int8_t*> rows(static_cast<size_t>(kernel.mr));
  GemmS8Args args{};
  args.rows = rows.data();
  args.row_distance = kK;
  args.weights = kernel.packs ? static_cast<const void*>(packed) : w.data();
  args.folded_bias = bias.data();
  args.multiplier = multiplier.data();
  args.output_stride = kN;
  args.scratch = memory(gemm_s8_scratch_bytes(kernel, kM, 1, kK));
  args.requant = make_output_s8(3, -128, 127);
  args.n = kN;
  args.taps = 1;
  args.k = kK;
  for (int32_t run = 0; run < runs; ++run)
    for (int32_t m = 0; m < kM; m += kernel.mr) {
      args.m = kM - m < kernel.mr ? kM - m : kernel.mr;
      for (int32_t r = 0; r < args.m; ++r) rows[static_cast<size_t>(r)] = x.data() + (m + r) * kK;
      args.first_row = x.data() + m * kK;
      args.output = y.data() + m * kN;
      kernel.function(args);
    }
  return int64_t{kM} * kN * kK;
}

int64_t run_gemm_s16(const GemmS16Kernel& kernel, int32_t runs) {
  const auto x = filled<int16_t>(kM * kK, wide_code);
  const auto w = filled<int8_t>(kN * kK, code);
  const std::vector<int32_t> bias(kN, 100);
  const std::vector<float> multiplier(kN, 1e-6f);
  std::vector<int16_t> y(kM * kN);
  auto* const packed = reinterpret_cast<int8_t*>(memory(gemm_s16_packed_bytes(kernel, kN, 1, kK)));
  gemm_s16_pack(kernel, w.data(), bias.data(), kN, 1, kK, packed);
  std::vector<const int16_t*> rows(static_cast<size_t>(kernel.mr));
  GemmS16Args args{};
  args.rows = rows.data();
  args.weights = kernel.packs ? packed : w.data();
  args.bias = bias.data();
  args.multiplier = multiplier.data();
  args.output_stride = kN;
  args.requant = make_output_s16(-32768, 32767);
  args.n = kN;
  args.taps = 1;
  args.k = kK;
  for (int32_t run = 0; run < runs; ++run)
    for (int32_t m = 0; m < kM; m += kernel.mr) {
      args.m = kM - m < kernel.mr ? kM - m : kernel.mr;
      for (int32_t r = 0; r < args.m; ++r) rows[static_cast<size_t>(r)] = x.data() + (m + r) * kK;
      args.output = y.data() + m * kN;
      kernel.function(args);
    }
  return int64_t{kM} * kN * kK;
}

// With what packs its panels: a product of two activations has none beforehand.
int64_t run_matmul_s16(const MatmulS16Kernel& kernel, int32_t runs) {
  const auto a = filled<int16_t>(kM * kK, wide_code), b = filled<int16_t>(kK * kN, wide_code);
  std::vector<int16_t> y(kM * kN);
  auto* const panel = reinterpret_cast<int16_t*>(memory(matmul_s16_panel_bytes(kernel, kK)));
  MatmulS16Args args{};
  args.a = a.data();
  args.panel = panel;
  args.a_stride = kK;
  args.output_stride = kN;
  args.multiplier = 1e-6f;
  args.requant = make_output_s16(-32768, 32767);
  args.m = kM;
  args.k = kK;
  for (int32_t run = 0; run < runs; ++run)
    for (int32_t n = 0; n < kN; n += kernel.nr) {
      args.n = kN - n < kernel.nr ? kN - n : kernel.nr;
      matmul_s16_pack(kernel, b.data() + n, kN, 1, args.n, kK, panel);
      args.output = y.data() + n;
      kernel.function(args);
    }
  return int64_t{kM} * kN * kK;
}

int64_t run_gemm_f32(const GemmF32Kernel& kernel, int32_t runs) {
  const auto x = filled<float>(kM * kK, real), w = filled<float>(kN * kK, real);
  std::vector<float> y(kM * kN);
  auto* const packed = reinterpret_cast<float*>(memory(gemm_f32_packed_bytes(kernel, kN, 1, kK)));
  gemm_f32_pack(kernel, w.data(), kN, 1, kK, packed);
  std::vector<const float*> rows(static_cast<size_t>(kernel.mr));
  GemmF32Args args{};
  args.rows = rows.data();
  args.weights = kernel.packs ? packed : w.data();
  args.output_stride = kN;
  args.clamp = {0.0f, 6.0f};
  args.n = kN;
  args.taps = 1;
  args.k = kK;
  for (int32_t run = 0; run < runs; ++run)
    for (int32_t m = 0; m < kM; m += kernel.mr) {
      args.m = kM - m < kernel.mr ? kM - m : kernel.mr;
      for (int32_t r = 0; r < args.m; ++r) rows[static_cast<size_t>(r)] = x.data() + (m + r) * kK;
      args.output = y.data() + m * kN;
      kernel.function(args);
    }
  return int64_t{kM} * kN * kK;
}

// Args and kernels of int8 and FP32 differ in what is set here beforehand alone.
template <typename T, typename Weight, typename Args>
int64_t run_depthwise(void (*kernel)(const Args& args), int32_t pixels, Args args, const std::vector<T>& x,
                      const std::vector<Weight>& w, int32_t runs) {
  constexpr int32_t kPixels = kSide * kSide;
  const std::vector<T> padding(kChannels);
  std::vector<T> y(kPixels * kChannels);
  const std::vector<const T*> rows = depthwise_rows(x.data(), padding.data());
  args.weights = w.data();
  args.output_stride = kChannels;
  args.taps = kTaps;
  args.channels = kChannels;
  args.depth_multiplier = 1;
  for (int32_t run = 0; run < runs; ++run)
    for (int32_t p = 0; p < kPixels; p += pixels) {
      args.pixels = kPixels - p < pixels ? kPixels - p : pixels;
      args.rows = rows.data() + p * kTaps;
      args.output = y.data() + p * kChannels;
      kernel(args);
    }
  return int64_t{kPixels} * kChannels * kTaps;
}

int64_t run_dwconv_s8(const DwconvS8Kernel& kernel, int32_t runs) {
  const std::vector<int32_t> bias(kChannels, 100);
  const std::vector<float> multiplier(kChannels, 0.002f);
  DwconvS8Args args{};
  args.folded_bias = bias.data();
  args.multiplier = multiplier.data();
  args.scratch = memory(dwconv_s8_scratch_bytes(kernel, kTaps));
  args.requant = make_output_s8(3, -128, 127);
  return run_depthwise(kernel.function, kernel.pixels, args, filled<int8_t>(kSide * kSide * kChannels, code),
                       filled<int8_t>(kTaps * kChannels, code), runs);
}

int64_t run_dwconv_s16(const DwconvS16Kernel& kernel, int32_t runs) {
  const std::vector<int32_t> bias(kChannels, 100);
  const std::vector<float> multiplier(kChannels, 1e-4f);
  DwconvS16Args args{};
  args.bias = bias.data();
  args.multiplier = multiplier.data();
  args.requant = make_output_s16(-32768, 32767);
  return run_depthwise(kernel.function, kSide, args, filled<int16_t>(kSide * kSide * kChannels, wide_code),
                       filled<int8_t>(kTaps * kChannels, code), runs);
}

// Two lines at a time of what `args` is for, all but its lines.
template <typename T, typename Args, typename Kernel>
int64_t run_depthwise_3x3(const Kernel& kernel, Args args, const std::vector<T>& x, int32_t runs) {
  const std::vector<T> padding(kChannels);
  std::vector<T> y(kSide * kSide * kChannels);
  args.padding = padding.data();
  args.w = args.ow = kSide;
  args.channels = kChannels;
  args.pad_left = args.stride = 1;
  for (int32_t run = 0; run < runs; ++run)
    for (int32_t line = 0; line < kSide; line += 2) {
      for (int32_t i = 0; i < 4; ++i) {
        const int32_t from = line - 1 + i;
        const bool inside = from >= 0 && from < kSide;
        args.lines[i] = inside ? x.data() + from * kSide * kChannels : padding.data();
        args.steps[i] = inside ? kChannels : 0;
      }
      args.output[0] = y.data() + line * kSide * kChannels;
      args.output[1] = args.output[0] + kSide * kChannels;
      kernel.function(args);
    }
  return int64_t{kSide} * kSide * kChannels * kTaps;
}

int64_t run_dwconv_3x3_s8(const Dwconv3x3S8Kernel& kernel, int32_t runs) {
  const std::vector<int32_t> bias(kChannels, 100);
  const std::vector<float> multiplier(kChannels, 0.002f);
  const auto w = filled<int8_t>(kTaps * kChannels, code);
  uint8_t* const packed = memory(dwconv_3x3_s8_packed_bytes(kernel, kChannels));
  dwconv_3x3_s8_pack(kernel, w.data(), bias.data(), multiplier.data(), kChannels, packed);
  Dwconv3x3S8Args args{};
  args.packed = packed;
  args.requant = make_output_s8(3, -128, 127);
  return run_depthwise_3x3(kernel, args, filled<int8_t>(kSide * kSide * kChannels, code), runs);
}

// Whole pictures of 16 x 16, 32 channels each way: multiply-accumulates are those of the direct sum.
int64_t run_winograd_s8(const WinogradS8Kernel& kernel, int32_t runs) {
  constexpr int32_t kMap = 16, kDepth = 32;
  const std::vector<int32_t> bias(kDepth, 100);
  const std::vector<float> multiplier(kDepth, 0.0002f);
  const auto x = filled<int8_t>(kMap * kMap * kDepth, code),
             w = filled<int8_t>(kDepth * kTaps * kDepth, code);
  std::vector<int8_t> y(kMap * kMap * kDepth);
  uint8_t* const packed = memory(winograd_s8_packed_bytes(kernel, kDepth, kDepth));
  winograd_s8_pack(kernel, w.data(), bias.data(), multiplier.data(), kDepth, kDepth, packed);
  WinogradS8Args args{};
  args.input = x.data();
  args.packed = packed;
  args.output = y.data();
  args.scratch = memory(winograd_s8_scratch_bytes(kernel, kDepth));
  args.requant = make_output_s8(3, -128, 127);
  args.h = args.w = args.oh = args.ow = kMap;
  args.ic = args.oc = args.past_column = kDepth;
  args.pad_top = args.pad_left = 1;
  args.past_tile = kMap / kWinogradTile * kMap / kWinogradTile;
  for (int32_t run = 0; run < runs; ++run) kernel.function(args);
  return int64_t{kMap} * kMap * kDepth * kTaps * kDepth;
}

int64_t run_dwconv_lines_f32(const DwconvLinesF32Kernel& kernel, int32_t runs) {
  const auto w = filled<float>(kTaps * kChannels, real);
  DwconvLinesF32Args args{};
  args.side = 3;
  args.weights = w.data();
  args.clamp = {0.0f, 6.0f};
  return run_depthwise_3x3(kernel, args, filled<float>(kSide * kSide * kChannels, real), runs);
}

int64_t run_dwconv_f32(const DwconvF32Kernel& kernel, int32_t runs) {
  DwconvF32Args args{};
  args.clamp = {0.0f, 6.0f};
  return run_depthwise(kernel.function, kernel.pixels, args, filled<float>(kSide * kSide * kChannels, real),
                       filled<float>(kTaps * kChannels, real), runs);
}

// One row of the product.
int64_t run_gemv_s8_f32(const GemvS8F32Kernel& kernel, int32_t runs) {
  const auto x = filled<int8_t>(kK, code), w = filled<int8_t>(kN * kK, code);
  const std::vector<int32_t> bias(kN, 100);
  const std::vector<float> multiplier(kN, 0.0002f);
  std::vector<float> y(kN);
  for (int32_t run = 0; run < runs; ++run)
    kernel.function(x.data(), w.data(), bias.data(), multiplier.data(), y.data(), kN, kK);
  return int64_t{kN} * kK;
}

template <typename Kernel>
int64_t run_named(const char* name, int32_t count, const Kernel& (*kernel)(int32_t),
                  int64_t (*run)(const Kernel&, int32_t), int32_t runs) {
  for (int32_t i = 0; i < count; ++i)
    if (strcmp(kernel(i).name, name) == 0 && kernel(i).function != nullptr) return run(kernel(i), runs);
  return 0;
}

// Convolutions' and fully connected layers' multiply-accumulates, padding included.
int64_t macs_of(const Model& model) {
  int64_t macs = 0;
  for (int32_t i = 0; i < model.node_count(); ++i) {
    const NodeInfo node = model.node(i);
    if (node.inputs.size < 2) continue;
    const int64_t outputs = model.tensor(node.outputs[0]).shape.elements();
    const Shape w = model.tensor(node.inputs[1]).shape;
    if (node.op == Op::kConv2d || node.op == Op::kFullyConnected) macs += outputs * (w.elements() / w[0]);
    if (node.op == Op::kDepthwiseConv2d) macs += outputs * w[0] * w[1];
  }
  return macs;
}

// A file's bytes, in memory that is kept; empty where it cannot be read.
Span<const uint8_t> read_file(const char* path) {
  FILE* const file = std::fopen(path, "rb");
  if (file == nullptr) return {};
  std::fseek(file, 0, SEEK_END);
  const auto size = static_cast<size_t>(std::ftell(file));
  std::rewind(file);
  uint8_t* const bytes = memory(static_cast<int64_t>(size));
  const size_t read = std::fread(bytes, 1, size, file);
  std::fclose(file);
  if (read != size) return {};
  return {bytes, size};
}

// Settings that a run of a model may have beside its file.
struct ModelRun {
  bool streamed = false, compact = false, marked = false;
  const char* isa = nullptr;  // a number; nullptr: what this CPU has
};

// `streamed`: by the file's streamed plan; 0 where it has none, and where rows are to be fed.
int64_t run_model(const char* path, int32_t runs, const ModelRun& how) {
  SessionOptions options;
  const OpList ops = how.compact ? compact_ops() : all_ops();
  if (how.isa != nullptr) options.isa = static_cast<IsaMask>(std::strtoul(how.isa, nullptr, 0));
  const Result<Model> opened = Model::open(read_file(path));
  if (!opened) return 0;
  const Result<Model> model = how.streamed ? stream_rows(*opened) : opened;
  if (!model || (how.streamed && model->activation_bytes() == opened->activation_bytes())) return 0;
  const Result<SessionNeeds> needs = Session::measure(*model, ops, options);
  if (!needs) return 0;
  const SessionMemory spans =
      Session::split({memory(static_cast<int64_t>(needs->total())), needs->total()}, *needs);
  Result<Session> session = Session::create(*model, ops, spans, options);
  if (!session || session->input().data == nullptr) return 0;
  for (int32_t run = 0; run < runs; ++run) {
    if (how.marked) getppid();
    session->run();
  }
  if (how.marked) getppid();
  return macs_of(*model);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* const name = argv[1];
  const int32_t runs = std::atoi(argv[2]);
  int64_t macs = 0;
  const ModelRun how = {strcmp(name, "streamed") == 0, strcmp(name, "compact") == 0,
                        strcmp(name, "marked") == 0, argc > 4 ? argv[4] : nullptr};
  if (how.streamed || how.compact || how.marked || strcmp(name, "model") == 0) {
    if (argc > 3) macs = run_model(argv[3], runs, how);
  } else if (strcmp(name, "calibrate") == 0 && argc > 3) {
    const Result<Model> fp32 = Model::open(read_file(argv[3]));
    if (fp32) macs = run_calibration(*fp32, runs, {argv + 4, static_cast<size_t>(argc - 4)});
  } else {
    macs += run_named(name, gemm_s8_count(), gemm_s8_kernel, run_gemm_s8, runs);
    macs += run_named(name, gemv_s8_f32_count(), gemv_s8_f32_kernel, run_gemv_s8_f32, runs);
    macs += run_named(name, gemm_s16_count(), gemm_s16_kernel, run_gemm_s16, runs);
    macs += run_named(name, matmul_s16_count(), matmul_s16_kernel, run_matmul_s16, runs);
    macs += run_named(name, gemm_f32_count(), gemm_f32_kernel, run_gemm_f32, runs);
    macs += run_named(name, dwconv_s8_count(), dwconv_s8_kernel, run_dwconv_s8, runs);
    macs += run_named(name, dwconv_s16_count(), dwconv_s16_kernel, run_dwconv_s16, runs);
    macs += run_named(name, dwconv_3x3_s8_count(), dwconv_3x3_s8_kernel, run_dwconv_3x3_s8, runs);
    macs += run_named(name, dwconv_lines_f32_count(), dwconv_lines_f32_kernel, run_dwconv_lines_f32, runs);
    macs += run_named(name, winograd_s8_count(), winograd_s8_kernel, run_winograd_s8, runs);
    macs += run_named(name, dwconv_f32_count(), dwconv_f32_kernel, run_dwconv_f32, runs);
    macs += run_rows(name, runs);
  }
  if (macs == 0) {
    std::fprintf(stderr, "counted_run: %s cannot be run here\n", name);
    return 1;
  }
  std::printf("macs %lld\n", static_cast<long long>(macs));
  return 0;
}
