#include "ask/conform/slot_record.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "simulator/slots/slot_replay.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array slot_rules{
    ReplayRule{"replay.slot", RuleOf::prefixes,
               "the first slot that holds the largest share of the prompt, above "
               "engine.slot_prompt_similarity_percent; else the one used longest ago, the last of equals"},
    ReplayRule{"replay.saved", RuleOf::host_checkpoints,
               "with engine.cache_ram, what a slot holds is saved where less than half of it stays, and idle slots "
               "with engine.cache_idle_slots; not what an entry begins with, nor what is larger than the limit"},
    ReplayRule{"replay.loads", RuleOf::host_checkpoints,
               "an entry is loaded that shares a larger part of itself, at least a quarter, and of the prompt than the "
               "slot and the entries before it do"},
    ReplayRule{"replay.entries", RuleOf::host_checkpoints,
               "an entry goes where a saved prompt begins with it or it is loaded, and the oldest ones while all are "
               "larger than engine.cache_ram, or longer than the cells and what it holds by their mean"},
    ReplayRule{"replay.restored", RuleOf::prefixes,
               "a prompt that does not go on behind all that its slot holds takes the last checkpoint that lies before "
               "what they share"},
    ReplayRule{"replay.found", RuleOf::prefixes,
               "a prompt goes on from the end of its slot, from the checkpoint that is restored, or from its start; "
               "one as long as the context of a slot is refused"},
    ReplayRule{"replay.erased", RuleOf::host_checkpoints,
               "checkpoints go that are more than one token longer than what the prompt goes on from"},
    ReplayRule{"replay.steps", RuleOf::host_checkpoints,
               "a step ends with engine.batch_size, engine.ubatch_size + 4 tokens before the end of the prompt, and 4 "
               "tokens before it"},
    ReplayRule{"replay.made", RuleOf::host_checkpoints,
               "a checkpoint is made before the last step of a prompt, and before those that end less than "
               "engine.ubatch_size before its end"},
    ReplayRule{"replay.dropped", RuleOf::host_checkpoints,
               "once a list is full, at engine.ctx_checkpoints: those of other prompts nearer than "
               "engine.checkpoint_min_step to the one before them, then the oldest; and one of as many tokens"},
    ReplayRule{"replay.gave_way", RuleOf::cells,
               "where a step finds no cells, the first other slot that holds anything is cleared"},
    ReplayRule{"replay.computed", RuleOf::prefixes, "the tokens of the prompt that are not found"},
    ReplayRule{"replay.held", RuleOf::cells, "a slot keeps the prompt and what was generated but the last token"}};

/// Numbers of the events of one prompt by their kind.
class PromptEvents {
 public:
  explicit PromptEvents(std::vector<SlotEvent> events) : events_(std::move(events)) {}

  /// The tokens of all events of these kinds.
  Json tokens(std::initializer_list<SlotEventKind> kinds) const {
    Json list = Json::array();
    for (const SlotEvent& event : events_)
      if (std::find(kinds.begin(), kinds.end(), event.kind) != kinds.end()) list.push_back(event.tokens);
    return list;
  }
  /// Of what is saved in the end: an event before it says that it is to be.
  Json saved() const {
    Json list = Json::array();
    for (const SlotEvent& event : events_) {
      if (event.kind == SlotEventKind::save) list.push_back(event.tokens);
      if (event.kind == SlotEventKind::known || event.kind == SlotEventKind::too_big) list.erase(list.size() - 1);
    }
    return list;
  }
  Json slots(SlotEventKind kind) const {
    Json list = Json::array();
    for (const SlotEvent& event : events_)
      if (event.kind == kind) list.push_back(event.slot);
    return list;
  }
  bool has(SlotEventKind kind) const {
    return std::any_of(events_.begin(), events_.end(), [&](const SlotEvent& event) { return event.kind == kind; });
  }

 private:
  std::vector<SlotEvent> events_;
};

Json prompt_record(const SlotRecord& record, const PromptEvents& events, const SlotReplay& replay) {
  const bool is_run = record.status == RequestStatus::ok;
  const Json restored = events.tokens({SlotEventKind::restore});
  Json entries = Json::array();
  for (const SavedSequence& entry : replay.saved().entries()) entries.push_back(entry.tokens());
  return {{"slot", record.slot},
          {"saved", events.saved()},
          {"loads", events.has(SlotEventKind::found)},
          {"entries", std::move(entries)},
          {"restored", restored.empty() ? Json(0) : restored.front()},
          {"found", is_run ? record.hit_tokens : -1},
          {"erased", events.tokens({SlotEventKind::invalid})},
          {"steps", events.tokens({SlotEventKind::chunk})},
          {"made", events.tokens({SlotEventKind::create})},
          {"dropped", events.tokens({SlotEventKind::near, SlotEventKind::oldest, SlotEventKind::supersede})},
          {"gave_way", events.slots(SlotEventKind::purge)},
          {"computed", is_run ? record.input_length - record.hit_tokens : 0},
          {"held", replay.slots()[static_cast<std::size_t>(record.slot)].tokens()}};
}

}  // namespace

Json slot_record(const SlotSettings& settings, const std::vector<ConformPrompt>& prompts) {
  SlotReplay replay(settings);
  std::vector<SlotEvent> events;
  replay.on_event = [&](const SlotEvent& event) { events.push_back(event); };
  Json records = Json::array();
  const TraceBatch batch = trace_of(prompts);
  for (const TraceRequest& request : batch.requests) {
    events.clear();
    const SlotRecord record = replay.run(request, batch.prompt(request));
    records.push_back(prompt_record(record, PromptEvents(events), replay));
  }
  return records;
}

const ReplayRule* slot_rule_on(const std::string& figure) {
  const auto found = std::find_if(slot_rules.begin(), slot_rules.end(),
                                  [&](const ReplayRule& rule) { return rule.figure == figure; });
  return found == slot_rules.end() ? nullptr : &*found;
}

}  // namespace hybridkv
