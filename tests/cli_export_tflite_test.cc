// A TFLite file through the command.
#include "tests/support/run_cli.h"

using namespace intaglio;
using namespace intaglio::test;

TEST_CASE("export-tflite writes a file that imports to the same answers") {
  const CommandFolder folder;
  const std::string pixels = " --mean 127.5 --norm 0.00784313725490196";
  folder.good("import @/meter.onnx -o %/net.itg" + pixels);
  folder.good("calibrate %/net.itg --images @/calibration --limit 8 --int8-answers -o %/int8.itg");
  const Ran ran = folder.good("export-tflite %/int8.itg -o %/int8.tflite");
  CHECK(holds(ran.out, "with int8 weights"));
  CHECK(ran.err == "");
  folder.good("import %/int8.tflite -o %/back.itg" + pixels);
  folder.good("run %/int8.itg --input @/calibration --output %/a.npy");
  folder.good("run %/back.itg --input @/calibration --output %/b.npy");
  CHECK(folder.get("a.npy") == folder.get("b.npy"));

  folder.good("calibrate %/net.itg --images @/calibration --limit 8 -o %/float_answers.itg");
  CHECK(holds(folder.good("export-tflite %/float_answers.itg -o %/float.tflite").err,
              "have FP32 weights in the file"));
  folder.bad("export-tflite %/net.itg -o %/x.tflite", "net.itg: holds no int8 layer");
  folder.bad("export-tflite %/absent.itg -o %/x.tflite", "absent.itg");
  folder.bad("export-tflite %/int8.itg -o %/int8.itg", "int8.itg");
  CHECK(!std::filesystem::exists(folder / "x.tflite"));
}
