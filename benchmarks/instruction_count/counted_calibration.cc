// A whole calibration of an FP32 model, serial: what on-device calibration costs. Samples are noise: pixels where the model
// says how they become values. The library's defaults, or what words say otherwise. All in memory; replay_bytes of 0 and of
// what is useful, see Calibrator::replay_bytes(). Between the two marks (instruction_plugin.c, marks=on) stands what the
// calibrator does: create, add and finish, with samples copied from memory.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "benchmarks/instruction_count/counted_values.h"
#include "intaglio/calibrator.h"
#include "intaglio/image_input.h"

using namespace intaglio;

namespace {

using Samples = std::vector<std::vector<std::vector<float>>>;  // of each sample the inputs

std::vector<float> noise(const Model& model, int32_t input, size_t first) {
  const size_t count = model.tensor(model.inputs()[static_cast<size_t>(input)]).bytes() / sizeof(float);
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = real(first + i);
  for (int32_t k = 0; k < model.image_count(); ++k) {
    const ImageInput recipe = model.image(k);
    if (recipe.input != input) continue;
    for (size_t i = 0; i < count; ++i) {
      const size_t c = i % static_cast<size_t>(recipe.channels);
      values[i] =
          (static_cast<float>(static_cast<uint8_t>(code(first + i))) - recipe.mean[c]) * recipe.norm[c];
    }
  }
  return values;
}

bool load(void* context, int32_t i, Span<const Span<uint8_t>> inputs) {
  const auto& sample = (*static_cast<const Samples*>(context))[static_cast<size_t>(i)];
  for (size_t k = 0; k < inputs.size; ++k) memcpy(inputs[k].data, sample[k].data(), inputs[k].size);
  return true;
}

}  // namespace

int64_t run_calibration(const Model& model, int32_t samples, Span<const char* const> words) {
  const auto given = [&](const char* word) {
    for (const char* const one : words)
      if (strcmp(one, word) == 0) return true;
    return false;
  };
  CalibratorOptions options;
  if (given("device")) options = CalibratorOptions::device();
  options.layer_report = given("report");
  if (given("bias")) options.recover = recovery::kBiasCorrection;
  if (given("none")) options.recover = recovery::kNone;
  const Result<size_t> useful = Calibrator::replay_bytes(model, samples, options);
  const Result<CalibratorNeeds> needs = Calibrator::measure(model, options);
  if (!useful || !needs) return 0;
  const size_t size = needs->total() + (given("replay") ? *useful : 0);
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, size) != 0) return 0;
  Samples noises(static_cast<size_t>(samples));
  for (size_t i = 0; i < noises.size(); ++i)
    for (size_t k = 0; k < model.inputs().size; ++k)
      noises[i].push_back(noise(model, static_cast<int32_t>(k), i * 7919));
  getppid();
  Result<Calibrator> calibrator = Calibrator::create(model, {static_cast<uint8_t*>(memory), size}, options);
  if (!calibrator) return 0;
  SampleSource source;
  source.load = load;
  source.context = &noises;
  source.count = samples;
  if (!calibrator->add_all(source).ok() || !calibrator->finish({}, &source).ok()) return 0;
  getppid();
  const auto bytes = static_cast<int64_t>(calibrator->report().bytes.size);
  std::free(memory);
  return bytes;
}
