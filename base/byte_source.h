#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace hybridkv {

/// The bytes of a file, front to back.
class ByteSource {
 public:
  /// `name`: how messages call the file.
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;
  const std::string& name() const { return name_; }
  /// Up to `capacity` further bytes; 0 only at the end. Throws InputError where the file is damaged.
  virtual std::size_t read(char* into, std::size_t capacity) = 0;
  /// How much of the file's own bytes has been consumed, 0 .. 1.
  virtual double fraction() const = 0;

 private:
  std::string name_;
};

/// Opens a plain, gzip or zstd file to be read decompressed; its first bytes say which. Zstd is read through the
/// program `zstd`. "-" is standard input; streams are read once and kept (see open_input).
/// Throws InputError where the file cannot be read, ProgramError where zstd is needed and missing, ResourceError where
/// memory or disk do not suffice.
std::unique_ptr<ByteSource> open_bytes(const std::string& path);

/// The same bytes as the file has them, not decompressed.
std::unique_ptr<ByteSource> open_raw_bytes(const std::string& path);

/// All of a small file, as open_bytes reads it. Throws as that, and InputError for more than `most` bytes, so that it
/// is no `what`: "clock".
std::string whole_text(const std::string& path, std::size_t most, std::string_view what);

}  // namespace hybridkv
