// Lines of text from a board, where there is no stdio, and from a build machine alike.
#pragma once

#include <cstdint>

extern "C" void board_print(const char* text);  // examples/firmware/board.c, or host_board.cc

inline void print_line(const char* what, const char* text) {
  board_print(what);
  board_print(text);
  board_print("\n");
}

inline void print_number(const char* what, uint32_t number) {
  char digits[11];
  char* at = digits + sizeof digits;
  *--at = '\0';
  do {
    *--at = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  print_line(what, at);
}
