// intaglio simulate, and the options that it shares with calibrate, on the demo's network.
#include "tests/support/run_cli.h"

namespace intaglio::test::cli_simulate_test {
namespace {

const std::string kImport = "import @/meter.onnx -o %/net.itg --mean 127.5 --norm 0.00784313725490196";
const std::string kSimulate = "simulate %/net.itg --images @/calibration";
const std::string kCalibrate = "calibrate %/net.itg --images @/calibration -o %/int8.itg --json";

}  // namespace

TEST_CASE("what int8 holds runs by kernels and costs what calibrate says; more bits cost less, fewer more") {
  const CommandFolder folder;
  folder.good(kImport);
  const auto eight = folder.json(kSimulate + " --json");
  CHECK(eight["count"] == 16);
  CHECK(eight["simulated_nodes"] == 0);
  const auto calibrated = folder.json(kCalibrate + " --recover none");
  CHECK(eight["sqnr_db"].get<double>() ==
        doctest::Approx(calibrated["calibration_sqnr_db"].get<double>()).epsilon(1e-9));
  CHECK(eight["agreement"] == calibrated["calibration_agreement"]);

  const auto sixteen = folder.json(kSimulate + " --set all:bits=16 --json");
  CHECK(sixteen["simulated_nodes"] > 4);
  CHECK(sixteen["sqnr_db"].get<double>() > eight["sqnr_db"].get<double>() + 35);
  const auto four = folder.json(kSimulate + " --set weights:bits=4 --json");
  CHECK(four["simulated_nodes"] == 0);
  CHECK(four["sqnr_db"].get<double>() < eight["sqnr_db"].get<double>() - 6);
  const auto up = folder.json(kSimulate + " --set activations:rounding=up --json");
  CHECK(up["sqnr_db"].get<double>() < eight["sqnr_db"].get<double>());
  for (const auto& layer : up["layers"]) {
    for (const char* const key :
         {"name", "op", "simulated", "input", "weights", "output", "sqnr_db", "cosine"})
      CHECK(layer.contains(key));
    const bool is_answer = layer["op"] == "FullyConnected" || layer["op"] == "Softmax";
    CHECK(layer["output"] == (is_answer ? "fp32" : "8 up"));
  }
  const std::string table = folder.good(kSimulate + " --set weights:bits=12").out;
  for (const char* const part : {"simulation", "12", "output SQNR", "agreement"}) CHECK(holds(table, part));
}

TEST_CASE("activations of 9 to 32 bits, which kernels of 16 bits compute or the simulation") {
  const CommandFolder folder;
  folder.good(kImport);
  const double eight = folder.json(kSimulate + " --json")["sqnr_db"];
  for (const char* const bits : {"9", "11", "16", "17", "31", "32"}) {
    CAPTURE(bits);
    const auto found = folder.json(kSimulate + " --set activations:bits=" + bits + " --json");
    // One step of 9 symmetric bits is as wide as one of 8 without a sign.
    CHECK(found["sqnr_db"].get<double>() > eight - 3);
    for (const auto& layer : found["layers"]) CHECK(layer["sqnr_db"].get<double>() > eight - 10);
  }
  const auto exact = folder.json(kSimulate + " --exact --set all:bits=32 --json");
  CHECK(exact["sqnr_db"].get<double>() > eight + 60);
}

TEST_CASE("one slot by its node's name; the last setting of a slot holds") {
  const CommandFolder folder;
  folder.good(kImport);
  const auto plain = folder.json(kSimulate + " --json");
  const std::string name = plain["layers"][0]["name"];
  const auto one = folder.json(kSimulate + " --set weights:bits=16 --set " + name + "/weights:bits=8 --json");
  CHECK(one["layers"][0]["weights"] == "8");
  CHECK(one["layers"][0]["simulated"] == false);
  const auto two = folder.json(kSimulate + " --set " + name + ":bits=12 --json");
  CHECK(two["layers"][0]["weights"] == "12");
  CHECK(two["layers"][0]["output"] == "12");  // its reader asks for nothing, and takes them
}

TEST_CASE("calibrate: fewer bits, powers of two, other tools' rules, every method") {
  const CommandFolder folder;
  folder.good(kImport);
  for (const std::string options : {"--set all:bits=6", "--power-of-two", "--compat tengine", "--compat ppq",
                                    "--method kl", "--method aciq", "--set weights:rounding=half-up",
                                    "--set weights:rounding=down,bits=8", "--weight-bits 5"}) {
    CAPTURE(options);
    const auto made = folder.json(kCalibrate + " " + options);
    CHECK(made["sqnr_db"] > 10);
    folder.good("verify %/int8.itg");
    CHECK(folder.json("eval %/int8.itg --images @/test --labels @/test_labels.txt --json")["top1"] > 80);
  }
}

TEST_CASE("simulate takes the scales of a file, of activations and weights") {
  const CommandFolder folder;
  folder.good(kImport);
  folder.good(kCalibrate + " --recover none --int8-answers");
  folder.good("params export %/int8.itg -o %/known.json --format ppq");
  const std::string form = kSimulate + " --int8-answers --exact --json";
  const std::string params = " --params %/known.json --params-format ppq";
  const auto figure = [&](const std::string& options) {
    return folder.json(form + options)["sqnr_db"].get<double>();
  };
  CHECK(figure(params + " --method minmax") == figure(""));
  CHECK(figure(" --method minmax") != figure(""));
  CHECK(figure(params + " --set all:rounding=half-up") > 10);
  CHECK(folder.run(kSimulate + " --map %/none.txt").code == 2);  // nothing to rename
}

TEST_CASE("what cannot be is refused with slot and remedy, and nothing is written") {
  const CommandFolder folder;
  folder.good(kImport);
  const struct {
    const char *options, *problem;
  } cases[] = {{"--set all:bits=9", "9 bits"},
               {"--set activations:rounding=half-up", "rounding half-up"},
               {"--set activations:rounding=down", "rounding down"},
               {"--set weights:policy=per-channel+linear+asymmetric", "asymmetric weights"},
               {"--set weights:policy=per-channel+exponential+symmetric", "exponential"},
               {"--set activations:policy=per-channel+linear+symmetric", "a scale a channel"}};
  for (const auto& c : cases) {
    CAPTURE(std::string(c.options));
    const Ran ran = folder.run(kCalibrate + " " + c.options);
    CHECK(ran.code == 1);
    CHECK(holds(ran.err, c.problem));
    CHECK(holds(ran.err, "simulate it"));
    CHECK(folder.run("verify %/int8.itg").code == 1);
  }
  const struct {
    const char *setting, *problem;
    int code = 2;  // wrong whatever the model holds
  } wrong[] = {{"all", "is not like"},
               {"all:bits", "is not like"},
               {"all:bits=1", "2 to 32"},
               {"all:bits=four", "no number"},
               {"all:rounding=none", "there are half-even"},
               {"all:policy=linear+linear", "is missing"},
               {"all:policy=fast", "no property"},
               {"all:color=1", "no setting"},
               {"nothing/out:bits=4", "has no node", 1},
               {"nothing/inx:bits=4", "no number", 1}};
  for (const auto& c : wrong) {
    CAPTURE(std::string(c.setting));
    const Ran ran = folder.run(kSimulate + " --set " + c.setting);
    CHECK(ran.code == c.code);
    CHECK(holds(ran.err, "--set " + std::string(c.setting)));
    CHECK(holds(ran.err, c.problem));
  }
  const Ran by_channel = folder.run(kSimulate + " --set activations:policy=per-channel+linear+symmetric");
  CHECK(by_channel.code == 1);
  CHECK(folder.run(kSimulate + " --method magic").code == 2);
}

}  // namespace intaglio::test::cli_simulate_test
