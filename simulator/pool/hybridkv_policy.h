#ifndef HYBRIDKV_POLICY_H
#define HYBRIDKV_POLICY_H

/* A policy of one's own, compiled: a shared library in C, or in anything that speaks it, for
 * `hybridkv simulate --policy FILE`. It decides which kept prefix goes when memory is short, and of which prefixes
 * states are kept. It knows what happened, never what comes. docs/research.md has examples. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HYBRIDKV_POLICY_VERSION 1

/* What a policy may know of a prefix whose states are there. Time is counted in requests. */
typedef struct hybridkv_prefix {
  int64_t id;            /* its own among all that are known; another one's once it is forgotten */
  int64_t tokens;        /* it stands for, >= 1 */
  int64_t saved_tokens;  /* computed again where it is lost: those behind the next shorter prefix kept, >= 1 */
  double memory_tokens;  /* tokens whose K and V take the memory that goes with it; 0 where it is gone */
  int64_t uses;          /* requests that went on from it, also while its states were gone */
  int64_t turn;          /* prefixes known before on its path, and itself */
  int64_t prompt_tokens; /* of the request that made it: equal to or more than tokens */
  int64_t branches;      /* ways in which prompts went on behind it */
  int64_t longer;        /* of these, on which a longer prefix is kept */
  int64_t made;          /* requests that had come when its states were first made */
  int64_t last_use;      /* the same at its last use, or when it was last made */
  int64_t now;           /* requests that came so far */
} hybridkv_prefix;

/* What a library fills in. Functions get `self` first; a prefix is good until the function returns. */
typedef struct hybridkv_policy {
  void *self;
  /* The kept prefix of the lowest rank goes first: a number, not NaN. Asked when a prefix becomes kept or is used, and
   * once more when it comes up to go. Never null. */
  double (*rank)(void *self, const hybridkv_prefix *prefix);
  /* Are the states of a new prefix kept? 0: they go first. Null: all are. */
  int (*keeps)(void *self, const hybridkv_prefix *prefix);
  /* A request goes on from a prefix, whose uses count it already. Null: nobody is told. */
  void (*used)(void *self, const hybridkv_prefix *prefix);
  /* A kept prefix was chosen to go. Null: nobody is told. */
  void (*went)(void *self, const hybridkv_prefix *prefix);
  /* The replay has ended. Null: there is nothing to give back. */
  void (*destroy)(void *self);
} hybridkv_policy;

/* What a library has under this name: fills in a policy, which is null all over before, for one replay of its own.
 * `version` is HYBRIDKV_POLICY_VERSION of the program, `settings` the text of --policy-settings, "" without it.
 * Returns null, or why there is none, in words that stay good. */
const char *hybridkv_make_policy(uint32_t version, const char *settings, hybridkv_policy *policy);

#ifdef __cplusplus
}
#endif

#endif
