// The whole program: a command line, the signals that end it, and what it says to stdout and stderr.
#pragma once

namespace intaglio::cli {

// As main(): gives the exit code. Signals are watched from then on.
int run_program(int argc, char** argv);

}  // namespace intaglio::cli
