// From the bytes of a TFLite file to a draft: structure first, then tensors, then each operator by its
// handler.
#include <algorithm>

#include "importers/tflite/tflite_operators.h"
#include "importers/tflite/tflite_reader.h"

namespace intaglio::importers {
namespace {

constexpr size_t kAlignment = 16;
constexpr flatbuffers::uoffset_t kMaxDepth = 16;

const tflite::Model& verified(Span<const uint8_t> bytes) {
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(bytes.size / 4);
  flatbuffers::Verifier verifier(bytes.data, bytes.size, kMaxDepth, max_tables);
  if (!tflite::VerifyModelBuffer(verifier))
    fail("the TFLite file is damaged or cut short: its tables do not hold together");
  const tflite::Model& model = *tflite::GetModel(bytes.data);
  if (model.version() != 3) fail("TFLite schema version ", model.version(), " is not supported; 3 is");
  return model;
}

// The first one. Others belong to signatures, or to operators that call them.
const tflite::SubGraph& main_graph(const tflite::Model& model) {
  const auto* graphs = model.subgraphs();
  if (graphs == nullptr || graphs->size() == 0) fail("the TFLite file has no graph");
  const tflite::SubGraph& graph = *graphs->Get(0);
  const auto check = [](const auto* list, const char* what, size_t limit) {
    check_count(list == nullptr ? 0 : list->size(), what, limit);
  };
  check(graph.tensors(), "tensors", kMaxFileTensors);
  check(graph.operators(), "operators", kMaxFileNodes);
  check(graph.inputs(), "inputs", kMaxFileEnds);
  check(graph.outputs(), "outputs", kMaxFileEnds);
  return graph;
}

const tflite::OperatorCode& opcode(const tflite::Model& model, const tflite::Operator& op) {
  const auto* codes = model.opcodes();
  if (codes == nullptr || op.opcode() >= codes->size())
    fail("operator code ", op.opcode(), " does not exist; the file has ",
         codes == nullptr ? 0 : codes->size());
  return *codes->Get(op.opcode());
}

bool has_no_output(Builtin code) { return code == Builtin::CALL_ONCE || code == Builtin::ASSIGN_VARIABLE; }

class Reader {
 public:
  Reader(Span<const uint8_t> bytes, const ReadOptions& options, Problems& problems)
      : options_(options), problems_(problems) {
    file_.model = &verified(bytes);
    file_.graph = &main_graph(*file_.model);
    file_.draft = &draft_;
    file_.made.assign(file_.graph->tensors()->size(), TfliteFile::kNotMade);
  }

  Draft read() {
    read_inputs();
    for (uint32_t i = 0; i < file_.graph->operators()->size(); ++i)
      read_operator(*file_.graph->operators()->Get(i), i);
    if (problems_.empty()) read_outputs();
    if (problems_.empty()) add_tflite_states(file_.variables, draft_);
    if (problems_.empty()) read_tflite_metadata(*file_.model, draft_);
    return std::move(draft_);
  }

 private:
  int32_t checked_index(int32_t index, const char* what) const {
    const auto count = static_cast<int32_t>(file_.made.size());
    if (index < 0 || index >= count)
      fail(what, " ", index, " does not exist; the file has ", count, " tensors");
    return index;
  }

  void read_inputs() {
    std::vector<std::string> names;
    for (const int32_t index : *file_.graph->inputs())
      names.push_back(tflite_tensor_name(file_, checked_index(index, "input tensor")));
    check_shape_names(names, options_);
    for (const int32_t index : *file_.graph->inputs()) read_input(index);
  }

  void read_input(int32_t index) {
    DraftTensor input = tflite_tensor(file_, index);
    const tflite::Tensor& source = *file_.graph->tensors()->Get(static_cast<uint32_t>(index));
    Shape in_file = input.shape;
    if (const auto* signature = source.shape_signature();
        signature != nullptr && signature->size() == in_file.size())
      in_file.assign(signature->begin(), signature->end());
    const Shape shape = input_shape(input.name, in_file, {}, options_);
    if (shape != input.shape) file_.shapes_changed = true;
    try {
      check_shape(shape, input.dtype);
    } catch (const ImportError& error) {
      fail("input ", quoted(input.name), ": ", error.what());
    }
    input.shape = shape;
    if (input.dtype == DType::kS32)
      fail("input ", quoted(input.name), " is int32; float32, int8 and uint8 are supported");
    if (input.dtype == DType::kS8 && input.scales.size() != 1)
      fail("input ", quoted(input.name), " is int8 and needs one scale, it has ", input.scales.size());
    int32_t& made = file_.made[static_cast<size_t>(index)];
    if (made != TfliteFile::kNotMade) fail("input ", quoted(input.name), " is listed twice");
    if (source.type() == 3)
      draft_.notes.push_back(text("input ", quoted(input.name),
                                  " is uint8 in the file; here its codes are int8: "
                                  "the file's minus 128"));
    draft_.tensors.push_back(std::move(input));
    made = static_cast<int32_t>(draft_.tensors.size()) - 1;
    draft_.inputs.push_back(made);
  }

  void read_operator(const tflite::Operator& op, uint32_t number) {
    std::string source = "operator", name = text("node_", number);
    try {
      const Builtin code = tflite_builtin(*file_.model, op);
      source = operator_name(op, code);
      name = node_name(op, number);
      const TfliteOperator* const known = find_tflite_operator(code);
      if (known == nullptr && !folds_tflite_constants(code)) fail("this operator is not supported");
      TfliteOp view(file_, op, source, name, !has_no_output(code));
      if (fold_tflite_constants(view, code)) return;
      if (known == nullptr) fail("this operator is supported with constant inputs alone");
      known->import(view);
      return;
    } catch (const ImportError& error) {
      problems_.add(text("node ", quoted(name), " (", source, "): ", error.what()));
    } catch (const ReadsFailed&) {
    }
    mark_failed(op);
  }

  std::string operator_name(const tflite::Operator& op, Builtin code) const {
    const auto* custom = opcode(*file_.model, op).custom_code();
    return custom != nullptr && custom->size() > 0 ? "custom operator " + quoted(custom->str())
                                                   : tflite_operator_name(code);
  }
  std::string node_name(const tflite::Operator& op, uint32_t number) const {
    if (op.outputs() == nullptr || op.outputs()->size() == 0) return text("node_", number);
    return tflite_tensor_name(file_, checked_index(op.outputs()->Get(0), "output tensor"));
  }
  void mark_failed(const tflite::Operator& op) {
    if (op.outputs() == nullptr) return;
    for (const int32_t index : *op.outputs())
      if (index >= 0 && static_cast<size_t>(index) < file_.made.size())
        file_.made[static_cast<size_t>(index)] = TfliteFile::kFailed;
  }

  void read_outputs() {
    for (const int32_t index : *file_.graph->outputs()) {
      const int32_t made = file_.made[static_cast<size_t>(checked_index(index, "output tensor"))];
      const std::string name = quoted(tflite_tensor_name(file_, index));
      if (made < 0) fail("output ", name, " is not written by any operator");
      if (is_model_output(draft_, made)) fail("output ", name, " is listed twice");
      if (draft_.tensor(made).constant) fail("output ", name, " is a constant");
      if (file_.graph->tensors()->Get(static_cast<uint32_t>(index))->type() == 3)
        draft_.notes.push_back(
            text("output ", name, " is uint8 in the file; here its codes are int8: the file's minus 128"));
      draft_.outputs.push_back(made);
    }
  }

  const ReadOptions& options_;
  Problems& problems_;
  TfliteFile file_;
  Draft draft_;
};

}  // namespace

Builtin tflite_builtin(const tflite::Model& model, const tflite::Operator& op) {
  return static_cast<Builtin>(
      std::max<int32_t>(opcode(model, op).old_builtin_code(), opcode(model, op).builtin_code()));
}

bool is_tflite(Span<const uint8_t> bytes) {
  return bytes.size >= 8 && std::memcmp(bytes.data + 4, "TFL3", 4) == 0;
}

Draft read_tflite(Span<const uint8_t> bytes, const ReadOptions& options, Problems& problems) {
  // Tables are read where they stand, which needs an aligned start.
  struct alignas(kAlignment) Block {
    uint8_t bytes[kAlignment];
  };
  std::vector<Block> copy;
  if (reinterpret_cast<uintptr_t>(bytes.data) % kAlignment != 0) {
    copy.resize(bytes.size / kAlignment + 1);
    std::memcpy(copy.data(), bytes.data, bytes.size);
    bytes = {copy.data()->bytes, bytes.size};
  }
  return Reader(bytes, options, problems).read();
}

}  // namespace intaglio::importers
