// calibrate --profile device: the bytes that a board gives by CalibratorOptions::device().
#include <doctest/doctest.h>

#include "calibrator/host/pictures/image_folder.h"
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
  for (const char* const words : {"device --recover adaround", "device --min-sqnr 20"}) {
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

TEST_CASE("raw frames of a camera in files calibrate as a board does that gets them") {
  const Folder folder;
  constexpr int32_t kFrames = 5;
  struct Kind {
    const char* words;
    FrameInfo info;
    size_t row_bytes;
  };
  FrameInfo yuyv{16, 14, PixelOrder::kYuyv}, gray{10, 12, PixelOrder::kGray}, nv12{15, 13, PixelOrder::kNv12};
  gray.bits = 10;
  for (const Kind& kind : {Kind{"16x14:yuyv --row-bytes 40", yuyv, 40}, Kind{"16x14:yuyv", yuyv, 0},
                           Kind{"10x12:gray10", gray, 0}, Kind{"15x13:nv12 --row-bytes 17", nv12, 17}}) {
    CAPTURE(kind.words);
    const TemporaryFolder frames;
    const size_t bytes = RawFrames{kind.info, kind.row_bytes}.bytes();
    const std::vector<int8_t> codes = Random(3).codes(kFrames * bytes);
    const auto* const pixels = reinterpret_cast<const uint8_t*>(codes.data());
    // The second file holds three of them.
    const size_t parts[][2] = {{0, 1}, {1, 3}, {4, 1}};
    for (const auto& [first, count] : parts)
      REQUIRE(write_file_atomically(frames / (std::to_string(first) + ".raw"),
                                    {pixels + first * bytes, count * bytes}));
    folder.good("calibrate %/net.itg --images " + (frames / "") +
                " -o %/frames.itg --profile device --frame " + kind.words);

    const Result<Model> model = Model::open(folder.model.view());
    AlignedBytes memory(Calibrator::measure(*model, CalibratorOptions::device())->total());
    Result<Calibrator> board = Calibrator::create(*model, memory.span(), CalibratorOptions::device());
    std::vector<uint32_t> scratch(
        *FrameWriter::measure(model->image(0), model->tensor(model->inputs()[0]), kind.info) / 4 + 1);
    for (size_t i = 0; i < kFrames; ++i) {
      Frame frame;
      frame.info = kind.info;
      frame.pixels = {pixels + i * bytes, bytes};
      frame.row_bytes = kind.row_bytes;
      REQUIRE(board->add_frame(frame, {reinterpret_cast<uint8_t*>(scratch.data()), scratch.size() * 4}).ok());
    }
    REQUIRE(board->finish({}).ok());
    const Span<const uint8_t> made = board->report().bytes;
    CHECK(folder.bytes("frames.itg") == std::vector<uint8_t>(made.begin(), made.end()));
    folder.good("compare %/net.itg %/frames.itg --images " + (frames / "") + " --frame " + kind.words);
  }
}

TEST_CASE("frames that files do not hold") {
  const Folder folder;
  const TemporaryFolder frames;
  const std::vector<uint8_t> pixels(3 * 6 * 4 + 1, 7);
  const std::string words = "calibrate %/net.itg -o %/no.itg --images " + (frames / "") + " --frame ";
  folder.bad(words + "6x4:rgb", "holds no files of frames");
  REQUIRE(write_file_atomically(frames / "a.raw", {pixels.data(), pixels.size()}));
  folder.bad(words + "6x4:rgb",
             "a.raw: has 73 bytes, and a frame of 6 x 4 has 72: a file holds whole frames");
  folder.bad(words + "6x4:rgb --row-bytes 17", "--row-bytes 17: a row of 6x4:rgb has 18 bytes");
  REQUIRE(write_file_atomically(frames / "a.raw", {pixels.data(), 0}));
  folder.bad(words + "6x4:rgb", "a.raw: has 0 bytes");
  folder.bad("calibrate %/net.itg -o %/no.itg --images %/x.npy/none --frame 6x4:rgb", "x.npy/none");
  CHECK(folder.run(words + "6x4:rgbb").code == 2);
  CHECK(folder.run("calibrate %/net.itg --images %/x.npy -o %/no.itg --row-bytes 18").code == 2);
}

}  // namespace intaglio::test::cli_device_profile_test
