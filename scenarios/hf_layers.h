#pragma once

#include "scenarios/hf_fields.h"

namespace hybridkv {

/// Adds to the tree of a model file what a published config says of its layers: the keys `kinds` and `layers`, and what
/// goes with them (`auxiliary`, the rings of indexers). Each kind is read from the fields of its layers, those that
/// per_layer_config gives a layer first; layers that say the same share a kind.
/// Layers that read the K and V of others (num_kv_shared_layers, kv_source_layers) are of type shared_kv.
/// Throws InputError at the field for a layer that cannot be read, and for kinds of cache that are not planned, by
/// name.
void add_hf_layers(YamlNode& model, const HfFields& fields);

}  // namespace hybridkv
