#include "tools/c_sources.h"

#include <algorithm>
#include <cctype>
#include <cstdarg>
#include <cstdio>
#include <set>

#include "calibrator/host/system/real_text.h"
#include "intaglio/version.h"
#include "runtime/crc32.h"
#include "runtime/op_search.h"
#include "tools/text.h"

namespace intaglio {

#define ITG_OP(name, kind) extern const OpDef k##name;
#include "runtime/op_list.inc"
#undef ITG_OP

namespace tools {
namespace {

// A text that is filled with printf's formats.
class Text {
 public:
  Text& add(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    const int length = std::vsnprintf(nullptr, 0, format, list);
    std::string line(static_cast<size_t>(length) + 1, '\0');
    std::vsnprintf(line.data(), line.size(), format, again);
    va_end(again);
    va_end(list);
    text_.append(line, 0, static_cast<size_t>(length));
    return *this;
  }
  // The numbers of an array of bytes.
  Text& add(Span<const uint8_t> bytes) {
    for (size_t i = 0; i < bytes.size; ++i) {
      if (i % 24 == 0) text_ += "\n    ";
      text_ += std::to_string(bytes[i]) + ",";
    }
    return *this;
  }
  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

std::string upper(std::string name) {
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

// The two ways in which an exported model starts: as a file that is checked on the device, or as a session that was planned
// here. Each has declarations for the header, which name the model beside its bytes, and the beginning of the source: its
// includes, <prefix>_start(), and check(), which the self-test calls.

struct OpSymbol {
  const OpDef* op;
  const char* name;
};
const OpSymbol kOpSymbols[] = {
#define ITG_OP(name, kind) {&k##name, "k" #name},
#include "runtime/op_list.inc"
#undef ITG_OP
};

// Whether the target's kernels of any node are Winograd's: others need no more than the direct sum.
bool takes_winograd(const ExportedModel& e) {
  PlanContext context;
  context.isa = e.target.isa;
  for (int32_t n = 0; n < e.model->node_count(); ++n) {
    const NodeView node = {n, e.model->node(n), e.model};
    NodePlan plan;
    if (find_op(all_ops(), *e.model, node.info) == &kConv2dS8Winograd &&
        kConv2dS8Winograd.plan(node, context, &plan).ok() && plan.kernel >= kFamilyNumbers)
      return true;
  }
  return false;
}

// The names of the operators that the model's nodes need, each once, in the order of op_list.inc:
// all_ops()'s.
std::vector<const char*> op_symbols(const ExportedModel& e) {
  const Model& model = *e.model;
  std::set<const OpDef*> used;
  for (int32_t n = 0; n < model.node_count(); ++n) used.insert(find_op(all_ops(), model, model.node(n)));
  std::vector<const char*> names;
  for (const OpSymbol& symbol : kOpSymbols)
    if (used.count(symbol.op) != 0)
      names.push_back(symbol.op != &kConv2dS8Winograd || takes_winograd(e) ? symbol.name : "kConv2dS8");
  return names;
}

// Of a model in two memories: other functions of the C interface, and a parameter more.
const char* functions_of(const ExportedModel& e) {
  return e.fast_bytes > 0 ? "itg_two_memories" : "itg_session";
}
const char* fast_parameter(const ExportedModel& e) { return e.fast_bytes > 0 ? ", void* fast" : ""; }
std::string fast_span(const ExportedModel& e) {
  if (e.fast_bytes == 0) return "";
  return "{static_cast<uint8_t*>(fast), " + upper(e.prefix) + "_FAST_BYTES}, ";
}

void add_parts_of_memory(Text& c, const ExportedModel& e) {
  const std::string m = upper(e.prefix);
  c.add(
      "  itg_session_needs needs = {};\n  needs.struct_size = sizeof needs;\n"
      "  needs.persistent_bytes = %s_PERSISTENT_BYTES;\n  needs.activation_bytes = %s_ACTIVATION_BYTES;\n"
      "  needs.scratch_bytes = %s_SCRATCH_BYTES;\n"
      "  const itg_session_memory parts = itg_session_split({static_cast<uint8_t*>(memory), "
      "%s_MEMORY_BYTES}, &needs);\n",
      m.c_str(), m.c_str(), m.c_str(), m.c_str());
}

std::string checked_declarations(const ExportedModel& e) {
  Text h;
  h.add(
      "/* The operators that the model needs: no other is linked. The model is a file in the program: every byte "
      "is checked\n * when it starts, and one that a device receives later can take its place, with these operators. */\n"
      "itg_op_list %s_model_ops(void);\n\n",
      e.prefix.c_str());
  return h.str();
}

std::string planned_declarations(const ExportedModel& e) {
  const char* const p = e.prefix.c_str();
  Text h;
  h.add(
      "/* The session, planned when the model was exported: a constant of the program, as its code is. Nothing is "
      "checked\n * when it starts, and it runs no other bytes than %s_model_data. A model that a device "
      "receives or "
      "calibrates\n * takes itg_model_open() and itg_session_create(): export it without --planned. */\n"
      "#define %s_PLANNED 1\nconst itg_planned_model* %s_planned_model(void);\n",
      p, upper(e.prefix).c_str(), p);
  h.add(
      "#ifdef __cplusplus\n}\nnamespace intaglio {\nstruct PlannedModel;\n}\n"
      "extern const intaglio::PlannedModel %s_planned; // the same in C++\nextern \"C\" {\n#endif\n\n",
      p);
  return h.str();
}

std::string checked_program(const ExportedModel& e) {
  const char* const p = e.prefix.c_str();
  const std::string macros = upper(e.prefix);
  const char* const m = macros.c_str();
  Text c;
  c.add(
      "// Written by intaglio export-c: what the model needs of the library, and its self-test.\n"
      "#include \"%s_model.h\"\n\nnamespace intaglio {\nstruct OpDef;\n",
      p);
  const std::vector<const char*> symbols = op_symbols(e);
  for (const char* const symbol : symbols) c.add("extern const OpDef %s;\n", symbol);
  c.add("}  // namespace intaglio\n\nnamespace {\n\nconst void* const kOps[] = {\n");
  for (const char* const symbol : symbols) c.add("    &intaglio::%s,\n", symbol);
  c.add(
      "};\n\n// The kernels that the sizes in the header are for.\nitg_session_options target_options() {\n"
      "  itg_session_options options;\n  itg_session_options_init(&options, sizeof options);\n"
      "  options.isa = 0x%xu;\n  return options;\n}\n\n",
      static_cast<unsigned>(e.target.isa));
  c.add(
      "// The sizes in the header are this machine's own.\nitg_error check(const itg_model& model) {\n"
      "  itg_session_needs needs;\n  const itg_session_options options = target_options();\n"
      "  needs.struct_size = sizeof needs;\n"
      "  const itg_error error = %s_measure(&model, %s_model_ops(), &options, true, &needs);\n"
      "  if (error.status != ITG_kOk) return error;\n"
      "  if (needs.persistent_bytes != %s_PERSISTENT_BYTES || needs.activation_bytes != %s_ACTIVATION_BYTES ||\n"
      "      needs.scratch_bytes != %s_SCRATCH_BYTES || needs.total_bytes != %s_MEMORY_BYTES)\n"
      "    return {ITG_kOtherKernels, -1, -1, 0, static_cast<int64_t>(options.isa), static_cast<int64_t>(itg_cpu_isa())};\n"
      "  return error;\n}\n\n}  // namespace\n\n",
      functions_of(e), p, m, m, m, m);
  c.add(
      "itg_op_list %s_model_ops(void) {\n"
      "  return {reinterpret_cast<const itg_op* const*>(kOps), sizeof kOps / sizeof kOps[0]};\n}\n\n",
      p);
  c.add(
      "itg_error %s_start(itg_model* model, itg_session* session, void* memory%s) {\n"
      "  itg_error error = itg_model_open(model, %s_model_data, %s_MODEL_BYTES, nullptr);\n"
      "  if (error.status != ITG_kOk) return error;\n%s",
      p, fast_parameter(e), p, m,
      e.model->has_streamed_plan() ? "  error = itg_stream_rows(model, model);\n"
                                     "  if (error.status != ITG_kOk) return error;\n"
                                   : "");
  add_parts_of_memory(c, e);
  c.add(
      "  const itg_session_options options = target_options();\n"
      "  return %s_create(session, model, %s_model_ops(), &parts, %s&options);\n}\n\n",
      functions_of(e), p, fast_span(e).c_str());
  return c.str();
}

std::string planned_program(const ExportedModel& e) {
  const char* const p = e.prefix.c_str();
  const std::string macros = upper(e.prefix);
  const char* const m = macros.c_str();
  const ModelPlan& plan = *e.plan;
  Text c;
  c.add(
      "// Written by intaglio export-c --planned: the session that was planned for the model, and its self-test.\n"
      "#include \"%s_model.h\"\n#include \"intaglio/planned_model.h\"\n%s\n"
      "namespace intaglio {\nstruct OpRun;\n",
      p, plan.streamed ? "#include \"intaglio/streaming.h\"\n" : "");
  const std::vector<const char*> symbols = op_symbols(e);
  for (const char* const symbol : symbols) c.add("extern const OpRun %sRun;\n", symbol);
  c.add(
      "}  // namespace intaglio\n\nnamespace {\n\n"
      "constexpr bool same(const char* a, const char* b) {\n"
      "  return *a == *b && (*a == '\\0' || same(a + 1, b + 1));\n}\n"
      "static_assert(same(ITG_VERSION, \"%s\"),\n"
      "              \"planned by intaglio %s: export the model with this library's own version\");\n\n"
      "// Only the halves of operators that run.\nconst intaglio::OpRun* const kOps[] = {\n",
      ITG_VERSION, ITG_VERSION);
  for (const char* const symbol : symbols) c.add("    &intaglio::%sRun,\n", symbol);
  c.add(
      "};\n\n// Of each node: the offset of what it keeps, its kernel, its operator.\n"
      "const intaglio::PlannedNode kNodes[] = {");
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    const PlannedNode& node = plan.nodes[i];
    c.add("%s{%u, %u, %u},", i % 8 == 0 ? "\n    " : " ", static_cast<unsigned>(node.prepared_offset),
          static_cast<unsigned>(node.kernel), static_cast<unsigned>(node.op));
  }
  c.add("\n};\n\n");
  if (plan.prepared.size() > 0)
    c.add(
         "// What prepare() made for the nodes.\nalignas(ITG_MEMORY_ALIGNMENT) const uint8_t kPrepared[] = {")
        .add(plan.prepared.span())
        .add("\n};\n\n");
  c.add(
      "// The plan is for these bytes.\nitg_error check(const itg_model&) { return "
      "itg_planned_model_check(%s_planned_model()); }\n\n}  // namespace\n\n",
      p);
  c.add(
      "constexpr intaglio::PlannedModel %s_planned = {{%s_model_data, %s_MODEL_BYTES}, 0x%08xu, kNodes, kOps, %s,\n"
      "    {%zu, %zu, %zu, 0, 0}, 0x%xu, 0x%xu%s};\n\n",
      p, p, m, static_cast<unsigned>(plan.crc32), plan.prepared.size() > 0 ? "kPrepared" : "nullptr",
      plan.needs.persistent_bytes, plan.needs.activation_bytes, plan.needs.scratch_bytes,
      static_cast<unsigned>(plan.isa), static_cast<unsigned>(plan.listed),
      !plan.streamed    ? ""
      : plan.rows_alone ? ", &intaglio::kRowsAlone"
                        : ", &intaglio::kStreaming");
  c.add(
      "const itg_planned_model* %s_planned_model(void) {\n"
      "  return reinterpret_cast<const itg_planned_model*>(&%s_planned);\n}\n\n"
      "itg_error %s_start(itg_model* model, itg_session* session, void* memory%s) {\n",
      p, p, p, fast_parameter(e));
  add_parts_of_memory(c, e);
  c.add(
      "  const itg_error error = %s_start(session, %s_planned_model(), &parts, %snullptr);\n"
      "  itg_session_model(session, model);\n  return error;\n}\n\n",
      functions_of(e), p, fast_span(e).c_str());
  return c.str();
}

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

// The part that a program needs to give frames to input 0.
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
  if (e.fast_bytes > 0)
    h.add(
        "/* Activations that lie in a fast memory of their own, `fast` below: as many bytes, at a multiple of\n"
        " * ITG_MEMORY_ALIGNMENT. The figures above are without them. */\n#define %s_FAST_BYTES %zu\n\n",
        m, e.fast_bytes);
  h.add("%s", (e.plan != nullptr ? planned_declarations(e) : checked_declarations(e)).c_str());
  h.add(
      "/* Makes a session in `memory`, %s_MEMORY_BYTES at a multiple of ITG_MEMORY_ALIGNMENT, and a handle "
      "on its model. */\n"
      "itg_error %s_start(itg_model* model, itg_session* session, void* memory%s);\n\n",
      m, p, fast_parameter(e));
  h.add(
      "/* Runs the model in `memory`, likewise, on an input that this file makes, and compares the output with what it\n"
      " * was when the model was exported. Gives ITG_kOk, or why there is no session (ITG_kOtherKernels where\n"
      " * it would need other memory than stands here), or ITG_kReplayDiffers. */\n"
      "itg_error %s_self_test(void* memory%s);\n\n",
      p, fast_parameter(e));
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
      "itg_error %s_self_test(void* memory%s) {\n  itg_model model;\n  itg_session session;\n"
      "  itg_error error = %s_start(&model, &session, memory%s);\n  if (error.status != ITG_kOk) return "
      "error;\n  error = check(model);\n  if (error.status != ITG_kOk) return error;\n",
      p, fast_parameter(e), p, e.fast_bytes > 0 ? ", fast" : "");
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
  const char* const argument = e.fast_bytes > 0 ? ", fast" : "";
  const std::string fast =
      e.fast_bytes == 0
          ? ""
          : "#ifndef " + macros +
                "_FAST_SECTION /* for example __attribute__((section(\".dtcm\"))) */\n#define " + macros +
                "_FAST_SECTION\n#endif\nstatic uint8_t fast[" + macros +
                "_FAST_BYTES] __attribute__((aligned(ITG_MEMORY_ALIGNMENT))) " + macros + "_FAST_SECTION;\n";
  Text c;
  c.add(
      "/* Written by intaglio export-c: a beginning. Checks the model on this machine, then runs it once. */\n"
      "#include <stdio.h>\n\n#include \"%s_model.h\"\n\n"
      "/* Of the board's RAM; the attribute is gcc's and clang's. */\n"
      "static uint8_t memory[%s_MEMORY_BYTES] __attribute__((aligned(ITG_MEMORY_ALIGNMENT)));\n%s\n"
      "static int fail(const char* what, itg_error error, const itg_model* model) {\n  char text[256];\n"
      "  itg_describe(&error, model, text, sizeof text);\n  printf(\"%%s: %%s\\n\", what, text);\n  return 1;\n}\n\n"
      "int main(void) {\n  itg_model model;\n  itg_session session;\n  itg_error error = %s_self_test(memory%s);\n"
      "  if (error.status != ITG_kOk) return fail(\"self-test\", error, NULL);\n  puts(\"self-test: good\");\n\n"
      "  error = %s_start(&model, &session, memory%s);\n"
      "  if (error.status != ITG_kOk) return fail(\"start\", error, &model);\n",
      p, m, fast.c_str(), p, argument, p, argument);
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

}  // namespace tools
}  // namespace intaglio
