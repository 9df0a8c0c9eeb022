// intaglio compare: how far a model is from the one that it was made from.
#include <cmath>

#include "cli/class_scores.h"
#include "cli/command.h"
#include "cli/inspection.h"
#include "cli/layer_comparison.h"
#include "cli/sample_checks.h"
#include "cli/sequences.h"
#include "intaglio/describe.h"

namespace intaglio::cli {
namespace {

struct CompareArguments {
  std::string reference, test, labels, names;
  SampleArguments samples;
  int64_t steps = 0;
  ExecutionOptions execution;
  bool json = false;
};

constexpr const char* kCompareFooter =
    "SQNR is 10 log10(signal / noise) in dB over all samples, and larger is better. That of the model is taken before\n"
    "a final softmax or sigmoid. In JSON it is null for equal tensors. 'alone' is a layer's error with exact inputs.\n"
    "Agreement is the share of samples, 0 to 1, to which both models give the same class.\n"
    "Of models with states each runs with its own, and only their outputs are compared.\n"
    "With --labels: of b pictures lost and c won, the loss is real if b - c > 2 sqrt(b + c).\n\n"
    "Example:\n"
    "  intaglio compare net.itg net.int8.itg --images test/ --labels test_labels.txt";

// Right answers of two models on the same pictures.
struct PairedResult {
  size_t reference_right = 0, test_right = 0, lost = 0, won = 0;

  bool loss_is_real() const {
    const auto b = static_cast<double>(lost), c = static_cast<double>(won);
    return b - c > 2 * std::sqrt(b + c);
  }
};

// The right class of each sample.
Outcome<std::vector<int32_t>> right_classes(const Samples& samples, const Labels& labels) {
  std::vector<int32_t> classes;
  for (size_t i = 0; i < samples.count(); ++i) {
    const auto label = labels.of(samples.name(i));
    if (!label) return label.failure();
    classes.push_back(*label);
  }
  return classes;
}

PairedResult judge(const Comparison& comparison, const std::vector<int32_t>& wanted) {
  PairedResult result;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const bool reference = comparison.reference_classes[i] == wanted[i];
    const bool test = comparison.test_classes[i] == wanted[i];
    result.reference_right += reference ? 1 : 0;
    result.test_right += test ? 1 : 0;
    result.lost += reference && !test ? 1 : 0;
    result.won += !reference && test ? 1 : 0;
  }
  return result;
}

bool same_recipes(const Model& a, const Model& b) {
  if (a.image_count() != b.image_count()) return false;
  for (int32_t i = 0; i < a.image_count(); ++i) {
    const ImageInput x = a.image(i), y = b.image(i);
    if (x.input != y.input || x.color != y.color || x.resize != y.resize || x.border != y.border ||
        x.channels != y.channels)
      return false;
    for (int32_t c = 0; c < x.channels; ++c) {
      if (x.mean[c] != y.mean[c] || x.norm[c] != y.norm[c]) return false;
    }
  }
  return true;
}

double percent(size_t part, size_t whole) {
  return 100 * static_cast<double>(part) / static_cast<double>(whole);
}

Json comparison_json(const Comparison& comparison, const Model& reference, const Model& test, size_t count) {
  const NodeNumbers numbers(reference);
  const OutputFigures figures = comparison.figures();
  const auto agreement = comparison.agreement();
  Json json{{"count", count},
            {"agreement", agreement ? Json(*agreement) : Json(nullptr)},
            {"cosine", json_number(figures.cosine)},
            {"sqnr_db", json_number(figures.sqnr)},
            {"channels_scaled", comparison.scaled},
            {"channels_shifted", comparison.shifted},
            {"layers", Json::array()}};
  for (const LayerReport& layer : comparison.layers) {
    const std::string tensor = test.tensor(layer.tensor).name;
    json["layers"].push_back({{"node", numbers.json(tensor)},
                              {"name", numbers.name(tensor)},
                              {"tensor", tensor},
                              {"op", op_name(test.node(layer.node).op)},
                              {"cosine", json_number(cosine(layer))},
                              {"sqnr_db", json_number(sqnr_db(layer))},
                              {"clipped", json_number(layer.clipped)}});
  }
  return json;
}

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
  if (const auto agreement = comparison.agreement())
    print("  agreement: %s\n", decimal(*agreement, 4).c_str());
}

void print_paired(const PairedResult& paired, size_t count) {
  print("  top1: %s %% -> %s %%, %zu lost, %zu won: %s\n",
        decimal(percent(paired.reference_right, count), 2).c_str(),
        decimal(percent(paired.test_right, count), 2).c_str(), paired.lost, paired.won,
        paired.loss_is_real() ? "the loss is real" : "no real loss");
}

// Models with states, each with its own from the beginning of a sequence on.
Outcome<Done> compare_steps(const CompareArguments& arguments, const LoadedModel& reference,
                            const Model& test, const Samples& samples, const SessionOptions& options) {
  const auto sequences = Sequences::of(arguments.steps, arguments.samples, samples, reference);
  if (!sequences) return sequences.failure();
  ProgressLine progress;
  const auto figures = compare_sequences(reference, test, samples, *sequences, options, progress);
  if (!figures) return figures.failure();
  if (arguments.json)
    print_json({{"sequences", figures->sequences},
                {"steps", figures->steps},
                {"sqnr_db", json_number(figures->sqnr)},
                {"late_sqnr_db", json_number(figures->late_sqnr)}});
  else
    print_sequences(*figures);
  return Done{};
}

Outcome<Done> run_compare(const CompareArguments& arguments) {
  auto reference_file = LoadedModel::open(arguments.reference);
  if (!reference_file) return reference_file.failure();
  auto test_file = LoadedModel::open(arguments.test);
  if (!test_file) return test_file.failure();
  const Model& test_model = test_file->model();
  if (!check_float(*reference_file))
    return Failure{arguments.reference +
                   ": is not FP32 throughout, and errors are those against an FP32 model; " +
                   (check_float(*test_file)
                        ? "name " + arguments.test + ", which is FP32, first"
                        : "name the model first that 'intaglio import' made from the float network")};
  if (!same_recipes(reference_file->model(), test_model))
    print_warning("the models have different preprocessing; both get the inputs that " + arguments.reference +
                  " makes");
  const auto options = session_options(arguments.execution);
  if (!options) return options.failure();
  auto reference = LoadedSession::create(*reference_file, *options);
  if (!reference) return reference.failure();
  auto test = LoadedSession::create(*test_file, *options);
  if (!test) return test.failure();
  const auto samples = Samples::open(arguments.samples, *reference_file);
  if (!samples) return samples.failure();
  ProgressLine progress;
  warn_of_units(*samples, reference_file->model(), progress);
  if (reference_file->model().state_count() > 0) {
    if (!arguments.labels.empty())
      return Failure{"--labels: " + arguments.reference +
                     " has states; 'intaglio eval --steps' judges sequences"};
    return compare_steps(arguments, *reference_file, test_model, *samples, *options);
  }
  Outcome<std::vector<int32_t>> wanted = std::vector<int32_t>();
  if (!arguments.labels.empty()) {
    if (!gives_classes(reference_file->model(), *samples))
      return no_classes(*reference_file, *samples, "; leave --labels out");
    const auto labels = read_labels(arguments.labels, arguments.names, reference_file->model());
    if (!labels) return labels.failure();
    wanted = right_classes(*samples, *labels);
    if (!wanted) return wanted.failure();
    warn_of_left_over(*labels, samples->count(), arguments.samples);
  }
  if (const int64_t gone = channels_left_out(test_model); gone > 0)
    print_note(
        arguments.test + ": " + std::to_string(gone) +
        " channels of one code were left out at import; their layers are not compared. 'intaglio import --keep-dead' keeps them");
  if (arguments.steps > 0) print_note("--steps has no effect: " + arguments.reference + " has no state");
  const auto comparison =
      compare_models(*reference_file, *reference, test_model, *test, *samples, !arguments.json, progress);
  if (!comparison) return comparison.failure();
  if (comparison->layers.empty())
    return Failure{arguments.test + ": no layer has the name of one in " + arguments.reference +
                   "; compare models that were made from one network"};
  std::optional<PairedResult> paired;
  if (!arguments.labels.empty()) {
    if (comparison->reference_classes.empty())
      return Failure{arguments.test + ": its output holds no scores of the classes of " +
                     arguments.reference + "; leave --labels out"};
    paired = judge(*comparison, *wanted);
  }
  if (!arguments.json) {
    print_comparison(*comparison, reference_file->model(), test_model, samples->count());
    if (paired) print_paired(*paired, samples->count());
    return Done{};
  }
  Json json = comparison_json(*comparison, reference_file->model(), test_model, samples->count());
  if (paired) {
    json["top1_a"] = percent(paired->reference_right, samples->count());
    json["top1_b"] = percent(paired->test_right, samples->count());
    json["lost"] = paired->lost;
    json["won"] = paired->won;
    json["loss_is_real"] = paired->loss_is_real();
  }
  print_json(json);
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
  add_option(*app, "--labels", arguments->labels,
             "the right classes of the samples. It also shows top1 of both models, and whether it fell")
      .type_name("LABELS.txt|DIR");
  add_names_option(*app, arguments->names, kNamesOfLabels);
  add_threads_option(*app, arguments->execution);
  add_isa_option(*app, arguments->execution);
  add_flag(
      *app, "--json", arguments->json,
      "print one JSON object: {count, agreement, cosine, sqnr_db, channels_scaled, channels_shifted, layers: "
      "[{node, name, tensor, op, cosine, sqnr_db, clipped}]}. With --labels it also has top1_a, top1_b, lost, won and "
      "loss_is_real");
  return make_command(app, arguments, run_compare);
}

}  // namespace intaglio::cli
