// The shapes of malformed TFLite models that have crashed other runtimes (by class of fault, with the number
// of a published report), each refused here with an error of its own.
#include <functional>

#include "tests/support/imported.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_malformed_test {
namespace {

using tflite::Options;
using Dims = std::vector<int32_t>;
using Ints = std::vector<int32_t>;

void refused(const std::string& bytes, const std::string& part) {
  Import import(bytes);
  CHECK(!import.good());
  CHECK_MESSAGE(import.says(part), import.message());
}

// One operator on x, with int32 constants behind it.
std::string one(
    int32_t code, const Dims& x_dims, const std::vector<Ints>& constants, const Dims& y_dims,
    Options kind = Options::NONE,
    const std::function<flatbuffers::Offset<void>(flatbuffers::FlatBufferBuilder&)>& options = {}) {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, x_dims);
  std::vector<int32_t> inputs{x};
  for (size_t i = 0; i < constants.size(); ++i)
    inputs.push_back(file.constant("c" + std::to_string(i), kTfliteInt32,
                                   {static_cast<int32_t>(constants[i].size())}, constants[i]));
  const int32_t y = file.tensor("y", kTfliteFloat, y_dims);
  file.op(code, inputs, {y}, kind, options ? options(file.fbb()) : flatbuffers::Offset<void>(0));
  return file.finish({x}, {y});
}

std::string pool(int32_t filter, int32_t stride) {
  return one(kTfliteMaxPool, {1, 4, 4, 1}, {}, {1, 4, 4, 1}, Options::Pool2DOptions, [=](auto& fbb) {
    return tflite::CreatePool2DOptions(fbb, tflite::Padding::Same, stride, 1, filter, 1).Union();
  });
}

// A convolution of 2 channels to `channels`.
std::string conv(bool depthwise, const Dims& weights, int32_t bias, int32_t stride, int32_t dilation) {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 4, 4, 2});
  size_t count = 1;
  for (const int32_t dim : weights) count *= static_cast<size_t>(dim);
  const int32_t w = file.constant("w", kTfliteFloat, weights, std::vector<float>(count, 1.0f));
  const int32_t b =
      file.constant("b", kTfliteFloat, {bias}, std::vector<float>(static_cast<size_t>(bias), 1.0f));
  const int32_t y = file.tensor("y", kTfliteFloat, {1, 4, 4, weights.back()});
  if (depthwise)
    file.op(kTfliteDepthwise, {x, w, b}, {y}, Options::DepthwiseConv2DOptions,
            tflite::CreateDepthwiseConv2DOptions(file.fbb(), tflite::Padding::Same, stride, 1, 1,
                                                 tflite::Activation::None, dilation, 1)
                .Union());
  else
    file.op(kTfliteConv, {x, w, b}, {y}, Options::Conv2DOptions,
            tflite::CreateConv2DOptions(file.fbb(), tflite::Padding::Same, stride, 1,
                                        tflite::Activation::None, dilation, 1)
                .Union());
  return file.finish({x}, {y});
}

auto reducer(bool keep) {
  return [keep](auto& fbb) { return tflite::CreateReducerOptions(fbb, keep).Union(); };
}

}  // namespace

TEST_CASE("stride, dilation, window of 0 (CVE-2021-29586, 29594, 2022-21741)") {
  refused(pool(2, 0), "stride 0 is not allowed");
  refused(pool(0, 1), "window size 0 is not allowed");
  refused(conv(false, {2, 1, 1, 2}, 2, 0, 1), "stride 0 is not allowed");
  refused(conv(false, {2, 1, 1, 2}, 2, 1, 0), "dilation 0 is not allowed");
  refused(conv(true, {1, 1, 1, 2}, 2, 0, 1), "stride 0 is not allowed");
  refused(conv(true, {1, 1, 1, 2}, 2, 1, 0), "dilation 0 is not allowed");
}

TEST_CASE("blocks and parts of 0 (CVE-2021-29587, 29593, 29595, 29597, 29599)") {
  refused(one(26, {1, 4, 4, 4}, {}, {1, 4, 4, 4}, Options::SpaceToDepthOptions,
              [](auto& fbb) { return tflite::CreateSpaceToDepthOptions(fbb, 0).Union(); }),
          "block size 0 is not allowed");
  refused(one(5, {1, 4, 4, 4}, {}, {1, 4, 4, 4}, Options::DepthToSpaceOptions,
              [](auto& fbb) { return tflite::CreateDepthToSpaceOptions(fbb, 0).Union(); }),
          "block size 0 is not allowed");
  refused(one(38, {1, 4, 4, 1}, {{0, 2}, {0, 0, 0, 0}}, {2, 4, 2, 1}), "block size 0 is not allowed");
  refused(one(37, {4, 4, 4, 1}, {{2, 0}, {0, 0, 0, 0}}, {2, 8, 4, 1}), "block size 0 is not allowed");
  refused(one(38, {1, 4, 4, 1}, {{2, 2}, {-1, 0, 0, 1}}, {4, 2, 2, 1}), "paddings -1 is not allowed");
  refused(one(37, {4, 4, 4, 1}, {{2, 2}, {4, 4, 0, 0}}, {1, 0, 8, 1}),
          "its crops leave nothing of a side of 8");
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {4});
  const int32_t axis = file.constant("axis", kTfliteInt32, {1}, Ints{0});
  file.op(49, {axis, x}, {});
  refused(file.finish({x}, {x}), "it has no output");
}

TEST_CASE("dimensions of 0 where something is divided by them (CVE-2021-29602, 37680, 2023-27579)") {
  refused(conv(false, {2, 1, 1, 0}, 2, 1, 1), "is read before anything writes it");  // they hold no byte
  refused(conv(true, {1, 1, 1, 0}, 1, 1, 1), "is read before anything writes it");
  refused(one(kTfliteRelu, {1, 0}, {}, {1, 0}), "dimension");
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {1, 2});
  const int32_t w = file.constant("w", kTfliteFloat, {2, 0}, std::vector<float>{1});
  const int32_t y = file.tensor("y", kTfliteFloat, {1, 2});
  file.op(kTfliteFullyConnected, {x, w}, {y}, Options::FullyConnectedOptions,
          tflite::CreateFullyConnectedOptions(file.fbb()).Union());
  refused(file.finish({x}, {y}), "has the dimension 0");
}

TEST_CASE("a bias of another length (CVE-2022-23557)") {
  refused(conv(false, {2, 1, 1, 2}, 1, 1, 1), "its bias has 1 values for 2 output channels");
  refused(conv(true, {1, 1, 1, 2}, 3, 1, 1), "its bias has 3 values for 2 output channels");
}

TEST_CASE("axes that do not exist (CVE-2020-15207, 2021-29603, 29606, 37685)") {
  refused(one(kTfliteMean, {2, 3}, {{-2147483647}}, {2}, Options::ReducerOptions, reducer(false)),
          "axis -2147483647 does not exist");
  refused(one(74, {2, 3}, {{2}}, {2}, Options::ReducerOptions, reducer(false)), "axis 2 does not exist");
  refused(one(82, {2, 3}, {{-3}}, {2}, Options::ReducerOptions, reducer(false)), "axis -3 does not exist");
  refused(one(102, {2, 3}, {{2}, {7}}, {2, 3}), "axis 7 does not exist");
  refused(one(kTfliteTranspose, {2, 3}, {{0, 9}}, {2, 3}), "does not have each of 2 axes once");
  const auto axis = [](auto create) {
    return [create](flatbuffers::FlatBufferBuilder& fbb) { return create(fbb).Union(); };
  };
  refused(one(36, {2, 3}, {{0}}, {1, 3}, Options::GatherOptions,
              axis([](auto& fbb) { return tflite::CreateGatherOptions(fbb, -5); })),
          "axis -5 does not exist");
  refused(one(2, {2, 3}, {}, {2, 3}, Options::ConcatenationOptions,
              axis([](auto& fbb) { return tflite::CreateConcatenationOptions(fbb, 2); })),
          "axis 2 does not exist");
  refused(one(83, {2, 3}, {}, {1, 2, 3}, Options::PackOptions,
              axis([](auto& fbb) { return tflite::CreatePackOptions(fbb, 1, 4); })),
          "axis 4 does not exist");
  refused(one(88, {2, 3}, {}, {3}, Options::UnpackOptions,
              axis([](auto& fbb) { return tflite::CreateUnpackOptions(fbb, 2, -3); })),
          "axis -3 does not exist");
}

TEST_CASE("operands that do not fit, and empty ones (CVE-2020-15208, 2021-29590)") {
  for (const int32_t code : {0, 18, 41, 42, 55, 57}) {
    CAPTURE(code);
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteFloat, {2, 3});
    const int32_t c = file.constant("c", kTfliteFloat, {4}, std::vector<float>(4));
    const int32_t y = file.tensor("y", kTfliteFloat, {2, 3});
    file.op(code, {x, c}, {y});
    refused(file.finish({x}, {y}), "which do not fit each other");
    TfliteBuilder empty;
    const int32_t ex = empty.tensor("x", kTfliteFloat, {2, 3});
    const int32_t ec = empty.constant("c", kTfliteFloat, {0}, std::vector<float>{1});
    const int32_t ey = empty.tensor("y", kTfliteFloat, {2, 3});
    empty.op(code, {ex, ec}, {ey});
    refused(empty.finish({ex}, {ey}), "dimension 0");
  }
}

TEST_CASE(
    "constants that are written, buffers that are not there, outputs that are inputs (CVE-2020-15209, "
    "15210)") {
  {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteFloat, {2});
    const int32_t y = file.constant("y", kTfliteFloat, {2}, std::vector<float>(2));
    file.op(kTfliteRelu, {x}, {y});
    refused(file.finish({x}, {y}), "is a constant and must not be written");
  }
  {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteFloat, {2});
    file.op(kTfliteRelu, {x}, {x});
    refused(file.finish({x}, {x}), "is written twice, or is an input");
  }
  {
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteFloat, {2});
    const int32_t c = file.tensor("c", kTfliteFloat, {2}, TfliteScales{}, 9999);
    const int32_t y = file.tensor("y", kTfliteFloat, {2});
    file.op(kTfliteAdd, {x, c}, {y});
    refused(file.finish({x}, {y}), "its buffer 9999 does not exist");
  }
}

TEST_CASE("tensors that do not exist, or are absent (CVE-2020-15211)") {
  for (const int32_t index : {-2, 7, INT32_MAX, INT32_MIN}) {
    CAPTURE(index);
    TfliteBuilder file;
    const int32_t x = file.tensor("x", kTfliteFloat, {2});
    const int32_t y = file.tensor("y", kTfliteFloat, {2});
    file.op(kTfliteRelu, {index}, {y});
    refused(file.finish({x}, {y}), "does not exist; the file has 2 tensors");
  }
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {2});
  const int32_t y = file.tensor("y", kTfliteFloat, {2});
  file.op(kTfliteAdd, {x, -1}, {y});
  refused(file.finish({x}, {y}), "input 1 is missing");
}

TEST_CASE("variable and sparse tensors (CVE-2021-37681, 2021-37688, 2022-23560, 2022-23561)") {
  TfliteBuilder state;
  const int32_t x = state.tensor("x", kTfliteFloat, {2});
  const int32_t kept = state.variable_tensor("kept", kTfliteFloat, {2});
  const int32_t y = state.tensor("y", kTfliteFloat, {2});
  state.op(kTfliteAdd, {x, kept}, {y});
  refused(state.finish({x}, {y}), "input 1 ('kept') is a variable tensor, which is not supported");
  TfliteBuilder file;
  const int32_t a = file.tensor("a", kTfliteFloat, {1, 2});
  const int32_t w = file.sparse_tensor("w", kTfliteFloat, {3, 2}, {0, 0, 128, 63});
  const int32_t b = file.tensor("b", kTfliteFloat, {1, 3});
  file.op(kTfliteFullyConnected, {a, w}, {b}, Options::FullyConnectedOptions,
          tflite::CreateFullyConnectedOptions(file.fbb()).Union());
  refused(file.finish({a}, {b}),
          "tensor 'w': its sparsity has 0 axes and 0 levels; its shape [3, 2] and 0 blocks need 2");
}

TEST_CASE("operators that only constants may have") {
  refused(one(81, {2}, {{0}}, {1}), "(REDUCE_PROD): this operator is supported with constant inputs alone");
}

TEST_CASE("control flow, and a loop of nodes (CVE-2021-29591)") {
  refused(one(119, {2}, {}, {2}), "(WHILE): its options are missing");
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteFloat, {2});
  const int32_t a = file.tensor("a", kTfliteFloat, {2});
  const int32_t b = file.tensor("b", kTfliteFloat, {2});
  file.op(kTfliteAdd, {x, b}, {a});
  file.op(kTfliteRelu, {a}, {b});
  refused(file.finish({x}, {b}), "is read before anything writes it");
}

TEST_CASE("sizes that overflow (CVE-2021-29601, 29605, 2022-23558)") {
  refused(one(kTfliteRelu, {65536, 65536, 65536, 65536}, {}, {65536, 65536, 65536, 65536}),
          "is larger than the limit");
  refused(one(69, {2, 2}, {{1 << 30, 1 << 30}}, {2, 2}), "it repeats axis 0 1073741824 times");
  refused(one(69, {2, 2}, {{1 << 15, 1 << 15}}, {2, 2}), "larger than the limit");
  refused(one(69, {2, 2}, {{INT32_MAX, 1}}, {2, 2}), "it repeats axis 0 2147483647 times");
  refused(one(130, {1, 1}, {{1 << 20, 1 << 20}}, {2, 2}), "larger than the limit");
  refused(one(38, {1, 4, 4, 1}, {{2, 2}, {1 << 30, 0, 0, 0}}, {4, 2, 2, 1}),
          "paddings 1073741824 is not allowed");
  refused(one(100, {4}, {{4, 0}}, {8}, Options::MirrorPadOptions,
              [](auto& fbb) { return tflite::CreateMirrorPadOptions(fbb, 0).Union(); }),
          "padding 4 mirrors more than an axis of 4 has");
}

TEST_CASE("indices that do not exist (CVE-2021-37687, 2022-35937)") {
  for (const int32_t index : {-1, 2, INT32_MAX, INT32_MIN}) {
    CAPTURE(index);
    refused(one(36, {2, 3}, {{index}}, {1, 3}, Options::GatherOptions,
                [](auto& fbb) { return tflite::CreateGatherOptions(fbb, 0).Union(); }),
            "does not exist in axis 0");
  }
  refused(one(65, {4}, {{3}, {2}}, {2}), "its size 2 does not fit axis 0");
  refused(one(65, {4}, {{-1}, {2}}, {2}), "its begin -1 lies outside axis 0");
  refused(one(65, {4}, {{2}, {INT32_MAX}}, {2}), "its size 2147483647 does not fit axis 0");
  refused(one(102, {4}, {{5}, {0}}, {5}), "its parts do not add up to 4");
}

TEST_CASE("int8 without a scale (CVE-2021-37682)") {
  TfliteBuilder file;
  const int32_t x = file.tensor("x", kTfliteInt8, {2}, TfliteScales{{0.5f}});
  const int32_t y = file.tensor("y", kTfliteInt8, {2});
  file.op(11, {x}, {y});
  refused(file.finish({x}, {y}), "tensor 'y' is int8 and needs one scale, it has 0");
}

TEST_CASE("an ellipsis in a slice (CVE-2021-37686)") {
  refused(one(45, {2, 3}, {{0}, {1}, {1}}, {1, 3}, Options::StridedSliceOptions,
              [](auto& fbb) { return tflite::CreateStridedSliceOptions(fbb, 0, 0, 1).Union(); }),
          "ellipsis, new axes and offsets are not supported");
}

TEST_CASE("a root that points out of the file") {
  refused(std::string("\x18\0\0\0TFL3", 8), "is damaged or cut short");
  refused(std::string("\xff\xff\xff\xffTFL3", 8), "is damaged or cut short");
}

}  // namespace intaglio::test::import_malformed_test
