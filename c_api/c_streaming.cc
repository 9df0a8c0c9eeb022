#include "c_api/c_handles.h"
#include "intaglio/streaming.h"

using namespace intaglio;

itg_error itg_stream_rows(itg_model* by_rows, const itg_model* model) {
  const Result<Model> streamed = stream_rows(model_in(model));
  put_object(by_rows, *streamed);
  return to_c(streamed.error());
}
