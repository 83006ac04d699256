"""What workers do with run folders beside training: pack, measure, delete."""
