#include "importers/tflite/tflite_operators.h"

#include <algorithm>

#include "importers/draft/draft.h"
#include "importers/draft/read_options.h"

namespace intaglio::importers {

namespace {

constexpr int32_t kMostSteps = 1024;      // of a WHILE
constexpr size_t kMostOperators = 32768;  // of all calls, and choices between what they give
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

void count_operators(TfliteFile& file, size_t count) {
  file.called_operators += count;
  if (file.called_operators > kMostOperators)
    fail("what this and earlier operators call has more than ", kMostOperators, " operators together");
}

// The value of one tensor takes the place of another of the current graph.
void bind(TfliteFile& file, int32_t index, int32_t made) {
  if (index < 0 || static_cast<size_t>(index) >= file.made.size())
    fail("tensor ", index, " of the graph that it calls does not exist");
  const DraftTensor in_file = tflite_tensor(file, index), &is = file.draft->tensor(made);
  const bool is_number = in_file.dtype == DType::kS32 && is.dtype == DType::kF32 && !is.constant;
  if (is.dtype != in_file.dtype && !is_number)
    fail("tensor ", quoted(in_file.name), " has another element type where it is called");
  if (is.dtype == DType::kS8 && !is.same_quantization(in_file))
    fail("tensor ", quoted(in_file.name), " has another scale where it is called");
  const bool is_allowed = in_file.shape.empty() || tflite_allows(file.tensor(index), at_least_1d(is.shape));
  if (!is_allowed && !file.shapes_changed)
    fail("tensor ", quoted(in_file.name), " is ", shape_text(in_file.shape),
         " in the file, the graph that is called gives ", shape_text(is.shape));
  int32_t& place = file.made_of(index);
  if (place != TfliteFile::kNotMade)
    fail("tensor ", quoted(in_file.name), " is written twice, or is an input");
  place = made;
}

// The graph's outputs, of these inputs.
std::vector<int32_t> called(TfliteOp& op, int32_t index, const std::vector<int32_t>& inputs,
                            const ReadTfliteGraph& read) {
  TfliteFile& file = op.file();
  const tflite::SubGraph& graph = tflite_graph_at(file, index);
  if (graph.inputs()->size() != inputs.size())
    fail("graph ", index, " takes ", graph.inputs()->size(), " inputs, it gets ", inputs.size());
  if (file.calls >= kMostDepth) fail("graphs are called more than ", kMostDepth, " in one another");
  count_operators(file, graph.operators()->size() + 1);
  const GraphScope scope(file, graph);
  for (uint32_t i = 0; i < inputs.size(); ++i) bind(file, graph.inputs()->Get(i), inputs[i]);
  const std::vector<int32_t> ends(graph.outputs()->begin(), graph.outputs()->end());
  for (const int32_t end : ends)
    if (end < 0 || static_cast<size_t>(end) >= file.made.size())
      fail("output ", end, " of graph ", index, " does not exist");
  read(ends);
  std::vector<int32_t> outputs;
  for (const int32_t end : ends) {
    const int32_t made = file.made_of(end);
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

void check_output_count(const TfliteOp& op, size_t count) {
  if (count != op.output_count())
    fail("the graph that it calls has ", count, " outputs, it has ", op.output_count());
}

void set_outputs(TfliteOp& op, const std::vector<int32_t>& outputs) {
  check_output_count(op, outputs.size());
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

// In the order of their names, of which none ever goes away.
std::vector<int32_t> values_of_variables(TfliteOp& op) {
  std::vector<int32_t> values;
  for (const auto& [name, variable] : op.variables().by_name) values.push_back(variable.current);
  return values;
}

// The operands of a choice: integers of a run as FP32, and a copy of a constant, since passes and other operators change constants
// where they stand.
int32_t own_operand(TfliteOp& op, int32_t tensor) {
  Draft& draft = op.draft();
  const DraftTensor& info = draft.tensor(tensor);
  if (!info.constant) return op.as_real(tensor);
  draft.budget->spend_constant(static_cast<uint64_t>(elements(info.shape)), sizeof(float));
  if (info.dtype == DType::kS32)
    for (const int32_t value : values_of<int32_t>(info))
      if (static_cast<int64_t>(static_cast<float>(value)) != value)
        fail("constant ", quoted(info.name), " holds ", value,
             ": a run chooses between integers in FP32, which does not have this one");
  DraftTensor copy = info;
  copy.shape = at_least_1d(info.shape);
  return draft.put(std::move(copy));
}

// Output `i`: the first one where the condition, of shape [1], is not 0, else the second.
int32_t chosen(TfliteOp& op, size_t i, int32_t condition, int32_t yes, int32_t no) {
  if (yes == no) return yes;
  Draft& draft = op.draft();
  const int32_t a = own_operand(op, yes), b = own_operand(op, no);
  const DraftTensor &like = draft.tensor(a), &other = draft.tensor(b);
  // Integers that a run computes are FP32.
  const bool are_integers =
      op.output_holds_integers(i) && like.dtype != DType::kS8 && other.dtype != DType::kS8;
  if (like.shape != other.shape || !(are_integers || like.same_quantization(other)))
    fail("its graphs give ", shape_text(like.shape), " and ", shape_text(other.shape),
         ", or different types or scales; a run that decides between them needs the same");
  std::vector<int32_t> inputs{condition, real_of(op, a), real_of(op, b)};
  const std::string name = tflite_tensor_name(op.file(), op.output_index(i));
  const int32_t y = add_activation(draft, name, DType::kF32, like.shape);
  align_operands(op.named(name), inputs);
  add_where(op.named(name), inputs, y);
  if (like.dtype != DType::kS8) return y;
  const int32_t codes = add_activation_like(draft, name, a, like.shape);
  op.add(Op::kQuantize, {y}, codes);
  return codes;
}

// A run decides: both graphs are computed.
void read_both(TfliteOp& op, const tflite::IfOptions& options, const ReadTfliteGraph& read) {
  const int32_t given = read_real(op, 0);
  if (elements(op.shape(given)) != 1) fail("its condition is no single truth value");
  const int32_t condition = add_reshape(op.part("/condition"), given, {1});
  const std::vector<int32_t> inputs = read_inputs(op, 1);
  const std::vector<int32_t> before = values_of_variables(op);
  const auto outputs_of = [&](int32_t graph) {
    std::vector<int32_t> outputs = called(op, graph, inputs, read);
    check_output_count(op, outputs.size());
    if (values_of_variables(op) != before)
      fail("its condition is computed by a run, and its graphs use variables, which only one of them may do");
    return outputs;
  };
  std::vector<int32_t> outputs = outputs_of(options.then_subgraph());
  const std::vector<int32_t> others = outputs_of(options.else_subgraph());
  count_operators(op.file(), outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = chosen(op, i, condition, outputs[i], others[i]);
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

}  // namespace

const tflite::SubGraph& tflite_graph_at(const TfliteFile& file, int32_t index) {
  const auto* graphs = file.model->subgraphs();
  if (index < 1 || static_cast<uint32_t>(index) >= graphs->size())
    fail("graph ", index, " does not exist, or is the first one; the file has ", graphs->size());
  const tflite::SubGraph& graph = *graphs->Get(static_cast<uint32_t>(index));
  if (graph.tensors() == nullptr || graph.operators() == nullptr || graph.inputs() == nullptr ||
      graph.outputs() == nullptr)
    fail("graph ", index, " is incomplete");
  check_count(graph.tensors()->size(), "tensors in a graph", kMaxFileTensors);
  const auto check_most = [](size_t count, const char* what, size_t most) {
    if (count > 0) check_count(count, what, most);
  };
  // Without operators it gives what it gets.
  check_most(graph.operators()->size(), "operators in a graph", kMaxFileNodes);
  check_most(graph.inputs()->size(), "inputs of a called graph", kMaxFileEnds);
  check_most(graph.outputs()->size(), "outputs of a called graph", kMaxFileEnds);
  return graph;
}

bool read_tflite_control(TfliteOp& op, Builtin builtin, const ReadTfliteGraph& read) {
  if (builtin == Builtin::WHILE) return read_while(op, read), true;
  if (builtin == Builtin::IF) return read_if(op, read), true;
  if (builtin == Builtin::CALL) return read_call(op, read), true;
  if (builtin == Builtin::STABLEHLO_COMPOSITE) return read_composite(op, read), true;
  return false;
}

// TFLite operators that repeat elements or move them between batches, channels and pixels.

namespace {

// x, each axis as often as `repeats` says, as the node's output.
void add_repeats(TfliteOp& op, int32_t x, const std::vector<int64_t>& repeats) {
  Shape shape = op.shape(x);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (repeats[d] < 1 || repeats[d] > kMaxTensorBytes / shape[d])
      fail("it repeats axis ", d, " ", repeats[d], " times");
    shape[d] = static_cast<int32_t>(shape[d] * repeats[d]);
    check_shape(shape, op.draft().tensor(x).dtype);
  }
  const int32_t y = op.output_same(x, shape);
  int32_t repeated = x;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (repeats[d] == 1) continue;
    std::vector<int32_t> indices;
    for (int32_t i = 0; i < shape[d]; ++i) indices.push_back(i % op.shape(x)[d]);
    repeated = add_gather(op.part("/repeated"), repeated, static_cast<int32_t>(d), indices);
  }
  op.add(Op::kReshape, {repeated}, y);
  op.finish_same();
}

struct Blocks {
  std::vector<int32_t> size, before, after;
};

// Block sizes of height and width, and what is padded or cropped there.
Blocks read_blocks(TfliteOp& op, const char* what) {
  op.check_inputs(3, 3);
  const std::vector<int64_t> size = op.integers(1), ends = op.integers(2);
  if (size.size() != 2 || ends.size() != 4)
    fail("it has ", size.size(), " block sizes and ", ends.size(), " ", what, "; 2 and 4 are expected");
  Blocks blocks;
  for (const int64_t block : size) {
    if (block < 1 || block > 4096) fail("its block size ", block, " is not allowed (1 to 4096)");
    blocks.size.push_back(static_cast<int32_t>(block));
  }
  for (size_t i = 0; i < 4; ++i) {
    if (ends[i] < 0 || ends[i] > 1 << 20) fail(what, " ", ends[i], " is not allowed (0 to ", 1 << 20, ")");
    (i % 2 == 0 ? blocks.before : blocks.after).push_back(static_cast<int32_t>(ends[i]));
  }
  return blocks;
}

Shape picture(const Draft& draft, int32_t x) {
  const Shape shape = draft.tensor(x).shape;
  check_rank(shape, 4);
  return shape;
}

void add_blocks(TfliteOp& op, Op kind, int32_t x, const Blocks& blocks, const Shape& shape) {
  const int32_t y = op.output_same(x, shape);
  DraftNode& node = op.add(kind, {x}, y);
  node.options.as<StridedSliceOptions>().strides = op.draft().list(blocks.size);
  node.options.as<StridedSliceOptions>().begin = op.draft().list(blocks.before);
  node.pads_after = blocks.after;
  op.finish_same();
}

int32_t checked_block(int32_t block) {
  if (block < 1 || block > 4096) fail("its block size ", block, " is not allowed (1 to 4096)");
  return block;
}

void import_tile(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation(0);
  const std::vector<int64_t> repeats = op.integers(1);
  const size_t rank = op.shape(x).size();
  if (repeats.size() != rank) fail("it has ", repeats.size(), " repeats for an input of rank ", rank);
  add_repeats(op, x, repeats);
}

void import_broadcast_to(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t input = op.activation(0);
  const std::vector<int64_t> to = op.integers(1);
  Shape from = op.shape(input);
  if (to.size() < from.size() || to.size() > static_cast<size_t>(kMaxRank))
    fail("it makes ", shape_text(from), " to a tensor of rank ", to.size());
  from.insert(from.begin(), to.size() - from.size(), 1);
  std::vector<int64_t> repeats(from.size(), 1);
  for (size_t d = 0; d < to.size(); ++d) {
    if (to[d] != from[d] && from[d] != 1) fail("it makes ", shape_text(from), " to a dimension of ", to[d]);
    if (from[d] == 1) repeats[d] = to[d];
  }
  add_repeats(op, add_reshape(op.part("/aligned"), input, from), repeats);
}

void import_mirror_pad(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int8_t mode = op.options<tflite::MirrorPadOptions>().mode();
  if (mode != 0 && mode != 1) fail("mode ", int{mode}, " is not known");
  const int32_t x = op.activation(0);
  const size_t rank = op.shape(x).size();
  const std::vector<int64_t> pads = op.integers(1);
  if (pads.size() != 2 * rank) fail("its paddings hold ", pads.size(), " values for rank ", rank);
  std::vector<int32_t> before, after;
  for (size_t i = 0; i < pads.size(); ++i) {
    if (pads[i] < 0 || pads[i] > 1 << 20) fail("padding ", pads[i], " is not allowed (0 to ", 1 << 20, ")");
    (i % 2 == 0 ? before : after).push_back(static_cast<int32_t>(pads[i]));
  }
  const Mirror mirror = mode == 0 ? Mirror::kReflect : Mirror::kSymmetric;
  op.set_moved(x, add_mirror_pad(op.part("/padded"), x, before, after, mirror),
               padded_shape(op.shape(x), before, after));
}

void import_reverse(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation(0);
  const Shape shape = op.shape(x);
  std::vector<int32_t> begin(shape.size(), 0), strides(shape.size(), 1);
  for (const int32_t axis : normal_axes(op.integers(1), shape.size())) {
    const auto d = static_cast<size_t>(axis);
    begin[d] = shape[d] - 1;
    strides[d] = -1;
  }
  op.set_moved(x, add_slice(op.part("/reversed"), x, begin, strides, shape), shape);
}

void import_depth_to_space(TfliteOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  const int32_t block = checked_block(op.options<tflite::DepthToSpaceOptions>().block_size());
  const int32_t moved = add_depth_to_space(op.part("/moved"), x, block, false);
  op.set_moved(x, moved, op.shape(moved));
}

void import_space_to_depth(TfliteOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  const int32_t block = checked_block(op.options<tflite::SpaceToDepthOptions>().block_size());
  const int32_t moved = add_space_to_depth(op.part("/moved"), x, block);
  op.set_moved(x, moved, op.shape(moved));
}

void import_space_to_batch(TfliteOp& op) {
  const Blocks blocks = read_blocks(op, "paddings");
  const int32_t x = op.activation(0);
  Shape shape = picture(op.draft(), x);
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const int32_t padded = shape[i + 1] + blocks.before[i] + blocks.after[i], block = blocks.size[i];
    if (padded % block != 0)
      fail("a side of ", padded, " with padding does not divide into blocks of ", block);
    shape[i + 1] = padded / block;
    shape[0] = narrow(int64_t{shape[0]} * block, "batch");
  }
  add_blocks(op, kSpaceToBatch, x, blocks, shape);
}

void import_batch_to_space(TfliteOp& op) {
  const Blocks blocks = read_blocks(op, "crops");
  const int32_t x = op.activation(0);
  Shape shape = picture(op.draft(), x);
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const int32_t block = blocks.size[i];
    if (shape[0] % block != 0) fail("a batch of ", shape[0], " does not divide into blocks of ", block);
    shape[0] /= block;
    const int64_t side = int64_t{shape[i + 1]} * block - blocks.before[i] - blocks.after[i];
    if (side < 1) fail("its crops leave nothing of a side of ", int64_t{shape[i + 1]} * block);
    shape[i + 1] = narrow(side, "side");
  }
  add_blocks(op, kBatchToSpace, x, blocks, shape);
}

// CALL, IF, STABLEHLO_COMPOSITE and WHILE have no handler: the reader comes to read_tflite_control() first.
constexpr TfliteOperator kTfliteControlOperators[] = {
    {Builtin::BATCH_TO_SPACE_ND,
     import_batch_to_space,
     {Op::kReshape, Op::kTranspose, Op::kStridedSlice},
     "Pictures; blocks and crops are constants. Around a convolution it becomes dilation."},
    {Builtin::BROADCAST_TO, import_broadcast_to, {Op::kGather}, "The shape is a constant."},
    {Builtin::CALL, nullptr, {}, "The graph's operators stand in its place."},
    {Builtin::DEPTH_TO_SPACE, import_depth_to_space, {Op::kReshape, Op::kTranspose}, ""},
    {Builtin::IF,
     nullptr,
     {},
     "Where a run decides, both graphs are computed; they give the same shapes and use no variables."},
    {Builtin::MIRROR_PAD, import_mirror_pad, {Op::kGather}, "Paddings are constants."},
    {Builtin::REVERSE_V2, import_reverse, {Op::kStridedSlice}, "Axes are constants."},
    {Builtin::SPACE_TO_BATCH_ND,
     import_space_to_batch,
     {Op::kPad, Op::kReshape, Op::kTranspose},
     "Pictures; blocks and paddings are constants. Around a convolution it becomes dilation."},
    {Builtin::SPACE_TO_DEPTH, import_space_to_depth, {Op::kReshape, Op::kTranspose}, ""},
    {Builtin::STABLEHLO_COMPOSITE, nullptr, {}, "The graph's operators stand in its place."},
    {Builtin::TILE, import_tile, {Op::kGather}, "Repeats are constants."},
    {Builtin::WHILE, nullptr, {}, "Constants decide the number of steps, at most 1024, which are unrolled."},
};

}  // namespace

Span<const TfliteOperator> tflite_control_operators() { return kTfliteControlOperators; }

}  // namespace intaglio::importers
