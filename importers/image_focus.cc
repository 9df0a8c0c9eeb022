#include "importers/image_focus.h"

#include <algorithm>

namespace intaglio::importers {
namespace {

constexpr int32_t kColors = 3, kParts = 4;

size_t find_input(const Draft& draft, const std::string& name) {
  for (size_t i = 0; i < draft.inputs.size(); ++i) {
    const DraftTensor& info = draft.tensor(draft.inputs[i]);
    const bool fits = info.shape.size() == 4 && info.shape[0] == 1 && info.shape[3] == kColors * kParts;
    if (fits && (name.empty() || name == info.name)) return i;
  }
  fail(
      "--focus: ", name.empty() ? std::string("no input") : "input " + quoted(name) + " is not there, or not",
      name.empty() ? " is" : "", " [1, height, width, 12], as networks behind YOLOv5's focus have it");
}

}  // namespace

void add_focus(Draft& draft, const std::string& input) {
  const size_t place = find_input(draft, input);
  const int32_t behind = draft.inputs[place];
  const std::string name = draft.tensor(behind).name;
  const Shape shape = draft.tensor(behind).shape;
  const int32_t picture = add_activation_like(draft, name, behind, {1, 2 * shape[1], 2 * shape[2], kColors});
  draft.tensor(behind).name = name + "/focus";
  draft.inputs[place] = picture;
  const size_t before = draft.nodes.size();
  std::vector<int32_t> parts;
  parts.reserve(kParts);
  for (int32_t part = 0; part < kParts; ++part)
    parts.push_back(add_slice(draft, text(name, "/focus/", part), "Focus", picture,
                              {0, part % 2, part / 2, 0}, {1, 2, 2, 1}, {1, shape[1], shape[2], kColors}));
  add_node(draft, Op::kConcat, name + "/focus", "Focus", parts, behind).options.as<ConcatOptions>().axis = 3;
  std::rotate(draft.nodes.begin(), draft.nodes.begin() + static_cast<std::ptrdiff_t>(before),
              draft.nodes.end());
}

}  // namespace intaglio::importers
