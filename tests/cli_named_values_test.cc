// Values of something that has a name, in arguments of the command.
#include "cli/import_options.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "calibrator/host/system/npy.h"

namespace intaglio::test::cli_named_values_test {

using namespace cli;

TEST_CASE("values are a list of numbers, behind the last equals sign") {
  const auto one = parse_named_values("--constant", "sr=16000", "the input", "n");
  REQUIRE(static_cast<bool>(one));
  CHECK(one->name == "sr");
  CHECK(one->dims.empty());
  CHECK(one->values == std::vector<float>{16000});
  const auto list = parse_named_values("--constant", "a=b=1,-2.5", "the input", "n");
  REQUIRE(static_cast<bool>(list));
  CHECK(list->name == "a=b");
  CHECK(list->values == std::vector<float>{1, -2.5f});
}

TEST_CASE("values of a file have its shape") {
  const auto path = std::filesystem::temp_directory_path() / "intaglio_named_values.npy";
  const int64_t numbers[] = {1, 2, 3, 4, 5, 6};
  const auto bytes =
      npy_file(NpyType::kS64, {2, 3}, {reinterpret_cast<const uint8_t*>(numbers), sizeof numbers});
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const auto read = parse_named_values("--constant", "w=" + path.string(), "the input", "n");
  std::filesystem::remove(path);
  REQUIRE(static_cast<bool>(read));
  CHECK(read->dims == std::vector<int32_t>{2, 3});
  CHECK(read->values == std::vector<float>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("what is no value is refused with what to write") {
  const auto message = [](const char* text) {
    return parse_named_values("--constant", text, "the input", "n").message();
  };
  for (const char* text : {"n", "=1", "n="})
    CHECK(message(text) ==
          std::string("--constant ") + text +
              ": write the input and a number or an array, e.g. --constant n=0 or --constant n=n0.npy");
  CHECK(message("n=1,x") ==
        "--constant n=1,x: 'x' is no number; write numbers separated by commas, e.g. 1,2,3");
  CHECK(!message("n=absent.npy").empty());
}

}  // namespace intaglio::test::cli_named_values_test
