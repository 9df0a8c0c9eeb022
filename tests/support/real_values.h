// Real numbers into a running model and out of it, whatever stands at its ends: FP32 or int8 codes.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/model_builder.h"

namespace intaglio::test {

// Sets input `i`: as it is, or as the nearest codes.
inline void set_real_input(RunningModel& model, const std::vector<float>& values, int32_t i = 0) {
  const TensorInfo in = model.session().input(i).info;
  if (in.dtype != DType::kS8) return model.set_input(values, i);
  std::vector<int8_t> codes;
  for (const float value : values)
    codes.push_back(static_cast<int8_t>(std::clamp(
        std::nearbyint(value / in.quantization.scales[0]) + static_cast<float>(in.quantization.zero_point),
        -128.0f, 127.0f)));
  model.set_input(codes, i);
}

inline std::vector<float> real_output(RunningModel& model, int32_t i = 0) {
  const TensorInfo out = model.session().output(i).info;
  if (out.dtype != DType::kS8) return model.output<float>(i);
  std::vector<float> values;
  for (const int8_t code : model.output<int8_t>(i))
    values.push_back(out.quantization.scales[0] * static_cast<float>(code - out.quantization.zero_point));
  return values;
}

// Sets input 0, runs, gives output 0.
inline std::vector<float> run_reals(RunningModel& model, const std::vector<float>& values) {
  set_real_input(model, values);
  model.session().run();
  return real_output(model);
}

}  // namespace intaglio::test
