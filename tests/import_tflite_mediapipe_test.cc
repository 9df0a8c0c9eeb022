// MediaPipe's custom operators against plain loops of their definitions.
#include <flatbuffers/flexbuffers.h>

#include <cmath>

#include "tests/support/imported.h"
#include "tests/support/random.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_tflite_mediapipe_test {
namespace {

using Reals = std::vector<float>;

std::vector<uint8_t> pool_options(int32_t padding, int32_t filter_h, int32_t filter_w, int32_t stride_h,
                                  int32_t stride_w) {
  const int32_t params[] = {padding, stride_w, stride_h, filter_w, filter_h, 0};
  std::vector<uint8_t> bytes(sizeof params);
  std::memcpy(bytes.data(), params, sizeof params);
  return bytes;
}

// A pool and what turns it back, with options of its own.
std::string unpooled(const std::vector<uint8_t>& pool, const std::vector<uint8_t>& back,
                     const std::vector<int32_t>& half, const std::vector<int32_t>& whole,
                     bool gives_places = false) {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 4, 6, 1}), p = file.tensor("p", kTfliteFloat, half),
                i = file.tensor("i", kTfliteFloat, half), y = file.tensor("y", kTfliteFloat, whole);
  file.custom("MaxPoolingWithArgmax2D", {x}, {p, i}, pool);
  file.custom("MaxUnpooling2D", {p, i}, {y}, back);
  return file.finish({x}, {gives_places ? i : y});
}

TEST_CASE("a pool with places, and numbers put back to them") {
  const std::vector<uint8_t> windows = pool_options(2, 2, 3, 2, 3);
  Import import(unpooled(windows, windows, {1, 2, 2, 1}, {1, 4, 6, 1}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.ops() == std::vector<Op>{Op::kMaxPool2d, Op::kMaxUnpool2d});
  RunningModel model(import.write());
  CHECK(
      model.run<float>(Reals{1, 2, 3, 9, 0, 0, 4, 8, 5, 9, 1, 2, -1, -2, -3, 0, 0, 0, -4, -5, -6, 0, 0, 7}) ==
      Reals{0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7});
  // SAME of windows that fill the picture is the same.
  CHECK(Import(unpooled(pool_options(1, 2, 3, 2, 3), windows, {1, 2, 2, 1}, {1, 4, 6, 1})).good());
}

TEST_CASE("pools and places that do not fit are refused") {
  const std::vector<uint8_t> windows = pool_options(2, 2, 3, 2, 3), overlapping = pool_options(2, 2, 3, 1, 3);
  const auto says = [](const std::string& bytes, const std::string& words) {
    const Import import(bytes);
    CAPTURE(import.message());
    CHECK(import.says(words));
  };
  says(unpooled(overlapping, windows, {1, 3, 2, 1}, {1, 6, 6, 1}), "whose windows touch and do not overlap");
  says(unpooled(windows, pool_options(2, 3, 3, 3, 3), {1, 2, 2, 1}, {1, 6, 6, 1}),
       "its windows of 3 x 3 in [1, 2, 2, 1] do not fill [1, 4, 6, 1]");
  says(unpooled(pool_options(3, 2, 3, 2, 3), windows, {1, 2, 2, 1}, {1, 4, 6, 1}),
       "its padding 3 is not known");
  says(unpooled({1, 0, 0, 0}, windows, {1, 2, 2, 1}, {1, 4, 6, 1}), "its options are missing");
  says(unpooled(windows, {}, {1, 2, 2, 1}, {1, 4, 6, 1}), "its options are missing");
  says(unpooled(pool_options(2, 0, 3, 2, 3), windows, {1, 2, 2, 1}, {1, 4, 6, 1}), "(custom operator");
  CHECK(!Import(unpooled(windows, windows, {1, 2, 2, 1}, {1, 4, 6, 1}, true)).good());
}

constexpr int32_t kLandmarks = 9;

struct Box {
  std::vector<int> subset{1, 4, 2, 7, 8};
  int left = 3, right = 6;
  double target = 0.0, width = 64.0, height = 48.0, scale_x = 1.5, scale_y = 1.25;

  std::vector<uint8_t> options() const {
    flexbuffers::Builder b;
    b.Map([&] {
      b.TypedVector("subset_idxs", [&] {
        for (const int index : subset) b.Int(index);
      });
      b.Int("left_rotation_idx", left);
      b.Int("right_rotation_idx", right);
      b.Double("target_rotation_radians", target);
      b.Int("output_width", static_cast<int64_t>(width));
      b.Int("output_height", static_cast<int64_t>(height));
      b.Double("scale_x", scale_x);
      b.Double("scale_y", scale_y);
    });
    b.Finish();
    return b.GetBuffer();
  }

  // shift(centre) * turn * scale * shift(-half the result), by angles.
  std::vector<double> matrix(const Reals& landmarks) const {
    const auto at = [&](int index, size_t axis) {
      return double{landmarks[static_cast<size_t>(index) * 3 + axis]};
    };
    const double angle = target - std::atan2(at(right, 1) - at(left, 1), at(right, 0) - at(left, 0));
    const double c = std::cos(angle), s = std::sin(angle);
    double low[2] = {1e9, 1e9}, high[2] = {-1e9, -1e9};
    for (const int index : subset) {
      const double turned[2] = {c * at(index, 0) - s * at(index, 1), s * at(index, 0) + c * at(index, 1)};
      for (size_t i = 0; i < 2; ++i) {
        low[i] = std::min(low[i], turned[i]);
        high[i] = std::max(high[i], turned[i]);
      }
    }
    const double x = (low[0] + high[0]) / 2, y = (low[1] + high[1]) / 2;
    const double sx = scale_x * (high[0] - low[0]) / width, sy = scale_y * (high[1] - low[1]) / height;
    return {c * sx,  s * sy, 0, c * x + s * y - (c * sx * width + s * sy * height) / 2,
            -s * sx, c * sy, 0, c * y - s * x - (-s * sx * width + c * sy * height) / 2,
            0,       0,      1, 0,
            0,       0,      0, 1};
  }
};

std::string matrix_file(const std::vector<uint8_t>& options) {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, kLandmarks, 3}),
                y = file.tensor("y", kTfliteFloat, {1, 4, 4});
  file.custom("Landmarks2TransformMatrix", {x}, {y}, options);
  return file.finish({x}, {y});
}

TEST_CASE("the matrix of a box around landmarks") {
  Random random(1);
  for (int32_t trial = 0; trial < 8; ++trial) {
    Box box;
    box.target = trial % 2 == 0 ? 0.0 : 0.7;
    Import import(matrix_file(box.options()));
    REQUIRE_MESSAGE(import.good(), import.message());
    RunningModel model(import.write());
    const Reals landmarks = random.reals(kLandmarks * 3, 0.0f, 192.0f);
    const Reals found = model.run<float>(landmarks);
    const std::vector<double> wanted = box.matrix(landmarks);
    REQUIRE(found.size() == wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) CHECK(std::abs(double{found[i]} - wanted[i]) < 1e-3);
  }
}

TEST_CASE("options of a box that do not fit are refused") {
  const auto says = [](const Box& box, const std::string& words) {
    const Import import(matrix_file(box.options()));
    CAPTURE(import.message());
    CHECK(import.says(words));
  };
  Box box;
  box.subset = {1, kLandmarks};
  says(box, "its landmark 9 does not exist; there are 9");
  box.subset = {-1};
  says(box, "its landmark -1 does not exist");
  box.subset.clear();
  says(box, "it takes 0 landmarks");
  box = {};
  box.left = 1000;
  says(box, "its landmark 1000 does not exist");
  box = {};
  box.width = 0;
  says(box, "its option 'output_width' is 0");
  box = {};
  box.scale_y = std::nan("");
  says(box, "its option 'scale_y' is nan");
  box = {};
  box.target = INFINITY;
  says(box, "its target_rotation_radians is not finite");
  std::vector<uint8_t> bytes = Box().options();
  bytes.back() = 77;  // no width of a root
  CHECK(Import(matrix_file(bytes)).says("its options are damaged, or missing"));
  CHECK(Import(matrix_file({})).says("its options are damaged, or missing"));
  CHECK(Import(matrix_file({5, 4, 1})).says("its options are no map"));
}

TEST_CASE("landmarks under a matrix") {
  for (const int32_t width : {2, 3}) {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteFloat, {1, 4, width}),
                  m = file.tensor("m", kTfliteFloat, {1, 4, 4}),
                  y = file.tensor("y", kTfliteFloat, {1, 4, width});
    file.custom("TransformLandmarks", {x, m}, {y});
    Import import(file.finish({x, m}, {y}));
    REQUIRE_MESSAGE(import.good(), import.message());
    RunningModel model(import.write());
    Random random(2);
    const Reals landmarks = random.reals(static_cast<size_t>(4 * width), -1, 1),
                matrix = random.reals(16, -2, 2);
    model.set_input(landmarks, 0);
    model.set_input(matrix, 1);
    model.session().run();
    const Reals found = model.output<float>();
    for (size_t i = 0; i < 4; ++i) {
      const size_t at = i * static_cast<size_t>(width);
      for (size_t row = 0; row < 2; ++row)
        CHECK(found[at + row] ==
              doctest::Approx(matrix[4 * row] * landmarks[at] + matrix[4 * row + 1] * landmarks[at + 1] +
                              matrix[4 * row + 3])
                  .epsilon(1e-5));
      if (width == 3) CHECK(found[at + 2] == landmarks[at + 2]);
    }
  }
}

std::vector<uint8_t> size_options(int64_t height, int64_t width) {
  flexbuffers::Builder b;
  b.Map([&] {
    b.Int("output_height", height);
    b.Int("output_width", width);
  });
  b.Finish();
  return b.GetBuffer();
}

std::string picture_file(const std::vector<uint8_t>& options) {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 6, 5, 2}),
                m = file.tensor("m", kTfliteFloat, {1, 4, 4}),
                y = file.tensor("y", kTfliteFloat, {1, 7, 9, 2});
  file.custom("TransformTensorBilinear", {x, m}, {y}, options);
  return file.finish({x, m}, {y});
}

TEST_CASE("a picture under a matrix: 0 outside") {
  Import import(picture_file(size_options(7, 9)));
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  Random random(3);
  int32_t inside = 0;
  for (int32_t trial = 0; trial < 8; ++trial) {
    const Reals x = random.reals(6 * 5 * 2, -1, 1);
    Reals m(16);
    for (const size_t i : {0, 5}) m[i] = static_cast<float>(random.between(3, 8)) / 10.0f;
    for (const size_t i : {1, 4}) m[i] = static_cast<float>(random.between(-3, 3)) / 10.0f;
    for (const size_t i : {3, 7}) m[i] = static_cast<float>(random.between(-10, 10)) / 7.0f;
    model.set_input(x, 0);
    model.set_input(m, 1);
    model.session().run();
    const Reals found = model.output<float>();
    REQUIRE(found.size() == 7 * 9 * 2);
    for (int32_t i = 0; i < 7 * 9; ++i) {
      const double px = i % 9 + 0.5, py = i / 9 + 0.5;
      const double u = double{m[0]} * px + double{m[1]} * py + double{m[3]} - 0.5,
                   v = double{m[4]} * px + double{m[5]} * py + double{m[7]} - 0.5;
      const double border = std::min({std::abs(u), std::abs(u - 4), std::abs(v), std::abs(v - 5)});
      if (border < 1e-4) continue;  // roundings decide there
      const bool is_inside = u > 0 && u < 4 && v > 0 && v < 5;
      inside += is_inside ? 1 : 0;
      for (size_t c = 0; c < 2; ++c) {
        double wanted = 0.0;
        for (int32_t tap = 0; tap < 4 && is_inside; ++tap) {
          const double column = std::floor(u) + tap % 2, row = std::floor(v) + tap / 2;
          const double share = (1 - std::abs(u - column)) * (1 - std::abs(v - row));
          wanted += share * double{x[(static_cast<size_t>(row) * 5 + static_cast<size_t>(column)) * 2 + c]};
        }
        CHECK(std::abs(double{found[static_cast<size_t>(i) * 2 + c]} - wanted) < 1e-5);
      }
    }
  }
  CHECK(inside > 50);
  CHECK(Import(picture_file(size_options(0, 9))).says("its option 'output_height' is 0"));
  CHECK(
      Import(picture_file(size_options(1 << 20, 1 << 20))).says("its result has more than 16777216 pixels"));
  CHECK(Import(picture_file(size_options(9, 9))).says("[1, 9, 9, 2]"));
}

}  // namespace
}  // namespace intaglio::test::import_tflite_mediapipe_test
