// board_print of a machine that has an operating system.
#include <cstdio>

#include "tests/firmware/board_print.h"

void board_print(const char* text) { std::fputs(text, stdout); }
