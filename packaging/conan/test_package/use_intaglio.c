/* Whether a package was put together well: the header's version is the library's, and bytes that are no model are refused. */
#include <stdio.h>
#include <string.h>

#include "intaglio/c_api.h"

int main(void) {
  static const uint8_t bytes[128] __attribute__((aligned(ITG_MODEL_ALIGNMENT))) = {0};
  itg_model model;
  const itg_error error = itg_model_open(&model, bytes, sizeof bytes, NULL);
  char text[200];
  itg_describe(&error, NULL, text, sizeof text);
  printf("intaglio %s: %s\n", itg_version(), text);
  return strcmp(itg_version(), ITG_VERSION) == 0 && error.status == ITG_kNotAModel ? 0 : 1;
}
