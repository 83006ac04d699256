"""Downloads of published files from the Hugging Face hub."""

from __future__ import annotations

import os
from pathlib import Path

from bapo.datasets.catalogue import PublishedData
from bapo.datasets.preparation import PreparationError


def download(data: PublishedData) -> Path:
    """Download the data set into Hugging Face's cache and returns the folder.

    Raises PreparationError if the hub cannot be reached or refuses.
    """
    # Its own progress bars and warnings would mix with the command's lines.
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    import httpx  # noqa: PLC0415  (with the hub's own imports, a second that no other command needs)
    from huggingface_hub import snapshot_download  # noqa: PLC0415
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled  # noqa: PLC0415

    patterns = [pattern for part in data.parts for pattern in part.patterns]
    try:
        return Path(snapshot_download(data.repository, repo_type="dataset", allow_patterns=patterns))
    except OfflineModeIsEnabled:
        raise _failed(data, "HF_HUB_OFFLINE is set") from None
    except HfHubHTTPError as error:
        raise _failed(data, f"it answers {error.response.status_code}") from None
    except (LocalEntryNotFoundError, httpx.HTTPError, OSError) as error:
        raise _failed(data, f"{type(error).__name__}") from None
    except (ImportError, httpx.InvalidURL) as error:
        # What httpx says of a proxy that it cannot use.
        raise _failed(data, f"HTTPS_PROXY, ALL_PROXY or NO_PROXY cannot be used: {error}") from None


def _failed(data: PublishedData, reason: str) -> PreparationError:
    return PreparationError(
        f"the Hugging Face hub cannot be reached for {data.repository} ({reason}): download the data set "
        "on a machine that reaches it, copy the folder here, and give it with --from FOLDER"
    )
