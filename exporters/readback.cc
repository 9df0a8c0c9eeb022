#include "exporters/readback.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <random>

#include "calibrator/bake/model_writer.h"
#include "calibrator/host/system/open_session.h"
#include "calibrator/host/system/text_lines.h"
#include "importers/draft/import_error.h"
#include "intaglio/ops.h"

namespace intaglio::exporters {
namespace {

constexpr int kDraws = 16;  // of inputs
// dB between an output of the file and the model's: what a wrong bias or scale does not reach.
constexpr double kLeast = 12.0;
constexpr double kRounding = 90.0;  // nearer than this are FP32 sums in another order

// Real values of one tensor, in the order of its shape.
struct Reals {
  Shape shape;
  bool are_integers = false;
  std::vector<float> values;
};

// Where the values of an input lie: an integer below a bound, or a real number.
struct InputRange {
  int32_t below = 0;  // 0: reals
  float least = -1.0f, most = 1.0f;
};

bool only_moves(Op op) {
  for (const Op known : {Op::kReshape, Op::kTranspose, Op::kPad, Op::kStridedSlice, Op::kConcat})
    if (op == known) return true;
  return false;
}

// By the codes that it has or gets, or the rows of the table that it chooses from.
InputRange range_of_input(const Model& model, int32_t input) {
  std::vector<int32_t> values = {input};  // that have its elements
  InputRange range;
  const auto take_grid = [&](const TensorInfo& info) {
    if (info.dtype != DType::kS8 && info.dtype != DType::kS16) return false;
    const float scale = info.quantization.scales[0];
    const int32_t end = info.dtype == DType::kS8 ? 128 : 32768;
    range.least = scale * static_cast<float>(-end - info.quantization.zero_point);
    range.most = scale * static_cast<float>(end - 1 - info.quantization.zero_point);
    return true;
  };
  const TensorInfo own = model.tensor(input);
  if (take_grid(own)) return range;
  const bool is_integer = own.dtype != DType::kF32;
  if (is_integer) range.below = 2;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    for (const int32_t t : node.inputs) {
      if (std::find(values.begin(), values.end(), t) == values.end()) continue;
      const TensorInfo data = model.tensor(node.inputs[0]);
      if (is_integer && node.op == Op::kGather && t != node.inputs[0] && data.is_constant())
        range.below = std::max(range.below, data.shape[0]);
      if (!is_integer && take_grid(model.tensor(node.outputs[0]))) return range;
      if (only_moves(node.op)) values.insert(values.end(), node.outputs.begin(), node.outputs.end());
    }
  }
  return range;
}

// The element of a tensor of shape `from` that stands at each place of one of shape `to`: pictures have channels last in one of them
// where the shapes say so. Empty: they do not fit.
std::vector<size_t> places(const Shape& from, const Shape& to) {
  std::vector<size_t> order(static_cast<size_t>(to.elements()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (from == to || to.rank != 4 || from.rank != 4) {
    if (from.elements() != to.elements()) order.clear();
    return order;
  }
  const auto [a, b, c, d] = std::array<int32_t, 4>{to[0], to[1], to[2], to[3]};
  const bool is_last = from[0] == a && from[1] == c && from[2] == d && from[3] == b;   // NHWC to NCHW
  const bool is_first = from[0] == a && from[1] == d && from[2] == b && from[3] == c;  // NCHW to NHWC
  if (!is_last && !is_first) return {};
  size_t at = 0;
  for (int32_t i = 0; i < a; ++i)
    for (int32_t j = 0; j < b; ++j)
      for (int32_t k = 0; k < c; ++k)
        for (int32_t l = 0; l < d; ++l) {
          const int32_t p = is_last ? ((i * c + k) * d + l) * b + j : ((i * d + l) * b + j) * c + k;
          order[at++] = static_cast<size_t>(p);
        }
  return order;
}

using Draw = std::map<std::string, Reals>;  // by input

float real_of(const TensorView& view, size_t i) {
  const auto real = [&](int32_t code) {
    return view.info.quantization.scales[0] * static_cast<float>(code - view.info.quantization.zero_point);
  };
  switch (view.info.dtype) {
    case DType::kS8:
      return real(view.as<int8_t>()[i]);
    case DType::kS16:
      return real(view.as<int16_t>()[i]);
    case DType::kS32:
      return static_cast<float>(view.as<int32_t>()[i]);
    case DType::kU8:
      return view.as<uint8_t>()[i];
    default:
      return view.as<float>()[i];
  }
}

Draw draw_inputs(const Model& model, std::mt19937& random) {
  Draw draw;
  const auto add = [&](const TensorInfo& info) -> Reals& {
    Reals& reals = draw[info.name];
    reals.shape = info.shape;
    reals.values.resize(static_cast<size_t>(info.shape.elements()));
    return reals;
  };
  for (const int32_t t : model.inputs()) {
    const InputRange range = range_of_input(model, t);
    for (float& value : add(model.tensor(t)).values)
      value = range.below > 0
                  ? static_cast<float>(random() % static_cast<uint32_t>(range.below))
                  : range.least + (range.most - range.least) * static_cast<float>(random() >> 8) * 0x1p-24f;
  }
  // A file has states as inputs.
  for (int32_t i = 0; i < model.state_count(); ++i) {
    const StateInfo state = model.state(i);
    add(model.tensor(state.input)).values = first_values(model, state);
  }
  return draw;
}

void put_real(const TensorView& view, size_t i, float value) {
  const auto code = [&](float least, float most) {
    const float scaled = value / view.info.quantization.scales[0];
    return std::clamp(std::nearbyint(scaled) + static_cast<float>(view.info.quantization.zero_point), least,
                      most);
  };
  switch (view.info.dtype) {
    case DType::kS8:
      view.as<int8_t>()[i] = static_cast<int8_t>(code(-128.0f, 127.0f));
      break;
    case DType::kS16:
      view.as<int16_t>()[i] = static_cast<int16_t>(code(-32768.0f, 32767.0f));
      break;
    case DType::kS32:
      view.as<int32_t>()[i] = static_cast<int32_t>(value);
      break;
    case DType::kU8:
      view.as<uint8_t>()[i] = static_cast<uint8_t>(value);
      break;
    default:
      view.as<float>()[i] = value;
  }
}

// A model in memory of its own.
class Running {
 public:
  explicit Running(const Model& model) : model_(model) {
    const Result<Session> session = open_session(model, {}, memory_);
    if (session)
      session_ = *session;
    else
      importers::fail(error_text(session.error()));
  }

  // Inputs that the draw does not name are zeros.
  std::map<std::string, Reals> run(const Draw& draw) {
    session_.reset();
    for (int32_t i = 0; i < static_cast<int32_t>(model_.inputs().size); ++i) {
      const TensorView view = session_.input(i);
      const auto found = draw.find(view.info.name);
      const std::vector<size_t> order =
          found == draw.end() ? std::vector<size_t>() : places(found->second.shape, view.info.shape);
      for (size_t e = 0; e < static_cast<size_t>(view.info.shape.elements()); ++e)
        put_real(view, e, order.empty() ? 0.0f : found->second.values[order[e]]);
    }
    session_.run();
    std::map<std::string, Reals> outputs;
    for (int32_t i = 0; i < static_cast<int32_t>(model_.outputs().size); ++i) {
      const TensorView view = session_.output(i);
      Reals& reals = outputs[view.info.name];
      reals.shape = view.info.shape;
      reals.are_integers = view.info.dtype == DType::kS32 || view.info.dtype == DType::kU8;
      for (size_t e = 0; e < static_cast<size_t>(view.info.shape.elements()); ++e)
        reals.values.push_back(real_of(view, e));
    }
    return outputs;
  }

 private:
  const Model& model_;
  FileBytes memory_;
  Session session_;
};

std::string db_text(double db) { return importers::text(std::round(10.0 * db) / 10.0, " dB"); }

// How far an output of one model is from that of another.
struct Distance {
  std::vector<double> decibels;  // of each draw
  float largest = 0.0f;          // of all: the largest difference
  bool is_of_integers = false;   // places and numbers of classes: a near tie makes another one

  // The median over the draws: one draw far outside of what a network was made for does not rule.
  double db() const {
    std::vector<double> sorted = decibels;
    std::sort(sorted.begin(), sorted.end());
    return sorted[(sorted.size() - 1) / 2];
  }
};

// Figures of each output that both have, by name, on draws from the ranges of the first.
std::map<std::string, Distance> distances(const Model& from, const Model& to) {
  constexpr double kSame = 200.0;
  Running a(from), b(to);
  std::mt19937 random(1);
  std::map<std::string, Distance> result;
  for (int i = 0; i < kDraws; ++i) {
    const Draw draw = draw_inputs(from, random);
    const auto first = a.run(draw), second = b.run(draw);
    for (const auto& [name, own] : first) {
      const auto found = second.find(name);
      if (found == second.end()) continue;
      const std::vector<size_t> order = places(own.shape, found->second.shape);
      if (order.empty())
        importers::fail("output ", importers::quoted(name), " of the exported file has another shape");
      Distance& distance = result[name];
      distance.is_of_integers = own.are_integers;
      double signal = 0.0, noise = 0.0;
      for (size_t e = 0; e < order.size(); ++e) {
        const float x = own.values[order[e]], y = found->second.values[e];
        if (!std::isfinite(x)) {
          noise += (std::isnan(x) ? std::isnan(y) : x == y) ? 0.0 : HUGE_VALF;
          continue;
        }
        const double difference = std::isfinite(y) ? std::fabs(double{x} - y) : HUGE_VALF;
        signal += double{x} * x;
        noise += difference * difference;
        distance.largest = std::max(distance.largest, static_cast<float>(difference));
      }
      distance.decibels.push_back(noise == 0.0 ? kSame : 10.0 * std::log10(std::max(signal, 1e-30) / noise));
    }
  }
  return result;
}

}  // namespace

std::vector<float> first_values(const Model& model, const StateInfo& state) {
  const TensorInfo info = model.tensor(state.input);
  std::vector<uint8_t> bytes(state.initial.begin(), state.initial.end());
  bytes.resize(info.bytes());
  std::vector<float> values(static_cast<size_t>(info.shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = real_of({info, bytes.data()}, i);
  return values;
}

Outcome<Done> check_model(const Model& model, const std::string& path) {
  const Result<SessionNeeds> needs = Session::measure_anywhere(model, all_ops());
  if (!needs) return Failure{path + ": cannot be run: " + error_text(needs.error(), &model)};
  return Done{};
}

Outcome<Done> import_again(Span<const uint8_t> file, const std::string& name, ImportOptions options,
                           Reimported& back) {
  options.keep_dead = true;  // each layer's codes are compared
  auto imported = import_model(file, name, options, back.memory);
  if (!imported) return imported.failure();
  const auto written = finish_model(imported->graph, all_ops(), back.memory.arena());
  if (!written) return Failure{name + " cannot be made a model: " + error_text(written.error())};
  const auto opened = Model::open(*written);
  if (!opened) return Failure{name + " cannot be made a model: " + error_text(opened.error())};
  back.model = *opened;
  return Done{};
}

Outcome<Done> compare_runs(const Model& model, const Model& back, const std::string& path,
                           std::vector<std::string>& notes) {
  using importers::quoted;
  using importers::text;
  try {
    for (const auto& [name, distance] : distances(model, back)) {
      const double db = distance.db();
      if (db < kLeast && !distance.is_of_integers)
        return Failure{text(path, ": the exported file would not give what the model gives: output ",
                            quoted(name), " is ", db_text(db),
                            " from the model's on draws of inputs; use 'intaglio export-c', and report this network")};
      if (db < kRounding)
        notes.push_back(text("output ", quoted(name), " differs from the model's by ", distance.largest,
                             " at most on ", kDraws, " draws of inputs (", db_text(db), ")"));
    }
  } catch (const importers::ImportError& error) {
    return Failure{path + ": " + error.what()};
  }
  return Done{};
}

}  // namespace intaglio::exporters
