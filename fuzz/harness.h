#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace hybridkv::fuzz {

/// Stops the run with this input kept: something happened that no input may cause.
[[noreturn]] void finding(const std::string& what);

/// A property of everything that a reader accepts.
inline void require(bool holds, const char* what) {
  if (!holds) finding(what);
}

/// Notes a refusal: it has to say something.
void refused(const Error& error);

/// Runs one thing that the program does with its input; true where it was not refused. Anything but an Error leaves
/// this function and is a finding, as are reports of the sanitizers, a run of more than a minute, and more than 512
/// MiB.
template <class Work>
bool accepts(const Work& work) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    refused(error);
    return false;
  }
}

/// An input, taken to pieces from its front; what is not there counts as 0 or empty.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  std::uint8_t byte();
  std::string_view text(std::size_t length);
  std::string_view rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

/// A number that hangs on every byte of the input, for what is checked one of several ways a time.
std::size_t choice_of(std::string_view input);

/// The lines of a text, without their ends.
std::vector<std::string> lines(std::string_view text);

/// A file that is in memory alone, for readers that want a path.
class MemoryFile {
 public:
  MemoryFile();
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  /// Replaces the content.
  void write(std::string_view content) const;
  std::string read() const;
  /// Of a regular file.
  const std::string& path() const { return path_; }

 private:
  int file_ = -1;
  std::string path_;
};

}  // namespace hybridkv::fuzz
