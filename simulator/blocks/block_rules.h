#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace hybridkv {

struct CacheGeometry;
struct CacheParts;
struct EngineRules;
class BlockSteps;
class VictimChooser;
enum class ModelledRule;

/// How an engine finds prefixes in pools of blocks, which states it keeps, and how it fills its steps: stateless, one
/// constant an engine, to which a CacheGeometry points.
///
/// This class has the plain rules, those of vLLM's main branch of June 2026: a prefix ends where the blocks of all
/// groups do, chunks are cut so that states lie there, and every state that is written is kept. Another engine derives
/// from the rules nearest to its own and says what differs.
class BlockRules {
 public:
  constexpr BlockRules() = default;
  constexpr virtual ~BlockRules() = default;

  /// Throws SpecError, path "geometry.FIELD", for what these rules do not take.
  virtual void validate(const CacheGeometry& geometry) const;
  /// What of the geometry no replay of the engine covers.
  virtual std::vector<ModelledRule> modelled(const CacheGeometry& geometry) const;
  /// Do replays of the engine cover requests that decode, and several at a time?
  virtual bool covers_decoding() const { return false; }

  /// Is a match unit that the geometry names taken, rather than the block of all groups?
  virtual bool takes_match_unit(const CacheGeometry& geometry) const;
  /// May a prefix end within a block?
  virtual bool has_partial_tails(const CacheGeometry& geometry) const;
  /// Tokens between two lengths of a hit.
  virtual std::int64_t hit_step(const CacheGeometry& geometry) const;
  /// Tokens behind a prefix that its key covers too.
  virtual std::int64_t lookahead_tokens(const CacheGeometry& geometry) const;
  /// Does every chunk of a prompt but its last ones end at a boundary of states, so that a smaller budget waits?
  virtual bool cuts_to_blocks(const CacheGeometry& geometry) const;
  /// Tokens of which a retention interval is a multiple.
  virtual std::int64_t retention_step(const CacheGeometry& geometry) const;
  /// Are blocks of windows kept by the retention interval, apart from those of full attention?
  virtual bool retains_windows() const { return false; }
  /// Are prefixes of chunked attention found?
  virtual bool finds_chunks() const { return true; }

  /// Tokens that a look-up drops of what a group of attention matched, for a drafter.
  virtual std::int64_t dropped_tokens(const CacheGeometry& geometry, std::size_t attention_group) const;
  /// Tokens between two lengths at which whole blocks of a group of attention are found.
  virtual std::int64_t attention_row(const CacheGeometry& geometry, std::size_t attention_group) const;
  /// Does a look-up go as far beyond its limit as it drops, so that only what is not there costs a block?
  virtual bool looks_beyond_limit(const CacheGeometry& geometry) const;
  /// Tokens that a running request of `tokens` tokens takes room for.
  virtual std::int64_t room_tokens(const CacheGeometry& geometry, std::int64_t tokens) const;

  /// As the functions of these names, closed_form.h. Pre: states are kept for prefixes.
  virtual std::vector<std::int64_t> checkpoint_positions(const CacheGeometry& geometry, std::int64_t prompt) const;
  virtual std::optional<std::int64_t> predicted_copy_hit(const CacheGeometry& geometry, std::int64_t prompt,
                                                         std::int64_t copy) const;
  /// The same of the first repetition of a prompt that one step computes.
  virtual std::int64_t short_copy_hit(const CacheGeometry& geometry, std::int64_t prompt) const;

  /// Do blocks go back in the order of the table rather than the last one first, and do tails have keys of their own?
  virtual bool releases_in_order() const { return false; }
  /// Who says which block goes where every free one can still be found, of one cache, which outlives it; null: the one
  /// that queues for longest. A policy that somebody asks for goes before it.
  virtual std::unique_ptr<VictimChooser> victims(const CacheParts& cache) const;
  /// The operations of one cache, which outlives them.
  virtual std::unique_ptr<BlockSteps> start(CacheParts& cache) const;
};

extern const BlockRules plain_block_rules;

/// Those of an engine; plain ones of an engine without blocks, or of none. Said above this room, see engines/engine.h.
const BlockRules& block_rules_of(const EngineRules& engine);

}  // namespace hybridkv
