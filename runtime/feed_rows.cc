// Session::feed_rows: pictures that come row by row.
#include <cstring>

#include "intaglio/session.h"
#include "runtime/op.h"
#include "runtime/streaming/streamed_model.h"
#include "runtime/streaming/streaming_hooks.h"

namespace intaglio {
namespace {

// The recipe of the model's first input; without channels where it has none.
ImageInput recipe_of(const Model& model) {
  for (int32_t i = 0; i < model.image_count(); ++i) {
    const ImageInput recipe = model.image(i);
    if (recipe.input == 0) return recipe;
  }
  return {};
}

// One row: `elements` values, the channels of a pixel side by side. As image_input.h defines them.
void put_row(const ImageInput& recipe, DType dtype, const uint8_t* row, size_t bytes, size_t elements,
             uint8_t* place) {
  const auto channels = static_cast<size_t>(recipe.channels);
  if (channels == 0) {
    memcpy(place, row, bytes);
  } else if (dtype == DType::kS8) {
    for (size_t c = 0; c < channels; ++c) {
      const int8_t* const table = recipe.table.data + c * 256;
      for (size_t i = c; i < elements; i += channels) place[i] = static_cast<uint8_t>(table[row[i]]);
    }
  } else {
    auto* const values = reinterpret_cast<float*>(place);
    for (size_t c = 0; c < channels; ++c)
      for (size_t i = c; i < elements; i += channels)
        values[i] = (static_cast<float>(row[i]) - recipe.mean[c]) * recipe.norm[c];
  }
}

}  // namespace

bool Session::feed_rows(const uint8_t* rows, int32_t count) {
  if (model_.inputs().empty()) return false;
  const TensorView picture = input(0);
  const TensorInfo& info = picture.info;
  const ImageInput recipe = recipe_of(model_);
  const bool by_rows = info.shape.rank == 4 && info.shape[0] == 1 && info.shape[1] <= kMaxFedRows;
  const int32_t height = by_rows ? info.shape[1] : 1;
  const auto elements = static_cast<size_t>(info.shape.elements() / height);
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
    put_row(recipe, info.dtype, rows, row_bytes, elements,
            streams ? StreamedModel::streaming(model_)->place_of_fed_row(*this, run, row)
                    : static_cast<uint8_t*>(picture.data) + static_cast<size_t>(row) * row_bytes);
    rows += recipe.channels == 0 ? row_bytes : elements;
    if (streams) run_nodes(-1 - row, 0);
    if (row + 1 == height) streams ? move_states(StateMove::kStore) : this->run();
  }
  return fed_rows_ >= height;
}

}  // namespace intaglio
