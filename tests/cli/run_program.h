#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "test_paths.h"
#include "tests/contains.h"

/// Runs the built program as a user does, in a shell.
namespace hybridkv::testing {

struct ProgramRun {
  std::string output;  ///< standard output and standard error together
  int exit_code = -1;
};

/// Runs a line of shell, in which $HYBRIDKV is the program; streams that it does not lead elsewhere are the output.
inline ProgramRun run_shell(const std::string& line) {
  const std::string command = "HYBRIDKV='" HYBRIDKV_PROGRAM "'; export HYBRIDKV; exec 2>&1; " + line;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("the shell cannot be started");
  ProgramRun run;
  std::array<char, 4096> buffer;
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
    run.output.append(buffer.data(), count);
  run.exit_code = WEXITSTATUS(pclose(pipe));
  return run;
}

/// `environment`: settings for this run alone, as a shell takes them before a command.
inline ProgramRun run_program(const std::string& arguments, const std::string& environment = {}) {
  return run_shell(environment + " '" HYBRIDKV_PROGRAM "' " + arguments);
}

}  // namespace hybridkv::testing
