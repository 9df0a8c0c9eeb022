// Attributes of generated ONNX nodes that must fit one another: trees, machines, linear models, and the bodies of loops and
// branches.
#pragma once

#include <string>
#include <vector>

#include "tests/support/choices.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test {

class OnnxComposites {
 public:
  // `features`: the last dimension of what the node reads.
  OnnxComposites(Choices& choices, OnnxBuilder::Node& node, int64_t features)
      : c_(choices), node_(node), features_(features < 1 || features > 64 ? 3 : features) {}

  // By the name that a pattern gives; whether it is one of these.
  bool add(const std::string& name) {
    if (name == "*trees_class" || name == "*trees_target") return trees(name.substr(7)), true;
    if (name == "*linear") return linear(), true;
    if (name == "*machine") return machine(), true;
    if (name == "*branches") return branches(), true;
    if (name == "*loop") return body(true), true;
    if (name == "*scan") return body(false), set(node_, "num_scan_inputs", c_.number(1, 1)), true;
    return false;
  }

 private:
  using Ints = std::vector<int64_t>;

  // Now and then of another length.
  void put(const std::string& name, Ints list) {
    if (c_.one_in(48)) list.resize(c_.below(list.size() + 2));
    if (c_.one_in(48) && !list.empty()) list[c_.below(list.size())] = c_.number(-1, 9);
    set(node_, name, list);
  }
  void put_reals(const std::string& name, size_t count) {
    if (c_.one_in(48)) count = c_.below(count + 2);
    set(node_, name, c_.reals(count));
  }
  void put_strings(const std::string& name, const std::vector<std::string>& list) {
    auto& attribute = node_.attribute.add();
    attribute.name = name;
    attribute.type = onnx_file::AttributeProto::STRINGS;
    for (const std::string& word : list) attribute.strings.push_back(word);
  }
  void transform() {
    const std::vector<const char*> known{"NONE", "LOGISTIC", "SOFTMAX", "PROBIT", "?"};
    if (c_.one_in(3)) set(node_, "post_transform", c_.of(known));
  }
  // Labels of the classes, whose number it gives.
  int64_t classes(const char* numbers) {
    const int64_t count = c_.number(2, 4);
    const auto few = static_cast<size_t>(count < 0 || count > 16 ? 2 : count);
    if (c_.one_in(3)) {
      put_strings("classlabels_strings", std::vector<std::string>(few, "of a class"));
    } else {
      Ints labels;
      for (size_t i = 0; i < few; ++i)
        labels.push_back(c_.one_in(2) ? c_.number(0, 9) : static_cast<int64_t>(i));
      put(numbers, labels);
    }
    return static_cast<int64_t>(few);
  }

  // Each a comparison with two leaves, or a leaf at one side and such a tree at the other.
  void trees(const std::string& prefix) {
    const std::vector<std::string> modes{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ"};
    const std::string& mode = c_.of(modes);
    const bool is_class = prefix == "class";
    const int64_t outputs = is_class ? classes("classlabels_int64s") : c_.number(1, 3);
    if (!is_class) set(node_, "n_targets", outputs);
    Ints ids, numbers, features, yes, no, leaf_trees, leaves, places;
    std::vector<std::string> kinds;
    const int64_t count = c_.between(1, 3);
    for (int64_t tree = 0; tree < count; ++tree) {
      const int64_t depth = c_.between(1, 3);
      for (int64_t n = 0; n < 2 * depth + 1; ++n) {
        const bool is_leaf = n % 2 == 1 || n == 2 * depth;
        ids.push_back(tree);
        numbers.push_back(n);
        features.push_back(c_.number(0, features_ - 1));
        yes.push_back(is_leaf ? 0 : n + 1);
        no.push_back(is_leaf ? 0 : n + 2);
        kinds.push_back(is_leaf ? "LEAF" : c_.one_in(32) ? c_.of(modes) : mode);
        if (!is_leaf || c_.one_in(16)) continue;
        leaf_trees.push_back(tree);
        leaves.push_back(n);
        places.push_back(c_.one_in(2) ? 0
                                      : static_cast<int64_t>(c_.below(
                                            static_cast<size_t>(outputs < 1 || outputs > 8 ? 1 : outputs))));
      }
    }
    put("nodes_treeids", ids);
    put("nodes_nodeids", numbers);
    put("nodes_featureids", features);
    put("nodes_truenodeids", yes);
    put("nodes_falsenodeids", no);
    put_reals("nodes_values", ids.size());
    put_strings("nodes_modes", kinds);
    put(prefix + "_treeids", leaf_trees);
    put(prefix + "_nodeids", leaves);
    put(prefix + "_ids", places);
    put_reals(prefix + "_weights", places.size());
    if (c_.one_in(4)) put_reals("base_values", static_cast<size_t>(outputs < 0 || outputs > 8 ? 1 : outputs));
    if (!is_class && c_.one_in(4)) set(node_, "aggregate_function", c_.one_in(2) ? "AVERAGE" : "MIN");
    transform();
  }

  void linear() {
    const bool is_class = node_.op_type == "LinearClassifier";
    const int64_t outputs = is_class ? classes("classlabels_ints") : c_.between(1, 3);
    const int64_t rows = is_class && outputs == 2 && c_.one_in(2) ? 1 : outputs;
    if (!is_class) set(node_, "targets", c_.one_in(24) ? c_.number(1, 3) : outputs);
    put_reals("coefficients", static_cast<size_t>(rows * features_));
    if (!c_.one_in(3)) put_reals("intercepts", static_cast<size_t>(rows));
    transform();
  }

  void machine() {
    const bool is_class = node_.op_type == "SVMClassifier";
    const std::vector<const char*> kinds{"LINEAR", "POLY", "RBF", "SIGMOID", "?"};
    set(node_, "kernel_type", c_.of(kinds));
    if (!c_.one_in(4)) put_reals("kernel_params", 3);
    const int64_t groups = is_class ? classes("classlabels_ints") : 1;
    Ints sizes;
    int64_t vectors = 0;
    for (int64_t i = 0; i < groups; ++i) {
      sizes.push_back(c_.between(c_.one_in(8) ? 0 : 1, 2));
      vectors += sizes.back();
    }
    if (is_class) put("vectors_per_class", sizes);
    if (!is_class) set(node_, "n_supports", c_.one_in(24) ? c_.number(0, 3) : vectors);
    const int64_t pairs = is_class ? groups * (groups - 1) / 2 : 1, rows = is_class ? groups - 1 : 1;
    put_reals("support_vectors", static_cast<size_t>(vectors * features_));
    put_reals("coefficients", static_cast<size_t>(rows * vectors));
    put_reals("rho", static_cast<size_t>(pairs));
    if (is_class && c_.one_in(4)) {
      put_reals("prob_a", static_cast<size_t>(pairs));
      put_reals("prob_b", static_cast<size_t>(pairs));
    }
    if (!is_class && c_.one_in(4)) set(node_, "one_class", int64_t{1});
    transform();
  }

  onnx_file::GraphProto& graph(const char* name) {
    auto& attribute = node_.attribute.add();
    attribute.name = name;
    attribute.type = onnx_file::AttributeProto::GRAPH;
    return attribute.g.make();
  }
  // The work of a body on one value; the result's name.
  std::string step(onnx_file::GraphProto& body, const std::string& x, const std::string& y) {
    const std::vector<std::string> ops{"Relu",     "Tanh",      "Add",  "Mul",
                                       "Identity", "Transpose", "Less", "Shape"};
    const std::string& op = c_.of(ops);
    const bool is_binary = op == "Add" || op == "Mul" || op == "Less";
    append_node(
        body, op,
        is_binary ? std::vector<std::string>{x, c_.one_in(8) ? "nothing" : x} : std::vector<std::string>{x},
        y);
    return y;
  }

  // Branches of an If: each reads what stands outside.
  void branches() {
    const std::string from = node_.input.count() > 1 ? node_.input[1] : "x1", name = node_.output[0];
    if (node_.input.count() > 1) node_.input.pop_back();
    for (const char* const side : {"then_branch", "else_branch"}) {
      onnx_file::GraphProto& branch = graph(side);
      const std::string y = step(branch, from, name + side);
      for (int i = 0; i < node_.output.count() || (i < 3 && c_.one_in(32)); ++i) branch.output.add().name = y;
    }
  }

  // A body of a Loop (the run's number, whether to go on, states), or of a Scan (states, slices).
  void body(bool is_loop) {
    onnx_file::GraphProto& body = graph("body");
    const int first = is_loop ? 2 : 0;
    for (int i = 0; i < node_.input.count(); ++i) body.input.add().name = "in" + std::to_string(i);
    if (c_.one_in(32)) body.input.add().name = "more";
    if (is_loop) body.output.add().name = c_.one_in(16) ? "in0" : "in1";
    for (int i = first; i < node_.input.count() - (is_loop ? 0 : 1); ++i)
      body.output.add().name =
          step(body, "in" + std::to_string(c_.one_in(8) ? static_cast<int>(c_.below(4)) : i),
               "state" + std::to_string(i));
    if (is_loop ? c_.one_in(2) : !c_.one_in(8))
      body.output.add().name = step(body, "in" + std::to_string(node_.input.count() - 1), "row");
    while (node_.output.count() < body.output.count() - (is_loop ? 1 : 0) && !c_.one_in(8))
      node_.output.push_back(node_.output[0] + "_" + std::to_string(node_.output.count()));
  }

  Choices& c_;
  OnnxBuilder::Node& node_;
  int64_t features_;
};

}  // namespace intaglio::test
