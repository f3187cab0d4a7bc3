#include "planner/sequence_bytes.h"

#include <algorithm>

#include "base/checked.h"

namespace hybridkv {

namespace {

constexpr std::int64_t magic_bytes = 8;           // ahead of what is written of a context
constexpr std::int64_t header_of_states = 20;     // counts and positions of the one row
constexpr std::int64_t headers_of_layer = 24;     // type and row size, of two tensors
constexpr std::int64_t header_of_tensor = 12;     // the same of one of K or V
constexpr std::int64_t header_of_cells = 8;       // how V lies, and how many layers there are
constexpr std::int64_t bytes_of_count = 4;

}  // namespace

std::int64_t SequenceBytes::states() const {
  return Checked(header_of_states) + Checked(headers_of_layer) * state_layers + row_bytes;
}

std::int64_t SequenceBytes::cells(const CellBytes& cache, std::int64_t length) const {
  const Checked counts = Checked(bytes_of_count) + Checked(bytes_of_count) * streams;
  if (length == 0) return counts;
  return counts + Checked(length) * position_bytes + header_of_cells + Checked(cache.tensors) * header_of_tensor +
         Checked(length) * cache.per_token;
}

std::int64_t SequenceBytes::checkpoint(std::int64_t length) const {
  Checked bytes = Checked(magic_bytes) + states();
  if (window) bytes += cells(*window, std::min(length, window_tokens));
  if (draft) bytes += Checked(magic_bytes) + cells(*draft, length);
  return bytes;
}

std::int64_t SequenceBytes::prompt(std::int64_t length) const {
  return Checked(checkpoint(length)) + cells(tokens, length);
}

}  // namespace hybridkv
