// An int8 model from an FP32 model and a few samples, or from parameters that another tool found.
#pragma once

#include <chrono>

#include "tools/calibration_figures.h"
#include "tools/float_search.h"
#include "tools/known_params.h"
#include "tools/loaded_model.h"
#include "tools/sequences.h"
#include "tools/slot_choices.h"
#include "tools/work.h"

namespace intaglio::tools {

struct CalibrateChoice {
  SampleChoice samples;  // no places: parameters or what was observed alone
  int64_t steps = 0;     // of a model with states: how many samples are one sequence; 0: all
  SessionOptions execution;
  Profile profile = Profile::kHost;
  QuantizationChoice quantization;
  std::optional<RecoveryMask> recover;  // none: set_recover() says which
  bool int8_states = false;             // every state stays in int8, also where its rounding adds up
  FloatSearchChoice float_search;
  ParamsChoice params;
  // The state of other samples, perhaps elsewhere (tools/observed_samples.h): these are added to it, or it is all there is.
  // `from` names it in messages; no bytes: nothing.
  std::string from;
  Span<const uint8_t> observed;
  // Ask for what the samples of `observed` have to say besides: CalibratedModel::question. `observed` may be a question with its
  // answers (ObservedSum).
  bool asks = false;
  MemoryGoal memory = MemoryGoal::layer_by_layer();
  uint32_t ceiling = 0;  // of the int8 model: Model::memory_ceiling()
  bool layers = true;    // each layer is compared, for `layers` and the page
  bool page = false;     // an HTML page is made
  std::string name =
      "the int8 model";  // what messages and the page call the int8 model; no sample has this place
  WriteModel write;      // gets the int8 model before it is judged, which may take minutes
  // Commands to be pasted into a shell, for figures and page: what the verdict advises, and the same calibration with these
  // options changed. Empty: there is none.
  std::function<std::string(const Verdict& verdict)> advised_command;
  std::function<std::string(const OptionChanges& changes)> changed_command;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();  // of the figures' seconds
};

struct CalibratedModel {
  FileBytes bytes;
  std::vector<uint8_t> question;  // which is to be answered first; there is nothing else then
  size_t asked = 0;               // how much it asks
  CalibrationFigures figures;
  std::vector<LayerReport> layers;
  std::vector<RecoverySummary> recoveries;
  int32_t seen = 0;       // samples, with those that were observed before
  size_t flat_bytes = 0;  // of the model, without a streamed plan
  std::optional<FloatSearchResult> mixed;
  std::vector<StageTime> stages;
  std::string page;
  std::optional<BakedParams> baked;  // of parameters alone: then nothing but `bytes` is there beside it
};

Outcome<CalibratedModel> calibrate(const LoadedModel& given, const CalibrateChoice& choice, Work& work);

// {verdict, remedy, command, images, ...}: see `calibrate --json`.
Json json_of(const CalibratedModel& made, const CalibrateChoice& choice);

}  // namespace intaglio::tools
