#include "calibrator/replay.h"

#include <cstring>

namespace intaglio {
namespace {

constexpr size_t kMaxInputs = 256;  // the loader's limit

}  // namespace

Error Replay::load(int32_t i) {
  Span<uint8_t> inputs[kMaxInputs];
  const size_t count = fp32_.model().inputs().size;
  const uint8_t* golden = golden_.data;
  for (size_t k = 0; k < count; ++k) {
    const TensorView view = fp32_.input(static_cast<int32_t>(k));
    inputs[k] = {static_cast<uint8_t*>(view.data), view.info.bytes()};
    if (source_ == nullptr) memcpy(view.data, golden, view.info.bytes());
    golden += view.info.bytes();
  }
  if (source_ != nullptr && !source_->load(source_->context, i, {inputs, count}))
    return {Status::kSamplesDiffer, -1, -1, i};
  return kNoError;
}

Error Replay::check(const Digest& expected) {
  if (source_ == nullptr) return kNoError;
  Digest set;
  for (int32_t i = 0; i < count(); ++i) {
    if (const Error error = load(i); !error.ok()) return error;
    Sha256 sha;
    for (size_t k = 0; k < fp32_.model().inputs().size; ++k) {
      const TensorView view = fp32_.input(static_cast<int32_t>(k));
      sha.update(view.data, view.info.bytes());
    }
    add_to_set(set, sha.finish());
  }
  return set == expected ? kNoError : Error{Status::kSamplesDiffer, -1, -1, count()};
}

}  // namespace intaglio
