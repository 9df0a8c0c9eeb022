// `import --stream`: row by row a network gives what it gives of the whole sequence, to the bit.
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_stream_test {
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
  mean.graph().output.clear();
  set(mean.node("ReduceMean", {"y"}, "m"), "axes", std::vector<int64_t>{2});
  mean.output("m");
  CHECK(message_of(mean).find("looks at all of time at once") != std::string::npos);
}

TEST_CASE("a quantized network begins with the codes of zero, and gives its own codes row by row") {
  constexpr int32_t kRows = 20, kChannels = 3, kKernel = 3;
  Random random(23);
  const auto weights = [&](size_t count) {
    std::vector<int8_t> codes = random.codes(count);
    for (int8_t& code : codes) code = std::max<int8_t>(code, -127);
    return codes;
  };
  TfliteBuilder file;
  const TfliteScales in{{0.05f}, 4}, between{{0.1f}, -9}, out{{0.2f}, 3};
  const auto padded = [&](int32_t x, const TfliteScales& scales, int32_t rows, const std::string& name) {
    const int32_t pads =
        file.constant(name + "/pads", kTfliteInt32, {4, 2}, std::vector<int32_t>{0, 0, rows, 0, 0, 0, 0, 0});
    const int32_t y = file.tensor(name + "/padded", kTfliteInt8, {1, kRows + rows, 1, kChannels}, scales);
    file.op(kTflitePad, {x, pads}, {y});
    return y;
  };
  const int32_t x = file.tensor("x", kTfliteInt8, {1, kRows, 1, kChannels}, in),
                middle = file.tensor("middle", kTfliteInt8, {1, kRows, 1, kChannels}, between),
                y = file.tensor("y", kTfliteInt8, {1, kRows, 1, kChannels}, out);
  const auto bias = [&](const char* name, float scale) {
    return file.constant(name, kTfliteInt32, {kChannels}, std::vector<int32_t>{100, -200, 300}, {{scale}, 0});
  };
  file.op(kTfliteConv,
          {padded(x, in, kKernel - 1, "first"),
           file.constant("w", kTfliteInt8, {kChannels, kKernel, 1, kChannels},
                         weights(kChannels * kKernel * kChannels), {{0.01f}, 0}),
           bias("b", 0.05f * 0.01f)},
          {middle}, tflite::Options::Conv2DOptions,
          tflite::CreateConv2DOptions(file.fbb(), tflite::Padding::Valid, 1, 1, tflite::Activation::Relu)
              .Union());
  file.op(kTfliteDepthwise,
          {padded(middle, between, 2 * (kKernel - 1), "second"),
           file.constant("d", kTfliteInt8, {1, kKernel, 1, kChannels}, weights(kKernel * kChannels),
                         {{0.02f}, 0}),
           bias("db", 0.1f * 0.02f)},
          {y}, tflite::Options::DepthwiseConv2DOptions,
          tflite::CreateDepthwiseConv2DOptions(file.fbb(), tflite::Padding::Valid, 1, 1, 1,
                                               tflite::Activation::None, 1, 2)
              .Union());
  const std::string bytes = file.finish({x}, {y});
  const std::vector<int8_t> codes = random.codes(kRows * kChannels);
  Import whole(bytes);
  const std::vector<int8_t> expected = run_import<int8_t>(whole, codes);
  Import import(bytes, stream(1));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.graph().states.size() == 2);
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
  for (int again = 0; again < 2; ++again) {
    std::vector<int8_t> found;
    for (size_t t = 0; t < kRows; ++t) {
      const auto row = codes.begin() + static_cast<std::ptrdiff_t>(t * kChannels);
      const auto step = model.run<int8_t>(std::vector<int8_t>(row, row + kChannels));
      found.insert(found.end(), step.begin(), step.end());
    }
    CHECK(found == expected);
    model.session().reset();
  }
}

TEST_CASE("a pool over time keeps rows, and so does each of two convolutions") {
  constexpr int64_t kChannels = 2;
  Random random(29);
  OnnxBuilder file;
  file.input("x", {1, kChannels, kSteps});
  for (const char* name : {"a", "b"}) {
    file.floats(std::string(name) + "w", {kChannels, kChannels, 3}, random.reals(12, -0.5f, 0.5f));
    set(file.node("Conv", {"x", std::string(name) + "w"}, name), "pads", std::vector<int64_t>{2, 0});
  }
  file.node("Add", {"a", "b"}, "sum");
  set(file.node("MaxPool", {"sum"}, "y"), "kernel_shape", std::vector<int64_t>{4});
  file.output("y");
  Import import(file.bytes(), stream(2));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.graph().states.size() == 3);
  check_equal(file.bytes(), kChannels, 3);
}

TEST_CASE("a published wake word gives row by row the codes that it gives of each window") {
  const std::string folder = shared_folder();
  if (folder.empty()) return;
  const auto file = read_file(
      folder + "/corpus/tiny__benchmark-training-streaming_wakeword-trained_models-str_ww_ref_model.tflite",
      kMaxModelBytes);
  if (!file) return;
  constexpr size_t kWindow = 30, kRows = 60, kWidth = 40;
  Import whole(file->span()), step(file->span(), stream(1));
  REQUIRE_MESSAGE(step.good(), step.message());
  RunningModel window(whole.write()), row(step.write());
  REQUIRE_MESSAGE(row.error().ok(), text_of(row.error(), &row.model()));
  const std::vector<int8_t> codes = Random(3).codes(kRows * kWidth);
  const auto rows = [&](size_t first, size_t count) {
    const auto begin = codes.begin() + static_cast<std::ptrdiff_t>(first * kWidth);
    return std::vector<int8_t>(begin, begin + static_cast<std::ptrdiff_t>(count * kWidth));
  };
  for (size_t t = 0; t < kRows; ++t) {
    const auto found = row.run<int8_t>(rows(t, 1));
    if (t + 1 >= kWindow) CHECK(found == window.run<int8_t>(rows(t + 1 - kWindow, kWindow)));
  }
}

}  // namespace intaglio::test::import_stream_test
