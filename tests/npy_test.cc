#include "calibrator/host/system/npy.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "tests/support/temporary_folder.h"

namespace intaglio::test::npy_test {

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
    for (size_t kind = 0; kind < kNpyTypes; ++kind) {
      const auto type = static_cast<NpyType>(kind);
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

namespace {

template <typename T>
Outcome<std::vector<float>> reals(NpyType type, const std::vector<T>& elements) {
  std::vector<float> values(elements.size());
  const auto done =
      npy_values(type, {reinterpret_cast<const uint8_t*>(elements.data()), elements.size() * sizeof(T)},
                 {values.data(), values.size()});
  if (!done) return done.failure();
  return values;
}

}  // namespace

TEST_CASE("elements of every type are the numbers that they stand for") {
  using Reals = std::vector<float>;
  CHECK(*reals<uint8_t>(NpyType::kU8, {0, 255}) == Reals{0, 255});
  CHECK(*reals<int8_t>(NpyType::kS8, {-128, 127}) == Reals{-128, 127});
  CHECK(*reals<uint16_t>(NpyType::kU16, {65535}) == Reals{65535});
  CHECK(*reals<int16_t>(NpyType::kS16, {-32768}) == Reals{-32768});
  CHECK(*reals<uint32_t>(NpyType::kU32, {1u << 24}) == Reals{16777216});
  CHECK(*reals<int32_t>(NpyType::kS32, {-(1 << 24)}) == Reals{-16777216});
  CHECK(*reals<int64_t>(NpyType::kS64, {-5}) == Reals{-5});
  CHECK(*reals<uint8_t>(NpyType::kBool, {0, 1}) == Reals{0, 1});
  CHECK(*reals<uint64_t>(NpyType::kU64, {0, 1u << 24}) == Reals{0, 16777216});
  CHECK(*reals<double>(NpyType::kF64, {0.1, -1e-320}) == Reals{0.1f, -0.0f});
  // IEEE binary16: one, the largest, the least normal and the least number, infinity.
  CHECK(*reals<uint16_t>(NpyType::kF16, {0x3c00, 0xfbff, 0x0400, 0x0001, 0x8000, 0x7c00}) ==
        Reals{1.0f, -65504.0f, 0x1p-14f, 0x1p-24f, -0.0f, INFINITY});
  CHECK(std::isnan((*reals<uint16_t>(NpyType::kF16, {0x7e01}))[0]));
  CHECK(std::isinf((*reals<double>(NpyType::kF64, {INFINITY}))[0]));
  const auto says = [](const auto& outcome, const std::string& part) {
    return !outcome && outcome.message().find(part) != std::string::npos;
  };
  CHECK(says(reals<double>(NpyType::kF64, {0, 1e39}), "its element 1 is 1e+39, beyond float32"));
  const auto large = reals<double>(NpyType::kF64, {-1e308});
  CHECK(says(large, "its element 0 is -1e+308, beyond float32, which ends at 3.4e38; scale it"));
  CHECK(says(reals<uint64_t>(NpyType::kU64, {UINT64_MAX}), "is 18446744073709551615, which float32"));
  CHECK(says(reals<int32_t>(NpyType::kS32, {(1 << 24) + 1}), "its element 0 is 16777217, which float32"));
  CHECK(says(reals<uint32_t>(NpyType::kU32, {0xffffffffu}), "4294967295"));
  CHECK(says(reals<int64_t>(NpyType::kS64, {INT64_MIN}), "-9223372036854775808"));
  int32_t whole[2];
  const uint64_t longest[] = {7, UINT64_MAX};
  const auto* const first = reinterpret_cast<const uint8_t*>(longest);
  CHECK(npy_integers(NpyType::kU64, {first, 8}, {whole, 1}));
  CHECK(whole[0] == 7);
  CHECK(says(npy_integers(NpyType::kU64, {first, 16}, {whole, 2}), "its element 1 is 18446744073709551615"));
  const uint32_t wide[] = {7, 0x80000000u};
  const Span<const uint8_t> bytes{reinterpret_cast<const uint8_t*>(wide), sizeof wide};
  CHECK(npy_integers(NpyType::kU32, {bytes.data, 4}, {whole, 1}));
  CHECK(whole[0] == 7);
  CHECK(says(npy_integers(NpyType::kU32, bytes, {whole, 2}), "its element 1 is 2147483648"));
  CHECK(says(npy_integers(NpyType::kF16, bytes, {whole, 2}), "float16"));
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
  CHECK(refused(file_with(header("'<c8'", "False", "(1,)"), 8), "'<c8'"));
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

}  // namespace intaglio::test::npy_test
