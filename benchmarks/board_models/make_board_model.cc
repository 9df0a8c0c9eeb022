// Makes what board_model runs, on the build machine, from a TFLite file: the model, and a header with its
// operators, the memory that the board needs, and the checksum of the output for a fixed input.
//
//   make_board_model IN.tflite ISA OUT.itg OUT.h
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "benchmarks/board_models/board_input.h"
#include "calibrator/bake/model_writer.h"
#include "calibrator/host/system/host_arena.h"
#include "importers/import.h"
#include "intaglio/session.h"
#include "runtime/crc32.h"
#include "runtime/op_search.h"

namespace intaglio {
#define ITG_OP(name, kind) extern const OpDef k##name;
#include "runtime/op_list.inc"
#undef ITG_OP
}  // namespace intaglio

using namespace intaglio;

namespace {

struct NamedOp {
  const char* name;
  const OpDef* def;
};

const NamedOp kNames[] = {
#define ITG_OP(name, kind) {#name, &k##name},
#include "runtime/op_list.inc"
#undef ITG_OP
};

std::string name_of(const OpDef* def) {
  for (const NamedOp& op : kNames)
    if (op.def == def)
      return std::string(op.name) == "Conv2dS8Winograd" ? "Conv2dS8" : op.name;  // a Cortex-M's
  return "";
}

int fail(const std::string& what) {
  std::fprintf(stderr, "make_board_model: %s\n", what.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return fail("four arguments are needed");
  std::ifstream in(argv[1], std::ios::binary);
  const std::vector<char> file((std::istreambuf_iterator<char>(in)), {});
  HostArena memory;
  auto imported = import_model({reinterpret_cast<const uint8_t*>(file.data()), file.size()}, argv[1],
                               ImportOptions{}, memory);
  if (!imported) return fail(imported.message());
  const Result<Span<const uint8_t>> bytes = finish_model(imported->graph, all_ops(), memory.arena());
  if (!bytes) return fail("the model cannot be written");
  const Result<Model> model = Model::open(*bytes);
  if (!model) return fail("the model is refused");

  SessionOptions board, scalar;
  board.isa = scalar.isa = isa::kScalar;
  for (const IsaName& name : kIsaNames)
    if (std::strcmp(argv[2], name.name) == 0) board.isa = name.bit;
  const Result<SessionNeeds> of_board = Session::measure(*model, all_ops(), board, false);
  const Result<SessionNeeds> needs = Session::measure(*model, all_ops(), scalar);
  if (!needs || !of_board) return fail("no session");
  std::vector<uint8_t> block(needs->total() + kMemoryAlignment);
  uint8_t* const start =
      block.data() + kMemoryAlignment - reinterpret_cast<uintptr_t>(block.data()) % kMemoryAlignment;
  Result<Session> session =
      Session::create(*model, all_ops(), Session::split({start, needs->total()}, *needs), scalar);
  if (!session) return fail("no session");
  fill_board_input(session->input());
  session->run();
  const TensorView output = session->output();
  const auto output_crc = [&output] {
    return crc32(0, static_cast<const uint8_t*>(output.data), output.info.bytes());
  };
  const uint32_t expected = output_crc();
  // The same bytes as rows of pixels, where the model has a recipe for them.
  std::vector<uint8_t> pixels(session->input().info.bytes());
  BoardInput from;
  for (uint8_t& byte : pixels) byte = from.next();
  session->feed_rows(pixels.data(), INT32_MAX);
  const uint32_t expected_fed = output_crc();

  std::set<std::string> ops;
  for (int32_t i = 0; i < model->node_count(); ++i)
    ops.insert(name_of(find_op(all_ops(), *model, model->node(i))));
  std::ofstream(argv[3], std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes->data), static_cast<std::streamsize>(bytes->size));
  std::ofstream out(argv[4]);
  out << "// Written by make_board_model from "
      << std::string(argv[1]).substr(std::string(argv[1]).rfind('/') + 1)
      << ".\n#pragma once\n\n#include \"intaglio/session.h\"\n\nnamespace intaglio {\nextern const OpDef ";
  const char* comma = "";
  for (const std::string& op : ops) out << comma << "k" << op, comma = ", ";
  out << ";\n}  // namespace intaglio\n\ninline const intaglio::OpDef* const kOps[] = {";
  comma = "";
  for (const std::string& op : ops) out << comma << "&intaglio::k" << op, comma = ", ";
  out << "};\ninline constexpr size_t kModelBytes = " << bytes->size
      << ";\ninline constexpr size_t kMemoryBytes = " << of_board->total()
      << ";\ninline constexpr size_t kPersistentBytes = " << of_board->persistent_bytes
      << ";\ninline constexpr size_t kActivationBytes = " << of_board->activation_bytes
      << ";\ninline constexpr size_t kScratchBytes = " << of_board->scratch_bytes
      << ";\ninline constexpr size_t kLowerBound = " << model->activation_lower_bound()
      << ";\ninline constexpr size_t kTensors = " << model->tensor_count()
      << ";\ninline constexpr size_t kNodes = " << model->node_count()
      << ";\ninline constexpr uint32_t kExpectedCrc = " << expected
      << "u;\ninline constexpr uint32_t kExpectedFedCrc = " << expected_fed << "u;\n";
  return out.good() ? 0 : fail("cannot write");
}
