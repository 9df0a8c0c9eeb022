#include "importers/draft/draft.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "importers/draft/op_traits.h"
#include "importers/draft/read_options.h"
#include "intaglio/describe.h"

namespace intaglio::importers {

int64_t elements(const Shape& shape) {
  int64_t product = 1;
  for (const int32_t dim : shape)
    if (__builtin_mul_overflow(product, dim, &product)) return std::numeric_limits<int64_t>::max();
  return product;
}

size_t elements_behind(const Shape& shape, int32_t axis) {
  size_t behind = 1;
  for (size_t d = shape.size(); axis >= 0 && d-- > static_cast<size_t>(axis) + 1;)
    behind *= static_cast<size_t>(shape[d]);
  return behind;
}

void check_shape(const Shape& shape, DType dtype) {
  if (shape.empty() || shape.size() > static_cast<size_t>(kMaxRank))
    fail("shape ", shape_text(shape), " has rank ", shape.size(), "; 1 to ", kMaxRank, " are supported");
  int64_t bytes = static_cast<int64_t>(std::max<size_t>(element_bytes(dtype), 1));
  for (const int32_t dim : shape) {
    if (dim < 1) fail("shape ", shape_text(shape), " has the dimension ", dim, "; each must be at least 1");
    if (dim > kMaxTensorBytes / bytes)
      fail("a tensor of shape ", shape_text(shape), " is larger than the limit of ", kMaxTensorBytes,
           " bytes");
    bytes *= dim;
  }
}

Shape permuted(const Shape& shape, const Permutation& permutation) {
  Shape result;
  for (const int32_t axis : permutation) result.push_back(shape[static_cast<size_t>(axis)]);
  return result;
}

Permutation inverse(const Permutation& permutation) {
  Permutation result(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i)
    result[static_cast<size_t>(permutation[i])] = static_cast<int32_t>(i);
  return result;
}

bool is_identity(const Permutation& permutation) {
  for (size_t i = 0; i < permutation.size(); ++i)
    if (permutation[i] != static_cast<int32_t>(i)) return false;
  return true;
}

bool moves_no_data(const Shape& shape, const Permutation& permutation) {
  int32_t last = -1;
  for (const int32_t axis : permutation) {
    if (shape[static_cast<size_t>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

int32_t add_activation(Draft& draft, const std::string& name, DType dtype, const Shape& shape) {
  check_shape(shape, dtype);
  draft.budget->spend_memory(sizeof(DraftTensor) + sizeof(int32_t) * shape.size() + name.size(), "a tensor");
  DraftTensor tensor;
  tensor.name = name;
  tensor.dtype = dtype;
  tensor.shape = shape;
  return draft.put(std::move(tensor));
}

int32_t add_activation_like(Draft& draft, const std::string& name, int32_t like, const Shape& shape) {
  const int32_t index = add_activation(draft, name, draft.tensor(like).dtype, shape);
  const DraftTensor& model = draft.tensor(like);
  DraftTensor& tensor = draft.tensor(index);
  tensor.scales = model.scales;
  tensor.zero_point = model.zero_point;
  tensor.is_of_file = model.is_of_file && model.name == name;
  return index;
}

int32_t add_constant_bytes(Draft& draft, const std::string& name, DType dtype, const Shape& shape,
                           std::vector<uint8_t> data) {
  draft.budget->spend_constant(data.size() / std::max<size_t>(element_bytes(dtype), 1), element_bytes(dtype));
  const int32_t index = add_activation(draft, name, dtype, shape);
  DraftTensor& tensor = draft.tensor(index);
  tensor.constant = true;
  tensor.data = std::move(data);
  return index;
}

std::vector<uint8_t> permuted_data(const std::vector<uint8_t>& data, size_t element_bytes, const Shape& shape,
                                   const Permutation& permutation) {
  const size_t rank = shape.size();
  std::vector<size_t> strides(rank, element_bytes);
  for (size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * static_cast<size_t>(shape[i]);
  std::vector<uint8_t> result(data.size());
  Shape at(rank, 0);
  size_t from = 0;
  for (size_t to = 0; to < result.size(); to += element_bytes) {
    std::memcpy(&result[to], &data[from], element_bytes);
    for (size_t i = rank; i-- > 0;) {  // the next element of the result
      const auto axis = static_cast<size_t>(permutation[i]);
      from += strides[axis];
      if (++at[i] < shape[axis]) break;
      from -= strides[axis] * static_cast<size_t>(shape[axis]);
      at[i] = 0;
    }
  }
  return result;
}

void DraftNode::become(Op other) {
  op = other;
  options = NodeOptions(op == kSpaceToBatch || op == kBatchToSpace ? Op::kStridedSlice : op);
}

DraftNode& add_node(const Origin& at, Op op, std::vector<int32_t> inputs, int32_t output) {
  if (at.draft.nodes.size() >= kMaxMadeNodes)
    fail("it and what stands before it become more than ", kMaxMadeNodes, " nodes");
  at.draft.budget->spend_memory(
      sizeof(DraftNode) + at.name.size() + at.source.size() + sizeof(int32_t) * inputs.size(), "a node");
  DraftNode node;
  node.become(op);
  node.name = at.name;
  node.source = at.source;
  node.inputs = std::move(inputs);
  node.outputs = {output};
  at.draft.nodes.push_back(std::move(node));
  return at.draft.nodes.back();
}

int32_t add_reshape(const Origin& at, int32_t input, const Shape& shape) {
  if (at.draft.tensor(input).shape == shape) return input;
  if (elements(at.draft.tensor(input).shape) != elements(shape))
    fail(shape_text(at.draft.tensor(input).shape), " cannot be reshaped to ", shape_text(shape),
         ": the numbers of elements differ");
  const int32_t output = add_activation_like(at.draft, at.name, input, shape);
  add_node(at, Op::kReshape, {input}, output);
  return output;
}

int32_t add_transpose(const Origin& at, int32_t input, const Permutation& permutation) {
  if (is_identity(permutation)) return input;
  const int32_t output =
      add_activation_like(at.draft, at.name, input, permuted(at.draft.tensor(input).shape, permutation));
  add_node(at, Op::kTranspose, {input}, output).options.as<TransposeOptions>().permutation =
      at.draft.list(permutation);
  return output;
}

int32_t add_permuted_constant(Draft& draft, int32_t constant, const Permutation& permutation) {
  if (is_identity(permutation)) return constant;
  const DraftTensor source = draft.tensor(constant);
  const int32_t made =
      add_constant_bytes(draft, source.name, source.dtype, permuted(source.shape, permutation),
                         permuted_data(source.data, element_bytes(source.dtype), source.shape, permutation));
  DraftTensor& tensor = draft.tensor(made);
  tensor.scales = source.scales;
  tensor.zero_point = source.zero_point;
  if (source.axis >= 0) tensor.axis = inverse(permutation)[static_cast<size_t>(source.axis)];
  return made;
}

int32_t add_slice(const Origin& at, int32_t x, std::vector<int32_t> begin, std::vector<int32_t> strides,
                  const Shape& shape) {
  const int32_t output = add_activation_like(at.draft, at.name, x, shape);
  add_slice_into(at, x, std::move(begin), std::move(strides), output);
  return output;
}

void add_slice_into(const Origin& at, int32_t x, std::vector<int32_t> begin, std::vector<int32_t> strides,
                    int32_t y) {
  auto& slice = add_node(at, Op::kStridedSlice, {x}, y).options.as<StridedSliceOptions>();
  slice.begin = at.draft.list(std::move(begin));
  slice.strides = at.draft.list(std::move(strides));
}

void add_pad(const Origin& at, int32_t x, std::vector<int32_t> before, std::vector<int32_t> after, int32_t y,
             float value) {
  DraftNode& node = add_node(at, Op::kPad, {x}, y);
  node.options.as<PadOptions>().before = at.draft.list(std::move(before));
  node.options.as<PadOptions>().value = value;
  node.pads_after = std::move(after);
}

Links::Links(const Draft& draft)
    : producer(draft.tensors.size(), -1),
      consumers(draft.tensors.size()),
      is_output(draft.tensors.size(), false) {
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    for (const int32_t input : draft.nodes[n].inputs)
      if (input >= 0) consumers[static_cast<size_t>(input)].push_back(static_cast<int32_t>(n));
    for (const int32_t output : draft.nodes[n].outputs)
      producer[static_cast<size_t>(output)] = static_cast<int32_t>(n);
  }
  for (const int32_t output : draft.outputs) is_output[static_cast<size_t>(output)] = true;
}

bool is_model_input(const Draft& draft, int32_t tensor) {
  return std::find(draft.inputs.begin(), draft.inputs.end(), tensor) != draft.inputs.end();
}

bool is_model_output(const Draft& draft, int32_t tensor) {
  return std::find(draft.outputs.begin(), draft.outputs.end(), tensor) != draft.outputs.end();
}

bool replace_tensor(Draft& draft, int32_t from, int32_t to) {
  if (is_model_output(draft, from)) {
    if (is_model_output(draft, to) || is_model_input(draft, to) || draft.tensor(to).constant) return false;
    draft.tensor(to).name = draft.tensor(from).name;
    std::replace(draft.outputs.begin(), draft.outputs.end(), from, to);
  }
  for (DraftNode& node : draft.nodes) std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  return true;
}

void remove_dead_nodes(Draft& draft) {
  std::vector<bool> needed(draft.tensors.size(), false);
  for (const int32_t output : draft.outputs) needed[static_cast<size_t>(output)] = true;
  std::vector<bool> keep(draft.nodes.size(), false);
  for (size_t n = draft.nodes.size(); n-- > 0;) {
    const DraftNode& node = draft.nodes[n];
    keep[n] = std::any_of(node.outputs.begin(), node.outputs.end(),
                          [&](int32_t output) { return needed[static_cast<size_t>(output)]; });
    if (!keep[n]) continue;
    for (const int32_t input : node.inputs)
      if (input >= 0) needed[static_cast<size_t>(input)] = true;
  }
  size_t kept = 0;
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    if (!keep[n]) continue;
    if (kept != n) draft.nodes[kept] = std::move(draft.nodes[n]);
    ++kept;
  }
  draft.nodes.resize(kept);
}

std::string label(const DraftNode& node) {
  return text("node ", quoted(node.name), " (", shown(node.source), ")");
}

DraftNode& add_where(const Origin& at, const std::vector<int32_t>& inputs, int32_t output) {
  for (const int32_t input : inputs) {
    DraftTensor& tensor = at.draft.tensor(input);
    if (!tensor.constant || tensor.dtype != DType::kF32) continue;
    std::vector<float> values = values_of<float>(tensor);
    bool is_infinite = false;
    for (float& value : values) {
      is_infinite = is_infinite || std::isinf(value);
      value = std::isinf(value) ? std::copysign(std::numeric_limits<float>::max(), value) : value;
    }
    if (!is_infinite) continue;
    set_values(tensor, values);
    at.draft.notes.push_back(text("node ", quoted(at.name), " (", at.source, "): infinities in the constant ",
                                  quoted(tensor.name), " are the largest floats here"));
  }
  return add_node(at, Op::kWhere, inputs, output);
}

namespace {

std::string quantization_text(const DraftTensor& tensor) {
  if (tensor.scales.empty()) return "";
  if (tensor.scales.size() > 1) return text(" ", tensor.scales.size(), " scales along axis ", tensor.axis);
  return text(" scale ", tensor.scales[0], " zero_point ", tensor.zero_point);
}

std::string type_text(const DraftTensor& tensor) {
  return text(dtype_name(tensor.dtype), " ", shape_text(tensor.shape), quantization_text(tensor));
}

std::string operand_text(const Draft& draft, int32_t index) {
  if (index < 0) return "none";
  const DraftTensor& tensor = draft.tensor(index);
  return tensor.constant ? text("%", index, " ", type_text(tensor), " constant") : text("%", index);
}

void add_list(std::string& line, const char* name, const std::vector<int32_t>& list) {
  if (!list.empty()) line += text(" ", name, " ", shape_text(list));
}

std::string window_text(const Window2d& w) {
  std::string line;
  const auto add_pair = [&](const char* name, int32_t h, int32_t wide) {
    if (h != 1 || wide != 1) line += text(" ", name, " ", h, "x", wide);
  };
  add_pair("window", w.kernel_h, w.kernel_w);
  add_pair("stride", w.stride_h, w.stride_w);
  add_pair("dilation", w.dilation_h, w.dilation_w);
  if (w.pad_top != 0 || w.pad_left != 0 || w.pad_bottom != 0 || w.pad_right != 0)
    line += text(" pads ", shape_text({w.pad_top, w.pad_left, w.pad_bottom, w.pad_right}));
  if (w.count_include_pad) line += " count_include_pad";
  return line;
}

// The options that differ from those of a new node.
std::string options_text(const DraftNode& node) {
  const NodeOptions& o = node.options;
  std::string line = window_text(o.value<Window2d>());
  const auto add = [&](const char* name, auto value, auto otherwise) {
    if (value != otherwise) line += text(" ", name, " ", value);
  };
  const auto slice = o.value<StridedSliceOptions>();
  const auto pad = o.value<PadOptions>();
  const auto unary = o.value<UnaryOptions>();
  const auto clamp = o.value<Clamp>();
  add("groups", o.value<Conv2dOptions>().groups, 1);
  add_list(line, "axes", to_vector(o.value<ReduceOptions>().axes));
  add_list(line, "permutation", to_vector(o.value<TransposeOptions>().permutation));
  add("axis", o.value<ConcatOptions>().axis, 0);
  add("axis", o.value<GatherOptions>().axis, 0);
  add("axis", o.value<TopKOptions>().axis, 0);
  add("axis", o.value<OneHotOptions>().axis, 0);
  if (o.value<TopKOptions>().smallest) line += " smallest";
  add_list(line, "before", to_vector(pad.before));
  add_list(line, "begin", to_vector(slice.begin));
  add_list(line, "strides", to_vector(slice.strides));
  add_list(line, "pads_after", node.pads_after);
  add("value", pad.value, 0.0f);
  add("alpha", unary.alpha, 0.0f);
  add("beta", unary.beta, 0.0f);
  if (o.value<BatchMatMulOptions>().transpose_b) line += " transpose_b";
  add("scale", o.value<BatchMatMulOptions>().scale, 1.0f);
  add("min_norm", o.value<L2NormalizeOptions>().min_norm, 0.0f);
  add("epsilon", node.epsilon, 0.0f);
  if (const auto* const resize = o.get<ResizeOptions>())
    line += resize->interpolation == Interpolation::kNearest ? " nearest" : " bilinear";
  if (std::isfinite(clamp.min) || std::isfinite(clamp.max))
    line += text(" clamp ", clamp.min, " to ", clamp.max);
  if (clamp.lo != -128 || clamp.hi != 127) line += text(" codes ", clamp.lo, " to ", clamp.hi);
  return line;
}

std::string node_text(const Draft& draft, const DraftNode& node) {
  std::string line;
  for (const int32_t output : node.outputs)
    line += text(line.empty() ? "" : ", ", "%", output, " ", quoted(draft.tensor(output).name), " ",
                 type_text(draft.tensor(output)));
  line += text(" = ", draft_op_name(node.op), "(");
  for (size_t i = 0; i < node.inputs.size(); ++i)
    line += text(i == 0 ? "" : ", ", operand_text(draft, node.inputs[i]));
  return text(line, ")", options_text(node), "  # ", quoted(node.name), " (", shown(node.source), ")\n");
}

}  // namespace

std::string draft_text(const Draft& draft) {
  std::string lines;
  for (const int32_t input : draft.inputs)
    lines += text("input %", input, " ", quoted(draft.tensor(input).name), " ",
                  type_text(draft.tensor(input)), "\n");
  for (const DraftNode& node : draft.nodes) lines += node_text(draft, node);
  for (const int32_t output : draft.outputs)
    lines += text("output %", output, " ", quoted(draft.tensor(output).name), "\n");
  return lines;
}

}  // namespace intaglio::importers
