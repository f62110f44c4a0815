"""Resources as JSON values and back: the same form for ``--json``, the HTTP interface and the remote client.

``..._to_json`` returns dicts, lists and scalars; ``..._from_json`` reads them again. Times are UTC seconds since 1970,
shares are ratios. JSON has no NaN and no infinities: ``finite`` writes null for them, which is read as NaN where a
field must have a number.
"""
