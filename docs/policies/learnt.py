"""Learns from what happened whether prefixes of a kind come back: a logistic regression, one step for each prefix that
came back or went. Pass the weights that one replay ends with to the next to keep what was learnt."""

import math


class Learnt:
    def __init__(self, weights=(0.0,) * 6, rate=0.02, horizon=100):
        self.weights = list(weights)
        self.rate, self.horizon = rate, horizon
        self.waiting = {}  # what was known of a prefix when it began to wait, by its id

    @staticmethod
    def known(prefix):
        behind = prefix.prompt_tokens - prefix.tokens
        return (1.0, math.log(prefix.uses + 1), math.log(prefix.turn), math.log(prefix.tokens) - 8,
                math.log(behind + 1) - 4, 1.0 if prefix.longer and prefix.branches <= 1 else 0.0)

    def chance(self, known):
        return 1 / (1 + math.exp(-sum(w * x for w, x in zip(self.weights, known))))

    def learn(self, id, came_back):
        known = self.waiting.pop(id, None)
        if known is not None:
            step = self.rate * (came_back - self.chance(known))
            self.weights = [w + step * x for w, x in zip(self.weights, known)]

    def keeps(self, prefix):
        self.waiting[prefix.id] = self.known(prefix)
        return True

    def used(self, prefix):
        self.learn(prefix.id, 1)
        self.waiting[prefix.id] = self.known(prefix)

    def went(self, prefix):
        self.learn(prefix.id, 0)

    def rank(self, prefix):
        worth = self.chance(self.known(prefix)) * prefix.saved_tokens / prefix.memory_tokens
        return prefix.last_use + self.horizon * math.log(worth)
