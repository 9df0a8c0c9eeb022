// model_bench NET.itg ...: whole models, each with every instruction set and number of threads asked for,
// interleaved; the fastest and the median run, and the share of what the CPU's multiply-accumulate
// instruction does at most, measured in the same run.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <memory>

#include "benchmarks/peak.h"
#include "calibrator/host/accuracy/layer_sensitivity.h"
#include "cli/command_line.h"
#include "cli/output.h"
#include "tools/loaded_model.h"

using namespace intaglio;
using namespace intaglio::cli;

namespace {

struct Arguments {
  std::vector<std::string> models, isas = {""};
  std::vector<int32_t> threads = {1};
  int32_t rounds = 9, runs = 30;
  bool json = false;
};

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// CPU time of the process: with one thread, free of the time that others have it.
double cpu_ms() {
  timespec t;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

// One model, one instruction set, one number of threads.
struct Contender {
  const LoadedModel* model;
  LoadedSession session;
  int32_t threads;
  std::vector<double> times = {};
  double fastest_cpu_ms = 1e9;

  void run(int32_t runs) {
    for (int32_t i = 0; i < runs; ++i) {
      const double start = now_ms(), cpu_start = cpu_ms();
      session->run();
      const double cpu = cpu_ms() - cpu_start;
      times.push_back(now_ms() - start);
      fastest_cpu_ms = std::min(fastest_cpu_ms, cpu);
    }
  }
};

// Values that neither saturate nor vanish, the same for all.
void fill_inputs(const Session& session) {
  for (size_t i = 0; i < session.model().inputs().size; ++i) {
    const TensorView input = session.input(static_cast<int32_t>(i));
    if (input.info.dtype == DType::kF32) {
      int32_t k = 0;
      for (float& x : input.as<float>()) x = static_cast<float>(k++ % 255 - 127) / 128.0f;
    } else {
      auto* const bytes = static_cast<uint8_t*>(input.data);
      for (size_t k = 0; k < input.info.bytes(); ++k) bytes[k] = static_cast<uint8_t>(k * 37);
    }
  }
}

// The peak of the session's best kernels, for all its threads; 0: not known.
double peak_of(const Session& session, int32_t threads) {
  bool int8 = false;
  for (int32_t n = 0; n < session.model().node_count(); ++n)
    int8 = int8 || std::string(session.kernel_name(n)).rfind("gemm_s8", 0) == 0;
  for (const IsaName& isa : kIsaNames)
    if (isa.name == std::string(isa_in_use(session)))
      return (int8 ? peak_s8(isa.bit) : peak_f32(isa.bit)) * threads;
  return 0;
}

// How much slower than its fastest a fixed loop runs in the median: near 1 where nobody else works.
double median_to_fastest() {
  std::vector<double> times;
  for (int32_t i = 0; i < 41; ++i) {
    const double start = now_ms();
    uint32_t x = 1;
    for (int32_t k = 0; k < 4000000; ++k) __asm__ volatile("" : "+r"(x = x * 5 + 1));
    times.push_back(now_ms() - start);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2] / times[0];
}

Json row_of(Contender& c) {
  std::sort(c.times.begin(), c.times.end());
  int64_t macs = 0;
  for (int32_t n = 0; n < c.model->model().node_count(); ++n)
    macs += macs_of(c.model->model(), c.model->model().node(n));
  const double fastest = c.times.front(), rate = static_cast<double>(macs) / fastest * 1e3,
               peak = peak_of(*c.session, c.threads);
  return {{"model", c.model->path()},
          {"isa", isa_in_use(*c.session)},
          {"threads", c.threads},
          {"fastest_ms", fastest},
          {"median_ms", c.times[c.times.size() / 2]},
          {"fastest_cpu_ms", c.fastest_cpu_ms},
          {"macs", macs},
          {"gmac_s", rate * 1e-9},
          {"peak_share", peak > 0 ? Json(rate / peak) : Json()}};
}

Outcome<Done> bench(const Arguments& arguments) {
  std::vector<std::unique_ptr<LoadedModel>> models;
  std::vector<std::unique_ptr<Contender>> contenders;
  for (const std::string& path : arguments.models) {
    auto model = LoadedModel::map(path);
    if (!model) return model.failure();
    models.push_back(std::make_unique<LoadedModel>(std::move(*model)));
    for (const std::string& isa : arguments.isas)
      for (const int32_t threads : arguments.threads) {
        const auto options = session_options({threads, isa});
        if (!options) return options.failure();
        auto session = LoadedSession::create(*models.back(), *options);
        if (!session) return session.failure();
        contenders.push_back(
            std::make_unique<Contender>(Contender{models.back().get(), std::move(*session), threads}));
        fill_inputs(*contenders.back()->session);
      }
  }
  double load = 0;
  getloadavg(&load, 1);
  const double noise = median_to_fastest();
  for (int32_t round = 0; round < arguments.rounds; ++round)
    for (auto& contender : contenders) contender->run(arguments.runs);
  Json rows = Json::array();
  for (auto& contender : contenders) rows.push_back(row_of(*contender));
  if (arguments.json) {
    print_json({{"load", load}, {"median_to_fastest", noise}, {"rows", rows}});
    return Done{};
  }
  Table table({"model", "isa", "threads", "fastest ms", "median ms", "GMAC/s", "of the peak"}, 2);
  for (const Json& row : rows)
    table.add({safe(row["model"].get<std::string>()), row["isa"],
               std::to_string(row["threads"].get<int32_t>()), decimal(row["fastest_ms"], 4),
               decimal(row["median_ms"], 4), decimal(row["gmac_s"], 1),
               row["peak_share"].is_null() ? "" : decimal(row["peak_share"], 3)});
  table.print();
  print("\n  load %s, median to fastest of a fixed loop %s%s\n", decimal(load, 1).c_str(),
        decimal(noise, 2).c_str(), load < 0.5 && noise < 1.1 ? "" : ": the machine was NOT QUIET");
  return Done{};
}

}  // namespace

int main(int argc, char** argv) {
  restart_with_sleeping_threads(argv);
  Arguments arguments;
  CLI::App app(
      "how long whole models take: fastest of many runs, interleaved, and their share of the CPU's peak");
  app.footer("With one thread, pin it: taskset -c 1 model_bench NET.itg --isa avx2,avx512vnni");
  app.add_option("models", arguments.models, "model files")->required()->type_name("NET.itg ...");
  app.add_option("--isa", arguments.isas, "instruction sets, separated by commas; the best one without it")
      ->delimiter(',')
      ->type_name("NAME,...");
  app.add_option("--threads", arguments.threads, "numbers of threads, separated by commas")
      ->delimiter(',')
      ->check(CLI::Range(1, Executor::kMaxWidth))
      ->type_name("N,...")
      ->capture_default_str();
  app.add_option("--rounds", arguments.rounds, "rounds over all of them")->check(CLI::Range(1, 100000));
  app.add_option("--runs", arguments.runs, "runs of each in a round")->check(CLI::Range(1, 100000));
  app.add_flag(
      "--json", arguments.json,
      "one JSON object: {load, median_to_fastest, rows: [{model, isa, threads, fastest_ms, median_ms, "
      "fastest_cpu_ms, macs, gmac_s, peak_share}]}");
  CLI11_PARSE(app, argc, argv);
  const auto done = bench(arguments);
  if (done) return 0;
  print_error(done.failure().message);
  return 1;
}
