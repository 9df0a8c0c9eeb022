#include "c_api/c_handles.h"

using namespace intaglio;

static_assert(ITG_S8 == static_cast<int>(DType::kS8) && ITG_S16 == static_cast<int>(DType::kS16) &&
              ITG_F32 == static_cast<int>(DType::kF32));
static_assert(ITG_MODEL_ALIGNMENT == kModelAlignment && ITG_MEMORY_ALIGNMENT == kMemoryAlignment);
static_assert(ITG_PIXELS_GRAY == static_cast<int>(ColorOrder::kGray) &&
              ITG_PIXELS_GRAY == static_cast<int>(PixelOrder::kGray) &&
              ITG_PIXELS_RGBA == static_cast<int>(PixelOrder::kRgba) &&
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
  result.kernel_h = o.window.kernel_h;
  result.kernel_w = o.window.kernel_w;
  result.stride_h = o.window.stride_h;
  result.stride_w = o.window.stride_w;
  result.dilation_h = o.window.dilation_h;
  result.dilation_w = o.window.dilation_w;
  result.pad_top = o.window.pad_top;
  result.pad_left = o.window.pad_left;
  result.pad_bottom = o.window.pad_bottom;
  result.pad_right = o.window.pad_right;
  result.count_include_pad = o.window.count_include_pad;
  result.groups = o.groups;
  result.clamp_min = o.clamp_min;
  result.clamp_max = o.clamp_max;
  result.clamp_lo = o.clamp_lo;
  result.clamp_hi = o.clamp_hi;
  result.intermediate_scale = o.intermediate_scale;
  result.intermediate_zero_point = o.intermediate_zero_point;
  result.multiplier = o.multiplier.data;
  result.multiplier_count = o.multiplier.size;
  result.folded_bias = o.folded_bias.data;
  result.axes = o.axes.data;
  result.axes_count = o.axes.size;
  result.axis = o.axis;
  result.begin = o.begin.data;
  result.begin_count = o.begin.size;
  result.strides = o.strides.data;
  result.strides_count = o.strides.size;
  result.interpolation = static_cast<int32_t>(o.resample.interpolation);
  result.coordinates = static_cast<int32_t>(o.resample.coordinates);
  result.rounding = static_cast<int32_t>(o.resample.rounding);
  result.alpha = o.alpha;
  result.beta = o.beta;
  result.pad_value = o.pad_value;
  result.add_bits = o.add_bits;
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
  give(image, result);
}
