// Models whose fields are changed as the data say, with the CRC made anew: refused, or safe to run, with the same outputs
// from the scalar kernels, this machine's best and by rows, twice.
#include <cstdlib>

#include "intaglio/describe.h"
#include "intaglio/streaming.h"
#include "intaglio/two_memories.h"
#include "runtime/streaming/streamed_model.h"
#include "tests/fuzz/changed_model.h"
#include "tests/fuzz/small_work.h"
#include "tests/fuzz/written.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

constexpr int64_t kMostWork = int64_t{1} << 17;  // more is right, but slow

// Every output of a run, bytes behind each other; empty where the session is refused. `fed`: the first input comes by rows. `in_two`: the
// activations lie in two memories, the fast one last.
std::vector<uint8_t> outputs_of(const Model& model, IsaMask isa, bool fed, Error* error,
                                bool in_two = false) {
  SessionOptions options;
  options.isa = isa;
  const Result<SessionNeeds> needs =
      in_two ? TwoMemories::measure(model, all_ops(), options) : Session::measure(model, all_ops(), options);
  *error = needs.error();
  if (!needs || needs->total() > (size_t{16} << 20)) return {};
  AlignedBytes fast(in_two ? model.fast_bytes() : 0);
  fuzz::make_unwritten(fast.data(), fast.size());
  AlignedBytes memory(needs->total());
  fuzz::make_unwritten(memory.data(), memory.size());
  const SessionMemory parts = Session::split(memory.span(), *needs);
  Result<Session> session = in_two ? TwoMemories::create(model, all_ops(), parts, fast.span(), options)
                                   : Session::create(model, all_ops(), parts, options);
  *error = session.error();
  if (!session) return {};
  std::vector<uint8_t> outputs, picture;
  for (int32_t run = 0; run < 2; ++run) {
    for (size_t i = 0; i < model.inputs().size; ++i) {
      const TensorView input = session->input(static_cast<int32_t>(i));
      std::vector<uint8_t> bytes(input.info.bytes());
      for (size_t at = 0; at < bytes.size(); ++at)
        bytes[at] = run == 0 ? static_cast<uint8_t>(0) : static_cast<uint8_t>(at * 37 + 11);
      if (fed && i == 0)
        picture = bytes;
      else
        memcpy(input.data, bytes.data(), bytes.size());
    }
    session->begin_picture();
    if (!fed) session->run();
    if (fed && !session->feed_rows(picture.data(), INT32_MAX)) std::abort();
    for (size_t i = 0; i < model.outputs().size; ++i) {
      const TensorView output = session->output(static_cast<int32_t>(i));
      fuzz::check_written(output.data, output.info.bytes());
      const auto* const bytes = static_cast<const uint8_t*>(output.data);
      outputs.insert(outputs.end(), bytes, bytes + output.info.bytes());
    }
  }
  return outputs;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const AlignedBytes bytes = changed_model(data, size);
  const Result<Model> opened = Model::open(bytes.view());
  if (!opened) {
    (void)text_of(opened.error());
    return 0;
  }
  // Before any operator has looked at its node: whoever opens a model may ask for its rows at once.
  const Result<Model> by_rows = stream_rows(*opened);
  if (!by_rows) (void)text_of(by_rows.error(), &*opened);
  if (!fuzz::is_small(*opened, kMostWork)) return 0;
  Error scalar_error, best_error;
  const std::vector<uint8_t> scalar = outputs_of(*opened, isa::kScalar, false, &scalar_error);
  const std::vector<uint8_t> best = outputs_of(*opened, isa::kAll, false, &best_error);
  if (!scalar_error.ok()) (void)text_of(scalar_error, &*opened);
  // A pack of this machine's kernel may be refused where the scalar kernels pass it over.
  if (best_error.status != Status::kBadPack && (scalar_error.status != best_error.status || scalar != best))
    std::abort();
  // In two memories it is refused, or gives the same.
  const auto check_two = [](const Model& model, bool is_fed, const std::vector<uint8_t>& in_one) {
    Error error;
    const std::vector<uint8_t> found = outputs_of(model, isa::kScalar, is_fed, &error, true);
    if (!error.ok()) (void)text_of(error, &model);
    const bool may_refuse = error.status == Status::kPlanCrosses || error.status == Status::kPlanAlignment ||
                            error.status == Status::kPlanOffset || error.status == Status::kAboveCeiling ||
                            error.status == Status::kMemoryApart;
    if (error.ok() ? found != in_one : !may_refuse) std::abort();
  };
  if (scalar_error.ok() && !scalar.empty()) check_two(*opened, false, scalar);
  if (!opened->has_streamed_plan() || !scalar_error.ok()) return 0;
  // A streamed plan is refused, or gives what the flat one gives.
  if (!by_rows) return 0;
  const bool fed = StreamedModel::feeding_segment(*by_rows).count != 0;
  const std::vector<uint8_t> expected = fed ? outputs_of(*opened, isa::kScalar, true, &scalar_error) : scalar;
  for (const IsaMask isa : {isa::kScalar, isa::kAll}) {
    Error error;
    const std::vector<uint8_t> streamed = outputs_of(*by_rows, isa, fed, &error);
    if (!error.ok()) (void)text_of(error, &*opened);
    if (error.ok() && streamed != expected) std::abort();
    if (error.ok() && isa == isa::kScalar) check_two(*by_rows, fed, expected);
  }
  return 0;
}
