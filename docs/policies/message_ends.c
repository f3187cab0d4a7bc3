/* Keeps states where messages end and nowhere else: the last state of every prompt, of the checkpoints that engines make
 * on the way only those at which prompts were seen to part. What its own conversation has passed goes first, then what nobody
 * went on from for longest.
 *
 * --policy-settings N: a state counts as the last one where at most N tokens of the prompt lie behind it; default 4096.
 */
#include <stdint.h>
#include <stdlib.h>

#include "hybridkv_policy.h"

typedef struct {
  int64_t most_behind;
} message_ends;

static double rank(void *self, const hybridkv_prefix *prefix) {
  (void)self;
  const int passed = prefix->longer > 0 && prefix->uses <= 1 && prefix->branches <= 1;
  return (double)prefix->last_use - (passed ? 1e9 : 0);
}

static int keeps(void *self, const hybridkv_prefix *prefix) {
  const message_ends *settings = self;
  return prefix->prompt_tokens - prefix->tokens <= settings->most_behind || prefix->branches > 1;
}

const char *hybridkv_make_policy(uint32_t version, const char *text, hybridkv_policy *policy) {
  if (version != HYBRIDKV_POLICY_VERSION) return "it was compiled for another version of hybridkv_policy.h";
  char *end;
  const int64_t most_behind = *text == '\0' ? 4096 : strtoll(text, &end, 10);
  if (*text != '\0' && (*end != '\0' || most_behind < 0)) return "the settings are a number of tokens, 0 or more";
  message_ends *self = malloc(sizeof *self);
  if (self == NULL) return "no memory";
  self->most_behind = most_behind;
  policy->self = self;
  policy->rank = rank;
  policy->keeps = keeps;
  policy->destroy = free;
  return NULL;
}
