#pragma once

#include <string>

#include "verify/forward/forward_path.h"

namespace hybridkv {

/// A help text with names of engines in place of these words: {today}, the one that is meant where nobody names one;
/// {family}, its first part; {command}, the words that start it; {packs}, the one that packs layers; {tree} and
/// {slots}, the first whose requests go through such an index, or that of the packs where there is none.
std::string with_engines(std::string help);

/// The names of all engines whose forward passes go that way: "sglang-0.5.23".
std::string engines_through(ForwardPath path);

}  // namespace hybridkv
