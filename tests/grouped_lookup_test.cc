// Tables for groups of channels: every kernel gives what the definition says, and a damaged model is refused by name.
#include <doctest/doctest.h>

#include <algorithm>

#include "intaglio/platform.h"
#include "kernels/compiled_isa.h"
#include "kernels/eltwise/eltwise_s8.h"
#include "tests/support/one_node.h"
#include "tests/support/random.h"

namespace intaglio::test::grouped_lookup_test {
namespace {

using test::Dims;
using test::Exact;
using test::OneNode;
using test::Random;

std::vector<int8_t> groups_of(Random& random, int32_t n, int32_t count) {
  std::vector<int8_t> groups(static_cast<size_t>(n));
  for (int8_t& group : groups) group = static_cast<int8_t>(random.between(0, count - 1));
  return groups;
}

TEST_CASE("every kernel looks each column up in the table of its group") {
  Random random(7);
  for (const int32_t n : {1, 2, 3, 8, 16, 24, 32, 63, 64, 65, 96, 128, 200})
    for (const int32_t count : {1, 2, 3, 4, 5, kMostGroupsS8})
      for (const int32_t rows : {1, 2, 3, 7, 64, 65}) {
        CAPTURE(n);
        CAPTURE(count);
        CAPTURE(rows);
        const Exact<int8_t> tables(random.codes(256 * static_cast<size_t>(count)));
        const Exact<int8_t> groups(groups_of(random, n, count));
        const std::vector<int8_t> x = random.codes(static_cast<size_t>(rows * n));
        std::vector<int8_t> expected(x.size());
        for (size_t i = 0; i < x.size(); ++i)
          expected[i] = tables.data()[256 * groups.data()[i % static_cast<size_t>(n)] + x[i] + 128];
        for (int32_t k = 0; k < grouped_lookup_s8_count(); ++k) {
          const GroupedLookupS8Kernel& kernel = grouped_lookup_s8_kernel(k);
          CAPTURE(kernel.name);
          if ((kernel.isa & ~(cpu_isa() & kCompiledIsa)) != 0) continue;
          const Exact<int8_t> source(x);
          Exact<int8_t> apart(x.size()), inside(x);
          kernel.lookup({source.data(), tables.data(), groups.data(), apart.data(), rows, n, count});
          kernel.lookup({inside.data(), tables.data(), groups.data(), inside.data(), rows, n, count});
          REQUIRE(std::equal(expected.begin(), expected.end(), apart.data()));
          REQUIRE(std::equal(expected.begin(), expected.end(), inside.data()));
        }
      }
}

// A node on [2, 3] with these tables and groups.
void refuse(const Dims& tables, const std::vector<int8_t>& groups, Status status, int64_t value,
            int64_t limit) {
  OneNode one;
  size_t entries = 1;
  for (const int32_t dim : tables) entries *= static_cast<size_t>(dim);
  const int32_t x = one.s8({2, 3});
  const int32_t table = one.constant<int8_t>(DType::kS8, tables, std::vector<int8_t>(entries, 1));
  const int32_t group = one.constant<int8_t>(DType::kS8, {static_cast<int32_t>(groups.size())}, groups);
  const int32_t y = one.s8({2, 3});
  one.node(Op::kGroupedLookup, {x, table, group}, y);
  one.check(status, value, limit);
}

TEST_CASE("tables and groups are checked") {
  refuse({2, 256}, {0, 1, 1}, Status::kOk, 0, 0);
  refuse({2, 256}, {0, 2, 1}, Status::kBadIndex, 2, 2);
  refuse({2, 256}, {0, 1, -1}, Status::kBadIndex, -1, 2);
  refuse({512}, {0, 1, 1}, Status::kBadRank, 1, 2);
  refuse({kMostGroupsS8 + 1, 256}, {0, 1, 1}, Status::kTooManyItems, kMostGroupsS8 + 1, kMostGroupsS8);
  refuse({2, 255}, {0, 1, 1}, Status::kShapeMismatch, 510, 512);
  refuse({2, 256}, {0, 1}, Status::kShapeMismatch, 2, 3);
}

}  // namespace
}  // namespace intaglio::test::grouped_lookup_test
