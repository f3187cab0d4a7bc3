#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "planner/cell_type.h"
#include "planner/engine_spec.h"
#include "planner/own_settings.h"

namespace hybridkv {

/// Whether the kernel is used that does not lay V out by channels.
enum class FlashAttention { automatic, on, off };
inline constexpr auto flash_attention_names = std::to_array<std::string_view>({"auto", "on", "off"});

/// Who drafts.
enum class Drafter { mtp, eagle3, dflash, dspark, model, ngram };
inline constexpr auto drafter_names = std::to_array<std::string_view>(
    {"draft-mtp", "draft-eagle3", "draft-dflash", "draft-dspark", "draft-simple", "ngram"});

/// Settings of strategy sequence_rows.
namespace row_key {

/// Checkpoints of a sequence on the host.
inline constexpr Setting<std::int64_t> ctx_checkpoints{
    {.name = "ctx_checkpoints", .type = SettingType::count, .standard = 32, .least = 0, .most = largest_count}};
/// Tokens between them, once there are as many.
inline constexpr Setting<std::int64_t> checkpoint_min_step{
    {.name = "checkpoint_min_step", .type = SettingType::count, .standard = 8192, .least = 0, .most = 1'000'000}};
/// Cells asked for; else as many as the memory holds.
inline constexpr Setting<std::int64_t> ctx_size{{.name = "ctx_size", .most = largest_tokens}};
/// Do all sequences share the cells? Else each has its part. Unless set: where the number of sequences is not.
inline constexpr Setting<bool> kv_unified{{.name = "kv_unified", .type = SettingType::flag}};
/// Tokens of a step.
inline constexpr Setting<std::int64_t> batch_size{
    {.name = "batch_size", .standard = 2048, .most = largest_tokens}};
/// Tokens of a pass over the layers.
inline constexpr Setting<std::int64_t> ubatch_size{{.name = "ubatch_size", .standard = 512, .most = largest_tokens}};
/// MiB of prompts saved on the host; 0: none, -1: no limit.
inline constexpr Setting<std::int64_t> cache_ram{{.name = "cache_ram",
                                                  .type = SettingType::amount,
                                                  .standard = 8192,
                                                  .least = -1,
                                                  .most = std::int64_t(1) << 30}};
/// Are idle slots saved too?
inline constexpr Setting<bool> cache_idle_slots{
    {.name = "cache_idle_slots", .type = SettingType::flag, .standard = true}};
/// Share of a prompt that a slot must hold to be taken for it, in percent; 0: it is not asked.
inline constexpr Setting<std::int64_t> slot_prompt_similarity_percent{{.name = "slot_prompt_similarity_percent",
                                                                       .type = SettingType::amount,
                                                                       .standard = 10,
                                                                       .least = 0,
                                                                       .most = 100}};
/// Do layers with a window keep all tokens?
inline constexpr Setting<bool> swa_full{{.name = "swa_full", .type = SettingType::flag, .standard = false}};
/// Unless set: f32 or bf16 where engine.kv_dtype says so, else f16.
inline constexpr Setting<CellType> cache_type_k{
    {.name = "cache_type_k", .type = SettingType::choice, .choices = cell_type_names}};
inline constexpr Setting<CellType> cache_type_v{
    {.name = "cache_type_v", .type = SettingType::choice, .choices = cell_type_names}};
inline constexpr Setting<FlashAttention> flash_attn{
    {.name = "flash_attn", .type = SettingType::choice, .standard = 0, .choices = flash_attention_names}};
inline constexpr Setting<Drafter> spec_type{
    {.name = "spec_type", .type = SettingType::choice, .standard = 0, .choices = drafter_names}};

}  // namespace row_key

}  // namespace hybridkv
