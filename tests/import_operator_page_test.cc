// docs/operators.md is what the importers' own tables say; scripts/operator_tables writes it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "importers/onnx/onnx_operators.h"
#include "importers/onnx/onnx_reader.h"
#include "importers/tflite/tflite_operators.h"

namespace intaglio::test::import_operator_page_test {

using namespace importers;

namespace {

constexpr const char* kHead =
    R"(# Operators of ONNX and TFLite

This page is written by `scripts/operator_tables` from the tables of the importers, and a test compares the two.

| column | what it says |
| --- | --- |
| becomes | the operators of the runtime that it is made of; none: it leaves no node |
| FP32 | it takes float activations |
| int8 | ONNX: between DequantizeLinear and QuantizeLinear it becomes int8; TFLite: it takes int8 and uint8 activations |
| constants | constants are computed as integers of 64 bits and as lists without elements, too: shapes and axes |

For all of them:

- Shapes are static, of rank 1 to 6. Open dimensions get their sizes from `--batch` and `--shape`.
- Operators of two inputs repeat either operand along axes of size 1.
- An operator whose inputs are constants is computed at import, and leaves no node.
- `import --constant NAME=V` makes an input of an ONNX network a constant.
- What says "constants" below may be computed from constants and shapes in the file.
- Integers of a run (token numbers, masks) are computed in FP32, which is exact up to 16,777,216. Indices are int32.
- Infinities in a constant become 1.3e30 with their sign where they mask: in Add, Sub, Maximum, Minimum, Concat and Gather. So do
  numbers beyond 1.7e38 there and in Mul. In Where infinities become the largest float. A note says so. A comparison keeps them; elsewhere they are refused.
- A node that calls a function of the ONNX file becomes the nodes of that function.
- Anything else is refused, with the node's name and the reason.
)";

std::string line_of(const ImportedOperator& op) {
  const auto mark = [](bool is) { return is ? "yes" : "-"; };
  std::string becomes;
  for (const Op part : op.becomes)
    becomes += (becomes.empty() ? "" : ", ") + std::string(draft_op_name(part));
  if (becomes.empty()) becomes = "none";
  const std::string domain = op.domain.empty() ? "" : " (" + op.domain + ")";
  std::ostringstream line;
  line << "| " << op.name << domain << " | " << becomes << " | " << mark(op.is_float) << " | "
       << mark(op.is_int8) << " | " << mark(op.is_folded) << " | " << op.limits << " |\n";
  return line.str();
}

std::string table_of(const std::string& title, const std::vector<ImportedOperator>& operators) {
  std::string text = title;
  text +=
      "\n\n| operator | becomes | FP32 | int8 | constants | limits |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const ImportedOperator& op : operators) text += line_of(op);
  return text;
}

std::vector<ImportedOperator> custom_operators() {
  std::vector<ImportedOperator> list;
  for (const importers::TfliteCustomOperator& row : importers::tflite_custom_operators())
    list.push_back(importers::imported_operator("", row.name, row.becomes, row.limits, true));
  return list;
}

std::string page() {
  return std::string(kHead) + "\n" +
         table_of("## ONNX, opset " + std::to_string(kFirstOpset) + " to " + std::to_string(kLastOpset),
                  onnx_operators()) +
         "\n" + table_of("## TFLite, schema version 3", tflite_operators()) + "\n" +
         table_of("## TFLite's custom operators of MediaPipe", custom_operators());
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("docs/operators.md is up to date") {
  const std::string path = ITG_OPERATOR_PAGE;
  if (const char* write = std::getenv("INTAGLIO_WRITE_OPERATOR_PAGE"); write != nullptr && *write == '1')
    std::ofstream(path, std::ios::binary) << page();
  const std::string have = content(path), wanted = page();
  size_t at = 0;
  while (at < std::min(have.size(), wanted.size()) && have[at] == wanted[at]) ++at;
  CHECK_MESSAGE(have == wanted, "run scripts/operator_tables; the page differs from ", wanted.substr(at, 60));
}

TEST_CASE("each operator stands once, and what it says of limits is a sentence") {
  CHECK(onnx_operators().size() > 50);
  CHECK(tflite_operators().size() > 50);
  for (const std::vector<ImportedOperator>& list :
       {onnx_operators(), tflite_operators(), custom_operators()}) {
    for (size_t i = 0; i < list.size(); ++i) {
      CAPTURE(list[i].name);
      CHECK((list[i].is_float || list[i].is_int8 || list[i].is_folded));
      CHECK((list[i].limits.empty() || list[i].limits.back() == '.'));
      if (i > 0) CHECK(by_name(list[i - 1], list[i]));
    }
  }
}

}  // namespace intaglio::test::import_operator_page_test
