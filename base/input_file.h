#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/descriptor.h"

namespace hybridkv {

/// The path that stands for standard input.
inline constexpr const char* standard_input = "-";

/// How messages call an input: its path, "standard input" for "-".
std::string input_name(const std::string& path);

/// An input, opened to be read from its start.
///
/// A regular file is opened as it is. A stream (standard input, a pipe, a device) can be read but once, whereas several
/// simulations want it: the first call reads it to its end into a temporary file without a name, and every call gives a
/// descriptor of that copy; the stream is taken for one and the same as long as the program runs. Calls may come from
/// several threads.
///
/// Throws InputError where it cannot be read, is a directory, or is a stream of more than most_stream_bytes
/// (a device: most_device_bytes); ResourceError where the copy finds no room.
Descriptor open_input(const std::string& path);

/// Says that a stream is about to be read to its end as `what` ("the trace"); a stream of that path that was read as
/// something else is empty by now, and a pipe would wait for ever. open_input reads streams as the trace.
/// Throws InputError that names both. Calls may come from several threads.
void claim_stream(const std::string& path, const std::string& what);

inline constexpr std::int64_t most_stream_bytes = std::int64_t{4} << 30;
inline constexpr std::int64_t most_device_bytes = std::int64_t{64} << 20;

/// Up to `capacity` further bytes of a descriptor; 0 only at the end. `name` is for the InputError where it cannot be
/// read.
std::size_t read_some(const Descriptor& from, char* into, std::size_t capacity, const std::string& name);

/// Throws InputError: "cannot read NAME: WHAT".
[[noreturn]] void fail_to_read(const std::string& name, const std::string& what);

}  // namespace hybridkv
