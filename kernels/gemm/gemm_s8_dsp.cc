// Cortex-M4, M7 and whatever else has the DSP extension. Two products an instruction (smlad), of int16 pairs: four bytes become the
// pairs (0, 2) and (1, 3). The depth is one run of taps * k, in the order of the weights. Four loops share the work:
//
//   gemm_s8_dsp_lines.h    windows of three columns at stride 1: tiles of four by one column that is widened for all of them
//   gemm_s8_dsp_rows.h     many rows in place, or windows copied one after the other: two by two columns that are widened for all
//   gemm_s8_dsp_row.h      a row alone by four columns in place
//   gemm_s8_dsp_columns.h  what these leave: four rows that are widened, by one column in place
//
// Scratch of the last one, int16: [blocks][4 rows][4 depths]; a last block that is not whole comes first, zeros behind its last depth.
// Behind it a row of padding, or, where blocks may cross taps, [rows][depth] codes: copies of the windows.
#include "kernels/arithmetic/requant_dsp.h"
#include "kernels/gemm/gemm_s8_dsp_columns.h"
#include "kernels/gemm/gemm_s8_dsp_lines.h"
#include "kernels/gemm/gemm_s8_dsp_row.h"
#include "kernels/gemm/gemm_s8_dsp_rows.h"
#include "kernels/gemm/gemm_s8_windows.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 4, kQuad = 4;
constexpr int32_t kFewRows = 12;  // for which widening two columns takes what it saves

// A run's last depths, fewer than four. The run has at least four.
inline void store_rest(const int8_t* x, int32_t bytes, int16_t* to) {
  store_pairs(load_word_dsp(x + bytes - kQuad) >> 8 * (kQuad - bytes % kQuad), to);
}

// Whole blocks of four rows, which move on. Gives where the next ones go.
inline int16_t* widen_four(const int8_t** rows, int32_t blocks, int16_t* to) {
  const int8_t *x0 = rows[0], *x1 = rows[1], *x2 = rows[2], *x3 = rows[3];
  __asm__ volatile(
      "1:\n"
      "ldr r8, [%[x0]], #4\n"
      "ldr r10, [%[x1]], #4\n"
      "sxtb16 r9, r8, ror #8\n"
      "sxtb16 r8, r8\n"
      "sxtb16 r11, r10, ror #8\n"
      "sxtb16 r10, r10\n"
      "stmia %[to]!, {r8, r9, r10, r11}\n"
      "ldr r8, [%[x2]], #4\n"
      "ldr r10, [%[x3]], #4\n"
      "sxtb16 r9, r8, ror #8\n"
      "sxtb16 r8, r8\n"
      "sxtb16 r11, r10, ror #8\n"
      "sxtb16 r10, r10\n"
      "stmia %[to]!, {r8, r9, r10, r11}\n"
      "subs %[n], #1\n"
      "bne 1b\n"
      : [x0] "+r"(x0), [x1] "+r"(x1), [x2] "+r"(x2), [x3] "+r"(x3), [to] "+r"(to), [n] "+r"(blocks)
      :
      : "r8", "r9", "r10", "r11", "cc", "memory");
  rows[0] = x0;
  rows[1] = x1;
  rows[2] = x2;
  rows[3] = x3;
  return to;
}

// Four rows of one run each, of at least four depths.
void widen_rows(const int8_t** rows, int32_t depth, int16_t* to) {
  if (depth % kQuad != 0)
    for (int32_t r = 0; r < kMr; ++r, to += kQuad) store_rest(rows[r], depth, to);
  widen_four(rows, depth / kQuad, to);
}

// A few codes: words, one overlapping, or bytes. Gives where the next ones go.
inline int8_t* copy_codes(const int8_t* from, int32_t bytes, int8_t* to) {
  int8_t* const end = to + bytes;
  if (bytes < kQuad) {
    while (to != end) *to++ = *from++;
    return end;
  }
  const int8_t* const last = from + bytes - kQuad;
  do {
    memcpy(to, from, kQuad);
    to += kQuad;
    from += kQuad;
  } while (from < last);
  memcpy(end - kQuad, last, kQuad);
  return end;
}

// Lines of at least four codes, `next_line` apart, one after the other. A last word overlaps the one before.
inline void copy_lines(const int8_t* line, ptrdiff_t next_line, int32_t lines, int32_t bytes, int8_t* to) {
  const int8_t* from;
  int32_t words;
  uint32_t codes;
  __asm__ volatile(
      "1:\n"
      "mov %[from], %[line]\n"
      "mov %[words], %[whole]\n"
      "2:\n"
      "ldr %[codes], [%[from]], #4\n"
      "subs %[words], #1\n"
      "str %[codes], [%[to]], #4\n"
      "bne 2b\n"
      "ldr %[codes], [%[from], %[back]]\n"
      "add %[to], %[rest]\n"
      "str %[codes], [%[to], #-4]\n"
      "add %[line], %[next]\n"
      "subs %[lines], #1\n"
      "bne 1b\n"
      : [line] "+r"(line), [lines] "+r"(lines), [to] "+r"(to), [from] "=&r"(from), [words] "=&r"(words),
        [codes] "=&r"(codes)
      : [next] "r"(next_line), [whole] "r"(bytes / kQuad), [rest] "r"(bytes % kQuad),
        [back] "r"(bytes % kQuad - kQuad)
      : "cc", "memory");
}

// Widens four windows to the start of scratch, or copies and widens those that kernels take together.
class WindowsDsp {
 public:
  explicit WindowsDsp(const GemmS8Args& args)
      : of_(*args.windows),
        input_(args.first_row),
        runs_(of_, args.k),
        walk_(of_, args.first_window),
        k_(args.k),
        depth_(args.taps * args.k),
        to_(static_cast<int16_t*>(args.scratch)) {}

  void widen_four_windows() {
    const bool inside = walk_.are_inside(kMr), by_blocks = runs_.bytes % kQuad == 0;
    if (!inside || !(runs_.one || by_blocks)) {
      WindowAt at[kMr];
      for (WindowAt& one : at) one = walk_.next();
      return widen_each(at);
    }
    const int8_t* rows[kMr];
    rows[0] = input_ + walk_.next_in_line(kMr, true).from;
    for (int32_t r = 1; r < kMr; ++r) rows[r] = rows[r - 1] + walk_.step();
    if (runs_.one)
      widen_rows(rows, depth_, to_);
    else
      widen_inside(rows);
  }

  // How many tiles of four neighbouring windows that share columns are computed at once (gemm_s8_dsp_lines.h).
  int32_t tiles(int32_t first_window) const {
    if (!has_nine_taps() || of_.kernel_w != 3 || of_.stride_w != 1 || of_.dilation_w != 1 ||
        (of_.ow | first_window) % kMr != 0)
      return 0;
    return (gemm_s8_dsp_lines_bytes(depth_) - 2 * depth_) / (4 * depth_ + 16);
  }

  // Four windows of a line. Gives where the next ones go.
  [[gnu::noinline]] int16_t* widen_tile(int16_t* to, int8_t* padding) {
    const WindowAt at = walk_.next_in_line(kMr, walk_.are_inside(kMr));
    if (!at.inside) memset(padding, of_.zero_point, static_cast<size_t>(k_));
    const int8_t* columns[kMr + 2];
    const int32_t next_line = of_.dilation_h * of_.w * of_.channels;
    int32_t line = 0;  // from the window's first one on
    for (int32_t ky = 0, y = at.y; ky < of_.kernel_h; ++ky, y += of_.dilation_h, line += next_line) {
      if (ky == 0 || !at.inside) {
        const uint32_t width = at.inside || static_cast<uint32_t>(y) < static_cast<uint32_t>(of_.h)
                                   ? static_cast<uint32_t>(of_.w)
                                   : 0;
        ptrdiff_t column = at.from + line;
        for (int32_t i = 0; i < kMr + 2; ++i, column += of_.channels)
          columns[i] = static_cast<uint32_t>(at.x + i) < width ? input_ + column : padding;
      }
      to = widen_columns(columns, k_, to, at.inside ? line : 0);
    }
    return to;
  }

  // How many windows are copied at once, of what scratch holds: an even number.
  int32_t copies() const {
    if (k_ % kQuad != 0) return kGemmS8DspRows;
    return has_nine_taps() && by_lines() ? (gemm_s8_dsp_lines_bytes(depth_) / depth_ - 4) & ~1 : 0;
  }

  int32_t whole() const { return (depth_ + kQuad - 1) / kQuad * kQuad; }  // blocks' codes of a window

  // Copies the next windows side by side, whole blocks each.
  [[gnu::noinline]] void copy_windows(int8_t* codes, int32_t count) {
    for (; count > 0; --count, codes += whole()) copy_window(walk_.next(), codes);
  }

  // The codes of the next window: where they stand, or copied to `copy`: the second half of what they take when they are widened.
  const int8_t* one_window(int8_t* copy) {
    const WindowAt at = walk_.next();
    if (at.inside && runs_.one) return input_ + at.from;
    copy_window(at, copy);
    return copy;
  }

 private:
  [[gnu::noinline]] void widen_each(const WindowAt* at) {
    if (k_ % kQuad == 0) return widen_taps(at);
    auto* codes = reinterpret_cast<int8_t*>(to_ + kMr * whole());
    const int8_t* rows[kMr];
    for (int32_t r = 0; r < kMr; ++r, codes += whole()) {
      rows[r] = codes;
      copy_window(at[r], codes);
    }
    widen_rows(rows, depth_, to_);
  }

  // Four windows that are inside, of runs of whole blocks.
  void widen_inside(const int8_t** rows) {
    const ptrdiff_t to_run = static_cast<ptrdiff_t>(of_.dilation_w) * of_.channels - runs_.bytes;
    const ptrdiff_t to_line = (static_cast<ptrdiff_t>(of_.dilation_h) * of_.w -
                               static_cast<ptrdiff_t>(runs_.runs) * of_.dilation_w) *
                              of_.channels;
    int16_t* to = to_;
    for (int32_t ky = 0; ky < of_.kernel_h; ++ky) {
      for (int32_t run = 0; run < runs_.runs; ++run) {
        to = widen_four(rows, runs_.bytes / kQuad, to);
        for (int32_t r = 0; r < kMr; ++r) rows[r] += to_run;
      }
      for (int32_t r = 0; r < kMr; ++r) rows[r] += to_line;
    }
  }

  // Windows whose taps are whole blocks. Outside the picture a tap is a row of padding.
  void widen_taps(const WindowAt* at) {
    auto* const padding = reinterpret_cast<int8_t*>(to_ + kMr * whole());
    bool inside = true;
    for (int32_t r = 0; r < kMr; ++r) inside = inside && at[r].inside;
    if (!inside) memset(padding, of_.zero_point, static_cast<size_t>(k_));
    int16_t* to = to_;
    for (int32_t ky = 0; ky < of_.kernel_h; ++ky)
      for (int32_t kx = 0; kx < of_.kernel_w; ++kx) {
        const int32_t dy = ky * of_.dilation_h, dx = kx * of_.dilation_w;
        const ptrdiff_t tap = (static_cast<ptrdiff_t>(dy) * of_.w + dx) * of_.channels;
        const int8_t* rows[kMr];
        for (int32_t r = 0; r < kMr; ++r) {
          const bool read = static_cast<uint32_t>(at[r].y + dy) < static_cast<uint32_t>(of_.h) &&
                            static_cast<uint32_t>(at[r].x + dx) < static_cast<uint32_t>(of_.w);
          rows[r] = read ? input_ + (at[r].from + tap) : padding;
        }
        to = widen_four(rows, k_ / kQuad, to);
      }
  }

  // Of whole blocks each: what scratch is larger for.
  bool has_nine_taps() const { return depth_ == 9 * k_ && k_ % kQuad == 0; }

  // Whether windows that are inside are copied as whole lines.
  bool by_lines() const { return runs_.runs == 1 && runs_.bytes >= kQuad; }

  void copy_window(const WindowAt& at, int8_t* to) const {
    if (at.inside && by_lines())
      copy_lines(input_ + at.from, static_cast<ptrdiff_t>(of_.dilation_h) * of_.w * of_.channels,
                 of_.kernel_h, runs_.bytes, to);
    else
      copy(at, to);
  }

  void copy(const WindowAt& at, int8_t* to) const {
    const auto copy_piece = [&](const int8_t* from, int32_t bytes) { to = copy_codes(from, bytes, to); };
    for_window(of_, input_, runs_, k_, at, copy_piece, [&](int32_t bytes) {
      memset(to, of_.zero_point, static_cast<size_t>(bytes));
      to += bytes;
    });
  }

  const GemmS8Windows& of_;
  const int8_t* const input_;
  const WindowRuns runs_;
  WindowWalk walk_;
  const int32_t k_, depth_;  // codes of a tap and of a window
  int16_t* const to_;
};

}  // namespace

void gemm_s8_dsp(const GemmS8Args& args);
void gemm_s8_windows_dsp(GemmS8Args& args);
void gemm_s8_scalar(const GemmS8Args& args);
void gemm_s8_windows_scalar(GemmS8Args& args);

namespace {

void move_rows(GemmS8Args* args, int32_t rows) {
  args->output += static_cast<size_t>(rows) * args->output_stride;
  if (args->residual != nullptr) args->residual += static_cast<size_t>(rows) * args->residual_stride;
}

// A row that stands alone: by eight columns where there are as many, and by single ones else.
[[gnu::noinline]] void one_row_dsp(const GemmS8Args& args, const int8_t* x) {
  if (fits_row_by_columns_dsp(args)) return row_by_columns_dsp(args, x);
  const OutputDsp output = make_output_dsp(args.requant);
  const int32_t depth = args.taps * args.k;
  const auto* w = static_cast<const int8_t*>(args.weights);
  for (int32_t c = 0; c < args.n; ++c) {
    int32_t sum = args.folded_bias[c];
    const int8_t *from = x, *const end = w + depth;
    for (; end - w >= kQuad; w += kQuad, from += kQuad) {
      const uint32_t codes = load_word_dsp(from), weights = load_word_dsp(w);
      sum = __smlad(odd_dsp(weights), odd_dsp(codes), __smlad(even_dsp(weights), even_dsp(codes), sum));
    }
    for (; w != end; ++w) sum = __smlabb(*w, *from++, sum);
    const int32_t q = requantize_dsp(sum, args.multiplier[c], output);
    args.output[c] =
        args.residual == nullptr ? static_cast<int8_t>(q) : add_s8(q, args.residual[c], *args.add);
  }
}

}  // namespace

// Where a column has less than a word of weights, products are scalar.
void gemm_s8_dsp(const GemmS8Args& args) {
  const int32_t depth = args.taps * args.k;
  if (depth < kQuad) return gemm_s8_scalar(args);
  GemmS8Args part = args;
  const int8_t* x = args.first_row;
  int32_t left = args.m;
  if (left >= kFewRows && depth % kQuad == 0 && fits_rows_by_columns_dsp(args)) {
    rows_by_columns_dsp(args);
    left = args.m % 2;
    x += (args.m - left) * args.row_distance;
    move_rows(&part, args.m - left);
  }
  for (; left % kMr != 0; --left, x += args.row_distance, move_rows(&part, 1)) one_row_dsp(part, x);
  if (left > 0) columns_dsp(part, 0);
  for (; left > 0; left -= kMr, x += kMr * args.row_distance) {
    const int8_t* rows[kMr] = {x, x + args.row_distance, x + 2 * args.row_distance,
                               x + 3 * args.row_distance};
    widen_rows(rows, depth, static_cast<int16_t*>(args.scratch));
    columns_dsp(part, kMr);
  }
}

void gemm_s8_windows_dsp(GemmS8Args& args) {
  const int32_t depth = args.taps * args.k;
  if (depth < kQuad) return gemm_s8_windows_scalar(args);
  WindowsDsp windows(args);
  int32_t left = args.m;
  if (const int32_t most = windows.tiles(args.first_window); most > 1) {
    auto* const padding = static_cast<int8_t*>(args.scratch) + gemm_s8_dsp_lines_bytes(depth);
    for (int32_t tiles; left >= kMr; left -= kMr * tiles) {
      tiles = left / kMr < most ? left / kMr : most;
      int16_t *const first = static_cast<int16_t*>(args.scratch) + depth + 8 * tiles, *to = first;
      for (int32_t i = 0; i < tiles; ++i) to = windows.widen_tile(to, padding);
      columns_of_tiles_dsp(args, tiles, first);
      move_rows(&args, kMr * tiles);
    }
  } else if (const int32_t copies = windows.copies();
             copies >= kFewRows && left >= kFewRows && fits_rows_by_columns_dsp(args)) {
    const int32_t row = windows.whole();
    auto* const codes = static_cast<int8_t*>(args.scratch) + 4 * row;
    args.first_row = codes;
    args.row_distance = row;
    for (; left >= 2; left -= args.m) {
      args.m = left < copies ? left & ~1 : copies;
      windows.copy_windows(codes, args.m);
      rows_by_columns_dsp(args);
      move_rows(&args, args.m);
    }
  }
  for (; left % kMr != 0; --left, move_rows(&args, 1))
    one_row_dsp(args, windows.one_window(static_cast<int8_t*>(args.scratch) + windows.whole()));
  if (left > 0) columns_dsp(args, 0);
  for (; left > 0; left -= kMr) {
    windows.widen_four_windows();
    columns_dsp(args, kMr);
  }
}

}  // namespace intaglio
