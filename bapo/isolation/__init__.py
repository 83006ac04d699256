"""Functions isolated in a child process with limits: what hangs or dies there takes nothing else with it."""
