// The command's manners: help, errors, exit codes, and that nothing is ever half-written.
#include "tests/support/model_builder.h"
#include "tests/support/run_cli.h"

namespace intaglio::test::cli_test {
namespace {

const char* const kSubcommands[] = {"import",   "calibrate",   "run",           "eval",   "compare",
                                    "inspect",  "verify",      "bench",         "params", "simulate",
                                    "export-c", "export-onnx", "export-tflite", "pack",   "plan"};

// A model of one node with names of the test's choice.
std::string small_model(const std::string& input_name, bool takes_pictures = true) {
  ModelBuilder builder;
  const int32_t x = builder.tensor(input_name, DType::kF32, {1, 2, 2, 3});
  const int32_t y = builder.tensor("y", DType::kF32, {1, 2, 2, 3});
  builder.node(Op::kClamp, {x}, {y}).options.as<Clamp>().min = 0.0f;
  builder.input(x);
  builder.output(y);
  ImageInput pixels;
  pixels.channels = 3;
  for (int c = 0; c < 3; ++c) pixels.norm[c] = 1.0f;
  if (takes_pictures) builder.graph().images.push(builder.arena(), pixels);
  const AlignedBytes bytes = builder.finish();
  return {reinterpret_cast<const char*>(bytes.view().data), bytes.size()};
}

// A fully connected layer of sixteen columns and depths; each column has `first` eight times, then `second`.
// Each output has `firsts` of the one weight, then the other one.
std::string layer_of_weights(int32_t firsts, int8_t first, int8_t second) {
  constexpr int32_t kSize = 16;
  ModelBuilder builder;
  std::vector<int8_t> weights(kSize * kSize);
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = i % kSize < static_cast<size_t>(firsts) ? first : second;
  const int32_t x = builder.tensor("x", DType::kS8, {1, kSize}, 0.1f);
  const int32_t y = builder.tensor("y", DType::kS8, {1, kSize}, 0.1f);
  const std::vector<float> scales(kSize, 0.01f);
  const int32_t w = builder.constant<int8_t>("w", DType::kS8, {kSize, kSize}, weights, scales, 0);
  builder.node(Op::kFullyConnected, {x, w}, {y});
  builder.input(x);
  builder.output(y);
  const AlignedBytes bytes = builder.finish();
  return {reinterpret_cast<const char*>(bytes.view().data), bytes.size()};
}

std::vector<std::string> sorted_names(const CommandFolder& folder) {
  std::vector<std::string> names = folder.names();
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("help teaches and exits with 0") {
  const CommandFolder folder;
  const Ran help = folder.good("--help");
  CHECK(help.err == "");
  for (const char* const name : kSubcommands) CHECK(holds(help.out, name));
  for (const char* const line :
       {"intaglio import ", "intaglio calibrate ", "intaglio eval ", "intaglio compare "})
    CHECK(holds(help.out, line));
  for (const std::string name : kSubcommands) {
    const Ran text = folder.good(name + " --help");
    CHECK(holds(text.out, "Example"));
    CHECK(holds(text.out, "intaglio " + name));
    for (size_t start = 0; start < text.out.size();) {  // fits a terminal
      const size_t end = std::min(text.out.find('\n', start), text.out.size());
      CHECK(end - start <= 120);
      start = end + 1;
    }
  }
  const std::string version = folder.good("--version").out;
  CHECK(holds(version, "intaglio 1."));
  CHECK(holds(version, "\nbuilt with: PNG, BMP"));
  CHECK(holds(version, "\nleft out: "));
}

TEST_CASE("what is not understood exits with 2 and points to the help") {
  const CommandFolder folder;
  for (const std::string words :
       {"", "frobnicate", "--frobnicate", "eval", "eval net.itg", "eval net.itg --images x",
        "calibrate net.itg --images x", "import net.onnx", "import net.onnx -o x --color pink",
        "bench net.itg --threads 0", "bench net.itg --repeats x",
        "calibrate net.itg --images x -o y --weight-bits 33",
        "calibrate net.itg --images x -o y --method best", "inspect net.itg --dot --json",
        "eval net.itg --images x --labels y --limit 0", "calibrate net.itg --images x -o y --labels z",
        "calibrate net.itg --images x -o y --min-sqnr loud", "calibrate net.itg --images x -o y -o z"}) {
    const Ran ran = folder.run(words);
    const std::string& asked = words;  // clang captures no structured binding
    INFO(asked << "\n" << ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.out == "");
    CHECK(ran.err.rfind("intaglio: ", 0) == 0);
    CHECK(holds(ran.err, "--help"));
  }
  CHECK(holds(folder.run("frobnicate").err, "'frobnicate' is no subcommand"));
  CHECK(holds(folder.run("eval").err, "'intaglio eval --help'"));
  CHECK(holds(folder.run("eval net.itg --images x").err, "--labels"));
  CHECK(holds(folder.run("calibrate net.itg --images x -o y -o z").err,
              "--output is given 2 times; give it once"));
  CHECK(holds(folder.run("calibrate net.itg --images x -o y --min-sqnr loud").err,
              "--min-sqnr: 'loud' is no number"));
}

TEST_CASE("a value that is wrong whatever the files hold exits with 2, and nothing is read") {
  const CommandFolder folder;
  const std::string calibrate = "calibrate %/none.itg --images %/none -o %/y.itg --recover ";
  for (const auto& [words, text] : std::vector<std::pair<std::string, std::string>>{
           {"import %/none.onnx -o %/y.itg --mean 1,x", "--mean: 'x' is no number"},
           {"import %/none.onnx -o %/y.itg --norm 1,,2", "--norm: '' is no number"},
           {"import %/none.onnx -o %/y.itg --shape 3", "--shape image=1,3,224,224"},
           {"bench %/none.itg --isa sse9",
            "--isa: 'sse9' is no instruction set that is known here; there are scalar"},
           {"pack %/none.itg -o %/y.itg --isa sse9", "there are scalar, avx2"},
           {"inspect %/none.itg --target z80",
            "--target z80: is not known; the nearest is scalar; there are scalar, x86-avx2"},
           {"export-c %/none.itg -o %/out --target toaster", "--target toaster"},
           {calibrate + "magic", "--recover: 'magic' is no recovery; there are depthwise, method, cle"},
           {calibrate + "bias,", "'' is no recovery"},
           {calibrate + "all", "'all' is no recovery"},
           {calibrate + "none,bias", "'none' cannot be combined"},
           {calibrate + "none --set 0:bits=1", "--set 0:bits=1: bits are 2 to 32"},
           {"simulate %/none.itg --images %/none --set all", "--set all: is not like"},
           {"import %/none.onnx -o %/y.itg --state h", "--state h: write the input that takes the state"},
           {"import %/none.onnx -o %/y.itg --state h=o --initial h", "--initial h: write the state's input"},
           {"import %/none.onnx -o %/y.itg --state h=o --initial h=1,x", "--initial h=1,x: 'x' is no number"},
           {"import %/none.onnx -o %/y.itg --constant =1", "--constant =1: write the input"},
           {"import %/none.onnx -o %/y.itg --constant n=1,", "--constant n=1,: '' is no number"},
           {"plan %/none.itg -o %/y.itg --memory much", "--memory much: is neither 'least' nor 'flat'"},
           {"run %/none.itg --input %/x.npy --output y.txt", "y.txt: outputs are written as .npy arrays"},
           {"calibrate %/none.itg -o %/y.itg",
            "its own, --input NAME=DIR|X.npy); give --images or --input or --params or --from\n"},
           {"simulate %/none.itg", "NAME=DIR|X.npy); give --images or --input\n"},
           {"eval %/none.itg --labels %/none", "no samples are given"},
           {"compare %/none.itg %/none2.itg", "no samples are given"}}) {
    const Ran ran = folder.run(words);
    const std::string& asked = words;  // clang captures no structured binding
    INFO(asked << "\n" << ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.out == "");
    CHECK(holds(ran.err, text));
    CHECK(holds(ran.err, "--help"));
  }
}

TEST_CASE("an argument that is missing is called what the help calls it") {
  const CommandFolder folder;
  CHECK(holds(folder.run("compare net.itg").err,
              "B.itg is missing: the file of the model that was made from it"));
  CHECK(holds(folder.run("eval").err, "NET.itg is missing: the model file"));
  CHECK(holds(folder.run("import a.onnx").err,
              "intaglio: --output NET.itg is missing: the model file to write\n"));
  CHECK(holds(folder.run("").err, "no subcommand is given; there are import calibrate"));
  CHECK(holds(folder.run("calibrate a.itg pictures -o b.itg --images x").err,
              "'pictures' is an argument too many; samples are given with --images"));
  CHECK(holds(folder.run("inspect a.itg b.itg").err, "'b.itg' is an argument too many\n"));
  CHECK(holds(folder.run("calibrate a.itg --images x -o b --method magic").err,
              "--method: 'magic' is none of auto, minmax, percentile"));
  // The option's name stands once.
  CHECK(holds(folder.run("inspect a.itg --target m99").err, "intaglio: --target m99: is not known"));
  CHECK(holds(folder.run("params prune").err, "NET.itg is missing: "));
}

TEST_CASE("an option that is mistyped is told before what lacks, with the nearest one") {
  const CommandFolder folder;
  for (const auto& [words, text] :
       {std::pair<std::string, std::string>{"calibrate a.itg --percentil=3",
                                            "--percentil; the nearest is --percentile\n"},
        {"run a.itg --inptu x", "--inptu; the nearest is --input\n"},
        {"--vers", "--vers; the nearest is --version\n"}}) {
    const Ran ran = folder.run(words);
    const std::string& asked = words;  // clang captures no structured binding
    INFO(asked << "\n" << ran.err);
    CHECK(ran.code == 2);
    CHECK(holds(ran.err, "there is no option " + text));
  }
}

TEST_CASE("a dash is no name of a file to write, in any command") {
  const CommandFolder folder;
  for (const std::string words :
       {"import @/meter.onnx -o -", "calibrate a.itg --images x -o -",
        "calibrate a.itg --images x -o y --report -", "observe a.itg --images x -o -", "merge a b -o -",
        "run a.itg --input x --output -", "export-c a.itg -o -", "export-onnx a.itg --from a.onnx -o -",
        "export-tflite a.itg -o -", "pack a.itg -o - --isa scalar", "plan a.itg -o -",
        "params export a.itg -o -", "params import a.itg p.json -o -", "params prune a.itg p.json -o -"}) {
    const Ran ran = folder.run(words);
    const std::string& asked = words;  // clang captures no structured binding
    INFO(asked << "\n" << ran.err);
    CHECK(ran.code == 2);
    CHECK(holds(ran.err, " -: nothing is written to stdout but results; name a file"));
  }
  CHECK(!std::filesystem::exists("-"));
}

TEST_CASE("errors say what, where and what to do") {
  const CommandFolder folder;
  folder.put("net.itg", small_model("x"));
  folder.put("empty", std::string());
  for (const std::string name : {"inspect", "verify", "bench"}) {
    folder.bad(name + " %/none.itg", "none.itg: no such file");
    folder.bad(name + " @/", "is a folder, not a file");
    folder.bad(name + " %/empty", "empty: is empty");
    folder.bad(name + " @/meter.onnx", "'intaglio import' makes one");
    folder.bad(name + " /dev/null", "is not a regular file");
  }
  folder.bad("import %/net.itg -o %/y.itg", "net.itg cannot be imported");
  folder.bad("import @/meter.onnx -o %/y.itg --mean 1,2", "mean");
  folder.bad("import @/meter.onnx -o %/no/y.itg", "there is no folder");
  folder.bad("import @/meter.onnx -o %/", "is a folder");
  folder.bad("run %/net.itg --input %/none.png", "none.png");
  folder.bad("eval %/net.itg --images @/test --labels @/test_labels.txt", "no scores of classes");
  folder.bad("calibrate %/net.itg --images %/ -o %/y.itg", "holds no pictures");
  folder.bad("calibrate %/net.itg --images @/calibration -o %/net.itg", "is the input");
  folder.bad("calibrate %/net.itg --images @/calibration -o %/y.itg --keep-float nose", "no node nose");
  folder.bad("calibrate %/net.itg --images @/calibration -o %/y.itg --only %/none", "none");
  folder.bad("calibrate %/net.itg --images @/calibration -o /proc/y.itg", "y.itg");
  CHECK(sorted_names(folder) == std::vector<std::string>{"empty", "net.itg"});
  CHECK(folder.get("net.itg") == small_model("x"));
}

TEST_CASE("pictures for a model that does not say how they become its input") {
  const CommandFolder folder;
  folder.put("net.itg", small_model("x", false));
  for (const std::string words :
       {"run %/net.itg --input @/test/digit_0001.png",
        "calibrate %/net.itg --images @/calibration -o %/y.itg", "simulate %/net.itg --images @/calibration",
        "compare %/net.itg %/net.itg --images @/calibration"})
    folder.bad(words, "import the network with --pixels 0..255|0..1|-1..1|imagenet|caffe");
  folder.good("import @/meter.onnx -o %/meter.itg");
  folder.bad("eval %/meter.itg --images @/test --labels @/test_labels.txt",
             "import the network with --pixels");
  CHECK(sorted_names(folder) == std::vector<std::string>{"meter.itg", "net.itg"});
}

TEST_CASE("import says what each input is") {
  const CommandFolder folder;
  const std::string import = "import @/meter.onnx -o %/net.itg ";
  CHECK(holds(folder.good(import).out, "input 'image': values 1 x 28 x 28 x 3, no picture; f32\n"));
  const Ran signed_unit = folder.good(import + "--pixels -1..1 --resize crop");
  CHECK(holds(signed_unit.out,
              "input 'image': picture rgb 28 x 28, (pixel - 127.5) * 0.00784314, crop; f32\n"));
  CHECK(holds(
      folder.good(import + "--pixels imagenet --color bgr").out,
      "picture bgr 28 x 28, (pixel - (103.53, 116.28, 123.675)) * (0.0174292, 0.017507, 0.0171248), stretch"));
  CHECK(holds(folder.good("inspect %/net.itg").out,
              "picture bgr 28 x 28, (pixel - (103.53, 116.28, 123.675))"));
  const std::string letterbox = "--pixels 0..1 --resize letterbox";
  CHECK(holds(folder.good(import + letterbox).out, "letterbox with borders of 128; f32\n"));
  CHECK(holds(folder.good(import + letterbox + " --border 114").out, "letterbox with borders of 114; f32\n"));
  CHECK(holds(folder.good("inspect %/net.itg --json").out, "\"border\": 114"));
  CHECK(folder.run(import + letterbox + " --border 256").code == 2);
  folder.bad("import @/meter.onnx -o %/y.itg --mean 0.485,0.456,0.406 --norm 0.229,0.224,0.225",
             "give --mean 123.675,116.28,103.53 --norm 0.01712475");
  folder.bad("import @/meter.onnx -o %/y.itg --resize crop",
             "give --pixels 0..255|0..1|-1..1|imagenet|caffe");
}

TEST_CASE("damaged files are refused, whatever the damage") {
  const CommandFolder folder;
  const std::string good = small_model("x");
  folder.put("good.itg", good);
  folder.good("verify %/good.itg");
  for (const size_t size : {size_t{1}, size_t{7}, size_t{8}, good.size() / 2, good.size() - 1}) {
    folder.put("bad.itg", good.substr(0, size));
    folder.bad("verify %/bad.itg", "bad.itg: ");
  }
  for (size_t at = 0; at < good.size(); at += 1 + good.size() / 40) {
    std::string flipped = good;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    folder.put("bad.itg", flipped);
    folder.bad("verify %/bad.itg", "bad.itg: ");
  }
}

TEST_CASE("names from files cannot command the terminal") {
  const CommandFolder folder;
  // An 8-bit CSI and a byte that is no UTF-8 are not let in at all.
  for (const char* const name : {"x\xc2\x9b\x32J", "x\xff"}) {
    folder.put("bad.itg", small_model(name));
    folder.bad("inspect %/bad.itg", "a name is missing, too long, not UTF-8");
  }
  // A change of direction is escaped; then a letter that is shown as it is.
  folder.put("net.itg", small_model("x\xe2\x80\xae\xc3\xa9"));
  for (const std::string options : {"", " --ops", " --plan", " --quant", " --dot", " --json --plan"})
    CHECK(!holds(folder.good("inspect %/net.itg" + options).out, "\xe2\x80\xae"));
  CHECK(holds(folder.good("inspect %/net.itg").out, "x\\xe2\\x80\\xae\xc3\xa9"));
  CHECK(folder.json("inspect %/net.itg --json")["inputs"][0]["name"] == "x\xe2\x80\xae\xc3\xa9");
  CHECK(holds(folder.run("inspect no\x1b[2Jfile").err, "no\\x1b[2Jfile"));
}

TEST_CASE("JSON has the keys that scripts rely on") {
  const CommandFolder folder;
  folder.put("net.itg", small_model("x"));
  const auto inspect = folder.json("inspect %/net.itg --json --ops --plan --quant --target scalar");
  for (const char* const key : {"format_version", "nodes", "weight_bytes", "arena_bytes", "arena_lower_bound",
                                "left_out_channels", "inputs", "outputs"})
    CHECK(inspect.contains(key));
  CHECK(inspect["nodes"] == 1);
  CHECK(inspect["inputs"][0]["shape"] == nlohmann::json({1, 2, 2, 3}));
  CHECK(inspect["session"]["total_bytes"] > 0);
  CHECK(inspect["plan"].size() == 2);

  const auto bench = folder.json("bench %/net.itg --json --isa scalar --repeats 3");
  CHECK(bench["isa"] == "scalar");
  CHECK(bench["threads"] == 1);
  CHECK(bench["min_ms"] <= bench["median_ms"]);
  REQUIRE(bench["layers"].size() == 1);
  for (const char* const key : {"name", "op", "kernel", "ms", "macs"})
    CHECK(bench["layers"][0].contains(key));

  const auto run = folder.json("run %/net.itg --input @/test/digit_0001.png --json");
  CHECK(run["samples"][0]["name"] == "digit_0001.png");
  CHECK(run["samples"][0]["outputs"][0]["shape"] == nlohmann::json({1, 2, 2, 3}));
}

TEST_CASE("inspect shows which share of a layer's weights AVX2 need not take apart") {
  const CommandFolder folder;
  struct Case {
    int32_t firsts;
    int8_t first, second;
    double share;
  };
  // Two weights may sum to 128 and to -128, any depth of sixteen may be a depth's partner, and one of them
  // may have its sign changed, which -128 has not.
  const Case cases[] = {{8, 64, 64, 1.0},      {8, 127, 127, 1.0},  {8, 127, 2, 1.0},
                        {8, -128, -1, 1.0},    {8, -128, 127, 1.0}, {12, -128, 127, 0.5},
                        {14, -128, 127, 0.25}, {16, -128, 0, 0.0},  {8, 127, -128, 1.0}};
  for (const Case& c : cases) {
    CAPTURE(c.firsts);
    CAPTURE(c.first);
    CAPTURE(c.second);
    folder.put("net.itg", layer_of_weights(c.firsts, c.first, c.second));
    CHECK(folder.json("inspect %/net.itg --ops --json")["ops"][0]["safe_pairs"] == c.share);
  }
  CHECK(holds(folder.good("inspect %/net.itg --ops").out, "100.0 %"));
  folder.put("net.itg", small_model("x"));
  CHECK(!folder.json("inspect %/net.itg --ops --json")["ops"][0].contains("safe_pairs"));
}

TEST_CASE("results that cannot be written are a failure, which says why") {
  const CommandFolder folder;
  folder.put("net.itg", small_model("x"));
  for (const char* words : {"inspect %/net.itg --json", "--help", "--version", "inspect --help"}) {
    CAPTURE(words);
    const auto fails = [&](const char* redirection, const std::string& why) {
      const Ran ran = folder.run(words, redirection);
      CHECK(ran.code == 1);
      CHECK_MESSAGE(ran.err == "intaglio: stdout: the results could not be printed: " + why +
                                   "; files that were asked for are complete\n",
                    ran.err);
    };
    fails(">/dev/full", "No space left on device");
    fails(">&-", "it is closed");
  }
  // A file that is opened does not take the place of a closed stdout.
  const std::string import = "import @/meter.onnx -o %/";
  folder.good(import + "good.itg");
  CHECK(folder.run(import + "other.itg", ">&- <&-").code == 1);
  CHECK(folder.get("other.itg") == folder.get("good.itg"));
}

TEST_CASE("a limit on the size of files is an error") {
  const CommandFolder folder;
  const std::string line = "( ulimit -f 0; " + shell_word(ITG_COMMAND) + " import " +
                           shell_word(std::string(ITG_DEMO) + "/meter.onnx") + " -o " +
                           shell_word(folder / "out.itg") + " ) 2>&1 | cat >" + shell_word(folder / "text");
  REQUIRE(std::system(line.c_str()) == 0);
  CHECK_MESSAGE(holds(folder.get("text"), "out.itg: cannot be written: File too large"), folder.get("text"));
  CHECK(folder.names() == std::vector<std::string>{"text"});
}

}  // namespace intaglio::test::cli_test
