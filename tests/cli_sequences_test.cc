// Models with states through the command: samples are the steps of sequences.
#include "calibrator/host/system/npy.h"
#include "tests/support/model_builder.h"
#include "tests/support/random.h"
#include "tests/support/run_cli.h"

namespace intaglio::test::cli_sequences_test {
namespace {

constexpr int32_t kInputs = 4, kSize = 6;
constexpr size_t kSequences = 5, kSteps = 8, kSamples = kSequences * kSteps;

// held' = 0.9 held + tanh(W x), scores = V held'.
AlignedBytes leaky_sum() {
  Random random(4);
  ModelBuilder b;
  const auto real = [&](const char* name, int32_t size) { return b.tensor(name, DType::kF32, {1, size}); };
  const int32_t x = real("x", kInputs), held = real("held", kSize), product = real("product", kSize),
                bent = real("bent", kSize), kept = real("kept", kSize), next = real("next", kSize),
                scores = real("scores", 3);
  b.input(x);
  b.output(scores);
  b.node(Op::kFullyConnected,
         {x, b.constant<float>("W", DType::kF32, {kSize, kInputs}, random.reals(kSize * kInputs, -1, 1))},
         {product});
  b.node(Op::kTanh, {product}, {bent});
  b.node(Op::kMul, {held, b.constant<float>("leak", DType::kF32, {1, 1}, {0.9f})}, {kept});
  b.node(Op::kAdd, {kept, bent}, {next});
  b.node(Op::kFullyConnected,
         {next, b.constant<float>("V", DType::kF32, {3, kSize}, random.reals(3 * kSize, -1, 1))}, {scores});
  b.graph().states.push(b.arena(), {held, next, {}});
  return b.finish();
}

void put_all(const CommandFolder& folder) {
  const AlignedBytes net = leaky_sum();
  folder.put("net.itg", std::string(reinterpret_cast<const char*>(net.view().data), net.size()));
  Random random(11);
  const std::vector<float> x = random.reals(kSamples * kInputs, -2.0f, 2.0f);
  REQUIRE(write_npy(folder / "x.npy", NpyType::kF32, {kSamples, kInputs},
                    {reinterpret_cast<const uint8_t*>(x.data()), x.size() * sizeof(float)}));
}

std::vector<float> array(const std::string& path) {
  const auto read = read_npy(path);
  REQUIRE_MESSAGE(read, read.message());
  return {read->as<float>().begin(), read->as<float>().end()};
}

}  // namespace

TEST_CASE("run begins anew with each sequence, and writes the outputs of every step") {
  const CommandFolder folder;
  put_all(folder);
  folder.good("run %/net.itg --input %/x.npy --output %/one.npy");
  folder.good("run %/net.itg --input %/x.npy --output %/five.npy --steps 8");
  const std::vector<float> one = array(folder / "one.npy"), five = array(folder / "five.npy"),
                           x = array(folder / "x.npy");
  RunningModel model(leaky_sum());
  for (const bool sequences : {false, true}) {
    model.session().reset();
    std::vector<float> expected;
    for (size_t i = 0; i < kSamples; ++i) {
      if (sequences && i % kSteps == 0) model.session().reset();
      const auto row = x.begin() + static_cast<std::ptrdiff_t>(i * kInputs);
      const auto y = model.run<float>(std::vector<float>(row, row + kInputs));
      expected.insert(expected.end(), y.begin(), y.end());
    }
    CHECK((sequences ? five : one) == expected);
  }
}

TEST_CASE("eval judges the last step of each sequence") {
  const CommandFolder folder;
  put_all(folder);
  folder.good("run %/net.itg --input %/x.npy --output %/y.npy --steps 8");
  const std::vector<float> y = array(folder / "y.npy");
  std::string labels;
  for (size_t n = 0; n < kSequences; ++n) {
    const float* const scores = &y[((n + 1) * kSteps - 1) * 3];
    labels += std::to_string(std::max_element(scores, scores + 3) - scores) + "\n";
  }
  folder.put("labels.txt", labels);
  const auto all = folder.json("eval %/net.itg --images %/x.npy --labels %/labels.txt --steps 8 --json");
  CHECK(all["count"] == kSequences);
  CHECK(all["top1"] == 100.0);
}

TEST_CASE("a model with states is calibrated by sequences, and its states run on") {
  const CommandFolder folder;
  put_all(folder);
  const Ran made = folder.good("calibrate %/net.itg --images %/x.npy --steps 8 -o %/int8.itg");
  CHECK(holds(
      made.err,
      "state 'held' stays in FP32: arithmetic carries it from step to step, and its rounding would add up"));
  CHECK(holds(made.out, "sequences    5 of 8 steps, each model with its own states: output SQNR "));
  const auto json =
      folder.json("calibrate %/net.itg --images %/x.npy --steps 8 -o %/again.itg --json --threads 2");
  CHECK(folder.get("again.itg") == folder.get("int8.itg"));
  CHECK(json["images"] == kSamples);
  CHECK(json["sequences"]["count"] == kSequences);
  CHECK(json["sequences"]["steps"] == kSteps);
  CHECK(json["sequences"]["sqnr_db"].get<double>() > 25.0);
  const auto compared = folder.json("compare %/net.itg %/int8.itg --images %/x.npy --steps 8 --json");
  CHECK(compared["sqnr_db"] == json["sequences"]["sqnr_db"]);
  const auto in_codes =
      folder.json("calibrate %/net.itg --images %/x.npy --steps 8 -o %/codes.itg --json --int8-states");
  CHECK(in_codes["sequences"]["sqnr_db"].get<double>() < json["sequences"]["sqnr_db"].get<double>());
  folder.good("verify %/int8.itg");
  folder.good("export-c %/int8.itg -o %/checked");
  folder.good("export-c %/int8.itg -o %/planned --planned");
  folder.good("run %/int8.itg --input %/x.npy --output %/y.npy --steps 8");
}

TEST_CASE("what cannot be sequences is refused") {
  const CommandFolder folder;
  put_all(folder);
  folder.bad("run %/net.itg --input %/x.npy --steps 7",
             "40 samples are no sequences of 7 steps; --steps takes a divisor of their number");
  folder.bad("calibrate %/net.itg --images %/x.npy -o %/int8.itg --limit 8",
             "has states, so its samples are the steps of sequences, and none can be left out");
  folder.bad("calibrate %/net.itg --images %/x.npy -o %/int8.itg --min-sqnr 20",
             "has states; layers are judged on samples that do not hang on each other");
}

TEST_CASE("sequences in two places give the model of all of them, in rounds") {
  const CommandFolder folder;
  put_all(folder);
  const std::vector<float> x = array(folder / "x.npy");
  constexpr size_t kHere = 2 * kSteps;
  const auto write = [&](const std::string& name, size_t first, size_t count) {
    REQUIRE(
        write_npy(folder / name, NpyType::kF32, {static_cast<int64_t>(count), kInputs},
                  {reinterpret_cast<const uint8_t*>(&x[first * kInputs]), count * kInputs * sizeof(float)}));
  };
  write("here.npy", 0, kHere);
  write("there.npy", kHere, kSamples - kHere);
  for (const std::string states : {"", " --int8-states"}) {
    CAPTURE(states);
    folder.good("calibrate %/net.itg --images %/x.npy --steps 8 -o %/all.itg" + states);
    const auto observe = [&](const std::string& more) {
      for (const std::string place : {"here", "there"})
        folder.good("observe %/net.itg --images %/" + place + ".npy --steps 8 -o %/" + place + ".itgcal" +
                    states + more);
      folder.good("merge %/here.itgcal %/there.itgcal -o %/seen.itgcal");
    };
    observe("");
    std::string from = " --from %/seen.itgcal", question = "%/1.itgq";
    int rounds = 1;
    while (folder.run("calibrate %/net.itg -o %/fleet.itg -q " + question + from + states).code == 3) {
      observe(" --question " + question);
      from = " --from " + question + " --from %/seen.itgcal";
      question = "%/" + std::to_string(++rounds) + ".itgq";
    }
    CHECK(rounds > 1);
    CHECK(rounds <= 8);
    CHECK(folder.get("fleet.itg") == folder.get("all.itg"));
    CHECK(folder.get("fleet.itg") != "");
  }
}

}  // namespace intaglio::test::cli_sequences_test
