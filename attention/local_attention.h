#pragma once

#include <cstdint>

#include "attention/derived_metadata.h"
#include "attention/inputs.h"

namespace hybridkv {

/// Local (chunked) attention as virtual batches: every chunk of `chunk_tokens` positions that holds query tokens of a
/// request becomes a request of its own, whose context is what stands before them in the chunk. Full attention over
/// the virtual batch is attention under the mask `chunked_local` over the original one, so a backend that knows no
/// chunks computes it. Tokens and slot_mapping stay as they are; every row of the block table has the
/// chunk_tokens / block_size_tokens blocks of its chunk, columns beyond the original table repeat its last one and
/// lie behind the sequence. Requests without query tokens vanish; tokens before the sequence (more queries than
/// keys) join the first chunk.
/// Throws InputError for a chunk that the block size does not divide, metadata that is not causal, and as
/// `check_metadata`.
/// Source: Llama 4; make_local_attention_virtual_batches in vLLM's attention metadata utilities (PR 20466).
/// Example: chunk 4, query lengths {4, 10, 5} of sequences of {6, 17, 9} tokens, blocks of 2: query lengths
/// {2, 2, 1, 4, 4, 1, 4, 1} of sequences of {4, 2, 4, 4, 4, 1, 4, 1}.
DerivedMetadata local_attention_batches(const CommonAttentionMetadata& metadata, std::int64_t chunk_tokens);

/// The same for inputs whose mask is chunked_local: metadata and decodes of the virtual batch, the full mask.
/// Pre: the mask is chunked_local. Throws as `local_attention_batches`.
AttentionInputs local_attention_inputs(const AttentionInputs& inputs);

}  // namespace hybridkv
