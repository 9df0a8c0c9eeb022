// The mutator of the targets that read ONNX files by their fields: it changes them by name (dimensions, types,
// attributes, names, data), not as bytes, so that each mutation is a file that can be read.
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "importers/onnx/onnx_file.h"
#include "tests/support/random.h"
#include "tests/support/small_onnx_network.h"

namespace {

using namespace intaglio::onnx_file;
using intaglio::test::Random;

// Every field that is set, and a few that are not, each as what changes it.
class Changes {
 public:
  // `names`: copies of nodes, whose names and operators strings become.
  Changes(const Messages<NodeProto>& names, Random& random) : names_(names), random_(random) {}

  template <typename M>
  void list(M& message) {
    describe(message, *this);
  }
  void make_one() {
    if (!changes_.empty()) changes_[random_.bits() % changes_.size()]();
  }

  template <typename T>
  void operator()(uint32_t, T& member) {
    const bool is_there = is_set(member);
    if (is_there || random_.one_in(16)) changes_.push_back([this, &member] { change(member); });
    if (is_there) list_within(member);
  }
  template <typename T>
  void packed(uint32_t number, List<T>& list) {
    (*this)(number, list);
  }

 private:
  template <typename T>
  static bool is_set(const T& value) {
    return value != T();
  }
  template <typename T>
  static bool is_set(const List<T>& list) {
    return !list.empty();
  }
  template <typename T>
  static bool is_set(const Messages<T>& list) {
    return !list.empty();
  }
  template <typename T>
  static bool is_set(const Child<T>& child) {
    return child.has();
  }
  static bool is_set(const Data& data) { return data.has(); }

  template <typename T>
  void list_within(T&) {}
  template <typename T>
  void list_within(Child<T>& child) {
    list(child.make());
  }
  template <typename T>
  void list_within(Messages<T>& messages) {
    for (T& message : messages) list(message);
  }

  size_t pick(size_t count) { return random_.bits() % count; }

  int64_t number(int64_t old) {
    const int64_t odd[] = {0,  1,   -1,  2,     3,         4,         5,         7,        8,
                           16, 255, 256, 65536, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    switch (random_.between(0, 3)) {
      case 0:
        return static_cast<int64_t>(static_cast<uint64_t>(old) + 1);
      case 1:
        return static_cast<int64_t>(static_cast<uint64_t>(old) - 1);
      default:
        return odd[pick(std::size(odd))];
    }
  }
  // A string of the file: a name, so that the graph changes, or an operator.
  std::string name() {
    if (names_.empty() || random_.one_in(8)) return random_.one_in(2) ? "" : "?";
    const NodeProto& node = names_[pick(names_.size())];
    if (random_.one_in(4)) return node.op_type;
    const bool input = !node.input.empty() && (node.output.empty() || random_.one_in(2));
    const List<std::string>& ends = input ? node.input : node.output;
    return ends.empty() ? node.name : ends[pick(ends.size())];
  }
  std::string other_bytes(std::string old) {
    if (old.empty() || random_.one_in(8)) old.resize(old.size() / 2 + random_.bits() % 8);
    if (!old.empty()) old[pick(old.size())] = static_cast<char>(random_.bits());
    return old;
  }

  template <typename T>
  T other(const T& old) {
    if constexpr (std::is_same_v<T, std::string>)
      return random_.one_in(8) ? other_bytes(old) : name();
    else if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(random_.one_in(2) ? random_.any_float() : random_.real(-2, 2));
    else if constexpr (std::is_enum_v<T>)
      return static_cast<T>(random_.between(0, 20));
    else
      return static_cast<T>(number(static_cast<int64_t>(old)));
  }

  template <typename T>
  void change(T& value) {
    value = random_.one_in(6) ? T() : other(value);
  }
  template <typename T>
  void change(std::optional<T>& value) {
    if (random_.one_in(6)) return value.reset();
    if constexpr (std::is_same_v<T, std::string>)
      value = other_bytes(value.value_or(""));
    else
      value = other(value.value_or(T()));
  }
  void change(Data& data) {
    if (random_.one_in(6)) return data.reset();
    data.set(other_bytes(std::string(data.view())));
  }
  template <typename T>
  void change(List<T>& list) {
    if (random_.one_in(6)) return shorten(list);
    if (list.size() > 1 && random_.one_in(4))
      return std::swap(list[pick(list.size())], list[pick(list.size())]);
    if (list.empty() || random_.one_in(4))
      return list.push_back(other(list.empty() ? T() : list[pick(list.size())]));
    T& one = list[pick(list.size())];
    one = other(one);
  }
  template <typename T>
  void change(Child<T>& child) {
    if (random_.one_in(6)) return child.reset();
    child.make();
  }
  template <typename T>
  void change(Messages<T>& list) {
    if (random_.one_in(6)) return shorten(list);
    if (list.size() > 1 && random_.one_in(4)) return list.swap(pick(list.size()), pick(list.size()));
    if (!list.empty()) list.add(list[pick(list.size())]);  // one of them again
  }
  template <typename L>
  void shorten(L& list) {
    if (!list.empty() && !random_.one_in(8))
      list.pop_back();
    else
      list.clear();
  }

  const Messages<NodeProto>& names_;
  Random& random_;
  std::vector<std::function<void()>> changes_;
};

// Those of a graph, and of the graphs in attributes: bodies of loops, branches.
void add_nodes(const Messages<NodeProto>& from, Messages<NodeProto>& nodes, int depth = 0) {
  for (const NodeProto& node : from) {
    nodes.add(node);
    if (depth == 8) continue;
    for (const AttributeProto& attribute : node.attribute) add_nodes(attribute.g->node, nodes, depth + 1);
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  Random random(seed);
  auto model = parse_model(text_of(data, size));
  if (!model || model->graph->node.empty()) model = intaglio::test::small_network().model();
  Messages<NodeProto> names;
  add_nodes(model->graph->node, names);
  for (const FunctionProto& function : model->functions) add_nodes(function.node, names);
  for (int32_t count = random.between(1, 3); count > 0; --count) {
    Changes changes(names, random);
    changes.list(*model);
    changes.make_one();
  }
  const std::string bytes = serialize(*model);
  if (bytes.size() > max_size) return size;
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}
