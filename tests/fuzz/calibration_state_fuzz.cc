// A calibration state with any of its bytes changed: refused, or a model comes of it that is finished and runs,
// or an error. The data are changes, four bytes each of place and of value; the checksum is made right again, so
// that what lies behind it is reached.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "intaglio/calibrator.h"
#include "runtime/crc32.h"
#include "tests/support/small_models.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

struct Bench {
  Bench() {
    const Result<CalibratorNeeds> needs = Calibrator::measure(model, options());
    memory = AlignedBytes(needs->total());
    calibrator = *Calibrator::create(model, memory.span(), options());
    for (const auto& sample : small_cnn_samples(3)) {
      const Span<const uint8_t> input{reinterpret_cast<const uint8_t*>(sample.data()),
                                      sample.size() * sizeof(float)};
      if (!calibrator.add({&input, 1}).ok()) std::abort();
    }
    state.resize(calibrator.state_bytes());
    if (!calibrator.save({state.data(), state.size()}).ok()) std::abort();
  }
  static CalibratorOptions options() {
    CalibratorOptions options;
    options.layer_report = false;
    return options;
  }

  AlignedBytes file = small_cnn();
  Model model = *Model::open(file.view());
  AlignedBytes memory;
  Calibrator calibrator;
  std::vector<uint8_t> state;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Bench bench;
  std::vector<uint8_t> state = bench.state;
  for (size_t at = 0; at + 8 <= size; at += 8) {
    uint32_t place;
    memcpy(&place, data + at, sizeof place);
    memcpy(state.data() + place % (state.size() - 7), data + at + 4, 4);
  }
  const uint32_t crc = crc32(0, state.data(), state.size() - sizeof crc);
  memcpy(state.data() + state.size() - sizeof crc, &crc, sizeof crc);
  if (!bench.calibrator.load({state.data(), state.size()}).ok()) return 0;
  if (bench.calibrator.finish({}).ok() && !Model::open(bench.calibrator.report().bytes)) std::abort();
  return 0;
}
