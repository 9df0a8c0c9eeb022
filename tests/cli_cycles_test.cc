// inspect --clock: how long a run takes on a microcontroller. Whole networks against what qemu's counted programs take
// (benchmarks/instruction_count/cycle_table.py), a network's figures exactly, and what is refused.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "calibrator/host/system/files.h"
#include "tests/support/model_builder.h"
#include "tests/support/run_cli.h"
#include "tests/support/small_models.h"
#include "tools/cycle_estimate.h"
#include "tools/node_work.h"

namespace intaglio::test::cli_cycles_test {
namespace {

// 3 x 3 at stride 1, then 1 x 1 with a clamp, then a function that no kernel of the table computes in int16.
AlignedBytes two_layers(bool with_s16 = false) {
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kS8, {1, 8, 8, 8}, 0.05f, -3);
  const int32_t y = b.tensor("y", DType::kS8, {1, 8, 8, 16}, 0.5f, 4),
                z = b.tensor("z", DType::kS8, {1, 8, 8, 4}, 0.5f, 4);
  const auto weights = [&](const char* name, const std::vector<int32_t>& dims) {
    size_t count = 1;
    for (const int32_t dim : dims) count *= static_cast<size_t>(dim);
    return b.constant(name, DType::kS8, dims, std::vector<int8_t>(count, 3),
                      std::vector<float>(static_cast<size_t>(dims[0]), 0.01f), 0);
  };
  b.input(x);
  Window2d& window = b.node(Op::kConv2d, {x, weights("w", {16, 3, 3, 8})}, {y}).options.as<Window2d>();
  window.kernel_h = window.kernel_w = 3;
  window.pad_top = window.pad_left = window.pad_bottom = window.pad_right = 1;
  b.node(Op::kConv2d, {y, weights("v", {4, 1, 1, 16})}, {z}).options.as<Clamp>().lo = 4;
  if (with_s16) {
    const int32_t wide = b.tensor("wide", DType::kS16, {1, 8, 8, 4}, 0.01f);
    b.node(Op::kQuantize, {z}, {wide});
    b.output(wide);
  } else {
    b.output(z);
  }
  return b.finish();
}

struct Folder : CommandFolder {
  Folder() {
    REQUIRE(write_file_atomically(*this / "net.itg", two_layers().view()));
    REQUIRE(write_file_atomically(*this / "wide.itg", two_layers(true).view()));
    REQUIRE(write_file_atomically(*this / "real.itg", small_cnn(1, 0.01f).view()));
  }
};

// Cycles that cycle_table.py counted, without wait states and with the flash of a chip.
struct Counted {
  const char* file;
  const char* target;
  double core;
  const char* chip;
  double with_flash;
};
constexpr Counted kCounted[] = {
    {"models/resnet8_int8.tflite", "cortex-m4", 18643302, "stm32l4r5", 19073542},
    {"models/resnet8_int8.tflite", "cortex-m7", 13491848, "stm32h7a3", 13639788},
    {"models/resnet8_int8.tflite", "cortex-m3", 70803561, nullptr, 70803561},
    {"models/resnet8_int8.tflite", "cortex-m0plus", 74219502, "stm32g0b1", 99587228},
    {"models/vww_96_int8.tflite", "cortex-m4", 9444381, "stm32l4r5", 9649778},
    {"models/vww_96_int8.tflite", "cortex-m7", 6939280, "stm32h7a3", 6994082},
    {"models/vww_96_int8.tflite", "cortex-m3", 40136792, nullptr, 40136792},
    {"models/vww_96_int8.tflite", "cortex-m0plus", 42900459, "stm32g0b1", 51682111},
    {"models/kws_int8.tflite", "cortex-m4", 4923027, "stm32l4r5", 4977917},
    {"models/kws_int8.tflite", "cortex-m7", 3459004, "stm32h7a3", 3472194},
    {"models/kws_int8.tflite", "cortex-m3", 22075715, nullptr, 22075715},
    {"models/kws_int8.tflite", "cortex-m0plus", 23259110, "stm32g0b1", 28878842},
    {"models/ad01_int8.tflite", "cortex-m4", 475450, "stm32l4r5", 587190},
    {"models/ad01_int8.tflite", "cortex-m7", 319112, "stm32h7a3", 410182},
    {"models/ad01_int8.tflite", "cortex-m3", 1478096, nullptr, 1478096},
    {"models/ad01_int8.tflite", "cortex-m0plus", 1561856, "stm32g0b1", 2105366},
    {"corpus/ainedmodel_public_dataset-emnist_byclass-st_mnist_v1_28_tfs-st_mnist_v1_28_tfs_int8.tflite",
     "cortex-m4", 2085299, "stm32l4r5", 2128542},
    {"corpus/ainedmodel_public_dataset-emnist_byclass-st_mnist_v1_28_tfs-st_mnist_v1_28_tfs_int8.tflite",
     "cortex-m7", 1374458, "stm32h7a3", 1381246},
    {"corpus/ainedmodel_public_dataset-emnist_byclass-st_mnist_v1_28_tfs-st_mnist_v1_28_tfs_int8.tflite",
     "cortex-m3", 7270090, nullptr, 7270090},
    {"corpus/ainedmodel_public_dataset-emnist_byclass-st_mnist_v1_28_tfs-st_mnist_v1_28_tfs_int8.tflite",
     "cortex-m0plus", 7669805, "stm32g0b1", 9901763},
    {"corpus/l_public_dataset-esc10-miniresnet_1stacks_64x50_tl-miniresnet_1stacks_64x50_tl_int8.tflite",
     "cortex-m4", 13963026, "stm32l4r5", 14539808},
    {"corpus/l_public_dataset-esc10-miniresnet_1stacks_64x50_tl-miniresnet_1stacks_64x50_tl_int8.tflite",
     "cortex-m7", 9557919, "stm32h7a3", 9958571},
    {"corpus/l_public_dataset-esc10-miniresnet_1stacks_64x50_tl-miniresnet_1stacks_64x50_tl_int8.tflite",
     "cortex-m3", 48725102, nullptr, 48725102},
    {"corpus/l_public_dataset-esc10-miniresnet_1stacks_64x50_tl-miniresnet_1stacks_64x50_tl_int8.tflite",
     "cortex-m0plus", 53149493, "stm32g0b1", 68178493},
    {"corpus/blic_dataset-fsd50k-yamnet_256_64x96_tl-with_unknown_class-yamnet_256_64x96_tl_int8.tflite",
     "cortex-m4", 39941745, "stm32l4r5", 40090882},
    {"corpus/blic_dataset-fsd50k-yamnet_256_64x96_tl-with_unknown_class-yamnet_256_64x96_tl_int8.tflite",
     "cortex-m7", 27148897, "stm32h7a3", 27205949},
    {"corpus/blic_dataset-fsd50k-yamnet_256_64x96_tl-with_unknown_class-yamnet_256_64x96_tl_int8.tflite",
     "cortex-m3", 160291039, nullptr, 160291039},
    {"corpus/blic_dataset-fsd50k-yamnet_256_64x96_tl-with_unknown_class-yamnet_256_64x96_tl_int8.tflite",
     "cortex-m0plus", 167351773, "stm32g0b1", 217027513},
    {"corpus/dmodel_public_dataset-person-mobilenet_v2_0.35_128_tl-mobilenet_v2_0.35_128_tl_int8.tflite",
     "cortex-m4", 41340371, "stm32l4r5", 42193569},
    {"corpus/dmodel_public_dataset-person-mobilenet_v2_0.35_128_tl-mobilenet_v2_0.35_128_tl_int8.tflite",
     "cortex-m7", 30696769, "stm32h7a3", 30943287},
    {"corpus/dmodel_public_dataset-person-mobilenet_v2_0.35_128_tl-mobilenet_v2_0.35_128_tl_int8.tflite",
     "cortex-m3", 175202964, nullptr, 175202964},
    {"corpus/dmodel_public_dataset-person-mobilenet_v2_0.35_128_tl-mobilenet_v2_0.35_128_tl_int8.tflite",
     "cortex-m0plus", 186667456, "stm32g0b1", 225413602},
    {"corpus/aset-plant-village-st_efficientnet_lc_v1_128_tfs-st_efficientnet_lc_v1_128_tfs_int8.tflite",
     "cortex-m4", 66363671, "stm32l4r5", 70392983},
    {"corpus/aset-plant-village-st_efficientnet_lc_v1_128_tfs-st_efficientnet_lc_v1_128_tfs_int8.tflite",
     "cortex-m7", 49431718, "stm32h7a3", 49770920},
    {"corpus/aset-plant-village-st_efficientnet_lc_v1_128_tfs-st_efficientnet_lc_v1_128_tfs_int8.tflite",
     "cortex-m3", 242147019, nullptr, 242147019},
    {"corpus/aset-plant-village-st_efficientnet_lc_v1_128_tfs-st_efficientnet_lc_v1_128_tfs_int8.tflite",
     "cortex-m0plus", 290322666, "stm32g0b1", 334288116},
};

}  // namespace

TEST_CASE("the table gives the cycles of whole networks that were not fitted") {
  const char* const given = std::getenv("INTAGLIO_SHARED");
  const std::string shared = given != nullptr ? given : "../shared";
  const CommandFolder folder;
  std::string imported;
  for (const Counted& one : kCounted) {
    const std::string path = shared + "/" + one.file;
    CAPTURE(path);
    CAPTURE(std::string(one.target));
    if (!std::filesystem::exists(path)) {
      MESSAGE("skipped: " << path);
      continue;
    }
    if (imported != path) folder.good("import " + path + " -o %/counted.itg");
    imported = path;
    // Cores without floating point requantize some sums in software: how many depends on the data.
    const bool has_floats = std::string(one.target) == "cortex-m4" || std::string(one.target) == "cortex-m7";
    const double most = has_floats ? 0.05 : 0.06;
    const std::string inspect =
        "inspect %/counted.itg --json --target " + std::string(one.target) + " --clock ";
    const auto core = folder.json(inspect + "64")["estimate"];
    CHECK(core["without_figure"] == 0);
    CHECK(std::abs(core["cycles"].get<double>() / one.core - 1) < most);
    if (one.chip == nullptr) continue;
    const std::string at_most = std::string(one.target) == "cortex-m4"   ? "120"
                                : std::string(one.target) == "cortex-m7" ? "280"
                                                                         : "64";
    const auto flash = folder.json(inspect + at_most + " --chip " + one.chip)["estimate"];
    CHECK(std::abs(flash["cycles"].get<double>() / one.with_flash - 1) < most);
    CHECK(core["table_error_percent"].get<double>() <= 100 * most);
  }
}

TEST_CASE("work is counted loop by loop, and a node's cycles are its work times the table") {
  const Folder folder;
  const auto file = tools::LoadedModel::open(folder / "net.itg");
  REQUIRE(file);
  const auto target = tools::find_target("cortex-m4");
  REQUIRE(target);
  // 16 tiles of four windows in two calls of at most 13: 18 blocks of four depths by 16 columns.
  const tools::NodeWork tiles = tools::work_of(file->model(), 0, *target);
  CHECK(tiles.kernel == "gemm_s8_dsp");
  const std::vector<double> of_tiles(tiles.amounts.begin() + 5, tiles.amounts.begin() + 13);
  CHECK(of_tiles == std::vector<double>{16, 16 * 18, 16, 2, 2 * 16, 2 * 16 * 18, 16 * 16, 16 * 16 * 18});
  // 64 rows in place by two pairs of columns of four blocks, and a clamp.
  const tools::NodeWork pairs = tools::work_of(file->model(), 1, *target);
  CHECK(pairs.amounts.size() == tiles.amounts.size());
  CHECK(pairs.amounts.size() <= tools::kMostAmounts);
  double sum = 0;
  for (const double amount : pairs.amounts) sum += amount;
  CHECK(sum == 1 + 1 + 1 + 1 + 2 + 2 * 4 + 32 * 2 + 32 * 2 * 4 + 32 * 2 + 4 + 64 * 4 + 4 * 16);

  const auto estimate = tools::estimate_cycles(*file, "cortex-m4", 120, "");
  REQUIRE(estimate);
  CHECK(estimate->nodes.size() == 2);
  CHECK(estimate->unknown() == 0);
  CHECK(std::round(*estimate->nodes[0].cycles) == 124950);
  CHECK(std::round(*estimate->nodes[1].cycles) == 18683);
  CHECK(estimate->cycles() == *estimate->nodes[0].cycles + *estimate->nodes[1].cycles);
  CHECK(estimate->ms(120000) == 1);
  // Without wait states at a low clock, and with as many as there can be.
  const auto slow = tools::estimate_cycles(*file, "cortex-m4", 20, "stm32l4r5");
  const auto fast = tools::estimate_cycles(*file, "cortex-m4", 120, "stm32l4r5");
  const auto between = tools::estimate_cycles(*file, "cortex-m4", 60, "stm32l4r5");
  REQUIRE((slow && fast && between));
  CHECK(slow->cycles() == estimate->cycles());
  CHECK(fast->cycles() > slow->cycles());
  CHECK(between->cycles() - slow->cycles() == doctest::Approx(0.4 * (fast->cycles() - slow->cycles())));
  // By another core's timings, and so said.
  const auto other = tools::estimate_cycles(*file, "cortex-m33", 120, "");
  REQUIRE(other);
  CHECK(other->cycles() == estimate->cycles());
  CHECK(other->timed_as == "cortex-m4");
  CHECK(estimate->timed_as == "cortex-m4");
}

TEST_CASE("inspect prints cycles and milliseconds with their errors, whole and by node") {
  const Folder folder;
  const std::string text =
      folder.good("inspect %/net.itg --target cortex-m4 --clock 120 --chip stm32l4r5 --ops").out;
  CHECK(holds(text, " cycles on cortex-m4 with the flash of stm32l4r5: "));
  CHECK(holds(text, " ms at 120 MHz"));
  CHECK(holds(text, " % off counted networks"));
  CHECK(holds(text, "counts of programs whose cycles are published are -3.3 % to +1.0 % off"));
  CHECK(holds(text, "cycles     ms"));
  const auto json = folder.json("inspect %/net.itg --target cortex-m33 --clock 64.5 --json")["estimate"];
  CHECK(json["target"] == "cortex-m33");
  CHECK(json["timed_as"] == "cortex-m4");
  CHECK(json["chip"].is_null());
  CHECK(json["clock_mhz"] == 64.5);
  CHECK(json["nodes"].size() == 2);
  CHECK(json["nodes"][1]["kernel"] == "gemm_s8_dsp");
  CHECK(json["ms"].get<double>() == doctest::Approx(json["cycles"].get<double>() / 64500).epsilon(1e-4));
  CHECK(!folder.json("inspect %/net.itg --target cortex-m4 --json").contains("estimate"));
}

TEST_CASE("a node without a figure is named, and what has none at all is refused") {
  const Folder folder;
  const std::string text = folder.good("inspect %/wide.itg --target cortex-m4 --clock 120").out;
  CHECK(holds(text, "at least "));
  CHECK(holds(text, "no figure      Quantize"));
  CHECK(holds(text, ": 1 node, the first is node 2"));
  const auto json = folder.json("inspect %/wide.itg --target cortex-m4 --clock 120 --json")["estimate"];
  CHECK(json["without_figure"] == 1);
  CHECK(json["nodes"][2]["cycles"].is_null());
  folder.bad("inspect %/real.itg --target cortex-m4 --clock 120",
             "cycles are known of int8 layers; calibrate the model first");
  folder.bad("inspect %/net.itg --target cortex-m55 --clock 120",
             "--clock: no cycles are known of cortex-m55, but of cortex-m4, ");
  folder.bad("inspect %/net.itg --target cortex-m4 --clock 121 --chip stm32l4r5",
             "--clock 121: stm32l4r5 has at most 120 MHz");
  folder.bad("inspect %/net.itg --target cortex-m4 --clock 64 --chip stm32g0b1",
             "--chip stm32g0b1: has a cortex-m0plus, not a cortex-m4");
  for (const char* const clock : {"0", "-3", "2001"})
    folder.bad("inspect %/net.itg --target cortex-m4 --clock " + std::string(clock),
               ": megahertz are above 0 and at most 2000");
  const Ran ran = folder.run("inspect %/net.itg --target cortex-m4 --clock 64 --chip z80");
  CHECK(ran.code == 2);
  CHECK(holds(ran.err, "--chip z80: is not known; there are stm32l4r5 (cortex-m4)"));
}

}  // namespace intaglio::test::cli_cycles_test
