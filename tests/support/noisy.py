"""A benchmark whose level a test sets, with a little noise that is the same in every session."""

LATENCY = """
[[output.metrics]]
name = "latency"
units = "ms"
pattern = 'latency=(\\S+)'
better = "lower"
"""
METRICS = f"""{LATENCY}[[output.metrics]]
name = "rate"
units = "1/s"
pattern = 'rate=(\\S+)'
better = "higher"
"""

#: Shell commands that set ``n`` to the number of earlier executions in this folder.
COUNT = """\
n=$(cat count 2>/dev/null || echo 0)
echo $((n + 1)) >count
"""
SCRIPT = f"""\
{COUNT}level=$(cat level)
[ "$level" = broken ] && exit 1
awk -v level="$level" -v n="$n" 'BEGIN {{
    noise = 1 + 0.004 * sin(7.3 * n) + 0.003 * sin(31.7 * n)
    print "latency=" level * noise
    print "rate=" 1000 / level / noise
}}'
"""


class Noisy:
    """``anubis`` is the command of ``support.command``; the benchmark is in its working folder."""

    def __init__(self, anubis):
        self.anubis = anubis
        (anubis.folder / "noisy.sh").write_text(SCRIPT)

    def level(self, level):
        (self.anubis.folder / "level").write_text(str(level))

    def file(self, subject, name="noisy.toml", *, more=""):
        """The descriptor of one subject (a version)."""
        about = f'[subject]\nversion = "{subject}"\n' if subject else ""
        return self.anubis.write(name, "sh noisy.sh", more=about + METRICS + more)

    def measure(self, subject, level, *, rounds=1, more=""):
        """Run a subject at this level; returns the run ids."""
        self.level(level)
        ended = self.anubis.json("run", self.file(subject, more=more), "--rounds", rounds)
        return [run["id"] for run in ended["runs"]]
