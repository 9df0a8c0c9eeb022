// The error that an importer's part throws.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "importers/draft/import_error.h"

namespace intaglio::test {

// The message of the ImportError; empty where there is none.
template <typename Body>
std::string thrown(Body&& body) {
  try {
    body();
  } catch (const importers::ImportError& error) {
    return error.what();
  }
  return "";
}

}  // namespace intaglio::test
