#include "scenarios/simple_traffic.h"

#include <fmt/format.h>

#include "base/error.h"

namespace hybridkv {

void check_traffic(const SimpleTraffic& traffic) {
  if (!traffic.prompt_tokens) {
    if (traffic.shared_prefix_tokens)
      throw SpecError("shared_prefix_tokens", "needs the length of the prompts too");
    return;
  }
  const std::int64_t tokens = *traffic.prompt_tokens;
  const std::int64_t shared = traffic.shared_prefix_tokens.value_or(tokens);
  if (tokens < 1) throw SpecError("prompt_tokens", "must be at least 1");
  if (shared < 0 || shared > tokens)
    throw SpecError("shared_prefix_tokens", fmt::format("must be 0 to the {} of the prompts", tokens));
}

std::string traffic_yaml(const SimpleTraffic& traffic, std::int64_t requests) {
  const std::int64_t tokens = traffic.prompt_tokens.value();
  const std::int64_t shared = traffic.shared_prefix_tokens.value_or(tokens);
  if (shared == tokens) return fmt::format("{{prompts: [{{tokens: {}, copies: {}}}]}}", tokens, requests);
  std::string prompts = fmt::format("{{tokens: {}}}", tokens);
  if (requests > 1)
    prompts += fmt::format(", {{tokens: {}, variants: {}, shared_tokens: {}}}", tokens, requests - 1, shared);
  return "{prompts: [" + prompts + "]}";
}

std::string traffic_text(const SimpleTraffic& traffic) {
  if (!traffic.prompt_tokens) return {};
  const std::int64_t tokens = *traffic.prompt_tokens;
  const std::int64_t shared = traffic.shared_prefix_tokens.value_or(tokens);
  return shared == tokens ? fmt::format("one prompt of {} tokens, sent again and again", tokens)
                          : fmt::format("prompts of {} tokens that share the first {}", tokens, shared);
}

}  // namespace hybridkv
