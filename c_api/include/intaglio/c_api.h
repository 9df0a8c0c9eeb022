/* The whole library for C (C99 and later), and for languages that call C.
 *
 * Each function is the C++ one of the same name: itg_session_run is Session::run. The C++ headers say in full
 * what the operations do; what follows says what a caller in C must know.
 *
 * Memory. Nothing here allocates, frees or keeps what it was not asked to keep. Handles (itg_model,
 * itg_session, itg_calibrator, itg_image_writer) are objects in the caller's own memory; there is nothing to
 * destroy. An itg_model may be copied; the others stay where they were made. What a handle was made from
 * outlives it: the model's bytes, the session's memory, the operator list, what the options point to.
 * Pointers in results point into the model's bytes or the memory given, and live as long as these.
 *
 * Versions. A program runs with a library that is older or newer than its header: neither touches what it does
 * not know. A struct that begins with struct_size may grow at its end; it is always given by pointer, and stands
 * in no other struct and in no array. Its struct_size is sizeof of the struct in the program's header, and the
 * program sets it: itg_..._init(&options, sizeof options) sets it and the defaults; what a program fills by itself
 * (an executor, an observer, a picture, a sink, ...) is zero but for the fields that it sets; of results
 * struct_size alone is set, before they are asked for. What an older library does not know of a result is zero,
 * and what an older header does not have of an option is its default. In a callback, a struct that the library
 * gives has the library's struct_size: a program asks it before it reads a field that later libraries have.
 * Structs without struct_size never change, and neither do the sizes of the handles.
 *
 * Errors are values: status is 0 (ITG_kOk) or a number of ITG_STATUS_LIST. itg_describe() makes a sentence.
 * An index out of range (a tensor, a node, an input) is the caller's fault, as it is in C++.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "intaglio/status.h" /* in C nothing but ITG_STATUS_LIST */
#include "intaglio/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Versions and names ---- */
const char* itg_version(void);       /* of the library linked; ITG_VERSION is the header's */
uint32_t itg_format_version(void);   /* the newest model format that it reads */
const char* itg_op_name(int32_t op); /* "Conv2D"; "unknown" where there is none */
const char* itg_dtype_name(int32_t dtype);

/* ---- Errors ---- */
#define ITG_C_STATUS(name, number, text) ITG_##name = (number),
enum { ITG_STATUS_LIST(ITG_C_STATUS) ITG_STATUS_END = 0xffff };
#undef ITG_C_STATUS

typedef struct itg_error {
  int32_t status; /* ITG_kOk, ITG_kBadScale, ... */
  int32_t node;   /* index into the model's nodes, or -1 */
  int32_t tensor; /* index into the model's tensors, or -1 */
  int32_t reserved;
  int64_t value; /* what was found */
  int64_t limit; /* what was needed or allowed */
} itg_error;

union itg_model;

const char* itg_status_name(int32_t status); /* "kBadScale"; "" where there is none */
/* One line into text[0 .. size), always ending in NUL; `model` may be NULL. Gives the length of the whole
 * line. */
size_t itg_describe(const itg_error* error, const union itg_model* model, char* text, size_t size);

/* ---- Instruction sets: one bit each; zero is plain C ---- */
#define ITG_ISA_SCALAR UINT32_C(0)
#define ITG_ISA_ALL UINT32_C(0xffffffff)

uint32_t itg_cpu_isa(void);              /* those of this machine */
int32_t itg_isa_count(void);             /* those that the library knows, least first */
const char* itg_isa_name(int32_t index); /* "avx2" */
uint32_t itg_isa_bit(int32_t index);

/* ---- Tensors ---- */
enum { ITG_NONE = 0, ITG_S8 = 1, ITG_U8 = 2, ITG_S32 = 3, ITG_F32 = 4, ITG_S4 = 5, ITG_S16 = 6 };

typedef struct itg_tensor {
  size_t struct_size;
  const char* name;
  int32_t dtype;
  int32_t rank;        /* 1 to 6 */
  const int32_t* dims; /* [rank], outermost first; activations are NHWC */
  const float* scales; /* real = scale * (code - zero_point); [scale_count] */
  size_t scale_count;  /* 0: not quantized; 1: per tensor; else one per index of `axis` */
  int32_t zero_point;
  int32_t axis;         /* -1: per tensor */
  const void* constant; /* NULL for an activation */
  size_t bytes;         /* of all its elements */
  void* data; /* where a session has it; NULL where a model was asked. Constants are not to be written */
} itg_tensor;

typedef struct itg_bytes {
  const uint8_t* data;
  size_t size;
} itg_bytes;

typedef struct itg_span {
  uint8_t* data;
  size_t size;
} itg_span;

/* ---- Models ---- */
#define ITG_MODEL_ALIGNMENT 16  /* of the first byte of a model */
#define ITG_MEMORY_ALIGNMENT 64 /* of the memory given to a session or a calibrator */

/* A handle on checked bytes, which stay unchanged and at their place as long as it is used. */
typedef union itg_model {
  unsigned char opaque[8 * sizeof(void*)];
  void* pointer; /* for alignment alone */
  uint64_t number;
} itg_model;

typedef struct itg_open_options {
  size_t struct_size;
  bool
      skip_checksum; /* for callers that authenticate the bytes themselves; the structure is checked always */
} itg_open_options;

typedef struct itg_node {
  size_t struct_size;
  const char* name;
  int32_t op;            /* as numbered in the model file; itg_op_name() */
  const int32_t* inputs; /* tensor indices; -1: absent */
  size_t input_count;
  const int32_t* outputs;
  size_t output_count;
  /* What an operator carries beside its tensors; each reads those that are its own. */
  int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
  int32_t pad_top, pad_left, pad_bottom, pad_right;
  bool count_include_pad;
  int32_t groups;
  float clamp_min, clamp_max; /* FP32: fused activation */
  int32_t clamp_lo, clamp_hi; /* int8: the same in output codes */
  float intermediate_scale;   /* int8 with a residual input; 0: none */
  int32_t intermediate_zero_point;
  const float* multiplier; /* int8 convolutions: [multiplier_count] */
  size_t multiplier_count;
  const int32_t* folded_bias; /* likewise */
  const int32_t *axes, *begin, *strides;
  size_t axes_count, begin_count, strides_count;
  int32_t axis;
  int32_t interpolation, coordinates, rounding; /* Resize */
  float alpha, beta, pad_value;
  int32_t add_bits;
} itg_node;

typedef struct itg_state {
  size_t struct_size;
  int32_t input, output; /* tensor indices: after each run the output is copied to the input */
  itg_bytes initial;     /* empty: zeros */
} itg_state;

typedef struct itg_calibration_info {
  size_t struct_size;
  const char* library_version; /* "" where the model was not calibrated */
  const char* method;
  const char* options;
  uint32_t samples;
  itg_bytes samples_digest; /* sum modulo 2^256 of each sample's SHA-256 */
} itg_calibration_info;

/* A node's weights as one kernel reads them (`intaglio pack`): used in place where a session takes that
 * kernel. */
typedef struct itg_pack {
  size_t struct_size;
  const char* kernel; /* as itg_session_kernel_name() */
  int32_t layout;     /* of the library that made it: other layouts are passed over */
  itg_bytes data;     /* empty: the node has none */
} itg_pack;

void itg_open_options_init(itg_open_options* options, size_t struct_size);
/* Checks everything that needs no operator. `options` may be NULL: the defaults. */
itg_error itg_model_open(itg_model* model, const void* bytes, size_t size, const itg_open_options* options);

itg_bytes itg_model_bytes(const itg_model* model);
int32_t itg_model_tensor_count(const itg_model* model);
void itg_model_tensor(const itg_model* model, int32_t index, itg_tensor* tensor);
int32_t itg_model_node_count(const itg_model* model);
void itg_model_node(const itg_model* model, int32_t index, itg_node* node);
int32_t itg_model_input_count(const itg_model* model);
int32_t itg_model_input(const itg_model* model, int32_t i); /* tensor index */
int32_t itg_model_output_count(const itg_model* model);
int32_t itg_model_output(const itg_model* model, int32_t i); /* tensor index */
int32_t itg_model_state_count(const itg_model* model);
void itg_model_state(const itg_model* model, int32_t index, itg_state* state);
void itg_model_calibration(const itg_model* model, itg_calibration_info* info);
void itg_model_pack(const itg_model* model, int32_t node, itg_pack* pack);
uint32_t itg_model_format_version(const itg_model* model);
size_t itg_model_activation_bytes(const itg_model* model);
size_t itg_model_activation_lower_bound(const itg_model* model);
uint32_t itg_model_activation_offset(const itg_model* model, int32_t tensor); /* 0xffffffff: a constant */

/* ---- Pictures ---- */
enum { ITG_PIXELS_RGB = 0, ITG_PIXELS_BGR = 1, ITG_PIXELS_GRAY = 2, ITG_PIXELS_RGBA = 3 };
enum { ITG_RESIZE_STRETCH = 0, ITG_RESIZE_CROP = 1, ITG_RESIZE_LETTERBOX = 2 };

/* The recipe of an image input: real = (pixel - mean[c]) * norm[c]. */
typedef struct itg_image {
  size_t struct_size;
  int32_t input; /* index into the model's inputs */
  int32_t color; /* ITG_PIXELS_RGB, _BGR or _GRAY */
  int32_t resize;
  int32_t channels;
  float mean[4];
  float norm[4];
  const int8_t* table; /* int8 inputs: [channels, 256], pixel to code; NULL for FP32 inputs */
} itg_image;

typedef struct itg_picture {
  size_t struct_size;
  int32_t width, height; /* in pixels, 1 to 32767 */
  int32_t order;         /* ITG_PIXELS_... */
} itg_picture;

/* Fills an input from the rows of one picture, top to bottom. */
typedef union itg_image_writer {
  unsigned char opaque[64 * sizeof(void*)];
  void* pointer; /* for alignment alone */
  uint64_t number;
} itg_image_writer;

int32_t itg_model_image_count(const itg_model* model);
void itg_model_image(const itg_model* model, int32_t index, itg_image* image);
/* The scratch bytes of a picture for image input `index`; 0 where it has the input's size and colours. */
itg_error itg_image_measure(const itg_model* model, int32_t index, const itg_picture* picture,
                            size_t* scratch_bytes);

/* ---- Sessions ---- */
typedef struct itg_op itg_op;

/* Operators that a session may use. A program links those of the lists that it names. */
typedef struct itg_op_list {
  const itg_op* const* ops;
  size_t count;
} itg_op_list;
itg_op_list itg_int8_ops(void);  /* int8 models, whose borders and last layers may be in FP32 */
itg_op_list itg_float_ops(void); /* FP32 models */
itg_op_list itg_all_ops(void);   /* mixed models too */

/* How the work of one node is spread over threads. Results do not depend on it. Outlives the sessions and
 * calibrators whose options name it. */
typedef struct itg_executor {
  size_t struct_size;
  void* context;
  int32_t width; /* threads that may run at once, 1 to 64; sizes the scratch */
  /* Calls task(argument, i) once for each i in [0, count), in any order, and returns when all are done. NULL:
   * serial. */
  void (*parallel_for)(void* context, int32_t count, void (*task)(void* argument, int32_t i), void* argument);
  /* A run has many nodes: calls body(argument, ready) with threads at hand, whose `ready` is this executor as the
   * body shall use it, and lets them go when it returns. NULL: every parallel_for finds its own. */
  void (*region)(void* context, void (*body)(void* argument, const struct itg_executor* ready),
                 void* argument);
} itg_executor;
/* Makes `executor`, whose struct_size is set, one of OpenMP threads; in the library intaglio_openmp alone. */
void itg_openmp_executor(itg_executor* executor, int32_t threads);

/* Called for each model input when a run starts (node -1), and after a node has written each output. The data
 * is valid during the call only. Outlives the session. */
typedef struct itg_observer {
  size_t struct_size;
  void (*on_tensor)(void* context, int32_t node, int32_t tensor, const itg_tensor* view);
  void* context;
  /* Called by itg_session_create() for each node whose weights it has packed: runs read them packed. */
  void (*on_packed)(void* context, int32_t node);
} itg_observer;

typedef struct itg_session_options {
  size_t struct_size;
  uint32_t isa;                 /* narrows what itg_cpu_isa() finds; by default ITG_ISA_ALL */
  const itg_executor* executor; /* NULL: serial */
  const itg_observer* observer; /* NULL: none */
} itg_session_options;

/* Exact: one byte less is refused. */
typedef struct itg_session_needs {
  size_t struct_size;
  size_t persistent_bytes; /* bookkeeping and packed weights; one for each session */
  size_t activation_bytes; /* sessions that never run at once may share it */
  size_t scratch_bytes;    /* likewise */
  size_t total_bytes;      /* of one block that holds all three */
  size_t packed_bytes;     /* of the persistent ones: made of weights by itg_session_create() */
  size_t in_place_bytes;   /* packed weights that are used where they stand in the model */
} itg_session_needs;

/* Each span starts at a multiple of ITG_MEMORY_ALIGNMENT. */
typedef struct itg_session_memory {
  itg_span persistent, activations, scratch;
} itg_session_memory;

typedef union itg_session {
  unsigned char opaque[40 * sizeof(void*)];
  void* pointer; /* for alignment alone */
  uint64_t number;
} itg_session;

void itg_session_options_init(itg_session_options* options, size_t struct_size);
/* What itg_session_create() needs with the same arguments. With `for_this_cpu` false: what a machine needs
 * that has the instruction sets options->isa. `options` may be NULL. */
itg_error itg_session_measure(const itg_model* model, itg_op_list ops, const itg_session_options* options,
                              bool for_this_cpu, itg_session_needs* needs);
/* Cuts a block of at least needs->total_bytes into the three spans. */
itg_session_memory itg_session_split(itg_span block, const itg_session_needs* needs);
/* Checks every node with its operator, then packs weights, or compares those that the model holds packed. */
itg_error itg_session_create(itg_session* session, const itg_model* model, itg_op_list ops,
                             const itg_session_memory* memory, const itg_session_options* options);

/* A model with the session that the build machine planned for it, as constants of the program: what
 * `intaglio export-c --planned` writes. It names the bytes that it was made for and runs no others. */
typedef struct itg_planned_model itg_planned_model;
void itg_planned_model_needs(const itg_planned_model* planned, itg_session_needs* needs);
/* Whether its bytes are still those that were exported (else ITG_kBadChecksum). Reads all of them. */
itg_error itg_planned_model_check(const itg_planned_model* planned);
/* A session as planned: checks nothing but the memory, that the executor is serial, and that the library has the
 * plan's kernels (ITG_kOtherKernels). options->isa is not asked; `options` may be NULL. */
itg_error itg_session_start(itg_session* session, const itg_planned_model* planned,
                            const itg_session_memory* memory, const itg_session_options* options);
void itg_session_model(const itg_session* session, itg_model* model); /* the model that it runs */

/* Inputs are written before each run, which may reuse their memory. Outputs are valid until the next run. */
void itg_session_input(const itg_session* session, int32_t i, itg_tensor* tensor);
/* An int8 model's output is of codes, or of reals where its last layer leaves them in FP32: see tensor->dtype. */
void itg_session_output(const itg_session* session, int32_t i, itg_tensor* tensor);
void itg_session_tensor(const itg_session* session, int32_t index, itg_tensor* tensor);
/* Their elements alone: as input(i), output(i). */
void* itg_session_input_data(const itg_session* session, int32_t i);
const void* itg_session_output_data(const itg_session* session, int32_t i);

void itg_session_run(itg_session* session); /* cannot fail */
void itg_session_run_nodes(itg_session* session, int32_t first, int32_t last);
itg_error itg_session_prepare_node(itg_session* session,
                                   int32_t i); /* after its constants were changed in place; not if planned */
void itg_session_reset(itg_session* session);  /* states to their initial values */
const char* itg_session_kernel_name(const itg_session* session,
                                    int32_t node); /* "" where it has none, or planned */

/* Pictures into a session's input: whole, rows row_bytes apart, or row by row. `scratch` starts at a multiple
 * of 4, has itg_image_measure() bytes, and is the writer's until the last row. */
itg_error itg_write_image(const itg_session* session, int32_t image, const itg_picture* picture,
                          const uint8_t* pixels, size_t pixels_bytes, size_t row_bytes, itg_span scratch);
itg_error itg_image_writer_begin(itg_image_writer* writer, const itg_session* session, int32_t image,
                                 const itg_picture* picture, itg_span scratch);
itg_error itg_image_writer_push_row(itg_image_writer* writer, const uint8_t* row);
bool itg_image_writer_done(const itg_image_writer* writer);

/* ---- Two slots of flash for a model: see intaglio/model_store.h ---- */
typedef struct itg_flash {
  size_t struct_size;
  const uint8_t* slots[2]; /* memory-mapped, at multiples of 64, erased to 0xff; they share no erase unit */
  size_t slot_bytes;
  size_t program_bytes; /* the unit of programming: a power of two, 1 to 64 */
  /* Both return false where it failed. `program` gets whole units, at a multiple of one, erased before. */
  bool (*erase)(void* context, int32_t slot);
  bool (*program)(void* context, int32_t slot, size_t offset, const uint8_t* bytes, size_t size);
  void* context;
} itg_flash;
#define ITG_MODEL_STORE_OVERHEAD 128 /* bytes of a slot that hold no model */

/* The newest whole model; empty where there is none. itg_model_open() still has to check it. */
itg_bytes itg_stored_model(const itg_flash* flash);
/* Into the slot that itg_stored_model() does not use. False where it does not fit or the flash failed: then
 * the stored model is what it was. The model must not stand in that slot. */
bool itg_store_model(const itg_flash* flash, itg_bytes model);

#ifdef __cplusplus
}
#endif

#include "intaglio/c_calibrator.h"
