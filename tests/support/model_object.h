// A model as FlatBuffers' objects, to be changed where no writer of ours would, and packed again.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "object_api/model_generated.h"
#include "runtime/crc32.h"
#include "tests/support/small_models.h"

namespace intaglio::test {

using schema::ModelT;

// Sets the CRC-32 of bytes whose tables hold together.
inline void sign(AlignedBytes& bytes) {
  auto* root = flatbuffers::GetMutableRoot<flatbuffers::Table>(bytes.data());
  uint8_t* const field = root->GetAddressOf(schema::Model::VT_CRC32);
  memset(field, 0, 4);
  const uint32_t crc = crc32(0, bytes.data(), bytes.size());
  memcpy(field, &crc, 4);
}

inline AlignedBytes pack(const ModelT& model) {
  flatbuffers::FlatBufferBuilder builder;
  builder.ForceDefaults(true);
  schema::FinishModelBuffer(builder, schema::CreateModel(builder, &model));
  AlignedBytes bytes(Span<const uint8_t>(builder.GetBufferPointer(), builder.GetSize()));
  sign(bytes);
  return bytes;
}

inline std::unique_ptr<ModelT> unpack(const AlignedBytes& bytes) {
  return std::unique_ptr<ModelT>(flatbuffers::GetRoot<schema::Model>(bytes.view().data)->UnPack());
}

// A small valid model with a state, quantization and a picture input.
inline std::unique_ptr<ModelT> valid_model() {
  ModelBuilder b;
  const int32_t image = b.tensor("image", DType::kS8, {1, 4, 4, 3}, 0.5f, -3);
  const int32_t memory = b.tensor("memory", DType::kS8, {1, 4, 4, 3}, 0.25f, 0);
  const int32_t sum = b.tensor("sum", DType::kS8, {1, 4, 4, 3}, 0.25f, 1);
  const int32_t next = b.tensor("next", DType::kS8, {1, 4, 4, 3}, 0.25f, 1);
  const int32_t table = b.constant<int8_t>("table", DType::kS8, {256}, std::vector<int8_t>(256, 5));
  const int32_t out = b.tensor("out", DType::kS8, {1, 4, 4, 3}, 0.125f, 2);
  b.input(image);
  b.output(out);
  b.node(Op::kAdd, {image, memory}, {sum});
  b.node(Op::kLookup, {sum, table}, {next});
  b.node(Op::kAdd, {next, sum}, {out});
  b.graph().states.push(b.arena(), {memory, next, {}});
  ImageInput recipe;
  recipe.channels = 3;
  static const std::vector<int8_t> kPixels(768, 1);
  for (int c = 0; c < 3; ++c) recipe.norm[c] = 1.0f;
  recipe.table = {kPixels.data(), kPixels.size()};
  b.graph().images.push(b.arena(), recipe);
  b.graph().calibration.method = "auto";
  return unpack(b.finish());
}

inline int32_t index_of(const ModelT& model, const std::string& name) {
  for (size_t i = 0; i < model.tensors.size(); ++i)
    if (model.tensors[i]->name == name) return static_cast<int32_t>(i);
  throw std::runtime_error("no tensor " + name);
}

inline schema::TensorT& tensor(ModelT& model, const std::string& name) {
  return *model.tensors[static_cast<size_t>(index_of(model, name))];
}

// Bytes of a tensor's values, wrapped where a damaged shape has too many.
inline int64_t value_bytes(const schema::TensorT& tensor) {
  uint64_t bytes = element_bytes(static_cast<DType>(tensor.dtype));
  for (const int32_t dim : tensor.shape) bytes *= static_cast<uint64_t>(int64_t{dim});
  return static_cast<int64_t>(bytes);
}

// A plan of activations side by side, after their shapes were changed: as much as a plan may take.
inline void place_apart(ModelT& model) {
  uint32_t end = 0;
  for (size_t i = 0; i < model.tensors.size(); ++i) {
    if (model.tensors[i]->buffer >= 0) continue;
    model.plan->offsets[i] = end;
    end += (static_cast<uint32_t>(value_bytes(*model.tensors[i])) + 15) / 16 * 16;
  }
  model.plan->activation_bytes = end;
}

// Tensors of valid_model(), as its file numbers them.
inline int32_t at(const std::string& name) {
  static const auto model = valid_model();
  return index_of(*model, name);
}

using Change = std::function<void(ModelT&)>;

inline Error error_of(const AlignedBytes& bytes) { return Model::open(bytes.view()).error(); }

inline Error error_of(const Change& change) {
  const auto model = valid_model();
  change(*model);
  return error_of(pack(*model));
}

template <typename T>
std::unique_ptr<T> copy_of(const std::unique_ptr<T>& from) {
  return std::make_unique<T>(*from);
}

}  // namespace intaglio::test
