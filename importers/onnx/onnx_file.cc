#include "importers/onnx/onnx_file.h"

#include <algorithm>
#include <cstring>
#include <protozero/pbf_reader.hpp>
#include <protozero/varint.hpp>

namespace intaglio::onnx_file {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr int kMaxDepth = 32;  // of messages in one another

std::string_view rest(const pbf_reader& reader) { return {reader.data().data(), reader.data().size()}; }

// Keys and lengths: protozero takes their low 32 bits for the whole.
void check_varint(std::string_view bytes, uint64_t most) {
  const char* at = bytes.data();
  if (protozero::decode_varint(&at, at + bytes.size()) > most) throw protozero::end_of_buffer_exception();
}

// A member of a union replaces the others.
template <typename M>
void keep_one(M&, uint32_t) {}
void keep_one(TensorShapeProto::Dimension& m, uint32_t number) {
  if (number == 1) m.dim_param.reset();
  if (number == 2) m.dim_value.reset();
}

bool is_known(AttributeProto::AttributeType type) {
  return type >= AttributeProto::UNDEFINED && type <= AttributeProto::TYPE_PROTOS;
}
bool is_known(TensorProto::DataLocation location) {
  return location == TensorProto::DEFAULT || location == TensorProto::EXTERNAL;
}

// Memory of what stands behind pointers, about: a message of its own, a text.
constexpr uint64_t kBlockBytes = 2 * sizeof(void*);
template <typename M>
constexpr uint64_t kMessageBytes = sizeof(M) + sizeof(void*) + kBlockBytes;
uint64_t text_bytes(size_t size) { return size < sizeof(std::string) / 2 ? 0 : size + kBlockBytes; }

using Take = std::function<void(uint64_t bytes)>;

template <typename M>
void read_message(std::string_view bytes, M& message, int depth, const Take& take);

// Reads the field of this number, if a message has it and it is of the type that it has there.
class FieldReader {
 public:
  FieldReader(pbf_reader& reader, int depth, const Take& take)
      : reader_(reader), tag_(reader.tag()), depth_(depth), take_(take) {}
  bool is_read() const { return is_read_; }

  template <typename Member>
  void operator()(uint32_t number, Member& member) {
    if (number == tag_ && !is_read_) is_read_ = read(member);
  }
  template <typename T>
  void packed(uint32_t number, List<T>& list) {
    (*this)(number, list);
  }

 private:
  bool has(pbf_wire_type type) const { return reader_.has_wire_type(type); }
  std::string_view bytes() {
    const protozero::data_view view = reader_.get_view();
    return {view.data(), view.size()};
  }
  template <typename T>
  static constexpr pbf_wire_type wire_type() {
    return !std::is_floating_point_v<T> ? pbf_wire_type::varint
           : sizeof(T) == 4             ? pbf_wire_type::fixed32
                                        : pbf_wire_type::fixed64;
  }
  template <typename T>
  T number() {
    if constexpr (std::is_same_v<T, float>)
      return reader_.get_float();
    else if constexpr (std::is_same_v<T, double>)
      return reader_.get_double();
    else
      return static_cast<T>(reader_.get_uint64());
  }

  template <typename T>
  bool read(T& value) {
    if (!has(wire_type<T>())) return false;
    if constexpr (std::is_enum_v<T>) {
      const T read = static_cast<T>(static_cast<int32_t>(reader_.get_uint64()));
      if (!is_known(read)) return false;
      value = read;
    } else {
      value = number<T>();
    }
    return true;
  }
  template <typename T>
  bool read(std::optional<T>& value) {
    if (!has(wire_type<T>())) return false;
    value = number<T>();
    return true;
  }
  bool read(std::string& value) {
    if (!has(pbf_wire_type::length_delimited)) return false;
    const std::string_view read = bytes();
    take_(text_bytes(read.size()));
    value = read;
    return true;
  }
  bool read(std::optional<std::string>& value) {
    if (!has(pbf_wire_type::length_delimited)) return false;
    const std::string_view read = bytes();
    take_(text_bytes(read.size()));
    value = read;
    return true;
  }
  bool read(Data& data) {
    if (!has(pbf_wire_type::length_delimited)) return false;
    data.see(bytes());
    return true;
  }
  bool read(List<std::string>& list) {
    if (!has(pbf_wire_type::length_delimited)) return false;
    const std::string_view read = bytes();
    take_(sizeof(std::string) + text_bytes(read.size()));
    list.emplace_back(read);
    return true;
  }
  template <typename T>
  bool read(List<T>& list) {  // one number, or a block of them
    if (has(wire_type<T>())) {
      take_(sizeof(T));
      list.push_back(number<T>());
      return true;
    }
    if (!has(pbf_wire_type::length_delimited)) return false;
    const std::string_view block = bytes();
    if constexpr (std::is_floating_point_v<T>) {
      if (block.size() % sizeof(T) != 0) throw protozero::invalid_length_exception();
      take_(block.size());
      const size_t before = list.size();
      list.resize(before + block.size() / sizeof(T));
      if (!block.empty()) std::memcpy(list.data() + before, block.data(), block.size());
    } else {
      const char* at = block.data();
      const char* const end = at + block.size();
      // As many as bytes that end one.
      const auto count = std::count_if(at, end, [](char byte) { return (byte & 0x80) == 0; });
      take_(static_cast<uint64_t>(count) * sizeof(T));
      while (at != end) list.push_back(static_cast<T>(protozero::decode_varint(&at, end)));
    }
    return true;
  }
  template <typename T>
  bool read(Child<T>& child) {
    if (!has(pbf_wire_type::length_delimited)) return false;
    if (!child.has()) take_(kMessageBytes<T>);
    read_message(bytes(), child.make(), depth_ + 1, take_);
    return true;
  }
  template <typename T>
  bool read(Messages<T>& list) {
    if (!has(pbf_wire_type::length_delimited)) return false;
    take_(kMessageBytes<T>);
    read_message(bytes(), list.add(), depth_ + 1, take_);
    return true;
  }

  pbf_reader& reader_;
  const uint32_t tag_;  // a debug build's reader forgets it with the value
  int depth_;
  const Take& take_;
  bool is_read_ = false;
};

// Into what the message holds already: a message that stands twice is one.
template <typename M>
void read_message(std::string_view bytes, M& message, int depth, const Take& take) {
  if (depth > kMaxDepth) throw protozero::exception();
  pbf_reader reader(bytes.data(), bytes.size());
  for (;;) {
    const std::string_view before = rest(reader);
    if (before.empty()) return;
    check_varint(before, UINT32_MAX);
    reader.next();
    const pbf_reader at_value = reader;
    if (reader.has_wire_type(pbf_wire_type::length_delimited)) check_varint(rest(reader), reader.length());
    FieldReader field(reader, depth, take);
    describe(message, field);
    if (field.is_read()) {
      keep_one(message, at_value.tag());
      continue;
    }
    reader = at_value;
    reader.skip();
  }
}

struct Counter {
  void push_back(char) { ++size; }
  void append(const char*, size_t count) { size += count; }
  uint64_t size = 0;
};

template <typename Out, typename M>
void write_message(const M& message, Out& out);
template <typename M>
uint64_t size_of(const M& message);

// Writes a message's fields into `Out`: a string, or what counts bytes alone.
template <typename Out>
class Writer {
 public:
  explicit Writer(Out& out) : out_(out) {}

  template <typename T>
  void operator()(uint32_t number, const T& value) {
    if (value != T()) write(number, value);
  }
  void operator()(uint32_t number, const Data& data) {
    if (data.has()) write(number, data.view());
  }
  template <typename T>
  void operator()(uint32_t number, const std::optional<T>& value) {
    if (value) write(number, *value);
  }
  template <typename T>
  void operator()(uint32_t number, const List<T>& list) {
    for (const T& value : list) write(number, value);
  }
  template <typename T>
  void operator()(uint32_t number, const Child<T>& child) {
    if (child.has()) write(number, *child);
  }
  template <typename T>
  void operator()(uint32_t number, const Messages<T>& list) {
    for (const T& message : list) write(number, message);
  }
  template <typename T>
  void packed(uint32_t number, const List<T>& list) {
    if (list.empty()) return;
    Counter size;
    for (const T value : list) Writer<Counter>(size).put(value);
    key(number, pbf_wire_type::length_delimited);
    put(size.size);
    for (const T value : list) put(value);
  }

  template <typename T>
  void put(T value) {  // without a key
    if constexpr (std::is_floating_point_v<T>) {
      char bytes[sizeof value];
      std::memcpy(bytes, &value, sizeof value);
      out_.append(bytes, sizeof value);
    } else {
      uint64_t left = static_cast<uint64_t>(static_cast<int64_t>(value));
      for (; left >= 128; left >>= 7) out_.push_back(static_cast<char>(left | 128));
      out_.push_back(static_cast<char>(left));
    }
  }

 private:
  void key(uint32_t number, pbf_wire_type type) { put(number << 3 | static_cast<uint32_t>(type)); }

  template <typename T>
  void write(uint32_t number, const T& value) {
    if constexpr (std::is_base_of_v<Message, T>) {
      key(number, pbf_wire_type::length_delimited);
      const uint64_t size = size_of(value);
      put(size);
      if constexpr (std::is_same_v<Out, Counter>)
        out_.size += size;
      else
        write_message(value, out_);
    } else if constexpr (std::is_convertible_v<T, std::string_view>) {
      const std::string_view bytes = value;
      key(number, pbf_wire_type::length_delimited);
      put(bytes.size());
      out_.append(bytes.data(), bytes.size());
    } else {
      key(number, !std::is_floating_point_v<T> ? pbf_wire_type::varint
                  : sizeof(T) == 4             ? pbf_wire_type::fixed32
                                               : pbf_wire_type::fixed64);
      put(value);
    }
  }

  Out& out_;
};

template <typename Out, typename M>
void write_message(const M& message, Out& out) {
  Writer<Out> writer(out);
  describe(message, writer);
}

template <typename M>
uint64_t size_of(const M& message) {
  Counter counter;
  write_message(message, counter);
  return counter.size;
}

template <typename M>
uint64_t memory_of(const M& message);

// Adds up what the members of a message have behind pointers.
class MemoryCounter {
 public:
  template <typename T>
  void operator()(uint32_t, const T& value) {
    if constexpr (std::is_same_v<T, std::string>) bytes += text_bytes(value.size());
  }
  void operator()(uint32_t, const Data&) {}
  void operator()(uint32_t, const std::optional<std::string>& value) {
    if (value) bytes += text_bytes(value->size());
  }
  template <typename T>
  void operator()(uint32_t, const List<T>& list) {
    bytes += list.size() * sizeof(T);
    if constexpr (std::is_same_v<T, std::string>)
      for (const std::string& value : list) bytes += text_bytes(value.size());
  }
  template <typename T>
  void operator()(uint32_t, const Child<T>& child) {
    if (child.has()) bytes += memory_of(*child);
  }
  template <typename T>
  void operator()(uint32_t, const Messages<T>& list) {
    for (const T& message : list) bytes += memory_of(message);
  }
  template <typename T>
  void packed(uint32_t number, const List<T>& list) {
    (*this)(number, list);
  }

  uint64_t bytes = 0;
};

template <typename M>
uint64_t memory_of(const M& message) {
  MemoryCounter counter;
  describe(message, counter);
  return kMessageBytes<M> + counter.bytes;
}

}  // namespace

std::optional<ModelProto> parse_model(std::string_view bytes, const Take& take) {
  if (bytes.size() > kMaxFileBytes) return std::nullopt;
  std::optional<ModelProto> model(std::in_place);
  try {
    read_message(
        bytes, *model, 0, take ? take : [](uint64_t) {});
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
  return model;
}

std::string serialize(const ModelProto& model) {
  std::string bytes;
  bytes.reserve(static_cast<size_t>(size_of(model)));
  write_message(model, bytes);
  return bytes;
}

uint64_t byte_size(const ModelProto& model) { return size_of(model); }

uint64_t memory_size(const GraphProto& graph) { return memory_of(graph); }
uint64_t memory_size(const NodeProto& node) { return memory_of(node); }
uint64_t memory_size(const AttributeProto& attribute) { return memory_of(attribute); }

}  // namespace intaglio::onnx_file
