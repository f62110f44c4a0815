-- Made by `python -m anubis.store.sql.compile` from the other modules of this folder and of nouns: change those.

-- name: create
CREATE TABLE alerts (
	id VARCHAR(64) NOT NULL, 
	benchmark TEXT NOT NULL, 
	state SMALLINT NOT NULL, 
	opened_s DOUBLE NOT NULL, 
	body TEXT NOT NULL, 
	version INTEGER DEFAULT '1' NOT NULL, 
	PRIMARY KEY (id)
);

CREATE TABLE assignments (
	run VARCHAR(36) NOT NULL, 
	attempt INTEGER NOT NULL, 
	worker TEXT, 
	queued_s DOUBLE NOT NULL, 
	is_open SMALLINT NOT NULL, 
	body BLOB NOT NULL, 
	version BIGINT NOT NULL, 
	PRIMARY KEY (run, attempt)
);

CREATE TABLE decisions (
	no INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	time_s DOUBLE NOT NULL, 
	last_s DOUBLE NOT NULL, 
	count INTEGER NOT NULL, 
	actor TEXT NOT NULL, 
	token TEXT NOT NULL, 
	address TEXT NOT NULL, 
	action TEXT NOT NULL, 
	target TEXT NOT NULL, 
	allowed SMALLINT NOT NULL, 
	reason TEXT NOT NULL
);

CREATE TABLE descriptors (
	id INTEGER NOT NULL, 
	digest BLOB NOT NULL, 
	series_key INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	labels TEXT, 
	body BLOB NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (digest)
);

CREATE TABLE event_count (
	seq BIGINT NOT NULL
);

CREATE TABLE group_members (
	name TEXT NOT NULL, 
	user INTEGER NOT NULL, 
	CONSTRAINT group_members_pk PRIMARY KEY (name, user)
);

CREATE TABLE joined_workers (
	name TEXT NOT NULL, 
	token TEXT, 
	body BLOB NOT NULL, 
	seen_s DOUBLE, 
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
	id INTEGER NOT NULL, 
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
	sealed BLOB NOT NULL, 
	"key" VARCHAR(16) NOT NULL, 
	changed_s DOUBLE NOT NULL, 
	actor TEXT NOT NULL, 
	CONSTRAINT project_secrets_pk PRIMARY KEY (project, name)
);

CREATE TABLE projects (
	no INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	created_s DOUBLE NOT NULL, 
	weight DOUBLE DEFAULT '1' NOT NULL, 
	max_running INTEGER, 
	permits TEXT, 
	max_waiting INTEGER, 
	max_per_day INTEGER, 
	max_record_bytes BIGINT, 
	max_run_s DOUBLE, 
	PRIMARY KEY (no), 
	UNIQUE (name)
);

CREATE TABLE removed_events (
	seq INTEGER NOT NULL, 
	run BLOB NOT NULL, 
	kind INTEGER NOT NULL, 
	actor INTEGER, 
	time_s DOUBLE NOT NULL, 
	message TEXT, 
	data TEXT, 
	PRIMARY KEY (seq)
);

CREATE TABLE runs (
	no INTEGER NOT NULL, 
	id BLOB NOT NULL, 
	descriptor INTEGER NOT NULL, 
	text INTEGER NOT NULL, 
	client INTEGER NOT NULL, 
	engine INTEGER NOT NULL, 
	folder INTEGER, 
	family INTEGER, 
	parent BLOB, 
	status SMALLINT NOT NULL, 
	cause SMALLINT, 
	cancel SMALLINT NOT NULL, 
	priority INTEGER NOT NULL, 
	attempt SMALLINT NOT NULL, 
	created_s DOUBLE NOT NULL, 
	due_s DOUBLE NOT NULL, 
	order_s DOUBLE, 
	placed_s DOUBLE, 
	ended_s DOUBLE, 
	reason TEXT NOT NULL, 
	placement TEXT, 
	holder TEXT, 
	ready_s DOUBLE, 
	cell TEXT, 
	session INTEGER, 
	overrides TEXT, 
	series INTEGER, 
	phase TEXT, 
	phase_s DOUBLE, 
	cost DOUBLE, 
	currency TEXT, 
	project INTEGER DEFAULT '1' NOT NULL, 
	turn DOUBLE, 
	needs TEXT, 
	"indexed" SMALLINT, 
	record_bytes BIGINT, 
	PRIMARY KEY (no), 
	UNIQUE (id)
);

CREATE TABLE schedules (
	no INTEGER NOT NULL, 
	id BLOB NOT NULL, 
	name TEXT NOT NULL, 
	body BLOB NOT NULL, 
	text BLOB NOT NULL, 
	ready_s DOUBLE, 
	queued INTEGER NOT NULL, 
	version INTEGER NOT NULL, 
	holder TEXT, 
	until_s DOUBLE, 
	PRIMARY KEY (no), 
	UNIQUE (id), 
	UNIQUE (name)
);

CREATE TABLE series (
	id INTEGER NOT NULL, 
	series_key TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (series_key, fingerprint)
);

CREATE TABLE sessions (
	no INTEGER NOT NULL, 
	machine TEXT NOT NULL, 
	start_s DOUBLE NOT NULL, 
	end_s DOUBLE NOT NULL, 
	PRIMARY KEY (no)
);

CREATE TABLE sign_in_steps (
	digest BLOB NOT NULL, 
	body TEXT NOT NULL, 
	expires_s DOUBLE NOT NULL, 
	PRIMARY KEY (digest)
);

CREATE TABLE sign_ins (
	id VARCHAR(12) NOT NULL, 
	digest BLOB NOT NULL, 
	user INTEGER NOT NULL, 
	token VARCHAR(12), 
	issuer TEXT NOT NULL, 
	about TEXT NOT NULL, 
	created_s DOUBLE NOT NULL, 
	expires_s DOUBLE NOT NULL, 
	revoked_s DOUBLE, 
	used_s DOUBLE, 
	PRIMARY KEY (id)
);

CREATE TABLE sinks (
	no INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id VARCHAR(36) NOT NULL, 
	address TEXT NOT NULL, 
	secret TEXT NOT NULL, 
	kinds TEXT, 
	created_s DOUBLE NOT NULL, 
	seq BIGINT NOT NULL, 
	state SMALLINT NOT NULL, 
	due_s DOUBLE NOT NULL, 
	attempts INTEGER NOT NULL, 
	error TEXT, 
	delivered INTEGER NOT NULL, 
	delivered_s DOUBLE, 
	holder TEXT, 
	until_s DOUBLE, 
	UNIQUE (id)
);

CREATE TABLE subjects (
	issuer TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	user INTEGER NOT NULL, 
	CONSTRAINT subjects_pk PRIMARY KEY (issuer, subject)
);

CREATE TABLE submissions (
	"key" TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	runs TEXT NOT NULL, 
	created_s DOUBLE NOT NULL, 
	PRIMARY KEY ("key")
);

CREATE TABLE sweeps (
	id VARCHAR(36) NOT NULL, 
	running SMALLINT NOT NULL, 
	created_s DOUBLE NOT NULL, 
	body BLOB NOT NULL, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (id)
);

CREATE TABLE texts (
	id INTEGER NOT NULL, 
	digest BLOB NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (digest)
);

CREATE TABLE tokens (
	prefix VARCHAR(12) NOT NULL, 
	digest BLOB NOT NULL, 
	user INTEGER NOT NULL, 
	project INTEGER NOT NULL, 
	role SMALLINT NOT NULL, 
	about TEXT NOT NULL, 
	created_s DOUBLE NOT NULL, 
	expires_s DOUBLE NOT NULL, 
	revoked_s DOUBLE, 
	used_s DOUBLE, 
	PRIMARY KEY (prefix)
);

CREATE TABLE triggers (
	name TEXT NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (name)
);

CREATE TABLE users (
	no INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	created_s DOUBLE NOT NULL, 
	disabled_s DOUBLE, 
	PRIMARY KEY (no), 
	UNIQUE (name)
);

CREATE TABLE words (
	id INTEGER NOT NULL, 
	word TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (word)
);

CREATE TABLE deliveries (
	no INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	alert VARCHAR(64) NOT NULL, 
	state SMALLINT NOT NULL, 
	address TEXT NOT NULL, 
	run INTEGER, 
	created_s DOUBLE NOT NULL, 
	due_s DOUBLE NOT NULL, 
	status SMALLINT NOT NULL, 
	attempts INTEGER NOT NULL, 
	error TEXT, 
	ended_s DOUBLE, 
	holder TEXT, 
	until_s DOUBLE, 
	FOREIGN KEY(run) REFERENCES runs (no) ON DELETE SET NULL
);

CREATE TABLE due_times (
	schedule INTEGER NOT NULL, 
	due_s DOUBLE NOT NULL, 
	state SMALLINT NOT NULL, 
	noted_s DOUBLE NOT NULL, 
	run BLOB, 
	reason TEXT, 
	count INTEGER NOT NULL, 
	last_s DOUBLE, 
	PRIMARY KEY (schedule, due_s), 
	FOREIGN KEY(schedule) REFERENCES schedules (no) ON DELETE CASCADE
)
 WITHOUT ROWID;

CREATE TABLE events (
	seq INTEGER NOT NULL, 
	run INTEGER NOT NULL, 
	kind INTEGER NOT NULL, 
	actor INTEGER, 
	time_s DOUBLE NOT NULL, 
	message TEXT, 
	data TEXT, 
	PRIMARY KEY (seq), 
	FOREIGN KEY(run) REFERENCES runs (no) ON DELETE CASCADE
);

CREATE TABLE holds (
	run INTEGER NOT NULL, 
	why TEXT NOT NULL, 
	actor TEXT NOT NULL, 
	created_s DOUBLE NOT NULL, 
	PRIMARY KEY (run), 
	FOREIGN KEY(run) REFERENCES runs (no)
);

CREATE TABLE labels (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	descriptor INTEGER NOT NULL, 
	PRIMARY KEY (name, value, descriptor), 
	FOREIGN KEY(descriptor) REFERENCES descriptors (id) ON DELETE CASCADE
)
 WITHOUT ROWID;

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
	first_s DOUBLE NOT NULL, 
	last_s DOUBLE NOT NULL, 
	bitmap BLOB NOT NULL, 
	PRIMARY KEY (run, attempt, role, rank, stream, start), 
	FOREIGN KEY(run) REFERENCES runs (no) ON DELETE CASCADE
);

CREATE TABLE points (
	run INTEGER NOT NULL, 
	metric INTEGER NOT NULL, 
	series INTEGER NOT NULL, 
	value DOUBLE, 
	spread DOUBLE, 
	count INTEGER NOT NULL, 
	better SMALLINT NOT NULL, 
	order_s DOUBLE NOT NULL, 
	subject INTEGER NOT NULL, 
	contaminated SMALLINT NOT NULL, 
	PRIMARY KEY (run, metric), 
	FOREIGN KEY(run) REFERENCES runs (no) ON DELETE CASCADE
)
 WITHOUT ROWID;

CREATE TABLE samples (
	run INTEGER NOT NULL, 
	metric INTEGER NOT NULL, 
	start INTEGER NOT NULL, 
	count INTEGER NOT NULL, 
	body BLOB NOT NULL, 
	checksum BIGINT DEFAULT '0' NOT NULL, 
	PRIMARY KEY (run, metric, start), 
	FOREIGN KEY(run) REFERENCES runs (no) ON DELETE CASCADE
);

CREATE TABLE summaries (
	run INTEGER NOT NULL, 
	metric INTEGER NOT NULL, 
	count INTEGER NOT NULL, 
	last DOUBLE, 
	min DOUBLE, 
	max DOUBLE, 
	sum DOUBLE, 
	PRIMARY KEY (run, metric), 
	FOREIGN KEY(run) REFERENCES runs (no) ON DELETE CASCADE
)
 WITHOUT ROWID;

CREATE TABLE trigger_deliveries (
	"trigger" TEXT NOT NULL, 
	delivery TEXT NOT NULL, 
	received_s DOUBLE NOT NULL, 
	failed SMALLINT NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY ("trigger", delivery), 
	FOREIGN KEY("trigger") REFERENCES triggers (name) ON DELETE CASCADE
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

CREATE UNIQUE INDEX subjects_user ON subjects (issuer, user);

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
INSERT INTO alembic_version (version_num) VALUES (:version)

-- name: version
SELECT alembic_version.version_num 
FROM alembic_version

-- name: first_event_count
INSERT INTO event_count (seq) VALUES (0)

-- name: remember_word
INSERT INTO words (word) VALUES (:word) ON CONFLICT DO NOTHING

-- name: remember_metric
INSERT INTO metrics (name, units) VALUES (:name, :units) ON CONFLICT DO NOTHING

-- name: remember_series
INSERT INTO series (series_key, fingerprint) VALUES (:series_key, :fingerprint) ON CONFLICT DO NOTHING

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
INSERT INTO descriptors (digest, series_key, name, subject, labels, body) VALUES (:digest, :series_key, :name, :subject, :labels, :body) RETURNING id

-- name: add_label
INSERT INTO labels (name, value, descriptor) VALUES (:name, :value, :descriptor)

-- name: find_texts
SELECT texts.digest, texts.id 
FROM texts 
WHERE texts.digest IN ({digests})

-- name: add_text
INSERT INTO texts (digest, body) VALUES (:digest, :body) RETURNING id

-- name: known_runs
SELECT runs.id, runs.no 
FROM runs 
WHERE runs.id IN ({ids})

-- name: final_runs
SELECT runs.id, runs.no 
FROM runs 
WHERE runs.id IN ({ids}) AND runs.status >= 100

-- name: add_run
INSERT INTO runs (id, descriptor, text, client, engine, folder, family, parent, status, cause, cancel, priority, attempt, created_s, due_s, order_s, placed_s, ended_s, reason, placement, ready_s, cell, session, overrides, series, phase, phase_s, cost, currency, project, needs) VALUES (:id, :descriptor, :text, :client, :engine, :folder, :family, :parent, :status, :cause, :cancel, :priority, :attempt, :created_s, :due_s, :order_s, :placed_s, :ended_s, :reason, :placement, :ready_s, :cell, :session, :overrides, :series, :phase, :phase_s, :cost, :currency, :project, :needs) ON CONFLICT DO NOTHING

-- name: count_events
UPDATE event_count SET seq=(event_count.seq + :count) RETURNING seq

-- name: add_event
INSERT INTO events (seq, run, kind, actor, time_s, message, data) VALUES (:seq, (SELECT runs.no 
FROM runs 
WHERE runs.id = :run_id), :kind, :actor, :time_s, :message, :data)

-- name: claim
WITH turns AS 
(SELECT projects.no AS no, (SELECT max(leased.turn) AS max_1 
FROM runs AS leased 
WHERE leased.project = projects.no AND leased.turn IS NOT NULL) AS own 
FROM projects), 
lanes AS 
(SELECT projects.no AS project, projects.weight AS weight, CASE WHEN (turns.own >= (SELECT coalesce(max(turns.own), 0) AS coalesce_1 
FROM turns) - 1 / (projects.weight + 0.0)) THEN turns.own ELSE (SELECT coalesce(max(turns.own), 0) AS coalesce_1 
FROM turns) - 1 / (projects.weight + 0.0) END AS turn, CASE WHEN (projects.max_running IS NULL) THEN NULL ELSE projects.max_running - (SELECT count(*) AS count_1 
FROM runs AS leased 
WHERE leased.project = projects.no AND leased.status < 100 AND (leased.status >= 3 OR leased.holder IS NOT NULL)) END AS room 
FROM projects JOIN turns ON turns.no = projects.no), 
candidates AS 
(SELECT runs.no AS no, CASE WHEN (runs.status < 3) THEN 1 ELSE 0 END AS queued, CASE WHEN (runs.status < 3 AND runs.holder IS NULL) THEN 1 ELSE 0 END AS new, sum(CASE WHEN (runs.status < 3 AND runs.holder IS NULL) THEN 1 ELSE 0 END) OVER (PARTITION BY runs.project ORDER BY runs.priority DESC, runs.due_s, runs.no ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS place, lanes.room AS room, lanes.turn + sum(CASE WHEN (runs.status < 3) THEN 1 ELSE 0 END) OVER (PARTITION BY runs.project ORDER BY runs.priority DESC, runs.due_s, runs.no ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) / (lanes.weight + 0.0) AS turn 
FROM lanes JOIN runs ON runs.no IN (SELECT waiting.no 
FROM runs AS waiting 
WHERE waiting.project = lanes.project AND waiting.status < 100 AND (waiting.ready_s <= :now_s OR waiting.ready_s > :latest_lease_s) AND (waiting.due_s <= :now_s OR waiting.due_s > :latest_s) AND (lanes.room IS NULL OR lanes.room > 0 OR waiting.status >= 3 OR waiting.holder IS NOT NULL) ORDER BY waiting.priority DESC, waiting.ready_s, waiting.no
 LIMIT :most OFFSET 0)), 
ready AS 
(SELECT runs.no AS no, candidates.queued AS queued, candidates.turn AS turn 
FROM candidates JOIN runs ON runs.no = candidates.no 
WHERE runs.status < 100 AND (runs.ready_s <= :now_s OR runs.ready_s > :latest_lease_s) AND (runs.due_s <= :now_s OR runs.due_s > :latest_s) AND (candidates.new = 0 OR candidates.room IS NULL OR candidates.place <= candidates.room) ORDER BY candidates.queued, candidates.turn, runs.priority DESC, runs.ready_s, runs.no
 LIMIT :most OFFSET 0)
 UPDATE runs SET holder=:owner, ready_s=:until_s, turn=CASE WHEN (ready.queued = 1) THEN ready.turn ELSE runs.turn END FROM ready WHERE runs.no = ready.no RETURNING no

-- name: claim_without
WITH turns AS 
(SELECT projects.no AS no, (SELECT max(leased.turn) AS max_1 
FROM runs AS leased 
WHERE leased.project = projects.no AND leased.turn IS NOT NULL) AS own 
FROM projects), 
lanes AS 
(SELECT projects.no AS project, projects.weight AS weight, CASE WHEN (turns.own >= (SELECT coalesce(max(turns.own), 0) AS coalesce_1 
FROM turns) - 1 / (projects.weight + 0.0)) THEN turns.own ELSE (SELECT coalesce(max(turns.own), 0) AS coalesce_1 
FROM turns) - 1 / (projects.weight + 0.0) END AS turn, CASE WHEN (projects.max_running IS NULL) THEN NULL ELSE projects.max_running - (SELECT count(*) AS count_1 
FROM runs AS leased 
WHERE leased.project = projects.no AND leased.status < 100 AND (leased.status >= 3 OR leased.holder IS NOT NULL)) END AS room 
FROM projects JOIN turns ON turns.no = projects.no), 
candidates AS 
(SELECT runs.no AS no, CASE WHEN (runs.status < 3) THEN 1 ELSE 0 END AS queued, CASE WHEN (runs.status < 3 AND runs.holder IS NULL) THEN 1 ELSE 0 END AS new, sum(CASE WHEN (runs.status < 3 AND runs.holder IS NULL) THEN 1 ELSE 0 END) OVER (PARTITION BY runs.project ORDER BY runs.priority DESC, runs.due_s, runs.no ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS place, lanes.room AS room, lanes.turn + sum(CASE WHEN (runs.status < 3) THEN 1 ELSE 0 END) OVER (PARTITION BY runs.project ORDER BY runs.priority DESC, runs.due_s, runs.no ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) / (lanes.weight + 0.0) AS turn 
FROM lanes JOIN runs ON runs.no IN (SELECT waiting.no 
FROM runs AS waiting 
WHERE waiting.project = lanes.project AND waiting.status < 100 AND (waiting.ready_s <= :now_s OR waiting.ready_s > :latest_lease_s) AND (waiting.due_s <= :now_s OR waiting.due_s > :latest_s) AND NOT (waiting.engine IN ({engines})) AND (lanes.room IS NULL OR lanes.room > 0 OR waiting.status >= 3 OR waiting.holder IS NOT NULL) ORDER BY waiting.priority DESC, waiting.ready_s, waiting.no
 LIMIT :most OFFSET 0)), 
ready AS 
(SELECT runs.no AS no, candidates.queued AS queued, candidates.turn AS turn 
FROM candidates JOIN runs ON runs.no = candidates.no 
WHERE runs.status < 100 AND (runs.ready_s <= :now_s OR runs.ready_s > :latest_lease_s) AND (runs.due_s <= :now_s OR runs.due_s > :latest_s) AND (candidates.new = 0 OR candidates.room IS NULL OR candidates.place <= candidates.room) ORDER BY candidates.queued, candidates.turn, runs.priority DESC, runs.ready_s, runs.no
 LIMIT :most OFFSET 0)
 UPDATE runs SET holder=:owner, ready_s=:until_s, turn=CASE WHEN (ready.queued = 1) THEN ready.turn ELSE runs.turn END FROM ready WHERE runs.no = ready.no RETURNING no

-- name: renew
UPDATE runs SET ready_s=:until_s WHERE runs.status < 100 AND runs.holder = :owner AND runs.id IN ({ids}) RETURNING id, cancel

-- name: release
UPDATE runs SET holder=NULL, ready_s=runs.due_s, turn=CASE WHEN (runs.status < 3) THEN NULL ELSE runs.turn END WHERE runs.status < 100 AND runs.holder = :owner AND runs.id IN ({ids}) RETURNING id

-- name: release_all
UPDATE runs SET holder=NULL, ready_s=runs.due_s, turn=CASE WHEN (runs.status < 3) THEN NULL ELSE runs.turn END WHERE runs.status < 100 AND runs.holder = :owner RETURNING id

-- name: owners
SELECT DISTINCT runs.holder 
FROM runs 
WHERE runs.status < 100 AND runs.holder IS NOT NULL

-- name: drivers
SELECT DISTINCT runs.holder 
FROM runs 
WHERE runs.status < 100 AND runs.holder IS NOT NULL AND NOT (runs.ready_s <= :now_s OR runs.ready_s > :latest_lease_s)

-- name: cancelled
SELECT runs.id 
FROM runs 
WHERE runs.status < 100 AND runs.holder = :owner AND runs.cancel = 1

-- name: apply
UPDATE runs SET status=:status, cause=:cause, attempt=:attempt, due_s=:due_s, placed_s=:placed_s, ended_s=:ended_s, reason=:reason, placement=:placement, phase=:phase, phase_s=:phase_s, cost=:cost, currency=:currency WHERE runs.id = :run_id AND runs.status < 100 AND runs.holder = :owner RETURNING no, cancel

-- name: apply_final
UPDATE runs SET status=:status, cause=:cause, attempt=:attempt, due_s=:due_s, placed_s=:placed_s, ended_s=:ended_s, reason=:reason, placement=:placement, holder=NULL, ready_s=NULL, phase=:phase, phase_s=:phase_s, cost=:cost, currency=:currency, record_bytes=:record_bytes WHERE runs.id = :run_id AND runs.status < 100 AND runs.holder = :owner RETURNING no, cancel

-- name: request_cancel
UPDATE runs SET cancel=1, due_s=runs.created_s, ready_s=CASE WHEN (runs.holder IS NULL) THEN runs.created_s ELSE runs.ready_s END WHERE runs.status < 100 AND runs.cancel = 0 AND runs.id IN ({ids}) RETURNING id

-- name: claimed
SELECT runs.id, descriptors.body, descriptors.digest, series_key.word AS series_key, client.word AS client, engine.word AS engine, runs.status, runs.created_s, runs.due_s, family.word AS family, runs.parent, runs.attempt, runs.placement, runs.reason, runs.cause, runs.placed_s, runs.ended_s, runs.cancel, folder.word AS folder, runs.order_s, runs.cell, runs.overrides, runs.phase, runs.phase_s, runs.cost, runs.currency, projects.name AS project, runs.needs, runs.turn 
FROM runs JOIN descriptors ON descriptors.id = runs.descriptor JOIN words AS series_key ON series_key.id = descriptors.series_key JOIN words AS client ON client.id = runs.client JOIN words AS engine ON engine.id = runs.engine JOIN projects ON projects.no = runs.project LEFT OUTER JOIN words AS family ON family.id = runs.family LEFT OUTER JOIN words AS folder ON folder.id = runs.folder 
WHERE runs.no IN ({numbers}) ORDER BY runs.priority DESC, runs.due_s, runs.no

-- name: get
SELECT runs.id, descriptors.body, descriptors.digest, series_key.word AS series_key, client.word AS client, engine.word AS engine, runs.status, runs.created_s, runs.due_s, family.word AS family, runs.parent, runs.attempt, runs.placement, runs.reason, runs.cause, runs.placed_s, runs.ended_s, runs.cancel, folder.word AS folder, runs.order_s, runs.cell, runs.overrides, runs.phase, runs.phase_s, runs.cost, runs.currency, projects.name AS project, runs.needs 
FROM runs JOIN descriptors ON descriptors.id = runs.descriptor JOIN words AS series_key ON series_key.id = descriptors.series_key JOIN words AS client ON client.id = runs.client JOIN words AS engine ON engine.id = runs.engine JOIN projects ON projects.no = runs.project LEFT OUTER JOIN words AS family ON family.id = runs.family LEFT OUTER JOIN words AS folder ON folder.id = runs.folder 
WHERE runs.id BETWEEN :low AND :high ORDER BY runs.id
 LIMIT :most OFFSET 0

-- name: get_within
SELECT runs.id, descriptors.body, descriptors.digest, series_key.word AS series_key, client.word AS client, engine.word AS engine, runs.status, runs.created_s, runs.due_s, family.word AS family, runs.parent, runs.attempt, runs.placement, runs.reason, runs.cause, runs.placed_s, runs.ended_s, runs.cancel, folder.word AS folder, runs.order_s, runs.cell, runs.overrides, runs.phase, runs.phase_s, runs.cost, runs.currency, projects.name AS project, runs.needs 
FROM runs JOIN descriptors ON descriptors.id = runs.descriptor JOIN words AS series_key ON series_key.id = descriptors.series_key JOIN words AS client ON client.id = runs.client JOIN words AS engine ON engine.id = runs.engine JOIN projects ON projects.no = runs.project LEFT OUTER JOIN words AS family ON family.id = runs.family LEFT OUTER JOIN words AS folder ON folder.id = runs.folder 
WHERE runs.id BETWEEN :low AND :high AND projects.name IN ({projects}) ORDER BY runs.id
 LIMIT :most OFFSET 0

-- name: neighbours
SELECT runs.id, (SELECT other.id 
FROM runs AS other 
WHERE other.id < runs.id ORDER BY other.id DESC
 LIMIT 1 OFFSET 0) AS "before", (SELECT other.id 
FROM runs AS other 
WHERE other.id > runs.id ORDER BY other.id ASC
 LIMIT 1 OFFSET 0) AS "after" 
FROM runs 
WHERE runs.id IN ({ids})

-- name: text
SELECT texts.body 
FROM runs JOIN texts ON texts.id = runs.text 
WHERE runs.id = :run_id

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
WHERE runs.status < 100 AND runs.ready_s > :now_s AND (runs.holder IS NULL OR runs.holder != :owner)

-- name: unfinished
SELECT count(*) AS runs 
FROM runs 
WHERE runs.status < 100

-- name: events
SELECT events.seq, runs.id, kind.word AS kind, events.time_s, events.message, events.data, actor.word AS actor 
FROM events JOIN runs ON runs.no = events.run JOIN words AS kind ON kind.id = events.kind LEFT OUTER JOIN words AS actor ON actor.id = events.actor 
WHERE events.seq > :after_seq ORDER BY events.seq
 LIMIT :most OFFSET 0

-- name: events_within
SELECT events.seq, runs.id, kind.word AS kind, events.time_s, events.message, events.data, actor.word AS actor 
FROM events JOIN runs ON runs.no = events.run JOIN words AS kind ON kind.id = events.kind LEFT OUTER JOIN words AS actor ON actor.id = events.actor 
WHERE events.seq > :after_seq AND runs.project IN (SELECT projects.no 
FROM projects 
WHERE projects.name IN ({projects})) ORDER BY events.seq
 LIMIT :most OFFSET 0

-- name: events_of_run
SELECT events.seq, runs.id, kind.word AS kind, events.time_s, events.message, events.data, actor.word AS actor 
FROM events JOIN runs ON runs.no = events.run JOIN words AS kind ON kind.id = events.kind LEFT OUTER JOIN words AS actor ON actor.id = events.actor 
WHERE events.seq > :after_seq AND runs.id = :run_id ORDER BY events.seq
 LIMIT :most OFFSET 0

-- name: remove
DELETE FROM runs WHERE runs.no IN ({numbers})

-- name: remove_descriptors
DELETE FROM descriptors WHERE descriptors.id IN ({numbers}) AND (descriptors.id NOT IN (SELECT runs.descriptor 
FROM runs))

-- name: remove_texts
DELETE FROM texts WHERE texts.id IN ({numbers}) AND (texts.id NOT IN (SELECT runs.text 
FROM runs))

-- name: forget_points
DELETE FROM points WHERE points.run = :run

-- name: measured
SELECT points.metric, metrics.name 
FROM points JOIN metrics ON metrics.id = points.metric 
WHERE points.run = :run

-- name: remove_points
DELETE FROM points WHERE points.run = :run AND points.metric IN ({numbers})

-- name: put_series
UPDATE runs SET series=:series WHERE runs.no = :run

-- name: add_point
INSERT INTO points (run, metric, series, value, spread, count, better, order_s, subject, contaminated) VALUES (:run, :metric, :series, :value, :spread, :count, :better, :order_s, :subject, :contaminated)

-- name: points
SELECT points.run, runs.id, series.series_key, series.fingerprint, metrics.name, metrics.units, points.value, points.spread, points.count, points.better, points.order_s, subject.word AS subject, points.contaminated, sessions.machine, sessions.start_s 
FROM points JOIN runs ON runs.no = points.run JOIN series ON series.id = points.series JOIN metrics ON metrics.id = points.metric JOIN words AS subject ON subject.id = points.subject LEFT OUTER JOIN sessions ON sessions.no = runs.session 
WHERE runs.id IN ({ids}) ORDER BY points.run

-- name: history
SELECT points.run, runs.id, series.series_key, series.fingerprint, metrics.name, metrics.units, points.value, points.spread, points.count, points.better, points.order_s, subject.word AS subject, points.contaminated, sessions.machine, sessions.start_s 
FROM points JOIN runs ON runs.no = points.run JOIN series ON series.id = points.series JOIN metrics ON metrics.id = points.metric JOIN words AS subject ON subject.id = points.subject LEFT OUTER JOIN sessions ON sessions.no = runs.session 
WHERE points.series = :series AND points.metric = :metric ORDER BY points.order_s DESC, points.run DESC
 LIMIT :most OFFSET 0

-- name: forget_samples
DELETE FROM samples WHERE samples.run = :run

-- name: remove_samples
DELETE FROM samples WHERE samples.run IN ({numbers})

-- name: forget_summaries
DELETE FROM summaries WHERE summaries.run = :run

-- name: remove_segments
DELETE FROM samples WHERE samples.run = :run AND samples.metric IN (SELECT metrics.id 
FROM metrics 
WHERE metrics.name = :name)

-- name: extent
SELECT max(samples.start + samples.count) AS extent 
FROM samples 
WHERE samples.run = :run AND samples.metric IN (SELECT metrics.id 
FROM metrics 
WHERE metrics.name = :name)

-- name: add_segment
INSERT INTO samples (run, metric, start, count, body, checksum) VALUES (:run, :metric, :start, :count, :body, :checksum)

-- name: remove_summary
DELETE FROM summaries WHERE summaries.run = :run AND summaries.metric IN (SELECT metrics.id 
FROM metrics 
WHERE metrics.name = :name)

-- name: add_summary
INSERT INTO summaries (run, metric, count, last, min, max, sum) VALUES (:run, :metric, :count, :last, :min, :max, :sum)

-- name: summary
SELECT summaries.count, summaries.last, summaries.min, summaries.max, summaries.sum 
FROM summaries 
WHERE summaries.run = :run AND summaries.metric IN (SELECT metrics.id 
FROM metrics 
WHERE metrics.name = :name)

-- name: stored_segments
SELECT runs.id, samples.start, samples.count, samples.body, samples.checksum 
FROM samples JOIN runs ON runs.no = samples.run 
WHERE samples.run = :run AND samples.metric IN (SELECT metrics.id 
FROM metrics 
WHERE metrics.name = :name) ORDER BY samples.start

-- name: segments
SELECT metrics.units, samples.start, samples.count, samples.body, samples.checksum 
FROM samples JOIN runs ON runs.no = samples.run JOIN metrics ON metrics.id = samples.metric 
WHERE runs.id = :run_id AND metrics.name = :name ORDER BY samples.start

-- name: summaries
SELECT metrics.name, metrics.units, summaries.count, summaries.last, summaries.min, summaries.max, summaries.sum 
FROM summaries JOIN runs ON runs.no = summaries.run JOIN metrics ON metrics.id = summaries.metric 
WHERE runs.id = :run_id

-- name: sessions_near
SELECT sessions.no, sessions.machine, sessions.start_s, sessions.end_s 
FROM sessions 
WHERE sessions.machine = :machine AND sessions.start_s <= :before_s AND sessions.end_s >= :after_s

-- name: add_session
INSERT INTO sessions (machine, start_s, end_s) VALUES (:machine, :start_s, :end_s) RETURNING no

-- name: extend_session
UPDATE sessions SET start_s=:start_s, end_s=:end_s WHERE sessions.no = :no

-- name: move_runs
UPDATE runs SET session=:into WHERE runs.session = :no

-- name: remove_session
DELETE FROM sessions WHERE sessions.no = :no

-- name: put_session
UPDATE runs SET session=:session WHERE runs.no = :run

-- name: put_alert
INSERT INTO alerts (id, benchmark, state, opened_s, body, version) VALUES (:id, :benchmark, :state, :opened_s, :body, :version) ON CONFLICT (id) DO UPDATE SET benchmark = excluded.benchmark, state = excluded.state, opened_s = excluded.opened_s, body = excluded.body, version = excluded.version WHERE alerts.version = :expected RETURNING version

-- name: alert
SELECT alerts.body, alerts.version 
FROM alerts 
WHERE substr(alerts.id, 1, length(:prefix)) = :prefix ORDER BY alerts.id
 LIMIT :most OFFSET 0

-- name: add_delivery
INSERT INTO deliveries (alert, state, address, run, created_s, due_s, status, attempts) VALUES (:alert, :state, :address, (SELECT runs.no 
FROM runs 
WHERE runs.id = :run_id), :created_s, :due_s, :status, :attempts) ON CONFLICT (alert, address) WHERE status = 0 DO UPDATE SET state = excluded.state, run = excluded.run, created_s = excluded.created_s

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
DELETE FROM deliveries WHERE deliveries.status != 0 AND deliveries.ended_s < :before_s

-- name: deliveries
SELECT deliveries.no, deliveries.alert, deliveries.state, deliveries.address, deliveries.run, deliveries.created_s, deliveries.due_s, deliveries.status, deliveries.attempts, deliveries.error, deliveries.ended_s, deliveries.holder, deliveries.until_s, runs.id 
FROM deliveries LEFT OUTER JOIN runs ON runs.no = deliveries.run 
WHERE deliveries.alert = :alert ORDER BY deliveries.no

-- name: claim_deliveries
WITH ready AS 
(SELECT deliveries.no AS no 
FROM deliveries 
WHERE deliveries.status = 0 AND NOT (EXISTS (SELECT * 
FROM deliveries AS earlier 
WHERE earlier.status = 0 AND earlier.address = deliveries.address AND earlier.no < deliveries.no)) AND (deliveries.due_s <= :now_s OR deliveries.due_s > :latest_s) AND (deliveries.until_s IS NULL OR deliveries.until_s <= :now_s OR deliveries.until_s > :latest_lease_s) ORDER BY deliveries.due_s, deliveries.no
 LIMIT :most OFFSET 0)
 UPDATE deliveries SET holder=:owner, until_s=:until_s WHERE deliveries.no IN (SELECT ready.no 
FROM ready) RETURNING no

-- name: renew_deliveries
UPDATE deliveries SET until_s=:until_s WHERE deliveries.status = 0 AND deliveries.holder = :owner AND deliveries.no IN ({numbers}) RETURNING no

-- name: release_deliveries
UPDATE deliveries SET holder=NULL, until_s=NULL WHERE deliveries.status = 0 AND deliveries.holder = :owner RETURNING no

-- name: delivery_owners
SELECT DISTINCT deliveries.holder 
FROM deliveries 
WHERE deliveries.status = 0 AND deliveries.holder IS NOT NULL

-- name: apply_delivery
UPDATE deliveries SET address=:address, due_s=:due_s, status=:status, attempts=:attempts, error=:error, ended_s=:ended_s, holder=NULL, until_s=NULL WHERE deliveries.status = 0 AND deliveries.holder = :owner AND deliveries.no = :no AND deliveries.state = :state RETURNING run

-- name: replaced_delivery
UPDATE deliveries SET due_s=deliveries.created_s, holder=NULL, until_s=NULL WHERE deliveries.status = 0 AND deliveries.holder = :owner AND deliveries.no = :no RETURNING run

-- name: project
SELECT projects.no, projects.name, projects.created_s, projects.weight, projects.max_running, projects.permits, projects.max_waiting, projects.max_per_day, projects.max_record_bytes, projects.max_run_s 
FROM projects 
WHERE projects.name = :name

-- name: lock_projects
UPDATE projects SET weight=projects.weight

-- name: put_permits
UPDATE projects SET permits=:permits WHERE projects.name = :name

-- name: put_quota
UPDATE projects SET max_running=:max_running, max_waiting=:max_waiting, max_per_day=:max_per_day, max_record_bytes=:max_record_bytes, max_run_s=:max_run_s WHERE projects.name = :name

-- name: limited_projects
SELECT projects.no 
FROM projects 
WHERE projects.max_running IS NOT NULL
 LIMIT 1 OFFSET 0

-- name: lock_limits
SELECT projects.no 
FROM projects 
WHERE projects.max_running IS NOT NULL ORDER BY projects.no

-- name: quotas
SELECT projects.no, projects.name, projects.max_waiting, projects.max_per_day, projects.max_record_bytes 
FROM projects 
WHERE projects.no IN ({numbers}) AND (projects.max_waiting IS NOT NULL OR projects.max_per_day IS NOT NULL OR projects.max_record_bytes IS NOT NULL)

-- name: waiting_runs
SELECT count(*) AS runs 
FROM runs 
WHERE runs.project = :project AND runs.status < 3

-- name: recorded_bytes
SELECT coalesce(sum(runs.record_bytes), 0) AS size_bytes 
FROM runs 
WHERE runs.project = :project AND runs.record_bytes IS NOT NULL

-- name: forget_project_days
DELETE FROM project_days WHERE project_days.project = :project AND project_days.day < :before

-- name: count_submitted
INSERT INTO project_days (project, day, submitted) VALUES (:project, :day, :new) ON CONFLICT (project, day) DO UPDATE SET submitted = (project_days.submitted + excluded.submitted) RETURNING submitted

-- name: forget_record_bytes
UPDATE runs SET record_bytes=NULL WHERE runs.no IN ({numbers})

-- name: put_project_secret
INSERT INTO project_secrets (project, name, sealed, "key", changed_s, actor) VALUES (:project, :name, :sealed, :key, :changed_s, :actor) ON CONFLICT (project, name) DO UPDATE SET sealed = excluded.sealed, "key" = excluded."key", changed_s = excluded.changed_s, actor = excluded.actor

-- name: project_secret_names
SELECT project_secrets.name, project_secrets.changed_s, project_secrets.actor 
FROM project_secrets 
WHERE project_secrets.project = (SELECT projects.no 
FROM projects 
WHERE projects.name = :project) ORDER BY project_secrets.name

-- name: project_secret
SELECT project_secrets.sealed, project_secrets."key" 
FROM project_secrets 
WHERE project_secrets.project = (SELECT projects.no 
FROM projects 
WHERE projects.name = :project) AND project_secrets.name = :name

-- name: secret_keys
SELECT DISTINCT project_secrets."key" 
FROM project_secrets ORDER BY project_secrets."key"

-- name: remove_project_secret
DELETE FROM project_secrets WHERE project_secrets.project = (SELECT projects.no 
FROM projects 
WHERE projects.name = :project) AND project_secrets.name = :name RETURNING name

-- name: add_schedule
INSERT INTO schedules (id, name, body, text, ready_s, queued, version) VALUES (:id, :name, :body, :text, :ready_s, :queued, 1) ON CONFLICT DO NOTHING RETURNING no

-- name: change_schedule
UPDATE schedules SET name=:name, body=:body, ready_s=:ready_s, queued=:queued, version=(schedules.version + 1), holder=NULL, until_s=NULL WHERE schedules.id = :id AND schedules.version = :expected RETURNING no

-- name: change_schedule_text
UPDATE schedules SET name=:name, body=:body, text=:text, ready_s=:ready_s, queued=:queued, version=(schedules.version + 1), holder=NULL, until_s=NULL WHERE schedules.id = :id AND schedules.version = :expected RETURNING no

-- name: apply_schedule
UPDATE schedules SET name=:name, body=:body, ready_s=:ready_s, queued=:queued, version=(schedules.version + 1), holder=NULL, until_s=NULL WHERE schedules.id = :id AND schedules.version = :expected AND schedules.holder = :owner RETURNING no

-- name: remove_schedule
DELETE FROM schedules WHERE schedules.id = :id

-- name: schedules_named
SELECT schedules.no, schedules.body, schedules.version 
FROM schedules 
WHERE schedules.name = :name OR schedules.name LIKE ('%:' || :name)

-- name: schedules_between
SELECT schedules.no, schedules.body, schedules.version 
FROM schedules 
WHERE schedules.id BETWEEN :low AND :high ORDER BY schedules.id
 LIMIT :most OFFSET 0

-- name: schedules
SELECT schedules.no, schedules.body, schedules.version 
FROM schedules ORDER BY schedules.name

-- name: schedule_text
SELECT schedules.text 
FROM schedules 
WHERE schedules.id = :id

-- name: note_due_time
INSERT INTO due_times (schedule, due_s, state, noted_s, run, reason, count, last_s) VALUES (:schedule, :due_s, :state, :noted_s, :run, :reason, :count, :last_s) ON CONFLICT (schedule, due_s) DO UPDATE SET state = excluded.state, noted_s = excluded.noted_s, run = excluded.run, reason = excluded.reason, count = excluded.count, last_s = excluded.last_s WHERE due_times.state = 0 RETURNING state

-- name: due_times
SELECT due_times.schedule, due_times.due_s, due_times.state, due_times.noted_s, due_times.run, due_times.reason, due_times.count, due_times.last_s 
FROM due_times JOIN schedules ON schedules.no = due_times.schedule 
WHERE schedules.id = :id ORDER BY due_times.due_s DESC
 LIMIT :most OFFSET 0

-- name: forget_due_times
DELETE FROM due_times WHERE due_times.schedule = :schedule AND due_times.due_s < :before_s AND due_times.state != 0

-- name: claim_schedules
WITH ready AS 
(SELECT schedules.no AS no 
FROM schedules 
WHERE schedules.ready_s IS NOT NULL AND (schedules.ready_s <= :now_s OR schedules.ready_s > :latest_look_s AND schedules.queued > 0) AND (schedules.until_s IS NULL OR schedules.until_s <= :now_s OR schedules.until_s > :latest_lease_s) ORDER BY schedules.ready_s, schedules.no
 LIMIT :most OFFSET 0)
 UPDATE schedules SET holder=:owner, until_s=:until_s WHERE schedules.no IN (SELECT ready.no 
FROM ready) RETURNING no

-- name: claimed_schedules
SELECT schedules.no, schedules.body, schedules.version 
FROM schedules 
WHERE schedules.no IN ({numbers}) ORDER BY schedules.ready_s, schedules.no

-- name: release_schedules
UPDATE schedules SET holder=NULL, until_s=NULL WHERE schedules.holder = :owner RETURNING no

-- name: schedule_owners
SELECT DISTINCT schedules.holder 
FROM schedules 
WHERE schedules.holder IS NOT NULL

-- name: next_schedule
SELECT schedules.ready_s 
FROM schedules 
WHERE schedules.ready_s IS NOT NULL AND schedules.holder IS NULL ORDER BY schedules.ready_s
 LIMIT 1 OFFSET 0

-- name: add_sink
INSERT INTO sinks (id, address, secret, kinds, created_s, seq, state, due_s, attempts, error, delivered, delivered_s) VALUES (:id, :address, :secret, :kinds, :created_s, :seq, :state, :due_s, :attempts, :error, :delivered, :delivered_s)

-- name: sinks
SELECT sinks.no, sinks.id, sinks.address, sinks.secret, sinks.kinds, sinks.created_s, sinks.seq, sinks.state, sinks.due_s, sinks.attempts, sinks.error, sinks.delivered, sinks.delivered_s, sinks.holder, sinks.until_s, (SELECT event_count.seq 
FROM event_count) - sinks.seq AS behind 
FROM sinks ORDER BY sinks.no

-- name: sink
SELECT sinks.no, sinks.id, sinks.address, sinks.secret, sinks.kinds, sinks.created_s, sinks.seq, sinks.state, sinks.due_s, sinks.attempts, sinks.error, sinks.delivered, sinks.delivered_s, sinks.holder, sinks.until_s, (SELECT event_count.seq 
FROM event_count) - sinks.seq AS behind 
FROM sinks 
WHERE substr(sinks.id, 1, length(:prefix)) = :prefix ORDER BY sinks.no
 LIMIT :most OFFSET 0

-- name: remove_sink
DELETE FROM sinks WHERE sinks.id = :id

-- name: resume_sink
UPDATE sinks SET state=0, due_s=:due_s, attempts=0, error=NULL WHERE sinks.id = :id

-- name: claim_sinks
WITH ready AS 
(SELECT sinks.no AS no 
FROM sinks 
WHERE sinks.state = 0 AND sinks.seq < (SELECT event_count.seq 
FROM event_count) AND (sinks.due_s <= :now_s OR sinks.due_s > :latest_s) AND (sinks.until_s IS NULL OR sinks.until_s <= :now_s OR sinks.until_s > :latest_lease_s) ORDER BY sinks.due_s, sinks.no
 LIMIT :most OFFSET 0)
 UPDATE sinks SET holder=:owner, until_s=:until_s WHERE sinks.no IN (SELECT ready.no 
FROM ready) RETURNING no

-- name: claimed_sinks
SELECT sinks.no, sinks.id, sinks.address, sinks.secret, sinks.kinds, sinks.created_s, sinks.seq, sinks.state, sinks.due_s, sinks.attempts, sinks.error, sinks.delivered, sinks.delivered_s, sinks.holder, sinks.until_s, (SELECT event_count.seq 
FROM event_count) - sinks.seq AS behind 
FROM sinks 
WHERE sinks.no IN ({numbers}) ORDER BY sinks.no

-- name: renew_sinks
UPDATE sinks SET until_s=:until_s WHERE sinks.holder = :owner AND sinks.no IN ({numbers}) RETURNING no

-- name: release_sinks
UPDATE sinks SET holder=NULL, until_s=NULL WHERE sinks.holder = :owner RETURNING no

-- name: sink_owners
SELECT DISTINCT sinks.holder 
FROM sinks 
WHERE sinks.holder IS NOT NULL

-- name: apply_sink
UPDATE sinks SET seq=:seq, state=:state, due_s=:due_s, attempts=:attempts, error=:error, delivered=:delivered, delivered_s=:delivered_s, holder=NULL, until_s=NULL WHERE sinks.holder = :owner AND sinks.no = :no RETURNING no

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
WHERE events.seq > :after_seq ORDER BY events.seq
 LIMIT :most OFFSET 0) AS anon_1 UNION ALL SELECT anon_2.seq AS seq, anon_2.run AS run, anon_2.kind AS kind, anon_2.actor AS actor, anon_2.time_s AS time_s, anon_2.message AS message, anon_2.data AS data 
FROM (SELECT removed_events.seq AS seq, removed_events.run AS run, removed_events.kind AS kind, removed_events.actor AS actor, removed_events.time_s AS time_s, removed_events.message AS message, removed_events.data AS data 
FROM removed_events 
WHERE removed_events.seq > :after_seq ORDER BY removed_events.seq
 LIMIT :most OFFSET 0) AS anon_2) AS both_parts JOIN words AS kind_word ON kind_word.id = both_parts.kind LEFT OUTER JOIN words AS actor_word ON actor_word.id = both_parts.actor ORDER BY both_parts.seq
 LIMIT :most OFFSET 0

-- name: keep_events
INSERT INTO removed_events (seq, run, kind, actor, time_s, message, data) SELECT events.seq, runs.id AS run, events.kind, events.actor, events.time_s, events.message, events.data 
FROM events JOIN runs ON runs.no = events.run 
WHERE events.seq > (SELECT coalesce(min(sinks.seq), (SELECT event_count.seq 
FROM event_count)) AS coalesce_1 
FROM sinks 
WHERE sinks.state = 0) AND events.run IN ({numbers})

-- name: add_removed_event
INSERT INTO removed_events (seq, run, kind, actor, time_s, message, data) VALUES (:seq, :run_id, :kind, :actor, :time_s, :message, :data)

-- name: forget_removed_events
DELETE FROM removed_events WHERE removed_events.seq <= (SELECT coalesce(min(sinks.seq), (SELECT event_count.seq 
FROM event_count)) AS coalesce_1 
FROM sinks 
WHERE sinks.state = 0) AND (removed_events.kind NOT IN (SELECT words.id 
FROM words 
WHERE words.word = :purged))

-- name: forget_events
DELETE FROM events WHERE events.run IN ({numbers})

-- name: add_hold
INSERT INTO holds (run, why, actor, created_s) VALUES ((SELECT runs.no 
FROM runs 
WHERE runs.id = :run_id), :why, :actor, :created_s) ON CONFLICT (run) DO UPDATE SET why = :why, actor = :actor

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
INSERT INTO submissions ("key", digest, runs, created_s) VALUES (:key, :digest, :runs, :created_s) ON CONFLICT DO NOTHING RETURNING "key"

-- name: submission
SELECT submissions."key", submissions.digest, submissions.runs, submissions.created_s 
FROM submissions 
WHERE submissions."key" = :key

-- name: forget_submissions
DELETE FROM submissions WHERE submissions.created_s < :before_s

-- name: last_event
SELECT event_count.seq 
FROM event_count

-- name: wake_waiting
UPDATE runs SET due_s=runs.created_s, ready_s=CASE WHEN (runs.holder IS NULL) THEN runs.created_s ELSE runs.ready_s END WHERE runs.phase = 'needs' AND (runs.needs LIKE '%' || :run_id || '%')

-- name: put_sweep
INSERT INTO sweeps (id, running, created_s, body, version) VALUES (:id, :running, :created_s, :body, :version) ON CONFLICT DO NOTHING RETURNING version

-- name: change_sweep
UPDATE sweeps SET running=:running, body=:body, version=:version WHERE sweeps.id = :id AND sweeps.version = :expected RETURNING version

-- name: sweep
SELECT sweeps.id, sweeps.body 
FROM sweeps 
WHERE substr(sweeps.id, 1, length(:prefix)) = :prefix ORDER BY sweeps.id
 LIMIT :most OFFSET 0

-- name: running_sweeps
SELECT sweeps.id, sweeps.version 
FROM sweeps 
WHERE sweeps.running = 1 ORDER BY sweeps.id

-- name: newest_sweeps
SELECT sweeps.body 
FROM sweeps ORDER BY sweeps.created_s DESC, sweeps.id
 LIMIT :most OFFSET 0

-- name: remove_sweeps
DELETE FROM sweeps WHERE sweeps.id IN ({ids}) AND sweeps.running = 0 RETURNING id

-- name: add_trigger
INSERT INTO triggers (name, body) VALUES (:name, :body) ON CONFLICT DO NOTHING RETURNING name

-- name: trigger
SELECT triggers.body 
FROM triggers 
WHERE triggers.name = :name

-- name: triggers
SELECT triggers.body 
FROM triggers

-- name: remove_trigger
DELETE FROM triggers WHERE triggers.name = :name

-- name: note_trigger_delivery
INSERT INTO trigger_deliveries ("trigger", delivery, received_s, failed, body) VALUES (:trigger, :delivery, :received_s, :failed, :body) ON CONFLICT ("trigger", delivery) DO UPDATE SET received_s = excluded.received_s, failed = excluded.failed, body = excluded.body WHERE trigger_deliveries.failed = 1

-- name: trigger_delivery
SELECT trigger_deliveries.body 
FROM trigger_deliveries 
WHERE trigger_deliveries."trigger" = :trigger AND trigger_deliveries.delivery = :delivery

-- name: trigger_deliveries
SELECT trigger_deliveries.body 
FROM trigger_deliveries 
WHERE trigger_deliveries."trigger" = :trigger ORDER BY trigger_deliveries.received_s DESC, trigger_deliveries.delivery
 LIMIT :most OFFSET 0

-- name: forget_trigger_deliveries
DELETE FROM trigger_deliveries WHERE trigger_deliveries."trigger" = :trigger AND trigger_deliveries.received_s < :before_s

-- name: first_project
INSERT INTO projects (name, created_s) VALUES ('default', 0)

-- name: add_project
INSERT INTO projects (name, created_s, permits) VALUES (:name, :created_s, :permits) ON CONFLICT DO NOTHING RETURNING no

-- name: find_projects
SELECT projects.no, projects.name 
FROM projects 
WHERE projects.name IN ({names})

-- name: put_share
UPDATE projects SET weight=:weight WHERE projects.name = :name RETURNING no

-- name: projects
SELECT projects.no, projects.name, projects.created_s, projects.weight, projects.max_running, projects.permits, projects.max_waiting, projects.max_per_day, projects.max_record_bytes, projects.max_run_s 
FROM projects ORDER BY projects.no

-- name: add_user
INSERT INTO users (name, created_s) VALUES (:name, :created_s) ON CONFLICT DO NOTHING RETURNING no

-- name: user
SELECT users.no, users.name, users.created_s, users.disabled_s 
FROM users 
WHERE users.name = :name

-- name: users
SELECT users.no, users.name, users.created_s, users.disabled_s 
FROM users ORDER BY users.name

-- name: has_users
SELECT users.no 
FROM users
 LIMIT 1 OFFSET 0

-- name: put_disabled
UPDATE users SET disabled_s=:disabled_s WHERE users.name = :name RETURNING no

-- name: join_group
INSERT INTO group_members (name, user) VALUES (:group, :user) ON CONFLICT DO NOTHING RETURNING user

-- name: leave_group
DELETE FROM group_members WHERE group_members.name = :group AND group_members.user = :user RETURNING user

-- name: groups
SELECT group_members.name AS group_name, group_members.user 
FROM group_members ORDER BY group_members.name

-- name: grant
INSERT INTO memberships (project, member, role) VALUES (:project, :member, :role) ON CONFLICT (project, member) DO UPDATE SET role = excluded.role

-- name: end_membership
DELETE FROM memberships WHERE memberships.project = :project AND memberships.member = :member RETURNING member

-- name: memberships
SELECT memberships.member, memberships.role, projects.name AS project_name 
FROM memberships LEFT OUTER JOIN projects ON projects.no = memberships.project ORDER BY memberships.project, memberships.member

-- name: roles_of_user
SELECT memberships.member, memberships.role, projects.name AS project_name 
FROM memberships LEFT OUTER JOIN projects ON projects.no = memberships.project 
WHERE memberships.member = :name OR memberships.member IN (SELECT '@' || group_members.name AS anon_1 
FROM group_members 
WHERE group_members.user = :user)

-- name: add_token
INSERT INTO tokens (prefix, digest, user, project, role, about, created_s, expires_s) VALUES (:prefix, :digest, :user, :project, :role, :about, :created_s, :expires_s)

-- name: token
SELECT tokens.prefix, tokens.digest, tokens.role, tokens.about, tokens.created_s, tokens.expires_s, tokens.revoked_s, tokens.used_s, projects.name AS project_name, users.name AS user_name, users.no AS user_no, users.disabled_s 
FROM tokens LEFT OUTER JOIN projects ON projects.no = tokens.project JOIN users ON users.no = tokens.user 
WHERE tokens.prefix = :prefix

-- name: tokens
SELECT tokens.prefix, tokens.digest, tokens.role, tokens.about, tokens.created_s, tokens.expires_s, tokens.revoked_s, tokens.used_s, projects.name AS project_name, users.name AS user_name, users.no AS user_no, users.disabled_s 
FROM tokens LEFT OUTER JOIN projects ON projects.no = tokens.project JOIN users ON users.no = tokens.user ORDER BY tokens.created_s, tokens.prefix

-- name: revoke_token
UPDATE tokens SET revoked_s=:now_s WHERE tokens.prefix = :prefix AND tokens.revoked_s IS NULL

-- name: use_token
UPDATE tokens SET used_s=:now_s WHERE tokens.prefix = :prefix

-- name: admin_tokens
SELECT tokens.prefix, tokens.digest, tokens.role, tokens.about, tokens.created_s, tokens.expires_s, tokens.revoked_s, tokens.used_s, projects.name AS project_name, users.name AS user_name, users.no AS user_no, users.disabled_s 
FROM tokens LEFT OUTER JOIN projects ON projects.no = tokens.project JOIN users ON users.no = tokens.user 
WHERE tokens.project = 0 AND tokens.role = :role AND tokens.revoked_s IS NULL AND tokens.expires_s > :now_s AND users.disabled_s IS NULL

-- name: add_decision
INSERT INTO decisions (time_s, last_s, count, actor, token, address, action, target, allowed, reason) VALUES (:time_s, :last_s, :count, :actor, :token, :address, :action, :target, :allowed, :reason)

-- name: newest_decisions
SELECT decisions.no, decisions.time_s, decisions.last_s, decisions.count, decisions.actor, decisions.token, decisions.address, decisions.action, decisions.target, decisions.allowed, decisions.reason 
FROM decisions 
WHERE decisions.no < :before_no AND decisions.last_s >= :since_s AND decisions.allowed <= :most_allowed AND (:actor = '' OR decisions.actor = :actor) ORDER BY decisions.no DESC
 LIMIT :most OFFSET 0

-- name: forget_decisions
DELETE FROM decisions WHERE decisions.last_s < :before_s

-- name: add_sign_in
INSERT INTO sign_ins (id, digest, user, token, issuer, about, created_s, expires_s) VALUES (:id, :digest, :user, :token, :issuer, :about, :created_s, :expires_s)

-- name: sign_in
SELECT sign_ins.id, sign_ins.digest, sign_ins.token, sign_ins.issuer, sign_ins.about, sign_ins.created_s, sign_ins.expires_s, sign_ins.revoked_s, sign_ins.used_s, users.name AS user_name, users.no AS user_no, users.disabled_s 
FROM sign_ins JOIN users ON users.no = sign_ins.user 
WHERE sign_ins.id = :id

-- name: sign_ins
SELECT sign_ins.id, sign_ins.digest, sign_ins.token, sign_ins.issuer, sign_ins.about, sign_ins.created_s, sign_ins.expires_s, sign_ins.revoked_s, sign_ins.used_s, users.name AS user_name, users.no AS user_no, users.disabled_s 
FROM sign_ins JOIN users ON users.no = sign_ins.user ORDER BY sign_ins.created_s, sign_ins.id

-- name: revoke_sign_in
UPDATE sign_ins SET revoked_s=:now_s WHERE sign_ins.id = :id AND sign_ins.revoked_s IS NULL RETURNING id

-- name: use_sign_in
UPDATE sign_ins SET used_s=:now_s WHERE sign_ins.id = :id

-- name: forget_sign_ins
DELETE FROM sign_ins WHERE sign_ins.expires_s < :before_s OR sign_ins.revoked_s < :before_s

-- name: add_step
INSERT INTO sign_in_steps (digest, body, expires_s) VALUES (:digest, :body, :expires_s)

-- name: take_step
DELETE FROM sign_in_steps WHERE sign_in_steps.digest = :digest RETURNING body, expires_s

-- name: forget_steps
DELETE FROM sign_in_steps WHERE sign_in_steps.expires_s <= :now_s

-- name: subject
SELECT users.no, users.name, users.disabled_s 
FROM subjects JOIN users ON users.no = subjects.user 
WHERE subjects.issuer = :issuer AND subjects.subject = :subject

-- name: add_subject
INSERT INTO subjects (issuer, subject, user) VALUES (:issuer, :subject, :user) ON CONFLICT DO NOTHING RETURNING user

-- name: unindexed
SELECT runs.id, runs.no, runs.placed_s 
FROM runs 
WHERE runs.status >= 100 AND runs."indexed" IS NULL AND runs.no < :before ORDER BY runs.no DESC
 LIMIT :most OFFSET 0

-- name: final_numbers
SELECT runs.id, runs.no 
FROM runs 
WHERE runs.id IN ({ids}) AND runs.status >= 100

-- name: note_indexed
UPDATE runs SET "indexed"=1 WHERE runs.no IN ({numbers})

-- name: forget_indexes
UPDATE runs SET "indexed"=NULL WHERE runs.id IN ({ids})

-- name: forget_log_chunks
DELETE FROM log_chunks WHERE log_chunks.run IN ({numbers})

-- name: add_log_chunk
INSERT INTO log_chunks (run, attempt, role, rank, stream, start, "end", line, entry, first_s, last_s, bitmap) VALUES (:run, :attempt, :role, :rank, :stream, :start, :end, :line, :entry, :first_s, :last_s, :bitmap)

-- name: log_chunks
SELECT runs.id, log_chunks.attempt, log_chunks.role, log_chunks.rank, log_chunks.stream, log_chunks.start, log_chunks."end", log_chunks.line, log_chunks.entry, log_chunks.first_s, log_chunks.last_s, log_chunks.bitmap 
FROM runs LEFT OUTER JOIN log_chunks ON runs.no = log_chunks.run 
WHERE runs.id IN ({ids}) AND runs."indexed" IS NOT NULL ORDER BY runs.no, log_chunks.attempt, log_chunks.role, log_chunks.rank, log_chunks.stream, log_chunks.start

-- name: add_joined_worker
INSERT INTO joined_workers (name, token, body, seen_s, beats, version) VALUES (:name, :token, :body, :seen_s, :beats, :version) ON CONFLICT DO NOTHING RETURNING version

-- name: change_joined_worker
UPDATE joined_workers SET token=:token, body=:body, version=(joined_workers.version + 1) WHERE joined_workers.name = :name AND joined_workers.version = :expected RETURNING version

-- name: beat_joined_worker
UPDATE joined_workers SET body=:body, seen_s=:seen_s, beats=(joined_workers.beats + 1), version=(joined_workers.version + 1) WHERE joined_workers.name = :name AND joined_workers.token = :token RETURNING beats, version

-- name: lock_joined_worker
UPDATE joined_workers SET version=(joined_workers.version + 1) WHERE joined_workers.name = :name RETURNING beats

-- name: joined_worker
SELECT joined_workers.name, joined_workers.token, joined_workers.body, joined_workers.seen_s, joined_workers.beats, joined_workers.version 
FROM joined_workers 
WHERE joined_workers.name = :name

-- name: joined_worker_of_token
SELECT joined_workers.name, joined_workers.token, joined_workers.body, joined_workers.seen_s, joined_workers.beats, joined_workers.version 
FROM joined_workers 
WHERE joined_workers.token = :token

-- name: joined_workers
SELECT joined_workers.name, joined_workers.token, joined_workers.body, joined_workers.seen_s, joined_workers.beats, joined_workers.version 
FROM joined_workers

-- name: add_assignment
INSERT INTO assignments (run, attempt, worker, queued_s, is_open, body, version) VALUES (:run, :attempt, :worker, :queued_s, :is_open, :body, :version) ON CONFLICT DO NOTHING

-- name: change_assignment
UPDATE assignments SET worker=:worker, is_open=:is_open, body=:body, version=(assignments.version + 1) WHERE assignments.run = :run AND assignments.attempt = :attempt AND assignments.version = :expected AND assignments.is_open = 1 RETURNING version

-- name: assignment
SELECT assignments.body, assignments.version 
FROM assignments 
WHERE assignments.run = :run AND assignments.attempt = :attempt

-- name: assigned
SELECT assignments.body, assignments.version 
FROM assignments 
WHERE assignments.is_open = 1 AND assignments.worker = :worker

-- name: open_assignments
SELECT assignments.body, assignments.version 
FROM assignments 
WHERE assignments.is_open = 1

-- name: count_waiting
SELECT count(assignments.run) AS count 
FROM assignments 
WHERE assignments.is_open = 1 AND assignments.worker IS NULL

-- name: forget_assignments
DELETE FROM assignments WHERE assignments.is_open = 0 AND assignments.queued_s < :before_s

-- name: measured_runs
WITH starts AS 
(SELECT series.id AS id, coalesce((SELECT coalesce(newer.order_s, newer.created_s) AS coalesce_1 
FROM runs AS newer 
WHERE newer.series = series.id AND coalesce(newer.order_s, newer.created_s) < :before_s ORDER BY coalesce(newer.order_s, newer.created_s) DESC
 LIMIT 1 OFFSET :skipped), -1e308) AS order_s 
FROM series 
WHERE series.series_key IN ({series_keys}))
 SELECT runs.no, runs.id, coalesce(runs.order_s, runs.created_s) AS order_s, descriptors.subject, runs.series, sessions.machine, sessions.start_s 
FROM starts JOIN runs ON runs.series = starts.id JOIN descriptors ON descriptors.id = runs.descriptor LEFT OUTER JOIN sessions ON sessions.no = runs.session 
WHERE coalesce(runs.order_s, runs.created_s) >= starts.order_s AND coalesce(runs.order_s, runs.created_s) < :before_s ORDER BY coalesce(runs.order_s, runs.created_s), runs.no

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
WHERE kind.word IN ({kinds}) AND (events.data LIKE '%' || :part || '%') ORDER BY events.seq

-- name: list_newest
SELECT runs.no, runs.id, descriptors.name, runs.status, runs.cause, engine.word AS engine, runs.created_s, runs.placed_s, runs.ended_s, runs.reason, family.word AS family, descriptors.labels, descriptors.subject, runs.cell, runs.overrides, runs.cost, runs.currency, projects.name AS project 
FROM runs JOIN descriptors ON descriptors.id = runs.descriptor JOIN words AS engine ON engine.id = runs.engine JOIN projects ON projects.no = runs.project LEFT OUTER JOIN words AS family ON family.id = runs.family 
WHERE runs.no IN (SELECT runs.no 
FROM runs ORDER BY runs.created_s DESC, runs.no DESC
 LIMIT :most OFFSET 0) ORDER BY runs.created_s DESC, runs.no DESC

-- name: list_oldest
SELECT runs.no, runs.id, descriptors.name, runs.status, runs.cause, engine.word AS engine, runs.created_s, runs.placed_s, runs.ended_s, runs.reason, family.word AS family, descriptors.labels, descriptors.subject, runs.cell, runs.overrides, runs.cost, runs.currency, projects.name AS project 
FROM runs JOIN descriptors ON descriptors.id = runs.descriptor JOIN words AS engine ON engine.id = runs.engine JOIN projects ON projects.no = runs.project LEFT OUTER JOIN words AS family ON family.id = runs.family 
WHERE runs.no IN (SELECT runs.no 
FROM runs ORDER BY runs.created_s, runs.no
 LIMIT :most OFFSET 0) ORDER BY runs.created_s, runs.no

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
WHERE descriptors.name = :name)

-- name: where_subject
runs.descriptor IN (SELECT descriptors.id 
FROM descriptors 
WHERE substr(descriptors.subject, 1, length(:subject)) = :subject)

-- name: where_label
runs.descriptor IN (SELECT labels.descriptor 
FROM labels 
WHERE labels.name = :label_name_0 AND labels.value = :label_value_0)

-- name: where_family
runs.family = (SELECT words.id 
FROM words 
WHERE words.word = :family)

-- name: where_parent
runs.parent = :parent

-- name: where_owner
runs.client = (SELECT words.id 
FROM words 
WHERE words.word = :owner)

-- name: where_metric
EXISTS (SELECT points.run 
FROM points 
WHERE points.run = runs.no AND points.metric IN (SELECT metrics.id 
FROM metrics 
WHERE metrics.name = :metric)
 LIMIT -1 OFFSET 0)

-- name: where_numbers
runs.no IN ({numbers})

-- name: where_since_s
runs.created_s >= :since_s

-- name: where_until_s
runs.created_s < :until_s

-- name: where_after_newest
runs.created_s <= :after_s AND (runs.created_s < :after_s OR runs.no < :after_no)

-- name: where_after_oldest
runs.created_s >= :after_s AND (runs.created_s > :after_s OR runs.no > :after_no)

-- name: listed_place
SELECT runs.created_s, runs.no 
FROM runs 
WHERE runs.id = :id

-- name: listed_values
SELECT points.run, metrics.name, metrics.units, points.value 
FROM points JOIN metrics ON metrics.id = points.metric 
WHERE points.run IN ({numbers})

-- name: runs_of_metric
SELECT points.run 
FROM points 
WHERE points.metric IN (SELECT metrics.id 
FROM metrics 
WHERE metrics.name = :metric)
 LIMIT :most OFFSET 0

-- name: list_alerts
SELECT alerts.body, alerts.version 
FROM alerts ORDER BY alerts.opened_s DESC, alerts.id

-- name: where_alert_states
alerts.state IN ({states})

-- name: where_alert_benchmark
alerts.benchmark = :benchmark

-- name: where_alert_series_key
(alerts.body LIKE '%' || :series_key || '%')
