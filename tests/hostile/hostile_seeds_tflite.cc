#include <flatbuffers/flexbuffers.h>

#include <functional>

#include "tests/hostile/hostile_runs.h"
#include "tests/support/tflite_builder.h"

using namespace intaglio::test;
namespace tflite = intaglio::tflite;

namespace {

using tflite::Options;
using Ints = std::vector<int32_t>;
using Reals = std::vector<float>;

constexpr int8_t kBool = 6, kResource = 13;
constexpr int32_t kMul = 18, kConv3d = 132, kLess = 58, kSum = 74, kIf = 118, kWhile = 119, kDensify = 124,
                  kVarHandle = 142, kReadVariable = 143, kAssignVariable = 144;

void add(TfliteBuilder& file, int32_t a, int32_t b, int32_t y) {
  file.op(kTfliteAdd, {a, b}, {y}, Options::AddOptions, tflite::CreateAddOptions(file.fbb()).Union());
}
void multiply(TfliteBuilder& file, int32_t a, int32_t b, int32_t y) {
  file.op(kMul, {a, b}, {y}, Options::MulOptions, tflite::CreateMulOptions(file.fbb()).Union());
}
int32_t whole(TfliteBuilder& file, const char* name, int32_t value) {
  return file.constant(name, kTfliteInt32, {}, Ints{value});
}

// Three runs of i + 1 and y / 2 + x.
std::string loop() {
  TfliteBuilder file;
  int32_t i = 0, y = 0, x = 0;
  const auto begin = [&] {
    i = file.tensor("i", kTfliteInt32, {});
    y = file.tensor("y", kTfliteFloat, {1, 3});
    x = file.tensor("x", kTfliteFloat, {1, 3});
  };
  begin();
  const int32_t goes_on = file.tensor("goes_on", kBool, {});
  file.op(kLess, {i, whole(file, "limit", 3)}, {goes_on});
  file.end_graph({i, y, x}, {goes_on});
  begin();
  const int32_t next = file.tensor("next", kTfliteInt32, {}),
                half = file.tensor("half", kTfliteFloat, {1, 3}),
                sum = file.tensor("sum", kTfliteFloat, {1, 3});
  add(file, i, whole(file, "one", 1), next);
  multiply(file, y, file.constant("factor", kTfliteFloat, {1}, Reals{0.5f}), half);
  add(file, half, x, sum);
  file.end_graph({i, y, x}, {next, sum, x});
  x = file.tensor("x", kTfliteFloat, {1, 3});
  const int32_t zeros = file.constant("zeros", kTfliteFloat, {1, 3}, Reals{0, 0, 0});
  i = file.tensor("i", kTfliteInt32, {});
  y = file.tensor("y", kTfliteFloat, {1, 3});
  const int32_t same = file.tensor("same", kTfliteFloat, {1, 3});
  file.op(kWhile, {whole(file, "zero", 0), zeros, x}, {i, y, same}, Options::WhileOptions,
          tflite::CreateWhileOptions(file.fbb(), 1, 2).Union());
  return file.finish({x}, {y});
}

// x times 2 or times -3, as the sum of x says; and a variable that is added and kept.
std::string decision() {
  TfliteBuilder file;
  for (const float factor : {2.0f, -3.0f}) {
    const int32_t x = file.tensor("x", kTfliteFloat, {2}), y = file.tensor("y", kTfliteFloat, {2});
    multiply(file, x, file.constant("factor", kTfliteFloat, {1}, Reals{factor}), y);
    file.end_graph({x}, {y});
  }
  const int32_t x = file.tensor("x", kTfliteFloat, {2}), y = file.tensor("y", kTfliteFloat, {2}),
                sum = file.tensor("sum", kTfliteFloat, {}), yes = file.tensor("yes", kBool, {}),
                handle = file.tensor("handle", kResource, {}), kept = file.tensor("kept", kTfliteFloat, {2}),
                next = file.tensor("next", kTfliteFloat, {2});
  file.op(kSum, {x, file.constant("axes", kTfliteInt32, {1}, Ints{0})}, {sum}, Options::ReducerOptions,
          tflite::CreateReducerOptions(file.fbb()).Union());
  file.op(kLess, {sum, file.constant("limit", kTfliteFloat, {}, Reals{1})}, {yes});
  file.op(kIf, {yes, x}, {y}, Options::IfOptions, tflite::CreateIfOptions(file.fbb(), 1, 2).Union());
  file.op(kVarHandle, {}, {handle}, Options::VarHandleOptions,
          tflite::CreateVarHandleOptionsDirect(file.fbb(), "", "memory").Union());
  file.op(kReadVariable, {handle}, {kept});
  add(file, kept, y, next);
  file.op(kAssignVariable, {handle, next}, {});
  return file.finish({x}, {next});
}

flatbuffers::Offset<tflite::Sparsity> sparsity(TfliteBuilder& file, const Ints& order, const Ints& blocks,
                                               int32_t rows, const std::vector<uint8_t>& segments,
                                               const std::vector<uint8_t>& indices, const Ints& block_sizes) {
  auto& fbb = file.fbb();
  const auto begins = tflite::CreateUint8VectorDirect(fbb, &segments).Union(),
             places = tflite::CreateUint8VectorDirect(fbb, &indices).Union();
  std::vector<flatbuffers::Offset<tflite::SparseLevel>> levels{
      tflite::CreateSparseLevel(fbb, 0, rows),
      tflite::CreateSparseLevel(fbb, 1, 0, tflite::SparseIndices::Uint8Vector, begins,
                                tflite::SparseIndices::Uint8Vector, places)};
  for (const int32_t size : block_sizes) levels.push_back(tflite::CreateSparseLevel(fbb, 0, size));
  return tflite::CreateSparsityDirect(fbb, &order, &blocks, &levels);
}

// Weights in blocks of two rows, and halves that DENSIFY makes whole.
std::string sparse() {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 4}), y = file.tensor("y", kTfliteFloat, {1, 4}),
                z = file.tensor("z", kTfliteFloat, {1, 3});
  std::vector<uint8_t> stored(4 * sizeof(float));
  const Reals values{1, 2, 3, 4};
  std::memcpy(stored.data(), values.data(), stored.size());
  const int32_t w = file.sparse_tensor("w", kTfliteFloat, {4, 4}, stored,
                                       sparsity(file, {0, 1, 2}, {0}, 2, {0, 1, 2}, {1, 3}, {2}));
  file.op(kTfliteFullyConnected, {x, w}, {y}, Options::FullyConnectedOptions,
          tflite::CreateFullyConnectedOptions(file.fbb()).Union());
  const int32_t v = file.sparse_tensor("v", 1, {3, 4}, {0x00, 0x3C, 0x00, 0x40, 0x00, 0x42},
                                       sparsity(file, {0, 1}, {}, 3, {0, 2, 2, 3}, {1, 3, 0}, {}));
  const int32_t dense = file.tensor("dense", 1, {3, 4}), reals = file.tensor("reals", kTfliteFloat, {3, 4});
  file.op(kDensify, {v}, {dense});
  file.op(kTfliteDequantize, {dense}, {reals});
  file.op(kTfliteFullyConnected, {y, reals}, {z}, Options::FullyConnectedOptions,
          tflite::CreateFullyConnectedOptions(file.fbb()).Union());
  return file.finish({x}, {z});
}

// A convolution in three dimensions, with weights of a run, and a composite.
std::string computed() {
  TfliteBuilder file;
  const int32_t inner = file.tensor("inner", kTfliteFloat, {1, 2, 2, 2, 2}),
                tanh = file.tensor("tanh", kTfliteFloat, {1, 2, 2, 2, 2});
  file.op(28, {inner}, {tanh});
  file.end_graph({inner}, {tanh});
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 3, 3, 3, 2}),
                w = file.tensor("w", kTfliteFloat, {2, 2, 2, 2, 2}),
                y = file.tensor("y", kTfliteFloat, {1, 2, 2, 2, 2}),
                z = file.tensor("z", kTfliteFloat, {1, 2, 2, 2, 2});
  file.op(kConv3d, {x, w, file.constant("b", kTfliteFloat, {2}, Reals{1, 2})}, {y}, Options::Conv3DOptions,
          tflite::CreateConv3DOptions(file.fbb(), tflite::Padding::Valid, 1, 1, 1).Union());
  file.composite("odml.tanh", 1, {y}, {z});
  return file.finish({x, w}, {z});
}

std::vector<uint8_t> flexible(const std::function<void(flexbuffers::Builder& b)>& fill) {
  flexbuffers::Builder b;
  b.Map([&] { fill(b); });
  b.Finish();
  return b.GetBuffer();
}

// MediaPipe's operators: a pool and what turns it back, and a picture cut out as landmarks stand.
std::string landmarks() {
  TfliteBuilder file;
  const int32_t pool[] = {1, 2, 2, 2, 2, 0};
  std::vector<uint8_t> window(sizeof pool);
  std::memcpy(window.data(), pool, sizeof pool);
  const auto real = [&](const char* name, const Ints& shape) {
    return file.tensor(name, kTfliteFloat, shape);
  };
  const int32_t x = real("x", {1, 4, 4, 2}), half = real("half", {1, 2, 2, 2}),
                places = real("places", {1, 2, 2, 2}), whole = real("whole", {1, 4, 4, 2}),
                marks = real("marks", {1, 4, 3}), matrix = real("matrix", {1, 4, 4}),
                cut = real("cut", {1, 2, 3, 2}), moved = real("moved", {1, 4, 3});
  file.custom("MaxPoolingWithArgmax2D", {x}, {half, places}, window);
  file.custom("MaxUnpooling2D", {half, places}, {whole}, window);
  file.custom("Landmarks2TransformMatrix", {marks}, {matrix}, flexible([](flexbuffers::Builder& b) {
                b.TypedVector("subset_idxs", [&] {
                  for (const int index : {0, 3}) b.Int(index);
                });
                b.Int("left_rotation_idx", 1);
                b.Int("right_rotation_idx", 2);
                b.Float("target_rotation_radians", 0.5f);
                for (const char* name : {"output_width", "output_height"}) b.Int(name, 3);
                for (const char* name : {"scale_x", "scale_y"}) b.Float(name, 1.5f);
              }));
  file.custom("TransformTensorBilinear", {whole, matrix}, {cut}, flexible([](flexbuffers::Builder& b) {
                b.Int("output_height", 2);
                b.Int("output_width", 3);
              }));
  file.custom("TransformLandmarks", {marks, matrix}, {moved});
  return file.finish({x, marks}, {cut, moved});
}

}  // namespace

std::vector<std::vector<uint8_t>> intaglio::test::hostile_seeds() {
  std::vector<std::vector<uint8_t>> seeds;
  for (const std::string& file : {loop(), decision(), sparse(), computed(), landmarks()})
    seeds.emplace_back(file.begin(), file.end());
  return seeds;
}
