#include "base/file_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "base/error.h"

namespace hybridkv {

namespace {

bool is_shortage(int code) {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EIO:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EAGAIN:
    case EPIPE:
      return true;
    default:
      return false;
  }
}

}  // namespace

void throw_file_error(const std::string& name, const std::string& what, int code) {
  // Of std::error_code, as std::strerror is not made for several threads.
  std::string message = fmt::format("{}: {}: {}", name, what, std::generic_category().message(code));
  if (code == EFBIG) message += " (the limit of `ulimit -f`, or of the file system)";
  if (is_shortage(code)) throw ResourceError(message);
  throw InputError(message);
}

}  // namespace hybridkv
