// From the bytes of an ONNX file to a draft: inputs, then each node by its handler.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "importers/onnx/onnx_decomposer.h"
#include "importers/onnx/onnx_operators.h"
#include "importers/onnx/onnx_reader.h"

namespace intaglio::importers {
namespace {

constexpr size_t kMaxCalls = 4096, kMaxDepth = 32;  // of functions

class Reader {
 public:
  Reader(Span<const uint8_t> bytes, const ReadOptions& options, const std::shared_ptr<ImportBudget>& budget,
         Problems& problems)
      : options_(options), problems_(problems) {
    draft_.budget = budget;
    if (bytes.size >= 8 && std::memcmp(bytes.data + 4, "ITG1", 4) == 0)
      fail("is a model of intaglio already; it can be calibrated, run and inspected as it is");
    auto model = onnx_file::parse_model(onnx_file::text_of(bytes.data, bytes.size), [&](uint64_t taken) {
      budget->spend_memory(taken, "what the file holds beside its weights");
    });
    if (!model)
      fail(
          "neither a TFLite file (no identifier TFL3) nor an ONNX file (the protobuf is damaged or cut "
          "short)");
    if (!model->graph.has())
      fail("neither a TFLite file (no identifier TFL3) nor an ONNX file (it has no graph)");
    model_ = std::move(*model);
    file_.draft = &draft_;
    file_.opset = opset();
  }

  Draft read(const std::vector<InputConstant>& constants) {
    const onnx_file::GraphProto& graph = *model_.graph;
    if (!options_.external_data.folder.empty())
      load_external_data(model_, options_.external_data, *draft_.budget);
    for (const auto& entry : model_.metadata_props)
      for (uint8_t bits = kLeastAddBits; entry.key == kAddBitsKey && bits <= kMostAddBits; ++bits)
        if (entry.value == text(int32_t{bits})) draft_.add_bits = bits;
    check_count(static_cast<size_t>(graph.output.count()), "outputs", kMaxFileEnds);
    read_initializers(graph);
    take_onnx_constants(graph, constants, file_);
    read_onnx_inputs(graph, options_, file_);
    const std::vector<std::string> outputs = output_names(graph);
    read_nodes(graph, outputs);
    if (problems_.empty()) read_outputs(outputs);
    note_onnx_ranges(file_.ranges, draft_);
    return std::move(draft_);
  }

 private:
  int64_t opset() const {
    for (const auto& entry : model_.opset_import) {
      if (!is_standard_onnx(entry.domain)) continue;
      if (entry.version < kFirstOpset || entry.version > kLastOpset)
        fail("ONNX opset ", entry.version, " is not supported (", kFirstOpset, " to ", kLastOpset,
             " are); convert the model with onnx.version_converter");
      return entry.version;
    }
    if (model_.opset_import.count() == 0) fail("the ONNX file does not say which opset it uses");
    return kLastOpset;  // a file of other operators alone: onnxruntime takes its newest, too
  }

  // Under their names, or with `prefix` before these.
  void read_initializers(const onnx_file::GraphProto& graph, const std::string& prefix = {}) {
    if (graph.sparse_initializer.count() > 0) fail("sparse initializers are not supported");
    for (const auto& tensor : graph.initializer)
      if (OnnxValue made{-1, &tensor, false, false, false, {}};
          !file_.values.emplace(prefix + checked_name(tensor.name), made).second)
        fail("initializer ", quoted(tensor.name), " stands twice in the file");
  }

  void read_nodes(const onnx_file::GraphProto& graph, const std::vector<std::string>& outputs) {
    node_count_ += static_cast<size_t>(graph.node.count());
    check_count(node_count_, "nodes", kMaxFileNodes);
    for (const auto& node : graph.node)
      for (const std::string& output : node.output) file_.taken.insert(checked_name(output));
    for (const int i : needed_in_order(graph, outputs)) read_node(graph.node[i], i);
  }

  static const onnx_file::GraphProto& branch_of(OnnxOp& op, bool condition) {
    const onnx_file::GraphProto& branch = op.graph(condition ? "then_branch" : "else_branch");
    if (branch.output.count() != op.output_count())
      fail("its branch has ", branch.output.count(), " outputs where ", op.output_count(), " are expected");
    return branch;
  }

  // The branch that the condition takes stands in place of the node.
  void read_if(OnnxOp& op, const onnx_file::NodeProto& node) {
    op.check_inputs(1, 1);
    if (!op.is_constant(0)) return read_both(op, node);
    const std::vector<int64_t> condition = op.integers(0).values;
    if (condition.size() != 1) fail("its condition must be one value, it has ", condition.size());
    const onnx_file::GraphProto& branch = branch_of(op, condition[0] != 0);
    read_initializers(branch);
    std::vector<std::string> outputs;
    for (const auto& output : branch.output) outputs.push_back(output.name);
    read_nodes(branch, outputs);
    for (int i = 0; i < op.output_count(); ++i) op.set_alias(branch.output[i].name, i);
  }

  // A run decides: both branches are computed, and then chosen from.
  void read_both(OnnxOp& op, const onnx_file::NodeProto& node) {
    const std::string words = words_of_condition(*model_.graph, node.input[0]);
    draft_.notes.push_back(text("node ", quoted(op.name()), " (If): ", words));
    const size_t problems = problems_.count();
    std::vector<std::string> outputs[2];
    for (const bool side : {true, false}) {
      Copies copies(branch_of(op, side), op.name(), calls_.size());
      outputs[side] = read_copy(copies, {});
    }
    op.check_all_read();
    if (problems_.count() > problems) fail(words);
    for (size_t i = 0; i < outputs[0].size(); ++i)
      if (const std::string& name = op.output_name(static_cast<int>(i)); !name.empty())
        read_made(node,
                  [&](OnnxDecomposer& s) { return s.choose(outputs[1][i], outputs[0][i], name), name; });
  }

  // Copies of the body stand in place of the node, one for each time that it runs. What one gives is what the next takes.
  void read_loop(OnnxOp& op, const onnx_file::NodeProto& node) {
    op.check_inputs(2, 2 + static_cast<int>(kMaxFileEnds));
    const onnx_file::GraphProto& body = op.graph("body");
    const int states = node.input.count() - 2, scans = body.output.count() - 1 - states;
    if (body.input.count() != 2 + states || scans < 0 || node.output.count() > states + scans)
      fail("its body has ", body.input.count(), " inputs and ", body.output.count(),
           " outputs, which do not fit it");
    const int64_t most = op.has_input(0) ? single(op, 0) : INT64_MAX;
    std::vector<std::string> inputs{"", node.input[1]};
    inputs.insert(inputs.end(), node.input.begin() + 2, node.input.end());
    if (inputs[1].empty()) inputs[1] = read_made(node, [](OnnxDecomposer& s) { return s.whole(1); });
    Copies copies(body, op.name(), calls_.size());
    std::vector<std::vector<std::string>> parts(static_cast<size_t>(scans));
    for (int64_t run = 0; run < most && goes_on(inputs[1]); ++run) {
      inputs[0] = read_made(node, [run](OnnxDecomposer& s) { return s.whole(run); });
      const std::vector<std::string> outputs = read_copy(copies, inputs);
      std::copy_n(outputs.begin(), 1 + states, inputs.begin() + 1);
      for (int i = 0; i < scans; ++i)
        parts[static_cast<size_t>(i)].push_back(outputs[static_cast<size_t>(1 + states + i)]);
    }
    for (int i = 0; i < op.output_count(); ++i) {
      if (op.output_name(i).empty()) continue;
      if (i < states)
        op.set_alias(inputs[static_cast<size_t>(2 + i)], i);
      else
        read_stacked(node, parts[static_cast<size_t>(i - states)], body.output[1 + i], op.output_name(i));
    }
  }

  // A Loop over the slices of its last inputs, of which each run takes one.
  void read_scan(OnnxOp& op, const onnx_file::NodeProto& node) {
    const onnx_file::GraphProto& body = op.graph("body");
    const OnnxScan scan = read_onnx_scan(op, OnnxDecomposer(file_, node), body);
    op.check_all_read();
    std::vector<std::string> inputs(node.input.begin(), node.input.end());
    Copies copies(body, op.name(), calls_.size());
    std::vector<std::vector<std::string>> parts(scan.outputs.size());
    for (int32_t run = 0; run < scan.runs; ++run) {
      for (size_t i = 0; i < scan.inputs.size(); ++i) {
        const int32_t place = scan.inputs[i].is_backwards ? scan.runs - 1 - run : run;
        const int from = scan.states + static_cast<int>(i);
        inputs[static_cast<size_t>(from)] = read_made(node, [&](OnnxDecomposer& s) {
          return s.add("Gather", {node.input[from], s.whole(place)}, {{"axis", scan.inputs[i].axis}});
        });
      }
      const std::vector<std::string> outputs = read_copy(copies, inputs);
      std::copy_n(outputs.begin(), scan.states, inputs.begin());
      for (size_t i = 0; i < parts.size(); ++i)
        parts[i].push_back(outputs[static_cast<size_t>(scan.states) + i]);
    }
    for (int i = 0; i < op.output_count(); ++i) {
      if (op.output_name(i).empty()) continue;
      const auto at = static_cast<size_t>(std::max(0, i - scan.states));
      if (i >= scan.states && scan.outputs[at].is_backwards) std::reverse(parts[at].begin(), parts[at].end());
      if (i < scan.states)
        op.set_alias(inputs[static_cast<size_t>(i)], i);
      else
        read_stacked(node, parts[at], body.output[i], op.output_name(i), scan.outputs[at].axis);
    }
  }

  // Copies of a body; what it holds as constants is the same in each.
  struct Copies {
    Copies(const onnx_file::GraphProto& of, const std::string& node, size_t number)
        : body(of), name(node), constants(text(node, "/", number, "/")) {}
    const onnx_file::GraphProto& body;
    const std::string name, constants;
    bool are_constants_read = false;
  };

  // Reads one more, which takes `inputs`; the names of its outputs.
  std::vector<std::string> read_copy(Copies& copies, const std::vector<std::string>& inputs) {
    const std::string prefix = text(copies.name, "/", calls_.size(), "/");
    add_call(onnx_loop_body(copies.body, inputs, copies.constants, prefix, *draft_.budget));
    const onnx_file::GraphProto& copy = *calls_.back();
    if (!copies.are_constants_read) read_initializers(copies.body, copies.constants);
    copies.are_constants_read = true;
    std::vector<std::string> outputs;
    for (const auto& output : copy.output) outputs.push_back(output.name);
    ++depth_;
    read_nodes(copy, outputs);
    --depth_;
    return outputs;
  }

  static int64_t single(OnnxOp& op, int input) {
    const std::vector<int64_t> values = op.integers(input).values;
    if (values.size() != 1) fail("input ", input, " must be one number, it has ", values.size());
    return values[0];
  }

  // Whether a Loop runs once more.
  bool goes_on(const std::string& condition) {
    onnx_file::NodeProto node;
    node.input.push_back(condition);
    node.output.push_back(condition);
    OnnxOp op(file_, node);
    if (!op.is_constant(0))
      fail("its condition is computed by a run; only one that the file and its shapes decide is supported");
    return single(op, 0) != 0;
  }

  // The results of all runs of a Loop, one behind the other along a new axis. Single numbers have an axis already.
  void read_stacked(const onnx_file::NodeProto& loop, const std::vector<std::string>& parts,
                    const onnx_file::ValueInfoProto& declared, const std::string& name, int64_t axis = 0) {
    if (parts.empty()) fail("it never runs, and its output ", quoted(name), " would be empty");
    const auto& type = *declared.type->tensor_type;
    const bool are_numbers = type.shape.has() && type.shape->dim.count() == 0;
    read_made(loop, [&](OnnxDecomposer& s) { return s.stacked(parts, name, axis, are_numbers); });
  }

  // Nodes that `write` adds beside `node`; what it gives.
  template <typename Write>
  std::string read_made(const onnx_file::NodeProto& node, Write write) {
    OnnxDecomposer decomposer(file_, node);
    std::string made = write(decomposer);
    for (const auto& part : decomposer.take()) read_operator(part);
    return made;
  }

  void add_call(std::unique_ptr<onnx_file::GraphProto> graph) {
    if (calls_.size() >= kMaxCalls || depth_ >= kMaxDepth)
      fail("the file calls its functions and runs its loops more than ", kMaxCalls, " times, or more than ",
           kMaxDepth, " in one another");
    calls_.push_back(std::move(graph));
  }

  // The function's nodes stand in place of the node that calls it.
  void read_function(const onnx_file::FunctionProto& function, const onnx_file::NodeProto& node) {
    const std::string prefix = text(node.name.empty() ? node.op_type : node.name, "/", calls_.size(), "/");
    add_call(called_onnx_function(function, node, prefix, *draft_.budget));
    const onnx_file::GraphProto& body = *calls_.back();
    ++depth_;
    read_nodes(body, {node.output.begin(), node.output.end()});
    --depth_;
  }

  void read_operator(const onnx_file::NodeProto& node) {
    const bool standard = is_standard_onnx(node.domain);
    OnnxOp op(file_, node);
    if (standard && node.op_type == "If") return read_if(op, node);
    if (standard && node.op_type == "Loop") return read_loop(op, node);
    if (standard && node.op_type == "Scan") return read_scan(op, node);
    if (standard && fold_onnx_constants(op)) return;
    const OnnxOperator* const known = find_onnx_operator(node.domain, node.op_type);
    const auto* const function = known == nullptr ? find_onnx_function(model_, node) : nullptr;
    if (function != nullptr) return read_function(*function, node);
    if (known == nullptr)
      fail("this operator is not supported", standard ? "" : " (domain " + quoted(node.domain) + ")",
           node.domain == "com.microsoft.nchwc"
               ? "; onnxruntime wrote the file for one machine: save it with ORT_ENABLE_EXTENDED, not ALL"
               : "",
           has_open_size(node) && depth_ == 0 ? cut_before(activations_of(node)) : "");
    if (op.input_count() > 0 && op.has_input(0) && op.all_constant()) return op.evaluate(known->import);
    known->import(op);
    op.check_all_read();
  }

  // Whether the values of a run decide the size of what the node gives.
  static bool has_open_size(const onnx_file::NodeProto& node) {
    for (const char* const name : {"NonMaxSuppression", "NonZero", "Unique", "Compress"})
      if (node.op_type == name) return true;
    return false;
  }

  // Tensors that the node reads and that have been imported.
  std::vector<std::string> activations_of(const onnx_file::NodeProto& node) const {
    std::vector<std::string> names;
    for (const std::string& input : node.input) {
      const auto found = file_.values.find(input);
      if (found == file_.values.end() || found->second.tensor < 0) continue;
      if (!is_model_input(draft_, found->second.tensor)) names.push_back(input);
    }
    return names;
  }

  static std::string words_of(const onnx_file::NodeProto& node, int number) {
    const std::string name = !node.name.empty()        ? node.name
                             : node.output.count() > 0 ? node.output[0]
                                                       : text("node_", number);
    return text("node ", quoted(name), " (", shown(node.op_type), "): ");
  }

  void read_node(const onnx_file::NodeProto& node, int number) {
    try {
      (void)checked_name(node.name);
      const auto parts = decomposed_onnx(file_, node);
      const size_t before = draft_.nodes.size();
      if (parts.empty()) return read_operator(node);
      for (const auto& part : parts) read_operator(part);
      // Messages name the operator of the file.
      for (size_t i = before; i < draft_.nodes.size(); ++i) draft_.nodes[i].source = node.op_type;
      return;
    } catch (const OverBudget& error) {
      throw OverBudget(words_of(node, number) + error.what());
    } catch (const ImportError& error) {
      problems_.add(words_of(node, number) + error.what());
    } catch (const ReadsFailed&) {
    }
    for (const std::string& output : node.output) file_.values[output].failed = true;
  }

  std::vector<std::string> output_names(const onnx_file::GraphProto& graph) const {
    std::vector<std::string> own, known;
    for (const auto& output : graph.output) own.push_back(output.name);
    for (const auto& node : graph.node)
      for (const std::string& output : node.output)
        if (!output.empty()) known.push_back(output);
    return chosen_outputs(options_, own, known);
  }

  // The value behind a name, as the caller gets it: integers as s32, a constant as a tensor that a run writes.
  int32_t output_tensor(const std::string& name) {
    const auto found = file_.values.find(name);
    const bool is_written =
        found != file_.values.end() && (found->second.tensor >= 0 || found->second.constant != nullptr);
    if (!is_written) fail("output ", quoted(name), " is not written by any node");
    onnx_file::NodeProto node;
    node.op_type = "Identity";
    node.input.push_back(name);
    node.output.push_back(name);
    OnnxOp op(file_, node);
    if (found->second.constant == nullptr)
      return found->second.is_integer ? op.as_index(found->second.tensor) : found->second.tensor;
    try {
      return output_constant(op, name);
    } catch (const ImportError& error) {
      fail("output ", quoted(name), ": ", error.what());
    }
  }
  int32_t output_constant(OnnxOp& op, const std::string& name) {
    if (op.is_constant_of_reals(0)) {
      const OnnxConstant<float> constant = op.floats(0);
      return add_constant(draft_, name + "/constant", DType::kF32, at_least_1d(constant.shape),
                          constant.values);
    }
    const OnnxConstant<int64_t> constant = op.integers(0);
    std::vector<int32_t> narrowed;
    for (const int64_t value : constant.values) narrowed.push_back(narrow(value, "number"));
    return add_constant(draft_, name + "/constant", DType::kS32, at_least_1d(constant.shape), narrowed);
  }

  void read_outputs(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      int32_t tensor = output_tensor(name);
      if (is_model_input(draft_, tensor) || is_model_output(draft_, tensor) ||
          draft_.tensor(tensor).constant) {
        const int32_t copy = add_activation_like(draft_, name, tensor, draft_.tensor(tensor).shape);
        add_node({draft_, name, "Identity"}, Op::kReshape, {tensor}, copy);
        tensor = copy;
      }
      draft_.tensor(tensor).name = name;
      draft_.outputs.push_back(tensor);
    }
  }

  const ReadOptions& options_;
  Problems& problems_;
  onnx_file::ModelProto model_;
  size_t node_count_ = 0;                                      // with those of branches and functions
  std::vector<std::unique_ptr<onnx_file::GraphProto>> calls_;  // the bodies of the functions that nodes call
  size_t depth_ = 0;
  OnnxFile file_;
  Draft draft_;
};

}  // namespace

Draft read_onnx(Span<const uint8_t> bytes, const ReadOptions& options,
                const std::vector<InputConstant>& constants, const std::shared_ptr<ImportBudget>& budget,
                Problems& problems) {
  return Reader(bytes, options, budget, problems).read(constants);
}

// The operators of all families.
namespace {

using Family = Span<const OnnxOperator> (*)();

constexpr Family kFamilies[] = {
    onnx_attention_operators,   onnx_binary_operators,        onnx_classical_operators, onnx_conv_operators,
    onnx_elementwise_operators, onnx_fake_quantize_operators, onnx_integer_operators,   onnx_linear_operators,
    onnx_logic_operators,       onnx_norm_operators,          onnx_pieces_operators,    onnx_pool_operators,
    onnx_quantized_operators,   onnx_recurrent_operators,     onnx_reduce_operators,    onnx_repeat_operators,
    onnx_resize_operators,      onnx_scatter_operators,       onnx_shape_operators,
};

// An activation becomes int8 by Quantize and Dequantize around it, so each of its operators must have such a form.
bool has_int8_form(const OnnxOperator& row) {
  return std::all_of(std::begin(row.becomes), std::end(row.becomes), [](Op op) {
    return op == Op::kNone || op == Op::kQuantize || op == Op::kDequantize || op == Op::kLookup ||
           traits(op).int8 != Int8Form::kNone;
  });
}

}  // namespace

const OnnxOperator* find_onnx_operator(const std::string& domain, const std::string& op_type) {
  const std::string known = is_standard_onnx(domain) ? "" : domain;
  for (const Family family : kFamilies)
    for (const OnnxOperator& row : family())
      if (known == row.domain && op_type == row.op_type) return &row;
  return nullptr;
}

std::vector<ImportedOperator> onnx_operators() {
  std::vector<ImportedOperator> list = decomposed_onnx_operators();
  for (const Family family : kFamilies)
    for (const OnnxOperator& row : family())
      list.push_back(imported_operator(row.domain, row.op_type, row.becomes, row.limits, has_int8_form(row)));
  constexpr Op kBranch[] = {Op::kNone};  // the reader itself takes it
  list.push_back(imported_operator(
      "", "If", kBranch,
      "Where constants and shapes decide its condition, the branch that it takes stands there. Else a run computes both, which "
      "give the same shapes.",
      true));
  list.push_back(imported_operator(
      "", "Loop", kBranch,
      "Constants and shapes decide how often it runs: so many copies of its body stand there.", true));
  list.push_back(imported_operator(
      "", "Scan", kBranch,
      "As many copies of its body stand there as its inputs have slices. Before opset 9: sequence_lens are constants.",
      true));
  for (const std::string& name : folded_onnx_operators()) add_folded(list, name);
  std::sort(list.begin(), list.end(), by_name);
  return list;
}

}  // namespace intaglio::importers
