// Any bytes: refused, or safe to run. The checksum is passed over, so that what lies behind it is reached.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "intaglio/describe.h"
#include "intaglio/session.h"
#include "intaglio/streaming.h"
#include "tests/fuzz/small_work.h"
#include "tests/fuzz/written.h"

using namespace intaglio;

namespace {

struct Free {
  void operator()(uint8_t* bytes) const { std::free(bytes); }
};
using Memory = std::unique_ptr<uint8_t, Free>;

Memory allocate(size_t size) {
  void* place = nullptr;
  return Memory(posix_memalign(&place, kMemoryAlignment, size == 0 ? 1 : size) == 0
                    ? static_cast<uint8_t*>(place)
                    : nullptr);
}

void describe_error(const Error& error, const Model* model) {
  char text[300];
  describe(error, model, text, sizeof text);
}

void run_model(const Model& model) {
  const Result<SessionNeeds> needs = Session::measure(model, all_ops());
  if (!needs) {
    describe_error(needs.error(), &model);
    return;
  }
  if (needs->total() > (size_t{16} << 20) || !fuzz::is_small(model, int64_t{1} << 22)) return;
  const Memory memory = allocate(needs->total());
  if (memory == nullptr) return;
  fuzz::make_unwritten(memory.get(), needs->total());
  Result<Session> session =
      Session::create(model, all_ops(), Session::split({memory.get(), needs->total()}, *needs));
  if (!session) {
    describe_error(session.error(), &model);
    return;
  }
  for (int run = 0; run < 2; ++run) {
    for (size_t i = 0; i < model.inputs().size; ++i) {
      const TensorView input = session->input(static_cast<int32_t>(i));
      if (input.data != nullptr) memset(input.data, run == 0 ? 0 : 0x7f, input.info.bytes());
    }
    if (model.inputs().empty() || session->input().data != nullptr) session->run();
    // By rows in any case: more bytes than a picture has.
    if (!model.inputs().empty()) {
      const Memory picture = allocate(session->input().info.bytes());
      if (picture == nullptr) return;
      memset(picture.get(), run == 0 ? 0 : 0x7f, session->input().info.bytes());
      session->begin_picture();
      if (!session->feed_rows(picture.get(), INT32_MAX)) std::abort();
    }
    for (size_t i = 0; i < model.outputs().size; ++i) {
      const TensorView output = session->output(static_cast<int32_t>(i));
      fuzz::check_written(output.data, output.info.bytes());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Memory bytes = allocate(size);
  if (bytes == nullptr) return 0;
  if (size > 0) memcpy(bytes.get(), data, size);
  OpenOptions options;
  options.skip_checksum = true;
  const Result<Model> model = Model::open({bytes.get(), size}, options);
  if (!model) {
    describe_error(model.error(), nullptr);
    return 0;
  }
  // Before any operator has looked at its node.
  const Result<Model> by_rows = stream_rows(*model);
  if (!by_rows) describe_error(by_rows.error(), &*model);
  run_model(*model);
  if (model->has_streamed_plan() && by_rows) run_model(*by_rows);
  return 0;
}
