// learn_draws NET.int8.itg --images X.npy --features OUT.npy <DRAWS: what LastLayerLearner makes of examples. OUT.npy gets the codes of each
// sample's features, and the first line of output their scale and zero point. Each line of DRAWS is the number of classes, and pairs of a sample's number and its class. For each a line of JSON is
// printed: method, kept, held_out, right, memory_bytes, patch_bytes, and classes, which all samples get.
#include <CLI/CLI.hpp>
#include <iostream>
#include <sstream>

#include "calibrator/host/system/npy.h"
#include "cli/output.h"
#include "intaglio/last_layer.h"
#include "tools/json.h"
#include "tools/samples.h"

using namespace intaglio;
using namespace intaglio::cli;

namespace {

Outcome<Done> run(const std::string& path, const std::string& images, const std::string& out) {
  const auto file = LoadedModel::open(path);
  if (!file) return file.failure();
  SampleChoice choice;
  choice.places = {{images, {}, {}}};
  const auto samples = Samples::open(choice, *file, Work());
  if (!samples) return samples.failure();
  auto session = LoadedSession::create(*file, SessionOptions());
  if (!session) return session.failure();
  const auto features = find_features(file->model());
  if (!features) return file->failure(features.error());
  const auto count = static_cast<size_t>(features->count);
  std::vector<int8_t> codes;
  for (size_t i = 0; i < samples->count(); ++i) {
    if (auto step = samples->load(i, **session); !step) return step;
    (*session)->run_nodes(0, features->node);
    const auto* const found = static_cast<const int8_t*>((*session)->tensor(features->tensor).data);
    codes.insert(codes.end(), found, found + count);
  }
  const Span<const uint8_t> bytes{reinterpret_cast<const uint8_t*>(codes.data()), codes.size()};
  if (!write_npy(out, NpyType::kS8, {static_cast<int64_t>(samples->count()), features->count}, bytes))
    return Failure{out + ": cannot be written"};
  const Json values{{"scale", features->scale},
                    {"zero_point", file->model().tensor(features->tensor).quantization.zero_point}};
  print("%s\n", values.dump().c_str());
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    int32_t classes = 0, label = 0;
    std::vector<std::pair<size_t, int32_t>> examples;
    words >> classes;
    for (size_t sample = 0; words >> sample >> label;) examples.emplace_back(sample, label);
    const auto needs =
        LastLayerLearner::measure(file->model(), classes, static_cast<int32_t>(examples.size()));
    if (!needs) return file->failure(needs.error());
    FileBytes memory(needs->memory_bytes), patch(needs->patch_bytes);
    auto learner = LastLayerLearner::create(file->model(), classes, static_cast<int32_t>(examples.size()),
                                            {memory.data(), memory.size()});
    if (!learner) return file->failure(learner.error());
    for (const auto& [sample, of_class] : examples)
      if (const Error error = learner->add(codes.data() + sample * count, of_class); !error.ok())
        return file->failure(error);
    const auto report = learner->finish({patch.data(), patch.size()});
    if (!report) return file->failure(report.error());
    const auto layer = LastLayer::open(patch.span(), file->model());
    if (!layer) return file->failure(layer.error());
    std::vector<int32_t> found;
    for (size_t i = 0; i < samples->count(); ++i) found.push_back(layer->classify(codes.data() + i * count));
    const Json row{{"method", report->method == LearnMethod::kRidge ? "ridge" : "means"},
                   {"held_out", report->held_out},
                   {"right", report->right},
                   {"memory_bytes", needs->memory_bytes},
                   {"patch_bytes", needs->patch_bytes},
                   {"classes", found}};
    print("%s\n", row.dump().c_str());
  }
  return Done{};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"A last layer learnt from examples"};
  std::string model, images, out;
  app.add_option("model", model, "the int8 model")->required();
  app.add_option("--images", images, "the samples: X.npy or a folder")->required();
  app.add_option("--features", out, "the features to write")->required();
  CLI11_PARSE(app, argc, argv);
  const auto done = run(model, images, out);
  if (!done) print_error(done.message());
  return done ? 0 : 1;
}
