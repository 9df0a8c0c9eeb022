// A quantized ONNX network through the command.
#include "tests/support/run_cli.h"

namespace intaglio::test::cli_export_onnx_test {

TEST_CASE("export-onnx writes a network that imports to the same answers") {
  const CommandFolder folder;
  const std::string pixels = "--mean 127.5 --norm 0.00784313725490196";
  folder.good("import @/meter.onnx -o %/net.itg " + pixels);
  folder.good("calibrate %/net.itg --images @/calibration --limit 8 -o %/int8.itg");
  for (const std::string form : {"", " --form qdq", " --form qoperator"}) {
    const Ran ran = folder.good("export-onnx %/int8.itg --from @/meter.onnx -o %/int8.onnx" + form);
    CHECK(holds(ran.out, "with int8 weights"));
    CHECK(ran.err == "");
    folder.good("import %/int8.onnx -o %/back.itg " + pixels);
    folder.good("run %/int8.itg --input @/calibration --output %/a.npy");
    folder.good("run %/back.itg --input @/calibration --output %/b.npy");
    CHECK(folder.get("a.npy") == folder.get("b.npy"));
  }
  folder.good("run %/int8.itg --input @/calibration --output %/a.npy");
  for (const std::string form : {"", " --form qoperator"}) {
    CHECK(folder.good("export-onnx %/int8.itg -o %/own.onnx" + form).err == "");
    folder.good("import %/own.onnx -o %/back.itg " + pixels);
    folder.good("run %/back.itg --input @/calibration --output %/b.npy");
    CHECK(folder.get("a.npy") == folder.get("b.npy"));
  }
  folder.good("export-onnx %/net.itg -o %/float.onnx");
  folder.good("export-onnx %/net.itg --from @/meter.onnx -o %/float.onnx");

  folder.good("export-onnx %/int8.itg --from @/meter.onnx -o %/fake.onnx --form fakequantize");
  folder.good("import %/fake.onnx -o %/fake.itg " + pixels);
  folder.good("export-onnx %/int8.itg --from @/meter.onnx -o %/again.onnx --form qoperator");
  CHECK(folder.get("again.onnx") == folder.get("int8.onnx"));

  folder.bad("export-onnx %/int8.itg --from %/absent.onnx -o %/x.onnx", "absent.onnx");
  folder.bad("export-onnx %/int8.itg --from %/net.itg -o %/x.onnx", "net.itg: is no ONNX file");
  folder.bad("export-onnx %/int8.itg --from @/meter.onnx -o %/int8.itg", "int8.itg");
  CHECK(folder.run("export-onnx %/int8.itg --from @/meter.onnx -o %/x.onnx --form int4").code == 2);
  CHECK(!std::filesystem::exists(folder / "x.onnx"));
}

}  // namespace intaglio::test::cli_export_onnx_test
