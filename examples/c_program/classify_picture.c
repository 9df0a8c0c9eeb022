/* A picture to a class, in C99.
 *
 *   classify_picture NET.itg PICTURE.rgb WIDTH HEIGHT      rows of RGB bytes
 *
 * The whole interface is intaglio/c_api.h. Handles stand in the caller's memory, and nothing of the library has to be
 * freed. On a board the file stands in flash, and the memory is a static array of needs.total_bytes bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "intaglio/c_api.h"

#define MOST_BYTES (1L << 30) /* of a file; the end of a folder is said to be farther away */

/* What malloc gave: the file, the session's memory, the picture, rows of it. */
static void* blocks[4];
static size_t block_count = 0;

/* malloc aligns less than a model and a session want. */
static itg_span aligned_block(size_t bytes) {
  itg_span span = {NULL, bytes};
  uint8_t* const start = malloc(bytes + ITG_MEMORY_ALIGNMENT);
  if (start == NULL) {
    fprintf(stderr, "this machine has too little memory\n");
    exit(1);
  }
  blocks[block_count++] = start;
  span.data = start + (ITG_MEMORY_ALIGNMENT - (uintptr_t)start % ITG_MEMORY_ALIGNMENT) % ITG_MEMORY_ALIGNMENT;
  return span;
}

static itg_span read_file(const char* path) {
  FILE* const file = fopen(path, "rb");
  itg_span bytes;
  long size = -1;
  if (file != NULL && fseek(file, 0, SEEK_END) == 0) size = ftell(file);
  if (size <= 0 || size > MOST_BYTES || fseek(file, 0, SEEK_SET) != 0) {
    fprintf(stderr, "%s: cannot be read, is empty, or is too large\n", path);
    exit(1);
  }
  bytes = aligned_block((size_t)size);
  if (fread(bytes.data, 1, bytes.size, file) != bytes.size) {
    fprintf(stderr, "%s: cannot be read\n", path);
    exit(1);
  }
  fclose(file);
  return bytes;
}

/* Ends the program where something was wrong; the sentence says what, and where. */
static void check(const char* path, itg_error error, const itg_model* model) {
  char text[256];
  if (error.status == ITG_kOk) return;
  itg_describe(&error, model, text, sizeof text);
  fprintf(stderr, "%s: %s\n", path, text);
  exit(1);
}

static float score(const itg_tensor* scores, size_t i) {
  if (scores->dtype == ITG_F32) return ((const float*)scores->data)[i];
  return scores->scales[0] * (float)(((const int8_t*)scores->data)[i] - scores->zero_point);
}

int main(int argc, char** argv) {
  itg_model model;
  itg_session session;
  itg_session_needs needs;
  itg_session_memory memory;
  itg_picture picture = {sizeof picture, 0, 0, ITG_PIXELS_RGB};
  itg_tensor scores;
  itg_span file, pixels, rows;
  size_t row_memory = 0, row_bytes, count, best = 0, i;
  if (argc != 5) {
    fprintf(stderr, "give NET.itg PICTURE.rgb WIDTH HEIGHT\n");
    return 1;
  }
  file = read_file(argv[1]);
  check(argv[1], itg_model_open(&model, file.data, file.size, NULL), NULL);
  memset(&needs, 0, sizeof needs);
  needs.struct_size = sizeof needs;
  check(argv[1], itg_session_measure(&model, itg_all_ops(), NULL, true, &needs), &model);
  memset(&scores, 0, sizeof scores);
  scores.struct_size = sizeof scores;
  if (itg_model_input_count(&model) != 1 || itg_model_output_count(&model) != 1) {
    fprintf(stderr, "%s: has not one input and one output\n", argv[1]);
    return 1;
  }
  itg_model_tensor(&model, itg_model_output(&model, 0), &scores);
  if (scores.dtype != ITG_F32 && (scores.dtype != ITG_S8 || scores.scale_count != 1)) {
    fprintf(stderr, "%s: its output gives no scores of classes\n", argv[1]);
    return 1;
  }
  memory = itg_session_split(aligned_block(needs.total_bytes), &needs);
  check(argv[1], itg_session_create(&session, &model, itg_all_ops(), &memory, NULL), &model);
  if (itg_model_image_count(&model) == 0) {
    fprintf(stderr, "%s: takes no picture; import it with --pixels\n", argv[1]);
    return 1;
  }

  pixels = read_file(argv[2]);
  picture.width = atoi(argv[3]);
  picture.height = atoi(argv[4]);
  check(argv[2], itg_image_measure(&model, 0, &picture, &row_memory), &model);
  rows = aligned_block(row_memory);
  row_bytes = (size_t)picture.width * 3;
  check(argv[2], itg_write_image(&session, 0, &picture, pixels.data, pixels.size, row_bytes, rows), &model);
  itg_session_run(&session); /* cannot fail */

  itg_session_output(&session, 0, &scores);
  count = scores.bytes / (scores.dtype == ITG_F32 ? sizeof(float) : 1);
  for (i = 1; i < count; ++i)
    if (score(&scores, i) > score(&scores, best)) best = i;
  printf("class %u, %g\n", (unsigned)best, (double)score(&scores, best));
  while (block_count > 0) free(blocks[--block_count]);
  return 0;
}
