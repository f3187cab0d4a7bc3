#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ask/verdict.h"
#include "base/error.h"
#include "base/suggest.h"

namespace hybridkv {

/// The error about a name that is none of those known to an argument.
inline InputError unknown_name(const char* argument, const std::string& name, const char* what,
                               const std::vector<std::string>& known) {
  const std::string problem = fmt::format("'{}' is no {}; allowed: {}{}", name, what, fmt::join(known, ", "),
                                          did_you_mean(name, known));
  return InputError(fmt::format("{}: {}", argument, problem), argument, problem);
}

/// "all" and the names of faults. `infos`: name and fault of each there is.
template <class Infos>
std::vector<std::string> fault_names(const Infos& infos) {
  std::vector<std::string> known{"all"};
  for (const auto& info : infos) known.emplace_back(info.name);
  return known;
}

/// The faults of these names; "all" stands for every one. Without any name nothing is planted, once.
template <class Fault, class Infos>
std::vector<std::optional<Fault>> faults_of(const std::vector<std::string>& names, const Infos& infos) {
  std::vector<std::optional<Fault>> faults;
  for (const std::string& name : names) {
    const std::size_t before = faults.size();
    for (const auto& info : infos)
      if (name == "all" || name == info.name) faults.emplace_back(info.fault);
    if (faults.size() == before) throw unknown_name("inject", name, "fault", fault_names(infos));
  }
  if (faults.empty()) faults.emplace_back();
  return faults;
}

inline Planted planted_of(const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), "all") != names.end() ? Planted::catalogue : Planted::no_or_single;
}

}  // namespace hybridkv
