#include "importers/tflite/tflite_control.h"

#include <algorithm>

#include "importers/draft/choice.h"
#include "importers/draft/read_options.h"

namespace intaglio::importers {
namespace {

constexpr int32_t kMostSteps = 1024;      // of a WHILE
constexpr size_t kMostOperators = 32768;  // of all calls
constexpr size_t kMostDepth = 16;

// While it lives, the file's current graph is another one, of whose tensors none is made.
class GraphScope {
 public:
  GraphScope(TfliteFile& file, const tflite::SubGraph& graph)
      : file_(file), shapes_changed_(file.shapes_changed) {
    std::swap(file_.made, made_);
    std::swap(file_.variables.handles, handles_);
    graph_ = std::exchange(file_.graph, &graph);
    file_.made.assign(graph.tensors()->size(), TfliteFile::kNotMade);
    file_.shapes_changed =
        true;  // what the file says of a loop's tensors is right for none of its steps, or for one
    ++file_.calls;
  }
  ~GraphScope() {
    --file_.calls;
    file_.shapes_changed = shapes_changed_;
    file_.graph = graph_;
    std::swap(file_.variables.handles, handles_);
    std::swap(file_.made, made_);
  }
  GraphScope(const GraphScope&) = delete;
  GraphScope& operator=(const GraphScope&) = delete;

 private:
  TfliteFile& file_;
  const tflite::SubGraph* graph_ = nullptr;
  bool shapes_changed_;
  std::vector<int32_t> made_;
  std::map<int32_t, std::string> handles_;
};

const tflite::SubGraph& graph_at(const TfliteFile& file, int32_t index) {
  const auto* graphs = file.model->subgraphs();
  if (index < 1 || static_cast<uint32_t>(index) >= graphs->size())
    fail("graph ", index, " does not exist, or is the first one; the file has ", graphs->size());
  const tflite::SubGraph& graph = *graphs->Get(static_cast<uint32_t>(index));
  if (graph.tensors() == nullptr || graph.operators() == nullptr || graph.inputs() == nullptr ||
      graph.outputs() == nullptr)
    fail("graph ", index, " is incomplete");
  check_count(graph.tensors()->size(), "tensors in a graph", kMaxFileTensors);
  if (graph.operators()->size() > 0)  // none: it gives what it gets
    check_count(graph.operators()->size(), "operators in a graph", kMaxFileNodes);
  return graph;
}

// What stands for one tensor takes the place of another of the current graph.
void bind(TfliteFile& file, int32_t index, int32_t made) {
  if (index < 0 || static_cast<size_t>(index) >= file.made.size())
    fail("tensor ", index, " of the graph that it calls does not exist");
  const DraftTensor in_file = tflite_tensor(file, index), &is = file.draft->tensor(made);
  const bool is_number = in_file.dtype == DType::kS32 && is.dtype == DType::kF32 && !is.constant;
  if (is.dtype != in_file.dtype && !is_number)
    fail("tensor ", quoted(in_file.name), " has another element type where it is called");
  if (is.dtype == DType::kS8 && !is.same_quantization(in_file))
    fail("tensor ", quoted(in_file.name), " has another scale where it is called");
  int32_t& place = file.made[static_cast<size_t>(index)];
  if (place != TfliteFile::kNotMade)
    fail("tensor ", quoted(in_file.name), " is written twice, or is an input");
  place = made;
}

// The graph's outputs, of these inputs.
std::vector<int32_t> called(TfliteOp& op, int32_t index, const std::vector<int32_t>& inputs,
                            const ReadTfliteGraph& read) {
  TfliteFile& file = op.file();
  const tflite::SubGraph& graph = graph_at(file, index);
  if (graph.inputs()->size() != inputs.size())
    fail("graph ", index, " takes ", graph.inputs()->size(), " inputs, it gets ", inputs.size());
  if (file.calls >= kMostDepth) fail("graphs are called more than ", kMostDepth, " in one another");
  file.called_operators += graph.operators()->size() + 1;
  if (file.called_operators > kMostOperators)
    fail("its steps have more than ", kMostOperators, " operators together");
  const GraphScope scope(file, graph);
  for (uint32_t i = 0; i < inputs.size(); ++i) bind(file, graph.inputs()->Get(i), inputs[i]);
  const std::vector<int32_t> ends(graph.outputs()->begin(), graph.outputs()->end());
  for (const int32_t end : ends)
    if (end < 0 || static_cast<size_t>(end) >= file.made.size())
      fail("output ", end, " of graph ", index, " does not exist");
  read(ends);
  std::vector<int32_t> outputs;
  for (const int32_t end : ends) {
    const int32_t made = file.made[static_cast<size_t>(end)];
    if (made == TfliteFile::kFailed) throw ReadsFailed{};
    outputs.push_back(made >= 0 ? made : op.constant_of_graph(end));
  }
  return outputs;
}

std::vector<int32_t> read_inputs(TfliteOp& op, size_t first) {
  std::vector<int32_t> inputs;
  for (size_t i = first; i < op.input_count(); ++i)
    inputs.push_back(op.is_constant(i) ? op.constant_of_graph(op.input_index(i)) : op.any_activation(i));
  return inputs;
}

void set_outputs(TfliteOp& op, const std::vector<int32_t>& outputs) {
  if (outputs.size() != op.output_count())
    fail("the graph that it calls has ", outputs.size(), " outputs, it has ", op.output_count());
  for (size_t i = 0; i < outputs.size(); ++i) bind(op.file(), op.output_index(i), outputs[i]);
}

// A condition that constants decide.
bool is_true(TfliteOp& op, int32_t condition) {
  const DraftTensor& tensor = op.draft().tensor(condition);
  if (!tensor.constant)
    fail("its condition is computed by a run; only one that the file and its shapes decide is supported");
  if (tensor.dtype != DType::kF32 || tensor.data.size() != sizeof(float))
    fail("its condition is no single truth value");
  return values_of<float>(tensor)[0] != 0.0f;
}

void read_while(TfliteOp& op, const ReadTfliteGraph& read) {
  const auto& options = op.options<tflite::WhileOptions>();
  std::vector<int32_t> carried = read_inputs(op, 0);
  for (int32_t step = 0;; ++step) {
    const std::vector<int32_t> condition = called(op, options.cond_subgraph(), carried, read);
    if (condition.size() != 1) fail("its condition has ", condition.size(), " outputs");
    if (!is_true(op, condition[0])) break;
    if (step == kMostSteps) fail("it has more than ", kMostSteps, " steps");
    carried = called(op, options.body_subgraph(), carried, read);
  }
  set_outputs(op, carried);
}

std::map<std::string, int32_t> values_of_variables(TfliteOp& op) {
  std::map<std::string, int32_t> values;
  for (const auto& [name, variable] : op.variables().by_name) values[name] = variable.current;
  return values;
}

// The first one where the condition, one number, is not 0, else the second.
int32_t chosen(TfliteOp& op, int32_t condition, int32_t yes, int32_t no) {
  if (yes == no) return yes;
  Draft& draft = op.draft();
  const DraftTensor like = draft.tensor(yes), &other = draft.tensor(no);
  if (like.dtype != other.dtype || like.shape != other.shape || !like.same_quantization(other))
    fail("its graphs give ", shape_text(like.shape), " and ", shape_text(other.shape),
         ", or different types or scales; a run that decides between them needs the same");
  if (like.shape.empty()) fail("its graphs give numbers without an axis, between which a run cannot decide");
  const auto real = [&](int32_t x) {
    if (like.dtype == DType::kF32) return x;
    if (like.dtype == DType::kS32) return op.as_real(x);
    const int32_t y = add_activation(draft, op.name() + "/real", DType::kF32, like.shape);
    op.add(Op::kDequantize, {x}, y);
    return y;
  };
  std::vector<int32_t> inputs{condition, real(yes), real(no)};
  const Shape shape = align_operands(draft, op.name(), op.source(), inputs);
  const int32_t y = add_activation(draft, op.name(), DType::kF32, shape);
  add_where(draft, op.name(), op.source(), inputs, y);
  if (like.dtype == DType::kF32) return y;
  if (like.dtype == DType::kS32) return op.as_index(y);
  const int32_t codes = add_activation_like(draft, op.name(), yes, shape);
  op.add(Op::kQuantize, {y}, codes);
  return codes;
}

// A run decides: both graphs are computed.
void read_both(TfliteOp& op, const tflite::IfOptions& options, const ReadTfliteGraph& read) {
  const int32_t condition = op.activation(0);
  if (elements(op.draft().tensor(condition).shape) != 1) fail("its condition is no single truth value");
  const std::vector<int32_t> inputs = read_inputs(op, 1);
  const auto before = values_of_variables(op);
  std::vector<int32_t> outputs = called(op, options.then_subgraph(), inputs, read);
  const std::vector<int32_t> others = called(op, options.else_subgraph(), inputs, read);
  if (values_of_variables(op) != before)
    fail("its condition is computed by a run, and its graphs use variables, which only one of them may do");
  if (outputs.size() != others.size())
    fail("its graphs have ", outputs.size(), " and ", others.size(), " outputs");
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = chosen(op, condition, outputs[i], others[i]);
  set_outputs(op, outputs);
}

void read_if(TfliteOp& op, const ReadTfliteGraph& read) {
  const auto& options = op.options<tflite::IfOptions>();
  if (op.input_count() < 1) fail("its condition is missing");
  if (!op.is_constant(0)) return read_both(op, options, read);
  const bool condition = is_true(op, op.constant_of_graph(op.input_index(0)));
  set_outputs(op, called(op, condition ? options.then_subgraph() : options.else_subgraph(),
                         read_inputs(op, 1), read));
}

void read_call(TfliteOp& op, const ReadTfliteGraph& read) {
  const int64_t index = op.options<tflite::CallOptions>().subgraph();
  set_outputs(op, called(op, narrow(index, "graph"), read_inputs(op, 0), read));
}

// LiteRT's kernels of the composite, where it has any, compute what the graph does.
void read_composite(TfliteOp& op, const ReadTfliteGraph& read) {
  const int32_t index = op.newer_options<tflite::CompositeOptions>().subgraph();
  set_outputs(op, called(op, index, read_inputs(op, 0), read));
}

// Without a handler: the reader comes here first.
constexpr TfliteOperator kOperators[] = {
    {Builtin::CALL, nullptr, {}, "The graph's operators stand in its place."},
    {Builtin::IF,
     nullptr,
     {},
     "Where a run decides, both graphs are computed; they give the same shapes and use no variables."},
    {Builtin::STABLEHLO_COMPOSITE, nullptr, {}, "The graph's operators stand in its place."},
    {Builtin::WHILE, nullptr, {}, "Constants decide the number of steps, at most 1024, which are unrolled."},
};

}  // namespace

bool read_tflite_control(TfliteOp& op, Builtin builtin, const ReadTfliteGraph& read) {
  if (builtin == Builtin::WHILE) return read_while(op, read), true;
  if (builtin == Builtin::IF) return read_if(op, read), true;
  if (builtin == Builtin::CALL) return read_call(op, read), true;
  if (builtin == Builtin::STABLEHLO_COMPOSITE) return read_composite(op, read), true;
  return false;
}

Span<const TfliteOperator> tflite_control_operators() { return kOperators; }

}  // namespace intaglio::importers
