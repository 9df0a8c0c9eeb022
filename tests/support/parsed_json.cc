#include "tests/support/run_cli.h"

nlohmann::json intaglio::test::parsed_json(const std::string& text) {
  return nlohmann::json::parse(text, nullptr, false);
}
