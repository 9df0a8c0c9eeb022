// The intaglio command.
#include "cli/program.h"

int main(int argc, char** argv) { return intaglio::cli::run_program(argc, argv); }
