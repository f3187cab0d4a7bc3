#include "base/npy_file.h"

namespace hybridkv {

void write_npy(const std::filesystem::path& file, NpyType type, std::span<const std::int64_t> shape,
               std::span<const std::byte> bytes) {
  OutputFile output(file);
  write_npy(output, type, shape, bytes);
  output.finish();
}

void write_npy(OutputFile& file, NpyType type, std::span<const std::int64_t> shape, std::span<const std::byte> bytes) {
  file.append(npy_text(type, shape, bytes));
}

}  // namespace hybridkv
