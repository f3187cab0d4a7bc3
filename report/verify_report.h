#pragma once

#include <span>
#include <string>

#include "report/document.h"
#include "report/format.h"
#include "verify/verify.h"

namespace hybridkv {

/// Identifies the JSON of `verify`.
inline constexpr const char* verify_schema_id = "hybridkv-verify/1";

/// What `verify` says: per plan the batch, one row per check with what it looked at and the error found, and in one
/// sentence what that shows; with a planted fault, which check caught it and where.
/// Pre: at least one report.
Document verify_report(const std::string& model, std::span<const VerifyReport> reports);

/// One row per plan and check.
Table verify_table(std::span<const VerifyReport> reports);

/// `verify --format FORMAT`: verify_report as text or Markdown, verify_table as csv, and as json {schema, model,
/// runs: [{attention_pack_size, fault, passed, requests[], checks[], reserved_bytes, resident_bytes,
/// peak_process_bytes, max_element_offset, seconds}]}.
std::string render_verify(const std::string& model, std::span<const VerifyReport> reports, Format format,
                          const Style& style = {});

}  // namespace hybridkv
