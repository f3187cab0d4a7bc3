"""Prompts as a request tells of them: the content and the number of tokens of every part."""

CONTENT = 1 << 20  # more tokens than a prompt has: no two contents share a token, and none is that of an answer


def tokens_of(prompt):
    """A token is a function of its content and of its position in the prompt."""
    tokens = []
    for content, count in prompt:
        tokens += range(content * CONTENT + len(tokens), content * CONTENT + len(tokens) + count)
    return tokens
