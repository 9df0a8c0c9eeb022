// import --dump-after, as a user calls it.
#include "tests/support/run_cli.h"

namespace intaglio::test::cli_import_dump_test {
namespace {

const std::string kImport = "import @/meter.onnx -o %/net.itg --pixels -1..1 --dump-after ";

}  // namespace

TEST_CASE("import --dump-after prints the draft and writes the same model") {
  const CommandFolder folder;
  const Ran read = folder.good(kImport + "read"), pushed = folder.good(kImport + "push_transposes");
  CHECK(read.out.rfind("after read, round 1: ", 0) == 0);
  CHECK(holds(read.out, " = Transpose(%"));
  CHECK(holds(pushed.out, "after push_transposes, round 1: "));
  CHECK(!holds(pushed.out, " = Transpose(%"));
  for (const Ran& ran : {read, pushed}) CHECK(holds(ran.out, "  nodes "));  // then the command's own lines
  const std::string bytes = folder.get("net.itg");
  folder.good("import @/meter.onnx -o %/net.itg --pixels -1..1");
  CHECK(folder.get("net.itg") == bytes);
}

TEST_CASE("a pass that does not exist is refused with the names of those that do") {
  const CommandFolder folder;
  const Ran ran = folder.run(kImport + "fold");
  CHECK(ran.code == 2);
  for (const char* word : {"--dump-after", "fold_pad", "push_transposes", "lower_to_lookup"})
    CHECK(holds(ran.err, word));
  const Ran help = folder.good("import --help");
  CHECK(holds(help.out, "--dump-after PASS"));
  CHECK(holds(help.out, "\n  fold_pad                 Pad goes into the window of what follows."));
}

}  // namespace intaglio::test::cli_import_dump_test
