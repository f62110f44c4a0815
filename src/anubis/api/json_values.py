"""JSON values."""

import math
from typing import Any

#: A JSON object.
Json = dict[str, Any]


def finite(value: Any) -> Any:
    """The value with null for numbers that JSON does not have (NaN, infinities)."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return value
