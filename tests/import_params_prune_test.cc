// Channels that a record takes out of a model: what is left computes what the whole model computes with these channels
// set to 0, to the bit.
#include "importers/params/params_prune.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "calibrator/bake/model_writer.h"
#include "tests/support/params_check.h"
#include "tests/support/small_models.h"

namespace intaglio::test::import_params_prune_test {
namespace {

std::string attributes(const std::string& end, const std::vector<int32_t>& channels) {
  std::string text = "attr { name: \"begin\" type: INT i: 0 } attr { name: \"end\" type: INT i: " + end +
                     " } attr { name: \"prune_index\" type: INTS ";
  for (const int32_t c : channels) text += "ints: " + std::to_string(c) + " ";
  return text + "}";
}
std::string producer(const std::string& name, const std::string& end, const std::vector<int32_t>& channels) {
  return "producer { name: \"" + name + "\" " + attributes(end, channels) + " } ";
}
std::string record(const std::string& nodes) { return "prune_record { " + nodes + "}"; }

// Gives the layer of a random network, by name, its weights and bias.
using Weights = std::function<std::vector<int32_t>(ModelBuilder& b, const std::string& name,
                                                   const std::vector<int32_t>& dims, int32_t channel_axis)>;

// input -> stem -+-> gate (1 x 1, sigmoid) -> product -> depthwise -> + -> max pool -> concat -> slice -> flatten -> fc
//                +----------------------------^       side (1 x 1) ---^               ^ tail (1 x 1, PRelu)
AlignedBytes network(int32_t c, const Weights& weights, Random& random) {
  ModelBuilder b;
  const auto map = [&](const std::string& name, int32_t side, int32_t channels) {
    return b.tensor(name, DType::kF32, {1, side, side, channels});
  };
  const auto layer = [&](Op op, const std::string& name, int32_t from, int32_t to,
                         const std::vector<int32_t>& dims, int32_t axis) -> GraphNode& {
    std::vector<int32_t> inputs = weights(b, name, dims, axis);
    inputs.insert(inputs.begin(), from);
    GraphNode& made = b.node(op, inputs, {to});
    made.name = b.arena().copy_name(name.c_str());
    return made;
  };
  const int32_t x = map("x", 6, 3), stem = map("stem", 6, c), gate = map("gate", 6, c),
                sigmoid = map("sigmoid", 6, c), product = map("product", 6, c), deep = map("deep", 6, c),
                side = map("side", 6, c), sum = map("sum", 6, c), pooled = map("pooled", 3, c),
                tail = map("tail", 3, 4), bent = map("bent", 3, 4), all = map("all", 3, c + 4),
                cut = map("cut", 3, c + 2), padded = map("padded", 4, c + 2),
                flat = b.tensor("flat", DType::kF32, {1, 16 * (c + 2)}),
                y = b.tensor("y", DType::kF32, {1, 3});
  b.input(x);
  b.output(y);
  Window2d same;
  same.kernel_h = same.kernel_w = 3;
  same.pad_top = same.pad_left = same.pad_bottom = same.pad_right = 1;
  GraphNode& conv = layer(Op::kConv2d, "stem", x, stem, {c, 3, 3, 3}, 0);
  conv.options.as<Window2d>() = same;
  conv.options.as<Clamp>().min = 0.0f;
  layer(Op::kConv2d, "gate", stem, gate, {c, 1, 1, c}, 0);
  b.node(Op::kSigmoid, {gate}, {sigmoid});
  b.node(Op::kMul, {stem, sigmoid}, {product});
  layer(Op::kDepthwiseConv2d, "deep", product, deep, {3, 3, c}, 2).options.as<Window2d>() = same;
  layer(Op::kConv2d, "side", x, side, {c, 1, 1, 3}, 0);
  b.node(Op::kAdd, {deep, side}, {sum});
  GraphNode& pool = b.node(Op::kMaxPool2d, {sum}, {pooled});
  pool.options.as<Window2d>().kernel_h = pool.options.as<Window2d>().kernel_w = 2;
  pool.options.as<Window2d>().stride_h = pool.options.as<Window2d>().stride_w = 2;
  layer(Op::kConv2d, "tail", pooled, tail, {4, 1, 1, c}, 0);
  b.node(Op::kPRelu, {tail, b.constant<float>("slope", DType::kF32, {4}, random.reals(4, -1.0f, 1.0f))},
         {bent});
  b.node(Op::kConcat, {pooled, bent}, {all}).options.as<ConcatOptions>().axis = 3;
  GraphNode& slice = b.node(Op::kStridedSlice, {all}, {cut});
  slice.options.as<StridedSliceOptions>().begin = b.keep({0, 0, 0, 1});
  slice.options.as<StridedSliceOptions>().strides = b.keep({1, 1, 1, 1});
  b.node(Op::kPad, {cut}, {padded}).options.as<PadOptions>().before = b.keep({0, 1, 0, 0});
  b.node(Op::kReshape, {padded}, {flat});
  layer(Op::kFullyConnected, "fc", flat, y, {3, 16 * (c + 2)}, 0);
  return b.finish(float_ops());
}

// Weights of one seed; those of channels that `gone` names are 0.
Weights random_weights(uint32_t seed, const std::map<std::string, std::vector<int32_t>>& gone = {}) {
  return [seed, gone](ModelBuilder& b, const std::string& name, const std::vector<int32_t>& dims,
                      int32_t axis) {
    Random random(seed + static_cast<uint32_t>(std::hash<std::string>()(name) % 1000));
    size_t count = 1, behind = 1;
    for (const int32_t dim : dims) count *= static_cast<size_t>(dim);
    for (size_t i = static_cast<size_t>(axis) + 1; i < dims.size(); ++i)
      behind *= static_cast<size_t>(dims[i]);
    const auto channels = static_cast<size_t>(dims[static_cast<size_t>(axis)]);
    std::vector<float> values = random.reals(count, -1.0f, 1.0f), bias = random.reals(channels, -1.0f, 1.0f);
    if (const auto list = gone.find(name); list != gone.end()) {
      for (size_t i = 0; i < count; ++i)
        if (std::count(list->second.begin(), list->second.end(),
                       static_cast<int32_t>(i / behind % channels)) != 0)
          values[i] = 0.0f;
      for (const int32_t c : list->second) bias[static_cast<size_t>(c)] = 0.0f;
    }
    return std::vector<int32_t>{
        b.constant<float>(name + ".weight", DType::kF32, dims, values),
        b.constant<float>(name + ".bias", DType::kF32, {dims[static_cast<size_t>(axis)]}, bias)};
  };
}

Outcome<AlignedBytes> pruned(AlignedBytes& file, const std::string& text) {
  const auto table = read_amct("R", text);
  if (!table) return table.failure();
  const auto model = Model::open(file.span());
  REQUIRE(model);
  HostArena memory;
  Graph graph;
  const auto summary = prune_model(*model, *table, "R", graph, memory.arena());
  if (!summary) return summary.failure();
  const auto bytes = finish_model(graph, float_ops(), memory.arena());
  REQUIRE(bytes);
  return AlignedBytes(*bytes);
}

std::vector<float> run(AlignedBytes file, const std::vector<float>& x) {
  RunningModel model(std::move(file), float_ops());
  REQUIRE(model.error().ok());
  return model.run<float>(x);
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("a pruned network equals the one with these channels set to 0, to the bit, and is smaller") {
  Random random(3);
  for (uint32_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const auto c = static_cast<int32_t>(3 + random.bits() % 9);
    const auto some = [&](int32_t of) {
      std::vector<int32_t> list;
      for (int32_t i = 0; i < of; ++i)
        if (random.bits() % 3 == 0) list.push_back(i);
      if (list.empty()) list.push_back(0);
      if (list.size() == static_cast<size_t>(of)) list.pop_back();
      return list;
    };
    const std::vector<int32_t> body = some(c), end = some(4);
    Random slopes(seed), same_slopes(seed);
    AlignedBytes whole = network(c, random_weights(seed), slopes);
    AlignedBytes zeroed =
        network(c, random_weights(seed, {{"stem", body}, {"deep", body}, {"side", body}, {"tail", end}}),
                same_slopes);
    // The gate's channels go, too: 1 / 2 times 0 is 0.
    auto small = pruned(
        whole, record(producer("stem", std::to_string(c), body) + producer("gate", std::to_string(c), body) +
                      producer("side", std::to_string(c), body) + "consumer { name: \"deep\" " +
                      attributes(std::to_string(c), body) + " } consumer { name: \"no_layer\" }") +
                   record(producer("tail", "4", end)));
    REQUIRE_MESSAGE(small, small.message());
    AlignedBytes left = std::move(*small);
    CHECK(left.span().size < whole.span().size);
    const std::vector<float> x = random.reals(6 * 6 * 3, -2.0f, 2.0f);
    const std::vector<float> y = run(AlignedBytes(left.span()), x);
    CHECK(same_bits(y, run(AlignedBytes(zeroed.span()), x)));
    CHECK(!same_bits(y, run(AlignedBytes(whole.span()), x)));
  }
}

TEST_CASE("channels that cannot be taken out are refused by name") {
  Random random(1);
  AlignedBytes file = network(8, random_weights(1), random);
  const auto p = [](const char* name, const std::vector<int32_t>& channels) {
    return producer(name, "8", channels);
  };
  refused(
      pruned(file, record(p("stam", {1}))),
      "R: the producer stam is no layer of the model; nearest: stem, side; --map says what it is called there");
  refused(pruned(file, record(producer("tail", "8", {1, 4}))),
          "R: tail has 4 output channels, and prune_index names channel 4; is the record of another model?");
  refused(pruned(file, record(producer("tail", "4", {0, 1, 2, 3}))),
          "R: tail would lose all of its 4 channels; at least one has to stay");
  refused(
      pruned(file, record(producer("fc", "3", {1}))),
      "R: the model's output y would lose its channels 1; a layer whose channels leave the model keeps them");
  refused(
      pruned(file, record(p("stem", {1, 2}))),
      "R: node 'node3' (Mul): channels 1, 2 of one operand go, and of sigmoid none; the record has to prune both "
      "operands alike");
  refused(
      pruned(file, record(p("side", {1, 2}) + p("stem", {3}) + p("gate", {3}))),
      "R: node 'node6' (Add): channels 1, 2 of one operand go, and of deep channels 3; the record has to prune both "
      "operands alike");
  refused(
      pruned(file, record(p("deep", {3}))),
      "R: node 'deep' (DepthwiseConv2D): loses other channels than its input product; a depthwise layer follows the "
      "layer before it");
  refused(
      pruned(file, record(producer("tail", "4", {1})) +
                       record("consumer { name: \"gate\" " + attributes("8", {5}) + " }")),
      "R: node 'gate' (Conv2D): the record takes input channel 5 from it, and no producer does; is the record of "
      "another model?");
  // A function of 0 that is not 0 would be missed.
  ModelBuilder b;
  const Weights weights = random_weights(2);
  const int32_t x = b.tensor("x", DType::kF32, {1, 2, 2, 3}), h = b.tensor("h", DType::kF32, {1, 2, 2, 4}),
                e = b.tensor("e", DType::kF32, {1, 2, 2, 4}), y = b.tensor("y", DType::kF32, {1, 2, 2, 2});
  b.input(x);
  b.output(y);
  const auto first = weights(b, "a", {4, 1, 1, 3}, 0), second = weights(b, "b", {2, 1, 1, 4}, 0);
  b.node(Op::kConv2d, {x, first[0], first[1]}, {h});
  b.node(Op::kExp, {h}, {e});
  b.node(Op::kConv2d, {e, second[0], second[1]}, {y});
  AlignedBytes last = b.finish(float_ops());
  refused(
      pruned(last, record(producer("a.weight", "4", {2}))),
      "R: node 'node2' (Conv2D): channel 2 of its input e is not 0 where its layer's is, because of a function on the "
      "way; it cannot be taken out");
}

TEST_CASE("what a record says of pruning") {
  refused(read_amct("R", record(producer("a", "4", {4}))),
          "R, prune_record of a: prune_index 4 is outside its channels, 0 to 3");
  refused(read_amct("R", record(producer("a", "4", {-1}))),
          "R, prune_record of a: prune_index -1 is outside its channels, 0 to 3");
  refused(read_amct("R", record(producer("", "4", {1}))), "R: a prune_record has a node without a name");
  refused(
      read_amct("R", "prune_record { producer { name: \"a\" attr { name: \"end\" type: INT i: 4 } } }"),
      "R: its prune_record says which layers belong together, and no prune_index says which channels go; there are "
      "no scales either");
  const auto table = read_amct("R", "record { key: \"a\" value { scale_d: 1 scale_w: [1, 2, 3, 4] } } " +
                                        record(producer("a", "4", {2, 0, 2}) + "consumer { name: \"b\" " +
                                               attributes("4", {0, 2}) + " }"));
  REQUIRE_MESSAGE(table, table.message());
  REQUIRE(table->pruned.size() == 2);
  CHECK(table->pruned[0].is_producer);
  CHECK(table->pruned[0].channels == std::vector<int32_t>{0, 2});
  CHECK(!table->pruned[1].is_producer);
  CHECK(table->find(ParamsOf::kLayerWeights, "a")->scales == Scales{2.0f, 4.0f});
  CHECK(table->notes ==
        std::vector<std::string>{"R, a: scale_w of the 2 channels that prune_record takes out are left out"});
  // Scales of what is left are taken as they are.
  CHECK(
      read_amct("R", "record { key: \"a\" value { scale_w: [2, 4] } } " + record(producer("a", "4", {0, 2})))
          ->find(ParamsOf::kLayerWeights, "a")
          ->scales == Scales{2.0f, 4.0f});
}

}  // namespace intaglio::test::import_params_prune_test
