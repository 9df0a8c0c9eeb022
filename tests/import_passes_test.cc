// The passes' driver, the draft as text, and the table of what operators do to data.
#include <set>

#include "importers/draft/draft.h"
#include "importers/draft/op_traits.h"
#include "importers/passes/passes.h"
#include "intaglio/ops.h"
#include "runtime/op.h"
#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/tflite_builder.h"
#include "tests/support/thrown.h"

namespace intaglio::test::import_passes_test {

using namespace importers;

namespace {

// Reshape to Transpose and back: two passes that undo each other.
bool to_transpose(Draft& draft) {
  draft.nodes[0].become(Op::kTranspose);
  return true;
}
bool to_reshape(Draft& draft) {
  draft.nodes[0].become(Op::kReshape);
  return true;
}
bool nothing(Draft&) { return false; }
// One axis shorter each time, down to 3.
bool shorten(Draft& draft) {
  importers::Shape& shape = draft.tensor(0).shape;
  if (shape.size() > 3) return shape.pop_back(), true;
  return false;
}

Draft one_node() {
  Draft draft;
  const int32_t x = add_activation(draft, "x", DType::kF32, {2, 3, 1, 1, 1});
  const int32_t y = add_activation(draft, "y", DType::kF32, {6});
  add_node({draft, "flat", "Reshape"}, Op::kReshape, {x}, y);
  draft.inputs = {x};
  draft.outputs = {y};
  return draft;
}

// x, a convolution with a stride, Relu.
std::string network() {
  OnnxBuilder file(13);
  file.input("x", {1, 1, 5, 5});
  file.floats("w", {2, 1, 3, 3}, std::vector<float>(18, 0.5f));
  auto& strides = file.node("Conv", {"x", "w"}, "c").attribute.add();
  strides.name = "strides";
  strides.type = onnx_file::AttributeProto::INTS;
  strides.ints.push_back(2);
  strides.ints.push_back(2);
  file.node("Relu", {"c"}, "y");
  file.output("y");
  return file.bytes();
}

std::string dumped(const std::string& pass) {
  std::string text;
  ImportOptions options;
  options.dump_after = pass;
  options.dump = [&](const std::string& more) { text += more; };
  Import import(network(), options);
  REQUIRE_MESSAGE(import.good(), import.message());
  return text;
}

}  // namespace

TEST_CASE("every pass has a name of its own and a sentence") {
  std::set<std::string> names;
  for (const Pass& pass : passes()) {
    CAPTURE(std::string(pass.name));
    CHECK(names.insert(pass.name).second);
    const std::string sentence = pass.sentence;
    CHECK(sentence.size() > 10);
    CHECK(sentence.back() == '.');
    CHECK((pass.run != nullptr));
  }
  CHECK(names.size() > 10);
}

TEST_CASE("passes run in rounds until a round changes nothing") {
  Draft draft = one_node();
  const Pass list[] = {{"shorten", "", shorten}, {"nothing", "", nothing}};
  std::vector<std::string> seen;
  run_to_rest(list, draft, [&](const Pass& pass, int32_t round, bool changed, const Draft& after) {
    CHECK(&after == &draft);
    seen.push_back(text(pass.name, " ", round, changed ? " changed" : ""));
  });
  CHECK(seen == std::vector<std::string>{"shorten 1 changed", "nothing 1", "shorten 2 changed", "nothing 2",
                                         "shorten 3", "nothing 3"});
  CHECK(draft.tensor(0).shape == importers::Shape{2, 3, 1});
}

TEST_CASE("passes that undo each other are an error that names them") {
  Draft draft = one_node();
  const Pass list[] = {
      {"to_transpose", "", to_transpose}, {"nothing", "", nothing}, {"to_reshape", "", to_reshape}};
  int32_t rounds = 0;
  const std::string message = thrown([&] {
    run_to_rest(list, draft, [&](const Pass&, int32_t round, bool, const Draft&) { rounds = round; });
  });
  CHECK(
      message ==
      "the passes of the import do not come to rest: after 64 rounds these still change the draft: to_transpose, "
      "to_reshape");
  CHECK(rounds == 64);
}

TEST_CASE("a pass that alone goes back and forth is left out") {
  Draft draft = one_node();
  const Pass list[] = {{"back_and_forth", "",
                        [](Draft& d) {
                          importers::Shape& shape = d.tensor(0).shape;
                          std::swap(shape.front(), shape.back());
                          return true;
                        }},
                       {"last", "", nothing, true}};
  std::vector<std::string> seen;
  run_to_rest(list, draft, [&](const Pass& pass, int32_t round, bool, const Draft&) {
    seen.push_back(text(pass.name, " ", round));
  });
  CHECK(seen == std::vector<std::string>{"back_and_forth 1", "back_and_forth 2", "back_and_forth 3",
                                         "back_and_forth 4", "back_and_forth 5", "last 6"});
}

// push_transposes brings a Transpose behind a Dequantize, quantize_nodes before it: neither may wake the other.
TEST_CASE("a Transpose between codes and an FP32 operator comes to rest on the codes") {
  OnnxBuilder file(13);
  file.input("x", {1, 3, 5, 4});
  file.floats("s", {}, {0.5f});
  file.node("QuantizeLinear", {"x", "s"}, "q");
  file.node("DequantizeLinear", {"q", "s"}, "d");
  auto& axis = file.node("Softmax", {"d"}, "y").attribute.add();
  axis.name = "axis";
  axis.type = onnx_file::AttributeProto::INT;
  axis.i = 2;
  file.output("y");
  Import import(file.bytes());
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.ops() ==
        std::vector<Op>{Op::kQuantize, Op::kTranspose, Op::kDequantize, Op::kSoftmax, Op::kTranspose});
}

// Turned for the first Transpose, the input reads as one in another order for the second, which would turn it again.
TEST_CASE("an input that is read in several orders of its axes is turned once") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 2, 3, 4});
  std::vector<int32_t> outputs;
  for (const std::vector<int32_t>& order :
       {std::vector<int32_t>{0, 2, 3, 1}, std::vector<int32_t>{0, 3, 1, 2}}) {
    const std::string name = outputs.empty() ? "a" : "b";
    const std::vector<int32_t> shape =
        outputs.empty() ? std::vector<int32_t>{1, 3, 4, 2} : std::vector<int32_t>{1, 4, 2, 3};
    const int32_t y = file.tensor(name, kTfliteFloat, shape);
    file.op(kTfliteTranspose, {x, file.constant(name + "/order", kTfliteInt32, {4}, order)}, {y});
    outputs.push_back(file.tensor(name + "/relu", kTfliteFloat, shape));
    file.op(kTfliteRelu, {y}, {outputs.back()});
  }
  Import import(file.finish({x}, outputs));
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error()));
  CHECK(import.dims(import.input()) == std::vector<int32_t>{1, 3, 4, 2});
  std::vector<float> values(24), expected(24);
  for (size_t i = 0; i < 24; ++i)
    values[i] = static_cast<float>(i);  // as NHWC: x[c][h][w] is 2 (4 h + w) + c
  for (size_t w = 0; w < 4; ++w)
    for (size_t c = 0; c < 2; ++c)
      for (size_t h = 0; h < 3; ++h) expected[(w * 2 + c) * 3 + h] = static_cast<float>(2 * (4 * h + w) + c);
  model.set_input(values, 0);
  model.session().run();
  CHECK(model.output<float>(0) == values);
  CHECK(model.output<float>(1) == expected);
}

TEST_CASE("--dump-after shows the draft, one node a line") {
  CHECK(
      dumped("read") ==
      "after read, round 1: 4 nodes\n"
      "input %0 'x' f32 [1, 1, 5, 5]\n"
      "%1 'x' f32 [1, 5, 5, 1] = Transpose(%0) permutation [0, 2, 3, 1]  # 'x' (Conv)\n"
      "%4 'c' f32 [1, 2, 2, 2] = Conv2D(%1, %2 f32 [2, 3, 3, 1] constant, %3 f32 [2] constant) window 3x3 stride "
      "2x2  # 'c_node' (Conv)\n"
      "%5 'c' f32 [1, 2, 2, 2] = Transpose(%4) permutation [0, 3, 1, 2]  # 'c' (Conv)\n"
      "%6 'y' f32 [1, 2, 2, 2] = Clamp(%5) clamp 0 to inf  # 'y_node' (Relu)\n"
      "output %6 'y'\n");
  const std::string fused = dumped("fuse_clamp");
  CHECK(fused.find("stride 2x2 clamp 0 to inf  # 'c_node' (Conv)\n") != std::string::npos);
  CHECK(fused.find("= Clamp(") == std::string::npos);
  // The first time in any case, later where it changed something.
  CHECK(dumped("fuse_gelu").rfind("after fuse_gelu, round 1, which changed nothing: ", 0) == 0);
  CHECK(dumped("fuse_gelu").find("round 2") == std::string::npos);
  for (const ImportPass& pass : import_passes()) CHECK(dumped(pass.name).rfind("after " + pass.name, 0) == 0);
}

TEST_CASE("a pass that does not exist is refused with the names of those that do") {
  ImportOptions options;
  options.dump_after = "fold";
  Import import(network(), options);
  CHECK(!import.good());
  CHECK(import.says("there is no pass 'fold'; there are read, drop_repeats, "));
  CHECK(import.says(", lower_to_lookup"));
}

TEST_CASE("a depthwise convolution of one channel is an ordinary one") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 2, 2, 1}),
                y = file.tensor("y", kTfliteFloat, {1, 1, 2, 3});
  const int32_t w =
      file.constant("w", kTfliteFloat, {1, 2, 1, 3}, std::vector<float>{1, 10, 100, 2, 20, 200});
  const int32_t b = file.constant("b", kTfliteFloat, {3}, std::vector<float>{0.5f, 1, 2});
  file.op(kTfliteDepthwise, {x, w, b}, {y}, tflite::Options::DepthwiseConv2DOptions,
          tflite::CreateDepthwiseConv2DOptions(file.fbb(), tflite::Padding::Valid, 1, 1, 3,
                                               tflite::Activation::Relu6)
              .Union());
  Import import(file.finish({x}, {y}));
  REQUIRE_MESSAGE(import.good(), import.message());
  CHECK(import.ops() == std::vector<Op>{Op::kConv2d});
  CHECK(run_import<float>(import, std::vector<float>{-1, 2, 3, -4}) ==
        std::vector<float>{5.5f, 6, 6, 0, 0, 0});
}

TEST_CASE("a layer whose channels are taken apart for the caller is a layer for each part") {
  enum class Reader { kCaller, kLayer, kWhole, kMirrored };
  const auto run = [](Reader reader) {
    OnnxBuilder file(13);
    const bool mirrors = reader == Reader::kMirrored;
    file.input("x", {1, 2, 1, mirrors ? 2 : 1});
    file.floats("w", {3, 2, 1, 1}, {1, 0, 0, 1, 1, 1});
    file.floats("b", {3}, {0, 0.5f, 1});
    file.floats("other", {1, 1, 1, 1}, {2});
    file.node("Conv", {"x", "w", "b"}, "all");
    const auto slice = [&](const std::string& name, int64_t first, int64_t end, int64_t step) {
      file.integers(name + "/first", {first, step > 0 ? 0 : -1});
      file.integers(name + "/end", {end, step > 0 ? INT64_MAX : INT64_MIN});
      file.integers(name + "/axes", {1, 3});
      file.integers(name + "/steps", {1, step});
      file.node("Slice", {"all", name + "/first", name + "/end", name + "/axes", name + "/steps"}, name);
    };
    slice("boxes", 0, 2, 1);
    slice("scores", 2, 3, mirrors ? -1 : 1);
    file.node("Relu", {"scores"}, "above");
    if (reader == Reader::kLayer) file.node("Conv", {"above", "other"}, "again");
    set(file.node("Concat", {"boxes", reader == Reader::kLayer ? "again" : "above"}, "y"), "axis",
        int64_t{1});
    file.output("y");
    if (reader == Reader::kWhole) file.output("all");
    return file.bytes();
  };
  const std::vector<float> x{-2, 3};
  Import parts(run(Reader::kCaller)), layer(run(Reader::kLayer)), whole(run(Reader::kWhole));
  CHECK(run_import<float>(parts, x) == std::vector<float>{-2, 3.5f, 2});
  CHECK(parts.count(Op::kConv2d) == 2);
  CHECK(parts.count(Op::kStridedSlice) == 0);
  CHECK(layer.count(Op::kStridedSlice) == 2);
  CHECK(whole.count(Op::kStridedSlice) == 2);
  Import mirrored(run(Reader::kMirrored));  // the last column first
  CHECK(run_import<float>(mirrored, std::vector<float>{1, 2, 3, 4}) ==
        std::vector<float>{1, 3, 2.5f, 4.5f, 8, 4});
}

TEST_CASE("PRelu made of small operators is one node") {
  const std::vector<float> x{-2, 3, -4, 5};
  const auto run = [&](bool keras, const std::vector<float>& slopes, const std::vector<int64_t>& dims) {
    OnnxBuilder file(13);
    file.input("x", {2, 2});
    file.floats("slopes", dims, slopes);
    file.floats("half", {}, {0.5f});
    file.node("Relu", {"x"}, "above");
    if (keras) {
      file.node("Neg", {"x"}, "turned");
      file.node("Relu", {"turned"}, "below");
    } else {
      file.node("Abs", {"x"}, "size");
      file.node("Sub", {"x", "size"}, "twice");
      file.node("Mul", {"twice", "half"}, "below");
    }
    file.node("Mul", {"slopes", "below"}, "sloped");
    file.node(keras ? "Sub" : "Add", {"above", "sloped"}, "y");
    file.output("y");
    return file.bytes();
  };
  for (const bool keras : {true, false}) {
    Import channels(run(keras, {0.25f, -0.5f}, {2})), one(run(keras, {0.25f}, {1}));
    CHECK(channels.ops() == std::vector<Op>{Op::kPRelu});
    CHECK(run_import<float>(channels, x) == std::vector<float>{-0.5f, 3, -1, 5});
    CHECK(run_import<float>(channels, std::vector<float>{2, -3, 4, -5}) ==
          std::vector<float>{2, 1.5f, 4, 2.5f});
    CHECK(one.ops() == std::vector<Op>{Op::kLeakyRelu});
    CHECK(run_import<float>(one, x) == std::vector<float>{-0.5f, 3, -1, 5});
  }
  Import rows(run(true, {0.25f, -0.5f}, {2, 1}));  // a slope for each row is none for each channel
  CHECK(rows.count(Op::kPRelu) == 0);
}

TEST_CASE("a choice between x and its slopes times x is one node") {
  const std::vector<float> x{-2, 3, -4, 0};
  for (const char* const compare : {"Greater", "GreaterOrEqual", "Less", "LessOrEqual"})
    for (const bool zero_first : {false, true})
      for (const std::vector<float>& slopes : {std::vector<float>{0.25f}, std::vector<float>{0.25f, -0.5f}}) {
        CAPTURE(std::string(compare));
        CAPTURE(zero_first);
        const bool is_greater = std::string(compare).find("Greater") == 0, keeps = is_greater != zero_first;
        const auto bytes = [&](bool swapped) {
          OnnxBuilder file(16);
          file.input("x", {2, 2});
          file.floats("slopes", {static_cast<int64_t>(slopes.size())}, slopes);
          file.floats("zero", {}, {0.0f});
          zero_first ? file.node(compare, {"zero", "x"}, "c") : file.node(compare, {"x", "zero"}, "c");
          file.node("Mul", {"slopes", "x"}, "sloped");
          keeps != swapped ? file.node("Where", {"c", "x", "sloped"}, "y")
                           : file.node("Where", {"c", "sloped", "x"}, "y");
          file.output("y");
          return file.bytes();
        };
        Import import(bytes(false)), other(bytes(true));
        CHECK(import.ops() == std::vector<Op>{slopes.size() == 1 ? Op::kLeakyRelu : Op::kPRelu});
        CHECK(run_import<float>(import, x) == std::vector<float>{-0.5f, 3, -1, 0});
        CHECK(other.count(Op::kWhere) == 1);  // the slopes are those above 0
      }
}

TEST_CASE("a draft of codes as text") {
  Draft draft;
  const int32_t x = add_activation(draft, "in put\n", DType::kS8, {1, 4});
  draft.tensor(x).scales = {0.5f};
  draft.tensor(x).zero_point = -3;
  const int32_t w = add_constant(draft, "w", DType::kS8, {2, 4}, std::vector<int8_t>(8));
  draft.tensor(w).scales = {0.5f, 0.25f};
  draft.tensor(w).axis = 0;
  const int32_t y = add_activation_like(draft, "y", x, {1, 2});
  DraftNode& node = add_node({draft, "fc", "FULLY_CONNECTED"}, Op::kFullyConnected, {x, w, -1}, y);
  node.options.as<Clamp>().lo = -3;
  draft.inputs = {x};
  draft.outputs = {y};
  CHECK(
      draft_text(draft) ==
      "input %0 'in put?' s8 [1, 4] scale 0.5 zero_point -3\n"
      "%2 'y' s8 [1, 2] scale 0.5 zero_point -3 = FullyConnected(%0, %1 s8 [2, 4] 2 scales along axis 0 constant, "
      "none) codes -3 to 127  # 'fc' (FULLY_CONNECTED)\n"
      "output %2 'y'\n");
}

// The runtime's own rules are the independent source.
TEST_CASE("what the table says of operators is what the runtime has") {
  std::set<Op> with_int8, unary, weighted;
  for (const OpDef* def : all_ops()) {
    if (def->dtype == DType::kS8) with_int8.insert(def->op);
    if (def->quant.table == TableRule::kUnary) unary.insert(def->op);
    if (def->quant.table != TableRule::kNone) with_int8.insert(def->op);
    if (def->quant.weight_input >= 0) weighted.insert(def->op);
  }
  const std::set<Op> stays = {Op::kSoftmax, Op::kQuantize, Op::kDequantize, Op::kLookup,
                              Op::kGroupedLookup};  // between codes
  for (int32_t i = 1; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    CAPTURE(std::string(draft_op_name(op)));
    CHECK((traits(op).int8 != Int8Form::kNone) == (with_int8.count(op) != 0 && stays.count(op) == 0));
    CHECK((traits(op).axes == Axes::kAny && traits(op).int8 == Int8Form::kRescales) ==
          (unary.count(op) != 0));
    CHECK((traits(op).int8 == Int8Form::kWeighted) == (weighted.count(op) != 0));
    if (traits(op).is(kCommutes)) CHECK(traits(op).is(kBroadcasts));
  }
  CHECK(traits(kBatchNorm).int8 == Int8Form::kNone);
  CHECK(std::string(draft_op_name(kBatchNorm)) == "BatchNorm");
}

}  // namespace intaglio::test::import_passes_test
