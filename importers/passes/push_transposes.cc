// One sweep in node order. A Transpose is not kept as a node but as a view: tensor = base transposed. A node
// that gives the same for any order of axes reads the bases, and its own output becomes a view; any other node
// gets its input transposed in full. So transposes sink, and inverse pairs meet and vanish.
#include <algorithm>

#include "importers/draft/op_traits.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {

namespace {

struct View {
  int32_t base = -1;  // -1: the tensor is no view
  Permutation permutation;
};

class TransposeSweep {
 public:
  explicit TransposeSweep(Draft& draft)
      : draft_(draft), views_(draft.tensors.size()), whole_(draft.tensors.size(), -1) {}

  bool run() {
    note_wanted_orders();
    std::deque<DraftNode> old_nodes = std::move(draft_.nodes);
    draft_.nodes.clear();
    size_t old_transposes = 0;
    for (DraftNode& node : old_nodes) {
      old_transposes += node.op == Op::kTranspose;
      visit(std::move(node));
    }
    for (const int32_t output : std::vector<int32_t>(draft_.outputs)) finish_output(output);
    const auto transposes =
        static_cast<size_t>(std::count_if(draft_.nodes.begin(), draft_.nodes.end(),
                                          [](const DraftNode& node) { return node.op == Op::kTranspose; }));
    return transposes != old_transposes;
  }

 private:
  View& view(int32_t tensor) {
    if (views_.size() < draft_.tensors.size()) {
      views_.resize(draft_.tensors.size());
      whole_.resize(draft_.tensors.size(), -1);
    }
    return views_[static_cast<size_t>(tensor)];
  }
  bool is_view(int32_t tensor) { return tensor >= 0 && view(tensor).base >= 0; }
  // An identity view is read as its base.
  int32_t resolve(int32_t tensor) {
    return is_view(tensor) && is_identity(view(tensor).permutation) ? view(tensor).base : tensor;
  }

  // The tensor itself, by a Transpose where it is only a view; made once.
  int32_t materialize(int32_t tensor) {
    if (!is_view(tensor)) return tensor;
    const View source = view(tensor);
    int32_t& made = whole_[static_cast<size_t>(tensor)];
    if (made < 0) {
      made = tensor;
      add_node({draft_, draft_.tensor(tensor).name, "Transpose"}, Op::kTranspose, {source.base}, tensor)
          .options.as<TransposeOptions>()
          .permutation = draft_.list(source.permutation);
    }
    return made;
  }

  // A model output keeps its own tensor where its base is one as well, or is a model input: as a Reshape.
  void finish_output(int32_t output) {
    if (!is_view(output)) return;
    const int32_t base = resolve(output);
    if (base == output) {
      materialize(output);
    } else if (is_model_output(draft_, base) || is_model_input(draft_, base) ||
               draft_.tensor(base).constant) {
      add_node({draft_, draft_.tensor(output).name, "Transpose"}, Op::kReshape, {base}, output);
    } else {
      draft_.tensor(base).name = draft_.tensor(output).name;
      std::replace(draft_.outputs.begin(), draft_.outputs.end(), output, base);
    }
  }

  void visit(DraftNode node) {
    for (int32_t& input : node.inputs) input = resolve(input);
    if (node.op == Op::kTranspose) return visit_transpose(node);
    const int32_t x = node.input();
    switch (axes_of(node)) {
      case Axes::kAny:
        if (is_view(x)) return sink(std::move(node), view(x).permutation);
        break;
      case Axes::kSame:
        if (sink_join(node)) return;
        break;
      case Axes::kReduced:
        if (is_view(x)) return sink_mean(std::move(node));
        break;
      case Axes::kLast:
        if (is_view(x) && view(x).permutation.back() == static_cast<int32_t>(view(x).permutation.size()) - 1)
          return sink(std::move(node), view(x).permutation);
        break;
      case Axes::kReshaped:
        if (is_view(x) && sink_reshape(node)) return;
        break;
      case Axes::kFixed:
        if (node.op == Op::kBatchMatMul) take_transposed(node);
        break;
    }
    for (int32_t& input : node.inputs) input = materialize(input);
    draft_.nodes.push_back(std::move(node));
  }

  // A product reads its second operand either way.
  void take_transposed(DraftNode& node) {
    if (!is_view(node.inputs[1])) return;
    Permutation order = view(node.inputs[1]).permutation;
    std::swap(order[order.size() - 2], order[order.size() - 1]);
    if (!is_identity(order)) return;
    node.inputs[1] = view(node.inputs[1]).base;
    auto& options = node.options.as<BatchMatMulOptions>();
    options.transpose_b = !options.transpose_b;
  }

  Axes axes_of(const DraftNode& node) const {
    // A table for each channel needs the channels last.
    if (node.op == Op::kLookup && draft_.tensor(node.inputs[1]).shape.size() != 1) return Axes::kFixed;
    if (node.op == Op::kNormalize && node.options.as<NormalizeOptions>().over_map) return Axes::kFixed;
    return traits(node.op).axes;
  }

  // In which order of axes the readers of each tensor want it: what a Transpose makes of it, or of what operators of any
  // order of axes make of it. Of several readers the first counts.
  void note_wanted_orders() {
    wanted_.resize(draft_.tensors.size());
    for (auto node = draft_.nodes.rbegin(); node != draft_.nodes.rend(); ++node) {
      const Permutation order = node->op == Op::kTranspose
                                    ? to_vector(node->options.as<TransposeOptions>().permutation)
                                    : wanted_[static_cast<size_t>(node->output())];
      const Axes axes = axes_of(*node);
      const size_t count = axes == Axes::kSame                                ? node->inputs.size()
                           : axes == Axes::kAny || node->op == Op::kTranspose ? 1
                                                                              : 0;
      for (size_t i = 0; i < count; ++i)
        if (const int32_t x = node->inputs[i]; x >= 0 && draft_.tensor(x).shape.size() == order.size())
          wanted_[static_cast<size_t>(x)] = order;
    }
  }

  void visit_transpose(const DraftNode& node) {
    const int32_t x = node.input();
    const Permutation axes = to_vector(node.options.as<TransposeOptions>().permutation);
    view(node.output()) =
        is_view(x) ? View{view(x).base, permuted(view(x).permutation, axes)} : View{x, axes};
  }

  // The node on the bases; its output becomes a view of the new output.
  void sink(DraftNode node, const Permutation& permutation) {
    const int32_t output = node.output();
    const Permutation back = inverse(permutation);
    node.inputs[0] = view(node.inputs[0]).base;
    move_axes(node, back);
    emit_behind_view(std::move(node), output, permutation);
  }

  void emit_behind_view(DraftNode node, int32_t output, const Permutation& permutation) {
    const std::string name = draft_.tensor(output).name;
    const Shape shape = permuted(draft_.tensor(output).shape, inverse(permutation));
    const int32_t base = add_activation_like(draft_, name, output, shape);
    node.outputs[0] = base;
    draft_.nodes.push_back(std::move(node));
    view(output) = View{base, permutation};
  }

  // A node's options for each axis, or for one, in the order of the bases' axes.
  void move_axes(DraftNode& node, const Permutation& back) {
    const auto move_list = [&](Span<const int32_t>& list) {
      list = draft_.list(permuted(to_vector(list), back));
    };
    const auto move_axis = [&](int32_t& axis) { axis = inverse(back)[static_cast<size_t>(axis)]; };
    if (auto* const slice = node.options.get<StridedSliceOptions>()) {
      move_list(slice->begin);
      move_list(slice->strides);
    }
    if (auto* const pad = node.options.get<PadOptions>()) move_list(pad->before);
    if (!node.pads_after.empty()) node.pads_after = permuted(node.pads_after, back);
    if (auto* const concat = node.options.get<ConcatOptions>()) move_axis(concat->axis);
    if (auto* const gather = node.options.get<GatherOptions>()) move_axis(gather->axis);
    if (auto* const top = node.options.get<TopKOptions>()) move_axis(top->axis);
  }

  // It needs no order of axes.
  static bool is_number(const DraftTensor& tensor, size_t rank) {
    return tensor.constant && elements(tensor.shape) == 1 && tensor.shape.size() <= rank;
  }

  // A node of several operands: those that are no views are transposed back where that costs nothing.
  bool sink_join(DraftNode& node) {
    const auto first =
        std::find_if(node.inputs.begin(), node.inputs.end(), [&](int32_t i) { return is_view(i); });
    if (first == node.inputs.end()) return false;
    const Permutation permutation = view(*first).permutation, back = inverse(permutation);
    for (const int32_t input : node.inputs) {
      const DraftTensor& tensor = draft_.tensor(input);
      if (is_number(tensor, permutation.size())) continue;
      if (is_view(input)
              ? view(input).permutation != permutation
              : tensor.shape.size() != permutation.size() ||
                    !(tensor.constant || is_model_input(draft_, input) || moves_no_data(tensor.shape, back)))
        return false;
    }
    for (int32_t& input : node.inputs) {
      if (is_view(input))
        input = view(input).base;
      else if (is_number(draft_.tensor(input), permutation.size()))
        continue;
      else if (draft_.tensor(input).constant)
        input = add_permuted_constant(draft_, input, back);
      else
        input = add_transpose({draft_, draft_.tensor(input).name, "Transpose"}, input, back);
    }
    move_axes(node, back);
    const int32_t output = node.output();
    emit_behind_view(std::move(node), output, permutation);
    return true;
  }

  bool sink_reshape(DraftNode& node) {
    const View source = view(node.input());
    const int32_t output = node.output();
    if (moves_no_data(draft_.tensor(source.base).shape, source.permutation)) {
      node.inputs[0] = source.base;
      draft_.nodes.push_back(std::move(node));
      return true;
    }
    const std::optional<ReshapedView> found =
        reshaped_view(draft_.tensor(source.base).shape, source.permutation, draft_.tensor(output).shape,
                      wanted_[static_cast<size_t>(output)]);
    if (!found) return false;
    node.inputs[0] =
        add_transpose({draft_, draft_.tensor(node.input()).name, "Transpose"}, source.base, found->before);
    if (is_identity(found->order))
      draft_.nodes.push_back(std::move(node));
    else
      emit_behind_view(std::move(node), output, inverse(found->order));
    return true;
  }

  void sink_mean(DraftNode node) {
    const View source = view(node.inputs[0]);
    const int32_t output = node.output();
    const bool keep = draft_.tensor(output).shape.size() == source.permutation.size();
    std::vector<bool> reduced(source.permutation.size(), false);
    std::vector<int32_t> axes = to_vector(node.options.as<ReduceOptions>().axes);
    for (int32_t& axis : axes) {
      axis = source.permutation[static_cast<size_t>(axis)];
      reduced[static_cast<size_t>(axis)] = true;
    }
    std::sort(axes.begin(), axes.end());
    node.options.as<ReduceOptions>().axes = draft_.list(axes);
    node.inputs[0] = source.base;
    if (keep) return emit_behind_view(std::move(node), output, source.permutation);
    // The axes that stay, numbered anew.
    std::vector<int32_t> number(reduced.size(), 0);
    int32_t count = 0;
    for (size_t axis = 0; axis < reduced.size(); ++axis) number[axis] = reduced[axis] ? -1 : count++;
    Permutation rest;
    for (const int32_t axis : source.permutation)
      if (!reduced[static_cast<size_t>(axis)]) rest.push_back(number[static_cast<size_t>(axis)]);
    if (rest.empty() || is_identity(rest)) {
      draft_.nodes.push_back(std::move(node));
      return;
    }
    emit_behind_view(std::move(node), output, rest);
  }

  Draft& draft_;
  std::vector<View> views_;          // of each tensor
  std::vector<int32_t> whole_;       // each view's tensor, once it has been made in full
  std::vector<Permutation> wanted_;  // of each tensor that a node reads; empty: none
};

}  // namespace

bool push_transposes(Draft& draft) { return TransposeSweep(draft).run(); }

// Transpose, flattening, FullyConnected: the weights' columns take the order of the data that was transposed.

namespace {

// The Transpose that a flattening [n, ...] to [n, k] reads; nullptr where there is none.
const DraftNode* transpose_before(const Draft& draft, const Links& links, const DraftNode& reshape) {
  const DraftNode* const node = links.writer(draft, reshape.input(), Op::kTranspose);
  const Shape& from = draft.tensor(reshape.input()).shape;
  const Shape& to = draft.tensor(reshape.output()).shape;
  const bool flattens = to.size() == 2 && to[0] == from[0];
  const bool is_one = node != nullptr && node->options.as<TransposeOptions>().permutation[0] == 0 && flattens;
  return is_one ? node : nullptr;
}

bool only_fully_connected(const Draft& draft, const Links& links, int32_t tensor) {
  if (links.is_output[static_cast<size_t>(tensor)]) return false;
  const auto& consumers = links.consumers_of(tensor);
  return std::all_of(consumers.begin(), consumers.end(), [&](int32_t index) {
    const DraftNode& node = draft.node(index);
    return node.op == Op::kFullyConnected && node.input(0) == tensor && node.input(1) != tensor;
  });
}

void permute_columns(Draft& draft, DraftNode& node, const DraftNode& transpose) {
  DraftTensor weights = draft.tensor(node.inputs[1]);
  Shape shape = draft.tensor(transpose.output()).shape;  // of one row's columns, with the rows in front
  shape[0] = weights.shape[0];
  weights.data = permuted_data(weights.data, element_bytes(weights.dtype), shape,
                               inverse(to_vector(transpose.options.as<TransposeOptions>().permutation)));
  node.inputs[1] = draft.put(std::move(weights));  // the old ones may be shared
}

}  // namespace

bool permute_fully_connected(Draft& draft) {
  const Links links(draft);
  bool changed = false;
  for (DraftNode& reshape : draft.nodes) {
    if (reshape.op != Op::kReshape) continue;
    const DraftNode* const transpose = transpose_before(draft, links, reshape);
    if (transpose == nullptr || !only_fully_connected(draft, links, reshape.output())) continue;
    for (const int32_t consumer : links.consumers_of(reshape.output()))
      permute_columns(draft, draft.node(consumer), *transpose);
    reshape.inputs[0] = transpose->input();
    changed = true;
  }
  return changed;
}

// A model input in NCHW that is transposed to NHWC, at once or behind operators of preprocessing, becomes
// an NHWC input: pictures come in as they are. Others that read it get it transposed back.

namespace {

bool reaches_nhwc(const Draft& draft, int32_t input) {
  std::vector<bool> reached(draft.tensors.size(), false);
  reached[static_cast<size_t>(input)] = true;
  for (const DraftNode& node : draft.nodes) {
    const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(), [&](int32_t read) {
      return read >= 0 && reached[static_cast<size_t>(read)];
    });
    if (reads && node.op == Op::kTranspose &&
        to_vector(node.options.as<TransposeOptions>().permutation) == kToNhwc)
      return true;
    if (reads && traits(node.op).is(kPreprocesses)) reached[static_cast<size_t>(node.output())] = true;
  }
  return false;
}

// Once: where others read the input in another order, turning it may make a Transpose of theirs one to NHWC.
bool was_turned(const Draft& draft, int32_t input) {
  return std::find(draft.nhwc_inputs.begin(), draft.nhwc_inputs.end(), input) != draft.nhwc_inputs.end();
}

// The output of a state has the state's order of axes.
void turn_state(Draft& draft, DraftState& state, const Shape& nchw) {
  int32_t& next = draft.outputs[state.output];
  next = add_transpose({draft, draft.tensor(next).name, "Transpose"}, next, kToNhwc);
  const DType dtype = draft.tensor(next).dtype;
  if (!state.initial.empty())
    state.initial = permuted_data(state.initial, element_bytes(dtype), nchw, kToNhwc);
}

}  // namespace

bool make_inputs_nhwc(Draft& draft) {
  bool changed = false;
  for (const int32_t input : draft.inputs) {
    if (draft.tensor(input).shape.size() != 4 || was_turned(draft, input) || !reaches_nhwc(draft, input))
      continue;
    draft.nhwc_inputs.push_back(input);
    const Shape nchw = draft.tensor(input).shape;
    const Shape nhwc = permuted(nchw, kToNhwc);
    const int32_t back = add_activation_like(draft, draft.tensor(input).name, input, nchw);
    for (DraftNode& node : draft.nodes) std::replace(node.inputs.begin(), node.inputs.end(), input, back);
    draft.tensor(input).shape = nhwc;
    if (input == draft.inputs[0] && draft.time_axis >= 0 && draft.time_axis < 4)
      draft.time_axis = inverse(kToNhwc)[static_cast<size_t>(draft.time_axis)];
    add_node({draft, draft.tensor(input).name, "Transpose"}, Op::kTranspose, {input}, back)
        .options.as<TransposeOptions>()
        .permutation = draft.list(kToNchw);
    std::rotate(draft.nodes.begin(), draft.nodes.end() - 1, draft.nodes.end());
    changed = true;
    const auto state = std::find_if(draft.states.begin(), draft.states.end(), [&](const DraftState& each) {
      return draft.inputs[each.input] == input;
    });
    if (state != draft.states.end()) {
      turn_state(draft, *state, nchw);
      continue;
    }
    draft.notes.push_back(text("input ", quoted(draft.tensor(input).name), " is taken as NHWC ",
                               shape_text(nhwc), "; in the file it is NCHW ", shape_text(nchw)));
  }
  return changed;
}

}  // namespace intaglio::importers
