"""What a run's batches would have been under other settings."""

from __future__ import annotations

from bapo.api.what_if import WhatIfAnswer, WhatIfRequest
from bapo.client.call import Call, Endpoint, post, run_path


class WhatIfCalls:
    """What a run's batches would have been under other settings."""

    @Endpoint
    def what_if(self, run_id: str, request: WhatIfRequest) -> Call[WhatIfAnswer]:
        """Replay a run's recorded answers. Raises ApiError 422 for what is not legal or cannot be replayed."""
        return post(run_path(run_id, "what-if"), WhatIfAnswer, request)
