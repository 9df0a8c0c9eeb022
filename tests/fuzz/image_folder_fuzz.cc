// Any names, lists, labels, links and bytes in a folder: each sample loads or is refused, and what a name
// says leads nowhere else. Bytes are taken as sections of 16-bit lengths: name, list, labels, then one file
// after the other.
#include "calibrator/host/pictures/image_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "calibrator/host/pictures/labels.h"

using namespace intaglio;
namespace fs = std::filesystem;

namespace {

class Sections {
 public:
  Sections(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}
  bool empty() const { return at_ == end_; }
  std::string next(size_t most) {
    if (end_ - at_ < 2) {
      at_ = end_;
      return {};
    }
    size_t size = std::min<size_t>(most, static_cast<size_t>(at_[0] | at_[1] << 8));
    at_ += 2;
    size = std::min(size, static_cast<size_t>(end_ - at_));
    const std::string section(at_, at_ + size);
    at_ += size;
    return section;
  }

 private:
  const uint8_t *at_, *end_;
};

void put(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

// In memory where there is such a place; goes away at the end.
struct Home {
  std::string path;
  Home()
      : path((fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path().string()) +
             "/image_folder_fuzz_XXXXXX") {
    if (::mkdtemp(path.data()) == nullptr) std::abort();
  }
  ~Home() {
    std::error_code error;
    fs::remove_all(path, error);
  }
};

const std::string& home() {
  static const Home made;
  return made.path;
}

// A name that a file system takes; the picture's ending is part of it or not.
std::string file_name(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  std::replace(name.begin(), name.end(), '\0', '_');
  if (name.empty() || name == "." || name == "..") return "a.png";
  return name;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Sections sections(data, size);
  const std::string pictures = home() + "/pictures", list = home() + "/list.txt",
                    labels_path = home() + "/labels.txt";
  std::error_code error;
  fs::remove_all(pictures, error);
  fs::create_directory(pictures, error);
  std::string name = file_name(sections.next(255));
  SampleOptions options;
  options.decode.max_bytes = size_t{16} << 20;
  options.decode.check_sums = false;
  const std::string only = sections.next(512);
  if (!only.empty()) {
    put(list, only);
    options.only = list;
  }
  put(labels_path, sections.next(512));
  for (int i = 0; i < 8 && !sections.empty(); ++i) {
    const std::string content = sections.next(4096);
    const std::string path = pictures + "/" + name;
    if (content.size() % 16 == 1) {
      fs::create_symlink(content, path, error);  // to itself, to nowhere, out of the folder
    } else {
      put(path, content);
    }
    name = file_name(sections.next(64) + ".png");
  }

  const auto labels = Labels::read(labels_path);
  if (labels && labels->largest() < 0) __builtin_trap();
  const auto folder = ImageFolder::open(pictures, options);
  if (!folder) {
    if (folder.message().empty()) __builtin_trap();
    return 0;
  }
  if (folder->count() == 0) __builtin_trap();
  int32_t dims[] = {1, 4, 4, 3};
  float values[4 * 4 * 3];
  TensorView input;
  input.info.name = "image";
  input.info.dtype = DType::kF32;
  input.info.shape = {dims, 4};
  input.data = values;
  for (size_t i = 0; i < folder->count(); ++i) {
    if (i > 0 && folder->name(i - 1) >= folder->name(i)) __builtin_trap();
    if (labels) (void)labels->of(folder->name(i));
    const auto digest = folder->digest(i);
    const auto loaded = folder->load(i, input, nullptr);
    if (loaded && !digest) __builtin_trap();
    if (!loaded && loaded.message().find(pictures) == std::string::npos) __builtin_trap();
    if (!loaded) continue;
    for (const float value : values) {
      if (!(value >= 0.0f && value <= 255.0f)) __builtin_trap();
    }
  }
  return 0;
}
