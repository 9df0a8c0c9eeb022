#include <algorithm>

#include "importers/draft/read_options.h"

namespace intaglio::importers {

Shape input_shape(const std::string& name, const Shape& in_file, const std::vector<std::string>& open_names,
                  const ReadOptions& options) {
  for (const InputShape& given : options.shapes) {
    if (given.input != name) continue;
    if (given.dims.size() != in_file.size())
      fail("input ", quoted(name), " has ", in_file.size(), " dimensions in the file, --shape gives ",
           given.dims.size());
    for (size_t i = 0; i < in_file.size(); ++i)
      if (in_file[i] > 1 && given.dims[i] != in_file[i])
        fail("input ", quoted(name), " has the fixed shape ", shape_text(in_file), ", --shape gives ",
             shape_text(given.dims));
    return given.dims;
  }
  Shape shape = in_file;
  if (!shape.empty() && shape[0] <= 1) shape[0] = options.batch;
  std::string open;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] >= 1) continue;
    if (i >= static_cast<size_t>(kMaxRank)) {
      open += " and more";
      break;
    }
    open += text(open.empty() ? "" : ", ", i);
    if (i < open_names.size() && !open_names[i].empty()) open += text(" (", quoted(open_names[i]), ")");
  }
  if (!open.empty())
    fail("input ", quoted(name), " leaves dimension ", open, " open: give its shape with --shape ", name,
         "=...");
  return shape;
}

void check_count(size_t count, const char* what, size_t limit) {
  if (count == 0) fail("the file has no ", what);
  if (count > limit) fail("the file has ", count, " ", what, "; at most ", limit, " are supported");
}

void check_shape_names(const std::vector<std::string>& inputs, const ReadOptions& options) {
  std::string names;
  for (const std::string& input : inputs) names += (names.empty() ? "" : ", ") + quoted(input);
  for (const InputShape& given : options.shapes)
    if (std::find(inputs.begin(), inputs.end(), given.input) == inputs.end())
      fail("--shape names the input ", quoted(given.input),
           ", which the model does not have; its inputs are ", names);
}

}  // namespace intaglio::importers
