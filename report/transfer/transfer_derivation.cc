#include "report/transfer/transfer_derivation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/human.h"

namespace hybridkv {

namespace {

using nlohmann::ordered_json;

std::string blocks_text(std::int64_t blocks, std::int64_t tokens, std::int64_t kernel_tokens) {
  std::string text = fmt::format("{} of {}", human_plural(blocks, "block"), human_count(tokens));
  if (kernel_tokens != tokens) text += fmt::format(" (kernel blocks of {})", human_count(kernel_tokens));
  return text;
}

/// "of a stretch 1 of each of 77, 2 of each of 1: 79".
std::string token_runs_text(const RunDerivation& derivation) {
  const TokenRuns& tokens = *derivation.tokens;
  if (!tokens.tokens_follow)
    return fmt::format("{} of each token, as tokens do not follow each other in one run on both sides: {}",
                       human_count(tokens.runs_per_token), human_count(derivation.runs));
  std::vector<std::string> parts;
  for (const auto& [runs, stretches] : tokens.stretches_by_runs)
    parts.push_back(fmt::format("{} of each of {}", human_count(runs), human_count(stretches)));
  return fmt::format("of a stretch {}: {}", fmt::join(parts, ", "), human_count(derivation.runs));
}

void add_tokens(Facts& facts, const RunDerivation& derivation) {
  const TokenRuns& tokens = *derivation.tokens;
  facts.entries.emplace_back(
      "tokens", fmt::format("{}, in {} at the source and {} at the destination", human_count(tokens.tokens),
                            blocks_text(tokens.from_blocks, tokens.from_block_tokens, tokens.from_kernel_tokens),
                            blocks_text(tokens.to_blocks, tokens.to_block_tokens, tokens.to_kernel_tokens)));
  facts.entries.emplace_back(
      "stretches", fmt::format("{}: cut where a block of either side ends and what follows lies elsewhere",
                               human_count(tokens.stretches)));
  facts.entries.emplace_back(
      "heads", fmt::format("{} of the {} on the source's rank, {} of the {} on the destination's{}", tokens.heads,
                           tokens.from_heads, tokens.heads, tokens.to_heads,
                           tokens.has_halves ? "; each K and V" : "; a latent"));
  facts.entries.emplace_back("runs", token_runs_text(derivation));
}

/// "q 2 x 128, k 2 x 128" of a convolution, "8 heads" of another state.
std::string parts_text(const StateRuns& state) {
  if (state.steps == 0) return human_plural(state.parts.front().parts * state.parts.front().elements,
                                            state.parts.front().name);
  std::string text;
  for (const MovedParts& part : state.parts)
    text += fmt::format("{}{} {} x {}", text.empty() ? "" : ", ", part.name, human_count(part.parts),
                        human_count(part.elements));
  return text;
}

void add_state(Facts& facts, const RunDerivation& derivation) {
  const StateRuns& state = *derivation.state;
  const std::int64_t sections = std::ssize(state.parts);
  if (state.steps > 0) {
    facts.entries.emplace_back("channels", parts_text(state));
    facts.entries.emplace_back("steps", fmt::format("{} that hold inputs", state.steps));
  } else {
    facts.entries.emplace_back("parts", parts_text(state));
  }
  std::string text = human_count(derivation.runs);
  if (derivation.runs == 1)
    text += ": it follows in one run on both sides";
  else if (state.steps > 0 && derivation.runs == state.steps * sections)
    text += fmt::format(": {} in each step, as steps{} lie apart", human_count(sections),
                        sections == 1 ? "" : " and sections");
  else
    text += ": what follows on both sides is one run";
  facts.entries.emplace_back("runs", text);
}

ordered_json tokens_json(const TokenRuns& tokens) {
  ordered_json json;
  json["tokens"] = tokens.tokens;
  json["from_block_tokens"] = tokens.from_block_tokens;
  json["to_block_tokens"] = tokens.to_block_tokens;
  json["from_kernel_tokens"] = tokens.from_kernel_tokens;
  json["to_kernel_tokens"] = tokens.to_kernel_tokens;
  json["from_blocks"] = tokens.from_blocks;
  json["to_blocks"] = tokens.to_blocks;
  json["stretches"] = tokens.stretches;
  json["heads"] = tokens.heads;
  json["from_heads"] = tokens.from_heads;
  json["to_heads"] = tokens.to_heads;
  json["tokens_follow"] = tokens.tokens_follow;
  json["runs_per_token"] = tokens.runs_per_token;
  json["stretches_by_runs"] = ordered_json::array();
  for (const auto& [runs, stretches] : tokens.stretches_by_runs)
    json["stretches_by_runs"].push_back({{"runs", runs}, {"stretches", stretches}});
  return json;
}

ordered_json state_json(const StateRuns& state) {
  ordered_json json;
  json["steps"] = state.steps;
  json["parts"] = ordered_json::array();
  for (const MovedParts& part : state.parts)
    json["parts"].push_back({{"name", part.name}, {"parts", part.parts}, {"elements", part.elements}});
  return json;
}

}  // namespace

std::string tensor_name(const TransferTensor& tensor) {
  const bool is_own = tensor.role != SpecRole::draft && tensor.role != SpecRole::auxiliary;
  return fmt::format("{} of {}{}", tensor.tensor == "kv" ? "K and V" : tensor.tensor,
                     is_own ? "" : fmt::format("{} ", to_string(tensor.role)), tensor.kind);
}

void add_run_derivations(Document& document, const TransferAnswer& answer) {
  document.blocks.emplace_back(Heading{"How the runs of a layer come about"});
  for (const RunDerivation& derivation : answer.runs) {
    const std::string name = tensor_name(answer.counts.tensors[derivation.tensor]);
    document.blocks.emplace_back(Heading{fmt::format("{}, layer {}, rank {} to rank {}: {}", name, derivation.layer,
                                                     derivation.from_rank, derivation.to_rank,
                                                     human_plural(derivation.runs, "run")),
                                         3});
    Facts facts;
    if (derivation.tokens)
      add_tokens(facts, derivation);
    else
      add_state(facts, derivation);
    facts.entries.emplace_back(
        human_plural(derivation.layers, "layer"),
        derivation.descriptors == derivation.runs_of_layers
            ? fmt::format("{}, none of which follow each other on both sides",
                          human_plural(derivation.descriptors, "descriptor"))
            : fmt::format("{}, of which those that follow each other on both sides are joined: {}",
                          human_plural(derivation.runs_of_layers, "run"),
                          human_plural(derivation.descriptors, "descriptor")));
    document.blocks.emplace_back(std::move(facts));
  }
}

ordered_json run_derivations_json(const TransferAnswer& answer) {
  ordered_json list = ordered_json::array();
  for (const RunDerivation& derivation : answer.runs) {
    const TransferTensor& tensor = answer.counts.tensors[derivation.tensor];
    ordered_json json;
    json["role"] = to_string(tensor.role);
    json["kind"] = tensor.kind;
    json["tensor"] = tensor.tensor;
    json["layer"] = derivation.layer;
    json["from_rank"] = derivation.from_rank;
    json["to_rank"] = derivation.to_rank;
    if (derivation.tokens) json["tokens"] = tokens_json(*derivation.tokens);
    if (derivation.state) json["state"] = state_json(*derivation.state);
    json["runs"] = derivation.runs;
    json["layers"] = derivation.layers;
    json["runs_of_layers"] = derivation.runs_of_layers;
    json["descriptors"] = derivation.descriptors;
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace hybridkv
