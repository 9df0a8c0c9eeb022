#include "calibrator/host/stream_segments.h"

#include <algorithm>
#include <numeric>

#include "calibrator/bake/memory_plan.h"
#include "runtime/liveness.h"
#include "runtime/op_search.h"
#include "runtime/streaming/streamed_model.h"

namespace intaglio {
namespace {

constexpr int64_t kUnknown = INT64_MIN;

// How one node of a segment reads another's rows.
struct Edge {
  int32_t writer, reader;  // counted in the segment, a fed picture first
  RowAccess window;
};

class SegmentPlanner {
 public:
  SegmentPlanner(const RowNetwork& network, int32_t first, int32_t past, int32_t band, bool fed)
      : network_(network),
        picture_(fed ? network.picture_of(first, past) : nullptr),
        first_(picture_ == nullptr ? first : first - 1),
        count_(past - first_),
        band_(band) {}

  std::optional<PlannedSegment> plan() {
    if (!find_edges() || !find_strides()) return {};
    find_leads();
    improve_leads();
    return finish();
  }

 private:
  const RowNetwork::Node& node(int32_t i) const {
    return is_picture(i) ? *picture_ : network_.node(first_ + i);
  }
  bool is_picture(int32_t i) const { return picture_ != nullptr && i == 0; }
  int64_t& lead(int32_t i) { return leads_[static_cast<size_t>(i)]; }
  int64_t stride(int32_t i) const { return strides_[static_cast<size_t>(i)]; }
  // How much further the writer's lead must be.
  int64_t least_ahead(const Edge& edge) const {
    return edge.window.least_ahead(stride(edge.writer), stride(edge.reader));
  }
  bool leaves(int32_t i) const {
    return !is_picture(i) &&
           network_.tensors()[static_cast<size_t>(node(i).output)].last_use >= first_ + count_;
  }

  bool find_edges() {
    for (int32_t i = 0; i < count_; ++i) {
      if (!node(i).access.by_rows) return false;
      for (const RowNetwork::Input& input : node(i).inputs) {
        const bool fed = picture_ != nullptr && input.tensor == picture_->output;
        const int32_t writer = fed ? 0 : input.writer - first_;
        if (!fed && (writer < 0 || is_picture(writer))) continue;
        if (!input.by_rows || node(writer).access.reduces) return false;
        edges_.push_back({writer, i, input.window});
      }
    }
    return true;
  }

  // For each group of connected nodes, the least whole numbers that keep step.
  bool find_strides() {
    std::vector<int64_t> over(static_cast<size_t>(count_), 0), under(static_cast<size_t>(count_), 1);
    for (int32_t root = 0; root < count_; ++root) {
      if (over[static_cast<size_t>(root)] != 0) continue;
      std::vector<int32_t> group = {root};
      over[static_cast<size_t>(root)] = 1;
      for (size_t g = 0; g < group.size(); ++g)
        for (const Edge& edge : edges_) {
          if (edge.writer != group[g] && edge.reader != group[g]) continue;
          const bool forward = edge.writer == group[g];
          const auto from = static_cast<size_t>(group[g]);
          const auto to = static_cast<size_t>(forward ? edge.reader : edge.writer);
          int64_t a = over[from] * (forward ? edge.window.stride : edge.window.per);
          int64_t b = under[from] * (forward ? edge.window.per : edge.window.stride);
          const int64_t common = std::gcd(a, b);
          a /= common;
          b /= common;
          if (a > kMaxRows || b > kMaxRows) return false;
          if (over[to] != 0 && (over[to] != a || under[to] != b)) return false;
          if (over[to] == 0) group.push_back(static_cast<int32_t>(to));
          over[to] = a;
          under[to] = b;
        }
      int64_t multiple = 1;
      for (const int32_t i : group) multiple = std::lcm(multiple, under[static_cast<size_t>(i)]);
      if (multiple > kMaxRows) return false;
      int64_t common = 0;
      for (const int32_t i : group)
        common = std::gcd(common, over[static_cast<size_t>(i)] * (multiple / under[static_cast<size_t>(i)]));
      for (const int32_t i : group) {
        const auto at = static_cast<size_t>(i);
        over[at] = over[at] * (multiple / under[at]) / common;
        under[at] = 1;
        if (over[at] * node(i).height > kMaxRows) return false;
      }
    }
    strides_ = over;
    return true;
  }

  // Rows as late as the last node needs them; what does not lead there as early as its inputs allow.
  void find_leads() {
    leads_.assign(static_cast<size_t>(count_), kUnknown);
    lead(count_ - 1) = 0;
    for (int32_t i = count_ - 1; i >= 0; --i)
      for (const Edge& edge : edges_)
        if (edge.writer == i && lead(edge.reader) != kUnknown)
          lead(i) = std::max(lead(i), lead(edge.reader) + least_ahead(edge));
    for (int32_t i = 0; i < count_; ++i) {
      if (lead(i) != kUnknown) continue;
      const int64_t latest = most_lead(i);
      lead(i) = latest == INT64_MAX ? 0 : latest;
    }
  }

  // As early as its inputs allow.
  int64_t most_lead(int32_t i) {
    int64_t most = INT64_MAX;
    for (const Edge& edge : edges_)
      if (edge.reader == i) most = std::min(most, lead(edge.writer) - least_ahead(edge));
    return most;
  }
  int64_t least_lead(int32_t i) {
    int64_t least = kUnknown;
    for (const Edge& edge : edges_)
      if (edge.writer == i) least = std::max(least, lead(edge.reader) + least_ahead(edge));
    return least;
  }

  int64_t rows_of(int32_t i) {
    if (node(i).access.reduces) return -1;
    if (leaves(i)) return 0;
    int64_t rows = (band_ - 1) / stride(i) + 1;
    for (const Edge& edge : edges_)
      if (edge.writer == i)
        rows = std::max(
            rows, edge.window.kept_rows(stride(i), stride(edge.reader), lead(i) - lead(edge.reader), band_));
    return std::min(rows, int64_t{node(i).height});
  }

  uint64_t place_of(int32_t i) {
    const int64_t rows = rows_of(i);
    const auto& tensor = network_.tensors()[static_cast<size_t>(node(i).output)];
    if (rows < 0)
      return align_block(node(i).row_bytes * sizeof(int32_t));  // a mean's row_bytes: its channels
    return rows == 0 ? tensor.bytes : align_block(node(i).row_bytes * static_cast<uint64_t>(rows));
  }

  uint64_t all_bytes() {
    uint64_t bytes = 0;
    for (int32_t i = 0; i < count_; ++i) bytes += place_of(i);
    return bytes;
  }

  // Where lines branch, a node may wait behind its inputs or before its readers: the smaller rows wait.
  void improve_leads() {
    uint64_t best = all_bytes();
    for (int32_t round = 0; round < 4; ++round) {
      const uint64_t before = best;
      for (int32_t i = 0; i < count_; ++i)
        for (const bool early : {true, false}) {
          const int64_t kept = lead(i), other = early ? most_lead(i) : least_lead(i);
          if (other == INT64_MAX || other == kUnknown || other == kept) continue;
          lead(i) = other;
          const uint64_t bytes = all_bytes();
          if (bytes < best) {
            best = bytes;
          } else {
            lead(i) = kept;
          }
        }
      if (best == before) break;
    }
  }

  std::optional<PlannedSegment> finish() {
    int64_t shift = INT64_MAX;  // nothing is there before the clock starts
    for (int32_t i = 0; i < count_; ++i) shift = std::min(shift, stride(i) - 1 - lead(i));
    PlannedSegment segment;
    segment.first = picture_ == nullptr ? first_ : first_ + 1;
    segment.band = band_;
    for (int64_t& lead : leads_) lead += shift;
    for (int32_t i = 0; i < count_; ++i) {
      if (lead(i) < -kMaxRows) return {};
      const auto stride = static_cast<int32_t>(strides_[static_cast<size_t>(i)]);
      const auto rows = static_cast<int32_t>(rows_of(i));
      segment.bytes += place_of(i);
      if (is_picture(i)) {
        segment.picture_stride = stride;
        segment.picture_lead = static_cast<int32_t>(lead(i));
        segment.picture_rows = rows;
        segment.picture_place = place_of(i);
        segment.bytes -= network_.tensors()[static_cast<size_t>(picture_->output)].bytes;
        continue;
      }
      segment.strides.push_back(stride);
      segment.leads.push_back(static_cast<int32_t>(lead(i)));
      segment.rows.push_back(rows);
      segment.places.push_back(place_of(i));
      // The clock goes on by `band` at a step: a call for each step, or for each row where a row takes several.
      const int64_t steps = node(i).height * int64_t{stride}, a_call = std::max<int64_t>(band_, stride);
      segment.calls += static_cast<uint64_t>((steps + a_call - 1) / a_call) * node(i).call_cost;
    }
    if (count_ == 1 && picture_ == nullptr && segment.rows[0] == 0) find_input_below(&segment);
    return segment;
  }

  // The rule that a session checks: see runtime/streaming/streaming.cc.
  void find_input_below(PlannedSegment* segment) const {
    const RowNetwork::Node& n = node(0);
    for (const RowNetwork::Input& input : n.inputs) {
      if (network_.tensors()[static_cast<size_t>(input.tensor)].last_use != first_) continue;
      int64_t below = 0;
      for (const RowNetwork::Input& other : n.inputs) {
        if (other.tensor != input.tensor) continue;
        below =
            other.by_rows && other.window.per == 1
                ? std::max(below, other.window.least_above(n.height, band_, static_cast<int64_t>(n.row_bytes),
                                                           static_cast<int64_t>(other.row_bytes)))
                : INT64_MAX / 2;
      }
      const uint64_t bytes = align_block(static_cast<uint64_t>(below));
      if (bytes >= segment->bytes) continue;
      segment->under = input.tensor;
      segment->below = segment->bytes = bytes;
    }
  }

  const RowNetwork& network_;
  const RowNetwork::Node* const picture_;  // that is fed; nullptr: none
  const int32_t first_, count_, band_;     // the picture counts as a node
  std::vector<Edge> edges_;
  std::vector<int64_t> strides_, leads_;
};

}  // namespace

RowNetwork::RowNetwork(const Model& model, OpList ops, bool feeds_rows) {
  tensors_.resize(static_cast<size_t>(model.tensor_count()));
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    const TensorInfo info = model.tensor(t);
    if (info.is_constant()) continue;
    const int32_t writer = writer_of(model, t);
    tensors_[static_cast<size_t>(t)] = {align_block(info.bytes()), writer, last_use(model, t, writer)};
  }
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeView view = {n, model.node(n), &model};
    Node node;
    node.access = row_access(view);
    node.output = view.output_index(0);
    for (int32_t k = 0; k < view.input_count(); ++k) {
      if (!view.has_input(k) || view.input(k).is_constant()) continue;
      const bool by_rows = node.access.by_rows && reads_rows(view, k);
      const int32_t tensor = view.input_index(k);
      node.inputs.push_back({tensor, tensors_[static_cast<size_t>(tensor)].writer, by_rows,
                             by_rows ? access_of_input(node.access, k) : RowAccess(),
                             by_rows ? static_cast<uint64_t>(row_bytes_of(view.input(k))) : 0});
    }
    if (node.access.by_rows) {
      node.height = counted_rows(view, node.access.reduces);
      // On a Cortex-M4 a call takes 5000 instructions, and a depthwise one 190 more a channel: it widens the rows above
      // and below anew, and makes the tables of its weights.
      if (view.info.op == Op::kDepthwiseConv2d)
        node.call_cost += static_cast<uint64_t>(view.output().shape[3] / 26);
      const TensorInfo out = view.output();
      node.row_bytes = node.access.reduces ? static_cast<uint64_t>(out.shape.elements())
                                           : out.bytes() / static_cast<uint64_t>(out.shape[1]);
    }
    const OpDef* const def = find_op(ops, model, view.info);
    if (def != nullptr && def->alias_input >= 0 && view.has_input(def->alias_input)) {
      const int32_t input = view.input_index(def->alias_input);
      const Tensor& tensor = tensors_[static_cast<size_t>(input)];
      node.in_place = tensor.bytes > 0 && tensor.last_use == n &&
                      model.tensor(input).bytes() == view.output().bytes() &&
                      std::count(view.info.inputs.begin(), view.info.inputs.end(), input) == 1;
    }
    nodes_.push_back(node);
  }
  if (!feeds_rows || model.inputs().empty()) return;
  const TensorInfo info = model.tensor(model.inputs()[0]);
  if (!is_picture(info) || info.dtype != DType::kS8 || info.shape[1] > kMaxFedRows) return;
  Node picture;
  picture.access.by_rows = true;
  picture.output = model.inputs()[0];
  picture.height = info.shape[1];
  picture.row_bytes = info.bytes() / static_cast<uint64_t>(info.shape[1]);
  // That it is read at all.
  if (tensors_[static_cast<size_t>(picture.output)].last_use >= 0) picture_ = picture;
}

const RowNetwork::Node* RowNetwork::picture_of(int32_t first, int32_t past) const {
  if (!picture_ || first != 0) return nullptr;
  return tensors_[static_cast<size_t>(picture_->output)].last_use < past ? &*picture_ : nullptr;
}

uint64_t RowNetwork::bytes_around(int32_t first) const {
  uint64_t bytes = 0;
  for (const Tensor& tensor : tensors_)
    if (tensor.writer < first && tensor.last_use >= first) bytes += tensor.bytes;
  return bytes;
}

std::optional<PlannedSegment> plan_segment(const RowNetwork& network, int32_t first, int32_t past,
                                           int32_t band, bool fed) {
  if (fed && network.picture_of(first, past) == nullptr) return {};
  return SegmentPlanner(network, first, past, band, fed).plan();
}

}  // namespace intaglio
