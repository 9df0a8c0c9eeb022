// The one place that reads the file format: every byte is checked here before anything uses it.
#include "intaglio/model.h"

#include <cstring>

#include "runtime/crc32.h"
#include "runtime/model_check.h"
#include "runtime/streaming/streaming_build.h"
#include "runtime/structure_check.h"
#include "schema/model_generated.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#error \
    "intaglio's model files are little-endian and used in place: there is no build for a big-endian machine"
#endif

namespace intaglio {
namespace {

template <typename T>
Span<const T> span_of(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? Span<const T>() : Span<const T>(vector->data(), vector->size());
}

const schema::Model& root_of(const void* root) { return *static_cast<const schema::Model*>(root); }
// Not in line: three functions share its text.
__attribute__((noinline)) const schema::Node& node_of(const void* root, int32_t index) {
  return *root_of(root).nodes()->Get(static_cast<flatbuffers::uoffset_t>(index));
}
__attribute__((always_inline)) inline const schema::Tensor& tensor_of(const void* root, int32_t index) {
  return *root_of(root).tensors()->Get(static_cast<flatbuffers::uoffset_t>(index));
}
Shape shape_of(const schema::Tensor& tensor) {
  return {tensor.shape()->data(), static_cast<int32_t>(tensor.shape()->size())};
}
// Not in line, likewise. -1: none.
__attribute__((noinline)) Span<const uint8_t> buffer_of(const void* root, int32_t index) {
  if (index < 0) return {};
  return span_of(root_of(root).buffers()->Get(static_cast<flatbuffers::uoffset_t>(index))->data());
}
// Both plans are tables of one kind.
const schema::Plan& plan_of(const void* root, const Streaming* streaming) {
  return *static_cast<const flatbuffers::Table*>(root)->GetPointer<const schema::Plan*>(
      !kStreams || streaming == nullptr ? schema::Model::VT_PLAN : schema::Model::VT_STREAMED);
}

// Enumerators of the file and of the API are the same numbers; those of operators and their options are made from
// the schema (scripts/make_schema_tables).
static_assert(static_cast<int>(schema::OpCode::MAX) + 1 == kOpCount);
static_assert(static_cast<int>(schema::DType::S16) == static_cast<int>(DType::kS16));
static_assert(static_cast<int>(schema::ColorOrder::MAX) == static_cast<int>(ColorOrder::kGray));
static_assert(static_cast<int>(schema::ResizeMode::MAX) == static_cast<int>(ResizeMode::kLetterbox));

constexpr size_t kMinModelBytes = 64;

Error check_container(Span<const uint8_t> bytes) {
  const int64_t size = static_cast<int64_t>(bytes.size);
  if (bytes.data == nullptr || bytes.size < kMinModelBytes)
    return {Status::kFileTooSmall, -1, -1, size, kMinModelBytes};
  if (bytes.size > kMaxModelBytes) return {Status::kFileTooLarge, -1, -1, size, kMaxModelBytes};
  const size_t misaligned = reinterpret_cast<uintptr_t>(bytes.data) % kModelAlignment;
  if (misaligned != 0)
    return {Status::kMisaligned, -1, -1, static_cast<int64_t>(misaligned), kModelAlignment};
  if (memcmp(bytes.data + 4, schema::ModelIdentifier(), 4) != 0) return {Status::kNotAModel};
  return kNoError;
}

Error check_tables(Span<const uint8_t> bytes) {
  // Every table has a vtable offset and a vector's entry at least: a file cannot hold more of them.
  if (!check_structure(bytes, static_cast<uint32_t>(bytes.size / 8))) return {Status::kBadStructure};
  const auto* root = schema::GetModel(bytes.data);
  if (root->min_reader() > kFormatVersion)
    return {Status::kNewerFormat, -1, -1, root->min_reader(), kFormatVersion};
  if (root->format_version() < kOldestFormat)
    return {Status::kOlderFormat, -1, -1, root->format_version(), kOldestFormat};
  return kNoError;
}

Error check_checksum(Span<const uint8_t> bytes) {
  const auto* root = schema::GetModel(bytes.data);
  const uint8_t* const field =
      reinterpret_cast<const flatbuffers::Table*>(root)->GetAddressOf(schema::Model::VT_CRC32);
  if (field == nullptr) return {Status::kMissingField, -1, -1, schema::Model::VT_CRC32};
  const uint8_t zeros[4] = {};
  const auto before = static_cast<size_t>(field - bytes.data);
  uint32_t crc = crc32(0, bytes.data, before);
  crc = crc32(crc, zeros, sizeof zeros);
  crc = crc32(crc, field + sizeof zeros, bytes.size - before - sizeof zeros);
  if (crc != root->crc32()) return {Status::kBadChecksum, -1, -1, crc, root->crc32()};
  return kNoError;
}

// The name of a kernel: nothing that a terminal would not show as it stands.
bool is_label(const flatbuffers::String* text) {
  if (text == nullptr || text->size() == 0) return false;
  for (const char c : *text)
    if (c < ' ' || c > '~') return false;
  return true;
}

}  // namespace

__attribute__((cold)) Result<Model> Model::open(Span<const uint8_t> bytes, const OpenOptions& options) {
  ITG_TRY(check_container(bytes));
  ITG_TRY(check_tables(bytes));
  if (!options.skip_checksum) ITG_TRY(check_checksum(bytes));
  Model model;
  model.bytes_ = bytes;
  model.root_ = schema::GetModel(bytes.data);
  ITG_TRY(check_model(root_of(model.root_), model, &model.offsets_));
  return model;
}

Model Model::without_checks(Span<const uint8_t> bytes, const Streaming* streaming) {
  Model model;
  model.bytes_ = bytes;
  model.root_ = schema::GetModel(bytes.data);
  model.streaming_ = streaming;
  model.offsets_ = plan_of(model.root_, streaming).offsets()->data();
  return model;
}

int32_t Model::tensor_count() const { return static_cast<int32_t>(root_of(root_).tensors()->size()); }
int32_t Model::node_count() const { return static_cast<int32_t>(root_of(root_).nodes()->size()); }

Shape Model::tensor_shape(int32_t index) const { return shape_of(tensor_of(root_, index)); }
int32_t Model::tensor_zero_point(int32_t index) const {
  const auto* const quantization = tensor_of(root_, index).quantization();
  return quantization == nullptr ? 0 : quantization->zero_point();
}

TensorInfo Model::tensor(int32_t index) const {
  const auto& tensor = tensor_of(root_, index);
  TensorInfo info;
  info.name = tensor.name()->c_str();
  info.dtype = static_cast<DType>(tensor.dtype());
  info.shape = shape_of(tensor);
  if (const auto* quantization = tensor.quantization()) {
    info.quantization = {span_of(quantization->scale()), quantization->zero_point(), quantization->axis()};
  }
  info.constant = buffer_of(root_, tensor.buffer());
  return info;
}

NodeInfo Model::node(int32_t index) const {
  const auto& node = node_of(root_, index);
  const auto op = static_cast<Op>(node.op());
  // Another operator's options, which check_model() refuses, are never looked at.
  const bool own = static_cast<uint8_t>(node.options_type()) == static_cast<uint8_t>(options_kind(op));
  const auto* const options = own ? static_cast<const uint8_t*>(node.options()) : nullptr;
  return {node.name()->c_str(), op, span_of(node.inputs()), span_of(node.outputs()),
          NodeOptions(op, options)};
}

Span<const int32_t> Model::node_inputs(int32_t index) const {
  return span_of(node_of(root_, index).inputs());
}
Span<const int32_t> Model::node_outputs(int32_t index) const {
  return span_of(node_of(root_, index).outputs());
}

Span<const int32_t> Model::inputs() const { return span_of(root_of(root_).inputs()); }
Span<const int32_t> Model::outputs() const { return span_of(root_of(root_).outputs()); }

int32_t Model::state_count() const {
  const auto* states = root_of(root_).states();
  return states == nullptr ? 0 : static_cast<int32_t>(states->size());
}

StateInfo Model::state(int32_t index) const {
  const auto& state = *root_of(root_).states()->Get(static_cast<flatbuffers::uoffset_t>(index));
  return {state.input(), state.output(), buffer_of(root_, state.initial())};
}

int32_t Model::image_count() const {
  const auto* images = root_of(root_).images();
  return images == nullptr ? 0 : static_cast<int32_t>(images->size());
}

ImageInput Model::image(int32_t index) const {
  if (index < 0 || index >= image_count()) return {};
  const auto& image = *root_of(root_).images()->Get(static_cast<flatbuffers::uoffset_t>(index));
  ImageInput info;
  info.input = image.input();
  info.color = static_cast<ColorOrder>(image.color());
  info.resize = static_cast<ResizeMode>(image.resize());
  info.border = image.border();
  info.channels = static_cast<int32_t>(image.mean()->size());
  const size_t bytes = static_cast<size_t>(info.channels) * sizeof(float);
  memcpy(info.mean, image.mean()->Data(), bytes);
  memcpy(info.norm, image.norm()->Data(), bytes);
  info.table = span_of(image.table());
  return info;
}

CalibrationInfo Model::calibration() const {
  CalibrationInfo info;
  const auto* calibration = root_of(root_).calibration();
  if (calibration == nullptr) return info;
  const auto text = [](const flatbuffers::String* s) { return s == nullptr ? "" : s->c_str(); };
  info.library_version = text(calibration->library_version());
  info.method = text(calibration->method());
  info.options = text(calibration->options());
  info.samples = calibration->samples();
  info.samples_digest = span_of(calibration->samples_digest());
  return info;
}

// A pack that breaks a rule is passed over, as other machines pass over all of them.
PackInfo Model::pack(int32_t node) const {
  const auto* packs = root_of(root_).packs();
  uint32_t first = 0, last = packs == nullptr ? 0 : packs->size();
  while (first < last) {
    const uint32_t middle = first + (last - first) / 2;
    const auto& pack = *packs->Get(middle);
    if (pack.node() == node) {
      const Span<const uint8_t> data = span_of(pack.data());
      if (data.empty() || !is_label(pack.kernel())) return {};
      return {pack.kernel()->c_str(), pack.layout(), data};
    }
    (pack.node() < node ? first : last) = pack.node() < node ? middle + 1 : middle;
  }
  return {};
}

bool Model::blocked_sums() const { return root_of(root_).blocked_sums(); }

uint16_t Model::format_version() const { return root_of(root_).format_version(); }

size_t Model::activation_bytes() const { return plan_of(root_, streaming_).activation_bytes(); }
size_t Model::activation_lower_bound() const { return plan_of(root_, streaming_).lower_bound(); }
size_t Model::fast_bytes() const { return plan_of(root_, streaming_).fast_bytes(); }
uint32_t Model::activation_offset(int32_t tensor) const { return offsets_[tensor]; }

}  // namespace intaglio
