"""Facts about the deployment for `bapo doctor`."""
