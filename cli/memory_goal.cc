#include "cli/memory_goal.h"

#include <charconv>

#include "calibrator/host/stream_plan.h"
#include "calibrator/host/system/files.h"
#include "intaglio/session.h"
#include "intaglio/streaming.h"
#include "runtime/streaming/streamed_model.h"

namespace intaglio::cli {

void add_memory_option(CLI::App& app, std::string& word) {
  add_option(
      app, "--memory", word,
      "what activations may take: 'least', a number of bytes, or 'flat', layer by layer. See 'intaglio plan'")
      .checked(readable_by(memory_goal))
      .type_name("BYTES")
      .show_default();
}

Outcome<MemoryGoal> memory_goal(const std::string& word) {
  MemoryGoal goal;
  if (word == "least") return goal;
  if (word == "flat") return MemoryGoal::layer_by_layer();
  uint64_t bytes = 0;
  const char* const end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, bytes);
  if (error != std::errc() || rest != end || bytes == 0)
    return Failure{"--memory " + word + ": is neither 'least' nor 'flat' nor a number of bytes"};
  goal.most_bytes = bytes;
  return goal;
}

Result<Span<const uint8_t>> plan_for_goal(const Model& model, const MemoryGoal& goal, Arena& arena) {
  return goal.flat ? unstream_model(model, arena)
                   : stream_model(model, all_ops(), {goal.most_bytes, goal.feeds_rows}, arena);
}

Result<StreamedNeeds> streamed_needs(Span<const uint8_t> file) {
  const Result<Model> model = Model::open(file);
  if (!model) return model.error();
  if (!model->has_streamed_plan()) return StreamedNeeds();
  const Result<Model> by_rows = stream_rows(*model);
  if (!by_rows) return by_rows.error();
  const Result<SessionNeeds> needs = Session::measure(*by_rows, all_ops());
  if (!needs) return needs.error();
  FileBytes memory(needs->total());
  const Result<Session> session =
      Session::create(*by_rows, all_ops(), Session::split({memory.data(), memory.size()}, *needs));
  if (!session) return session.error();
  return StreamedNeeds{needs->activation_bytes, StreamedModel::feeding_segment(*by_rows).count != 0};
}

}  // namespace intaglio::cli
