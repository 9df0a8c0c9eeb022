#include "cli/calibration_text.h"

#include <cmath>
#include <optional>

#include "calibrator/host/system/real_text.h"
#include "intaglio/describe.h"
#include "tools/answer_kind.h"
#include "tools/model_contents.h"

namespace intaglio::cli {

namespace {

// The scale and the zero point follow from it; 'intaglio inspect --quant' shows them.
std::string tensor_range_text(const TensorInfo& info) {
  if (info.dtype != DType::kS8 || info.quantization.scales.size != 1) return dtype_name(info.dtype);
  const auto scale = static_cast<double>(info.quantization.scales[0]);
  return general_text(scale * (-128 - info.quantization.zero_point), 4) + ".." +
         general_text(scale * (127 - info.quantization.zero_point), 4);
}

}  // namespace

void print_layers(const Model& fp32, const Model& test, Span<const LayerReport> layers, bool alone) {
  const NodeNumbers numbers(fp32);
  std::vector<std::string> titles{"node", "layer", "operator", "range", "SQNR dB"};
  if (alone) titles.push_back("alone dB");
  titles.insert(titles.end(), {"cosine", "clipped %"});
  Table table(titles, 3);
  for (const LayerReport& layer : layers) {
    const TensorInfo output = test.tensor(layer.tensor);
    std::vector<std::string> row{numbers.text(output.name), numbers.name(output.name),
                                 op_name(test.node(layer.node).op), tensor_range_text(output),
                                 decimal(sqnr_db(layer), 2)};
    if (alone) row.push_back(decimal(sqnr_alone_db(layer), 2));
    row.insert(row.end(), {decimal(cosine(layer), 6), decimal(100 * layer.clipped, 3)});
    table.add(row);
  }
  table.print();
}

void print_sequences(const SequenceFigures& figures) {
  print(
      "  sequences    %zu of %zu %s, each model with its own states: output SQNR %s dB, %s dB over the last quarter\n",
      figures.sequences, figures.steps, figures.steps == 1 ? "step" : "steps",
      decimal(figures.sqnr, 2).c_str(), decimal(figures.late_sqnr, 2).c_str());
}

namespace {

constexpr size_t kFiguresAt = 15;  // the column behind their names

// "12.30 dB", "exact"
std::string db_text(double sqnr) { return decimal(sqnr, 2) + (std::isfinite(sqnr) ? " dB" : ""); }

// `low`: what nine of ten sets of other samples reach, where that can be said.
void print_quality(const OutputQuality& quality, const std::optional<double>& low = std::nullopt) {
  print("    output SQNR  %s, before a final softmax\n", db_text(quality.sqnr).c_str());
  if (low) print("    nine of ten  %s and more: sets of 16 other samples\n", db_text(*low).c_str());
  if (quality.worst)
    print("    worst part   %s, %s\n", db_text(quality.worst->sqnr).c_str(),
          safe(quality.worst->name).c_str());
  if (quality.agreement) print("    agreement    %s with FP32\n", decimal(*quality.agreement, 4).c_str());
  if (const auto& boxes = quality.detections) {
    if (boxes->pictures == 0)
      print("    boxes        FP32 finds none with a score of at least %s\n",
            decimal(boxes->score, 2).c_str());
    else
      print(
          "    boxes        F1 %s with FP32, which finds some in %zu samples, of scores of at least %s (%s)\n",
          decimal(boxes->counts.f1(), 4).c_str(), boxes->pictures, decimal(boxes->score, 2).c_str(),
          boxes->decoder.c_str());
  }
  const char* title = "errors";  // in the outputs' own unit
  for (const OutputError& error : quality.errors) {
    print("    %-12s '%s': %s\n", title, safe(error.name).c_str(), error_words(error).c_str());
    title = "";
  }
}

std::string verdict_word(const Verdict& verdict) {
  return verdict.grade == Grade::kNone ? "none. " : std::string(grade_name(verdict.grade)) + ". ";
}

void print_measured(const CalibrationFigures& figures) {
  if (figures.judged > 0)
    print("  to be expected of other samples (%zu held out: they judge models that they did not calibrate)\n",
          figures.judged);
  else
    print("  without corrections, which fit the samples (too few to hold any out)\n");
  print_quality(figures.held_out, figures.low_sqnr);
  if (figures.judged > 0 && !figures.low_sqnr)
    print("    nine of ten  cannot be said with fewer than 9 held out: one set of samples may have less\n");
  print("  on the calibration samples themselves\n");
  print_quality(figures.calibrating);
}

// Where the output may be scores of classes, and nothing says so.
void print_unknown_answer(const Model& fp32) {
  if (!class_output(fp32) && possible_class_output(fp32))
    print(
        "  agreement    not counted, since nothing says that the output is classes; if it is, tell it once:\n"
        "               intaglio import --answers classes\n");
}

// int8 is measured against FP32, and FP32 against nothing.
void print_reference(const Model& fp32) {
  std::string text = "is taken as right";
  if (fp32.image_count() > 0) text += ", with pictures as " + recipe_text(fp32.image(0));
  if (class_output(fp32)) text += "; 'intaglio eval --labels' judges it";
  print("  FP32         %s\n", indented(text, kFiguresAt).c_str());
}

// What was tried, beside the model that is written.
void print_trial(const RemedyTrial& trial) {
  if (trial.changes.empty()) return;
  std::string text = db_text(judged_sqnr(trial.after)) + " instead of " + db_text(judged_sqnr(trial.before));
  if (trial.before.worst) text += " (the worst part)";
  if (trial.before.agreement && trial.after.agreement)
    text += ", agreement " + decimal(*trial.after.agreement, 4) + " instead of " +
            decimal(*trial.before.agreement, 4);
  if (trial.before.detections && trial.after.detections && trial.before.detections->pictures > 0)
    text += ", F1 " + decimal(trial.after.detections->counts.f1(), 4) + " instead of " +
            decimal(trial.before.detections->counts.f1(), 4);
  print("               tried: %s\n", text.c_str());
  print("               %s ms a run here instead of %s; FP32 %s ms%s\n", decimal(trial.ms, 3).c_str(),
        decimal(trial.int8_ms, 3).c_str(), decimal(trial.fp32_ms, 3).c_str(),
        trial.ms > trial.fp32_ms ? ": slower than FP32" : "");
  print("               %s bytes instead of %s\n", grouped(trial.bytes).c_str(),
        grouped(trial.bytes_before).c_str());
}

void print_figures(const CalibratedModel& made, const std::string& output, const Model& fp32) {
  const CalibrationFigures& figures = made.figures;
  print("  verdict      %s%s\n", verdict_word(figures.verdict).c_str(),
        indented(figures.verdict.text, kFiguresAt).c_str());
  print_reference(fp32);
  if (!figures.verdict.remedy.empty())
    print("  remedy       %s\n", indented(figures.verdict.remedy, kFiguresAt).c_str());
  if (figures.trial) print_trial(*figures.trial);
  if (!figures.command.empty()) print("  command      %s\n", safe(figures.command).c_str());
  print("\n  samples      %zu in %s s", figures.images, decimal(figures.seconds, 2).c_str());
  if (static_cast<size_t>(made.seen) != figures.images) print(", %d with those observed before", made.seen);
  print("\n\n");
  if (figures.images > 0) print_measured(figures);
  if (figures.images > 0) print_unknown_answer(fp32);
  if (figures.sequences) print_sequences(*figures.sequences);
  const std::vector<RecoverySummary>& recoveries = made.recoveries;
  if (!recoveries.empty()) print("  recoveries, with the output SQNR of the samples that judged each\n");
  for (const RecoverySummary& summary : recoveries) {
    print("    %s: ", summary.title.c_str());
    if (summary.tried)
      print("%s before, %s after; ", db_text(sqnr_db(1.0, summary.before)).c_str(),
            db_text(sqnr_db(1.0, summary.after)).c_str());
    print("%s\n", summary.outcome.c_str());
  }
  print("  file         %s, %s bytes\n", safe(output).c_str(), grouped(made.flat_bytes).c_str());
  print("  SHA-256      %s\n", figures.sha256.c_str());
}

void print_float_search(const FloatSearchChoice& choice, const FloatSearchResult& result) {
  print("  mixed precision, judged on %zu samples%s: SQNR %s dB before, %s dB after", result.judges,
        result.held_out ? " that were held out" : "", decimal(result.before.sqnr, 2).c_str(),
        decimal(result.after.sqnr, 2).c_str());
  if (choice.max_drop)
    print("; top1 falls by %s points before, %s after", decimal(result.before.drop, 2).c_str(),
          decimal(result.after.drop, 2).c_str());
  if (result.layers.empty() && result.wide_layers.empty()) {
    print("; no layer needs more than 8 bits\n");
    return;
  }
  const auto list = [&](const std::vector<std::string>& names, const char* what) {
    if (names.empty()) return;
    std::string line =
        std::to_string(names.size()) + " of " + std::to_string(result.layer_count) + " layers " + what + ":";
    for (const std::string& name : names) line += " " + safe(name);
    print("\n    %s", indented(line, 4).c_str());
  };
  list(result.wide_layers, "in 16 bits");
  list(result.layers, "in FP32");
  print(
      "\n    for %s times the time (estimated) and %s times the bytes\n", decimal(result.time, 2).c_str(),
      decimal(static_cast<double>(result.bytes_after) / static_cast<double>(result.bytes_before), 2).c_str());
}

}  // namespace

void print_calibration(const CalibratedModel& made, const std::string& output,
                       const FloatSearchChoice& float_search, const Model& fp32, const Model& int8) {
  print_figures(made, output, fp32);
  if (made.mixed) print_float_search(float_search, *made.mixed);
  if (made.layers.empty()) return;
  print("\n");
  print_layers(fp32, int8, {made.layers.data(), made.layers.size()}, true);
}

void print_baked(const BakedParams& baked, size_t bytes, const std::string& params,
                 const std::string& output) {
  print("%s: %s bytes\n", safe(output).c_str(), grouped(bytes).c_str());
  print("  from %s  %d activations, weights of %d layers%s\n", safe(params).c_str(), baked.activations,
        baked.weight_layers, baked.weight_layers == 0 ? " (each scale from the largest weight)" : "");
  print("  sha256  %s\n", baked.sha256.c_str());
}

}  // namespace intaglio::cli
