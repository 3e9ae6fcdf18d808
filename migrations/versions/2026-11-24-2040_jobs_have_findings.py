"""jobs have findings

Those of existing jobs follow from their events. The events get the titles that later ones have.

Revision: 3c7f5e0d91ab, after 6d1e0b7a94c2.
"""

from alembic import op

revision = "3c7f5e0d91ab"
down_revision = "6d1e0b7a94c2"

_TABLE = """
CREATE TABLE job_findings (
    id text CONSTRAINT pk_job_findings PRIMARY KEY,
    job_id text NOT NULL CONSTRAINT fk_job_findings_job_id REFERENCES jobs (id) ON DELETE CASCADE,
    owner_id text NOT NULL CONSTRAINT fk_job_findings_owner_id REFERENCES owners (id),
    key text NOT NULL,
    rule text,
    severity text NOT NULL CONSTRAINT ck_job_findings_severity CHECK (severity IN ('warning', 'error')),
    action text,
    seed bigint,
    stage text,
    step bigint,
    cause text NOT NULL,
    suggestion text NOT NULL,
    times bigint NOT NULL,
    created_at timestamptz NOT NULL,
    last_at timestamptz NOT NULL,
    data jsonb NOT NULL,
    CONSTRAINT uq_job_findings_job_id_key UNIQUE (job_id, key)
)
"""
_TITLES = """
UPDATE job_events e SET data = e.data || jsonb_build_object('title', title) FROM (VALUES
    ('kl_blow_up', 'KL too large'),
    ('negative_kl', 'KL below zero'),
    ('entropy_collapse', 'Entropy collapsed'),
    ('approxkl_high', 'Updates too large'),
    ('approxkl_jump', 'Policy replaced by one update'),
    ('clipfrac_high', 'Too much clipping'),
    ('clipfrac_zero', 'No clipping'),
    ('policy_still', 'Policy does not move'),
    ('reward_collapse', 'Reward collapsed'),
    ('negative_explained_variance', 'Critic worse than a constant'),
    ('over_optimisation', 'Reward over-optimised'),
    ('length_explosion', 'Score raised by length'),
    ('truncation', 'Responses cut off'),
    ('kl_outweighs_reward', 'KL penalty outweighs the reward'),
    ('value_loss_spike', 'Value loss jumped'),
    ('not_finite', 'Numbers not finite')
) AS titles (rule, title) WHERE e.type = 'health' AND e.data ->> 'rule' = rule AND NOT e.data ? 'title'
"""
_FILL = """
WITH reported AS (
    SELECT e.job_id, j.owner_id, e.seed, e.stage, e.step, e.seq, e.created_at, e.data, e.data ->> 'rule' AS rule,
           e.data ->> 'action' AS action,
           concat(e.seed::text, ' ', coalesce(e.data ->> 'rule', md5(e.data ->> 'text'))) AS key,
           CASE WHEN coalesce(e.data ->> 'level', e.data ->> 'action') IN ('warning', 'warn') THEN 0 ELSE 1 END AS gravity
    FROM job_events e JOIN jobs j ON j.id = e.job_id
    WHERE e.type = 'health' OR e.type = 'message' AND e.data ->> 'level' IN ('warning', 'error')
), counted AS (
    SELECT job_id, key, max(gravity) AS gravity, min(created_at) AS first_at, max(created_at) AS last_at, max(seq) AS seq,
           max(step) AS step, CASE WHEN max(rule) IS NULL THEN count(*) ELSE count(DISTINCT step) END AS times
    FROM reported GROUP BY job_id, key
)
INSERT INTO job_findings
SELECT 'find_' || substr(md5(c.job_id || c.key), 1, 24), c.job_id, r.owner_id, c.key, r.rule,
       (ARRAY['warning', 'error'])[c.gravity + 1], r.action, r.seed, r.stage, c.step,
       coalesce(r.data ->> 'cause', r.data ->> 'text'), coalesce(r.data ->> 'suggestion', ''), c.times, c.first_at, c.last_at,
       CASE WHEN r.rule IS NULL THEN '{}' ELSE jsonb_build_object(
           'evidence', coalesce(r.data -> 'evidence', '[]'), 'changes', coalesce(r.data -> 'changes', '[]')) END
FROM counted c JOIN reported r ON r.job_id = c.job_id AND r.seq = c.seq
"""
_HEALTH = """
UPDATE jobs SET health = found.severity
FROM (SELECT job_id, min(severity) AS severity FROM job_findings GROUP BY job_id) AS found WHERE found.job_id = jobs.id
"""


def upgrade() -> None:
    op.execute(_TITLES)
    op.execute(_TABLE)
    op.execute("CREATE INDEX ix_job_findings_owner_id_created_at_id ON job_findings (owner_id, created_at, id)")
    op.execute(
        "CREATE INDEX ix_job_findings_rule ON job_findings (owner_id, rule, created_at, id) WHERE rule IS NOT NULL"
    )
    op.execute("ALTER TABLE jobs ADD health text")
    op.execute("CREATE INDEX ix_jobs_health ON jobs (owner_id, health, created_at, id) WHERE health IS NOT NULL")
    op.execute(_FILL)
    op.execute(_HEALTH)


def downgrade() -> None:
    op.execute("ALTER TABLE jobs DROP health")
    op.drop_table("job_findings")
