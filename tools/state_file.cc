#include "tools/state_file.h"

#include <algorithm>

#include "calibrator/host/system/files.h"
#include "calibrator/host/system/wording.h"
#include "tools/loaded_model.h"

namespace intaglio::tools {

namespace {

constexpr uint64_t kMaxStateBytes = uint64_t{1} << 30;

}  // namespace

Outcome<Done> load_state(const std::string& path, const Model& model, Calibrator& calibrator) {
  const std::string remedy = "; name another " + option_word("state") + " file, or delete it";
  auto bytes = read_file(path, kMaxStateBytes);
  if (!bytes) return Failure{bytes.message() + remedy};
  const Error error = calibrator.load(bytes->span());
  if (error.status == Status::kBadCalibrationState && error.value == 0)
    return Failure{path + ": is no calibration state; give " + option_word("state") +
                   " a state file, or a name that is not in use"};
  if (error.ok()) return Done{};
  Failure failure = failure_in(path, error, &model);
  failure.message += remedy;
  return failure;
}

Outcome<Done> save_state(const OutputFile& file, const Calibrator& calibrator) {
  FileBytes state(calibrator.state_bytes());
  const Error error = calibrator.save({state.data(), state.size()});
  if (!error.ok()) return failure_in(file.path(), error);
  return file.write(state.span());
}

void warn_of_doubling(const std::string& path, const CalibrationState& before, const CalibrationState& now,
                      Work& work) {
  Digest twice;
  for (int32_t i = 0; i < 2; ++i) add_to_set(twice, before.samples);
  if (now.samples == twice)
    work.warn(path +
              ": already held exactly these samples, so each counts twice now; to count them once, "
              "delete the file and calibrate again");
}

Outcome<Done> record_states(const LoadedModel& file, const SessionOptions& options,
                            const Sequences& sequences, Samples& samples) {
  auto session = LoadedSession::create(file, options);
  if (!session) return session.failure();
  const Model& model = file.model();
  std::vector<uint8_t> first, held;
  for (int32_t k = 0; k < model.state_count(); ++k) {
    const StateInfo state = model.state(k);
    const size_t begin = first.size();
    first.resize(begin + model.tensor(state.input).bytes());
    std::copy(state.initial.begin(), state.initial.end(), first.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  std::vector<std::vector<uint8_t>> states;
  for (size_t i = 0; i < samples.count(); ++i) {
    if (sequences.begins(i)) {
      (**session).reset();
      held = first;
    }
    if (auto step = samples.load(i, **session); !step) return step;
    (**session).run();
    states.push_back(held);
    held.clear();
    for (int32_t k = 0; k < model.state_count(); ++k) {
      const TensorView next = (**session).tensor(model.state(k).output);
      const auto* const bytes = static_cast<const uint8_t*>(next.data);
      held.insert(held.end(), bytes, bytes + next.info.bytes());
    }
  }
  samples.follow_by(std::move(states));
  return Done{};
}

}  // namespace intaglio::tools
