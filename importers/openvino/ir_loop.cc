// TensorIterator and Loop of an OpenVINO IR as ONNX's Loop, of whose body the ONNX importer makes copies. What a run takes in
// slices its body takes out by its own number; what it gives in slices is one of the Loop's lists.
#include <algorithm>
#include <cstdlib>

#include "importers/draft/read_options.h"
#include "importers/openvino/ir_op.h"

namespace intaglio::importers {
namespace {

const IrLayer& inner_layer(const IrBody& body, int32_t index, const char* type) {
  const IrLayer& layer = body.layers[static_cast<size_t>(index)];
  if (layer.type != type) fail("its body is joined at layer ", quoted(layer.name), ", which is no ", type);
  return layer;
}

size_t port_axis(const IrMapping& mapping, const IrShape& shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  if (mapping.axis < -rank || mapping.axis >= rank) fail("it has no axis ", mapping.axis, " for slices");
  return static_cast<size_t>(mapping.axis < 0 ? mapping.axis + rank : mapping.axis);
}

struct Slices {
  int64_t runs, start;
};

// The part of an input that a layer takes in slices: from start to end, both included.
Slices slices_of(const IrMapping& mapping, const IrShape& shape) {
  const int64_t dim = shape[port_axis(mapping, shape)], part = mapping.part_size;
  if (dim < 1) fail("the axis that it takes slices of is open, or empty");
  const auto is_inside = [&](int64_t at) { return at >= -dim && at <= dim; };
  if (!is_inside(mapping.start) || !is_inside(mapping.end) || part < 1 || part > dim ||
      (mapping.stride != part && (mapping.stride != -1 || part != 1)))
    fail("slices of ", part, " from ", mapping.start, " to ", mapping.end, " by ", mapping.stride, " of ",
         dim, " are not supported");
  const auto place = [&](int64_t at) { return std::min(at < 0 ? at + dim : at, dim - 1); };
  return {(std::abs(place(mapping.end) - place(mapping.start)) + 1) / part, place(mapping.start)};
}

class LoopLayer {
 public:
  LoopLayer(IrOp& op, const IrBody& body) : op_(op), body_(body) {
    inner_.layers = body.layers;
    inner_.weights = op.file().weights;
    inner_.shared = op.file().shared;
    inner_.graph = &graph_;
  }

  // The graph of the body, whose ends are those of ONNX's: number of the run, condition, what goes from run to run.
  void read_body() {
    add_input("number", {});
    add_input("goes_on", {});
    for (const auto& [to, from] : body_.back) add_carried(to);
    for (const IrMapping& mapping : body_.inputs) read_input(mapping);
    read_layers();
    std::string condition = names_[1];
    for (const IrMapping& mapping : body_.outputs)
      if (mapping.purpose == "execution_condition") condition = result(mapping.inner);
    add_output(condition, {});
    for (const auto& [to, from] : body_.back) add_output(result(from), shape_of(from));
    for (const IrMapping& mapping : body_.outputs) read_output(mapping);
  }

  void write(const std::string& trip_count, const std::string& condition) {
    auto& node = op_.file().graph->node.add();
    node.op_type = "Loop";
    node.name = op_.layer().name;
    node.input.push_back(trip_count.empty() && runs_ >= 0 ? number(*op_.file().graph, runs_) : trip_count);
    node.input.push_back(condition);
    for (const std::string& first : first_) node.input.push_back(first);
    std::vector<std::string> made;
    for (size_t i = 0; i < first_.size() + scans_.size(); ++i) {
      made.push_back(inner_.unique(op_.layer().name + "/made"));
      node.output.push_back(made.back());
    }
    for (const IrMapping& mapping : body_.outputs)
      if (mapping.port >= 0) write_output(mapping, made);
    auto& attribute = node.attribute.add();
    attribute.name = "body";
    attribute.type = onnx_file::AttributeProto::GRAPH;
    std::swap(attribute.g.make(), graph_);
  }

 private:
  static void describe(onnx_file::ValueInfoProto& value, const std::string& name, const IrShape& shape) {
    value.name = name;
    auto& made = value.type.make().tensor_type.make().shape.make();
    for (const int64_t dim : shape)
      if (auto& of_value = made.dim.add(); dim >= 0) of_value.dim_value = dim;
  }
  const std::string& add_input(const char* what, const IrShape& shape) {
    names_.push_back(inner_.unique(op_.layer().name + "/" + what));
    describe(graph_.input.add(), names_.back(), shape);
    return names_.back();
  }
  // Each output is a node's own, whatever it stands for.
  void add_output(const std::string& name, const IrShape& shape) {
    describe(graph_.output.add(), node("Identity", {name}), shape);
  }
  std::string node(const char* type, const std::vector<std::string>& inputs,
                   const OnnxAttributes& attributes = {}) {
    auto& made = graph_.node.add();
    made.op_type = type;
    made.name = op_.layer().name + "/" + type;
    for (const std::string& input : inputs) made.input.push_back(input);
    made.output.push_back(inner_.unique(made.name));
    add_attributes(made, attributes);
    return made.output[0];
  }
  std::string numbers(onnx_file::GraphProto& graph, const std::vector<int64_t>& list,
                      bool is_single = false) {
    inner_.count_constant(list.size(), sizeof(int64_t));
    auto& tensor = graph.initializer.add();
    tensor.name = inner_.unique(op_.layer().name + "/constant");
    tensor.data_type = onnx_file::TensorProto::INT64;
    if (!is_single) tensor.dims.push_back(static_cast<int64_t>(list.size()));
    for (const int64_t value : list) tensor.int64_data.push_back(value);
    return tensor.name;
  }
  std::string number(onnx_file::GraphProto& graph, int64_t value) { return numbers(graph, {value}, true); }

  void add_carried(int32_t parameter) {
    inner_layer(body_, parameter, "Parameter");
    for (const IrMapping& mapping : body_.inputs) {
      if (mapping.inner != parameter || mapping.port < 0 || mapping.is_sliced) continue;
      const auto port = static_cast<size_t>(mapping.port);
      first_.push_back(op_.input(port));
      inner_.names[{parameter, 0}] = add_input("carried", op_.input_shape(port));
      return;
    }
    fail("an edge of its body goes back to what has no first value");
  }

  void read_input(const IrMapping& mapping) {
    const IrLayer& parameter = inner_layer(body_, mapping.inner, "Parameter");
    if (body_.back.count(mapping.inner) != 0) return;
    std::string& name = inner_.names[{mapping.inner, 0}];
    if (!name.empty()) fail("layer ", quoted(parameter.name), " of its body is joined twice");
    if (mapping.purpose == "current_iteration") {
      const bool is_list = !parameter.outputs.empty() && parameter.outputs[0].shape.size() == 1;
      name = is_list ? node("Reshape", {names_[0], numbers(graph_, {1})}) : names_[0];
    } else if (mapping.port < 0) {
      fail("layer ", quoted(parameter.name), " of its body is joined to nothing");
    } else {
      const std::string outer = op_.input(static_cast<size_t>(mapping.port));
      name = mapping.is_sliced ? slice(mapping, outer) : outer;
    }
  }

  // Each run takes part_size indices of the axis, from start on by the stride.
  std::string slice(const IrMapping& mapping, const std::string& from) {
    const IrShape& shape = op_.input_shape(static_cast<size_t>(mapping.port));
    const Slices slices = slices_of(mapping, shape);
    if (runs_ >= 0 && slices.runs != runs_) fail("its inputs have ", runs_, " and ", slices.runs, " slices");
    runs_ = slices.runs;
    inner_.check_room(static_cast<uint64_t>(mapping.part_size), sizeof(int64_t));
    std::vector<int64_t> places;
    for (int64_t i = 0; i < mapping.part_size; ++i) places.push_back(slices.start + i);
    const std::string moved = node("Mul", {names_[0], numbers(graph_, {mapping.stride})});
    return node("Gather", {from, node("Add", {moved, numbers(graph_, places)})}, {{"axis", mapping.axis}});
  }

  void read_layers() {
    for (int32_t i = 0; i < static_cast<int32_t>(inner_.layers.size()); ++i) {
      const IrLayer& layer = inner_.layers[static_cast<size_t>(i)];
      if (layer.type == "Result") continue;
      if (layer.type == "Parameter") {
        if (inner_.names.count({i, 0}) == 0)
          fail("layer ", quoted(layer.name), " of its body is joined to nothing");
        continue;
      }
      try {
        import_ir_layer(inner_, i);
      } catch (const ImportError& error) {
        fail("its body's layer ", quoted(layer.name), " (", shown(layer.type), "): ", error.what());
      }
    }
    if (!inner_.states.empty()) fail("its body has variables, which is not supported");
  }

  std::string result(int32_t index) {
    inner_layer(body_, index, "Result");
    return IrOp(inner_, index).input(0);
  }
  IrShape shape_of(int32_t result) { return IrOp(inner_, result).input_shape(0); }
  // Its place among what goes from run to run; -1: it is not there.
  int32_t place_carried(int32_t result) const {
    int32_t place = 0;
    for (const auto& [to, from] : body_.back) {
      if (from == result) return place;
      ++place;
    }
    return -1;
  }

  void read_output(const IrMapping& mapping) {
    if (mapping.port < 0 || (!mapping.is_sliced && place_carried(mapping.inner) >= 0)) return;
    if (scans_.emplace(mapping.inner, scans_.size()).second)
      add_output(result(mapping.inner), shape_of(mapping.inner));
  }

  void write_output(const IrMapping& mapping, const std::vector<std::string>& made) {
    const std::string output = op_.output(static_cast<size_t>(mapping.port));
    const int32_t carried = place_carried(mapping.inner);
    if (!mapping.is_sliced && carried >= 0) {
      op_.add("Identity", {made[static_cast<size_t>(carried)]}, {}, output);
      return;
    }
    std::string list = made[first_.size() + scans_.at(mapping.inner)];
    if (!mapping.is_sliced) {  // what the last run gave
      op_.add("Gather", {list, number(*op_.file().graph, -1)}, {{"axis", 0}}, output);
      return;
    }
    // [runs, ...] with the runs beside the axis, of which they become a part.
    const IrShape shape = shape_of(mapping.inner);
    const auto axis = static_cast<int64_t>(port_axis(mapping, shape));
    if (mapping.stride < 0)
      list = op_.add_inner("Slice", {list, op_.integers_constant({-1}), op_.integers_constant({INT64_MIN}),
                                     op_.integers_constant({0}), op_.integers_constant({-1})});
    std::vector<int64_t> order, dims;
    for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
      if (d == axis) order.push_back(0);
      order.push_back(d + 1);
      if (d != axis && shape[static_cast<size_t>(d)] < 0) fail("its body gives an open size");
      dims.push_back(d == axis ? -1 : shape[static_cast<size_t>(d)]);
    }
    op_.add("Reshape", {op_.transposed(list, order), op_.integers_constant(dims)}, {}, output);
  }

  IrOp& op_;
  const IrBody& body_;
  onnx_file::GraphProto graph_;
  IrGraph inner_;
  std::vector<std::string> names_;   // of the body's inputs
  std::vector<std::string> first_;   // what is carried begins with, in the order of body_.back
  std::map<int32_t, size_t> scans_;  // Results of which each run's value is kept, and their order
  int64_t runs_ = -1;                // that slices say; -1: none does
};

void import_loop(IrOp& op) {
  const IrLayer& layer = op.layer();
  if (!layer.body) fail("it has no body");
  LoopLayer loop(op, *layer.body);
  loop.read_body();
  if (layer.type == "TensorIterator") return loop.write("", "");
  op.check_inputs(2, kMaxFileEnds);
  const auto trip_count = op.find_constant(op.source(0));
  const bool is_endless = trip_count && trip_count->values.size() == 1 && trip_count->values[0] < 0;
  loop.write(is_endless ? "" : op.input(0), op.input(1));
}

constexpr IrOperator kIrLoopOperators[] = {
    {"Loop", import_loop},
    {"TensorIterator", import_loop},
};

}  // namespace

Span<const IrOperator> ir_loop_operators() { return kIrLoopOperators; }

}  // namespace intaglio::importers
