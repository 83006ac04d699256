"""The ASGI app: the gate, and the modules that it hands requests to."""
