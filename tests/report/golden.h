#pragma once

#include <cstdlib>
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

/// Is a file of the house the text that a program makes? HYBRIDKV_WRITE_ANSWERS=1 writes it anew.
inline bool is_generated(const std::string& path, const std::string& made) {
  const std::string file = HYBRIDKV_SOURCE_DIR "/" + path;
  if (std::getenv("HYBRIDKV_WRITE_ANSWERS") != nullptr) std::ofstream(file, std::ios::binary) << made;
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str() == made;
}

}  // namespace hybridkv::testing
