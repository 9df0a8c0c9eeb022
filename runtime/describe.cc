// All texts of the runtime, in an object of their own: programs that never describe an error do not link it.
#include "intaglio/describe.h"

#include <cstring>

#include "intaglio/isa.h"

namespace intaglio {
namespace {

// Appends to a bounded text and counts what a larger one would hold.
class Line {
 public:
  Line(char* text, size_t size) : text_(text), size_(size) {}
  ~Line() {
    if (size_ > 0) text_[length_ < size_ ? length_ : size_ - 1] = '\0';
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  void put(char letter) {
    if (length_ + 1 < size_) text_[length_] = letter;
    ++length_;
  }
  void put(const char* words) {
    for (; *words != '\0'; ++words) put(*words);
  }
  void put_number(int64_t value) {
    char digits[20];
    int count = 0;
    uint64_t rest = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    do {
      digits[count++] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    if (value < 0) put('-');
    while (count > 0) put(digits[--count]);
  }
  size_t length() const { return length_; }

 private:
  char* text_;
  size_t size_;
  size_t length_ = 0;
};

struct StatusText {
  const char* name;
  const char* text;
};

StatusText status_text(Status status) {
  switch (status) {
#define ITG_STATUS_CASE(name, number, text) \
  case Status::name:                        \
    return {#name, text};
    ITG_STATUS_LIST(ITG_STATUS_CASE)
#undef ITG_STATUS_CASE
  }
  return {"", "unknown error"};
}

constexpr const char* kOpNames[] = {
#include "runtime/op_names.inc"
};
static_assert(sizeof kOpNames / sizeof kOpNames[0] == kOpCount);

constexpr const char* kQuantStateNames[] = {"initial",     "passive-init", "activated",     "passive",
                                            "overlapped",  "baked",        "passive-baked", "dequantized",
                                            "deactivated", "fp32",         "shape-or-index"};
constexpr const char* kRoundingNames[] = {
    "half-even",          "half-up",     "half-down", "half-towards-zero",
    "half-far-from-zero", "to-near-int", "up",        "down"};
constexpr const char* kPolicyNames[] = {"per-tensor", "per-channel", "linear",       "exponential",
                                        "symmetric",  "asymmetric",  "power-of-two", "unknown"};

template <size_t count>
const char* name_at(const char* const (&names)[count], int64_t index) {
  return index >= 0 && index < static_cast<int64_t>(count) ? names[index] : "unknown";
}

// The fault of a policy: `conflict` holds the properties of which there must be one.
void put_conflict(Line& line, int64_t policy, int64_t conflict) {
  const int64_t present = policy & conflict;
  bool first = true;
  for (int64_t bit = 0; bit < 8; ++bit) {
    if (((present == 0 ? conflict : present) >> bit & 1) == 0) continue;
    if (!first) line.put(present == 0 ? " or " : " and ");
    line.put(kPolicyNames[bit]);
    first = false;
  }
  line.put(present == 0 ? " is missing" : " cannot stand there");
}

void put_item(Line& line, const char* kind, int32_t index, const char* name) {
  line.put(kind);
  line.put(' ');
  line.put_number(index);
  if (*name == '\0') return;
  line.put(" '");
  line.put(name);
  line.put('\'');
}

void put_tensor(Line& line, int32_t index, const Model* model) {
  const bool known = model != nullptr && index >= 0 && index < model->tensor_count();
  put_item(line, "tensor", index, known ? model->tensor(index).name : "");
}

// The target whose kernels these are, as `intaglio export-c --target` calls it.
void put_target(Line& line, int64_t kernels) {
  // Two lists without pointers: a table of names would be larger.
  static constexpr uint8_t kBits[] = {
#define ITG_ISA(name, constant, bit, ...) bit,
#define ITG_DIGEST_ISA(...)
#include "intaglio/isa_list.inc"
#undef ITG_ISA
  };
  static constexpr char kNames[] =
#define ITG_ISA(name, constant, bit, family, ...) family "-" #name "\0"
#include "intaglio/isa_list.inc"
#undef ITG_DIGEST_ISA
#undef ITG_ISA
      ;
  const char *found = "scalar", *name = kNames;
  for (const uint8_t bit : kBits) {
    if ((kernels >> bit & 1) != 0) found = name;
    name += strlen(name) + 1;
  }
  line.put(found);
}

void put_field(Line& line, const char* field, size_t length, const Error& error, const Model* model) {
  const auto is = [&](const char* name) {
    return strlen(name) == length && memcmp(field, name, length) == 0;
  };
  if (is("value")) line.put_number(error.value);
  if (is("limit")) line.put_number(error.limit);
  if (is("node")) line.put_number(error.node);
  if (is("tensor")) put_tensor(line, error.tensor, model);
  if (is("op")) line.put(op_name(static_cast<Op>(error.value)));
  if (is("target")) put_target(line, error.value);
  if (is("own_target")) put_target(line, error.limit);
  if (is("state")) line.put(quant_state_name(error.value));
  if (is("next_state")) line.put(quant_state_name(error.limit));
  if (is("rounding")) line.put(rounding_name(error.value));
  if (is("properties")) put_conflict(line, error.value, error.limit);
}

}  // namespace

const char* status_name(Status status) { return status_text(status).name; }

const char* op_name(Op op) {
  const auto index = static_cast<size_t>(op);
  return index < static_cast<size_t>(kOpCount) ? kOpNames[index] : "unknown";
}

const char* dtype_name(DType dtype) {
  switch (dtype) {
    case DType::kNone:
      return "none";
    case DType::kS8:
      return "s8";
    case DType::kU8:
      return "u8";
    case DType::kS32:
      return "s32";
    case DType::kF32:
      return "f32";
    case DType::kS4:
      return "s4";
    case DType::kS16:
      return "s16";
  }
  return "unknown";
}

const char* quant_state_name(int64_t state) { return name_at(kQuantStateNames, state); }

const char* rounding_name(int64_t rounding) { return name_at(kRoundingNames, rounding); }

size_t describe(const Error& error, const Model* model, char* text, size_t size) {
  Line line(text, size);
  const char* const words = status_text(error.status).text;
  if (error.node >= 0 && strstr(words, "{node}") == nullptr) {
    const bool known = model != nullptr && error.node < model->node_count();
    put_item(line, known ? op_name(model->node(error.node).op) : "node", error.node,
             known ? model->node(error.node).name : "");
    line.put(": ");
  }
  if (error.tensor >= 0 && strstr(words, "{tensor}") == nullptr) {
    put_tensor(line, error.tensor, model);
    line.put(": ");
  }
  for (const char* at = words; *at != '\0'; ++at) {
    const char* const end = *at == '{' ? strchr(at, '}') : nullptr;
    if (end == nullptr) {
      line.put(*at);
      continue;
    }
    put_field(line, at + 1, static_cast<size_t>(end - at - 1), error, model);
    at = end;
  }
  return line.length();
}

}  // namespace intaglio
