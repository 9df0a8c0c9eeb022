#include "tests/c_consumer/c_consumer.h"

#include <stdlib.h>
#include <string.h>

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

itg_error consumer_run(const uint8_t* bytes, size_t size, uint32_t isa, bool narrow, const void* input,
                       void* output, consumer_trace* trace) {
  itg_model model;
  itg_session session;
  itg_session_options options;
  itg_session_needs needs;
  itg_session_memory memory;
  itg_tensor tensor;
  void* block = NULL;
  itg_error error = itg_model_open(&model, bytes, size, NULL);
  if (error.status != ITG_kOk) return error;
  memset(&options, 0xee, sizeof options);
  itg_session_options_init(&options, narrow ? offsetof(itg_session_options, executor) : sizeof options);
  options.isa = isa;
  if (!narrow) {
    options.observer.on_tensor = count_tensor;
    options.observer.context = trace;
  }
  error = itg_session_measure(&model, itg_all_ops(), &options, true, &needs);
  if (error.status != ITG_kOk) return error;
  memory = itg_session_split(aligned_block(needs.total_bytes, &block), &needs);
  error = itg_session_create(&session, &model, itg_all_ops(), &memory, &options);
  if (error.status == ITG_kOk) {
    tensor.struct_size = sizeof tensor;
    itg_session_input(&session, 0, &tensor);
    memcpy(itg_session_input_data(&session, 0), input, tensor.bytes);
    itg_session_run(&session);
    itg_session_output(&session, 0, &tensor);
    memcpy(output, itg_session_output_data(&session, 0), tensor.bytes);
  }
  free(block);
  return error;
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

static void count_results(void* context, int32_t i, const itg_session* session) {
  consumer_samples* samples = context;
  if (i < samples->count && itg_session_output_data(session, 0) != NULL) ++samples->results;
}

typedef struct file {
  uint8_t* bytes;
  size_t room, size;
} file;

static bool write_model(void* context, const uint8_t* bytes, size_t size) {
  file* to = context;
  if (size > to->room) return false;
  memcpy(to->bytes, bytes, size);
  to->size = size;
  return true;
}

itg_error consumer_calibrate(const uint8_t* bytes, size_t size, consumer_samples* samples,
                             itg_executor executor, consumer_trace* trace, uint8_t* out, size_t out_bytes,
                             size_t* written, itg_calibration_report* report, itg_layer_report* first_layer) {
  itg_model model;
  itg_calibrator calibrators[3];
  itg_calibrator_options options;
  itg_calibrator_needs needs;
  itg_model_sink sink;
  itg_sample_source source;
  file to;
  void* blocks[4] = {NULL, NULL, NULL, NULL};
  itg_span state;
  itg_bytes saved;
  int32_t i;
  itg_error error = itg_model_open(&model, bytes, size, NULL);
  if (error.status != ITG_kOk) return error;
  itg_calibrator_options_init(&options, sizeof options);
  options.executor = executor;
  options.progress.step = count_step;
  options.progress.context = trace;
  error = itg_calibrator_measure(&model, &options, &needs);
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
    source.load = load_odd_sample;
    source.context = samples;
    source.count = samples->count / 2;
    source.ran = count_results;
    error = itg_calibrator_add_all(&calibrators[1], &source, NULL);
  }
  if (error.status == ITG_kOk) {
    state = aligned_block(itg_calibrator_state_bytes(&calibrators[0]), &blocks[3]);
    saved.data = state.data;
    saved.size = state.size;
    error = itg_calibrator_save(&calibrators[0], state);
    if (error.status == ITG_kOk) error = itg_calibrator_load(&calibrators[2], saved);
    if (error.status == ITG_kOk) error = itg_calibrator_save(&calibrators[1], state);
    if (error.status == ITG_kOk) error = itg_calibrator_merge(&calibrators[2], saved);
  }
  if (error.status == ITG_kOk) {
    to.bytes = out;
    to.room = out_bytes;
    to.size = 0;
    sink.write = write_model;
    sink.context = &to;
    source.load = load_sample;
    source.context = samples;
    source.count = samples->count;
    error = itg_calibrator_finish(&calibrators[2], &sink, &source);
    *written = to.size;
    if (error.status == ITG_kOk) {
      report->struct_size = sizeof *report;
      itg_calibrator_report(&calibrators[2], report);
      *first_layer = itg_calibrator_layer(&calibrators[2], 0);
    }
  }
  for (i = 0; i < 4; ++i) free(blocks[i]);
  return error;
}

int consumer_picture(const uint8_t* bytes, size_t size, const uint8_t* pixels, itg_picture picture,
                     int8_t* codes) {
  itg_model model;
  itg_session session;
  itg_session_needs needs;
  itg_session_memory memory;
  itg_image_writer writer;
  itg_tensor input;
  itg_span scratch;
  void *block = NULL, *rows = NULL;
  size_t scratch_bytes = 0;
  const size_t row_bytes = (size_t)picture.width * 3;
  int32_t y;
  int equal = 0;
  if (itg_model_open(&model, bytes, size, NULL).status != ITG_kOk || itg_model_image_count(&model) != 1)
    return 0;
  if (itg_session_measure(&model, itg_int8_ops(), NULL, true, &needs).status != ITG_kOk) return 0;
  if (itg_image_measure(&model, 0, &picture, &scratch_bytes).status != ITG_kOk) return 0;
  memory = itg_session_split(aligned_block(needs.total_bytes, &block), &needs);
  scratch = aligned_block(scratch_bytes, &rows);
  if (itg_session_create(&session, &model, itg_int8_ops(), &memory, NULL).status == ITG_kOk) {
    input.struct_size = sizeof input;
    itg_session_input(&session, 0, &input);
    if (itg_write_image(&session, 0, &picture, pixels, row_bytes * (size_t)picture.height, row_bytes, scratch)
            .status == ITG_kOk) {
      memcpy(codes, input.data, input.bytes);
      memset(input.data, 0, input.bytes);
      equal = itg_image_writer_begin(&writer, &session, 0, &picture, scratch).status == ITG_kOk;
      for (y = 0; y < picture.height && equal; ++y)
        equal = itg_image_writer_push_row(&writer, pixels + (size_t)y * row_bytes).status == ITG_kOk;
      equal = equal && itg_image_writer_done(&writer) && memcmp(codes, input.data, input.bytes) == 0;
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

uint32_t consumer_walk(const uint8_t* bytes, size_t size) {
  itg_model model;
  itg_tensor tensor;
  itg_node node;
  uint32_t sum = 0;
  int32_t i;
  if (itg_model_open(&model, bytes, size, NULL).status != ITG_kOk) return 0;
  for (i = 0; i < itg_model_tensor_count(&model); ++i) {
    const uint32_t offset = itg_model_activation_offset(&model, i);
    tensor.struct_size = sizeof tensor;
    itg_model_tensor(&model, i, &tensor);
    sum = mix(sum, tensor.name, strlen(tensor.name));
    sum = mix(sum, tensor.dims, (size_t)tensor.rank * sizeof(int32_t));
    sum = mix(sum, tensor.scales, tensor.scale_count * sizeof(float));
    sum = mix(sum, tensor.constant, tensor.constant == NULL ? 0 : tensor.bytes);
    sum = mix(sum, &tensor.zero_point, sizeof(int32_t));
    sum = mix(sum, &offset, sizeof offset);
  }
  for (i = 0; i < itg_model_node_count(&model); ++i) {
    node.struct_size = sizeof node;
    itg_model_node(&model, i, &node);
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
