#pragma once

#include <string>

namespace hybridkv {

/// The page's front door: a question as JSON, {"ask": NAME, …} with the fields of PageQuestion, and the answer as JSON.
/// Names are
///
///   plan, explain, simulate, models   as these commands print with --format json; plan with {"kernels"}: web/kernels.h
///   compare   the same, with what each number is derived from: web/comparison.h
///   choices   what the controls offer: {models, gpus, keys: {key: {doc, values}}}
///   figures   the numbers of one layout with what each is derived from, and its pages: web/figures.h
///   card      {"path"}: what a card of a kernel is of: web/kernels.h
///   derivation  how a number of figures came about: web/derivation.h
///   budget    {"gpu", "utilization", "weights"}: what a GPU leaves to the cache: web/budget.h
///   rates     hit rates over memory for each setting, with what no policy passes
///   import    {"path"}: the model of a config.json
///   copies    the question as a command, as YAML and as Python: web/copies.h
///
/// What cannot be answered is {"error", "field", "place", "remedy"}. Never throws.
std::string page_answer(const std::string& question) noexcept;

}  // namespace hybridkv
