"""What people change about their own account, and the workers' tokens."""
