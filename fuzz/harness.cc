#include "fuzz/harness.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>

namespace hybridkv::fuzz {

void finding(const std::string& what) {
  fmt::print(stderr, "finding: {}\n", what);
  std::abort();
}

void refused(const Error& error) { require(error.what()[0] != '\0', "a refusal without a message"); }

std::uint8_t Input::byte() {
  if (rest_.empty()) return 0;
  const auto value = static_cast<std::uint8_t>(rest_.front());
  rest_.remove_prefix(1);
  return value;
}

std::string_view Input::text(std::size_t length) {
  const std::string_view taken = rest_.substr(0, length);
  rest_.remove_prefix(taken.size());
  return taken;
}

std::size_t choice_of(std::string_view input) { return std::hash<std::string_view>()(input); }

std::vector<std::string> lines(std::string_view text) {
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    all.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

MemoryFile::MemoryFile() : file_(::memfd_create("hybridkv-fuzz", MFD_CLOEXEC)) {
  if (file_ < 0) finding("no file in memory can be made");
  path_ = fmt::format("/proc/self/fd/{}", file_);
}

MemoryFile::~MemoryFile() { ::close(file_); }

void MemoryFile::write(std::string_view content) const {
  const auto size = static_cast<::ssize_t>(content.size());
  if (::ftruncate(file_, 0) != 0 || ::pwrite(file_, content.data(), content.size(), 0) != size)
    finding("the file in memory cannot be written");
}

std::string MemoryFile::read() const {
  struct ::stat status {};
  if (::fstat(file_, &status) != 0) finding("the file in memory is gone");
  std::string content(static_cast<std::size_t>(status.st_size), '\0');
  const auto count = ::pread(file_, content.data(), content.size(), 0);
  content.resize(static_cast<std::size_t>(std::max<::ssize_t>(count, 0)));
  return content;
}

}  // namespace hybridkv::fuzz
