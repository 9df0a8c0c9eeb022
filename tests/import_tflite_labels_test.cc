// The names of classes that a TFLite file carries behind the network.
#include "importers/tflite/tflite_reader.h"
#include "tests/support/imported.h"
#include "tests/support/labelled_tflite.h"

namespace intaglio::test::import_tflite_labels_test {
namespace {

auto labels_of(const std::vector<uint8_t>& file) {
  return importers::tflite_labels({file.data(), file.size()});
}

bool says(const std::vector<uint8_t>& file, const std::string& part) {
  const auto labels = labels_of(file);
  return !labels && labels.message().find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the file that the metadata names is found behind the network") {
  // The text that is found lies within the file.
  const std::vector<uint8_t> plain = network("names.txt"), whole = with_archive(plain);
  const auto labels = labels_of(whole);
  REQUIRE_MESSAGE(labels, labels.message());
  REQUIRE(*labels);
  CHECK(std::string((*labels)->begin(), (*labels)->end()) == kLabels);
  const std::vector<uint8_t> apart = with_archive(plain, 0, 0, plain.size());
  const auto counted_apart = labels_of(apart);
  REQUIRE_MESSAGE(counted_apart, counted_apart.message());
  REQUIRE(*counted_apart);
  CHECK(std::string((*counted_apart)->begin(), (*counted_apart)->end()) == kLabels);
  const auto none = labels_of(network(""));
  REQUIRE(none);
  CHECK_FALSE(*none);
}

TEST_CASE("archives without it, packed, or cut are refused by a message") {
  CHECK(says(with_archive(network("other.txt")),
             "names the label file other.txt, and the file does not hold it"));
  CHECK(says(with_archive(network("names.txt"), 8), "its label file names.txt is compressed"));
  CHECK(says(with_archive(network("names.txt"), 0, 1), "its label file names.txt is encrypted"));
  const std::string odd = "\x1b[2J" + std::string(1000, 'n');
  CHECK(says(with_archive(network(odd)), "names the label file ?[2J" + std::string(92, 'n') + "..., and"));
  const std::vector<uint8_t> plain = network("names.txt"), whole = with_archive(plain);
  for (size_t size = plain.size(); size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(says({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)},
               "names the label file names.txt, and the file does not hold it"));  // nor the archive's end
  }
  std::vector<uint8_t> displaced = whole;
  displaced[whole.size() - 6] = 0xff;  // the directory would lie behind the archive's end
  displaced[whole.size() - 4] = 0xff;
  CHECK(says(displaced, "archive behind the network is damaged"));
  CHECK(says({1, 2, 3}, "no whole TFLite file"));
  // Any one byte of the archive changed: an answer or a message, never a read past the end.
  for (size_t at = plain.size(); at < whole.size(); ++at) {
    std::vector<uint8_t> changed = whole;
    changed[at] = 0xff;
    CAPTURE(at);
    const auto labels = labels_of(changed);
    if (!labels) {
      CHECK(!labels.message().empty());
    } else if (*labels) {
      CHECK((*labels)->begin() >= changed.data());
      CHECK((*labels)->end() <= changed.data() + changed.size());
    }
  }
}

}  // namespace intaglio::test::import_tflite_labels_test
