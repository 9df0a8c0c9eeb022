// calibrate --profile device: the bytes that a board gives by CalibratorOptions::device().
#include <doctest/doctest.h>

#include "calibrator/host/system/files.h"
#include "calibrator/host/system/npy.h"
#include "intaglio/calibrator.h"
#include "tests/support/run_cli.h"
#include "tests/support/small_models.h"

namespace intaglio::test::cli_device_profile_test {
namespace {

constexpr int32_t kSamples = 5;

struct Folder : CommandFolder {
  Folder() {
    REQUIRE(write_file_atomically(*this / "net.itg", model.view()));
    std::vector<float> all;
    for (const auto& sample : samples) all.insert(all.end(), sample.begin(), sample.end());
    const Shape shape = Model::open(model.view())->tensor(Model::open(model.view())->inputs()[0]).shape;
    REQUIRE(write_npy(*this / "x.npy", NpyType::kF32, {kSamples, shape[1], shape[2], shape[3]},
                      {reinterpret_cast<const uint8_t*>(all.data()), all.size() * sizeof(float)}));
  }
  std::vector<uint8_t> bytes(const std::string& name) const {
    const auto file = read_file(*this / name, 1 << 24);
    REQUIRE(file);
    return {file->data(), file->data() + file->size()};
  }

  AlignedBytes model = small_cnn();
  std::vector<std::vector<float>> samples = small_cnn_samples(kSamples);
};

// As a board does it: sample by sample, scalar kernels, in memory of exactly the bytes that it measured.
std::vector<uint8_t> on_a_board(const Folder& folder, CalibratorOptions options, bool from_last,
                                bool with_source) {
  options.isa = isa::kScalar;
  const Result<Model> model = Model::open(folder.model.view());
  AlignedBytes memory(Calibrator::measure(*model, options)->total());
  Result<Calibrator> calibrator = Calibrator::create(*model, memory.span(), options);
  REQUIRE(static_cast<bool>(calibrator));
  const auto input = [&](int32_t i) {
    const std::vector<float>& sample = folder.samples[static_cast<size_t>(i)];
    return Span<const uint8_t>{reinterpret_cast<const uint8_t*>(sample.data()),
                               sample.size() * sizeof(float)};
  };
  for (int32_t i = 0; i < kSamples; ++i) {
    const Span<const uint8_t> one = input(from_last ? kSamples - 1 - i : i);
    REQUIRE(calibrator->add({&one, 1}).ok());
  }
  struct Source {
    decltype(input)& sample;
    int32_t loads;
  } context{input, 0};
  const SampleSource source{[](void* given, int32_t i, Span<const Span<uint8_t>> inputs) {
                              Source& from = *static_cast<Source*>(given);
                              ++from.loads;
                              const Span<const uint8_t> sample = from.sample(i);
                              memcpy(inputs[0].data, sample.data, sample.size);
                              return true;
                            },
                            &context, kSamples};
  REQUIRE(calibrator->finish({}, with_source ? &source : nullptr).ok());
  if (options.one_pass) CHECK(context.loads == 0);
  const Span<const uint8_t> made = calibrator->report().bytes;
  return {made.begin(), made.end()};
}

}  // namespace

TEST_CASE("calibrate --profile device gives the bytes of a board") {
  const Folder folder;
  folder.good("calibrate %/net.itg --images %/x.npy -o %/device.itg --profile device");
  folder.good("calibrate %/net.itg --images %/x.npy -o %/host.itg --profile host");
  folder.good("calibrate %/net.itg --images %/x.npy -o %/default.itg");
  const std::vector<uint8_t> device = folder.bytes("device.itg");
  for (const bool from_last : {false, true})
    for (const bool with_source : {false, true})
      CHECK(on_a_board(folder, CalibratorOptions::device(), from_last, with_source) == device);
  CHECK(folder.bytes("host.itg") == folder.bytes("default.itg"));
  CHECK(on_a_board(folder, CalibratorOptions(), false, true) != device);
  // The options of the profile hold with others, and what they exclude is refused.
  folder.good("calibrate %/net.itg --images %/x.npy -o %/mse.itg --profile device --method mse --threads 2");
  CalibratorOptions mse = CalibratorOptions::device();
  mse.method = RangeMethod::kMse;
  CHECK(on_a_board(folder, mse, true, false) == folder.bytes("mse.itg"));
  for (const char* const words : {"device --recover all", "device --min-sqnr 20"}) {
    const Ran ran =
        folder.run(std::string("calibrate %/net.itg --images %/x.npy -o %/no.itg --profile ") + words);
    CHECK(ran.code == 2);
    CHECK(holds(ran.err, "a device does not run the samples again"));
  }
  CHECK(folder.run("calibrate %/net.itg --images %/x.npy -o %/no.itg --profile phone").code == 2);
}

TEST_CASE("what a device's calibration is worth is measured on the host") {
  const Folder folder;
  const auto json =
      folder.json("calibrate %/net.itg --images %/x.npy -o %/device.itg --profile device --json");
  CHECK(json["sqnr_db"].is_number());
  CHECK(json["calibration_sqnr_db"].get<double>() > 15.0);
  const auto other = folder.json("compare %/net.itg %/device.itg --images %/x.npy --json");
  CHECK(std::abs(other["sqnr_db"].get<double>() - json["calibration_sqnr_db"].get<double>()) < 0.01);
  CHECK(
      holds(folder.good("calibrate %/net.itg --images %/x.npy -o %/device.itg --profile device").out, "dB"));
  folder.good("calibrate %/net.itg --images %/x.npy -o %/device.itg --profile device --report %/page.html");
}

}  // namespace intaglio::test::cli_device_profile_test
