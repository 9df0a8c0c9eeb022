#include "cli/export_c_files.h"

#include <algorithm>

#include "calibrator/host/system/real_text.h"
#include "cli/output.h"
#include "runtime/crc32.h"

namespace intaglio::cli {
namespace {

// A name from the model inside a comment: nothing that ends it.
std::string comment(const char* name) {
  std::string text = safe(name);
  for (char& c : text)
    if (c == '*' || c == '/' || c == '\\' || c == '?') c = '_';
  return text;
}

const char* c_type(DType dtype) {
  switch (dtype) {
    case DType::kS8:
      return "int8_t";
    case DType::kU8:
      return "uint8_t";
    case DType::kS32:
      return "int32_t";
    case DType::kF32:
      return "float";
    default:
      return "uint8_t";
  }
}

void add_tensor(Text& h, const ExportedModel& e, const char* kind, int32_t i, const TensorInfo& info) {
  const std::string macro = upper(e.prefix) + "_" + upper(kind) + "_" + std::to_string(i);
  const std::string name = e.prefix + "_" + kind + "_" + std::to_string(i);
  const bool codes = info.dtype == DType::kS8 && info.quantization.scales.size == 1;
  h.add("\n/* %s %d, '%s': %s [%s]", kind, i, comment(info.name).c_str(), c_type(info.dtype),
        shape_text(info.shape).c_str());
  if (codes)
    h.add(", real = %s * (code - %d)",
          general_text(static_cast<double>(info.quantization.scales[0]), 9).c_str(),
          info.quantization.zero_point);
  h.add(" */\n#define %s_ELEMENTS %lld\n#define %s_BYTES %zu\n#define %s_DIMS {", macro.c_str(),
        static_cast<long long>(info.shape.elements()), macro.c_str(), info.bytes(), macro.c_str());
  for (int32_t d = 0; d < info.shape.rank; ++d) h.add(d == 0 ? "%d" : ", %d", info.shape[d]);
  h.add("}\ntypedef %s %s_element;\n", c_type(info.dtype), name.c_str());
  if (!codes) return;
  h.add("#define %s_SCALE %sf\n#define %s_ZERO_POINT (%d)\n", macro.c_str(),
        scientific_text(static_cast<double>(info.quantization.scales[0]), 9).c_str(), macro.c_str(),
        info.quantization.zero_point);
  h.add("static inline int8_t %s_quantize(float x) { return %s_to_code(x, %s_SCALE, %s_ZERO_POINT); }\n",
        name.c_str(), e.prefix.c_str(), macro.c_str(), macro.c_str());
  h.add(
      "static inline float %s_dequantize(int8_t code) {\n  return %s_SCALE * (float)(code - %s_ZERO_POINT);\n}\n",
      name.c_str(), macro.c_str(), macro.c_str());
}

// "ITG_PIXELS_BAYER_RGGB" of "bayer-rggb".
std::string c_macro(const char* beginning, const char* name) {
  std::string macro = beginning + upper(name);
  std::replace(macro.begin(), macro.end(), '-', '_');
  return macro;
}

// What a program needs to give frames to input 0.
void add_frame(Text& h, const ExportedModel& e) {
  const std::string macros = upper(e.prefix);
  const char *const p = e.prefix.c_str(), *const m = macros.c_str();
  const FrameInfo& frame = e.frame->info;
  h.add(
      "\n/* Frames for input 0: %s. itg_write_frame() takes one from memory, itg_frame_writer_begin() its rows as they come.\n"
      " * Both need _FRAME_SCRATCH_BYTES, at a multiple of 4. */\n",
      frame_text(frame).c_str());
  h.add("#define %s_FRAME_WIDTH %d\n#define %s_FRAME_HEIGHT %d\n#define %s_FRAME_ORDER %s\n", m, frame.width,
        m, frame.height, m, c_macro("ITG_PIXELS_", order_name(frame.order)).c_str());
  h.add("#define %s_FRAME_BITS %d\n#define %s_FRAME_YUV %s\n", m, frame.bits, m,
        c_macro("ITG_YUV_", yuv_name(frame.yuv)).c_str());
  h.add("#define %s_FRAME_ROW_BYTES %zu\n#define %s_FRAME_CHROMA_ROW_BYTES %zu\n#define %s_FRAME_BYTES %zu\n",
        m, frame_row_bytes(frame), m, frame_chroma_row_bytes(frame), m, frame_bytes(frame));
  h.add("#define %s_FRAME_SCRATCH_BYTES %zu\n", m, e.frame->scratch_bytes);
  h.add(
      "/* The size and order of a frame; where it lies is for you to set, unless it comes by rows. */\n"
      "static inline void %s_frame_init(itg_frame* frame) {\n  memset(frame, 0, sizeof *frame);\n"
      "  frame->struct_size = sizeof *frame;\n  frame->width = %s_FRAME_WIDTH;\n  frame->height = %s_FRAME_HEIGHT;\n"
      "  frame->order = %s_FRAME_ORDER;\n  frame->bits = %s_FRAME_BITS;\n  frame->yuv = %s_FRAME_YUV;\n}\n",
      p, m, m, m, m, m);
}

std::string header(const ExportedModel& e) {
  const Model& model = *e.model;
  const char* const p = e.prefix.c_str();
  const std::string macros = upper(e.prefix);
  const char* const m = macros.c_str();
  Text h;
  h.add(
      "/* Written by intaglio export-c from %s, for %s. */\n#ifndef %s_MODEL_H_\n#define %s_MODEL_H_\n\n"
      "%s#include \"intaglio/c_api.h\"\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
      comment(e.source.c_str()).c_str(), e.target.name.c_str(), m, m,
      e.frame ? "#include <string.h>\n\n" : "");
  h.add(
      "/* The model, used in place: it may stay in flash. */\n#define %s_MODEL_BYTES %zu\n"
      "extern const uint8_t %s_model_data[%s_MODEL_BYTES];\n\n",
      m, model.bytes().size, p, m);
  h.add(
      "/* Memory of a session on %s with one thread, exact: one byte less is refused. A block of _MEMORY_BYTES\n"
      " * holds all three kinds, at a multiple of ITG_MEMORY_ALIGNMENT. */\n",
      e.target.name.c_str());
  h.add(
      "#define %s_MEMORY_BYTES %zu\n#define %s_PERSISTENT_BYTES %zu\n#define %s_ACTIVATION_BYTES %zu\n"
      "#define %s_SCRATCH_BYTES %zu\n\n",
      m, e.needs.total(), m, e.needs.persistent_bytes, m, e.needs.activation_bytes, m, e.needs.scratch_bytes);
  h.add("%s", (e.plan != nullptr ? planned_declarations(e) : checked_declarations(e)).c_str());
  h.add(
      "/* Makes a session in `memory`, %s_MEMORY_BYTES at a multiple of ITG_MEMORY_ALIGNMENT, and a handle "
      "on its model. */\n"
      "itg_error %s_start(itg_model* model, itg_session* session, void* memory);\n\n",
      m, p);
  h.add(
      "/* Runs the model in `memory`, likewise, on an input that this file makes, and compares the output with what it\n"
      " * was when the model was exported. Gives ITG_kOk, or why there is no session (ITG_kOtherKernels where\n"
      " * it would need other memory than stands here), or ITG_kReplayDiffers. */\n"
      "itg_error %s_self_test(void* memory);\n\n",
      p);
  h.add(
      "/* clamp(round(x / scale) + zero_point), halves to even; NaN gives the zero point. */\n"
      "static inline int8_t %s_to_code(float x, float scale, int32_t zero_point) {\n"
      "  float v = x / scale;\n  int32_t whole;\n  float rest;\n"
      "  if (!(v == v)) return (int8_t)zero_point;\n"
      "  if (v < (float)(-128 - zero_point)) return -128;\n"
      "  if (v > (float)(127 - zero_point)) return 127;\n"
      "  whole = (int32_t)v;\n  rest = v - (float)whole;\n"
      "  if (rest > 0.5f || (rest == 0.5f && whole %% 2 != 0)) ++whole;\n"
      "  if (rest < -0.5f || (rest == -0.5f && whole %% 2 != 0)) --whole;\n"
      "  return (int8_t)(whole + zero_point);\n}\n",
      p);
  if (e.fed) {
    const Shape picture = model.tensor(model.inputs()[0]).shape;
    h.add(
        "\n/* Input 0 comes row by row, by itg_session_feed_rows(): pixels, or codes where the model has no recipe. */\n"
        "#define %s_ROWS %d\n#define %s_ROW_BYTES %d\n",
        m, picture[1], m, picture[2] * picture[3]);
  }
  if (e.frame) add_frame(h, e);
  for (size_t i = 0; i < model.inputs().size; ++i)
    add_tensor(h, e, "input", static_cast<int32_t>(i), model.tensor(model.inputs()[i]));
  for (size_t i = 0; i < model.outputs().size; ++i)
    add_tensor(h, e, "output", static_cast<int32_t>(i), model.tensor(model.outputs()[i]));
  h.add("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
  return h.str();
}

// Bytes as string literals of C. A compiler takes 25 times as long for a list of numbers, and five times the memory.
std::string literals(Span<const uint8_t> bytes) {
  constexpr size_t kPerLine = 64;
  std::string text;
  for (size_t i = 0; i < bytes.size; ++i) {
    const uint8_t byte = bytes[i];
    if (i % kPerLine == 0) text += i == 0 ? "\n    \"" : "\"\n    \"";
    if (byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\' && byte != '?') {  // "??" begins a trigraph
      text += static_cast<char>(byte);
      continue;
    }
    text += '\\';
    for (const int shift : {6, 3, 0}) text += static_cast<char>('0' + (byte >> shift & 7));
  }
  return text + '"';
}

std::string data(const ExportedModel& e) {
  Text c;
  c.add(
      "/* Written by intaglio export-c. Used in place, so it starts where a model may. C, where the zero behind a literal\n"
      " * may be left out. */\n#include \"%s_model.h\"\n\n"
      "#if defined(__GNUC__)\n#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n"
      "#if (defined(__clang__) && __clang_major__ >= 21) || (!defined(__clang__) && __GNUC__ >= 15)\n"
      "#pragma GCC diagnostic ignored \"-Wunterminated-string-initialization\"\n#endif\n#endif\n\n"
      "#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L\n_Alignas(ITG_MODEL_ALIGNMENT)\n#else\n"
      "__attribute__((aligned(ITG_MODEL_ALIGNMENT)))\n#endif\n"
      "const uint8_t %s_model_data[%s_MODEL_BYTES] =",
      e.prefix.c_str(), e.prefix.c_str(), upper(e.prefix).c_str());
  return c.str() + literals(e.model->bytes()) + ";\n";
}

// The self-test's picture, row by row.
std::string fed_self_test(const ExportedModel& e) {
  const std::string macros = upper(e.prefix);
  Text c;
  c.add(
      "  uint8_t row[%s_ROW_BYTES];\n  for (int32_t y = 0; y < %s_ROWS; ++y) {\n"
      "    for (uint8_t& byte : row) {\n      state = state * 1664525u + 1013904223u;\n"
      "      byte = static_cast<uint8_t>(state >> 24);\n    }\n    itg_session_feed_rows(&session, row, 1);\n  }\n",
      macros.c_str(), macros.c_str());
  return c.str();
}

std::string program_parts(const ExportedModel& e) {
  const char* const p = e.prefix.c_str();
  Text c;
  c.add("%s", (e.plan != nullptr ? planned_program(e) : checked_program(e)).c_str());
  c.add(
      "namespace {\n\nuint32_t crc32(uint32_t crc, const uint8_t* bytes, size_t size) {\n"
      "  crc = ~crc;\n  for (size_t i = 0; i < size; ++i) {\n    crc ^= bytes[i];\n"
      "    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1u)));\n  }\n"
      "  return ~crc;\n}\n\n}  // namespace\n\n");
  c.add(
      "itg_error %s_self_test(void* memory) {\n  itg_model model;\n  itg_session session;\n"
      "  itg_error error = %s_start(&model, &session, memory);\n  if (error.status != ITG_kOk) return "
      "error;\n  error = check(model);\n  if (error.status != ITG_kOk) return error;\n",
      p, p);
  c.add(
      "  uint32_t state = 1;\n  itg_tensor tensor;\n"
      "  for (int32_t i = %d; i < itg_model_input_count(&model); ++i) {\n"
      "    tensor.struct_size = sizeof tensor;\n    itg_session_input(&session, i, &tensor);\n"
      "    const bool reals = tensor.dtype == ITG_F32;\n    const size_t elements = reals ? tensor.bytes / 4 : tensor.bytes;\n"
      "    for (size_t e = 0; e < elements; ++e) {\n      state = state * 1664525u + 1013904223u;\n"
      "      const auto byte = static_cast<uint8_t>(state >> 24);\n"
      "      if (reals)\n        static_cast<float*>(tensor.data)[e] = "
      "static_cast<float>(static_cast<int32_t>(byte) - 128) / 128.0f;\n"
      "      else\n        static_cast<uint8_t*>(tensor.data)[e] = byte;\n    }\n  }\n%s  uint32_t crc = 0;\n"
      "  for (int32_t i = 0; i < itg_model_output_count(&model); ++i) {\n"
      "    tensor.struct_size = sizeof tensor;\n    itg_session_output(&session, i, &tensor);\n"
      "    crc = crc32(crc, static_cast<const uint8_t*>(tensor.data), tensor.bytes);\n  }\n",
      e.fed ? 1 : 0, e.fed ? fed_self_test(e).c_str() : "  itg_session_run(&session);\n");
  c.add(
      "  if (crc != 0x%08xu) return {ITG_kReplayDiffers, -1, -1, 0, crc, 0x%08x};\n  return {ITG_kOk, -1, -1, 0, 0, 0};\n}\n",
      e.golden, e.golden);
  return c.str();
}

// A frame row by row, so that a camera's driver needs no memory for all of it.
void add_frame_input(Text& c, const ExportedModel& e) {
  const std::string macros = upper(e.prefix);
  const char *const p = e.prefix.c_str(), *const m = macros.c_str();
  const bool chroma = frame_chroma_row_bytes(e.frame->info) != 0;
  c.add(
      "  {\n    static const uint8_t row[%s_FRAME_ROW_BYTES]; /* your camera's next row */\n%s"
      "    static uint32_t scratch[%s_FRAME_SCRATCH_BYTES / 4 + 1];\n"
      "    const itg_span memory_of_rows = {(uint8_t*)scratch, sizeof scratch};\n"
      "    itg_frame frame;\n    itg_frame_writer writer;\n    %s_frame_init(&frame);\n",
      m,
      chroma ? ("    static const uint8_t chroma[" + macros +
                "_FRAME_CHROMA_ROW_BYTES]; /* row y / 2 of its second plane */\n")
                   .c_str()
             : "",
      m, p);
  c.add(e.fed ? "    error = itg_frame_writer_begin_feed(&writer, &session, &frame, memory_of_rows);\n"
              : "    error = itg_frame_writer_begin(&writer, &session, 0, &frame, memory_of_rows);\n");
  c.add(
      "    if (error.status != ITG_kOk) return fail(\"frame\", error, &model);\n"
      "    for (int y = 0; y < %s_FRAME_HEIGHT; ++y) itg_frame_writer_push_row(&writer, row, %s);\n  }\n%s",
      m, chroma ? "chroma" : "NULL", e.fed ? "" : "  itg_session_run(&session);\n");
}

void add_whole_input(Text& c, const ExportedModel& e, bool codes) {
  const std::string macros = upper(e.prefix);
  const char *const p = e.prefix.c_str(), *const m = macros.c_str();
  c.add(
      "  {\n    %s_input_0_element* input = (%s_input_0_element*)itg_session_input_data(&session, 0);\n"
      "    for (int i = 0; i < %s_INPUT_0_ELEMENTS; ++i) input[i] = ",
      p, p, m);
  if (codes)
    c.add("%s_input_0_quantize(0.0f); /* your values */\n  }\n", p);
  else
    c.add("0; /* your values */\n  }\n");
  c.add("  itg_session_run(&session);\n");
}

std::string sample_main(const ExportedModel& e) {
  const std::string macros = upper(e.prefix);
  const char *const p = e.prefix.c_str(), *const m = macros.c_str();
  Text c;
  c.add(
      "/* Written by intaglio export-c: a beginning. Checks the model on this machine, then runs it once. */\n"
      "#include <stdio.h>\n\n#include \"%s_model.h\"\n\n"
      "/* Of the board's RAM; the attribute is gcc's and clang's. */\n"
      "static uint8_t memory[%s_MEMORY_BYTES] __attribute__((aligned(ITG_MEMORY_ALIGNMENT)));\n\n"
      "static int fail(const char* what, itg_error error, const itg_model* model) {\n  char text[256];\n"
      "  itg_describe(&error, model, text, sizeof text);\n  printf(\"%%s: %%s\\n\", what, text);\n  return 1;\n}\n\n"
      "int main(void) {\n  itg_model model;\n  itg_session session;\n  itg_error error = %s_self_test(memory);\n"
      "  if (error.status != ITG_kOk) return fail(\"self-test\", error, NULL);\n  puts(\"self-test: good\");\n\n"
      "  error = %s_start(&model, &session, memory);\n"
      "  if (error.status != ITG_kOk) return fail(\"start\", error, &model);\n",
      p, m, p, p);
  const Model& model = *e.model;
  const TensorInfo in = model.tensor(model.inputs()[0]), out = model.tensor(model.outputs()[0]);
  const bool in_codes = in.dtype == DType::kS8 && in.quantization.scales.size == 1;
  const bool out_codes = out.dtype == DType::kS8 && out.quantization.scales.size == 1;
  if (e.frame)
    add_frame_input(c, e);
  else if (e.fed)
    c.add(
        "  {\n    static const uint8_t row[%s_ROW_BYTES]; /* your sensor's next row */\n"
        "    while (!itg_session_feed_rows(&session, row, 1)) {\n    }\n  }\n",
        m);
  else
    add_whole_input(c, e, in_codes);
  c.add(
      "  {\n"
      "    const %s_output_0_element* output = (const %s_output_0_element*)itg_session_output_data(&session, 0);\n"
      "    for (int i = 0; i < %s_OUTPUT_0_ELEMENTS && i < 16; ++i)\n",
      p, p, m);
  if (out_codes)
    c.add("      printf(\"output %%d: %%g\\n\", i, (double)%s_output_0_dequantize(output[i]));\n", p);
  else
    c.add("      printf(\"output %%d: %%g\\n\", i, (double)output[i]);\n");
  c.add("  }\n  return 0;\n}\n");
  return c.str();
}

std::string cmake_lists(const ExportedModel& e) {
  const char* const p = e.prefix.c_str();
  Text c;
  c.add(
      "# Written by intaglio export-c. The library %s_model, and a sample where there is an operating system.\n"
      "# intaglio is the installed package, or its sources: -DINTAGLIO_SOURCES=/path/to/intaglio.\n"
      "cmake_minimum_required(VERSION 3.22)\nproject(%s_model LANGUAGES C CXX)\n"
      "if(NOT TARGET intaglio::c_runtime)\n  if(INTAGLIO_SOURCES)\n"
      "    add_subdirectory(${INTAGLIO_SOURCES} intaglio EXCLUDE_FROM_ALL)\n  else()\n"
      "    find_package(intaglio REQUIRED COMPONENTS c_runtime)\n  endif()\nendif()\n",
      p, p);
  c.add(
      "add_library(%s_model STATIC %s_model_data.c %s_model.cc)\n"
      "target_compile_features(%s_model PUBLIC cxx_std_17)\n"
      "target_include_directories(%s_model PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})\n"
      "target_link_libraries(%s_model PUBLIC intaglio::c_runtime)\n"
      "if(NOT CMAKE_SYSTEM_NAME STREQUAL \"Generic\")\n  add_executable(%s_sample main.c)\n"
      "  target_link_libraries(%s_sample PRIVATE %s_model)\nendif()\n",
      p, p, p, p, p, p, p, p, p);
  return c.str();
}

constexpr const char* kSum = "export-c wrote what is above: ";

// The text with a last line that holds its CRC-32: who changes the text leaves a line that is wrong.
std::string with_sum(const std::string& text, bool c_comment) {
  Text line;
  line.add(c_comment ? "/* %s%08x */\n" : "# %s%08x\n", kSum,
           crc32(0, reinterpret_cast<const uint8_t*>(text.data()), text.size()));
  return text + line.str();
}

}  // namespace

std::vector<TextFile> exported_files(const ExportedModel& e) {
  const std::string& p = e.prefix;
  return {{p + "_model.h", with_sum(header(e), true), false},
          {p + "_model_data.c", with_sum(data(e), true), false},
          {p + "_model.cc", with_sum(program_parts(e), true), false},
          {"main.c", with_sum(sample_main(e), true), true},
          {"CMakeLists.txt", with_sum(cmake_lists(e), false), true}};
}

bool is_as_exported(const std::string& text) {
  const size_t sum = text.rfind(kSum);
  if (sum == std::string::npos || sum == 0) return false;
  const size_t line = text.rfind('\n', sum) + 1;
  const std::string above = text.substr(0, line);
  return text == with_sum(above, true) || text == with_sum(above, false);
}

}  // namespace intaglio::cli
