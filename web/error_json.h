#pragma once

#include <exception>
#include <string>

namespace hybridkv {

/// {"error", "field", "place", "remedy"}: what is wrong; the key of the scenario that it is about, where the value
/// stands and what to do, each empty where it is not known. An error that is no answer to a user's question says so.
std::string error_json(const std::exception& error);

}  // namespace hybridkv
