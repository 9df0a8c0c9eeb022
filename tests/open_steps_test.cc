// How much work opening a model and checking its plan is: steps grow as the file does, whatever its bytes say. Steps are
// looks at tensors, nodes, states and offsets, counted in the library's own sources, compiled here over a model that
// counts them. No clock is asked.
#include "tests/support/model_object.h"  // the object API first: its header has the guard of the runtime's own
//
#include <doctest/doctest.h>

#include "runtime/liveness.h"
#include "runtime/model_check.h"
#include "runtime/op.h"
#include "runtime/op_search.h"
#include "runtime/quantization_range.h"

namespace intaglio {

struct CountingModel : Model {
  explicit CountingModel(const Model& model) : Model(model) {}

  TensorInfo tensor(int32_t i) const { return ++steps, Model::tensor(i); }
  NodeInfo node(int32_t i) const { return ++steps, Model::node(i); }
  StateInfo state(int32_t i) const { return ++steps, Model::state(i); }
  uint32_t activation_offset(int32_t i) const { return ++steps, Model::activation_offset(i); }
  Span<const int32_t> inputs() const { return steps += Model::inputs().size, Model::inputs(); }
  KeptChannels kept_channels(int32_t i) const;  // stands in model_check.cc, which does not call it
  Span<const uint8_t> answers() const;          // likewise
  uint32_t memory_ceiling() const;              // likewise
  Span<const int32_t> outputs() const { return steps += Model::outputs().size, Model::outputs(); }

  mutable uint64_t steps = 0;
};

namespace schema {
using CountingModel = Model;
}

}  // namespace intaglio

#define Model CountingModel
#include "runtime/liveness.cc"     // NOLINT(bugprone-suspicious-include)
#include "runtime/model_check.cc"  // NOLINT(bugprone-suspicious-include)
#undef Model

using namespace intaglio;
using namespace intaglio::test;

namespace {

// A model of int8 activations of 16 bytes side by side, which nobody plans.
struct Wide {
  ModelT model;
  std::vector<int32_t> sources;

  int32_t add_tensor(const std::string& name) {
    model.tensors.push_back(std::make_unique<schema::TensorT>());
    schema::TensorT& tensor = *model.tensors.back();
    tensor.name = name;
    tensor.dtype = schema::DType::S8;
    tensor.shape = {16};
    return static_cast<int32_t>(model.tensors.size()) - 1;
  }
  void add_sources(int32_t inputs, int32_t states) {
    model.format_version = kFormatVersion;
    for (int32_t i = 0; i < inputs; ++i) model.inputs.push_back(add_tensor("i" + std::to_string(i)));
    sources = model.inputs;
    for (int32_t i = 0; i < states; ++i) {
      model.states.push_back(std::make_unique<schema::StateT>());
      model.states.back()->input = add_tensor("s" + std::to_string(i));
      sources.push_back(model.states.back()->input);
    }
  }
  int32_t add_node(const std::vector<int32_t>& inputs) {
    model.nodes.push_back(std::make_unique<schema::NodeT>());
    schema::NodeT& node = *model.nodes.back();
    node.op = schema::OpCode::Add;
    node.name = "n";
    node.inputs = inputs;
    node.outputs = {add_tensor("t")};
    return node.outputs[0];
  }
  AlignedBytes finish() {
    model.outputs = {static_cast<int32_t>(model.tensors.size()) - 1};
    for (const auto& state : model.states) state->output = model.outputs[0];
    model.plan = std::make_unique<schema::PlanT>();
    model.plan->offsets.resize(model.tensors.size());
    place_apart(model);
    return pack(model);
  }
};

// As many tensors alive at once as can be: each is read by one of the last nodes.
AlignedBytes crowded(int32_t nodes) {
  Wide wide;
  wide.add_sources(1, 0);
  std::vector<int32_t> made;
  for (int32_t n = 0; n < nodes; ++n) made.push_back(wide.add_node({0}));
  for (size_t first = 0; first < made.size(); first += 64)
    wide.add_node({made.begin() + static_cast<ptrdiff_t>(first),
                   made.begin() + static_cast<ptrdiff_t>(std::min(first + 64, made.size()))});
  return wide.finish();
}

// Each node reads what is found last, 64 times over.
AlignedBytes of_many_sources(int32_t nodes) {
  Wide wide;
  wide.add_sources(256, 256);
  for (int32_t n = 0; n < nodes; ++n)
    wide.add_node(std::vector<int32_t>(64, n % 2 == 0 ? wide.sources.back() : wide.model.inputs.back()));
  return wide.finish();
}

// Each node reads what the first one wrote, and the one before it.
AlignedBytes long_lived(int32_t nodes) {
  Wide wide;
  wide.add_sources(1, 0);
  const int32_t first = wide.add_node({0});
  int32_t last = first;
  for (int32_t n = 1; n < nodes; ++n) last = wide.add_node({first, last});
  return wide.finish();
}

struct Steps {
  uint64_t opening, overlaps;
};

Steps steps_of(const AlignedBytes& bytes) {
  const Result<Model> opened = Model::open(bytes.view());
  REQUIRE_MESSAGE(static_cast<bool>(opened), text_of(opened.error()));
  const CountingModel model(*opened);
  const uint32_t* offsets = nullptr;
  const Error error = check_model(*schema::GetModel(bytes.view().data), model, &offsets);
  REQUIRE_MESSAGE(error.ok(), text_of(error));
  const uint64_t opening = model.steps;
  std::vector<uint16_t> memory(kOverlapBytes / sizeof(uint16_t) * static_cast<size_t>(model.tensor_count()));
  const Error overlap = check_overlaps(model, all_ops(), memory.data());
  REQUIRE_MESSAGE(overlap.ok(), text_of(overlap));
  return {opening, model.steps - opening};
}

}  // namespace

TEST_CASE("steps grow as the file does") {
  AlignedBytes (*const kinds[])(int32_t) = {crowded, of_many_sources, long_lived};
  for (size_t kind = 0; kind < 3; ++kind) {
    CAPTURE(kind);
    const AlignedBytes small = kinds[kind](500), large = kinds[kind](8000);
    const Steps few = steps_of(small), many = steps_of(large);
    CAPTURE(few.opening);
    CAPTURE(many.opening);
    CAPTURE(few.overlaps);
    CAPTURE(many.overlaps);
    // Halving takes four steps more in a file 16 times as large: at most half as many again.
    const auto times = static_cast<uint64_t>(large.size() / small.size() + 1);
    CHECK(many.opening <= few.opening * times * 3 / 2);
    CHECK(many.overlaps <= few.overlaps * times * 3 / 2);
    // Inputs and states are looked through once a tensor that nobody writes, or that is no input of the model.
    CHECK(many.opening <= large.size() * 16);
    CHECK(many.overlaps <= large.size());
  }
}

TEST_CASE("scales that more tensors share than the file has room for are refused") {
  // 16,000 tensors that share one vector of scales: what FlatBuffers' tables allow.
  const auto shared = [](uint32_t tensors, int32_t scales) {
    flatbuffers::FlatBufferBuilder fbb;
    fbb.ForceDefaults(true);
    std::vector<float> values(static_cast<size_t>(scales), 0.5f);
    const auto quantization = schema::CreateQuantization(fbb, fbb.CreateVector(values), 0, 0);
    std::vector<uint8_t> weights(static_cast<size_t>(scales), 1);
    fbb.ForceVectorAlignment(weights.size(), 1, 16);
    const auto buffer = schema::CreateBuffer(fbb, fbb.CreateVector(weights));
    const std::vector<int32_t> dims = {scales};
    const auto shape = fbb.CreateVector(dims);
    const auto name = fbb.CreateString("w");
    std::vector<flatbuffers::Offset<schema::Tensor>> list;
    std::vector<uint32_t> offsets;
    for (uint32_t i = 0; i < tensors; ++i) {
      list.push_back(schema::CreateTensor(fbb, name, schema::DType::S8, shape, quantization, 0));
      offsets.push_back(Model::kNoOffset);
    }
    for (uint32_t i = 0; i < 2; ++i) {
      list.push_back(schema::CreateTensor(fbb, name, schema::DType::S8, shape, 0, -1));
      offsets.push_back(i * (static_cast<uint32_t>(scales) + 15) / 16 * 16);
    }
    const auto input = static_cast<int32_t>(tensors), output = input + 1;
    const std::vector<int32_t> inputs = {input}, outputs = {output};
    const auto node = schema::CreateNodeDirect(fbb, schema::OpCode::Reshape, "n", &inputs, &outputs);
    const auto plan = schema::CreatePlan(fbb, 2 * ((static_cast<uint32_t>(scales) + 15) / 16 * 16),
                                         fbb.CreateVector(offsets));
    const auto all = fbb.CreateVector(list);
    const auto nodes = fbb.CreateVector(&node, 1);
    const auto buffers = fbb.CreateVector(&buffer, 1);
    const auto in = fbb.CreateVector(inputs), out = fbb.CreateVector(outputs);
    schema::ModelBuilder root(fbb);
    root.add_format_version(kFormatVersion);
    root.add_crc32(0);
    root.add_tensors(all);
    root.add_nodes(nodes);
    root.add_buffers(buffers);
    root.add_inputs(in);
    root.add_outputs(out);
    root.add_plan(plan);
    schema::FinishModelBuffer(fbb, root.Finish());
    AlignedBytes bytes(Span<const uint8_t>(fbb.GetBufferPointer(), fbb.GetSize()));
    sign(bytes);
    return bytes;
  };
  const AlignedBytes few = shared(2, 1000);
  const Error none = error_of(few);
  CHECK_MESSAGE(none.ok(), text_of(none));
  const AlignedBytes hostile = shared(16000, 10000);
  const Error error = error_of(hostile);
  CAPTURE(text_of(error));
  CHECK(error.status == Status::kSharedScales);
  const auto room = static_cast<int64_t>(hostile.size());
  CHECK(error.tensor == room / 10000);
  CHECK(error.value == 10000);
  CHECK(error.limit == room % 10000);
}
