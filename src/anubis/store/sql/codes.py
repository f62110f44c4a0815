"""The numbers of enum values in the database. Append new ones; never renumber."""

from anubis.contracts.events import SinkState
from anubis.contracts.schedules import DueState
from anubis.model.alert import AlertState
from anubis.model.cause import Cause
from anubis.model.delivery import DeliveryStatus
from anubis.model.metric import Better
from anubis.model.status import Status

#: First code of a final status: an index and every claim depend on the order.
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
    Cause.EXTRACTION_FAILED: 15,
    Cause.RECORD_DAMAGED: 16,
    Cause.METRIC_UNITS: 17,
    Cause.IMAGE_NOT_FOUND: 20,
    Cause.IMAGE_REFUSED: 21,
    Cause.WRONG_ARCHITECTURE: 22,
    Cause.NO_ENTRY_POINT: 23,
    Cause.DATA_NOT_FOUND: 30,
    Cause.DATA_FORBIDDEN: 31,
    Cause.DATA_UNAVAILABLE: 32,
    Cause.DATA_TRUNCATED: 33,
    Cause.DATA_REDIRECTS: 34,
    Cause.DATA_SLOW: 35,
    Cause.DATA_CHANGED: 36,
    Cause.DATA_DIGEST: 37,
    Cause.DATA_ADDRESS: 38,
    Cause.DATA_ARCHIVE: 39,
    Cause.FETCH_TIMEOUT: 50,
    Cause.START_TIMEOUT: 51,
    Cause.RUN_TIMEOUT: 52,
    Cause.MAX_COST: 53,
    Cause.BUDGET: 54,
    Cause.NEED: 55,
    Cause.NOT_PERMITTED: 56,
    Cause.SERVER_NOT_READY: 60,
    Cause.SERVER_ENDED: 61,
    Cause.SERVER_UNHEALTHY: 62,
    Cause.RANK_MISSING: 63,
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
ALERT_STATES = {code: state for state, code in ALERT_STATE_CODES.items()}

#: The deliveries with this status are indexed.
PENDING = 0

DELIVERY_STATUS_CODES = {
    DeliveryStatus.PENDING: PENDING,
    DeliveryStatus.DELIVERED: 1,
    DeliveryStatus.REFUSED: 2,
}
DELIVERY_STATUSES = {code: status for status, code in DELIVERY_STATUS_CODES.items()}

#: The due times with this state wait for their start.
QUEUED = 0

DUE_STATE_CODES = {
    DueState.QUEUED: QUEUED,
    DueState.STARTED: 1,
    DueState.SKIPPED: 2,
    DueState.REPLACED: 3,
    DueState.FAILED: 4,
}
DUE_STATES = {code: state for state, code in DUE_STATE_CODES.items()}

#: The sinks with this state receive events.
ACTIVE = 0

SINK_STATE_CODES = {SinkState.ACTIVE: ACTIVE, SinkState.OFF: 1}
SINK_STATES = {code: state for state, code in SINK_STATE_CODES.items()}
