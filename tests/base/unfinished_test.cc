// What is unfinished is gone when a signal ends the program.
#include "base/unfinished.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <set>

#include "base/error.h"
#include "tests/scratch_folder.h"

using namespace hybridkv;
using testing::ScratchFolder;
namespace fs = std::filesystem;

TEST_CASE("edge: a signal removes files and folders that are unfinished, and ends the program as a signal") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    CAPTURE(signal);
    const ScratchFolder folder;
    folder.file("mine", "text");
    const ::pid_t child = ::fork();
    if (child == 0) {
      std::signal(signal, SIG_DFL);
      clean_up_on_signals();
      const Unfinished file = Unfinished::file_beside(folder.path / "rows");
      const Unfinished made = Unfinished::folder_beside(folder.path / "export");
      fs::create_directories(made.path() / "layer_3" / "deeper");
      for (int i = 0; i < 300; ++i)
        std::ofstream(made.path() / "layer_3" / ("a file of a rather long name " + std::to_string(i))) << "x";
      std::ofstream(made.path() / "layer_3" / "deeper" / "q.npy") << "x";
      fs::create_symlink(folder.path, made.path() / "link");
      if (folder.names().size() != 3) ::_exit(1);
      ::raise(signal);
      ::_exit(2);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == signal);
    CHECK(folder.names() == std::set<std::string>{"mine"});  // not what the link leads to
  }
}

TEST_CASE("edge: an ignored signal stays ignored") {
  const ::pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGHUP, SIG_IGN);
    clean_up_on_signals();
    ::raise(SIGHUP);
    ::_exit(7);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("edge: a folder takes a name that nothing has, and no other") {
  const ScratchFolder folder;
  fs::create_directory(folder.path / "there");
  {
    Unfinished made = Unfinished::folder_beside(folder.path / "there");
    CHECK_THROWS_WITH_AS(made.take_name(folder.path / "there"), doctest::Contains("there: cannot be written"),
                         InputError);
    made.take_name(folder.path / "new");
  }
  CHECK(folder.names() == std::set<std::string>{"there", "new"});
}
