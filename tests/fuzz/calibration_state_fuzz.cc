// A calibration state with any of its bytes changed: refused, or a model comes of it that is finished and runs,
// or an error; also where a sample is added to it, or another state. The data are changes, four bytes each of place and of
// value, or of eight bytes at their ends; the checksum is made right again, so that what lies behind it is reached. By the last of
// the data the state is one of bits, as it is written now, or one of values, whose fields are all reached.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "intaglio/calibrator.h"
#include "tests/support/open_state.h"
#include "tests/support/small_models.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

struct Bench {
  Bench() {
    const Result<CalibratorNeeds> needs = Calibrator::measure(model, options());
    memory = AlignedBytes(needs->total());
    calibrator = *Calibrator::create(model, memory.span(), options());
    for (const auto& sample : samples)
      if (!add(sample).ok()) std::abort();
    state.resize(calibrator.state_bytes());
    if (!calibrator.save({state.data(), state.size()}).ok()) std::abort();
    values = OpenState(state).save_as_values();
  }
  Error add(const std::vector<float>& sample) {
    const Span<const uint8_t> input{reinterpret_cast<const uint8_t*>(sample.data()),
                                    sample.size() * sizeof(float)};
    return calibrator.add({&input, 1});
  }
  static CalibratorOptions options() {
    CalibratorOptions options;
    options.layer_report = false;
    return options;
  }

  AlignedBytes file = small_cnn();
  Model model = *Model::open(file.view());
  const std::vector<std::vector<float>> samples = small_cnn_samples(3);
  AlignedBytes memory;
  Calibrator calibrator;
  std::vector<uint8_t> state, values;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Bench bench;
  const uint8_t then = size == 0 ? 0 : data[size - 1];
  std::vector<uint8_t> state = (then & 4) != 0 ? bench.values : bench.state;
  for (size_t at = 0; at + 8 <= size; at += 8) {
    uint32_t place;
    memcpy(&place, data + at, sizeof place);
    uint8_t* const at_place = state.data() + place % (state.size() - 7);
    memcpy(at_place, data + at + 4, 4);
    // Sums of 64 bits: the ends of their range, and near them.
    const uint64_t ends[] = {0x7fffffffffffffff, 0x8000000000000000, 0x7ffffffffffffffe, 0xffffffffffffffff};
    if (data[at + 3] >= 0xc0) memcpy(at_place, &ends[data[at + 4] % 4], sizeof ends[0]);
  }
  state = with_right_crc(std::move(state));
  if (!bench.calibrator.load({state.data(), state.size()}).ok()) return 0;
  if (then % 4 == 1) (void)bench.add(bench.samples[0]);
  if (then % 4 == 2) (void)bench.calibrator.merge({bench.state.data(), bench.state.size()});
  if (then % 4 == 3) (void)bench.calibrator.merge({state.data(), state.size()});
  if (bench.calibrator.finish({}).ok() && !Model::open(bench.calibrator.report().bytes)) std::abort();
  return 0;
}
