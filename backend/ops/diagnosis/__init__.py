"""What the server knows of its own deployment, for `bapo doctor`."""
