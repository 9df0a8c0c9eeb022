// Probes: few pictures are also looked at mirrored and with their pixels in another order, so that what the
// network could hold of other pictures has room.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "calibrator/ranges/observed_range.h"
#include "calibrator/ranges/ranges.h"
#include "intaglio/calibrator.h"
#include "tests/support/float_samples.h"
#include "tests/support/model_builder.h"
#include "tests/support/threads.h"

namespace intaglio::test::probes_test {
namespace {

constexpr int32_t kSide = 12;

// A convolution with one channel and ReLU, without padding: map [1, 13 - kernel, 13 - kernel, 1].
struct Detector {
  int32_t kernel;
  std::vector<float> weights;  // [kernel, kernel]

  // It looks at one of `channels` channels.
  AlignedBytes file(bool takes_pictures = true, int32_t channels = 1, int32_t channel = 0) const {
    ModelBuilder net;
    std::vector<float> all(weights.size() * static_cast<size_t>(channels));
    for (size_t i = 0; i < weights.size(); ++i)
      all[i * static_cast<size_t>(channels) + static_cast<size_t>(channel)] = weights[i];
    const int32_t image = net.tensor("image", DType::kF32, {1, kSide, kSide, channels});
    const int32_t map = net.tensor("map", DType::kF32, {1, kSide + 1 - kernel, kSide + 1 - kernel, 1});
    net.input(image);
    GraphNode& node = net.node(Op::kConv2d,
                               {image, net.constant("w", DType::kF32, {1, kernel, kernel, channels}, all),
                                net.constant("b", DType::kF32, {1}, std::vector<float>{1.0f})},
                               {map});
    node.options.as<Window2d>().kernel_h = node.options.as<Window2d>().kernel_w = kernel;
    node.options.as<Clamp>().min = 0.0f;
    net.output(map);
    ImageInput gray;
    gray.color = channels == 1 ? ColorOrder::kGray : ColorOrder::kRgb;
    gray.channels = channels;
    for (int32_t c = 0; c < channels; ++c) gray.norm[c] = 1.0f;
    if (takes_pictures) net.graph().images.push(net.arena(), gray);
    return net.finish();
  }

  double reach(const std::vector<float>& picture) const {
    double most = 0.0;
    for (int32_t y = 0; y + kernel <= kSide; ++y)
      for (int32_t x = 0; x + kernel <= kSide; ++x) {
        double sum = 1.0;
        for (int32_t ky = 0; ky < kernel; ++ky)
          for (int32_t kx = 0; kx < kernel; ++kx)
            sum += static_cast<double>(weights[static_cast<size_t>(ky * kernel + kx)]) *
                   static_cast<double>(picture[static_cast<size_t>((y + ky) * kSide + x + kx)]);
        most = std::max(most, sum);
      }
    return most;
  }
  double reach(const Samples& pictures) const {
    double most = 0.0;
    for (const auto& picture : pictures) most = std::max(most, reach(picture));
    return most;
  }
};

// A picture that is brighter on the left than on the right, over nearly all of the picture.
Detector bright_left() {
  Detector detector{kSide - 1, {}};
  for (int32_t i = 0; i < detector.kernel * detector.kernel; ++i)
    detector.weights.push_back(0.01f * static_cast<float>(5 - i % detector.kernel));
  return detector;
}

// Points, not ramps.
Detector points() {
  return {3, {-0.125f, -0.125f, -0.125f, -0.125f, 1.0f, -0.125f, -0.125f, -0.125f, -0.125f}};
}

// Ramps that rise to the right.
Samples ramps(size_t count) {
  Samples samples;
  for (size_t i = 0; i < count; ++i) {
    samples.emplace_back();
    for (int32_t at = 0; at < kSide * kSide; ++at)
      samples.back().push_back(static_cast<float>(at % kSide * 20) + static_cast<float>(i));
  }
  return samples;
}

Samples mirrored(Samples pictures) {
  for (auto& picture : pictures)
    for (int32_t y = 0; y < kSide; ++y)
      std::reverse(picture.begin() + y * kSide, picture.begin() + (y + 1) * kSide);
  return pictures;
}

Samples shuffled(Samples pictures) {
  for (auto& picture : pictures) {
    uint32_t random = 12345;
    for (size_t last = picture.size() - 1; last > 0; --last) {
      random = random * 1664525u + 1013904223u;
      std::swap(picture[last], picture[static_cast<size_t>((uint64_t{random} * (last + 1)) >> 32)]);
    }
  }
  return pictures;
}

struct Bench {
  explicit Bench(const AlignedBytes& file, const CalibratorOptions& options = {})
      : model(*Model::open(file.view())), memory(Calibrator::measure(model, options)->total()) {
    const Result<Calibrator> made = Calibrator::create(model, memory.span(), options);
    REQUIRE_MESSAGE(static_cast<bool>(made), text_of(made.error()));
    calibrator = *made;
  }
  void add(const Samples& samples) {
    for (const auto& sample : samples) {
      const Span<const uint8_t> input = bytes_of(sample);
      REQUIRE(calibrator.add({&input, 1}).ok());
    }
  }
  std::vector<uint8_t> state() const {
    std::vector<uint8_t> bytes(calibrator.state_bytes());
    REQUIRE(calibrator.save({bytes.data(), bytes.size()}).ok());
    return bytes;
  }
  // The largest value that the map has a code for.
  double end_of_map() {
    REQUIRE(calibrator.finish({}).ok());
    const Model int8 = *Model::open(calibrator.report().bytes);
    const TensorInfo map = int8.tensor(int8.outputs()[0]);
    return static_cast<double>(map.quantization.scales[0]) * (127 - map.quantization.zero_point);
  }

  Model model;
  AlignedBytes memory;
  Calibrator calibrator;
};

double end_with(const AlignedBytes& file, const Samples& samples, const CalibratorOptions& options = {}) {
  Bench bench(file, options);
  bench.add(samples);
  return bench.end_of_map();
}

}  // namespace

TEST_CASE("few pictures: room for what they would show mirrored") {
  const Detector detector = bright_left();
  for (const size_t count : {1u, 4u, 7u}) {
    const Samples samples = ramps(count);
    const double reached = detector.reach(mirrored(samples));
    REQUIRE(reached > 10 * detector.reach(samples));
    REQUIRE(reached > detector.reach(shuffled(samples)));
    CHECK(end_with(detector.file(), samples) == doctest::Approx(1.3 * reached).epsilon(1e-5));
  }
}

TEST_CASE("few pictures: room for what they would show with their pixels in another order") {
  const Detector detector = points();
  const Samples samples = ramps(3);
  const double reached = detector.reach(shuffled(samples));
  REQUIRE(reached > 10 * detector.reach(samples));
  REQUIRE(reached > 10 * detector.reach(mirrored(samples)));
  CHECK(end_with(detector.file(), samples) == doctest::Approx(1.3 * reached).epsilon(1e-5));
}

TEST_CASE("few pictures: pixels move with all their channels") {
  for (const Detector& detector : {bright_left(), points()})
    for (const int32_t channel : {0, 1, 2}) {
      CAPTURE(channel);
      const Samples samples = ramps(2);
      Samples colour;
      for (const auto& sample : samples) {
        colour.emplace_back();
        for (const float v : sample)
          for (const int32_t c : {0, 1, 2})
            colour.back().push_back(c == channel ? v : static_cast<float>(90 * c + 7));
      }
      const double reached = std::max(detector.reach(mirrored(samples)), detector.reach(shuffled(samples)));
      CHECK(end_with(detector.file(true, 3, channel), colour) ==
            doctest::Approx(1.3 * reached).epsilon(1e-5));
    }
}

TEST_CASE("no probes of many pictures, of arrays, or for another method") {
  const Detector detector = bright_left();
  const double most = 0.1 * detector.reach(mirrored(ramps(65)));
  CHECK(end_with(detector.file(), ramps(65)) < most);
  CHECK(end_with(detector.file(false), ramps(4)) < most);
  CalibratorOptions options;
  options.method = RangeMethod::kMinMax;
  CHECK(end_with(detector.file(), ramps(4), options) < most);
}

TEST_CASE("pictures in another unit than the model's pixels are probed, too") {
  const Detector detector = bright_left();
  Samples samples = ramps(4);
  for (auto& sample : samples)
    for (float& x : sample) x /= 255.0f;
  const double reached = detector.reach(mirrored(samples));
  REQUIRE(reached > 1.5 * detector.reach(samples));
  CHECK(end_with(detector.file(), samples) == doctest::Approx(1.3 * reached).epsilon(1e-5));
}

TEST_CASE("a cap stays the end of its range") {
  TensorObserver observer;
  observer.probe_min = -4.0f;
  observer.probe_max = 5.0f;
  const double infinity = std::numeric_limits<double>::infinity();
  const Range free = with_probes({-1.0, 8.0}, observer, {-infinity, infinity});
  CHECK(free.lo == doctest::Approx(-5.2));
  CHECK(free.hi == 8.0);
  const Range capped = with_probes({0.0, 3.0}, observer, {0.0, 6.0});
  CHECK(capped.lo == 0.0);
  CHECK(capped.hi == 6.0);

  observer.samples[0] = observer.samples[1] = 8;  // half of the way
  const Range of_many = with_probes({-1.3, 0.0}, observer, {-infinity, infinity});
  CHECK(of_many.lo == doctest::Approx(-2.6));
  CHECK(of_many.hi == doctest::Approx(3.25));
}

TEST_CASE("what is kept of probes depends on the set of samples alone") {
  const AlignedBytes file = bright_left().file();
  for (const size_t count : {5u, 16u, 17u, 20u}) {
    CAPTURE(count);
    Samples samples = ramps(count);
    Bench forwards(file);
    forwards.add(samples);
    const std::vector<uint8_t> state = forwards.state();

    for (const int32_t threads : {1, 3}) {
      CalibratorOptions options;
      if (threads > 1) options.executor = thread_executor(threads);
      Bench all(file, options);
      REQUIRE(all.calibrator.add_all(source_of(samples)).ok());
      CHECK(all.state() == state);
    }
    Bench first(file), both(file);
    first.add({samples.begin(), samples.begin() + 3});
    both.add({samples.begin() + 3, samples.end()});
    const std::vector<uint8_t> part = first.state();
    REQUIRE(both.calibrator.merge({part.data(), part.size()}).ok());
    CHECK(both.state() == state);

    std::reverse(samples.begin(), samples.end());
    Bench backwards(file);
    backwards.add(samples);
    CHECK(backwards.state() == state);
  }
}

}  // namespace intaglio::test::probes_test
