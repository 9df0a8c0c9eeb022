// Ctrl-C while a model is calibrated, on a terminal of the test's own: files stay as they were, a line, exit
// code 130.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/run_cli.h"

namespace intaglio::test::cli_interrupt_test {
namespace {

// The command, with a terminal of its own for stderr.
class OnTerminal {
 public:
  explicit OnTerminal(const std::vector<std::string>& words) {
    master_ = ::posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(master_ >= 0);
    REQUIRE(::grantpt(master_) == 0);
    REQUIRE(::unlockpt(master_) == 0);
    const std::string name = ::ptsname(master_);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    child_ = ::fork();
    REQUIRE(child_ >= 0);
    if (child_ > 0) return;
    const int terminal = ::open(name.c_str(), O_RDWR | O_NOCTTY), nothing = ::open("/dev/null", O_RDWR);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(nothing, STDOUT_FILENO);
    ::dup2(terminal, STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(126);
  }
  ~OnTerminal() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    if (master_ >= 0) ::close(master_);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  // Reads until `part` has come, or the other end has closed.
  bool wait_for(const std::string& part) {
    char buffer[4096];
    while (!holds(text_, part)) {
      const ssize_t got = ::read(master_, buffer, sizeof buffer);
      if (got <= 0) return false;  // EIO: nobody has the terminal open any more
      text_.append(buffer, static_cast<size_t>(got));
    }
    return true;
  }
  void send(int signal) const { ::kill(child_, signal); }
  // The exit code, or 1000 and more where a signal ended it.
  int end() {
    wait_for("\1 never \1");
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  const std::string& text() const { return text_; }

 private:
  int master_ = -1;
  pid_t child_ = -1;
  std::string text_;
};

// An .npy array of `count` pictures for the demo's network, all different.
void write_samples(const std::string& path, uint32_t count) {
  std::string header =
      "{'descr': '|u1', 'fortran_order': False, 'shape': (" + std::to_string(count) + ", 28, 28, 3), }";
  header.resize(118, ' ');
  header[117] = '\n';
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY\x01" << '\0' << '\x76' << '\0' << header;
  uint32_t random = 1;
  for (uint32_t i = 0; i < count * 28 * 28 * 3; ++i) {
    random = random * 1664525u + 1013904223u;
    file.put(static_cast<char>(random >> 24));
  }
}

}  // namespace

TEST_CASE("a signal in the middle: the old file, no other file, one line, 128 and the signal's number") {
  const CommandFolder folder;
  folder.good("import @/meter.onnx -o %/net.itg --mean 127.5 --norm 0.00784313725490196");
  write_samples(folder / "many.npy", 2000);
  for (const int signal : {SIGINT, SIGTERM}) {
    const TemporaryFolder target;
    target.put("int8.itg", std::string("hereITG1, before"));
    OnTerminal command({ITG_COMMAND, "calibrate", folder / "net.itg", "--images", folder / "many.npy", "-o",
                        target / "int8.itg", "--recover", "default,absorb,lsq,eq,adaround"});
    REQUIRE_MESSAGE(command.wait_for("calibrating 1"), command.text());
    command.send(signal);
    CHECK(command.end() == 128 + signal);
    CHECK(holds(command.text(), "intaglio: interrupted; no file is left half-written"));
    CHECK(target.names() == std::vector<std::string>{"int8.itg"});
    CHECK(target.get("int8.itg") == "hereITG1, before");
  }
}

TEST_CASE("in the middle of a recovery that takes long: neither model nor report") {
  const CommandFolder folder;
  folder.good("import @/meter.onnx -o %/net.itg --mean 127.5 --norm 0.00784313725490196");
  write_samples(folder / "many.npy", 300);
  const TemporaryFolder target;
  OnTerminal command({ITG_COMMAND, "calibrate", folder / "net.itg", "--images", folder / "many.npy", "-o",
                      target / "int8.itg", "--report", target / "page.html", "--recover",
                      "default,absorb,lsq,eq,adaround"});
  REQUIRE_MESSAGE(command.wait_for("step 6 of 11: learned scales"), command.text());
  command.send(SIGINT);
  CHECK(command.end() == 128 + SIGINT);
  CHECK(target.names().empty());
}

TEST_CASE("progress shows a bar, the step of how many and a count, and goes away") {
  const CommandFolder folder;
  folder.good("import @/meter.onnx -o %/net.itg --mean 127.5 --norm 0.00784313725490196");
  write_samples(folder / "some.npy", 40);
  OnTerminal command({ITG_COMMAND, "calibrate", folder / "net.itg", "--images", folder / "some.npy", "-o",
                      folder / "int8.itg"});
  CHECK(command.end() == 0);
  CHECK(holds(command.text(), "[                    ] step 1 of 6: calibrating 0/40"));
  CHECK(holds(command.text(), "] step 2 of 6: channel ranges "));
  CHECK(holds(command.text(), "] step 3 of 6: range method "));
  CHECK(holds(command.text(), "] step 4 of 6: bias correction "));
  CHECK(holds(command.text(), "] step 5 of 6: store "));
  CHECK(holds(command.text(), "] step 6 of 6: held out "));
  // The bar never goes back, nor does the step.
  size_t bar = 0, step = 0, shown = 0;
  for (size_t at = command.text().find('['); at != std::string::npos; at = command.text().find('[', at + 1)) {
    const size_t end = command.text().find(']', at), word = command.text().find("step ", at);
    if (end != at + 21 || word != end + 2) continue;
    const size_t full = command.text().find_first_not_of('=', at + 1) - at - 1;
    const size_t now = std::stoul(command.text().substr(word + 5));
    CHECK(full >= bar);
    CHECK(now >= step);
    bar = full;
    step = now;
    ++shown;
  }
  CHECK(shown > 5);
  const std::string erase = "\r\033[K";
  CHECK(command.text().rfind(erase) == command.text().size() - erase.size());
  // No terminal, no progress.
  CHECK(folder.good("calibrate %/net.itg --images %/some.npy -o %/int8.itg --json").err.find("\033") ==
        std::string::npos);
}

}  // namespace intaglio::test::cli_interrupt_test
