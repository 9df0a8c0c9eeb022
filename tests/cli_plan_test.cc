// intaglio plan, and what other commands do with a streamed plan.
#include <doctest/doctest.h>

#include "calibrator/host/system/files.h"
#include "tests/support/model_builder.h"
#include "tests/support/model_object.h"
#include "tests/support/run_cli.h"

namespace intaglio::test::cli_plan_test {
namespace {

// A chain of 3 x 3 convolutions on a picture [1, 24, 16, 4] of codes: of 16 channels, the last of 4.
AlignedBytes chain(const std::string& last = "y3") {
  ModelBuilder b;
  int32_t x = b.tensor("x", DType::kS8, {1, 24, 16, 4}, 0.05f, -7), channels = 4;
  b.input(x);
  for (int32_t n = 0; n < 4; ++n) {
    const std::string name = std::to_string(n);
    const int32_t in = channels;
    channels = n == 3 ? 4 : 16;
    std::vector<int8_t> codes(static_cast<size_t>(channels * 9 * in));
    for (size_t i = 0; i < codes.size(); ++i)
      codes[i] = static_cast<int8_t>((i + static_cast<size_t>(n)) * 37 % 251);
    const int32_t w = b.constant("w" + name, DType::kS8, {channels, 3, 3, in}, codes,
                                 std::vector<float>(static_cast<size_t>(channels), 0.01f), 0);
    const int32_t y = b.tensor(n == 3 ? last : "y" + name, DType::kS8, {1, 24, 16, channels}, 0.05f, -7);
    Window2d& window = b.node(Op::kConv2d, {x, w}, {y}).options.as<Window2d>();
    window.kernel_h = window.kernel_w = 3;
    window.pad_top = window.pad_left = window.pad_bottom = window.pad_right = 1;
    x = y;
  }
  b.output(x);
  return b.finish();
}

struct Folder : CommandFolder {
  Folder() {
    const AlignedBytes model = chain();
    REQUIRE(write_file_atomically(*this / "net.itg", model.view()));
  }
  std::string text(const std::string& name) const {
    const auto file = read_file(*this / name, 1 << 24);
    REQUIRE(file);
    return {reinterpret_cast<const char*>(file->data()), file->size()};
  }
};

}  // namespace

TEST_CASE("plan gives the least memory, a number of bytes, or takes rows out again") {
  const Folder folder;
  // Layer by layer two tensors of 6144. By rows: input and output whole, 1536 each, and three times three rows of 256.
  folder.good("plan %/net.itg -o %/least.itg");
  const auto least = folder.json("inspect %/least.itg --json --plan");
  CHECK(least["arena_bytes"] == 2 * 6144);
  CHECK(least["streamed"]["arena_bytes"] == 2 * 1536 + 3 * 3 * 256);
  CHECK(least["streamed"]["segments"].size() == 1);
  CHECK(least["session"]["streamed_bytes"] < least["session"]["total_bytes"]);
  CHECK(holds(folder.good("verify %/least.itg").out, "it gives the same outputs"));
  CHECK(holds(folder.good("inspect %/least.itg --plan").out, "##..............  "));
  folder.good("plan %/net.itg -o %/some.itg --memory 8000");
  const auto some = folder.json("inspect %/some.itg --json")["streamed"];
  CHECK(some["arena_bytes"].get<int>() <= 8000);
  CHECK(some["segments"][0]["band"].get<int>() > 1);
  folder.bad("plan %/net.itg -o %/no.itg --memory 100", "activation memory has 100 bytes");
  const Ran no_size = folder.run("plan %/net.itg -o %/no.itg --memory little");
  CHECK(no_size.code == 2);
  CHECK(holds(no_size.err, "neither 'least' nor 'flat'"));
  folder.good("plan %/least.itg -o %/flat.itg --memory flat");
  CHECK(folder.json("inspect %/flat.itg --json")["streamed"].is_null());
}

TEST_CASE("a plan whose layers overwrite rows of their input says so") {
  const Folder folder;
  // Two tensors of 6144 that share all but a third of their rows: no line buffer.
  folder.good("plan %/net.itg -o %/over.itg --memory 9000");
  const auto plan = folder.json("inspect %/over.itg --json --plan")["streamed"];
  CHECK(plan["arena_bytes"].get<int>() <= 9000);
  for (const auto& segment : plan["segments"]) CHECK(segment["first_node"] == segment["last_node"]);
  const auto& first = plan["segments"][0];
  CHECK(first["overwrites"] == first["tensors"][0]["name"]);
  CHECK(first["tensors"][0]["offset"] > first["tensors"][1]["offset"]);
  CHECK(holds(folder.good("inspect %/over.itg --plan").out,
              " at a step, over rows of the input that are read\n"));
  CHECK(holds(folder.good("verify %/over.itg").out, "it gives the same outputs"));
  folder.good("export-c %/over.itg -o %/over --target cortex-m4 --planned");
  CHECK(holds(folder.text("over/net_model.cc"), ", &intaglio::kRowsAlone};"));
}

TEST_CASE("an exported model runs by rows, checked and planned") {
  const Folder folder;
  folder.good("plan %/net.itg -o %/least.itg");
  const auto session = folder.json("inspect %/least.itg --json --target cortex-m4")["session"];
  folder.good("export-c %/least.itg -o %/checked --target cortex-m4");
  CHECK(holds(folder.text("checked/net_model.h"),
              "NET_MEMORY_BYTES " + std::to_string(session["streamed_bytes"].get<size_t>()) + "\n"));
  CHECK(holds(folder.text("checked/net_model.cc"), "itg_stream_rows(model, model);"));
  folder.good("export-c %/least.itg -o %/planned --target cortex-m4 --planned");
  CHECK(holds(folder.text("planned/net_model.h"), "NET_ACTIVATION_BYTES 5376\n"));
  CHECK(holds(folder.text("planned/net_model.cc"), ", &intaglio::kStreaming};"));
  folder.good("export-c %/net.itg -o %/flat --target cortex-m4 --planned");
  CHECK(!holds(folder.text("flat/net_model.cc"), "treaming"));
}

TEST_CASE("a picture that comes by rows has a line buffer; commands that have all of it give it a place") {
  const Folder folder;
  CHECK(!holds(folder.good("plan %/net.itg -o %/fed.itg --feed-rows").err, "--feed-rows"));
  const auto fed = folder.json("inspect %/fed.itg --json --plan")["streamed"];
  // Three rows of 64 instead of 24.
  CHECK(fed["arena_bytes"] == 3 * 64 + 1536 + 3 * 3 * 256);
  CHECK(fed["segments"][0]["feeds_rows"] == true);
  CHECK(fed["segments"][0]["tensors"][0]["name"] == "x");
  CHECK(fed["segments"][0]["tensors"][0]["rows"] == 3);
  CHECK(holds(folder.good("inspect %/fed.itg --plan").out, "24   fed"));
  CHECK(holds(folder.good("verify %/fed.itg").out, "it gives the same outputs"));
  const auto bench = folder.good("bench %/fed.itg --streamed --repeats 1");
  CHECK(holds(bench.err, "takes its picture row by row; here all of it stands beside the line buffers"));
  const Ran flat = folder.run("plan %/net.itg -o %/no.itg --feed-rows --memory flat");
  CHECK(flat.code == 2);
  CHECK(holds(flat.err, "rows are fed to a plan by rows"));
  folder.good("export-c %/fed.itg -o %/planned --target cortex-m4 --planned");
  CHECK(holds(folder.text("planned/net_model.h"), "#define NET_ROWS 24\n#define NET_ROW_BYTES 64\n"));
  CHECK(holds(folder.text("planned/net_model.cc"), "itg_session_feed_rows(&session, row, 1);"));
  CHECK(!holds(folder.text("planned/net_model.cc"), "itg_session_run("));
}

TEST_CASE("a plan that saves nothing is not written") {
  const Folder folder;
  CHECK(holds(folder.good("plan %/net.itg -o %/same.itg --memory 12288").out, "rows would save nothing"));
  CHECK(folder.json("inspect %/same.itg --json")["streamed"].is_null());
  CHECK(holds(folder.good("plan %/net.itg -o %/same.itg --memory 12288 --feed-rows").err,
              "note: --feed-rows has no effect: a line buffer for the first input would save no memory"));
  CHECK(holds(folder.good("bench %/same.itg --streamed --repeats 1").err, "has no streamed plan"));
}

TEST_CASE("plan and pack refuse what verify refuses") {
  const Folder folder;
  const auto refused = [&](const std::string& model, const std::string& message) {
    for (const std::string& words : {std::string("verify %/") + model, "plan %/" + model + " -o %/out.itg",
                                     "pack %/" + model + " -o %/out.itg --isa avx2"})
      folder.bad(words, message);
    CHECK_FALSE(read_file(folder / "out.itg", 1 << 24));
  };
  // Two tensors of one name.
  const AlignedBytes twice = chain("y1");
  REQUIRE(write_file_atomically(folder / "twice.itg", twice.view()));
  refused("twice.itg", "two tensors have the name 'y1'");
  // A packed weight that is not what the plain ones give, under a checksum that is right.
  folder.good("pack %/net.itg -o %/packed.itg --isa avx2");
  const auto packed = read_file(folder / "packed.itg", 1 << 24);
  REQUIRE(packed);
  const Result<Model> model = Model::open(packed->span());
  REQUIRE(static_cast<bool>(model));
  AlignedBytes changed(packed->span());
  changed.data()[model->pack(0).data.data - packed->data()] ^= 1;
  sign(changed);
  REQUIRE(write_file_atomically(folder / "changed.itg", changed.view()));
  refused("changed.itg", "packed");
}

TEST_CASE("plan --ceiling stays with the model, and what needs more is not exported") {
  const Folder folder;
  folder.good("plan %/net.itg -o %/some.itg --memory flat --ceiling 20000");
  const auto bounded = folder.json("inspect %/some.itg --json --target cortex-m4");
  CHECK(bounded["memory_ceiling"] == 20000);
  CHECK(folder.json("inspect %/net.itg --json")["memory_ceiling"].is_null());
  const size_t need = bounded["session"]["total_bytes"].get<size_t>();
  REQUIRE(need < 20000);
  CHECK(holds(folder.good("inspect %/some.itg --target cortex-m4").out,
              "ceiling        20 000 bytes, " + std::to_string(20000 - need).insert(1, " ") +
                  " more than that session"));
  // Other commands keep it.
  for (const char* const command :
       {"plan %/some.itg -o %/kept.itg", "pack %/some.itg -o %/kept.itg --isa avx2"}) {
    folder.good(command);
    CHECK(folder.json("inspect %/kept.itg --json")["memory_ceiling"] == 20000);
  }
  folder.good("plan %/some.itg -o %/none.itg --memory flat --ceiling 0");
  CHECK(folder.text("none.itg") == folder.text("net.itg"));
  // It runs here, whatever this machine needs, and is exported for machines that can hold to it.
  const std::string exact = std::to_string(need), less = std::to_string(need - 1);
  folder.good("plan %/net.itg -o %/exact.itg --memory flat --ceiling " + exact);
  folder.good("export-c %/exact.itg -o %/c --target cortex-m4");
  folder.good("plan %/net.itg -o %/less.itg --memory flat --ceiling " + less);
  folder.bad("export-c %/less.itg -o %/c2 --target cortex-m4",
             "a session takes " + exact + " bytes of memory, and the model's ceiling is " + less);
  folder.good("verify %/less.itg");
  CHECK(holds(folder.good("inspect %/less.itg --target cortex-m4").out, "ceiling        "));
  CHECK(holds(folder.good("inspect %/less.itg --target cortex-m4").out, ", 1 fewer than that session"));
  // Below the activations no machine could hold to it; by rows it could.
  folder.bad("plan %/net.itg -o %/no.itg --memory flat --ceiling 12287",
             "--ceiling 12287: the activations alone take 12288 bytes");
  folder.good("plan %/net.itg -o %/rows.itg --ceiling 12287");
  CHECK(folder.run("plan %/net.itg -o %/no.itg --ceiling 2147483649").code == 2);
  CHECK(!std::filesystem::exists(folder / "no.itg"));
}

TEST_CASE("plan places activations in two memories, layer by layer or by rows, and takes that back") {
  const Folder folder;
  // Two tensors of 6144 at once, 1536 at the ends.
  const auto flat = folder.json("plan %/net.itg -o %/two.itg --memory fast=6K,slow=1M --json");
  CHECK(flat["fast_bytes"] == 6144);
  CHECK(flat["slow_bytes"] == 6144);
  CHECK(flat["streamed_bytes"] == nullptr);
  CHECK(holds(folder.good("verify %/two.itg").out, "good"));
  const auto seen = folder.json("inspect %/two.itg --json --target cortex-m7 --clock 280");
  CHECK(seen["fast_bytes"] == 6144);
  CHECK(seen["session"]["two_memories"]["fast_bytes"] == 6144);
  CHECK(seen["session"]["two_memories"]["activation_bytes"] == 6144);
  CHECK(seen["estimate"]["slow_cycles"] < seen["estimate"]["all_slow_cycles"]);
  CHECK(holds(folder.good("inspect %/two.itg").out, "two memories"));
  // By rows where the large one is too small for a tensor.
  const auto by_rows = folder.json("plan %/two.itg -o %/rows.itg --memory fast=2K,slow=4K --json");
  CHECK(by_rows["fast_bytes"] <= 2048);
  CHECK(by_rows["slow_bytes"] <= 4096);
  CHECK(by_rows["streamed_bytes"] == by_rows["fast_bytes"].get<int>() + by_rows["slow_bytes"].get<int>());
  CHECK(holds(folder.good("verify %/rows.itg").out, "it gives the same outputs"));
  CHECK(folder.json("inspect %/rows.itg --json")["fast_bytes"] ==
        0);  // layer by layer in one memory, as before
  const auto sources = folder.json("export-c %/rows.itg -o %/c --json --planned");
  CHECK(sources["fast_bytes"] == by_rows["fast_bytes"]);
  CHECK(sources["activation_bytes"] == by_rows["slow_bytes"]);
  // What does not fit, words that are none, and back to one.
  CHECK(holds(folder.run("plan %/net.itg -o %/no.itg --memory fast=1K,slow=1K").err,
              "activation memory has 1024 bytes"));
  for (const char* const words :
       {"fast=64K", "slow=2M", "fast=64,slow=", "fast=0,slow=2", "fast=1,slow=2M", "fast=64Q,slow=2M"})
    CHECK(folder.run(std::string("plan %/net.itg -o %/no.itg --memory ") + words).code == 2);
  folder.good("plan %/two.itg -o %/one.itg --memory flat");
  folder.good("plan %/net.itg -o %/plain.itg --memory flat");
  CHECK(folder.text("one.itg") == folder.text("plain.itg"));
}

}  // namespace intaglio::test::cli_plan_test
