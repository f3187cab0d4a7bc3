#pragma once

#include <cstdint>
#include <sstream>
#include <string>

#include "ask/start/startup_log.h"

namespace hybridkv::testing {

/// A start-up log of these lines, as a file of them is read.
inline StartupLog log_of_text(const std::string& text) {
  StartupLogReader reader;
  std::istringstream lines(text);
  std::int64_t number = 0;
  for (std::string line; std::getline(lines, line);) reader.add(line, ++number);
  StartupLog log = reader.finish();
  log.bytes = static_cast<std::int64_t>(text.size());
  return log;
}

}  // namespace hybridkv::testing
