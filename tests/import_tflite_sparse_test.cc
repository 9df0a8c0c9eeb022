// TFLite's sparse constants: trees by hand, with listed rows and with blocks, and what does not fit them.
#include "tests/support/imported.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_tflite_sparse_test {
namespace {

using Reals = std::vector<float>;
using Ints = std::vector<int32_t>;
using tflite::SparseIndices;

constexpr int32_t kDensify = 124;
constexpr int8_t kFloat16 = 1;

struct Level {
  int8_t format = 0;
  int32_t size = 0;
  Ints segments, indices;
};

// Lists of bytes, of shorts and of ints, by turns.
std::pair<SparseIndices, flatbuffers::Offset<void>> list(flatbuffers::FlatBufferBuilder& fbb,
                                                         const Ints& values, int kind) {
  const std::vector<uint8_t> bytes(values.begin(), values.end());
  const std::vector<uint16_t> shorts(values.begin(), values.end());
  if (kind == 0) return {SparseIndices::Uint8Vector, tflite::CreateUint8VectorDirect(fbb, &bytes).Union()};
  if (kind == 1) return {SparseIndices::Uint16Vector, tflite::CreateUint16VectorDirect(fbb, &shorts).Union()};
  return {SparseIndices::Int32Vector, tflite::CreateInt32VectorDirect(fbb, &values).Union()};
}

flatbuffers::Offset<tflite::Sparsity> sparsity(TfliteBuilder& file, const Ints& order, const Ints& blocks,
                                               const std::vector<Level>& levels, int kind) {
  std::vector<flatbuffers::Offset<tflite::SparseLevel>> made;
  for (const Level& level : levels) {
    if (level.format == 0) {
      made.push_back(tflite::CreateSparseLevel(file.fbb(), 0, level.size));
      continue;
    }
    const auto [segments_type, segments] = list(file.fbb(), level.segments, kind);
    const auto [indices_type, indices] = list(file.fbb(), level.indices, kind);
    made.push_back(tflite::CreateSparseLevel(file.fbb(), level.format, level.size, segments_type, segments,
                                             indices_type, indices));
  }
  return tflite::CreateSparsityDirect(file.fbb(), &order, &blocks, &made);
}

struct Sparse {
  Ints order, blocks;
  std::vector<Level> levels;
  Reals values;
};

// y = x * W, whose W [rows, columns] is sparse.
std::string product(const Sparse& w, int32_t rows = 3, int32_t columns = 4, int kind = 0) {
  TfliteBuilder file;
  std::vector<uint8_t> stored(w.values.size() * sizeof(float));
  std::memcpy(stored.data(), w.values.data(), stored.size());
  const int32_t x = file.tensor("x", kTfliteFloat, {1, columns});
  const auto made = sparsity(file, w.order, w.blocks, w.levels, kind);
  const int32_t weights = file.sparse_tensor("w", kTfliteFloat, {rows, columns}, stored, made);
  const int32_t y = file.tensor("y", kTfliteFloat, {1, rows});
  file.op(kTfliteFullyConnected, {x, weights}, {y}, tflite::Options::FullyConnectedOptions,
          tflite::CreateFullyConnectedOptions(file.fbb()).Union());
  return file.finish({x}, {y});
}

// Rows 0: 1 at 1; 1: nothing; 2: 2 at 0, 3 at 3.
Sparse listed_rows() { return {{0, 1}, {}, {{0, 3, {}, {}}, {1, 0, {0, 1, 1, 3}, {1, 0, 3}}}, {1, 2, 3}}; }

}  // namespace

TEST_CASE("rows that list their columns") {
  for (const int kind : {0, 1, 2})
    CHECK(run_file(product(listed_rows(), 3, 4, kind), {1, 10, 100, 1000}) == Reals{10, 0, 3002});
}

TEST_CASE("columns that list their rows") {
  const Sparse w{{1, 0}, {}, {{0, 4, {}, {}}, {1, 0, {0, 1, 2, 2, 3}, {2, 0, 2}}}, {2, 1, 3}};
  CHECK(run_file(product(w), {1, 10, 100, 1000}) == Reals{10, 0, 3002});
}

TEST_CASE("blocks of columns") {
  // Pairs of columns: row 0 has the second pair, row 1 the first one.
  const Sparse w{{0, 1, 2}, {1}, {{0, 2, {}, {}}, {1, 0, {0, 1, 2}, {1, 0}}, {0, 2, {}, {}}}, {1, 2, 3, 4}};
  CHECK(run_file(product(w, 2, 4), {1, 10, 100, 1000}) == Reals{2100, 43});
}

TEST_CASE("DENSIFY, of halves that are dequantized behind it") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 4});
  const std::vector<uint8_t> halves{0x00, 0x3C, 0x00, 0x40, 0x00, 0x42};  // 1, 2, 3
  const auto made = sparsity(file, {0, 1}, {}, listed_rows().levels, 0);
  const int32_t w = file.sparse_tensor("w", kFloat16, {3, 4}, halves, made);
  const int32_t dense = file.tensor("dense", kFloat16, {3, 4});
  const int32_t reals = file.tensor("reals", kTfliteFloat, {3, 4});
  const int32_t y = file.tensor("y", kTfliteFloat, {1, 3});
  file.op(kDensify, {w}, {dense});
  file.op(kTfliteDequantize, {dense}, {reals});
  file.op(kTfliteFullyConnected, {x, reals}, {y}, tflite::Options::FullyConnectedOptions,
          tflite::CreateFullyConnectedOptions(file.fbb()).Union());
  CHECK(run_file(file.finish({x}, {y}), {1, 10, 100, 1000}) == Reals{10, 0, 3002});
}

TEST_CASE("sparsity that does not fit its tensor is refused") {
  const auto says = [](const std::function<void(Sparse&)>& spoil, const std::string& part) {
    Sparse w = listed_rows();
    spoil(w);
    const Import import(product(w));
    CHECK_MESSAGE(import.says("tensor 'w': " + part), import.message());
  };
  says([](Sparse& w) { w.order = {0}; },
       "its sparsity has 1 axes and 2 levels; its shape [3, 4] and 0 blocks need 2");
  says([](Sparse& w) { w.order = {0, 0}; }, "its sparsity names axis 0 twice");
  says([](Sparse& w) { w.order = {0, 2}; }, "its sparsity names axis 2 of 2");
  says([](Sparse& w) { w.order = {0, -1}; }, "its sparsity names axis -1 of 2");
  says([](Sparse& w) { w.levels[0].size = 2; },
       "level 0 of its sparsity has 2 indices in format 0 where 3 are expected");
  says([](Sparse& w) { w.levels[1].format = 2; },
       "level 1 of its sparsity has 0 indices in format 2 where 4");
  says([](Sparse& w) { w.levels[1].segments.pop_back(); },
       "level 1 of its sparsity has 3 segments where 4 are needed");
  says([](Sparse& w) { w.levels[1].segments[3] = 4; },
       "level 1 of its sparsity has a segment from 1 to 4 of 3 indices");
  says([](Sparse& w) { w.levels[1].segments[2] = 0; }, "level 1 of its sparsity has a segment from 1 to 0");
  says([](Sparse& w) { w.levels[1].indices[2] = 4; },
       "level 1 of its sparsity has index 4 behind 0; there are 4");
  says([](Sparse& w) { w.levels[1].indices[2] = 0; }, "level 1 of its sparsity has index 0 behind 0");
  says([](Sparse& w) { w.values.pop_back(); }, "its sparsity tells of more elements than it holds");
  says([](Sparse& w) { w.values.push_back(4); }, "it holds 16 bytes, its sparsity tells of 3 elements");
  const auto blocks = [&](int32_t axis, int32_t size, const std::string& part) {
    says(
        [=](Sparse& w) {
          w.order.push_back(2);
          w.blocks = {axis};
          w.levels.push_back({0, size, {}, {}});
        },
        part);
  };
  // As many levels as a file has room for would be as many calls in one another.
  says(
      [](Sparse& w) {
        for (int32_t block = 0; block < 3; ++block) {
          w.order.push_back(2 + block);
          w.blocks.push_back(1);
          w.levels.push_back({0, 1, {}, {}});
        }
      },
      "its sparsity has 3 blocks for a shape of rank 2");
  blocks(2, 2, "its sparsity has blocks of axis 2 of 2");
  blocks(-1, 2, "its sparsity has blocks of axis -1 of 2");
  blocks(1, 3, "its sparsity has blocks of 3 in axis 1 of 4");
  blocks(1, 0, "its sparsity has blocks of 0 in axis 1 of 4");
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 4});
  const int32_t y = file.tensor("y", kTfliteFloat, {1, 4});
  const int32_t none = file.sparse_tensor("none", kTfliteFloat, {1, 4}, {});
  file.op(kTfliteAdd, {x, none}, {y});
  CHECK(!Import(file.finish({x}, {y})).good());
}

TEST_CASE("any damage is refused, or gives a model that opens") {
  const Sparse blocks{
      {0, 1, 2}, {1}, {{0, 2, {}, {}}, {1, 0, {0, 1, 2}, {1, 0}}, {0, 2, {}, {}}}, {1, 2, 3, 4}};
  for (const int kind : {0, 1, 2}) {
    check_random_damage(product(listed_rows(), 3, 4, kind), 1 + static_cast<uint32_t>(kind), 4000, 3);
    check_random_damage(product(blocks, 2, 4, kind), 4 + static_cast<uint32_t>(kind), 4000, 3);
  }
}

}  // namespace intaglio::test::import_tflite_sparse_test
