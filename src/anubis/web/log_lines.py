"""Log lines of the service: text for people, or one JSON object in each line."""

import json
import logging
import re
import sys
from datetime import UTC, datetime

#: Attributes that every log record has; others are fields of the line.
_USUAL = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName", "color_message"}


#: The run that a message is about.
_RUN = re.compile(r"\brun ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b")


class JsonLines(logging.Formatter):
    """One JSON object in each line: time, level, logger, message, and fields such as run_id."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: value for name, value in vars(record).items() if name not in _USUAL},
        }
        if "run_id" not in line and (named := _RUN.search(line["message"])):
            line["run_id"] = named[1]
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def set_up(form: str) -> None:
    """Write the log of this process to standard error, as ``json`` or ``text``; ``quiet``: only warnings, as text."""
    handler = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s %(levelname)-7s %(message)s")
    handler.setFormatter(JsonLines() if form == "json" else text)
    logging.getLogger().addHandler(handler)
    logging.getLogger("anubis").setLevel(logging.WARNING if form == "quiet" else logging.INFO)
