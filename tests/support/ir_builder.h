// An OpenVINO IR that a test makes: the .xml as text, the .bin as bytes.
#pragma once

#include <cstring>

#include "importers/import.h"

namespace intaglio::test {

using IrDims = std::vector<int64_t>;

inline std::string joined(const IrDims& dims) {
  std::string text;
  for (const int64_t dim : dims) text += (text.empty() ? "" : ", ") + std::to_string(dim);
  return text;
}

// An IR in memory: layers with one output each.
class Ir {
 public:
  // A dimension of -1 is open.
  int input(const std::string& name, const IrDims& dims, const std::string& type = "f32") {
    return layer("Parameter", name, {}, dims, "shape=\"" + joined(dims) + "\" element_type=\"" + type + "\"",
                 "opset1",
                 type == "f32"   ? "FP32"
                 : type == "i8"  ? "I8"
                 : type == "i16" ? "I16"
                                 : "U8");
  }
  template <typename T>
  int constant(const char* type, const IrDims& dims, const std::vector<T>& values) {
    const size_t offset = weights_.size(), size = values.size() * sizeof(T);
    weights_.resize(offset + size);
    std::memcpy(weights_.data() + offset, values.data(), size);
    return layer("Const", "c" + std::to_string(layers_), {}, dims,
                 "element_type=\"" + std::string(type) + "\" shape=\"" + joined(dims) + "\" offset=\"" +
                     std::to_string(offset) + "\" size=\"" + std::to_string(size) + "\"");
  }
  int floats(const IrDims& dims, const std::vector<float>& values) { return constant("f32", dims, values); }
  int integers(const std::vector<int64_t>& values) {
    return constant("i64", {static_cast<int64_t>(values.size())}, values);
  }
  int layer(const std::string& type, const std::string& name, const std::vector<int>& inputs,
            const IrDims& dims, const std::string& data = "", const std::string& version = "opset1",
            const std::string& precision = "FP32") {
    const std::string id = std::to_string(layers_);
    text_ +=
        "<layer id=\"" + id + "\" name=\"" + name + "\" type=\"" + type + "\" version=\"" + version + "\">";
    if (!data.empty()) text_ += "<data " + data + "/>";
    text_ += "<input>";
    for (size_t i = 0; i < inputs.size(); ++i) {
      text_ += "<port id=\"" + std::to_string(i) + "\"/>";
      edges_ += "<edge from-layer=\"" + std::to_string(inputs[i]) + "\" from-port=\"9\" to-layer=\"" + id +
                "\" to-port=\"" + std::to_string(i) + "\"/>";
    }
    text_ += "</input>";
    if (type != "Result") {
      text_ += "<output><port id=\"9\" precision=\"" + precision + "\">";
      for (const int64_t dim : dims) text_ += "<dim>" + std::to_string(dim) + "</dim>";
      text_ += "</port></output>";
    }
    text_ += "</layer>";
    return layers_++;
  }
  void output(int from) { layer("Result", "result", {from}, {}); }
  std::string xml() const {
    return "<?xml version=\"1.0\"?><net name=\"n\" version=\"11\"><layers>" + text_ + "</layers><edges>" +
           edges_ + "</edges></net>";
  }
  ImportOptions options() const {
    ImportOptions options;
    options.weights = {weights_.data(), weights_.size()};
    return options;
  }
  const std::vector<uint8_t>& weights() const { return weights_; }

 private:
  int layers_ = 0;
  std::string text_, edges_;
  std::vector<uint8_t> weights_;
};

}  // namespace intaglio::test
