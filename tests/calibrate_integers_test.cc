// Networks that take token numbers, or give indices, through the calibrator: integers get no scale, tables become int8, and
// indices are chosen from codes.
#include <doctest/doctest.h>

#include "tests/support/calibrate.h"
#include "tests/support/decibels.h"
#include "tests/support/random.h"
#include "tests/support/real_values.h"
#include "tests/support/run_widths.h"

namespace intaglio::test::calibrate_integers_test {
namespace {

using test::AlignedBytes;
using test::Dims;
using test::ModelBuilder;
using test::Random;
using test::RunningModel;
using test::Samples;

int32_t reals(ModelBuilder& b, const std::string& name, const Dims& dims, uint32_t seed) {
  return b.constant<float>(name, DType::kF32, dims, Random(seed).reals(test::elements(dims), -1.0f, 1.0f));
}

// Eight token numbers, their rows of a table, the rows' mean, five scores.
AlignedBytes text_network() {
  ModelBuilder b;
  const int32_t x = b.tensor("tokens", DType::kS32, {8}), rows = b.tensor("rows", DType::kF32, {8, 16}),
                batch = b.tensor("batch", DType::kF32, {1, 8, 16}),
                mean = b.tensor("mean", DType::kF32, {1, 16}), y = b.tensor("scores", DType::kF32, {1, 5});
  b.input(x);
  b.node(Op::kGather, {reals(b, "table", {40, 16}, 1), x}, {rows});
  b.node(Op::kReshape, {rows}, {batch});
  b.node(Op::kMean, {batch}, {mean}).options.as<ReduceOptions>().axes = b.keep({1});
  b.node(Op::kFullyConnected, {mean, reals(b, "w", {5, 16}, 2), reals(b, "bias", {5}, 3)}, {y});
  b.output(y);
  return b.finish();
}

// A map of seven classes; the best of each place, and the three best.
AlignedBytes segmentation_network() {
  ModelBuilder b;
  const int32_t x = b.tensor("x", DType::kF32, {1, 6, 6, 4}),
                scores = b.tensor("scores", DType::kF32, {1, 6, 6, 7}),
                best = b.tensor("best", DType::kS32, {1, 6, 6, 1}),
                map = b.tensor("map", DType::kS32, {1, 6, 6}),
                three = b.tensor("three", DType::kS32, {1, 6, 6, 3}),
                values = b.tensor("values", DType::kF32, {1, 6, 6, 3});
  b.input(x);
  b.node(Op::kConv2d, {x, reals(b, "w", {7, 1, 1, 4}, 4), reals(b, "bias", {7}, 5)}, {scores});
  b.node(Op::kTopK, {scores}, {best}).options.as<TopKOptions>().axis = 3;
  b.node(Op::kReshape, {best}, {map});
  b.node(Op::kTopK, {scores}, {three}).options.as<TopKOptions>().axis = 3;
  b.node(Op::kGatherElements, {scores, three}, {values}).options.as<GatherOptions>().axis = 3;
  b.output(map);
  b.output(values);
  return b.finish();
}

// Token numbers, as the bytes of a sample.
Samples token_samples(size_t count) {
  Random random(7);
  Samples samples;
  for (size_t i = 0; i < count; ++i) {
    std::vector<float> sample(8);
    for (float& bytes : sample) {
      const int32_t token = random.between(0, 39);
      memcpy(&bytes, &token, sizeof token);
    }
    samples.push_back(sample);
  }
  return samples;
}

AlignedBytes int8_of(const AlignedBytes& fp32, const Samples& samples, test::Feed feed) {
  const Model model = *Model::open(fp32.view());
  const std::vector<uint8_t> bytes = test::calibrate(model, samples, {}, feed);
  return AlignedBytes(Span<const uint8_t>(bytes.data(), bytes.size()));
}

std::vector<Op> ops_of(const Model& model) {
  std::vector<Op> ops;
  for (int32_t n = 0; n < model.node_count(); ++n) ops.push_back(model.node(n).op);
  return ops;
}

TEST_CASE("token numbers stay int32, and the embedding becomes int8") {
  const AlignedBytes file = text_network();
  const Samples samples = token_samples(24), taken(samples.begin(), samples.begin() + 16);
  const AlignedBytes made = int8_of(file, taken, test::Feed::kOneByOne);
  const AlignedBytes again = int8_of(file, Samples(taken.rbegin(), taken.rend()), test::Feed::kAllAtOnce);
  REQUIRE(made.size() == again.size());
  CHECK(memcmp(made.view().data, again.view().data, made.size()) == 0);
  RunningModel fp32(AlignedBytes(file.view())), int8(AlignedBytes(made.view()), int8_ops());
  REQUIRE_MESSAGE(int8.error().ok(), test::text_of(int8.error()));
  CHECK(int8.session().input().info.dtype == DType::kS32);
  const NodeInfo gather = int8.model().node(0);
  CHECK(gather.op == Op::kGather);
  CHECK(int8.model().tensor(gather.inputs[0]).dtype == DType::kS8);
  CHECK(int8.model().tensor(gather.inputs[0]).quantization.scales[0] ==
        int8.model().tensor(gather.outputs[0]).quantization.scales[0]);
  test::SignalAndNoise compared;
  for (size_t s = 16; s < samples.size(); ++s)
    compared.add(fp32.run<float>(samples[s]), int8.run<float>(samples[s]));
  CHECK(compared.sqnr_db() > 30.0);
}

TEST_CASE("indices are chosen from codes: no Dequantize stands before them") {
  const AlignedBytes file = segmentation_network();
  Random random(9);
  Samples samples;
  for (size_t i = 0; i < 24; ++i) samples.push_back(random.reals(144, -1.0f, 1.0f));
  const Samples taken(samples.begin(), samples.begin() + 16);
  const AlignedBytes made = int8_of(file, taken, test::Feed::kAllAtOnce);
  RunningModel fp32(AlignedBytes(file.view())), int8(AlignedBytes(made.view()), int8_ops());
  REQUIRE_MESSAGE(int8.error().ok(), test::text_of(int8.error()));
  CHECK(ops_of(int8.model()) ==
        std::vector<Op>{Op::kConv2d, Op::kTopK, Op::kReshape, Op::kTopK, Op::kGatherElements});
  CHECK(int8.session().output(0).info.dtype == DType::kS32);
  CHECK(int8.session().output(1).info.dtype == DType::kS8);
  size_t same = 0, all = 0;
  for (size_t s = 16; s < samples.size(); ++s) {
    fp32.run<int32_t>(samples[s]);
    test::set_real_input(int8, samples[s]);
    int8.session().run();
    const std::vector<int32_t> found = int8.output<int32_t>(), exact = fp32.output<int32_t>();
    for (size_t i = 0; i < exact.size(); ++i) same += found[i] == exact[i] ? 1 : 0;
    all += exact.size();
  }
  CHECK(all == 8 * 36);
  CHECK(same * 100 > all * 95);
}

}  // namespace
}  // namespace intaglio::test::calibrate_integers_test
