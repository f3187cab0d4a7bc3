#include "search/workload.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/number_text.h"
#include "simulator/blocks/cache_geometry.h"
#include "simulator/losses/token_exact_bound.h"

namespace hybridkv {

WorkloadFacts read_workload(TraceSource& trace, std::int64_t max_model_len) {
  WorkloadFacts facts;
  TokenExactBound exact(max_model_len);
  for (TraceBatch batch; trace.next(batch);) {
    exact.consume(batch);
    facts.requests += std::ssize(batch.requests);
    for (const TraceRequest& request : batch.requests) {
      if (refused_for_length(request.input_length, max_model_len))
        ++facts.too_long_requests;
      else
        facts.longest_prompt_tokens = std::max(facts.longest_prompt_tokens, request.input_length);
    }
  }
  facts.prompt_tokens = exact.prompt_tokens();
  facts.repeated_tokens = exact.hit_tokens();
  facts.longest_repeat_tokens = exact.longest_hit();
  if (facts.requests == 0) throw InputError("the workload has no requests; nothing can be recommended");
  if (facts.too_long_requests == facts.requests)
    throw SpecError("limits.max_model_len",
                    fmt::format("{}: an engine refuses all {} requests of the workload, whose prompts are at "
                                "least that long; nothing can be recommended",
                                human_plural(max_model_len, "token"), facts.requests));
  return facts;
}

}  // namespace hybridkv
