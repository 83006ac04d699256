"""What a run's batches would have been under other settings."""

from __future__ import annotations

from bapo.api.what_if import WhatIfAnswer, WhatIfRequest
from bapo.client.call import route


class WhatIfCalls:
    """What a run's batches would have been under other settings."""

    @route("POST /runs/{run_id}/what-if")
    def what_if(self, run_id: str, request: WhatIfRequest) -> WhatIfAnswer:
        """Replay a run's recorded answers. Raises ApiError 422 for what is not legal or cannot be replayed."""
