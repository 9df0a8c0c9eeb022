// The mutator of the targets that read ONNX files by their fields: it changes them by name (dimensions, types,
// attributes, names, data), not as bytes, so that each mutation is a file that protobuf reads.
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/random.h"
#include "tests/support/small_onnx_network.h"

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using intaglio::test::Random;

// ONNX's messages with their descriptions, which those of the importer are compiled without.
class Types {
 public:
  static Types& get() {
    static Types types;
    return types;
  }
  std::unique_ptr<Message> new_model() { return std::unique_ptr<Message>(model_->New()); }

 private:
  Types() {
    std::FILE* const descriptors = std::fopen(ITG_ONNX_DESCRIPTORS, "rb");  // no stream: see msan_fuzzers
    google::protobuf::FileDescriptorSet set;
    if (descriptors == nullptr || !set.ParseFromFileDescriptor(fileno(descriptors)) || set.file_size() != 1)
      std::abort();
    std::fclose(descriptors);
    const auto* const file = pool_.BuildFile(set.file(0));
    if (file == nullptr) std::abort();
    model_ = factory_.GetPrototype(file->FindMessageTypeByName("ModelProto"));
  }

  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory factory_;
  const Message* model_ = nullptr;
};

struct Place {
  Message* message = nullptr;
  const FieldDescriptor* field = nullptr;
};

// Every field that is set, and a few that are not.
void list_places(Message& message, Random& random, std::vector<Place>& places) {
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* const field = message.GetDescriptor()->field(i);
    const bool is_set =
        field->is_repeated() ? reflection.FieldSize(message, field) > 0 : reflection.HasField(message, field);
    if (is_set || random.one_in(16)) places.push_back({&message, field});
    if (!is_set || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int e = 0; e < count; ++e)
      list_places(field->is_repeated() ? *reflection.MutableRepeatedMessage(&message, field, e)
                                       : *reflection.MutableMessage(&message, field),
                  random, places);
  }
}

int64_t number(int64_t old, Random& random) {
  const int64_t odd[] = {0,  1,   -1,  2,     3,         4,         5,         7,        8,
                         16, 255, 256, 65536, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
  switch (random.between(0, 3)) {
    case 0:
      return static_cast<int64_t>(static_cast<uint64_t>(old) + 1);
    case 1:
      return static_cast<int64_t>(static_cast<uint64_t>(old) - 1);
    default:
      return odd[random.bits() % std::size(odd)];
  }
}

// A string of the file: a name, so that the graph changes, or an operator.
std::string another_string(const intaglio::onnx_file::GraphProto& graph, Random& random) {
  if (graph.node_size() == 0 || random.one_in(8)) return random.one_in(2) ? "" : "?";
  const auto& node = graph.node(static_cast<int>(random.bits() % static_cast<uint32_t>(graph.node_size())));
  if (random.one_in(4)) return node.op_type();
  const bool input = node.input_size() > 0 && (node.output_size() == 0 || random.one_in(2));
  const int count = input ? node.input_size() : node.output_size();
  if (count == 0) return node.name();
  const int at = static_cast<int>(random.bits() % static_cast<uint32_t>(count));
  return input ? node.input(at) : node.output(at);
}

std::string changed(std::string old, const intaglio::onnx_file::GraphProto& graph, bool is_bytes,
                    Random& random) {
  if (!is_bytes) return another_string(graph, random);
  if (old.empty() || random.one_in(8)) old.resize(old.size() / 2 + random.bits() % 8);
  if (!old.empty()) old[random.bits() % old.size()] = static_cast<char>(random.bits());
  return old;
}

void change(const Place& place, const intaglio::onnx_file::GraphProto& graph, Random& random) {
  Message& message = *place.message;
  const FieldDescriptor* const field = place.field;
  const Reflection& reflection = *message.GetReflection();
  const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 0;
  if (random.one_in(6)) {
    if (count > 0 && !random.one_in(8)) return reflection.RemoveLast(&message, field);
    return reflection.ClearField(&message, field);
  }
  if (count > 1 && random.one_in(4)) {
    const auto pick = [&] { return static_cast<int>(random.bits() % static_cast<uint32_t>(count)); };
    const int first = pick();
    return reflection.SwapElements(&message, field, first, pick());
  }
  const bool add = field->is_repeated() && (count == 0 || random.one_in(4));
  const int at = count > 0 ? static_cast<int>(random.bits() % static_cast<uint32_t>(count)) : 0;
  const auto put = [&](auto value, auto set, auto set_repeated, auto append) {
    if (add)
      (reflection.*append)(&message, field, value);
    else if (field->is_repeated())
      (reflection.*set_repeated)(&message, field, at, value);
    else
      (reflection.*set)(&message, field, value);
  };
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      const int32_t old = count > 0              ? reflection.GetRepeatedInt32(message, field, at)
                          : field->is_repeated() ? 0
                                                 : reflection.GetInt32(message, field);
      return put(static_cast<int32_t>(number(old, random)), &Reflection::SetInt32,
                 &Reflection::SetRepeatedInt32, &Reflection::AddInt32);
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      const int64_t old = count > 0              ? reflection.GetRepeatedInt64(message, field, at)
                          : field->is_repeated() ? 0
                                                 : reflection.GetInt64(message, field);
      return put(number(old, random), &Reflection::SetInt64, &Reflection::SetRepeatedInt64,
                 &Reflection::AddInt64);
    }
    case FieldDescriptor::CPPTYPE_UINT64:
      return put(static_cast<uint64_t>(number(1, random)), &Reflection::SetUInt64,
                 &Reflection::SetRepeatedUInt64, &Reflection::AddUInt64);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return put(random.one_in(2) ? random.any_float() : random.real(-2, 2), &Reflection::SetFloat,
                 &Reflection::SetRepeatedFloat, &Reflection::AddFloat);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return put(static_cast<double>(random.any_float()), &Reflection::SetDouble,
                 &Reflection::SetRepeatedDouble, &Reflection::AddDouble);
    case FieldDescriptor::CPPTYPE_ENUM:
      return put(static_cast<int>(random.between(0, 20)), &Reflection::SetEnumValue,
                 &Reflection::SetRepeatedEnumValue, &Reflection::AddEnumValue);
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string old = count > 0              ? reflection.GetRepeatedString(message, field, at)
                              : field->is_repeated() ? ""
                                                     : reflection.GetString(message, field);
      const bool is_bytes = field->type() == FieldDescriptor::TYPE_BYTES;
      return put(changed(old, graph, is_bytes, random), &Reflection::SetString,
                 &Reflection::SetRepeatedString, &Reflection::AddString);
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (count > 0) {  // one of them again
        Message* const made = reflection.AddMessage(&message, field);
        made->CopyFrom(reflection.GetRepeatedMessage(message, field, at));
      }
      return;
    default:
      return;
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  intaglio::onnx_file::ModelProto file;
  Random random(seed);
  if (!file.ParsePartialFromArray(data, static_cast<int>(size)) || file.graph().node_size() == 0)
    file = intaglio::test::small_network().model();
  const std::unique_ptr<Message> model = Types::get().new_model();
  if (!model->ParsePartialFromString(file.SerializePartialAsString())) return size;
  for (int32_t changes = random.between(1, 3); changes > 0; --changes) {
    std::vector<Place> places;
    list_places(*model, random, places);
    if (places.empty()) break;
    change(places[random.bits() % places.size()], file.graph(), random);
  }
  const std::string bytes = model->SerializePartialAsString();
  if (bytes.size() > max_size) return size;
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}
