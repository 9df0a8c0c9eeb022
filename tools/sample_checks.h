// Checks of samples before they calibrate: duplicates, constants, values in another unit.
#pragma once

#include <string>
#include <vector>

#include "calibrator/observe/digest.h"
#include "calibrator/quantization/scales.h"
#include "tools/answer_kind.h"
#include "tools/calibration_samples.h"
#include "tools/layer_comparison.h"
#include "tools/samples.h"
#include "tools/text.h"
#include "tools/work.h"

namespace intaglio::tools {

// Looks at the samples of a calibration: the signs of a wrong folder or a wrong preprocessing.
struct SampleFacts {
  std::vector<Digest> digests;     // of each sample's inputs
  std::string preprocessing_sign;  // what speaks for a wrong preprocessing, as a clause; empty: nothing
};

// Before any runs: warns of what is suspicious in the values themselves, refuses what is no number.
Outcome<SampleFacts> check_samples(CalibrationSamples& samples, const Executor& executor, Work& work);

// The FP32 model's classes of the samples, where its output is classes.
class SampleClasses {
 public:
  void set_output(const ClassOutput& output) { output_ = output; }
  // Sample `i`, in any order.
  void add(size_t i, const std::string& sample, const Session& fp32);
  void warn(Work& work) const;
  std::string preprocessing_sign() const;                       // as in SampleFacts
  const std::vector<int32_t>& found() const { return found_; }  // -1: a score is no number
  // Nothing but a row's length says that they are classes, and one is the greatest in every sample: as of boxes and landmarks.
  bool are_doubtful() const { return output_.is_presumed && one_class(); }
  void forget() {
    found_.clear();
    uniform_ = {};
  }

 private:
  bool all_uniform() const { return 2 * uniform_.count() > found_.size(); }
  bool one_class() const;

  ClassOutput output_;
  std::vector<int32_t> found_;
  Suspects uniform_;
};

// Whether the FP32 model's outputs follow the samples at all: no figure says anything of one that gives the same for each.
class SampleOutputs {
 public:
  // A sample's, in any order.
  void add(const Session& fp32);
  bool are_constant() const { return samples_ > 1 && largest_ > 0.0f && spread_ <= kNothing * largest_; }
  void warn(Work& work) const;
  std::string preprocessing_sign() const;  // as in SampleFacts

 private:
  static constexpr float kNothing = 1e-6f;  // beside the largest: what roundings of FP32 make

  size_t samples_ = 0;
  std::vector<float> first_;
  float spread_ = 0.0f, largest_ = 0.0f;
};

// Whether arrays hold values in the unit of a model's inputs, for what runs them without a calibration.

// The unit of an input, and the values that it was given. Values that cannot be meant:
// - it takes pictures by a recipe, the values are no pixels, and they leave their range or fill at most half of it;
// - they are no numbers;
// - it is int8 with a range of its own, and the values go farther beyond it than it is wide, or fill a 16th of it.
class InputUnit {
 public:
  // Without a recipe the input takes no pictures.
  InputUnit(const TensorInfo& input, const ImageInput* recipe);

  bool takes_reals() const { return takes_reals_; }

  enum class Kind { kPixels, kReals, kNoNumbers };
  // The real values of one sample, in the input's layout.
  Kind add(Span<const float> values);

  // Whether the real values of all samples that are no pixels are in another unit.
  bool is_other() const;
  // "values that no pixel gives by ... (they hold ...); give them in that unit, or pixels as uint8"
  std::string what_is_wrong() const;

 private:
  std::string name_;
  const ImageInput* recipe_ = nullptr;
  bool takes_reals_ = false;
  Range own_;         // of the values that the input was made for; empty: not known
  double width_ = 0;  // of it
  bool has_reals_ = false;
  Range seen_;  // of them
};

// Whether values that are no pixels stay within the range that pixels have, and fill more than half of it.
bool are_in_unit_of_pixels(const Range& seen, const Range& pixels);

// Looks at every sample, and warns of each input whose arrays hold values that cannot be meant. What cannot be read is told
// where it is run.
void warn_of_units(const Samples& samples, const Model& model, Work& work);

}  // namespace intaglio::tools
