#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "planner/arrangement.h"

namespace hybridkv {

/// One tensor of one layer, whole, as both sides hold parts of it.
struct Content {
  SpecRole role = SpecRole::attention;
  std::string kind;                ///< "full_attention", "gdn", …
  std::int64_t layer = 0;          ///< of the model; of a draft in its own list
  std::string tensor;              ///< "kv", "conv", "ssm"
  DType from_dtype = DType::bf16;  ///< elements at the source
  DType to_dtype = DType::bf16;    ///< and at the destination
  std::int64_t unique_bytes = 0;   ///< of the request at the destination, each element once however many ranks hold it
  bool converts() const { return from_dtype != to_dtype; }
  bool operator==(const Content&) const = default;
};

/// One run: bytes that lie in one piece at the source and at the destination.
struct Copy {
  std::int64_t from = 0;        ///< byte of the source's pool
  std::int64_t to = 0;          ///< byte of the destination's pool
  std::int64_t bytes = 0;       ///< read at the source
  std::int64_t to_bytes = 0;    ///< written at the destination; others where elements are converted
  std::int32_t from_pool = 0;
  std::int32_t to_pool = 0;
  std::int32_t content = 0;     ///< CopyList::contents, the one it begins with; a run may go on into others
  bool operator==(const Copy&) const = default;
};

/// What runs that begin with one content hold of another, which they go on into.
struct JoinedBytes {
  std::int32_t begins_with = 0;  ///< CopyList::contents
  std::int32_t content = 0;      ///< another one
  std::int64_t bytes = 0;        ///< read at the source
  std::int64_t to_bytes = 0;     ///< written at the destination
  bool operator==(const JoinedBytes&) const = default;
};

/// What one rank reads from another: runs in the order of the destination's pools and bytes, as long as they can be.
struct RankCopies {
  std::int64_t from_rank = 0;
  std::int64_t to_rank = 0;
  std::vector<Copy> copies;
  std::vector<JoinedBytes> joined{};  ///< of all copies, at most one entry for two contents
};

/// Everything that moves one request.
/// Invariant: the copies write every live byte of every destination rank exactly once, and no other.
struct CopyList {
  std::vector<Content> contents;   ///< shared by all requests of two sides
  std::vector<RankCopies> pairs;   ///< those that copy something, by destination and source

  std::int64_t descriptors() const;
  std::int64_t moved_bytes() const;      ///< read at the sources
  std::int64_t written_bytes() const;
  std::int64_t unique_bytes() const;     ///< of the content, each element once: what must move at least
  std::int64_t longest_run() const;      ///< bytes at the source; 0 without any
};

}  // namespace hybridkv
