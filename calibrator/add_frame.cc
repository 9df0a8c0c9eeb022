// Calibrator::add_frame: apart from add(), so that a program without frames links none of their code.
#include "calibrator/calibration.h"

namespace intaglio {

Error Calibrator::add_frame(const Frame& frame, Span<uint8_t> scratch) {
  Calibration& calibration = *parts_;
  const Model& model = calibration.fp32.model;
  if (model.inputs().size != 1)
    return {Status::kSampleCount, -1, -1, 1, static_cast<int64_t>(model.inputs().size)};
  struct Given {
    const Model& model;
    const Frame& frame;
    Span<uint8_t> scratch;
    Error error;
  } given{model, frame, scratch, kNoError};
  SampleSource source;
  source.load = [](void* context, int32_t, Span<const Span<uint8_t>> places) {
    Given& g = *static_cast<Given*>(context);
    const TensorView input{g.model.tensor(g.model.inputs()[0]), places[0].data};
    g.error = write_frame(g.model.image(0), input, g.frame, g.scratch);
    return g.error.ok();
  };
  source.context = &given;
  source.count = 1;
  const Error error = add_sample(calibration, source);
  return given.error.ok() ? error : given.error;
}

}  // namespace intaglio
