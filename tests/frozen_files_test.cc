// Files that released versions have written are opened for ever, and give what they gave. scripts/freeze makes them.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "calibrator/host/system/files.h"
#include "calibrator/state/calibration_state.h"
#include "intaglio/calibrator.h"
#include "intaglio/platform.h"
#include "intaglio/streaming.h"
#include "kernels/compiled_isa.h"
#include "tests/frozen/frozen_run.h"
#include "tests/support/float_samples.h"
#include "tests/support/model_object.h"
#include "tests/support/random.h"

namespace intaglio::test::frozen_files_test {
namespace {

struct OldFile {
  std::string name;
  uint32_t file = 0, outputs = 0;  // CRC-32 of its bytes, and of what it computes or holds
};

std::vector<OldFile> old_files() {
  std::vector<OldFile> found;
  std::ifstream list(ITG_FROZEN "/outputs.txt");
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    OldFile file;
    if (words >> file.name >> std::hex >> file.file >> file.outputs) found.push_back(file);
  }
  return found;
}

FileBytes bytes_of_old(const std::string& name) {
  Outcome<FileBytes> bytes = read_file(ITG_FROZEN "/" + name, 1 << 20);
  REQUIRE_MESSAGE(bytes, name);
  return std::move(*bytes);
}

bool is_state(const std::string& name) { return name.find(".state") != std::string::npos; }

}  // namespace

TEST_CASE("a model of every released format opens, and gives the outputs that it gave") {
  std::set<uint16_t> formats;
  for (const OldFile& old : old_files()) {
    if (is_state(old.name)) continue;
    CAPTURE(old.name);
    const FileBytes bytes = bytes_of_old(old.name);
    REQUIRE(crc32(0, bytes.data(), bytes.size()) == old.file);
    const Result<Model> model = Model::open(bytes.span());
    REQUIRE_MESSAGE(model, text_of(model.error()));
    formats.insert(model->format_version());
    const Result<uint32_t> outputs = frozen_outputs(bytes.span());
    REQUIRE_MESSAGE(outputs, text_of(outputs.error()));
    CHECK(*outputs == old.outputs);
  }
  for (uint16_t format = kOldestFormat; format <= kFormatVersion; ++format) {
    CAPTURE(format);
    CHECK(formats.count(format) == 1);
  }
}

TEST_CASE("the streamed plan of an old file gives what its layers one by one gave, in less memory") {
  int32_t plans = 0, fed = 0;
  for (const OldFile& old : old_files()) {
    if (is_state(old.name)) continue;
    CAPTURE(old.name);
    const FileBytes bytes = bytes_of_old(old.name);
    const Model flat = *Model::open(bytes.span());
    const Result<Model> streamed = stream_rows(flat);
    REQUIRE_MESSAGE(streamed, text_of(streamed.error()));
    const bool has_plan = old.name.find("rows_") == 0 || old.name.find("fed_") == 0;
    CHECK((streamed->activation_bytes() < flat.activation_bytes()) == has_plan);
    if (!has_plan) continue;
    ++plans;
    FrozenRun by_rows;
    by_rows.by_rows = by_rows.feeds = true;
    FrozenRun layer_by_layer;
    layer_by_layer.feeds = true;
    const Result<uint32_t> outputs = frozen_outputs(bytes.span(), by_rows);
    REQUIRE_MESSAGE(outputs, text_of(outputs.error()));
    CHECK(*outputs == *frozen_outputs(bytes.span(), layer_by_layer));
    // Pixels that are fed are no picture of another size, which is what the list's number is of.
    if (old.name.find("fed_") == 0) ++fed;
    if (old.name.find("fed_") == 0 && flat.image_count() > 0) continue;
    by_rows.feeds = false;
    CHECK(*frozen_outputs(bytes.span(), by_rows) == old.outputs);
  }
  CHECK(plans >= 8);
  CHECK(fed >= 4);
}

TEST_CASE("packed weights of an old file are used where its machine's kernel runs, to the same outputs") {
  SessionOptions avx2;
  avx2.isa = isa::kAvx2;
  const auto persistent_bytes = [&](const std::string& name) {
    const FileBytes bytes = bytes_of_old(name);
    const auto needs = Session::measure(*Model::open(bytes.span()), all_ops(), avx2, false);
    REQUIRE_MESSAGE(needs, text_of(needs.error()));
    return needs->persistent_bytes;
  };
  int32_t packed = 0;
  for (const OldFile& old : old_files()) {
    if (old.name.find("packed_s8_") != 0) continue;
    CAPTURE(old.name);
    ++packed;
    const std::string plain = "cnn_s8_" + old.name.substr(old.name.rfind('_') + 1);
    CHECK(persistent_bytes(old.name) < persistent_bytes(plain));
    if ((cpu_isa() & kCompiledIsa & isa::kAvx2) == 0) continue;
    FrozenRun how;
    how.options = avx2;
    const Result<uint32_t> outputs = frozen_outputs(bytes_of_old(old.name).span(), how);
    REQUIRE_MESSAGE(outputs, text_of(outputs.error()));
    CHECK(*outputs == old.outputs);
  }
  CHECK(packed >= 2);
}

TEST_CASE("a file asks for the least reader that computes it right") {
  for (const OldFile& old : old_files()) {
    if (is_state(old.name)) continue;
    CAPTURE(old.name);
    const FileBytes bytes = bytes_of_old(old.name);
    CHECK(unpack(AlignedBytes(bytes.span()))->min_reader == (old.name.find("border") == 0 ? 2
                                                             : old.name.find("sums") == 0 ? 3
                                                                                          : 1));
  }
}

TEST_CASE("every file of the folder is in the list, and has not changed") {
  std::set<std::string> listed;
  for (const OldFile& old : old_files()) {
    CAPTURE(old.name);
    const FileBytes bytes = bytes_of_old(old.name);
    CHECK(crc32(0, bytes.data(), bytes.size()) == old.file);
    listed.insert(old.name);
  }
  size_t there = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ITG_FROZEN)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".itg" && extension != ".state") continue;
    ++there;
    CHECK(listed.count(entry.path().filename().string()) == 1);
  }
  CHECK(there == listed.size());
  CHECK(there > 20);
}

TEST_CASE("a calibration's state of an older version goes on, with the samples that it had") {
  size_t states = 0;
  for (const OldFile& old : old_files()) {
    if (!is_state(old.name)) continue;
    CAPTURE(old.name);
    ++states;
    const FileBytes state = bytes_of_old(old.name);
    const FileBytes network = bytes_of_old(old.name.substr(0, old.name.find('.')) + ".itg");
    const Model model = *Model::open(network.span());
    AlignedBytes memory(Calibrator::measure(model)->total());
    Result<Calibrator> calibrator = Calibrator::create(model, memory.span());
    REQUIRE(calibrator);
    const Error error = calibrator->load(state.span());
    REQUIRE_MESSAGE(error.ok(), text_of(error));
    std::vector<uint8_t> saved(calibrator->state_bytes());
    REQUIRE(calibrator->save({saved.data(), saved.size()}).ok());
    const Result<StateFacts> before = facts_of_state(state.span()),
                             now = facts_of_state({saved.data(), saved.size()});
    REQUIRE((before && now));
    CHECK(before->version <= now->version);
    CHECK(now->graph == before->graph);
    CHECK(now->samples == before->samples);
    CHECK(now->sample_count == old.outputs);
    CHECK(now->observers == before->observers);
    std::vector<uint8_t> again(saved.size());
    REQUIRE(calibrator->load({saved.data(), saved.size()}).ok());
    REQUIRE(calibrator->save({again.data(), again.size()}).ok());
    CHECK(again == saved);
    const auto elements = static_cast<size_t>(model.tensor(model.inputs()[0]).shape.elements());
    const std::vector<float> one_more = Random(7).reals(elements, -1.0f, 1.0f);
    const Span<const uint8_t> input = bytes_of(one_more);
    REQUIRE(calibrator->add({&input, 1}).ok());
    const Error finished = calibrator->finish({});
    REQUIRE_MESSAGE(finished.ok(), text_of(finished));
    CHECK(calibrator->report().samples == static_cast<int32_t>(old.outputs) + 1);
  }
  CHECK(states > 0);
}

}  // namespace intaglio::test::frozen_files_test
