#include "base/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <vector>

#include "base/bytes_text.h"
#include "base/error.h"

namespace hybridkv {

namespace {

[[noreturn]] void no_room(const std::string& name, const std::string& folder) {
  throw ResourceError(
      fmt::format("{} can be read but once and is kept in {}: {}; set TMPDIR to another folder, or save "
                  "it as a file and name that",
                  name, folder, std::strerror(errno)));
}

/// A file that has no name any more: it is gone with its last descriptor, whatever ends the program.
Descriptor nameless_file(const std::string& name, const std::string& folder) {
  std::string path = folder + "/hybridkv-XXXXXX";
  Descriptor file(::mkostemp(path.data(), O_CLOEXEC));
  if (!file.is_open()) no_room(name, folder);
  ::unlink(path.c_str());
  return file;
}

void write_all(const Descriptor& to, const char* bytes, std::size_t count, const std::string& name,
               const std::string& folder) {
  while (count > 0) {
    const ::ssize_t written = ::write(to.get(), bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) no_room(name, folder);
    bytes += written;
    count -= static_cast<std::size_t>(written);
  }
}

/// Reads the stream to its end. A device like /dev/zero has none.
Descriptor copy_of(const Descriptor& stream, const std::string& name, std::int64_t most_bytes) {
  std::error_code error;
  std::string folder = std::filesystem::temp_directory_path(error).string();
  if (folder.empty()) folder = "/tmp";
  Descriptor copy = nameless_file(name, folder);
  std::vector<char> piece(std::size_t{1} << 18);
  std::int64_t bytes = 0;
  while (const std::size_t count = read_some(stream, piece.data(), piece.size(), name)) {
    bytes += static_cast<std::int64_t>(count);
    if (bytes > most_bytes)
      throw InputError(fmt::format("{} delivers more than {}, too much to keep; save it as a file and name that", name,
                                   bytes_text(most_bytes)));
    write_all(copy, piece.data(), count, name, folder);
  }
  return copy;
}

/// The streams read so far, by path.
class KeptStreams {
 public:
  /// A descriptor of the copy with a position of its own, at the start; none where the stream is not known yet.
  Descriptor open(const std::string& path) const {
    const auto found = copies_.find(path);
    if (found == copies_.end()) return Descriptor();
    Descriptor again(::open(fmt::format("/proc/self/fd/{}", found->second.get()).c_str(), O_RDONLY | O_CLOEXEC));
    if (!again.is_open())
      throw ResourceError(fmt::format("the copy of {} cannot be opened again: {}; save it as a file and name that",
                                      input_name(path), std::strerror(errno)));
    return again;
  }
  void keep(const std::string& path, Descriptor copy) { copies_.emplace(path, std::move(copy)); }

 private:
  std::map<std::string, Descriptor> copies_;
};

}  // namespace

void fail_to_read(const std::string& name, const std::string& what) {
  throw InputError(fmt::format("cannot read {}: {}", name, what));
}

std::string input_name(const std::string& path) { return path == standard_input ? "standard input" : path; }

void claim_stream(const std::string& path, const std::string& what) {
  static std::mutex mutex;
  static std::map<std::string, std::string> claims;
  const std::lock_guard lock(mutex);
  const std::string& first = claims.emplace(path, what).first->second;
  if (first != what)
    throw InputError(fmt::format("{} is given both as {} and as {}, and can be read once; give one of them as a file",
                                 input_name(path), first, what));
}

std::size_t read_some(const Descriptor& from, char* into, std::size_t capacity, const std::string& name) {
  for (;;) {
    const ::ssize_t count = ::read(from.get(), into, capacity);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) fail_to_read(name, std::strerror(errno));
  }
}

Descriptor open_input(const std::string& path) {
  static std::mutex mutex;
  static KeptStreams streams;
  const std::lock_guard lock(mutex);
  // A pipe that was read to its end must not be opened again: that would wait for another writer.
  if (Descriptor known = streams.open(path); known.is_open()) return known;
  const std::string name = input_name(path);
  struct ::stat status {};
  const bool regular = path != standard_input && ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  if (!regular) claim_stream(path, "the trace");
  Descriptor file(path == standard_input ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                         : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) fail_to_read(name, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) fail_to_read(name, "it is a directory");
  if (S_ISREG(status.st_mode) && path != standard_input) return file;
  streams.keep(path, copy_of(file, name, S_ISCHR(status.st_mode) ? most_device_bytes : most_stream_bytes));
  return streams.open(path);
}

}  // namespace hybridkv
