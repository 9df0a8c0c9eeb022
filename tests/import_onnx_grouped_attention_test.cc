// onnxruntime's GroupQueryAttention and RotaryEmbedding, beside their definitions in double.
#include <cmath>

#include "tests/support/fused_onnx.h"

namespace intaglio::test::import_onnx_grouped_attention_test {
namespace {

constexpr int64_t kHeads = 4, kKeyHeads = 2, kSize = 4, kHalf = 2, kPositions = 16;

struct Case {
  int64_t steps, past, place, total;  // `place`: of the first new step
  bool of_run, packed, rotates, interleaved;
  int64_t window;
};

double angle(int64_t position, int64_t pair) {
  return static_cast<double>(position) * std::pow(0.3, static_cast<double>(pair));
}

// A head turned at a position.
void turn(double* head, int64_t position, bool interleaved) {
  for (int64_t i = 0; i < kHalf; ++i) {
    double& a = head[interleaved ? 2 * i : i];
    double& b = head[interleaved ? 2 * i + 1 : i + kHalf];
    const double c = std::cos(angle(position, i)), s = std::sin(angle(position, i)), before = a;
    a = before * c - b * s;
    b = before * s + b * c;
  }
}

struct Results {
  std::vector<double> y, keys, values;
};

using Numbers = std::vector<double>;

Results defined(const Case& c, Numbers q, Numbers k, const Numbers& v, const Numbers& past_k,
                const Numbers& past_v) {
  const int64_t kept = std::max(c.total, c.past), group = kHeads / kKeyHeads;
  Results r;
  r.keys.assign(static_cast<size_t>(kKeyHeads * kept * kSize), 0.0);
  r.values = r.keys;
  const auto at = [](int64_t i) { return static_cast<size_t>(i); };
  for (int64_t h = 0; h < kKeyHeads; ++h)
    for (int64_t t = 0; t < kept; ++t)
      for (int64_t i = 0; i < kSize; ++i) {
        const bool is_new = t >= c.place && t < c.place + c.steps;
        const int64_t to = (h * kept + t) * kSize + i, from = ((t - c.place) * kKeyHeads + h) * kSize,
                      old = (h * c.past + t) * kSize + i;
        if (is_new && i == 0 && c.rotates) turn(&k[at(from)], t, c.interleaved);
        if (is_new || t < c.place) {
          r.keys[at(to)] = is_new ? k[at(from + i)] : past_k[at(old)];
          r.values[at(to)] = is_new ? v[at(from + i)] : past_v[at(old)];
        }
      }
  for (int64_t s = 0; s < c.steps; ++s)
    for (int64_t h = 0; h < kHeads; ++h) {
      double* const head = &q[at((s * kHeads + h) * kSize)];
      if (c.rotates) turn(head, c.place + s, c.interleaved);
      const int64_t last = c.place + s, first = c.window < 0 ? 0 : std::max<int64_t>(0, last - c.window + 1);
      Numbers sums(at(kSize), 0.0);
      double whole = 0.0;
      for (int64_t t = first; t <= last; ++t) {
        double score = 0.0;
        const int64_t row = (h / group * kept + t) * kSize;
        for (int64_t i = 0; i < kSize; ++i) score += head[i] * r.keys[at(row + i)];
        const double weight = std::exp(score / std::sqrt(static_cast<double>(kSize)));
        whole += weight;
        for (int64_t i = 0; i < kSize; ++i) sums[at(i)] += weight * r.values[at(row + i)];
      }
      for (const double sum : sums) r.y.push_back(sum / whole);
    }
  return r;
}

Reals table(double (*function)(double)) {
  Reals values;
  for (int64_t p = 0; p < kPositions; ++p)
    for (int64_t i = 0; i < kHalf; ++i) values.push_back(static_cast<float>(function(angle(p, i))));
  return values;
}

void add_tables(OnnxBuilder& file) {
  file.floats("cos", {kPositions, kHalf}, table([](double x) { return std::cos(x); }));
  file.floats("sin", {kPositions, kHalf}, table([](double x) { return std::sin(x); }));
}

std::string file_of(const Case& c) {
  OnnxBuilder file(17);
  const int64_t width = c.packed ? kHeads + 2 * kKeyHeads : kHeads;
  file.input("q", {1, c.steps, width * kSize});
  if (!c.packed)
    for (const char* name : {"k", "v"}) file.input(name, {1, c.steps, kKeyHeads * kSize});
  if (c.past > 0)
    for (const char* name : {"pk", "pv"}) file.input(name, {1, kKeyHeads, c.past, kSize});
  codes(file, "total", {1}, Type::INT32, {static_cast<int32_t>(c.total)});
  if (c.of_run)
    file.input("length", {1}), set_type(file, file.graph().input.count() - 1, Type::INT32);
  else
    codes(file, "length", {1}, Type::INT32, {static_cast<int32_t>(c.place + c.steps - 1)});
  const std::string k = c.packed ? "" : "k", v = c.packed ? "" : "v", pk = c.past > 0 ? "pk" : "",
                    pv = c.past > 0 ? "pv" : "";
  auto& node = microsoft(file, "GroupQueryAttention", {"q", k, v, pk, pv, "length", "total"}, "y");
  node.output.push_back("nk");
  node.output.push_back("nv");
  set(node, "num_heads", kHeads);
  set(node, "kv_num_heads", kKeyHeads);
  set(node, "local_window_size", c.window);
  if (c.rotates) {
    add_tables(file);
    node.input.push_back("cos");
    node.input.push_back("sin");
    set(node, "do_rotary", int64_t{1});
    set(node, "rotary_interleaved", int64_t{c.interleaved});
  }
  for (const char* name : {"y", "nk", "nv"}) file.output(name);
  return file.bytes();
}

void check_near(const std::vector<float>& a, const Numbers& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-5));
}

void check(const Case& c) {
  CAPTURE(c.steps);
  CAPTURE(c.past);
  CAPTURE(c.place);
  Import import(file_of(c));
  REQUIRE_MESSAGE(import.good(), import.message());
  RunningModel model(import.write());
  REQUIRE_MESSAGE(model.error().ok(), text_of(model.error(), &model.model()));
  Random random(5);
  const auto reals = [&](int64_t count) { return random.reals(static_cast<size_t>(count), -1.0f, 1.0f); };
  const Reals q = reals(c.steps * kHeads * kSize), k = reals(c.steps * kKeyHeads * kSize),
              v = reals(c.steps * kKeyHeads * kSize), pk = reals(kKeyHeads * c.past * kSize),
              pv = reals(kKeyHeads * c.past * kSize);
  int32_t input = 0;
  if (c.packed) {
    Reals rows;
    for (int64_t s = 0; s < c.steps; ++s)
      for (const Reals* part : {&q, &k, &v}) {
        const auto width = static_cast<std::ptrdiff_t>(part->size()) / c.steps;
        rows.insert(rows.end(), part->begin() + s * width, part->begin() + (s + 1) * width);
      }
    model.set_input(rows, input++);
  } else {
    for (const Reals* part : {&q, &k, &v}) model.set_input(*part, input++);
  }
  if (c.past > 0)
    for (const Reals* part : {&pk, &pv}) model.set_input(*part, input++);
  if (c.of_run) model.set_input(std::vector<int32_t>{static_cast<int32_t>(c.place + c.steps - 1)}, input++);
  model.session().run();
  const auto exact = [](const Reals& x) { return Numbers(x.begin(), x.end()); };
  const Results expected = defined(c, exact(q), exact(k), exact(v), exact(pk), exact(pv));
  check_near(model.output<float>(0), expected.y);
  check_near(model.output<float>(1), expected.keys);
  check_near(model.output<float>(2), expected.values);
}

}  // namespace

TEST_CASE("grouped attention, with and without a cache, of a length that the file or a run says") {
  //     steps, past, place, total, of_run, packed, rotates, interleaved, window
  check({4, 0, 0, 4, false, false, false, false, -1});
  check({4, 0, 0, 4, true, true, true, false, -1});
  check({1, 5, 5, 6, false, false, true, true, -1});
  check({2, 5, 5, 7, false, true, true, false, 3});
  check({1, 8, 4, 5, false, false, true, false, -1});
  check({1, 8, 7, 8, true, false, true, false, -1});
  check({3, 6, 4, 9, true, false, true, true, 2});
}

TEST_CASE("what a grouped attention does not say is refused") {
  const auto refusal = [](const char* name, int64_t value) {
    OnnxBuilder file(17);
    file.input("q", {1, 2, 16});
    for (const char* input : {"k", "v"}) file.input(input, {1, 2, 8});
    codes(file, "length", {1}, Type::INT32, {1});
    if (name == std::string("total"))
      file.input("total", {1}), set_type(file, 3, Type::INT32);
    else
      codes(file, "total", {1}, Type::INT32, {2});
    auto& node = microsoft(file, "GroupQueryAttention", {"q", "k", "v", "", "", "length", "total"}, "y");
    set(node, "num_heads", kHeads);
    set(node, "kv_num_heads", name == std::string("kv_num_heads") ? value : kKeyHeads);
    if (name == std::string("smooth_softmax")) set(node, name, value);
    if (name == std::string("do_rotary")) set(node, name, value);
    file.output("y");
    return Import(file.bytes()).message();
  };
  CHECK(refusal("total", 0).find("input 'total' (the number of steps in all) is computed by a run") !=
        std::string::npos);
  CHECK(refusal("kv_num_heads", 3).find("its 4 heads of queries do not divide among 3 of keys") !=
        std::string::npos);
  CHECK(refusal("smooth_softmax", 1).find("smooth_softmax is not supported") != std::string::npos);
  CHECK(refusal("do_rotary", 1).find("it turns queries and keys, and has no tables of angles") !=
        std::string::npos);
}

TEST_CASE("tables of angles without an axis, and lengths beyond any count, are refused") {
  for (const bool grouped : {false, true}) {
    OnnxBuilder file(21);
    for (const auto& [name, columns] : {std::pair<const char*, int64_t>{"q", 16}, {"k", 8}, {"v", 8}})
      file.input(name, {1, 2, columns});
    codes(file, "length", {1}, Type::INT32, {1});
    codes(file, "total", {1}, Type::INT32, {2});
    file.integers("places", {0});
    file.floats("angle", {}, {0.5f});
    if (grouped) {
      auto& node = microsoft(file, "GroupQueryAttention",
                             {"q", "k", "v", "", "", "length", "total", "angle", "angle"}, "y");
      set(node, "num_heads", kHeads);
      set(node, "kv_num_heads", kKeyHeads);
      set(node, "do_rotary", int64_t{1});
    } else {
      microsoft(file, "RotaryEmbedding", {"q", "places", "angle", "angle"}, "y");
    }
    file.output("y");
    CHECK(Import(file.bytes()).says("its table of angles is a single number"));
  }
  OnnxBuilder file(21);
  for (const auto& [name, columns] : {std::pair<const char*, int64_t>{"q", 16}, {"k", 8}, {"v", 8}})
    file.input(name, {1, 2, columns});
  file.integers("length", {INT64_MAX});
  codes(file, "total", {1}, Type::INT32, {3});
  auto& node = microsoft(file, "GroupQueryAttention", {"q", "k", "v", "", "", "length", "total"}, "y");
  set(node, "num_heads", kHeads);
  set(node, "kv_num_heads", kKeyHeads);
  file.output("y");
  CHECK(Import(file.bytes()).says("it has 2147483648 steps, of which 2 are new"));
}

TEST_CASE("rotary embedding, of onnxruntime and of ONNX") {
  for (const bool standard : {false, true})
    for (const bool in_heads : {false, true})
      for (const bool interleaved : {false, true}) {
        CAPTURE(standard);
        CAPTURE(in_heads);
        CAPTURE(interleaved);
        OnnxBuilder file(23);
        constexpr int64_t steps = 3;
        file.input("x", in_heads ? Ints{1, kHeads, steps, kSize} : Ints{1, steps, kHeads * kSize});
        add_tables(file);
        file.integers("one", {2});
        auto& places = file.integers("places", {7, 0, 5});
        places.dims.clear();
        places.dims.push_back(1);
        places.dims.push_back(steps);
        auto& node = standard ? file.node("RotaryEmbedding", {"x", "cos", "sin", "places"}, "y")
                              : microsoft(file, "RotaryEmbedding", {"x", "one", "cos", "sin"}, "y");
        set(node, "interleaved", int64_t{interleaved});
        set(node, "num_heads", kHeads);
        file.output("y");
        Random random(3);
        const Reals x = random.reals(kHeads * steps * kSize, -1, 1);
        Numbers expected(x.begin(), x.end());
        for (int64_t h = 0; h < kHeads; ++h)
          for (int64_t s = 0; s < steps; ++s) {
            const int64_t row = in_heads ? h * steps + s : s * kHeads + h;
            constexpr int64_t kPlaces[] = {7, 0, 5};
            turn(&expected[static_cast<size_t>(row * kSize)], standard ? kPlaces[s] : 2 + s, interleaved);
          }
        check_near(run_file(file.bytes(), x), expected);
      }
}

TEST_CASE("a mask that a run makes chooses, whatever made its truth values") {
  for (const bool negated : {false, true}) {
    OnnxBuilder file(23);
    for (const char* name : {"q", "k", "v"}) file.input(name, {1, 2, 2});
    file.input("m", {2, 2});
    file.floats("zero", {1}, {0});
    file.node("Greater", {"m", "zero"}, negated ? "not" : "mask");
    if (negated) file.node("Not", {"not"}, "mask");
    auto& node = file.node("Attention", {"q", "k", "v", "mask"}, "y");
    set(node, "q_num_heads", int64_t{1});
    set(node, "kv_num_heads", int64_t{1});
    file.output("y");
    Import import(file.bytes());
    REQUIRE_MESSAGE(import.good(), import.message());
    RunningModel model(import.write());
    model.set_input(Reals{1, 2, 3, 4}, 0);
    model.set_input(Reals{0, 1, 1, 0}, 1);
    model.set_input(Reals{5, 6, 7, 8}, 2);
    const float yes = negated ? -1.0f : 1.0f;
    model.set_input(Reals{yes, -yes, -yes, yes}, 3);  // each query sees its own key
    model.session().run();
    CHECK(model.output<float>(0) == Reals{5, 6, 7, 8});
  }
}

}  // namespace intaglio::test::import_onnx_grouped_attention_test
