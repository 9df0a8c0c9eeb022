// Samples that are observed in several places: `observe`, `merge` and `calibrate --from`.
#include <filesystem>

#include "calibrator/host/system/npy.h"
#include "intaglio/calibrator.h"
#include "runtime/crc32.h"
#include "tests/support/model_builder.h"
#include "tests/support/random.h"
#include "tests/support/run_cli.h"

namespace intaglio::test::cli_observe_test {
namespace {

// The demo's network and its 16 pictures, of which the first six are elsewhere.
class Places : public CommandFolder {
 public:
  Places() {
    good("import @/meter.onnx -o %/net.itg --mean 127.5 --norm 0.00784313725490196");
    std::string here, there;
    for (int i = 1; i <= 16; ++i)
      (i <= 6 ? there : here) += "digit_00" + std::string(i < 10 ? "0" : "") + std::to_string(i) + ".png\n";
    put("here.txt", here);
    put("there.txt", there);
  }
  void observe(const std::string& name, const std::string& more = "") const {
    good("observe %/net.itg --images @/calibration --only %/" + name + ".txt -o %/" + name + ".itgcal" +
         more);
  }
};

const std::string kObserve = "observe %/net.itg --images @/calibration -o %/all.itgcal";

}  // namespace

TEST_CASE("parts merge to what all samples together give, in any order and by any number of threads") {
  const Places places;
  places.observe("here");
  places.observe("there", " --threads 2");
  const auto all = places.json(kObserve + " --json");
  CHECK(all["samples"] == 16);
  CHECK(all["bytes"] == places.get("all.itgcal").size());
  const auto merged = places.json("merge %/here.itgcal %/there.itgcal -o %/one.itgcal --json");
  REQUIRE(merged["states"].size() == 2);
  CHECK(merged["states"][1]["samples"] == 6);
  CHECK(merged["states"][1]["octaves"] == 0);  // of two nobody knows which one is the other
  CHECK(merged["samples"] == 16);
  CHECK(merged["bytes"] == all["bytes"]);
  places.good("merge %/there.itgcal %/here.itgcal -o %/other.itgcal");
  CHECK(places.get("one.itgcal") == places.get("all.itgcal"));
  CHECK(places.get("other.itgcal") == places.get("all.itgcal"));
  places.good("merge %/one.itgcal -o %/again.itgcal");
  CHECK(places.get("again.itgcal") == places.get("all.itgcal"));
}

TEST_CASE("a model from what was observed: of one file, of several, or with samples that are at hand") {
  const Places places;
  places.observe("here");
  places.observe("there");
  places.good(kObserve);
  const Ran alone = places.good("calibrate %/net.itg --from %/all.itgcal -o %/alone.itg");
  CHECK(holds(alone.out, "No sample is at hand, so nothing was measured."));
  CHECK(holds(alone.out, "0 in "));
  CHECK(holds(alone.out, "16 with those observed before"));
  CHECK(!holds(alone.out, "output SQNR  "));
  places.good("verify %/alone.itg");
  const auto parts =
      places.json("calibrate %/net.itg --from %/there.itgcal --from %/here.itgcal -o %/parts.itg --json");
  CHECK(parts["verdict"].is_null());
  CHECK(parts["sqnr_db"].is_null());
  CHECK(parts["images"] == 0);
  const std::string with_samples =
      "calibrate %/net.itg --from %/there.itgcal --images @/calibration --only %/here.txt";
  const auto judged = places.json(with_samples + " -o %/judged.itg --json");
  CHECK(judged["judged"] == 10);
  CHECK(places.get("alone.itg") == places.get("parts.itg"));
  CHECK(places.json("inspect %/parts.itg --json")["calibration"]["samples"] == 16);
  CHECK(places.get("alone.itg") == places.get("judged.itg"));
  CHECK(places.json("compare %/net.itg %/alone.itg --images @/test --json")["sqnr_db"] > 20);
}

TEST_CASE("what is merged, and calibrated from, has to be of one model, once, and whole") {
  const Places places;
  places.observe("here");
  places.observe("there");
  places.good("observe %/net.itg --images @/calibration -o %/tengine.itgcal --compat tengine");
  const std::string state = places.get("here.itgcal");
  const auto refused = [&](const std::string& words, const std::string& why) {
    CAPTURE(words);
    places.bad("merge %/there.itgcal " + words + " -o %/new.itgcal", why);
    places.bad("calibrate %/net.itg --from %/there.itgcal --from " + words + " -o %/new.itg", why);
  };
  refused("%/there.itgcal", "there.itgcal: holds just the samples of");
  refused("%/tengine.itgcal", "tengine.itgcal: was observed with another model, or with other options, than");
  refused("%/net.itg", "net.itg: is no calibration state; give what 'intaglio observe' made");
  refused("%/none.itgcal", "none.itgcal: no such file");
  places.put("cut.itgcal", state.substr(0, state.size() / 2));
  refused("%/cut.itgcal", "cut.itgcal: the calibration state is damaged");
  std::string flipped = state;
  flipped[state.size() / 2] = static_cast<char>(flipped[state.size() / 2] ^ 1);
  places.put("flipped.itgcal", flipped);
  refused("%/flipped.itgcal", "is damaged");
  std::string newer = state;
  newer[4] = 99;
  const uint32_t crc = crc32(0, reinterpret_cast<const uint8_t*>(newer.data()), newer.size() - 4);
  memcpy(&newer[newer.size() - 4], &crc, 4);
  places.put("newer.itgcal", newer);
  refused("%/newer.itgcal", "newer.itgcal: was written by another version of the library");
  places.put("empty.itgcal", std::string());
  refused("%/empty.itgcal", "empty.itgcal: is empty");
  CHECK(places.get("new.itgcal") == "");
  CHECK(places.get("new.itg") == "");
  places.bad("calibrate %/net.itg --from %/tengine.itgcal -o %/new.itg",
             "tengine.itgcal: was observed with another model, or with other options");
  places.good("calibrate %/net.itg --from %/tengine.itgcal --compat tengine -o %/tengine.itg");
}

TEST_CASE("nothing that is read is written over, and the same samples twice are warned of") {
  const Places places;
  places.observe("here");
  places.observe("there");
  places.bad("merge %/here.itgcal %/there.itgcal -o %/there.itgcal", "is the input, which would be lost");
  places.bad("observe %/net.itg --images @/calibration -o %/net.itg", "is the input, which would be lost");
  places.bad("calibrate %/net.itg --from %/here.itgcal -o %/here.itgcal", "is the input");
  const std::string twice =
      "calibrate %/net.itg --images @/calibration --only %/here.txt -o %/new.itg --from ";
  places.bad(twice + "%/here.itgcal --report %/here.itgcal", "is the input");
  CHECK(holds(places.good(twice + "%/here.itgcal").err, "each counts twice now"));
  CHECK(!holds(places.good(twice + "%/there.itgcal").err, "each counts twice"));
}

TEST_CASE("a board's state is that of the command, and one of more bins merges with it in either order") {
  const Places places;
  constexpr size_t kSamples = 3, kElements = 28 * 28 * 3;
  const std::vector<float> values = Random(5).reals(kSamples * kElements, -1.0f, 1.0f);
  REQUIRE(write_npy(places / "x.npy", NpyType::kF32, {kSamples, 28, 28, 3},
                    {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)}));
  places.good("observe %/net.itg --input %/x.npy -o %/command.itgcal");
  const std::string file = places.get("net.itg");
  AlignedBytes network(file.size());
  memcpy(network.data(), file.data(), file.size());
  const Model model = *Model::open(network.view());
  AlignedBytes memory(Calibrator::measure(model)->total());
  Result<Calibrator> board = Calibrator::create(model, memory.span());
  REQUIRE(board);
  for (size_t i = 0; i < kSamples; ++i) {
    const Span<const uint8_t> input{reinterpret_cast<const uint8_t*>(&values[i * kElements]),
                                    kElements * sizeof(float)};
    REQUIRE(board->add({&input, 1}).ok());
  }
  std::string state(board->state_bytes(), '\0');
  REQUIRE(board->save({reinterpret_cast<uint8_t*>(state.data()), state.size()}).ok());
  CHECK(state == places.get("command.itgcal"));
  places.observe("here", " --method kl");
  CHECK(places.get("here.itgcal").size() > 2 * state.size());
  places.good("merge %/here.itgcal %/command.itgcal -o %/one.itgcal");
  places.good("merge %/command.itgcal %/here.itgcal -o %/other.itgcal");
  CHECK(places.get("one.itgcal") == places.get("other.itgcal"));
  places.observe("here");
  places.good("merge %/here.itgcal %/command.itgcal -o %/few.itgcal");
  CHECK(places.get("few.itgcal") == places.get("one.itgcal"));
  places.bad("calibrate %/net.itg --from %/one.itgcal --method kl -o %/kl.itg", "one.itgcal: ");
}

TEST_CASE("a place whose values are far from the others' is named") {
  const Places places;
  std::string files;
  for (int i = 1; i <= 6; ++i) {
    const std::string name = "place" + std::to_string(i);
    places.put(name + ".txt", "digit_000" + std::to_string(i) + ".png\n");
    places.observe(name);
    files += " %/" + name + ".itgcal";
  }
  const Ran alike = places.good("merge" + files + " -o %/all.itgcal");
  CHECK(!holds(alike.err, "octaves"));
  std::vector<float> values(28 * 28 * 3);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 1000.0f * static_cast<float>(i % 7) - 3000.0f;
  REQUIRE(write_npy(places / "hostile.npy", NpyType::kF32, {1, 28, 28, 3},
                    {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)}));
  places.good("observe %/net.itg --input %/hostile.npy -o %/hostile.itgcal");
  const Ran warned = places.good("merge" + files + " %/hostile.itgcal -o %/all.itgcal");
  CHECK(holds(warned.err, "hostile.itgcal: a range is "));
  CHECK(warned.err.find("octaves") == warned.err.rfind("octaves"));
  const auto all = places.json("merge" + files + " %/hostile.itgcal -o %/all.itgcal --json");
  for (size_t i = 0; i < 6; ++i) CHECK(all["states"][i]["octaves"] < 3);
  CHECK(all["states"][6]["octaves"] > 4);
}

namespace {

// Ten places of one picture each of `calibration`, and one that lies.
class Fleet : public Places {
 public:
  Fleet() {
    for (int i = 0; i < kHonest; ++i) {
      const std::string name = "p" + std::to_string(i), number = std::to_string(i + 1);
      put(name + ".txt", "digit_00" + std::string(number.size() == 1 ? "0" : "") + number + ".png\n");
    }
  }
  // What the i-th place says; the last one lies, if there is one.
  void say(const std::string& name, const std::string& lie, const std::string& more) const {
    if (name == "lie")
      good("observe %/net.itg --input %/" + lie + " -o %/lie.itgcal" + more);
    else
      observe(name, more);
  }
  // In rounds, or of the state alone; the model's error on other pictures.
  double model(const std::string& lie, const std::string& most, bool rounds) const {
    std::vector<std::string> names;
    for (int i = 0; i < kHonest; ++i) names.push_back("p" + std::to_string(i));
    if (!lie.empty()) names.push_back("lie");
    const auto merge_all = [&](const std::string& more, const std::string& into) {
      std::string files;
      for (const std::string& name : names) {
        say(name, lie, more);
        files = rounds ? files + " %/" + name + ".itgcal" : " %/" + name + ".itgcal" + files;
      }
      good("merge" + files + " -o %/" + into + most);
    };
    merge_all("", "all.itgcal");
    std::string from = " --from %/all.itgcal";
    for (int round = 1; rounds; ++round) {
      const std::string question = "%/" + std::to_string(round) + ".itgq";
      if (run("calibrate %/net.itg -o %/new.itg -q " + question + from).code == 0) break;
      merge_all(" --question " + question, "answers.itgcal");
      from = " --from " + question + " --from %/answers.itgcal";
    }
    if (!rounds) good("calibrate %/net.itg -o %/new.itg" + from);
    return json("compare %/net.itg %/new.itg --images @/test --json")["sqnr_db"];
  }

 private:
  static constexpr int kHonest = 10;
};

}  // namespace

TEST_CASE("--most-of-one: one place in eleven that lies costs at most 0.5 dB") {
  const Fleet fleet;
  constexpr size_t kElements = 28 * 28 * 3;
  std::vector<float> values = Random(5).reals(kElements, -1000.0f, 1000.0f);
  const auto write_lie = [&](const std::string& name) {
    REQUIRE(write_npy(fleet / name, NpyType::kF32, {1, 28, 28, 3},
                      {reinterpret_cast<const uint8_t*>(values.data()), kElements * sizeof(float)}));
  };
  write_lie("loud.npy");
  values.assign(kElements, 1.0f);
  write_lie("constant.npy");
  const std::string most = " --most-of-one 0.1";
  for (const bool rounds : {false, true}) {
    CAPTURE(rounds);
    const double honest = fleet.model("", "", rounds);
    CHECK(fleet.model("", most, rounds) > honest - 0.5);
    CHECK(fleet.model("constant.npy", most, rounds) > honest - 0.5);
    CHECK(fleet.model("loud.npy", "", rounds) < honest - 10);
    CHECK(fleet.model("loud.npy", most, rounds) > honest - 0.5);
  }
}

TEST_CASE("--most-of-one: the order is free, who lies is named, and two places are too few") {
  const Fleet fleet;
  const std::vector<float> values(28 * 28 * 3, 1e6f);
  REQUIRE(write_npy(fleet / "loud.npy", NpyType::kF32, {1, 28, 28, 3},
                    {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)}));
  for (const std::string name : {"p0", "p1", "p2", "p3", "lie"}) fleet.say(name, "loud.npy", "");
  const std::string most = " --most-of-one 0.1";
  const auto said = fleet.json(
      "merge %/p0.itgcal %/lie.itgcal %/p1.itgcal %/p2.itgcal %/p3.itgcal -o %/a.itgcal --json" + most);
  fleet.good("merge %/lie.itgcal %/p3.itgcal %/p2.itgcal %/p0.itgcal %/p1.itgcal -o %/b.itgcal" + most);
  CHECK(fleet.get("a.itgcal") == fleet.get("b.itgcal"));
  CHECK(said["samples"] == 5);
  CHECK(said["states"][1]["moved"] == 1);
  for (const size_t honest : {size_t{0}, size_t{2}, size_t{3}, size_t{4}})
    CHECK(said["states"][honest]["moved"] < 1);
  CHECK(fleet.json("merge %/p0.itgcal %/p1.itgcal -o %/c.itgcal --json")["states"][0]["moved"].is_null());
  fleet.bad("merge %/p0.itgcal %/p1.itgcal -o %/d.itgcal" + most,
            "--most-of-one: of fewer than three states nobody knows which one is the other");
  CHECK(fleet.run("merge %/p0.itgcal %/p1.itgcal -o %/d.itgcal --most-of-one 2").code == 2);
  CHECK(fleet.get("d.itgcal") == "");
}

TEST_CASE("rounds of questions and answers make the model of all samples, and say what is missing") {
  const Places places;
  places.observe("here");
  places.observe("there");
  places.good("merge %/here.itgcal %/there.itgcal -o %/all.itgcal");
  {
    std::string from = " --from %/all.itgcal", question;
    int rounds = 1;
    for (;; ++rounds) {
      question = "%/q" + std::to_string(rounds) + ".itgq";
      const Ran ran = places.run("calibrate %/net.itg -q " + question + from + " -o %/fleet.itg");
      if (ran.code == 0) break;
      REQUIRE(ran.code == 3);
      CHECK(holds(ran.err, "answer it in each place with 'intaglio observe --question'"));
      CHECK(places.get("fleet.itg") == "");
      places.observe("here", " --question " + question);
      places.observe("there", " --question " + question);
      places.good("merge %/there.itgcal %/here.itgcal -o %/answers.itgcal");
      from = " --from " + question + " --from %/answers.itgcal";
    }
    CHECK(places.get(question.substr(2)) == "");
    CHECK(rounds <= 8);
    places.good("calibrate %/net.itg --images @/calibration -o %/plain.itg");
    CHECK(places.get("fleet.itg") == places.get("plain.itg"));
    std::filesystem::remove(places / "fleet.itg");
  }

  const std::string asks = "calibrate %/net.itg -o %/new.itg -q %/new.itgq";
  REQUIRE(places.run("calibrate %/net.itg -o %/new.itg -q %/one.itgq --from %/all.itgcal").code == 3);
  places.observe("here", " --question %/one.itgq");
  places.observe("there", " --question %/one.itgq");
  const auto refused = [&](const std::string& words, const std::string& why) {
    places.bad(asks + words, why);
  };
  refused(" --from %/one.itgq", "one.itgq: its answers are missing");
  refused(" --from %/one.itgq --from %/here.itgcal", "one.itgq: asks 16 samples, and the answers are of 10");
  refused(" --from %/here.itgcal", "here.itgcal: holds answers; give the question that they answer, too");
  refused(" --from %/one.itgq --from %/here.itgcal --from %/here.itgcal", "holds just the samples of");
  refused(" --from %/one.itgq --from %/q1.itgq", "q1.itgq: is a second question");
  refused(" --from %/all.itgcal --from %/here.itgcal",
          "one is a state and the other belongs to a later round");
  refused(" --from %/one.itgq --from %/here.itgcal --from %/there.itgcal --symmetric",
          "one.itgq: asks about another calibration");
  places.bad(
      "calibrate %/net.itg -o %/new.itg -q %/new.itgq --from %/one.itgq --from %/here.itgcal --from %/there.itgcal "
      "--recover method",
      "one.itgq: was asked with another --recover");
  places.bad("calibrate %/net.itg -o %/new.itg -q %/new.itgq --from %/all.itgcal --recover eq",
             "take samples one by one");
  places.bad("observe %/net.itg --images @/calibration -o %/new.itgcal --question %/one.itgq --symmetric",
             "one.itgq: asks about another calibration");
  places.bad("observe %/net.itg --images @/calibration -o %/new.itgcal --question %/here.itgcal",
             "here.itgcal: holds answers, not a question");
  places.bad("merge %/one.itgq %/here.itgcal -o %/new.itgcal", "one.itgq: is a question; merge its answers");
  std::string flipped = places.get("here.itgcal");
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
  places.put("flipped.itgcal", flipped);
  refused(" --from %/one.itgq --from %/flipped.itgcal", "flipped.itgcal: the calibration state is damaged");
  std::string newer = places.get("here.itgcal");
  newer[4] = 99;
  const uint32_t crc = crc32(0, reinterpret_cast<const uint8_t*>(newer.data()), newer.size() - 4);
  memcpy(&newer[newer.size() - 4], &crc, 4);
  places.put("newer.itgcal", newer);
  refused(" --from %/one.itgq --from %/newer.itgcal",
          "newer.itgcal: was written by another version of the library");
  const std::string over = "calibrate %/net.itg --from %/all.itgcal -o %/new.itg -q ";
  places.bad(over + "%/all.itgcal", "all.itgcal: is the input");
  places.bad(over + "%/new.itg", "new.itg: is another file to write");
  CHECK(places.get("new.itg") == "");
  CHECK(places.get("new.itgq") == "");
  CHECK(places.get("new.itgcal") == "");
}

}  // namespace intaglio::test::cli_observe_test
