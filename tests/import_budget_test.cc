// The budget of an import is counted for the whole file. Each kind of bomb is imported small: at the operations and bytes that it
// takes it is opened, and at one less it is refused, by the name of the node, with the option that raises the limit.
#include "exporters/onnx/onnx_export.h"
#include "tests/support/imported.h"
#include "tests/support/ir_builder.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_budget_test {
namespace {

using importers::ImportBudget;
using importers::OverBudget;

ImportOptions with_limits(int64_t max_work, int64_t max_memory, ImportOptions options = {}) {
  options.limits = {max_work, max_memory};
  return options;
}

// At what it takes, and one below.
void check_limits(const std::string& bytes, const ImportOptions& options = {}) {
  Import whole(bytes, options);
  REQUIRE_MESSAGE(whole.good(), whole.message());
  const ImportCost cost = whole.outcome->report.cost;
  const auto work = static_cast<int64_t>(cost.work), memory = static_cast<int64_t>(cost.memory);
  CHECK(Import(bytes, with_limits(work, memory, options)).good());
  const auto refused = [&](int64_t max_work, int64_t max_memory, const char* option, int64_t limit) {
    const Import less(bytes, with_limits(max_work, max_memory, options));
    CAPTURE(less.message());
    CHECK(!less.good());
    CHECK(less.says("together that is more than the limit of " + std::to_string(limit) + ", which " + option +
                    " raises"));
  };
  refused(work - 1, memory, "--max-work", work - 1);
  refused(work, memory - 1, "--max-memory", memory - 1);
}

ImportCost cost_of(const std::string& bytes, const ImportOptions& options = {}) {
  Import whole(bytes, options);
  REQUIRE_MESSAGE(whole.good(), whole.message());
  return whole.outcome->report.cost;
}

constexpr int64_t kSide = 32;
constexpr int32_t kMul = 18;  // of TFLite

// So many products of two constants.
std::string products(int count) {
  OnnxBuilder file;
  file.input("x", {kSide, kSide});
  file.floats("a", {kSide, kSide}, std::vector<float>(kSide * kSide, 0.5f));
  std::string sum = "x";
  for (int i = 0; i < count; ++i) {
    const std::string product = "c" + std::to_string(i), next = "s" + std::to_string(i);
    file.node("MatMul", {"a", "a"}, product);
    file.node("Add", {sum, product}, next);
    sum = next;
  }
  return file.output(sum).bytes();
}

std::string loop(int64_t runs, size_t strings) {
  OnnxBuilder file(17);
  file.input("x", {1, 4});
  file.integers("runs", {runs}).dims.clear();
  auto& go = file.graph().initializer.add();
  go.name = "go";
  go.data_type = onnx_file::TensorProto::BOOL;
  go.int32_data.push_back(1);
  auto& attribute = file.node("Loop", {"runs", "go", "x"}, "y").attribute.add();
  attribute.name = "body";
  attribute.type = onnx_file::AttributeProto::GRAPH;
  auto& body = attribute.g.make();
  for (const char* const name : {"i", "c", "v"}) body.input.add().name = name;
  for (const char* const name : {"c", "w"}) body.output.add().name = name;
  append_node(body, "Relu", {"v"}, "w");
  auto& unread = append_node(body, "Relu", {"v"}, "unread").attribute.add();
  unread.name = "words";
  unread.type = onnx_file::AttributeProto::STRINGS;
  unread.strings.resize(strings);
  return file.output("y").bytes();
}

std::string calls(int count, size_t nodes) {
  OnnxBuilder file(17);
  file.input("x", {1, 4});
  auto& function = file.function("Long", "a", "b0");
  for (size_t i = 0; i < nodes; ++i) {
    auto& node = function.node.add();
    node.op_type = "Relu";
    node.input.push_back("a");
    node.output.push_back("b" + std::to_string(i));
  }
  std::string from = "x";
  for (int i = 0; i < count; ++i) {
    const std::string to = "y" + std::to_string(i);
    file.node("Long", {from}, to).domain = "own";
    from = to;
  }
  return file.output(from).bytes();
}

std::string folded(int count, int64_t elements) {
  OnnxBuilder file;
  file.input("x", {1});
  file.integers("shape", {elements});
  std::string sum = "x";
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    file.node("ConstantOfShape", {"shape"}, "c" + n);
    file.node("ReduceSum", {"c" + n}, "r" + n);
    file.node("Add", {sum, "r" + n}, "s" + n);
    sum = "s" + n;
  }
  return file.output(sum).bytes();
}

std::string chain(const std::string& op, int count, const std::string& name = "t") {
  OnnxBuilder file;
  file.input("x", {1, 4});
  std::string from = "x";
  for (int i = 0; i < count; ++i) {
    const std::string to = name + std::to_string(i);
    file.node(op, {from}, to);
    from = to;
  }
  return file.output(from).bytes();
}

}  // namespace

TEST_CASE("the budget itself: what is spent, what is asked for, and what raises it") {
  ImportBudget budget({100, 1000});
  budget.spend_work(60, "a step");
  budget.spend_work(40, "a step");
  CHECK(budget.spent().work == 100);
  CHECK_THROWS_WITH_AS(
      budget.spend_work(1, "a step"),
      "a step takes 1 operations, and what was done before took 100; together that is more than the "
      "limit of 100, which --max-work raises",
      OverBudget);
  CHECK(budget.spent().work == 100);
  budget.spend_memory(900, "a list");
  budget.check_memory(100, "a list");
  budget.check_numbers(25);
  CHECK_THROWS_AS(budget.check_numbers(26), OverBudget);
  CHECK(budget.spent().memory == 900);
  CHECK_THROWS_WITH_AS(
      budget.spend_memory(UINT64_MAX, "a list"),
      "a list takes 18446744073709551615 bytes of memory, and what was done before took 900; together "
      "that is more than the limit of 1000, which --max-memory raises",
      OverBudget);
}

TEST_CASE("the limits that hold without an option grow with the file") {
  ImportBudget budget;
  CHECK(budget.limits().max_work == 600'000'000);
  CHECK(budget.limits().max_memory == 600'000'000);
  budget.add_file(1000);
  budget.add_file(1'000'000);
  CHECK(budget.limits().max_work == 600'000'000 + 64 * 1'001'000);
  CHECK(budget.limits().max_memory == 600'000'000 + 16 * 1'001'000);
  budget.add_file(UINT64_MAX / 2);
  CHECK(budget.limits().max_work > 0);
  CHECK(ImportBudget({7, 8}).limits().max_work == 7);
  CHECK(ImportBudget({7, 8}).limits().max_memory == 8);
}

TEST_CASE("constants that are computed: each node counts, and all of them together") {
  const uint64_t one = kSide * kSide * kSide;
  const ImportCost few = cost_of(products(1)), many = cost_of(products(5));
  CHECK(many.work >= few.work + 4 * one);
  check_limits(products(3));
  // Where a few have taken it all, one of many is the first for which nothing is left.
  const Import forty(products(40), with_limits(static_cast<int64_t>(many.work), 0));
  CHECK(forty.says("_node' (MatMul): its result, which follows from constants, takes "));
  CHECK(!forty.says("c39_node"));
}

TEST_CASE("constants that are folded, their elements") {
  const uint64_t one = 1000;
  const ImportCost few = cost_of(folded(1, one)), many = cost_of(folded(5, one));
  CHECK(many.memory >= few.memory + 4 * one * sizeof(float));
  CHECK(many.work >= few.work + 4 * one);
  check_limits(folded(3, one));
}

TEST_CASE("windows over constants: each element of a window") {
  const auto pooled = [](int64_t window) {
    OnnxBuilder file;
    file.input("x", {1, 1, 1, 1});
    file.floats("a", {1, 1, window, window}, std::vector<float>(static_cast<size_t>(window * window), 1.0f));
    set(file.node("AveragePool", {"a"}, "c"), "kernel_shape", std::vector<int64_t>{window, window});
    file.node("Add", {"x", "c"}, "y");
    return file.output("y").bytes();
  };
  const ImportCost small = cost_of(pooled(8)), large = cost_of(pooled(64));
  CHECK(large.work >= small.work + 64 * 64 - 8 * 8);
}

TEST_CASE("copies of a loop's body: memory, not the bytes of the file") {
  // An empty string has 2 bytes in the file and those of a std::string in memory.
  const ImportCost few = cost_of(loop(2, 500)), many = cost_of(loop(6, 500));
  CHECK(many.memory >= few.memory + 4 * 500 * sizeof(std::string));
  check_limits(loop(3, 20));
  const auto before = static_cast<int64_t>(cost_of(loop(2, 500)).memory);
  const Import third(loop(4000, 500), with_limits(0, before));
  CHECK(third.says("node 'y_node' (Loop): a copy of its body takes "));
}

TEST_CASE("copies of a function's nodes") {
  const ImportCost few = cost_of(calls(1, 100)), many = cost_of(calls(5, 100));
  CHECK(many.memory >= few.memory + 4 * 100 * sizeof(onnx_file::NodeProto));
  check_limits(calls(2, 5));
  const auto before = static_cast<int64_t>(cost_of(calls(2, 100)).memory);
  CHECK(Import(calls(100, 100), with_limits(0, before)).says("(Long): a copy of its function takes "));
}

TEST_CASE("names, nodes and the plan of the memory") {
  const ImportCost few = cost_of(chain("Sigmoid", 10)), many = cost_of(chain("Sigmoid", 100)),
                   long_names = cost_of(chain("Sigmoid", 10, std::string(1000, 'n')));
  CHECK(many.work >= few.work + 100 * 100 - 10 * 10);
  CHECK(many.memory > few.memory);
  CHECK(long_names.memory >= few.memory + 10 * 2 * 990);
  check_limits(chain("Sigmoid", 4));
  CHECK(Import(chain("Sigmoid", 100), with_limits(static_cast<int64_t>(many.work) - 1, 0))
            .says("the plan of its memory takes 10000 operations"));
}

TEST_CASE("what the file itself holds: empty strings, elements of XML") {
  OnnxBuilder file;
  file.input("x", {1, 4});
  file.node("Relu", {"x"}, "y");
  file.output("y");
  const ImportCost without = cost_of(file.bytes());
  file.model().metadata_props.add().key = std::string(1000, 'k');
  CHECK(cost_of(file.bytes()).memory >= without.memory + 1000 + sizeof(onnx_file::StringStringEntryProto));

  Ir ir;
  ir.output(ir.layer("ReLU", "y", {ir.input("x", {1, 4})}, {1, 4}));
  check_limits(ir.xml(), ir.options());
  const std::string more = ir.xml() + std::string(1000, '<');
  const Import elements(more, with_limits(0, 100'000, ir.options()));
  CHECK(elements.says("what the file holds takes "));
}

TEST_CASE("TFLite: constants, sparse ones as they are when dense") {
  const auto added = [](int32_t count) {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteFloat, {1, 64}), y = file.tensor("y", kTfliteFloat, {1, 64});
    int32_t from = x;
    for (int32_t i = 0; i < count; ++i) {
      const int32_t k =
          file.constant<float>("k" + std::to_string(i), kTfliteFloat, {1, 64}, std::vector<float>(64, 1.0f));
      const int32_t to = i + 1 == count ? y : file.tensor("t" + std::to_string(i), kTfliteFloat, {1, 64});
      file.op(kMul, {from, k}, {to});
      from = to;
    }
    return file.finish({x}, {y});
  };
  const ImportCost few = cost_of(added(1)), many = cost_of(added(5));
  CHECK(many.memory >= few.memory + 4 * 64 * sizeof(float));
  check_limits(added(2));
}

TEST_CASE("the judges' files are refused before they take much") {
  const std::string shared = shared_folder(), folder = shared + "/regressions/attack/";
  if (shared.empty()) return;
  struct Bomb {
    const char *name, *words;
  };
  for (const Bomb& bomb :
       {Bomb{"eval_matmul_8.onnx",
             "(MatMul): its result, which follows from constants, takes 1751040000 operations"},
        Bomb{"eval_matmul_64.onnx",
             "(MatMul): its result, which follows from constants, takes 1751040000 operations"},
        Bomb{"eval_bmm_100.tflite",
             "(BATCH_MATMUL): its result, which follows from constants, takes 1774080000 "},
        Bomb{"mini_strings.onnx", "node 'y' (Loop): a copy of its body takes 4187"},
        Bomb{"sparse_1x1G.tflite",
             "node 't2' (FULLY_CONNECTED): a constant takes 1073742080 bytes of memory, and what "
             "was done before took "}}) {
    const auto file = read_file(folder + bomb.name, kMaxModelBytes);
    if (!file) {
      MESSAGE("skipped: ", folder, bomb.name);
      continue;
    }
    CAPTURE(bomb.name);
    const Import refused(file->span());
    CAPTURE(refused.message());
    CHECK(refused.says(bomb.words));
  }
}

}  // namespace intaglio::test::import_budget_test
