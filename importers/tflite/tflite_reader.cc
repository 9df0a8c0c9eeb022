// From the bytes of a TFLite file to a draft: structure first, then tensors, then each operator by its
// handler.
#include <algorithm>
#include <unordered_map>

#include "importers/tflite/tflite_op.h"
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
  Reader(Span<const uint8_t> bytes, const ReadOptions& options, const std::shared_ptr<ImportBudget>& budget,
         Problems& problems)
      : options_(options), problems_(problems) {
    draft_.budget = budget;
    file_.bytes = bytes;
    file_.model = &verified(bytes);
    file_.graph = &main_graph(*file_.model);
    file_.draft = &draft_;
    file_.made.assign(file_.graph->tensors()->size(), TfliteFile::kNotMade);
  }

  Draft read() {
    file_.has_codes = has_codes();
    read_inputs();
    std::vector<int32_t> outputs = output_tensors();
    if (options_.outputs.empty()) cut_decoders(outputs);
    read_graph(outputs);
    if (problems_.empty()) read_outputs(outputs);
    if (problems_.empty()) add_tflite_states(file_.variables, draft_);
    if (problems_.empty()) read_tflite_metadata(*file_.model, draft_);
    for (const FilePicture& picture : uint8_inputs_) {
      const bool is_said = std::any_of(
          draft_.pictures.begin(), draft_.pictures.end(),
          [&](const FilePicture& said) { return said.input == picture.input && !said.mean.empty(); });
      if (!is_said) draft_.pictures.insert(draft_.pictures.begin(), picture);
    }
    return std::move(draft_);
  }

 private:
  // The operators of the file's current graph that these of its tensors depend on.
  void read_graph(const std::vector<int32_t>& outputs) {
    const std::vector<bool> needed = needed_operators(outputs);
    for (uint32_t i = 0; i < needed.size(); ++i)
      if (needed[i]) read_operator(*file_.graph->operators()->Get(i), i);
  }

  int32_t checked_index(int32_t index, const char* what) const {
    const auto count = static_cast<int32_t>(file_.made.size());
    if (index < 0 || index >= count)
      fail(what, " ", index, " does not exist; the file has ", count, " tensors");
    return index;
  }

  void read_inputs() {
    std::vector<FileInput> inputs;
    for (const int32_t index : *file_.graph->inputs())
      inputs.push_back(described(checked_index(index, "input tensor")));
    check_file_inputs(inputs, options_);
    for (uint32_t i = 0; i < inputs.size(); ++i) read_input(file_.graph->inputs()->Get(i), inputs[i]);
  }

  // Numbers of 8 bits without a scale become codes where the network computes on codes, else the float numbers that
  // they are.
  void note_integers(DraftTensor& input, int8_t type, bool is_plain) {
    const std::string start = text("input ", quoted(input.name), " is ");
    if (type == kTfliteInt16)
      draft_.notes.push_back(start + "int16 in the file; here it is float, and becomes codes behind it");
    if (type == kTfliteFloat16) draft_.notes.push_back(start + "float16 in the file; here it is float");
    if (input.dtype == DType::kS32) {  // a scale of integers says nothing
      input.scales.clear();
      input.zero_point = 0;
    }
    if (type == kTfliteInt64) draft_.notes.push_back(start + "int64 in the file; here it is int32");
    if (type == kTfliteBool) draft_.notes.push_back(start + "bool in the file; here it is float, 1 and 0");
    if (is_plain && !file_.has_codes) {
      input.dtype = DType::kF32;
      input.scales.clear();
      input.zero_point = 0;
      draft_.notes.push_back(text(start, type == kTfliteUint8 ? "uint8" : "int8",
                                  " in the file; here it is float, with the same numbers"));
      if (type == kTfliteUint8)
        uint8_inputs_.push_back({static_cast<int32_t>(draft_.inputs.size()), {0.0f}, {1.0f}, false, true});
    } else if (type == kTfliteUint8) {
      draft_.notes.push_back(text(start, "uint8 in the file; here its codes are int8: the file's minus 128"));
    }
  }

  // Whether a tensor between operators has codes of 8 bits with a scale.
  bool has_codes() const {
    for (const auto* op : *file_.graph->operators()) {
      if (op->outputs() == nullptr) continue;
      for (const int32_t index : *op->outputs()) {
        if (index < 0 || static_cast<size_t>(index) >= file_.made.size()) continue;
        const tflite::Tensor& tensor = file_.tensor(index);
        const auto* quantization = tensor.quantization();
        if ((tensor.type() == kTfliteUint8 || tensor.type() == kTfliteInt8) && quantization != nullptr &&
            quantization->scale() != nullptr && quantization->scale()->size() > 0)
          return true;
      }
    }
    return false;
  }

  FileInput described(int32_t index) const {
    FileInput made{tflite_tensor_name(file_, index), tflite_tensor(file_, index).shape, {}};
    const auto* const signature = file_.tensor(index).shape_signature();
    if (signature != nullptr && signature->size() == made.dims.size())
      made.dims.assign(signature->begin(), signature->end());
    return made;
  }

  void read_input(int32_t index, const FileInput& described) {
    DraftTensor input = tflite_tensor(file_, index);
    const tflite::Tensor& source = file_.tensor(index);
    if (source.type() == kTfliteComplex) fail("input ", quoted(input.name), " holds complex numbers");
    const Shape shape = input_shape(described, options_);
    if (shape != input.shape) file_.shapes_changed = true;
    try {
      check_shape(shape, input.dtype);
    } catch (const ImportError& error) {
      fail("input ", quoted(input.name), ": ", error.what());
    }
    input.shape = shape;
    const bool is_plain = input.dtype == DType::kS8 && input.scales.empty();  // its codes are numbers
    if (is_plain) {
      input.scales = {1.0f};
      input.zero_point = source.type() == 3 ? -128 : 0;
    }
    if (input.dtype == DType::kS8 && input.scales.size() != 1)
      fail("input ", quoted(input.name), " is int8 and needs one scale, it has ", input.scales.size());
    int32_t& made = file_.made_of(index);
    if (made != TfliteFile::kNotMade) fail("input ", quoted(input.name), " is listed twice");
    note_integers(input, source.type(), is_plain);
    made = draft_.put(std::move(input));
    draft_.inputs.push_back(made);
    if (source.type() == kTfliteInt16) made = as_tflite_s16(file_, index, made, "input");
  }

  void read_operator(const tflite::Operator& op, uint32_t number) {
    std::string source = "operator", name = text("node_", number);
    try {
      const Builtin code = tflite_builtin(*file_.model, op);
      source = operator_name(op, code);
      name = node_name(op, number);
      const TfliteOperator* const known = find_tflite_operator(code);
      const auto custom = custom_operator(op, code);
      if (known == nullptr && custom == nullptr && !folds_tflite_constants(code))
        fail("this operator is not supported",
             ends_networks(code) && file_.calls == 0 ? cut_before(activations_of(op)) : "");
      TfliteOp view(file_, op, source, name, !has_no_output(code));
      check_complex(view, code);
      if (read_tflite_control(view, code, [this](const auto& outputs) { read_graph(outputs); })) return;
      if (fold_tflite_constants(view, code)) return;
      if (custom != nullptr) return view.all_constant() ? view.evaluate(custom) : custom(view);
      if (known == nullptr) fail("this operator is supported with constant inputs alone");
      if (view.all_constant()) return view.evaluate(known->import);
      known->import(view);
      view.round_outputs();
      return;
    } catch (const OverBudget& error) {
      throw OverBudget(text("node ", quoted(name), " (", source, "): ", error.what()));
    } catch (const ImportError& error) {
      problems_.add(text("node ", quoted(name), " (", source, "): ", error.what()));
    } catch (const ReadsFailed&) {
    }
    mark_failed(op);
  }

  void (*custom_operator(const tflite::Operator& op, Builtin code) const)(TfliteOp&) {
    const auto* const name = opcode(*file_.model, op).custom_code();
    if (code != Builtin::CUSTOM || name == nullptr) return nullptr;
    for (const TfliteCustomOperator& row : tflite_custom_operators())
      if (name->str() == row.name) return row.import;
    return nullptr;
  }

  // Complex numbers are their magnitudes here, which no more than these can work with.
  static void check_complex(const TfliteOp& op, Builtin code) {
    if (code == Builtin::RESHAPE || code == Builtin::COMPLEX_ABS) return;
    for (size_t i = 0; i < op.input_count(); ++i)
      if (op.has_input(i) && op.type_in_file(i) == kTfliteComplex)
        fail("it takes complex numbers, which RESHAPE and COMPLEX_ABS alone do here");
  }

  // Operators of other tools, and those that choose boxes: what they read is what a program can have of the network.
  static bool ends_networks(Builtin code) {
    return code == Builtin::CUSTOM || code == Builtin::NON_MAX_SUPPRESSION_V4 ||
           code == Builtin::NON_MAX_SUPPRESSION_V5 || code == Builtin::WHERE || code == Builtin::UNIQUE;
  }

  // Tensors that the operator reads and that have been imported.
  std::vector<std::string> activations_of(const tflite::Operator& op) const {
    std::vector<std::string> names;
    if (op.inputs() == nullptr) return names;
    for (const int32_t index : *op.inputs()) {
      if (index < 0 || static_cast<size_t>(index) >= file_.made.size()) continue;
      const int32_t made = file_.made_of(index);
      if (made >= 0 && !draft_.tensor(made).constant && !is_model_input(draft_, made))
        names.push_back(tflite_tensor_name(file_, index));
    }
    return names;
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
        file_.made_of(index) = TfliteFile::kFailed;
  }

  // The tensors that are given to the caller: the file's, or those that the options name.
  std::vector<int32_t> output_tensors() const {
    std::vector<int32_t> own;
    for (const int32_t index : *file_.graph->outputs()) own.push_back(checked_index(index, "output tensor"));
    if (options_.outputs.empty()) return own;
    std::vector<std::string> known;
    std::unordered_map<std::string, int32_t> index_of;
    for (const auto* op : *file_.graph->operators()) {
      if (op->outputs() == nullptr) continue;
      for (const int32_t index : *op->outputs()) {
        known.push_back(tflite_tensor_name(file_, checked_index(index, "output tensor")));
        index_of.emplace(known.back(), index);
      }
    }
    std::vector<int32_t> chosen;
    for (const std::string& name : chosen_outputs(options_, {}, known)) chosen.push_back(index_of.at(name));
    return chosen;
  }

  // Code that turns a detector's outputs into boxes or bodies belongs to the program: the network ends before it.
  void cut_decoders(std::vector<int32_t>& outputs) {
    for (uint32_t i = 0; i < file_.graph->operators()->size(); ++i) {
      const tflite::Operator& op = *file_.graph->operators()->Get(i);
      const auto* custom = opcode(*file_.model, op).custom_code();
      if (custom == nullptr || op.inputs() == nullptr || op.outputs() == nullptr) continue;
      const std::string code = custom->str();
      if (code != "TFLite_Detection_PostProcess" && code != "PosenetDecoderOp") continue;
      const auto gives = [&](int32_t output) {
        return std::find(op.outputs()->begin(), op.outputs()->end(), output) != op.outputs()->end();
      };
      if (!std::any_of(outputs.begin(), outputs.end(), gives)) continue;
      outputs.erase(std::remove_if(outputs.begin(), outputs.end(), gives), outputs.end());
      std::string ends, constants;
      for (const int32_t input : *op.inputs()) {
        if (input < 0) continue;
        const std::string name = quoted(tflite_tensor_name(file_, checked_index(input, "input tensor")));
        const bool is_constant = has_tflite_data(file_, input);
        std::string& list = is_constant ? constants : ends;
        list += (list.empty() ? "" : ", ") + name;
        if (!is_constant && std::find(outputs.begin(), outputs.end(), input) == outputs.end())
          outputs.push_back(input);
      }
      draft_.notes.push_back(text("the network ends before ", quoted(node_name(op, i)), " (custom operator ",
                                  quoted(code), "), which belongs to the program: its outputs are ", ends,
                                  constants.empty() ? "" : "; the program decodes them with the file's ",
                                  constants));
    }
  }

  // Those that the outputs depend on, and those that keep values for the next run.
  std::vector<bool> needed_operators(const std::vector<int32_t>& outputs) const {
    std::vector<bool> wanted(file_.made.size(), false);
    for (const int32_t index : outputs) wanted[static_cast<size_t>(index)] = true;
    const auto& operators = *file_.graph->operators();
    std::vector<bool> needed(operators.size(), false);
    const auto exists = [&](int32_t index) {
      return index >= 0 && static_cast<size_t>(index) < wanted.size();
    };
    for (uint32_t i = operators.size(); i-- > 0;) {
      const tflite::Operator& op = *operators.Get(i);
      bool is_needed = op.outputs() == nullptr || op.outputs()->size() == 0;
      if (!is_needed)
        for (const int32_t index : *op.outputs())
          is_needed = is_needed || !exists(index) || wanted[static_cast<size_t>(index)];
      needed[i] = is_needed;
      if (!is_needed || op.inputs() == nullptr) continue;
      for (const int32_t index : *op.inputs())
        if (exists(index)) wanted[static_cast<size_t>(index)] = true;
    }
    return needed;
  }

  // Integers leave as s32, whatever they were computed in; a constant or an input as a tensor that a run writes.
  int32_t as_in_file(int32_t made, int32_t index) {
    const DraftTensor in_file = tflite_tensor(file_, index);
    const bool is_integer = in_file.dtype == DType::kS32;
    const DraftTensor info = draft_.tensor(made);
    const bool is_copy = info.constant || is_model_input(draft_, made);
    if (!(is_integer && info.dtype == DType::kF32) && !is_copy) return made;
    Shape shape = info.shape;
    if (shape.empty()) shape = {1};
    try {
      check_shape(shape, info.dtype);
    } catch (const ImportError& error) {
      fail("output ", quoted(in_file.name), ": ", error.what());
    }
    if (info.constant) draft_.tensor(made).shape = shape;
    const int32_t y = add_activation(draft_, in_file.name, is_integer ? DType::kS32 : info.dtype, shape);
    if (info.dtype == DType::kS8) {
      draft_.tensor(y).scales = info.scales;
      draft_.tensor(y).zero_point = info.zero_point;
    }
    const bool casts = is_integer && info.dtype == DType::kF32;
    add_node({draft_, in_file.name, "output"}, casts ? Op::kCast : Op::kReshape, {made}, y);
    return y;
  }

  void read_outputs(const std::vector<int32_t>& outputs) {
    for (const int32_t index : outputs) {
      int32_t made = file_.made_of(index);
      const std::string name = quoted(tflite_tensor_name(file_, index));
      if (made < 0) fail("output ", name, " is not written by any operator");
      if (file_.tensor(index).type() == kTfliteComplex)
        fail("output ", name, " holds complex numbers; end the network before it with --outputs");
      made = as_in_file(made, index);
      if (is_model_output(draft_, made)) fail("output ", name, " is listed twice");
      const int8_t type = file_.tensor(index).type();
      const bool is_uint8 = type == kTfliteUint8, is_real = draft_.tensor(made).dtype == DType::kF32;
      if (is_uint8 && !is_real)
        draft_.notes.push_back(
            text("output ", name, " is uint8 in the file; here its codes are int8: the file's minus 128"));
      if (is_real && (is_uint8 || type == kTfliteInt8))  // what a CAST gives
        draft_.notes.push_back(text("output ", name, " is ", is_uint8 ? "uint8" : "int8",
                                    " in the file; here it is float, with the same numbers"));
      draft_.outputs.push_back(made);
    }
  }

  const ReadOptions& options_;
  Problems& problems_;
  TfliteFile file_;
  Draft draft_;
  std::vector<FilePicture> uint8_inputs_;
};

}  // namespace

Builtin tflite_builtin(const tflite::Model& model, const tflite::Operator& op) {
  return static_cast<Builtin>(
      std::max<int32_t>(opcode(model, op).old_builtin_code(), opcode(model, op).builtin_code()));
}

bool is_tflite(Span<const uint8_t> bytes) {
  return bytes.size >= 8 && std::memcmp(bytes.data + 4, "TFL3", 4) == 0;
}

Draft read_tflite(Span<const uint8_t> bytes, const ReadOptions& options,
                  const std::shared_ptr<ImportBudget>& budget, Problems& problems) {
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
  return Reader(bytes, options, budget, problems).read();
}

// The operators of all families.
namespace {

using Family = Span<const TfliteOperator> (*)();

constexpr Family kFamilies[] = {
    tflite_binary_operators,      tflite_control_operators,  tflite_conv_operators,
    tflite_elementwise_operators, tflite_fold_operators,     tflite_gather_operators,
    tflite_integer_operators,     tflite_logic_operators,    tflite_pool_operators,
    tflite_real_operators,        tflite_rnn_operators,      tflite_shape_operators,
    tflite_stablehlo_operators,   tflite_variable_operators,
};

}  // namespace

const TfliteOperator* find_tflite_operator(Builtin builtin) {
  for (const Family family : kFamilies)
    for (const TfliteOperator& row : family())
      if (row.builtin == builtin) return &row;
  return nullptr;
}

std::vector<ImportedOperator> tflite_operators() {
  std::vector<ImportedOperator> list;
  for (const Family family : kFamilies) {
    for (const TfliteOperator& row : family()) {
      list.push_back(
          imported_operator("", tflite_operator_name(row.builtin), row.becomes, row.limits, !row.float_only));
      list.back().code = static_cast<int32_t>(row.builtin);
    }
  }
  for (const Builtin builtin : folded_tflite_operators())
    add_folded(list, tflite_operator_name(builtin), static_cast<int32_t>(builtin));
  std::sort(list.begin(), list.end(), by_name);
  return list;
}

std::string tflite_operator_name(Builtin builtin) {
  const std::string name = tflite::EnumNameBuiltin(builtin);
  return name.empty() ? text("operator ", static_cast<int32_t>(builtin)) : name;
}

}  // namespace intaglio::importers
