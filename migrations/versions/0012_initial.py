"""The tables of the first release.

A database at revision 0001 to 0011, from the development before it, is refused: see `backend.ops.migrate`.
"""

from __future__ import annotations

from alembic import op

revision = "0012"
down_revision = None
branch_labels = None
depends_on = None

ACCOUNTS = """
CREATE TABLE projects (
    id text CONSTRAINT pk_projects PRIMARY KEY,
    name text NOT NULL CONSTRAINT uq_projects_name UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now(),
    description text NOT NULL DEFAULT '',
    archived_at timestamptz
);

CREATE TABLE users (
    id text CONSTRAINT pk_users PRIMARY KEY,
    name text NOT NULL CONSTRAINT uq_users_name UNIQUE,
    role text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(), disabled_at timestamptz,
    password_hash text, password_changed_at timestamptz,
    max_running integer,
    CONSTRAINT ck_users_role CHECK (role IN ('viewer', 'member', 'admin'))
);

CREATE TABLE memberships (
    project_id text NOT NULL CONSTRAINT fk_memberships_project_id REFERENCES projects ON DELETE CASCADE,
    user_id text NOT NULL CONSTRAINT fk_memberships_user_id REFERENCES users ON DELETE CASCADE,
    role text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT pk_memberships PRIMARY KEY (project_id, user_id),
    CONSTRAINT ck_memberships_role CHECK (role IN ('viewer', 'member', 'admin'))
);
CREATE INDEX ix_memberships_user_id ON memberships (user_id);

CREATE TABLE api_tokens (
    id text CONSTRAINT pk_api_tokens PRIMARY KEY,
    secret_hash text NOT NULL CONSTRAINT uq_api_tokens_secret_hash UNIQUE,
    name text NOT NULL, kind text NOT NULL,
    user_id text CONSTRAINT fk_api_tokens_user_id REFERENCES users ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(), revoked_at timestamptz,
    scopes text[] NOT NULL, prefix text NOT NULL DEFAULT '',
    expires_at timestamptz, last_used_at timestamptz,
    CONSTRAINT ck_api_tokens_kind CHECK (kind IN ('user', 'worker'))
);
CREATE INDEX ix_api_tokens_user_id ON api_tokens (user_id);

CREATE TABLE sessions (
    secret_hash text CONSTRAINT pk_sessions PRIMARY KEY,
    user_id text NOT NULL CONSTRAINT fk_sessions_user_id REFERENCES users ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(), expires_at timestamptz NOT NULL,
    id text NOT NULL CONSTRAINT uq_sessions_id UNIQUE,
    last_seen_at timestamptz NOT NULL DEFAULT now(), user_agent text NOT NULL DEFAULT ''
);
CREATE INDEX ix_sessions_user_id ON sessions (user_id);

CREATE TABLE login_codes (
    secret_hash text CONSTRAINT pk_login_codes PRIMARY KEY,
    user_id text NOT NULL CONSTRAINT fk_login_codes_user_id REFERENCES users ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(), expires_at timestamptz NOT NULL,
    purpose text NOT NULL DEFAULT 'login',
    CONSTRAINT ck_login_codes_purpose CHECK (purpose IN ('login', 'password'))
);

CREATE TABLE login_attempts (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_login_attempts PRIMARY KEY,
    name text NOT NULL, address text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    succeeded boolean NOT NULL DEFAULT false
);
CREATE INDEX ix_login_attempts_address ON login_attempts (address, at);
CREATE INDEX ix_login_attempts_name ON login_attempts (name, at);
"""

WORKERS = """
CREATE TABLE workers (
    id text CONSTRAINT pk_workers PRIMARY KEY,
    name text NOT NULL CONSTRAINT uq_workers_name UNIQUE,
    token_id text NOT NULL CONSTRAINT fk_workers_token_id REFERENCES api_tokens,
    host text NOT NULL, slots integer NOT NULL,
    version text NOT NULL, queue text NOT NULL,
    registered_at timestamptz NOT NULL DEFAULT now(), last_seen_at timestamptz NOT NULL DEFAULT now(),
    system jsonb NOT NULL DEFAULT '{}', memory_gib double precision,
    draining_at timestamptz, drain_hands_on boolean NOT NULL DEFAULT false,
    forgotten_at timestamptz, gpus jsonb NOT NULL
);
"""

RUNS = """
CREATE SEQUENCE fencing_tokens;

CREATE TABLE run_groups (
    id text CONSTRAINT pk_run_groups PRIMARY KEY,
    project_id text NOT NULL CONSTRAINT fk_run_groups_project_id REFERENCES projects,
    name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    kind text NOT NULL DEFAULT 'group',
    CONSTRAINT uq_run_groups_project_id_name UNIQUE (project_id, name),
    CONSTRAINT ck_run_groups_kind CHECK (kind IN ('group', 'sweep', 'study'))
);

CREATE TABLE runs (
    id text CONSTRAINT pk_runs PRIMARY KEY,
    project_id text NOT NULL CONSTRAINT fk_runs_project_id REFERENCES projects,
    owner_id text NOT NULL CONSTRAINT fk_runs_owner_id REFERENCES users,
    group_id text CONSTRAINT fk_runs_group_id REFERENCES run_groups,
    parent_id text CONSTRAINT fk_runs_parent_id REFERENCES runs ON DELETE SET NULL,
    name text NOT NULL,
    status varchar(20) NOT NULL,
    status_reason text, recipe text, method text NOT NULL,
    config json NOT NULL, explicit json NOT NULL, diff json NOT NULL,
    tags text[] NOT NULL DEFAULT '{}', notes text NOT NULL DEFAULT '', priority integer NOT NULL DEFAULT 50,
    idempotency_key text, request_hash text, import_source text,
    created_at timestamptz NOT NULL DEFAULT now(), queued_at timestamptz,
    started_at timestamptz, finished_at timestamptz,
    attempt integer NOT NULL DEFAULT 0, host text, num_attempts_without_progress integer NOT NULL DEFAULT 0,
    step integer NOT NULL DEFAULT 0, num_steps integer NOT NULL DEFAULT 0, num_rollouts bigint NOT NULL DEFAULT '0',
    reward_mean double precision, step_seconds double precision,
    eval_name text, eval_step integer, eval_base double precision, eval_latest double precision,
    eval_best double precision, eval_best_step integer,
    archived_at timestamptz, search_text text NOT NULL DEFAULT '',
    max_retries integer, retry_reason text, not_before timestamptz,
    num_gpus_needed integer NOT NULL DEFAULT 0, gpus_optional boolean NOT NULL DEFAULT false,
    memory_gib double precision NOT NULL DEFAULT '0', gpu_memory_gib double precision,
    num_cluster_gpus integer NOT NULL DEFAULT 0,
    queue_order timestamptz, queue_place integer,
    held_at timestamptz, held_by text,
    fork_step integer, forked_from text,
    sweep_point jsonb, sweep_position integer,
    CONSTRAINT ck_runs_run_status CHECK (status IN (
        'draft', 'queued', 'starting', 'running', 'pausing', 'paused', 'stopping', 'cancelled', 'succeeded', 'failed',
        'lost'
    ))
);
CREATE INDEX ix_runs_created ON runs (created_at, id);
CREATE INDEX ix_runs_group_id ON runs (group_id);
CREATE INDEX ix_runs_parent_id ON runs (parent_id);
CREATE INDEX ix_runs_project_created ON runs (project_id, created_at, id);
CREATE INDEX ix_runs_project_status_created ON runs (project_id, status, created_at);
CREATE INDEX ix_runs_queue ON runs (priority DESC, queued_at) WHERE status = 'queued';
CREATE INDEX ix_runs_tags ON runs USING gin (tags);
CREATE UNIQUE INDEX uq_runs_idempotency ON runs (owner_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE UNIQUE INDEX uq_runs_import ON runs (project_id, import_source) WHERE import_source IS NOT NULL;

CREATE TABLE run_stars (
    user_id text NOT NULL CONSTRAINT fk_run_stars_user_id REFERENCES users ON DELETE CASCADE,
    run_id text NOT NULL CONSTRAINT fk_run_stars_run_id REFERENCES runs ON DELETE CASCADE,
    CONSTRAINT pk_run_stars PRIMARY KEY (user_id, run_id)
);
CREATE INDEX ix_run_stars_run_id ON run_stars (run_id);

CREATE TABLE run_resources (
    run_id text NOT NULL CONSTRAINT fk_run_resources_run_id REFERENCES runs ON DELETE CASCADE,
    field text NOT NULL, reference text NOT NULL,
    CONSTRAINT pk_run_resources PRIMARY KEY (run_id, field)
);
CREATE INDEX ix_run_resources_reference ON run_resources (reference);

CREATE TABLE attempts (
    run_id text NOT NULL CONSTRAINT fk_attempts_run_id REFERENCES runs ON DELETE CASCADE,
    number integer NOT NULL,
    worker_id text CONSTRAINT fk_attempts_worker_id REFERENCES workers,
    state text NOT NULL, fencing_token bigint,
    assigned_at timestamptz NOT NULL DEFAULT now(), sent_at timestamptz, num_sent integer NOT NULL DEFAULT 0,
    claimed_at timestamptz, lease_expires_at timestamptz, ended_at timestamptz,
    outcome text, reason text,
    first_step integer NOT NULL DEFAULT 0, num_gpus integer NOT NULL DEFAULT 0,
    gpus integer[] NOT NULL DEFAULT '{}', memory_gib double precision NOT NULL DEFAULT '0',
    CONSTRAINT pk_attempts PRIMARY KEY (run_id, number),
    CONSTRAINT ck_attempts_state CHECK (state IN ('assigned', 'claimed', 'running', 'ended'))
);
CREATE INDEX ix_attempts_active ON attempts (worker_id) WHERE state <> 'ended';

CREATE TABLE controls (
    run_id text NOT NULL CONSTRAINT fk_controls_run_id REFERENCES runs ON DELETE CASCADE,
    id text NOT NULL, kind text NOT NULL, author text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    changes jsonb NOT NULL, at_step integer,
    state text NOT NULL, applied_step integer, reason text,
    moment text, withdrawn_by text,
    CONSTRAINT pk_controls PRIMARY KEY (run_id, id),
    CONSTRAINT ck_controls_kind CHECK (kind IN ('stop', 'pause', 'change')),
    CONSTRAINT ck_controls_moment CHECK (moment IN ('now', 'step', 'checkpoint')),
    CONSTRAINT ck_controls_state CHECK (state IN ('pending', 'applied', 'refused', 'withdrawn'))
);
CREATE INDEX ix_controls_pending ON controls (run_id) WHERE state = 'pending';

CREATE TABLE audit (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_audit PRIMARY KEY,
    run_id text CONSTRAINT fk_audit_run_id REFERENCES runs ON DELETE CASCADE,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    author text NOT NULL, action text NOT NULL, detail jsonb NOT NULL
);
CREATE INDEX ix_audit_run_id ON audit (run_id);
"""

RECORDS = """
CREATE TABLE ingest_offsets (
    run_id text NOT NULL CONSTRAINT fk_ingest_offsets_run_id REFERENCES runs ON DELETE CASCADE,
    attempt integer NOT NULL, kind text NOT NULL, next_offset bigint NOT NULL,
    CONSTRAINT pk_ingest_offsets PRIMARY KEY (run_id, attempt, kind)
);

CREATE TABLE steps (
    run_id text NOT NULL CONSTRAINT fk_steps_run_id REFERENCES runs ON DELETE CASCADE,
    step integer NOT NULL, attempt integer NOT NULL,
    metrics jsonb,
    fresh_histogram bigint[] NOT NULL, reevaluated_histogram bigint[] NOT NULL, batch_histogram bigint[] NOT NULL,
    record jsonb NOT NULL,
    prompt_ids text[] NOT NULL, prompt_sources text[] NOT NULL,
    prompt_num_correct integer[] NOT NULL, prompt_policy_versions bigint[] NOT NULL,
    prompt_in_batch boolean[] NOT NULL, prompt_reasons text[] NOT NULL,
    CONSTRAINT pk_steps PRIMARY KEY (run_id, step)
);
-- Not compressed: metrics are read once and moved into chunks; compressing records was a fifth of the work for a step.
ALTER TABLE steps ALTER COLUMN metrics SET STORAGE EXTERNAL, ALTER COLUMN record SET STORAGE EXTERNAL;
CREATE INDEX ix_steps_tail ON steps (run_id, step) WHERE metrics IS NOT NULL;

CREATE TABLE metric_keys (
    run_id text NOT NULL CONSTRAINT fk_metric_keys_run_id REFERENCES runs ON DELETE CASCADE,
    key text NOT NULL,
    CONSTRAINT pk_metric_keys PRIMARY KEY (run_id, key)
);

CREATE TABLE metric_chunks (
    run_id text NOT NULL CONSTRAINT fk_metric_chunks_run_id REFERENCES runs ON DELETE CASCADE,
    key text NOT NULL, chunk integer NOT NULL, series double precision[] NOT NULL,
    CONSTRAINT pk_metric_chunks PRIMARY KEY (run_id, key, chunk)
);

CREATE TABLE sparse_records (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT uq_sparse_records_id UNIQUE,
    run_id text NOT NULL CONSTRAINT fk_sparse_records_run_id REFERENCES runs ON DELETE CASCADE,
    type text NOT NULL, step integer NOT NULL, identity text NOT NULL, attempt integer NOT NULL,
    metrics jsonb NOT NULL, record jsonb NOT NULL,
    CONSTRAINT pk_sparse_records PRIMARY KEY (run_id, type, step, identity)
);
CREATE INDEX ix_sparse_records_order ON sparse_records (run_id, type, step, id);

CREATE TABLE prompt_texts (
    run_id text NOT NULL CONSTRAINT fk_prompt_texts_run_id REFERENCES runs ON DELETE CASCADE,
    prompt_id text NOT NULL, content text NOT NULL, answer jsonb NOT NULL,
    CONSTRAINT pk_prompt_texts PRIMARY KEY (run_id, prompt_id)
);

CREATE TABLE samples (
    run_id text NOT NULL CONSTRAINT fk_samples_run_id REFERENCES runs ON DELETE CASCADE,
    step integer NOT NULL, position bigint NOT NULL, attempt integer NOT NULL,
    prompt_id text NOT NULL, source text NOT NULL,
    record jsonb NOT NULL, num_correct integer NOT NULL,
    CONSTRAINT pk_samples PRIMARY KEY (run_id, step, position)
);
CREATE INDEX ix_samples_prompt ON samples (run_id, prompt_id, step);

CREATE TABLE log_pieces (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_log_pieces PRIMARY KEY,
    run_id text NOT NULL CONSTRAINT fk_log_pieces_run_id REFERENCES runs ON DELETE CASCADE,
    attempt integer NOT NULL, text text NOT NULL
);
CREATE INDEX ix_log_pieces_run ON log_pieces (run_id, id);

CREATE TABLE stream (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_stream PRIMARY KEY,
    run_id text NOT NULL CONSTRAINT fk_stream_run_id REFERENCES runs ON DELETE CASCADE,
    event text NOT NULL, data jsonb NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX ix_stream_at ON stream (at);
CREATE INDEX ix_stream_run ON stream (run_id, id);
"""

COLLECTIONS = """
CREATE TABLE sweeps (
    id text CONSTRAINT pk_sweeps PRIMARY KEY CONSTRAINT fk_sweeps_id REFERENCES run_groups ON DELETE CASCADE,
    owner_id text NOT NULL CONSTRAINT fk_sweeps_owner_id REFERENCES users,
    fields text[] NOT NULL, recipe text,
    parent_id text CONSTRAINT fk_sweeps_parent_id REFERENCES runs ON DELETE SET NULL,
    base json NOT NULL, notes text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    idempotency_key text, request_hash text,
    CONSTRAINT uq_sweeps_owner_id_idempotency_key UNIQUE (owner_id, idempotency_key)
);
CREATE INDEX ix_sweeps_parent_id ON sweeps (parent_id);

CREATE TABLE studies (
    id text CONSTRAINT pk_studies PRIMARY KEY CONSTRAINT fk_studies_id REFERENCES run_groups ON DELETE CASCADE,
    project_id text NOT NULL CONSTRAINT fk_studies_project_id REFERENCES projects,
    owner_id text NOT NULL CONSTRAINT fk_studies_owner_id REFERENCES users,
    text text NOT NULL, digest text NOT NULL, priority integer NOT NULL,
    choices jsonb, created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ix_studies_project_id ON studies (project_id);

CREATE TABLE study_runs (
    study_id text NOT NULL CONSTRAINT fk_study_runs_study_id REFERENCES studies ON DELETE CASCADE,
    name text NOT NULL, position integer NOT NULL,
    run_id text CONSTRAINT fk_study_runs_run_id REFERENCES runs ON DELETE SET NULL,
    was_submitted boolean NOT NULL,
    CONSTRAINT pk_study_runs PRIMARY KEY (study_id, name)
);
CREATE INDEX ix_study_runs_run_id ON study_runs (run_id);

CREATE TABLE saved_views (
    id text CONSTRAINT pk_saved_views PRIMARY KEY,
    project_id text NOT NULL CONSTRAINT fk_saved_views_project_id REFERENCES projects,
    owner_id text NOT NULL CONSTRAINT fk_saved_views_owner_id REFERENCES users ON DELETE CASCADE,
    name text NOT NULL, filters jsonb NOT NULL, sort text NOT NULL, columns text[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT uq_saved_views_project_id_owner_id_name UNIQUE (project_id, owner_id, name)
);
"""

RESOURCES = """
CREATE TABLE resources (
    id text CONSTRAINT pk_resources PRIMARY KEY,
    project_id text NOT NULL CONSTRAINT fk_resources_project_id REFERENCES projects,
    kind text NOT NULL, name text NOT NULL, path text NOT NULL,
    function text, description text NOT NULL,
    owner_id text NOT NULL CONSTRAINT fk_resources_owner_id REFERENCES users,
    created_at timestamptz NOT NULL DEFAULT now(),
    details jsonb NOT NULL,
    CONSTRAINT uq_resources_project_id_kind_name UNIQUE (project_id, kind, name),
    CONSTRAINT ck_resources_kind CHECK (kind IN ('dataset', 'model', 'verifier'))
);
"""

ALERTS = """
CREATE TABLE webhooks (
    id text CONSTRAINT pk_webhooks PRIMARY KEY,
    project_id text NOT NULL CONSTRAINT fk_webhooks_project_id REFERENCES projects,
    owner_id text NOT NULL CONSTRAINT fk_webhooks_owner_id REFERENCES users,
    name text NOT NULL, url text NOT NULL, format text NOT NULL,
    events text[] NOT NULL, secret text NOT NULL,
    enabled boolean NOT NULL, disabled_reason text,
    failing_since timestamptz, num_failures integer NOT NULL DEFAULT 0, resume_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT ck_webhooks_format CHECK (format IN ('json', 'slack', 'discord', 'text'))
);
CREATE INDEX ix_webhooks_project_id ON webhooks (project_id);

CREATE TABLE deliveries (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_deliveries PRIMARY KEY,
    webhook_id text NOT NULL CONSTRAINT fk_deliveries_webhook_id REFERENCES webhooks ON DELETE CASCADE,
    event text NOT NULL,
    run_id text CONSTRAINT fk_deliveries_run_id REFERENCES runs ON DELETE CASCADE,
    body jsonb NOT NULL, created_at timestamptz NOT NULL DEFAULT now(),
    state text NOT NULL DEFAULT 'waiting', num_tries integer NOT NULL DEFAULT 0,
    first_try_at timestamptz, last_try_at timestamptz, next_try_at timestamptz,
    status_code integer, response text, problem text, seconds double precision,
    CONSTRAINT ck_deliveries_state CHECK (state IN ('waiting', 'delivered', 'given_up'))
);
CREATE INDEX ix_deliveries_run_id ON deliveries (run_id);
CREATE INDEX ix_deliveries_waiting ON deliveries (webhook_id, id) WHERE state = 'waiting';
CREATE INDEX ix_deliveries_webhook ON deliveries (webhook_id, id);

CREATE TABLE alert_rules (
    id text CONSTRAINT pk_alert_rules PRIMARY KEY,
    project_id text NOT NULL CONSTRAINT fk_alert_rules_project_id REFERENCES projects,
    owner_id text NOT NULL CONSTRAINT fk_alert_rules_owner_id REFERENCES users,
    name text NOT NULL, condition jsonb NOT NULL,
    tag text, method text,
    run_id text CONSTRAINT fk_alert_rules_run_id REFERENCES runs ON DELETE CASCADE,
    enabled boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ix_alert_rules_project_id ON alert_rules (project_id);
CREATE INDEX ix_alert_rules_run_id ON alert_rules (run_id);

CREATE TABLE alert_watches (
    rule_id text NOT NULL CONSTRAINT fk_alert_watches_rule_id REFERENCES alert_rules ON DELETE CASCADE,
    run_id text NOT NULL CONSTRAINT fk_alert_watches_run_id REFERENCES runs ON DELETE CASCADE,
    step integer NOT NULL, memory jsonb NOT NULL,
    CONSTRAINT pk_alert_watches PRIMARY KEY (rule_id, run_id)
);
CREATE INDEX ix_alert_watches_run_id ON alert_watches (run_id);

CREATE TABLE alerts (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_alerts PRIMARY KEY,
    rule_id text CONSTRAINT fk_alerts_rule_id REFERENCES alert_rules ON DELETE SET NULL,
    rule_name text NOT NULL, kind text NOT NULL,
    run_id text NOT NULL CONSTRAINT fk_alerts_run_id REFERENCES runs ON DELETE CASCADE,
    occurrence text NOT NULL, step integer NOT NULL, value double precision,
    message text NOT NULL, advice text NOT NULL, link text NOT NULL,
    opened_at timestamptz NOT NULL DEFAULT now(), resolved_at timestamptz,
    resolved_step integer, resolution text,
    acknowledged_at timestamptz, acknowledged_by text,
    CONSTRAINT uq_alerts_rule_id_run_id_occurrence UNIQUE (rule_id, run_id, occurrence)
);
CREATE INDEX ix_alerts_open ON alerts (run_id) WHERE resolved_at IS NULL;
CREATE INDEX ix_alerts_run ON alerts (run_id, id);
CREATE INDEX ix_alerts_unseen ON alerts (run_id) WHERE resolved_at IS NULL AND acknowledged_at IS NULL;

CREATE TABLE alert_follower (
    id integer CONSTRAINT pk_alert_follower PRIMARY KEY,
    stream_id bigint NOT NULL, looked_at timestamptz NOT NULL,
    CONSTRAINT ck_alert_follower_single CHECK (id = 1)
);
INSERT INTO alert_follower VALUES (1, 0, now());
"""

FILES = """
CREATE TABLE artifacts (
    id text CONSTRAINT pk_artifacts PRIMARY KEY,
    run_id text NOT NULL CONSTRAINT fk_artifacts_run_id REFERENCES runs ON DELETE CASCADE,
    kind text NOT NULL, step integer, run_step integer NOT NULL,
    state text NOT NULL DEFAULT 'requested', reason text, author text NOT NULL,
    requested_at timestamptz NOT NULL DEFAULT now(), ready_at timestamptz, expires_at timestamptz,
    host text,
    worker_id text CONSTRAINT fk_artifacts_worker_id REFERENCES workers ON DELETE SET NULL,
    num_bytes bigint, received_bytes bigint NOT NULL DEFAULT '0',
    sha256 text, file_name text NOT NULL,
    CONSTRAINT ck_artifacts_kind CHECK (kind IN ('checkpoint', 'journal', 'report', 'config', 'log', 'samples')),
    CONSTRAINT ck_artifacts_state CHECK (state IN ('requested', 'preparing', 'ready', 'expired', 'failed')),
    CONSTRAINT ck_artifacts_step CHECK ((kind = 'checkpoint') = (step IS NOT NULL))
);
CREATE INDEX ix_artifacts_open ON artifacts (host) WHERE state IN ('requested', 'preparing');
CREATE INDEX ix_artifacts_run ON artifacts (run_id, requested_at);

CREATE TABLE run_storage (
    run_id text CONSTRAINT pk_run_storage PRIMARY KEY
        CONSTRAINT fk_run_storage_run_id REFERENCES runs ON DELETE CASCADE,
    folder_bytes bigint, checkpoints jsonb,
    folder_measured_at timestamptz, is_folder_due boolean NOT NULL DEFAULT false,
    database_bytes bigint, database_measured_at timestamptz,
    samples_deleted_at timestamptz, log_deleted_at timestamptz, checkpoints_deleted_at timestamptz
);
CREATE INDEX ix_run_storage_due ON run_storage (run_id) WHERE is_folder_due;

CREATE TABLE folder_deletions (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_folder_deletions PRIMARY KEY,
    run_id text NOT NULL, run_name text NOT NULL,
    part text NOT NULL, host text, author text NOT NULL,
    requested_at timestamptz NOT NULL DEFAULT now(),
    num_tries integer NOT NULL DEFAULT 0, tried_at timestamptz, reason text,
    CONSTRAINT ck_folder_deletions_part CHECK (part IN ('folder', 'checkpoints', 'samples', 'log'))
);
CREATE INDEX ix_folder_deletions_host ON folder_deletions (host);
"""

REQUESTS = """
CREATE TABLE idempotent_requests (
    user_id text NOT NULL CONSTRAINT fk_idempotent_requests_user_id REFERENCES users ON DELETE CASCADE,
    key text NOT NULL, digest text NOT NULL, answer jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT pk_idempotent_requests PRIMARY KEY (user_id, key)
);
CREATE INDEX ix_idempotent_requests_created_at ON idempotent_requests (created_at);
"""


def upgrade() -> None:
    """Apply."""
    for statements in (ACCOUNTS, WORKERS, RUNS, RECORDS, COLLECTIONS, RESOURCES, ALERTS, FILES, REQUESTS):
        op.execute(statements)
