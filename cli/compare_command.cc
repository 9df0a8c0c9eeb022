// intaglio compare: how far a model is from the one that it was made from.
#include <cmath>

#include "cli/calibration_text.h"
#include "cli/command.h"
#include "cli/tool_options.h"
#include "tools/judge_models.h"

namespace intaglio::cli {
namespace {

struct CompareArguments {
  std::string reference, test;
  LabelChoice labels;
  SampleArguments samples;
  int64_t steps = 0;
  DetectionChoice detections;
  ExecutionOptions execution;
  bool json = false;
};

constexpr const char* kCompareFooter =
    "SQNR is 10 log10(signal / noise) in dB over all samples, and larger is better. That of the model is taken before\n"
    "a final softmax. In JSON it is null for equal tensors. 'alone' is a layer's error with exact inputs.\n"
    "The worst part is that of the outputs, of what a Concat joins, and of channels whose values have another size.\n"
    "Agreement is the share of samples, 0 to 1, to which both models give the same class. Outputs that are no classes\n"
    "have errors in their own unit instead; 'intaglio import --answers' says what an output is.\n"
    "Of detectors of pictures F1 says how far the model finds the boxes that FP32 finds: of one class, overlapping by at\n"
    "least one half, with scores of at least --score. With labelled boxes both are also counted against these.\n"
    "Of models with states each runs with its own, and only their outputs are compared.\n"
    "With --labels: of b pictures lost and c won, the loss is real if b - c > 2 sqrt(b + c).\n\n"
    "Example:\n"
    "  intaglio compare net.itg net.int8.itg --images test/ --labels test_labels.txt";

void print_comparison(const Comparison& comparison, const Model& reference, const Model& test, size_t count) {
  print_layers(reference, test, {comparison.layers.data(), comparison.layers.size()}, true);
  if (comparison.scaled || comparison.shifted)
    print("\n  -: the model is %s, so channels of these layers are not those of the FP32 model\n",
          comparison.scaled ? "equalized" : "one with absorbed biases");
  print("\n  %zu samples\n", count);
  for (const int32_t output : comparison.outputs) {
    const LayerReport& layer = comparison.layers[static_cast<size_t>(output)];
    const double sqnr = sqnr_db(layer);
    print("  output (%s): SQNR %s%s, cosine %s\n", safe(test.tensor(layer.tensor).name).c_str(),
          decimal(sqnr, 2).c_str(), std::isinf(sqnr) ? "" : " dB", decimal(cosine(layer), 6).c_str());
  }
  if (comparison.outputs.size() > 1) {
    const OutputFigures figures = comparison.figures();
    print("  all outputs: SQNR %s dB, cosine %s\n", decimal(figures.sqnr, 2).c_str(),
          decimal(figures.cosine, 6).c_str());
  }
  if (const auto worst = worst_part(comparison.parts))
    print("  worst part of the outputs (%s): SQNR %s dB\n", safe(worst->name).c_str(),
          decimal(worst->sqnr, 2).c_str());
  if (const auto agreement = comparison.agreement())
    print("  agreement: %s\n", decimal(*agreement, 4).c_str());
  for (const OutputError& error : comparison.errors)
    print("  '%s': %s\n", safe(error.name).c_str(), error_words(error).c_str());
}

void print_paired(const PairedResult& paired, size_t count) {
  print("  top1: %s %% -> %s %%, %zu lost, %zu won: %s\n",
        decimal(percent_of(paired.reference_right, count), 2).c_str(),
        decimal(percent_of(paired.test_right, count), 2).c_str(), paired.lost, paired.won,
        paired.loss_is_real() ? "the loss is real" : "no real loss");
}

void print_detections(const DetectionComparison& found, size_t count) {
  const std::string score = decimal(found.score, 2);
  if (found.pictures == 0) {
    print("  boxes (%s): FP32 finds none with a score of at least %s\n", found.decoder.c_str(),
          score.c_str());
  } else {
    print("  boxes (%s): F1 %s against FP32, precision %s, recall %s, of scores of at least %s\n",
          found.decoder.c_str(), decimal(found.counts.f1(), 4).c_str(),
          decimal(found.counts.precision(), 4).c_str(), decimal(found.counts.recall(), 4).c_str(),
          score.c_str());
    print("    %zu as in FP32, %zu others, %zu missed; FP32 finds something in %zu of %zu pictures\n",
          found.counts.right, found.counts.wrong, found.counts.missed, found.pictures, count);
  }
  if (!found.reference_labels) return;
  const DetectionFigures &a = *found.reference_labels, &b = *found.test_labels;
  print("    against the labels: F1 %s -> %s, precision %s -> %s, recall %s -> %s, mAP@0.5 %s -> %s\n",
        decimal(a.counts.f1(), 4).c_str(), decimal(b.counts.f1(), 4).c_str(),
        decimal(a.counts.precision(), 4).c_str(), decimal(b.counts.precision(), 4).c_str(),
        decimal(a.counts.recall(), 4).c_str(), decimal(b.counts.recall(), 4).c_str(),
        decimal(a.mean_precision, 4).c_str(), decimal(b.mean_precision, 4).c_str());
}

Outcome<Done> run_compare(const CompareArguments& arguments) {
  const auto reference = LoadedModel::open(arguments.reference);
  if (!reference) return reference.failure();
  const auto test = LoadedModel::open(arguments.test);
  if (!test) return test.failure();
  const auto execution = session_options(arguments.execution);
  if (!execution) return execution.failure();
  if (auto step = check_comparable(*reference, *test); !step) return step;
  const auto samples = sample_choice(arguments.samples, *reference);
  if (!samples) return samples.failure();
  Work work(listener());
  const auto found = compare(
      *reference, *test,
      {*samples, arguments.steps, *execution, arguments.labels, !arguments.json, arguments.detections}, work);
  if (!found) return found.failure();
  if (arguments.json) {
    print_json(json_of(*found, reference->model(), test->model()));
  } else if (found->sequences) {
    print_sequences(*found->sequences);
  } else {
    print_comparison(found->layers, reference->model(), test->model(), found->count);
    if (found->paired) print_paired(*found->paired, found->count);
    if (found->detections) print_detections(*found->detections, found->count);
  }
  return Done{};
}

}  // namespace

Command add_compare_command(CLI::App& parent) {
  const auto arguments = std::make_shared<CompareArguments>();
  CLI::App* app =
      add_subcommand(parent, "compare", "compare a model with the one that it was made from, layer by layer",
                     kCompareFooter);
  add_option(*app, "reference", arguments->reference, "the FP32 model file").required().type_name("A.itg");
  add_option(*app, "test", arguments->test, "the file of the model that was made from it")
      .required()
      .type_name("B.itg");
  add_sample_options(*app, arguments->samples);
  add_steps_option(*app, arguments->steps);
  add_option(
      *app, "--labels", arguments->labels.path,
      "the right classes of the samples, or the boxes of pictures: see 'intaglio eval --help'. It also shows top1 of both "
      "models and whether it fell, or F1 and mAP@0.5 of both")
      .type_name("LABELS.txt|DIR|COCO.json");
  add_names_option(*app, arguments->labels.names, kNamesOfLabels);
  add_detection_options(*app, arguments->detections);
  add_threads_option(*app, arguments->execution);
  add_isa_option(*app, arguments->execution);
  add_flag(
      *app, "--json", arguments->json,
      "print one JSON object: {count, agreement, cosine, sqnr_db, errors: [{name, mean, largest, low, high}], worst: "
      "{name, sqnr_db}, "
      "channels_scaled, channels_shifted, layers: "
      "[{node, name, tensor, op, cosine, sqnr_db, clipped}]}. With --labels it also has top1_a, top1_b, lost, won and "
      "loss_is_real. Of a detector it has detections: {decoder, score, pictures, right, wrong, missed, precision, recall, f1}, and "
      "with labels in these labels_a and labels_b: {right, wrong, missed, precision, recall, f1, map50}");
  return make_command(app, arguments, run_compare);
}

}  // namespace intaglio::cli
