#include "c_api/c_handles.h"
#include "intaglio/calibrator.h"
#include "intaglio/step_model.h"

using namespace intaglio;

static_assert(ITG_RECOVER_DEFAULT == recovery::kDefault &&
              ITG_RECOVER_ADAPTIVE_ROUNDING == recovery::kAdaptiveRounding &&
              ITG_RECOVER_EQUALIZATION == recovery::kEqualization &&
              ITG_RECOVER_DEPTHWISE_SCALES == recovery::kDepthwiseScales &&
              ITG_RECOVER_RANGE_METHOD == recovery::kRangeMethod &&
              ITG_RECOVER_BIAS_ABSORPTION == recovery::kBiasAbsorption &&
              ITG_RECOVERY_NO_SOURCE == static_cast<int>(RecoveryVerdict::kNoSource) &&
              ITG_RECOVERY_UNJUDGED == static_cast<int>(RecoveryVerdict::kUnjudged));
#define ITG_RANGE_METHOD(id, c_name, ...) \
  static_assert(ITG_RANGE_##c_name == static_cast<int>(RangeMethod::id));
#include "calibrator/ranges/range_methods.inc"
#undef ITG_RANGE_METHOD
static_assert(ITG_COMPAT_PPQ == static_cast<int>(Compat::kPpq) &&
              ITG_SLOT_OUTPUT == static_cast<int>(SlotRole::kOutput));
static_assert(ITG_ROUNDING_UP == static_cast<int>(Rounding::kUp) &&
              ITG_ROUNDING_DOWN == static_cast<int>(Rounding::kDown) &&
              ITG_ROUNDING_HALF_EVEN == static_cast<int>(Rounding::kHalfEven) &&
              ITG_ROUNDING_HALF_UP == static_cast<int>(Rounding::kHalfUp) &&
              ITG_ROUNDING_HALF_DOWN == static_cast<int>(Rounding::kHalfDown) &&
              ITG_ROUNDING_HALF_TOWARDS_ZERO == static_cast<int>(Rounding::kHalfTowardsZero) &&
              ITG_ROUNDING_HALF_FAR_FROM_ZERO == static_cast<int>(Rounding::kHalfFarFromZero) &&
              ITG_ROUNDING_TO_NEAR_INT == static_cast<int>(Rounding::kToNearInt));
static_assert(ITG_POLICY_PER_TENSOR == policy::kPerTensor && ITG_POLICY_PER_CHANNEL == policy::kPerChannel &&
              ITG_POLICY_LINEAR == policy::kLinear && ITG_POLICY_EXPONENTIAL == policy::kExponential &&
              ITG_POLICY_SYMMETRIC == policy::kSymmetric && ITG_POLICY_ASYMMETRIC == policy::kAsymmetric &&
              ITG_POLICY_POWER_OF_TWO == policy::kPowerOfTwo);
// Settings are handed through as they are.
static_assert(sizeof(itg_slot_setting) == sizeof(SlotSetting) &&
              offsetof(itg_slot_setting, role) == offsetof(SlotSetting, role) &&
              offsetof(itg_slot_setting, rounding) == offsetof(SlotSetting, rounding) &&
              offsetof(itg_slot_setting, policy) == offsetof(SlotSetting, policy));
// Lists of spans are handed through as they are.
static_assert(sizeof(itg_bytes) == sizeof(Span<const uint8_t>) && sizeof(itg_span) == sizeof(Span<uint8_t>) &&
              offsetof(itg_bytes, size) == offsetof(Span<const uint8_t>, size) &&
              offsetof(itg_span, size) == offsetof(Span<uint8_t>, size));

namespace {

CalibratorOptions from_c(const itg_calibrator_options& options) {
  CalibratorOptions result;
  // A number of no method becomes one that is refused with it.
  result.method =
      static_cast<RangeMethod>(options.method < 0 || options.method > 0xff ? 0xff : options.method);
  result.percentile = options.percentile;
  result.symmetric = options.symmetric;
  result.weight_bits = options.weight_bits;
  result.power_of_two = options.power_of_two;
  result.safe_pairs = options.safe_pairs;
  result.int8_answers = options.int8_answers;
  result.compat = static_cast<Compat>(options.compat < 0 || options.compat > 0xff ? 0xff : options.compat);
  result.slots = {reinterpret_cast<const SlotSetting*>(options.slots), options.slot_count};
  result.recover = options.recover;
  result.layer_report = options.layer_report;
  result.float_nodes = {options.float_nodes, options.float_node_count};
  result.replay_bytes = options.replay_bytes;
  result.one_pass = options.one_pass;
  result.memory_ceiling = options.memory_ceiling;
  result.without_halves = options.without_halves;
  if (options.states_of != nullptr) result.states_of = &model_in(options.states_of);
  result.isa = options.isa;
  result.executor = intaglio::from_c(options.executor);
  if (options.progress != nullptr) result.progress = {options.progress->step, options.progress->context};
  return result;
}

const Calibrator& in(const itg_calibrator* handle) { return object_in<Calibrator>(handle); }
Calibrator& in(itg_calibrator* handle) { return object_in<Calibrator>(handle); }

bool write_to_sink(void* context, Span<const uint8_t> bytes) {
  const auto& sink = *static_cast<const itg_model_sink*>(context);
  return sink.write(sink.context, bytes.data, bytes.size);
}

bool load_from_source(void* context, int32_t i, Span<const Span<uint8_t>> inputs) {
  const auto& source = *static_cast<const itg_sample_source*>(context);
  return source.load(source.context, i, reinterpret_cast<const itg_span*>(inputs.data), inputs.size);
}

void tell_source(void* context, int32_t i, const Session& session) {
  const auto& source = *static_cast<const itg_sample_source*>(context);
  itg_session handle;
  put_object(&handle, CSession{session, nullptr});
  source.ran(source.context, i, &handle);
}

SampleSource from_c(const itg_sample_source* source) {
  SampleSource result;
  result.load = load_from_source;
  result.context = const_cast<itg_sample_source*>(source);
  result.count = source->count;
  if (knows(source, &itg_sample_source::ran) && source->ran != nullptr) result.ran = tell_source;
  return result;
}

}  // namespace

size_t itg_step_model_bytes(const itg_model* model) { return step_model_bytes(model_in(model)); }
itg_error itg_make_step_model(const itg_model* model, itg_span memory, itg_bytes* made) {
  const auto bytes = make_step_model(model_in(model), intaglio::from_c(memory));
  *made = to_c(*bytes);
  return to_c(bytes.error());
}
size_t itg_find_state_nodes(const itg_model* model, int32_t* nodes) {
  const Model& of = model_in(model);
  return find_state_nodes(of, {nodes, static_cast<size_t>(of.node_count())}).size;
}

namespace {

void put_options(const CalibratorOptions& original, itg_calibrator_options* options, size_t struct_size) {
  itg_calibrator_options defaults{};
  defaults.method = static_cast<int32_t>(original.method);
  defaults.percentile = original.percentile;
  defaults.symmetric = original.symmetric;
  defaults.weight_bits = original.weight_bits;
  defaults.power_of_two = original.power_of_two;
  defaults.safe_pairs = original.safe_pairs;
  defaults.int8_answers = original.int8_answers;
  defaults.compat = static_cast<int32_t>(original.compat);
  defaults.recover = original.recover;
  defaults.layer_report = original.layer_report;
  defaults.one_pass = original.one_pass;
  defaults.without_halves = original.without_halves;
  defaults.isa = original.isa;
  options->struct_size = struct_size;
  give(options, defaults);
}

}  // namespace

void itg_calibrator_options_init(itg_calibrator_options* options, size_t struct_size) {
  put_options({}, options, struct_size);
}
void itg_calibrator_options_init_device(itg_calibrator_options* options, size_t struct_size) {
  put_options(CalibratorOptions::device(), options, struct_size);
}

itg_error itg_calibrator_measure(const itg_model* model, const itg_calibrator_options* options,
                                 itg_calibrator_needs* needs) {
  const Result<CalibratorNeeds> found =
      Calibrator::measure(model_in(model), from_c(take(options, itg_calibrator_options_init)));
  itg_calibrator_needs result{};
  result.session_bytes = found->session_bytes;
  result.observer_bytes = found->observer_bytes;
  result.replay_bytes = found->replay_bytes;
  result.output_bytes = found->output_bytes;
  result.total_bytes = found->total();
  give(needs, result);
  return to_c(found.error());
}

itg_error itg_calibrator_replay_bytes(const itg_model* model, int32_t samples,
                                      const itg_calibrator_options* options, size_t* replay_bytes) {
  const Result<size_t> bytes =
      Calibrator::replay_bytes(model_in(model), samples, from_c(take(options, itg_calibrator_options_init)));
  *replay_bytes = *bytes;
  return to_c(bytes.error());
}

itg_error itg_calibrator_create(itg_calibrator* calibrator, const itg_model* model, itg_span memory,
                                const itg_calibrator_options* options) {
  const Result<Calibrator> created = Calibrator::create(model_in(model), intaglio::from_c(memory),
                                                        from_c(take(options, itg_calibrator_options_init)));
  put_object(calibrator, *created);
  return to_c(created.error());
}

itg_error itg_calibrator_add(itg_calibrator* calibrator, const itg_bytes* inputs, size_t input_count) {
  return to_c(in(calibrator).add({reinterpret_cast<const Span<const uint8_t>*>(inputs), input_count}));
}

itg_error itg_calibrator_add_frame(itg_calibrator* calibrator, const itg_frame* frame, itg_span scratch) {
  return to_c(in(calibrator).add_frame(intaglio::from_c(*frame), intaglio::from_c(scratch)));
}

itg_error itg_calibrator_add_all(itg_calibrator* calibrator, const itg_sample_source* source, int32_t* bad) {
  return to_c(in(calibrator).add_all(from_c(source), bad));
}

size_t itg_calibrator_state_bytes(const itg_calibrator* calibrator) { return in(calibrator).state_bytes(); }
itg_error itg_calibrator_save(const itg_calibrator* calibrator, itg_span state) {
  return to_c(in(calibrator).save(intaglio::from_c(state)));
}
itg_error itg_calibrator_load(itg_calibrator* calibrator, itg_bytes state) {
  return to_c(in(calibrator).load(intaglio::from_c(state)));
}
itg_error itg_calibrator_merge(itg_calibrator* calibrator, itg_bytes state) {
  return to_c(in(calibrator).merge(intaglio::from_c(state)));
}

void itg_calibrator_statistics(const itg_calibrator* calibrator, int32_t tensor,
                               itg_tensor_statistics* statistics) {
  const TensorStatistics seen = in(calibrator).statistics(tensor);
  itg_tensor_statistics result{};
  result.min = seen.min;
  result.max = seen.max;
  result.start = seen.start;
  result.width = seen.width;
  for (size_t i = 0; i < 2; ++i) result.counts[i] = seen.counts[i].data;
  result.bins = seen.counts[0].size;
  give(statistics, result);
}

itg_error itg_calibrator_finish(itg_calibrator* calibrator, const itg_model_sink* sink,
                                const itg_sample_source* source) {
  const ModelSink to = {write_to_sink, const_cast<itg_model_sink*>(sink)};
  if (source == nullptr) return to_c(in(calibrator).finish(to));
  const SampleSource from = from_c(source);
  return to_c(in(calibrator).finish(to, &from));
}

void itg_calibrator_report(const itg_calibrator* calibrator, itg_calibration_report* report) {
  const CalibrationReport& made = in(calibrator).report();
  itg_calibration_report result{};
  result.layer_count = static_cast<int32_t>(made.layers.size);
  result.samples = made.samples;
  result.recovery_count = static_cast<int32_t>(made.recoveries.size);
  result.signal = made.signal;
  result.noise = made.noise;
  result.noise_without_recovery = made.noise_without_recovery;
  result.bytes = to_c(made.bytes);
  give(report, result);
}

void itg_calibrator_recovery(const itg_calibrator* calibrator, int32_t i, itg_recovery_record* record) {
  const RecoveryRecord& made = in(calibrator).report().recoveries[static_cast<size_t>(i)];
  itg_recovery_record result{};
  result.recovery = made.recovery;
  result.first_node = made.first_node;
  result.last_node = made.last_node;
  result.before = made.before;
  result.after = made.after;
  result.verdict = static_cast<int32_t>(made.verdict);
  give(record, result);
}

void itg_calibrator_layer(const itg_calibrator* calibrator, int32_t i, itg_layer_report* report) {
  const LayerReport& layer = in(calibrator).report().layers[static_cast<size_t>(i)];
  itg_layer_report result{};
  result.node = layer.node;
  result.tensor = layer.tensor;
  result.signal = layer.signal;
  result.noise = layer.noise;
  result.dot = layer.dot;
  result.norm = layer.norm;
  result.noise_alone = layer.noise_alone;
  result.clipped = layer.clipped;
  give(report, result);
}
