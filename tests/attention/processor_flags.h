#pragma once

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace hybridkv::test {

/// What instructions the processor has, as the system lists them; all of its cores have the same. The system leaves out
/// what it does not keep the registers of. Empty where it lists none.
inline std::set<std::string> processor_flags() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpuinfo, line) && !line.starts_with("flags")) continue;
  std::set<std::string> flags;
  if (!cpuinfo) return flags;
  std::istringstream words(line);
  for (std::string word; words >> word;) flags.insert(word);
  return flags;
}

}  // namespace hybridkv::test
