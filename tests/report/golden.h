#pragma once

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include "test_paths.h"

namespace hybridkv::testing {

/// A file of tests/data/report/, whole.
inline std::string report_data(const std::string& name) {
  std::ifstream file(std::string(HYBRIDKV_TEST_DATA "/report/") + name, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read tests/data/report/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace hybridkv::testing
