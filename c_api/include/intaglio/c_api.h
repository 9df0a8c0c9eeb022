/* The library for C (C99 and later), and for languages that call C. DESIGN.md names the few things that it leaves out.
 *
 * Each function is the C++ one of the same name: itg_session_run() is Session::run(). The C++ headers say in full
 * what the operations do. These comments add what a caller in C must know.
 *
 * Memory. Nothing here allocates or frees. Handles (itg_model, itg_session, itg_calibrator, itg_image_writer,
 * itg_frame_writer) are objects in the caller's own memory, and there is nothing to destroy. An itg_model may be copied; the others stay
 * where they were made. What a handle was made from outlives it: the model's bytes, the session's memory, the
 * operator list, what the options point to. Pointers in results point into the model's bytes or the memory given,
 * and live as long as these.
 *
 * Versions. A program runs with a library that is older or newer than its header. A struct that begins with
 * struct_size may grow at its end. It is given by pointer, and is part of no other struct and no array. The program
 * sets struct_size to sizeof of the struct:
 *
 *   options     itg_..._init(&options, sizeof options) sets it, and the defaults
 *   results     set struct_size alone, before the call
 *   all others  (an executor, an observer, a picture, a frame, a sink): set every field that you do not use to zero
 *
 * A field of a result that an older library does not know is zero. An option that an older header does not have is
 * its default. A struct that a callback gets has the library's struct_size: compare it before you read a field of a
 * later library. Structs without struct_size never change, nor do the sizes of the handles.
 *
 * Errors are values: the status is 0 (ITG_kOk) or a number of ITG_STATUS_LIST. itg_describe() makes a sentence of
 * one. Indices of tensors, nodes and inputs are in range: this is not checked.
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
const char* itg_version(void);             /* of the library linked; ITG_VERSION is the header's */
uint32_t itg_format_version(void);         /* the newest model format that the library reads */
const char* itg_op_name(int32_t op);       /* "Conv2D"; "unknown" for any other number */
const char* itg_dtype_name(int32_t dtype); /* "s8"; "unknown" for any other number */

/* ---- Errors ---- */
#define ITG_C_STATUS(name, number, text) ITG_##name = (number),
enum { ITG_STATUS_LIST(ITG_C_STATUS) ITG_STATUS_END = 0xffff };
#undef ITG_C_STATUS

/* An error, or ITG_kOk. */
typedef struct itg_error {
  int32_t status; /* ITG_kOk, ITG_kBadScale, ... */
  int32_t node;   /* index into the model's nodes, or -1 */
  int32_t tensor; /* index into the model's tensors, or -1 */
  int32_t reserved;
  int64_t value; /* what was found */
  int64_t limit; /* what was needed or allowed */
} itg_error;

union itg_model;

const char* itg_status_name(int32_t status); /* "kBadScale"; "" for any other number */
/* Writes one line about an error to text[0] to text[size - 1]. It always ends in NUL, and is cut off if it is
 * longer. `model` may be NULL. Returns the length of the whole line. */
size_t itg_describe(const itg_error* error, const union itg_model* model, char* text, size_t size);

/* ---- Instruction sets ---- */

/* A set of instruction sets has one bit for each. Zero is plain C. */
#define ITG_ISA_SCALAR UINT32_C(0)
#define ITG_ISA_ALL UINT32_C(0xffffffff)

uint32_t itg_cpu_isa(void);              /* the instruction sets of this machine */
int32_t itg_isa_count(void);             /* how many the library knows */
const char* itg_isa_name(int32_t index); /* "avx2"; `index` in [0, itg_isa_count()), least first */
uint32_t itg_isa_bit(int32_t index);     /* the bit of that instruction set */

/* ---- Tensors ---- */

/* Element types. */
enum { ITG_NONE = 0, ITG_S8 = 1, ITG_U8 = 2, ITG_S32 = 3, ITG_F32 = 4, ITG_S4 = 5, ITG_S16 = 6 };

/* One tensor of a model or of a session. */
typedef struct itg_tensor {
  size_t struct_size;
  const char* name;
  int32_t dtype, rank; /* the rank is 1 to 6 */
  const int32_t* dims; /* [rank], outermost first; activations are NHWC */
  const float* scales; /* real = scale * (code - zero_point); [scale_count] */
  size_t scale_count;  /* 0: not quantized; 1: per tensor; else one for each index of `axis` */
  int32_t zero_point;
  int32_t axis;         /* -1: per tensor */
  const void* constant; /* the elements in the model file; NULL for an activation */
  size_t bytes;         /* of all its elements */
  void* data; /* the elements in a session's memory; NULL for a tensor of a model. Do not write constants */
} itg_tensor;

/* `size` bytes that are only read. */
typedef struct itg_bytes {
  const uint8_t* data;
  size_t size;
} itg_bytes;

/* `size` bytes that may be written. */
typedef struct itg_span {
  uint8_t* data;
  size_t size;
} itg_span;

/* ---- Models ---- */
#define ITG_MODEL_ALIGNMENT 16  /* of the first byte of a model */
#define ITG_MEMORY_ALIGNMENT 64 /* of the memory given to a session or a calibrator */

/* A handle on checked bytes. They stay unchanged and at their place as long as it is used. */
typedef union itg_model {
  unsigned char opaque[8 * sizeof(void*)];
  void* pointer; /* for alignment alone */
  uint64_t number;
} itg_model;

/* How itg_model_open() checks a file. */
typedef struct itg_open_options {
  size_t struct_size;
  bool skip_checksum; /* for callers that authenticate the bytes; the structure is checked always */
} itg_open_options;

/* One node of a model. From kernel_h on: the options of every operator. Those that it does not have are at their defaults. */
typedef struct itg_node {
  size_t struct_size;
  const char* name;
  int32_t op;            /* as numbered in the model file; itg_op_name() */
  const int32_t* inputs; /* tensor indices; -1: absent */
  size_t input_count;
  const int32_t* outputs;
  size_t output_count;
  int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w; /* windows, in elements */
  int32_t pad_top, pad_left, pad_bottom, pad_right;                       /* rows and columns added */
  bool count_include_pad;                                                 /* AvgPool2d */
  int32_t groups;                                                         /* convolutions, Normalize */
  float clamp_min, clamp_max;                                             /* FP32: fused activation */
  int32_t clamp_lo, clamp_hi;                                             /* int8: the same in output codes */
  float intermediate_scale; /* int8 with a residual input; 0: none */
  int32_t intermediate_zero_point;
  const float* multiplier; /* int8 convolutions: [multiplier_count] */
  size_t multiplier_count;
  const int32_t* folded_bias; /* likewise */
  const int32_t *axes, *begin, *strides;
  size_t axes_count, begin_count, strides_count;
  int32_t axis;                                 /* Concat, Gather, TopK, OneHot */
  int32_t interpolation, coordinates, rounding; /* Resize */
  float alpha, beta, pad_value;                 /* of functions; Pad */
  int32_t add_bits;                             /* int8 sums: bits of the larger multiplier, 15 to 21 */
  bool transpose_b;                             /* BatchMatMul */
  float product_scale, epsilon;                 /* BatchMatMul; Normalize */
  bool over_map, keeps_mean;                    /* Normalize */
  bool smallest, last_of_equal, from_end;       /* TopK, TopK, OneHot */
  float on, off;                                /* OneHot */
  float root_epsilon;                           /* Normalize */
} itg_node;

/* A state pair of a recurrent network. */
typedef struct itg_state {
  size_t struct_size;
  int32_t input, output; /* tensors: before a run the first gets what the second was after the last one */
  itg_bytes initial;     /* empty: zeros */
} itg_state;

/* How a model was calibrated. */
typedef struct itg_calibration_info {
  size_t struct_size;
  const char* library_version; /* "" for a model that was not calibrated */
  const char* method;
  const char* options;
  uint32_t samples;
  itg_bytes samples_digest; /* sum modulo 2^256 of each sample's SHA-256 */
} itg_calibration_info;

/* A node's weights in the layout of one kernel, as `intaglio pack` writes them. A session that chooses this kernel
 * uses them in place. */
typedef struct itg_pack {
  size_t struct_size;
  const char* kernel; /* as itg_session_kernel_name() says */
  int32_t layout;     /* of the library that wrote it; other layouts are ignored */
  itg_bytes data;     /* empty: the node has none */
} itg_pack;

/* Sets the defaults. */
void itg_open_options_init(itg_open_options* options, size_t struct_size);
/* Checks everything that needs no knowledge of an operator. `bytes` start at a multiple of ITG_MODEL_ALIGNMENT.
 * `options` may be NULL: the defaults. After an error the handle must not be used. */
itg_error itg_model_open(itg_model* model, const void* bytes, size_t size, const itg_open_options* options);
/* Makes `by_rows`, which may be `model`, the model by its streamed plan: its sessions run by rows. Without one: as it is. */
itg_error itg_stream_rows(itg_model* by_rows, const itg_model* model);
itg_bytes itg_model_bytes(const itg_model* model);
uint32_t itg_model_memory_ceiling(const itg_model* model); /* bytes that a session may take; 0: any */
int32_t itg_model_tensor_count(const itg_model* model);
void itg_model_tensor(const itg_model* model, int32_t index, itg_tensor* tensor);
int32_t itg_model_node_count(const itg_model* model);
void itg_model_node(const itg_model* model, int32_t index, itg_node* node);
int32_t itg_model_input_count(const itg_model* model);       /* how many inputs the model has */
int32_t itg_model_input(const itg_model* model, int32_t i);  /* tensor index of input `i` */
int32_t itg_model_output_count(const itg_model* model);      /* how many outputs */
int32_t itg_model_output(const itg_model* model, int32_t i); /* tensor index of output `i` */
int32_t itg_model_state_count(const itg_model* model);
void itg_model_state(const itg_model* model, int32_t index, itg_state* state);
void itg_model_calibration(const itg_model* model, itg_calibration_info* info);
void itg_model_pack(const itg_model* model, int32_t node, itg_pack* pack);
uint32_t itg_model_format_version(const itg_model* model);
size_t itg_model_activation_bytes(const itg_model* model);
size_t itg_model_activation_lower_bound(const itg_model* model);
uint32_t itg_model_activation_offset(const itg_model* model, int32_t tensor); /* 0xffffffff: a constant */
/* The first bytes of the plan that may lie in a fast memory of their own. 0: it is for one memory. */
size_t itg_model_fast_bytes(const itg_model* model);

/* ---- Pictures ---- */

/* The order of channels, of a picture's pixels and of a model's input. Pictures have the first four, frames all;
 * intaglio/frame.h says what each one is. */
enum {
  ITG_PIXELS_RGB = 0,
  ITG_PIXELS_BGR = 1,
  ITG_PIXELS_GRAY = 2,
  ITG_PIXELS_RGBA = 3,
  ITG_PIXELS_BGRA = 4,
  ITG_PIXELS_RGB565 = 5,         /* the low byte first */
  ITG_PIXELS_RGB565_SWAPPED = 6, /* the high byte first */
  ITG_PIXELS_YUYV = 7,
  ITG_PIXELS_UYVY = 8,
  ITG_PIXELS_NV12 = 9,
  ITG_PIXELS_NV21 = 10,
  ITG_PIXELS_BAYER_RGGB = 11,
  ITG_PIXELS_BAYER_GRBG = 12,
  ITG_PIXELS_BAYER_GBRG = 13,
  ITG_PIXELS_BAYER_BGGR = 14
};
/* What Y, U and V of a frame mean. */
enum { ITG_YUV_BT601 = 0, ITG_YUV_BT601_FULL = 1, ITG_YUV_BT709 = 2, ITG_YUV_BT709_FULL = 3 };
/* How a picture of another size becomes the input. */
enum { ITG_RESIZE_STRETCH = 0, ITG_RESIZE_CROP = 1, ITG_RESIZE_LETTERBOX = 2 };

/* The recipe of an image input: real = (pixel - mean[c]) * norm[c], with pixels in [0, 255]. */
typedef struct itg_image {
  size_t struct_size;
  int32_t input;    /* index into the model's inputs */
  int32_t color;    /* ITG_PIXELS_RGB, ITG_PIXELS_BGR or ITG_PIXELS_GRAY */
  int32_t resize;   /* ITG_RESIZE_... */
  int32_t channels; /* 1 for gray, 3 otherwise; 0: the model takes no picture */
  float mean[4];
  float norm[4];
  const int8_t* table; /* int8 inputs: [channels, 256], from pixel to code; NULL for FP32 inputs */
  int32_t border;      /* letterbox: the pixel of its borders, in each channel, 0 to 255 */
} itg_image;

/* The size of a picture, and what its pixels are. */
typedef struct itg_picture {
  size_t struct_size;
  int32_t width, height; /* in pixels, 1 to 32767 */
  int32_t order;         /* ITG_PIXELS_... */
} itg_picture;

/* Fills an input from the rows of one picture, from top to bottom. */
typedef union itg_image_writer {
  unsigned char opaque[64 * sizeof(void*)];
  void* pointer; /* for alignment alone */
  uint64_t number;
} itg_image_writer;

/* A frame as a camera gives it: its size and what its pixels are, and where they lie. Functions that say so read the former alone. */
typedef struct itg_frame {
  size_t struct_size;
  int32_t width, height; /* in pixels, 1 to 32767 */
  int32_t order;         /* ITG_PIXELS_... */
  int32_t bits;          /* of a sample of gray or Bayer: 8 to 16; 0 is 8 */
  int32_t yuv;           /* ITG_YUV_..., of ITG_PIXELS_YUYV to ITG_PIXELS_NV21 */
  const uint8_t* pixels; /* the rows, or those of Y */
  size_t pixels_bytes;
  size_t row_bytes; /* from row to row; 0: rows have no gaps */
  /* The second plane of ITG_PIXELS_NV12 and NV21; NULL: it is behind `height` rows in `pixels`. */
  const uint8_t* chroma;
  size_t chroma_bytes;
  size_t chroma_row_bytes; /* 0: as row_bytes */
} itg_frame;

/* Takes the rows of one frame, from top to bottom. */
typedef union itg_frame_writer {
  unsigned char opaque[96 * sizeof(void*)];
  void* pointer; /* for alignment alone */
  uint64_t number;
} itg_frame_writer;

int32_t itg_model_image_count(const itg_model* model);
void itg_model_image(const itg_model* model, int32_t index, itg_image* image);
/* Bytes of scratch memory that a picture needs for image input `index`. 0 if it has the input's size and colours. */
itg_error itg_image_measure(const itg_model* model, int32_t index, const itg_picture* picture,
                            size_t* scratch_bytes);
/* The same for a frame of this size and order, the same number on every machine. */
itg_error itg_frame_measure(const itg_model* model, int32_t index, const itg_frame* frame,
                            size_t* scratch_bytes);

/* ---- Sessions ---- */
typedef struct itg_op itg_op; /* an operator */

/* Operators that a session may use. A program links only those of the lists that it names. */
typedef struct itg_op_list {
  const itg_op* const* ops;
  size_t count;
} itg_op_list;
itg_op_list itg_int8_ops(void);  /* for int8 models, whose borders and last layers may be in FP32 */
itg_op_list itg_float_ops(void); /* for FP32 models */
itg_op_list itg_all_ops(void);   /* for every model */
itg_op_list itg_compact_ops(
    void); /* without kernels whose packed weights are several times the model's; the same results */

/* How the work of one node is spread over threads. Results do not depend on it. It outlives the sessions and
 * calibrators whose options name it. */
typedef struct itg_executor {
  size_t struct_size;
  void* context; /* is given to both functions */
  int32_t width; /* threads that may run at once, 1 to 64; scratch grows with it */
  /* Calls task(argument, i) once for each i in [0, count), in any order. Returns when all are done. NULL: serial. */
  void (*parallel_for)(void* context, int32_t count, void (*task)(void* argument, int32_t i), void* argument);
  /* Optional. Calls body(argument, ready) with threads waiting, and releases them when that returns. `ready` is the
   * executor that the body uses. NULL: every parallel_for gathers its own threads. */
  void (*region)(void* context, void (*body)(void* argument, const struct itg_executor* ready),
                 void* argument);
} itg_executor;
/* Makes `executor`, whose struct_size is set, one of OpenMP threads. It is in the library intaglio_openmp alone. */
void itg_openmp_executor(itg_executor* executor, int32_t threads);

/* Sees every tensor that a run writes. It outlives the session. */
typedef struct itg_observer {
  size_t struct_size;
  /* Called for each model input when a run starts, with node -1. Then called for each output of a node, after that
   * node has run. The data is valid during the call only. */
  void (*on_tensor)(void* context, int32_t node, int32_t tensor, const itg_tensor* view);
  void* context; /* is given to both functions */
  void (*on_packed)(void* context,
                    int32_t node); /* itg_session_create() has packed the node's weights: runs read these */
} itg_observer;

/* What a session may use. */
typedef struct itg_session_options {
  size_t struct_size;
  uint32_t isa; /* instruction sets that it may use, of itg_cpu_isa(); by default ITG_ISA_ALL */
  const itg_executor* executor; /* NULL: serial */
  const itg_observer* observer; /* NULL: none */
} itg_session_options;

/* Bytes of a session's memory. Exact: itg_session_create() refuses one byte less. */
typedef struct itg_session_needs {
  size_t struct_size;
  size_t persistent_bytes; /* bookkeeping and packed weights; one for each session */
  size_t activation_bytes; /* sessions that never run at once may share it */
  size_t scratch_bytes;    /* likewise */
  size_t total_bytes;      /* of one block that holds all three */
  size_t packed_bytes;     /* the part of persistent_bytes that holds packed weights */
  size_t in_place_bytes;   /* packed weights that the model file holds and that are used there */
} itg_session_needs;

/* A session's memory. Each span starts at a multiple of ITG_MEMORY_ALIGNMENT, and none overlaps another. */
typedef struct itg_session_memory {
  itg_span persistent, activations, scratch;
} itg_session_memory;

/* A model with its memory and kernels, ready to run. */
typedef union itg_session {
  unsigned char opaque[40 * sizeof(void*)];
  void* pointer; /* for alignment alone */
  uint64_t number;
} itg_session;

/* Sets the defaults. */
void itg_session_options_init(itg_session_options* options, size_t struct_size);
/* The memory that itg_session_create() needs with the same arguments. With `for_this_cpu` false: the memory on a
 * machine with the instruction sets options->isa. `options` may be NULL. */
itg_error itg_session_measure(const itg_model* model, itg_op_list ops, const itg_session_options* options,
                              bool for_this_cpu, itg_session_needs* needs);
/* The same whatever the model's ceiling of memory is, which itg_session_measure() refuses to pass (ITG_kAboveCeiling): for programs on
 * another machine than the one that the model is for. */
itg_error itg_session_measure_anywhere(const itg_model* model, itg_op_list ops,
                                       const itg_session_options* options, bool for_this_cpu,
                                       itg_session_needs* needs);
/* Cuts a block of at least needs->total_bytes into the three spans. It starts at a multiple of ITG_MEMORY_ALIGNMENT. */
itg_session_memory itg_session_split(itg_span block, const itg_session_needs* needs);
/* Checks every node with its operator, chooses its kernel and packs its weights. */
itg_error itg_session_create(itg_session* session, const itg_model* model, itg_op_list ops,
                             const itg_session_memory* memory, const itg_session_options* options);

/* A model with the session that the build machine planned for it, as `intaglio export-c --planned` writes it. Both are
 * constants of the program. It names the bytes that it was made for and runs no others. */
typedef struct itg_planned_model itg_planned_model;
/* The memory that itg_session_start() needs. */
void itg_planned_model_needs(const itg_planned_model* planned, itg_session_needs* needs);
/* Whether its bytes are still those that were exported (else ITG_kBadChecksum). Reads all of them. */
itg_error itg_planned_model_check(const itg_planned_model* planned);
/* Starts a session as planned. It checks the memory, that the executor is serial, and that the library has the plan's
 * kernels (ITG_kOtherKernels). options->isa is not read; `options` may be NULL. */
itg_error itg_session_start(itg_session* session, const itg_planned_model* planned,
                            const itg_session_memory* memory, const itg_session_options* options);
void itg_session_model(const itg_session* session, itg_model* model); /* the model that it runs */

/* Activations in two memories, as `intaglio plan --memory fast=64K,slow=2M` places them: the first itg_model_fast_bytes() in `fast`, the
 * others in memory->activations. What the first gives as activation_bytes is what the large memory takes; persistent_bytes hold an
 * offset for each tensor besides. Errors: those of the functions for one memory; a tensor across the end of the fast memory
 * (ITG_kPlanCrosses); on a 64-bit machine memories 4 GB apart or more (ITG_kMemoryApart). */
itg_error itg_two_memories_measure(const itg_model* model, itg_op_list ops,
                                   const itg_session_options* options, bool for_this_cpu,
                                   itg_session_needs* needs);
itg_error itg_two_memories_measure_anywhere(const itg_model* model, itg_op_list ops,
                                            const itg_session_options* options, bool for_this_cpu,
                                            itg_session_needs* needs);
void itg_two_memories_needs(const itg_planned_model* planned, itg_session_needs* needs);
itg_error itg_two_memories_create(itg_session* session, const itg_model* model, itg_op_list ops,
                                  const itg_session_memory* memory, itg_span fast,
                                  const itg_session_options* options);
itg_error itg_two_memories_start(itg_session* session, const itg_planned_model* planned,
                                 const itg_session_memory* memory, itg_span fast,
                                 const itg_session_options* options);

/* Input `i`. Write every input before each run, since a run may reuse its memory. */
void itg_session_input(const itg_session* session, int32_t i, itg_tensor* tensor);
/* Output `i`, valid until the next run or the next write to an input. tensor->dtype says what it holds. */
void itg_session_output(const itg_session* session, int32_t i, itg_tensor* tensor);
void itg_session_tensor(const itg_session* session, int32_t index, itg_tensor* tensor);
/* Their elements alone. */
void* itg_session_input_data(const itg_session* session, int32_t i);
const void* itg_session_output_data(const itg_session* session, int32_t i);

void itg_session_run(itg_session* session); /* runs every node; cannot fail */
void itg_session_run_nodes(itg_session* session, int32_t first, int32_t last);
/* A part of a run: `count` nodes from `first` on. Begin with 0, and go on with what it gives until that is 0: the run is over. */
int32_t itg_session_run_slice(itg_session* session, int32_t first, int32_t count);
/* Takes the next rows, each w * c pixels, or elements without a recipe. True: that was the picture, the outputs are there. */
bool itg_session_feed_rows(itg_session* session, const uint8_t* rows, int32_t count);
void itg_session_begin_picture(itg_session* session);
itg_error itg_session_prepare_node(itg_session* session, int32_t i); /* packs changed weights of node i */
void itg_session_reset(itg_session* session);                        /* sets states to their initial values */
const char* itg_session_kernel_name(const itg_session* session, int32_t node); /* "gemm_s8_avx2" or "" */

/* Writes a picture into a session's input. Its rows start `row_bytes` apart. `scratch` starts at a multiple of 4 and has
 * itg_image_measure() bytes. */
itg_error itg_write_image(const itg_session* session, int32_t image, const itg_picture* picture,
                          const uint8_t* pixels, size_t pixels_bytes, size_t row_bytes, itg_span scratch);
/* The same row by row, from top to bottom. `scratch` is used until the last row. */
itg_error itg_image_writer_begin(itg_image_writer* writer, const itg_session* session, int32_t image,
                                 const itg_picture* picture, itg_span scratch);
itg_error itg_image_writer_push_row(itg_image_writer* writer, const uint8_t* row);
bool itg_image_writer_done(const itg_image_writer* writer);
/* Writes a frame into a session's input. `scratch` starts at a multiple of 4 and has itg_frame_measure() bytes. */
itg_error itg_write_frame(const itg_session* session, int32_t image, const itg_frame* frame,
                          itg_span scratch);
/* Feeds a frame to a session, as itg_session_feed_rows() takes it: afterwards the outputs are there. */
itg_error itg_feed_frame(itg_session* session, const itg_frame* frame, itg_span scratch);
/* The same two row by row, of a frame of this size and order. `scratch` is used until the last row. */
itg_error itg_frame_writer_begin(itg_frame_writer* writer, const itg_session* session, int32_t image,
                                 const itg_frame* frame, itg_span scratch);
itg_error itg_frame_writer_begin_feed(itg_frame_writer* writer, itg_session* session, const itg_frame* frame,
                                      itg_span scratch);
/* `chroma` is row y / 2 of the second plane, NULL where there is none or the model is gray. */
itg_error itg_frame_writer_push_row(itg_frame_writer* writer, const uint8_t* row, const uint8_t* chroma);
bool itg_frame_writer_done(const itg_frame_writer* writer);

/* ---- A model store ---- */
/* Two slots of flash for a model, as in intaglio/model_store.h. Erased bytes are 0xff. */
typedef struct itg_flash {
  size_t struct_size;
  const uint8_t* slots[2]; /* memory-mapped, at multiples of 64; no erase unit belongs to both */
  size_t slot_bytes;       /* of each slot */
  size_t program_bytes;    /* the unit of programming: a power of two, 1 to 64 */
  /* Erases a slot. Returns false if that failed. */
  bool (*erase)(void* context, int32_t slot);
  /* Programs erased bytes: whole units, at multiples of a unit from the slot's start. False: it failed. */
  bool (*program)(void* context, int32_t slot, size_t offset, const uint8_t* bytes, size_t size);
  void* context; /* is given to the functions */
  /* NULL, or says how many of the first bytes of a signed file are the model; 0: its signature is not good. Called before anything of
   * the file is read. */
  size_t (*verify)(void* context, const uint8_t* bytes, size_t size);
} itg_flash;
#define ITG_MODEL_STORE_OVERHEAD 128 /* bytes of a slot that are not for the model */

/* The newest whole model that is verified; empty if there is none. itg_model_open() still has to check it. */
itg_bytes itg_stored_model(const itg_flash* flash);
/* Writes a file into the slot that itg_stored_model() does not use. Returns false if it is not verified, does not fit or the
 * flash failed: then the stored model is what it was. The bytes given must not stand in that slot. */
bool itg_store_model(const itg_flash* flash, itg_bytes file);
/* The same of a model that this machine can run within its ceiling of memory and that of the stored model: update_model() of
 * intaglio/model_store.h says what is refused. `file` starts at a multiple of ITG_MODEL_ALIGNMENT; `options` may be NULL. */
itg_error itg_update_model(const itg_flash* flash, itg_bytes file, itg_op_list ops,
                           const itg_session_options* options);

/* ---- Learning the last layer ---- */
/* New classes from a few examples, as in intaglio/last_layer.h. */

/* What the last layer with weights reads. */
typedef struct itg_features {
  size_t struct_size;
  int32_t node,
      tensor;    /* the layer, and its input: run the nodes before it, and take this tensor's elements */
  int32_t count; /* elements */
  float scale;   /* the real value of one step of a code */
} itg_features;
itg_error itg_find_features(const itg_model* model, itg_features* features);

/* A layer that was learnt: a handle on its bytes, which outlive it. */
typedef union itg_last_layer {
  unsigned char opaque[4 * sizeof(void*)];
  void* pointer; /* for alignment alone */
} itg_last_layer;
/* Checks a patch of itg_learner_finish(). */
itg_error itg_last_layer_open(itg_last_layer* layer, itg_bytes patch, const itg_model* model);
int32_t itg_last_layer_classes(const itg_last_layer* layer);
float itg_last_layer_score(const itg_last_layer* layer, const int8_t* features, int32_t of_class);
int32_t itg_last_layer_classify(const itg_last_layer* layer, const int8_t* features);

#define ITG_LEARN_MEANS 0 /* the class whose mean is nearest */
#define ITG_LEARN_RIDGE 1 /* each class against all others */
typedef struct itg_learn_report {
  size_t struct_size;
  int32_t method;       /* ITG_LEARN_... */
  bool kept;            /* false: the layer in use knows more of the examples held out. There is no patch */
  int32_t held_out;     /* how many examples judged; 0: no class has three */
  int32_t right;        /* of these, by a layer that was learnt from the others */
  int32_t right_before; /* by the layer in use; -1: none was given */
} itg_learn_report;

/* Collects examples, in memory that outlives it and starts at a multiple of 8. */
typedef union itg_learner {
  unsigned char opaque[20 * sizeof(void*)];
  void* pointer; /* for alignment alone */
} itg_learner;
/* Bytes of memory and patch for 2 to 1024 classes and at most 2 to 4096 examples in all. Exact: one byte less is refused. */
itg_error itg_learner_measure(const itg_model* model, int32_t classes, int32_t examples, size_t* memory_bytes,
                              size_t* patch_bytes);
itg_error itg_learner_create(itg_learner* learner, const itg_model* model, int32_t classes, int32_t examples,
                             itg_span memory);
itg_error itg_learner_add(itg_learner* learner, const int8_t* features, int32_t of_class); /* copies them */
/* Writes the layer to `patch`, where the examples held out do not say that `in_use` (NULL: none) is better. */
itg_error itg_learner_finish(itg_learner* learner, itg_span patch, const itg_last_layer* in_use,
                             itg_learn_report* report);

#ifdef __cplusplus
}
#endif

#include "intaglio/c_calibrator.h"
