// The tensors of a graph that bake() makes: each tensor of the FP32 model in codes, in its own type, or in both, with what
// turns one into the other.
#pragma once

#include "calibrator/bake/bake.h"
#include "calibrator/quantization/scales.h"

namespace intaglio {

class BakedTensors {
 public:
  BakedTensors(const BakeInput& input, Arena& arena)
      : model_(*input.model), slots_(*input.slots), options_(*input.options), arena_(arena) {}

 protected:
  // Lists for every tensor, and the graph's. kOutOfMemory where there is too little.
  Error make_room();

  QuantParams params(int32_t slot) const { return slots_.slots.params(slot); }
  // Whether codes with these parameters take 16 bits.
  static bool is_wide(const QuantParams& p) { return p.lo < -128 || p.hi > 127; }
  bool f32_first(size_t t) const { return f32_[t] >= 0 && f32_[t] < codes_[t]; }

  // A tensor of int8 codes, or of int16 ones.
  int32_t add_codes(const TensorInfo& info, const char* suffix, const QuantParams& p);
  // The latter where the codes' ends do not say so.
  int32_t add_wide_codes(const TensorInfo& info, const char* suffix, const QuantParams& p);
  int32_t add_named(const TensorInfo& info, const char* suffix, DType dtype);
  // A constant [entries], or [channels, entries].
  template <typename T>
  int32_t add_tables(const char* name, DType dtype, int32_t channels, Span<T> values, int32_t entries = 256) {
    const int32_t dims[2] = {channels, entries};
    TensorInfo info;
    info.name = name;
    info.shape = channels == 0 ? Shape{dims + 1, 1} : Shape{dims, 2};
    const int32_t index = add_named(info, "/table", dtype);
    set_constant(index, values.data, values.size);
    return index;
  }
  template <typename T>
  void set_constant(int32_t index, const T* values, size_t count) {
    graph_.tensors[static_cast<size_t>(index)].constant = {reinterpret_cast<const uint8_t*>(values),
                                                           count * sizeof(T)};
  }

  // A tensor of the FP32 model in codes with the parameters that its reader wants.
  int32_t as_codes(int32_t tensor, const QuantParams& wanted);
  // The same for a node that computes in 16 bits: int8 codes as int16 ones of this scale.
  int32_t as_wide_codes(int32_t tensor, const QuantParams& wanted, float scale);
  int32_t as_f32(int32_t tensor);

  // `tensor` of the graph, whose parameters are `own`, with the parameters `p`: itself, or what converts it behind it, as
  // often as it is asked for.
  int32_t requantized(int32_t tensor, const QuantParams& own, const QuantParams& p);
  // Whether every code of `inner` is the code of the same number in `outer`.
  static bool holds(const QuantParams& outer, const QuantParams& inner);
  // From int8 codes to int8 codes by a Lookup, else by a Quantize.
  void add_requantization(int32_t from, const QuantParams& own, int32_t to, const QuantParams& p);
  // Between codes, and from reals to codes. `p`: of what is written.
  void add_quantize(int32_t from, int32_t to, const QuantParams& p);

  const Model& model_;
  SlotMap& slots_;
  const CalibratorOptions& options_;
  Arena& arena_;
  Graph graph_;
  // The versions of each tensor of the FP32 model: in codes, and with its own type; -1: none yet.
  Span<int32_t> codes_, f32_;

 private:
  int32_t add_of_type(const TensorInfo& info, const char* suffix, const QuantParams& p, DType dtype);
  Span<const int32_t> dims(const Shape& shape) const { return {shape.dims, static_cast<size_t>(shape.rank)}; }
  // A name that no other tensor has: numbered.
  int32_t add_numbered(int32_t tensor, const char* suffix, const QuantParams& p);
  // A constant operand that is no weight: quantized like an activation.
  int32_t constant_codes(const TensorInfo& info, const QuantParams& p);
};

}  // namespace intaglio
