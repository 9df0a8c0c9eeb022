// The check of a file's structure: its description is the schema's, and it says what flatbuffers::Verifier
// says.
#include "runtime/structure_check.h"

#include <doctest/doctest.h>

#include <vector>

#include "reflection/model_generated.h"
#include "tests/support/small_models.h"

namespace intaglio::test::structure_test {
namespace {

bool is_table(const flatbuffers::TypeTable* type) { return type->st == flatbuffers::ST_TABLE; }

// The kind of a field as flatc describes it; tables are numbered in the order in which they are met.
uint8_t kind_of(const flatbuffers::TypeTable* type, const flatbuffers::TypeCode& code,
                const std::vector<const flatbuffers::TypeTable*>& known) {
  const bool vector = code.is_repeating != 0;
  const flatbuffers::TypeTable* const of =
      code.sequence_ref >= 0 ? type->type_refs[code.sequence_ref]() : nullptr;
  if (code.base_type == flatbuffers::ET_SEQUENCE) {
    if (of->st == flatbuffers::ST_UNION) {
      REQUIRE(!vector);
      return kFieldUnion;
    }
    for (size_t i = 0; i < known.size(); ++i)
      if (known[i] == of) return static_cast<uint8_t>((vector ? kFieldTables : kFieldTable) + i);
    FAIL("a table that is not described");
  }
  switch (code.base_type) {
    case flatbuffers::ET_STRING:
      REQUIRE(!vector);
      return kFieldString;
    case flatbuffers::ET_BOOL:
    case flatbuffers::ET_CHAR:
    case flatbuffers::ET_UCHAR:
    case flatbuffers::ET_UTYPE:
      return vector ? kFieldBytes : kField8;
    case flatbuffers::ET_SHORT:
    case flatbuffers::ET_USHORT:
      REQUIRE(!vector);
      return kField16;
    case flatbuffers::ET_INT:
    case flatbuffers::ET_UINT:
    case flatbuffers::ET_FLOAT:
      return vector ? kFieldWords : kField32;
    default:
      FAIL("a type that the check does not know");
      return 0;
  }
}

bool verifier_accepts(Span<const uint8_t> bytes, uint32_t max_tables) {
  flatbuffers::Verifier verifier(bytes.data, bytes.size, 8, max_tables);
  return verifier.VerifyBuffer<schema::Model>(nullptr);
}

// Ours asks for one thing more: the offsets in a vector of tables lead forward, too.
struct Comparison {
  int32_t cases = 0, stricter = 0;

  void add(Span<const uint8_t> bytes) {
    const auto max_tables = static_cast<uint32_t>(bytes.size / 8);
    const bool ours = check_structure(bytes, max_tables), theirs = verifier_accepts(bytes, max_tables);
    REQUIRE((!ours || theirs));
    ++cases;
    stricter += theirs && !ours ? 1 : 0;
  }
};

}  // namespace

TEST_CASE("the description is the schema's") {
  // The order of kFirstField.
  const std::vector<const flatbuffers::TypeTable*> known = {schema::ModelTypeTable(),
                                                            schema::QuantizationTypeTable(),
                                                            schema::BufferTypeTable(),
                                                            schema::TensorTypeTable(),
                                                            schema::Window2DTypeTable(),
                                                            schema::ClampTypeTable(),
                                                            schema::RequantizationTypeTable(),
                                                            schema::IntermediateTypeTable(),
                                                            schema::NodeTypeTable(),
                                                            schema::StateTypeTable(),
                                                            schema::ImageInputTypeTable(),
                                                            schema::SegmentTypeTable(),
                                                            schema::PlanTypeTable(),
                                                            schema::CalibrationTypeTable(),
                                                            schema::GoldenTypeTable(),
                                                            schema::NormStatisticsTypeTable(),
                                                            schema::PackedWeightsTypeTable(),
                                                            schema::Conv2DOptionsTypeTable(),
                                                            schema::DepthwiseConv2DOptionsTypeTable(),
                                                            schema::FullyConnectedOptionsTypeTable(),
                                                            schema::Pool2DOptionsTypeTable(),
                                                            schema::AddOptionsTypeTable(),
                                                            schema::ElementwiseOptionsTypeTable(),
                                                            schema::ReduceOptionsTypeTable(),
                                                            schema::TransposeOptionsTypeTable(),
                                                            schema::ConcatOptionsTypeTable(),
                                                            schema::GatherOptionsTypeTable(),
                                                            schema::PadOptionsTypeTable(),
                                                            schema::StridedSliceOptionsTypeTable(),
                                                            schema::ResizeOptionsTypeTable(),
                                                            schema::UnaryOptionsTypeTable(),
                                                            schema::L2NormalizeOptionsTypeTable(),
                                                            schema::BatchMatMulOptionsTypeTable(),
                                                            schema::TopKOptionsTypeTable(),
                                                            schema::OneHotOptionsTypeTable(),
                                                            schema::NormalizeOptionsTypeTable()};
  const flatbuffers::TypeTable* const options = schema::OptionsTypeTable();
  REQUIRE(options->num_elems == kUnionTypes + 1u);  // and NONE
  for (size_t i = 1; i < options->num_elems; ++i)
    CHECK(options->type_refs[options->type_codes[i].sequence_ref]() == known[kFirstOfUnion + i - 1]);
  REQUIRE(kTableCount == static_cast<int32_t>(known.size()));
  for (size_t t = 0; t < known.size(); ++t) {
    CAPTURE(t);
    REQUIRE(is_table(known[t]));
    REQUIRE(known[t]->num_elems == static_cast<size_t>(kFirstField[t + 1] - kFirstField[t]));
    for (size_t i = 0; i < known[t]->num_elems; ++i) {
      CAPTURE(i);
      CHECK(kFields[kFirstField[t] + i] == kind_of(known[t], known[t]->type_codes[i], known));
    }
  }
}

TEST_CASE("damaged files are judged as FlatBuffers' verifier judges them") {
  AlignedBytes file = small_cnn();
  std::vector<uint64_t> words((file.size() + 7) / 8);
  auto* const bytes = reinterpret_cast<uint8_t*>(words.data());
  const auto restore = [&] { memcpy(bytes, file.data(), file.size()); };
  restore();
  REQUIRE(check_structure({bytes, file.size()}, 10000));
  Comparison comparison;
  size_t refused = 0;
  for (size_t size = 8; size < file.size(); size += 1 + size / 512) {
    comparison.add({bytes, size});
    refused += check_structure({bytes, size}, 10000) ? 0 : 1;
  }
  CHECK(refused > 100);
  Random random(11);
  for (int32_t i = 0; i < shape_count(60000); ++i) {
    const int32_t damages = random.between(1, 3);
    for (int32_t d = 0; d < damages; ++d) {
      // Mostly the front, where the tables stand.
      const auto last = static_cast<int32_t>(file.size()) - 1;
      const auto at = static_cast<size_t>(random.between(0, random.one_in(4) ? last : last / 4));
      bytes[at] = static_cast<uint8_t>(random.one_in(2) ? bytes[at] ^ (1 << random.between(0, 7))
                                                        : random.between(0, 255));
    }
    comparison.add({bytes, file.size()});
    restore();
  }
  CHECK(comparison.stricter < comparison.cases / 100);
}

TEST_CASE("the number of tables is limited") {
  AlignedBytes file = small_cnn();
  uint32_t enough = 1;
  while (!check_structure({file.data(), file.size()}, enough)) ++enough;
  CHECK(enough > 10);
  CHECK(verifier_accepts({file.data(), file.size()}, enough));
  CHECK(!verifier_accepts({file.data(), file.size()}, enough - 1));
}

}  // namespace intaglio::test::structure_test
