"""Who may call what, route by route: a new route is added here on purpose, or the tests of routes fail."""

from __future__ import annotations

ROUTES = """
read GET /api/v1/account/run-list
read PUT /api/v1/account/run-list
read GET /api/v1/alert-rules
write POST /api/v1/alert-rules
read POST /api/v1/alert-rules/preview
write DELETE /api/v1/alert-rules/{rule_id}
read GET /api/v1/alert-rules/{rule_id}
write PUT /api/v1/alert-rules/{rule_id}
read GET /api/v1/alerts
write POST /api/v1/alerts/acknowledge
read GET /api/v1/alerts/summary
read GET /api/v1/alerts/{alert_id}
admin GET /api/v1/audit
open POST /api/v1/auth/login
read POST /api/v1/auth/logout
open GET /api/v1/auth/methods
open POST /api/v1/auth/password
open POST /api/v1/auth/single-sign-on
open POST /api/v1/auth/single-sign-on/return
read GET /api/v1/boards
write POST /api/v1/boards
write DELETE /api/v1/boards/{board_id}
read GET /api/v1/boards/{board_id}
write PUT /api/v1/boards/{board_id}
write GET /api/v1/boards/{board_id}/links
write POST /api/v1/boards/{board_id}/links
write DELETE /api/v1/boards/{board_id}/links/{link_id}
read GET /api/v1/boards/{board_id}/panels/{panel_id}
read GET /api/v1/compare
read GET /api/v1/compare/curves
read GET /api/v1/compare/importance
read GET /api/v1/config-fields
read POST /api/v1/configs/estimate
write POST /api/v1/configs/prompts
read POST /api/v1/configs/validate
admin GET /api/v1/diagnosis
read GET /api/v1/docs
read GET /api/v1/events
write POST /api/v1/imports
write POST /api/v1/imports/{run_id}/finish
write POST /api/v1/imports/{run_id}/records
read GET /api/v1/me
account PUT /api/v1/me/password
account DELETE /api/v1/me/sessions
account GET /api/v1/me/sessions
account DELETE /api/v1/me/sessions/{session_id}
account GET /api/v1/me/tokens
account POST /api/v1/me/tokens
account DELETE /api/v1/me/tokens/{token_id}
read GET /api/v1/metrics
read GET /api/v1/openapi.json
admin GET /api/v1/people
admin POST /api/v1/people
admin PATCH /api/v1/people/{user_id}
admin POST /api/v1/people/{user_id}/password-link
read GET /api/v1/prices
admin POST /api/v1/prices
admin PUT /api/v1/prices/currency
read GET /api/v1/projects
admin POST /api/v1/projects
read GET /api/v1/projects/{project_id}
manage PATCH /api/v1/projects/{project_id}
read GET /api/v1/projects/{project_id}/members
manage PUT /api/v1/projects/{project_id}/members
manage DELETE /api/v1/projects/{project_id}/members/{user_id}
read GET /api/v1/prompt-answers
read GET /api/v1/prompt-curves
read GET /api/v1/prompt-history.csv
read GET /api/v1/prompt-history.jsonl
read GET /api/v1/prompt-lists
write POST /api/v1/prompt-lists
write DELETE /api/v1/prompt-lists/{list_id}
read GET /api/v1/prompt-lists/{list_id}
read GET /api/v1/prompt-lists/{list_id}/entries
write POST /api/v1/prompt-lists/{list_id}/entries
read GET /api/v1/prompt-lists/{list_id}/entries.csv
read GET /api/v1/prompt-lists/{list_id}/entries.jsonl
read GET /api/v1/prompt-lists/{list_id}/runs
read GET /api/v1/prompt-lists/{list_id}/versions
read GET /api/v1/prompts
read GET /api/v1/prompts.csv
read GET /api/v1/prompts.jsonl
read GET /api/v1/prompts/{prompt_id:path}
read GET /api/v1/queue
admin GET /api/v1/queue/limits
admin PUT /api/v1/queue/limits/{user}
read GET /api/v1/recipes
read GET /api/v1/recipes/{name}
write GET /api/v1/resource-files
read GET /api/v1/resources
write POST /api/v1/resources
write DELETE /api/v1/resources/{resource_id}
read GET /api/v1/resources/{resource_id}/preview
read GET /api/v1/resources/{resource_id}/probes
read GET /api/v1/resources/{resource_id}/runs
read GET /api/v1/runs
write POST /api/v1/runs
read GET /api/v1/runs.csv
write POST /api/v1/runs/bulk
read GET /api/v1/runs/columns
write POST /api/v1/runs/deletion
read GET /api/v1/runs/facets
read GET /api/v1/runs/groups
write DELETE /api/v1/runs/{run_id}
read GET /api/v1/runs/{run_id}
write PATCH /api/v1/runs/{run_id}
read GET /api/v1/runs/{run_id}/alerts
read GET /api/v1/runs/{run_id}/artifacts
write POST /api/v1/runs/{run_id}/artifacts
write DELETE /api/v1/runs/{run_id}/artifacts/{artifact_id}
read GET /api/v1/runs/{run_id}/artifacts/{artifact_id}
read GET /api/v1/runs/{run_id}/artifacts/{artifact_id}/content
read GET /api/v1/runs/{run_id}/chats
write POST /api/v1/runs/{run_id}/chats
write DELETE /api/v1/runs/{run_id}/chats/{chat_id}
read GET /api/v1/runs/{run_id}/chats/{chat_id}
read GET /api/v1/runs/{run_id}/checkpoints
write POST /api/v1/runs/{run_id}/clone
read GET /api/v1/runs/{run_id}/events
read GET /api/v1/runs/{run_id}/findings
read GET /api/v1/runs/{run_id}/findings/{kind}/prompts
read GET /api/v1/runs/{run_id}/findings/{kind}/prompts.csv
read GET /api/v1/runs/{run_id}/flows
write POST /api/v1/runs/{run_id}/fork
read GET /api/v1/runs/{run_id}/histograms
read GET /api/v1/runs/{run_id}/history
write POST /api/v1/runs/{run_id}/hold
read GET /api/v1/runs/{run_id}/log
read GET /api/v1/runs/{run_id}/metric-groups
read GET /api/v1/runs/{run_id}/metric-keys
read GET /api/v1/runs/{run_id}/metrics
read GET /api/v1/runs/{run_id}/migration
write POST /api/v1/runs/{run_id}/move
write POST /api/v1/runs/{run_id}/parameters
write DELETE /api/v1/runs/{run_id}/parameters/{control_id}
write POST /api/v1/runs/{run_id}/pause
read GET /api/v1/runs/{run_id}/prompts
read GET /api/v1/runs/{run_id}/prompts/{prompt_id:path}
read GET /api/v1/runs/{run_id}/ratios
read GET /api/v1/runs/{run_id}/records
write POST /api/v1/runs/{run_id}/release
write POST /api/v1/runs/{run_id}/restore
write POST /api/v1/runs/{run_id}/resume
write POST /api/v1/runs/{run_id}/retry
read GET /api/v1/runs/{run_id}/samples
read GET /api/v1/runs/{run_id}/staleness
read DELETE /api/v1/runs/{run_id}/star
read PUT /api/v1/runs/{run_id}/star
write POST /api/v1/runs/{run_id}/start
write POST /api/v1/runs/{run_id}/stop
read GET /api/v1/runs/{run_id}/walk
read POST /api/v1/runs/{run_id}/what-if
open GET /api/v1/shared-board
open GET /api/v1/shared-board/panel
admin GET /api/v1/storage
admin POST /api/v1/storage/compact
admin DELETE /api/v1/storage/deletions/{deletion_id}
read GET /api/v1/studies
write POST /api/v1/studies
read POST /api/v1/studies/preview
read GET /api/v1/studies/shipped
read GET /api/v1/studies/{study_id}
write POST /api/v1/studies/{study_id}/actions
write POST /api/v1/studies/{study_id}/continue
read GET /api/v1/studies/{study_id}/experiment
read GET /api/v1/studies/{study_id}/importance
read GET /api/v1/studies/{study_id}/report
read GET /api/v1/uploads
write POST /api/v1/uploads
write DELETE /api/v1/uploads/{upload_id}
read GET /api/v1/uploads/{upload_id}
write POST /api/v1/uploads/fetch
write POST /api/v1/uploads/{upload_id}/check
write PUT /api/v1/uploads/{upload_id}/content
write POST /api/v1/uploads/{upload_id}/finish
write POST /api/v1/uploads/{upload_id}/register
read GET /api/v1/views
write POST /api/v1/views
write DELETE /api/v1/views/{view_id}
read GET /api/v1/views/{view_id}
write PUT /api/v1/views/{view_id}
write GET /api/v1/webhooks
write POST /api/v1/webhooks
write DELETE /api/v1/webhooks/{webhook_id}
write GET /api/v1/webhooks/{webhook_id}
write PUT /api/v1/webhooks/{webhook_id}
write GET /api/v1/webhooks/{webhook_id}/deliveries
write POST /api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/send
write POST /api/v1/webhooks/{webhook_id}/secret
write POST /api/v1/webhooks/{webhook_id}/test
admin GET /api/v1/worker-tokens
admin POST /api/v1/worker-tokens
admin DELETE /api/v1/worker-tokens/{token_id}
read GET /api/v1/workers
work PUT /api/v1/workers/artifacts/{artifact_id}/content
work POST /api/v1/workers/artifacts/{artifact_id}/failure
work POST /api/v1/workers/artifacts/{artifact_id}/finish
work POST /api/v1/workers/chats/{chat_id}
work POST /api/v1/workers/chores
work POST /api/v1/workers/deletions/{deletion_id}
work POST /api/v1/workers/deliveries
work POST /api/v1/workers/folders
work POST /api/v1/workers/heartbeat
work POST /api/v1/workers/register
work POST /api/v1/workers/runs/{run_id}/claim
work GET /api/v1/workers/runs/{run_id}/contents/{sha256}
work POST /api/v1/workers/runs/{run_id}/outcome
work POST /api/v1/workers/runs/{run_id}/records
admin DELETE /api/v1/workers/{worker_id}
admin POST /api/v1/workers/{worker_id}/drain
admin POST /api/v1/workers/{worker_id}/undrain
open GET /healthz
scrape GET /metrics
open GET /readyz
"""
"""Permission, method, path."""

OWN = {
    ("PATCH", "/api/v1/runs/{run_id}"),
    ("DELETE", "/api/v1/runs/{run_id}"),
    ("POST", "/api/v1/runs/{run_id}/restore"),
    ("POST", "/api/v1/runs/{run_id}/start"),
    ("POST", "/api/v1/runs/{run_id}/stop"),
    ("POST", "/api/v1/runs/{run_id}/pause"),
    ("POST", "/api/v1/runs/{run_id}/resume"),
    ("POST", "/api/v1/runs/{run_id}/parameters"),
    ("DELETE", "/api/v1/runs/{run_id}/parameters/{control_id}"),
    ("POST", "/api/v1/runs/{run_id}/hold"),
    ("POST", "/api/v1/runs/{run_id}/release"),
    ("POST", "/api/v1/runs/{run_id}/retry"),
    ("POST", "/api/v1/imports/{run_id}/finish"),
}
"""What only a run's owner and administrators do to it; each of these is tried by another member."""

BODIES: dict[tuple[str, str], object] = {
    ("PATCH", "/api/v1/runs/{run_id}"): {"name": "mine now"},
    ("POST", "/api/v1/runs/{run_id}/parameters"): {"set": {"method.c1": 0.25}},
}

DASH_PATHS = {
    "/",
    "/_dash-component-suites/{package_name}/{fingerprinted_path:path}",
    "/_dash-dependencies",
    "/_dash-layout",
    "/_dash-update-component",
    "/_dash-ws-callback",
    "/_favicon.ico",
    "/_reload-hash",
    "/assets",
    "/assets/report",
}
"""What Dash serves behind the gate: all of it to those who have logged in only, and the WebSocket to nobody."""

OPEN_PAGES = {"/login", "/login/callback", "/set-password", "/shared"}
"""Pages of the dashboard without a login; they need nothing but themselves. Where single sign-on is
set up, `/login/single-sign-on` leads to the provider; without, there is no such page."""
