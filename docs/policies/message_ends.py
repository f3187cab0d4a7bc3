"""Keeps states where messages end and nowhere else: the last state of every prompt, and those where prompts part. What
its own conversation has passed goes first, then what nobody went on from for longest."""


class MessageEnds:
    def __init__(self, most_behind=4096):
        self.most_behind = most_behind

    def keeps(self, prefix):
        return prefix.prompt_tokens - prefix.tokens <= self.most_behind or prefix.branches > 1

    def rank(self, prefix):
        passed = prefix.longer and prefix.uses <= 1 and prefix.branches <= 1
        return prefix.last_use - (1e9 if passed else 0)
