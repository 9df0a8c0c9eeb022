// Nodes with random shapes and options, most of them wrong: each is refused, or runs within its memory, which
// the sanitizer build watches, and gives the same bytes again.
#include <doctest/doctest.h>

#include "tests/support/random.h"
#include "tests/support/run_widths.h"

namespace intaglio::test::ops_random_test {
namespace {

using test::AlignedBytes;
using test::Dims;
using test::elements;
using test::ModelBuilder;
using test::Random;
using test::RunningModel;

constexpr Op kOps[] = {Op::kAdd,          Op::kSub,     Op::kMul,         Op::kConcat,      Op::kPad,
                       Op::kStridedSlice, Op::kGather,  Op::kResize,      Op::kLookup,      Op::kPRelu,
                       Op::kLeakyRelu,    Op::kSigmoid, Op::kMean,        Op::kTranspose,   Op::kDiv,
                       Op::kMaximum,      Op::kMinimum, Op::kL2Normalize, Op::kBatchMatMul, Op::kSin,
                       Op::kEqual,        Op::kWhere,   Op::kNormalize};

// Mostly small and near the truth; now and then anything.
int32_t any_number(Random& random, int32_t most) {
  if (random.one_in(40)) return static_cast<int32_t>(random.bits());
  return random.between(random.one_in(6) ? -most : 0, most);
}

Dims any_list(Random& random, size_t size, int32_t most) {
  Dims list(random.one_in(20) ? static_cast<size_t>(random.between(0, 7)) : size);
  for (int32_t& value : list) value = any_number(random, most);
  return list;
}

struct Made {
  AlignedBytes file;
  std::vector<size_t> input_bytes;
};

Made make(Random& random, Op op) {
  const bool is_s8 = random.one_in(2);
  const DType dtype = is_s8 ? DType::kS8 : DType::kF32;
  const float scale = is_s8 ? 0.5f : 0.0f;
  const auto rank = static_cast<size_t>(op == Op::kResize ? 4 : random.between(1, 4));
  Dims x(rank), y(rank), second(rank);
  for (size_t i = 0; i < rank; ++i) {
    x[i] = random.between(1, 5);
    y[i] = random.one_in(2) ? x[i] : random.between(1, 6);
    second[i] = random.one_in(2) ? x[i] : random.one_in(2) ? 1 : random.between(1, 5);
  }
  if (op == Op::kResize && !random.one_in(10)) {
    y[0] = x[0];
    y[3] = x[3];
  }
  ModelBuilder b;
  Made made;
  std::vector<int32_t> inputs = {b.tensor("x", dtype, x, scale)};
  b.input(inputs[0]);
  made.input_bytes.push_back(elements(x) * element_bytes(dtype));
  const bool binary = op == Op::kAdd || op == Op::kSub || op == Op::kMul || op == Op::kConcat ||
                      op == Op::kDiv || op == Op::kMaximum || op == Op::kMinimum || op == Op::kEqual ||
                      op == Op::kWhere || op == Op::kBatchMatMul;
  if (op == Op::kBatchMatMul && rank > 1 && !random.one_in(10)) {
    second[rank - 2] = x[rank - 1];
    y = x;
    y[rank - 1] = second[rank - 1];
  }
  if (binary) {
    inputs.push_back(b.tensor("second", dtype, second, scale));
    b.input(inputs[1]);
    made.input_bytes.push_back(elements(second) * element_bytes(dtype));
    for (size_t i = 0; i < rank && op != Op::kConcat && op != Op::kBatchMatMul && random.one_in(2); ++i)
      y[i] = x[i] == 1 ? second[i] : x[i];
  }
  if (op == Op::kWhere) {
    const Dims third = random.one_in(3) ? Dims{1} : y;
    inputs.push_back(b.tensor("third", dtype, third, scale));
    b.input(inputs[2]);
    made.input_bytes.push_back(elements(third) * element_bytes(dtype));
  }
  if (op == Op::kGather) {
    const Dims indices = any_list(random, static_cast<size_t>(random.between(1, 4)), x[0]);
    if (!indices.empty())
      inputs.push_back(b.constant("indices", DType::kS32, {static_cast<int32_t>(indices.size())}, indices));
  }
  if (op == Op::kPRelu)
    inputs.push_back(b.constant("slope", DType::kF32, {x.back()},
                                std::vector<float>(static_cast<size_t>(x.back()), 0.5f)));
  if (op == Op::kNormalize)
    for (const char* const name : {"scale", "shift"})
      inputs.push_back(
          b.constant(name, DType::kF32, {x.back()}, std::vector<float>(static_cast<size_t>(x.back()), 0.5f)));
  if (op == Op::kLookup) {
    const int32_t tables = random.one_in(2) ? 1 : random.between(1, 5);
    inputs.push_back(
        b.constant("table", DType::kS8, {tables, 256}, random.codes(256 * static_cast<size_t>(tables))));
  }
  if (op == Op::kLookup || op == Op::kPRelu || op == Op::kLeakyRelu || op == Op::kSigmoid || op == Op::kSin ||
      op == Op::kL2Normalize || op == Op::kNormalize)
    if (!random.one_in(10)) y = x;
  const bool leaves = op == Op::kMean && is_s8 && random.one_in(2);  // in FP32
  const int32_t ty = leaves ? b.tensor("y", DType::kF32, y) : b.tensor("y", dtype, y, scale);
  NodeOptions& o = b.node(op, inputs, {ty}).options;
  const int32_t last = static_cast<int32_t>(rank) - 1;
  if (auto* const mean = o.get<ReduceOptions>()) mean->axes = b.keep(any_list(random, 1, last));
  if (auto* const turn = o.get<TransposeOptions>()) turn->permutation = b.keep(any_list(random, rank, last));
  if (auto* const concat = o.get<ConcatOptions>()) concat->axis = any_number(random, last);
  if (auto* const gather = o.get<GatherOptions>()) gather->axis = any_number(random, last);
  if (auto* const pad = o.get<PadOptions>()) pad->before = b.keep(any_list(random, rank, 2));
  if (auto* const slice = o.get<StridedSliceOptions>()) {
    slice->begin = b.keep(any_list(random, rank, 2));
    slice->strides = b.keep(any_list(random, rank, 2));
  }
  if (auto* const resize = o.get<ResizeOptions>())
    *resize = {static_cast<Interpolation>(random.between(0, 1)),
               static_cast<Coordinates>(random.between(0, 2)),
               static_cast<NearestRounding>(random.between(0, 3))};
  if (auto* const unary = o.get<UnaryOptions>()) unary->alpha = 0.1f;
  if (auto* const normalize = o.get<L2NormalizeOptions>()) normalize->min_norm = 0.1f;
  if (auto* const groups = o.get<NormalizeOptions>())
    *groups = {0.1f, any_number(random, 2), random.one_in(2), random.one_in(2)};
  b.output(ty);
  made.file = b.finish();
  return made;
}

std::vector<uint8_t> run(RunningModel& model, const std::vector<size_t>& input_bytes, Random random) {
  for (size_t i = 0; i < input_bytes.size(); ++i) {
    const std::vector<int8_t> bytes = random.codes(input_bytes[i]);
    memcpy(model.session().input(static_cast<int32_t>(i)).data, bytes.data(), bytes.size());
  }
  model.session().run();
  const TensorView y = model.session().output();
  const auto* const first = static_cast<const uint8_t*>(y.data);
  return {first, first + y.info.bytes()};
}

TEST_CASE("random nodes are refused or run") {
  Random random(1);
  constexpr int32_t kTrials = 1500;  // also under a sanitizer: of some operators few are accepted
  const int32_t trials = std::max(kTrials, test::shape_count(kTrials));
  for (const Op op : kOps) {
    CAPTURE(static_cast<int>(op));
    int32_t accepted = 0, refused = 0;
    for (int32_t trial = 0; trial < trials; ++trial) {
      const Made made = make(random, op);
      RunningModel model(AlignedBytes(made.file.view()));
      ++(model.error().ok() ? accepted : refused);
      if (!model.error().ok()) continue;
      const Random values(static_cast<uint32_t>(trial));
      const std::vector<uint8_t> found = run(model, made.input_bytes, values);
      SessionOptions options;
      options.isa = isa::kScalar;
      options.executor = {nullptr, 3, test::run_backwards};
      RunningModel other(AlignedBytes(made.file.view()), all_ops(), options);
      REQUIRE(other.error().ok());
      REQUIRE(run(other, made.input_bytes, values) == found);
    }
    CHECK(accepted > 20);
    CHECK(refused > 20);
  }
}

}  // namespace
}  // namespace intaglio::test::ops_random_test
