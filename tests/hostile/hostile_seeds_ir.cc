#include "tests/hostile/hostile_runs.h"
#include "tests/support/ir_builder.h"

namespace {

std::string port(const std::string& id, const std::string& dims) {
  std::string text = "<port id=\"" + id + "\" precision=\"FP32\">";
  for (const char dim : dims) text += std::string("<dim>") + dim + "</dim>";
  return text + "</port>";
}
std::string constant(const std::string& id, const std::string& type, const std::string& shape,
                     const std::string& size) {
  return "<layer id=\"" + id + "\" name=\"c" + id +
         "\" type=\"Const\" version=\"opset1\"><data element_type=\"" + type + "\" shape=\"" + shape +
         "\" offset=\"0\" size=\"" + size + "\"/><output>" + port("0", "1") + "</output></layer>";
}
std::string edge(const std::string& from, const std::string& to, const std::string& port) {
  return "<edge from-layer=\"" + from + "\" from-port=\"0\" to-layer=\"" + to + "\" to-port=\"" + port +
         "\"/>";
}

using intaglio::test::Ir;

// The text, a byte 0, and what the file of weights begins with.
std::vector<uint8_t> with_weights(const Ir& ir) {
  const std::string text = ir.xml();
  std::vector<uint8_t> bytes(text.begin(), text.end());
  bytes.push_back(0);
  bytes.insert(bytes.end(), ir.weights().begin(), ir.weights().end());
  return bytes;
}

// A sequence, indices, slices and what is put in their places.
Ir rows() {
  Ir ir;
  const int x = ir.input("x", {1, 4, 3}), h = ir.floats({1, 1, 2}, {0, 0}),
            w = ir.floats({1, 8, 3}, std::vector<float>(24, 0.25f)),
            r = ir.floats({1, 8, 2}, std::vector<float>(16, 0.5f)),
            b = ir.floats({1, 8}, std::vector<float>(8, 0.0f));
  const int lstm =
      ir.layer("LSTMSequence", "lstm", {x, h, h, ir.integers({4}), w, r, b}, {1, 1, 4, 2},
               "direction=\"forward\" hidden_size=\"2\" activations=\"sigmoid, tanh, tanh\" clip=\"0\"");
  const int flat = ir.layer("Reshape", "flat", {lstm, ir.integers({4, 2})}, {4, 2}, "special_zero=\"true\"");
  const int two = ir.constant<int64_t>("i64", {2, 1}, {3, 0});
  const int set = ir.layer("ScatterNDUpdate", "set", {flat, two, ir.floats({2, 2}, {1, 2, 3, 4})}, {4, 2});
  const int rolled = ir.layer("Roll", "rolled", {set, ir.integers({1}), ir.integers({0})}, {4, 2});
  const int cut =
      ir.layer("StridedSlice", "cut", {rolled, ir.integers({1, 0}), ir.integers({3, 2}), ir.integers({1, 1})},
               {2, 2}, "begin_mask=\"0, 1\" end_mask=\"0, 1\" shrink_axis_mask=\"0, 0\"");
  ir.output(
      ir.layer("CumSum", "sums", {cut, ir.integers({1})}, {2, 2}, "exclusive=\"true\" reverse=\"false\""));
  return ir;
}

// Heads of attention, a spectrum, and blocks of a picture.
Ir maps() {
  Ir ir;
  const int x = ir.input("x", {1, 2, 4, 4});
  const int heads =
      ir.layer("ScaledDotProductAttention", "heads", {x, x, x}, {1, 2, 4, 4}, "causal=\"true\"");
  const int blocks = ir.layer(
      "SpaceToBatch", "blocks",
      {heads, ir.integers({1, 1, 2, 2}), ir.integers({0, 0, 0, 0}), ir.integers({0, 0, 0, 0})}, {4, 2, 2, 2});
  const int back =
      ir.layer("BatchToSpace", "back",
               {blocks, ir.integers({1, 1, 2, 2}), ir.integers({0, 0, 0, 0}), ir.integers({0, 0, 0, 0})},
               {1, 2, 4, 4});
  const int pool = ir.layer("AdaptiveAvgPool", "pool", {back, ir.integers({2, 2})}, {1, 2, 2, 2});
  const int parts = ir.layer("DFT", "bins", {pool, ir.integers({1})}, {1, 2, 2, 2});
  ir.output(ir.layer("LRN", "lrn", {parts, ir.integers({1})}, {1, 2, 2, 2},
                     "alpha=\"0.1\" beta=\"0.75\" bias=\"1\" size=\"3\""));
  return ir;
}

// As NNCF and read_model() write them: a depthwise kernel with a scale for each column, weights of 4 bits in groups, signed
// scales, tables of floats of 4 bits, and ranges along several axes.
Ir codes() {
  Ir ir;
  const auto reals = [&](int constant, const char* name, const std::vector<int64_t>& dims) {
    return ir.layer("Convert", name, {constant}, dims, "destination_type=\"f32\"");
  };
  const auto range = [&](const char* name, int x, int low, int high, const std::vector<int64_t>& dims) {
    return ir.layer("FakeQuantize", name, {x, low, high, low, high}, dims,
                    "levels=\"256\" auto_broadcast=\"numpy\"");
  };
  const std::string windows =
      "strides=\"1, 1\" dilations=\"1, 1\" pads_begin=\"1, 1\" pads_end=\"1, 1\" auto_pad=\"explicit\"";
  const int low = ir.floats({1}, {-1}), high = ir.floats({1}, {127.0f / 128});
  const int x = range("in", ir.input("x", {1, 2, 4, 4}), low, high, {1, 2, 4, 4});
  const int kernel =
      reals(ir.constant("i8", {2, 1, 1, 3, 3}, std::vector<int8_t>(18, 101)), "kernel", {2, 1, 1, 3, 3});
  const int scaled =
      ir.layer("Multiply", "scaled", {kernel, ir.floats({2, 1, 1, 1, 3}, {1, -2, 3, 4, -5, 6})},
               {2, 1, 1, 3, 3}, "auto_broadcast=\"numpy\"");
  const int depthwise =
      range("middle", ir.layer("GroupConvolution", "depthwise", {x, scaled}, {1, 2, 4, 4}, windows), low,
            high, {1, 2, 4, 4});
  const int limits = ir.floats({2, 1, 1, 3}, {1, 2, 3, 4, 5, 6}),
            ends = ir.floats({2, 1, 1, 3}, {-1, -2, -3, -4, -5, -6});
  const int weights =
      range("weights", ir.floats({2, 2, 3, 3}, std::vector<float>(36, 0.75f)), ends, limits, {2, 2, 3, 3});
  const int conv = range("out", ir.layer("Convolution", "conv", {depthwise, weights}, {1, 2, 4, 4}, windows),
                         low, high, {1, 2, 4, 4});
  const int rows =
      ir.layer("Reshape", "rows", {conv, ir.integers({2, 16})}, {2, 16}, "special_zero=\"true\"");
  const int groups = reals(ir.constant("u4", {4, 2, 8}, std::vector<uint8_t>(32, 0x5a)), "groups", {4, 2, 8});
  const int zeros = reals(ir.constant("u4", {4, 2, 1}, std::vector<uint8_t>(4, 0x87)), "zeros", {4, 2, 1});
  const int moved = ir.layer("Subtract", "moved", {groups, zeros}, {4, 2, 8}, "auto_broadcast=\"numpy\"");
  const int sized = ir.layer("Multiply", "sized", {moved, ir.floats({4, 2, 1}, {1, -2, 3, 4, 5, 6, -7, 8})},
                             {4, 2, 8}, "auto_broadcast=\"numpy\"");
  const int flat =
      ir.layer("Reshape", "flat", {sized, ir.integers({4, 16})}, {4, 16}, "special_zero=\"false\"");
  const int product =
      ir.layer("MatMul", "product", {rows, flat}, {2, 4}, "transpose_a=\"false\" transpose_b=\"true\"");
  const int table = reals(ir.constant("nf4", {4, 4}, std::vector<uint8_t>(8, 0x3c)), "table", {4, 4});
  const int last = ir.layer("Multiply", "last", {table, ir.floats({4, 1}, {1, 2, 3, 4})}, {4, 4},
                            "auto_broadcast=\"numpy\"");
  ir.output(ir.layer("MatMul", "y", {product, last}, {2, 4}, "transpose_a=\"false\" transpose_b=\"true\""));
  return ir;
}

// A running sum of slices, by a body.
std::string sums() {
  const auto parameter = [](const std::string& id, const std::string& shape, const std::string& dims) {
    return "<layer id=\"" + id + "\" name=\"x\" type=\"Parameter\" version=\"opset1\"><data shape=\"" +
           shape + "\" element_type=\"f32\"/><output>" + port("0", dims) + "</output></layer>";
  };
  const auto result = [](const std::string& id) {
    return "<layer id=\"" + id + "\" name=\"y\" type=\"Result\" version=\"opset1\"><input>" +
           port("0", "112") + "</input></layer>";
  };
  const std::string slices = " axis=\"1\" start=\"0\" end=\"-1\" stride=\"1\" part_size=\"1\"/>";
  const auto joined = [](const std::string& kind, const std::string& outer, const std::string& inner) {
    return "<" + kind + " external_port_id=\"" + outer + "\" internal_layer_id=\"" + inner + "\"";
  };
  const std::string body = "<body><layers>" + parameter("0", "1,1,2", "112") +
                           parameter("1", "1,1,2", "112") +
                           "<layer id=\"2\" name=\"sum\" type=\"Add\" version=\"opset1\"><input>" +
                           port("0", "112") + port("1", "112") + "</input><output>" + port("0", "112") +
                           "</output></layer>" + result("3") + "</layers><edges>" + edge("0", "2", "0") +
                           edge("1", "2", "1") + edge("2", "3", "0") + "</edges></body>";
  return "<?xml version=\"1.0\"?><net name=\"n\" version=\"11\"><layers>" + parameter("0", "1,3,2", "132") +
         parameter("1", "1,1,2", "112") +
         "<layer id=\"2\" name=\"loop\" type=\"TensorIterator\" version=\"opset1\"><port_map>" +
         joined("input", "0", "0") + slices + joined("input", "1", "1") + "/>" + joined("output", "2", "3") +
         slices + joined("output", "3", "3") +
         "/></port_map><back_edges><edge from-layer=\"3\" to-layer=\"1\"/></back_edges><input>" +
         port("0", "132") + port("1", "112") + "</input><output>" + port("2", "132") + port("3", "112") +
         "</output>" + body + "</layer>" + result("3") + "</layers><edges>" + edge("0", "2", "0") +
         edge("1", "2", "1") +
         "<edge from-layer=\"2\" from-port=\"2\" to-layer=\"3\" to-port=\"0\"/></edges></net>";
}

}  // namespace

// Pictures through a convolution with weights in codes, a function, and a slice; between FakeQuantize.
std::vector<std::vector<uint8_t>> intaglio::test::hostile_seeds() {
  const std::string text =
      "<?xml version=\"1.0\"?><net name=\"n\" version=\"11\"><layers>"
      "<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\"><data shape=\"1,2,4,4\" element_type=\"f32\"/><output>" +
      port("0", "1244") + "</output></layer>" + constant("1", "i8", "2, 2, 1, 1", "4") +
      "<layer id=\"2\" name=\"w\" type=\"Convert\" version=\"opset1\"><data destination_type=\"f32\"/><input>" +
      port("1", "2211") + "</input><output>" + port("0", "2211") + "</output></layer>" +
      constant("3", "f32", "1", "4") +
      "<layer id=\"4\" name=\"s\" type=\"Multiply\" version=\"opset1\"><data auto_broadcast=\"numpy\"/><input>" +
      port("1", "2211") + port("2", "1") + "</input><output>" + port("0", "2211") +
      "</output></layer>"
      "<layer id=\"5\" name=\"conv\" type=\"Convolution\" version=\"opset1\"><data strides=\"1, 1\" dilations=\"1, 1\" "
      "pads_begin=\"0, 0\" pads_end=\"0, 0\" auto_pad=\"explicit\"/><input>" +
      port("1", "1244") + port("2", "2211") + "</input><output>" + port("0", "1244") +
      "</output></layer>"
      "<layer id=\"6\" name=\"relu\" type=\"ReLU\" version=\"opset1\"><input>" +
      port("1", "1244") + "</input><output>" + port("0", "1244") +
      "</output></layer>"
      "<layer id=\"7\" name=\"fq\" type=\"FakeQuantize\" version=\"opset1\"><data levels=\"256\" auto_broadcast=\"numpy\"/><input>" +
      port("1", "1244") + port("2", "1") + port("3", "1") + port("4", "1") + port("5", "1") +
      "</input><output>" + port("0", "1244") + "</output></layer>" + constant("8", "i64", "1", "8") +
      "<layer id=\"9\" name=\"y\" type=\"Result\" version=\"opset1\"><input>" + port("1", "1244") +
      "</input></layer></layers><edges>" + edge("1", "2", "1") + edge("2", "4", "1") + edge("3", "4", "2") +
      edge("0", "5", "1") + edge("4", "5", "2") + edge("5", "6", "1") + edge("6", "7", "1") +
      edge("3", "7", "2") + edge("3", "7", "3") + edge("3", "7", "4") + edge("3", "7", "5") +
      edge("6", "9", "1") + "</edges></net>";
  const std::string loop = sums();
  return {std::vector<uint8_t>(text.begin(), text.end()), with_weights(rows()), with_weights(maps()),
          with_weights(codes()), std::vector<uint8_t>(loop.begin(), loop.end())};
}
