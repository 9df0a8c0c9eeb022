// TFLite operators that take, turn and place elements, and those that are computed in FP32.
#include <algorithm>
#include <cmath>

#include "tests/support/imported.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_tflite_places_test {
namespace {

using tflite::Options;
using Reals = std::vector<float>;
using Ints = std::vector<int32_t>;

constexpr int32_t kLrn = 13, kAny = 91, kSquaredDifference = 99, kReverse = 105, kAddN = 106, kGatherNd = 107,
                  kRange = 96, kFill = 94, kZerosLike = 93, kScatterNd = 122, kAll = 140, kPRelu = 54;

// The operator with x as its first input, or at `place`, and constants around it.
struct Case {
  int32_t code;
  Ints x, y;
  size_t place = 0;
  Options kind = Options::NONE;
};

template <typename Constants>
Reals result(const Case& c, const Reals& values, Constants constants,
             flatbuffers::Offset<void> (*options)(TfliteBuilder&) = nullptr) {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, c.x), y = file.tensor("y", kTfliteFloat, c.y);
  std::vector<int32_t> inputs = constants(file);
  inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(c.place), x);
  file.op(c.code, inputs, {y}, c.kind, options == nullptr ? 0 : options(file));
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  return run_import<float>(import, values);
}

auto integers(const Ints& shape, const Ints& values) {
  return [=](TfliteBuilder& file) {
    return std::vector<int32_t>{file.constant("integers", kTfliteInt32, shape, values)};
  };
}

}  // namespace

TEST_CASE("REVERSE_V2, GATHER_ND and SCATTER_ND") {
  const Reals x{1, 2, 3, 4, 5, 6};
  CHECK(result({kReverse, {2, 3}, {2, 3}}, x, integers({1}, {1})) == Reals{3, 2, 1, 6, 5, 4});
  CHECK(result({kReverse, {2, 3}, {2, 3}}, x, integers({2}, {0, -1})) == Reals{6, 5, 4, 3, 2, 1});
  CHECK(result({kGatherNd, {2, 3}, {2}}, x, integers({2, 2}, {1, 0, 0, 2})) == Reals{4, 3});
  CHECK(result({kGatherNd, {2, 3}, {1, 3}}, x, integers({1, 1}, {1})) == Reals{4, 5, 6});
  const auto places = [](TfliteBuilder& file) {
    return Ints{file.constant("indices", kTfliteInt32, {3, 1}, Ints{2, 0, 2}),
                file.constant("shape", kTfliteInt32, {2}, Ints{4, 2})};
  };
  CHECK(result({kScatterNd, {3, 2}, {4, 2}, 1}, x, places) == Reals{3, 4, 0, 0, 6, 8, 0, 0});
}

TEST_CASE("codes among codes of 0, each place named once") {
  const auto file_of = [](const Ints& indices) {
    TfliteBuilder file;
    const TfliteScales scales{{0.5f}, 2};
    const int32_t x = file.tensor("x", kTfliteInt8, {2, 2}, scales),
                  y = file.tensor("y", kTfliteInt8, {3, 2}, scales);
    file.op(kScatterNd,
            {file.constant("indices", kTfliteInt32, {2, 1}, indices), x,
             file.constant("shape", kTfliteInt32, {2}, Ints{3, 2})},
            {y});
    return file.finish({x}, {y});
  };
  Import import(file_of({2, 0}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<int8_t>(import, std::vector<int8_t>{1, 2, 3, 4}) == std::vector<int8_t>{3, 4, 0, 0, 1, 2});
  CHECK(Import(file_of({2, 2})).says("name a place twice, which codes do not allow"));
}

TEST_CASE("GATHER_ND by indices that a run computes") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {2, 3}), at = file.tensor("at", kTfliteInt32, {3, 2}),
                y = file.tensor("y", kTfliteFloat, {3});
  file.op(kGatherNd, {x, at}, {y});
  Import import(file.finish({x, at}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
  const Reals values{1, 2, 3, 4, 5, 6};
  const Ints indices{1, 2, 0, 1, 1, 0};
  std::copy(values.begin(), values.end(), model.session().input(0).as<float>().data);
  std::copy(indices.begin(), indices.end(), model.session().input(1).as<int32_t>().data);
  model.session().run();
  const auto found = model.session().output().as<float>();
  CHECK(Reals(found.begin(), found.end()) == Reals{6, 2, 4});
}

TEST_CASE("sums of many, truth values along axes, slopes of any shape, responses of channels") {
  const auto one = [](TfliteBuilder& file) {
    return Ints{file.constant("c", kTfliteFloat, {2, 2}, Reals{1, 2, 3, 4})};
  };
  CHECK(result({kAddN, {2, 2}, {2, 2}}, {10, 20, 30, 40}, one) == Reals{11, 22, 33, 44});
  CHECK(result({kSquaredDifference, {1, 2}, {2, 2}}, {2, 4}, one) == Reals{1, 4, 1, 0});
  CHECK(result({kPRelu, {1, 2, 2}, {1, 2, 2}}, {-2, 4, -6, -8}, one) == Reals{-2, 4, -18, -32});
  const auto reducer = [](TfliteBuilder& file) {
    return tflite::CreateReducerOptions(file.fbb(), false).Union();
  };
  const Reals truth{0, 1, 0, 0, 1, 1};
  CHECK(result({kAny, {3, 2}, {3}, 0, Options::ReducerOptions}, truth, integers({1}, {1}), reducer) ==
        Reals{1, 0, 1});
  CHECK(result({kAll, {3, 2}, {3}, 0, Options::ReducerOptions}, truth, integers({1}, {1}), reducer) ==
        Reals{0, 0, 1});
  const auto response = [](TfliteBuilder& file) {
    return tflite::CreateLocalResponseNormalizationOptions(file.fbb(), 1, 1.0f, 0.5f, 0.75f).Union();
  };
  const Reals y = result(
      {kLrn, {1, 1, 1, 3}, {1, 1, 1, 3}, 0, Options::LocalResponseNormalizationOptions}, {1, 2, 3},
      [](TfliteBuilder&) { return Ints{}; }, response);
  const double sums[] = {5, 14, 13};
  for (size_t i = 0; i < 3; ++i)
    CHECK(double{y[i]} ==
          doctest::Approx(static_cast<double>(i + 1) / std::pow(1 + 0.5 * sums[i], 0.75)).epsilon(1e-6));
}

TEST_CASE("magnitudes of a Fourier transform, of rows that are shorter or longer") {
  for (const int32_t own : {6, 8, 11}) {
    TfliteBuilder file;
    constexpr int32_t kRfft = 131, kComplexAbs = 135, kLength = 8, kBins = 5;
    constexpr int8_t kComplex = 8;
    const int32_t x = file.tensor("x", kTfliteFloat, {2, 1, own}),
                  c = file.tensor("c", kComplex, {2, 1, kBins}), d = file.tensor("d", kComplex, {2, kBins}),
                  y = file.tensor("y", kTfliteFloat, {2, kBins});
    file.op(kRfft, {x, file.constant("length", kTfliteInt32, {2}, Ints{1, kLength})}, {c});
    file.op(kTfliteReshape, {c}, {d});
    file.op(kComplexAbs, {d}, {y});
    Random random(7);
    const Reals values = random.reals(static_cast<size_t>(2 * own), -1.0f, 1.0f);
    const std::string bytes = file.finish({x}, {y});
    Import import(bytes);
    REQUIRE_MESSAGE(import.good(), import.message());
    const Reals found = run_import<float>(import, values);
    for (int32_t row = 0; row < 2; ++row)
      for (int32_t bin = 0; bin < kBins; ++bin) {
        double re = 0, im = 0;
        for (int32_t i = 0; i < std::min(own, kLength); ++i) {
          const double v = double{values[static_cast<size_t>(row * own + i)]};
          const double angle = 2 * std::acos(-1.0) * bin * i / kLength;
          re += v * std::cos(angle);
          im -= v * std::sin(angle);
        }
        CHECK(std::fabs(double{found[static_cast<size_t>(row * kBins + bin)]} - std::hypot(re, im)) < 1e-5);
      }
  }
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 8}), c = file.tensor("c", 8, {1, 5}),
                y = file.tensor("y", 8, {1, 5});
  file.op(131, {x, file.constant("length", kTfliteInt32, {2}, Ints{1, 8})}, {c});
  file.op(kTfliteRelu, {c}, {y});
  CHECK(Import(file.finish({x}, {y}))
            .says("it takes complex numbers, which RESHAPE and COMPLEX_ABS alone do here"));
}

TEST_CASE("constants made of shapes and numbers") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {2, 3}),
                zeros = file.tensor("zeros", kTfliteFloat, {2, 3}),
                filled = file.tensor("filled", kTfliteFloat, {2, 3}),
                range = file.tensor("range", kTfliteFloat, {3}), a = file.tensor("a", kTfliteFloat, {2, 3}),
                b = file.tensor("b", kTfliteFloat, {2, 3}), y = file.tensor("y", kTfliteFloat, {2, 3});
  const auto add = [&](int32_t p, int32_t q, int32_t to) {
    file.op(kTfliteAdd, {p, q}, {to}, Options::AddOptions, tflite::CreateAddOptions(file.fbb()).Union());
  };
  const auto number = [&](const char* name, float value) {
    return file.constant(name, kTfliteFloat, {}, Reals{value});
  };
  file.op(kZerosLike, {x}, {zeros});
  file.op(kFill, {file.constant("dims", kTfliteInt32, {2}, Ints{2, 3}), number("value", 5)}, {filled});
  file.op(kRange, {number("first", 1), number("end", 7), number("step", 2)}, {range});
  add(x, zeros, a);
  add(a, filled, b);
  add(b, range, y);
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, Reals{0, 10, 20, 30, 40, 50}) == Reals{6, 18, 30, 36, 48, 60});
}

TEST_CASE("BROADCAST_ARGS: the shape that two shapes have together") {
  const auto file_of = [](const Ints& first, const Ints& second) {
    TfliteBuilder file;
    constexpr int32_t kBroadcastTo = 130, kBroadcastArgs = 145;
    const auto list = [&](const char* name, const Ints& values) {
      return file.constant(name, kTfliteInt32, {static_cast<int32_t>(values.size())}, values);
    };
    const int32_t x = file.tensor("x", kTfliteFloat, {2, 1}), shape = file.tensor("shape", kTfliteInt32, {2}),
                  y = file.tensor("y", kTfliteFloat, {2, 3});
    file.op(kBroadcastArgs, {list("a", first), list("b", second)}, {shape});
    file.op(kBroadcastTo, {x, shape}, {y});
    return file.finish({x}, {y});
  };
  Import import(file_of({2, 1}, {3}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, Reals{1, 2}) == Reals{1, 1, 1, 2, 2, 2});
  CHECK(Import(file_of({2, 2}, {3}))
            .says("its inputs have the shapes [2, 2] and [3], which do not fit each other"));
}

TEST_CASE("a detector's decoder is left to the program, and a note says so") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 4}),
                boxes = file.tensor("boxes", kTfliteFloat, {1, 4}),
                scores = file.tensor("scores", kTfliteFloat, {1, 4}),
                found = file.tensor("found", kTfliteFloat, {1});
  const int32_t anchors = file.constant("anchors", kTfliteFloat, {1, 4}, Reals{1, 2, 3, 4});
  file.op(kTfliteRelu, {x}, {boxes});
  file.op(kTfliteSoftmax, {boxes}, {scores}, Options::SoftmaxOptions,
          tflite::CreateSoftmaxOptions(file.fbb(), 1.0f).Union());
  file.custom("TFLite_Detection_PostProcess", {boxes, scores, anchors}, {found});
  Import import(file.finish({x}, {found}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.graph().outputs.size() == 2);
  CHECK(std::string(import.output(0).name) == "boxes");
  CHECK(import.outcome->report.notes ==
        std::vector<std::string>{
            "the network ends before 'found' (custom operator "
            "'TFLite_Detection_PostProcess'), which belongs to the program: its outputs are "
            "'boxes', 'scores'; the program decodes them with the file's 'anchors'"});
}

TEST_CASE("DYNAMIC_UPDATE_SLICE puts a slice at its place, moved so far that it fits") {
  constexpr int32_t kUpdate = 151;
  const Reals x{1, 2, 3, 4, 5, 6};
  const auto update = [](const Ints& shape, const Reals& values, const Ints& start) {
    return [=](TfliteBuilder& file) {
      return Ints{file.constant("part", kTfliteFloat, shape, values),
                  file.constant("start", kTfliteInt32, {2}, start)};
    };
  };
  CHECK(result({kUpdate, {2, 3}, {2, 3}}, x, update({1, 3}, {7, 8, 9}, {1, 0})) == Reals{1, 2, 3, 7, 8, 9});
  CHECK(result({kUpdate, {2, 3}, {2, 3}}, x, update({2, 1}, {7, 8}, {0, 1})) == Reals{1, 7, 3, 4, 8, 6});
  CHECK(result({kUpdate, {2, 3}, {2, 3}}, x, update({1, 2}, {7, 8}, {5, 2})) == Reals{1, 2, 3, 4, 7, 8});
  CHECK(result({kUpdate, {2, 3}, {2, 3}}, x, update({2, 3}, {7, 8, 9, 1, 2, 3}, {-4, 9})) ==
        Reals{7, 8, 9, 1, 2, 3});

  // The start is an input of the network; then an update that a run cannot place.
  for (const bool is_long : {false, true}) {
    TfliteBuilder file;
    const Ints part{is_long ? 2 : 1, 2};
    const int32_t start = file.tensor("start", kTfliteInt32, {2}), y = file.tensor("y", kTfliteFloat, {3, 2});
    const int32_t whole = file.constant("whole", kTfliteFloat, {3, 2}, x);
    file.op(kUpdate, {whole, file.constant("part", kTfliteFloat, part, Reals(is_long ? 4 : 2, 9)), start},
            {y});
    Import import(file.finish({start}, {y}));
    if (is_long) {
      CHECK(import.says("its start is computed by a run, and its update [2, 2] is not one index of [3, 2]"));
      continue;
    }
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(run_import<float>(import, Ints{1, 0}) == Reals{1, 2, 9, 9, 5, 6});
    CHECK(run_import<float>(import, Ints{7, 0}) == Reals{1, 2, 3, 4, 9, 9});
    CHECK(run_import<float>(import, Ints{-2, 0}) == Reals{9, 9, 3, 4, 5, 6});
  }
}

TEST_CASE("rows of a segment are added, multiplied, or the greatest or the least is taken") {
  constexpr int32_t kSegments = 125, kProducts = 153, kGreatest = 154, kSums = 155, kLeast = 157;
  const Reals x{1, 2, 3, 4, 5, 6};
  CHECK(result({kSegments, {3, 2}, {2, 2}}, x, integers({3}, {0, 0, 1})) == Reals{4, 6, 5, 6});
  const auto unsorted = [](TfliteBuilder& file) {
    return Ints{file.constant("segments", kTfliteInt32, {3}, Ints{2, 0, 2}),
                file.constant("count", kTfliteInt32, {}, Ints{3})};
  };
  CHECK(result({kSums, {3, 2}, {3, 2}}, x, unsorted) == Reals{3, 4, 0, 0, 6, 8});
  CHECK(result({kProducts, {3, 2}, {3, 2}}, x, unsorted) == Reals{3, 4, 1, 1, 5, 12});
  const auto both = [](TfliteBuilder& file) {
    return Ints{file.constant("segments", kTfliteInt32, {3}, Ints{1, 0, 1}),
                file.constant("count", kTfliteInt32, {}, Ints{2})};
  };
  CHECK(result({kGreatest, {3, 2}, {2, 2}}, x, both) == Reals{3, 4, 5, 6});
  CHECK(result({kLeast, {3, 2}, {2, 2}}, x, both) == Reals{3, 4, 1, 2});
  TfliteBuilder file;
  const int32_t rows = file.tensor("x", kTfliteFloat, {3, 2}), y = file.tensor("y", kTfliteFloat, {3, 2});
  file.op(kSums,
          {rows, file.constant("segments", kTfliteInt32, {3}, Ints{2, 0, 3}),
           file.constant("count", kTfliteInt32, {}, Ints{3})},
          {y});
  CHECK(Import(file.finish({rows}, {y})).says("its segments are not all within 0 to 2"));
  TfliteBuilder empty;
  const int32_t all = empty.tensor("x", kTfliteFloat, {3, 2}), most = empty.tensor("y", kTfliteFloat, {3, 2});
  const std::vector<int32_t> inputs{all, unsorted(empty)[0], empty.constant("n", kTfliteInt32, {}, Ints{3})};
  empty.op(kGreatest, inputs, {most});
  CHECK(Import(empty.finish({all}, {most})).says("segment 1 has no row"));
}

TEST_CASE(
    "a start that a run computes has a number for each axis; a segment has a number that an axis can have") {
  constexpr int32_t kUpdateSlice = 151, kSegmentSum = 125;
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {2, 3}), part = file.tensor("part", kTfliteFloat, {2, 1}),
                start = file.tensor("start", kTfliteInt32, {1}), y = file.tensor("y", kTfliteFloat, {2, 3});
  file.op(kUpdateSlice, {x, part, start}, {y});
  CHECK(Import(file.finish({x, part, start}, {y})).says("its start indices are [1] for [2, 3]"));
  TfliteBuilder segments;
  const int32_t rows = segments.tensor("rows", kTfliteFloat, {2, 1}),
                sums = segments.tensor("sums", kTfliteFloat, {2, 1});
  segments.op(kSegmentSum,
              {rows, segments.constant("ids", kTfliteInt64, {2}, std::vector<int64_t>{0, INT64_MAX})},
              {sums});
  CHECK(Import(segments.finish({rows}, {sums})).says("its segment 9223372036854775807 is too large"));
  // The shape is judged before there is room for so many numbers, which there is not beside another constant.
  TfliteBuilder many;
  const int32_t from = many.tensor("x", kTfliteFloat, {2, 1}),
                moved = many.tensor("moved", kTfliteFloat, {2, 1}),
                small = many.tensor("sums", kTfliteFloat, {2, 1});
  many.op(0, {from, many.constant("by", kTfliteFloat, {2, 1}, std::vector<float>{1, 2})}, {moved});
  many.op(kSegmentSum,
          {moved, many.constant("ids", kTfliteInt64, {2}, std::vector<int64_t>{0, (1 << 28) - 1})}, {small});
  CHECK(Import(many.finish({from}, {small}))
            .says("its output is [2, 1] in the file, its inputs give [268435456, 1]"));
}

TEST_CASE("a padding of minus infinity that no MAX_POOL_2D takes is a number, with a note") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 2}), y = file.tensor("y", kTfliteFloat, {1, 3});
  file.op(60,
          {x, file.constant("pads", kTfliteInt32, {2, 2}, Ints{0, 0, 0, 1}),
           file.constant("least", kTfliteFloat, {}, Reals{-INFINITY})},
          {y});
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, Reals{1, 2}) == Reals{1, 2, -0x1p100f});
  CHECK(import.notes("its padding of infinity is 1.3e30 here"));
}

TEST_CASE("PADV2 with minus infinity before a MAX_POOL_2D is the pool's own padding") {
  constexpr int32_t kPadV2 = 60;
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 2, 2, 1}),
                padded = file.tensor("padded", kTfliteFloat, {1, 4, 4, 1}),
                y = file.tensor("y", kTfliteFloat, {1, 2, 2, 1});
  file.op(kPadV2,
          {x, file.constant("pads", kTfliteInt32, {4, 2}, Ints{0, 0, 1, 1, 1, 1, 0, 0}),
           file.constant("least", kTfliteFloat, {}, Reals{-INFINITY})},
          {padded});
  file.op(kTfliteMaxPool, {padded}, {y}, Options::Pool2DOptions,
          tflite::CreatePool2DOptions(file.fbb(), tflite::Padding::Valid, 1, 1, 3, 3).Union());
  const std::string bytes = file.finish({x}, {y});
  Import import(bytes);
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.ops() == std::vector<Op>{Op::kMaxPool2d});
  CHECK(run_import<float>(import, Reals{-4, -3, -2, -7}) == Reals{-2, -2, -2, -2});
}

// Keras' Reshape((-1, 2)) of an open batch: 1 is recorded for what is open, and for what follows from it.
TEST_CASE("a Reshape takes all elements where the file records the shape of an open one") {
  for (const bool says_shape : {true, false}) {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteFloat, {1, 6}),
                  folded = says_shape ? file.open_tensor("folded", kTfliteFloat, {1, 1, 2}, {-1, -1, 2})
                                      : file.tensor("folded", kTfliteFloat, {}),
                  y = says_shape ? file.open_tensor("y", kTfliteFloat, {1, 1, 2}, {-1, -1, 2})
                                 : file.tensor("y", kTfliteFloat, {});
    file.op(kTfliteReshape, {x, file.constant("shape", kTfliteInt32, {3}, Ints{1, -1, 2})}, {folded});
    file.op(kTfliteRelu, {folded}, {y});
    Import import(file.finish({x}, {y}));
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.dims(import.output()) == std::vector<int32_t>{1, 3, 2});
    CHECK(run_import<float>(import, Reals{1, -2, 3, -4, 5, -6}) == Reals{1, 0, 3, 0, 5, 0});
  }
}

TEST_CASE("a size that the file leaves open is what the inputs give") {
  const auto file_of = [](const Ints& signature) {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteFloat, {3, 2}),
                  y = file.open_tensor("y", kTfliteFloat, {1, 2}, signature);
    file.op(125, {x, file.constant("segments", kTfliteInt32, {3}, Ints{0, 1, 1})}, {y});
    return file.finish({x}, {y});
  };
  CHECK(run_file(file_of({-1, 2}), {1, 2, 3, 4, 5, 6}) == Reals{1, 2, 8, 10});
  CHECK(Import(file_of({1, -1})).says("its output is [1, 2] in the file, its inputs give [2, 2]"));
  CHECK(Import(file_of({-1})).says("its output is [1, 2] in the file, its inputs give [2, 2]"));
  // Integers that follow from it, too.
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {3, 2}),
                sums = file.open_tensor("sums", kTfliteFloat, {1, 2}, {-1, 2}),
                whole = file.open_tensor("whole", kTfliteInt32, {1, 2}, {-1, 2}),
                y = file.open_tensor("y", kTfliteFloat, {1, 2}, {-1, 2});
  file.op(125, {x, file.constant("segments", kTfliteInt32, {3}, Ints{0, 1, 1})}, {sums});
  file.op(53, {sums}, {whole});
  file.op(53, {whole}, {y});
  CHECK(run_file(file.finish({x}, {y}), {1.5f, 2, 3, 4, 5, 6}) == Reals{1, 2, 8, 10});
}

}  // namespace intaglio::test::import_tflite_places_test
