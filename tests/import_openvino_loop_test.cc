// TensorIterator and Loop of an OpenVINO IR: running sums of slices.
#include "tests/support/imported.h"
#include "tests/support/ir_builder.h"

namespace intaglio::test::import_openvino_loop_test {
namespace {

using Reals = std::vector<float>;

std::string port(int id, const IrDims& dims, const char* precision = "FP32") {
  std::string text = "<port id=\"" + std::to_string(id) + "\" precision=\"" + precision + "\">";
  for (const int64_t dim : dims) text += "<dim>" + std::to_string(dim) + "</dim>";
  return text + "</port>";
}
std::string edge(int from, int from_port, int to, int to_port) {
  const auto number = [](const char* name, int value) {
    return std::string(" ") + name + "=\"" + std::to_string(value) + "\"";
  };
  return "<edge" + number("from-layer", from) + number("from-port", from_port) + number("to-layer", to) +
         number("to-port", to_port) + "/>";
}

// The body: sum = state + slice; the next state is the sum, and relu(sum) is given, too.
std::string body(const IrDims& slice) {
  Ir made;
  const int x = made.input("slice", slice), state = made.input("state", slice);
  const int sum = made.layer("Add", "sum", {state, x}, slice, "auto_broadcast=\"numpy\"");
  made.output(sum);
  made.output(made.layer("ReLU", "relu", {sum}, slice));
  const std::string xml = made.xml();
  const size_t begin = xml.find("<layers>");
  return "<body>" + xml.substr(begin, xml.find("</net>") - begin) + "</body>";
}

struct Case {
  std::string type, slices, outputs;
  std::string back = "<edge from-layer=\"3\" to-layer=\"1\"/>";
};

// x [1, 3, 2] goes in; outputs of three kinds: all of relu, the last state, the last relu.
std::string xml_of(const Case& c) {
  const bool is_loop = c.type == "Loop";
  const std::string ports = is_loop ? port(10, {}, "I64") + port(11, {}, "BOOL") : "";
  std::string text = "<?xml version=\"1.0\"?><net name=\"n\" version=\"11\"><layers>";
  const auto constant = [](int id, const char* type, const IrDims& dims, int offset, int size) {
    return "<layer id=\"" + std::to_string(id) + "\" name=\"c" + std::to_string(id) +
           "\" type=\"Const\" version=\"opset1\"><data element_type=\"" + type + "\" shape=\"" +
           joined(dims) + "\" offset=\"" + std::to_string(offset) + "\" size=\"" + std::to_string(size) +
           "\"/><output>" + port(0, dims) + "</output></layer>";
  };
  text +=
      "<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\"><data shape=\"1,3,2\" "
      "element_type=\"f32\"/><output>" +
      port(0, {1, 3, 2}) + "</output></layer>";
  text +=
      constant(1, "f32", {1, 1, 2}, 0, 8) + constant(2, "i64", {}, 8, 8) + constant(3, "boolean", {}, 16, 1);
  text += "<layer id=\"4\" name=\"sums\" type=\"" + c.type + "\" version=\"opset5\"><port_map><input " +
          c.slices +
          " external_port_id=\"0\" internal_layer_id=\"0\"/><input external_port_id=\"1\" "
          "internal_layer_id=\"1\"/>" +
          c.outputs + "</port_map><back_edges>" + c.back + "</back_edges><input>" + ports +
          port(0, {1, 3, 2}) + port(1, {1, 1, 2}) + "</input><output>" + port(2, {1, 3, 2}) +
          port(3, {1, 1, 2}) + port(4, {1, 1, 2}) + "</output>" + body({1, 1, 2}) + "</layer>";
  for (const int i : {0, 1, 2})
    text += "<layer id=\"" + std::to_string(5 + i) +
            "\" name=\"r\" type=\"Result\" version=\"opset1\"><input>" + port(0, {}) + "</input></layer>";
  text += "</layers><edges>" + edge(0, 0, 4, 0) + edge(1, 0, 4, 1);
  if (is_loop) text += edge(2, 0, 4, 10) + edge(3, 0, 4, 11);
  for (const int i : {0, 1, 2}) text += edge(4, 2 + i, 5 + i, 0);
  return text + "</edges></net>";
}

std::vector<uint8_t> weights(int64_t trip_count) {
  std::vector<uint8_t> bytes(17, 0);
  const float start[] = {1.0f, -2.0f};
  std::memcpy(bytes.data(), start, sizeof start);
  std::memcpy(bytes.data() + 8, &trip_count, sizeof trip_count);
  bytes[16] = 1;
  return bytes;
}

const std::string kForward = "axis=\"1\" start=\"0\" end=\"-1\" stride=\"1\" part_size=\"1\"";
const std::string kBackward = "axis=\"1\" start=\"-1\" end=\"0\" stride=\"-1\" part_size=\"1\"";
std::string outputs(const std::string& slices) {
  return "<output " + slices +
         " external_port_id=\"2\" internal_layer_id=\"5\"/><output external_port_id=\"3\" "
         "internal_layer_id=\"3\"/><output external_port_id=\"4\" internal_layer_id=\"5\"/>";
}

Import import_case(const Case& c, int64_t trip_count = 3) {
  const std::vector<uint8_t> bytes = weights(trip_count);
  ImportOptions options;
  options.weights = {bytes.data(), bytes.size()};
  return Import(xml_of(c), options);
}

void check(Import import, const std::vector<Reals>& expected) {
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
  model.run<float>(Reals{1, 2, 3, -4, -10, 5});
  for (size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    const Span<float> found = model.session().output(static_cast<int32_t>(i)).as<float>();
    CHECK(Reals(found.begin(), found.end()) == expected[i]);
  }
}

}  // namespace

TEST_CASE("slices from the first or from the last, all that a body gives, and what its last run gives") {
  check(import_case({"TensorIterator", kForward, outputs(kForward)}), {{2, 0, 5, 0, 0, 1}, {-5, 1}, {0, 1}});
  check(import_case({"TensorIterator", kBackward, outputs(kBackward)}),
        {{0, 1, 0, 0, 0, 3}, {-5, 1}, {0, 1}});
  check(import_case({"Loop", kForward, outputs(kForward)}), {{2, 0, 5, 0, 0, 1}, {-5, 1}, {0, 1}});
  check(import_case({"Loop", kForward, outputs(kForward)}, -1), {{2, 0, 5, 0, 0, 1}, {-5, 1}, {0, 1}});
}

TEST_CASE("what a body does not say, or says of what is not there, is refused") {
  const auto says = [](const Case& c, const std::string& words) {
    CAPTURE(words);
    CHECK(import_case(c).says(words));
  };
  says({"TensorIterator", "axis=\"3\"", outputs(kForward)}, "it has no axis 3 for slices");
  says({"TensorIterator", "axis=\"1\" stride=\"2\"", outputs(kForward)},
       "slices of 1 from 0 to -1 by 2 of 3 are not supported");
  says({"TensorIterator", "axis=\"1\" part_size=\"9223372036854775807\" stride=\"9223372036854775807\"",
        outputs(kForward)},
       "are not supported");
  says({"TensorIterator", "axis=\"1\" start=\"-9223372036854775808\"", outputs(kForward)},
       "are not supported");
  says({"TensorIterator", kForward, outputs("axis=\"7\"")}, "it has no axis 7 for slices");
  says({"TensorIterator", kForward, "<output external_port_id=\"2\" internal_layer_id=\"77\"/>"},
       "a body has no layer '77'");
  says({"TensorIterator", kForward, "<output external_port_id=\"9\" internal_layer_id=\"5\"/>"},
       "a body is joined to port 9, which its layer lacks");
  says({"TensorIterator", kForward, "<output external_port_id=\"2\" internal_layer_id=\"2\"/>"},
       "its body is joined at layer 'sum', which is no Result");
  says({"TensorIterator", kForward, outputs(kForward), "<edge from-layer=\"3\" to-layer=\"0\"/>"},
       "an edge of its body goes back to what has no first value");
  says({"TensorIterator", kForward, outputs(kForward), "<edge from-layer=\"2\" to-layer=\"1\"/>"},
       "its body is joined at layer 'sum', which is no Result");
}

TEST_CASE(
    "slices as long as a dimension may be, and more states than a Loop has, are refused before memory is taken") {
  const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    return text;
  };
  const std::vector<uint8_t> bytes = weights(3);
  ImportOptions options;
  options.weights = {bytes.data(), bytes.size()};
  const std::string slices = "axis=\"1\" stride=\"2147483647\" part_size=\"2147483647\"";
  const std::string large = replaced(xml_of({"TensorIterator", slices, outputs(kForward)}), "<dim>3</dim>",
                                     "<dim>2147483647</dim>");
  CHECK(Import(large, options).says("a constant that it needs takes 17179869176 bytes of memory"));
  std::string states, back;
  for (int i = 100; i < 357; ++i) {
    states += "<layer id=\"" + std::to_string(i) + "\" name=\"s\" type=\"Parameter\"/>";
    back += "<edge from-layer=\"3\" to-layer=\"" + std::to_string(i) + "\"/>";
  }
  const std::string many = replaced(xml_of({"TensorIterator", kForward, outputs(kForward), back}),
                                    "<body><layers>", "<body><layers>" + states);
  CHECK(Import(many, options).says("a body has 257 edges that go back; at most 256 are supported"));
}

}  // namespace intaglio::test::import_openvino_loop_test
