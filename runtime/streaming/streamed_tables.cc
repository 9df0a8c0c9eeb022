// Reads the file's tables of its streamed plan. Apart from model.cc, so that programs without streaming are as small as
// they were.
#include "runtime/streaming/streamed_model.h"
#include "schema/model_generated.h"

namespace intaglio {
namespace {

const schema::Model& root_of(const void* root) { return *static_cast<const schema::Model*>(root); }

#if ITG_STREAMING
template <typename T>
Span<const T> span_of(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? Span<const T>() : Span<const T>(vector->data(), vector->size());
}
#endif

}  // namespace

bool Model::has_streamed_plan() const { return root_of(root_).streamed() != nullptr; }

#if ITG_STREAMING
Span<const uint32_t> StreamedModel::offsets(const Model& model) {
  return span_of(root_of(model.root_).streamed()->offsets());
}

int32_t StreamedModel::segment_count(const Model& model) {
  if (model.streaming_ == nullptr) return 0;
  const auto* segments = root_of(model.root_).streamed()->segments();
  return segments == nullptr ? 0 : static_cast<int32_t>(segments->size());
}

SegmentInfo StreamedModel::segment(const Model& model, int32_t index) {
  const auto& segment =
      *root_of(model.root_).streamed()->segments()->Get(static_cast<flatbuffers::uoffset_t>(index));
  SegmentInfo info{segment.first(),          0,
                   segment.band(),           span_of(segment.strides()),
                   span_of(segment.leads()), span_of(segment.rows())};
  info.count = static_cast<int32_t>(info.strides.size);
  info.picture_stride = segment.picture_stride();
  info.picture_lead = segment.picture_lead();
  info.picture_rows = segment.picture_rows();
  return info;
}

Span<const int32_t> StreamedModel::outputs(const Model& model, int32_t node) {
  return span_of(root_of(model.root_).nodes()->Get(static_cast<flatbuffers::uoffset_t>(node))->outputs());
}
#endif

}  // namespace intaglio
