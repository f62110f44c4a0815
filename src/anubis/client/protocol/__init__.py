"""What a client offers, as protocols by noun. They need neither a local home folder nor live objects of the pipeline."""
