// Where a finished model goes.
#pragma once

#include <future>
#include <string>

#include "calibrator/host/system/files.h"
#include "calibrator/host/system/host_arena.h"
#include "calibrator/host/system/outcome.h"
#include "cli/memory_goal.h"
#include "intaglio/calibrator.h"

namespace intaglio::cli {

// A file whose bytes on the disk are those that finish() has opened and run before it takes its name. Where `goal` asks for
// a streamed plan, it is put beside these bytes' own, and checked.
struct ModelFileSink {
  const OutputFile& file;
  std::string problem = {};  // why it could not be written
  MemoryGoal goal = MemoryGoal::layer_by_layer();
  bool at_once = false;  // whether another thread may work beside the disk
  // Of the bytes that were written. Those handed over outlive it, and this does.
  std::future<std::string> sha256 = {};
  std::unique_ptr<HostArena> planned = std::make_unique<HostArena>();  // holds the bytes with a streamed plan

  ModelSink sink() { return {write, this}; }

 private:
  static bool write(void* context, Span<const uint8_t> bytes);
};

}  // namespace intaglio::cli
