"""Values that a 1.0 file may leave out although the model requires them.

The model has no defaults for them: a field with its default is not part of the canonical form, so a default added to the
model would change the digests and series keys of stored runs.
"""

from typing import Any

from anubis.describe.paths import Path
from anubis.model.hardware import LOCAL

#: The version of new files.
CURRENT = "1.0"

DEFAULTS: dict[Path, Any] = {("spec_version",): CURRENT, ("hardware", "instance_type"): LOCAL}
