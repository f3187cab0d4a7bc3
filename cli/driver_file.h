#pragma once

#include <filesystem>
#include <string_view>

namespace hybridkv {

/// The driver of an engine, a path below engines/: of the installation that the running program belongs to, else of the
/// source tree that it was built in. Throws InputError where neither has it.
std::filesystem::path driver_file(std::string_view driver);

}  // namespace hybridkv
