"""What runs record: taken in from the workers, handed out as series, records and logs."""
