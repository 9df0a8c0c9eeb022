#include "importers/params/params_lines.h"

namespace intaglio {

std::vector<ParamsLine> lines_of(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<ParamsLine> lines;
  size_t number = 0;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    ParamsLine line{++number, text.substr(start, end - start), {}};
    for (size_t at = line.text.find_first_not_of(kBlank); at != std::string_view::npos;) {
      const size_t stop = std::min(line.text.find_first_of(kBlank, at), line.text.size());
      line.words.push_back(line.text.substr(at, stop - at));
      at = line.text.find_first_not_of(kBlank, stop);
    }
    if (!line.words.empty()) lines.push_back(std::move(line));
    start = end + 1;
  }
  return lines;
}

}  // namespace intaglio
