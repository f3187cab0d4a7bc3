#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

namespace hybridkv {

/// A file or folder of a name of its own, in which something is made that shall be there as a whole or not at all.
/// Nobody else's file is ever opened or removed: the name did not exist before.
/// Removed at the end unless it got its final name, also where a signal ends the program (clean_up_on_signals).
class Unfinished {
 public:
  /// Makes an empty file beside `final_name`, open for writing.
  /// Throws as throw_file_error, naming `final_name`.
  static Unfinished file_beside(const std::filesystem::path& final_name);
  /// Makes an empty folder beside `final_name`.
  static Unfinished folder_beside(const std::filesystem::path& final_name);
  Unfinished(Unfinished&& other) noexcept;
  Unfinished& operator=(Unfinished&&) = delete;
  ~Unfinished();

  const std::filesystem::path& path() const { return path_; }
  /// Of a file: open for writing. Of a folder: -1.
  int descriptor() const { return descriptor_; }

  /// Gives it its final name, in place of a file that has it. Throws as throw_file_error.
  void replace(const std::filesystem::path& final_name);
  /// Gives it its final name, which nothing may have yet. Throws as throw_file_error.
  void take_name(const std::filesystem::path& final_name);

 private:
  /// A name that is in the list before there is anything of it, so that no signal comes between.
  explicit Unfinished(std::filesystem::path path);
  void close();
  void forget();

  std::filesystem::path path_;  // empty: nothing is left to remove
  int descriptor_ = -1;
  std::atomic<const char*>* entry_ = nullptr;  // in the list of what signals remove
  std::unique_ptr<const std::string> name_;    // what the entry points to
};

/// From now on SIGINT, SIGTERM and SIGHUP remove what is unfinished before they end the program; a signal that is
/// ignored (nohup) stays ignored.
void clean_up_on_signals();

}  // namespace hybridkv
