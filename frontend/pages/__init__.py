"""Pages of the dashboard: each has `layout`, which answers an address, and `register`, which makes it react."""
