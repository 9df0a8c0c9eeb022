#include "importers/tflite/tflite_op.h"

#include <cstring>

#include "calibrator/host/system/half.h"
#include "importers/draft/geometry.h"
#include "importers/draft/quantized_tables.h"

namespace intaglio::importers {

namespace {

// Each stored element of type From, as `convert` has it.
template <typename To, typename From, typename Convert>
void convert_each(DraftTensor& constant, Convert convert) {
  std::vector<To> values;
  for (const From stored : values_of<From>(constant)) values.push_back(convert(stored));
  set_values(constant, values);
}

// Two codes a byte, the first one in the lower half.
void unpack(DraftTensor& constant) {
  std::vector<int8_t> codes;
  for (int64_t i = 0; i < elements(constant.shape); ++i) {
    const int32_t byte = constant.data[static_cast<size_t>(i / 2)];
    const int32_t half = (i % 2 == 0 ? byte : byte >> 4) & 15;
    codes.push_back(static_cast<int8_t>(half < 8 ? half : half - 16));
  }
  set_values(constant, codes);
}

}  // namespace

uint64_t tflite_stored_bytes(int8_t type, int64_t elements) {
  const auto count = static_cast<uint64_t>(elements);
  switch (type) {
    case kTfliteInt4:
      return (count + 1) / 2;
    case kTfliteUint8:
    case kTfliteInt8:
    case kTfliteBool:
      return count;
    case kTfliteFloat16:
    case kTfliteInt16:
      return count * 2;
    case kTfliteInt64:
      return count * 8;
    default:
      return count * 4;
  }
}

void convert_stored(int8_t type, DraftTensor& constant) {
  switch (type) {
    case kTfliteUint8:
      return convert_each<uint8_t, uint8_t>(constant,
                                            [](uint8_t code) { return static_cast<uint8_t>(code ^ 0x80); });
    case kTfliteInt4:
      return unpack(constant);
    case kTfliteFloat16:
      return convert_each<float, uint16_t>(constant, real_of_half);
    case kTfliteBool:
      return convert_each<float, uint8_t>(constant, [](uint8_t v) { return v != 0 ? 1.0f : 0.0f; });
    case kTfliteInt64:
      if (!constant.scales.empty()) return set_reals(constant, values_of<int64_t>(constant));
      return convert_each<int32_t, int64_t>(constant, [](int64_t v) { return narrow(v, "number"); });
    case kTfliteInt16:
      if (constant.scales.empty()) constant.scales = {1.0f};
      return set_reals_on_grid(constant, values_of<int16_t>(constant));
    default:
      return;
  }
}

namespace {

constexpr int8_t kDense = 0, kSparseCsr = 1;  // formats of a level: all indices, or those that it lists

struct Level {
  int64_t extent = 0, step = 0;  // of its indices, and between two of them, in elements
  bool is_dense = true;
  std::vector<int64_t> segments, indices;
};

template <typename Table>
std::vector<int64_t> numbers(const Table* table) {
  if (table == nullptr || table->values() == nullptr) return {};
  return {table->values()->begin(), table->values()->end()};
}

std::vector<int64_t> segments_of(const tflite::SparseLevel& level) {
  if (const auto* bytes = level.segments_as_Uint8Vector()) return numbers(bytes);
  if (const auto* shorts = level.segments_as_Uint16Vector()) return numbers(shorts);
  return numbers(level.segments_as_Int32Vector());
}
std::vector<int64_t> indices_of(const tflite::SparseLevel& level) {
  if (const auto* bytes = level.indices_as_Uint8Vector()) return numbers(bytes);
  if (const auto* shorts = level.indices_as_Uint16Vector()) return numbers(shorts);
  return numbers(level.indices_as_Int32Vector());
}

size_t count_of(const flatbuffers::Vector<int32_t>* list) { return list == nullptr ? 0 : list->size(); }

// The levels in the order of the tree.
std::vector<Level> levels_of(const tflite::Sparsity& sparsity, const Shape& shape) {
  const size_t rank = shape.size(), blocks = count_of(sparsity.block_map()), count = rank + blocks;
  const auto* const order = sparsity.traversal_order();
  const auto* const given = sparsity.levels();
  if (count_of(order) != count || given == nullptr || given->size() != count)
    fail("its sparsity has ", count_of(order), " axes and ", given == nullptr ? 0 : given->size(),
         " levels; its shape ", shape_text(shape), " and ", blocks, " blocks need ", count);
  if (blocks > rank) fail("its sparsity has ", blocks, " blocks for a shape of rank ", rank);
  std::vector<int64_t> strides(rank, 1), block(rank, 1);
  for (size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  std::vector<bool> seen(count, false);
  const auto axis_of = [&](size_t level) {
    const int32_t axis = order->Get(static_cast<uint32_t>(level));
    if (axis < 0 || static_cast<size_t>(axis) >= count) fail("its sparsity names axis ", axis, " of ", count);
    return static_cast<size_t>(axis);
  };
  const auto blocked = [&](size_t axis) {
    const int32_t d = sparsity.block_map()->Get(static_cast<uint32_t>(axis - rank));
    if (d < 0 || static_cast<size_t>(d) >= rank) fail("its sparsity has blocks of axis ", d, " of ", rank);
    return static_cast<size_t>(d);
  };
  for (size_t l = 0; l < count; ++l) {
    const size_t axis = axis_of(l);
    const int32_t size = given->Get(static_cast<uint32_t>(l))->dense_size();
    if (seen[axis]) fail("its sparsity names axis ", axis, " twice");
    seen[axis] = true;
    if (axis < rank) continue;
    int64_t& of_axis = block[blocked(axis)];
    if (of_axis != 1 || size < 1 || shape[blocked(axis)] % size != 0)
      fail("its sparsity has blocks of ", size, " in axis ", blocked(axis), " of ", shape[blocked(axis)]);
    of_axis = size;
  }
  std::vector<Level> levels(count);
  for (size_t l = 0; l < count; ++l) {
    const size_t axis = axis_of(l), d = axis < rank ? axis : blocked(axis);
    const tflite::SparseLevel& from = *given->Get(static_cast<uint32_t>(l));
    levels[l].extent = axis < rank ? shape[d] / block[d] : block[d];
    levels[l].step = axis < rank ? strides[d] * block[d] : strides[d];
    levels[l].is_dense = axis >= rank || from.format() != kSparseCsr;
    if (levels[l].is_dense && (from.format() != kDense || from.dense_size() != levels[l].extent))
      fail("level ", l, " of its sparsity has ", from.dense_size(), " indices in format ",
           int32_t{from.format()}, " where ", levels[l].extent, " are expected");
    if (levels[l].is_dense) continue;
    levels[l].segments = segments_of(from);
    levels[l].indices = indices_of(from);
  }
  return levels;
}

class Expansion {
 public:
  Expansion(std::vector<Level> levels, size_t element_bytes, Span<const uint8_t> stored,
            std::vector<uint8_t>& dense)
      : levels_(std::move(levels)), bytes_(element_bytes), stored_(stored), dense_(dense) {}

  // Branch `position` of level `l`, whose first element is `at`.
  void expand(size_t l, int64_t position, int64_t at) {
    if (l == levels_.size()) return take(position, at);
    const Level& level = levels_[l];
    if (level.is_dense) {
      for (int64_t i = 0; i < level.extent; ++i)
        expand(l + 1, position * level.extent + i, at + i * level.step);
      return;
    }
    const auto p = static_cast<size_t>(position);
    if (p + 1 >= level.segments.size())
      fail("level ", l, " of its sparsity has ", level.segments.size(), " segments where ", p + 2,
           " are needed");
    const int64_t first = level.segments[p], last = level.segments[p + 1];
    if (first < 0 || last < first || last > static_cast<int64_t>(level.indices.size()))
      fail("level ", l, " of its sparsity has a segment from ", first, " to ", last, " of ",
           level.indices.size(), " indices");
    int64_t before = -1;
    for (int64_t k = first; k < last; ++k) {
      const int64_t index = level.indices[static_cast<size_t>(k)];
      if (index <= before || index >= level.extent)
        fail("level ", l, " of its sparsity has index ", index, " behind ", before, "; there are ",
             level.extent);
      before = index;
      expand(l + 1, k, at + index * level.step);
    }
  }

  size_t taken() const { return taken_; }

 private:
  void take(int64_t position, int64_t at) {
    const size_t from = static_cast<size_t>(position) * bytes_;
    if (from + bytes_ > stored_.size) fail("its sparsity tells of more elements than it holds");
    std::memcpy(dense_.data() + static_cast<size_t>(at) * bytes_, stored_.data + from, bytes_);
    ++taken_;
  }

  const std::vector<Level> levels_;
  const size_t bytes_;
  const Span<const uint8_t> stored_;
  std::vector<uint8_t>& dense_;
  size_t taken_ = 0;
};

}  // namespace

std::vector<uint8_t> tflite_bytes(const tflite::Tensor& tensor, const Shape& shape,
                                  Span<const uint8_t> stored) {
  const uint64_t needed = tflite_stored_bytes(tensor.type(), elements(shape));
  if (tensor.sparsity() == nullptr) {
    if (stored.size != needed)
      fail("it holds ", stored.size, " bytes, its shape ", shape_text(shape), " needs ", needed);
    return {stored.begin(), stored.end()};
  }
  if (tensor.type() == kTfliteInt4) fail("sparse tensors of 4 bits are not supported");
  const auto element_bytes = static_cast<size_t>(tflite_stored_bytes(tensor.type(), 1));
  std::vector<uint8_t> dense(static_cast<size_t>(needed), 0);
  Expansion expansion(levels_of(*tensor.sparsity(), shape), element_bytes, stored, dense);
  expansion.expand(0, 0, 0);
  if (expansion.taken() * element_bytes != stored.size)
    fail("it holds ", stored.size, " bytes, its sparsity tells of ", expansion.taken(), " elements");
  return dense;
}

}  // namespace intaglio::importers
