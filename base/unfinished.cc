#include "base/unfinished.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>

#include "base/file_error.h"

namespace hybridkv {

namespace {

namespace fs = std::filesystem;

// What a signal has to remove. More than these are never made at a time; one that finds no entry is left behind.
std::array<std::atomic<const char*>, 64> unfinished_names;

std::atomic<const char*>* entry_for(const char* name) {
  for (auto& entry : unfinished_names) {
    const char* free = nullptr;
    if (entry.compare_exchange_strong(free, name)) return &entry;
  }
  return nullptr;
}

/// A name that nobody has: short, so that it fits wherever the final one fits.
fs::path name_beside(const fs::path& final_name) {
  std::random_device random;
  return final_name.parent_path() / fmt::format(".hybridkv-{:08x}{:08x}.part", random(), random());
}

/// A folder's entry as the kernel lists it.
struct KernelEntry {
  std::uint64_t inode;
  std::int64_t next;
  std::uint16_t bytes;
  std::uint8_t type;
  char name[1];
};

/// Removes a file, or a folder with what is in it; only with calls that a signal handler may make.
void remove_in_handler(int parent, const char* name) {
  if (::unlinkat(parent, name, 0) == 0 || errno != EISDIR) return;
  const int folder = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  alignas(KernelEntry) char entries[4096];
  for (long count; (count = ::syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;)
    for (long at = 0; at < count;) {
      const char* const entry = entries + at;
      std::uint16_t bytes = 0;
      std::memcpy(&bytes, entry + offsetof(KernelEntry, bytes), sizeof bytes);
      const char* const child = entry + offsetof(KernelEntry, name);
      if (std::strcmp(child, ".") != 0 && std::strcmp(child, "..") != 0) remove_in_handler(folder, child);
      at += bytes;
    }
  ::close(folder);
  ::unlinkat(parent, name, AT_REMOVEDIR);
}

extern "C" void remove_unfinished_and_end(int signal) {
  for (auto& entry : unfinished_names)
    if (const char* const name = entry.load()) remove_in_handler(AT_FDCWD, name);
  ::raise(signal);  // as the signal would have ended the program: SA_RESETHAND
}

}  // namespace

Unfinished::Unfinished(fs::path path)
    : path_(std::move(path)), name_(std::make_unique<const std::string>(path_.string())) {
  entry_ = entry_for(name_->c_str());
}

Unfinished::Unfinished(Unfinished&& other) noexcept
    : path_(std::exchange(other.path_, fs::path())),
      descriptor_(std::exchange(other.descriptor_, -1)),
      entry_(std::exchange(other.entry_, nullptr)),
      name_(std::move(other.name_)) {}

Unfinished::~Unfinished() {
  close();
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  forget();
}

Unfinished Unfinished::file_beside(const fs::path& final_name) {
  for (;;) {
    Unfinished file(name_beside(final_name));
    file.descriptor_ = ::open(file.path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.descriptor_ >= 0) return file;
    file.path_.clear();  // of somebody else, if it is there
    if (errno != EEXIST && errno != EINTR) throw_file_error(final_name.string(), "cannot be written", errno);
  }
}

Unfinished Unfinished::folder_beside(const fs::path& final_name) {
  for (;;) {
    Unfinished folder(name_beside(final_name));
    if (::mkdir(folder.path_.c_str(), 0777) == 0) return folder;
    folder.path_.clear();
    if (errno != EEXIST) throw_file_error(final_name.string(), "cannot be written", errno);
  }
}

void Unfinished::replace(const fs::path& final_name) {
  close();
  if (std::rename(path_.c_str(), final_name.c_str()) != 0)
    throw_file_error(final_name.string(), "cannot be written", errno);
  path_.clear();
  forget();
}

void Unfinished::take_name(const fs::path& final_name) {
  close();
  const char* const from = path_.c_str();
  int failed = ::renameat2(AT_FDCWD, from, AT_FDCWD, final_name.c_str(), RENAME_NOREPLACE);
  // A file system that cannot refuse: rename() itself replaces no folder but an empty one.
  if (failed != 0 && errno == EINVAL) failed = std::rename(from, final_name.c_str());
  if (failed != 0) throw_file_error(final_name.string(), "cannot be written", errno);
  path_.clear();
  forget();
}

void Unfinished::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

void Unfinished::forget() {
  if (entry_ != nullptr) entry_->store(nullptr);
  entry_ = nullptr;
}

void clean_up_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = remove_unfinished_and_end;
    action.sa_flags = SA_RESETHAND | SA_NODEFER;
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace hybridkv
