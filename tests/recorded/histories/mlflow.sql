CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('dc11669786a5');
CREATE TABLE "experiments" (
	experiment_id INTEGER NOT NULL, 
	name VARCHAR(256) NOT NULL, 
	artifact_location VARCHAR(256), 
	lifecycle_stage VARCHAR(32), 
	creation_time BIGINT, 
	last_update_time BIGINT, 
	workspace VARCHAR(63) DEFAULT 'default' NOT NULL, 
	CONSTRAINT experiment_pk PRIMARY KEY (experiment_id), 
	CONSTRAINT experiments_lifecycle_stage CHECK (lifecycle_stage IN ('active', 'deleted')), 
	CONSTRAINT uq_experiments_workspace_name UNIQUE (workspace, name)
);
INSERT INTO "experiments" VALUES(0,'Default','/srv/mlruns/0','active',1795170925991,1795170925991,'default');
INSERT INTO "experiments" VALUES(1,'digits','/srv/mlruns/1','active',1795170925995,1795170925995,'default');
CREATE TABLE "latest_metrics" (
	"key" VARCHAR(250) NOT NULL, 
	value FLOAT NOT NULL, 
	timestamp BIGINT, 
	step BIGINT NOT NULL, 
	is_nan BOOLEAN NOT NULL, 
	run_uuid VARCHAR(32) NOT NULL, 
	CONSTRAINT latest_metric_pk PRIMARY KEY ("key", run_uuid), 
	FOREIGN KEY(run_uuid) REFERENCES runs (run_uuid), 
	CHECK (is_nan IN (0, 1))
);
INSERT INTO "latest_metrics" VALUES('loss',3.33333333333333314829e-01,1795170926072,2,0,'8d72ac400c0a4abfb52a94e1e19bad8f');
INSERT INTO "latest_metrics" VALUES('accuracy',0.9,1795170926076,0,0,'8d72ac400c0a4abfb52a94e1e19bad8f');
INSERT INTO "latest_metrics" VALUES('diverged',0.0,1795170926079,0,1,'8d72ac400c0a4abfb52a94e1e19bad8f');
INSERT INTO "latest_metrics" VALUES('limit',1.79769313486231562234e+308,1795170926082,0,0,'8d72ac400c0a4abfb52a94e1e19bad8f');
INSERT INTO "latest_metrics" VALUES('system/cpu_utilization_percentage',50.0,1795170926086,0,0,'8d72ac400c0a4abfb52a94e1e19bad8f');
INSERT INTO "latest_metrics" VALUES('loss',0.25,1795170926113,2,0,'878cab09b9e14bef971c92d98538f29c');
INSERT INTO "latest_metrics" VALUES('accuracy',0.91,1795170926117,0,0,'878cab09b9e14bef971c92d98538f29c');
INSERT INTO "latest_metrics" VALUES('diverged',0.0,1795170926120,0,1,'878cab09b9e14bef971c92d98538f29c');
INSERT INTO "latest_metrics" VALUES('limit',1.79769313486231562234e+308,1795170926123,0,0,'878cab09b9e14bef971c92d98538f29c');
INSERT INTO "latest_metrics" VALUES('system/cpu_utilization_percentage',50.0,1795170926127,0,0,'878cab09b9e14bef971c92d98538f29c');
INSERT INTO "latest_metrics" VALUES('loss',0.2,1795170926151,2,0,'ebcd8ecf23a74a9bb53fec74d8f432a8');
INSERT INTO "latest_metrics" VALUES('accuracy',0.92,1795170926155,0,0,'ebcd8ecf23a74a9bb53fec74d8f432a8');
INSERT INTO "latest_metrics" VALUES('diverged',0.0,1795170926158,0,1,'ebcd8ecf23a74a9bb53fec74d8f432a8');
INSERT INTO "latest_metrics" VALUES('limit',1.79769313486231562234e+308,1795170926161,0,0,'ebcd8ecf23a74a9bb53fec74d8f432a8');
INSERT INTO "latest_metrics" VALUES('system/cpu_utilization_percentage',50.0,1795170926165,0,0,'ebcd8ecf23a74a9bb53fec74d8f432a8');
INSERT INTO "latest_metrics" VALUES('loss',9.0,1795170926178,0,0,'8866ac5a4e474fc7a575dd39a79eb877');
CREATE TABLE "params" (
	"key" VARCHAR(250) NOT NULL, 
	value VARCHAR(8000) NOT NULL, 
	run_uuid VARCHAR(32) NOT NULL, 
	CONSTRAINT param_pk PRIMARY KEY ("key", run_uuid), 
	FOREIGN KEY(run_uuid) REFERENCES runs (run_uuid)
);
INSERT INTO "params" VALUES('lr','0.1','8d72ac400c0a4abfb52a94e1e19bad8f');
INSERT INTO "params" VALUES('epochs','3','8d72ac400c0a4abfb52a94e1e19bad8f');
INSERT INTO "params" VALUES('lr','0.1','878cab09b9e14bef971c92d98538f29c');
INSERT INTO "params" VALUES('epochs','3','878cab09b9e14bef971c92d98538f29c');
INSERT INTO "params" VALUES('lr','0.01','ebcd8ecf23a74a9bb53fec74d8f432a8');
INSERT INTO "params" VALUES('epochs','3','ebcd8ecf23a74a9bb53fec74d8f432a8');
CREATE TABLE "runs" (
	run_uuid VARCHAR(32) NOT NULL, 
	name VARCHAR(250), 
	source_type VARCHAR(20), 
	source_name VARCHAR(500), 
	entry_point_name VARCHAR(50), 
	user_id VARCHAR(256), 
	status VARCHAR(9), 
	start_time BIGINT, 
	end_time BIGINT, 
	source_version VARCHAR(50), 
	lifecycle_stage VARCHAR(20), 
	artifact_uri VARCHAR(200), 
	experiment_id INTEGER, deleted_time BIGINT, 
	CONSTRAINT run_pk PRIMARY KEY (run_uuid), 
	CONSTRAINT runs_lifecycle_stage CHECK (lifecycle_stage IN ('active', 'deleted')), 
	CONSTRAINT source_type CHECK (source_type IN ('NOTEBOOK', 'JOB', 'LOCAL', 'UNKNOWN', 'PROJECT')), 
	FOREIGN KEY(experiment_id) REFERENCES experiments (experiment_id), 
	CHECK (status IN ('SCHEDULED', 'FAILED', 'FINISHED', 'RUNNING', 'KILLED'))
);
INSERT INTO "runs" VALUES('8d72ac400c0a4abfb52a94e1e19bad8f','digits-0','UNKNOWN','','','root','FINISHED',1795170926043,1795170926089,'','active','/srv/mlruns/1/8d72ac400c0a4abfb52a94e1e19bad8f/artifacts',1,NULL);
INSERT INTO "runs" VALUES('878cab09b9e14bef971c92d98538f29c','digits-1','UNKNOWN','','','root','FINISHED',1795170926095,1795170926130,'','active','/srv/mlruns/1/878cab09b9e14bef971c92d98538f29c/artifacts',1,NULL);
INSERT INTO "runs" VALUES('ebcd8ecf23a74a9bb53fec74d8f432a8','digits-2','UNKNOWN','','','root','FINISHED',1795170926135,1795170926168,'','active','/srv/mlruns/1/ebcd8ecf23a74a9bb53fec74d8f432a8/artifacts',1,NULL);
INSERT INTO "runs" VALUES('8866ac5a4e474fc7a575dd39a79eb877','broken','UNKNOWN','','','root','FAILED',1795170926173,1795170926182,'','active','/srv/mlruns/1/8866ac5a4e474fc7a575dd39a79eb877/artifacts',1,NULL);
CREATE TABLE "tags" (
	"key" VARCHAR(250) NOT NULL, 
	value VARCHAR(8000), 
	run_uuid VARCHAR(32) NOT NULL, 
	CONSTRAINT tag_pk PRIMARY KEY ("key", run_uuid), 
	FOREIGN KEY(run_uuid) REFERENCES runs (run_uuid)
);
INSERT INTO "tags" VALUES('mlflow.user','root','8d72ac400c0a4abfb52a94e1e19bad8f');
INSERT INTO "tags" VALUES('mlflow.source.name','mlf.py','8d72ac400c0a4abfb52a94e1e19bad8f');
INSERT INTO "tags" VALUES('mlflow.source.type','LOCAL','8d72ac400c0a4abfb52a94e1e19bad8f');
INSERT INTO "tags" VALUES('mlflow.source.git.commit','0000000000000000000000000000000000000000','8d72ac400c0a4abfb52a94e1e19bad8f');
INSERT INTO "tags" VALUES('mlflow.source.git.repoURL','https://example.org/digits.git','8d72ac400c0a4abfb52a94e1e19bad8f');
INSERT INTO "tags" VALUES('mlflow.runName','digits-0','8d72ac400c0a4abfb52a94e1e19bad8f');
INSERT INTO "tags" VALUES('mlflow.user','root','878cab09b9e14bef971c92d98538f29c');
INSERT INTO "tags" VALUES('mlflow.source.name','mlf.py','878cab09b9e14bef971c92d98538f29c');
INSERT INTO "tags" VALUES('mlflow.source.type','LOCAL','878cab09b9e14bef971c92d98538f29c');
INSERT INTO "tags" VALUES('mlflow.source.git.commit','0000000000000000000000000000000000000001','878cab09b9e14bef971c92d98538f29c');
INSERT INTO "tags" VALUES('mlflow.source.git.repoURL','https://example.org/digits.git','878cab09b9e14bef971c92d98538f29c');
INSERT INTO "tags" VALUES('mlflow.runName','digits-1','878cab09b9e14bef971c92d98538f29c');
INSERT INTO "tags" VALUES('mlflow.user','root','ebcd8ecf23a74a9bb53fec74d8f432a8');
INSERT INTO "tags" VALUES('mlflow.source.name','mlf.py','ebcd8ecf23a74a9bb53fec74d8f432a8');
INSERT INTO "tags" VALUES('mlflow.source.type','LOCAL','ebcd8ecf23a74a9bb53fec74d8f432a8');
INSERT INTO "tags" VALUES('mlflow.source.git.commit','0000000000000000000000000000000000000002','ebcd8ecf23a74a9bb53fec74d8f432a8');
INSERT INTO "tags" VALUES('mlflow.source.git.repoURL','https://example.org/digits.git','ebcd8ecf23a74a9bb53fec74d8f432a8');
INSERT INTO "tags" VALUES('mlflow.runName','digits-2','ebcd8ecf23a74a9bb53fec74d8f432a8');
INSERT INTO "tags" VALUES('mlflow.user','root','8866ac5a4e474fc7a575dd39a79eb877');
INSERT INTO "tags" VALUES('mlflow.source.name','mlf.py','8866ac5a4e474fc7a575dd39a79eb877');
INSERT INTO "tags" VALUES('mlflow.source.type','LOCAL','8866ac5a4e474fc7a575dd39a79eb877');
INSERT INTO "tags" VALUES('mlflow.runName','broken','8866ac5a4e474fc7a575dd39a79eb877');
