// One file, whatever the threads, the order of the samples and the kernels: every method, on real networks.
#include <algorithm>

#include "intaglio/calibrator.h"
#include "tests/support/float_samples.h"
#include "tests/support/imported.h"
#include "tests/support/sanitized.h"
#include "tests/support/threads.h"

namespace intaglio::test::import_determinism_test {
namespace {

using Bytes = std::vector<uint8_t>;

struct Variant {
  const char* name;
  int32_t width;
  IsaMask isa;
  bool reversed, at_once;  // at once: a sample a thread, instead of every thread on each
};

// The file that the others must equal.
constexpr Variant kSerial = {"1 thread", 1, isa::kAll, false, false};
constexpr Variant kVariants[] = {{"2 threads, AVX2, reversed", 2, isa::kAvx2, true, true},
                                 {"8 threads", 8, isa::kAll, false, true},
                                 {"8 threads, AVX2, on each sample", 8, isa::kAvx2, false, false},
                                 {"scalar, reversed", 1, isa::kScalar, true, false}};

class Bench {
 public:
  Bench(const AlignedBytes& bytes, const Variant& variant, RangeMethod method)
      : model_(*Model::open(bytes.view())) {
    CalibratorOptions options;
    options.method = method;
    options.isa = variant.isa;
    options.executor = variant.width == 1 ? Executor() : thread_executor(variant.width);
    options.layer_report = false;
    memory_ = AlignedBytes(Calibrator::measure(model_, options)->total());
    calibrator_ = *Calibrator::create(model_, memory_.span(), options);
  }
  Bytes observe(Samples samples, const Variant& variant) {
    if (variant.reversed) std::reverse(samples.begin(), samples.end());
    if (variant.at_once) REQUIRE(calibrator_.add_all(source_of(samples)).ok());
    for (size_t i = 0; !variant.at_once && i < samples.size(); ++i) {
      const Span<const uint8_t> input = bytes_of(samples[i]);
      REQUIRE(calibrator_.add({&input, 1}).ok());
    }
    Bytes state(calibrator_.state_bytes());
    REQUIRE(calibrator_.save({state.data(), state.size()}).ok());
    return state;
  }
  Bytes finish(const Bytes& state) {
    REQUIRE(calibrator_.load({state.data(), state.size()}).ok());
    Bytes written;
    ModelSink sink;
    sink.context = &written;
    sink.write = [](void* context, Span<const uint8_t> out) {
      static_cast<Bytes*>(context)->assign(out.begin(), out.end());
      return true;
    };
    const Error error = calibrator_.finish(sink);
    REQUIRE_MESSAGE(error.ok(), text_of(error, &model_));
    return written;
  }

 private:
  Model model_;
  AlignedBytes memory_;
  Calibrator calibrator_;
};

void check(const std::string& folder, const std::string& name, size_t most) {
  CAPTURE(name);
  auto file = read_file(folder + "/models/" + name + ".tflite", kMaxModelBytes);
  REQUIRE_MESSAGE(file, file.message());
  Import import(file->span(), ImportOptions(), name);
  REQUIRE_MESSAGE(import.good(), import.message());
  const AlignedBytes bytes = import.write();
  const auto input = read_npy(folder + "/golden/" + name + "/input.npy");
  REQUIRE_MESSAGE(input, input.message());
  const Span<const float> values = input->as<float>();
  const auto elements = static_cast<size_t>(import.input().shape.elements());
  Samples samples;
  for (size_t s = 0; s < most && (s + 1) * elements <= values.size; ++s)
    samples.emplace_back(values.data + s * elements, values.data + (s + 1) * elements);
  REQUIRE(samples.size() >= 2);

  // With the most bins of all methods: each goes on from it.
  const Bytes state = Bench(bytes, kSerial, RangeMethod::kKl).observe(samples, kSerial);
  for (const Variant& variant : kVariants) {
    CAPTURE(std::string(variant.name));
    CHECK(Bench(bytes, variant, RangeMethod::kKl).observe(samples, variant) == state);
  }
  std::vector<Bytes> files;
  for (int32_t method = 0; method < kRangeMethodCount; ++method) {
    CAPTURE(method);
    files.push_back(Bench(bytes, kSerial, static_cast<RangeMethod>(method)).finish(state));
    for (const Variant& variant : kVariants) {
      CAPTURE(std::string(variant.name));
      CHECK(Bench(bytes, variant, static_cast<RangeMethod>(method)).finish(state) == files.back());
    }
  }
  // They are methods of their own.
  for (size_t i = 0; i < files.size(); ++i)
    for (size_t k = 0; k < i; ++k) CHECK(files[i] != files[k]);
}

}  // namespace

TEST_CASE("every method gives one file for any threads, order and kernels") {
  const std::string folder = shared_folder();
  if (folder.empty()) return;
  for (const std::string name : {"resnet8_fp32", "kws_fp32", "vww_96_fp32"})
    if (!kIsSanitized || name == "kws_fp32") check(folder, name, 4);
}

TEST_CASE("and on a larger network") {
  const std::string folder = shared_folder();
  if (folder.empty() || kIsSanitized) return;
  check(folder, "mobilenet_v1_0.25_224_fp32", 2);
}

}  // namespace intaglio::test::import_determinism_test
