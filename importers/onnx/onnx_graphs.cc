// Graphs within a file: the order in which nodes run, functions that the file defines, bodies of loops.
//
// A node that calls a function stands for the function's own nodes.
#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "importers/onnx/onnx_decomposer.h"
#include "importers/onnx/onnx_operators.h"
#include "importers/onnx/onnx_reader.h"

namespace intaglio::importers {

namespace {

using onnx_file::AttributeProto;
using onnx_file::FunctionProto;
using onnx_file::GraphProto;
using onnx_file::NodeProto;

constexpr int kMostDepth = 16;  // of graphs in attributes

// Names and attributes of one call in place of the function's.
class Call {
 public:
  Call(const FunctionProto& function, const NodeProto& node, const std::string& prefix)
      : node_(node), defaults_(function.attribute_proto), prefix_(prefix) {
    if (node.input.count() > function.input.count() || node.output.count() > function.output.count())
      fail("it has ", node.input.count(), " inputs and ", node.output.count(), " outputs; its function ",
           quoted(function.name), " has ", function.input.count(), " and ", function.output.count());
    for (int i = 0; i < function.input.count(); ++i)
      names_[function.input[i]] = i < node.input.count() ? node.input[i] : std::string();
    for (int i = 0; i < node.output.count(); ++i)
      if (!node.output[i].empty()) names_[function.output[i]] = node.output[i];
  }

  NodeProto renamed(const NodeProto& from, int depth = 0) const {
    if (depth > kMostDepth) fail("its function's graphs are nested more than ", kMostDepth, " deep");
    NodeProto made = from;
    made.name = prefix_ + from.name;
    for (std::string& name : made.input) name = name_of(name);
    for (std::string& name : made.output) name = name_of(name);
    made.attribute.clear();
    for (const AttributeProto& attribute : from.attribute) {
      if (!attribute.ref_attr_name.empty()) {
        add_given(attribute, made);
        continue;
      }
      AttributeProto& copy = made.attribute.add();
      copy = attribute;
      if (copy.g.has()) rename(copy.g.make(), depth);
    }
    return made;
  }

  // Memory of the node's copy. It takes attributes of the call: a large one may be referred to often.
  uint64_t copy_bytes(const NodeProto& from, int depth = 0) const {
    uint64_t bytes =
        depth == 0 ? memory_size(from) + prefix_.size() * (1 + from.input.size() + from.output.size()) : 0;
    for (const AttributeProto& attribute : from.attribute) {
      const bool is_given = !attribute.ref_attr_name.empty();
      if (const AttributeProto* const own = is_given ? given(attribute) : nullptr) bytes += memory_size(*own);
      if (is_given || depth == kMostDepth) continue;
      for (const NodeProto& inner : attribute.g->node) bytes += copy_bytes(inner, depth + 1);
    }
    return bytes;
  }

 private:
  std::string name_of(const std::string& name) const {
    const auto known = names_.find(name);
    return name.empty() ? name : known != names_.end() ? known->second : prefix_ + name;
  }

  // The call's value of the attribute that the function's node refers to; else the function's own value, or none.
  const AttributeProto* given(const AttributeProto& reference) const {
    const auto find_in = [&](const auto& attributes) -> const AttributeProto* {
      for (const AttributeProto& attribute : attributes)
        if (attribute.name == reference.ref_attr_name) return &attribute;
      return nullptr;
    };
    const AttributeProto* const own = find_in(node_.attribute);
    return own != nullptr ? own : find_in(defaults_);
  }

  void add_given(const AttributeProto& reference, NodeProto& made) const {
    const AttributeProto* const attribute = given(reference);
    if (attribute == nullptr) return;
    AttributeProto& copy = made.attribute.add();
    copy = *attribute;
    copy.name = reference.name;
  }

  void rename(GraphProto& graph, int depth) const {
    for (NodeProto& node : graph.node) node = renamed(node, depth + 1);
    for (auto& constant : graph.initializer) constant.name = name_of(constant.name);
    for (auto& input : graph.input) input.name = name_of(input.name);
    for (auto& output : graph.output) output.name = name_of(output.name);
  }

  const NodeProto& node_;
  const onnx_file::Messages<AttributeProto>& defaults_;
  std::string prefix_;
  std::map<std::string, std::string> names_;
};

}  // namespace

const FunctionProto* find_onnx_function(const onnx_file::ModelProto& model, const NodeProto& node) {
  for (const FunctionProto& function : model.functions)
    if (function.name == node.op_type && function.domain == node.domain) return &function;
  return nullptr;
}

std::unique_ptr<GraphProto> called_onnx_function(const FunctionProto& function, const NodeProto& node,
                                                 const std::string& prefix, ImportBudget& budget) {
  const Call call(function, node, prefix);
  for (const NodeProto& inner : function.node)
    budget.spend_memory(call.copy_bytes(inner), "a copy of its function");
  auto graph = std::make_unique<GraphProto>();
  for (const NodeProto& inner : function.node) graph->node.add() = call.renamed(inner);
  return graph;
}

namespace {

using NameSet = std::unordered_set<std::string>;

// Branches read the names of the graph around them.
void want_inputs(const onnx_file::NodeProto& node, NameSet& wanted) {
  wanted.insert(node.input.begin(), node.input.end());
  for (const auto& attribute : node.attribute) {
    for (const auto& inner : attribute.g->node) want_inputs(inner, wanted);
    for (const auto& output : attribute.g->output) wanted.insert(output.name);
  }
}

// Among nodes that can run next, the first in the file comes first.
std::vector<int> run_order(const onnx_file::GraphProto& graph) {
  const auto count = static_cast<size_t>(graph.node.count());
  std::unordered_map<std::string, int> writers;
  for (int i = 0; i < graph.node.count(); ++i)
    for (const std::string& output : graph.node[i].output)
      if (!output.empty()) writers.emplace(output, i);
  std::vector<std::vector<int>> readers(count);
  std::vector<size_t> missing(count, 0);
  for (int i = 0; i < graph.node.count(); ++i) {
    NameSet names;
    want_inputs(graph.node[i], names);
    for (const std::string& name : names) {
      const auto writer = writers.find(name);
      if (writer == writers.end() || writer->second == i) continue;
      readers[static_cast<size_t>(writer->second)].push_back(i);
      ++missing[static_cast<size_t>(i)];
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < graph.node.count(); ++i)
    if (missing[static_cast<size_t>(i)] == 0) ready.push(i);
  std::vector<int> order;
  while (!ready.empty()) {
    const int next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const int reader : readers[static_cast<size_t>(next)])
      if (--missing[static_cast<size_t>(reader)] == 0) ready.push(reader);
  }
  for (int i = 0; i < graph.node.count(); ++i)
    if (missing[static_cast<size_t>(i)] != 0) order.push_back(i);
  return order;
}

}  // namespace

std::vector<int> needed_in_order(const onnx_file::GraphProto& graph,
                                 const std::vector<std::string>& outputs) {
  NameSet wanted(outputs.begin(), outputs.end());
  const std::vector<int> order = run_order(graph);
  std::vector<bool> needed(order.size(), false);
  for (size_t place = order.size(); place-- > 0;) {
    const onnx_file::NodeProto& node = graph.node[order[place]];
    for (const std::string& output : node.output) needed[place] = needed[place] || wanted.count(output) != 0;
    if (needed[place]) want_inputs(node, wanted);
  }
  std::vector<int> list;
  for (size_t place = 0; place < order.size(); ++place)
    if (needed[place]) list.push_back(order[place]);
  return list;
}

// Copies of the body of a Loop or a Scan, one for each time that it runs: nodes with names of their own.

namespace {

using Names = std::unordered_map<std::string, std::string>;

constexpr int kMostLoopDepth = 16;  // of graphs in attributes

// Values that a graph writes itself get another name; others are those of the graph around it. An If gives its branches nothing: an
// input that one declares is a value of the graph around it, too.
void name_own(const onnx_file::GraphProto& graph, bool takes_inputs, const std::string& constants,
              const std::string& prefix, Names& names, int depth) {
  if (depth > kMostLoopDepth) fail("its graphs are nested more than ", kMostLoopDepth, " deep");
  const auto add = [&](const std::string& name) {
    if (!name.empty()) names.emplace(name, prefix + name);
  };
  if (takes_inputs)
    for (const auto& input : graph.input) add(input.name);
  for (const auto& constant : graph.initializer)
    names.emplace(constant.name, (depth == 0 ? constants : prefix) + constant.name);
  for (const auto& node : graph.node) {
    for (const std::string& output : node.output) add(output);
    for (const auto& attribute : node.attribute)
      if (attribute.g.has())
        name_own(*attribute.g, node.op_type != "If", constants, prefix, names, depth + 1);
  }
}

void rename(onnx_file::GraphProto& graph, const std::string& prefix, const Names& names) {
  const auto of = [&](const std::string& name) {
    const auto known = names.find(name);
    return known == names.end() ? name : known->second;
  };
  for (auto& input : graph.input) input.name = of(input.name);
  for (auto& constant : graph.initializer) constant.name = of(constant.name);
  for (auto& output : graph.output) output.name = of(output.name);
  for (auto& node : graph.node) {
    node.name = prefix + node.name;
    for (std::string& name : node.input) name = of(name);
    for (std::string& name : node.output) name = of(name);
    for (auto& attribute : node.attribute)
      if (attribute.g.has()) rename(attribute.g.make(), prefix, names);
  }
}

// One entry of each attribute for each of `count` inputs or outputs; 0 where it is absent.
std::vector<OnnxScan::Slices> slices(const OnnxOp& op, const char* axes, const char* directions, int count) {
  const auto each = [&](const char* attribute) {
    std::vector<int64_t> values = op.OnnxNodeAttributes::integers(attribute);
    if (values.empty()) values.resize(static_cast<size_t>(count));
    if (values.size() != static_cast<size_t>(count))
      fail("its attribute ", attribute, " has ", values.size(), " numbers where ", count, " are expected");
    return values;
  };
  const std::vector<int64_t> along = each(axes), back = each(directions);
  std::vector<OnnxScan::Slices> made;
  for (size_t i = 0; i < along.size(); ++i) made.push_back({along[i], back[i] != 0});
  return made;
}

// How many slices of each row of the batch are taken.
std::vector<int64_t> lengths_of_rows(const OnnxDecomposer& s, int64_t rows, int64_t slices) {
  if (!s.has(0)) return std::vector<int64_t>(static_cast<size_t>(rows), slices);
  const std::vector<int64_t> lengths = s.constant(0);
  if (lengths.empty())
    fail("its sequence_lens are computed by a run; give them as a constant, with --constant ",
         shown(s.input(0)), "=V where they are an input");
  if (lengths.size() != static_cast<size_t>(rows))
    fail("it has ", lengths.size(), " sequence_lens for ", rows, " rows of the batch");
  for (const int64_t length : lengths)
    if (length < 1 || length > slices) fail("its sequence_lens hold ", length, " of ", slices, " slices");
  return lengths;
}

// The result of a row's scan, with zeros behind it up to `slices`.
std::string with_zeros(OnnxDecomposer& s, const std::string& x, int64_t length, int64_t slices) {
  if (length == slices) return x;
  const std::string of_one = s.slice(s.add("Shape", {x}), 0, 1, INT32_MAX);
  const std::string zeros =
      s.add("ConstantOfShape", {s.joined({s.integers({slices - length}), of_one}, {}, 0)});
  return s.joined({x, zeros}, {}, 0);
}

// Before opset 9 the first axis of all inputs is a batch: a scan of each of its rows, along its first axis.
void decompose_batched_scan(OnnxDecomposer& s) {
  if (s.opset() >= 9) return;
  const onnx_file::GraphProto& body = s.graph("body");
  const int sliced = static_cast<int>(std::clamp<int64_t>(s.integer("num_scan_inputs", 0), 0, INT32_MAX));
  const int inputs = s.input_count() - 1, states = inputs - sliced, outputs = body.output.count();
  if (sliced < 1 || states < 0 || outputs < states || s.has_output(outputs) || body.input.count() != inputs)
    fail("its body has ", body.input.count(), " inputs and ", outputs, " outputs, which do not fit its ",
         inputs, " inputs behind sequence_lens, ", sliced, " of them in slices");
  int64_t rows = 0, slices = 0;
  for (int i = 0; i < inputs; ++i) {
    const Shape shape = s.shape(1 + i);
    const bool is_sliced = i >= states;
    if (shape.size() < (is_sliced ? 2 : 1)) fail("input ", 1 + i, " has no axis for a batch");
    if (i == 0) rows = shape[0];
    if (i == states) slices = shape[1];
    if (shape[0] != rows || (is_sliced && shape[1] != slices))
      fail("input ", 1 + i, " has the shape ", shape_text(shape), ", where a batch of ", rows,
           is_sliced ? text(" and ", slices, " slices are") : " is", " expected");
  }
  constexpr int64_t kMostRows = 4096;  // as many as a file may have copies of bodies
  if (rows < 1 || rows > kMostRows) fail("it has a batch of ", rows, "; 1 to ", kMostRows, " are supported");
  s.check_memory(static_cast<uint64_t>(rows) * memory_size(body),
                 "the copies of its body for each row of a batch");
  const std::vector<int64_t> lengths = lengths_of_rows(s, rows, slices);
  std::vector<std::vector<std::string>> parts(static_cast<size_t>(outputs));
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t length = lengths[static_cast<size_t>(row)];
    std::vector<std::string> taken, given;
    for (int i = 0; i < inputs; ++i) {
      taken.push_back(s.add("Gather", {s.input(1 + i), s.whole(row)}, {{"axis", 0}}));
      if (i >= states && length < slices) taken.back() = s.slice(taken.back(), 0, 0, length);
    }
    for (int i = 0; i < outputs; ++i) given.push_back(s.unique(text(s.source(), "/", row, "/", i)));
    s.add_own("Scan", taken, {}, given[0]);
    s.add_outputs({given.begin() + 1, given.end()});
    for (int i = 0; i < outputs; ++i) {
      std::vector<int64_t> dims{1};
      if (i < states) {
        const Shape shape = s.shape(1 + i);
        dims.insert(dims.end(), shape.begin() + 1, shape.end());
      }
      const std::string& part = given[static_cast<size_t>(i)];
      parts[static_cast<size_t>(i)].push_back(i < states ? s.reshaped(part, dims)
                                                         : with_zeros(s, part, length, slices));
    }
  }
  for (int i = 0; i < outputs; ++i) {
    if (!s.has_output(i)) continue;
    const std::vector<std::string>& own = parts[static_cast<size_t>(i)];
    if (i < states)
      s.joined(own, s.output(i), 0);
    else
      s.stacked(own, s.output(i), 0, false);
  }
}

constexpr OnnxDecomposition kLoopDecompositions[] = {
    {"Scan", decompose_batched_scan, {}, nullptr, kStandard}};

}  // namespace

Span<const OnnxDecomposition> onnx_scan_decompositions() { return kLoopDecompositions; }

OnnxScan read_onnx_scan(const OnnxOp& op, const OnnxDecomposer& node, const onnx_file::GraphProto& body) {
  const auto sliced = static_cast<int>(std::clamp<int64_t>(op.integer("num_scan_inputs", 0), 0, INT32_MAX));
  OnnxScan scan;
  scan.states = op.input_count() - sliced;
  const int stacked = body.output.count() - scan.states;
  if (sliced < 1 || scan.states < 0 || stacked < 0 || body.input.count() != op.input_count() ||
      op.output_count() > body.output.count())
    fail("its body has ", body.input.count(), " inputs and ", body.output.count(),
         " outputs, which do not fit its ", op.input_count(), " inputs, ", sliced, " of them in slices");
  scan.inputs =
      slices(op, "scan_input_axes", op.opset() < 9 ? "directions" : "scan_input_directions", sliced);
  scan.outputs = slices(op, "scan_output_axes", "scan_output_directions", stacked);
  for (int i = 0; i < sliced; ++i) {
    const Shape shape = node.shape(scan.states + i);
    OnnxScan::Slices& input = scan.inputs[static_cast<size_t>(i)];
    input.axis = normal_axis(input.axis, shape.size());
    const int32_t count = shape[static_cast<size_t>(input.axis)];
    if (i > 0 && count != scan.runs) fail("its inputs have ", scan.runs, " and ", count, " slices");
    scan.runs = count;
  }
  return scan;
}

std::unique_ptr<onnx_file::GraphProto> onnx_loop_body(const onnx_file::GraphProto& body,
                                                      const std::vector<std::string>& inputs,
                                                      const std::string& constants, const std::string& prefix,
                                                      ImportBudget& budget) {
  budget.spend_memory(memory_size(body) + prefix.size() * body.node.size(), "a copy of its body");
  Names names;
  const size_t taken = std::min(static_cast<size_t>(body.input.count()), inputs.size());
  for (size_t i = 0; i < taken; ++i) names.emplace(body.input[static_cast<int>(i)].name, inputs[i]);
  name_own(body, !inputs.empty(), constants, prefix, names, 0);
  auto made = std::make_unique<onnx_file::GraphProto>();
  made->node = body.node;
  made->output = body.output;
  rename(*made, prefix, names);
  return made;
}

// ONNX operators that repeat elements, move them between channels and pixels, or go along an axis.

namespace {

// `of_axis[d]`: how often axis d of x stands in the result.
int32_t add_repeats(OnnxOp& op, int32_t x, const std::vector<int64_t>& of_axis) {
  for (size_t d = 0; d < of_axis.size(); ++d) {
    const int32_t dim = op.shape(x)[d];
    if (of_axis[d] == 1) continue;
    if (of_axis[d] < 1 || of_axis[d] > kMaxTensorBytes / dim)
      fail("it repeats axis ", d, " ", of_axis[d], " times");
    std::vector<int32_t> indices;
    Shape shape = op.shape(x);
    shape[d] = static_cast<int32_t>(dim * of_axis[d]);
    check_shape(shape, DType::kF32);
    indices.resize(static_cast<size_t>(shape[d]));
    for (int32_t i = 0; i < shape[d]; ++i) indices[static_cast<size_t>(i)] = i % dim;
    x = add_gather(op.result(), x, static_cast<int32_t>(d), indices);
  }
  return x;
}

int32_t read_block(OnnxOp& op) {
  const int64_t block = op.integer("blocksize", 0);
  if (block < 1 || block > 4096) fail("its blocksize ", block, " is not allowed (1 to 4096)");
  return static_cast<int32_t>(block);
}

void import_tile(OnnxOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation_or_codes(0);
  const std::vector<int64_t> repeats = op.integers(1).values;
  const Shape& shape = op.shape(x);
  if (repeats.size() != shape.size())
    fail("it has ", repeats.size(), " repeats for an input of rank ", shape.size());
  op.set_output(add_repeats(op, x, repeats));
}

void import_expand(OnnxOp& op) {
  op.check_inputs(2, 2);
  const int32_t input = op.activation_or_codes(0);
  const std::vector<int64_t> to = op.integers(1).values;
  Shape from = op.shape(input);
  if (from.size() > to.size() + static_cast<size_t>(kMaxRank) || to.size() > static_cast<size_t>(kMaxRank))
    fail("its shape has ", to.size(), " dimensions");
  if (from.size() < to.size()) from.insert(from.begin(), to.size() - from.size(), 1);
  std::vector<int64_t> repeats(from.size(), 1);
  for (size_t i = 0; i < to.size(); ++i) {
    const size_t d = from.size() - to.size() + i;
    if (to[i] != 1 && from[d] != 1 && to[i] != from[d])
      fail("it expands ", shape_text(from), " to a dimension of ", to[i]);
    if (from[d] == 1) repeats[d] = to[i];
  }
  const int32_t x = add_reshape(op.part("/aligned"), input, from);
  op.set_output(add_repeats(op, x, repeats));
}

void import_depth_to_space(OnnxOp& op) {
  op.check_inputs(1, 1);
  const std::string mode = op.string("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") fail("mode ", quoted(mode), " is not known");
  const int32_t block = read_block(op);
  const int32_t x = op.nhwc(op.activation_or_codes(0));
  const int32_t y = add_depth_to_space(op.result(), x, block, mode == "CRD");
  op.set_output(add_transpose(op.result(), y, kToNchw));
}

void import_space_to_depth(OnnxOp& op) {
  op.check_inputs(1, 1);
  const int32_t block = read_block(op);
  const int32_t x = op.nhwc(op.activation_or_codes(0));
  const int32_t y = add_space_to_depth(op.result(), x, block);
  op.set_output(add_transpose(op.result(), y, kToNchw));
}

void import_cum_sum(OnnxOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation(0);
  const std::vector<int64_t> axis = op.integers(1).values;
  if (axis.size() != 1) fail("it has ", axis.size(), " axes; one is supported");
  const int32_t along = normal_axis(axis[0], op.shape(x).size());
  const bool exclusive = op.integer("exclusive", 0) != 0, reverse = op.integer("reverse", 0) != 0;
  op.set_output(add_cumulative_sum(op.result(), x, along, exclusive, reverse));
}

// The elements of each matrix on one side of a diagonal; the others are 0.
void import_trilu(OnnxOp& op) {
  op.check_inputs(1, 2);
  const int32_t x = op.activation(0);
  const Shape shape = op.shape(x);
  if (shape.size() < 2) fail("its input has the shape ", shape_text(shape), "; rank 2 or more is expected");
  const std::vector<int64_t> k = op.has_input(1) ? op.integers(1).values : std::vector<int64_t>{0};
  if (k.size() != 1) fail("it has ", k.size(), " diagonals; one is expected");
  const bool upper = op.integer("upper", 1) != 0;
  Shape ones(shape.size(), 1);
  const Shape zero_shape = ones;
  ones[shape.size() - 2] = shape[shape.size() - 2];
  ones.back() = shape.back();
  op.draft().budget->check_numbers(int64_t{ones[shape.size() - 2]} * ones.back());
  std::vector<float> side;
  for (int64_t row = 0; row < ones[shape.size() - 2]; ++row)
    for (int64_t column = 0; column < ones.back(); ++column)
      side.push_back((upper ? column - row >= k[0] : column - row <= k[0]) ? 1.0f : 0.0f);
  const int32_t condition = add_constant(op.draft(), op.name() + "/side", DType::kF32, ones, side);
  const int32_t zero =
      add_constant(op.draft(), op.name() + "/zero", DType::kF32, zero_shape, std::vector<float>{0.0f});
  op.set_output(op.make(Op::kWhere, {condition, x, zero}, shape));
}

constexpr OnnxOperator kOnnxRepeatOperators[] = {
    {"CumSum",
     import_cum_sum,
     {Op::kFullyConnected, Op::kTranspose},
     "The axis is a constant, of at most 4096 elements."},
    {"DepthToSpace", import_depth_to_space, {Op::kReshape, Op::kTranspose}, "Rank 4."},
    {"Expand", import_expand, {Op::kGather, Op::kReshape}, "The shape is a constant."},
    {"SpaceToDepth", import_space_to_depth, {Op::kReshape, Op::kTranspose}, "Rank 4."},
    {"Tile", import_tile, {Op::kGather}, "Repeats are constants."},
    {"Trilu", import_trilu, {Op::kWhere}, "The diagonal is a constant."},
};

}  // namespace

Span<const OnnxOperator> onnx_repeat_operators() { return kOnnxRepeatOperators; }

}  // namespace intaglio::importers
