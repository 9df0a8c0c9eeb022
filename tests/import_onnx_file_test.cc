// The bytes of ONNX files, read and written.
#include "importers/onnx/onnx_file.h"

#include <doctest/doctest.h>

using namespace intaglio::onnx_file;
using namespace std::string_literals;

namespace {

// A field whose length and number are below 128.
std::string field(int number, const std::string& content) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(content.size())} + content;
}
std::string varint(int number, int value) {
  return {static_cast<char>(number << 3), static_cast<char>(value)};
}
// A file with this graph, or with this node in its graph.
std::string with_graph(const std::string& graph) { return field(7, graph); }
std::string with_node(const std::string& node) { return with_graph(field(1, node)); }
std::string with_attribute(const std::string& attribute) { return with_node(field(5, attribute)); }
std::string with_tensor(const std::string& tensor) { return with_graph(field(5, tensor)); }

bool is_file(const std::string& bytes) { return parse_model(bytes).has_value(); }
const AttributeProto& attribute_of(const ModelProto& model) { return model.graph->node[0].attribute[0]; }

}  // namespace

TEST_CASE("what is read is written again, to the byte, but for defaults") {
  const std::string type =
      field(1, varint(1, 1) + field(2, field(1, varint(1, 3)) + field(1, field(2, "N"))));
  const std::string tensor = varint(1, 2) + varint(1, 3) + varint(2, 1) + field(4, "abcdefgh") +
                             field(5, "\x01\xff\x01"s) + field(6, "s") + field(7, "\x07") + field(8, "t") +
                             field(9, "raw") + field(10, "12345678") + field(11, "\x05") +
                             field(13, field(1, "location") + field(2, "w")) + varint(14, 1);
  const std::string graph =
      field(1, field(1, "x") + field(1, "") + field(2, "y") + field(3, "n") + field(4, "Relu") +
                   field(5, field(1, "a") + "\x15\x01\x02\x03\x04"s + varint(3, 0) + field(4, "") +
                                field(6, "") + varint(8, 5) + "\xa0\x01\x02"s) +
                   field(7, "ai.onnx")) +
      field(2, "g") + field(5, tensor) + field(11, field(1, "x") + field(2, type)) +
      field(12, field(1, "y")) + field(15, "");
  const std::string bytes =
      varint(1, 7) + field(2, "maker") + "\x3a"s + static_cast<char>(graph.size() % 128 + 128) +
      static_cast<char>(graph.size() / 128) + graph + field(8, varint(2, 13)) + field(14, field(1, "k"));
  REQUIRE(graph.size() >= 128);
  const auto model = parse_model(bytes);
  REQUIRE(model);
  CHECK(serialize(*model) == bytes);
  CHECK(byte_size(*model) == bytes.size());
  CHECK(serialize(*parse_model(varint(1, 0) + field(2, "") + field(8, field(1, "") + varint(2, 0)))) ==
        field(8, ""));
  CHECK(model->ir_version == 7);
  CHECK(model->graph->node[0].input == List<std::string>{"x", ""});
  CHECK(attribute_of(*model).i == 0);
  CHECK(attribute_of(*model).s == "");
  CHECK(attribute_of(*model).g.has());
  CHECK_FALSE(attribute_of(*model).t.has());
  CHECK(attribute_of(*model).type == AttributeProto::INT);
  const TensorProto& read = model->graph->initializer[0];
  CHECK(read.dims == List<int64_t>{2, 3});
  CHECK(read.float_data.size() == 2);
  CHECK(read.int32_data == List<int32_t>{1, 255});
  CHECK(read.data_location == TensorProto::EXTERNAL);
  const auto& shape = *model->graph->input[0].type->tensor_type->shape;
  CHECK(shape.dim[0].dim_value == 3);
  CHECK(shape.dim[1].dim_param == "N");
  ModelProto copy = *model;
  copy.graph.make().node[0].name = "other";
  CHECK(model->graph->node[0].name == "n");
}

TEST_CASE("fields in another order are written in the order of their numbers, unknown ones are skipped") {
  const auto model = parse_model(field(15, "new") + field(2, "maker") +
                                 "\x0d"
                                 "four"s +
                                 varint(1, 7));
  REQUIRE(model);
  // Field 1 is a number: four bytes are something else.
  CHECK(serialize(*model) == varint(1, 7) + field(2, "maker"));
  const auto enums = parse_model(with_attribute("\xa0\x01\x63"s) + with_tensor(varint(14, 2)));
  REQUIRE(enums);
  CHECK(attribute_of(*enums).type == AttributeProto::UNDEFINED);
  CHECK(enums->graph->initializer[0].data_location == TensorProto::DEFAULT);
}

TEST_CASE("lists are read as one block and one by one") {
  const auto model =
      parse_model(with_attribute(field(8, "\x01\x02") + varint(8, 3) + field(7, "\0\0\x80\x3f"s)));
  REQUIRE(model);
  CHECK(attribute_of(*model).ints == List<int64_t>{1, 2, 3});
  CHECK(attribute_of(*model).floats == List<float>{1.0f});
  CHECK(serialize(*model) ==
        with_attribute("\x3d\0\0\x80\x3f"s + varint(8, 1) + varint(8, 2) + varint(8, 3)));
  const auto tensor = parse_model(with_tensor(varint(7, 1) + field(7, "\x02\x03")));
  REQUIRE(tensor);
  CHECK(serialize(*tensor) == with_tensor(field(7, "\x01\x02\x03")));
}

TEST_CASE("negative numbers have ten bytes, also those of 32 bits") {
  const std::string minus = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s;
  const auto model = parse_model(with_tensor("\x08" + minus + "\x10" + minus + field(5, minus)));
  REQUIRE(model);
  const TensorProto& tensor = model->graph->initializer[0];
  CHECK(tensor.dims[0] == -1);
  CHECK(tensor.data_type == -1);
  CHECK(tensor.int32_data[0] == -1);
  CHECK(serialize(*model) == with_tensor("\x08" + minus + "\x10" + minus + field(5, minus)));
}

TEST_CASE("of what stands twice the last counts, messages become one, and of a dimension one member stays") {
  const auto model = parse_model(with_graph(field(2, "a") + field(2, "b")) +
                                 with_graph(field(12, field(1, "y"))) + varint(1, 3) + varint(1, 4));
  REQUIRE(model);
  CHECK(model->graph->name == "b");
  CHECK(model->graph->output.size() == 1);
  CHECK(model->ir_version == 4);
  const auto in = [](const std::string& type) { return with_graph(field(11, field(2, type))); };
  const std::string tensor = field(1, varint(1, 1)), shape = field(1, field(2, field(1, varint(1, 2))));
  const auto types = parse_model(in(tensor + shape));
  REQUIRE(types);
  const TypeProto& type = *types->graph->input[0].type;
  CHECK(type.tensor_type->elem_type == 1);
  CHECK(type.tensor_type->shape->dim.size() == 1);
  CHECK_FALSE(parse_model(in(field(4, "")))->graph->input[0].type->tensor_type.has());
  const auto dims = parse_model(in(
      field(1, field(2, field(1, varint(1, 2) + field(2, "N")) + field(1, field(2, "N") + varint(1, 2))))));
  REQUIRE(dims);
  const auto& both = dims->graph->input[0].type->tensor_type->shape->dim;
  CHECK_FALSE(both[0].dim_value.has_value());
  CHECK(both[0].dim_param == "N");
  CHECK(both[1].dim_value == 2);
  CHECK_FALSE(both[1].dim_param.has_value());
}

TEST_CASE("data stays in the bytes of the file, and copies share what is set") {
  const std::string bytes = with_tensor(field(9, "weights"));
  auto model = parse_model(bytes);
  REQUIRE(model);
  Data& data = model->graph.make().initializer[0].raw_data;
  CHECK(data.view() == "weights");
  CHECK(data.data() == bytes.data() + bytes.size() - 7);
  data.set("others");
  const ModelProto copy = *model;
  CHECK(copy.graph->initializer[0].raw_data.data() == data.data());
  CHECK(serialize(copy) == with_tensor(field(9, "others")));
  data.reset();
  CHECK_FALSE(data.has());
  CHECK(copy.graph->initializer[0].raw_data.view() == "others");
  CHECK(parse_model(with_tensor(field(9, "")))->graph->initializer[0].raw_data.has());
}

TEST_CASE("damaged bytes are no file") {
  CHECK(is_file(""));
  CHECK(is_file(field(2, "maker")));
  const std::string whole = with_node(field(1, "x") + varint(9, 1));
  for (size_t size = 1; size < whole.size(); ++size) CHECK_FALSE(is_file(whole.substr(0, size)));
  CHECK_FALSE(is_file("\x12\x06maker"));                   // a length beyond the end
  CHECK_FALSE(is_file("\x12\x85\x80\x80\x80\x10maker"s));  // of 2^32 + 5
  CHECK_FALSE(is_file("\x12\x85\x80\x80\x80\x80\x80\x80\x80\x80\x01maker"s));
  CHECK_FALSE(is_file("\x92\x80\x80\x80\x10\x05maker"s));  // a key of 2^32 + 18
  CHECK_FALSE(is_file(with_graph("\x12\x06g")));           // beyond the end of its message
  CHECK_FALSE(is_file("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s));
  CHECK_FALSE(is_file(std::string(2, '\0')));  // field 0
  for (const int type : {3, 4, 6, 7}) CHECK_FALSE(is_file(std::string{static_cast<char>(8 | type), 1}));
  CHECK_FALSE(is_file(with_tensor(field(4, "abcde"))));  // no whole number of floats
  CHECK_FALSE(is_file(with_tensor(field(7, "\x80"))));   // a number without an end
  CHECK_FALSE(is_file("\x15\x01\x02\x03"s));
}

TEST_CASE("messages stand 32 deep in one another at most") {
  const auto nested = [](int loops) {  // three messages deeper each: a node, its attribute, and its graph
    ModelProto model;
    GraphProto* graph = &model.graph.make();
    for (; loops > 0; --loops) graph = &graph->node.add().attribute.add().g.make();
    return model;
  };
  const auto innermost = [](ModelProto& model) {
    GraphProto* graph = &model.graph.make();
    while (!graph->node.empty()) graph = &graph->node[0].attribute[0].g.make();
    return graph;
  };
  ModelProto model = nested(10);
  CHECK(is_file(serialize(model)));  // 31
  innermost(model)->initializer.add();
  CHECK(is_file(serialize(model)));  // 32
  innermost(model)->initializer[0].external_data.add();
  CHECK_FALSE(is_file(serialize(model)));
  CHECK_FALSE(is_file(serialize(nested(11))));
}
