// TFLite networks that take or give integers: token numbers, indices, positions, one-hot rows.
#include "tests/support/imported.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_tflite_integers_test {
namespace {

using tflite::Options;
using Reals = std::vector<float>;
using Ints = std::vector<int32_t>;

enum Code : int32_t {
  kEmbeddingLookup = 7,
  kMul = 18,
  kGather = 36,
  kTopK = 48,
  kCast = 53,
  kArgMax = 56,
  kArgMin = 79,
  kOneHot = 85
};

}  // namespace

TEST_CASE("GATHER and EMBEDDING_LOOKUP by indices that are inputs") {
  for (const bool looks_up : {true, false}) {
    for (const int8_t type : {kTfliteInt32, kTfliteInt64}) {
      TfliteBuilder file;
      const int32_t x = file.tensor("x", type, {3}), y = file.tensor("y", kTfliteFloat, {3, 2});
      const int32_t table = file.constant("table", kTfliteFloat, {4, 2}, Reals{0, 1, 2, 3, 4, 5, 6, 7});
      if (looks_up)
        file.op(kEmbeddingLookup, {x, table}, {y});
      else
        file.op(kGather, {table, x}, {y}, Options::GatherOptions,
                tflite::CreateGatherOptions(file.fbb(), 0).Union());
      const std::string bytes = file.finish({x}, {y});
      CHECK(run_file<float>(bytes, Ints{3, 1, 1000}) == Reals{6, 7, 2, 3, 6, 7});
      Import import(bytes);
      CHECK(import.notes("input 'x' is int64 in the file; here it is int32") == (type == kTfliteInt64));
    }
  }
}

TEST_CASE("an int8 embedding keeps its codes") {
  TfliteBuilder file;
  const TfliteScales scales{{0.5f}, 3};
  const int32_t x = file.tensor("x", kTfliteInt32, {2}), y = file.tensor("y", kTfliteInt8, {2, 2}, scales);
  const int32_t table =
      file.constant("table", kTfliteInt8, {3, 2}, std::vector<int8_t>{0, 1, 2, 3, -128, 127}, scales);
  file.op(kGather, {table, x}, {y}, Options::GatherOptions,
          tflite::CreateGatherOptions(file.fbb(), 0).Union());
  CHECK(run_file<int8_t>(file.finish({x}, {y}), Ints{2, 0}) == std::vector<int8_t>{-128, 127, 0, 1});
}

TEST_CASE("arithmetic on integers, and casts") {
  {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteInt32, {3}), y = file.tensor("y", kTfliteInt32, {3});
    file.op(kMul, {x, x}, {y}, Options::MulOptions, tflite::CreateMulOptions(file.fbb()).Union());
    CHECK(run_file<int32_t>(file.finish({x}, {y}), Ints{3, -4, 1000}) == Ints{9, 16, 1000000});
  }
  {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteFloat, {4}), y = file.tensor("y", kTfliteInt32, {4});
    file.op(kCast, {x}, {y});
    CHECK(run_file<int32_t>(file.finish({x}, {y}), Reals{1.9f, -1.9f, 0.5f, -3}) == Ints{1, -1, 0, -3});
  }
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteInt32, {2}), mask = file.tensor("mask", kTfliteFloat, {2}),
                y = file.tensor("y", kTfliteFloat, {2});
  const int32_t far = file.constant("far", kTfliteFloat, {1}, Reals{-10000});
  file.op(kCast, {x}, {mask});
  file.op(kMul, {mask, far}, {y}, Options::MulOptions, tflite::CreateMulOptions(file.fbb()).Union());
  CHECK(run_file<float>(file.finish({x}, {y}), Ints{1, 0}) == Reals{-10000, -0.0f});
}

TEST_CASE("ARG_MAX and ARG_MIN of float and of int8, whose codes have the values' order") {
  for (const bool least : {true, false}) {
    for (const int8_t type : {kTfliteFloat, kTfliteInt8}) {
      TfliteBuilder file;
      const TfliteScales scales = type == kTfliteInt8 ? TfliteScales{{0.25f}, -3} : TfliteScales{};
      const int32_t x = file.tensor("x", type, {2, 3}, scales), y = file.tensor("y", kTfliteInt64, {2});
      const int32_t axis = file.constant("axis", kTfliteInt32, {}, Ints{-1});
      file.op(least ? kArgMin : kArgMax, {x, axis}, {y});
      const std::string bytes = file.finish({x}, {y});
      const Ints expected = least ? Ints{0, 1} : Ints{1, 0};
      if (type == kTfliteInt8)
        CHECK(run_file<int32_t>(bytes, std::vector<int8_t>{1, 5, 5, 9, -2, -2}) == expected);
      else
        CHECK(run_file<int32_t>(bytes, Reals{1, 5, 5, 9, -2, -2}) == expected);
    }
  }
}

TEST_CASE("TOPK_V2") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 4}),
                values = file.tensor("values", kTfliteFloat, {1, 2}),
                indices = file.tensor("indices", kTfliteInt32, {1, 2});
  const int32_t k = file.constant("k", kTfliteInt32, {}, Ints{2});
  file.op(kTopK, {x, k}, {values, indices});
  Import import(file.finish({x}, {values, indices}));
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
  CHECK(model.run<float>(Reals{1, 7, 3, 7}) == Reals{7, 7});
  CHECK(model.output<int32_t>(1) == Ints{1, 3});
}

TEST_CASE("ONE_HOT: an index below 0 has no place") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteInt32, {3}), y = file.tensor("y", kTfliteFloat, {3, 2});
  const int32_t depth = file.constant("depth", kTfliteInt32, {}, Ints{2});
  const int32_t on = file.constant("on", kTfliteFloat, {}, Reals{5}),
                off = file.constant("off", kTfliteFloat, {}, Reals{-1});
  file.op(kOneHot, {x, depth, on, off}, {y}, Options::OneHotOptions,
          tflite::CreateOneHotOptions(file.fbb(), -1).Union());
  CHECK(run_file<float>(file.finish({x}, {y}), Ints{1, -1, 0}) == Reals{-1, 5, -1, -1, 5, -1});
}

TEST_CASE("uint8 numbers: float in a float network, codes in a quantized one") {
  {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteUint8, {1, 2, 2, 3}),
                  y = file.tensor("y", kTfliteFloat, {1, 2, 2, 3});
    file.op(kCast, {x}, {y});
    Import import(file.finish({x}, {y}));
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.input().dtype == DType::kF32);
    CHECK(import.graph().images.size() == 1);
    CHECK(run_import<float>(import, Reals(12, 200)) == Reals(12, 200));
  }
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteUint8, {1, 2}), real = file.tensor("real", kTfliteFloat, {1, 2}),
                y = file.tensor("y", kTfliteInt8, {1, 2}, {{2.0f}, -128});
  file.op(kCast, {x}, {real});
  file.op(kTfliteQuantize, {real}, {y});
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.input().dtype == DType::kS8);
  CHECK(run_import<int8_t>(import, std::vector<int8_t>{-128, 127}) == std::vector<int8_t>{-128, 0});
}

TEST_CASE("codes with a scale are cast as the integers that the file has") {
  for (const bool is_unsigned : {true, false}) {
    for (const int8_t to : {kTfliteFloat, kTfliteInt32}) {
      TfliteBuilder file;
      const int8_t type = is_unsigned ? kTfliteUint8 : kTfliteInt8;
      const int32_t x = file.tensor("x", type, {1, 3}, {{0.5f}, 10}), y = file.tensor("y", to, {1, 3});
      file.op(kCast, {x}, {y});
      const std::string bytes = file.finish({x}, {y});
      const std::vector<int8_t> codes{-128, 72, 127};
      const int32_t shift = is_unsigned ? 128 : 0;  // our codes of uint8 are the file's minus 128
      const Ints numbers{-128 + shift, 72 + shift, 127 + shift};
      if (to == kTfliteFloat)
        CHECK(run_file<float>(bytes, codes) == Reals(numbers.begin(), numbers.end()));
      else
        CHECK(run_file<int32_t>(bytes, codes) == numbers);
    }
  }
}

TEST_CASE("an output that is a constant") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {2}), y = file.tensor("y", kTfliteFloat, {2}),
                shape = file.tensor("shape", kTfliteInt32, {1});
  file.op(kTfliteRelu, {x}, {y});
  constexpr int32_t kShape = 77;
  file.op(kShape, {x}, {shape});
  Import import(file.finish({x}, {y, shape}));
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
  CHECK(model.run<float>(Reals{-1, 2}) == Reals{0, 2});
  CHECK(model.output<int32_t>(1) == Ints{2});
}

TEST_CASE("an int8 table without one scale is refused") {
  for (const int32_t code : {int32_t{kEmbeddingLookup}, int32_t{kGather}}) {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteInt32, {2}),
                  y = file.tensor("y", kTfliteInt8, {2, 2}, TfliteScales{{0.5f}});
    const int32_t table = file.constant("table", kTfliteInt8, {2, 2}, std::vector<int8_t>{0, 1, 2, 3});
    const bool looks_up = code == kEmbeddingLookup;
    file.op(code, looks_up ? Ints{x, table} : Ints{table, x}, {y},
            looks_up ? Options::NONE : Options::GatherOptions,
            looks_up ? flatbuffers::Offset<void>() : tflite::CreateGatherOptions(file.fbb(), 0).Union());
    Import import(file.finish({x}, {y}));
    CHECK_MESSAGE(import.says("tensor 'table' is int8 and needs one scale, it has 0"), import.message());
  }
}

TEST_CASE("what does not fit is refused") {
  const auto refused = [](int32_t code, int32_t second, const std::vector<int32_t>& y_shape,
                          const std::string& says) {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteFloat, {2, 3}), y = file.tensor("y", kTfliteInt32, y_shape);
    const int32_t k = file.constant("k", kTfliteInt32, {}, Ints{second});
    file.op(code, {x, k}, {y});
    Import import(file.finish({x}, {y}));
    CHECK_MESSAGE(import.says(says), import.message());
  };
  refused(kArgMax, 2, {2}, "'y' (ARG_MAX): axis 2 does not exist");
  refused(kArgMax, 1, {3}, "'y' (ARG_MAX): its output is [3] in the file, its inputs give [2]");
  refused(kTopK, 2, {2, 2}, "'y' (TOPK_V2): it has 1 outputs where 2 are expected");
  refused(kEmbeddingLookup, 2, {2}, "'y' (EMBEDDING_LOOKUP): input 0 must hold integers");
}

TEST_CASE("CAST to 8 bits without a scale gives numbers") {
  const auto run = [](int8_t from, int8_t to, const Reals& x) {
    TfliteBuilder file;
    const int32_t in = file.tensor("x", kTfliteFloat, {4}), y = file.tensor("y", kTfliteFloat, {4});
    int32_t at = in;
    for (const int8_t type : {from, to}) {
      if (type == kTfliteFloat) continue;
      const int32_t next = file.tensor("t" + std::to_string(type), type, {4});
      file.op(kCast, {at}, {next});
      at = next;
    }
    file.op(kCast, {at}, {y});
    return run_file<float>(file.finish({in}, {y}), x);
  };
  CHECK(run(kTfliteFloat, kTfliteUint8, {-3, 1.9f, 254.5f, 300}) == Reals{0, 1, 254, 255});
  CHECK(run(kTfliteFloat, kTfliteInt8, {-300, -1.9f, 1.9f, 300}) == Reals{-128, -1, 1, 127});
  CHECK(run(kTfliteInt32, kTfliteUint8, {-3, 1.9f, 256, 300}) == Reals{253, 1, 0, 44});
  CHECK(run(kTfliteInt32, kTfliteInt8, {-129, 128, 127, -128}) == Reals{127, -128, 127, -128});
  for (const int8_t type : {kTfliteUint8, kTfliteInt8}) {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteFloat, {2}), y = file.tensor("y", type, {2});
    file.op(kCast, {x}, {y});
    Import import(file.finish({x}, {y}));
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(run_import<float>(import, Reals{1.9f, 130}) == Reals{1, type == kTfliteUint8 ? 130.0f : 127.0f});
    CHECK(import.notes(std::string("output 'y' is ") + (type == kTfliteUint8 ? "uint8" : "int8") +
                       " in the file; here it is float, with the same numbers"));
    CHECK(!import.notes("the file's minus 128"));
  }
}

TEST_CASE("sums, means and quotients of integers are whole") {
  constexpr int32_t kSum = 74, kDiv = 42, kCount = 97;  // a mean of 97, 97 times, is just below the sum
  for (const int32_t code : {kSum, static_cast<int32_t>(kTfliteMean), kDiv}) {
    CAPTURE(code);
    TfliteBuilder file;
    const bool divides = code == kDiv;
    const int32_t x = file.tensor("x", kTfliteInt32, {1, kCount}),
                  y = file.tensor("y", kTfliteInt32, {1, divides ? kCount : 1}),
                  by = file.constant("by", kTfliteInt32, {1}, std::vector<int32_t>{divides ? 49 : 1});
    if (divides)
      file.op(code, {x, by}, {y}, tflite::Options::DivOptions, tflite::CreateDivOptions(file.fbb()).Union());
    else
      file.op(code, {x, by}, {y}, tflite::Options::ReducerOptions,
              tflite::CreateReducerOptions(file.fbb(), true).Union());
    const std::string bytes = file.finish({x}, {y});
    std::vector<int32_t> values(kCount, 0);
    values[0] = divides ? -50 : 1;
    values[1] = divides ? 49 : 0;
    values[2] = divides ? 48 : 0;
    const auto found = run_file<int32_t>(bytes, values);
    if (divides)
      CHECK(std::vector<int32_t>(found.begin(), found.begin() + 3) == std::vector<int32_t>{-1, 1, 0});
    else
      CHECK(found == std::vector<int32_t>{code == kSum ? 1 : 0});
    if (divides) continue;
    values.assign(kCount, 0);
    values[5] = 1 - 2 * kCount;
    CHECK(run_file<int32_t>(bytes, values) == std::vector<int32_t>{code == kSum ? 1 - 2 * kCount : -1});
  }
}

}  // namespace intaglio::test::import_tflite_integers_test
