// A model's fields changed as bytes say: what a fuzzer that knows the format does, in its own words instead of bits of a
// file. The bytes are decisions, taken one after another; where they end, decisions are 0.
#pragma once

#include <cfloat>
#include <limits>

#include "tests/support/decisions.h"
#include "tests/support/model_object.h"

namespace intaglio::test {

class FieldChanges {
 public:
  FieldChanges(ModelT& model, Decisions& decisions) : m_(model), d_(decisions) {}

  void change() {
    switch (d_.below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return on(m_.tensors, &FieldChanges::change_tensor);
      case 4:
      case 5:
      case 6:
      case 7:
      case 8:
      case 9:
        return on(m_.nodes, &FieldChanges::change_node);
      case 10:
        return on(m_.buffers, &FieldChanges::change_buffer);
      case 11:
        return change_plan();
      case 12:
        return on(m_.states, &FieldChanges::change_state);
      case 13:
        return on(m_.images, &FieldChanges::change_image);
      case 14:
        return on(m_.packs, &FieldChanges::change_pack);
      default:
        return change_model();
    }
  }

 private:
  template <typename T>
  T integer(T now) {
    static constexpr int64_t kValues[] = {
        0,     1,     -1,    2,     3,       4,       5,         7,         8,          9,         15,   16,
        17,    31,    32,    63,    64,      65,      127,       128,       255,        256,       -128, -129,
        32767, 32768, 65535, 65536, 1 << 24, 1 << 30, INT32_MAX, INT32_MIN, 0xfffffff0, 0xffffffff};
    constexpr size_t kCount = sizeof kValues / sizeof kValues[0];
    const size_t which = d_.below(kCount + 8);
    if (which < kCount) return static_cast<T>(kValues[which]);
    const auto wide = static_cast<int64_t>(now);
    switch (which - kCount) {
      case 0:
        return static_cast<T>(wide + 1);
      case 1:
        return static_cast<T>(wide - 1);
      case 2:
        return static_cast<T>(wide * 2);
      case 3:
        return static_cast<T>(wide / 2);
      case 4:
        return static_cast<T>(-wide);
      case 5:
        return static_cast<T>(wide + 16);
      case 6:
        return static_cast<T>(d_.word());
      default:
        return static_cast<T>(d_.below(m_.tensors.size() + 1));
    }
  }
  float real(float now) {
    const float values[] = {0.0f,
                            -0.0f,
                            1.0f,
                            -1.0f,
                            0.5f,
                            255.0f,
                            1e-40f,
                            0x1p-40f,
                            0x1p40f,
                            0x1.8p-41f,
                            0x1.8p40f,
                            FLT_MAX,
                            -FLT_MAX,
                            now * 2.0f,
                            now * 0.5f,
                            -now,
                            std::nextafter(now, 0.0f),
                            std::nextafter(now, FLT_MAX),
                            std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()};
    constexpr size_t kCount = sizeof values / sizeof values[0];
    const size_t which = d_.below(kCount + 1);
    if (which < kCount) return values[which];
    const uint32_t bits = d_.word();
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
  }
  template <typename T>
  void set(T& v) {
    if constexpr (std::is_same_v<T, bool>) {
      v = !v;
    } else if constexpr (std::is_floating_point_v<T>) {
      v = real(v);
    } else if constexpr (std::is_enum_v<T>) {
      v = static_cast<T>(d_.below(static_cast<size_t>(T::MAX) + 2));
    } else {
      v = integer(v);
    }
  }
  template <typename T>
  void set(std::vector<T>& list) {
    const size_t i = d_.below(list.size());
    switch (d_.below(8)) {
      case 0:
        list.push_back(list.empty() ? T() : list[i]);
        break;
      case 1:
        if (!list.empty()) list.erase(list.begin() + static_cast<ptrdiff_t>(i));
        break;
      case 2:
        list.resize(d_.below(300));
        break;
      case 3:
        if (!list.empty()) std::swap(list[i], list[d_.below(list.size())]);
        break;
      default:
        if (!list.empty()) set(list[i]);
    }
  }
  void set(std::string& text) {
    const char* const texts[] = {"", "a", "a\n", "\xff", "\xc3\xa4", "\x7f"};
    const size_t which = d_.below(8);
    text = which < 6 ? std::string(texts[which]) : std::string(which == 6 ? 255 : 256, 'x');
  }
  // There, or not; a change of it goes on in the caller.
  template <typename T>
  T& made(std::unique_ptr<T>& table) {
    if (table == nullptr || d_.below(8) == 0) table = std::make_unique<T>();
    return *table;
  }
  template <typename T>
  void on(std::vector<std::unique_ptr<T>>& list, void (FieldChanges::*alter)(T&)) {
    const size_t i = d_.below(list.size()), j = d_.below(list.size());
    const size_t what = d_.below(24);
    if (list.empty() || what == 0) {
      list.push_back(list.empty() ? std::make_unique<T>() : std::make_unique<T>(*list[i]));
    } else if (what == 1) {
      list.erase(list.begin() + static_cast<ptrdiff_t>(i));
    } else if (what == 2) {
      std::swap(list[i], list[j]);
    } else {
      (this->*alter)(*list[i]);
    }
  }

  void change_tensor(schema::TensorT& t) {
    switch (d_.below(10)) {
      case 0:
        return set(t.name);
      case 1:
        return set(t.dtype);
      case 2:
      case 3:
      case 4:
        return set(t.shape);
      case 5:
        return set(t.buffer);
      case 6:
        return set(made(t.quantization).scale);
      case 7:
        return set(made(t.quantization).zero_point);
      case 8:
        return set(made(t.quantization).axis);
      default:
        if (d_.below(4) == 0) return set(made(t.quantization).group_size);
        t.quantization.reset();
    }
  }
  void change_node(schema::NodeT& n) {
    switch (d_.below(16)) {
      case 0:
      case 1:
        return set(n.op);
      case 2:
      case 3:
        return set(n.inputs);
      case 4:
      case 5:
        return set(n.outputs);
      case 6:
        return set(n.name);
      case 7:
        return set_options(n);
      default:
        return change_options(n);
    }
  }
  // Options of any operator, or none.
  void set_options(schema::NodeT& n) {
    const auto types = static_cast<size_t>(schema::Options::MAX) + 1;
    n.options.Reset();
    with_type(static_cast<schema::Options>(d_.below(types)),
              [&](auto type) { n.options.Set(typename decltype(type)::Table()); });
  }
  template <typename T>
  struct OfTable {
    using Table = T;
  };
  template <typename Body>
  static void with_type(schema::Options type, Body body) {
    switch (type) {
#define ITG_OPTIONS(name)     \
  case schema::Options::name: \
    return body(OfTable<schema::name##T>());
      // clang-format off
      ITG_OPTIONS(Conv2DOptions) ITG_OPTIONS(DepthwiseConv2DOptions) ITG_OPTIONS(FullyConnectedOptions)
      ITG_OPTIONS(Pool2DOptions) ITG_OPTIONS(AddOptions) ITG_OPTIONS(ElementwiseOptions)
      ITG_OPTIONS(ReduceOptions) ITG_OPTIONS(TransposeOptions) ITG_OPTIONS(ConcatOptions)
      ITG_OPTIONS(GatherOptions) ITG_OPTIONS(PadOptions) ITG_OPTIONS(StridedSliceOptions)
      ITG_OPTIONS(ResizeOptions) ITG_OPTIONS(UnaryOptions) ITG_OPTIONS(L2NormalizeOptions)
      ITG_OPTIONS(BatchMatMulOptions) ITG_OPTIONS(TopKOptions) ITG_OPTIONS(OneHotOptions) ITG_OPTIONS(NormalizeOptions)
      // clang-format on
#undef ITG_OPTIONS
                                  case schema::Options::NONE : return;
    }
  }
  void change_options(schema::NodeT& n) {
    with_type(n.options.type, [&](auto type) {
      using Table = typename decltype(type)::Table;
      change_table(*static_cast<Table*>(n.options.value));
    });
  }
  void change_table(schema::Conv2DOptionsT& o) {
    const size_t which = d_.below(9);
    if (which == 0) return change_clamp(made(o.clamp));
    if (which < 4) return change_window(made(o.window));
    if (which == 4) return change_requantization(o.requantization);
    if (which == 5) return set(o.groups);
    if (which == 6) return set(o.add_bits);
    return which == 7 ? set(made(o.intermediate).scale) : set(made(o.intermediate).zero_point);
  }
  void change_table(schema::DepthwiseConv2DOptionsT& o) {
    const size_t which = d_.below(5);
    if (which == 0) return change_clamp(made(o.clamp));
    return which == 1 ? change_requantization(o.requantization) : change_window(made(o.window));
  }
  void change_table(schema::FullyConnectedOptionsT& o) {
    return d_.below(2) == 0 ? change_clamp(made(o.clamp)) : change_requantization(o.requantization);
  }
  void change_table(schema::Pool2DOptionsT& o) {
    return d_.below(4) == 0 ? change_clamp(made(o.clamp)) : change_window(made(o.window));
  }
  void change_table(schema::AddOptionsT& o) { d_.below(2) ? set(o.add_bits) : change_clamp(made(o.clamp)); }
  void change_table(schema::ReduceOptionsT& o) {
    return d_.below(4) == 0 ? change_clamp(made(o.clamp)) : set(o.axes);
  }
  void change_table(schema::TransposeOptionsT& o) { set(o.permutation); }
  void change_table(schema::ConcatOptionsT& o) { set(o.axis); }
  void change_table(schema::GatherOptionsT& o) { set(o.axis); }
  void change_table(schema::ElementwiseOptionsT& o) { change_clamp(made(o.clamp)); }
  void change_table(schema::PadOptionsT& o) { return d_.below(4) == 0 ? set(o.value) : set(o.before); }
  void change_table(schema::StridedSliceOptionsT& o) {
    return d_.below(2) == 0 ? set(o.begin) : set(o.strides);
  }
  void change_table(schema::ResizeOptionsT& o) {
    const size_t which = d_.below(3);
    return which == 0 ? set(o.interpolation) : which == 1 ? set(o.coordinates) : set(o.rounding);
  }
  void change_table(schema::UnaryOptionsT& o) { return d_.below(2) == 0 ? set(o.alpha) : set(o.beta); }
  void change_table(schema::L2NormalizeOptionsT& o) { set(o.min_norm); }
  void change_table(schema::BatchMatMulOptionsT& o) { d_.below(2) ? flip(o.transpose_b) : set(o.scale); }
  void change_table(schema::TopKOptionsT& o) {
    const size_t which = d_.below(3);
    return which == 0 ? set(o.axis) : flip(which == 1 ? o.smallest : o.last_of_equal);
  }
  void change_table(schema::OneHotOptionsT& o) {
    const size_t which = d_.below(4);
    return which == 0 ? set(o.axis) : which == 1 ? flip(o.from_end) : set(which == 2 ? o.on : o.off);
  }
  void change_table(schema::NormalizeOptionsT& o) {
    const size_t which = d_.below(5);
    if (which < 3) return which == 0 ? set(o.epsilon) : which == 1 ? set(o.root_epsilon) : set(o.groups);
    return flip(d_.below(2) == 0 ? o.over_map : o.keeps_mean);
  }
  static void flip(bool& flag) { flag = !flag; }
  void change_clamp(schema::ClampT& clamp) {
    const size_t which = d_.below(4);
    return which < 2 ? set(which == 0 ? clamp.min : clamp.max) : set(which == 2 ? clamp.lo : clamp.hi);
  }
  void change_requantization(std::unique_ptr<schema::RequantizationT>& requantization) {
    switch (d_.below(4)) {
      case 0:
        return set(made(requantization).multiplier);
      case 1:
        return set(made(requantization).folded_bias);
      case 2:
        return set(made(requantization).rounding);
      default:
        return requantization.reset();
    }
  }
  void change_window(schema::Window2DT& w) {
    int32_t* const fields[] = {&w.kernel_h,   &w.kernel_w, &w.stride_h, &w.stride_w,   &w.dilation_h,
                               &w.dilation_w, &w.pad_top,  &w.pad_left, &w.pad_bottom, &w.pad_right};
    const size_t which = d_.below(11);
    return which < 10 ? set(*fields[which]) : set(w.count_include_pad);
  }
  void change_buffer(schema::BufferT& buffer) {
    return d_.below(8) == 0 ? set(buffer.layout) : set(buffer.data);
  }
  void change_segment(schema::SegmentT& s) {
    int32_t* const numbers[] = {&s.first, &s.band, &s.picture_stride, &s.picture_lead, &s.picture_rows};
    const size_t which = d_.below(8);
    return which < 5 ? set(*numbers[which]) : set(which == 5 ? s.strides : which == 6 ? s.leads : s.rows);
  }
  void change_plan() {
    if (m_.streamed != nullptr && d_.below(2) == 0) return change_segments();
    schema::PlanT& plan = made(d_.below(8) == 0 ? m_.streamed : m_.plan);
    const size_t which = d_.below(10);
    if (which < 2) return set(which == 0 ? plan.activation_bytes : plan.lower_bound);
    if (which == 8) return set(plan.fast_bytes);
    if (which == 9) {  // before a tensor, or a little off
      if (!plan.offsets.empty()) plan.fast_bytes = plan.offsets[d_.below(plan.offsets.size())];
      plan.fast_bytes += 16 * static_cast<uint32_t>(d_.below(3));
      return;
    }
    if (which > 4 || plan.offsets.empty()) return set(plan.offsets);
    // Over, or beside, another tensor.
    uint32_t& offset = plan.offsets[d_.below(plan.offsets.size())];
    offset = plan.offsets[d_.below(plan.offsets.size())] + 16 * static_cast<uint32_t>(d_.below(3));
  }
  // One number of a list, a little: what no other check refuses.
  void change_segments() {
    if (m_.streamed->segments.empty() || d_.below(4) == 0)
      return on(m_.streamed->segments, &FieldChanges::change_segment);
    schema::SegmentT& segment = *m_.streamed->segments[d_.below(m_.streamed->segments.size())];
    const size_t which = d_.below(4);
    std::vector<int32_t>& list = which == 0 ? segment.strides : which == 1 ? segment.leads : segment.rows;
    if (which < 3 && list.empty()) return;
    (which < 3 ? list[d_.below(list.size())] : segment.picture_rows) += static_cast<int32_t>(d_.below(5)) - 2;
  }
  void change_state(schema::StateT& state) {
    const size_t which = d_.below(3);
    return which == 0 ? set(state.input) : which == 1 ? set(state.output) : set(state.initial);
  }
  void change_image(schema::ImageInputT& image) {
    switch (d_.below(6)) {
      case 0:
        return d_.below(2) == 0 ? set(image.input) : set(image.border);
      case 1:
        return set(image.color);
      case 2:
        return set(image.resize);
      case 3:
        return set(image.mean);
      case 4:
        return set(image.norm);
      default:
        return set(image.table);
    }
  }
  void change_pack(schema::PackedWeightsT& pack) {
    const size_t which = d_.below(4);
    if (which == 0) return set(pack.node);
    if (which == 1) return set(pack.kernel);
    return which == 2 ? set(pack.layout) : set(pack.data);
  }
  void change_model() {
    switch (d_.below(8)) {
      case 0:
        return set(m_.format_version);
      case 1:
        return d_.below(2) == 0 ? set(m_.min_reader) : set(m_.memory_ceiling);
      case 2:
        return set(m_.inputs);
      case 3:
        return set(m_.outputs);
      case 4:
        return set(made(m_.calibration).method);
      case 5:
        return set(made(m_.calibration).samples_digest);
      case 6:
        return on(m_.norm_statistics, &FieldChanges::change_statistics);
      default:
        return d_.below(3) == 0   ? set(m_.answers)
               : d_.below(2) == 0 ? set(made(m_.golden).input_buffers)
                                  : m_.plan.reset();
    }
  }
  void change_statistics(schema::NormStatisticsT& statistics) {
    const size_t which = d_.below(3);
    return which == 0   ? set(statistics.tensor)
           : which == 1 ? set(statistics.mean)
                        : set(statistics.deviation);
  }

  ModelT& m_;
  Decisions& d_;
};

}  // namespace intaglio::test
