// Any bytes: refused, or safe to run. The checksum is passed over, so that what lies behind it is reached.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "intaglio/describe.h"
#include "intaglio/session.h"
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

// Multiply-accumulates that a model may ask for here; a fuzzer waits for no larger one.
bool is_small(const Model& model) {
  int64_t work = 0;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    const int64_t taps = int64_t{node.options.window.kernel_h} * node.options.window.kernel_w;
    const int64_t outputs = model.tensor(node.outputs[0]).shape.elements();
    const int64_t inputs = node.inputs[0] < 0 ? 1 : model.tensor(node.inputs[0]).shape.back(0);
    if (taps > 4096 || outputs > (1 << 20) || inputs > (1 << 20)) return false;
    work += taps * outputs / 16 * inputs;
  }
  return work < (int64_t{1} << 22);
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
  const Result<SessionNeeds> needs = Session::measure(*model, all_ops());
  if (!needs) {
    describe_error(needs.error(), &*model);
    return 0;
  }
  if (needs->total() > (size_t{16} << 20) || !is_small(*model)) return 0;
  const Memory memory = allocate(needs->total());
  if (memory == nullptr) return 0;
  memset(memory.get(), 0x5a, needs->total());
  Result<Session> session =
      Session::create(*model, all_ops(), Session::split({memory.get(), needs->total()}, *needs));
  if (!session) {
    describe_error(session.error(), &*model);
    return 0;
  }
  for (int run = 0; run < 2; ++run) {
    for (size_t i = 0; i < model->inputs().size; ++i) {
      const TensorView input = session->input(static_cast<int32_t>(i));
      memset(input.data, run == 0 ? 0 : 0x7f, input.info.bytes());
    }
    session->run();
    for (size_t i = 0; i < model->outputs().size; ++i) {
      const TensorView output = session->output(static_cast<int32_t>(i));
      fuzz::check_written(output.data, output.info.bytes());
    }
  }
  return 0;
}
