#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "simulator/slots/slot_replay.h"

namespace hybridkv::testing {

using nlohmann::json;

/// A small model of the records (tests/data/llama.cpp/README.md): elements of K of a token and layer, and of a state.
struct SmallModel {
  const char* name;
  std::int64_t attention_layers, state_layers, conv_elements, state_elements;
  std::int64_t position_bytes = 12, window = 0, draft_layers = 0;
};

inline constexpr std::int64_t small_head = 64;
inline constexpr SmallModel small_models[] = {
    {"t-qwen3next", 2, 2, 576, 2048},
    {"t-qwen35", 2, 2, 576, 2048, 24},
    {"t-qwen35mtp", 1, 3, 576, 2048, 24, 0, 1},
    {"t-nemotron", 1, 2, 768, 4096},
    {"t-granite", 1, 3, 576, 4096},
    {"t-falcon", 2, 2, 576, 4096},
    {"t-jamba", 1, 3, 384, 2048},
    {"t-lfm2", 1, 3, 128, 0},
    {"t-lfm2swa", 2, 2, 128, 0, 12, 96}};

inline const SmallModel& small_model(const std::string& name) {
  return *std::find_if(std::begin(small_models), std::end(small_models),
                       [&](const SmallModel& model) { return name == model.name; });
}

/// The last value of a flag of the server, under any of its names.
inline std::string flag_of(const json& args, std::initializer_list<const char*> names, std::string otherwise) {
  for (std::size_t i = 0; i + 1 < args.size(); ++i)
    for (const char* name : names)
      if (args[i] == name) otherwise = args[i + 1].get<std::string>();
  return otherwise;
}

inline bool has_flag(const json& args, std::initializer_list<const char*> names) {
  return std::any_of(args.begin(), args.end(), [&](const json& arg) {
    return std::find(names.begin(), names.end(), arg.get<std::string>()) != names.end();
  });
}

inline SequenceBytes bytes_of(const SmallModel& model, const json& head) {
  const json& args = head.at("args");
  const auto row = [&](std::initializer_list<const char*> names) {
    static const std::map<std::string, std::int64_t> of_32{{"f16", 64}, {"bf16", 64}, {"f32", 128}, {"q8_0", 34},
                                                           {"q5_1", 24}, {"q5_0", 22}, {"q4_1", 20}, {"q4_0", 18},
                                                           {"iq4_nl", 18}};
    return small_head / 32 * of_32.at(flag_of(args, names, "f16"));
  };
  const std::int64_t token = row({"-ctk", "--cache-type-k"}) + row({"-ctv", "--cache-type-v"});
  const auto layers = [&](std::int64_t count, std::int64_t bytes) { return CellBytes{2 * count, count * bytes}; };
  SequenceBytes bytes{.state_layers = model.state_layers,
                      .row_bytes = 4 * model.state_layers * (model.conv_elements + model.state_elements),
                      .streams = head.at("kv_unified").get<bool>() ? 1 : head.at("n_slots").get<std::int64_t>(),
                      .position_bytes = model.position_bytes,
                      .tokens = layers(model.window > 0 ? 0 : model.attention_layers, token)};
  if (model.window > 0) {
    bytes.window = layers(model.attention_layers, token);
    bytes.window_tokens = model.window;
  }
  if (flag_of(args, {"--spec-type"}, "none") == "draft-mtp")
    bytes.draft = layers(model.draft_layers, 2 * small_head / 32 * 64);
  return bytes;
}

/// The server of a record, by its first line.
inline SlotSettings settings_of(const json& head) {
  const json& args = head.at("args");
  const auto number = [&](std::initializer_list<const char*> names, std::int64_t otherwise) -> std::int64_t {
    return std::stoll(flag_of(args, names, std::to_string(otherwise)));
  };
  SlotSettings settings{.slots = head.at("n_slots"), .cells = head.at("n_ctx_total"), .unified = head.at("kv_unified"),
                        .context_tokens = head.at("n_ctx_slot")};
  const std::int64_t asked = number({"-c", "--ctx-size"}, settings.cells);
  settings.batch_tokens = std::min(asked, number({"-b", "--batch-size"}, 2048));
  settings.step_tokens = std::min(settings.batch_tokens, number({"-ub", "--ubatch-size"}, 512));
  settings.checkpoints = number({"-ctxcp", "--ctx-checkpoints"}, 32);
  settings.checkpoint_step = number({"-cms", "--checkpoint-min-step"}, 8192);
  const std::int64_t saved = number({"-cram", "--cache-ram"}, 8192);
  settings.saved_bytes = saved < 0 ? -1 : saved << 20;
  settings.saves_idle = !has_flag(args, {"--no-cache-idle-slots"});
  settings.least_similarity = std::stof(flag_of(args, {"-sps", "--slot-prompt-similarity"}, "0.1"));
  const SmallModel& model = small_model(head.at("model"));
  settings.window_tokens = has_flag(args, {"--swa-full"}) ? 0 : model.window;
  settings.bytes = bytes_of(model, head);
  return settings;
}

/// The prompts of a record as tokens.
class RecordedPrompts {
 public:
  std::vector<std::int64_t> tokens_of(const json& items) const {
    std::vector<std::int64_t> tokens;
    for (const json& item : items) {
      if (item[0] == "t") append(tokens, item[1].get<std::vector<std::int64_t>>());
      if (item[0] == "o") append(tokens, outputs_.at(item[1].get<std::size_t>()));
      if (item[0] == "s")
        for (std::uint64_t i = item[2]; i < item[3].get<std::uint64_t>(); ++i)
          tokens.push_back(invented(item[1].get<std::uint64_t>(), i));
    }
    return tokens;
  }
  void generated(std::vector<std::int64_t> tokens) { outputs_.push_back(std::move(tokens)); }

 private:
  static void append(std::vector<std::int64_t>& to, const std::vector<std::int64_t>& from) {
    to.insert(to.end(), from.begin(), from.end());
  }
  static std::int64_t invented(std::uint64_t s, std::uint64_t i) {
    const std::uint64_t mixed = (s * 2654435761U + i * 40503 + (s ^ i) * 97) & 0xffffffff;
    return static_cast<std::int64_t>(4 + (mixed >> 4) % 500);
  }
  std::vector<std::vector<std::int64_t>> outputs_;
};

/// A run a token.
inline std::vector<TokenRun> runs_of_tokens(const std::vector<std::int64_t>& tokens) {
  std::vector<TokenRun> runs;
  std::uint64_t chain = empty_chain;
  for (const std::int64_t token : tokens) {
    const auto start = static_cast<std::int64_t>(runs.size());
    chain = extend_chain(chain, static_cast<std::uint64_t>(token), start);
    runs.push_back({start + 1, chain});
  }
  return runs;
}

/// Where a message starts, as its first tokens say.
inline std::vector<std::int64_t> starts_of(const std::vector<std::int64_t>& prompt,
                                           const std::vector<std::int64_t>& delimiter) {
  std::vector<std::int64_t> starts;
  for (auto at = prompt.begin();; ++at) {
    at = std::search(at, prompt.end(), delimiter.begin(), delimiter.end());
    if (at == prompt.end() || delimiter.empty()) return starts;
    starts.push_back(at - prompt.begin());
  }
}

/// As the server prints it.
inline json mib_of(std::int64_t bytes) {
  return std::stod(fmt::format("{:.3f}", static_cast<double>(bytes) / 1048576.0));
}
inline json share_of(float share) { return std::stod(fmt::format("{:.3f}", static_cast<double>(share))); }

/// An event in the form of the records.
inline json form_of(const SlotEvent& e) {
  json form = {std::string(to_string(e.kind))};
  const auto add = [&](std::initializer_list<json> values) {
    for (const json& value : values) form.push_back(value);
  };
  switch (e.kind) {
    case SlotEventKind::lcp: add({e.slot, share_of(e.similarity), share_of(e.keep)}); break;
    case SlotEventKind::lru:
    case SlotEventKind::by_id:
    case SlotEventKind::idle: add({e.slot}); break;
    case SlotEventKind::save: add({e.tokens, mib_of(e.bytes)}); break;
    case SlotEventKind::too_big: add({mib_of(e.bytes)}); break;
    case SlotEventKind::found: add({share_of(e.keep), share_of(e.similarity)}); break;
    case SlotEventKind::clear:
    case SlotEventKind::purge: add({e.slot, e.tokens}); break;
    case SlotEventKind::state:
      add({e.number, mib_of(e.bytes), mib_of(e.limit_bytes), e.tokens, e.limit_tokens});
      break;
    case SlotEventKind::entry: add({e.tokens, e.number, mib_of(e.bytes)}); break;
    case SlotEventKind::restore: add({e.tokens, e.tokens, mib_of(e.bytes)}); break;
    case SlotEventKind::create: add({e.number, e.tokens - 1, e.tokens - 1, e.tokens, mib_of(e.bytes)}); break;
    case SlotEventKind::retry: add({0, e.tokens}); break;
    case SlotEventKind::error: add({"exceeds the available context size"}); break;
    case SlotEventKind::end: add({e.slot, e.tokens, e.number}); break;
    case SlotEventKind::obsolete:
    case SlotEventKind::invalid:
    case SlotEventKind::chunk:
    case SlotEventKind::supersede:
    case SlotEventKind::near:
    case SlotEventKind::oldest: add({e.tokens}); break;
    default: break;
  }
  return form;
}

/// Of a request the records keep the last listing of saved prompts alone.
inline json with_last_listing(const std::vector<json>& told) {
  std::size_t last = 0;
  for (std::size_t i = 0; i < told.size(); ++i)
    if (told[i][0] == "state") last = i;
  json kept = json::array();
  for (std::size_t i = 0; i < told.size(); ++i)
    if (i >= last || (told[i][0] != "state" && told[i][0] != "entry")) kept.push_back(told[i]);
  return kept;
}

/// What the replay says of a request, in the fields of the records that it answers.
inline json answer_of(const SlotRecord& record, const SlotReplay& replay, json events) {
  json answer{{"events", std::move(events)}};
  if (record.status == RequestStatus::refused) {
    answer["error"] = "exceed_context_size_error";
    return answer;
  }
  answer["slot"] = record.slot;
  answer["cache_n"] = record.hit_tokens;
  answer["prompt_n"] = record.input_length - record.hit_tokens;
  answer["tokens_cached"] = replay.slots()[static_cast<std::size_t>(record.slot)].tokens();
  return answer;
}

/// Runs a file of records through the replay; "" where every field of every one is equal, else the first difference.
inline std::string difference_in_records(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const json head = json::parse(line);
  const json delimiters = head.value("delimiters", json::object());
  const auto user = delimiters.value("user", std::vector<std::int64_t>{});
  SlotReplay replay(settings_of(head));
  std::vector<json> told;
  replay.on_event = [&](const SlotEvent& event) { told.push_back(form_of(event)); };
  RecordedPrompts prompts;
  while (std::getline(file, line)) {
    const json record = json::parse(line);
    std::vector<std::int64_t> tokens = prompts.tokens_of(record.at("prompt"));
    const std::vector<TokenRun> prompt = runs_of_tokens(tokens);
    const std::vector<std::int64_t> starts = starts_of(tokens, user);
    const auto out = record.at("out").get<std::vector<std::int64_t>>();
    if (!out.empty()) tokens.insert(tokens.end(), out.begin(), out.end() - 1);
    prompts.generated(out);
    const std::vector<TokenRun> held = runs_of_tokens(tokens);
    const json opts = record.value("opts", json::object());
    SlotOptions options{.held = held, .reuses = opts.value("cache_prompt", true), .message_starts = starts};
    if (opts.contains("id_slot")) options.slot = opts["id_slot"].get<std::int64_t>();
    told.clear();
    const SlotRecord answer =
        replay.run({.index = record.at("i"), .input_length = std::ssize(prompt)}, prompt, options);
    const json ours = answer_of(answer, replay, with_last_listing(told));
    for (const auto& [key, value] : ours.items())
      if (!record.contains(key) || record[key] != value)
        return fmt::format("{}, request {}: {} is\n  {}\n  there it is\n  {}", path.filename().string(),
                           record["i"].dump(), key, value.dump(), record.value(key, json()).dump());
    if (record.contains("error") != ours.contains("error")) return fmt::format("request {}: error", record["i"].dump());
  }
  return "";
}

}  // namespace hybridkv::testing
