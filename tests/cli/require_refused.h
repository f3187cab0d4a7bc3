#pragma once

#include <doctest/doctest.h>

#include "tests/cli/run_program.h"

namespace hybridkv::testing {

/// Runs the program and checks that it ends with that exit code and says that.
inline void require_refused(const std::string& arguments, int exit_code, const std::string& message) {
  CAPTURE(arguments);
  const ProgramRun run = run_program(arguments);
  CAPTURE(run.output);
  CHECK(run.exit_code == exit_code);
  CHECK(contains(run.output, message));
}

/// Bad input or usage, exit code 2.
inline void require_refused(const std::string& arguments, const std::string& message) {
  require_refused(arguments, 2, message);
}

}  // namespace hybridkv::testing
