#include "exporters/readback.h"

#include "calibrator/bake/model_writer.h"
#include "calibrator/host/system/error_text.h"
#include "importers/draft/import_error.h"
#include "intaglio/ops.h"

namespace intaglio::exporters {

void refuse_16_bits(const Model& model) {
  for (int32_t t = 0; t < model.tensor_count(); ++t) {
    const TensorInfo info = model.tensor(t);
    if (info.dtype == DType::kS16)
      importers::fail("tensor ", importers::quoted(info.name),
                      " has codes of 16 bits, which are not exported; calibrate with 8 bits alone");
  }
}

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
