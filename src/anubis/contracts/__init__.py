"""The protocols between the pipeline and its surroundings, one module for each subject."""
