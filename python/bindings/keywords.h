// Keywords of Python as the tools' choices.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <vector>

#include "importers/import.h"
#include "tools/option_rules.h"
#include "tools/samples.h"

namespace intaglio::python {

// Keywords that were given: None and False are none. Each is taken once, by its type; a value of another one is a TypeError.
class Keywords : public tools::GivenOptions {
 public:
  explicit Keywords(pybind11::dict given) : given_(std::move(given)) {}

  bool has(const char* name) const;
  void take(const char* name, bool& value) const;
  void take(const char* name, int32_t& value) const;
  void take(const char* name, int64_t& value) const;
  void take(const char* name, double& value) const;
  void take(const char* name, std::string& value) const;  // text or a path
  void take(const char* name, std::optional<double>& value) const;
  // Text as its one element.
  void take(const char* name, std::vector<std::string>& value) const;
  void take(const char* name, std::vector<int32_t>& value) const;
  // A number as its one element.
  void take(const char* name, std::vector<float>& value) const;
  pybind11::object get(const char* name) const;  // None where it is not given

  // By the names of the command: "--weight-bits".
  bool knows(const std::string& option) const override;
  bool gives(const std::string& option) const override;
  std::vector<std::string> values(const std::string& option) const override;

 private:
  pybind11::dict given_;
};

// Text, or a path's bytes. A null byte would end it in C: another file would be written.
std::string text_of(const char* name, const pybind11::handle& value);

// Samples of each input: a path, (name, [paths]), or (name, [arrays]) whose first dimension counts samples. The arrays stay while
// the choice is used.
tools::SampleChoice samples_of(const pybind11::list& inputs, const Keywords& keywords);

ImportOptions import_options_of(const Keywords& keywords);

}  // namespace intaglio::python
