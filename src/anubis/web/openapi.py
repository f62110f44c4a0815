"""The OpenAPI document of the HTTP interface."""

import json
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from anubis.api.json_values import Json

_PROBLEM: Json = {
    "type": "object",
    "description": "Problem details (RFC 9457).",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "description": "Address of the description of this type of error."},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong with which input."},
        "remedy": {"type": "string", "description": "What to do next."},
        "problems": {"type": "array", "items": {"type": "object"}},
        "file": {"type": "string"},
    },
}
_ERROR: Json = {
    "description": "An error",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_TOKEN: Json = {
    "type": "http",
    "scheme": "bearer",
    "description": "A token of anubis token create. A service on a loopback address without users needs none.",
}
#: What FastAPI documents for requests that are not valid, which are answered as problem details here.
_NOT_USED = ("HTTPValidationError", "ValidationError")


def openapi_of(app: FastAPI) -> Json:
    """The document of an application, with problem details as the answer to every error."""
    document: Json = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    schemas: dict[str, Any] = document["components"]["schemas"]
    for name in _NOT_USED:
        schemas.pop(name, None)
    schemas["Problem"] = _PROBLEM
    document["components"]["securitySchemes"] = {"token": _TOKEN}
    document["security"] = [{"token": []}, {}]
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            for answer in operation["responses"].values():
                for kind, content in answer.get("content", {}).items():
                    if (
                        kind == "application/json"
                    ):  # FastAPI documents answers of other classes than its own as text
                        content["schema"] = {"type": "object"}
            operation["responses"]["default"] = _ERROR
    return document


def text_of(document: Json) -> str:
    """The document as it is stored in the reference."""
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def table_of(document: Json) -> str:
    """Every route as a row of a Markdown table, by noun."""
    rows = ["| Request | Meaning |", "|---|---|"]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            rows.append(f"| `{method.upper()} {path}` | {operation['summary']} |")
    return "\n".join(rows)
