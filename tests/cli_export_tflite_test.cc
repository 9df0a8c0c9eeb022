// A TFLite file through the command.
#include "tests/support/run_cli.h"

namespace intaglio::test::cli_export_tflite_test {

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
  folder.bad("export-tflite %/net.itg -o %/x.tflite", "net.itg: is FP32 throughout");
  folder.bad("export-tflite %/absent.itg -o %/x.tflite", "absent.itg");
  folder.bad("export-tflite %/int8.itg -o %/int8.itg", "int8.itg");
  CHECK(!std::filesystem::exists(folder / "x.tflite"));
}

TEST_CASE("codes of 16 bits are refused by this export, and by no other command") {
  const CommandFolder folder;
  folder.good("import @/meter.onnx -o %/net.itg --mean 127.5 --norm 0.00784313725490196");
  folder.good("calibrate %/net.itg --images @/calibration --limit 8 --set activations:bits=16 -o %/wide.itg");
  folder.bad(
      "export-tflite %/wide.itg -o %/x",
      "has codes of 16 bits, which are not exported but for sums before a Softmax; calibrate with 8 bits alone");
  folder.good("export-onnx %/wide.itg --from @/meter.onnx -o %/wide.onnx");
  CHECK(holds(folder.good("inspect %/wide.itg --ops").out, "s16"));
  folder.good("verify %/wide.itg");
  folder.good("compare %/net.itg %/wide.itg --images @/calibration");
  folder.good("plan %/wide.itg -o %/planned.itg");
  folder.good("export-c %/wide.itg --planned --target cortex-m4 -o %/sources");
  folder.good("pack %/wide.itg --isa avx2 -o %/packed.itg");
  for (const std::string name : {"wide", "packed", "planned"})
    folder.good("run %/" + name + ".itg --input @/calibration --isa avx2 --output %/" + name + ".npy");
  CHECK(folder.get("wide.npy") == folder.get("packed.npy"));
  CHECK(folder.get("wide.npy") == folder.get("planned.npy"));
}

}  // namespace intaglio::test::cli_export_tflite_test
