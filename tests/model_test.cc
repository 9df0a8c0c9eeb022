// Model::open: every kind of damage has its own error, and nothing else is let through.
#include <doctest/doctest.h>

#include <functional>
#include <map>

#include "tests/support/model_object.h"

namespace intaglio::test::model_test {

using schema::ModelT;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Status open_status(const AlignedBytes& bytes) { return Model::open(bytes.view()).error().status; }

struct Mutation {
  const char* what;
  Status expected;
  std::function<void(ModelT&)> apply;
};

const std::vector<Mutation>& mutations() {
  static const std::vector<Mutation> list = {
      {"newer format", Status::kNewerFormat, [](ModelT& m) { m.min_reader = kFormatVersion + 1; }},
      {"older format", Status::kOlderFormat, [](ModelT& m) { m.format_version = 0; }},
      {"no tensors", Status::kMissingField, [](ModelT& m) { m.tensors.clear(); }},
      {"no nodes", Status::kMissingField, [](ModelT& m) { m.nodes.clear(); }},
      {"no inputs", Status::kMissingField, [](ModelT& m) { m.inputs.clear(); }},
      {"no outputs", Status::kMissingField, [](ModelT& m) { m.outputs.clear(); }},
      {"no plan", Status::kMissingField, [](ModelT& m) { m.plan.reset(); }},
      {"too many inputs", Status::kTooManyItems, [](ModelT& m) { m.inputs.resize(257); }},
      {"long name", Status::kBadString, [](ModelT& m) { tensor(m, "sum").name.assign(256, 'x'); }},
      {"control character in a name", Status::kBadString,
       [](ModelT& m) { tensor(m, "sum").name = "a\033[2J"; }},
      {"name that is no UTF-8", Status::kBadString, [](ModelT& m) { tensor(m, "sum").name = "a\xff"; }},
      {"name cut within a letter", Status::kBadString, [](ModelT& m) { tensor(m, "sum").name = "\xe2\x82"; }},
      {"8-bit control character", Status::kBadString, [](ModelT& m) { tensor(m, "sum").name = "\xc2\x9b"; }},
      {"control character in a node's name", Status::kBadString, [](ModelT& m) { m.nodes[0]->name = "\n"; }},
      {"unknown type", Status::kBadEnum,
       [](ModelT& m) { tensor(m, "sum").dtype = static_cast<schema::DType>(99); }},
      {"type not supported yet", Status::kBadDType,
       [](ModelT& m) { tensor(m, "sum").dtype = schema::DType::S4; }},
      {"no type", Status::kBadDType, [](ModelT& m) { tensor(m, "sum").dtype = schema::DType::None; }},
      {"rank 0", Status::kBadRank, [](ModelT& m) { tensor(m, "sum").shape.clear(); }},
      {"rank 7", Status::kBadRank, [](ModelT& m) { tensor(m, "sum").shape.assign(7, 1); }},
      {"dimension 0", Status::kBadDimension, [](ModelT& m) { tensor(m, "sum").shape[1] = 0; }},
      {"dimension -1", Status::kBadDimension, [](ModelT& m) { tensor(m, "sum").shape[1] = -1; }},
      {"product past 2^31", Status::kTensorTooLarge,
       [](ModelT& m) {
         tensor(m, "sum").shape = {65536, 65536, 2, 1};
       }},
      {"product past 2^64", Status::kTensorTooLarge,
       [](ModelT& m) { tensor(m, "sum").shape.assign(6, 0x7fffffff); }},
      {"scale 0", Status::kBadScale, [](ModelT& m) { tensor(m, "sum").quantization->scale[0] = 0.0f; }},
      {"scale negative", Status::kBadScale,
       [](ModelT& m) { tensor(m, "sum").quantization->scale[0] = -1.0f; }},
      {"scale NaN", Status::kBadScale, [](ModelT& m) { tensor(m, "sum").quantization->scale[0] = kNan; }},
      {"scale infinite", Status::kBadScale,
       [](ModelT& m) { tensor(m, "sum").quantization->scale[0] = std::numeric_limits<float>::infinity(); }},
      {"scale subnormal", Status::kBadScale,
       [](ModelT& m) { tensor(m, "sum").quantization->scale[0] = 1e-40f; }},
      {"two scales a tensor", Status::kScaleCount,
       [](ModelT& m) { tensor(m, "sum").quantization->scale.push_back(1.0f); }},
      {"axis past the rank", Status::kBadQuantizationAxis,
       [](ModelT& m) { tensor(m, "sum").quantization->axis = 4; }},
      {"axis -2", Status::kBadQuantizationAxis, [](ModelT& m) { tensor(m, "sum").quantization->axis = -2; }},
      {"zero point 128", Status::kBadZeroPoint,
       [](ModelT& m) { tensor(m, "sum").quantization->zero_point = 128; }},
      {"zero point -129", Status::kBadZeroPoint,
       [](ModelT& m) { tensor(m, "sum").quantization->zero_point = -129; }},
      {"group size", Status::kBadEnum, [](ModelT& m) { tensor(m, "sum").quantization->group_size = 32; }},
      {"buffer past the end", Status::kBufferIndex, [](ModelT& m) { tensor(m, "table").buffer = 7; }},
      {"buffer -2", Status::kBufferIndex, [](ModelT& m) { tensor(m, "table").buffer = -2; }},
      {"constant too short", Status::kConstantSize, [](ModelT& m) { m.buffers[0]->data.pop_back(); }},
      {"constant too long", Status::kConstantSize, [](ModelT& m) { m.buffers[0]->data.push_back(0); }},
      {"constant empty", Status::kConstantSize, [](ModelT& m) { m.buffers[0]->data.clear(); }},
      {"unknown layout", Status::kBadEnum, [](ModelT& m) { m.buffers[0]->layout = 9; }},
      {"input index past the end", Status::kTensorIndex, [](ModelT& m) { m.inputs[0] = 99; }},
      {"input index negative", Status::kTensorIndex, [](ModelT& m) { m.inputs[0] = -1; }},
      {"input twice", Status::kDuplicateTensor, [](ModelT& m) { m.inputs.push_back(m.inputs[0]); }},
      {"output twice", Status::kDuplicateTensor, [](ModelT& m) { m.outputs.push_back(m.outputs[0]); }},
      {"constant as input", Status::kActivationExpected,
       [](ModelT& m) { m.inputs.push_back(index_of(m, "table")); }},
      {"constant as output", Status::kActivationExpected,
       [](ModelT& m) { m.outputs[0] = index_of(m, "table"); }},
      {"input as output", Status::kWritesConstant, [](ModelT& m) { m.outputs[0] = m.inputs[0]; }},
      {"no operator", Status::kBadEnum, [](ModelT& m) { m.nodes[0]->op = schema::OpCode::None; }},
      {"unknown operator", Status::kBadEnum,
       [](ModelT& m) { m.nodes[0]->op = static_cast<schema::OpCode>(999); }},
      {"node without inputs", Status::kInputCount, [](ModelT& m) { m.nodes[0]->inputs.clear(); }},
      {"node without outputs", Status::kInputCount, [](ModelT& m) { m.nodes[0]->outputs.clear(); }},
      {"node with many inputs", Status::kTooManyItems, [](ModelT& m) { m.nodes[0]->inputs.resize(65); }},
      {"node reads past the end", Status::kTensorIndex, [](ModelT& m) { m.nodes[0]->inputs[0] = 6; }},
      {"node reads -2", Status::kTensorIndex, [](ModelT& m) { m.nodes[0]->inputs[0] = -2; }},
      {"node reads what comes later", Status::kNotProduced,
       [](ModelT& m) { m.nodes[0]->inputs[0] = index_of(m, "out"); }},
      {"node reads its own output", Status::kNotProduced,
       [](ModelT& m) { m.nodes[0]->inputs[0] = m.nodes[0]->outputs[0]; }},
      {"node writes past the end", Status::kTensorIndex, [](ModelT& m) { m.nodes[0]->outputs[0] = 6; }},
      {"node writes a constant", Status::kWritesConstant,
       [](ModelT& m) { m.nodes[1]->outputs[0] = index_of(m, "table"); }},
      {"node writes an input", Status::kWritesConstant,
       [](ModelT& m) { m.nodes[1]->outputs[0] = m.inputs[0]; }},
      {"tensor written twice", Status::kProducedTwice,
       [](ModelT& m) { m.nodes[1]->outputs[0] = m.nodes[0]->outputs[0]; }},
      {"nodes out of order", Status::kProducedTwice, [](ModelT& m) { std::swap(m.nodes[0], m.nodes[1]); }},
      {"dangling tensor", Status::kNotProduced,
       [](ModelT& m) {
         m.tensors.push_back(std::make_unique<schema::TensorT>(tensor(m, "sum")));
         m.plan->offsets.push_back(0);
       }},
      {"unknown rounding", Status::kBadRounding,
       [](ModelT& m) {
         schema::FullyConnectedOptionsT options;
         options.requantization = std::make_unique<schema::RequantizationT>();
         options.requantization->rounding = static_cast<schema::RoundingMode>(3);
         m.nodes[0]->op = schema::OpCode::FullyConnected;
         m.nodes[0]->options.Set(options);
       }},
      {"plan too short", Status::kPlanSize, [](ModelT& m) { m.plan->offsets.pop_back(); }},
      {"plan misaligned", Status::kPlanAlignment, [](ModelT& m) { m.plan->offsets[0] = 8; }},
      {"plan past its end", Status::kPlanOffset, [](ModelT& m) { m.plan->offsets[0] = 1 << 20; }},
      {"plan wraps around", Status::kPlanOffset, [](ModelT& m) { m.plan->offsets[0] = 0xfffffff0u; }},
      {"plan places a constant", Status::kActivationExpected,
       [](ModelT& m) { m.plan->offsets[static_cast<size_t>(index_of(m, "table"))] = 0; }},
      {"plan leaves out an activation", Status::kConstantExpected,
       [](ModelT& m) { m.plan->offsets[0] = 0xffffffffu; }},
      {"state past the end", Status::kTensorIndex, [](ModelT& m) { m.states[0]->input = 50; }},
      {"state of other shapes", Status::kBadState,
       [](ModelT& m) {
         tensor(m, "memory").shape = {1, 2, 8, 3};
       }},
      {"state is an input", Status::kDuplicateTensor, [](ModelT& m) { m.states[0]->input = m.inputs[0]; }},
      {"state twice", Status::kDuplicateTensor,
       [](ModelT& m) { m.states.push_back(std::make_unique<schema::StateT>(*m.states[0])); }},
      {"initial state past the end", Status::kBufferIndex, [](ModelT& m) { m.states[0]->initial = 9; }},
      {"initial state of another size", Status::kConstantSize, [](ModelT& m) { m.states[0]->initial = 0; }},
      {"state feeds itself", Status::kBadState, [](ModelT& m) { m.states[0]->output = m.states[0]->input; }},
      {"picture for no input", Status::kTensorIndex, [](ModelT& m) { m.images[0]->input = 1; }},
      {"picture of unknown colours", Status::kBadImageInput,
       [](ModelT& m) { m.images[0]->color = static_cast<schema::ColorOrder>(7); }},
      {"picture with few means", Status::kBadImageInput, [](ModelT& m) { m.images[0]->mean.pop_back(); }},
      {"picture without norms", Status::kBadImageInput, [](ModelT& m) { m.images[0]->norm.clear(); }},
      {"picture with norm 0", Status::kBadImageInput, [](ModelT& m) { m.images[0]->norm[1] = 0.0f; }},
      {"picture with mean NaN", Status::kBadImageInput, [](ModelT& m) { m.images[0]->mean[2] = kNan; }},
      {"picture with a short table", Status::kBadImageInput,
       [](ModelT& m) { m.images[0]->table.pop_back(); }},
      {"calibration rounding unknown", Status::kBadRounding,
       [](ModelT& m) { m.calibration->weight_rounding = static_cast<schema::RoundingMode>(5); }},
      {"statistics of no tensor", Status::kTensorIndex,
       [](ModelT& m) {
         m.norm_statistics.push_back(std::make_unique<schema::NormStatisticsT>());
         m.norm_statistics[0]->tensor = 40;
       }},
  };
  return list;
}

}  // namespace

TEST_CASE("a valid model opens, also when packed by others") {
  const AlignedBytes bytes = pack(*valid_model());
  const Result<Model> model = Model::open(bytes.view());
  REQUIRE_MESSAGE(static_cast<bool>(model), text_of(model.error()));
  CHECK(model->node_count() == 3);
  CHECK(std::string(model->tensor(0).name) == "image");
  CHECK(model->image(0).channels == 3);
  CHECK(model->state_count() == 1);
}

TEST_CASE("each mutation of a model has its own error") {
  for (const Mutation& mutation : mutations()) {
    CAPTURE(mutation.what);
    const auto model = valid_model();
    mutation.apply(*model);
    const AlignedBytes bytes = pack(*model);
    const Error error = Model::open(bytes.view()).error();
    CHECK_MESSAGE(error.status == mutation.expected, text_of(error));
  }
}

TEST_CASE("the container: sizes, alignment, identifier, checksum") {
  const AlignedBytes good = pack(*valid_model());
  CHECK(open_status(AlignedBytes(size_t{0})) == Status::kFileTooSmall);
  CHECK(Model::open({nullptr, 0}).error().status == Status::kFileTooSmall);
  CHECK(Model::open({good.view().data, kMaxModelBytes + 1}).error().status == Status::kFileTooLarge);
  AlignedBytes shifted(good.size() + 64);
  for (size_t offset = 1; offset < kModelAlignment; ++offset) {
    memcpy(shifted.data() + offset, good.view().data, good.size());
    const Error error = Model::open({shifted.data() + offset, good.size()}).error();
    CHECK(error.status == Status::kMisaligned);
    CHECK(error.value == static_cast<int64_t>(offset));
  }
  AlignedBytes other(good.view());
  other.data()[4] = 'X';
  CHECK(open_status(other) == Status::kNotAModel);
}

TEST_CASE("every truncation is refused") {
  const AlignedBytes good = pack(*valid_model());
  for (size_t size = 0; size < good.size(); ++size) {
    const AlignedBytes cut(Span<const uint8_t>(good.view().data, size));
    CHECK(open_status(cut) != Status::kOk);
  }
}

TEST_CASE("every flipped bit is refused by the checksum, and is harmless without it") {
  const AlignedBytes good = pack(*valid_model());
  OpenOptions trusted;
  trusted.skip_checksum = true;
  int64_t ran = 0;
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    AlignedBytes flipped(good.view());
    flipped.data()[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    REQUIRE(open_status(flipped) != Status::kOk);
    // Models that the structure alone lets through are safe to run: sanitizers watch.
    const Result<Model> model = Model::open(flipped.view(), trusted);
    if (!model) continue;
    const Result<SessionNeeds> needs = Session::measure(*model, all_ops());
    if (!needs || needs->total() > (1u << 20)) continue;
    AlignedBytes memory(needs->total());
    Result<Session> session = Session::create(*model, all_ops(), Session::split(memory.span(), *needs));
    if (!session) continue;
    session->run();
    ++ran;
  }
  CHECK(ran > 0);
}

TEST_CASE("bytes behind the model are refused") {
  const AlignedBytes good = pack(*valid_model());
  AlignedBytes longer(good.size() + 16);
  memset(longer.data(), 0, longer.size());
  memcpy(longer.data(), good.view().data, good.size());
  CHECK(open_status(longer) == Status::kBadChecksum);
}

TEST_CASE("errors have words that name the place") {
  const auto model = valid_model();
  tensor(*model, "sum").quantization->scale[0] = 0.0f;
  const AlignedBytes bytes = pack(*model);
  const std::string text = text_of(Model::open(bytes.view()).error());
  CHECK(text.find("tensor 2") != std::string::npos);
  CHECK(text.find("scale") != std::string::npos);
}

}  // namespace intaglio::test::model_test
