"""Fork experiments: several settings from one checkpoint, compared on what the keyed draws make common to them."""
