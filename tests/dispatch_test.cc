// The instruction set that was meant is the one that ran. INTAGLIO_EXPECTED_ISA names the best one that this
// CPU has; the tests of an emulated CPU set it (tests/emulated).
#include <doctest/doctest.h>

#include <cstdio>
#include <sstream>

#include "kernels/compiled_isa.h"
#include "kernels/dwconv/dwconv_f32.h"
#include "kernels/dwconv/dwconv_s8.h"
#include "kernels/gemm/gemm_f32.h"
#include "kernels/gemm/gemm_s8.h"
#include "tests/support/small_models.h"

namespace intaglio::test::dispatch_test {
namespace {

std::string best_of(IsaMask mask) {
  std::string best;
  for (const IsaName& isa : kIsaNames)
    if ((isa.bit & ~mask) == 0) best = isa.name;
  return best;
}

// A model of one int8 convolution, [1, 4, 4, 16] to as many channels.
AlignedBytes convolution() {
  ModelBuilder b;
  Random random(3);
  const int32_t x = b.tensor("x", DType::kS8, {1, 4, 4, 16}, 0.1f),
                y = b.tensor("y", DType::kS8, {1, 4, 4, 16}, 0.2f);
  const int32_t w = b.constant<int8_t>("w", DType::kS8, {16, 1, 1, 16}, random.codes(256),
                                       std::vector<float>(16, 0.01f), 0);
  b.input(x);
  b.output(y);
  b.node(Op::kConv2d, {x, w}, {y});
  return b.finish();
}

}  // namespace

TEST_CASE("a session runs the kernels of the best instruction set") {
  const IsaMask mask = cpu_isa() & kCompiledIsa;
  const std::string best = best_of(mask);
  if (const char* const expected = std::getenv("INTAGLIO_EXPECTED_ISA")) CHECK(best == expected);
  RunningModel model(convolution());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
  const std::string chosen = model.session().kernel_name(0);
  CHECK(chosen == "gemm_s8_" + best_of(mask & ~isa::kAvx512Vbmi));  // which has tables alone
  SessionOptions scalar;
  scalar.isa = isa::kScalar;
  RunningModel narrowed(convolution(), all_ops(), scalar);
  CHECK(std::string(narrowed.session().kernel_name(0)) == "gemm_s8_scalar");
  std::printf("%s; depthwise %s; FP32 %s, %s\n", chosen.c_str(),
              dwconv_s8_kernel(dwconv_s8_select(mask, 1)).name, gemm_f32_kernel(gemm_f32_select(mask)).name,
              dwconv_f32_kernel(dwconv_f32_select(mask, 1)).name);
}

TEST_CASE("the build's kernels are those that its configuration names") {
  std::istringstream names(ITG_KERNEL_ISAS);
  IsaMask expected = isa::kScalar;
  for (std::string name; names >> name;) {
    const IsaMask before = expected;
#define ITG_ISA(isa_name, constant, ...) \
  if (name == #isa_name) expected |= isa::constant;
#define ITG_DIGEST_ISA ITG_ISA
#include "intaglio/isa_list.inc"
#undef ITG_DIGEST_ISA
#undef ITG_ISA
    CHECK_MESSAGE(expected != before, name);
  }
  CHECK(kCompiledIsa == expected);
}

TEST_CASE("no two instruction sets share a bit, and each family has eight bits of its own") {
  IsaMask seen = isa::kScalar;
  std::string families[4];
#define ITG_ISA(name, constant, bit, family, ...)                    \
  CHECK((seen & isa::constant) == 0);                                \
  seen |= isa::constant;                                             \
  CHECK((families[bit / 8].empty() || families[bit / 8] == family)); \
  families[bit / 8] = family;
#define ITG_DIGEST_ISA ITG_ISA
#include "intaglio/isa_list.inc"
#undef ITG_DIGEST_ISA
#undef ITG_ISA
  CHECK(families[0] == "x86");
  CHECK(families[1] == "arm");
  CHECK(families[2] == "cortex-m");
}

TEST_CASE("what is chosen is compiled and allowed") {
  for (const IsaName& isa : kIsaNames) {
    const IsaMask mask = isa.bit & kCompiledIsa;
    const GemmS8Kernel& gemm = gemm_s8_kernel(gemm_s8_select(mask));
    const DwconvS8Kernel& dwconv = dwconv_s8_kernel(dwconv_s8_select(mask, 1));
    const GemmF32Kernel& gemm_f32 = gemm_f32_kernel(gemm_f32_select(mask));
    const DwconvF32Kernel& dwconv_f32 = dwconv_f32_kernel(dwconv_f32_select(mask, 1));
    CAPTURE(isa.name);
    CHECK((gemm.function != nullptr && (gemm.isa & ~mask) == 0));
    CHECK((dwconv.function != nullptr && (dwconv.isa & ~mask) == 0));
    CHECK((gemm_f32.function != nullptr && (gemm_f32.isa & ~mask) == 0));
    CHECK((dwconv_f32.function != nullptr && (dwconv_f32.isa & ~mask) == 0));
  }
}

TEST_CASE("ARM's masks, from any machine") {
  const auto gemm = [](IsaMask mask) { return std::string(gemm_s8_kernel(gemm_s8_select(mask)).name); };
  const IsaMask neon = isa::kNeon, dot = neon | isa::kNeonDot, i8mm = dot | isa::kNeonI8mm;
  CHECK(gemm(neon) == "gemm_s8_neon");
  CHECK(gemm(dot) == "gemm_s8_neondot");
  CHECK(gemm(i8mm) == "gemm_s8_neoni8mm");
  CHECK(gemm(neon | isa::kNeonA53) == "gemm_s8_neona53");
  CHECK(gemm(dot | isa::kNeonA55) == "gemm_s8_neona55");
  CHECK(gemm((dot | isa::kNeonA55) & ~isa::kNeonA55) == "gemm_s8_neondot");
  CHECK(std::string(dwconv_s8_kernel(dwconv_s8_select(i8mm, 1)).name) == "dwconv_s8_neon");
  CHECK(std::string(dwconv_s8_kernel(dwconv_s8_select(i8mm, 2)).name) == "dwconv_s8_scalar");
  CHECK(std::string(gemm_f32_kernel(gemm_f32_select(i8mm)).name) == "gemm_f32_neon");
  CHECK(std::string(dwconv_f32_kernel(dwconv_f32_select(i8mm, 1)).name) == "dwconv_f32_neon");
}

TEST_CASE("Cortex-M's masks, from any machine") {
  const auto gemm = [](IsaMask mask) { return std::string(gemm_s8_kernel(gemm_s8_select(mask)).name); };
  const auto dwconv = [](IsaMask mask) {
    return std::string(dwconv_s8_kernel(dwconv_s8_select(mask, 1)).name);
  };
  CHECK(gemm(isa::kDsp) == "gemm_s8_dsp");
  CHECK(dwconv(isa::kDsp) == "dwconv_s8_dsp");
  CHECK(gemm(isa::kDsp | isa::kHelium) == "gemm_s8_helium");
  CHECK(dwconv(isa::kDsp | isa::kHelium) == "dwconv_s8_helium");
}

}  // namespace intaglio::test::dispatch_test
