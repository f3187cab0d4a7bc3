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
  /// The parts of this geometry that no replay of the engine itself covers.
  virtual std::vector<ModelledRule> modelled(const CacheGeometry& geometry) const;
  /// Do replays of the engine cover requests that decode, and several at a time?
  virtual bool covers_decoding() const { return false; }

  /// Is the match unit the one that the geometry names? Otherwise it follows from the blocks of all groups.
  virtual bool takes_match_unit(const CacheGeometry& geometry) const;
  /// May a prefix end within a block?
  virtual bool has_partial_tails(const CacheGeometry& geometry) const;
  /// Tokens between two lengths of a hit.
  virtual std::int64_t hit_step(const CacheGeometry& geometry) const;
  /// Tokens behind a prefix that its key covers too.
  virtual std::int64_t lookahead_tokens(const CacheGeometry& geometry) const;
  /// Does every chunk of a prompt, except the last ones, end where a state can be kept, so that a smaller budget has to
  /// wait?
  virtual bool cuts_to_blocks(const CacheGeometry& geometry) const;
  /// May the limit of a long prompt in a step grow with its share of the step?
  virtual bool adapts_thresholds() const { return false; }
  /// Tokens of which a retention interval is a multiple.
  virtual std::int64_t retention_step(const CacheGeometry& geometry) const;
  /// Are blocks of windows kept by the retention interval, apart from those of full attention?
  virtual bool retains_windows() const { return false; }
  /// Are prefixes found again under attention in chunks (chunked_local)?
  virtual bool finds_chunks() const { return true; }

  /// Tokens that a look-up drops of what a group of attention matched, for a drafter.
  virtual std::int64_t dropped_tokens(const CacheGeometry& geometry, std::size_t attention_group) const;
  /// Tokens between two lengths at which whole blocks of a group of attention are found.
  virtual std::int64_t attention_row(const CacheGeometry& geometry, std::size_t attention_group) const;
  /// Does a look-up search beyond its limit by as much as it will drop? Then dropping loses a block only where the
  /// block behind the limit is not cached.
  virtual bool looks_beyond_limit(const CacheGeometry& geometry) const;
  /// Tokens that a running request of `tokens` tokens takes room for.
  virtual std::int64_t room_tokens(const CacheGeometry& geometry, std::int64_t tokens) const;

  /// What the functions of these names in closed_form.h return. Pre: states are kept for prefixes.
  virtual std::vector<std::int64_t> checkpoint_positions(const CacheGeometry& geometry, std::int64_t prompt) const;
  virtual std::optional<std::int64_t> predicted_copy_hit(const CacheGeometry& geometry, std::int64_t prompt,
                                                         std::int64_t copy) const;
  /// Tokens that the first repetition hits of a prompt which one step computes.
  virtual std::int64_t short_copy_hit(const CacheGeometry& geometry, std::int64_t prompt) const;

  /// Are blocks given back in the order of their table, instead of the last one first, and do the tails of prompts have
  /// keys of their own?
  virtual bool releases_in_order() const { return false; }
  /// What chooses the block that a full cache evicts when every free block can still be found. The cache outlives it.
  /// Null: the block that has queued for longest goes. A policy that the user asks for takes precedence.
  virtual std::unique_ptr<VictimChooser> victims(const CacheParts& cache) const;
  /// The operations of a cache by these rules. The cache outlives them.
  virtual std::unique_ptr<BlockSteps> start(CacheParts& cache) const;
};

extern const BlockRules plain_block_rules;

/// The rules of an engine. An engine without blocks, and specs of no engine, have the plain ones. Defined above this
/// room, see engines/engine.h.
const BlockRules& block_rules_of(const EngineRules& engine);

}  // namespace hybridkv
