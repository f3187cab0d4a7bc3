#pragma once

#include "ask/clock/timed_replay.h"

namespace hybridkv {

/// A number of the times of a replay, and what CSV and rows of sweeps call it.
struct TimesColumn {
  const char* name;
  double (*of)(const ServedTimes&);
};

inline constexpr TimesColumn times_columns[] = {
    {"first_token_mean_seconds", [](const ServedTimes& t) { return t.first_token.mean(); }},
    {"first_token_p50_seconds", [](const ServedTimes& t) { return t.first_token.quantile(0.5); }},
    {"first_token_p90_seconds", [](const ServedTimes& t) { return t.first_token.quantile(0.9); }},
    {"first_token_p99_seconds", [](const ServedTimes& t) { return t.first_token.quantile(0.99); }},
    {"output_token_mean_seconds", [](const ServedTimes& t) { return t.output_token.mean(); }},
    {"output_token_p90_seconds", [](const ServedTimes& t) { return t.output_token.quantile(0.9); }},
    {"end_to_end_mean_seconds", [](const ServedTimes& t) { return t.end_to_end.mean(); }},
    {"queueing_mean_seconds", [](const ServedTimes& t) { return t.queueing.mean(); }},
    {"good_requests", [](const ServedTimes& t) { return static_cast<double>(t.good_requests()); }},
    {"span_seconds", [](const ServedTimes& t) { return t.span_seconds(); }}};

}  // namespace hybridkv
