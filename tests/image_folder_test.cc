#include "calibrator/host/pictures/image_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "calibrator/host/pictures/labels.h"
#include "tests/support/picture_files.h"
#include "tests/support/refused.h"
#include "tests/support/temporary_folder.h"

namespace intaglio::test::image_folder_test {
namespace {

std::vector<std::string> names_of(const ImageFolder& folder) {
  std::vector<std::string> names;
  for (size_t i = 0; i < folder.count(); ++i) names.push_back(folder.name(i));
  return names;
}

struct Input {
  std::vector<int32_t> dims;
  float scale = 0.0f;
  TensorView view;
  std::vector<uint8_t> bytes;

  Input(std::vector<int32_t> shape, DType dtype, float s = 0.0f, int32_t zero_point = 0)
      : dims(std::move(shape)), scale(s) {
    view.info.name = "image";
    view.info.dtype = dtype;
    view.info.shape = {dims.data(), static_cast<int32_t>(dims.size())};
    if (scale != 0.0f) view.info.quantization = {{&scale, 1}, zero_point, -1};
    bytes.resize(view.info.bytes());
    view.data = bytes.data();
  }
  Input(const Input&) = delete;
};

// Pixels as they are.
ImageInput plain_recipe(int32_t channels) {
  ImageInput recipe;
  recipe.color = channels == 1 ? ColorOrder::kGray : ColorOrder::kRgb;
  recipe.channels = channels;
  for (int32_t c = 0; c < channels; ++c) recipe.norm[c] = 1.0f;
  return recipe;
}

std::vector<uint8_t> pixels(uint8_t first, size_t size) {
  std::vector<uint8_t> result(size);
  for (size_t i = 0; i < size; ++i) result[i] = static_cast<uint8_t>(first + i);
  return result;
}

template <typename T>
Span<const uint8_t> raw(const std::vector<T>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

TEST_CASE("a folder's pictures, by name; what else is in it is noted") {
  const TemporaryFolder folder;
  folder.put("b.PNG", png_file(2, 2, 3, pixels(0, 12)));
  folder.put("a.bmp", bmp_file(2, 2, pixels(20, 12)));
  folder.put("c.png", png_file(2, 2, 1, pixels(40, 4)));
  folder.put("labels.txt", std::string("a.bmp 1\n"));
  std::filesystem::create_directory(folder / "more.png");
  const auto found = ImageFolder::open(folder.path());
  REQUIRE(found);
  CHECK(names_of(*found) == std::vector<std::string>{"a.bmp", "b.PNG", "c.png"});
  REQUIRE(found->notes().size() == 2);
  CHECK(found->notes()[0].find("1 file is no picture and left out: labels.txt") != std::string::npos);
  CHECK(found->notes()[1].find("1 folder") != std::string::npos);

  Input input({1, 2, 2, 3}, DType::kF32);
  const ImageInput plain = plain_recipe(3);
  REQUIRE(found->load(0, input.view, &plain));
  for (size_t i = 0; i < 12; ++i) CHECK(input.view.as<float>()[i] == float(20 + i));
  REQUIRE(found->load(2, input.view, &plain));
  for (size_t i = 0; i < 12; ++i) CHECK(input.view.as<float>()[i] == float(40 + i / 3));

  ImageInput recipe;
  recipe.color = ColorOrder::kBgr;
  recipe.channels = 3;
  for (int c = 0; c < 3; ++c) recipe.norm[c] = 0.5f;
  recipe.mean[0] = 22.0f;
  REQUIRE(found->load(0, input.view, &recipe));
  CHECK(input.view.as<float>()[0] == 0.0f);   // blue, 22
  CHECK(input.view.as<float>()[2] == 10.0f);  // red, 20
}

TEST_CASE("pictures without a recipe are refused, whatever the input") {
  const TemporaryFolder folder;
  const std::string path = folder.put("a.png", png_file(2, 2, 1, {0, 100, 128, 255}));
  const auto found = ImageFolder::open(path);
  REQUIRE(found);
  CHECK(names_of(*found) == std::vector<std::string>{"a.png"});
  CHECK(found->holds_pictures());
  Input real({1, 2, 2, 1}, DType::kF32), codes({1, 2, 2, 1}, DType::kS8, 1.0f, -128);
  CHECK(refused(found->load(0, real.view, nullptr), "does not say how they become its input image"));
  CHECK(refused(found->load(0, codes.view, nullptr), "does not say how they become its input image"));
}

TEST_CASE("a bad picture is named, with what is wrong") {
  const TemporaryFolder folder;
  auto file = png_file(4, 4, 3, pixels(0, 48));
  folder.put("a.png", file);
  file.resize(60);
  folder.put("bad.png", file);
  folder.put("text.jpg", std::string("no picture"));
  folder.put("zero.png", std::string());
  const auto found = ImageFolder::open(folder.path());
  REQUIRE(found);
  Input input({1, 2, 2, 3}, DType::kF32);
  const ImageInput plain = plain_recipe(3);
  CHECK(found->load(0, input.view, &plain));
  CHECK(refused(found->load(1, input.view, &plain), "bad.png: is cut off"));
  CHECK(refused(found->load(2, input.view, &plain), "text.jpg: is no PNG, JPEG, BMP or WebP"));
  CHECK(refused(found->load(3, input.view, &plain), "zero.png: is empty"));
}

TEST_CASE("every place of a batch holds the picture") {
  const TemporaryFolder folder;
  folder.put("a.png", png_file(2, 2, 3, pixels(0, 12)));
  const auto found = ImageFolder::open(folder.path());
  REQUIRE(found);
  Input one({1, 2, 2, 3}, DType::kF32), three({3, 2, 2, 3}, DType::kF32);
  const ImageInput plain = plain_recipe(3);
  REQUIRE(found->load(0, one.view, &plain));
  REQUIRE(found->load(0, three.view, &plain));
  for (size_t k = 0; k < 3; ++k) CHECK(std::memcmp(three.bytes.data() + 48 * k, one.bytes.data(), 48) == 0);
}

TEST_CASE("places without samples") {
  const TemporaryFolder folder;
  CHECK(refused(ImageFolder::open(folder / "none"), "no such file"));
  CHECK(refused(ImageFolder::open(folder.path()), "holds no pictures"));
  std::filesystem::create_directory(folder / "inner");
  CHECK(refused(ImageFolder::open(folder.path()),
                "holds no pictures (names ending in png, jpg, jpeg, bmp or webp), and no folders"));
}

TEST_CASE("folders of pictures are classes") {
  const TemporaryFolder folder;
  for (const char* inner : {"dog", "cat", "empty", "cat/deeper"})
    std::filesystem::create_directory(folder / inner);
  for (const char* name : {"dog/1.png", "cat/2.png", "cat/1.png", "cat/deeper/3.png"})
    folder.put(name, png_file(1, 1, 1, {1}));
  folder.put("cat/list.txt", std::string("text"));
  const auto found = ImageFolder::open(folder.path());
  REQUIRE_MESSAGE(found, found.message());
  CHECK(names_of(*found) == std::vector<std::string>{"cat/1.png", "cat/2.png", "dog/1.png"});
  REQUIRE(found->notes().size() == 2);
  CHECK(found->notes()[0].find("left out: cat/list.txt") != std::string::npos);
  CHECK(found->notes()[1].find("1 folder in it is not entered") != std::string::npos);
  Input input({1, 1, 1, 1}, DType::kF32);
  const ImageInput plain = plain_recipe(1);
  CHECK(found->load(2, input.view, &plain));

  const auto labels = Labels::read(folder.path());
  REQUIRE_MESSAGE(labels, labels.message());
  CHECK(*labels->of("cat/1.png") == 0);
  CHECK(*labels->of("dog/1.png") == 1);
  CHECK(labels->largest() == 2);
  CHECK(refused(labels->of("bird/1.png"), "has no folder for bird/1.png"));
  CHECK(refused(labels->of("cat"), "has no folder for cat"));
  CHECK(refused(Labels::read(folder / "empty"), "holds no folders, which would be the classes"));

  // Beside pictures of its own a folder's folders are left alone.
  folder.put("own.png", png_file(1, 1, 1, {1}));
  const auto own = ImageFolder::open(folder.path());
  REQUIRE(own);
  CHECK(names_of(*own) == std::vector<std::string>{"own.png"});
}

TEST_CASE("a list takes its names; an unknown one is an error") {
  const TemporaryFolder folder;
  for (const char* name : {"a.png", "b.png", "c d.png"}) folder.put(name, png_file(1, 1, 1, {1}));
  const auto open = [&](const std::string& list) {
    return ImageFolder::open(folder.path(), {folder.put("list", list), 0, {}, {}});
  };
  const auto found = open("c d.png\r\n\na.png\n");
  REQUIRE(found);
  CHECK(names_of(*found) == std::vector<std::string>{"a.png", "c d.png"});
  CHECK(refused(open("a.png\ne.png\n"), "list line 2: " + folder.path() + " has no sample e.png"));
  CHECK(refused(open("a.png\na.png\n"), "listed twice"));
  CHECK(refused(open("\n"), "lists no samples"));
  CHECK(refused(ImageFolder::open(folder.path(), {folder / "no list", 0, {}, {}}), "no such file"));
}

TEST_CASE("a limit takes the smallest digests, whatever the names") {
  const TemporaryFolder folder, renamed;
  std::vector<std::pair<Digest, std::string>> order;
  for (uint8_t i = 0; i < 20; ++i) {
    const auto file = png_file(1, 1, 1, {i});
    const std::string name = "p" + std::to_string(10 + i) + ".png";
    folder.put(name, file);
    renamed.put("p" + std::to_string(99 - i) + ".png", file);
    Sha256 hash;
    hash.update(file.data(), file.size());
    order.emplace_back(hash.finish(), name);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::string> smallest;
  for (size_t i = 0; i < 6; ++i) smallest.push_back(order[i].second);
  std::sort(smallest.begin(), smallest.end());
  const auto found = ImageFolder::open(folder.path(), {"", 6, {}, {}});
  REQUIRE(found);
  CHECK(names_of(*found) == smallest);
  const auto other = ImageFolder::open(renamed.path(), {"", 6, {}, {}});
  REQUIRE(other);
  for (size_t i = 0; i < 6; ++i) {
    bool same = false;
    for (size_t k = 0; k < 6; ++k) same = same || *found->digest(i) == *other->digest(k);
    CHECK(same);
  }
  CHECK(ImageFolder::open(folder.path(), {"", 50, {}, {}})->count() == 20);
  CHECK(refused(ImageFolder::open(folder.path(), {"", -1, {}, {}}), "limit of -1"));
}

TEST_CASE("float and int8 arrays are inputs, one a sample") {
  const TemporaryFolder folder;
  std::vector<float> values;
  for (int i = 0; i < 12; ++i) values.push_back(static_cast<float>(i) * 0.5f - 1.0f);
  values[11] = std::nanf("");
  REQUIRE(write_npy(folder / "f.npy", NpyType::kF32, {2, 3, 2}, raw(values)));
  const auto found = ImageFolder::open(folder / "f.npy");
  REQUIRE(found);
  CHECK(names_of(*found) == std::vector<std::string>{"0", "1"});
  Input real({1, 3, 2, 1}, DType::kF32);
  REQUIRE(found->load(1, real.view, nullptr));
  CHECK(std::memcmp(real.bytes.data(), values.data() + 6, 24) == 0);
  Input codes({1, 3, 2}, DType::kS8, 0.02f, 10);
  REQUIRE(found->load(1, codes.view, nullptr));
  CHECK(codes.view.as<int8_t>()[0] == 110);
  CHECK(codes.view.as<int8_t>()[1] == 127);
  CHECK(codes.view.as<int8_t>()[5] == 10);  // not a number
  Input other({1, 2, 3}, DType::kF32);
  CHECK(refused(found->load(0, other.view, nullptr), "(3, 2), the model's input image takes (1, 2, 3)"));
  Input flat({1, 6}, DType::kF32);
  REQUIRE(found->load(1, flat.view, nullptr));
  CHECK(std::memcmp(flat.bytes.data(), values.data() + 6, 24) == 0);
  const auto second =
      ImageFolder::open(folder / "f.npy", {folder.put("list", std::string("1\n")), 0, {}, {}});
  REQUIRE(second);
  CHECK(names_of(*second) == std::vector<std::string>{"1"});
  CHECK(*second->digest(0) == *found->digest(1));

  REQUIRE(write_npy(folder / "s.npy", NpyType::kS8, {2, 6}, raw(pixels(250, 12))));
  const auto small = ImageFolder::open(folder / "s.npy");
  REQUIRE(small);
  Input six({1, 6}, DType::kS8, 1.0f);
  REQUIRE(small->load(1, six.view, nullptr));
  CHECK(six.view.as<int8_t>()[0] == 0);
  Input six_reals({1, 6}, DType::kF32);
  CHECK(refused(small->load(1, six_reals.view, nullptr), "holds int8"));

  REQUIRE(write_npy(folder / "i.npy", NpyType::kS32, {1, 1}, raw(pixels(0, 4))));
  Input one_real({1, 1}, DType::kF32);
  CHECK(refused(ImageFolder::open(folder / "i.npy")->load(0, one_real.view, nullptr),
                "which float32 may not hold"));
  const std::vector<int16_t> shorts = {300, -2};
  REQUIRE(write_npy(folder / "t.npy", NpyType::kS16, {2, 1},
                    {reinterpret_cast<const uint8_t*>(shorts.data()), 4}));
  REQUIRE(ImageFolder::open(folder / "t.npy")->load(0, one_real.view, nullptr));
  CHECK(one_real.view.as<float>()[0] == 300.0f);
  Input one_code({1, 1}, DType::kS8, 0.5f, 3);
  REQUIRE(ImageFolder::open(folder / "t.npy")->load(1, one_code.view, nullptr));
  CHECK(one_code.view.as<int8_t>()[0] == -1);
  REQUIRE(write_npy(folder / "e.npy", NpyType::kF32, {0, 1}, {}));
  CHECK(refused(ImageFolder::open(folder / "e.npy"), "holds no samples"));
  CHECK(refused(ImageFolder::open(folder.put("x.npz", std::string("PK\3\4"))),
                "write one as .npy, with numpy.save"));
  const std::vector<uint8_t> pixels(384);
  REQUIRE(write_npy(folder / "first.npy", NpyType::kU8, {2, 3, 8, 8}, {pixels.data(), pixels.size()}));
  CHECK(refused(ImageFolder::open(folder / "first.npy"),
                "channels come last here: save x.transpose(0, 2, 3, 1)"));
  CHECK(refused(ImageFolder::open(folder.put("bad.npy", std::string("text and more text"))), "no .npy file"));
}

TEST_CASE("integer inputs take int32 and int64 of 32 bits") {
  const TemporaryFolder folder;
  const std::vector<int32_t> small = {1, -2, INT32_MAX, INT32_MIN};
  REQUIRE(write_npy(folder / "s.npy", NpyType::kS32, {2, 2},
                    {reinterpret_cast<const uint8_t*>(small.data()), 4 * small.size()}));
  Input input({1, 2}, DType::kS32);
  REQUIRE(ImageFolder::open(folder / "s.npy")->load(1, input.view, nullptr));
  CHECK(input.view.as<int32_t>()[0] == INT32_MAX);
  CHECK(input.view.as<int32_t>()[1] == INT32_MIN);
  const std::vector<int64_t> wide = {5, INT32_MIN, 7, int64_t{INT32_MAX} + 1};
  REQUIRE(write_npy(folder / "w.npy", NpyType::kS64, {2, 2},
                    {reinterpret_cast<const uint8_t*>(wide.data()), 8 * wide.size()}));
  const auto found = ImageFolder::open(folder / "w.npy");
  REQUIRE(found->load(0, input.view, nullptr));
  CHECK(input.view.as<int32_t>()[0] == 5);
  CHECK(input.view.as<int32_t>()[1] == INT32_MIN);
  CHECK(refused(
      found->load(1, input.view, nullptr),
      "sample 1, for the model's input image: its element 1 is 2147483648; numbers of 32 bits are wanted"));
  REQUIRE(write_npy(folder / "f.npy", NpyType::kF32, {2, 2},
                    {reinterpret_cast<const uint8_t*>(small.data()), 4 * small.size()}));
  CHECK(refused(ImageFolder::open(folder / "f.npy")->load(0, input.view, nullptr),
                "holds float32, and integers are wanted: int32 or int64"));
}

TEST_CASE("uint8 arrays are pictures") {
  const TemporaryFolder folder;
  REQUIRE(write_npy(folder / "g.npy", NpyType::kU8, {2, 2, 2}, raw(pixels(0, 8))));
  REQUIRE(write_npy(folder / "a.npy", NpyType::kU8, {1, 1, 2, 4}, raw(pixels(0, 8))));
  Input gray({1, 2, 2, 1}, DType::kF32), color({1, 1, 2, 3}, DType::kF32);
  const ImageInput one = plain_recipe(1), three = plain_recipe(3);
  REQUIRE(ImageFolder::open(folder / "g.npy")->load(1, gray.view, &one));
  CHECK(gray.view.as<float>()[3] == 7.0f);
  REQUIRE(ImageFolder::open(folder / "a.npy")->load(0, color.view, &three));
  CHECK(color.view.as<float>()[3] == 4.0f);
  REQUIRE(write_npy(folder / "x.npy", NpyType::kU8, {2, 4}, raw(pixels(0, 8))));
  CHECK(refused(ImageFolder::open(folder / "x.npy"), "uint8 arrays hold pictures"));
}

}  // namespace intaglio::test::image_folder_test
