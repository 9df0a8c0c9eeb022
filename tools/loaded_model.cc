#include "tools/loaded_model.h"

#include <unistd.h>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "calibrator/host/stream_plan.h"
#include "calibrator/host/system/files.h"
#include "calibrator/host/system/host_arena.h"
#include "calibrator/host/system/open_session.h"
#include "calibrator/host/system/wording.h"
#include "importers/params/params_layers.h"
#include "intaglio/session.h"
#include "intaglio/step_model.h"
#include "intaglio/streaming.h"
#include "intaglio/two_memories.h"
#include "runtime/streaming/streamed_model.h"
#include "tools/calibration_figures.h"
#include "tools/text.h"

namespace intaglio::tools {

namespace {

std::string remedy(Status status) {
  switch (status) {
    case Status::kNotAModel:
      return "; " + tool_word("import") + " makes one from an .onnx or .tflite file";
    case Status::kBadStructure:
    case Status::kBadChecksum:
      return "; copy it again from where it was made, or make it again";
    default:
      return "";
  }
}

}  // namespace

std::string isa_names() {
  std::string names;
  for (const IsaName& isa : kIsaNames) names += std::string(names.empty() ? "" : ", ") + isa.name;
  return names;
}

namespace {

// Whether every CPU of `wanted` has the other one, of the same family.
bool has(IsaMask wanted, IsaMask other) {
  wanted = isa::without_order(wanted);
  // AVX-VNNI is no part of AVX-512: Ice Lake and Zen 4 lack it.
  return other <= wanted && (other != isa::kAvxVnni || wanted == isa::kAvxVnni);
}

}  // namespace

Outcome<IsaMask> isa_up_to(const std::string& name) {
  for (const IsaName& wanted : kIsaNames) {
    if (name != wanted.name) continue;
    IsaMask mask = wanted.bit;
    for (const IsaName& other : kIsaNames)
      if (std::string(other.family) == wanted.family && has(wanted.bit, other.bit)) mask |= other.bit;
    return mask;
  }
  return Failure{"'" + name + "' is no instruction set that is known here; there are " + isa_names()};
}

OpList ops_of(const ExecutionOptions& options) { return options.compact ? compact_ops() : all_ops(); }

Outcome<SessionOptions> session_options(const ExecutionOptions& options) {
  SessionOptions session;
  if (!options.isa.empty()) {
    const auto mask = isa_up_to(options.isa);
    if (!mask) return mask.failure();
    const IsaMask missing = *mask & ~cpu_isa();
    for (const IsaName& isa : kIsaNames) {
      if (isa.name == options.isa && (isa.bit & missing) != 0)
        return Failure{option_word("isa", options.isa) +
                       ": this CPU does not have it; choose another or leave the option out"};
    }
    session.isa = *mask;
  }
  if (options.threads > 1) {
#ifdef ITG_HAVE_OPENMP
    session.executor = openmp_executor(options.threads);
#else
    return Failure{option_word("threads", std::to_string(options.threads)) +
                   ": this build has no OpenMP; use 1, or build with a compiler that has OpenMP"};
#endif
  }
  return session;
}

const char* isa_in_use(const Session& session) {
  const char* best = kIsaNames[0].name;
  IsaMask best_bit = 0;
  for (int32_t n = 0; n < session.model().node_count(); ++n) {
    const std::string kernel = session.kernel_name(n);
    for (const IsaName& isa : kIsaNames) {
      // Kernels are named <family>_<dtype>_<isa>, with more behind it where an ISA has several.
      const std::string part = std::string("_") + isa.name;
      const size_t at = kernel.find(part);
      const bool whole =
          at != std::string::npos && (at + part.size() == kernel.size() || kernel[at + part.size()] == '_');
      if (!whole || isa.bit <= best_bit) continue;
      best = isa.name;
      best_bit = isa.bit;
    }
  }
  return best;
}

bool is_same_place(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  const auto place = [](const std::string& name) {
    constexpr int kMostLinks = 40;
    std::error_code error;
    fs::path path = fs::absolute(name, error);
    // weakly_canonical() does not follow a link to what is not there yet.
    for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(path, error)); ++i)
      path = path.parent_path() / fs::read_symlink(path, error);
    return fs::weakly_canonical(path, error);
  };
  return place(a) == place(b);
}

Outcome<Done> check_output_path(const std::string& output, const std::string& input,
                                const std::string& option) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (output.empty()) return Failure{option + ": the name is empty; name the file to write"};
  if (fs::is_directory(output, error))
    return Failure{output + ": is a folder; name the file to write, with " + option};
  if (fs::equivalent(output, input, error))
    return Failure{output + ": is the input, which would be lost; name another file"};
  const fs::path folder = fs::path(output).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, error))
    return Failure{output + ": there is no folder " + folder.string() + "; make it first"};
  // The file is written beside its place, then renamed.
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0)
    return Failure{output + ": nothing can be written into the folder " +
                   (folder.empty() ? "." : folder.string()) + ": " + std::strerror(errno) +
                   "; name another file, with " + option};
  return Done{};
}

Outcome<Done> check_replaceable(const std::string& output, const std::string& what,
                                const std::function<bool()>& is_one) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(output, error) || std::filesystem::file_size(output, error) == 0 ||
      is_one())
    return Done{};
  return Failure{output + ": is there already, is no " + what +
                 ", and would be lost; name another file, or remove this one"};
}

Outcome<Done> check_replaceable(const std::string& output, size_t offset, const std::string& mark,
                                const std::string& what) {
  return check_replaceable(output, what, [&] {
    const auto begin = read_file_part(output, offset, mark.size());
    return begin && std::memcmp(begin->data(), mark.data(), mark.size()) == 0;
  });
}

// The place of FlatBuffers' identifier, behind the root's offset.
constexpr size_t kIdentifierAt = 4;
constexpr const char* kModelIdentifier = "ITG1";

bool is_model_file(Span<const uint8_t> begin) {
  return begin.size >= kIdentifierAt + 4 && std::memcmp(begin.data + kIdentifierAt, kModelIdentifier, 4) == 0;
}

Outcome<Done> check_model_output(const std::string& output, const std::string& input) {
  if (auto step = check_output_path(output, input); !step) return step;
  return check_replaceable(output, kIdentifierAt, kModelIdentifier, "model");
}

Outcome<Done> check_float(const LoadedModel& file) {
  for (int32_t t = 0; t < file.model().tensor_count(); ++t) {
    const TensorInfo info = file.model().tensor(t);
    if (!info.is_constant() && info.dtype != DType::kF32 && info.dtype != DType::kS32)
      return Failure{
          file.path() +
          ": is not FP32 throughout, and only FP32 models can be calibrated; give the model that " +
          tool_word("import") + " made from the float network"};
  }
  return Done{};
}

Outcome<Done> check_no_states(const LoadedModel& file) {
  if (file.model().state_count() == 0) return Done{};
  return Failure{file.path() + ": has states, which go from run to run; " + tool_word("calibrate") +
                 " takes its sequences, and " + tool_word("compare") + " measures them"};
}

Outcome<LoadedModel> LoadedModel::open(const std::string& path) {
  auto bytes = read_file(path, kMaxModelBytes);
  if (!bytes) return bytes.failure();
  return open(path, MappedFile(std::move(*bytes)));
}

Outcome<LoadedModel> LoadedModel::map(const std::string& path) {
  auto bytes = MappedFile::open(path, kMaxModelBytes);
  if (!bytes) return bytes.failure();
  return open(path, std::move(*bytes));
}

Outcome<LoadedModel> LoadedModel::of_bytes(const std::string& name, FileBytes bytes) {
  return open(name, MappedFile(std::move(bytes)));
}

Outcome<LoadedModel> LoadedModel::of_import(const std::string& path, FileBytes bytes) {
  auto file = open(path, MappedFile(std::move(bytes)));
  if (file) file->is_imported_ = true;
  return file;
}

Outcome<LoadedModel> LoadedModel::step_of(const LoadedModel& file) {
  FileBytes memory(step_model_bytes(file.model()));
  const auto made = make_step_model(file.model(), {memory.data(), memory.size()});
  if (!made) return file.failure(made.error());
  FileBytes bytes(made->size);
  std::memcpy(bytes.data(), made->data, made->size);
  auto step = open(file.path(), MappedFile(std::move(bytes)));
  if (step) step->is_imported_ = file.is_imported_;
  return step;
}

Outcome<LoadedModel> LoadedModel::open(const std::string& path, MappedFile bytes) {
  LoadedModel file;
  file.path_ = path;
  file.bytes_ = std::move(bytes);
  const auto model = Model::open(file.bytes_.span());
  if (!model) {
    Failure failure = failure_in(path, model.error());
    failure.message += remedy(model.error().status);
    return failure;
  }
  file.model_ = *model;
  return file;
}

Result<LoadedSession> LoadedSession::create(const Model& model, const SessionOptions& options, OpList ops) {
  const auto needs = Session::measure_anywhere(model, ops, options);
  if (!needs) return needs.error();
  LoadedSession loaded;
  loaded.needs_ = *needs;
  loaded.memory_ = FileBytes(needs->total());
  loaded.parts_ = Session::split({loaded.memory_.data(), loaded.memory_.size()}, *needs);
  const auto session = Session::create(model, ops, loaded.parts_, options);
  if (!session) return session.error();
  loaded.session_ = *session;
  return loaded;
}

Outcome<Done> LoadedModel::stream_if(bool streamed, const Work& work) {
  if (!streamed) return Done{};
  if (!model_.has_streamed_plan())
    work.note("--streamed: " + path() +
              " has no streamed plan ('intaglio plan' makes one); it runs layer by layer");
  Result<Model> by_rows = stream_rows(model_);
  if (!by_rows) return failure(by_rows.error());
  if (StreamedModel::feeding_segment(*by_rows).count != 0) {
    HostArena memory;
    const auto unfed = unfed_model(model_, all_ops(), memory.arena());
    if (!unfed) return failure(unfed.error());
    FileBytes bytes(unfed->size);
    std::memcpy(bytes.data(), unfed->data, unfed->size);
    auto whole = open(path_, MappedFile(std::move(bytes)));
    if (!whole) return whole.failure();
    *this = std::move(*whole);
    work.note("--streamed: the streamed plan of " + path() +
              " takes its picture row by row; here all of it stands beside the line buffers");
    by_rows = stream_rows(model_);
    if (!by_rows) return failure(by_rows.error());
  }
  model_ = *by_rows;
  return Done{};
}

Outcome<LoadedSession> LoadedSession::create(const LoadedModel& file, const SessionOptions& options,
                                             OpList ops) {
  SessionOptions releasing = options;
  releasing.observer.context = const_cast<LoadedModel*>(&file);
  releasing.observer.on_packed = [](void* context, int32_t node) {
    const LoadedModel& packed = *static_cast<const LoadedModel*>(context);
    for (const int32_t input : packed.model().node_inputs(node))
      if (input >= 0) packed.release(packed.model().tensor(input).constant);
  };
  auto session = create(file.model(), options.observer.on_tensor == nullptr ? releasing : options, ops);
  if (!session) return file.failure(session.error());
  return std::move(*session);
}

namespace {

// The cores whose builds compile the kernels of an instruction set, with | between them.
struct Cores {
  IsaMask isa;
  std::string family;
  const char* names;
};

const Cores kCores[] = {
    {isa::kScalar, "cortex-m", "cortex-m0plus|cortex-m3"},
#define ITG_ISA(name, constant, bit, family, cores, ...) {isa::constant, family, cores},
#define ITG_DIGEST_ISA(...)
#include "intaglio/isa_list.inc"
#undef ITG_DIGEST_ISA
#undef ITG_ISA
};

}  // namespace

std::vector<Target> targets() {
  std::vector<Target> list;
  for (const IsaName& isa : kIsaNames) {
    const std::string name = isa.name, family = isa.family;
    const auto mask = isa_up_to(name);
    if (mask) list.push_back({family.empty() ? name : family + "-" + name, *mask, family == "cortex-m"});
  }
  for (const Cores& cores : kCores) {
    if (cores.family != "cortex-m") continue;
    std::istringstream names(cores.names);
    for (std::string core; std::getline(names, core, '|');) list.push_back({core, cores.isa, true});
  }
  return list;
}

std::string target_names() {
  std::string names;
  for (const Target& target : targets()) names += (names.empty() ? "" : ", ") + target.name;
  return names;
}

Outcome<Target> find_target(const std::string& name) {
  for (const Target& target : targets())
    if (target.name == name) return target;
  std::vector<std::string> known;
  for (const Target& target : targets()) known.push_back(target.name);
  return Failure{option_word("target", name) + ": is not known; the nearest is " +
                 nearest_names(name, known, 1).front() + "; there are " + target_names()};
}

bool FinishedModel::take(void* context, Span<const uint8_t> given) {
  auto& self = *static_cast<FinishedModel*>(context);
  HostArena planned;
  Result<Span<const uint8_t>> made = given;
  const Result<Model> model = Model::open(given);
  StreamedNeeds needs;
  if (!self.goal_.flat) {
    made = model ? plan_for_goal(*model, self.goal_, planned.arena()) : model.error();
    const Result<StreamedNeeds> streamed = made ? streamed_needs(*made) : made.error();
    if (!streamed) {
      self.problem_ = option_word("memory") + ": " + error_text(streamed.error(), model ? &*model : nullptr);
      return false;
    }
    needs = *streamed;
  }
  if (const auto allowed = check_ceiling(*model, needs.activation_bytes); !allowed) {
    self.problem_ = allowed.message();
    return false;
  }
  self.bytes_ = FileBytes(made->size);
  std::memcpy(self.bytes_.data(), made->data, made->size);
  const Span<const uint8_t> bytes = self.bytes_.span();
  const auto launch = self.at_once_ ? std::launch::async | std::launch::deferred : std::launch::deferred;
  self.sha256_ = std::async(launch, [bytes] { return sha256_text(bytes); });
  if (!self.write_) return true;
  const auto written = self.write_(bytes);
  if (!written) self.problem_ = written.message();
  return static_cast<bool>(written);
}

Result<Span<const uint8_t>> plan_for_goal(const Model& model, const MemoryGoal& goal, Arena& arena) {
  return goal.flat
             ? unstream_model(model, all_ops(), arena)
             : stream_model(model, all_ops(), {goal.most_bytes, goal.feeds_rows, goal.fast_bytes}, arena);
}

Result<Session> open_in_two(const Model& model, FileBytes& memory) {
  const auto needs = TwoMemories::measure_anywhere(model, all_ops());
  if (!needs) return needs.error();
  // The large memory first, and a gap between both.
  constexpr size_t kGap = 4 * kMemoryAlignment;
  const size_t large = (needs->total() + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
  memory = FileBytes(large + kGap + model.fast_bytes());
  return TwoMemories::create(model, all_ops(), Session::split({memory.data(), large}, *needs),
                             {memory.data() + large + kGap, model.fast_bytes()});
}

Outcome<MemoryGoal> memory_goal(const std::string& word) {
  MemoryGoal goal;
  if (word == "least") return goal;
  if (word == "flat") return MemoryGoal::layer_by_layer();
  const auto bytes_of = [](const std::string& text) -> std::optional<uint64_t> {
    uint64_t bytes = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
    const std::string unit(rest, text.data() + text.size());
    const uint64_t times = unit == "K" ? uint64_t{1} << 10 : unit == "M" ? uint64_t{1} << 20 : 1;
    constexpr uint64_t kMost = uint64_t{1} << 40;
    if (error != std::errc() || (times == 1 && !unit.empty()) || bytes == 0 || bytes > kMost) return {};
    return bytes * times;
  };
  const std::string fast_word = "fast=", slow_word = ",slow=";
  if (const size_t comma = word.find(slow_word);
      word.rfind(fast_word, 0) == 0 && comma != std::string::npos) {
    const auto fast = bytes_of(word.substr(fast_word.size(), comma - fast_word.size())),
               slow = bytes_of(word.substr(comma + slow_word.size()));
    if (!fast || !slow)
      return Failure{option_word("memory", word) +
                     ": 'fast=' and 'slow=' take a number of bytes each, e.g. fast=64K,slow=2M"};
    if (*fast < kMemoryAlignment)
      return Failure{option_word("memory", word) + ": a fast memory has at least " +
                     std::to_string(kMemoryAlignment) + " bytes"};
    goal.fast_bytes = *fast;
    goal.most_bytes = *fast + *slow;
    return goal;
  }
  const auto bytes = bytes_of(word);
  if (!bytes)
    return Failure{
        option_word("memory", word) +
        ": is neither 'least' nor 'flat' nor a number of bytes, nor two of them (fast=64K,slow=2M)"};
  goal.most_bytes = *bytes;
  return goal;
}

Result<StreamedNeeds> streamed_needs(Span<const uint8_t> file) {
  const Result<Model> model = Model::open(file);
  if (!model) return model.error();
  const Result<Model> by_rows = stream_rows(*model);
  if (!by_rows) return by_rows.error();
  const size_t fast = by_rows->fast_bytes();
  if (!model->has_streamed_plan() && fast == 0) return StreamedNeeds();
  FileBytes memory;
  const Result<Session> session =
      fast > 0 ? open_in_two(*by_rows, memory) : open_session(*by_rows, {}, memory);
  if (!session) return session.error();
  return StreamedNeeds{model->has_streamed_plan() ? by_rows->activation_bytes() : 0,
                       StreamedModel::feeding_segment(*by_rows).count != 0, fast,
                       fast > 0 ? by_rows->activation_bytes() - fast : 0};
}

Outcome<Done> check_ceiling(const Model& model, size_t streamed_bytes) {
  const size_t least = streamed_bytes > 0 ? streamed_bytes : model.activation_bytes();
  if (model.memory_ceiling() == 0 || model.memory_ceiling() >= least) return Done{};
  return Failure{option_word("ceiling", std::to_string(model.memory_ceiling())) +
                 ": the activations alone take " + std::to_string(least) +
                 " bytes, and a session some more; give a higher ceiling, or less memory to "
                 "the activations with " +
                 option_word("memory")};
}

}  // namespace intaglio::tools
