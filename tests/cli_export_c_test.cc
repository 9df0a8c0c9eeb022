// Refusals of export-c, and texts of it that nothing else looks at; tests/export_c builds and runs the
// rest.
#include <doctest/doctest.h>

#include <cstdio>

#include "calibrator/host/system/files.h"
#include "intaglio/isa.h"
#include "tests/support/run_cli.h"
#include "tests/support/small_models.h"

namespace intaglio::test::cli_export_c_test {
namespace {

struct Folder : CommandFolder {
  Folder() {
    const AlignedBytes model = small_cnn();
    REQUIRE(write_file_atomically(*this / "net.itg", model.view()));
  }
  std::string text(const std::string& name) const {
    const auto file = read_file(*this / name, 1 << 24);
    REQUIRE_MESSAGE(file, file.message());
    return {reinterpret_cast<const char*>(file->data()), file->size()};
  }
};

}  // namespace

TEST_CASE("only the operators that the model needs are named, each once") {
  const Folder folder;
  folder.good("export-c %/net.itg -o %/out --prefix net");
  const std::string parts = folder.text("out/net_model.cc");
  for (const char* const name : {"kConv2dF32", "kDepthwiseConv2dF32", "kMaxPool2dF32", "kSoftmaxF32"}) {
    const std::string entry = std::string("&intaglio::") + name + ",";
    CHECK(holds(parts, entry));
    CHECK(parts.find(entry) == parts.rfind(entry));
  }
  CHECK(!holds(parts, "S8"));
  CHECK(!holds(parts, "kTranspose"));
}

TEST_CASE("sizes are those that inspect gives for the same target") {
  const Folder folder;
  for (const std::string target : {"cortex-m55", "cortex-m4", "x86-avx2", "scalar"}) {
    folder.good("export-c %/net.itg -o %/" + target + " --target " + target);
    const auto session = folder.json("inspect %/net.itg --json --target " + target)["session"];
    const std::string header = folder.text(target + "/net_model.h");
    CHECK(holds(header, "NET_MEMORY_BYTES " + std::to_string(session["total_bytes"].get<size_t>()) + "\n"));
    CHECK(
        holds(header, "NET_SCRATCH_BYTES " + std::to_string(session["scratch_bytes"].get<size_t>()) + "\n"));
  }
}

// By cpu_isa() there: with another bit such a machine would refuse the session, and its own choice would be another.
TEST_CASE("a target asks for no more than its CPUs have") {
  const Folder folder;
  for (const auto& [target, isa] :
       {std::pair("arm-neona53", isa::kNeon | isa::kNeonA53),
        std::pair("arm-neona55", isa::kNeon | isa::kNeonDot | isa::kNeonA55),
        std::pair("x86-avxvnni", isa::kAvx2 | isa::kAvxVnni),
        std::pair("x86-avx512ymm", isa::kAvx2 | isa::kAvx512Ymm),
        std::pair("x86-avx512vnni", isa::kAvx2 | isa::kAvx512Ymm | isa::kAvx512Vnni),
        std::pair("x86-avx512vbmi", isa::kAvx2 | isa::kAvx512Ymm | isa::kAvx512Vnni | isa::kAvx512Vbmi)}) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%xu", static_cast<unsigned>(isa));
    folder.good(std::string("export-c %/net.itg -o %/checked --target ") + target);
    CHECK(holds(folder.text("checked/net_model.cc"), std::string("options.isa = ") + text + ";"));
    folder.good(std::string("export-c %/net.itg -o %/planned --planned --target ") + target);
    CHECK(holds(folder.text("planned/net_model.cc"), std::string("}, ") + text + ", "));
  }
}

TEST_CASE("with --planned only the halves of operators that run are named, and memory is what inspect says") {
  const Folder folder;
  for (const std::string target : {"cortex-m55", "cortex-m4", "x86-avx2", "scalar"}) {
    folder.good("export-c %/net.itg -o %/" + target + " --planned --prefix net --target " + target);
    const std::string parts = folder.text(target + "/net_model.cc"),
                      header = folder.text(target + "/net_model.h");
    for (const char* const name : {"kConv2dF32Run", "kDepthwiseConv2dF32Run", "kMaxPool2dF32Run"})
      CHECK(holds(parts, std::string("&intaglio::") + name + ","));
    CHECK(!holds(parts, "OpDef"));
    CHECK(!holds(parts, "itg_model_open"));
    CHECK(!holds(header, "net_model_ops"));
    CHECK(holds(header, "NET_PERSISTENT_BYTES 0\n"));
    const auto session = folder.json("inspect %/net.itg --json --target " + target)["session"];
    const auto bytes = session["planned_bytes"].get<size_t>();
    CHECK(bytes < session["total_bytes"].get<size_t>());
    CHECK(holds(header, "NET_MEMORY_BYTES " + std::to_string(bytes) + "\n"));
  }
  CHECK(folder.json("inspect %/net.itg --json")["session"]["planned_bytes"].is_null());
}

TEST_CASE("a picture model's sample takes a frame, whose scratch memory is what inspect gives") {
  const Folder folder;
  folder.good("export-c %/net.itg -o %/own");
  CHECK(holds(folder.text("own/net_model.h"), "NET_FRAME_WIDTH 10\n#define NET_FRAME_HEIGHT 12\n"));
  CHECK(holds(folder.text("own/net_model.h"), "NET_FRAME_ORDER ITG_PIXELS_RGB\n"));
  for (const char* const frame : {"33x21:nv12:bt709-full", "64x48:bayer-grbg10", "8x8:gray"}) {
    const std::string words = std::string(" --frame ") + frame;
    const auto exported = folder.json("export-c %/net.itg -o %/out --json" + words);
    const auto asked = folder.json("inspect %/net.itg --json" + words)["frame"];
    CHECK(asked["frame"] == frame);
    CHECK(exported["frame_scratch_bytes"] == asked["scratch_bytes"]);
    const std::string header = folder.text("out/net_model.h");
    for (const auto& [macro, key] : {std::pair("SCRATCH_BYTES", "scratch_bytes"),
                                     std::pair("ROW_BYTES", "row_bytes"), std::pair("BYTES", "bytes")})
      CHECK(holds(header,
                  std::string("NET_FRAME_") + macro + " " + std::to_string(asked[key].get<size_t>()) + "\n"));
  }
  folder.good("export-c %/net.itg -o %/nv12 --frame 33x21:nv12:bt709-full");
  const std::string header = folder.text("nv12/net_model.h"), sample = folder.text("nv12/main.c");
  CHECK(holds(
      header,
      "NET_FRAME_ORDER ITG_PIXELS_NV12\n#define NET_FRAME_BITS 8\n#define NET_FRAME_YUV ITG_YUV_BT709_FULL\n"));
  CHECK(
      holds(header,
            "NET_FRAME_ROW_BYTES 33\n#define NET_FRAME_CHROMA_ROW_BYTES 34\n#define NET_FRAME_BYTES 1067\n"));
  CHECK(holds(sample, "itg_frame_writer_push_row(&writer, row, chroma);"));
  CHECK(
      holds(folder.good("inspect %/net.itg --frame 640x480:yuyv").out, "640x480:yuyv: 614 400 bytes, and "));
  for (const auto& [frame, text] :
       {std::pair("640x480", "a frame is WIDTHxHEIGHT:ORDER"),
        std::pair("640x480:yuv", "ORDER is one of rgb"), std::pair("0x4:rgb", "1 to 32767"),
        std::pair("4x40000:rgb", "1 to 32767"), std::pair("4x4:yuyv10", "a frame is"),
        std::pair("4x4:gray17", "8 to 16 bits"), std::pair("4x4:bayer-rggb7", "8 to 16 bits"),
        std::pair("4x-4:rgb", "1 to 32767"), std::pair("4x4:rgb:bt601", "bt709-full"),
        std::pair("4x4:nv12:", "bt709-full")})
    for (const char* const command : {"inspect %/net.itg --frame ", "export-c %/net.itg -o %/bad --frame "}) {
      const Ran ran = folder.run(std::string(command) + frame);
      CHECK(ran.code == 2);
      CHECK_MESSAGE(holds(ran.err, text), ran.err);
    }
  CHECK(!read_file(folder / "bad/main.c", 1 << 20));
}

TEST_CASE("export-c refuses what it cannot do, and writes nothing") {
  const Folder folder;
  const auto refused = [&](const std::string& prefix, const std::string& text) {
    const Ran ran = folder.run("export-c %/net.itg -o %/out --prefix " + prefix);
    CHECK(ran.code == 2);
    CHECK(holds(ran.err, "--prefix " + prefix + ": "));
    CHECK(holds(ran.err, text));
  };
  refused("1st", "no C identifier");
  refused("a-b", "no C identifier");
  for (const char* const prefix : {"itg", "ITG", "Itg", "itg_session", "ITG_PLANNED"})
    refused(prefix, "are the library's own");
  for (const char* const prefix : {"_net", "net_", "my__net"}) refused(prefix, "are the compiler's own");
  folder.bad("export-c %/absent.itg -o %/out", "absent.itg");
  folder.bad("export-c %/net.itg -o %/net.itg", "is no folder");
  CHECK(!read_file(folder / "out/CMakeLists.txt", 1 << 20));
}

TEST_CASE("export-c replaces its own files, of another model too, and no file that somebody changed") {
  const Folder folder;
  const std::string again = "export-c %/net.itg -o %/out", planned = again + " --planned";
  const auto put = [&](const std::string& name, const std::string& text) {
    REQUIRE(
        write_file_atomically(folder / name, {reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
  };
  folder.good(again);
  const std::string header = folder.text("out/net_model.h"), sample = folder.text("out/main.c");
  const auto first = folder.json(planned + " --json");
  CHECK(first["files"].size() == 5);
  CHECK(first["kept"].empty());
  CHECK(folder.text("out/net_model.h") != header);
  const Ran other = folder.good(again + " --prefix other");
  CHECK(holds(other.err, "out/main.c: was of another model, and is of other now"));
  CHECK(holds(other.err, "out/CMakeLists.txt: was of another model"));
  CHECK(!holds(folder.good(again + " --prefix other").err, "another model"));
  folder.good(again);

  // Files that the user goes on with are kept, and a note says so.
  for (const std::string name : {"main.c", "CMakeLists.txt"}) {
    const std::string path = "out/" + name;
    for (const std::string& mine : {"X" + folder.text(path), folder.text(path) + "\n", std::string("mine")}) {
      put(path, mine);
      const Ran ran = folder.good(again + " --json");
      CHECK(holds(ran.err, "intaglio: note: " + (folder / path) + ": was changed"));
      CHECK(parsed_json(ran.out)["kept"] == nlohmann::json::array({name}));
      CHECK(parsed_json(ran.out)["files"].size() == 4);
      CHECK(folder.text(path) == mine);
    }
    put(path, "");
    folder.good(again);
    CHECK(folder.text(path) != "");
  }
  CHECK(folder.text("out/main.c") == sample);

  // The other files belong together: nothing is written where one of them cannot be.
  put("out/net_model.cc", folder.text("out/net_model.cc") + "// mine\n");
  folder.bad(planned, "net_model.cc: was changed");
  CHECK(folder.text("out/net_model.h") == header);
  CHECK(holds(folder.text("out/net_model.cc"), "// mine"));
}

}  // namespace intaglio::test::cli_export_c_test
