// `import --stream`: row by row a network gives what it gives of the whole sequence, to the bit.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

constexpr int64_t kSteps = 24;

struct Layer {
  int64_t kernel, dilation, before, after = 0;
  int64_t crop = 0;  // rows that a Slice takes off the end
  int64_t groups = 1, stride = 1;
};

// Convolutions of one dimension over x [1, channels, steps], each with a Relu behind it.
OnnxBuilder line_network(const std::vector<Layer>& layers, int64_t channels, bool residual = false) {
  Random random(17);
  OnnxBuilder file;
  file.input("x", {1, channels, kSteps});
  std::string at = "x";
  for (size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[i];
    const std::string name = "c" + std::to_string(i);
    const auto count = static_cast<size_t>(channels * channels / layer.groups * layer.kernel);
    file.floats(name + "w", {channels, channels / layer.groups, layer.kernel},
                random.reals(count, -0.4f, 0.4f));
    file.floats(name + "b", {channels}, random.reals(static_cast<size_t>(channels), -0.2f, 0.2f));
    auto& conv = file.node("Conv", {at, name + "w", name + "b"}, name);
    set(conv, "dilations", std::vector<int64_t>{layer.dilation});
    set(conv, "pads", std::vector<int64_t>{layer.before, layer.after});
    set(conv, "strides", std::vector<int64_t>{layer.stride});
    set(conv, "group", layer.groups);
    std::string out = name;
    if (layer.crop > 0) {
      file.integers(name + "s", {0});
      file.integers(name + "e", {-layer.crop});
      file.integers(name + "a", {2});
      file.node("Slice", {out, name + "s", name + "e", name + "a"}, name + "cut");
      out = name + "cut";
    }
    file.node("Relu", {out}, name + "r");
    out = name + "r";
    if (residual) {
      file.node("Add", {out, at}, name + "sum");
      out = name + "sum";
    }
    at = out;
  }
  file.node("Sigmoid", {at}, "y");
  file.output("y");
  return file;
}

ImportOptions stream(int32_t axis) {
  ImportOptions options;
  options.stream = axis;
  return options;
}

// Rows `skipped` on of what steps give, beside the whole: x and y are [channels, steps].
void check_equal(const std::string& file, int64_t channels, size_t skipped) {
  Random random(5);
  const auto width = static_cast<size_t>(channels), steps = static_cast<size_t>(kSteps);
  const std::vector<float> x = random.reals(width * steps, -2.0f, 2.0f);
  Import whole(file);
  const std::vector<float> all = run_import<float>(whole, x);
  Import import(file, stream(2));
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
  const size_t rows = all.size() / width;
  REQUIRE(rows + skipped == steps);
  for (int again = 0; again < 2; ++again) {
    for (size_t t = 0; t < steps; ++t) {
      std::vector<float> row(width), expected(width);
      for (size_t c = 0; c < width; ++c) row[c] = x[c * steps + t];
      const auto y = model.run<float>(row);
      if (t < skipped) continue;
      for (size_t c = 0; c < width; ++c) expected[c] = all[c * rows + t - skipped];
      CHECK(std::memcmp(y.data(), expected.data(), width * sizeof(float)) == 0);
    }
    model.session().reset();
  }
}

std::string message_of(const OnnxBuilder& file, int32_t axis = 2) {
  Import import(file.bytes(), stream(axis));
  CHECK(!import.good());
  return import.message();
}

}  // namespace

TEST_CASE("causal convolutions give row by row the bytes of the whole sequence") {
  check_equal(line_network({{3, 1, 2}}, 4).bytes(), 4, 0);
  check_equal(line_network({{3, 1, 2}, {3, 2, 4}, {2, 4, 4}}, 4, true).bytes(), 4, 0);
  check_equal(line_network({{5, 1, 4, 0, 0, 4}, {1, 1, 0}, {3, 3, 6, 0, 0, 4}}, 4).bytes(), 4, 0);
}

TEST_CASE("padding on both sides whose end is cut off is causal") {
  check_equal(line_network({{3, 1, 2, 2, 2}, {3, 2, 4, 4, 4}}, 3, true).bytes(), 3, 0);
}

TEST_CASE("without padding the first steps wait for their rows, and a note says so") {
  const OnnxBuilder file = line_network({{3, 1, 0}, {3, 2, 0}}, 3);
  check_equal(file.bytes(), 3, 6);
  Import import(file.bytes(), stream(2));
  REQUIRE(import.good());
  const auto& notes = import.outcome->report.notes;
  CHECK(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note ==
           "output 'y': after a reset the first 6 steps give nothing, since a convolution waits for its rows";
  }));
}

TEST_CASE("what a step cannot give is refused by the node's name") {
  const std::string start = "model cannot be imported: --stream";
  CHECK(
      message_of(line_network({{3, 1, 1, 1}}, 3)) ==
      start +
          ": output 'y' looks 1 step ahead; a network that is taken step by step pads before the first row alone");
  CHECK(message_of(line_network({{3, 1, 2, 0, 0, 1, 2}}, 3)) ==
        start + ": node 'c0_node' (Conv) has the stride 2 over time: a step gives less than a row");
  CHECK(message_of(line_network({{3, 1, 0}}, 3, false), 3) ==
        start + " 3: the input 'x' has the axes 0 to 2");
  CHECK(
      message_of(line_network({{3, 1, 2}}, 3), 0) ==
      start +
          " 0: the input 'x' has the shape [1, 3, 24], and one row along that axis; give a whole sequence with "
          "--shape");
  OnnxBuilder mean = line_network({{3, 1, 2}}, 3);
  mean.graph().clear_output();
  set(mean.node("ReduceMean", {"y"}, "m"), "axes", std::vector<int64_t>{2});
  mean.output("m");
  CHECK(message_of(mean).find("looks at all of time at once") != std::string::npos);
}
