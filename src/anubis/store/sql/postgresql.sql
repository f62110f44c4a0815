-- Made by `python -m anubis.store.sql.compile` from the other modules of this folder and of nouns: change those.

-- name: create
CREATE TABLE alerts (
	id VARCHAR(64) NOT NULL, 
	benchmark TEXT NOT NULL, 
	state SMALLINT NOT NULL, 
	opened_s DOUBLE PRECISION NOT NULL, 
	body TEXT NOT NULL, 
	version INTEGER DEFAULT '1' NOT NULL, 
	PRIMARY KEY (id)
);

CREATE TABLE assignments (
	run VARCHAR(36) NOT NULL, 
	attempt INTEGER NOT NULL, 
	worker TEXT, 
	queued_s DOUBLE PRECISION NOT NULL, 
	is_open SMALLINT NOT NULL, 
	body BYTEA NOT NULL, 
	version BIGINT NOT NULL, 
	PRIMARY KEY (run, attempt)
);

CREATE TABLE decisions (
	no SERIAL NOT NULL, 
	time_s DOUBLE PRECISION NOT NULL, 
	last_s DOUBLE PRECISION NOT NULL, 
	count INTEGER NOT NULL, 
	actor TEXT NOT NULL, 
	token TEXT NOT NULL, 
	address TEXT NOT NULL, 
	action TEXT NOT NULL, 
	target TEXT NOT NULL, 
	allowed SMALLINT NOT NULL, 
	reason TEXT NOT NULL, 
	PRIMARY KEY (no)
);

CREATE TABLE descriptors (
	id SERIAL NOT NULL, 
	digest BYTEA NOT NULL, 
	series_key INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	labels TEXT, 
	body BYTEA NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (digest)
);

CREATE TABLE event_count (
	seq BIGINT NOT NULL
);

CREATE TABLE group_members (
	name TEXT NOT NULL, 
	"user" INTEGER NOT NULL, 
	CONSTRAINT group_members_pk PRIMARY KEY (name, "user")
);

CREATE TABLE joined_workers (
	name TEXT NOT NULL, 
	token TEXT, 
	body BYTEA NOT NULL, 
	seen_s DOUBLE PRECISION, 
	beats BIGINT NOT NULL, 
	version BIGINT NOT NULL, 
	PRIMARY KEY (name), 
	UNIQUE (token)
);

CREATE TABLE memberships (
	project INTEGER NOT NULL, 
	member TEXT NOT NULL, 
	role SMALLINT NOT NULL, 
	CONSTRAINT memberships_pk PRIMARY KEY (project, member)
);

CREATE TABLE metrics (
	id SERIAL NOT NULL, 
	name TEXT NOT NULL, 
	units TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name, units)
);

CREATE TABLE project_days (
	project INTEGER NOT NULL, 
	day INTEGER NOT NULL, 
	submitted INTEGER NOT NULL, 
	CONSTRAINT project_days_pk PRIMARY KEY (project, day)
);

CREATE TABLE project_secrets (
	project INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	sealed BYTEA NOT NULL, 
	key VARCHAR(16) NOT NULL, 
	changed_s DOUBLE PRECISION NOT NULL, 
	actor TEXT NOT NULL, 
	CONSTRAINT project_secrets_pk PRIMARY KEY (project, name)
);

CREATE TABLE projects (
	no SERIAL NOT NULL, 
	name TEXT NOT NULL, 
	created_s DOUBLE PRECISION NOT NULL, 
	weight DOUBLE PRECISION DEFAULT '1' NOT NULL, 
	max_running INTEGER, 
	permits TEXT, 
	max_waiting INTEGER, 
	max_per_day INTEGER, 
	max_record_bytes BIGINT, 
	max_run_s DOUBLE PRECISION, 
	PRIMARY KEY (no), 
	UNIQUE (name)
);

CREATE TABLE removed_events (
	seq BIGINT NOT NULL, 
	run BYTEA NOT NULL, 
	kind INTEGER NOT NULL, 
	actor INTEGER, 
	time_s DOUBLE PRECISION NOT NULL, 
	message TEXT, 
	data TEXT, 
	PRIMARY KEY (seq)
);

CREATE TABLE runs (
	no SERIAL NOT NULL, 
	id BYTEA NOT NULL, 
	descriptor INTEGER NOT NULL, 
	text INTEGER NOT NULL, 
	client INTEGER NOT NULL, 
	engine INTEGER NOT NULL, 
	folder INTEGER, 
	family INTEGER, 
	parent BYTEA, 
	status SMALLINT NOT NULL, 
	cause SMALLINT, 
	cancel SMALLINT NOT NULL, 
	priority INTEGER NOT NULL, 
	attempt SMALLINT NOT NULL, 
	created_s DOUBLE PRECISION NOT NULL, 
	due_s DOUBLE PRECISION NOT NULL, 
	order_s DOUBLE PRECISION, 
	placed_s DOUBLE PRECISION, 
	ended_s DOUBLE PRECISION, 
	reason TEXT NOT NULL, 
	placement TEXT, 
	holder TEXT, 
	ready_s DOUBLE PRECISION, 
	cell TEXT, 
	session INTEGER, 
	overrides TEXT, 
	series INTEGER, 
	phase TEXT, 
	phase_s DOUBLE PRECISION, 
	cost DOUBLE PRECISION, 
	currency TEXT, 
	project INTEGER DEFAULT '1' NOT NULL, 
	turn DOUBLE PRECISION, 
	needs TEXT, 
	indexed SMALLINT, 
	record_bytes BIGINT, 
	PRIMARY KEY (no), 
	UNIQUE (id)
);

CREATE TABLE schedules (
	no SERIAL NOT NULL, 
	id BYTEA NOT NULL, 
	name TEXT NOT NULL, 
	body BYTEA NOT NULL, 
	text BYTEA NOT NULL, 
	ready_s DOUBLE PRECISION, 
	queued INTEGER NOT NULL, 
	version INTEGER NOT NULL, 
	holder TEXT, 
	until_s DOUBLE PRECISION, 
	PRIMARY KEY (no), 
	UNIQUE (id), 
	UNIQUE (name)
);

CREATE TABLE series (
	id SERIAL NOT NULL, 
	series_key TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (series_key, fingerprint)
);

CREATE TABLE sessions (
	no SERIAL NOT NULL, 
	machine TEXT NOT NULL, 
	start_s DOUBLE PRECISION NOT NULL, 
	end_s DOUBLE PRECISION NOT NULL, 
	PRIMARY KEY (no)
);

CREATE TABLE sign_in_steps (
	digest BYTEA NOT NULL, 
	body TEXT NOT NULL, 
	expires_s DOUBLE PRECISION NOT NULL, 
	PRIMARY KEY (digest)
);

CREATE TABLE sign_ins (
	id VARCHAR(12) NOT NULL, 
	digest BYTEA NOT NULL, 
	"user" INTEGER NOT NULL, 
	token VARCHAR(12), 
	issuer TEXT NOT NULL, 
	about TEXT NOT NULL, 
	created_s DOUBLE PRECISION NOT NULL, 
	expires_s DOUBLE PRECISION NOT NULL, 
	revoked_s DOUBLE PRECISION, 
	used_s DOUBLE PRECISION, 
	PRIMARY KEY (id)
);

CREATE TABLE sinks (
	no SERIAL NOT NULL, 
	id VARCHAR(36) NOT NULL, 
	address TEXT NOT NULL, 
	secret TEXT NOT NULL, 
	kinds TEXT, 
	created_s DOUBLE PRECISION NOT NULL, 
	seq BIGINT NOT NULL, 
	state SMALLINT NOT NULL, 
	due_s DOUBLE PRECISION NOT NULL, 
	attempts INTEGER NOT NULL, 
	error TEXT, 
	delivered INTEGER NOT NULL, 
	delivered_s DOUBLE PRECISION, 
	holder TEXT, 
	until_s DOUBLE PRECISION, 
	PRIMARY KEY (no), 
	UNIQUE (id)
);

CREATE TABLE subjects (
	issuer TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	"user" INTEGER NOT NULL, 
	CONSTRAINT subjects_pk PRIMARY KEY (issuer, subject)
);

CREATE TABLE submissions (
	key TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	runs TEXT NOT NULL, 
	created_s DOUBLE PRECISION NOT NULL, 
	PRIMARY KEY (key)
);

CREATE TABLE sweeps (
	id VARCHAR(36) NOT NULL, 
	running SMALLINT NOT NULL, 
	created_s DOUBLE PRECISION NOT NULL, 
	body BYTEA NOT NULL, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (id)
);

CREATE TABLE texts (
	id SERIAL NOT NULL, 
	digest BYTEA NOT NULL, 
	body BYTEA NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (digest)
);

CREATE TABLE tokens (
	prefix VARCHAR(12) NOT NULL, 
	digest BYTEA NOT NULL, 
	"user" INTEGER NOT NULL, 
	project INTEGER NOT NULL, 
	role SMALLINT NOT NULL, 
	about TEXT NOT NULL, 
	created_s DOUBLE PRECISION NOT NULL, 
	expires_s DOUBLE PRECISION NOT NULL, 
	revoked_s DOUBLE PRECISION, 
	used_s DOUBLE PRECISION, 
	PRIMARY KEY (prefix)
);

CREATE TABLE triggers (
	name TEXT NOT NULL, 
	body BYTEA NOT NULL, 
	PRIMARY KEY (name)
);

CREATE TABLE users (
	no SERIAL NOT NULL, 
	name TEXT NOT NULL, 
	created_s DOUBLE PRECISION NOT NULL, 
	disabled_s DOUBLE PRECISION, 
	PRIMARY KEY (no), 
	UNIQUE (name)
);

CREATE TABLE words (
	id SERIAL NOT NULL, 
	word TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (word)
);

CREATE TABLE deliveries (
	no SERIAL NOT NULL, 
	alert VARCHAR(64) NOT NULL, 
	state SMALLINT NOT NULL, 
	address TEXT NOT NULL, 
	run INTEGER, 
	created_s DOUBLE PRECISION NOT NULL, 
	due_s DOUBLE PRECISION NOT NULL, 
	status SMALLINT NOT NULL, 
	attempts INTEGER NOT NULL, 
	error TEXT, 
	ended_s DOUBLE PRECISION, 
	holder TEXT, 
	until_s DOUBLE PRECISION, 
	PRIMARY KEY (no), 
	FOREIGN KEY(run) REFERENCES runs (no) ON DELETE SET NULL
);

CREATE TABLE due_times (
	schedule INTEGER NOT NULL, 
	due_s DOUBLE PRECISION NOT NULL, 
	state SMALLINT NOT NULL, 
	noted_s DOUBLE PRECISION NOT NULL, 
	run BYTEA, 
	reason TEXT, 
	count INTEGER NOT NULL, 
	last_s DOUBLE PRECISION, 
	PRIMARY KEY (schedule, due_s), 
	FOREIGN KEY(schedule) REFERENCES schedules (no) ON DELETE CASCADE
);

CREATE TABLE events (
	seq BIGINT NOT NULL, 
	run INTEGER NOT NULL, 
	kind INTEGER NOT NULL, 
	actor INTEGER, 
	time_s DOUBLE PRECISION NOT NULL, 
	message TEXT, 
	data TEXT, 
	PRIMARY KEY (seq), 
	FOREIGN KEY(run) REFERENCES runs (no) ON DELETE CASCADE
);

CREATE TABLE holds (
	run INTEGER NOT NULL, 
	why TEXT NOT NULL, 
	actor TEXT NOT NULL, 
	created_s DOUBLE PRECISION NOT NULL, 
	PRIMARY KEY (run), 
	FOREIGN KEY(run) REFERENCES runs (no)
);

CREATE TABLE labels (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	descriptor INTEGER NOT NULL, 
	PRIMARY KEY (name, value, descriptor), 
	FOREIGN KEY(descriptor) REFERENCES descriptors (id) ON DELETE CASCADE
);

CREATE TABLE log_chunks (
	run INTEGER NOT NULL, 
	attempt INTEGER NOT NULL, 
	role TEXT NOT NULL, 
	rank INTEGER NOT NULL, 
	stream SMALLINT NOT NULL, 
	start BIGINT NOT NULL, 
	"end" BIGINT NOT NULL, 
	line BIGINT NOT NULL, 
	entry BIGINT NOT NULL, 
	first_s DOUBLE PRECISION NOT NULL, 
	last_s DOUBLE PRECISION NOT NULL, 
	bitmap BYTEA NOT NULL, 
	PRIMARY KEY (run, attempt, role, rank, stream, start), 
	FOREIGN KEY(run) REFERENCES runs (no) ON DELETE CASCADE
);

CREATE TABLE points (
	run INTEGER NOT NULL, 
	metric INTEGER NOT NULL, 
	series INTEGER NOT NULL, 
	value DOUBLE PRECISION, 
	spread DOUBLE PRECISION, 
	count INTEGER NOT NULL, 
	better SMALLINT NOT NULL, 
	order_s DOUBLE PRECISION NOT NULL, 
	subject INTEGER NOT NULL, 
	contaminated SMALLINT NOT NULL, 
	PRIMARY KEY (run, metric), 
	FOREIGN KEY(run) REFERENCES runs (no) ON DELETE CASCADE
);

CREATE TABLE samples (
	run INTEGER NOT NULL, 
	metric INTEGER NOT NULL, 
	start INTEGER NOT NULL, 
	count INTEGER NOT NULL, 
	body BYTEA NOT NULL, 
	checksum BIGINT DEFAULT '0' NOT NULL, 
	PRIMARY KEY (run, metric, start), 
	FOREIGN KEY(run) REFERENCES runs (no) ON DELETE CASCADE
);

CREATE TABLE summaries (
	run INTEGER NOT NULL, 
	metric INTEGER NOT NULL, 
	count INTEGER NOT NULL, 
	last DOUBLE PRECISION, 
	min DOUBLE PRECISION, 
	max DOUBLE PRECISION, 
	sum DOUBLE PRECISION, 
	PRIMARY KEY (run, metric), 
	FOREIGN KEY(run) REFERENCES runs (no) ON DELETE CASCADE
);

CREATE TABLE trigger_deliveries (
	trigger TEXT NOT NULL, 
	delivery TEXT NOT NULL, 
	received_s DOUBLE PRECISION NOT NULL, 
	failed SMALLINT NOT NULL, 
	body BYTEA NOT NULL, 
	PRIMARY KEY (trigger, delivery), 
	FOREIGN KEY(trigger) REFERENCES triggers (name) ON DELETE CASCADE
);

CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

CREATE INDEX alerts_opened ON alerts (opened_s);

CREATE INDEX assignments_open ON assignments (is_open, worker);

CREATE INDEX decisions_time ON decisions (time_s);

CREATE INDEX descriptors_name ON descriptors (name);

CREATE INDEX runs_bytes ON runs (project, record_bytes) WHERE record_bytes IS NOT NULL;

CREATE INDEX runs_created ON runs (created_s);

CREATE INDEX runs_family ON runs (family) WHERE family IS NOT NULL;

CREATE INDEX runs_parent ON runs (parent) WHERE parent IS NOT NULL;

CREATE INDEX runs_project ON runs (project, created_s);

CREATE INDEX runs_ready ON runs (project, priority DESC, ready_s) WHERE status < 100;

CREATE INDEX runs_series ON runs (series, coalesce(order_s, created_s)) WHERE series IS NOT NULL;

CREATE INDEX runs_turn ON runs (project, turn) WHERE turn IS NOT NULL;

CREATE INDEX runs_unindexed ON runs (no) WHERE status >= 100 AND indexed IS NULL;

CREATE INDEX runs_waiting ON runs (no) WHERE phase = 'needs';

CREATE INDEX schedules_ready ON schedules (ready_s) WHERE ready_s IS NOT NULL;

CREATE INDEX sessions_machine ON sessions (machine, start_s);

CREATE INDEX sign_in_steps_expire ON sign_in_steps (expires_s);

CREATE UNIQUE INDEX subjects_user ON subjects (issuer, "user");

CREATE INDEX submissions_created ON submissions (created_s);

CREATE INDEX sweeps_created ON sweeps (created_s);

CREATE INDEX sweeps_running ON sweeps (running);

CREATE INDEX deliveries_alert ON deliveries (alert);

CREATE UNIQUE INDEX deliveries_latest ON deliveries (alert, address) WHERE status = 0;

CREATE INDEX deliveries_pending ON deliveries (address, no) WHERE status = 0;

CREATE INDEX deliveries_run ON deliveries (run);

CREATE INDEX events_run ON events (run);

CREATE INDEX labels_descriptor ON labels (descriptor);

CREATE INDEX points_metric ON points (metric, series, order_s)

-- name: stamp
INSERT INTO alembic_version (version_num) VALUES (%(version)s::VARCHAR)

-- name: version
SELECT alembic_version.version_num 
FROM alembic_version

-- name: first_event_count
INSERT INTO event_count (seq) VALUES (0)

-- name: remember_word
INSERT INTO words (word) VALUES (%(word)s::VARCHAR) ON CONFLICT DO NOTHING

-- name: remember_metric
INSERT INTO metrics (name, units) VALUES (%(name)s::VARCHAR, %(units)s::VARCHAR) ON CONFLICT DO NOTHING

-- name: remember_series
INSERT INTO series (series_key, fingerprint) VALUES (%(series_key)s::VARCHAR, %(fingerprint)s::VARCHAR) ON CONFLICT DO NOTHING

-- name: find_words
SELECT words.word, words.id 
FROM words 
WHERE words.word IN ({words})

-- name: find_metrics
SELECT metrics.name, metrics.units, metrics.id 
FROM metrics 
WHERE metrics.name IN ({names})

-- name: find_series
SELECT series.series_key, series.fingerprint, series.id 
FROM series 
WHERE series.series_key IN ({series_keys})

-- name: find_descriptors
SELECT descriptors.digest, descriptors.id 
FROM descriptors 
WHERE descriptors.digest IN ({digests})

-- name: add_descriptor
INSERT INTO descriptors (digest, series_key, name, subject, labels, body) VALUES (%(digest)s, %(series_key)s::INTEGER, %(name)s::VARCHAR, %(subject)s::VARCHAR, %(labels)s::VARCHAR, %(body)s) RETURNING descriptors.id

-- name: add_label
INSERT INTO labels (name, value, descriptor) VALUES (%(name)s::VARCHAR, %(value)s::VARCHAR, %(descriptor)s::INTEGER)

-- name: find_texts
SELECT texts.digest, texts.id 
FROM texts 
WHERE texts.digest IN ({digests})

-- name: add_text
INSERT INTO texts (digest, body) VALUES (%(digest)s, %(body)s) RETURNING texts.id

-- name: known_runs
SELECT runs.id, runs.no 
FROM runs 
WHERE runs.id IN ({ids})

-- name: final_runs
SELECT runs.id, runs.no 
FROM runs 
WHERE runs.id IN ({ids}) AND runs.status >= 100

-- name: add_run
INSERT INTO runs (id, descriptor, text, client, engine, folder, family, parent, status, cause, cancel, priority, attempt, created_s, due_s, order_s, placed_s, ended_s, reason, placement, ready_s, cell, session, overrides, series, phase, phase_s, cost, currency, project, needs) VALUES (%(id)s, %(descriptor)s::INTEGER, %(text)s::INTEGER, %(client)s::INTEGER, %(engine)s::INTEGER, %(folder)s::INTEGER, %(family)s::INTEGER, %(parent)s, %(status)s::SMALLINT, %(cause)s::SMALLINT, %(cancel)s::SMALLINT, %(priority)s::INTEGER, %(attempt)s::SMALLINT, %(created_s)s, %(due_s)s, %(order_s)s, %(placed_s)s, %(ended_s)s, %(reason)s::VARCHAR, %(placement)s::VARCHAR, %(ready_s)s, %(cell)s::VARCHAR, %(session)s::INTEGER, %(overrides)s::VARCHAR, %(series)s::INTEGER, %(phase)s::VARCHAR, %(phase_s)s, %(cost)s, %(currency)s::VARCHAR, %(project)s::INTEGER, %(needs)s::VARCHAR) ON CONFLICT DO NOTHING

-- name: count_events
UPDATE event_count SET seq=(event_count.seq + %(count)s::BIGINT) RETURNING event_count.seq

-- name: add_event
INSERT INTO events (seq, run, kind, actor, time_s, message, data) VALUES (%(seq)s::BIGINT, (SELECT runs.no 
FROM runs 
WHERE runs.id = %(run_id)s), %(kind)s::INTEGER, %(actor)s::INTEGER, %(time_s)s, %(message)s::VARCHAR, %(data)s::VARCHAR)

-- name: claim
WITH turns AS 
(SELECT projects.no AS no, (SELECT max(leased.turn) AS max_1 
FROM runs AS leased 
WHERE leased.project = projects.no AND leased.turn IS NOT NULL) AS own 
FROM projects), 
lanes AS 
(SELECT projects.no AS project, projects.weight AS weight, CASE WHEN (turns.own >= (SELECT coalesce(max(turns.own), 0) AS coalesce_1 
FROM turns) - 1 / CAST(projects.weight AS DOUBLE PRECISION)) THEN turns.own ELSE (SELECT coalesce(max(turns.own), 0) AS coalesce_1 
FROM turns) - 1 / CAST(projects.weight AS DOUBLE PRECISION) END AS turn, CASE WHEN (projects.max_running IS NULL) THEN NULL ELSE projects.max_running - (SELECT count(*) AS count_1 
FROM runs AS leased 
WHERE leased.project = projects.no AND leased.status < 100 AND (leased.status >= 3 OR leased.holder IS NOT NULL)) END AS room 
FROM projects JOIN turns ON turns.no = projects.no), 
candidates AS 
(SELECT runs.no AS no, CASE WHEN (runs.status < 3) THEN 1 ELSE 0 END AS queued, CASE WHEN (runs.status < 3 AND runs.holder IS NULL) THEN 1 ELSE 0 END AS "new", sum(CASE WHEN (runs.status < 3 AND runs.holder IS NULL) THEN 1 ELSE 0 END) OVER (PARTITION BY runs.project ORDER BY runs.priority DESC, runs.due_s, runs.no ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS place, lanes.room AS room, lanes.turn + sum(CASE WHEN (runs.status < 3) THEN 1 ELSE 0 END) OVER (PARTITION BY runs.project ORDER BY runs.priority DESC, runs.due_s, runs.no ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) / CAST(lanes.weight AS DOUBLE PRECISION) AS turn 
FROM lanes JOIN runs ON runs.no = ANY (ARRAY(SELECT waiting.no 
FROM runs AS waiting 
WHERE waiting.project = lanes.project AND waiting.status < 100 AND (waiting.ready_s <= %(now_s)s OR waiting.ready_s > %(latest_lease_s)s) AND (waiting.due_s <= %(now_s)s OR waiting.due_s > %(latest_s)s) AND (lanes.room IS NULL OR lanes.room > 0 OR waiting.status >= 3 OR waiting.holder IS NOT NULL) ORDER BY waiting.priority DESC, waiting.ready_s, waiting.no 
 LIMIT %(most)s))), 
ready AS 
(SELECT runs.no AS no, candidates.queued AS queued, candidates.turn AS turn 
FROM candidates JOIN runs ON runs.no = candidates.no 
WHERE runs.status < 100 AND (runs.ready_s <= %(now_s)s OR runs.ready_s > %(latest_lease_s)s) AND (runs.due_s <= %(now_s)s OR runs.due_s > %(latest_s)s) AND (candidates."new" = 0 OR candidates.room IS NULL OR candidates.place <= candidates.room) ORDER BY candidates.queued, candidates.turn, runs.priority DESC, runs.ready_s, runs.no 
 LIMIT %(most)s FOR UPDATE OF runs SKIP LOCKED)
 UPDATE runs SET holder=%(owner)s::VARCHAR, ready_s=%(until_s)s, turn=CASE WHEN (ready.queued = 1) THEN ready.turn ELSE runs.turn END FROM ready WHERE runs.no = ready.no RETURNING runs.no

-- name: claim_without
WITH turns AS 
(SELECT projects.no AS no, (SELECT max(leased.turn) AS max_1 
FROM runs AS leased 
WHERE leased.project = projects.no AND leased.turn IS NOT NULL) AS own 
FROM projects), 
lanes AS 
(SELECT projects.no AS project, projects.weight AS weight, CASE WHEN (turns.own >= (SELECT coalesce(max(turns.own), 0) AS coalesce_1 
FROM turns) - 1 / CAST(projects.weight AS DOUBLE PRECISION)) THEN turns.own ELSE (SELECT coalesce(max(turns.own), 0) AS coalesce_1 
FROM turns) - 1 / CAST(projects.weight AS DOUBLE PRECISION) END AS turn, CASE WHEN (projects.max_running IS NULL) THEN NULL ELSE projects.max_running - (SELECT count(*) AS count_1 
FROM runs AS leased 
WHERE leased.project = projects.no AND leased.status < 100 AND (leased.status >= 3 OR leased.holder IS NOT NULL)) END AS room 
FROM projects JOIN turns ON turns.no = projects.no), 
candidates AS 
(SELECT runs.no AS no, CASE WHEN (runs.status < 3) THEN 1 ELSE 0 END AS queued, CASE WHEN (runs.status < 3 AND runs.holder IS NULL) THEN 1 ELSE 0 END AS "new", sum(CASE WHEN (runs.status < 3 AND runs.holder IS NULL) THEN 1 ELSE 0 END) OVER (PARTITION BY runs.project ORDER BY runs.priority DESC, runs.due_s, runs.no ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS place, lanes.room AS room, lanes.turn + sum(CASE WHEN (runs.status < 3) THEN 1 ELSE 0 END) OVER (PARTITION BY runs.project ORDER BY runs.priority DESC, runs.due_s, runs.no ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) / CAST(lanes.weight AS DOUBLE PRECISION) AS turn 
FROM lanes JOIN runs ON runs.no = ANY (ARRAY(SELECT waiting.no 
FROM runs AS waiting 
WHERE waiting.project = lanes.project AND waiting.status < 100 AND (waiting.ready_s <= %(now_s)s OR waiting.ready_s > %(latest_lease_s)s) AND (waiting.due_s <= %(now_s)s OR waiting.due_s > %(latest_s)s) AND NOT (waiting.engine IN ({engines})) AND (lanes.room IS NULL OR lanes.room > 0 OR waiting.status >= 3 OR waiting.holder IS NOT NULL) ORDER BY waiting.priority DESC, waiting.ready_s, waiting.no 
 LIMIT %(most)s))), 
ready AS 
(SELECT runs.no AS no, candidates.queued AS queued, candidates.turn AS turn 
FROM candidates JOIN runs ON runs.no = candidates.no 
WHERE runs.status < 100 AND (runs.ready_s <= %(now_s)s OR runs.ready_s > %(latest_lease_s)s) AND (runs.due_s <= %(now_s)s OR runs.due_s > %(latest_s)s) AND (candidates."new" = 0 OR candidates.room IS NULL OR candidates.place <= candidates.room) ORDER BY candidates.queued, candidates.turn, runs.priority DESC, runs.ready_s, runs.no 
 LIMIT %(most)s FOR UPDATE OF runs SKIP LOCKED)
 UPDATE runs SET holder=%(owner)s::VARCHAR, ready_s=%(until_s)s, turn=CASE WHEN (ready.queued = 1) THEN ready.turn ELSE runs.turn END FROM ready WHERE runs.no = ready.no RETURNING runs.no

-- name: renew
UPDATE runs SET ready_s=%(until_s)s WHERE runs.status < 100 AND runs.holder = %(owner)s::VARCHAR AND runs.id IN ({ids}) RETURNING runs.id, runs.cancel

-- name: release
UPDATE runs SET holder=NULL, ready_s=runs.due_s, turn=CASE WHEN (runs.status < 3) THEN NULL ELSE runs.turn END WHERE runs.status < 100 AND runs.holder = %(owner)s::VARCHAR AND runs.id IN ({ids}) RETURNING runs.id

-- name: release_all
UPDATE runs SET holder=NULL, ready_s=runs.due_s, turn=CASE WHEN (runs.status < 3) THEN NULL ELSE runs.turn END WHERE runs.status < 100 AND runs.holder = %(owner)s::VARCHAR RETURNING runs.id

-- name: owners
SELECT DISTINCT runs.holder 
FROM runs 
WHERE runs.status < 100 AND runs.holder IS NOT NULL

-- name: drivers
SELECT DISTINCT runs.holder 
FROM runs 
WHERE runs.status < 100 AND runs.holder IS NOT NULL AND NOT (runs.ready_s <= %(now_s)s OR runs.ready_s > %(latest_lease_s)s)

-- name: cancelled
SELECT runs.id 
FROM runs 
WHERE runs.status < 100 AND runs.holder = %(owner)s::VARCHAR AND runs.cancel = 1

-- name: apply
UPDATE runs SET status=%(status)s::SMALLINT, cause=%(cause)s::SMALLINT, attempt=%(attempt)s::SMALLINT, due_s=%(due_s)s, placed_s=%(placed_s)s, ended_s=%(ended_s)s, reason=%(reason)s::VARCHAR, placement=%(placement)s::VARCHAR, phase=%(phase)s::VARCHAR, phase_s=%(phase_s)s, cost=%(cost)s, currency=%(currency)s::VARCHAR WHERE runs.id = %(run_id)s AND runs.status < 100 AND runs.holder = %(owner)s::VARCHAR RETURNING runs.no, runs.cancel

-- name: apply_final
UPDATE runs SET status=%(status)s::SMALLINT, cause=%(cause)s::SMALLINT, attempt=%(attempt)s::SMALLINT, due_s=%(due_s)s, placed_s=%(placed_s)s, ended_s=%(ended_s)s, reason=%(reason)s::VARCHAR, placement=%(placement)s::VARCHAR, holder=NULL, ready_s=NULL, phase=%(phase)s::VARCHAR, phase_s=%(phase_s)s, cost=%(cost)s, currency=%(currency)s::VARCHAR, record_bytes=%(record_bytes)s::BIGINT WHERE runs.id = %(run_id)s AND runs.status < 100 AND runs.holder = %(owner)s::VARCHAR RETURNING runs.no, runs.cancel

-- name: request_cancel
UPDATE runs SET cancel=1, due_s=runs.created_s, ready_s=CASE WHEN (runs.holder IS NULL) THEN runs.created_s ELSE runs.ready_s END WHERE runs.status < 100 AND runs.cancel = 0 AND runs.id IN ({ids}) RETURNING runs.id

-- name: claimed
SELECT runs.id, descriptors.body, descriptors.digest, series_key.word AS series_key, client.word AS client, engine.word AS engine, runs.status, runs.created_s, runs.due_s, family.word AS family, runs.parent, runs.attempt, runs.placement, runs.reason, runs.cause, runs.placed_s, runs.ended_s, runs.cancel, folder.word AS folder, runs.order_s, runs.cell, runs.overrides, runs.phase, runs.phase_s, runs.cost, runs.currency, projects.name AS project, runs.needs, runs.turn 
FROM runs JOIN descriptors ON descriptors.id = runs.descriptor JOIN words AS series_key ON series_key.id = descriptors.series_key JOIN words AS client ON client.id = runs.client JOIN words AS engine ON engine.id = runs.engine JOIN projects ON projects.no = runs.project LEFT OUTER JOIN words AS family ON family.id = runs.family LEFT OUTER JOIN words AS folder ON folder.id = runs.folder 
WHERE runs.no IN ({numbers}) ORDER BY runs.priority DESC, runs.due_s, runs.no

-- name: get
SELECT runs.id, descriptors.body, descriptors.digest, series_key.word AS series_key, client.word AS client, engine.word AS engine, runs.status, runs.created_s, runs.due_s, family.word AS family, runs.parent, runs.attempt, runs.placement, runs.reason, runs.cause, runs.placed_s, runs.ended_s, runs.cancel, folder.word AS folder, runs.order_s, runs.cell, runs.overrides, runs.phase, runs.phase_s, runs.cost, runs.currency, projects.name AS project, runs.needs 
FROM runs JOIN descriptors ON descriptors.id = runs.descriptor JOIN words AS series_key ON series_key.id = descriptors.series_key JOIN words AS client ON client.id = runs.client JOIN words AS engine ON engine.id = runs.engine JOIN projects ON projects.no = runs.project LEFT OUTER JOIN words AS family ON family.id = runs.family LEFT OUTER JOIN words AS folder ON folder.id = runs.folder 
WHERE runs.id BETWEEN %(low)s AND %(high)s ORDER BY runs.id 
 LIMIT %(most)s

-- name: get_within
SELECT runs.id, descriptors.body, descriptors.digest, series_key.word AS series_key, client.word AS client, engine.word AS engine, runs.status, runs.created_s, runs.due_s, family.word AS family, runs.parent, runs.attempt, runs.placement, runs.reason, runs.cause, runs.placed_s, runs.ended_s, runs.cancel, folder.word AS folder, runs.order_s, runs.cell, runs.overrides, runs.phase, runs.phase_s, runs.cost, runs.currency, projects.name AS project, runs.needs 
FROM runs JOIN descriptors ON descriptors.id = runs.descriptor JOIN words AS series_key ON series_key.id = descriptors.series_key JOIN words AS client ON client.id = runs.client JOIN words AS engine ON engine.id = runs.engine JOIN projects ON projects.no = runs.project LEFT OUTER JOIN words AS family ON family.id = runs.family LEFT OUTER JOIN words AS folder ON folder.id = runs.folder 
WHERE runs.id BETWEEN %(low)s AND %(high)s AND projects.name IN ({projects}) ORDER BY runs.id 
 LIMIT %(most)s

-- name: neighbours
SELECT runs.id, (SELECT other.id 
FROM runs AS other 
WHERE other.id < runs.id ORDER BY other.id DESC 
 LIMIT 1) AS before, (SELECT other.id 
FROM runs AS other 
WHERE other.id > runs.id ORDER BY other.id ASC 
 LIMIT 1) AS after 
FROM runs 
WHERE runs.id IN ({ids})

-- name: text
SELECT texts.body 
FROM runs JOIN texts ON texts.id = runs.text 
WHERE runs.id = %(run_id)s

-- name: benchmark_names
SELECT DISTINCT descriptors.name 
FROM descriptors

-- name: metric_names
SELECT DISTINCT metrics.name 
FROM metrics 
WHERE EXISTS (SELECT points.run 
FROM points 
WHERE points.metric = metrics.id)

-- name: label_names
SELECT DISTINCT labels.name, labels.value 
FROM labels

-- name: benchmark_names_within
SELECT DISTINCT descriptors.name 
FROM descriptors 
WHERE descriptors.id IN (SELECT runs.descriptor 
FROM runs 
WHERE runs.project IN (SELECT projects.no 
FROM projects 
WHERE projects.name IN ({projects})))

-- name: metric_names_within
SELECT DISTINCT metrics.name 
FROM metrics JOIN points ON points.metric = metrics.id JOIN runs ON runs.no = points.run 
WHERE runs.project IN (SELECT projects.no 
FROM projects 
WHERE projects.name IN ({projects}))

-- name: label_names_within
SELECT DISTINCT labels.name, labels.value 
FROM labels 
WHERE labels.descriptor IN (SELECT runs.descriptor 
FROM runs 
WHERE runs.project IN (SELECT projects.no 
FROM projects 
WHERE projects.name IN ({projects})))

-- name: among_projects
SELECT runs.id 
FROM runs 
WHERE runs.id IN ({ids}) AND runs.project IN (SELECT projects.no 
FROM projects 
WHERE projects.name IN ({projects}))

-- name: next_ready
SELECT min(runs.ready_s) AS ready_s 
FROM runs 
WHERE runs.status < 100 AND runs.ready_s > %(now_s)s AND (runs.holder IS NULL OR runs.holder != %(owner)s::VARCHAR)

-- name: unfinished
SELECT count(*) AS runs 
FROM runs 
WHERE runs.status < 100

-- name: events
SELECT events.seq, runs.id, kind.word AS kind, events.time_s, events.message, events.data, actor.word AS actor 
FROM events JOIN runs ON runs.no = events.run JOIN words AS kind ON kind.id = events.kind LEFT OUTER JOIN words AS actor ON actor.id = events.actor 
WHERE events.seq > %(after_seq)s::BIGINT ORDER BY events.seq 
 LIMIT %(most)s

-- name: events_within
SELECT events.seq, runs.id, kind.word AS kind, events.time_s, events.message, events.data, actor.word AS actor 
FROM events JOIN runs ON runs.no = events.run JOIN words AS kind ON kind.id = events.kind LEFT OUTER JOIN words AS actor ON actor.id = events.actor 
WHERE events.seq > %(after_seq)s::BIGINT AND runs.project IN (SELECT projects.no 
FROM projects 
WHERE projects.name IN ({projects})) ORDER BY events.seq 
 LIMIT %(most)s

-- name: events_of_run
SELECT events.seq, runs.id, kind.word AS kind, events.time_s, events.message, events.data, actor.word AS actor 
FROM events JOIN runs ON runs.no = events.run JOIN words AS kind ON kind.id = events.kind LEFT OUTER JOIN words AS actor ON actor.id = events.actor 
WHERE events.seq > %(after_seq)s::BIGINT AND runs.id = %(run_id)s ORDER BY events.seq 
 LIMIT %(most)s

-- name: remove
DELETE FROM runs WHERE runs.no IN ({numbers})

-- name: remove_descriptors
DELETE FROM descriptors WHERE descriptors.id IN ({numbers}) AND (descriptors.id NOT IN (SELECT runs.descriptor 
FROM runs))

-- name: remove_texts
DELETE FROM texts WHERE texts.id IN ({numbers}) AND (texts.id NOT IN (SELECT runs.text 
FROM runs))

-- name: forget_points
DELETE FROM points WHERE points.run = %(run)s::INTEGER

-- name: measured
SELECT points.metric, metrics.name 
FROM points JOIN metrics ON metrics.id = points.metric 
WHERE points.run = %(run)s::INTEGER

-- name: remove_points
DELETE FROM points WHERE points.run = %(run)s::INTEGER AND points.metric IN ({numbers})

-- name: put_series
UPDATE runs SET series=%(series)s::INTEGER WHERE runs.no = %(run)s::INTEGER

-- name: add_point
INSERT INTO points (run, metric, series, value, spread, count, better, order_s, subject, contaminated) VALUES (%(run)s::INTEGER, %(metric)s::INTEGER, %(series)s::INTEGER, %(value)s, %(spread)s, %(count)s::INTEGER, %(better)s::SMALLINT, %(order_s)s, %(subject)s::INTEGER, %(contaminated)s::SMALLINT)

-- name: points
SELECT points.run, runs.id, series.series_key, series.fingerprint, metrics.name, metrics.units, points.value, points.spread, points.count, points.better, points.order_s, subject.word AS subject, points.contaminated, sessions.machine, sessions.start_s 
FROM points JOIN runs ON runs.no = points.run JOIN series ON series.id = points.series JOIN metrics ON metrics.id = points.metric JOIN words AS subject ON subject.id = points.subject LEFT OUTER JOIN sessions ON sessions.no = runs.session 
WHERE runs.id IN ({ids}) ORDER BY points.run

-- name: history
SELECT points.run, runs.id, series.series_key, series.fingerprint, metrics.name, metrics.units, points.value, points.spread, points.count, points.better, points.order_s, subject.word AS subject, points.contaminated, sessions.machine, sessions.start_s 
FROM points JOIN runs ON runs.no = points.run JOIN series ON series.id = points.series JOIN metrics ON metrics.id = points.metric JOIN words AS subject ON subject.id = points.subject LEFT OUTER JOIN sessions ON sessions.no = runs.session 
WHERE points.series = %(series)s::INTEGER AND points.metric = %(metric)s::INTEGER ORDER BY points.order_s DESC, points.run DESC 
 LIMIT %(most)s

-- name: forget_samples
DELETE FROM samples WHERE samples.run = %(run)s::INTEGER

-- name: remove_samples
DELETE FROM samples WHERE samples.run IN ({numbers})

-- name: forget_summaries
DELETE FROM summaries WHERE summaries.run = %(run)s::INTEGER

-- name: remove_segments
DELETE FROM samples WHERE samples.run = %(run)s::INTEGER AND samples.metric IN (SELECT metrics.id 
FROM metrics 
WHERE metrics.name = %(name)s::VARCHAR)

-- name: extent
SELECT max(samples.start + samples.count) AS extent 
FROM samples 
WHERE samples.run = %(run)s::INTEGER AND samples.metric IN (SELECT metrics.id 
FROM metrics 
WHERE metrics.name = %(name)s::VARCHAR)

-- name: add_segment
INSERT INTO samples (run, metric, start, count, body, checksum) VALUES (%(run)s::INTEGER, %(metric)s::INTEGER, %(start)s::INTEGER, %(count)s::INTEGER, %(body)s, %(checksum)s::BIGINT)

-- name: remove_summary
DELETE FROM summaries WHERE summaries.run = %(run)s::INTEGER AND summaries.metric IN (SELECT metrics.id 
FROM metrics 
WHERE metrics.name = %(name)s::VARCHAR)

-- name: add_summary
INSERT INTO summaries (run, metric, count, last, min, max, sum) VALUES (%(run)s::INTEGER, %(metric)s::INTEGER, %(count)s::INTEGER, %(last)s, %(min)s, %(max)s, %(sum)s)

-- name: summary
SELECT summaries.count, summaries.last, summaries.min, summaries.max, summaries.sum 
FROM summaries 
WHERE summaries.run = %(run)s::INTEGER AND summaries.metric IN (SELECT metrics.id 
FROM metrics 
WHERE metrics.name = %(name)s::VARCHAR)

-- name: stored_segments
SELECT runs.id, samples.start, samples.count, samples.body, samples.checksum 
FROM samples JOIN runs ON runs.no = samples.run 
WHERE samples.run = %(run)s::INTEGER AND samples.metric IN (SELECT metrics.id 
FROM metrics 
WHERE metrics.name = %(name)s::VARCHAR) ORDER BY samples.start

-- name: segments
SELECT metrics.units, samples.start, samples.count, samples.body, samples.checksum 
FROM samples JOIN runs ON runs.no = samples.run JOIN metrics ON metrics.id = samples.metric 
WHERE runs.id = %(run_id)s AND metrics.name = %(name)s::VARCHAR ORDER BY samples.start

-- name: summaries
SELECT metrics.name, metrics.units, summaries.count, summaries.last, summaries.min, summaries.max, summaries.sum 
FROM summaries JOIN runs ON runs.no = summaries.run JOIN metrics ON metrics.id = summaries.metric 
WHERE runs.id = %(run_id)s

-- name: sessions_near
SELECT sessions.no, sessions.machine, sessions.start_s, sessions.end_s 
FROM sessions 
WHERE sessions.machine = %(machine)s::VARCHAR AND sessions.start_s <= %(before_s)s AND sessions.end_s >= %(after_s)s

-- name: add_session
INSERT INTO sessions (machine, start_s, end_s) VALUES (%(machine)s::VARCHAR, %(start_s)s, %(end_s)s) RETURNING sessions.no

-- name: extend_session
UPDATE sessions SET start_s=%(start_s)s, end_s=%(end_s)s WHERE sessions.no = %(no)s::INTEGER

-- name: move_runs
UPDATE runs SET session=%(into)s::INTEGER WHERE runs.session = %(no)s::INTEGER

-- name: remove_session
DELETE FROM sessions WHERE sessions.no = %(no)s::INTEGER

-- name: put_session
UPDATE runs SET session=%(session)s::INTEGER WHERE runs.no = %(run)s::INTEGER

-- name: put_alert
INSERT INTO alerts (id, benchmark, state, opened_s, body, version) VALUES (%(id)s::VARCHAR, %(benchmark)s::VARCHAR, %(state)s::SMALLINT, %(opened_s)s, %(body)s::VARCHAR, %(version)s::INTEGER) ON CONFLICT (id) DO UPDATE SET benchmark = excluded.benchmark, state = excluded.state, opened_s = excluded.opened_s, body = excluded.body, version = excluded.version WHERE alerts.version = %(expected)s::INTEGER RETURNING alerts.version

-- name: alert
SELECT alerts.body, alerts.version 
FROM alerts 
WHERE substr(alerts.id, 1, length(%(prefix)s)) = %(prefix)s ORDER BY alerts.id 
 LIMIT %(most)s

-- name: add_delivery
INSERT INTO deliveries (alert, state, address, run, created_s, due_s, status, attempts) VALUES (%(alert)s::VARCHAR, %(state)s::SMALLINT, %(address)s::VARCHAR, (SELECT runs.no 
FROM runs 
WHERE runs.id = %(run_id)s), %(created_s)s, %(due_s)s, %(status)s::SMALLINT, %(attempts)s::INTEGER) ON CONFLICT (alert, address) WHERE status = 0 DO UPDATE SET state = excluded.state, run = excluded.run, created_s = excluded.created_s RETURNING deliveries.no

-- name: claimed_deliveries
SELECT deliveries.no, deliveries.alert, deliveries.state, deliveries.address, deliveries.run, deliveries.created_s, deliveries.due_s, deliveries.status, deliveries.attempts, deliveries.error, deliveries.ended_s, deliveries.holder, deliveries.until_s, runs.id 
FROM deliveries LEFT OUTER JOIN runs ON runs.no = deliveries.run 
WHERE deliveries.no IN ({numbers}) ORDER BY deliveries.no

-- name: next_delivery
SELECT min(CASE WHEN (deliveries.until_s > deliveries.due_s) THEN deliveries.until_s ELSE deliveries.due_s END) AS due_s 
FROM deliveries 
WHERE deliveries.status = 0 AND NOT (EXISTS (SELECT * 
FROM deliveries AS earlier 
WHERE earlier.status = 0 AND earlier.address = deliveries.address AND earlier.no < deliveries.no))

-- name: remove_deliveries
DELETE FROM deliveries WHERE deliveries.status != 0 AND deliveries.ended_s < %(before_s)s

-- name: deliveries
SELECT deliveries.no, deliveries.alert, deliveries.state, deliveries.address, deliveries.run, deliveries.created_s, deliveries.due_s, deliveries.status, deliveries.attempts, deliveries.error, deliveries.ended_s, deliveries.holder, deliveries.until_s, runs.id 
FROM deliveries LEFT OUTER JOIN runs ON runs.no = deliveries.run 
WHERE deliveries.alert = %(alert)s::VARCHAR ORDER BY deliveries.no

-- name: claim_deliveries
WITH ready AS 
(SELECT deliveries.no AS no 
FROM deliveries 
WHERE deliveries.status = 0 AND NOT (EXISTS (SELECT * 
FROM deliveries AS earlier 
WHERE earlier.status = 0 AND earlier.address = deliveries.address AND earlier.no < deliveries.no)) AND (deliveries.due_s <= %(now_s)s OR deliveries.due_s > %(latest_s)s) AND (deliveries.until_s IS NULL OR deliveries.until_s <= %(now_s)s OR deliveries.until_s > %(latest_lease_s)s) ORDER BY deliveries.due_s, deliveries.no 
 LIMIT %(most)s FOR UPDATE SKIP LOCKED)
 UPDATE deliveries SET holder=%(owner)s::VARCHAR, until_s=%(until_s)s WHERE deliveries.no IN (SELECT ready.no 
FROM ready) RETURNING deliveries.no

-- name: renew_deliveries
UPDATE deliveries SET until_s=%(until_s)s WHERE deliveries.status = 0 AND deliveries.holder = %(owner)s::VARCHAR AND deliveries.no IN ({numbers}) RETURNING deliveries.no

-- name: release_deliveries
UPDATE deliveries SET holder=NULL, until_s=NULL WHERE deliveries.status = 0 AND deliveries.holder = %(owner)s::VARCHAR RETURNING deliveries.no

-- name: delivery_owners
SELECT DISTINCT deliveries.holder 
FROM deliveries 
WHERE deliveries.status = 0 AND deliveries.holder IS NOT NULL

-- name: apply_delivery
UPDATE deliveries SET address=%(address)s::VARCHAR, due_s=%(due_s)s, status=%(status)s::SMALLINT, attempts=%(attempts)s::INTEGER, error=%(error)s::VARCHAR, ended_s=%(ended_s)s, holder=NULL, until_s=NULL WHERE deliveries.status = 0 AND deliveries.holder = %(owner)s::VARCHAR AND deliveries.no = %(no)s::INTEGER AND deliveries.state = %(state)s::SMALLINT RETURNING deliveries.run

-- name: replaced_delivery
UPDATE deliveries SET due_s=deliveries.created_s, holder=NULL, until_s=NULL WHERE deliveries.status = 0 AND deliveries.holder = %(owner)s::VARCHAR AND deliveries.no = %(no)s::INTEGER RETURNING deliveries.run

-- name: project
SELECT projects.no, projects.name, projects.created_s, projects.weight, projects.max_running, projects.permits, projects.max_waiting, projects.max_per_day, projects.max_record_bytes, projects.max_run_s 
FROM projects 
WHERE projects.name = %(name)s::VARCHAR

-- name: lock_projects
UPDATE projects SET weight=projects.weight

-- name: put_permits
UPDATE projects SET permits=%(permits)s::VARCHAR WHERE projects.name = %(name)s::VARCHAR

-- name: put_quota
UPDATE projects SET max_running=%(max_running)s::INTEGER, max_waiting=%(max_waiting)s::INTEGER, max_per_day=%(max_per_day)s::INTEGER, max_record_bytes=%(max_record_bytes)s::BIGINT, max_run_s=%(max_run_s)s WHERE projects.name = %(name)s::VARCHAR

-- name: limited_projects
SELECT projects.no 
FROM projects 
WHERE projects.max_running IS NOT NULL 
 LIMIT 1

-- name: lock_limits
SELECT projects.no 
FROM projects 
WHERE projects.max_running IS NOT NULL ORDER BY projects.no FOR UPDATE

-- name: quotas
SELECT projects.no, projects.name, projects.max_waiting, projects.max_per_day, projects.max_record_bytes 
FROM projects 
WHERE projects.no IN ({numbers}) AND (projects.max_waiting IS NOT NULL OR projects.max_per_day IS NOT NULL OR projects.max_record_bytes IS NOT NULL)

-- name: waiting_runs
SELECT count(*) AS runs 
FROM runs 
WHERE runs.project = %(project)s::INTEGER AND runs.status < 3

-- name: recorded_bytes
SELECT coalesce(sum(runs.record_bytes), 0) AS size_bytes 
FROM runs 
WHERE runs.project = %(project)s::INTEGER AND runs.record_bytes IS NOT NULL

-- name: forget_project_days
DELETE FROM project_days WHERE project_days.project = %(project)s::INTEGER AND project_days.day < %(before)s::INTEGER

-- name: count_submitted
INSERT INTO project_days (project, day, submitted) VALUES (%(project)s::INTEGER, %(day)s::INTEGER, %(new)s::INTEGER) ON CONFLICT (project, day) DO UPDATE SET submitted = (project_days.submitted + excluded.submitted) RETURNING project_days.submitted

-- name: forget_record_bytes
UPDATE runs SET record_bytes=NULL WHERE runs.no IN ({numbers})

-- name: put_project_secret
INSERT INTO project_secrets (project, name, sealed, key, changed_s, actor) VALUES (%(project)s::INTEGER, %(name)s::VARCHAR, %(sealed)s, %(key)s::VARCHAR, %(changed_s)s, %(actor)s::VARCHAR) ON CONFLICT (project, name) DO UPDATE SET sealed = excluded.sealed, key = excluded.key, changed_s = excluded.changed_s, actor = excluded.actor

-- name: project_secret_names
SELECT project_secrets.name, project_secrets.changed_s, project_secrets.actor 
FROM project_secrets 
WHERE project_secrets.project = (SELECT projects.no 
FROM projects 
WHERE projects.name = %(project)s::VARCHAR) ORDER BY project_secrets.name

-- name: project_secret
SELECT project_secrets.sealed, project_secrets.key 
FROM project_secrets 
WHERE project_secrets.project = (SELECT projects.no 
FROM projects 
WHERE projects.name = %(project)s::VARCHAR) AND project_secrets.name = %(name)s::VARCHAR

-- name: secret_keys
SELECT DISTINCT project_secrets.key 
FROM project_secrets ORDER BY project_secrets.key

-- name: remove_project_secret
DELETE FROM project_secrets WHERE project_secrets.project = (SELECT projects.no 
FROM projects 
WHERE projects.name = %(project)s::VARCHAR) AND project_secrets.name = %(name)s::VARCHAR RETURNING project_secrets.name

-- name: add_schedule
INSERT INTO schedules (id, name, body, text, ready_s, queued, version) VALUES (%(id)s, %(name)s::VARCHAR, %(body)s, %(text)s, %(ready_s)s, %(queued)s::INTEGER, 1) ON CONFLICT DO NOTHING RETURNING schedules.no

-- name: change_schedule
UPDATE schedules SET name=%(name)s::VARCHAR, body=%(body)s, ready_s=%(ready_s)s, queued=%(queued)s::INTEGER, version=(schedules.version + 1), holder=NULL, until_s=NULL WHERE schedules.id = %(id)s AND schedules.version = %(expected)s::INTEGER RETURNING schedules.no

-- name: change_schedule_text
UPDATE schedules SET name=%(name)s::VARCHAR, body=%(body)s, text=%(text)s, ready_s=%(ready_s)s, queued=%(queued)s::INTEGER, version=(schedules.version + 1), holder=NULL, until_s=NULL WHERE schedules.id = %(id)s AND schedules.version = %(expected)s::INTEGER RETURNING schedules.no

-- name: apply_schedule
UPDATE schedules SET name=%(name)s::VARCHAR, body=%(body)s, ready_s=%(ready_s)s, queued=%(queued)s::INTEGER, version=(schedules.version + 1), holder=NULL, until_s=NULL WHERE schedules.id = %(id)s AND schedules.version = %(expected)s::INTEGER AND schedules.holder = %(owner)s::VARCHAR RETURNING schedules.no

-- name: remove_schedule
DELETE FROM schedules WHERE schedules.id = %(id)s

-- name: schedules_named
SELECT schedules.no, schedules.body, schedules.version 
FROM schedules 
WHERE schedules.name = %(name)s::VARCHAR OR schedules.name LIKE ('%%:' || %(name)s)

-- name: schedules_between
SELECT schedules.no, schedules.body, schedules.version 
FROM schedules 
WHERE schedules.id BETWEEN %(low)s AND %(high)s ORDER BY schedules.id 
 LIMIT %(most)s

-- name: schedules
SELECT schedules.no, schedules.body, schedules.version 
FROM schedules ORDER BY schedules.name

-- name: schedule_text
SELECT schedules.text 
FROM schedules 
WHERE schedules.id = %(id)s

-- name: note_due_time
INSERT INTO due_times (schedule, due_s, state, noted_s, run, reason, count, last_s) VALUES (%(schedule)s::INTEGER, %(due_s)s, %(state)s::SMALLINT, %(noted_s)s, %(run)s, %(reason)s::VARCHAR, %(count)s::INTEGER, %(last_s)s) ON CONFLICT (schedule, due_s) DO UPDATE SET state = excluded.state, noted_s = excluded.noted_s, run = excluded.run, reason = excluded.reason, count = excluded.count, last_s = excluded.last_s WHERE due_times.state = 0 RETURNING due_times.state

-- name: due_times
SELECT due_times.schedule, due_times.due_s, due_times.state, due_times.noted_s, due_times.run, due_times.reason, due_times.count, due_times.last_s 
FROM due_times JOIN schedules ON schedules.no = due_times.schedule 
WHERE schedules.id = %(id)s ORDER BY due_times.due_s DESC 
 LIMIT %(most)s

-- name: forget_due_times
DELETE FROM due_times WHERE due_times.schedule = %(schedule)s::INTEGER AND due_times.due_s < %(before_s)s AND due_times.state != 0

-- name: claim_schedules
WITH ready AS 
(SELECT schedules.no AS no 
FROM schedules 
WHERE schedules.ready_s IS NOT NULL AND (schedules.ready_s <= %(now_s)s OR schedules.ready_s > %(latest_look_s)s AND schedules.queued > 0) AND (schedules.until_s IS NULL OR schedules.until_s <= %(now_s)s OR schedules.until_s > %(latest_lease_s)s) ORDER BY schedules.ready_s, schedules.no 
 LIMIT %(most)s FOR UPDATE SKIP LOCKED)
 UPDATE schedules SET holder=%(owner)s::VARCHAR, until_s=%(until_s)s WHERE schedules.no IN (SELECT ready.no 
FROM ready) RETURNING schedules.no

-- name: claimed_schedules
SELECT schedules.no, schedules.body, schedules.version 
FROM schedules 
WHERE schedules.no IN ({numbers}) ORDER BY schedules.ready_s, schedules.no

-- name: release_schedules
UPDATE schedules SET holder=NULL, until_s=NULL WHERE schedules.holder = %(owner)s::VARCHAR RETURNING schedules.no

-- name: schedule_owners
SELECT DISTINCT schedules.holder 
FROM schedules 
WHERE schedules.holder IS NOT NULL

-- name: next_schedule
SELECT schedules.ready_s 
FROM schedules 
WHERE schedules.ready_s IS NOT NULL AND schedules.holder IS NULL ORDER BY schedules.ready_s 
 LIMIT 1

-- name: add_sink
INSERT INTO sinks (id, address, secret, kinds, created_s, seq, state, due_s, attempts, error, delivered, delivered_s) VALUES (%(id)s::VARCHAR, %(address)s::VARCHAR, %(secret)s::VARCHAR, %(kinds)s::VARCHAR, %(created_s)s, %(seq)s::BIGINT, %(state)s::SMALLINT, %(due_s)s, %(attempts)s::INTEGER, %(error)s::VARCHAR, %(delivered)s::INTEGER, %(delivered_s)s)

-- name: sinks
SELECT sinks.no, sinks.id, sinks.address, sinks.secret, sinks.kinds, sinks.created_s, sinks.seq, sinks.state, sinks.due_s, sinks.attempts, sinks.error, sinks.delivered, sinks.delivered_s, sinks.holder, sinks.until_s, (SELECT event_count.seq 
FROM event_count) - sinks.seq AS behind 
FROM sinks ORDER BY sinks.no

-- name: sink
SELECT sinks.no, sinks.id, sinks.address, sinks.secret, sinks.kinds, sinks.created_s, sinks.seq, sinks.state, sinks.due_s, sinks.attempts, sinks.error, sinks.delivered, sinks.delivered_s, sinks.holder, sinks.until_s, (SELECT event_count.seq 
FROM event_count) - sinks.seq AS behind 
FROM sinks 
WHERE substr(sinks.id, 1, length(%(prefix)s)) = %(prefix)s ORDER BY sinks.no 
 LIMIT %(most)s

-- name: remove_sink
DELETE FROM sinks WHERE sinks.id = %(id)s::VARCHAR

-- name: resume_sink
UPDATE sinks SET state=0, due_s=%(due_s)s, attempts=0, error=NULL WHERE sinks.id = %(id)s::VARCHAR

-- name: claim_sinks
WITH ready AS 
(SELECT sinks.no AS no 
FROM sinks 
WHERE sinks.state = 0 AND sinks.seq < (SELECT event_count.seq 
FROM event_count) AND (sinks.due_s <= %(now_s)s OR sinks.due_s > %(latest_s)s) AND (sinks.until_s IS NULL OR sinks.until_s <= %(now_s)s OR sinks.until_s > %(latest_lease_s)s) ORDER BY sinks.due_s, sinks.no 
 LIMIT %(most)s FOR UPDATE SKIP LOCKED)
 UPDATE sinks SET holder=%(owner)s::VARCHAR, until_s=%(until_s)s WHERE sinks.no IN (SELECT ready.no 
FROM ready) RETURNING sinks.no

-- name: claimed_sinks
SELECT sinks.no, sinks.id, sinks.address, sinks.secret, sinks.kinds, sinks.created_s, sinks.seq, sinks.state, sinks.due_s, sinks.attempts, sinks.error, sinks.delivered, sinks.delivered_s, sinks.holder, sinks.until_s, (SELECT event_count.seq 
FROM event_count) - sinks.seq AS behind 
FROM sinks 
WHERE sinks.no IN ({numbers}) ORDER BY sinks.no

-- name: renew_sinks
UPDATE sinks SET until_s=%(until_s)s WHERE sinks.holder = %(owner)s::VARCHAR AND sinks.no IN ({numbers}) RETURNING sinks.no

-- name: release_sinks
UPDATE sinks SET holder=NULL, until_s=NULL WHERE sinks.holder = %(owner)s::VARCHAR RETURNING sinks.no

-- name: sink_owners
SELECT DISTINCT sinks.holder 
FROM sinks 
WHERE sinks.holder IS NOT NULL

-- name: apply_sink
UPDATE sinks SET seq=%(seq)s::BIGINT, state=%(state)s::SMALLINT, due_s=%(due_s)s, attempts=%(attempts)s::INTEGER, error=%(error)s::VARCHAR, delivered=%(delivered)s::INTEGER, delivered_s=%(delivered_s)s, holder=NULL, until_s=NULL WHERE sinks.holder = %(owner)s::VARCHAR AND sinks.no = %(no)s::INTEGER RETURNING sinks.no

-- name: next_sink
SELECT min(CASE WHEN (sinks.until_s > sinks.due_s) THEN sinks.until_s ELSE sinks.due_s END) AS due_s 
FROM sinks 
WHERE sinks.state = 0 AND sinks.seq < (SELECT event_count.seq 
FROM event_count)

-- name: all_events
SELECT both_parts.seq, both_parts.run AS id, kind_word.word AS kind, both_parts.time_s, both_parts.message, both_parts.data, actor_word.word AS actor 
FROM (SELECT anon_1.seq AS seq, anon_1.run AS run, anon_1.kind AS kind, anon_1.actor AS actor, anon_1.time_s AS time_s, anon_1.message AS message, anon_1.data AS data 
FROM (SELECT events.seq AS seq, runs.id AS run, events.kind AS kind, events.actor AS actor, events.time_s AS time_s, events.message AS message, events.data AS data 
FROM events JOIN runs ON runs.no = events.run 
WHERE events.seq > %(after_seq)s::BIGINT ORDER BY events.seq 
 LIMIT %(most)s) AS anon_1 UNION ALL SELECT anon_2.seq AS seq, anon_2.run AS run, anon_2.kind AS kind, anon_2.actor AS actor, anon_2.time_s AS time_s, anon_2.message AS message, anon_2.data AS data 
FROM (SELECT removed_events.seq AS seq, removed_events.run AS run, removed_events.kind AS kind, removed_events.actor AS actor, removed_events.time_s AS time_s, removed_events.message AS message, removed_events.data AS data 
FROM removed_events 
WHERE removed_events.seq > %(after_seq)s::BIGINT ORDER BY removed_events.seq 
 LIMIT %(most)s) AS anon_2) AS both_parts JOIN words AS kind_word ON kind_word.id = both_parts.kind LEFT OUTER JOIN words AS actor_word ON actor_word.id = both_parts.actor ORDER BY both_parts.seq 
 LIMIT %(most)s

-- name: keep_events
INSERT INTO removed_events (seq, run, kind, actor, time_s, message, data) SELECT events.seq, runs.id AS run, events.kind, events.actor, events.time_s, events.message, events.data 
FROM events JOIN runs ON runs.no = events.run 
WHERE events.seq > (SELECT coalesce(min(sinks.seq), (SELECT event_count.seq 
FROM event_count)) AS coalesce_1 
FROM sinks 
WHERE sinks.state = 0) AND events.run IN ({numbers})

-- name: add_removed_event
INSERT INTO removed_events (seq, run, kind, actor, time_s, message, data) VALUES (%(seq)s::BIGINT, %(run_id)s, %(kind)s::INTEGER, %(actor)s::INTEGER, %(time_s)s, %(message)s::VARCHAR, %(data)s::VARCHAR)

-- name: forget_removed_events
DELETE FROM removed_events WHERE removed_events.seq <= (SELECT coalesce(min(sinks.seq), (SELECT event_count.seq 
FROM event_count)) AS coalesce_1 
FROM sinks 
WHERE sinks.state = 0) AND (removed_events.kind NOT IN (SELECT words.id 
FROM words 
WHERE words.word = %(purged)s::VARCHAR))

-- name: forget_events
DELETE FROM events WHERE events.run IN ({numbers})

-- name: add_hold
INSERT INTO holds (run, why, actor, created_s) VALUES ((SELECT runs.no 
FROM runs 
WHERE runs.id = %(run_id)s), %(why)s::VARCHAR, %(actor)s::VARCHAR, %(created_s)s) ON CONFLICT (run) DO UPDATE SET why = %(why)s::VARCHAR, actor = %(actor)s::VARCHAR

-- name: remove_holds
DELETE FROM holds WHERE holds.run IN (SELECT runs.no 
FROM runs 
WHERE runs.id IN ({ids}))

-- name: holds
SELECT runs.id, holds.why, holds.actor, holds.created_s 
FROM holds JOIN runs ON runs.no = holds.run ORDER BY holds.created_s, runs.no

-- name: held
SELECT runs.id 
FROM runs 
WHERE runs.id IN ({ids}) AND (EXISTS (SELECT holds.run 
FROM holds 
WHERE holds.run = runs.no))

-- name: removable
SELECT runs.no, runs.id, runs.descriptor, runs.text 
FROM runs 
WHERE runs.status >= 100 AND runs.id IN ({ids}) AND NOT (EXISTS (SELECT holds.run 
FROM holds 
WHERE holds.run = runs.no))

-- name: add_submission
INSERT INTO submissions (key, digest, runs, created_s) VALUES (%(key)s::VARCHAR, %(digest)s::VARCHAR, %(runs)s::VARCHAR, %(created_s)s) ON CONFLICT DO NOTHING RETURNING submissions.key

-- name: submission
SELECT submissions.key, submissions.digest, submissions.runs, submissions.created_s 
FROM submissions 
WHERE submissions.key = %(key)s::VARCHAR

-- name: forget_submissions
DELETE FROM submissions WHERE submissions.created_s < %(before_s)s

-- name: last_event
SELECT event_count.seq 
FROM event_count

-- name: wake_waiting
UPDATE runs SET due_s=runs.created_s, ready_s=CASE WHEN (runs.holder IS NULL) THEN runs.created_s ELSE runs.ready_s END WHERE runs.phase = 'needs' AND (runs.needs LIKE '%%' || %(run_id)s::VARCHAR || '%%')

-- name: put_sweep
INSERT INTO sweeps (id, running, created_s, body, version) VALUES (%(id)s::VARCHAR, %(running)s::SMALLINT, %(created_s)s, %(body)s, %(version)s::INTEGER) ON CONFLICT DO NOTHING RETURNING sweeps.version

-- name: change_sweep
UPDATE sweeps SET running=%(running)s::SMALLINT, body=%(body)s, version=%(version)s::INTEGER WHERE sweeps.id = %(id)s::VARCHAR AND sweeps.version = %(expected)s::INTEGER RETURNING sweeps.version

-- name: sweep
SELECT sweeps.id, sweeps.body 
FROM sweeps 
WHERE substr(sweeps.id, 1, length(%(prefix)s)) = %(prefix)s ORDER BY sweeps.id 
 LIMIT %(most)s

-- name: running_sweeps
SELECT sweeps.id, sweeps.version 
FROM sweeps 
WHERE sweeps.running = 1 ORDER BY sweeps.id

-- name: newest_sweeps
SELECT sweeps.body 
FROM sweeps ORDER BY sweeps.created_s DESC, sweeps.id 
 LIMIT %(most)s

-- name: remove_sweeps
DELETE FROM sweeps WHERE sweeps.id IN ({ids}) AND sweeps.running = 0 RETURNING sweeps.id

-- name: add_trigger
INSERT INTO triggers (name, body) VALUES (%(name)s::VARCHAR, %(body)s) ON CONFLICT DO NOTHING RETURNING triggers.name

-- name: trigger
SELECT triggers.body 
FROM triggers 
WHERE triggers.name = %(name)s::VARCHAR

-- name: triggers
SELECT triggers.body 
FROM triggers

-- name: remove_trigger
DELETE FROM triggers WHERE triggers.name = %(name)s::VARCHAR

-- name: note_trigger_delivery
INSERT INTO trigger_deliveries (trigger, delivery, received_s, failed, body) VALUES (%(trigger)s::VARCHAR, %(delivery)s::VARCHAR, %(received_s)s, %(failed)s::SMALLINT, %(body)s) ON CONFLICT (trigger, delivery) DO UPDATE SET received_s = excluded.received_s, failed = excluded.failed, body = excluded.body WHERE trigger_deliveries.failed = 1

-- name: trigger_delivery
SELECT trigger_deliveries.body 
FROM trigger_deliveries 
WHERE trigger_deliveries.trigger = %(trigger)s::VARCHAR AND trigger_deliveries.delivery = %(delivery)s::VARCHAR

-- name: trigger_deliveries
SELECT trigger_deliveries.body 
FROM trigger_deliveries 
WHERE trigger_deliveries.trigger = %(trigger)s::VARCHAR ORDER BY trigger_deliveries.received_s DESC, trigger_deliveries.delivery 
 LIMIT %(most)s

-- name: forget_trigger_deliveries
DELETE FROM trigger_deliveries WHERE trigger_deliveries.trigger = %(trigger)s::VARCHAR AND trigger_deliveries.received_s < %(before_s)s

-- name: first_project
INSERT INTO projects (name, created_s) VALUES ('default', 0) RETURNING projects.no

-- name: add_project
INSERT INTO projects (name, created_s, permits) VALUES (%(name)s::VARCHAR, %(created_s)s, %(permits)s::VARCHAR) ON CONFLICT DO NOTHING RETURNING projects.no

-- name: find_projects
SELECT projects.no, projects.name 
FROM projects 
WHERE projects.name IN ({names})

-- name: put_share
UPDATE projects SET weight=%(weight)s WHERE projects.name = %(name)s::VARCHAR RETURNING projects.no

-- name: projects
SELECT projects.no, projects.name, projects.created_s, projects.weight, projects.max_running, projects.permits, projects.max_waiting, projects.max_per_day, projects.max_record_bytes, projects.max_run_s 
FROM projects ORDER BY projects.no

-- name: add_user
INSERT INTO users (name, created_s) VALUES (%(name)s::VARCHAR, %(created_s)s) ON CONFLICT DO NOTHING RETURNING users.no

-- name: user
SELECT users.no, users.name, users.created_s, users.disabled_s 
FROM users 
WHERE users.name = %(name)s::VARCHAR

-- name: users
SELECT users.no, users.name, users.created_s, users.disabled_s 
FROM users ORDER BY users.name

-- name: has_users
SELECT users.no 
FROM users 
 LIMIT 1

-- name: put_disabled
UPDATE users SET disabled_s=%(disabled_s)s WHERE users.name = %(name)s::VARCHAR RETURNING users.no

-- name: join_group
INSERT INTO group_members (name, "user") VALUES (%(group)s::VARCHAR, %(user)s::INTEGER) ON CONFLICT DO NOTHING RETURNING group_members."user"

-- name: leave_group
DELETE FROM group_members WHERE group_members.name = %(group)s::VARCHAR AND group_members."user" = %(user)s::INTEGER RETURNING group_members."user"

-- name: groups
SELECT group_members.name AS group_name, group_members."user" 
FROM group_members ORDER BY group_members.name

-- name: grant
INSERT INTO memberships (project, member, role) VALUES (%(project)s::INTEGER, %(member)s::VARCHAR, %(role)s::SMALLINT) ON CONFLICT (project, member) DO UPDATE SET role = excluded.role

-- name: end_membership
DELETE FROM memberships WHERE memberships.project = %(project)s::INTEGER AND memberships.member = %(member)s::VARCHAR RETURNING memberships.member

-- name: memberships
SELECT memberships.member, memberships.role, projects.name AS project_name 
FROM memberships LEFT OUTER JOIN projects ON projects.no = memberships.project ORDER BY memberships.project, memberships.member

-- name: roles_of_user
SELECT memberships.member, memberships.role, projects.name AS project_name 
FROM memberships LEFT OUTER JOIN projects ON projects.no = memberships.project 
WHERE memberships.member = %(name)s::VARCHAR OR memberships.member IN (SELECT '@' || group_members.name AS anon_1 
FROM group_members 
WHERE group_members."user" = %(user)s::INTEGER)

-- name: add_token
INSERT INTO tokens (prefix, digest, "user", project, role, about, created_s, expires_s) VALUES (%(prefix)s::VARCHAR, %(digest)s, %(user)s::INTEGER, %(project)s::INTEGER, %(role)s::SMALLINT, %(about)s::VARCHAR, %(created_s)s, %(expires_s)s)

-- name: token
SELECT tokens.prefix, tokens.digest, tokens.role, tokens.about, tokens.created_s, tokens.expires_s, tokens.revoked_s, tokens.used_s, projects.name AS project_name, users.name AS user_name, users.no AS user_no, users.disabled_s 
FROM tokens LEFT OUTER JOIN projects ON projects.no = tokens.project JOIN users ON users.no = tokens."user" 
WHERE tokens.prefix = %(prefix)s::VARCHAR

-- name: tokens
SELECT tokens.prefix, tokens.digest, tokens.role, tokens.about, tokens.created_s, tokens.expires_s, tokens.revoked_s, tokens.used_s, projects.name AS project_name, users.name AS user_name, users.no AS user_no, users.disabled_s 
FROM tokens LEFT OUTER JOIN projects ON projects.no = tokens.project JOIN users ON users.no = tokens."user" ORDER BY tokens.created_s, tokens.prefix

-- name: revoke_token
UPDATE tokens SET revoked_s=%(now_s)s WHERE tokens.prefix = %(prefix)s::VARCHAR AND tokens.revoked_s IS NULL

-- name: use_token
UPDATE tokens SET used_s=%(now_s)s WHERE tokens.prefix = %(prefix)s::VARCHAR

-- name: admin_tokens
SELECT tokens.prefix, tokens.digest, tokens.role, tokens.about, tokens.created_s, tokens.expires_s, tokens.revoked_s, tokens.used_s, projects.name AS project_name, users.name AS user_name, users.no AS user_no, users.disabled_s 
FROM tokens LEFT OUTER JOIN projects ON projects.no = tokens.project JOIN users ON users.no = tokens."user" 
WHERE tokens.project = 0 AND tokens.role = %(role)s::SMALLINT AND tokens.revoked_s IS NULL AND tokens.expires_s > %(now_s)s AND users.disabled_s IS NULL

-- name: add_decision
INSERT INTO decisions (time_s, last_s, count, actor, token, address, action, target, allowed, reason) VALUES (%(time_s)s, %(last_s)s, %(count)s::INTEGER, %(actor)s::VARCHAR, %(token)s::VARCHAR, %(address)s::VARCHAR, %(action)s::VARCHAR, %(target)s::VARCHAR, %(allowed)s::SMALLINT, %(reason)s::VARCHAR) RETURNING decisions.no

-- name: newest_decisions
SELECT decisions.no, decisions.time_s, decisions.last_s, decisions.count, decisions.actor, decisions.token, decisions.address, decisions.action, decisions.target, decisions.allowed, decisions.reason 
FROM decisions 
WHERE decisions.no < %(before_no)s::INTEGER AND decisions.last_s >= %(since_s)s AND decisions.allowed <= %(most_allowed)s::SMALLINT AND (%(actor)s = '' OR decisions.actor = %(actor)s::VARCHAR) ORDER BY decisions.no DESC 
 LIMIT %(most)s

-- name: forget_decisions
DELETE FROM decisions WHERE decisions.last_s < %(before_s)s

-- name: add_sign_in
INSERT INTO sign_ins (id, digest, "user", token, issuer, about, created_s, expires_s) VALUES (%(id)s::VARCHAR, %(digest)s, %(user)s::INTEGER, %(token)s::VARCHAR, %(issuer)s::VARCHAR, %(about)s::VARCHAR, %(created_s)s, %(expires_s)s)

-- name: sign_in
SELECT sign_ins.id, sign_ins.digest, sign_ins.token, sign_ins.issuer, sign_ins.about, sign_ins.created_s, sign_ins.expires_s, sign_ins.revoked_s, sign_ins.used_s, users.name AS user_name, users.no AS user_no, users.disabled_s 
FROM sign_ins JOIN users ON users.no = sign_ins."user" 
WHERE sign_ins.id = %(id)s::VARCHAR

-- name: sign_ins
SELECT sign_ins.id, sign_ins.digest, sign_ins.token, sign_ins.issuer, sign_ins.about, sign_ins.created_s, sign_ins.expires_s, sign_ins.revoked_s, sign_ins.used_s, users.name AS user_name, users.no AS user_no, users.disabled_s 
FROM sign_ins JOIN users ON users.no = sign_ins."user" ORDER BY sign_ins.created_s, sign_ins.id

-- name: revoke_sign_in
UPDATE sign_ins SET revoked_s=%(now_s)s WHERE sign_ins.id = %(id)s::VARCHAR AND sign_ins.revoked_s IS NULL RETURNING sign_ins.id

-- name: use_sign_in
UPDATE sign_ins SET used_s=%(now_s)s WHERE sign_ins.id = %(id)s::VARCHAR

-- name: forget_sign_ins
DELETE FROM sign_ins WHERE sign_ins.expires_s < %(before_s)s OR sign_ins.revoked_s < %(before_s)s

-- name: add_step
INSERT INTO sign_in_steps (digest, body, expires_s) VALUES (%(digest)s, %(body)s::VARCHAR, %(expires_s)s)

-- name: take_step
DELETE FROM sign_in_steps WHERE sign_in_steps.digest = %(digest)s RETURNING sign_in_steps.body, sign_in_steps.expires_s

-- name: forget_steps
DELETE FROM sign_in_steps WHERE sign_in_steps.expires_s <= %(now_s)s

-- name: subject
SELECT users.no, users.name, users.disabled_s 
FROM subjects JOIN users ON users.no = subjects."user" 
WHERE subjects.issuer = %(issuer)s::VARCHAR AND subjects.subject = %(subject)s::VARCHAR

-- name: add_subject
INSERT INTO subjects (issuer, subject, "user") VALUES (%(issuer)s::VARCHAR, %(subject)s::VARCHAR, %(user)s::INTEGER) ON CONFLICT DO NOTHING RETURNING subjects."user"

-- name: unindexed
SELECT runs.id, runs.no, runs.placed_s 
FROM runs 
WHERE runs.status >= 100 AND runs.indexed IS NULL AND runs.no < %(before)s::INTEGER ORDER BY runs.no DESC 
 LIMIT %(most)s

-- name: final_numbers
SELECT runs.id, runs.no 
FROM runs 
WHERE runs.id IN ({ids}) AND runs.status >= 100

-- name: note_indexed
UPDATE runs SET indexed=1 WHERE runs.no IN ({numbers})

-- name: forget_indexes
UPDATE runs SET indexed=NULL WHERE runs.id IN ({ids})

-- name: forget_log_chunks
DELETE FROM log_chunks WHERE log_chunks.run IN ({numbers})

-- name: add_log_chunk
INSERT INTO log_chunks (run, attempt, role, rank, stream, start, "end", line, entry, first_s, last_s, bitmap) VALUES (%(run)s::INTEGER, %(attempt)s::INTEGER, %(role)s::VARCHAR, %(rank)s::INTEGER, %(stream)s::SMALLINT, %(start)s::BIGINT, %(end)s::BIGINT, %(line)s::BIGINT, %(entry)s::BIGINT, %(first_s)s, %(last_s)s, %(bitmap)s)

-- name: log_chunks
SELECT runs.id, log_chunks.attempt, log_chunks.role, log_chunks.rank, log_chunks.stream, log_chunks.start, log_chunks."end", log_chunks.line, log_chunks.entry, log_chunks.first_s, log_chunks.last_s, log_chunks.bitmap 
FROM runs LEFT OUTER JOIN log_chunks ON runs.no = log_chunks.run 
WHERE runs.id IN ({ids}) AND runs.indexed IS NOT NULL ORDER BY runs.no, log_chunks.attempt, log_chunks.role, log_chunks.rank, log_chunks.stream, log_chunks.start

-- name: add_joined_worker
INSERT INTO joined_workers (name, token, body, seen_s, beats, version) VALUES (%(name)s::VARCHAR, %(token)s::VARCHAR, %(body)s, %(seen_s)s, %(beats)s::BIGINT, %(version)s::BIGINT) ON CONFLICT DO NOTHING RETURNING joined_workers.version

-- name: change_joined_worker
UPDATE joined_workers SET token=%(token)s::VARCHAR, body=%(body)s, version=(joined_workers.version + 1) WHERE joined_workers.name = %(name)s::VARCHAR AND joined_workers.version = %(expected)s::BIGINT RETURNING joined_workers.version

-- name: beat_joined_worker
UPDATE joined_workers SET body=%(body)s, seen_s=%(seen_s)s, beats=(joined_workers.beats + 1), version=(joined_workers.version + 1) WHERE joined_workers.name = %(name)s::VARCHAR AND joined_workers.token = %(token)s::VARCHAR RETURNING joined_workers.beats, joined_workers.version

-- name: lock_joined_worker
UPDATE joined_workers SET version=(joined_workers.version + 1) WHERE joined_workers.name = %(name)s::VARCHAR RETURNING joined_workers.beats

-- name: joined_worker
SELECT joined_workers.name, joined_workers.token, joined_workers.body, joined_workers.seen_s, joined_workers.beats, joined_workers.version 
FROM joined_workers 
WHERE joined_workers.name = %(name)s::VARCHAR

-- name: joined_worker_of_token
SELECT joined_workers.name, joined_workers.token, joined_workers.body, joined_workers.seen_s, joined_workers.beats, joined_workers.version 
FROM joined_workers 
WHERE joined_workers.token = %(token)s::VARCHAR

-- name: joined_workers
SELECT joined_workers.name, joined_workers.token, joined_workers.body, joined_workers.seen_s, joined_workers.beats, joined_workers.version 
FROM joined_workers

-- name: add_assignment
INSERT INTO assignments (run, attempt, worker, queued_s, is_open, body, version) VALUES (%(run)s::VARCHAR, %(attempt)s::INTEGER, %(worker)s::VARCHAR, %(queued_s)s, %(is_open)s::SMALLINT, %(body)s, %(version)s::BIGINT) ON CONFLICT DO NOTHING

-- name: change_assignment
UPDATE assignments SET worker=%(worker)s::VARCHAR, is_open=%(is_open)s::SMALLINT, body=%(body)s, version=(assignments.version + 1) WHERE assignments.run = %(run)s::VARCHAR AND assignments.attempt = %(attempt)s::INTEGER AND assignments.version = %(expected)s::BIGINT AND assignments.is_open = 1 RETURNING assignments.version

-- name: assignment
SELECT assignments.body, assignments.version 
FROM assignments 
WHERE assignments.run = %(run)s::VARCHAR AND assignments.attempt = %(attempt)s::INTEGER

-- name: assigned
SELECT assignments.body, assignments.version 
FROM assignments 
WHERE assignments.is_open = 1 AND assignments.worker = %(worker)s::VARCHAR

-- name: open_assignments
SELECT assignments.body, assignments.version 
FROM assignments 
WHERE assignments.is_open = 1

-- name: count_waiting
SELECT count(assignments.run) AS count 
FROM assignments 
WHERE assignments.is_open = 1 AND assignments.worker IS NULL

-- name: forget_assignments
DELETE FROM assignments WHERE assignments.is_open = 0 AND assignments.queued_s < %(before_s)s

-- name: measured_runs
WITH starts AS MATERIALIZED 
(SELECT series.id AS id, coalesce((SELECT coalesce(newer.order_s, newer.created_s) AS coalesce_1 
FROM runs AS newer 
WHERE newer.series = series.id AND coalesce(newer.order_s, newer.created_s) < %(before_s)s ORDER BY coalesce(newer.order_s, newer.created_s) DESC 
 LIMIT 1 OFFSET %(skipped)s), -1e308) AS order_s 
FROM series 
WHERE series.series_key IN ({series_keys}))
 SELECT runs.no, runs.id, coalesce(runs.order_s, runs.created_s) AS order_s, descriptors.subject, runs.series, sessions.machine, sessions.start_s 
FROM starts JOIN runs ON runs.series = starts.id JOIN descriptors ON descriptors.id = runs.descriptor LEFT OUTER JOIN sessions ON sessions.no = runs.session 
WHERE coalesce(runs.order_s, runs.created_s) >= starts.order_s AND coalesce(runs.order_s, runs.created_s) < %(before_s)s ORDER BY coalesce(runs.order_s, runs.created_s), runs.no

-- name: points_of_runs
SELECT points.run, points.metric, points.value, points.spread, points.count, points.better, points.contaminated 
FROM points 
WHERE points.run IN ({numbers}) ORDER BY points.run, points.metric

-- name: metrics_of_runs
SELECT points.run, points.metric, points.value, points.spread, points.count, points.better, points.contaminated 
FROM points 
WHERE points.run IN ({numbers}) AND points.metric IN ({metrics}) ORDER BY points.run, points.metric

-- name: named_series
SELECT DISTINCT series_key.word AS series_key, descriptors.name, descriptors.labels 
FROM descriptors JOIN words AS series_key ON series_key.id = descriptors.series_key

-- name: measured_series
SELECT series.series_key, series.fingerprint, metrics.name AS metric, metrics.units, pairs.points 
FROM (SELECT points.metric AS metric, points.series AS series, count(*) AS points 
FROM points GROUP BY points.metric, points.series) AS pairs JOIN series ON series.id = pairs.series JOIN metrics ON metrics.id = pairs.metric

-- name: trail
SELECT events.seq, runs.id, kind.word AS kind, events.time_s, events.message, events.data, actor.word AS actor 
FROM events JOIN runs ON runs.no = events.run JOIN words AS kind ON kind.id = events.kind LEFT OUTER JOIN words AS actor ON actor.id = events.actor 
WHERE kind.word IN ({kinds}) AND (events.data LIKE '%%' || %(part)s::VARCHAR || '%%') ORDER BY events.seq

-- name: list_newest
SELECT runs.no, runs.id, descriptors.name, runs.status, runs.cause, engine.word AS engine, runs.created_s, runs.placed_s, runs.ended_s, runs.reason, family.word AS family, descriptors.labels, descriptors.subject, runs.cell, runs.overrides, runs.cost, runs.currency, projects.name AS project 
FROM runs JOIN descriptors ON descriptors.id = runs.descriptor JOIN words AS engine ON engine.id = runs.engine JOIN projects ON projects.no = runs.project LEFT OUTER JOIN words AS family ON family.id = runs.family 
WHERE runs.no IN (SELECT runs.no 
FROM runs ORDER BY runs.created_s DESC, runs.no DESC 
 LIMIT %(most)s) ORDER BY runs.created_s DESC, runs.no DESC

-- name: list_oldest
SELECT runs.no, runs.id, descriptors.name, runs.status, runs.cause, engine.word AS engine, runs.created_s, runs.placed_s, runs.ended_s, runs.reason, family.word AS family, descriptors.labels, descriptors.subject, runs.cell, runs.overrides, runs.cost, runs.currency, projects.name AS project 
FROM runs JOIN descriptors ON descriptors.id = runs.descriptor JOIN words AS engine ON engine.id = runs.engine JOIN projects ON projects.no = runs.project LEFT OUTER JOIN words AS family ON family.id = runs.family 
WHERE runs.no IN (SELECT runs.no 
FROM runs ORDER BY runs.created_s, runs.no 
 LIMIT %(most)s) ORDER BY runs.created_s, runs.no

-- name: where_ids
runs.id IN ({ids})

-- name: where_projects
runs.project IN (SELECT projects.no 
FROM projects 
WHERE projects.name IN ({projects}))

-- name: where_statuses
runs.status IN ({statuses})

-- name: where_name
runs.descriptor IN (SELECT descriptors.id 
FROM descriptors 
WHERE descriptors.name = %(name)s::VARCHAR)

-- name: where_subject
runs.descriptor IN (SELECT descriptors.id 
FROM descriptors 
WHERE substr(descriptors.subject, 1, length(%(subject)s)) = %(subject)s)

-- name: where_label
runs.descriptor IN (SELECT labels.descriptor 
FROM labels 
WHERE labels.name = %(label_name_0)s::VARCHAR AND labels.value = %(label_value_0)s::VARCHAR)

-- name: where_family
runs.family = (SELECT words.id 
FROM words 
WHERE words.word = %(family)s::VARCHAR)

-- name: where_parent
runs.parent = %(parent)s

-- name: where_owner
runs.client = (SELECT words.id 
FROM words 
WHERE words.word = %(owner)s::VARCHAR)

-- name: where_metric
EXISTS (SELECT points.run 
FROM points 
WHERE points.run = runs.no AND points.metric IN (SELECT metrics.id 
FROM metrics 
WHERE metrics.name = %(metric)s::VARCHAR)
 LIMIT ALL OFFSET 0)

-- name: where_numbers
runs.no IN ({numbers})

-- name: where_since_s
runs.created_s >= %(since_s)s

-- name: where_until_s
runs.created_s < %(until_s)s

-- name: where_after_newest
runs.created_s <= %(after_s)s AND (runs.created_s < %(after_s)s OR runs.no < %(after_no)s::INTEGER)

-- name: where_after_oldest
runs.created_s >= %(after_s)s AND (runs.created_s > %(after_s)s OR runs.no > %(after_no)s::INTEGER)

-- name: listed_place
SELECT runs.created_s, runs.no 
FROM runs 
WHERE runs.id = %(id)s

-- name: listed_values
SELECT points.run, metrics.name, metrics.units, points.value 
FROM points JOIN metrics ON metrics.id = points.metric 
WHERE points.run IN ({numbers})

-- name: runs_of_metric
SELECT points.run 
FROM points 
WHERE points.metric IN (SELECT metrics.id 
FROM metrics 
WHERE metrics.name = %(metric)s::VARCHAR) 
 LIMIT %(most)s

-- name: list_alerts
SELECT alerts.body, alerts.version 
FROM alerts ORDER BY alerts.opened_s DESC, alerts.id

-- name: where_alert_states
alerts.state IN ({states})

-- name: where_alert_benchmark
alerts.benchmark = %(benchmark)s::VARCHAR

-- name: where_alert_series_key
(alerts.body LIKE '%%' || %(series_key)s::VARCHAR || '%%')
