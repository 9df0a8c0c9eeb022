#include "tests/hostile/hostile_runs.h"
#include "tests/support/small_onnx_network.h"

using namespace intaglio::test;

namespace {

using Ints = std::vector<int64_t>;

// Spectra, pictures of patches, pools and their reverse, sequences, bits; each on its own input.
OnnxBuilder small_operators() {
  Random random(9);
  OnnxBuilder file(20);
  file.input("signal", {1, 12, 1});
  file.integers("step", {4});
  file.integers("length", {4});
  file.floats("window", {4}, random.reals(4, 0, 1));
  file.node("STFT", {"signal", "step", "window", "length"}, "frames");
  file.integers("axis", {1});
  set(file.node("DFT", {"signal", "", "axis"}, "bins"), "onesided", int64_t{1});
  file.input("patches", {1, 8, 9});
  file.integers("sides", {4, 4});
  file.integers("block", {2, 2});
  set(file.node("Col2Im", {"patches", "sides", "block"}, "picture"), "strides", Ints{1, 1});
  auto& pool = file.node("MaxPool", {"picture"}, "most");
  pool.add_output("places");
  auto& back = file.node("MaxUnpool", {"most", "places"}, "again");
  for (auto* const node : {&pool, &back}) {
    set(*node, "kernel_shape", Ints{2, 2});
    set(*node, "strides", Ints{2, 2});
  }
  file.input("rows", {2, 4, 3});
  file.integers("lengths", {3, 4});
  auto& reverse = file.node("ReverseSequence", {"rows", "lengths"}, "reversed");
  set(reverse, "batch_axis", int64_t{0});
  set(reverse, "time_axis", int64_t{1});
  auto& whole = file.node("Cast", {"reversed"}, "whole");
  set(whole, "to", int64_t{intaglio::onnx_file::TensorProto::INT64});
  file.integers("mask", {21});
  file.node("BitwiseAnd", {"whole", "mask"}, "and");
  file.node("BitwiseXor", {"and", "mask"}, "xor");
  set(file.node("BitShift", {"xor", "block"}, "shifted"), "direction", "LEFT");
  for (const char* const name : {"frames", "bins", "again", "shifted"}) file.output(name);
  return file;
}

// Two heads of queries and one of keys, with tables of angles, and a step of an LSTM.
OnnxBuilder small_attention() {
  Random random(10);
  OnnxBuilder file(21);
  auto& domain = *file.model().add_opset_import();
  domain.set_domain("com.microsoft");
  domain.set_version(1);
  for (const auto& [name, columns] : {std::pair<const char*, int64_t>{"q", 8}, {"k", 4}, {"v", 4}})
    file.input(name, {1, 3, columns});
  const auto number = [&](const char* name, const Ints& dims, int32_t value) {
    auto& tensor = file.integers(name, {});
    tensor.clear_dims();
    for (const int64_t dim : dims) tensor.add_dims(dim);
    tensor.set_data_type(intaglio::onnx_file::TensorProto::INT32);
    tensor.add_int32_data(value);
  };
  number("length", {1}, 2);
  number("total", {1}, 3);
  file.floats("cos", {4, 2}, random.reals(8, -1, 1));
  file.floats("sin", {4, 2}, random.reals(8, -1, 1));
  auto& attention =
      file.node("GroupQueryAttention", {"q", "k", "v", "", "", "length", "total", "cos", "sin"}, "y");
  attention.set_domain("com.microsoft");
  attention.add_output("keys");
  attention.add_output("values");
  set(attention, "num_heads", int64_t{2});
  set(attention, "kv_num_heads", int64_t{1});
  set(attention, "do_rotary", int64_t{1});
  file.floats("w", {1, 20, 8}, random.reals(160, -1, 1));
  file.floats("r", {1, 20, 5}, random.reals(100, -1, 1));
  set(file.node("LSTM", {"y", "w", "r"}, "sequence"), "hidden_size", int64_t{5});
  for (const char* const name : {"keys", "values", "sequence"}) file.output(name);
  return file;
}

}  // namespace

std::vector<std::vector<uint8_t>> intaglio::test::hostile_seeds() {
  std::vector<std::vector<uint8_t>> seeds;
  for (OnnxBuilder network : {small_network(), small_operators(), small_attention()}) {
    const std::string file = network.model().SerializePartialAsString();
    seeds.emplace_back(file.begin(), file.end());
  }
  return seeds;
}
