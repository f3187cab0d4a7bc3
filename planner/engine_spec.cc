#include "planner/engine_spec.h"

namespace hybridkv {

std::string_view to_string(CacheMode mode) {
  switch (mode) {
    case CacheMode::none: return "none";
    case CacheMode::align: return "align";
    case CacheMode::all: return "all";
  }
  return "?";
}

std::optional<CacheMode> parse_cache_mode(std::string_view name) {
  for (CacheMode mode : {CacheMode::none, CacheMode::align, CacheMode::all})
    if (to_string(mode) == name) return mode;
  return std::nullopt;
}

std::string_view to_string(TokenRule rule) { return rule == TokenRule::floor ? "floor" : "concurrency"; }

std::optional<TokenRule> parse_token_rule(std::string_view name) {
  for (TokenRule rule : {TokenRule::concurrency, TokenRule::floor})
    if (to_string(rule) == name) return rule;
  return std::nullopt;
}

}  // namespace hybridkv
