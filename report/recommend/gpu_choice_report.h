#pragma once

#include <span>
#include <string>

#include "ask/clock/gpu_choice.h"
#include "report/document.h"
#include "report/format.h"

namespace hybridkv {

/// Identifies the JSON of `recommend --gpu`.
inline constexpr const char* gpu_choice_schema_id = "hybridkv-gpu-choice/1";

/// Which GPUs to take and how, what else was tried, under which assumptions, and the commands that say the numbers
/// again. Pre: one engine answers.
Document gpu_choice_report(std::span<const EngineGpuChoice> engines);

/// `recommend --gpu … --format FORMAT` of one engine: gpu_choice_report for people, a row for every deployment tried as
/// csv, all of it as json.
std::string render_gpu_choice(const EngineGpuChoice& engine, Format format, const Style& style = {});

}  // namespace hybridkv
