// Model::open at the limits of what refers to what, and of what a file says beside its graph: what is allowed
// opens, the first that is not has its exact error.
#include <cfloat>

#include "intaglio/image_input.h"
#include "tests/support/model_checks.h"

namespace intaglio::test::model_graph_limits_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Change input_of(size_t node, int32_t tensor) {
  return [=](ModelT& m) { m.nodes[node]->inputs[0] = tensor; };
}
Change output_of(size_t node, int32_t tensor) {
  return [=](ModelT& m) { m.nodes[node]->outputs[0] = tensor; };
}

// An activation like image, which nothing writes.
int32_t add_activation(ModelT& m) {
  m.tensors.push_back(copy_of(m.tensors[static_cast<size_t>(at("sum"))]));
  m.plan->offsets.push_back(0);
  return static_cast<int32_t>(m.tensors.size()) - 1;
}

// A constant like image.
int32_t add_constant(ModelT& m) {
  const int32_t index = add_activation(m);
  m.tensors.back()->buffer = static_cast<int32_t>(m.buffers.size());
  m.buffers.push_back(std::make_unique<schema::BufferT>());
  m.buffers.back()->data.assign(48, 1);
  m.plan->offsets.back() = Model::kNoOffset;
  return index;
}

}  // namespace

TEST_CASE("inputs and outputs of the model") {
  const auto index = [](int64_t value) { return Error{Status::kTensorIndex, -1, -1, value, 6}; };
  const int32_t table = at("table"), out = at("out"), sum = at("sum"), image = at("image");
  check_refusals({
      {"input 6", index(6), [](ModelT& m) { m.inputs[0] = 6; }},
      {"input -1", index(-1), [](ModelT& m) { m.inputs[0] = -1; }},
      {"output 6", index(6), [](ModelT& m) { m.outputs[0] = 6; }},
      {"output -1", index(-1), [](ModelT& m) { m.outputs[0] = -1; }},
      {"second", index(9), [](ModelT& m) { m.inputs.push_back(9); }},
      {"constant input",
       {Status::kActivationExpected, -1, table, 0, 0},
       [=](ModelT& m) { m.inputs.push_back(table); }},
      {"constant output",
       {Status::kActivationExpected, -1, table, 0, 0},
       [=](ModelT& m) { m.outputs[0] = table; }},
      {"input twice",
       {Status::kDuplicateTensor, -1, image, 0, 0},
       [=](ModelT& m) { m.inputs.push_back(image); }},
      {"the second input twice",
       {Status::kDuplicateTensor, -1, sum, 0, 0},
       [=](ModelT& m) {
         m.inputs = {image, sum, sum};
       }},
      {"output twice",
       {Status::kDuplicateTensor, -1, out, 0, 0},
       [=](ModelT& m) {
         m.outputs = {out, sum, out};
       }},
      {"an input leaves",
       {Status::kWritesConstant, -1, image, 0, 0},
       [=](ModelT& m) { m.outputs = {image}; }},
      {"the second output is an input",
       {Status::kWritesConstant, -1, image, 0, 0},
       [=](ModelT& m) {
         m.outputs = {out, image};
       }},
      {"a state's input leaves",
       {Status::kWritesConstant, -1, at("memory"), 0, 0},
       [](ModelT& m) { m.outputs = {at("memory")}; }},
  });
  check_allowed({
      {"all outputs",
       [=](ModelT& m) {
         m.outputs = {sum, at("next"), out};
       }},
      {"an input that nobody reads",
       [](ModelT& m) {
         const int32_t unread = add_activation(m);
         m.inputs.push_back(unread);
       }},
  });
}

TEST_CASE("states") {
  const int32_t memory = at("memory"), table = at("table"), image = at("image"), out = at("out"),
                next = at("next");
  const auto index = [](int64_t value) { return Error{Status::kTensorIndex, -1, -1, value, 6}; };
  const auto bad = [](int32_t tensor, int64_t state) {
    return Error{Status::kBadState, -1, tensor, state, 0};
  };
  const auto second = [](int32_t input, int32_t output) {
    return [=](ModelT& m) {
      m.states.push_back(copy_of(m.states[0]));
      m.states[1]->input = input;
      m.states[1]->output = output;
    };
  };
  const auto initial = [](size_t bytes) {
    return [=](ModelT& m) {
      m.buffers.push_back(std::make_unique<schema::BufferT>());
      m.buffers[1]->data.assign(bytes, 3);
      m.states[0]->initial = 1;
    };
  };
  check_refusals({
      {"input 6", index(6), [](ModelT& m) { m.states[0]->input = 6; }},
      {"input -1", index(-1), [](ModelT& m) { m.states[0]->input = -1; }},
      {"output 6", index(6), [](ModelT& m) { m.states[0]->output = 6; }},
      {"output -1", index(-1), [](ModelT& m) { m.states[0]->output = -1; }},
      {"a constant", bad(6, 0),
       [](ModelT& m) {
         const int32_t constant = add_constant(m);
         m.states[0]->input = constant;
       }},
      {"another shape", bad(memory, 0),
       [](ModelT& m) {
         tensor(m, "memory").shape = {1, 4, 3, 4};
       }},
      {"another type", bad(memory, 0),
       [](ModelT& m) {
         tensor(m, "memory").dtype = schema::DType::U8;
         tensor(m, "memory").quantization.reset();
       }},
      {"the second one's shape", bad(out, 1),
       [=](ModelT& m) {
         tensor(m, "out").shape = {1, 2, 8, 3};
         second(out, next)(m);
       }},
      {"an input",
       {Status::kDuplicateTensor, -1, image, 0, 0},
       [=](ModelT& m) { m.states[0]->input = image; }},
      {"twice", {Status::kDuplicateTensor, -1, memory, 0, 0}, second(memory, out)},
      {"written by a node", {Status::kWritesConstant, 0, at("sum"), 0, 0}, second(at("sum"), out)},
      {"fed by an input", bad(image, 0), [=](ModelT& m) { m.states[0]->output = image; }},
      {"fed by itself", bad(memory, 0), [=](ModelT& m) { m.states[0]->output = memory; }},
      {"fed by a constant", bad(6, 0),
       [](ModelT& m) {
         const int32_t constant = add_constant(m);
         m.states[0]->output = constant;
       }},
      {"the second one fed by an input", bad(image, 1),
       [=](ModelT& m) { second(add_activation(m), image)(m); }},
      {"initial -2", {Status::kBufferIndex, -1, memory, -2, 0}, [](ModelT& m) { m.states[0]->initial = -2; }},
      {"initial 1", {Status::kBufferIndex, -1, memory, 1, 1}, [](ModelT& m) { m.states[0]->initial = 1; }},
      {"initial of a table's size",
       {Status::kConstantSize, -1, memory, 256, 48},
       [](ModelT& m) { m.states[0]->initial = 0; }},
      {"initial short", {Status::kConstantSize, -1, memory, 47, 48}, initial(47)},
  });
  check_allowed({{"initial", initial(48)},
                 {"two", [=](ModelT& m) { second(add_activation(m), next)(m); }},
                 {"none", [](ModelT& m) {
                    m.states.clear();
                    m.inputs.push_back(at("memory"));
                  }}});
  (void)table;
}

TEST_CASE("nodes: names, operators, options and tensors") {
  const int32_t sum = at("sum"), out = at("out"), image = at("image"), table = at("table");
  const auto op = [](int32_t number) {
    return [=](ModelT& m) { m.nodes[1]->op = static_cast<schema::OpCode>(number); };
  };
  const auto resize = [](int32_t interpolation, int32_t coordinates, int32_t rounding) {
    return [=](ModelT& m) {
      schema::ResizeOptionsT options;
      options.interpolation = static_cast<schema::Interpolation>(interpolation);
      options.coordinates = static_cast<schema::Coordinates>(coordinates);
      options.rounding = static_cast<schema::NearestRounding>(rounding);
      m.nodes[1]->op = schema::OpCode::Resize;
      m.nodes[1]->options.Set(options);
    };
  };
  const auto rounding = [](schema::OpCode owner, auto options, int32_t number) {
    options.requantization = std::make_unique<schema::RequantizationT>();
    options.requantization->rounding = static_cast<schema::RoundingMode>(number);
    const auto shared = std::make_shared<decltype(options)>(std::move(options));
    return [=](ModelT& m) {
      m.nodes[2]->op = owner;
      auto copy = *shared;
      m.nodes[2]->options.Set(std::move(copy));
    };
  };
  const auto conv_rounding = [&](int32_t number) {
    return rounding(schema::OpCode::Conv2D, schema::Conv2DOptionsT(), number);
  };
  const auto options = [](schema::OpCode owner, auto fields) {
    return [=](ModelT& m) {
      m.nodes[1]->op = owner;
      auto copy = fields;
      m.nodes[1]->options.Set(std::move(copy));
    };
  };
  constexpr int32_t kLast = kOpCount - 1;
  check_refusals({
      {"name", {Status::kBadString, 1, -1, 0, 0}, [](ModelT& m) { m.nodes[1]->name = "\n"; }},
      {"no name", {Status::kBadString, 2, -1, 0, 0}, [](ModelT& m) { m.nodes[2]->name.clear(); }},
      {"operator 0", {Status::kBadEnum, 1, -1, 0, kLast}, op(0)},
      {"the next operator", {Status::kBadEnum, 1, -1, kOpCount, kLast}, op(kOpCount)},
      {"rounding", {Status::kBadRounding, 2, -1, 1, 0}, conv_rounding(1)},
      {"rounding of a depthwise convolution",
       {Status::kBadRounding, 2, -1, 1, 0},
       rounding(schema::OpCode::DepthwiseConv2D, schema::DepthwiseConv2DOptionsT(), 1)},
      {"rounding of a product",
       {Status::kBadRounding, 2, -1, 255, 0},
       rounding(schema::OpCode::FullyConnected, schema::FullyConnectedOptionsT(), 255)},
      {"interpolation", {Status::kBadEnum, 1, -1, 2, 1}, resize(2, 0, 0)},
      {"coordinates", {Status::kBadEnum, 1, -1, 3, 2}, resize(0, 3, 0)},
      {"rounding of neighbours", {Status::kBadEnum, 1, -1, 4, 3}, resize(0, 0, 4)},
      {"another operator's options",
       {Status::kWrongOptions, 1, -1, 9, 10},
       options(schema::OpCode::Gather, schema::ConcatOptionsT())},
      {"options of an operator that has none",
       {Status::kWrongOptions, 1, -1, 14, 0},
       options(schema::OpCode::Sigmoid, schema::UnaryOptionsT())},
      {"no inputs", {Status::kInputCount, 1, -1, 0, 1}, [](ModelT& m) { m.nodes[1]->inputs.clear(); }},
      {"no outputs", {Status::kInputCount, 1, -1, 0, 1}, [](ModelT& m) { m.nodes[1]->outputs.clear(); }},
      {"65 inputs",
       {Status::kTooManyItems, 1, -1, 65, 64},
       [=](ModelT& m) { m.nodes[1]->inputs.assign(65, image); }},
      {"65 outputs",
       {Status::kTooManyItems, 1, -1, 65, 64},
       [=](ModelT& m) { m.nodes[1]->outputs.assign(65, out); }},
      {"reads 6", {Status::kTensorIndex, 1, -1, 6, 6}, input_of(1, 6)},
      {"reads -2", {Status::kTensorIndex, 1, -1, -2, 6}, input_of(1, -2)},
      {"reads its own", {Status::kNotProduced, 1, at("next"), 0, 0}, input_of(1, at("next"))},
      {"reads what comes", {Status::kNotProduced, 0, out, 0, 0}, input_of(0, out)},
      {"writes 6", {Status::kTensorIndex, 1, -1, 6, 6}, output_of(1, 6)},
      {"writes -1", {Status::kTensorIndex, 1, -1, -1, 6}, output_of(1, -1)},
      {"writes a constant", {Status::kWritesConstant, 1, table, 0, 0}, output_of(1, table)},
      {"writes an input", {Status::kWritesConstant, 1, image, 0, 0}, output_of(1, image)},
      {"writes a state", {Status::kWritesConstant, 1, at("memory"), 0, 0}, output_of(1, at("memory"))},
      {"writes again", {Status::kProducedTwice, 1, sum, 0, 0}, output_of(1, sum)},
      {"writes one twice",
       {Status::kProducedTwice, 2, out, 0, 0},
       [=](ModelT& m) {
         m.nodes[2]->outputs = {out, out};
       }},
      {"outputs descend",
       {Status::kProducedTwice, 2, at("next"), 0, 0},
       [=](ModelT& m) {
         m.nodes[1]->outputs = {out};
         m.nodes[2]->outputs = {at("next")};
         m.nodes[2]->inputs = {sum, sum};
       }},
      {"dangling", {Status::kNotProduced, 3, 6, 0, 0}, [](ModelT& m) { add_activation(m); }},
  });
  check_allowed({
      {"the last operator", op(kLast)},
      {"the first operator", op(1)},
      {"rounding to even", conv_rounding(0)},
      {"greatest of each", resize(1, 2, 3)},
      {"an operator's own options", options(schema::OpCode::Elu, schema::UnaryOptionsT())},
      {"64 inputs", [=](ModelT& m) { m.nodes[1]->inputs.assign(64, image); }},
      {"absent", input_of(1, -1)},
      {"a constant", input_of(1, table)},
      {"a state", input_of(1, at("memory"))},
  });
}

TEST_CASE("what a node may read: inputs, constants, and what nodes before it have written") {
  // Nodes of one to three outputs, with constants and a tensor that nobody writes between them.
  ModelBuilder b;
  const auto activation = [&](const std::string& name) { return b.tensor(name, DType::kF32, {1, 4}); };
  const int32_t x = activation("x");
  b.input(x);
  const std::vector<std::vector<std::string>> outputs = {
      {"a"}, {"b", "c", "d"}, {"e", "f"}, {"g"}, {"h", "i", "j"}};
  for (const auto& names : outputs) {
    std::vector<int32_t> made;
    for (const std::string& name : names) {
      made.push_back(activation(name));
      if (name == "b" || name == "e") b.constant<float>("k" + name, DType::kF32, {1}, {1.0f});
    }
    b.node(Op::kSoftmax, {x}, made);
    for (const int32_t output : made) b.output(output);
  }
  const auto whole = unpack(b.finish());
  const Error none = error_of(pack(*whole));
  REQUIRE_MESSAGE(none.ok(), text_of(none));
  const auto nodes = static_cast<int32_t>(whole->nodes.size());
  REQUIRE(nodes == 5);
  std::vector<int32_t> writer(whole->tensors.size(), -1);  // -1: a source
  for (int32_t n = 0; n < nodes; ++n)
    for (const int32_t output : whole->nodes[static_cast<size_t>(n)]->outputs)
      writer[static_cast<size_t>(output)] = n;
  for (int32_t reader = 0; reader < nodes; ++reader)
    for (int32_t t = 0; t < static_cast<int32_t>(writer.size()); ++t) {
      CAPTURE(reader);
      CAPTURE(t);
      const auto model = unpack(pack(*whole));
      model->nodes[static_cast<size_t>(reader)]->inputs[0] = t;
      const bool allowed = writer[static_cast<size_t>(t)] < reader;
      check_error(error_of(pack(*model)), allowed ? kNoError : Error{Status::kNotProduced, reader, t, 0, 0});
    }
  // Between two outputs of one node, written by none.
  const int32_t between = index_of(*whole, "c");
  auto& second = whole->nodes[1]->outputs;
  second.erase(second.begin() + 1);
  whole->outputs = {index_of(*whole, "a")};
  check_error(error_of(pack(*whole)), {Status::kNotProduced, nodes, between, 0, 0});
  whole->nodes[4]->inputs[0] = between;
  check_error(error_of(pack(*whole)), {Status::kNotProduced, nodes, between, 0, 0});
}

TEST_CASE("pictures") {
  const int32_t image = at("image");
  const auto index = [](int64_t value) { return Error{Status::kTensorIndex, -1, -1, value, 1}; };
  const auto bad = [&](int64_t channel) { return Error{Status::kBadImageInput, -1, image, channel, 0}; };
  const auto shape = [](const std::vector<int32_t>& dims, size_t channels) {
    return [=](ModelT& m) {
      tensor(m, "image").shape = dims;
      place_apart(m);
      m.images[0]->mean.assign(channels, 0.0f);
      m.images[0]->norm.assign(channels, 1.0f);
      m.images[0]->table.assign(256 * channels, 0);
    };
  };
  const auto mean = [](size_t channel, float value) {
    return [=](ModelT& m) { m.images[0]->mean[channel] = value; };
  };
  const auto norm = [](size_t channel, float value) {
    return [=](ModelT& m) { m.images[0]->norm[channel] = value; };
  };
  const auto dtype = [](schema::DType type, bool table) {
    return [=](ModelT& m) {
      tensor(m, "image").dtype = type;
      tensor(m, "image").quantization.reset();
      place_apart(m);
      if (!table) m.images[0]->table.clear();
    };
  };
  constexpr auto kMost = static_cast<int32_t>(kMaxImageChannels);
  check_refusals({
      {"input 1", index(1), [](ModelT& m) { m.images[0]->input = 1; }},
      {"input -1", index(-1), [](ModelT& m) { m.images[0]->input = -1; }},
      {"colours", bad(-1), [](ModelT& m) { m.images[0]->color = static_cast<schema::ColorOrder>(3); }},
      {"resizing", bad(-1), [](ModelT& m) { m.images[0]->resize = static_cast<schema::ResizeMode>(3); }},
      {"rank 3", {Status::kBadRank, -1, image, 3, 4}, shape({4, 4, 3}, 3)},
      {"rank 5", {Status::kBadRank, -1, image, 5, 4}, shape({1, 4, 4, 3, 1}, 3)},
      {"channels", bad(kMost + 1), shape({1, 4, 4, kMost + 1}, kMost + 1)},
      {"few means", bad(-1), [](ModelT& m) { m.images[0]->mean.pop_back(); }},
      {"many means", bad(-1), [](ModelT& m) { m.images[0]->mean.push_back(0.0f); }},
      {"no means", bad(-1), [](ModelT& m) { m.images[0]->mean.clear(); }},
      {"few norms", bad(-1), [](ModelT& m) { m.images[0]->norm.pop_back(); }},
      {"no norms", bad(-1), [](ModelT& m) { m.images[0]->norm.clear(); }},
      {"mean NaN", bad(2), mean(2, kNan)},
      {"mean infinite", bad(1), mean(1, kInf)},
      {"mean below", bad(0), mean(0, -kInf)},
      {"norm NaN", bad(2), norm(2, kNan)},
      {"norm infinite", bad(1), norm(1, kInf)},
      {"norm below", bad(0), norm(0, -kInf)},
      {"norm 0", bad(2), norm(2, 0.0f)},
      {"norm -0", bad(1), norm(1, -0.0f)},
      {"int32",
       {Status::kBadDType, -1, image, static_cast<int64_t>(DType::kS32), 0},
       dtype(schema::DType::S32, true)},
      {"short table", bad(-1), [](ModelT& m) { m.images[0]->table.pop_back(); }},
      {"no table", bad(-1), [](ModelT& m) { m.images[0]->table.clear(); }},
      {"a table of floats", bad(-1), dtype(schema::DType::F32, true)},
      {"the second", index(4),
       [](ModelT& m) {
         m.images.push_back(copy_of(m.images[0]));
         m.images[1]->input = 4;
       }},
  });
  check_allowed({
      {"most channels", shape({1, 4, 4, kMost}, kMost)},
      {"one channel", shape({1, 4, 4, 1}, 1)},
      {"a batch of two", shape({2, 4, 4, 3}, 3)},
      {"greatest mean", mean(0, FLT_MAX)},
      {"least mean", mean(1, -FLT_MAX)},
      {"greatest norm", norm(2, FLT_MAX)},
      {"least norm", norm(0, -FLT_MAX)},
      {"least norm above 0", norm(0, FLT_TRUE_MIN)},
      {"floats", dtype(schema::DType::F32, false)},
      {"last of both",
       [](ModelT& m) {
         m.images[0]->color = schema::ColorOrder::Gray;
         m.images[0]->resize = schema::ResizeMode::Letterbox;
       }},
  });
}

}  // namespace intaglio::test::model_graph_limits_test
