// Session::run_slice: a run in parts. Apart from run(), so that a program without it pays for nothing.
#include "intaglio/session.h"

namespace intaglio {

int32_t Session::run_slice(int32_t first, int32_t count) {
  if (first == 0) {
    move_states(StateMove::kLoad);
    const Observer& observer = options_.observer;
    for (size_t i = 0; i < model_.inputs().size && observer.on_tensor != nullptr; ++i) {
      const TensorView view = input(static_cast<int32_t>(i));
      if (view.data != nullptr) observer.on_tensor(observer.context, -1, model_.inputs()[i], view);
    }
  }
  const int32_t nodes = model_.node_count(), last = count < nodes - first ? first + count : nodes;
  run_nodes(first, last);
  if (last < nodes) return last;
  move_states(StateMove::kStore);
  return 0;
}

}  // namespace intaglio
