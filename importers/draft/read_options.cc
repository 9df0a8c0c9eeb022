#include "importers/draft/read_options.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>

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

// A word of a command line as a shell takes it.
std::string shell_word(const std::string& word) {
  const bool is_plain = std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("_./:,-+@%=", c) != nullptr;
  });
  if (is_plain) return word;
  std::string quotes = "'";
  for (const char c : word) quotes += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quotes + "'";
}

// A name and what follows it as one word of a command, where a command can name it.
std::string copied_name(const std::string& name, const std::string& behind) {
  const bool can_be_copied = name.size() <= 256 && clean_name(name, 256) == name;
  return can_be_copied ? shell_word(name + behind) : shown(name) + behind;
}

// "2 ('width'), 3": which ones the shape of an input leaves open.
std::string open_dimensions(const FileInput& input, const Shape& shape) {
  std::string open;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] >= 1) continue;
    if (i >= static_cast<size_t>(kMaxRank)) return open + " and more";
    open += text(open.empty() ? "" : ", ", i);
    if (i < input.open_names.size() && !input.open_names[i].empty())
      open += text(" (", quoted(input.open_names[i]), ")");
  }
  return open;
}

// "x=1,3,width,D3": an open dimension as the file names it, or by its number.
std::string shape_words(const FileInput& input, const Shape& shape) {
  const auto is_word = [](const std::string& name) {
    return !name.empty() && name.size() <= 32 && std::isalpha(static_cast<unsigned char>(name[0])) != 0 &&
           std::all_of(name.begin(), name.end(), [](char c) {
             return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
           });
  };
  std::string dims;
  for (size_t i = 0; i < std::min(shape.size(), static_cast<size_t>(kMaxRank)); ++i) {
    const bool is_named = i < input.open_names.size() && is_word(input.open_names[i]);
    dims += i == 0 ? "=" : ",";
    dims += shape[i] >= 1 ? text(shape[i]) : is_named ? input.open_names[i] : text("D", i);
  }
  return copied_name(input.name, dims);
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

std::string as_constant(const std::string& input, int64_t count) {
  const char* const value = count == 1 ? "=NUMBER" : "=FILE.npy";
  return "--constant " + copied_name(input, value);
}

std::string cut_before(const std::vector<std::string>& names) {
  constexpr size_t kMostBytes = 1000;  // whole names, so that the line can be copied
  constexpr size_t kShownNames = 8;
  if (names.empty()) return "";
  std::string list, quotes;
  std::set<std::string> taken;
  bool is_clean = true, has_comma = false;
  for (const std::string& name : names) {
    if (!taken.insert(name).second) continue;
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

Shape input_shape(const FileInput& input, const ReadOptions& options) {
  for (const InputShape& given : options.shapes) {
    if (given.input != input.name) continue;
    if (given.dims.size() != input.dims.size())
      fail("input ", quoted(input.name), " has ", input.dims.size(),
           " dimensions in the file, --shape gives ", given.dims.size());
    for (size_t i = 0; i < input.dims.size(); ++i)
      if (input.dims[i] > 1 && given.dims[i] != input.dims[i])
        fail("input ", quoted(input.name), " has the fixed shape ", shape_text(input.dims),
             ", --shape gives ", shape_text(given.dims));
    return given.dims;
  }
  Shape shape = input.dims;
  if (!shape.empty() && shape[0] <= 1) shape[0] = options.batch;
  return shape;
}

void check_count(size_t count, const char* what, size_t limit) {
  if (count == 0) fail("the file has no ", what);
  if (count > limit) fail("the file has ", count, " ", what, "; at most ", limit, " are supported");
}

const std::string& checked_name(const std::string& name) {
  if (name.size() > kMaxFileNameBytes)
    fail("the name ", quoted(name), " has ", name.size(), " bytes; at most ", kMaxFileNameBytes,
         " are supported");
  return name;
}

void check_file_inputs(const std::vector<FileInput>& inputs, const ReadOptions& options) {
  std::string names;
  for (const FileInput& input : inputs) names += (names.empty() ? "" : ", ") + quoted(input.name);
  for (const InputShape& given : options.shapes)
    if (std::none_of(inputs.begin(), inputs.end(),
                     [&](const FileInput& input) { return input.name == given.input; }))
      fail("--shape names the input ", quoted(given.input),
           ", which the model does not have; its inputs are ", names);

  constexpr size_t kShown = 8;
  std::string open, words;
  size_t count = 0;
  for (const FileInput& input : inputs) {
    const Shape shape = input_shape(input, options);
    const std::string dimensions = open_dimensions(input, shape);
    if (dimensions.empty() || ++count > kShown) continue;
    open +=
        text(count == 1 ? "" : ", ", "input ", quoted(input.name), " leaves dimension ", dimensions, " open");
    words += " --shape " + shape_words(input, shape);
  }
  if (count > 0)
    fail(open, count > kShown ? ", ..." : "", "; give the sizes, with numbers for what is open:", words,
         count > kShown ? " ..." : "");
}

}  // namespace intaglio::importers
