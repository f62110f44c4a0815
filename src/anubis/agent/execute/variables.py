"""Variables in a command: ``${NAME}`` and ``$(NAME)`` are replaced by values of the benchmark's environment.

Each word is expanded separately and not split afterwards, so a value with spaces stays one argument. A variable that is
not set is kept as written; ``$$(NAME)`` and ``$${NAME}`` become ``$(NAME)`` and ``${NAME}``, unexpanded, as in Kubernetes
(https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/). Every other
dollar sign is kept: in a shell ``$$`` is the process id.
"""

from __future__ import annotations

_CLOSES = {"{": "}", "(": ")"}


def expand(words: list[str], environment: dict[str, str]) -> list[str]:
    """The words with their variables replaced."""
    return [_expand(word, environment) if "$" in word else word for word in words]


def _expand(word: str, environment: dict[str, str]) -> str:
    done: list[str] = []
    at = 0
    while True:
        dollar = word.find("$", at)
        if dollar < 0:
            return "".join([*done, word[at:]])
        done.append(word[at:dollar])
        opened = word[dollar + 1 : dollar + 2]
        if opened == "$" and word[dollar + 2 : dollar + 3] in _CLOSES:
            done.append(word[dollar + 1 : dollar + 3])
            at = dollar + 3
            continue
        end = word.find(_CLOSES[opened], dollar) if opened in _CLOSES else -1
        name = word[dollar + 2 : end]
        if end > 0 and name in environment:
            done.append(environment[name])
            at = end + 1
        else:
            done.append("$")
            at = dollar + 1
