// intaglio verify: whether a model file is whole, safe and steady.
#include <algorithm>
#include <cstring>
#include <set>

#include "calibrator/host/system/host_arena.h"

#include "cli/command.h"
#include "cli/output.h"
#include "cli/whole_model.h"
#include "intaglio/streaming.h"
#include "runtime/streaming/streamed_model.h"
#include "tools/loaded_model.h"

namespace intaglio::cli {
namespace {

struct VerifyArguments {
  std::string model;
  bool json = false;
};

constexpr const char* kVerifyFooter =
    "Makes every check of the file and of its nodes. Then runs the model twice on zeros, the second time in memory that\n"
    "is full of other bytes. Both runs must give the same outputs, and so must a streamed plan.\n\n"
    "Example:\n"
    "  intaglio verify net.int8.itg";

// The bytes of all outputs on inputs that stand for zero, in memory that held `fill`. A picture is fed by black rows.
std::vector<uint8_t> run_on_zeros(LoadedSession& loaded, uint8_t fill, bool fed = false) {
  Session& session = *loaded;
  std::memset(loaded.activations().data, fill, loaded.activations().size);
  session.reset();
  for (size_t i = 0; i < session.model().inputs().size; ++i) {
    const TensorView input = session.input(static_cast<int32_t>(i));
    if (input.data == nullptr) continue;  // it is fed
    const bool codes = input.info.dtype == DType::kS8;
    std::memset(input.data, codes ? input.info.quantization.zero_point : 0, input.info.bytes());
  }
  if (fed) {
    const TensorInfo picture = session.model().tensor(session.model().inputs()[0]);
    const std::vector<uint8_t> rows(picture.bytes(), 0);
    session.begin_picture();
    session.feed_rows(rows.data(), picture.shape[1]);
  } else {
    session.run();
  }
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < session.model().outputs().size; ++i) {
    const TensorView output = session.output(static_cast<int32_t>(i));
    const auto* const data = static_cast<const uint8_t*>(output.data);
    bytes.insert(bytes.end(), data, data + output.info.bytes());
  }
  return bytes;
}

Outcome<Done> run_verify(const VerifyArguments& arguments) {
  const auto file = LoadedModel::open(arguments.model);
  if (!file) return file.failure();
  const auto packs = check_whole(*file);
  if (!packs) return packs.failure();
  auto session = LoadedSession::create(*file, {});
  if (!session) return session.failure();
  if (run_on_zeros(*session, 0x00) != run_on_zeros(*session, 0xa5))
    return Failure{arguments.model +
                   ": gives different outputs for the same input; this is a fault of the library, "
                   "please report it with the file"};
  const Model& model = file->model();
  const bool by_rows = model.has_streamed_plan();
  if (by_rows) {
    const auto proved = stream_rows(model);
    if (!proved) return file->failure(proved.error());
    auto streamed = LoadedSession::create(*proved, {});
    if (!streamed) return file->failure(streamed.error());
    const bool fed = StreamedModel::feeding_segment(*proved).count != 0;
    if (run_on_zeros(*streamed, 0xa5, fed) != run_on_zeros(*session, 0x00, fed))
      return Failure{
          arguments.model +
          ": gives different outputs by rows; this is a fault of the library, please report it with "
          "the file"};
  }
  if (arguments.json) {
    print_json({{"good", true},
                {"bytes", file->file_bytes()},
                {"format_version", model.format_version()},
                {"nodes", model.node_count()},
                {"tensors", model.tensor_count()},
                {"arena_bytes", model.activation_bytes()},
                {"streamed", by_rows},
                {"pack_bytes", *packs}});
    return Done{};
  }
  print("%s: good\n", safe(arguments.model).c_str());
  print("  structure   %s bytes, format %u, checksum, %d tensors with names of their own\n",
        grouped(file->file_bytes()).c_str(), static_cast<unsigned>(model.format_version()),
        model.tensor_count());
  print("  memory      plan of %s bytes, nothing overlaps\n", grouped(model.activation_bytes()).c_str());
  if (by_rows) print("  by rows     streamed plan proved; it gives the same outputs\n");
  print("  operators   %d nodes checked, each by its operator\n", model.node_count());
  if (*packs > 0) print("  packs       %s bytes are what the weights give\n", grouped(*packs).c_str());
  print("  run         twice on zeros with equal outputs\n");
  return Done{};
}

}  // namespace

Command add_verify_command(CLI::App& parent) {
  const auto arguments = std::make_shared<VerifyArguments>();
  CLI::App* app =
      add_subcommand(parent, "verify", "check whether a model file is whole and can be run", kVerifyFooter);
  add_option(*app, "model", arguments->model, "the model file").required().type_name("NET.itg");
  add_flag(
      *app, "--json", arguments->json,
      "print one JSON object: {good, bytes, format_version, nodes, tensors, arena_bytes, streamed, pack_bytes}. Of a "
      "bad file there is none, and the exit code is 1");
  return make_command(app, arguments, run_verify);
}

}  // namespace intaglio::cli
