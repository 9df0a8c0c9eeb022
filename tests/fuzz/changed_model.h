// A model whose fields are changed as the data say, with the CRC made anew.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tests/support/fuzz_models.h"
#include "tests/support/model_fields.h"
#include "tests/support/model_pieces.h"

namespace intaglio::test {

// Whole models, and a few nodes each of those with every operator: FP32, int8 and 16 bits.
struct Seeds {
  Seeds() {
    for (const AlignedBytes& model : models) {
      if (Model::open(model.view())->node_count() < kMostNodes) continue;
      for (AlignedBytes& piece : pieces_of(model, 4)) {
        if (!Model::open(piece.view())) std::abort();
        pieces.push_back(std::move(piece));
      }
    }
  }
  const AlignedBytes& pick(Decisions& decisions) const {
    const std::vector<AlignedBytes>& list = decisions.below(8) == 0 ? models : pieces;
    return list[decisions.below(list.size())];
  }

  static constexpr int32_t kMostNodes = 40;  // beyond it a model is slow to change, check and run

  std::vector<AlignedBytes> models = fuzz_models(), pieces;
};

inline AlignedBytes changed_model(const uint8_t* data, size_t size) {
  static const Seeds seeds;
  Decisions decisions(data, size);
  const auto model = unpack(seeds.pick(decisions));
  const uint32_t how = decisions.byte();
  for (uint32_t i = 0; i <= how % 4 && !decisions.empty(); ++i) FieldChanges(*model, decisions).change();
  // Shapes that were changed find room, or do not.
  int64_t all = 0;
  for (const auto& tensor : model->tensors)
    all += tensor->buffer < 0 ? std::clamp<int64_t>(value_bytes(*tensor), 0, int64_t{1} << 30) : 0;
  if (how % 8 < 4 && model->plan != nullptr && all < (int64_t{1} << 30)) {
    model->plan->offsets.resize(model->tensors.size(), intaglio::Model::kNoOffset);
    place_apart(*model);
  }
  return pack(*model);
}

}  // namespace intaglio::test
