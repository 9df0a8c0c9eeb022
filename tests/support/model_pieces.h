// A few nodes of a model as a model of their own: a fuzzer meets each operator, and pays for its neighbours alone.
#pragma once

#include <algorithm>
#include <vector>

#include "tests/support/model_object.h"

namespace intaglio::test {

// A tensor that nodes read and do not make is an input, one that none reads is an output. States, pictures, packs and streamed
// plans stay behind.
inline AlignedBytes piece_of(const AlignedBytes& whole, size_t first, size_t count) {
  const auto from = unpack(whole);
  ModelT piece;
  piece.format_version = from->format_version;
  piece.min_reader = from->min_reader;
  piece.blocked_sums = from->blocked_sums;
  for (size_t n = first; n < std::min(first + count, from->nodes.size()); ++n)
    piece.nodes.push_back(std::move(from->nodes[n]));
  std::vector<int32_t> is_read(from->tensors.size(), 0), is_made(is_read), number(is_read);
  for (const auto& node : piece.nodes) {
    for (const int32_t t : node->inputs)
      if (t >= 0) is_read[static_cast<size_t>(t)] = 1;
    for (const int32_t t : node->outputs) is_made[static_cast<size_t>(t)] = 1;
  }
  for (size_t t = 0; t < number.size(); ++t) {
    if (is_read[t] == 0 && is_made[t] == 0) continue;
    number[t] = static_cast<int32_t>(piece.tensors.size());
    piece.tensors.push_back(std::move(from->tensors[t]));
    int32_t& buffer = piece.tensors.back()->buffer;
    if (buffer >= 0) {
      piece.buffers.push_back(copy_of(from->buffers[static_cast<size_t>(buffer)]));
      buffer = static_cast<int32_t>(piece.buffers.size()) - 1;
      continue;
    }
    if (is_made[t] == 0) piece.inputs.push_back(number[t]);
    if (is_read[t] == 0) piece.outputs.push_back(number[t]);
  }
  for (const auto& node : piece.nodes)
    for (std::vector<int32_t>* const list : {&node->inputs, &node->outputs})
      for (int32_t& t : *list) t = t < 0 ? t : number[static_cast<size_t>(t)];
  piece.plan = std::make_unique<schema::PlanT>();
  piece.plan->offsets.assign(piece.tensors.size(), intaglio::Model::kNoOffset);
  place_apart(piece);
  return pack(piece);
}

// All nodes of a model, `count` a piece.
inline std::vector<AlignedBytes> pieces_of(const AlignedBytes& whole, size_t count) {
  std::vector<AlignedBytes> pieces;
  const auto nodes = static_cast<size_t>(Model::open(whole.view())->node_count());
  for (size_t first = 0; first < nodes; first += count) pieces.push_back(piece_of(whole, first, count));
  return pieces;
}

}  // namespace intaglio::test
