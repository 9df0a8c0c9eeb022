// TFLite's LSTM beside their definition in doubles, run after run: what they hold goes on.
#include <cmath>

#include "tests/support/recurrent_check.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_tflite_recurrent_test {
namespace {

using tflite::Activation;
using tflite::Options;

constexpr int32_t kLstm = 16, kSequenceLstm = 44, kTwoLstms = 52;
constexpr int8_t kTfliteInt16 = 7;
constexpr int32_t kSteps = 4, kInputs = 3, kCells = 5;

struct Form {
  int32_t batch = 1, width = kCells;  // of what a step gives; another than kCells: by a projection
  bool time_major = false, coupled = false, peepholes = false;
  float clip = 0.0f;
};

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// The weights of one direction, gates in the order input, forget, cell, output.
struct Weights {
  std::vector<float> w[4], r[4], b[4], p[3], projection, projection_bias;
};

Weights weights_of(const Form& form, uint32_t seed) {
  Random random(seed);
  const auto n = [](int32_t count) { return static_cast<size_t>(count); };
  Weights weights;
  for (int gate = 0; gate < 4; ++gate) {
    weights.w[gate] = random.reals(n(kCells * kInputs), -0.9f, 0.9f);
    weights.r[gate] = random.reals(n(kCells * form.width), -0.6f, 0.6f);
    weights.b[gate] = random.reals(n(kCells), -0.4f, 0.4f);
  }
  for (auto& p : weights.p) p = random.reals(n(kCells), -0.5f, 0.5f);
  weights.projection = random.reals(n(form.width * kCells), -0.7f, 0.7f);
  weights.projection_bias = random.reals(n(form.width), -0.2f, 0.2f);
  return weights;
}

// State of one direction, for each batch.
struct Held {
  std::vector<double> h, c;
};

void step(const Form& form, const Weights& weights, const double* x, double* h, double* c) {
  const auto width = static_cast<size_t>(form.width);
  std::vector<double> next(kCells), output(kCells);
  for (size_t o = 0; o < kCells; ++o) {
    const auto sum = [&](size_t gate) {
      return dot(weights.w[gate], o, x, kInputs) + dot(weights.r[gate], o, h, width) +
             static_cast<double>(weights.b[gate][o]);
    };
    const auto peephole = [&](size_t gate, double cell) {
      return form.peepholes ? static_cast<double>(weights.p[gate][o]) * cell : 0.0;
    };
    const double forget = sigmoid(sum(1) + peephole(1, c[o]));
    const double input = form.coupled ? 1.0 - forget : sigmoid(sum(0) + peephole(0, c[o]));
    next[o] = forget * c[o] + input * std::tanh(sum(2));
    if (form.clip > 0) next[o] = std::min(std::max(next[o], -double{form.clip}), double{form.clip});
    output[o] = sigmoid(sum(3) + peephole(2, next[o])) * std::tanh(next[o]);
  }
  std::copy(next.begin(), next.end(), c);
  for (size_t o = 0; o < width; ++o)
    h[o] = form.width == kCells ? output[o]
                                : dot(weights.projection, o, output.data(), kCells) +
                                      static_cast<double>(weights.projection_bias[o]);
}

std::vector<int32_t> no_inputs(size_t count) { return std::vector<int32_t>(count, -1); }

// The inputs from `weights_at` on, and the variables.
void add_direction(TfliteBuilder& file, const Form& form, const Weights& weights, const std::string& name,
                   size_t weights_at, size_t variables_at, std::vector<int32_t>& inputs) {
  for (int gate = form.coupled ? 1 : 0; gate < 4; ++gate) {
    const auto g = static_cast<size_t>(gate);
    const std::string of = name + std::to_string(gate);
    inputs[weights_at + g] = file.constant(of + "w", kTfliteFloat, {kCells, kInputs}, weights.w[gate]);
    inputs[weights_at + 4 + g] = file.constant(of + "r", kTfliteFloat, {kCells, form.width}, weights.r[gate]);
    inputs[weights_at + 11 + g] = file.constant(of + "b", kTfliteFloat, {kCells}, weights.b[gate]);
  }
  for (size_t i = form.coupled ? 1 : 0; form.peepholes && i < 3; ++i)
    inputs[weights_at + 8 + i] =
        file.constant(name + "p" + std::to_string(i), kTfliteFloat, {kCells}, weights.p[i]);
  if (form.width != kCells) {
    inputs[weights_at + 15] =
        file.constant(name + "q", kTfliteFloat, {form.width, kCells}, weights.projection);
    inputs[weights_at + 16] = file.constant(name + "qb", kTfliteFloat, {form.width}, weights.projection_bias);
  }
  inputs[variables_at] = file.variable_tensor(name + "h", kTfliteFloat, {form.batch, form.width});
  inputs[variables_at + 1] = file.variable_tensor(name + "c", kTfliteFloat, {form.batch, kCells});
}

std::vector<int32_t> sequence_shape(const Form& form, int32_t width) {
  return form.time_major ? std::vector<int32_t>{kSteps, form.batch, width}
                         : std::vector<int32_t>{form.batch, kSteps, width};
}

std::string lstm_file(const Form& form, const Weights& weights, bool has_time) {
  TfliteBuilder file;
  std::vector<int32_t> inputs = no_inputs(24);
  const std::vector<int32_t> in =
      has_time ? sequence_shape(form, kInputs) : std::vector<int32_t>{form.batch, kInputs};
  inputs[0] = file.tensor("x", kTfliteFloat, in);
  add_direction(file, form, weights, "f", 1, 18, inputs);
  const int32_t y =
      file.tensor("y", kTfliteFloat,
                  has_time ? sequence_shape(form, form.width) : std::vector<int32_t>{form.batch, form.width});
  if (has_time)
    file.op(kSequenceLstm, inputs, {y}, Options::UnidirectionalSequenceLSTMOptions,
            tflite::CreateUnidirectionalSequenceLSTMOptions(file.fbb(), Activation::Tanh, form.clip, 0.0f,
                                                            form.time_major)
                .Union());
  else
    file.op(kLstm, inputs, {y}, Options::LSTMOptions,
            tflite::CreateLSTMOptions(file.fbb(), Activation::Tanh, form.clip).Union());
  return file.finish({inputs[0]}, {y});
}

// Row t of batch n in a sequence.
size_t row_of(const Form& form, size_t t, size_t n) {
  return form.time_major ? t * static_cast<size_t>(form.batch) + n : n * static_cast<size_t>(kSteps) + t;
}

std::string message_of(const std::string& file) {
  Import import(file);
  CHECK(!import.good());
  return import.message();
}

}  // namespace

TEST_CASE("an LSTM is its definition, in every form, and goes on where the run before ended") {
  for (const bool has_time : {true, false})
    for (const Form& form : {Form{}, Form{2, kCells, false}, Form{2, kCells, true},
                             Form{1, kCells, false, true}, Form{2, 3}, Form{1, kCells, false, false, true},
                             Form{1, 4, false, true, true}, Form{1, kCells, true, false, true, 0.3f}}) {
      const Weights weights = weights_of(form, 7);
      RunningModel model = running(lstm_file(form, weights, has_time));
      REQUIRE(model.model().state_count() == 2);
      const auto batch = static_cast<size_t>(form.batch), width = static_cast<size_t>(form.width);
      const size_t steps = has_time ? kSteps : 1;
      for (int again = 0; again < 2; ++again) {
        Random random(13);
        Held held{std::vector<double>(batch * width), std::vector<double>(batch * kCells)};
        model.session().reset();
        for (int run = 0; run < 3; ++run) {
          const std::vector<float> x = random.reals(batch * steps * kInputs, -2.0f, 2.0f);
          std::vector<double> expected(batch * steps * width);
          for (size_t t = 0; t < steps; ++t)
            for (size_t n = 0; n < batch; ++n) {
              const size_t row = has_time ? row_of(form, t, n) : n;
              const std::vector<double> in(x.begin() + static_cast<std::ptrdiff_t>(row * kInputs),
                                           x.begin() + static_cast<std::ptrdiff_t>((row + 1) * kInputs));
              step(form, weights, in.data(), &held.h[n * width], &held.c[n * kCells]);
              std::copy_n(&held.h[n * width], width, &expected[row * width]);
            }
          check_near(model.run<float>(x), expected, 3e-6);
        }
      }
    }
}

TEST_CASE("two LSTMs in both directions, merged and apart") {
  for (const bool merged : {true, false}) {
    const Form form{2};
    const Weights weights[] = {weights_of(form, 3), weights_of(form, 4)};
    TfliteBuilder file;
    std::vector<int32_t> inputs = no_inputs(48);
    inputs[0] = file.tensor("x", kTfliteFloat, sequence_shape(form, kInputs));
    add_direction(file, form, weights[0], "f", 1, 35, inputs);
    add_direction(file, form, weights[1], "b", 18, 37, inputs);
    std::vector<int32_t> outputs{
        file.tensor("y", kTfliteFloat, sequence_shape(form, merged ? 2 * kCells : kCells))};
    if (!merged) outputs.push_back(file.tensor("z", kTfliteFloat, sequence_shape(form, kCells)));
    file.op(kTwoLstms, inputs, outputs, Options::BidirectionalSequenceLSTMOptions,
            tflite::CreateBidirectionalSequenceLSTMOptions(file.fbb(), Activation::Tanh, 0.0f, 0.0f, merged,
                                                           false)
                .Union());
    RunningModel model = running(file.finish({inputs[0]}, outputs));
    Random random(5);
    const std::vector<float> x = random.reals(2 * kSteps * kInputs, -2.0f, 2.0f);
    std::vector<double> expected[2];
    for (size_t d = 0; d < 2; ++d) {
      expected[d].resize(2 * kSteps * kCells);
      for (size_t n = 0; n < 2; ++n) {
        std::vector<double> h(kCells), c(kCells);
        for (size_t i = 0; i < kSteps; ++i) {
          const size_t row = row_of(form, d == 0 ? i : kSteps - 1 - i, n);
          const std::vector<double> in(x.begin() + static_cast<std::ptrdiff_t>(row * kInputs),
                                       x.begin() + static_cast<std::ptrdiff_t>((row + 1) * kInputs));
          step(form, weights[d], in.data(), h.data(), c.data());
          std::copy(h.begin(), h.end(), &expected[d][row * kCells]);
        }
      }
    }
    model.set_input(x);
    model.session().run();
    if (!merged) {
      check_near(model.output<float>(0), expected[0], 3e-6);
      check_near(model.output<float>(1), expected[1], 3e-6);
      continue;
    }
    std::vector<double> both;
    for (size_t row = 0; row < 2 * kSteps; ++row)
      for (const auto& one : expected)
        both.insert(both.end(), &one[row * kCells], &one[row * kCells] + kCells);
    check_near(model.output<float>(0), both, 3e-6);
  }
}

TEST_CASE("a quantized LSTM is its definition within a step of its codes") {
  const float in_scale = 2.0f / 128, weight_scale = 0.9f / 127, out_scale = 1.0f / 128;
  const int64_t out_zero = -3;
  const Form form;
  Random random(19);
  Weights weights;
  TfliteBuilder file;
  std::vector<int32_t> inputs = no_inputs(24);
  inputs[0] = file.tensor("x", kTfliteInt8, sequence_shape(form, kInputs), {{in_scale}, 0});
  for (int gate = 0; gate < 4; ++gate) {
    const std::string of = std::to_string(gate);
    const auto g = static_cast<size_t>(gate);
    std::vector<int8_t> w = random.codes(kCells * kInputs), r = random.codes(kCells * kCells);
    std::vector<int32_t> b;
    for (int8_t* code = w.data(); code != w.data() + w.size(); ++code) *code = std::max<int8_t>(*code, -127);
    for (int8_t* code = r.data(); code != r.data() + r.size(); ++code) *code = std::max<int8_t>(*code, -127);
    for (int i = 0; i < kCells; ++i) b.push_back(random.between(-2000, 2000));
    for (const int8_t code : w) weights.w[gate].push_back(weight_scale * code);
    for (const int8_t code : r) weights.r[gate].push_back(weight_scale * code);
    for (const int32_t code : b)
      weights.b[gate].push_back(in_scale * weight_scale * static_cast<float>(code));
    inputs[1 + g] = file.constant(of + "w", kTfliteInt8, {kCells, kInputs}, w, {{weight_scale}, 0});
    inputs[5 + g] = file.constant(of + "r", kTfliteInt8, {kCells, kCells}, r, {{weight_scale}, 0});
    inputs[12 + g] = file.constant(of + "b", kTfliteInt32, {kCells}, b, {{in_scale * weight_scale}, 0});
  }
  inputs[18] = file.variable_tensor("h", kTfliteInt8, {1, kCells});
  inputs[19] = file.variable_tensor("c", kTfliteInt16, {1, kCells});
  const int32_t y = file.tensor("y", kTfliteInt8, sequence_shape(form, kCells), {{out_scale}, out_zero});
  file.op(kSequenceLstm, inputs, {y}, Options::UnidirectionalSequenceLSTMOptions,
          tflite::CreateUnidirectionalSequenceLSTMOptions(file.fbb(), Activation::Tanh).Union());
  Import import(file.finish({inputs[0]}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  const auto& notes = import.outcome->report.notes;
  CHECK(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note ==
           "node 'y' (UNIDIRECTIONAL_SEQUENCE_LSTM): its gates and cell are computed in FP32, where the file has 16 "
           "bits; weights and outputs stay int8";
  }));
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
  for (int32_t n = 0; n < model.model().node_count(); ++n) {
    const NodeInfo node = model.model().node(n);
    if (node.op == Op::kFullyConnected) CHECK(model.model().tensor(node.inputs[0]).dtype == DType::kS8);
  }
  std::vector<double> h(kCells), c(kCells);
  for (int run = 0; run < 3; ++run) {
    const std::vector<int8_t> x = random.codes(kSteps * kInputs);
    const std::vector<int8_t> found = model.run<int8_t>(x);
    for (size_t t = 0; t < kSteps; ++t) {
      double in[kInputs];
      for (size_t i = 0; i < kInputs; ++i) in[i] = static_cast<double>(in_scale) * x[t * kInputs + i];
      step(form, weights, in, h.data(), c.data());
      for (size_t o = 0; o < kCells; ++o) {
        const double code =
            std::nearbyint(h[o] / static_cast<double>(out_scale)) + static_cast<double>(out_zero);
        const double clamped = std::min(std::max(code, -128.0), 127.0);
        CHECK(std::fabs(clamped - found[t * kCells + o]) <= 1);
        h[o] = static_cast<double>(out_scale) * (found[t * kCells + o] - static_cast<double>(out_zero));
      }
    }
  }
}

TEST_CASE("what is not supported is said, and where") {
  const Form form;
  const Weights weights = weights_of(form, 7);
  const auto lstm = [&](const std::function<void(TfliteBuilder&, std::vector<int32_t>&)>& change,
                        bool diagonal = false) {
    TfliteBuilder file;
    std::vector<int32_t> inputs = no_inputs(24);
    inputs[0] = file.tensor("x", kTfliteFloat, sequence_shape(form, kInputs));
    add_direction(file, form, weights, "f", 1, 18, inputs);
    const int32_t y = file.tensor("y", kTfliteFloat, sequence_shape(form, form.width));
    change(file, inputs);
    file.op(kSequenceLstm, inputs, {y}, Options::UnidirectionalSequenceLSTMOptions,
            tflite::CreateUnidirectionalSequenceLSTMOptions(file.fbb(), Activation::Tanh, 0, 0, false, false,
                                                            diagonal)
                .Union());
    return message_of(file.finish({inputs[0]}, {y}));
  };
  const std::string start = "model cannot be imported: node 'y' (UNIDIRECTIONAL_SEQUENCE_LSTM): ";
  CHECK(lstm([](TfliteBuilder&, std::vector<int32_t>&) {}, true) ==
        start + "diagonal recurrent weights are not supported");
  CHECK(lstm([](TfliteBuilder& file, std::vector<int32_t>& inputs) {
          inputs[20] = file.constant("n", kTfliteFloat, {kCells}, std::vector<float>(kCells));
        }) == start + "layer normalization inside is not supported");
  CHECK(lstm([](TfliteBuilder& file, std::vector<int32_t>& inputs) {
          inputs[2] = file.constant("n", kTfliteFloat, {kCells, kInputs + 1},
                                    std::vector<float>(kCells * (kInputs + 1)));
        }) == start + "input 2 has the shape [5, 4]; [5, 3] is expected");
  CHECK(lstm([](TfliteBuilder& file, std::vector<int32_t>& inputs) {
          inputs[18] = file.constant("n", kTfliteFloat, {1, kCells}, std::vector<float>(kCells));
        }) == start + "input 18 is no variable tensor; a state that comes from elsewhere is not supported");
  CHECK(lstm([](TfliteBuilder& file, std::vector<int32_t>& inputs) {
          inputs[19] = file.variable_tensor("n", kTfliteFloat, {1, kCells + 1});
        }) == start + "input 19 has the shape [1, 6]; [1, 5] is expected");
  CHECK(lstm([](TfliteBuilder&, std::vector<int32_t>& inputs) { inputs[19] = -1; }) ==
        start + "input 19, a variable tensor, is missing");
}

}  // namespace intaglio::test::import_tflite_recurrent_test
