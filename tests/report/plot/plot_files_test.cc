#include "report/plot/plot_files.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/time.h>

#include <filesystem>

using namespace hybridkv;

namespace {

/// Signals the process every few milliseconds while it stands, in a way that interrupts what waits.
class Interruptions {
 public:
  Interruptions() {
    struct ::sigaction action = {};
    action.sa_handler = [](int) {};
    ::sigaction(SIGALRM, &action, &before_);
    every(5000);
  }
  ~Interruptions() {
    every(0);
    ::sigaction(SIGALRM, &before_, nullptr);
  }
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;

 private:
  static void every(::suseconds_t microseconds) {
    const ::itimerval often = {{0, microseconds}, {0, microseconds}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
  }
  struct ::sigaction before_ = {};
};

}  // namespace

TEST_CASE("a program gets the words that it is given and none behind them, whatever stood in that memory before") {
  for (std::size_t count = 16; count > 0; --count) {
    CAPTURE(count);
    std::vector<std::string> command{"sh", "-c", "echo $#", "sh"};
    command.resize(command.size() + count, "word");
    CHECK(run_in(std::filesystem::temp_directory_path(), command).text == std::to_string(count) + "\n");
  }
}

TEST_CASE("a program is waited for, and all that it says is read, while signals interrupt both") {
  // The first pause is before anything is read, the second behind the end of what is read.
  const std::string script = "sleep 0.1; echo begun; exec >&-; sleep 0.1; exit 3";
  const Interruptions often;
  const ProgramOutput output = run_in(std::filesystem::temp_directory_path(), {"sh", "-c", script});
  CHECK(output.text == "begun\n");
  CHECK(output.exit_code == 3);
}
