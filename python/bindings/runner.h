// A model with a session: what Python runs.
#pragma once

#include <pybind11/numpy.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/loaded_model.h"
#include "tools/sample_checks.h"

namespace intaglio::python {

// Raises ValueError where no session runs with so many.
void check_threads(int32_t threads);

// Its arrays are views of the model's and the session's memory, which they keep alive: also where the session has been
// replaced. Not for several threads at once.
class Runner : public std::enable_shared_from_this<Runner> {
 public:
  // A copy of `bytes`, which `name` stands for in messages.
  Runner(const pybind11::buffer& bytes, const std::string& name);

  // The next run is of a session with these, with the inputs of the one before. Refused where states hold a sequence, which
  // it would lose: reset() ends one. An empty name is the best instruction set of this machine.
  void set_execution(int32_t threads, const std::string& isa);

  pybind11::array bytes();     // the file; not to be written
  pybind11::str name() const;  // bytes that are no UTF-8 as Python keeps those of paths
  // A dict for each tensor: name, shape, dtype, scale, zero_point; of an input that takes pictures also picture.
  pybind11::list inputs() const;
  pybind11::list outputs() const;
  pybind11::list states() const;
  const tools::LoadedModel& file() const { return file_; }
  // How its sessions run: threads and instruction sets.
  const SessionOptions& execution() const { return options_; }
  int32_t node_count() const { return file_.model().node_count(); }

  // Input `i` as the present session holds it, to be written.
  pybind11::array input(int32_t i);
  // Output `i` as the last run left it, not to be written: the next run changes it.
  pybind11::array output(int32_t i);
  // Output `i` as new float32 numbers: int8 codes times their scale.
  pybind11::array_t<float> real_output(int32_t i);
  // How many places of a run hold one and the same sample, if these inputs are filled with pictures: one flag an input.
  int32_t equal_places(const std::vector<bool>& pictures) const;
  // Real values into input `i`: an int8 one takes them by its scale. What is wrong with them, where they cannot be meant; each
  // input says it once, and "" afterwards.
  std::string fill_values(int32_t i, const pybind11::array_t<float, pybind11::array::c_style>& values);
  // A picture [h, w, c] or [h, w] into input `i`, by its recipe.
  void fill_picture(int32_t i, const pybind11::array_t<uint8_t, pybind11::array::c_style>& pixels);
  // Runs the nodes before the last layer with weights, and gives what that reads: int8 codes (intaglio/last_layer.h).
  pybind11::array features();
  void run();    // without the interpreter's lock
  void reset();  // states have their initial values again
  std::string kernel(int32_t node);

 private:
  Session& session();
  pybind11::array view_of(const TensorView& view, bool writable);

  tools::LoadedModel file_;
  std::vector<std::optional<tools::InputUnit>> units_;  // of each input, until something was wrong
  SessionOptions options_;
  std::shared_ptr<tools::LoadedSession> session_;
  bool in_sequence_ = false;  // the states are those of a run
};

}  // namespace intaglio::python
