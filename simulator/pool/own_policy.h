#pragma once

#include <functional>
#include <memory>
#include <string>

#include "simulator/pool/prefix_rank.h"

namespace hybridkv {

/// A policy that is not ours, of one replay: it decides which kept prefix goes, and of which prefixes states are kept.
///
/// It is asked for a rank when a prefix becomes kept, when a request goes on from it, and once more when it comes up to
/// go; where the rank has risen since, the next lowest comes up in its place. It knows what happened, never what comes.
/// K and V that no state can resume from, and second copies of a block, go before any prefix, as under every policy but
/// `lru`; a state that its one path has passed goes by its rank alone.
class PrefixPolicy {
 public:
  virtual ~PrefixPolicy() = default;
  /// The kept prefix of the lowest rank goes first. Throws SpecError where it gives none.
  virtual double rank(const PrefixFacts& prefix) = 0;
  /// Are the states of a new prefix kept? Asked once all groups have theirs; those of others go first.
  virtual bool keeps(const PrefixFacts&) { return true; }
  /// A request goes on from a prefix, whose `uses` count it already.
  virtual void used(const PrefixFacts&) {}
  /// A kept prefix was chosen to go.
  virtual void went(const PrefixFacts&) {}
};

/// Makes one for every replay, so that no replay learns from another.
struct OwnPolicy {
  std::string name;  ///< as answers call it: a class, a file
  std::function<std::unique_ptr<PrefixPolicy>()> make;
};

}  // namespace hybridkv
