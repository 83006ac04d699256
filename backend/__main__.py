"""`python -m backend serve | migrate | login-code`; settings come from environment variables (`BAPO_…`)."""

from __future__ import annotations

import argparse
import gc
import sys

from sqlalchemy.exc import DBAPIError, OperationalError

from backend.identity.auth.bootstrap import bootstrap
from backend.identity.auth.service import new_login_code
from backend.kit.database import Database
from backend.ops.migrate import check_schema, migrate
from backend.settings.environment import Settings
from bapo.deploy import service_log
from bapo.deploy.settings import SettingsError, load, warn_of_unknown_variables
from bapo.run.lasting_modules import lasting_modules
from bapo.run.run_folder import unfinished_restore

COLLECT_AFTER = (50_000, 20, 20)
"""Thresholds of the garbage collector. A batch of records makes tens of thousands of objects that die with the request:
at the usual 700 the collector walks over them again and again, a quarter of the time that it takes to read them."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m backend", description="The API server of the BAPO Control Plane.")
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="serve /api/v1 until SIGTERM or Ctrl-C")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on")
    serve.add_argument("--port", type=int, default=8001, help="port to listen on")
    serve.add_argument("--migrate", action="store_true", help="bring the database's schema up to date first")
    migration = commands.add_parser("migrate", help="bring the database's schema up to date")
    migration.add_argument("--login-code", action="store_true", help="then print a code as `login-code` does")
    commands.add_parser("login-code", help="print a code that logs the administrator in once")
    options = parser.parse_args(arguments)
    try:
        settings = load(Settings)
        service_log.configure("backend", settings.log_format, settings.log_level)
        service_log.hide(*settings.secrets)
        if options.command != "login-code":
            warn_of_unknown_variables()
        _run(options, settings)
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 2
    except OperationalError as error:
        print(service_log.mask(f"The database does not answer: {error.orig}"), file=sys.stderr)
        return 1
    except DBAPIError as error:
        print(service_log.mask(f"The database refuses: {str(error.orig).strip()}"), file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _run(options: argparse.Namespace, settings: Settings) -> None:
    database = Database(settings.database_url)
    try:
        if options.command == "migrate":
            migrate(database.engine)
            if options.login_code:
                _print_login_code(database, settings)
            return
        unfinished = unfinished_restore(settings.runs_dir)
        if unfinished is not None:
            raise ValueError(unfinished)
        if options.command == "serve" and options.migrate:
            migrate(database.engine)
        check_schema(database.engine)
        if options.command == "login-code":
            _print_login_code(database, settings)
        else:
            _serve(options, settings)
    finally:
        database.close()


def _print_login_code(database: Database, settings: Settings) -> None:
    with database.session() as session, session.begin():
        _, admin = bootstrap(session, settings)
        print(new_login_code(session, admin, settings.login_code_seconds))


def _serve(options: argparse.Namespace, settings: Settings) -> None:
    # Not before it is needed: the other commands start sooner without.
    with lasting_modules("backend.app"):
        from backend.app import build_server  # noqa: PLC0415
    from bapo.deploy.http_server import listen  # noqa: PLC0415

    with listen(options.host, options.port) as listener:
        server = build_server(settings)
        # What was made so far lives as long as the process: no collection needs to walk over it again.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*COLLECT_AFTER)
        server.run(sockets=[listener])


if __name__ == "__main__":
    sys.exit(main())
