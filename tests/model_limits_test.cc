// Model::open at its limits: the last value that is allowed opens, the first one that is not has its exact
// error: status, node, tensor, value and limit.
#include <cmath>

#include "tests/support/model_checks.h"

namespace intaglio::test::model_limits_test {
namespace {

using M = schema::Model;

constexpr float kInf = std::numeric_limits<float>::infinity();

// The bytes with a vector of the model's root made empty, yet there: no writer of ours makes that.
AlignedBytes with_empty_vector(flatbuffers::voffset_t field) {
  AlignedBytes bytes = pack(*valid_model());
  auto* const root = flatbuffers::GetMutableRoot<flatbuffers::Table>(bytes.data());
  memset(root->GetPointer<uint8_t*>(field), 0, 4);
  sign(bytes);
  return bytes;
}

schema::QuantizationT& quantization(ModelT& m) { return *tensor(m, "sum").quantization; }

}  // namespace

TEST_CASE("what a model must have, and how much of it") {
  const auto missing = [](int64_t field) { return Error{Status::kMissingField, -1, -1, field, 0}; };
  check_refusals({
      {"tensors", missing(M::VT_TENSORS), [](ModelT& m) { m.tensors.clear(); }},
      {"nodes", missing(M::VT_NODES), [](ModelT& m) { m.nodes.clear(); }},
      {"inputs", missing(M::VT_INPUTS), [](ModelT& m) { m.inputs.clear(); }},
      {"outputs", missing(M::VT_OUTPUTS), [](ModelT& m) { m.outputs.clear(); }},
      {"plan", missing(M::VT_PLAN), [](ModelT& m) { m.plan.reset(); }},
      {"offsets", missing(M::VT_PLAN), [](ModelT& m) { m.plan->offsets.clear(); }},
  });
  for (const auto field : {M::VT_TENSORS, M::VT_NODES, M::VT_INPUTS, M::VT_OUTPUTS}) {
    CAPTURE(field);
    check_error(error_of(with_empty_vector(static_cast<flatbuffers::voffset_t>(field))), missing(field));
  }
  const auto many = [](int64_t count, int64_t limit) {
    return Error{Status::kTooManyItems, -1, -1, count, limit};
  };
  const auto tensors = [](size_t count) {
    return [count](ModelT& m) {
      while (m.tensors.size() < count) m.tensors.push_back(copy_of(m.tensors[0]));
    };
  };
  const auto nodes = [](size_t count) {
    return [count](ModelT& m) {
      while (m.nodes.size() < count) m.nodes.push_back(copy_of(m.nodes[0]));
    };
  };
  const auto states = [](size_t count) {
    return [count](ModelT& m) {
      while (m.states.size() < count) m.states.push_back(copy_of(m.states[0]));
    };
  };
  const auto images = [](size_t count) {
    return [count](ModelT& m) {
      while (m.images.size() < count) m.images.push_back(copy_of(m.images[0]));
    };
  };
  check_refusals({
      {"tensors", many(kMaxTensors + 1, kMaxTensors), tensors(kMaxTensors + 1)},
      {"nodes", many(kMaxNodes + 1, kMaxNodes), nodes(kMaxNodes + 1)},
      {"inputs", many(257, 256), [](ModelT& m) { m.inputs.resize(257); }},
      {"outputs", many(257, 256), [](ModelT& m) { m.outputs.resize(257); }},
      {"states", many(257, 256), states(257)},
      {"images", many(257, 256), images(257)},
      // As many as are allowed: other faults are found.
      {"most tensors", {Status::kNotProduced, 3, 6, 0, 0}, tensors(kMaxTensors)},
      {"most nodes", {Status::kProducedTwice, 3, at("sum"), 0, 0}, nodes(kMaxNodes)},
      {"most inputs",
       {Status::kDuplicateTensor, -1, at("image"), 0, 0},
       [](ModelT& m) { m.inputs.assign(256, at("image")); }},
      {"most outputs",
       {Status::kDuplicateTensor, -1, at("out"), 0, 0},
       [](ModelT& m) { m.outputs.assign(256, at("out")); }},
      {"most states", {Status::kDuplicateTensor, -1, at("memory"), 0, 0}, states(256)},
  });
  check_error(error_of(images(256)), kNoError);
}

TEST_CASE("names: UTF-8 without control characters") {
  const auto name = [](const std::string& text) {
    return error_of([&](ModelT& m) { tensor(m, "sum").name = text; });
  };
  for (const char* good :
       {" ", "~", "\xc2\xa0", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf",
        "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xc3\xa9z", "\xe2\x82\xac\xe2\x82\xac", "\xd0\x80"}) {
    CAPTURE(good);
    check_error(name(good), kNoError);
  }
  const Error bad{Status::kBadString, -1, at("sum"), 0, 0};
  for (const char* text : {"",
                           "\x1f",
                           "\x7f",
                           "\x80",
                           "\xbf",
                           "\xc0\x80",
                           "\xc1\xbf",
                           "\xc2\x80",
                           "\xc2\x9f",
                           "\xc2",
                           "\xc2z",
                           "\xe0\x9f\xbf",
                           "\xed\xa0\x80",
                           "\xed\xbf\xbf",
                           "\xe2\x82",
                           "\xe2\x28\x82",
                           "\xe2\x82\x28",
                           "\xf0\x8f\xbf\xbf",
                           "\xf4\x90\x80\x80",
                           "\xf5\x80\x80\x80",
                           "\xf0\x9f\x98",
                           "\xc2\xc0",
                           "a\n"}) {
    CAPTURE(text);
    check_error(name(text), bad);
  }
  check_error(name(std::string(255, 'x')), kNoError);
  check_error(name(std::string(256, 'x')), bad);
}

TEST_CASE("constants: index, layout, size and place") {
  const int32_t table = at("table");
  check_refusals({
      {"index", {Status::kBufferIndex, -1, table, 1, 1}, [](ModelT& m) { tensor(m, "table").buffer = 1; }},
      {"no buffers", {Status::kBufferIndex, -1, table, 0, 0}, [](ModelT& m) { m.buffers.clear(); }},
      {"below", {Status::kBufferIndex, -1, table, -2, 0}, [](ModelT& m) { tensor(m, "table").buffer = -2; }},
      {"layout", {Status::kBadEnum, -1, table, 1, 0}, [](ModelT& m) { m.buffers[0]->layout = 1; }},
      {"short",
       {Status::kConstantSize, -1, table, 255, 256},
       [](ModelT& m) { m.buffers[0]->data.pop_back(); }},
      {"long",
       {Status::kConstantSize, -1, table, 257, 256},
       [](ModelT& m) { m.buffers[0]->data.resize(257); }},
      {"absent", {Status::kConstantSize, -1, table, 0, 256}, [](ModelT& m) { m.buffers[0]->data.clear(); }},
  });
  for (const uint32_t shift : {4u, 8u, 12u}) {  // the vector's length and elements stand within its data
    const auto model = valid_model();
    std::vector<uint8_t>& data = model->buffers[0]->data;
    data.resize(272);
    const uint32_t length = 256;
    memcpy(data.data() + shift - 4, &length, 4);
    AlignedBytes bytes = pack(*model);
    auto* const root = flatbuffers::GetMutableRoot<schema::Model>(bytes.data());
    auto* const field =
        const_cast<uint8_t*>(reinterpret_cast<const flatbuffers::Table*>(root->buffers()->Get(0))
                                 ->GetAddressOf(schema::Buffer::VT_DATA));
    uint32_t offset;
    memcpy(&offset, field, 4);
    offset += shift;
    memcpy(field, &offset, 4);
    sign(bytes);
    check_error(error_of(bytes), {Status::kConstantAlignment, -1, table, 0, kModelAlignment});
  }
}

TEST_CASE("quantization: axis, scales and zero point") {
  const int32_t sum = at("sum");
  const auto scale_at = [](size_t channel, float scale) {
    return [=](ModelT& m) {
      quantization(m).axis = 3;
      quantization(m).zero_point = 0;
      quantization(m).scale.assign(3, 1.0f);
      quantization(m).scale[channel] = scale;
    };
  };
  const auto bad_scale = [&](int64_t channel) { return Error{Status::kBadScale, -1, sum, channel, 0}; };
  check_refusals({
      {"axis 4", {Status::kBadQuantizationAxis, -1, sum, 4, 3}, [](ModelT& m) { quantization(m).axis = 4; }},
      {"axis -2",
       {Status::kBadQuantizationAxis, -1, sum, -2, 3},
       [](ModelT& m) { quantization(m).axis = -2; }},
      {"two scales",
       {Status::kScaleCount, -1, sum, 2, 1},
       [](ModelT& m) { quantization(m).scale.push_back(1.0f); }},
      {"one scale for three channels",
       {Status::kScaleCount, -1, sum, 1, 3},
       [](ModelT& m) { quantization(m).axis = 3; }},
      {"small", bad_scale(0), scale_at(0, std::nextafter(0x1p-40f, 0.0f))},
      {"large", bad_scale(1), scale_at(1, std::nextafter(0x1p40f, kInf))},
      {"NaN", bad_scale(2), scale_at(2, std::nanf(""))},
      {"zero point of channels",
       {Status::kBadZeroPoint, -1, sum, 1, 0},
       [&](ModelT& m) {
         scale_at(0, 1.0f)(m);
         quantization(m).zero_point = 1;
       }},
      {"zero point of the only channel",
       {Status::kBadZeroPoint, -1, sum, 1, 0},
       [](ModelT& m) { quantization(m).axis = 0; }},
      {"zero point of int32",
       {Status::kBadZeroPoint, -1, sum, 1, 0},
       [](ModelT& m) { tensor(m, "sum").dtype = schema::DType::S32; }},
      {"zero point 128",
       {Status::kBadZeroPoint, -1, sum, 128, 127},
       [](ModelT& m) { quantization(m).zero_point = 128; }},
      {"zero point -129",
       {Status::kBadZeroPoint, -1, sum, -129, -128},
       [](ModelT& m) { quantization(m).zero_point = -129; }},
      {"groups", {Status::kBadEnum, -1, sum, 1, 0}, [](ModelT& m) { quantization(m).group_size = 1; }},
  });
  check_allowed({
      {"smallest scale", scale_at(0, 0x1p-40f)},
      {"largest scale", scale_at(2, 0x1p40f)},
      {"zero point 127", [](ModelT& m) { quantization(m).zero_point = 127; }},
      {"zero point -128", [](ModelT& m) { quantization(m).zero_point = -128; }},
      {"none without scales",
       [](ModelT& m) {
         quantization(m).scale.clear();
         quantization(m).zero_point = 1000;
       }},
      {"none", [](ModelT& m) { tensor(m, "sum").quantization.reset(); }},
  });
}

TEST_CASE("tensors: type, rank and size") {
  const int32_t sum = at("sum");
  const auto dtype = [](int32_t type) {
    return [type](ModelT& m) { tensor(m, "sum").dtype = static_cast<schema::DType>(type); };
  };
  const auto shape = [](const std::vector<int32_t>& dims, schema::DType type = schema::DType::S8) {
    return [=](ModelT& m) {
      tensor(m, "sum").shape = dims;
      tensor(m, "sum").dtype = type;
      quantization(m).zero_point = 0;
    };
  };
  constexpr int64_t kMost = kMaxTensorBytes;
  constexpr int32_t kGiB = 1 << 30;
  const auto offset = static_cast<int64_t>(valid_model()->plan->offsets[static_cast<size_t>(sum)]);
  const auto bytes = static_cast<int64_t>(valid_model()->plan->activation_bytes);
  const Error fits{Status::kPlanOffset, -1, sum, offset + kMost, bytes};  // the plan has no room for it
  check_refusals({
      {"type 7", {Status::kBadEnum, -1, sum, 7, 6}, dtype(7)},
      {"type 0", {Status::kBadDType, -1, sum, 0, 0}, dtype(0)},
      {"s4", {Status::kBadDType, -1, sum, 5, 0}, dtype(5)},
      {"s16 with an offset", {Status::kBadZeroPoint, -1, sum, 1, 0}, dtype(6)},
      {"rank 0", {Status::kBadRank, -1, sum, 0, 6}, shape({})},
      {"rank 7", {Status::kBadRank, -1, sum, 7, 6}, shape({1, 1, 1, 1, 1, 1, 1})},
      {"0 elements", {Status::kBadDimension, -1, sum, 0, INT32_MAX}, shape({1, 4, 0})},
      {"below 0", {Status::kBadDimension, -1, sum, -4, INT32_MAX}, shape({1, -4, 3})},
      {"past 2^30", {Status::kTensorTooLarge, -1, sum, kGiB + 1, kMost}, shape({kGiB + 1})},
      {"2^30", fits, shape({kGiB})},
      {"of float",
       {Status::kTensorTooLarge, -1, sum, kGiB / 4 + 1, kMost},
       shape({kGiB / 4 + 1}, schema::DType::F32)},
      {"2^28 of float", fits, shape({kGiB / 4}, schema::DType::F32)},
      {"product", {Status::kTensorTooLarge, -1, sum, 3, kMost}, shape({kGiB / 2, 3})},
      {"product 2^30", fits, shape({1024, 512, 2, 1024})},
  });
  check_error(error_of(shape({1, 4, 4, 1, 1, 3})), kNoError);
  check_error(error_of(shape({1})), kNoError);
}

TEST_CASE("the plan: size, alignment and end") {
  const int32_t table = at("table"), image = at("image");
  const auto model = valid_model();
  int32_t last = -1;
  int64_t end = 0;
  for (size_t i = 0; i < model->tensors.size(); ++i)
    if (model->tensors[i]->buffer < 0 && model->plan->offsets[i] + 48 > end) {
      last = static_cast<int32_t>(i);
      end = model->plan->offsets[i] + 48;
    }
  const int64_t all = 5 * 48;  // of five activations
  const auto set_offset = [](int32_t tensor, uint32_t offset) {
    return [=](ModelT& m) { m.plan->offsets[static_cast<size_t>(tensor)] = offset; };
  };
  check_refusals({
      {"short", {Status::kPlanSize, -1, -1, 5, 6}, [](ModelT& m) { m.plan->offsets.pop_back(); }},
      {"long", {Status::kPlanSize, -1, -1, 7, 6}, [](ModelT& m) { m.plan->offsets.push_back(0); }},
      {"alignment", {Status::kPlanAlignment, -1, image, 8, 16}, set_offset(image, 8)},
      {"alignment of one", {Status::kPlanAlignment, -1, image, 1, 16}, set_offset(image, 1)},
      {"end",
       {Status::kPlanOffset, -1, last, end, end - 1},
       [&](ModelT& m) { m.plan->activation_bytes = static_cast<uint32_t>(end - 1); }},
      {"wrap",
       {Status::kPlanOffset, -1, image, int64_t{0xfffffff0} + 48, end},
       [&](ModelT& m) {
         set_offset(image, 0xfffffff0)(m);
         m.plan->activation_bytes = static_cast<uint32_t>(end);
       }},
      {"more than all tensors",
       {Status::kPlanTooLarge, -1, -1, all + 1, all},
       [&](ModelT& m) { m.plan->activation_bytes = static_cast<uint32_t>(all + 1); }},
      {"all that 32 bits hold",
       {Status::kPlanTooLarge, -1, -1, 0xffffffff, all},
       [](ModelT& m) { m.plan->activation_bytes = 0xffffffff; }},
      {"constant", {Status::kActivationExpected, -1, table, 16, 0}, set_offset(table, 16)},
      {"activation", {Status::kConstantExpected, -1, image, 0xffffffff, 0}, set_offset(image, 0xffffffff)},
  });
  for (const int64_t allowed : {end, all})
    check_error(error_of([&](ModelT& m) { m.plan->activation_bytes = static_cast<uint32_t>(allowed); }),
                kNoError);
}

TEST_CASE("packed weights, statistics and what calibrated a model") {
  const auto packs = [](const std::vector<int32_t>& nodes, const std::string& kernel = "avx2",
                        size_t bytes = 64) {
    return [=](ModelT& m) {
      for (const int32_t node : nodes) {
        m.packs.push_back(std::make_unique<schema::PackedWeightsT>());
        m.packs.back()->node = node;
        m.packs.back()->kernel = kernel;
        m.packs.back()->data.assign(bytes, 1);
      }
    };
  };
  const auto statistics = [](const std::vector<int32_t>& tensors) {
    return [=](ModelT& m) {
      for (const int32_t index : tensors) {
        m.norm_statistics.push_back(std::make_unique<schema::NormStatisticsT>());
        m.norm_statistics.back()->tensor = index;
      }
    };
  };
  const auto tensor_index = [](int64_t value) { return Error{Status::kTensorIndex, -1, -1, value, 6}; };
  const Error bad_string{Status::kBadString, -1, -1, 0, 0};
  check_refusals({
      {"statistics of 6", tensor_index(6), statistics({0, 6})},
      {"statistics of -1", tensor_index(-1), statistics({-1})},
      {"rounding",
       {Status::kBadRounding, -1, -1, 1, 0},
       [](ModelT& m) { m.calibration->weight_rounding = static_cast<schema::RoundingMode>(1); }},
      {"version", bad_string, [](ModelT& m) { m.calibration->library_version = "\x7f"; }},
      {"method", bad_string, [](ModelT& m) { m.calibration->method = std::string(256, 'm'); }},
      {"options", bad_string, [](ModelT& m) { m.calibration->options = "\xff"; }},
  });
  check_allowed({
      {"packs", packs({0, 2})},
      {"packs of all", packs({0, 1, 2}, "a", 1)},
      {"packs of no node", packs({-1, 3})},
      {"packs out of order", packs({2, 0, 0})},
      {"a pack of a kernel that is no name", packs({2}, "a\n")},
      {"a pack of no kernel", packs({1}, "")},
      {"a pack without bytes", packs({1}, "avx2", 0)},
      {"statistics", statistics({5, 0, 5})},
      {"longest method", [](ModelT& m) { m.calibration->method = std::string(255, 'm'); }},
      {"no texts",
       [](ModelT& m) {
         m.calibration->method.clear();
         m.calibration->options.clear();
         m.calibration->library_version.clear();
       }},
      {"no calibration", [](ModelT& m) { m.calibration.reset(); }},
  });
}

}  // namespace intaglio::test::model_limits_test
