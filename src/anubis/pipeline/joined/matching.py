"""Which joined worker can take which attempt."""

from collections import Counter
from collections.abc import Sequence

from anubis.model.descriptor import Descriptor
from anubis.model.hardware import LOCAL
from anubis.model.joined import Assignment, JoinedWorker

#: Between two labels in ``hardware.instance_type``.
AND = "&"
PROCESS, CONTAINER = "process", "container"


def labels_of(descriptor: Descriptor) -> tuple[str, ...]:
    """The labels that a worker must have. Client and server run on the same worker."""
    server = descriptor.server
    named = (descriptor.hardware.instance_type, server.hardware.instance_type if server else "")
    words = [word for text in named for word in text.split(AND)]
    return tuple(dict.fromkeys(word for word in words if word not in {"", LOCAL}))


def engine_of(descriptor: Descriptor) -> str:
    """The engine with which a worker measures: with an image, that of containers."""
    server = descriptor.server
    has_image = bool(descriptor.env.docker_image or (server and server.env.docker_image))
    return CONTAINER if has_image else PROCESS


def fits(worker: JoinedWorker, attempt: Assignment) -> bool:
    """Whether this worker can run the attempt at all."""
    return attempt.engine in worker.engines and set(attempt.labels) <= set(worker.labels)


def chosen(worker: JoinedWorker, attempts: Sequence[Assignment]) -> list[Assignment]:
    """The waiting ones of these open attempts, in order, for which this worker has free slots now."""
    free = worker.slots - sum(each.worker == worker.name for each in attempts)
    families = Counter(each.family for each in attempts if each.worker and each.family)
    found: list[Assignment] = []
    for each in attempts:
        if len(found) >= free:
            break
        is_full = bool(each.at_once) and families[each.family] >= each.at_once
        if each.worker or is_full or not fits(worker, each):
            continue
        families[each.family] += 1
        found.append(each)
    return found


def waits_for(attempt: Assignment, live: Sequence[JoinedWorker]) -> str:
    """Why a waiting attempt is not assigned. ``live``: the workers that answer."""
    if not live:
        return "no joined worker answers; start one with anubis worker --join URL"
    if not any(fits(worker, attempt) for worker in live):
        asked = f"the label{'s' if len(attempt.labels) > 1 else ''} {', '.join(attempt.labels)} and "
        return (
            f"no joined worker that answers has {asked if attempt.labels else ''}the engine {attempt.engine}"
        )
    return "all joined workers that can run it are busy"
