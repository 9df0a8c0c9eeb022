// Session::feed_rows: pictures that come row by row.
#include <cstring>

#include "intaglio/session.h"
#include "runtime/op.h"
#include "runtime/picture_rows.h"
#include "runtime/streaming/streamed_model.h"

namespace intaglio {
namespace {

bool has_rows(const Shape& shape) { return shape.rank == 4 && shape[0] == 1 && shape[1] <= kMaxFedRows; }

// The size of a row, which is the whole input where it has no rows.
int32_t elements_of_row(const Shape& shape) {
  return has_rows(shape) ? shape[2] * shape[3] : static_cast<int32_t>(shape.elements());
}

// A function of its own, so that its loops keep all they need in registers.
__attribute__((noinline)) void put_row(const ImageInput& recipe, const TensorInfo& info, const uint8_t* row,
                                       uint8_t* place) {
  const int32_t elements = elements_of_row(info.shape);
  if (recipe.channels == 0)
    memcpy(place, row, static_cast<size_t>(elements) * element_bytes(info.dtype));
  else
    put_pixels(recipe, info.dtype, elements, row, place);
}

}  // namespace

bool Session::feed_rows(const uint8_t* rows, int32_t count) {
  if (model_.inputs().empty()) return false;
  const TensorView picture = input(0);
  const TensorInfo& info = picture.info;
  const ImageInput recipe = recipe_of_fed_input(model_);
  const int32_t height = has_rows(info.shape) ? info.shape[1] : 1;
  const auto elements = static_cast<size_t>(elements_of_row(info.shape));
  const size_t row_bytes = elements * element_bytes(info.dtype);
  const bool streams = kStreams && picture.data == nullptr;  // there is a line buffer for it
  NodeRun run;
  run.model = &model_;
  run.activations = memory_.activations.data;
  for (; count > 0 && fed_rows_ < height; --count) {
    const int32_t row = fed_rows_++;
    if (streams && row == 0) {
      move_states(StateMove::kLoad);
      const Observer& observer = options_.observer;
      for (int32_t i = 1; observer.on_tensor != nullptr && i < static_cast<int32_t>(model_.inputs().size);
           ++i)
        observer.on_tensor(observer.context, -1, model_.inputs()[static_cast<size_t>(i)], input(i));
    }
    put_row(recipe, info, rows,
            streams ? StreamedModel::streaming(model_)->place_of_fed_row(*this, run, row)
                    : static_cast<uint8_t*>(picture.data) + static_cast<size_t>(row) * row_bytes);
    rows += recipe.channels == 0 ? row_bytes : elements;
    if (streams) run_nodes(-1 - row, 0);
    if (row + 1 == height) streams ? move_states(StateMove::kStore) : this->run();
  }
  return fed_rows_ >= height;
}

}  // namespace intaglio
