// TFLite's GATHER in batches.
#include "tests/support/imported.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_tflite_gather_test {
namespace {

using tflite::Options;
using Reals = std::vector<float>;
using Ints = std::vector<int32_t>;

}  // namespace

TEST_CASE("GATHER in batches takes each batch's own rows") {
  constexpr int32_t kGather = 36;
  for (const bool by_run : {false, true}) {
    TfliteBuilder file;
    const int32_t indices = by_run ? file.tensor("i", kTfliteInt32, {2, 2})
                                   : file.constant("i", kTfliteInt32, {2, 2}, Ints{2, 0, 1, 1});
    const int32_t table = by_run ? file.constant("x", kTfliteFloat, {2, 3, 1}, Reals{1, 2, 3, 4, 5, 6})
                                 : file.tensor("x", kTfliteFloat, {2, 3, 1});
    const int32_t y = file.tensor("y", kTfliteFloat, {2, 2, 1});
    file.op(kGather, {table, indices}, {y}, Options::GatherOptions,
            tflite::CreateGatherOptions(file.fbb(), 1, 1).Union());
    Import import(file.finish({by_run ? indices : table}, {y}));
    REQUIRE_MESSAGE(import.good(), import.message());
    if (by_run)
      CHECK(run_import<float>(import, Ints{2, 0, 1, 9}) == Reals{3, 1, 5, 6});
    else
      CHECK(run_import<float>(import, Reals{1, 2, 3, 4, 5, 6}) == Reals{3, 1, 5, 5});
  }
}

TEST_CASE("GATHER in batches of constants is folded, and takes no index that does not exist") {
  constexpr int32_t kGather = 36;
  const auto file_of = [](int8_t type, const Ints& indices) {
    TfliteBuilder file;
    const bool is_real = type == kTfliteFloat;
    const int32_t x = file.tensor("x", type, {2, 2, 1}), taken = file.tensor("taken", type, {2, 2, 1}),
                  y = file.tensor("y", type, {2, 2, 1});
    const int32_t table =
        is_real ? file.constant("table", type, {2, 3, 1}, Reals{1, 2, 3, 4, 5, 6})
                : file.constant("table", type, {2, 3, 1}, std::vector<int8_t>{1, 2, 3, 4, 5, 6});
    file.op(kGather, {table, file.constant("i", kTfliteInt32, {2, 2}, indices)}, {taken},
            Options::GatherOptions, tflite::CreateGatherOptions(file.fbb(), 1, 1).Union());
    file.op(0, {x, taken}, {y});
    return file.finish({x}, {y});
  };
  Import import(file_of(kTfliteFloat, {2, 0, 1, 1}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, Reals{10, 20, 30, 40}) == Reals{13, 21, 35, 45});
  CHECK(
      Import(file_of(kTfliteFloat, {2, 0, 1, 9})).says("its index 9 does not exist in axis 1 of [2, 3, 1]"));
  CHECK(Import(file_of(kTfliteFloat, {-1, 0, 1, 1})).says("its index -1 does not exist"));
}

TEST_CASE("constant indices have the shape that the file says") {
  constexpr int32_t kGather = 36;
  for (const int32_t batches : {0, 1})
    for (const Ints& shape : {Ints{2, 0}, Ints{2, 3}, Ints{2, -2}, Ints{2, 1 << 30, 1 << 30, 1 << 30}}) {
      CAPTURE(batches);
      CAPTURE(shape.size());
      TfliteBuilder file;
      const int32_t x = file.tensor("x", kTfliteFloat, {2, 3, 1}),
                    indices = file.constant("i", kTfliteInt32, shape, Ints{2, 0, 1, 1}),
                    y = file.tensor("y", kTfliteFloat, {2, 2, 1});
      file.op(kGather, {x, indices}, {y}, Options::GatherOptions,
              tflite::CreateGatherOptions(file.fbb(), 1, batches).Union());
      const Import import(file.finish({x}, {y}));
      CAPTURE(import.message());
      CHECK(import.says("tensor 'i': its shape [2, "));
      CHECK(import.says(" does not fit what it holds"));
    }
}

TEST_CASE("codes of a constant without a scale are refused where another scale is asked for") {
  constexpr int32_t kGather = 36, kUpdateSlice = 151;
  const std::vector<int8_t> codes{1, 2, 3, 4, 5, 6};
  TfliteBuilder file;
  const int32_t i = file.tensor("i", kTfliteInt32, {2, 1}),
                y = file.tensor("y", kTfliteInt8, {2, 1, 1}, TfliteScales{{0.5f}, 2});
  file.op(kGather, {file.constant("table", kTfliteInt8, {2, 3, 1}, codes), i}, {y}, Options::GatherOptions,
          tflite::CreateGatherOptions(file.fbb(), 1, 1).Union());
  CHECK(Import(file.finish({i}, {y})).says("needs one scale, it has 0"));
  TfliteBuilder other;
  const int32_t start = other.tensor("start", kTfliteInt32, {2}),
                z = other.tensor("z", kTfliteInt8, {2, 3}, TfliteScales{{0.5f}, 2});
  other.op(kUpdateSlice,
           {other.constant("whole", kTfliteInt8, {2, 3}, codes),
            other.constant("part", kTfliteInt8, {2, 3}, codes), start},
           {z});
  CHECK(Import(other.finish({start}, {z})).says("needs one scale, it has 0"));
}

}  // namespace intaglio::test::import_tflite_gather_test
