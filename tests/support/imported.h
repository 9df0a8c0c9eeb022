// Foreign model bytes to a running model, through every step that the command takes.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "calibrator/bake/model_writer.h"
#include "calibrator/host/system/files.h"
#include "calibrator/host/system/npy.h"
#include "importers/import.h"
#include "tests/support/model_builder.h"
#include "tests/support/random.h"

namespace intaglio::test {

// An import that owns its memory.
struct Import {
  explicit Import(Span<const uint8_t> bytes, const ImportOptions& options = {},
                  const std::string& path = "model")
      : outcome(import_model(bytes, path, options, memory)) {}
  explicit Import(const std::string& bytes, const ImportOptions& options = {})
      : Import(Span<const uint8_t>(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()), options) {}

  bool good() const { return static_cast<bool>(outcome); }
  const std::string& message() const { return outcome.message(); }
  bool notes(const std::string& part) const {
    for (const std::string& note : outcome->report.notes)
      if (note.find(part) != std::string::npos) return true;
    return false;
  }
  bool says(const std::string& part) const { return message().find(part) != std::string::npos; }
  Graph& graph() {
    if (!outcome) FAIL(outcome.message());
    return outcome->graph;
  }

  size_t count(Op op) {
    size_t found = 0;
    for (const GraphNode& node : graph().nodes) found += node.op == op;
    return found;
  }
  std::vector<Op> ops() {
    std::vector<Op> list;
    for (const GraphNode& node : graph().nodes) list.push_back(node.op);
    return list;
  }
  const GraphNode& node(Op op) {
    for (const GraphNode& node : graph().nodes)
      if (node.op == op) return node;
    FAIL("no node " << static_cast<int>(op));
    std::abort();
  }
  const TensorInfo& tensor(int32_t i) { return graph().tensors[static_cast<size_t>(i)]; }
  const TensorInfo& input(int32_t i = 0) { return tensor(graph().inputs[static_cast<size_t>(i)]); }
  const TensorInfo& output(int32_t i = 0) { return tensor(graph().outputs[static_cast<size_t>(i)]); }
  std::vector<int32_t> dims(const TensorInfo& info) {
    return {info.shape.dims, info.shape.dims + info.shape.rank};
  }
  std::vector<float> floats(int32_t constant) {
    const Span<const uint8_t> bytes = tensor(constant).constant;
    std::vector<float> values(bytes.size / sizeof(float));
    std::memcpy(values.data(), bytes.data, bytes.size);
    return values;
  }

  // The model file.
  AlignedBytes write() {
    const Result<Span<const uint8_t>> file = finish_model(graph(), all_ops(), memory.arena());
    REQUIRE_MESSAGE(static_cast<bool>(file), text_of(file.error()));
    return AlignedBytes(*file);
  }

  HostArena memory;
  Outcome<ImportedModel> outcome;
};

// Imports, writes, opens and runs on one input.
template <typename Out, typename In>
std::vector<Out> run_import(Import& import, const std::vector<In>& input) {
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
  REQUIRE(model.session().input().as<In>().size == input.size());
  return model.run<Out>(input);
}

// The same of a file's bytes, which must import.
template <typename Out, typename In>
std::vector<Out> run_file(const std::string& bytes, const std::vector<In>& input) {
  Import import(bytes);
  REQUIRE_MESSAGE(import.good(), import.message());
  return run_import<Out>(import, input);
}
inline std::vector<float> run_file(const std::string& bytes, const std::vector<float>& input) {
  return run_file<float, float>(bytes, input);
}

// Bits of a foreign file changed at random, up to `most_flips` a round: refused with a message, or a model that
// opens.
inline void check_random_damage(const std::string& bytes, uint32_t seed, int rounds, int32_t most_flips,
                                const ImportOptions& options = {}) {
  Random random(seed);
  int imported = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string damaged = bytes;
    for (int32_t flips = random.between(1, most_flips); flips > 0; --flips) {
      char& at = damaged[random.bits() % damaged.size()];
      at = static_cast<char>(at ^ 1 << random.between(0, 7));
    }
    Import import(damaged, options);
    if (!import.good()) {
      CHECK(!import.message().empty());
      continue;
    }
    ++imported;
    if (round % 8 == 0) {
      const AlignedBytes file = import.write();
      CHECK(static_cast<bool>(Model::open(file.view())));
    }
  }
  CHECK(imported > 0);
}

// The folder of real models; empty, with a line printed, where it is absent.
inline std::string shared_folder() {
  const char* const given = std::getenv("INTAGLIO_SHARED");
  const std::string folder = given != nullptr ? given : "";
  if (!folder.empty() && file_size(folder + "/models/resnet8_fp32.tflite")) return folder;
  MESSAGE("skipped: no real models in '" << folder << "' (set INTAGLIO_SHARED)");
  return "";
}

// Imports a real model and compares each sample of its golden input; gives the largest difference. With
// `nchw` the golden input stands as the ONNX file takes it.
template <typename T>
double golden_difference(const std::string& folder, const std::string& model, const std::string& golden,
                         bool nchw = false) {
  auto file = read_file(folder + "/models/" + model, kMaxModelBytes);
  REQUIRE_MESSAGE(file, file.message());
  Import import(file->span(), ImportOptions(), model);
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.count(Op::kTranspose) == 0);
  RunningModel running(import.write());
  REQUIRE_MESSAGE(running.error().ok(), text_of(running.error(), &running.model()));
  const auto input = read_npy(folder + "/golden/" + golden + "/input.npy");
  const auto output = read_npy(folder + "/golden/" + golden + "/output.npy");
  REQUIRE_MESSAGE(input, input.message());
  REQUIRE_MESSAGE(output, output.message());
  const Span<T> to = running.session().input().as<T>();
  const size_t results = running.session().output().as<T>().size;
  const size_t samples = input->as<T>().size / to.size;
  REQUIRE(samples * to.size == input->as<T>().size);
  REQUIRE(samples * results == output->as<T>().size);
  const size_t pixels = nchw ? to.size / 3 : 0;
  double worst = 0;
  for (size_t s = 0; s < samples; ++s) {
    const T* const from = input->as<T>().data + s * to.size;
    for (size_t i = 0; i < to.size; ++i) to[i] = nchw ? from[i % 3 * pixels + i / 3] : from[i];
    running.session().run();
    const Span<T> got = running.session().output().as<T>();
    for (size_t i = 0; i < results; ++i)
      worst = std::max(worst, std::fabs(static_cast<double>(got[i]) -
                                        static_cast<double>(output->as<T>()[s * results + i])));
  }
  return worst;
}

}  // namespace intaglio::test
