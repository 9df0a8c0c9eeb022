// Limits of an import: operations, and bytes of memory. Both are counted from what the file asks for, before it is done, so
// that they are the same on each machine.
//
// An operation is about a multiplication, or the move of one number. Bytes are of what the import makes in memory: parsed
// messages, copies of bodies, decoded and computed constants, names, the graph and the model's bytes. What is made and given
// back counts, too, unless it is held for a time alone.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "importers/draft/import_error.h"

namespace intaglio {

// 0: the default, which depends on the size of the file.
struct ImportLimits {
  int64_t max_work = 0;    // operations
  int64_t max_memory = 0;  // bytes
};

// Limits of the project's own files.
inline constexpr ImportLimits kNoImportLimits = {INT64_MAX, INT64_MAX};

// The operations and bytes that an import took.
struct ImportCost {
  uint64_t work = 0, memory = 0;
};

}  // namespace intaglio

namespace intaglio::importers {

// Ten times what the costliest of our shared networks takes (benchmarks/results/import_budget.md), and more for larger files.
inline constexpr int64_t kLeastMaxWork = 600'000'000, kMaxWorkOfFileByte = 64;
inline constexpr int64_t kLeastMaxMemory = 600'000'000, kMaxMemoryOfFileByte = 16;

// More than the budget. It ends the import, where other problems are collected: no ImportError, which readers catch.
class OverBudget : public std::exception {
 public:
  explicit OverBudget(std::string problem) : problem_(std::move(problem)) {}
  const char* what() const noexcept override { return problem_.c_str(); }

 private:
  std::string problem_;
};

class ImportBudget {
 public:
  explicit ImportBudget(const ImportLimits& limits = {}) : given_(limits) {}
  ImportBudget(const ImportBudget&) = delete;
  ImportBudget& operator=(const ImportBudget&) = delete;

  // The file, or another one that belongs to it: the defaults grow with their bytes.
  void add_file(uint64_t bytes) { file_bytes_ += bytes; }

  // Throw OverBudget where that would be too much. `what` does it, in a message: "its run on constants".
  void spend_work(uint64_t operations, const char* what);
  void spend_memory(uint64_t bytes, const char* what);
  // Constants that are decoded or made: their memory, and the work of moving them.
  void spend_constant(uint64_t elements, uint64_t element_bytes);
  // Throws where so many bytes would be too much; numbers have 4 bytes. Nothing is spent.
  void check_memory(uint64_t bytes, const char* what) const;
  void check_numbers(int64_t count) const;

  ImportCost spent() const { return spent_; }
  ImportLimits limits() const;  // those that hold

 private:
  ImportLimits given_;
  ImportCost spent_;
  uint64_t file_bytes_ = 0;
};

}  // namespace intaglio::importers
