// Recoveries on real networks: the same bytes on every instruction set, for any number of threads and any
// order of the samples.
#include <algorithm>

#include "tests/support/calibrate.h"
#include "tests/support/imported.h"
#include "tests/support/random.h"
#include "tests/support/sanitized.h"
#include "tests/support/threads.h"

namespace intaglio::test::import_recovery_hash_test {
namespace {

// `count` samples of the golden network `name`'s shape: noise on levels up to `level`, `level` / 4 high.
struct Network {
  Network(const std::string& folder, const std::string& name, size_t count, float level) {
    auto file = read_file(folder + "/models/" + name + ".tflite", kMaxModelBytes);
    REQUIRE_MESSAGE(file, file.message());
    Import import(file->span(), ImportOptions(), name);
    bytes = import.write();
    Random random(8);
    samples.resize(count);
    for (auto& sample : samples) {
      const float floor = random.real(0.0f, level);
      for (int64_t i = 0; i < import.input().shape.elements(); ++i)
        sample.push_back(floor + random.real(0.0f, level / 4));
    }
  }
  AlignedBytes bytes;
  Samples samples;
};

// Serial with every kernel, then in other orders with 8 threads and AVX2, and with 2 threads and scalar
// kernels. Under a sanitizer two threads alone: what it sees is in each.
void check_everywhere(const Network& network, RecoveryMask recover) {
  const Result<Model> model = Model::open(network.bytes.view());
  REQUIRE(static_cast<bool>(model));
  CalibratorOptions options;
  options.layer_report = false;
  options.recover = recover;
  if (kIsSanitized) options.executor = thread_executor(2);
  Samples samples = network.samples;
  const std::vector<uint8_t> first = calibrate(*model, samples, options);
  CalibratorOptions plain = options;
  plain.recover = recovery::kNone;
  CHECK(calibrate(*model, samples, plain) != first);
  if (kIsSanitized) return;
  struct Machine {
    int32_t width;
    IsaMask isa;
  };
  for (const Machine& machine : {Machine{8, isa::kAvx2}, Machine{2, isa::kScalar}}) {
    CAPTURE(machine.width);
    std::rotate(samples.begin(), samples.begin() + 3, samples.end());
    CalibratorOptions other = options;
    other.isa = machine.isa;
    other.executor = thread_executor(machine.width);
    CHECK(calibrate(*model, samples, other, Feed::kAllAtOnce) == first);
  }
}

}  // namespace

TEST_CASE("ResNet-8: every recovery gives the same bytes everywhere") {
  const std::string folder = shared_folder();
  if (folder.empty()) return;
  check_everywhere(Network(folder, "resnet8_fp32", 8, 200.0f), recovery::kAll | recovery::kEqualization);
}

TEST_CASE("two more networks: equalization, absorption, bias correction and weight scales") {
  const std::string folder = shared_folder();
  if (folder.empty()) return;
  for (const std::string name : {"kws_fp32", "vww_96_fp32"}) {
    if (kIsSanitized && name != "kws_fp32") continue;
    CAPTURE(name);
    check_everywhere(Network(folder, name, 4, 0.5f), recovery::kBiasCorrection | recovery::kEqualization |
                                                         recovery::kBiasAbsorption | recovery::kWeightScales);
  }
}

TEST_CASE("many samples: half of them judge, and the rest runs once at the end") {
  const std::string folder = shared_folder();
  if (folder.empty()) return;
  check_everywhere(Network(folder, "kws_fp32", 27, 0.5f),
                   recovery::kDefault | recovery::kEqualization | recovery::kBiasAbsorption);
  check_everywhere(Network(folder, "resnet8_fp32", 27, 200.0f), recovery::kBiasCorrection);
}

}  // namespace intaglio::test::import_recovery_hash_test
