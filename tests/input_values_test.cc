// Inputs that come from codes of 8 bits keep them: the step is found whatever the order, nothing else passes
// for codes, and a calibrated model loses nothing of such an input.
#include "calibrator/input_values.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "intaglio/calibrator.h"
#include "intaglio/describe.h"
#include "tests/support/float_samples.h"
#include "tests/support/small_models.h"

using namespace intaglio;
using namespace intaglio::test;

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
