"""A prefix lives for `ttl` requests after its last use, once more for every use that it had; what dies first goes first.
A state that only its own conversation has passed goes before all others: its next turn begins behind a longer one."""


class TimeToLive:
    def __init__(self, ttl=200):
        self.ttl = ttl

    def rank(self, prefix):
        passed = prefix.longer and prefix.uses <= 1 and prefix.branches <= 1
        return prefix.last_use + (0 if passed else self.ttl * (1 + prefix.uses))
