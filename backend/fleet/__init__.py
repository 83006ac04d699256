"""Work for machines: the queue, the dispatch to workers, changes to runs, maintenance jobs."""
