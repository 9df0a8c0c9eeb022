// How pictures become inputs: by a recipe, by numbers, by the file's metadata, by the codes of a quantized
// input, and by nothing else.
#include "importers/tflite/tflite_metadata_generated.h"
#include "tests/support/imported.h"
#include "tests/support/small_onnx_network.h"
#include "tests/support/tflite_builder.h"

namespace intaglio::test::import_pixels_test {

namespace metadata = intaglio::tflite_metadata;

namespace {

ImportOptions by_recipe(const std::string& name, std::optional<ColorOrder> color = {}) {
  ImportOptions options;
  options.image.emplace();
  options.image->pixels = name;
  options.image->color = color;
  return options;
}

ImportOptions by_numbers(const std::vector<float>& mean, const std::vector<float>& norm) {
  ImportOptions options;
  options.image.emplace();
  options.image->mean = mean;
  options.image->norm = norm;
  return options;
}

// The file's metadata of its inputs, one entry each.
struct Said {
  metadata::ContentProperties content = metadata::ContentProperties::ImageProperties;
  std::vector<float> mean, deviation;  // empty: no normalization
};

std::vector<uint8_t> metadata_of(const std::vector<Said>& inputs) {
  flatbuffers::FlatBufferBuilder fbb;
  std::vector<flatbuffers::Offset<metadata::TensorMetadata>> tensors;
  for (const Said& said : inputs) {
    flatbuffers::Offset<void> properties;
    if (said.content == metadata::ContentProperties::ImageProperties)
      properties = metadata::CreateImageProperties(fbb).Union();
    if (said.content == metadata::ContentProperties::AudioProperties)
      properties = metadata::CreateAudioProperties(fbb).Union();
    const auto content = metadata::CreateContent(fbb, said.content, properties);
    std::vector<flatbuffers::Offset<metadata::ProcessUnit>> units;
    if (!said.mean.empty() || !said.deviation.empty()) {
      const auto options = metadata::CreateNormalizationOptionsDirect(fbb, &said.mean, &said.deviation);
      units.push_back(metadata::CreateProcessUnit(fbb, metadata::ProcessUnitOptions::NormalizationOptions,
                                                  options.Union()));
    }
    tensors.push_back(metadata::CreateTensorMetadataDirect(fbb, content, &units));
  }
  const std::vector<flatbuffers::Offset<metadata::SubGraphMetadata>> graphs{
      metadata::CreateSubGraphMetadataDirect(fbb, &tensors)};
  metadata::FinishModelMetadataBuffer(fbb, metadata::CreateModelMetadataDirect(fbb, &graphs));
  return {fbb.GetBufferPointer(), fbb.GetBufferPointer() + fbb.GetSize()};
}

// A ReLU of each input.
struct TfliteInput {
  TfliteType type = kTfliteFloat;
  std::vector<int32_t> shape = {1, 4, 6, 3};
  TfliteScales scales = {};
};
std::string file_of(const std::vector<TfliteInput>& inputs, const std::vector<uint8_t>& said = {}) {
  TfliteBuilder file;
  std::vector<int32_t> ins, outs;
  for (const TfliteInput& input : inputs) {
    const std::string number = std::to_string(ins.size());
    ins.push_back(file.tensor("x" + number, input.type, input.shape, input.scales));
    outs.push_back(file.tensor("y" + number, input.type, input.shape, input.scales));
    file.op(kTfliteRelu, {ins.back()}, {outs.back()});
  }
  if (!said.empty()) file.metadata("TFLITE_METADATA", said);
  return file.finish(ins, outs);
}

const ImageInput& only_image(Import& import) {
  REQUIRE_MESSAGE(import.good(), import.message());
  REQUIRE(import.graph().images.size() == 1);
  return import.graph().images[0];
}

}  // namespace

TEST_CASE("recipes by name: the numbers, in the order of the model's colours") {
  struct Row {
    const char* name;
    std::vector<double> mean, norm;  // red, green, blue
    ColorOrder color;
  };
  const double unit = 1.0 / 255;
  const Row rows[] = {
      {"0..255", {0, 0, 0}, {1, 1, 1}, ColorOrder::kRgb},
      {"0..1", {0, 0, 0}, {unit, unit, unit}, ColorOrder::kRgb},
      {"-1..1", {127.5, 127.5, 127.5}, {1 / 127.5, 1 / 127.5, 1 / 127.5}, ColorOrder::kRgb},
      {"imagenet", {123.675, 116.28, 103.53}, {1 / 58.395, 1 / 57.12, 1 / 57.375}, ColorOrder::kRgb},
      {"caffe", {123.68, 116.779, 103.939}, {1, 1, 1}, ColorOrder::kBgr}};
  const auto names = pixel_recipes();
  REQUIRE(names.size() == std::size(rows));
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(std::count(names.begin(), names.end(), row.name) == 1);
    for (const auto color : {std::optional<ColorOrder>(), {ColorOrder::kRgb}, {ColorOrder::kBgr}}) {
      Import import(small_network().bytes(), by_recipe(row.name, color));
      const ImageInput& image = only_image(import);
      CHECK(image.color == color.value_or(row.color));
      for (size_t c = 0; c < 3; ++c) {
        const size_t of = image.color == ColorOrder::kBgr ? 2 - c : c;
        CHECK(static_cast<double>(image.mean[c]) == doctest::Approx(row.mean[of]).epsilon(1e-6));
        CHECK(static_cast<double>(image.norm[c]) == doctest::Approx(row.norm[of]).epsilon(1e-6));
      }
    }
  }
  Import unknown(small_network().bytes(), by_recipe("torch"));
  CHECK(unknown.says("0..255|0..1|-1..1|imagenet|caffe"));
  ImportOptions both = by_recipe("0..1");
  both.image->mean = {1.0f};
  CHECK(Import(small_network().bytes(), both).says("holds a mean and a norm of its own"));
}

TEST_CASE("one channel: recipes without colours") {
  const std::string gray = file_of({{kTfliteFloat, {1, 4, 6, 1}}});
  Import import(gray, by_recipe("-1..1"));
  const ImageInput& image = only_image(import);
  CHECK(image.color == ColorOrder::kGray);
  CHECK(image.mean[0] == 127.5f);
  CHECK(Import(gray, by_recipe("imagenet")).says("is for three colours"));
  CHECK(Import(gray, by_recipe("0..1", ColorOrder::kBgr)).says("use gray"));
}

TEST_CASE("numbers of pixels between 0 and 1 are refused, with the right ones") {
  Import torch(small_network().bytes(), by_numbers({0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}));
  CHECK(torch.says("give --mean 123.675,116.28,103.53 --norm 0.01712475"));
  Import scaled(small_network().bytes(), by_numbers({0.485f, 0.456f, 0.406f}, {0.017124754f}));
  CHECK(scaled.says("give --mean 123.675,116.28,103.53 --norm 0.01712475"));
  CHECK(Import(small_network().bytes(), by_numbers({0.5f}, {})).says("--mean 127.5 --norm 0.00392156"));
  CHECK(Import(small_network().bytes(), by_numbers({0.5f}, {0.5f})).says("--mean 127.5 --norm 0.00784313"));
  for (const auto& [mean, norm] : {std::pair<std::vector<float>, std::vector<float>>{{}, {1.0f / 255}},
                                   {{0.0f}, {1.0f / 255}},
                                   {{0.0f}, {}},
                                   {{127.5f}, {1.0f / 127.5f}},
                                   {{103.939f, 116.779f, 123.68f}, {}},
                                   {{0.5f, 116.0f, 1.0f}, {0.5f}}}) {
    Import import(small_network().bytes(), by_numbers(mean, norm));
    CHECK_MESSAGE(import.good(), import.message());
  }
}

TEST_CASE("a divisor in place of a factor is refused, with the right one") {
  Import import(small_network().bytes(), by_numbers({123.675f, 116.28f, 103.53f}, {50.0f, 57.12f, 62.5f}));
  CHECK(import.says("--norm 50,57.12,62.5 is what pixels are divided by"));
  CHECK(import.says("give --norm 0.02,0.0175070"));
  CHECK(Import(small_network().bytes(), by_numbers({}, {255.0f})).says("give --norm 0.00392156"));
  CHECK(Import(small_network().bytes(), by_numbers({127.5f}, {2.0f})).good());
}

TEST_CASE("an input is no picture unless something says so") {
  for (const std::vector<int32_t>& shape :
       {std::vector<int32_t>{1, 49, 10, 1}, {1, 96, 96, 3}, {1, 28, 28, 1}, {1, 490}}) {
    Import import(file_of({{kTfliteFloat, shape}}));
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.graph().images.empty());
  }
  ImportOptions resize;
  resize.image.emplace();
  resize.image->resize = ResizeMode::kCrop;
  CHECK(Import(file_of({{}}), resize).says("give --pixels 0..255|0..1|-1..1|imagenet|caffe"));
}

TEST_CASE("TFLite's metadata: mean and std are used and told") {
  constexpr auto kPicture = metadata::ContentProperties::ImageProperties;
  constexpr auto kUnsaid = metadata::ContentProperties::NONE;
  constexpr auto kSound = metadata::ContentProperties::AudioProperties;
  for (const auto content : {kPicture, kUnsaid}) {
    Import import(file_of({{}}, metadata_of({{content, {127.5f}, {64.0f}}})));
    const ImageInput& image = only_image(import);
    CHECK(image.color == ColorOrder::kRgb);
    for (int32_t c = 0; c < 3; ++c) {
      CHECK(image.mean[c] == 127.5f);
      CHECK(image.norm[c] == 1.0f / 64);
    }
    CHECK(import.notes("takes pictures by the file's metadata: mean 127.5, std 64"));
  }
  Import by_channel(file_of({{}}, metadata_of({{kPicture, {1, 2, 3}, {4, 8, 16}}})));
  CHECK(only_image(by_channel).mean[2] == 3.0f);
  CHECK(only_image(by_channel).norm[1] == 0.125f);
  // The user's words hold instead, or change what the file leaves open.
  Import asked(file_of({{}}, metadata_of({{kPicture, {127.5f}, {127.5f}}})), by_recipe("0..1"));
  CHECK(only_image(asked).mean[0] == 0.0f);
  ImportOptions bgr;
  bgr.image.emplace();
  bgr.image->color = ColorOrder::kBgr;
  bgr.image->resize = ResizeMode::kCrop;
  Import reordered(file_of({{}}, metadata_of({{kPicture, {127.5f}, {127.5f}}})), bgr);
  CHECK(only_image(reordered).color == ColorOrder::kBgr);
  CHECK(only_image(reordered).resize == ResizeMode::kCrop);
  CHECK(only_image(reordered).mean[0] == 127.5f);
  // Each input has its own.
  Import second(
      file_of({{kTfliteFloat, {1, 5}}, {}}, metadata_of({{kSound, {}, {}}, {kPicture, {0}, {255}}})));
  CHECK(only_image(second).input == 1);

  for (const Said& said : {Said{kSound, {127.5f}, {127.5f}}, Said{kPicture, {}, {}}, Said{kUnsaid, {}, {}}}) {
    Import import(file_of({{}}, metadata_of({said})));
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.graph().images.empty());
  }
  Import flat(file_of({{kTfliteFloat, {1, 72}}}, metadata_of({{kPicture, {1}, {1}}})));
  REQUIRE_MESSAGE(flat.good(), flat.message());
  CHECK(flat.graph().images.empty());
}

TEST_CASE("TFLite's metadata of no use is passed over with a note") {
  constexpr auto kPicture = metadata::ContentProperties::ImageProperties;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const Said& said : {Said{kPicture, {1, 2}, {1}}, Said{kPicture, {1}, {0}}, Said{kPicture, {1}, {-1}},
                           Said{kPicture, {kNan}, {1}}, Said{kPicture, {1}, {}}, Said{kPicture, {}, {1}},
                           Said{kPicture, {1}, {1e-39f}}}) {
    Import import(file_of({{}}, metadata_of({said})));
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.graph().images.empty());
    CHECK(import.notes("are passed over"));
  }
  const auto whole = metadata_of({{kPicture, {127.5f}, {127.5f}}});
  for (size_t size = 1; size < whole.size(); ++size) {
    const std::vector<uint8_t> exact(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    Import import(file_of({{}}, exact));
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK((import.graph().images.empty() == import.notes("metadata is damaged") ||
           !import.graph().images.empty()));
  }
  check_random_damage(file_of({{}}, whole), 12, 2000, 3);
}

TEST_CASE("a quantized input of 8 bits takes pixels as its codes") {
  struct Row {
    TfliteType type;
    std::vector<int32_t> shape;
    float scale;
    int64_t zero_point;
    bool is_picture;
  };
  const float unit = 1.0f / 255;
  for (const Row& row :
       {Row{kTfliteInt8, {1, 4, 6, 3}, unit, -128, true},
        Row{kTfliteInt8, {1, 4, 6, 3}, 0.0186f, -14, true},  // imagenet's range
        Row{kTfliteUint8, {1, 4, 6, 3}, 0.0078125f, 128, true},
        Row{kTfliteInt8, {1, 28, 28, 1}, unit, -128, true},
        Row{kTfliteInt8, {1, 28, 28, 1}, 1.0f, -128, true},
        Row{kTfliteInt8, {1, 96, 96, 1}, 1 / 127.5f, -1, true},
        Row{kTfliteInt8, {1, 49, 10, 1}, 0.5847029f, 83, false},  // features of sound
        Row{kTfliteInt8, {1, 64, 64, 1}, 0.0572550f, 33, false},
        Row{kTfliteInt8, {1, 4, 6, 4}, unit, -128, false}, Row{kTfliteInt8, {1, 72}, unit, -128, false}}) {
    CAPTURE(row.scale);
    Import import(file_of({{row.type, row.shape, {{row.scale}, row.zero_point, 0}}}));
    REQUIRE_MESSAGE(import.good(), import.message());
    CHECK(import.notes("pixels are taken as its codes") == row.is_picture);
    if (!row.is_picture) {
      CHECK(import.graph().images.empty());
      continue;
    }
    const ImageInput& image = only_image(import);
    for (int32_t i = 0; i < 256 * image.channels; ++i)
      CHECK(image.table[static_cast<size_t>(i)] == i % 256 - 128);
    RunningModel model(import.write());
    CHECK_MESSAGE(model.error().ok(), text_of(model.error()));
  }
  // A file that calls it a picture is believed; a recipe is of real values.
  const TfliteInput odd{kTfliteInt8, {1, 96, 96, 1}, {{0.0317f}, -4, 0}};
  Import said(file_of({odd}, metadata_of({{metadata::ContentProperties::ImageProperties, {}, {}}})));
  CHECK(only_image(said).table[0] == -128);
  Import asked(file_of({{kTfliteInt8, {1, 4, 6, 3}, {{1 / 127.5f}, -1, 0}}}), by_recipe("0..1"));
  CHECK(only_image(asked).table[0] == -1);
  CHECK(only_image(asked).table[255] >= 126);
}

}  // namespace intaglio::test::import_pixels_test
