// Arrays in a unit that a model does not have, and labels that are not theirs: everything that runs them says so, in text, in JSON and on the page.
#include <limits>

#include "calibrator/host/system/npy.h"
#include "tests/support/random.h"
#include "tests/support/run_cli.h"

namespace intaglio::test::cli_units_test {
namespace {

constexpr int64_t kSamples = 12;

// Random pixels, as pixel * factor + offset.
void put_pixels(const CommandFolder& folder, const std::string& name, float factor, float offset) {
  Random random(11);
  std::vector<float> values;
  for (int64_t i = 0; i < kSamples * 28 * 28 * 3; ++i)
    values.push_back(static_cast<float>(random.bits() & 255) * factor + offset);
  REQUIRE(write_npy(folder / name, NpyType::kF32, {kSamples, 28, 28, 3},
                    {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)}));
}

// Values for the demo's network, whose recipe is -1..1.
struct Meter : CommandFolder {
  Meter() {
    good("import @/meter.onnx -o %/net.itg --pixels -1..1");
    good("calibrate %/net.itg --images @/calibration -o %/int8.itg --recover none");
    put_pixels(*this, "right.npy", 1 / 127.5f, -1.0f);
    put_pixels(*this, "between.npy", 1 / 127.6f, -0.999f);  // as a picture that was resized in floats
    put_pixels(*this, "unit.npy", 1 / 255.0f, 0.0f);
    put_pixels(*this, "bytes.npy", 1.0f, 0.0f);
    std::string labels;
    for (int64_t i = 0; i < kSamples; ++i) labels += "3\n";
    put("labels.txt", labels);
  }
  // Each subcommand that runs `array`, on the FP32 model and on the int8 one.
  std::vector<std::string> calls(const std::string& array) const {
    const std::string images = " --images %/" + array;
    return {"run %/net.itg --input %/" + array,
            "run %/int8.itg --input %/" + array,
            "eval %/net.itg --labels %/labels.txt" + images,
            "eval %/int8.itg --labels %/labels.txt" + images,
            "compare %/net.itg %/int8.itg" + images,
            "simulate %/net.itg" + images,
            "calibrate %/net.itg --recover none -o %/other.itg" + images};
  }
};

constexpr const char* kSign = "samples with values that no pixel gives by the model";

}  // namespace

TEST_CASE("values in another unit than the recipe's are told by everything that runs them") {
  const Meter meter;
  for (const auto& [array, held] : {std::pair{"unit.npy", "0 to 1"}, std::pair{"bytes.npy", "0 to 255"}})
    for (const std::string& call : meter.calls(array)) {
      CAPTURE(call);
      const std::string sign =
          kSign + std::string("'s preprocessing (they hold ") + held + ", its pixels -1 to 1)";
      CHECK(holds(meter.good(call).err, "intaglio: warning: " + sign));
      const auto warnings = meter.json(call + " --json")["warnings"];
      REQUIRE(!warnings.empty());
      CHECK(holds(warnings[0].get<std::string>(), sign));
    }
}

TEST_CASE("values in the recipe's unit are taken without a word") {
  const Meter meter;
  for (const std::string& call : meter.calls("right.npy")) {
    CAPTURE(call);
    CHECK(!holds(meter.good(call).err, kSign));
    CHECK(!holds(meter.good(call + " --json").out, kSign));
  }
  // A calibration takes the range of such values from them, and says so; to run them nothing is wrong.
  for (const std::string& call : meter.calls("between.npy")) {
    CAPTURE(call);
    const bool calibrates = call.rfind("calibrate", 0) == 0 || call.rfind("simulate", 0) == 0;
    const Ran ran = meter.good(call);
    CHECK(!holds(ran.err, kSign));
    CHECK(holds(ran.err, "samples with values between those that pixels give") == calibrates);
    CHECK(!holds(ran.out, "check the preprocessing"));
  }
}

TEST_CASE("an int8 input without a recipe has the unit of what calibrated it") {
  const Meter meter;
  meter.good("import @/meter.onnx -o %/values.itg");
  meter.good("calibrate %/values.itg --images %/unit.npy -o %/values.int8.itg --recover none");
  const Ran other = meter.good("run %/values.int8.itg --input %/bytes.npy");
  CHECK_MESSAGE(
      holds(other.err, "samples with values in another unit than those that calibrated the model's input"),
      other.err);
  CHECK(holds(other.err, "(they hold 0 to 255, its codes 0 to 1)"));
  CHECK(!holds(meter.good("run %/values.int8.itg --input %/unit.npy").err, "warning"));
  CHECK(!holds(meter.good("run %/values.itg --input %/bytes.npy").err, "warning"));
}

TEST_CASE(
    "labels that are more than the samples of an array are told, and a missing one before anything runs") {
  const Meter meter;
  const std::string call = "eval %/net.itg --images %/right.npy --labels %/";
  meter.put("more.txt", meter.get("labels.txt") + "4\n");
  CHECK(holds(meter.good(call + "more.txt").err, "--labels has 13 lines, and there are 12 to judge"));
  CHECK(!holds(meter.good(call + "more.txt --limit 3").err, "--labels has"));
  CHECK(!holds(meter.good(call + "labels.txt").err, "--labels has"));
  meter.put("fewer.txt", "3\n3\n");
  meter.bad(call + "fewer.txt", "it has 2 lines, and each sample needs one");
  meter.bad("compare %/net.itg %/int8.itg --images %/right.npy --labels %/fewer.txt", "no line for 2");
}

TEST_CASE("the page of a calibration shows its warnings behind its verdict, before any advice") {
  const Meter meter;
  const std::string call =
      "calibrate %/net.itg --recover none -o %/other.itg --report %/page.html --images %/";
  meter.good(call + "unit.npy");
  const std::string page = meter.get("page.html");
  const size_t warned = page.find(kSign);
  REQUIRE(warned != std::string::npos);
  CHECK(page.find("class=\"word\"") < warned);
  CHECK(warned < page.find("What to do"));
  meter.good(call + "right.npy");
  CHECK(!holds(meter.get("page.html"), kSign));
}

TEST_CASE(
    "another usual preprocessing that makes the FP32 model surer is told, and the right one is not doubted") {
  const CommandFolder folder;
  const auto calibrate = [&](const std::string& recipe, const std::string& more = "") {
    folder.good("import @/meter.onnx -o %/net.itg " + recipe);
    return folder.good("calibrate %/net.itg --images @/calibration --recover none -o %/int8.itg" + more);
  };
  const auto right = calibrate("--pixels -1..1");
  CHECK(right.err.find("surer") == std::string::npos);
  CHECK(holds(right.out,
              "FP32         is taken as right, with pictures as (pixel - 127.5) * 0.00784314, rgb;"));
  for (const char* const wrong : {"--pixels 0..255", "--mean 127.5 --norm 0.001"}) {
    CAPTURE(wrong);
    const auto told = calibrate(wrong);
    CHECK(holds(told.err, "the FP32 model's answers are surer"));
    CHECK(holds(told.err, "with (pixel - 127.5) * 0.00784314, rgb (the model's own: "));
    CHECK(holds(told.out, "check the preprocessing first"));
  }
  // Fewer samples than it takes say nothing.
  CHECK(calibrate("--pixels 0..255", " --limit 7").err.find("surer") == std::string::npos);
}

}  // namespace intaglio::test::cli_units_test
