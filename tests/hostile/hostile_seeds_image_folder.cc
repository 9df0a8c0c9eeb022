#include <string>

#include "tests/hostile/hostile_runs.h"
#include "tests/support/picture_files.h"
#include "tests/support/webp_files.h"

// Sections, as image_folder_fuzz reads them.
std::vector<std::vector<uint8_t>> intaglio::test::hostile_seeds() {
  const std::vector<uint8_t> png = png_file(4, 4, 3, std::vector<uint8_t>(48, 9));
  const std::vector<uint8_t> webp = webp_lossy();
  const std::string picture(png.begin(), png.end()), other(webp.begin(), webp.end());
  std::vector<std::vector<uint8_t>> seeds;
  for (const std::string& list : {std::string(), std::string("a.png\nb.png\n")}) {
    std::vector<uint8_t> seed;
    for (const std::string& section :
         {std::string("a.png"), list, std::string("a.png 1\nb.png 2\n"), picture, std::string("b"), other}) {
      put_number(seed, static_cast<uint32_t>(section.size()), 2, false);
      seed.insert(seed.end(), section.begin(), section.end());
    }
    seeds.push_back(seed);
  }
  return seeds;
}
