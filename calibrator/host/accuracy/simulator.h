// Simulates quantizations that int8 cannot hold: more bits, another rounding, exponential codes,
// asymmetric weights.
//
// It computes on codes. Nodes whose slots can all be deployed run as the int8 model's nodes do, with the
// operators' own kernels; the others take their inputs' codes, compute their real result (layers with weights
// in exact products, functions of one variable in double, the rest as the FP32 operator does), and round it
// as the slot says. Without recoveries: the figures compare with those of a model calibrated without them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "calibrator/bake/graph.h"
#include "calibrator/calibration.h"
#include "calibrator/host/system/files.h"
#include "calibrator/host/system/host_arena.h"
#include "calibrator/host/system/outcome.h"

namespace intaglio {

class ExactLayer;

class Simulator {
 public:
  // Ranges come from what the calibrator has seen; it, and the model it was made for, outlive the simulator.
  // With `exact` every layer with weights is computed in exact products, even where int8 kernels could.
  static Outcome<std::unique_ptr<Simulator>> create(Calibrator& calibrator, bool exact = false);
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;
  ~Simulator();

  // Runs the sample that stands in `fp32`, a session of the FP32 model; its inputs are left as they were.
  // `on_node(node, tensor)` is called behind each node of model() while its outputs stand in session().
  template <typename OnNode>
  void run(const Session& fp32, OnNode&& on_node) {
    start(fp32);
    for (int32_t n = 0; n < model_.node_count(); ++n) {
      run_node(n);
      on_node(n);
    }
  }

  // The network that runs: int8 where that can be deployed, and float tensors that hold only codes' values.
  const Model& model() const { return model_; }
  Session& session() { return session_; }
  // Whether node `n` of model() is simulated.
  bool is_simulated(int32_t n) const { return simulated_[static_cast<size_t>(n)] >= 0; }
  // The codes of a tensor of the FP32 model that a simulated node has written.
  const std::vector<int64_t>& codes(int32_t tensor) const { return codes_[static_cast<size_t>(tensor)]; }
  const SlotMap& slots() const { return calibration_.memory.slots.map; }
  // Node of the FP32 model that node `n` of model() computes; -1 for a border.
  int32_t source(int32_t n) const { return sources_[static_cast<size_t>(n)]; }

 private:
  explicit Simulator(Calibration& calibration);
  Error prepare(bool exact);
  Error find_simulated(bool exact);
  Error bake_rest();
  Error open(const Graph& graph);
  void make_layers();

  void start(const Session& fp32);
  void run_node(int32_t n);
  std::vector<int64_t> read(int32_t n, int32_t source, size_t input) const;
  std::vector<double> compute(int32_t n, int32_t source, const std::vector<std::vector<int64_t>>& inputs);
  std::vector<double> run_float(int32_t n, int32_t source, const std::vector<std::vector<int64_t>>& inputs);
  const QuantConfig& input_config(int32_t source, size_t input) const {
    return calibration_.memory.slots.map.slots.config(
        calibration_.memory.slots.map.input_slot(source, input));
  }

  Calibration& calibration_;
  const Model& fp32_;
  HostArena arena_;
  std::vector<int32_t> float_nodes_;     // simulated ones and those that the user keeps
  std::vector<bool> is_simulated_node_;  // of the FP32 model
  std::vector<int32_t> simulated_, sources_;
  std::vector<std::unique_ptr<ExactLayer>> layers_;  // of each node of the FP32 model that has one
  std::vector<std::vector<int64_t>> codes_;          // of each tensor of the FP32 model
  FileBytes session_memory_;
  Model model_;
  Session session_;
};

}  // namespace intaglio
