// ONNX Attention beside its definition in doubles.
#include <algorithm>
#include <cmath>

#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

using namespace intaglio;
using namespace intaglio::test;

namespace {

using Reals = std::vector<float>;
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
    auto& mask = file.integers("mask", std::vector<int64_t>(static_cast<size_t>(h.queries * h.keys), 1));
    mask.clear_dims();
    mask.add_dims(h.queries);
    mask.add_dims(h.keys);
    for (int64_t k = 0; k < h.keys; ++k) mask.set_int64_data(static_cast<int>(k), 0);  // of the first query
    mask.set_int64_data(static_cast<int>(h.keys), 0);
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
    set(*file.graph().mutable_node(0), attribute, 1.0f);
    return Import(file.bytes()).message();
  };
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(message({3, 5, 4, 2, 3, true, false, false}, "scale").empty());
  OnnxBuilder below = file_of({3, 5, 4, 2, 3, true, false, false});
  set(*below.graph().mutable_node(0), "softcap", -1.0f);
  CHECK(says(Import(below.bytes()).message(), "its softcap is -1"));
  CHECK(says(message({3, 5, 4, 3, 3, true, false, false}, "scale"), "do not divide among 3 of keys"));
  OnnxBuilder headless = file_of({3, 5, 4, 2, 3, true, false, false});
  for (auto& attribute : *headless.graph().mutable_node(0)->mutable_attribute())
    if (attribute.name() == "q_num_heads") attribute.set_i(0);
  CHECK(Import(headless.bytes()).says("attribute q_num_heads is 0; inputs of rank 3 need it"));
}
