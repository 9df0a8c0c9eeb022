// TFLite files whose fields are changed by name (shapes, types, quantization, indices, options), not as bytes:
// the tables still hold together. Start it on a folder of real files, or on none.
#include "tests/fuzz/import_fuzz.h"
#include "tests/hostile/hostile_runs.h"
#include "tests/support/random.h"
#include "tests/support/tflite_generator.h"

namespace {

using intaglio::test::Random;
namespace tflite = intaglio::tflite;

template <typename T>
T changed(T old, Random& random) {
  if constexpr (std::is_same_v<T, float>) {
    return random.one_in(2) ? random.any_float() : random.real(0, 1);
  } else {
    const int64_t odd[] = {0, 1, -1, 2, 3, 4, 7, 8, 127, 128, 255, 65536, INT32_MAX, INT32_MIN, INT64_MAX};
    if (random.one_in(3)) return static_cast<T>(static_cast<uint64_t>(old) + (random.one_in(2) ? 1u : ~0u));
    return static_cast<T>(odd[random.bits() % std::size(odd)]);
  }
}

// An element, or the number of them, which only shrinks.
template <typename T>
void change_one(const flatbuffers::Vector<T>* list, Random& random) {
  if (list == nullptr || list->size() == 0) return;
  auto* const bytes = const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(list));
  const uint32_t size = list->size();
  if (random.one_in(8)) {
    const uint32_t fewer = random.bits() % size;
    std::memcpy(bytes, &fewer, sizeof fewer);
    return;
  }
  uint8_t* const place = bytes + sizeof size + random.bits() % size * sizeof(T);
  T value{};
  std::memcpy(&value, place, sizeof value);
  value = changed(value, random);
  std::memcpy(place, &value, sizeof value);
}

// Bytes of a table's own fields: one, or the four that a number has.
void change_table(const void* table, Random& random) {
  if (table == nullptr) return;
  auto* const bytes = const_cast<uint8_t*>(static_cast<const uint8_t*>(table));
  int32_t to_vtable = 0;
  std::memcpy(&to_vtable, bytes, sizeof to_vtable);
  uint16_t vtable[2] = {};
  std::memcpy(vtable, bytes - to_vtable, sizeof vtable);
  if (vtable[0] < 6) return;  // it lists no field; the verifier takes a list of any length
  const uint32_t fields = (vtable[0] - 4u) / 2;
  uint16_t offset = 0;
  std::memcpy(&offset, bytes - to_vtable + 4 + 2 * (random.bits() % fields), sizeof offset);
  if (offset == 0) return;
  if (offset + 4u <= vtable[1] && random.one_in(2)) {
    const auto value = changed(int32_t{2}, random);
    std::memcpy(bytes + offset, &value, sizeof value);
  } else {
    bytes[offset] = changed(bytes[offset], random);
  }
}

template <typename T>
const T* any(const flatbuffers::Vector<flatbuffers::Offset<T>>* list, Random& random) {
  return list == nullptr || list->size() == 0 ? nullptr : list->Get(random.bits() % list->size());
}

void change_sparsity(const tflite::Sparsity& sparsity, Random& random) {
  const tflite::SparseLevel* const level = any(sparsity.levels(), random);
  switch (random.between(0, 3)) {
    case 0:
      return change_one(sparsity.traversal_order(), random);
    case 1:
      return change_one(sparsity.block_map(), random);
    case 2:
      return change_table(level, random);
    default:
      if (level == nullptr) return;
      if (const auto* const list = level->segments_as_Uint8Vector(); list != nullptr && random.one_in(2))
        return change_one(list->values(), random);
      if (const auto* const list = level->indices_as_Uint8Vector()) change_one(list->values(), random);
  }
}

void change(const tflite::Model& model, Random& random) {
  const tflite::SubGraph* const graph = any(model.subgraphs(), random);
  if (graph == nullptr) return;
  const tflite::Tensor* const tensor = any(graph->tensors(), random);
  const tflite::Operator* const op = any(graph->operators(), random);
  const auto* const quantization = tensor == nullptr ? nullptr : tensor->quantization();
  const auto* const buffer = any(model.buffers(), random);
  const auto* const sparsity = tensor == nullptr ? nullptr : tensor->sparsity();
  if (sparsity != nullptr && random.one_in(2)) return change_sparsity(*sparsity, random);
  switch (random.between(0, 11)) {
    case 0:
    case 1:
      return tensor == nullptr ? void() : change_one(tensor->shape(), random);
    case 2:
      return change_table(tensor, random);
    case 3:
      return quantization == nullptr ? void() : change_one(quantization->scale(), random);
    case 4:
      return quantization == nullptr ? void() : change_one(quantization->zero_point(), random);
    case 5:
      return change_table(quantization, random);
    case 6:
      return op == nullptr ? void() : change_one(op->inputs(), random);
    case 7:
      return op == nullptr ? void() : change_one(op->outputs(), random);
    case 8:
      if (op != nullptr && op->custom_options() != nullptr) return change_one(op->custom_options(), random);
      // The verifier does not look at options of a kind that it does not know.
      if (op == nullptr || op->options_type() == tflite::Options::NONE ||
          *tflite::EnumNameOptions(op->options_type()) == '\0')
        return;
      return change_table(op->options(), random);
    case 9:
      return change_table(any(model.opcodes(), random), random);
    case 10:
      return buffer == nullptr ? void() : change_one(buffer->data(), random);
    default:
      return change_one(random.one_in(2) ? graph->inputs() : graph->outputs(), random);
  }
}

bool holds_together(const uint8_t* data, size_t size) {
  flatbuffers::Verifier verifier(data, size);
  return size > 64 && tflite::VerifyModelBuffer(verifier);
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  Random random(seed);
  std::vector<uint8_t> file(data, data + size);
  if (!holds_together(file.data(), file.size())) {
    static const auto seeds = intaglio::test::hostile_seeds();
    std::vector<uint8_t> bytes(256);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.bits());
    intaglio::test::Choices choices(bytes.data(), bytes.size());
    const std::string made = intaglio::test::TfliteGenerator(choices).network(5);
    file.assign(made.begin(), made.end());
    if (random.one_in(2)) file = seeds[random.bits() % seeds.size()];
  }
  if (file.size() > max_size) return size;
  for (int32_t changes = random.between(1, 3); changes > 0; --changes)
    if (holds_together(file.data(), file.size())) change(*tflite::GetModel(file.data()), random);
  std::memcpy(data, file.data(), file.size());
  return file.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (intaglio::is_tflite_file({data, size})) intaglio::fuzz::import_and_run({data, size});
  return 0;
}
