// Parameter files on disk.
#include <doctest/doctest.h>

#include "importers/params/params_table.h"
#include "tests/support/temporary_folder.h"

namespace intaglio::test::import_params_files_test {

TEST_CASE("files are read by their format") {
  const TemporaryFolder folder;
  const auto read = [](const std::string& path, ParamsFormat format) { return read_params(path, format); };
  CHECK(read(folder.put("a", "x 1 -1\n"), ParamsFormat::kTengine)->entries[0].zero_point == -1);
  CHECK(read(folder.put("b", "x 1 127\n"), ParamsFormat::kTengineUint8)->entries[0].zero_point == -1);
  CHECK(read(folder.put("c", "x 2\n"), ParamsFormat::kNcnn)->entries[0].scales == std::vector<float>{0.5f});
  CHECK(read(folder / "a", ParamsFormat::kModel).message() ==
        folder / "a" + ": is no model file that can be read; 'intaglio verify' says why");
  CHECK(!read(folder / "absent", ParamsFormat::kNcnn));
}

}  // namespace intaglio::test::import_params_files_test
