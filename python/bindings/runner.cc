#include "python/bindings/runner.h"

#include <pybind11/stl.h>

#include <cstring>

#include "calibrator/host/pictures/image_folder.h"
#include "intaglio/describe.h"
#include "intaglio/last_layer.h"
#include "python/bindings/calls.h"
#include "tools/class_scores.h"
#include "tools/model_contents.h"

namespace intaglio::python {

namespace py = pybind11;

namespace {

tools::LoadedModel opened(const py::buffer& bytes, const std::string& name) {
  const py::buffer_info given = bytes.request();
  if (given.ndim != 1 || given.itemsize != 1 || given.strides[0] != 1)
    throw py::type_error("a model is bytes without gaps");
  const auto size = static_cast<size_t>(given.size);
  if (size == 0) raise({name + ": holds no bytes"});
  if (size > kMaxModelBytes)
    raise({name + ": has " + std::to_string(size) + " bytes; a model has at most " +
           std::to_string(kMaxModelBytes)});
  FileBytes copy(size);
  std::memcpy(copy.data(), given.ptr, size);
  return value_or_raise(tools::LoadedModel::of_bytes(name, std::move(copy)));
}

py::dtype numpy_type(DType dtype) {
  switch (dtype) {
    case DType::kS8:
      return py::dtype::of<int8_t>();
    case DType::kU8:
      return py::dtype::of<uint8_t>();
    case DType::kS16:
      return py::dtype::of<int16_t>();
    case DType::kS32:
      return py::dtype::of<int32_t>();
    default:
      return py::dtype::of<float>();
  }
}

std::vector<py::ssize_t> dims_of(const Shape& shape) { return {shape.dims, shape.dims + shape.rank}; }

// How pictures become input `i`; none where it takes none.
std::optional<ImageInput> recipe_of(const Model& model, int32_t i) {
  for (int32_t k = 0; k < model.image_count(); ++k)
    if (model.image(k).input == i) return model.image(k);
  return std::nullopt;
}

py::dict description(const TensorInfo& info) {
  py::dict tensor;
  const bool one_scale = info.quantization.scales.size == 1;
  tensor["name"] = std::string(info.name);
  tensor["shape"] = py::tuple(py::cast(dims_of(info.shape)));
  tensor["dtype"] = py::str(numpy_type(info.dtype).attr("name"));
  tensor["scale"] = one_scale ? py::object(py::float_(info.quantization.scales[0])) : py::object(py::none());
  tensor["zero_point"] =
      one_scale ? py::object(py::int_(info.quantization.zero_point)) : py::object(py::none());
  tensor["picture"] = py::none();
  return tensor;
}

}  // namespace

Runner::Runner(const py::buffer& bytes, const std::string& name) : file_(opened(bytes, name)) {
  const Model& model = file_.model();
  for (int32_t i = 0; i < static_cast<int32_t>(model.inputs().size); ++i) {
    const auto recipe = recipe_of(model, i);
    units_.emplace_back(std::in_place, model.tensor(model.inputs()[static_cast<size_t>(i)]),
                        recipe ? &*recipe : nullptr);
  }
}

py::str Runner::name() const { return decoded(file_.path(), "surrogateescape"); }

void check_threads(int32_t threads) {
  if (threads < 1 || threads > Executor::kMaxWidth)
    throw py::value_error("threads: " + std::to_string(threads) + " is not in 1 to " +
                          std::to_string(Executor::kMaxWidth));
}

void Runner::set_execution(int32_t threads, const std::string& isa) {
  check_threads(threads);
  if (in_sequence_)
    raise(
        {file_.path() +
         ": its states hold a sequence, which other threads or instruction sets would begin anew; call reset() first"});
  tools::ExecutionOptions execution;
  execution.threads = threads;
  execution.isa = isa;
  const SessionOptions options = value_or_raise(tools::session_options(execution));
  if (session_ != nullptr) {
    auto next =
        std::make_shared<tools::LoadedSession>(value_or_raise(tools::LoadedSession::create(file_, options)));
    for (int32_t i = 0; i < static_cast<int32_t>(file_.model().inputs().size); ++i) {
      const TensorView from = (**session_).input(i), to = (**next).input(i);
      std::memcpy(to.data, from.data, from.info.bytes());
    }
    session_ = std::move(next);
  }
  options_ = options;
}

py::array Runner::bytes() {
  const Span<const uint8_t> bytes = file_.model().bytes();
  py::array_t<uint8_t> array({static_cast<py::ssize_t>(bytes.size)}, bytes.data,
                             py::cast(shared_from_this()));
  array.attr("flags").attr("writeable") = false;
  return array;
}

py::list Runner::inputs() const {
  const Model& model = file_.model();
  py::list tensors;
  for (const int32_t t : model.inputs()) tensors.append(description(model.tensor(t)));
  for (int32_t i = 0; i < model.image_count(); ++i) {
    const ImageInput recipe = model.image(i);
    tensors[static_cast<size_t>(recipe.input)]["picture"] = tools::input_text(model, recipe.input);
  }
  return tensors;
}

py::list Runner::outputs() const {
  py::list tensors;
  for (const int32_t t : file_.model().outputs()) tensors.append(description(file_.model().tensor(t)));
  return tensors;
}

py::list Runner::states() const {
  py::list tensors;
  for (int32_t i = 0; i < file_.model().state_count(); ++i)
    tensors.append(description(file_.model().tensor(file_.model().state(i).input)));
  return tensors;
}

Session& Runner::session() {
  if (session_ == nullptr)
    session_ =
        std::make_shared<tools::LoadedSession>(value_or_raise(tools::LoadedSession::create(file_, options_)));
  return **session_;
}

py::array Runner::view_of(const TensorView& view, bool writable) {
  struct Owners {
    std::shared_ptr<Runner> model;  // the session reads its bytes
    std::shared_ptr<tools::LoadedSession> session;
  };
  const py::capsule base(new Owners{shared_from_this(), session_},
                         [](void* owners) { delete static_cast<Owners*>(owners); });
  py::array array(numpy_type(view.info.dtype), dims_of(view.info.shape), view.data, base);
  if (!writable) array.attr("flags").attr("writeable") = false;
  return array;
}

py::array Runner::input(int32_t i) { return view_of(session().input(i), true); }
py::array Runner::output(int32_t i) { return view_of(session().output(i), false); }

py::array_t<float> Runner::real_output(int32_t i) {
  const TensorView view = session().output(i);
  const std::vector<float> values = tools::real_values(view);
  py::array_t<float> array(dims_of(view.info.shape));
  std::memcpy(array.mutable_data(), values.data(), values.size() * sizeof(float));
  return array;
}

int32_t Runner::equal_places(const std::vector<bool>& pictures) const {
  return tools::equal_places(file_.model(), pictures);
}

std::string Runner::fill_values(int32_t i, const py::array_t<float, py::array::c_style>& values) {
  const TensorView view = session().input(i);
  if (values.size() != view.info.shape.elements())
    throw py::value_error("as many values as the input has elements");
  const Span<const float> reals = {values.data(), static_cast<size_t>(values.size())};
  const auto filled = fill_with_values(reals, view);
  if (!filled) raise(filled.failure());
  auto& unit = units_[static_cast<size_t>(i)];
  if (!unit) return "";
  const bool numbers = unit->add(reals) != tools::InputUnit::Kind::kNoNumbers;
  if (numbers && !unit->is_other()) return "";
  const std::string wrong =
      numbers ? unit->what_is_wrong() : "NaN or infinite values, of which nothing follows";
  unit.reset();
  return wrong;
}

void Runner::fill_picture(int32_t i, const py::array_t<uint8_t, py::array::c_style>& pixels) {
  const Model& model = file_.model();
  const py::ssize_t channels = pixels.ndim() == 3 ? pixels.shape(2) : 1;
  const py::ssize_t height = pixels.ndim() >= 2 ? pixels.shape(0) : 0,
                    width = height > 0 ? pixels.shape(1) : 0;
  if (pixels.ndim() > 3 || (channels != 1 && channels != 3 && channels != 4) || height < 1 || width < 1 ||
      height > kMaxPictureSide || width > kMaxPictureSide)
    throw py::value_error(
        "a picture is uint8 of the shape (height, width) or (height, width, 1, 3 or 4), with sides of 1 to " +
        std::to_string(kMaxPictureSide));
  const PictureInfo info{static_cast<int32_t>(width), static_cast<int32_t>(height),
                         channels == 1   ? PixelOrder::kGray
                         : channels == 3 ? PixelOrder::kRgb
                                         : PixelOrder::kRgba};
  if (const auto recipe = recipe_of(model, i)) {
    const auto filled = fill_with_picture({pixels.data(), static_cast<size_t>(pixels.size())}, info, *recipe,
                                          session().input(i));
    if (!filled) raise(filled.failure());
    return;
  }
  raise({file_.path() + ": its input '" + model.tensor(model.inputs()[static_cast<size_t>(i)]).name +
         "' has no preprocessing for pictures; import the network with pixels=, or with mean= and norm="});
}

void Runner::run() {
  Session& session = this->session();
  in_sequence_ = file_.model().state_count() > 0;
  const py::gil_scoped_release unlocked;
  session.run();
}

py::array Runner::features() {
  const auto found = find_features(file_.model());
  if (!found) raise(file_.failure(found.error()));
  Session& session = this->session();
  {
    const py::gil_scoped_release unlocked;
    session.run_nodes(0, found->node);
  }
  const auto* const codes = static_cast<const int8_t*>(session.tensor(found->tensor).data);
  return py::array_t<int8_t>(found->count, codes);
}

void Runner::reset() {
  session().reset();
  in_sequence_ = false;
}

std::string Runner::kernel(int32_t node) {
  if (node < 0 || node >= node_count()) throw py::index_error("there is no such node");
  return session().kernel_name(node);
}

}  // namespace intaglio::python
