#include "tests/support/model_builder.h"

#include <cstdlib>
#include <new>
#include <stdexcept>

#include "intaglio/describe.h"
#include "intaglio/streaming.h"

namespace intaglio::test {

void AlignedBytes::Free::operator()(uint8_t* bytes) const { std::free(bytes); }

AlignedBytes::AlignedBytes(size_t size) : size_(size) {
  void* place = nullptr;
  if (posix_memalign(&place, kMemoryAlignment, size == 0 ? 1 : size) != 0) throw std::bad_alloc();
  bytes_.reset(static_cast<uint8_t*>(place));
}

AlignedBytes::AlignedBytes(Span<const uint8_t> source) : AlignedBytes(source.size) {
  if (size_ > 0) memcpy(bytes_.get(), source.data, size_);
}

int32_t ModelBuilder::tensor(const std::string& name, DType dtype, const std::vector<int32_t>& dims,
                             float scale, int32_t zero_point) {
  const int32_t index = add_tensor(graph_, arena(), name.c_str(), dtype, {dims.data(), dims.size()});
  if (scale != 0.0f) set_scales(index, {scale}, zero_point, -1);
  return index;
}

int32_t ModelBuilder::constant_bytes(const std::string& name, DType dtype, const std::vector<int32_t>& dims,
                                     Span<const uint8_t> bytes, const std::vector<float>& scales,
                                     int32_t axis) {
  const int32_t index = add_constant(graph_, arena(), name.c_str(), dtype, {dims.data(), dims.size()}, bytes);
  if (!scales.empty()) set_scales(index, scales, 0, axis);
  return index;
}

void ModelBuilder::set_scales(int32_t tensor, const std::vector<float>& scales, int32_t zero_point,
                              int32_t axis) {
  graph_.tensors[static_cast<size_t>(tensor)].quantization = {
      arena().copy(Span<const float>(scales.data(), scales.size())), zero_point, axis};
}

GraphNode& ModelBuilder::node(Op op, const std::vector<int32_t>& inputs,
                              const std::vector<int32_t>& outputs) {
  const std::string name = "node" + std::to_string(graph_.nodes.size());
  return add_node(graph_, arena(), op, name.c_str(), {inputs.data(), inputs.size()},
                  {outputs.data(), outputs.size()});
}

AlignedBytes ModelBuilder::finish(OpList ops) {
  const Result<Span<const uint8_t>> bytes = finish_model(graph_, ops, arena());
  if (!bytes) throw std::runtime_error(text_of(bytes.error()));
  return AlignedBytes(*bytes);
}

RunningModel::RunningModel(AlignedBytes bytes, OpList ops, const SessionOptions& options, bool by_rows)
    : bytes_(std::move(bytes)) {
  const Result<Model> opened = Model::open(bytes_.view());
  const Result<Model> model = opened && by_rows ? stream_rows(*opened) : opened;
  error_ = model.error();
  if (!model) return;
  model_ = *model;
  const Result<SessionNeeds> needs = Session::measure(model_, ops, options);
  error_ = needs.error();
  if (!needs) return;
  persistent_ = AlignedBytes(needs->persistent_bytes);
  activations_ = AlignedBytes(needs->activation_bytes);
  scratch_.allocate(needs->scratch_bytes);
  const Result<Session> session =
      Session::create(model_, ops, {persistent_.span(), activations_.span(), scratch_.span()}, options);
  error_ = session.error();
  if (session) session_ = *session;
}

Status status_of(AlignedBytes bytes, OpList ops) {
  return RunningModel(std::move(bytes), ops).error().status;
}

std::string text_of(const Error& error, const Model* model) {
  char text[512];
  describe(error, model, text, sizeof text);
  return text;
}

}  // namespace intaglio::test
