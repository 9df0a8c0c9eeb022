#include "c_api/c_handles.h"

using namespace intaglio;

static_assert(ITG_S8 == static_cast<int>(DType::kS8) && ITG_S16 == static_cast<int>(DType::kS16) &&
              ITG_F32 == static_cast<int>(DType::kF32));
static_assert(ITG_MODEL_ALIGNMENT == kModelAlignment && ITG_MEMORY_ALIGNMENT == kMemoryAlignment);
static_assert(ITG_PIXELS_GRAY == static_cast<int>(ColorOrder::kGray) &&
              ITG_PIXELS_GRAY == static_cast<int>(PixelOrder::kGray) &&
              ITG_PIXELS_RGBA == static_cast<int>(PixelOrder::kRgba) &&
              ITG_PIXELS_NV21 == static_cast<int>(PixelOrder::kNv21) &&
              ITG_PIXELS_BAYER_BGGR == static_cast<int>(PixelOrder::kBayerBggr) &&
              ITG_RESIZE_LETTERBOX == static_cast<int>(ResizeMode::kLetterbox));
static_assert(sizeof itg_image::mean == sizeof ImageInput::mean);

namespace intaglio {

itg_tensor to_c(const TensorInfo& info, void* data) {
  itg_tensor tensor{};
  tensor.name = info.name;
  tensor.dtype = static_cast<int32_t>(info.dtype);
  tensor.rank = info.shape.rank;
  tensor.dims = info.shape.dims;
  tensor.scales = info.quantization.scales.data;
  tensor.scale_count = info.quantization.scales.size;
  tensor.zero_point = info.quantization.zero_point;
  tensor.axis = info.quantization.axis;
  tensor.constant = info.constant.data;
  tensor.bytes = info.bytes();
  tensor.data = data;
  return tensor;
}

namespace {

void set_list(Span<const int32_t> list, const int32_t** data, size_t* count) {
  *data = list.data;
  *count = list.size;
}

int32_t axis_of(const NodeOptions& o) {
  if (const auto* const gather = o.get<GatherOptions>()) return gather->axis;
  if (const auto* const top = o.get<TopKOptions>()) return top->axis;
  if (const auto* const one_hot = o.get<OneHotOptions>()) return one_hot->axis;
  return o.value<ConcatOptions>().axis;
}

}  // namespace

}  // namespace intaglio

void itg_open_options_init(itg_open_options* options, size_t struct_size) {
  options->struct_size = struct_size;
  give(options, {});
}

itg_error itg_model_open(itg_model* model, const void* bytes, size_t size, const itg_open_options* options) {
  OpenOptions open;
  open.skip_checksum = take(options, itg_open_options_init).skip_checksum;
  const Result<Model> opened = Model::open({static_cast<const uint8_t*>(bytes), size}, open);
  put_object(model, *opened);
  return to_c(opened.error());
}

itg_bytes itg_model_bytes(const itg_model* model) { return to_c(model_in(model).bytes()); }
uint32_t itg_model_memory_ceiling(const itg_model* model) { return model_in(model).memory_ceiling(); }
int32_t itg_model_tensor_count(const itg_model* model) { return model_in(model).tensor_count(); }
void itg_model_tensor(const itg_model* model, int32_t index, itg_tensor* tensor) {
  give(tensor, to_c(model_in(model).tensor(index), nullptr));
}

int32_t itg_model_node_count(const itg_model* model) { return model_in(model).node_count(); }
void itg_model_node(const itg_model* model, int32_t index, itg_node* node) {
  const NodeInfo info = model_in(model).node(index);
  const NodeOptions& o = info.options;
  itg_node result{};
  result.name = info.name;
  result.op = static_cast<int32_t>(info.op);
  result.inputs = info.inputs.data;
  result.input_count = info.inputs.size;
  result.outputs = info.outputs.data;
  result.output_count = info.outputs.size;
  const auto window = o.value<Window2d>();
  result.kernel_h = window.kernel_h;
  result.kernel_w = window.kernel_w;
  result.stride_h = window.stride_h;
  result.stride_w = window.stride_w;
  result.dilation_h = window.dilation_h;
  result.dilation_w = window.dilation_w;
  result.pad_top = window.pad_top;
  result.pad_left = window.pad_left;
  result.pad_bottom = window.pad_bottom;
  result.pad_right = window.pad_right;
  result.count_include_pad = window.count_include_pad;
  const auto clamp = o.value<Clamp>();
  result.clamp_min = clamp.min;
  result.clamp_max = clamp.max;
  result.clamp_lo = clamp.lo;
  result.clamp_hi = clamp.hi;
  const auto intermediate = o.value<Intermediate>();
  result.intermediate_scale = intermediate.scale;
  result.intermediate_zero_point = intermediate.zero_point;
  const auto requantization = o.value<Requantization>();
  result.multiplier = requantization.multiplier.data;
  result.multiplier_count = requantization.multiplier.size;
  result.folded_bias = requantization.folded_bias.data;
  const auto* const conv = o.get<Conv2dOptions>();
  const auto* const normalize = o.get<NormalizeOptions>();
  result.groups = normalize != nullptr ? normalize->groups : o.value<Conv2dOptions>().groups;
  result.add_bits = conv != nullptr ? conv->add_bits : o.value<AddOptions>().add_bits;
  const auto* const transpose = o.get<TransposeOptions>();
  set_list(transpose != nullptr ? transpose->permutation : o.value<ReduceOptions>().axes, &result.axes,
           &result.axes_count);
  result.axis = axis_of(o);
  const auto pad = o.value<PadOptions>();
  const auto slice = o.value<StridedSliceOptions>();
  set_list(pad.before.empty() ? slice.begin : pad.before, &result.begin, &result.begin_count);
  set_list(slice.strides, &result.strides, &result.strides_count);
  result.pad_value = pad.value;
  const auto resize = o.value<ResizeOptions>();
  result.interpolation = static_cast<int32_t>(resize.interpolation);
  result.coordinates = static_cast<int32_t>(resize.coordinates);
  result.rounding = static_cast<int32_t>(resize.rounding);
  const auto* const l2 = o.get<L2NormalizeOptions>();
  result.alpha = l2 != nullptr ? l2->min_norm : o.value<UnaryOptions>().alpha;
  result.beta = o.value<UnaryOptions>().beta;
  result.transpose_b = o.value<BatchMatMulOptions>().transpose_b;
  result.product_scale = o.value<BatchMatMulOptions>().scale;
  result.epsilon = o.value<NormalizeOptions>().epsilon;
  result.root_epsilon = o.value<NormalizeOptions>().root_epsilon;
  result.over_map = o.value<NormalizeOptions>().over_map;
  result.keeps_mean = o.value<NormalizeOptions>().keeps_mean;
  const auto top = o.value<TopKOptions>();
  result.smallest = top.smallest;
  result.last_of_equal = top.last_of_equal;
  const auto one_hot = o.value<OneHotOptions>();
  result.on = one_hot.on;
  result.off = one_hot.off;
  result.from_end = one_hot.from_end;
  give(node, result);
}

int32_t itg_model_input_count(const itg_model* model) {
  return static_cast<int32_t>(model_in(model).inputs().size);
}
int32_t itg_model_input(const itg_model* model, int32_t i) {
  return model_in(model).inputs()[static_cast<size_t>(i)];
}
int32_t itg_model_output_count(const itg_model* model) {
  return static_cast<int32_t>(model_in(model).outputs().size);
}
int32_t itg_model_output(const itg_model* model, int32_t i) {
  return model_in(model).outputs()[static_cast<size_t>(i)];
}

int32_t itg_model_state_count(const itg_model* model) { return model_in(model).state_count(); }
void itg_model_state(const itg_model* model, int32_t index, itg_state* state) {
  const StateInfo info = model_in(model).state(index);
  itg_state result{};
  result.input = info.input;
  result.output = info.output;
  result.initial = to_c(info.initial);
  give(state, result);
}

void itg_model_pack(const itg_model* model, int32_t node, itg_pack* pack) {
  const PackInfo info = model_in(model).pack(node);
  itg_pack result{};
  result.kernel = info.kernel;
  result.layout = info.layout;
  result.data = to_c(info.data);
  give(pack, result);
}

void itg_model_calibration(const itg_model* model, itg_calibration_info* info) {
  const CalibrationInfo calibration = model_in(model).calibration();
  itg_calibration_info result{};
  result.library_version = calibration.library_version;
  result.method = calibration.method;
  result.options = calibration.options;
  result.samples = calibration.samples;
  result.samples_digest = to_c(calibration.samples_digest);
  give(info, result);
}

uint32_t itg_model_format_version(const itg_model* model) { return model_in(model).format_version(); }
size_t itg_model_activation_bytes(const itg_model* model) { return model_in(model).activation_bytes(); }
size_t itg_model_activation_lower_bound(const itg_model* model) {
  return model_in(model).activation_lower_bound();
}
size_t itg_model_fast_bytes(const itg_model* model) { return model_in(model).fast_bytes(); }
uint32_t itg_model_activation_offset(const itg_model* model, int32_t tensor) {
  return model_in(model).activation_offset(tensor);
}

int32_t itg_model_image_count(const itg_model* model) { return model_in(model).image_count(); }
void itg_model_image(const itg_model* model, int32_t index, itg_image* image) {
  const ImageInput info = model_in(model).image(index);
  itg_image result{};
  result.input = info.input;
  result.color = static_cast<int32_t>(info.color);
  result.resize = static_cast<int32_t>(info.resize);
  result.channels = info.channels;
  memcpy(result.mean, info.mean, sizeof result.mean);
  memcpy(result.norm, info.norm, sizeof result.norm);
  result.table = info.table.data;
  result.border = info.border;
  give(image, result);
}
