#include "cli/driver_file.h"

#include <fmt/format.h>

#include <system_error>

#include "base/error.h"

namespace hybridkv {

std::filesystem::path driver_file(std::string_view driver) {
  namespace fs = std::filesystem;
  std::error_code problem;
  const fs::path program = fs::read_symlink("/proc/self/exe", problem);
  const fs::path installed = program.parent_path().parent_path() / "share" / "hybridkv" / "engines" / driver;
  if (fs::is_regular_file(installed, problem)) return installed;
  // A build stands a few folders below its source tree.
  for (fs::path folder = program.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    if (const fs::path built = folder / "engines" / driver; fs::is_regular_file(built, problem)) return built;
  throw InputError(fmt::format("engines/{} lies neither beside {} nor in a tree that it was built in; name it with "
                               "--driver FILE", driver, program.string()));
}

}  // namespace hybridkv
