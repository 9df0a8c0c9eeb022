// Normalizations and Softmaxes that are made of small operators, as the exporters of many frameworks write them: each becomes one
// node, with the values of the definition. What only looks like one stays as it is. Another way is another row.
#include <functional>
#include <map>

#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/random.h"

namespace intaglio::test::import_norms_test {
namespace {

using Dims = std::vector<int64_t>;
using Reals = std::vector<float>;

constexpr float kEpsilon = 1e-3f;

int64_t product(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

// A network from [1, n] to [1, n] with a tensor of `dims` between.
class Network {
 public:
  explicit Network(const Dims& of_x) : file_(17), dims(of_x) {
    file_.input("in", {1, product(dims)});
    file_.integers("dims", dims);
    file_.integers("flat", {1, product(dims)});
    x = op("Reshape", {"in", "dims"});
  }
  std::string op(const char* type, const std::vector<std::string>& inputs) {
    return file_.node(type, inputs, "t" + std::to_string(++names_)).output[0];
  }
  std::string number(float value) { return numbers({}, {value}); }
  std::string numbers(const Dims& shape, const Reals& values) {
    const std::string name = "k" + std::to_string(++names_);
    file_.floats(name, shape, values);
    return name;
  }
  std::string integers(const Dims& values) {
    const std::string name = "i" + std::to_string(++names_);
    file_.integers(name, values);
    return name;
  }
  std::string reduce(const char* type, const std::string& of, const Dims& axes, bool keep = true) {
    const bool by_input = std::string(type) == "ReduceSum";
    const std::string name = "t" + std::to_string(++names_);
    auto& node = file_.node(
        type, by_input ? std::vector<std::string>{of, integers(axes)} : std::vector<std::string>{of}, name);
    if (!by_input) set(node, "axes", axes);
    set(node, "keepdims", int64_t{keep ? 1 : 0});
    return name;
  }
  std::string finish(const std::string& y) {
    file_.node("Reshape", {y, "flat"}, "out");
    file_.output("out");
    return file_.bytes();
  }

 private:
  OnnxBuilder file_;
  int names_ = 0;

 public:
  Dims dims;
  std::string x;
};

// x, its axes, gamma and beta, in the words of the rows below.
struct Parts {
  Network& net;
  Dims axes;
  std::string gamma, beta;

  std::string op(const char* type, const std::vector<std::string>& inputs) const {
    return net.op(type, inputs);
  }
  std::string mean(const std::string& of) const { return net.reduce("ReduceMean", of, axes); }
  std::string sum(const std::string& of, bool keep = true) const {
    return net.reduce("ReduceSum", of, axes, keep);
  }
  std::string mean_by_sum(const std::string& of, bool keep = true) const {
    return op("Mul", {sum(of, keep), net.number(1.0f / count())});
  }
  std::string unsqueezed(const std::string& of) const { return op("Unsqueeze", {of, net.integers(axes)}); }
  float count() const {
    float count = 1.0f;
    for (const int64_t axis : axes) count *= static_cast<float>(net.dims[static_cast<size_t>(axis)]);
    return count;
  }
  std::string with_epsilon(const std::string& of) const { return op("Add", {of, net.number(kEpsilon)}); }
  std::string inverse_root(const std::string& of) const { return op("Reciprocal", {op("Sqrt", {of})}); }
  std::string affine(const std::string& of) const { return op("Add", {op("Mul", {of, gamma}), beta}); }
};

struct Form {
  const char* name;
  bool is_centred;
  std::function<std::string(const Parts&)> write;
  bool is_behind_root = false;  // its epsilon
};

std::vector<Form> forms() {
  return {
      {"PyTorch", true,
       [](const Parts& p) {
         const auto d = p.op("Sub", {p.net.x, p.mean(p.net.x)});
         const auto v = p.mean(p.op("Pow", {d, p.net.number(2)}));
         return p.affine(p.op("Div", {d, p.op("Sqrt", {p.with_epsilon(v)})}));
       }},
      {"gamma before the quotient", true,
       [](const Parts& p) {
         const auto d = p.op("Sub", {p.net.x, p.mean(p.net.x)});
         const auto s = p.op("Sqrt", {p.with_epsilon(p.mean(p.op("Mul", {d, d})))});
         return p.op("Add", {p.op("Div", {p.op("Mul", {p.gamma, d}), s}), p.beta});
       }},
      {"flax, E[x^2] - E[x]^2 of sums", true,
       [](const Parts& p) {
         const auto &x = p.net.x, m = p.mean_by_sum(x), q = p.mean_by_sum(p.op("Mul", {x, x}));
         const auto v = p.op("Max", {p.op("Sub", {q, p.op("Mul", {m, m})}), p.net.number(0)});
         const auto r = p.op("Mul", {p.inverse_root(p.with_epsilon(v)), p.gamma});
         return p.op("Add", {p.op("Mul", {p.op("Sub", {x, m}), r}), p.beta});
       }},
      {"flax without kept axes", true,
       [](const Parts& p) {
         const auto &x = p.net.x, m = p.mean_by_sum(x, false), q = p.mean_by_sum(p.op("Mul", {x, x}), false);
         const auto v = p.op("Relu", {p.op("Sub", {q, p.op("Mul", {m, m})})});
         const auto r = p.op("Mul", {p.inverse_root(p.with_epsilon(p.unsqueezed(v))), p.gamma});
         return p.op("Add", {p.op("Mul", {p.op("Sub", {x, p.unsqueezed(m)}), r}), p.beta});
       }},
      {"TensorFlow and Keras, x * s + (beta - mean * s)", true,
       [](const Parts& p) {
         const auto &x = p.net.x, m = p.mean(x), d = p.op("Sub", {x, m});
         const auto s = p.op("Mul", {p.inverse_root(p.with_epsilon(p.mean(p.op("Mul", {d, d})))), p.gamma});
         return p.op("Add", {p.op("Mul", {x, s}), p.op("Sub", {p.beta, p.op("Mul", {m, s})})});
       }},
      {"a difference for the variance alone", true,
       [](const Parts& p) {
         const auto &x = p.net.x, m = p.mean(x), d = p.op("Sub", {x, m});
         const auto r = p.op("Pow", {p.with_epsilon(p.mean(p.op("Mul", {d, d}))), p.net.number(-0.5f)});
         return p.affine(p.op("Mul", {p.op("Sub", {x, m}), r}));
       }},
      {"each divided", true,
       [](const Parts& p) {
         const auto &x = p.net.x, m = p.mean(x), d = p.op("Sub", {x, m});
         const auto s = p.op("Sqrt", {p.with_epsilon(p.mean(p.op("Mul", {d, d})))});
         return p.affine(p.op("Sub", {p.op("Div", {x, s}), p.op("Div", {m, s})}));
       }},
      {"a root of its own for each", true,
       [](const Parts& p) {
         const auto &x = p.net.x, m = p.mean(x), d = p.op("Sub", {x, m});
         const auto v = p.mean(p.op("Mul", {d, d}));
         return p.affine(p.op("Sub", {p.op("Mul", {x, p.inverse_root(p.with_epsilon(v))}),
                                      p.op("Mul", {m, p.inverse_root(p.with_epsilon(v))})}));
       }},
      {"a mean that is added", true,
       [](const Parts& p) {
         const auto d = p.op("Add", {p.net.x, p.op("Neg", {p.mean(p.net.x)})});
         return p.affine(p.op("Mul", {d, p.inverse_root(p.with_epsilon(p.mean(p.op("Mul", {d, d}))))}));
       }},
      {"root mean square", false,
       [](const Parts& p) {
         const auto& x = p.net.x;
         return p.affine(p.op("Mul", {x, p.inverse_root(p.with_epsilon(p.mean(p.op("Mul", {x, x}))))}));
       }},
      {"root mean square, gamma first", false,
       [](const Parts& p) {
         const auto& x = p.net.x;
         const auto r = p.op("Sqrt", {p.with_epsilon(p.mean_by_sum(p.op("Mul", {x, x})))});
         return p.op("Add", {p.op("Div", {p.op("Mul", {x, p.gamma}), r}), p.beta});
       }},
      {"a sum of squares, and the root of their number", false,
       [](const Parts& p) {
         const auto& x = p.net.x;
         const auto s = p.op("Add", {p.sum(p.op("Mul", {x, x})), p.net.number(kEpsilon * p.count())});
         const auto y =
             p.op("Mul", {p.op("Div", {x, p.op("Sqrt", {s})}), p.net.number(std::sqrt(p.count()))});
         return p.affine(y);
       }},
      {"an epsilon behind the root", true,
       [](const Parts& p) {
         const auto d = p.op("Sub", {p.net.x, p.mean(p.net.x)});
         return p.affine(p.op("Div", {d, p.with_epsilon(p.op("Sqrt", {p.mean(p.op("Mul", {d, d}))}))}));
       },
       true},
      {"an epsilon behind the root, a reciprocal, gamma first", true,
       [](const Parts& p) {
         const auto d = p.op("Sub", {p.net.x, p.mean(p.net.x)});
         const auto s = p.with_epsilon(p.op("Sqrt", {p.mean(p.op("Mul", {d, d}))}));
         return p.op("Add", {p.op("Mul", {d, p.op("Mul", {p.op("Reciprocal", {s}), p.gamma})}), p.beta});
       },
       true},
      {"a length and an epsilon", false,
       [](const Parts& p) {
         const float n = std::sqrt(p.count());
         const auto length = p.op("Sqrt", {p.sum(p.op("Mul", {p.net.x, p.net.x}))});
         const auto y = p.op("Div", {p.net.x, p.op("Add", {length, p.net.number(kEpsilon * n)})});
         return p.affine(p.op("Mul", {y, p.net.number(n)}));
       },
       true},
  };
}

// For each element of x: the index of its group, and of its gamma.
size_t index_along(const Dims& dims, size_t element, const std::function<bool(size_t)>& counts) {
  size_t index = 0, step = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    const auto size = static_cast<size_t>(dims[d]);
    if (counts(d)) index += element % size * step;
    if (counts(d)) step *= size;
    element /= size;
  }
  return index;
}

std::vector<double> normalized(const Reals& x, const Dims& dims, const Dims& axes, const Dims& gamma_dims,
                               const Reals& gamma, const Reals& beta, const Form& form) {
  const auto group = [&](size_t i) {
    return index_along(dims, i,
                       [&](size_t d) { return std::find(axes.begin(), axes.end(), d) == axes.end(); });
  };
  std::map<size_t, std::array<double, 3>> sums;  // count, x, x * x
  for (size_t i = 0; i < x.size(); ++i) {
    auto& s = sums[group(i)];
    s[0] += 1;
    s[1] += x[i];
    s[2] += double{x[i]} * x[i];
  }
  std::vector<double> made;
  for (size_t i = 0; i < x.size(); ++i) {
    const auto& s = sums[group(i)];
    const double mean = form.is_centred ? s[1] / s[0] : 0, variance = s[2] / s[0] - mean * mean;
    const double deviation =
        form.is_behind_root ? std::sqrt(variance) + double{kEpsilon} : std::sqrt(variance + double{kEpsilon});
    const size_t c = index_along(dims, i, [&](size_t d) { return gamma_dims[d] != 1; });
    made.push_back((x[i] - mean) / deviation * gamma[c] + beta[c]);
  }
  return made;
}

}  // namespace

TEST_CASE("a normalization of small operators is one node, whatever the form and the axes") {
  const struct {
    const char* name;
    Dims dims, axes, gamma;
  } cases[] = {{"rows", {2, 3, 8}, {2}, {1, 1, 8}},
               {"one row", {1, 8}, {1}, {1, 8}},
               {"an inner axis, with its gamma", {1, 6, 4}, {1}, {1, 6, 1}},
               {"an inner axis, with the others' gamma", {1, 6, 4}, {1}, {1, 1, 4}},
               {"all but the first", {2, 3, 4, 5}, {1, 2, 3}, {1, 1, 1, 5}},
               {"all but the first, a gamma an element", {2, 3, 4, 5}, {1, 2, 3}, {1, 3, 4, 5}},
               {"instances, channels last", {2, 3, 4, 5}, {1, 2}, {1, 1, 1, 5}},
               {"instances, channels first", {2, 3, 4, 5}, {2, 3}, {1, 1, 4, 5}},
               {"groups, channels last", {2, 3, 4, 2, 5}, {1, 2, 4}, {1, 1, 1, 2, 5}},
               {"groups, channels first", {2, 2, 3, 4}, {2, 3}, {1, 1, 3, 4}},
               {"rows of groups", {2, 3, 2, 5}, {3}, {1, 1, 1, 5}},
               {"every second axis", {2, 3, 2, 3, 2}, {1, 3}, {1, 3, 1, 3, 1}}};
  Random random(21);
  for (const Form& form : forms())
    for (const auto& c : cases) {
      CAPTURE(std::string(form.name));
      CAPTURE(std::string(c.name));
      const auto count = static_cast<size_t>(product(c.gamma));
      const Reals gamma = random.reals(count, 0.5f, 2), beta = random.reals(count, -1, 1),
                  x = random.reals(static_cast<size_t>(product(c.dims)), -2, 3);
      Network net(c.dims);
      const Parts parts{net, c.axes, net.numbers(c.gamma, gamma), net.numbers(c.gamma, beta)};
      Import import(net.finish(form.write(parts)));
      REQUIRE_MESSAGE(import.good(), import.message());
      CHECK(import.count(Op::kNormalize) == 1);
      for (const Op other : {Op::kMean, Op::kSqrt, Op::kRsqrt, Op::kSub, Op::kMul, Op::kAdd, Op::kDiv})
        CHECK(import.count(other) == 0);
      const auto expected = normalized(x, c.dims, c.axes, c.gamma, gamma, beta, form);
      const Reals got = run_import<float>(import, x);
      REQUIRE(got.size() == expected.size());
      for (size_t i = 0; i < got.size(); ++i) CHECK(std::fabs(got[i] - expected[i]) < 2e-5);
    }
}

TEST_CASE("an unbiased variance is one of another factor") {
  Network net({3, 8});
  const Parts p{net, {1}, net.number(1), net.number(0)};
  const auto d = p.op("Sub", {net.x, p.mean(net.x)});
  const auto v = p.op("Div", {p.sum(p.op("Mul", {d, d})), net.number(7)});
  Import import(net.finish(p.op("Div", {d, p.op("Sqrt", {p.with_epsilon(v)})})));
  CHECK(import.count(Op::kNormalize) == 1);
  CHECK(import.count(Op::kMean) == 0);
  Random random(2);
  const Reals x = random.reals(24, -1, 2), got = run_import<float>(import, x);
  for (size_t row = 0; row < 3; ++row) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < 8; ++i) sum += x[8 * row + i];
    for (size_t i = 0; i < 8; ++i) squares += std::pow(x[8 * row + i] - sum / 8, 2);
    for (size_t i = 0; i < 8; ++i)
      CHECK(std::fabs(got[8 * row + i] -
                      (x[8 * row + i] - sum / 8) / std::sqrt(squares / 7 + double{kEpsilon})) < 1e-5);
  }
}

TEST_CASE("an instance normalization of channels that are reshaped to groups is one of groups") {
  for (const Dims& dims : {Dims{1, 12, 4, 5}, Dims{2, 12, 7}, Dims{1, 12, 2, 3, 4}}) {
    const int64_t groups = 3, channels = 12;
    Dims per_channel(dims.size(), 1);
    per_channel[1] = channels;
    Random random(6);
    const Reals gamma = random.reals(12, 0.5f, 2), beta = random.reals(12, -1, 1),
                own = random.reals(3, 0.5f, 2), more = random.reals(3, -1, 1),
                x = random.reals(static_cast<size_t>(product(dims)), -2, 3);
    Network net(dims);
    const Parts p{net, {}, net.numbers(per_channel, gamma), net.numbers(per_channel, beta)};
    const auto split = p.op("Reshape", {net.x, net.integers({0, groups, -1})});
    const auto normal =
        p.op("InstanceNormalization", {split, net.numbers({groups}, own), net.numbers({groups}, more)});
    const auto y = p.affine(p.op("Reshape", {normal, net.integers(dims)}));
    Import import(net.finish(y));
    REQUIRE_MESSAGE(import.good(), import.message());
    REQUIRE(import.count(Op::kNormalize) == 1);
    const auto& norm = import.node(Op::kNormalize);
    CHECK(norm.options.as<NormalizeOptions>().groups == groups);
    CHECK(import.graph().tensors[static_cast<size_t>(norm.inputs[0])].shape.back(0) == channels);
    CHECK(import.count(Op::kTranspose) <= 2);
    for (const Op other : {Op::kMul, Op::kAdd}) CHECK(import.count(other) == 0);
    const Reals got = run_import<float>(import, x);
    REQUIRE(got.size() == x.size());
    const size_t depth = static_cast<size_t>(product(dims) / dims[0] / groups), places = depth / 4;
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t group = i / depth, c = i / places % 12;
      double sum = 0, squares = 0;
      for (size_t k = 0; k < depth; ++k) sum += x[group * depth + k];
      const double mean = sum / static_cast<double>(depth);
      for (size_t k = 0; k < depth; ++k) squares += std::pow(x[group * depth + k] - mean, 2);
      const double normal_x = (x[i] - mean) / std::sqrt(squares / static_cast<double>(depth) + 1e-5);
      CHECK(std::fabs(got[i] - ((normal_x * own[group % 3] + more[group % 3]) * gamma[c] + beta[c])) < 2e-5);
    }
  }
}

TEST_CASE("over axes of one element nothing is normalized") {
  for (const Dims& dims : {Dims{3, 1, 5}, Dims{1, 1, 5}, Dims{4, 1, 1, 3}}) {
    for (const Form& form : forms()) {
      CAPTURE(std::string(form.name));
      Network net(dims);
      const Parts parts{net, {1}, net.number(2), net.number(1)};
      Import import(net.finish(form.write(parts)));
      REQUIRE_MESSAGE(import.good(), import.message());
      CHECK(import.count(Op::kNormalize) == 0);
    }
  }
}

TEST_CASE("what is no normalization stays as it is") {
  const struct {
    const char* name;
    std::function<std::string(const Parts&)> write;
  } forms[] = {
      {"the variance of another tensor",
       [](const Parts& p) {
         const auto &x = p.net.x, other = p.op("Sigmoid", {x}), d = p.op("Sub", {other, p.mean(other)});
         const auto s = p.op("Sqrt", {p.with_epsilon(p.mean(p.op("Mul", {d, d})))});
         return p.op("Div", {p.op("Sub", {x, p.mean(x)}), s});
       }},
      {"the mean of other axes",
       [](const Parts& p) {
         const auto d = p.op("Sub", {p.net.x, p.net.reduce("ReduceMean", p.net.x, {0})});
         return p.op("Div", {d, p.op("Sqrt", {p.with_epsilon(p.mean(p.op("Mul", {d, d})))})});
       }},
      {"another number of elements",
       [](const Parts& p) {
         const auto &x = p.net.x, m = p.op("Mul", {p.sum(x), p.net.number(0.2f)});
         const auto d = p.op("Sub", {x, m});
         return p.op("Div", {d, p.op("Sqrt", {p.with_epsilon(p.mean(p.op("Mul", {d, d})))})});
       }},
      {"half the squared mean",
       [](const Parts& p) {
         const auto &x = p.net.x, m = p.mean(x), q = p.mean(p.op("Mul", {x, x}));
         const auto v = p.op("Sub", {q, p.op("Mul", {p.op("Mul", {m, m}), p.net.number(0.5f)})});
         return p.op("Div", {p.op("Sub", {x, m}), p.op("Sqrt", {p.with_epsilon(v)})});
       }},
      {"a variance of at least so much",
       [](const Parts& p) {
         const auto d = p.op("Sub", {p.net.x, p.mean(p.net.x)});
         return p.op("Div",
                     {d, p.op("Sqrt", {p.op("Max", {p.mean(p.op("Mul", {d, d})), p.net.number(0.5f)})})});
       }},
      {"an epsilon below 0 behind the root",
       [](const Parts& p) {
         const auto d = p.op("Sub", {p.net.x, p.mean(p.net.x)}),
                    s = p.op("Sqrt", {p.mean(p.op("Mul", {d, d}))});
         return p.op("Div", {d, p.op("Add", {s, p.net.number(-1e-6f)})});
       }},
      {"two epsilons behind the root",
       [](const Parts& p) {
         const auto &x = p.net.x, m = p.mean(x), d = p.op("Sub", {x, m});
         const auto s = p.op("Sqrt", {p.mean(p.op("Mul", {d, d}))});
         return p.op("Sub", {p.op("Div", {x, p.with_epsilon(s)}),
                             p.op("Div", {m, p.op("Add", {s, p.net.number(2 * kEpsilon)})})});
       }},
      {"an epsilon below 0",
       [](const Parts& p) {
         const auto d = p.op("Sub", {p.net.x, p.mean(p.net.x)});
         const auto v = p.op("Add", {p.mean(p.op("Mul", {d, d})), p.net.number(-1e-6f)});
         return p.op("Div", {d, p.op("Sqrt", {v})});
       }},
      {"the mean weighted twice",
       [](const Parts& p) {
         const auto &x = p.net.x, m = p.mean(x), d = p.op("Sub", {x, m});
         const auto s = p.op("Sqrt", {p.with_epsilon(p.mean(p.op("Mul", {d, d})))});
         return p.op("Div", {p.op("Sub", {d, m}), s});
       }},
      {"statistics that meet other elements",  // of 4 x 4: those of rows are laid along columns
       [](const Parts& p) {
         const auto &x = p.net.x, m = p.op("Transpose", {p.mean(x)});
         const auto d = p.op("Sub", {x, m});
         return p.op("Div", {d, p.op("Sqrt", {p.with_epsilon(p.mean(p.op("Mul", {d, d})))})});
       }},
      {"statistics reshaped to other axes", [](const Parts& p) {
         const auto& x = p.net.x;
         const auto along = [&](const std::string& of) {
           return p.op("Reshape", {of, p.net.integers({1, 4})});
         };
         const auto m = p.mean(x), d = p.op("Sub", {x, m}), v = p.mean(p.op("Mul", {d, d}));
         return p.op("Div", {p.op("Sub", {x, along(m)}), p.op("Sqrt", {p.with_epsilon(along(v))})});
       }}};
  Random random(4);
  for (const auto& form : forms) {
    CAPTURE(std::string(form.name));
    Network net({4, 4});
    const Parts parts{net, {1}, net.number(1), net.number(0)};
    Import import(net.finish(form.write(parts)));
    REQUIRE_MESSAGE(import.good(), import.message());
    // Some of these divide by a root mean square, and that part is one: its mean counts as 0.
    for (const GraphNode& node : import.graph().nodes)
      if (node.op == Op::kNormalize) CHECK(node.options.as<NormalizeOptions>().keeps_mean);
    CHECK(run_import<float>(import, random.reals(16, -1, 2)).size() == 16);
  }
}

TEST_CASE("a Softmax of small operators is one node") {
  struct Case {
    bool less_max, keeps, multiplies;
    Dims axes;
    bool is_one_node;
  };
  const Case cases[] = {{true, true, false, {2}, true},  {true, false, false, {2}, true},
                        {true, true, true, {2}, true},   {false, true, false, {2}, true},
                        {true, true, false, {1}, false}, {false, true, false, {1, 2}, false}};
  Random random(9);
  for (const Case& c : cases) {
    Network net({2, 3, 5});
    const Parts p{net, c.axes, "", ""};
    std::string z = net.x;
    if (c.less_max) {
      const auto most = net.reduce("ReduceMax", z, c.axes, c.keeps);
      z = p.op("Sub", {z, c.keeps ? most : p.unsqueezed(most)});
    }
    const auto e = p.op("Exp", {z}), sum = p.sum(e, c.keeps), kept = c.keeps ? sum : p.unsqueezed(sum);
    const auto y = c.multiplies ? p.op("Mul", {p.op("Reciprocal", {kept}), e}) : p.op("Div", {e, kept});
    Import import(net.finish(y));
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK((import.count(Op::kSoftmax) == 1) == c.is_one_node);
    CHECK((import.count(Op::kExp) == 0) == c.is_one_node);
    const Reals x = random.reals(30, -3, 3), got = run_import<float>(import, x);
    std::map<size_t, double> sums;
    const auto group = [&](size_t i) {
      return index_along(
          net.dims, i, [&](size_t d) { return std::find(c.axes.begin(), c.axes.end(), d) == c.axes.end(); });
    };
    for (size_t i = 0; i < x.size(); ++i) sums[group(i)] += std::exp(double{x[i]});
    for (size_t i = 0; i < x.size(); ++i)
      CHECK(std::fabs(got[i] - std::exp(double{x[i]}) / sums[group(i)]) < 1e-6);
  }
  // Twice the sum is none.
  Network net({2, 5});
  const Parts p{net, {1}, "", ""};
  const auto e = p.op("Exp", {net.x});
  Import import(net.finish(p.op("Div", {e, p.op("Mul", {p.sum(e), net.number(2)})})));
  CHECK(import.count(Op::kSoftmax) == 0);
}

}  // namespace intaglio::test::import_norms_test
