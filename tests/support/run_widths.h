// A model's output, run alone, by an executor of several widths, and as a session planned beforehand.
#pragma once

#include <doctest/doctest.h>

#include <numeric>

#include "runtime/op.h"
#include "tests/support/planned_session.h"

namespace intaglio::test {

using Dims = std::vector<int32_t>;

inline size_t elements(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), size_t{1},
                         [](size_t n, int32_t dim) { return n * static_cast<size_t>(dim); });
}

// An executor that runs its tasks from the last to the first.
inline void run_backwards(void*, int32_t count, void (*task)(void* argument, int32_t i), void* argument) {
  for (int32_t i = count - 1; i >= 0; --i) task(argument, i);
}

// Sessions may choose from: nothing but scalar kernels, then each instruction set of this machine with those before it.
inline std::vector<IsaMask> growing_isas() {
  const IsaMask all = cpu_isa() & kCompiledIsa;
  std::vector<IsaMask> masks = {isa::kScalar};
  for (IsaMask bit = 1; bit != 0; bit <<= 1)
    if ((all & bit) != 0) masks.push_back(all & (bit | (bit - 1)));
  return masks;
}

// The model's output, which neither instruction sets, nor a width, nor planning beforehand changes.
template <typename Out, typename In>
std::vector<Out> run_widths(ModelBuilder& b, const std::vector<std::vector<In>>& inputs) {
  const AlignedBytes file = b.finish();
  std::vector<Out> first;
  for (const IsaMask isa : growing_isas())
    for (const int32_t width : {1, 3}) {
      SessionOptions options;
      options.isa = isa;
      if (width > 1) options.executor = {nullptr, width, run_backwards};
      RunningModel model(AlignedBytes(file.view()), all_ops(), options);
      REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
      for (size_t i = 0; i < inputs.size(); ++i) model.set_input(inputs[i], static_cast<int32_t>(i));
      model.session().run();
      const std::vector<Out> found = model.output<Out>();
      if (first.empty()) first = found;
      REQUIRE(found.size() == first.size());
      REQUIRE(memcmp(found.data(), first.data(), first.size() * sizeof(Out)) == 0);
    }
  for (const IsaMask isa : growing_isas()) {
    PlannedSession planned(file.view(), {isa, false});
    REQUIRE_MESSAGE(planned.error().ok(), text_of(planned.error()));
    for (const PlannedNode& node : planned.plan().nodes)  // numbers are told from each other by names
      REQUIRE((planned.plan().ops[node.op]->kernel_name != nullptr || node.kernel == 0));
    for (size_t i = 0; i < inputs.size(); ++i)
      memcpy(planned.session().input(static_cast<int32_t>(i)).data, inputs[i].data(),
             inputs[i].size() * sizeof(In));
    planned.session().run();
    const Span<Out> found = planned.session().output().template as<Out>();
    REQUIRE(found.size == first.size());
    REQUIRE(memcmp(found.data, first.data(), first.size() * sizeof(Out)) == 0);
  }
  return first;
}

}  // namespace intaglio::test
