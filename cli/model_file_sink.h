// Where a finished model goes.
#pragma once

#include <future>
#include <string>

#include "calibrator/host/system/outcome.h"
#include "intaglio/calibrator.h"

namespace intaglio::cli {

// A file whose bytes on the disk are those that finish() has opened and run before it takes its name.
struct ModelFileSink {
  const std::string& path;
  std::string problem = {};  // why it could not be written
  bool at_once = false;      // whether another thread may work beside the disk
  // Of the bytes that were handed over, which outlive it.
  std::future<std::string> sha256 = {};

  ModelSink sink() { return {write, this}; }

 private:
  static bool write(void* context, Span<const uint8_t> bytes);
};

}  // namespace intaglio::cli
