#pragma once

#include <string>

#include "ask/audit.h"
#include "report/format.h"

namespace hybridkv {

/// What is wrong as one sentence: "request 17 reads layer 3's state of another prefix, written by request 4 in step
/// 812".
std::string finding_text(const OwnershipFinding& finding, const Recording& recording);

/// `audit --format FORMAT`: the verdict, what is wrong and where, what was checked, what the recording cannot prove;
/// csv: the findings alone.
std::string render_audit(const AuditAnswer& answer, Format format, const Style& style = {});

}  // namespace hybridkv
