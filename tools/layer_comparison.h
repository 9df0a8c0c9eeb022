// Two models layer by layer: SQNR, what to do about the worst, and samples that look wrong.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibrator/host/accuracy/sample_errors.h"
#include "calibrator/judge/order_free_sum.h"
#include "calibrator/quantization/scales.h"
#include "intaglio/calibrator.h"
#include "intaglio/session.h"
#include "tools/answer_kind.h"
#include "tools/json.h"
#include "tools/samples.h"
#include "tools/work.h"

namespace intaglio::tools {

// How far outputs that are not classes are from FP32, in their own unit.

struct OutputError {
  std::string name;
  double mean = 0, largest = 0;  // of the absolute differences
  double low = 0, high = 0;      // the FP32 values
};

// One after the other: a sample's outputs by FP32, then by the other model. The order of the samples does not matter.
class OutputErrors {
 public:
  // Errors of all outputs but the one that is classes.
  explicit OutputErrors(const std::optional<ClassOutput>& classes) : classes_(classes) {}

  void keep(const Session& fp32);
  void add(const Session& test);
  // Those of each output that both models have with as many numbers, and all of which are finite. None without a sample.
  std::vector<OutputError> errors() const;

 private:
  struct Sums {
    std::string name;
    OrderFreeSum differences;
    double count = 0, largest = 0, low = 0, high = 0;
    bool is_finite = true;
  };
  bool is_class(size_t output) const { return classes_ && classes_->output == output; }

  std::optional<ClassOutput> classes_;
  std::vector<std::vector<float>> kept_;
  std::vector<Sums> sums_;
};

// [{name, mean, largest, low, high}]
Json json_of(const std::vector<OutputError>& errors);
// "off by 0.12 on average and 3.4 at most, in values from -3 to 640"
std::string error_words(const OutputError& error);

// Two models on the same samples: layer by layer, and by the classes they give.

// NaN for sums over nothing.
double sqnr_db(double signal, double noise);
double sqnr_db(const LayerReport& layer);
double sqnr_alone_db(const LayerReport& layer);
double cosine(const LayerReport& layer);

// A model by the layers whose errors are its own: those that make its outputs, before a final softmax.
struct OutputFigures {
  double sqnr = 0.0,
         cosine = 0.0;  // of several outputs the mean of their noise over signal, and of the cosines
};
OutputFigures output_figures(Span<const LayerReport> layers, Span<const int32_t> outputs);

struct Comparison {
  std::vector<LayerReport> layers;  // clipped: mean over the samples
  std::vector<int32_t> outputs;     // layers that make the outputs; empty: none is paired
  std::vector<int32_t> reference_classes, test_classes;  // a sample; empty where no output may be classes
  bool are_classes = false;                              // an output is; else labels say so
  std::vector<OutputError> errors;                       // of the outputs that are none
  std::vector<PartError> parts;                          // of the outputs
  // The model is equalized, or biases are absorbed in it: layers whose channels are scaled or shifted against
  // the reference's have no figures, nor do those that read them with exact inputs.
  bool scaled = false, shifted = false;
  std::optional<double> agreement() const;
  OutputFigures figures() const {
    return output_figures({layers.data(), layers.size()}, {outputs.data(), outputs.size()});
  }
};

// Both sessions have run the sample `i`. A failure ends the comparison.
using BothRan = std::function<Outcome<Done>(size_t i)>;

// `alone` also measures each layer with exact inputs, at twice the time.
Outcome<Comparison> compare_models(const LoadedModel& reference_file, LoadedSession& reference,
                                   const Model& test_model, LoadedSession& test, const Samples& samples,
                                   bool alone, Work& work, const BothRan& ran = {});

// Whether several samples have one class, and no other.
bool is_one_class(const std::vector<int32_t>& classes);
// The share of places with equal classes; nothing where there are none.
std::optional<double> agreement_of(const std::vector<int32_t>& a, const std::vector<int32_t>& b);

// The nodes of the FP32 model by the tensors that they write. An int8 model has these tensors under the same names, and
// nodes of its own between them; options name nodes of the FP32 model. Terminal, JSON and page say it with this alone.
class NodeNumbers {
 public:
  explicit NodeNumbers(const Model& fp32);
  int32_t of(const std::string& tensor) const;  // -1: the FP32 model has no such tensor
  // "12"; "" where there is none.
  std::string text(const std::string& tensor) const;
  Json json(const std::string& tensor) const;  // null where there is none
  // The name of the FP32 model's node in 'intaglio inspect --ops', which --keep-float takes; for a node of the int8 model alone, or one
  // without a name, the tensor's.
  std::string name(const std::string& tensor) const;

 private:
  std::map<std::string, int32_t> nodes_;
  std::map<std::string, std::string> names_;
};

// Finds why one layer of an int8 model is inexact, and what can be done about it.

// Facts of a layer beside its figures.
struct LayerFacts {
  const LayerReport* report = nullptr;
  TensorInfo output;   // of the int8 model
  int64_t values = 0;  // that the report's sums are over: elements times samples
  bool has_weights = false;
  bool reads_int8 = false;  // its first input
  bool is_int8 = true;
  double used_codes = 256;  // of 256, that hold all but a thousandth of the values seen; 256: unknown
};

struct LayerAdvice {
  std::string reason;  // one or two sentences, plain
  bool sound = false;  // nothing is the matter
};

LayerAdvice advise(const LayerFacts& facts);

// Samples with something suspicious about them.

// Warnings of one kind, told as one: how many, and the first names.
class Suspects {
 public:
  void add(const std::string& name);
  size_t count() const { return count_; }
  void warn(Work& work, const std::string& what) const;

 private:
  size_t count_ = 0;
  std::string names_;
};

std::string range_text(const Range& range);  // "0 to 255"

}  // namespace intaglio::tools
