// Trees of ai.onnx.ml. Each node's comparison is a number 0 or 1, and a product of all of a tree with a matrix counts for each
// leaf how many of its path hold: the leaf is reached where all do.
#include <algorithm>
#include <cmath>
#include <map>

#include "importers/onnx/onnx_classical.h"

namespace intaglio::importers {
namespace {

constexpr size_t kMostTreeNodes = size_t{1} << 16;
constexpr size_t kMostTreeNumbers = size_t{1} << 22;  // of a constant that is made of the trees

using TreePlace = std::pair<int64_t, int64_t>;  // a tree and a node's number in it

// All trees with as many comparisons and leaves as the largest has; those that a tree lacks are never reached.
struct Trees {
  size_t count = 0, comparisons = 0, leaves = 0;  // the latter of each tree
  std::string mode;                               // of all comparisons
  std::vector<int64_t> features;                  // [count, comparisons]
  std::vector<float> values;                      // likewise: what is compared with
  std::vector<float>
      paths;  // [count, comparisons, leaves]; 1: it is to hold, -1: it is not, 0: it is not on the path
  std::vector<float> least;  // [count, leaves]: the whole path holds where the count is beyond
  std::map<TreePlace, size_t> place_of_leaf;  // in [count, leaves]
};

struct Nodes {
  std::vector<int64_t> trees, numbers, features, yes, no;
  std::vector<float> values;
  std::vector<std::string> modes;
};

Nodes read_nodes(OnnxDecomposer& s) {
  Nodes nodes{s.list("nodes_treeids"),     s.list("nodes_nodeids"),      s.list("nodes_featureids"),
              s.list("nodes_truenodeids"), s.list("nodes_falsenodeids"), s.reals("nodes_values"),
              s.strings("nodes_modes")};
  for (const char* const name : {"nodes_hitrates", "nodes_missing_value_tracks_true"}) s.ignore(name);
  const size_t count = nodes.trees.size();
  for (const size_t size : {nodes.numbers.size(), nodes.features.size(), nodes.yes.size(), nodes.no.size(),
                            nodes.values.size(), nodes.modes.size()})
    if (size != count) fail("its lists of nodes have ", count, " and ", size, " entries");
  if (count < 1 || count > kMostTreeNodes)
    fail("it has ", count, " nodes; 1 to ", kMostTreeNodes, " are supported");
  return nodes;
}

// The nodes as a graph: children by their indices, and the comparisons and leaves of each tree counted.
class Forest {
 public:
  Forest(const Nodes& nodes, int64_t columns) : nodes_(nodes), number_(nodes.trees.size()) {
    for (size_t i = 0; i < nodes.trees.size(); ++i)
      if (!places_.emplace(TreePlace{nodes.trees[i], nodes.numbers[i]}, i).second)
        fail("its tree ", nodes.trees[i], " has two nodes ", nodes.numbers[i]);
    std::vector<bool> has_parent(nodes.trees.size(), false);
    for (size_t i = 0; i < nodes.trees.size(); ++i) {
      Tree& tree = trees_[nodes.trees[i]];
      number_[i] = is_leaf(i) ? tree.leaves++ : tree.comparisons++;
      if (is_leaf(i)) continue;
      if (made_.mode.empty()) made_.mode = nodes.modes[i];
      if (nodes.modes[i] != made_.mode) fail("its nodes compare in two ways, which is not supported");
      if (nodes.features[i] < 0 || nodes.features[i] >= columns)
        fail("it compares feature ", nodes.features[i], " of ", columns);
      for (const bool holds : {true, false}) {
        const size_t next = child(i, holds);
        if (has_parent[next])
          fail("node ", nodes.numbers[next], " of tree ", nodes.trees[next], " has two parents");
        has_parent[next] = true;
      }
    }
    for (size_t i = 0; i < nodes.trees.size(); ++i) {
      if (has_parent[i]) continue;
      if (trees_[nodes.trees[i]].has_root) fail("its tree ", nodes.trees[i], " has two roots");
      trees_[nodes.trees[i]].has_root = true;
      roots_.push_back(i);
    }
  }

  Trees make(const OnnxDecomposer& s) {
    made_.count = trees_.size();
    size_t next = 0;
    for (auto& [id, tree] : trees_) {
      tree.index = next++;
      made_.comparisons = std::max(made_.comparisons, tree.comparisons);
      made_.leaves = std::max(made_.leaves, tree.leaves);
    }
    if (made_.comparisons < 1 || made_.leaves < 1)
      fail("its trees have ", made_.comparisons, " comparisons and ", made_.leaves,
           " leaves at most; 1 are needed");
    if (made_.leaves > kMostTreeNumbers / made_.comparisons / made_.count)
      fail("it has ", made_.count, " trees of up to ", made_.comparisons, " comparisons and ", made_.leaves,
           " leaves; their product may be ", kMostTreeNumbers);
    s.check_room(made_.count * made_.comparisons * made_.leaves);
    made_.features.assign(made_.count * made_.comparisons, 0);
    made_.values.assign(made_.count * made_.comparisons, 0.0f);
    made_.paths.assign(made_.count * made_.comparisons * made_.leaves, 0.0f);
    made_.least.assign(made_.count * made_.leaves, static_cast<float>(made_.comparisons + 1));
    size_t reached = 0;
    for (const size_t root : roots_) reached += walk(root);
    if (reached != nodes_.trees.size()) fail("some of its nodes lead to one another in a ring");
    return std::move(made_);
  }

 private:
  struct Tree {
    size_t index = 0, comparisons = 0, leaves = 0;
    bool has_root = false;
  };
  struct Step {
    size_t node;
    std::vector<std::pair<size_t, bool>> path;  // comparisons of the tree, and whether they hold
  };

  bool is_leaf(size_t i) const { return nodes_.modes[i] == "LEAF"; }
  size_t child(size_t i, bool holds) const {
    const auto found = places_.find({nodes_.trees[i], holds ? nodes_.yes[i] : nodes_.no[i]});
    if (found == places_.end())
      fail("node ", nodes_.numbers[i], " of tree ", nodes_.trees[i], " leads to none");
    return found->second;
  }

  // All nodes of a tree; how many that are.
  size_t walk(size_t root) {
    const size_t tree = trees_.at(nodes_.trees[root]).index;
    std::vector<Step> open{{root, {}}};
    size_t reached = 0;
    for (; !open.empty(); ++reached) {
      const Step step = std::move(open.back());
      open.pop_back();
      const size_t i = step.node;
      if (is_leaf(i)) {
        put_leaf(tree, i, step.path);
        continue;
      }
      made_.features[tree * made_.comparisons + number_[i]] = nodes_.features[i];
      made_.values[tree * made_.comparisons + number_[i]] = nodes_.values[i];
      for (const bool holds : {false, true}) {
        open.push_back({child(i, holds), step.path});
        open.back().path.emplace_back(number_[i], holds);
      }
    }
    return reached;
  }

  void put_leaf(size_t tree, size_t i, const std::vector<std::pair<size_t, bool>>& path) {
    const size_t place = tree * made_.leaves + number_[i];
    made_.place_of_leaf.emplace(TreePlace{nodes_.trees[i], nodes_.numbers[i]}, place);
    float held = 0.0f;
    for (const auto& [comparison, holds] : path) {
      made_.paths[(tree * made_.comparisons + comparison) * made_.leaves + number_[i]] = holds ? 1.0f : -1.0f;
      held += holds ? 1.0f : 0.0f;
    }
    made_.least[place] = held - 0.5f;
  }

  const Nodes& nodes_;
  std::vector<size_t> number_;  // of each node: which comparison, or which leaf, of its tree
  std::map<TreePlace, size_t> places_;
  std::map<int64_t, Tree> trees_;
  std::vector<size_t> roots_;
  Trees made_;
};

const char* comparison_of(const std::string& mode) {
  static constexpr std::pair<const char*, const char*> kModes[] = {{"BRANCH_LEQ", "LessOrEqual"},
                                                                   {"BRANCH_LT", "Less"},
                                                                   {"BRANCH_GTE", "GreaterOrEqual"},
                                                                   {"BRANCH_GT", "Greater"}};
  for (const auto& [name, op] : kModes)
    if (mode == name) return op;
  fail("its comparison ", quoted(mode), " is not supported; BRANCH_LEQ, _LT, _GTE and _GT are");
}

// What the leaves weigh, [count * leaves, outputs], from the lists whose names begin with `prefix`.
std::vector<float> weights_of(OnnxDecomposer& s, const std::string& prefix, const Trees& trees,
                              int64_t outputs, float factor) {
  const auto of = [&](const char* name) { return s.list((prefix + name).c_str()); };
  const std::vector<int64_t> in_trees = of("_treeids"), numbers = of("_nodeids"), ids = of("_ids");
  const std::vector<float> given = s.reals((prefix + "_weights").c_str());
  if (numbers.size() != in_trees.size() || ids.size() != in_trees.size() || given.size() != in_trees.size())
    fail("its lists of leaves' weights have ", in_trees.size(), ", ", numbers.size(), ", ", ids.size(),
         " and ", given.size(), " entries");
  const size_t leaves = trees.count * trees.leaves;
  if (static_cast<size_t>(outputs) > kMostTreeNumbers / leaves)
    fail("it has ", outputs, " outputs of ", leaves, " leaves; their product may be ", kMostTreeNumbers);
  s.check_room(leaves * static_cast<size_t>(outputs));
  std::vector<float> weights(leaves * static_cast<size_t>(outputs), 0.0f);
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto leaf = trees.place_of_leaf.find({in_trees[i], numbers[i]});
    if (leaf == trees.place_of_leaf.end() || ids[i] < 0 || ids[i] >= outputs || !std::isfinite(given[i]))
      fail("the weight ", given[i], " of node ", numbers[i], " of tree ", in_trees[i], " for output ", ids[i],
           " does not fit its leaves");
    weights[leaf->second * static_cast<size_t>(outputs) + static_cast<size_t>(ids[i])] += given[i] * factor;
  }
  return weights;
}

// The sums of the leaves that are reached, [n, outputs].
std::string sums(OnnxDecomposer& s, const char* prefix, int64_t outputs) {
  s.check_inputs(1, 1);
  const Shape x = s.shape(0);
  if (x.size() != 2) fail("its input has the shape ", shape_text(x), "; rank 2 is expected");
  if (outputs < 1) fail("it has ", outputs, " outputs");
  const Nodes nodes = read_nodes(s);
  const Trees trees = Forest(nodes, x[1]).make(s);
  const std::string aggregate = s.string("aggregate_function", "SUM");
  if (aggregate != "SUM" && aggregate != "AVERAGE")
    fail("aggregate_function ", quoted(aggregate), " is not supported; SUM and AVERAGE are");
  const std::vector<float> weights = weights_of(
      s, prefix, trees, outputs, aggregate == "SUM" ? 1.0f : 1.0f / static_cast<float>(trees.count));
  const int64_t n = x[0], count = static_cast<int64_t>(trees.count),
                comparisons = static_cast<int64_t>(trees.comparisons),
                leaves = static_cast<int64_t>(trees.leaves);
  const std::string features =
      s.add("Gather", {s.as_real(s.input(0)), s.integers(trees.features)}, {{{"axis", 1}}, {}, {}, {}});
  const std::string held = s.as_real(s.add(
      comparison_of(trees.mode), {features, s.reshaped(s.numbers(trees.values), {1, count * comparisons})}));
  const std::string of_trees = s.transposed(s.reshaped(held, {n, count, comparisons}), {1, 0, 2});
  const std::string counts =
      s.add("MatMul", {of_trees, s.reshaped(s.numbers(trees.paths), {count, comparisons, leaves})});
  const std::string reached =
      s.as_real(s.add("Greater", {counts, s.reshaped(s.numbers(trees.least), {count, 1, leaves})}));
  std::vector<std::string> inputs{s.reshaped(s.transposed(reached, {1, 0, 2}), {n, count * leaves}),
                                  s.reshaped(s.numbers(weights), {count * leaves, outputs})};
  const std::vector<float> base = s.reals("base_values");
  if (!base.empty() && static_cast<int64_t>(base.size()) != outputs)
    fail("it has ", base.size(), " base_values for ", outputs, " outputs");
  if (!base.empty()) inputs.push_back(s.numbers(base));
  return s.add("Gemm", inputs);
}

void decompose_tree_regressor(OnnxDecomposer& s) {
  s.check_one_output();
  if (const std::string transform = s.string("post_transform", "NONE"); transform != "NONE")
    fail("post_transform ", quoted(transform), " is not supported; NONE is");
  s.end(sums(s, "target", s.integer("n_targets", 1)));
}

void decompose_tree_classifier(OnnxDecomposer& s) {
  const OnnxClasses classes = read_onnx_classes(s, "classlabels_int64s", "classlabels_strings");
  const std::vector<int64_t> ids = s.list("class_ids");
  const bool is_single =
      classes.count == 2 && std::all_of(ids.begin(), ids.end(), [](int64_t id) { return id == 0; });
  const std::vector<float> weights = s.reals("class_weights");
  const bool is_share =
      is_single && std::all_of(weights.begin(), weights.end(), [](float w) { return w >= 0; });
  write_onnx_classes(s, classes, sums(s, "class", is_single ? 1 : classes.count),
                     is_share    ? OnnxSecond::kShare
                     : is_single ? OnnxSecond::kOpposite
                                 : OnnxSecond::kNone);
}

constexpr OnnxDecomposition kOnnxTreeDecompositions[] = {
    {"TreeEnsembleClassifier",
     decompose_tree_classifier,
     {Op::kGather, Op::kFullyConnected, Op::kLess, Op::kTopK},
     "Comparisons of one kind; trees times comparisons times leaves at most 2^22. Classes that are strings are numbered.",
     false,
     false,
     true},
    {"TreeEnsembleRegressor",
     decompose_tree_regressor,
     {Op::kGather, Op::kFullyConnected, Op::kLess},
     "Comparisons of one kind; trees times comparisons times leaves at most 2^22; sums and averages, without a post_transform.",
     false,
     false,
     true},
};

}  // namespace

Span<const OnnxDecomposition> onnx_tree_decompositions() { return kOnnxTreeDecompositions; }

}  // namespace intaglio::importers
