#pragma once

namespace hybridkv {

/// What only the build knows: defined in programs alone, by hybridkv_build_info (cmake/BuildInfo.cmake).

/// "0.2.0".
const char* program_version();

/// The commit of git that the program is made of, "6f5618c0a1b2", behind it "-dirty" where files were changed since;
/// "unknown" of sources that are no checkout.
const char* program_commit();

}  // namespace hybridkv
