/* Calibration for C: FP32 model and samples in, int8 model out. A part of intaglio/c_api.h, which says how
 * memory, versions and errors are meant. */
#pragma once

#include "intaglio/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bits of itg_calibrator_options.recover. */
#define ITG_RECOVER_NONE UINT32_C(0)
#define ITG_RECOVER_BIAS_CORRECTION UINT32_C(1)
#define ITG_RECOVER_WEIGHT_SCALES UINT32_C(2)
#define ITG_RECOVER_LEARNED_SCALES UINT32_C(4)
#define ITG_RECOVER_ADAPTIVE_ROUNDING UINT32_C(8)
#define ITG_RECOVER_EQUALIZATION UINT32_C(16)
#define ITG_RECOVER_RANGE_SEARCH UINT32_C(32)
#define ITG_RECOVER_RANGE_METHOD UINT32_C(64)
#define ITG_RECOVER_BIAS_ABSORPTION UINT32_C(128)
#define ITG_RECOVER_DEFAULT (ITG_RECOVER_BIAS_CORRECTION | ITG_RECOVER_RANGE_METHOD)
enum {
  ITG_RECOVERY_KEPT = 0,
  ITG_RECOVERY_NETWORK_WORSE = 1,
  ITG_RECOVERY_BLOCK_WORSE = 2,
  ITG_RECOVERY_TOO_FEW_SAMPLES = 3,
  ITG_RECOVERY_NO_SOURCE = 4,
  ITG_RECOVERY_NOTHING_TO_DO = 5
};
enum {
  ITG_RANGE_AUTO = 0,
  ITG_RANGE_MIN_MAX = 1,
  ITG_RANGE_PERCENTILE = 2,
  ITG_RANGE_MSE = 3,
  ITG_RANGE_KL = 4,
  ITG_RANGE_ACIQ = 5
};
/* How a real between two codes is rounded: to the nearer one in all but UP; the names say where x.5 goes. */
enum {
  ITG_ROUNDING_HALF_EVEN = 0,
  ITG_ROUNDING_HALF_UP = 1,
  ITG_ROUNDING_HALF_DOWN = 2,
  ITG_ROUNDING_HALF_TOWARDS_ZERO = 3,
  ITG_ROUNDING_HALF_FAR_FROM_ZERO = 4,
  ITG_ROUNDING_TO_NEAR_INT = 5, /* an old name for the one above */
  ITG_ROUNDING_UP = 6
};
/* Bits of a policy: one of per tensor and per channel, one of symmetric and asymmetric, and one of linear,
 * exponential and linear with power of two. */
enum {
  ITG_POLICY_PER_TENSOR = 1,
  ITG_POLICY_PER_CHANNEL = 2,
  ITG_POLICY_LINEAR = 4,
  ITG_POLICY_EXPONENTIAL = 8,
  ITG_POLICY_SYMMETRIC = 16,
  ITG_POLICY_ASYMMETRIC = 32,
  ITG_POLICY_POWER_OF_TWO = 64
};
enum { ITG_COMPAT_NONE = 0, ITG_COMPAT_TENGINE = 1, ITG_COMPAT_PPQ = 2 };
enum {
  ITG_SLOT_EVERY = 0,
  ITG_SLOT_ACTIVATIONS = 1,
  ITG_SLOT_WEIGHTS = 2,
  ITG_SLOT_INPUT = 3,
  ITG_SLOT_OUTPUT = 4
};

/* What slots have instead of the default; of several that apply to a slot the last one holds. An array's element:
 * it never changes. */
typedef struct itg_slot_setting {
  int32_t node;     /* of the FP32 model; -1: every node, and the model's inputs */
  uint8_t role;     /* ITG_SLOT_... */
  int32_t input;    /* ITG_SLOT_INPUT: which; -1: every one that is no weight */
  int32_t bits;     /* 2 to 32; 0: as it was */
  int32_t rounding; /* ITG_ROUNDING_...; -1: as it was */
  uint8_t policy;   /* of ITG_POLICY_...; 0: as it was */
} itg_slot_setting;

/* Called between steps; false cancels, and the call that was going on gives ITG_kCancelled. */
typedef struct itg_progress {
  size_t struct_size;
  bool (*step)(void* context, const char* stage, int32_t done, int32_t total);
  void* context;
} itg_progress;

typedef struct itg_calibrator_options {
  size_t struct_size;
  int32_t method;                /* ITG_RANGE_AUTO */
  double percentile;             /* (0.5, 1]; 0.9999 */
  bool symmetric;                /* false */
  int32_t weight_bits;           /* 8; 2 to 32 */
  bool power_of_two;             /* false; every scale */
  bool safe_pairs;               /* false; CalibratorOptions::safe_pairs */
  int32_t compat;                /* ITG_COMPAT_NONE */
  const itg_slot_setting* slots; /* [slot_count] */
  size_t slot_count;
  uint32_t recover;           /* bits: ITG_RECOVER_DEFAULT */
  bool layer_report;          /* true: finish() compares every layer */
  const int32_t* float_nodes; /* [float_node_count] nodes that stay in FP32 */
  size_t float_node_count;
  size_t replay_bytes; /* 0; memory that saves finish() time: itg_calibrator_replay_bytes() */
  uint32_t isa;
  const itg_executor* executor; /* NULL: serial */
  const itg_progress* progress; /* NULL: not told; outlives the calibrator */
  bool int8_answers;            /* false; CalibratorOptions::int8_answers */
} itg_calibrator_options;

/* Bytes of one block; finish() needs no more. */
typedef struct itg_calibrator_needs {
  size_t struct_size;
  size_t session_bytes, observer_bytes, replay_bytes, output_bytes;
  size_t total_bytes;
} itg_calibrator_needs;

/* Takes the finished model. False where it cannot be stored: finish() then gives ITG_kSinkFailed. */
typedef struct itg_model_sink {
  size_t struct_size;
  bool (*write)(void* context, const uint8_t* bytes, size_t size);
  void* context;
} itg_model_sink;

/* Samples that can be had again and again, in any order, one at a time. */
typedef struct itg_sample_source {
  size_t struct_size;
  /* Writes sample `i` into the inputs. False where it cannot: ITG_kSamplesDiffer then. */
  bool (*load)(void* context, int32_t i, const itg_span* inputs, size_t input_count);
  void* context;
  int32_t count;
  /* NULL, or told of sample `i` that has gone through `session`: the FP32 model's in add_all(), an int8
   * model's in finish(), there at times more than once; the last time it is the model that is handed over. */
  void (*ran)(void* context, int32_t i, const itg_session* session);
} itg_sample_source;

typedef struct itg_layer_report {
  size_t struct_size;
  int32_t node, tensor; /* of the int8 model */
  double signal, noise; /* sums of squares of the FP32 values, and of the differences */
  double dot, norm;     /* cosine = dot / sqrt(signal * norm) */
  double noise_alone;   /* as `noise`, with exact inputs to this layer */
  double clipped;       /* share of the values beyond an end of the range */
} itg_layer_report;

/* One attempt to lessen the error: noise over signal of the model's outputs before and after it. */
typedef struct itg_recovery_record {
  size_t struct_size;
  uint32_t recovery;
  int32_t first_node, last_node; /* of the int8 model; -1: all of it */
  double before, after;
  int32_t verdict;
} itg_recovery_record;

typedef struct itg_calibration_report {
  size_t struct_size;
  int32_t layer_count;
  int32_t samples;
  int32_t recovery_count;
  /* Of the output, before a final softmax or sigmoid, on the samples that calibrated: others lose more. */
  double signal, noise;
  double noise_without_recovery;
  itg_bytes bytes; /* the int8 model, in the calibrator's memory */
} itg_calibration_report;

/* What has been seen of an activation of the FP32 model: bin i holds values from start + i * width on. */
typedef struct itg_tensor_statistics {
  size_t struct_size;
  float min, max; /* zero included */
  double start, width;
  const uint32_t*
      counts[2]; /* of samples with an even and with an odd digest; NULL where nothing was observed */
  size_t bins;
} itg_tensor_statistics;

typedef union itg_calibrator {
  unsigned char opaque[4 * sizeof(void*)];
  void* pointer; /* for alignment alone */
  uint64_t number;
} itg_calibrator;

void itg_calibrator_options_init(itg_calibrator_options* options, size_t struct_size);
itg_error itg_calibrator_measure(const itg_model* model, const itg_calibrator_options* options,
                                 itg_calibrator_needs* needs);
/* For replay_bytes: with so many nothing is computed twice for `samples` samples. */
itg_error itg_calibrator_replay_bytes(const itg_model* model, int32_t samples,
                                      const itg_calibrator_options* options, size_t* replay_bytes);
itg_error itg_calibrator_create(itg_calibrator* calibrator, const itg_model* model, itg_span memory,
                                const itg_calibrator_options* options);
/* One sample: the bytes of each model input, in their order. */
itg_error itg_calibrator_add(itg_calibrator* calibrator, const itg_bytes* inputs, size_t input_count);
/* Every sample of a source, several at once where there are threads. `bad` may be NULL; it gets the index of
 * the sample that an error is about, or -1. */
itg_error itg_calibrator_add_all(itg_calibrator* calibrator, const itg_sample_source* source, int32_t* bad);
/* What has been seen: kept, loaded, merged across devices. */
size_t itg_calibrator_state_bytes(const itg_calibrator* calibrator);
itg_error itg_calibrator_save(const itg_calibrator* calibrator, itg_span state);
itg_error itg_calibrator_load(itg_calibrator* calibrator, itg_bytes state);
itg_error itg_calibrator_merge(itg_calibrator* calibrator, itg_bytes state);
/* After finish(), empty before it. Of the tensor that has its range, where it shares another's; in the
 * calibrator's memory. */
void itg_calibrator_statistics(const itg_calibrator* calibrator, int32_t tensor,
                               itg_tensor_statistics* statistics);
/* `source` may be NULL. */
itg_error itg_calibrator_finish(itg_calibrator* calibrator, const itg_model_sink* sink,
                                const itg_sample_source* source);
/* After finish(). */
void itg_calibrator_report(const itg_calibrator* calibrator, itg_calibration_report* report);
/* i < recovery_count, i < layer_count */
void itg_calibrator_recovery(const itg_calibrator* calibrator, int32_t i, itg_recovery_record* record);
void itg_calibrator_layer(const itg_calibrator* calibrator, int32_t i, itg_layer_report* report);

#ifdef __cplusplus
}
#endif
