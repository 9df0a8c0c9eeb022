#include "runtime/liveness.h"

#include "runtime/overlap_check.h"

namespace intaglio {
namespace {

// Each node at its own time, each tensor whole.
struct FlatPlan {
  static constexpr bool kByRows = false;
  int32_t first_of(int32_t n) const { return n; }
  int32_t last_of(int32_t n) const { return n; }
  uint32_t bytes(const Model& model, int32_t tensor) const {
    return static_cast<uint32_t>(model.tensor(tensor).bytes());
  }
};

bool leaves_model(const Model& model, int32_t tensor) {
  for (const int32_t output : model.outputs())
    if (output == tensor) return true;
  for (int32_t i = 0; i < model.state_count(); ++i)
    if (model.state(i).output == tensor) return true;
  return false;
}

}  // namespace

int32_t writer_of(const Model& model, int32_t tensor) {
  int32_t first = 0, end = model.node_count();
  while (first < end) {
    const int32_t middle = first + (end - first) / 2;
    const Span<const int32_t> outputs = model.node_outputs(middle);
    if (tensor < outputs[0]) {
      end = middle;
    } else if (tensor > outputs[outputs.size - 1]) {
      first = middle + 1;
    } else {
      for (const int32_t output : outputs)
        if (output == tensor) return middle;
      break;
    }
  }
  return -1;
}

int32_t last_use(const Model& model, int32_t tensor, int32_t written_at) {
  if (leaves_model(model, tensor)) return model.node_count();
  for (int32_t n = model.node_count() - 1; n > written_at; --n)
    for (const int32_t input : model.node_inputs(n))
      if (input == tensor) return n;
  return written_at;
}

Error check_overlaps(const Model& model, OpList ops, uint16_t* memory) {
  return OverlapCheck<FlatPlan>(model, ops, memory, {}).check();
}

}  // namespace intaglio
