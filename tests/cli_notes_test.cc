// The notes of import beside its result, as text and as JSON; how long names are shown; what calibrate does by default.
#include <algorithm>

#include "calibrator/host/system/npy.h"
#include "tests/support/labelled_tflite.h"
#include "tests/support/model_builder.h"
#include "tests/support/run_cli.h"
#include "tools/slot_choices.h"
#include "tools/text.h"

namespace intaglio::test::cli_notes_test {
namespace {

std::string put(const CommandFolder& folder, const std::string& name, const std::vector<uint8_t>& bytes) {
  return folder.put(name, std::string(bytes.begin(), bytes.end()));
}

// The notes of an import are the same on stderr and in JSON.
std::vector<std::string> notes_of(const CommandFolder& folder, const std::string& words) {
  const Ran ran = folder.good("import " + words + " -o %/net.itg --json");
  const auto notes = parsed_json(ran.out)["notes"].get<std::vector<std::string>>();
  for (const std::string& note : notes) CHECK(holds(ran.err, note));
  return notes;
}

bool has(const std::vector<std::string>& notes, const std::string& part) {
  return std::any_of(notes.begin(), notes.end(), [&](const std::string& note) { return holds(note, part); });
}

}  // namespace

TEST_CASE("import names the classes of a file only where run can show them") {
  const CommandFolder folder;
  put(folder, "it's.tflite", with_archive(network("names.txt")));
  const auto notes = notes_of(folder, "%/it's.tflite --external-data");
  CHECK(has(notes, "the file names its classes; 'intaglio run --names '"));
  CHECK(has(notes, "it'\\''s.tflite"));
  CHECK(has(notes, "--external-data: a TFLite network holds its weights itself"));
  put(folder, "three.tflite", with_archive(network("names.txt", 3)));
  CHECK_FALSE(has(notes_of(folder, "%/three.tflite"), "names its classes"));
  put(folder, "none.tflite", network("names.txt"));
  CHECK_FALSE(has(notes_of(folder, "%/none.tflite"), "names its classes"));
}

TEST_CASE("import tells who fills a batch of pictures on a device") {
  const CommandFolder folder;
  CHECK(has(notes_of(folder, "@/meter.onnx --pixels -1..1 --batch 4"), "takes 4 pictures a run"));
  CHECK_FALSE(has(notes_of(folder, "@/meter.onnx --pixels -1..1"), "pictures a run"));
}

TEST_CASE("a state begins with an array of any type of numbers") {
  const CommandFolder folder;
  TfliteBuilder builder;
  const auto tensor = [&](const char* name) { return builder.tensor(name, kTfliteFloat, {1, 2}); };
  const int32_t x = tensor("x"), held = tensor("held"), sum = tensor("sum"), y = tensor("y");
  builder.op(kTfliteAdd, {x, held}, {sum});
  builder.op(kTfliteRelu, {sum}, {y});
  folder.put("net.tflite", builder.finish({x, held}, {y, sum}));
  const float reals[] = {3, -2};
  const double doubles[] = {3, -2};
  const int64_t integers[] = {3, -2};
  const auto made = [&](const char* name, NpyType type, const void* data, size_t bytes) {
    REQUIRE(write_npy(folder / name, type, {1, 2}, {static_cast<const uint8_t*>(data), bytes}));
    folder.good("import %/net.tflite -o %/out.itg --state held=sum --initial held=" + folder / name);
    return folder.get("out.itg");
  };
  const std::string wanted = made("f4.npy", NpyType::kF32, reals, sizeof reals);
  CHECK(made("f8.npy", NpyType::kF64, doubles, sizeof doubles) == wanted);
  CHECK(made("i8.npy", NpyType::kS64, integers, sizeof integers) == wanted);
}

TEST_CASE("a long name keeps its start and its end, whatever the room") {
  const std::string name = "a_name_that_is_long_enough";
  CHECK(tools::shortened(name, 26) == name);
  for (size_t most = 4; most < name.size(); ++most) {
    CAPTURE(most);
    const std::string shown = tools::shortened(name, most);
    CHECK(shown.size() == most);
    CHECK(holds(shown, "..."));
    CHECK(shown[0] == 'a');
  }
  CHECK(tools::shortened(name, 4) == "a...");
  CHECK(tools::shortened(name, 8) == "a_na...h");
}

TEST_CASE("calibrate's default equalizes where normalizations have factors and samples can judge it") {
  const auto default_of = [](Op op, size_t samples, Compat compat, const char* list) {
    ModelBuilder b;
    const int32_t x = b.tensor("x", DType::kF32, {1, 4}), y = b.tensor("y", DType::kF32, {1, 4});
    const int32_t factors = b.constant("factors", DType::kF32, {4}, std::vector<float>{1, 2, 3, 4}),
                  summands = b.constant("summands", DType::kF32, {4}, std::vector<float>(4));
    if (op == Op::kNormalize) {
      NormalizeOptions& options = b.node(op, {x, factors, summands}, {y}).options.as<NormalizeOptions>();
      options.epsilon = 1e-5f;
      options.groups = 1;
    } else {
      b.node(op, {x, factors}, {y});
    }
    b.input(x);
    b.output(y);
    const AlignedBytes file = b.finish();
    CalibratorOptions options;
    options.compat = compat;
    const auto chosen = tools::parse_recover(list);
    REQUIRE(chosen);
    tools::set_recover(*chosen, *Model::open(file.view()), samples, options);
    return options.recover;
  };
  constexpr RecoveryMask kUsual = recovery::kDefault, kAdded = kUsual | recovery::kEqualization;
  CHECK(default_of(Op::kNormalize, 8, Compat::kNone, "default") == kAdded);
  CHECK(default_of(Op::kNormalize, 7, Compat::kNone, "default") == kUsual);
  CHECK(default_of(Op::kNormalize, 8, Compat::kPpq, "default") == kUsual);
  CHECK(default_of(Op::kNormalize, 8, Compat::kNone, "depthwise,method,bias") == kUsual);
  CHECK(default_of(Op::kAdd, 8, Compat::kNone, "default") == kUsual);
}

}  // namespace intaglio::test::cli_notes_test
