#include "importers/params/amct_record.h"

#include <cctype>
#include <charconv>
#include <limits>
#include <type_traits>

#include "calibrator/host/system/real_text.h"

namespace intaglio::amct {
namespace {

struct Wrong {
  std::string what;  // with its place
};

enum class Kind { kEnd, kName, kNumber, kString, kSign };

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Names, numbers, strings and signs, one behind the other.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) { next(); }

  Kind kind() const { return kind_; }
  std::string_view word() const { return word_; }
  std::string place() const {
    return "line " + std::to_string(line_) + " column " + std::to_string(column_) + ": ";
  }
  [[noreturn]] void fail(const std::string& what) const { throw Wrong{place() + what}; }
  [[noreturn]] void expected(const std::string& what) const {
    fail("Expected " + what + ", got: " + (kind_ == Kind::kEnd ? "the end" : std::string(word_)));
  }

  bool is(char sign) const { return kind_ == Kind::kSign && word_[0] == sign; }
  bool take(char sign) {
    const bool is_it = is(sign);
    if (is_it) next();
    return is_it;
  }

  void next() {
    skip_blanks();
    line_ = at_line_;
    column_ = at_ - line_start_ + 1;
    const size_t start = at_;
    if (at_ == text_.size()) {
      kind_ = Kind::kEnd;
    } else if (is_letter(text_[at_])) {
      kind_ = Kind::kName;
      while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    } else if (is_digit(text_[at_]) ||
               (text_[at_] == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
      kind_ = Kind::kNumber;
      const auto is_exponent_sign = [&](char c) {
        return (c == '+' || c == '-') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
      };
      while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.' ||
                                    is_exponent_sign(text_[at_])))
        ++at_;
    } else if (text_[at_] == '"' || text_[at_] == '\'') {
      kind_ = Kind::kString;
      skip_string();
    } else {
      kind_ = Kind::kSign;
      ++at_;
    }
    word_ = text_.substr(start, at_ - start);
  }

 private:
  void skip_blanks() {
    bool is_comment = false;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#') is_comment = true;
      if (c == '\n') {
        is_comment = false;
        ++at_line_;
        line_start_ = at_ + 1;
      } else if (!is_comment && c != ' ' && c != '\t' && c != '\r' && c != '\v' && c != '\f') {
        return;
      }
    }
  }
  void skip_string() {
    const char end = text_[at_];
    for (++at_; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == end) {
        ++at_;
        return;
      }
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
    }
    fail("a string has no end");
  }

  std::string_view text_, word_;
  Kind kind_ = Kind::kEnd;
  size_t at_ = 0, at_line_ = 1, line_start_ = 0, line_ = 1, column_ = 1;
};

template <typename T>
bool read_whole(std::string_view word, T& value, int base = 10) {
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value, base);
  return error == std::errc() && stop == end;
}

// The text between the quotes.
std::string string_of(const Tokens& tokens) {
  std::string_view left = tokens.word().substr(1, tokens.word().size() - 2);
  std::string made;
  while (!left.empty()) {
    const char c = left[0];
    left.remove_prefix(1);
    if (c != '\\') {
      made.push_back(c);
      continue;
    }
    // The word ends behind its quote, so that a backslash has a character behind it.
    const char escaped = left[0];
    constexpr std::string_view kNames = "abfnrtv\\?'\"", kMeant = "\a\b\f\n\r\t\v\\?'\"";
    const bool is_hex = escaped == 'x' || escaped == 'X';
    if (const size_t name = kNames.find(escaped); name != std::string_view::npos) {
      made.push_back(kMeant[name]);
      left.remove_prefix(1);
      continue;
    }
    if (is_hex) left.remove_prefix(1);
    const auto is_one = [&](char d) {
      return is_hex ? std::isxdigit(static_cast<unsigned char>(d)) != 0 : d >= '0' && d <= '7';
    };
    size_t digits = 0;
    while (digits < std::min<size_t>(left.size(), is_hex ? 2 : 3) && is_one(left[digits])) ++digits;
    unsigned code = 0;
    if (!read_whole(left.substr(0, digits), code, is_hex ? 16 : 8) || code > 255)
      tokens.fail(std::string("the string has an unknown escape \\") + escaped);
    made.push_back(static_cast<char>(code));
    left.remove_prefix(digits);
  }
  return made;
}

class Reader {
 public:
  Reader(std::string_view text, std::string& stands_twice) : tokens_(text), stands_twice_(stands_twice) {}

  void read(Record& record) {
    while (tokens_.kind() != Kind::kEnd) read_field(record);
  }

 private:
  // Finds a field of one message by its name, and takes its value.
  struct Field {
    Reader& reader;
    const std::string& name;
    bool is_known = false;

    template <typename T>
    void operator()(const char* own, T& member) {
      if (name != own) return;
      is_known = true;
      reader.read_member(name, member);
    }
  };

  template <typename Message>
  void read_field(Message& message) {
    if (tokens_.kind() != Kind::kName) tokens_.expected("the name of a field");
    const std::string name(tokens_.word());
    name_place_ = tokens_.place();
    tokens_.next();
    Field field{*this, name};
    fields(message, field);
    if (!field.is_known) throw Wrong{name_place_ + "there is no field \"" + name + "\" here"};
    if (!tokens_.take(',')) tokens_.take(';');
  }

  template <typename T>
  void read_member(const std::string& name, std::optional<T>& member) {
    if (member && stands_twice_.empty())
      stands_twice_ = name_place_ + "\"" + name + "\" stands more than once where it may stand once.";
    if (!member) member.emplace();
    before_value<T>();
    read_value(*member);
  }
  template <typename T>
  void read_member(const std::string&, std::vector<T>& list) {
    before_value<T>();
    if (!tokens_.take('[')) return read_value(added_to(list));
    if (tokens_.take(']')) return;
    do read_value(added_to(list));
    while (tokens_.take(','));
    if (!tokens_.take(']')) tokens_.expected("']'");
  }
  // A new entry. Nine bytes of text can ask for hundreds of memory.
  template <typename T>
  T& added_to(std::vector<T>& list) {
    constexpr size_t kMostBytes = size_t{1} << 28;  // of all entries
    entry_bytes_ += sizeof(T);
    if (entry_bytes_ > kMostBytes)
      throw Wrong{name_place_ + "with this entry the file takes more memory than the limit of " +
                  std::to_string(kMostBytes) + " bytes"};
    return list.emplace_back();
  }

  template <typename T>
  void before_value() {
    constexpr bool is_message = std::is_class_v<T> && !std::is_same_v<T, std::string>;
    if (!tokens_.take(':') && !is_message) tokens_.expected("':'");
  }

  template <typename Message>
  std::enable_if_t<std::is_class_v<Message>> read_value(Message& message) {
    const char end = tokens_.is('<') ? '>' : '}';
    if (!tokens_.take('{') && !tokens_.take('<')) tokens_.expected("'{'");
    while (!tokens_.is(end)) read_field(message);
    tokens_.next();
  }
  void read_value(std::string& words) {
    if (tokens_.kind() != Kind::kString) tokens_.expected("string");
    words.clear();
    for (; tokens_.kind() == Kind::kString; tokens_.next()) words += string_of(tokens_);
  }
  void read_value(bool& yes) {
    const std::string_view word = tokens_.word();
    const bool is_word = tokens_.kind() == Kind::kName || tokens_.kind() == Kind::kNumber;
    yes = word == "true" || word == "True" || word == "t" || word == "1";
    const bool no = word == "false" || word == "False" || word == "f" || word == "0";
    if (!is_word || (!yes && !no)) tokens_.expected("true or false");
    tokens_.next();
  }
  void read_value(Attribute::Type& type) {
    for (size_t i = 0; i < std::size(Attribute::kTypes); ++i)
      if (tokens_.word() == Attribute::kTypes[i] || tokens_.word() == std::to_string(i)) {
        type = static_cast<Attribute::Type>(i);
        return tokens_.next();
      }
    tokens_.expected("the type of an attribute");
  }
  void read_value(float& value) {
    const bool is_negative = tokens_.take('-');
    std::string word(tokens_.word());
    double read = 0.0;
    if (tokens_.kind() == Kind::kName) {
      for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      if (word != "inf" && word != "infinity" && word != "nan") tokens_.expected("a number");
      read =
          word == "nan" ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    } else {
      if (tokens_.kind() != Kind::kNumber) tokens_.expected("a number");
      if (word.back() == 'f' || word.back() == 'F') word.pop_back();
      const char* const end = word.data() + word.size();
      const auto [stop, error] = std::from_chars(word.data(), end, read);
      const bool is_octal =
          word.size() > 1 && word[0] == '0' && word.find_first_not_of("01234567") == std::string::npos;
      if (stop != end || is_octal || (error != std::errc() && error != std::errc::result_out_of_range))
        tokens_.expected("a decimal number");
      if (error == std::errc::result_out_of_range)  // which has no value
        read = is_tiny(word) ? 0.0 : std::numeric_limits<double>::infinity();
    }
    value = narrowed(is_negative ? -read : read);
    tokens_.next();
  }
  template <typename T>
  std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>> read_value(T& value) {
    const bool is_negative = tokens_.take('-');
    if (tokens_.kind() != Kind::kNumber) tokens_.expected("a whole number");
    const std::string_view word = tokens_.word();
    const bool is_hex = word.size() > 2 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
    const bool is_octal = !is_hex && word.size() > 1 && word[0] == '0';
    uint64_t read = 0;
    const uint64_t most = static_cast<uint64_t>(std::numeric_limits<T>::max()) + (is_negative ? 1 : 0);
    const bool is_number =
        is_hex ? read_whole(word.substr(2), read, 16) : read_whole(word, read, is_octal ? 8 : 10);
    if (!is_number || read > most || (is_negative && std::is_unsigned_v<T>))
      tokens_.expected("a whole number from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
                       std::to_string(std::numeric_limits<T>::max()));
    value = static_cast<T>(is_negative ? 0 - read : read);
    tokens_.next();
  }

  // Whether a number that no double can hold is too small.
  static bool is_tiny(const std::string& word) {
    const size_t exponent = word.find_first_of("eE");
    if (exponent != std::string::npos) return word[exponent + 1] == '-';
    return word[0] == '0' || word[0] == '.';
  }
  static float narrowed(double value) {
    constexpr double kMost = std::numeric_limits<float>::max(), kInfinite = 0x1.ffffffp127;
    if (value >= kInfinite) return std::numeric_limits<float>::infinity();
    if (value <= -kInfinite) return -std::numeric_limits<float>::infinity();
    return static_cast<float>(std::min(std::max(value, -kMost), kMost));
  }

  Tokens tokens_;
  std::string name_place_;
  size_t entry_bytes_ = 0;
  std::string& stands_twice_;
};

}  // namespace

Outcome<Record> read_record(std::string_view text, std::string& stands_twice) {
  Record record;
  try {
    Reader(text, stands_twice).read(record);
  } catch (const Wrong& wrong) {
    return Failure{wrong.what};
  }
  return record;
}

std::string quoted_text(std::string_view words) {
  std::string made = "\"";
  for (const char c : words) {
    constexpr std::string_view kEscaped = "\n\r\t\"'\\", kNames = "nrt\"'\\";
    const auto code = static_cast<unsigned char>(c);
    if (const size_t name = kEscaped.find(c); name != std::string_view::npos)
      (made += '\\') += kNames[name];
    else if (code >= 32 && code < 127)
      made += c;
    else
      for (const int digit : {'\\' - '0', code >> 6, code >> 3 & 7, code & 7})
        made += static_cast<char>('0' + digit);
  }
  return made + '"';
}

std::string number_text(float value) {
  const std::string text = general_text(static_cast<double>(value), 6);
  const auto again = read_real(text);
  const bool is_same = again && static_cast<float>(*again) == value;
  return is_same ? text : general_text(static_cast<double>(value), 9);  // nine digits give every number back
}

}  // namespace intaglio::amct
