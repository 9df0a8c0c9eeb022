// ONNX operators that take or replace elements at places that indices name.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_onnx_scatter_test {
namespace {

using Reals = std::vector<float>;

struct Scattered {
  const char* op;
  std::vector<int64_t> dims, of_indices, indices, of_updates;
  Reals updates;
  const char* reduction;
};

OnnxBuilder file_of(const Scattered& s) {
  OnnxBuilder file(18);
  file.input("x", s.dims);
  auto& indices = file.integers("indices", s.indices);
  indices.dims.clear();
  for (const int64_t dim : s.of_indices) indices.dims.push_back(dim);
  file.floats("updates", s.of_updates, s.updates);
  set(file.node(s.op, {"x", "indices", "updates"}, "y"), "reduction", s.reduction);
  file.output("y");
  return file;
}

Reals result(const Scattered& s, const Reals& x) {
  Import import(file_of(s).bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  return run_import<float>(import, x);
}
std::string message(const Scattered& s) { return Import(file_of(s).bytes()).message(); }

bool says(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("ScatterND and ScatterElements replace, the last one where a place is named twice") {
  CHECK(result({"ScatterND", {3, 2}, {2, 1}, {2, -3}, {2, 2}, {7, 8, 9, 10}, "none"}, {1, 2, 3, 4, 5, 6}) ==
        Reals{9, 10, 3, 4, 7, 8});
  CHECK(result({"ScatterND", {3, 2}, {2, 2}, {1, 1, 1, 1}, {2}, {7, 8}, "none"}, {1, 2, 3, 4, 5, 6}) ==
        Reals{1, 2, 3, 8, 5, 6});
  CHECK(result({"ScatterElements", {3, 2}, {2, 2}, {2, 0, 1, -1}, {2, 2}, {7, 8, 9, 10}, "none"},
               {1, 2, 3, 4, 5, 6}) == Reals{1, 8, 9, 4, 7, 10});
}

TEST_CASE("reductions join all updates of a place") {
  const Reals x{1, 2, 3, 4};
  const auto joined = [&](const char* reduction) {
    return result({"ScatterElements", {4}, {4}, {1, 3, 1, 1}, {4}, {5, -6, 7, 0.5f}, reduction}, x);
  };
  CHECK(joined("add") == Reals{1, 14.5f, 3, -2});
  CHECK(joined("mul") == Reals{1, 35, 3, -24});
  CHECK(joined("max") == Reals{1, 7, 3, 4});
  CHECK(joined("min") == Reals{1, 0.5f, 3, -6});
  CHECK(result({"ScatterND", {2, 2}, {2, 1}, {1, 1}, {2, 2}, {1, 2, 3, 4}, "add"}, x) == Reals{1, 2, 7, 10});
}

TEST_CASE("GatherND by indices that a run computes") {
  OnnxBuilder file(13);
  file.input("x", {2, 3});
  file.input("indices", {4, 2});
  auto& type = file.graph().input[1].type.make().tensor_type.make();
  type.elem_type = onnx_file::TensorProto::INT64;
  file.node("GatherND", {"x", "indices"}, "y");
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
  const Reals x{1, 2, 3, 4, 5, 6};
  const std::vector<int32_t> indices{1, 2, 0, 0, 1, 0, 0, 2};
  std::copy(x.begin(), x.end(), model.session().input(0).as<float>().data);
  std::copy(indices.begin(), indices.end(), model.session().input(1).as<int32_t>().data);
  model.session().run();
  const auto y = model.session().output().as<float>();
  CHECK(Reals(y.begin(), y.end()) == Reals{6, 1, 4, 3});
}

TEST_CASE("what does not fit is refused") {
  CHECK(says(message({"ScatterElements", {3, 2}, {2, 3}, {0, 0, 0, 0, 0, 0}, {2, 3}, Reals(6), "none"}),
             "which do not fit [3, 2]"));
  CHECK(says(message({"ScatterElements", {3, 2}, {1, 1}, {3}, {1, 1}, {1}, "none"}),
             "index 3 does not exist in axis 0"));
  CHECK(says(message({"ScatterND", {3, 2}, {1, 1}, {0}, {2}, {1, 2}, "none"}),
             "its updates are [2] where [1, 2]"));
  CHECK(says(message({"ScatterND", {3, 2}, {1, 3}, {0, 0, 0}, {1}, {1}, "none"}), "its tuples of 3 indices"));
  CHECK(says(message({"ScatterND", {3, 2}, {1, 1}, {0}, {1, 2}, {1, 2}, "mean"}),
             "reduction 'mean' is not known"));
  CHECK(says(message({"ScatterElements", {1}, {65}, std::vector<int64_t>(65, 0), {65}, Reals(65), "add"}),
             "name a place more than 64 times"));
}

namespace {

// x [1, 4]; `places` are the indices of its `count` greatest elements, `values` these elements.
OnnxBuilder with_places(int64_t count) {
  OnnxBuilder file(18);
  file.input("x", {1, 4});
  file.integers("count", {count});
  file.node("TopK", {"x", "count"}, "values").output.push_back("places");
  return file;
}

}  // namespace

TEST_CASE("updates go where a run says") {
  OnnxBuilder elements = with_places(2);
  elements.floats("none", {1, 4}, {0, 0, 0, 9});
  set(elements.node("ScatterElements", {"none", "places", "values"}, "y"), "axis", int64_t{-1});
  elements.output("y");
  CHECK(run_file(elements.bytes(), {5, 7, 2, 3}) == Reals{5, 7, 0, 9});
  CHECK(run_file(elements.bytes(), {1, 2, 4, 3}) == Reals{0, 0, 4, 3});
  // The first of two that name one place is gone.
  OnnxBuilder rows = with_places(2);
  rows.integers("halves", {2, 1});
  rows.floats("half", {1}, {0.5f});
  rows.floats("table", {2, 2, 1}, {1, 2, 3, 4});
  rows.floats("updates", {2, 1}, {10, 20});
  rows.integers("tuple", {2, 2});
  rows.floats("ones", {2, 1}, {1, 1});
  set(rows.node("Cast", {"places"}, "reals"), "to", int64_t{onnx_file::TensorProto::FLOAT});
  rows.node("Mul", {"reals", "half"}, "halved");
  rows.node("Floor", {"halved"}, "first");  // of a pair: 0 or 1
  rows.node("Reshape", {"first", "halves"}, "column");
  set(rows.node("Concat", {"column", "ones"}, "pairs"), "axis", int64_t{1});
  set(rows.node("Cast", {"pairs"}, "indices"), "to", int64_t{onnx_file::TensorProto::INT64});
  auto& scatter = rows.node("ScatterND", {"table", "indices", "updates"}, "y");
  rows.output("y");
  CHECK(run_file(rows.bytes(), {5, 7, 2, 3}) == Reals{1, 20, 3, 4});
  CHECK(run_file(rows.bytes(), {5, 1, 2, 6}) == Reals{1, 20, 3, 10});
  set(scatter, "reduction", "add");
  CHECK(run_file(rows.bytes(), {5, 7, 2, 3}) == Reals{1, 32, 3, 4});
  OnnxBuilder other = with_places(2);
  other.floats("none", {2, 4}, {0, 0, 0, 0, 0, 0, 0, 0});
  set(other.node("ScatterElements", {"none", "places", "values"}, "y"), "axis", int64_t{-1});
  other.output("y");
  CHECK(says(Import(other.bytes()).message(), "both must be [2, 4] but for the axis"));
}

}  // namespace intaglio::test::import_onnx_scatter_test
