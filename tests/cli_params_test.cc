// Parameters in and out through the command.
#include <map>

#include "tests/support/run_cli.h"

namespace intaglio::test::cli_params_test {
namespace {

// The demo's network, and two int8 models of it that no recovery has touched.
struct Meter : CommandFolder {
  Meter() {
    good("import @/meter.onnx -o %/net.itg --mean 127.5 --norm 0.00784313725490196");
    good("calibrate %/net.itg --images @/calibration --limit 8 --recover none -o %/int8.itg");
    good(
        "calibrate %/net.itg --images @/calibration --limit 8 --recover none --compat tengine -o "
        "%/tengine.itg");
    good("params export %/tengine.itg -o %/tengine.scale");
  }
};

}  // namespace

TEST_CASE("what is exported bakes the same file") {
  const Meter folder;
  const std::string int8 = folder.get("int8.itg"), tengine = folder.get("tengine.itg");
  folder.good("params export %/int8.itg -o %/p.json");
  folder.good("params import %/net.itg %/p.json -o %/again.itg");
  CHECK(folder.get("again.itg") == int8);
  const nlohmann::json json = folder.json("calibrate %/net.itg --params %/p.json -o %/third.itg --json");
  CHECK(folder.get("third.itg") == int8);
  CHECK(json["unknown"] == 0);
  // A model is such a file, too.
  folder.good("params import %/net.itg %/int8.itg -o %/fourth.itg");
  CHECK(folder.get("fourth.itg") == int8);
  // Tengine's table has no weights' scales: they are what the tool makes them.
  folder.good("params export %/tengine.itg -o %/table_minmax.scale");
  const Ran ran = folder.good("params import %/net.itg %/table_minmax.scale --compat tengine -o %/fifth.itg");
  CHECK(holds(ran.out, "from the largest weight"));
  CHECK(folder.json("inspect %/fifth.itg --json --quant")["quant"] ==
        folder.json("inspect %/tengine.itg --json --quant")["quant"]);
}

TEST_CASE("weights with a zero point become sums of int8 ones, in a network made for them") {
  const Meter folder;
  folder.good("params export %/int8.itg --format aimet -o %/p.encodings");
  nlohmann::json file = parsed_json(folder.get("p.encodings"));
  nlohmann::json& weights = file["param_encodings"].begin().value();
  for (nlohmann::json& encoding : weights) {
    for (const char* const key : {"min", "max", "is_symmetric"}) encoding.erase(key);
    encoding["scale"] = 0.6 * encoding["scale"].get<double>();  // up to 211 codes
    encoding["offset"] = -100;
  }
  folder.put("p.encodings", file.dump());
  const Ran ran = folder.good("params import %/net.itg %/p.encodings -o %/wide.itg");
  CHECK(holds(ran.err, "p.encodings: weights less their zero point are beyond int8 in 1 layer: "));
  folder.good("verify %/wide.itg");
  CHECK(holds(folder.good("inspect %/wide.itg --ops").out, "/wide"));
  const std::string calibrate =
      "calibrate %/net.itg --params %/p.encodings --images @/calibration --limit 4 -o %/c.itg";
  CHECK(holds(folder.good(calibrate).err, "beyond int8 in 1 layer"));
  folder.good("export-onnx %/wide.itg --from @/meter.onnx -o %/wide.onnx");
}

TEST_CASE("export replaces a table of its format, and no other file") {
  const Meter folder;
  folder.good("params export %/int8.itg -o %/p.json");
  folder.good("params export %/int8.itg -o %/p.json");
  folder.good("params export %/int8.itg -o %/t.record");
  folder.put("names.json", R"(["dog", "cat"])");
  folder.put("notes.txt", "mine");
  folder.put("empty.json", "");
  for (const auto& [file, format] : {std::pair("names.json", "ppq"), std::pair("notes.txt", "amct"),
                                     std::pair("t.record", "ppq"), std::pair("int8.itg", "ppq")}) {
    const std::string before = folder.get(file);
    folder.bad(std::string("params export %/int8.itg --format ") + format + " -o %/" + file,
               file == std::string("int8.itg") ? "is the input"
                                               : "is there already, is no parameter file of the format ");
    CHECK(folder.get(file) == before);
  }
  folder.good("params export %/int8.itg -o %/empty.json");
}

TEST_CASE("what a table cannot hold is said") {
  const Meter folder;
  folder.bad("params export %/int8.itg -o %/t.scale", "has the zero point");
  folder.bad("params export %/int8.itg -o %/t.table", "ncnn has none");
  folder.bad("params export %/int8.itg -o %/t.xyz", "does not tell its format");
  folder.bad("params export %/int8.itg -o %/t.itg", "no format to write");
  folder.bad("params export %/int8.itg -o %/t --format x", "'x' is no format of parameters");
  folder.bad("params export %/net.itg -o %/t.json", "holds no int8 tensor");
  folder.good("params export %/int8.itg -o %/t.record");
  folder.put("one.scale", folder.get("tengine.scale").substr(0, folder.get("tengine.scale").find('\n') + 1));
  folder.bad("params import %/net.itg %/one.scale -o %/new.itg", "one.scale: has no parameters for what ");
  folder.bad("calibrate %/net.itg --params %/one.scale -o %/new.itg", "--keep-float ");
  CHECK(holds(folder.run("calibrate %/net.itg --params %/t.record --recover bias -o %/new.itg").err,
              "--recover bias has no effect without --images or --input or --from: it needs samples"));
  CHECK(!std::filesystem::exists(folder / "new.itg"));
  // Pictures say the rest; what the file says holds.
  folder.good("calibrate %/net.itg --params %/t.record --images @/calibration --limit 4 -o %/new.itg");
  folder.good("params export %/new.itg -o %/u.record");
  CHECK(folder.get("u.record") == folder.get("t.record"));
  folder.put("other.scale", "nothing 1 0\n");
  folder.bad("params import %/net.itg %/other.scale -o %/other.itg", "names no tensor and no layer");
  folder.put("bad.json", "{");
  folder.bad("params import %/net.itg %/bad.json -o %/other.itg", "is no JSON");
  folder.bad("params import %/net.itg %/absent.json -o %/other.itg", "absent.json");
  folder.bad("params import %/net.itg %/absent -o %/other.itg", "absent: no such file");
  folder.bad("params diff %/int8.itg %/", "is a folder, not a file");
  CHECK(!std::filesystem::exists(folder / "other.itg"));
}

namespace {

// How many layers with weights of a model read codes.
int int8_layers(const CommandFolder& folder, const std::string& file) {
  int count = 0;
  const nlohmann::json model = folder.json("inspect %/" + file + " --ops --json");
  for (const auto& node : model["ops"]) {
    const std::string op = node["op"];
    const bool is_layer = op == "Conv2D" || op == "DepthwiseConv2D" || op == "FullyConnected";
    count += is_layer && node["dtype"] == "s8";
  }
  return count;
}

}  // namespace

TEST_CASE("a record alone: what it does not name stays FP32, and the note says which") {
  const Meter folder;
  const int all = int8_layers(folder, "tengine.itg");
  for (const std::string format : {"amct", "ncnn"}) {
    CAPTURE(format);
    folder.good("params export %/tengine.itg -o %/p." + format + " --format " + format);
    const Ran ran = folder.good("params import %/net.itg %/p." + format + " -o %/" + format +
                                ".itg --compat tengine --format " + format);
    CHECK(holds(ran.err, "p." + format + ": has no scales for what these give, and so they stay in FP32: "));
    CHECK(int8_layers(folder, format + ".itg") > 0);
    CHECK(int8_layers(folder, format + ".itg") <= all);
    const Ran observed = folder.good("calibrate %/net.itg --params %/p." + format + " --params-format " +
                                     format + " --images @/calibration --limit 4 -o %/new.itg");
    CHECK(
        holds(observed.err, "p." + format + ": has no scales for what these give; the samples give them: "));
  }
  CHECK(folder.get("amct.itg") == folder.get("ncnn.itg"));
}

TEST_CASE("what PPQ's file leaves in FP32 stays so: dispatched, in its slots, or not there at all") {
  const Meter folder;
  folder.good(
      "calibrate %/net.itg --images @/calibration --limit 8 --recover none --int8-answers -o %/int8.itg");
  folder.good("params export %/int8.itg -o %/p.json");
  const nlohmann::ordered_json whole = nlohmann::ordered_json::parse(folder.get("p.json"));
  folder.good("params import %/net.itg %/p.json --int8-answers -o %/whole.itg");
  const int all = int8_layers(folder, "whole.itg");
  // The first layer with weights, whose operator has a slot with a scale a channel.
  std::string layer;
  for (const auto& [node, tensors] : whole["configs"].items())
    for (const auto& [tensor, config] : tensors.items())
      if (layer.empty() && config["policy"]["PER_CHANNEL"] == true) layer = node;
  REQUIRE(!layer.empty());
  const auto check = [&](const nlohmann::ordered_json& json, const std::string& note) {
    folder.put("f.json", json.dump());
    const Ran ran = folder.good("params import %/net.itg %/f.json --int8-answers -o %/f.itg");
    CHECK(holds(ran.err, note));
    CHECK(int8_layers(folder, "f.itg") == all - 1);
  };
  const std::string note = "f.json: leaves in FP32: " + layer;
  nlohmann::ordered_json dispatched = whole;
  dispatched["dispatchings"][layer] = "FP32";
  check(dispatched, note);
  nlohmann::ordered_json table = whole;
  table.erase("dispatchings");
  table["dispatching_table"][layer] = "FP32";
  check(table, note);
  nlohmann::ordered_json slots = whole;
  for (auto& [tensor, config] : slots["configs"][layer].items()) config["state"] = "FP32";
  check(slots, note);
  nlohmann::ordered_json absent = whole;
  absent["configs"].erase(layer);
  check(absent, note);
}

TEST_CASE("diff counts the codes that change") {
  const Meter folder;
  const auto codes = [&](const std::string& words) {
    std::map<std::string, std::pair<int, int>> list;
    const Ran ran = folder.run("params diff " + words + " --json");
    const nlohmann::json json = parsed_json(ran.out);
    for (const auto& entry : json["differences"])
      if (entry.contains("codes"))
        list[entry["of"].get<std::string>() + " " + entry["name"].get<std::string>()] = {
            entry["codes"]["changed"], entry["codes"]["of"]};
    return list;
  };
  // n / 2 is n for 0 alone; with another zero point no code stays.
  folder.put("a.scale", "x 1 0\ny 1 0\nz 1 0\n");
  folder.put("b.scale", "x 2 0\ny 1 3\nz 1 0\n");
  const auto tables = codes("%/a.scale %/b.scale");
  CHECK(tables.size() == 2);
  CHECK(tables.at("tensor x") == std::pair(255, 256));
  CHECK(tables.at("tensor y") == std::pair(256, 256));
  // Codes that a recovery chose one by one, with the same scales.
  folder.good("calibrate %/net.itg --images @/calibration --limit 8 --recover adaround -o %/rounded.itg");
  int changed = 0;
  for (const auto& [name, count] : codes("%/int8.itg %/rounded.itg")) {
    if (name.rfind("weights ", 0) != 0) continue;
    CHECK(count.first > 0);
    CHECK(count.first < count.second);
    changed += count.first;
  }
  CHECK(changed > 0);
  CHECK(folder.run("params diff %/int8.itg %/int8.itg").code == 0);
  // A table has no weights; the network has them. Twice the scale leaves the weights at 0 alone as they are.
  folder.good("params export %/int8.itg -o %/a.record");
  std::string text = folder.get("a.record");
  const size_t at = text.find("scale_w: ") + 9, end = text.find('\n', at);
  const std::string doubled = std::to_string(2 * std::stod(text.substr(at, end - at)));
  folder.put("b.record", text.replace(at, end - at, doubled));
  CHECK(codes("%/a.record %/b.record").empty());
  const auto layers = codes("%/a.record %/b.record --network %/net.itg");
  REQUIRE(layers.size() == 1);
  CHECK(layers.begin()->first.rfind("weights ", 0) == 0);
  CHECK(layers.begin()->second.first > 0);
  // The model's own codes are what the network's weights give with its scales.
  CHECK(codes("%/a.record %/int8.itg --network %/net.itg").empty());
  folder.bad("params diff %/a.record %/b.record --network %/int8.itg", "int8.itg");
}

TEST_CASE("a map says what names mean, and the nearest names are shown") {
  const Meter folder;
  folder.good("params export %/int8.itg -o %/t.record");
  std::string text = folder.get("t.record");
  const size_t at = text.find("key: \"") + 6, end = text.find('"', at);
  const std::string own = text.substr(at, end - at);
  folder.put("other.record", text.replace(at, end - at, "another_name"));
  const std::string command =
      "calibrate %/net.itg --images @/calibration --limit 4 -o %/new.itg --params %/other.record";
  CHECK(holds(folder.good(command).err, "another_name (nearest: "));
  folder.put("names", "another_name\t" + own + "\n");
  CHECK(!holds(folder.good(command + " --map %/names").err, "another_name"));
  folder.put("names", "another_name\tnowhere\n");
  folder.bad(command + " --map %/names", "another_name is called nowhere, which is not in ");
  folder.bad(command + " --map %/absent", "absent");
  CHECK(folder.run("calibrate %/net.itg --images @/calibration -o %/new.itg --map %/names").code == 2);
}

TEST_CASE("diff lists what differs and exits with 1") {
  const Meter folder;
  folder.good("params export %/int8.itg -o %/p.json");
  CHECK(holds(folder.good("params diff %/int8.itg %/p.json").out, "the same parameters"));
  folder.good("params export %/int8.itg -o %/t.record");
  folder.good("params diff %/t.record %/int8.itg");
  const Ran ran = folder.run("params diff %/int8.itg %/tengine.itg");
  CHECK(ran.code == 1);
  CHECK(holds(ran.out, "image"));
  CHECK(holds(ran.err, "differ in "));
  const Ran json = folder.run("params diff %/int8.itg %/tengine.itg --json");
  CHECK(json.code == 1);
  CHECK(parsed_json(json.out)["differences"].size() > 2);
  folder.put("a.scale", "x 1 0\ny 2 0\n");
  folder.put("b.scale", "y 4 0\nz 2 0\n");
  const Ran three = folder.run("params diff %/a.scale %/b.scale --json");
  CHECK(parsed_json(three.out)["differences"].size() == 3);
  CHECK(folder.run("params diff %/a.scale %/a.scale").code == 0);
  CHECK(folder.run("params").code == 2);
}

}  // namespace intaglio::test::cli_params_test
