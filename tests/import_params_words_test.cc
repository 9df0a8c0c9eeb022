// Parameter files of other tools at their limits: what a line gives, entry by entry, the exact words of each
// refusal, and the exact text that is written.
#include <doctest/doctest.h>

#include "importers/params/params_layers.h"
#include "importers/params/params_table.h"
#include "tests/support/params_check.h"

namespace intaglio::test::import_params_words_test {
namespace {

Outcome<ParamsTable> amct(const std::string& value) {
  return read_amct("F", "record { key: \"a\" value { " + value + " } }");
}

}  // namespace

TEST_CASE("lines and words, whatever ends them") {
  const auto lines = lines_of("a b\n\n \t\n  c\td e\r\nlast");
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].words == std::vector<std::string_view>{"a", "b"});
  CHECK(lines[1].words == std::vector<std::string_view>{"c", "d", "e"});
  CHECK(lines[1].place() == "line 4");
  CHECK(lines[1].before(lines[1].words[2]) == "c\td");
  CHECK(lines[1].before(lines[1].words[0]).empty());
  CHECK(lines[2].place() == "line 5");
  CHECK(lines[2].words == std::vector<std::string_view>{"last"});
  CHECK(lines_of("").empty());
  CHECK(lines_of("x\n").size() == 1);
  const std::string sixty(60, 'x');
  CHECK(lines_of(sixty)[0].shown() == sixty);
  CHECK(lines_of(sixty + "y")[0].shown() == sixty + "...");
}

TEST_CASE("numbers and scales") {
  CHECK(number_of("+1.5") == 1.5);
  CHECK(number_of("-2e3") == -2000.0);
  for (const char* bad : {"", "+", "1 ", " 1", "1x", "nan", "inf", "-inf", "1e999", "--1"})
    CHECK(!number_of(bad));
  const double least = 0x1p-40, most = 0x1p40;
  CHECK(*checked_scale(least, "x") == 0x1p-40f);
  CHECK(*checked_scale(most, "x") == 0x1p40f);
  refused(checked_scale(9e-13, "x"),
          "x has the scale 9e-13, and scales are 2^-40 to 2^40; correct the file, or leave the line out");
  refused(checked_scale(1.1e12, "x"),
          "x has the scale 1.1e+12, and scales are 2^-40 to 2^40; correct the file, or leave the line out");
  const std::pair<const char*, ParamsFormat> formats[] = {
      {"a.scale", ParamsFormat::kTengine}, {"a.table", ParamsFormat::kNcnn},
      {"a.record", ParamsFormat::kAmct},   {"a.txt", ParamsFormat::kAmct},
      {"a.json", ParamsFormat::kPpq},      {".itg", ParamsFormat::kModel}};
  for (const auto& [path, format] : formats) CHECK(params_format_of(path) == format);
  for (const char* path : {"scale", "a.scales", "", "json", "a.JSON"}) CHECK(!params_format_of(path));
  const char* names[] = {"tengine", "tengine-uint8", "ncnn", "amct", "ppq", "aimet", "model"};
  for (int i = 0; i < kParamsFormatCount; ++i)
    CHECK(std::string(params_format_name(static_cast<ParamsFormat>(i))) == names[i]);
}

TEST_CASE("Tengine's tables") {
  const auto s8 = [](const std::string& text) { return read_tengine("F", text, false); };
  const auto u8 = [](const std::string& text) { return read_tengine("F", text, true); };
  check_table(s8("a 0.5 -128\nb c 0.25 127\n"), {{ParamsOf::kTensor, "a", {0.5f}, -128, "", "line 1"},
                                                 {ParamsOf::kTensor, "b c", {0.25f}, 127, "", "line 2"}});
  check_table(u8("a 0.5 0\nb 0.25 255\n"), {{ParamsOf::kTensor, "a", {0.5f}, -128, "", "line 1"},
                                            {ParamsOf::kTensor, "b", {0.25f}, 127, "", "line 2"}});
  const std::string
      s8_end = " is no code of -128 to 127; is this a table of the uint8 tool (--format tengine-uint8)?",
      u8_end = " is no code of 0 to 255; is this a table of int8 (--format tengine)?";
  refused(s8("a 1 128"), "F line 1, a: the zero point 128" + s8_end);
  refused(s8("a 1 -129"), "F line 1, a: the zero point -129" + s8_end);
  refused(u8("a 1 -1"), "F line 1, a: the zero point -1" + u8_end);
  refused(u8("a 1 256"), "F line 1, a: the zero point 256" + u8_end);
  refused(s8("a 1 0.5"), "F line 1, a: the zero point 0.5" + s8_end);
  refused(s8("a 1"), "F line 1: 'a 1' is not 'name scale zero_point'");
  refused(s8("\na b 1"), "F line 2, a: 'a b 1' does not end with a scale and a zero point");
  refused(s8("a 1 b"), "F line 1, a: 'a 1 b' does not end with a scale and a zero point");
  refused(
      s8("a 0 0"),
      "F line 1: a has the scale 0, and scales are 2^-40 to 2^40; correct the file, or leave the line out");
  refused(s8("a 1 0\n\na 1 0"), "F line 3: a stands there already, at line 1; delete one of them");
  refused(s8(" \n"), "F: holds no scales; is it a table of Tengine's?");

  const ParamsTable table = table_of({{ParamsOf::kTensor, "a", {0.1f}, 0, "", ""},
                                      {ParamsOf::kLayerInput, "l m", {9.0f}, 3, "", ""},
                                      {ParamsOf::kTensor, "b", {0.25f}, 0, "", ""}});
  CHECK(*write_params(table, ParamsFormat::kTengine) == "a 0.100000001 0\nb 0.25 0\n");
  CHECK(*write_params(table, ParamsFormat::kTengineUint8) == "a 0.100000001 128\nb 0.25 128\n");
  refused(
      write_tengine(table_of({{ParamsOf::kTensor, "a", {1.0f}, -1, "", ""}}), false),
      "a has the zero point -1, and Tengine's int8 has none; calibrate with --compat tengine, or take --format "
      "tengine-uint8");
  CHECK(*write_tengine(table_of({{ParamsOf::kTensor, "a", {1.0f}, -1, "", ""}}), true) == "a 1 127\n");
  for (const char* name : {"a b", "a\tb", "a\r", "a\nb"})
    refused(
        write_tengine(table_of({{ParamsOf::kTensor, name, {1.0f}, 0, "", ""}}), false),
        "'" + std::string(name) +
            "': Tengine's table cannot hold a name with a space; rename the tensor, or take another format");
}

TEST_CASE("ncnn's tables") {
  const auto read = [](const std::string& text) { return read_ncnn("F", text); };
  check_table(read("c_param_0 2 inf +inf 4\n# c 1\nc 8\nrnn_param_1 1\n_param_0 5\n"),
              {{ParamsOf::kLayerWeights, "c", {0.5f, 1.0f, 1.0f, 0.25f}, 0, "", "line 1"},
               {ParamsOf::kLayerInput, "c", {0.125f}, 0, "", "line 3"}},
              2);
  CHECK(read("rnn_param_1 1\nc 1")->notes[0] ==
        "F line 1, rnn_param_1: such parameters belong to layers that stay in float here");
  refused(read("c"), "F line 1, c: has no multiplier; 'layer multiplier' was expected");
  refused(read("c 1 2"), "F line 1, c: has 2 multipliers, and a layer's input has one");
  for (const char* bad : {"0", "-1", "inf", "nan", "x"})
    refused(read(std::string("\nc ") + bad),
            "F line 2, c: the multiplier '" + std::string(bad) + "' is no number above 0");
  refused(read("c_param_0 1 -inf"), "F line 1, c_param_0: the multiplier '-inf' is no number above 0");
  refused(
      read("c 1e-30"),
      "F line 1, c: the multiplier 1e-30 has the scale 1e+30, and scales are 2^-40 to 2^40; correct the file, or "
      "leave the line out");
  refused(read("c 1\nc 1"), "F line 2: c stands there already, at line 1; delete one of them");
  refused(read("#"), "F: holds no scales; is it a table of ncnn's?");

  const ParamsTable table = table_of({{ParamsOf::kLayerInput, "c", {0.5f}, 0, "", ""},
                                      {ParamsOf::kLayerWeights, "c", {0.25f, 0.125f}, 0, "w", ""},
                                      {ParamsOf::kTensor, "y", {1.0f}, 5, "", ""}});
  CHECK(*write_params(table, ParamsFormat::kNcnn) == "c_param_0 4 8\nc 2\n");
  refused(write_ncnn(table_of({{ParamsOf::kTensor, "y", {1.0f}, 0, "", ""}})),
          "there is no layer with weights, and ncnn's table has nothing else");
  refused(
      write_ncnn(table_of({{ParamsOf::kLayerInput, "c", {1.0f}, 2, "", ""}})),
      "the input of c has the zero point 2, and ncnn has none; calibrate with --compat tengine, or take another "
      "format");
  for (const char* name : {"a b", "#a"})
    refused(
        write_ncnn(table_of({{ParamsOf::kLayerInput, name, {1.0f}, 0, "", ""}})),
        "'" + std::string(name) +
            "': ncnn's table cannot hold a name with a space or a #; rename the layer, or take another format");
  CHECK(*write_ncnn(table_of({{ParamsOf::kLayerInput, "c", {1.0f}, 0, "", ""}})) == "c 1\n");
  CHECK(*write_ncnn(table_of({{ParamsOf::kLayerWeights, "c", {1.0f}, 0, "", ""}})) == "c_param_0 1\n");
}

TEST_CASE("AMCT's records") {
  check_table(
      amct("scale_d: 0.5 offset_d: -128 scale_w: 0.25 scale_w: 1 offset_w: 0 offset_w: 0 dst_type: \"INT8\""),
      {{ParamsOf::kLayerInput, "a", {0.5f}, -128, "", ""},
       {ParamsOf::kLayerWeights, "a", {0.25f, 1.0f}, 0, "", ""}});
  check_table(amct("scale_d: 0.5 offset_d: 127 shift_bit: 0"),
              {{ParamsOf::kLayerInput, "a", {0.5f}, 127, "", ""}});
  check_table(amct("scale_w: 0.5"), {{ParamsOf::kLayerWeights, "a", {0.5f}, 0, "", ""}});
  check_table(amct("scale_d: 0.5 shift_bit: 0 shift_bit: 2"),
              {{ParamsOf::kLayerInput, "a", {0.5f}, 0, "", ""}}, 1);
  CHECK(amct("scale_d: 1 shift_bit: 2")->notes[0] ==
        "F, a: shift_bit is left out, since sums have 32 bits here");
  refused(amct("scale_d: 1 offset_d: 128"), "F, a: offset_d 128 is outside -128 to 127");
  refused(amct("scale_d: 1 offset_d: -129"), "F, a: offset_d -129 is outside -128 to 127");
  refused(amct("offset_d: 0"), "F, a: offset_d without a scale_d");
  refused(amct("scale_w: 1 offset_w: -1"), "F, a: offset_w -1 is not 0: weights are symmetric");
  refused(amct("scale_w: 1 scale_w: 2 offset_w: 0"), "F, a: 1 offset_w for 2 scale_w");
  refused(amct("scale_d: 1 dst_type: \"INT4\""), "F, a: dst_type INT4 is not INT8, which is what there is");
  refused(
      amct("scale_d: 1 tensor_balance_factor: 2"),
      "F, a: tensor_balance_factor scales channels of the FP32 model, which is not done here; make the record "
      "without it, or use 'intaglio calibrate --recover eq'");
  const std::string end = ", and scales are 2^-40 to 2^40; correct the file, or leave the line out";
  refused(amct("scale_d: -1"), "F, a: scale_d has the scale -1" + end);
  refused(amct("scale_w: 1 scale_w: 0"), "F, a: scale_w has the scale 0" + end);
  refused(read_amct("F", "record { value { scale_d: 1 } }"), "F: a record has no key; it must name a layer");
  refused(read_amct("F", ""), "F: holds no scales; is it a record of AMCT's?");
  refused(read_amct("F", "record {\n key: 1 }"),
          "F line 2 column 7: Expected string, got: 1; is it a record of AMCT's, in its text form?");

  const ParamsTable table = table_of({{ParamsOf::kLayerInput, "c", {0.5f}, -3, "", ""},
                                      {ParamsOf::kLayerWeights, "c", {0.25f, 2.0f}, 0, "w", ""},
                                      {ParamsOf::kLayerInput, "d", {1.0f}, 0, "", ""}});
  const auto text = write_params(table, ParamsFormat::kAmct);
  REQUIRE(text);
  check_table(read_amct("F", *text), {{ParamsOf::kLayerInput, "c", {0.5f}, -3, "", ""},
                                      {ParamsOf::kLayerWeights, "c", {0.25f, 2.0f}, 0, "", ""},
                                      {ParamsOf::kLayerInput, "d", {1.0f}, 0, "", ""}});
  CHECK(std::count(text->begin(), text->end(), '\n') == 22);
  CHECK(text->find("offset_w: 0\n    offset_w: 0\n    shift_bit: 0\n    shift_bit: 0\n") !=
        std::string::npos);
  CHECK(text->find("dst_type: \"INT8\"") != std::string::npos);
  refused(write_amct(table_of({{ParamsOf::kLayerWeights, "c", {1.0f}, 0, "", ""}})),
          "there is no layer with weights, and AMCT's record has nothing else");
}

}  // namespace intaglio::test::import_params_words_test
