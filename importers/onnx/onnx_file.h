// The messages of an ONNX file, and the file's bytes read and written.
//
// Members have the names of the specification (onnx.proto), and each message lists their numbers: fields(message, visitor) calls
// visitor(1, message.name) for each in the order of the numbers, or visitor.packed(4, message.float_data) where a list is written as
// one block. Reader, writer and the fuzzer's mutator are such visitors. Fields that no importer asks for are skipped.
//
// What a file leaves out reads as 0, "" or an empty list, and what is so is not written; members with has() and std::optional say
// for themselves whether they are there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace intaglio::onnx_file {

// A list of numbers or strings. ONNX numbers inputs and outputs with an int.
template <typename T>
class List : public std::vector<T> {
 public:
  using Base = std::vector<T>;
  using Base::Base;
  List() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a plain list is one
  List(Base values) : Base(std::move(values)) {}
  int count() const { return static_cast<int>(this->size()); }
  template <typename Index>
  T& operator[](Index i) {
    return Base::operator[](static_cast<size_t>(i));
  }
  template <typename Index>
  const T& operator[](Index i) const {
    return Base::operator[](static_cast<size_t>(i));
  }
};

// A list of messages, which stay where they are while others are added.
template <typename T>
class Messages {
  using Pointers = std::vector<std::unique_ptr<T>>;

  template <typename Of, typename At>
  struct Iterator {
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = Of*;
    using reference = Of&;
    Of& operator*() const { return **at; }
    Of* operator->() const { return at->get(); }
    Iterator& operator++() { return ++at, *this; }
    Iterator operator++(int) { return Iterator{at++}; }
    bool operator==(const Iterator& other) const { return at == other.at; }
    bool operator!=(const Iterator& other) const { return at != other.at; }
    At at;
  };

 public:
  using value_type = T;
  using iterator = Iterator<T, typename Pointers::iterator>;
  using const_iterator = Iterator<const T, typename Pointers::const_iterator>;

  Messages() = default;
  Messages(Messages&&) noexcept = default;
  Messages& operator=(Messages&&) noexcept = default;
  Messages(const Messages& other) {
    for (const T& message : other) add(message);
  }
  Messages& operator=(const Messages& other) { return *this = Messages(other); }

  size_t size() const { return list_.size(); }
  int count() const { return static_cast<int>(list_.size()); }
  bool empty() const { return list_.empty(); }
  iterator begin() { return {list_.begin()}; }
  iterator end() { return {list_.end()}; }
  const_iterator begin() const { return {list_.begin()}; }
  const_iterator end() const { return {list_.end()}; }
  template <typename Index>
  T& operator[](Index i) {
    return *list_[static_cast<size_t>(i)];
  }
  template <typename Index>
  const T& operator[](Index i) const {
    return *list_[static_cast<size_t>(i)];
  }
  T& back() { return *list_.back(); }
  const T& back() const { return *list_.back(); }
  T& add(T message = {}) { return *list_.emplace_back(std::make_unique<T>(std::move(message))); }
  void pop_back() { list_.pop_back(); }
  void cut(size_t count) { list_.resize(count); }  // to its first ones
  void clear() { list_.clear(); }
  void swap(size_t a, size_t b) { list_[a].swap(list_[b]); }
  iterator erase(iterator first, iterator last) { return {list_.erase(first.at, last.at)}; }

 private:
  Pointers list_;
};

// A message that may be there. It reads as an empty one where it is not.
template <typename T>
class Child {
 public:
  Child() = default;
  Child(Child&&) noexcept = default;
  Child& operator=(Child&&) noexcept = default;
  Child(const Child& other) : own_(other.has() ? std::make_unique<T>(*other) : nullptr) {}
  Child& operator=(const Child& other) { return *this = Child(other); }

  bool has() const { return own_ != nullptr; }
  const T& operator*() const {
    static const T empty;
    return own_ == nullptr ? empty : *own_;
  }
  const T* operator->() const { return &**this; }
  T& make() {  // where it is not there yet
    if (own_ == nullptr) own_ = std::make_unique<T>();
    return *own_;
  }
  void reset() { own_.reset(); }

 private:
  std::unique_ptr<T> own_;
};

// Data of a tensor: in the bytes of the file that was read, or its own. Copies share them.
class Data {
 public:
  bool has() const { return has_; }
  size_t size() const { return view_.size(); }
  const char* data() const { return view_.data(); }
  std::string_view view() const { return view_; }
  void see(std::string_view bytes) { *this = Data(nullptr, bytes); }  // which must outlive this
  void set(std::string bytes) {
    auto own = std::make_shared<const std::string>(std::move(bytes));
    const std::string_view all = *own;
    *this = Data(std::move(own), all);
  }
  void set(const void* bytes, size_t size) { set(std::string(static_cast<const char*>(bytes), size)); }
  void reset() { *this = Data(); }
  Data() = default;

 private:
  Data(std::shared_ptr<const std::string> own, std::string_view view)
      : own_(std::move(own)), view_(view), has_(true) {}
  std::shared_ptr<const std::string> own_;
  std::string_view view_;
  bool has_ = false;
};

// A message of which only counts that it is there, and the base of all others.
struct Message {
  template <typename M, typename Visitor>
  static void fields(M&, Visitor&) {}
};

template <typename M, typename Visitor>
void describe(M& message, Visitor& visitor) {
  std::remove_const_t<M>::fields(message, visitor);
}

struct StringStringEntryProto : Message {
  std::string key, value;

  template <typename M, typename Visitor>
  static void fields(M& m, Visitor& field) {
    field(1, m.key);
    field(2, m.value);
  }
};

struct OperatorSetIdProto : Message {
  std::string domain;
  int64_t version = 0;

  template <typename M, typename Visitor>
  static void fields(M& m, Visitor& field) {
    field(1, m.domain);
    field(2, m.version);
  }
};

struct TensorProto : Message {
  enum DataType : int32_t {
    UNDEFINED,
    FLOAT,
    UINT8,
    INT8,
    UINT16,
    INT16,
    INT32,
    INT64,
    STRING,
    BOOL,
    FLOAT16,
    DOUBLE,
    UINT32,
    UINT64,
    COMPLEX64,
    COMPLEX128,
    BFLOAT16,
  };
  enum DataLocation : int32_t { DEFAULT, EXTERNAL };

  List<int64_t> dims;
  int32_t data_type = UNDEFINED;  // of DataType, or newer
  Child<Message> segment;
  List<float> float_data;
  List<int32_t> int32_data;
  List<std::string> string_data;
  List<int64_t> int64_data;
  std::string name;
  Data raw_data;
  List<double> double_data;
  List<uint64_t> uint64_data;
  Messages<StringStringEntryProto> external_data;
  DataLocation data_location = DEFAULT;

  template <typename M, typename Visitor>
  static void fields(M& m, Visitor& field) {
    field(1, m.dims);
    field(2, m.data_type);
    field(3, m.segment);
    field.packed(4, m.float_data);
    field.packed(5, m.int32_data);
    field(6, m.string_data);
    field.packed(7, m.int64_data);
    field(8, m.name);
    field(9, m.raw_data);
    field.packed(10, m.double_data);
    field.packed(11, m.uint64_data);
    field(13, m.external_data);
    field(14, m.data_location);
  }
};

struct TensorShapeProto : Message {
  struct Dimension : Message {
    std::optional<int64_t> dim_value;  // at most one of the two
    std::optional<std::string> dim_param;

    template <typename M, typename Visitor>
    static void fields(M& m, Visitor& field) {
      field(1, m.dim_value);
      field(2, m.dim_param);
    }
  };
  Messages<Dimension> dim;

  template <typename M, typename Visitor>
  static void fields(M& m, Visitor& field) {
    field(1, m.dim);
  }
};

struct TypeProto : Message {
  struct Tensor : Message {
    int32_t elem_type = 0;  // of TensorProto::DataType
    Child<TensorShapeProto> shape;

    template <typename M, typename Visitor>
    static void fields(M& m, Visitor& field) {
      field(1, m.elem_type);
      field(2, m.shape);
    }
  };
  Child<Tensor> tensor_type;  // absent: a sequence, a map or another type that no importer takes

  template <typename M, typename Visitor>
  static void fields(M& m, Visitor& field) {
    field(1, m.tensor_type);
  }
};

struct ValueInfoProto : Message {
  std::string name;
  Child<TypeProto> type;

  template <typename M, typename Visitor>
  static void fields(M& m, Visitor& field) {
    field(1, m.name);
    field(2, m.type);
  }
};

struct AttributeProto;

struct NodeProto : Message {
  List<std::string> input, output;
  std::string name, op_type, domain;
  Messages<AttributeProto> attribute;

  template <typename M, typename Visitor>
  static void fields(M& m, Visitor& field) {
    field(1, m.input);
    field(2, m.output);
    field(3, m.name);
    field(4, m.op_type);
    field(5, m.attribute);
    field(7, m.domain);
  }
};

struct GraphProto : Message {
  Messages<NodeProto> node;
  std::string name;
  Messages<TensorProto> initializer;
  Messages<ValueInfoProto> input, output;
  Messages<Message> sparse_initializer;

  template <typename M, typename Visitor>
  static void fields(M& m, Visitor& field) {
    field(1, m.node);
    field(2, m.name);
    field(5, m.initializer);
    field(11, m.input);
    field(12, m.output);
    field(15, m.sparse_initializer);
  }
};

struct AttributeProto : Message {
  enum AttributeType : int32_t {
    UNDEFINED,
    FLOAT,
    INT,
    STRING,
    TENSOR,
    GRAPH,
    FLOATS,
    INTS,
    STRINGS,
    TENSORS,
    GRAPHS,
    SPARSE_TENSOR,
    SPARSE_TENSORS,
    TYPE_PROTO,
    TYPE_PROTOS,
  };

  std::string name, ref_attr_name;
  AttributeType type = UNDEFINED;
  std::optional<float> f;
  std::optional<int64_t> i;
  std::optional<std::string> s;
  Child<TensorProto> t;
  Child<GraphProto> g;
  List<float> floats;
  List<int64_t> ints;
  List<std::string> strings;

  template <typename M, typename Visitor>
  static void fields(M& m, Visitor& field) {
    field(1, m.name);
    field(2, m.f);
    field(3, m.i);
    field(4, m.s);
    field(5, m.t);
    field(6, m.g);
    field(7, m.floats);
    field(8, m.ints);
    field(9, m.strings);
    field(20, m.type);
    field(21, m.ref_attr_name);
  }
};

struct FunctionProto : Message {
  std::string name, domain;
  List<std::string> input, output, attribute;
  Messages<NodeProto> node;
  Messages<AttributeProto> attribute_proto;

  template <typename M, typename Visitor>
  static void fields(M& m, Visitor& field) {
    field(1, m.name);
    field(4, m.input);
    field(5, m.output);
    field(6, m.attribute);
    field(7, m.node);
    field(10, m.domain);
    field(11, m.attribute_proto);
  }
};

struct ModelProto : Message {
  int64_t ir_version = 0;
  std::string producer_name;
  Child<GraphProto> graph;
  Messages<OperatorSetIdProto> opset_import;
  Messages<StringStringEntryProto> metadata_props;
  Messages<FunctionProto> functions;

  template <typename M, typename Visitor>
  static void fields(M& m, Visitor& field) {
    field(1, m.ir_version);
    field(2, m.producer_name);
    field(7, m.graph);
    field(8, m.opset_import);
    field(14, m.metadata_props);
    field(25, m.functions);
  }
};

inline constexpr uint64_t kMaxFileBytes = INT32_MAX;

// Bytes as text, which messages are read from.
inline std::string_view text_of(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// No value where the bytes are damaged or cut short, where messages stand more than 32 deep in one another, or where a file has
// more than 2 GB. Data of tensors stay in `bytes`, which must outlive the model. `take` hears of memory before it is taken, as
// memory_size() counts it; what it throws ends the reading.
std::optional<ModelProto> parse_model(std::string_view bytes,
                                      const std::function<void(uint64_t bytes)>& take = {});

// Fields in the order of their numbers, as other writers have them: the same message gives the same bytes.
std::string serialize(const ModelProto& model);

// The size of what serialize() gives.
uint64_t byte_size(const ModelProto& model);

// Bytes of memory that a copy takes. It shares the data of tensors.
uint64_t memory_size(const GraphProto& graph);
uint64_t memory_size(const NodeProto& node);
uint64_t memory_size(const AttributeProto& attribute);

}  // namespace intaglio::onnx_file
