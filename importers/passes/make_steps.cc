// A network over a whole sequence becomes one of a step: a row of time goes in, a row comes out. A convolution over time
// keeps the rows that it looks back on as a state.
//
// Row i of a tensor is there at step i + lag. Rows that padding puts before the first one have been there before: lag is
// negative then, and the convolution that reads them begins with them in its state.
#include "importers/passes/passes.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "importers/draft/op_traits.h"
#include "importers/draft/quantized_tables.h"

namespace intaglio::importers {
namespace {

struct Line {
  int32_t axis = -1;  // of time; -1: the tensor does not hang on it
  int32_t lag = 0;
  float before = 0.0f;  // what the rows before the first one hold, where lag is negative

  bool has_time() const { return axis >= 0; }
};

class StepMaker {
 public:
  explicit StepMaker(Draft& draft) : draft_(draft), lines_(draft.tensors.size()) {
    for (const DraftTensor& tensor : draft.tensors) shapes_.push_back(tensor.shape);
  }

  void make() {
    const int32_t input = draft_.inputs[0];
    const auto rank = static_cast<int32_t>(shape(input).size());
    if (draft_.time_axis >= rank)
      fail("--stream ", draft_.time_axis, ": the input ", quoted(draft_.tensor(input).name),
           " has the axes 0 to ", rank - 1);
    line(input).axis = draft_.time_axis;
    length_ = shape(input)[static_cast<size_t>(draft_.time_axis)];
    if (length_ < 2)
      fail("--stream ", draft_.time_axis, ": the input ", quoted(draft_.tensor(input).name),
           " has the shape ", shape_text(shape(input)),
           ", and one row along that axis; give a whole sequence with --shape");
    std::deque<DraftNode> nodes = std::move(draft_.nodes);
    draft_.nodes.clear();
    const std::vector<int32_t> outputs = draft_.outputs;
    for (DraftNode& node : nodes) visit(std::move(node));
    for (const int32_t output : outputs) check_output(output);
    for (size_t t = 0; t < lines_.size(); ++t)
      if (lines_[t].has_time()) draft_.tensors[t].shape[static_cast<size_t>(lines_[t].axis)] = 1;
    draft_.notes.push_back(text("a run takes one of the ", length_, " rows of ",
                                quoted(draft_.tensor(input).name), "; ", states_.size(),
                                states_.size() == 1 ? " state keeps" : " states keep",
                                " what convolutions look back on"));
  }

 private:
  const Shape& shape(int32_t tensor) const { return shapes_[static_cast<size_t>(tensor)]; }
  Line& line(int32_t tensor) { return lines_[static_cast<size_t>(tensor)]; }
  int32_t rows(int32_t tensor) { return shape(tensor)[static_cast<size_t>(line(tensor).axis)]; }

  template <typename... Parts>
  [[noreturn]] void refuse(const DraftNode& node, const Parts&... parts) const {
    fail("--stream: ", label(node), " ", parts...);
  }

  // So many steps later.
  void put_off(const DraftNode& node, Line& at, int32_t steps) const {
    constexpr int32_t kMost = 1 << 30;
    if (at.lag > kMost - steps) refuse(node, "gives its first row after more than ", kMost, " steps");
    at.lag += steps;
  }

  void visit(DraftNode node) {
    const bool has_time = std::any_of(node.inputs.begin(), node.inputs.end(),
                                      [&](int32_t input) { return input >= 0 && line(input).has_time(); });
    if (has_time) {
      for (size_t i = 1; i < node.outputs.size(); ++i) refuse(node, "has several outputs over time");
      if (auto* const window = node.options.get<Window2d>()) {
        keep_rows(node, *window);
      } else {
        line(node.output()) = follow(node);
      }
    }
    draft_.nodes.push_back(std::move(node));
  }

  // The output of a node that looks at one row at a time.
  Line follow(DraftNode& node) {
    if (!line(node.input()).has_time() || node.op == Op::kConcat || traits(node.op).axes == Axes::kSame)
      return join(node);
    Line at = line(node.input());
    const auto axis = static_cast<size_t>(at.axis);
    const Shape &in = shape(node.input()), &out = shape(node.output());
    for (size_t i = 1; i < node.inputs.size(); ++i)
      if (node.inputs[i] >= 0 && line(node.inputs[i]).has_time())
        refuse(node, "has several inputs over time");
    switch (node.op) {
      case Op::kTranspose:
        at.axis = inverse(to_vector(node.options.as<TransposeOptions>().permutation))[axis];
        return at;
      case Op::kReshape:
        at.axis = reshaped_axis(node, at.axis);
        return at;
      case Op::kPad:
        return pad(node, at);
      case Op::kStridedSlice:
        return slice(node, at);
      default:
        break;
    }
    if (at.lag < 0) refuse(node, "reads rows that padding puts before the sequence; only convolutions do so");
    const bool is_last = axis + 1 == in.size();
    if (node.op == Op::kNormalize && node.options.as<NormalizeOptions>().over_map)
      refuse(node, "looks at all of time at once");
    switch (traits(node.op).axes) {
      case Axes::kAny:
        if (node.op == Op::kGather && node.options.as<GatherOptions>().axis == at.axis)
          refuse(node, "picks rows of time");
        if (in.size() != out.size()) refuse(node, "changes the axes");
        return at;
      case Axes::kLast:
        if (is_last) refuse(node, "looks at all of time at once");
        return at;
      case Axes::kReduced: {
        int32_t gone = 0;
        for (const int32_t reduced : node.options.as<ReduceOptions>().axes) {
          if (reduced == at.axis) refuse(node, "looks at all of time at once");
          gone += reduced < at.axis ? 1 : 0;
        }
        if (in.size() != out.size()) at.axis -= gone;
        return at;
      }
      default:
        break;
    }
    const bool has_channels =
        node.op == Op::kPRelu || node.op == kBatchNorm || node.op == Op::kFullyConnected;
    if (!has_channels || is_last) refuse(node, "cannot be taken step by step along axis ", at.axis);
    if (node.op == Op::kFullyConnected) at.axis = reshaped_axis(node, at.axis);
    return at;
  }

  // The axis of the output with as many elements before it, and the same rows.
  int32_t reshaped_axis(const DraftNode& node, int32_t axis) {
    const Shape &in = shape(node.input()), &out = shape(node.output());
    int64_t before = 1, at = 1;
    for (int32_t i = 0; i < axis; ++i) before *= in[static_cast<size_t>(i)];
    for (size_t i = 0; i < out.size(); at *= out[i++])
      if (at == before && out[i] == in[static_cast<size_t>(axis)]) return static_cast<int32_t>(i);
    refuse(node, "mixes the axis of time with others: ", shape_text(in), " to ", shape_text(out));
  }

  Line pad(DraftNode& node, Line at) {
    auto& options = node.options.as<PadOptions>();
    std::vector<int32_t> before = to_vector(options.before);
    int32_t& rows_before = before[static_cast<size_t>(at.axis)];
    if (rows_before > 0) add_rows_before(node, at, rows_before, options.value);
    rows_before = 0;
    node.pads_after[static_cast<size_t>(at.axis)] = 0;
    options.before = draft_.list(before);
    return at;
  }

  void add_rows_before(const DraftNode& node, Line& at, int32_t count, float value) {
    if (at.lag > 0) refuse(node, "pads before a sequence whose first ", at.lag, " steps give nothing yet");
    if (at.lag < 0 && at.before != value)
      refuse(node, "pads with ", value, " what is padded with ", at.before);
    at.lag -= count;
    at.before = value;
  }

  Line slice(DraftNode& node, Line at) {
    auto& options = node.options.as<StridedSliceOptions>();
    std::vector<int32_t> begin = to_vector(options.begin);
    const auto axis = static_cast<size_t>(at.axis);
    if (options.strides[axis] != 1 && rows(node.input()) != 1) refuse(node, "leaves out rows of time");
    put_off(node, at, begin[axis]);
    begin[axis] = 0;
    options.begin = draft_.list(begin);
    return at;
  }

  // Operands of the same step.
  Line join(const DraftNode& node) {
    if (node.op != Op::kConcat && traits(node.op).axes != Axes::kSame)
      refuse(node, "cannot be taken step by step");
    const size_t rank = shape(node.output()).size();
    const auto in_output = [&](int32_t input, int32_t axis) {
      return axis + static_cast<int32_t>(rank - shape(input).size());
    };
    Line at;
    for (const int32_t input : node.inputs) {
      if (!line(input).has_time()) continue;
      Line other = line(input);
      other.axis = in_output(input, other.axis);
      if (other.lag < 0)
        refuse(node, "reads rows that padding puts before the sequence; only convolutions do so");
      if (at.has_time() && (other.axis != at.axis || other.lag != at.lag))
        refuse(node, "joins rows of different steps: one operand is ", std::abs(other.lag - at.lag),
               " steps behind");
      at = other;
    }
    for (const int32_t input : node.inputs) {
      const int32_t own = at.axis - static_cast<int32_t>(rank - shape(input).size());
      const bool repeats = own < 0 || shape(input)[static_cast<size_t>(own)] == 1;
      if (!line(input).has_time() && (!repeats || node.op == Op::kConcat))
        refuse(node, "has an operand with a value for each row of time");
    }
    if (node.op == Op::kConcat && node.options.as<ConcatOptions>().axis == at.axis)
      refuse(node, "joins pieces of time");
    return at;
  }

  // A convolution, or a pool.
  void keep_rows(DraftNode& node, Window2d& window) {
    const int32_t x = node.input();
    Line at = line(x);
    for (size_t i = 1; i < node.inputs.size(); ++i)
      if (node.inputs[i] >= 0 && line(node.inputs[i]).has_time())
        refuse(node, "has several inputs over time");
    if (at.axis != 1 && at.axis != 2) refuse(node, "cannot be taken step by step along axis ", at.axis);
    const bool is_height = at.axis == 1;
    int32_t& pad_before = is_height ? window.pad_top : window.pad_left;
    int32_t& pad_after = is_height ? window.pad_bottom : window.pad_right;
    const int32_t stride = is_height ? window.stride_h : window.stride_w;
    const int32_t reach = ((is_height ? window.kernel_h : window.kernel_w) - 1) *
                          (is_height ? window.dilation_h : window.dilation_w);
    if (stride != 1) refuse(node, "has the stride ", stride, " over time: a step gives less than a row");
    const bool is_pool = node.op == Op::kMaxPool2d || node.op == Op::kAvgPool2d;
    if (is_pool && (pad_before > 0 || pad_after > 0))
      refuse(node, "pads over time, which is no value to keep");
    if (pad_before > 0) add_rows_before(node, at, pad_before, 0.0f);
    pad_before = pad_after = 0;
    put_off(node, at, reach);
    if (at.lag < 0)
      refuse(node, "looks back on ", reach, " rows, and ", reach - at.lag,
             " are padded before the first one");
    if (reach > 0) node.inputs[0] = kept(x, at, reach);
    at.before = 0.0f;
    line(node.output()) = at;
  }

  // Rows that are kept, and the newest one behind them.
  int32_t kept(int32_t x, const Line& at, int32_t reach) {
    const auto key = std::make_tuple(x, reach, at.before);
    if (const auto found = states_.find(key); found != states_.end()) return found->second;
    const auto axis = static_cast<size_t>(at.axis);
    const std::string name = draft_.tensor(x).name + "/kept";
    Shape all = shape(x), old = all;
    all[axis] = reach + 1;
    old[axis] = reach;
    const int32_t state = add_activation_like(draft_, name, x, old);
    const int32_t both = add_activation_like(draft_, name + "/all", x, all);
    add_node({draft_, name, "Conv"}, Op::kConcat, {state, x}, both).options.as<ConcatOptions>().axis =
        at.axis;
    std::vector<int32_t> begin(all.size(), 0);
    begin[axis] = 1;
    const int32_t next =
        add_slice({draft_, name + "/next", "Conv"}, both, begin, std::vector<int32_t>(all.size(), 1), old);
    lines_.resize(draft_.tensors.size());
    for (size_t t = shapes_.size(); t < draft_.tensors.size(); ++t)
      shapes_.push_back(draft_.tensors[t].shape);
    DraftState made;
    made.input = draft_.inputs.size();
    made.output = draft_.outputs.size();
    made.initial = initial_rows(draft_.tensor(state), at.before);
    draft_.inputs.push_back(state);
    draft_.outputs.push_back(next);
    draft_.states.push_back(std::move(made));
    return states_[key] = both;
  }

  static std::vector<uint8_t> initial_rows(const DraftTensor& state, float value) {
    const auto count = static_cast<size_t>(elements(state.shape));
    if (state.dtype == DType::kS8)
      return std::vector<uint8_t>(count, static_cast<uint8_t>(static_cast<int8_t>(quantize(value, state))));
    if (value == 0.0f) return {};
    DraftTensor values;
    set_values(values, std::vector<float>(count, value));
    return values.data;
  }

  void check_output(int32_t output) {
    const Line at = line(output);
    if (!at.has_time()) return;
    const std::string name = quoted(draft_.tensor(output).name);
    if (at.lag < 0)
      fail("--stream: output ", name, " begins with ", -at.lag, " padded rows, which no step gives");
    const int32_t ahead = rows(output) + at.lag - length_;
    if (ahead > 0)
      fail("--stream: output ", name, " looks ", ahead, ahead == 1 ? " step" : " steps",
           " ahead; a network that is taken step by step pads before the first row alone");
    if (at.lag > 0)
      draft_.notes.push_back(text("output ", name, ": after a reset the first ", at.lag,
                                  at.lag == 1 ? " step gives" : " steps give",
                                  " nothing, since a convolution waits for its rows"));
  }

  Draft& draft_;
  std::vector<Line> lines_;    // of each tensor
  std::vector<Shape> shapes_;  // with all of time
  int32_t length_ = 0;
  std::map<std::tuple<int32_t, int32_t, float>, int32_t>
      states_;  // of a tensor, so many rows of it: with the newest
};

}  // namespace

void make_steps(Draft& draft) { StepMaker(draft).make(); }

}  // namespace intaglio::importers
