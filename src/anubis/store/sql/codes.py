"""The numbers that stand for enums in the database. Append; never renumber."""

from anubis.model.alert import AlertState
from anubis.model.cause import Cause
from anubis.model.metric import Better
from anubis.model.status import Status

#: Statuses from here on are final: an index and every claim rely on the order.
FIRST_FINAL = 100

STATUS_CODES = {
    Status.FETCH: 1,
    Status.PLACE: 2,
    Status.WATCH: 3,
    Status.COLLECT: 4,
    Status.ANALYSE: 5,
    Status.ALERT: 6,
    Status.SUCCEEDED: 100,
    Status.FAILED: 101,
    Status.CANCELLED: 102,
}
STATUSES = {code: status for status, code in STATUS_CODES.items()}

CAUSE_CODES = {
    Cause.USER_ERROR: 1,
    Cause.COMMAND_NOT_FOUND: 2,
    Cause.OUT_OF_MEMORY: 3,
    Cause.DISK_FULL: 4,
    Cause.TIMEOUT: 5,
    Cause.METRIC_MISSING: 6,
    Cause.CONTAMINATED: 7,
    Cause.CANCELLED: 8,
    Cause.LOST: 9,
    Cause.NO_CAPACITY: 10,
    Cause.PREEMPTED: 11,
    Cause.IMAGE_PULL: 12,
    Cause.DATA: 13,
    Cause.INTERNAL: 14,
}
CAUSES = {code: cause for cause, code in CAUSE_CODES.items()}

BETTER_CODES = {Better.NONE: 0, Better.HIGHER: 1, Better.LOWER: 2}
BETTERS = {code: better.value for better, code in BETTER_CODES.items()}

ALERT_STATE_CODES = {
    AlertState.SUSPECTED: 1,
    AlertState.CONFIRMED: 2,
    AlertState.ACKNOWLEDGED: 3,
    AlertState.ACCEPTED: 4,
    AlertState.MUTED: 5,
    AlertState.RESOLVED: 6,
}
