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
      add_node(draft_, Op::kTranspose, draft_.tensor(tensor).name, "Transpose", {source.base}, tensor)
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
      add_node(draft_, Op::kReshape, draft_.tensor(output).name, "Transpose", {base}, output);
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
        if (is_view(x) && moves_no_data(draft_.tensor(view(x).base).shape, view(x).permutation)) {
          node.inputs[0] = view(x).base;
          draft_.nodes.push_back(std::move(node));
          return;
        }
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

  // What a node says of each axis, or of one, in the order of the bases' axes.
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

  // A node of several operands: those that are no views are transposed back where that costs nothing.
  bool sink_join(DraftNode& node) {
    const auto first =
        std::find_if(node.inputs.begin(), node.inputs.end(), [&](int32_t i) { return is_view(i); });
    if (first == node.inputs.end()) return false;
    const Permutation permutation = view(*first).permutation, back = inverse(permutation);
    for (const int32_t input : node.inputs) {
      const DraftTensor& tensor = draft_.tensor(input);
      if (is_view(input)
              ? view(input).permutation != permutation
              : tensor.shape.size() != permutation.size() ||
                    !(tensor.constant || is_model_input(draft_, input) || moves_no_data(tensor.shape, back)))
        return false;
    }
    for (int32_t& input : node.inputs) {
      if (is_view(input))
        input = view(input).base;
      else if (draft_.tensor(input).constant)
        input = add_permuted_constant(draft_, input, back);
      else
        input = add_transpose(draft_, draft_.tensor(input).name, "Transpose", input, back);
    }
    move_axes(node, back);
    const int32_t output = node.output();
    emit_behind_view(std::move(node), output, permutation);
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
  std::vector<View> views_;     // of each tensor
  std::vector<int32_t> whole_;  // each view's tensor, once it has been made in full
};

}  // namespace

bool push_transposes(Draft& draft) { return TransposeSweep(draft).run(); }

}  // namespace intaglio::importers
