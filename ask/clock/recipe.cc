#include "ask/clock/recipe.h"

#include <algorithm>

#include "base/checked.h"
#include "base/csv.h"
#include "engines/engine_clock.h"

namespace hybridkv {

std::vector<Recipe> read_recipes(const std::string& path) {
  std::vector<Recipe> recipes;
  for (CsvReader row = open_csv(path); row.next();) {
    const auto text = [&](const char* column) { return row.has(column) ? row.text(column) : std::string(); };
    const auto whole = [&](const char* column) { return row.has(column) ? row.whole(column) : 0; };
    Recipe recipe{.engine = row.text("engine"),
                  .model = row.text("model"),
                  .gpu = row.text("gpu"),
                  .weights = row.text("weights"),
                  .since = text("since"),
                  .gpus = row.whole("tensor_parallel"),
                  .below_gpus = whole("below_tensor_parallel"),
                  .input_tokens = whole("input_tokens"),
                  .output_tokens = whole("output_tokens"),
                  .least_concurrency = whole("least_concurrency"),
                  .below_concurrency = row.whole("below_concurrency"),
                  .drafts = row.whole("drafts"),
                  .least_ranks = row.whole("least_data_parallel"),
                  .budget = row.whole("budget"),
                  .budget_inputs = row.whole("budget_inputs"),
                  .budget_burst = row.whole("budget_burst")};
    recipe.rules.poll_steps = row.whole("poll_steps", 1);
    recipe.rules.most_running = row.whole("most_running");
    recipe.rules.whole_prompts = whole("whole_prompts") > 0;
    recipe.rules.wait_steps = whole("wait_steps");
    recipe.rules.wait_share = row.has("wait_share") ? row.number("wait_share") : 0;
    recipe.rules.balance_steps = whole("balance_steps");
    recipes.push_back(recipe);
  }
  return recipes;
}

bool Recipe::fits(const MeasuredRow& row, bool has_drafts) const {
  const LoadTest& test = row.run.test;
  const auto is = [](std::int64_t wanted, std::int64_t value) { return wanted == 0 || wanted == value; };
  const auto below = [](std::int64_t end, std::int64_t value) { return end == 0 || value < end; };
  return engine == row.engine->clock->name && row.model.find(model) != std::string::npos &&
         row.gpu.starts_with(gpu) && row.weights.find(weights) != std::string::npos &&
         (row.measured.empty() || row.measured >= since) && is(gpus, row.run.split.gpus) &&
         below(below_gpus, row.run.split.gpus) && is(input_tokens, test.input_tokens) &&
         is(output_tokens, test.output_tokens) && test.concurrency >= least_concurrency &&
         below(below_concurrency, test.concurrency) && (drafts == 0 || has_drafts) &&
         row.run.rules.ranks >= least_ranks;
}

void Recipe::apply(const LoadTest& test, LoopRules& to) const {
  to.drafts.tokens = drafts;
  if (budget > 0) to.budget = budget;
  if (budget_inputs > 0) to.budget = budget_inputs * test.input_tokens;
  if (budget_burst > 0)
    to.budget = std::max(budget, ceil_div(test.concurrency, to.ranks) * to.drafts.rows() + test.input_tokens +
                                     budget_burst);
  to.poll_steps = rules.poll_steps;
  if (rules.most_running > 0) to.most_running = rules.most_running;
  to.whole_prompts = rules.whole_prompts;
  to.wait_steps = rules.wait_steps;
  to.wait_share = rules.wait_share;
  to.balance_steps = rules.balance_steps;
}

const Recipe* recipe_of(const std::vector<Recipe>& recipes, const MeasuredRow& row, bool has_drafts) {
  const auto found = std::find_if(recipes.begin(), recipes.end(),
                                  [&](const Recipe& recipe) { return recipe.fits(row, has_drafts); });
  return found == recipes.end() ? nullptr : &*found;
}

}  // namespace hybridkv
