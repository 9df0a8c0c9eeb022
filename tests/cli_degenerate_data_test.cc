// Degenerate samples: each kind has a defined result and a message that says which sample, and what is wrong
// with it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include "calibrator/host/system/npy.h"
#include "tests/support/picture_files.h"
#include "tests/support/run_cli.h"
#include "tests/support/small_models.h"

namespace intaglio::test::cli_degenerate_data_test {
namespace {

constexpr uint32_t kHeight = 12, kWidth = 10;
constexpr size_t kValues = size_t{kHeight} * kWidth * 3;

std::vector<uint8_t> picture(uint8_t first, uint8_t step) {
  std::vector<uint8_t> pixels(kValues);
  for (size_t i = 0; i < kValues; ++i) pixels[i] = static_cast<uint8_t>(first + step * i);
  return png_file(kWidth, kHeight, 3, pixels);
}

// A folder with the model net.itg, and a folder of pictures in it.
class Calibration : public CommandFolder {
 public:
  Calibration() {
    const AlignedBytes model = small_cnn();
    put("net.itg", std::string(reinterpret_cast<const char*>(model.view().data), model.size()));
    std::filesystem::create_directory(*this / "pictures");
  }
  void add(const std::string& name, const std::vector<uint8_t>& file) const { put("pictures/" + name, file); }
  void add_good(int count) const {
    for (int i = 0; i < count; ++i)
      add("good_" + std::to_string(i) + ".png", picture(static_cast<uint8_t>(17 * i + 1), 3));
  }
  void put_array(const std::vector<int64_t>& shape, const std::vector<float>& values) const {
    REQUIRE(write_npy(*this / "x.npy", NpyType::kF32, shape,
                      {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)}));
  }
  // Calibrates; gives what is told on stderr.
  std::string notes(size_t images, const std::string& more = "") const {
    const Ran ran = good("calibrate %/net.itg --images %/pictures -o %/int8.itg --json " + more);
    CHECK(parsed_json(ran.out)["images"] == images);
    good("verify %/int8.itg");
    return ran.err;
  }
  void refused(const std::string& text, const std::string& images = "%/pictures") const {
    bad("calibrate %/net.itg --images " + images + " -o %/int8.itg", text);
    CHECK_FALSE(std::filesystem::exists(*this / "int8.itg"));
  }
};

}  // namespace

TEST_CASE("no samples") {
  const Calibration folder;
  folder.refused("holds no pictures");
  folder.put_array({0, kHeight, kWidth, 3}, {});
  folder.refused("x.npy", "%/x.npy");
  folder.put("empty.txt", std::string(" \n\n"));
  folder.add_good(1);
  folder.bad("calibrate %/net.itg --images %/pictures --only %/empty.txt -o %/int8.itg", "lists no samples");
}

TEST_CASE("one sample, black, white or of a single colour: a model that runs, and a warning") {
  for (const int level : {0, 255, 128}) {
    const Calibration folder;
    folder.add("a.png", picture(static_cast<uint8_t>(level), 0));
    CHECK(holds(folder.notes(1), "samples with one value everywhere (sample a.png)"));
  }
  const Calibration folder;
  folder.add_good(1);
  CHECK_FALSE(holds(folder.notes(1), "warning"));
}

TEST_CASE("duplicates count twice, with a warning") {
  const Calibration folder;
  folder.add_good(2);
  folder.add("z.png", picture(1, 3));
  CHECK(holds(folder.notes(3), "samples with the same content as another; each counts (sample z.png)"));
}

TEST_CASE("a number that is none: the sample and the element") {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const Calibration folder;
    std::vector<float> values(3 * kValues, 7.0f);
    values[kValues + 17] = bad;
    folder.put_array({3, kHeight, kWidth, 3}, values);
    folder.refused(std::isnan(bad) ? "sample 1: element 17 is NaN" : "sample 1: element 17 is infinite",
                   "%/x.npy");
  }
}

TEST_CASE("one huge value: a warning; one that the network cannot compute with: the tensor is named") {
  const Calibration folder;
  std::vector<float> values(2 * kValues, 7.0f);
  values[5] = 1e9f;
  folder.put_array({2, kHeight, kWidth, 3}, values);
  const Ran ran = folder.good("calibrate %/net.itg --images %/x.npy -o %/int8.itg");
  CHECK(holds(ran.err, "samples with values that no pixel gives by the model's preprocessing"));
  folder.good("verify %/int8.itg");
  std::filesystem::remove(folder / "int8.itg");
  values.assign(2 * kValues, 3e38f);
  folder.put_array({2, kHeight, kWidth, 3}, values);
  folder.refused("'mean' not finite", "%/x.npy");
}

TEST_CASE("arrays of other channels and sizes") {
  const Calibration folder;
  folder.put_array({2, kHeight, kWidth, 2}, std::vector<float>(2 * kHeight * kWidth * 2));
  folder.refused(
      "its array of (2, 12, 10, 2) holds samples of (12, 10, 2), the model's input image takes (1, 12, 10, 3)",
      "%/x.npy");
  folder.put_array({2, 3, kHeight, kWidth}, std::vector<float>(2 * kHeight * kWidth * 3));
  folder.refused("channels come last here: save x.transpose(0, 2, 3, 1)", "%/x.npy");
  const std::vector<uint8_t> pixels(kHeight * kWidth * 2);
  REQUIRE(write_npy(folder / "x.npy", NpyType::kU8, {1, kHeight, kWidth, 2}, {pixels.data(), pixels.size()}));
  folder.refused("uint8 arrays hold pictures", "%/x.npy");
}

TEST_CASE("gray, 16 bits, alpha, one row, another ending: pictures like others") {
  const Calibration folder;
  std::vector<uint8_t> noise(kValues * 4);
  for (size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<uint8_t>(i * i >> 3);
  folder.add("alpha.png", png_file(kWidth, kHeight, 4, noise));
  folder.add("deep.png", png_file(kWidth, kHeight, 3, noise, 16));
  folder.add("gray.png", png_file(kWidth, kHeight, 1, noise));
  folder.add("named.JPG", png_file(kWidth, kHeight, 3, noise));
  folder.add("row.png", png_file(kWidth, 1, 3, noise));
  folder.add("pixel.png", png_file(1, 1, 3, noise));
  CHECK(holds(folder.notes(6), "one value everywhere (sample pixel.png)"));
}

TEST_CASE("broken pictures are named, or left out where that is asked for") {
  const auto whole = picture(9, 3);
  auto damaged = whole;
  damaged[60] ^= 4;
  const struct {
    const char* name;
    std::vector<uint8_t> file;
    const char* reason;
  } cases[] = {
      {"empty.png", {}, "empty.png"},
      {"cut.png", {whole.begin(), whole.end() - 40}, "cut.png: is cut off"},
      {"damaged.png", damaged, "damaged.png: is damaged"},
      {"text.png", {'h', 'e', 'l', 'l', 'o'}, "text.png: is no PNG, JPEG, BMP or WebP picture"},
      {"nothing.png", png_file(0, 0, 3, {}), "nothing.png: cannot be decoded"},
  };
  for (const auto& c : cases) {
    CAPTURE(std::string(c.name));
    const Calibration folder;
    folder.add(c.name, c.file);
    folder.bad("calibrate %/net.itg --images %/pictures --skip-bad -o %/int8.itg",
               "none of its samples can be read");
    folder.add_good(2);
    folder.refused(c.reason);
    const std::string notes = folder.notes(2, "--skip-bad");
    CHECK(holds(notes, "left out: "));
    CHECK(holds(notes, c.reason));
  }
}

TEST_CASE("what is no file: folders, pipes, links to nowhere and in a circle") {
  const Calibration folder;
  folder.add_good(1);
  std::filesystem::create_directory(folder / "pictures/folder.png");
  CHECK(holds(folder.notes(1), "not entered"));
  std::filesystem::remove(folder / "int8.itg");
  const std::string odd = folder / "pictures/odd.png";
  REQUIRE(::mkfifo(odd.c_str(), 0600) == 0);
  folder.refused("odd.png: is not a regular file");
  for (const char* const target : {"nowhere", "odd.png"}) {
    std::filesystem::remove(odd);
    std::filesystem::create_symlink(target, odd);
    folder.refused("odd.png");
    CHECK(holds(folder.notes(1, "--skip-bad"), "left out: " + odd));
    std::filesystem::remove(folder / "int8.itg");
  }
}

TEST_CASE("files that may not be read" * doctest::skip(::getuid() == 0)) {
  const Calibration folder;
  folder.add_good(2);
  REQUIRE(::chmod((folder / "pictures/good_1.png").c_str(), 0) == 0);
  folder.refused("good_1.png");
}

TEST_CASE("names that are no UTF-8 are shown escaped") {
  const Calibration folder;
  folder.add("odd\xff\x1b.png", {'x'});
  folder.refused("odd\\xff\\x1b.png: is no PNG");
  folder.add("odd\xff\x1b.png", picture(3, 1));
  folder.add("z.png", picture(3, 1));
  folder.notes(2);
  const auto json = folder.json("run %/int8.itg --input %/pictures --json");
  CHECK(json["samples"].size() == 2);
}

}  // namespace intaglio::test::cli_degenerate_data_test
