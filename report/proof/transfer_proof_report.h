#pragma once

#include <span>
#include <string>

#include "ask/transfer/transfer_proof.h"
#include "report/document.h"
#include "report/format.h"
#include "report/table.h"

namespace hybridkv {

/// Identifies the JSON of `transfer --verify`.
inline constexpr const char* transfer_proof_schema_id = "hybridkv-transfer-proof/1";

/// What `transfer --verify` says: both sides, each check with what it looked at and the error found, and in one
/// sentence what that shows; with a planted fault, where it was and which check caught it. Of several planted faults a
/// row each, what has no place between the sides apart, and as the last line how many of how many were caught.
/// Pre: at least one proof, of that transfer.
Document transfer_proof_report(const TransferAnswer& transfer, std::span<const TransferProof> proofs);

/// One row per proof and check.
Table transfer_proof_table(std::span<const TransferProof> proofs);

/// `transfer --verify --format FORMAT`: transfer_proof_report as text or Markdown, transfer_proof_table as csv, and as
/// json {schema, model, tokens, present_tokens, from, to, planted and caught (counts, with faults alone), runs:
/// [{fault, planted, no_place (where it has none), passed, checks[], descriptors, moved_bytes, written_bytes,
/// continued, reserved_bytes, resident_bytes, peak_process_bytes, list_seconds, copy_seconds, seconds}]}.
std::string render_transfer_proof(const TransferAnswer& transfer, std::span<const TransferProof> proofs, Format format,
                                  const Style& style = {});

}  // namespace hybridkv
