// Parameter files in JSON: PPQ's and AIMET's; and what a file of parameters may ask for.
#include "importers/params/amct_record.h"
#include "tests/support/params_check.h"
#include "tests/support/sanitized.h"

namespace intaglio::test::import_params_json_test {
namespace {

std::string config(int bits, const char* state, int lo, int hi, const std::string& more = "") {
  return R"({"bit_width": )" + std::to_string(bits) + R"(, "state": ")" + state + R"(", "quant_min": )" +
         std::to_string(lo) + R"(, "quant_max": )" + std::to_string(hi) + R"(, "dominator": 7)" + more + "}";
}

Outcome<ParamsTable> ppq(const std::string& config,
                         const std::string& value = R"({"scale": 0.5, "zero_point": 0})") {
  return read_ppq("F", R"({"configs": {"conv": {"x": )" + config + R"(}}, "values": {"7": )" + value + "}}");
}

}  // namespace

TEST_CASE("PPQ's files: configs") {
  const char* const place = "configs/conv/x";
  check_table(ppq(config(8, "ACTIVATED", -128, 127)), {{ParamsOf::kTensor, "x", {0.5f}, 0, "conv", place}});
  check_table(ppq(config(8, "BAKED", 0, 255), R"({"scale": 0.5, "zero_point": 255})"),
              {{ParamsOf::kTensor, "x", {0.5f}, 127, "conv", place}});
  check_table(ppq(config(4, "OVERLAPPED", 0, 15), R"({"scale": 0.5, "zero_point": 0})"),
              {{ParamsOf::kTensor, "x", {0.5f}, 0, "conv", place}});
  check_table(ppq(config(8, "ACTIVATED", -128, 127,
                         R"(, "policy": {"EXPONENTIAL": false, "LINEAR": true, "DYNAMIC": 1})")),
              {{ParamsOf::kTensor, "x", {0.5f}, 0, "conv", place}});
  const std::string none = "F: holds no scales that can be taken";
  check_table(ppq(config(9, "ACTIVATED", -128, 127)), {{ParamsOf::kTensor, "x", {0.5f}, 0, "conv", place}});
  refused(ppq(config(17, "ACTIVATED", -128, 127)), none);
  for (const char* state : {"FP32", "SOI"}) refused(ppq(config(8, state, -128, 127)), none);
  for (const char* state : {"PASSIVE", "PASSIVE_BAKED"}) {
    check_table(ppq(config(8, state, -128, 127)), {{ParamsOf::kTensor, "x", {0.5f}, 0, "conv", place}});
    refused(ppq(config(32, state, -128, 127)), none);
  }
  const std::string where = "F: configs/conv/x";
  refused(ppq(config(8, "INITIAL", -128, 127)),
          where + ": the state INITIAL is unfinished; render the quantization before it is exported");
  for (const char* property : {"EXPONENTIAL", "FLOATING", "DYNAMIC"})
    refused(ppq(config(8, "BAKED", -128, 127, R"(, "policy": {")" + std::string(property) + R"(": true})")),
            where + ": int8 does not hold the policy " + property + "; keep the node in float");
  refused(ppq(config(0, "ACTIVATED", -128, 127)), where + ": a bit_width of 0 holds no codes");
  refused(ppq(config(-5, "ACTIVATED", 0, 127)), where + ": a bit_width of -5 holds no codes");
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
  check_table(value(R"({"scale": [1, 2], "zero_point": [0, 1]})"),
              {{ParamsOf::kTensor, "x", {1.0f, 2.0f}, 1, "conv", place}});
  const auto twice = [](const std::string& second) {
    return read_ppq(
        "F",
        R"({"configs": {"a": {"x": )" + config(8, "BAKED", -128, 127) + R"(}, "b": {"x": )" +
            R"({"bit_width": 8, "state": "BAKED", "quant_min": -128, "quant_max": 127, "dominator": 8})" +
            R"(}}, "values": {"7": {"scale": 0.5, "zero_point": 1}, "8": )" + second + "}}");
  };
  check_table(twice(R"({"scale": 0.5, "zero_point": 1})"),
              {{ParamsOf::kTensor, "x", {0.5f}, 1, "a", "configs/a/x"}});
  for (const auto& [text, scale, zero_point] : {std::tuple(R"({"scale": 0.5, "zero_point": 2})", 0.5f, 2),
                                                std::tuple(R"({"scale": 0.25, "zero_point": 1})", 0.25f, 1)})
    check_table(twice(text), {{ParamsOf::kTensor, "x", {0.5f}, 1, "a", "configs/a/x"},
                              {ParamsOf::kReader, "x", {scale}, zero_point, "b", "configs/b/x"}});
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
  CHECK(count("\"POWER_OF_2\": true") == 3);  // 0.5, 0.25 and 2, 1
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
  for (const auto& change : std::vector<std::pair<std::string, std::string>>{
           {"\"scale\": 0.5", "\"scale\": 0.25"},
           {"\"samples\": 4294967295", "\"samples\": 4294967296"},
           {"\"samples\": 4294967295", "\"samples\": -1"},
           {"\"samples\": 4294967295", "\"samples\": 1.5"},
           {"\"samples_digest\": \"", "\"samples_digest\": \"0"},
           {"\"digest\": \"", "\"digest\": \"0"},
           {"\"digest\": \"", "\"dig\": \""},
           {"\"quant_max\": 127", "\"quant_max\": 126"}}) {
    CAPTURE(change.second);
    const auto read = changed(change.first, change.second);
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

TEST_CASE("PPQ's files: slots that int8 does not have are noted, and a passive one gives way") {
  const auto file = [](const std::string& more) {
    return read_ppq("F", R"({"configs": {"conv": {"x": )" + config(4, "ACTIVATED", -8, 7) + more + R"(}},
                     "values": {"7": {"scale": 0.5, "zero_point": 0}, "8": {"scale": 0.25, "zero_point": 0}}})");
  };
  CHECK(file("")->notes.empty());
  CHECK(file("")->entries[0].lo == -8);
  CHECK(file("")->entries[0].hi == 7);
  const auto wide = file(R"(, "v": )" + config(16, "ACTIVATED", -32768, 32767));
  REQUIRE_MESSAGE(wide, wide.message());
  CHECK(wide->notes.empty());
  REQUIRE(wide->entries.size() == 2);
  CHECK(wide->entries[1].lo == -32767);
  CHECK(wide->entries[1].hi == 32767);
  CHECK(wide->entries[1].zero_point == 0);
  const std::string left_out =
      "F: 1 of its slots have more than 16 bits, or 9 to 16 with a zero point that is not their middle, and are left "
      "out; keep their nodes in float where int8 is too coarse (the first: configs/conv/v, ";
  CHECK(file(R"(, "v": )" + config(20, "ACTIVATED", -32768, 32767))->notes ==
        std::vector<std::string>{left_out + "20 bits)"});
  CHECK(file(R"(, "v": )" + config(16, "ACTIVATED", 0, 65535))->notes ==
        std::vector<std::string>{left_out + "zero point 0)"});
  CHECK(file(R"(, "v": )" + config(12, "ACTIVATED", 0, 4095))->notes ==
        std::vector<std::string>{left_out + "zero point 0)"});
  // More codes below the zero point than above: no codes of 16 bits here have these.
  CHECK(file(R"(, "v": )" + config(16, "ACTIVATED", -32768, 100))->notes ==
        std::vector<std::string>{left_out + "codes of -32768 to 100)"});
  CHECK(file(R"(, "v": )" + config(9, "ACTIVATED", -200, 127))->notes ==
        std::vector<std::string>{left_out + "codes of -200 to 127)"});
  const auto fewer_below = file(R"(, "v": )" + config(16, "ACTIVATED", -100, 32767));
  REQUIRE_MESSAGE(fewer_below, fewer_below.message());
  CHECK(fewer_below->entries[1].lo == -100);
  const auto twelve = ppq(config(12, "ACTIVATED", 0, 4095), R"({"scale": 0.5, "zero_point": 2048})");
  REQUIRE_MESSAGE(twelve, twelve.message());
  CHECK(twelve->entries[0].zero_point == 0);
  CHECK(twelve->entries[0].hi == 2047);
  CHECK(file(R"(, "v": )" + config(16, "ACTIVATED", -32769, 32767)).message() ==
        "F: configs/conv/v: codes of -32769 to 32767 are not 16 bits");
  const std::string other =
      R"({"bit_width": 8, "state": "PASSIVE", "quant_min": -128, "quant_max": 127, "dominator": 8})";
  const auto passive = read_ppq("F", R"({"configs": {"add": {"x": )" + other + R"(}, "conv": {"x": )" +
                                         config(8, "ACTIVATED", -128, 127) + R"(}},
                     "values": {"7": {"scale": 0.5, "zero_point": 0}, "8": {"scale": 0.25, "zero_point": 0}}})");
  REQUIRE_MESSAGE(passive, passive.message());
  CHECK(passive->entries[0].scales == std::vector<float>{0.5f});
  CHECK(passive->notes ==
        std::vector<std::string>{"F: 1 of its slots quantize a tensor a second time, in another way, and "
                                 "are left out (the first: configs/add/x)"});
}

TEST_CASE("AIMET's encodings, of versions 0.6.1 and 1.0.0") {
  const char* const old = R"({"version": "0.6.1",
      "activation_encodings": {"x": [{"bitwidth": 8, "dtype": "int", "is_symmetric": "False", "offset": -28, "scale": 0.5}],
                               "f": [{"bitwidth": 16, "dtype": "float"}],
                               "v": [{"bitwidth": 16, "dtype": "int", "offset": -32767, "scale": 0.001}]},
      "param_encodings": {"w": [{"bitwidth": 8, "offset": -128, "scale": 0.25}, {"bitwidth": 8, "offset": -128, "scale": 2}],
                          "b": [{"bitwidth": 32, "offset": -2147483648, "scale": 1}]}})";
  const char* const recent = R"({"version": "1.0.0",
      "activation_encodings": [{"name": "x", "bw": 8, "dtype": "INT", "enc_type": "PER_TENSOR", "offset": [-28], "scale": [0.5]}],
      "param_encodings": [{"name": "w", "bw": 8, "dtype": "INT", "enc_type": "PER_CHANNEL", "offset": [-128, -128],
                           "scale": [0.25, 2]}]})";
  const std::vector<Expected> expected = {
      {ParamsOf::kTensor, "x", {0.5f}, -100, "", "activation_encodings/x"},
      {ParamsOf::kLayerWeights, "w", {0.25f, 2.0f}, 0, "w", "param_encodings/w"}};
  check_table(read_aimet("F", old), expected, 1);
  check_table(read_aimet("F", recent), expected);
  CHECK(
      read_aimet("F", old)->notes ==
      std::vector<std::string>{
          "F: 1 of its slots have more than 16 bits, or 9 to 16 with a zero point that is not their middle, and are "
          "left out; keep their nodes in float where int8 is too coarse (the first: activation_encodings/v, offset "
          "-32767)"});
  const auto text = write_aimet(*read_aimet("F", recent));
  REQUIRE(text);
  check_table(read_aimet("F", *text), expected);
  // real = (code + offset) * scale, codes from 0 on.
  CHECK(text->find("\"max\": 113.5,\n    \"min\": -14.0,\n    \"offset\": -28,\n    \"scale\": 0.5") !=
        std::string::npos);
  const auto one = [](const std::string& encoding) {
    return read_aimet("F", R"({"activation_encodings": {"x": )" + encoding + "}}");
  };
  const std::string where = "F: activation_encodings/x";
  refused(
      read_aimet("F", "{}"),
      "F: has no activation_encodings, param_encodings or encodings, nor MQBench's tensorrt, ppl or vitis; is it "
      "a file of AIMET's?");
  refused(
      one(R"({"input": {}})"),
      where + " is no list; give the file whose names are of ONNX tensors, not that of PyTorch's modules");
  refused(one("[]"), where + ": has no encoding");
  refused(one(R"([{"bitwidth": 8, "offset": 0}])"),
          where + ": bitwidth, scale or offset is missing, or of another type");
  refused(one(R"([{"bitwidth": 8, "offset": 1, "scale": 1}])"),
          where + ": the offset 1 is not within -255 to 0");
  refused(one(R"([{"bitwidth": 8, "offset": -256, "scale": 1}])"),
          where + ": the offset -256 is not within -255 to 0");
  refused(one(R"([{"bitwidth": 8, "offset": 0, "scale": 1}, {"bitwidth": 8, "offset": 0, "scale": 1}])"),
          where + ": 2 scales, and an activation has one here");
  refused(one(R"([{"bitwidth": 8, "offset": [0, 0], "scale": [1, 1, 1]}])"),
          where + ": 2 offsets for 3 scales");
  refused(one(R"([{"bitwidth": 8, "offset": 0, "scale": 0}])"),
          where + " has the scale 0, and scales are 2^-40 to 2^40; correct the file, or leave the line out");
  refused(read_aimet("F", R"({"activation_encodings": [{"bw": 8, "offset": [0], "scale": [1]}]})"),
          "F: activation_encodings has an encoding without a name");
}

TEST_CASE("AIMET's encodings of version 2.0.0") {
  const auto file = [](const std::string& list) {
    return read_aimet("F", R"({"version": "2.0.0", "encodings": [)" + list + "]}");
  };
  const auto read = file(R"({"name": "x", "output_dtype": "uint8", "y_scale": 0.5, "y_zero_point": 28},
      {"name": "r", "output_dtype": "uint8", "y_scale": 0.25}, {"name": "s", "output_dtype": "int8", "y_scale": 2},
      {"name": "w", "axis": 0, "output_dtype": "int8", "y_scale": [0.25, 2]},
      {"name": "u", "axis": 0, "output_dtype": "uint8", "y_scale": [0.25, 2], "y_zero_point": [128, 128]},
      {"name": "four", "axis": 0, "output_dtype": "int4", "y_scale": [0.5]},
      {"name": "b", "axis": 0, "output_dtype": "int32", "y_scale": [0.25, 2]}, {"name": "f", "output_dtype": "float16", "y_scale": 1},
      {"name": "i", "output_dtype": "int16", "y_scale": 0.5}, {"name": "v", "output_dtype": "uint16", "y_scale": 0.5, "y_zero_point": 7})");
  REQUIRE_MESSAGE(read, read.message());
  check_table(read,
              {{ParamsOf::kTensor, "x", {0.5f}, -100, "", "encodings/x"},
               {ParamsOf::kTensor, "r", {0.25f}, -128, "", "encodings/r"},
               {ParamsOf::kTensor, "s", {2.0f}, 0, "", "encodings/s"},
               {ParamsOf::kLayerWeights, "w", {0.25f, 2.0f}, 0, "w", "encodings/w"},
               {ParamsOf::kLayerWeights, "u", {0.25f, 2.0f}, 0, "u", "encodings/u"},
               {ParamsOf::kLayerWeights, "four", {0.5f}, 0, "four", "encodings/four"},
               {ParamsOf::kTensor, "i", {0.5f}, 0, "", "encodings/i"}},
              1);
  CHECK(read->entries[5].hi == 7);
  CHECK(read->entries[6].hi == 32767);
  CHECK(read->entries[6].lo == -32767);
  CHECK(read->notes[0].find("(the first: encodings/v, zero point -32761)") != std::string::npos);
  refused(read_aimet("F", R"({"encodings": {}})"), "F: encodings is no list");
  refused(file(R"({"output_dtype": "int8"})"), "F: encodings has one without a name");
  refused(file(R"({"name": "x", "output_dtype": "int8"})"),
          "F: encodings/x: output_dtype or y_scale is missing, or of another type");
  for (const char* const word : {"int", "uint", "int1", "int33", "int8x", "8", "bint8"})
    refused(file(R"({"name": "x", "y_scale": 1, "output_dtype": ")" + std::string(word) + "\"}"),
            "F: encodings/x: output_dtype \"" + std::string(word) +
                "\" is none of int2 to int32 and uint2 to uint32");
  refused(file(R"({"name": "x", "output_dtype": "uint8", "y_scale": 1, "y_zero_point": 256})"),
          "F: encodings/x: the zero point 256 is no code of uint8");
  refused(file(R"({"name": "x", "output_dtype": "int8", "y_scale": 1, "y_zero_point": 200})"),
          "F: encodings/x: the offset -328 is not within -255 to 0");
  CHECK(file(R"({"name": "w", "output_dtype": "uint8", "y_scale": [1, 1], "y_zero_point": [128, 127]})")
            ->entries[0]
            .zero_point == -1);
  refused(file(R"({"name": "w", "output_dtype": "int8", "y_scale": [[1, 1], [1, 1]]})"),
          "F: encodings/w: a scale is no number");
}

TEST_CASE("encodings of other tools: ranges alone, codes with a sign, MQBench's clip ranges") {
  // SNPE's, as MQBench writes them. The range includes 0.
  check_table(read_aimet("F", R"({"activation_encodings": {"x": [{"bitwidth": 8, "min": -12.8, "max": 12.7}],
      "r": [{"bitwidth": 8, "min": 0.5, "max": 25.5}]}, "param_encodings": {}})"),
              {{ParamsOf::kTensor, "x", {0.1f}, 0, "", "activation_encodings/x"},
               {ParamsOf::kTensor, "r", {0.1f}, -128, "", "activation_encodings/r"}});
  // PPQ's for QNN: the offset is a code, with a sign where the range says so.
  check_table(read_aimet("F", R"({"activation_encodings": {
      "u": [{"bitwidth": 8, "max": 59.0, "min": -68.5, "offset": 137, "scale": 0.5}],
      "s": [{"bitwidth": 8, "max": 63.5, "min": -64.0, "offset": 0, "scale": 0.5}],
      "b": [{"bitwidth": 32, "max": 1e9, "min": -1e9, "offset": 0, "scale": 0.5}]},
      "param_encodings": {"w": [{"bitwidth": 8, "max": 5.9, "min": -6.85, "offset": 137, "scale": 0.05}]}})"),
              {{ParamsOf::kTensor, "u", {0.5f}, 9, "", "activation_encodings/u"},
               {ParamsOf::kTensor, "s", {0.5f}, 0, "", "activation_encodings/s"},
               {ParamsOf::kLayerWeights, "w", {0.05f}, 9, "w", "param_encodings/w"}},
              1);
  // TensorRT's greatest values; ppl's steps, of weights too; vitis' scales.
  check_table(read_aimet("F", R"({"tensorrt": {"blob_range": {"x": 63.5}}})"),
              {{ParamsOf::kTensor, "x", {0.5f}, 0, "", "tensorrt/x"}});
  const auto ppl = read_aimet("F", R"({"ppl": {
      "u": {"step": 0.5, "zero_point": 137, "min": -68.5, "max": 59.0, "bit": 8, "type": "biased"},
      "w": {"step": [0.5, 0.25], "zero_point": [0, 0], "min": [-63.5, -31.75], "max": [63.5, 31.75], "bit": 7}}})");
  check_table(ppl, {{ParamsOf::kTensor, "u", {0.5f}, 9, "", "ppl/u"},
                    {ParamsOf::kLayerWeights, "w", {0.5f, 0.25f}, 0, "w", "ppl/w"}});
  CHECK(ppl->entries[1].hi == 127);
  CHECK(ppl->entries[1].lo == -127);
  check_table(read_aimet("F", R"({"vitis": {"x": {"scale": 0.25}}})"),
              {{ParamsOf::kTensor, "x", {0.25f}, 0, "", "vitis/x"}});
  refused(read_aimet("F", R"({"ppl": {"u": {"step": 0.5}}})"),
          "F: ppl/u: is no number, and has neither scale nor bit, step, min and max");
  refused(read_aimet("F", R"({"vitis": 3})"), "F: vitis is no object");
  for (const char* const range :
       {R"("min": 1, "max": 1)", R"("min": 2, "max": -2)", R"("min": "0", "max": 1)",
        R"("min": [0, 0], "max": [1])", R"("min": 0, "max": 1e300, "scale": 1)",
        R"("min": 0, "max": 1, "scale": 0)", R"("min": 0, "max": 1, "scale": -1)"})
    refused(
        read_aimet("F", R"({"activation_encodings": {"x": [{"bitwidth": 8, )" + std::string(range) + "}]}}"),
        "F: activation_encodings/x: min, max and scale are no ranges of 8 bits");
}

TEST_CASE("AIMET's weights of more than 8 bits are noted, biases are not") {
  const auto read = read_aimet("F", R"({"param_encodings": {
      "v": [{"bitwidth": 16, "offset": -32768, "scale": 1}, {"bitwidth": 16, "offset": -32768, "scale": 1}],
      "w": [{"bitwidth": 8, "offset": -128, "scale": 0.25}],
      "b": [{"bitwidth": 32, "offset": -2147483648, "scale": 1}]}})");
  check_table(read, {{ParamsOf::kLayerWeights, "w", {0.25f}, 0, "w", "param_encodings/w"}}, 1);
  CHECK(
      read->notes ==
      std::vector<std::string>{
          "F: 1 of its slots are of weights with more than 8 bits, whose layers stay in FP32 (the first: param_encodings/v, "
          "16 bits)"});
  CHECK(read->float_operators == std::vector<std::string>{"v"});
}

TEST_CASE("files of very many values, keys or entries are refused by their number, while they are read") {
  if (kIsSanitized) return;  // 2^28 comparisons and 2^22 values: half a minute
  const auto of_keys = [](int count) {
    std::string text = R"({"param_encodings": {"a": 0)";
    for (int i = 1; i < count; ++i) text += ",\"" + std::to_string(i) + "\":0";
    return read_aimet("F", text + "}}").message();
  };
  const std::string keys =
      "F: has more than 4194304 values, or objects of more keys than any file of AIMET's has";
  CHECK(of_keys(23170) != keys);  // 23170 * 23169 / 2 comparisons: 2^28 at most
  CHECK(of_keys(23171) == keys);
  const auto of_values = [](size_t count) {
    std::string text = R"({"param_encodings": {"a": [)";
    for (size_t i = 1; i < count; ++i) text += "0,";
    return read_aimet("F", text + "0]}}").message();
  };
  constexpr size_t kAround = 3;  // two objects and a list
  CHECK(of_values((size_t{1} << 22) - kAround) != keys);
  CHECK(of_values((size_t{1} << 22) - kAround + 1) == keys);

  const size_t most = (size_t{1} << 28) / sizeof(amct::Entry);
  std::string entries, twice;
  for (size_t i = 0; i < most; ++i) entries += "record{}";
  CHECK(amct::read_record(entries, twice));
  const auto refused = amct::read_record(entries + "\nrecord{}", twice);
  REQUIRE(!refused);
  CHECK(refused.message() ==
        "line 2 column 1: with this entry the file takes more memory than the limit of 268435456 bytes");
}

}  // namespace intaglio::test::import_params_json_test
