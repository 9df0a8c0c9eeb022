// Every operator that the importers know, by their own tables, with every kind of operand at each place: a
// constant, none, an empty one, one of another type or rank. It is imported and opens, or is refused with a
// message that names the node and the operator.
#include "tests/support/imported.h"
#include "tests/support/onnx_generator.h"
#include "tests/support/tflite_generator.h"

namespace intaglio::test::import_operators_test {
namespace {

std::vector<uint8_t> random_bytes(uint32_t seed) {
  Random random(seed);
  std::vector<uint8_t> bytes(200);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.bits());
  return bytes;
}

// Counts imports; `problem` where one is neither refused as it should be nor right.
struct Tally {
  int imported = 0, refused = 0;
  int with_float = 0, with_int8 = 0;  // of those imported, by the type of the first input

  void take(const std::string& bytes, const ImportOptions& options, const std::string& source) {
    const int64_t unforeseen = unforeseen_exceptions();
    Import import(bytes, options);
    if (!import.good()) {
      ++refused;
      const bool is_clean = unforeseen_exceptions() == unforeseen && !import.says("out of memory");
      // A result of constants alone leaves no node. A body's own nodes are named in place of its loop or branch.
      const bool has_body = source == "If" || source == "Loop" || source == "Scan";
      const bool is_named =
          (import.says("node '") &&
           (has_body || import.says("(" + source + ")") || import.says("(QuantizeLinear)") ||
            import.says("(Identity)") || import.says("(output)") || import.says("(Neg)") ||
            import.says("(Tanh)"))) ||  // they make operands that a run computes
          import.says("is not written by any node") ||
          import.says("output '") || import.says("input 'x") || import.says("input 't") ||
          import.says("imported: tensor 't");
      CHECK_MESSAGE((is_clean && is_named), import.message());
      return;
    }
    ++imported;
    REQUIRE(import.graph().inputs.size() > 0);
    ++(import.input().dtype == DType::kS8 ? with_int8 : with_float);
    const Result<Span<const uint8_t>> file = finish_model(import.graph(), all_ops(), import.memory.arena());
    if (file) CHECK(static_cast<bool>(Model::open(*file)));
  }
};

}  // namespace

TEST_CASE("every ONNX operator with every operand at each place") {
  uint32_t seed = 1;
  for (const importers::ImportedOperator& op : importers::onnx_operators()) {
    CAPTURE(op.domain);
    CAPTURE(op.name);
    Tally tally;
    const size_t usual = std::strlen(onnx_pattern(op.name).inputs);
    for (size_t position = 0; position <= usual; ++position) {
      for (const char letter : std::string("aAf1wmvinSszWMBxqeEtu ")) {
        CAPTURE(position);
        CAPTURE(letter);
        for (int round = shape_count(kIsSanitized ? 1 : 2); round > 0; --round) {
          const std::vector<uint8_t> bytes = random_bytes(++seed);
          Choices choices(bytes.data(), bytes.size());
          tally.take(OnnxGenerator(choices).one_node(op, position, letter), {}, op.name);
        }
      }
    }
    CHECK(tally.refused > 0);
  }
}

// More outputs than the operator has, and none: with the last one read, all of them, or one name for two.
TEST_CASE("every ONNX operator with any number of outputs") {
  constexpr int kMostOutputs = 9;  // of no operator so many are read
  uint32_t seed = 1;
  for (const importers::ImportedOperator& op : importers::onnx_operators()) {
    CAPTURE(op.domain);
    CAPTURE(op.name);
    const std::string usual = onnx_pattern(op.name).inputs;
    for (int outputs = 0; outputs <= kMostOutputs; ++outputs) {
      CAPTURE(outputs);
      for (int round = shape_count(kIsSanitized ? 2 : 6); round > 0; --round) {
        const std::vector<uint8_t> bytes = random_bytes(++seed);
        Choices choices(bytes.data(), bytes.size());
        const std::string made = OnnxGenerator(choices).one_node(op, 0, usual.empty() ? ' ' : usual[0]);
        onnx_file::ModelProto file = parsed_onnx(made);
        auto& node = file.graph.make().node[file.graph->node.size() - 1];
        node.output.clear();
        file.graph.make().output.clear();
        for (int i = 0; i < outputs; ++i) {
          const std::string name = round % 3 == 0 && i == outputs - 1 ? "n1" : "n" + std::to_string(i + 1);
          node.output.push_back(round % 4 == 0 && i == 0 ? "" : name);
          if (i == outputs - 1 || round % 2 == 0) file.graph.make().output.add().name = node.output[i];
        }
        const int64_t unforeseen = unforeseen_exceptions();
        Import import(serialize(file));
        REQUIRE_MESSAGE(unforeseen_exceptions() == unforeseen, import.message());
      }
    }
  }
}

TEST_CASE("every TFLite operator with any number of outputs") {
  uint32_t seed = 1;
  for (const importers::ImportedOperator& op : importers::tflite_operators()) {
    CAPTURE(op.name);
    for (size_t outputs = 0; outputs <= 6; ++outputs) {
      CAPTURE(outputs);
      for (int round = shape_count(kIsSanitized ? 2 : 6); round > 0; --round) {
        const std::vector<uint8_t> bytes = random_bytes(++seed);
        Choices choices(bytes.data(), bytes.size());
        TfliteGenerator generator(choices);
        const std::string file = generator.one_node_of_outputs(op.code, outputs);
        ImportOptions options;
        options.batch = generator.batch();
        const int64_t unforeseen = unforeseen_exceptions();
        Import import(file, options);
        REQUIRE_MESSAGE(unforeseen_exceptions() == unforeseen, import.message());
      }
    }
  }
}

// docs/operators.md says so.
TEST_CASE("TFLite operators take the types that their rows say") {
  constexpr uint32_t kNetworks = 1500;  // of which not every operator gets one that fits
  int seen_float = 0, seen_int8 = 0;
  for (const importers::ImportedOperator& op : importers::tflite_operators()) {
    CAPTURE(op.name);
    const std::string usual = tflite_pattern(op.code).inputs;
    if (usual.find_first_of("aA") == std::string::npos)
      continue;  // constants alone, whatever the first input is
    Tally tally;
    for (uint32_t seed = 1; seed < kNetworks && (tally.with_float == 0 || tally.with_int8 == 0); ++seed) {
      const std::vector<uint8_t> bytes = random_bytes(seed);
      Choices choices(bytes.data(), bytes.size());
      TfliteGenerator generator(choices);
      const size_t position = seed % usual.size();
      const std::string file = generator.one_node(op.code, position, usual[position]);
      ImportOptions options;
      options.batch = generator.batch();
      tally.take(file, options, op.name);
    }
    CHECK((op.is_float || tally.with_float == 0));
    CHECK((op.is_int8 || tally.with_int8 == 0));
    seen_float += tally.with_float > 0;
    seen_int8 += tally.with_int8 > 0;
  }
  CHECK(seen_float > 50);
  CHECK(seen_int8 > 50);
}

TEST_CASE("every TFLite operator with every operand at each place") {
  uint32_t seed = 1;
  for (const importers::ImportedOperator& op : importers::tflite_operators()) {
    const int32_t code = op.code;
    CAPTURE(op.name);
    Tally tally;
    const size_t usual = std::strlen(tflite_pattern(code).inputs);
    for (size_t position = 0; position <= usual; ++position) {
      for (const char letter : std::string("aAfwdmbvinpxeEu ")) {
        CAPTURE(position);
        CAPTURE(letter);
        for (int round = shape_count(kIsSanitized ? 1 : 3); round > 0; --round) {
          const std::vector<uint8_t> bytes = random_bytes(++seed);
          Choices choices(bytes.data(), bytes.size());
          TfliteGenerator generator(choices);
          const std::string file = generator.one_node(code, position, letter);
          ImportOptions options;
          options.batch = generator.batch();
          tally.take(file, options, op.name);
        }
      }
    }
    CHECK(tally.refused > 0);
  }
}

}  // namespace intaglio::test::import_operators_test
