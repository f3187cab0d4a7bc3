#pragma once

#include <cstdint>
#include <string>

namespace hybridkv {

/// Numbers as people read them. Exact integers keep every digit; only the functions that say so round.

/// How rounded sizes show a value that is a whole number of its unit.
enum class Decimals {
  fixed,    ///< "726.0 MiB": digits line up in a column
  trimmed,  ///< "726 MiB": exact, and shown as exact in a sentence
};

/// Thousands separators: 2146304 -> "2,146,304", -1000 -> "-1,000".
std::string human_count(std::int64_t value);

/// A size in the largest binary unit of which it is at least one, rounded: "512 B", "1.5 KiB", "675.5 MiB",
/// "19.53 GiB", "1.25 TiB". Bytes are whole, KiB and MiB have one decimal, larger units two.
std::string human_bytes(std::int64_t bytes, Decimals decimals = Decimals::trimmed);

/// The exact size, with the rounded one where it helps: "512 bytes", "2,211,840 bytes (2.1 MiB)".
std::string exact_bytes(std::int64_t bytes);

/// "0.58 %". `digits` decimals, rounded.
std::string human_percent(double percent, int digits = 2);

/// A share of one as percent of one decimal: 0.318 -> "31.8 %".
std::string human_share(double share);

/// Fixed decimals with thousands separators: 1150329.5 -> "1,150,329.50"; "inf", "-inf" and "nan" as such.
std::string human_real(double value, int digits = 2);

/// A duration with three digits in the unit that fits: "37 us", "412 ms", "23.1 ms", "1.93 s", "4.2 min", "3.1 h".
std::string human_seconds(double seconds);

/// A factor, as engines print concurrency: "26.62x".
std::string human_ratio(double ratio, int digits = 2);

/// A count with its noun: "1 block", "1,334 blocks". The plural is the noun with an s.
std::string human_plural(std::int64_t count, const std::string& noun);

}  // namespace hybridkv
