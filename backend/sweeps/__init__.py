"""Several runs made and read as one."""
