#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>
#include "test_paths.h"

/// Runs the built program as a user does, in a shell.
namespace hybridkv::testing {

struct ProgramRun {
  std::string output;  ///< standard output and standard error together
  int exit_code = -1;
};

/// `environment`: settings for this run alone, as a shell takes them before a command.
inline ProgramRun run_program(const std::string& arguments, const std::string& environment = {}) {
  const std::string command = environment + " '" HYBRIDKV_PROGRAM "' " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("the shell cannot be started");
  ProgramRun run;
  std::array<char, 4096> buffer;
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
    run.output.append(buffer.data(), count);
  run.exit_code = WEXITSTATUS(pclose(pipe));
  return run;
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace hybridkv::testing
