#include "calibrator/recover/equalization.h"

#include "calibrator/recover/range_method.h"
#include "runtime/op_search.h"
#include "runtime/real_functions.h"

namespace intaglio {
namespace {

constexpr double kMostExponent = 16.0;
// Of the error before. The samples that judge are among those that the scales were made from, so a small gain
// is none.
constexpr double kWorthwhile = 0.8;

float magnitude(float x) { return x < 0.0f ? -x : x; }

float power_of_two(int32_t exponent) {
  const uint32_t bits = static_cast<uint32_t>(exponent + 127) << 23;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

int32_t exponent_of(double log) {
  const double limit = kMostExponent;
  return static_cast<int32_t>(round_even(log > limit ? limit : (log < -limit ? -limit : log)));
}

}  // namespace

Equalizer::Equalizer(const Model& fp32, const CalibrationState& seen, const CalibratorOptions& options,
                     Arena& arena) {
  if ((options.recover & recovery::kEqualization) == 0) return;
  rewrite_ = ModelRewrite(fp32, seen, 0, arena);
  groups_ = group_channels(fp32, arena);
  peaks_ = arena.make<float>(groups_.channels);
  readers_ = arena.make<double>(groups_.channels);
  exponents_ = arena.make<int32_t>(groups_.channels);
}

uint64_t Equalizer::bytes(const Model& fp32, const CalibratorOptions& options) {
  if ((options.recover & recovery::kEqualization) == 0) return 0;
  uint64_t channels = 0;
  for (int32_t t = 0; t < fp32.tensor_count(); ++t) {
    const TensorInfo info = fp32.tensor(t);
    if (!info.is_constant()) channels += info.shape.rank == 0 ? 1 : static_cast<uint64_t>(info.shape.back(0));
  }
  return ModelRewrite::bytes(fp32, 0, options) + channel_group_bytes(fp32) +
         channels * (sizeof(float) + sizeof(double) + sizeof(int32_t));
}

Error Equalizer::find_peaks(RecoveryContext& context) {
  for (float& peak : peaks_) peak = 0.0f;
  Session& session = context.fp32.session;
  const Model& model = context.fp32.model;
  for (int32_t i = 0; i < context.samples.count(); ++i) {
    ITG_TRY(context.step("channel ranges", i, context.samples.count()));
    ITG_TRY(context.samples.load(i));
    for (int32_t n = 0; n < model.node_count(); ++n) {
      session.run_nodes(n, n + 1);
      const int32_t tensor = model.node_outputs(n)[0];
      if (!groups_.is_free(tensor)) continue;
      const Span<const float> values = session.tensor(tensor).as<float>();
      const auto channels = static_cast<size_t>(model.tensor(tensor).shape.back(0));
      float* const peaks = peaks_.data + groups_.first_of(tensor);
      for (size_t at = 0; at < values.size; at += channels)
        for (size_t c = 0; c < channels; ++c) {
          const float m = magnitude(values[at + c]);
          peaks[c] = m > peaks[c] ? m : peaks[c];
        }
    }
  }
  return kNoError;
}

void Equalizer::find_readers(const Model& model) {
  for (double& reader : readers_) reader = 0.0;
  for_each_layer(model, [&](const NodeInfo& node, const QuantRule& rule) {
    const int32_t input = node.inputs[0];
    if (!groups_.is_free(input) || is_depthwise(model, node, rule)) return;
    const TensorInfo info = model.tensor(node.inputs[static_cast<size_t>(rule.weight_input)]);
    const Span<const float> weights = writable_floats(info);
    const auto outputs = static_cast<size_t>(info.shape[0]),
               channels = static_cast<size_t>(info.shape.back(0));
    double* const readers = readers_.data + groups_.first_of(input);
    const size_t row = weights.size / outputs;
    for (size_t o = 0; o < outputs; ++o) {
      float peak = 0.0f;
      for (size_t i = 0; i < row; ++i)
        peak = magnitude(weights[o * row + i]) > peak ? magnitude(weights[o * row + i]) : peak;
      if (!(peak > 0.0f)) continue;
      for (size_t i = 0; i < row; ++i) {
        const double share = static_cast<double>(magnitude(weights[o * row + i])) / static_cast<double>(peak);
        double& reader = readers[i % channels];
        reader = share > reader ? share : reader;
      }
    }
  });
}

void Equalizer::choose_exponents(const Model& model, bool with_room) {
  for (int32_t& exponent : exponents_) exponent = 0;
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    if (groups_.root[static_cast<size_t>(t)] != t) continue;
    const size_t first = groups_.first_of(t),
                 end = first + static_cast<size_t>(model.tensor(t).shape.back(0));
    float largest = 0.0f;
    for (size_t c = first; c < end; ++c) largest = peaks_[c] > largest ? peaks_[c] : largest;
    if (!(largest > 0.0f)) continue;
    for (size_t c = first; c < end; ++c) {
      const double share = static_cast<double>(peaks_[c]) / static_cast<double>(largest);
      if (!(share > 0.0)) continue;
      const double log = log2_real(share);
      const double exponent = readers_[c] > 0.0 ? (log - log2_real(readers_[c])) * 0.5 : log;
      // What few samples show of a channel is not all that it can be: half of the range stays free for the
      // rest, except for channels that are the range.
      exponents_[c] = exponent_of(with_room ? (exponent + 1.0 < 0.0 ? exponent + 1.0 : 0.0) : exponent);
    }
  }
}

void Equalizer::scale_weights(const Network& from) {
  const Model model = rewrite_.copy(from);
  scale_factors(model);
  for_each_layer(model, [&](const NodeInfo& node, const QuantRule& rule) {
    const TensorInfo info = model.tensor(node.inputs[static_cast<size_t>(rule.weight_input)]);
    const Span<float> weights = writable_floats(info);
    const int32_t input = node.inputs[0], output = node.outputs[0];
    const auto inner = static_cast<size_t>(info.shape.elements(rule.weight_axis + 1, info.shape.rank));
    const auto outputs = static_cast<size_t>(info.shape[rule.weight_axis]);
    const auto channels = static_cast<size_t>(model.tensor(input).shape.back(0));
    const int32_t* const in = groups_.is_free(input) ? exponents_.data + groups_.first_of(input) : nullptr;
    const int32_t* const out = groups_.is_free(output) ? exponents_.data + groups_.first_of(output) : nullptr;
    for (size_t i = 0; i < weights.size; ++i) {
      if (in != nullptr) weights[i] *= power_of_two(in[i % channels]);
      if (out != nullptr) weights[i] *= power_of_two(-out[i / inner % outputs]);
    }
    const auto bias = static_cast<size_t>(rule.bias_input);
    if (out == nullptr || bias >= node.inputs.size || node.inputs[bias] < 0) return;
    const Span<float> biases = writable_floats(model.tensor(node.inputs[bias]));
    for (size_t c = 0; c < biases.size; ++c) biases[c] *= power_of_two(-out[c]);
  });
}

// Of operators that end with a factor and a summand a channel.
void Equalizer::scale_factors(const Model& model) const {
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    const OpDef* const def = find_op(float_ops(), model, node);
    if (def == nullptr || def->quant.real_inputs < 0 || !groups_.is_free(node.outputs[0])) continue;
    const int32_t* const out = exponents_.data + groups_.first_of(node.outputs[0]);
    for (auto i = static_cast<size_t>(def->quant.real_inputs); i < node.inputs.size; ++i) {
      const Span<float> values = writable_floats(model.tensor(node.inputs[i]));
      for (size_t c = 0; c < values.size; ++c) values[c] *= power_of_two(-out[c]);
    }
  }
}

Result<Candidate> Equalizer::run(RecoveryContext& context, const Candidate& now) {
  if (groups_.channels == 0) return now;
  ITG_TRY(find_peaks(context));
  find_readers(now.network->model);
  const bool finds_method = context.options.method == RangeMethod::kAuto && can_judge(now.network->seen);
  NetworkError before;  // biases corrected in the way that is found for the scaled model, too
  ITG_TRY(judge(context, now, finds_method && now.by_samples, before));
  for (const bool with_room : {true, false}) {
    choose_exponents(now.network->model, with_room);
    scale_weights(*now.network);
    rewrite_.network().channels_scaled = true;
    ITG_TRY(rewrite_.observe(context));
    Candidate tried = now;
    tried.network = &rewrite_.network();
    if (finds_method) {
      FoundMethod found;
      ITG_TRY(find_method(context, *tried.network, found));
      tried = found.best;
    } else {
      ITG_TRY(judge(context, tried, false, tried.error));
    }
    if (!context.guard.keeps(recovery::kEqualization, before, tried.error, kWorthwhile)) continue;
    ITG_TRY(context.build(tried));
    return context.judged("after equalization", tried);
  }
  ITG_TRY(context.build(now));
  return now;
}

// By samples that the ranges do not come from, if there are any.
Error Equalizer::judge(RecoveryContext& context, const Candidate& candidate, bool by_samples,
                       NetworkError& error) {
  if (can_judge(candidate.network->seen)) return judge_ranges(context, candidate, by_samples, error);
  ITG_TRY(context.build(candidate));
  return context.judge.ask({"equalization"}, error);
}

bool has_factors(const Model& fp32) {
  for (int32_t n = 0; n < fp32.node_count(); ++n) {
    const OpDef* const def = find_op(float_ops(), fp32, fp32.node(n));
    if (def != nullptr && def->quant.real_inputs >= 0) return true;
  }
  return false;
}

}  // namespace intaglio
