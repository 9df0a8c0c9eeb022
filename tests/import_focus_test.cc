// YOLOv5's focus as a recipe: a network that begins behind it takes pictures.
#include <doctest/doctest.h>

#include "tests/support/imported.h"
#include "tests/support/onnx_builder.h"

namespace intaglio::test::import_focus_test {

TEST_CASE("the model with --focus takes the picture before the focus") {
  Random random(1);
  const std::vector<float> weights = random.reals(2 * 12, -1.0f, 1.0f);
  OnnxBuilder behind;
  behind.input("images", {1, 12, 3, 4});
  behind.floats("w", {2, 12, 1, 1}, weights);
  behind.node("Conv", {"images", "w"}, "y");
  behind.output("y");
  ImportOptions options;
  options.focus = true;
  options.image.emplace();
  options.image->pixels = "0..1";
  Import focused(behind.bytes(), options);
  REQUIRE_MESSAGE(focused.good(), focused.message());
  CHECK(focused.dims(focused.input()) == std::vector<int32_t>{1, 6, 8, 3});
  CHECK(std::string(focused.input().name) == "images");
  CHECK(focused.graph().images.size() == 1);

  // torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1), and the convolution.
  const std::vector<float> x = random.reals(6 * 8 * 3, -1.0f, 1.0f);
  const std::vector<float> y = run_import<float>(focused, x);
  const bool is_nchw = focused.dims(focused.output())[1] == 2;
  for (size_t h = 0; h < 3; ++h)
    for (size_t w = 0; w < 4; ++w)
      for (size_t o = 0; o < 2; ++o) {
        double sum = 0;
        for (size_t part = 0; part < 4; ++part)
          for (size_t c = 0; c < 3; ++c)
            sum += static_cast<double>(weights[o * 12 + part * 3 + c]) *
                   static_cast<double>(x[((2 * h + part % 2) * 8 + 2 * w + part / 2) * 3 + c]);
        CHECK(y[is_nchw ? (o * 3 + h) * 4 + w : (h * 4 + w) * 2 + o] == doctest::Approx(sum).epsilon(1e-4));
      }

  OnnxBuilder other;
  other.input("x", {1, 3, 4, 4});
  other.node("Relu", {"x"}, "y");
  other.output("y");
  options.image.reset();
  CHECK(Import(other.bytes(), options)
            .says("--focus: no input is [1, height, width, 12], as networks behind YOLOv5's focus have it"));
}

}  // namespace intaglio::test::import_focus_test
