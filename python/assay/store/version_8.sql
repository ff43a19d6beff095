PRAGMA application_id = 1098085241;
PRAGMA user_version = 8;
BEGIN TRANSACTION;
CREATE TABLE audit (
	id INTEGER NOT NULL, 
	campaign_id INTEGER NOT NULL, 
	audited_at DATETIME NOT NULL, 
	findings JSON NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(campaign_id) REFERENCES campaign (id)
);
INSERT INTO "audit" VALUES(1,1,'2026-11-29 12:00:00.000000','[{"rule":"drift","message":"Seen.","where":[],"evidence":{},"remedy":"Do.","severity":"warning","trials":[]}]');
CREATE TABLE campaign (
	id INTEGER NOT NULL, 
	experiment_id INTEGER NOT NULL, 
	question TEXT NOT NULL, 
	seed INTEGER NOT NULL, 
	source TEXT NOT NULL, 
	resolved TEXT NOT NULL, 
	host JSON NOT NULL, 
	started_at DATETIME NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(experiment_id) REFERENCES experiment (id)
);
INSERT INTO "campaign" VALUES(1,1,'Which is faster?',7,'name = ''maps''','{"version":2,"name":"maps","question":"Which is faster?","factors":{"subject":[["base",{"subject":"base"}],["other",{"subject":"other"}]]},"trial":{"key_range":100},"design":{"blocks":10,"minutes":null,"until":null,"until_width_percent":null,"at_least":8,"seed":1,"repeat":2,"busy":"withhold","include":[],"exclude":[]},"perturb":{"key_range":false,"duration_ms":null,"warm_up_ms":null,"batch":null,"mix":null,"arrivals":null,"range":null,"distribution":null,"parameters":null,"uniform":{},"multiple_of":{},"pinning":null,"keys":null,"engine":null,"draws":null,"bounding":null,"allocator":null,"memory_policy":null,"environment":false,"stack":false,"heap":false,"address_space":"system","thread_order":false,"placement":false,"layout":false},"comparison":{"metric":"throughput","factor":"subject","baseline":"base","stand_ins":[],"smallest_effect_percent":5.0,"smallest_effect":null,"gate_percent":null,"better":"higher","also":{},"across":{},"correction":"family","accept_invalid":false,"accept_idle":false,"ladders":[],"pathological":null,"campaigns":1},"simulate":{"operations":null},"subjects":{},"ab":{"build":null},"pitfall":{"deliberate":false,"lesson":null},"validate":[],"chart":[],"reported":[],"path":"/experiments/maps.toml","made":false,"identical":false,"varied":{},"revisions":null,"digests":{},"overrides":[]}','{"name":"here"}','2026-11-29 12:00:00.000000');
INSERT INTO "campaign" VALUES(2,2,'Which is faster?',7,'','{"version":2,"name":"other","question":"Which is faster?","factors":{"subject":[["base",{"subject":"base"}],["other",{"subject":"other"}]]},"trial":{"key_range":100},"design":{"blocks":10,"minutes":null,"until":null,"until_width_percent":null,"at_least":8,"seed":1,"repeat":2,"busy":"withhold","include":[],"exclude":[]},"perturb":{"key_range":false,"duration_ms":null,"warm_up_ms":null,"batch":null,"mix":null,"arrivals":null,"range":null,"distribution":null,"parameters":null,"uniform":{},"multiple_of":{},"pinning":null,"keys":null,"engine":null,"draws":null,"bounding":null,"allocator":null,"memory_policy":null,"environment":false,"stack":false,"heap":false,"address_space":"system","thread_order":false,"placement":false,"layout":false},"comparison":{"metric":"throughput","factor":"subject","baseline":"base","stand_ins":[],"smallest_effect_percent":5.0,"smallest_effect":null,"gate_percent":null,"better":"higher","also":{},"across":{},"correction":"family","accept_invalid":false,"accept_idle":false,"ladders":[],"pathological":null,"campaigns":1},"simulate":{"operations":null},"subjects":{},"ab":{"build":null},"pitfall":{"deliberate":false,"lesson":null},"validate":[],"chart":[],"reported":[],"path":"/experiments/other.toml","made":false,"identical":false,"varied":{},"revisions":null,"digests":{},"overrides":[]}','{"name":"here"}','2026-11-29 12:00:00.000000');
CREATE TABLE conclusion (
	id INTEGER NOT NULL, 
	campaign_id INTEGER NOT NULL, 
	concluded_at DATETIME NOT NULL, 
	verdicts JSON NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(campaign_id) REFERENCES campaign (id)
);
INSERT INTO "conclusion" VALUES(1,1,'2026-11-29 12:00:00.000000','[{"metric":"throughput","context":"","level":"a","baseline":"b","verdict":"faster","ratio":1.5,"low":1.25,"high":1.75,"p":0.01,"pairs":9,"reason":""}]');
CREATE TABLE decision (
	id INTEGER NOT NULL, 
	campaign_id INTEGER NOT NULL, 
	block INTEGER NOT NULL, 
	at DATETIME NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	reason TEXT NOT NULL, 
	content JSON NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(campaign_id) REFERENCES campaign (id)
);
INSERT INTO "decision" VALUES(1,1,1,'2025-01-31 12:30:00.000000','stop','over','{"minutes":1}');
CREATE TABLE environment (
	sha256 VARCHAR(64) NOT NULL, 
	content JSON NOT NULL, 
	PRIMARY KEY (sha256)
);
INSERT INTO "environment" VALUES('a1e7d136954f11247e452c1fb54635db382d435847d2f5d0b249b209f41f502f','{"cpu":"fast"}');
INSERT INTO "environment" VALUES('b52a6d568f73c7e224d2ef42d7bc06de0183ae8073e859f9baed1e93996f6cd8','{"aslr":"2"}');
CREATE TABLE experiment (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	view_name TEXT COLLATE "NOCASE" NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name), 
	UNIQUE (view_name)
);
INSERT INTO "experiment" VALUES(1,'maps','maps');
INSERT INTO "experiment" VALUES(2,'other','other');
CREATE TABLE planned_trial (
	campaign_id INTEGER NOT NULL, 
	ordinal INTEGER NOT NULL, 
	block INTEGER NOT NULL, 
	"group" INTEGER NOT NULL, 
	levels JSON NOT NULL, 
	request JSON NOT NULL, 
	program TEXT NOT NULL, 
	perturbation JSON NOT NULL, 
	timeout_s FLOAT NOT NULL, 
	memory_limit_mb INTEGER NOT NULL, 
	arguments JSON NOT NULL, 
	extract JSON NOT NULL, 
	repeats INTEGER, 
	PRIMARY KEY (campaign_id, ordinal), 
	FOREIGN KEY(campaign_id) REFERENCES campaign (id)
);
INSERT INTO "planned_trial" VALUES(1,0,0,0,'{"subject":"a","threads":1,"ratio":1,"size":1}','{"seed":0}','/bin/x','{"key_range":1.5}',2.5,512,'[]','"protocol"',NULL);
INSERT INTO "planned_trial" VALUES(1,1,0,0,'{"subject":"b","threads":2,"ratio":0.5,"size":2}','{"seed":1}','/bin/x','{"key_range":1.5}',2.5,512,'[]','"protocol"',NULL);
INSERT INTO "planned_trial" VALUES(2,0,0,0,'{"subject":"a","threads":1,"ratio":1,"size":1}','{"seed":0}','/bin/x','{"key_range":1.5}',2.5,512,'[]','"protocol"',NULL);
INSERT INTO "planned_trial" VALUES(2,1,0,0,'{"subject":"b","threads":2,"ratio":0.5,"size":"two"}','{"seed":1}','/bin/x','{"key_range":1.5}',2.5,512,'[]','"protocol"',NULL);
CREATE TABLE record (
	trial_id INTEGER NOT NULL, 
	outcome JSON NOT NULL, 
	environment VARCHAR(64), 
	host VARCHAR(64), 
	PRIMARY KEY (trial_id), 
	FOREIGN KEY(trial_id) REFERENCES trial (id), 
	FOREIGN KEY(environment) REFERENCES environment (sha256), 
	FOREIGN KEY(host) REFERENCES environment (sha256)
);
INSERT INTO "record" VALUES(1,'{"reason":"","exit_code":0,"result":{"protocol":1,"status":"valid","metrics":{"throughput":5.0}},"stdout":"a\u0000b","stderr":"","calibration_before":{"metrics":{"memory_ns":90.0},"elapsed_ms":1.5},"calibration_after":null,"calibration_error":"","derived":{},"program_sha256":"","build_id":""}','a1e7d136954f11247e452c1fb54635db382d435847d2f5d0b249b209f41f502f','b52a6d568f73c7e224d2ef42d7bc06de0183ae8073e859f9baed1e93996f6cd8');
CREATE TABLE trial (
	id INTEGER NOT NULL, 
	campaign_id INTEGER NOT NULL, 
	ordinal INTEGER NOT NULL, 
	status VARCHAR(16) NOT NULL, 
	reason TEXT NOT NULL, 
	started_at DATETIME NOT NULL, 
	wall_s FLOAT NOT NULL, 
	metrics JSON NOT NULL, 
	calibration_before JSON NOT NULL, 
	calibration_after JSON NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (campaign_id, ordinal), 
	FOREIGN KEY(campaign_id, ordinal) REFERENCES planned_trial (campaign_id, ordinal)
);
INSERT INTO "trial" VALUES(1,1,0,'valid','','2025-01-31 12:30:00.000000',0.5,'{"throughput":5.0}','{"memory_ns":90.0,"elapsed_ms":1.5}','{}');
CREATE TABLE view_column (
	id INTEGER NOT NULL, 
	experiment_id INTEGER NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	name TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (experiment_id, kind, name), 
	FOREIGN KEY(experiment_id) REFERENCES experiment (id)
);
INSERT INTO "view_column" VALUES(1,1,'factor','subject');
INSERT INTO "view_column" VALUES(2,1,'factor','threads');
INSERT INTO "view_column" VALUES(3,1,'factor','ratio');
INSERT INTO "view_column" VALUES(4,1,'factor','size');
INSERT INTO "view_column" VALUES(5,2,'factor','subject');
INSERT INTO "view_column" VALUES(6,2,'factor','threads');
INSERT INTO "view_column" VALUES(7,2,'factor','ratio');
INSERT INTO "view_column" VALUES(8,2,'factor','size');
INSERT INTO "view_column" VALUES(9,1,'metric','throughput');
INSERT INTO "view_column" VALUES(10,1,'before','memory_ns');
INSERT INTO "view_column" VALUES(11,1,'before','elapsed_ms');
CREATE INDEX decision_by_campaign ON decision (campaign_id);
CREATE INDEX audit_by_campaign ON audit (campaign_id);
CREATE INDEX conclusion_by_campaign ON conclusion (campaign_id);
CREATE INDEX trial_by_status ON trial (campaign_id, status);
CREATE VIEW findings AS SELECT campaign_id AS campaign, audited_at, value ->> 'rule' AS rule,
  value ->> 'severity' AS severity, value ->> 'message' AS message, value ->> 'where' AS places,
  value ->> 'evidence' AS evidence, value ->> 'remedy' AS remedy, value ->> 'trials' AS trials
FROM audit, json_each(CASE WHEN json_valid(findings) THEN findings ELSE '[]' END)
WHERE audit.id IN (SELECT max(id) FROM audit GROUP BY campaign_id);
CREATE VIEW verdicts AS SELECT campaign_id AS campaign, concluded_at, value ->> 'metric' AS metric,
  value ->> 'context' AS context, value ->> 'level' AS level, value ->> 'baseline' AS baseline,
  value ->> 'verdict' AS verdict, value ->> 'ratio' AS ratio, value ->> 'low' AS low,
  value ->> 'high' AS high, value ->> 'p' AS p, value ->> 'pairs' AS pairs, value ->> 'reason' AS reason
FROM conclusion, json_each(CASE WHEN json_valid(verdicts) THEN verdicts ELSE '[]' END)
WHERE conclusion.id IN (SELECT max(id) FROM conclusion GROUP BY campaign_id);
CREATE VIEW campaigns AS SELECT campaign.id AS campaign, experiment.name AS experiment, question, started_at,
  (SELECT count(*) FROM trial WHERE campaign_id = campaign.id) AS trials,
  (SELECT count(*) FROM trial WHERE campaign_id = campaign.id AND status <> 'valid') AS not_valid,
  (SELECT group_concat(many || ' ' || verdict, ', ') FROM (SELECT verdict, count(*) AS many FROM verdicts
    WHERE verdicts.campaign = campaign.id GROUP BY verdict)) AS verdicts,
  (SELECT group_concat(many || ' ' || severity || CASE WHEN many > 1 THEN 's' ELSE '' END, ', ')
    FROM (SELECT severity, count(*) AS many FROM findings
    WHERE findings.campaign = campaign.id GROUP BY severity
    ORDER BY severity = 'note', severity)) AS findings
FROM campaign JOIN experiment ON experiment.id = experiment_id;
CREATE TRIGGER campaign_refuses_update BEFORE UPDATE ON campaign BEGIN SELECT RAISE(ABORT, 'a store only grows: campaign rows are never changed'); END;
CREATE TRIGGER campaign_refuses_delete BEFORE DELETE ON campaign BEGIN SELECT RAISE(ABORT, 'a store only grows: campaign rows are never changed'); END;
CREATE TRIGGER planned_trial_refuses_update BEFORE UPDATE ON planned_trial BEGIN SELECT RAISE(ABORT, 'a store only grows: planned_trial rows are never changed'); END;
CREATE TRIGGER planned_trial_refuses_delete BEFORE DELETE ON planned_trial BEGIN SELECT RAISE(ABORT, 'a store only grows: planned_trial rows are never changed'); END;
CREATE TRIGGER trial_refuses_update BEFORE UPDATE ON trial BEGIN SELECT RAISE(ABORT, 'a store only grows: trial rows are never changed'); END;
CREATE TRIGGER trial_refuses_delete BEFORE DELETE ON trial BEGIN SELECT RAISE(ABORT, 'a store only grows: trial rows are never changed'); END;
CREATE TRIGGER record_refuses_update BEFORE UPDATE ON record BEGIN SELECT RAISE(ABORT, 'a store only grows: record rows are never changed'); END;
CREATE TRIGGER record_refuses_delete BEFORE DELETE ON record BEGIN SELECT RAISE(ABORT, 'a store only grows: record rows are never changed'); END;
CREATE TRIGGER environment_refuses_update BEFORE UPDATE ON environment BEGIN SELECT RAISE(ABORT, 'a store only grows: environment rows are never changed'); END;
CREATE TRIGGER environment_refuses_delete BEFORE DELETE ON environment BEGIN SELECT RAISE(ABORT, 'a store only grows: environment rows are never changed'); END;
CREATE TRIGGER decision_refuses_update BEFORE UPDATE ON decision BEGIN SELECT RAISE(ABORT, 'a store only grows: decision rows are never changed'); END;
CREATE TRIGGER decision_refuses_delete BEFORE DELETE ON decision BEGIN SELECT RAISE(ABORT, 'a store only grows: decision rows are never changed'); END;
CREATE TRIGGER audit_refuses_update BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'a store only grows: audit rows are never changed'); END;
CREATE TRIGGER audit_refuses_delete BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'a store only grows: audit rows are never changed'); END;
CREATE TRIGGER conclusion_refuses_update BEFORE UPDATE ON conclusion BEGIN SELECT RAISE(ABORT, 'a store only grows: conclusion rows are never changed'); END;
CREATE TRIGGER conclusion_refuses_delete BEFORE DELETE ON conclusion BEGIN SELECT RAISE(ABORT, 'a store only grows: conclusion rows are never changed'); END;
CREATE VIEW "other" AS WITH c AS MATERIALIZED (
  SELECT id, CASE WHEN json_valid(resolved) THEN json_extract(resolved, '$.pitfall.deliberate') END AS deliberate
  FROM campaign WHERE experiment_id = 2
)
SELECT
  t.id AS "trial",
  t.campaign_id AS "campaign",
  p.block AS "block",
  p."group" AS "group_number",
  t.status AS "status",
  t.reason AS "reason",
  t.started_at AS "started_at",
  t.wall_s AS "wall_s",
  CASE WHEN c.deliberate THEN coalesce(json_extract(p.request, '$.flaws'), '[]') END AS "flaws",
  json_extract(p.levels, '$."subject"') AS "subject",
  json_extract(p.levels, '$."threads"') AS "threads",
  json_extract(p.levels, '$."ratio"') AS "ratio",
  json_extract(p.levels, '$."size"') AS "size"
FROM c JOIN trial AS t ON t.campaign_id = c.id
JOIN planned_trial AS p ON p.campaign_id = t.campaign_id AND p.ordinal = t.ordinal;
CREATE VIEW "maps" AS WITH c AS MATERIALIZED (
  SELECT id, CASE WHEN json_valid(resolved) THEN json_extract(resolved, '$.pitfall.deliberate') END AS deliberate
  FROM campaign WHERE experiment_id = 1
)
SELECT
  t.id AS "trial",
  t.campaign_id AS "campaign",
  p.block AS "block",
  p."group" AS "group_number",
  t.status AS "status",
  t.reason AS "reason",
  t.started_at AS "started_at",
  t.wall_s AS "wall_s",
  CASE WHEN c.deliberate THEN coalesce(json_extract(p.request, '$.flaws'), '[]') END AS "flaws",
  json_extract(p.levels, '$."subject"') AS "subject",
  json_extract(p.levels, '$."threads"') AS "threads",
  json_extract(p.levels, '$."ratio"') AS "ratio",
  json_extract(p.levels, '$."size"') AS "size",
  CASE WHEN t.status = 'valid' THEN json_extract(t.metrics, '$."throughput"') END AS "throughput",
  json_extract(t.calibration_before, '$."memory_ns"') AS "before_memory_ns",
  json_extract(t.calibration_before, '$."elapsed_ms"') AS "before_elapsed_ms"
FROM c JOIN trial AS t ON t.campaign_id = c.id
JOIN planned_trial AS p ON p.campaign_id = t.campaign_id AND p.ordinal = t.ordinal;
COMMIT;
