#include "runtime/model_check.h"

#include <cfloat>

#include "runtime/liveness.h"
#include "runtime/option_fields.h"
#include "runtime/quantization_range.h"

namespace intaglio {
namespace {

using flatbuffers::uoffset_t;

constexpr int32_t kMaxNodeTensors = 64;    // inputs, or outputs, of one node
constexpr int32_t kMaxModelTensors = 256;  // inputs, or outputs, of the model
constexpr size_t kMaxNameBytes = 255;

int64_t count(uoffset_t size) { return static_cast<int64_t>(size); }

// UTF-8 without control characters: names are shown on terminals and in reports.
bool good_name(const flatbuffers::String* name) {
  if (name == nullptr || name->size() > kMaxNameBytes) return false;
  const uint8_t* at = name->Data();
  const uint8_t* const end = at + name->size();
  while (at < end) {
    const uint32_t lead = *at++;
    const int32_t more = lead < 0x80   ? 0
                         : lead < 0xc2 ? -1
                         : lead < 0xe0 ? 1
                         : lead < 0xf0 ? 2
                         : lead < 0xf5 ? 3
                                       : -1;
    if (more < 0 || end - at < more) return false;
    uint32_t point = more == 0 ? lead : lead & (0x3fu >> more);
    for (int32_t i = 0; i < more; ++i, ++at) {
      if ((*at & 0xc0u) != 0x80u) return false;
      point = point << 6 | (*at & 0x3fu);
    }
    const bool overlong = (more == 2 && point < 0x800) || (more == 3 && point < 0x10000);
    const bool surrogate = point >= 0xd800 && point < 0xe000;
    const bool control = point < 0x20 || (point >= 0x7f && point < 0xa0);
    if (overlong || surrogate || control || point > 0x10ffff) return false;
  }
  return true;
}

// Checks return false and leave the error here: an Error returned by each of them would be a third of their
// code.
class Failure {
 public:
  // These return false, as a check does. Values are below 2^31.
  template <typename Value = int32_t, typename Limit = int32_t>
  bool operator()(Status status, int32_t node = -1, int32_t tensor = -1, Value value = 0, Limit limit = 0) {
    return set(status, node, tensor, static_cast<int32_t>(value), static_cast<int32_t>(limit));
  }
  bool wide(Status status, int32_t node, int32_t tensor, int64_t value, int64_t limit) {
    error_ = {status, node, tensor, value, limit};
    return false;
  }
  const Error& error() const { return error_; }

 private:
  [[gnu::noinline]] bool set(Status status, int32_t node, int32_t tensor, int32_t value, int32_t limit) {
    return wide(status, node, tensor, value, limit);
  }

  Error error_;
};

bool check_counts(Failure& fail, const schema::Model& root) {
  using M = schema::Model;
  struct List {
    uint8_t field;
    uint16_t most;
  };
  static_assert(M::VT_IMAGES < 256);
  // The first four are there; each is a vector, whose length stands in front.
  constexpr List kLists[] = {{M::VT_TENSORS, kMaxTensors},     {M::VT_NODES, kMaxNodes},
                             {M::VT_INPUTS, kMaxModelTensors}, {M::VT_OUTPUTS, kMaxModelTensors},
                             {M::VT_STATES, kMaxModelTensors}, {M::VT_IMAGES, kMaxModelTensors}};
  for (const List& list : kLists) {
    const auto* const found =
        reinterpret_cast<const flatbuffers::Table&>(root).GetPointer<const flatbuffers::Vector<uint8_t>*>(
            list.field);
    const uoffset_t size = found == nullptr ? 0 : found->size();
    if (size == 0 && list.field <= M::VT_OUTPUTS) return fail(Status::kMissingField, -1, -1, list.field);
    if (size > list.most) return fail(Status::kTooManyItems, -1, -1, count(size), list.most);
  }
  const auto* const plan = root.plan();
  return (plan != nullptr && plan->offsets() != nullptr) || fail(Status::kMissingField, -1, -1, M::VT_PLAN);
}

bool check_buffer(Failure& fail, const schema::Model& root, int32_t index, int32_t tensor, int64_t bytes) {
  const int64_t buffers = root.buffers() == nullptr ? 0 : count(root.buffers()->size());
  if (index >= buffers) return fail(Status::kBufferIndex, -1, tensor, index, buffers);
  const auto* buffer = root.buffers()->Get(static_cast<uoffset_t>(index));
  if (buffer->layout() != 0) return fail(Status::kBadEnum, -1, tensor, buffer->layout(), 0);
  const int64_t held = buffer->data() == nullptr ? 0 : count(buffer->data()->size());
  if (held != bytes) return fail(Status::kConstantSize, -1, tensor, held, bytes);
  if (reinterpret_cast<uintptr_t>(buffer->data()->data()) % kModelAlignment != 0)
    return fail(Status::kConstantAlignment, -1, tensor, 0, kModelAlignment);
  return true;
}

// `scales_left`: that are still to be looked at. Tensors may share a vector, but not so often that opening takes
// longer than the file's size says.
bool check_quantization(Failure& fail, const schema::Tensor& tensor, int32_t index, size_t* scales_left) {
  const auto* quantization = tensor.quantization();
  if (quantization == nullptr || quantization->scale() == nullptr) return true;
  const auto* scale = quantization->scale();
  const int32_t rank = static_cast<int32_t>(tensor.shape()->size());
  const int32_t axis = quantization->axis();
  if (axis < -1 || axis >= rank) return fail(Status::kBadQuantizationAxis, -1, index, axis, rank - 1);
  const int64_t expected = axis < 0 ? 1 : tensor.shape()->Get(static_cast<uoffset_t>(axis));
  if (count(scale->size()) != expected)
    return fail(Status::kScaleCount, -1, index, count(scale->size()), expected);
  if (scale->size() > *scales_left)
    return fail(Status::kSharedScales, -1, index, count(scale->size()), *scales_left);
  *scales_left -= scale->size();
  for (uoffset_t i = 0; i < scale->size(); ++i)
    if (!is_scale(scale->Get(i))) return fail(Status::kBadScale, -1, index, i);
  const int32_t zero_point = quantization->zero_point();
  const bool is_s8 = tensor.dtype() == schema::DType::S8;
  if (axis >= 0 || !is_s8) {
    if (zero_point != 0) return fail(Status::kBadZeroPoint, -1, index, zero_point, 0);
  } else if (!is_zero_point(zero_point)) {
    return fail(Status::kBadZeroPoint, -1, index, zero_point, zero_point < 0 ? -128 : 127);
  }
  if (quantization->group_size() != 0)
    return fail(Status::kBadEnum, -1, index, quantization->group_size(), 0);
  return true;
}

bool check_tensor(Failure& fail, const schema::Model& root, int32_t index, size_t* scales_left) {
  const auto& tensor = *root.tensors()->Get(static_cast<uoffset_t>(index));
  if (!good_name(tensor.name())) return fail(Status::kBadString, -1, index);
  const auto dtype = static_cast<DType>(tensor.dtype());
  if (tensor.dtype() > schema::DType::MAX)
    return fail(Status::kBadEnum, -1, index, static_cast<int64_t>(dtype),
                static_cast<int64_t>(schema::DType::MAX));
  if (element_bytes(dtype) == 0) return fail(Status::kBadDType, -1, index, static_cast<int64_t>(dtype));
  const int64_t rank = tensor.shape() == nullptr ? 0 : count(tensor.shape()->size());
  if (rank < 1 || rank > kMaxRank) return fail(Status::kBadRank, -1, index, rank, kMaxRank);
  int64_t bytes = static_cast<int64_t>(element_bytes(dtype));
  for (const int32_t dim : *tensor.shape()) {
    if (dim < 1) return fail(Status::kBadDimension, -1, index, dim, INT32_MAX);
    if (dim * bytes > kMaxTensorBytes) return fail(Status::kTensorTooLarge, -1, index, dim, kMaxTensorBytes);
    bytes *= dim;
  }
  if (!check_quantization(fail, tensor, index, scales_left)) return false;
  if (tensor.buffer() < -1) return fail(Status::kBufferIndex, -1, index, tensor.buffer(), 0);
  return tensor.buffer() < 0 || check_buffer(fail, root, tensor.buffer(), index, bytes);
}

bool check_plan(Failure& fail, const schema::Model& root, const Model& model, const uint32_t** offsets) {
  const auto& plan = *root.plan();
  const int32_t tensors = model.tensor_count();
  const auto& list = *plan.offsets();
  if (count(list.size()) != tensors) return fail(Status::kPlanSize, -1, -1, count(list.size()), tensors);
  *offsets = list.data();
  int64_t all = 0;  // of the activations side by side: no plan takes more
  for (int32_t i = 0; i < tensors; ++i) {
    const uint32_t offset = (*offsets)[i];
    const TensorInfo info = model.tensor(i);
    if (info.is_constant() != (offset == Model::kNoOffset))
      return fail.wide(info.is_constant() ? Status::kActivationExpected : Status::kConstantExpected, -1, i,
                       offset, 0);
    if (info.is_constant()) continue;
    if (offset % kTensorAlignment != 0)
      return fail.wide(Status::kPlanAlignment, -1, i, offset, kTensorAlignment);
    const int64_t end = int64_t{offset} + static_cast<int64_t>(info.bytes());
    if (end > plan.activation_bytes())
      return fail.wide(Status::kPlanOffset, -1, i, end, plan.activation_bytes());
    all += (static_cast<int64_t>(info.bytes()) + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
  }
  if (plan.activation_bytes() > all)
    return fail.wide(Status::kPlanTooLarge, -1, -1, plan.activation_bytes(), all);
  return true;
}

bool is_model_input(const Model& model, int32_t tensor) {
  for (const int32_t input : model.inputs())
    if (input == tensor) return true;
  for (int32_t i = 0; i < model.state_count(); ++i)
    if (model.state(i).input == tensor) return true;
  return false;
}

// The checks of a struct of options, and of its parts.
bool check_enums(Failure& fail, int32_t node, uint32_t number, const uint8_t* options) {
  const auto known = [&fail, node](const OptionField& field, const uint8_t* place) {
    return field.kind != kOptionEnum || *place <= field.what ||
           fail(Status::kBadEnum, node, -1, *place, field.what);
  };
  for (uint32_t i = kFirstOptionField[number]; i < kFirstOptionField[number + 1]; ++i) {
    const OptionField& field = kOptionFields[i];
    const uint8_t* const place = options + field.place;
    if (!known(field, place)) return false;
    if (field.kind != kOptionPart) continue;
    for (uint32_t j = kFirstOptionField[field.what]; j < kFirstOptionField[field.what + 1]; ++j)
      if (!known(kOptionFields[j], place + kOptionFields[j].place)) return false;
  }
  return true;
}

// Those of the node's operator, or none, which are all at their defaults.
bool check_options(Failure& fail, const schema::Node& node, const NodeOptions& options, int32_t index) {
  const auto found = static_cast<int32_t>(node.options_type()),
             expected = static_cast<int32_t>(options.kind());
  if (found != 0 && found != expected) return fail(Status::kWrongOptions, index, -1, found, expected);
  if (expected == 0) return true;
  const Requantization* const requantization = options.get<Requantization>();
  if (requantization != nullptr && requantization->rounding != RoundingMode::kHalfEven)
    return fail(Status::kBadRounding, index, -1, static_cast<int32_t>(requantization->rounding));
  return check_enums(fail, index, OptionBytes::number(options), OptionBytes::of(options));
}

bool check_node(Failure& fail, const schema::Model& root, const Model& model, int32_t index,
                int32_t* last_output) {
  const auto& node = *root.nodes()->Get(static_cast<uoffset_t>(index));
  const int32_t tensors = model.tensor_count();
  if (!good_name(node.name())) return fail(Status::kBadString, index);
  if (node.op() == schema::OpCode::None || node.op() > schema::OpCode::MAX)
    return fail(Status::kBadEnum, index, -1, static_cast<int64_t>(node.op()),
                static_cast<int64_t>(schema::OpCode::MAX));
  if (!check_options(fail, node, model.node(index).options, index)) return false;
  for (const auto* list : {node.inputs(), node.outputs()}) {
    if (list == nullptr || list->size() == 0) return fail(Status::kInputCount, index, -1, 0, 1);
    if (list->size() > kMaxNodeTensors)
      return fail(Status::kTooManyItems, index, -1, count(list->size()), kMaxNodeTensors);
  }
  for (const int32_t input : *node.inputs())
    if (input < -1 || input >= tensors) return fail(Status::kTensorIndex, index, -1, input, tensors);
  for (const int32_t output : *node.outputs()) {
    if (output < 0 || output >= tensors) return fail(Status::kTensorIndex, index, -1, output, tensors);
    if (model.tensor(output).is_constant()) return fail(Status::kWritesConstant, index, output);
    // The format's own order: no tensor can be written twice.
    if (output <= *last_output)
      return fail(is_model_input(model, output) ? Status::kWritesConstant : Status::kProducedTwice, index,
                  output);
    *last_output = output;
  }
  return true;
}

bool check_ends(Failure& fail, const Model& model) {
  const int32_t tensors = model.tensor_count();
  for (const bool outputs : {false, true}) {
    const Span<const int32_t> list = outputs ? model.outputs() : model.inputs();
    for (size_t i = 0; i < list.size; ++i) {
      if (list[i] < 0 || list[i] >= tensors) return fail(Status::kTensorIndex, -1, -1, list[i], tensors);
      if (model.tensor(list[i]).is_constant()) return fail(Status::kActivationExpected, -1, list[i]);
      for (size_t j = 0; j < i; ++j)
        if (list[i] == list[j]) return fail(Status::kDuplicateTensor, -1, list[i]);
    }
  }
  return true;
}

bool check_states(Failure& fail, const schema::Model& root, const Model& model) {
  const int32_t tensors = model.tensor_count();
  for (int32_t i = 0; i < model.state_count(); ++i) {
    const auto& state = *root.states()->Get(static_cast<uoffset_t>(i));
    for (const int32_t index : {state.input(), state.output()})
      if (index < 0 || index >= tensors) return fail(Status::kTensorIndex, -1, -1, index, tensors);
    const TensorInfo input = model.tensor(state.input());
    const TensorInfo output = model.tensor(state.output());
    if (input.is_constant() || input.dtype != output.dtype || input.shape != output.shape)
      return fail(Status::kBadState, -1, state.input(), i);
    for (const int32_t other : model.inputs())
      if (other == state.input()) return fail(Status::kDuplicateTensor, -1, other);
    for (int32_t j = 0; j < i; ++j)
      if (model.state(j).input == state.input()) return fail(Status::kDuplicateTensor, -1, state.input());
    if (state.initial() < -1) return fail(Status::kBufferIndex, -1, state.input(), state.initial(), 0);
    if (state.initial() >= 0)
      if (!check_buffer(fail, root, state.initial(), state.input(), static_cast<int64_t>(input.bytes())))
        return false;
  }
  return true;
}

bool check_images(Failure& fail, const schema::Model& root, const Model& model) {
  for (int32_t i = 0; i < model.image_count(); ++i) {
    const auto& image = *root.images()->Get(static_cast<uoffset_t>(i));
    const int32_t inputs = static_cast<int32_t>(model.inputs().size);
    if (image.input() < 0 || image.input() >= inputs)
      return fail(Status::kTensorIndex, -1, -1, image.input(), inputs);
    const int32_t index = model.inputs()[static_cast<size_t>(image.input())];
    const auto bad = [&](int64_t channel) { return fail(Status::kBadImageInput, -1, index, channel); };
    if (image.color() > schema::ColorOrder::MAX || image.resize() > schema::ResizeMode::MAX) return bad(-1);
    const TensorInfo info = model.tensor(index);
    if (info.shape.rank != 4) return fail(Status::kBadRank, -1, index, info.shape.rank, 4);
    const int32_t channels = info.shape[3];
    if (channels > kMaxImageChannels) return bad(channels);
    const auto holds = [&](const auto* list, int64_t size) {
      return list != nullptr && count(list->size()) == size;
    };
    if (!holds(image.mean(), channels) || !holds(image.norm(), channels)) return bad(-1);
    for (uoffset_t c = 0; c < static_cast<uoffset_t>(channels); ++c) {
      const float mean = image.mean()->Get(c), norm = image.norm()->Get(c);
      if (!(mean >= -FLT_MAX && mean <= FLT_MAX && norm >= -FLT_MAX && norm <= FLT_MAX) || norm == 0.0f)
        return bad(c);
    }
    const bool is_s8 = info.dtype == DType::kS8;
    if (!is_s8 && info.dtype != DType::kF32)
      return fail(Status::kBadDType, -1, index, static_cast<int64_t>(info.dtype));
    if (is_s8 ? !holds(image.table(), int64_t{256} * channels) : image.table() != nullptr) return bad(-1);
  }
  return true;
}

// Each activation is an input, a state or written by one node, before it is read.
bool check_flow(Failure& fail, const Model& model) {
  for (int32_t i = 0; i < model.tensor_count(); ++i) {
    if (model.tensor(i).is_constant()) continue;
    const int32_t writer = writer_of(model, i);
    const bool is_source = is_model_input(model, i);
    if (is_source == (writer >= 0))
      return is_source ? fail(Status::kWritesConstant, writer, i)
                       : fail(Status::kNotProduced, model.node_count(), i);
  }
  for (int32_t n = 0; n < model.node_count(); ++n)
    for (const int32_t input : model.node_inputs(n))
      if (input >= 0 && writer_of(model, input) >= n) return fail(Status::kNotProduced, n, input);
  for (const int32_t output : model.outputs())
    if (writer_of(model, output) < 0) return fail(Status::kWritesConstant, -1, output);
  for (int32_t i = 0; i < model.state_count(); ++i) {
    const int32_t output = model.state(i).output;
    if (writer_of(model, output) < 0) return fail(Status::kBadState, -1, output, i);
  }
  return true;
}

bool check_extras(Failure& fail, const schema::Model& root, const Model& model) {
  if (const auto* statistics = root.norm_statistics()) {
    for (const auto* entry : *statistics)
      if (entry->tensor() < 0 || entry->tensor() >= model.tensor_count())
        return fail(Status::kTensorIndex, -1, -1, entry->tensor(), model.tensor_count());
  }
  if (const auto* calibration = root.calibration()) {
    if (calibration->weight_rounding() > schema::RoundingMode::MAX)
      return fail(Status::kBadRounding, -1, -1, static_cast<int64_t>(calibration->weight_rounding()));
    for (const auto* text : {calibration->library_version(), calibration->method(), calibration->options()})
      if (text != nullptr && !good_name(text)) return fail(Status::kBadString);
  }
  return true;
}

bool check_all(Failure& fail, const schema::Model& root, const Model& model, const uint32_t** offsets) {
  if (!check_counts(fail, root)) return false;
  size_t scales_left = model.bytes().size;  // each stands in four bytes of it
  for (int32_t i = 0; i < model.tensor_count(); ++i)
    if (!check_tensor(fail, root, i, &scales_left)) return false;
  if (!check_ends(fail, model) || !check_states(fail, root, model)) return false;
  int32_t last_output = -1;
  for (int32_t i = 0; i < model.node_count(); ++i)
    if (!check_node(fail, root, model, i, &last_output)) return false;
  return check_flow(fail, model) && check_plan(fail, root, model, offsets) &&
         check_images(fail, root, model) && check_extras(fail, root, model);
}

}  // namespace

Error check_model(const schema::Model& root, const Model& model, const uint32_t** offsets) {
  Failure fail;
  check_all(fail, root, model, offsets);
  return fail.error();
}

// Here and not with the tensors: what firmware reads of a model stays as small as it was.
KeptChannels Model::kept_channels(int32_t index) const {
  const auto& root = *flatbuffers::GetRoot<schema::Model>(bytes().data);
  const auto& tensor = *root.tensors()->Get(static_cast<flatbuffers::uoffset_t>(index));
  if (tensor.kept_channels() == nullptr || tensor.channels() > INT32_MAX) return {};
  const KeptChannels kept{static_cast<int32_t>(tensor.channels()),
                          {tensor.kept_channels()->data(), tensor.kept_channels()->size()}};
  if (kept.bits.size != (static_cast<size_t>(kept.channels) + 7) / 8) return {};
  int32_t count = 0;
  for (int32_t c = 0; c < kept.channels; ++c) count += kept.has(c) ? 1 : 0;
  return count == this->tensor(index).shape.back(0) ? kept : KeptChannels();
}

// Likewise.
Span<const uint8_t> Model::answers() const {
  const auto* const answers = flatbuffers::GetRoot<schema::Model>(bytes().data)->answers();
  return answers == nullptr ? Span<const uint8_t>() : Span<const uint8_t>(answers->data(), answers->size());
}

uint32_t Model::memory_ceiling() const {
  return flatbuffers::GetRoot<schema::Model>(bytes().data)->memory_ceiling();
}

}  // namespace intaglio
