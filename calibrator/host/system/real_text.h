// Reals as text, and back. The process's locale has no part in it: printf and strtod write and read a comma in some. The test
// law_reals forbids these elsewhere.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace intaglio {

// As printf's %.<digits>g in the C locale: so many significant digits, or less where the last ones are zeros.
std::string general_text(double value, int digits);
// As %.<digits>f: so many digits behind the point.
std::string fixed_text(double value, int digits);
// As %.<digits>e.
std::string scientific_text(double value, int digits);
// The fewest digits that read_real() makes the same number of.
std::string shortest_text(double value);
std::string shortest_text(float value);

// The whole text is one number: digits with a point, an exponent, "inf" or "nan", a sign in front. Nothing else.
std::optional<double> read_real(std::string_view text);

}  // namespace intaglio
