// Models with several inputs through the command: each takes pictures or an array of its own.
#include "calibrator/host/system/npy.h"
#include "tests/support/model_builder.h"
#include "tests/support/picture_files.h"
#include "tests/support/random.h"
#include "tests/support/run_cli.h"

namespace intaglio::test::cli_inputs_test {
namespace {

constexpr size_t kSamples = 12, kSide = 8, kReadings = 6;

// Scores of three classes from a picture "image" and readings "sensor=a", a name that holds a '='.
AlignedBytes two_inputs() {
  Random random(3);
  ModelBuilder b;
  const auto weights = [&](const char* name, const std::vector<int32_t>& dims, float scale) {
    size_t count = 1;
    for (const int32_t dim : dims) count *= static_cast<size_t>(dim);
    return b.constant<float>(name, DType::kF32, dims, random.reals(count, -scale, scale));
  };
  const int32_t image = b.tensor("image", DType::kF32, {1, kSide, kSide, 3});
  const int32_t sensor = b.tensor("sensor=a", DType::kF32, {1, kReadings});
  const int32_t features = b.tensor("features", DType::kF32, {1, kSide, kSide, 4});
  const int32_t mean = b.tensor("mean", DType::kF32, {1, 4});
  const int32_t seen = b.tensor("seen", DType::kF32, {1, 3});
  const int32_t felt = b.tensor("felt", DType::kF32, {1, 3});
  const int32_t scores = b.tensor("scores", DType::kF32, {1, 3});
  b.input(image);
  b.input(sensor);
  b.output(scores);
  b.node(Op::kConv2d, {image, weights("w", {4, 1, 1, 3}, 0.02f), weights("bias", {4}, 0.5f)}, {features})
      .options.as<Clamp>()
      .min = 0.0f;
  b.node(Op::kMean, {features}, {mean}).options.as<ReduceOptions>().axes = b.keep({1, 2});
  b.node(Op::kFullyConnected, {mean, weights("w1", {3, 4}, 1.0f)}, {seen});
  b.node(Op::kFullyConnected, {sensor, weights("w2", {3, kReadings}, 1.0f)}, {felt});
  b.node(Op::kAdd, {seen, felt}, {scores});
  ImageInput recipe;
  recipe.channels = 3;
  for (int c = 0; c < 3; ++c) recipe.norm[c] = 1.0f;
  b.graph().images.push(b.arena(), recipe);
  return b.finish();
}

std::string name_of(size_t i) { return std::string(1, static_cast<char>('a' + i)); }

// The network, its pictures a.png, b.png, ... and readings.npy.
void put_all(const CommandFolder& folder) {
  const AlignedBytes net = two_inputs();
  folder.put("net.itg", std::string(reinterpret_cast<const char*>(net.view().data), net.size()));
  std::filesystem::create_directory(folder / "pictures");
  Random random(11);
  for (size_t i = 0; i < kSamples; ++i) {
    std::vector<uint8_t> pixels(kSide * kSide * 3);
    for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(random.bits() >> 24);
    folder.put("pictures/" + name_of(i) + ".png", png_file(kSide, kSide, 3, pixels));
  }
  const std::vector<float> readings = random.reals(kSamples * kReadings, -3.0f, 3.0f);
  REQUIRE(write_npy(folder / "readings.npy", NpyType::kF32, {kSamples, kReadings},
                    {reinterpret_cast<const uint8_t*>(readings.data()), readings.size() * sizeof(float)}));
}

std::string inputs(const CommandFolder& folder) {
  return " --input image=" + folder / "pictures" + " --input sensor=a=" + folder / "readings.npy";
}

}  // namespace

TEST_CASE("a model with two inputs is calibrated, compared, evaluated, simulated and run") {
  const CommandFolder folder;
  put_all(folder);
  const std::string given = inputs(folder);
  const auto made = folder.json("calibrate %/net.itg -o %/int8.itg --json" + given);
  CHECK(made["images"] == kSamples);
  CHECK(made["sqnr_db"].get<double>() > 25.0);

  const auto compared = folder.json("compare %/net.itg %/int8.itg --json" + given);
  CHECK(compared["count"] == kSamples);
  CHECK(compared["sqnr_db"].get<double>() > 25.0);
  CHECK(folder.json("simulate %/net.itg --json" + given)["count"] == kSamples);

  // The classes that FP32 finds are right by definition: eval of it is 100 %, so each sample met its own label.
  const auto found = folder.json("run %/net.itg --json --top 1" + given);
  std::string labels;
  for (const auto& sample : found["samples"])
    labels += sample["name"].get<std::string>() + " " +
              std::to_string(sample["outputs"][0]["top"][0]["class"].get<int>()) + "\n";
  folder.put("labels", labels);
  CHECK(folder.json("eval %/net.itg --json --labels %/labels" + given)["top1"] == 100.0);

  // The same samples by another order of the inputs, and fewer of them.
  const std::string other =
      " --input sensor=a=" + folder / "readings.npy" + " --input image=" + folder / "pictures";
  CHECK(folder.json("calibrate %/net.itg -o %/again.itg --json --threads 2" + other)["sha256"] ==
        made["sha256"]);
  CHECK(folder.json("calibrate %/net.itg -o %/few.itg --json --limit 5" + given)["images"] == 5);
  CHECK(folder.json("calibrate %/net.itg -o %/mixed.itg --json --min-sqnr 20" + given)["mixed"]["held_out"] ==
        true);
}

TEST_CASE("both inputs of a sample count: readings of other samples give another answer") {
  const CommandFolder folder;
  put_all(folder);
  std::filesystem::create_directory(folder / "one");
  std::filesystem::copy(folder / "pictures/a.png", folder / "one/a.png");
  const auto whole = folder.json("run %/net.itg --json" + inputs(folder));
  const auto readings = read_npy(folder / "readings.npy");
  REQUIRE(readings);
  const auto score_with = [&](size_t row) {
    REQUIRE(write_npy(folder / "row.npy", NpyType::kF32, {1, kReadings},
                      {readings->data.data() + row * kReadings * sizeof(float), kReadings * sizeof(float)}));
    return folder.json("run %/net.itg --json --input image=" + folder / "one" +
                       " --input sensor=a=" + folder / "row.npy")["samples"][0]["outputs"];
  };
  CHECK(score_with(0) == whole["samples"][0]["outputs"]);
  CHECK(score_with(1) != whole["samples"][0]["outputs"]);
}

TEST_CASE("pictures of two folders belong together by name; what cannot be read leaves its pair out") {
  const CommandFolder folder;
  put_all(folder);
  const std::string given = inputs(folder);
  folder.put("pictures/c.png", std::string("no picture"));
  folder.bad("calibrate %/net.itg -o %/int8.itg" + given, "c.png");
  CHECK_FALSE(std::filesystem::exists(folder / "int8.itg"));
  const auto made = folder.json("calibrate %/net.itg -o %/int8.itg --json --skip-bad" + given);
  CHECK(made["images"] == kSamples - 1);

  folder.bad(
      "run %/net.itg --input image=" + folder / "pictures" + " --input sensor=a=" + folder / "pictures",
      "sensor=a");  // readings are no pictures
}

TEST_CASE("what is missing or named wrongly is told with the inputs' names") {
  const CommandFolder folder;
  put_all(folder);
  const std::string images = "--input image=" + folder / "pictures";
  const std::string readings = "--input sensor=a=" + folder / "readings.npy";
  folder.bad("calibrate %/net.itg -o %/o.itg --images %/pictures", "has 2 inputs (image, sensor=a)");
  const Ran none = folder.run("calibrate %/net.itg -o %/o.itg");
  CHECK(none.code == 2);
  CHECK(holds(none.err,
              "no samples are given (of a model with several inputs each takes its own, --input NAME="));
  folder.bad("calibrate %/net.itg -o %/o.itg " + images, "its input sensor=a has no samples");
  folder.bad("eval %/net.itg --labels %/l --input sensor=x.npy " + images, "");
  folder.bad("run %/net.itg --input sensor=x.npy " + images, "names no input");
  folder.bad("run %/net.itg " + images + " " + images, "has its samples already");
  folder.bad("run %/net.itg --input sensor=a= " + images, "names no file");
  std::filesystem::remove(folder / "pictures/l.png");
  folder.bad("run %/net.itg " + images + " " + readings, "the input image has 11 samples, sensor=a has 12");
  CHECK_FALSE(std::filesystem::exists(folder / "o.itg"));
  folder.bad("run %/net.itg --output %/readings.npy " + images + " " + readings, "");
  CHECK(std::filesystem::exists(folder / "readings.npy"));
}

TEST_CASE("a model with one input takes it with or without its name") {
  const CommandFolder folder;
  folder.good("import @/meter.onnx -o %/net.itg --mean 127.5 --norm 0.00784313725490196");
  const auto by_images = folder.json("calibrate %/net.itg -o %/a.itg --json --images @/calibration");
  const std::string name = folder.json("inspect %/net.itg --json")["inputs"][0]["name"];
  const auto by_name =
      folder.json("calibrate %/net.itg -o %/b.itg --json --input " + name + "=" + ITG_DEMO + "/calibration");
  CHECK(by_name["sha256"] == by_images["sha256"]);
  const Ran none = folder.run("calibrate %/net.itg -o %/c.itg");
  CHECK(none.code == 2);
  CHECK(holds(none.err,
              "no samples are given (of a model with several inputs each takes its own, --input NAME="));
  const Ran both = folder.run("calibrate %/net.itg -o %/c.itg --images @/calibration --input @/calibration");
  CHECK(both.code != 0);
  CHECK(holds(both.err, "both name the samples"));
}

}  // namespace intaglio::test::cli_inputs_test
