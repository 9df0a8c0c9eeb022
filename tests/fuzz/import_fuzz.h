// What both import fuzzers do: any bytes are refused with a message, or become a model that opens and that no
// check of a session crashes on.
#pragma once

#include <cstring>
#include <vector>

#include "calibrator/model_writer.h"
#include "importers/import.h"
#include "intaglio/session.h"

namespace intaglio::fuzz {

inline void import_and_open(Span<const uint8_t> bytes) {
  HostArena memory;
  auto model = import_model(bytes, "fuzzed", {}, memory);
  if (!model) {
    if (model.message().empty()) __builtin_trap();
    return;
  }
  int64_t total = 0;
  for (const TensorInfo& tensor : model->graph.tensors) total += static_cast<int64_t>(tensor.bytes());
  if (total > int64_t{1} << 28) return;  // right, but slow
  const Result<Span<const uint8_t>> file = finish_model(model->graph, all_ops(), memory.arena());
  if (!file) return;
  const Result<Model> opened = Model::open(*file);
  if (!opened) __builtin_trap();  // what was written must open
  (void)Session::measure(*opened, all_ops());
}

}  // namespace intaglio::fuzz
