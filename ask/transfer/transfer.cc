#include "ask/transfer/transfer.h"

#include <fmt/format.h>

#include <algorithm>

#include "ask/typed_list.h"
#include "base/add_once.h"
#include "base/error.h"
#include "base/number_text.h"
#include "planner/demand.h"
#include "planner/primary_attention.h"
#include "transfer/kept_prefix.h"

namespace hybridkv {

namespace {

/// More runs than this are not listed for twice the length: their list alone takes several hundred MiB.
constexpr std::int64_t most_grown_descriptors = 4'000'000;

constexpr std::string_view from_prefix = "from.", to_prefix = "to.";

/// The error with the place of the value in the scenario of its side; the path keeps the side.
InputError located_side(const SpecError& error, const TransferQuestion& question) {
  for (const auto& [prefix, scenario] :
       {std::pair(from_prefix, &question.from), std::pair(to_prefix, &question.to)}) {
    if (!error.path().starts_with(prefix)) continue;
    const Place* place = scenario->places.find(error.path().substr(prefix.size()));
    return place ? error_at(*place, error.what()) : InputError(error.what());
  }
  return located(error, question.from);
}

std::int64_t longest_length(const Scenario& scenario) {
  const std::vector<std::int64_t>& lengths = scenario.limits.max_model_lens;
  return *std::max_element(lengths.begin(), lengths.end());
}

/// The key that says how many ids a side has.
std::string room_key(const Scenario& scenario, std::string_view prefix) {
  return fmt::format("{}engine.{}", prefix, scenario.engine.num_blocks ? "num_blocks" : "memory");
}

EngineSpec engine_of(const Scenario& scenario) {
  EngineSpec engine = scenario.engine;
  engine.attention_pack_size = scenario.pack_sizes.front();
  return engine;
}

TransferSide side_of(const Scenario& scenario, std::string_view prefix) {
  refuse_typed_list(scenario, "engine.attention_pack_size", scenario.pack_sizes, "compare");
  refuse_typed_list(scenario, "limits.max_model_len", scenario.limits.max_model_lens, "plan");
  try {
    return make_side(scenario.model, engine_of(scenario), scenario.limits);
  } catch (const SpecError& error) {
    throw SpecError(std::string(prefix) + error.path(), error.message());
  } catch (const InputError& error) {
    throw InputError(fmt::format("{} ({}): {}", prefix.substr(0, prefix.size() - 1), scenario.name, error.what()));
  }
}

void require_one_model(const Scenario& from, const Scenario& to) {
  if (from.model == to.model) return;
  if (from.model.name == to.model.name)
    throw SpecError("to.model", fmt::format("is called {} as the model of {}, but keeps other caches; a request moves "
                                            "between two sides of one model",
                                            to.model.name, from.name));
  throw SpecError("to.model", fmt::format("is {}, and the model of {} is {}; a request moves between two sides of one "
                                          "model",
                                          to.model.name, from.name, from.model.name));
}

void require_length(const Scenario& scenario, std::string_view prefix, std::int64_t tokens) {
  const std::int64_t longest = longest_length(scenario);
  if (tokens > longest)
    throw SpecError(std::string(prefix) + "limits.max_model_len",
                    fmt::format("requests have up to {}, and {} are to move; raise it, or move fewer "
                                "(--tokens {})",
                                human_plural(longest, "token"), human_count(tokens), longest));
}

/// `room`: the key of what the ids are too few for, "from.engine.memory".
RequestTables tables_of(const TransferSide& side, const std::optional<GivenIds>& given, std::int64_t tokens,
                        IdOrder order, std::uint64_t seed, const std::string& room) {
  if (!given) {
    try {
      return make_tables(side, tokens, order, seed);
    } catch (const InputError& error) {
      throw SpecError(room, error.what());
    }
  }
  check_tables(side, given->tables, tokens, given->where);
  return given->tables;
}

TransferSideFacts facts_of(const Scenario& scenario, const TransferSide& side, const RequestTables& tables) {
  const CachePlan& plan = side.stages.front();
  TransferSideFacts facts{.scenario = scenario.name,
                          .engine = engine_of(scenario),
                          .stages = std::ssize(side.stages),
                          .tensor_parallel = side.tensor_parallel,
                          .block_tokens = primary_block_tokens(plan),
                          .order = {},
                          .dtypes = {},
                          .ids = {},
                          .uncounted_bytes = plan.extra_bytes_per_id(),
                          .evidence = evidence_of(plan)};
  const SpecPlan* const attention = primary_attention(plan);
  if (plan.cache_order)
    facts.order = to_string(*plan.cache_order);
  else if (attention != nullptr)
    facts.order = to_string(attention->attention->order);
  const auto add = [&](const std::string& tensor, std::string_view dtype) {
    const std::pair<std::string, std::string> one{tensor, std::string(dtype)};
    add_once(facts.dtypes, one);
  };
  for (const SpecPlan& spec : plan.specs)
    if (spec.attention)
      add("kv", spec.attention->format ? to_string(*spec.attention->format) : to_string(spec.attention->dtype));
  for (const SpecPlan& spec : plan.specs)
    if (spec.state)
      for (const StateTensor& tensor : spec.state->tensors) add(tensor.name, to_string(tensor.dtype));
  for (std::size_t stage = 0; stage < side.stages.size(); ++stage)
    facts.ids.push_back(ids_text(side.stages[stage], num_held_ids(side.stages[stage], tables.ids[stage])));
  return facts;
}

TransferGrowth growth_of(std::int64_t tokens, const TransferCounts& counts) {
  return {.tokens = tokens,
          .unique_bytes = counts.unique_bytes,
          .runs = counts.all,
          .of_states = counts.of_states()};
}

TransferRate rate_between(const TransferGrowth& less, const TransferGrowth& more) {
  const double thousands = static_cast<double>(more.tokens - less.tokens) / tokens_of_rate;
  const auto of_tokens = [](const TransferGrowth& row, auto part) {
    return static_cast<double>(row.runs.*part - row.of_states.*part);
  };
  const auto rate = [&](auto part) { return (of_tokens(more, part) - of_tokens(less, part)) / thousands; };
  return {rate(&RunSizes::descriptors), rate(&RunSizes::bytes)};
}

/// Tells how everything grows. Pre: the answer has its list counted.
void add_growth(TransferAnswer& answer, const TransferQuestion& question) {
  const std::int64_t tokens = answer.request.tokens;
  const auto at = [&](std::int64_t length) {
    TransferRequest request{.tokens = length, .present_tokens = std::min(answer.request.present_tokens, length)};
    const std::uint64_t seed = question.from.verify.seed;
    request.from = make_tables(answer.map->from(), length, question.ids, seed);
    request.to = make_tables(answer.map->to(), length, question.ids, seed + 1);
    return growth_of(length, count_runs(answer.map->list(request)));
  };
  for (const std::int64_t length : {tokens / 4, tokens / 2})
    if (length > 0) answer.growth.push_back(at(length));
  answer.growth.push_back(answer.ids_are_given ? at(tokens) : growth_of(tokens, answer.counts));
  const TransferGrowth& all = answer.growth.back();
  if (tokens / 2 > answer.request.present_tokens)
    answer.rate = rate_between(answer.growth[answer.growth.size() - 2], all);
  if (all.runs.descriptors > most_grown_descriptors / 2) {
    answer.growth_ends = fmt::format("twice the length takes more than {} descriptors", most_grown_descriptors);
    return;
  }
  try {
    answer.growth.push_back(at(2 * tokens));
  } catch (const InputError& error) {
    answer.growth_ends = fmt::format("{} tokens do not fit: {}", 2 * tokens, error.what());
  }
}

TransferAnswer answer_of(const TransferQuestion& question) {
  require_one_model(question.from, question.to);
  TransferAnswer answer{
      .model = question.from.model.name, .options = question.options, .as_prefix = question.as_prefix};
  TransferRequest& request = answer.request;
  request.tokens = question.tokens.value_or(longest_length(question.from));
  request.present_tokens = question.present_tokens;
  if (request.tokens < 1) throw InputError("--tokens 0: a request has at least one token");
  if (request.present_tokens < 0 || request.present_tokens > request.tokens)
    throw InputError(fmt::format("--present {}: of {} tokens at most as many can be at the destination already",
                                 request.present_tokens, request.tokens));
  require_length(question.from, from_prefix, request.tokens);
  require_length(question.to, to_prefix, request.tokens);
  TransferSide from = side_of(question.from, from_prefix);  // what both sides refuse is said of this one
  answer.map = std::make_shared<const TransferMap>(std::move(from), side_of(question.to, to_prefix), question.options);
  if (question.as_prefix) check_kept_prefix(answer.map->from(), answer.map->to(), request.tokens);
  const std::uint64_t seed = question.from.verify.seed;
  request.from = tables_of(answer.map->from(), question.from_ids, request.tokens, question.ids, seed,
                           room_key(question.from, from_prefix));
  request.to = tables_of(answer.map->to(), question.to_ids, request.tokens, question.ids, seed + 1,
                         room_key(question.to, to_prefix));
  answer.ids_are_given = question.from_ids || question.to_ids;
  answer.from = facts_of(question.from, answer.map->from(), request.from);
  answer.to = facts_of(question.to, answer.map->to(), request.to);
  answer.list = answer.map->list(request);
  answer.counts = count_runs(answer.list);
  answer.runs = derive_runs(*answer.map, answer.options, request, answer.list, answer.counts);
  add_growth(answer, question);
  return answer;
}

}  // namespace

TransferAnswer transfer(const TransferQuestion& question) {
  try {
    return answer_of(question);
  } catch (const SpecError& error) {
    throw located_side(error, question);
  }
}

}  // namespace hybridkv
