// Another FlatBuffers in the same program: inline functions of the names that a reader of models needs, with
// the meaning of no version. Were intaglio's own of these names, the linker would keep one of the two for
// both.
#include <cstddef>
#include <cstdint>

namespace flatbuffers {

class Verifier;

class Table {
 public:
  template <typename T>
  bool VerifyField(const Verifier&, uint16_t) const {
    return false;
  }
  template <typename T>
  bool VerifyField(const Verifier&, uint16_t, size_t) const {
    return false;
  }
  uint16_t GetOptionalFieldOffset(uint16_t) const { return 1; }
};

class Verifier {
 public:
  bool VerifyTableStart(const uint8_t*) { return false; }
  bool VerifyVectorOrString(const uint8_t*, size_t, size_t*) const { return false; }
  template <typename T>
  bool VerifyBufferFromStart(const char*, size_t) {
    return false;
  }
};

template bool Table::VerifyField<int32_t>(const Verifier&, uint16_t) const;
template bool Table::VerifyField<uint32_t>(const Verifier&, uint16_t) const;
template bool Table::VerifyField<uint8_t>(const Verifier&, uint16_t) const;
template bool Table::VerifyField<float>(const Verifier&, uint16_t) const;
template bool Table::VerifyField<int32_t>(const Verifier&, uint16_t, size_t) const;
template bool Table::VerifyField<uint32_t>(const Verifier&, uint16_t, size_t) const;
template bool Table::VerifyField<uint8_t>(const Verifier&, uint16_t, size_t) const;
template bool Table::VerifyField<float>(const Verifier&, uint16_t, size_t) const;

// Uses that keep a copy of each in this object.
struct Uses {
  uint16_t (Table::*offset)(uint16_t) const = &Table::GetOptionalFieldOffset;
  bool (Verifier::*start)(const uint8_t*) = &Verifier::VerifyTableStart;
  bool (Verifier::*list)(const uint8_t*, size_t, size_t*) const = &Verifier::VerifyVectorOrString;
};
extern Uses uses;
Uses uses;

}  // namespace flatbuffers
