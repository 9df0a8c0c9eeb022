// The page that `calibrate --report` writes: whole, by itself, and safe whatever the names in the model are.
#include <algorithm>
#include <vector>

#include "tests/support/model_builder.h"
#include "tests/support/random.h"
#include "tests/support/run_cli.h"

namespace intaglio::test::cli_report_test {
namespace {

const std::string kHostile = "<script>alert('1')</script>\"&";

// Fully connected layers with these names; FP32 inputs [1, 8], 3 scores.
AlignedBytes named_model(const std::vector<std::string>& names) {
  ModelBuilder b;
  Random random(3);
  int32_t x = b.tensor("in", DType::kF32, {1, 8});
  b.input(x);
  for (size_t i = 0; i < names.size(); ++i) {
    const bool last = i + 1 == names.size();
    const int32_t outputs = last ? 3 : 8;
    const int32_t w = b.constant("w" + std::to_string(i), DType::kF32, {outputs, 8},
                                 random.reals(static_cast<size_t>(outputs) * 8, -1, 1));
    const int32_t y = b.tensor(names[i], DType::kF32, {1, outputs});
    b.node(Op::kFullyConnected, {x, w}, {y}).name = b.arena().copy_name(names[i].c_str());
    x = y;
  }
  b.output(x);
  static constexpr uint8_t kClasses[] = {1};
  b.graph().answers = {kClasses, 1};
  return b.finish();
}

// A float32 .npy array of samples [count, 8].
std::string npy_samples(int32_t count) {
  std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(count) + ", 8), }";
  header.resize(118 - 1, ' ');
  header += '\n';
  std::string file = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(118) + '\0' + header;
  Random random(4);
  for (const float value : random.reals(static_cast<size_t>(count) * 8, -2, 2))
    file.append(reinterpret_cast<const char*>(&value), sizeof value);
  return file;
}

std::string page_of(const CommandFolder& folder, const std::vector<std::string>& names,
                    const std::string& more = "", int32_t samples = 12) {
  AlignedBytes model = named_model(names);
  folder.put("net.itg", std::vector<uint8_t>(model.data(), model.data() + model.size()));
  folder.put("x.npy", npy_samples(samples));
  folder.good("calibrate %/net.itg --images %/x.npy -o %/int8.itg --report %/page.html" + more);
  return folder.get("page.html");
}

size_t occurrences(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Every element that is opened is closed, in order; attributes are quoted; no bare markup is left.
void check_structure(const std::string& html) {
  std::vector<std::string> open;
  for (size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    if (html.compare(at, 9, "<!DOCTYPE") == 0) continue;
    const size_t end = html.find('>', at);
    REQUIRE(end != std::string::npos);
    const std::string inside = html.substr(at + 1, end - at - 1);
    REQUIRE(inside.find('<') == std::string::npos);
    CHECK(std::count(inside.begin(), inside.end(), '"') % 2 == 0);
    const bool closes = inside[0] == '/';
    const std::string name = inside.substr(closes ? 1 : 0, inside.find_first_of(" /", 1) - (closes ? 1 : 0));
    if (closes) {
      REQUIRE(!open.empty());
      REQUIRE(open.back() == name);
      open.pop_back();
    } else if (inside.back() != '/' && name != "meta") {
      open.push_back(name);
    }
  }
  CHECK(open.empty());
}

}  // namespace

TEST_CASE("a page with verdict, worst layers, recoveries, every layer and its histogram") {
  const CommandFolder folder;
  const std::string html = page_of(folder, {"first", "second", "third"});
  check_structure(html);
  size_t last = 0;
  for (const char* const part : {"<title>", "class=\"word\"", "output SQNR", "What to do", "What goes in",
                                 "SQNR over depth", "class=\"line\"", "Worst layers", "Recoveries",
                                 "bias correction", "All layers", "zero point", "Values seen", "SHA-256"}) {
    CAPTURE(part);
    const size_t at = html.find(part, last);
    REQUIRE(at != std::string::npos);
    last = at;
  }
  for (const char* const name : {"first", "second"})
    CHECK(occurrences(html, "title=\"" + std::string(name) + "\"") >= 2);
  CHECK(occurrences(html, "title=\"third\"") >= 1);  // the answer: in FP32, no histogram
  CHECK(occurrences(html, "class=\"histogram\"") >= 2);
  CHECK(occurrences(html, "class=\"range\"") == occurrences(html, "class=\"histogram\""));
  CHECK(occurrences(html, "class=\"all\"") == 3);  // a point a layer
  CHECK(holds(html, "&#39;in&#39;: values 1 x 8, no picture; f32"));
  CHECK(occurrences(html, "<pre>") <= 1);
}

TEST_CASE("the page needs nothing beside itself and runs nothing") {
  const CommandFolder folder;
  const std::string html = page_of(folder, {"a", "b"});
  for (const char* const part :
       {"<script", "http:", "https:", "src=", "href=", "url(", "@import", "<iframe", "onload"}) {
    CAPTURE(part);
    CHECK(html.find(part) == std::string::npos);
  }
  CHECK(html.find("default-src 'none'") != std::string::npos);
  CHECK(html.find("width=device-width") != std::string::npos);
}

TEST_CASE("names from the model are text, and no command to paste is made of what cannot be pasted") {
  const CommandFolder folder;
  const std::string html = page_of(folder, {kHostile, "$(reboot)'`", "out"}, " --weight-bits 7");
  check_structure(html);
  CHECK(html.find("<script") == std::string::npos);
  CHECK(html.find("&lt;script&gt;alert(&#39;1&#39;)") != std::string::npos);
  // In a command the shell sees one quoted word, or there is no command.
  for (size_t at = html.find("<pre>"); at != std::string::npos; at = html.find("<pre>", at + 1)) {
    const std::string command = html.substr(at, html.find("</pre>", at) - at);
    CAPTURE(command);
    CHECK(command.find("script") == std::string::npos);
    if (command.find("reboot") != std::string::npos)
      CHECK(command.find("&#39;$(reboot)&#39;\\&#39;&#39;`&#39;") != std::string::npos);
  }
}

TEST_CASE("one piece of advice, whose command gains what it says") {
  const CommandFolder folder;
  // A name that no shell takes as it is: the command has numbers.
  const std::string html =
      page_of(folder, {"a b", "$(reboot)", "c", "d"}, " --set weights:bits=4 --keep-float c", 24);
  check_structure(html);
  CHECK(occurrences(html, "<pre>") == 1);
  const size_t at = html.find("<pre>intaglio calibrate ");
  REQUIRE(at != std::string::npos);
  const std::string command = html.substr(at + 5, html.find("</pre>", at) - at - 5);
  CAPTURE(command);
  CHECK(occurrences(command, "--keep-float") == 1);
  CHECK(command.find("--keep-float c,@") != std::string::npos);
  const size_t plus = html.find("<b>+");
  REQUIRE(plus != std::string::npos);
  const double gain = std::stod(html.substr(plus + 4));
  CHECK(gain >= 1);
  const std::string words = command.substr(std::string("intaglio ").size()) + " --json";
  const std::string float_nodes = words.substr(words.find("--keep-float"));
  const std::string plain =
      "calibrate %/net.itg --images %/x.npy -o %/again.itg --json --set weights:bits=4 ";
  const double before = folder.json(plain + "--keep-float c")["sqnr_db"];
  const double after = folder.json(plain + float_nodes.substr(0, float_nodes.find(" --json")))["sqnr_db"];
  CHECK(after - before == doctest::Approx(gain).epsilon(0.02));
}

TEST_CASE("the command to be given next names layers once, however it named some before") {
  const CommandFolder folder;
  const std::string html =
      page_of(folder, {"a b", "$(reboot)", "c", "d"}, " --set=weights:bits=4 --keep-float=c", 24);
  REQUIRE(occurrences(html, "<pre>intaglio calibrate ") == 1);
  CHECK(occurrences(html, "--keep-float") == 1);
  CHECK(html.find("--keep-float c,@") != std::string::npos);
}

TEST_CASE("the page is written all or nothing, and not over the model") {
  const CommandFolder folder;
  page_of(folder, {"a", "b"});
  const std::string before = folder.get("net.itg");
  const Ran over = folder.run("calibrate %/net.itg --images %/x.npy -o %/int8.itg --report %/net.itg");
  CHECK(over.code != 0);
  CHECK(folder.get("net.itg") == before);
  const Ran both = folder.run("calibrate %/net.itg --images %/x.npy -o %/other.itg --report %/other.itg");
  CHECK(both.code != 0);
  const Ran nowhere =
      folder.run("calibrate %/net.itg --images %/x.npy -o %/int8.itg --report %/no/page.html");
  CHECK(nowhere.code != 0);
  CHECK(nowhere.err.find("no/page.html") != std::string::npos);
  // Nothing but what was asked for is left in the folder.
  for (const std::string& name : folder.names()) {
    CAPTURE(name);
    CHECK((name == "net.itg" || name == "x.npy" || name == "int8.itg" || name == "page.html"));
  }
}

TEST_CASE("with --json there is a page too, and the JSON stays as it was") {
  const CommandFolder folder;
  page_of(folder, {"a", "b"});
  const auto json =
      folder.json("calibrate %/net.itg --images %/x.npy -o %/int8.itg --json --report %/two.html");
  CHECK(json.size() == 17);
  CHECK(folder.get("two.html").find("All layers") != std::string::npos);
}

TEST_CASE("page, terminal and JSON call a layer by one name, that of inspect --ops") {
  const CommandFolder folder;
  folder.good("import @/meter.onnx -o %/net.itg --pixels -1..1");
  const Ran calibrated =
      folder.good("calibrate %/net.itg --images @/calibration --limit 8 -o %/int8.itg --report %/page.html");
  const std::string page = folder.get("page.html");
  const auto ops = folder.json("inspect %/net.itg --ops --json")["ops"];
  const Ran compared = folder.good("compare %/net.itg %/int8.itg --images @/calibration --limit 4");
  const auto layers =
      folder.json("compare %/net.itg %/int8.itg --images @/calibration --limit 4 --json")["layers"];
  REQUIRE(layers.size() > 5);
  for (const auto& layer : layers) {
    const size_t node = layer["node"];
    const std::string name = layer["name"];
    CAPTURE(name);
    CHECK(ops[node]["name"] == name);
    const std::string row = "\n  " + std::to_string(node) + std::string(node < 10 ? 5 : 4, ' ') + name + " ";
    CHECK(holds(calibrated.out, row));
    CHECK(holds(compared.out, row));
    CHECK(holds(page, ">" + std::to_string(node) + ": </span><span title=\"" + name + "\">" + name + "<"));
    folder.good(
        "calibrate %/net.itg --images @/calibration --limit 4 --recover none -o %/kept.itg --keep-float " +
        name);
  }
}

TEST_CASE("the verdict stands first, and a phone shows SQNR beside the layer") {
  const CommandFolder folder;
  const std::string html = page_of(folder, {"a", "b", "c"});
  CHECK(html.find("class=\"word\"") < html.find("<h2"));
  const size_t table = html.find("All layers");
  REQUIRE(table != std::string::npos);
  CHECK(html.find("<th>layer</th><th class=\"number\">SQNR</th>", table) != std::string::npos);
  CHECK(folder.good("calibrate %/net.itg --images %/x.npy -o %/int8.itg").out.rfind("  verdict      ", 0) ==
        0);
  const std::string json = folder.good("calibrate %/net.itg --images %/x.npy -o %/int8.itg --json").out;
  CHECK(json.rfind("{\n  \"verdict\": ", 0) == 0);
}

TEST_CASE("seconds hold the trial of a remedy, and it is a stage") {
  const CommandFolder folder;
  page_of(folder, {"a b", "c", "d", "e"}, "", 24);
  const auto json = folder.json(
      "calibrate %/net.itg --images %/x.npy -o %/int8.itg --weight-bits 4 --json --report %/two.html");
  double stages = 0.0;
  bool has_trial = false;
  for (const auto& stage : json["stages"]) {
    stages += stage["seconds"].get<double>();
    has_trial = has_trial || stage["name"] == "trying a remedy";
  }
  CHECK(has_trial);
  CHECK(stages <= json["seconds"].get<double>());
}

TEST_CASE("the command that a verdict advises can be pasted, whatever the paths are") {
  const CommandFolder folder;
  page_of(folder, {"a", "b", "c", "d"}, "", 24);
  std::filesystem::rename(folder / "x.npy", folder / "it's $(x).npy");
  const std::string words = shell_word(folder / "net.itg") + " --images " +
                            shell_word(folder / "it's $(x).npy") + " -o " + shell_word(folder / "in t8.itg");
  const auto shell = [&](const std::string& line) {
    FILE* const pipe = ::popen((line + " 2>&1").c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string text;
    char buffer[4096];
    for (size_t got; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, got);
    INFO(line << "\n" << text);
    CHECK(::pclose(pipe) == 0);
    return text;
  };
  const std::string said = shell(shell_word(ITG_COMMAND) + " calibrate " + words + " --weight-bits 3");
  const size_t at = said.find("  command      intaglio ");
  REQUIRE_MESSAGE(at != std::string::npos, said);
  const size_t begin = at + std::string("  command      intaglio").size();
  shell(shell_word(ITG_COMMAND) + said.substr(begin, said.find('\n', begin) - begin));
}

}  // namespace intaglio::test::cli_report_test
