"""What each run's visits of prompts come to, and the sums over a project: kept, so that no page reads all visits."""
