#include "tools/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "calibrator/host/system/real_text.h"

namespace intaglio::tools {
namespace {

// Length of the UTF-8 character at the start of `text` and its code; 0 where there is none.
size_t decode(std::string_view text, uint32_t* code) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  const size_t length = lead < 0x80   ? 1
                        : lead < 0xc2 ? 0
                        : lead < 0xe0 ? 2
                        : lead < 0xf0 ? 3
                        : lead < 0xf5 ? 4
                                      : 0;
  if (length == 0 || length > text.size()) return 0;
  *code = length == 1 ? lead : lead & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    *code = (*code << 6) | (byte(i) & 0x3fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = *code >= 0xd800 && *code < 0xe000;
  return *code < kLeast[length] || *code > 0x10ffff || surrogate ? 0 : length;
}

// Moves the cursor, changes the direction of the text or is not seen at all.
bool is_unsafe(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0xad || code == 0x61c ||
         (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0xfff0 && code <= 0xfffb) ||
         (code >= 0xe0000 && code <= 0xe0fff);
}

}  // namespace

size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(),
                                           [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; }));
}

std::string safe(std::string_view text, bool lines) {
  std::string result;
  while (!text.empty()) {
    uint32_t code = 0;
    const size_t length = decode(text, &code);
    const bool keep = length > 0 && (!is_unsafe(code) || (lines && code == '\n'));
    const size_t taken = std::max<size_t>(length, 1);
    for (size_t i = 0; i < taken; ++i) {
      if (keep) {
        result += text[i];
        if (code == '\n' && text.size() > 1 && text[1] != ' ') result += "  ";
      } else {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned>(static_cast<uint8_t>(text[i])));
        result += escape;
      }
    }
    text.remove_prefix(taken);
  }
  return result;
}

std::string shortened(const std::string& text, size_t most) {
  if (width_of(text) <= most) return text;
  const auto is_inside = [&](size_t at) { return (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80; };
  const size_t kept = most - 3;  // beside the dots
  size_t head = std::min(most / 2, kept), tail = text.size() - (kept - head);
  while (head > 0 && is_inside(head)) --head;
  while (tail < text.size() && is_inside(tail)) ++tail;
  return text.substr(0, head) + "..." + text.substr(tail);
}

std::string decimal(double value, int digits) {
  if (std::isnan(value)) return "-";
  if (std::isinf(value)) return value > 0 ? "exact" : "-inf";
  return fixed_text(value, digits);
}

std::string grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, " ");
  return text;
}

std::string shape_text(const Shape& shape) {
  std::string text;
  for (int32_t i = 0; i < shape.rank; ++i) text += (i == 0 ? "" : "x") + std::to_string(shape[i]);
  return text.empty() ? "scalar" : text;
}

std::string time_text(double seconds) {
  const auto whole = static_cast<uint64_t>(std::ceil(std::min(std::max(seconds, 1.0), 1e9)));
  if (whole < 100) return "about " + std::to_string(whole) + " s";
  const uint64_t minutes = (whole + 30) / 60;
  if (minutes < 100) return "about " + std::to_string(minutes) + " min";
  return "about " + std::to_string((minutes + 30) / 60) + " h";
}

std::string pasted_word(std::string_view word) {
  if (word.empty()) return "";
  bool plain = true;
  for (const char c : word) {
    if (c < 0x20 || c > 0x7e) return "";
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    plain = plain && (letter || std::string_view("_-./:,=+@%").find(c) != std::string_view::npos);
  }
  if (plain) return std::string(word);
  std::string result = "'";
  for (const char c : word) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      result += c;
    }
  }
  return result + "'";
}

}  // namespace intaglio::tools
