/* A program in plain C, by its steps; c_api_test.cc compares what they give with the C++ interface. */
#ifndef TESTS_C_CONSUMER_H_
#define TESTS_C_CONSUMER_H_

#include "intaglio/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct consumer_samples {
  const float* values; /* [count, elements] */
  int32_t count;
  size_t elements;
  int32_t loads;   /* how often the source was asked */
  int32_t results; /* how often it was told of one */
} consumer_samples;

/* What an observer and a progress callback have seen. */
typedef struct consumer_trace {
  int32_t inputs, outputs;
  int64_t bytes;
  int32_t steps;
  int32_t cancel_at; /* step at which progress says stop; 0: never */
} consumer_trace;

/* Opens, measures, creates and runs in malloc's memory; input and output 0. `narrow`: the options struct of
 * an older header, which ends after its field isa. */
itg_error consumer_run(const uint8_t* model, size_t size, uint32_t isa, bool narrow, const void* input,
                       void* output, consumer_trace* trace);

/* Calibrates with half of the samples each in two calibrators, saves, loads and merges their states into a
 * third, and finishes there. Gives the size of the int8 model, written to `out`. */
itg_error consumer_calibrate(const uint8_t* model, size_t size, consumer_samples* samples,
                             itg_executor executor, consumer_trace* trace, uint8_t* out, size_t out_bytes,
                             size_t* written, itg_calibration_report* report, itg_layer_report* first_layer);

/* A picture to input 0 in two ways, whole and by rows; gives 1 where both fill it equally, 0 otherwise. */
int consumer_picture(const uint8_t* model, size_t size, const uint8_t* pixels, itg_picture picture,
                     int8_t* codes);

/* Tensors, nodes and lists of a model as one number: CRC-like, order matters. */
uint32_t consumer_walk(const uint8_t* model, size_t size);

#ifdef __cplusplus
}
#endif

#endif
