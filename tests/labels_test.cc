// The classes of samples: lists of labels, folders as classes, names of classes.
#include "calibrator/host/pictures/labels.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "calibrator/host/pictures/image_folder.h"
#include "tests/support/picture_files.h"
#include "tests/support/refused.h"
#include "tests/support/temporary_folder.h"

namespace intaglio::test::labels_test {

TEST_CASE("a sample without a label is refused with what to do") {
  const TemporaryFolder folder;
  const auto named = Labels::read(folder.put("labels.txt", "b.png 3\n"));
  REQUIRE(named);
  CHECK(refused(named->of("c.png"), "add 'c.png CLASS', or take only pictures that have one, with --only"));
  const auto ordered = Labels::read(folder.put("labels.txt", "5\n6\n"));
  REQUIRE(ordered);
  CHECK(refused(ordered->of("2"), "no line for 2; it has 2 lines, and each sample needs one"));
  CHECK(refused(ordered->of("c.png"), "classes alone, for the samples of an array: write 'c.png CLASS'"));
}

TEST_CASE("labels by name, by index, and in order") {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& text) { return Labels::read(folder.put("labels.txt", text)); };
  const auto named = read("b.png 3\na c.png\t0\r\n\n");
  REQUIRE(named);
  CHECK(named->largest() == 3);
  CHECK(*named->of("b.png") == 3);
  CHECK(*named->of("a c.png") == 0);
  CHECK(refused(named->of("c.png"), "no line for c.png"));
  const auto indexed = read("1 7\n0 2\n");
  REQUIRE(indexed);
  CHECK(*indexed->of("0") == 2);
  const auto commas = read("b.png,3\na, c.png, 0\n");
  REQUIRE(commas);
  CHECK(*commas->of("b.png") == 3);
  CHECK(*commas->of("a, c.png") == 0);
  const auto ordered = read("5\n6\n");
  REQUIRE(ordered);
  CHECK(*ordered->of("1") == 6);
  CHECK(ordered->in_order() == 2);
  CHECK(named->in_order() == 0);
  const auto table = read("image,Label\na.png,4\n");
  REQUIRE(table);
  CHECK(*table->of("a.png") == 4);
  const auto column = read("class\n5\n6\n");
  REQUIRE(column);
  CHECK(*column->of("1") == 6);
  CHECK(refused(read("image,label\n"), "line 1: 'label' is no class"));
  CHECK(refused(read("a.png 1\nimage,label\n"), "line 2: 'label' is no class"));
  CHECK(refused(read("a.png labelled\nb.png 1\n"), "line 1: 'labelled' is no class"));
  CHECK(refused(read("a.png 1\nb.png x\n"), "line 2: 'x' is no class"));
  CHECK(refused(read("a.png -1\n"), "'-1'"));
  CHECK(refused(read("a.png 99999999999\n"), "line 1"));
  CHECK(refused(read("a.png 1\na.png 2\n"), "line 2: a.png is listed twice"));
  CHECK(refused(read("a.png 1\n2\n"), "no class after the name"));
  CHECK(refused(read("1\na.png 2\n"), "more than a class"));
  CHECK(refused(read("\n"), "holds no labels"));

  const std::vector<std::string> names = {"cat", "great dane", "tench, Tinca tinca"};
  const auto by_name = [&](const std::string& text) {
    return Labels::read(folder.put("labels.txt", text), names);
  };
  const auto called = by_name("a.png cat\nb c.png,great dane\nd.png\ttench, Tinca tinca\ne.png 1\n");
  REQUIRE(called);
  CHECK(*called->of("a.png") == 0);
  CHECK(*called->of("b c.png") == 1);
  CHECK(*called->of("d.png") == 2);
  CHECK(*called->of("e.png") == 1);
  const auto heading = Labels::read(folder.put("labels.txt", "a.png label\nb.png cat\n"), {"cat", "label"});
  REQUIRE(heading);
  CHECK(*heading->of("a.png") == 1);  // a class of this name is no heading
  const auto rows = by_name("great dane\ncat\n");
  REQUIRE(rows);
  CHECK(*rows->of("0") == 1);
  CHECK(*rows->of("1") == 0);
  CHECK(refused(by_name("a.png dog\n"), "line 1: 'dog' is no class (a number from 0, or one of the names)"));
  std::filesystem::create_directories(folder / "all/great dane");
  std::filesystem::create_directories(folder / "all/cat");
  const auto folders = Labels::read(folder / "all", names);
  REQUIRE(folders);
  CHECK(*folders->of("great dane/1.png") == 1);
  CHECK(*folders->of("cat/1.png") == 0);
  std::filesystem::create_directory(folder / "all/dog");
  CHECK(refused(Labels::read(folder / "all", names), "its folder 'dog' is none of the 3 names"));
}

TEST_CASE("folders are counted against the classes, and each says which class it is") {
  const TemporaryFolder folder;
  for (const char* const name : {"two", "nine", ".ipynb_checkpoints"})
    std::filesystem::create_directories(folder / (std::string("t/") + name));
  folder.put("t/.ipynb_checkpoints/a.png", png_file(1, 1, 1, {1}));
  folder.put("t/nine/a.png", png_file(1, 1, 1, {1}));
  const auto labels = Labels::read(folder / "t", {}, 2);
  REQUIRE_MESSAGE(labels, labels.message());
  CHECK(*labels->of("nine/a.png") == 0);
  CHECK(*labels->of("two/a.png") == 1);
  CHECK(labels->note().find("its folders are the classes: nine 0, two 1") != std::string::npos);
  CHECK(refused(Labels::read(folder / "t", {}, 10),
                "holds 2 folders (nine, two), and the model has 10 classes"));
  const auto pictures = ImageFolder::open(folder / "t");
  REQUIRE(pictures);
  REQUIRE(pictures->count() == 1);
  CHECK(pictures->name(0) == "nine/a.png");
  const auto list = Labels::read(folder.put("labels.txt", "a.png 2\n"), {}, 2);
  REQUIRE(list);
  CHECK(refused(list->of("a.png"), "class 2 of a.png: the model has only 2 classes"));
}

TEST_CASE("a name that means two classes is refused where it is used") {
  const TemporaryFolder folder;
  const std::vector<std::string> birds = {"crane", "dog", "crane"}, numbers = {"1", "0", "2", "7"};
  const auto by = [&](const std::vector<std::string>& names, const std::string& text) {
    return Labels::read(folder.put("labels.txt", text), names);
  };
  CHECK(by(birds, "a.png dog\nb.png 2\n"));
  CHECK(refused(by(birds, "a.png dog\nb.png crane\n"),
                "line 2: 'crane' is the name of class 0 and of class 2"));
  std::filesystem::create_directories(folder / "all/crane");
  CHECK(refused(Labels::read(folder / "all", birds),
                "its folder 'crane' is the name of class 0 and of class 2"));
  CHECK(refused(by(numbers, "a.png 0\n"), "'0' is the name of class 1, and the number of another one"));
  CHECK(*by(numbers, "a.png 2\n")->of("a.png") == 2);
  CHECK(*by(numbers, "a.png 7\n")->of("a.png") == 3);  // there is no class of this number
}

TEST_CASE("a line of separators takes no longer than its length") {
  const TemporaryFolder folder;
  const size_t count = 4'000'000;
  const std::string commas = "a" + std::string(count, ',') + "zz";
  std::string words = "a";
  for (size_t i = 0; i < count / 2; ++i) words += ",b";
  for (const std::string& text : {commas, words + ",zz"})
    CHECK(refused(Labels::read(folder.put("labels.txt", text), {"cat", words}), "'zz' is no class"));
  const auto longest = Labels::read(folder.put("labels.txt", "a.png, tench, Tinca tinca\n"),
                                    {"tinca", "Tinca tinca", "tench, Tinca tinca", "nch, Tinca tinca"});
  REQUIRE(longest);
  CHECK(*longest->of("a.png") == 2);
}

}  // namespace intaglio::test::labels_test
