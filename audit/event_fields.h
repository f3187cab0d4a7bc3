#pragma once

#include <type_traits>

#include "audit/event.h"
#include "audit/recording.h"

namespace hybridkv {

/// The fields of every line of a recording, for what reads them and what writes them: an archive takes a field that
/// must be there by `required`, another by `optional` with the value that its absence means.

template <class Archive>
void fields(Archive& archive, RecordedArena& arena) {
  archive.required("blocks", arena.blocks);
  archive.optional("null_block", arena.null_block, 0);
}

template <class Archive>
void fields(Archive& archive, RecordedGroup& group) {
  archive.required("kind", group.kind, recorded_kind_names);
  archive.optional("states", group.states, recorded_states_names, RecordedStates::align);
  archive.optional("layers", group.layers);
  archive.required("block_tokens", group.block_tokens);
  archive.optional("block_bytes", group.block_bytes, 0);
  archive.optional("dtype", group.dtype);
  archive.optional("arena", group.arena, 0);
  archive.optional("window_tokens", group.window_tokens, 0);
}

template <class Archive>
void fields(Archive& archive, Recording& recording) {
  archive.required("hybridkv_recording", recording.version);
  archive.optional("engine", recording.engine);
  archive.optional("sampled", recording.sampled, false);
  archive.optional("cold", recording.cold, true);
  archive.optional("ranks", recording.ranks, 1);
  archive.required("unit_tokens", recording.unit_tokens);
  archive.required("arenas", recording.arenas);
  archive.required("groups", recording.groups);
}

template <class Archive>
void fields(Archive& archive, StepEvent& event) {
  archive.required("step", event.step);
}

template <class Archive>
void fields(Archive& archive, RequestEvent& event) {
  archive.required("request", event.request);
  archive.required("prompt_tokens", event.prompt_tokens);
  archive.optional("keys", event.keys);
}

template <class Archive>
void fields(Archive& archive, KeysEvent& event) {
  archive.required("request", event.request);
  archive.required("keys", event.keys);
}

template <class Archive>
void fields(Archive& archive, HitEvent& event) {
  archive.required("request", event.request);
  archive.required("tokens", event.tokens);
  archive.optional("groups", event.groups);
}

template <class Archive>
void fields(Archive& archive, TableEvent& event) {
  archive.required("request", event.request);
  archive.required("group", event.group);
  archive.required("first", event.first);
  archive.required("blocks", event.blocks);
}

template <class Archive>
void fields(Archive& archive, FreeEvent& event) {
  archive.required("request", event.request);
  archive.required("group", event.group);
  archive.required("blocks", event.blocks);
}

template <class Archive>
void fields(Archive& archive, EndEvent& event) {
  archive.required("request", event.request);
}

template <class Archive>
void fields(Archive& archive, PreemptEvent& event) {
  archive.required("request", event.request);
}

template <class Archive>
void fields(Archive& archive, CopyEvent& event) {
  archive.optional("request", event.request, -1);
  archive.required("group", event.group);
  archive.required("from", event.from);
  archive.required("to", event.to);
}

template <class Archive>
void fields(Archive& archive, ZeroEvent& event) {
  archive.required("group", event.group);
  archive.required("blocks", event.blocks);
}

template <class Archive>
void fields(Archive& archive, RecordedStateWrite& write) {
  archive.required("block", write.block);
  archive.required("tokens", write.tokens);
}

template <class Archive>
void fields(Archive& archive, RecordedStateUse& use) {
  archive.required("group", use.group);
  archive.optional("from", use.from, -1);
  archive.optional("to", use.to);
}

template <class Archive>
void fields(Archive& archive, RecordedRun& run) {
  archive.required("request", run.request);
  archive.required("start", run.start);
  archive.required("tokens", run.tokens);
  archive.optional("drafts", run.drafts, 0);
  archive.optional("exported", run.exported, 0);
  archive.optional("states", run.states);
}

template <class Archive>
void fields(Archive& archive, ComputeEvent& event) {
  archive.required("runs", event.runs);
}

template <class Archive>
void fields(Archive& archive, AcceptEvent& event) {
  archive.required("request", event.request);
  archive.required("drafts", event.drafts);
}

template <class Archive>
void fields(Archive& archive, StoreEvent& event) {
  archive.optional("request", event.request, -1);
  archive.required("object", event.object);
  archive.optional("rank", event.rank, 0);
  archive.required("group", event.group);
  archive.required("block", event.block);
  archive.required("bytes", event.bytes);
  archive.optional("dtype", event.dtype);
  archive.optional("begun", event.is_begun, false);
}

template <class Archive>
void fields(Archive& archive, StoredEvent& event) {
  archive.required("object", event.object);
}

template <class Archive>
void fields(Archive& archive, LoadEvent& event) {
  archive.optional("request", event.request, -1);
  archive.required("object", event.object);
  archive.optional("rank", event.rank, 0);
  archive.required("group", event.group);
  archive.required("block", event.block);
  archive.required("bytes", event.bytes);
  archive.optional("tokens", event.tokens, -1);
}

template <class Archive>
void fields(Archive& archive, DropEvent& event) {
  archive.required("object", event.object);
}

template <class Archive>
void fields(Archive& archive, RegionEvent& event) {
  archive.optional("rank", event.rank, 0);
  archive.required("group", event.group);
  archive.required("bytes", event.bytes);
}

/// The words of field "event", with an event of each to begin with.
struct NamedEvent {
  std::string_view name;
  RecordedEvent blank;
};

inline const std::vector<NamedEvent>& named_events() {
  static const std::vector<NamedEvent> names{{"step", StepEvent{}},
                                             {"request", RequestEvent{}},
                                             {"keys", KeysEvent{}},
                                             {"hit", HitEvent{}},
                                             {"take", TableEvent{TableChange::taken}},
                                             {"find", TableEvent{TableChange::found}},
                                             {"move", TableEvent{TableChange::moved}},
                                             {"free", FreeEvent{}},
                                             {"end", EndEvent{}},
                                             {"preempt", PreemptEvent{}},
                                             {"copy", CopyEvent{}},
                                             {"zero", ZeroEvent{}},
                                             {"compute", ComputeEvent{}},
                                             {"accept", AcceptEvent{}},
                                             {"store", StoreEvent{}},
                                             {"stored", StoredEvent{}},
                                             {"load", LoadEvent{}},
                                             {"drop", DropEvent{}},
                                             {"region", RegionEvent{}}};
  return names;
}

}  // namespace hybridkv
