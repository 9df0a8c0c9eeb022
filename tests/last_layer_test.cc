// A last layer learnt from a few examples, against ridge regression and nearest means solved another way, in long double.
#include "intaglio/last_layer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/crc32.h"
#include "tests/support/model_builder.h"
#include "tests/support/model_checks.h"
#include "tests/support/random.h"

namespace intaglio::test::last_layer_test {
namespace {

using Real = long double;

// A model whose last layer reads `count` codes.
AlignedBytes model_of(int32_t count, float scale = 0.125f) {
  ModelBuilder b;
  const int32_t in = b.tensor("in", DType::kS8, {1, count}, scale, -3),
                out = b.tensor("out", DType::kS8, {1, 3}, 9.0f);
  const auto codes = Random(3).codes(static_cast<size_t>(3 * count));
  b.node(Op::kFullyConnected, {in, b.constant<int8_t>("w", DType::kS8, {3, count}, codes, {0.01f})}, {out});
  b.input(in);
  b.output(out);
  return b.finish();
}

struct Example {
  std::vector<int8_t> x;
  int32_t label;
};

// Clouds around centres of their own, one a class.
std::vector<Example> clouds(int32_t classes, int32_t each, int32_t count, int32_t spread, uint32_t seed = 1) {
  Random random(seed), of_centres(77);
  std::vector<std::vector<int32_t>> centres;
  for (int32_t c = 0; c < classes; ++c) {
    centres.emplace_back();
    for (int32_t t = 0; t < count; ++t) centres.back().push_back(of_centres.between(-60, 60));
  }
  std::vector<Example> made;
  for (int32_t i = 0; i < each * classes; ++i) {
    Example one{{}, i % classes};
    for (const int32_t centre : centres[static_cast<size_t>(one.label)])
      one.x.push_back(static_cast<int8_t>(std::clamp(centre + random.between(-spread, spread), -128, 127)));
    made.push_back(one);
  }
  return made;
}

struct Learnt {
  Error error;
  LearnReport report;
  AlignedBytes patch;
};

Learnt learn(const Model& model, int32_t classes, const std::vector<Example>& examples,
             const LastLayer* in_use = nullptr) {
  const auto room = static_cast<int32_t>(examples.size());
  const Result<LearnNeeds> needs = LastLayerLearner::measure(model, classes, room);
  REQUIRE(static_cast<bool>(needs));
  AlignedBytes memory(needs->memory_bytes);  // a sanitizer sees one byte more
  Result<LastLayerLearner> learner = LastLayerLearner::create(model, classes, room, memory.span());
  REQUIRE(static_cast<bool>(learner));
  for (const Example& one : examples) REQUIRE(learner->add(one.x.data(), one.label).ok());
  Learnt learnt{kNoError, {}, AlignedBytes(needs->patch_bytes)};
  const Result<LearnReport> report = learner->finish(learnt.patch.span(), in_use);
  learnt.error = report.error();
  learnt.report = *report;
  return learnt;
}

// Weights of a class on codes, and its bias: the normal equations of all features with one for the bias, by elimination with pivots.
std::vector<Real> ridge_of(const std::vector<Example>& examples, int32_t of_class, float scale) {
  const size_t d = examples[0].x.size(), n = examples.size();
  const Real ridge = 1.0L / (static_cast<Real>(scale) * static_cast<Real>(scale));
  std::vector<std::vector<Real>> a(d + 1, std::vector<Real>(d + 2));
  const auto at = [&](size_t i, size_t t) { return t < d ? static_cast<Real>(examples[i].x[t]) : 1.0L; };
  for (size_t i = 0; i < n; ++i)
    for (size_t r = 0; r <= d; ++r) {
      for (size_t q = 0; q <= d; ++q) a[r][q] += at(i, r) * at(i, q);
      a[r][d + 1] += at(i, r) * (examples[i].label == of_class ? 1 : -1);
    }
  for (size_t r = 0; r < d; ++r) a[r][r] += ridge;
  for (size_t r = 0; r <= d; ++r) {
    size_t pivot = r;
    for (size_t q = r; q <= d; ++q)
      if (std::abs(a[q][r]) > std::abs(a[pivot][r])) pivot = q;
    std::swap(a[r], a[pivot]);
    for (size_t q = 0; q <= d; ++q) {
      if (q == r) continue;
      const Real factor = a[q][r] / a[r][r];
      for (size_t t = r; t < d + 2; ++t) a[q][t] -= factor * a[r][t];
    }
  }
  std::vector<Real> weights;
  for (size_t r = 0; r <= d; ++r) weights.push_back(a[r][d + 1] / a[r][r]);
  return weights;
}

// Each score is that of these weights, but for weights of 8 bits.
void check_scores(const LastLayer& layer, const std::vector<Example>& asked, int32_t of_class,
                  const std::vector<Real>& weights) {
  const size_t d = weights.size() - 1;
  Real largest = 0;
  for (size_t t = 0; t < d; ++t) largest = std::max(largest, std::abs(weights[t]));
  for (const Example& one : asked) {
    Real expected = weights[d], slack = 1e-5L;
    for (size_t t = 0; t < d; ++t) {
      expected += weights[t] * one.x[t];
      slack += std::abs(static_cast<Real>(one.x[t])) * largest / 127 * 0.5001L;
    }
    slack += std::abs(expected) * 1e-5L + std::abs(weights[d]) * 1e-6L;
    CHECK(std::abs(static_cast<Real>(layer.score(one.x.data(), of_class)) - expected) <= slack);
  }
}

}  // namespace

TEST_CASE(
    "ridge regression is that of the normal equations, with fewer examples than features and with more") {
  for (const int32_t count : {1, 2, 7, 12, 40})
    for (const int32_t each : {1, 2, 9})
      for (const int32_t classes : {2, 3}) {
        CAPTURE(count);
        CAPTURE(each);
        CAPTURE(classes);
        const float scale = count == 7 ? 1.5f : 0.125f;
        const AlignedBytes file = model_of(count, scale);
        const Model model = *Model::open(file.view());
        const auto examples = clouds(classes, each, count, 30);
        const Learnt learnt = learn(model, classes, examples);
        REQUIRE(learnt.error.ok());
        const Result<LastLayer> layer = LastLayer::open(learnt.patch.view(), model);
        REQUIRE(static_cast<bool>(layer));
        CHECK(layer->classes() == classes);
        CHECK(layer->features() == count);
        CHECK(learnt.report.held_out == each / 3 * classes);
        if (learnt.report.method != LearnMethod::kRidge) continue;
        for (int32_t c = 0; c < classes; ++c)
          check_scores(*layer, clouds(classes, 4, count, 50, 9), c, ridge_of(examples, c, scale));
      }
}

TEST_CASE("means are taken where they know more of the examples held out") {
  // One class is in two far places, of which ridge regression of one feature can hold one side only.
  std::vector<Example> examples;
  Random random(4);
  for (int32_t i = 0; i < 60; ++i) {
    const int32_t label = i % 3;
    examples.push_back({{static_cast<int8_t>(label * 60 - 60 + random.between(-20, 20))}, label});
  }
  const AlignedBytes file = model_of(1);
  const Model model = *Model::open(file.view());
  const Learnt learnt = learn(model, 3, examples);
  REQUIRE(learnt.error.ok());
  CHECK(learnt.report.method == LearnMethod::kMeans);
  CHECK(learnt.report.right == learnt.report.held_out);
  const LastLayer layer = *LastLayer::open(learnt.patch.view(), model);
  for (int32_t code = -128; code < 128; ++code) {
    const auto x = static_cast<int8_t>(code);
    Real nearest = 1e9;
    std::vector<Real> away;
    for (int32_t c = 0; c < 3; ++c) {
      Real sum = 0;
      for (const Example& one : examples) sum += one.label == c ? one.x[0] : 0;
      away.push_back(std::abs(code - sum / 20));
      nearest = std::min(nearest, away.back());
    }
    const Real chosen = away[static_cast<size_t>(layer.classify(&x))];
    CHECK(chosen <= nearest + 1.0L);  // ties, and weights of 8 bits
  }
}

TEST_CASE("the layer in use stays where it knows more of the examples held out") {
  const AlignedBytes file = model_of(12);
  const Model model = *Model::open(file.view());
  const Learnt good = learn(model, 3, clouds(3, 8, 12, 20));
  REQUIRE(good.error.ok());
  CHECK(good.report.right_before == -1);
  const LastLayer in_use = *LastLayer::open(good.patch.view(), model);
  // Nonsense to learn from, and true examples held out.
  std::vector<Example> mixed = clouds(3, 6, 12, 20, 5);
  for (size_t i = 0; i < mixed.size(); ++i)
    if (i / 3 % 3 != 2) std::reverse(mixed[i].x.begin(), mixed[i].x.end());
  Learnt worse = learn(model, 3, mixed, &in_use);
  REQUIRE(worse.error.ok());
  CHECK(worse.report.held_out == 6);
  CHECK(worse.report.right_before == 6);
  CHECK(worse.report.right < 6);
  CHECK(!worse.report.kept);
  CHECK(LastLayer::open(worse.patch.view(), model).error().status == Status::kOtherLayer);
  const Learnt again = learn(model, 3, clouds(3, 6, 12, 20, 6), &in_use);
  CHECK(again.report.kept);
  CHECK(again.report.right_before == 6);
  // With two a class nothing is held out, and nothing judges.
  mixed.resize(6);
  const Learnt unjudged = learn(model, 3, mixed, &in_use);
  CHECK(unjudged.report.held_out == 0);
  CHECK(unjudged.report.kept);
}

TEST_CASE("the same bytes on every machine") {
  const auto digest = [](const Learnt& learnt) {
    REQUIRE(learnt.error.ok());
    return crc32(0, learnt.patch.view().data, learnt.patch.size());
  };
  const AlignedBytes small = model_of(12), large = model_of(200);
  CHECK(digest(learn(*Model::open(small.view()), 3, clouds(3, 20, 12, 60))) == 4059063432u);
  CHECK(digest(learn(*Model::open(large.view()), 4, clouds(4, 10, 200, 60))) == 3557188695u);
  CHECK(digest(learn(*Model::open(large.view()), 2, clouds(2, 1, 200, 60))) == 2887938826u);
}

TEST_CASE("all examples alike, and codes at both ends") {
  const AlignedBytes file = model_of(5, 1024.0f);
  const Model model = *Model::open(file.view());
  for (const int8_t code : {int8_t{-128}, int8_t{0}, int8_t{127}}) {
    std::vector<Example> same;
    for (int32_t i = 0; i < 8; ++i) same.push_back({std::vector<int8_t>(5, code), i % 2});
    const Learnt learnt = learn(model, 2, same);
    REQUIRE(learnt.error.ok());
    const LastLayer layer = *LastLayer::open(learnt.patch.view(), model);
    CHECK(std::isfinite(layer.score(same[0].x.data(), 0)));
  }
  std::vector<Example> ends;
  for (int32_t i = 0; i < 8; ++i)
    ends.push_back({std::vector<int8_t>(5, i % 2 == 0 ? int8_t{-128} : int8_t{127}), i % 2});
  const Learnt learnt = learn(model, 2, ends);
  const LastLayer layer = *LastLayer::open(learnt.patch.view(), model);
  for (const Example& one : ends) CHECK(layer.classify(one.x.data()) == one.label);
}

TEST_CASE("what is refused") {
  const AlignedBytes file = model_of(12), other = model_of(12, 0.25f), wider = model_of(13);
  const Model model = *Model::open(file.view());
  const auto measured = [&](int32_t classes, int32_t examples) {
    return LastLayerLearner::measure(model, classes, examples).error();
  };
  for (const int32_t classes : {-1, 0, 1, 1025, INT32_MIN, INT32_MAX})
    check_error(measured(classes, 10), {Status::kTooManyItems, -1, -1, classes, 1024});
  for (const int32_t examples : {-1, 0, 1, 4097, INT32_MIN, INT32_MAX})
    check_error(measured(2, examples), {Status::kTooManyItems, -1, -1, examples, 4096});
  const LearnNeeds needs = *LastLayerLearner::measure(model, 2, 10);
  CHECK(needs.memory_bytes == 8 * (55 + 10 + 12) + 4 * 12 + 2 * 2 * 10 + 12 * 10);
  CHECK(needs.patch_bytes == 20 + 2 * (8 + 12));
  AlignedBytes memory(needs.memory_bytes), patch(needs.patch_bytes);
  check_error(LastLayerLearner::create(model, 2, 10, {memory.data(), needs.memory_bytes - 1}).error(),
              {Status::kOutOfMemory, -1, -1, static_cast<int64_t>(needs.memory_bytes - 1),
               static_cast<int64_t>(needs.memory_bytes)});
  LastLayerLearner learner = *LastLayerLearner::create(model, 2, 10, memory.span());
  const auto examples = clouds(2, 6, 12, 20);
  check_error(learner.add(examples[0].x.data(), 2), {Status::kBadLabel, -1, -1, 2, 2});
  check_error(learner.add(examples[0].x.data(), -1), {Status::kBadLabel, -1, -1, -1, 2});
  check_error(learner.finish(patch.span()).error(), {Status::kNoExamples, -1, -1, 0});
  REQUIRE(learner.add(examples[0].x.data(), 0).ok());
  check_error(learner.finish(patch.span()).error(), {Status::kNoExamples, -1, -1, 1});
  for (size_t i = 1; i < 10; ++i) REQUIRE(learner.add(examples[i].x.data(), examples[i].label).ok());
  check_error(learner.add(examples[0].x.data(), 0), {Status::kTooManyItems, -1, -1, 11, 10});
  check_error(learner.finish({patch.data(), patch.size() - 1}).error(),
              {Status::kOutOfMemory, -1, -1, static_cast<int64_t>(patch.size() - 1),
               static_cast<int64_t>(patch.size())});
  REQUIRE(static_cast<bool>(learner.finish(patch.span())));
  CHECK(static_cast<bool>(LastLayer::open(patch.view(), model)));
  // A layer of another model, of any length, and with any bit of it changed.
  for (const AlignedBytes* const of : {&other, &wider})
    check_error(LastLayer::open(patch.view(), *Model::open(of->view())).error(), {Status::kOtherLayer});
  for (size_t size = 0; size < patch.size(); ++size)
    check_error(LastLayer::open({patch.data(), size}, model).error(), {Status::kOtherLayer});
  for (size_t bit = 0; bit < 8 * patch.size(); ++bit) {
    AlignedBytes changed(patch.view());
    changed.data()[bit / 8] = static_cast<uint8_t>(changed.data()[bit / 8] ^ (1u << bit % 8));
    check_error(LastLayer::open(changed.view(), model).error(), {Status::kOtherLayer});
  }
}

TEST_CASE("features are what the last layer with weights reads") {
  const auto found = [](DType dtype, const std::vector<int32_t>& dims, bool convolution) {
    ModelBuilder b;
    const bool codes = dtype == DType::kS8;
    const int32_t in = b.tensor("in", dtype, dims, codes ? 0.25f : 0.0f);
    std::vector<int32_t> to = dims;
    to.back() = 2;
    const int32_t y = b.tensor("y", dtype, to, codes ? 1.0f : 0.0f),
                  z = b.tensor("z", dtype, to, codes ? 1.0f / 256 : 0.0f, codes ? -128 : 0);
    const std::vector<int32_t> shape =
        convolution ? std::vector<int32_t>{2, 1, 1, dims.back()} : std::vector<int32_t>{2, dims.back()};
    const auto size = static_cast<size_t>(2 * dims.back());
    const int32_t w = codes ? b.constant<int8_t>("w", dtype, shape, std::vector<int8_t>(size, 3), {0.5f})
                            : b.constant<float>("w", dtype, shape, std::vector<float>(size, 0.5f));
    b.node(convolution ? Op::kConv2d : Op::kFullyConnected, {in, w}, {y});
    b.node(Op::kSoftmax, {y}, {z});
    b.input(in);
    b.output(z);
    const AlignedBytes file = b.finish();
    return find_features(*Model::open(file.view()));
  };
  const Result<Features> vector = found(DType::kS8, {1, 6}, false);
  REQUIRE(static_cast<bool>(vector));
  CHECK(vector->node == 0);
  CHECK(vector->tensor == 0);
  CHECK(vector->count == 6);
  CHECK(vector->scale == 0.25f);
  CHECK(static_cast<bool>(found(DType::kS8, {1, 1, 1, 6}, true)));
  check_error(found(DType::kS8, {1, 2, 1, 6}, true).error(), {Status::kNoFeatures});
  check_error(found(DType::kS8, {2, 6}, false).error(), {Status::kNoFeatures});
  check_error(found(DType::kF32, {1, 6}, false).error(), {Status::kNoFeatures});
}

}  // namespace intaglio::test::last_layer_test
