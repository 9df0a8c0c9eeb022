// A real network on arrays in another unit than its recipe's: as good as on pictures. Skipped where the models
// are absent.
#include "calibrator/host/pictures/image_decode.h"
#include "calibrator/host/system/npy.h"
#include "calibrator/host/system/text_lines.h"
#include "tests/support/imported.h"
#include "tests/support/run_cli.h"

namespace intaglio::test::cli_picture_units_test {
namespace {

// Pictures of a split as one float32 array of pixel * factor, channels blue to red as the network takes them.
void put_array(const CommandFolder& folder, const std::string& shared, const std::string& split, size_t count,
               float factor, const std::string& name) {
  const auto names = read_lines(shared + "/splits/" + split, 1 << 20);
  REQUIRE(names);
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) {
    const auto file = read_file(shared + "/images/vww_1000/" + (*names)[i].text, 1 << 24);
    REQUIRE_MESSAGE(file, file.message());
    const auto picture = decode_picture(file->span(), {});
    REQUIRE_MESSAGE(picture, picture.message());
    REQUIRE(picture->pixels.size() == 96 * 96 * 3);
    for (size_t at = 0; at < picture->pixels.size(); ++at)
      values.push_back(static_cast<float>(picture->pixels[at - at % 3 + 2 - at % 3]) * factor);
  }
  REQUIRE(write_npy(folder / name, NpyType::kF32, {static_cast<int64_t>(count), 96, 96, 3},
                    {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)}));
}

}  // namespace

TEST_CASE("VWW, 16 arrays of 0 to 1: within a decibel of the right recipe, and a warning") {
  const std::string shared = shared_folder();
  if (shared.empty()) return;
  const CommandFolder folder;
  put_array(folder, shared, "vww_1000.calib", 16, 1.0f / 255, "seen.npy");
  put_array(folder, shared, "vww_1000.dev", 50, 1.0f / 255, "unseen.npy");
  const std::string network = "import " + shared + "/models/vww_96_fp32.tflite --color bgr -o %/";
  folder.good(network + "right.itg --pixels 0..1");
  folder.good(network + "plain.itg --pixels 0..255");
  folder.good("import " + shared + "/models/vww_96_fp32.tflite -o %/values.itg");
  const auto sqnr = [&](const std::string& net, bool warns) {
    const Ran ran = folder.good("calibrate %/" + net + ".itg --images %/seen.npy -o %/" + net + ".int8.itg");
    CHECK(holds(ran.err, "(they hold 0 to 1, its pixels 0 to 255)") == warns);
    return folder.json("compare %/right.itg %/" + net + ".int8.itg --images %/unseen.npy --json")["sqnr_db"]
        .get<double>();
  };
  const double right = sqnr("right", false);
  CHECK(right > 20.0);
  CHECK(sqnr("plain", true) > right - 1.0);
  CHECK(sqnr("values", false) > right - 1.0);
}

}  // namespace intaglio::test::cli_picture_units_test
