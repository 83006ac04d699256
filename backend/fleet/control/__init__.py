"""Changes to runs that exist: start, stop, pause, hold, steer, edit, delete; one run or many."""
