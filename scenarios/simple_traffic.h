#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hybridkv {

/// Prompts of one length in place of a trace.
struct SimpleTraffic {
  std::optional<std::int64_t> prompt_tokens;         ///< n of every prompt; unset: there is no such traffic
  std::optional<std::int64_t> shared_prefix_tokens;  ///< that all prompts begin with; unset: all of it
};

/// So many requests of it where nobody says how many.
inline constexpr std::int64_t default_simple_requests = 300;

/// Throws SpecError where the numbers contradict each other; its path is the field's name.
void check_traffic(const SimpleTraffic& traffic);

/// So many requests of the traffic, which there is, as the YAML of `simulate.trace`.
std::string traffic_yaml(const SimpleTraffic& traffic, std::int64_t requests);

/// The traffic in words; empty where there is none.
std::string traffic_text(const SimpleTraffic& traffic);

}  // namespace hybridkv
