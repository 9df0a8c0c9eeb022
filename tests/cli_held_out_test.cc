// The figures of `calibrate` hold for pictures that it has not seen, on the demo's network.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "calibrator/host/system/npy.h"
#include "tests/support/model_builder.h"
#include "tests/support/random.h"
#include "tests/support/run_cli.h"
#include "tests/support/sanitized.h"

namespace intaglio::test::cli_held_out_test {

using intaglio::DType;
using intaglio::Op;

namespace {

const std::string kImport = "import @/meter.onnx -o %/net.itg --mean 127.5 --norm 0.00784313725490196";

// The names of the calibration pictures, sorted.
std::vector<std::string> pictures() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(ITG_DEMO) + "/calibration"))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Demo : public CommandFolder {
 public:
  Demo() { good(kImport); }

  void list(const std::vector<std::string>& names) const {
    std::string lines;
    for (const std::string& name : names) lines += name + "\n";
    put("list.txt", lines);
  }
  std::string calibrate(const std::vector<std::string>& names, const std::string& more) const {
    list(names);
    return "calibrate %/net.itg --images @/calibration --only %/list.txt -o %/int8.itg" + more;
  }
  void observe(const std::vector<std::string>& names, const std::string& state) const {
    list(names);
    good("observe %/net.itg --images @/calibration --only %/list.txt -o " + state);
  }
  nlohmann::json figures(const std::vector<std::string>& names, const std::string& more = "") const {
    return json(calibrate(names, more + " --json"));
  }
  // SQNR of the model that was written, on 400 pictures that nothing has seen.
  double true_sqnr() const {
    return json("compare %/net.itg %/int8.itg --images @/test --json")["sqnr_db"].get<double>();
  }
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// `count` of 16: every so many'th, so that each draw holds different digits; of 12, all but every fourth.
std::vector<std::vector<std::string>> draws_of(size_t count) {
  const std::vector<std::string> all = pictures();
  REQUIRE(all.size() == 16);
  const size_t draws = count == 12 ? 4 : all.size() / count;
  std::vector<std::vector<std::string>> found(draws);
  for (size_t draw = 0; draw < draws; ++draw)
    for (size_t i = 0; i < all.size(); ++i)
      if ((i % draws == draw) != (count == 12)) found[draw].push_back(all[i]);
  return found;
}

}  // namespace

TEST_CASE("with 4 to 16 pictures the SQNR is that of others, within 2 dB at the median, never 4 dB above") {
  if (kIsSanitized) return;
  const Demo demo;
  std::vector<double> differences, flattery;
  for (const size_t count : {4, 8, 12, 16})
    for (const std::vector<std::string>& names : draws_of(count)) {
      CAPTURE(count);
      REQUIRE(names.size() == count);
      const auto found = demo.figures(names);
      const double exact = demo.true_sqnr();
      differences.push_back(found["sqnr_db"].get<double>() - exact);
      CHECK(differences.back() < 4);
      CHECK(found["judged"] == count);
      CHECK(found["agreement"].get<double>() >= 0.75);
      CHECK(found["calibration_agreement"] == 1.0);
      CHECK(found["verdict"] != "poor");
      if (count != 4) continue;
      // The figure of the samples themselves is above the truth, most of all where ranges have no room for others.
      const auto tight = demo.figures(names, " --method minmax");
      flattery.push_back(tight["calibration_sqnr_db"].get<double>() - demo.true_sqnr());
    }
  CHECK(std::abs(median(differences)) <= 2);
  CHECK(median(flattery) > 1);
}

TEST_CASE("methods are ranked as other pictures rank them") {
  if (kIsSanitized) return;
  const Demo demo;
  struct Figures {
    double said = 0, exact = 0;  // means over draws
  };
  std::vector<Figures> found;
  const auto draws = draws_of(12);
  for (const char* const method : {"auto", "minmax", "mse", "percentile"}) {
    Figures mean;
    for (const auto& names : draws) {
      mean.said += demo.figures(names, std::string(" --method ") + method)["sqnr_db"].get<double>() / 4;
      mean.exact += demo.true_sqnr() / 4;
    }
    found.push_back(mean);
  }
  for (const Figures& one : found) {
    CAPTURE(one.said);
    CAPTURE(one.exact);
    CHECK(std::abs(one.said - one.exact) < 4);
    for (const Figures& other : found)
      if (one.exact > other.exact + 1.5) CHECK(one.said > other.said);
  }
}

TEST_CASE("fewer than 4 pictures: the figure of a model without corrections, and no verdict") {
  const Demo demo;
  const std::vector<std::string> all = pictures();
  for (const std::ptrdiff_t count : {1, 2, 3}) {
    CAPTURE(count);
    const auto found = demo.figures({all.begin(), all.begin() + count});
    CHECK(found["judged"] == 0);
    CHECK(found["agreement"].is_null());
    CHECK(found["verdict"].is_null());
    CHECK(found["remedy"].get<std::string>().find("more samples") != std::string::npos);
    const double exact = demo.true_sqnr();
    CHECK(found["sqnr_db"].get<double>() < exact + 6);
    CHECK(found["calibration_sqnr_db"].get<double>() > exact);
    const auto tight = demo.figures({all.begin(), all.begin() + count}, " --method minmax");
    CHECK(tight["calibration_sqnr_db"].get<double>() > demo.true_sqnr() + 4.5);
    const auto plain = demo.figures({all.begin(), all.begin() + count}, " --recover none");
    CHECK(plain["sqnr_db"].get<double>() == doctest::Approx(found["sqnr_db"].get<double>()).epsilon(1e-9));
  }
  const std::string text = demo.good(demo.calibrate({all[0]}, "")).out;
  for (const char* const part : {"without corrections", "verdict      none", "on the calibration samples"})
    CHECK(holds(text, part));
}

TEST_CASE("the same figures with any threads and in any order") {
  const Demo demo;
  std::vector<std::string> all = pictures();
  const auto found = demo.figures(all);
  std::reverse(all.begin(), all.end());
  const auto again = demo.figures(all, " --threads 3");
  for (const char* const key : {"sqnr_db", "agreement", "calibration_sqnr_db", "verdict", "sha256"}) {
    CAPTURE(key);
    if (found[key].is_number())
      CHECK(again[key].get<double>() == doctest::Approx(found[key].get<double>()).epsilon(1e-12));
    else
      CHECK(again[key] == found[key]);
  }
}

TEST_CASE("samples that were observed before have been seen, the new pictures judge") {
  const Demo demo;
  const std::vector<std::string> all = pictures();
  demo.observe({all.begin(), all.begin() + 3}, "%/first.itgcal");
  demo.observe({all.begin(), all.begin() + 4}, "%/four.itgcal");
  const auto one = demo.figures({all[3]}, " --from %/first.itgcal");
  CHECK(one["judged"] == 1);
  const auto rest = demo.figures({all.begin() + 4, all.end()}, " --from %/four.itgcal");
  CHECK(rest["judged"] == 12);
  CHECK(std::abs(rest["sqnr_db"].get<double>() - demo.true_sqnr()) < 4);
}

TEST_CASE("samples that mixed precision holds out judge the model that is written") {
  const Demo demo;
  const auto found = demo.figures(pictures(), " --min-sqnr 20");
  CHECK(found["judged"] == 4);
  CHECK(found["sqnr_db"].get<double>() <= found["mixed"]["sqnr_db_after"].get<double>() + 1e-9);
  CHECK(found["sqnr_db"].get<double>() > found["mixed"]["sqnr_db_after"].get<double>() - 4);
}

TEST_CASE("the verdict, and what to do first") {
  const Demo demo;
  const auto good = demo.figures(pictures());
  CHECK(good["verdict"] == "good");
  CHECK(good["remedy"].is_null());
  const auto poor = demo.figures(pictures(), " --weight-bits 2");
  CHECK(poor["verdict"] == "poor");
  CHECK(holds(poor["remedy"].get<std::string>(), "without --weight-bits: that gains "));
  const std::string text = demo.good(demo.calibrate(pictures(), " --weight-bits 2")).out;
  for (const char* const part : {"verdict      poor", "remedy       ", "to be expected of other samples"})
    CHECK(holds(text, part));
  // Pictures that are all one class to the FP32 model: its preprocessing may be wrong.
  std::string list, line;
  std::ifstream labels(std::string(ITG_DEMO) + "/test_labels.txt");
  for (int count = 0; count < 8 && std::getline(labels, line);)
    if (line.substr(line.find(' ') + 1) == "0") {
      list += line.substr(0, line.find(' ')) + "\n";
      ++count;
    }
  demo.put("zeros.txt", list);
  const auto one = demo.json(
      "calibrate %/net.itg --images @/test --only %/zeros.txt -o %/int8.itg --json --weight-bits 2");
  CHECK(one["judged"] == 8);
  CHECK(one["verdict"] != "good");
  CHECK(holds(one["remedy"].get<std::string>(),
              "check the preprocessing first, since the FP32 model gives one class"));
}

TEST_CASE("a remedy that was tried gives what it says, and a good model costs no trial") {
  const Demo demo;
  CHECK(demo.figures(pictures())["trial"].is_null());
  CHECK(demo.figures(pictures(), " --weight-bits 2 --min-sqnr 5")["trial"].is_null());
  // An option that costs decibels is left out; else layers stay in FP32.
  for (const char* const worse : {" --weight-bits 2", " --set weights:bits=3"}) {
    CAPTURE(worse);
    const bool has_option = holds(worse, "--weight-bits");
    const auto found = demo.figures(pictures(), worse);
    const auto trial = found["trial"];
    REQUIRE(trial["helps"] == true);
    CHECK((trial["left_out"] == std::vector<std::string>{"weight-bits"}) == has_option);
    CHECK(trial["keep_float"].empty() == has_option);
    CHECK(trial["gain_db"].get<double>() >= 1);
    CHECK(trial["sqnr_db_before"] == found["sqnr_db"]);
    for (const char* const figure : {"ms", "ms_int8", "ms_fp32"}) CHECK(trial[figure].get<double>() > 0);
    const double before = demo.true_sqnr();
    // The command makes the model that was tried.
    const std::string command = found["command"];
    CHECK(holds(command, "--weight-bits") == false);
    const auto followed = demo.json(command.substr(std::string("intaglio ").size()) + " --json");
    CHECK(followed["sqnr_db"].get<double>() ==
          doctest::Approx(trial["sqnr_db_after"].get<double>()).epsilon(1e-9));
    CHECK(std::filesystem::file_size(demo / "int8.itg") == trial["bytes"].get<size_t>());
    CHECK(demo.true_sqnr() - before > 0.5 * trial["gain_db"].get<double>());
  }
  const std::string text = demo.good(demo.calibrate(pictures(), " --weight-bits 2")).out;
  for (const char* const part : {"tried: ", " ms a run here instead of ", " bytes instead of "})
    CHECK(holds(text, part));
}

TEST_CASE("a sum of which next to nothing is left is named") {
  const CommandFolder folder;
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kF32, {1, 4, 4, 1}),
                wide = b.tensor("wide", DType::kF32, {1, 4, 4, 1}),
                near = b.tensor("near", DType::kF32, {1, 4, 4, 1}),
                left = b.tensor("left", DType::kF32, {1, 4, 4, 1});
  b.input(x);
  b.output(left);
  b.node(Op::kTanh, {x}, {wide});
  b.node(Op::kMul, {wide, b.constant("factors", DType::kF32, {1, 4, 4, 1}, std::vector<float>(16, 1.00001f))},
         {near});
  b.node(Op::kSub, {wide, near}, {left}).name = "difference";
  const AlignedBytes file = b.finish();
  folder.put("net.itg", std::vector<uint8_t>(file.view().begin(), file.view().end()));
  Random random(3);
  const std::vector<float> values = random.reals(8 * 16, -1.0f, 1.0f);
  REQUIRE(
      intaglio::write_npy(folder / "x.npy", intaglio::NpyType::kF32, {8, 4, 4, 1},
                          {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)}));
  const Ran ran = folder.good("calibrate %/net.itg --images %/x.npy -o %/int8.itg");
  CHECK(holds(ran.err, "node 'difference'"));
  CHECK(holds(ran.err, "--keep-float"));
}

}  // namespace intaglio::test::cli_held_out_test
