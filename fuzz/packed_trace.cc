// A compressed trace. The first byte says what follows: bytes of a gzip file, bytes of a zstd file, or text that is
// compressed here, must then read as the plain text does, and is cut off where the second byte says.
#include <zlib.h>

#include <cstring>

#include "fuzz/harness.h"
#include "fuzz/trace_checks.h"

using namespace hybridkv;

namespace {

std::string gzip(std::string_view text) {
  ::z_stream stream{};
  if (::deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) fuzz::finding("no deflate");
  std::string packed(::deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  if (::deflate(&stream, Z_FINISH) != Z_STREAM_END) fuzz::finding("deflate does not end");
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  return packed;
}

void check_packed_text(const fuzz::MemoryFile& file, std::uint8_t cut, std::string_view text) {
  const TraceFileSpec spec{.path = file.path(), .skip_bad_lines = true};
  std::string packed = gzip(text);
  file.write(text);
  const auto plain = fuzz::read_trace(spec);
  file.write(packed);
  fuzz::require(fuzz::read_trace(spec) == plain, "a compressed trace reads otherwise than the plain one");
  if (cut == 0 || cut >= packed.size()) return;
  packed.resize(packed.size() - cut);
  file.write(packed);
  fuzz::read_trace(spec);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  static const fuzz::MemoryFile file;
  const std::uint8_t choice = input.byte();
  if (choice % 4 == 0) {
    const std::uint8_t cut = input.byte();
    // A text that begins like a compressed file is one to the reader.
    if (input.rest().starts_with("\x1f\x8b") || input.rest().starts_with("\x28\xb5\x2f\xfd")) return 0;
    check_packed_text(file, cut, input.rest());
    return 0;
  }
  // zstd is a program of its own: one input in 256 starts it.
  const char* magic = choice == 255 ? "\x28\xb5\x2f\xfd" : "\x1f\x8b\x08";
  file.write(magic + std::string(input.rest()));
  fuzz::read_trace({.path = file.path(), .skip_bad_lines = true});
  return 0;
}
