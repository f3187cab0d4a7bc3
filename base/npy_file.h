#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/npy.h"
#include "base/output_file.h"

namespace hybridkv {

/// Writes what npy_text says. Throws as OutputFile. Pre: as npy_text.
void write_npy(OutputFile& file, NpyType type, std::span<const std::int64_t> shape, std::span<const std::byte> bytes);
void write_npy(const std::filesystem::path& file, NpyType type, std::span<const std::int64_t> shape,
               std::span<const std::byte> bytes);

template <class T>
void write_npy(const std::filesystem::path& file, std::span<const std::int64_t> shape, std::span<const T> values) {
  write_npy(file, npy_type_of<T>, shape, std::as_bytes(values));
}
template <class T>
void write_npy(OutputFile& file, std::span<const std::int64_t> shape, std::span<const T> values) {
  write_npy(file, npy_type_of<T>, shape, std::as_bytes(values));
}

}  // namespace hybridkv
