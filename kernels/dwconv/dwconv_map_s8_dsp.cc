// Cortex-M with the DSP extension: smlad multiplies two neighbouring columns by two taps.
//
// A plane is [pairs][3 lines] words, two columns each, from pad_left columns before the input on; a line's
// place goes round with its number, so each is widened once. A channel's table: its bias twice, its multiplier,
// and for the lines 0, 1, 2, 0, 1 of the window the taps (0, 1) and (1, 2): from the entry on that belongs to
// the line in place 0, they stand in the order of the places.
#include "kernels/arithmetic/requant_dsp.h"
#include "kernels/dwconv/dwconv_map_s8.h"

namespace intaglio {
namespace {

constexpr int32_t kLines = 3, kTableWords = 13, kWeightsAt = 3;

// A line of output of four channels, as the assembly copies it.
struct LineDsp {
  const uint32_t* plane;
  int8_t* y;
  const uint32_t* table;
  int32_t rotation;     // bytes into a table's weights
  int32_t plane_bytes;  // from a channel's to the next
  int32_t count;        // at least one; of pairs of outputs, or of outputs
  const uint32_t* table_end;
  int32_t odd;                  // one more output
  int32_t step_and_zero_point;  // bytes from an output to the next << 16 | the output's zero point, 16 bits
};

inline uint32_t pair(int32_t lower, int32_t upper) {
  return (static_cast<uint32_t>(lower) & 0xffff) | static_cast<uint32_t>(upper) << 16;
}

#if defined(__ARM_FP)

// Channel by channel. r0 plane, r1 output, r2 to r7 weights of the three places, r8 outputs left, r9 to r11 a
// column pair's three lines, r12 (and lr) the sums of the outputs that have begun; s4 and s5 the bias, s6 the
// multiplier, s7 step and zero point, s8 whether one more follows.
#define ITG_ENTER_DSP                                \
  "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"    \
  "ldmia r0, {r1, r2, r3, r4, r5, r6, r7, r8, r9}\n" \
  "push {r1, r2, r3, r4, r5, r6, r7, r8, r9}\n"      \
  "vmov s7, s8, r9, r8\n"                            \
  "1:\n"                                             \
  "ldmia sp, {r0, r1, r2, r3, r4, r8, r9}\n"         \
  "cmp r2, r9\n"                                     \
  "beq 9f\n"                                         \
  "vldmia r2!, {s4, s5, s6}\n"                       \
  "add r11, r0, r4\n"                                \
  "add r12, r1, #1\n"                                \
  "add lr, r2, #40\n"                                \
  "stmia sp, {r11, r12, lr}\n"                       \
  "add r9, r2, r3\n"                                 \
  "ldmia r9, {r2, r3, r4, r5, r6, r7}\n"             \
  "ldmia r0!, {r9, r10, r11}\n"
#define ITG_LEAVE_DSP \
  "b 1b\n"            \
  "9:\n"              \
  "add sp, #36\n"     \
  "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"
// The first of two outputs ends with the pair's first column; the second one with its second.
#define ITG_END_FIRST_DSP      \
  "smlabt r12, r9, r3, r12\n"  \
  "smlabt r12, r10, r5, r12\n" \
  "smlabt r12, r11, r7, r12\n"
#define ITG_END_SECOND_DSP  \
  "smlad lr, r9, r3, lr\n"  \
  "smlad lr, r10, r5, lr\n" \
  "smlad lr, r11, r7, lr\n"
#define ITG_BEGIN_FIRST_DSP   \
  "smlad r12, r9, r2, r12\n"  \
  "smlad r12, r10, r4, r12\n" \
  "smlad r12, r11, r6, r12\n"
#define ITG_BEGIN_SECOND_DSP \
  "smlatb lr, r9, r2, lr\n"  \
  "smlatb lr, r10, r4, lr\n" \
  "smlatb lr, r11, r6, lr\n"
#define ITG_REQUANTIZE_DSP(s) \
  "vcvt.f32.s32 " s ", " s    \
  "\n"                        \
  "vmul.f32 " s ", " s        \
  ", s6\n"                    \
  "vcvtr.s32.f32 " s ", " s "\n"

// Multipliers are below 1, so sums with the zero point do not wrap.
__attribute__((naked, noinline)) void line_dsp(const LineDsp*) {
  __asm__(ITG_ENTER_DSP
          "vmov r12, lr, s4, s5\n" ITG_BEGIN_FIRST_DSP ITG_BEGIN_SECOND_DSP
          "2:\n"
          "ldmia r0!, {r9, r10, r11}\n" ITG_END_FIRST_DSP ITG_END_SECOND_DSP
          "vmov s0, s1, r12, lr\n"
          "vmov r12, lr, s4, s5\n" ITG_BEGIN_FIRST_DSP ITG_BEGIN_SECOND_DSP ITG_REQUANTIZE_DSP("s0")
              ITG_REQUANTIZE_DSP("s1")
          "vmov r9, r10, s0, s1\n"
          "vmov r11, s7\n"
          "sxtah r9, r9, r11\n"
          "sxtah r10, r10, r11\n"
          "ssat r9, #8, r9\n"
          "ssat r10, #8, r10\n"
          "strb r9, [r1]\n"
          "add r1, r1, r11, asr #16\n"
          "strb r10, [r1]\n"
          "add r1, r1, r11, asr #16\n"
          "subs r8, #1\n"
          "bne 2b\n"
          "vmov r2, s8\n"
          "cmp r2, #0\n"
          "beq 1b\n"
          "ldmia r0!, {r9, r10, r11}\n" ITG_END_FIRST_DSP "vmov s0, r12\n" ITG_REQUANTIZE_DSP("s0")
          "vmov r9, s0\n"
          "vmov r11, s7\n"
          "sxtah r9, r9, r11\n"
          "ssat r9, #8, r9\n"
          "strb r9, [r1]\n" ITG_LEAVE_DSP);
}

__attribute__((naked, noinline)) void line_of_stride_2_dsp(const LineDsp*) {
  __asm__(ITG_ENTER_DSP
          "vmov r12, s4\n" ITG_BEGIN_FIRST_DSP
          "2:\n"
          "ldmia r0!, {r9, r10, r11}\n" ITG_END_FIRST_DSP
          "vmov s0, r12\n"
          "vmov r12, s4\n" ITG_BEGIN_FIRST_DSP ITG_REQUANTIZE_DSP("s0")
          "vmov r9, s0\n"
          "vmov r11, s7\n"
          "sxtah r9, r9, r11\n"
          "ssat r9, #8, r9\n"
          "strb r9, [r1]\n"
          "add r1, r1, r11, asr #16\n"
          "subs r8, #1\n"
          "bne 2b\n" ITG_LEAVE_DSP);
}

#undef ITG_ENTER_DSP
#undef ITG_LEAVE_DSP
#undef ITG_END_FIRST_DSP
#undef ITG_END_SECOND_DSP
#undef ITG_BEGIN_FIRST_DSP
#undef ITG_BEGIN_SECOND_DSP
#undef ITG_REQUANTIZE_DSP

#else  // without floating-point registers

void line_of_outputs(const LineDsp& line, int32_t outputs, int32_t stride) {
  const OutputDsp output = {static_cast<int16_t>(line.step_and_zero_point), -128, 127, false};
  const int32_t step = line.step_and_zero_point >> 16;
  const uint32_t* plane = line.plane;
  int8_t* first = line.y;
  for (const uint32_t* table = line.table; table != line.table_end; table += kTableWords, ++first) {
    const uint32_t* const w = table + kWeightsAt + line.rotation / 4;
    float multiplier;
    memcpy(&multiplier, table + 2, sizeof multiplier);
    int8_t* y = first;
    for (int32_t i = 0; i < outputs; ++i, y += step) {
      const int32_t column = i * stride;
      auto acc = static_cast<int32_t>(table[0]);
      for (int32_t place = 0; place < kLines; ++place) {
        const uint32_t* const x = plane + column / 2 * kLines + place;
        const auto x0 = static_cast<int32_t>(x[0]), x1 = static_cast<int32_t>(x[kLines]),
                   w01 = static_cast<int32_t>(w[2 * place]), w12 = static_cast<int32_t>(w[2 * place + 1]);
        acc = column % 2 == 0 ? __smlabt(x1, w12, __smlad(x[0], w[2 * place], acc))
                              : __smlad(x[kLines], w[2 * place + 1], __smlatb(x0, w01, acc));
      }
      *y = static_cast<int8_t>(requantize_dsp(acc, multiplier, output));
    }
    plane += line.plane_bytes / 4;
  }
}
void line_dsp(const LineDsp* line) { line_of_outputs(*line, 2 * line->count + line->odd, 1); }
void line_of_stride_2_dsp(const LineDsp* line) { line_of_outputs(*line, line->count, 2); }

#endif

// Two columns of four channels into their planes.
void widen_pair(uint32_t left, uint32_t right, uint32_t* to, ptrdiff_t plane_bytes) {
  uint32_t lower, upper;
  __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(lower) : "r"(left), "r"(right));
  __asm__("pkhtb %0, %2, %1, asr #16" : "=r"(upper) : "r"(left), "r"(right));
  const ptrdiff_t plane = plane_bytes / 4;
  to[0] = even_dsp(lower);
  to[plane] = odd_dsp(lower);
  to[2 * plane] = even_dsp(upper);
  to[3 * plane] = odd_dsp(upper);
}

// `pairs` of them, columns `step` bytes from one to the next.
void widen_pairs(const int8_t* x, ptrdiff_t step, int32_t pairs, uint32_t* to, ptrdiff_t plane_bytes) {
  if (pairs <= 0) return;
  uint32_t a, b;
  __asm__ volatile(
      "1:\n"
      "ldr %[a], [%[x]]\n"
      "ldr %[b], [%[x], %[step]]\n"
      "add %[x], %[x], %[step], lsl #1\n"
      "pkhbt r8, %[a], %[b], lsl #16\n"
      "pkhtb r9, %[b], %[a], asr #16\n"
      "sxtb16 %[a], r8\n"
      "sxtb16 r8, r8, ror #8\n"
      "sxtb16 %[b], r9\n"
      "sxtb16 r9, r9, ror #8\n"
      "str r8, [%[to], %[plane]]\n"
      "str %[b], [%[to], %[plane], lsl #1]\n"
      "str r9, [%[to], %[plane3]]\n"
      "str %[a], [%[to]], #12\n"
      "subs %[n], #1\n"
      "bne 1b\n"
      : [x] "+r"(x), [to] "+r"(to), [n] "+r"(pairs), [a] "=&r"(a), [b] "=&r"(b)
      : [step] "r"(step), [plane] "r"(plane_bytes), [plane3] "r"(3 * plane_bytes)
      : "r8", "r9", "cc", "memory");
}

// The map as the planes see it: lines and columns change places where it is turned.
struct MapDsp {
  int32_t lines, columns, out_lines, out_columns, pad_line, pad_column;
  ptrdiff_t line_step, column_step, out_line_step, out_column_step;
  ptrdiff_t tap_line_step, tap_column_step;
};

MapDsp map_of(const DwconvMapS8Args& args) {
  const ptrdiff_t c = args.channels, in_line = args.w * c, out_line = args.ow * c;
  if (dwconv_map_s8_turned(args.ow, args.oh))
    return {args.w, args.h, args.ow, args.oh, args.pad_left, args.pad_top, c, in_line, c, out_line, c, 3 * c};
  return {args.h, args.w, args.oh, args.ow, args.pad_top, args.pad_left, in_line, c, out_line, c, 3 * c, c};
}

// How a line of the input lies in a plane: perhaps a column behind padding, then whole pairs, then perhaps a column in
// front of padding.
struct PairsDsp {
  PairsDsp(const MapDsp& map, int32_t in_plane) : first(map.pad_column % 2 != 0), all(in_plane) {
    int32_t left = 2 * in_plane - map.pad_column;
    if (left > map.columns) left = map.columns;
    left -= first;
    whole = left > 0 ? left / 2 : 0;
    last = left > 0 && left % 2 != 0;
    whole_from = first ? map.column_step : 0;
    last_from = whole_from + 2 * whole * map.column_step;
    to = map.pad_column / 2 * kLines;
  }
  bool first, last;
  int32_t all, whole;               // pairs: of a plane's line, of both columns
  ptrdiff_t whole_from, last_from;  // bytes from a line's start
  int32_t to;                       // words
};

// One line of four channels; from outside the input all its columns are padding.
inline void widen_line(const MapDsp& map, const PairsDsp& pairs, const int8_t* x, int32_t line,
                       const uint32_t& padding, uint32_t* to, ptrdiff_t plane_bytes) {
  if (line < 0 || line >= map.lines)
    return widen_pairs(reinterpret_cast<const int8_t*>(&padding), 0, pairs.all, to, plane_bytes);
  x += line * map.line_step;
  to += pairs.to;
  if (pairs.first) {
    widen_pair(padding, load_word_dsp(x), to, plane_bytes);
    to += kLines;
  }
  widen_pairs(x + pairs.whole_from, map.column_step, pairs.whole, to, plane_bytes);
  if (pairs.last)
    widen_pair(load_word_dsp(x + pairs.last_from), padding, to + pairs.whole * kLines, plane_bytes);
}

void make_tables(const DwconvMapS8Args& args, const MapDsp& map, int32_t c, uint32_t* tables) {
  constexpr ptrdiff_t kTableBytes = kTableWords * 4;
  const int8_t* w = args.weights + c;
  for (int32_t line = 0; line < kLines; ++line, w += map.tap_line_step) {
    uint32_t* const to = tables + kWeightsAt + 2 * line;
    const uint32_t taps[kLines] = {load_word_dsp(w), load_word_dsp(w + map.tap_column_step),
                                   load_word_dsp(w + 2 * map.tap_column_step)};
    for (int32_t i = 0; i < 2; ++i) widen_pair(taps[i], taps[i + 1], to + i, kTableBytes);
  }
  for (int32_t i = c; i < c + kDwconvMapChannels; ++i, tables += kTableWords) {
    tables[0] = tables[1] = static_cast<uint32_t>(args.folded_bias[i]);
    memcpy(tables + 2, args.multiplier + i, sizeof *tables);
    memcpy(tables + kWeightsAt + 2 * kLines, tables + kWeightsAt, 4 * sizeof *tables);
  }
}

// Where not all codes are allowed.
void clamp_line(int8_t* y, const MapDsp& map, const OutputDsp& output) {
  for (int32_t i = 0; i < map.out_columns; ++i, y += map.out_column_step)
    for (int32_t j = 0; j < kDwconvMapChannels; ++j) {
      const int32_t q = y[j] > output.lo ? y[j] : output.lo;
      y[j] = static_cast<int8_t>(q < output.hi ? q : output.hi);
    }
}

}  // namespace

void dwconv_map_s8_dsp(const DwconvMapS8Args& args);

void dwconv_map_s8_dsp(const DwconvMapS8Args& args) {
  const MapDsp map = map_of(args);
  const OutputDsp output = make_output_dsp(args.requant);
  const PairsDsp pairs(map, dwconv_map_s8_pairs(args.ow, args.oh, args.stride));
  const int32_t words = pairs.all * kLines;
  auto* const tables = static_cast<uint32_t*>(args.scratch);
  uint32_t* const planes = tables + kDwconvMapChannels * kTableWords;
  const uint32_t padding = (static_cast<uint32_t>(args.zero_point) & 0xff) * 0x01010101u,
                 padding_pair = pair(args.zero_point, args.zero_point);
  LineDsp line;
  line.table = tables;
  line.table_end = planes;
  line.plane = planes;
  line.plane_bytes = words * 4;
  const bool by_pairs = args.stride == 1 && map.out_columns > 1;
  line.count = by_pairs ? map.out_columns / 2 : map.out_columns;
  line.odd = map.out_columns % 2;
  line.step_and_zero_point =
      static_cast<int32_t>(pair(output.zero_point, static_cast<int32_t>(map.out_column_step)));
  // Left and right of the input it stays.
  for (uint32_t* word = planes; word != planes + kDwconvMapChannels * words; ++word) *word = padding_pair;
  for (int32_t c = args.first; c < args.last; c += kDwconvMapChannels) {
    make_tables(args, map, c, tables);
    int32_t widened = -map.pad_line, place = 0;  // the next line, and its place
    int32_t behind = widened + kLines;           // the window's lines
    int32_t oldest = 0;                          // the place of the window's first line
    line.y = args.output + c;
    for (int32_t left = map.out_lines; left > 0; --left, line.y += map.out_line_step, behind += args.stride) {
      for (; widened < behind; ++widened) {
        widen_line(map, pairs, args.input + c, widened, padding, planes + place, line.plane_bytes);
        place = place == kLines - 1 ? 0 : place + 1;
      }
      line.rotation = (oldest == 0 ? 0 : kLines - oldest) * 8;
      if (by_pairs)
        line_dsp(&line);
      else
        line_of_stride_2_dsp(&line);
      if (output.narrow) clamp_line(line.y, map, output);
      oldest += args.stride;
      if (oldest >= kLines) oldest -= kLines;
    }
  }
}

}  // namespace intaglio
