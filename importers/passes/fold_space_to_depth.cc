// Pixels that are laid out as channels in front of a convolution: slices that Concat joins (YOLO's focus), SpaceToDepth. The
// convolution takes the pixels themselves, in a larger window of a larger stride. It has the same products. An FP32 chain runs over
// them in another order, as arithmetic.md says for the larger window; sums of codes are exact.
#include <algorithm>
#include <optional>

#include "importers/draft/geometry.h"
#include "importers/passes/passes.h"

namespace intaglio::importers {
namespace {

// Where each channel of a tensor [n, h, w, c] comes from: element (y, x, c) is element (y * step_h + dy, x * step_w + dx, channel)
// of `source`.
struct Place {
  int32_t dy, dx, channel;
};
struct Layout {
  int32_t source = -1;
  int32_t step_h = 1, step_w = 1;
  std::vector<Place> channels;
};

class LayoutFinder {
 public:
  LayoutFinder(const Draft& draft, const Links& links) : draft_(draft), links_(links) {}

  // What moves alone is followed back as far as it goes.
  Layout layout(int32_t tensor, int depth = 0) const {
    constexpr int kMostMoves = 8;
    const DraftNode* const node = depth < kMostMoves ? links_.writer(draft_, tensor) : nullptr;
    std::optional<Layout> found;
    if (node != nullptr && draft_.tensor(node->input()).same_quantization(draft_.tensor(tensor))) {
      if (node->op == Op::kStridedSlice) found = of_slice(*node, depth);
      if (node->op == Op::kConcat) found = of_concat(*node, depth);
      if (node->op == Op::kReshape) found = of_blocks(*node, depth);
    }
    return found ? std::move(*found) : whole(tensor);
  }

 private:
  Layout whole(int32_t tensor) const {
    Layout same{tensor, 1, 1, {}};
    draft_.budget->spend_work(static_cast<uint64_t>(draft_.tensor(tensor).shape.back()),
                              "the folding of its windows");
    for (int32_t c = 0; c < draft_.tensor(tensor).shape.back(); ++c) same.channels.push_back({0, 0, c});
    return same;
  }

  std::optional<Layout> of_slice(const DraftNode& node, int depth) const {
    const auto& slice = node.options.as<StridedSliceOptions>();
    const Shape& to = draft_.tensor(node.output()).shape;
    if (to.size() != 4 || slice.begin[0] != 0 || slice.strides[0] != 1 ||
        std::any_of(slice.strides.begin(), slice.strides.end(), [](int32_t step) { return step < 1; }))
      return std::nullopt;
    Layout from = layout(node.input(), depth + 1), taken{from.source, 0, 0, {}};
    for (int32_t c = 0; c < to[3]; ++c) {
      Place place = from.channels[static_cast<size_t>(slice.begin[3] + c * slice.strides[3])];
      place.dy += slice.begin[1] * from.step_h;
      place.dx += slice.begin[2] * from.step_w;
      taken.channels.push_back(place);
    }
    taken.step_h = from.step_h * slice.strides[1];
    taken.step_w = from.step_w * slice.strides[2];
    return taken;
  }

  std::optional<Layout> of_concat(const DraftNode& node, int depth) const {
    if (node.options.as<ConcatOptions>().axis != 3) return std::nullopt;
    Layout all;
    for (const int32_t input : node.inputs) {
      if (draft_.tensor(input).constant ||
          !draft_.tensor(input).same_quantization(draft_.tensor(node.output())))
        return std::nullopt;
      const Layout part = layout(input, depth + 1);
      if (all.source >= 0 &&
          (part.source != all.source || part.step_h != all.step_h || part.step_w != all.step_w))
        return std::nullopt;
      std::vector<Place> channels = std::move(all.channels);
      channels.insert(channels.end(), part.channels.begin(), part.channels.end());
      all = {part.source, part.step_h, part.step_w, std::move(channels)};
    }
    return all;
  }

  // SpaceToDepth: [n, h, bh, w, bw, c], whose rows of a block, columns and channels stand last in any order.
  std::optional<Layout> of_blocks(const DraftNode& together, int depth) const {
    const DraftNode* const turn = links_.writer(draft_, together.input());
    if (turn == nullptr || turn->op != Op::kTranspose) return std::nullopt;
    const DraftNode* const apart = links_.writer(draft_, turn->input());
    if (apart == nullptr || apart->op != Op::kReshape) return std::nullopt;
    const Shape &picture = draft_.tensor(apart->input()).shape, &blocks = draft_.tensor(turn->input()).shape,
                &to = draft_.tensor(together.output()).shape;
    const Permutation order = to_vector(turn->options.as<TransposeOptions>().permutation);
    if (picture.size() != 4 || blocks.size() != 6 || to.size() != 4 || order[0] != 0 || order[1] != 1 ||
        order[2] != 3 || blocks[0] != picture[0] || blocks[1] * blocks[2] != picture[1] ||
        blocks[3] * blocks[4] != picture[2] || to[0] != blocks[0] || to[1] != blocks[1] || to[2] != blocks[3])
      return std::nullopt;
    const Layout from = layout(apart->input(), depth + 1);
    Layout all{from.source, from.step_h * blocks[2], from.step_w * blocks[4], {}};
    Shape at(6, 0);
    for (int32_t i = 0; i < to[3]; ++i) {
      for (int32_t rest = i, axis = 5; axis >= 3; --axis) {
        const auto own = static_cast<size_t>(order[static_cast<size_t>(axis)]);
        at[own] = rest % blocks[own];
        rest /= blocks[own];
      }
      Place place = from.channels[static_cast<size_t>(at[5])];
      place.dy += at[2] * from.step_h;
      place.dx += at[4] * from.step_w;
      all.channels.push_back(place);
    }
    return all;
  }

  const Draft& draft_;
  const Links& links_;
};

// Whether each element of the source's blocks of step_h * step_w pixels is one of the channels, and only once: the window then
// has no zeros. Padding then covers whole blocks.
bool is_space_to_depth(const Draft& draft, const Layout& layout, const Shape& to) {
  const Shape& from = draft.tensor(layout.source).shape;
  if (from.size() != 4 || (layout.step_h == 1 && layout.step_w == 1) || from[0] != to[0] ||
      int64_t{to[1]} * layout.step_h != from[1] || int64_t{to[2]} * layout.step_w != from[2] ||
      int64_t{from[3]} * layout.step_h * layout.step_w != to[3])
    return false;
  std::vector<bool> is_there(static_cast<size_t>(to[3]), false);
  for (const Place& place : layout.channels) {
    if (place.dy >= layout.step_h || place.dx >= layout.step_w) return false;
    is_there[static_cast<size_t>((place.dy * layout.step_w + place.dx) * from[3] + place.channel)] = true;
  }
  return std::all_of(is_there.begin(), is_there.end(), [](bool there) { return there; });
}

// [oc, kh, kw, c] to [oc, kh * step_h, kw * step_w, the source's channels].
int32_t add_window_weights(Draft& draft, int32_t old, const Layout& layout) {
  DraftTensor weights = draft.tensor(old);  // it may be shared
  const Shape from = weights.shape;
  const int32_t channels = draft.tensor(layout.source).shape[3];
  weights.shape = {from[0], from[1] * layout.step_h, from[2] * layout.step_w, channels};
  const size_t bytes = element_bytes(weights.dtype);
  const uint8_t* next = draft.tensor(old).data.data();
  for (int32_t o = 0; o < from[0]; ++o)
    for (int32_t y = 0; y < from[1]; ++y)
      for (int32_t x = 0; x < from[2]; ++x)
        for (const Place& place : layout.channels) {
          const int64_t row = (int64_t{o} * from[1] + y) * layout.step_h + place.dy,
                        column = int64_t{x} * layout.step_w + place.dx,
                        to = (row * weights.shape[2] + column) * channels + place.channel;
          std::copy_n(next, bytes, weights.data.begin() + to * static_cast<int64_t>(bytes));
          next += bytes;
        }
  return draft.put(std::move(weights));
}

}  // namespace

bool fold_space_to_depth(Draft& draft) {
  const Links links(draft);
  const LayoutFinder finder(draft, links);
  bool changed = false;
  for (DraftNode& node : draft.nodes) {
    if (node.op != Op::kConv2d || !links.single_use(node.input())) continue;
    auto& options = node.options.as<Conv2dOptions>();
    auto& window = node.options.as<Window2d>();
    const DraftTensor& weights = draft.tensor(node.inputs[1]);
    if (options.groups != 1 || window.dilation_h != 1 || window.dilation_w != 1 || !weights.constant ||
        weights.axis > 0)
      continue;
    const Layout layout = finder.layout(node.input());
    const auto is_too_large = [](int32_t size, int32_t step) { return int64_t{size} * step > kMaxWindow; };
    if (is_too_large(window.kernel_h, layout.step_h) || is_too_large(window.kernel_w, layout.step_w) ||
        is_too_large(window.stride_h, layout.step_h) || is_too_large(window.stride_w, layout.step_w) ||
        !is_space_to_depth(draft, layout, draft.tensor(node.input()).shape))
      continue;
    draft.budget->spend_work(weights.data.size(), "the folding of its windows");
    node.inputs[1] = add_window_weights(draft, node.inputs[1], layout);
    node.inputs[0] = layout.source;
    window.kernel_h *= layout.step_h;
    window.kernel_w *= layout.step_w;
    window.stride_h *= layout.step_h;
    window.stride_w *= layout.step_w;
    window.pad_top *= layout.step_h;
    window.pad_bottom *= layout.step_h;
    window.pad_left *= layout.step_w;
    window.pad_right *= layout.step_w;
    changed = true;
  }
  return changed;
}

}  // namespace intaglio::importers
