#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unfinished.h"

namespace hybridkv {

/// The one way in which hybridkv writes a file for its user.
///
/// A file appears as a whole or not at all: bytes go under another name beside it first, and a failure, a full disk or
/// a kill leaves what was there. Only a regular file is replaced, keeping its permissions; of a link that is the file
/// it leads to. A device, a terminal or a pipe is written to as bytes come, so is what /dev/stdout or /dev/fd/N lead
/// to. Folders, block devices and sockets are refused.
class OutputFile {
 public:
  /// Throws InputError where this name cannot be written to: no such folder, a folder, links in a circle, a name too
  /// long, no permission. Throws ResourceError where the machine has too little.
  explicit OutputFile(const std::filesystem::path& path);
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Throws ResourceError where the disk is full.
  void append(std::string_view bytes);
  /// Brings all bytes to the disk, still without the name. For several files that belong together: complete all, then
  /// finish all. Throws as append.
  void complete();
  /// Completes the file and gives it its name; nothing can be appended any more. Throws as append.
  void finish();

 private:
  void write_out();
  int descriptor() const;

  std::filesystem::path path_;               // as the user named it
  std::filesystem::path target_;             // the file that gets replaced
  std::optional<Unfinished> unfinished_;     // nothing: the bytes go to `direct_`
  int direct_ = -1;                          // a device or pipe
  std::string buffer_;
};

/// Writes a file by OutputFile. Throws as it.
void write_file(const std::filesystem::path& path, std::string_view content);

/// Writes all bytes to an open file. Throws as throw_file_error, naming `name`.
void write_all(int descriptor, std::string_view bytes, const std::string& name);

/// What a command may do to a file that exists.
enum class Overwrite {
  no,      ///< only an empty one is replaced
  forced,  ///< --force: the user said so, or who calls has seen that it is what this command writes
};

/// What the files of a command may replace.
struct Replaces {
  Overwrite overwrite = Overwrite::no;
  std::vector<std::string> inputs;  ///< of the command
};

/// The rule by which files are replaced, asked before the work. Throws InputError where `output` is one of the inputs
/// of the same command, under whatever name or link, forced or not; and unless forced where it is a file with anything
/// in it. Inputs that are no files ("", a shipped scenario, a device) are none.
void refuse_overwriting(const std::filesystem::path& output, const Replaces& replaces);

/// Refuses to write to a folder, a block device or a socket. Throws InputError naming `path`. `mode` as stat gives it.
void refuse_unwritable_kind(const std::filesystem::path& path, ::mode_t mode);

}  // namespace hybridkv
