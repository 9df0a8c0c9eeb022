// Calibrator::finish, top to bottom: parameters, bake, bias correction under guard, replay, hand over.
#include "calibrator/bias_correction.h"
#include "calibrator/calibrator_memory.h"
#include "calibrator/evaluate.h"
#include "calibrator/model_writer.h"
#include "calibrator/order_free_sum.h"
#include "calibrator/passes/fuse_residual.h"
#include "calibrator/patch_means.h"
#include "calibrator/replay.h"
#include "calibrator/slot_params.h"
#include "runtime/crc32.h"
#include "runtime/op_search.h"

namespace intaglio {
namespace {

constexpr const char* kLibraryVersion = "0.1.0";
constexpr const char* kMethodNames[kRangeMethodCount] = {"auto", "minmax", "percentile", "mse"};

// Sums over samples of the output layer's squares and squared errors; the order of the samples does not
// matter.
struct OutputError {
  OrderFreeSum signal, noise;
};

class Finish {
 public:
  Finish(CalibratorMemory& memory, const SampleSource* source)
      : memory_(memory),
        arena_(memory.output),
        replay_(memory.session, source, memory.seen.golden_sample),
        has_source_(source != nullptr) {}

  Error run(const ModelSink& sink) {
    memory_.report = CalibrationReport();
    if (memory_.seen.sample_count == 0) return {Status::kNoSamples};
    ITG_TRY(replay_.check(memory_.seen.samples));
    choose_params(memory_);
    ITG_TRY(bake_model());
    ITG_TRY(open_session());
    if (memory_.options.bias_correction) ITG_TRY(correct_biases());
    ITG_TRY(rewrite());
    ITG_TRY(open_session());
    ITG_TRY(check_replay());
    if (memory_.options.layer_report) ITG_TRY(report_layers());
    memory_.report.samples = static_cast<int32_t>(memory_.seen.sample_count);
    memory_.report.bytes = bytes_;
    ITG_TRY(step("store", 0, 1));
    if (sink.write != nullptr && !sink.write(sink.context, bytes_)) return {Status::kSinkFailed};
    return kNoError;
  }

 private:
  Error step(const char* stage, int32_t done, int32_t total) const {
    const Progress& progress = memory_.options.progress;
    const bool go_on = progress.step == nullptr || progress.step(progress.context, stage, done, total);
    return go_on ? kNoError : Error{Status::kCancelled};
  }

  // ---- bake

  Error bake_model() {
    ITG_TRY(step("bake", 0, 1));
    Result<Graph> graph = bake({&memory_.model, &memory_.slots, &memory_.options}, arena_);
    if (!graph) return graph.error();
    graph_ = *graph;
    fuse_residual(graph_, arena_);
    set_provenance();
    return write();
  }

  void set_provenance() {
    const CalibratorOptions& options = memory_.options;
    const char* const words[] = {options.symmetric ? "symmetric" : "asymmetric",
                                 options.weight_bits == 7 ? ", 7-bit weights" : ", 8-bit weights",
                                 options.bias_correction ? ", bias correction" : ", no recovery",
                                 options.float_nodes.empty() ? "" : ", some nodes in float"};
    char text[96];
    size_t length = 0;
    for (const char* part : words)
      while (*part != '\0') text[length++] = *part++;
    graph_.calibration.library_version = kLibraryVersion;
    graph_.calibration.method = kMethodNames[static_cast<size_t>(options.method)];
    graph_.calibration.options = arena_.copy_name(text, length);
    graph_.calibration.samples = memory_.seen.sample_count;
    graph_.calibration.samples_digest = {memory_.seen.samples.bytes, sizeof memory_.seen.samples.bytes};
  }

  Error write() {
    const Result<Span<const uint8_t>> bytes = finish_model(graph_, all_ops(), arena_);
    if (arena_.exhausted())
      return {Status::kOutOfMemory, -1, -1, static_cast<int64_t>(memory_.output.size),
              static_cast<int64_t>(memory_.output.size) + 1};
    if (!bytes) return bytes.error();
    bytes_ = *bytes;
    return kNoError;
  }

  // The graph as it is now, in a file of its own.
  Error rewrite() {
    for (GraphNode& node : graph_.nodes) {
      node.options.multiplier = {};
      node.options.folded_bias = {};
    }
    return write();
  }

  // Opens what was written as a stranger would; a file whose biases were changed in place has another
  // checksum than it says. The first call makes the memory, later ones use it again.
  Error open_session(bool patched = false) {
    OpenOptions open;
    open.skip_checksum = patched;
    const Result<Model> model = Model::open(bytes_, open);
    if (!model) return model.error();
    SessionOptions options;
    options.isa = memory_.options.isa;
    options.executor = memory_.options.executor;
    const Result<SessionNeeds> needs = Session::measure(*model, all_ops(), options);
    if (!needs) return needs.error();
    if (session_memory_.size < needs->total()) {
      session_memory_ = {static_cast<uint8_t*>(arena_.allocate(needs->total(), kMemoryAlignment)),
                         needs->total()};
      if (session_memory_.data == nullptr)
        return {Status::kOutOfMemory, -1, -1, static_cast<int64_t>(arena_.left()),
                static_cast<int64_t>(needs->total())};
    }
    const Result<Session> session =
        Session::create(*model, all_ops(), Session::split(session_memory_, *needs), options);
    if (!session) return session.error();
    int8_ = *session;
    if (pairs_.empty()) pairs_ = pair_layers(memory_.model, *model, arena_);
    return kNoError;
  }

  // ---- bias correction

  Error correct_biases() {
    const Span<int32_t> biases = arena_.make<int32_t>(bias_count(graph_));
    keep_biases(graph_, biases);
    OutputError before, after;
    ITG_TRY(measure_output("before bias correction", before));
    for (int32_t n = 0; n < static_cast<int32_t>(graph_.nodes.size()); ++n)
      if (has_weights(graph_, static_cast<size_t>(n))) ITG_TRY(correct_layer(n));
    ITG_TRY(measure_output("after bias correction", after));
    const bool keep = !(before.noise < after.noise);
    if (!keep) restore_biases({int8_.model(), &graph_}, biases);
    memory_.report.bias_corrected = keep;
    memory_.report.signal = after.signal.value();
    memory_.report.noise = keep ? after.noise.value() : before.noise.value();
    memory_.report.noise_without_correction = before.noise.value();
    return kNoError;
  }

  // With quantized predecessors, already corrected, where the samples can be had again; from the FP32 means
  // alone where they cannot.
  Error correct_layer(int32_t n) {
    const Correctable model{int8_.model(), &graph_};
    const int32_t source = graph_.nodes[static_cast<size_t>(n)].source;
    const size_t count = memory_.means_of(source).size;
    Arena spare = arena_;  // given back when the layer is done
    const Span<double> exact = spare.make<double>(count), means = spare.make<double>(count);
    const Span<int64_t> sums = spare.make<int64_t>(count);
    if (spare.exhausted()) return {Status::kOutOfMemory, n};
    for (size_t i = 0; i < count; ++i)
      exact[i] = mean_of(memory_.seen.mean_sums[memory_.first_mean[static_cast<size_t>(source)] + i],
                         memory_.seen.sample_count);
    if (!has_source_) {
      correct_bias(model, n, memory_.model, exact, exact);
      return kNoError;
    }
    for (int32_t i = 0; i < replay_.count(); ++i) {
      ITG_TRY(step("bias correction", n, static_cast<int32_t>(graph_.nodes.size())));
      ITG_TRY(replay_.load(i));
      copy_inputs(memory_.session, int8_);
      int8_.run_nodes(0, n);
      patch_means(int8_, n, means);
      for (size_t c = 0; c < count; ++c) add_mean(sums[c], means[c]);
    }
    for (size_t i = 0; i < count; ++i) means[i] = mean_of(sums[i], static_cast<uint32_t>(replay_.count()));
    correct_bias(model, n, memory_.model, exact, means);
    // Kernels may have taken the bias in: prepare them anew.
    return open_session(true);
  }

  // ---- replay

  Error measure_output(const char* stage, OutputError& error) {
    const int32_t layer = output_layer(int8_.model(), pairs_, all_ops());
    if (layer < 0) return kNoError;
    const Span<const LayerPair> pair{pairs_.data + layer, 1};
    for (int32_t i = 0; i < replay_.count(); ++i) {
      ITG_TRY(step(stage, i, replay_.count()));
      LayerReport report;
      ITG_TRY(replay_.load(i));
      copy_inputs(memory_.session, int8_);
      compare_layers(memory_.session, int8_, pair, {&report, 1}, false);
      error.signal.add(report.signal);
      error.noise.add(report.noise);
    }
    return kNoError;
  }

  // What is handed over gives the same bytes twice, from the file as it was written.
  Error check_replay() {
    uint32_t first = 0;
    for (int32_t run = 0; run < 2; ++run) {
      ITG_TRY(replay_.load(0));
      copy_inputs(memory_.session, int8_);
      int8_.run();
      uint32_t crc = 0;
      for (size_t i = 0; i < int8_.model().outputs().size; ++i) {
        const TensorView output = int8_.output(static_cast<int32_t>(i));
        crc = crc32(crc, static_cast<const uint8_t*>(output.data), output.info.bytes());
      }
      if (run == 1 && crc != first) return {Status::kReplayDiffers};
      first = crc;
    }
    if (memory_.options.bias_correction) return kNoError;
    OutputError error;
    ITG_TRY(measure_output("replay", error));
    memory_.report.signal = error.signal.value();
    memory_.report.noise = memory_.report.noise_without_correction = error.noise.value();
    return kNoError;
  }

  Error report_layers() {
    const Span<LayerReport> layers = arena_.make<LayerReport>(pairs_.size);
    if (layers.size != pairs_.size) return {Status::kOutOfMemory};
    for (int32_t i = 0; i < replay_.count(); ++i) {
      for (const bool alone : {false, true}) {
        ITG_TRY(step("report", i, replay_.count()));
        ITG_TRY(replay_.load(i));
        copy_inputs(memory_.session, int8_);
        compare_layers(memory_.session, int8_, pairs_, layers, alone);
      }
    }
    for (LayerReport& layer : layers) layer.clipped /= replay_.count();
    memory_.report.layers = layers;
    return kNoError;
  }

  CalibratorMemory& memory_;
  Arena arena_;
  Replay replay_;
  bool has_source_;
  Graph graph_;
  Span<const uint8_t> bytes_;
  Span<uint8_t> session_memory_;
  Session int8_;
  Span<const LayerPair> pairs_;
};

}  // namespace

Error finish_calibration(CalibratorMemory& memory, const ModelSink& sink, const SampleSource* source) {
  return Finish(memory, source).run(sink);
}

}  // namespace intaglio
