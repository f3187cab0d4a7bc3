// A .npy file; what is read is written again and must read as the same array.
#include "base/npy_file.h"
#include "fuzz/harness.h"

using namespace hybridkv;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::MemoryFile file;
  file.write(fuzz::Input(data, size).rest());
  NpyArray array;
  if (!fuzz::accepts([&] { array = read_npy(file.path()); })) return 0;
  fuzz::accepts([&] {
    write_npy(file.path(), array.type, array.shape, array.bytes);
    const NpyArray again = read_npy(file.path());
    fuzz::require(again.type == array.type && again.shape == array.shape && again.bytes == array.bytes,
                  "an array that was written reads back as another one");
  });
  fuzz::accepts([&] { array.integers(); });
  fuzz::accepts([&] { array.check_shape({-1, 2}); });
  return 0;
}
