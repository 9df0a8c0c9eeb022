/* A program in plain C, by its steps; c_api_test.cc compares what they give with the C++ interface. The same source is
 * compiled against the headers as they are, as an older library had them, and as a newer one might: so nothing of
 * theirs stands here. */
#ifndef TESTS_C_CONSUMER_H_
#define TESTS_C_CONSUMER_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an observer and a progress callback have seen; the older headers have neither. */
typedef struct consumer_trace {
  int32_t inputs, outputs;
  int64_t bytes;
  int32_t steps;
  int32_t cancel_at; /* step at which progress says stop; 0: never */
} consumer_trace;

/* Threads of a session or of a calibration; NULL in its place: none. */
typedef struct consumer_threads {
  void* context;
  int32_t width;
  void (*parallel_for)(void* context, int32_t count, void (*task)(void* argument, int32_t i), void* argument);
  int32_t regions; /* how often a run has asked for them; the older headers have no regions */
} consumer_threads;

typedef struct consumer_samples {
  const float* values; /* [count, elements] */
  int32_t count;
  size_t elements;
  int32_t loads;   /* how often the source was asked */
  int32_t results; /* how often it was told of one; the older headers do not tell */
} consumer_samples;

/* What a calibration has made: its model in `bytes`, its report, the report of its first layer. */
typedef struct consumer_calibration {
  uint8_t* bytes;
  size_t room, size, report_size;
  int32_t samples, layers, recoveries;
  double signal, noise, noise_without_recovery;
  int32_t node, tensor;
  double layer_noise, dot, clipped;
} consumer_calibration;

/* Statuses are those of intaglio/status.h; kConsumerFault is none: what a newer header has was not zero. */
enum { kConsumerFault = -2 };

typedef struct consumer {
  const char* headers;
  /* Opens, measures, creates and runs in malloc's memory; input and output 0. */
  int32_t (*run)(const uint8_t* model, size_t size, uint32_t isa, consumer_threads* threads,
                 const void* input, void* output, consumer_trace* trace);
  /* Calibrates with half of the samples each in two calibrators, saves, loads and merges their states into a
   * third, and finishes there. */
  int32_t (*calibrate)(const uint8_t* model, size_t size, consumer_samples* samples,
                       const consumer_threads* threads, consumer_trace* trace, consumer_calibration* made);
  /* An RGB picture to input 0 in two ways, whole and by rows; gives 1 where both fill it equally, 0 otherwise. */
  int (*picture)(const uint8_t* model, size_t size, const uint8_t* pixels, int32_t width, int32_t height,
                 int8_t* codes);
  /* Tensors, nodes and lists of a model as one number: CRC-like, order matters. */
  uint32_t (*walk)(const uint8_t* model, size_t size);
} consumer;

extern const consumer consumer_of_current, consumer_of_older, consumer_of_newer;

#ifdef __cplusplus
}
#endif

#endif
