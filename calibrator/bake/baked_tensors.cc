#include "calibrator/bake/baked_tensors.h"

#include "calibrator/bake/lookup_tables.h"

namespace intaglio {
namespace {

bool same(const QuantParams& a, const QuantParams& b) {
  return a.scale == b.scale && a.zero_point == b.zero_point && a.lo == b.lo && a.hi == b.hi;
}

constexpr size_t kMaxNameBytes = 255;  // of the model format

// Digits that tell numbers apart, the last one first; how many.
size_t write_number(char* to, size_t number) {
  size_t digits = 0;
  for (; number > 0; number /= 10) to[digits++] = static_cast<char>('0' + number % 10);
  return digits;
}

}  // namespace

Error BakedTensors::make_room() {
  const auto tensors = static_cast<size_t>(model_.tensor_count());
  codes_ = arena_.make<int32_t>(tensors);
  f32_ = arena_.make<int32_t>(tensors);
  if (arena_.exhausted()) return {Status::kOutOfMemory};
  for (int32_t& t : codes_) t = -1;
  for (int32_t& t : f32_) t = -1;
  const GraphCount most = count_bake(model_, options_).graph;
  graph_.tensors.reserve(arena_, static_cast<size_t>(most.tensors));
  graph_.nodes.reserve(arena_, static_cast<size_t>(most.nodes));
  return kNoError;
}

int32_t BakedTensors::add_codes(const TensorInfo& info, const char* suffix, const QuantParams& p) {
  return is_wide(p) ? add_wide_codes(info, suffix, p) : add_of_type(info, suffix, p, DType::kS8);
}

int32_t BakedTensors::add_wide_codes(const TensorInfo& info, const char* suffix, const QuantParams& p) {
  return add_of_type(info, suffix, p, DType::kS16);
}

int32_t BakedTensors::add_of_type(const TensorInfo& info, const char* suffix, const QuantParams& p,
                                  DType dtype) {
  const int32_t index = add_named(info, suffix, dtype);
  const Span<float> scale = arena_.make<float>(1);
  if (scale.empty()) return index;
  scale[0] = p.scale;
  graph_.tensors[static_cast<size_t>(index)].quantization = {scale, p.zero_point, -1};
  return index;
}

int32_t BakedTensors::add_named(const TensorInfo& info, const char* suffix, DType dtype) {
  size_t length = strlen(info.name), extra = strlen(suffix);
  char number[24] = "";
  size_t digits = 0;
  if (length + extra > kMaxNameBytes) {  // its start, and a number that no other has
    number[digits++] = '~';
    digits += write_number(number + digits, graph_.tensors.size());
    length = kMaxNameBytes - extra - digits;
    while (length > 0 && (static_cast<uint8_t>(info.name[length]) & 0xc0) == 0x80)
      --length;  // whole characters
  }
  const Span<char> name = arena_.make<char>(length + digits + extra + 1);
  if (!name.empty()) {
    memcpy(name.data, info.name, length);
    memcpy(name.data + length, number, digits);
    memcpy(name.data + length + digits, suffix, extra);
  }
  const int32_t index = add_tensor(graph_, arena_, "", dtype, dims(info.shape));  // which would copy a name
  if (!name.empty()) graph_.tensors[static_cast<size_t>(index)].name = name.data;
  return index;
}

int32_t BakedTensors::add_numbered(int32_t tensor, const char* suffix, const QuantParams& p) {
  char numbered[24] = "";
  size_t length = 0;
  for (; suffix[length] != '\0'; ++length) numbered[length] = suffix[length];
  write_number(numbered + length, graph_.tensors.size());
  return add_codes(graph_.tensors[static_cast<size_t>(tensor)], numbered, p);
}

int32_t BakedTensors::as_codes(int32_t tensor, const QuantParams& wanted) {
  const auto t = static_cast<size_t>(tensor);
  const TensorInfo info = model_.tensor(tensor);
  const QuantParams own = params(tensor);
  if (codes_[t] < 0 && info.is_constant()) codes_[t] = constant_codes(info, own);
  if (codes_[t] >= 0) return requantized(codes_[t], own, wanted);
  const int32_t made = add_codes(info, is_wide(wanted) ? "/s16" : "/s8", wanted);
  add_quantize(f32_[t], made, wanted);
  if (same(own, wanted)) codes_[t] = made;  // for later readers, too
  return made;
}

int32_t BakedTensors::as_wide_codes(int32_t tensor, const QuantParams& wanted, float scale) {
  const int32_t made = as_codes(tensor, wanted);
  if (is_wide(wanted)) return made;
  const QuantParams wide{scale, 0, -32767, 32767};
  const int32_t widened = add_numbered(made, "/s16_", wide);
  add_quantize(made, widened, wide);
  return widened;
}

int32_t BakedTensors::as_f32(int32_t tensor) {
  const auto t = static_cast<size_t>(tensor);
  const TensorInfo info = model_.tensor(tensor);
  if (f32_[t] < 0 && info.is_constant())
    f32_[t] = add_constant(graph_, arena_, info.name, info.dtype, dims(info.shape), info.constant);
  if (f32_[t] < 0) {
    const char* const codes = graph_.tensors[static_cast<size_t>(codes_[t])].name;
    f32_[t] = add_named(info, strcmp(codes, info.name) == 0 ? "/f32" : "", DType::kF32);
    add_node(graph_, arena_, Op::kDequantize, graph_.tensors[static_cast<size_t>(f32_[t])].name,
             {&codes_[t], 1}, {&f32_[t], 1});
  }
  return f32_[t];
}

int32_t BakedTensors::requantized(int32_t tensor, const QuantParams& own, const QuantParams& p) {
  if (holds(p, own) && is_wide(p) == is_wide(own)) return tensor;
  const int32_t made = add_numbered(tensor, "/requantized", p);
  add_requantization(tensor, own, made, p);
  return made;
}

bool BakedTensors::holds(const QuantParams& outer, const QuantParams& inner) {
  return inner.scale == outer.scale && inner.zero_point == outer.zero_point && inner.lo >= outer.lo &&
         inner.hi <= outer.hi;
}

void BakedTensors::add_requantization(int32_t from, const QuantParams& own, int32_t to,
                                      const QuantParams& p) {
  if (is_wide(own) || is_wide(p)) return add_quantize(from, to, p);
  const Span<int8_t> codes = arena_.make<int8_t>(256);
  if (codes.empty()) return;
  make_unary_table([](const NodeOptions&, double x) { return x; }, NodeOptions(), own, p, codes);
  const TensorInfo info = graph_.tensors[static_cast<size_t>(to)];
  const int32_t inputs[] = {from, add_tables(info.name, DType::kS8, 0, codes)};
  add_node(graph_, arena_, Op::kLookup, info.name, inputs, {&to, 1});
}

void BakedTensors::add_quantize(int32_t from, int32_t to, const QuantParams& p) {
  GraphNode& made = add_node(graph_, arena_, Op::kQuantize, graph_.tensors[static_cast<size_t>(to)].name,
                             {&from, 1}, {&to, 1});
  auto& clamp = made.options.as<Clamp>();
  clamp.lo = p.lo;
  clamp.hi = p.hi;
}

int32_t BakedTensors::constant_codes(const TensorInfo& info, const QuantParams& p) {
  const auto* values = reinterpret_cast<const float*>(info.constant.data);
  const auto count = static_cast<size_t>(info.shape.elements());
  const int32_t index = add_codes(info, "", p);
  const auto fill = [&](auto codes) {
    for (size_t i = 0; i < codes.size; ++i)
      codes[i] = static_cast<std::remove_reference_t<decltype(codes[i])>>(quantize_value(values[i], p));
    set_constant(index, codes.data, codes.size);
  };
  if (is_wide(p))
    fill(arena_.make<int16_t>(count));
  else
    fill(arena_.make<int8_t>(count));
  return index;
}

}  // namespace intaglio
