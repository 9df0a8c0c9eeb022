#include "cli/export_c_files.h"

#include <set>

#include "intaglio/version.h"
#include "runtime/op_search.h"

namespace intaglio {

#define ITG_OP(name, kind) extern const OpDef k##name;
#include "runtime/op_list.inc"
#undef ITG_OP

namespace cli {
namespace {

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

}  // namespace

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
      "  const itg_error error = itg_session_measure(&model, %s_model_ops(), &options, true, &needs);\n"
      "  if (error.status != ITG_kOk) return error;\n"
      "  if (needs.persistent_bytes != %s_PERSISTENT_BYTES || needs.activation_bytes != %s_ACTIVATION_BYTES ||\n"
      "      needs.scratch_bytes != %s_SCRATCH_BYTES || needs.total_bytes != %s_MEMORY_BYTES)\n"
      "    return {ITG_kOtherKernels, -1, -1, 0, static_cast<int64_t>(options.isa), static_cast<int64_t>(itg_cpu_isa())};\n"
      "  return error;\n}\n\n}  // namespace\n\n",
      p, m, m, m, m);
  c.add(
      "itg_op_list %s_model_ops(void) {\n"
      "  return {reinterpret_cast<const itg_op* const*>(kOps), sizeof kOps / sizeof kOps[0]};\n}\n\n",
      p);
  c.add(
      "itg_error %s_start(itg_model* model, itg_session* session, void* memory) {\n"
      "  itg_error error = itg_model_open(model, %s_model_data, %s_MODEL_BYTES, nullptr);\n"
      "  if (error.status != ITG_kOk) return error;\n%s",
      p, p, m,
      e.model->has_streamed_plan() ? "  error = itg_stream_rows(model, model);\n"
                                     "  if (error.status != ITG_kOk) return error;\n"
                                   : "");
  add_parts_of_memory(c, e);
  c.add(
      "  const itg_session_options options = target_options();\n"
      "  return itg_session_create(session, model, %s_model_ops(), &parts, &options);\n}\n\n",
      p);
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
      "    {%s_PERSISTENT_BYTES, %s_ACTIVATION_BYTES, %s_SCRATCH_BYTES, 0, 0}, 0x%xu, 0x%xu%s};\n\n",
      p, p, m, static_cast<unsigned>(plan.crc32), plan.prepared.size() > 0 ? "kPrepared" : "nullptr", m, m, m,
      static_cast<unsigned>(plan.isa), static_cast<unsigned>(plan.listed),
      plan.streamed ? ", &intaglio::kStreaming" : "");
  c.add(
      "const itg_planned_model* %s_planned_model(void) {\n"
      "  return reinterpret_cast<const itg_planned_model*>(&%s_planned);\n}\n\n"
      "itg_error %s_start(itg_model* model, itg_session* session, void* memory) {\n",
      p, p, p);
  add_parts_of_memory(c, e);
  c.add(
      "  const itg_error error = itg_session_start(session, %s_planned_model(), &parts, nullptr);\n"
      "  itg_session_model(session, model);\n  return error;\n}\n\n",
      p);
  return c.str();
}

}  // namespace cli
}  // namespace intaglio
