// From the demo's network to a checked int8 model, as README tells it.
#include <algorithm>
#include <filesystem>

#include "calibrator/host/system/npy.h"
#include "tests/support/run_cli.h"
#include "tests/support/small_onnx_network.h"

namespace intaglio::test::cli_demo_test {
namespace {

const std::string kImport = "import @/meter.onnx -o %/net.itg --mean 127.5 --norm 0.00784313725490196";
const std::string kCalibrate = "calibrate %/net.itg --images @/calibration -o %/int8.itg";
const std::string kTest = " --images @/test --labels @/test_labels.txt --json";

}  // namespace

TEST_CASE("import, calibrate, eval, compare") {
  const CommandFolder folder;
  const Ran imported = folder.good(kImport);
  for (const char* const part : {"'image': picture rgb 28 x 28, (pixel - 127.5) * 0.00784314, stretch; f32",
                                 "'probabilities': 1x10 f32", "nodes", "weights", "arena"})
    CHECK(holds(imported.out, part));
  folder.good("verify %/net.itg");

  const auto calibrated = folder.json(kCalibrate + " --json");
  CHECK(calibrated.size() == 17);
  REQUIRE(!calibrated["stages"].empty());
  double seconds = 0.0;
  for (const auto& stage : calibrated["stages"]) {
    CHECK(!stage["name"].get<std::string>().empty());
    CHECK(stage["seconds"] >= 0.0);
    seconds += stage["seconds"].get<double>();
  }
  CHECK(seconds <= calibrated["seconds"].get<double>());
  CHECK(calibrated["images"] == 16);
  CHECK(calibrated["seconds"] > 0);
  CHECK(calibrated["sqnr_db"] > 25);
  CHECK(calibrated["agreement"] >= 0.9);
  CHECK(calibrated["sha256"].get<std::string>().size() == 64);
  folder.good("verify %/int8.itg");

  const auto fp32 = folder.json("eval %/net.itg" + kTest), int8 = folder.json("eval %/int8.itg" + kTest);
  CHECK(fp32.size() == 3);
  CHECK(fp32["count"] == 400);
  CHECK(fp32["top1"] == 98.25);  // as demo/README.md has it from onnxruntime
  CHECK(int8["top1"] >= 96.0);
  CHECK(int8["top5"] >= int8["top1"]);

  const auto compared = folder.json("compare %/net.itg %/int8.itg" + kTest);
  CHECK(compared["count"] == 400);
  CHECK(compared["agreement"] >= 0.97);
  CHECK(compared["cosine"] > 0.99);
  CHECK(compared["sqnr_db"] > 20);
  CHECK(compared["top1_a"] == fp32["top1"]);
  CHECK(compared["top1_b"] == int8["top1"]);
  CHECK(compared["loss_is_real"] == false);
  REQUIRE(compared["layers"].size() > 5);
  for (const auto& layer : compared["layers"]) {
    for (const char* const key : {"name", "op", "cosine", "sqnr_db", "clipped"}) CHECK(layer.contains(key));
    if (layer["clipped"].is_null()) {  // its channels have scales of their own
      CHECK(compared["channels_scaled"] == true);
      continue;
    }
    CHECK(layer["clipped"] >= 0);
    CHECK(layer["clipped"] <= 1);
  }

  const auto same = folder.json("compare %/net.itg %/net.itg --images @/calibration --json");
  CHECK(same["agreement"] == 1);
  CHECK(same["sqnr_db"].is_null());

  // People get the same figures.
  CHECK(holds(folder.good("eval %/net.itg --images @/test --labels @/test_labels.txt").out,
              "98.25 %   393 of 400"));
  const Ran table = folder.good("compare %/net.itg %/int8.itg --images @/calibration");
  CHECK(holds(table.out, "alone dB"));
  CHECK(holds(table.out, "logits"));
  CHECK(holds(folder.good("inspect %/int8.itg --ops --plan --quant").out, "auto"));
}

TEST_CASE("what a depthwise layer reads has scales of its own a channel, and no figures in compare") {
  const CommandFolder folder;
  folder.good(kImport);
  folder.good(kCalibrate + " --recover depthwise");
  const auto compared = folder.json("compare %/net.itg %/int8.itg --images @/calibration --json");
  CHECK(compared["channels_scaled"] == true);
  size_t scaled = 0;
  for (const auto& layer : compared["layers"]) {
    if (layer["clipped"].is_null())
      ++scaled;
    else
      CHECK(layer["clipped"] <= 1);
  }
  CHECK(scaled == 5);  // the stem behind ReLU6, its pool, and the three pointwise layers
}

TEST_CASE("layers around a function with factors of its channels have no figures in compare") {
  const CommandFolder folder;
  folder.put("uneven.onnx", uneven_network().bytes());
  folder.good("import %/uneven.onnx -o %/net.itg --pixels 0..1");
  folder.good("calibrate %/net.itg --images @/calibration --limit 6 --recover depthwise -o %/int8.itg");
  const auto compared = folder.json("compare %/net.itg %/int8.itg --images @/calibration --json");
  CHECK(compared["channels_scaled"] == true);
  int grouped = 0;
  for (const auto& layer : compared["layers"]) {
    grouped += layer["op"] == "GroupedLookup";
    if (layer["op"] == "GroupedLookup") CHECK(layer["sqnr_db"].is_null());
    if (!layer["sqnr_db"].is_null()) CHECK(layer["sqnr_db"] > 20);
  }
  CHECK(grouped > 0);
}

TEST_CASE("safe pairs") {
  const CommandFolder folder;
  folder.good(kImport);
  folder.good(kCalibrate + " --safe-pairs --recover default");
  const Ran inspected = folder.good("inspect %/int8.itg");
  CHECK(holds(inspected.out, "8-bit weights in safe pairs"));
  CHECK(!holds(inspected.out, "adaptive rounding"));
  const auto nodes = folder.json("inspect %/int8.itg --ops --json");
  for (const auto& op : nodes["ops"])
    if (op.contains("safe_pairs")) CHECK(op["safe_pairs"] == 1.0);
}

TEST_CASE("the same samples give the same bytes, whatever the threads, kernels and order") {
  const CommandFolder folder;
  folder.good(kImport);
  const Ran human = folder.good(kCalibrate);
  CHECK(holds(human.out, "SHA-256"));
  const std::string bytes = folder.get("int8.itg");
  folder.good("calibrate %/net.itg --images @/calibration -o %/b.itg --json --threads 2");
  CHECK(folder.get("b.itg") == bytes);

  const auto scalar = folder.json("eval %/int8.itg" + kTest + " --isa scalar --limit 50");
  CHECK(scalar == folder.json("eval %/int8.itg" + kTest + " --limit 50 --threads 2"));
}

TEST_CASE("a failed calibration leaves the old file as it was") {
  const CommandFolder folder;
  folder.good(kImport);
  folder.put("int8.itg", std::string("the ITG1 old one"));
  folder.put("pictures.txt", std::string("digit_0001.png\nnone.png\n"));
  folder.bad(kCalibrate + " --only %/pictures.txt", "none.png");
  folder.bad(kCalibrate + " --keep-float nose", "nose");
  folder.bad("calibrate %/net.itg --images @/meter.onnx -o %/int8.itg", "meter.onnx");
  CHECK(folder.get("int8.itg") == "the ITG1 old one");
  folder.good(kCalibrate);
  CHECK(folder.get("int8.itg") != "the ITG1 old one");
  for (const std::string words :
       {"calibrate %/int8.itg --images @/calibration -o %/x.itg",
        "simulate %/int8.itg --images @/calibration", "params import %/int8.itg %/int8.itg -o %/x.itg"})
    folder.bad(words, "only FP32 models can be calibrated; give the model that 'intaglio import' made");
  folder.bad("compare %/int8.itg %/net.itg --images @/test", "net.itg, which is FP32, first");
  folder.bad("compare %/int8.itg %/int8.itg --images @/test", "int8.itg: is not FP32 throughout");
  std::vector<std::string> names = folder.names();
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"int8.itg", "net.itg", "pictures.txt"});
}

TEST_CASE("what a command writes is neither its input nor written twice, by whatever name") {
  const CommandFolder folder;
  folder.good("import @/meter.onnx -o %/net.itg --pixels -1..1 --outputs probabilities,logits");
  const std::string calibrate = "calibrate %/net.itg --images @/calibration --limit 4 -o ";
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(folder / "");
  folder.bad(calibrate + "new.itg --report ./new.itg", "is the model to write");
  std::filesystem::current_path(here);
  std::filesystem::create_symlink("new.itg", folder / "link");
  folder.bad(calibrate + "%/new.itg --report %/link", "is the model to write");
  folder.bad(calibrate + "%/link --report %/new.itg", "is the model to write");
  folder.good(calibrate + "%/int8.itg");
  const std::string before = folder.get("int8.itg");
  folder.bad("calibrate %/net.itg --params %/int8.itg -o %/int8.itg", "is the input, which would be lost");
  CHECK(folder.get("int8.itg") == before);

  const std::vector<uint8_t> pixels(28 * 28, 100);
  const auto picture =
      intaglio::npy_file(intaglio::NpyType::kU8, {1, 28, 28}, {pixels.data(), pixels.size()});
  folder.put("y.0.npy", picture);
  const std::string input = folder.get("y.0.npy");
  folder.bad("run %/net.itg --input %/y.0.npy --output %/y.npy",
             "y.0.npy: is the input, which would be lost");
  folder.put("z.1.npy", std::string("somebody's"));
  folder.bad("run %/net.itg --input %/y.0.npy --output %/z.npy",
             "z.1.npy: is there already, is no .npy array");
  CHECK(folder.get("y.0.npy") == input);
  for (int i = 0; i < 2; ++i)
    CHECK(holds(folder.good("run %/net.itg --input %/y.0.npy --output %/x.npy").out, "x.0.npy, "));
}

TEST_CASE("what is no model is not overwritten by one, and what is no page not by a report") {
  const CommandFolder folder;
  folder.good(kImport);
  for (const char* const file : {"labels.txt", "net.bin", "picture.png"}) {
    folder.put(file, std::string("somebody's, and the only one"));
    const std::string output = " -o %/" + std::string(file);
    for (const std::string& words :
         {"import @/meter.onnx" + output, "calibrate %/net.itg --images @/calibration" + output,
          "plan %/net.itg --memory least" + output, kCalibrate + " --report %/" + file,
          "params import %/net.itg %/none.json" + output, "params prune %/net.itg %/none.json" + output,
          "export-tflite %/net.itg" + output, "export-onnx %/net.itg --from @/meter.onnx" + output})
      folder.bad(words, "and would be lost; name another file");
    CHECK(folder.get(file) == "somebody's, and the only one");
  }
  folder.put("empty.itg", std::string());
  folder.good("import @/meter.onnx -o %/empty.itg");
  folder.good(kCalibrate + " --report %/page.html");
  folder.good(kCalibrate + " --report %/page.html");
  folder.put("home.html", std::string("<!DOCTYPE html>\n<html lang=\"en\"><head><title>Mine</title>"));
  folder.bad(kCalibrate + " --report %/home.html", "is there already, is no report, and would be lost");
  for (int i = 0; i < 2; ++i) {
    folder.good("export-tflite %/int8.itg -o %/int8.tflite");
    folder.good("export-onnx %/int8.itg --from @/meter.onnx -o %/int8.onnx");
  }
}

TEST_CASE("calibration warns of suspicious samples") {
  const CommandFolder folder;
  folder.good(kImport);
  folder.put("one.txt", std::string("digit_0001.png\n"));
  std::vector<uint8_t> pictures(3 * 28 * 28, 0);
  std::fill(pictures.end() - 28 * 28, pictures.end(), uint8_t{200});
  folder.put("flat.npy",
             intaglio::npy_file(intaglio::NpyType::kU8, {3, 28, 28}, {pictures.data(), pictures.size()}));
  const Ran flat = folder.good("calibrate %/net.itg --images %/flat.npy -o %/x.itg");
  CHECK(holds(flat.err, "the same content as another; each counts (sample 1)"));
  CHECK(holds(flat.err, "one value everywhere (3 of them: 0, 1, 2)"));
  std::vector<float> values(28 * 28 * 3, 200.0f);
  values[0] = 0.0f;
  folder.put("raw.npy",
             intaglio::npy_file(intaglio::NpyType::kF32, {1, 28, 28, 3},
                                {reinterpret_cast<const uint8_t*>(values.data()), values.size() * 4}));
  CHECK(holds(
      folder.good("calibrate %/net.itg --images %/raw.npy -o %/x.itg").err,
      "values that no pixel gives by the model's preprocessing (they hold 0 to 200, its pixels -1 to 1); the "
      "input's range is taken from them (sample 0)"));
}

TEST_CASE("run writes what it shows") {
  const CommandFolder folder;
  folder.good(kImport);
  folder.good(kCalibrate);
  const auto shown =
      folder.json("run %/int8.itg --input @/test/digit_0007.png --top 3 --json --output %/y.npy");
  const auto& top = shown["samples"][0]["outputs"][0]["top"];
  REQUIRE(top.size() == 3);
  CHECK(top[0]["class"] == 6);
  const auto array = intaglio::read_npy(folder / "y.npy");
  REQUIRE(array);
  CHECK(array->header.shape == std::vector<int64_t>{1, 10});
  CHECK(array->as<float>()[6] == top[0]["score"].get<float>());
  folder.good(kCalibrate + " --int8-answers");
  folder.good("run %/int8.itg --input @/test/digit_0007.png --raw --output %/q.npy");
  const auto codes = intaglio::read_npy(folder / "q.npy");
  REQUIRE(codes);
  CHECK(codes->header.type == intaglio::NpyType::kS8);
  // A float array that holds what the recipe makes of the picture gives the same.
  CHECK(holds(folder.good("run %/net.itg --input @/test/digit_0007.png").out, "class     6"));
  folder.put("names", "zero\none\ntwo\nthree\nfour\nfive\nsix and more\nseven\neight\nnine\n");
  const std::string named = "run %/net.itg --input @/test/digit_0007.png --names ";
  CHECK(holds(folder.good(named + "%/names").out, "   six and more\n"));
  CHECK(folder.json(named + "%/names --json")["samples"][0]["outputs"][0]["top"][0]["label"] ==
        "six and more");
  folder.put("few", "zero\none\n");
  folder.bad(named + "%/few", "holds 2 names, the model has 10 classes");
  folder.put("gap", "zero\n\ntwo\n");
  folder.bad(named + "%/gap", "line 2: is empty; each class needs a name");
  folder.bad(named + "%/absent", "absent");
}

}  // namespace intaglio::test::cli_demo_test
