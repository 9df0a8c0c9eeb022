// The cases of tests/spec/make_vectors.py, one after another, and what a test of one needs.
#pragma once

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "intaglio/platform.h"
#include "kernels/compiled_isa.h"
#include "tests/support/model_builder.h"
#include "tests/support/vector_file.h"

namespace intaglio::test {

// Calls check(file) for each case of one function; says so where there are no vectors.
template <typename Check>
void for_each_case(const char* function, uint32_t arrays, Check check) {
  const char* const folder = std::getenv("INTAGLIO_VECTORS");
  if (folder == nullptr || *folder == '\0') {
    std::printf("skipped: %s (INTAGLIO_VECTORS names no folder of tests/spec/make_vectors.py)\n", function);
    return;
  }
  VectorFile file(std::string(folder) + "/" + function + ".bin");
  REQUIRE(file.arrays() == arrays);
  for (uint32_t i = 0; i < file.cases(); ++i) {
    CAPTURE(i);
    check(file);
  }
  CHECK(file.at_end());
}

// Reads the numbers of a parameter array in order.
class Numbers {
 public:
  explicit Numbers(std::vector<int32_t> values) : values_(std::move(values)) {}
  int32_t next() { return values_.at(at_++); }
  Window2d window() {  // kernel, stride, dilation, pads
    Window2d w;
    for (int32_t* const field : {&w.kernel_h, &w.kernel_w, &w.stride_h, &w.stride_w, &w.dilation_h,
                                 &w.dilation_w, &w.pad_top, &w.pad_left, &w.pad_bottom, &w.pad_right})
      *field = next();
    return w;
  }

 private:
  std::vector<int32_t> values_;
  size_t at_ = 0;
};

// The kernels of a family that this machine can run, as ISA masks: each family's list without its better
// ones.
template <typename Kernel>
std::vector<IsaMask> runnable(int32_t count, const Kernel& (*kernel)(int32_t)) {
  std::vector<IsaMask> masks;
  for (int32_t i = 0; i < count; ++i)
    if ((kernel(i).isa & ~(cpu_isa() & kCompiledIsa)) == 0) masks.push_back(kernel(i).isa);
  return masks;
}

inline void clamp_codes(GraphNode& node, int32_t lo, int32_t hi) {
  node.options.as<Clamp>().lo = lo;
  node.options.as<Clamp>().hi = hi;
}

// Runs the builder's model, which has one input or two.
template <typename Out, typename In>
std::vector<Out> run_model(ModelBuilder& b, const std::vector<In>& x, const std::vector<In>& second = {}) {
  RunningModel model(b.finish());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
  if (!second.empty()) model.set_input(second, 1);
  return model.run<Out>(x);
}

}  // namespace intaglio::test
