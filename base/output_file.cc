#include "base/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/file_error.h"

namespace hybridkv {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t buffer_bytes = std::size_t{1} << 16;

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

/// Links there lead to open files, not to names.
bool is_in_proc(const fs::path& path) {
  struct statfs info {};
  return ::statfs(folder_of(path).c_str(), &info) == 0 && info.f_type == PROC_SUPER_MAGIC;
}

/// What the links of a name lead to, step by step; it need not exist.
struct Target {
  fs::path path;
  bool is_open_file = false;  ///< of some process: /dev/stdout, /dev/fd/3
};

Target target_of(const fs::path& path) {
  constexpr int most_links = 40;  // as the kernel
  fs::path at = path;
  for (int link = 0; link < most_links; ++link) {
    struct stat info {};
    if (::lstat(at.c_str(), &info) != 0) {
      if (errno == ENOENT) return {at};
      throw_file_error(path.string(), "cannot be written", errno);
    }
    if (!S_ISLNK(info.st_mode)) return {at};
    if (is_in_proc(at)) return {at, true};
    std::error_code error;
    const fs::path next = fs::read_symlink(at, error);
    if (error) throw_file_error(path.string(), "cannot be written", error.value());
    at = at.parent_path() / next;
  }
  throw_file_error(path.string(), "cannot be written", ELOOP);
}

void check_name(const fs::path& path) {
  if (!path.has_filename() || path.filename() == "." || path.filename() == "..")
    throw InputError(fmt::format("{}: names a folder; a file is expected", path.string()));
  std::error_code error;
  if (const fs::path folder = folder_of(path); !fs::exists(folder, error) && (!error || error.value() == ENOENT))
    throw InputError(fmt::format("{}: cannot be written: there is no folder {}", path.string(), folder.string()));
}

}  // namespace

void write_all(int descriptor, std::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ::ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_file_error(name, "cannot be written", errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void refuse_unwritable_kind(const fs::path& path, ::mode_t mode) {
  const char* const kind = S_ISDIR(mode)    ? "a folder"
                           : S_ISBLK(mode)  ? "a block device"
                           : S_ISSOCK(mode) ? "a socket"
                                            : nullptr;
  if (kind) throw InputError(fmt::format("{}: is {}; name a file to write", path.string(), kind));
}

void refuse_overwriting(const fs::path& output, const Replaces& replaces) {
  struct stat to {}, from {};
  if (::stat(output.c_str(), &to) != 0 || !S_ISREG(to.st_mode)) return;
  for (const std::string& input : replaces.inputs)
    if (::stat(input.c_str(), &from) == 0 && from.st_dev == to.st_dev && from.st_ino == to.st_ino)
      throw InputError(fmt::format("{}: is the input {}, which would be overwritten; name another file to write",
                                   output.string(), input));
  if (replaces.overwrite == Overwrite::no && to.st_size > 0)
    throw InputError(fmt::format("{}: exists already; take another name, or --force to replace it", output.string()));
}

OutputFile::OutputFile(const fs::path& path) : path_(path) {
  const Target target = target_of(path);
  target_ = target.path;
  struct stat info {};
  const bool exists = ::stat(target_.c_str(), &info) == 0;
  if (!exists && errno != ENOENT) throw_file_error(path.string(), "cannot be written", errno);
  if (!exists) {
    check_name(target_);
    unfinished_.emplace(Unfinished::file_beside(target_));
    return;
  }
  refuse_unwritable_kind(path, info.st_mode);
  if (!S_ISREG(info.st_mode) || target.is_open_file) {
    direct_ = ::open(target_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
    if (direct_ < 0) throw_file_error(path.string(), "cannot be written", errno);
    return;
  }
  // Replacing it would need no permission of its own.
  if (::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0)
    throw_file_error(path.string(), "cannot be written", errno);
  unfinished_.emplace(Unfinished::file_beside(target_));
  // Only root may give files away; who may not writes a file of its own.
  if (::fchown(unfinished_->descriptor(), info.st_uid, info.st_gid) != 0) errno = 0;
  ::fchmod(unfinished_->descriptor(), info.st_mode & 07777);
}

OutputFile::~OutputFile() {
  if (direct_ >= 0) ::close(direct_);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      unfinished_(std::move(other.unfinished_)),
      direct_(std::exchange(other.direct_, -1)),
      buffer_(std::move(other.buffer_)) {}

void OutputFile::append(std::string_view bytes) {
  if (bytes.size() < buffer_bytes) {
    buffer_ += bytes;
    if (buffer_.size() >= buffer_bytes) write_out();
    return;
  }
  write_out();
  write_all(descriptor(), bytes, path_.string());
}

int OutputFile::descriptor() const { return unfinished_ ? unfinished_->descriptor() : direct_; }

void OutputFile::write_out() {
  write_all(descriptor(), buffer_, path_.string());
  buffer_.clear();
}

void OutputFile::complete() {
  write_out();
  // Some file systems find out about a full disk only now.
  if (unfinished_ && ::fsync(unfinished_->descriptor()) != 0)
    throw_file_error(path_.string(), "cannot be written", errno);
}

void OutputFile::finish() {
  complete();
  if (unfinished_) unfinished_->replace(target_);
}

void write_file(const fs::path& path, std::string_view content) {
  OutputFile file(path);
  file.append(content);
  file.finish();
}

}  // namespace hybridkv
