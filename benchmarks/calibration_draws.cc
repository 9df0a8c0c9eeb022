// calibration_draws NET.itg --images X.npy --judge Y.npy: many calibrations of one network, each from a few of the samples,
// and each judged by samples that calibrate nothing. One JSON object a line: samples, draw, sqnr_db, weakest_db (the worst of
// several outputs), agreement (null: the output is no classes), printed_db (what `calibrate` would print; with --printed),
// method, seconds.
//
// Draw k of n samples takes the items k n to (k + 1) n where there are enough for all draws. Else each draw takes n of a
// shuffled list of its own.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

#include "calibrator/calibration.h"
#include "calibrator/host/accuracy/held_out.h"
#include "calibrator/judge/replay.h"
#include "cli/output.h"
#include "tools/class_scores.h"
#include "tools/samples.h"
#include "tools/slot_choices.h"

using namespace intaglio;
using namespace intaglio::cli;

namespace {

struct Arguments {
  std::string model, images, judge, recover = "default", method = "auto";
  std::vector<int32_t> counts = {1, 4, 8, 16, 32, 64};
  int32_t draws = 5, judges = 100;
  bool printed = false;
};

// Samples as FP32 inputs of a model, all in memory.
class Pool {
 public:
  static Outcome<Pool> read(const std::string& path, const LoadedModel& file, size_t most) {
    SampleChoice choice;
    choice.places = {{path, {}, {}}};
    const auto samples = Samples::open(choice, file, Work());
    if (!samples) return samples.failure();
    Pool pool;
    const size_t count = std::min(most, samples->count());
    for (size_t i = 0; i < count; ++i) {
      FileBytes& memory =
          *pool.memory_.emplace_back(std::make_unique<FileBytes>(SampleBuffer::bytes(file.model())));
      const SampleBuffer buffer(file.model(), memory.data());
      if (auto step = samples->load(i, buffer.views()); !step) return step.failure();
      pool.samples_.push_back(buffer);
    }
    return pool;
  }
  size_t count() const { return samples_.size(); }
  Span<const Span<const uint8_t>> inputs(size_t i) const { return samples_[i].inputs(); }

 private:
  std::vector<std::unique_ptr<FileBytes>> memory_;
  std::vector<SampleBuffer> samples_;
};

// Some samples of a pool.
struct Draw {
  const Pool* pool;
  std::vector<size_t> which;

  SampleSource source() {
    SampleSource source;
    source.load = [](void* context, int32_t i, Span<const Span<uint8_t>> inputs) {
      const Draw& draw = *static_cast<Draw*>(context);
      const auto sample = draw.pool->inputs(draw.which[static_cast<size_t>(i)]);
      for (size_t k = 0; k < inputs.size; ++k) memcpy(inputs[k].data, sample[k].data, inputs[k].size);
      return true;
    };
    source.context = this;
    source.count = static_cast<int32_t>(which.size());
    return source;
  }
  std::vector<Digest> digests() const {
    std::vector<Digest> digests;
    for (const size_t i : which) {
      Sha256 sha;
      for (const Span<const uint8_t> input : pool->inputs(i)) sha.update(input.data, input.size);
      digests.push_back(sha.finish());
    }
    return digests;
  }
};

Draw draw_of(const Pool& pool, size_t count, size_t draw, size_t draws) {
  std::vector<size_t> all(pool.count());
  std::iota(all.begin(), all.end(), 0);
  size_t first = draw * count;
  if (draws * count > all.size()) {
    std::mt19937 random(static_cast<uint32_t>(1000 * count + draw));
    for (size_t i = all.size() - 1; i > 0; --i) std::swap(all[i], all[random() % (i + 1)]);
    first = 0;
  }
  return {&pool,
          {all.begin() + static_cast<ptrdiff_t>(first), all.begin() + static_cast<ptrdiff_t>(first + count)}};
}

// Samples that judge int8 models, with the FP32 model's outputs.
class Judges {
 public:
  struct Verdict {
    double sqnr = 0, weakest = 0, agreement = 0;
  };

  Judges(const Pool& pool, const Model& model, LoadedSession& fp32)
      : pool_(pool), fp32_(*fp32), classes_(class_output(model).has_value()) {
    for (size_t i = 0; i < model.outputs().size; ++i) {
      const OutputTensor output = output_tensor(model, model.outputs()[i]);
      if (output.elements > 0) outputs_.push_back({output, model.tensor(output.tensor).name});
    }
    std::sort(outputs_.begin(), outputs_.end(),
              [](const Output& a, const Output& b) { return a.exact.node < b.exact.node; });
    for (size_t i = 0; i < pool.count(); ++i) {
      fill_inputs(fp32_, pool.inputs(i));
      int32_t done = 0;
      for (Output& output : outputs_) {
        fp32_.run_nodes(done, output.exact.node + 1);
        done = output.exact.node + 1;
        output.values.push_back(real_values(fp32_.tensor(output.exact.tensor)));
      }
    }
  }

  Verdict of(Session& int8) {
    find(int8.model());
    std::vector<NetworkError> errors(outputs_.size());
    double equal = 0;
    for (size_t i = 0; i < pool_.count(); ++i) {
      fill_inputs(fp32_, pool_.inputs(i));
      copy_inputs(fp32_, int8);
      int32_t done = 0;
      for (const auto& [node, o] : order_) {
        const Output& output = outputs_[o];
        int8.run_nodes(done, node + 1);
        done = node + 1;
        const TensorView view = int8.tensor(output.tensor);
        LayerReport sums;
        compare_values(output.values[i].data(), view, sums);
        errors[o].signal += sums.signal;
        errors[o].noise += sums.noise;
        if (classes_) equal += best_class(real_values(view)) == best_class(output.values[i]) ? 1 : 0;
      }
    }
    NetworkError whole;
    double weakest = 0;
    for (const NetworkError& error : errors) {
      whole.add(error, errors.size());
      weakest = std::max(weakest, error.ratio());
    }
    const auto count = static_cast<double>(pool_.count());
    return {decibels(whole.ratio()), decibels(weakest), classes_ ? equal / count : std::nan("")};
  }

  static double decibels(double noise) { return -10 * std::log10(noise); }

 private:
  struct Output {
    OutputTensor exact;
    std::string name;
    std::vector<std::vector<float>> values = {};  // of each sample
    int32_t tensor = -1;                          // of the int8 model
  };

  void find(const Model& int8) {
    order_.clear();
    for (int32_t n = 0; n < int8.node_count(); ++n)
      for (const int32_t tensor : int8.node(n).outputs)
        for (size_t o = 0; o < outputs_.size(); ++o)
          if (outputs_[o].name == int8.tensor(tensor).name) {
            outputs_[o].tensor = tensor;
            order_.emplace_back(n, o);
          }
  }

  const Pool& pool_;
  Session& fp32_;
  bool classes_;
  std::vector<Output> outputs_;
  std::vector<std::pair<int32_t, size_t>> order_;  // node of the int8 model and output, one behind the other
};

Outcome<Json> calibrate(const LoadedModel& file, Draw draw, const CalibratorOptions& wanted, bool printed,
                        Judges& judges) {
  CalibratorOptions options = wanted;
  const auto start = std::chrono::steady_clock::now();
  const auto replay =
      Calibrator::replay_bytes(file.model(), static_cast<int32_t>(draw.which.size()), options);
  if (!replay) return file.failure(replay.error());
  options.replay_bytes = std::min(*replay, size_t{1} << 30);
  const auto needs = Calibrator::measure(file.model(), options);
  if (!needs) return file.failure(needs.error());
  FileBytes memory(needs->total());
  auto calibrator = Calibrator::create(file.model(), {memory.data(), memory.size()}, options);
  if (!calibrator) return file.failure(calibrator.error());
  HeldOut held_out(*calibrator, file.model(), options, printed ? draw.digests() : std::vector<Digest>());
  const SampleSource source = draw.source();
  Json row;
  SampleErrors errors;
  int32_t bad = -1;
  Error error = held_out.add_all(source, &bad);
  if (error.ok()) error = calibrator->finish({}, &source);
  if (!error.ok()) return file.failure(error);
  if (printed) {
    error = held_out.judge(source, true, {}, errors);
    if (!error.ok()) return file.failure(error);
    const NetworkError expected = errors.expected();
    row["printed_db"] = Judges::decibels(expected.ratio());
  }
  row["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto model = Model::open(calibrator->report().bytes, {});
  if (!model) return file.failure(model.error());
  auto int8 = LoadedSession::create(*model, {});
  if (!int8) return file.failure(int8.error());
  const Judges::Verdict verdict = judges.of(**int8);
  row["sqnr_db"] = verdict.sqnr;
  row["weakest_db"] = verdict.weakest;
  row["agreement"] = json_number(verdict.agreement);
  row["method"] = model->calibration().method;
  return row;
}

Outcome<Done> run(const Arguments& arguments) {
  const auto file = LoadedModel::open(arguments.model);
  if (!file) return file.failure();
  const auto pool = Pool::read(arguments.images, *file, SIZE_MAX);
  if (!pool) return pool.failure();
  const auto judging = Pool::read(arguments.judge, *file, static_cast<size_t>(arguments.judges));
  if (!judging) return judging.failure();
  auto fp32 = LoadedSession::create(*file, SessionOptions());
  if (!fp32) return fp32.failure();
  Judges judges(*judging, file->model(), *fp32);
  CalibratorOptions options;
  const auto method = range_method_of(arguments.method);
  if (!method) return method.failure();
  options.method = *method;
  const auto recover = parse_recover(arguments.recover);
  if (!recover) return recover.failure();
  options.recover = recover->value_or(recovery::kDefault);
  for (const int32_t count : arguments.counts)
    for (int32_t draw = 0; draw < arguments.draws; ++draw) {
      if (static_cast<size_t>(count) > pool->count()) break;
      const auto row = calibrate(*file,
                                 draw_of(*pool, static_cast<size_t>(count), static_cast<size_t>(draw),
                                         static_cast<size_t>(arguments.draws)),
                                 options, arguments.printed, judges);
      if (!row) return row.failure();
      Json line{{"samples", count}, {"draw", draw}};
      line.update(*row);
      print("%s\n", line.dump().c_str());
      std::fflush(stdout);
    }
  return Done{};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Calibrations of a network from draws of a few samples, judged by others"};
  Arguments arguments;
  app.add_option("model", arguments.model, "the FP32 model")->required();
  app.add_option("--images", arguments.images, "samples that calibrate: X.npy or a folder")->required();
  app.add_option("--judge", arguments.judge, "samples that judge")->required();
  app.add_option("--judges", arguments.judges, "how many of them, the first");
  app.add_option("--counts", arguments.counts, "samples a draw")->delimiter(',');
  app.add_option("--draws", arguments.draws);
  app.add_option("--recover", arguments.recover);
  app.add_option("--method", arguments.method);
  app.add_flag("--printed", arguments.printed, "also what calibrate prints, from samples that it holds out");
  CLI11_PARSE(app, argc, argv);
  const auto done = run(arguments);
  if (!done) print_error(done.message());
  return done ? 0 : 1;
}
