"""What a client offers, as protocols by noun. They require neither a local home folder nor objects of the pipeline."""
