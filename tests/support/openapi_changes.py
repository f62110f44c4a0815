"""Changes between two OpenAPI documents after which a client of the first fails with a service of the second.

A request must not be narrowed: no path, method, parameter, member of a body, type or value is removed, no requirement is added, no
limit is tightened (unknown parameters and members are refused, so removing one is a break). An answer must not be widened:
no status, media type, member, type or requirement is removed, and no value is added to an enumeration.
"""

#: Limits: name -> whether a larger value is tighter.
LIMITS = {
    "minimum": True,
    "exclusiveMinimum": True,
    "minLength": True,
    "minItems": True,
    "maximum": False,
    "exclusiveMaximum": False,
    "maxLength": False,
    "maxItems": False,
}
_DEEPEST = 20


def breaking_changes(old, new):
    """The changes as sentences, sorted."""
    return sorted(set(_Comparison(old, new).changes()))


class _Comparison:
    def __init__(self, old, new):
        self._old, self._new = old, new

    def changes(self):
        for path, operations in self._old["paths"].items():
            for method, before in operations.items():
                place = f"{method.upper()} {path}"
                after = self._new["paths"].get(path, {}).get(method)
                if after is None:
                    yield f"{place}: removed"
                    continue
                yield from self._parameters(place, before, after)
                yield from self._bodies(place, before.get("requestBody"), after.get("requestBody"))
                yield from self._answers(place, before["responses"], after["responses"])

    def _parameters(self, place, before, after):
        old = {
            (each["in"], each["name"].lower() if each["in"] == "header" else each["name"]): each
            for each in before.get("parameters", ())
        }
        new = {
            (each["in"], each["name"].lower() if each["in"] == "header" else each["name"]): each
            for each in after.get("parameters", ())
        }
        for key, parameter in old.items():
            named = f"{place}: {key[0]} parameter {key[1]}"
            if key not in new:
                yield f"{named}: removed"
                continue
            if new[key].get("required") and not parameter.get("required"):
                yield f"{named}: required now"
            yield from self._narrowed(named, parameter.get("schema", {}), new[key].get("schema", {}))
        for key in new.keys() - old.keys():
            if new[key].get("required"):
                yield f"{place}: {key[0]} parameter {key[1]}: new and required"

    def _bodies(self, place, before, after):
        if after is not None and after.get("required") and not (before and before.get("required")):
            yield f"{place}: body: required now"
        if before is None:
            return
        for kind, content in before["content"].items():
            if after is None or kind not in after["content"]:
                yield f"{place}: body {kind}: removed"
            else:
                yield from self._narrowed(
                    f"{place}: body", content.get("schema", {}), after["content"][kind].get("schema", {})
                )

    def _answers(self, place, before, after):
        for status, answer in before.items():
            if status not in after:
                yield f"{place}: answer {status}: removed"
                continue
            for kind, content in answer.get("content", {}).items():
                named = f"{place}: answer {status}"
                if kind not in after[status].get("content", {}):
                    yield f"{named} {kind}: removed"
                else:
                    new = after[status]["content"][kind].get("schema", {})
                    yield from self._widened(named, content.get("schema", {}), new)

    def _narrowed(self, place, before, after, depth=0):
        """What a request may no longer contain."""
        before, after = _resolved(self._old, before), _resolved(self._new, after)
        if depth > _DEEPEST:
            return
        yield from _lost(place, "type", _types(self._old, before), _types(self._new, after))
        yield from _lost(place, "value", _values(before), _values(after))
        yield from self._tightened(place, before, after)
        for name in sorted(set(after.get("required", ())) - set(before.get("required", ()))):
            yield f"{place}: {name}: required now"
        members = after.get("properties", {})
        for name, schema in before.get("properties", {}).items():
            if name in members:
                yield from self._narrowed(f"{place}: {name}", schema, members[name], depth + 1)
            elif after.get("additionalProperties") is False:
                yield f"{place}: {name}: removed"
        for inner in ("items", "additionalProperties"):
            if isinstance(before.get(inner), dict) and isinstance(after.get(inner), dict):
                yield from self._narrowed(f"{place}[]", before[inner], after[inner], depth + 1)
        yield from self._alternatives(self._narrowed, place, before, after, depth)

    def _tightened(self, place, before, after):
        for limit, larger_is_tighter in LIMITS.items():
            old, new = _limit(self._old, before, limit), _limit(self._new, after, limit)
            if new is not None and (old is None or (new > old if larger_is_tighter else new < old)):
                yield f"{place}: {limit} is {new} now"
        if after.get("pattern") not in {None, before.get("pattern")}:
            yield f"{place}: pattern is another one"

    def _widened(self, place, before, after, depth=0):
        """What an answer may newly contain, or no longer contains."""
        before, after = _resolved(self._old, before), _resolved(self._new, after)
        if depth > _DEEPEST:
            return
        if _types(self._old, before) is not None:
            yield from _lost(place, "only type", _types(self._new, after), _types(self._old, before))
        if _values(before) is not None:
            for value in sorted((_values(after) or {"anything"}) - _values(before), key=str):
                yield f"{place}: value {value!r}: new"
        for name in sorted(set(before.get("required", ())) - set(after.get("required", ()))):
            yield f"{place}: {name}: no longer always there"
        members = after.get("properties", {})
        for name, schema in before.get("properties", {}).items():
            if name not in members:
                yield f"{place}: {name}: removed"
            else:
                yield from self._widened(f"{place}: {name}", schema, members[name], depth + 1)
        for inner in ("items", "additionalProperties"):
            if isinstance(before.get(inner), dict) and isinstance(after.get(inner), dict):
                yield from self._widened(f"{place}[]", before[inner], after[inner], depth + 1)
        yield from self._alternatives(self._widened, place, before, after, depth)

    def _alternatives(self, compare, place, before, after, depth):
        """Compare the schema of "a value or null", the only union of our documents."""
        old, new = _not_null(before), _not_null(after)
        if len(old) == len(new) == 1 and (old[0] is not before or new[0] is not after):
            yield from compare(place, old[0], new[0], depth + 1)


def _resolved(document, schema):
    while "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        schema = document["components"]["schemas"][name]
    return schema


def _not_null(schema):
    arms = schema.get("anyOf") or schema.get("oneOf")
    return [arm for arm in arms if arm.get("type") != "null"] if arms else [schema]


def _types(document, schema):
    """The types that a schema accepts; None: any. A number accepts an integer."""
    arms = schema.get("anyOf") or schema.get("oneOf")
    if arms:
        found = [_types(document, _resolved(document, arm)) for arm in arms]
        return None if None in found else set().union(*found)
    given = schema.get("type")
    if given is None:
        return None
    types = {given} if isinstance(given, str) else set(given)
    return types | {"integer"} if "number" in types else types


def _values(schema):
    if "const" in schema:
        return {schema["const"]}
    return set(schema["enum"]) if "enum" in schema else None


def _limit(document, schema, name):
    found = [_resolved(document, arm).get(name) for arm in _not_null(schema)]
    return found[0] if len(found) == 1 else None


def _lost(place, what, before, after):
    """The elements of a set (None: everything) that are not in another one."""
    if after is None:
        return
    if before is None:
        yield f"{place}: {what}: only {', '.join(sorted(map(str, after)))} now"
    else:
        for each in sorted(before - after, key=str):
            yield f"{place}: {what} {each!r}: removed"
