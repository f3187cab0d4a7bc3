#pragma once

#include <string>

namespace hybridkv {

/// Throws the error of a file that a system call refused: "NAME: WHAT: No such file or directory". ResourceError where
/// the machine has too little (a full disk, a quota, a limit, open files, memory, a reader that has gone), InputError
/// for what another name or permission would cure. `code` is an errno.
[[noreturn]] void throw_file_error(const std::string& name, const std::string& what, int code);

}  // namespace hybridkv
