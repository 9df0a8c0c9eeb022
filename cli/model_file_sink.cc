#include "cli/model_file_sink.h"

#include "calibrator/host/files.h"
#include "cli/loaded_model.h"

namespace intaglio::cli {
namespace {

Outcome<Done> verify_written(Span<const uint8_t> bytes) {
  const auto model = Model::open(bytes);
  if (!model) return Failure{"the int8 model does not open: " + error_text(model.error())};
  auto session = LoadedSession::create(*model, {});
  if (!session) return Failure{"the int8 model does not run: " + error_text(session.error(), &*model)};
  (*session)->run();
  return Done{};
}

}  // namespace

bool ModelFileSink::write(void* context, Span<const uint8_t> bytes) {
  auto& self = *static_cast<ModelFileSink*>(context);
  const auto written = write_file_atomically(self.path, bytes, verify_written);
  if (!written) self.problem = written.message();
  return static_cast<bool>(written);
}

}  // namespace intaglio::cli
