"""Does what a server does grow with its work, or faster? Each curve is one quantity at several sizes."""
