#pragma once

#include <filesystem>
#include <vector>

namespace hybridkv {

/// A folder for results, made where it is missing. Made before the work, so that a folder which cannot be written to is
/// found out first; what was made and stayed empty is taken away again, so that a failure leaves nothing.
class OutputFolder {
 public:
  /// Throws InputError where there is no folder of that name and none can be made, or no file can be made in it;
  /// ResourceError where the machine has too little.
  explicit OutputFolder(const std::filesystem::path& path);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

 private:
  void make(const std::filesystem::path& path);
  void remove_empty() noexcept;

  std::vector<std::filesystem::path> made_;  // outermost first
};

}  // namespace hybridkv
