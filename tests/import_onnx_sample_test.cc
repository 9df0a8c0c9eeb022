// ONNX GridSample beside its definition in doubles.
#include <algorithm>
#include <cmath>

#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/tensor_places.h"

namespace intaglio::test::import_onnx_sample_test {
namespace {

using Reals = std::vector<float>;

struct Sampled {
  int64_t n, c, h, w, rows, columns;
  bool nearest, border, corners;
};

// The grid is an input, or the constant `grid`.
OnnxBuilder file_of(const Sampled& s, const Reals& grid = {}) {
  OnnxBuilder file(20);
  file.input("x", {s.n, s.c, s.h, s.w});
  if (grid.empty())
    file.input("grid", {s.n, s.rows, s.columns, 2});
  else
    file.floats("grid", {s.n, s.rows, s.columns, 2}, grid);
  auto& node = file.node("GridSample", {"x", "grid"}, "y");
  set(node, "mode", s.nearest ? "nearest" : "linear");
  set(node, "padding_mode", s.border ? "border" : "zeros");
  set(node, "align_corners", int64_t{s.corners});
  file.output("y");
  return file;
}

// In the file's layout.
std::vector<double> expected(const Sampled& s, const Reals& x, const Reals& grid) {
  std::vector<double> y;
  const Ints dims{s.n, s.c, s.h, s.w}, out{s.n, s.c, s.rows, s.columns};
  const auto pixel = [&](int64_t n, int64_t c, double row, double column) {
    if (s.border) {
      row = std::clamp(row, 0.0, static_cast<double>(s.h - 1));
      column = std::clamp(column, 0.0, static_cast<double>(s.w - 1));
    }
    if (row < 0 || column < 0 || row > static_cast<double>(s.h - 1) || column > static_cast<double>(s.w - 1))
      return 0.0;
    const Ints place{n, c, static_cast<int64_t>(row), static_cast<int64_t>(column)};
    return double{x[static_cast<size_t>(index_of(place, dims))]};
  };
  for (int64_t i = 0; i < count(out); ++i) {
    const Ints o = place_of(i, out);
    const auto at = [&](int64_t which, int64_t side) {
      const Ints place{o[0], o[2], o[3], which};
      const double g = grid[static_cast<size_t>(index_of(place, {s.n, s.rows, s.columns, 2}))];
      const auto length = static_cast<double>(side);
      return s.corners ? (g + 1) / 2 * (length - 1) : ((g + 1) * length - 1) / 2;
    };
    const double column = at(0, s.w), row = at(1, s.h);
    if (s.nearest) {
      y.push_back(pixel(o[0], o[1], std::nearbyint(row), std::nearbyint(column)));
      continue;
    }
    double sum = 0;
    for (const double dr : {0.0, 1.0})
      for (const double dc : {0.0, 1.0}) {
        const double r = std::floor(row) + dr, c = std::floor(column) + dc;
        sum += pixel(o[0], o[1], r, c) * (1 - std::fabs(row - r)) * (1 - std::fabs(column - c));
      }
    y.push_back(sum);
  }
  return y;
}

}  // namespace

TEST_CASE("pixels at places of their own") {
  Random random(9);
  for (int round = 0; round < 96; ++round) {
    CAPTURE(round);
    const bool is_constant = round >= 48;
    const Sampled s{random.between(1, 2), 2,
                    random.between(1, 5), random.between(6, 8),
                    random.between(1, 4), random.between(1, 4),
                    round % 2 == 0,       round / 2 % 2 == 0,
                    round / 4 % 2 == 0};
    const Reals x = random.reals(static_cast<size_t>(s.n * s.c * s.h * s.w), -1.0f, 1.0f),
                grid = random.reals(static_cast<size_t>(s.n * s.rows * s.columns * 2), -1.6f, 1.6f);
    Import import(file_of(s, is_constant ? grid : Reals()).bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    RunningModel model(import.write());
    REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
    const bool is_nhwc = import.dims(import.input()).back() == 2;
    const Ints dims{s.n, s.c, s.h, s.w}, nhwc{s.n, s.h, s.w, s.c};
    const auto to = model.session().input(0).as<float>();
    for (int64_t i = 0; i < count(dims); ++i) {
      const Ints at = place_of(i, dims);
      const int64_t place = is_nhwc ? index_of({at[0], at[2], at[3], at[1]}, nhwc) : i;
      to[static_cast<size_t>(place)] = x[static_cast<size_t>(i)];
    }
    if (!is_constant) std::copy(grid.begin(), grid.end(), model.session().input(1).as<float>().data);
    model.session().run();
    const auto y = model.session().output().as<float>();
    const auto wanted = expected(s, x, grid);
    REQUIRE(y.size == wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) CHECK(std::fabs(double{y[i]} - wanted[i]) < 1e-5);
  }
}

TEST_CASE("a GridSample that does not fit is refused") {
  const auto message = [](const std::vector<int64_t>& grid, const char* name, const char* value) {
    OnnxBuilder file(20);
    file.input("x", {1, 2, 3, 4});
    file.input("grid", grid);
    set(file.node("GridSample", {"x", "grid"}, "y"), name, value);
    file.output("y");
    return Import(file.bytes()).message();
  };
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(message({1, 2, 2, 2}, "mode", "linear").empty());
  CHECK(says(message({1, 2, 2, 2}, "mode", "cubic"), "mode 'cubic' is not supported"));
  CHECK(says(message({1, 2, 2, 2}, "padding_mode", "reflection"),
             "padding_mode 'reflection' is not supported"));
  CHECK(says(message({2, 2, 2, 2}, "mode", "linear"),
             "its grid has the shape [2, 2, 2, 2]; [1, height, width, 2]"));
  CHECK(says(message({1, 2, 2, 3}, "mode", "linear"), "its grid has the shape"));
}

}  // namespace intaglio::test::import_onnx_sample_test
