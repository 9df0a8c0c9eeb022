// Inputs that come from codes of 8 bits keep them: the step is found whatever the order, nothing else passes
// for codes, and a calibrated model loses nothing of such an input.
#include "calibrator/observe/input_values.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "intaglio/calibrator.h"
#include "intaglio/describe.h"
#include "tests/support/float_samples.h"
#include "tests/support/small_models.h"

namespace intaglio::test::input_values_test {
namespace {

using Values = std::vector<float>;

InputValues of(const Values& values) {
  InputValues input;
  add_values(input, {values.data(), values.size()});
  return input;
}

// Codes first, first + by, ... below `end`, as reals.
Values codes(float step, int32_t first, int32_t end, int32_t by = 1) {
  Values values;
  for (int32_t i = first; i < end; i += by) values.push_back(step * static_cast<float>(i));
  return values;
}

}  // namespace

TEST_CASE("distinct values are a set: order and merging do not matter") {
  Values values = {3.0f, -1.5f, 0.0f, -0.0f, 3.0f, 7.25f, -1.5f};
  const InputValues all = of(values);
  REQUIRE(all.count == 4);
  CHECK(Values(all.values, all.values + 4) == Values{-1.5f, 0.0f, 3.0f, 7.25f});
  CHECK(!std::signbit(all.values[1]));
  std::reverse(values.begin(), values.end());
  const InputValues reversed = of(values);
  CHECK(std::memcmp(&all, &reversed, sizeof all) == 0);

  InputValues left = of({7.25f, 3.0f}), right = of({0.0f, -1.5f, 3.0f});
  merge(left, right);
  CHECK(std::memcmp(&all, &left, sizeof all) == 0);

  const InputValues most = of(codes(1.0f, 0, 256));
  CHECK(most.count == 256);
  InputValues many = of(codes(1.0f, 0, 300)), more = most;
  CHECK(many.count == 257);
  merge(more, of({-5.0f}));
  CHECK(std::memcmp(&many, &more, sizeof many) == 0);
  merge(many, most);
  CHECK(many.count == 257);
}

TEST_CASE("the step of codes is found, and nothing else passes for codes") {
  CHECK(code_step(of(codes(0.25f, -128, 128))) == doctest::Approx(0.25).epsilon(1e-7));
  CHECK(code_step(of(codes(0.584703f, -210, 41, 3))) == doctest::Approx(3 * 0.584703).epsilon(1e-6));
  Values sparse = codes(0.584703f, -211, -150, 7);
  for (const float x : codes(0.584703f, -20, 41)) sparse.push_back(x);
  CHECK(code_step(of(sparse)) == doctest::Approx(0.584703).epsilon(1e-6));

  CHECK(code_step(InputValues()) == 0.0);
  CHECK(code_step(of(codes(1.0f, 0, 15))) == 0.0);       // too few to tell
  CHECK(code_step(of(codes(1.0f, 0, 257))) == 0.0);      // too many
  CHECK(code_step(of(codes(1.0f, 0, 1024, 5))) != 1.0);  // fits 205 codes of 5
  Values wide = codes(1.0f, 0, 20);
  wide.push_back(300.0f);
  CHECK(code_step(of(wide)) == 0.0);
  Values off = codes(1.0f, 0, 40);
  off[17] += 0.1f;
  CHECK(code_step(of(off)) == 0.0);
  Values shifted = codes(1.0f, 0, 40);
  for (float& x : shifted) x += 0.5f;  // zero has no code
  CHECK(code_step(of(shifted)) == 0.0);
  Random random(4);
  Values reals(100);
  for (float& x : reals) x = random.real(-1.0f, 1.0f);
  CHECK(code_step(of(reals)) == 0.0);
}

TEST_CASE("a range of 256 codes holds what was seen, and spare codes go to both ends in proportion") {
  Range range;
  REQUIRE(range_of_codes(0.5, {-10.0, 30.0}, range));
  CHECK(range.hi - range.lo == 127.5);
  CHECK(range.lo == -32.0);  // 20 and a quarter of 175 spare codes
  REQUIRE(range_of_codes(0.5, {0.0, 30.0}, range));
  CHECK(range.lo == 0.0);
  REQUIRE(range_of_codes(0.5, {-100.0, 27.5}, range));
  CHECK(range.lo == -100.0);
  CHECK(!range_of_codes(0.5, {-100.0, 28.0}, range));
  CHECK(!range_of_codes(0.5, {0.0, 0.0}, range));
}

TEST_CASE(
    "an array of codes for an image input: each becomes a code again, and another calibration goes on") {
  const AlignedBytes bytes = small_cnn();
  const Result<Model> model = Model::open(bytes.view());
  REQUIRE(static_cast<bool>(model));
  Samples samples = small_cnn_samples(6);
  Random random(3);
  constexpr float kStep = 0.073f;
  for (auto& sample : samples)
    for (float& x : sample) x = kStep * static_cast<float>(random.between(-50, 110));

  const auto input_of = [&](const CalibratorOptions& options, size_t first, size_t split) {
    AlignedBytes memory(Calibrator::measure(*model, options)->total()), other(memory.size());
    Calibrator whole = *Calibrator::create(*model, memory.span(), options),
               part = *Calibrator::create(*model, other.span(), options);
    for (size_t i = 0; i < samples.size(); ++i) {
      const Span<const uint8_t> input[] = {bytes_of(samples[(first + i) % samples.size()])};
      REQUIRE((i < split ? whole : part).add(input).ok());
    }
    std::vector<uint8_t> state(part.state_bytes());
    REQUIRE(part.save({state.data(), state.size()}).ok());
    REQUIRE(whole.merge({state.data(), state.size()}).ok());
    const Error error = whole.finish({});
    REQUIRE_MESSAGE(error.ok(), text_of(error));
    const Result<Model> int8 = Model::open(whole.report().bytes);
    const TensorInfo info = int8->tensor(int8->inputs()[0]);
    return QuantParams{info.quantization.scales[0], info.quantization.zero_point};
  };
  const QuantParams params = input_of({}, 0, 6);
  CHECK(params.scale == doctest::Approx(kStep).epsilon(1e-5));
  for (const auto& sample : samples)
    for (const float x : sample) {
      const int32_t code = quantize_value(x, params);
      CHECK(std::fabs(params.scale * static_cast<float>(code - params.zero_point) - x) < 1e-4f);
    }
  const QuantParams merged = input_of({}, 2, 3);
  CHECK(merged.scale == params.scale);
  CHECK(merged.zero_point == params.zero_point);

  CalibratorOptions asked;
  asked.method = RangeMethod::kMinMax;
  CHECK(input_of(asked, 0, 6).scale != doctest::Approx(kStep).epsilon(1e-3));
}

namespace {

ImageInput imagenet() {
  ImageInput recipe;
  recipe.channels = 3;
  const float mean[] = {123.675f, 116.28f, 103.53f}, deviation[] = {58.395f, 57.12f, 57.375f};
  for (int32_t c = 0; c < 3; ++c) {
    recipe.mean[c] = mean[c];
    recipe.norm[c] = 1.0f / deviation[c];
  }
  return recipe;
}

Span<const float> span(const Values& values) { return {values.data(), values.size()}; }

// The int8 model of samples that are added one by one; the second half is merged as a state of its own.
AlignedBytes calibrated(const Model& model, const Samples& samples, const CalibratorOptions& options = {}) {
  AlignedBytes memory(Calibrator::measure(model, options)->total()), other(memory.size());
  Calibrator whole = *Calibrator::create(model, memory.span(), options),
             part = *Calibrator::create(model, other.span(), options);
  for (size_t i = 0; i < samples.size(); ++i) {
    const Span<const uint8_t> input[] = {bytes_of(samples[i])};
    REQUIRE((2 * i < samples.size() ? whole : part).add(input).ok());
  }
  std::vector<uint8_t> state(part.state_bytes());
  REQUIRE(part.save({state.data(), state.size()}).ok());
  REQUIRE(whole.merge({state.data(), state.size()}).ok());
  const Error error = whole.finish({});
  REQUIRE_MESSAGE(error.ok(), text_of(error));
  return AlignedBytes(whole.report().bytes);
}

QuantParams input_params(const AlignedBytes& bytes) {
  const Result<Model> model = Model::open(bytes.view());
  REQUIRE(static_cast<bool>(model));
  const Quantization& quantization = model->tensor(model->inputs()[0]).quantization;
  return {quantization.scales[0], quantization.zero_point};
}

// Signal over noise in dB of the int8 model's answers.
double sqnr(const AlignedBytes& fp32, const AlignedBytes& int8, const Samples& samples) {
  RunningModel exact(AlignedBytes(fp32.view())), test(AlignedBytes(int8.view()));
  REQUIRE(exact.error().ok());
  REQUIRE(test.error().ok());
  const QuantParams params = input_params(int8);
  double signal = 0.0, noise = 0.0;
  for (const auto& sample : samples) {
    std::vector<int8_t> codes;
    for (const float x : sample) codes.push_back(static_cast<int8_t>(quantize_value(x, params)));
    const auto wanted = exact.run<float>(sample), got = test.run<float>(codes);
    for (size_t i = 0; i < wanted.size(); ++i) {
      const double off = static_cast<double>(wanted[i]) - static_cast<double>(got[i]);
      signal += static_cast<double>(wanted[i]) * static_cast<double>(wanted[i]);
      noise += off * off;
    }
  }
  return 10 * std::log10(signal / noise);
}

Samples scaled(Samples samples, float factor) {
  for (auto& sample : samples)
    for (float& x : sample) x *= factor;
  return samples;
}

}  // namespace

TEST_CASE("pixels by a recipe: every value of every channel, as any program computes it, and nothing else") {
  const ImageInput recipe = imagenet();
  Values exact, other;
  for (int32_t pixel = 0; pixel < 256; ++pixel)
    for (int32_t c = 0; c < 3; ++c) {
      exact.push_back((static_cast<float>(pixel) - recipe.mean[c]) * recipe.norm[c]);
      const double deviation = 1.0 / (255.0 * static_cast<double>(recipe.norm[c]));
      other.push_back(
          static_cast<float>((pixel / 255.0 - static_cast<double>(recipe.mean[c]) / 255.0) / deviation));
    }
  CHECK(are_pixels(recipe, span(exact)));
  CHECK(are_pixels(recipe, span(other)));
  CHECK(are_pixels(recipe, {}));
  for (const float step : {-1.0f, -0.5f, 0.1f, 0.5f}) {  // of the first channel's last pixel, then black
    Values off = exact;
    off[255 * 3] += step * recipe.norm[0];
    CHECK(are_pixels(recipe, span(off)) == (step == -1.0f));
    off = exact;
    off[0] += step * recipe.norm[0];
    CHECK(!are_pixels(recipe, span(off)));
  }
  Values swapped = exact;  // channels in another order
  for (size_t i = 0; i < swapped.size(); i += 3) std::swap(swapped[i], swapped[i + 2]);
  CHECK(!are_pixels(recipe, span(swapped)));
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(), 3e38f}) {
    Values broken = exact;
    broken[7] = bad;
    CHECK(!are_pixels(recipe, span(broken)));
  }
}

TEST_CASE("arrays of 0 to 1 on a model for pixels up to 255: as good as with the right recipe") {
  const AlignedBytes plain = small_cnn(), right = small_cnn(1, 1.0f / 255);
  const Model takes_pixels = *Model::open(plain.view()), takes_units = *Model::open(right.view());
  const Samples units = scaled(small_cnn_samples(12), 1.0f / 255),
                unseen = scaled(small_cnn_samples(40, 99), 1.0f / 255);
  for (const size_t count : {1u, 4u, 12u}) {
    CAPTURE(count);
    const Samples seen(units.begin(), units.begin() + static_cast<std::ptrdiff_t>(count));
    const AlignedBytes wrong_unit = calibrated(takes_pixels, seen), recipe = calibrated(takes_units, seen);
    CHECK(input_params(recipe).scale == doctest::Approx(1.0 / 255).epsilon(1e-6));
    CHECK(input_params(wrong_unit).scale == doctest::Approx(1.0 / 255).epsilon(1e-3));
    CHECK(input_params(wrong_unit).zero_point == -128);
    const double with_recipe = sqnr(right, recipe, unseen), without = sqnr(plain, wrong_unit, unseen);
    CHECK(with_recipe > 25.0);
    CHECK(without > with_recipe - 0.5);
  }
}

TEST_CASE(
    "one value off the grid: the range is what was seen, whichever sample held it and whatever merged") {
  const AlignedBytes bytes = small_cnn();
  const Model model = *Model::open(bytes.view());
  CalibratorOptions minmax;
  minmax.method = RangeMethod::kMinMax;
  Samples samples = small_cnn_samples(6);
  for (const auto& options : {CalibratorOptions(), minmax}) {
    CHECK(input_params(calibrated(model, samples, options)).scale == 1.0f);
    CHECK(input_params(calibrated(model, samples, options)).zero_point == -128);
  }
  float largest = 0.0f;
  for (const auto& sample : samples)
    for (const float x : sample) largest = std::max(largest, x);
  REQUIRE(largest < 255.0f);
  for (const size_t at : {0u, 2u, 3u, 5u}) {
    Samples other = samples;
    other[at][17] = 100.5f;
    CHECK(input_params(calibrated(model, other, minmax)).scale ==
          doctest::Approx(largest / 255).epsilon(1e-6));
    const AlignedBytes whole = calibrated(model, other);
    std::reverse(other.begin(), other.end());
    const AlignedBytes reversed = calibrated(model, other);
    REQUIRE(whole.size() == reversed.size());
    CHECK(std::memcmp(whole.view().data, reversed.view().data, whole.size()) == 0);
  }
}

}  // namespace intaglio::test::input_values_test
