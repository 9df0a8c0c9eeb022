#include "tools/cycle_estimate.h"

#include <algorithm>
#include <cmath>

#include "calibrator/host/system/real_text.h"
#include "calibrator/host/system/wording.h"
#include "importers/params/params_layers.h"
#include "intaglio/streaming.h"
#include "tools/node_work.h"

namespace intaglio::tools {
namespace {

struct CycleTarget {
  const char *name, *timed_as;
  double error;
};
struct Chip {
  const char *name, *target;
  double mhz, step;
  double least_error, most_error, least_core_error, most_core_error;
};
struct KernelNumbers {
  const char *owner, *kernel;  // a target or a chip
  double numbers[kMostAmounts];
};

const CycleTarget kCycleTargets[] = {
#define ITG_CYCLE_TARGET(name, timed_as, error) {name, timed_as, error},
#define ITG_CHIP(...)
#define ITG_KERNEL_CYCLES(...)
#define ITG_KERNEL_WAITS(...)
#include "tools/cycle_table.inc"
#undef ITG_CYCLE_TARGET
#undef ITG_CHIP
};

const Chip kChips[] = {
#define ITG_CYCLE_TARGET(...)
#define ITG_CHIP(...) {__VA_ARGS__},
#include "tools/cycle_table.inc"
#undef ITG_CHIP
#undef ITG_KERNEL_CYCLES
#undef ITG_KERNEL_WAITS
};

const KernelNumbers kKernelNumbers[] = {
#define ITG_CHIP(...)
#define ITG_KERNEL_CYCLES(target, kernel, ...) {target, kernel, {__VA_ARGS__}},
#define ITG_KERNEL_WAITS(chip, kernel, ...) {chip, kernel, {__VA_ARGS__}},
#include "tools/cycle_table.inc"
#undef ITG_CYCLE_TARGET
#undef ITG_CHIP
#undef ITG_KERNEL_CYCLES
#undef ITG_KERNEL_WAITS
};

// nullptr: there is none of this name.
template <typename Row, size_t kCount>
const Row* row_of(const Row (&rows)[kCount], const std::string& name) {
  for (const Row& row : rows)
    if (name == row.name) return &row;
  return nullptr;
}

std::optional<double> numbers_times(const std::string& owner, const NodeWork& work) {
  for (const KernelNumbers& row : kKernelNumbers) {
    if (owner != row.owner || work.kernel != row.kernel) continue;
    double sum = 0;
    for (size_t i = 0; i < work.amounts.size(); ++i) {
      if (row.numbers[i] < 0 && work.amounts[i] > 0)
        return std::nullopt;  // no node that was counted does this
      sum += row.numbers[i] * work.amounts[i];
    }
    return sum;
  }
  return std::nullopt;
}

// Cycles in which a Cortex-M7's data cache takes the activations at `from` and behind from a memory behind the bus: each comes in once for
// a node that reads it, and goes out once, in lines of 32 bytes and ten cycles (as benchmarks/results/boards.md counts flash). Rows that
// a node reads again are in the cache, which holds 16 KB.
double cache_cycles(const Model& model, size_t from) {
  constexpr double kLineBytes = 32, kLineCycles = 10;
  double bytes = 0;
  const auto add = [&](int32_t tensor) {
    if (tensor >= 0 && !model.tensor(tensor).is_constant() && model.activation_offset(tensor) >= from)
      bytes += static_cast<double>(model.tensor(tensor).bytes());
  };
  for (int32_t n = 0; n < model.node_count(); ++n) {
    for (const int32_t input : model.node_inputs(n)) add(input);
    for (const int32_t output : model.node_outputs(n)) add(output);
  }
  return bytes / kLineBytes * kLineCycles;
}

double wait_states(const Chip& chip, double mhz) { return std::max(0.0, std::ceil(mhz / chip.step) - 1); }

std::string names_of_cycle_targets() {
  std::string names;
  for (const CycleTarget& target : kCycleTargets)
    names += (names.empty() ? "" : ", ") + std::string(target.name);
  return names;
}

}  // namespace

double CycleEstimate::cycles() const {
  double sum = 0;
  for (const NodeCycles& node : nodes) sum += node.cycles.value_or(0);
  return sum;
}

size_t CycleEstimate::unknown() const {
  size_t count = 0;
  for (const NodeCycles& node : nodes) count += !node.cycles;
  return count;
}

std::string chip_names() {
  std::string names;
  for (const Chip& chip : kChips)
    names += (names.empty() ? "" : ", ") + std::string(chip.name) + " (" + chip.target + ")";
  return names;
}

Outcome<Done> find_chip(const std::string& name) {
  if (row_of(kChips, name) != nullptr) return Done{};
  return Failure{option_word("chip", name) + ": is not known; there are " + chip_names()};
}

Outcome<CycleEstimate> estimate_cycles(const LoadedModel& file, const std::string& target, double clock_mhz,
                                       const std::string& chip_name) {
  const std::string clock = option_word("clock", general_text(clock_mhz, 6));
  if (!(clock_mhz > 0 && clock_mhz <= kMostMegahertz))
    return Failure{clock + ": megahertz are above 0 and at most " + general_text(kMostMegahertz, 6)};
  const auto found = find_target(target);
  if (!found) return found.failure();
  const CycleTarget* const timed = row_of(kCycleTargets, target);
  if (timed == nullptr)
    return Failure{option_word("clock") + ": no cycles are known of " + target + ", but of " +
                   names_of_cycle_targets()};
  CycleEstimate estimate;
  estimate.target = target;
  estimate.timed_as = timed->timed_as;
  estimate.chip = chip_name;
  estimate.clock_mhz = clock_mhz;
  estimate.table_error = timed->error;
  const Chip* chip = nullptr;
  for (const Chip& one : kChips)
    if (target == one.target && (chip_name.empty() || chip_name == one.name)) chip = &one;
  if (!chip_name.empty()) {
    if (const auto known = find_chip(chip_name); !known) return known.failure();
    if (chip == nullptr)
      return Failure{option_word("chip", chip_name) + ": has a " + row_of(kChips, chip_name)->target +
                     ", not a " + target};
    if (clock_mhz > chip->mhz)
      return Failure{clock + ": " + chip_name + " has at most " + general_text(chip->mhz, 6) + " MHz"};
  }
  if (chip != nullptr) {
    estimate.has_known_errors = true;
    const bool flash = !chip_name.empty();
    estimate.least_known_error = flash ? chip->least_error : chip->least_core_error;
    estimate.most_known_error = flash ? chip->most_error : chip->most_core_error;
  }
  const Model& model = file.model();
  bool has_codes = false;
  for (int32_t t = 0; t < model.tensor_count(); ++t)
    has_codes = has_codes || model.tensor(t).dtype == DType::kS8;
  if (!has_codes)
    return Failure{file.path() + ": " + option_word("clock") +
                   ": cycles are known of int8 layers; calibrate the model first"};
  const double waits = chip_name.empty() ? 0 : wait_states(*chip, clock_mhz) / wait_states(*chip, chip->mhz);
  for (int32_t n = 0; n < model.node_count(); ++n) {
    NodeWork work = work_of(model, n, *found);
    std::optional<double> cycles = numbers_times(estimate.timed_as, work);
    if (cycles && waits > 0) *cycles += waits * numbers_times(chip_name, work).value_or(0);
    estimate.nodes.push_back({std::move(work.kernel), cycles});
  }
  const Result<Model> deployed = stream_rows(model);
  if (deployed && deployed->fast_bytes() > 0 && estimate.timed_as == "cortex-m7") {
    estimate.slow_cycles = cache_cycles(*deployed, deployed->fast_bytes());
    estimate.all_slow_cycles = cache_cycles(*deployed, 0);
  }
  return estimate;
}

Json json_of(const CycleEstimate& estimate) {
  Json nodes = Json::array();
  for (size_t n = 0; n < estimate.nodes.size(); ++n) {
    const NodeCycles& node = estimate.nodes[n];
    Json json{{"node", n}, {"kernel", node.kernel}, {"cycles", nullptr}, {"ms", nullptr}};
    if (node.cycles) json["cycles"] = std::llround(*node.cycles), json["ms"] = estimate.ms(*node.cycles);
    nodes.push_back(std::move(json));
  }
  Json known = nullptr;
  if (estimate.has_known_errors) known = {estimate.least_known_error, estimate.most_known_error};
  return {{"target", estimate.target},
          {"timed_as", estimate.timed_as},
          {"chip", estimate.chip.empty() ? Json(nullptr) : Json(estimate.chip)},
          {"clock_mhz", estimate.clock_mhz},
          {"cycles", std::llround(estimate.cycles())},
          {"ms", estimate.ms(estimate.cycles())},
          {"slow_cycles", estimate.slow_cycles ? Json(std::llround(*estimate.slow_cycles)) : Json(nullptr)},
          {"all_slow_cycles",
           estimate.all_slow_cycles ? Json(std::llround(*estimate.all_slow_cycles)) : Json(nullptr)},
          {"table_error_percent", estimate.table_error},
          {"published_error_percent", known},
          {"without_figure", estimate.unknown()},
          {"nodes", nodes}};
}

}  // namespace intaglio::tools
