"""What a service protects from the benchmarks of the people who use it."""

import logging
from collections.abc import Mapping
from dataclasses import replace

from anubis.model.errors import BadInputError
from anubis.pipeline.host import sandbox
from anubis.settings import Settings
from anubis.submission import git

log = logging.getLogger(__name__)

#: Variables of the service that benchmarks in a sandbox inherit unless ANUBIS_INHERIT names others.
INHERITED = ("PATH", "LANG", "LANGUAGE", "LC_*", "TZ")


def sandboxed(settings: Settings, environ: Mapping[str, str]) -> Settings:
    """The settings of a service: benchmarks run in a sandbox unless ANUBIS_SANDBOX is off, or unset where none works.

    Raises BadInputError if the sandbox is required and does not work here.
    """
    if settings.sandbox == "off":
        return settings
    if reason := sandbox.why_not():
        if settings.sandbox:
            raise BadInputError(
                f"ANUBIS_SANDBOX is on, but benchmarks cannot be run in a sandbox: {reason}",
                remedy=sandbox.REMEDY,
            )
        log.warning("engine process runs benchmarks without a sandbox: %s", reason)
        return settings
    git.refuse("the benchmarks of this service run in a sandbox, which protects it from their folders")
    inherit = settings.inherit if environ.get("ANUBIS_INHERIT", "").strip() else INHERITED
    return replace(settings, sandbox="on", inherit=inherit)
