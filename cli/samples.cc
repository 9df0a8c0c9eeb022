#include "cli/samples.h"

#include "cli/output.h"

namespace intaglio::cli {

void add_sample_options(CLI::App& app, SampleArguments& arguments) {
  app.add_option(
         "--images", arguments.images,
         "a folder of PNG, JPEG or BMP pictures, one picture, or an .npy array whose first dimension counts "
         "samples (uint8: pictures; float32: input tensors)")
      ->required()
      ->type_name("DIR|X.npy");
  app.add_option("--only", arguments.only, "a text file with the names of the pictures to take, one a line")
      ->type_name("LIST");
  app.add_option("--limit", arguments.limit,
                 "take only N pictures: those with the smallest SHA-256, so that no order matters")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->type_name("N");
  app.add_flag("--skip-bad", arguments.skip_bad,
               "leave out pictures that cannot be read, naming each; without it the first one is an error");
}

Outcome<Samples> Samples::open(const SampleArguments& arguments, const LoadedModel& file) {
  const Model& model = file.model();
  if (model.inputs().size != 1)
    return Failure{file.path() + ": has " + std::to_string(model.inputs().size) +
                   " inputs; pictures and arrays can be given to models with one input"};
  SampleOptions options;
  options.only = arguments.only;
  options.limit = arguments.limit;
  auto folder = ImageFolder::open(arguments.images, options);
  if (!folder) return folder.failure();
  Samples samples;
  samples.folder_ = std::move(*folder);
  for (int32_t i = 0; i < model.image_count(); ++i) {
    if (model.image(i).input != 0) continue;
    samples.recipe_ = model.image(i);
    samples.has_recipe_ = true;
  }
  if (arguments.skip_bad) {
    SampleBuffer buffer(model.tensor(model.inputs()[0]));
    if (auto step = samples.folder_.leave_out_bad(buffer.view(), samples.recipe()); !step)
      return step.failure();
  }
  for (const std::string& note : samples.folder_.notes()) print_note(note);
  return samples;
}

Outcome<Done> Samples::load(size_t i, const TensorView& input) const {
  return folder_.load(i, input, recipe());
}

}  // namespace intaglio::cli
