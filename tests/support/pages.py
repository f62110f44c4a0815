"""The commands that a page shows, run in order as a reader would type them.

Comments of a page, above a block, say what cannot be seen in it:

    <!-- file: guess.py -->        the block is the content of this file
    <!-- exit: 2 -->               the last command of the block ends with this exit status
    <!-- not tried: a reason -->   the commands need what a test cannot have
    <!-- differs: a reason -->     the output is different for each machine

A verdict is a result and not a failure: ``anubis compare`` and ``anubis check`` may also end with 3 and 4.
"""

import re
import shlex
import subprocess
from dataclasses import dataclass

BLOCK = re.compile(r"((?:^<!-- .*? -->\n)*)^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!-- (file|exit|not tried|differs): (.*?) -->")
VERDICT = re.compile(r"\banubis (compare|check)\b")


@dataclass(frozen=True)
class Block:
    """A code block of a page with its comments."""

    language: str
    text: str
    comments: dict

    @property
    def is_tried(self):
        return self.language in {"sh", "console"} and not {"file", "not tried"} & self.comments.keys()

    def commands(self):
        """(command, exit statuses that are right) of a block, without comments and output."""
        text = self.text.replace("\\\n", " ")
        if self.language == "console":
            text = "\n".join(line[2:] for line in text.splitlines() if line.startswith("$ "))
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        for number, line in enumerate(lines, 1):
            if number == len(lines) and "exit" in self.comments:
                yield line, {int(self.comments["exit"])}
            else:
                yield line, {0, 3, 4} if VERDICT.search(line) else {0}


def blocks(page):
    return [
        Block(language, text, dict(COMMENT.findall(comments)))
        for comments, language, text in BLOCK.findall(page.read_text())
    ]


def script(page):
    """The commands of a page for one bash: it ends at the first wrong exit status, with the command on standard error.

    What the commands of a console block print is also in the file ``output-NUMBER`` of the block.
    """
    for at, block in enumerate(blocks(page)):
        if name := block.comments.get("file"):
            yield f"printf %s {shlex.quote(block.text)} > {name}"
        elif block.is_tried:
            for command, right in block.commands():
                copied = f" > >(tee -a ../output-{at}) 2>&1" if block.language == "console" else ""
                yield f"{{ {command}\n}} </dev/null{copied}; status=$?; wait"
                yield (
                    f"case $status in {'|'.join(map(str, sorted(right)))}) ;;"
                    f' *) echo {shlex.quote(command)} "ended with $status" >&2; exit 99 ;; esac'
                )


def lines_not_printed(page, folder):
    """The output lines of the page's console blocks that their commands did not print, apart from the figures."""
    missing = []
    for at, block in enumerate(blocks(page)):
        if block.language == "console" and block.is_tried and "differs" not in block.comments:
            printed = without_figures((folder.parent / f"output-{at}").read_text())
            shown = [line for line in block.text.splitlines() if not line.startswith("$ ")]
            missing += [line for line in shown if without_figures(line) not in printed]
    return missing


def without_figures(text):
    """A text with # for each number, time and id, without spaces: lines break where the terminal ends."""
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "#", text.replace("*", ""))
    text = re.sub(r"\b[a-z]?(?=[0-9a-f]*\d)[0-9a-f]{7,}\b", "#", text)
    text = re.sub(r"[-+<]?\d[\d.,:]*", "#", text)
    return "".join(re.sub(r"(\W)n?s\b|\b(m|M|K|G)(s|iB)\b", r"\1", text).split())


def follow(page, *, folder, environment, words=(), timeout_s=110):
    """Run the commands of a page; ``words`` are (shown, actual): ids that differ each time."""
    text = "\n".join(script(page))
    for shown, actual in words:
        text = re.sub(rf"\b{shown}\b", actual, text)
    return subprocess.run(
        ["bash", "-c", text],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
