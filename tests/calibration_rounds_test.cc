// A calibration over samples in several places has the bytes of one over all of them, and refuses answers that do not fit.
#include <doctest/doctest.h>

#include "calibrator/host/rounds.h"
#include "runtime/crc32.h"
#include "tests/support/float_samples.h"
#include "tests/support/small_models.h"

namespace intaglio::test::calibration_rounds_test {
namespace {

using Bytes = std::vector<uint8_t>;
Span<const uint8_t> view(const Bytes& bytes) { return {bytes.data(), bytes.size()}; }

// A calibrator of a small network.
struct Bench {
  explicit Bench(const AlignedBytes& file, RecoveryMask recover) : model(*Model::open(file.view())) {
    options.recover = recover;
    memory = AlignedBytes(Calibrator::measure(model, options)->total());
    calibrator = *Calibrator::create(model, memory.span(), options);
  }
  Bench(const Bench&) = delete;

  Bytes state_of(const Samples& samples) {
    const SampleSource source = source_of(samples);
    REQUIRE(calibrator.add_all(source, nullptr).ok());
    Bytes state(calibrator.state_bytes());
    REQUIRE(calibrator.save({state.data(), state.size()}).ok());
    return state;
  }
  Bytes model_bytes() const {
    const Span<const uint8_t> made = calibrator.report().bytes;
    return {made.begin(), made.end()};
  }

  Model model;
  CalibratorOptions options;
  AlignedBytes memory;
  Calibrator calibrator;
};

std::vector<Digest> digests_of(const Samples& samples) {
  std::vector<Digest> digests;
  for (const auto& sample : samples) {
    Sha256 sha;
    sha.update(sample.data(), sample.size() * sizeof(float));
    digests.push_back(sha.finish());
  }
  return digests;
}

struct Fleet {
  const AlignedBytes& file;
  RecoveryMask recover;
  std::vector<Samples> places;

  Fleet(const AlignedBytes& network, RecoveryMask recoveries, const Samples& samples, size_t count)
      : file(network), recover(recoveries), places(count) {
    for (size_t i = 0; i < samples.size(); ++i) places[i * i % count].push_back(samples[i]);
    for (size_t i = count; i-- > 0;)
      if (places[i].empty()) places.erase(places.begin() + static_cast<std::ptrdiff_t>(i));
  }

  Rounds answers_to(const Rounds& question, const Samples& samples) const {
    Bench place(file, recover);
    REQUIRE(place.calibrator.load(question.state()).ok());
    const SampleSource source = source_of(samples);
    const Result<Rounds> answers = question.answer(place.calibrator, source, digests_of(samples));
    REQUIRE_MESSAGE(static_cast<bool>(answers), text_of(answers.error()));
    return *answers;
  }
  // What goes over the wire is what is read again.
  static Rounds sent(const Rounds& rounds) {
    const Bytes bytes = rounds.save();
    const Result<Rounds> read = Rounds::read(view(bytes));
    REQUIRE_MESSAGE(static_cast<bool>(read), text_of(read.error()));
    CHECK(read->save() == bytes);
    return *read;
  }
  Rounds first_question() const {
    Bench all(file, recover);
    for (const Samples& samples : places) {
      const Bytes state = Bench(file, recover).state_of(samples);
      REQUIRE(all.calibrator.merge(view(state)).ok());
    }
    Bytes state(all.calibrator.state_bytes());
    REQUIRE(all.calibrator.save({state.data(), state.size()}).ok());
    return Rounds(view(state), recover);
  }
  // The same, with what it asks.
  Rounds asked() const {
    Rounds question = first_question();
    Bench here(file, recover);
    REQUIRE(here.calibrator.load(question.state()).ok());
    REQUIRE(question.finish(here.calibrator, {}).status == Status::kAnswersMissing);
    return question;
  }
  // The model, in how many rounds.
  Bytes calibrate(int32_t& rounds, bool reversed = false) const {
    Rounds question = first_question();
    for (rounds = 1;; ++rounds) {
      Bench here(file, recover);
      REQUIRE(here.calibrator.load(question.state()).ok());
      const Error error = question.finish(here.calibrator, {});
      if (error.ok()) return here.model_bytes();
      REQUIRE(error.status == Status::kAnswersMissing);
      REQUIRE(question.asked() > 0);
      question = sent(question);
      Rounds all;
      for (size_t i = 0; i < places.size(); ++i) {
        const Rounds answers = sent(answers_to(question, places[reversed ? places.size() - 1 - i : i]));
        CHECK(answers.answers(question));
        if (i == 0)
          all = answers;
        else
          REQUIRE(all.add(answers).ok());
      }
      REQUIRE(question.take(sent(all)).ok());
    }
  }
};

Bytes at_once(const AlignedBytes& file, RecoveryMask recover, const Samples& samples) {
  Bench bench(file, recover);
  const SampleSource source = source_of(samples);
  REQUIRE(bench.calibrator.add_all(source, nullptr).ok());
  REQUIRE(bench.calibrator.finish({}, &source).ok());
  return bench.model_bytes();
}

}  // namespace

TEST_CASE("samples in 1, 2, 7 and 50 places give the bytes of one calibration, recoveries included") {
  struct Case {
    uint32_t seed;
    size_t samples;
    std::vector<size_t> places;
    RecoveryMask recover = recovery::kDefault;
  };
  // Too few samples for most recoveries; with probes; a half of them judges.
  const Case cases[] = {{1, 3, {1, 2}},
                        {2, 14, {1, 2, 7}},
                        {5, 14, {2}},
                        {1, 50, {2, 50}},
                        {2, 50, {7}},
                        {5, 14, {2}, recovery::kDefault | recovery::kEqualization},
                        {1, 50, {2}, recovery::kDefault | recovery::kEqualization}};
  for (const Case& each : cases) {
    const AlignedBytes file = small_cnn(each.seed, each.seed == 2 ? 0.01f : 1.0f);
    const Samples samples = small_cnn_samples(each.samples, 7 + each.seed);
    const Bytes expected = at_once(file, each.recover, samples);
    for (const size_t places : each.places) {
      INFO(each.seed << " " << each.samples << " " << each.recover << " " << places);
      int32_t rounds = 0;
      CHECK(Fleet(file, each.recover, samples, places).calibrate(rounds, places == 7) == expected);
      if (each.recover == recovery::kDefault) CHECK(rounds <= 8);
    }
  }
}

TEST_CASE("answers to another question, of other samples, and those of another calibration are refused") {
  const AlignedBytes file = small_cnn();
  const Samples samples = small_cnn_samples(20);
  Fleet fleet(file, recovery::kDefault, samples, 2);
  Rounds question = fleet.asked();
  const Rounds first = fleet.answers_to(question, fleet.places[0]),
               second = fleet.answers_to(question, fleet.places[1]);

  const Error missing = question.take(first);
  CHECK(missing.status == Status::kSamplesDiffer);
  CHECK(missing.value == static_cast<int64_t>(fleet.places[0].size()));
  CHECK(missing.limit == 20);
  Rounds twice = first;
  REQUIRE(twice.add(first).ok());
  CHECK(question.take(twice).status == Status::kSamplesDiffer);

  // Other options, and another network under the same name.
  Bench other(file, recovery::kDefault);
  other.options.power_of_two = true;
  other.calibrator = *Calibrator::create(other.model, other.memory.span(), other.options);
  REQUIRE(other.calibrator.load(question.state()).ok());
  const SampleSource source = source_of(fleet.places[0]);
  CHECK(question.answer(other.calibrator, source, digests_of(fleet.places[0])).error().status ==
        Status::kOtherGraph);

  Rounds all = first;
  REQUIRE(all.add(second).ok());
  Rounds next = question;
  REQUIRE(next.take(all).ok());
  Bench again(file, recovery::kDefault);
  REQUIRE(again.calibrator.load(next.state()).ok());
  REQUIRE(next.finish(again.calibrator, {}).status == Status::kAnswersMissing);
  CHECK(!first.answers(next));
  CHECK(next.take(all).status == Status::kBadCalibrationState);
}

TEST_CASE("each changed byte of a question and of answers is refused, or gives a model or an error") {
  const AlignedBytes file = small_cnn();
  const Samples samples = small_cnn_samples(6);
  Fleet fleet(file, recovery::kDefault, samples, 1);
  Rounds question = fleet.asked();
  const Bytes answers = fleet.answers_to(question, samples).save();
  for (size_t at = 0; at < answers.size(); at += 31) {
    Bytes changed = answers;
    changed[at] = static_cast<uint8_t>(changed[at] ^ 0x81);
    CHECK(Rounds::read(view(changed)).error().status == Status::kBadCalibrationState);
    const uint32_t crc = crc32(0, changed.data(), changed.size() - sizeof crc);
    memcpy(changed.data() + changed.size() - sizeof crc, &crc, sizeof crc);
    const Result<Rounds> read = Rounds::read(view(changed));
    Rounds next = question;
    if (!read || !next.take(*read).ok()) continue;
    Bench again(file, recovery::kDefault);
    REQUIRE(again.calibrator.load(next.state()).ok());
    const Error error = next.finish(again.calibrator, {});
    const bool is_said =
        error.ok() || error.status == Status::kAnswersMissing || error.status == Status::kBadCalibrationState;
    CHECK_MESSAGE(is_said, text_of(error));
  }
  for (const size_t size : {size_t{0}, size_t{3}, size_t{90}, answers.size() - 1})
    CHECK(Rounds::read({answers.data(), size}).error().status == Status::kBadCalibrationState);
}

}  // namespace intaglio::test::calibration_rounds_test
