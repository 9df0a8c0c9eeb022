/* Calibration for C: makes an int8 model from an FP32 model and a few samples. It is a part of intaglio/c_api.h, which
 * says what holds for memory, versions and errors. */
#pragma once

#include "intaglio/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bits of itg_calibrator_options::recover. */
#define ITG_RECOVER_NONE UINT32_C(0)
#define ITG_RECOVER_BIAS_CORRECTION UINT32_C(1)
#define ITG_RECOVER_WEIGHT_SCALES UINT32_C(2)
#define ITG_RECOVER_LEARNED_SCALES UINT32_C(4)
#define ITG_RECOVER_ADAPTIVE_ROUNDING UINT32_C(8)
#define ITG_RECOVER_EQUALIZATION UINT32_C(16)
#define ITG_RECOVER_DEPTHWISE_SCALES UINT32_C(32)
#define ITG_RECOVER_RANGE_METHOD UINT32_C(64)
#define ITG_RECOVER_BIAS_ABSORPTION UINT32_C(128)
#define ITG_RECOVER_DEFAULT \
  (ITG_RECOVER_BIAS_CORRECTION | ITG_RECOVER_RANGE_METHOD | ITG_RECOVER_DEPTHWISE_SCALES)
/* What became of a recovery. */
enum {
  ITG_RECOVERY_KEPT = 0,
  ITG_RECOVERY_NETWORK_WORSE = 1,
  ITG_RECOVERY_BLOCK_WORSE = 2,
  ITG_RECOVERY_TOO_FEW_SAMPLES = 3,
  ITG_RECOVERY_NO_SOURCE = 4,
  ITG_RECOVERY_NOTHING_TO_DO = 5,
  ITG_RECOVERY_UNJUDGED = 6
};
/* How a range is chosen from the values seen. */
enum {
  ITG_RANGE_AUTO = 0,
  ITG_RANGE_MIN_MAX = 1,
  ITG_RANGE_PERCENTILE = 2,
  ITG_RANGE_MSE = 3,
  ITG_RANGE_KL = 4,
  ITG_RANGE_ACIQ = 5
};
/* How a real becomes an integer. All but UP and DOWN round to the nearest one, and the name
   says where x.5 goes. */
enum {
  ITG_ROUNDING_HALF_EVEN = 0,
  ITG_ROUNDING_HALF_UP = 1,
  ITG_ROUNDING_HALF_DOWN = 2,
  ITG_ROUNDING_HALF_TOWARDS_ZERO = 3,
  ITG_ROUNDING_HALF_FAR_FROM_ZERO = 4,
  ITG_ROUNDING_TO_NEAR_INT = 5, /* an old name for the one above */
  ITG_ROUNDING_UP = 6,
  ITG_ROUNDING_DOWN = 7
};
/* Bits of a policy. Legal are three choices: per tensor or per channel; symmetric or asymmetric; linear,
 * exponential, or linear with power of two. */
enum {
  ITG_POLICY_PER_TENSOR = 1,
  ITG_POLICY_PER_CHANNEL = 2,
  ITG_POLICY_LINEAR = 4,
  ITG_POLICY_EXPONENTIAL = 8,
  ITG_POLICY_SYMMETRIC = 16,
  ITG_POLICY_ASYMMETRIC = 32,
  ITG_POLICY_POWER_OF_TWO = 64
};
/* Whose rules for shared scales and for rounding hold. */
enum { ITG_COMPAT_NONE = 0, ITG_COMPAT_TENGINE = 1, ITG_COMPAT_PPQ = 2 };
/* Which slots of a node a setting is for. */
enum {
  ITG_SLOT_EVERY = 0,
  ITG_SLOT_ACTIVATIONS = 1,
  ITG_SLOT_WEIGHTS = 2,
  ITG_SLOT_INPUT = 3,
  ITG_SLOT_OUTPUT = 4
};

/* A setting that slots have instead of the default. If several apply to a slot, the last one holds. It is an element of
 * an array, so it never changes. */
typedef struct itg_slot_setting {
  int32_t node;     /* of the FP32 model; -1: every node, and the model's inputs */
  uint8_t role;     /* ITG_SLOT_... */
  int32_t input;    /* for ITG_SLOT_INPUT: which input of the node; -1: every one that is no weight */
  int32_t bits;     /* 2 to 32; 0: unchanged */
  int32_t rounding; /* ITG_ROUNDING_...; -1: unchanged */
  uint8_t policy;   /* of ITG_POLICY_...; 0: unchanged */
} itg_slot_setting;

/* Tells a program how far a call has come, and lets it cancel. */
typedef struct itg_progress {
  size_t struct_size;
  /* Called between steps. Return false to cancel: the call then gives ITG_kCancelled. */
  bool (*step)(void* context, const char* stage, int32_t done, int32_t total);
  void* context; /* is given to the function */
} itg_progress;

/* How to calibrate. What it points to outlives the calibrator. */
typedef struct itg_calibrator_options {
  size_t struct_size;
  int32_t method;      /* ITG_RANGE_...; default ITG_RANGE_AUTO */
  double percentile;   /* in (0.5, 1], for ITG_RANGE_PERCENTILE alone; default 0.9999 */
  bool symmetric;      /* zero points of activations are 0, or -128 for no negatives; default false */
  int32_t weight_bits; /* 2 to 32; default 8 */
  bool power_of_two;   /* every scale is a power of two; default false */
  bool safe_pairs;     /* as CalibratorOptions::safe_pairs; default false */
  int32_t compat;      /* ITG_COMPAT_...; default ITG_COMPAT_NONE */
  const itg_slot_setting* slots; /* [slot_count] settings of single slots */
  size_t slot_count;
  uint32_t recover;           /* bits of ITG_RECOVER_...; default ITG_RECOVER_DEFAULT */
  bool layer_report;          /* itg_calibrator_finish() compares every layer; default false */
  const int32_t* float_nodes; /* [float_node_count] nodes that stay in FP32 */
  size_t float_node_count;
  size_t replay_bytes;          /* memory that saves time: see itg_calibrator_replay_bytes(); default 0 */
  uint32_t isa;                 /* as itg_session_options::isa */
  const itg_executor* executor; /* NULL: serial */
  const itg_progress* progress; /* NULL: nobody is told */
  bool int8_answers;            /* as CalibratorOptions::int8_answers; default false */
  const itg_model* states_of;   /* the model with states, if this is its step model; NULL: none */
  bool one_pass;                /* as CalibratorOptions::one_pass; default false */
  uint32_t memory_ceiling;      /* the int8 model's itg_model_memory_ceiling(); default 0 */
  bool without_halves;          /* as CalibratorOptions::without_halves; default false */
} itg_calibrator_options;

/* Bytes of a calibrator's memory, which is one block. Exact: itg_calibrator_create() refuses one byte less. */
typedef struct itg_calibrator_needs {
  size_t struct_size;
  size_t session_bytes, observer_bytes, replay_bytes, output_bytes;
  size_t total_bytes;
} itg_calibrator_needs;

/* Takes the finished model. */
typedef struct itg_model_sink {
  size_t struct_size;
  /* Returns false if the bytes cannot be stored: itg_calibrator_finish() then gives ITG_kSinkFailed. */
  bool (*write)(void* context, const uint8_t* bytes, size_t size);
  void* context; /* is given to the function */
} itg_model_sink;

/* Samples that can be loaded again and again, in any order. */
typedef struct itg_sample_source {
  size_t struct_size;
  /* Writes sample `i` into the inputs, the same bytes each time. Returns false if it cannot: the call then gives
   * ITG_kSamplesDiffer. */
  bool (*load)(void* context, int32_t i, const itg_span* inputs, size_t input_count);
  void* context; /* is given to both functions */
  int32_t count; /* of samples */
  /* Optional. Called after sample `i` has run through `session`: see SampleSource::ran. */
  void (*ran)(void* context, int32_t i, const itg_session* session);
} itg_sample_source;

/* One layer of the int8 model compared with the same layer in FP32. */
typedef struct itg_layer_report {
  size_t struct_size;
  int32_t node, tensor; /* of the int8 model */
  double signal, noise; /* sums of squares of the FP32 values, and of the differences */
  double dot, norm;     /* cosine = dot / sqrt(signal * norm) */
  double noise_alone;   /* as `noise`, with exact inputs of this layer */
  double clipped;       /* share of the values beyond an end of the range, in [0, 1] */
} itg_layer_report;

/* One attempt of a recovery. */
typedef struct itg_recovery_record {
  size_t struct_size;
  uint32_t recovery;             /* one bit of ITG_RECOVER_... */
  int32_t first_node, last_node; /* of the int8 model; -1: all of it */
  double before, after;          /* noise over signal of the model's outputs */
  int32_t verdict;               /* ITG_RECOVERY_... */
} itg_recovery_record;

/* What itg_calibrator_finish() found. */
typedef struct itg_calibration_report {
  size_t struct_size;
  int32_t layer_count;    /* for itg_calibrator_layer() */
  int32_t samples;        /* how many were observed */
  int32_t recovery_count; /* for itg_calibrator_recovery() */
  /* Sums of squares of the output, before a final softmax, and of the differences. These samples have
   * calibrated the model: other samples lose more. */
  double signal, noise;
  double noise_without_recovery; /* as `noise`, of the model without any recovery */
  itg_bytes bytes;               /* the int8 model, in the calibrator's memory */
} itg_calibration_report;

/* What has been seen of an activation of the FP32 model. */
typedef struct itg_tensor_statistics {
  size_t struct_size;
  float min, max;      /* zero is always between them */
  double start, width; /* bin i counts values in [start + i * width, start + (i + 1) * width) */
  const uint32_t*
      counts[2]; /* of samples with an even and with an odd digest; NULL if nothing was observed */
  size_t bins;   /* of each of the two */
} itg_tensor_statistics;

/* One calibration. */
typedef union itg_calibrator {
  unsigned char opaque[4 * sizeof(void*)];
  void* pointer; /* for alignment alone */
  uint64_t number;
} itg_calibrator;

/* The model of one step of a model with states, in which these are inputs and outputs behind its own: so it is calibrated
 * (intaglio/step_model.h). The bytes of memory that itg_make_step_model() needs. */
size_t itg_step_model_bytes(const itg_model* model);
/* Writes its file into `memory`, which starts at a multiple of ITG_MODEL_ALIGNMENT. `made` gets the bytes, in `memory`. */
itg_error itg_make_step_model(const itg_model* model, itg_span memory, itg_bytes* made);
/* The nodes that keep states in FP32, for itg_calibrator_options::float_nodes: see find_state_nodes(). `nodes` has room
 * for itg_model_node_count(model) numbers. Returns how many it found. */
size_t itg_find_state_nodes(const itg_model* model, int32_t* nodes);
/* Sets the defaults. */
void itg_calibrator_options_init(itg_calibrator_options* options, size_t struct_size);
/* Sets those of CalibratorOptions::device(): what is worth its time on a device. */
void itg_calibrator_options_init_device(itg_calibrator_options* options, size_t struct_size);
/* The memory that itg_calibrator_create() needs with the same arguments. `options` may be NULL. */
itg_error itg_calibrator_measure(const itg_model* model, const itg_calibrator_options* options,
                                 itg_calibrator_needs* needs);
/* The value of itg_calibrator_options::replay_bytes with which nothing is computed twice, for so many samples. */
itg_error itg_calibrator_replay_bytes(const itg_model* model, int32_t samples,
                                      const itg_calibrator_options* options, size_t* replay_bytes);
/* Starts a calibration. `memory` has total_bytes and starts at a multiple of ITG_MEMORY_ALIGNMENT. More saves time, up to
   itg_calibrator_replay_bytes() more. */
itg_error itg_calibrator_create(itg_calibrator* calibrator, const itg_model* model, itg_span memory,
                                const itg_calibrator_options* options);
/* Observes one sample: the bytes of each model input, in their order. */
itg_error itg_calibrator_add(itg_calibrator* calibrator, const itg_bytes* inputs, size_t input_count);
/* Observes one frame of a camera, of a model whose one input has a recipe. `scratch` is as for itg_write_frame(). */
itg_error itg_calibrator_add_frame(itg_calibrator* calibrator, const itg_frame* frame, itg_span scratch);
/* Observes every sample of a source, several at once if there are threads. `bad` may be NULL; it gets the index of the
 * sample that an error is about, or -1. */
itg_error itg_calibrator_add_all(itg_calibrator* calibrator, const itg_sample_source* source, int32_t* bad);
/* Bytes of the state: what has been seen so far. It can be saved, loaded later, and merged on another device. Another
 * sample may change how many bytes it has. */
size_t itg_calibrator_state_bytes(const itg_calibrator* calibrator);
itg_error itg_calibrator_save(const itg_calibrator* calibrator, itg_span state);
itg_error itg_calibrator_load(itg_calibrator* calibrator, itg_bytes state);
itg_error itg_calibrator_merge(itg_calibrator* calibrator, itg_bytes state);
/* What has been seen of a tensor of the FP32 model. Empty before itg_calibrator_finish(). If the tensor shares
 * another's range, this is of that other one. The counts are in the calibrator's memory. */
void itg_calibrator_statistics(const itg_calibrator* calibrator, int32_t tensor,
                               itg_tensor_statistics* statistics);
/* Makes the int8 model, opens it, runs it, and hands it to `sink` when all of that went well. `source` may be NULL. */
itg_error itg_calibrator_finish(itg_calibrator* calibrator, const itg_model_sink* sink,
                                const itg_sample_source* source);
/* What itg_calibrator_finish() found; call it after that. */
void itg_calibrator_report(const itg_calibrator* calibrator, itg_calibration_report* report);
/* Recovery `i` of the report, in [0, recovery_count); layer `i`, in [0, layer_count). */
void itg_calibrator_recovery(const itg_calibrator* calibrator, int32_t i, itg_recovery_record* record);
void itg_calibrator_layer(const itg_calibrator* calibrator, int32_t i, itg_layer_report* report);

#ifdef __cplusplus
}
#endif
