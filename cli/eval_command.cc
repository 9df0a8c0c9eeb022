// intaglio eval: how often a model is right.
#include "cli/command.h"
#include "cli/output.h"
#include "cli/tool_options.h"
#include "tools/judge_models.h"

namespace intaglio::cli {
namespace {

struct EvalArguments {
  std::string model;
  LabelChoice labels;
  SampleArguments samples;
  int64_t steps = 0;
  DetectionChoice detections;
  ExecutionOptions execution;
  bool json = false;
};

constexpr const char* kEvalFooter =
    "A label file has a line 'name class' or 'name,class' for each picture, or a line 'class' for each sample of an\n"
    "array. Of a folder, the folders in it are the classes 0, 1 and so on, in the order of their names, as many as\n"
    "the model has. With --names a class's name may stand for its number, and folders are the classes of their names.\n"
    "top1 is the share of samples whose best class is the right one, top5 whose five best hold it, in percent.\n"
    "Of equal scores the class with the lowest number counts.\n"
    "Of a model with states the last step of each sequence is judged. A picture's label is that of this step; a line\n"
    "'class' is of a sequence.\n"
    "Boxes of detectors are labelled by a folder with a text file a picture, of lines 'class x y width height' in parts of\n"
    "the picture (YOLO), or by COCO's JSON. Its categories are the classes by the order of their ids, or by --names.\n"
    "A box that is found is right where it overlaps one of its class by at least one half. mAP@0.5 is over all scores.\n\n"
    "Example:\n"
    "  intaglio eval net.int8.itg --images test/ --labels test_labels.txt\n"
    "  intaglio eval net.int8.itg --images test/ --labels test/           # test/cat/1.png, test/dog/2.png, ...\n"
    "  intaglio eval yolo.int8.itg --images images/ --labels labels/      # labels/1.txt of images/1.jpg, ...";

Outcome<Done> run_eval(const EvalArguments& arguments) {
  auto file = LoadedModel::map(arguments.model);
  if (!file) return file.failure();
  Work work(listener());
  if (auto step = file->stream_if(arguments.execution.streamed, work); !step) return step.failure();
  const auto options = session_options(arguments.execution);
  if (!options) return options.failure();
  const auto samples = sample_choice(arguments.samples, *file);
  if (!samples) return samples.failure();
  const auto found = evaluate(*file,
                              {*samples, arguments.steps, *options, ops_of(arguments.execution),
                               arguments.labels, arguments.detections},
                              work);
  if (!found) return found.failure();
  if (arguments.json) {
    print_json(json_of(*found));
  } else if (const auto& boxes = found->detections) {
    const DetectionFigures& figures = boxes->figures;
    print("boxes of %zu pictures (%s), scores of at least %s\n", found->count, boxes->decoder.c_str(),
          decimal(boxes->score, 2).c_str());
    print("F1         %s\n", decimal(figures.counts.f1(), 4).c_str());
    print("precision  %s   %zu right, %zu wrong\n", decimal(figures.counts.precision(), 4).c_str(),
          figures.counts.right, figures.counts.wrong);
    print("recall     %s   %zu missed\n", decimal(figures.counts.recall(), 4).c_str(), figures.counts.missed);
    print("mAP@0.5    %s\n", decimal(figures.mean_precision, 4).c_str());
  } else {
    print("top1  %6s %%   %zu of %zu\n", decimal(found->top1(), 2).c_str(), found->right, found->count);
    print("top5  %6s %%   %zu of %zu\n", decimal(found->top5(), 2).c_str(), found->within, found->count);
  }
  return Done{};
}

}  // namespace

Command add_eval_command(CLI::App& parent) {
  const auto arguments = std::make_shared<EvalArguments>();
  CLI::App* app = add_subcommand(
      parent, "eval", "count how often a model's answer is the right one: classes, or a detector's boxes",
      kEvalFooter);
  add_option(*app, "model", arguments->model, "the model file").required().type_name("NET.itg");
  add_sample_options(*app, arguments->samples);
  add_steps_option(*app, arguments->steps);
  add_option(*app, "--labels", arguments->labels.path,
             "the right classes of the samples, or the boxes of pictures")
      .required()
      .type_name("LABELS.txt|DIR|COCO.json");
  add_names_option(*app, arguments->labels.names, kNamesOfLabels);
  add_detection_options(*app, arguments->detections);
  add_threads_option(*app, arguments->execution);
  add_isa_option(*app, arguments->execution);
  add_compact_option(*app, arguments->execution);
  add_streamed_option(*app, arguments->execution);
  add_flag(
      *app, "--json", arguments->json,
      "print one JSON object: {count, top1, top5}; of boxes {count, decoder, score, right, wrong, missed, precision, "
      "recall, f1, map50}");
  return make_command(app, arguments, run_eval);
}

}  // namespace intaglio::cli
