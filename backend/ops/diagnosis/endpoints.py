"""Route of the diagnosis."""

from __future__ import annotations

from backend.fleet.dispatch.dispatcher import Dispatcher
from backend.identity.auth.openid import flow
from backend.kit.context import ContextOf, DbSession, new_router
from backend.kit.permissions import Administrator
from backend.ops.diagnosis import service
from bapo.api.service import Diagnosis

router = new_router("service")


@router.get("/diagnosis", summary="Diagnose the deployment")
def diagnosis(_: Administrator, session: DbSession, context: ContextOf) -> Diagnosis:
    """Return the state of database, broker, folders, workers and the provider of single sign-on, for `bapo doctor`.

    Requires an administrator.
    """
    return service.diagnose(session, context.settings, context.part(Dispatcher), flow.provider_at(context))
