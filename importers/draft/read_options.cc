#include "importers/draft/read_options.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "importers/draft/names.h"

namespace intaglio::importers {
namespace {

// Letters to change, add and take away until one name is the other. Of long names the ends are compared.
size_t distance_of(const std::string& a, const std::string& b) {
  constexpr size_t kMost = 64;
  const std::string p = a.size() > kMost ? a.substr(a.size() - kMost) : a;
  const std::string q = b.size() > kMost ? b.substr(b.size() - kMost) : b;
  std::vector<size_t> row(q.size() + 1);
  for (size_t j = 0; j <= q.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= p.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= q.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (p[i - 1] == q[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[q.size()];
}

// The three that are nearest; one that holds the word, or stands in it, is nearer than any other.
std::string nearest_names(const std::string& word, const std::vector<std::string>& known) {
  constexpr size_t kShown = 3;
  std::vector<std::pair<size_t, const std::string*>> ranked;
  for (const std::string& name : known) {
    const bool holds = !word.empty() && !name.empty() &&
                       (name.find(word) != std::string::npos || word.find(name) != std::string::npos);
    ranked.emplace_back(holds ? 0 : 1 + distance_of(word, name), &name);
  }
  const size_t count = std::min(kShown, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(count), ranked.end(),
                    [](const auto& a, const auto& b) {
                      return a.first != b.first ? a.first < b.first : *a.second < *b.second;
                    });
  std::string names;
  for (size_t i = 0; i < count; ++i) names += (i == 0 ? "" : ", ") + quoted(*ranked[i].second);
  return names;
}

}  // namespace

std::vector<std::string> chosen_outputs(const ReadOptions& options, const std::vector<std::string>& own,
                                        const std::vector<std::string>& known) {
  if (options.outputs.empty()) return own;
  const auto is_known = [&](const std::string& name) {
    return std::find(known.begin(), known.end(), name) != known.end();
  };
  std::vector<std::string> names;
  for (const std::string& word : options.outputs) {
    if (is_known(word)) {  // a name may hold commas
      names.push_back(word);
      continue;
    }
    for (size_t first = 0; first <= word.size();) {
      const size_t comma = std::min(word.find(',', first), word.size());
      const std::string name = word.substr(first, comma - first);
      if (!is_known(name))
        fail("--outputs names ", quoted(name), ", which no node writes; the nearest names are ",
             nearest_names(name, known));
      names.push_back(name);
      first = comma + 1;
    }
  }
  for (size_t i = 0; i < names.size(); ++i)
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i))
      fail("--outputs names ", quoted(names[i]), " twice");
  check_count(names.size(), "chosen outputs", kMaxFileEnds);
  return names;
}

// A word of a command line as a shell takes it.
std::string shell_word(const std::string& word) {
  const bool is_plain = std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("_./:,-+@%", c) != nullptr;
  });
  if (is_plain) return word;
  std::string quotes = "'";
  for (const char c : word) quotes += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quotes + "'";
}

std::string cut_before(const std::vector<std::string>& names) {
  constexpr size_t kMostBytes = 1000;  // whole names, so that the line can be copied
  constexpr size_t kShownNames = 8;
  if (names.empty()) return "";
  std::string list, quotes;
  std::vector<std::string> taken;
  bool is_clean = true, has_comma = false;
  for (const std::string& name : names) {
    if (std::find(taken.begin(), taken.end(), name) != taken.end()) continue;
    taken.push_back(name);
    const std::string clean = clean_name(name, kMostBytes);
    is_clean = is_clean && clean == name;
    has_comma = has_comma || name.find(',') != std::string::npos;
    list += (list.empty() ? "" : ",") + clean;
    if (taken.size() <= kShownNames) quotes += (quotes.empty() ? "" : ", ") + quoted(name);
  }
  if (!is_clean || (has_comma && taken.size() > 1))  // no command names these
    return "; cut the network before it, with --outputs; it reads " + quotes +
           (taken.size() > kShownNames ? ", ..." : "");
  return "; cut the network before it: --outputs " +
         (list.size() > kMostBytes ? shown(list) : shell_word(list));
}

void drop_unread_inputs(Draft& draft) {
  const Links links(draft);
  for (size_t i = draft.inputs.size(); i-- > 0;) {
    const int32_t input = draft.inputs[i];
    const bool is_state = std::any_of(draft.states.begin(), draft.states.end(),
                                      [&](const DraftState& state) { return state.input == i; });
    if (is_state || !links.consumers_of(input).empty()) continue;
    draft.inputs.erase(draft.inputs.begin() + static_cast<std::ptrdiff_t>(i));
    for (DraftState& state : draft.states) state.input -= state.input > i ? 1 : 0;
    const auto place = static_cast<int32_t>(i);
    draft.pictures.erase(std::remove_if(draft.pictures.begin(), draft.pictures.end(),
                                        [&](const FilePicture& picture) { return picture.input == place; }),
                         draft.pictures.end());
    for (FilePicture& picture : draft.pictures) picture.input -= picture.input > place ? 1 : 0;
    draft.notes.push_back(text("input ", quoted(draft.tensor(input).name),
                               " is left out: the chosen outputs do not depend on it"));
  }
}

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
