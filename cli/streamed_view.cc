#include "cli/streamed_view.h"

#include <algorithm>

#include "runtime/streaming/streamed_model.h"
#include "tools/loaded_model.h"

namespace intaglio::cli {
namespace {

// Which part of a tensor's rows stand in memory: "###.............", 16 characters.
std::string drawn_rows(int32_t rows, int32_t all) {
  constexpr int32_t kWidth = 16;
  const int32_t filled = std::max(1, static_cast<int32_t>(int64_t{rows} * kWidth / all));
  return std::string(static_cast<size_t>(filled), '#') +
         std::string(static_cast<size_t>(kWidth - filled), '.');
}

int32_t tensor_of(const Model& streamed, const SegmentInfo& segment, int32_t i) {
  return i == kPictureWalk ? streamed.inputs()[0] : StreamedModel::outputs(streamed, segment.first + i)[0];
}

struct Place {
  int32_t rows, height;
  uint32_t bytes;
};

// Of the output of the segment's node `i`, or of the picture that it takes by rows (kPictureWalk).
Place place_of(const Model& streamed, const SegmentInfo& segment, int32_t i) {
  const int32_t node = i == kPictureWalk ? -1 : segment.first + i, tensor = tensor_of(streamed, segment, i);
  const Shape shape = streamed.tensor(tensor).shape;
  const int32_t height = shape.rank == 4 ? shape[1] : 1, rows = walk_of(segment, i).rows;
  return {rows > 0 ? rows : height, height, StreamedModel::place_bytes(streamed, tensor, node)};
}

// What stands in the first line.
int32_t first_walk(const SegmentInfo& segment) { return segment.picture_rows != 0 ? kPictureWalk : 0; }

}  // namespace

Json json_of_streamed(const Model& model, bool with_tensors) {
  if (!model.has_streamed_plan()) return nullptr;
  const Result<Model> streamed = StreamedModel::open(model);
  if (!streamed) return {{"problem", error_text(streamed.error(), &model)}};
  Json segments = Json::array();
  for (int32_t s = 0; s < StreamedModel::segment_count(*streamed); ++s) {
    const SegmentInfo segment = StreamedModel::segment(*streamed, s);
    Json json{{"first_node", segment.first},
              {"last_node", segment.first + segment.count - 1},
              {"band", segment.band},
              {"feeds_rows", segment.picture_rows != 0}};
    for (int32_t i = first_walk(segment); with_tensors && i < segment.count; ++i) {
      const int32_t tensor = tensor_of(*streamed, segment, i);
      const Place place = place_of(*streamed, segment, i);
      json["tensors"].push_back({{"name", model.tensor(tensor).name},
                                 {"offset", streamed->activation_offset(tensor)},
                                 {"bytes", place.bytes},
                                 {"rows", place.rows},
                                 {"all_rows", place.height}});
    }
    segments.push_back(json);
  }
  return {{"arena_bytes", streamed->activation_bytes()}, {"segments", segments}};
}

void print_streamed_summary(const Model& model) {
  if (!model.has_streamed_plan()) return;
  const Result<Model> streamed = StreamedModel::open(model);
  if (!streamed) return print("  %-14s %s\n", "by rows", error_text(streamed.error(), &model).c_str());
  const int32_t segments = StreamedModel::segment_count(*streamed);
  print("  %-14s %s bytes of arena with --streamed, in %d %s; layer by layer %s\n", "by rows",
        grouped(streamed->activation_bytes()).c_str(), segments, segments == 1 ? "segment" : "segments",
        grouped(model.activation_bytes()).c_str());
}

void print_streamed_plan(const Model& model) {
  const Result<Model> streamed = StreamedModel::open(model);
  if (!model.has_streamed_plan() || !streamed) return;
  for (int32_t s = 0; s < StreamedModel::segment_count(*streamed); ++s) {
    const SegmentInfo segment = StreamedModel::segment(*streamed, s);
    print("\nby rows: nodes %d to %d, %d %s at a step\n", segment.first, segment.first + segment.count - 1,
          segment.band, segment.band == 1 ? "row" : "rows");
    Table table({"tensor", "in memory", "offset", "bytes", "rows", "of", "node"}, 2);
    for (int32_t i = first_walk(segment); i < segment.count; ++i) {
      const int32_t tensor = tensor_of(*streamed, segment, i);
      const Place place = place_of(*streamed, segment, i);
      table.add({model.tensor(tensor).name, drawn_rows(place.rows, place.height),
                 grouped(streamed->activation_offset(tensor)), grouped(place.bytes),
                 grouped(static_cast<uint64_t>(place.rows)), grouped(static_cast<uint64_t>(place.height)),
                 i == kPictureWalk ? "fed" : std::to_string(segment.first + i)});
    }
    table.print();
  }
}

}  // namespace intaglio::cli
