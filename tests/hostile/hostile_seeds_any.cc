#include "tests/hostile/hostile_runs.h"

std::vector<std::vector<uint8_t>> intaglio::test::hostile_seeds() { return {}; }
