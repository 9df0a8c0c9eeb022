// Whether the address sanitizer looks on. It takes ten times as long: what compares figures or bytes is left to other builds.
#pragma once

namespace intaglio::test {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

}  // namespace intaglio::test
