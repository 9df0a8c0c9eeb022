#include "exporters/readback.h"

#include "calibrator/bake/model_writer.h"
#include "calibrator/host/system/error_text.h"
#include "intaglio/ops.h"

namespace intaglio::exporters {

Outcome<Done> import_again(Span<const uint8_t> file, const std::string& name, const ImportOptions& options,
                           Reimported& back) {
  auto imported = import_model(file, name, options, back.memory);
  if (!imported) return imported.failure();
  const auto written = finish_model(imported->graph, all_ops(), back.memory.arena());
  if (!written) return Failure{name + " cannot be made a model: " + error_text(written.error())};
  const auto opened = Model::open(*written);
  if (!opened) return Failure{name + " cannot be made a model: " + error_text(opened.error())};
  back.model = *opened;
  return Done{};
}

}  // namespace intaglio::exporters
