"""`bapo up`: embedded PostgreSQL and Redis, backend, frontend and a worker on one machine, in one data folder."""
