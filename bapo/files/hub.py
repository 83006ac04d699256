"""Downloads of repositories from the Hugging Face hub."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal


class HubError(OSError):
    """The hub cannot be reached, or refuses; the message says why."""


def download(
    repository: str, kind: Literal["dataset", "model"], patterns: Sequence[str], folder: Path | None = None
) -> Path:
    """Download the files that match a pattern into a folder, by default Hugging Face's cache, and return the folder.

    Raises HubError, and OSError where the disk is full.
    """
    # Its own progress bars and warnings would mix with the command's lines.
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    import httpx  # noqa: PLC0415  (with the hub's own imports, a second that no other command needs)
    from huggingface_hub import snapshot_download  # noqa: PLC0415
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled  # noqa: PLC0415

    try:
        return Path(snapshot_download(repository, repo_type=kind, allow_patterns=list(patterns), local_dir=folder))
    except OfflineModeIsEnabled:
        raise _failed(repository, "HF_HUB_OFFLINE is set") from None
    except HfHubHTTPError as error:
        raise _failed(repository, f"it answers {error.response.status_code}") from None
    except (LocalEntryNotFoundError, httpx.HTTPError, OSError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise
        raise _failed(repository, f"{type(error).__name__}") from None
    except (ImportError, httpx.InvalidURL) as error:
        # What httpx says of a proxy that it cannot use.
        raise _failed(repository, f"HTTPS_PROXY, ALL_PROXY or NO_PROXY cannot be used: {error}") from None


def _failed(repository: str, reason: str) -> HubError:
    return HubError(f"the Hugging Face hub cannot be reached for {repository} ({reason})")
