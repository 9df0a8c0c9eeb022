// Calibrator::add_frame: a camera's frame is observed as the input that it becomes.
#include <doctest/doctest.h>

#include "intaglio/calibrator.h"
#include "tests/support/random.h"
#include "tests/support/small_models.h"

namespace intaglio::test::add_frame_test {
namespace {

struct Bench {
  AlignedBytes memory;
  Calibrator calibrator;

  explicit Bench(const Model& model) : memory(Calibrator::measure(model)->total()) {
    calibrator = *Calibrator::create(model, memory.span());
  }
  std::vector<uint8_t> state() const {
    std::vector<uint8_t> bytes(calibrator.state_bytes());
    REQUIRE(calibrator.save({bytes.data(), bytes.size()}).ok());
    return bytes;
  }
};

}  // namespace

TEST_CASE("frames of any order leave the state of the inputs that write_frame makes of them") {
  const AlignedBytes file = small_cnn();
  const Model model = *Model::open(file.view());
  const TensorInfo target = model.tensor(model.inputs()[0]);
  Bench from_frames(model), from_inputs(model);
  int32_t i = 0;
  for (const PixelOrder order : {PixelOrder::kRgb565Swapped, PixelOrder::kYuyv, PixelOrder::kNv21,
                                 PixelOrder::kBayerBggr, PixelOrder::kGray}) {
    const auto pixels = Random(static_cast<uint32_t>(++i)).codes(frame_bytes({40, 31, order}));
    Frame frame;
    frame.info = {40, 31, order};
    frame.pixels = {reinterpret_cast<const uint8_t*>(pixels.data()), pixels.size()};
    std::vector<uint8_t> scratch(*FrameWriter::measure(model.image(0), target, frame.info));
    const Span<uint8_t> rows{scratch.data(), scratch.size()};
    std::vector<float> values(target.bytes() / sizeof(float));
    REQUIRE(write_frame(model.image(0), {target, values.data()}, frame, rows).ok());
    const Span<const uint8_t> input{reinterpret_cast<const uint8_t*>(values.data()), target.bytes()};
    REQUIRE(from_inputs.calibrator.add({&input, 1}).ok());

    const std::vector<uint8_t> before = from_frames.state();
    Frame bad = frame;
    bad.pixels.size = 7;
    CHECK(from_frames.calibrator.add_frame(bad, rows).status == Status::kPictureBytes);
    bad = frame;
    bad.row_bytes = 1;
    CHECK(from_frames.calibrator.add_frame(bad, rows).status == Status::kRowBytes);
    bad = frame;
    bad.info.width = 0;
    CHECK(from_frames.calibrator.add_frame(bad, rows).status == Status::kBadPictureSize);
    CHECK(from_frames.calibrator.add_frame(frame, {rows.data, rows.size - 1}).status ==
          Status::kScratchTooSmall);
    CHECK(from_frames.state() == before);
    REQUIRE(from_frames.calibrator.add_frame(frame, rows).ok());
    CHECK(from_frames.state() == from_inputs.state());
  }
}

}  // namespace intaglio::test::add_frame_test
