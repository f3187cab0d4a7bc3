#pragma once

#include <span>
#include <string>

#include "ask/verify.h"
#include "report/document.h"
#include "report/format.h"

namespace hybridkv {

/// Identifies the JSON of `verify`.
inline constexpr const char* verify_schema_id = "hybridkv-verify/1";

/// Whose plans were verified.
struct VerifiedPlans {
  std::string model;
  std::string rules;  ///< rules_text
};

/// What `verify` says: per plan the batch, one row per check with what it looked at and the error found, and in one
/// sentence what that shows; with a planted fault, which check caught it and where. Of several planted faults one row
/// each, what has no place in the plan apart, and as the last line how many of how many were caught.
/// Pre: at least one report.
Document verify_report(const VerifiedPlans& plans, std::span<const VerifyReport> reports);

/// One row per plan and check.
Table verify_table(std::span<const VerifyReport> reports);

/// `verify --format FORMAT`: verify_report as text or Markdown, verify_table as csv, and as json {schema, model,
/// rules, planted and caught (counts, with faults alone), runs: [{attention_pack_size, fault, no_place (where it has
/// none), passed, requests[], checks[], reserved_bytes, resident_bytes, peak_process_bytes, max_element_offset,
/// seconds}]}.
std::string render_verify(const VerifiedPlans& plans, std::span<const VerifyReport> reports, Format format,
                          const Style& style = {});

}  // namespace hybridkv
