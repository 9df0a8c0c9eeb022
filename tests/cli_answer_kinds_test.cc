// The meaning of an output's numbers: what the network's end says, what is presumed, what import was told; and that figures,
// verdicts and advice about classes are given of classes alone.
#include "tools/answer_kind.h"

#include <doctest/doctest.h>

#include "calibrator/host/system/npy.h"
#include "intaglio/model.h"
#include "tests/support/model_builder.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/random.h"
#include "tests/support/run_cli.h"

namespace intaglio::test::cli_answer_kinds_test {

using namespace tools;
using intaglio::AnswerKind;
using intaglio::DType;
using intaglio::Op;
using intaglio::test::holds;

namespace {

constexpr int32_t kIn = 24;

// A dense layer of so many numbers, and what stands behind it.
class Network {
 public:
  explicit Network(int32_t numbers, float bound = -INFINITY) {
    Random random(7);
    const int32_t x = b_.tensor("x", DType::kF32, {1, kIn});
    const int32_t w = b_.constant("w", DType::kF32, {numbers, kIn},
                                  random.reals(static_cast<size_t>(numbers) * kIn, -1, 1));
    b_.input(x);
    y_ = b_.tensor("y", DType::kF32, {1, numbers});
    b_.node(Op::kFullyConnected, {x, w}, {y_}).options.as<Clamp>().min = bound;
  }
  Network& then(Op op) {
    const TensorInfo before = b_.graph().tensors[static_cast<size_t>(y_)];
    const std::vector<int32_t> dims(before.shape.dims, before.shape.dims + before.shape.rank);
    const int32_t z = b_.tensor(std::string(before.name) + "+", DType::kF32, dims);
    b_.node(op, {y_}, {z});
    y_ = z;
    return *this;
  }
  Network& told(std::vector<uint8_t> kinds) {
    told_ = std::move(kinds);
    return *this;
  }
  AlignedBytes finish() {
    b_.output(y_);
    b_.graph().answers = {told_.data(), told_.size()};
    return b_.finish();
  }
  Answer answer() {
    const AlignedBytes bytes = finish();
    return answer_of(*Model::open(bytes.view()), 0);
  }
  AnswerKind kind() { return answer().kind; }

 private:
  ModelBuilder b_;
  int32_t y_ = -1;
  std::vector<uint8_t> told_;
};

void put(const CommandFolder& folder, const AlignedBytes& bytes, const std::string& name = "net.itg") {
  folder.put(name, std::vector<uint8_t>(bytes.view().begin(), bytes.view().end()));
}

void put_samples(const CommandFolder& folder, int64_t count = 24) {
  Random random(9);
  const std::vector<float> values = random.reals(static_cast<size_t>(count) * kIn, -2, 2);
  REQUIRE(write_npy(folder / "x.npy", NpyType::kF32, {count, kIn},
                    {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)}));
}

std::vector<float> numbers_of(const CommandFolder& folder, const char* array) {
  const auto read = read_npy(folder / array);
  REQUIRE(read);
  std::vector<float> numbers(read->header.elements());
  REQUIRE(npy_values(read->header.type, read->data.span(), {numbers.data(), numbers.size()}));
  return numbers;
}

constexpr const char* kCalibrate = "calibrate %/net.itg --images %/x.npy -o %/int8.itg";
constexpr const char* kCompare = "compare %/net.itg %/int8.itg --images %/x.npy";

}  // namespace

TEST_CASE("the network's end says what its numbers are") {
  CHECK(Network(3).then(Op::kSoftmax).kind() == AnswerKind::kClasses);
  CHECK(Network(64).then(Op::kSoftmax).kind() == AnswerKind::kClasses);
  CHECK(Network(1).then(Op::kSigmoid).kind() == AnswerKind::kClasses);
  CHECK(Network(20).then(Op::kL2Normalize).kind() == AnswerKind::kEmbedding);
  CHECK(Network(20).then(Op::kTanh).kind() == AnswerKind::kValues);
  CHECK(Network(1).kind() == AnswerKind::kValues);
  CHECK(Network(1).then(Op::kTanh).kind() == AnswerKind::kValues);
}

TEST_CASE("a row of numbers is presumed to be classes, but for what is as often something else") {
  for (const int32_t numbers : {10, 12, 100, 1000, 1001}) {
    CAPTURE(numbers);
    CHECK(Network(numbers).answer().is_presumed);
    CHECK(Network(numbers).kind() == AnswerKind::kClasses);
  }
  for (const int32_t numbers : {2, 4, 9, kIn, 64, 128, 512}) {
    CAPTURE(numbers);
    CHECK(Network(numbers).kind() == AnswerKind::kUnknown);
  }
  CHECK(Network(12, 0.0f).kind() == AnswerKind::kUnknown);  // ReLU
  CHECK(Network(12).then(Op::kSigmoid).kind() == AnswerKind::kUnknown);
}

TEST_CASE("what import was told rules, and a number that nobody knows is not told") {
  CHECK(Network(3).told({1}).kind() == AnswerKind::kClasses);
  CHECK_FALSE(Network(12).told({1}).answer().is_presumed);
  CHECK(Network(12).told({2}).kind() == AnswerKind::kValues);
  CHECK(Network(3).then(Op::kSoftmax).told({3}).kind() == AnswerKind::kBoxes);
  CHECK(Network(12).told({0}).kind() == AnswerKind::kClasses);
  CHECK(Network(12).told({6}).kind() == AnswerKind::kClasses);
  CHECK(Network(4).told({255, 1}).kind() == AnswerKind::kUnknown);
}

TEST_CASE("a model that was told nothing has the bytes that it had") {
  const AlignedBytes without = Network(12).finish(), with = Network(12).told({2}).finish();
  CHECK(without.size() < with.size());
  CHECK(Model::open(without.view())->answers().empty());
  CHECK(Model::open(with.view())->answers().size == 1);
  CHECK(Model::open(with.view())->format_version() == Model::open(without.view())->format_version());
}

TEST_CASE("agreement is of classes alone; others have errors in their own unit") {
  const CommandFolder folder;
  put_samples(folder);
  struct Case {
    AlignedBytes bytes;
    bool classes;
    const char* name;
  };
  const Case cases[] = {{Network(12).finish(), true, "logits"},
                        {Network(3).told({1}).finish(), true, "told"},
                        {Network(3).then(Op::kSoftmax).finish(), true, "softmax"},
                        {Network(1).told({1}).finish(), true, "one score"},
                        {Network(1).then(Op::kSigmoid).finish(), true, "one probability"},
                        {Network(4).finish(), false, "box"},
                        {Network(kIn).finish(), false, "autoencoder"},
                        {Network(1).finish(), false, "one number"},
                        {Network(12).told({2}).finish(), false, "values"},
                        {Network(12).then(Op::kTanh).finish(), false, "angles"},
                        {Network(12).then(Op::kL2Normalize).finish(), false, "embedding"}};
  for (const Case& c : cases) {
    CAPTURE(c.name);
    put(folder, c.bytes);
    const auto made = folder.json(std::string(kCalibrate) + " --json"),
               compared = folder.json(std::string(kCompare) + " --json");
    CHECK(made["agreement"].is_null() != c.classes);
    CHECK(made["calibration_agreement"].is_null() != c.classes);
    CHECK(compared["agreement"].is_null() != c.classes);
    CHECK(made["errors"].size() == (c.classes ? 0 : 1));
    CHECK(compared["errors"].size() == (c.classes ? 0 : 1));
    if (c.classes) continue;
    CHECK(made["warnings"].empty());
    for (const auto& error : {made["errors"][0], compared["errors"][0]}) {
      CHECK(error["mean"] > 0);
      CHECK(error["largest"] >= error["mean"]);
      CHECK(error["largest"] < error["high"].get<double>() - error["low"].get<double>());
    }
    const std::string text = folder.good(kCalibrate).out;
    CHECK(holds(text, " on average and "));
    CHECK(holds(text, "--answers classes") ==
          (c.name == std::string("box") || c.name == std::string("autoencoder")));
    CHECK(holds(folder.good(kCompare).out, " on average and "));
  }
}

TEST_CASE("errors are those of the arrays that run writes") {
  const CommandFolder folder;
  put_samples(folder);
  put(folder, Network(4).finish());
  folder.good(kCalibrate);
  folder.good("run %/net.itg --input %/x.npy --output %/a.npy");
  folder.good("run %/int8.itg --input %/x.npy --output %/b.npy");
  const std::vector<float> a = numbers_of(folder, "a.npy"), b = numbers_of(folder, "b.npy");
  double sum = 0, largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    sum += difference;
    largest = std::max(largest, difference);
  }
  const auto error = folder.json(std::string(kCompare) + " --json")["errors"][0];
  CHECK(error["mean"].get<double>() == doctest::Approx(sum / static_cast<double>(a.size())));
  CHECK(error["largest"].get<double>() == largest);
  CHECK(error["low"].get<double>() == static_cast<double>(*std::min_element(a.begin(), a.end())));
  CHECK(error["high"].get<double>() == static_cast<double>(*std::max_element(a.begin(), a.end())));
}

TEST_CASE("labels say that a row of numbers is classes, unless it is known to be something else") {
  const CommandFolder folder;
  put_samples(folder);
  put(folder, Network(3).finish());
  put(folder, Network(3).told({2}).finish(), "values.itg");
  std::string labels;
  for (int i = 0; i < 24; ++i) labels += std::to_string(i % 3) + "\n";
  folder.put("labels.txt", labels);
  CHECK(folder.json("eval %/net.itg --images %/x.npy --labels %/labels.txt --json")["count"] == 24);
  folder.bad("eval %/values.itg --images %/x.npy --labels %/labels.txt", "(values: import was told so)");
  folder.good(kCalibrate);
  CHECK(folder.json(std::string(kCompare) + " --labels %/labels.txt --json").contains("lost"));
  // Two classes of one probability.
  put(folder, Network(1).then(Op::kSigmoid).finish(), "two.itg");
  folder.put("two.txt",
             "0\n1\n" + std::string("1\n0\n1\n0\n1\n1\n0\n1\n1\n0\n1\n0\n1\n1\n0\n1\n1\n0\n1\n0\n1\n1\n"));
  const auto judged = folder.json("eval %/two.itg --images %/x.npy --labels %/two.txt --json");
  CHECK(judged["top1"] > 0);
  CHECK(judged["top1"] < 100);
  CHECK(judged["top5"] == 100);
}

TEST_CASE("import stores the kind, calibrate keeps it, and inspect shows it") {
  const CommandFolder folder;
  put_samples(folder);
  OnnxBuilder file;
  Random random(3);
  file.input("x", {1, kIn});
  file.floats("w", {kIn, 12}, random.reals(size_t{kIn} * 12, -1, 1));
  file.floats("v", {kIn, 4}, random.reals(size_t{kIn} * 4, -1, 1));
  file.node("MatMul", {"x", "w"}, "scores");
  file.node("MatMul", {"x", "v"}, "box");
  file.output("scores");
  file.output("box");
  folder.put("net.onnx", file.bytes());
  const std::string import = "import %/net.onnx -o %/net.itg";
  CHECK(folder.json(import + " --json")["outputs"][0]["answer"].is_null());
  CHECK(folder.json(import + " --answers classes,boxes --json")["outputs"][1]["answer"] == "boxes");
  const auto made = folder.json(std::string(kCalibrate) + " --json");
  CHECK(made["agreement"].is_number());
  REQUIRE(made["errors"].size() == 1);
  CHECK(made["errors"][0]["name"] == "box");
  const auto outputs = folder.json("inspect %/int8.itg --json")["outputs"];
  CHECK(outputs[0]["answer"] == "classes");
  CHECK(outputs[1]["answer"] == "boxes");
  folder.bad(import + " --answers classes,boxes,map", "names 3 kinds, and the network has 2 outputs");
  const Ran unknown = folder.run(import + " --answers classes,labels");
  CHECK(unknown.code == 2);
  CHECK(holds(unknown.err, "'labels' is none of classes, values"));
}

TEST_CASE("the worst part rules the verdict, and is named") {
  const CommandFolder folder;
  put_samples(folder);
  // Four numbers in hundreds, and five below ten beside them, in one output.
  ModelBuilder b;
  Random random(7);
  std::vector<float> weights = random.reals(size_t{9} * kIn, -1, 1);
  for (size_t i = 0; i < size_t{4} * kIn; ++i) weights[i] *= 100;
  const int32_t x = b.tensor("x", DType::kF32, {1, kIn}), w = b.constant("w", DType::kF32, {9, kIn}, weights),
                y = b.tensor("y", DType::kF32, {1, 9});
  b.input(x);
  b.node(Op::kFullyConnected, {x, w}, {y});
  b.output(y);
  put(folder, b.finish());
  const auto fine = folder.json(std::string(kCalibrate) + " --json");
  CHECK(fine["verdict"] == "good");  // answers are FP32
  CHECK(fine["worst"]["sqnr_db"] > 25);
  const std::string codes = std::string(kCalibrate) + " --int8-answers";
  const auto made = folder.json(codes + " --json"), compared = folder.json(std::string(kCompare) + " --json");
  CHECK(made["sqnr_db"] > 20);
  CHECK(made["verdict"] == "poor");
  for (const auto& worst : {made["worst"], compared["worst"]}) {
    CHECK(worst["name"] == "'y', channels 4 to 8");
    CHECK(worst["sqnr_db"] < 8);
  }
  const std::string text = folder.good(codes + " --report %/page.html").out;
  CHECK(holds(text, " dB, 'y', channels 4 to 8\n"));
  CHECK(holds(folder.get("page.html"), "the worst part of the outputs: &#39;y&#39;, channels 4 to 8"));
  CHECK(holds(folder.good(kCompare).out, "worst part of the outputs ('y', channels 4 to 8): SQNR "));
  // More bits reach every part.
  CHECK(folder.json(codes + " --min-sqnr 20 --json")["worst"]["sqnr_db"] > 15);
}

TEST_CASE("channels of unlike size count each, unless they are shares of one") {
  const auto counts = [](const AlignedBytes& bytes) {
    return has_channels_of_their_own(*Model::open(bytes.view()));
  };
  CHECK(counts(Network(9).finish()));
  CHECK_FALSE(counts(Network(9).then(Op::kSoftmax).finish()));
  CHECK_FALSE(counts(Network(20).then(Op::kSigmoid).finish()));
  CHECK(counts(Network(20).then(Op::kSigmoid).told({static_cast<uint8_t>(AnswerKind::kValues)}).finish()));
}

TEST_CASE("outputs are judged as the caller reads them: behind Sigmoid, Tanh and L2 normalization") {
  const CommandFolder folder;
  put_samples(folder);
  for (const Op op : {Op::kSigmoid, Op::kTanh, Op::kL2Normalize}) {
    CAPTURE(static_cast<int>(op));
    put(folder, Network(20).then(op).finish());
    folder.good(kCalibrate);
    folder.good("run %/net.itg --input %/x.npy --output %/a.npy");
    folder.good("run %/int8.itg --input %/x.npy --output %/b.npy");
    const std::vector<float> a = numbers_of(folder, "a.npy"), b = numbers_of(folder, "b.npy");
    double signal = 0, noise = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const auto exact = static_cast<double>(a[i]), difference = exact - static_cast<double>(b[i]);
      signal += exact * exact;
      noise += difference * difference;
    }
    CHECK(folder.json(std::string(kCompare) + " --json")["sqnr_db"].get<double>() ==
          doctest::Approx(10 * std::log10(signal / noise)));
  }
}

TEST_CASE("a network that gives the same outputs for every sample is told, and is not good") {
  const CommandFolder folder;
  put_samples(folder);
  for (const bool is_constant : {true, false}) {
    CAPTURE(is_constant);
    put(folder, Network(5, is_constant ? 1000.0f : -1000.0f).finish());
    const Ran ran = folder.good(kCalibrate);
    CHECK(holds(ran.err, "the FP32 model gives the same outputs for every sample") == is_constant);
    CHECK(holds(ran.out, "verdict      good") != is_constant);
  }
}

}  // namespace intaglio::test::cli_answer_kinds_test
