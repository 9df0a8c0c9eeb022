// ONNX Attention beside its definition in doubles.
#include <algorithm>
#include <cmath>

#include "tests/support/fused_onnx.h"

namespace intaglio::test::import_onnx_attention_test {
namespace {

using Doubles = std::vector<double>;

struct Heads {
  int64_t queries, keys, heads, of_keys, size;
  bool joined, causal, mask;
  float softcap = 0.0f;
};

OnnxBuilder file_of(const Heads& h) {
  OnnxBuilder file(23);
  const auto dims = [&](int64_t steps, int64_t heads) {
    return h.joined ? std::vector<int64_t>{1, steps, heads * h.size}
                    : std::vector<int64_t>{1, heads, steps, h.size};
  };
  file.input("q", dims(h.queries, h.heads));
  file.input("k", dims(h.keys, h.of_keys));
  file.input("v", dims(h.keys, h.of_keys));
  std::vector<std::string> inputs{"q", "k", "v"};
  if (h.mask) {
    std::vector<int32_t> mask(static_cast<size_t>(h.queries * h.keys), 1);
    for (size_t k = 0; k <= static_cast<size_t>(h.keys); ++k)
      mask[k] = 0;  // of the first query, and one more
    codes(file, "mask", {h.queries, h.keys}, Type::BOOL, mask);
    inputs.push_back("mask");
  }
  auto& node = file.node("Attention", inputs, "y");
  set(node, "is_causal", int64_t{h.causal});
  if (h.softcap > 0) set(node, "softcap", h.softcap);
  if (h.joined) {
    set(node, "q_num_heads", h.heads);
    set(node, "kv_num_heads", h.of_keys);
  }
  file.output("y");
  return file;
}

Doubles expected(const Heads& h, const Reals& q, const Reals& k, const Reals& v) {
  const auto at = [&](int64_t head, int64_t step, int64_t c, int64_t steps, int64_t heads) {
    return static_cast<size_t>(h.joined ? (step * heads + head) * h.size + c
                                        : (head * steps + step) * h.size + c);
  };
  Doubles y(static_cast<size_t>(h.queries * h.heads * h.size), 0.0);
  for (int64_t head = 0; head < h.heads; ++head) {
    const int64_t own = head / (h.heads / h.of_keys);
    for (int64_t i = 0; i < h.queries; ++i) {
      Doubles weights;
      double sum = 0;
      for (int64_t j = 0; j < h.keys; ++j) {
        double score = 0;
        for (int64_t c = 0; c < h.size; ++c)
          score +=
              double{q[at(head, i, c, h.queries, h.heads)]} * double{k[at(own, j, c, h.keys, h.of_keys)]};
        const bool is_masked = (h.causal && j > i) || (h.mask && (i == 0 || (i == 1 && j == 0)));
        score /= std::sqrt(static_cast<double>(h.size));
        const double cap = static_cast<double>(h.softcap);
        if (cap > 0) score = cap * std::tanh(score / cap);
        weights.push_back(is_masked ? 0.0 : std::exp(score));
        sum += weights.back();
      }
      for (int64_t j = 0; j < h.keys && sum > 0; ++j)
        for (int64_t c = 0; c < h.size; ++c)
          y[at(head, i, c, h.queries, h.heads)] +=
              weights[static_cast<size_t>(j)] / sum * double{v[at(own, j, c, h.keys, h.of_keys)]};
    }
  }
  return y;
}

}  // namespace

TEST_CASE("attention of many heads, of keys that several share, with and without masks") {
  Random random(3);
  for (int round = 0; round < 32; ++round) {
    CAPTURE(round);
    const Heads h{3,
                  5,
                  4,
                  round % 2 == 0 ? 4 : 2,
                  3,
                  round / 2 % 2 == 0,
                  round / 4 % 2 == 0,
                  round / 8 % 2 == 0,
                  round / 16 == 0 ? 0.0f : 0.25f};
    const auto reals = [&](int64_t n) { return random.reals(static_cast<size_t>(n * h.size), -1.0f, 1.0f); };
    const Reals q = reals(h.queries * h.heads), k = reals(h.keys * h.of_keys), v = reals(h.keys * h.of_keys);
    Import import(file_of(h).bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    RunningModel model(import.write());
    REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
    const Reals* const inputs[] = {&q, &k, &v};
    for (int32_t i = 0; i < 3; ++i)
      std::copy(inputs[i]->begin(), inputs[i]->end(), model.session().input(i).as<float>().data);
    model.session().run();
    const auto y = model.session().output().as<float>();
    const Doubles wanted = expected(h, q, k, v);
    REQUIRE(y.size == wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) CHECK(std::fabs(double{y[i]} - wanted[i]) < 1e-5);
  }
}

TEST_CASE("an Attention that does not fit is refused") {
  const auto message = [](const Heads& h, const char* attribute) {
    OnnxBuilder file = file_of(h);
    set(file.graph().node[0], attribute, 1.0f);
    return Import(file.bytes()).message();
  };
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(message({3, 5, 4, 2, 3, true, false, false}, "scale").empty());
  OnnxBuilder below = file_of({3, 5, 4, 2, 3, true, false, false});
  set(below.graph().node[0], "softcap", -1.0f);
  CHECK(says(Import(below.bytes()).message(), "its softcap is -1"));
  CHECK(says(message({3, 5, 4, 3, 3, true, false, false}, "scale"), "do not divide among 3 of keys"));
  OnnxBuilder headless = file_of({3, 5, 4, 2, 3, true, false, false});
  for (auto& attribute : headless.graph().node[0].attribute)
    if (attribute.name == "q_num_heads") attribute.i = 0;
  CHECK(Import(headless.bytes()).says("attribute q_num_heads is 0; inputs of rank 3 need it"));
}

namespace {

constexpr int64_t kQueries = 3, kKeys = 5;

// An Attention of 2 heads with the mask that `build` makes of "c" and "d" [3, 5], bools or small whole numbers in "b".
template <typename Build>
OnnxBuilder masked(Build build, Type::DataType type_of_b = Type::BOOL) {
  OnnxBuilder file(23);
  file.input("q", {1, 2, kQueries, 4});
  file.input("k", {1, 2, kKeys, 4});
  file.input("v", {1, 2, kKeys, 4});
  file.input("c", {kQueries, kKeys});
  file.input("d", {kQueries, kKeys});
  file.input("b", {kQueries, kKeys});
  set_type(file, 5, type_of_b);
  file.floats("low", {}, {-0.5f});
  build(file);
  file.node("Attention", {"q", "k", "v", "mask"}, "y");
  file.output("y");
  return file;
}

void check_masked(const OnnxBuilder& file, const OnnxBuilder& other) {
  const Reals a = run_all(file, 2), b = run_all(other, 2);  // "b" holds 0 and 1
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-5));
}

// The same bools by a comparison of numbers that they choose.
void compare(OnnxBuilder& file, const std::string& truth) {
  file.floats("one", {}, {1});
  file.floats("zero", {}, {0});
  file.node("Where", {truth, "one", "zero"}, "number");
  file.node("Greater", {"number", "zero"}, "mask");
}

}  // namespace

TEST_CASE("bools choose scores, whatever has moved or joined them") {
  struct Route {
    const char* what;
    void (*build)(OnnxBuilder& file, const char* to);
  };
  const Route routes[] = {
      {"compared",
       [](OnnxBuilder& f, const char* to) {
         f.node("Greater", {"c", "low"}, to);
       }},
      {"given", [](OnnxBuilder& f, const char* to) { f.node("Identity", {"b"}, to); }},
      {"cast",
       [](OnnxBuilder& f, const char* to) {
         f.node("Relu", {"c"}, "r");
         set(f.node("Cast", {"r"}, to), "to", int64_t{Type::BOOL});
       }},
      {"cast like another",
       [](OnnxBuilder& f, const char* to) {
         f.node("Relu", {"c"}, "r");
         f.node("Greater", {"d", "low"}, "g");
         f.node("CastLike", {"r", "g"}, to);
       }},
      {"chosen",
       [](OnnxBuilder& f, const char* to) {
         f.node("Greater", {"c", "low"}, "g");
         f.node("Greater", {"d", "low"}, "h");
         f.node("Where", {"h", "g", "b"}, to);
       }},
      {"a triangle",
       [](OnnxBuilder& f, const char* to) {
         f.node("Greater", {"c", "low"}, "g");
         f.integers("diagonal", {1}).dims.clear();
         set(f.node("Trilu", {"g", "diagonal"}, to), "upper", int64_t{0});
       }},
      {"joined with constants",
       [](OnnxBuilder& f, const char* to) {
         f.node("Greater", {"c", "low"}, "g");
         f.integers("begin", {1});
         f.integers("end", {5});
         f.integers("axis", {1});
         f.node("Slice", {"g", "begin", "end", "axis"}, "s");
         codes(f, "first", {kQueries, 1}, Type::BOOL, {1, 0, 1});
         set(f.node("Concat", {"first", "s"}, to), "axis", int64_t{1});
       }},
      {"moved often",
       [](OnnxBuilder& f, const char* to) {
         f.node("Not", {"b"}, "t0");
         for (int i = 0; i < 12; ++i) {
           const std::string from = "t" + std::to_string(i), next = "t" + std::to_string(i + 1);
           f.node("Transpose", {from}, i == 11 ? to : next);
         }
       }},
      {"constants alone", [](OnnxBuilder& f, const char* to) {
         f.floats("numbers", {kQueries, kKeys}, {0, 0.5f, 2, 0, 1, 1, 0, NAN, 0, 2, 0, 0, 0, 0, 1});
         f.node("IsNaN", {"numbers"}, "n");
         set(f.node("Cast", {"numbers"}, "m"), "to", int64_t{Type::BOOL});
         f.node("Xor", {"m", "n"}, to);
       }}};
  for (const Route& route : routes) {
    CAPTURE(std::string(route.what));
    check_masked(masked([&](OnnxBuilder& file) { route.build(file, "mask"); }),
                 masked([&](OnnxBuilder& file) {
                   route.build(file, "truth");
                   compare(file, "truth");
                 }));
  }
}

TEST_CASE("numbers are added to scores, though they come of bools") {
  const auto check = [](const char* what, auto build, auto plain, Type::DataType type) {
    CAPTURE(std::string(what));
    check_masked(masked(build, type), masked(plain, type));
  };
  const auto as_numbers = [](OnnxBuilder& file) {
    file.floats("zero", {}, {0});
    file.floats("one", {}, {1});
    file.node("Where", {"g", "one", "zero"}, "mask");
  };
  check(
      "a comparison",
      [](OnnxBuilder& file) {
        file.node("Greater", {"c", "low"}, "g");
        set(file.node("Cast", {"g"}, "mask"), "to", int64_t{Type::FLOAT});
      },
      [&](OnnxBuilder& file) {
        file.node("Greater", {"c", "low"}, "g");
        as_numbers(file);
      },
      Type::BOOL);
  for (const auto type : {Type::FLOAT, Type::INT64})
    check(
        "bools that come in",
        [type](OnnxBuilder& file) { set(file.node("Cast", {"b"}, "mask"), "to", int64_t{type}); },
        [](OnnxBuilder& file) { set(file.node("Cast", {"b"}, "mask"), "to", int64_t{Type::DOUBLE}); },
        Type::INT64);
  check(
      "constant integers",
      [](OnnxBuilder& file) {
        codes(file, "mask", {1, kKeys}, Type::INT32, {0, 1, 2, 0, 1});
      },
      [](OnnxBuilder& file) {
        file.floats("mask", {1, kKeys}, {0, 1, 2, 0, 1});
      },
      Type::BOOL);
}

}  // namespace intaglio::test::import_onnx_attention_test
