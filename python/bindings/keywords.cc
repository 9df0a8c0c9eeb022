#include "python/bindings/keywords.h"

#include <algorithm>
#include <cmath>

#include "python/bindings/calls.h"
#include "tools/answer_kind.h"
#include "tools/frames.h"

namespace intaglio::python {

namespace py = pybind11;

namespace {

std::string shown_value(const py::handle& value) { return py::repr(value).cast<std::string>(); }

[[noreturn]] void wrong_type(const char* name, const char* wanted, const py::handle& value) {
  throw py::type_error(std::string(name) + ": is " + wanted + ", not " + shown_value(value));
}

// Also of numpy's integers, and not of True.
int64_t integer_of(const char* name, const py::handle& value) {
  if (PyBool_Check(value.ptr()) != 0 || PyIndex_Check(value.ptr()) == 0)
    wrong_type(name, "a whole number", value);
  const py::object number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  int overflow = 0;
  const long long found = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0)
    throw py::value_error(std::string(name) + ": " + shown_value(value) + " is beyond 64 bits");
  return found;
}

double number_of(const char* name, const py::handle& value) {
  const double number = PyBool_Check(value.ptr()) != 0 ? -1 : PyFloat_AsDouble(value.ptr());
  if (PyBool_Check(value.ptr()) != 0 || PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    wrong_type(name, "a number", value);
  }
  return number;
}

int32_t within_32_bits(const char* name, int64_t number) {
  if (number < INT32_MIN || number > INT32_MAX)
    throw py::value_error(std::string(name) + ": " + std::to_string(number) + " is beyond 32 bits");
  return static_cast<int32_t>(number);
}

bool is_text(const py::handle& value) {
  return py::isinstance<py::str>(value) || py::isinstance<py::bytes>(value) ||
         py::hasattr(value, "__fspath__");
}

py::sequence sequence_of(const char* name, const char* wanted, const py::handle& value) {
  if (is_text(value) || !py::hasattr(value, "__iter__")) wrong_type(name, wanted, value);
  return py::list(py::reinterpret_borrow<py::object>(value));
}

std::string keyword_of(std::string option) {
  option.erase(0, option.find_first_not_of('-'));
  std::replace(option.begin(), option.end(), '-', '_');
  return option;
}

NpyType npy_type_of(const py::array& array) {
  const char kind = array.dtype().kind();
  const auto bytes = array.itemsize();
  if (kind == 'b') return NpyType::kBool;
  if (kind == 'u')
    return bytes == 1   ? NpyType::kU8
           : bytes == 2 ? NpyType::kU16
           : bytes == 4 ? NpyType::kU32
                        : NpyType::kU64;
  if (kind == 'i')
    return bytes == 1   ? NpyType::kS8
           : bytes == 2 ? NpyType::kS16
           : bytes == 4 ? NpyType::kS32
                        : NpyType::kS64;
  if (kind == 'f' && bytes <= 8)
    return bytes == 2 ? NpyType::kF16 : bytes == 4 ? NpyType::kF32 : NpyType::kF64;
  throw py::type_error("arrays hold floats or integers");
}

HeldSamples held_of(const py::list& arrays) {
  HeldSamples held;
  for (const py::handle& item : arrays) {
    const auto array = py::cast<py::array>(item);
    if ((array.flags() & py::array::c_style) == 0) throw py::value_error("arrays are without gaps");
    held.type = npy_type_of(array);
    const std::vector<int64_t> shape(array.shape() + 1, array.shape() + array.ndim());
    const auto bytes = array.shape(0) == 0 ? 0 : static_cast<size_t>(array.nbytes() / array.shape(0));
    for (py::ssize_t i = 0; i < array.shape(0); ++i)
      held.samples.push_back(
          {static_cast<const uint8_t*>(array.data()) + static_cast<size_t>(i) * bytes, shape});
  }
  return held;
}

}  // namespace

std::string text_of(const char* name, const py::handle& value) {
  if (!is_text(value)) wrong_type(name, "text or a path", value);
  py::object text = py::reinterpret_steal<py::object>(PyOS_FSPath(value.ptr()));
  if (!text) throw py::error_already_set();
  if (py::isinstance<py::str>(text))  // a path may hold what is no UTF-8
    text = text.attr("encode")("utf-8", "surrogateescape");
  std::string bytes = text.cast<py::bytes>();
  if (bytes.find('\0') != std::string::npos)
    throw py::value_error("embedded null byte in " + shown_value(value));
  return bytes;
}

py::object Keywords::get(const char* name) const {
  if (!given_.contains(name)) return py::none();
  py::object value = given_[name];
  return value;
}

bool Keywords::has(const char* name) const {
  const py::object value = get(name);
  return !value.is_none() && value.ptr() != Py_False;
}

void Keywords::take(const char* name, bool& value) const {
  const py::object given = get(name);
  if (given.is_none()) return;
  if (PyBool_Check(given.ptr()) == 0) wrong_type(name, "True or False", given);
  value = given.ptr() == Py_True;
}

void Keywords::take(const char* name, int32_t& value) const {
  int64_t number = value;
  take(name, number);
  value = within_32_bits(name, number);
}
void Keywords::take(const char* name, int64_t& value) const {
  if (const py::object given = get(name); !given.is_none()) value = integer_of(name, given);
}
void Keywords::take(const char* name, double& value) const {
  if (const py::object given = get(name); !given.is_none()) value = number_of(name, given);
}
void Keywords::take(const char* name, std::optional<double>& value) const {
  if (const py::object given = get(name); !given.is_none()) value = number_of(name, given);
}
void Keywords::take(const char* name, std::string& value) const {
  if (const py::object given = get(name); !given.is_none()) value = text_of(name, given);
}

void Keywords::take(const char* name, std::vector<std::string>& value) const {
  const py::object given = get(name);
  if (given.is_none()) return;
  if (is_text(given)) {
    value = {text_of(name, given)};
    return;
  }
  for (const py::handle& part : sequence_of(name, "text or a sequence of texts", given))
    value.push_back(PyIndex_Check(part.ptr()) != 0 ? std::to_string(integer_of(name, part))
                                                   : text_of(name, part));
}

void Keywords::take(const char* name, std::vector<int32_t>& value) const {
  const py::object given = get(name);
  if (given.is_none()) return;
  for (const py::handle& part : sequence_of(name, "a sequence of whole numbers", given))
    value.push_back(within_32_bits(name, integer_of(name, part)));
}

void Keywords::take(const char* name, std::vector<float>& value) const {
  const py::object given = get(name);
  if (given.is_none()) return;
  if (py::hasattr(given, "__iter__"))
    for (const py::handle& part : sequence_of(name, "a number or a sequence of numbers", given))
      value.push_back(static_cast<float>(number_of(name, part)));
  else
    value = {static_cast<float>(number_of(name, given))};
}

bool Keywords::knows(const std::string& option) const { return given_.contains(keyword_of(option)); }
bool Keywords::gives(const std::string& option) const { return has(keyword_of(option).c_str()); }

std::vector<std::string> Keywords::values(const std::string& option) const {
  const std::string keyword = keyword_of(option);
  if (!has(keyword.c_str())) {
    if (keyword == "method") return {"auto"};
    if (keyword == "profile") return {"host"};
    return {keyword == "recover" ? "default" : keyword == "compat" ? "none" : ""};
  }
  const py::object value = get(keyword.c_str());
  if (is_text(value)) return {text_of(keyword.c_str(), value)};
  std::vector<std::string> list;
  if (py::hasattr(value, "__iter__")) {
    for (const py::handle& part : value) list.push_back(py::str(part).cast<std::string>());
  } else {
    list.push_back(py::str(value).cast<std::string>());
  }
  return list;
}

tools::SampleChoice samples_of(const py::list& inputs, const Keywords& keywords) {
  tools::SampleChoice choice;
  for (const py::handle& input : inputs) {
    if (!py::isinstance<py::tuple>(input)) {
      choice.places.push_back({text_of("batches", input), {}, {}});
      continue;
    }
    const auto pair = py::cast<py::tuple>(input);
    SamplePlace place{pair[0].cast<std::string>(), {}, {}};
    const auto list = pair[1].cast<py::list>();
    if (!list.empty() && py::isinstance<py::array>(list[0]))
      place.held = held_of(list);
    else
      for (const py::handle& path : list) place.files.push_back(text_of("batches", path));
    choice.places.push_back(std::move(place));
  }
  keywords.take("only", choice.only);
  keywords.take("limit", choice.limit);
  if (keywords.has("limit") && choice.limit < 1)
    throw py::value_error("limit: " + std::to_string(choice.limit) + " is below 1");
  keywords.take("skip_bad", choice.skip_bad);
  std::string frame;
  int64_t row_bytes = 0;
  keywords.take("frame", frame);
  keywords.take("row_bytes", row_bytes);
  if (!frame.empty()) {
    const auto frames = tools::raw_frames_of(frame, row_bytes);
    if (!frames) raise(frames.failure());
    choice.frames = *frames;
  }
  return choice;
}

namespace {

// {name: number, sequence or array}
template <typename Use>
void for_each_named(const Keywords& keywords, const char* name, Use use) {
  const py::object given = keywords.get(name);
  if (given.is_none()) return;
  if (!py::isinstance<py::dict>(given)) wrong_type(name, "a dict by names", given);
  for (const auto& [key, value] : given.cast<py::dict>()) use(text_of(name, key), value);
}

std::vector<float> floats_of(const py::handle& value) {
  const auto array = py::cast<py::array_t<float, py::array::c_style | py::array::forcecast>>(value);
  return {array.data(), array.data() + array.size()};
}

}  // namespace

ImportOptions import_options_of(const Keywords& keywords) {
  ImportOptions options;
  ImagePreprocessing image;
  keywords.take("pixels", image.pixels);
  const std::vector<std::string> recipes = pixel_recipes();
  if (!image.pixels.empty() && std::find(recipes.begin(), recipes.end(), image.pixels) == recipes.end())
    raise({"pixels: " + image.pixels + " is no recipe; there are " + pixel_choices()});
  keywords.take("mean", image.mean);
  keywords.take("norm", image.norm);
  std::string color, resize;
  keywords.take("color", color);
  keywords.take("resize", resize);
  if (color == "rgb")
    image.color = ColorOrder::kRgb;
  else if (color == "bgr")
    image.color = ColorOrder::kBgr;
  else if (color == "gray")
    image.color = ColorOrder::kGray;
  else if (!color.empty())
    raise({"color: " + color + " is none of rgb, bgr and gray"});
  if (resize == "crop")
    image.resize = ResizeMode::kCrop;
  else if (resize == "letterbox")
    image.resize = ResizeMode::kLetterbox;
  else if (!resize.empty() && resize != "stretch")
    raise({"resize: " + resize + " is none of stretch, crop and letterbox"});
  int32_t border = kUsualBorder;
  keywords.take("border", border);
  if (border < 0 || border > 255) raise({"border: " + std::to_string(border) + " is not in 0 to 255"});
  image.border = static_cast<uint8_t>(border);
  if (image.has_values() || !color.empty() || !resize.empty()) options.image = image;
  keywords.take("batch", options.batch);
  if (options.batch < 1 || options.batch > 65536)
    raise({"batch: " + std::to_string(options.batch) + " is not in 1 to 65536"});
  keywords.take("outputs", options.outputs);
  keywords.take("external_data", options.external_data.below);
  std::vector<std::string> answers;
  keywords.take("answers", answers);
  auto kinds = tools::read_answers(answers);
  if (!kinds) raise(kinds.failure());
  options.answers = std::move(*kinds);
  keywords.take("focus", options.focus);
  keywords.take("keep_dead", options.keep_dead);
  keywords.take("max_work", options.limits.max_work);
  keywords.take("max_memory", options.limits.max_memory);
  if (keywords.has("stream")) {
    int32_t axis = 0;
    keywords.take("stream", axis);
    options.stream = axis;
  }
  for_each_named(keywords, "shape", [&](const std::string& name, const py::handle& dims) {
    InputShape shape{name, {}};
    for (const py::handle& dim : sequence_of("shape", "a sequence of whole numbers for each name", dims))
      shape.dims.push_back(within_32_bits("shape", integer_of("shape", dim)));
    options.shapes.push_back(std::move(shape));
  });
  for_each_named(keywords, "state", [&](const std::string& in, const py::handle& out) {
    options.states.push_back(in + "=" + text_of("state", out));
  });
  for_each_named(keywords, "initial", [&](const std::string& name, const py::handle& value) {
    options.starts.push_back({name, floats_of(value)});
  });
  for_each_named(keywords, "constant", [&](const std::string& name, const py::handle& value) {
    const auto array = py::cast<py::array>(value);
    std::vector<int32_t> dims;  // none of a number or a list
    if (py::isinstance<py::array>(value))
      for (py::ssize_t d = 0; d < array.ndim(); ++d) dims.push_back(static_cast<int32_t>(array.shape(d)));
    options.constants.push_back({name, dims, floats_of(value)});
  });
  return options;
}

}  // namespace intaglio::python
