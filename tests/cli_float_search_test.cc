// calibrate --min-sqnr and --max-drop: 16 bits or FP32 where int8 costs too much, on the demo's network.
#include <filesystem>

#include "tests/support/run_cli.h"

namespace intaglio::test::cli_float_search_test {
namespace {

const std::string kImport = "import @/meter.onnx -o %/net.itg --mean 127.5 --norm 0.00784313725490196";
const std::string kCalibrate = "calibrate %/net.itg --images @/calibration -o %/int8.itg";

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("the output SQNR that is asked for, on samples that calibrated nothing, by few layers in FP32") {
  const CommandFolder folder;
  folder.good(kImport);
  const auto plain = folder.json(kCalibrate + " --min-sqnr 20 --json");
  CHECK(plain["images"] == 12);  // every fourth of 16 is held out
  CHECK(plain["mixed"]["judged"] == 4);
  CHECK(plain["mixed"]["held_out"] == true);
  CHECK(plain["mixed"]["float_layers"].empty());
  CHECK(plain["mixed"]["wide_layers"].empty());
  const double before = plain["mixed"]["sqnr_db_before"];
  CHECK(plain["mixed"]["sqnr_db_after"] == before);

  const double wanted = before + 2;
  const auto some = folder.json(kCalibrate + " --json --min-sqnr " + std::to_string(wanted));
  CHECK(some["mixed"]["sqnr_db_before"] == before);
  CHECK(some["mixed"]["sqnr_db_after"].get<double>() >= wanted);
  const size_t layers = some["mixed"]["float_layers"].size() + some["mixed"]["wide_layers"].size();
  CHECK(layers > 0);
  CHECK(layers < 10);
  CHECK(some["mixed"]["bytes_after"] == std::filesystem::file_size(folder / "int8.itg"));
  CHECK(some["mixed"]["bytes_after"] > some["mixed"]["bytes_before"]);
  CHECK(some["mixed"]["time"].get<double>() > 1.0);
  // Borders stand around stretches of layers, not around each.
  const std::string ops = folder.good("inspect %/int8.itg --ops").out;
  const size_t borders = count_of(ops, "Dequantize") + count_of(ops, "Quantize");
  CHECK(borders > 0);
  CHECK(borders <= 2 * layers + 1);

  const auto again = folder.json(kCalibrate + " --json --threads 2 --min-sqnr " + std::to_string(wanted));
  CHECK(again["sha256"] == some["sha256"]);
  const auto more = folder.json(kCalibrate + " --json --min-sqnr " + std::to_string(before + 8));
  CHECK(more["mixed"]["bytes_after"] > some["mixed"]["bytes_after"]);
  const std::string told = folder.good(kCalibrate + " --min-sqnr " + std::to_string(wanted)).out;
  for (const char* const part : {"mixed precision", "held out", " layers in ", "times the bytes"})
    CHECK(holds(told, part));
}

TEST_CASE("the loss of right answers that is allowed") {
  const CommandFolder folder;
  folder.good(kImport);
  // Weights of two bits make the network guess.
  const std::string coarse =
      kCalibrate + " --recover none --set weights:bits=2 --labels @/calibration_labels.txt --json";
  const auto loose = folder.json(coarse + " --max-drop 100");
  CHECK(loose["mixed"]["float_layers"].empty());
  CHECK(loose["mixed"]["drop_before"].get<double>() > 0.0);
  const auto tight = folder.json(coarse + " --max-drop 0");
  CHECK(tight["mixed"]["drop_before"] == loose["mixed"]["drop_before"]);
  CHECK(tight["mixed"]["drop_after"].get<double>() <= 0.0);
  CHECK_FALSE(tight["mixed"]["float_layers"].empty());
}

TEST_CASE("without an FPU 16 bits come first, and the file holds them") {
  const CommandFolder folder;
  folder.good(kImport);
  const std::string calibrate = kCalibrate + " --recover means --json";
  const double before = folder.json(calibrate + " --min-sqnr 0")["mixed"]["sqnr_db_before"];
  const auto made = folder.json(calibrate + " --no-fpu --min-sqnr " + std::to_string(before + 1));
  CHECK(made["mixed"]["float_layers"].empty());
  CHECK_FALSE(made["mixed"]["wide_layers"].empty());
  CHECK(made["mixed"]["sqnr_db_after"].get<double>() >= before + 1);
  CHECK(holds(folder.good("inspect %/int8.itg --ops").out, "s16"));
  CHECK(holds(folder.good(kCalibrate + " --recover means --no-fpu --min-sqnr " + std::to_string(before + 1)).out,
              " layers in 16 bits:"));
  CHECK(folder.run(kCalibrate + " --no-fpu").code != 0);
}

TEST_CASE("what cannot be reached is refused, and nothing is written") {
  const CommandFolder folder;
  folder.good(kImport);
  folder.bad(kCalibrate + " --min-sqnr 150", "cannot be reached");
  CHECK_FALSE(std::filesystem::exists(folder / "int8.itg"));
  folder.bad(kCalibrate + " --max-drop 1 --labels %/none.txt", "none.txt");
  CHECK(folder.run(kCalibrate + " --max-drop 1").code != 0);  // without labels
  CHECK(folder.run(kCalibrate + " --min-sqnr 20 --from %/s.itgcal").code == 2);
  CHECK_FALSE(std::filesystem::exists(folder / "int8.itg"));
}

}  // namespace intaglio::test::cli_float_search_test
