/* The headers of the C interface as an older library had them, in one file and without their comments: what was added to
 * structs last is missing. Frozen: programs that were compiled with it run with every later library, which
 * tests/c_consumer holds. A line changes here only where a release ends the promise. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "intaglio/status.h"
#include "intaglio/version.h"
const char* itg_version(void);
uint32_t itg_format_version(void);
const char* itg_op_name(int32_t op);
const char* itg_dtype_name(int32_t dtype);
#define ITG_C_STATUS(name, number, text) ITG_##name = (number),
enum { ITG_STATUS_LIST(ITG_C_STATUS) ITG_STATUS_END = 0xffff };
#undef ITG_C_STATUS
typedef struct itg_error {
  int32_t status;
  int32_t node;
  int32_t tensor;
  int32_t reserved;
  int64_t value;
  int64_t limit;
} itg_error;
union itg_model;
const char* itg_status_name(int32_t status);
size_t itg_describe(const itg_error* error, const union itg_model* model, char* text, size_t size);
#define ITG_ISA_SCALAR UINT32_C(0)
#define ITG_ISA_ALL UINT32_C(0xffffffff)
uint32_t itg_cpu_isa(void);
int32_t itg_isa_count(void);
const char* itg_isa_name(int32_t index);
uint32_t itg_isa_bit(int32_t index);
enum { ITG_NONE = 0, ITG_S8 = 1, ITG_U8 = 2, ITG_S32 = 3, ITG_F32 = 4, ITG_S4 = 5, ITG_S16 = 6 };
typedef struct itg_tensor {
  size_t struct_size;
  const char* name;
  int32_t dtype;
  int32_t rank;
  const int32_t* dims;
  const float* scales;
  size_t scale_count;
  int32_t zero_point;
  int32_t axis;
  const void* constant;
  size_t bytes;
  void* data;
} itg_tensor;
typedef struct itg_bytes {
  const uint8_t* data;
  size_t size;
} itg_bytes;
typedef struct itg_span {
  uint8_t* data;
  size_t size;
} itg_span;
#define ITG_MODEL_ALIGNMENT 16
#define ITG_MEMORY_ALIGNMENT 64
typedef union itg_model {
  unsigned char opaque[8 * sizeof(void*)];
  void* pointer;
  uint64_t number;
} itg_model;
typedef struct itg_open_options {
  size_t struct_size;
  bool skip_checksum;
} itg_open_options;
typedef struct itg_node {
  size_t struct_size;
  const char* name;
  int32_t op;
  const int32_t* inputs;
  size_t input_count;
  const int32_t* outputs;
  size_t output_count;
  int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
  int32_t pad_top, pad_left, pad_bottom, pad_right;
  bool count_include_pad;
  int32_t groups;
  float clamp_min, clamp_max;
  int32_t clamp_lo, clamp_hi;
  float intermediate_scale;
  int32_t intermediate_zero_point;
  const float* multiplier;
  size_t multiplier_count;
  const int32_t* folded_bias;
  const int32_t *axes, *begin, *strides;
  size_t axes_count, begin_count, strides_count;
  int32_t axis;
  int32_t interpolation, coordinates, rounding;
} itg_node;
typedef struct itg_state {
  size_t struct_size;
  int32_t input, output;
  itg_bytes initial;
} itg_state;
typedef struct itg_calibration_info {
  size_t struct_size;
  const char* library_version;
  const char* method;
  const char* options;
  uint32_t samples;
  itg_bytes samples_digest;
} itg_calibration_info;
typedef struct itg_pack {
  size_t struct_size;
  const char* kernel;
  int32_t layout;
  itg_bytes data;
} itg_pack;
void itg_open_options_init(itg_open_options* options, size_t struct_size);
itg_error itg_model_open(itg_model* model, const void* bytes, size_t size, const itg_open_options* options);
itg_bytes itg_model_bytes(const itg_model* model);
int32_t itg_model_tensor_count(const itg_model* model);
void itg_model_tensor(const itg_model* model, int32_t index, itg_tensor* tensor);
int32_t itg_model_node_count(const itg_model* model);
void itg_model_node(const itg_model* model, int32_t index, itg_node* node);
int32_t itg_model_input_count(const itg_model* model);
int32_t itg_model_input(const itg_model* model, int32_t i);
int32_t itg_model_output_count(const itg_model* model);
int32_t itg_model_output(const itg_model* model, int32_t i);
int32_t itg_model_state_count(const itg_model* model);
void itg_model_state(const itg_model* model, int32_t index, itg_state* state);
void itg_model_calibration(const itg_model* model, itg_calibration_info* info);
void itg_model_pack(const itg_model* model, int32_t node, itg_pack* pack);
uint32_t itg_model_format_version(const itg_model* model);
size_t itg_model_activation_bytes(const itg_model* model);
size_t itg_model_activation_lower_bound(const itg_model* model);
uint32_t itg_model_activation_offset(const itg_model* model, int32_t tensor);
enum { ITG_PIXELS_RGB = 0, ITG_PIXELS_BGR = 1, ITG_PIXELS_GRAY = 2, ITG_PIXELS_RGBA = 3 };
enum { ITG_RESIZE_STRETCH = 0, ITG_RESIZE_CROP = 1, ITG_RESIZE_LETTERBOX = 2 };
typedef struct itg_image {
  size_t struct_size;
  int32_t input;
  int32_t color;
  int32_t resize;
  int32_t channels;
  float mean[4];
  float norm[4];
  const int8_t* table;
} itg_image;
typedef struct itg_picture {
  size_t struct_size;
  int32_t width, height;
  int32_t order;
} itg_picture;
typedef union itg_image_writer {
  unsigned char opaque[64 * sizeof(void*)];
  void* pointer;
  uint64_t number;
} itg_image_writer;
int32_t itg_model_image_count(const itg_model* model);
void itg_model_image(const itg_model* model, int32_t index, itg_image* image);
itg_error itg_image_measure(const itg_model* model, int32_t index, const itg_picture* picture,
                            size_t* scratch_bytes);
typedef struct itg_op itg_op;
typedef struct itg_op_list {
  const itg_op* const* ops;
  size_t count;
} itg_op_list;
itg_op_list itg_int8_ops(void);
itg_op_list itg_float_ops(void);
itg_op_list itg_all_ops(void);
typedef struct itg_executor {
  size_t struct_size;
  void* context;
  int32_t width;
  void (*parallel_for)(void* context, int32_t count, void (*task)(void* argument, int32_t i), void* argument);
} itg_executor;
typedef struct itg_session_options {
  size_t struct_size;
  uint32_t isa;
  const itg_executor* executor;
} itg_session_options;
typedef struct itg_session_needs {
  size_t struct_size;
  size_t persistent_bytes;
  size_t activation_bytes;
  size_t scratch_bytes;
  size_t total_bytes;
  size_t packed_bytes;
} itg_session_needs;
typedef struct itg_session_memory {
  itg_span persistent, activations, scratch;
} itg_session_memory;
typedef union itg_session {
  unsigned char opaque[40 * sizeof(void*)];
  void* pointer;
  uint64_t number;
} itg_session;
void itg_session_options_init(itg_session_options* options, size_t struct_size);
itg_error itg_session_measure(const itg_model* model, itg_op_list ops, const itg_session_options* options,
                              bool for_this_cpu, itg_session_needs* needs);
itg_session_memory itg_session_split(itg_span block, const itg_session_needs* needs);
itg_error itg_session_create(itg_session* session, const itg_model* model, itg_op_list ops,
                             const itg_session_memory* memory, const itg_session_options* options);
typedef struct itg_planned_model itg_planned_model;
void itg_planned_model_needs(const itg_planned_model* planned, itg_session_needs* needs);
itg_error itg_planned_model_check(const itg_planned_model* planned);
itg_error itg_session_start(itg_session* session, const itg_planned_model* planned,
                            const itg_session_memory* memory, const itg_session_options* options);
void itg_session_model(const itg_session* session, itg_model* model);
void itg_session_input(const itg_session* session, int32_t i, itg_tensor* tensor);
void itg_session_output(const itg_session* session, int32_t i, itg_tensor* tensor);
void itg_session_tensor(const itg_session* session, int32_t index, itg_tensor* tensor);
void* itg_session_input_data(const itg_session* session, int32_t i);
const void* itg_session_output_data(const itg_session* session, int32_t i);
void itg_session_run(itg_session* session);
void itg_session_run_nodes(itg_session* session, int32_t first, int32_t last);
itg_error itg_session_prepare_node(itg_session* session, int32_t i);
void itg_session_reset(itg_session* session);
const char* itg_session_kernel_name(const itg_session* session, int32_t node);
itg_error itg_write_image(const itg_session* session, int32_t image, const itg_picture* picture,
                          const uint8_t* pixels, size_t pixels_bytes, size_t row_bytes, itg_span scratch);
itg_error itg_image_writer_begin(itg_image_writer* writer, const itg_session* session, int32_t image,
                                 const itg_picture* picture, itg_span scratch);
itg_error itg_image_writer_push_row(itg_image_writer* writer, const uint8_t* row);
bool itg_image_writer_done(const itg_image_writer* writer);
typedef struct itg_flash {
  size_t struct_size;
  const uint8_t* slots[2];
  size_t slot_bytes;
  size_t program_bytes;
  bool (*erase)(void* context, int32_t slot);
  bool (*program)(void* context, int32_t slot, size_t offset, const uint8_t* bytes, size_t size);
  void* context;
} itg_flash;
#define ITG_MODEL_STORE_OVERHEAD 128
itg_bytes itg_stored_model(const itg_flash* flash);
bool itg_store_model(const itg_flash* flash, itg_bytes model);
#define ITG_RECOVER_NONE UINT32_C(0)
#define ITG_RECOVER_BIAS_CORRECTION UINT32_C(1)
#define ITG_RECOVER_WEIGHT_SCALES UINT32_C(2)
#define ITG_RECOVER_LEARNED_SCALES UINT32_C(4)
#define ITG_RECOVER_ADAPTIVE_ROUNDING UINT32_C(8)
#define ITG_RECOVER_EQUALIZATION UINT32_C(16)
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
enum {
  ITG_ROUNDING_HALF_EVEN = 0,
  ITG_ROUNDING_HALF_UP = 1,
  ITG_ROUNDING_HALF_DOWN = 2,
  ITG_ROUNDING_HALF_TOWARDS_ZERO = 3,
  ITG_ROUNDING_HALF_FAR_FROM_ZERO = 4,
  ITG_ROUNDING_TO_NEAR_INT = 5,
  ITG_ROUNDING_UP = 6
};
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
typedef struct itg_slot_setting {
  int32_t node;
  uint8_t role;
  int32_t input;
  int32_t bits;
  int32_t rounding;
  uint8_t policy;
} itg_slot_setting;
typedef struct itg_calibrator_options {
  size_t struct_size;
  int32_t method;
  double percentile;
  bool symmetric;
  int32_t weight_bits;
  bool power_of_two;
  bool safe_pairs;
  int32_t compat;
  const itg_slot_setting* slots;
  size_t slot_count;
  uint32_t recover;
  bool layer_report;
  const int32_t* float_nodes;
  size_t float_node_count;
  size_t replay_bytes;
  uint32_t isa;
  const itg_executor* executor;
} itg_calibrator_options;
typedef struct itg_calibrator_needs {
  size_t struct_size;
  size_t session_bytes, observer_bytes, replay_bytes, output_bytes;
  size_t total_bytes;
} itg_calibrator_needs;
typedef struct itg_model_sink {
  size_t struct_size;
  bool (*write)(void* context, const uint8_t* bytes, size_t size);
  void* context;
} itg_model_sink;
typedef struct itg_sample_source {
  size_t struct_size;
  bool (*load)(void* context, int32_t i, const itg_span* inputs, size_t input_count);
  void* context;
  int32_t count;
} itg_sample_source;
typedef struct itg_layer_report {
  size_t struct_size;
  int32_t node, tensor;
  double signal, noise;
  double dot, norm;
  double noise_alone;
  double clipped;
} itg_layer_report;
typedef struct itg_recovery_record {
  size_t struct_size;
  uint32_t recovery;
  int32_t first_node, last_node;
  double before, after;
} itg_recovery_record;
typedef struct itg_calibration_report {
  size_t struct_size;
  int32_t layer_count;
  int32_t samples;
  int32_t recovery_count;
  double signal, noise;
  double noise_without_recovery;
  itg_bytes bytes;
} itg_calibration_report;
typedef struct itg_tensor_statistics {
  size_t struct_size;
  float min, max;
  double start, width;
  const uint32_t* counts[2];
} itg_tensor_statistics;
typedef union itg_calibrator {
  unsigned char opaque[4 * sizeof(void*)];
  void* pointer;
  uint64_t number;
} itg_calibrator;
void itg_calibrator_options_init(itg_calibrator_options* options, size_t struct_size);
itg_error itg_calibrator_measure(const itg_model* model, const itg_calibrator_options* options,
                                 itg_calibrator_needs* needs);
itg_error itg_calibrator_replay_bytes(const itg_model* model, int32_t samples,
                                      const itg_calibrator_options* options, size_t* replay_bytes);
itg_error itg_calibrator_create(itg_calibrator* calibrator, const itg_model* model, itg_span memory,
                                const itg_calibrator_options* options);
itg_error itg_calibrator_add(itg_calibrator* calibrator, const itg_bytes* inputs, size_t input_count);
itg_error itg_calibrator_add_all(itg_calibrator* calibrator, const itg_sample_source* source, int32_t* bad);
size_t itg_calibrator_state_bytes(const itg_calibrator* calibrator);
itg_error itg_calibrator_save(const itg_calibrator* calibrator, itg_span state);
itg_error itg_calibrator_load(itg_calibrator* calibrator, itg_bytes state);
itg_error itg_calibrator_merge(itg_calibrator* calibrator, itg_bytes state);
void itg_calibrator_statistics(const itg_calibrator* calibrator, int32_t tensor,
                               itg_tensor_statistics* statistics);
itg_error itg_calibrator_finish(itg_calibrator* calibrator, const itg_model_sink* sink,
                                const itg_sample_source* source);
void itg_calibrator_report(const itg_calibrator* calibrator, itg_calibration_report* report);
void itg_calibrator_recovery(const itg_calibrator* calibrator, int32_t i, itg_recovery_record* record);
void itg_calibrator_layer(const itg_calibrator* calibrator, int32_t i, itg_layer_report* report);
