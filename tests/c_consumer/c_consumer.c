/* CONSUMER names what is exported; CONSUMER_OLDER: headers that lack what was added last; CONSUMER_NEWER: headers whose
 * structs end in fields that the library does not know, from_the_future[5]. */
#include "tests/c_consumer/c_consumer.h"

#include <stdlib.h>
#include <string.h>

#include "intaglio/c_api.h"

/* A struct that the library fills, or reads with its fields set by hand: what it does not know is anything at all. */
#define BEGIN(object) (memset(&(object), 0xee, sizeof(object)), (object).struct_size = sizeof(object))
#define BEGIN_ZERO(object) (memset(&(object), 0, sizeof(object)), (object).struct_size = sizeof(object))

#ifdef CONSUMER_NEWER
static bool is_zero(const uint64_t* words) {
  int i, zero = 1;
  for (i = 0; i < 5; ++i) zero &= words[i] == 0;
  return zero != 0;
}
#define SOUND(object) is_zero((object).from_the_future)
#define UNKNOWN(object) memset((object).from_the_future, 0x5e, sizeof(object).from_the_future)
#else
#define SOUND(object) true
#define UNKNOWN(object) (void)0
#endif

/* malloc aligns less than a session wants. */
static itg_span aligned_block(size_t bytes, void** to_free) {
  itg_span span;
  uint8_t* start = malloc(bytes + ITG_MEMORY_ALIGNMENT);
  *to_free = start;
  start += (ITG_MEMORY_ALIGNMENT - (uintptr_t)start % ITG_MEMORY_ALIGNMENT) % ITG_MEMORY_ALIGNMENT;
  span.data = start;
  span.size = bytes;
  return span;
}

#ifndef CONSUMER_OLDER
static void count_tensor(void* context, int32_t node, int32_t tensor, const itg_tensor* view) {
  consumer_trace* trace = context;
  if (node < 0)
    ++trace->inputs;
  else
    ++trace->outputs;
  trace->bytes += (int64_t)view->bytes + (view->data == NULL ? 1000000 : 0) + (tensor < 0 ? 1000000 : 0);
}

static bool count_step(void* context, const char* stage, int32_t done, int32_t total) {
  consumer_trace* trace = context;
  ++trace->steps;
  return stage != NULL && done <= total && trace->steps != trace->cancel_at;
}
#endif

static void loop(void* context, int32_t count, void (*task)(void* argument, int32_t i), void* argument) {
  const consumer_threads* threads = context;
  threads->parallel_for(threads->context, count, task, argument);
}

#ifndef CONSUMER_OLDER
static void region(void* context, void (*body)(void* argument, const itg_executor* ready), void* argument) {
  consumer_threads* threads = context;
  itg_executor ready;
  ++threads->regions;
  BEGIN_ZERO(ready);
  ready.context = threads;
  ready.width = threads->width;
  ready.parallel_for = loop;
  UNKNOWN(ready);
  body(argument, &ready);
}
#endif

static void set_executor(itg_executor* executor, const consumer_threads* threads) {
  BEGIN_ZERO(*executor);
  executor->context = (void*)threads;
  executor->width = threads->width;
  executor->parallel_for = loop;
#ifndef CONSUMER_OLDER
  executor->region = region;
#endif
  UNKNOWN(*executor);
}

static int32_t run(const uint8_t* bytes, size_t size, uint32_t isa, consumer_threads* threads,
                   const void* input, void* output, consumer_trace* trace) {
  itg_model model;
  itg_session session;
  itg_session_options options;
  itg_executor executor;
#ifndef CONSUMER_OLDER
  itg_observer observer;
#endif
  itg_session_needs needs;
  itg_session_memory memory;
  itg_tensor tensor;
  void* block = NULL;
  itg_error error = itg_model_open(&model, bytes, size, NULL);
  if (error.status != ITG_kOk) return error.status;
  memset(&options, 0xee, sizeof options);
  itg_session_options_init(&options, sizeof options);
  if (!SOUND(options)) return kConsumerFault;
  UNKNOWN(options);
  options.isa = isa;
  if (threads != NULL) {
    set_executor(&executor, threads);
    options.executor = &executor;
  }
#ifndef CONSUMER_OLDER
  BEGIN_ZERO(observer);
  observer.on_tensor = count_tensor;
  observer.context = trace;
  UNKNOWN(observer);
  options.observer = &observer;
#else
  (void)trace;
#endif
  BEGIN(needs);
  error = itg_session_measure(&model, itg_all_ops(), &options, true, &needs);
  if (error.status != ITG_kOk) return error.status;
  if (!SOUND(needs)) return kConsumerFault;
  memory = itg_session_split(aligned_block(needs.total_bytes, &block), &needs);
  error = itg_session_create(&session, &model, itg_all_ops(), &memory, &options);
  if (error.status == ITG_kOk) {
    BEGIN(tensor);
    itg_session_input(&session, 0, &tensor);
    memcpy(itg_session_input_data(&session, 0), input, tensor.bytes);
    itg_session_run(&session);
    itg_session_output(&session, 0, &tensor);
    memcpy(output, itg_session_output_data(&session, 0), tensor.bytes);
    if (!SOUND(tensor)) error.status = kConsumerFault;
  }
  free(block);
  return error.status;
}

static bool load_sample(void* context, int32_t i, const itg_span* inputs, size_t input_count) {
  consumer_samples* samples = context;
  if (input_count != 1 || inputs[0].size != samples->elements * sizeof(float)) return false;
  memcpy(inputs[0].data, samples->values + (size_t)i * samples->elements, inputs[0].size);
  ++samples->loads;
  return true;
}

static bool load_odd_sample(void* context, int32_t i, const itg_span* inputs, size_t input_count) {
  return load_sample(context, 2 * i + 1, inputs, input_count);
}

#ifndef CONSUMER_OLDER
static void count_results(void* context, int32_t i, const itg_session* session) {
  consumer_samples* samples = context;
  if (i < samples->count && itg_session_output_data(session, 0) != NULL) ++samples->results;
}
#endif

static bool write_model(void* context, const uint8_t* bytes, size_t size) {
  consumer_calibration* to = context;
  if (size > to->room) return false;
  memcpy(to->bytes, bytes, size);
  to->size = size;
  return true;
}

static void set_source(itg_sample_source* source, consumer_samples* samples, int32_t count,
                       bool (*load)(void* context, int32_t i, const itg_span* inputs, size_t input_count)) {
  BEGIN_ZERO(*source);
  source->load = load;
  source->context = samples;
  source->count = count;
#ifndef CONSUMER_OLDER
  source->ran = count_results;
#endif
  UNKNOWN(*source);
}

static itg_error report_to(const itg_calibrator* calibrator, consumer_calibration* made) {
  itg_error error;
  itg_calibration_report report;
  itg_layer_report layer;
  itg_recovery_record record;
  memset(&error, 0, sizeof error);
  BEGIN(report);
  itg_calibrator_report(calibrator, &report);
  BEGIN(layer);
  itg_calibrator_layer(calibrator, 0, &layer);
  BEGIN(record);
  if (report.recovery_count > 0) itg_calibrator_recovery(calibrator, 0, &record);
  if (!SOUND(report) || !SOUND(layer) || (report.recovery_count > 0 && !SOUND(record)))
    error.status = kConsumerFault;
  made->samples = report.samples;
  made->layers = report.layer_count;
  made->recoveries = report.recovery_count;
  made->signal = report.signal;
  made->noise = report.noise;
  made->noise_without_recovery = report.noise_without_recovery;
  made->report_size = report.bytes.size;
  made->node = layer.node;
  made->tensor = layer.tensor;
  made->layer_noise = layer.noise;
  made->dot = layer.dot;
  made->clipped = layer.clipped;
  return error;
}

static int32_t calibrate(const uint8_t* bytes, size_t size, consumer_samples* samples,
                         const consumer_threads* threads, consumer_trace* trace, consumer_calibration* made) {
  itg_model model;
  itg_calibrator calibrators[3];
  itg_calibrator_options options;
  itg_executor executor;
#ifndef CONSUMER_OLDER
  itg_progress progress;
#endif
  itg_calibrator_needs needs;
  itg_model_sink sink;
  itg_sample_source source;
  void* blocks[4] = {NULL, NULL, NULL, NULL};
  itg_span state;
  itg_bytes saved;
  int32_t i;
  itg_error error = itg_model_open(&model, bytes, size, NULL);
  if (error.status != ITG_kOk) return error.status;
  memset(&options, 0xee, sizeof options);
  itg_calibrator_options_init(&options, sizeof options);
  UNKNOWN(options);
  options.layer_report = true;
  if (threads != NULL) {
    set_executor(&executor, threads);
    options.executor = &executor;
  }
#ifndef CONSUMER_OLDER
  BEGIN_ZERO(progress);
  progress.step = count_step;
  progress.context = trace;
  UNKNOWN(progress);
  options.progress = &progress;
#else
  (void)trace;
#endif
  BEGIN(needs);
  error = itg_calibrator_measure(&model, &options, &needs);
  if (!SOUND(needs)) return kConsumerFault;
  for (i = 0; i < 3 && error.status == ITG_kOk; ++i)
    error = itg_calibrator_create(&calibrators[i], &model, aligned_block(needs.total_bytes, &blocks[i]),
                                  &options);
  for (i = 0; i < samples->count && error.status == ITG_kOk; i += 2) {
    itg_bytes input;
    input.data = (const uint8_t*)(samples->values + (size_t)i * samples->elements);
    input.size = samples->elements * sizeof(float);
    error = itg_calibrator_add(&calibrators[0], &input, 1);
  }
  if (error.status == ITG_kOk) {
    set_source(&source, samples, samples->count / 2, load_odd_sample);
    error = itg_calibrator_add_all(&calibrators[1], &source, NULL);
  }
  if (error.status == ITG_kOk) {
    const size_t first = itg_calibrator_state_bytes(&calibrators[0]),
                 second = itg_calibrator_state_bytes(&calibrators[1]);
    state = aligned_block(first > second ? first : second, &blocks[3]);
    saved.data = state.data;
    saved.size = state.size = first;
    error = itg_calibrator_save(&calibrators[0], state);
    if (error.status == ITG_kOk) error = itg_calibrator_load(&calibrators[2], saved);
    saved.size = state.size = second;
    if (error.status == ITG_kOk) error = itg_calibrator_save(&calibrators[1], state);
    if (error.status == ITG_kOk) error = itg_calibrator_merge(&calibrators[2], saved);
  }
  if (error.status == ITG_kOk) {
    BEGIN_ZERO(sink);
    sink.write = write_model;
    sink.context = made;
    UNKNOWN(sink);
    set_source(&source, samples, samples->count, load_sample);
    error = itg_calibrator_finish(&calibrators[2], &sink, &source);
    if (error.status == ITG_kOk) error = report_to(&calibrators[2], made);
  }
  for (i = 0; i < 4; ++i) free(blocks[i]);
  return error.status;
}

#ifndef CONSUMER_OLDER
/* The same pixels as a frame: whole, by rows, and fed, after which the input is what it was. */
static bool frame_every_way(const itg_model* model, itg_session* session, const uint8_t* pixels,
                            int32_t width, int32_t height, const int8_t* codes) {
  itg_frame frame;
  itg_frame_writer writer;
  itg_tensor input;
  itg_span scratch;
  void* rows = NULL;
  size_t scratch_bytes = 0;
  int32_t y, way;
  bool equal = true;
  BEGIN_ZERO(frame);
  frame.width = width;
  frame.height = height;
  frame.order = ITG_PIXELS_RGB;
  frame.pixels = pixels;
  frame.pixels_bytes = (size_t)width * 3 * (size_t)height;
  UNKNOWN(frame);
  if (itg_frame_measure(model, 0, &frame, &scratch_bytes).status != ITG_kOk) return false;
  scratch = aligned_block(scratch_bytes, &rows);
  BEGIN(input);
  itg_session_input(session, 0, &input);
  for (way = 0; way < 3 && equal; ++way) {
    memset(input.data, 0, input.bytes);
    if (way == 0) {
      equal = itg_write_frame(session, 0, &frame, scratch).status == ITG_kOk;
    } else {
      equal = (way == 1 ? itg_frame_writer_begin(&writer, session, 0, &frame, scratch)
                        : itg_frame_writer_begin_feed(&writer, session, &frame, scratch))
                  .status == ITG_kOk;
      for (y = 0; y < height && equal; ++y)
        equal = itg_frame_writer_push_row(&writer, pixels + (size_t)y * (size_t)width * 3, NULL).status ==
                ITG_kOk;
      equal = equal && itg_frame_writer_done(&writer);
    }
    /* A session that was fed has run, and may have used the input's memory again. */
    if (way < 2) equal = equal && memcmp(codes, input.data, input.bytes) == 0;
  }
  equal = equal && itg_feed_frame(session, &frame, scratch).status == ITG_kOk;
  frame.order = 300;
  equal = equal && itg_write_frame(session, 0, &frame, scratch).status == ITG_kBadEnum;
  free(rows);
  return equal;
}
#endif

static int picture_both_ways(const uint8_t* bytes, size_t size, const uint8_t* pixels, int32_t width,
                             int32_t height, int8_t* codes) {
  itg_picture picture;
  itg_model model;
  itg_session session;
  itg_session_needs needs;
  itg_session_memory memory;
  itg_image_writer writer;
  itg_tensor input;
  itg_span scratch;
  void *block = NULL, *rows = NULL;
  size_t scratch_bytes = 0;
  const size_t row_bytes = (size_t)width * 3;
  int32_t y;
  int equal = 0;
  BEGIN_ZERO(picture);
  picture.width = width;
  picture.height = height;
  picture.order = ITG_PIXELS_RGB;
  UNKNOWN(picture);
  BEGIN(needs);
  if (itg_model_open(&model, bytes, size, NULL).status != ITG_kOk || itg_model_image_count(&model) != 1)
    return 0;
  if (itg_session_measure(&model, itg_int8_ops(), NULL, true, &needs).status != ITG_kOk) return 0;
  if (itg_image_measure(&model, 0, &picture, &scratch_bytes).status != ITG_kOk) return 0;
  memory = itg_session_split(aligned_block(needs.total_bytes, &block), &needs);
  scratch = aligned_block(scratch_bytes, &rows);
  if (itg_session_create(&session, &model, itg_int8_ops(), &memory, NULL).status == ITG_kOk) {
    BEGIN(input);
    itg_session_input(&session, 0, &input);
    if (itg_write_image(&session, 0, &picture, pixels, row_bytes * (size_t)picture.height, row_bytes, scratch)
            .status == ITG_kOk) {
      memcpy(codes, input.data, input.bytes);
      memset(input.data, 0, input.bytes);
      equal = itg_image_writer_begin(&writer, &session, 0, &picture, scratch).status == ITG_kOk;
      for (y = 0; y < picture.height && equal; ++y)
        equal = itg_image_writer_push_row(&writer, pixels + (size_t)y * row_bytes).status == ITG_kOk;
      equal = equal && itg_image_writer_done(&writer) && memcmp(codes, input.data, input.bytes) == 0;
#ifndef CONSUMER_OLDER
      equal = equal && frame_every_way(&model, &session, pixels, width, height, codes);
#endif
    }
  }
  free(block);
  free(rows);
  return equal;
}

static uint32_t mix(uint32_t sum, const void* data, size_t size) {
  const uint8_t* bytes = data;
  size_t i;
  for (i = 0; i < size; ++i) sum = sum * 31u + bytes[i];
  return sum;
}

static uint32_t walk(const uint8_t* bytes, size_t size) {
  itg_model model;
  itg_tensor tensor;
  itg_node node;
  uint32_t sum = 0;
  int32_t i;
  if (itg_model_open(&model, bytes, size, NULL).status != ITG_kOk) return 0;
  for (i = 0; i < itg_model_tensor_count(&model); ++i) {
    const uint32_t offset = itg_model_activation_offset(&model, i);
    BEGIN(tensor);
    itg_model_tensor(&model, i, &tensor);
    sum = mix(sum, tensor.name, strlen(tensor.name));
    sum = mix(sum, tensor.dims, (size_t)tensor.rank * sizeof(int32_t));
    sum = mix(sum, tensor.scales, tensor.scale_count * sizeof(float));
    sum = mix(sum, tensor.constant, tensor.constant == NULL ? 0 : tensor.bytes);
    sum = mix(sum, &tensor.zero_point, sizeof(int32_t));
    sum = mix(sum, &offset, sizeof offset);
  }
  for (i = 0; i < itg_model_node_count(&model); ++i) {
    BEGIN(node);
    itg_model_node(&model, i, &node);
    if (!SOUND(tensor) || !SOUND(node)) return 0;
    sum = mix(sum, itg_op_name(node.op), strlen(itg_op_name(node.op)));
    sum = mix(sum, node.inputs, node.input_count * sizeof(int32_t));
    sum = mix(sum, node.outputs, node.output_count * sizeof(int32_t));
    sum = mix(sum, &node.kernel_h, sizeof(int32_t));
    sum = mix(sum, &node.pad_bottom, sizeof(int32_t));
    sum = mix(sum, &node.clamp_lo, sizeof(int32_t));
    sum = mix(sum, node.multiplier, node.multiplier_count * sizeof(float));
  }
  return sum;
}

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
const consumer CONSUMER = {TEXT(CONSUMER), run, calibrate, picture_both_ways, walk};
