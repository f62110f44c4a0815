"""What old clients and browsers get at the addresses of the old system, and how to upgrade."""

from anubis.web.legacy.statuses import VERSION

#: The page at ``/``.
BANNER = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Anubis</title></head>
<body><h1>Anubis {VERSION}</h1>
<p>The HTTP interface begins at <a href="/api/v1/openapi.json">/api/v1</a>.</p></body></html>
"""
#: What ``anubis --sync-version`` of the old client downloads in place of itself.
CLIENT = f"""#!/bin/sh
# The service has Anubis {VERSION}, whose client is a Python program. It accepts the old command lines.
cat >&2 <<'END'
This client is replaced by that of Anubis {VERSION}. Install it, and register the service again:
    pip install anubis-bench
    anubis register http://HOST:PORT
END
exit 1
"""
