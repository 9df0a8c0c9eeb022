// Parameter files of other tools at their limits: what a line gives, entry by entry, the exact words of each
// refusal, and the exact text that is written.
#include <doctest/doctest.h>

#include "importers/params/params_lines.h"
#include "importers/params/params_table.h"

using namespace intaglio;

namespace {

using Scales = std::vector<float>;

struct Expected {
  ParamsOf of;
  const char* name;
  Scales scales;
  int32_t zero_point;
  const char *node, *place;
};

void check_table(const Outcome<ParamsTable>& table, const std::vector<Expected>& expected, size_t notes = 0) {
  REQUIRE_MESSAGE(table, table.message());
  REQUIRE(table->entries.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const ParamsEntry& entry = table->entries[i];
    CAPTURE(i);
    CHECK(entry.of == expected[i].of);
    CHECK(entry.name == expected[i].name);
    CHECK(entry.scales == expected[i].scales);
    CHECK(entry.zero_point == expected[i].zero_point);
    CHECK(entry.node == expected[i].node);
    CHECK(entry.place == expected[i].place);
  }
  CHECK(table->notes.size() == notes);
}

template <typename T>
void refused(const Outcome<T>& outcome, const std::string& message) {
  CHECK(!outcome);
  CHECK(outcome.message() == message);
}

ParamsTable table_of(std::vector<ParamsEntry> entries) {
  ParamsTable table;
  table.entries = std::move(entries);
  return table;
}

std::string config(int bits, const char* state, int lo, int hi, const std::string& more = "") {
  return R"({"bit_width": )" + std::to_string(bits) + R"(, "state": ")" + state + R"(", "quant_min": )" +
         std::to_string(lo) + R"(, "quant_max": )" + std::to_string(hi) + R"(, "dominator": 7)" + more + "}";
}

Outcome<ParamsTable> ppq(const std::string& config,
                         const std::string& value = R"({"scale": 0.5, "zero_point": 0})") {
  return read_ppq("F", R"({"configs": {"conv": {"x": )" + config + R"(}}, "values": {"7": )" + value + "}}");
}

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
  const char* names[] = {"tengine", "tengine-uint8", "ncnn", "amct", "ppq", "model"};
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
  CHECK(std::count(text->begin(), text->end(), '\n') == 20);
  CHECK(text->find("offset_w: 0\n    offset_w: 0\n") != std::string::npos);
  CHECK(text->find("dst_type: \"INT8\"") != std::string::npos);
  refused(write_amct(table_of({{ParamsOf::kLayerWeights, "c", {1.0f}, 0, "", ""}})),
          "there is no layer with weights, and AMCT's record has nothing else");
}

TEST_CASE("PPQ's files: configs") {
  const char* const place = "configs/conv/x";
  check_table(ppq(config(8, "ACTIVATED", -128, 127)), {{ParamsOf::kTensor, "x", {0.5f}, 0, "conv", place}});
  check_table(ppq(config(8, "BAKED", 0, 255), R"({"scale": 0.5, "zero_point": 255})"),
              {{ParamsOf::kTensor, "x", {0.5f}, 127, "conv", place}});
  check_table(ppq(config(4, "OVERLAPPED", 0, 15), R"({"scale": 0.5, "zero_point": 0})"),
              {{ParamsOf::kTensor, "x", {0.5f}, -128, "conv", place}});
  check_table(ppq(config(8, "ACTIVATED", -128, 127,
                         R"(, "policy": {"EXPONENTIAL": false, "LINEAR": true, "DYNAMIC": 1})")),
              {{ParamsOf::kTensor, "x", {0.5f}, 0, "conv", place}});
  const std::string none = "F: holds no scales of 8 bits or fewer";
  refused(ppq(config(9, "ACTIVATED", -128, 127)), none);
  for (const char* state : {"FP32", "SOI", "PASSIVE", "PASSIVE_BAKED"})
    refused(ppq(config(8, state, -128, 127)), none);
  const std::string where = "F: configs/conv/x";
  refused(ppq(config(8, "INITIAL", -128, 127)),
          where + ": the state INITIAL is unfinished; render the quantization before it is exported");
  for (const char* property : {"EXPONENTIAL", "FLOATING", "DYNAMIC"})
    refused(ppq(config(8, "BAKED", -128, 127, R"(, "policy": {")" + std::string(property) + R"(": true})")),
            where + ": int8 does not hold the policy " + property + "; keep the node in float");
  const std::string codes = " are not 8 bits";
  refused(ppq(config(8, "BAKED", -129, 127)), where + ": codes of -129 to 127" + codes);
  refused(ppq(config(8, "BAKED", -128, 128)), where + ": codes of -128 to 128" + codes);
  refused(ppq(config(8, "BAKED", 0, 256)), where + ": codes of 0 to 256" + codes);
  refused(ppq(config(8, "BAKED", 3, 3)), where + ": codes of 3 to 3" + codes);
  refused(ppq(config(8, "BAKED", -1, 128)), where + ": codes of -1 to 128" + codes);
  const std::string missing =
      ": bit_width, quant_min, quant_max, dominator or state is missing, or of another type";
  for (const char* bad :
       {R"({"state": "BAKED", "quant_min": 0, "quant_max": 255, "dominator": 7})",
        R"({"bit_width": 8, "quant_min": 0, "quant_max": 255, "dominator": 7})",
        R"({"bit_width": 8, "state": "BAKED", "quant_max": 255, "dominator": 7})",
        R"({"bit_width": 8, "state": "BAKED", "quant_min": 0, "dominator": 7})",
        R"({"bit_width": 8, "state": "BAKED", "quant_min": 0, "quant_max": 255})",
        R"({"bit_width": 8, "state": 1, "quant_min": 0, "quant_max": 255, "dominator": 7})",
        R"({"bit_width": "8", "state": "BAKED", "quant_min": 0, "quant_max": 255, "dominator": 7})",
        R"({"bit_width": 8.5, "state": "BAKED", "quant_min": 0, "quant_max": 255, "dominator": 7})",
        R"({"bit_width": 8, "state": "BAKED", "quant_min": 0, "quant_max": 255, "dominator": 1e16})"})
    refused(ppq(bad), where + missing);
  const std::string objects = "F: has no objects 'configs' and 'values'; is it a file of PPQ's?";
  for (const char* text : {"[]", "3", R"({"configs": {}})", R"({"values": {}})",
                           R"({"configs": [], "values": {}})", R"({"configs": {}, "values": 1})"})
    refused(read_ppq("F", text), objects);
  refused(read_ppq("F", R"({"configs": {"conv": 1}, "values": {}})"), "F: configs/conv is no object");
  const auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '[') + std::string(static_cast<size_t>(depth), ']');
  };
  refused(read_ppq("F", nested(16)), objects);
  refused(read_ppq("F", nested(18)), "F: is nested deeper than a file of PPQ's");
}

TEST_CASE("PPQ's files: values") {
  const std::string where = "F: configs/conv/x";
  const auto value = [](const std::string& text, int lo = -128) {
    return ppq(config(8, "BAKED", lo, 127), text);
  };
  const char* const place = "configs/conv/x";
  check_table(value(R"({"scale": [0.5, 2], "zero_point": [0, 0]})"),
              {{ParamsOf::kTensor, "x", {0.5f, 2.0f}, 0, "conv", place}});
  check_table(value(R"({"scale": [0.5, 2], "zero_point": 0})"),
              {{ParamsOf::kTensor, "x", {0.5f, 2.0f}, 0, "conv", place}});
  check_table(value(R"({"scale": [0.5], "zero_point": [-128]})"),
              {{ParamsOf::kTensor, "x", {0.5f}, -128, "conv", place}});
  check_table(value(R"({"scale": 0.5, "zero_point": 127.0})"),
              {{ParamsOf::kTensor, "x", {0.5f}, 127, "conv", place}});
  refused(value(R"({"zero_point": 0})"), where + ": scale or zero_point is missing");
  refused(value(R"({"scale": 1})"), where + ": scale or zero_point is missing");
  refused(value(R"({"scale": [1, "2"], "zero_point": 0})"), where + ": a scale is no number");
  refused(value(R"({"scale": 0, "zero_point": 0})"),
          where + " has the scale 0, and scales are 2^-40 to 2^40; correct the file, or leave the line out");
  refused(value(R"({"scale": [], "zero_point": 0})"), where + ": 1 zero points for 0 scales");
  refused(value(R"({"scale": [1, 2], "zero_point": [0, 0, 0]})"), where + ": 3 zero points for 2 scales");
  refused(value(R"({"scale": 1, "zero_point": []})"), where + ": 0 zero points for 1 scales");
  refused(value(R"({"scale": 1, "zero_point": 128})"), where + ": the zero point 128 is no code");
  refused(value(R"({"scale": 1, "zero_point": -129})"), where + ": the zero point -129 is no code");
  refused(value(R"({"scale": 1, "zero_point": -1})", 0), where + ": the zero point -1 is no code");
  refused(value(R"({"scale": 1, "zero_point": 256})", 0), where + ": the zero point 256 is no code");
  refused(value(R"({"scale": 1, "zero_point": "0"})"), where + ": the zero point \"0\" is no code");
  refused(value(R"({"scale": [1, 2], "zero_point": [0, 1]})"),
          where + ": the zero point 1 is no code, or not that of symmetric weights");
  const auto twice = [](const std::string& second) {
    return read_ppq(
        "F",
        R"({"configs": {"a": {"x": )" + config(8, "BAKED", -128, 127) + R"(}, "b": {"x": )" +
            R"({"bit_width": 8, "state": "BAKED", "quant_min": -128, "quant_max": 127, "dominator": 8})" +
            R"(}}, "values": {"7": {"scale": 0.5, "zero_point": 1}, "8": )" + second + "}}");
  };
  check_table(twice(R"({"scale": 0.5, "zero_point": 1})"),
              {{ParamsOf::kTensor, "x", {0.5f}, 1, "a", "configs/a/x"}});
  const std::string other =
      "F: configs/b/x: another scale or zero point than at configs/a/x; a tensor has one quantization here";
  refused(twice(R"({"scale": 0.5, "zero_point": 2})"), other);
  refused(twice(R"({"scale": 0.25, "zero_point": 1})"), other);
}

TEST_CASE("PPQ's files: what is written, and where it comes from") {
  ParamsTable table = table_of({{ParamsOf::kTensor, "x", {0.5f}, -3, "conv", ""},
                                {ParamsOf::kLayerInput, "conv", {0.5f}, -3, "", ""},
                                {ParamsOf::kLayerWeights, "conv", {0.25f, 2.0f}, 0, "w", ""},
                                {ParamsOf::kTensor, "y", {1.0f}, 0, "conv", ""}});
  ParamsProvenance from{"1.2", "auto", "opts", UINT32_MAX, {}};
  for (size_t i = 0; i < from.digest.size(); ++i) from.digest[i] = static_cast<uint8_t>(i * 37 + 9);
  table.provenance = from;
  const auto text = write_params(table, ParamsFormat::kPpq);
  REQUIRE(text);
  const auto count = [&](const std::string& part) {
    size_t found = 0;
    for (size_t at = text->find(part); at != std::string::npos; at = text->find(part, at + 1)) ++found;
    return found;
  };
  CHECK(count("\"ASYMMETRICAL\": true") == 1);
  CHECK(count("\"SYMMETRICAL\": true") == 2);
  CHECK(count("\"PER_CHANNEL\": true") == 1);
  CHECK(count("\"PER_TENSOR\": true") == 2);
  CHECK(count("\"LINEAR\": true") == 3);
  CHECK(count("\"EXPONENTIAL\": false") == 3);
  CHECK(count("\"POWER_OF_2\": false") == 3);
  CHECK(count("\"quant_min\": -128") == 2);
  CHECK(count("\"quant_min\": -127") == 1);
  CHECK(count("\"quant_max\": 127") == 3);
  CHECK(count("\"bit_width\": 8") == 3);
  CHECK(count("\"dominator\": 1") == 1);
  CHECK(count("\"dominator\": 3") == 1);
  CHECK(text->substr(text->size() - 2) == "}\n");
  const auto again = read_ppq("F", *text);
  check_table(again, {{ParamsOf::kTensor, "x", {0.5f}, -3, "conv", "configs/conv/x"},
                      {ParamsOf::kTensor, "w", {0.25f, 2.0f}, 0, "conv", "configs/conv/w"},
                      {ParamsOf::kTensor, "y", {1.0f}, 0, "conv", "configs/conv/y"}});
  REQUIRE(again->provenance);
  CHECK(again->provenance->library_version == "1.2");
  CHECK(again->provenance->method == "auto");
  CHECK(again->provenance->options == "opts");
  CHECK(again->provenance->samples == UINT32_MAX);
  CHECK(again->provenance->digest == from.digest);
  const auto changed = [&](const std::string& what, const std::string& to) {
    std::string other = *text;
    const size_t at = other.find(what);
    REQUIRE(at != std::string::npos);
    other.replace(at, what.size(), to);
    return read_ppq("F", other);
  };
  for (const auto& [what, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"scale\": 0.5", "\"scale\": 0.25"},
           {"\"samples\": 4294967295", "\"samples\": 4294967296"},
           {"\"samples\": 4294967295", "\"samples\": -1"},
           {"\"samples\": 4294967295", "\"samples\": 1.5"},
           {"\"samples_digest\": \"", "\"samples_digest\": \"0"},
           {"\"digest\": \"", "\"digest\": \"0"},
           {"\"digest\": \"", "\"dig\": \""},
           {"\"quant_max\": 127", "\"quant_max\": 126"}}) {
    CAPTURE(to);
    const auto read = changed(what, to);
    REQUIRE_MESSAGE(read, read.message());
    CHECK(!read->provenance);
    REQUIRE(read->notes.size() == 1);
    CHECK(read->notes[0] ==
          "F: was changed after it was exported: what it says of the calibration is left out");
  }
  refused(write_ppq(table_of({{ParamsOf::kTensor, "\xff", {1.0f}, 0, "n", ""}})),
          "a name is no UTF-8, and JSON cannot hold it; rename it");
  refused(write_params(table, ParamsFormat::kModel),
          "a model is no format to write parameters in; take another");
}
