// Answers to a calibration's questions with any of their bytes changed: refused, or the chain goes on over them to a model, to further
// questions, or to an error. The data are changes, four bytes each of place and of value; the checksum is made right again, so that what
// lies behind it is reached. The first byte says whether the question or the answers are changed.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "calibrator/host/rounds.h"
#include "runtime/crc32.h"
#include "tests/support/float_samples.h"
#include "tests/support/small_models.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

// A question and its answers, of the demo of a network that is made here.
struct Bench {
  Bench() {
    options.recover = recovery::kDefault;
    memory = AlignedBytes(Calibrator::measure(model, options)->total());
    calibrator = *Calibrator::create(model, memory.span(), options);
    const SampleSource source = source_of(samples);
    if (!calibrator.add_all(source, nullptr).ok()) std::abort();
    std::vector<uint8_t> state(calibrator.state_bytes());
    if (!calibrator.save({state.data(), state.size()}).ok()) std::abort();
    Rounds asked({state.data(), state.size()}, options.recover);
    if (asked.finish(calibrator, {}).status != Status::kAnswersMissing) std::abort();
    std::vector<Digest> digests;
    for (const auto& sample : samples) {
      Sha256 sha;
      sha.update(sample.data(), sample.size() * sizeof(float));
      digests.push_back(sha.finish());
    }
    const Result<Rounds> answered = asked.answer(calibrator, source, digests);
    if (!answered) std::abort();
    question = asked.save();
    answers = answered->save();
  }

  AlignedBytes file = small_cnn();
  Model model = *Model::open(file.view());
  const Samples samples = small_cnn_samples(5);
  CalibratorOptions options;
  AlignedBytes memory;
  Calibrator calibrator;
  std::vector<uint8_t> question, answers;
};

Result<Rounds> read(const std::vector<uint8_t>& bytes) { return Rounds::read({bytes.data(), bytes.size()}); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Bench bench;
  if (size == 0) return 0;
  std::vector<uint8_t> question = bench.question, answers = bench.answers;
  std::vector<uint8_t>& changed = data[0] % 4 == 0 ? question : answers;
  for (size_t at = 1; at + 8 <= size; at += 8) {
    uint32_t place;
    memcpy(&place, data + at, sizeof place);
    memcpy(changed.data() + place % (changed.size() - 7), data + at + 4, 4);
  }
  if (data[0] % 4 == 1) changed.resize(changed.size() - data[0] / 4);
  const uint32_t crc = crc32(0, changed.data(), changed.size() - sizeof crc);
  memcpy(changed.data() + changed.size() - sizeof crc, &crc, sizeof crc);
  Result<Rounds> asked = read(question);
  Result<Rounds> answered = read(answers);
  if (!asked || !answered) return 0;
  const std::vector<uint8_t> again = answered->save();
  if (!(data[0] % 4 == 0) && again != answers) std::abort();
  (void)answered->add(*answered);
  (void)Rounds::limited_sum({*read(answers), *read(bench.answers), *read(bench.answers)}, 0.1);
  answered = read(answers);
  if (!asked->is_question() || !asked->take(*answered).ok()) return 0;
  if (!bench.calibrator.load(asked->state()).ok()) return 0;
  if (asked->finish(bench.calibrator, {}).ok() && !Model::open(bench.calibrator.report().bytes)) std::abort();
  return 0;
}
