#include "importers/draft/names.h"

#include <algorithm>
#include <cstdint>

namespace intaglio::importers {
namespace {

// Bytes of the character that starts at `at`; 0 where it is not valid UTF-8.
size_t character_bytes(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return at + i < text.size() ? static_cast<uint8_t>(text[at + i]) : 0u; };
  const uint32_t first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const size_t count = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  uint32_t code = first & (0x7fu >> count);
  for (size_t i = 1; i < count; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool valid = first >= 0xc2 && first <= 0xf4 && code >= kLeast[count] && code <= 0x10ffff &&
                     !(code >= 0xd800 && code <= 0xdfff) && code >= 0xa0;
  return valid ? count : 0;
}

// Letters to change, to put in or to take out, of the two.
size_t letters_apart(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t above_left = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, above_left + (a[i] == b[j] ? 0 : 1)});
      above_left = above;
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(const std::string& wanted, const std::vector<std::string>& names) {
  if (wanted.size() > kMaxNameBytes) return {};
  std::string nearest;
  size_t fewest = wanted.size() / 3 + 1;
  for (const std::string& name : names) {
    if (name.size() > kMaxNameBytes) continue;
    const size_t letters = letters_apart(wanted, name);
    if (letters >= fewest) continue;
    fewest = letters;
    nearest = name;
  }
  return nearest;
}

std::string clean_name(const std::string& name, size_t limit) {
  std::string clean;
  for (size_t at = 0; at < name.size();) {
    const size_t count = character_bytes(name, at);
    if (clean.size() + std::max<size_t>(count, 1) > limit) break;
    if (count == 0) {
      clean += '?';
      ++at;
    } else {
      clean.append(name, at, count);
      at += count;
    }
  }
  return clean;
}

std::string UniqueNames::take(const std::string& name) {
  const std::string clean = clean_name(name.empty() ? "unnamed" : name);
  std::string candidate = clean;
  int& repeats = counts_[clean];
  while (!taken_.insert(candidate).second) {
    const std::string suffix = "~" + std::to_string(++repeats + 1);
    candidate = clean_name(clean, kMaxNameBytes - suffix.size()) + suffix;
  }
  return candidate;
}

}  // namespace intaglio::importers
