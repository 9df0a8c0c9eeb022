// Data as people have it, and answers that scripts read: --json everywhere, node numbers, batches, class names.
#include <cstring>
#include <filesystem>
#include <fstream>

#include "calibrator/host/system/npy.h"
#include "tests/support/random.h"
#include "tests/support/run_cli.h"

namespace intaglio::test::cli_data_test {
namespace {

bool has_keys(const nlohmann::json& json, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    CAPTURE(key);
    CHECK(json.contains(key));
  }
  return json.size() == keys.size();
}

void make_models(const CommandFolder& folder, const std::string& more = "") {
  folder.good("import @/meter.onnx -o %/net.itg --pixels -1..1" + more);
  folder.good("calibrate %/net.itg --images @/calibration -o %/int8.itg --recover none");
}

// The digit of each test picture, as the demo's list has it: "digit_0001.png 7".
std::vector<std::pair<std::string, int>> labels_of_test() {
  std::vector<std::pair<std::string, int>> labels;
  std::ifstream file(std::string(ITG_DEMO) + "/test_labels.txt");
  std::string name;
  for (int label = 0; file >> name >> label;) labels.emplace_back(name, label);
  REQUIRE(labels.size() > 20);
  return labels;
}

const char* const kDigits[] = {"zero", "one", "two",   "three", "four",
                               "five", "six", "seven", "eight", "nine"};

std::string digit_names() {
  std::string text;
  for (const char* const name : kDigits) text += std::string(name) + "\n";
  return text;
}

// The first number of each line that begins with one: the column "node".
std::vector<int> numbers_of(const std::string& table) {
  std::vector<int> numbers;
  for (size_t start = 0; start < table.size();) {
    const size_t end = std::min(table.find('\n', start), table.size());
    const size_t first = table.find_first_not_of(' ', start);
    if (first < end && table[first] >= '0' && table[first] <= '9')
      numbers.push_back(std::stoi(table.substr(first)));
    CHECK(end - start <= 100);
    start = end + 1;
  }
  return numbers;
}

}  // namespace

TEST_CASE("every command that makes a file says with --json what it made") {
  const CommandFolder folder;
  const auto imported = folder.json("import @/meter.onnx -o %/net.itg --pixels -1..1 --json");
  CHECK(has_keys(imported, {"inputs", "outputs", "states", "preprocessing", "nodes", "weight_bytes",
                            "arena_bytes", "bytes", "work", "memory_bytes", "notes"}));
  CHECK(imported["inputs"][0]["shape"].size() == 4);
  CHECK(imported["preprocessing"][0]["mean"][0] == 127.5);
  CHECK(imported["bytes"] == std::filesystem::file_size(folder / "net.itg"));
  folder.good("calibrate %/net.itg --images @/calibration -o %/int8.itg --recover none");
  const auto verified = folder.json("verify %/int8.itg --json");
  CHECK(has_keys(verified, {"good", "bytes", "format_version", "nodes", "tensors", "arena_bytes", "streamed",
                            "pack_bytes"}));
  CHECK(verified["good"] == true);
  CHECK(verified["bytes"] == std::filesystem::file_size(folder / "int8.itg"));
  const auto packed = folder.json("pack %/int8.itg -o %/packed.itg --isa avx2 --json");
  CHECK(has_keys(packed, {"bytes", "packed_bytes", "nodes", "isa"}));
  CHECK(packed["packed_bytes"] > 0);
  CHECK(folder.json("verify %/packed.itg --json")["pack_bytes"] == packed["packed_bytes"]);
  const auto planned = folder.json("plan %/int8.itg -o %/planned.itg --json");
  CHECK(has_keys(planned,
                 {"bytes", "arena_bytes", "streamed_bytes", "fast_bytes", "slow_bytes", "feeds_rows"}));
  CHECK(planned["streamed_bytes"] < planned["arena_bytes"]);
  const auto sources = folder.json("export-c %/int8.itg -o %/c --planned --json");
  CHECK(
      has_keys(sources, {"target", "files", "kept", "model_bytes", "plan_bytes", "memory_bytes", "fast_bytes",
                         "persistent_bytes", "activation_bytes", "scratch_bytes", "frame_scratch_bytes"}));
  for (const auto& name : sources["files"])
    CHECK(std::filesystem::exists(folder / "c/" + name.get<std::string>()));
  CHECK(folder.json("export-c %/int8.itg -o %/c --json")["plan_bytes"] == nullptr);
  const auto onnx = folder.json("export-onnx %/int8.itg --from @/meter.onnx -o %/out.onnx --json");
  CHECK(has_keys(onnx, {"bytes", "form", "layers", "activations", "notes"}));
  CHECK(onnx["layers"] > 0);
  const auto tflite = folder.json("export-tflite %/int8.itg -o %/out.tflite --json");
  CHECK(has_keys(tflite, {"bytes", "layers", "notes"}));
  CHECK(tflite["bytes"] == std::filesystem::file_size(folder / "out.tflite"));
  const auto params = folder.json("params export %/int8.itg -o %/out.json --json");
  CHECK(has_keys(params, {"format", "entries", "bytes"}));
  CHECK(params["entries"] > 0);
  const Ran bad = folder.run("verify @/meter.onnx --json");
  CHECK(bad.code == 1);
  CHECK(bad.out.empty());
}

TEST_CASE("tables number the nodes of the FP32 model, and options take the numbers") {
  const CommandFolder folder;
  make_models(folder);
  const auto ops = folder.json("inspect %/net.itg --ops --json")["ops"];
  const auto layers = folder.json("compare %/net.itg %/int8.itg --images @/test --limit 4 --json")["layers"];
  for (const auto& layer : layers) {
    CAPTURE(layer["name"]);
    REQUIRE(layer["node"].is_number());
    CHECK(ops[layer["node"].get<size_t>()]["node"] == layer["node"]);
  }
  const std::string table = folder.good("compare %/net.itg %/int8.itg --images @/test --limit 4").out;
  CHECK(numbers_of(table).size() >= layers.size());
  numbers_of(folder.good("inspect %/int8.itg --ops --plan --quant").out);
  numbers_of(folder.good("bench %/int8.itg --per-layer --repeats 1").out);
  numbers_of(folder.good("simulate %/net.itg --images @/calibration --limit 4").out);

  // The node of the first convolution, by number and by name: the same file.
  const std::string calibrate = "calibrate %/net.itg --images @/calibration --recover none -o %/";
  const std::string name = ops[0]["name"];
  folder.good(calibrate + "name.itg --keep-float " + name);
  folder.good(calibrate + "number.itg --keep-float 0");
  folder.good(calibrate + "at.itg --keep-float @0");
  CHECK(folder.get("name.itg") == folder.get("number.itg"));
  CHECK(folder.get("name.itg") == folder.get("at.itg"));
  CHECK(folder.get("name.itg") != folder.get("int8.itg"));
  folder.good(calibrate + "set_name.itg --set " + name + "/weights:bits=6");
  folder.good(calibrate + "set_number.itg --set 0/weights:bits=6");
  folder.bad(calibrate + "x.itg --set 0/in7:bits=6", "node 0, Conv2D, has no input 7");
  folder.bad(calibrate + "x.itg --set 0/in-1:bits=6", "has no input -1");
  folder.bad(calibrate + "x.itg --set 0/in1:bits=6", "holds its weights, whose slot is '0/weights'");
  folder.bad(calibrate + "x.itg --set 1/weights:bits=6", "node 1, MaxPool2D, has no weights");
  CHECK(folder.get("set_name.itg") == folder.get("set_number.itg"));
  folder.bad(calibrate + "no.itg --keep-float 9999", "has no node 9999; 'intaglio inspect");
}

TEST_CASE("pictures fill a batch, and results are those of one picture") {
  const CommandFolder folder;
  make_models(folder);
  folder.good("import @/meter.onnx -o %/net4.itg --pixels -1..1 --batch 4");
  folder.good("calibrate %/net4.itg --images @/calibration -o %/int8x4.itg --recover none");
  const std::string eval = "eval --images @/test --labels @/test_labels.txt --limit 40 --json %/";
  CHECK(folder.json(eval + "net.itg") == folder.json(eval + "net4.itg"));
  const auto int8 = folder.json(eval + "int8x4.itg");
  CHECK(int8["count"] == 40);
  CHECK(int8["top1"] > 90.0);
  const auto one = folder.json("run %/net.itg --input @/test/digit_0001.png --output %/y.npy --json");
  const auto four = folder.json("run %/net4.itg --input @/test/digit_0001.png --output %/y4.npy --json");
  CHECK(one["samples"][0]["outputs"][0]["top"] == four["samples"][0]["outputs"][0]["top"]);
  CHECK(four["samples"][0]["outputs"][0]["shape"] == nlohmann::json({1, 10}));
  CHECK(folder.get("y.npy") == folder.get("y4.npy"));
}

TEST_CASE("an array fills a batch itself: all rows are written, and none is judged for the others") {
  const CommandFolder folder;
  folder.good("import @/meter.onnx -o %/net.itg --pixels -1..1");
  folder.good("import @/meter.onnx -o %/net4.itg --pixels -1..1 --batch 4");
  const auto shape =
      folder.json("inspect %/net.itg --json")["inputs"][0]["shape"].get<std::vector<int64_t>>();
  const size_t size = static_cast<size_t>(shape[1] * shape[2] * shape[3]);
  const std::vector<float> values = intaglio::test::Random(5).reals(8 * size, -1.0f, 1.0f);
  const intaglio::Span<const uint8_t> bytes{reinterpret_cast<const uint8_t*>(values.data()),
                                            values.size() * sizeof(float)};
  const auto put = [&](const char* name, std::vector<int64_t> samples) {
    samples.insert(samples.end(), shape.begin() + 1, shape.end());
    REQUIRE(intaglio::write_npy(folder / name, intaglio::NpyType::kF32, samples, bytes));
  };
  put("x8.npy", {8});
  put("x24.npy", {2, 4});
  folder.good("run %/net.itg --input %/x8.npy --output %/y8.npy");
  folder.good("run %/net4.itg --input %/x24.npy --output %/y24.npy");
  const auto one = intaglio::read_npy(folder / "y8.npy"), four = intaglio::read_npy(folder / "y24.npy");
  REQUIRE(one);
  REQUIRE(four);
  CHECK(one->header.shape == std::vector<int64_t>{8, 10});
  CHECK(four->header.shape == std::vector<int64_t>{2, 4, 10});
  REQUIRE(one->data.size() == four->data.size());
  CHECK(std::memcmp(one->data.data(), four->data.data(), one->data.size()) == 0);
  const auto shown = folder.json("run %/net4.itg --input %/x24.npy --json")["samples"][0]["outputs"][0];
  CHECK(shown["shape"] == nlohmann::json({4, 10}));
  CHECK_FALSE(shown.contains("top"));
  folder.put("labels.txt", std::string("1\n2\n"));
  const std::string why = "takes a batch of 4, so each sample of the array is 4 pictures";
  folder.bad("eval %/net4.itg --images %/x24.npy --labels %/labels.txt", why);
  folder.bad("compare %/net4.itg %/net4.itg --images %/x24.npy --labels %/labels.txt", why);
  CHECK(folder.json("compare %/net4.itg %/net4.itg --images %/x24.npy --json")["agreement"] == nullptr);
  folder.put("names.txt", digit_names());
  folder.bad("run %/net4.itg --input %/x24.npy --names %/names.txt", why);
}

TEST_CASE("folders without names are as many as the model's classes") {
  const CommandFolder folder;
  make_models(folder);
  for (const char* const name : {"nine", "two"}) std::filesystem::create_directories(folder / "t/" + name);
  std::filesystem::copy(std::string(ITG_DEMO) + "/test/digit_0001.png", folder / "t/two");
  const std::string eval = "eval %/int8.itg --images %/t --labels %/t",
                    compare = "compare %/net.itg %/int8.itg --images %/t --labels %/t";
  folder.bad(eval, "and the model has 10 classes");
  folder.bad(compare, "and the model has 10 classes");
  folder.bad("calibrate %/net.itg -o %/m.itg --images %/t --labels %/t --max-drop 1",
             "the model has 10 classes");
  folder.put("names.txt", digit_names());
  CHECK(folder.json(eval + " --names %/names.txt --json")["count"] == 1);
  CHECK(folder.json(compare + " --names %/names.txt --json").contains("top1_a"));
  CHECK(folder.run("compare %/net.itg %/int8.itg --images %/t --names %/names.txt").code == 2);
  for (const char* const name : {"a", "b", "c", "d", "e", "f", "g", "h", ".ipynb_checkpoints"})
    std::filesystem::create_directories(folder / "t/" + name);
  const Ran ran = folder.good(eval);
  CHECK(
      ran.err.find("t: its folders are the classes: a 0, b 1, c 2, d 3, e 4, f 5, g 6, h 7, nine 8, two 9") !=
      std::string::npos);
}

TEST_CASE("classes by their names: in a list, and as folders") {
  const CommandFolder folder;
  make_models(folder);
  folder.put("names.txt", digit_names());
  std::string list;
  for (const auto& [name, label] : labels_of_test()) {
    list += name + "," + kDigits[label] + "\n";
    const std::string place = folder / "tree/" + kDigits[label];
    std::filesystem::create_directories(place);
    std::filesystem::copy(std::string(ITG_DEMO) + "/test/" + name, place);
  }
  folder.put("labels.csv", list);
  const std::string eval = "eval %/int8.itg --json --images ";
  const auto wanted = folder.json(eval + "@/test --labels @/test_labels.txt");
  CHECK(folder.json(eval + "@/test --labels %/labels.csv --names %/names.txt") == wanted);
  CHECK(folder.json(eval + "%/tree --labels %/tree --names %/names.txt") == wanted);
  folder.bad("eval %/int8.itg --images @/test --labels %/labels.csv", "is no class (a number from 0)");
  folder.put("few.txt", std::string("cat\n"));
  folder.bad("eval %/int8.itg --images @/test --labels %/labels.csv --names %/few.txt", "holds 1 names");
  folder.bad("run %/int8.itg --input @/test/digit_0001.png --names @/test/digit_0001.png", "names");
}

}  // namespace intaglio::test::cli_data_test
