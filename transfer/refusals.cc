#include "transfer/refusals.h"

#include <fmt/format.h>

#include <cmath>

namespace hybridkv {

namespace {

/// Binary digits of a number of the type, the leading one included; of integers those of their range.
int digits_of(DType dtype) {
  switch (dtype) {
    case DType::fp32: return 24;
    case DType::fp16: return 11;
    case DType::bf16: return 8;
    case DType::fp8_e4m3: return 4;
    case DType::fp8_e5m2: return 3;
    default: return 8;
  }
}

const char* dtype_key(const HeldTensor& tensor) {
  if (tensor.key.tensor == "conv") return "to.engine.conv_dtype";
  if (tensor.key.tensor == "ssm") return "to.engine.ssm_dtype";
  return "to.engine.kv_dtype";
}

const char* what_of(const HeldTensor& tensor) {
  if (tensor.key.tensor == "conv") return "convolution states";
  if (tensor.key.tensor == "ssm") return "recurrent states";
  return tensor.key.kind == TensorClass::attention ? "K and V" : "entries";
}

std::string format_text(const HeldTensor& tensor) {
  const auto& format = tensor.spec->attention->format;
  return std::string(format ? to_string(*format) : to_string(tensor.dtype()));
}

void check_formats(const HeldTensor& from, const HeldTensor& to) {
  if (!from.is_by_token() || from.spec->attention->format == to.spec->attention->format) return;
  throw SpecError("to.engine.kv_format",
                  fmt::format("K and V of {} are {} at the source and {} at the destination: a format that keeps "
                              "scales beside the values is no element type, and nothing on the way computes scales; "
                              "give both sides the same",
                              tensor_label(from.key), format_text(from), format_text(to)));
}

/// Numbers beyond those of the type; empty where it has the range of fp32.
std::string range_text(DType dtype) {
  switch (dtype) {
    case DType::fp16: return "; what is beyond 65504 becomes infinite";
    case DType::fp8_e4m3: return "; what is beyond 448 becomes 448";
    case DType::fp8_e5m2: return "; what is beyond 57344 becomes 57344";
    default: return "";
  }
}

bool is_integer(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }

void check_dtypes(const HeldTensor& from, const HeldTensor& to, const TransferOptions& options) {
  if (from.dtype() == to.dtype()) return;
  if (is_integer(from.dtype()) || is_integer(to.dtype()))
    throw SpecError(dtype_key(to), fmt::format("{} of {} are {} at the source and {} at the destination: integers mean "
                                               "numbers by a scale that is not in the cache; give both sides one type",
                                               what_of(to), tensor_label(to.key), to_string(from.dtype()),
                                               to_string(to.dtype())));
  if (options.converts_dtypes) return;
  throw SpecError(dtype_key(to),
                  fmt::format("{} of {} are {} at the source and {} at the destination: copied bytes would be other "
                              "numbers there, and the engines say nothing; give both sides one type, or convert on the "
                              "way (--convert dtype): {}",
                              what_of(to), tensor_label(to.key), to_string(from.dtype()), to_string(to.dtype()),
                              conversion_text(from.dtype(), to.dtype())));
}

/// Which of the two axes of a convolution state lies inside; channels where there is but one step.
bool channels_inside(const HeldTensor& tensor) {
  const Layout& layout = tensor.state_tensor().layout;
  return layout.stride("channel") <= layout.stride("step") || layout.extent("step") == 1;
}

void check_axes(const HeldTensor& from, const HeldTensor& to, const TransferOptions& options) {
  if (from.key.tensor != "conv" || options.exchanges_axes) return;
  if (channels_inside(from) == channels_inside(to)) return;
  const auto text = [](const HeldTensor& side) {
    return channels_inside(side) ? "(step, channel)" : "(channel, step)";
  };
  throw SpecError("to.engine.conv_state_layout",
                  fmt::format("convolution states of {} are {} at the source and {} at the destination: the same bytes "
                              "in another order; give both sides one layout, or turn them on the way (--convert axes), "
                              "which copies element by element",
                              tensor_label(from.key), text(from), text(to)));
}

/// Axes that no rank splits have to be the same: (value, key) of a gdn state.
void check_shapes(const HeldTensor& from, const HeldTensor& to) {
  if (from.is_by_token()) {
    const AttentionGeometry& a = *from.spec->attention;
    const AttentionGeometry& b = *to.spec->attention;
    if (a.head_size_k == b.head_size_k && a.head_size_v == b.head_size_v) return;
    throw SpecError("to.model", fmt::format("{} has heads of {} and {} at the source and of {} and {} at the "
                                            "destination; transfers are between deployments of one model",
                                            tensor_label(from.key), a.head_size_k, a.head_size_v, b.head_size_k,
                                            b.head_size_v));
  }
  if (from.key.kind == TensorClass::ring) {
    if (from.state_tensor().layout == to.state_tensor().layout) return;
    throw SpecError("to.engine.speculative_tokens",
                    fmt::format("the ring of {} keeps {} tokens at the source and {} at the destination, so a token "
                                "has another place in it; give both sides the same number of drafts",
                                tensor_label(from.key), from.spec->ring_tokens, to.spec->ring_tokens));
  }
  if (from.set->recurrent->index() == to.set->recurrent->index()) return;
  throw SpecError("to.model", fmt::format("{} is a {} layer at the source and a {} layer at the destination; transfers "
                                          "are between deployments of one model",
                                          tensor_label(from.key), family_name(*from.set->recurrent),
                                          family_name(*to.set->recurrent)));
}

}  // namespace

double rounding_error(DType from, DType to) {
  return digits_of(to) >= digits_of(from) ? 0 : std::ldexp(1.0, -digits_of(to));
}

std::string conversion_text(DType from, DType to) {
  const double error = rounding_error(from, to);
  const std::string digits = error == 0 ? "no digit is lost"
                                        : fmt::format("each value is rounded once, by at most 2^{:.0f} = {:.2g} % of "
                                                      "it", std::log2(error), 100 * error);
  return digits + range_text(to);
}

void check_exchange(const HeldTensor& from, const HeldTensor& to, const TransferOptions& options) {
  check_formats(from, to);
  check_shapes(from, to);
  check_dtypes(from, to, options);
  check_axes(from, to, options);
}

void refuse_missing(const HeldTensor& missing) {
  const bool draft = missing.key.draft;
  throw SpecError(draft ? "from.engine.draft" : "from.engine.mtp_layers",
                  fmt::format("the destination keeps {} and the source does not, so after the move it would hold what "
                              "no one computed; run the {} on both sides, or on neither",
                              tensor_label(missing.key), draft ? "draft model" : "drafter or auxiliary layer"));
}

void check_shares(const HeldTensor& tensor, std::int64_t ranks, const char* side) {
  std::int64_t of_rank = 0, whole = 0;
  for (const SharedParts& shared : shared_parts(tensor)) {
    if (!can_share(shared.parts, ranks))
      throw SpecError(fmt::format("{}.engine.tensor_parallel", side),
                      fmt::format("{} ranks cannot share the {} heads or groups of {} in equal parts, so which rank "
                                  "has which is the engine's secret; take a divisor of {} or a multiple",
                                  ranks, shared.parts, tensor_label(tensor.key), shared.parts));
    of_rank += rank_share(shared.parts, ranks, 0).count * shared.elements;
    whole += shared.parts * shared.elements;
  }
  std::int64_t held = 0;
  if (tensor.is_by_token())
    held = tensor.spec->attention->kv_heads;
  else if (tensor.key.tensor == "conv")
    held = tensor.state_tensor().layout.extent("channel");
  else
    held = tensor.state_tensor().layout[0].extent;
  if (held == of_rank) return;
  throw SpecError(fmt::format("{}.engine.pad_heads", side),
                  fmt::format("a rank keeps {} heads or channels of {}, where {} of {} are its share: this side pads "
                              "or repeats heads, and no rule says which of them the other side has; take a number of "
                              "ranks that needs no padding",
                              held, tensor_label(tensor.key), of_rank, whole));
}

}  // namespace hybridkv
