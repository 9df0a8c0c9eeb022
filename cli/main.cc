// The intaglio command.
#include "cli/command_line.h"

int main(int argc, char** argv) { return intaglio::cli::run_program(argc, argv); }
