// A consumer in plain C (c_consumer/, compiled as C99) against the C++ interface.
#include <doctest/doctest.h>

#include "intaglio/c_api.h"
#include "intaglio/calibrator.h"
#include "intaglio/describe.h"
#include "intaglio/version.h"
#include "tests/c_consumer/c_consumer.h"
#include "tests/support/planned_session.h"
#include "tests/support/small_models.h"

namespace intaglio::test::c_api_test {
namespace {

const std::vector<std::vector<float>>& samples() {
  static const std::vector<std::vector<float>> made = small_cnn_samples(8);
  return made;
}

std::vector<float> flat(const std::vector<std::vector<float>>& list) {
  std::vector<float> values;
  for (const auto& sample : list) values.insert(values.end(), sample.begin(), sample.end());
  return values;
}

struct Calibrated {
  std::vector<uint8_t> bytes;
  CalibrationReport report;
  LayerReport first_layer;
};

// One calibrator over all samples, through C++.
Calibrated calibrate() {
  const AlignedBytes file = small_cnn();
  const Model model = *Model::open(file.view());
  CalibratorOptions options;
  options.layer_report = true;
  AlignedBytes memory(Calibrator::measure(model, options)->total());
  Calibrator calibrator = *Calibrator::create(model, memory.span(), options);
  for (const auto& sample : samples()) {
    const Span<const uint8_t> input = {reinterpret_cast<const uint8_t*>(sample.data()),
                                       sample.size() * sizeof(float)};
    REQUIRE(calibrator.add({&input, 1}).ok());
  }
  Calibrated made;
  const ModelSink sink = {[](void* context, Span<const uint8_t> bytes) {
                            static_cast<std::vector<uint8_t>*>(context)->assign(bytes.begin(), bytes.end());
                            return true;
                          },
                          &made.bytes};
  const SampleSource source = {[](void*, int32_t i, Span<const Span<uint8_t>> inputs) {
                                 memcpy(inputs[0].data, samples()[static_cast<size_t>(i)].data(),
                                        inputs[0].size);
                                 return true;
                               },
                               nullptr, static_cast<int32_t>(samples().size())};
  const Error error = calibrator.finish(sink, &source);
  REQUIRE_MESSAGE(error.ok(), text_of(error));
  made.report = calibrator.report();
  made.first_layer = made.report.layers[0];
  return made;
}

// The consumer compiled with each of the headers.
const consumer* const kConsumers[] = {&consumer_of_current, &consumer_of_older, &consumer_of_newer};
bool is_older(const consumer& program) { return &program == &consumer_of_older; }

struct ConsumerResult {
  int32_t status = 0;
  std::vector<uint8_t> bytes;
  consumer_calibration made{};
  consumer_samples given{};
  consumer_trace trace{};
};

ConsumerResult consumer_calibrated(const consumer& program, const consumer_threads* threads,
                                   int32_t cancel_at = 0, size_t room = 1 << 20) {
  const AlignedBytes file = small_cnn();
  const std::vector<float> values = flat(samples());
  ConsumerResult result;
  result.given = {values.data(), static_cast<int32_t>(samples().size()), samples()[0].size(), 0, 0};
  result.trace.cancel_at = cancel_at;
  result.bytes.resize(room);
  result.made.bytes = result.bytes.data();
  result.made.room = room;
  result.status =
      program.calibrate(file.view().data, file.size(), &result.given, threads, &result.trace, &result.made);
  result.bytes.resize(result.made.size);
  return result;
}

// Two halves of the work, the second first.
void backwards(void*, int32_t count, void (*task)(void* argument, int32_t i), void* argument) {
  for (int32_t i = count - 1; i >= 0; --i) task(argument, i);
}

}  // namespace

// Structs in programs' own memory, and those without a size, stay as they were.
static_assert(sizeof(itg_model) == 8 * sizeof(void*) && sizeof(itg_session) == 40 * sizeof(void*) &&
              sizeof(itg_calibrator) == 4 * sizeof(void*) && sizeof(itg_image_writer) == 64 * sizeof(void*));
static_assert(sizeof(itg_error) == 32 && sizeof(itg_bytes) == 2 * sizeof(void*) &&
              sizeof(itg_span) == 2 * sizeof(void*) && sizeof(itg_op_list) == 2 * sizeof(void*) &&
              sizeof(itg_session_memory) == 3 * sizeof(itg_span) && sizeof(itg_slot_setting) == 24);

TEST_CASE("C, with any headers, runs a model to the bytes that C++ gives, on every instruction set") {
  const AlignedBytes file = small_cnn();
  RunningModel running(AlignedBytes(file.view()), all_ops());
  const std::vector<float> expected = running.run<float>(samples()[0]);
  for (const consumer* const program : kConsumers) {
    CAPTURE(program->headers);
    for (int32_t i = 0; i < itg_isa_count(); ++i) {
      std::vector<float> output(expected.size());
      consumer_trace trace{};
      CHECK(program->run(file.view().data, file.size(), itg_isa_bit(i), nullptr, samples()[0].data(),
                         output.data(), &trace) == ITG_kOk);
      CHECK(output == expected);
      int64_t bytes = 0;
      for (int32_t t = 0; t < running.model().tensor_count(); ++t)
        if (!running.model().tensor(t).is_constant())
          bytes += static_cast<int64_t>(running.model().tensor(t).bytes());
      const bool told = !is_older(*program);
      CHECK(trace.inputs == (told ? 1 : 0));
      CHECK(trace.outputs == (told ? running.model().node_count() : 0));
      CHECK(trace.bytes == (told ? bytes : 0));
    }
  }
}

TEST_CASE("C, with any headers, brings its own threads, and older headers none for a whole run") {
  const AlignedBytes file = small_cnn();
  RunningModel running(AlignedBytes(file.view()), all_ops());
  const std::vector<float> expected = running.run<float>(samples()[1]);
  for (const consumer* const program : kConsumers) {
    CAPTURE(program->headers);
    int32_t loops = 0;
    consumer_threads threads = {
        &loops, 2,
        [](void* context, int32_t count, void (*task)(void*, int32_t), void* argument) {
          ++*static_cast<int32_t*>(context);
          backwards(nullptr, count, task, argument);
        },
        0};
    std::vector<float> output(expected.size());
    consumer_trace trace{};
    CHECK(program->run(file.view().data, file.size(), ITG_ISA_ALL, &threads, samples()[1].data(),
                       output.data(), &trace) == ITG_kOk);
    CHECK(output == expected);
    CHECK(loops > 0);
    CHECK(threads.regions == (is_older(*program) ? 0 : 1));
  }
}

TEST_CASE("C starts a planned session, of its own exact memory, and asks for its model") {
  const AlignedBytes file = small_cnn();
  PlannedSession planned(file.view());
  REQUIRE(planned.error().ok());
  RunningModel running(AlignedBytes(file.view()), all_ops());
  const std::vector<float> expected = running.run<float>(samples()[0]);
  const auto* const handle = reinterpret_cast<const itg_planned_model*>(&planned.planned());
  CHECK(itg_planned_model_check(handle).status == ITG_kOk);
  itg_session_needs needs;
  needs.struct_size = sizeof needs;
  itg_planned_model_needs(handle, &needs);
  CHECK(needs.total_bytes == planned.planned().needs.total());
  AlignedBytes block(needs.total_bytes);
  itg_session_memory memory = itg_session_split({block.data(), block.size()}, &needs);
  consumer_trace trace{};
  itg_session_options options;
  itg_session_options_init(&options, sizeof options);
  itg_observer observer{};
  observer.struct_size = sizeof observer;
  observer.context = &trace;
  observer.on_tensor = [](void* context, int32_t, int32_t, const itg_tensor*) {
    ++static_cast<consumer_trace*>(context)->outputs;
  };
  options.observer = &observer;
  itg_session session;
  REQUIRE(itg_session_start(&session, handle, &memory, &options).status == ITG_kOk);
  itg_model model;
  itg_session_model(&session, &model);
  CHECK(itg_model_bytes(&model).data == file.view().data);
  memcpy(itg_session_input_data(&session, 0), samples()[0].data(), samples()[0].size() * sizeof(float));
  itg_session_run(&session);
  CHECK(memcmp(itg_session_output_data(&session, 0), expected.data(), expected.size() * sizeof(float)) == 0);
  CHECK(trace.outputs == 1 + itg_model_node_count(&model));
  --memory.scratch.size;
  CHECK(itg_session_start(&session, handle, &memory, nullptr).status == ITG_kScratchTooSmall);
  planned.planned().crc32 ^= 1;
  CHECK(itg_planned_model_check(handle).status == ITG_kBadChecksum);
}

TEST_CASE("an executor of C holds its threads for a whole run") {
  struct Threads {
    int32_t regions = 0, loops_inside = 0, loops_outside = 0;
    bool inside = false;
  } threads;
  const auto loop = [](void* context, int32_t count, void (*task)(void*, int32_t), void* argument) {
    auto& t = *static_cast<Threads*>(context);
    ++(t.inside ? t.loops_inside : t.loops_outside);
    for (int32_t i = count - 1; i >= 0; --i) task(argument, i);
  };
  const auto region = [](void* context, void (*body)(void*, const itg_executor*), void* argument) {
    auto& t = *static_cast<Threads*>(context);
    ++t.regions;
    t.inside = true;
    const itg_executor ready = {sizeof ready, context, 2,
                                [](void* of, int32_t count, void (*task)(void*, int32_t), void* given) {
                                  ++static_cast<Threads*>(of)->loops_inside;
                                  for (int32_t i = 0; i < count; ++i) task(given, i);
                                },
                                nullptr};
    body(argument, &ready);
    t.inside = false;
  };
  const AlignedBytes file = small_cnn();
  RunningModel running(AlignedBytes(file.view()), all_ops());
  const std::vector<float> expected = running.run<float>(samples()[0]);
  itg_model model;
  REQUIRE(itg_model_open(&model, file.view().data, file.size(), nullptr).status == ITG_kOk);
  itg_session_options options;
  itg_session_options_init(&options, sizeof options);
  const itg_executor executor = {sizeof executor, &threads, 2, loop, region};
  options.executor = &executor;
  itg_session_needs needs;
  needs.struct_size = sizeof needs;
  REQUIRE(itg_session_measure(&model, itg_all_ops(), &options, true, &needs).status == ITG_kOk);
  AlignedBytes block(needs.total_bytes);
  const itg_session_memory memory = itg_session_split({block.data(), block.size()}, &needs);
  itg_session session;
  REQUIRE(itg_session_create(&session, &model, itg_all_ops(), &memory, &options).status == ITG_kOk);
  threads = {};  // what is packed may be packed side by side
  memcpy(itg_session_input_data(&session, 0), samples()[0].data(), samples()[0].size() * sizeof(float));
  itg_session_run(&session);
  CHECK(memcmp(itg_session_output_data(&session, 0), expected.data(), expected.size() * sizeof(float)) == 0);
  CHECK(threads.regions == 1);
  CHECK(threads.loops_inside > 0);
  CHECK(threads.loops_outside == 0);
}

TEST_CASE(
    "results for an older and a newer header: nothing past struct_size is written, the unknown is zero") {
  const AlignedBytes file = small_cnn();
  itg_model model;
  REQUIRE(itg_model_open(&model, file.view().data, file.size(), nullptr).status == ITG_kOk);
  struct Newer {
    itg_tensor tensor;
    int64_t added;
  } newer;
  newer.added = -1;
  newer.tensor.struct_size = sizeof newer;
  itg_model_tensor(&model, 0, &newer.tensor);
  CHECK(newer.added == 0);
  CHECK(newer.tensor.struct_size == sizeof newer);
  itg_tensor older;
  memset(&older, 0x77, sizeof older);
  older.struct_size = offsetof(itg_tensor, dims);
  itg_model_tensor(&model, 0, &older);
  CHECK(older.rank == newer.tensor.rank);
  const void* untouched;
  memset(&untouched, 0x77, sizeof untouched);
  CHECK(static_cast<const void*>(older.dims) == untouched);
  CHECK(older.bytes != newer.tensor.bytes);
}

TEST_CASE(
    "C, with any headers, calibrates in parts, saved, loaded and merged, to the bytes of one C++ calibration") {
  const Calibrated expected = calibrate();
  for (const consumer* const program : kConsumers) {
    CAPTURE(program->headers);
    const ConsumerResult serial = consumer_calibrated(*program, nullptr);
    REQUIRE(serial.status == ITG_kOk);
    CHECK(serial.bytes == expected.bytes);
    CHECK(serial.given.loads > 0);
    const bool told = !is_older(*program);
    CHECK((serial.trace.steps > 0) == told);
    // Figures of the FP32 model for those added together, of an int8 one for all.
    CHECK(serial.given.results >= (told ? serial.given.count / 2 + serial.given.count : 0));
    CHECK((serial.given.results > 0) == told);
    CHECK(serial.made.samples == expected.report.samples);
    CHECK(serial.made.layers == static_cast<int32_t>(expected.report.layers.size));
    CHECK(serial.made.recoveries == static_cast<int32_t>(expected.report.recoveries.size));
    CHECK(serial.made.signal == expected.report.signal);
    CHECK(serial.made.noise == expected.report.noise);
    CHECK(serial.made.noise_without_recovery == expected.report.noise_without_recovery);
    CHECK(serial.made.report_size == expected.bytes.size());
    CHECK(serial.made.node == expected.first_layer.node);
    CHECK(serial.made.tensor == expected.first_layer.tensor);
    CHECK(serial.made.layer_noise == expected.first_layer.noise);
    CHECK(serial.made.dot == expected.first_layer.dot);
    CHECK(serial.made.clipped == expected.first_layer.clipped);
    const consumer_threads threads = {nullptr, 2, backwards, 0};
    CHECK(consumer_calibrated(*program, &threads).bytes == expected.bytes);
  }
}

TEST_CASE("a callback in C cancels, and a sink in C refuses") {
  for (const consumer* const program : kConsumers) {
    if (!is_older(*program)) CHECK(consumer_calibrated(*program, nullptr, 1).status == ITG_kCancelled);
    CHECK(consumer_calibrated(*program, nullptr, 0, 16).status == ITG_kSinkFailed);
  }
}

TEST_CASE("C walks a model as C++ sees it, and writes pictures by rows as whole") {
  const std::vector<uint8_t> bytes = calibrate().bytes;
  const AlignedBytes file(Span<const uint8_t>(bytes.data(), bytes.size()));
  const Model model = *Model::open(file.view());
  uint32_t sum = 0;
  const auto mix = [&](const void* data, size_t size) {
    for (size_t i = 0; i < size; ++i) sum = sum * 31u + static_cast<const uint8_t*>(data)[i];
  };
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    const TensorInfo info = model.tensor(t);
    const uint32_t offset = model.activation_offset(t);
    mix(info.name, strlen(info.name));
    mix(info.shape.dims, static_cast<size_t>(info.shape.rank) * 4);
    mix(info.quantization.scales.data, info.quantization.scales.size * 4);
    mix(info.constant.data, info.constant.size);
    mix(&info.quantization.zero_point, 4);
    mix(&offset, 4);
  }
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    mix(op_name(node.op), strlen(op_name(node.op)));
    mix(node.inputs.data, node.inputs.size * 4);
    mix(node.outputs.data, node.outputs.size * 4);
    const auto window = node.options.value<Window2d>();
    const auto clamp = node.options.value<Clamp>();
    const auto requantization = node.options.value<Requantization>();
    mix(&window.kernel_h, 4);
    mix(&window.pad_bottom, 4);
    mix(&clamp.lo, 4);
    mix(requantization.multiplier.data, requantization.multiplier.size * 4);
  }
  for (const consumer* const program : kConsumers) CHECK(program->walk(file.view().data, file.size()) == sum);

  std::vector<uint8_t> pixels(31 * 17 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 37);
  std::vector<int8_t> codes(model.tensor(model.inputs()[0]).bytes()), expected(codes.size());
  const ImageInput recipe = model.image(0);
  TensorView target;
  target.info = model.tensor(model.inputs()[0]);
  target.data = expected.data();
  const PictureInfo picture = {31, 17, PixelOrder::kRgb};
  AlignedBytes scratch(*ImageWriter::measure(recipe, target.info, picture));
  REQUIRE(write_image(recipe, target, picture, {pixels.data(), pixels.size()}, 31 * 3, scratch.span()).ok());
  for (const consumer* const program : kConsumers) {
    CHECK(program->picture(file.view().data, file.size(), pixels.data(), 31, 17, codes.data()) == 1);
    CHECK(codes == expected);
    codes.assign(codes.size(), 0);
  }

  itg_model opened;
  REQUIRE(itg_model_open(&opened, file.view().data, file.size(), nullptr).status == ITG_kOk);
  const itg_picture bad = {sizeof bad, 31, 17, 99};
  size_t scratch_bytes;
  CHECK(itg_image_measure(&opened, 0, &bad, &scratch_bytes).status == ITG_kBadEnum);
  itg_calibration_info info;
  info.struct_size = sizeof info;
  itg_model_calibration(&opened, &info);
  CHECK(std::string(info.library_version) == itg_version());
  CHECK(info.samples == samples().size());
  CHECK(itg_model_activation_lower_bound(&opened) == model.activation_lower_bound());
}

TEST_CASE("errors in C: the same numbers and sentences") {
#define ITG_CHECK_STATUS(name, number, text) \
  CHECK(ITG_##name == number);               \
  CHECK(std::string(itg_status_name(number)) == #name);
  ITG_STATUS_LIST(ITG_CHECK_STATUS)
#undef ITG_CHECK_STATUS
  CHECK(std::string(itg_status_name(-1)) == "");
  CHECK(std::string(itg_op_name(1)) == "Conv2D");
  CHECK(std::string(itg_op_name(-1)) == "unknown");
  CHECK(std::string(itg_dtype_name(ITG_F32)) == "f32");
  CHECK(std::string(itg_version()) == ITG_VERSION);

  const AlignedBytes file = small_cnn();
  itg_model model;
  const itg_error error = itg_model_open(&model, file.view().data + 1, file.size() - 1, nullptr);
  CHECK(error.status == ITG_kMisaligned);
  char text[200];
  const size_t length = itg_describe(&error, nullptr, text, sizeof text);
  CHECK(length == strlen(text));
  CHECK(std::string(text) == text_of({Status::kMisaligned, -1, -1, 1, kModelAlignment}));
}

}  // namespace intaglio::test::c_api_test
