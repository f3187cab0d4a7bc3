#include "base/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/input_file.h"

namespace hybridkv {

namespace {

double size_of(const Descriptor& file) {
  struct ::stat status {};
  return ::fstat(file.get(), &status) == 0 ? static_cast<double>(status.st_size) : 0;
}

double consumed(int descriptor, double size) {
  const ::off_t at = ::lseek(descriptor, 0, SEEK_CUR);
  return at < 0 || size <= 0 ? 0 : std::min(1.0, static_cast<double>(at) / size);
}

class PlainFile : public ByteSource {
 public:
  PlainFile(Descriptor file, std::string name, double size)
      : ByteSource(std::move(name)), file_(std::move(file)), size_(size) {}
  std::size_t read(char* into, std::size_t capacity) override { return read_some(file_, into, capacity, name()); }
  double fraction() const override { return consumed(file_.get(), size_); }

 private:
  Descriptor file_;
  double size_;
};

class GzipFile : public ByteSource {
 public:
  GzipFile(Descriptor file, std::string name, double size) : ByteSource(std::move(name)), size_(size) {
    file_ = ::gzdopen(file.get(), "rb");
    if (file_ == nullptr) throw ResourceError(fmt::format("not enough memory to decompress {}", this->name()));
    file.release();
    ::gzbuffer(file_, 1 << 16);
  }
  ~GzipFile() override { ::gzclose_r(file_); }
  std::size_t read(char* into, std::size_t capacity) override {
    const int count = ::gzread(file_, into, static_cast<unsigned>(std::min<std::size_t>(capacity, 1 << 20)));
    int code = Z_OK;
    const char* message = ::gzerror(file_, &code);
    // A stream that breaks off is reported as Z_BUF_ERROR together with the bytes before the break.
    if (code == Z_MEM_ERROR) throw ResourceError(fmt::format("not enough memory to decompress {}", name()));
    if (count < 0 || (count == 0 && code != Z_OK && code != Z_STREAM_END))
      fail_to_read(name(),
                   fmt::format("damaged gzip data: {}", code == Z_BUF_ERROR ? "the file ends too early" : message));
    return static_cast<std::size_t>(count);
  }
  double fraction() const override {
    return size_ <= 0 ? 0 : std::min(1.0, static_cast<double>(::gzoffset(file_)) / size_);
  }

 private:
  ::gzFile file_ = nullptr;
  double size_;
};

/// `zstd -dc` with the file as its standard input, whose position it shares with us.
class ZstdProgram : public ByteSource {
 public:
  ZstdProgram(Descriptor file, std::string name, double size)
      : ByteSource(std::move(name)), file_(std::move(file)), size_(size) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw ResourceError(fmt::format("no pipe for zstd: {}",
                                                                              std::strerror(errno)));
    output_ = Descriptor(ends[0]);
    const Descriptor input_of_pipe(ends[1]);
    ::posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, file_.get(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::string program = "zstd", options = "-dcq";
    std::array<char*, 3> arguments{program.data(), options.data(), nullptr};
    const int error = ::posix_spawnp(&process_, program.c_str(), &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
      throw ProgramError(fmt::format("{} is zstd data and the program zstd cannot be started ({}); install it, or "
                                     "decompress the file first", this->name(), std::strerror(error)));
  }
  ~ZstdProgram() override {
    output_ = Descriptor();  // zstd stops at the closed pipe if it is still writing
    if (process_ > 0) wait();
  }
  std::size_t read(char* into, std::size_t capacity) override {
    const std::size_t count = read_some(output_, into, capacity, name());
    if (count == 0 && process_ > 0 && wait() != 0)
      fail_to_read(name(), "damaged zstd data, see the message of zstd above");
    return count;
  }
  double fraction() const override { return consumed(file_.get(), size_); }

 private:
  int wait() {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = 0;
    return status;
  }

  Descriptor file_;
  double size_;
  Descriptor output_;
  ::pid_t process_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> open_raw_bytes(const std::string& path) {
  Descriptor file = open_input(path);
  const double size = size_of(file);
  return std::make_unique<PlainFile>(std::move(file), input_name(path), size);
}

std::unique_ptr<ByteSource> open_bytes(const std::string& path) {
  Descriptor file = open_input(path);
  std::string name = input_name(path);
  const double size = size_of(file);
  std::array<char, 4> magic{};
  const std::size_t known = read_some(file, magic.data(), magic.size(), name);
  ::lseek(file.get(), 0, SEEK_SET);
  const std::string_view start(magic.data(), known);
  if (start.starts_with("\x1f\x8b")) return std::make_unique<GzipFile>(std::move(file), std::move(name), size);
  if (start == "\x28\xb5\x2f\xfd") return std::make_unique<ZstdProgram>(std::move(file), std::move(name), size);
  return std::make_unique<PlainFile>(std::move(file), std::move(name), size);
}

std::string whole_text(const std::string& path, std::size_t most, std::string_view what) {
  const std::unique_ptr<ByteSource> source = open_bytes(path);
  std::string text;
  std::vector<char> piece(std::size_t{1} << 14);
  while (const std::size_t bytes = source->read(piece.data(), piece.size())) {
    text.append(piece.data(), bytes);
    if (text.size() > most)
      throw InputError(fmt::format("{}: is larger than {} bytes, so no {}", source->name(), most, what));
  }
  return text;
}

}  // namespace hybridkv
