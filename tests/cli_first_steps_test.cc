// The first steps of somebody who tries the command.
#include "tests/support/onnx_builder.h"
#include "tests/support/run_cli.h"

namespace intaglio::test::cli_first_steps_test {
namespace {

// y = x * w, with the two weights in another file.
std::string network_beside(const std::string& location) {
  OnnxBuilder file(18);
  file.input("x", {1, 2});
  onnx_file::TensorProto& w = file.floats("w", {2}, {0, 0});
  w.raw_data.reset();
  w.data_location = onnx_file::TensorProto::EXTERNAL;
  auto& entry = w.external_data.add();
  entry.key = "location";
  entry.value = location;
  file.node("Mul", {"x", "w"}, "y");
  file.output("y");
  return file.bytes();
}

}  // namespace

TEST_CASE("weights beside an ONNX file are read without an option, those in a folder with one") {
  const CommandFolder folder;
  const float weights[] = {2, 3};
  const std::string bytes(reinterpret_cast<const char*>(weights), sizeof weights);
  std::filesystem::create_directory(folder / "below");
  folder.put("below/net.data", bytes);
  folder.put("net.onnx", network_beside("net.data"));
  folder.bad("import %/net.onnx -o %/net.itg",
             "'net.data' cannot be opened: No such file or directory; it belongs beside the network's file");
  folder.put("net.data", bytes);
  folder.good("import %/net.onnx -o %/net.itg");
  const std::string beside = folder.get("net.itg");
  folder.put("other.onnx", network_beside("below/net.data"));
  folder.bad("import %/other.onnx -o %/other.itg",
             "'below/net.data', in a folder of its own; read it with --external-data");
  folder.good("import %/other.onnx -o %/other.itg --external-data");
  CHECK(folder.get("other.itg") == beside);
}

TEST_CASE("help explains what --help explains, and a mistyped subcommand is told the nearest") {
  const CommandFolder folder;
  CHECK(folder.good("help").out == folder.good("--help").out);
  CHECK(folder.good("help calibrate").out == folder.good("calibrate --help").out);
  CHECK(folder.good("help params export").out == folder.good("params export --help").out);
  const auto wrong = [&](const std::string& words, const std::string& text) {
    const Ran ran = folder.run(words);
    INFO(words << "\n" << ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.out == "");
    CHECK(holds(ran.err, text));
  };
  wrong("calibrat net.itg",
        "'calibrat' is no subcommand; the nearest is calibrate; there are import calibrate");
  wrong("imprt net.onnx -o net.itg", "'imprt' is no subcommand; the nearest is import;");
  wrong("help evil", "'evil' is no subcommand; the nearest is eval;");
  wrong("params exprt net.itg",
        "'exprt' is no subcommand; the nearest is export; there are export import prune diff");
  wrong("params", "no subcommand is given; there are export import prune diff");
  wrong("halp", "'halp' is no subcommand; the nearest is help;");
  CHECK(folder.good("help help").out == folder.good("--help").out);
  wrong("--frobnicate", "there is no option --frobnicate");
}

TEST_CASE("the help of each subcommand of params is its own") {
  const CommandFolder folder;
  const auto help = [&](const std::string& subcommand) {
    return folder.good("help params " + subcommand).out;
  };
  for (const char* const subcommand : {"export", "import", "prune", "diff"}) {
    const std::string text = help(subcommand);
    for (const char* const other : {"export", "import", "prune", "diff"})
      CHECK(holds(text, std::string("  intaglio params ") + other) == (std::string(other) == subcommand));
  }
  CHECK_FALSE(holds(help("prune"), "tengine"));
  CHECK_FALSE(holds(help("export"), "\n  model          an"));  // it is read, and not written
}

TEST_CASE("import's help begins with what most networks need, and ends with its passes") {
  const CommandFolder folder;
  const std::string text = folder.good("import --help").out;
  size_t at = 0;
  for (const char* const part :
       {"network FILE", "--output", "--pixels", "--shape", "--batch", "Options for pictures:", "--mean",
        "Options for states and time:", "Options for developers:", "--dump-after", "Examples:", "  caffe",
        "\n  read ", "\n  join_lookups "}) {
    INFO(part);
    const size_t found = text.find(part, at);
    REQUIRE(found != std::string::npos);
    at = found;
  }
  CHECK_FALSE(holds(text, "\n\n\n"));
}

TEST_CASE("run takes a picture behind the model, as behind --input") {
  const CommandFolder folder;
  folder.good("import @/meter.onnx -o %/net.itg --pixels -1..1");
  const std::string picture = "@/test/digit_0001.png";
  CHECK(folder.good("run %/net.itg " + picture).out == folder.good("run %/net.itg --input " + picture).out);
  CHECK(folder.good("run %/net.itg image=" + std::string(ITG_DEMO) + "/test/digit_0001.png --top 1").code ==
        0);
  folder.bad("run %/net.itg " + picture + " @/test/digit_0002.png", "a folder of pictures, or an .npy array");
  const Ran both = folder.run("run %/net.itg " + picture + " --input " + picture);
  CHECK(both.code == 2);
  CHECK(holds(both.err, "both name the samples"));
  const Ran none = folder.run("run %/net.itg");
  CHECK(none.code == 2);
  CHECK(holds(none.err, "name a picture, a folder of pictures, or an .npy array"));
}

TEST_CASE("calibrate takes a network's file, and gives what import and calibrate give") {
  const CommandFolder folder;
  const std::string samples = " --images @/calibration --limit 8", pixels = " --pixels -1..1 --resize crop";
  folder.good("import @/meter.onnx -o %/net.itg" + pixels);
  folder.good("calibrate %/net.itg -o %/a.itg" + samples);
  folder.good("calibrate @/meter.onnx -o %/b.itg" + samples + pixels);
  CHECK(folder.get("a.itg") == folder.get("b.itg"));
  // Nothing else is left.
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    files += entry.is_regular_file();
  CHECK(files == 3);

  folder.bad("calibrate %/net.itg -o %/c.itg" + samples + pixels, "--pixels: ");
  folder.bad(
      "calibrate %/net.itg -o %/c.itg --batch 2" + samples,
      "net.itg is a model, which holds what its import was told; give the file that it was imported from");
  folder.bad(
      "calibrate @/meter.onnx -o %/c.itg --keep-float nix" + samples + pixels,
      "'intaglio inspect NET.itg --ops' lists their numbers and names, of the model that 'intaglio import' makes");
  folder.put("text.itg", std::string(100, 'x'));
  folder.bad("calibrate %/text.itg -o %/c.itg" + samples, "'intaglio import' makes one");
  folder.put("broken.onnx", "this is no network");
  folder.bad("calibrate %/broken.onnx -o %/c.itg" + samples, "broken.onnx cannot be imported");
  CHECK(folder.run("calibrate @/meter.onnx -o %/c.itg --border 3" + samples).code == 2);
  CHECK_FALSE(std::filesystem::exists(folder / "c.itg"));
}

}  // namespace intaglio::test::cli_first_steps_test
