// The self-test of an exported model on this machine, and its helpers against the definition in double.
#include <cmath>
#include <cstdio>
#include <type_traits>

#include "cnn_model.h"

static_assert(std::is_same<cnn_output_0_element, ANSWER>::value, "");

alignas(ITG_MEMORY_ALIGNMENT) static uint8_t memory[CNN_MEMORY_BYTES];

static int expected_code(float x) {
  if (x != x) return CNN_INPUT_0_ZERO_POINT;
  const double rounded = std::nearbyint(static_cast<double>(x / CNN_INPUT_0_SCALE)) + CNN_INPUT_0_ZERO_POINT;
  return rounded < -128 ? -128 : rounded > 127 ? 127 : static_cast<int>(rounded);
}

int main() {
  if (const itg_error error = cnn_self_test(memory); error.status != ITG_kOk) {
    std::printf("self-test: status %d, value %lld, limit %lld\n", error.status,
                static_cast<long long>(error.value), static_cast<long long>(error.limit));
    return 1;
  }
  // Every half of a code, its neighbours, and what has no code.
  for (int half = -600; half <= 600; ++half) {
    const float middle = CNN_INPUT_0_SCALE * (static_cast<float>(half) * 0.5f);
    for (const float x : {middle, std::nextafter(middle, -1e30f), std::nextafter(middle, 1e30f)})
      if (cnn_input_0_quantize(x) != expected_code(x))
        return std::printf("quantize(%.9g)\n", static_cast<double>(x)), 1;
  }
  for (const float x : {std::nanf(""), INFINITY, -INFINITY, 3e38f, -3e38f, 0.0f})
    if (cnn_input_0_quantize(x) != expected_code(x))
      return std::printf("quantize(%.9g)\n", static_cast<double>(x)), 1;
  for (int code = -128; code <= 127; ++code) {
    const float real = CNN_INPUT_0_SCALE * static_cast<float>(code - CNN_INPUT_0_ZERO_POINT);
    if (cnn_input_0_dequantize(static_cast<int8_t>(code)) != real)
      return std::printf("dequantize(%d)\n", code), 1;
  }
#ifdef CNN_OUTPUT_0_SCALE
  for (int code = -128; code <= 127; ++code) {
    const float real = CNN_OUTPUT_0_SCALE * static_cast<float>(code - CNN_OUTPUT_0_ZERO_POINT);
    if (cnn_output_0_dequantize(static_cast<int8_t>(code)) != real)
      return std::printf("dequantize(%d)\n", code), 1;
  }
#endif
  const int32_t dims[] = CNN_INPUT_0_DIMS;
  long long elements = 1;
  for (const int32_t dim : dims) elements *= dim;
  if (elements != CNN_INPUT_0_ELEMENTS ||
      sizeof(cnn_input_0_element) * CNN_INPUT_0_ELEMENTS != CNN_INPUT_0_BYTES)
    return 1;
  std::puts("on_host: the self-test and the helpers are good");
  return 0;
}
