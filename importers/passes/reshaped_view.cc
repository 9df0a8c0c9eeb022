#include "importers/passes/passes.h"

#include <algorithm>
#include <numeric>

namespace intaglio::importers {
namespace {

// The fewest neighbouring axes that hold the same elements before and after. An axis of size 1 of the result that no
// other group needs is a group of its own.
struct AxisGroup {
  std::vector<int32_t> from;  // axes of `base` that are not of size 1, in the view's order
  std::vector<int32_t> to;
};

std::vector<AxisGroup> axis_groups(const Shape& base, const Permutation& permutation, const Shape& to) {
  std::vector<AxisGroup> groups;
  size_t i = 0, j = 0;
  while (j < to.size()) {
    AxisGroup group;
    int64_t from_size = 1, to_size = to[j];
    group.to.push_back(static_cast<int32_t>(j++));
    while (from_size != to_size) {
      if (from_size < to_size) {
        const int32_t axis = permutation.at(i++), size = base[static_cast<size_t>(axis)];
        if (size != 1) group.from.push_back(axis);
        from_size *= size;
      } else {
        to_size *= to.at(j);
        group.to.push_back(static_cast<int32_t>(j++));
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

using GroupList = std::vector<const AxisGroup*>;

std::vector<int32_t> joined(const GroupList& groups, std::vector<int32_t> AxisGroup::*axes) {
  std::vector<int32_t> all;
  for (const AxisGroup* group : groups) all.insert(all.end(), (group->*axes).begin(), (group->*axes).end());
  return all;
}

bool stand_in_place(const GroupList& groups) {
  const std::vector<int32_t> axes = joined(groups, &AxisGroup::from);
  return std::is_sorted(axes.begin(), axes.end());
}

// In the order of `base`; an axis of size 1 stays behind its neighbour.
GroupList in_order_of_base(const std::vector<AxisGroup>& groups) {
  std::vector<std::pair<int32_t, const AxisGroup*>> sorted;
  for (const AxisGroup& group : groups) {
    const int32_t before = sorted.empty() ? -1 : sorted.back().first;
    sorted.emplace_back(group.from.empty() ? before : group.from.front(), &group);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.first < b.first; });
  GroupList list;
  for (const auto& [place, group] : sorted) list.push_back(group);
  return list;
}

// In the wanted order; empty where that takes a group apart.
GroupList in_wanted_order(const std::vector<AxisGroup>& groups, const Permutation& wanted) {
  GroupList list;
  for (const int32_t axis : wanted)
    for (const AxisGroup& group : groups)
      if (group.to.front() == axis) list.push_back(&group);
  return joined(list, &AxisGroup::to) == wanted ? list : GroupList{};
}

}  // namespace

std::optional<ReshapedView> reshaped_view(const Shape& base, const Permutation& permutation, const Shape& to,
                                          const Permutation& wanted) {
  Permutation before(base.size());
  std::iota(before.begin(), before.end(), 0);
  const std::vector<AxisGroup> groups = axis_groups(base, permutation, to);
  const GroupList for_readers = in_wanted_order(groups, wanted), kept = in_order_of_base(groups);
  if (!for_readers.empty() && stand_in_place(for_readers)) return ReshapedView{before, wanted};
  if (stand_in_place(kept)) return ReshapedView{before, joined(kept, &AxisGroup::to)};
  if (for_readers.empty()) return std::nullopt;
  const auto moved = std::stable_partition(
      before.begin(), before.end(), [&](int32_t axis) { return base[static_cast<size_t>(axis)] == 1; });
  const std::vector<int32_t> axes = joined(for_readers, &AxisGroup::from);
  std::copy(axes.begin(), axes.end(), moved);
  return ReshapedView{before, wanted};
}

}  // namespace intaglio::importers
