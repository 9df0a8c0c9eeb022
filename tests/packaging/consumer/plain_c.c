/* The same program as consumer.cc, in C: calibrates an FP32 model and runs the int8 one, to the same bytes.
 *
 *   plain_c FOLDER */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "intaglio/c_api.h"

enum { kSamples = 4 };

static void* blocks[16];
static size_t block_count;

/* Memory that starts where a model or a session may; free_blocks gives all of it back. */
static itg_span aligned(size_t size) {
  itg_span span;
  const bool room = block_count < sizeof blocks / sizeof blocks[0];
  uint8_t* start = room ? malloc(size + ITG_MEMORY_ALIGNMENT) : NULL;
  if (start != NULL) blocks[block_count++] = start;
  span.data = start == NULL ? NULL : start + (ITG_MEMORY_ALIGNMENT - (uintptr_t)start % ITG_MEMORY_ALIGNMENT);
  span.size = start == NULL ? 0 : size;
  return span;
}

static void free_blocks(void) {
  while (block_count > 0) free(blocks[--block_count]);
}

static itg_span read_file(const char* folder, const char* name) {
  char path[1024];
  FILE* file;
  itg_span span;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  file = fopen(path, "rb");
  if (file == NULL) return aligned(0);
  fseek(file, 0, SEEK_END);
  span = aligned((size_t)ftell(file));
  rewind(file);
  if (fread(span.data, 1, span.size, file) != span.size) span.size = 0;
  fclose(file);
  return span;
}

static int fail(const char* what, itg_error error) {
  char text[256];
  itg_describe(&error, NULL, text, sizeof text);
  printf("%s: %s\n", what, text);
  return 1;
}

static bool keep_nothing(void* context, const uint8_t* bytes, size_t size) {
  (void)context;
  return bytes != NULL && size > 0;
}

int main(int argc, char** arguments) {
  const char* folder = argc > 1 ? arguments[1] : ".";
  const itg_span fp32 = read_file(folder, "fp32.itg"), samples = read_file(folder, "samples.bin"),
                 int8 = read_file(folder, "int8.itg"), input = read_file(folder, "input.bin"),
                 output = read_file(folder, "output.bin");
  itg_model model, quantized;
  itg_calibrator calibrator;
  itg_calibrator_needs calibrator_needs;
  itg_calibration_report report;
  itg_session session;
  itg_session_needs needs;
  itg_session_memory memory;
  itg_model_sink sink;
  int i;
  itg_error error;

  atexit(free_blocks);
  error = itg_model_open(&model, fp32.data, fp32.size, NULL);
  if (error.status != ITG_kOk) return fail("the FP32 model is refused", error);
  calibrator_needs.struct_size = sizeof calibrator_needs;
  error = itg_calibrator_measure(&model, NULL, &calibrator_needs);
  if (error.status != ITG_kOk) return fail("calibration is refused", error);
  error = itg_calibrator_create(&calibrator, &model, aligned(calibrator_needs.total_bytes), NULL);
  if (error.status != ITG_kOk) return fail("no calibrator", error);
  for (i = 0; i < kSamples; ++i) {
    itg_bytes sample;
    sample.size = samples.size / kSamples;
    sample.data = samples.data + (size_t)i * sample.size;
    error = itg_calibrator_add(&calibrator, &sample, 1);
    if (error.status != ITG_kOk) return fail("a sample is refused", error);
  }
  memset(&sink, 0, sizeof sink);
  sink.struct_size = sizeof sink;
  sink.write = keep_nothing;
  error = itg_calibrator_finish(&calibrator, &sink, NULL);
  if (error.status != ITG_kOk) return fail("calibration failed", error);
  report.struct_size = sizeof report;
  itg_calibrator_report(&calibrator, &report);
  if (report.bytes.size != int8.size || memcmp(report.bytes.data, int8.data, int8.size) != 0)
    return puts("the calibrated model differs"), 1;

  error = itg_model_open(&quantized, int8.data, int8.size, NULL);
  if (error.status != ITG_kOk) return fail("the int8 model is refused", error);
  needs.struct_size = sizeof needs;
  error = itg_session_measure(&quantized, itg_int8_ops(), NULL, true, &needs);
  if (error.status != ITG_kOk) return fail("the int8 model does not fit", error);
  memory = itg_session_split(aligned(needs.total_bytes), &needs);
  error = itg_session_create(&session, &quantized, itg_int8_ops(), &memory, NULL);
  if (error.status != ITG_kOk) return fail("no session", error);
  memcpy(itg_session_input_data(&session, 0), input.data, input.size);
  itg_session_run(&session);
  if (memcmp(itg_session_output_data(&session, 0), output.data, output.size) != 0)
    return puts("the output differs"), 1;
  puts("plain_c: same bytes");
  return 0;
}
