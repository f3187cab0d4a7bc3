#include <cstddef>
#include <cstdint>
#include <stdexcept>

// A target with a finding in every input, which corpus_main.cc must tell.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t*, std::size_t) { throw std::runtime_error("planted"); }
