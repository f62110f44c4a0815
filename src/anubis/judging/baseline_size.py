"""How much history a gate may use. Retention reads it without the modules that judge."""

#: Newest sessions of a subject in which the level of the baseline is searched.
LOOKBACK_POINTS = 25
#: Runs in each session of the history for which the history is read, if the contender has as many.
MOST_RUNS = 8
