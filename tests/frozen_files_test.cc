// Files that released versions have written are opened for ever, and give what they gave. scripts/freeze makes them.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "calibrator/host/system/files.h"
#include "intaglio/calibrator.h"
#include "tests/frozen/frozen_run.h"
#include "tests/support/model_object.h"

using namespace intaglio;
using namespace intaglio::test;

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

TEST_CASE("a file asks for the least reader that computes it right") {
  for (const OldFile& old : old_files()) {
    if (is_state(old.name)) continue;
    CAPTURE(old.name);
    const FileBytes bytes = bytes_of_old(old.name);
    CHECK(unpack(AlignedBytes(bytes.span()))->min_reader == (old.name.find("border") == 0 ? 2 : 1));
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

TEST_CASE("a calibration's state of an older version goes on, and is saved as it was") {
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
    CHECK(calibrator->report().samples == 0);
    std::vector<uint8_t> saved(calibrator->state_bytes());
    REQUIRE(calibrator->save({saved.data(), saved.size()}).ok());
    CHECK(crc32(0, saved.data(), saved.size()) == old.file);
  }
  CHECK(states > 0);
}
