// ONNX weights in files beside the model: read from the model's folder alone, and from folders within it if asked for.
#include <unistd.h>

#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/temporary_folder.h"

namespace intaglio::test::import_external_data_test {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

// y = x * w, with the two weights in another file.
std::string network(const Entries& entries) {
  OnnxBuilder file(13);
  file.input("x", {1, 2});
  onnx_file::TensorProto& w = file.floats("w", {2}, {0, 0});
  w.raw_data.reset();
  w.data_location = onnx_file::TensorProto::EXTERNAL;
  for (const auto& [key, value] : entries) {
    auto& entry = w.external_data.add();
    entry.key = key;
    entry.value = value;
  }
  file.node("Mul", {"x", "w"}, "y");
  file.output("y");
  return file.bytes();
}

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

ImportOptions within(const std::string& folder, bool below = true) {
  ImportOptions options;
  options.external_data = {folder, below};
  return options;
}

void refused(const TemporaryFolder& folder, const Entries& entries, const std::string& part) {
  Import import(network(entries), within(folder.path()));
  CHECK(!import.good());
  CHECK_MESSAGE(import.says(part), import.message());
}

}  // namespace

TEST_CASE("weights are read where the file says") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "sub");
  folder.put("sub/w.bin", bytes_of({9, 2, 3, 9}));
  const Entries entries = {{"location", "sub/w.bin"}, {"offset", "4"}, {"length", "8"}, {"checksum", "x"}};
  Import import(network(entries), within(folder.path()));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, std::vector<float>{5, 7}) == std::vector<float>{10, 21});
  Import unasked(network(entries));
  CHECK(unasked.says(
      "constant 'w': its data stands in another file (external data), which is looked for beside a network that is given "
      "by its path"));
}

TEST_CASE("only if asked for, weights are read from a folder within the model's own") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "sub");
  folder.put("sub/w.bin", bytes_of({2, 3}));
  folder.put("w.bin", bytes_of({2, 3}));
  for (const char* const inside : {"sub/w.bin", "./sub/w.bin", "sub//w.bin"}) {
    Import import(network({{"location", inside}}), within(folder.path(), false));
    CHECK_MESSAGE(
        import.says("in a folder of its own; read it with --external-data, or put it beside the network"),
        import.message());
  }
  for (const char* const beside : {"w.bin", "./w.bin", ".//w.bin"})
    CHECK(Import(network({{"location", beside}}), within(folder.path(), false)).good());
  // Files outside of the folder are never read.
  CHECK(Import(network({{"location", "../w.bin"}}), within(folder.path(), false))
            .says("which leads out of a folder"));
}

TEST_CASE("without a length it is the rest of the file, and must fit") {
  const TemporaryFolder folder;
  folder.put("w.bin", bytes_of({2, 3}));
  Import import(network({{"location", "w.bin"}}), within(folder.path()));
  REQUIRE_MESSAGE(import.good(), import.message());
  folder.put("w.bin", bytes_of({2, 3, 4}));
  refused(folder, {{"location", "w.bin"}}, "it holds 12 bytes, its dimensions need 8");
}

TEST_CASE("weights of an If's branch are read, too") {
  const TemporaryFolder folder;
  folder.put("w.bin", bytes_of({2, 3}));
  OnnxBuilder file(13);
  file.input("x", {1, 2});
  file.integers("yes", {1}).dims.clear();
  auto& node = file.node("If", {"yes"}, "y");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& attribute = node.attribute.add();
    attribute.name = name;
    attribute.type = onnx_file::AttributeProto::GRAPH;
    onnx_file::GraphProto& branch = attribute.g.make();
    onnx_file::TensorProto& w = branch.initializer.add();
    w.name = "w";
    w.data_type = onnx_file::TensorProto::FLOAT;
    w.dims.push_back(2);
    w.data_location = onnx_file::TensorProto::EXTERNAL;
    auto& entry = w.external_data.add();
    entry.key = "location";
    entry.value = "w.bin";
    auto& product = branch.node.add();
    product.op_type = "Mul";
    product.input.push_back("x");
    product.input.push_back("w");
    product.output.push_back("z");
    branch.output.add().name = "z";
  }
  file.output("y");
  Import import(file.bytes(), within(folder.path()));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(run_import<float>(import, std::vector<float>{5, 7}) == std::vector<float>{10, 21});
}

TEST_CASE("paths that leave the model's folder are refused") {
  const TemporaryFolder outside, folder;
  outside.put("w.bin", bytes_of({2, 3}));
  std::filesystem::create_directory(folder / "sub");
  const std::string only = "only files within the model's folder are read";
  refused(folder,
          {{"location", "../" + std::filesystem::path(outside.path()).filename().string() + "/w.bin"}}, only);
  refused(folder, {{"location", "sub/../../w.bin"}}, only);
  refused(folder, {{"location", outside / "w.bin"}}, "an absolute path");
  refused(folder, {{"location", ""}}, only);
  refused(folder, {}, only);
  refused(folder, {{"location", "sub"}}, "which is not a regular file");
  refused(folder, {{"location", "ghost.bin"}}, "cannot be opened");
  REQUIRE(::symlink((outside / "w.bin").c_str(), (folder / "link.bin").c_str()) == 0);
  refused(folder, {{"location", "link.bin"}}, "a link that leads out of the model's folder");
  REQUIRE(::symlink(outside.path().c_str(), (folder / "linked").c_str()) == 0);
  refused(folder, {{"location", "linked/w.bin"}}, "a link that leads out of the model's folder");
  // A link to a file of the same folder stays inside.
  folder.put("w.bin", bytes_of({2, 3}));
  REQUIRE(::symlink("w.bin", (folder / "inner.bin").c_str()) == 0);
  CHECK(Import(network({{"location", "inner.bin"}}), within(folder.path())).good());
}

TEST_CASE("sizes and offsets are checked, also where their sum overflows") {
  const TemporaryFolder folder;
  folder.put("w.bin", bytes_of({2, 3}));
  const auto at = [&](const char* offset, const char* length, const std::string& part) {
    refused(folder, {{"location", "w.bin"}, {"offset", offset}, {"length", length}}, part);
  };
  at("4", "8", "'w.bin' has 8");
  at("9", "0", "'w.bin' has 8");
  at("18446744073709551608", "16", "'w.bin' has 8");
  at("8", "18446744073709551615", "'w.bin' has 8");
  at("0", "4", "it holds 4 bytes, its dimensions need 8");
  at("-1", "8", "the offset of its external data is '-1', which is not a number");
  at("0", "8x", "the length of its external data is '8x', which is not a number");
  at("99999999999999999999", "8", "which is not a number");
}

}  // namespace intaglio::test::import_external_data_test
