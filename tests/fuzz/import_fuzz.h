// The steps of the import fuzzers: any bytes are refused with a message, or become a model that opens, that no
// check of a session crashes on and that runs.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "calibrator/bake/model_writer.h"
#include "importers/import.h"
#include "intaglio/session.h"
#include "runtime/crc32.h"
#include "tests/fuzz/small_work.h"
#include "tests/fuzz/written.h"

namespace intaglio::fuzz {

constexpr size_t kMostMessageBytes = size_t{1} << 17;  // 64 problems of 1 KB and more
constexpr int64_t kMostBytes = int64_t{1} << 28, kMostBytesRun = int64_t{1} << 18;  // more is right, but slow
constexpr int64_t kMostWork = int64_t{1} << 17;                                     // likewise

[[noreturn]] inline void found(const char* what, const std::string& detail) {
  std::fprintf(stderr, "FOUND: %s: %s\n", what, detail.c_str());
  std::abort();
}

inline void check_message(const std::string& message) {
  if (message.empty()) found("a refusal without a message", "");
  if (message.size() > kMostMessageBytes) found("a message without bounds", message.substr(0, 200));
  // Counted and not read: a file's own words may say anything.
  if (unforeseen_exceptions() != 0) found("an exception that the importer does not foresee", message);
}

// On inputs of small codes and reals that follow from `seed`.
inline void run_once(const Model& model, uint32_t seed) {
  const Result<SessionNeeds> needs = Session::measure(model, all_ops());
  if (!needs || needs->total() > static_cast<size_t>(8 * kMostBytesRun)) return;
  if (!is_small(model, kMostWork)) return;
  std::vector<uint8_t> block(needs->total() + kMemoryAlignment);
  void* place = block.data();
  size_t room = block.size();
  std::align(kMemoryAlignment, needs->total(), place, room);
  const Span<uint8_t> memory{static_cast<uint8_t*>(place), needs->total()};
  make_unwritten(memory.data, memory.size);
  Result<Session> session = Session::create(model, all_ops(), Session::split(memory, *needs));
  if (!session) return;
  const auto next = [&] { return (seed = seed * 1664525u + 1013904223u) >> 24; };
  for (size_t i = 0; i < model.inputs().size; ++i) {
    const TensorView input = session->input(static_cast<int32_t>(i));
    std::memset(input.data, 0x5a, input.info.bytes());
    for (int64_t e = 0; e < input.info.shape.elements(); ++e) {
      const uint32_t code = next();
      if (input.info.dtype == DType::kF32)
        static_cast<float*>(input.data)[e] = (static_cast<float>(code) - 128.0f) / 32.0f;
      else if (input.info.dtype == DType::kS8)
        static_cast<int8_t*>(input.data)[e] = static_cast<int8_t>(code - 128);
    }
  }
  session->run();
  for (size_t i = 0; i < model.outputs().size; ++i) {
    const TensorView output = session->output(static_cast<int32_t>(i));
    check_written(output.data, output.info.bytes());
  }
}

inline void import_and_run(Span<const uint8_t> bytes, const ImportOptions& options = {}) {
  HostArena memory;
  auto model = import_model(bytes, "fuzzed", options, memory);
  if (!model) return check_message(model.message());
  int64_t total = 0;
  for (const TensorInfo& tensor : model->graph.tensors) total += static_cast<int64_t>(tensor.bytes());
  if (total > kMostBytes) return;
  const Result<Span<const uint8_t>> file = finish_model(model->graph, all_ops(), memory.arena());
  if (!file) return;
  check_written(file->data, file->size);
  const Result<Model> opened = Model::open(*file);
  if (!opened)
    found("what was written does not open", std::to_string(static_cast<int>(opened.error().status)));
  if (total > kMostBytesRun) {
    (void)Session::measure(*opened, all_ops());
    return;
  }
  // As it is, with a state, row by row, or with other outputs: the bytes choose, so that each execution is one import or two,
  // and one run.
  const uint32_t bits = crc32(0, bytes.data, bytes.size), choice = bits % 8;
  const bool is_first = options.states.empty() && !options.stream && options.outputs.empty();
  const bool again = is_first && choice >= 4;
  if (!again || opened->inputs().empty() || opened->outputs().empty())
    return run_once(*opened, static_cast<uint32_t>(bytes.size));
  ImportOptions other = options;
  if (choice == 4) {
    const Span<const int32_t> inputs = opened->inputs(), outputs = opened->outputs();
    const std::string from = opened->tensor(inputs[inputs.size - 1]).name,
                      to = opened->tensor(outputs[outputs.size - 1]).name;
    other.states = {from + "=" + to};
    if (bytes.size % 2 == 0) other.starts = {{from, {0.5f}}};
  } else if (choice >= 6) {
    const auto nodes = static_cast<uint32_t>(opened->node_count());
    const NodeInfo node = opened->node(static_cast<int32_t>((bits >> 8) % std::max(nodes, 1u)));
    other.outputs = {opened->tensor(node.outputs[0]).name};
  }
  if (choice == 5 || choice == 7) other.stream = static_cast<int32_t>((bits >> 4) % 3);
  import_and_run(bytes, other);
}

}  // namespace intaglio::fuzz
