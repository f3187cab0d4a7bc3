#include "base/output_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/file_error.h"
#include "base/unfinished.h"

namespace hybridkv {

namespace fs = std::filesystem;

OutputFolder::OutputFolder(const fs::path& path) {
  if (path.empty()) throw InputError("the name of the output folder is empty");
  try {
    make(path);
    const Unfinished probe = Unfinished::file_beside(path / "file");
  } catch (...) {
    remove_empty();
    throw;
  }
}

OutputFolder::~OutputFolder() { remove_empty(); }

void OutputFolder::make(const fs::path& path) {
  int code = 0;
  fs::path part;
  for (const fs::path& name : path) {
    part /= name;
    if (::mkdir(part.c_str(), 0777) == 0)
      made_.push_back(part);
    else
      code = errno;
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) throw_file_error(path.string(), "is no folder and cannot be made one", code);
  if (!S_ISDIR(info.st_mode)) throw_file_error(path.string(), "is no folder and cannot be made one", EEXIST);
}

void OutputFolder::remove_empty() noexcept {
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) ::rmdir(folder->c_str());  // refuses a full one
}

}  // namespace hybridkv
