#include "calibrator/host/system/npy.h"

#include <doctest/doctest.h>

#include <cstring>

#include "tests/support/temporary_folder.h"

using namespace intaglio;
using intaglio::test::TemporaryFolder;

namespace {

std::vector<uint8_t> file_with(const std::string& header, size_t data_bytes, int version = 1) {
  std::vector<uint8_t> file = {0x93, 'N', 'U', 'M', 'P', 'Y', static_cast<uint8_t>(version), 0};
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    file.push_back(static_cast<uint8_t>(header.size() >> (8 * i)));
  file.insert(file.end(), header.begin(), header.end());
  file.resize(file.size() + data_bytes, 7);
  return file;
}

Outcome<NpyHeader> parse(const std::vector<uint8_t>& file) {
  return parse_npy_header({file.data(), file.size()}, file.size());
}

std::string header(const std::string& descr, const std::string& order, const std::string& shape) {
  return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

bool refused(const std::vector<uint8_t>& file, const std::string& part) {
  const auto parsed = parse(file);
  if (parsed) return false;
  const bool found = parsed.message().find(part) != std::string::npos;
  if (!found) MESSAGE(parsed.message() << " lacks " << part);
  return found;
}

}  // namespace

TEST_CASE("what is written is read back") {
  const TemporaryFolder folder;
  const float values[] = {1.5f, -2.0f, 3.25f, 0.0f, 1e-30f, 7.0f};
  const Span<const uint8_t> bytes{reinterpret_cast<const uint8_t*>(values), sizeof values};
  REQUIRE(write_npy(folder / "a.npy", NpyType::kF32, {2, 3}, bytes));
  const auto array = read_npy(folder / "a.npy");
  REQUIRE(array);
  CHECK(array->header.type == NpyType::kF32);
  CHECK(array->header.shape == std::vector<int64_t>{2, 3});
  CHECK(array->header.elements() == 6);
  CHECK(array->header.data_offset % 64 == 0);
  CHECK(std::memcmp(array->as<float>().data, values, sizeof values) == 0);
  CHECK(read_npy(folder / "a.npy", 23).message().find("more than the 23") != std::string::npos);
  CHECK(read_npy(folder / "b.npy").message().find("no such file") != std::string::npos);
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{24}, {}, {1, 2, 3, 4}}) {
    for (const NpyType type : {NpyType::kU8, NpyType::kS8, NpyType::kS32, NpyType::kS64}) {
      size_t size = element_bytes(type);
      for (const int64_t d : shape) size *= static_cast<size_t>(d);
      const std::vector<uint8_t> data(size, 3);
      const auto parsed = parse(npy_file(type, shape, {data.data(), data.size()}));
      REQUIRE(parsed);
      CHECK(parsed->type == type);
      CHECK(parsed->shape == shape);
    }
  }
}

TEST_CASE("headers as numpy and others write them") {
  CHECK(parse(file_with(header("'<f4'", "False", "(2, 3)") + "    \n", 24)));
  CHECK(parse(file_with(header("'<f4'", "False", "(2, 3)"), 24, 2)));
  CHECK(parse(file_with("{\"shape\": (4,), \"fortran_order\": False, \"descr\": \"|u1\"}", 4)));
  CHECK(parse(file_with(header("'|u1'", "True", "(4,)"), 4)));  // one dimension has no order
  CHECK(parse(file_with(header("'|u1'", "False", "()"), 1)));
  CHECK(parse(file_with(header("'|i1'", "False", "(0, 999999999999999999)"), 0)));
}

TEST_CASE("what is not read says why") {
  CHECK(refused({1, 2, 3}, "no .npy file"));
  CHECK(refused(file_with(header("'<f4'", "False", "(1,)"), 4, 3), "version 3"));
  CHECK(refused(file_with(header("'|O'", "False", "(1,)"), 8), "pickles"));
  CHECK(refused(file_with(header("'>f4'", "False", "(1,)"), 4), "big-endian"));
  CHECK(refused(file_with(header("'<f8'", "False", "(1,)"), 8), "'<f8'"));
  CHECK(refused(file_with(header("[('a', '<f4')]", "False", "(1,)"), 4), "records"));
  CHECK(refused(file_with(header("'<f4'", "True", "(2, 2)"), 16), "Fortran order"));
  CHECK(refused(file_with(header("'<f4'", "False", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), 4), "8 dimensions"));
}

TEST_CASE("damaged headers") {
  const std::string good = header("'|u1'", "False", "(2, 3)");
  for (size_t size = 0; size < good.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(parse(file_with(good.substr(0, size), 6)));
  }
  for (const char* shape : {"(3)", "(-1,)", "(,)", "(2 3)", "(2,,3)", "(2.0,)", "(0x2,)", "[2, 3]", "(2, 3",
                            "(1000000000000000000,)", "(99999999999999999999,)", "('2',)"}) {
    CAPTURE(shape);
    CHECK(refused(file_with(header("'|u1'", "False", shape), 6), "shape"));
  }
  CHECK(refused(file_with(good + " x", 6), "after its dictionary"));
  CHECK(refused(file_with(header("'|u1'", "Maybe", "(6,)"), 6), "fortran_order"));
  CHECK(refused(file_with("{'descr': '|u1', 'descr': '|u1', 'shape': (6,)}", 6), "unexpected entry 'descr'"));
  CHECK(refused(file_with("{'descr': '|u1', 'other': 1, 'shape': (6,)}", 6), "unexpected entry 'other'"));
  CHECK(refused(file_with("{'descr': '|u1', 'shape': (6,)}", 6), "lacks"));
  CHECK_FALSE(parse(file_with("{'de\\x73cr': '|u1', 'fortran_order': False, 'shape': (6,)}", 6)));
  // A header that says it is longer than the file, or than any header is.
  std::vector<uint8_t> file = file_with(good, 6, 2);
  file[8] = 0xff;
  CHECK(refused(file, "cut off in its header"));
  file[11] = 0xff;
  CHECK(refused(file, "64 KiB"));
}

TEST_CASE("sizes are held against the file's length, without overflow") {
  CHECK(refused(file_with(header("'|u1'", "False", "(2, 3)"), 5), "cut off"));
  CHECK(refused(file_with(header("'|u1'", "False", "(2, 3)"), 7), "has 1 bytes after"));
  // 2^32 * 2^32 is 0 in 64 bits; so is 4 * 2^62 with the element's size.
  CHECK(refused(file_with(header("'|u1'", "False", "(4294967296, 4294967296)"), 0), "cut off"));
  CHECK(refused(file_with(header("'<f4'", "False", "(100000, 46116860184274)"), 8), "cut off"));
  const auto good = file_with(header("'|u1'", "False", "(6,)"), 6);
  CHECK_FALSE(parse_npy_header({good.data(), good.size()}, good.size() - 6));
  CHECK_FALSE(parse_npy_header({good.data(), good.size()}, 3));
}
