// Text of reals: as C's own functions have it in the C locale, and the same in a locale with commas.
#include "calibrator/host/system/real_text.h"

#include <doctest/doctest.h>

#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/support/random.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

template <typename... Arguments>
std::string printed(const char* format, Arguments... arguments) {
  char text[512];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
}

double any_double(Random& random) {
  const auto half = [&random] { return static_cast<uint64_t>(random.between(0, 65535)); };
  const uint64_t bits = half() << 48 | half() << 32 | half() << 16 | half();
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// Makes a locale with commas and takes it; false where localedef is missing.
bool take_commas() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "intaglio_real_text_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "source")
      << "LC_NUMERIC\ndecimal_point \"<U002C>\"\nthousands_sep \"<U002E>\"\ngrouping 3\nEND LC_NUMERIC\n";
  const std::string path = folder.string();
  // It ends with 1, since the other categories are missing.
  const std::string make =
      "localedef -c --no-archive -i " + path + "/source " + path + "/commas >/dev/null 2>&1";
  if (std::system(make.c_str()) == -1) return false;
  setenv("LOCPATH", path.c_str(), 1);
  return std::setlocale(LC_NUMERIC, "commas") != nullptr;
}

}  // namespace

TEST_CASE("reals are written as printf writes them in the C locale") {
  Random random(5);
  for (int i = 0; i < 20000; ++i) {
    const double value = i < 10000 ? any_double(random) : random.between(-100000, 100000) / 64.0;
    if (std::isnan(value)) continue;
    const int digits = random.between(0, 12);
    CHECK(general_text(value, digits) == printed("%.*g", digits, value));
    CHECK(fixed_text(value, digits) == printed("%.*f", digits, value));
    CHECK(scientific_text(value, digits) == printed("%.*e", digits, value));
    CHECK(read_real(shortest_text(value)) == value);
    const auto single = static_cast<float>(value);
    if (std::isfinite(single)) CHECK(static_cast<float>(*read_real(shortest_text(single))) == single);
  }
}

TEST_CASE("a whole text is read, or nothing") {
  CHECK(read_real("1.5") == 1.5);
  CHECK(read_real("+1.5e3") == 1500.0);
  CHECK(read_real("-.5") == -0.5);
  CHECK(read_real("inf") == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(*read_real("nan")));
  for (const char* text : {"", "+", "+-1", "--1", "1,5", "1.5x", " 1", "1 ", "1e", "0x10", "1e999", "one"}) {
    CAPTURE(text);
    CHECK(!read_real(text));
  }
}

TEST_CASE("a locale with commas changes nothing") {
  if (!take_commas()) {
    MESSAGE("skipped: no localedef on this machine");
    return;
  }
  REQUIRE(printed("%.1f", 1.5) == "1,5");
  CHECK(general_text(1234567.25, 9) == "1234567.25");
  CHECK(fixed_text(1234567.25, 2) == "1234567.25");
  CHECK(scientific_text(0.0078125, 4) == "7.8125e-03");
  CHECK(shortest_text(0.1f) == "0.1");
  CHECK(read_real("0.5") == 0.5);
  CHECK(!read_real("0,5"));
  std::setlocale(LC_NUMERIC, "C");
}
