#include "python/bindings/learning.h"

#include <pybind11/stl.h>

#include "intaglio/last_layer.h"
#include "python/bindings/calls.h"
#include "python/bindings/runner.h"

namespace intaglio::python {

namespace py = pybind11;

namespace {

using Codes = py::array_t<int8_t, py::array::c_style>;

template <typename T>
T value_of(const Runner& runner, const Result<T>& result) {
  if (!result) raise(runner.file().failure(result.error()));
  return *result;
}

const int8_t* features_in(const Codes& codes, int32_t count) {
  if (codes.size() != count) throw py::value_error("there are " + std::to_string(count) + " features");
  return codes.data();
}

// A layer that was learnt, its bytes and its model.
class Layer {
 public:
  Layer(std::shared_ptr<Runner> runner, const py::bytes& patch) : runner_(std::move(runner)), patch_(patch) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(patch_.data());
    layer_ = value_of(*runner_, LastLayer::open({bytes, patch_.size()}, runner_->file().model()));
  }
  py::bytes bytes() const { return py::bytes(patch_); }
  int32_t classes() const { return layer_.classes(); }
  std::vector<float> scores(const Codes& codes) const {
    const int8_t* const features = features_in(codes, layer_.features());
    std::vector<float> found;
    for (int32_t c = 0; c < layer_.classes(); ++c) found.push_back(layer_.score(features, c));
    return found;
  }
  const LastLayer& layer() const { return layer_; }

 private:
  std::shared_ptr<Runner> runner_;
  std::string patch_;
  LastLayer layer_;
};

class Learner {
 public:
  Learner(std::shared_ptr<Runner> runner, int32_t classes, int32_t examples) : runner_(std::move(runner)) {
    const Model& model = runner_->file().model();
    needs_ = value_of(*runner_, LastLayerLearner::measure(model, classes, examples));
    memory_ = FileBytes(needs_.memory_bytes);
    learner_ = value_of(*runner_,
                        LastLayerLearner::create(model, classes, examples, {memory_.data(), memory_.size()}));
    count_ = find_features(model)->count;
  }
  py::dict needs() const {
    py::dict found;
    found["memory_bytes"] = needs_.memory_bytes;
    found["patch_bytes"] = needs_.patch_bytes;
    return found;
  }
  void add(const Codes& codes, int32_t of_class) {
    const Error error = learner_.add(features_in(codes, count_), of_class);
    if (!error.ok()) raise(runner_->file().failure(error));
  }
  // (the patch, or None where it was not kept; the report)
  py::tuple finish(const Layer* in_use) {
    FileBytes patch(needs_.patch_bytes);
    const LearnReport report = value_of(
        *runner_,
        learner_.finish({patch.data(), patch.size()}, in_use == nullptr ? nullptr : &in_use->layer()));
    py::dict said;
    said["method"] = report.method == LearnMethod::kRidge ? "ridge" : "means";
    said["kept"] = report.kept;
    said["held_out"] = report.held_out;
    said["right"] = report.right;
    said["right_before"] = report.right_before < 0 ? py::object(py::none()) : py::int_(report.right_before);
    py::object bytes = py::none();
    if (report.kept) bytes = py::bytes(reinterpret_cast<const char*>(patch.data()), patch.size());
    return py::make_tuple(bytes, said);
  }

 private:
  std::shared_ptr<Runner> runner_;
  LearnNeeds needs_;
  FileBytes memory_;
  LastLayerLearner learner_;
  int32_t count_ = 0;
};

}  // namespace

void add_learning(py::module_& module) {
  py::class_<Layer>(module, "Layer")
      .def(py::init<std::shared_ptr<Runner>, py::bytes>(), py::arg("runner"), py::arg("patch"))
      .def("bytes", &Layer::bytes)
      .def_property_readonly("classes", &Layer::classes)
      .def("scores", &Layer::scores, py::arg("features"));
  py::class_<Learner>(module, "Learner")
      .def(py::init<std::shared_ptr<Runner>, int32_t, int32_t>(), py::arg("runner"), py::arg("classes"),
           py::arg("examples"))
      .def("needs", &Learner::needs)
      .def("add", &Learner::add, py::arg("features"), py::arg("of_class"))
      .def("finish", &Learner::finish, py::arg("in_use").none(true));
}

}  // namespace intaglio::python
