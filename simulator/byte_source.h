#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace hybridkv {

/// The decompressed bytes of a file, front to back.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Up to `capacity` further bytes; 0 only at the end. Throws InputError where the file is damaged.
  virtual std::size_t read(char* into, std::size_t capacity) = 0;
  /// How much of the file's own bytes has been consumed, 0 .. 1.
  virtual double fraction() const = 0;
};

/// Opens a plain, gzip or zstd file; its first bytes say which. Zstd is read through the program `zstd`.
/// Throws InputError where the file cannot be read, ProgramError where zstd is needed and missing.
std::unique_ptr<ByteSource> open_bytes(const std::string& path);

}  // namespace hybridkv
