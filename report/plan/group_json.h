#pragma once

#include "planner/allocated_tensors.h"
#include "report/plan/arena_json.h"

namespace hybridkv {

template <class Archive, Is<PagesInLane> T>
void fields(Archive& archive, T& pages) {
  archive.named("pages_in_lane", "Pages side by side in the pieces of a lane.");
  archive("offset_bytes", pages.first, "Of page 0 in a piece.");
  archive("bytes", pages.bytes, "Of a page.");
}

template <class Archive, Is<GroupPlan> T>
void fields(Archive& archive, T& group) {
  archive.named("group", "Layers that share one block table; page j of every group lies in pool j.");
  archive("spec", group.spec, "Id of its spec.");
  archive.derived("layers", [&group] { return group.layers(); }, "All layers of the group, in pool order.");
  archive("padding_slots", group.padding_positions, "Pool positions that the group leaves empty.");
  archive("pages", group.pages, "Per pool position, the layers of that page in pack order.");
  archive.unless_default("arena", group.arena.value, "Position in arenas of its ids; default 0.");
  archive.unless_default("first_lane", group.first_lane.value, "Lane of its page 0; page j is j lanes on. Default 0.");
  archive.unless("ids_per_entry", group.ids_per_entry, 1,
                 {"Ids of one table entry; default 1. More where a state lies in several pages.", 1});
  archive.unless("entries_per_id", group.entries_per_id, 1,
                 {"Table entries in one id; default 1. More where large pages are split among small ones.", 1});
  archive.unless_default("shares_table", group.shares_table,
                         "True where its table and ids are those of the group before it; default false.");
  archive.unless("lanes_per_page", group.lanes_per_page, 1,
                 {"Lanes over which a page is spread; default 1. One a head where heads are outside the blocks.", 1});
  archive.unless_default("in_lane", group.in_lane,
                         "Where its pages lie side by side in the pieces of its first lane; default: a lane a page.");
  archive.unless_default("drafts", group.drafts,
                         "True where its table holds layers of a drafter, here or on another stage; default false.");
  archive.unless_default("hole_bytes", group.hole_bytes, "Of an id, that no page of its table uses; default 0.");
  archive.unless_default("tensor", group.tensor,
                         "Which tensor of the state lies here alone; default: all, one behind the other.");
}

template <class Archive, Is<AllocatedTensor> T>
void fields(Archive& archive, T& tensor) {
  archive.named("tensor_of_allocation",
                 "Layers of a group: layer i of block b begins at offset_bytes + i * layer_stride + b * block_stride.");
  archive("layers", tensor.layers, "Layer numbers.");
  archive("layer_stride", tensor.layer_stride, "Bytes from a layer to the next.");
  archive("block_stride", tensor.block_stride, "Bytes from a block to the next.");
  archive("offset_bytes", tensor.offset_bytes, "Of its first layer.");
  archive("size_bytes", tensor.size_bytes, "Of the allocation.");
}

template <class Archive, Is<LanePlan> T>
void fields(Archive& archive, T& lane) {
  archive.named("lane", "Id i of its arena owns the bytes offset + i * stride to + bytes of its pool.");
  archive("arena", lane.arena.value, "Position in arenas.");
  archive("pool", lane.pool.value, "Position in pools.");
  archive("offset", lane.offset, "Of id 0, from the front of the pool.");
  archive("stride", lane.stride, "Bytes from one id's piece to the next one's.");
  archive("bytes", lane.bytes, "Of one piece.");
}

template <class Archive, Is<LayerRef> T>
void fields(Archive& archive, T& layer) {
  archive.named("layer", "One layer of one spec.");
  archive("spec", layer.spec, "Id of the spec.");
  archive("layer", layer.layer, "Layer number.");
}

template <class Archive, Is<SharedLayer> T>
void fields(Archive& archive, T& shared) {
  archive.named("shared_layer", "A layer that reads the K and V of another one.");
  archive("layer", shared.layer, "Layer number.");
  archive("source", shared.source, "The layer that it reads, an earlier one.");
}

template <class Archive, Is<PoolPlan> T>
void fields(Archive& archive, T& pool) {
  archive.named("pool", "One allocation.");
  archive("bytes", pool.bytes,
          "num_blocks * page_bytes, of one allocation of all layers num_blocks * bytes_per_block.");
  archive("page_bytes", pool.page_bytes, "P.");
  archive("shared_by", pool.shared_by, "The layers in it, in the order of the groups.");
}

template <class Archive, Is<ExtraPlan> T>
void fields(Archive& archive, T& extra) {
  archive.named("extra", "Memory beside the pages, per block (an indexer) or per request (a ring).");
  archive("what", extra.what, "What it is for.");
  archive.unless_default("bytes_per_block", extra.bytes_per_block, "Added to every block id, outside the page.");
  archive.unless_default("blocks_per_request", extra.blocks_per_request, "Block ids added to every request.");
}

}  // namespace hybridkv
