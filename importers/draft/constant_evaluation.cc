#include "importers/draft/constant_evaluation.h"

#include <algorithm>
#include <unordered_map>

#include "calibrator/bake/model_writer.h"
#include "calibrator/host/system/host_arena.h"
#include "calibrator/host/system/text_lines.h"
#include "intaglio/session.h"

namespace intaglio::importers {
namespace {

int32_t add_cast(Draft& draft, const std::string& source, int32_t tensor, DType to, const char* suffix) {
  const std::string name = draft.tensor(tensor).name + suffix;
  const int32_t made = add_activation(draft, name, to, draft.tensor(tensor).shape);
  add_node({draft, name, source}, Op::kCast, {tensor}, made);
  return made;
}

}  // namespace

int32_t IntegerCasts::as_real(Draft& draft, const std::string& source, int32_t tensor) {
  if (draft.tensor(tensor).dtype != DType::kS32) return tensor;
  const auto known = reals_.find(tensor);
  if (known != reals_.end()) return known->second;
  return reals_[tensor] = add_cast(draft, source, tensor, DType::kF32, "/real");
}

int32_t IntegerCasts::as_index(Draft& draft, const std::string& source, int32_t tensor) {
  if (draft.tensor(tensor).dtype != DType::kF32) return tensor;
  const auto known = indices_.find(tensor);
  if (known != indices_.end()) return known->second;
  return indices_[tensor] = add_cast(draft, source, tensor, DType::kS32, "/integer");
}

namespace {

// The cost of each element of a result, about: a function of one variable takes as long as so many multiplications.
constexpr int64_t kWorkOfElement = 16;

int64_t product(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? INT64_MAX : result;
}

// The work for one element of the result, about: the products that it sums, or the elements that it is chosen from.
int64_t work_of_element(const Draft& draft, const DraftNode& node) {
  const auto shape = [&](size_t input) { return draft.tensor(node.inputs[input]).shape; };
  switch (node.op) {
    case Op::kConv2d:
    case Op::kFullyConnected:
      return elements(shape(1)) / shape(1)[0];
    case Op::kDepthwiseConv2d:
      return elements(shape(1)) / shape(1).back();
    case Op::kBatchMatMul:
      return shape(0).back();
    case Op::kAvgPool2d:
    case Op::kMaxPool2d: {
      const Window2d& window = node.options.as<Pool2dOptions>().window;
      return product(window.kernel_h, window.kernel_w);
    }
    case Op::kMean:
      return elements(shape(0)) / std::max<int64_t>(elements(draft.tensor(node.output()).shape), 1);
    case Op::kTopK:
      return elements(shape(0));
    default:
      return 0;
  }
}

void spend(const Draft& draft, const std::vector<std::vector<uint8_t>>& values) {
  int64_t work = 0;
  uint64_t bytes = 0;
  for (const auto& value : values) bytes += value.size();
  for (const DraftTensor& tensor : draft.tensors)
    bytes += static_cast<uint64_t>(elements(tensor.shape)) * element_bytes(tensor.dtype);
  for (const DraftNode& node : draft.nodes) {
    const int64_t each = std::max(work_of_element(draft, node), kWorkOfElement);
    const int64_t own = product(each, elements(draft.tensor(node.output()).shape));
    work = own > INT64_MAX - work ? INT64_MAX : work + own;
  }
  constexpr const char* kWhat = "its result, which follows from constants,";
  draft.budget->spend_memory(bytes, kWhat);
  draft.budget->spend_work(static_cast<uint64_t>(work), kWhat);
}

[[noreturn]] void refuse(const Error& error, const Model* model) {
  fail("its inputs are constants, and it cannot be computed here: ", error_text(error, model));
}

// Memory that starts as a session wants it.
class Block {
 public:
  explicit Block(size_t bytes) : bytes_(bytes + kMemoryAlignment) {}
  Span<uint8_t> span() {
    const auto place = reinterpret_cast<uintptr_t>(bytes_.data());
    const size_t skipped = (kMemoryAlignment - place % kMemoryAlignment) % kMemoryAlignment;
    return {bytes_.data() + skipped, bytes_.size() - kMemoryAlignment};
  }

 private:
  std::vector<uint8_t> bytes_;
};

}  // namespace

int32_t Evaluation::input(DraftTensor constant) {
  if (constant.shape.empty()) constant.shape = {1};
  check_shape(constant.shape, constant.dtype);
  values_.push_back(std::move(constant.data));
  constant.data.clear();
  constant.constant = false;
  inputs_.push_back(draft_.put(std::move(constant)));
  return inputs_.back();
}

void Evaluation::discard() {
  draft_.nodes.resize(first_node_);
  draft_.tensors.resize(first_tensor_);
}

// The new nodes with the tensors that they name, numbered anew. Options point into the lists of the whole draft.
Draft Evaluation::part(const std::vector<int32_t>& outputs) const {
  Draft part;
  part.budget = draft_.budget;
  std::unordered_map<int32_t, int32_t> numbers;
  const auto number = [&](int32_t tensor) {
    if (tensor < 0) return tensor;
    const auto [known, is_new] = numbers.emplace(tensor, static_cast<int32_t>(part.tensors.size()));
    if (is_new) part.tensors.push_back(draft_.tensor(tensor));
    return known->second;
  };
  for (const int32_t input : inputs_) part.inputs.push_back(number(input));
  if (part.inputs.empty()) part.inputs.push_back(add_activation(part, "none", DType::kF32, {1}));
  for (size_t n = first_node_; n < draft_.nodes.size(); ++n) {
    DraftNode node = draft_.nodes[n];
    for (int32_t& input : node.inputs) input = number(input);
    for (int32_t& output : node.outputs) output = number(output);
    part.nodes.push_back(std::move(node));
  }
  for (const int32_t output : outputs) {
    const int32_t given = number(output);
    const int32_t copy = add_activation_like(part, "result", given, part.tensor(given).shape);
    add_node({part, "result", "Identity"}, Op::kReshape, {given}, copy);
    part.outputs.push_back(copy);
  }
  return part;
}

std::vector<DraftTensor> Evaluation::finish(const std::vector<int32_t>& outputs) {
  Draft part = this->part(outputs);
  discard();
  spend(part, values_);
  HostArena memory;
  Problems problems;
  Graph graph = draft_to_graph(part, memory.arena(), problems);
  if (!problems.empty())
    fail("its inputs are constants, and it cannot be computed here: ", problems.failure("").message);
  const auto bytes = finish_model(graph, all_ops(), memory.arena());
  if (!bytes) refuse(bytes.error(), nullptr);
  const Result<Model> model = Model::open(*bytes);
  if (!model) refuse(model.error(), nullptr);
  const SessionOptions options;
  const Result<SessionNeeds> needs = Session::measure(*model, all_ops(), options);
  if (!needs) refuse(needs.error(), &*model);
  Block block(needs->total());
  Result<Session> session = Session::create(*model, all_ops(), Session::split(block.span(), *needs), options);
  if (!session) refuse(session.error(), &*model);
  for (size_t i = 0; i < values_.size(); ++i)
    std::memcpy(session->input(static_cast<int32_t>(i)).data, values_[i].data(), values_[i].size());
  session->run();
  std::vector<DraftTensor> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorView view = session->output(static_cast<int32_t>(i));
    DraftTensor result = part.tensor(part.outputs[i]);
    const auto* const data = static_cast<const uint8_t*>(view.data);
    result.data.assign(data, data + view.info.bytes());
    result.constant = true;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace intaglio::importers
