#include "exporters/readback.h"

#include <algorithm>
#include <iterator>

#include "calibrator/bake/model_writer.h"
#include "calibrator/host/system/text_lines.h"
#include "importers/draft/import_error.h"
#include "intaglio/ops.h"

namespace intaglio::exporters {

void note_16_bits(const Model& model, std::vector<std::string>& notes) {
  constexpr Op kInFloat[] = {Op::kAdd, Op::kSub, Op::kSoftmax, Op::kReshape, Op::kTranspose, Op::kQuantize};
  int32_t count = 0;
  for (int32_t n = 0; n < model.node_count(); ++n) {
    const NodeInfo node = model.node(n);
    int32_t wide = -1;
    const auto look_at = [&](Span<const int32_t> tensors) {
      for (const int32_t t : tensors)
        if (t >= 0 && model.tensor(t).dtype == DType::kS16) wide = t;
    };
    look_at(node.inputs);
    look_at(node.outputs);
    if (wide < 0) continue;
    if (std::find(std::begin(kInFloat), std::end(kInFloat), node.op) == std::end(kInFloat))
      importers::fail(
          "tensor ", importers::quoted(model.tensor(wide).name),
          " has codes of 16 bits, which are not exported but for sums before a Softmax; calibrate with 8 "
          "bits alone");
    count += node.op != Op::kQuantize ? 1 : 0;
  }
  if (count > 0)
    notes.push_back(importers::text(
        count, " nodes (sums, Softmax) compute in 16 bits in the model, and in FP32 in the file"));
}

Outcome<Done> import_again(Span<const uint8_t> file, const std::string& name, ImportOptions options,
                           Reimported& back) {
  options.keep_dead = true;  // each layer's codes are compared
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
