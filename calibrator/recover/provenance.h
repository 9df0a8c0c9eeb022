// What a file says of its calibration: method, options and recoveries, and the samples.
#pragma once

#include "calibrator/recover/recovery.h"

namespace intaglio {

// In CalibrationInfo::options where equalization has stayed: activations inside are those of the FP32 model with channels
// scaled.
inline constexpr char kChannelsScaled[] = "channels scaled";
// The same where bias absorption has stayed.
inline constexpr char kChannelsShifted[] = "channels shifted";

// Of the model that would be baked now; or what the caller gave (CalibratorOptions::provenance).
class Provenance {
 public:
  explicit Provenance(const RecoveryContext& context);
  const CalibrationInfo& info() const { return info_; }

 private:
  void describe_options(const RecoveryContext& context);
  void add(const char* words);

  char text_[161];
  size_t length_ = 0;
  CalibrationInfo info_;
};

}  // namespace intaglio
