"""``python -m anubis.describe schema`` or ``reference``: prints what is generated from the model."""

import json
import sys

from anubis.describe.schema.json_schema import json_schema
from anubis.describe.schema.reference import reference_markdown

_PRINTED = {
    "schema": lambda: json.dumps(json_schema(), indent=2, ensure_ascii=False),
    "reference": lambda: reference_markdown().rstrip("\n"),
}


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0] not in _PRINTED:
        print(f"usage: python -m anubis.describe {{{'|'.join(_PRINTED)}}}", file=sys.stderr)
        return 2
    print(_PRINTED[arguments[0]]())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
