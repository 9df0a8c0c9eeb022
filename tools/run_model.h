// Samples through a model: what it gives for each, to be shown, and as arrays.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibrator/host/system/npy.h"
#include "tools/json.h"
#include "tools/sequences.h"

namespace intaglio::tools {

struct ClassScore {
  int32_t number = 0;
  double score = 0;
  std::optional<std::string> label;  // where the classes have names
};

struct RanOutput {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int32_t> dims;    // of equal places (class_scores.h) the first alone
  std::vector<ClassScore> top;  // the best classes, best first; empty: the output holds none, and has these:
  float least = 0, greatest = 0;
};

struct RanSample {
  std::string name;
  std::vector<RanOutput> outputs;
};

struct RunChoice {
  SampleChoice samples;
  int64_t steps = 0;  // as CalibrateChoice::steps
  SessionOptions execution;
  OpList ops = all_ops();
  int32_t top = 5;                   // as many of the best classes
  std::string names;                 // a file of the classes' names; may be empty
  bool arrays = false, raw = false;  // `raw`: their int8 values stay codes
  std::vector<std::string> written;  // files that the caller writes afterwards: no sample has such a place
  std::function<void(const RanSample& ran, size_t samples)> each;  // called behind each run; may be empty
};

// An output of all samples, along the first dimension.
struct OutputArray {
  NpyType type = NpyType::kF32;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;
};

struct RanModel {
  size_t count = 0;                 // samples
  std::vector<OutputArray> arrays;  // one an output, where they were asked for
};

Outcome<RanModel> run_model(const LoadedModel& file, const RunChoice& choice, Work& work);

// {name, outputs: [{name, dtype, shape, top: [{class, score, label}] or min, max}]}
Json json_of(const RanSample& ran);

}  // namespace intaglio::tools
