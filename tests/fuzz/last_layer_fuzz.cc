// A last layer learnt from any examples, and read with any of its bytes changed: refused, or it names a class. The data are the
// number of classes, labels and codes; what is left changes the layer, whose checksums are made right again.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "intaglio/last_layer.h"
#include "runtime/crc32.h"
#include "tests/support/small_models.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

constexpr int32_t kFeatures = 9, kMost = 14;

AlignedBytes model_file() {
  ModelBuilder b;
  const int32_t in = b.tensor("in", DType::kS8, {1, kFeatures}, 0.25f, 3),
                out = b.tensor("out", DType::kS8, {1, 2}, 9.0f);
  b.node(Op::kFullyConnected,
         {in,
          b.constant<int8_t>("w", DType::kS8, {2, kFeatures}, std::vector<int8_t>(2 * kFeatures, 5), {0.5f})},
         {out});
  b.input(in);
  b.output(out);
  return b.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const AlignedBytes file = model_file();
  static const Model model = *Model::open(file.view());
  if (size < 2) return 0;
  const int32_t classes = 2 + data[0] % 4, examples = 2 + data[1] % (kMost - 1);
  data += 2, size -= 2;
  const LearnNeeds needs = *LastLayerLearner::measure(model, classes, examples);
  AlignedBytes memory(needs.memory_bytes), patch(needs.patch_bytes);
  LastLayerLearner learner = *LastLayerLearner::create(model, classes, examples, memory.span());
  int8_t codes[kFeatures] = {};
  for (int32_t i = 0; i < examples && size > kFeatures; ++i, data += kFeatures + 1, size -= kFeatures + 1) {
    memcpy(codes, data + 1, kFeatures);
    if (!learner.add(codes, data[0] % (classes + 1)).ok() && data[0] % (classes + 1) != classes) std::abort();
  }
  const Result<LearnReport> report = learner.finish(patch.span());
  if (!report) return 0;  // a class without an example
  Result<LastLayer> layer = LastLayer::open(patch.view(), model);
  if (!layer || layer->classify(codes) >= classes) std::abort();
  if (!learner.finish(patch.span(), &*layer) || !LastLayer::open(patch.view(), model)) std::abort();
  constexpr size_t kSummed = 8;
  for (; size >= 3; data += 3, size -= 3) patch.data()[(data[0] | data[1] << 8) % patch.size()] = data[2];
  const uint32_t sum = crc32(0, patch.data() + kSummed, patch.size() - kSummed);
  memcpy(patch.data() + 4, &sum, sizeof sum);
  layer = LastLayer::open(patch.view(), model);
  if (layer && (layer->classify(codes) < 0 || layer->classify(codes) >= layer->classes())) std::abort();
  return 0;
}
