#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "test_paths.h"

namespace hybridkv::testing {

/// What the built program writes to a terminal, standard output and standard error together.
/// `environment`: settings for this run alone, as a shell takes them before a command.
inline std::string run_on_terminal(const std::string& arguments, const std::string& environment) {
  const std::string command = environment + " exec '" HYBRIDKV_PROGRAM "' " + arguments;
  const int controller = posix_openpt(O_RDWR | O_NOCTTY);
  if (controller < 0 || grantpt(controller) != 0 || unlockpt(controller) != 0)
    throw std::runtime_error("there are no pseudo terminals here");
  std::array<char, 256> name{};
  if (ptsname_r(controller, name.data(), name.size()) != 0) throw std::runtime_error("the terminal has no name");
  const int terminal = open(name.data(), O_RDWR | O_NOCTTY);
  const pid_t child = fork();
  if (child == 0) {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(terminal, stream);
    close(controller);
    execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(terminal);
  std::string output;
  std::array<char, 4096> buffer;
  // The terminal ends with an error where nobody has it open any more.
  for (ssize_t count = 0; (count = read(controller, buffer.data(), buffer.size())) > 0;)
    output.append(buffer.data(), static_cast<std::size_t>(count));
  close(controller);
  int status = 0;
  waitpid(child, &status, 0);
  return output;
}

}  // namespace hybridkv::testing
