#include "exporters/onnx/model_values.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "importers/draft/import_error.h"
#include "importers/draft/names.h"

namespace intaglio::exporters {
namespace {

constexpr int32_t kFirstAxes[] = {0, 3, 1, 2};    // of channels last, by the axis of channels first
constexpr int32_t kPlaceOfAxis[] = {0, 2, 3, 1};  // of channels first, by the axis of channels last

OnnxTensor::DataType type_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kS8:
    case DType::kS16:
      return OnnxTensor::FLOAT;
    case DType::kS32:
      return OnnxTensor::INT32;
    default:
      importers::fail("a tensor of an element type that is not written here");
  }
}

void declare(onnx_file::Messages<onnx_file::ValueInfoProto>& list, const std::string& name,
             OnnxTensor::DataType type, const std::vector<int64_t>& dims) {
  const auto has_name = [&](const onnx_file::ValueInfoProto& end) { return end.name == name; };
  if (std::any_of(list.begin(), list.end(), has_name)) return;
  auto& end = list.add();
  end.name = name;
  auto& tensor = end.type.make().tensor_type.make();
  tensor.elem_type = type;
  auto& shape = tensor.shape.make();
  for (const int64_t dim : dims) shape.dim.add().dim_value = dim;
}

// How many of the sizes that the file gives are these.
int agreements(const OnnxEnd& end, const std::vector<int64_t>& dims) {
  int found = 0;
  for (size_t d = 0; d < dims.size(); ++d) found += end.dims[d] == dims[d];
  return found;
}

// Whether a layer reads the input as a picture, at once or behind what changes each value alone: the import turns no other one.
bool is_picture(const Model& model, int32_t input) {
  std::vector<int32_t> same{input};  // tensors with its pixels
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    const auto reads = [&](int32_t t) { return std::find(same.begin(), same.end(), t) != same.end(); };
    if (std::none_of(node.inputs.begin(), node.inputs.end(), reads)) continue;
    if (node.options.get<Window2d>() != nullptr || node.op == Op::kResize) return true;
    if (model.tensor(node.outputs[0]).shape == model.tensor(input).shape) same.push_back(node.outputs[0]);
  }
  return false;
}

// Whether a Cast gives the numbers of a tensor as the type that the file has for it.
bool casts_to(const TensorInfo& info, int32_t type, bool is_input) {
  using Type = OnnxTensor;
  switch (type) {
    case Type::FLOAT16:
    case Type::BFLOAT16:
    case Type::DOUBLE:
      return info.dtype != DType::kS32;
    case Type::INT32:
    case Type::INT64:
    case Type::BOOL:
      return !has_codes(info);
    case Type::INT8:
    case Type::UINT8:  // pictures, or codes that are numbers
      return is_input && (info.dtype == DType::kF32 ||
                          (info.dtype == DType::kS8 && info.quantization.scales[0] == 1.0f));
    default:
      return false;
  }
}

}  // namespace

int32_t axis_in(ChannelOrder order, int32_t axis, int32_t rank) {
  return order == kChannelsFirst && rank == 4 ? kPlaceOfAxis[axis] : axis;
}

std::vector<int64_t> dims_of(const Shape& shape, ChannelOrder order) {
  std::vector<int64_t> dims(shape.dims, shape.dims + shape.rank);
  if (order == kChannelsFirst && shape.rank == 4) dims = {dims[0], dims[3], dims[1], dims[2]};
  return dims;
}

ModelValues::End ModelValues::made_end(int32_t tensor, const std::vector<OnnxEnd>* in_file,
                                       const std::string& path, bool is_input,
                                       std::vector<std::string>& notes) const {
  const TensorInfo info = model_.tensor(tensor);
  End end;
  end.tensor = tensor;
  end.name = names_[static_cast<size_t>(tensor)];
  end.type = end.own_type = type_of(info.dtype);
  end.dims = end.own_dims = dims_of(info.shape);
  if (in_file == nullptr) return end;
  const auto found = std::find_if(in_file->begin(), in_file->end(), [&](const OnnxEnd& other) {
    return importers::clean_name(other.name) == end.name;
  });
  if (found == in_file->end() && !is_input) return end;  // a value within the network, by import --outputs
  if (found == in_file->end())
    importers::fail("its input ", importers::quoted(end.name), " is not in ", path,
                    "; give the network that the model was imported from");
  if (casts_to(info, found->type, is_input)) end.type = static_cast<OnnxTensor::DataType>(found->type);
  if (!found->has_shape) return end;
  if (found->dims.size() != end.dims.size()) {  // a number has an axis here
    int64_t elements = 1;
    for (const int64_t dim : found->dims) elements *= dim;
    if (elements == info.shape.elements()) end.dims = found->dims;
  } else if (is_input && info.shape.rank == 4) {
    // The import brings pictures from the file's order into the model's.
    const std::vector<int64_t> first = dims_of(info.shape, kChannelsFirst);
    const int as_first = agreements(*found, first), as_last = agreements(*found, end.dims);
    if (as_last > as_first || (as_last == as_first && !is_picture(model_, tensor))) return end;
    end.order = kChannelsFirst;
    if (as_last == as_first && info.shape.elements(1, 3) > 1 && info.shape[3] > 1)
      notes.push_back(importers::text("input ", importers::quoted(end.name), ": the sizes in ", path,
                                      " do not say which axis the channels are; the file has them first"));
    end.dims = end.own_dims = first;
  }
  return end;
}

onnx_file::GraphProto& ModelValues::with_ends(onnx_file::GraphProto& file, const OnnxEnds* ends,
                                              std::vector<std::string>& notes) {
  std::unordered_set<std::string> taken;
  const auto take = [&](int32_t tensor, const std::string& suffix = {}) {
    std::string& name = names_[static_cast<size_t>(tensor)];
    if (!name.empty() && suffix.empty()) return;
    const std::string own = model_.tensor(tensor).name, wanted = (own.empty() ? "value" : own) + suffix;
    name = wanted;
    for (int number = 2; !taken.insert(name).second; ++number) name = wanted + "_" + std::to_string(number);
  };
  const auto add = [&](int32_t tensor, bool is_input) {
    take(tensor);
    End end = made_end(tensor, ends == nullptr ? nullptr : is_input ? &ends->inputs : &ends->outputs,
                       ends == nullptr ? "" : ends->path, is_input, notes);
    declare(is_input ? file.input : file.output, end.name, end.type, end.dims);
    (is_input ? inputs_ : outputs_).push_back(std::move(end));
  };
  for (const bool is_input : {true, false}) {
    for (const int32_t t : is_input ? model_.inputs() : model_.outputs()) add(t, is_input);
    for (int32_t i = 0; i < model_.state_count(); ++i)
      add(is_input ? model_.state(i).input : model_.state(i).output, is_input);
  }
  // What an output is made of has a name of its own.
  for (const End& end : outputs_)
    if (!end.is_as_in_model() && names_[static_cast<size_t>(end.tensor)] == end.name)
      take(end.tensor, "/in_model");
  for (int32_t t = 0; t < model_.tensor_count(); ++t)
    if (!model_.tensor(t).is_constant()) take(t);
  return file;
}

ModelValues::ModelValues(onnx_file::GraphProto& file, const Model& model, OnnxForm form, int64_t opset,
                         const OnnxEnds* ends, std::vector<std::string>& notes)
    : model_(model),
      opset_(opset),
      names_(static_cast<size_t>(model.tensor_count())),
      graph_(with_ends(file, ends, notes)),
      quantizers_(graph_, form),
      known_(names_.size()),
      sources_(names_.size(), -1) {
  for (const auto* const list : {&inputs_, &outputs_})
    for (const End& end : *list)
      if (!graph_.is_known(end.name)) (void)graph_.reserve_name(end.name);
  for (const std::string& name : names_)
    if (!name.empty() && !graph_.is_known(name)) (void)graph_.reserve_name(name);
  for (const End& end : inputs_)
    starts_[end.tensor] = {adapted(end.name, end.own_type, end.type != end.own_type, end.own_dims,
                                   end.dims != end.own_dims, {}),
                           end.order};
}

std::string ModelValues::adapted(const std::string& value, OnnxTensor::DataType type, bool casts,
                                 const std::vector<int64_t>& dims, bool reshapes, const std::string& last) {
  std::string from = value;
  if (reshapes) {
    const std::string to = !last.empty() && !casts ? last : unused(value + "/reshaped");
    const std::string shape = unused(to + "/shape");
    graph_.add_constant(shape, OnnxTensor::INT64, {static_cast<int64_t>(dims.size())}, dims.data(),
                        dims.size() * sizeof(int64_t));
    graph_.add_node("Reshape", to + "/reshape", {from, shape}, to);
    from = to;
  }
  if (casts) {
    const std::string to = last.empty() ? unused(value + "/cast") : last;
    set_attribute(graph_.add_node("Cast", to + "/to_type", {from}, to), "to", type);
    from = to;
  }
  return from;
}

std::string ModelValues::weights(int32_t tensor, const std::vector<int64_t>& dims,
                                 const std::vector<size_t>& order) {
  const TensorInfo info = model_.tensor(tensor);
  const auto at = [&](size_t i) { return order.empty() ? i : order[i]; };
  const auto list = [&](auto zero) {
    using T = decltype(zero);
    const auto* const stored = reinterpret_cast<const T*>(info.constant.data);
    std::vector<T> values(static_cast<size_t>(info.shape.elements()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = stored[at(i)];
    return values;
  };
  std::string name = constant_name(tensor);
  if (info.dtype == DType::kS8) {
    quantizers_.add_codes(name, dims, list(int8_t{}), info.quantization.scales, 0,
                          info.quantization.zero_point);
  } else if (info.dtype == DType::kS16) {
    quantizers_.add_wide_codes(name, dims, list(int16_t{}), info.quantization.scales[0]);
  } else if (info.dtype == DType::kF32) {
    quantizers_.add_floats(name, dims, list(float{}));
  } else if (info.dtype == DType::kS32) {
    const std::vector<int32_t> values = list(int32_t{});
    graph_.add_constant(name, OnnxTensor::INT32, dims, values.data(), values.size() * sizeof(int32_t));
  } else {
    importers::fail("a constant of an element type that is not written here");
  }
  return name;
}

std::string ModelValues::value(int32_t tensor, ChannelOrder order) {
  tensor = source_of(tensor);
  const TensorInfo info = model_.tensor(tensor);
  const bool turns =
      info.is_constant() ? info.shape.rank <= 4 && info.shape.elements() > 1 : info.shape.rank == 4;
  if (!turns) order = kChannelsLast;
  std::string& known = known_[static_cast<size_t>(tensor)][order];
  if (!known.empty()) return known;
  if (info.is_constant()) {
    if (order == kChannelsLast) return known = weights(tensor, dims_of(info.shape));
    std::array<int32_t, 4> full{1, 1, 1, 1};  // of the constant, channels last
    std::copy(info.shape.dims, info.shape.dims + info.shape.rank, full.end() - info.shape.rank);
    const std::array<int32_t, 4> dims{full[0], full[3], full[1], full[2]};
    std::vector<size_t> places;
    for (int32_t n = 0; n < dims[0]; ++n)
      for (int32_t c = 0; c < dims[1]; ++c)
        for (int32_t p = 0; p < dims[2] * dims[3]; ++p)
          places.push_back(static_cast<size_t>((n * dims[2] * dims[3] + p) * dims[1] + c));
    return known = weights(tensor, {dims.begin(), dims.end()}, places);
  }
  const std::string& own = names_[static_cast<size_t>(tensor)];
  const auto start = starts_.find(tensor);
  const bool is_start = start != starts_.end();
  std::string from = is_start ? start->second.first : known_[static_cast<size_t>(tensor)][1 - order];
  if (!is_start || (turns && start->second.second != order)) {
    const bool to_first = order == kChannelsFirst;
    const std::string turned = unused(own + (to_first ? "/channels_first" : "/channels_last"));
    OnnxNode& node = graph_.add_node("Transpose", turned, {from}, turned);
    const int32_t* const axes = to_first ? kFirstAxes : kPlaceOfAxis;
    set_attribute(node, "perm", std::vector<int64_t>(axes, axes + 4));
    from = turned;
  }
  if (!has_codes(info)) return known = from;
  const std::string to = !is_end(own) ? unused(from + "/rounded") : unused(own + "/rounded");
  quantizers_.add_rounding(from, to, grid_of(info));
  return known = to;
}

std::string ModelValues::flat(int32_t tensor) {
  const Shape shape = model_.tensor(tensor).shape;
  const bool is_same = shape.rank == 4 && (shape.elements(1, 3) == 1 || shape[3] == 1);
  return is_same && is_first(tensor) ? value(tensor, kChannelsFirst) : value(tensor);
}

OnnxNode& ModelValues::add(const NodeInfo& node, const std::string& op,
                           const std::vector<std::string>& inputs, const std::string& suffix) {
  const std::string& own = names_[static_cast<size_t>(node.outputs[0])];
  return graph_.add_node(op, node.name + suffix, inputs, unused(own + (suffix.empty() ? "/real" : suffix)));
}

std::string ModelValues::add_reduction(const NodeInfo& node, const std::string& op, const std::string& x,
                                       const std::vector<int64_t>& axes, bool keeps,
                                       const std::string& suffix) {
  constexpr int64_t kAxesAreInput = 18;
  std::vector<std::string> list{x};
  if (opset_ >= kAxesAreInput) list.push_back(integers(node, suffix + "/axes", axes));
  OnnxNode& made = add(node, op, list, suffix);
  if (opset_ < kAxesAreInput) set_attribute(made, "axes", axes);
  set_attribute(made, "keepdims", keeps ? 1 : 0);
  return made.output[0];
}

std::string ModelValues::reals(const NodeInfo& node, const std::string& suffix,
                               const std::vector<float>& list, const std::vector<int64_t>& dims) {
  std::string name = unused(names_[static_cast<size_t>(node.outputs[0])] + suffix);
  const bool is_list = dims.empty() && list.size() > 1;
  quantizers_.add_floats(name, is_list ? std::vector<int64_t>{static_cast<int64_t>(list.size())} : dims,
                         list);
  return name;
}

std::string ModelValues::integers(const NodeInfo& node, const std::string& suffix,
                                  const std::vector<int64_t>& list) {
  std::string name = unused(names_[static_cast<size_t>(node.outputs[0])] + suffix);
  graph_.add_constant(name, OnnxTensor::INT64, {static_cast<int64_t>(list.size())}, list.data(),
                      list.size() * sizeof(int64_t));
  return name;
}

std::string ModelValues::rounded(const NodeInfo& node, const std::string& value, int32_t tensor,
                                 const std::string& suffix) {
  const TensorInfo info = model_.tensor(source_of(tensor));
  std::string to = unused(names_[static_cast<size_t>(node.outputs[0])] + suffix);
  if (has_codes(info)) quantizers_.add_rounding(value, to, grid_of(info));
  return has_codes(info) ? to : value;
}

void ModelValues::finish(const NodeInfo& node, const std::string& value, ChannelOrder order, bool is_new) {
  const int32_t tensor = node.outputs[0];
  const TensorInfo info = model_.tensor(tensor);
  const std::string& own = names_[static_cast<size_t>(tensor)];
  const auto* const clamp = node.options.get<Clamp>();
  std::string& known = known_[static_cast<size_t>(tensor)][order];
  known = order == kChannelsFirst && is_end(own) ? unused(own + "/channels_first") : own;
  if (has_codes(info)) {
    ActivationGrid grid = grid_of(info);
    if (clamp != nullptr) {
      grid.lo = clamp->lo;
      grid.hi = clamp->hi;
    }
    return quantizers_.add_rounding(value, known, grid);
  }
  const bool has_least = clamp != nullptr && clamp->min != -INFINITY,
             has_most = clamp != nullptr && clamp->max != INFINITY;
  if (info.dtype != DType::kF32 || (!has_least && !has_most)) {
    if (is_new)
      graph_.rename_output(*graph_.writer(value), value, known);
    else if (is_end(own) && order == kChannelsLast)
      graph_.add_node("Identity", own + "/same", {value}, own);
    else
      known = value;
  } else if (has_least && !has_most && clamp->min == 0.0f) {
    graph_.add_node("Relu", own + "/relu", {value}, known);
  } else {
    std::vector<std::string> inputs{value, has_least ? reals(node, "/least", {clamp->min}) : ""};
    if (has_most) inputs.push_back(reals(node, "/most", {clamp->max}));
    graph_.add_node("Clip", own + "/clip", inputs, known);
  }
}

void ModelValues::finish_graph() {
  for (const End& end : outputs_) {
    if (graph_.is_input(end.name) || graph_.writer(end.name) != nullptr) continue;
    const std::string from = value(end.tensor);
    if (end.is_as_in_model())
      graph_.add_node("Identity", end.name + "/same", {from}, end.name);
    else
      adapted(from, end.type, end.type != end.own_type, end.dims, end.dims != end.own_dims, end.name);
  }
  graph_.finish();
}

}  // namespace intaglio::exporters
